"""Tables on the terminal and in files. On the terminal they fit: no number and no name is cut, however narrow it is.

A table that is too wide loses its lines, then is printed in parts that each begin with its first column; one with
sentences, or with long names, becomes a list.
"""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
from rich import box
from rich.cells import cell_len
from rich.console import Console, OverflowMethod
from rich.table import Column, Table
from rich.text import Text

from flows.cli.output.console import console, output_options, print_wrapped, without_controls
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import ReleaseListing

SENTENCE: Final = 28  # columns that a cell that wraps has at least
_GRID, _PLAIN = 3, 2  # what a column takes beside its cells, with lines and without


def numbers(*heads: str) -> list[Column]:
    """Columns of figures."""
    return [Column(head, justify="right") for head in heads]


def sentences(*heads: str) -> list[Column]:
    """Columns of texts that wrap."""
    return [Column(head, overflow="fold") for head in heads]


def print_table(table: Table, title: str = "", to: Console = console) -> None:
    """Prints a table below its title. Columns with ``overflow="fold"`` hold sentences and wrap; the others never do."""
    for column in table.columns:
        column.no_wrap = not _wraps(column)
    if title or table.title:  # which may be wider than the table
        to.print()
        to.print(Text(_plain_text(title or table.title), "table.title"), soft_wrap=True)
        table.title = None
    widths = [_width(column) for column in table.columns]
    grid = _GRID if table.box else _PLAIN
    if _fits(widths, grid, to):
        to.print(_spread(table, widths, grid, to), soft_wrap=False)
    elif _fits(widths, _PLAIN, to):
        to.print(_spread(_without_rules(table), widths, _PLAIN, to), soft_wrap=False)
    elif any(map(_wraps, table.columns)) or 2 * widths[0] > to.width:
        _print_list(table, to)
    else:
        for number, part in enumerate(_parts(table, widths, to)):
            if number:
                to.print()
            to.print(part, soft_wrap=False)


def print_pairs(title: str, rows: Iterable[tuple[str, str | None]]) -> None:
    """Prints names, each with what is said of it, those alone of which something is."""
    table = Table(Column(style="bold"), *sentences(""), title=title, show_header=False)
    for name, value in rows:
        if value:
            table.add_row(name, value)
    if table.row_count:
        print_table(table)


def print_listing(listing: ReleaseListing) -> None:
    """Prints a table of plain texts, in which nothing is markup."""
    table = Table(title=listing.title)
    for number, head in enumerate(listing.heads):
        is_text = not number or head in listing.words or head in listing.sentences
        overflow: OverflowMethod = "fold" if head in listing.sentences else "ellipsis"
        table.add_column(head, justify="left" if is_text else "right", overflow=overflow)
    for row in listing.rows:
        table.add_row(*row)
    if listing.totals:
        table.add_section()
        table.add_row(*listing.totals)
    print_table(table)
    if listing.note:
        print_wrapped(listing.note)


def print_listings(listings: Iterable[ReleaseListing]) -> None:
    """Prints tables, those of details with ``--verbose`` alone: without it, a line names them."""
    left_out = []
    for listing in listings:
        if listing.is_detail and not output_options.verbose:
            left_out.append(listing.title)
        else:
            print_listing(listing)
    if left_out:
        print_wrapped(f"--verbose also shows: {'; '.join(left_out)}.")


def table_writer(path: Path) -> Callable[[pa.Table], None]:
    """The function that writes a table to a file of this name: CSV or Parquet. Raises ConfigError for other endings."""
    if path.suffix not in FORMS:
        raise ConfigError(f"{path}: tables are written as .parquet or .csv; give a name that ends so")

    def write(table: pa.Table) -> None:
        write_atomically(path, FORMS[path.suffix](table))

    return write


def _csv(table: pa.Table) -> bytes:
    from pyarrow import csv

    sink = io.BytesIO()
    csv.write_csv(table, sink)
    return sink.getvalue()


FORMS: Final[dict[str, Callable[[pa.Table], bytes]]] = {"": table_bytes, ".parquet": table_bytes, ".csv": _csv}


def _without_rules(table: Table) -> Table:
    """Without lines but the one below its head."""
    table.box, table.show_edge, table.padding = box.SIMPLE_HEAD, False, (0, 1, 0, 0)
    return table


def _wraps(column: Column) -> bool:
    return column.overflow == "fold"


def _fits(widths: Sequence[int], beside: int, to: Console) -> bool:
    return sum(widths) + beside * len(widths) + 1 <= to.width


def _spread(table: Table, widths: Sequence[int], beside: int, to: Console) -> Table:
    """The table, its columns of sentences as wide as there is room for: no word is broken."""
    room = to.width - sum(widths) - beside * len(widths) - 1
    lacks = {n: _widest(column) - widths[n] for n, column in enumerate(table.columns) if _wraps(column)}
    for left, (n, lack) in zip(range(len(lacks), 0, -1), sorted(lacks.items(), key=lambda row: row[1]), strict=True):
        more = min(lack, room // left)
        table.columns[n].width, room = widths[n] + more, room - more
    return table


def _width(column: Column) -> int:
    """Columns of the terminal that a column needs: of sentences as many as their longest word."""
    widest = _widest(column)
    words = (word for cell in (column.header, *column.cells) for word in _plain_text(cell).split())
    return min(widest, max(SENTENCE, *map(cell_len, words), 0)) if _wraps(column) else widest


def _widest(column: Column) -> int:
    cells = [_plain_text(column.header), *map(_plain_text, column.cells)]
    return max(cell_len(line) for cell in cells for line in (cell.splitlines() or [""]))


def _plain_text(cell: object) -> str:
    return cell.plain if isinstance(cell, Text) else without_controls(str(cell))


def _parts(table: Table, widths: Sequence[int], to: Console) -> Iterator[Table]:
    """The columns in groups that fit, the first one before each."""
    groups: list[list[int]] = [[]]
    for number in range(1, len(widths)):
        chosen = [0, *groups[-1], number]
        if groups[-1] and not _fits([widths[n] for n in chosen], _PLAIN, to):
            groups.append([])
        groups[-1].append(number)
    rows = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    for group in groups:
        part = Table(style=table.style)
        for number in (0, *group):
            column = table.columns[number]
            part.add_column(column.header, justify=column.justify, overflow=column.overflow, no_wrap=column.no_wrap)
        for row, is_last in zip(rows, (r.end_section for r in table.rows), strict=True):
            cells = [row[number] for number in (0, *group)]
            if any(map(_plain_text, cells[1:])):
                part.add_row(*cells, end_section=is_last)
        yield _without_rules(part)


def _print_list(table: Table, to: Console) -> None:
    """Row below row: its name, and what else is said of it, indented."""
    heads = [_plain_text(column.header).replace("\n", " ") for column in table.columns]
    for row in zip(*(list(column.cells) for column in table.columns), strict=True):
        cells = [_plain_text(cell) for cell in row]
        to.print(Text(cells[0], "bold"), soft_wrap=True)
        short = [n for n in range(1, len(cells)) if cells[n] and not _wraps(table.columns[n])]
        long = [n for n in range(1, len(cells)) if cells[n] and _wraps(table.columns[n])]
        if short:
            print_wrapped(", ".join(f"{heads[n]} {cells[n]}".strip() for n in short), to, 2)
        for n in long:
            said = f"{heads[n]}: {cells[n]}" if heads[n] else cells[n]
            print_wrapped(said, to, 2)
