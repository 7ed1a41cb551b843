"""The picture of a dataset card: the same bytes each time, what it marks is what the question names, and no markup."""

import hashlib
import io
from collections import Counter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.core.tables import CHECKSUMS, QUESTIONS
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import Sheet, SheetPart, map_alone
from pipeline.release.card import OVERVIEW_FILE
from pipeline.rendering.overview import SIZE, _wrapped, overview
from pipeline.samples.indoor.metadata import write_sample_metadata
from tests.builds import build

ORANGE: Final = (226, 166, 95)  # of what is marked, on the ground
ON_PAPER: Final = (232, 173, 106)
PER_M: Final = (640 - 2 * 28) / 8 * 550 / 640  # of the room: the map has a margin
LEFT: Final = 40 + 28 * 550 / 640
ROOM: Final = TopDownMap(
    ground=(((0.0, 0.0), (8.0, 0.0), (8.0, 4.0), (0.0, 4.0)), ((2.0, 1.0), (3.0, 1.0), (3.0, 2.0), (2.0, 2.0))),
    things=(
        MappedThing(label="bed", outline=((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0))),
        MappedThing(label="lamp", outline=((7.0, 3.0), (8.0, 3.0), (8.0, 4.0), (7.0, 4.0))),
        MappedThing(label="sofa", outline=((5.0, 0.0), (6.0, 0.0), (6.0, 1.0), (5.0, 1.0))),
    ),
    path=((0.0, 1.0, 1.0), (1.0, 4.0, 3.0)),
)


def asked(*rows: dict[str, Any]) -> pa.Table:
    whole = [dict.fromkeys(QUESTIONS.names) | {"scene": "a/one", "task": "far"} | row for row in rows]
    return pa.Table.from_pylist(whole, schema=QUESTIONS)


def answers_in(table: pa.Table) -> dict[str, Counter[str]]:
    tasks, answers = table["task"].to_pylist(), table["answer"].to_pylist()
    return {task: Counter(own for of, own in zip(tasks, answers, strict=True) if of == task) for task in tasks}


def drawn(table: pa.Table, sketch: TopDownMap = ROOM) -> Any:
    raw = overview("Title", "told", table, answers_in(table), lambda scene: sketch)
    assert raw == overview("Title", "told", table, answers_in(table), lambda scene: sketch)
    picture = Image.open(io.BytesIO(raw))
    assert (picture.size, picture.format, picture.info) == (SIZE, "PNG", {})
    return np.asarray(picture.convert("RGB"))


def like(picture: Any, colour: tuple[int, int, int]) -> Any:
    return (np.abs(picture.astype(int) - colour) <= 2).all(-1)


def test_marked_is_what_the_question_names_at_its_true_size() -> None:
    row = {"id": 7, "operands": ["bed", "lamp"], "text": "How far is the bed from the lamp?", "answer": "5.1"}
    picture = drawn(asked(row))
    orange = like(picture, ORANGE)
    # 4 m² of bed and 1 m² of lamp, less their outlines and the path
    assert 0.85 * 5 < orange.sum() / PER_M**2 <= 5
    _, columns = np.nonzero(orange)
    assert (columns.min(), columns.max()) == pytest.approx((LEFT, LEFT + 8 * PER_M), abs=4)


def test_words_bars_and_columns_stand_where_they_were_looked_at() -> None:
    """A map with a question of more than four lines; and without one as many tasks as have places, and more."""
    row = {"id": 7, "operands": ["bed", "lamp"], "text": "How far is the bed from the lamp? " * 7, "answer": "5.1"}
    tasks = {
        f"task {n}" + " of many words" * (n % 9): Counter({f"{a}": a % 5 + 1 for a in range(6 * n)})
        for n in range(1, 27)
    }
    pages = [(asked(row), answers_in(asked(row))), *((asked(), dict(list(tasks.items())[:n])) for n in (24, 26))]
    raws = [overview("A release", "told", table, answers, lambda scene: ROOM) for table, answers in pages]
    pixels = [np.asarray(Image.open(io.BytesIO(raw))).tobytes() for raw in raws]
    assert [hashlib.sha256(raw).hexdigest()[:12] for raw in pixels] == ["8e4983f78571", "5cc2c92a9372", "27d3a3364121"]


