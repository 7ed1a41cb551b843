"""Questions about drives, answered again by an oracle of their own; their wording, their rules."""

import re
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.embodied4c.case import WORDINGS, ExamCase, ToldFacts, is_larger, make_even
from pipeline.benchmarks.embodied4c.drive.temporal import turned_lately
from pipeline.benchmarks.embodied4c.rules import DRIVING, ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, ExamTask
from pipeline.core.findings import doubt
from pipeline.core.tables import CANDIDATES, selected_questions
from pipeline.questions.choices import numeric_choices
from pipeline.questions.gate import MOST
from pipeline.questions.selection import select
from pipeline.questions.task import Number
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.write import write_drives
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from tests.benchmarks.embodied4c import logs
from tests.benchmarks.embodied4c.planted import limits_of, limits_stated
from tests.options import option_faults
from tests.oracles.exam_answers import Log
from tests.oracles.exam_check import answered_again, asked_of, open_exam
from tests.tables import digest_of_rows


def candidates(root: Path, **rules: Any) -> dict[str, list[dict[str, Any]]]:
    """Folder of a log -> all rows of all tasks."""
    reader, found = Argoverse2(), {}
    for ref in reader.scenes(root).scenes:
        view = open_exam(reader.read(SceneFiles(root, ref)), ExamRules(**rules))
        tables = [task.candidates(view) for task in EXAM_TASKS.values()]
        found[ref.files[0]] = pa.concat_tables(tables).to_pylist()
    return found


@pytest.fixture(scope="module")
def drives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample drives."""
    folder = tmp_path_factory.mktemp("drives")
    write_drives(folder)
    return folder / "argoverse2"


@pytest.fixture(scope="module")
def rows(drives: Path) -> dict[str, list[dict[str, Any]]]:
    return candidates(drives)


def test_candidates_are_held_against_the_limits_of_the_table(rows: dict[str, list[dict[str, Any]]]) -> None:
    assert limits_of(row for found in rows.values() for row in found) == limits_stated("road")


def test_the_oracle_would_notice(drives: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Answers that are off by one unit of their last decimal, or that another question has, are found wrong."""
    folder, found = next(iter(rows.items()))
    asked = [row for row in found if row["reason"] is None and row["task"] in ("DT", "LC", "CT", "R/D")]
    spoilt = [
        row | {"answer": row["wrong"][0] if row["wrong"] else f"{float(row['answer']) * 1.02 + 0.2:.1f}"}
        for row in asked
    ]
    n, wrong = answered_again(spoilt, Log(drives / folder).answer)
    assert n == len(wrong) > 100


