"""The release of VSI-Bench: columns, card, prompts, metadata and maps of the scenes."""

import json
from collections.abc import Collection, Iterable, Mapping
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card, SceneRecords
from pipeline.benchmarks.vsi.cognitive_maps import map_questions
from pipeline.benchmarks.vsi.rules import Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.benchmarks.vsi.tasks.relations import RelDistance
from pipeline.core.groups import grouped
from pipeline.core.identity import question_ids
from pipeline.core.tables import MAPS, NUM_FRAMES, QUESTIONS, TWIN, budget_folder, budget_of
from pipeline.core.templates import load_table
from pipeline.questions.arrays import ANNOTATED
from pipeline.questions.asking import METHODS, AskedOf, Asking, QuestionPrompt
from pipeline.questions.published import REQUIRED, Columns, Published
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.vsi_meta import METADATA_FOLDER, metadata_of

_PARTS: Final = {
    MAPS: f"`{MAPS}`: one question per scene for a map of its things on a grid, with the true map (VSI-Bench, appendix "
    f"B.4), and one per question of relative distance (`of`). `scan2qa score vsi … --split {MAPS}` scores replies.",
    METADATA_FOLDER: f"`{METADATA_FOLDER}/DATASET.json`: the scans in the benchmark's unified metadata, as corrected. "
    "`scan2qa build vsi --root vsi_meta=THIS_RELEASE` asks of them again.",
}
CARD: Final = Card(module=__name__, parts=_PARTS, **load_table("vsi/release")["card"])


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released VSI-Bench (`COLUMNS`). ``pruned``: ids of questions that are not in `debiased`."""
    scenes = [s.split("/", 1) for s in asked["scene"].to_pylist()]
    # Twins have no flags: there are none of a video that was not examined.
    flags = asked["flags"].to_pylist() if "flags" in asked.column_names else [None] * asked.num_rows
    columns = {
        "id": asked["id"],
        "dataset": pa.array([dataset for dataset, _ in scenes], pa.string()),
        "scene_name": pa.array([name for _, name in scenes], pa.string()),
        "question_type": asked["task"],
        "question": asked["text"],
        "options": asked["options"],
        "ground_truth": asked["ground_truth"],
        "pruned": pa.array([i in pruned for i in asked["id"].to_pylist()], pa.bool_()),
        "video_examined": pa.array([ANNOTATED not in (own or ()) for own in flags], pa.bool_()),
    }
    return pa.table(columns, schema=COLUMNS.schema)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The row unchanged: the shared form has these columns."""
    return raw if set(REQUIRED) <= set(raw) else None


COLUMNS: Final = Columns.described(load_table("vsi/release")["columns"], table, row)


def revsi_table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released ReVSI (`REVSI_COLUMNS`), and our id and dataset."""
    plain = table(asked, pruned)
    has_budget = NUM_FRAMES in asked.column_names
    frames = asked[NUM_FRAMES] if has_budget else pa.repeat(WHOLE_VIDEO, plain.num_rows)
    renamed = plain.rename_columns({"scene_name": "scene_id"}).append_column(NUM_FRAMES, frames)
    return renamed.select(REVSI_COLUMNS.schema.names).cast(REVSI_COLUMNS.schema)


def revsi_row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """A row in the shared form. ReVSI's own rows have no id: theirs follows from what they ask, at how many frames."""
    if not set(raw) >= {"scene_id", "question_type", "question", "ground_truth"} or "scene_name" in raw:
        return None
    scene, kind = str(raw["scene_id"]), str(raw["question_type"])
    asked = (str(raw["question"]), str(raw.get("num_frames", WHOLE_VIDEO)))
    return {"id": question_ids(scene, kind, "revsi", [asked])[0]} | raw | {"scene_name": scene}


WHOLE_VIDEO: Final = "all"  # of the frames
REVSI_COLUMNS: Final = Columns.described(load_table("vsi/release")["revsi_columns"], revsi_table, revsi_row)


_ASKED: Final[Mapping[str, Any]] = load_table("vsi/asking")


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """A question in the words of table 9, shown the video of its split: whole, of a frame budget, or a twin's."""
    scene = f"{question.dataset}/{question.scene_name}"
    budget = budget_of(asked.split)
    folder = "" if budget is None else f"{budget_folder(budget)}/"
    video = f"{TWIN}/{scene}/{question.id}.mp4" if asked.split == TWIN else f"{folder}{scene}.mp4"
    if asked.split == MAPS:
        return QuestionPrompt(question.question, video)
    options = [_ASKED["options"], *question.options] if question.options else []
    number = "number_revsi" if "scene_id" in question.rest else "number_proprietary" if asked.proprietary else "number"
    # Twins are asked without: told to answer with a number or letter, a model could not say that nothing is there. Nor
    # is a model that is to think first told to answer directly: a later turn asks for the answer alone.
    after = [] if asked.split == TWIN or asked.prompt else [_ASKED["choice" if question.options else number]]
    return QuestionPrompt("\n".join([_ASKED["before"], question.question, *options, *after]), video)


ASKING: Final = Asking.of("vsi", prompt, methods=METHODS)


_MAP_COLUMNS: Final = ("id", "scene", "task", "text", "options", "ground_truth", "flags")
_MAPS: Final = pa.schema([*(QUESTIONS.field(name) for name in _MAP_COLUMNS), pa.field("of", pa.int64())])


def scene_records(scenes: Iterable[IndoorScene], rules: Rules, asked: pa.Table) -> SceneRecords:
    """``meta_info/DATASET.json`` as reader `vsi_meta` reads it, and the questions for maps, by id."""
    rows = asked.select(["id", "scene", "task", "operands"]).to_pylist()
    named = grouped((row for row in rows if isinstance(TASKS[row["task"]], RelDistance)), itemgetter("scene"))
    written: dict[str, dict[str, Any]] = {}
    maps: list[dict[str, Any]] = []
    for scene in scenes:
        written.setdefault(scene.dataset, {})[scene.name] = metadata_of(scene)
        maps += map_questions(scene, rules, named.get(scene.id, ()))
    files = {
        f"{METADATA_FOLDER}/{dataset}.json": json.dumps(own, ensure_ascii=False, allow_nan=False).encode()
        for dataset, own in written.items()
    }
    return SceneRecords(pa.Table.from_pylist(sorted(maps, key=lambda row: int(row["id"])), _MAPS), files)