@pytest.mark.parametrize(
    ("marked", "letters", "has_map"),
    [(1, 240, False), (2, 240, True), (5, 240, True), (6, 240, False), (2, 241, False)],
)
def test_a_map_marks_two_to_five_things_of_a_question_that_fits(marked: int, letters: int, has_map: bool) -> None:
    things = [MappedThing(label=f"{n}", outline=((n, 0), (n + 1, 0), (n, 1))) for n in range(6)]
    row = {"id": 7, "operands": [thing.label for thing in things[:marked]], "text": "x" * letters, "answer": "1"}
    assert like(drawn(asked(row), TopDownMap(things=tuple(things))), ON_PAPER).any() == has_map


@pytest.mark.parametrize(("size", "shown"), [((560, 600), (499, 535)), ((1100, 100), (550, 50))])
def test_a_picture_that_the_benchmark_draws_of_a_question_is_shown_whole_in_place_of_the_map(
    size: tuple[int, int], shown: tuple[int, int]
) -> None:
    out = io.BytesIO()
    Image.new("RGB", size, "#c80000").save(out, "PNG")
    row = {"id": 7, "operands": ["bed", "lamp"], "text": "How far is the bed from the lamp?", "answer": "5.1"}
    raw = overview("Title", "told", asked(row), answers_in(asked(row)), lambda scene: ROOM, {7: out.getvalue()}.get)
    picture = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    rows, columns = np.nonzero((picture == (0xC8, 0, 0)).all(-1))
    assert (rows.min(), columns.min(), np.ptp(columns) + 1, np.ptp(rows) + 1) == (128, 40, *shown)
    assert not like(picture, ORANGE).any()


def test_a_drawing_that_measures_is_shown_without_its_other_parts_and_with_a_legend() -> None:
    measured, plain = Canvas(560, 200), Canvas(560, 200)
    for canvas in (measured, plain):
        canvas.shape("a", [[(100, 50), (200, 50), (200, 150), (100, 150)]])
    measured.line("measure", [(200, 100), (400, 100)])
    below = Canvas(560, 900)
    below.shape("c", [[(0, 0), (560, 0), (560, 900), (0, 900)]])
    svgs = {
        number: Sheet("title", [SheetPart(canvas, {}), SheetPart(below, {})]).svg().encode()
        for number, canvas in ((7, measured), (8, plain))
    }
    rows = [{"id": n, "operands": [], "text": "How far is it?", "answer": "5.1"} for n in svgs]
    raw = overview("Title", "told", asked(*rows), answers_in(asked(*rows)), lambda scene: ROOM, drawing=svgs.get)
    picture = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    rows_of, columns = np.nonzero(like(picture, (0xC2, 0x41, 0x0C))[:488, :590])
    scale = 550 / 560  # the map alone, as wide as there is room
    assert np.ptp(columns) == pytest.approx(200 * scale, abs=8)
    assert columns.min() == pytest.approx(40 + 200 * scale, abs=8)
    assert rows_of.mean() == pytest.approx((128 + 488) / 2, abs=2)
    assert like(picture, (0xC2, 0x41, 0x0C))[490:510, :590].any(), "the legend names what was measured"
    assert map_alone(b"<svg/>") is None


