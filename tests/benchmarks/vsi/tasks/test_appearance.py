"""Appearance order on scenes whose first times are written down by hand."""

from collections import Counter
from itertools import combinations, permutations

import pyarrow as pa
import pytest

from pipeline.benchmarks.vsi.rules import OFFICIAL, STRICT, Rules
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.tables import CANDIDATES, QUESTIONS, selected_questions
from pipeline.core.templates import load_template
from pipeline.questions.selection import select
from pipeline.release.tables import budgets_table
from pipeline.worlds.indoor.facts import BudgetFrames, BudgetVisibility, IndoorScene, Observation, Visibility
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
    budgets={n: BudgetFrames(frames=n, without_pose_s=(), plan_seen=None) for n in (16, 32)},
    image=(160, 120),
    depth_agreement=None,
)


def filmed(
    first_s: list[tuple[str, float | None]],
    pixels: dict[str, dict[int, int]] | None = None,
    in_budget: dict[str, dict[int, float]] | None = None,
    glimpsed: dict[str, dict[int, float]] | None = None,
    lost_s: tuple[float, ...] = (),
) -> IndoorScene:
    """A scene of cubes that the video shows from the given times on, and the frames of a budget from others on.

    ``glimpsed``: of a budget the first frame that shows any pixel of a cube; ``lost_s``: its frames without a pose.
    """
    scene = make_scene([cube(name, 1.0 * i, 0.0) for i, (name, _) in enumerate(first_s)])
    objects = []
    for item, (name, first) in zip(scene.facts.objects, first_s, strict=True):
        budgets = (pixels or {}).get(name, {16: 0 if first is None else 50, 32: 0 if first is None else 50})
        own = {n: first if shown >= 20 else None for n, shown in budgets.items()}
        own |= (in_budget or {}).get(name, {})
        seen = Visibility(
            frames_seen=int(first is not None),
            largest_pixels=0 if first is None else 50,
            absent=first is None,
            extent_seen=float(first is not None),
            first_seen_s=first,
            budgets={
                n: BudgetVisibility(
                    pixels=shown,
                    absent=not shown,
                    first_seen_s=own[n],
                    first_shown_s=(glimpsed or {}).get(name, own).get(n, own[n]),
                    extent_seen=1.0,
                )
                for n, shown in budgets.items()
            },
        )
        objects.append(item.model_copy(update={"visibility": seen}))
    known = {n: own.model_copy(update={"without_pose_s": lost_s}) for n, own in OBSERVATION.budgets.items()}
    return scene.with_facts(objects=tuple(objects), observation=OBSERVATION.model_copy(update={"budgets": known}))


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
    assert view.budgets == ()
    assert view.problem(0, "unique") is None


def test_a_scene_that_was_not_filmed_is_refused_as_a_whole() -> None:
    scene = make_scene([cube(name, i, 0) for i, name in enumerate(("bed", "chair", "door", "lamp"))])
    assert [(r["role"], r["reason"]) for r in rows(scene)] == [("scene", "video_not_examined")]


SEEN: list[tuple[str, float | None]] = [("bed", 6.0), ("chair", 0.0), ("door", 4.0), ("lamp", 2.0)]


def in_budgets(scene: IndoorScene) -> dict[int, tuple[object, ...]]:
    """Of each budget the order, or why there is none."""
    (row,) = rows(scene)
    told = {
        own["budget"]: (own["answer"],) if own["answer"] else (own["reason"], own["measured"], own["limit"])
        for own in row["budgets"]  # type: ignore[attr-defined]
    }
    assert row["visible_in"] == [n for n, own in told.items() if len(own) == 1]
    return told


def test_budgets_that_show_everything() -> None:
    order = ("chair, lamp, door, bed",)
    assert in_budgets(filmed(SEEN)) == {16: order, 32: order}
    assert in_budgets(filmed(SEEN, {"lamp": {16: 19, 32: 20}})) == {16: ("not_shown_in_frames", 19, 20), 32: order}
    assert in_budgets(filmed(SEEN, {"lamp": {16: 0, 32: 0}}))[32] == ("not_shown_in_frames", 0, 20)


