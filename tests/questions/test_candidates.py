"""Properties of the world, on random scenes: what may and what must not change the questions."""

from collections import Counter
from itertools import combinations, permutations
from math import comb, perm
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.benchmarks.vsi.tasks.relations import LEVELS
from pipeline.core.identity import question_ids
from pipeline.core.parquet import table_bytes
from pipeline.core.schema import Rejection
from pipeline.core.tables import CANDIDATES
from pipeline.core.templates import load_template
from pipeline.questions.arrays import ANNOTATED, Answers, ArrayTask, CandidateSampler, sets, untried
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.rules import Fact, check, lists
from pipeline.questions.rules import verdicts as verdicts_of
from pipeline.questions.selection import select
from pipeline.questions.usual import nearness
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import (
    BOTH,
    DIRECTIONS,
    METADATA_TASKS,
    OFFICIAL_EXACT,
    cube,
    in_frames,
    make_scene,
    random_objects,
    rows_of,
    turned_box,
    watched,
    with_boxes,
    yaw_axes,
)
from tests.tables import candidates

STRICT = PROFILES["strict"]
few = settings(max_examples=12)  # whole scenes, some hundred candidates each
seeds = st.integers(0, 2**32 - 1)
SWAP = {"left": "right", "front-left": "front-right", "back-left": "back-right"}
SWAP |= {right: left for left, right in SWAP.items()}
# Reason -> where its measured value lies, seen from the limit.
BEYOND = {
    "too_few_instances": "<",
    "objects_too_close": "<",
    "objects_too_far_apart": ">",
    "nearest_too_close": "<",
    "distances_too_similar": "<=",
    "no_direction_on_the_floor": "<",
    "behind_the_observer": ">=",
    "near_sector_boundary": "<",
    "box_reaches_into_another_sector": ">",
    "hangs_from_the_ceiling": ">",
    "hangs_overhead": ">",
    "nowhere_to_stand": "<",
    "depends_on_where_one_stands": ">",
    "category_without_box": "<",
    "boxes_missing": "!=",
    "not_unique": "!=",
}
HOLDS = {
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "!=": lambda a, b: a != b,
}


def table_of(scene: IndoorScene, rules: Rules, tasks: tuple[str, ...] = METADATA_TASKS) -> pa.Table:
    return candidates(IndoorView(scene, rules), [TASKS[name] for name in tasks])


def random_scene(seed: int, categories: int = 7, repeated: int = 2, area: float | None = 20.0) -> IndoorScene:
    return make_scene(random_objects(seed, categories, repeated), area=area)


def moved(scene: IndoorScene, turn: np.ndarray, shift: np.ndarray) -> IndoorScene:
    """The scene turned (or mirrored) by a matrix (3, 3), then shifted."""
    turned = with_boxes(scene, lambda box: turned_box(box, turn))
    return with_boxes(turned, lambda box: {"center": tuple((np.array(box.center) + shift).tolist())})


