"""What lmms-eval needs of this release; the tasks beside this file name these functions."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scan2qa_rows import images_of, mark, means, video_of


def doc_to_visual(doc):
    """The video, and the pictures beside it."""
    video, images = video_of(doc), images_of(doc)
    if not images:
        return [video] if video else []
    from PIL import Image

    return [*([video] if video else []), *(Image.open(path).convert("RGB") for path in images)]


def doc_to_text(doc, lmms_eval_specific_kwargs=None):
    """The prompt; of a model behind its maker's own interface the one that VSI-Bench words for it."""
    return doc[(lmms_eval_specific_kwargs or {}).get("prompt", "prompt")] or doc["prompt"]


def process_results(doc, results):
    """The mark, by lmms-eval's own functions for the types of VSI-Bench and ReVSI."""
    earned = {name: doc[name] for name in ("id", "question_type", "family")}
    earned["mark"] = _own(doc, results[0])
    return {"score": earned, doc["family"] or doc["question_type"]: earned}


def score(rows):
    """The mean of all: of families where there are some."""
    return means([(row, row["mark"]) for row in rows])[0]


def task_score(rows):
    """The mean of one task: of its types where it is a family of some."""
    (value,) = means([(row, row["mark"]) for row in rows])[1].values()
    return value


def _own(doc, reply):
    asked = {"question_type": doc["question_type"], "ground_truth": doc["answer"]}
    if doc["marked_as"] == "vsibench":
        from lmms_eval.tasks.vsibench import utils

        utils.vsibench_process_results(asked, [reply])
        return float(asked["accuracy"] if "accuracy" in asked else asked["MRA:.5:.95:.05"])
    if doc["marked_as"] == "revsi":
        from lmms_eval.tasks.revsi import utils

        utils.revsi_process_results(asked, [reply])
        return float(asked["acc"])
    return mark(doc, reply)
