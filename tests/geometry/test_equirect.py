"""Views out of panoramas: where their pixels look, what they show, and that nothing is torn at the seam."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pipeline.geometry import views
from pipeline.geometry.equirect import Sphere, _average_rows, _part, levels_of, lookups, whole_sphere
from pipeline.geometry.views import PinholeView, is_in, pixels_of, turned_deg
from pipeline.geometry.views import directions_of as directions_at
from tests.oracles.sphere_dots import box_in, directions_of, found_in, painted

WORST_DEG = 0.003
# The seam, both poles, and what lies between, wide and narrow: yaw, pitch, field of view.
ANGLES_DEG = (
    (0, 0, 90), (-180, 0, 90), (179.9, 0, 60), (90, 30, 90), (-90, -30, 90), (45, 60, 90), (-135, -60, 90),
    (10, 90, 90), (-77, -90, 90), (13.7, -7.3, 45), (-178.2, 81, 70), (161.3, 11, 110),
)  # fmt: skip
POSES = [PinholeView(yaw_deg=yaw, pitch_deg=pitch, fov_deg=fov) for yaw, pitch, fov in ANGLES_DEG]


@pytest.fixture(scope="module")
def dots() -> Sphere:
    return Sphere(Image.fromarray(painted(2048, 1024)))


@pytest.mark.parametrize("view", POSES, ids=lambda v: f"{v.yaw_deg:g},{v.pitch_deg:g},{v.fov_deg:g}")
def test_dots_are_found_where_they_are(dots: Sphere, view: PinholeView) -> None:
    found = found_in(view, dots.render(view))
    assert found.dots >= 4
    assert found.worst_deg <= WORST_DEG


def test_hand_computed_pixels() -> None:
    view = PinholeView(yaw_deg=90, fov_deg=90, width=4, height=2)  # focal length 2: tangents ±1/4, ±3/4
    yaw, pitch = directions_of(view)
    assert yaw[0] == pytest.approx([90 + math.degrees(math.atan(x)) for x in (-0.75, -0.25, 0.25, 0.75)])
    assert pitch[:, 1] == pytest.approx([math.degrees(math.atan(s * 0.25 / math.hypot(1, 0.25))) for s in (1, -1)])
    column, row = pixels_of(view, np.array([90.0, 135.0, -90.0]), np.zeros(3))
    assert column == pytest.approx([1.5, 3.5, np.nan], nan_ok=True)
    assert row == pytest.approx([0.5, 0.5, np.nan], nan_ok=True)
    assert is_in(view, np.array([46.0, 44.0, 134.0, 136.0, -90.0]), np.zeros(5)).tolist() == [
        True, False, True, False, False,
    ]  # fmt: skip
    inside = is_in(view, np.full(4, 90.0), np.array([26.0, 27.0, -26.0, -27.0]))  # atan(1/2) is 26.57 degrees
    assert inside.tolist() == [True, False, True, False]


@settings(max_examples=30, deadline=None)
@given(st.floats(-180, 179.9), st.floats(-90, 90), st.floats(5, 150), st.integers(1, 40), st.integers(1, 40))
def test_directions_and_pixels_are_inverse(yaw: float, pitch: float, fov: float, width: int, height: int) -> None:
    view = PinholeView(yaw_deg=yaw, pitch_deg=pitch, fov_deg=fov, width=width, height=height)
    column, row = pixels_of(view, *directions_of(view))
    assert np.allclose(column, np.arange(width)[None, :], atol=1e-5)
    assert np.allclose(row, np.arange(height)[:, None], atol=1e-5)


def test_a_box_across_the_seam_is_one_box() -> None:
    view = PinholeView(yaw_deg=-180)
    box = box_in(view, 180, 20, -5, 10)
    assert (box.left + box.right) / 2 == pytest.approx(320)
    assert box.right - box.left == pytest.approx(2 * view.focal_px * math.tan(math.radians(10)))
    assert box.bottom == pytest.approx(240 + view.focal_px * math.tan(math.radians(5)) / math.cos(math.radians(10)))
    assert box_in(view, 80, 20, -5, 10) is None  # partly behind
    assert turned_deg(180) == turned_deg(-540) == turned_deg(math.nextafter(-180, -181)) == -180


def test_a_turn_by_whole_columns_turns_the_picture() -> None:
    rng = np.random.default_rng(1)
    color = rng.integers(0, 256, (64, 128, 3), dtype=np.uint8)
    for pitch in (0.0, 50.0):
        straight = Sphere(Image.fromarray(color)).render(PinholeView(yaw_deg=0, pitch_deg=pitch, width=48, height=40))
        turned = Sphere(Image.fromarray(np.roll(color, 32, axis=1)))
        again = turned.render(PinholeView(yaw_deg=90, pitch_deg=pitch, width=48, height=40))
        assert np.abs(again.astype(int) - straight).max() <= 255 / 64 + 1  # a place may round to its neighbour


def test_pixels_of_the_equator_are_taken_as_they_are() -> None:
    # Where the view's grid meets the picture's columns, there is nothing to weigh.
    color = np.zeros((64, 128, 3), dtype=np.uint8)
    color[..., 0], color[..., 1] = np.arange(128), 255 - np.arange(128)
    half_column = 360 / 128 / 2
    view = PinholeView(yaw_deg=half_column, fov_deg=2, width=1, height=1)
    assert Sphere(Image.fromarray(color)).render(view)[0, 0].tolist() == [64, 191, 0]
    between = PinholeView(yaw_deg=0, fov_deg=2, width=1, height=1)
    assert Sphere(Image.fromarray(color)).render(between)[0, 0].tolist() == [64, 192, 0]  # 63.5, 191.5
    seam = PinholeView(yaw_deg=-180, fov_deg=2, width=1, height=1)
    assert Sphere(Image.fromarray(color)).render(seam)[0, 0, 0] == 64  # between 127 and 0


def test_a_fine_pattern_becomes_grey() -> None:
    board = ((np.indices((512, 1024)).sum(0) % 2) * 255).astype(np.uint8)
    view = PinholeView(yaw_deg=20, pitch_deg=20, width=80, height=60)  # a pixel for two of the board and more
    picture = Sphere(Image.fromarray(np.repeat(board[..., None], 3, 2))).render(view)
    assert np.abs(picture.astype(int) - 128).max() <= 2


def test_even_light_stays_even_at_the_poles() -> None:
    sphere = Sphere(Image.new("RGB", (202, 101), (7, 130, 255)))
    for pitch in (90, -90, 70):
        assert (sphere.render(PinholeView(yaw_deg=30, pitch_deg=pitch, width=50, height=50)) == (7, 130, 255)).all()


def test_wider_than_sixteen_bits() -> None:
    color = np.zeros((64, 70_000, 3), dtype=np.uint8)
    color[:, 69_000:] = 200
    yaw = turned_deg((69_500 / 70_000 - 0.5) * 360)
    view = PinholeView(yaw_deg=yaw, fov_deg=1, width=3, height=1)
    assert (Sphere(Image.fromarray(color)).render(view) == 200).all()


def test_levels() -> None:
    assert levels_of(250, 125) == ((250, 125, 126 * 64), (125, 63, 0))  # a column and a row more are packed
    assert levels_of(10, 5) == ((10, 5, 0),)
    assert [level[:2] for level in levels_of(128, 64)] == [(128, 64), (64, 32)]
    assert [level[:2] for level in levels_of(126, 63)] == [(126, 63)]


def test_a_view_coarser_than_the_smallest_picture_is_taken_from_that() -> None:
    found = lookups(0.0, 150.0, 4, 3, (256, 128))
    assert found.used == (2,)
    assert found.parts[0].every.width.tolist() == [64]


@pytest.mark.parametrize(("column", "row", "inside"), [
    (-0.5, 1, True), (np.nextafter(-0.5, -1), 1, False), (np.nextafter(3.5, 0), 1, True), (3.5, 1, False),
    (1, -0.5, True), (1, np.nextafter(-0.5, -1), False), (1, np.nextafter(1.5, 0), True), (1, 1.5, False),
])  # fmt: skip
def test_a_place_between_two_pixels_is_in_the_right_or_lower_one(
    monkeypatch: pytest.MonkeyPatch, column: float, row: float, inside: bool
) -> None:
    monkeypatch.setattr(views, "pixels_of", lambda *_: (np.array([column]), np.array([row])))
    assert is_in(PinholeView(yaw_deg=0, width=4, height=2), np.zeros(1), np.zeros(1)).tolist() == [inside]


@pytest.mark.parametrize(("off_deg", "seen"), [(4e-8, False), (8e-8, True)])
def test_what_is_less_than_a_billionth_ahead_is_behind(off_deg: float, seen: bool) -> None:
    """The sine of 5.7e-8 degrees is 1e-9."""
    column, _ = pixels_of(PinholeView(yaw_deg=0), np.array([90 - off_deg]), np.zeros(1))
    assert np.isfinite(column).tolist() == [seen]


def test_between_two_pictures_each_has_its_share() -> None:
    """A quarter of an octave about each is its own; in the half between, the coarser one's share grows evenly."""
    wanted = np.array([0.0, 0.25, 0.25 + 0.5 / 64, 0.5, 0.75 - 0.5 / 64, 0.75, 1.0, 1.25])
    places = np.full(len(wanted), 0.5)
    part, used = _part(levels_of(512, 256), slice(0, len(wanted)), places, places, wanted)
    assert part.every.width.tolist() == [512] * 5 + [256] * 3
    assert part.mixed.tolist() == [2, 3, 4]
    assert part.share.tolist() == [1, 32, 63]
    assert part.coarser.width.tolist() == [256] * 3
    assert used == {0, 1}