def verdicts(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = (table[name].to_pylist() for name in ("id", "role", "operands", "answer", "reason", "limit", "unit"))
    return [(i, role, tuple(o), *rest) for i, role, o, *rest in zip(*columns, strict=True)]


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("task", METADATA_TASKS)
def test_turning_and_shifting_the_scene_changes_no_id_and_no_answer(task: str, rules: Rules) -> None:
    @few
    @given(seeds, st.floats(0.0, 360.0), st.tuples(*[st.floats(-20.0, 20.0)] * 3))
    def same(seed: int, turn_deg: float, shift: tuple[float, float, float]) -> None:
        scene = random_scene(seed)
        here, there = (
            table_of(s, rules, (task,)) for s in (scene, moved(scene, yaw_axes(turn_deg).T, np.array(shift)))
        )
        assert verdicts(here) == verdicts(there)
        measured = (np.array(t["measured"].to_numpy(zero_copy_only=False), dtype=float) for t in (here, there))
        np.testing.assert_allclose(*measured, rtol=0, atol=2e-6)

    same()


@pytest.mark.slow
@pytest.mark.parametrize("task", METADATA_TASKS)
def test_mirroring_the_scene_swaps_left_and_right_and_nothing_else(task: str) -> None:
    @few
    @given(seeds)
    def swapped(seed: int) -> None:
        scene = random_scene(seed)
        mirror = moved(scene, np.diag([-1.0, 1.0, 1.0]), np.zeros(3))
        here, there = (verdicts(table_of(s, STRICT, (task,))) for s in (scene, mirror))
        if task in DIRECTIONS:
            here = [(*row[:3], SWAP.get(row[3], row[3]), *row[4:]) for row in here]
        assert here == there

    swapped()


def test_mirroring_is_no_formality() -> None:
    """Random scenes do ask for every answer that there is."""
    for task in DIRECTIONS:
        answers = {a for seed in range(8) for a in table_of(random_scene(seed), STRICT, (task,))["answer"].to_pylist()}
        assert answers - {None} == set(LEVELS[task.rpartition("_")[2]].offered)


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_order_of_objects_and_counts_means_nothing(profile: str) -> None:
    @settings(few, max_examples=6)
    @given(seeds)
    def same(seed: int) -> None:
        rng = np.random.default_rng(seed)
        scene = random_scene(seed, categories=6)
        # Stated once, and two or three boxes: `official` asks about the first one.
        scene = scene.with_facts(counts=scene.facts.counts | {"thing a": 1})
        names = list(scene.facts.counts)
        again = scene.with_facts(
            objects=tuple(scene.facts.objects[i] for i in rng.permutation(len(scene.facts.objects))),
            counts={names[i]: scene.facts.counts[names[i]] for i in rng.permutation(len(names))},
        )
        here, there = (table_of(s, PROFILES[profile]) for s in (scene, again))
        assert here.equals(there)
        assert table_bytes(select(here, TASKS, 6)) == table_bytes(select(there, TASKS, 6))

    same()


@pytest.mark.slow
@given(seeds, st.sampled_from([STRICT, OFFICIAL_EXACT]), st.sampled_from([20.0, 60.0, None]))
@few
def test_every_row_has_an_answer_or_a_reason_measured_beyond_its_limit(
    seed: int, rules: Rules, area: float | None
) -> None:
    scene = random_scene(seed, area=area)
    scene = scene.with_facts(counts=scene.facts.counts | {"ghost": 1, "thing b": 1})
    for row in table_of(scene, rules).to_pylist():
        assert (row["answer"] is None) == (row["reason"] is not None)
        assert (row["evidence"] is None) == (row["answer"] is None)
        if row["reason"] is None:
            assert (row["role"], row["measured"], row["limit"], row["unit"]) == (None, None, None, None)
            for entry in row["evidence"]:
                if entry["limit"] is not None:
                    assert HOLDS[entry["relation"]](entry["value"], entry["limit"]) or entry["value"] == entry["limit"]
        elif row["reason"] == "room_not_measured":
            assert area is None
        else:
            # Numbers in tables have six decimals: what is within a millionth of its limit may be written as equal.
            beyond = HOLDS[BEYOND[row["reason"]]](row["measured"], row["limit"])
            assert beyond or abs(row["measured"] - row["limit"]) < 1e-6
            assert row["unit"]


@pytest.mark.slow
@given(seeds)
@few
def test_answers_follow_from_their_evidence(seed: int) -> None:
    for row in table_of(random_scene(seed), STRICT).to_pylist():
        if row["answer"] is None:
            continue
        facts = [(e["name"], e["subject"], e["value"]) for e in row["evidence"] if e["relation"] is None]
        name, _, value = facts[0]
        if row["task"] in DIRECTIONS:
            level = LEVELS[row["task"].rpartition("_")[2]]
            assert name == "bearing"
            assert row["answer"] == level.sectors[sum(value >= edge for edge in level.edges) - 1]
        elif row["task"] == "object_rel_distance":
            nearest = min(facts, key=lambda fact: fact[2])[1]
            assert nearest == f"{row['operands'][0]} - {row['answer']}"
        elif row["task"] == "object_size_estimation":
            assert float(row["answer"]) == pytest.approx(value * 100, abs=0.5 + 1e-3)
        else:
            assert float(row["answer"]) == pytest.approx(value, abs=0.05 + 1e-5)


@pytest.mark.slow
@BOTH
@given(st.integers(0, 7), st.integers(0, 3), seeds)
@few
def test_every_full_set_of_operands_is_there_once(rules: Rules, categories: int, repeated: int, seed: int) -> None:
    scene = random_scene(seed, categories, min(repeated, categories))
    names = sorted(scene.facts.counts)
    unique = [n for n in names if scene.facts.counts[n] == 1]
    expected = {
        "object_counting": [(n,) for n in names],
        "object_size_estimation": [(n,) for n in unique],
        "room_size_estimation": [()],
        "object_abs_distance": list(combinations(unique, 2)),
        "object_rel_distance": [(p, *c) for p in unique for c in combinations([n for n in names if n != p], 4)],
        **{task: list(permutations(unique, 3)) for task in DIRECTIONS},
    }
    counts = {"object_abs_distance": comb(len(unique), 2), "object_rel_direction_hard": perm(len(unique), 3)}
    found: dict[str, list[tuple[str, ...]]] = {task: [] for task in METADATA_TASKS}
    table = table_of(scene, rules)
    for task, role, operands in zip(*(table[c].to_pylist() for c in ("task", "role", "operands")), strict=True):
        if role is None:
            found[task].append(tuple(operands))
    assert {task: sorted(rows) for task, rows in found.items()} == {t: sorted(rows) for t, rows in expected.items()}
    assert {task: len(found[task]) for task in counts} == counts


@pytest.mark.slow
@given(seeds, st.sampled_from(list(PROFILES)))
@few
def test_ids_are_unique_and_come_from_the_operands_alone(seed: int, profile: str) -> None:
    scene = random_scene(seed, categories=6)
    rows = table_of(scene, PROFILES[profile]).to_pylist()
    assert max(Counter(r["id"] for r in rows).values()) == 1
    for row in rows:
        task = TASKS[row["task"]]
        operands = (row["role"], *row["operands"]) if row["role"] else tuple(row["operands"])
        assert question_ids(scene.id, task.name, f"vsi/{task.name}", [operands]) == [row["id"]]


@pytest.mark.slow
@given(seeds)
@few
def test_correcting_an_answer_keeps_every_id(seed: int) -> None:
    """Another room area, and one object grown by 10 cm."""
    scene = random_scene(seed)
    first = scene.facts.objects[0]
    grown = first.box.model_copy(update={"lengths": tuple(length + 0.1 for length in first.box.lengths)})
    corrected = scene.with_facts(
        objects=(first.model_copy(update={"box": grown}), *scene.facts.objects[1:]),
        room=scene.facts.room.model_copy(update={"area_m2": 33.3}),
    )
    before, after = (table_of(s, STRICT) for s in (scene, corrected))
    assert before["id"].equals(after["id"])
    assert not before["answer"].equals(after["answer"])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("objects", range(5))
def test_scenes_with_next_to_nothing(objects: int, profile: str) -> None:
    scene = make_scene([cube(f"thing {i}", i, i * i) for i in range(objects)], area=None)
    table = table_of(scene, PROFILES[profile])
    assert table.schema == CANDIDATES
    selected = select(table, TASKS, 6)
    assert selected.num_rows == table.num_rows


@pytest.mark.parametrize("profile", ["strict", "official"])
def test_one_object_under_two_names(profile: str) -> None:
    """A small thing annotated twice: both are too close to one another, and the rest of the scene is asked about."""
    where = ((1.1, 2.3, 0.7), (0.04, 0.03, 0.02), 33.0)
    scene = make_scene([("pencil", *where), ("marker", *where), cube("bed", 3, 3)])
    rows = {tuple(r["operands"]): r for r in table_of(scene, PROFILES[profile], ("object_abs_distance",)).to_pylist()}
    assert (rows["marker", "pencil"]["reason"], rows["marker", "pencil"]["measured"]) == (
        "objects_too_close",
        0.0,
    )
    assert rows["bed", "pencil"]["answer"] == rows["bed", "marker"]["answer"] is not None


def test_unseen_objects_and_missing_areas_are_reported_once_per_role() -> None:
    scene = make_scene([cube("a", 0, 0)], counts={"a": 1, "ghost": 1}, area=None)
    rows = table_of(scene, STRICT).to_pylist()
    reported = Counter((r["task"], r["role"], r["reason"]) for r in rows if "ghost" in r["operands"])
    assert set(reported.values()) == {1}
    roles = {(t, role) for t, role, reason in reported if reason == "category_without_box"}
    expected = {(t, role) for t in METADATA_TASKS if t != "object_counting" for role in TASKS[t].roles}
    assert roles == expected


SCOPE = ("scene", "task")


def names(n: int) -> np.ndarray:
    return np.array([f"thing {i:03d}" for i in range(n)], dtype=object)


@given(st.integers(0, 6), st.integers(0, 6), st.integers(1, 3), st.booleans())
def test_of_few_all_are_formed_in_order(firsts: int, others: int, size: int, ordered: bool) -> None:
    """Firsts need not be among the others."""
    found = CandidateSampler(SCOPE, names(6), np.arange(firsts), np.arange(6 - others, 6), size, ordered)
    select = permutations if ordered else combinations
    expected = [
        (first, *rest)
        for first in range(firsts)
        for rest in select([i for i in range(6 - others, 6) if i != first], size)
    ]
    assert [tuple(row) for row in found.tuples().tolist()] == expected
    assert found.total == found.formed == len(expected)
    assert untried(found.total, found.formed) is None


@pytest.mark.parametrize("ordered", [False, True])
def test_of_many_each_thing_has_its_share(ordered: bool) -> None:
    everything = np.arange(30)
    among = CandidateSampler(SCOPE, names(30), everything, everything, 2, ordered, most=600)
    found = among.tuples()
    assert len(found) == among.formed <= 600 < among.total == 30 * comb(29, 2) * (2 if ordered else 1)
    assert among.formed == (30 * perm(5, 2) if ordered else 30 * comb(6, 2)), "one other more each is too many"
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.bincount(found[:, 0]) == len(found) // 30).all()
    assert len(np.unique(found)) == 30
    rejection = untried(among.total, among.formed)
    assert (rejection.reason, rejection.measured, rejection.limit) == ("more_than_are_tried", among.total, len(found))


def test_as_many_tuples_as_may_be_formed_are_all_formed() -> None:
    """3 pairs beside the first thing, which is one of the others, and 6 beside the fifth; one a thing are never few."""
    among = CandidateSampler(SCOPE, names(5), np.array([0, 4]), np.arange(4), 2, most=9)
    assert (among.total, among.formed, len(among.tuples())) == (9, 9, 9)
    assert CandidateSampler(SCOPE, names(5), np.arange(5), np.arange(5), 2, most=3).formed == 5


def test_one_thing_more_displaces_few() -> None:
    """Of what each of forty is combined with, at most one other changes; nothing hangs on the order of the things."""
    before = CandidateSampler(SCOPE, names(40), np.arange(40), np.arange(40), 1, most=400)
    after = CandidateSampler(SCOPE, names(41), np.arange(41), np.arange(41), 1, most=410)
    for first in np.arange(40):
        kept = set(before.drawn(first, 10).tolist())
        assert len(kept - set(after.drawn(first, 10).tolist())) <= 1
    turned = CandidateSampler(SCOPE, names(40)[::-1], np.arange(40), np.arange(40), 1, most=400)
    assert {(39 - a, 39 - b) for a, b in turned.tuples().tolist()} == {(a, b) for a, b in before.tuples().tolist()}


def test_as_many_sets_as_may_be_formed_are_all_formed() -> None:
    assert len(sets(SCOPE, names(4), np.arange(4), 2, most=6)) == 6
    assert len(sets(SCOPE, names(4), np.arange(4), 2, most=5)) < 6


def test_what_names_nothing_has_no_frames_without_it() -> None:
    without, frames = TASKS["room_size_estimation"].twin_frames(SimpleNamespace(), ())
    assert (without, frames.tolist()) == ("", [])


def test_the_first_broken_check_of_a_batch_refuses() -> None:
    checks = [check("too_small", [1, 3, 1], ">=", 2, "m"), check("too_far", [1, 9, 9], "<=", 5, "m")]
    found = verdicts_of(checks, 3)
    assert found.broken.tolist() == [0, 1, 0]
    assert [found.rejection(n).reason for n in range(3)] == ["too_small", "too_far", "too_small"]
    holding = verdicts_of(checks[:1], 3)
    assert holding.broken.tolist() == [0, -1, 0]
    assert holding.rejection(1) is None


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("bed", "pillow", 3),
        ("the red Bed", "nightstand", 3),
        ("bed", "toilet", 0),
        ("comet", "bed", 0),
        ("", "bed", 0),
        ("desk", "monitor", 3),
        ("The red desk", "wide monitor", 3),
        ("washing machine", "ghost", 0),
        ("tram stop", "bench", 2),
    ],
)
def test_what_usually_stands_beside_what(one: str, other: str, near: int) -> None:
    """Twice for a group of neighbours, once for a kind of room; of a name that nobody knows its last word counts."""
    assert nearness(one, other) == nearness(other, one) == near


