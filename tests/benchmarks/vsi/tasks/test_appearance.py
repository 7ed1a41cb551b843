"""Appearance order on scenes whose first times are written down by hand."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest

from pipeline.benchmarks.vsi.rules import OFFICIAL, STRICT, Rules
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import asked_in
from pipeline.core.templates import load_template
from pipeline.questions.selection import select
from pipeline.worlds.indoor.facts import IndoorScene, Observation, Visibility
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import cube, make_doubt, make_scene
from tests.tables import candidates

TASK = AppearanceOrder()
OBSERVATION = Observation(
    frames_examined=40,
    frames_refined=0,
    frames_skipped={},
    frames_per_second=2.0,
    min_pixels=20,
    budgets=(16, 32),
    image=(160, 120),
    depth_agreement=None,
)


def filmed(
    first_s: list[tuple[str, float | None]],
    pixels: dict[str, dict[int, int]] | None = None,
    in_budget: dict[str, dict[int, float]] | None = None,
) -> IndoorScene:
    """A scene of cubes that the video shows from the given times on, and the frames of a budget from others on."""
    scene = make_scene([cube(name, 1.0 * i, 0.0) for i, (name, _) in enumerate(first_s)])
    objects = []
    for item, (name, first) in zip(scene.facts.objects, first_s, strict=True):
        budgets = (pixels or {}).get(name, {16: 0 if first is None else 50, 32: 0 if first is None else 50})
        own = {n: first if shown >= 20 else None for n, shown in budgets.items()}
        seen = Visibility(
            frames_seen=int(first is not None),
            largest_pixels=0 if first is None else 50,
            absent=first is None,
            extent_seen=float(first is not None),
            first_seen_s=first,
            budgets=budgets,
            first_in_budget_s=own | (in_budget or {}).get(name, {}),
        )
        objects.append(item.model_copy(update={"visibility": seen}))
    return scene.with_facts(objects=tuple(objects), observation=OBSERVATION)


def rows(scene: IndoorScene) -> list[dict[str, object]]:
    return candidates(IndoorView(scene, STRICT), [TASK]).to_pylist()


def test_order_is_that_of_the_first_times() -> None:
    (row,) = rows(filmed([("bed", 6.0), ("chair", 0.0), ("door", 4.0), ("lamp", 2.0)]))
    assert row["operands"] == ["bed", "chair", "door", "lamp"]
    assert row["answer"] == "chair, lamp, door, bed"
    evidence = {(e["name"], e["subject"]): e["value"] for e in row["evidence"]}  # type: ignore[attr-defined]
    assert evidence["first_seen", "bed"] == 6.0
    assert evidence["first_times_too_close", "rule"] == 2.0


def test_a_category_appears_with_the_first_of_its_objects() -> None:
    (row,) = rows(filmed([("bed", 6.0), ("chair", 9.0), ("chair", 2.0), ("door", 4.0), ("lamp", 0.0)]))
    assert row["answer"] == "lamp, chair, door, bed"


@pytest.mark.parametrize(
    ("gap", "reason"), [(0.5, "first_times_too_close"), (0.999, "first_times_too_close"), (1.0, None)]
)
def test_times_closer_than_a_second_are_ambiguous(gap: float, reason: str | None) -> None:
    (row,) = rows(filmed([("bed", 5.0), ("chair", 0.0), ("door", 5.0 + gap), ("lamp", 2.0)]))
    assert row["reason"] == reason
    if reason:
        assert (row["measured"], row["limit"], row["unit"]) == (pytest.approx(gap), 1.0, "s")


def test_what_is_never_shown_is_refused_by_name() -> None:
    found = rows(filmed([("bed", 6.0), ("chair", 0.0), ("door", 4.0), ("lamp", None), ("sofa", 9.0)]))
    refused = [r for r in found if r["role"]]
    assert [(r["operands"], r["reason"], r["measured"]) for r in refused] == [(["lamp"], "never_visible", 0.0)]
    assert [r["operands"] for r in found if not r["role"]] == [["bed", "chair", "door", "sofa"]]


@pytest.mark.parametrize("rules", [STRICT, OFFICIAL])
def test_poses_that_disagree_with_depth_cost_what_needs_sight_and_nothing_else(rules: Rules) -> None:
    sound = filmed([("bed", 6.0), ("chair", 0.0), ("chair", None), ("door", 4.0), ("lamp", 2.0), ("sofa", 9.0)])
    off = sound.model_copy(update={"findings": (make_doubt("depth_disagrees", "sight", 0.85, 0.9, "share"),)})
    view = IndoorView(off, rules)
    found = candidates(view, [TASK]).to_pylist()
    assert {(r["role"], r["reason"], r["measured"]) for r in found} == {("choice", "depth_disagrees", 0.85)}
    assert view.count[view.index["chair"]] == 2  # whether the second one is shown is not known
    assert view.shown_in.shape == (5, 0)
    assert view.problem(0, "unique") is None


def test_a_scene_that_was_not_filmed_is_refused_as_a_whole() -> None:
    scene = make_scene([cube(name, i, 0) for i, name in enumerate(("bed", "chair", "door", "lamp"))])
    assert [(r["role"], r["reason"]) for r in rows(scene)] == [("scene", "video_not_examined")]


def test_budgets_that_show_everything() -> None:
    seen = [("bed", 6.0), ("chair", 0.0), ("door", 4.0), ("lamp", 2.0)]
    glimpse = {"lamp": {16: 19, 32: 20}}
    assert rows(filmed(seen))[0]["visible_in"] == [16, 32]
    assert rows(filmed(seen, glimpse))[0]["visible_in"] == [32]
    assert rows(filmed(seen, {"lamp": {16: 0, 32: 0}}))[0]["visible_in"] == []


def test_a_budget_must_show_the_order_and_not_only_the_things() -> None:
    seen = [("bed", 6.0), ("chair", 0.0), ("door", 4.0), ("lamp", 2.0)]
    tie = {"lamp": {16: 4.1, 32: 2.1}, "door": {16: 4.1, 32: 4.1}}  # of 16 frames, one is the first with both
    assert rows(filmed(seen, in_budget=tie))[0]["visible_in"] == [32]
    turned = {"lamp": {16: 2.1, 32: 5.0}, "door": {16: 4.1, 32: 4.1}}  # a frame misses the lamp's first appearance
    assert rows(filmed(seen, in_budget=turned))[0]["visible_in"] == [16]
    (asked,) = candidates(IndoorView(filmed(seen, in_budget=tie), STRICT), [TASKS["object_abs_distance"]]).to_pylist()[
        :1
    ]
    assert asked["visible_in"] == [16, 32]  # other questions do not need the order


def test_options_are_four_orders_with_the_truth_and_the_text_names_one_of_them() -> None:
    scene = filmed([(f"thing {c}", 2.0 * i) for i, c in enumerate("abcdefgh")])
    table = candidates(IndoorView(scene, STRICT), [TASK])
    questions = asked_in(select(table, {TASK.name: TASK}, 70)).to_pylist()
    assert len(questions) == 70  # 8 over 4
    for question in questions:
        options = [option[3:] for option in question["options"]]
        orders = {", ".join(order) for order in permutations(question["operands"])}
        assert len(set(options)) == 4
        assert set(options) <= orders
        assert options["ABCD".index(question["ground_truth"])] == question["answer"]
        assert ", ".join(load_template(TASK.template).parse(question["text"])["choices"]) in options  # type: ignore[index]
    letters = Counter(question["ground_truth"] for question in questions)
    assert max(letters.values()) - min(letters.values()) <= 1
