"""What takes long to make is made once, and whole."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.shared_files import UNUSED_S, kept, written_once


def test_it_is_written_once_and_again_where_that_was_not_finished(tmp_path: Path) -> None:
    written: list[Path] = []

    def write(folder: Path) -> None:
        written.append(folder)
        (folder / "part").touch(exist_ok=False)
        if len(written) == 1:
            raise OSError

    with pytest.raises(OSError, match=r"^$"):
        written_once(tmp_path, "a", write)
    assert [written_once(tmp_path, "a", write) for _ in range(2)] == [tmp_path / "a"] * 2
    assert len(written) == 2


def test_it_stays_for_the_next_run_until_it_would_be_another_or_nobody_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written: list[str] = []

    def write(folder: Path) -> None:
        written.append(folder.name)

    one, again, other = (kept("a", digest, write) for digest in ("x", "x", "y"))
    assert written == ["a-x", "a-y"]
    assert one == again != other
    at = other.with_name("a-y.whole").stat().st_mtime - UNUSED_S - 60
    os.utime(other.with_name("a-y.whole"), (at, at))
    assert kept("a", "x", write) == one
    assert not other.exists()
    assert kept("a", "y", write) == other
    assert written == ["a-x", "a-y", "a-y"]
