"""Scores result files: questions and result files in; figures, and a list of irregularities, out.

Questions and the rows of result files are brought together; what does not fit is refused or counted by name.
"""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError

from pipeline.blind.totals import TextOnly
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, shortened
from pipeline.core.parquet import files_of, read_files, released_files
from pipeline.core.schema import Model
from pipeline.core.tables import (
    DEBIASED,
    MAPS,
    PART_SPLITS,
    TWIN,
    WITHOUT_VIDEO,
    budget_of,
    check_files,
    check_version,
    sums_of,
)
from pipeline.questions.published import Published
from pipeline.questions.scoring_protocol import Answer, Ask, Score, Scores
from pipeline.scoring.figures import LEVEL, SAMPLES, ScoreRow, composed, rows_of, sampled
from pipeline.scoring.predictions import PLAIN, PredictionRow, Predictions, read_predictions, unicode

NAMED: Final = 5  # ids in a message
ID_CHARS: Final = 80  # of each
# What can be wrong with a row, and what becomes of it.
LEFT_OUT: Final[Mapping[str, str]] = {
    "unknown_id": "no such question: not scored",
    "not_a_text": "a reply that is neither text nor number counts as no answer",
    "request_failed": "the request to the model failed: counts as no answer; run these again",
    "bad_steps": "a trajectory that is no list of poses of six numbers is not measured",
}
COUNTED: Final[Mapping[str, str]] = {
    "unanswered": "questions without a reply score 0; score --only-asked leaves out those without a row",
    "said_twice": "the same reply twice counts once",
    "cut_off": "replies that fill a cell of .xlsx have lost their end; let VLMEvalKit write PRED_FORMAT=tsv",
}


def answered(
    questions: Sequence[Published], predictions: Predictions, of: Path, elsewhere: Collection[str] = ()
) -> tuple[tuple[Answer, ...], dict[str, list[str]]]:
    """Each question with its reply, in their order, and what is unusual (`LEFT_OUT`, `COUNTED`) -> the ids.

    Rows about questions of another split (ids ``elsewhere``) are passed over.

    Raises ConfigError where no row is about any of the questions, where a question has two different replies, and
    where the file's truths are not those of the questions. ``of``: the questions' file, for what is said of it.
    """
    ids = [str(question.id) for question in questions]
    known = set(ids)
    if len(known) < len(ids):
        twice = Counter(ids).most_common(1)[0][0]
        raise ConfigError(f"{of}: two questions have the id {twice}; give one of them another")
    found: dict[str, list[str]] = defaultdict(list)
    rows: dict[str, PredictionRow] = {}
    for row in predictions.rows:
        name = row.id if row.id is not None else _question_at(row, questions, of)
        if name not in known and name in elsewhere:
            continue
        if name not in known:
            found["unknown_id"].append(name)
        elif name not in rows:
            rows[name] = row
        elif (row.reply, row.steps) == (rows[name].reply, rows[name].steps):
            found["said_twice"].append(name)
        else:
            raise ConfigError(f"{row.where}: question {name} has another reply in {rows[name].where}; delete one")
    if not rows:
        some = ", ".join(shortened(name, ID_CHARS) for name in found["unknown_id"][:NAMED])
        raise ConfigError(f"none of the ids ({some}, …) is in {of}: give the release or file that was asked")
    answers = tuple(_answer(question, rows.get(name), found) for name, question in zip(ids, questions, strict=True))
    return answers, dict(found)


def _question_at(row: PredictionRow, questions: Sequence[Published], of: Path) -> str:
    """The id of the question at a row's place, if its truth is that of the row."""
    if row.place is None or row.place >= len(questions):
        raise ConfigError(f"{row.where}: there is no row {row.place} in {of}: give the release or file that was asked")
    question = questions[row.place]
    if row.truth != question.ground_truth:
        raise ConfigError(
            f"{row.where}: its truth is {row.truth!r}, and that of row {row.place} in {of} is "
            f"{question.ground_truth!r}: give the release or file that was asked"
        )
    return str(question.id)


def _answer(question: Published, row: PredictionRow | None, found: dict[str, list[str]]) -> Answer:
    reply = None if row is None else row.reply
    if row is not None and row.is_cut:
        found["cut_off"].append(str(question.id))
    if reply is not None and not _is_text_or_number(reply):
        found["not_a_text"].append(str(question.id))
        reply = None
    elif row is not None and row.has_failed:
        found["request_failed"].append(str(question.id))
    elif reply is None or (isinstance(reply, str) and not reply.strip()):
        found["unanswered"].append(str(question.id))
        reply = None
    views = None if row is None else _views(row.log)
    return Answer(question, None if reply is None else _text(reply), _steps(row, question, found), views)


