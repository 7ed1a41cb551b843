"""Every command that README and docs show exists, with the options, settings, targets and benchmarks that it names.

Those that need no more than metadata of rooms also run; other tests run the rest of the commands.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import typer.main

from flows.cli.app import app
from flows.orchestration.folders import configuration
from pipeline.core.errors import ConfigError
from pipeline.engine.config import load_config
from pipeline.samples.indoor.metadata import write_sample_metadata
from tests.bench.__main__ import ALL, APART
from tests.builds import REPOSITORY, Cli

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
def test_it_exists(command: str) -> None:
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
    """As the command itself takes its arguments apart; settings are those of a configuration."""
    if hasattr(command, "commands") and arguments and not arguments[0].startswith("-"):
        return _parse(command.commands[arguments[0]], arguments[1:])
    given, rest, _ = command.make_parser(command.context_class(command)).parse_args(list(arguments))
    assert not rest
    if given.get("settings") and given["name"] != _PLACEHOLDER:
        try:
            load_config(configuration(given["name"]), [setting.replace("…", "X") for setting in given["settings"]])
        except ConfigError as error:
            if "No such file" not in str(error):  # of one's own
                raise
    return None


_META = "meta_info"
_RELEASE = "outputs/vsi/release"
# What docs call somebody's own files, and what stands for it here.
_STANDS_FOR = {
    "/data/VSI-Bench/meta_info": _META,
    "META": _META,
    "QUESTIONS": "questions.parquet",
    "RESULTS": "replies.jsonl",
    "RELEASE": _RELEASE,
    "/tmp/vsi.html": "vsi.html",  # noqa: S108
}
_RUN = {"audit", "build", "builds", "converters", "coverage", "diff", "doctor", "gallery", "readers", "release"} | {
    *("report", "score", "show", "stage", "trace", "withhold")
}
_NEEDS_MORE = re.compile(
    r"[A-Z]{2,}|…|/data|/shared|s3:|/mine|box_lists|revsi"  # data of one's own
    r"|_frame|candidate|--accept|people|fixes|written|object_taller|panel|blind|tally|toy|--json|stage vsi export"
)
_BUILT = (f"vsi_meta={_META}", "--dry-run", "select.per_scene_and_task=10")


@pytest.mark.slow
def test_they_run(scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_sample_metadata(tmp_path / _META)
    assert scan2qa("build", "vsi", "--root", f"vsi_meta={_META}").code == 0
    asked = pq.read_table(next(Path(_RELEASE, "data").glob("test-*.parquet")))
    pq.write_table(asked, "questions.parquet")
    rows = asked.to_pylist()
    replies = "".join(json.dumps({"id": row["id"], "answer": row["ground_truth"]}) + "\n" for row in rows)
    for name in ("replies", "a", "b"):
        Path(f"{name}.jsonl").write_text(replies, encoding="utf-8")
    ran, wrong = set(), []
    for arguments in _meant(str(rows[0]["id"]), f"{rows[0]['dataset']}/{rows[0]['scene_name']}"):
        run = scan2qa(*arguments)
        ran.add(arguments[0])
        if run.code:
            wrong.append(f"{' '.join(arguments)}: {run.code} {run.err[-300:]}")
    assert not wrong, "\n".join(wrong)
    assert ran == _RUN


def _meant(number: str, scene: str) -> list[tuple[str, ...]]:
    """The documented commands that can run here, each once, about a question and a scene of the build."""
    found: dict[tuple[str, ...], None] = {}
    for parameter in shown():
        program, *words = shlex.split(re.sub(r"\[(--[^]]*)\]", r"\1", parameter.values[0]), comments=True)
        if program != "scan2qa" or words[0] not in _RUN:
            continue
        told = (re.sub(r"(?<==)[^=]*$|^[^=]*$", lambda m: _STANDS_FOR.get(m[0], m[0]), word) for word in words)
        told = (re.sub(r"^\d{10,}$|^(QUESTION_)?ID$", number, word) for word in told)
        arguments = tuple(re.sub(r"scannet/scene\d+(_\d\d|\*)", scene, word) for word in told)
        is_about_rooms = {"vsi", _RELEASE, "outputs/vsi", number, f"vsi_meta={_META}"} & set(arguments)
        alone = arguments[0] in {"builds", "converters", "readers"}
        builds = arguments == ("build", "vsi") or set(_BUILT) & set(arguments)
        if _NEEDS_MORE.search(" ".join(arguments)) or not (is_about_rooms or alone):
            continue
        if arguments[0] != "build" or builds:
            found[arguments] = None
    return list(found)
