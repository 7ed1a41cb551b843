"""The tables of a release (provenance, rejections, corrections), with descriptions of their columns."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.fixes import SCENE
from pipeline.core.groups import grouped
from pipeline.core.identity import digest_of
from pipeline.core.schema import SCHEMA_VERSION, AnyScene
from pipeline.core.tables import (
    IN_BUDGET,
    MAPS,
    NO_TWIN,
    NUM_FRAMES,
    REJECTIONS,
    TWIN,
    TWINS,
    UNCHECKED,
    VIDEOS_TABLE,
    budget_of,
    fields_of,
    texts,
    unchecked_in,
)
from pipeline.core.templates import load_table
from pipeline.questions.choices import LETTERS
from pipeline.questions.twins import TWIN_FRAMES
from pipeline.release.released import HELD
from pipeline.review.mends import read_mend
from pipeline.review.reviewed import QuestionStatus, Reviewed

SCHEMA_METADATA: Final = {"scan2qa_schema_version": str(SCHEMA_VERSION)}
COMMITMENTS: Final = "commitments"  # configuration of a release without answers
FIXES: Final = "fixes"  # configuration of a release in which people corrected something
CORRECTIONS: Final = pa.schema(
    [
        *texts("id", "scene"),
        pa.field("subjects", pa.list_(pa.string())),  # as operands name them; "" for all of the scene
        *texts("change", "why", "who", "date"),
    ]
)
SOURCES: Final = pa.schema(
    [
        *texts("scene", "reader"),
        pa.field("reader_version", pa.int32()),
        pa.field("source_files", pa.list_(pa.string())),
        pa.field("source_sha256", pa.string()),
        pa.field("latitude", pa.float64()),  # degrees, as all worlds have them; null: not known
        pa.field("longitude", pa.float64()),
    ]
)
REVIEW: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("state", pa.string()),  # of `verdicts.STATES`
        pa.field("answer", pa.string()),  # the right letter or number of a corrected question
        pa.field("reviewers", pa.int32()),
        pa.field("reasons", pa.list_(pa.string())),  # of flags
        pa.field("mended_text", pa.string()),  # null: its words stayed
        pa.field("mended_options", pa.list_(pa.string())),
    ]
)
BY_SCENE: Final = [("scene", "ascending"), ("id", "ascending")]  # the order of rejections
_REMOVED: Final = pa.schema(fields_of(REJECTIONS, "id", "reason", "measured", "limit", "unit"))
_KEPT: Final = ("accepted", "corrected", "mended")
UNCHECKED_PROVENANCE: Final = "unchecked_provenance"  # configuration with what `provenance` says, of `UNCHECKED`
PUBLIC: Final = ("data", "accepted", *HELD.values())  # folders with the benchmark's own columns
COLUMN_DOCS: Final[Mapping[str, str]] = load_table("card/columns")
IN_BUDGETS: Final = pa.schema(
    [
        *fields_of(REJECTIONS, "id", "scene", "task"),
        *(IN_BUDGET.field(name) for name in ("budget", "answer")),
        pa.field("ground_truth", pa.string()),  # a letter, or the number
        *(IN_BUDGET.field(name) for name in ("reason", "measured", "limit", "unit", "evidence")),
    ]
)
# Of stage `prune`; null where it did not run.
_STRESS: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("bias_score", pa.float64()),
        pa.field("chance", pa.float64()),
        pa.field("removed_in_round", pa.int32()),
    ]
)


def split_by_verdict(asked: pa.Table, removed: pa.Table | None) -> tuple[pa.Table, pa.Table]:
    """The questions that stay, and the rejections of others by scene and id; ``removed``: see `removed_blind`."""
    removed = pa.concat_tables([_unchecked(asked), *([] if removed is None else [removed])])
    place = pc.index_in(asked["id"], removed["id"].combine_chunks())
    dropped = asked.filter(pc.is_valid(place)).select(["id", "scene", "task", "operands"])
    reasons = removed.drop_columns("id").take(pc.drop_null(place))
    for name in reasons.column_names:
        dropped = dropped.append_column(name, reasons[name])
    dropped = dropped.append_column("role", pa.nulls(dropped.num_rows, pa.string()))
    return asked.filter(pc.is_null(place)), dropped.select(REJECTIONS.names).sort_by(BY_SCENE)


def budgets_table(asked: pa.Table) -> pa.Table:
    """What becomes of every question in each frame budget (`IN_BUDGETS`), by id and budget."""
    rows = []
    for row in asked.select(["id", "scene", "task", "options", "answer", "budgets"]).to_pylist():
        labels = [option.partition(". ")[2] for option in row["options"] or ()]
        for own in row["budgets"] or ():
            answer, truth = own["answer"], own["answer"]
            if answer is not None and labels:
                truth = LETTERS[labels.index(answer)]
            rows.append({name: row[name] for name in ("id", "scene", "task")} | own | {"ground_truth": truth})
    return pa.Table.from_pylist(rows, schema=IN_BUDGETS)


def questions_in_budget(asked: pa.Table, found: pa.Table, budget: int) -> pa.Table:
    """The questions that have an answer in a frame budget, with that answer; ``found``: see `budgets_table`."""
    own = found.filter(pc.and_(pc.equal(found["budget"], budget), pc.is_valid(found["answer"])))
    rows = asked.take(pc.index_in(own["id"], asked["id"].combine_chunks()))
    for name in ("answer", "ground_truth"):
        place = rows.schema.get_field_index(name)
        rows = rows.set_column(place, rows.schema.field(place), own[name])
    return rows.append_column(NUM_FRAMES, pa.repeat(str(budget), rows.num_rows))


def twin_tables(
    asked: pa.Table, twins: pa.Table, public: Callable[[pa.Table, Collection[int]], pa.Table]
) -> dict[str, pa.Table]:
    """The twins of released questions in the benchmark's own columns, and why others have none, by configuration."""
    own = twins.filter(pc.is_in(twins["of"], asked["id"].combine_chunks())).sort_by("id")
    there = own.filter(pc.is_null(own["reason"]))
    found = {}
    if there.num_rows:
        frames = pa.repeat(str(TWIN_FRAMES), there.num_rows)
        table = public(there.append_column(NUM_FRAMES, frames), ())
        for name in ("of", "hidden", "frames"):
            table = table.append_column(TWINS.field(name), there[name])
        found[TWIN] = table
    refused = own.filter(pc.is_valid(own["reason"]))
    if refused.num_rows:
        found[NO_TWIN] = refused.select(
            ["of", "scene", "task", "operands", "hidden", "reason", "measured", "limit", "unit"]
        )
    return found


