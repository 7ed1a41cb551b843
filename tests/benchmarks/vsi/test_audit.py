import json
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.benchmarks.vsi.audit import audit, coverage, operands_of
from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.errors import ConfigError
from pipeline.core.tables import selected_questions
from pipeline.questions.audited import STATUSES, Audited, audit_table
from pipeline.questions.published import Published
from pipeline.questions.selection import select
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import DIRECTIONS, METADATA_TASKS, cube, make_doubt, make_scene, random_objects
from tests.core.test_templates import PAPER, RELEASED
from tests.environment import times
from tests.tables import candidates, read_questions

OFFICIAL, STRICT = PROFILES["official"], PROFILES["strict"]


# The released files


@pytest.fixture(scope="module")
def official(real_scenes: list[IndoorScene], real_questions: list[Published]) -> list[Audited]:
    return audit(real_questions, real_scenes, OFFICIAL)


@pytest.fixture(scope="module")
def strict(real_scenes: list[IndoorScene], real_questions: list[Published]) -> list[Audited]:
    return audit(real_questions, real_scenes, STRICT)


def named_in(questions: list[Published], scenes: list[IndoorScene]) -> dict[int | str, bool]:
    """Whether every category that a question names is in its scene's metadata, by plain search in the text."""
    categories = {s.id: {*s.facts.counts, *(o.category for o in s.facts.objects)} for s in scenes}
    found = {}
    for question in questions:
        operands = operands_of(question)
        found[question.id] = set(operands) <= categories[f"{question.dataset}/{question.scene_name}"]
    return found


@pytest.mark.real_data
def test_official_gives_one_finding_per_question_in_order(
    official: list[Audited], real_questions: list[Published]
) -> None:
    assert len(official) == 2203
    assert [f.question for f in official] == real_questions
    assert {f.status for f in official} <= set(STATUSES)


@pytest.mark.real_data
@pytest.mark.parametrize("task", [t for t in METADATA_TASKS if t != "object_abs_distance"])
def test_official_reproduces_every_question_that_the_metadata_can_answer(
    task: str, official: list[Audited], real_scenes: list[IndoorScene]
) -> None:
    """Room, size, counting, relative distance, all three directions: all of them."""
    mine = [f for f in official if f.question.question_type == task]
    present = named_in([f.question for f in mine], real_scenes)
    assert {f.question.id for f in mine if f.status == "reproduced"} == {i for i, ok in present.items() if ok}
    assert (
        sum(present.values())
        == {
            "object_counting": 251,
            "object_size_estimation": 390,
            "room_size_estimation": 122,
            "object_rel_distance": 311,
            "object_rel_direction_easy": 88,
            "object_rel_direction_medium": 143,
            "object_rel_direction_hard": 173,
        }[task]
    )


@pytest.mark.real_data
def test_official_absolute_distance_has_one_miss(official: list[Audited]) -> None:
    mine = [f for f in official if f.question.question_type == "object_abs_distance" and f.status != "not_askable"]
    gaps = {f.question.id: abs(float(f.recomputed or "nan") - float(f.question.ground_truth)) for f in mine}
    assert len(gaps) == 348
    assert sum(gap < 0.1 + 1e-9 for gap in gaps.values()) >= 0.995 * len(gaps)
    assert sum(gap == 0 for gap in gaps.values()) >= 0.99 * len(gaps)
    (miss,) = (f for f in mine if f.status != "reproduced")
    assert (miss.question.id, miss.status) == (1754, "differs")
    assert (miss.question.ground_truth, miss.recomputed) == ("0.8", "0.7")
    assert (miss.rejection.reason, miss.rejection.measured, miss.rejection.unit) == ("value_differs", 0.1, "m")


