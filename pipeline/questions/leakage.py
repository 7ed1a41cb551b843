"""What a split of published questions gives away: groups of questions that stand on both of its sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pipeline.core.errors import ConfigError
from pipeline.core.listing import Listing


class Row(Protocol):
    """A published question with all columns of its row."""

    @property
    def id(self) -> int | str:
        """Its id."""

    @property
    def rest(self) -> Mapping[str, Any]:
        """Its row as it stands in the file."""


def leakage(path: Path, column: str, questions: Sequence[Row], name: str, groups: Sequence[str]) -> Listing:
    """Per split: its questions, and those of groups that other splits have too.

    Args:
        path: the questions' file, for what is said of it.
        column: names the split of a question.
        questions: the rows.
        name: of what groups are.
        groups: that of each question; two questions of one group share what has to be known.

    Raises ConfigError for a question without a split.
    """
    splits = [_split(path, column, question) for question in questions]
    where: dict[str, set[str]] = defaultdict(set)
    for group, split in zip(groups, splits, strict=True):
        where[group].add(split)
    rows = []
    for split in sorted(set(splits)):
        own = [group for group, other in zip(groups, splits, strict=True) if other == split]
        rows.append(_row(split, own, {group for group in own if len(where[group]) > 1}))
    total = _row("all", groups, {group for group, found in where.items() if len(found) > 1})
    heads = (column, "n", f"{name}s", "of other splits too", "n of these", "share")
    return Listing(f"What the split leaks, by {name}", heads, rows, total)


def _split(path: Path, column: str, question: Row) -> str:
    value = question.rest.get(column)
    if not isinstance(value, str | int) or value == "":
        known = ", ".join(sorted(map(str, question.rest)))
        raise ConfigError(f"{path}: question {question.id} has no {column}; its columns are {known}")
    return str(value)


def _row(split: str, groups: Sequence[str], shared: set[str]) -> tuple[str, ...]:
    leaked = sum(group in shared for group in groups)
    share = f"{leaked / len(groups):.1%}" if groups else ""
    return split, str(len(groups)), str(len(set(groups))), str(len(shared)), str(leaked), share