def test_sets_of_many_hold_each_thing() -> None:
    assert sets(SCOPE, names(5), np.arange(5), 4).tolist() == [list(row) for row in combinations(range(5), 4)]
    found = sets(SCOPE, names(60), np.arange(60), 4, most=2000)
    assert found.shape[1] == 4
    assert len(found) <= 2000 < comb(60, 4)
    assert len(np.unique(found, axis=0)) == len(found)
    assert (np.diff(found, axis=1) > 0).all()
    assert len(np.unique(found)) == 60


def test_each_candidate_has_a_row_for_each_number_of_frames() -> None:
    """The lamp is in none of 16 frames and in some of 32."""
    scene = watched(
        make_scene([cube("lamp", 0, 0), cube("sofa", 2, 0), cube("tv", 4, 1)]), {}, sampled={("lamp", 0): None}
    )
    objects, observation = [], scene.facts.observation
    for item in scene.facts.objects:
        budgets = {**item.visibility.budgets, 32: in_frames(50)}
        objects.append(item.model_copy(update={"visibility": item.visibility.model_copy(update={"budgets": budgets})}))
    more = {**observation.budgets, 32: observation.budgets[16].model_copy(update={"frames": 32})}
    observation = observation.model_copy(update={"budgets": more})
    rows = rows_of(scene.with_facts(objects=tuple(objects), observation=observation), "object_abs_distance")
    assert {tuple(row["operands"]): [(own["budget"], own["answer"]) for own in row["budgets"]] for row in rows} == {
        ("lamp", "sofa"): [(16, None), (32, "1.8")],
        ("lamp", "tv"): [(16, None), (32, "3.9")],
        ("sofa", "tv"): [(16, "2.0"), (32, "2.0")],
    }
    assert [row["visible_in"] for row in rows] == [[32], [32], [16, 32]]


