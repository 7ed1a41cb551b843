"""Builders of one folder are kept apart, on machines that see one another's kernel locks and on those that do not."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from pipeline.core.errors import StoreError
from pipeline.engine import lease
from pipeline.engine.lease import EXPIRES_S, LEASE_FILE, leased
from tests.environment import times

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
