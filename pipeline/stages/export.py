"""Stage `export`: writes the release folder."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Benchmark, modules_of
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.identity import digest_of, shard_of
from pipeline.core.schema import AnyScene
from pipeline.core.spatial import TopDownMap
from pipeline.core.tables import FRAMES, TWINS, sizes_in
from pipeline.core.video_spec import VIDEOS
from pipeline.engine.code import code_digest
from pipeline.engine.stage import STORE, Results, Stage, StageContext
from pipeline.engine.store import Result, Store
from pipeline.release.gates import Candidate, GateResult, judge
from pipeline.release.history import RELEASES, PublishedRelease, latest, name_of, publish
from pipeline.release.media import MediaFile, dataset_of, drawings_of, media_of, pictures_of, videos_of, videos_table
from pipeline.release.released import Released, changed_file
from pipeline.release.terms import are_samples
from pipeline.stages.figures import are_pictures_wanted
from pipeline.stages.views import are_views_wanted
from pipeline.worlds.registry import WORLDS, read_scene, scene_type

if TYPE_CHECKING:
    from pipeline.blind.totals import TextOnly
    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


_FILMED: Final = ("video", "bev_video", "clip")
_OF_PIECES: Final = ("describe", "select", "frames", "twins", *_FILMED)  # the stages that a piece is made from
SHARDS: Final = "shards"  # folder of a build, beside its releases: those of large ones, for the next one
GATES: Final = "gates"  # key of the configuration, and of the settings


def run(context: StageContext) -> bytes:
    """Writes a release, the newest if it passes its gates; the result is its summary (`Released` as JSON)."""
    from pipeline.blind.filtering import text_only  # scikit-learn takes a second to start
    from pipeline.blind.rule import rule
    from pipeline.blind.totals import totals_of
    from pipeline.llm.budget import NO_CAP
    from pipeline.release.contents import BlindResults, ReleaseInputs, load_of
    from pipeline.release.writer import write_release
    from pipeline.rendering.overview import overview
    from pipeline.review.reviewed import Reviewed

    replies, filtered, pruned = (context.table(stage) for stage in ("blind", "filter", "prune"))

    def summary(asked: pa.Table) -> list[TextOnly]:
        if filtered is None:
            return []
        verdicts = [] if replies is None else rule(asked, replies, context.config.blind)
        return text_only(asked, filtered, pruned, verdicts)

    models = () if replies is None else totals_of(context.config.blind.models, replies, NO_CAP)
    blind = BlindResults(replies, filtered, pruned, summary, models)
    benchmark = BENCHMARKS[context.settings["benchmark"]].under(context.settings["generate"]["profile"])
    review_result = context.bytes_of("review")
    reviewed = Reviewed.model_validate_json(review_result) if review_result else Reviewed()

    kept = dict(context.results.get("describe", ()))
    store = Store(context.folder / STORE)
    of_figures = context.all_bytes("figures") if "pictures" in context.settings else ()
    drawn = {number: one.drawing for number, one in pictures_of(of_figures, context.folder).items()}

    def sketch(unit: str) -> TopDownMap:
        scene = read_scene(store.get(kept[unit]))
        return WORLDS[scene.facts.world].top_down_map(scene)

    def drawing(question: int) -> bytes | None:
        path = drawn.get(question)
        return None if path is None else path.read_bytes()

    def draw(
        title: str,
        subtitle: str,
        asked: pa.Table,
        answers: Mapping[str, Counter[str]],
        captioned: Callable[[int], bytes | None],
    ) -> bytes:
        return overview(title, subtitle, asked, answers, sketch, captioned, drawing)

    whole = ReleaseInputs(
        selected=lambda: context.tables("select"),
        scenes=lambda: map(_without_bulk, context.all_bytes("describe")),
        settings={key: value for key, value in context.settings.items() if key != GATES},  # nothing of it is in it
        benchmark=benchmark,
        blind=blind,
        reviewed=reviewed,
        overview=draw,
        load=load_of(map(sizes_in, context.all_bytes("select"))),
    )

    code = code_digest((__name__, *_modules(benchmark)))

    @cache
    def sharded(of: int) -> list[Results]:
        found: list[dict[str, list[tuple[str, Result]]]] = [{} for _ in range(of)]
        for stage, results in context.results.items():
            for unit, result in results:
                if unit in kept:
                    found[shard_of(unit, of)].setdefault(stage, []).append((unit, result))
        return [{stage: tuple(own) for stage, own in results.items()} for results in found]

    def some(number: int, of: int, of_key: Collection[str]) -> ReleaseInputs:
        own = replace(context, results=sharded(of)[number])
        results = {name: [(unit, one.digest) for unit, one in own.results.get(name, ())] for name in of_key}
        return replace(
            whole,
            selected=lambda: own.tables("select"),
            scenes=lambda: map(_without_bulk, own.all_bytes("describe")),
            key=digest_of([code, whole.settings, results]),
            **_read_when_needed(own),
        )

    def part(number: int, of: int) -> ReleaseInputs:
        context.fence()
        context.progress("shards", number + 1, of)

        def pieces(per: int) -> Iterator[ReleaseInputs]:
            numbers = range(number * per, (number + 1) * per)
            return (some(one, of * per, _OF_PIECES) for one in numbers if sharded(of * per)[one])

        return replace(some(number, of, context.results), pieces=pieces)

    def write(folder: Path) -> tuple[bytes, dict[str, str]]:
        return write_release(folder, whole, part, context.folder / SHARDS)

    config = context.config

    def held_against(folder: Path, before: PublishedRelease | None, summary: bytes) -> list[GateResult]:
        found = before.gates if before else ()
        candidate = Candidate(
            folder=folder,
            before=folder.with_name(before.name) if before else None,
            released=Released.model_validate_json(summary),
            limits=config.gates,
            max_failed=config.blind.max_failed,
            audits_known=bool(context.settings["audits_known"]),
            known_before=max((one.measured or 0.0 for one in found if one.gate == "known"), default=0.0),
        )
        return judge(candidate)

    return publish(context.folder, write, config.keep, context.fence, held_against, of_samples=config.samples)


def _read_when_needed(context: StageContext) -> dict[str, Any]:
    """The inputs of a release that are read from results of some scenes when they are needed, and not held."""

    def videos() -> pa.Table:
        return videos_table(chain.from_iterable(context.all_bytes(stage) for stage in _FILMED))

    def media() -> Iterator[MediaFile]:
        shown = context.all_bytes("views") if "views" in context.settings else ()  # else other results stand for them
        datasets = context.settings["export"]["videos"]
        passed_on = videos_of(videos(), datasets, context.folder / VIDEOS) if datasets else ()
        return chain(media_of(shown, context.folder), _drawings(context), passed_on)

    return {
        "whole_scenes": lambda: map(read_scene, context.all_bytes("describe")),
        "pictures": lambda: context.tables("landmark_pictures"),
        "frames": lambda: pa.concat_tables([FRAMES.empty_table(), *context.tables("frames")]),
        "twins": lambda: pa.concat_tables([TWINS.empty_table(), *context.tables("twins")]),
        "videos": videos,
        "media": media,
    }


def _drawings(context: StageContext) -> Iterator[MediaFile]:
    """The drawings of questions; with pictures of the video where its terms allow that these are passed on."""
    if "pictures" not in context.settings:
        return iter(())
    allowed = context.settings["export"]["frames"]
    units, results = context.results.get("figures", ()), context.all_bytes("figures")
    return chain.from_iterable(
        drawings_of(raw, unit, context.folder, are_samples(context.settings) or dataset_of(unit) in allowed)
        for (unit, _), raw in zip(units, results, strict=True)
    )


def _without_bulk(raw: bytes) -> AnyScene:
    """A scene without its world's bulky facts: second by second, a thousand flights would be gigabytes."""
    fields = json.loads(raw)
    world = fields["facts"]["world"]
    for name in WORLDS[world].bulky:
        part, _, within = name.partition(".")
        if within:
            (fields["facts"].get(part) or {}).pop(within, None)
        else:
            fields["facts"].pop(part, None)
    return scene_type(world).validate_python(fields)


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether this is what was built last, and every file is there with the bytes that the summary names."""
    files = Released.model_validate_json(result).files
    name = name_of(files)
    return name == latest(folder) and changed_file(folder / RELEASES / name, files) is None


def settings(config: BuildConfig) -> dict[str, Any]:
    """The part of the configuration that a release depends on: all but where things lie and how fast models are."""
    from pipeline.llm.budget import load_prices, price_of

    left_out = {"roots", "samples", "written", "known", "video", "figures", "limit_cost", "keep", "store", "fixes"}
    settings = config.model_dump(exclude=left_out, mode="json")
    del settings["blind"]["finetune"]  # what it changes comes from stage filter
    settings["blind"]["models"] = [model.identity() for model in config.blind.models]
    for part, own in (("describe", config.describe), ("author", config.author)):
        named = {"model": own.model, "second": own.second}
        settings[part] |= {key: model.identity() if model else None for key, model in named.items()}
    table = load_prices()
    known = {model.name: price_of(model, table) for model in config.blind.models}
    prices = {name: price.model_dump() if price else None for name, price in known.items()}
    rules = config.generate.resolved_rules().model_dump()
    settings |= {"views": True} if are_views_wanted(config) else {}
    settings |= {"samples": True} if config.samples else {}
    settings |= {"pictures": True} if are_pictures_wanted(config) else {}
    return settings | {
        "applies_fixes": config.applies_fixes(),
        "audits_known": config.known_file is not None,
        "rules": rules,
        "prices": prices,
        "prices_of": table.as_of,
    }


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The benchmark's columns, its card and its pictures, and the facts of its worlds."""
    return _modules(config.of_benchmark())


def _modules(benchmark: Benchmark[Any, Any]) -> tuple[str, ...]:
    worlds = (part for world in benchmark.worlds for part in (world.facts, world.visibility, world.top_down_map))
    asked = (benchmark.harness.marking, benchmark.harness.also) if benchmark.harness else ()
    parts = (benchmark, benchmark.columns.table, benchmark.pictures, benchmark.card)
    return modules_of(*parts, *asked, *worlds)


EXPORT: Final = Stage(
    name="export",
    suffix=".json",
    module=__name__,
    run=run,
    unit="build",
    requires=("select", "describe", "views"),
    optional=(*_FILMED, "frames", "twins", "landmark_pictures", "figures", "blind", "filter", "prune", "review"),
    settings=settings,
    uses=uses,
    is_complete=is_complete,
    folders=(RELEASES,),
    summary=Released.model_validate_json,
)
