"""The domain-far bank, questions that people wrote, and the released columns."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C, exam
from pipeline.benchmarks.embodied4c.case import log_flags
from pipeline.benchmarks.embodied4c.columns import COLUMNS, PAPER, _counts, _remarks
from pipeline.benchmarks.embodied4c.rules import DOMAINS, SETUPS, ExamRules
from pipeline.benchmarks.embodied4c.score import SCORE, ExamScoreSettings
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, _of_domain, bank
from pipeline.core.errors import ConfigError
from pipeline.core.schema import AnyScene, Video
from pipeline.core.tables import selected_questions
from pipeline.metrics.number_words import normalised
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.drive.argoverse2 import write_log
from pipeline.samples.drive.plan import PLANS
from pipeline.scoring.score import scored
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from tests.oracles.exam_check import asked_of
from tests.scoring.made import file_of, said

OWN = {"log": "braking", "sub_capability": "M/P", "question": "What is the road made of?", "answer": "asphalt"}


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> AnyScene:
    root = tmp_path_factory.mktemp("one")
    write_log(root, PLANS["braking"])
    reader = Argoverse2()
    (ref,) = reader.scenes(root).scenes
    return reader.read(SceneFiles(root, ref))


def asked(scene: AnyScene, **rules: Any) -> pa.Table:
    view = exam(scene, ExamRules.model_validate({"exam_moments_max": 3} | rules))
    tables = [task.candidates(view) for task in EXAM_TASKS.values()]
    return selected_questions(select(pa.concat_tables(tables), EXAM_TASKS, 12, EMBODIED4C.shares))


def test_the_bank_is_large_and_its_answers_differ_from_one_another() -> None:
    found = bank()
    assert len(found) >= 120
    assert len({far.subject for far in found}) >= 10
    for far in found:
        forms = [normalised(form) for form in (far.answer, *far.accepted)]
        assert all(forms), far
        assert not any(form in normalised(far.question).split() for form in forms if len(form) > 2), far
        assert not {"vehicle", "drone", "robot", "gripper"} & set(normalised(far.question).split()), far


def test_a_log_draws_its_own_of_the_bank_at_its_moments(drive: AnyScene) -> None:
    own = [row for row in asked(drive).to_pylist() if row["task"] == "GEN"]
    far = [row["text"] for row in own]
    other = drive.model_copy(update={"id": "argoverse2/another"})
    assert len(set(far)) == 12
    assert far == [row["text"] for row in asked(drive).to_pylist() if row["task"] == "GEN"]
    assert set(far) != {row["text"] for row in asked(other).to_pylist() if row["task"] == "GEN"}
    assert not [row for row in asked(drive, far_per_log=0).to_pylist() if row["task"] == "GEN"]
    assert len({row["until_s"] for row in own}) == 3, "of three moments"
    assert {row["until_s"] - row["from_s"] for row in own} <= {1.9, 2.0, 2.1, 1.8, 2.2}, "as of what is asked about now"
    parts = [_of_domain(domain) for domain in DOMAINS]
    assert list(map(len, parts)) == [54, 41, 30], "as in the paper, and nothing of the bank twice"
    assert len(set().union(*parts)) == 125


def test_questions_of_ones_own_are_asked_and_gold_earns_all(drive: AnyScene, tmp_path: Path) -> None:
    numeric = {
        "log": drive.id,
        "sub_capability": "CT",
        "question": "How many bridges are there?",
        "answer": "2",
        "unit": "",
    }
    lines = [OWN | {"accepted": ["tarmac"], "until_s": 5.0}, numeric, OWN | {"log": "elsewhere"}]
    questions = asked(drive, written=str(file_of(tmp_path / "own.jsonl", lines)))
    tasks = {(row["task"], row["text"]) for row in questions.to_pylist() if row["task"].startswith("written")}
    assert tasks == {("written words", OWN["question"]), ("written numbers", numeric["question"])}
    table = COLUMNS.table(questions, ())
    assert table.schema == COLUMNS.schema
    assert set(COLUMNS.descriptions) == set(COLUMNS.schema.names)
    rows = {row["question"]: row for row in table.to_pylist()}
    own = rows[OWN["question"]]
    assert (own["capability"], own["sub_capability"], own["accepted"], own["until_s"]) == (
        "PHY",
        "M/P",
        ["tarmac"],
        5.0,
    )
    assert (rows["How many bridges are there?"]["value"], own["value"]) == (2.0, None)
    assert {row["domain"] for row in rows.values()} == {"driving"}
    file = tmp_path / "q.parquet"
    pq.write_table(table, file)
    gold = said(tmp_path / "gold.jsonl", {row["question_id"]: row["answer"] for row in table.to_pylist()})
    found = scored(SCORE, file, [gold], ExamScoreSettings(tolerance=0.01))
    assert [row for row in found.table().to_pylist() if row["match"] != 100] == []
    assert {"driving VQA", "GEN", "PHY M/P"} <= {row.figure.name for row in found.rows}


def test_conditions_of_logs_are_columns(drive: AnyScene, tmp_path: Path) -> None:
    """A film's camera alone is a sensor; a setup is one of the paper's 13, and of the log's own embodiment."""
    assert [len(own) for own in SETUPS.values()] == [5, 5, 3]
    file = tmp_path / "conditions.yaml"
    file.write_text(f"{drive.id}: {{sensor_setup: SUV, weather: rain}}\nother: {{weather: fog}}\n", encoding="utf-8")
    rows = COLUMNS.table(asked(drive, conditions=str(file), far_per_log=1), ()).to_pylist()
    told = {(r["sensor_setup"], r["weather"], r["illumination"], *r["sensors"], r["modality"]) for r in rows}
    assert told == {("SUV", "rain", None, "drawn")}
    filmed = drive.model_copy(update={"video": Video(path="front/1.jpg")})
    assert exam(filmed, ExamRules()).flags == ["domain: driving", "sensors: camera", "modality: RGB"]
    stated = {"conditions": {drive.id: {"surface": "gravel", "wet": True, "wind": "no wind"}}, "far_per_log": 0}
    for shown, wanted in ((filmed, {"gravel", "wet", "no wind"}), (drive, set())):
        found = asked_of(shown, even_answers=True, **stated)
        of_conditions = [row for row in found if row["task"].endswith(" stated") and row["role"] is None]
        assert {row["answer"] for row in of_conditions if row["reason"] is None} == wanted
        assert {row["reason"] for row in of_conditions if row["reason"]} == (set() if wanted else {"not_shown"})
    with pytest.raises(ValidationError, match="surface 'lava' is none of asphalt, concrete"):
        ExamRules.model_validate({"conditions": {"log": {"surface": "lava"}}})
    arm = ExamRules.model_validate({"conditions": {drive.name: {"sensor_setup": "UR5"}}})
    with pytest.raises(ConfigError, match="cannot be of sensor setup 'UR5': the setups of driving are sportscar"):
        exam(drive, arm)
    with pytest.raises(ConfigError, match="'UR5': it is of Sawyer"):
        log_flags("manipulation", drive, arm, True, None, "Sawyer")


