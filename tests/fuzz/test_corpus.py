"""What fuzzing found is read again: each file is refused in the declared way, or read within its bounds."""

from pathlib import Path

import pytest

from tests.fuzz.readers import CORPUS, READERS, read_corpus, tried
from tests.torture import torture


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


# ---- a sample of `python -m tests.torture`: whatever a file holds costs its own scene at most, and is said in words


@pytest.mark.slow
def test_hostile_inputs_cost_nothing_but_themselves() -> None:
    table = torture(sample=1, apart_from=("model server",))
    assert {name: row.worst for name, row in table.items() if row.faults} == {}
    assert sum(row.tried for row in table.values()) > 35
