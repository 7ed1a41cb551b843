"""The thing that each pixel shows, of boxes before a camera that are known by hand; words for the colours of pixels."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.geometry.colours import margins
from pipeline.worlds.flight.facts import FlightCamera
from pipeline.worlds.flight.look.painted import UNSURE, Eye, Prisms, area, filled, hull, painted, shrunk
from pipeline.worlds.flight.look.survey import NAMES, ROOF_LIGHT, fits, may_be

SIZE = (200, 100)
CAMERA = FlightCamera(horizontal_fov_deg=90, width=200, height=100)
EYE = Eye(np.array([0.0, 0.0, 10.0]), 0.0, 0.0, CAMERA)  # looks north, level


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
    eye = Eye(np.array([0.0, 0.0, 200.0]), 0.0, -45.0, CAMERA)
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
    eye = Eye(np.array([0.0, 100.0, 10.0]), 0.0, 0.0, CAMERA)
    assert things.order(eye) == [0, 1, 2]
    assert things.order(EYE) == [2, 1, 0]
