"""A build that is killed, whenever, and started again gives the bytes of one that was left alone."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta, tzinfo
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import flows.orchestration.saved_build
import pipeline.core.files
import pipeline.engine.lease
import pipeline.release.history
from flows.orchestration.saved_build import SAVED_FILE, UNFINISHED_FILE
from pipeline.engine.job import Job, JobResult, run_job
from pipeline.engine.run import run_here
from pipeline.engine.stat_cache import STAT_CACHE_FILE
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from tests.builds import (
    REPOSITORY,
    TWO_TASKS,
    TWO_TASKS_SETTINGS,
    Cli,
    build,
    command_process,
    config_of,
    perturbed,
    release_of,
    rows_of,
)
from tests.environment import LONG, times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

SCENES = {plan.name: sample_scene(plan) for plan in PLANS}
SERVE = "from tests.engine.test_kill import serve; serve()"
WORKER = "multiprocessing.forkserver"
# Where in the writing of a file the process ends.

MOMENTS = ("half of it written", "before its renaming", "after its renaming")


# ---- the process that gets killed: forks itself for every build, so that only its start costs an import


def serve() -> None:
    """Builds whatever it is told on stdin, in a child of its own process group, and tells its id and its end.

    What a first build alone has to work out, as the digests of code, it does before.
    """
    with TemporaryDirectory() as folder:
        write_scenes(Path(folder) / "meta.json", {"bedroom": SCENES["bedroom"]})
        _build_with(Path(folder), Path(folder) / "out", 1)
    for line in sys.stdin:
        meta, out, workers, moment, write = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            _end_at(moment, int(write))
            _build_with(Path(meta), Path(out), int(workers))
            os._exit(0)
        with suppress(ProcessLookupError, PermissionError):
            os.setpgid(child, child)  # here too: whoever comes first
        print(child, flush=True)
        sys.stdin.readline()  # until then an ended child keeps its id, and the wrong process cannot be killed
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _build_with(meta: Path, out: Path, workers: int) -> None:
    if workers == 1:
        Builder(config_of(meta, **TWO_TASKS), out, run_here).build()
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:

        def in_pool(stage: str, batches: list[list[Job]]) -> Iterable[JobResult]:
            return pool.map(run_job, [job for batch in batches for job in batch])

        Builder(config_of(meta, **TWO_TASKS), out, in_pool).build()


def _end_at(moment: str, number: int) -> None:
    """Arranges that this process kills itself at a moment of its n-th write, counted from 0."""
    if moment not in MOMENTS:
        return
    real_write, real_replace, done = pipeline.core.files.write_all, Path.replace, 0

    def write(descriptor: int, raw: bytes) -> None:
        if done == number and moment == MOMENTS[0]:
            os.write(descriptor, raw[: len(raw) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        real_write(descriptor, raw)

    def replace(path: Path, target: Path) -> Path:
        nonlocal done
        if done == number and moment == MOMENTS[1]:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real_replace(path, target)
        if done == number and moment == MOMENTS[2]:
            os.kill(os.getpid(), signal.SIGKILL)
        done += 1
        return result

    pipeline.core.files.write_all, Path.replace = write, replace  # type: ignore[assignment, method-assign]


# ---- the tests


class Victim:
    """Starts builds in another process and kills them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _line(self) -> int:
        return int(self._process.stdout.readline())

    def build(
        self,
        meta: Path,
        out: Path,
        workers: int = 1,
        kill_after: tuple[int, float] | None = None,
        at: tuple[str, int] = ("", 0),
    ) -> int:
        """Exit code (-9: killed) of a build that is killed, or not, at one of its writes or so long after n files."""
        assert self._process.stdin is not None
        print(meta, out, workers, *at, sep="\t", file=self._process.stdin, flush=True)
        child = self._line()
        if kill_after is not None:
            n, wait_s = kill_after
            while n_files(out) < n and not _has_ended(child):
                time.sleep(0.001)
            time.sleep(wait_s)
            os.killpg(child, signal.SIGKILL)
        print(file=self._process.stdin, flush=True)
        return self._line()


@pytest.fixture(scope="module")
def victim() -> Iterator[Victim]:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    ) as process:
        yield Victim(process)
        process.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], tuple[Path, Path]]:
    """Metadata of n scenes, and a build of them that was left alone."""

    @cache
    def made(n: int) -> tuple[Path, Path]:
        folder = tmp_path_factory.mktemp(f"scenes{n}")
        write_scenes(folder / "meta" / "meta.json", perturbed(SCENES, n))
        build(folder / "meta", folder / "out", **TWO_TASKS)
        return folder / "meta", folder / "out"

    return made