class Toy(ArrayTask[Any]):
    """Five candidates of two operands, one of them of a single one: only the third and the last are asked."""

    name, reads, template = "toy", "", "vsi/questions/object_abs_distance"
    roles, slots = ("first", "second"), ("plain", "rare")
    flags: Any = np.array(["", "odd", "", "odd", "plain"], dtype=object)

    def operands(self, view: Any) -> Any:
        return np.array([[0, 1], [1, 3], [2, -1], [3, 2], [0, 3]])

    def untried(self, view: Any) -> Rejection:
        return untried(9, 5)  # type: ignore[return-value]

    def answer(self, view: Any, operands: Any) -> Answers:
        gap_m = np.array([1.0, 5.0, 3.0, 9.0, 2.0])
        subjects = np.array([f"gap {n}" for n in range(5)], dtype=object)
        return Answers(
            truth=np.array(["far", "0", "left", "back", "right"], dtype=object),
            checks=(check("too_near", gap_m, ">=", 2, "m"), check("too_far", gap_m, "<", [9, 9, 8, 9, 7], "m")),
            facts=(
                Fact("gap", subjects, gap_m + 0.00000049, "m"),
                Fact("turn", subjects, np.array([1, 2, np.inf, 4, -0.0000001]), "deg"),
            ),
            flags=self.flags,
            wrong=lists(np.array(list("abcdefg"), dtype=object), np.array([1, 2, 1, 0, 3])),
            share=np.array([0.1, 0.2, 0.3, 0.4, 0.5]),
        )

    def answer_in(self, view: Any, operands: Any, truth: Any, budget: int) -> Answers:
        """Of 8 frames another answer to the first that is asked, and none to the other; of 32 as of all."""
        assert operands.tolist() == [[2, -1], [0, 3]]
        if budget == 32:
            return Answers(truth, (), ())
        seen = check("not_shown", [20, 19], ">=", 20, "pixels")
        return Answers(np.array(["back", "left"], dtype=object), (seen,), ())


