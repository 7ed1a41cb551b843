"""The stages of a build: pure functions of a unit's input, their part of the configuration and their code."""

from __future__ import annotations

import hashlib
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.registry import ALL_TASKS
from pipeline.benchmarks.urbanvideo.authoring.author import author
from pipeline.benchmarks.urbanvideo.authoring.step import PROMPTS, Ask
from pipeline.benchmarks.urbanvideo.benchmark import URBAN_TASKS
from pipeline.benchmarks.urbanvideo.candidates import urban_candidates
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.vsi.benchmark import TASKS
from pipeline.benchmarks.vsi.rules import Rules
from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.schema import Quarantine
from pipeline.core.templates import load_template
from pipeline.engine.config import BuildConfig
from pipeline.engine.store import Result, Store
from pipeline.film.video import DEFAULT_FRAMES_PER_SECOND, FRAMES_PER_SECOND, at_pace, encode
from pipeline.llm.failures import UNANSWERED
from pipeline.llm.prompts import load_prompt
from pipeline.questions.candidates import candidates
from pipeline.questions.selection import select
from pipeline.reading.reader import Reader, SceneRef
from pipeline.worlds.flight.view import FlightView
from pipeline.worlds.indoor.facts import Route
from pipeline.worlds.indoor.view import SceneView
from pipeline.worlds.registry import WORLDS, configured, read_scene

_PACKAGE: Final = Path(__file__).resolve().parents[1]
STORE: Final = "store"  # folders of a build
VIDEOS: Final = "videos"
# Libraries whose version can change a result; a new one is new code.
_LIBRARIES: Final = (
    *("numpy", "scipy", "pandas", "pyarrow", "pydantic", "pillow", "av", "scikit-learn", "shapely", "trimesh"),
    *("pymap3d", "pyproj", "pymavlink", "osmium", "jinja2"),
)


