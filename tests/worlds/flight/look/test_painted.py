"""The thing that each pixel shows, of boxes before a camera that are known by hand; words for the colours of pixels."""

import io

import numpy as np
import pytest
from PIL import Image

from pipeline.geometry.colours import margins
from pipeline.worlds.flight.facts import FlightCamera
from pipeline.worlds.flight.look.painted import UNSURE, CameraEye, Prisms, area, filled, hull, painted, shrunk
from pipeline.worlds.flight.look.survey import NAMES, ROOF_LIGHT, Glimpse, crop, eyes_of, fits, may_be, survey
from tests.benchmarks.urbanvideo.flights import motion

SIZE = (200, 100)
CAMERA = FlightCamera(horizontal_fov_deg=90, width=200, height=100)
EYE = CameraEye(np.array([0.0, 0.0, 10.0]), 0.0, 0.0, CAMERA)  # looks north, level


def box(x: float, y: float, half: float) -> np.ndarray:
    return np.array([[x - half, y - half], [x + half, y - half], [x + half, y + half], [x - half, y + half]])


def prisms(*boxes: tuple[float, float, float], base: float = 0.0, top: float = 20.0) -> Prisms:
    count = len(boxes)
    return Prisms(tuple(box(*b) for b in boxes), np.full(count, base), np.full(count, top))


def test_a_box_covers_what_the_lens_makes_of_it() -> None:
    """Its front, 20 m wide and high, stands 40 m off, where the picture is 80 m wide and 40 m high."""
    ring = prisms((0, 50, 10)).ring(0, EYE, SIZE)
    assert ring.min(0) == pytest.approx([75, 25])
    assert ring.max(0) == pytest.approx([125, 75])
    assert area(ring) == pytest.approx(50 * 50)
    shows = painted(prisms((0, 50, 10)), EYE, SIZE)
    assert {*np.unique(shows)} == {-1, 0}
    assert (shows == 0).sum() == pytest.approx(2500, rel=0.07)  # and the pixels of its outline
    assert shows[50, 100] == 0
    assert shows[10, 100] == shows[50, 60] == -1


def test_the_nearer_hides_the_farther_whatever_their_order() -> None:
    near, far = (0.0, 40.0, 5.0), (0.0, 90.0, 10.0)
    for order in ((near, far), (far, near)):
        shows = painted(prisms(*order), EYE, SIZE)
        assert shows[50, 100] == order.index(near)
        assert (shows == order.index(far)).sum() < 0.5 * area(prisms(far).ring(0, EYE, SIZE))


def test_what_lies_behind_is_not_shown_and_what_reaches_behind_is() -> None:
    assert (painted(prisms((0, -50, 10)), EYE, SIZE) == -1).all()
    beside = painted(prisms((12, 0, 8)), EYE, SIZE)  # from 4 to 20 m to the right, and 8 m ahead
    assert (beside[:, 195] == 0).all()
    assert (beside[:, :100] == -1).all()


def test_what_has_no_known_height_shows_its_footprint_and_may_hide_what_stands_behind() -> None:
    """From 200 m above the ground and 45 degrees down: over 100 m beyond a thing it cannot hide anything."""
    eye = CameraEye(np.array([0.0, 0.0, 200.0]), 0.0, -45.0, CAMERA)
    near, behind, far = box(0, 180, 10), box(0, 215, 10), box(0, 400, 10)
    tops = np.array([np.nan, 1.0, 1.0])
    shows = painted(Prisms((near, behind, far), np.zeros(3), tops, hides_m=100.0), eye, SIZE)
    assert (shows == 0).sum() == pytest.approx(
        area(hull(eye.pixels(np.column_stack([near, np.zeros(4)]), SIZE))), rel=0.5
    )
    assert (shows == 1).sum() == 0, "it may be hidden"
    assert (shows == UNSURE).sum() > 0 < (shows == 2).sum()
    known = painted(Prisms((near, behind, far), np.zeros(3), np.full(3, 1.0)), eye, SIZE)
    assert (known == 1).sum() > 0 == (known == UNSURE).sum()


