"""Tables: as CSV, written piece by piece, and the list of the files of a release."""

import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import pipeline.core.files
from pipeline.core.csv_tables import csv_bytes, csv_rows, read_csv
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.groups import by_frequency, first_named, grouped
from pipeline.core.parquet import TableFile, read_table, table_bytes
from pipeline.core.tables import CHECKSUMS, sums_of

GOOD = f"{'0a' * 32}  data/test.parquet"


def test_the_files_of_a_release_have_their_digests(tmp_path: Path) -> None:
    (tmp_path / CHECKSUMS).write_text(f"{GOOD}\n{'b' * 64}  README.md\n")
    assert sums_of(tmp_path) == {"data/test.parquet": "0a" * 32, "README.md": "b" * 64}


@pytest.mark.parametrize(
    "line",
    [
        f"{'0' * 63}  a",
        f"{'0' * 65}  a",
        f"{'A' * 64}  a",
        f"{'0' * 64}  ",
        f"{'0' * 64} a",
        f"{'0' * 64}  /etc/passwd",
        f"{'0' * 64}  data/../../a",
    ],
)
def test_what_is_no_file_below_a_release_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / CHECKSUMS).write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(ConfigError, match=r", line 2: is no digest of a file of a release"):
        sums_of(tmp_path)


def test_a_folder_that_is_no_release_is_told_where_it_may_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="give its folder, or copy the release again"):
        sums_of(tmp_path)
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / CHECKSUMS).write_text(GOOD)
    with pytest.raises(ConfigError, match=r"is it .*/release\?"):
        sums_of(tmp_path)


# ---- tables as CSV: what is read back is what was written; what is no table is named with what helps


def test_what_is_written_reads_back() -> None:
    cells = ("a,b", 'say "so"', "two\nlines", "straße", "")
    raw = csv_bytes(("one", "two", "three", "four", "five"), [cells, (1, 2.5, None, "x", "y")])
    assert csv_rows(raw, "it", ("one", "five"), "") == [
        dict(zip(("one", "two", "three", "four", "five"), cells, strict=True)),
        {"one": "1", "two": "2.5", "three": "", "four": "x", "five": "y"},
    ]


def test_marks_ends_of_lines_and_short_rows_of_spreadsheets() -> None:
    assert csv_rows(b"\xef\xbb\xbfa,b\r\n1\r\n\r\n2,3\r\n", "it", ("a",), "") == [
        {"a": "1", "b": ""},
        {"a": "2", "b": "3"},
    ]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"a,b\n1,2\n", "^it: no column c, d; mend it$"),
        (b"", "^it: no column a, c, d; mend it$"),
        (b"\xff\n", "^it: cannot be read as CSV: .*; mend it$"),
        (b"a,c,d\n" + b"1" * 200_000, "^it: cannot be read as CSV: field larger than .*; mend it$"),
    ],
)
def test_what_is_no_such_table(raw: bytes, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        csv_rows(raw, "it", ("a", "c", "d"), "mend it")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"t\.csv: cannot be read \(No such file or directory\); mend it$"):
        read_csv(tmp_path / "t.csv", (), "mend it")


# ---- tables written piece by piece: the same bytes as at once, and nothing left of what was not published


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


def test_groups_and_their_members_keep_their_order() -> None:
    assert list(grouped(["pear", "fig", "plum", "kiwi"], len).items()) == [(4, ["pear", "plum", "kiwi"]), (3, ["fig"])]
    assert grouped(iter(()), len) == {}


def test_of_equally_frequent_names_the_first_comes_first() -> None:
    assert by_frequency({"b": 2, "a": 2, "c": 3}) == [("c", 3), ("a", 2), ("b", 2)]


def test_of_many_names_the_first_are_told_and_the_others_counted() -> None:
    assert [first_named("abc", most) for most in (2, 3, 4)] == ["a, b, … 1 more", "a, b, c", "a, b, c"]
    assert first_named([], 2) == ""
