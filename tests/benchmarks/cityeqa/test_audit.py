import cmath
import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from pipeline.benchmarks.cityeqa.audit import UNSUPPORTED, examine
from pipeline.benchmarks.cityeqa.raw import answer_type
from pipeline.benchmarks.cityeqa.released import CATEGORIES, TABLE_4, read_released
from pipeline.benchmarks.cityeqa.wording import HopText, parse
from pipeline.core.errors import ConfigError
from pipeline.core.tables import ReleaseListing
from pipeline.questions.audited import ExaminationInputs, Examined
from tests.benchmarks.cityeqa.cities import task, written
from tests.conftest import REAL_DATA

UNEXAMINED = "answer_not_examined"
RELEASED = REAL_DATA / "cityeqa" / "CityEQA_EC_200.json"


def listing(examined: Examined, title: str) -> ReleaseListing:
    return next(found for found in examined.listings if found.title.startswith(title))


def column(found: ReleaseListing, head: str) -> dict[str, str]:
    return {row[0]: row[list(found.heads).index(head)] for row in found.rows}


# The released file


@pytest.fixture(scope="module")
def released() -> Examined:
    return examine(RELEASED, ExaminationInputs())


@pytest.mark.real_data
def test_every_released_start_looks_where_hop_1_leads(released: Examined) -> None:
    """Held against the text by plain search, not by the code's own grammar."""
    yaws = {"north": 0, "east": 90, "south": 180, "west": 270}
    rows = json.loads(RELEASED.read_text())
    told = [next(yaw for name, yaw in yaws.items() if f"building to the {name} of you" in r["question"]) for r in rows]
    assert told == [r["initial_pose"][5] for r in rows]
    assert column(listing(released, "Audit"), "holds")["hop 1 is where the start looks"] == "200 of 200"
    assert set(released.table["hop_1_off_deg"].to_pylist()) == {0.0}
    assert not released.left_out


@pytest.mark.real_data
def test_released_starts_lie_within_200_m(released: Examined) -> None:
    rows = json.loads(RELEASED.read_text())
    far = [abs(complex(*r["initial_pose"][:2]) - complex(*r["target_pose"][:2])) for r in rows]
    assert released.table["start_to_target_m"].to_pylist() == pytest.approx(far)
    assert max(far) <= 146  # cityeqa.md


@pytest.mark.real_data
def test_released_answer_types_fit_into_table_4(released: Examined) -> None:
    found = listing(released, "Answer types")
    for name, *cells, n in found.rows:
        counts = [int(cell or 0) for cell in cells]
        assert sum(counts) == int(n)
        assert all(ours <= theirs for ours, theirs in zip(counts, TABLE_4[name], strict=True)), name
    assert [int(cell) for cell in found.totals[1:]] == [72, 29, 60, 39, 200]


@pytest.mark.real_data
def test_groups_and_priors_of_the_released_file(released: Examined) -> None:
    rows = json.loads(RELEASED.read_text())
    groups = column(listing(released, "Groups"), "groups")
    assert int(groups["targets"]) == len({str(r["target_pose"][:3]) for r in rows})
    raw = {str([r["target_pose"], r["observation_pose"], r["answer"]]) for r in rows}
    assert int(groups["raw tasks: target, observation, answer"]) == len(raw)
    usual = column(listing(released, "Priors"), "always so")
    for category in CATEGORIES:
        answers = Counter(r["answer"].lower() for r in rows if r["category"] == category)
        assert usual[category].split()[0] == str(answers.most_common(1)[0][1])
    leaking = column(listing(released, "Priors"), "and leaking")
    assert leaking["Counting"] == "29 (100%)", "a random split gives every answer away"


@pytest.mark.real_data
def test_what_their_city_would_show_is_unsupported_by_name(released: Examined) -> None:
    assert column(listing(released, "Not checked"), "n") == dict.fromkeys(UNSUPPORTED, "200")