def _is_text_or_number(reply: Any) -> bool:
    if isinstance(reply, float):
        return math.isfinite(reply)
    return isinstance(reply, str | int) and not isinstance(reply, bool)


def _text(reply: str | float) -> str:
    """A spreadsheet's 4.0 is the 4 that was written."""
    return unicode(int(reply) if isinstance(reply, float) and reply.is_integer() else reply)


def _steps(row: PredictionRow | None, question: Published, found: dict[str, list[str]]) -> FloatArray | None:
    if row is None or row.steps is None:
        return None
    if not (
        isinstance(row.steps, list)
        and len(row.steps) > 0
        and all(isinstance(pose, list) and len(pose) == 6 for pose in row.steps)
        and all(type(x) in {int, float} and math.isfinite(x) for pose in row.steps for x in pose)
    ):
        found["bad_steps"].append(str(question.id))
        return None
    return np.array(row.steps, dtype=np.float64)


def _views(log: Any) -> FloatArray | None:
    """Where an agent looked at each step (k, 3), of what it logged; None where that does not say it."""
    rows = log if isinstance(log, list) else []
    views = [[row.get(key) for key in ("yaw", "pitch", "zoom")] for row in rows if isinstance(row, dict)]
    numbers = all(isinstance(x, int | float) and math.isfinite(x) for view in views for x in view)
    return np.array(views, dtype=np.float64) if views and numbers and len(views) == len(rows) else None


class Split(NamedTuple):
    """One split of a release: its name, its table, and the release's blind table; None: it has none.

    ``full`` is the table of all questions, where the split is a part of them. Tables are named as `files_of` reads
    them: a table of several files by a pattern.
    """

    name: str
    questions: Path
    blind: Path | None
    full: Path | None = None

    def others(self) -> frozenset[str]:
        """Ids of the full split's questions, which a part of it may have replies to; none of a split that is whole."""
        if self.full is None:
            return frozenset()
        return _ids_in(files_of(self.full))

    def part_of(self, ids: Collection[str]) -> str | None:
        """The other part of the release that has questions of exactly these ids; None: there is none."""
        folder, wanted = self.questions.parent, set(ids)
        parts = ((name, released_files(folder, name)) for name in PART_SPLITS if name != self.name)
        return next((name for name, files in parts if files and _ids_in(files) == wanted), None)


def _ids_in(files: Sequence[Path]) -> frozenset[str]:
    key = pq.read_schema(files[0]).names[0]
    return frozenset(map(str, read_files(files, [key])[key].to_pylist()))


def split_of(release: Path, name: str | None = None) -> Split:
    """A split of a release, or its configuration for a frame budget; the full split where none is named.

    Raises ConfigError where the folder is no whole release of this version.
    """
    sums = sums_of(release)
    apart = {TWIN, MAPS}  # asked otherwise than the whole video
    names: defaultdict[str, list[str]] = defaultdict(list)
    for file in sums:
        own = file.partition("/")[0]
        if own == "data":
            names[Path(file).name.split("-0")[0]].append(file)
        elif own in apart or budget_of(own) is not None:
            names[own].append(file)
    full = [split for split, files in names.items() if split not in PART_SPLITS and files[0].startswith("data/")]
    chosen = name or (full[0] if full else next(iter(names), "") if len(names) == 1 else "")
    if chosen not in names:
        raise ConfigError(f"{release}: has no split {chosen!r}; there are {', '.join(sorted(names)) or 'none'}")
    # The blind table is about answers of the whole video.
    has_blind = WITHOUT_VIDEO in sums and chosen not in apart and budget_of(chosen) is None
    check_files(release, sums, [*names[chosen], *([WITHOUT_VIDEO] if has_blind else [])])
    for file in names[chosen]:
        check_version(release / file)
    whole = release / _pattern(names[full[0]]) if full and chosen in PART_SPLITS else None
    return Split(chosen, release / _pattern(names[chosen]), release / WITHOUT_VIDEO if has_blind else None, whole)


def _pattern(files: Sequence[str]) -> str:
    """The name of a table of one file or several, as `files_of` reads it."""
    return files[0] if len(files) == 1 else re.sub(r"-\d+-of-", "-*-of-", files[0])


_TABLE = TypeAdapter(list[TextOnly])


