"""A drive as arrays over time, on a log made by hand (our car goes north at 10 m/s); its drawn film."""

from itertools import islice, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import shapely
from scipy.spatial.transform import Rotation

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Video
from pipeline.drawing.raster import INK
from pipeline.geometry.colours import lab
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.drive.bev_video import COLOURS, PX_PER_M, WIDE, _DriveVideo, _is_light, drawn, top_down_map
from pipeline.worlds.drive.facts import (
    Actor,
    ActorTrack,
    Colour,
    DriveCamera,
    DriveScene,
    Ego,
    Lamps,
    Lane,
    TrafficLight,
    VehicleBox,
)
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.view import DriveView
from tests.drawing.reading import bounds
from tests.worlds.drive.drives import box, drive_of, lane, pose, read, track, write_log

SWEEPS = range(21)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> DriveScene:
    """Us, a car 10 m ahead that keeps its distance, one that stands still at the roadside, a bollard."""
    standing: list[dict[str, Any]] = [box(s, track="still", tx_m=20.0 - s, ty_m=-3.0) for s in SWEEPS]
    rows = [*(box(s) for s in SWEEPS), *standing, box(3, track="bollard", category="BOLLARD", ty_m=2.0)]
    own = [box(s, track="us", category="EGO_VEHICLE", tx_m=1.0, length_m=5.0) for s in SWEEPS]
    root = write_log(tmp_path_factory.mktemp("log"), [*rows, *own], [pose(s) for s in SWEEPS], [lane(1)])
    return read(root, Argoverse2())


def test_where_our_own_way_is_in_doubt_all_is(scene: DriveScene) -> None:
    nowhere = DriveView(scene.model_copy(update={"findings": (doubt("two_egos", "ego", "", ""),)}))
    assert not nowhere.ego_moves
    assert np.isnan(nowhere.relative_m).all()


def test_what_moves_about_a_car_of_unknown_movement_has_no_speed(scene: DriveScene) -> None:
    facts = scene.facts.model_copy(update={"frame": "ego", "ego": None})
    view = DriveView(scene.model_copy(update={"facts": facts}))
    assert (view.relative_m[0] == view.place_m[0]).all()
    assert np.isnan(view.speed_mps).all()
    assert np.isnan(view.ego_speed_mps).all()
    assert np.isnan(view.gap_m(0)).all()


def test_lamps_hold_until_they_change_and_boxes_lie_about_their_points(scene: DriveScene) -> None:
    first = scene.facts.actors[0]
    lamps = (Lamps(index=0, lit=()), Lamps(index=4, lit=("brake",)))
    moved = VehicleBox(size_m=(4.0, 2.0, 1.5), middle_m=(1.0, 0.5, 0.75))
    actors = (first.model_copy(update={"lamps": lamps, "box": moved}), *scene.facts.actors[1:])
    view = DriveView(scene.with_facts(actors=actors))
    assert [view.lit_at("a", index) for index in (0, 3, 4, 20)] == [(), (), ("brake",), ("brake",)]
    assert view.lit_at("still", 0) is None
    assert view.lit_at("ego", 0) is None
    assert view.relative_m[0, 0].round(9).tolist() == [11.0, 0.5, 1.5]


FRONT = DriveCamera(
    name="front", width=100, height=100, focal_px=(50, 50), centre_px=(50, 50),
    ego_from_camera=((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0)), place_m=(0.0, 0.0, 0.0),
)  # fmt: skip
FILM = Video(path="front.mp4", fps=10, frames=21, width=100, height=100)


def test_a_camera_in_doubt_is_not_used(scene: DriveScene) -> None:
    own = scene.model_copy(update={"video": FILM}).with_facts(cameras=(FRONT,))
    assert (DriveView(own).camera, examine(own)) == (FRONT, ())
    narrow = own.with_facts(cameras=(FRONT.model_copy(update={"focal_px": (50, 61)}),))
    view = DriveView(narrow.model_copy(update={"findings": examine(narrow)}))
    assert (list(view.doubts), view.camera) == (["front"], None)
    assert np.isnan(view.in_film(0)).all()