def removed_blind(filtered: pa.Table | None) -> pa.Table | None:
    """Why stage `filter` removes questions, by id: as the columns of a rejection."""
    if filtered is None:
        return None
    return filtered.filter(pc.is_valid(filtered["reason"])).select(_REMOVED.names)


def _unchecked(asked: pa.Table) -> pa.Table:
    """Why questions that a model wrote and no second one confirmed are held back, as in `removed_blind`."""
    ids = asked["id"].filter(unchecked_in(asked))
    rows = [
        {"id": i, "reason": UNCHECKED, "measured": 0.0, "limit": 1.0, "unit": "second models"} for i in ids.to_pylist()
    ]
    return pa.Table.from_pylist(rows, _REMOVED)


def provenance_table(
    asked: pa.Table, sources: pa.Table, fixes: pa.Table, settings: dict[str, Any], pruned: pa.Table | None = None
) -> pa.Table:
    """Everything that an answer came from, by id: operands, evidence, template, rules, source, result of pruning.

    ``sources`` and ``fixes``: of the scenes (`SOURCES`, `CORRECTIONS`).
    """
    asked = asked.drop_columns(["text", "options", "ground_truth", "budgets"])
    scenes = sources.take(pc.index_in(asked["scene"], sources["scene"].combine_chunks()))
    n = asked.num_rows
    stress = _STRESS.empty_table() if pruned is None else pruned.select(_STRESS.names)
    found = stress.take(pc.index_in(asked["id"], stress["id"].combine_chunks()))
    for name, values in (
        *((name, found[name]) for name in _STRESS.names if name != "id"),
        ("profile", pa.repeat(settings["generate"]["profile"], n)),
        ("rules", pa.repeat(digest_of(settings["rules"]), n)),
        ("config", pa.repeat(digest_of(settings), n)),
        ("fixes", _fixes_of(asked, fixes)),
        *((name, scenes[name]) for name in SOURCES.names if name != "scene"),
    ):
        asked = asked.append_column(name, values)
    return asked