@pytest.mark.real_data
def test_official_not_askable_are_the_missing_categories(
    official: list[Audited], real_scenes: list[IndoorScene]
) -> None:
    mine = [f for f in official if f.status == "not_askable"]
    assert len(mine) == 26
    assert {f.rejection.reason for f in mine if f.rejection} == {"category_missing"}
    assert not any(named_in([f.question for f in mine], real_scenes).values())
    assert {f.question.scene_name for f in mine} == {"3e8bba0176", "c50d2d1d42"}


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("profile", ["strict", "official"])
def test_what_needs_the_video_or_the_floor_is_unsupported(profile: str, request: pytest.FixtureRequest) -> None:
    mine = [f for f in request.getfixturevalue(profile) if f.status == "unsupported"]
    assert Counter(f.question.question_type for f in mine) == {"obj_appearance_order": 268, "route_planning": 83}


@pytest.mark.real_data
def test_official_finds_nothing_ambiguous(official: list[Audited]) -> None:
    """The released questions keep the rules of the released benchmark."""
    assert Counter(f.status for f in official) == {
        "reproduced": 1825,
        "differs": 1,
        "not_askable": 26,
        "unsupported": 351,
    }


@pytest.mark.real_data
def test_strict_flags_what_only_a_one_sided_margin_let_pass(strict: list[Audited]) -> None:
    mine = [f for f in strict if f.rejection and f.rejection.reason == "near_sector_boundary"]
    assert {f.question.id for f in mine} == {3647, 3663, 3670}
    assert {f.question.question_type for f in mine} == {"object_rel_direction_hard"}
    assert {f.status for f in mine} == {"ambiguous"}
    for f in mine:
        assert f.rejection.measured < 10.0
        assert (f.rejection.limit, f.rejection.unit) == (10.0, "deg")
        assert f.recomputed == f.question.ground_truth  # ambiguous, and yet the released answer


@pytest.mark.real_data
def test_strict_flags_wrong_counts_and_doubled_boxes(strict: list[Audited], real_scenes: list[IndoorScene]) -> None:
    """By the metadata alone: the question names a category whose count differs or whose box is given twice."""
    doubts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for scene in real_scenes:
        for doubt in scene.findings:
            if doubt.severity == "doubt":
                doubts[scene.id, doubt.subject].add(doubt.name)
    named: dict[int | str, set[str]] = {}
    for f in strict:
        if f.question.question_type in METADATA_TASKS:
            reasons = set().union(*(doubts[f.scene, name] for name in operands_of(f.question) or ()))
            if reasons:
                named[f.question.id] = reasons
    flagged = {
        f.question.id: f.rejection.reason
        for f in strict
        if f.rejection and f.rejection.reason in ("count_differs_from_boxes", "doubled_box")
    }
    assert flagged.keys() == named.keys()
    assert all(reason in named[number] for number, reason in flagged.items())
    assert {f.status for f in strict if f.question.id in flagged} == {"ambiguous"}
    counting = {f.question.id for f in strict if f.question.question_type == "object_counting"} & flagged.keys()
    assert counting == {4498, 4508, 4509, 4557}
    assert Counter(flagged.values()) == {"count_differs_from_boxes": 3, "doubled_box": 32}


@pytest.mark.real_data
def test_strict_keeps_the_released_answers_of_what_it_asks(strict: list[Audited]) -> None:
    """But for absolute distance, where the released values are those of grid points."""
    differs = [f for f in strict if f.status == "differs"]
    assert {f.question.question_type for f in differs} == {"object_abs_distance"}


@pytest.mark.long
@pytest.mark.real_data
def test_candidates_contain_every_answerable_question(
    real_scenes: list[IndoorScene], real_questions: list[Published]
) -> None:
    counts, misses = coverage(real_questions, real_scenes, OFFICIAL)
    assert all(c.published == c.contained + c.not_in_metadata for c in counts.values())
    assert {t for t in counts if counts[t].contained} == set(METADATA_TASKS)
    answerable = [m for m in misses if m.question.question_type in METADATA_TASKS]
    assert [m.question.id for m in answerable if m.kind == "contradicted"] == [1754]
    lacking = [m for m in answerable if m.kind == "lacking"]
    assert len(lacking) == 26
    assert {m.rejection.reason for m in lacking} == {"category_missing"}
    assert sum(counts[t].published for t in METADATA_TASKS) == 1852
    assert sum(counts[t].contained for t in METADATA_TASKS) == 1826


