"""Lists of the files of a release."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import ConfigError
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
