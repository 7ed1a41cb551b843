"""The store: whole files or none, damage is noticed, and a disk that refuses is one clear error."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pyarrow as pa
import pytest

import pipeline.core.files
import pipeline.engine.run
import pipeline.engine.store
from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, write_atomically
from pipeline.core.identity import DIGEST_CHARS, digest_of
from pipeline.core.parquet import arrow_bytes, read_table, table_bytes, table_metadata
from pipeline.engine.manifest import Outcome
from pipeline.engine.run import rounds_of
from pipeline.engine.stat_cache import STAT_CACHE_FILE
from pipeline.engine.store import PACKED_BYTES, PACKS, Result, Store, _members, hash_bits
from pipeline.release.history import HISTORY_FILE
from pipeline.stages.builder import Builder
from tests.builds import RUN_STAGES, build, config_of, release_of, whys
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

KEY = "0" * DIGEST_CHARS
HOLDS_LOCK = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def meta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata of two scenes; not to be changed."""
    scenes = {name: SCENES[name] for name in ("bedroom", "kitchen")}
    return write_scenes(tmp_path_factory.mktemp("meta") / "meta.json", scenes)


@pytest.fixture(scope="module")
def undisturbed(meta: Path) -> tuple[Path, Outcome]:
    """A build of them; not to be changed."""
    out = meta.with_name("out")
    return out, build(meta, out)


@pytest.fixture
def out(undisturbed: tuple[Path, Outcome], tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(undisturbed[0], tmp_path / "out", symlinks=True))


