"""Forecast of a build: the maximum number of questions, time, disk space and queries to models."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from flows.cli.builds import questions_in
from flows.orchestration.saved_build import read_saved_build
from pipeline.benchmarks.prospects import Cost, Terms, bounds, prospects
from pipeline.blind.forecast import Forecast, bound, forecasts, mean_forecast
from pipeline.core.errors import ConfigError
from pipeline.core.groups import grouped
from pipeline.core.mirrors import is_here
from pipeline.core.parquet import read_table
from pipeline.core.tables import all_asked, pictures_in, selected_questions
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.manifest import MANIFEST_FILE, Entry, Outcome, read_manifest
from pipeline.engine.plan import WHOLE
from pipeline.engine.stage import REPLIES_FILE, STORE
from pipeline.engine.store import Store
from pipeline.llm.budget import Money
from pipeline.llm.visual_inputs import takes_visuals
from pipeline.questions.selection import caps_of
from pipeline.questions.task import Number
from pipeline.stages.author import AUTHOR, models_of
from pipeline.stages.blind import BLIND
from pipeline.stages.describe import DESCRIBE
from pipeline.stages.describe import models_of as looking
from pipeline.stages.fix import with_human_input
from pipeline.stages.registry import STAGES
from pipeline.stages.verify import CALLS as VERIFY_CALLS
from pipeline.stages.verify import VERIFY, named_by_part
from pipeline.worlds.registry import WORLDS, read_scene, world_of

COUNT_WITHIN_S: Final = 30.0  # by the table's rates: a city takes most of that
PACKS_MEASURED: Final = 8  # of a manifest, some 2,000 scenes by lot: their times stand for those of all
COUNTED: Final = 200  # scenes of a reader that are looked into; of more, the rest is counted at the caps


@dataclass(frozen=True)
class QuestionBounds:
    """The maximum number of questions.

    Attributes:
        by_task: task -> questions.
        costs: missing inputs of scenes, and the questions that each costs.
        unread: scenes of which the caps alone are known before they are read.
    """

    by_task: Mapping[str, int]
    costs: Sequence[Cost]
    unread: int

    @property
    def questions(self) -> int:
        """The number of questions of all tasks."""
        return sum(self.by_task.values())


@dataclass(frozen=True)
class Effort:
    """The expected effort of a stage.

    Attributes:
        scenes: how many; None for a stage of the whole build.
        seconds: on the clock; None: not known.
        bytes: that it leaves on disk; None: not known.
        here: whether a build on this machine told; else it is by the table of `flows.orchestration.forecast`.
    """

    stage: str
    scenes: int | None
    seconds: float | None
    bytes: float | None
    here: bool


@dataclass(frozen=True)
class BuildForecast:
    """The forecast of a build.

    Attributes:
        models: what hosted ones are asked; None: not known before stages that the author needs have run.
    """

    bounds: QuestionBounds
    models: Sequence[Forecast] | None
    efforts: Sequence[Effort]


def build_forecast(
    config: BuildConfig, folder: Path, outcome: Outcome, inputs: Mapping[str, RawInput], workers: int
) -> BuildForecast:
    """Forecasts a dry run: exact for scenes whose questions exist, an upper bound for the others."""
    due = _due(outcome)
    # Scenes whose questions need not be selected again.
    made = outcome.entries.results(stages=["select"]).get("select", {})
    found = bounds_of(config, {unit: raw for unit, raw in inputs.items() if unit not in made})
    by_task, store = Counter(found.by_task), Store(folder / STORE)
    for result in made.values():
        by_task.update(selected_questions(read_table(store.get(result)))["task"].to_pylist())
    known = QuestionBounds(by_task, found.costs, found.unread)
    models = None if due.get("generate") else forecast_of(config, folder, due.get("author", ()))
    if models is None:
        models = _models_at_most(config, known)
    if models is not None:
        looks = describe_forecast(config, folder, due.get("describe", ()))
        models = [*looks, *verify_forecast(config, folder, due.get("verify", ())), *models]
    return BuildForecast(known, models, _efforts_of(config, folder, due, inputs, known.questions, workers))


def time_forecast(
    config: BuildConfig, folder: Path, plan: Outcome, inputs: Mapping[str, RawInput], workers: int
) -> list[Effort]:
    """The efforts of a plan, by the questions of the last release, or as many as the caps allow; reads no scene."""
    caps = caps_of(config.generate.tasks, config.select.per_scene_and_task, {}, config.own_caps())
    most = len(inputs) * sum(caps.values())
    return _efforts_of(config, folder, _due(plan), inputs, questions_in(folder) or most, workers)


def _due(plan: Outcome) -> dict[str, list[str]]:
    """Stage -> units that it runs for."""
    ran = grouped(plan.ran, lambda entry: entry.stage)
    return {stage: [entry.unit for entry in entries] for stage, entries in ran.items()}


def _efforts_of(
    config: BuildConfig,
    folder: Path,
    due: Mapping[str, Sequence[str]],
    inputs: Mapping[str, RawInput],
    questions: int,
    workers: int,
) -> list[Effort]:
    units = {stage: Counter(inputs[u].reader.name for u in of if u in inputs) for stage, of in due.items()}
    readers: dict[str, set[str]] = defaultdict(set)
    for unit, raw in inputs.items():
        readers[raw.reader.name].add(unit.partition("/")[0])
    return efforts(config, folder, units, readers, questions, workers)


def bounds_of(config: BuildConfig, inputs: Mapping[str, RawInput]) -> QuestionBounds:
    """Questions at most of scenes: counted where they are quickly read, else as many as the caps allow."""
    by_task, costs, unread = Counter[str](), list[Cost](), 0
    benchmark, known_to = config.of_benchmark(), config.benchmark if config.known_file else None
    for name, raws in grouped(inputs.values(), lambda raw: raw.reader.name).items():
        world, cap = world_of(name), config.select.per_scene_and_task
        rules = config.generate.resolved_rules()
        terms = Terms(getattr(config.observe, world.name), rules, config.generate.tasks, cap, config.own_caps())
        most = min(COUNTED, int(COUNT_WITHIN_S / seconds_for(name, COUNTING))) if name in world.quick else 0
        are_here = all(is_here(raw.root / raw.ref.files[0]) for raw in raws[:most])
        read = raws[:most] if are_here else []  # nothing is fetched to be counted
        refs = [raw.ref for raw in read]
        found = prospects(
            benchmark,
            raws[0].reader,
            raws[0].root,
            refs,
            terms,
            lambda unit, scene: with_human_input(scene, inputs[unit].human_input, known_to),
        )
        by_task.update(found.by_task)
        rest = raws[len(read) :]
        # Nor is anything fetched to see what is missing.
        looked_at = (
            min(COUNTED, len(rest)) if all(is_here(raw.root / raw.ref.files[0]) for raw in rest[:COUNTED]) else 0
        )
        most_of_rest = bounds(benchmark, raws[0].reader, raws[0].root, [raw.ref for raw in rest], terms, looked_at)
        by_task.update(most_of_rest.by_task)
        costs += [*found.costs, *most_of_rest.costs]
        unread += len(raws) - len(read)
    return QuestionBounds(by_task, costs, unread)


def _models_at_most(config: BuildConfig, found: QuestionBounds) -> list[Forecast] | None:
    """An upper bound of the panel's queries about questions not made yet; None where an author comes first."""
    writers = (config.author.model, config.author.second)
    if any(model is not None and model.is_hosted for model in writers):
        return None
    tasks = config.of_benchmark().by_name()
    numbers = sum(n for task, n in found.by_task.items() if isinstance(tasks[task].form, Number))
    money = Money(limit_cost=config.limit_cost)
    return bound(numbers, found.questions - numbers, config.blind.models, config.blind, money)


