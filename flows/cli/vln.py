"""The commands `scan2qa vln`: the VLN tasks of Embodied4C, those that a log can be scored for, and their scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from flows.cli.output.console import console, output_options, print_json
from flows.cli.output.tables import print_listing
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.tables import ReleaseListing

if TYPE_CHECKING:
    from pipeline.benchmarks.embodied4c.vln.rules import TrialOutcome
    from pipeline.benchmarks.embodied4c.vln.specification import Specification
    from pipeline.core.arrays import FloatArray


_UNITS: Final = {"m": " m", "s": " s", "deg": "°", "kmh": " km/h", "mps": " m/s"}


class DeclaredTrial(NamedTuple):
    """Declarations about a drive or an episode, as given on the command line."""

    leader: str | None = None
    lanes: Sequence[str] = ()
    map_file: Path | None = None
    stop_lines: Sequence[str] = ()
    success: bool | None = None


def check(
    log: Path,
    domain: str,
    tasks: Sequence[str],
    targets: Sequence[str],
    seed: int,
    from_s: float | None,
    until_s: float | None,
    name: str | None,
    out: Path | None,
    declared: DeclaredTrial,
) -> bool:
    """Scores a log; False where it can be scored for none of the tasks."""
    from pipeline.benchmarks.embodied4c.rules import DOMAINS  # the formats' libraries take a second to start
    from pipeline.benchmarks.embodied4c.vln.logs import KnownRoads, trials_of
    from pipeline.benchmarks.embodied4c.vln.rules import checked
    from pipeline.benchmarks.embodied4c.vln.specification import specifications

    if domain not in DOMAINS:
        raise ConfigError(f"there is no embodiment {domain!r}; choose one of {', '.join(DOMAINS)}")
    told = specifications(seed)
    unknown = [task for task in tasks if task not in told]
    if unknown:
        raise ConfigError(f"there is no task {', '.join(unknown)}; there are {', '.join(told)}")
    lanes = _by_name("--lane", declared.lanes, told)
    lines = {name: _line(name, numbers) for name, numbers in _by_name("--stop-line", declared.stop_lines, None).items()}
    trials = trials_of(log, domain, KnownRoads(declared.leader, lanes, declared.map_file, lines), from_s or 0.0)
    chosen = name or next(iter(trials))
    if chosen not in trials or (name is None and len(trials) > 1):
        raise ConfigError(f"{log} holds {', '.join(trials)}; name one with --name")
    trial = trials[chosen]()
    if declared.success is not None:
        if trial.success not in (None, declared.success):
            raise ConfigError(f"{chosen}: the log says that it {'failed' if declared.success else 'succeeded'}")
        trial = replace(trial, success=declared.success)
    start = trial.t_s[0] if from_s is None else from_s
    cut = trial.between(start, trial.t_s[-1] if until_s is None else until_s)
    if not len(cut):
        span = f"{trial.t_s[0]:g} to {trial.t_s[-1]:g} s"
        raise ConfigError(f"{log}: nothing is recorded from --from-s to --until-s; the log is of {span}")
    wanted = [task for i, task in told.items() if task.domain == domain and (not tasks or i in tasks)]
    outcomes = checked(wanted, cut, _places(targets, told), lanes)
    _print_outcomes(outcomes, f"{log.name}: {chosen}" if len(trials) > 1 else log.name)
    scored = [outcome for outcome in outcomes if outcome.points is not None]
    if out:
        window = {
            "log": log.name,
            "trial": chosen,
            "seed": seed,
            "from_s": start,
            "until_s": trial.t_s[-1] if until_s is None else until_s,
        }
        rows = (outcome.row() | window for outcome in scored)
        text = "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        write_atomically(out, text.encode())
        console.print(f"For scan2qa score embodied4c: {out}")
    print_json({"log": log.name, "seed": seed, "tasks": [outcome.row() for outcome in outcomes]})
    return bool(scored)


def list_tasks(seed: int, domain: str | None, out: Path | None) -> None:
    """Shows the tasks as a seed draws them; for an agent with the system prompt of their embodiment."""
    from pipeline.benchmarks.embodied4c.rules import DOMAINS
    from pipeline.benchmarks.embodied4c.vln.agent import system_prompt
    from pipeline.benchmarks.embodied4c.vln.specification import specifications

    if domain is not None and domain not in DOMAINS:
        raise ConfigError(f"there is no embodiment {domain!r}; choose one of {', '.join(DOMAINS)}")
    tasks = [task for task in specifications(seed).values() if domain in (None, task.domain)]
    rows: list[tuple[str, ...]]
    heads: tuple[str, ...]
    if domain is None and not output_options.verbose:
        levels = [tuple(level) for _, level in groupby(tasks, lambda task: task.id.partition(".")[0])]
        shortest = [min((task.instruction for task in level), key=len) for level in levels]
        rows = [
            (_ends([task.id for task in level]), level[0].domain, instruction, _times(level))
            for level, instruction in zip(levels, shortest, strict=True)
        ]
        heads = ("tasks", "embodiment", "for example", "time")
        note = "--verbose lists every task, --domain those of one embodiment, --out writes all to a file."
        shown = ReleaseListing(
            f"{len(tasks)} VLN tasks, seed {seed}", heads, rows, note=note, words=heads, sentences=heads[2:3]
        )
    else:
        rows = [
            (t.id, t.domain, t.instruction, t.start, f"{t.timeout_s:g} s", "0 or 100" if t.binary else "graded")
            for t in tasks
        ]
        heads = ("task", "embodiment", "instruction", "start", "time", "points")
        shown = ReleaseListing(
            f"VLN tasks, seed {seed}", heads, rows, words=heads[1:], sentences=("instruction", "start")
        )
    print_listing(shown)
    told = [
        {"id": t.id, "domain": t.domain, "name": t.name, "instruction": t.instruction, "start": t.start}
        | {"timeout_s": t.timeout_s, "seed": seed, "target": dict(t.target)}
        for t in tasks
    ]
    if out:
        lines = (row | {"system": system_prompt(str(row["domain"]))} for row in told)
        write_atomically(out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())
        console.print(f"For an agent: {out}")
    print_json({"seed": seed, "tasks": told})


def _ends(names: Sequence[str]) -> str:
    return " to ".join(dict.fromkeys((names[0], names[-1])))


def _times(tasks: Sequence[Specification]) -> str:
    times_s = sorted(task.timeout_s for task in tasks)
    return f"{_ends([f'{time_s:g}' for time_s in times_s])} s"


def _by_name(option: str, texts: Sequence[str], known: Collection[str] | None) -> dict[str, str]:
    """``[NAME=]VALUE`` by name, "" for all; each name must be known where it is said what is."""
    found = {}
    for text in texts:
        name, separator, value = text.rpartition("=")
        if not value or (known is None and not name) or (separator and known is not None and name not in known):
            raise ConfigError(f"{option} {text!r}: say {'NAME=VALUE' if known is None else 'ID, or TASK=ID'}")
        found[name] = value
    return found


def _numbers(text: str, count: int) -> FloatArray | None:
    """So many numbers, separated by commas; None where these are not so many, or no numbers."""
    try:
        found = np.array([float(value) for value in text.split(",")])
    except ValueError:
        return None
    return found if len(found) == count and np.isfinite(found).all() else None


def _line(light: str, numbers: str) -> FloatArray:
    """``x1,y1,x2,y2`` as (2, 2)."""
    line = _numbers(numbers, 4)
    if line is None:
        raise ConfigError(f"--stop-line {light}={numbers}: say LIGHT=x1,y1,x2,y2 in metres")
    return np.asarray(line.reshape(2, 2))


def _places(targets: Sequence[str], known: Collection[str]) -> dict[str, FloatArray]:
    """``[TASK=]x,y,z`` as places by task, "" for all."""
    places = {}
    for text in targets:
        task, separator, numbers = text.rpartition("=")
        place = _numbers(numbers, 3)
        if place is None or (separator and task not in known):
            raise ConfigError(f"--target {text!r}: say x,y,z in metres, or TASK=x,y,z")
        places[task] = place
    return places


def _print_outcomes(outcomes: Sequence[TrialOutcome], log: str) -> None:
    from pipeline.benchmarks.embodied4c.vln.rules import WORDS

    rows = []
    for outcome in outcomes:
        values = (outcome.measured or {}).items()
        measured = ", ".join(f"{WORDS[k]} {v:.2f}{_UNITS.get(k.rpartition('_')[2], '')}" for k, v in values)
        told = outcome.why_not or "; ".join(filter(None, (measured, outcome.ended_by, *outcome.notes)))
        points = "–" if outcome.points is None else f"{outcome.points:.1f}"
        rows.append((outcome.task.id, outcome.task.instruction, points, told))
    scored = [outcome.points for outcome in outcomes if outcome.points is not None]
    foot = ("", f"{len(scored)} of {len(outcomes)} can be scored", f"{np.mean(scored):.1f}" if scored else "", "")
    heads = ("task", "instruction", "points", "measured, or why not")
    print_listing(
        ReleaseListing(f"VLN tasks: {log}", heads, rows, foot, sentences=("instruction", "measured, or why not"))
    )
