"""Figures of a score: means over questions and over other figures, with intervals by bootstrap over scenes.

Questions of one scene depend on one another, so scenes are drawn and not questions: a sample has as many scenes as
there are, drawn with replacement, each with all its questions. All samples are drawn and summed at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.questions.scored import Figure

SAMPLES: Final = 2000
LEVEL: Final = 0.95  # of the intervals


@dataclass(frozen=True)
class Row:
    """One figure in one metric; None: there is nothing to tell.

    Attributes:
        n: questions measured.
        low: lower end of the interval; None also where there are not two scenes.
        deviation: standard deviation of the questions (n - 1); None for a mean of figures.
        prior: what the best way of guessing without the scene earns on the same questions.
    """

    figure: Figure
    metric: str
    n: int
    value: float | None
    low: float | None
    high: float | None
    deviation: float | None
    prior: float | None = None

    @property
    def above(self) -> float | None:
        """What is earned above guessing."""
        return None if self.value is None or self.prior is None else self.value - self.prior


def rows_of(
    figures: Sequence[Figure],
    metric: str,
    marks: FloatArray,
    scenes: Sequence[str],
    priors: FloatArray | None = None,
) -> list[Row]:
    """Every figure in one metric.

    Args:
        figures: parts before or after the whole.
        metric: its name, which the samples depend on as little as on anything but the scenes.
        marks: (n,), NaN where not measured.
        scenes: (n,) of the questions.
        priors: (n,) what guessing earns on each question; NaN where that is not known.
    """
    _, scene = np.unique(np.array(scenes), return_inverse=True)
    known: dict[str, tuple[int, FloatArray]] = {}
    guessed: dict[str, tuple[int, FloatArray]] = {}
    drawn = _drawn(int(scene.max()) + 1)
    rows = []
    for figure in _parts_first(figures):
        known[figure.name] = _means(figure, marks, scene, drawn, known)
        if priors is not None:
            guessed[figure.name] = _means(figure, priors, scene, drawn[:1], guessed)
    for figure in figures:
        n, means = known[figure.name]
        value = _number(means[0])
        spread = means[1:][~np.isnan(means[1:])]
        low = high = None
        if value is not None and drawn.shape[1] > 1 and len(spread):
            tail = (1 - LEVEL) / 2
            low, high = (float(q) for q in np.quantile(spread, [tail, 1 - tail]))
        own = marks[list(figure.members)]
        own = own[~np.isnan(own)]
        deviation = float(own.std(ddof=1)) if len(own) > 1 else None
        prior = _number(guessed[figure.name][1][0]) if guessed and guessed[figure.name][0] == n else None
        rows.append(Row(figure, metric, n, value, low, high, deviation, prior))
    return rows


def _drawn(scenes: int) -> IntArray:
    """How often each scene is in each sample, (1 + SAMPLES, scenes): the first is what there is, the rest are drawn."""
    samples = rng_for("bootstrap", scenes).multinomial(scenes, np.full(scenes, 1 / scenes), size=SAMPLES)
    return np.concatenate([np.ones((1, scenes), dtype=samples.dtype), samples])


def _means(
    figure: Figure, marks: FloatArray, scene: IntArray, drawn: IntArray, known: Mapping[str, tuple[int, FloatArray]]
) -> tuple[int, FloatArray]:
    """How many questions, and the mean in each sample; NaN where a sample has none of them."""
    if figure.parts:
        parts = [known[name] for name in figure.parts]
        means = np.stack([mean for _, mean in parts])
        there = (~np.isnan(means)).sum(axis=0)
        sums = np.nansum(means, axis=0)
        mean = np.divide(sums, there, out=np.full(len(sums), np.nan), where=there > 0)
        mean[0] = means[:, 0].mean()  # of what there is, no part may be missing
        return sum(n for n, _ in parts), mean
    members = np.array(figure.members, dtype=np.intp)
    members = members[~np.isnan(marks[members])]
    count = np.bincount(scene[members], minlength=drawn.shape[1]).astype(np.float64)
    total = np.bincount(scene[members], marks[members], minlength=drawn.shape[1])
    # Not the matrix product, whose rounding differs from one processor to another.
    n, sums = np.einsum("bs,s->b", drawn, count), np.einsum("bs,s->b", drawn, total)
    return len(members), np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0)


def _parts_first(figures: Sequence[Figure]) -> list[Figure]:
    """Figures after all those that they are made of."""
    names = {figure.name: figure for figure in figures}
    ordered: dict[str, Figure] = {}

    def add(figure: Figure) -> None:
        for part in figure.parts:
            add(names[part])
        ordered.setdefault(figure.name, figure)

    for figure in figures:
        add(figure)
    return list(ordered.values())


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