def efforts(
    config: BuildConfig,
    folder: Path,
    due: Mapping[str, Mapping[str, int]],
    readers: Mapping[str, set[str]],
    questions: int,
    workers: int,
) -> list[Effort]:
    """Time and disk of what is due: stage -> reader -> scenes; a stage of the whole build has no reader."""
    known = rates(config.benchmark, readers, folder)
    found = []
    for stage in (stage for stage in STAGES.values() if stage.name in due and stage.is_wanted(config)):
        hosted = any(model.is_hosted for model in stage.models(config))
        if stage.unit == "build":
            n = _number_asked(questions, config.blind.sample) if stage is BLIND else questions
            scenes, used = None, [(n, known.questions.get(stage.name))]
        else:
            used = [(n, known.scenes.get((stage.name, reader))) for reader, n in due[stage.name].items()]
            scenes = sum(n for n, _ in used)
        at_once = 1 if scenes is None or stage.models(config) else max(1, min(workers, scenes))
        found.append(_effort(stage.name, scenes, [] if hosted else used, at_once))
    return found


def _number_asked(questions: int, sample: int | None) -> int:
    """How many questions the embedded model is asked; what others take is not forecast."""
    return questions if sample is None else min(sample, questions)


def _effort(stage: str, scenes: int | None, used: Sequence[tuple[int, StageRate | None]], at_once: int) -> Effort:
    if not used or any(rate is None for _, rate in used):
        return Effort(stage, scenes, None, None, here=False)
    seconds = sum(n * rate.seconds for n, rate in used if rate) / at_once
    size = sum(n * rate.bytes for n, rate in used if rate)
    return Effort(stage, scenes, seconds, size, all(rate.is_measured for _, rate in used if rate))


