"""What one earns on questions about panoramas who never sees one: rules that a clever person makes up after reading.

A rule gives each option of a question its worth and may learn from the questions of other panoramas.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

Key = Callable[["Asked", str], Hashable]
FOLDS = 5


class Asked(NamedTuple):
    """A question without its pictures."""

    task: str
    panorama: str
    text: str
    options: tuple[str, ...]
    right: str
    pictures: int


def asked(row: dict[str, Any]) -> Asked:
    """A released row as who only reads has it."""
    options = tuple(option.partition(". ")[2] for option in row["options"])
    right = options["ABCDEFGHIJ".index(row["ground_truth"])]
    return Asked(row["task"], row["panorama"], row["question"], options, right, len(row["images"]))


def _bare(text: str) -> str:
    """A text whose wording does not matter: its longer words in order of the alphabet."""
    return " ".join(sorted({word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}))


# What a rule looks at of a question and an option; how often options with the same were right is their worth.
KEYS: dict[str, Key] = {
    "option": lambda q, o: o,
    "place": lambda q, o: q.options.index(o),
    "place of so many": lambda q, o: (q.options.index(o), len(q.options)),
    "length": lambda q, o: sorted(map(len, q.options)).index(len(o)),
    "alphabet": lambda q, o: (sorted(q.options).index(o), len(q.options)),
    "text": lambda q, o: (q.text, o),
    "words": lambda q, o: (_bare(q.text), o),
    "others": lambda q, o: (tuple(sorted(q.options)), o),
    "first words": lambda q, o: (q.text[:12], o),
    "turns": lambda q, o: (tuple(re.findall(r"\d+ degrees to the \w+|\d+ degrees", q.text)), o),
    "named in the text": lambda q, o: o.lower() in q.text.lower(),
    "place in the text": lambda q, o: sorted(q.options, key=q.text.find).index(o),
    "thing": lambda q, o: (tuple(re.findall(r"the ([a-z ]+?) (?:in|to|is|of|then|into)\b", q.text)), o),
}


def earned(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], tuple[int, float, float, float]]:
    """For each task and rule: questions, what it earns, what chance does, and the standard error of the difference."""
    by_task: dict[str, list[Asked]] = defaultdict(list)
    for row in rows:
        if row["options"]:
            by_task[row["task"]].append(asked(row))
    found = {}
    for task, own in sorted(by_task.items()):
        chance = float(np.mean([1 / len(q.options) for q in own]))
        for name, key in KEYS.items():
            points = _points(own, key)
            scenes = defaultdict(list)
            for q, point in zip(own, points, strict=True):
                scenes[q.panorama].append(point - 1 / len(q.options))
            sums = np.array([sum(values) for values in scenes.values()])
            error = float(np.sqrt((sums**2).sum()) / len(own))
            found[task, name] = (len(own), float(np.mean(points)), chance, error)
    return found


def _points(own: Sequence[Asked], key: Key) -> list[float]:
    """What the rule earns on each question, learnt from the panoramas of the other folds."""
    names = sorted({q.panorama for q in own})
    fold = {name: n % FOLDS for n, name in enumerate(names)}
    points = [0.0] * len(own)
    for test in range(FOLDS):
        right, offered = Counter[Hashable](), Counter[Hashable]()
        for q in own:
            if fold[q.panorama] != test:
                offered.update(key(q, o) for o in q.options)
                right[key(q, q.right)] += 1
        for n, q in enumerate(own):
            if fold[q.panorama] == test:
                prior = 1 / len(q.options)
                worth = [(right[key(q, o)] + prior) / (offered[key(q, o)] + 1) for o in q.options]
                best = [o for o, value in zip(q.options, worth, strict=True) if value > max(worth) - 1e-9]
                points[n] = (q.right in best) / len(best)
    return points
