"""Figures of a score: means over questions and over other figures, with intervals by bootstrap over scenes.

Questions of one scene depend on one another, so scenes are drawn and not questions: a sample has as many scenes as
there are, drawn with replacement, each with all its questions. All samples are drawn and summed at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.questions.scoring_protocol import Figure

SAMPLES: Final = 2000
LEVEL: Final = 0.95  # of the intervals
CHUNK: Final = 128  # samples that are sorted through at once: each needs a number per question


@dataclass(frozen=True)
class ScoreRow:
    """One figure in one metric; None: there is nothing to tell.

    Attributes:
        n: questions measured.
        low: lower end of the interval; None also where its questions are not of two scenes.
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
        """The score above guessing."""
        return None if self.value is None or self.prior is None else self.value - self.prior


def rows_of(
    figures: Sequence[Figure],
    metric: str,
    marks: FloatArray,
    scenes: Sequence[str],
    priors: FloatArray | None = None,
    statistic: str = "mean",
) -> list[ScoreRow]:
    """Every figure in one metric.

    Args:
        figures: parts before or after the whole.
        metric: its name, which the samples depend on as little as on anything but the scenes.
        marks: (n,), NaN where not measured.
        scenes: (n,) of the questions.
        priors: (n,) what guessing earns on each question; NaN where that is not known.
        statistic: what of the marks a figure is, "mean" or "median".
    """
    known = sampled(figures, marks, scenes, statistic)
    guessed = sampled(figures, priors, scenes, samples=0) if priors is not None else {}
    rows = []
    for figure in figures:
        n, found = known[figure.name]
        measured = _measured(figure, marks)
        own = marks[measured]
        deviation = float(own.std(ddof=1)) if len(own) > 1 else None
        prior = _number(guessed[figure.name][1][0]) if guessed and guessed[figure.name][0] == n else None
        if len(measured) and all(scenes[i] == scenes[measured[0]] for i in measured):
            found = found[:1]  # each sample that has the scene comes to the same
        rows.append(_row(figure, metric, n, found, deviation, prior))
    return rows


def composed(
    figures: Sequence[Figure],
    metric: str,
    parts: Sequence[Mapping[str, tuple[int, FloatArray]]],
    formula: Callable[[FloatArray], FloatArray],
) -> list[ScoreRow]:
    """Every figure in a metric that follows from others, given what those come to (`sampled`)."""
    found: dict[str, FloatArray] = {}
    rows = []
    for figure in _parts_first(figures):
        n = max(part[figure.name][0] for part in parts)
        if figure.difference:
            found[figure.name] = found[figure.parts[0]] - found[figure.parts[1]]
        else:
            found[figure.name] = formula(np.stack([part[figure.name][1] for part in parts]))
        rows.append(_row(figure, metric, n, found[figure.name], None, None))
    return rows


def sampled(
    figures: Sequence[Figure],
    marks: FloatArray,
    scenes: Sequence[str],
    statistic: str = "mean",
    samples: int = SAMPLES,
) -> dict[str, tuple[int, FloatArray]]:
    """Figure -> how many questions, and (1 + samples,) what it comes to: of what there is, then of each sample."""
    _, scene = np.unique(np.array(scenes), return_inverse=True)
    drawn = _drawn(int(scene.max()) + 1)[: 1 + samples]
    known: dict[str, tuple[int, FloatArray]] = {}
    for figure in _parts_first(figures):
        of_members = _medians if statistic == "median" else _means
        known[figure.name] = _of_parts(figure, known) if figure.parts else of_members(figure, marks, scene, drawn)
    return known


def _row(
    figure: Figure, metric: str, n: int, found: FloatArray, deviation: float | None, prior: float | None
) -> ScoreRow:
    value = _number(found[0])
    spread = found[1:][~np.isnan(found[1:])]
    low = high = None
    if value is not None and len(spread):
        tail = (1 - LEVEL) / 2
        low, high = (float(q) for q in np.quantile(spread, [tail, 1 - tail]))
    return ScoreRow(figure, metric, n, value, low, high, deviation, prior)


def _drawn(scenes: int) -> IntArray:
    """How often each scene is in each sample, (1 + SAMPLES, scenes): the first is what there is, the rest are drawn.

    Of one scene no samples are drawn: they would all be what there is.
    """
    there = np.ones((1, scenes), dtype=np.int64)
    if scenes == 1:
        return there
    samples = rng_for("bootstrap", scenes).multinomial(scenes, np.full(scenes, 1 / scenes), size=SAMPLES)
    return np.concatenate([there, samples])


def _of_parts(figure: Figure, known: Mapping[str, tuple[int, FloatArray]]) -> tuple[int, FloatArray]:
    """How many questions, and the mean of the parts in each sample, of those that it has."""
    parts = [known[name] for name in figure.parts]
    means = np.stack([mean for _, mean in parts])
    if figure.difference:
        return sum(n for n, _ in parts), means[0] - means[1]
    there = (~np.isnan(means)).sum(axis=0)
    sums = np.nansum(means, axis=0)
    mean = np.divide(sums, there, out=np.full(len(sums), np.nan), where=there > 0)
    mean[0] = means[:, 0].mean()  # of what there is, no part may be missing
    return sum(n for n, _ in parts), mean


def _measured(figure: Figure, marks: FloatArray) -> IntArray:
    members = np.array(figure.members, dtype=np.intp)
    return members[~np.isnan(marks[members])]


def _means(figure: Figure, marks: FloatArray, scene: IntArray, drawn: IntArray) -> tuple[int, FloatArray]:
    """How many questions, and the mean in each sample; NaN where a sample has none of them."""
    members = _measured(figure, marks)
    count = np.bincount(scene[members], minlength=drawn.shape[1]).astype(np.float64)
    total = np.bincount(scene[members], marks[members], minlength=drawn.shape[1])
    # Not the matrix product, whose rounding differs from one processor to another.
    n, sums = np.einsum("bs,s->b", drawn, count), np.einsum("bs,s->b", drawn, total)
    return len(members), np.divide(sums, n, out=np.full(len(sums), np.nan), where=n > 0)


def _medians(figure: Figure, marks: FloatArray, scene: IntArray, drawn: IntArray) -> tuple[int, FloatArray]:
    """How many questions, and the median in each sample: of an even number the mean of the middle two."""
    members = _measured(figure, marks)
    members = members[np.argsort(marks[members], kind="stable")]
    medians = np.full(len(drawn), np.nan)
    for start in range(0, len(drawn) if len(members) else 0, CHUNK):
        passed = np.cumsum(drawn[start : start + CHUNK][:, scene[members]], axis=1)
        n = passed[:, -1:]
        low, high = ((passed <= middle).sum(axis=1) for middle in ((n - 1) // 2, n // 2))
        there = n[:, 0] > 0
        ordered = marks[members]
        medians[start : start + CHUNK][there] = (ordered[low[there]] + ordered[high[there]]) / 2
    return len(members), medians


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