# Made-up questions about a made-up room: a stove at the origin, the sofa 2 m in front, the tv to its left.


def room(**more: Any) -> IndoorScene:
    things = [
        cube("stove", 0, 0),
        cube("sofa", 0, 2),
        cube("tv", -1.2, 1.2),
        cube("bed", 3.5, 0),
        cube("washer", 0, -1),
    ]
    return make_scene([*things, cube("table", 4, 4), cube("table", 4, 2)], area=26.4, **more)


def published(task: str, ground_truth: str, options: tuple[str, ...] | None = None, **more: Any) -> Published:
    base = Published(1, "made", "room1", task, RELEASED[task][0] if task in RELEASED else "", options, ground_truth)
    return replace(base, **more)


def finding(question: Published, *scenes: IndoorScene, profile: str = "strict") -> Audited:
    (found,) = audit([question], scenes or [room()], PROFILES[profile])
    return found


def reason(found: Audited) -> tuple[str, str | None]:
    return found.status, found.rejection.reason if found.rejection else None


EASY = published("object_rel_direction_easy", "A", ("A. left", "B. right"))
COUNT = published("object_counting", "2")
SIZE = published("object_size_estimation", "20")
DISTANCE = published("object_abs_distance", "1.8")
START = "Measuring from the closest point of each object, "
FEW = "which of these objects ({}) is the closest to the washer?"
NEAREST = published(
    "object_rel_distance",
    "B",
    ("A. sofa", "B. tv", "C. bed", "D. table"),
    question=START + FEW.format("sofa, tv, bed, table"),
)


@pytest.mark.parametrize("profile", ["strict", "official"])
@pytest.mark.parametrize(
    ("question", "recomputed"),
    [
        (EASY, "A"),
        (replace(EASY, options=("A. right", "B. left"), ground_truth="B"), "B"),
        (replace(EASY, options=("left", "right")), "A"),
        (replace(EASY, options=("A. left ", "B.right")), "A"),
        (replace(EASY, options=("A) left", "B: right"), ground_truth=" A "), "A"),
        (published("object_rel_direction_medium", "C", ("A. back", "B. right", "C. left")), "C"),
        (
            published(
                "object_rel_direction_hard", "D", ("A. back-left", "B. back-right", "C. front-right", "D. front-left")
            ),
            "D",
        ),
        (COUNT, "2"),
        (replace(COUNT, ground_truth="2.0"), "2"),
        (replace(SIZE, question=SIZE.question.replace("stove", "sofa")), "20"),
        (published("room_size_estimation", "26.4"), "26.4"),
        (published("room_size_estimation", "26.40"), "26.4"),
        (NEAREST, "B"),
    ],
)
def test_reproduced(question: Published, recomputed: str, profile: str) -> None:
    found = finding(question, profile=profile)
    assert (found.status, found.recomputed, found.rejection) == ("reproduced", recomputed, None)
    assert found.scene == "made/room1"


@pytest.mark.parametrize("task", PAPER)
def test_paper_wording_is_answered_too(task: str) -> None:
    options = ("A. front-left", "B. front-right", "C. back-left", "D. back-right") if task in DIRECTIONS else None
    question = published(task, "A" if options else "1.8", options, question=PAPER[task][0])
    assert finding(question).status == "reproduced"


@pytest.mark.parametrize(
    ("question", "recomputed", "expected"),
    [
        (replace(EASY, ground_truth="B"), "A", "answer_differs"),
        (replace(COUNT, ground_truth="3"), "2", "value_differs"),
        (replace(DISTANCE, ground_truth="1.7"), "1.8", "value_differs"),
        (published("room_size_estimation", "26.5"), "26.4", "value_differs"),
        (replace(EASY, options=("A. right", "B. back")), "left", "answer_not_among_options"),
        (replace(NEAREST, options=("A. sofa", "B. lamp", "C. bed", "D. table")), "tv", "answer_not_among_options"),
    ],
)
def test_differs(question: Published, recomputed: str, expected: str) -> None:
    found = finding(question)
    assert reason(found) == ("differs", expected)
    assert found.recomputed == recomputed


