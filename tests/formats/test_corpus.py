"""What fuzzing found is read again: each file is refused in the declared way, or read within its bounds, as before."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from tests.fuzz.readers import CORPUS, READERS, read_corpus, tried
from tests.torture import torture

CORPORA: Final = {path.stem for path in CORPUS.iterdir()}
# Of what each reader makes of all its files, to the fourth decimal. Where one is another, files are read otherwise.
HELD: Final = {
    "ply": "4cf783597ed5",
    "sens": "9291681c8ec9",
    "depth_stream": "5fbcf745d6d5",
    "picture": "9e310dd07b93",
    "zips": "5a66654e0350",
    "colmap": "7c5dfb3ebe14",
    "px4_ulog": "1147dd312534",
    "dataflash": "722778f77f71",
    "tlog": "18d0c4b68077",
    "gpmf": "38a6f6a12a9c",
    "carla_log": "7977b0303e54",
    "feather": "a3cbd54420c8",
    "pickles": "ad53b399dcf2",
}


def told(value: object) -> object:
    """What can be told apart in a value: of numbers the fourth decimal, of errors the name."""
    found: object = repr(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            value = np.where(np.isnan(value), np.nan, np.round(value.astype(np.float64), 4) + 0.0)
        raw = value.astype("<i8").tobytes() if value.dtype.kind in "iub" else repr(value.tolist()).encode()
        found = value.dtype.kind, value.shape, hashlib.sha256(raw).hexdigest()
    elif isinstance(value, Exception):
        found = type(value).__name__, getattr(value, "finding", "")
    elif isinstance(value, Mapping):
        found = [(told(key), told(entry)) for key, entry in value.items()]
    elif isinstance(value, list | tuple):
        found = [told(entry) for entry in value]
    elif isinstance(value, Path):
        found = value.name
    elif isinstance(value, float):
        found = f"{value:.4f}"
    elif dataclasses.is_dataclass(value):
        found = [(field.name, told(getattr(value, field.name))) for field in dataclasses.fields(value)]
    elif hasattr(value, "__dict__"):
        found = [(name, told(entry)) for name, entry in sorted(vars(value).items())]
    return found


@pytest.mark.parametrize("name", READERS)
def test_files_that_fuzzing_found(name: str, tmp_path: Path) -> None:
    files, fuzzed = read_corpus(name), READERS[name]
    assert files or name not in CORPORA, "python -m tests.fuzz saves them"
    path = tmp_path / "file"
    found = hashlib.sha256()
    for raw in (*fuzzed.seeds(), *files.values()):
        path.write_bytes(raw)
        try:
            value = fuzzed.read(path)
        except fuzzed.declared as error:  # what is not declared is a fault
            value = error
        found.update(repr(told(value)).encode())
    assert found.hexdigest()[:12] == HELD[name]


@pytest.mark.parametrize("name", READERS)
def test_what_fuzzing_begins_with_is_sound(name: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for raw in READERS[name].seeds():
        path.write_bytes(raw)
        assert tried(READERS[name], path) is not None


# ---- a sample of `python -m tests.torture`: whatever a file holds costs its own scene at most, and is said in words


@pytest.mark.slow
def test_hostile_inputs_cost_nothing_but_themselves() -> None:
    table = torture(sample=1, apart_from=("model server",))
    assert {name: row.worst for name, row in table.items() if row.faults} == {}
    assert sum(row.tried for row in table.values()) > 35
