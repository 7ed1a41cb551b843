"""Build configurations: YAML read into models that refuse unknown keys."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from pipeline.benchmarks.registry import ALL_TASKS
from pipeline.benchmarks.urbanvideo.authoring.author import AuthorConfig
from pipeline.benchmarks.urbanvideo.rules import UrbanRules
from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.blind.config import BlindConfig, PruneConfig
from pipeline.core.errors import ConfigError
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.indoor.observe.visibility import ObserveConfig


class Section(BaseModel):
    """Base of all parts: immutable, unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class GenerateConfig(Section):
    """Stage `generate`: which tasks, under which rules."""

    profile: str = Field(default="strict", description="official or strict; of scans")
    tasks: tuple[str, ...] = tuple(ALL_TASKS)
    rules: dict[str, Any] = Field(default_factory=dict, description="limits that differ from the profile's")
    flight_rules: UrbanRules = UrbanRules()

    @field_validator("tasks")
    @classmethod
    def _known_tasks(cls, tasks: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [t for t in tasks if t not in ALL_TASKS]
        if unknown:
            raise ValueError(f"unknown task {', '.join(unknown)}; there are {', '.join(ALL_TASKS)}")
        if len(set(tasks)) < len(tasks):
            raise ValueError("a task is named twice")
        if not tasks:
            raise ValueError(f"no task is named; there are {', '.join(ALL_TASKS)}")
        return tuple(t for t in ALL_TASKS if t in tasks)  # one order, so that the order in the file changes nothing

    @model_validator(mode="after")
    def _sound_rules(self) -> GenerateConfig:
        unknown = sorted(set(self.rules) - set(Rules.model_fields))
        if unknown:
            raise ValueError(f"unknown rule {', '.join(unknown)}; there are {', '.join(sorted(Rules.model_fields))}")
        try:
            self.resolved_rules()
        except ValidationError as error:
            raise ValueError("; ".join(f"rule {e['loc'][0]}: {e['msg']}" for e in error.errors())) from error
        return self

    def resolved_rules(self) -> Rules:
        """The profile's rules with the configured differences."""
        if self.profile not in PROFILES:
            raise ValueError(f"unknown profile {self.profile!r}; there are {', '.join(PROFILES)}")
        return Rules.model_validate(PROFILES[self.profile].model_dump() | self.rules)


class SelectConfig(Section):
    """Stage `select`: how many questions per scene and task."""

    per_scene_and_task: int = Field(default=6, ge=1)


class ExportConfig(Section):
    """Stage `export`: names in the release."""

    layout: Literal["vsi", "urban"] = Field(default="vsi", description="whose public columns the questions have")
    split: str = Field(default="test", pattern=r"^[a-z][a-z0-9_]*$")
    pretty_name: str = "VSI-Bench, rebuilt with scan2qa"

    @field_validator("split")
    @classmethod
    def _not_taken(cls, split: str) -> str:
        if split == "debiased":
            raise ValueError("the split debiased is what bias pruning leaves; give the full one another name")
        return split


class BuildConfig(Section):
    """A whole build."""

    build: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    samples: Literal["scans", "flights"] = Field(default="scans", description="what a build without roots is made from")
    roots: dict[str, Path] = Field(default_factory=dict, description="reader name -> folder of raw data")
    readers: dict[str, dict[str, str]] = Field(default_factory=dict, description="reader name -> its options")
    video: bool = Field(default=True, description="write the standardised videos")
    routes: Path | None = Field(default=None, description="routes written by people, JSON lines")
    observe: ObserveConfig = Field(default=ObserveConfig(), description="what the video of a scan shows")
    motion: MotionConfig = Field(default=MotionConfig(), description="what a flight does and sees")
    generate: GenerateConfig = GenerateConfig()
    author: AuthorConfig = AuthorConfig()
    select: SelectConfig = SelectConfig()
    blind: BlindConfig = BlindConfig()
    prune: PruneConfig | None = Field(default=PruneConfig(), description="null: no split debiased")
    export: ExportConfig = ExportConfig()


def load_config(path: Path, settings: Sequence[str] = ()) -> BuildConfig:
    """A build configuration with ``a.b=value`` settings laid over it; values are YAML.

    Raises ConfigError, one line per fault, with the known keys where one is unknown.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: a build configuration is a mapping, not {type(raw).__name__}")
    for setting in settings:
        _apply(raw, setting)
    try:
        return BuildConfig.model_validate(raw)
    except ValidationError as error:
        raise ConfigError("; ".join(_describe(e) for e in error.errors())) from error


def _apply(raw: dict[str, Any], setting: str) -> None:
    name, equals, value = setting.partition("=")
    keys = name.split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {setting}: write it as key=value, for example select.per_scene_and_task=10")
    for key in keys[:-1]:
        raw = raw.setdefault(key, {})
        if not isinstance(raw, dict):
            raise ConfigError(f"--set {setting}: {key} is a value and has no keys below it")
    try:
        raw[keys[-1]] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"--set {setting}: the value is not YAML") from error


def _describe(error: Any) -> str:
    where = ".".join(str(part) for part in error["loc"])
    if error["type"] != "extra_forbidden":
        return f"configuration {where}: {error['msg'].removeprefix('Value error, ')}"
    model: type[BaseModel] = BuildConfig
    for part in error["loc"][:-1]:
        if isinstance(part, str):  # else the place in a list of such sections
            model = _section_of(model.model_fields[part].annotation)
    return f"unknown configuration key {where}; known here: {', '.join(sorted(model.model_fields))}"


def _section_of(annotation: Any) -> type[BaseModel]:
    """The section behind an annotation like ``PruneConfig | None`` or ``tuple[ModelSpec, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(_section_of(inner) for inner in get_args(annotation) if inner not in {type(None), Ellipsis})
