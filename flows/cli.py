"""The command `scan2qa`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.traceback import install as pretty_tracebacks

from flows import show
from flows.stress import stress_test
from flows.track import track, video_offset
from pipeline.benchmarks.vsi.audit import audit as run_audit
from pipeline.benchmarks.vsi.audit import audit_table, read_questions
from pipeline.benchmarks.vsi.audit import coverage as run_coverage
from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.core.errors import ConfigError, RawDataError, Scan2qaError
from pipeline.core.files import write_atomically
from pipeline.core.parquet import table_bytes
from pipeline.engine.code import code_digest
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.manifest import Outcome
from pipeline.reading.doctor import inspect
from pipeline.reading.files import SceneFiles
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.flight.samples.write import write_flights
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.samples.metadata import write_sample_metadata
from pipeline.worlds.indoor.samples.write import write_samples
from pipeline.worlds.registry import READERS, configured

BUILDS: Final = Path(__file__).resolve().parent / "builds"
OUTPUTS: Final = Path("outputs")
CORES: Final = os.cpu_count() or 1
SAMPLES: Final = {"scans": ("scannet", "scannetpp", "arkitscenes"), "flights": ("flights",)}
SAMPLES_CODE: Final = {
    "scans": "pipeline.worlds.indoor.samples.write",
    "flights": "pipeline.worlds.flight.samples.write",
}
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
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes.", show_default="number of cores")]
Meta = Annotated[Path, typer.Option("--meta", help="Folder with the unified metadata (meta_info/*.json).")]
Questions = Annotated[Path, typer.Option("--questions", help="Published questions: .jsonl, .json or .parquet.")]
Profile = Annotated[str, typer.Option("--profile", help="Ambiguity rules: official or strict.")]


app.command("stress-test")(stress_test)
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
) -> None:
    """Builds a release from raw data; runs only what changed since the last time."""
    config, folder = _prepare(name, root, out, settings, write=not dry_run)
    if no_video:
        config = config.model_copy(update={"video": False})
    if dry_run:
        show.show_dry_run(Builder(config, folder).dry_run())
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
) -> None:
    """Runs one stage again on the last results of the stage before it."""
    needs_root = stage in STAGES and STAGES[stage].reads_raw
    config, folder = _prepare(name, root, out, settings, write=False, needs_root=needs_root)
    chosen = scenes.replace(",", " ").split()
    _run(config, folder, workers, "stage", {"name": stage, "scenes": chosen})
    if stage != next(reversed(STAGES)):
        show.console.print(f"Later stages were not run; [b]scan2qa build {name}[/b] brings them up to date.")


@app.command()
def audit(
    meta: Meta,
    questions: Questions,
    out: Annotated[Path, typer.Option("--out", help="One row per question, Parquet.")],
    profile: Profile = "official",
) -> None:
    """Answers a published question file again from the metadata, and says where it differs."""
    scenes, rules = _read_scenes(meta), _rules(profile)
    table = audit_table(run_audit(read_questions(questions), scenes, rules))
    write_atomically(out, table_bytes(table))
    show.show_audit(table, profile)
    show.console.print(f"All rows: {out}")


@app.command()
def coverage(meta: Meta, questions: Questions, profile: Profile = "official") -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    scenes, rules = _read_scenes(meta), _rules(profile)
    show.show_coverage(*run_coverage(read_questions(questions), scenes, rules), profile)


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
def samples(folder: Annotated[Path, typer.Argument(help="Where to write them.")]) -> None:
    """Writes small procedural scans and flights in the raw formats, and the truth that was planted in them."""
    write_sample_metadata(folder / "vsi_meta")
    for kind, build_name in (("scans", "vsi"), ("flights", "urban")):
        _write_samples(kind, folder)
        roots = " ".join(f"--root {name}={folder / name}" for name in SAMPLES[kind])
        show.console.print(f"Try: scan2qa build {build_name} {roots}", soft_wrap=True, highlight=False)


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
        given = _sample_roots(config.samples, folder / "samples", write)
    return config.model_copy(update={"roots": given}), folder


def _sample_roots(kind: str, folder: Path, write: bool) -> dict[str, Path]:
    """Roots of the sample scans or flights, which are written where this version of them is not there yet."""
    version, mark = code_digest((SAMPLES_CODE[kind],)), folder / ".version"
    if not mark.exists() or mark.read_text(encoding="utf-8") != version:
        if not write:
            raise ConfigError(
                f"no --root was given and the sample {kind} are not written yet: build once, or give a root"
            )
        with show.errors.status(f"writing sample {kind} (no --root given)"):
            _write_samples(kind, folder)
        write_atomically(mark, version.encode())
    return {name: folder / name for name in SAMPLES[kind]}


def _write_samples(kind: str, folder: Path) -> None:
    if kind == "scans":
        write_samples(folder)
    else:
        write_flights(folder / "flights")


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
    if outcome.quarantine:
        raise typer.Exit(EXIT_QUARANTINED)


def _keys(config: BuildConfig) -> dict[str, str]:
    """The API keys of the configured models, of those environment variables that are set."""
    names = {model.key_name for stage in STAGES.values() for model in stage.asks(config) if model.key_name}
    return {name: os.environ[name] for name in sorted(names) if os.environ.get(name)}


def _read_scenes(meta: Path) -> list[IndoorScene]:
    """All sound scenes of a metadata folder; the others are listed on the terminal."""
    reader = READERS["vsi_meta"]
    listing = reader.scenes(meta)
    scenes, broken = [], list(listing.broken)
    for ref in listing.scenes:
        try:
            scenes.append(reader.read(SceneFiles(meta, ref)))
        except RawDataError as error:
            broken.append(error)
    show.show_broken(broken)
    return scenes


def _rules(profile: str) -> Rules:
    if profile not in PROFILES:
        raise ConfigError(f"unknown profile {profile!r}; there are {', '.join(PROFILES)}")
    return PROFILES[profile]


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
