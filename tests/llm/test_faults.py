"""A server that misbehaves, on loopback: nothing is lost, nothing asked twice, no limit exceeded."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.blind.ask import ask
from pipeline.llm.base import Request, user
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Client
from pipeline.llm.failures import error_of, retry_after_s
from tests.environment import times
from tests.llm import bodies
from tests.llm.asking import KEY, hosted, lettered_questions
from tests.llm.fake_server import FAULTS, running

PROVIDERS = ("openai", "gemini")


def outcomes(records: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What became of each question's attempts, in order."""
    found: dict[str, list[str]] = {}
    for record in records:
        found.setdefault(record["question"], []).append(record["outcome"])
    return found


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_question_ends_with_a_reply_and_none_is_asked_again_after_it(provider: str, tmp_path: Path) -> None:
    count = times(100, 500)
    with running(latency_s=0.02, faults=FAULTS) as server:
        # A busy machine takes seconds to connect: only what hangs shall be given up.
        model = hosted(server.address, provider, concurrency=64, attempts=8, timeout_s=10.0)
        asked = ask(lettered_questions(count), [model], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        records = server.records()

    rows = asked.replies.to_pylist()
    assert [row["id"] for row in rows] == list(range(count))
    assert all(row["reply"] == "B" and row["right"] and row["failure"] is None for row in rows)
    found = outcomes(records)
    assert set(found) == {f"Q{n}" for n in range(count)}
    assert all(tried.count("success") == 1 and tried[-1] == "success" for tried in found.values())
    seen = Counter(record["outcome"] for record in records)
    assert set(seen) == {"success", *FAULTS}
    account = asked.run[model.name]
    assert account.sent == len(records)
    assert account.trouble == {
        "rate_limited": seen["rate_limited"],
        "server_error": seen["server_error"],
        "timeout": seen["timeout"],
        "malformed": seen["malformed"],
        "connection": seen["reset"],
    }


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_never_succeeds_is_a_counted_failure_and_is_tried_again_by_the_next_run(
    provider: str, tmp_path: Path
) -> None:
    questions, cache = lettered_questions(20), tmp_path / "replies.sqlite"
    with running(faults={"server_error": 0.6}) as server:
        model = hosted(server.address, provider, concurrency=64, attempts=1)
        first = ask(questions, [model], cache, {"PLANTED_KEY": KEY})
        failed = {row["id"] for row in first.replies.to_pylist() if row["failure"]}
        assert 0 < len(failed) < 20
        assert first.totals[0].failed == {"server_error": len(failed)}
        assert not any(row["right"] for row in first.replies.to_pylist() if row["failure"])
        before = len(server.records())
        ask(questions, [model], cache, {"PLANTED_KEY": KEY})
        again = {int(record["question"][1:]) for record in server.records()[before:]}
    assert again == failed


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_retry_waits_as_long_as_the_server_asks(provider: str, tmp_path: Path) -> None:
    with running(faults={"rate_limited": 0.5}, retry_after_s=2) as server:
        model = hosted(server.address, provider, attempts=20)
        ask(lettered_questions(6), [model], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        records = server.records()
    waits = []
    for question in {record["question"] for record in records}:
        times = [record["at_s"] for record in records if record["question"] == question]
        waits += [later - earlier for earlier, later in pairwise(times)]
    assert waits
    assert min(waits) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(("rpm", "count"), [(1, 2), (7, 20), (100, 180)])
def test_the_rate_limit_is_never_exceeded_in_any_window(rpm: int, count: int, tmp_path: Path) -> None:
    async def send(address: str) -> None:
        model = hosted(address, rpm=rpm, concurrency=64, timeout_s=30.0)
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            async with Client(model, cache, KEY, period_s=1.0) as client:
                await asyncio.gather(*(client.ask(Request((user(f"Q{n}"),))) for n in range(count)))

    with running() as server:
        asyncio.run(send(server.address))
        times = sorted(record["at_s"] for record in server.records())
    assert len(times) == count
    assert max(bisect_left(times, start + 1.0) - n for n, start in enumerate(times)) <= rpm


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    count, concurrency, path = 100, 16, tmp_path / "replies.sqlite"
    with running(latency_s=0.05, faults=FAULTS) as server:
        model = hosted(server.address, concurrency=concurrency, attempts=8, timeout_s=4.0)
        job = {"cache": str(path), "questions": count, "model": model.model_dump(mode="json")}
        command = [sys.executable, "-m", "tests.llm.asking", json.dumps(job)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while _kept(path) < count // 2:
            assert process.poll() is None, "it was to be killed half-way"
            time.sleep(0.02)
        process.kill()
        process.wait()
        kept, before = _kept(path), len(server.records())
        done = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        records = server.records()

    assert (done["rows"], done["replies"], done["cached"], done["asked"]) == (count, count, kept, count - kept)
    answered_before = {r["question"] for r in records[:before] if r["outcome"] == "success"}
    again = {record["question"] for record in records[before:]}
    # Asked twice after success: at most the replies on their way when the process was killed.
    assert len(again & answered_before) <= concurrency
    assert len(again) == count - kept


def _kept(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(path) as database:
            count = database.execute("SELECT count(*) FROM replies").fetchone()[0]
        database.close()
    except sqlite3.OperationalError:  # the table is not there yet
        return 0
    return int(count)


def test_the_same_request_made_twice_at_once_is_sent_once(tmp_path: Path) -> None:
    async def send(address: str) -> list[str]:
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            async with Client(hosted(address), cache, KEY) as client:
                request = Request((user("Q1"),))
                return [reply.text for reply in await asyncio.gather(*(client.ask(request) for _ in range(10)))]

    with running(latency_s=0.05) as server:
        assert asyncio.run(send(server.address)) == ["B"] * 10
        assert len(server.records()) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("model", "kind"), [("quota", "quota"), ("day", "quota"), ("wrong-key", "unauthorized"), ("gone", "not_found")]
)
def test_a_model_that_cannot_be_asked_at_all_is_not_asked_on_and_on(
    provider: str, model: str, kind: str, tmp_path: Path
) -> None:
    with running(latency_s=0.02) as server:
        spec = hosted(server.address, provider, model=model, concurrency=2)
        asked = ask(lettered_questions(20), [spec], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        assert asked.totals[0].failed == {kind: 20}
        assert len(server.records()) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_account_that_runs_dry_half_way_is_noticed(provider: str, tmp_path: Path) -> None:
    with running(latency_s=0.01) as server:
        spec = hosted(server.address, provider, model="spent-later", concurrency=2)
        asked = ask(lettered_questions(200), [spec], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        # Q100 to Q199 are asked before Q20 (in order of their words): so are the first that find it dry.
        assert asked.totals[0].failed["quota"] >= 198
        assert len(server.records()) <= 30


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_quota_that_nobody_configured_loses_no_question(provider: str, tmp_path: Path) -> None:
    """Sixty requests a minute, in a tenth of the time."""
    with running(quota=(60, 6.0)) as server:
        spec = hosted(server.address, provider, timeout_s=5.0)
        asked = ask(lettered_questions(200), [spec], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        assert asked.totals[0].failed == {}
        assert len(server.records()) <= 260


def test_a_server_that_wants_an_hour_is_not_waited_for(tmp_path: Path) -> None:
    with running() as server:
        start = time.monotonic()
        asked = ask(
            lettered_questions(2),
            [hosted(server.address, model="tomorrow")],
            tmp_path / "replies.sqlite",
            {"PLANTED_KEY": KEY},
        )
    assert asked.totals[0].failed == {"rate_limited": 2}
    assert time.monotonic() - start < 30


# ---- what each error of today's APIs is taken for


LASTING = [
    (429, bodies.INSUFFICIENT_QUOTA, "quota"),
    (400, bodies.BILLING_LIMIT, "quota"),
    (429, bodies.DAY_LIMIT, "quota"),
    (401, bodies.WRONG_KEY, "unauthorized"),
    (402, bodies.NO_BALANCE, "quota"),
    (402, bodies.NO_CREDITS, "quota"),
    (404, bodies.NO_MODEL, "not_found"),
    (400, bodies.TOO_LONG, "too_long"),
    (400, bodies.LLAMA_TOO_LONG, "too_long"),
    (400, bodies.AZURE_FILTER, "refused"),
    (400, bodies.VLLM_BAD, "bad_request"),
    (429, bodies.GEMINI_DAY, "quota"),
    (400, bodies.GEMINI_KEY, "unauthorized"),
    (403, bodies.GEMINI_LEAKED, "forbidden"),
    (400, bodies.GEMINI_LOCATION, "forbidden"),
    (404, bodies.GEMINI_MODEL, "not_found"),
    (400, bodies.GEMINI_BAD, "bad_request"),
    (418, "a teapot", "bad_request"),
    (401, None, "unauthorized"),
    (413, "<html>too large</html>", "too_long"),
]
PASSING = [
    (429, bodies.RATE_LIMIT, "rate_limited", 20.0),
    (429, bodies.GEMINI_MINUTE, "rate_limited", 34.07),
    (503, bodies.OVERLOADED, "server_error", None),
    (503, bodies.GEMINI_OVERLOADED, "server_error", None),
    (529, None, "server_error", None),
    (408, None, "timeout", None),
    (429, "<html>slow down</html>", "rate_limited", None),
]


def words(body: Any) -> str:
    inner = body.get("error", body) if isinstance(body, dict) else body
    return str(inner["message"]) if isinstance(inner, dict) else str(inner)


@pytest.mark.parametrize(("status", "body", "kind"), LASTING)
@pytest.mark.parametrize("inner", [False, True])
def test_what_lasts(status: int, body: Any, kind: str, inner: bool) -> None:
    """The OpenAI SDK hands on the object under ``error``, Google's the whole body."""
    seen = body["error"] if inner and isinstance(body, dict) and "error" in body else body
    failure = error_of(status, words(body), seen)
    assert (failure.kind, failure.passing) == (kind, False)
    assert failure.message.startswith(f"HTTP {status}: {words(body)}"[:300])


@pytest.mark.parametrize(("status", "body", "kind", "wait_s"), PASSING)
def test_what_passes_and_after_how_long(status: int, body: Any, kind: str, wait_s: float | None) -> None:
    failure = error_of(status, words(body), body)
    assert (failure.kind, failure.passing, failure.retry_after_s) == (kind, True, wait_s)


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (bodies.NO_TEMPERATURE, "temperature"),
        (bodies.NO_MAX_TOKENS, "max_tokens"),
        (bodies.UNRECOGNIZED, "max_completion_tokens"),
    ],
)
def test_a_refused_parameter_is_named(body: dict[str, Any], parameter: str) -> None:
    failure = error_of(400, words(body), body)
    assert (failure.kind, failure.passing, failure.parameter) == ("unsupported", True, parameter)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "12"}, "try again in 3s", 12.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "Fri, 21 Oct 1988 07:28:00 GMT"}, "", 0.0),
        ({}, "Please try again in 7m12.5s.", 432.5),
        ({}, "Please try again in 1h2m3s", 3723.0),
        ({}, "Please retry in 850ms", 0.85),
        ({}, "try again in a while", None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert retry_after_s(headers, None, message) == seconds


def test_an_http_date_in_the_future_is_a_wait() -> None:
    wait_s = retry_after_s({"retry-after": "Fri, 21 Oct 2185 07:28:00 GMT"})
    assert wait_s > 1e9
