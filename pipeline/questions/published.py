"""Published question files: any benchmark's public columns, read into one form."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipeline.core.errors import ConfigError
from pipeline.core.parquet import files_of, read_files

ColumnTable = Mapping[str, tuple[str, str]]
"""Column -> its type, "string[]" for a list of texts, and what it holds, in a few words."""
REQUIRED: Final = ("id", "scene_name", "question_type", "question", "ground_truth")


@dataclass(frozen=True)
class Splits:
    """How a release is divided for those who train on it.

    Attributes:
        folder: of its tables, and the configuration's name.
        column: names the split of a question.
        names: of the splits, each with a table, empty or not.
        group: column of what no two splits share.
        description: what they are, for the card.
    """

    folder: str
    column: str
    names: tuple[str, ...]
    group: str
    description: str


def schema_of(table: ColumnTable) -> pa.Schema:
    """The schema of columns that a table describes."""
    kinds = {name: pa.type_for_alias(kind.removesuffix("[]")) for name, (kind, _) in table.items()}
    return pa.schema([(n, pa.list_(kinds[n]) if kind.endswith("[]") else kinds[n]) for n, (kind, _) in table.items()])


@dataclass(frozen=True)
class Columns:
    """The public columns of a benchmark, both ways.

    Attributes:
        schema: of its released table; its first column is the id of a question, by which releases are compared.
        table: makes that table of questions (`tables.QUESTIONS`) and the ids of those that bias pruning took.
        row: a released row in the columns of `REQUIRED` (and, where it has them, ``dataset`` and ``options``); None
            for a row with other columns than the benchmark's.
        descriptions: column -> what it holds, in a few words, for all of the schema.
        splits: how it is divided; None: not.
    """

    schema: pa.Schema
    table: Callable[[pa.Table, Collection[int]], pa.Table]
    row: Callable[[dict[str, Any]], dict[str, Any] | None]
    descriptions: Mapping[str, str]
    splits: Splits | None = None

    @classmethod
    def described(
        cls,
        described: ColumnTable,
        table: Callable[[pa.Table, Collection[int]], pa.Table],
        row: Callable[[dict[str, Any]], dict[str, Any] | None],
        splits: Splits | None = None,
    ) -> Columns:
        """Columns that a table describes."""
        return cls(schema_of(described), table, row, {name: doc for name, (_, doc) in described.items()}, splits)


@dataclass(frozen=True)
class Published:
    """One published question.

    Attributes:
        rest: its row as it stands in the file, with columns that no other benchmark has.
    """

    id: int | str
    dataset: str | None
    scene_name: str
    question_type: str
    question: str
    options: tuple[str, ...] | None
    ground_truth: str
    rest: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)


def read_published(path: Path, columns: Iterable[Columns]) -> list[Published]:
    """Questions of a .jsonl, .json or .parquet file in the columns of any of some benchmarks.

    Raises ConfigError, naming the row.
    """
    return published_rows(path, read_rows(path), columns)


def published_rows(
    path: Path | str, rows: Sequence[Any], columns: Iterable[Columns], *, withheld: bool = False
) -> list[Published]:
    """Questions of some rows of a file in the columns of any of some benchmarks; ``withheld``: without their answers.

    Raises ConfigError, naming the row.
    """
    return [_published(path, number, row, columns, withheld=withheld) for number, row in enumerate(rows, start=1)]


def read_of_benchmark(path: Path, columns: Columns, *others: Columns) -> list[Published]:
    """Questions of a file in the columns of one benchmark alone. Raises ConfigError, also for those of another."""
    rows, known = read_rows(path), (columns, *others)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or all(own.row(row) is None for own in known):
            found = (
                f"its columns are {', '.join(map(str, row))}" if isinstance(row, dict) else f"it is {str(row)[:60]!r}"
            )
            raise ConfigError(
                f"{path}: question {number} is none of this benchmark, whose columns are "
                f"{' or '.join(', '.join(own.schema.names) for own in known)}: {found}"
            )
    return published_rows(path, rows, known)


def read_rows(path: Path) -> list[Any]:
    """The rows of a .jsonl, .json or .parquet file, whatever they are. Raises ConfigError for a file that has none."""
    try:
        if path.suffix == ".parquet":
            rows = read_files(files_of(path)).to_pylist()
        elif path.suffix == ".json":
            rows = json.loads(path.read_text(encoding="utf-8-sig"))
        else:
            lines = path.read_text(encoding="utf-8-sig").split("\n")  # a text may hold other ends of lines
            rows = [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise ConfigError(f"{path}: is a folder; give a file, of a release data/test-….parquet") from error
    except (OSError, ValueError, RecursionError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as .jsonl, .json or .parquet: {error}") from error
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: holds {type(rows).__name__}, not a list of questions")
    return rows


def published(table: pa.Table, columns: Columns) -> list[Published]:
    """The questions of a benchmark's public table."""
    return published_rows("the table", table.to_pylist(), (columns,))


def _published(path: Path | str, number: int, raw: Any, columns: Iterable[Columns], *, withheld: bool) -> Published:
    row = raw if isinstance(raw, dict) else {}
    row = next((found for own in columns if (found := own.row(row)) is not None), row)
    if withheld:
        row = row | {"ground_truth": ""}
    missing = [k for k in REQUIRED if row.get(k) is None]
    if missing:
        raise ConfigError(f"{path}: question {number} has no {', '.join(missing)}; needed are {', '.join(REQUIRED)}")
    options = row.get("options")
    if not isinstance(options, list | None):
        raise ConfigError(
            f"{path}: question {number} has options {options!r}; give a list, or null where there are none"
        )
    return Published(
        id=row["id"] if isinstance(row["id"], int) else str(row["id"]),
        dataset=row.get("dataset"),
        scene_name=str(row["scene_name"]),
        question_type=str(row["question_type"]),
        question=str(row["question"]),
        options=tuple(map(str, options)) if options else None,
        ground_truth=str(row["ground_truth"]),
        rest=raw if isinstance(raw, dict) else {},
    )
