"""Sheets: names with markup, pictures of a video, the same bytes every time."""

import io
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from pipeline.drawing.canvas import Canvas, CanvasBox
from pipeline.drawing.fonts import lines_of, shortened, width_of
from pipeline.drawing.ground import Chart, Ground
from pipeline.drawing.sheet import Sheet, SheetPart, StillPicture, pixels_of, png_of, svg_of
from tests.drawing.reading import SVG, measured, parts, points, texts

HOSTILE = "a <b onload=\"x\">&amp;</b> 'chair' ]]>"


def sheet(name: str = "chair", stills: int = 0) -> Sheet:
    ground = Ground([(0, 0), (4, 2)], 560)
    canvas = ground.canvas()
    canvas.shape("a", [ground.at([(0, 0), (1, 0), (1, 1)])], name)
    canvas.line("measure", ground.at([(0, 0), (3, 1)]), {"fact": "distance", "subject": name})
    canvas.label("name", ground.at((0, 0)), name)
    picture = np.full((48, 64, 3), (200, 10, 10), dtype=np.uint8)
    edge = np.array([(0.25, 0.5), (0.75, 0.5)])
    shown = [StillPicture(float(n), picture, f"{n} s: {name}", [("a", [edge], name)]) for n in range(stills)]
    return Sheet(name, [SheetPart(canvas, ground.attributes())], [f"About {name}."], shown)


def test_what_is_drawn_is_as_long_as_it_is() -> None:
    (line,) = measured(sheet().svg(), "map", "distance")
    assert line.length_m == pytest.approx(np.hypot(3, 1), abs=1e-3)


def test_the_scale_is_as_long_as_it_says() -> None:
    (part,) = parts(sheet().svg(), "map")
    (bar,) = (line for line in part.iter() if line.get("class") == "scale")
    xs = [float(pair.split(",")[0]) for pair in bar.attrib["d"].removeprefix("M").split()]
    assert (max(xs) - min(xs)) / float(part.attrib["data-per-m"]) == pytest.approx(
        float(bar.attrib["data-metres"]), abs=1e-3
    )


def test_names_with_markup_are_text() -> None:
    drawn = sheet(HOSTILE, 1)
    svg = drawn.svg()
    assert "<b onload" not in svg
    assert HOSTILE in texts(svg)
    assert measured(svg, "map", "distance", HOSTILE)
    assert png_of(drawn).startswith(b"\x89PNG")


@pytest.mark.parametrize("stills", [0, 1, 3])
def test_the_same_bytes_every_time(stills: int) -> None:
    drawn, again = sheet(stills=stills), sheet(stills=stills)
    assert drawn.svg() == again.svg()
    assert png_of(drawn) == png_of(again)


@pytest.mark.parametrize("stills", [0, 2, 3])
def test_a_png_shows_what_the_svg_shows(stills: int) -> None:
    common = sheet().parts[0].canvas
    common.shape("thing", [[(20, 20), (300, 40), (200, 700)]], closed=True)  # reaches out, and is cut off
    own = common.copy()
    own.shape("a", [[(10, 10), (90, 10), (90, 90)]])
    own.label("name", (40, 40), "table")
    several = Sheet(
        "two", [SheetPart(own, {}), SheetPart(Canvas(560, 40), {})], ["A note."], sheet(stills=stills).stills
    )
    with Image.open(io.BytesIO(png_of(several))) as made, pixels_of(several.svg()) as whole:
        pixels, expected = (np.asarray(image.convert("RGB"), dtype=np.int16) for image in (made, whole))
    assert pixels.shape == expected.shape
    assert np.abs(pixels - expected).max() <= 8  # decoders of JPEG, and colours that are laid over one another, round


def test_a_drawing_to_pass_on_holds_no_picture() -> None:
    whole = sheet(stills=2)
    assert whole.svg().count("data:image/jpeg") == 2
    alone = whole.without_stills().svg()
    assert "data:image" not in alone
    assert alone == sheet().svg()


def test_marks_lie_where_they_are_in_the_picture() -> None:
    drawn = sheet(stills=1)
    (part,) = parts(drawn.svg(), "marks")
    (line,) = (e for e in part.iter() if "onvideo" in e.get("class", ""))
    assert line.attrib["d"] == "M100,150 300,150"  # a quarter and three quarters of 400, half of 300
    with Image.open(io.BytesIO(png_of(drawn))) as image:
        red = np.asarray(image.convert("RGB"))
    assert tuple(abs(red[100, 800].astype(int) - (200, 10, 10)) < 8) == (True, True, True)


