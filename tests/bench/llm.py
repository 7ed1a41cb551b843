"""Asking models at real size: `python -m tests.bench.llm [part …]` (about twelve minutes for all).

10,000 questions at a server on loopback that misbehaves, with and without a rate limit, once killed half-way; and the
embedded model on one core. What the server allows is computed from what it was seen to do: the seconds that its replies
and the client's time limit hold a place, over the places; or the requests over the limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.blind.ask import ask
from pipeline.llm.base import ModelSpec
from pipeline.questions.choices import LETTERS, lettered, numeric_choices, order_options
from pipeline.questions.task import Number
from tests.conftest import REAL_DATA
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
MIN_PER_S: Final = 3.0
MAX_AGAIN_S: Final = 2.0

Row = tuple[str, str, str, bool]


def run(cache: Path, questions: int, model: ModelSpec) -> dict[str, Any]:
    """One run in a process of its own, to its end."""
    job = {"cache": str(cache), "questions": questions, "model": model.model_dump(mode="json")}
    command = [sys.executable, "-m", "tests.llm.asking", json.dumps(job)]
    done: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return done


def faulty(provider: str, folder: Path) -> Iterator[Row]:
    """All faults, no limit."""
    with running(latency_s=LATENCY_S, faults=FAULTS) as server:
        model = hosted(server.address, provider, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S, attempts=8)
        done = run(folder / provider, QUESTIONS, model)
        records = server.records()
    seen = Counter(record["outcome"] for record in records)
    slots = sum(n * {"timeout": TIMEOUT_S, "reset": 0.0}.get(outcome, LATENCY_S) for outcome, n in seen.items())
    share = slots / CONCURRENCY / done["seconds"]
    twice = sum(n - 1 for n in Counter(r["question"] for r in records if r["outcome"] == "success").values())
    yield (
        f"{provider}: replies + counted failures",
        f"{done['replies']} + {done['failures']}",
        f"{QUESTIONS}",
        (done["replies"] + sum(done["failures"].values()) == QUESTIONS),
    )
    yield f"{provider}: asked again after success", f"{twice}", "0", twice == 0
    yield f"{provider}: what went wrong", f"{dict(seen)}", "", True
    yield (
        f"{provider}: share of what the latency allows",
        f"{share:.3f} ({done['seconds']:.0f} s)",
        "0.9",
        (share >= MIN_SHARE),
    )


def limited(folder: Path) -> Iterator[Row]:
    """A limit that binds."""
    count = RPM * 3 // 2
    with running(latency_s=LATENCY_S / 2) as server:
        done = run(folder / "limited", count, hosted(server.address, concurrency=CONCURRENCY, timeout_s=30, rpm=RPM))
        times = sorted(record["at_s"] for record in server.records())
    most = max(bisect_left(times, start + 60) - n for n, start in enumerate(times))
    share = count / RPM * 60 / done["seconds"]
    yield "limit: most requests in any minute", f"{most}", f"{RPM}", most <= RPM
    yield "limit: share of what it allows", f"{share:.3f} ({done['seconds']:.0f} s)", "0.9", share >= MIN_SHARE


def killed(folder: Path) -> Iterator[Row]:
    """Killed half-way and started again."""
    with running(latency_s=LATENCY_S, faults=FAULTS) as server:
        model = hosted(server.address, concurrency=CONCURRENCY, timeout_s=TIMEOUT_S, attempts=8)
        job = {"cache": str(folder / "killed"), "questions": QUESTIONS, "model": model.model_dump(mode="json")}
        process = subprocess.Popen([sys.executable, "-m", "tests.llm.asking", json.dumps(job)])
        while sum(record["outcome"] == "success" for record in server.records()) < QUESTIONS // 2:
            time.sleep(2)
        process.kill()
        process.wait()
        done = run(folder / "killed", QUESTIONS, model)
        answers = Counter(r["question"] for r in server.records() if r["outcome"] == "success")
    twice = sum(n - 1 for n in answers.values())
    yield "killed: answered in all", f"{done['replies']}", f"{QUESTIONS}", done["replies"] == QUESTIONS
    yield (
        "killed: from the cache + asked again",
        f"{done['cached']} + {done['asked']}",
        f"{QUESTIONS}",
        (done["cached"] + done["asked"] == QUESTIONS),
    )
    yield "killed: replies lost on their way", f"{twice}", f"<= {CONCURRENCY}", twice <= CONCURRENCY


def embedded(folder: Path) -> Iterator[Row]:
    """The embedded model on released questions, numbers read from four choices."""
    questions = real_questions(EMBEDDED)
    model, cache = ModelSpec(provider="embedded"), folder / "embedded"
    for name in ("first run", "second run"):
        start, cpu = time.perf_counter(), time.process_time()
        asked = ask(questions, [model], cache)
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        (account,) = asked.run.values()
        rate = f"{EMBEDDED / seconds:.1f}/s, {EMBEDDED / cpu:.1f} per second of processor time"
        met = EMBEDDED / cpu >= MIN_PER_S
        yield f"embedded, {name}: {account.asked} asked", rate, "3/s", met
    for task in sorted(set(questions["task"].to_pylist())):
        own = questions.filter(pa.compute.equal(questions["task"], task)).slice(0, 20)
        cpu = time.process_time()
        ask(own, [model], folder / f"embedded-{task}")
        cpu = time.process_time() - cpu
        yield f"embedded, {task} alone ({own.num_rows})", f"{own.num_rows / cpu:.1f} per second", "", True


def again(folder: Path) -> Iterator[Row]:
    """5,000 questions, all of them in the cache."""
    with running() as server:
        model = hosted(server.address, concurrency=CONCURRENCY, timeout_s=30)
        run(folder / "again", 5000, model)
        start = time.perf_counter()
        asked = ask(lettered_questions(5000), [model], folder / "again")
    seconds = time.perf_counter() - start
    cached = asked.run["plain"].cached
    yield f"second run, {cached} from the cache", f"{seconds:.2f} s", "<= 2 s", seconds <= MAX_AGAIN_S


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


def main() -> None:
    shown = Table("what", "measured", "target", "met")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts = {
            "again": again(folder),
            "embedded": embedded(folder),
            "limited": limited(folder),
            "openai": faulty("openai", folder),
            "gemini": faulty("gemini", folder),
            "killed": killed(folder),
        }
        for what, measured, target, met in chain.from_iterable(parts[name] for name in sys.argv[1:] or parts):
            shown.add_row(what, measured, target, "yes" if met else "NO")
    Console(width=160).print(shown)


if __name__ == "__main__":
    main()
