"""Few jobs that take long: this process begins, and others help it from the end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from flows.orchestration import processes as pool
from flows.orchestration.processes import Pool
from pipeline.core.errors import StoreError
from pipeline.core.schema import Quarantine
from pipeline.engine.job import Job, JobResult

SECONDS = 0.2
HERE = os.getpid()


def job(name: str) -> Job:
    return Job(name, (), {}, None, Path())


def who(one: Job) -> JobResult:
    """Says in which process it was done; "fault" is one, and "killed" ends its process."""
    time.sleep(SECONDS)
    if one.unit == "fault":
        raise StoreError("the disk is full")
    if one.unit == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    said = Quarantine(unit=one.unit, stage="", file="", finding="", message=str(os.getpid()), remedy="")
    return JobResult(one.unit, (), (said,))


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ALONE_S", 0.0)
    monkeypatch.setattr(pool, "run_job", who)


@pytest.mark.slow
def test_others_help_and_the_order_stays() -> None:
    names = [f"scene {n}" for n in range(12)]
    with Pool(3) as workers:
        done = list(workers.execute("", [[job(name) for name in names[:5]], [job(name) for name in names[5:]]]))
    assert [one.unit for one in done] == names
    by = [int(one.quarantine[0].message) for one in done]
    assert by[0] == HERE
    assert HERE not in by[-2:], "the last ones are done by others"
    assert by == sorted(by, key=lambda process: process != HERE), "this process does the first ones"


@pytest.mark.slow
@pytest.mark.parametrize(("last", "said"), [("fault", "the disk is full"), ("killed", "a worker process died")])
def test_what_befalls_a_helper_is_told(last: str, said: str) -> None:
    done: list[JobResult] = []
    with pytest.raises(StoreError, match=said), Pool(2) as workers:
        done.extend(workers.execute("", [[job(name) for name in (*"abcdefgh", last)]]))
    assert [one.unit for one in done] == list("abcdefgh")


def test_a_fault_of_this_process_is_told_and_nobody_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ALONE_S", 60.0)
    with pytest.raises(StoreError, match="the disk is full"), Pool(2) as workers:
        list(workers.execute("", [[job("fault"), job("b"), job("c")]]))
    time.sleep(SECONDS)  # in which a helper that was told of the end has ended, or would have begun
    assert workers._pool is None


def test_what_takes_a_moment_is_done_here_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "ALONE_S", 60.0)
    with Pool(2) as workers:
        done = list(workers.execute("", [[job("a"), job("b")]]))
    assert {one.quarantine[0].message for one in done} == {str(HERE)}
    assert workers._pool is None