def test_a_drawing_as_wide_as_the_place_of_the_map_comes_first() -> None:
    """The first question has a tall drawing, the second none, the third one that is too long; the fourth is shown."""
    svgs = {}
    for number, height, kind in ((7, 500, "measure"), (8, 100, "way"), (9, 100, "measure"), (10, 300, "measure")):
        canvas = Canvas(560, height)
        canvas.line(kind, [(99, 5), (99, height - 5)])
        svgs[number] = Sheet("title", [SheetPart(canvas, {})]).svg().encode()
    rows = [{"id": n, "operands": [], "text": "x" * (241 if n == 9 else 9), "answer": "5.1"} for n in svgs]
    for some, high in ((rows, 300 * 550 / 560), (rows[:3], 360)):
        raw = overview("Title", "told", asked(*some), answers_in(asked(*some)), lambda scene: ROOM, drawing=svgs.get)
        picture = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
        assert np.ptp(np.flatnonzero((picture[110:490, :590] != 255).any((1, 2)))) == pytest.approx(high, abs=2)


def test_a_scene_without_floor_and_camera_is_drawn_as_far_as_its_things_reach() -> None:
    row = {"id": 7, "operands": ["bed", "lamp"], "text": "?", "answer": "5.1"}
    picture = drawn(asked(row), TopDownMap(things=ROOM.things))
    assert 0.85 * 5 < like(picture, ON_PAPER).sum() / PER_M**2 <= 5
    points = tuple(MappedThing(label=thing.label, outline=thing.outline[:1]) for thing in ROOM.things)
    assert not like(drawn(asked(row), TopDownMap(things=points)), ON_PAPER).any(), "places alone tell nothing"


def test_a_bar_is_divided_as_the_answers_are() -> None:
    rows = [{"id": n, "operands": ["door"], "text": "?", "answer": "left" if n < 3 else "right"} for n in range(4)]
    picture = drawn(asked(*rows))  # nothing is marked: tasks stand in both columns
    bar = (picture[158, 40:560] == (0x1D, 0x5C, 0x63)).all(-1)
    assert bar.sum() == pytest.approx(0.75 * 520, abs=2)


def test_columns_of_a_histogram_are_as_high_as_answers_are_many() -> None:
    """Of numbers from 0 to 10, twice as many from 5 on: 4, 2, 5 and 6 of at most 6, in 12 pixels and a line below."""
    numbers = [n / 4 for n in range(40)] + [n / 4 + 0.1 for n in range(20, 40)]
    rows = [{"id": i, "operands": ["door"], "text": "?", "answer": f"{n:.2f}"} for i, n in enumerate(numbers)]
    high = (drawn(asked(*rows))[140:175, 40:560] == (0x1D, 0x5C, 0x63)).all(-1).sum(0)
    assert high[[5, 40, 265, 500]].tolist() == [9, 5, 11, 13]


def test_lines_beyond_those_that_fit_are_cut_in_the_last() -> None:
    assert _wrapped("one two three four five six seven eight", 19, 100, 3) == ["one two", "three four", "five six …"]
    assert _wrapped("one two three four five six", 19, 100, 3)[-1] == "five six"


def test_long_words_names_of_control_and_no_questions_are_drawn_too() -> None:
    row = {"id": 7, "operands": ["bed", "lamp"], "text": "word" * 45, "answer": "x\x1b[31m" * 90, "task": "t" * 300}
    drawn(asked(row | {"text": "a\x00b " * 40}))
    drawn(asked(row))
    drawn(asked())


@pytest.mark.slow
def test_the_card_shows_it_and_the_checksums_name_it(tmp_path: Path) -> None:
    write_sample_metadata(tmp_path / "meta")
    build(tmp_path / "meta", tmp_path / "out")
    release = tmp_path / "out" / "release"
    assert f"]({OVERVIEW_FILE})" in (release / "README.md").read_text()
    assert f"  {OVERVIEW_FILE}\n" in (release / CHECKSUMS).read_text()
    raw = (release / OVERVIEW_FILE).read_bytes()
    assert len(raw) < 150_000
    build(tmp_path / "meta", tmp_path / "again")
    assert (tmp_path / "again" / "release" / OVERVIEW_FILE).read_bytes() == raw