def test_the_order_in_a_budget_is_that_of_its_frames() -> None:
    order = ("chair, lamp, door, bed",)
    tie = {"lamp": {16: 4.1, 32: 2.1}, "door": {16: 4.1, 32: 4.1}}  # of 16 frames, one is the first with both
    assert in_budgets(filmed(SEEN, in_budget=tie)) == {16: ("first_frames_not_apart", 0, 0), 32: order}
    turned = {"lamp": {16: 2.1, 32: 5.0}, "door": {16: 4.1, 32: 4.1}}  # a frame misses the lamp's first appearance
    assert in_budgets(filmed(SEEN, in_budget=turned)) == {16: order, 32: ("chair, door, lamp, bed",)}
    (asked,) = candidates(IndoorView(filmed(SEEN, in_budget=tie), STRICT), [TASKS["object_abs_distance"]]).to_pylist()[
        :1
    ]
    assert asked["visible_in"] == [16, 32]  # other questions do not need the order


def test_a_glimpse_in_an_earlier_frame_of_a_budget_leaves_the_order_open() -> None:
    """19 pixels of the bed in the frame that shows the door first: some see it there, some do not."""
    told = in_budgets(filmed(SEEN, glimpsed={"bed": {16: 4.0, 32: 4.1}}))
    assert told == {16: ("first_frames_not_apart", 0, 0), 32: ("chair, lamp, door, bed",)}


def test_a_frame_that_nobody_knows_leaves_open_what_was_not_seen_by_then() -> None:
    """At 4 s all but one of the four were seen: what comes later cannot change their order."""
    assert in_budgets(filmed(SEEN, lost_s=(4.0,)))[16] == ("frames_without_pose", 0, 0)
    assert in_budgets(filmed(SEEN, lost_s=(4.1, 3000.0)))[16] == ("chair, lamp, door, bed",)


def test_options_hold_the_order_of_every_budget() -> None:
    turned = {"lamp": {16: 2.1, 32: 5.0}, "door": {16: 4.1, 32: 4.1}}
    table = candidates(IndoorView(filmed(SEEN, in_budget=turned), STRICT), [TASK])
    (question,) = selected_questions(select(table, {TASK.name: TASK}, 6)).to_pylist()
    options = [option[3:] for option in question["options"]]
    assert {"chair, lamp, door, bed", "chair, door, lamp, bed"} <= set(options)
    assert len(set(options)) == 4
    found = budgets_table(pa.Table.from_pylist([question], schema=QUESTIONS)).to_pylist()
    assert [options["ABCD".index(row["ground_truth"])] for row in found] == [
        "chair, lamp, door, bed",
        "chair, door, lamp, bed",
    ]


def mirrored(orders: list[str]) -> set[str]:
    return {", ".join(order.split(", ")[::-1]) for order in orders}


def test_options_are_two_orders_and_their_reverses_and_the_text_names_one_of_them() -> None:
    scene = filmed([(f"thing {c}", 2.0 * i) for i, c in enumerate("abcdefgh")])
    table = candidates(IndoorView(scene, STRICT), [TASK])
    questions = selected_questions(select(table, {TASK.name: TASK}, 70)).to_pylist()
    assert len(questions) >= 8
    assert all(len({*one["operands"]} & {*other["operands"]}) <= 2 for one, other in combinations(questions, 2))
    for question in questions:
        options = [option[3:] for option in question["options"]]
        assert len({*options}) == 4
        assert mirrored(options) == {*options}
        assert {*options} <= {", ".join(order) for order in permutations(question["operands"])}
        assert options["ABCD".index(question["ground_truth"])] == question["answer"]
        assert ", ".join(load_template(TASK.template).parse(question["text"])["choices"]) in options  # type: ignore[index]
    letters = Counter(question["ground_truth"] for question in questions)
    assert max(letters.values()) - min(letters.values()) <= 1
    released = selected_questions(select(table, {TASK.name: TASK}, 70, as_released=True)).to_pylist()
    assert len(released) == 70, "8 over 4"
    assert any(mirrored(options) != {*options} for options in ([o[3:] for o in row["options"]] for row in released))


def test_an_answer_that_is_no_option_is_refused_in_its_budget() -> None:
    (row,) = rows(filmed(SEEN))
    orders = [", ".join(order) for order in permutations(("chair", "lamp", "door", "bed"))][:5]
    row["budgets"] = [
        {"budget": n, "answer": order, "evidence": [], "reason": None, "measured": None, "limit": None, "unit": None}
        for n, order in enumerate(orders, start=1)
    ]
    table = pa.Table.from_pylist([row], schema=CANDIDATES)
    (question,) = selected_questions(select(table, {TASK.name: TASK}, 6)).to_pylist()
    assert {option[3:] for option in question["options"]} == set(orders[:4])
    assert question["visible_in"] == [1, 2, 3, 4]
    refused = question["budgets"][4]
    assert (refused["reason"], refused["measured"], refused["limit"]) == ("answer_not_offered", 5.0, 4.0)