CALLS_OF_DESCRIBE: Final = 2  # of each thing, in a scene that is not observed yet


def describe_forecast(config: BuildConfig, folder: Path, due: Collection[str]) -> list[Forecast]:
    """An upper bound of stage `describe`'s queries about some scenes, from the last build's results."""
    models = [model for model in looking(config) if model.is_hosted]
    if not due or not models:
        return []
    observed, store = read_manifest(folder).results().get("observe", {}), Store(folder / STORE)
    calls = 0
    for unit in due:
        scene = read_scene(store.get(observed[unit])) if unit in observed else None
        looker = WORLDS[scene.facts.world].looker if scene else None
        calls += (
            looker.looking().calls(scene, config.describe.things)
            if scene and looker
            else CALLS_OF_DESCRIBE * config.describe.things
        )
    money = Money(limit_cost=config.limit_cost)
    return [mean_forecast(DESCRIBE.name, model, calls, folder / REPLIES_FILE, money) for model in models]


def verify_forecast(config: BuildConfig, folder: Path, due: Collection[str]) -> list[Forecast]:
    """An upper bound of stage `verify`'s queries about some scenes, from the last build's results or from the caps."""
    model = config.describe.model
    if not due or model is None or not model.is_hosted or not VERIFY.is_wanted(config):
        return []
    selected, store = read_manifest(folder).results().get("select", {}), Store(folder / STORE)
    most = sum(caps_of(config.generate.tasks, config.select.per_scene_and_task, {}, config.own_caps()).values())
    parts = sum(
        len(named_by_part(selected_questions(read_table(store.get(selected[unit]))))) if unit in selected else most
        for unit in due
    )
    money = Money(limit_cost=config.limit_cost)
    return [mean_forecast(VERIFY.name, model, VERIFY_CALLS * parts, folder / REPLIES_FILE, money)]


def forecast_of(config: BuildConfig, folder: Path, due: Collection[str] = ()) -> list[Forecast] | None:
    """Forecasts the queries to hosted models from the last build's results; None where there are none yet.

    ``due`` are the scenes of which stage `author` must run.
    """
    last = read_manifest(folder).results()
    store, money = Store(folder / STORE), Money(limit_cost=config.limit_cost)
    found = []
    author, writers = config.of_benchmark().author, models_of(config)
    if author is not None and any(model.is_hosted for model in writers):
        facts = last.get("generate", {})
        if not facts:
            return None
        tables = [read_table(store.get(facts[unit])) for unit in sorted(due) if unit in facts]
        sees, count = (
            [config.video and takes_visuals(model.inputs) for model in writers],
            config.author.questions_per_task,
        )
        calls = [author.calls(table, config.generate.tasks, sees, count) for table in tables]
        for model, made in zip(writers, zip(*calls, strict=True) if calls else [()] * len(writers), strict=True):
            if model.is_hosted:  # at most: if all that is written passes the rules
                found.append(mean_forecast(AUTHOR.name, model, sum(made), folder / REPLIES_FILE, money))
    if any(voter.is_hosted for voter in config.blind.models):
        selected = last.get("select", {})
        if not selected:
            return None
        questions = all_asked(read_table(store.get(result)) for _, result in sorted(selected.items()))
        drawn = pictures_in(
            read_table(store.get(result)) for _, result in sorted(last.get("landmark_pictures", {}).items())
        )
        found += forecasts(questions, config.blind.models, folder / REPLIES_FILE, config.blind, money, drawn)
    return found


READING: Final = ("unify",)
COUNTING: Final = ("unify", "observe", "generate")
TABLE: Final = Path(__file__).with_name("rates.yaml")


class StageRate(NamedTuple):
    """The rate of a stage: its effort for one scene of a reader, or for one question of a build.

    Attributes:
        seconds: of one process.
        bytes: that it leaves on disk, videos included.
        is_measured: measured by a build on this machine; else by the table.
    """

    seconds: float
    bytes: float
    is_measured: bool


