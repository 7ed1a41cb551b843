"""Workers of a build: a scene that ends its process, or reaches a limit, costs itself alone."""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import Mock

import pytest

from flows.orchestration import processes
from flows.orchestration.processes import Pool, Worker
from pipeline.core.budget import GIB, WorkerLimits
from pipeline.core.errors import StoreError
from pipeline.engine.job import Job
from pipeline.engine.manifest import Entry
from pipeline.engine.plan import StageSpec, Step
from pipeline.engine.stage import STORE, StageContext, always_complete, no_other_files, no_part_digests
from pipeline.engine.store import Store

LIMITS: Final = WorkerLimits(memory_gib=2.0, processor_s=1, open_files=64)
# What a scene of this name does -> the finding that it costs; None: none.
FINDINGS: Final = {
    "sound_a": None,
    "memory": "memory_limit",
    "sound_b": None,
    "processor": "processor_limit",
    "files": "open_files_limit",
    "crash": "worker_died",
    "sound_c": None,
    "killed": "worker_died",
    "exit": "worker_died",
    "killed_once": None,
    "memory_in_native_code": "memory_limit",
    "sound_d": None,
}


def act(context: StageContext) -> bytes:
    """The stage: does what its scene is called."""
    what = context.unit.partition("/")[2]
    if what == "memory":
        bytearray(3 * GIB)
    elif what == "memory_in_native_code":
        b"x" * (3 * GIB)
    elif what == "processor":
        sum(range(10**12))  # one call of native code, which no signal handler of Python interrupts
    elif what == "files":
        _ = [open(os.devnull) for _ in range(100)]  # noqa: SIM115, PTH123
    elif what == "crash":
        ctypes.string_at(0)
    elif what == "exit":
        os._exit(3)
    elif what == "fault":
        raise StoreError("the disk is full")
    elif what == "killed" or (what == "killed_once" and not (mark := context.folder / "mark").exists()):
        if what == "killed_once":
            mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return what.encode()


def job(what: str, folder: Path) -> Job:
    unit = f"scenes/{what}"
    spec = StageSpec(
        stage="unify",
        suffix=".txt",
        run=act,
        other_files=no_other_files,
        is_complete=always_complete,
        of_build=False,
        reads_raw=False,
        reads_human_input=False,
        requires=(),
        optional=(),
        part_digests=no_part_digests,
        settings={},
        config="config",
        code="code",
        modules=(__name__,),
    )
    entry = Entry("unify", unit, "key", "inputs", "config", "code", "new")
    return Job(unit, (Step(spec, unit, None, {}, entry=entry),), {}, None, folder, limits=LIMITS)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 3])
def test_a_scene_that_ends_its_worker_costs_itself_alone(workers: int, tmp_path: Path) -> None:
    """The same with one worker and several, in the order of the jobs, and without a measured number."""
    jobs = [job(what, tmp_path) for what in FINDINGS]
    with Pool(workers) as pool:
        done = list(pool.execute("", [jobs[:5], jobs[5:]]))
    assert [one.unit for one in done] == [one.unit for one in jobs]
    rows = [row for one in done for row in one.quarantine]
    assert {row.unit.partition("/")[2]: row.finding for row in rows} == {k: v for k, v in FINDINGS.items() if v}
    for row in rows:
        assert row.stage == "unify"
        assert not any(sign.isdigit() for sign in row.message.replace("exit code 3", "")), row.message
        assert "limits." in row.remedy or row.finding == "worker_died"
    said = {row.unit.partition("/")[2]: row.message for row in rows}
    assert [said["crash"][-7:], said["killed"][-7:], said["exit"][-1]] == ["SIGSEGV", "SIGKILL", "3"]
    store = Store(tmp_path / STORE)
    made = {one.unit: store.get(entry.output) for one in done for entry in one.entries if entry.output}
    assert made == {f"scenes/{what}": what.encode() for what, finding in FINDINGS.items() if finding is None}


@pytest.mark.slow
def test_an_exit_code_is_read_by_one_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts a worker reads the codes of those that have ended; each can be read once."""
    reading, others = threading.Event(), threading.Event()

    def read_last(handle: int, read: Callable[[int], int] = forkserver.read_signed) -> int:
        if reading.is_set():
            others.set()
            return read(handle)
        reading.set()
        others.wait(0.3)
        time.sleep(0.05)
        return read(handle)

    worker = Worker()
    monkeypatch.setattr(forkserver, "read_signed", read_last)
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(worker.run, job("exit", tmp_path))
        assert reading.wait(10)
        Worker().end()
        done = run.result()
    assert done is not None
    assert [row.message[-11:] for row in done.quarantine] == ["exit code 3"]


@pytest.mark.slow
@pytest.mark.parametrize("starts", [True, False])
def test_code_that_changes_while_workers_start_is_named(
    starts: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers import the code after the build has read it; their server ends where it cannot."""
    changed = SimpleNamespace(changed=lambda: [Path("a.py"), Path("b.py")])
    monkeypatch.setattr(processes, "sources_of", lambda _: changed)
    if not starts:
        monkeypatch.setattr(processes, "Worker", Mock(side_effect=EOFError))
    with (
        Pool(1) as pool,
        pytest.raises(StoreError, match=r"^a\.py and 1 more: changed while the build was starting"),
    ):
        list(pool.execute("", [[job("sound_a", tmp_path)]]))


@pytest.mark.slow
def test_what_is_no_fault_of_a_scene_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the disk is full"), Pool(2) as pool:
        list(pool.execute("", [[job(what, tmp_path) for what in ("sound_a", "fault", "sound_b", "sound_c")]]))
    assert not [worker for worker in pool._running if worker.is_fit()]


@pytest.mark.slow
def test_a_worker_that_two_threads_end_is_closed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, closed = Worker(), []

    def slow(self: Connection, close: Callable[[int], None] = os.close) -> None:
        closed.append(self._handle)
        time.sleep(0.05)
        close(self._handle)

    monkeypatch.setattr(Connection, "_close", slow)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: worker.end(), range(2)))
    assert len(closed) == 1