def test_a_different_number_carries_the_difference() -> None:
    found = finding(replace(DISTANCE, ground_truth="2.1"))
    assert (found.rejection.measured, found.rejection.limit, found.rejection.unit) == (0.3, 0.0, "m")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        # letters and options
        (replace(EASY, ground_truth="C"), "options_not_recognised"),
        (replace(EASY, ground_truth="left"), "options_not_recognised"),
        (replace(EASY, ground_truth="a"), "options_not_recognised"),
        (replace(EASY, ground_truth=""), "options_not_recognised"),
        (replace(EASY, options=None), "options_not_recognised"),
        (replace(EASY, options=()), "options_not_recognised"),
        # numbers
        (replace(COUNT, ground_truth="two"), "ground_truth_not_a_number"),
        (replace(COUNT, ground_truth="about 2"), "ground_truth_not_a_number"),
        (replace(COUNT, ground_truth="2 tables"), "ground_truth_not_a_number"),
        (replace(COUNT, ground_truth="nan"), "ground_truth_not_a_number"),
        (replace(COUNT, ground_truth="inf"), "ground_truth_not_a_number"),
        (replace(COUNT, ground_truth=""), "ground_truth_not_a_number"),
        (replace(DISTANCE, ground_truth="1,8"), "ground_truth_not_a_number"),
        # wordings
        (replace(COUNT, question="Count the tables."), "wording_not_recognised"),
        (replace(COUNT, question=""), "wording_not_recognised"),
        (replace(COUNT, question=DISTANCE.question), "wording_not_recognised"),
        (replace(COUNT, question_type="object_color"), "question_type_not_supported"),
        (replace(COUNT, question_type=""), "question_type_not_supported"),
    ],
)
def test_malformed_questions_are_unsupported(question: Published, expected: str, profile: str) -> None:
    assert reason(finding(question, profile=profile)) == ("unsupported", expected)


def test_a_malformed_question_about_a_missing_scene_is_unsupported_too() -> None:
    question = replace(COUNT, question="Count the tables.", scene_name="nowhere")
    assert reason(finding(question)) == ("unsupported", "wording_not_recognised")


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (replace(COUNT, scene_name="nowhere"), "scene_missing"),
        (replace(COUNT, dataset="other"), "scene_missing"),
        (replace(COUNT, question="How many lamp(s) are in this room?"), "category_missing"),
        (replace(COUNT, question="How many Table(s) are in this room?"), "category_missing"),
        (replace(COUNT, question="How many bed(s) are in this room?"), "too_few_instances"),
        (
            replace(SIZE, question=SIZE.question.replace("stove", "table")),
            "not_unique",
        ),
        (replace(DISTANCE, question=DISTANCE.question.replace("stove", "sofa")), "repeated_operand"),
        (replace(EASY, question=EASY.question.replace("tv", "stove")), "repeated_operand"),
        (replace(EASY, question=EASY.question.replace("stove", "sofa")), "repeated_operand"),
        (replace(NEAREST, question=START + FEW.format("sofa, tv, bed, sofa")), "repeated_operand"),
        (replace(NEAREST, question=START + FEW.format("sofa, tv, bed, washer")), "repeated_operand"),
        (replace(NEAREST, question=START + FEW.format("sofa, tv, bed, lamp")), "category_missing"),
        (
            replace(NEAREST, question=START + FEW.format("sofa, tv, bed, stove").replace("washer", "table")),
            "not_unique",
        ),
    ],
)
def test_not_askable(question: Published, expected: str, profile: str) -> None:
    assert reason(finding(question, profile=profile)) == ("not_askable", expected)


def test_a_room_without_area_is_not_askable() -> None:
    scene = room().with_facts(room=room().facts.room.model_copy(update={"area_m2": None}))
    assert reason(finding(published("room_size_estimation", "0.0"), scene)) == ("not_askable", "room_not_measured")