def assert_same_build(out: Path, expected: Path) -> None:
    """The same release, the same results and manifest but for reasons and times, and nothing left over."""
    assert release_of(out) == release_of(expected)
    files, wanted = ({p.relative_to(f) for f2 in [f] for p in f2.rglob("*") if p.is_file()} for f in (out, expected))
    # The command keeps these, and writes the gallery.
    files -= {Path(SAVED_FILE), Path(UNFINISHED_FILE), Path(STAT_CACHE_FILE)}
    files = {file for file in files if file.parts[0] != "gallery"}
    assert files == wanted, "no temporary file is left, and no result is missing"
    for column in ("stage", "unit", "key", "inputs", "output", "config", "code", "path"):
        rows, wanted_rows = (rows_of(folder / "manifest.parquet") for folder in (out, expected))
        assert [row[column] for row in rows] == [row[column] for row in wanted_rows], column


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "seed", "kills"), [(1, 1, times(3, 160)), (2, 2, times(2, 40))])
def test_killed_at_random_moments(
    workers: int,
    seed: int,
    kills: int,
    victim: Victim,
    undisturbed: Callable[[int], tuple[Path, Path]],
    tmp_path: Path,
) -> None:
    meta, expected = undisturbed(10)
    rng, done, n_all = random.Random(seed), 0, n_files(expected)  # noqa: S311
    for attempt in range(3 * kills):
        out = tmp_path / str(attempt)
        for _ in range(3):  # each time it gets further
            there = n_files(out)
            if there == n_all:
                break
            code = victim.build(meta, out, workers, (rng.randrange(there, n_all), rng.uniform(0.0, 0.03)))
            assert code in (0, -signal.SIGKILL)
            done += code != 0
        assert victim.build(meta, out) == 0
        assert_same_build(out, expected)
        if done >= kills:
            break
    assert done >= kills, "most builds ended before they were killed"


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at_every_single_write(moment: str, victim: Victim, tmp_path: Path) -> None:
    meta = tmp_path / "meta"
    write_scenes(meta / "meta.json", {"bedroom": SCENES["bedroom"]})
    assert victim.build(meta, tmp_path / "undisturbed") == 0
    n_writes = n_files(tmp_path / "undisturbed") + 1  # the link to the release
    survived, own = 0, MOMENTS.index(moment)
    for number in range(own * (not LONG), n_writes, times(3 * len(MOMENTS), 1)):  # in the suite one of nine each
        out = tmp_path / str(number)
        survived += victim.build(meta, out, at=(moment, number)) == 0
        assert victim.build(meta, out) == 0
        assert_same_build(out, tmp_path / "undisturbed")
    halves = moment == MOMENTS[0]
    assert survived == halves if LONG else survived <= halves, "all were killed, but there is no half of a link"
    assert victim.build(meta, tmp_path / "more", at=(moment, n_writes)) == 0, "there was no write more"


@pytest.mark.slow
@pytest.mark.parametrize("prefect", ["--no-prefect", "--prefect"][: times(1, 2)])
def test_what_a_killed_worker_did_is_done_by_another(
    prefect: str, undisturbed: Callable[[int], tuple[Path, Path]], tmp_path: Path
) -> None:
    """As the kernel does it when memory runs out."""
    meta, expected = undisturbed(24)  # few scenes would not start the workers
    out = tmp_path / "out"
    with command_process(meta, out, prefect) as process:
        workers: list[int] = []
        while process.poll() is None and not (workers and n_files(out)):
            workers = _workers(process.pid)
            time.sleep(0.02)
        os.kill(workers[0], signal.SIGKILL)
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert_same_build(out, expected)


@pytest.mark.long
def test_a_build_that_sleeps_goes_on(undisturbed: Callable[[int], tuple[Path, Path]], tmp_path: Path) -> None:
    """As a laptop's lid does it: the command and its workers are stopped in mid-build (SIGSTOP), and continued."""
    meta, expected = undisturbed(24)
    out = tmp_path / "out"
    with command_process(meta, out, "--no-prefect") as process:
        while process.poll() is None and n_files(out) < n_files(expected) // 3:
            time.sleep(0.01)
        workers = _workers(process.pid)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in (process.pid, *workers):
                os.kill(pid, number)
            time.sleep(1.0)
        _, said = process.communicate()
    assert workers
    assert process.returncode == 0, said
    assert_same_build(out, expected)


@pytest.mark.slow
def test_a_clock_that_jumps_changes_nothing(
    undisturbed: Callable[[int], tuple[Path, Path]], tmp_path: Path, scan2qa: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By years, forth and back, each time it is asked; the processor's and the kernel's own do not."""
    jumps, real = itertools.cycle((0, 400, -4000, 3, -1)), time.time

    class Jumping(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Jumping:
            return super().now(tz) + timedelta(days=next(jumps))

    monkeypatch.setattr(time, "time", lambda: real() + 86_400 * next(jumps))
    for module in (pipeline.engine.lease, pipeline.release.history, flows.orchestration.saved_build):
        monkeypatch.setattr(module, "datetime", Jumping)
    meta, expected = undisturbed(10)
    for _ in range(2):  # the second time nothing is to be done
        run = scan2qa("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "out", *TWO_TASKS_SETTINGS)
        assert run.code == 0, run.err
        assert_same_build(tmp_path / "out", expected)


def n_files(folder: Path) -> int:
    """Finished files of a build."""
    return sum(not name.startswith(".") for _, _, files in os.walk(folder) for name in files)


def _has_ended(pid: int) -> bool:
    """Whether a process is a zombie."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def _children(pid: int) -> list[int]:
    return [int(c) for path in Path(f"/proc/{pid}/task").glob("*/children") for c in path.read_text().split()]


def _workers(pid: int) -> list[int]:
    """The worker processes of a command, which a server process has forked."""
    return [worker for server in _children(pid) if WORKER in _command_line(server) for worker in _children(server)]


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
