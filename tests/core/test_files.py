"""Files are written whole, with the rights that new files have here, and a disk's refusal names its remedy."""

import errno
import os
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.core import files
from pipeline.core.errors import NoSpaceError, StoreError
from pipeline.core.files import read_file, sync_files, write_atomically
from pipeline.core.parquet import TableFile


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.parametrize(("mask", "rights"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_files_have_the_rights_that_the_user_gives(tmp_path: Path, mask: int, rights: int) -> None:
    schema = pa.schema([("n", pa.int64())])
    with umask(mask):
        write_atomically(tmp_path / "a", b"1")
        write_atomically(tmp_path / "salt", b"1", mode=0o600)
        with TableFile(tmp_path / "t.parquet", schema, 3, {}) as file:
            file.finish()
            file.publish()
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"a": rights, "t.parquet": rights, "salt": 0o600}


@pytest.mark.parametrize("size", [0, 1, 70_000])
def test_reading_asks_for_as_much_memory_as_the_file_has(tmp_path: Path, size: int) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)
    tracemalloc.start()
    try:
        assert read_file(tmp_path / "a", most_bytes=4 * 2**30) == b"x" * size
        assert tracemalloc.get_traced_memory()[1] < size + 300_000
    finally:
        tracemalloc.stop()
    if size:
        with pytest.raises(OSError, match=f"{size} bytes, over {size - 1}"):
            read_file(tmp_path / "a", most_bytes=size - 1)


def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"whole and more")
    monkeypatch.setattr(files, "size_of_file", lambda _: 5)
    with pytest.raises(OSError, match="it grew beyond 5 bytes"):
        read_file(tmp_path / "a")


def test_a_folder_in_a_files_place_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(StoreError, match=rf"move {tmp_path / 'a'} away"):
        write_atomically(tmp_path / "a", b"1")
    (tmp_path / "b").write_bytes(b"")
    with pytest.raises(StoreError, match="give a folder that can be written"):
        write_atomically(tmp_path / "b" / "c", b"1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_files_are_synced_together_each_of_them_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    paths = [tmp_path / f"{n}.txt" for n in range(1001)]
    for path in paths:
        write_atomically(path, b"x", sync=False)
    assert synced == []
    sync_files(iter(paths))
    assert sorted(synced) == sorted(path.stat().st_ino for path in paths)


def test_a_disk_that_is_full_when_files_are_synced_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    write_atomically(tmp_path / "a", b"x", sync=False)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(NoSpaceError, match="free some space"):
        sync_files([tmp_path / "a"])
