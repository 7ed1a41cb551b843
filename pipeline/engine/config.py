"""Build configurations: YAML read into models that refuse unknown keys.

The keys depend on the benchmark: its tasks, its rules, its worlds' parts. So there is a model of the configuration for
each benchmark (`config_model`), and the key ``benchmark`` selects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeVar, get_args

import yaml
from pydantic import BaseModel, Field, ValidationError, create_model, field_validator, model_validator

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.blind.config import BlindConfig, PruneConfig
from pipeline.core.arguments import nearest_of, split_setting, unknown_key
from pipeline.core.budget import WorkerLimits
from pipeline.core.errors import ConfigError, fault_of_value
from pipeline.core.fixes import FixEntry
from pipeline.core.identity import digest_of
from pipeline.core.schema import Model
from pipeline.core.tables import PART_SPLITS
from pipeline.core.templates import load_template
from pipeline.core.video_spec import VideoSpec
from pipeline.llm.base import ModelSpec
from pipeline.questions.task import Task
from pipeline.reading.fix_files import SHIPPED, read_fixes
from pipeline.reading.reader import Reader
from pipeline.reading.settings import strict_yaml
from pipeline.release.gates import GatesConfig
from pipeline.worlds.registry import FIXES, READERS, configured, takes_videos

M = TypeVar("M", bound=BaseModel)
TASKS_OF_PROFILE: Final = "to make questions of; by default all of the profile"
BUILD_NAME: Final = r"^[a-z][a-z0-9_]*$"


def find_published(benchmark: Benchmark[Any, Any], reader: str, root: Path) -> Path | None:
    """The published questions that lie beside the metadata that they were made from, in a root of their reader."""
    metadata = benchmark.audit.metadata if benchmark.audit else None
    if metadata is None or reader not in metadata.readers:
        return None
    paths = (folder / name for folder in (root, root.parent) for name in metadata.published_files)
    return next((path for path in paths if path.is_file()), None)


class FixesConfig(Model):
    """Stage `fix`: corrections that people made, beside those in meta_schemas/fixes."""

    folder: Path | None = Field(default=None, description="of further files of fixes, DATASET.yaml")
    apply: bool | None = Field(
        default=None, description="null: in all profiles but the one that repeats the published benchmark"
    )


class GenerateConfig(Model):
    """Stage `generate`: which tasks, under which rules."""

    benchmark: ClassVar[Benchmark[Any, Any]]

    profile: str = "strict"
    tasks: tuple[str, ...] = ()
    rules: dict[str, Any] = Field(default_factory=dict, description="limits that differ from the profile's")

    @model_validator(mode="before")
    @classmethod
    def _tasks_of_profile(cls, raw: Any) -> Any:
        """All tasks of the profile, unless some are named."""
        if not isinstance(raw, dict) or "tasks" in raw:
            return raw
        profile = raw.get("profile", next(iter(cls.benchmark.profiles)))
        return raw | {"tasks": tuple(cls.benchmark.asked_under(str(profile)))}

    @field_validator("tasks")
    @classmethod
    def _known_tasks(cls, tasks: tuple[str, ...]) -> tuple[str, ...]:
        known = tuple(cls.benchmark.by_name())
        unknown = [t for t in tasks if t not in known]
        if unknown:
            raise ValueError(f"unknown task {', '.join(unknown)}; {nearest_of(unknown[0], known)}")
        if len(set(tasks)) < len(tasks):
            raise ValueError("a task is named twice")
        if not tasks:
            raise ValueError(f"no task is named; there are {', '.join(known)}")
        return tuple(t for t in known if t in tasks)  # one order, so that the order in the file changes nothing

    @model_validator(mode="after")
    def _tasks_are_asked(self) -> GenerateConfig:
        known = self.benchmark.asked_under(self.profile)
        if others := [task for task in self.tasks if task not in known]:
            raise ValueError(f"profile {self.profile} does not ask {', '.join(others)}; it asks {', '.join(known)}")
        return self

    @model_validator(mode="after")
    def _sound_rules(self) -> GenerateConfig:
        limits = self.benchmark.rules.model_fields
        unknown = sorted(set(self.rules) - set(limits))
        if unknown:
            raise ValueError(f"unknown rule {', '.join(unknown)}; {nearest_of(unknown[0], sorted(limits))}")
        try:
            self.resolved_rules()
        except ValidationError as error:
            raise ValueError("; ".join(map(_fault_of_rule, error.errors()))) from error
        return self

    def resolved_rules(self) -> BaseModel:
        """The profile's rules with the configured differences."""
        profiles = self.benchmark.profiles
        if self.profile not in profiles:
            raise ValueError(f"unknown profile {self.profile!r}; {nearest_of(self.profile, profiles)}")
        return self.benchmark.rules.model_validate(profiles[self.profile].model_dump() | self.rules)


