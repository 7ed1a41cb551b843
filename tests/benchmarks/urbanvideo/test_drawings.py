"""Drawings of flights are measured: stretches by their seconds, bearings and distances by the evidence."""

import io
import re
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from pipeline.benchmarks.urbanvideo.drawings import DRAWINGS
from pipeline.benchmarks.urbanvideo.legends import _FRAME, LEGENDS, _cut, _sheet, legends, map_pictures
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.urbanvideo.tasks.registry import URBAN_TASKS
from pipeline.core.identity import digest
from pipeline.core.schema import Video
from pipeline.core.video_spec import VideoSpec
from pipeline.drawing.sheet import png_of
from pipeline.worlds.flight.facts import FlightScene, Shot
from pipeline.worlds.flight.view import FlightView
from tests.benchmarks.urbanvideo.flights import flight, judged, mark, motion, rules
from tests.benchmarks.urbanvideo.test_places import large, shown
from tests.drawing.reading import SVG, measured, parts, points

MOVES = [
    ("ascend", 6, 20),
    ("fly forward", 20, 160),
    ("turn right", 4, 90),
    ("fly forward", 12, 60),
    ("hover", 4, 0),
    ("fly backward", 8, 30),
    ("turn left", 4, 60),
]
MARKS = [
    mark("the red mill", 20, 60, top=12.0),
    mark("the inn", -25, 150, top=15.0),
    mark("the tower <b>", 90, 130, top=40.0),
    mark("the barn", 40, 40),
    mark("the lone oak", 100, 190, radius=2.0, top=9.0),
]
VIEWS = {n: [(1.0, 57.0)] for n in range(len(MARKS))}
SCENE = flight(motion(MOVES, views=VIEWS), MARKS, goal="the tower <b>")


class Blank:
    form = VideoSpec(size=(640, 360), bars=False, clips=True)

    def __call__(self, second: float) -> np.ndarray:
        return np.full((360, 640, 3), 128, dtype=np.uint8)


def drawn(task: str, scene: FlightScene = SCENE, footage: Any = None) -> list[Any]:
    rows = [r | {"text": "?", "options": None} for r in judged(scene, task) if r["reason"] is None][:12]
    assert rows, f"{task} has no question"
    sheets = dict(DRAWINGS.draw(FlightView(scene, rules(task)), rows, footage))
    return [(row, sheets[row["id"]].svg()) for row in rows]


def fact(row: dict[str, Any], name: str) -> float:
    found = [e["value"] for e in row["evidence"] if e["name"] == name and e["limit"] is None]
    assert len(found) == 1
    return float(found[0])


@pytest.mark.parametrize("task", ["Landmark Position", "Trajectory Captioning", "Proximity", "Duration"])
def test_the_stretch_on_the_map_is_what_was_flown_in_its_seconds(task: str) -> None:
    for row, svg in drawn(task):
        for name in ("stretch", "movement"):
            for line in measured(svg, "map", name):
                path = [e for e in line.part.iter(f"{SVG}path") if e.get("data-fact") == name]
                assert path
        (stretch,) = measured(svg, "map", "stretch")
        (element,) = (e for e in stretch.part.iter(f"{SVG}path") if e.get("data-fact") == "stretch")
        ends = [float(element.attrib["data-from-s"]), float(element.attrib["data-until-s"])]
        assert ends == [
            row["from_s"] or 0.0,
            FlightView(SCENE, rules(task)).end_s if row["until_s"] is None else row["until_s"],
        ]
        flown = where(ends)
        assert stretch.length_m == pytest.approx(np.hypot(*(flown[1] - flown[0])), abs=0.15)


@pytest.mark.parametrize("task", ["Duration", "Trajectory Captioning", "Sequence Recall"])
def test_movements_on_the_heights_are_where_their_seconds_are(task: str) -> None:
    for row, svg in drawn(task):
        (part,) = parts(svg, "heights")
        per_s = float(part.attrib["data-per-s"])
        shown = [e for e in part.iter(f"{SVG}path") if e.get("data-fact") == "movement"]
        said = [[e["value"] for e in row["evidence"] if e["name"] == name] for name in ("start", "end")]
        assert len(shown) == len(said[0]) > 0
        for element, start, end in zip(shown, *said, strict=True):
            (left, _), (right, _) = points(element.attrib["d"])
            assert (right - left) / per_s == pytest.approx(end - start, abs=0.05)
            assert (left - 44.0) / per_s == pytest.approx(start, abs=0.05)  # the axis begins there


def test_the_bearing_and_the_distance_are_the_evidences() -> None:
    for row, svg in drawn("Landmark Position"):
        (way,), (nose,) = measured(svg, "map", "distance"), measured(svg, "map", "bearing")
        assert way.length_m == pytest.approx(fact(row, "distance"), abs=0.1)
        compass = [np.degrees(np.arctan2((m.line[1] - m.line[0])[0], -(m.line[1] - m.line[0])[1])) for m in (nose, way)]
        off = (compass[1] - compass[0] - fact(row, "bearing") + 180) % 360 - 180
        assert off == pytest.approx(0, abs=0.5)


