"""Files of many scenes, JSON and Parquet: which bytes are whose, and what is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.core.errors import FormatError
from pipeline.formats.json_scenes import split_scenes
from pipeline.formats.parquet_rows import read_rows


def test_scenes_have_the_bytes_of_their_values() -> None:
    raw = '\ufeff {"räum": {"n": 1},\n "b": [2] }'.encode()
    first, second = split_scenes(raw)
    assert [(one.name, one.value) for one in (first, second)] == [("räum", {"n": 1}), ("b", [2])]
    for one, body in ((first, b'{"n": 1}'), (second, b"[2]")):
        assert raw[slice(*one.span)] == body
        assert one.sha256 == hashlib.sha256(body).hexdigest()


@pytest.mark.parametrize(
    ("raw", "finding"),
    [
        (b"", "empty_file"),
        (b" \n", "empty_file"),
        (b"\x80{}", "not_utf8"),
        (b"\xff{}", "not_utf8"),
        (b"[]", "not_an_object"),
        ("é".encode(), "not_an_object"),
    ],
)
def test_what_is_no_object_of_scenes_is_named(raw: bytes, finding: str) -> None:
    with pytest.raises(FormatError) as caught:
        list(split_scenes(raw))
    assert caught.value.finding == finding


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize(("episode", "rows"), [(1, [0, 1]), (2, [2]), (3, [3]), (4, [])])
def test_rows_of_an_episode_whatever_the_file_tells_of_its_groups(
    tmp_path: Path, statistics: bool, episode: int, rows: list[int]
) -> None:
    path = tmp_path / "a.parquet"
    table = pa.table({"episode": [1, 1, 2, 3], "row": [0, 1, 2, 3], "word": ["a", "b", "c", "d"]})
    pq.write_table(table, path, row_group_size=2, write_statistics=statistics)
    assert read_rows(path, ["episode", "row"], ("episode", episode))["row"] == rows


def test_columns_that_are_not_there_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match="without the columns b; there are a"):
        read_rows(tmp_path / "a.parquet", ["a", "b"])
