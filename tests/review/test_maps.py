"""Maps: before the answer nothing that tells it, after it everything."""

from xml.etree import ElementTree as ET

import pytest

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.review.maps import map_after, map_before, operand_ids
from pipeline.worlds.flight.bev_video import top_down_map as sketch_flight
from pipeline.worlds.flight.facts import Flight, FlightMotion, FlightScene, Landmark, Sighting
from pipeline.worlds.indoor.top_down_map import top_down_map as sketch_scan
from tests.conftest import make_scene
from tests.review.made import PAYLOAD, ROOM


def classes(svg: str | None) -> list[str]:
    return [node.get("class", "") for node in ET.fromstring(svg or "<svg/>").iter()]  # noqa: S314 - our own


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=list(BENCHMARKS))
def test_no_task_shows_a_box_or_a_track_that_answers_it(benchmark) -> None:  # type: ignore[no-untyped-def]
    # Of a room: its objects tell every answer but its size, which its outline tells. Of a flight: its track.
    assert set(benchmark.map_before) <= set(benchmark.by_name())
    for task, layers in benchmark.map_before.items():
        assert set(layers) <= ({"ground", "path"} if benchmark.name == "vsi" else {"things"}), task
    assert "room_size_estimation" not in benchmark.map_before


def test_before_the_answer_there_is_neither_a_scale_nor_a_mark_nor_what_is_held_back() -> None:
    drawn = map_before(ROOM, ("ground", "path"))
    assert classes(drawn) == ["map", "ground", "path", "start", "", "here", ""]
    # Moving, turning and renaming what is held back changes nothing.
    other = ROOM.model_copy(update={"things": (MappedThing(label="rug", outline=((9.0, 9.0),)),)})
    assert map_before(other, ("ground", "path")) == drawn
    assert map_before(ROOM, ()) is None
    # Nor does the size of the room: the outline alone is drawn, as large as the page has room.
    half = TopDownMap(ground=tuple(tuple((x / 2, y / 2) for x, y in outline) for outline in ROOM.ground))
    assert map_before(half, ("ground",)) == map_before(ROOM, ("ground",))


def thing(label: str, *outline: tuple[float, float]) -> MappedThing:
    return MappedThing(label=label, outline=tuple((100 + x, y - 40) for x, y in outline))


# From 100 m east and 40 m south of the origin on: 58.4 m in the 584 pixels between the margins of 28.
HALL = TopDownMap(
    ground=(((100.0, -40.0), (158.4, -40.0), (158.4, -20.0), (100.0, -20.0)),),
    things=(
        thing("standing lamp", (0.0, 20.0)),
        thing("table", (10.0, 10.0), (12.0, 10.0), (12.0, 8.0)),
        thing("cup", (5.2, 10.0)),  # its name ends before that of the table, as high
        thing("<sofa>", (11.0, 9.0)),  # its name is written below it, since that of the table is above
        thing("rug", (11.0, 9.2)),  # no room for its name
        thing("a very long name of a shelf", (58.4, 0.0)),  # 27 letters of 8.5 pixels end 4 before the edge
        thing("gone", (70.0, 0.0)),
    ),
    path=tuple((float(t), 110.0 + 5 * t, t - 35.0) for t in range(5)),
)
GROUND = '<path class="ground" d="M28.0,228.0 612.0,228.0 612.0,28.0 28.0,28.0Z"/>'
TABLE = 'd="M128.0,128.0 148.0,128.0 148.0,148.0Z"><title>table</title></path>'
CUP = '<circle class="thing" cx="80.0" cy="128.0" r="5"><title>cup</title></circle>'
RUG = '<circle class="thing" cx="138.0" cy="136.0" r="5"><title>rug</title></circle>'
SHELF = '<circle class="thing" cx="612.0" cy="228.0" r="5"><title>a very long name of a shelf</title></circle>'