def best_priors(file: Path, split_is_debiased: bool) -> dict[str, float]:
    """Task -> what the best attacker earns on the split. Raises ConfigError for a file that is no such table."""
    try:
        rows = _TABLE.validate_python(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        problem = " ".join(str(error).split())[:200]
        raise ConfigError(f"{file}: cannot be read as a blind table: {problem}; build the release again") from error
    splits = {row.task: row.debiased if split_is_debiased else row.released for row in rows}
    return {task: max(found.earned.values()) for task, found in splits.items() if found and found.earned}


Beside = Literal["prior", "unseen", "people"]
_KEYS: Final[Mapping[Beside, tuple[str, str]]] = {
    "prior": ("best_prior", "above_prior"),
    "unseen": ("without_scene", "above_without_scene"),
    "people": ("people", "above_people"),
}


@dataclass(frozen=True)
class ScoreResults:
    """The results of scoring.

    Attributes:
        form: of the result files.
        answers: in the order of the questions.
        marks: of them.
        rows: every figure in every metric that was measured.
        found: what is unusual -> the ids that it holds for, or the reasons of unread replies.
        logged: columns of the questions that `table` repeats.
        comparisons: what stands beside each figure: what guessing earns, the same model's replies without the scene, or
            people's answers.
    """

    form: str
    answers: Sequence[Answer]
    marks: Scores
    rows: Sequence[ScoreRow]
    found: Mapping[str, Sequence[str]]
    logged: Sequence[str] = ()
    comparisons: Beside = "prior"

    @property
    def left_out(self) -> bool:
        """Whether something of the result files could not be used."""
        return bool(set(self.found) & {*LEFT_OUT, *self.marks.left_out})

    def figures(self) -> list[dict[str, Any]]:
        """One row per figure and metric."""
        return [
            {
                "metric": row.metric,
                "section": row.figure.section,
                "name": row.figure.name,
                "n": row.n,
                "value": row.value,
                "low": row.low,
                "high": row.high,
                "standard_deviation": row.deviation,
                _KEYS[self.comparisons][0]: row.prior,
                _KEYS[self.comparisons][1]: row.above,
            }
            for row in self.rows
        ]

    def summary(self) -> dict[str, Any]:
        """All of it but the single questions, for JSON."""
        return {
            "read_as": self.form,
            "questions": len(self.answers),
            "answered": sum(a.reply is not None for a in self.answers),
            "found": {name: list(ids) for name, ids in sorted(self.found.items())},
            "unread": dict(sorted(Counter(filter(None, self.unread())).items())),
            "notes": list(self.marks.notes),
            "interval": {"level": LEVEL, "samples": SAMPLES, "drawn": "scenes"},
            "figures": self.figures(),
        }

    def unread(self) -> list[str | None]:
        """Why there is no answer in a reply, of those that say something and lost marks by it."""
        earned = np.nan_to_num(np.stack([*self.marks.values.values()])).max(axis=0)
        every = zip(self.answers, self.marks.unread, earned, strict=True)
        return [None if a.reply is None or mark > 0 else why for a, why, mark in every]

    def table(self) -> pa.Table:
        """One row per question."""
        return pa.table(
            {
                "id": ids_of(self.answers),
                "scene": pa.array([a.question.scene_name for a in self.answers], pa.string()),
                "question_type": pa.array([a.question.question_type for a in self.answers], pa.string()),
                **{name: self._of_questions(name) for name in self.logged},
                "ground_truth": pa.array([a.question.ground_truth for a in self.answers], pa.string()),
                "reply": pa.array([a.reply for a in self.answers], pa.string()),
                "unread": pa.array(self.unread(), pa.string()),
                **{
                    name: pa.array(values, pa.float64(), from_pandas=True) for name, values in self.marks.values.items()
                },
                "judged": pa.array([self.marks.replies.get(str(a.question.id)) for a in self.answers], pa.string()),
            }
        )

    def _of_questions(self, name: str) -> pa.Array:
        """A column of the questions, as text."""
        values = [a.question.rest.get(name) for a in self.answers]
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def ids_of(answers: Sequence[Answer]) -> pa.Array:
    """As the questions have them: whole numbers where all are."""
    ids = [a.question.id for a in answers]
    is_whole = all(isinstance(i, int) for i in ids)
    return pa.array(ids, pa.int64()) if is_whole else pa.array(map(str, ids), pa.string())


def scored(
    score: Score[Any],
    questions: Path,
    predictions: Sequence[Path],
    settings: Model,
    ask: Ask | None = None,
    unseen: Sequence[Path] = (),
    people: Sequence[Path] = (),
    *,
    only_asked: bool = False,
    of: Split | None = None,
) -> ScoreResults:
    """The score of result files.

    Args:
        score: of the benchmark.
        questions: their file.
        predictions: files of one form.
        settings: of type ``score.settings``.
        ask: the judge, if there is one.
        unseen: result files of the same model that was not shown the scenes, of one form; each question's mark is then
            held against the one it earned here, not against the blind table.
        people: a result file of each person who was asked. Figures are then of the questions that one of them
            answered, and each question's mark is held against the mean of theirs.
        only_asked: whether questions that the files have no row of are left out: they were a sample.
        of: the split whose questions they are. Rows about the release's other questions are passed over, and files
            about those of another split alone are refused.

    Raises ConfigError for what cannot be read and for what does not belong together.
    """
    predicted = read_predictions(predictions)
    asked = [*score.read(questions), *score.also({row.id for row in predicted.rows if row.id is not None})]
    if only_asked:
        asked = _with_rows(asked, predicted)
    ids = {row.id for row in predicted.rows if row.id is not None}
    if of and ids and not ids.issuperset(str(question.id) for question in asked) and (name := of.part_of(ids)):
        files = ", ".join(map(str, predictions))
        raise ConfigError(f"{files}: its {len(ids):,} replies are to the split {name} alone; add --split {name}")
    elsewhere = of.others() if of else frozenset[str]()
    answers, found = answered(asked, predicted, questions, elsewhere)
    marks = score.mark(answers, settings, ask)
    figures = score.figures(answers)
    scenes = [f"{question.dataset}/{question.scene_name}" for question in asked]
    beside: Beside = "unseen" if unseen else "people" if people else "prior"
    values: Mapping[str, FloatArray] = marks.values
    held: Mapping[str, FloatArray] | None = None
    if unseen:
        without, _ = answered(asked, read_predictions(unseen), questions, elsewhere)
        held = score.mark(without, settings, ask).values
    elif people:
        theirs = [answered(asked, read_predictions([file]), questions, elsewhere)[0] for file in people]
        held = _mean_of([score.mark(own, settings, ask).values for own in theirs], theirs)
        values = {name: np.where(np.isnan(held[name]), np.nan, own) for name, own in values.items()}
    priors: FloatArray | None = None
    if of and of.blind and held is None:
        best = best_priors(of.blind, of.name == DEBIASED)
        priors = np.array([best.get(question.question_type, np.nan) for question in asked])
    rows = []
    for name, metric in score.metrics.items():
        reported = [f for f in figures if not metric.sections or f.section in metric.sections]
        composite = score.composites.get(name)
        if composite is not None:
            parts = [sampled(reported, values[part], scenes, score.metrics[part].statistic) for part in composite.parts]
            if reported and not all(np.isnan(values[part]).all() for part in composite.parts):
                rows += composed(reported, name, parts, composite.formula)
        elif reported and not np.isnan(values[name]).all():
            own = held[name] if held else priors if metric.is_guessed else None
            rows += rows_of(reported, name, values[name], scenes, own, metric.statistic)
    return ScoreResults(predicted.form, answers, marks, rows, {**found, **marks.left_out}, score.logged, beside)


def scored_people(score: Score[Any], questions: Path, people: Sequence[Path], settings: Model) -> ScoreResults:
    """What people earned in the mean, each on the questions that they answered; a result file of each."""
    asked = score.read(questions)
    every = [answered(asked, read_predictions([file]), questions)[0] for file in people]
    marks = [score.mark(own, settings, None) for own in every]
    held = _mean_of([own.values for own in marks], every)
    answers = [next((a for a in own if a.reply is not None), own[0]) for own in zip(*every, strict=True)]
    figures, scenes = score.figures(answers), [f"{question.dataset}/{question.scene_name}" for question in asked]
    rows = [
        row
        for name, metric in score.metrics.items()
        if name in held and not np.isnan(held[name]).all()
        for row in rows_of(figures, name, held[name], scenes, statistic=metric.statistic)
    ]
    return ScoreResults(PLAIN, answers, replace(marks[0], values=held), rows, {})


def _with_rows(questions: Sequence[Published], predictions: Predictions) -> list[Published]:
    ids, places = {row.id for row in predictions.rows}, {row.place for row in predictions.rows}
    return [q for place, q in enumerate(questions) if str(q.id) in ids or place in places]


def _mean_of(marks: Sequence[Mapping[str, FloatArray]], answers: Sequence[Sequence[Answer]]) -> dict[str, FloatArray]:
    """Metric -> (n,) mean mark of those who answered each question; NaN where nobody did."""
    is_answered = np.array([[answer.reply is not None for answer in own] for own in answers])
    means = {}
    for name in marks[0]:
        own = np.stack([mark[name] for mark in marks])
        there = is_answered & ~np.isnan(own)
        n, total = there.sum(axis=0), np.where(there, own, 0.0).sum(axis=0)
        means[name] = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
    return means
