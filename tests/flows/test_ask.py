"""The command `scan2qa ask`: a model served on this machine is put through a release."""

import json
import signal
import sys
import time
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

import pytest

from tests.builds import Cli
from tests.flows.test_score import release_of
from tests.flows.test_stop import NOTICING
from tests.llm.fake_server import Running, running
from tests.rendering.test_video import film
from tests.scoring.made import vsi

ROWS = [
    vsi(1, "object_counting", "4") | {"question": "Q1 How many chair(s) are in this room?"},
    vsi(2, "route_planning", "B", "room2") | {"question": "Q2 What?"},
    vsi(3, "route_planning", "C") | {"question": "Q3 What?"},
]


@pytest.fixture
def build(tmp_path: Path) -> Path:
    release_of(tmp_path / "release", ROWS, {"route_planning": 0.4, "object_counting": 0.6})
    for scene in ("room1", "room2"):
        film(tmp_path / "videos", f"made/{scene}")
    return tmp_path


def asked(scan2qa: Cli, build: Path, server: Running, *more: str, model: str = "plain") -> Any:
    release = str(build / "release")
    of = ["--model", model, "--url", f"{server.address}/v1", "--out", str(build / "r.jsonl")]
    return scan2qa("ask", "vsi", release, *of, *more)


def shown(record: dict[str, Any]) -> list[str]:
    """What a request shows, in order: pictures as "picture", words as they are."""
    content = record["body"]["messages"][-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [part["text"] if part["type"] == "text" else "picture" for part in parts]


def test_replies_are_written_scored_and_asked_once(scan2qa: Cli, build: Path) -> None:
    with running(replies={"Q1": "4", "Q2": "B", "Q3": "A"}) as server:
        run = asked(scan2qa, build, server, "--set", "frames=2")
        assert (run.code, run.err) == (0, "")
        records = server.records()
        assert len(records) == 3
        first = (build / "r.jsonl").read_bytes()
        assert asked(scan2qa, build, server, "--set", "frames=2").code == 0
        assert len(server.records()) == 3, "its replies are kept"
    assert (build / "r.jsonl").read_bytes() == first
    assert [json.loads(line) for line in first.splitlines()] == [
        {"id": 1, "answer": "4", "failure": None},
        {"id": 2, "answer": "B", "failure": None},
        {"id": 3, "answer": "A", "failure": None},
    ]
    about = json.loads((build / "r.about.json").read_text())
    assert (about["model"]["model"], about["model"]["temperature"], about["frames"]) == ("plain", 0.0, 2)
    score = scan2qa("score", "vsi", build / "r.jsonl", "--release", build / "release", "--json")
    figures = {figure["name"]: figure["value"] for figure in json.loads(score.out)["figures"]}
    assert (figures["route_planning"], figures["object_counting"]) == (0.5, 1.0)
    # Without the server: from what was recorded.
    replay = ["--set", "provider=replay", "--set", f"recording={build / 'r.recording.jsonl'}", "--set", "frames=2"]
    of = ["--model", "plain", "--url", "http://localhost:1/v1", "--out", build / "again.jsonl"]
    run = scan2qa("ask", "vsi", build / "release", *of, *replay)
    assert (run.code, (build / "again.jsonl").read_bytes()) == (0, first), run.err


def test_failed_attempts_are_shown_while_replies_are_awaited(
    scan2qa: Cli, build: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that refuses for minutes does so on screen; the default is to look every half a minute."""
    monkeypatch.setattr("flows.cli.models.EVERY_S", 0.02)
    with running(replies={"Q": "B"}, faults={"rate_limited": 0.7}) as server:
        run = asked(scan2qa, build, server, "--without-scene")
    assert (run.code, run.err) == (0, "")
    assert "plain: failed attempts so far, which are repeated: rate_limited " in run.out


def test_questions_are_put_in_the_words_of_table_9(scan2qa: Cli, build: Path) -> None:
    with running(replies={"Q": "B"}) as server:
        asked(scan2qa, build, server, "--set", "frames=2")
        told = {record["question"]: shown(record) for record in server.records()}
    number = "Please answer the question using a single word or phrase."
    assert told["Q1"][:-1] == ["Second 0.5:", "picture", "Second 1.5:", "picture"]
    assert told["Q1"][-1] == f"These are frames of a video.\nQ1 How many chair(s) are in this room?\n{number}"
    assert told["Q2"][-1] == (
        "These are frames of a video.\nQ2 What?\nOptions:\nA. left\nB. right\nC. back\n"
        "Answer with the option's letter from the given choices directly."
    )


def test_a_model_thinks_in_turns_as_the_paper_compares(scan2qa: Cli, build: Path) -> None:
    """Chain of thought: two turns, of which the first alone shows the video; other requests than without it."""
    with running(replies={"Q": "I see four."}) as server:
        assert asked(scan2qa, build, server, "--set", "frames=2", "--prompt", "chain_of_thought").code == 0
        records = server.records()
        assert len(records) == 6
        told = [[message["role"] for message in record["body"]["messages"]] for record in records]
        assert sorted(map(len, told)) == [1, 1, 1, 3, 3, 3]
        (last, *_) = [record["body"]["messages"] for record in records if len(record["body"]["messages"]) == 3]
        assert last[0]["content"][-1]["text"].endswith("\nLet's think step by step.")
        assert "directly" not in last[0]["content"][-1]["text"]
        assert [message["role"] for message in last] == ["user", "assistant", "user"]
        assert json.dumps(last).count("image_url") == json.dumps(last[0]).count("image_url") > 0
    row = json.loads((build / "r.jsonl").read_text().splitlines()[0])
    assert row["log"] == ["I see four.", row["answer"]]
    about = json.loads((build / "r.about.json").read_text())
    assert (about["prompt"], about["model"]["temperature"]) == ("chain_of_thought", 0.0)


def test_without_the_scene_nothing_is_shown_and_no_video_needed(scan2qa: Cli, tmp_path: Path) -> None:
    release_of(tmp_path / "release", ROWS, {"route_planning": 0.4})
    with running(replies={"Q": "B"}) as server:
        assert asked(scan2qa, tmp_path, server).code == 2, "the videos are missing"
        assert asked(scan2qa, tmp_path, server, "--without-scene").code == 0
        assert all("picture" not in shown(record) for record in server.records())


def test_a_damaged_video_costs_its_questions_and_no_others(scan2qa: Cli, build: Path) -> None:
    (build / "videos" / "made" / "room2.mp4").write_bytes(b"no video")
    with running(replies={"Q": "B"}) as server:
        run = asked(scan2qa, build, server, "--set", "frames=2")
    assert run.code == 3
    rows = {row["id"]: row for row in map(json.loads, (build / "r.jsonl").read_text().splitlines())}
    assert {n: row["answer"] for n, row in rows.items()} == {1: "B", 2: None, 3: "B"}
    assert rows[2]["failure"] == "video_unreadable"
    assert "room2.mp4" in rows[2]["message"]


@pytest.mark.parametrize("name", ["../../secret", "../../videos/../secret"])
def test_a_release_cannot_have_other_files_sent(name: str, scan2qa: Cli, tmp_path: Path) -> None:
    release_of(tmp_path / "release", [ROWS[0] | {"dataset": "made", "scene_name": name}], {"object_counting": 0.4})
    (tmp_path / "secret.mp4").write_bytes(b"private")
    run = scan2qa("ask", "vsi", tmp_path / "release", "--model", "m", "--videos", tmp_path / "videos")
    assert run.code == 2
    assert "lies outside of" in run.err


def test_what_failed_is_told_and_asked_again(scan2qa: Cli, build: Path) -> None:
    with running() as server:
        run = asked(scan2qa, build, server, "--without-scene", model="bad")
        assert run.code == 3
        rows = [json.loads(line) for line in (build / "r.jsonl").read_text().splitlines()]
        assert {row["answer"] for row in rows} == {None}
        assert all(row["failure"] and row["message"] for row in rows)
        assert "run the same command again: it asks only" in run.out
        assert "Next: scan2qa score" not in run.out, "nothing to score"
        sent = len(server.records())
        assert asked(scan2qa, build, server, "--without-scene", model="bad").code == 3
        assert len(server.records()) > sent


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_where_it_was(number: signal.Signals, scan2qa: Cli, tmp_path: Path) -> None:
    """Ctrl-C says so: who is killed says nothing."""
    rows = [vsi(n, "route_planning", "B") | {"question": f"Q{n} What?"} for n in range(1, 31)]
    release_of(tmp_path / "release", rows, {"route_planning": 0.4})
    with running(replies={"Q": "B"}, latency_s=0.1) as server:
        command = ["ask", "vsi", str(tmp_path / "release"), "--model", "plain", "--url", f"{server.address}/v1"]
        command += ["--out", str(tmp_path / "r.jsonl"), "--without-scene", "--set", "concurrency=2"]
        start = [sys.executable, "-c", f"{NOTICING}from scan2qa import main\nmain()", *command]
        with Popen(start, stdout=DEVNULL, stderr=PIPE, text=True) as process:
            while len(server.records()) < 10:
                time.sleep(0.02)
            process.send_signal(number)
            told = process.communicate()[1]
        kept = f"Replies are kept in {tmp_path / 'r.sqlite'}: the same command asks only for the rest\n"
        assert (kept in told) == (number == signal.SIGINT), told
        assert not (tmp_path / "r.jsonl").exists()
        assert scan2qa(*command).code == 0
        assert 30 <= len(server.records()) <= 32, "at most what was under way is asked twice"
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 30


def test_a_sample_is_scored_alone(scan2qa: Cli, build: Path) -> None:
    with running(replies={"Q": "B"}) as server:
        run = asked(scan2qa, build, server, "--without-scene", "--questions", "2")
    assert "--only-asked" in run.out
    rows = [json.loads(line) for line in (build / "r.jsonl").read_text().splitlines()]
    assert {row["id"] for row in rows} < {1, 2, 3}
    score = scan2qa("score", "vsi", build / "r.jsonl", "--release", build / "release", "--only-asked", "--json")
    assert json.loads(score.out)["questions"] == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nope", "--model", "m"], "unknown benchmark 'nope'; a model can be asked the questions of vsi, urbanvideo"),
        (["vsi"], "say who is asked: --model NAME, or --agent oracle, random or frontier"),
        (["vsi", "--model", "m", "--agent", "oracle"], "say who is asked"),
        (["vsi", "--agent", "oracle"], "that act without a model are none"),
        (["vsi", "--agent", "oracle", "--prompt", "map_first"], "--prompt is for --model"),
        (
            ["vsi", "--model", "m", "--prompt", "base"],
            "'base'; beside the paper's own there are chain_of_thought, ",
        ),
        (["vsi", "--model", "m", "--out", "r.csv"], "give a name that ends in .jsonl"),
        (["vsi", "--model", "m", "--split", "val"], "has no split 'val'"),
        (["vsi", "--model", "m", "--set", "inputs=[text]"], "--without-scene to ask from the text alone"),
        (["vsi", "--model", "m", "--set", "frame=2"], "frame"),
    ],
)
def test_wrong_calls(arguments: list[str], told: str, scan2qa: Cli, build: Path) -> None:
    name, *more = arguments
    run = scan2qa("ask", name, build / "release", *more)
    assert run.code == 2
    assert told in run.err