def test_brake_lights_are_drawn_at_the_rear(scene: DriveScene) -> None:
    """Of the car ahead, whose rear is 8 m before our point: a red line of 2 m, from the fifth sweep on."""
    first = scene.facts.actors[0].model_copy(update={"lamps": (Lamps(index=0, lit=()), Lamps(index=4, lit=("brake",)))})
    pictures = list(islice(drawn(scene.with_facts(actors=(first, *scene.facts.actors[1:]))).frames(), 6))
    red = [of_colour(picture[:330], INK["red"]) for picture in pictures]
    assert [len(pixels) > 0 for pixels in red] == [False] * 4 + [True] * 2
    across, down = red[4].mean(0) - np.array([WIDE, pictures[4].shape[0]]) / 2
    assert (across / PX_PER_M, -down / PX_PER_M) == pytest.approx((0, 8), abs=0.35)
    assert np.ptp(red[4], axis=0) == pytest.approx([2 * PX_PER_M, 2], abs=2)


def test_the_map_of_reviewers_has_the_road_our_way_and_the_others(scene: DriveScene) -> None:
    drawn = top_down_map(scene)
    assert drawn.path[0] == (0.0, 100.0, 200.0)
    assert drawn.path[-1] == (2.0, 100.0, 220.0)
    assert [thing.label for thing in drawn.things] == ["car", "bollard", "car"]
    assert drawn.things[1].outline == ((98.0, 213.0),)
    assert drawn.things[1].seen_s == 0.3
    assert drawn.ground == (((98, 200), (102, 200), (102, 220)),)
    lanes = top_down_map(scene.with_facts(drivable=())).ground
    assert lanes == (((98, 200), (98, 220), (102, 220), (102, 205), (102, 200)),)


Picture = npt.NDArray[np.uint8]


def film(root: Path, sweeps: int, **changes: Any) -> list[Picture]:
    """A car 10 m ahead and 5 m to the left, until a bus comes at the twelfth sweep."""
    car = [box(n, ty_m=5.0, **changes) for n in range(sweeps)]
    bus = [box(n, "b", category="BUS", tx_m=-20.0, length_m=12.0) for n in range(12, sweeps)]
    write_log(root, car + bus, [pose(n) for n in range(sweeps)], [lane(1)])
    footage = drawn(read(root, Argoverse2()))
    return list(footage.frames())


def of_colour(picture: Picture, colour: tuple[int, int, int]) -> npt.NDArray[np.intp]:
    """(n, 2) pixels of a colour on the map: x, y."""
    y, x = np.nonzero((picture[:, :WIDE] == colour).all(2))
    return np.column_stack([x, y])


def test_no_picture_knows_what_comes_later(tmp_path: Path) -> None:
    whole, part = film(tmp_path / "whole", 20), film(tmp_path / "part", 12)
    assert len(part) == 12
    assert all((a == b).all() for a, b in zip(whole, part, strict=False))
    assert not any(len(of_colour(picture, COLOURS["bus"])) for picture in whole[:12])
    assert len(of_colour(whole[12], COLOURS["bus"])) > 50


def test_colours_are_far_apart_and_far_from_those_of_the_page() -> None:
    """In CIE L*a*b*, of which 2.3 can just be told side by side; the usual ones by far more, as dots of six pixels."""
    every = lab(np.array([*COLOURS.values(), *INK.values()]))
    apart = np.linalg.norm(every[:, None] - every[None], axis=2)[: len(COLOURS)]
    apart[np.arange(len(COLOURS)), np.arange(len(COLOURS))] = np.inf
    assert apart.min() > 30
    assert apart[:9, :9].min() > 45