@pytest.mark.parametrize(
    ("task", "names"),
    [
        ("Start/End Position", ["start_to_nearest", "end_to_nearest"]),
        ("Object Recall", ["gap_to_nearest"]),
        ("High-level Planning", ["distance"]),
    ],
)
def test_lengths_on_the_map_are_the_evidences(task: str, names: list[str]) -> None:
    scene = SCENE
    if task == "Object Recall":
        marks = [mark("the red mill", 20, 60), mark("the kiosk", 40, 60), mark("the inn", -60, 150), *MARKS[2:]]
        scene = flight(motion(MOVES, views=VIEWS), marks)
    if task == "Start/End Position":
        marks = [
            mark("the pond", 0, -15),
            mark("the hut", 30, 178),
            mark("the inn", -90, 60),
            mark("the mill", 120, 60),
        ]
        scene = flight(motion(MOVES, views={n: [(0.0, 57.0)] for n in range(4)}), marks)
    for row, svg in drawn(task, scene):
        for name in names:
            (line,) = measured(svg, "map", name)
            assert line.length_m == pytest.approx(fact(row, name), abs=0.2)


def test_the_distances_of_proximity_are_as_high_as_they_are() -> None:
    for row, svg in drawn("Proximity"):
        for name in ("start", "end", "least", "most"):
            (line,) = measured(svg, "distances", f"distance_{name}")
            assert line.length_m == pytest.approx(fact(row, f"distance_{name}"), abs=0.5)


IN_FULL = {
    "Action Generation": ["1991a7a36554", "1b3543602f87"],
    "Association": ["0bd6f3bc90d5", "40799daed7fe"],
    "Cognitive Map": ["1756745d50b5", "9e425a398a21"],
    "Duration": ["c3911eb0b0a6", "82550e1b349b"],
    "Goal Detection": ["90d69fc343e4", "2168f953846a"],
    "High-level Planning": ["b3199b82ece1", "fc780059ed85"],
    "Landmark Position": ["fd783567a158", "db5674b54658"],
    "Object Recall": ["ce2542e4ee52", "ce2542e4ee52"],
    "Progress Evaluation": ["e93ccd5546a1", "b9ec2ef4ccfa"],
    "Proximity": ["7bf36201ebff", "54c87aaa60c0"],
    "Sequence Recall": ["8a2e2ec736ba", "37f186591114"],
    "Start/End Position": ["dd00c70b66b8", "6ba2e487053d"],
    "Trajectory Captioning": ["e7837e8cc119", "93427bbaa0ca"],
}  # without a film, and with one


@pytest.mark.parametrize("task", sorted(set(URBAN_TASKS) - {"Scene Recall", "Causal", "Counterfactual"}))
def test_every_task_is_drawn_with_and_without_its_video(task: str) -> None:
    """A change of any line, number or word is seen; to read it, look at the drawings before and after."""
    scene, whole = SCENE, []
    if task == "Progress Evaluation":
        scene = flight(
            motion(MOVES), route=["ascend", "fly forward", "turn right", "fly forward", "fly backward", "turn left"]
        )
    if task == "Association":
        views = {**VIEWS, 2: [(1.0, 20.0)]}
        scene = flight(motion(MOVES, views=views), MARKS, goal="the tower <b>")
    found = [r | {"text": "?", "options": None} for r in judged(scene, task) if r["reason"] is None]
    if not found:  # what such a flight cannot ask is drawn from a refused candidate's words alone
        found = [r | {"text": "?", "options": None, "answer": "", "evidence": []} for r in judged(scene, task)]
    view = FlightView(scene, rules(task))
    for footage in (None, Blank()):
        sheets = [sheet for _, sheet in DRAWINGS.draw(view, found[:2], footage)]
        whole.append(
            digest(*(re.sub(r"data:image/jpeg[^\"]*", "a picture", sheet.svg()) for sheet in sheets)).hex()[:12]
        )
        for sheet in sheets:
            svg = sheet.svg()
            assert "<b>" not in svg
            assert ("data:image/jpeg" in svg) == bool(footage and sheet.stills)
            assert png_of(sheet).startswith(b"\x89PNG")
    assert whole == IN_FULL[task]


def where(seconds: list[float]) -> np.ndarray:
    facts = SCENE.facts.motion
    return np.stack([np.interp(seconds, facts.t_s, np.array(facts.enu_m)[:, axis]) for axis in (0, 1)], axis=1)


VIDEO = Video(path="video.mp4", fps=10.0, frames=100)
RED, BLUE, GREY = (200, 20, 20), (20, 20, 200), (128, 128, 128)


def asked(number: int, text: str, *options: str) -> dict[str, Any]:
    return {"id": number, "text": text, "options": list(options) or None}