def test_a_category_without_a_box_is_not_askable() -> None:
    scene = make_scene([cube("sofa", 0, 0)], counts={"sofa": 1, "stove": 1})
    assert reason(finding(DISTANCE, scene)) == ("not_askable", "category_without_box")


@pytest.mark.parametrize("choices", ["bed", "bed, tv", "bed, tv, sofa", "bed, tv, sofa, table, stove"])
def test_relative_distance_may_have_any_number_of_choices(choices: str) -> None:
    """The washer is 0.8 m from the stove and 2.1 m from the tv."""
    names = choices.split(", ")
    nearest = "stove" if "stove" in names else "tv" if "tv" in names else "bed"
    options = tuple(f"{letter}. {name}" for letter, name in zip("ABCDE", names, strict=False))
    question = replace(
        NEAREST,
        question=START + FEW.format(choices),
        options=options,
        ground_truth="ABCDE"[names.index(nearest)],
    )
    assert finding(question).status == "reproduced"


ROUTE = (
    "You are a robot beginning at the {} facing the {}. You want to navigate to the {}. You will perform the following "
    "actions (Note: for each [please fill in], choose either 'turn back,' 'turn left,' or 'turn right.'): {}. You have "
    "reached the final destination."
)


@pytest.mark.parametrize(
    ("start", "facing", "destination", "steps", "repeated"),
    [
        ("stove", "sofa", "sofa", "1. Go forward until the sofa", False),
        ("stove", "sofa", "bed", "1. Go forward until the sofa 2. [please fill in] 3. Go forward until the bed", False),
        ("stove", "sofa", "bed", "1. [please fill in] 2. Go forward until the bed", False),
        (
            "stove",
            "sofa",
            "bed",
            "1. Go forward until the sofa 2. [please fill in] 3. Go forward until the tv 4. [please fill in] "
            "5. Go forward until the washer 6. [please fill in] 7. Go forward until the bed",
            False,
        ),
        ("stove", "stove", "bed", "1. [please fill in] 2. Go forward until the bed", True),
        ("stove", "sofa", "stove", "1. [please fill in] 2. Go forward until the stove", True),
        (
            "stove",
            "sofa",
            "tv",
            "1. [please fill in] 2. Go forward until the tv 3. [please fill in] 4. Go forward until the tv",
            True,
        ),
    ],
)
def test_a_route_may_pass_what_it_faces_and_nothing_else_twice(
    start: str, facing: str, destination: str, steps: str, repeated: bool
) -> None:
    scene = room()
    floor = (((-5.0, -5.0), (6.0, -5.0), (6.0, 6.0), (-5.0, 6.0), (-5.0, -5.0)),)
    scene = scene.with_facts(room=scene.facts.room.model_copy(update={"floor": floor}))
    question = published(
        "route_planning", "A", ("A. Turn Left",), question=ROUTE.format(start, facing, destination, steps)
    )
    found = finding(question, scene)
    assert (reason(found) == ("not_askable", "repeated_operand")) == repeated
    assert reason(found) != ("unsupported", "wording_not_recognised")


def test_ambiguous_carries_margin_limit_and_the_answer_all_the_same() -> None:
    near = make_scene([cube("stove", 0, 0), cube("sofa", 0, 2), cube("tv", -0.3, 3, side=0.1)])
    found = finding(EASY, near)
    assert reason(found) == ("ambiguous", "near_sector_boundary")
    assert found.rejection.measured == pytest.approx(5.710593)  # atan(0.3 / 3)
    assert (found.rejection.limit, found.rejection.unit) == (10.0, "deg")
    assert found.recomputed == "A"


def test_doubts_are_ambiguous_in_strict_and_answered_in_official() -> None:
    scene = room(findings=[make_doubt("count_differs_from_boxes", "table", 2, 3, "objects")])
    assert reason(finding(COUNT, scene)) == ("ambiguous", "count_differs_from_boxes")
    assert finding(COUNT, scene, profile="official").status == "reproduced"


