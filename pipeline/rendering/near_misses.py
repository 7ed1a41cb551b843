"""The rejected candidates that were refused most narrowly: measured nearest to their limit."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.core.parquet import read_files, released_files
from pipeline.rendering.figures import BLIND, CHOSEN

Key = tuple[str, str]
_COLUMNS: Final = ["id", "scene", "task", "operands", "reason", "measured", "limit", "unit"]
_DIGITS: Final = (3, 4, 6, 9, 12)


class NearMiss(NamedTuple):
    """A rejected candidate; ``about``: what it would have asked about."""

    about: tuple[str, ...]
    reason: str
    measured: str
    limit: str
    unit: str


class Nearest(NamedTuple):
    """By scene and task, and by task and reason, the rejection that came nearest to its limit."""

    of_scenes: dict[Key, NearMiss]
    of_reasons: dict[Key, NearMiss]


def nearest_refused(release: Path, chosen: Collection[str] = ()) -> Nearest:
    """The rejections of rules that were nearest to their limits, in shares of the limit; of 0 in what was measured.

    Whole numbers, which are mostly counts, come after what was measured on a scale: two things where one may be is no
    narrow miss. Rejections without a limit, and candidates that held every rule but were not chosen (for reasons that
    all share, or for those of ``chosen``), take no part.
    """
    known = pc.field("measured").is_valid() & pc.field("limit").is_valid()
    known &= ~pc.field("reason").isin(pa.array(sorted({*CHOSEN, *BLIND, *chosen})))
    table = read_files(released_files(release / "rejected"), _COLUMNS, known)
    size = pc.abs(table["limit"])
    away = pc.divide(pc.abs(pc.subtract(table["measured"], table["limit"])), pc.if_else(pc.equal(size, 0.0), 1.0, size))
    order = table.select(["scene", "task", "reason", "id"]).append_column("away", away)
    counted = pc.and_(*(pc.equal(table[name], pc.floor(table[name])) for name in ("measured", "limit")))
    order = order.append_column("counted", pc.cast(counted, pa.int8()))
    order = order.append_column("row", pa.array(range(table.num_rows), pa.int64()))
    order = order.sort_by([(name, "ascending") for name in ("counted", "away", "id", "scene", "reason")])
    return Nearest(_first(table, order, ("scene", "task")), _first(table, order, ("task", "reason")))


def some_of_each(release: Path, each: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Of each task and reason the rejections nearest to their limits, those without one after them, by id; all counts.

    Rows come by reason, task and nearness; the counts are of all rejections, by reason.
    """
    files = released_files(release / "rejected")
    frame = read_files(files, ["id", "task", "reason", "measured", "limit"]).to_pandas()
    size = frame["limit"].abs()
    frame["away"] = (frame["measured"] - frame["limit"]).abs() / size.where(size > 0, 1.0)
    frame = frame.sort_values(["reason", "task", "away", "id"], na_position="last", kind="stable")
    place = frame.groupby(["reason", "task"], observed=True, sort=False).cumcount()
    chosen = read_files(files).take(pa.array(frame.index[place < each]))
    rows: list[dict[str, Any]] = chosen.to_pylist()
    return rows, {str(reason): int(n) for reason, n in frame["reason"].value_counts(sort=False).items()}


def _first(table: pa.Table, order: pa.Table, keys: tuple[str, str]) -> dict[Key, NearMiss]:
    rows = order.group_by(list(keys), use_threads=False).aggregate([("row", "first")])["row_first"]
    return {(row[keys[0]], row[keys[1]]): _near(row) for row in table.take(rows).to_pylist()}


def _near(row: dict[str, Any]) -> NearMiss:
    measured, limit = told_apart(row["measured"], row["limit"])
    return NearMiss(tuple(row["operands"] or ()), row["reason"], measured, limit, row["unit"] or "")


def told_apart(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as few digits as tell them apart."""
    for digits in _DIGITS:
        if plain(one, digits) != plain(other, digits):
            break
    return plain(one, digits), plain(other, digits)


def plain(value: float, digits: int = 4) -> str:
    """A number with so many digits that count, never with an exponent."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if abs(value) >= 1 else f"{value:.12f}".rstrip("0").rstrip(".")