class AuthorConfig(Model):
    """Stage `author`: which model writes, and how much it is asked at most (2 calls per scene, 1 per task).

    A second model is asked twice for each question that passed the checks.
    """

    model: ModelSpec | None = Field(default=None, description="null: none writes; max_tokens: a few thousand")
    second: ModelSpec | None = Field(
        default=None, description="answers written questions, with and without the video; null: none"
    )
    questions_per_task: int = Field(default=2, ge=1, le=10, description="asked for at once, per scene and task")


class DescribeConfig(Model):
    """Stage `describe`: which model looks at pictures of the videos (2 calls per thing).

    It says what landmarks of flights look like; of scans, whether the things of a category are called so, and whether
    there are more of them. In stage `verify` it says how many it sees of the things that questions name. Of panoramas
    without known objects it proposes some, and the second model confirms them (a call of each per view).
    """

    model: ModelSpec | None = Field(default=None, description="takes pictures; null: none looks")
    second: ModelSpec | None = Field(
        default=None,
        description="takes pictures; confirms what the first proposes in panoramas; null: none is proposed",
    )
    things: int = Field(
        default=40,
        ge=1,
        le=1000,
        description="landmarks of a flight or categories of a scan that it is asked about, those shown largest; or "
        "views of a panorama",
    )

    questions: bool = Field(
        default=True, description="it is also asked how many it sees of each thing that a selected question names"
    )

    @field_validator("model", "second")
    @classmethod
    def _takes_pictures(cls, model: ModelSpec | None) -> ModelSpec | None:
        if model is not None and "image" not in model.inputs:
            raise ValueError("it is shown pictures: set inputs: [text, image]")
        return model


VideoSide = Annotated[int, Field(ge=64, le=4096, multiple_of=2)]  # encoders take even sizes only
ReaderOption = Annotated[str, Field(coerce_numbers_to_str=True)]  # YAML reads --set readers.carla.ego=174 as a number


class SelectConfig(Model):
    """Stage `select`: how many questions per scene and task."""

    per_scene_and_task: int = Field(
        default=6, ge=1, description="most questions of one scene and task, where the task has no number of its own"
    )
    per_task: dict[str, Annotated[int, Field(ge=1)]] | None = Field(
        default=None, description="task -> most questions of one scene; null: those of the profile, where it has any"
    )


class ExportConfig(Model):
    """Stage `export`: names in the release."""

    split: str = Field(default="test", pattern=r"^[a-z][a-z0-9_]*$", description="name of the split of all questions")
    pretty_name: str = ""
    terms: dict[str, str] = Field(
        default_factory=dict, description="dataset -> the terms of its data, for LICENSES.md; Markdown on one line"
    )

    frames: tuple[str, ...] = Field(
        default=(), description="datasets whose terms allow redistribution of pictures of their videos"
    )
    videos: tuple[str, ...] = Field(
        default=(), description="datasets whose videos go into the release: their terms allow it, or they are your own"
    )
    contact: str = Field(default="", description="whom users of the release ask")
    license: str = Field(
        default="",
        pattern=r"^[a-z0-9.-]*$",
        description="of the release, as the Hugging Face hub names it (cc-by-4.0); empty: other, as LICENSES.md says",
    )
    version: str = Field(default="", pattern=r"^(\d+\.\d+\.\d+)?$", description="of the release, such as 1.0.0")
    published: date | None = Field(default=None, description="day of publication, such as 2026-12-01")

    @field_validator("split")
    @classmethod
    def _not_taken(cls, split: str) -> str:
        if split in PART_SPLITS:
            raise ValueError(f"the split {split} holds a part of the questions; give the full one another name")
        return split