def test_without_a_dataset_the_name_of_the_scene_must_say_which() -> None:
    question = replace(COUNT, dataset=None)
    twin = room().model_copy(update={"id": "other/room1", "dataset": "other"})
    assert finding(question, room()).status == "reproduced"
    assert finding(question, room()).scene == "made/room1"
    assert reason(finding(question, room(), twin)) == ("not_askable", "scene_missing")
    assert coverage([question], [room()], STRICT)[0]["object_counting"].contained == 1


def test_the_order_of_two_objects_in_the_text_means_nothing() -> None:
    swapped = RELEASED["object_abs_distance"][0].replace("the sofa and the stove", "the stove and the sofa")
    question = replace(DISTANCE, question=swapped)
    assert operands_of(question) == operands_of(DISTANCE) == ("sofa", "stove")
    assert finding(question).status == "reproduced"
    assert coverage([question], [room()], STRICT)[0]["object_abs_distance"].contained == 1


def test_findings_keep_the_order_of_the_questions() -> None:
    other = make_scene([cube("table", 0, 0), cube("table", 1, 0), cube("table", 2, 0)], name="room2")
    questions = [COUNT, EASY, replace(COUNT, scene_name="room2", ground_truth="3"), DISTANCE, replace(COUNT, id=9)]
    found = audit(questions, [other, room()], STRICT)
    assert [f.question for f in found] == questions
    assert {f.status for f in found} == {"reproduced"}


@pytest.mark.slow
def test_own_questions_are_reproduced() -> None:
    """What is generated is also audited: every question of random scenes, by both profiles."""
    for seed in range(times(3, 6)):
        scene = make_scene(random_objects(seed, categories=12, repeated=2), name=f"room{seed}")
        for rules in PROFILES.values():
            table = candidates(IndoorView(scene, rules), [TASKS[t] for t in METADATA_TASKS])
            asked = selected_questions(select(table, TASKS, 6)).to_pylist()
            assert len({q["task"] for q in asked}) >= 6
            questions = [
                Published(
                    q["id"],
                    "made",
                    scene.name,
                    q["task"],
                    q["text"],
                    tuple(q["options"]) if q["options"] else None,
                    q["ground_truth"],
                )
                for q in asked
            ]
            assert {f.status for f in audit(questions, [scene], rules)} == {"reproduced"}
            counts, misses = coverage(questions, [scene], rules)
            assert misses == []
            assert sum(c.contained for c in counts.values()) == len(questions)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (replace(COUNT, scene_name="nowhere"), "scene_missing"),
        (replace(COUNT, question="How many lamp(s) are in this room?"), "category_missing"),
        (replace(COUNT, question="How many bed(s) are in this room?"), "too_few_instances"),
        (replace(DISTANCE, question=DISTANCE.question.replace("stove", "sofa")), "repeated_operand"),
        (replace(NEAREST, question=START + FEW.format("sofa, tv, bed")), "not_enumerated"),
    ],
)
def test_coverage_says_why_a_question_is_lacking(question: Published, expected: str) -> None:
    counts, (miss,) = coverage([question], [room()], STRICT)
    assert (miss.kind, miss.rejection.reason) == ("lacking", expected)
    count = counts[question.question_type]
    assert (count.published, count.contained) == (1, 0)
    assert count.not_in_metadata == (expected in ("scene_missing", "category_missing"))


def test_coverage_counts_a_contradiction_as_contained() -> None:
    counts, (miss,) = coverage([replace(COUNT, ground_truth="3")], [room()], STRICT)
    assert (miss.kind, miss.rejection.reason) == ("contradicted", "the candidate's answer is 2")
    assert counts["object_counting"].contained == 1


def test_coverage_leaves_out_what_it_cannot_read() -> None:
    counts, misses = coverage([replace(COUNT, question="Count the tables.")], [room()], STRICT)
    assert (dict(counts), misses) == ({}, [])


# Files and tables

