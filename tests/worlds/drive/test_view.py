"""A drive as arrays over time, on a log made by hand: our car goes north at 10 m/s."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pipeline.core.findings import doubt
from pipeline.worlds.drive.facts import DriveScene, Lamps, VehicleBox
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.top_down_map import sketch
from pipeline.worlds.drive.view import DriveView
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
    assert view.lane_offset_m(0, points[:2]).tolist() == [0.0, 1.5]


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


def test_the_map_of_reviewers_has_the_road_our_way_and_the_others(scene: DriveScene) -> None:
    drawn = sketch(scene)
    assert drawn.path[0] == (0.0, 100.0, 200.0)
    assert drawn.path[-1] == (2.0, 100.0, 220.0)
    assert [thing.label for thing in drawn.things] == ["car", "bollard", "car"]
    assert drawn.things[1].outline == ((98.0, 213.0),)
    assert drawn.things[1].seen_s == 0.3
    assert len(drawn.ground) == 1