class BuildConfig(Model):
    """A whole build of one benchmark."""

    build: str
    benchmark: str
    roots: dict[str, Path] = Field(
        default_factory=dict,
        description="reader name -> folder of raw data",
        json_schema_extra=lambda schema: schema.update(propertyNames={"enum": list(READERS)}),
    )
    samples: bool = Field(
        default=False, description="the raw data are scan2qa's own samples; set by itself where no root is given"
    )
    videos: Path | None = Field(
        default=None, description="folder of the videos of released metadata, <dataset>/<scene>.mp4"
    )
    readers: dict[str, dict[str, ReaderOption]] = Field(default_factory=dict, description="reader name -> its options")
    video: bool = Field(default=True, description="write the standardised videos")
    video_size: tuple[VideoSide, VideoSide] | None = Field(
        default=None, description="most width and height of the videos, pixels; null: the benchmark's"
    )
    figures: bool = Field(default=True, description="draw what proves each answer")
    png: Literal["video", "all"] = Field(
        default="video", description="drawings to write as PNG too: those that show the video, or all"
    )
    written: dict[str, Path] = Field(default_factory=dict, description="world -> file of facts that people wrote")
    known: Literal["none"] | Path | None = Field(
        default=None,
        description="published questions; answers that differ from the data: doubts. null: those that lie beside "
        "released metadata, if any; none: none",
    )
    limits: WorkerLimits = WorkerLimits()
    fixes: FixesConfig = FixesConfig()
    observe: Model = Field(default=Model(), description="world -> how closely its scenes are looked at")
    describe: DescribeConfig = DescribeConfig()
    generate: GenerateConfig
    author: AuthorConfig = AuthorConfig()
    select: SelectConfig = SelectConfig()
    blind: BlindConfig = BlindConfig()
    limit_cost: float | None = Field(default=None, ge=0, description="spent on all models together, over all runs")
    prune: PruneConfig | None = Field(default=PruneConfig(), description="null: no split debiased")
    export: ExportConfig
    gates: GatesConfig = GatesConfig()
    store: str | None = Field(default=None, description="s3://bucket/prefix: where the build is kept too")
    keep: int = Field(default=5, ge=1, description="releases that stay, the newest included")

    @field_validator("store")
    @classmethod
    def _known_store(cls, url: str | None) -> str | None:
        if url is not None and not (url.startswith("s3://") and url.removeprefix("s3://").strip("/")):
            raise ValueError("write it as s3://bucket/prefix; a folder that machines share is given with --out")
        return url.rstrip("/") if url else None

    @model_validator(mode="after")
    def _known_caps(self) -> BuildConfig:
        """Raises ValueError where a cap decides nothing."""
        asked = self.generate.tasks
        if unknown := sorted(set(self.select.per_task or ()) - set(asked)):
            raise ValueError(
                f"select.per_task names {', '.join(unknown)}, which is not asked; there are {', '.join(asked)}"
            )
        unused = self.select.per_scene_and_task != SelectConfig().per_scene_and_task
        if unused and self.select.per_task is None and None not in (self.own_caps().get(task) for task in asked):
            raise ValueError(
                f"select.per_scene_and_task decides nothing, since profile {self.generate.profile} has a number of its "
                "own for each task; add --set select.per_task={} to do without these"
            )
        return self

    def own_caps(self) -> Mapping[str, int | None]:
        """Task -> most questions of one scene, where that is not `SelectConfig.per_scene_and_task`; else None."""
        own = self.select.per_task
        return self.of_benchmark().asked_under(self.generate.profile) if own is None else own

    def of_benchmark(self) -> Benchmark[Any, Any]:
        """The benchmark that is built."""
        return BENCHMARKS[self.benchmark]

    def video_spec(self) -> VideoSpec:
        """The format of its videos."""
        form = self.of_benchmark().video
        return form if self.video_size is None else replace(form, size=self.video_size)

    def reader(self, name: str) -> Reader:
        """The reader of a root with its options. Raises ConfigError for one that is not known."""
        videos = {"videos": str(self.videos)} if self.videos is not None and takes_videos(name) else {}
        return configured(name, self.readers.get(name, {}) | videos)

    def wordings(self) -> dict[str, str]:
        """Task -> digest of its template, and of those that its texts are put together from, where there are any."""
        tasks = self.of_benchmark().by_name()
        return {name: _wording_digest(tasks[name]) for name in self.generate.tasks}

    def resolved(self) -> dict[str, Any]:
        """All as plain values, but for roots, videos and whether these are samples: where data lie decides nothing."""
        return self.model_dump(mode="json", exclude={"roots", "videos", "samples"})

    def digest(self) -> str:
        """Changes with anything in `resolved`."""
        return digest_of(self.resolved())

    @property
    def known_file(self) -> Path | None:
        """The published questions that the data are held against."""
        if self.known is not None:
            return None if self.known == "none" else Path(self.known)
        if self.generate.profile == self.of_benchmark().released:
            return None
        found = (find_published(self.of_benchmark(), name, self.roots[name]) for name in sorted(self.roots))
        return next((path for path in found if path is not None), None)

    def applies_fixes(self) -> bool:
        """Whether corrections are applied: not where the build repeats a published release, mistakes included."""
        repeats = self.generate.profile == self.of_benchmark().released
        return not repeats if self.fixes.apply is None else self.fixes.apply

    def all_fixes(self) -> list[FixEntry]:
        """All corrections, shipped or of one's own. Raises ConfigError for a file that is wrong."""
        if not self.applies_fixes():
            return []
        own = [self.fixes.folder] if self.fixes.folder else []
        return read_fixes([SHIPPED, *own], FIXES)


