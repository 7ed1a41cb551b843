"""What a build will take and give, before it is run: questions at most, time, disk, and what models are asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flows.orchestration.rates import COUNTING, Rate, rates, seconds_for
from pipeline.benchmarks.prospects import Cost, Terms, bounds, prospects
from pipeline.blind.forecast import Forecast, bound
from pipeline.core.mirrors import is_here
from pipeline.core.parquet import read_table
from pipeline.core.tables import asked_in
from pipeline.engine.config import BuildConfig
from pipeline.engine.inputs import RawInput
from pipeline.engine.manifest import Entry, Outcome
from pipeline.engine.stage import STORE
from pipeline.engine.store import Result, Store
from pipeline.llm.budget import Money
from pipeline.questions.task import Number
from pipeline.stages.asking import forecast_of, look_forecast
from pipeline.stages.fix import said_of
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import world_of

COUNT_WITHIN_S: Final = 30.0  # by the table's rates: a city takes most of that
COUNTED: Final = 200  # scenes of a reader that are looked into; of more, the rest is counted at the caps


@dataclass(frozen=True)
class Bounds:
    """How many questions there will be at most.

    Attributes:
        by_task: task -> questions.
        costs: what scenes lack, and what that costs.
        unread: scenes of which the caps alone are known before they are read.
    """

    by_task: Mapping[str, int]
    costs: Sequence[Cost]
    unread: int

    @property
    def questions(self) -> int:
        """Of all tasks."""
        return sum(self.by_task.values())


@dataclass(frozen=True)
class Effort:
    """What a stage will take.

    Attributes:
        scenes: how many; None for a stage of the whole build.
        seconds: on the clock; None: not known.
        bytes: that it leaves on disk; None: not known.
        here: whether a build on this machine told; else it is by the table of `flows.orchestration.rates`.
    """

    stage: str
    scenes: int | None
    seconds: float | None
    bytes: float | None
    here: bool


@dataclass(frozen=True)
class BuildForecast:
    """What is to be known before a build.

    Attributes:
        models: what hosted ones are asked; None: not known before stages that the author needs have run.
    """

    bounds: Bounds
    models: Sequence[Forecast] | None
    efforts: Sequence[Effort]


def build_forecast(
    config: BuildConfig, folder: Path, outcome: Outcome, inputs: Mapping[str, RawInput], workers: int
) -> BuildForecast:
    """Of a dry run: exact for scenes whose questions are there, at most for the others."""
    due: dict[str, list[str]] = defaultdict(list)
    for entry in outcome.manifest:
        if entry.why != "reused":
            due[entry.stage].append(entry.unit)
    made = _made(outcome.manifest)
    found = bounds_of(config, {unit: raw for unit, raw in inputs.items() if unit not in made})
    by_task = Counter(found.by_task) + _asked(Store(folder / STORE), made.values())
    known = Bounds(by_task, found.costs, found.unread)
    models = None if due.get("generate") else forecast_of(config, folder, due.get("author", ()))
    if models is None:
        models = _models_at_most(config, known)
    if models is not None:
        models = [*look_forecast(config, folder, due.get("look", ())), *models]
    units = {stage: Counter(inputs[u].reader.name for u in of if u in inputs) for stage, of in due.items()}
    readers: dict[str, set[str]] = defaultdict(set)
    for unit, raw in inputs.items():
        readers[raw.reader.name].add(unit.partition("/")[0])
    return BuildForecast(known, models, efforts(config, folder, units, readers, known.questions, workers))


def _made(entries: Iterable[Entry]) -> dict[str, Result]:
    """The scenes whose questions need not be selected again."""
    return {entry.unit: entry.output for entry in entries if entry.stage == "select" and entry.output}


def _asked(store: Store, selected: Iterable[Result]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for result in selected:
        counts.update(asked_in(read_table(store.get(result)))["task"].to_pylist())
    return counts


def bounds_of(config: BuildConfig, inputs: Mapping[str, RawInput]) -> Bounds:
    """Questions at most of scenes: counted where they are quickly read, else as many as the caps allow."""
    of_readers: dict[str, list[RawInput]] = defaultdict(list)
    for raw in inputs.values():
        of_readers[raw.reader.name].append(raw)
    by_task, costs, unread = Counter[str](), list[Cost](), 0
    benchmark, known_to = config.of_benchmark(), config.benchmark if config.known else None
    for name, raws in of_readers.items():
        world, cap = world_of(name), config.select.per_scene_and_task
        terms = Terms(getattr(config.observe, world.name), config.generate.resolved_rules(), config.generate.tasks, cap)
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
            lambda unit, scene: said_of(scene, inputs[unit].human_input, known_to),
        )
        by_task.update(found.by_task)
        by_task.update(bounds(benchmark, len(raws) - len(read), terms))
        costs += found.costs
        unread += len(raws) - len(read)
    return Bounds(by_task, costs, unread)


def _models_at_most(config: BuildConfig, found: Bounds) -> list[Forecast] | None:
    """What the panel will be asked at most about questions that are not made yet; None where an author comes first."""
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
        hosted = any(model.is_hosted for model in stage.asks(config))
        if stage.unit == "build":
            scenes, used = None, [(questions, known.questions.get(stage.name))]
        else:
            used = [(n, known.scenes.get((stage.name, reader))) for reader, n in due[stage.name].items()]
            scenes = sum(n for n, _ in used)
        at_once = 1 if scenes is None or stage.asks(config) else max(1, min(workers, scenes))
        found.append(_effort(stage.name, scenes, [] if hosted else used, at_once))
    return found


def _effort(stage: str, scenes: int | None, used: Sequence[tuple[int, Rate | None]], at_once: int) -> Effort:
    if not used or any(rate is None for _, rate in used):
        return Effort(stage, scenes, None, None, here=False)
    seconds = sum(n * rate.seconds for n, rate in used if rate) / at_once
    size = sum(n * rate.bytes for n, rate in used if rate)
    return Effort(stage, scenes, seconds, size, all(rate.here for _, rate in used if rate))