def test_labels_cover_one_another_only_where_there_is_no_room() -> None:
    canvas = Canvas(400, 300)
    for _ in range(6):
        canvas.label("name", (200, 150), "table")
    boxes = canvas._taken
    assert not any(a.meets(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert all(b.left >= 0 and b.top >= 0 and b.right <= 400 and b.bottom <= 300 for b in boxes)


def test_boxes_that_touch_do_not_meet() -> None:
    assert not CanvasBox(0, 0, 1, 1).meets(CanvasBox(1, 0, 2, 1))
    assert CanvasBox(0, 0, 1.01, 1).meets(CanvasBox(1, 0, 2, 1))


def test_long_texts_are_broken_and_cut() -> None:
    lines = lines_of("a table " * 30 + "w" * 300, 13, 200)
    assert len(lines) > 5
    assert all(width_of(line, 13) <= 200 for line in lines)
    assert shortened("table", 13, 200) == "table"
    assert shortened("table " * 50, 13, 60).endswith("…")


@pytest.mark.parametrize(
    ("stills", "corners", "size"),
    [
        # Gaps of 12, parts of 560; a note is a line of 17. A picture of 64 x 48 becomes 400 x 300 with 20 below it.
        (0, [], (584, 205)),
        (1, [(584, 12)], (996, 344)),
        (2, [(584, 12), (584, 344)], (996, 676)),
        # Three are two in a row, each 280 x 210 with 20 below it.
        (3, [(584, 12), (876, 12), (584, 254)], (1168, 496)),
        (4, [(584, 12), (876, 12), (584, 254), (876, 254)], (1168, 496)),
    ],
)
def test_where_everything_lies(stills: int, corners: list[tuple[int, int]], size: tuple[int, int]) -> None:
    pictures = sheet(stills=stills).stills
    two = [SheetPart(Canvas(560, 100), {}), SheetPart(Canvas(560, 40), {})]
    body = Sheet("two", two, ["A note."], pictures).body
    assert [part.at for part in body.placed()] == [(12, 12), (12, 124), (12, 176), *corners]
    assert (body.width, body.height) == size
    tall = Sheet("tall", [SheetPart(Canvas(560, 900), {})], (), pictures).body
    assert (tall.width, tall.height) == (size[0], 936)  # two gaps where no note follows


def test_lines_of_a_note_and_a_caption_stand_on_their_own() -> None:
    def heights(words: str) -> list[float]:
        return [float(e.attrib["y"]) for e in ElementTree.fromstring(svg).iter(f"{SVG}text") if e.text == words]  # noqa: S314

    svg = Sheet("notes", [], ["one", "two"], sheet("mill", 1).stills).svg()
    assert [*heights("one"), *heights("two")] == [13, 30]  # lines of 17, 4 above their lower edges
    assert heights("0 s: mill") == [314]  # 6 above the lower edge of 300 and 20
    assert 'width="22" height="32" viewBox="-6 -6 22 32"' in svg_of("", 10, 20, beyond=6)


@pytest.mark.parametrize(("turn_deg", "end"), [(90.0, (50, 40)), (-90.0, (50, 60)), (180.0, (40, 50))])
def test_an_arc_goes_counter_clockwise_from_the_right(turn_deg: float, end: tuple[float, float]) -> None:
    ground = Ground([(0, 0), (4, 2)], 560)
    canvas = ground.canvas()
    canvas.arc("angle", (50, 50), 10.0, 0.0, turn_deg)
    (part,) = parts(Sheet("arc", [SheetPart(canvas, ground.attributes())], [], []).svg(), "map")
    (path,) = (found for found in part.iter(f"{SVG}path") if found.get("class") == "angle")
    found = points(path.attrib["d"])
    assert found[0] == pytest.approx([60, 50])
    assert found[-1] == pytest.approx(end)
    assert np.hypot(*(found - 50).T) == pytest.approx(10, abs=0.1)


def test_a_map_has_what_it_shows_in_its_middle_and_up_is_up() -> None:
    ground = Ground([(0, 0), (4, 2)], 560)
    assert ground.at((2, 1)) == pytest.approx([280, ground.height / 2])
    assert ground.at((3, 2)) == pytest.approx([280 + ground.per_m, ground.height / 2 - ground.per_m])


def test_a_chart_has_its_seconds_from_end_to_end() -> None:
    chart = Chart("height", np.array([0.0, 8.0]), np.array([0.0, 10.0]), 8.0, 0.0)
    start, middle, end = (chart.at(second, 0.0) for second in (0.0, 4.0, 8.0))
    assert middle == pytest.approx((np.asarray(start) + np.asarray(end)) / 2)
    assert end[0] - start[0] > 300