_OF_FIELDS: Final = frozenset({"title", "default"})  # a rule's default is that of its profile


def _plain_parts(model: type[BaseModel]) -> dict[str, Any]:
    """What the JSON Schema of a model says of each key, defaults left aside; of models in it nothing but their key."""
    parts: dict[str, Any] = model.model_json_schema()["properties"]
    kept = {name: {key: value for key, value in part.items() if key not in _OF_FIELDS} for name, part in parts.items()}
    return {name: {} if "$ref" in str(part) else part for name, part in kept.items()}


@cache
def config_model(name: str) -> type[BuildConfig]:
    """The configuration of builds of one benchmark."""
    benchmark = BENCHMARKS[name]
    profiles, default = ", ".join(benchmark.profiles), next(iter(benchmark.profiles))
    worlds: dict[str, Any] = {world.name: (world.config, world.config()) for world in benchmark.worlds}
    observe = create_model("ObserveConfig", __base__=Model, __doc__="A part for each world.", **worlds)
    generate = create_model(
        "GenerateConfig",
        __base__=GenerateConfig,
        __doc__=GenerateConfig.__doc__,
        profile=(str, Field(default=default, description=f"one of {profiles}")),
        tasks=(tuple[str, ...], Field(default=tuple(benchmark.asked_under(default)), description=TASKS_OF_PROFILE)),
        rules=(
            dict[str, Any],
            Field(
                default_factory=dict,
                description=GenerateConfig.model_fields["rules"].description,
                json_schema_extra={"properties": _plain_parts(benchmark.rules), "additionalProperties": False},
            ),
        ),
    )
    generate.benchmark = benchmark
    export = create_model(
        "ExportConfig",
        __base__=ExportConfig,
        __doc__=ExportConfig.__doc__,
        pretty_name=(
            str,
            Field(default=f"{benchmark.title}, rebuilt with scan2qa", description="title of the release"),
        ),
    )
    return create_model(
        "BuildConfig",
        __base__=BuildConfig,
        __doc__=f"A whole build of {benchmark.title}.",
        build=(str, Field(default=name, pattern=BUILD_NAME, description="its name, and its folder below outputs/")),
        observe=(observe, observe()),
        generate=(generate, generate()),
        export=(export, export()),
    )