@dataclass(frozen=True)
class RawInput:
    """Input of the first stage: one scene of a reader's root."""

    reader: str
    root: Path
    ref: SceneRef
    routes: tuple[Route, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # of the reader

    def open(self) -> Reader:
        """The reader, with its options."""
        return configured(self.reader, dict(self.options))

    @property
    def digest(self) -> str:
        """Changes with the scene's bytes and with the file that holds them, not with where the root lies."""
        routes = [route.model_dump() for route in self.routes]
        return digest_of([self.reader, self.open().settings(), self.ref.files, self.ref.stamp, routes])


@dataclass(frozen=True)
class Job:
    """One stage of one unit, to be run in any process."""

    stage: str
    unit: str
    key: str
    raw: RawInput | None
    before: Result | None
    settings: dict[str, Any]
    folder: Path  # of the build
    beside: tuple[Result | None, ...] = ()  # of the stages that it looks at besides
    ask: Ask | None = None  # the model of stage `author`; such jobs stay in the process of the build


@dataclass(frozen=True)
class Stage:
    """One step per scene: ``run(job, result of the stage it comes after)``.

    ``code`` names the folders and modules of ``pipeline/`` that its result depends on; ``reads_raw`` says whether it
    goes back to the raw data. ``beside`` names other stages whose results it looks at.
    """

    name: str
    suffix: str
    code: tuple[str, ...]
    settings: Callable[[BuildConfig], dict[str, Any]]
    run: Callable[[Job, bytes], bytes]
    after: str | None
    reads_raw: bool = False
    beside: tuple[str, ...] = ()
    is_wanted: Callable[[BuildConfig], bool] = lambda config: True  # else what it would be given is passed on
    is_whole: Callable[[bytes, Path], bool] = lambda result, folder: True  # what the stage wrote beside its result


def _unify(job: Job, before: bytes) -> bytes:
    reader, raw = _source(job)
    scene = reader.read(raw.root, raw.ref)
    if raw.routes:
        scene = scene.with_facts(routes=raw.routes)
    return scene.model_dump_json(indent=1).encode()


def _film(job: Job, before: bytes) -> bytes:
    """Writes the standardised video beside the store; the result says what was written."""
    reader, raw = _source(job)
    scene = read_scene(before)
    footage = reader.footage(raw.root, raw.ref, scene)
    if footage is None:
        return json.dumps({"video": None}).encode()
    fps = FRAMES_PER_SECOND.get(scene.dataset, DEFAULT_FRAMES_PER_SECOND)
    turn = scene.video.turn_deg if scene.video else 0
    encoded = encode(at_pace(footage.frames(), footage.fps, fps), fps, turn)
    name = f"{VIDEOS}/{scene.id}.mp4"
    write_atomically(job.folder / name, encoded.raw)
    facts = {"video": name, "fps": fps, "frames": encoded.frames, "bytes": len(encoded.raw)}
    return json.dumps(facts | {"sha256": hashlib.sha256(encoded.raw).hexdigest()}).encode()


def _film_is_whole(result: bytes, folder: Path) -> bool:
    """By size alone: hashing hundreds of videos would take longer than anything else in an unchanged build."""
    facts = json.loads(result)
    path = folder / str(facts["video"])
    return facts["video"] is None or (path.exists() and path.stat().st_size == facts["bytes"])


def _observe(job: Job, before: bytes) -> bytes:
    reader, raw = _source(job)
    scene = read_scene(before)
    geometry = reader.geometry(raw.root, raw.ref, scene)
    if geometry is None:
        return before
    world = WORLDS[scene.facts.world]
    config = world.config.model_validate(job.settings["motion" if world.name == "flight" else "observe"])
    observed = world.observe(scene, geometry, config)
    for fault in observed.findings:
        if fault.severity == "fault":
            raise RawDataError(raw.root / raw.ref.files[0], fault.name, fault.message, fault.remedy, scene.id)
    return observed.model_dump_json(indent=1).encode()


def _generate(job: Job, before: bytes) -> bytes:
    scene, names = read_scene(before), job.settings["tasks"]
    if scene.facts.world == "flight":
        flight = FlightView(scene, UrbanRules.model_validate(job.settings["flight_rules"]))
        return table_bytes(urban_candidates(flight, [URBAN_TASKS[name] for name in names if name in URBAN_TASKS]))
    view = SceneView(scene, Rules.model_validate(job.settings["rules"]))
    return table_bytes(candidates(view, [TASKS[name] for name in names if name in TASKS]))


def _author(job: Job, before: bytes) -> bytes:
    """The candidates from facts, and what a model wrote where the facts gave no question."""
    observed, film = job.beside
    if job.ask is None or observed is None:
        raise ValueError("this stage asks a model about a scene")
    scene = read_scene(Store(job.folder / STORE).get(observed))
    tasks = [task for name in job.settings["tasks"] if (task := URBAN_TASKS.get(name)) and task.model_assisted]
    filmed = json.loads(Store(job.folder / STORE).get(film))["video"] if film else None
    shown = job.folder / filmed if filmed and job.settings["sees_video"] else None
    facts = read_table(before)
    written = author(scene, facts, job.ask, tasks, shown, job.settings["author"]["questions_per_task"])
    return table_bytes(pa.concat_tables([facts, written]))


def _author_is_whole(result: bytes, folder: Path) -> bool:
    """Whether every call had an answer: those that had none are made again in the next build."""
    reasons = {reason for reason in read_table(result)["reason"].unique().to_pylist() if reason}
    return not any(reason == f"{step}_{kind}" for reason in reasons for step in PROMPTS for kind in UNANSWERED)


def _select(job: Job, before: bytes) -> bytes:
    return table_bytes(select(read_table(before), ALL_TASKS, job.settings["per_scene_and_task"]))


def _source(job: Job) -> tuple[Reader, RawInput]:
    if job.raw is None:
        raise ValueError("this stage reads raw data")
    return job.raw.open(), job.raw


def _select_settings(config: BuildConfig) -> dict[str, Any]:
    return config.select.model_dump() | {"templates": _wordings(config)}


def _wordings(config: BuildConfig) -> dict[str, str]:
    return {name: load_template(ALL_TASKS[name].template).digest for name in config.generate.tasks}


def _generate_settings(config: BuildConfig) -> dict[str, Any]:
    return {
        "tasks": list(config.generate.tasks),
        "rules": config.generate.resolved_rules().model_dump(),
        "flight_rules": config.generate.flight_rules.model_dump(),
        "flight_templates": {name: text for name, text in _wordings(config).items() if name in URBAN_TASKS},
    }


def _author_settings(config: BuildConfig) -> dict[str, Any]:
    model = config.author.model
    return {
        "tasks": list(config.generate.tasks),
        "author": config.author.model_dump(mode="json") | {"model": model.identity() if model else None},
        "sees_video": config.video and model is not None and "video" in model.inputs,
        "prompts": {step: load_prompt(name).version for step, name in PROMPTS.items()},
        "templates": _wordings(config),
    }


_SHARED: Final = ("core", "engine/stages.py")
_RAW: Final = (*_SHARED, "geometry", "formats", "reading", "worlds")
_QUESTIONS: Final = (*_SHARED, "geometry", "questions", "worlds", "benchmarks")
SCENE_STAGES: Final[dict[str, Stage]] = {
    stage.name: stage
    for stage in (
        Stage("unify", ".json", _RAW, lambda _: {}, _unify, None, reads_raw=True),
        Stage(
            "film",
            ".json",
            (*_RAW, "film"),
            lambda _: {},
            _film,
            "unify",
            reads_raw=True,
            is_whole=_film_is_whole,
            is_wanted=lambda config: config.video,
        ),
        Stage(
            "observe",
            ".json",
            _RAW,
            lambda config: {
                "observe": config.observe.model_dump(mode="json"),
                "motion": config.motion.model_dump(mode="json"),
            },
            _observe,
            "unify",
            reads_raw=True,
        ),
        Stage("generate", ".parquet", _QUESTIONS, _generate_settings, _generate, "observe"),
        Stage(
            "author",
            ".parquet",
            (*_QUESTIONS, "llm"),
            _author_settings,
            _author,
            "generate",
            beside=("observe", "film"),
            is_whole=_author_is_whole,
            is_wanted=lambda config: config.author.model is not None,
        ),
        Stage("select", ".parquet", _QUESTIONS, _select_settings, _select, "author"),
    )
}


@dataclass(frozen=True)
class Done:
    """What became of a job: a result, or the reason why its unit is left out."""

    unit: str
    result: Result | None
    quarantine: Quarantine | None
    seconds: float


def run_job(job: Job) -> Done:
    """Runs one job and stores its result. Only StoreError and ConfigError get out."""
    start = time.perf_counter()
    stage, store = SCENE_STAGES[job.stage], Store(job.folder / STORE)
    try:
        before = store.get(job.before) if job.before else b""
        result = store.put(job.stage, job.unit, job.key, stage.run(job, before), stage.suffix)
    except (StoreError, ConfigError):
        raise  # of the build, not of the unit
    except RawDataError as error:
        return Done(job.unit, None, quarantine_of(error, job.unit, job.stage), time.perf_counter() - start)
    except Exception as error:
        return Done(job.unit, None, _unexpected(error, job), time.perf_counter() - start)
    return Done(job.unit, result, None, time.perf_counter() - start)


def quarantine_of(error: RawDataError, unit: str, stage: str) -> Quarantine:
    """The quarantine entry of a unit whose raw data are broken."""
    return Quarantine(
        unit=unit,
        stage=stage,
        file=str(error.path),
        finding=error.finding,
        message=error.message,
        remedy=error.remedy,
    )


def _unexpected(error: Exception, job: Job) -> Quarantine:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return Quarantine(
        unit=job.unit,
        stage=job.stage,
        file=str(job.raw.root / job.raw.ref.files[0] if job.raw else job.before.path if job.before else ""),
        finding="unexpected_error",
        message=f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})",
        remedy="this is a fault of scan2qa: report it with the file",
    )


@cache
def code_digest(parts: tuple[str, ...]) -> str:
    """Digest over the source of folders and modules of ``pipeline/`` and the versions of the libraries.

    So there is no version number to forget to raise; a change that changes no result stops at the next stage.
    """
    files = [f for part in parts for f in ((_PACKAGE / part).rglob("*.py") if "." not in part else [_PACKAGE / part])]
    sources = {f.relative_to(_PACKAGE).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}
    return digest_of([sources, {name: version(name) for name in _LIBRARIES}, _open3d_version()])


def _open3d_version() -> str:
    """Open3D goes by two names, one of them for Linux on x86-64 alone."""
    try:
        return version("open3d-cpu")
    except PackageNotFoundError:
        return version("open3d")
