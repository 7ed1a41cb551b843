"""The manifest of a build: what was written is read, and damage is noticed rather than believed."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core.schema import Quarantine
from pipeline.engine.manifest import (
    MANIFEST_FILE,
    QUARANTINE_FILE,
    Entry,
    Lineage,
    Outcome,
    read_lineage,
    read_manifest,
    read_quarantine,
    write_outcome,
)
from pipeline.engine.store import Result

ROW = ["a" * 32, "b" * 32, "c" * 32, "d" * 32]


def _write(folder: Path) -> Outcome:
    entries = [
        Entry(
            "unify", f"rooms/{n}", *ROW, "new", Result("e" * 32, folder / "store", f"{n}.json"), 1.5, {"file": "f" * 9}
        )
        for n in range(20)
    ]
    left_out = Quarantine(unit="rooms/x", stage="unify", file="x.ply", finding="cut", message="short", remedy="again")
    outcome = Outcome(entries, [left_out])
    write_outcome(folder, outcome, ["unify"], Lineage({ROW[2]: {"cap": 6}}, {ROW[3]: {"numpy": "2"}}))
    return outcome


def _read(folder: Path) -> tuple[object, ...]:
    return read_manifest(folder), read_quarantine(folder), read_lineage(folder)


def test_what_was_written_is_read(tmp_path: Path) -> None:
    outcome = _write(tmp_path)
    assert list(read_manifest(tmp_path).values()) == sorted(outcome.manifest, key=lambda entry: entry.unit)
    assert read_quarantine(tmp_path) == outcome.quarantine
    assert read_lineage(tmp_path).config == {ROW[2]: {"cap": 6}}


def test_a_flipped_byte_is_never_read_as_another_value(tmp_path: Path) -> None:
    _write(tmp_path)
    whole = _read(tmp_path)
    nothing = ({}, [], Lineage())
    rng, noticed = np.random.default_rng(1), 0
    for file in (MANIFEST_FILE, QUARANTINE_FILE):
        raw = (tmp_path / file).read_bytes()
        for place in rng.choice(len(raw), 60, replace=False):
            damaged = bytearray(raw)
            damaged[place] ^= 1 << int(rng.integers(8))
            (tmp_path / file).write_bytes(damaged)
            now = (
                read_manifest(tmp_path),
                read_quarantine(tmp_path),
                read_lineage(tmp_path),
            )
            for found, was, none in zip(now, whole, nothing, strict=True):
                assert found in (was, none)
                noticed += found != was
        (tmp_path / file).write_bytes(raw)
    assert noticed > 40
