"""A drive as arrays over time, on a log made by hand (our car goes north at 10 m/s); its doubts; its drawn film."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import islice, pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.feather
import pytest
import shapely
from scipy.spatial.transform import Rotation

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, doubt
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Video
from pipeline.drawing.raster import INK, lab
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.drive import quality_checks
from pipeline.worlds.drive.bev_video import COLOURS, PX_PER_M, WIDE, drawn, top_down_map
from pipeline.worlds.drive.facts import (
    SPEED_STEP_MPS,
    Colour,
    Controls,
    DriveCamera,
    DriveScene,
    Ego,
    Lamps,
    TrafficLight,
    VehicleBox,
)
from pipeline.worlds.drive.quality_checks import beyond, examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.drive.readers.kitti_tracking import KittiTracking
from pipeline.worlds.drive.readers.tracking import Pictures, repeated, steady_box, steady_words, stretches, within
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.registry import examined
from tests.conftest import REAL_DATA
from tests.drawing.reading import bounds
from tests.worlds.drive.drives import box, lane, pose, read, write_log

SWEEPS = range(21)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> DriveScene:
    """Us, a car 10 m ahead that keeps its distance, one that stands still at the roadside, a bollard."""
    standing: list[dict[str, Any]] = [box(s, track="still", tx_m=20.0 - s, ty_m=-3.0) for s in SWEEPS]
    rows = [*(box(s) for s in SWEEPS), *standing, box(3, track="bollard", category="BOLLARD", ty_m=2.0)]
    own = [box(s, track="us", category="EGO_VEHICLE", tx_m=1.0, length_m=5.0) for s in SWEEPS]
    root = write_log(tmp_path_factory.mktemp("log"), [*rows, *own], [pose(s) for s in SWEEPS], [lane(1)])
    return read(root, Argoverse2())


def test_places_about_our_car(scene: DriveScene) -> None:
    view = DriveView(scene)
    ahead, bollard, still = (view.row(name) for name in ("a", "bollard", "still"))
    assert view.relative_m[ahead].round(9).tolist() == [[10.0, 0.0, 0.75]] * 21
    assert view.relative_m[still, 20].round(9).tolist() == [0.0, -3.0, 0.75]
    assert view.bearing_deg[still, 20].round(9) == -90.0
    assert view.heading_deg[ahead].tolist() == [0.0] * 21
    assert view.distance_m[bollard, 3] == pytest.approx(np.hypot(10, 2))
    assert view.present.sum(1).tolist() == [21, 1, 21]
    # Our front is 3.5 m ahead of the rear axle, its rear bumper 8 m; the bollard's box is no other.
    assert view.gap_m(0).round(9)[ahead] == 4.5
    assert view.gap_m(3).round(9)[bollard] == 4.5
    assert np.isnan(view.gap_m(4)[bollard])


def test_movement_is_over_ground(scene: DriveScene) -> None:
    view = DriveView(scene)
    assert np.allclose(view.speed_mps[view.row("a")], 10)
    assert np.allclose(view.speed_mps[view.row("still")], 0)
    assert np.isnan(view.speed_mps[view.row("bollard")]).all()  # one place makes no speed
    assert np.allclose(view.ego_speed_mps, 10)
    assert np.allclose(view.ego_acceleration_mps2, 0)
    assert np.allclose(view.ego_turn_dps, 0)
    assert np.allclose(view.ego_velocity_mps[:, 1], 10)


def test_lanes_hold_what_stands_in_them(scene: DriveScene) -> None:
    view = DriveView(scene)
    points = np.array([[100.0, 210.0], [101.5, 219.0], [110.0, 210.0], [np.nan, 0.0]])
    assert view.lanes_at(points) == [[0], [0], [], []]


def test_a_doubt_hides_its_actor_or_its_stretch_of_it(scene: DriveScene) -> None:
    whole = doubt("size_varies", "still", "", "")
    part = doubt("jump", "a", "", "").model_copy(update={"stretches": ((0.5, 1.0),)})
    ours = doubt("jump", "ego", "", "").model_copy(update={"stretches": ((1.5, 1.6),)})
    view = DriveView(scene.model_copy(update={"findings": (whole, part, ours)}))
    assert not view.present[view.row("still")].any()
    assert np.flatnonzero(~view.present[view.row("a")]).tolist() == [5, 6, 7, 8, 9, 10]
    assert np.flatnonzero(np.isnan(view.ego_speed_mps)).tolist() == [10, 11, 15, 16, 20]
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


@pytest.mark.parametrize(
    ("ahead_m", "left_m", "filmed", "mapped"),
    [(10, 9.9, 1, 1), (10, 10.1, 0, 1), (10, -9.9, 1, 1), (-10, 0, 0, 1), (-51.9, 79, 0, 1), (-52.1, 0, 0, 0),
     (59.9, 59.8, 1, 1), (60.1, 60, 1, 0), (80, 80.1, 0, 0)],
)  # fmt: skip
def test_who_is_in_the_picture(ahead_m: float, left_m: float, filmed: int, mapped: int, scene: DriveScene) -> None:
    """Of a camera at our point that looks ahead and sees a right angle; and of the film from above."""
    unknown = FRONT.model_copy(update={"place_m": None})
    for video, own, expected in ((None, FRONT, mapped), (FILM, FRONT, filmed), (FILM, unknown, None)):
        view = DriveView(scene.model_copy(update={"video": video}).with_facts(cameras=(own,)))
        view.place_m[0, 0] = (100 - left_m, 200 + ahead_m, 5)  # we are at 100, 200 and look north
        assert view.pictured(0, 0) == expected


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, False),
        ({"centre_px": (74, 26)}, False),
        ({"centre_px": (76, 50)}, True),
        ({"focal_px": (9, 9)}, True),
        ({"focal_px": (990, 990)}, False),
        ({"focal_px": (1010, 1010)}, True),
        ({"focal_px": (50, 61)}, True),
        ({"place_m": (0.0, 0.0, 21.0)}, True),
        ({"ego_from_camera": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))}, True),  # no optical axes
        ({"ego_from_camera": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}, True),  # upside down
        ({"ego_from_camera": ((0.0, -1.0, 0.0), (-1.0, 0.0, 0.0), (0.0, 0.0, -1.0))}, False),  # looks down
        ({"width": 100, "height": 90}, True),
    ],
)
def test_a_calibration_that_is_no_cameras_is_in_doubt_and_not_used(
    change: dict[str, Any], told: bool, scene: DriveScene
) -> None:
    own = scene.model_copy(update={"video": FILM}).with_facts(cameras=(FRONT.model_copy(update=change),))
    found = [finding for finding in examine(own) if finding.name == "bad_calibration"]
    assert [finding.subject for finding in found] == (["front"] if told else [])
    doubted = own.model_copy(update={"findings": tuple(found)})
    assert (DriveView(doubted).camera is None) is told


def test_how_large_cars_are_in_a_film_and_what_stands_before_them(scene: DriveScene) -> None:
    """The car 10 m ahead is 12.5 pixels wide and 9.375 high, by its rear; of the one at the roadside, from the 54.5th
    to the 61.1th column, that hides 8 of 32. A bollard of the fourth sweep is not there yet.
    """
    view = DriveView(scene.model_copy(update={"video": FILM}).with_facts(cameras=(FRONT,)))
    ahead, bollard, still = (view.row(name) for name in ("a", "bollard", "still"))
    size, hidden = view.in_film(0)
    assert size[[ahead, still]] == pytest.approx(
        [(12.5 * 9.375) ** 0.5, (50 * (4 / 18 - 2 / 22) * 50 * 1.5 / 18) ** 0.5]
    )
    assert hidden[[ahead, still]].tolist() == [0, 0.25]
    assert np.isnan([size[bollard], hidden[bollard]]).all()
    assert np.isnan(view.in_film(20)[0][still]), "beside the camera"
    bare = DriveView(scene.model_copy(update={"video": FILM}))
    assert np.isnan(bare.in_film(0)).all()


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
    assert len(drawn.ground) == 1


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


def test_things_stand_where_the_log_has_them(tmp_path: Path) -> None:
    first = film(tmp_path, 16)[0]
    middle = of_colour(first, COLOURS["car"]).mean(0)
    own = np.array([WIDE / 2, first.shape[0] / 2])
    ahead, left = (own - middle)[::-1] / PX_PER_M
    assert (ahead, left) == pytest.approx((10, 5), abs=0.35), "a pixel is a third of a metre"
    assert (first[348, WIDE - 80 : WIDE - 40] == INK["text"]).all(1).sum() == 10 * PX_PER_M, "the bar of 10 m"
    edges_m = (WIDE / 2 - of_colour(first, INK["edge"])[:, 0]) / PX_PER_M
    assert {round(left) for left in edges_m.tolist()} == {-2, 2}, "of our lane"
    x, y = np.ptp(of_colour(first, COLOURS["car"]), axis=0)
    assert (x, y) == pytest.approx((4, 10), abs=2), "2 m wide, 4 m long, heading as we do; its edges are black"


@pytest.mark.parametrize(("apart_m", "share"), [(0.0, 1.0), (0.7, 0.564), (0.9, 0.443), (2.1, 0.0)])
def test_how_much_of_a_dot_another_covers(tmp_path: Path, apart_m: float, share: float) -> None:
    """Two discs of 1 m: 2 arccos(d / 2) - d / 2 sqrt(4 - d²), of π; the later one lies over the earlier one."""
    small = {"length_m": 0.6, "width_m": 0.6, "category": "PEDESTRIAN"}
    rows = [box(n, name, ty_m=5.0 + apart_m * (name == "b"), **small) for n in range(3) for name in "ab"]
    view = DriveView(read(write_log(tmp_path, rows, [pose(n) for n in range(3)]), Argoverse2()))
    size, hidden = view.in_film(0)
    assert np.isnan(size).all()
    assert hidden[[view.row("a"), view.row("b")]] == pytest.approx([share, 0.0], abs=0.005)


def test_small_marks_lie_over_large_ones(tmp_path: Path) -> None:
    """Of 8 m² a dot of π m² in the middle covers 0.39; our own mark, over which another car stands, lies below all."""
    person = box(0, "b", category="PEDESTRIAN", length_m=0.6, width_m=0.6)
    rows = [box(0), person, box(0, "z", tx_m=3.0), box(1), person | {"timestamp_ns": box(1)["timestamp_ns"]}]
    view = DriveView(read(write_log(tmp_path, rows, [pose(0), pose(1)]), Argoverse2()))
    assert view.drawn_marks(0).order.tolist() == [view.row(name) for name in "azb"]
    hidden = view.in_film(0)[1]
    assert hidden[[view.row(name) for name in "abz"]] == pytest.approx([0.39, 0.0, 0.0], abs=0.005)


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


def test_the_legend_says_what_lines_and_grounds_are(tmp_path: Path) -> None:
    """Our car always, and of a map what it has."""
    scene = read(write_log(tmp_path, [box(0), box(1)], [pose(0), pose(1)], [lane(1)]), Argoverse2())
    bare = scene.with_facts(crossings=(), drivable=())
    for one, in_map in ((scene, True), (bare, False)):
        legend = next(iter(drawn(one).frames()))[:290, WIDE + 10 : WIDE + 21]
        shown = {name for name in ("own", "amber", "road") if (legend == INK[name]).all(2).any()}
        assert shown == ({"own", "amber", "road"} if in_map else {"own"})


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
    assert bounds(picture, COLOURS["pedestrian"], on_map) == (298, 148, 302, 152), "a dot of 2 m, within its rim"
    assert bounds(picture, INK["green"], on_map) == (300 - 3, 180 - 3, 300 + 3, 180 + 3)
    assert bounds(picture, INK["edge"], on_map) == (240 - 6, 180 - 60, 240 + 6, 180), "of a lane of 4 by 20 m"
    lines = [INK["grid"] == tuple(picture[5, x]) for x in range(WIDE)]
    assert [x for x, is_line in enumerate(lines) if is_line] == [0, 60, 120, 180, 240, 300, 360, 420], "each 20 m"
    kinds = (COLOURS["car"], COLOURS["pedestrian"], INK["own"], INK["edge"], INK["amber"], INK["road"])
    assert [bounds(picture, ink, beside) for ink in kinds] == [
        (490, 12, 500, 22), (490, 27, 500, 37), (493, 42, 497, 51), (492, 59, 498, 65), (490, 72, 500, 82),
        (490, 87, 500, 97),
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


def test_of_a_log_that_does_not_know_where_we_are_nothing_is_drawn(tmp_path: Path) -> None:
    scene = read(write_log(tmp_path, [box(0), box(1)], [pose(0), pose(1)]), Argoverse2())
    lost = scene.facts.model_copy(update={"ego": None})
    assert drawn(scene.model_copy(update={"facts": lost})) is None


LOGGED = range(31)
TIMES_S = np.arange(10) / 10


def straight(speed_mps: float = 10.0) -> np.ndarray:
    return np.stack([speed_mps * TIMES_S, 0 * TIMES_S, 0 * TIMES_S], axis=-1)


def test_steps_are_longer_than_the_speed_about_them_explains() -> None:
    assert np.abs(beyond(TIMES_S, straight())).max() < 1e-9
    moved = straight()
    moved[5:, 1] += 5.0  # from one lane to beyond the next
    assert beyond(TIMES_S, moved).round(3).tolist() == [0, 0, 0, 0, round(26**0.5 - 1, 3), 0, 0, 0, 0]
    there_and_back = straight()
    there_and_back[5, 1] += 5.0
    assert np.flatnonzero(beyond(TIMES_S, there_and_back) > 2).tolist() == [4, 5]
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [499.0, 0, 0]])).max() < 0  # long ago
    assert beyond(np.array([0.0, 5.0]), np.array([[0.0, 0, 0], [510.0, 0, 0]])).tolist() == [10.0]
    assert len(beyond(TIMES_S[:1], moved[:1])) == 0


def test_who_brakes_as_hard_as_can_be_does_not_jump() -> None:
    speed = np.maximum(20 - 10 * TIMES_S, 0)
    place = np.stack([np.cumsum(speed) / 10, 0 * speed, 0 * speed], axis=-1)
    assert beyond(TIMES_S, place).max() < 0.5


def scene_of(folder: Path, *tracks: list[dict[str, Any]]) -> dict[str, Any]:
    rows = [row for track in tracks for row in track]
    scene = read(write_log(folder, rows, [pose(s) for s in LOGGED]), Argoverse2())
    doubts(scene)
    return {"scene": scene, "found": {(f.name, f.subject): f for f in examine(scene)}}


def test_a_track_that_jumps_is_left_out_where_it_does(tmp_path: Path) -> None:
    jumper = [box(s, ty_m=8.0 if s >= 15 else 0.0) for s in LOGGED]
    made = scene_of(tmp_path, jumper, [box(s, track="b", tx_m=30.0) for s in LOGGED])
    (jump,) = made["found"].values()
    assert (jump.name, jump.subject, jump.stretches) == ("track_jumps", "a", ((1.4, 1.5),))
    assert jump.measured == pytest.approx(np.hypot(1, 8) - 1, abs=1e-3)
    view = DriveView(examined(made["scene"]))
    assert np.flatnonzero(~view.present[view.row("a")]).tolist() == [14, 15]


def test_our_own_pose_may_jump_too(tmp_path: Path) -> None:
    poses = [pose(s, tx_m=100.0 if s < 10 else 150.0) for s in LOGGED]
    scene = read(write_log(tmp_path, [box(s) for s in LOGGED], poses), Argoverse2())
    assert {f.subject for f in examine(scene)} == {"ego", "a"}  # whose place rests on it
    assert np.flatnonzero(np.isnan(DriveView(examined(scene)).ego_m[:, 0])).tolist() == [9, 10]


def test_vehicles_in_one_another_are_doubted_while_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality_checks, "_PAIRS", 4 * 3**2)  # four times at once
    through = [box(s, track="b", tx_m=25.9 - s) for s in LOGGED]  # comes towards us, through the car ahead
    made = scene_of(tmp_path, [box(s) for s in LOGGED], through, [box(s, track="c", tz_m=9.0) for s in LOGGED])
    assert set(made["found"]) == {("boxes_overlap", "a"), ("boxes_overlap", "b")}
    overlap = made["found"]["boxes_overlap", "a"]
    assert overlap.measured == 2, "the middles are 1.9 m apart at 1.4 s and 0.1 at 1.6, but 2.1 at 1.8"
    assert overlap.stretches == ((1.2, 1.8),)
    assert "b" in overlap.message
    pair = [box(s, track="p", category="PEDESTRIAN") for s in LOGGED]
    assert scene_of(tmp_path / "2", [box(s) for s in LOGGED], pair)["found"] == {}  # one within a car


def test_one_thing_with_two_tracks_is_doubted(tmp_path: Path) -> None:
    dogs = [[box(s, track=name, category="DOG", tx_m=x) for s in LOGGED] for name, x in
            (("a", 10.0), ("b", 10.05), ("c", 10.6))]  # fmt: skip
    assert set(scene_of(tmp_path, *dogs)["found"]) == {("boxes_overlap", "a"), ("boxes_overlap", "b")}
    other = [box(s, track="d", category="BOLLARD") for s in LOGGED]
    assert scene_of(tmp_path / "2", dogs[0], dogs[2], other)["found"] == {}


def test_who_is_in_doubt_is_not_taken_for_absent(tmp_path: Path) -> None:
    jumping = [box(s, track="b", tx_m=20.0 + 30.0 * (s == 15)) for s in LOGGED]
    view = DriveView(examined(scene_of(tmp_path, [box(s) for s in LOGGED], jumping)["scene"]))
    assert np.flatnonzero(view.unsure[view.row("b")]).tolist() == [14, 15, 16]
    assert not view.unsure[view.row("a")].any()
    assert not (view.unsure & view.present).any()


def test_a_track_of_our_own_car_is_no_other_car(tmp_path: Path) -> None:
    made = scene_of(
        tmp_path, [box(s, tx_m=0.2) for s in LOGGED], [box(s, track="b", tx_m=-0.9 + s / 10) for s in LOGGED]
    )
    assert made["found"]["second_ego", "a"].measured == 1.0
    assert made["found"]["second_ego", "a"].stretches is None
    assert ("second_ego", "a") in made["found"]
    view = DriveView(examined(made["scene"]))
    assert not view.present[view.row("a")].any()
    box_of_ours = [box(s, track="us", category="EGO_VEHICLE", tx_m=1.0, length_m=5.0) for s in LOGGED]
    for ahead_m, left_m, told in ((3.4, 0.9, True), (3.6, 0.0, False), (0.0, 1.1, False)):
        other = [box(s, tx_m=ahead_m, ty_m=left_m) for s in LOGGED]
        found = scene_of(tmp_path / f"{ahead_m} {left_m}", other, box_of_ours)["found"]
        assert (("second_ego", "a") in found) == told


READERS = (("av2", Argoverse2()), ("carla", Carla()), ("kitti", KittiTracking()))


@pytest.mark.parametrize(("name", "reader"), READERS)
def test_samples_are_beyond_doubt(name: str, reader: Reader, sample_drives: Path) -> None:
    beyond_doubt(sample_drives / reader.name, reader)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("name", "reader"), READERS)
def test_real_logs_are_beyond_doubt(name: str, reader: Reader) -> None:
    beyond_doubt(REAL_DATA / "driving" / name, reader)


def beyond_doubt(root: Path, reader: Reader) -> None:
    for ref in reader.scenes(root).scenes:
        assert examine(read(root, reader, ref.id.partition("/")[2])) == (), ref.id


# ---- what a log states twice: mirrored and shifted boxes, velocities and steering against places

ARC_SWEEPS = 80
PARKED = ((30.0, 12.0), (45.0, -9.0), (20.0, 40.0), (55.0, 25.0), (10.0, -15.0))


def turning(
    root: Path, sense: float = 1.0, shift: tuple[float, float] = (0.0, 0.0), turn_deg: float = 90.0
) -> DriveScene:
    """We drive an arc to the left past parked cars, whose boxes are written mirrored (``sense`` -1) or shifted."""
    boxes: list[dict[str, Any]] = []
    poses = []
    x = y = 0.0
    for sweep in range(ARC_SWEEPS):
        yaw = np.radians(turn_deg) * sweep / ARC_SWEEPS
        half = {"qw": float(np.cos(yaw / 2)), "qz": float(np.sin(yaw / 2))}
        poses.append(pose(sweep, **half, tx_m=x, ty_m=y))
        for number, (px, py) in enumerate(PARKED):
            ahead = np.cos(yaw) * (px - x) + np.sin(yaw) * (py - y)
            left = np.cos(yaw) * (py - y) - np.sin(yaw) * (px - x)
            turned = {"qw": half["qw"], "qz": -sense * half["qz"]}  # each heads along x
            place = {"tx_m": float(ahead) + shift[0], "ty_m": sense * float(left) + shift[1]}
            boxes.append(box(sweep, f"parked-{number}", **turned, **place))
        x, y = x + 0.6 * np.cos(yaw), y + 0.6 * np.sin(yaw)
    return read(write_log(root, boxes, poses), Argoverse2())


LIMITS: dict[str, set[float]] = {
    "velocity_against_track": {0.5}, "turns_against_steering": {0.75}, "box_beside_its_point": {0.5},
    "moves_sideways": {0.5, 30}, "no_size_of_a_car": {3, 7}, "off_the_ground": {3}, "track_jumps": {2},
    "second_ego": {0.5}, "boxes_overlap": {1},
}  # fmt: skip


def doubts(scene: DriveScene) -> set[str]:
    """Names of doubts, each of which tells what was measured, to a thousandth, and its limit."""
    found = [f for f in (*scene.findings, *examine(scene)) if f.severity == "doubt"]
    for one in (one for one in found if one.name in LIMITS):
        assert one.limit in LIMITS[one.name]
        assert one.measured == round(one.measured, 3)
    return {one.name for one in found}


Frame = dict[str, np.ndarray]


def scaled(rows: Frame, by: float, *names: str) -> Frame:
    return rows | {name: rows[name] * by for name in names or ("tx_m", "ty_m", "tz_m")}


def later(rows: Frame, by: float) -> Frame:
    start = rows["timestamp_ns"].min() // 10**12 * 10**12  # of boxes and poses alike
    return rows | {"timestamp_ns": start + ((rows["timestamp_ns"] - start) * by).astype(np.int64)}


def lagging(poses: Frame, lag_s: float) -> Frame:
    at = poses["timestamp_ns"]
    return poses | {n: np.interp(at + lag_s * 1e9, at, poses[n]) for n in poses if n != "timestamp_ns"}


def mirrored(rows: Frame) -> Frame:
    return scaled(rows, -1, "ty_m", "qx", "qz")


# What a reader of other conventions makes of a log's boxes and poses, and the doubts of which one tells.
ATTACKS: dict[str, tuple[Callable[[Frame, Frame], tuple[Frame, Frame]], set[str]]] = {
    "as it is": (lambda boxes, poses: (boxes, poses), set()),
    "our way in feet": (lambda boxes, poses: (boxes, scaled(poses, 3.2808)), {"static_things_drift"}),
    "our way in tens": (lambda boxes, poses: (boxes, scaled(poses, 0.1)), {"static_things_drift"}),
    "boxes in feet": (lambda boxes, poses: (scaled(boxes, 3.2808), poses), {"static_things_drift"}),
    "poses 1 s late": (lambda boxes, poses: (boxes, lagging(poses, 1.0)), {"static_things_drift"}),
    "our car turned": (lambda boxes, poses: (boxes, turned_poses(poses, 15.0)), {"static_things_drift"}),
    "ten times as fast": (lambda boxes, poses: (later(boxes, 0.1), later(poses, 0.1)), {"other_pace", "two_ego_poses"}),
    "ten times as slow": (lambda boxes, poses: (later(boxes, 10), later(poses, 10)), {"other_pace"}),
    "turns conjugate": (lambda boxes, poses: (scaled(boxes, -1, "qx", "qy", "qz"), poses), {"moves_sideways"}),
    "mirrored": (lambda boxes, poses: (mirrored(boxes), mirrored(poses)), {"against_the_road"}),
    "w last": (lambda boxes, poses: (w_last(boxes), w_last(poses)), {"turns_lean", "moves_sideways"}),
}  # fmt: skip
QUAT = ["qw", "qx", "qy", "qz"]


def w_last(rows: Frame) -> Frame:
    return rows | dict(zip(QUAT, [rows[n] for n in QUAT[1:] + QUAT[:1]], strict=True))


def turned_poses(poses: Frame, by_deg: float) -> Frame:
    turn = Rotation.from_quat(np.column_stack([poses[n] for n in QUAT]), scalar_first=True)
    quat = (turn * Rotation.from_euler("z", by_deg, degrees=True)).as_quat(scalar_first=True)
    return poses | dict(zip(QUAT, quat.T, strict=True))


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", ["junction", pytest.param("real", marks=pytest.mark.real_data)])
def test_no_convention_is_taken_for_another_in_silence(
    tmp_path: Path, sample_drives: Path, name: str, attack: str
) -> None:
    """A log whose boxes or poses are read otherwise than they were written is refused, or all of it is in doubt."""
    folder = sample_drives / "argoverse2" / name
    if name == "real":
        (folder,) = (REAL_DATA / "driving" / "av2").iterdir()
    change, told = ATTACKS[attack]
    made = tmp_path / "l1"
    made.mkdir()
    (made / "map").symlink_to(folder / "map")
    (boxes_file,) = folder.glob("annotations*.feather")
    tables = [pyarrow.feather.read_table(f) for f in (boxes_file, folder / "city_SE3_egovehicle.feather")]
    frames = [{n: table[n].to_numpy().copy() for n in table.column_names} for table in tables]
    for file, frame in zip((boxes_file.name, "city_SE3_egovehicle.feather"), change(*frames), strict=True):
        pyarrow.feather.write_feather(pa.table(frame), made / file)
    (ref,) = Argoverse2().scenes(tmp_path).scenes
    if "turns_lean" in told:
        with pytest.raises(RawDataError, match="turns_lean"):
            Argoverse2().read(SceneFiles(tmp_path, ref))
        return
    if "two_ego_poses" in told and name == "real":  # rounded to times that differ by less than their pairs
        with pytest.raises(RawDataError, match="two_ego_poses"):
            Argoverse2().read(SceneFiles(tmp_path, ref))
        return
    scene = read(tmp_path, Argoverse2())
    found = examine(scene)
    about = {f.name: {g.subject for g in found if g.name == f.name} for f in found if f.stretches is None}
    everyone = {actor.id for actor in scene.facts.actors}
    assert {n for n, subjects in about.items() if subjects >= everyone} & told if told else not found


@pytest.mark.parametrize("theirs_mps", [20.0, -20.0, -30.0])
def test_traffic_of_one_speed_is_no_standing_thing(tmp_path: Path, theirs_mps: float) -> None:
    """Cars that all keep a speed would stand if our way were another one; what moves where it heads has no say."""
    turned = {"qw": 1.0, "qz": 0.0} if theirs_mps > 0 else {"qw": 0.0, "qz": 1.0}
    rows = [
        box(s, track=f"car-{n}", tx_m=20.0 * n + (theirs_mps - 10) * s / 10, ty_m=4.0, **turned)
        for n in range(5)
        for s in range(41)
    ]
    scene = read(write_log(tmp_path, rows, [pose(s) for s in range(41)]), Argoverse2())
    assert examine(scene) == ()


@pytest.mark.parametrize(
    ("sense", "shift", "turn_deg", "told"),
    [
        (1.0, (0.0, 0.0), 90.0, False),
        (-1.0, (0.0, 0.0), 90.0, True),
        (1.0, (3.0, 0.0), 90.0, True),
        (1.0, (0.0, -2.0), 90.0, True),
        (1.0, (0.9, 0.0), 90.0, False),
        (1.0, (3.0, 0.0), 0.0, False),  # on a straight road nothing shows it
    ],
)
def test_what_stands_must_stay_where_it_is(
    tmp_path: Path, sense: float, shift: tuple[float, float], turn_deg: float, told: bool
) -> None:
    assert ("static_things_drift" in doubts(turning(tmp_path, sense, shift, turn_deg))) == told


def with_ego(scene: DriveScene, **changes: Any) -> DriveScene:
    ego = scene.facts.ego
    assert isinstance(ego, Ego)
    return scene.model_copy(update={"facts": scene.facts.model_copy(update={"ego": ego.model_copy(update=changes)})})


@pytest.mark.parametrize(
    ("change", "told"),
    [((1, 1), False), ((1, -1), True), ((-1, 1), True), ((0.4, 1), True), ((1, 2.2), True), ((0.6, 1.9), False)],
)
def test_velocities_are_those_of_the_places(tmp_path: Path, change: tuple[float, float], told: bool) -> None:
    scene = turning(tmp_path)
    yaw = np.radians(90) * np.arange(ARC_SWEEPS) / ARC_SWEEPS
    velocity = 6.0 * np.column_stack([np.cos(yaw), np.sin(yaw), np.zeros(ARC_SWEEPS)]) / (*change, 1)
    assert scene.facts.ego is not None
    track = scene.facts.ego.track.model_copy(update={"velocity_mps": pack(velocity, SPEED_STEP_MPS)})
    assert ("velocity_against_track" in doubts(with_ego(scene, track=track))) == told


@pytest.mark.parametrize(
    ("left", "gear", "told"), [(0.3, 1, False), (-0.3, 1, True), (-0.3, 0, True), (-0.3, -1, False)]
)
def test_a_car_turns_to_the_side_to_which_it_steers(tmp_path: Path, left: float, gear: int, told: bool) -> None:
    """Ahead or out of gear; in reverse it may not."""
    every = np.ones(ARC_SWEEPS)
    said = {"throttle": every, "brake": 0 * every, "steering": left * every, "gear": gear * every}
    controls = Controls(**{name: pack(values, 1e-4) for name, values in said.items()})
    assert ("turns_against_steering" in doubts(with_ego(turning(tmp_path), controls=controls))) == told


@pytest.mark.parametrize(("off_m", "told"), [(2.4, False), (2.6, True)])
def test_a_box_holds_the_point_of_its_track(tmp_path: Path, off_m: float, told: bool) -> None:
    scene = turning(tmp_path)
    first, *rest = scene.facts.actors
    assert first.box is not None
    moved = first.model_copy(update={"box": first.box.model_copy(update={"middle_m": (off_m, 0.0, 0.0)})})
    facts = scene.facts.model_copy(update={"actors": (moved, *rest)})
    assert ("box_beside_its_point" in doubts(scene.model_copy(update={"facts": facts}))) == told


@pytest.mark.real_data
@pytest.mark.parametrize("change", ["none", "mirror", "aside", "ahead"])
def test_real_boxes_in_space_lie_where_they_are_marked_in_the_picture(tmp_path: Path, change: str) -> None:
    shutil.copytree(REAL_DATA / "driving" / "kitti", tmp_path / "kitti")
    path = tmp_path / "kitti" / "label_02" / "0012.txt"
    lines = [line.split() for line in path.read_text().splitlines()]
    for words in lines:
        x, y, z, turn = map(float, words[13:17])
        x, turn = (-x, np.pi - turn) if change == "mirror" else (x, turn)
        x, z = x + 2 * (change == "aside"), z + 3 * (change == "ahead")
        if words[2] != "DontCare":
            words[13:17] = map(str, (x, y, z, turn))
    path.write_text("\n".join(map(" ".join, lines)) + "\n")
    scene = read(tmp_path / "kitti", KittiTracking(), "0012")
    assert ("boxes_off_the_picture" in doubts(scene)) == (change != "none")


@pytest.mark.parametrize(
    ("column", "mark", "told"),
    [
        (0, "664.2 191.7 853.8 328.8", False),
        (0, "346.2 191.7 535.8 328.8", True),
        (700, "722.5 191.7 941.2 328.8", False),
    ],
)
def test_a_box_is_marked_where_its_corners_are_seen(tmp_path: Path, column: int, mark: str, told: bool) -> None:
    """A car of 4 x 1.8 x 1.5 m, 10 m ahead and 2 m to the right, heading away; or its mirror image in the picture.

    Or, by the fourth column of its projection, of a camera 1 m to the left. And two cars that are marked and nowhere in
    space, which tell nothing of the others.
    """
    line = f"{{}} {{}} Car 0 0 0 {mark} 1.5 1.8 4.0 {{}} 1.7 10.0 {-np.pi / 2}\n"
    for part, text in (
        ("label_02", "".join(line.format(n, *of) for n in range(10) for of in ((1, 2.0), (2, -1200.0), (3, 1200.0)))),
        ("calib", f"P2: 700 0 600 {column} 0 700 180 0 0 0 1 0\n"),
    ):
        (tmp_path / part).mkdir()
        (tmp_path / part / "0000.txt").write_text(text)
    assert doubts(read(tmp_path, KittiTracking())) == {"unusable_box", *(["boxes_off_the_picture"] if told else [])}


REAL_KITTI = REAL_DATA / "driving" / "kitti" / "label_02"


@pytest.mark.real_data
@pytest.mark.parametrize(("change", "told"), [("none", False), ("negated", True), ("by 9.5", False), ("by 10.5", True)])
@pytest.mark.parametrize("name", ["0003", "0012"])
def test_real_boxes_turn_as_their_own_lines_say_of_the_camera(
    tmp_path: Path, name: str, change: str, told: bool
) -> None:
    """Without calibration, so that no picture tells."""
    (tmp_path / "label_02").mkdir()
    lines = [line.split() for line in (REAL_KITTI / f"{name}.txt").read_text().splitlines()]
    for words in lines:
        turn = float(words[16])
        degrees = {"none": 0.0, "negated": np.degrees(-2 * turn), "by 9.5": 9.5, "by 10.5": -10.5}[change]
        words[16] = str(turn + np.radians(degrees))
    (tmp_path / "label_02" / f"{name}.txt").write_text("\n".join(map(" ".join, lines)) + "\n")
    assert ("turns_disagree" in doubts(read(tmp_path, KittiTracking(), name))) == told


@pytest.mark.parametrize(("count", "told"), [(9, False), (10, True)])
@pytest.mark.parametrize("constant", [False, True])
def test_angles_to_the_camera_that_nobody_measured_tell_nothing(
    tmp_path: Path, count: int, constant: bool, told: bool
) -> None:
    """Converters write one number on all lines."""
    (tmp_path / "label_02").mkdir()
    alpha = [0.0 if constant else 0.001 * n for n in range(count)]
    line = "{} 1 Car 0 0 {} 0 0 9 9 1.5 1.8 4.0 2.0 1.7 10.0 -1.57"
    text = "\n".join(line.format(n, a) for n, a in enumerate(alpha))
    (tmp_path / "label_02" / "0000.txt").write_text(text + "\n")
    assert ("turns_disagree" in doubts(read(tmp_path, KittiTracking()))) == (told and not constant)


@pytest.mark.parametrize(("up_m", "told"), [(2.99, False), (3.01, True), (-2.99, False), (-3.01, True)])
def test_things_stand_on_our_ground_or_near_it(tmp_path: Path, up_m: float, told: bool) -> None:
    """By their feet, in the middle of all."""
    rows = [box(s, name, tx_m=10.0 + 8 * n, tz_m=0.75 + up_m) for s in SWEEPS for n, name in enumerate("abc")]
    scene = read(write_log(tmp_path, rows, [pose(s) for s in SWEEPS]), Argoverse2())
    assert ("off_the_ground" in doubts(scene)) == told


AHEAD = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))


def leaning(up: float) -> tuple[tuple[float, float, float], ...]:
    """A camera whose axis has a part upwards, turned about the axis to the right."""
    level = float(np.sqrt(1 - up**2))
    return (0.0, up, level), (-1.0, 0.0, 0.0), (0.0, -level, up)


def rolled(cosine: float) -> tuple[tuple[float, float, float], ...]:
    """A level camera of whose picture down is down by a cosine."""
    sine = float(np.sqrt(1 - cosine**2))
    return (0.0, 0.0, 1.0), (-cosine, sine, 0.0), (-sine, -cosine, 0.0)


@pytest.mark.parametrize(
    ("change", "measured", "limit"),
    [
        ({}, None, None),
        ({"centre_px": (74.9, 40.0)}, None, None),
        ({"centre_px": (75.1, 40.0)}, 0.251, 0.25),
        ({"centre_px": (50.0, 19.9)}, 0.251, 0.25),
        ({"focal_px": (990.0, 990.0)}, None, None),
        ({"focal_px": (1010.0, 1010.0)}, 10.1, 10.0),
        ({"focal_px": (9.9, 9.9)}, 10.101, 10.0),
        ({"focal_px": (59.0, 50.0)}, None, None),
        ({"focal_px": (61.0, 50.0)}, 1.22, 1.2),
        ({"focal_px": (50.0, 61.0)}, 1.22, 1.2),
        ({"place_m": (12.0, -15.9, 1.0)}, None, None),
        ({"place_m": (12.0, -16.0, 1.0)}, 20.025, 20.0),
        ({"place_m": None}, None, None),
        ({"ego_from_camera": None}, None, None),
        ({"ego_from_camera": leaning(0.69)}, None, None),
        ({"ego_from_camera": leaning(0.71)}, 0.71, 0.7),
        ({"ego_from_camera": leaning(-0.9)}, None, None),  # looking down it has no upright picture
        ({"ego_from_camera": rolled(0.51)}, None, None),
        ({"ego_from_camera": rolled(0.49)}, -0.49, -0.5),
        ({"video": (204, 160)}, None, None),  # 2% wider than the picture
        ({"video": (205, 160)}, 1.025, 1.02),
        ({"video": (100, 82)}, 1.025, 1.02),
    ],
)
def test_calibrations_at_their_limits(change: dict[str, Any], measured: float | None, limit: float | None) -> None:
    """Of a picture of 100 by 80 pixels, the first of what is wrong."""
    width, height = change.pop("video", (100, 80))
    known = {"focal_px": (50, 50), "centre_px": (50, 40), "ego_from_camera": AHEAD, "place_m": (1.5, 0.0, 1.2)}
    camera = DriveCamera(name="front", width=100, height=80, **(known | change))
    video = Video(path="front.mp4", fps=10, frames=21, width=width, height=height)
    view: Any = SimpleNamespace(camera=camera, scene=SimpleNamespace(video=video))
    told = list(quality_checks._calibration(view))
    assert [(one.measured, one.limit) for one in told] == ([] if measured is None else [(measured, limit)])
    nothing: Any = SimpleNamespace(camera=None)
    assert list(quality_checks._calibration(nothing)) == []


def test_what_strays_is_what_a_plain_search_finds() -> None:
    """Roots of mean squares about the middle of the moments that count, as written and with all boxes shifted."""
    rng = np.random.default_rng(2)
    yaw, ego = np.cumsum(rng.uniform(0, 0.3, 9)), rng.normal(0, 20, (9, 2))
    local, known = rng.normal(0, 10, (4, 9, 2)), rng.random((4, 9)) < 0.7
    known[:, :2] = True
    axes = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in yaw])
    about = np.where(known[..., None], local, np.nan)

    def strays(about_us: np.ndarray, turns: np.ndarray) -> quality_checks._Strays:
        place = np.einsum("tij,ntj->nti", turns, about_us) + ego
        return quality_checks._Strays.of(place, known, np.broadcast_to(turns, (4, 9, 2, 2)))

    for shift in (np.zeros(2), np.array([3.0, -1.5])):
        plain = []
        for thing in range(4):
            places = np.array([ego[t] + axes[t] @ (local[thing, t] + shift) for t in np.flatnonzero(known[thing])])
            plain.append(np.sqrt(((places - places.mean(0)) ** 2).sum(1).mean()))
        assert strays(about, axes).after(shift) == pytest.approx(plain)
    place = rng.normal(0, 30, (4, 1, 2))
    about = np.einsum("tji,ntj->nti", axes, place - ego) - [2.5, -0.75]
    assert quality_checks._fitted(strays(about, axes)) == pytest.approx([2.5, -0.75], abs=1e-3)
    straight = np.repeat(np.eye(2)[None], 9, axis=0)
    assert quality_checks._fitted(strays(about, straight)).tolist() == [0, 0]


def test_who_is_within_whom_is_what_shapely_says() -> None:
    """Thirty vehicles of other sizes and turns at three times, some on other levels."""
    rng = np.random.default_rng(8)
    place = np.concatenate([rng.uniform(0, 16, (30, 5, 2)), rng.choice([0.0, 1.4, 1.6, 4.0], (30, 5, 1))], axis=2)
    size = np.column_stack([rng.uniform(3, 9, 30), rng.uniform(1.5, 3, 30), np.full(30, 1.5)])
    yaw = rng.uniform(-180, 180, (30, 5))
    view: Any = SimpleNamespace(place_m=place, size_m=size, yaw_deg=yaw)
    rows, times = np.arange(2, 29), np.array([0, 2, 4])
    found = {tuple(int(n) for n in one) for one in zip(*quality_checks._within(view, rows, times), strict=True)}
    plain = set()
    for t, time in enumerate(times):
        for b, outer in enumerate(rows):
            turn = np.radians(yaw[outer, time])
            axes = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            half = size[outer, :2] / 2
            ring = [place[outer, time, :2] + axes @ (half * sign) for sign in ((1, 1), (-1, 1), (-1, -1), (1, -1))]
            for a, inner in enumerate(rows):
                level = abs(place[inner, time, 2] - place[outer, time, 2]) <= 1.5
                if a != b and level and shapely.Polygon(ring).covers(shapely.Point(place[inner, time, :2])):
                    plain.add((t, a, b))
    assert found == plain
    assert len(found) > 20


@pytest.mark.parametrize(
    ("box_m", "inside"),
    [
        (None, [True, False, True, False, False]),  # a metre about its point
        (((1.0, 0.5, 0.7), (4.0, 2.0, 1.5)), [True, True, True, True, False]),
    ],
)
def test_who_is_where_our_own_car_is(box_m: Any, inside: list[bool]) -> None:
    relative = np.array([[0.9, 0.4], [2.9, 1.4], [-0.9, -0.4], [-0.9, -0.4], [3.1, 0.5]])
    relative[3] = -0.9, 1.5
    box = None if box_m is None else VehicleBox(middle_m=box_m[0], size_m=box_m[1])
    about = np.concatenate([relative, np.zeros((5, 1))], axis=1)[:, None]
    view: Any = SimpleNamespace(relative_m=about, facts=SimpleNamespace(ego=SimpleNamespace(box=box)))
    rows, times = np.arange(5), np.array([0])
    assert quality_checks._ours(view, rows, times)[:, 0].tolist() == inside
    view.facts.ego = None
    assert not quality_checks._ours(view, rows, times).any()


@pytest.mark.parametrize(
    ("times_s", "step_s", "first"),
    [
        ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], 0.2, [0, 2, 4]),
        ([0.3, 0.55, 0.9, 1.0, 1.7], 0.5, [0, 1, 3, 4]),
        ([0.19999999, 0.2, 0.39], 0.2, [0]),  # sums of steps
        ([2.0], 0.5, [0]),
    ],
)
def test_the_first_of_each_step(times_s: list[float], step_s: float, first: list[int]) -> None:
    assert quality_checks._every(np.array(times_s), step_s).tolist() == first


@pytest.mark.parametrize(
    ("inside", "runs"),
    [
        ("......", []),
        ("..##..", [(1.5, 4.0)]),
        ("##....", [(1.0, 3.0)]),
        (".....#", [(4.0, 5.5)]),
        ("#.##.#", [(1.0, 1.5), (1.5, 4.0), (4.0, 5.5)]),
        ("######", [(1.0, 5.5)]),
    ],
)
def test_stretches_reach_to_the_times_beside_them(inside: str, runs: list[tuple[float, float]]) -> None:
    times = np.array([1.0, 1.5, 3.0, 3.5, 4.0, 5.5])
    assert list(quality_checks._stretches(times, np.array([c == "#" for c in inside]))) == runs


@pytest.mark.parametrize(
    ("heading", "path", "found"),
    [
        (30.0, [2.0] * 6, 30.0),  # eastwards
        (-30.0, [2.0] * 6, 30.0),
        (180.0, [2.0] * 6, 180.0),
        (30.0, [2.0] * 5, 30.0),  # 10 m
        (30.0, [1.9] * 5, None),
        (30.0, [0.49] * 40, None),  # boxes that waver
        (30.0, [0.5] * 20, 30.0),
    ],
)
def test_angles_between_heading_and_path(heading: float, path: list[float], found: float | None) -> None:
    place = np.zeros((len(path) + 1, 3))
    place[:, 0] = np.cumsum([7.0, *path])
    off = quality_checks._off_path_deg(place, np.full(len(place), heading))
    assert off == (None if found is None else pytest.approx(found))
    place[2], lost = np.nan, quality_checks._off_path_deg(place, np.full(len(place), heading))
    assert lost is None or lost == pytest.approx(found)


def test_a_leap_counts_no_more_than_the_middle_step() -> None:
    """Six steps of 2 m along, one of 40 m across, which counts as one of 2 m: 2 m across beside 12 m along."""
    place = np.zeros((8, 3))
    place[:, 0] = [0, 2, 4, 6, 6, 8, 10, 12]
    place[4:, 1] = 40.0
    assert quality_checks._off_path_deg(place, np.zeros(8)) == pytest.approx(np.degrees(np.arctan2(2, 12)))
    turning = np.array([0.0, 20, 40, 60])  # a step is held against the middle of the headings at its ends
    steps = 5 * np.column_stack([np.cos(np.radians([10, 30, 50])), np.sin(np.radians([10, 30, 50])), np.zeros(3)])
    assert quality_checks._off_path_deg(np.vstack([np.zeros(3), np.cumsum(steps, axis=0)]), turning) == pytest.approx(
        0, abs=1e-6
    )


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([(3.0, 1.8), (3.0, 1.8), (9.0, 1.8)], None),
        ([(2.9, 1.8), (2.9, 1.8), (9.0, 1.8)], (2.9, 3.0)),
        ([(7.0, 1.8)] * 3, None),
        ([(7.1, 1.8)] * 3, (7.1, 7.0)),
        ([(4.0, 4.0)] * 3, (4.0, 7.0)),
        ([(4.0, 4.5)] * 3, (4.0, 7.0)),
        ([(2.0, 1.8)] * 2, None),  # too few
    ],
)
def test_sizes_of_cars(sizes: list[tuple[float, float]], told: tuple[float, float] | None) -> None:
    size = np.array([(*one, 1.5) for one in [*sizes, (np.nan, np.nan)]])
    names = np.array([f"t{n}" for n in range(len(size))], dtype=object)
    view: Any = SimpleNamespace(categories=np.array(["car"] * len(size), dtype=object), size_m=size, ids=names)
    found = list(quality_checks._sizes(view))
    assert [one.subject for one in found] == ([] if told is None else names.tolist())
    assert {(one.measured, one.limit) for one in found} <= {told}


@pytest.mark.parametrize(
    ("times", "ratio"), [(1.0, None), (0.52, None), (0.51, 0.494), (2.06, None), (2.07, 2.003), (-1.0, -0.968)]
)
def test_velocities_are_held_against_the_places_of_what_moves(times: float, ratio: float | None) -> None:
    """Twenty seconds at rest, with 1.9 m/s written, tell nothing; nor does a place that is not known.

    Of 13 steps at 6 m/s, and one at rest at (1.9 + 6) / 2: 468 / (468 + 15.6) of what the places change by.
    """
    said = np.repeat([[1.9, 0.0, 0.0], [6.0, 0.0, 0.0]], [200, 14], axis=0)
    place = np.zeros((214, 3))
    place[201:, 0] = 0.1 * np.cumsum(times * said[201:, 0])
    place[50] = np.nan
    tables = {name: SimpleNamespace(array=table) for name, table in (("place_m", place), ("velocity_mps", said))}

    class Track(SimpleNamespace):
        def __len__(self) -> int:
            return 214

    actor = SimpleNamespace(id="a", track=Track(first=0, stop=214, **tables))
    view: Any = SimpleNamespace(
        facts=SimpleNamespace(actors=(actor,), ego=None), ids=np.array(["a"]), times_s=np.arange(214) / 10
    )
    told = [(one.subject, one.measured, one.limit) for one in quality_checks._velocities(view)]
    assert told == ([] if ratio is None else [(name, ratio, 0.5) for name in ("a", "ego")])


def test_the_film_shows_boxes_as_a_plain_projection_has_them(scene: DriveScene) -> None:
    """A camera 1.5 m ahead and 1.2 m up: sizes and hidden shares corner by corner, column by column."""
    camera = DriveCamera(
        name="front", width=200, height=100, focal_px=(90, 100), centre_px=(100, 50), ego_from_camera=AHEAD,
        place_m=(1.5, 0.25, 1.2),
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


# ---- rows made into tracks


def test_rows_become_one_table_for_each_thing() -> None:
    """Thing 7 from time 2 to 5 without a row at 3; thing 3 at 4 alone."""
    thing, time = np.array([7, 3, 7, 7]), np.array([5, 4, 2, 4])
    values = np.array([[50.0, 5], [40, 4], [20, 2], [41, 4]])
    found = stretches(thing, time, {"place_m": values})
    assert sorted(found) == [3, 7]
    assert (found[7].first, found[3].first) == (2, 4)
    assert found[3].tables["place_m"].tolist() == [[40, 4]]
    assert np.nan_to_num(found[7].tables["place_m"], nan=-1).tolist() == [[20, 2], [-1, -1], [41, 4], [50, 5]]
    assert stretches(thing[:0], time[:0], {}) == {}


def test_rows_of_one_thing_at_one_time_are_repeated() -> None:
    thing, time = np.array([0, 1, 0, 1, 2, 0]), np.array([3, 0, 3, 1, 3, 0])
    assert repeated(thing, time).tolist() == [True, False, True, False, False, False]
    assert repeated(thing[:0], time[:0]).tolist() == []


def test_values_larger_than_anything_are_not_known() -> None:
    found = within(np.array([5.0, -5.0, 5.1, -5.1, np.inf, np.nan]), 5.0)
    assert np.nan_to_num(found, nan=99).tolist() == [5, -5, 99, 99, 99, 99]


@pytest.mark.parametrize(("wide", "told"), [(1.04, []), (1.06, ["size_varies"]), (0.0, ["box_without_size"])])
def test_boxes_are_medians_of_what_is_given(wide: float, told: list[str]) -> None:
    findings = Findings()
    box = steady_box(np.array([[4.0, 1, 2], [4.0, wide, 2], [np.nan] * 3, [4.01, 1.01, 2]]), "a", findings)
    assert [one.name for one in findings.items] == told
    assert (box and box.size_m) == (None if not wide else pytest.approx((4.0, 1.01, 2.0)))
    known = {"size_varies": (pytest.approx(0.06), 0.05), "box_without_size": (0.0, 0)}
    assert [(one.measured, one.limit) for one in findings.items] == [known[name] for name in told]


def test_words_that_change_and_words_that_are_not_known() -> None:
    findings = Findings()
    names, words = np.array(["b", "a", "b", "c"]), np.array(["van", "car", "bus", "ufo"], dtype=object)
    told = steady_words(names, words, {word: word for word in ("car", "bus", "van")}, findings)
    assert told == {"b": "bus", "a": "car", "c": "ufo"}
    assert [(one.name, one.subject, one.measured, one.limit) for one in findings.items] == [
        ("category_changes", "b", 2, 1),
        ("unknown_category", "c", None, None),
    ]


def test_each_tick_shows_the_last_picture_taken_by_then() -> None:
    shown = Pictures(Path(), (), np.array([0.1, 0.5, 0.75]))
    assert shown.on_screen(1.0, 4).tolist() == [0, 0, 1, 2, 2]
    assert shown.on_screen(0.99, 4).tolist() == [0, 0, 1, 2]
    assert shown.on_screen(0.3, 10).tolist() == [0, 0, 0, 0]