@pytest.mark.real_data
def test_contradictions_of_the_released_file_held_against_its_rows(released: Examined) -> None:
    """By complex numbers, from the rows alone: what looks away, and what lies to the other side than told."""
    rows = json.loads(RELEASED.read_text())
    poses = {r["question_id"]: [complex(*r[f"{name}_pose"][:2]) for name in ("observation", "target")] for r in rows}
    yaws = {r["question_id"]: r["observation_pose"][5] for r in rows}
    away = {
        n for n, (eye, thing) in poses.items()
        if abs(math.degrees(cmath.phase((thing - eye) / (1j * cmath.exp(-1j * math.radians(yaws[n])))))) > 45
    }  # fmt: skip
    reasons: dict[str, set[int]] = defaultdict(set)
    for row in released.table.to_pylist():
        reasons[row["reason"]].add(int(row["id"]))
    assert reasons["target_out_of_view"] == away == {5, 63, 86, 94, 102, 118}
    shop, mirrored = complex(-4208, 6402), {r["question_id"] for r in rows if "left of the shop named" in r["question"]}
    assert reasons["side_mirrored"] == mirrored == {12, 62, 134, 156, 196}
    for n in mirrored:
        eye, thing = poses[n]
        assert ((thing - eye) / (shop - eye)).imag < 0, "clockwise of the shop: to its right"
    assert set(reasons) == {"target_out_of_view", "side_mirrored", UNEXAMINED, None}
    statuses = Counter(released.table["status"].to_pylist())
    assert statuses == {"reproduced": 46, "unsupported": 143, "differs": 11}


# By hand


SHOP = {"target_pose": [0, 0, 5, 0, 0, 0], "observation_pose": [0, 20, 5, 0, 0, 180]}
FRONT = "in front of the shop named PATENA?"


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (("Is there any car parked " + FRONT, "no"), ("How many cars are parked " + FRONT, "one"), "counts_contradict"),
        (("Is there any car parked " + FRONT, "no"), ("How many red jeeps are " + FRONT, "2"), "counts_contradict"),
        (("Is there any car parked " + FRONT, "yes"), ("How many cars are parked " + FRONT, "0"), "counts_contradict"),
        (("How many cars are " + FRONT, "2"), ("How many white cars are " + FRONT, "3"), "counts_contradict"),
        (("Is there any car parked " + FRONT, "no"), ("What color is the car " + FRONT, "red"), "counts_contradict"),
        (("How many cars are " + FRONT, "3"), ("What color is the car " + FRONT, "red"), "one_of_several"),
        (("Is there any red car " + FRONT, "no"), ("How many cars are parked " + FRONT, "one"), None),
        (("Is there any car " + FRONT, "no"), ("How many trucks are " + FRONT, "one"), None),
        (("How many cars are " + FRONT, "3"), ("How many white cars are " + FRONT, "3"), None),
        (("What is the name of the shop with a yellow signboard?", "PATENA"),
         ("What is the color of the signboard of the shop named PATENA?", "orange"), "signs_contradict"),
        (("What is the name of the shop with a yellow signboard?", "PATENA"),
         ("Can I buy bread in the shop with an orange signboard?", "yes"), "signs_contradict"),
        (("What is the name of the shop with a yellow signboard?", "PATENA"),
         ("Is the shop named BOOKS open?", "no"), "names_contradict"),
        (("What color is the SUV?", "red"), ("Is the white SUV a sedan or a truck?", "sedan"), "colours_contradict"),
        (("What color is the signboard of the shop to the left of PATENA?", "orange"),
         ("What color is the signboard of the shop to the left of PATENA?", "green"), "answers_contradict"),
    ],
)  # fmt: skip
def test_what_two_rows_say_of_one_thing(
    one: tuple[str, str], other: tuple[str, str], reason: str | None, tmp_path: Path
) -> None:
    starts = [[0, 100, 9, 0, 0, 180], [5, 100, 9, 0, 0, 180]]
    for said in ((one, other), (other, one)):
        rows = [
            task(n, asked=asked, answer=answer, initial_pose=starts[n], **SHOP)
            for n, (asked, answer) in enumerate(said)
        ]
        found = examined(tmp_path, *rows)
        assert found.table["reason"].to_pylist() == [reason or UNEXAMINED] * 2
        assert found.table["other_rows"].to_pylist() == (["1", "0"] if reason else [None, None])
        if reason:
            assert len(listing(found, "Contradictions").rows) == 1


def test_neighbours_of_one_thing_and_of_another_of_the_name(tmp_path: Path) -> None:
    """Two answers 10 m apart, and 100 m apart, where another shop of the name may be."""
    asked = "What color is the shop to the left of the shop named PATENA?"
    for away, reason in ((10, "neighbours_contradict"), (100, UNEXAMINED)):
        poses = {"target_pose": [away, 0, 5, 0, 0, 0], "observation_pose": [away, 20, 5, 0, 0, 180]}
        poses |= {"initial_pose": [1, 100, 9, 0, 0, 180]}
        rows = [task(1, asked=asked, answer="orange", **SHOP), task(2, asked=asked, answer="green", **poses)]
        assert examined(tmp_path, *rows).table["reason"].to_pylist() == [reason, reason]
    asked = "What's the name of the shop to the {} of the shop named {}?"
    poses |= {"target_pose": [10, 0, 5, 0, 0, 0], "observation_pose": [10, 20, 5, 0, 0, 180]}
    for side, reason in (("left", "neighbours_contradict"), ("right", None)):
        rows = [task(1, asked=asked.format("left", "A"), answer="B", **SHOP)]
        rows += [task(2, asked=asked.format(side, "B"), answer="A", **poses)]
        assert examined(tmp_path, *rows).table["reason"].to_pylist() == [reason, reason]