def test_the_legend_names_every_kind_in_the_picture(tmp_path: Path) -> None:
    """All kinds at once, beside what the map has: each has its colour there, under the one before it."""
    kinds = sorted(COLOURS)
    rows = [box(s, f"t{n}", ty_m=3.0 * n - 36) for s in (0, 1) for n in range(len(kinds))]
    scene = read(write_log(tmp_path, rows, [pose(0), pose(1)], [lane(1)]), Argoverse2())
    actors = tuple(
        actor.model_copy(update={"category": kind}) for actor, kind in zip(scene.facts.actors, kinds, strict=True)
    )
    column = next(iter(drawn(scene.with_facts(actors=actors)).frames()))[:, WIDE + 13 : WIDE + 17]
    rows_of = [np.flatnonzero((column == COLOURS[kind]).all(2).all(1)) for kind in kinds]
    assert min(map(len, rows_of)) >= 6, "pixels"
    assert all(a.max() + 2 < b.min() for a, b in pairwise(rows_of))
    assert (column == INK["road"]).all(2).any()


def test_every_picture_says_that_it_was_drawn(tmp_path: Path) -> None:
    pictures = film(tmp_path, 8)
    assert len({picture[338:357, :190].tobytes() for picture in pictures}) == 1
    assert (pictures[0][338:357, :190] == INK["red"]).all(2).sum() > 300, "letters"


def test_the_legend_tells_what_distances_from_a_car_of_unknown_size_are_measured_from(tmp_path: Path) -> None:
    own = (box(s, track="us", category="EGO_VEHICLE", tx_m=1.0, length_m=5.0) for s in (0, 1))
    point = ["dot: the middle of", "the rear axle"]
    for name, rows, told in (("one", (), point), ("other", own, [])):
        (tmp_path / name).mkdir()
        log = write_log(tmp_path / name, [box(0, "a"), box(1, "a"), *rows], [pose(0), pose(1)], [lane(1)])
        assert _DriveVideo(read(log, Argoverse2())).point == told


