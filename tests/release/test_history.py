"""The releases of a build: each in a folder of its own, none touched by a later one, and a link to the newest."""

import errno
import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError, NoSpaceError, StoreError
from pipeline.core.files import write_atomically
from pipeline.core.tables import CHECKSUMS
from pipeline.release.gates import GateResult
from pipeline.release.history import (
    RELEASE,
    RELEASES,
    Judge,
    PublishedRelease,
    accept,
    candidate,
    history,
    no_gates,
    publish,
)
from pipeline.release.released import checksums
from tests.builds import build, release_of
from tests.worlds.indoor.readers.broken_metadata import write_sound

Write = Callable[[Path], tuple[bytes, dict[str, str]]]


def writing(text: str, fails: bool = False) -> Write:
    """A release of one file."""

    def write(folder: Path) -> tuple[bytes, dict[str, str]]:
        sums = {"data/test.txt": hashlib.sha256(text.encode()).hexdigest()}
        write_atomically(folder / "data" / "test.txt", text.encode())
        if fails:
            raise StoreError("no")
        write_atomically(folder / CHECKSUMS, checksums(sums))
        return text.encode(), sums

    return write


def names(out: Path) -> list[str]:
    return [one.name for one in history(out)]


def newest(out: Path) -> str:
    return (out / RELEASE / "data" / "test.txt").read_text()


def test_each_release_has_a_folder_and_the_link_points_to_the_newest(tmp_path: Path) -> None:
    assert history(tmp_path) == []
    assert publish(tmp_path, writing("one"), 5) == b"one"
    first = (tmp_path / RELEASE).readlink()
    assert not first.is_absolute(), "the folder of a build may be moved"
    publish(tmp_path, writing("two"), 5)
    assert newest(tmp_path) == "two"
    assert (tmp_path / first / "data" / "test.txt").read_text() == "one"
    assert names(tmp_path) == [first.name, (tmp_path / RELEASE).readlink().name]
    assert all(len(one.at) == len("2026-11-22 17:03") for one in history(tmp_path))


def test_the_same_content_is_the_same_release_and_the_newest_again(tmp_path: Path) -> None:
    for text in ("one", "two", "one"):
        publish(tmp_path, writing(text), 5)
    assert len(names(tmp_path)) == 2
    assert newest(tmp_path) == "one"
    assert names(tmp_path)[-1] == (tmp_path / RELEASE).readlink().name


def test_so_many_are_kept_and_the_oldest_goes_first(tmp_path: Path) -> None:
    for text in ("one", "two", "three", "one", "four"):
        publish(tmp_path, writing(text), 3)
    there = {(p / "data" / "test.txt").read_text() for p in (tmp_path / RELEASES).iterdir() if p.is_dir()}
    assert there == {"three", "one", "four"}
    publish(tmp_path, writing("five"), 1)
    assert names(tmp_path) == [(tmp_path / RELEASE).readlink().name]
    assert len(list((tmp_path / RELEASES).iterdir())) == 2, "the release and the history"


def test_files_of_others_are_left_where_they_are(tmp_path: Path) -> None:
    publish(tmp_path, writing("one"), 1)
    first = (tmp_path / RELEASE).resolve()
    (first / ".git").mkdir()
    (first / "data" / "paper.pdf").write_bytes(b"mine")
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    (first / CHECKSUMS).write_text((first / CHECKSUMS).read_text() + "0  ../../outside.txt\n")
    publish(tmp_path, writing("two"), 1)
    assert sorted(p.name for p in first.rglob("*")) == [".git", "data", "paper.pdf"]
    assert outside.exists()
    assert names(tmp_path) == [(tmp_path / RELEASE).readlink().name]


def test_one_that_fails_changes_nothing(tmp_path: Path) -> None:
    publish(tmp_path, writing("one"), 1)
    before = sorted(tmp_path.rglob("*")), history(tmp_path)
    with pytest.raises(StoreError, match="no"):
        publish(tmp_path, writing("two", fails=True), 1)
    assert (sorted(tmp_path.rglob("*")), history(tmp_path)) == before
    assert newest(tmp_path) == "one"


def test_a_damaged_one_is_mended_in_its_place(tmp_path: Path) -> None:
    publish(tmp_path, writing("one"), 5)
    (tmp_path / RELEASE / "data" / "test.txt").write_text("?")
    publish(tmp_path, writing("one"), 5)
    assert newest(tmp_path) == "one"
    assert len(names(tmp_path)) == 1