def test_a_part_of_the_sphere_is_put_in_its_place() -> None:
    part = Image.fromarray(np.arange(12, dtype=np.uint8).reshape(2, 6, 1).repeat(3, 2))
    whole = np.asarray(whole_sphere(part, 8, 4, 5, 1))[..., 0]
    assert whole[1].tolist() == [3, 4, 5, 0, 0, 0, 1, 2]
    assert whole[[0, 3]].sum() == 0
    with pytest.raises(ValueError, match="is not within 8 x 4"):
        whole_sphere(part, 8, 4, 0, 3)
    full = np.arange(24, dtype=np.uint8).reshape(3, 8)
    for left in (0, 3, 8):
        assert np.array_equal(np.asarray(whole_sphere(Image.fromarray(full), 8, 3, left, 0)), np.roll(full, left, 1))


def test_rows_near_a_pole_are_averaged_over_as_many_columns_as_a_pixel_is_high() -> None:
    """Five columns where the circle of latitude is a fifth of the equator, across the seam; one at the equator."""
    rows = np.zeros((2, 32, 3), dtype=np.uint8)
    rows[:, 1] = 250
    _average_rows(rows, np.array([0.0, np.arccos(0.2)]))
    assert rows[0, :, 0].nonzero()[0].tolist() == [1]
    assert {column: rows[1, column, 2] for column in rows[1, :, 2].nonzero()[0].tolist()} == dict.fromkeys(
        (0, 1, 2, 3, 31), 50
    )


