"""The release of UrbanVideo-Bench: public columns, dataset card, and files for lmms-eval and VLMEvalKit.

Neither harness has such a task, so how to mark replies goes with the files.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.benchmarks.urbanvideo.legends import LEGENDS
from pipeline.core.templates import load_table
from pipeline.core.video_spec import video_file
from pipeline.questions.asking import AskedOf, Asking, QuestionPrompt
from pipeline.questions.harness import ABOUT, FOLDER, UTILS, lmms_eval, vlmevalkit
from pipeline.questions.published import Columns, Published

_FIRST_OPTION: Final = re.compile(r"\s*A[.:)]\s")


def table(asked: pa.Table, pruned: Collection[int]) -> pa.Table:
    """The columns of the released UrbanVideo-Bench (`COLUMNS`): the options stand in the question's text.

    ``video_id`` is the video's path below the build's folder of videos; where the question is about a part of it, that
    of a clip of this part, whose name does not say which (`video_file`).
    """
    films = asked.select(["scene", "until_s", "from_s"]).to_pylist()
    texts = zip(asked["text"].to_pylist(), asked["options"].to_pylist(), strict=True)
    columns = {
        "Question_id": asked["id"],
        "video_id": pa.array([video_file(**film) for film in films], pa.string()),
        "question_category": asked["task"],
        "question": pa.array(["\n".join([text, *(options or ())]) for text, options in texts], pa.string()),
        "answer": asked["ground_truth"],
    }
    return pa.table(columns, schema=COLUMNS.schema)


def row(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The shared form of a released row, whose options are lines of the question's text."""
    if "Question_id" not in raw:
        return None
    lines = str(raw.get("question", "")).splitlines()
    first = next((n for n, line in enumerate(lines) if _FIRST_OPTION.match(line)), len(lines))
    options = [line.strip() for line in lines[first:] if line.strip()]
    return {
        "id": raw["Question_id"],
        "scene_name": raw.get("video_id"),
        "question_type": raw.get("question_category"),
        "question": "\n".join(lines[:first]).removesuffix("Choices:").strip(),
        "options": options or None,
        "ground_truth": raw.get("answer"),
    }


COLUMNS: Final = Columns.described(load_table("urbanvideo/columns"), table, row)


_WORDS: Final = load_table("urbanvideo/card")
CARD: Final = Card(
    module=__name__,
    chosen=frozenset({"answer_too_frequent", "answer_too_rare"}),
    **_WORDS | {"parts": {**_WORDS["parts"], FOLDER: ABOUT}},
)


POST: Final[str] = load_table("urbanvideo/asking")["choice"]


def prompt(question: Published, asked: AskedOf) -> QuestionPrompt:
    """A question with its options, shown the video that ends where it stands, and its legend where it has one."""
    legend = f"{LEGENDS.folder}/{question.id}.png"
    return QuestionPrompt(f"{question.rest['question']}\n{POST}", question.scene_name, legend=legend)


ASKING: Final = Asking.of("urbanvideo", prompt, ends_asked=True)
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
