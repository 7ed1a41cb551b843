"""What fuzzing found is read again: each file is refused in the declared way, or read within its bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.readers import CORPUS, READERS, read_corpus, tried


@pytest.mark.parametrize("name", sorted(path.stem for path in CORPUS.iterdir()))
def test_files_that_fuzzing_found(name: str, tmp_path: Path) -> None:
    files = read_corpus(name)
    assert files, "python -m tests.fuzz saves them"
    path = tmp_path / "file"
    for raw in files.values():
        path.write_bytes(raw)
        tried(READERS[name], path)  # raises what is not declared


@pytest.mark.parametrize("name", READERS)
def test_what_fuzzing_begins_with_is_sound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for raw in READERS[name].seeds():
        path.write_bytes(raw)
        assert tried(READERS[name], path)
