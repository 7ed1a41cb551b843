"""A release as lmms-eval and VLMEvalKit ask it; both mark it with their own functions of VSI-Bench."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pipeline.questions.harness import lmms_eval
from pipeline.questions.vlmevalkit import vlmevalkit

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