def test_a_picture_by_hand(tmp_path: Path) -> None:
    """Three pixels a metre about our rear axle at (240, 180), heading up: all that may be drawn, and what says so.

    Our car reaches from 1.5 m behind it to 3.5 m ahead; 8 m before it begins a car of 4 m that blinks and brakes; a
    person is 10 m ahead and 20 m to the right, a green light as far to the right; the crossing is 8 m by 3 m.
    """
    first = (box(s, "a") for s in (0, 1))
    person = (box(s, "b", category="PEDESTRIAN", ty_m=-20.0, length_m=0.6, width_m=0.6) for s in (0, 1))
    own = (box(s, track="us", category="EGO_VEHICLE", tx_m=1.0, length_m=5.0) for s in (0, 1))
    log = write_log(tmp_path, [*first, *person, *own], [pose(0), pose(1)], [lane(1)])
    scene = read(log, Argoverse2())
    lit = (Lamps(index=0, lit=("brake", "left blinker", "right blinker")),)
    a, b = scene.facts.actors
    scene = scene.with_facts(
        actors=(a.model_copy(update={"lamps": lit}), b),
        ego=scene.facts.ego.model_copy(update={"lamps": lit}),
        lights=(TrafficLight(id="l", place_m=(120, 200, 8), colours=(Colour(index=0, colour="green"),)),),
    )
    picture = next(iter(drawn(scene).frames()))
    on_map, beside = (0, 0, WIDE - 1, 330), (WIDE, 0, 639, 330)
    assert bounds(picture, INK["own"], on_map) == (238, 180 - 16, 242, 183), "within its rim, and the line ahead"
    assert (picture[[171, 171, 183, 183], [238, 242, 238, 242]] == INK["own"]).all(), "all four corners"
    assert bounds(picture, INK["own"], (230, 160, 250, 168)) == (239, 164, 241, 168), "straight ahead"
    assert bounds(picture, INK["red"], (200, 175, 280, 200)) == (240 - 4, 187, 240 + 4, 189), "our brakes, 8 behind"
    assert bounds(picture, COLOURS["car"], on_map) == (238, 150 - 5, 242, 154), "12 by 6, within its rim"
    assert bounds(picture, INK["red"], (200, 100, 280, 170)) == (237, 155, 243, 157), "its brakes, at its rear"
    assert bounds(picture, INK["amber"], on_map) == (240 - 12, 180 - 39, 240 + 12, 158), "the crossing, the blinkers"
    assert bounds(picture, INK["amber"], (200, 151, 280, 170)) == (234, 153, 245, 158), "2.5 about the rear corners"
    assert (picture[144, [236, 244]] == INK["amber"]).all(), "and about the front ones"
    assert bounds(picture, COLOURS["pedestrian"], on_map) == (298, 148, 302, 152), "a dot of 2 m, within its rim"
    assert bounds(picture, INK["green"], on_map) == (300 - 3, 180 - 3, 300 + 3, 180 + 3)
    assert bounds(picture, INK["edge"], on_map) == (240 - 6, 180 - 60, 240 + 6, 180), "of a lane of 4 by 20 m"
    lines = [INK["grid"] == tuple(picture[5, x]) for x in range(WIDE)]
    assert [x for x, is_line in enumerate(lines) if is_line] == [0, 60, 120, 180, 240, 300, 360, 420], "each 20 m"
    kinds = (COLOURS["car"], COLOURS["pedestrian"], INK["own"], INK["thing"], INK["edge"], INK["amber"], INK["road"])
    assert [bounds(picture, ink, beside) for ink in kinds] == [
        (490, 12, 500, 22), (490, 27, 500, 37), (493, 42, 497, 51), (491, 58, 499, 66), (492, 74, 498, 80),
        (490, 87, 500, 97), (490, 102, 500, 112),
    ]  # fmt: skip
    assert bounds(picture, INK["text"], (503, 0, 639, 25)) == (509, 16, 525, 22), "car"
    assert bounds(picture, INK["paper"], (320, 330, WIDE - 1, 359)) == (324, 338, 477, 357)
    assert bounds(picture, INK["text"], (325, 335, 400, 359)) == (331, 343, 393, 355), "heading up"
    assert bounds(picture, INK["text"], (401, 335, 439, 359)) == (406, 347, 435, 349), "10 m"
    lost = doubt("jump", "ego", "", "").model_copy(update={"stretches": ((0.0, 0.05),)})
    nowhere = next(iter(drawn(scene.model_copy(update={"findings": (lost,)})).frames()))
    assert bounds(nowhere, INK["text"], on_map) == (181, 183, 305, 195), "our place is not known"
    assert bounds(nowhere, INK["grid"], on_map) is None


@pytest.mark.parametrize(
    ("filmed", "on_edge", "beyond_it"),
    [
        (False, (60, 80, 0), (60.001, 80, 0)),
        (False, (60, 80, 0), (60, 80.001, 0)),
        (False, (-52, -80, 0), (-52.001, -80, 0)),
        (False, (-52, -80, 0), (-52, -80.001, 0)),
        (True, (16, 16, 16), (16, 16.001, 16)),
        (True, (16, 16, 16), (16, 16, 16.001)),
        (True, (16, -16, -16), (16, -16.001, -16)),
        (True, (16, -16, -16), (16, -16, -16.001)),
        (True, (0.001, 0, 0), (0, 0, 0)),
    ],
)
def test_what_lies_on_the_edge_of_the_picture_is_in_it(
    filmed: bool, on_edge: tuple[float, ...], beyond_it: tuple[float, ...], scene: DriveScene
) -> None:
    """Ahead, left and up of us; of the map, and of a camera that looks ahead and sees half a right angle to each side.

    What is at the camera is not before it.
    """
    axes = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))
    camera = DriveCamera(
        name="front", width=100, height=80, focal_px=(50, 40), centre_px=(50, 40), ego_from_camera=axes,
        place_m=(0.0, 0.0, 0.0),
    )  # fmt: skip
    film = Video(path="front.mp4", fps=10, frames=21, width=100, height=80) if filmed else None
    view = DriveView(scene.model_copy(update={"video": film}).with_facts(cameras=(camera,)))
    for place, expected in ((on_edge, 1), (beyond_it, 0)):
        view.relative_m = np.broadcast_to(np.array(place, dtype=np.float64), (3, 21, 3))
        view.place_m[0, 0, 2] = view.ego_m[0, 2] + place[2]
        assert view.pictured(0, 0) == expected