ROW = {
    "id": 7,
    "dataset": "made",
    "scene_name": "room1",
    "question_type": "object_rel_direction_easy",
    "question": "Where?",
    "options": ["A. left", "B. right"],
    "ground_truth": "A",
}


def written(folder: Path, rows: list[Any], suffix: str) -> Path:
    path = folder / f"questions{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        path.write_text("".join(json.dumps(r) + "\n\n" for r in rows))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_three_kinds_of_files_read_the_same(suffix: str, tmp_path: Path) -> None:
    rows = [ROW, ROW | {"id": 8, "options": None, "dataset": None}]
    first, second = read_questions(written(tmp_path, rows, suffix))
    assert first == Published(7, "made", "room1", "object_rel_direction_easy", "Where?", ("A. left", "B. right"), "A")
    assert second == replace(first, id=8, options=None, dataset=None)


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"options": []}, "options", None),
        ({"id": "q-7"}, "id", "q-7"),
        ({"ground_truth": 4}, "ground_truth", "4"),
        ({"ground_truth": 2.5}, "ground_truth", "2.5"),
        ({"scene_name": 41069025}, "scene_name", "41069025"),
        ({"more": 1}, "id", 7),
    ],
)
def test_values_as_they_come(change: dict[str, Any], field: str, value: object, tmp_path: Path) -> None:
    (question,) = read_questions(written(tmp_path, [ROW | change], ".jsonl"))
    assert getattr(question, field) == value


@pytest.mark.parametrize("missing", ["id", "scene_name", "question_type", "question", "ground_truth"])
def test_a_row_without_a_required_field_is_named(missing: str, tmp_path: Path) -> None:
    without = {k: v for k, v in ROW.items() if k != missing}
    for row in (without, ROW | {missing: None}):
        with pytest.raises(ConfigError, match=rf"questions\.jsonl: question 2 has no {missing}"):
            read_questions(written(tmp_path, [ROW, row], ".jsonl"))


@pytest.mark.parametrize("options", ["A. left B. right", 4, {"A": "left"}])
def test_options_that_are_no_list_are_named(options: object, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"questions\.jsonl: question 2 .*options"):
        read_questions(written(tmp_path, [ROW, ROW | {"options": options}], ".jsonl"))


@pytest.mark.parametrize("content", ["5", '"text"', "null", '{"questions": []}', "[1]", "[null]"])
def test_json_that_is_no_list_of_questions_is_refused(content: str, tmp_path: Path) -> None:
    path = tmp_path / "questions.json"
    path.write_text(content)
    with pytest.raises(ConfigError, match=r"questions\.json"):
        read_questions(path)


@pytest.mark.parametrize(
    ("name", "content"), [("q.jsonl", b"{"), ("q.json", b"[{]"), ("q.parquet", b"no"), ("q.jsonl", b"\xff\xfe")]
)
def test_a_file_that_cannot_be_read_is_named(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=name):
        read_questions(tmp_path / name)
    with pytest.raises(ConfigError, match=r"missing\.jsonl"):
        read_questions(tmp_path / "missing.jsonl")


def test_table_has_a_row_per_finding() -> None:
    table = audit_table(audit([EASY, replace(COUNT, id=2, ground_truth="3")], [room()], STRICT))
    assert table.to_pylist() == [
        {
            "id": 1,
            "question_type": "object_rel_direction_easy",
            "scene": "made/room1",
            "status": "reproduced",
            "published": "A",
            "recomputed": "A",
            "reason": None,
            "measured": None,
            "limit": None,
            "unit": None,
        },
        {
            "id": 2,
            "question_type": "object_counting",
            "scene": "made/room1",
            "status": "differs",
            "published": "3",
            "recomputed": "2",
            "reason": "value_differs",
            "measured": 1.0,
            "limit": 0.0,
            "unit": "objects",
        },
    ]


def test_table_of_nothing_and_of_mixed_ids() -> None:
    assert audit_table([]).num_rows == 0
    mixed = audit_table(audit([EASY, replace(EASY, id="q-2")], [room()], STRICT))
    assert mixed["id"].to_pylist() == ["1", "q-2"]