@contextmanager
def lock_elsewhere(path: Path) -> Iterator[None]:
    """Another process holds the lock of a build."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS_LOCK, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout.readline() == b"held\n"
        yield
        holder.communicate()


def disk_full_after(files: int, monkeypatch: pytest.MonkeyPatch, fault: int = errno.ENOSPC) -> None:
    """After so many files, half of the bytes of the next arrive, and then the disk is full, or has another fault."""
    real, begun = pipeline.core.files.write_all, set[int]()

    def write(descriptor: int, raw: bytes) -> None:
        begun.add(os.fstat(descriptor).st_ino)
        if len(begun) > files:
            os.write(descriptor, raw[: len(raw) // 2])
            raise OSError(fault, os.strerror(fault))
        real(descriptor, raw)

    monkeypatch.setattr(pipeline.core.files, "write_all", write)


def files_below(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")


# ---- one result


def test_what_is_put_is_found_and_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    put = store.put("generate", "made/room.1", KEY, b"numbers", ".parquet")
    assert store.index("generate") == {("made/room.1", KEY): put}
    assert store.get(put) == b"numbers"
    assert put.digest == digest_of(["generate", "made/room.1", digest_of(b"numbers")])
    assert store.index("select") == {}


def test_putting_it_again_changes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = store.put("generate", "made/room", KEY, b"numbers", ".parquet")
    assert store.put("generate", "made/room", KEY, b"numbers", ".parquet") == first
    assert files_below(tmp_path) == [first.path]


def test_files_of_a_build_can_be_read_by_others(tmp_path: Path) -> None:
    assert Store(tmp_path).put("generate", "made/room", KEY, b"numbers", ".json").path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("damage", [b"", b"number", b"numbers!", b"NUMBERS"])
def test_damage_is_noticed_and_left_for_the_build_to_mend(tmp_path: Path, damage: bytes) -> None:
    store = Store(tmp_path)
    result = store.put("generate", "made/room", KEY, b"numbers", ".parquet")
    assert store.get(result) == b"numbers"
    result.path.write_bytes(damage)
    with pytest.raises(StoreError, match="damaged since it was written; run the build again"):
        store.get(result)
    assert store.put("generate", "made/room", KEY, b"numbers", ".parquet") == result
    assert store.get(result) == b"numbers"


def test_a_result_that_is_gone_is_one_clear_error(tmp_path: Path) -> None:
    store = Store(tmp_path)
    result = store.put("generate", "made/room", KEY, b"numbers", ".parquet")
    result.path.unlink()
    with pytest.raises(StoreError, match=r"cannot be read \(No such file or directory\); run the build again"):
        store.get(result)


def test_foreign_and_temporary_files_are_no_results(tmp_path: Path) -> None:
    store = Store(tmp_path)
    result = store.put("generate", "made/room", KEY, b"numbers", ".parquet")
    folder = result.path.parent
    names = ("notes.txt", f"{TEMPORARY}abc", f"{TEMPORARY}room.{KEY}.{KEY}.json", f"room.{KEY}.json")
    for name in (*names, f".{KEY}.{KEY}.json", "x"):
        (folder / name).write_bytes(b"?")
    (folder / "folder").mkdir()
    (folder.parent / "loose.txt").write_bytes(b"?")
    assert store.index("generate") == {("made/room", KEY): result}


def test_pruning_keeps_what_is_named_and_what_is_not_ours(tmp_path: Path) -> None:
    store = Store(tmp_path)
    kept = store.put("generate", "made/room", KEY, b"numbers", ".parquet")
    old = store.put("generate", "made/room", "1" * DIGEST_CHARS, b"numbers", ".parquet")
    left = kept.path.parent / f"{TEMPORARY}abc"
    foreign = [kept.path.parent / "notes.txt", kept.path.parent / ".tmp-abc", tmp_path / "loose.txt"]
    for path in (left, *foreign):
        path.write_bytes(b"?")
    (kept.path.parent / "folder").mkdir()
    store.prune([kept])
    assert not old.path.exists()
    assert files_below(tmp_path) == sorted([kept.path, *foreign])


# ---- packs


def put_many(store: Store, count: int, text: str = "") -> dict[Result, bytes]:
    made = {number: f"{text}{number}".encode() for number in range(count)}
    key = digest_of(text)
    return {store.put("generate", f"made/room.{number}", key, raw, ".json"): raw for number, raw in made.items()}


def are_whole(store: Store, made: Mapping[Result, bytes]) -> bool:
    assert all(map(store.is_sound, made))
    return {result: store.get(result) for result in made} == made and {*store.index("generate").values()} >= {*made}


@pytest.fixture
def small_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline.engine.store, "PACK_RESULTS", 4)


def test_many_results_move_into_packs_and_few_new_ones_stay_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline.engine.store, "PACK_RESULTS", 20)
    store = Store(tmp_path)
    store.prune(few := put_many(store, 20))
    assert files_below(tmp_path) == sorted(result.path for result in few)
    store.prune(made := put_many(store, 100))
    packs = files_below(tmp_path)
    assert [path.name.partition(".")[0] for path in packs] == [f"{n:03b}" for n in range(8)]
    assert are_whole(store, made)
    assert store.sizes("generate", made) == [len(raw) for raw in made.values()]
    with ZipFile(packs[3]) as pack:
        assert pack.testzip() is None
        names = pack.namelist()

    def changed(count: int) -> dict[Result, bytes]:
        units = [f"made/{Path(name).name.rsplit('.', 3)[0]}" for name in names[:count]]
        new = {store.put("generate", unit, "1" * DIGEST_CHARS, b"new", ".json"): b"new" for unit in units}
        return {result: raw for result, raw in made.items() if result.name[9:] not in names[:count]} | new

    store.prune(kept := changed(1))
    assert {*files_below(tmp_path)} == {*packs} | {result.path for result in {*kept} - {*made}}
    assert are_whole(store, kept)
    store.prune(kept := changed(len(names)))
    assert [*map(files_below(tmp_path).__contains__, packs)] == [number != 3 for number in range(8)]
    assert are_whole(store, kept)
    assert {*store.index("generate").values()} == {*kept}


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("then", [100, 40, 7, 1, 0])
def test_packs_split_and_merge_as_a_build_grows_and_shrinks(tmp_path: Path, then: int) -> None:
    store = Store(tmp_path)
    store.prune(put_many(store, 40))
    store.prune(made := put_many(store, then))
    assert are_whole(store, made)
    sizes = [len(_members(path)) for path in files_below(tmp_path)]
    assert sum(sizes) == then
    assert all(size <= 3 * 4 for size in sizes)
    store.prune(made)
    assert [len(_members(path)) for path in files_below(tmp_path)] == sizes


@pytest.mark.usefixtures("small_packs")
def test_a_round_reads_and_writes_none_of_the_packs_of_other_rounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a round costs does not grow with the rounds before it."""
    store, made = Store(tmp_path), dict[Result, bytes]()
    monkeypatch.setattr(pipeline.engine.run, "ROUND_UNITS", 10)
    rounds = rounds_of([f"made/room.{number}" for number in range(80)])
    read = list[Path]()
    monkeypatch.setattr(pipeline.engine.store, "_members", lambda pack: [read.append(pack), _members(pack)][1])
    for units in rounds:
        before = files_below(tmp_path)
        made |= {store.put("generate", unit, KEY, unit.encode(), ".json"): unit.encode() for unit in units}
        store.pack("generate", 80)
        assert {*before} <= {*files_below(tmp_path)}
    assert len(rounds) == 8
    assert read == []
    late = {store.put("generate", unit, "1" * DIGEST_CHARS, b"new", ".json"): b"new" for unit in rounds[3]}
    store.pack("generate", 80)
    bits = {hash_bits(unit)[:5] for unit in rounds[3]}
    assert {pack.name[:5] for pack in read} == bits
    assert not [path for path in files_below(tmp_path) if path.parent.name != PACKS]
    assert are_whole(store, made | late)


