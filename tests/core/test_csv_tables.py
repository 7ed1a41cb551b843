"""Tables as CSV: what is read back is what was written; what is no table is named with what helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.csv_tables import csv_bytes, csv_rows, read_csv
from pipeline.core.errors import ConfigError


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