def test_the_card_has_the_shares_of_capabilities_beside_the_papers() -> None:
    assert sum(sum(own.values()) for own in PAPER.values()) == 1149
    flags = ["domain: aerial", "modality: RGB"]
    rows = [{"task": task, "flags": flags} for task in ("CL", "DT", "M/T speed", "GEN")]
    rows.append({"task": "Written", "flags": [*flags, "sub-capability: E/E"]})
    (line,) = _remarks(_counts(pa.Table.from_pylist(rows)))
    assert line.endswith(": SEM 25% (22%), SPA 25% (45%), TEM 25% (17%), PHY 25% (15%) of 4 (317); GEN 1 (41).")


@pytest.mark.parametrize(
    ("text", "why"),
    [("a: {sensor_setup: lorry}", "is none of sports"), ("a: {b: 1}", "Extra"), ("[", "cannot be read"), ("3", "dict")],
)
def test_conditions_of_logs_are_refused(text: str, why: str, tmp_path: Path) -> None:
    file = tmp_path / "conditions.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValidationError, match=why):
        ExamRules.model_validate({"conditions": str(file)})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2"),
        (json.dumps(OWN | {"sub_capability": "XX"}), "is none of"),
        (json.dumps(OWN | {"unit": "m"}), "is no number"),
        (json.dumps(OWN | {"until_s": 3, "from_s": 4}), "is not before"),
        (json.dumps(OWN | {"answer": ""}), "at least 1 character"),
        (json.dumps(OWN | {"colour": "red"}), "Extra inputs"),
        (json.dumps(OWN), "asked twice"),
    ],
)
def test_files_of_questions_are_refused_by_line(line: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps(OWN) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(ValidationError, match=told):
        ExamRules.model_validate({"written": str(file)})
    with pytest.raises(ValidationError, match="cannot be read"):
        ExamRules.model_validate({"written": str(tmp_path / "none.jsonl")})