def toy_view(*, examined: bool = False, budgets: tuple[int, ...] = (8, 32)) -> Any:
    problem = Rejection(reason="not_unique", measured=2.0, limit=1.0, unit="objects")
    problems = {"plain": [None, problem, None, None], "rare": [None, None, None, problem]}
    return SimpleNamespace(
        names=np.array(["bed", "cup", "lamp", "tv"], dtype=object),
        scene=SimpleNamespace(id="made/one", name="one"),
        is_examined=examined,
        budgets=budgets,
        problems=problems.__getitem__,
        frames_without=[np.array([3, 4]), np.array([1]), np.array([0, 1]), np.array([0, 5, 9])].__getitem__,
    )


def test_all_that_becomes_of_candidates_by_hand() -> None:
    """First what is refused as a whole and by role, then a row for each candidate: what is asked has its evidence."""
    rows = Toy().candidates(toy_view()).to_pylist()
    template = load_template(Toy.template).identity
    told = [
        ("scene", "one"), ("first", "cup"), ("second", "tv"),
        ("bed", "cup"), ("cup", "tv"), ("lamp",), ("tv", "lamp"), ("bed", "tv"),
    ]  # fmt: skip
    assert [row["id"] for row in rows] == question_ids("made/one", "toy", template, told)
    assert {(row["scene"], row["task"], row["group"]) for row in rows} == {("made/one", "toy", None)}
    assert [(row["role"], row["operands"]) for row in rows] == [
        ("scene", ["one"]), ("first", ["cup"]), ("second", ["tv"]),
        (None, ["bed", "cup"]), (None, ["cup", "tv"]), (None, ["lamp"]), (None, ["tv", "lamp"]), (None, ["bed", "tv"]),
    ]  # fmt: skip
    assert [tuple(row[name] for name in ("reason", "measured", "limit", "unit")) for row in rows] == [
        ("more_than_are_tried", 9, 5, "candidates"), *[("not_unique", 2, 1, "objects")] * 2,
        ("too_near", 1, 2, "m"), ("answer_is_zero", 0, 0, None), (None,) * 4, ("too_far", 9, 9, "m"), (None,) * 4,
    ]  # fmt: skip
    *gone, left, _, right = rows
    assert [row["answer"] for row in rows[3:]] == [None, None, "left", None, "right"]
    assert [row["wrong"] for row in rows[3:]] == [None, None, ["d"], None, ["e", "f", "g"]]
    assert [row["share"] for row in rows[3:]] == [None, None, 0.3, None, 0.5]
    flags = [[ANNOTATED], ["odd", ANNOTATED], [ANNOTATED], ["odd", ANNOTATED], ["plain", ANNOTATED]]
    assert [row["flags"] for row in rows] == [None, None, None, *flags]
    assert [row["visible_in"] for row in rows] == [None] * 5 + [[8, 32], None, [32]]
    assert [evidence_of(row) for row in rows[3:]] == [None, None, [
        ("gap", "gap 2", 3.0, None, None, "m"),  # nothing is told of a turn without end
        ("too_near", "rule", 3.0, ">=", 2.0, "m"),
        ("too_far", "rule", 3.0, "<", 8.0, "m"),
    ], None, [
        ("gap", "gap 4", 2.0, None, None, "m"),
        ("turn", "gap 4", 0.0, None, None, "deg"),
        ("too_near", "rule", 2.0, ">=", 2.0, "m"),
        ("too_far", "rule", 2.0, "<", 7.0, "m"),
    ]]  # fmt: skip
    assert str(right["evidence"][1]["value"]) == "0.0", "no -0.0"
    assert {row["budgets"] for row in gone[:5]} == {None}
    of_all = {"budget": 32, "evidence": None, "reason": None, "measured": None, "limit": None, "unit": None}
    of_8 = {"budget": 8, "reason": None, "measured": None, "limit": None, "unit": None, "answer": "back"}
    seen = {"name": "not_shown", "subject": "rule", "value": 20, "relation": ">=", "limit": 20, "unit": "pixels"}
    refused = {"reason": "not_shown", "measured": 19, "limit": 20, "unit": "pixels", "answer": None, "evidence": None}
    assert left["budgets"] == [of_8 | {"evidence": [seen]}, of_all | {"answer": "left"}]
    assert right["budgets"] == [of_8 | refused, of_all | {"answer": "right"}]


