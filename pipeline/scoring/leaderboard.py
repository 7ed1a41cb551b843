"""A leaderboard: models side by side on the same questions, and how sure it is which is better.

Each total has its interval by bootstrap over scenes. Models are compared in pairs: the interval of a difference is that
of the differences question by question, drawn by the same scenes, and so far narrower than the two intervals suggest.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.questions.scoring_protocol import Figure, Metric, Score
from pipeline.scoring.figures import ScoreRow, rows_of
from pipeline.scoring.score import ScoreResults, ids_of

MODELS_LEAST: Final = 5  # of which a correlation is told
FAILED: Final = 0.5  # of the highest mark: below it a question is failed


@dataclass(frozen=True)
class LeaderboardLine:
    """One line of a leaderboard.

    Attributes:
        rank: from 1; None: people, who are not ranked.
        answered: questions with a reply.
        figures: name of the figure -> its row.
        behind: of the first's total, question by question; None: it is the first, or nothing is compared.
        others: split -> the total on it; and each figure of the benchmark's first metric, where that is composed of
            others and so has no marks of its own (GLS per setting).
    """

    name: str
    rank: int | None
    answered: int
    figures: Mapping[str, ScoreRow]
    behind: ScoreRow | None = None
    others: Mapping[str, ScoreRow] = field(default_factory=dict)


@dataclass(frozen=True)
class Leaderboard:
    """Models on the questions of one split.

    Attributes:
        metric: what is measured.
        questions: how many.
        total: the figure that ranks.
        figures: all of them, the total last.
        standings: the best first, people after all models.
        splits: names in `LeaderboardLine.others`.
        difficulty: a row per question: id, scene, question_type, mean_mark, failed_by_all, discrimination
            (`_item_rest`) and each model's mark.
        correlations: names of figures, and Pearson's correlation (k, k) over models of what they earn in each.
    """

    metric: Metric
    questions: int
    total: Figure
    figures: Sequence[Figure]
    standings: Sequence[LeaderboardLine]
    splits: Sequence[str]
    difficulty: pa.Table
    correlations: tuple[Sequence[str], FloatArray]

    @property
    def guessing(self) -> Mapping[str, float]:
        """Figure -> what the best way of guessing earns, where that is known."""
        first = self.standings[0].figures
        return {name: row.prior for name, row in first.items() if row.prior is not None}


def leaderboard(
    score: Score[Any],
    models: Mapping[str, ScoreResults],
    elsewhere: Mapping[str, Mapping[str, ScoreResults]],
    people: ScoreResults | None = None,
) -> Leaderboard:
    """A leaderboard.

    Args:
        score: of the benchmark.
        models: name -> what it earned; all on the same questions.
        elsewhere: split -> name -> what it earned there.
        people: what people earned on the questions that they answered.

    Raises ConfigError where no metric is measured for every model.
    """
    first = next(iter(models.values()))
    chosen = ranking_metric(score, *models.values())
    by_name = {name: _rows(own, chosen) for name, own in models.items()}
    everywhere = [f for f in by_name[next(iter(models))] if all(own[f].value is not None for own in by_name.values())]
    total = by_name[next(iter(models))][everywhere[-1]].figure
    headline = next(iter(score.metrics))
    best_first = sorted(models, key=lambda name: (-(by_name[name][total.name].value or 0.0), name))
    marks = {name: models[name].marks.values[chosen] for name in best_first}
    scenes = [f"{a.question.dataset}/{a.question.scene_name}" for a in first.answers]
    figures = [row.figure for row in by_name[best_first[0]].values()]
    standings = []
    for rank, name in enumerate(best_first, 1):
        lost = marks[best_first[0]] - marks[name]
        behind = rows_of(figures, chosen, lost, scenes)[figures.index(total)] if rank > 1 else None
        others = {split: _further_total(own[name]) for split, own in elsewhere.items() if name in own}
        if headline in score.composites:
            title = score.metrics[headline].title
            others |= {f"{title} {figure}": row for figure, row in _rows(models[name], headline).items()}
        standings.append(LeaderboardLine(name, rank, _answered(models[name]), by_name[name], behind, others))
    if people is not None:
        standings.append(LeaderboardLine("people", None, _answered(people), _rows(people, chosen)))
    splits = list(dict.fromkeys(split for standing in standings for split in standing.others))
    difficulty = _difficulty(first, marks, FAILED * score.metrics[chosen].highest)
    related = _correlations([one for one in standings if one.rank is not None])
    return Leaderboard(
        score.metrics[chosen], len(first.answers), total, figures, standings, splits, difficulty, related
    )


def ranking_metric(score: Score[Any], *models: ScoreResults) -> str:
    """The metric that ranks: the first if every model has marks of it; else one that guessing is told of; else any.

    Raises ConfigError where no metric has marks of every model.
    """
    every = [own.marks.values for own in models]
    measured = [n for n in score.metrics if all(n in own and not np.isnan(own[n]).all() for own in every)]
    if not measured:
        known = ", ".join(score.metrics)
        raise ConfigError(f"none of {known} is measured for every model; score each of them alone to see what it lacks")
    if measured[0] == next(iter(score.metrics)):
        return measured[0]
    return next((name for name in measured if score.metrics[name].is_guessed), measured[0])


def _rows(scored: ScoreResults, metric: str) -> dict[str, ScoreRow]:
    """Figure -> its row: parts first, then what is of all questions."""
    rows = [row for row in scored.rows if row.metric == metric]
    return {row.figure.name: row for row in sorted(rows, key=lambda row: not row.figure.section)}


def _further_total(scored: ScoreResults) -> ScoreRow:
    """The total of a further split, in its own first metric."""
    rows = [row for row in scored.rows if not row.figure.section and row.value is not None]
    return (rows or list(scored.rows))[-1]


def _correlations(standings: Sequence[LeaderboardLine]) -> tuple[Sequence[str], FloatArray]:
    """Correlations over models between dimensions, or tasks where there are none, and composed totals.

    Nothing of fewer than `MODELS_LEAST` models; NaN where all models earn the same.
    """
    first = standings[0]
    sections = {row.figure.section for row in first.figures.values()}
    named = {
        n: r
        for n, r in first.figures.items()
        if r.figure.section == ("dimension" if "dimension" in sections else "task")
    }
    values = {name: [one.figures[name].value for one in standings] for name in named}
    values |= {n: [one.others[n].value if n in one.others else None for one in standings] for n in first.others}
    known = {name: own for name, own in values.items() if None not in own}
    if len(standings) < MODELS_LEAST or len(known) < 2:
        return (), np.empty((0, 0))
    table = np.array(list(known.values()), dtype=np.float64)
    apart = table - table.mean(axis=1, keepdims=True)
    spread = np.sqrt((apart**2).sum(axis=1))
    over = spread[:, None] * spread[None, :]
    return list(known), np.divide(
        np.einsum("ik,jk->ij", apart, apart), over, out=np.full(over.shape, np.nan), where=over > 0
    )


def _answered(scored: ScoreResults) -> int:
    return sum(answer.reply is not None for answer in scored.answers)


def _difficulty(scored: ScoreResults, marks: Mapping[str, FloatArray], passed: float) -> pa.Table:
    every = np.stack(list(marks.values()))
    mean = every.mean(axis=0)
    columns = {
        "id": ids_of(scored.answers),
        "scene": pa.array([a.question.scene_name for a in scored.answers]),
        "question_type": pa.array([a.question.question_type for a in scored.answers]),
        "mean_mark": pa.array(mean, pa.float64(), from_pandas=True),
        "failed_by_all": pa.array((every < passed).all(axis=0)),
        "discrimination": pa.array(_item_rest(every), pa.float64(), from_pandas=True),
    }
    own = {f"mark: {name}": pa.array(values, pa.float64(), from_pandas=True) for name, values in marks.items()}
    return pa.table(columns | own)


def _item_rest(marks: FloatArray) -> FloatArray:
    """Correlation (questions,) of a question's marks with what the same models earn on all others.

    Below 0 the better models fail it: its answer may be wrong. NaN of fewer than `MODELS_LEAST` models, and where all
    earn the same. Marks are (models, questions).
    """
    rest = np.nansum(marks, axis=1, keepdims=True) - np.nan_to_num(marks)
    own, others = marks - marks.mean(axis=0), rest - rest.mean(axis=0)
    spread = np.sqrt((own**2).sum(axis=0) * (others**2).sum(axis=0))
    is_told = (spread > 0) & (len(marks) >= MODELS_LEAST)
    return np.divide((own * others).sum(axis=0), spread, out=np.full(marks.shape[1], np.nan), where=is_told)
