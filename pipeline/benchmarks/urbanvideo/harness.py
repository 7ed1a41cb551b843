"""A release as lmms-eval and VLMEvalKit ask it; lmms-eval has no such task, so how to mark replies goes with it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.columns import row
from pipeline.benchmarks.urbanvideo.legends import LEGENDS
from pipeline.questions.harness import UTILS, lmms_eval, vlmevalkit

_REST: Final = f"""doc_to_text: !function {UTILS}.doc_to_text
doc_to_target: answer
process_results: !function {UTILS}.process_results
metric_list:
  - metric: accuracy
    aggregation: mean
    higher_is_better: true
"""
_UTILS: Final = f'''import re

_video = doc_to_visual


def video_of(doc):
    return doc["video_id"]


def doc_to_visual(doc):
    """The video, and where the question names what nobody knows by its name, the picture that shows it."""
    legend = Path(__file__).resolve().parents[2] / "{LEGENDS.folder}" / f"{{doc['Question_id']}}.png"
    if not legend.is_file():
        return _video(doc)
    from PIL import Image

    return [*_video(doc), Image.open(legend).convert("RGB")]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    return doc["question"] + "\\nAnswer with the option's letter from the given choices directly."


def process_results(doc, results):
    """The first capital letter that stands alone is the answer; scan2qa score reads replies with more care."""
    found = re.search(r"(?<![A-Za-z])[A-J](?![A-Za-z])", results[0])
    return {{"accuracy": float(bool(found) and found[0] == doc["answer"])}}
'''


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table that lies in ``file``."""
    rows = []
    for raw in table.to_pylist():
        found = row(raw) or {}
        rows.append(
            {
                "index": raw["Question_id"],
                "video": raw["video_id"],
                "question": found["question"],
                "options": found["options"] or (),
                "answer": raw["answer"],
                "category": raw["question_category"],
            }
        )
    name = f"scan2qa_urbanvideo_{split}"
    return lmms_eval(name, split, file, _REST, _UTILS) | vlmevalkit(name, rows)
