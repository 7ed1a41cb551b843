"""The release of VSI-Bench: public columns, dataset card, and files for lmms-eval and VLMEvalKit.

Both harnesses mark it with their own functions of VSI-Bench.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.core.templates import load_table
from pipeline.questions.harness import ABOUT, FOLDER, lmms_eval, vlmevalkit
from pipeline.questions.published import REQUIRED, Columns

CARD: Final = Card(module=__name__, parts={FOLDER: ABOUT}, **load_table("vsi/card"))


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released VSI-Bench (`COLUMNS`). ``pruned``: ids of questions that are not in `debiased`."""
    scenes = [s.split("/", 1) for s in asked["scene"].to_pylist()]
    columns = {
        "id": asked["id"],
        "dataset": pa.array([dataset for dataset, _ in scenes], pa.string()),
        "scene_name": pa.array([name for _, name in scenes], pa.string()),
        "question_type": asked["task"],
        "question": asked["text"],
        "options": asked["options"],
        "ground_truth": asked["ground_truth"],
        "pruned": pa.array([i in pruned for i in asked["id"].to_pylist()], pa.bool_()),
    }
    return pa.table(columns, schema=COLUMNS.schema)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The row unchanged: the shared form has these columns."""
    return raw if set(REQUIRED) <= set(raw) else None


COLUMNS: Final = Columns.described(load_table("vsi/columns"), table, row)


_OWN: Final = "lmms_eval.tasks.vsibench.utils.vsibench"
_METRICS: Final = (
    "overall",
    "obj_appearance_order_accuracy",
    "object_abs_distance_mra",
    "object_counting_mra",
    "object_rel_distance_accuracy",
    "object_size_estimation_mra",
    "room_size_estimation_mra",
    "route_planning_accuracy",
    "object_rel_direction_accuracy",
)
_REST: Final = f"""doc_to_text: !function {_OWN}_doc_to_text
doc_to_target: ground_truth
process_results: !function {_OWN}_process_results
lmms_eval_specific_kwargs:
  default:
    mca_post_prompt: Answer with the option's letter from the given choices directly.
    na_post_prompt: Please answer the question using a single word or phrase.
metric_list:  # which need questions of all three levels of direction
""" + "".join(
    f"  - metric: {'vsibench_overall' if metric == 'overall' else metric}\n"
    f"    aggregation: !function {_OWN}_aggregate_{metric}\n"
    "    higher_is_better: true\n"
    for metric in _METRICS
)
_UTILS: Final = """def video_of(doc):
    return f"{doc['dataset']}/{doc['scene_name']}.mp4"
"""


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table that lies in ``file``."""
    rows = [
        {
            "index": row["id"],
            "video": f"{row['dataset']}/{row['scene_name']}.mp4",
            "question_type": row["question_type"],
            "question": row["question"],
            "candidates": row["options"] or (),
            "answer": row["ground_truth"],
        }
        for row in table.to_pylist()
    ]
    name = f"scan2qa_vsi_{split}"
    return lmms_eval(name, split, file, _REST, _UTILS) | vlmevalkit(name, rows)
