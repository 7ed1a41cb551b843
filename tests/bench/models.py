"""Asking models at real size, about twelve minutes for all.

10,000 questions at a server on loopback that misbehaves, with and without a rate limit, once killed half-way; and the
embedded model on one core. What the server allows is computed from what it was seen to do: the seconds that its replies
and the client's time limit hold a place, over the places; or the requests over the limit.
"""

import json
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.blind.ask import ask
from pipeline.llm.base import ModelSpec
from pipeline.questions.choices import LETTERS, lettered, numeric_choices, order_options
from pipeline.questions.task import Number
from tests.bench.measuring import Figure, temporary, timed
from tests.environment import REAL_DATA
from tests.llm.asking import hosted, lettered_questions, table
from tests.llm.fake_server import FAULTS, running
from tests.tables import read_questions

QUESTIONS: Final = 10_000
CONCURRENCY: Final = 64
LATENCY_S: Final = 0.5
TIMEOUT_S: Final = 4.0
RPM: Final = 6_000
EMBEDDED: Final = 400
MIN_SHARE: Final = 0.9


def models(*parts: str) -> Iterator[Figure]:
    """All parts, or those that are named."""
    with temporary() as folder:
        for name in parts or PARTS:
            yield from PARTS[name](folder)


def run(cache: Path, questions: int, model: ModelSpec) -> dict[str, Any]:
    """One run in a process of its own, to its end."""
    command = [sys.executable, "-m", "tests.llm.asking", _job(cache, questions, model)]
    done: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done


def _job(cache: Path, questions: int, model: ModelSpec) -> str:
    return json.dumps({"cache": str(cache), "questions": questions, "model": model.model_dump(mode="json")})


def faulty(provider: str, folder: Path) -> Iterator[Figure]:
    """All faults, no limit."""
    with running(latency_s=LATENCY_S, faults=FAULTS) as server:
        model = hosted(server.address, provider, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S, attempts=8)
        done = run(folder / provider, QUESTIONS, model)
        records = server.records()
    seen = Counter(record["outcome"] for record in records)
    slots = sum(n * {"timeout": TIMEOUT_S, "reset": 0.0}.get(outcome, LATENCY_S) for outcome, n in seen.items())
    ended = done["replies"] + sum(done["failures"].values())
    yield Figure(f"{provider}: replies and counted failures ({done['failures']})", ended, "", QUESTIONS, QUESTIONS)
    yield Figure(f"{provider}: asked again after success", _twice(records), "", 0)
    yield Figure(f"{provider}: what went wrong", str(dict(seen)))
    share = slots / CONCURRENCY / done["seconds"]
    yield Figure(f"{provider}: share of what the latency allows, {done['seconds']:.0f} s", share, "", least=MIN_SHARE)


def _twice(records: list[dict[str, Any]]) -> int:
    return sum(n - 1 for n in Counter(r["question"] for r in records if r["outcome"] == "success").values())


def limited(folder: Path) -> Iterator[Figure]:
    """A limit that binds."""
    count = RPM * 3 // 2
    with running(latency_s=LATENCY_S / 2) as server:
        done = run(folder / "limited", count, hosted(server.address, concurrency=CONCURRENCY, timeout_s=30, rpm=RPM))
        times = sorted(record["at_s"] for record in server.records())
    most = max(bisect_left(times, start + 60) - n for n, start in enumerate(times))
    yield Figure("limit: most requests in any minute", most, "", RPM)
    share = count / RPM * 60 / done["seconds"]
    yield Figure(f"limit: share of what it allows, {done['seconds']:.0f} s", share, "", least=MIN_SHARE)


def killed(folder: Path) -> Iterator[Figure]:
    """Killed half-way and started again."""
    with running(latency_s=LATENCY_S, faults=FAULTS) as server:
        model = hosted(server.address, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S, attempts=8)
        job = _job(folder / "killed", QUESTIONS, model)
        process = subprocess.Popen([sys.executable, "-m", "tests.llm.asking", job])
        while sum(record["outcome"] == "success" for record in server.records()) < QUESTIONS // 2:
            time.sleep(2)
        process.kill()
        process.wait()
        done = run(folder / "killed", QUESTIONS, model)
        twice = _twice(server.records())
    yield Figure("killed: answered in all", done["replies"], "", QUESTIONS, QUESTIONS)
    both = done["cached"] + done["asked"]
    yield Figure(f"killed: {done['cached']} from the cache, and asked again", both, "", QUESTIONS, QUESTIONS)
    yield Figure("killed: replies lost on their way", twice, "", CONCURRENCY)


def embedded(folder: Path) -> Iterator[Figure]:
    """The embedded model on released questions, numbers read from four choices."""
    questions, model = real_questions(EMBEDDED), ModelSpec(provider="embedded")
    for name in ("first run", "second run"):
        cost, asked = timed(lambda: ask(questions, [model], folder / "embedded"))
        (account,) = asked.run.values()
        what = f"embedded, {name}: {account.asked} asked, {EMBEDDED / cost.clock_s:.1f}/s by the clock"
        yield Figure(what, EMBEDDED / cost.cpu_s, "/s of processor", least=3.0)
    for task in sorted(set(questions["task"].to_pylist())):
        own = questions.filter(pa.compute.equal(questions["task"], task)).slice(0, 20)
        cost, _ = timed(lambda own=own, task=task: ask(own, [model], folder / f"embedded-{task}"))
        yield Figure(f"embedded, {task} alone ({own.num_rows})", own.num_rows / cost.cpu_s, "/s of processor")


def again(folder: Path) -> Iterator[Figure]:
    """5,000 questions, all of them in the cache."""
    with running() as server:
        model = hosted(server.address, concurrency=CONCURRENCY, timeout_s=30)
        run(folder / "again", 5000, model)
        cost, asked = timed(lambda: ask(lettered_questions(5000), [model], folder / "again"))
    yield Figure(f"second run, {asked.run['plain'].cached} from the cache", cost.clock_s, "s", 2.0)


def real_questions(count: int) -> pa.Table:
    """Released questions, evenly over the file, with four choices for each number."""
    published = [q for q in read_questions(REAL_DATA / "vsi" / "questions.jsonl") if q.ground_truth != "0"]
    rows = []
    for question in published[:: len(published) // count][:count]:
        row: dict[str, Any] = {
            "id": question.id,
            "scene": question.scene_name,
            "task": question.question_type,
            "text": question.question,
            "options": question.options,
            "ground_truth": question.ground_truth,
        }
        number = TASKS[question.question_type].form
        if isinstance(number, Number):
            truth, place = f"{float(question.ground_truth):.{number.decimals}f}", int(question.id) % 4
            offered = numeric_choices(int(question.id), truth, number)
            row["choices"] = lettered(order_options(int(question.id), truth, offered, place))
            row["choice"] = LETTERS[place]
        rows.append(row)
    return table(rows)


PARTS: Final = {
    "again": again,
    "embedded": embedded,
    "limited": limited,
    "openai": partial(faulty, "openai"),
    "gemini": partial(faulty, "gemini"),
    "killed": killed,
}