@pytest.mark.usefixtures("small_packs")
@pytest.mark.parametrize("bit", range(8))
def test_a_pack_whose_directory_names_another_place_hides_no_result_that_was_made_again(
    tmp_path: Path, bit: int
) -> None:
    """The last bytes of an archive tell where its directory begins: 16 MB too far, all places are below 0."""
    store = Store(tmp_path)
    store.prune(made := put_many(store, 40))
    pack = files_below(tmp_path)[0]
    raw = bytearray(pack.read_bytes())
    raw[-3] ^= 1 << bit
    pack.write_bytes(raw)
    pipeline.engine.store._known_packs.cache_clear()  # as in another process
    pipeline.engine.store._members_of_whole.cache_clear()
    put_many(store, 40)
    assert {result: store.get(result) for result in made} == made


@pytest.mark.usefixtures("small_packs")
def test_damage_in_a_pack_costs_the_result_that_it_hit(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.prune(made := put_many(store, 40))
    pack = files_below(tmp_path)[0]
    held = _members(pack)
    hit = min(held)
    raw = bytearray(pack.read_bytes())
    raw[held[hit][0]] ^= 1
    pack.write_bytes(raw)
    assert [result.name for result in made if not store.is_sound(result)] == [f"generate/{hit}"]
    pack.unlink()
    assert {r.name for r in made if not store.is_sound(r)} == {f"generate/{name}" for name in held}


@pytest.mark.usefixtures("small_packs")
def test_a_large_result_stays_a_file(tmp_path: Path) -> None:
    store = Store(tmp_path)
    large = store.put("generate", "made/large", KEY, bytes(PACKED_BYTES + 1), ".json")
    store.prune(made := put_many(store, 40) | {large: bytes(PACKED_BYTES + 1)})
    assert large.path in files_below(tmp_path)
    assert are_whole(store, made)


class StopError(BaseException):
    """Stands for a kill."""


@pytest.mark.usefixtures("small_packs")
def test_packing_may_stop_anywhere(tmp_path: Path) -> None:
    """Whatever was renamed or removed by then, every result is in one place at least, and the next build goes on."""
    for stops in range(1, 200):
        store = Store(tmp_path / str(stops))
        store.prune(put_many(store, 10))
        made = put_many(store, 30)
        with pytest.MonkeyPatch.context() as patch:
            left = iter(range(stops))

            def stopping(real: Any, *args: Any, left: Iterator[int] = left, **named: Any) -> Any:
                if next(left, None) is None:
                    raise StopError
                return real(*args, **named)

            for name in ("replace", "unlink"):
                real = partial(stopping, getattr(Path, name))
                patch.setattr(Path, name, lambda *args, real=real, **named: real(*args, **named))
            try:
                store.prune(made)
            except StopError:
                ended = False
            else:
                ended = True
        assert are_whole(store, made)
        if ended:
            break
        store.prune(made)
        assert are_whole(store, made)
        assert {path.parent.name for path in files_below(store.root)} == {PACKS}
        assert sum(len(_members(path)) for path in files_below(store.root)) == 30
        shutil.rmtree(store.root)
    else:
        pytest.fail("more steps than meant")


# ---- one file


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomically(path, b"before")
    write_atomically(path, b"after")
    assert path.read_bytes() == b"after"
    assert files_below(tmp_path) == [path]


def test_a_full_disk_leaves_the_old_file_and_no_half_of_the_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"before")
    disk_full_after(0, monkeypatch)
    with pytest.raises(StoreError) as error:
        write_atomically(path, b"after")
    assert str(error.value) == f"{tmp_path}: cannot write (No space left on device): free some space"
    assert path.read_bytes() == b"before"
    assert files_below(tmp_path) == [path]


