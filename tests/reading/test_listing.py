"""Listing within limits: a file at which the process ends costs its own scenes alone."""

import ctypes
import errno
import faulthandler
import gc
import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel, Field

from pipeline.core.budget import GIB, WorkerLimits
from pipeline.core.errors import ConfigError, RawDataError, unexpected
from pipeline.core.files import read_file
from pipeline.core.findings import Findings, fault, note
from pipeline.reading.doctor import has_part, inspect
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import FolderReader, split_names
from pipeline.reading.listing import list_within
from pipeline.reading.reader import ExpectedFile, Reader
from pipeline.reading.settings import File, SafeName, read_model

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
        faulthandler.disable()  # that of pytest, in the fork: what ends it is meant to
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
    with pytest.raises(ConfigError, match=f"{tmp_path}: a folder$"):
        list_within(Hostile(), tmp_path, LIMITS)
    (tmp_path / "all").touch()
    with pytest.raises(ConfigError, match=r"its scenes cannot be listed: .* by SIGABRT"):
        list_within(Hostile(), tmp_path, LIMITS)
    with pytest.raises(ConfigError, match="no such folder"):
        list_within(Hostile(), tmp_path / "none", LIMITS)


def test_a_fork_deletes_nothing_of_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A video's decoder waits for its threads as it is deleted, and would do so for ever in a process without them."""

    class Decoder:
        def __init__(self) -> None:
            self.own, self.process = self, os.getpid()

        def __del__(self) -> None:
            if os.getpid() != self.process:
                os._exit(9)

    def fork(fork: Callable[[], int] = os.fork) -> int:
        Decoder()
        if not (child := fork()):
            gc.set_threshold(1)
            assert all([] == [] for _ in range(9))
        return child

    (tmp_path / "a.txt").write_text("sound", "utf-8")
    monkeypatch.setattr("pipeline.reading.listing.os.fork", fork)
    assert len(list_within(Hostile(), tmp_path, LIMITS).scenes) == 1
    assert gc.isenabled()


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


def test_the_source_of_a_scene_is_a_digest_of_names_and_bytes(tmp_path: Path) -> None:
    files, digests = SceneFiles(tmp_path / "one", REF), []
    for name, raw in (("b.txt", b"second"), ("../a.txt", b"first")):
        (tmp_path / "one" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "one" / name).write_bytes(raw)
        assert files.raw(tmp_path / "one" / name) == raw
        digests.append(f"{name}\0{hashlib.sha256(raw).hexdigest()}\n")
    source = files.source("made", 3, "boxes")
    assert (source.reader, source.reader_version, source.box_method) == ("made", 3, "boxes")
    assert source.files == ("../a.txt", "b.txt")
    assert source.sha256 == hashlib.sha256("".join(digests[::-1]).encode()).hexdigest()
    assert (files.dataset, files.name, files.scene) == ("set", "one", "set/one")


# ---- settings beside the data


class Inner(BaseModel, extra="forbid"):
    near_m: float = Field(default=1.0, description="metres above 0", gt=0)
    bare: int = 0


class Settings(BaseModel, extra="forbid"):
    file: File = Field(default="a.txt", description="a file's name")
    dataset: SafeName = "made"
    inner: Inner | None = None
    needed: int = Field(description="a whole number")


@pytest.mark.parametrize(
    ("text", "finding", "message", "remedy"),
    [
        ("needed: 1\nfile: a/../../b", "bad_setting", "file is 'a/../../b': a file lies below the folder of the "
         "settings or the root, without '..'", "file takes a file's name"),
        ("needed: 1\nfile: /a", "bad_setting", "file is '/a': a file lies below", "file takes a file's name"),
        ("needed: 1\nfile: 'c:\\a'", "bad_setting", "file is 'c:\\\\a': a file lies", "file takes a file's name"),
        ("needed: 1\nfile: ''", "bad_setting", "file is '': a file lies", "file takes a file's name"),
        ("needed: 1\nfile: \"a\\0\"", "bad_setting", "file is 'a\\x00': a file lies", "file takes a file's name"),
        ("needed: 1\ndataset: a/b", "bad_setting", "dataset is 'a/b': a name holds 1 to 99 letters", ""),
        ("needed: 1\ninner: {near_m: -2}", "bad_setting", "inner.near_m is '-2': Input should be greater than 0",
         "near_m takes metres above 0"),
        ("needed: 1\ninner: {bare: x}", "bad_setting", "inner.bare is 'x': Input should be a valid integer", ""),
        ("needed: 1\ninner: {near: 2}", "bad_setting", "unknown key inner.near", "the keys are near_m, bare"),
        ("far: 1", "bad_setting", "needed is missing; also unknown key far", "needed takes a whole number"),
        ("\n".join(f"k{n}: {n}" for n in range(9)), "bad_setting",
         "needed is missing; also unknown key k0; also unknown key k1; also unknown key k2; also unknown key k3",
         "needed takes a whole number"),
        (f"needed: {'x' * 99}", "bad_setting", f"needed is '{'x' * 80}': Input", "needed takes a whole number"),
        ("- 1", "bad_yaml", "the file is list, not a mapping of keys", "the keys are file, dataset, inner, needed"),
        ("needed: &a 1\nfile: *a", "bad_yaml", "cannot be read as YAML: line 2: an alias (*a); write the value out",
         "mend the line it names"),
        ("needed: 1\n\nneeded: 2", "bad_yaml", "cannot be read as YAML: line 1: the key 'needed' is given twice",
         "mend the line it names"),
        (f"needed: {'1' * 65}", "bad_yaml", "cannot be read as YAML: line 1: a number of 65 characters, over 64",
         "mend the line it names"),
    ],
)  # fmt: skip
def test_settings_name_what_is_wrong_and_what_they_take(
    text: str, finding: str, message: str, remedy: str, tmp_path: Path
) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(text, "utf-8")
    with pytest.raises(RawDataError) as raised:
        read_model(SceneFiles(tmp_path, REF), path, Settings)
    assert (raised.value.finding, raised.value.remedy) == (finding, remedy)
    assert raised.value.message.startswith(message)
    assert "k4" not in raised.value.message, "five are named"