def test_another_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="mode RGB"):
        Sphere(Image.new("L", (64, 32)))


def test_a_place_in_a_view_is_the_way_to_it() -> None:
    """Of a view 90 degrees wide, 101 pixels by 51: its middle, the middle of its right half, and over the seam."""
    level = PinholeView(yaw_deg=20, pitch_deg=0, fov_deg=90, width=101, height=51)
    across = math.degrees(math.atan(25 / level.focal_px))
    np.testing.assert_allclose(directions_at(level, [50, 75, 50], [25, 25, 0]), [
        (20, 20 + across, 20), (0, 0, across),
    ], atol=1e-9)  # fmt: skip
    up = PinholeView(yaw_deg=170, pitch_deg=40, fov_deg=90, width=101, height=51)
    np.testing.assert_allclose(directions_at(up, [50, 50], [25, 0]), [(170, 170), (40, 40 + across)], atol=1e-9)
    yaw, pitch = np.array([170.0, -165, 150]), np.array([40.0, 20, 55])
    np.testing.assert_allclose(directions_at(up, *pixels_of(up, yaw, pitch)), [yaw, pitch], atol=1e-9)


@pytest.mark.parametrize(("off_deg", "caps"), [(-0.1, False), (0.1, True)])
@pytest.mark.parametrize("side", [-1, 1])
def test_poles_are_averaged_from_two_pixels_before_60_degrees(off_deg: float, caps: bool, side: int) -> None:
    """A picture of 256 by 128 pixels has rows of 180 / 128 degrees; a view of one pixel looks there."""
    pitch_deg = side * (60 - 2 * 180 / 128 + off_deg)
    assert lookups(pitch_deg, 1.0, 1, 1, (256, 128)).caps == caps


def test_at_the_edges_of_a_wide_view_the_finest_picture_is_looked_into() -> None:
    """In its middle a pixel is as high as the root of two of the sphere's; at its edges, 75 degrees off, as a tenth."""
    found = lookups(0.0, 150.0, 215, 101, (256, 128))
    assert 128 / (math.pi * PinholeView(yaw_deg=0, fov_deg=150, width=215).focal_px) == pytest.approx(
        math.sqrt(2), abs=0.01
    )
    assert found.used == (0, 1)
    assert {int(width) for part in found.parts for width in np.unique(part.every.width)} == {256}
