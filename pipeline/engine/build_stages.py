"""The stages that look at all scenes at once: `blind`, `prune` and `export`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.config import NO_OPTIONS
from pipeline.core.identity import digest_of
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.schema import AnyScene
from pipeline.core.tables import QUESTIONS, asked_in
from pipeline.engine.config import BuildConfig
from pipeline.engine.store import Result, Store
from pipeline.export.release import Blind, release_is_whole, write_release
from pipeline.worlds.registry import SCENE

if TYPE_CHECKING:
    from pipeline.blind.items import Item
    from pipeline.blind.stress_test import Scores

OBSERVED: Final = "observe"  # the stage whose result is the scene as the questions see it
SELECTED: Final = "select"  # the stage whose result is the questions of a scene
BLIND: Final = "blind"
PRUNE: Final = "prune"
EXPORT: Final = "export"
RELEASE: Final = "release"  # folder of a build
REPLIES_FILE: Final = "replies.sqlite"  # what models answered, beside the store: it outlives a change of anything else

Progress = Callable[[str, int, int], None]
Results = Mapping[str, Sequence[tuple[str, Result]]]  # stage -> unit and result, in order of the units


@dataclass(frozen=True)
class Work:
    """What a stage over all scenes is given.

    Attributes:
        results: of the stages that it takes.
        keys: API keys by the name of their environment variable; never part of a result.
    """

    config: BuildConfig
    out: Path
    store: Store
    results: Results
    keys: Mapping[str, str]
    progress: Progress

    def tables(self, stage: str) -> Iterator[pa.Table]:
        """The tables of a stage, one at a time; empty ones of other stages that did not run."""
        return (read_table(self.store.get(result)) for _, result in self.results.get(stage, ()))


@dataclass(frozen=True)
class BuildStage:
    """One step per build. ``takes`` names the stages whose results it looks at."""

    name: str
    suffix: str
    takes: tuple[str, ...]
    code: tuple[str, ...]
    is_wanted: Callable[[BuildConfig], bool]
    settings: Callable[[BuildConfig], dict[str, Any]]
    run: Callable[[Work], bytes]
    is_whole: Callable[[bytes, Path], bool] = lambda result, folder: True  # also what the stage wrote beside its result


def _blind(work: Work) -> bytes:
    """Every reply of every model and prior (`blind.ask.REPLIES`)."""
    from pipeline.blind.ask import ask  # model packages and scikit-learn take a second to start
    from pipeline.blind.voters import prior_replies

    config = work.config.blind
    questions = _asked(work)
    asked = ask(
        questions,
        config.models,
        work.out / REPLIES_FILE,
        work.keys,
        config,
        lambda model, done, total: work.progress(f"{BLIND} {model}", done, total),
    )
    replies = [asked.replies]
    if config.priors_vote and questions.num_rows:
        replies.append(prior_replies(questions, config.number_threshold))
    # Stable, so that the models of a question stay in their order.
    rows = sorted((row for table in replies for row in table.to_pylist()), key=lambda row: int(row["id"]))
    return table_bytes(pa.Table.from_pylist(rows, schema=asked.replies.schema))


def _blind_is_whole(result: bytes, folder: Path) -> bool:
    """Whether no request failed: those that did are sent again in the next build."""
    failures = set(read_table(result)["failure"].unique().to_pylist())
    return failures <= {None, NO_OPTIONS}


def _prune(work: Work) -> bytes:
    """The stress test of what blind filtering left, and the round in which each question leaves `debiased`."""
    from pipeline.blind.folds import folds_of
    from pipeline.blind.items import items_of
    from pipeline.blind.prune import prune
    from pipeline.blind.stress_test import stress_test

    config = work.config.prune
    if config is None:
        raise ValueError("no pruning is configured")
    questions = _asked(work)
    gone = removed_blind(work)
    items = items_of(questions.filter(pc.invert(pc.is_in(questions["id"], pa.array(sorted(gone), pa.int64())))))
    fold = folds_of([item.group for item in items])
    scores = stress_test(items, fold)
    removed_in, pruned = prune(
        items,
        fold,
        scores,
        config.budget,
        config.tau,
        lambda _, removed: work.progress(PRUNE, removed, len(items)),
        max(config.batch, len(items) // 100),
    )
    return table_bytes(_pruned_table(items, fold, scores, removed_in, pruned))


def _pruned_table(items: Sequence[Item], fold: Any, scores: Scores, removed_in: Any, pruned: Scores) -> pa.Table:
    """`blind.summary.stress_table` with what `blind.summary.summarise` needs besides."""
    from pipeline.blind.summary import stress_table

    order = sorted(range(len(items)), key=lambda i: items[i].id)
    table = stress_table(items, fold, scores, removed_in)
    for name, values in (
        ("earned", scores.earned),
        ("bias_left", pruned.bias),
        ("chance_left", pruned.chance),
        ("earned_left", pruned.earned),
    ):
        table = table.append_column(name, pa.array(values[order], pa.float64()))
    return table


def _export(work: Work) -> bytes:
    """Writes the release folder; the result is its summary."""
    from pipeline.blind.report import without_video
    from pipeline.blind.rule import rule

    config = work.config.blind
    selected = {unit for unit, _ in work.results[SELECTED]}
    scenes = [_without_motion(work.store.get(result)) for unit, result in work.results[OBSERVED] if unit in selected]
    replies, pruned = next(work.tables(BLIND), None), next(work.tables(PRUNE), None)
    blind = Blind(
        replies=replies,
        verdicts=None if replies is None else rule(replies, config),
        pruned=pruned,
        summary=lambda asked: without_video(asked, replies, pruned, config),
    )
    return write_release(work.out / RELEASE, work.tables(SELECTED), scenes, _export_settings(work.config), blind)


def _without_motion(raw: bytes) -> AnyScene:
    """A scene without what its flight did second by second: of a thousand flights that would be gigabytes."""
    fields = json.loads(raw)
    if "motion" in fields["facts"]:
        fields["facts"]["motion"] = None
    return SCENE.validate_python(fields)


def _asked(work: Work) -> pa.Table:
    """The selected questions of all scenes (`QUESTIONS`)."""
    return pa.concat_tables([QUESTIONS.empty_table(), *(asked_in(table) for table in work.tables(SELECTED))])


def removed_blind(work: Work) -> set[int]:
    """Ids of the questions that stage `blind` removes."""
    from pipeline.blind.rule import removed_in

    replies = next(work.tables(BLIND), None)
    return removed_in(replies, work.config.blind) if replies is not None else set()


def _export_settings(config: BuildConfig) -> dict[str, Any]:
    """The part of the configuration that a release depends on: all but where things lie and how fast models are."""
    settings = config.model_dump(exclude={"roots", "routes", "video"}, mode="json")
    settings["blind"]["models"] = [model.identity() for model in config.blind.models]
    settings["author"]["model"] = config.author.model.identity() if config.author.model else None
    return settings | {
        "rules": (
            config.generate.resolved_rules() if config.export.layout == "vsi" else config.generate.flight_rules
        ).model_dump()
    }


def _blind_settings(config: BuildConfig) -> dict[str, Any]:
    from pipeline.blind.wording import PROMPTS
    from pipeline.llm.prompts import load_prompt

    prompts = {form: load_prompt(name).version for form, name in sorted(PROMPTS.items())}
    models = [model.identity() for model in config.blind.models]
    return config.blind.model_dump(mode="json", exclude={"remove", "models"}) | {"models": models, "prompts": prompts}


_TABLES: Final = ("core", "engine/build_stages.py", "metrics")
BUILD_STAGES: Final[dict[str, BuildStage]] = {
    stage.name: stage
    for stage in (
        BuildStage(
            BLIND,
            ".parquet",
            (SELECTED,),
            (*_TABLES, "blind", "llm"),
            lambda config: bool(config.blind.models or config.blind.priors_vote),
            _blind_settings,
            _blind,
            _blind_is_whole,
        ),
        BuildStage(
            PRUNE,
            ".parquet",
            (SELECTED, BLIND),
            (*_TABLES, "blind"),
            lambda config: config.prune is not None,
            lambda config: {"blind": config.blind.remove, "prune": digest_of(config.model_dump(mode="json")["prune"])},
            _prune,
        ),
        BuildStage(
            EXPORT,
            ".json",
            (OBSERVED, SELECTED, BLIND, PRUNE),
            (*_TABLES, "blind", "export"),
            lambda config: True,
            _export_settings,
            _export,
            lambda result, folder: release_is_whole(folder / RELEASE, result),
        ),
    )
}