def evidence_of(row: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    names = ("name", "subject", "value", "relation", "limit", "unit")
    return row["evidence"] and [tuple(entry[name] for name in names) for entry in row["evidence"]]


@pytest.mark.parametrize(
    ("flags", "examined", "found"),
    [
        (Toy.flags, True, [None, ["odd"], None, ["odd"], ["plain"]]),
        (None, True, [None] * 5),
        (None, False, [[ANNOTATED]] * 5),
    ],
)
def test_flags_are_of_a_candidate_and_of_its_scene(flags: Any, examined: bool, found: list[Any]) -> None:
    task = Toy()
    task.flags = flags
    rows = task.candidates(toy_view(examined=examined, budgets=())).to_pylist()[3:]
    assert [row["flags"] or None for row in rows] == found
    assert {(row["budgets"], row["visible_in"]) for row in rows} == {(None, None)}


def test_a_twin_lacks_what_is_out_of_the_picture_most() -> None:
    task, view = Toy(), toy_view()
    for hides, found in ((None, ("tv", [0, 5, 9])), (1, ("lamp", [0, 1])), (2, ("tv", [0, 5, 9]))):
        task.hides = hides
        without, frames = task.twin_frames(view, ("lamp", "tv", "cup"))
        assert (without, frames.tolist()) == found


class Repeating(CaseTask[Any]):
    """Says the same of two times."""

    name = "repeating"
    fields = staticmethod(lambda operands, options: {"what": operands[0]})


def test_of_cases_that_ask_the_same_one_is_drawn() -> None:
    cases = [Case("tree", draw=(str(n),)) for n in range(5)]
    for case, answer in zip(cases, "aabaa", strict=True):
        case.answer = answer
    cases[4].refuse("too_short", 1, 2, "s")
    Repeating().ask_once(SimpleNamespace(scene=SimpleNamespace(id="d/s")), cases)
    found = [case.refusal and (case.refusal.reason, case.refusal.measured, case.refusal.limit) for case in cases]
    assert found[2] is None
    assert found[4] == ("too_short", 1, 2)
    assert sorted(map(str, (found[0], found[1], found[3]))) == ["('asked_at_another_time', 3.0, 1.0)"] * 2 + ["None"]
