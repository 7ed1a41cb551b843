"""Builders of one folder are kept apart, on machines that see one another's kernel locks and on those that do not."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Final

import pytest

from pipeline.core.errors import StoreError
from pipeline.engine import lease
from pipeline.engine.lease import EXPIRES_S, LEASE_FILE, leased
from tests.builds import REPOSITORY, TWO_TASKS, build, command_process, perturbed, release_of
from tests.engine.test_kill import SCENES
from tests.environment import times
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ELSEWHERE = json.dumps({"id": "1", "user": "ann", "host": "far", "machine": "m", "process": 7, "since": "noon"})


@pytest.fixture
def no_kernel_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some folders of the network."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)


def held_elsewhere(folder: Path, last_beat_s: float) -> Path:
    """The lease of another machine, whose last beat is so long ago."""
    path = folder / LEASE_FILE
    path.write_text(ELSEWHERE)
    then = time.time() - last_beat_s
    os.utime(path, (then, then))
    return path


def test_who_holds_it_is_named_at_once(tmp_path: Path) -> None:
    held_elsewhere(tmp_path, EXPIRES_S - 5)
    told = r"another build is running in this folder \(ann on far, process 7, since noon\); wait for it or give --out"
    with pytest.raises(StoreError, match=told), leased(tmp_path):
        pass
    assert (tmp_path / LEASE_FILE).read_text() == ELSEWHERE
    assert not list(tmp_path.glob(".tmp-*"))


def test_the_lease_of_a_machine_that_is_gone_expires(tmp_path: Path) -> None:
    held_elsewhere(tmp_path, EXPIRES_S + 5)
    with leased(tmp_path) as mine:
        assert mine.is_ours()
    assert {p.name for p in tmp_path.iterdir()} == {".lock"}


def test_what_a_killed_process_of_this_machine_held_is_free_at_once(tmp_path: Path) -> None:
    with leased(tmp_path):
        left = (tmp_path / LEASE_FILE).read_text()
    (tmp_path / LEASE_FILE).write_text(left)
    with leased(tmp_path) as mine:
        assert mine.is_ours()


@pytest.mark.usefixtures("no_kernel_locks")
def test_without_locks_of_the_kernel_a_killed_process_is_waited_for(tmp_path: Path) -> None:
    with leased(tmp_path):
        left = (tmp_path / LEASE_FILE).read_text()
    (tmp_path / LEASE_FILE).write_text(left)
    with pytest.raises(StoreError, match="another build is running"), leased(tmp_path):
        pass


@pytest.mark.usefixtures("no_kernel_locks")
@pytest.mark.parametrize("left", ["nothing", "a dead one's"])
def test_of_many_that_come_at_once_one_works(left: str, tmp_path: Path) -> None:
    for turn in range(times(20, 1000)):
        folder = tmp_path / str(turn)
        folder.mkdir()
        if left != "nothing":
            held_elsewhere(folder, EXPIRES_S + 5)
        start, end = Barrier(8), Barrier(8)

        def come(folder: Path = folder, start: Barrier = start, end: Barrier = end) -> bool:
            start.wait()
            try:
                with leased(folder) as mine:
                    end.wait()
                    return mine.is_ours()
            except StoreError:
                end.wait()
                return False

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(lambda _: come(), range(8))) == 1
        assert {p.name for p in folder.iterdir()} == {".lock"}


def test_a_machine_that_slept_does_not_write_over_its_successor(tmp_path: Path) -> None:
    with leased(tmp_path) as mine:
        held_elsewhere(tmp_path, 0)
        mine.beat()
        with pytest.raises(StoreError, match=r"taken over by another build \(ann on far"):
            mine.check()
    assert (tmp_path / LEASE_FILE).read_text() == ELSEWHERE, "it is theirs"


def test_whoever_works_is_heard_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease, "BEAT_S", 0.01)
    with leased(tmp_path):
        before = held_since(tmp_path)
        until = time.monotonic() + 5
        while held_since(tmp_path) == before:
            assert time.monotonic() < until
            time.sleep(0.01)


def held_since(folder: Path) -> int:
    return (folder / LEASE_FILE).stat().st_mtime_ns


# ---- a builder that slept (SIGSTOP, a laptop's lid) and was taken over by another changes nothing more in the folder


SHORT_S = 2.0
# A builder on a folder of the network without kernel locks; the first one stops itself where it is told to.
BUILDER = f"""
import errno, fcntl, os, signal, sys
from pathlib import Path
from pipeline.core.errors import StoreError
from pipeline.engine import lease
from pipeline.release import history

def refuse(*_):
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

def sleeping(real, nth):
    calls = iter(range(10_000))
    def sleep(*given):
        if next(calls) == nth:
            os.kill(os.getpid(), signal.SIGSTOP)
        return real(*given)
    return sleep

fcntl.flock = refuse
lease.EXPIRES_S, lease.BEAT_S = {SHORT_S}, 0.2
meta, out, cap, moment = sys.argv[1:]
if moment == "among scenes":
    lease.Lease.check = sleeping(lease.Lease.check, 9)
if moment == "before the link is turned":
    history.checksums = sleeping(history.checksums, 0)
from pipeline.stages.builder import Builder
from tests.builds import TWO_TASKS, config_of
try:
    Builder(config_of(Path(meta), select={{"per_scene_and_task": int(cap)}}, **TWO_TASKS), Path(out)).build()
except StoreError as error:
    sys.exit(str(error))
"""


def builder(meta: Path, out: Path, cap: int, moment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(meta), str(out), str(cap), moment],
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )


def there(out: Path) -> dict[str, bytes]:
    """Every file of a build, the link as what it says, and the lease of nobody."""
    found = {p.relative_to(out).as_posix(): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
    return found | {"release": bytes((out / "release").readlink())}


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before the link is turned", "among scenes"][: times(1, 2)])
def test_a_builder_that_slept_writes_nothing_over_its_successor(moment: str, tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "meta.json", perturbed(SCENES, 3))
    with builder(meta, out, 6, moment) as first:
        _, status = os.waitpid(first.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        time.sleep(SHORT_S + 1)
        with builder(meta, out, 2, "never") as second:
            _, said = second.communicate(timeout=120)
        assert second.returncode == 0, said
        before = there(out)
        first.send_signal(signal.SIGCONT)
        _, said = first.communicate(timeout=120)
    assert first.returncode == 1
    assert f"{out}: taken over by another build, as this one was not heard of for" in said
    assert said.count("\n") == 1
    after = there(out)
    new = {name for name in after.keys() - before.keys() if not name.startswith("releases/")}
    assert not new, "a release beside the newest is found by the next build"
    assert {name: raw for name, raw in after.items() if name in before} == before


# ---- several commands that build into one folder at the same time: one works, the others say so at once


BUSY: Final = "another build is running in this folder"


@pytest.mark.long
@pytest.mark.parametrize("builds", [2, 10])
def test_one_works_and_the_others_say_so(builds: int, tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "meta.json", perturbed(SCENES, 400))  # long enough for all of them to come
    processes = [command_process(meta, out, "--no-prefect", "--workers", "1") for _ in range(builds)]
    said = [process.communicate()[1] for process in processes]
    codes = [process.returncode for process in processes]
    assert codes.count(0) == 1, said
    assert codes.count(1) == builds - 1, said
    for code, line in zip(codes, said, strict=True):
        assert line.count("\n") == (code != 0)
        assert code == 0 or BUSY in line
    build(meta, tmp_path / "alone", **TWO_TASKS)
    assert release_of(out) == release_of(tmp_path / "alone")
