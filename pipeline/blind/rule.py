"""Which questions are too easy without the video.

UrbanVideo-Bench removes what all models answer right; so does the default here. A failed or unreadable reply counts as
wrong and is counted: it can keep a question in, never take one out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import Any, Final

import pyarrow as pa

from pipeline.blind.config import RuleConfig

RULED: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("task", pa.string()),
        pa.field("models", pa.int32()),
        pa.field("right", pa.int32()),
        pa.field("unread", pa.int32()),  # replies without an answer
        pa.field("failed", pa.int32()),  # no reply
        pa.field("needed", pa.int32()),  # right answers that remove it
        pa.field("by_luck", pa.float64()),  # probability that guessing models remove it
        pa.field("removed", pa.bool_()),
    ]
)
BY_TASK: Final = pa.schema(
    [
        pa.field("task", pa.string()),
        pa.field("model", pa.string()),  # null: all models together
        pa.field("questions", pa.int32()),
        pa.field("chance", pa.float64()),
        pa.field("right", pa.float64()),  # share of the questions
        pa.field("score", pa.float64()),  # mean; of numbers the mean relative accuracy
        pa.field("unread", pa.int32()),
        pa.field("failed", pa.int32()),
        pa.field("agreement", pa.float64()),  # share of pairs of models with the same answer; null for one model
        pa.field("removed", pa.int32()),
        pa.field("by_luck", pa.float64()),  # expected number removed if all models guessed
    ]
)


def rule(replies: pa.Table, config: RuleConfig) -> pa.Table:
    """The verdict on each question (`RULED`, in order of the replies). Without models nothing is removed."""
    rows = []
    for question in _by_question(replies):
        needed, right = config.needed(len(question)), sum(row["right"] for row in question)
        rows.append(
            {
                "id": question[0]["id"],
                "task": question[0]["task"],
                "models": len(question),
                "right": right,
                "unread": sum(row["unread"] is not None for row in question),
                "failed": sum(row["failure"] is not None for row in question),
                "needed": needed,
                "by_luck": _at_least(needed, [row["chance"] for row in question]),
                "removed": right >= needed,
            }
        )
    return pa.Table.from_pylist(rows, schema=RULED)


def removed_in(replies: pa.Table, config: RuleConfig) -> set[int]:
    """Ids of the questions that the rule removes."""
    ruled = rule(replies, config)
    return set(ruled.filter(ruled["removed"])["id"].to_pylist())


def by_task(replies: pa.Table, ruled: pa.Table) -> pa.Table:
    """Summary per task (`BY_TASK`): a row per model, then one for all together."""
    questions: dict[str, list[list[dict[str, Any]]]] = {}
    for question in _by_question(replies):
        questions.setdefault(question[0]["task"], []).append(question)
    verdicts: dict[str, list[dict[str, Any]]] = {}
    for row in ruled.to_pylist():
        verdicts.setdefault(row["task"], []).append(row)
    summary = []
    for task, asked in sorted(questions.items()):
        models = list(dict.fromkeys(row["model"] for question in asked for row in question))
        rows = [row for question in asked for row in question]
        for model in models:
            summary.append({"task": task, "model": model} | _shares([r for r in rows if r["model"] == model]))
        summary.append(
            {
                "task": task,
                "agreement": _agreement(asked),
                "removed": sum(v["removed"] for v in verdicts[task]),
                "by_luck": sum(v["by_luck"] for v in verdicts[task]),
            }
            | _shares(rows)
            | {"questions": len(asked)}
        )
    return pa.Table.from_pylist(summary, schema=BY_TASK)


def _by_question(replies: pa.Table) -> list[list[dict[str, Any]]]:
    """Rows of each question together; rows are in order of the ids."""
    questions: dict[int, list[dict[str, Any]]] = {}
    for row in replies.to_pylist():
        questions.setdefault(row["id"], []).append(row)
    return list(questions.values())


def _shares(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "questions": len(rows),
        "chance": sum(row["chance"] for row in rows) / len(rows),
        "right": sum(row["right"] for row in rows) / len(rows),
        "score": sum(row["score"] for row in rows) / len(rows),
        "unread": sum(row["unread"] is not None for row in rows),
        "failed": sum(row["failure"] is not None for row in rows),
    }


def _agreement(asked: Sequence[Sequence[dict[str, Any]]]) -> float | None:
    """Share of pairs of models that gave one question the same answer.

    Left out are pairs without two answers, and those where one gave a number and the other the letter of a choice.
    """
    pairs = [
        a["answer"] == b["answer"]
        for question in asked
        for a, b in combinations(question, 2)
        if a["answer"] is not None and b["answer"] is not None and (a["form"] == "number") == (b["form"] == "number")
    ]
    return sum(pairs) / len(pairs) if pairs else None


def _at_least(needed: int, chances: Sequence[float]) -> float:
    """Probability that at least so many of independent guesses are right."""
    if needed == len(chances):
        return prod(chances)
    exactly = [1.0]  # exactly[k]: k of the guesses so far are right
    for chance in chances:
        exactly = [
            (exactly[k] * (1 - chance) if k < len(exactly) else 0.0) + (exactly[k - 1] * chance if k else 0.0)
            for k in range(len(exactly) + 1)
        ]
    return sum(exactly[needed:])