def test_a_legend_has_what_the_question_names_and_nothing_else() -> None:
    mill, inn = mark("the red mill", 0, 160, name="Mill"), mark("the blue inn", 0, 160, name="Blue Inn")
    facts = shown((mill, large(4.6)), (inn, large(8.6)))
    view = FlightView(flight(None).model_copy(update={"facts": facts, "video": VIDEO}), UrbanRules(landmarks="legend"))
    seconds = []

    def frame_at(second: float) -> np.ndarray:
        """The mill is red and at 4.6 s, the inn blue and later."""
        seconds.append(second)
        picture = np.full((360, 640, 3), GREY, dtype=np.uint8)
        picture[170:230, 310:520] = RED if second < 5 else BLUE
        return picture

    rows = [
        asked(1, "Where is Mill?", "A. Ahead", "B. Behind"),
        asked(2, "What is closest?", "A. Blue Inn", "B. Mill"),
        asked(3, "Which takes longer, turning left or milling?", "A. One"),
    ]
    found = legends(view, rows, frame_at)
    assert sorted(found) == [1, 2]
    assert seconds == [4.6, 8.6], "each is cut once"
    one, both = (np.asarray(Image.open(io.BytesIO(found[n]))).astype(int) for n in (1, 2))
    assert both.shape[1] > 1.8 * one.shape[1]

    def shows(sheet: np.ndarray, colour: tuple[int, int, int]) -> bool:
        return bool((np.abs(sheet - np.array(colour)).max(2) < 12).sum() > 1000)

    assert [shows(sheet, colour) for sheet in (one, both) for colour in (RED, BLUE)] == [True, False, True, True]


@pytest.mark.parametrize(
    ("box", "size", "corners"),
    [
        ((0.4, 0.4, 0.6, 0.6), (200, 141), (41, 41, 159, 100)),  # 40 by 20 pixels, with 14 around them: 68 by 48
        ((0.4, 0.3, 0.5, 0.7), (141, 200), (41, 41, 100, 159)),
        ((0.0, 0.8, 0.2, 1.0), (200, 126), (0, 52, 148, 126)),  # in the lower left corner: 54 by 34
    ],
)
def test_a_landmark_is_cut_out_with_a_third_of_its_size_around_it(
    box: tuple[float, float, float, float], size: tuple[int, int], corners: tuple[int, ...]
) -> None:
    part = _cut(np.zeros((100, 200, 3), dtype=np.uint8), Shot(second=0.0, box=box))
    assert part.size == size
    y, x = np.nonzero((np.asarray(part) == _FRAME).all(2))
    assert (x.min(), y.min(), x.max(), y.max()) == pytest.approx(corners, abs=1.0)


def test_pictures_of_a_legend_stand_side_by_side_in_squares_of_200_pixels_over_their_names() -> None:
    wide, tall = (Image.new("RGB", size, "red") for size in ((200, 100), (50, 200)))
    sheet = np.asarray(Image.open(io.BytesIO(_sheet({"i": wide, "l": tall}))).convert("RGB")).astype(int)
    assert sheet.shape == (250, 436, 3)
    red, ink = (sheet == (255, 0, 0)).all(2), sheet.max(2) < 128
    assert np.flatnonzero(red.any(0)).tolist() == [*range(12, 212), *range(299, 349)]
    assert [np.flatnonzero(red[:, x])[[0, -1]].tolist() for x in (12, 299)] == [[62, 161], [12, 211]]
    assert np.nonzero(ink)[0].mean() == pytest.approx(225, abs=3)
    assert np.unique(np.nonzero(ink)[1]) == pytest.approx([112, 324], abs=2)


def test_they_are_drawn_in_that_mode_alone() -> None:
    assert LEGENDS.wanted(UrbanRules(landmarks="legend"))
    assert not LEGENDS.wanted(UrbanRules())


ROWS = [
    {"id": 7, "task": "Cognitive Map", "options": ["A. S*E / ... / ..1", "B. ..1 / ... / S*E"]},
    {"id": 8, "task": "Proximity", "options": ["A. It comes closer", "B. It moves away"]},
]
GREEN, END_RED, PATH_BLUE, YELLOW = (78, 154, 6), (204, 0, 0), (52, 101, 164), (237, 212, 0)


def test_every_mark_is_drawn_in_its_cell() -> None:
    (name, raw), *others = map_pictures(pa.Table.from_pylist(ROWS), list).items()
    assert (name, others) == ("maps/07/7.png", [])
    picture = Image.open(io.BytesIO(raw)).convert("RGB")
    # Two maps of three cells of 32 pixels, with margins of 24, below a title of 28.
    assert picture.size == (2 * (96 + 24) + 24, 96 + 28 + 24)

    def colour(option: int, row: int, column: int) -> object:
        x, y = 24 + option * 120 + column * 32, 28 + row * 32
        return picture.getpixel((x + 16, y + 16) if (row, column) in {(0, 1), (2, 1)} else (x + 5, y + 5))

    assert [colour(0, 0, column) for column in range(3)] == [GREEN, PATH_BLUE, END_RED]
    assert colour(0, 2, 2) == YELLOW
    assert [colour(1, 2, column) for column in range(3)] == [GREEN, PATH_BLUE, END_RED]
    assert colour(1, 0, 2) == YELLOW
    assert colour(0, 1, 1) == (255, 255, 255)


def test_the_same_question_gives_the_same_bytes() -> None:
    table = pa.Table.from_pylist(ROWS)
    assert map_pictures(table, list) == map_pictures(table, list)