@pytest.mark.parametrize(
    ("side", "x", "status"),
    [("left", 10, "reproduced"), ("right", 10, "differs"), ("left", -10, "differs"), ("right", -10, "reproduced"),
     ("left", 1, "unsupported")],
)  # fmt: skip
def test_sides_as_the_observation_sees_them(side: str, x: float, status: str, tmp_path: Path) -> None:
    """From 20 m north of A, looking south, what lies east of it is to its left. Of the last nobody can tell."""
    beside = SHOP | {"target_pose": [x, 0, 5, 0, 0, 0]}
    rows = [
        task(1, asked=f"What's the name of the shop to the {side} of the shop named A?", answer="B", **beside),
        task(2, asked="Is the shop named A open?", answer="yes", **SHOP),
        task(3, asked="Is the shop named B open?", answer="yes", **beside),
    ]
    found = examined(tmp_path, *rows).table
    assert found["status"].to_pylist() == [status, "unsupported", "unsupported"]
    apart = [row | {"city": city} for row, city in zip(rows, "xyz", strict=True)]
    assert set(examined(tmp_path, *apart).table["status"].to_pylist()) == {"unsupported"}


@pytest.mark.parametrize(
    ("yaw", "reason"), [(135, UNEXAMINED), (136, "target_out_of_view"), (44, "target_out_of_view")]
)
def test_observations_that_look_past_their_target(yaw: float, reason: str, tmp_path: Path) -> None:
    found = examined(tmp_path, task(observation_pose=[10, 40, 9, 0, 0, yaw]))
    assert found.table["reason"].to_pylist() == [reason]
    across = task(
        asked="What is the shop across the street from the bank called?", observation_pose=[10, 40, 9, 0, 0, yaw]
    )
    assert examined(tmp_path, across).table["reason"].to_pylist() == [UNEXAMINED], "it looks away from the bank"
    at_it = task(observation_pose=[30, 40.5, 9, 0, 0, 0])
    assert examined(tmp_path, at_it).table["reason"].to_pylist() == [UNEXAMINED]


def examined(tmp_path: Path, *rows: Any, split: str | None = None) -> Examined:
    return examine(written(tmp_path / "tasks.json", *rows), ExaminationInputs(split=split))


@pytest.mark.parametrize(
    ("yaw", "reason"),
    [
        (224, UNEXAMINED),
        (136, UNEXAMINED),
        (225, "start_looks_elsewhere"),
        (-170, UNEXAMINED),
        (0, "start_looks_elsewhere"),
        (360, "start_looks_elsewhere"),
    ],
)
def test_the_sector_of_hop_1(yaw: float, reason: str | None, tmp_path: Path) -> None:
    found = examined(tmp_path, task(initial_pose=[0, 100, 9, 0, 0, yaw]))
    assert found.table["reason"].to_pylist() == [reason]


@pytest.mark.parametrize(("x", "reason"), [(230, UNEXAMINED), (230.1, "start_too_far")])
def test_the_distance_of_the_start(x: float, reason: str | None, tmp_path: Path) -> None:
    found = examined(tmp_path, task(initial_pose=[x, 40, 60, 0, 0, 180]))
    assert found.table["reason"].to_pylist() == [reason]


def test_same_question_and_start_with_another_answer(tmp_path: Path) -> None:
    rows = [task(1), task(2, answer="9"), task(3, initial_pose=[1, 100, 9, 0, 0, 180], answer="9")]
    assert examined(tmp_path, *rows).table["reason"].to_pylist() == ["answers_contradict"] * 3
    rows = [task(1, answer="8"), task(2, answer="Eight.")]
    assert examined(tmp_path, *rows).table["findings"].to_pylist() == [f"asked_twice, {UNEXAMINED}"] * 2


def test_wording_of_another_form_is_unsupported(tmp_path: Path) -> None:
    found = examined(tmp_path, task(question="Where\nam I?"), task(2))
    assert found.table["reason"].to_pylist() == ["wording_not_recognised", UNEXAMINED]
    assert column(listing(found, "Audit"), "holds")["hop 1 is where the start looks"] == "1 of 1"