def test_settings_that_are_sound(tmp_path: Path) -> None:
    path = tmp_path / "made.yaml"
    path.write_text(f"needed: {'1' * 64}\nfile: a/b.txt\ninner: {{near_m: 0.5}}", "utf-8")
    found = read_model(SceneFiles(tmp_path, REF), path, Settings)
    assert found == Settings(needed=int("1" * 64), file="a/b.txt", inner=Inner(near_m=0.5))


# ---- what folders have


def test_which_parts_a_scene_has(tmp_path: Path) -> None:
    """By what its folder holds, named as it is; by what was listed of it; or by what somebody looks at."""
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "one_mesh.ply").touch()
    ref = SceneRef("set/one", ("one", "one/film.MP4"), "")

    def part(**told: Any) -> ExpectedFile:
        return ExpectedFile(**{"part": "part", "patterns": (), "without": ""} | told)

    wanted = {
        "mesh": part(patterns=("x", "deep/{}_mesh.ply")), "other": part(patterns=("{}_mesh.ply",)),
        "film": part(recorded=(".mp4",)), "pictures": part(recorded=(".jpg",)), "folder": part(recorded=("one",)),
        "there": part(present=Path.is_dir), "not": part(present=Path.is_file, recorded=(".mp4",)),
    }  # fmt: skip
    found = {name for name, want in wanted.items() if has_part(tmp_path, ref, want)}
    assert found == {"mesh", "film", "there"}


def test_names_of_a_split_are_of_the_first_list_that_there_is(tmp_path: Path) -> None:
    (tmp_path / "b").write_text("one two\n\n two", "utf-8")
    (tmp_path / "c").write_bytes(b"\xff")
    assert split_names(tmp_path, ("a", "b", "c"), "val") == {"one", "two"}
    with pytest.raises(ConfigError, match="c: cannot be read"):
        split_names(tmp_path, ("c", "b"), "val")
    with pytest.raises(ConfigError, match=r"no list of the split 'val' \(looked for a, d\)"):
        split_names(tmp_path, ("a", "d"), "val")


def test_a_scene_that_is_there_twice_is_none(tmp_path: Path) -> None:
    class Twice(Hostile):
        scene_word = "scan"

        def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
            yield SceneRef(f"hostile/{place.stem[0]}", (place.name,), "")

    for name in ("b2", "b1", "a1"):
        (tmp_path / f"{name}.txt").touch()
    found = Twice().scenes(tmp_path)
    assert [ref.id for ref in found.scenes] == ["hostile/a"]
    assert [(error.path.name, error.finding, error.scene, error.message) for error in found.broken] == [
        ("b1.txt", "duplicate_scene", "hostile/b",
         "the scan is there 2 times, as b1.txt, b2.txt, and which one is right is not known")
    ]  # fmt: skip
    Twice.scene_word = None  # type: ignore[assignment]
    assert [ref.files for ref in Twice().scenes(tmp_path).scenes] == [("a1.txt",), ("b1.txt",), ("b2.txt",)]


class Plain(Reader):
    """Defines what a reader must, and nothing else; its scenes are the lines of a file."""

    name, version = "plain", 1

    def scenes(self, root: Path) -> Listing:
        lines = (root / "names.txt").read_text("utf-8").splitlines()
        return Listing(tuple(SceneRef(line, ("names.txt",), "") for line in lines), ())


def test_a_scene_whose_id_cannot_be_part_of_file_names_is_left_out(tmp_path: Path) -> None:
    unsafe = ["plain/living room", "plain/../../up", "plain", "/a", "plain/" + 100 * "a"]
    (tmp_path / "names.txt").write_text("\n".join(["plain/a", *unsafe, "other/b.1"]), "utf-8")
    listing = list_within(Plain(), tmp_path, LIMITS)
    assert [ref.id for ref in listing.scenes] == ["plain/a", "other/b.1"]
    assert [(error.scene, error.finding) for error in listing.broken] == [
        (name, "unsafe_scene_name") for name in unsafe
    ]
    assert inspect(Plain(), tmp_path).missing == {}  # it looks for no files of a scene
