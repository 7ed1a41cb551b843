"""Tables fit the terminal, and no number or name in them is cut."""

import io
import time
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from flows.cli.output.build_screen import print_tasks
from flows.cli.output.console import (
    PlainConsole,
    _spinners,
    configure_output,
    console,
    count_of,
    show_error,
    start_spinner,
    stop_spinner,
)
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_table, table_writer
from pipeline.core.errors import ConfigError
from pipeline.core.parquet import read_table

WORDS = st.text("abcdefgh_19", min_size=1, max_size=30)


def printed(table: Table, width: int, title: str = "") -> str:
    out = io.StringIO()
    print_table(table, title, Console(file=out, width=width))
    return out.getvalue()


@pytest.mark.parametrize(("width", "first"), [(19, "  left 3"), (20, "  left 3   turn 1"), (16, "  left 3")])
def test_tasks_stand_in_as_many_columns_as_have_room(
    width: int, first: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(console, "width", width)
    print_tasks({"turn": 1, "left": 3, "move": 2})
    assert capsys.readouterr().out.splitlines()[0] == first


def numbers(rows: list[list[str]], heads: list[str]) -> Table:
    table = Table(heads[0])
    for head in heads[1:]:
        table.add_column(head, justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def test_a_count_has_its_noun() -> None:
    counts = [(0, "row"), (1, "row"), (1200, "row"), (1, "reply"), (2, "reply")]
    assert [count_of(*one) for one in counts] == ["0 rows", "1 row", "1,200 rows", "1 reply", "2 replies"]


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=2, max_size=8, unique=True), st.data())
def test_whatever_is_in_it_nothing_is_cut_and_no_line_too_long(heads: list[str], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.lists(WORDS, min_size=len(heads), max_size=len(heads)), min_size=1, max_size=4))
    text = printed(numbers(rows, heads), 80)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    shown = text.split()
    assert all(word in shown or word in text for row in [heads, *rows] for word in row)


def test_a_table_that_fits_keeps_its_lines() -> None:
    text = printed(numbers([["chairs", "12"]], ["task", "questions"]), 80, "How many")
    assert text.splitlines()[:2] == ["", "How many"]
    assert "┃ task   ┃ questions ┃" in text


def test_one_that_does_not_comes_in_parts_that_begin_with_its_names() -> None:
    heads = ["task", *(f"attacker_number_{n}" for n in range(8))]
    rows = [[name, *(str(n) for n in range(8))] for name in ("direction", "distance")]
    lines = [line.split() for line in printed(numbers(rows, heads), 80).splitlines() if line.strip()]
    found = {head: [] for head in heads[1:]}
    for line in lines:
        if line[0] == "task":
            columns = line[1:]
        elif line[0] in ("direction", "distance"):
            for head, value in zip(columns, line[1:], strict=True):
                found[head].append(value)
    assert found == {f"attacker_number_{n}": [str(n)] * 2 for n in range(8)}


def test_sentences_become_a_list() -> None:
    table = Table("scene", "finding")
    for name in ("what was found", "remedy"):
        table.add_column(name, overflow="fold")
    table.add_row("scannet/scene0217_00", "negative_area", "room_size is -1 m2, and " * 4, "measure it " * 6)
    assert "│" in printed(table, 160)
    text = printed(table, 80)
    assert text.startswith("scannet/scene0217_00\n  finding negative_area\n  what was found: room_size is -1 m2")
    assert max(map(len, text.splitlines())) <= 80


def test_tables_are_written_as_their_name_says(tmp_path: Path) -> None:
    table = pa.table({"id": [1, 2], "reason": ["a,b", None]})
    table_writer(tmp_path / "a.csv")(table)
    assert (tmp_path / "a.csv").read_text() == '"id","reason"\n1,"a,b"\n2,\n'
    table_writer(tmp_path / "a.parquet")(table)
    assert read_table((tmp_path / "a.parquet").read_bytes()).equals(table)
    with pytest.raises(ConfigError, match=r"a.xlsx: tables are written as .parquet or .csv"):
        table_writer(tmp_path / "a.xlsx")


def test_text_from_outside_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    console = PlainConsole(file=out, width=60, force_terminal=True)
    hostile = "o[/b][red]:smile:\x1b[2J\x07\x9b"
    table = Table("name", title=hostile, title_justify="left")
    table.add_row(hostile)
    print_table(table, to=console)
    console.print(f"Release: {hostile}")
    monkeypatch.setattr("flows.cli.output.console.errors", console)
    show_error(ConfigError(hostile))
    text = out.getvalue()
    assert text.count("o[/b][red]:smile:\N{REPLACEMENT CHARACTER}[2J\N{REPLACEMENT CHARACTER}") == 4
    assert not {"\x07", "\x9b"} & set(text)
    assert "\x1b[2J" not in text


# ---- how far a command is, where there is no terminal


def test_a_line_for_each_stage_that_ends_and_one_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    until = time.monotonic() + 10
    with progress_shown(every_s=0.02) as report:
        report("video", 0, 0)
        report("unify", 0, 2)
        report("blind", 0, 1)
        report("blind MODEL", 3, 40)
        report("blind MODEL (waits)", 3, 40)
        report("unify", 1, 2)
        while "s  unify: 1 of 2, blind MODEL (waits): 3 of 40\n" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capsys.readouterr().out
        report("unify", 2, 2)
        report("unify", 2, 2)
        report("blind MODEL", 40, 40)
    lines = [line.split("s  ", 1)[1] for line in (said + capsys.readouterr().out).splitlines()]
    assert "unify: 1 of 2, blind MODEL (waits): 3 of 40" in lines
    assert lines[-1] == "blind MODEL: 40 of 40"
    assert lines.count("unify: 2 of 2") == 1
    assert not [line for line in lines if "video" in line or "0 of 0" in line], "nothing to do is nothing to say"


def test_a_log_says_what_lasts_until_the_next_output(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flows.cli.output.console.EVERY_S", 0.02)
    said, until = "", time.monotonic() + 10
    start_spinner("Reading\x1b[2J")
    while said.count("s  Reading") < 2 and time.monotonic() < until:
        time.sleep(0.01)
        said += capsys.readouterr().err
    assert "     0 s  Reading\N{REPLACEMENT CHARACTER}[2J\n" in said
    stop_spinner()
    time.sleep(0.1)
    said = capsys.readouterr().err
    time.sleep(0.1)
    assert capsys.readouterr() == ("", "")


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    configure_output(quiet=True)
    try:
        with progress_shown(every_s=0.01) as report:
            report("unify", 0, 1)
            time.sleep(0.03)
            report("unify", 1, 1)
        start_spinner("Reading")
        assert not _spinners
    finally:
        configure_output()
    assert capsys.readouterr() == ("", "")