@pytest.mark.parametrize("damaged", ["{", "[" * 100_000, '{"release": 5, "at": ""}', '{"release": "../..", "at": ""}'])
def test_without_its_history_nothing_but_dates_is_lost(tmp_path: Path, damaged: str) -> None:
    publish(tmp_path, writing("one"), 5)
    (tmp_path / RELEASES / "history.jsonl").write_text(damaged)
    assert names(tmp_path) == [(tmp_path / RELEASE).readlink().name]
    publish(tmp_path, writing("two"), 5)
    assert len(names(tmp_path)) == 2


def test_a_release_that_is_a_folder_becomes_one_of_the_others(tmp_path: Path) -> None:
    """As earlier versions wrote it, or a copy that followed the link."""
    writing("old")(tmp_path / RELEASE)
    publish(tmp_path, writing("new"), 5)
    assert newest(tmp_path) == "new"
    assert {(p / "data/test.txt").read_text() for p in (tmp_path / RELEASES).iterdir() if p.is_dir()} == {"old", "new"}


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_nothing_of_others_is_replaced_by_the_link(kind: str, tmp_path: Path) -> None:
    mine = tmp_path / RELEASE
    if kind == "file":
        mine.write_text("mine")
    elif kind == "folder":
        mine.mkdir()
        (mine / "notes.txt").write_text("mine")
    else:
        mine.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="none of its own: move it"):
        publish(tmp_path, writing("one"), 5)
    assert os.path.lexists(mine)
    assert not (tmp_path / RELEASES).exists()


def failing(folder: Path, before: PublishedRelease | None, summary: bytes) -> list[GateResult]:
    """Holds back whatever is compared."""
    return [GateResult("questions", 0.5 if before else None, 0.05, "half are gone"), GateResult("panel", 0.0, 0.0, "")]


def test_what_fails_a_gate_waits_beside_the_release_until_it_is_accepted(tmp_path: Path) -> None:
    publish(tmp_path, writing("one"), 2, judge=failing)
    (first,) = history(tmp_path)
    assert (first.gates[0].measured, first.waits, candidate(tmp_path)) == (None, False, None)
    publish(tmp_path, writing("two"), 2, judge=failing)
    assert (newest(tmp_path), history(tmp_path)) == ("one", [first])
    waiting = candidate(tmp_path)
    assert waiting is not None
    assert [one.gate for one in waiting.failed] == ["questions"]
    assert waiting.missed_gates == "questions: half are gone (0.5, limit 0.05)"
    for gates, message in (([], "failed questions too: --accept questions"), (["panel"], "did not fail panel")):
        with pytest.raises(ConfigError, match=message):
            accept(tmp_path, gates, 2)
    assert accept(tmp_path, ["questions"], 2) == waiting.name == names(tmp_path)[-1]
    assert (newest(tmp_path), candidate(tmp_path)) == ("two", None)
    assert history(tmp_path)[-1].accepted.keys() == {"questions"}
    assert history(tmp_path)[-1].gates == waiting.gates
    with pytest.raises(ConfigError, match="no candidate waits"):
        accept(tmp_path, ["questions"], 2)
    publish(tmp_path, writing("two"), 2, judge=failing)
    assert history(tmp_path)[-1].accepted, "what is released is not judged again"


@pytest.mark.parametrize(
    ("then", "judge", "left"),
    [
        ("one", failing, {"one"}),  # as it was: nothing waits any more
        ("three", failing, {"one", "three"}),
        ("three", no_gates, {"one", "three"}),
    ],
)
def test_a_candidate_stays_until_another_build_takes_its_place(
    then: str, judge: Judge, left: set[str], tmp_path: Path
) -> None:
    publish(tmp_path, writing("zero"), 1)
    publish(tmp_path, writing("one"), 1)
    publish(tmp_path, writing("two"), 1, judge=failing)
    publish(tmp_path, writing("two"), 1, judge=failing)
    assert candidate(tmp_path) is not None
    publish(tmp_path, writing(then), 2, judge=judge)
    assert {(p / "data" / "test.txt").read_text() for p in (tmp_path / RELEASES).iterdir() if p.is_dir()} == left
    assert newest(tmp_path) == ("three" if judge is no_gates else "one")
    assert (candidate(tmp_path) is None) == (judge is no_gates or then == "one")