@pytest.mark.slow
def test_lights_and_brakes_can_be_seen(tmp_path: Path) -> None:
    """Of the sample recording of CARLA: lamps and lights are in it."""
    write_drives(tmp_path)
    reader = Carla()
    seen = set()
    for ref in reader.scenes(tmp_path / "carla").scenes:
        footage = drawn(reader.read(SceneFiles(tmp_path / "carla", ref)))
        for picture in list(footage.frames())[::10]:
            seen |= {name for name in ("red", "green", "own") if len(of_colour(picture[:330], INK[name]))}
    assert seen == {"red", "green", "own"}


@pytest.mark.parametrize(("colour", "light"), [
    ((129, 129, 129), True), ((127, 127, 127), False), ((255, 89, 0), True), ((255, 88, 0), False),
    ((0, 169, 255), True), ((0, 168, 255), False), ((253, 70, 98), False), ((253, 71, 98), True),
])  # fmt: skip
def test_lines_on_light_colours_are_dark(colour: tuple[int, int, int], light: bool) -> None:
    """Luma of BT.601: 0.299, 0.587 and 0.114 of red, green and blue."""
    assert _is_light(colour) == light


@pytest.mark.parametrize("place", [(60, 80), (60, -80), (-60, 80), (-60, -80)])
def test_what_stands_in_a_corner_of_the_map_is_drawn_and_named(place: tuple[float, float]) -> None:
    """Half a metre farther ahead or aside it is neither."""
    ego = Ego(track=track(0, np.zeros((2, 3)), 0.0), point="rear")
    for off, seen in (((1.0, 1.0), True), ((1.01, 1.0), False), ((1.0, 1.01), False)):
        corner = np.array([[*np.multiply(place, off), 0.0]] * 2)
        cone = Actor(id="a", category="traffic cone", source_category="x", track=track(0, corner, 0.0))
        picture = next(iter(drawn(drive_of(np.array([0, 1.0]), ego=ego, actors=(cone,))).frames()))
        assert (bounds(picture, COLOURS["traffic cone"], (WIDE, 0, 639, 330)) is not None) == seen


def test_of_a_log_that_does_not_know_where_we_are_nothing_is_drawn(tmp_path: Path) -> None:
    scene = read(write_log(tmp_path, [box(0), box(1)], [pose(0), pose(1)]), Argoverse2())
    lost = scene.facts.model_copy(update={"ego": None})
    assert drawn(scene.model_copy(update={"facts": lost})) is None


