"""A release as lmms-eval and VLMEvalKit ask it; neither has such a task, so how to mark replies goes with it."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.columns import row
from pipeline.benchmarks.urbanvideo.legends import LEGENDS
from pipeline.questions.harness import UTILS, lmms_eval, vlmevalkit

POST: Final = "Answer with the option's letter from the given choices directly."
_REST: Final = f"""doc_to_text: !function {UTILS}.doc_to_text
doc_to_target: answer
process_results: !function {UTILS}.process_results
metric_list:
  - metric: accuracy
    aggregation: mean
    higher_is_better: true
"""
_MARK: Final = """def mark(reply, answer):
    # Not "I", nor "A" where it is the article.
    found = re.search(r"(?<![A-Za-z'])(?:A(?! (?!because|since|as |is )[a-z])|[B-H])(?![A-Za-z'])", reply)
    return float(bool(found) and found[0] == answer)
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
    return doc["question"] + "\\n{POST}"


def process_results(doc, results):
    """The first capital letter that stands alone is the answer; scan2qa score reads replies with more care."""
    return {{"accuracy": mark(results[0], doc["answer"])}}


{_MARK}'''
_OWN: Final = f'''    def build_prompt(self, line, video_llm):
        """As lmms-eval's task asks it, with the legend where the question names what nobody knows by its name."""
        line = self.data.iloc[line] if isinstance(line, int) else line
        if video_llm:
            message = [{{"type": "video", "value": os.path.join(self.data_root, line["video"])}}]
        else:
            frames, _, _ = self.save_video_frames(line["video"], video_llm)
            message = [{{"type": "image", "value": frame}} for frame in frames]
        legend = Path(__file__).resolve().parents[2] / "{LEGENDS.folder}" / f"{{line['index']}}.png"
        if legend.is_file():
            message.append({{"type": "image", "value": str(legend)}})
        return [*message, {{"type": "text", "value": line["question"] + "\\n{POST}"}}]

    def evaluate(self, eval_file, **judge_kwargs):
        """Percent of right letters, in all and of each task; scan2qa score reads replies with more care."""
        said = load(eval_file).sort_values(by="index")
        right = [mark(str(reply), answer) for reply, answer in zip(said["prediction"], said["answer"])]
        said["hit"] = right
        dump(said, eval_file.rsplit(".", 1)[0] + "_marks.tsv")
        percent = (100 * said.groupby("question_type")["hit"].mean()).items()
        return {{"overall": 100 * said["hit"].mean(), **{{f"{{task}}_accuracy": value for task, value in percent}}}}


{_MARK}'''


def harness_files(split: str, file: str, table: pa.Table) -> dict[str, bytes]:
    """Files below the release for one of its splits, a public table that lies in ``file``."""
    rows = []
    for raw in table.to_pylist():
        found = row(raw) or {}
        rows.append(
            {
                "index": raw["Question_id"],
                "video": raw["video_id"],
                "question_type": raw["question_category"],
                "question": raw["question"],  # with the options
                "candidates": found["options"] or (),
                "answer": raw["answer"],
            }
        )
    name = f"scan2qa_urbanvideo_{split}"
    return lmms_eval(name, split, file, _REST, _UTILS) | vlmevalkit(name, rows, _OWN)
