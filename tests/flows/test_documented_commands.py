"""Every command that README and docs show exists, with the options, settings, targets and benchmarks that it names."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest
import typer.main

from flows.cli import spelling
from flows.cli.app import app
from flows.cli.spelling import refuse_misspelt
from flows.orchestration.folders import configuration
from tests.bench.__main__ import ALL, APART
from tests.builds import REPOSITORY

_PROGRAMS = r"(?:scan2qa|make|pytest|python -m tests\.\S+(?= |`|$))"
_BLOCK = re.compile(rf"(?:    )+(?:\$ )?({_PROGRAMS} .*)")
_INLINE = re.compile(rf"`({_PROGRAMS} [^`]+|python -m tests\.\w+)`")
SCAN2QA = typer.main.get_command(app)
_PLACEHOLDER = "NAME"  # of a build
_IN_EXAMPLES = {"tally", "toy", "generate.tasks=[object_taller]"}  # what docs/extend adds, and its own tests run


def shown() -> Iterator[Any]:
    for page in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*/*.md"))]:
        if page.parent.name == "reference":  # written by `make docs`, perhaps at this moment
            continue
        for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
            block = _BLOCK.fullmatch(line)
            for command in [block[1]] if block else _INLINE.findall(line):
                yield pytest.param(command.split(" | ")[0], id=f"{page.name}: {command[:60]}")


@pytest.mark.parametrize("command", list(shown()))
def test_it_exists(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spelling, "_changed", lambda folder: 0.0)  # the code may be newer than the schemas
    program, *arguments = shlex.split(re.sub(r"\[(--[^]]*)\]|\d>\S+", r"\1", command), comments=True)
    if _IN_EXAMPLES & set(arguments):
        return
    if program == "make":
        targets = re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)
        assert arguments[0] in targets
    elif program == "pytest":
        for path in (argument for argument in arguments if argument.startswith("tests/")):
            assert (REPOSITORY / path).exists(), path
    elif program == "python":
        assert find_spec(arguments[1]) is not None
        assert arguments[1] != "tests.bench" or arguments[2] in ALL | APART
    else:
        _parse(SCAN2QA, arguments)


def _parse(command: Any, arguments: list[str]) -> None:
    """As the command itself takes its arguments apart; settings are looked up in the schema of the build."""
    if hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        return _parse(command.commands[arguments[0]], arguments[1:])
    given, rest, _ = command.make_parser(command.context_class(command)).parse_args(list(arguments))
    assert not rest
    if given.get("settings") and given["name"] != _PLACEHOLDER:
        refuse_misspelt(configuration(given["name"]), [], given["settings"])
    return None