def test_the_film_shows_boxes_as_a_plain_projection_has_them(scene: DriveScene) -> None:
    """A camera 1.5 m ahead and 1.2 m up: sizes and hidden shares corner by corner, column by column."""
    camera = DriveCamera(
        name="front", width=200, height=100, focal_px=(90, 100), centre_px=(100, 50),
        ego_from_camera=FRONT.ego_from_camera, place_m=(1.5, 0.25, 1.2),
    )  # fmt: skip
    film = Video(path="front.mp4", fps=10, frames=21, width=200, height=100)
    view = DriveView(scene.model_copy(update={"video": film}).with_facts(cameras=(camera,)))
    for index in (0, 3, 8):
        sizes, hidden = view.in_film(index)
        boxes: list[Any] = []
        for row in range(len(view.ids)):
            turn = np.radians(view.yaw_deg[row, index] - view.ego_yaw_deg[index])
            axes = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
            corners = []
            for share in product((-0.5, 0.5), repeat=3):
                at = view.relative_m[row, index] + axes @ (view.size_m[row] * share)
                ahead, left, up = at - (1.5, 0.25, 1.2)
                corners.append((-left / ahead, -up / ahead, ahead))
            found = np.array(corners)
            boxes.append(found if (found[:, 2] > 0.1).all() else None)
        for row, own in enumerate(boxes):
            if own is None:
                assert np.isnan(sizes[row])
                assert np.isnan(hidden[row])
                continue
            wide, tall = np.ptp(own[:, :2], axis=0)
            assert sizes[row] == pytest.approx(np.sqrt(90 * wide * 100 * tall))
            middle = (own[:, 1].min() + own[:, 1].max()) / 2
            columns = own[:, 0].min() + wide * (np.arange(32) + 0.5) / 32
            covered = [
                any(
                    other is not None and other[:, 2].mean() < own[:, 2].min()
                    and other[:, 1].min() <= middle <= other[:, 1].max() and other[:, 0].min() <= x <= other[:, 0].max()
                    for other in boxes
                )
                for x in columns
            ]  # fmt: skip
            assert hidden[row] == pytest.approx(np.mean(covered))


# ---- against plain loops

UNEVEN_S = np.cumsum([0, *np.random.default_rng(5).uniform(0.08, 0.33, 24)]).round(4)


def uneven() -> DriveScene:
    """Our car and five others at 25 uneven times, all but the last on curved ways.

    "a" is there from the fourth time to the twentieth, its box beside its point; "b" has its own velocities and no
    place at two times; "c" has no box; "d" is in doubt, "e" for a while, as our car is; "f" is small.
    """
    rng = np.random.default_rng(11)

    def way(first: int, stop: int, velocity: bool = False) -> ActorTrack:
        place = rng.normal(0, 0.4, (stop - first, 3)).cumsum(0) + rng.uniform(-12, 12, 3) * (1, 1, 0.1)
        place[2:4, :] = np.nan if velocity else place[2:4, :]
        return track(first, place, rng.uniform(-180, 180, stop - first), rng.normal(0, 5, (stop - first, 3)), velocity)

    sides = {"a": (4.5, 1.9, 1.5), "b": (12.0, 2.5, 3.2), "d": (4, 2, 1), "e": (5.1, 2.1, 2.0), "f": (0.6, 0.5, 1.7)}
    boxes = {name: VehicleBox(size_m=size) for name, size in sides.items()}
    boxes["a"] = VehicleBox(size_m=sides["a"], middle_m=(1.2, -0.4, 0.75))
    spans = {"a": (3, 20), "b": (5, 25), "c": (0, 25), "d": (2, 9), "e": (0, 25), "f": (0, 25)}
    actors = tuple(
        Actor(
            id=name, category="car", source_category="x", box=boxes.get(name), track=way(*span, velocity=name == "b"),
        )
        for name, span in spans.items()
    )  # fmt: skip
    ego = Ego(track=way(1, 24), point="rear", box=VehicleBox(size_m=(4.8, 1.8, 1.4), middle_m=(1.3, 0.1, 0.7)))
    during = {"stretches": ((float(UNEVEN_S[10]), float(UNEVEN_S[12])),)}
    findings = [doubt("whole", "d", "", ""), doubt("again", "d", "", ""), note("odd", "f", "", "")]
    findings += [doubt("part", name, "", "").model_copy(update=during) for name in ("e", "ego", "nobody")]
    scene = drive_of(UNEVEN_S, actors=actors, ego=ego)
    return scene.model_copy(update={"findings": tuple(findings)})