def test_hulls_and_their_inner_parts() -> None:
    square = np.array([[0.0, 0], [10, 0], [10, 10], [0, 10], [5, 5]])
    assert len(hull(square)) == 4
    assert area(shrunk(hull(square), 0.5)) == pytest.approx(25)
    assert len(hull(square[:2])) == len(hull(np.full((3, 2), np.nan))) == 0
    assert filled(hull(square[:2]), SIZE).sum() == 0
    assert filled(hull(square), SIZE).sum() == pytest.approx(100, rel=0.25)


def pixels(*colours: tuple[int, int, int], each: int = 10) -> np.ndarray:
    return np.repeat(np.array(colours, dtype=np.uint8), each, axis=0)


@pytest.mark.parametrize("light", [1.0, 0.8, 0.7])
def test_a_wall_in_shade_has_the_colour_that_it_has_in_the_sun(light: float) -> None:
    for word, colour in {"red": (200, 30, 30), "blue": (70, 150, 235), "purple": (150, 72, 190)}.items():
        found = fits(word, (pixels(colour) * light).astype(np.uint8))
        assert found.share == 1.0
        assert found.margin > 20
        assert found.rgb is not None
        assert margins(np.array([found.rgb], dtype=np.float64))[word][0] == pytest.approx(found.margin, abs=0.5)


def test_another_word_fits_by_less_or_not_at_all() -> None:
    assert fits("green", pixels((200, 30, 30))).rgb is None
    assert fits("white", pixels((150, 146, 146))).margin < 10 < fits("grey", pixels((150, 146, 146))).margin
    assert fits("white", pixels((200, 200, 198))).margin > 10, "a white wall in shade, or a light grey one"
    assert fits("white", pixels((170, 170, 168)), ROOF_LIGHT).margin < 10, "a roof has no such shade"


def test_the_share_counts_the_pixels_that_may_be_called_so() -> None:
    found = fits("red", np.concatenate([pixels((200, 30, 30), each=30), pixels((128, 128, 128), each=70)]))
    assert found.share == pytest.approx(0.3)
    assert may_be(pixels((128, 128, 128), each=1))[0, NAMES.index("grey")]


@pytest.mark.parametrize(("north_m", "shown"), [(599.0, True), (601.0, False)])
def test_what_stands_farther_than_600_m_is_not_shown(north_m: float, shown: bool) -> None:
    assert bool((painted(prisms((0, north_m, 50)), EYE, SIZE) == 0).any()) is shown


def test_things_are_painted_the_farthest_from_the_eye_first_wherever_that_is() -> None:
    """From 100 m north of the zero the thing at 130 m is the nearest, and the one at the zero the farthest."""
    things = prisms((0, 0, 1), (0, 60, 1), (0, 130, 1))
    eye = CameraEye(np.array([0.0, 100.0, 10.0]), 0.0, 0.0, CAMERA)
    assert things.order(eye) == [0, 1, 2]
    assert things.order(EYE) == [2, 1, 0]


def test_a_moment_a_second_is_looked_at_where_the_nose_hardly_turns() -> None:
    """It turns by 4.5 degrees a step of 0.2 s from 4 to 8 s: two steps before that and two after it are steady."""
    moved = motion([("hover", 4, 0), ("turn right", 4, 90), ("hover", 3, 0)], start=(1.0, 2.0, 10.0), pitch=-5.0)
    t_s, eyes = eyes_of(moved, CAMERA, 10.2)
    assert t_s.tolist() == [0.0, 1.0, 2.0, 3.0, 8.2, 9.2], "not at its end"
    assert [round(eye.heading_deg, 6) for eye in eyes] == [0.0] * 4 + [90.0] * 2
    assert eyes[0].enu_m.tolist() == [1.0, 2.0, 10.0]
    assert {eye.pitch_deg for eye in eyes} == {-5.0}
    late = moved.model_copy(update={"t_s": tuple(t - 0.5 for t in moved.t_s)})
    assert eyes_of(late, CAMERA, 3.0)[0].tolist() == pytest.approx([0.1, 1.1, 2.1])
    parted = moved.model_copy(update={"part": (0,) * 6 + (1,) * (len(moved.t_s) - 6)})
    assert eyes_of(parted, CAMERA, 3.0)[0].tolist() == [0.0, 1.6, 2.6], "1 and 1.2 s are in two parts"
    nowhere = moved.model_copy(update={"pitch_deg": (None,) * len(moved.t_s)})
    assert eyes_of(nowhere, CAMERA, 9.0)[0].tolist() == []
    many = eyes_of(motion([("hover", 130, 0)]), CAMERA, 200.0)[0]
    assert (len(many), many[0], many[-1]) == (120, 0.0, 130.0)