def test_a_folder_below_a_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError) as error:
        write_atomically(tmp_path / "file" / "folder" / "x", b"")
    expected = f"{tmp_path}/file/folder: cannot write (Not a directory): give a folder that can be written"
    assert str(error.value) == expected


def test_digests_follow_the_value_alone() -> None:
    assert digest_of({"a": 1, "b": [2, "ä"]}) == digest_of({"b": [2, "ä"], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
    assert digest_of(b"x") != digest_of("x")


@pytest.mark.parametrize("as_bytes", [table_bytes, arrow_bytes])
def test_a_table_has_the_same_bytes_however_it_is_chunked(as_bytes: Callable[..., bytes]) -> None:
    whole = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"]})
    parts = pa.concat_tables([whole.slice(0, 1), whole.slice(1)])
    assert as_bytes(whole) == as_bytes(whole)
    assert as_bytes(parts.combine_chunks()) == as_bytes(whole)
    assert read_table(as_bytes(parts)).equals(whole)
    assert read_table(as_bytes(whole), ["name"]).equals(whole.select(["name"]))
    assert read_table(as_bytes(whole.slice(0, 0))).equals(whole.slice(0, 0))
    assert read_table(as_bytes(whole, metadata={"of": "a"})).schema.metadata == {b"of": b"a"}
    with pytest.raises(StoreError, match="another version of scan2qa made it; build again"):
        table_metadata(b"{}")
    with pytest.raises(pa.ArrowInvalid, match="neither Parquet nor an Arrow stream"):
        read_table(b"{}")


# ---- a whole build


@pytest.mark.slow
def test_a_damaged_or_missing_result_is_made_again(meta: Path, undisturbed: tuple[Path, Outcome]) -> None:
    """Of one stage after the other: each time all is as it was."""
    out, first = undisturbed
    released = release_of(out)
    for stage in (*RUN_STAGES, "export"):
        entries = [e for e in first.manifest if e.stage == stage and e.output]
        entries[0].output.path.write_bytes(b"damaged")
        entries[-1].output.path.unlink(missing_ok=True)
        again = build(meta, out)
        expected = dict.fromkeys(e.unit for e in (entries[0], entries[-1]))
        assert [(e.stage, e.unit, e.why) for e in again.manifest if e.why != "reused"] == [
            (stage, unit, "missing") for unit in expected
        ]
        assert release_of(out) == released
        assert [e.output.digest for e in again.manifest if e.output] == [
            e.output.digest for e in first.manifest if e.output
        ]


def contents_below(folder: Path) -> dict[Path, bytes]:
    """All but the manifests, which tell how long each stage took, and the history, which tells when."""
    files = (p for p in files_below(folder) if "manifest" not in p.name and p.name != HISTORY_FILE)
    return {p.relative_to(folder): p.read_bytes() for p in files}


@pytest.mark.slow
def test_files_left_over_are_removed_by_a_build_and_those_of_others_are_not(meta: Path, out: Path) -> None:
    places = [
        out,
        out / "store",
        *(out / "store" / stage / "samples" for stage in RUN_STAGES),
        out / "store/export/build",
    ]
    data = out / "my data"  # may lie there too, and is not ours
    data.mkdir()
    mine = [data / f"{TEMPORARY}mine", out / "store" / "generate" / "samples" / "notes.txt", out / "release" / "a.pdf"]
    for path in mine:
        path.write_bytes(b"mine")
    before = files_below(out)
    for place in places:
        (place / f"{TEMPORARY}left").write_bytes(b"half a fi")
    (out / "releases" / f"{TEMPORARY}release").mkdir()
    (out / "releases" / f"{TEMPORARY}release" / "README.md").write_bytes(b"half a rel")
    (out / "store" / "generate" / "samples" / f"gone.{KEY}.{KEY}.parquet").write_bytes(b"old")
    assert whys(build(meta, out)) == {stage: {"reused"} for stage in (*RUN_STAGES, "balance", "review", "export")}
    assert files_below(out) == sorted([*before, out / STAT_CACHE_FILE])


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"PAR1 not a table", None])
def test_a_damaged_manifest_costs_nothing_but_the_reasons(damage: bytes | None, meta: Path, out: Path) -> None:
    released = release_of(out)
    if damage is None:
        (out / "manifest.parquet").unlink()
    else:
        (out / "manifest.parquet").write_bytes(damage)
    assert whys(build(meta, out)) == {stage: {"reused"} for stage in (*RUN_STAGES, "balance", "review", "export")}
    assert release_of(out) == released


