"""What answering without the video earns, per task: models, priors, forest, and what was removed for it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipeline.blind import priors
from pipeline.blind.config import BlindConfig
from pipeline.blind.folds import folds_of
from pipeline.blind.items import items_of
from pipeline.blind.rule import by_task, rule
from pipeline.blind.stress_test import tasks_of
from pipeline.blind.without_video import WithoutVideo


def without_video(
    asked: pa.Table, replies: pa.Table | None, pruned: pa.Table | None, config: BlindConfig
) -> list[WithoutVideo]:
    """One summary per task.

    Args:
        asked: all selected questions (`pipeline.core.tables.QUESTIONS`), those that were removed for it included.
        replies: of all voters (`blind.ask.REPLIES`), or None where nobody was asked.
        pruned: the table of stage `prune` on what was not removed, or None where it did not run.
        config: who was asked, and the rule.
    """
    items = items_of(asked)
    fold = folds_of([item.group for item in items])
    voters, unanswered, unread, together = _votes(replies, config)
    stress = pruned.to_pandas() if pruned is not None else None
    rows = []
    for task, index in tasks_of(items).items():
        members, folds = [items[i] for i in index], fold[index]
        median = priors.task_median(members, folds)
        votes = together.get(task, {})
        part = stress[stress["question_type"] == task] if stress is not None else None
        left = part[part["removed_in_round"].isna()] if part is not None else None
        rows.append(
            WithoutVideo(
                task=task,
                n=len(members),
                chance=float(priors.chance(members, folds).mean()),
                most_frequent=float(priors.most_frequent(members, folds).mean()),
                median=None if median is None else float(median.mean()),
                by_name=float(priors.by_name(members, folds).mean()),
                forest=None if part is None or part.empty else float(part["earned"].mean()),
                voters=voters.get(task, {}),
                unanswered=unanswered.get(task, {}),
                unread=unread.get(task, {}),
                agreement=votes.get("agreement"),
                removed=votes.get("removed", 0),
                by_luck=votes.get("by_luck", 0.0),
                debiased=None if left is None else len(left),
                forest_left=None if left is None or left.empty else float(left["earned_left"].mean()),
            )
        )
    return rows


def _votes(
    replies: pa.Table | None, config: BlindConfig
) -> tuple[
    dict[str, dict[str, float]], dict[str, dict[str, int]], dict[str, dict[str, int]], dict[str, dict[str, Any]]
]:
    """By task and voter the share of right answers, the failed and the unread; by task what all come to."""
    voters: dict[str, dict[str, float]] = {}
    unanswered: dict[str, dict[str, int]] = {}
    unread: dict[str, dict[str, int]] = {}
    together: dict[str, dict[str, Any]] = {}
    if replies is None:
        return voters, unanswered, unread, together
    for row in by_task(replies, rule(replies, config)).to_pylist():
        if row["model"] is None:
            together[row["task"]] = row
        else:
            voters.setdefault(row["task"], {})[row["model"]] = row["right"]
            unanswered.setdefault(row["task"], {})[row["model"]] = row["failed"]
            unread.setdefault(row["task"], {})[row["model"]] = row["unread"]
    return voters, unanswered, unread, together
