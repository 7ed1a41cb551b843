"""The command `scan2qa`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.traceback import install as pretty_tracebacks

from flows import show, show_money
from flows.audit import audit, coverage
from flows.samples import sample_roots, samples
from flows.stress import stress_test
from flows.track import track, video_offset
from pipeline.core.errors import ConfigError, Scan2qaError
from pipeline.core.files import write_atomically
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.manifest import Outcome
from pipeline.reading.doctor import inspect
from pipeline.stages.author import is_blindfolded
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import READERS, configured

BUILDS: Final = Path(__file__).resolve().parent / "builds"
OUTPUTS: Final = Path("outputs")
CORES: Final = os.cpu_count() or 1
EXIT_USAGE: Final = 2
EXIT_QUARANTINED: Final = 3

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Builds spatial question-answering benchmarks from 3D scans and drone flights, and audits published ones.",
    epilog="Exit codes: 0 done, 1 the output could not be written, 2 wrong call or configuration, "
    "3 done, but some scenes were left out (listed, and in quarantine.parquet).",
)

BuildName = Annotated[str, typer.Argument(metavar="BUILD", help="A configuration in flows/builds, or a YAML file.")]
Roots = Annotated[
    list[str],
    typer.Option(
        "--root",
        metavar="READER=DIR",
        help="Raw data; may be given several times. Readers: "
        + ", ".join(READERS)
        + ". With none, procedural sample scenes.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Output folder.", show_default="outputs/BUILD")]
Settings = Annotated[list[str], typer.Option("--set", metavar="A.B=C", help="Changes one configuration key.")]
MaxUsd = Annotated[
    float | None,
    typer.Option("--max-usd", min=0, help="Spend at most so much on all models, over all runs.", show_default="no cap"),
]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes.", show_default="number of cores")]


app.command("stress-test")(stress_test)
app.command()(audit)
app.command()(coverage)
app.command()(samples)
app.command()(track)
app.command()(video_offset)


@app.command()
def build(
    name: BuildName,
    root: Roots = [],
    workers: Workers = CORES,
    out: Out = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and why; write nothing.")] = False,
    no_video: Annotated[bool, typer.Option("--no-video", help="Only questions, no standardised videos.")] = False,
    settings: Settings = [],
    max_usd: MaxUsd = None,
) -> None:
    """Builds a release from raw data; runs only what changed since the last time."""
    config, folder = _prepare(name, root, out, settings, write=not dry_run)
    if no_video:
        config = config.model_copy(update={"video": False})
    if config.author.model is not None and is_blindfolded(config):
        show.console.print(f"{config.author.model.name} writes nothing: it is shown videos, and this build makes none.")
    config = _capped(config, max_usd)
    if dry_run:
        outcome = Builder(config, folder).dry_run()
        show.show_dry_run(outcome)
        _show_forecast(config, folder, outcome)
        return
    _run(config, folder, workers, "build", {})
    show.console.print(f"Release: {folder / 'release'}")


@app.command()
def stage(
    name: BuildName,
    stage: Annotated[str, typer.Argument(help="One of " + ", ".join(STAGES) + ".")],
    scenes: Annotated[str, typer.Option(help="Ids or names, separated by commas or blanks; * and ? match.")] = "",
    root: Roots = [],
    workers: Workers = CORES,
    out: Out = None,
    settings: Settings = [],
    max_usd: MaxUsd = None,
) -> None:
    """Runs one stage again on the last results of the stage before it."""
    needs_root = stage in STAGES and STAGES[stage].reads_raw
    config, folder = _prepare(name, root, out, settings, write=False, needs_root=needs_root)
    chosen = scenes.replace(",", " ").split()
    _run(_capped(config, max_usd), folder, workers, "stage", {"name": stage, "scenes": chosen})
    if stage != next(reversed(STAGES)):
        show.console.print(f"Later stages were not run; [b]scan2qa build {name}[/b] brings them up to date.")


@app.command()
def doctor(
    root: Annotated[list[str], typer.Option("--root", metavar="READER=DIR", help="Raw data to look at.")],
) -> None:
    """Says what lies in data folders, and what each missing file costs, before a long run."""
    broken = False
    for name, folder in _roots(root).items():
        inspection = inspect(configured(name, {}), folder)
        show.show_inspection(name, folder, inspection)
        broken |= bool(inspection.broken)
    if broken:
        raise typer.Exit(EXIT_QUARANTINED)


@app.command()
def schemas(folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path("meta_schemas")) -> None:
    """Writes the JSON Schemas of the shared models."""
    from pipeline.engine.json_schemas import json_schemas

    for file, text in json_schemas().items():
        write_atomically(folder / file, text.encode())


def _prepare(
    name: str, roots: list[str], out: Path | None, settings: list[str], write: bool, needs_root: bool = True
) -> tuple[BuildConfig, Path]:
    path = Path(name) if name.endswith((".yaml", ".yml")) else BUILDS / f"{name}.yaml"
    if not path.exists():
        known = ", ".join(sorted(p.stem for p in BUILDS.glob("*.yaml")))
        raise ConfigError(f"unknown build {name!r}; there are {known}, or give the path of a YAML file")
    config = load_config(path, settings)
    folder = out or OUTPUTS / config.build
    given = dict(config.roots)
    given |= _roots(roots)
    if not given and needs_root:
        given = sample_roots(config.of_benchmark().worlds, folder / "samples", write)
    return config.model_copy(update={"roots": given}), folder


def _capped(config: BuildConfig, max_usd: float | None) -> BuildConfig:
    return config if max_usd is None else config.model_copy(update={"max_usd": max_usd})


def _show_forecast(config: BuildConfig, folder: Path, outcome: Outcome) -> None:
    """What asking the models would take; by the last questions, since nothing is run."""
    from pipeline.stages.asking import forecast_of

    due = [entry.unit for entry in outcome.manifest if entry.stage == "author" and entry.why != "reused"]
    rows = forecast_of(config, folder, due)
    if rows is None:
        show.console.print("What the models will cost is not known before stage select has run: leave them out once.")
    elif rows:
        show.console.print(show_money.forecast_table(rows, show_money.caps_of(config)))


def _roots(roots: list[str]) -> dict[str, Path]:
    given = {}
    for root in roots:
        reader, equals, directory = root.partition("=")
        if not equals or not directory:
            raise ConfigError(f"--root {root}: write it as reader=folder, with a reader of {', '.join(READERS)}")
        given[reader] = Path(directory)
    return given


def _run(config: BuildConfig, folder: Path, workers: int, action: str, options: dict[str, Any]) -> None:
    keys = _keys(config)
    Builder(config, folder, keys=keys).check(options.get("name"))  # before Prefect, which takes seconds to start
    from flows.orchestrate import orchestrate

    with show.progress_bars() as progress:
        outcome: Outcome = orchestrate(config, folder, workers, action, progress, keys, **options)
    show.show_outcome(outcome)
    spending = show_money.spending_table(config, folder)
    if spending is not None:
        show.console.print(spending)
    if outcome.quarantine:
        raise typer.Exit(EXIT_QUARANTINED)


def _keys(config: BuildConfig) -> dict[str, str]:
    """The API keys of the configured models, of those environment variables that are set."""
    names = {model.key_name for stage in STAGES.values() for model in stage.asks(config) if model.key_name}
    return {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}


def main() -> None:
    """Entry point: an error made on purpose is one line on stderr."""
    pretty_tracebacks(show_locals=False)
    try:
        app()
    except ConfigError as error:
        show.show_error(error)
        sys.exit(EXIT_USAGE)
    except Scan2qaError as error:
        show.show_error(error)
        sys.exit(1)