def test_options_are_possible(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Of a drive, a flight and an arm: also those that guessers are offered of numbers."""
    found = [pa.Table.from_pylist(next(iter(rows.values())), schema=CANDIDATES)]
    for scene in (logs.flight(0), logs.episodes(range(1))[0]):
        found.append(pa.Table.from_pylist(asked_of(scene), schema=CANDIDATES))
    for table in found:
        asked = selected_questions(select(table, EXAM_TASKS, 24)).to_pylist()
        assert len(asked) > 20
        assert not option_faults(asked)


def test_questions_are_worded_whole_and_stand_within_their_log(rows: dict[str, list[dict[str, Any]]]) -> None:
    asked = [row for found in rows.values() for row in found if row["reason"] is None]
    for row in asked:
        assert re.fullmatch(r"[A-Z].*[.?]", row["wording"]), row["wording"]
        assert not re.search(r"[{}]|  | ,|nan", row["wording"]), row["wording"]
        assert row["answer"] not in row["wrong"]
    wanted = {name for name, task in EXAM_TASKS.items() if isinstance(task, ExamTask) and DRIVING in task.asks}
    assert {row["task"] for row in asked} >= wanted - {"S/M degrees", "M/P stated", "E/E stated"}, (
        "on few of the roads one turns long, and of none anything is stated"
    )
    moments = {row["until_s"] for row in asked if row["until_s"] is not None}
    assert min(moments) >= 2.0
    numeric = [row for row in asked if row["task"] in ("DT", "CS", "M/T")]
    for row in numeric:
        (value,) = [fact["value"] for fact in row["evidence"] if fact["name"] == "answer"]
        assert f"{value:.1f}" == row["answer"]
        assert "one decimal" in row["wording"]
    kinds = Counter(row["operands"][0] for row in asked if row["task"] != "GEN")
    assert len(kinds) >= 27


def test_numbers_name_their_reference_points(rows: dict[str, list[dict[str, Any]]]) -> None:
    for row in (row for found in rows.values() for row in found if row["reason"] is None):
        if row["task"] in ("DT", "CT"):
            assert "nearest surface" in row["wording"], row["wording"]


def of_kind(cases: list[ExamCase]) -> Counter[str]:
    """Answers that are left of cases of one kind."""
    make_even(cases, "log", measured=False)
    return Counter(case.answer or "" for case in cases if case.refusal is None)


def word(answer: str, n: int, *traits: str, kind: str = "st_motion") -> ExamCase:
    one = ExamCase(kind, str(n), answer)
    one.traits = traits
    one.answer = answer
    return one


def test_no_answer_leads_by_more_than_one() -> None:
    cases = [word(answer, n) for answer, times in (("a", 58), ("b", 10), ("c", 1)) for n in range(times)]
    left = of_kind(cases)
    assert left["c"] == 1
    assert sorted(left.values())[1:] in ([10, 10], [10, 11])
    assert {case.refusal.reason for case in cases if case.refusal} == {"answer_too_frequent"}


def test_a_usual_answer_says_how_often_it_may_be_given() -> None:
    """Of two others there are four each: one that is usual may be given half as often, as "share" is below one."""
    cases = [word(answer, n) for answer, times in (("a", 4), ("b", 4), ("standing still", 10)) for n in range(times)]
    assert of_kind(cases) == {"a": 4, "b": 4, "standing still": 2}
    told = {(r.reason, r.measured, r.limit, r.unit) for case in cases if (r := case.refusal)}
    assert told == {("answer_too_frequent", 3, 2, "candidates")}


def test_what_is_beside_others_is_right_as_often_as_it_is_offered() -> None:
    """A van is offered in ten questions and right in all of them; cars are never held against it."""
    cases = [word(answer, n, kind="cl_side") for answer in ("bus", "car", "van", "truck") for n in range(10)]
    for case in cases:
        case.wrong = (
            ["car"] if case.answer == "van" else [kind for kind in ("bus", "car", "truck") if kind != case.answer]
        )
    left = of_kind(cases)
    assert left == {"bus": 10, "car": 10, "truck": 10}
    asked = [case for case in cases if case.refusal is None]
    assert Counter(option for case in asked for option in case.wrong) == left
    assert {len(case.wrong) for case in asked} == {1}
    told = {(r.reason, r.measured, r.limit) for case in cases if (r := case.refusal)}
    assert told == {("answer_never_varies", 1, 2)}


def test_a_question_is_held_against_one_about_alike() -> None:
    """What stands beside cars against what stands beside cars: whoever knows what they stand beside learns nothing."""
    beside = {"car": ("bus", "van"), "pedestrian": ("cyclist", "tram")}
    cases = [word(answer, n, kind, kind="tp_next") for kind, own in beside.items() for answer in own for n in range(6)]
    for case in cases:
        case.wrong = [kind for own in beside.values() for kind in own if kind != case.answer]
    assert set(of_kind(cases).values()) == {6}
    assert {frozenset((case.answer, *case.wrong)) for case in cases} == {*map(frozenset, beside.values())}


def test_what_never_varies_is_not_asked() -> None:
    assert not of_kind([word("off the roadway", n) for n in range(20)])
    cases = [word("off the roadway", n, "pedestrian") for n in range(20)]
    cases += [word(("off the roadway", "on the roadway")[n % 2], 20 + n, "car") for n in range(20)]
    left = of_kind(cases)
    assert left["off the roadway"] in (left["on the roadway"], left["on the roadway"] + 1)
    assert not [case for case in cases if case.refusal is None and case.traits == ("pedestrian",)]


def test_neither_answers_beside_a_trait_nor_traits_under_a_count_lead() -> None:
    """More are within a larger radius: asked as they come, the radius would tell the number."""
    rng = np.random.default_rng(0)
    cases = []
    for n in range(400):
        radius = int(rng.integers(1, 6))
        cases.append(word(str(1 + rng.binomial(radius, 0.7)), n, f"{10 * radius}", kind="arm_ct"))
    of_kind(cases)
    left = [case for case in cases if case.refusal is None]
    assert len(left) > 25
    for trait in {case.traits for case in left}:
        counts = Counter(case.answer for case in left if case.traits == trait)
        assert len(counts) >= 2
        assert max(counts.values()) - sorted(counts.values())[-2] <= 1


def test_a_count_is_drawn_among_those_that_are_had_where_the_words_are_the_same() -> None:
    """Of cars 2 to 5 are within 10 m: who knows that is right as often as who always says 4. No time is asked twice."""
    at = {("bus", "30"): "123567", ("van", "30"): "134", ("cone", "9"): "998754"}
    at |= {("car", "10"): "2345", ("car", "20"): "2345"}
    drawn = Counter[str]()
    for log in range(200):
        cases = [word(count, n, *words, kind="ct_near") for words, own in at.items() for n, count in enumerate(own)]
        make_even(cases, str(log), measured=False)
        asked = {case.traits[0]: case for case in cases if not case.refusal}
        assert len(asked) == sum(not case.refusal for case in cases)
        assert {*asked} == {"car", "cone"}
        assert sorted([asked["cone"].guessed, *asked["cone"].wrong]) == ["4", "5", "7", "8"]
        drawn.update([asked["car"].guessed])
        told = {(*case.traits, r.reason, r.measured, r.limit) for case in cases if (r := case.refusal)}
        assert {one for one in told if one[0] != "car"} == {
            ("bus", "30", "answer_never_varies", 0, 4),
            ("van", "30", "answer_never_varies", 3, 4),
            ("cone", "9", "asked_at_another_time", 6, 1),
        }
    assert {*drawn} == {*"2345"}
    assert all(abs(n - 50) < 20 for n in drawn.values())


def compared(sizes: list[tuple[str, int]]) -> set[tuple[str, ...]]:
    """Which of all pairs that differ in size are asked about."""
    cases = []
    for (one, small), (other, large) in combinations(sizes, 2):
        if small != large:
            case = word("", 0, kind="arm_rs")
            case.operands = ("arm_rs", "0", one, other)
            case.compared = (one, other) if small > large else (other, one)
            case.answer = case.compared[0]
            cases.append(case)
    of_kind(cases)
    return {case.operands[2:] for case in cases if case.refusal is None}


def test_what_is_compared_more_often_is_no_smaller() -> None:
    """Whatever is larger is once more right than wrong at most, and the same is asked where all sizes are reversed."""
    rng = np.random.default_rng(3)
    for _ in range(50):
        sizes = [(name, int(rng.integers(4))) for name in "abcdef"]
        asked, size = compared(sizes), dict(sizes)
        assert asked == compared([(name, -size) for name, size in sizes])
        for name, own in size.items():
            pairs = [pair for pair in asked if name in pair]
            right = sum(own == max(size[one], size[other]) for one, other in pairs)
            assert abs(2 * right - len(pairs)) <= 1


def test_an_answer_leads_in_no_part_of_a_log() -> None:
    """Ten things are left of the gripper at first, two at last; others are right of it, or ahead."""
    cases = [word("left", n, f"part {0 if n < 10 else 2}", kind="arm_lc") for n in range(12)]
    cases += [word(side, 12 + n, f"part {n % 3}", kind="arm_lc") for n in range(9) for side in ("right", "ahead")]
    of_kind(cases)
    left = [case.traits[0] for case in cases if case.refusal is None and case.answer == "left"]
    assert sorted(left) in (["part 0"] * 3 + ["part 2"] * 2, ["part 0"] * 2 + ["part 2"] * 2)


def test_what_follows_from_one_fact_is_counted_once() -> None:
    """Five moments of one state and one of another: two questions, of which `select` has none to take away."""
    cases = [word("left", n, kind="arm_lc") for n in range(5)] + [word("right", 5, kind="arm_lc")]
    for case in cases:
        case.facts = (case.answer or "",)
    assert of_kind(cases) == {"left": 1, "right": 1}
    assert {case.refusal.reason for case in cases if case.refusal} == {"same_fact"}


def test_the_speed_of_a_thing_under_two_names_is_one_fact() -> None:
    """The nearest car is the nearest vehicle, too: who reads of one knows the other. Another thing is another fact."""
    told = ToldFacts()

    def fact(name: str, whose: str, m_s: float, second: float = 4.0) -> str:
        case = ExamCase("mt_speed", f"{second:g}", name)
        case.base, case.whose = m_s, whose
        return told.of(case)[0]

    first = fact("nearest car", "7", 9.0)
    assert fact("nearest vehicle", "7", 9.0) == first
    assert fact("nearest vehicle", "8", 9.0) != first
    assert fact("nearest car", "7", 14.0, second=9.0) != first, "it is faster by more than a third"


def test_measured_numbers_are_spread_over_magnitudes() -> None:
    rng = np.random.default_rng(1)
    cases = []
    for n, value in enumerate([*rng.normal(180, 2, 300).tolist(), *np.exp(rng.uniform(2, 4.8, 60)).tolist()]):
        one = ExamCase("or_heading", str(n), f"{value:.0f}")
        one.answer = f"{value:.0f}"
        cases.append(one)
    make_even(cases, "log", measured=True)
    left = [float(case.answer or 0) for case in cases if case.refusal is None]
    assert len(left) >= 60
    assert np.mean([150 < value < 200 for value in left]) <= 0.3


def test_drawn_by_what_a_case_is_whatever_the_order() -> None:
    rng = np.random.default_rng(2)
    made = [word(str(rng.integers(3)), n, str(rng.integers(4))) for n in range(100)]
    again = [word(one.answer or "", int(one.operands[1]), *one.traits) for one in made]
    of_kind(made)
    of_kind(again[::-1])
    assert [one.refusal is None for one in made] == [one.refusal is None for one in again]


def test_words_of_the_released_kinds_are_even(rows: dict[str, list[dict[str, Any]]]) -> None:
    checked = 0
    for found in rows.values():
        for name, task in EXAM_TASKS.items():
            if isinstance(task.form, Number) or name == "GEN":
                continue
            kinds: dict[str, Counter[str]] = {}
            for row in found:
                if row["task"] == name and row["reason"] is None:
                    kinds.setdefault(row["operands"][0], Counter())[row["answer"]] += 1
            for kind, counts in kinds.items():
                if kind in {"rs_size", "rd_rank"}:
                    continue  # their answers name what they are about
                checked += 1
                ranked = counts.most_common()
                assert len(ranked) > 1, (kind, counts)
                # Those that stood alone beside a trait were left out of what was even before.
                assert ranked[0][1] <= 2 * ranked[1][1] + 1, (kind, counts)
    assert checked > 15


def test_a_side_has_the_longer_vehicle_as_often_as_not(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Right as often as others, a side that is seldom offered would be right whenever it is."""
    asked = 0
    for found in rows.values():
        ahead = Counter[str]()
        for row in found:
            if row["operands"][0] == "rs_size" and row["reason"] is None:
                right, wrong = (name.split(" ", 3)[3] for name in (row["answer"], *row["wrong"]))
                ahead.update({right: 1})
                ahead.subtract({wrong: 1})
                asked += 1
        assert all(abs(lead) <= 1 for lead in ahead.values())
    assert asked


@pytest.mark.slow
def test_doubts_about_a_log_take_what_rests_on_it(drives: Path) -> None:
    reader = Argoverse2()
    ref = reader.scenes(drives).scenes[0]
    scene = reader.read(SceneFiles(drives, ref))

    def refused(*doubts: str) -> dict[str, set[str]]:
        findings = [doubt(name, "log", "", "", 3, 0, "sweeps") for name in doubts]
        view = open_exam(
            scene.model_copy(update={"findings": tuple(findings)}), ExamRules(far_per_log=0, even_answers=False)
        )
        table = pa.concat_tables([task.candidates(view) for task in EXAM_TASKS.values()]).to_pylist()
        found: dict[str, set[str]] = {}
        for row in table:
            found.setdefault("asked" if row["reason"] is None else row["reason"], set()).add(row["operands"][0])
        return found

    way = {"lm_driven", "lm_seen", "sm_driven"}
    things = {"dt_near", "ct_near", "rd_rank", "cl_side", "mt_speed", "lm_seen"}
    clock = {"mt_own_speed", "mt_speed", "cs_stopping", "md_state", "st_motion", "sm_driven"}
    assert way | things | clock <= refused()["asked"]
    gaps = refused("no_ego_pose")
    assert way <= gaps["no_ego_pose"]
    assert not way & gaps["asked"]
    assert things - way <= gaps["asked"]
    lines = refused("bad_line")
    assert things <= lines["bad_line"]
    assert not things & lines["asked"]
    assert "mt_own_speed" in lines["asked"]
    back = refused("times_run_backwards")
    assert clock <= back["times_run_backwards"]
    assert not clock & back["asked"]
    assert {"dt_near", "ct_near"} <= back["asked"]
    both = refused("times_run_backwards", "bad_line")
    assert not (clock | things) & both["asked"]
    unknown = refused("something_new")
    assert not (way | things | clock) & unknown["asked"]


def test_nobody_in_doubt_is_taken_for_absent(drives: Path) -> None:
    """A car that cannot be trusted could be the nearest one, or one more of those that are counted."""
    reader = Argoverse2()
    scene = reader.read(SceneFiles(drives, reader.scenes(drives).scenes[0]))
    car = next(actor.id for actor in scene.facts.actors if actor.category == "car")
    found = doubt("track_jumps", car, "", "", 3, 2, "m")

    def asked(findings: tuple[Any, ...]) -> dict[str, set[tuple[str, ...]]]:
        view = open_exam(scene.model_copy(update={"findings": findings}), ExamRules(far_per_log=0, even_answers=False))
        kept: dict[str, set[tuple[str, ...]]] = {}
        for task in EXAM_TASKS.values():
            for row in task.candidates(view).to_pylist():
                if row["reason"] is None:
                    kept.setdefault(row["operands"][0], set()).add(tuple(row["operands"]))
        return kept

    before, after = asked(()), asked((found,))
    track = next(actor.track for actor in scene.facts.actors if actor.id == car)
    times_s = scene.facts.times_s[track.first : track.stop]

    def then(operands: tuple[str, ...]) -> bool:
        return bool(times_s[0] - 0.01 <= float(operands[1]) <= times_s[-1] + 0.01)

    for kind in ("dt_near", "ct_near", "cl_side", "lm_seen"):
        about = {operands for operands in before[kind] if kind == "cl_side" or operands[2].partition("@")[0] == "car"}
        assert any(map(then, about)), kind
        assert not [operands for operands in about & after.get(kind, set()) if then(operands)], kind
    walkers = {operands for operands in before["dt_near"] if operands[2].startswith("pedestrian")}
    assert walkers <= after["dt_near"]


def test_every_kind_needs_something_of_the_log_or_a_pose_alone() -> None:
    kinds = {part.rpartition("/")[2] for task in EXAM_TASKS.values() for part in task.parts}
    of_drives = {kind for kind in kinds if not kind.startswith(("air_", "arm_"))}
    stated = {"mp_surface", "ee_wet", "ee_wind"}
    assert {kind for kind in of_drives if not WORDINGS[kind].facts} == {"cl_lane", "at_marking"} | stated


@pytest.mark.parametrize(
    ("speed", "told"),
    [(2.0, None), (1.9, ("too_slow", 1.9, 2.0)), (np.inf, None), (np.nan, ("not_measured", 0.0, 1.0))],
)
def test_a_number_that_a_log_does_not_tell_breaks_no_limit(speed: float, told: tuple[str, float, float] | None) -> None:
    one = ExamCase("arm_mt", "0")
    one.fact("beside", "x", np.nan, "cm/s")
    one.require("too_slow", speed, ">=", 2.0, "cm/s")
    assert (one.refusal and (one.refusal.reason, one.refusal.measured, one.refusal.limit)) == told


@pytest.mark.parametrize(
    ("sizes_m", "first", "ratio"),
    [((0.5, 0.8), False, 1.6), ((0.8, 0.5), True, 1.6), ((0.0, 0.5), False, None), ((2.0, 2.0), False, None)],
)
def test_the_larger_of_two(sizes_m: tuple[float, float], first: bool, ratio: float | None) -> None:
    one = ExamCase("arm_rs", "0")
    assert is_larger(one, "length", ("the cup", "the bowl"), sizes_m, 1.25, "cm", 100.0) is first
    assert [fact["value"] for fact in one.evidence if fact["name"] == "length"] == [100 * size for size in sizes_m]
    held = [fact["value"] for fact in one.evidence if fact["name"] == "sizes_alike"]
    assert held == ([] if ratio is None else [pytest.approx(ratio)])
    assert (one.refusal is None) is (ratio is not None)


# Of a drive, a flight and an arm's episode: task -> how many are asked of how many, and a digest of all that is told.
# The others are those of which nothing is asked and one thing is told: why.
IN_FULL = {
    "drive": {
        "CL": "8 of 71: 2579844f5cf1",
        "AT": "29 of 40: f62274befa97",
        "ST": "68 of 427: df3ae72d40ca",
        "LC": "31 of 80: 1072ba644ff7",
        "DT": "127 of 439: 87e72c4ca61b",
        "OR": "4 of 198: 7d470363c59a",
        "OR words": "46 of 198: 8d6e3ae78335",
        "TP": "44 of 229: b67d12f84483",
        "CT": "10 of 159: 2f20dc03fb5d",
        "R/S": "7 of 116: 8c6fd0f4aa80",
        "R/P": "15 of 210: 1033a5f6d173",
        "R/D": "83 of 350: 1385f99ddb70",
        "M/T": "68 of 208: be0e97949398",
        "S/M": "7 of 7: 6837f9fd5570",
        "S/M degrees": "0 of 7: 8b0fbb38221c",
        "L/M": "4 of 10: 4a5649161a71",
        "L/M count": "1 of 246: 324c69d7d7d5",
        "MD": "0 of 10: 2ace15ca208c",
        "MD acceleration": "2 of 20: b8c863d21741",
        "CS": "7 of 10: 5fde6575993f",
        "CS seconds": "26 of 55: 22b26a56c96c",
        "GEN": "12 of 12: 80530602a225",
        "others": "0 of 18: 9443aa3cd452",
    },
    "flight": {
        "AT whole": "5 of 144: e0c3b2fa33cd",
        "ST": "5 of 36: ef7ee3b0bce6",
        "LC": "18 of 144: 97a75e2fe627",
        "DT": "74 of 180: bb896d97f873",
        "OR": "4 of 18: 15f0280fee29",
        "OR words": "11 of 18: 5c4860f24678",
        "TP": "0 of 144: 6677b1592c63",
        "CT": "19 of 126: e57ffe1ceb00",
        "R/S": "3 of 504: ac8ad0dd8eaf",
        "R/P": "17 of 1008: 14eb8201902d",
        "R/D": "4 of 1008: 7b83d5786259",
        "M/T": "4 of 18: 2af0357bccb5",
        "S/M": "7 of 18: ca066bdbb49f",
        "S/M words": "7 of 18: 4e239bc07b0e",
        "L/M whole": "8 of 18: 23cd5b814e68",
        "L/M words": "4 of 30: 5ff991638265",
        "MD": "6 of 18: e9905bdac6f6",
        "CS seconds": "61 of 432: 8faea1a718b3",
        "GEN": "12 of 12: db1215dc96ea",
        "others": "0 of 21: 646f9668d5e6",
    },
    "arm": {
        "CL": "4 of 12: d6820e4235eb",
        "AT words": "4 of 18: 9f5e73c963d1",
        "ST": "0 of 12: e191312755d7",
        "LC": "12 of 72: d1df86593f08",
        "OR": "82 of 237: 4174bdc7884b",
        "TP": "1 of 12: f459270741d0",
        "CT": "15 of 144: 0fa857221ac6",
        "R/S": "1 of 8: 7cdb125f1df3",
        "R/P": "7 of 180: 52a7217d5674",
        "R/D": "81 of 240: c896a7c28fad",
        "S/M words": "11 of 45: e09901d01fb1",
        "DT cm": "4 of 72: 18bf3f9f685f",
        "M/T cm": "3 of 12: 5001a470e584",
        "S/M cm": "9 of 12: 56fd6a1ea3f6",
        "L/M cm": "9 of 24: a4423bcfb442",
        "MD degrees": "40 of 90: a500de479d7a",
        "MD rate": "3 of 24: 78e0ac60c6ed",
        "CS cm": "5 of 72: 1702fef1aced",
        "GEN": "12 of 12: 26d93ca1cdec",
        "others": "0 of 21: 1c90cbb16cce",
    },
}


def in_full(world: str) -> dict[str, str]:
    made = {"drive": lambda: logs.drive(24), "flight": lambda: logs.flight(2), "arm": lambda: logs.episodes([3])[0]}
    view = open_exam(made[world](), ExamRules())
    told = {name: task.candidates(view).to_pylist() for name, task in EXAM_TASKS.items()}
    alone = [name for name, rows in told.items() if len(rows) == 1 and rows[0]["reason"]]
    told["others"] = [row for name in alone for row in told.pop(name)]
    asked = {name: sum(row["reason"] is None for row in rows) for name, rows in told.items()}
    return {name: f"{asked[name]} of {len(rows)}: {digest_of_rows(rows)}" for name, rows in told.items()}


@pytest.mark.parametrize("world", IN_FULL)
def test_all_that_is_asked_of_a_log(world: str) -> None:
    """A change of any answer, option, proof or refusal is seen; to read it, print the lines before and after."""
    found = in_full(world)
    assert {name: told for name, told in found.items() if not told.startswith("0 of 0")} == IN_FULL[world]


def test_lengths_of_vehicles_are_chosen_among_such_as_vehicles_have() -> None:
    """A person who takes the choice nearest to a car's length is right in a few more than one in four."""
    form, right, lengths = EXAM_TASKS["AT"].form, [], ("4.0", "4.5", "5.0", "5.5", "6.0", "8.0", "12.0")
    assert isinstance(form, Number)
    for question, answer in product(range(300), lengths):
        choices = numeric_choices(question, answer, form, 0.5, usual=form.quantiles_of(("at_size",)))
        assert float(choices[0]) >= 1.5
        assert float(choices[-1]) <= 20
        right.append(min(choices, key=lambda choice: abs(float(choice) - 4.6)) == answer)
    assert np.mean(right) < 0.33


def test_turns_of_a_car_and_what_came_near_it_by_a_plain_search() -> None:
    """It turns by 12 degrees a second to the left, across south: 60 in five; half a turn is the most to choose from."""
    view: Any = open_exam(logs.drive(3), ExamRules(even_answers=False))
    for most_m in (6.0, float(np.nanmin(view.away_m(40)))):
        firsts = np.maximum(view.moments - 30, 3)
        found = view.nearest_since_m(firsts, most_m)
        gaps = np.stack([view.away_m(n) for n in range(int(view.moments[-1]) + 1)], axis=1)
        near = np.where(gaps <= most_m, gaps, np.inf)
        spans = zip(firsts.tolist(), view.moments.tolist(), strict=True)
        plain = np.stack([near[:, first : n + 1].min(1) for first, n in spans], axis=1)
        assert found == pytest.approx(plain)
        assert np.isfinite(found).any()
    view.__dict__["ego_yaw_deg"] = (170.0 + 12.0 * view.times_s + 180) % 360 - 180
    turned = list(turned_lately(view))
    assert len(turned) > 3
    form = EXAM_TASKS["S/M degrees"].form
    assert isinstance(form, Number)
    assert form.decimals == 0
    for case in turned:
        told = {fact["name"]: fact["value"] for fact in case.evidence}
        assert (case.answer, told["answer"], told[MOST]) == ("60", pytest.approx(60.0), 180.0)
        assert case.operands == ("sm_turned", case.operands[1], "5")
        assert "to the left" in (case.wording or "")
