"""The priors as voters: what guessing without the video earns, in the form of a model's replies."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from pipeline.blind import priors
from pipeline.blind.ask import REPLIES, number_chances
from pipeline.blind.folds import folds_of
from pipeline.blind.items import items_of
from pipeline.blind.stress_test import tasks_of
from pipeline.blind.without_video import PRIOR

PRIORS: Final = {f"{PRIOR}most frequent": priors.most_frequent, f"{PRIOR}by name": priors.by_name}
FORM: Final = "prior"


def prior_replies(questions: pa.Table, threshold: float) -> pa.Table:
    """What the priors fitted on other scenes get right (`REPLIES`), by id and in order of `PRIORS`.

    A guess among options that are equally likely by what is known is no answer, and counts as wrong.
    """
    items = items_of(questions)
    fold = folds_of([item.group for item in items])
    by_luck = number_chances(items, threshold)
    luck = [1 / len(item.options) if item.options else chance for item, chance in zip(items, by_luck, strict=True)]
    rows = []
    for index in tasks_of(items).values():
        members = [items[i] for i in index]
        for name, prior in PRIORS.items():
            for i, score in zip(index.tolist(), prior(members, fold[index]).tolist(), strict=True):
                right = score == 1 if items[i].options else score >= threshold
                row = {"id": items[i].id, "task": items[i].task, "model": name, "form": FORM, "rotation": 0}
                rows.append(row | {"chance": luck[i], "score": score, "right": right})
    order = {name: place for place, name in enumerate(PRIORS)}
    return pa.Table.from_pylist(sorted(rows, key=lambda row: (row["id"], order[row["model"]])), schema=REPLIES)
