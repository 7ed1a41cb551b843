"""Raw tasks as reviewers judge them before the tasks made from them: question and answer, and poses of a fifth.

Appendix A.1 of the paper: two annotators look whether question and answer match the picture and whether the task is a
duplicate; the poses of a fifth of the raw tasks are verified in two rounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pipeline.benchmarks.benchmark import RAW_POSE, RAW_TASK
from pipeline.benchmarks.cityeqa.wording import parse
from pipeline.core.identity import question_ids
from pipeline.core.templates import load_table

POSES_OF: Final = 5  # one raw task in so many has its poses checked
_SHOWN: Final = "The picture is the view from the observation pose"
_OPTIONS: Final[dict[str, list[str]]] = load_table("cityeqa/raw_review")


def raw_checks(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The raw tasks behind some questions, and the poses of each whose id is a multiple of `POSES_OF` (`Benchmark`)."""
    found: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["scene"], *row["operands"][:-2]), []).append(row)  # without start and landmarks
    return [check for _, own in sorted(found.items()) for check in _checks(own)]


def _checks(rows: list[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    one = rows[0]
    asked = min(told.question if (told := parse(row["text"])) else row["text"] for row in rows)
    raw = f"{one['task']}: “{asked}”"
    texts = {
        RAW_TASK: f"{raw} Answer: “{one['answer']}”. {_SHOWN}.",
        RAW_POSE: f"{raw} {_SHOWN}, with the target outlined.",
    }
    operands = one["operands"][:-2]
    for task, text in texts.items():
        (number,) = question_ids(one["scene"], task, "", [operands])
        if task == RAW_POSE and number % POSES_OF:
            continue
        yield {
            **one,
            "id": number,
            "task": task,
            "operands": operands,
            "group": None,
            "text": text,
            "options": list(_OPTIONS[task]),
            "ground_truth": "A",
            "evidence": [fact for fact in one["evidence"] if fact["name"] in {"observation_pose", "target_pose"}],
            "asked": sorted(row["id"] for row in rows),
        }
