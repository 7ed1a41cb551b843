"""Listing within limits: a file at which the process ends costs its own scenes alone."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

from pipeline.core.budget import GIB, WorkerLimits
from pipeline.core.errors import ConfigError, RawDataError, unexpected
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, fault, note
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import FolderReader
from pipeline.reading.listing import list_within

LIMITS: Final = WorkerLimits(memory_gib=2.0, listing_s=1, open_files=64)
FINDINGS: Final = {
    "burns": "processor_limit",
    "crashes": "worker_died",
    "exits": "worker_died",
    "grows": "memory_limit",
}


class _UnsendableError(ValueError):
    """Cannot be unpickled: it takes more than its arguments."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(f"{one} {other}")


class Hostile(FolderReader):
    """Does what a file says while it lists it."""

    name = "hostile"
    expected_root = expected_scenes = "a folder"

    def places(self, root: Path) -> Iterable[Path]:
        return root.glob("*.txt")

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        what = read_file(place).decode()
        if what == "burns":
            sum(range(10**12))
        elif what == "crashes":
            ctypes.string_at(0)
        elif what == "exits":
            os._exit(3)
        elif what == "grows":
            bytearray(3 * GIB)
        yield SceneRef(f"hostile/{place.stem}", (place.name,), what)

    def shared(self, root: Path) -> bytes:
        if (root / "all").exists():
            os.abort()
        return b""


def test_a_hostile_file_costs_its_scenes_alone(tmp_path: Path) -> None:
    for number, what in enumerate(("sound", *FINDINGS, "sound")):
        (tmp_path / f"{number}.txt").write_text(what, "utf-8")
    listing = list_within(Hostile(), tmp_path, LIMITS)
    assert [ref.id for ref in listing.scenes] == ["hostile/0", "hostile/5"]
    assert [(error.path.name, error.finding) for error in listing.broken] == [
        (f"{number}.txt", finding) for number, finding in enumerate(FINDINGS.values(), start=1)
    ]


def test_what_no_file_explains_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "all").touch()
    with pytest.raises(ConfigError, match=r"its scenes cannot be listed: .* by SIGABRT"):
        list_within(Hostile(), tmp_path, LIMITS)
    with pytest.raises(ConfigError, match="no such folder"):
        list_within(Hostile(), tmp_path / "none", LIMITS)


class Careless(Hostile):
    """Fails at what it has read, outside the place that is watched."""

    def scenes(self, root: Path) -> Listing:
        listing = super().scenes(root)
        if any(ref.stamp == "fails" for ref in listing.scenes):
            raise _UnsendableError("half", "a character")
        return listing


def test_an_error_that_no_process_can_send_another_costs_its_file(tmp_path: Path) -> None:
    for name, what in {"a": "sound", "b": "fails"}.items():
        (tmp_path / f"{name}.txt").write_text(what, "utf-8")
    listing = list_within(Careless(), tmp_path, LIMITS)
    assert [ref.id for ref in listing.scenes] == ["hostile/a"]
    (broken,) = listing.broken
    assert (broken.path.name, broken.finding) == ("b.txt", "unexpected_error")
    assert broken.message.startswith("_UnsendableError: half a character (test_listing.py:")
    assert unexpected(ValueError("sent"), tmp_path).message == "ValueError: sent"


@pytest.mark.parametrize(
    ("error", "finding", "setting"),
    [
        (MemoryError("3 GiB at 0x7f"), "memory_limit", "limits.memory_gib"),
        (OSError(errno.EMFILE, "Too many open files"), "open_files_limit", "limits.open_files"),
    ],
)
def test_limits_are_told_in_words_without_numbers(error: Exception, finding: str, setting: str, tmp_path: Path) -> None:
    scene = tmp_path / "scene.json"
    scene.write_text("{}", "utf-8")
    told = unexpected(error, scene, "scannet/scene0000_00")
    assert (told.finding, told.message) == (finding, f"the work on it reached {setting}")
    assert setting in told.remedy


# ---- the files of one scene: what was made of them is made once


REF = SceneRef("set/one", ("one",), "stamp")


def test_what_was_made_once_is_given_again_with_its_findings(tmp_path: Path) -> None:
    files, made = SceneFiles(tmp_path, REF), []

    def make(found: Findings) -> list[int]:
        found.add(note("odd", "mesh", "it is odd", "none"))
        made.append(len(made))
        return made

    before = note("first", "mesh", "said before", "none")
    for _ in range(2):
        findings = Findings()
        findings.add(before)
        assert files.once("mesh", make, findings) is made
        assert [f.name for f in findings.items] == ["first", "odd"]
    assert made == [0]
    assert files.once("other", lambda found: 3, Findings()) == 3
    assert SceneFiles(tmp_path, REF).once("mesh", make, Findings()) == [0, 1], "other files share nothing"


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    files = SceneFiles(tmp_path, REF)
    for _ in range(2):
        with pytest.raises(RawDataError, match="there is no such file"):
            files.once("mesh", lambda found: files.raw(tmp_path / "absent"), Findings())
    assert files.once("mesh", lambda found: b"there", Findings()) == b"there"


def test_a_fault_of_several_things_is_named_once(tmp_path: Path) -> None:
    findings = Findings()
    for name, message in (("bad", "a lamp"), ("bad", "a chair"), ("bad", "a lamp"), ("worse", "a lamp")):
        findings.add(fault(name, "x", message, "rename it"))
    with pytest.raises(RawDataError) as raised:
        SceneFiles(tmp_path, REF).raise_faults(tmp_path, findings)
    assert (raised.value.finding, raised.value.remedy) == ("bad", "rename it")
    assert raised.value.message == "a lamp; also bad: a chair; also worse: a lamp"