def test_an_older_release_that_comes_back_as_a_candidate_is_not_lost_with_it(tmp_path: Path) -> None:
    for text in ("one", "two"):
        publish(tmp_path, writing(text), 5)
    for text in ("one", "three"):
        publish(tmp_path, writing(text), 5, judge=failing)
    assert {(p / "data" / "test.txt").read_text() for p in (tmp_path / RELEASES).iterdir() if p.is_dir()} == {
        "one",
        "two",
        "three",
    }
    assert len(names(tmp_path)) == 2


def test_samples_and_real_data_are_not_compared(tmp_path: Path) -> None:
    publish(tmp_path, writing("samples"), 5, of_samples=True)
    publish(tmp_path, writing("real"), 5, judge=failing)
    assert newest(tmp_path) == "real"


@pytest.mark.parametrize("damage", ["file", "checksums", "both"])
def test_a_damaged_candidate_cannot_be_accepted(damage: str, tmp_path: Path) -> None:
    publish(tmp_path, writing("one"), 5)
    publish(tmp_path, writing("two"), 5, judge=failing)
    waiting = candidate(tmp_path)
    assert waiting is not None
    folder = tmp_path / RELEASES / waiting.name
    if damage != "checksums":
        (folder / "data" / "test.txt").write_text("?")
    if damage != "file":
        (folder / CHECKSUMS).write_bytes(checksums({"data/test.txt": hashlib.sha256(b"?").hexdigest()}))
    with pytest.raises(StoreError, match="is not as it was written; build again"):
        accept(tmp_path, ["questions"], 5)
    assert newest(tmp_path) == "one"


def ending(number: int, how: str) -> Callable[[Path, Path], Path]:
    """`Path.replace` of a process that is killed at its n-th, counted from 0, or whose disk is full from there on."""
    real, left = Path.replace, iter(range(number))

    def replace(path: Path, target: Path) -> Path:
        if next(left, None) is not None:
            return real(path, target)
        if how == "full":
            raise OSError(errno.ENOSPC, "full")
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")

    return replace


@pytest.mark.parametrize("how", ["killed", "full"])
@pytest.mark.parametrize("number", range(4))
def test_ended_between_candidate_and_link_it_is_accepted_or_waits(
    number: int, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each renaming of `accept`: nothing but the one or the other is seen, and the next call ends it."""
    publish(tmp_path, writing("one"), 1)
    publish(tmp_path, writing("two"), 1, judge=failing)
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(Path, "replace", ending(number, how))
        try:
            accept(tmp_path, ["questions"], 1)
        except NoSpaceError:
            os._exit(1)
        os._exit(0)
    code = {"killed": -signal.SIGKILL, "full": 1}[how] if number < 3 else 0
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == code
    is_released = newest(tmp_path) == "two"
    assert is_released == (number > 1)
    assert (candidate(tmp_path) is None) == is_released
    if is_released:
        assert history(tmp_path)[-1].accepted.keys() == {"questions"}
    else:
        accept(tmp_path, ["questions"], 1)
    assert newest(tmp_path) == "two"
    publish(tmp_path, writing("three"), 1)
    assert names(tmp_path) == [(tmp_path / RELEASE).readlink().name]


@pytest.mark.slow
def test_a_build_keeps_its_releases(tmp_path: Path) -> None:
    meta, out = write_sound(tmp_path / "meta").parent, tmp_path / "out"
    build(meta, out)
    first, bytes_of_first = (out / RELEASE).resolve(), release_of(out)
    build(meta, out)
    assert len(history(out)) == 1
    build(meta, out, select={"per_scene_and_task": 1})
    assert release_of(out) != bytes_of_first
    assert {p.relative_to(first).as_posix() for p in first.rglob("*") if p.is_file()} == set(bytes_of_first)
    (meta / "samples_meta_info.json").unlink()
    before = release_of(out)
    with pytest.raises(ConfigError):
        build(meta, out)
    assert release_of(out) == before
    build(write_sound(meta).parent, out, keep=1)
    assert release_of(out) == bytes_of_first
    assert (out / RELEASE).resolve() == first
    assert len(history(out)) == 1
