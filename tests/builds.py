"""Builds in a temporary folder, without an orchestrator and through the command line."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np
import pytest
import typer.main

import flows.cli.build
import flows.orchestration.build
from flows.cli import app as cli
from flows.cli.build import GALLERY_QUESTIONS
from flows.cli.output.console import configure_output
from flows.orchestration.processes import Pool, RunJobs
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.job import run_job
from pipeline.engine.manifest import Outcome
from pipeline.engine.stage import STORE, Stage
from pipeline.engine.store import Store
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from tests.shared_files import kept

REPOSITORY = Path(__file__).resolve().parents[1]


# No model is asked, nothing pruned and nothing drawn: most tests are about something else, and these take their time.
# Nor does a gate hold back what was made of fewer scenes or by another rule.
OPEN_GATES: dict[str, Any] = {"scenes": 1, "questions": 1, "known": 1}
UNASKED: dict[str, Any] = {"blind": {"models": []}, "prune": None, "figures": False, "gates": OPEN_GATES}


def config_of(root: Path, **sections: Any) -> BuildConfig:
    """A configuration that builds unified metadata; ``sections`` as in a YAML file."""
    return build_config({"build": "vsi", "benchmark": "vsi", "roots": {"vsi_meta": root}} | UNASKED | sections)


# The stages of scenes in a build of scans in which no model writes.
RUN_STAGES: dict[str, Stage] = {
    name: stage
    for name, stage in STAGES.items()
    if stage.unit == "scene" and stage.is_wanted(config_of(Path("no", "where")))
}


def build(root: Path, out: Path, **sections: Any) -> Outcome:
    """A whole build in this process."""
    return Builder(config_of(root, **sections), out).build()


def results_of(out: Path, outcome: Outcome) -> dict[tuple[str, str], bytes]:
    """The results of a build by (stage, unit)."""
    store = Store(out / STORE)
    return {(e.stage, e.unit): store.get(e.output) for e in outcome.manifest if e.output}


def release_of(out: Path) -> dict[str, bytes]:
    """Every file of a release."""
    folder = out / "release"
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    rows: list[dict[str, Any]] = read_table(path.read_bytes()).to_pylist()
    return rows


def whys(outcome: Outcome) -> dict[str, set[str]]:
    """Stage -> the reasons for which its units ran or did not."""
    return {stage: set(row) for stage, row in outcome.counts().items()}


def perturbed(scenes: dict[str, Any], n: int) -> dict[str, Any]:
    """N scenes from given ones in turn, each box moved by some centimetres and its sides changed by some percent."""
    names = sorted(scenes)
    copies: dict[str, Any] = {}
    for number in range(n):
        name = names[number % len(names)]
        copy, rng = json.loads(json.dumps(scenes[name])), np.random.default_rng(number)
        for box in (b for boxes in copy["object_bbox"].values() for b in boxes):
            box["centroid"] = (np.array(box["centroid"]) + rng.normal(0.0, 0.05, 3)).round(6).tolist()
            box["axesLengths"] = (np.array(box["axesLengths"]) * rng.uniform(0.97, 1.03, 3)).round(6).tolist()
            box.pop("min", None)
            box.pop("max", None)
        copies[f"{name}_{number:04}"] = copy
    return copies


@dataclass(frozen=True)
class Run:
    """What a command ended with."""

    code: int
    out: str
    err: str
    started: bool = True  # whether it got as far as the orchestrator


Cli = Callable[..., Run]


OPEN_GATES_SETTING = "--set=gates={scenes: 1, questions: 1, known: 1}"
UNASKED_SETTINGS = ("--set", "blind={models: []}", "--set", "prune=null", "--set", "figures=false", OPEN_GATES_SETTING)
# For builds that are stopped, killed and made again: two tasks of ten, in the sections of a file and for the command.
TWO_TASKS: dict[str, Any] = {"generate": {"tasks": ["object_abs_distance", "room_size_estimation"]}}
TWO_TASKS_SETTINGS = (*UNASKED_SETTINGS, "--set", "generate.tasks=[object_abs_distance, room_size_estimation]")
COMMAND = "from flows.cli.app import main; main()"


def command_process(meta: Path, out: Path, *options: str, code: str = COMMAND, **streams: Any) -> subprocess.Popen[str]:
    """The real command, which builds `TWO_TASKS` of unified metadata with two workers; what it complains of is read."""
    arguments = ["--root", f"vsi_meta={meta}", "--out", str(out), "--workers", "2", *options, *TWO_TASKS_SETTINGS]
    return subprocess.Popen(
        [sys.executable, "-c", code, "build", "vsi", *arguments],
        text=True,
        cwd=REPOSITORY,
        env=prefect_environment(),
        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE} | streams,
    )


_command_of = cache(typer.main.get_command)  # made of the signatures of forty commands, at each call


def command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs `scan2qa` in this process: builds without Prefect, which takes seconds to start and decides nothing.

    Nor do builds write their gallery, unless a call says ``gallery=True``: half of the time of a small one.
    """

    started: list[str] = []

    class Noted(Pool):
        def __enter__(self) -> Self:
            started.append("build")
            return super().__enter__()

        def job_runner(self, jobs: int) -> RunJobs:
            return partial(map, run_job)  # of this process, which the test may have changed

    def run(*arguments: object, gallery: bool = False) -> Run:
        monkeypatch.setattr(flows.orchestration.build, "Pool", Noted)
        monkeypatch.setattr(typer.main, "get_command", _command_of)
        monkeypatch.setattr(flows.cli.build, "GALLERY_QUESTIONS", GALLERY_QUESTIONS if gallery else 0)
        of_build = bool(arguments) and arguments[0] in {"build", "stage"}
        extra = [*UNASKED_SETTINGS, "--no-prefect"] if of_build else []
        if of_build and any(str(argument).startswith("gates") for argument in arguments):
            extra.remove(OPEN_GATES_SETTING)
        if of_build and "--workers" not in arguments:
            extra += ["--workers", "1"]
        monkeypatch.setattr(sys, "argv", ["scan2qa", *map(str, arguments), *extra])
        monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # main() sets it
        started.clear()
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        configure_output()  # of what runs later in this process
        captured = capsys.readouterr()
        return Run(int(ended.value.code or 0), captured.out, captured.err, bool(started))

    return run