@pytest.mark.parametrize(
    ("bad", "finding"),
    [
        ({"initial_pose": [0, 100, 9, 0, 180]}, "pose_not_six_numbers"),
        ({"target_pose": [0, 100, 9, 0, 0, 180, 1]}, "pose_not_six_numbers"),
        ({"target_pose": "0 100 9"}, "pose_not_six_numbers"),
        ({"initial_pose": [0, 100, 9, 0, 0, 450]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 0, 90.5, 0]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 180.5, 0, 0]}, "angle_out_of_range"),
        ({"initial_pose": [0, 100, 9, 0, 0, round(math.pi, 4)]}, "yaw_in_radians"),
        ({"observation_pose": [0, 100, math.nan, 0, 0, 0]}, "pose_not_finite"),
        ({"observation_pose": [0, 100, True, 0, 0, 0]}, "pose_not_numbers"),
        ({"observation_pose": [0, 100, "9", 0, 0, 0]}, "pose_not_numbers"),
        ({"answer": ""}, "answer_empty"),
        ({"answer": " \n"}, "answer_empty"),
        ({"answer": ["8"]}, "answer_not_text"),
        ({"answer": None}, "column_missing"),
        ({"question": 7}, "question_not_text"),
        ({"category": "Geography"}, "unknown_category"),
        ({"question_id": 1.5}, "id_unusable"),
        ({"question_id": 2, "answer": "9"}, "id_taken"),
        ({"question_id": 2}, "repeated_row"),
    ],
)
def test_a_bad_row_is_left_out_alone(bad: dict[str, Any], finding: str, tmp_path: Path) -> None:
    found = examined(tmp_path, task(2), task(**{"number": 3} | bad), task(4, initial_pose=[0, 90, 9, 0, 0, 180]))
    (row,) = found.left_out
    assert (row.row, row.finding) == (2, finding)
    assert row.remedy
    assert found.table["status"].to_pylist() == ["unsupported", "left_out", "unsupported"]
    assert found.table["id"].to_pylist()[::2] == ["2", "4"]


def test_a_row_that_is_none(tmp_path: Path) -> None:
    assert [row.finding for row in examined(tmp_path, task(), 7, None).left_out] == ["not_a_row"] * 2


@pytest.mark.parametrize(
    ("text", "message"), [("{", "cannot be read"), ("{}", "not a list"), ('[{"id": 1}]', "holds no tasks of CityEQA")]
)
def test_a_file_without_tasks(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_released(tmp_path / "tasks.json")


def test_what_a_split_leaks(tmp_path: Path) -> None:
    """Target t1 is in both splits, t2 in one."""
    apart = {"target_pose": [60, 40, 5, 0, 0, 0]}
    rows = [
        task(1, split="train"),
        task(2, hop="north", split="test"),
        task(3, split="test", **apart),
        task(4, hop="east", split="test", **apart),
    ]
    found = listing(examined(tmp_path, *rows, split="split"), "Leaks of the split, by target")
    assert [tuple(row) for row in (*found.rows, found.totals)] == [
        ("test", "3", "2", "1", "1", "33.3%"),
        ("train", "1", "1", "1", "1", "100.0%"),
        ("all", "4", "2", "1", "2", "50.0%"),
    ]
    with pytest.raises(ConfigError, match="question 1 has no fold; its columns are answer, category"):
        examined(tmp_path, *rows, split="fold")


@pytest.mark.parametrize(
    ("asked", "answer", "kind"),
    [
        ("Is it open? (yes or no)", "No", "yes/no"),
        ("How many?", "one", "number"),
        ("What color is the sign?", "green", "closed text"),
        ("What's the name of the shop?", "Cheesspod", "open text"),
        ("What does the sign say?", "BOOKS", "open text"),
    ],
)
def test_answer_types(asked: str, answer: str, kind: str) -> None:
    assert answer_type(asked, answer) == kind


@pytest.mark.real_data
def test_the_grammar_reads_every_released_question_in_full(released: Examined) -> None:
    """Against a plain pattern of the released form."""
    form = re.compile(
        r"There is a building to the (.*) of you. To the (.*) of the building, there is (.*). Please tell me (.*)"
    )
    for row in json.loads(RELEASED.read_text()):
        match, told = form.fullmatch(row["question"]), parse(row["question"])
        assert match
        assert told
        assert told.hops == (HopText(match[1], "a building"), HopText(match[2], match[3]))
        assert told.question == match[4]
