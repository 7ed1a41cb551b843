"""The sample episodes hold what was planted, by plain geometry."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from pipeline.geometry.angles import matrices, rotated
from pipeline.samples.arm.plans import FPS, HIGH, LOW, RATE_MAX, plan
from pipeline.samples.arm.write import write_samples
from pipeline.worlds.arm.bev_video import top_down_map
from pipeline.worlds.arm.readers.lerobot import LeRobot
from pipeline.worlds.arm.view import ArmView
from pipeline.worlds.registry import read_scene
from tests.worlds.arm.episodes import read


def moved_m(view: ArmView) -> np.ndarray:
    """How far each thing (I, T) is from where it was first."""
    return np.linalg.norm(view.item_m - view.item_m[:, :1], axis=2)


def closed_rows(view: ArmView) -> list[int]:
    return [row for row in range(len(view.times_s)) if view.state_at(row) == "closed"]


def test_the_gripper_is_where_two_links_put_it(views: list[ArmView]) -> None:
    for view in views:
        shoulder, elbow, lift = view.angle.T
        arm = 0.36 * np.exp(1j * shoulder) + 0.32 * np.exp(1j * (shoulder + elbow))
        tip = np.stack([arm.real, arm.imag, lift], axis=-1)
        assert np.abs(tip - view.gripper_m).max() < 1e-5
        assert ((view.low < view.angle) & (view.angle < view.high)).all()
        assert (np.abs(view.angle_rate) < view.rate_max).all()


def test_a_reach_ends_at_its_target_unless_it_stops_short(views: list[ArmView]) -> None:
    for number, short in ((0, False), (3, False), (6, True)):
        view = views[number]
        (target,) = view.targets
        gap_m = view.distance_m[target].min() - view.size_m[target, 2] / 2
        assert gap_m == pytest.approx(0.1 if short else 0.004, abs=1e-4)
        assert view.facts.success is not short
        assert moved_m(view).max() == 0
        assert {view.state_at(row) for row in range(len(view.times_s))} == {"open"}


def test_what_is_pushed_goes_as_far_as_the_gripper_pushes(views: list[ArmView]) -> None:
    for number in (1, 4):
        view = views[number]
        (target,) = view.targets
        moved = moved_m(view)[target]
        touching = view.size_m[target, 0] / 2
        assert 0.06 < moved[-1] < 0.12
        assert view.gripper_m[:, 0].max() >= view.item_m[target, 0, 0] - touching + moved[-1] - 1e-5
        going = np.diff(moved) > 1e-6
        assert np.abs(view.distance_m[target][1:][going] - touching).max() < 1e-4, "it moves while it is touched"
        others = [row for row in range(len(view.ids)) if row != target]
        assert moved_m(view)[others].max() == 0
        assert (np.diff(closed_rows(view)) == 1).all()


def test_a_drawer_opens_as_far_as_it_is_pulled(views: list[ArmView]) -> None:
    for number in (2, 5):
        view = views[number]
        (target,) = view.targets
        held = view.gripper_m[closed_rows(view), 0]
        pulled = held.max() - held.min()
        assert view.slide[target, -1] == pytest.approx(pulled, abs=1e-5)
        assert view.slide_share[target, -1] == pytest.approx(pulled / 0.16, abs=1e-4)
        assert view.slide_share[target, 0] == 0


def test_the_last_thing_lies_on_the_second_and_nothing_else_on_anything(views: list[ArmView]) -> None:
    for number, view in enumerate(views):
        ((above, below),) = np.argwhere(view.on_item(0))
        things = plan(number).things
        assert (view.ids[above], view.ids[below]) == (things[-1].id, things[1].id)


def test_the_gripper_points_down_and_its_first_axis_along_the_second_link(views: list[ArmView]) -> None:
    for view in views:
        assert np.abs(view.approach - [0, 0, -1]).max() < 1e-6
        both = view.angle[:, 0] + view.angle[:, 1]
        along = rotated(matrices(view.gripper_turn), np.broadcast_to([1.0, 0.0, 0.0], view.gripper_m.shape))
        assert np.abs(along - np.stack([np.cos(both), np.sin(both), 0 * both], axis=1)).max() < 1e-5


def test_episodes_differ_in_what_is_there() -> None:
    plans = [plan(number) for number in range(60)]
    acted_on = {(one.kind, one.things[0].category) for one in plans}
    assert {kind for kind, _ in acted_on} == {"reach", "push", "open"}
    assert len(acted_on) >= 8
    assert len({len(one.things) for one in plans}) >= 3
    assert all(sum((t.colour, t.category) == (one.things[0].colour, one.things[0].category) for t in one.things) == 1
               for one in plans)  # fmt: skip
    longest: dict[str, set[float]] = {}
    for thing in (thing for one in plans for thing in one.things):
        longest.setdefault(thing.category, set()).add(max(thing.size_m))
    assert all(max(longest[name]) > 1.4 * min(longest[name]) for name in ("cube", "can", "box", "book"))


def test_a_drawer_that_is_shut_again_was_open_meanwhile(tmp_path: Path) -> None:
    write_samples(tmp_path, range(9))
    view = ArmView(read(tmp_path, LeRobot(), "table.episode000008"))
    (target,) = view.targets
    assert view.slide_share[target, 0] == 0
    assert view.slide_share[target].max() > 0.8
    assert abs(view.slide_share[target, -1]) < 1e-6


def test_things_do_not_touch(views: list[ArmView]) -> None:
    for view in views:
        ground = [row for row in range(len(view.ids)) if not view.on_item(0)[row].any()]
        middles, half = view.item_m[ground][:, :, :2], view.size_m[ground][:, :2] / 2
        for a in range(len(ground)):
            for b in range(a):
                apart = np.abs(middles[a] - middles[b]) - half[a] - half[b]
                assert (apart.max(1) > 0).all()


def test_samples_are_the_same_bytes_every_time(sample_episodes: Path, tmp_path: Path) -> None:
    write_samples(tmp_path, range(7))
    for path in sorted(sample_episodes.rglob("*.*")):
        assert path.read_bytes() == (tmp_path / path.relative_to(sample_episodes)).read_bytes(), path


def test_scenes_survive_json_and_can_be_drawn(views: list[ArmView]) -> None:
    for view in views[1:3]:
        assert read_scene(view.scene.model_dump_json().encode()) == view.scene
        drawn = top_down_map(view.scene)
        assert len(drawn.things) == len(view.ids) + 1, "and the foot of the arm"
        assert drawn.path[-1][0] == pytest.approx(view.times_s[-1], abs=1e-3)
        assert drawn.path[0][1:] == pytest.approx(view.gripper_m[0, :2].tolist(), abs=1e-3)


def test_plans_differ_and_stay_within_what_the_arm_can_do() -> None:
    plans = [plan(number) for number in range(60)]
    for one in plans:
        assert ((np.array(LOW) < one.joints) & (one.joints < HIGH)).all()
        assert (np.abs(np.diff(one.joints, axis=0)) * FPS < RATE_MAX).all()
    assert len({one.things[0].place_m[0].tobytes() for one in plans}) == 60


def test_neither_how_long_an_episode_is_nor_how_far_it_has_got_tells_how_fast_the_arm_is() -> None:
    """Speeds while it moves, 0.02 m/s at least; medians differ by a factor of two, lengths of one and a half."""
    plans = [plan(number) for number in range(120)]
    speed = [np.linalg.norm(np.diff(one.tip_m, axis=0), axis=1) * FPS for one in plans]
    pace, lasts = np.array([np.median(v[v > 0.02]) for v in speed]), np.array([len(one.tip_m) for one in plans])
    low, high = np.quantile(pace, [0.1, 0.9])
    assert high > 1.7 * low
    assert np.quantile(lasts, 0.9) > 1.5 * np.quantile(lasts, 0.1)
    assert abs(spearmanr(pace, lasts).statistic) < 0.2  # of 120; its standard error is 0.09
    tenths = [np.array_split(v, 10) for v in speed]
    by_tenth = [np.median(np.concatenate([v[n][v[n] > 0.02] for v in tenths])) for n in range(10)]
    assert max(by_tenth) < 1.35 * min(by_tenth)
