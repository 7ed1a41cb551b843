"""`scan2qa play`: a task made by hand, played from a pipe."""

import io
import json
import re
from pathlib import Path

import pytest
from PIL import Image

from pipeline.reading.files import SceneFiles
from pipeline.worlds.registry import READERS
from tests.builds import Cli
from tests.worlds.city.cities import block, spot, write

pytestmark = pytest.mark.slow

TASK = {
    "question_id": 5,
    "question": "There is a building to the north of you. To the south of the building, there is a car. Please tell me "
    "What is the colour of the car?",
    "answer": "blue",
    "category": "Attribute Recognition",
    "observation_pose": [45, 20, 5, 0, 0, 0],
    "target_pose": [45, 30, 0, 0, 0, 0],
    "initial_pose": [45, 5, 5, 0, 0, 90],
    "city": "here",
    "oracle_steps": 5,
    "path_m": 15.0,
}


@pytest.fixture
def given(tmp_path: Path) -> tuple[str, ...]:
    root = write(
        tmp_path / "cities",
        block(40, 40, 10, 8, id="b", height_m=6, colour="#961919"),
        objects=[
            spot("car", 45, 30, id="c", colour="blue"),
            spot("signboard", 45, 39.8, facing_deg=180, sign="BAKERY"),
        ],
    )
    (tmp_path / "tasks.json").write_text(json.dumps([TASK]))
    return ("--questions", str(tmp_path / "tasks.json"), "--root", f"city={root}")


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_a_task_is_played(
    scan2qa: Cli, given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, seen = tmp_path / "ways.jsonl", tmp_path / "seen.png"
    out.write_text('{"id": 4, "steps": [], "answer": "kept"}\n{"id": 5, "steps": [], "answer": "earlier"}\n')
    typed(monkeypatch, "l", "l", "l", "f", "", "jump", "help", "f", "f", "f", "a  light blue ")
    run = scan2qa("play", "cityeqa", "5", *given, "--trajectory", out, "--picture", seen)
    assert run.code == 0
    assert "What is the colour of the car?" in run.out
    assert "'jump' is no command" in run.out
    assert run.out.count("f b sl sr: ") == 3, "at the start, behind what is no command, and when asked for"
    assert '"BAKERY" ahead' in run.out
    assert "something is in the way after" in run.out  # the house
    kept, own = map(json.loads, out.read_text().splitlines())
    assert kept["answer"] == "kept"
    assert own["id"] == 5
    assert own["answer"] == "light blue"
    assert own["steps"][0] == TASK["initial_pose"]
    assert [step[:2] + step[5:] for step in own["steps"][1:]] == [
        [45, 5, 60],
        [45, 5, 30],
        [45, 5, 0],
        [45, 15, 0],
        [45, 25, 0],
        [45, 35, 0],
    ]
    assert "truth" in run.out
    assert "blue" in run.out
    with Image.open(seen) as image:
        assert image.size == (640, 480)


@pytest.mark.parametrize(("lines", "said"), [(["f", "q"], "Stopped: nothing more"), (["f"], "input ended")])
def test_nothing_is_written_without_an_answer(
    scan2qa: Cli,
    given: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[str],
    said: str,
) -> None:
    typed(monkeypatch, *lines)
    run = scan2qa("play", "cityeqa", "5", *given, "--trajectory", tmp_path / "ways.jsonl")
    assert said in run.out
    assert not (tmp_path / "ways.jsonl").exists()


def test_wrong_calls(scan2qa: Cli, given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "a blue")
    run = scan2qa("play", tmp_path, "5")
    assert (run.code, f"{tmp_path}: no release here; give a build's folder" in run.err) == (2, True)
    run = scan2qa("play", "cityeqa", "5", *given[:2])
    assert (run.code, "go together" in run.err) == (2, True)
    run = scan2qa("play", "cityeqa", "6", *given)
    assert (run.code, "no task 6" in run.err) == (2, True)
    (tmp_path / "tasks.json").write_text(json.dumps([TASK | {"city": "elsewhere"}]))
    run = scan2qa("play", "cityeqa", "5", *given)
    assert (run.code, "is set in 'elsewhere'" in run.err) == (2, True)
    (tmp_path / "tasks.json").write_text(json.dumps([TASK]))
    (tmp_path / "text").write_text("words\n")
    run = scan2qa("play", "cityeqa", "5", *given, "--trajectory", tmp_path / "text")
    assert (run.code, "no file of trajectories" in run.err) == (2, True)


def test_a_person_roams_and_records_tasks_that_a_build_reads(
    scan2qa: Cli, given: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    city = tmp_path / "cities" / "here"
    record = city / "tasks.json"
    question = "What is the colour of the building?"
    typed(
        monkeypatch,
        *["r"] * 6,  # it began with the house behind it
        "s",
        f"t nothing | Attribute Recognition | {question} | red",
        f"t c | Attribute Recognition | {question} | red",
        f"t b | Colour | {question} | red",
        f"t b | {question} | red",
        f"t b | Attribute Recognition | {question} | red",
        f"t b | Attribute Recognition | {question} | dark red",
        "q",
    )
    run = scan2qa("play", "cityeqa", *given[2:], "--record", record)
    assert run.code == 0
    assert re.search(r"\bb\b.*building", run.out), run.out
    for said in (
        "'nothing' is not on the map",
        "c is not in view from here",
        "'Colour' is no category",
        "A task has four parts",
    ):
        assert said in run.out
    first, second = json.loads(record.read_text())["tasks"]
    assert (first["id"], second["id"], first["target"], second["answer"]) == ("roamed-1", "roamed-2", "b", "dark red")
    reader = READERS["city"]
    facts = reader.read(SceneFiles(tmp_path / "cities", reader.scenes(tmp_path / "cities").scenes[0])).facts
    assert [(task.id, task.target, task.question) for task in facts.tasks] == [
        ("roamed-1", "b", question),
        ("roamed-2", "b", question),
    ]
    for wrong in (("play", "cityeqa"), ("play", "cityeqa", "5", *given[2:], "--record", record)):
        refused = scan2qa(*wrong)
        assert (refused.code, "to roam, --root and --record without a task" in " ".join(refused.err.split())) == (
            2,
            True,
        )
    other = tmp_path / "other.json"
    other.write_text("[1")
    typed(monkeypatch, *["r"] * 6, f"t b | Attribute Recognition | {question} | red")
    assert "is no file of tasks" in scan2qa("play", "cityeqa", *given[2:], "--record", other).err