def sources_table(scenes: Sequence[AnyScene]) -> pa.Table:
    """Where the scenes are from (`SOURCES`)."""
    rows = []
    for scene in scenes:
        source, place = scene.source, scene.facts.place_on_earth
        told = (source.reader, source.reader_version, list(source.files), source.sha256)
        where = (place.lat_deg, place.lon_deg) if place else (None, None)
        rows.append(dict(zip(SOURCES.names, (scene.id, *told, *where), strict=True)))
    return pa.Table.from_pylist(rows, schema=SOURCES)


def fixes_table(scenes: Sequence[AnyScene]) -> pa.Table:
    """All corrections (`CORRECTIONS`), those of a scene in the order in which they were applied."""
    rows = [{"scene": scene.id} | fix.model_dump(mode="json") for scene in scenes for fix in scene.fixes]
    return pa.Table.from_pylist(rows, schema=CORRECTIONS)


def _fixes_of(asked: pa.Table, fixes: pa.Table) -> pa.Array:
    """Per question the ids of the corrections that it rests on: of what it names, or of its scene as a whole."""
    of_scenes = grouped(fixes.to_pylist(), lambda fix: fix["scene"])
    found = [
        [fix["id"] for fix in of_scenes.get(scene, ()) if {*fix["subjects"]} & {SCENE, *operands}]
        for scene, operands in zip(asked["scene"].to_pylist(), asked["operands"].to_pylist(), strict=True)
    ]
    return pa.array(found, pa.list_(pa.string()))


def columns_of(benchmark: Benchmark[Any, Any], folder: str) -> Mapping[str, str]:
    """Column -> what it holds, of the tables in a folder of a benchmark's release."""
    splits = benchmark.columns.splits
    if folder == TWIN:
        return {**COLUMN_DOCS, **benchmark.columns.descriptions, "frames": COLUMN_DOCS["shown"]}
    if folder == COMMITMENTS:
        return {**COLUMN_DOCS, "sha256": COLUMN_DOCS["commitment"]}
    if folder == VIDEOS_TABLE:
        return {
            **COLUMN_DOCS,
            **{name: COLUMN_DOCS[f"video_{name}"] for name in ("scene", "sha256", "from_s", "until_s")},
        }
    if folder == MAPS:
        return {**benchmark.columns.descriptions, "of": COLUMN_DOCS["map_of"]}
    is_public = folder in PUBLIC or budget_of(folder) is not None or (splits is not None and folder == splits.folder)
    return benchmark.columns.descriptions if is_public else COLUMN_DOCS


def review_table(asked: pa.Table, reviewed: Reviewed) -> pa.Table:
    """Where each question stands, in the order of the questions (`REVIEW`)."""
    stands = {stand.id: stand for stand in reviewed.stands}
    rows = []
    for found in (state_of(stands, i) for i in asked["id"].to_pylist()):
        text, options = read_mend(found.mend) if found.mend else (None, None)
        rows.append(found.model_dump() | {"mended_text": text, "mended_options": options})
    return pa.Table.from_pylist(rows, REVIEW)


def accepted(asked: pa.Table, reviewed: Reviewed) -> pa.Table:
    """The accepted questions, the mended ones in their new words, and the corrected ones with the right answer."""
    stands = {stand.id: stand for stand in reviewed.stands if stand.state in _KEPT}
    rows = asked.filter(pc.is_in(asked["id"], pa.array(sorted(stands), pa.int64())))
    own = [stands[i] for i in rows["id"].to_pylist()]
    mends = [read_mend(stand.mend) if stand.mend else None for stand in own]
    shown = rows["options"].is_valid().to_pylist()  # else words of one's own are chosen among its choices
    now: dict[str, list[Any]] = {
        "ground_truth": [stand.answer for stand in own],
        "text": [mend and mend.text for mend in mends],
        "options": [mend.options if mend and has else None for mend, has in zip(mends, shown, strict=True)],
        "choices": [None if has or not mend else mend.options for mend, has in zip(mends, shown, strict=True)],
    }
    for name, values in now.items():
        place = rows.schema.get_field_index(name)
        values_now = [new or old for new, old in zip(values, rows[name].to_pylist(), strict=True)]
        rows = rows.set_column(place, rows.schema.field(place), pa.array(values_now, rows.schema.field(place).type))
    return rows


def state_of(stands: Mapping[int, QuestionStatus], question: int) -> QuestionStatus:
    """Where a question stands; waiting where nobody reviewed it."""
    return stands.get(question) or QuestionStatus(id=question, state="waiting", answer=None, reviewers=0, reasons=())
