"""Tables written piece by piece: the same bytes as at once, and nothing left of what was not published."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pipeline.core.files
from pipeline.core.errors import StoreError
from pipeline.core.parquet import TableFile, read_table, table_bytes

META = {"version": "1"}


def table(rows: int) -> pa.Table:
    return pa.table({"number": np.arange(rows), "name": [str(i % 77) for i in range(rows)]})


@pytest.mark.parametrize(
    "cuts",
    [(0, 25_037), (0, 1, 9_999, 10_000, 20_001, 25_037), (0, 25_037, 25_037), (0, 10_000), (0, 0), (0,)],
)
def test_pieces_give_the_bytes_of_the_whole(cuts: tuple[int, ...], tmp_path: Path) -> None:
    whole = table(25_037)
    with TableFile(tmp_path / "t.parquet", whole.schema, 9, META) as file:
        for start, end in pairwise(cuts):
            file.append(whole.slice(start, end - start))
        file.finish()
        file.publish()
    raw = (tmp_path / "t.parquet").read_bytes()
    assert raw == table_bytes(whole.slice(0, cuts[-1]), 9, META)
    assert read_table(raw).num_rows == file.num_rows == cuts[-1]
    assert file.sha256 == hashlib.sha256(raw).hexdigest()


def test_an_older_file_stays_until_the_new_one_is_published(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"old")
    with TableFile(path, table(3).schema, 9, META) as file:
        file.append(table(3))
        file.finish()
        assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("writes", [0, 1, 3])
def test_a_full_disk_is_told_and_leaves_nothing(writes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, done = pipeline.core.files.write_all, []

    def write(descriptor: int, raw: bytes) -> None:
        done.append(len(raw))
        if len(done) > writes:
            raise OSError(28, "No space left on device")
        real(descriptor, raw)

    monkeypatch.setattr(pipeline.core.files, "write_all", write)
    with pytest.raises(StoreError, match="free some space"):
        _write_all(tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def _write_all(path: Path) -> None:
    with TableFile(path, table(3).schema, 9, META) as file:
        file.append(table(25_037))
        file.finish()