def prefect_environment() -> dict[str, str]:
    """The environment of a real command: Prefect's database lies in the temporary folder, and no server is kept.

    A process that turns to another machine ends (`tests.sockets`).
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    path = os.pathsep.join((str(REPOSITORY), str(REPOSITORY / "tests" / "sockets")))
    return inherited | {"PREFECT_HOME": str(_prefect_home()), "PYTHONPATH": path}


@cache
def _prefect_home() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="scan2qa-prefect-")
    atexit.register(folder.cleanup)
    shutil.copy(kept("prefect", digest_of(version("prefect")), _write_database) / "prefect.db", folder.name)
    return Path(folder.name)


def _write_database(folder: Path) -> None:
    """Prefect's database with all its tables, which its server would take seconds to make."""
    command = [sys.executable, "-m", "prefect", "server", "database", "upgrade", "--yes"]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    offline = {"PREFECT_HOME": str(folder), "DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    subprocess.run(command, env=inherited | offline, check=True, capture_output=True)


def every(n: int, first: int, meta: Path, folder: Path) -> Path:
    """A folder with every n-th scene of each file of released metadata, from the given one on, each as it stands."""
    folder.mkdir()
    for file in sorted(meta.glob("*.json")):
        scenes = scene_texts(file.read_text(encoding="utf-8"))[first::n]
        (folder / file.name).write_text("{" + ", ".join(scenes) + "}", encoding="utf-8")
    return folder


def scene_texts(text: str) -> list[str]:
    """The scenes of a file of metadata, each with its name and its own bytes."""
    decoder, at, scenes = json.JSONDecoder(), text.index("{") + 1, []
    while match := re.compile(r'[\s,]*("(?:[^"\\]|\\.)*"\s*:\s*)').match(text, at):
        _, end = decoder.raw_decode(text, match.end())
        scenes.append(match[1] + text[match.end() : end])
        at = end
    return scenes