def laid_out(track: ActorTrack, middle: tuple[float, float, float] = (0, 0, 0)) -> tuple[FloatArray, FloatArray]:
    place, yaw = np.full((25, 3), np.nan), np.full(25, np.nan)
    for n in range(len(track)):
        yaw[track.first + n] = track.yaw_deg.array[n, 0]
        place[track.first + n] = track.place_m.array[n] + about_z(yaw[track.first + n]) @ middle
    return place, yaw


def about_z(yaw_deg: float) -> FloatArray:
    return np.asarray(Rotation.from_euler("z", yaw_deg, degrees=True).as_matrix())


def rates(values: FloatArray, wrap: bool = False) -> FloatArray:
    """Change per second over a second, from the time nearest to half of it before to that nearest to half after."""
    found = np.full(values.shape, np.nan)
    for n, t in enumerate(UNEVEN_S):
        a, b = (min(range(25), key=lambda k: (abs(UNEVEN_S[k] - at), k)) for at in (t - 0.5, t + 0.5))
        change = values[b] - values[a]
        found[n] = ((change + 180) % 360 - 180 if wrap else change) / (UNEVEN_S[b] - UNEVEN_S[a])
    return found


def test_a_view_over_time_is_what_plain_loops_make_of_it() -> None:
    scene = uneven()
    view, actors = DriveView(scene), {actor.id: actor for actor in scene.facts.actors}
    assert {name: found.name for name, found in view.doubts.items()} == {"d": "whole"}
    own, own_yaw = laid_out(scene.facts.ego.track)
    own[10:13], own_yaw[10:13] = np.nan, np.nan
    np.testing.assert_allclose(view.ego_velocity_mps, np.where(np.isnan(own), np.nan, rates(own)))
    speed = np.linalg.norm(view.ego_velocity_mps[:, :2], axis=1)
    np.testing.assert_allclose(view.ego_speed_mps, speed)
    np.testing.assert_allclose(view.ego_acceleration_mps2, rates(speed), atol=1e-9)
    np.testing.assert_allclose(view.ego_turn_dps, rates(own_yaw, wrap=True), atol=1e-9)
    assert [view.index(t) for t in (-1.0, 1.234, 9.0)] == [0, int(np.abs(UNEVEN_S - 1.234).argmin()), 24]
    for name, actor in actors.items():
        row, box = view.row(name), actor.box or VehicleBox(size_m=(1, 1, 1))
        place, yaw = laid_out(actor.track, box.middle_m)
        if name == "d":
            place[:], yaw[:] = np.nan, np.nan
        place[10:13] = np.nan if name == "e" else place[10:13]
        velocity = rates(place)
        if name == "b":
            velocity[5:] = actor.track.velocity_mps.array
        velocity[np.isnan(place[:, 0])] = np.nan
        np.testing.assert_allclose(view.place_m[row], place, atol=1e-9)
        np.testing.assert_allclose(view.velocity_mps[row], velocity, atol=1e-9)
        np.testing.assert_allclose(view.speed_mps[row], np.linalg.norm(velocity[:, :2], axis=1))
        assert view.present[row].tolist() == np.isfinite(place[:, 0]).tolist()
        unsure = [(name == "d" and 2 <= n < 9) or (name == "e" and 10 <= n < 13) for n in range(25)]
        assert view.unsure[row].tolist() == unsure
        for n in range(25):
            about = about_z(-own_yaw[n]) @ (place[n] - own[n])
            np.testing.assert_allclose(view.relative_m[row, n], about, atol=1e-9)
            np.testing.assert_allclose(view.distance_m[row, n], np.linalg.norm(about[:2]))
            bearing, heading = np.degrees(np.arctan2(about[1], about[0])), (yaw[n] - own_yaw[n] + 180) % 360 - 180
            np.testing.assert_allclose([view.bearing_deg[row, n], view.heading_deg[row, n]], [bearing, heading])