FREE = "free some space"
ELSEWHERE = "give a folder that can be written"
FAULTS = [(errno.ENOSPC, FREE), (errno.EDQUOT, FREE), (errno.EROFS, ELSEWHERE), (errno.EIO, ELSEWHERE)]


@pytest.mark.long
@pytest.mark.parametrize(("fault", "remedy"), FAULTS)
def test_a_disk_that_fails_ends_a_build_at_any_write_and_costs_nothing(
    fault: int,
    remedy: str,
    meta: Path,
    undisturbed: tuple[Path, Outcome],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = contents_below(undisturbed[0])
    n_files = len(files_below(undisturbed[0]))
    out = tmp_path / "out"
    for writes in range(n_files):
        with monkeypatch.context() as patch:
            disk_full_after(writes, patch, fault)
            with pytest.raises(StoreError) as error:
                build(meta, out / str(writes))
        text = str(error.value)
        assert text.startswith(str(out / str(writes)))
        assert text.endswith(f"cannot write ({os.strerror(fault)}): {remedy}")
        there = contents_below(out / str(writes))
        assert there.items() <= whole.items(), "what was written is whole, and there is nothing else"
        assert not list((out / str(writes)).rglob(".tmp-*"))
    for writes in range(n_files):
        build(meta, out / str(writes))
        assert release_of(out / str(writes)) == release_of(undisturbed[0])


@pytest.mark.parametrize("inner", ["", "deeper/still"])
def test_an_unwritable_folder_is_one_clear_error(inner: str, meta: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    out = tmp_path / "file" / inner
    for attempt in (Builder.check, Builder.build):
        with pytest.raises(StoreError) as error:
            attempt(Builder(config_of(meta), out))
        assert str(error.value).startswith(f"{out}: cannot write (")
        assert str(error.value).endswith("): give a folder that can be written")


@pytest.mark.slow
def test_a_second_build_into_the_same_folder_is_refused(meta: Path, out: Path) -> None:
    released = release_of(out)
    with lock_elsewhere(out / ".lock"):
        for attempt in (Builder.check, Builder.build, lambda b: b.stage("generate")):
            with pytest.raises(StoreError, match="another build is running in this folder; wait for it or give --out"):
                attempt(Builder(config_of(meta), out))
        assert whys(Builder(config_of(meta), out).dry_run())["export"] == {"reused"}, "looking is allowed"
    assert release_of(out) == released
    build(meta, out)


def test_the_lock_is_given_back_when_a_build_fails(meta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        disk_full_after(3, patch)
        with pytest.raises(StoreError):
            build(meta, tmp_path / "out")
    with (tmp_path / "out" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