@dataclass(frozen=True)
class StageRates:
    """Rates by stage: of scenes for each reader, and of questions for the stages of the whole build."""

    scenes: Mapping[tuple[str, str], StageRate]
    questions: Mapping[str, StageRate]


def rates(benchmark: str, readers: Mapping[str, Collection[str]], folder: Path) -> StageRates:
    """The rates for a benchmark and its readers, each with its datasets.

    Builds that count are the one in ``folder``, and those beside it that read the same format.
    """
    table = _table()
    scenes = {(stage, name): _listed(rate) for name in readers for stage, rate in table["scenes"].get(name, {}).items()}
    asked = {stage: _listed(rate) for stage, rate in table["questions"].get(benchmark, {}).items()}
    for path in sorted(folder.parent.glob(f"*/{MANIFEST_FILE}"), key=lambda path: path.parent == folder):
        roots: Collection[str] = ()
        sample = None
        with suppress(ConfigError):
            kept = read_saved_build(path.parent)
            if path.parent != folder and kept.configured.get("benchmark") != benchmark:
                continue
            roots, sample = kept.roots, kept.configured.get("blind", {}).get("sample")
        of = {reader: datasets for reader, datasets in readers.items() if reader in roots or path.parent == folder}
        _measure(path.parent, of, scenes, asked, sample)
    return StageRates(scenes, asked)


def seconds_for(reader: str, stages: Sequence[str]) -> float:
    """The seconds of stages for a scene of a reader, from the table; a second each for one that is not in it."""
    known = _table()["scenes"].get(reader, {})
    return float(sum(known[stage][0] if known else 1 for stage in stages))


def _measure(
    folder: Path,
    readers: Mapping[str, Collection[str]],
    scenes: dict[tuple[str, str], StageRate],
    asked: dict[str, StageRate],
    sample: int | None,
) -> None:
    """Lays what one build told over the rates."""
    found: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    manifest = read_manifest(folder)
    packs = {*manifest.packs[:PACKS_MEASURED], manifest.pack_of(WHOLE)}
    for (stage, unit), entry in (row for bits in sorted(packs) for row in manifest.pack(bits).items()):
        if entry.output and entry.seconds and stage in STAGES:  # of another version there may be others
            dataset = unit.partition("/")[0]
            for reader in (reader for reader, datasets in readers.items() if dataset in datasets):
                found[stage, reader].append(entry)
            if STAGES[stage].unit == "build" and (questions := questions_in(folder)):
                questions = _number_asked(questions, sample) if stage == BLIND.name else questions
                asked[stage] = StageRate(
                    entry.seconds / questions, _left(folder, stage, [entry]) / questions, is_measured=True
                )
    for (stage, reader), entries in found.items():
        seconds = sum(entry.seconds for entry in entries) / len(entries)
        scenes[stage, reader] = StageRate(seconds, _left(folder, stage, entries) / len(entries), is_measured=True)


def _left(folder: Path, stage: str, entries: Sequence[Entry]) -> float:
    """Bytes of the results of a stage, and of what it wrote beside the store for these units."""
    sizes = Store(folder / STORE).sizes(stage, (entry.output for entry in entries if entry.output))
    units = {entry.unit for entry in entries}
    for name in STAGES[stage].folders:
        if next(other for other in STAGES.values() if name in other.folders).name != stage:
            continue  # counted with the first stage that writes there
        if STAGES[stage].unit == "build":
            kept = max(1, len(list((folder / name).glob("*"))))  # of the last builds, too
            sizes.append(sum(_sizes(p for p in (folder / name).rglob("*") if p.is_file())) // kept)
        else:
            sizes += [size for unit in units for size in _sizes((folder / name).glob(f"{unit}.*"))]
            sizes += [size for unit in units for size in _sizes((folder / name / unit).glob("*"))]
    return float(sum(sizes))


def _sizes(paths: Iterable[Path]) -> list[int]:
    sizes = []
    for path in paths:
        with suppress(OSError):
            sizes.append(path.stat().st_size)
    return sizes


def _listed(rate: Sequence[float]) -> StageRate:
    seconds, size = rate
    return StageRate(seconds, size, is_measured=False)


@cache
def _table() -> dict[str, Any]:
    table: dict[str, Any] = yaml.load(TABLE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return table


def table_as_of() -> str:
    """The month in which the table's rates were measured."""
    return str(_table()["as_of"])