def outline(place: FloatArray, yaw_deg: float, size: FloatArray) -> shapely.Polygon:
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return shapely.Polygon([place[:2] + about_z(yaw_deg)[:2, :2] @ (np.array(sign) * size[:2] / 2) for sign in signs])


def test_gaps_and_marks_are_what_plain_shapes_make_of_them() -> None:
    """In the drawn film: largest first; what has no box, or reaches no farther than 2 m ahead and aside, is a dot."""
    scene = uneven()
    view = DriveView(scene)
    dots = 0
    for n in (2, 6, 14, 18, 23):
        own, turn = view.ego_m[n], about_z(view.ego_yaw_deg[n])
        ours = outline(own + turn @ (1.3, 0.1, 0.7), view.ego_yaw_deg[n], np.array([4.8, 1.8]))
        marks: dict[int, shapely.Polygon] = {}
        areas = {}
        for row in range(6):
            place, yaw, size = view.place_m[row, n], view.yaw_deg[row, n], view.size_m[row]
            boxed = np.isfinite([*place, yaw, *size]).all()
            gap = outline(place, yaw, size).distance(ours) if boxed else np.nan
            assert view.gap_m(n)[row] == pytest.approx(gap, nan_ok=True, abs=1e-9)
            if np.isfinite(place).all():
                flat = outline(turn.T @ (place - own), yaw - view.ego_yaw_deg[n], size) if boxed else None
                is_dot = flat is None or max(np.ptp(np.array(flat.exterior.coords), axis=0)) < 2
                dots += is_dot
                assert view.drawn_marks(n).is_dot[row] == is_dot
                marks[row] = shapely.Point((turn.T @ (place - own))[:2]).buffer(1) if is_dot or flat is None else flat
                areas[row] = np.pi if is_dot else size[0] * size[1]
        order = sorted(marks, key=lambda row: -areas[row])
        assert view.drawn_marks(n).order.tolist() == order
        hidden = np.full(6, np.nan)
        for at, row in enumerate(order):
            over = shapely.union_all([marks[other] for other in order[at + 1 :]])
            hidden[row] = marks[row].intersection(over).area / marks[row].area
        size, share = view.in_film(n)
        np.testing.assert_allclose(share, hidden, atol=2e-3)  # of a disc of 32 sides
        assert np.isnan(size).all()
    assert 5 < dots < 20
    bare = DriveView(scene.with_facts(ego=scene.facts.ego.model_copy(update={"box": None})))
    assert np.isnan(bare.gap_m(6)).all()


def test_lanes_are_found_as_a_search_of_all_finds_them() -> None:
    rng = np.random.default_rng(2)
    lanes, shapes = [], []
    for n in range(7):
        x, y = rng.uniform(0, 30, 2)
        left, right = ([(x + 12 * k, y + side + k, 1.0) for k in range(3)] for side in (2.5, -1.0))
        lanes.append(Lane(id=str(n), kind="vehicle", centre=left, left=left, right=right))
        shapes.append(shapely.Polygon([p[:2] for p in left] + [p[:2] for p in reversed(right)]))
    points = np.concatenate([rng.uniform(0, 40, (60, 2)), [[np.nan, 3]], [lanes[3].left[1][:2]]])
    view = DriveView(drive_of(UNEVEN_S, lanes=tuple(lanes)))
    found = [[n for n, shape in enumerate(shapes) if shape.intersects(shapely.Point(p))] for p in points]
    assert view.lanes_at(points) == found
    assert {0, 1, 2} <= {len(one) for one in found}
    assert view.lanes_at(points[:0]) == []
    assert DriveView(drive_of(UNEVEN_S)).lanes_at(points[:1]) == [[]]
    assert not DriveView(drive_of(UNEVEN_S)).drawable, "nobody knows where we were"
    assert DriveView(drive_of(UNEVEN_S, frame="ego")).drawable