def build_config(raw: dict[str, Any]) -> BuildConfig:
    """A configuration from its keys. Raises ConfigError, one line per fault; for an unknown key it names the known."""
    known = ", ".join(BENCHMARKS)
    if raw.get("benchmark") not in BENCHMARKS:
        named = f"unknown benchmark {raw['benchmark']!r}" if "benchmark" in raw else "no benchmark is named"
        raise ConfigError(f"configuration benchmark: {named}; there are {known}")
    return _validated(config_model(raw["benchmark"]), raw)


def load_config(path: Path, settings: Sequence[str] = ()) -> BuildConfig:
    """A build configuration with ``a.b=value`` settings laid over it; values are YAML. Raises ConfigError."""
    try:
        raw = strict_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        message = " ".join(str(error).replace('in "<unicode string>", ', "").split())
        raise ConfigError(f"{path}: cannot be read as YAML: {message}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: a build configuration is a mapping, not {type(raw).__name__}")
    for setting in settings:
        _apply(raw, setting)
    try:
        return build_config(raw)
    except ConfigError as error:
        if not settings:
            raise ConfigError(f"{path}: {error}") from error
        load_config(path)  # where the fault is in the file, the message names it
        raise


def settings_of(model: type[M], settings: Sequence[str]) -> M:
    """A model made of ``a.b=value`` settings; values are YAML. Raises ConfigError, one line per fault."""
    raw: dict[str, Any] = {}
    for setting in settings:
        _apply(raw, setting)
    return _validated(model, raw)


def _validated(model: type[M], raw: dict[str, Any]) -> M:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise ConfigError("; ".join(_describe(e, model) for e in error.errors())) from error


def _apply(raw: dict[str, Any], setting: str) -> None:
    keys, value = split_setting(setting)
    for key in keys[:-1]:
        raw = raw.setdefault(key, {})
        if not isinstance(raw, dict):
            raise ConfigError(f"--set {setting}: {key} is a value and has no keys below it")
    try:
        raw[keys[-1]] = strict_yaml(value)
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(
            f"--set {'.'.join(keys)}: the value is not YAML: {' '.join(str(error).split())[:200]}"
        ) from error


def _describe(error: Any, model: type[BaseModel]) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] in {"model_type", "dict_type"} and where:
        return f"configuration {where} has keys below it: give {where}.KEY=VALUE, not {where}={error['input']!r}"
    if error["type"] != "extra_forbidden":
        if isinstance(error["input"], dict) and error["type"].endswith("_type"):
            return f"configuration {where} has no keys below it: give {where}=VALUE"
        if error["type"].startswith("date_"):
            return f"configuration {where}: {error['input']!r} is no date; write it as 2026-12-01"
        return f"configuration {where}".rstrip() + f": {fault_of_value(error)}"
    for part in error["loc"][:-1]:
        if isinstance(part, str):  # else the place in a list of such sections
            model = _section_of(model.model_fields[part].annotation)
    return unknown_key(where, model.model_fields)


def _fault_of_rule(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    return f"{f'rule {where}' if where else 'rules'}: {fault_of_value(error)}"


def _section_of(annotation: Any) -> type[BaseModel]:
    """The section behind an annotation like ``PruneConfig | None`` or ``tuple[ModelSpec, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_section_of(inner) for inner in get_args(annotation) if inner not in {type(None), Ellipsis})


def _wording_digest(task: Task[Any]) -> str:
    own = load_template(task.template).digest
    return digest_of([own, *(load_template(part).digest for part in task.parts)]) if task.parts else own
