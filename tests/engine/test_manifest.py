"""The manifest of a build: what was written is read, and damage is noticed rather than believed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pipeline.core.schema import Quarantine
from pipeline.engine.manifest import (
    MANIFEST_FILE,
    QUARANTINE_FILE,
    Entry,
    Lineage,
    Manifest,
    Outcome,
    ReusedPack,
    read_lineage,
    read_manifest,
    read_quarantine,
    write_outcome,
)
from pipeline.engine.plan import expected_of
from pipeline.engine.store import Result

ROW = ["a" * 32, "b" * 32, "c" * 32, "d" * 32]


def _entry(folder: Path, n: int) -> Entry:
    output = Result("e" * 32, folder / "store", f"{n}.json")
    return Entry("unify", f"rooms/{n}", *ROW, "new", output, 1.5, {"file": "f" * 9})


def _write(folder: Path, units: int = 20) -> Outcome:
    manifest = Manifest(units, folder)
    manifest.add(_entry(folder, n) for n in range(units))
    left_out = Quarantine(unit="rooms/x", stage="unify", file="x.ply", finding="cut", message="short", remedy="again")
    outcome = Outcome(manifest, [left_out])
    write_outcome(folder, outcome, ["unify"], Lineage({ROW[2]: {"cap": 6}}, {ROW[3]: {"numpy": "2"}}))
    return outcome


def _read(folder: Path) -> tuple[object, ...]:
    return dict(read_manifest(folder)), read_quarantine(folder), read_lineage(folder)


@pytest.mark.parametrize("open_packs", [40, pytest.param(1, marks=pytest.mark.long)])
def test_what_was_written_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, open_packs: int) -> None:
    """In three packs or more, of which one at a time is in memory or all."""
    monkeypatch.setattr("pipeline.engine.manifest.OPEN_PACKS", open_packs)
    outcome, found = _write(tmp_path, 600), read_manifest(tmp_path)
    assert len(found.packs) == len(outcome.entries.packs) == 4
    assert max(len(found.pack(bits)) for bits in found.packs) < 200
    assert dict(found) == dict(outcome.entries) == {("unify", f"rooms/{n}"): _entry(tmp_path, n) for n in range(600)}
    assert found["unify", "rooms/7"] == _entry(tmp_path, 7)
    assert found.get(("unify", "rooms/x")) is None
    other = Manifest(600, tmp_path)
    other.add(replace(_entry(tmp_path, n), unit=f"rooms/{n + 1}") for n in range(600))
    assert found.has_keys_of(outcome.entries)
    assert not found.has_keys_of(other)
    assert outcome.counts() == {"unify": {"new": 600}}
    outcome.entries.add([replace(_entry(tmp_path, 7), why="reused")])
    assert outcome.counts() == {"unify": {"new": 599, "reused": 1}}
    assert len(list(outcome.ran)) == 599
    assert read_quarantine(tmp_path) == outcome.quarantine
    assert read_lineage(tmp_path).config == {ROW[2]: {"cap": 6}}


def test_rows_that_come_in_the_order_of_their_units_open_each_pack_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.engine.manifest.OPEN_PACKS", 1)
    manifest = Manifest(2000, tmp_path)
    entries = [_entry(tmp_path, n) for n in range(200)]
    opened, closed = list[str](), Manifest.table
    monkeypatch.setattr(Manifest, "table", lambda self, *args: (opened.append(args[0]), closed(self, *args))[1])
    manifest.add(entries)
    assert len(opened) == len(set(opened)) == 8
    assert sorted(manifest.rows({"rooms/0", "rooms/99"}), key=entries.index) == [entries[0], entries[99]]
    assert [*manifest.rows({"rooms/0"}, is_made=False)] == [*manifest.rows({"rooms/0"}, ["observe"])] == []


def test_a_manifest_has_the_same_bytes_in_whatever_order_settings_came(tmp_path: Path) -> None:
    written = set()
    for order in (1, -1):
        outcome = _write(folder := tmp_path / f"{order}")
        told, code = [("cap", 6), ("most", 7)][::order], [("numpy", "2"), ("pyarrow", "3")][::order]
        write_outcome(folder, outcome, ["unify"], Lineage({ROW[2]: dict(told)}, {ROW[3]: dict(code)}))
        written.add((folder / MANIFEST_FILE).read_bytes())
    assert len(written) == 1


def test_a_plan_expects_what_is_there_or_not_known_yet_and_nothing_that_failed(tmp_path: Path) -> None:
    """What failed with another key than it has now is not known yet; nor is what has no key."""
    there, failed, other, new = (_entry(tmp_path, n) for n in range(4))
    failed, other = (replace(entry, output=None) for entry in (failed, other))
    previous, plan = Manifest(4, tmp_path), Manifest(4, tmp_path)
    previous.add([failed, replace(other, key="9" * 32)])
    plan.add([there, failed, other, replace(new, key="", output=None)])
    told = {there.unit: there.output, other.unit: None, new.unit: None}
    assert expected_of(plan, None, previous) == {"unify": told}


def test_rows_of_another_manifest_stand_for_themselves_until_one_is_replaced(tmp_path: Path) -> None:
    before, now = Manifest(600, tmp_path), Manifest(600, tmp_path)
    rows = {(s, f"rooms/{n}"): replace(_entry(tmp_path, n), stage=s) for n in range(600) for s in ("unify", "video")}
    before.add(rows.values())
    packs = [ReusedPack.of(before, bits, before.table(bits)) for bits in before.packs[:-1]]
    here = {at for at in rows if before.pack_of(at[1]) != before.packs[-1]}
    for pack in packs:
        now.reuse(pack, ["video"])
    assert dict(now) == {at: replace(rows[at], why="reused") for at in here if at[0] == "video"}
    assert now.counts == {"video": {"reused": len(here) // 2}}
    first = min(unit for _, unit in here)
    now.add([replace(rows["unify", first], why="input")])
    for pack in packs:
        now.reuse(pack, ["unify"])  # over the row that was there, too
    assert dict(now) == {at: replace(rows[at], why="reused") for at in here}
    now.add([replace(rows["unify", first], why="input")])
    assert now.counts == {"video": {"reused": len(here) // 2}, "unify": {"reused": len(here) // 2 - 1, "input": 1}}
    assert now.reused_packs.keys() == {*before.packs[:-1]} - {now.pack_of(first)}
    assert [entry.unit for entry in Outcome(now).ran] == [first]
    assert [*now.counts] == ["video", "unify"], "in the order in which they were added"
    assert now.results() == {s: {u: rows[s, u].output for of, u in here if of == s} for s in ("unify", "video")}
    assert now.results({first, "rooms/x"}, ["video"]) == {"video": {first: rows["video", first].output}}


def test_a_damaged_pack_costs_no_other_one(tmp_path: Path) -> None:
    _write(tmp_path, 600)
    whole, place = dict(read_manifest(tmp_path)), tmp_path / MANIFEST_FILE
    raw = bytearray(place.read_bytes())
    raw[pq.read_metadata(place).row_group(1).column(2).data_page_offset + 40] ^= 1
    place.write_bytes(raw)
    found = read_manifest(tmp_path)
    lost = found.packs[1]
    assert dict(found) == {at: entry for at, entry in whole.items() if found.pack_of(at[1]) != lost}
    assert 0 < len(found) < len(whole)


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
                dict(read_manifest(tmp_path)),
                read_quarantine(tmp_path),
                read_lineage(tmp_path),
            )
            for found, was, none in zip(now, whole, nothing, strict=True):
                assert found in (was, none)
                noticed += found != was
        (tmp_path / file).write_bytes(raw)
    assert noticed > 40