def label(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text class="label" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def video(x: float, y: float) -> str:
    return (
        f'<circle class="start" cx="{x}" cy="{y}" r="5"><title>start of the video</title></circle>'
        f'<circle class="here" cx="{x}" cy="{y}" r="7"><title>the video now</title></circle>'
    )


def svg(height: int, name: str, *parts: str) -> str:
    head = f'<svg class="map" viewBox="0 0 640 {height}" role="img" aria-label="Map from above{name}">'
    return "".join([head, *parts, "</svg>"])


def test_a_map_is_drawn_to_the_last_word() -> None:
    sofa = '<circle class="thing{}" cx="138.0" cy="138.0" r="5"><title>&lt;sofa&gt;</title></circle>'
    lamp = '<circle class="thing" cx="28.0" cy="28.0" r="5"><title>standing lamp</title></circle>'
    assert map_before(HALL, ("ground", "path", "things")) == svg(
        256,
        "",
        *(GROUND, lamp, f'<path class="thing" {TABLE}', CUP, sofa.format(""), RUG, SHELF),
        '<polyline class="path" data-times="0 1 2 3 4"',
        ' points="128.0,178.0 178.0,168.0 228.0,158.0 278.0,148.0 328.0,138.0"/>',
        *(video(128.0, 178.0), label(59.2, 22.0, "standing lamp"), label(141.3, 122.0, "table")),
        *(
            label(80.0, 122.0, "cup"),
            label(138.0, 152.0, "&lt;sofa&gt;"),
            label(521.2, 222.0, "a very long name of a shelf"),
        ),
    )
    # Marked things lie on top and keep their names; the bar is the length nearest to a fifth of 640 pixels.
    assert map_after(HALL, ("table", "<sofa>"), 2.5, 1.0) == svg(
        256,
        ", with &lt;sofa&gt;, table marked",
        *(GROUND, lamp, CUP, RUG, SHELF, f'<path class="thing marked" {TABLE}', sofa.format(" marked")),
        '<polyline class="path later" points="128.0,178.0 178.0,168.0"/>',
        '<polyline class="path later" points="228.0,158.0 278.0,148.0 328.0,138.0"/>',
        '<polyline class="path" data-times="0 1" points="178.0,168.0 228.0,158.0"/>',
        *(video(178.0, 168.0), label(141.3, 122.0, "table"), label(138.0, 152.0, "&lt;sofa&gt;")),
        *('<path class="scale" d="M512.0,248.0h100.0"/>', label(506.0, 252.0, "10 m", "end")),
    )
    # The camera of a picture; north is up. A lone place is shown with 2 m around it.
    camera = TopDownMap(things=(thing("lamp", (0.0, 1.0), (0.0, 1.0)),), path=((0.0, 100.0, -40.0),))
    assert map_after(camera, ("lamp",), None) == svg(
        640,
        ", with lamp marked",
        '<circle class="thing marked" cx="320.0" cy="28.0" r="5"><title>lamp</title></circle>',
        '<circle class="start" cx="320.0" cy="320.0" r="5"><title>camera</title></circle>',
        *(label(320.0, 336.0, "camera"), label(320.0, 22.0, "lamp")),
        *('<path class="scale" d="M466.0,632.0h146.0"/>', label(460.0, 636.0, "0.5 m", "end")),
    )


@pytest.mark.parametrize("length", [0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000])
def test_the_bar_of_a_map_is_a_fifth_of_its_width(length: float) -> None:
    """640 pixels are 5 bars, and 584 of them show what is drawn: across it, or down it where that is more."""
    side = 584 / 128 * length
    for wide, tall in ((side, side / 2), (side / 2, side)):
        corners = ((-7.0, 5.0), (wide - 7, 5.0), (wide - 7, tall + 5), (-7.0, tall + 5))
        drawn = map_after(TopDownMap(ground=(corners,)), (), None) or ""
        assert f'viewBox="0 0 640 {56 + 584 * max(tall, 2.0) / side:.0f}"' in drawn
        assert "h128.0" in drawn
        assert f">{length:g} m</text>" in drawn


@pytest.mark.parametrize(
    ("from_s", "until_s", "shown"), [(1.5, 0.5, [1]), (9.0, 10.0, [4]), (0.0, 4.0, [0, 1, 2, 3, 4]), (-1.0, 0.5, [0])]
)
def test_the_part_of_the_video_has_a_place_even_between_two_points(
    from_s: float, until_s: float, shown: list[int]
) -> None:
    drawn = ET.fromstring(map_after(HALL, (), until_s, from_s) or "")  # noqa: S314 - our own
    lines = [(node.get("class"), len(node.get("points", "").split())) for node in drawn.iter() if node.get("points")]
    before, after = shown[0] + 1, 5 - shown[-1]
    later = [("path later", count) for count in (before, after) if count > 1]
    assert lines == [*later, ("path", len(shown))]


def test_what_lies_beyond_a_map_is_not_drawn_and_its_name_not_moved_into_it() -> None:
    # The path is 40 m long. A quarter of that is shown around it, and a margin of 28 + 5 of 584 pixels: 3.4 m.
    path = ((0.0, 0.0, 0.0), (1.0, 40.0, 0.0))
    inside = {
        "mast": (20.0, 5.0),
        "west": (-13.0, 0.0),
        "east": (53.0, 0.0),
        "north": (20.0, 13.0),
        "south": (20.0, -13.0),
    }
    beyond = {"pier": (-14.0, 0.0), "mill": (54.0, 0.0), "barn": (20.0, 14.0), "well": (20.0, -14.0)}
    wide = MappedThing(label="wall", outline=((-500.0, 3.0), (500.0, 3.0), (500.0, 4.0), (-500.0, 4.0)))
    dots = [MappedThing(label=label, outline=(place,)) for label, place in (inside | beyond).items()]
    drawn = map_after(TopDownMap(things=(*dots, wide), path=path), (), None)
    titles = [node.text for node in ET.fromstring(drawn or "").iter() if node.tag == "title"]  # noqa: S314
    assert titles[:-2] == [*inside, "wall"]


def test_of_a_city_the_thing_of_an_id_is_marked_among_its_twenty_neighbours() -> None:
    """Others of its name are not, however near; what is farther off than two more in the margin is not drawn."""
    shops = [MappedThing(label="bakery", outline=((10.0 * i, 0.0),), id=f"node/{i}") for i in range(100)]
    drawn = map_after(TopDownMap(things=tuple(shops)), ("sort", "node/50"), None)
    dots = [node for node in ET.fromstring(drawn or "").iter() if node.get("r")]  # noqa: S314
    assert [node.get("class") for node in dots] == ["thing"] * 22 + ["thing marked"]
    assert dots[-1].get("cx") == "320.0"
    assert 'aria-label="Map from above, with bakery marked"' in (drawn or "")


def test_a_map_of_a_city_ends_where_its_things_do() -> None:
    """The farthest neighbour is 90 m from the marked one, and so the map goes from 0 to 102 m, and from 0 to 4."""
    squares = [
        MappedThing(label=name, outline=((x, 0.0), (x + 4, 0.0), (x + 4, 4.0), (x, 4.0)), id=name)
        for name, x in (("left", 0.0), ("own", 10.0), ("right", 100.0))
    ]
    drawn = ET.fromstring(map_after(TopDownMap(things=tuple(squares)), ("own",), None) or "")  # noqa: S314
    paths = {node[0].text: node.get("d") for node in drawn if node.get("class", "").startswith("thing")}
    assert paths == {
        "left": "M28.0,50.9 50.9,50.9 50.9,28.0 28.0,28.0Z",
        "own": "M85.3,50.9 108.2,50.9 108.2,28.0 85.3,28.0Z",
        "right": "M600.5,50.9 623.5,50.9 623.5,28.0 600.5,28.0Z",
    }


def test_after_the_answer_what_it_speaks_of_is_marked_and_all_text_is_escaped() -> None:
    drawn = map_after(ROOM, ("lamp", PAYLOAD), 1.0)
    assert drawn is not None
    assert "<script" not in drawn
    assert "<img" not in drawn
    labels = [node.text for node in ET.fromstring(drawn).iter() if "label" in node.get("class", "")]  # noqa: S314
    assert labels == ["lamp", PAYLOAD, "1 m"]
    found = classes(drawn)
    assert found.count("thing marked") == 2
    assert "path later" in found


def test_landmarks_are_found_in_the_words_of_an_operand_where_none_is_one() -> None:
    sketch = TopDownMap(
        things=(
            MappedThing(label="the red church", outline=((0.0, 0.0),)),
            MappedThing(label="", outline=((1.0, 1.0),)),
        )
    )
    assert operand_ids(sketch, ("fly forward to the red church", "0:37")) == {"the red church"}
    assert operand_ids(ROOM, ("lamp", "the lamp")) == {"lamp"}
    assert operand_ids(ROOM, ()) == frozenset()
    shops = tuple(MappedThing(label="bakery", outline=((float(i), 0.0),), id=f"node/{i}") for i in range(3))
    assert operand_ids(TopDownMap(things=shops), ("node/1", "bakery")) == {"node/1"}


def test_a_scan_from_above_has_turned_footprints() -> None:
    scene = make_scene([("table", (1.0, 2.0, 0.5), (2.0, 1.0, 0.7), 90.0)])
    (thing,) = sketch_scan(scene).things
    assert sorted(thing.outline) == [(0.5, 1.0), (0.5, 3.0), (1.5, 1.0), (1.5, 3.0)]
    assert (thing.label, thing.seen_s) == ("table", None)


def test_a_flight_from_above_begins_with_its_video() -> None:
    times = (-1.0, 0.0, 1.0)
    nothing = (None,) * 3
    motion = FlightMotion(
        rate_hz=1.0,
        t_s=times,
        enu_m=((0.0, 0.0, 5.0), (1.0, 0.0, 5.0), (2.0, 3.0, 5.0)),
        height_m=nothing,
        heading_deg=nothing,
        course_deg=nothing,
        pitch_deg=nothing,
        part=(0, 0, 0),
        segments=(),
        views=(Sighting(landmark=0, intervals=((4.0, 5.0), (2.0, 3.0)), possible=()),),
    )
    mark = Landmark(label="the tower", center=(5.0, 6.0), radius_m=0.0)
    scan = make_scene([])
    scene = FlightScene(
        id="a/b",
        dataset="a",
        name="b",
        source=scan.source,
        facts=Flight(log="made", origin=None, landmarks=(mark,), motion=motion),
    )
    drawn = sketch_flight(scene)
    assert drawn.path == ((0.0, 1.0, 0.0), (1.0, 2.0, 3.0))
    assert drawn.things == (MappedThing(label="the tower", outline=((5.0, 6.0),), seen_s=2.0),)
    assert drawn.ground == ()
