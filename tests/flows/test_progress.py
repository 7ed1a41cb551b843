"""How far a command is, where there is no terminal."""

from __future__ import annotations

import time

import pytest

from flows.cli.output.console import configure_output
from flows.cli.output.progress import progress_shown


def test_a_line_for_each_stage_that_ends_and_one_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    said = ""
    until = time.monotonic() + 10
    with progress_shown(every_s=0.02) as report:
        report("video", 0, 0)
        report("unify", 0, 2)
        report("blind", 0, 1)
        report("blind MODEL", 3, 40)
        report("unify", 1, 2)
        while "s  unify: 1 of 2, blind MODEL: 3 of 40\n" not in said and time.monotonic() < until:
            time.sleep(0.01)
            said += capsys.readouterr().out
        report("unify", 2, 2)
        report("unify", 2, 2)
    lines = [line.split("s  ", 1)[1] for line in (said + capsys.readouterr().out).splitlines()]
    assert "unify: 1 of 2, blind MODEL: 3 of 40" in lines
    assert lines.count("unify: 2 of 2") == 1
    assert not [line for line in lines if "video" in line or "0 of 0" in line], "nothing to do is nothing to say"


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    configure_output(quiet=True)
    try:
        with progress_shown(every_s=0.01) as report:
            report("unify", 0, 1)
            time.sleep(0.03)
            report("unify", 1, 1)
    finally:
        configure_output()
    assert capsys.readouterr() == ("", "")
