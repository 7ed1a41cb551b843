"""Tables for people, as plain text: whoever makes one knows its figures, whoever shows it knows the terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Listing:
    """One table.

    Attributes:
        title: above it.
        heads: of the columns; the first names the row.
        rows: a text per column.
        totals: a last row, below a line; empty: none.
        words: heads of columns that stand at the left, as the first does; the others are numbers.
        sentences: heads of columns that may wrap.
        note: below it.
    """

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    totals: Sequence[str] = ()
    words: Collection[str] = ()
    sentences: Collection[str] = ()
    note: str = ""