def test_a_survey_of_a_red_house_by_hand() -> None:
    """The house is a quarter as wide as the picture and half as high; another one stands behind it, one behind us."""
    frame = np.full((100, 200, 3), (200, 30, 30), dtype=np.uint8)
    stands = prisms((0, 50, 10), (0, 90, 2), (0, -50, 10))
    found = survey(motion([("hover", 2, 0)], start=(0.0, 0.0, 10.0)), CAMERA, stands, 3, lambda second: frame, 2.0)
    assert found.t_s.tolist() == [0.0, 1.0]
    assert [*found.glimpses] == [0]
    assert [glimpse.moment for glimpse in found.glimpses[0]] == [0, 1]
    assert [(g.size, g.shown) for g in found.glimpses[0]] == [pytest.approx((0.125, 1.0), rel=0.04)] * 2
    assert found.most[0].max() == found.most[0][NAMES.index("red")] == 1.0
    assert "red" not in found.unlike(0)
    assert {"blue", "green", "white"} <= {*found.unlike(0)}
    assert found.most[1:].max() == 0.0
    assert found.unsure == set()


def test_a_crop_has_walls_below_a_roof_above_and_a_line_about_both() -> None:
    """Of a house from row 25 to 75, column 75 to 125, the walls end at 45 of 100 and the upper part begins at 75.

    Walls are looked at within four fifths of theirs, about the mean of six corners: rows 51.7, of the far side, to 75.
    """
    rows = np.broadcast_to(np.arange(100, dtype=np.uint8)[:, None, None], (100, 200, 3))
    cut = crop(rows, EYE, prisms((0, 50, 10)), 0, Glimpse(7, 0.12345, 1.2), 3.14159)
    assert (cut.second, cut.size, cut.shown) == (3.142, 0.1235, 1.0)
    assert (cut.walls.min(), cut.walls.max()) == (pytest.approx(53.3, abs=1), pytest.approx(72.0, abs=1))
    assert len(cut.walls) == pytest.approx(0.64 * (50 * 22.5 + 35), rel=0.1)
    assert (cut.upper.min(), cut.upper.max()) == (pytest.approx(25, abs=1), pytest.approx(36.5, abs=1))
    assert len(cut.roof) == 0, "it is not above it"
    picture = np.asarray(Image.open(io.BytesIO(cut.jpeg))).astype(int)
    # 50 pixels and 0.35 times as many on either side, from 57 to 143 and from 7 to 93: 86, on 512.
    assert picture.shape == (512, 512, 3)
    magenta = picture[..., [0, 2]].min(-1) - picture[..., 1]
    for x, y, drawn in (
        (75, 50, True),
        (125, 50, True),
        (100, 25, True),
        (100, 75, True),
        (100, 50, False),
        (60, 9, False),
    ):
        column, row = round((x - 57) * 512 / 86), round((y - 7) * 512 / 86)
        assert (magenta[row - 2 : row + 3, column - 2 : column + 3].max() > 60) == drawn, (x, y)
    above = CameraEye(np.array([0.0, 50.0, 60.0]), 0.0, -90.0, CAMERA)
    flat = crop(rows, above, prisms((0, 50, 10)), 0, Glimpse(0, 0.1, 0.5), 0.0)
    assert len(flat.roof) == pytest.approx(40 * 40, rel=0.1), "50 pixels, and four fifths of that"
    assert len(flat.walls) == 0, "the roof hides them"
    assert len(flat.upper) == pytest.approx(50**2 - 44.4**2, rel=0.15), "beyond what 15 m of it would cover"
    unknown = Prisms((box(0, 50, 10),), np.zeros(1), np.full(1, np.nan))
    ground = crop(rows, above, unknown, 0, Glimpse(0, 0.1, 0.5), 0.0)
    assert ground.walls.tolist() == ground.roof.tolist()
