"""Embodied4C's score: eq. 1-9, per sub-benchmark, capability and sub-capability, and of the domain-far questions.

Marks go from 0 to 100: eq. 2 for numbers, and for words the score that a model gives against the reference (eq. 1,
section 3.4.1), or a match where there is no judge. The judge's prompt is that of table 5, but that the
score is asked for as JSON, and that it names the other accepted answers.

The paper contradicts itself. Eq. 2 gives 100 (1 - |a' - a| / (0.01 |a|)), at least 0; the judge's code (table 6) has
0.1 a for 0.01 |a|, and takes the reply's absolute value, so that signs are lost and a negative truth never matches.
Here the share is `tolerance` (0.1 unless said otherwise; 0.01 is eq. 2) and signs count; ``as_judge`` is table 6 to the
letter. A truth of 0 has no relative deviation: as in table 6, 0 earns 100 and all else nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import Field

from pipeline.benchmarks.embodied4c.columns import COLUMNS
from pipeline.benchmarks.embodied4c.rules import CAPABILITY, CONDITIONS, DOMAINS, GEN, SCORES_OF, SUBS, VLN
from pipeline.benchmarks.embodied4c.vln.specification import specifications
from pipeline.core.arrays import FloatArray
from pipeline.core.groups import grouped
from pipeline.core.schema import Model
from pipeline.llm.base import ModelSpec
from pipeline.metrics.numbers import Unit, find_number
from pipeline.metrics.words import is_stated
from pipeline.questions.harness import Harness, Marking
from pipeline.questions.published import Published, read_of_benchmark
from pipeline.questions.scoring_protocol import (
    TOO_LONG,
    Answer,
    Ask,
    Figure,
    Judge,
    Metric,
    Score,
    Scores,
    is_too_long,
    unmeasured,
)

FULL: Final = 100.0
JUDGE_SHARE: Final = 0.1  # of the truth, in the code of table 6
_UNITS: Final[Mapping[str, Unit]] = {
    "m": Unit("length", Decimal(1)),
    "cm": Unit("length", Decimal("0.01")),
    "s": Unit("time", Decimal(1)),
    "°": Unit("angle", Decimal(1)),
}


class ReplyPoints(NamedTuple):
    """Points of one reply, and why nothing was found in it; None: something was."""

    points: float
    unread: str | None


def numeric(
    reply: str | None, truth: float, unit: str | None, tolerance: float, *, as_judge: bool = False
) -> ReplyPoints:
    """Eq. 2, or with ``as_judge`` the code of table 6. A reply without a number earns 0 (table 6)."""
    if reply is None:
        return ReplyPoints(0.0, None)
    number, why = find_number(reply, _UNITS.get(unit or ""))
    if number is None:
        return ReplyPoints(0.0, why)
    value = float(number)
    return ReplyPoints(as_table_6(value, truth) if as_judge else relative(value, truth, tolerance), None)


def relative(replied: float, truth: float, tolerance: float) -> float:
    """Eq. 2: 100 where a number is the truth, falling to 0 where it is off by ``tolerance`` times the truth."""
    if truth == 0:
        return FULL if replied == 0 else 0.0
    return max(0.0, FULL * (1 - abs(replied - truth) / (tolerance * abs(truth))))


def as_table_6(replied: float, truth: float) -> float:
    """The judge's `numeric_score`, to the letter."""
    replied = abs(replied)
    if truth == 0:
        return FULL if replied == 0 else 0.0
    if (1 - JUDGE_SHARE) * truth <= replied <= (1 + JUDGE_SHARE) * truth:
        return FULL * (1 - abs(replied - truth) / (JUDGE_SHARE * truth))
    return 0.0


def matched(reply: str | None, forms: Iterable[str]) -> float:
    """100 where a reply states one of the accepted forms (`is_stated`)."""
    return FULL if reply is not None and is_stated(reply, forms) else 0.0


def forms_of(row: Mapping[str, Any], truth: str) -> tuple[str, ...]:
    """The canonical answer of a released row and what else is accepted for it."""
    accepted = row.get("accepted")
    return (truth, *map(str, accepted if isinstance(accepted, list) else ()))


def _accepted(question: Published) -> dict[str, Any]:
    return {"accepted": list(forms_of(question.rest, question.ground_truth)[1:])}


JUDGE: Final = Judge("judge_embodied4c", "score", "number", 0, 100, _accepted)
JUDGED, MATCH, NUMERIC = "judged", "match", "numeric"
NOT_JUDGED, NO_TRIAL, BAD_TRIAL = "not_judged", "no_trial", "bad_trial"
METRICS: Final = {
    JUDGED: Metric("judged (0-100)", 2, highest=100.0),
    MATCH: Metric("match (0-100)", 2, highest=100.0),
    NUMERIC: Metric("numbers alone (0-100)", 2, is_minor=True),
}
LOGGED: Final = (
    "domain",
    "sensors",
    *CONDITIONS,
    "modality",
    "capability",
    "sub_capability",
    "unit",
    "from_s",
    "until_s",
)
TOTAL: Final = "E4C-S"


class ExamScoreSettings(Model):
    """Settings of the score."""

    tolerance: float = Field(
        default=0.10, gt=0, description="of the truth, where a number earns nothing: eq. 2 has 0.01"
    )
    as_judge: bool = Field(
        default=False, description="numbers by the code of table 6, signs lost; no tolerance is used"
    )
    judge: ModelSpec | None = Field(default=None, description="null: words earn by `match` alone")


def trials(ids: Collection[str]) -> list[Published]:
    """The VLN tasks of every sub-benchmark of which some are among the ids that were answered."""
    tasks = specifications()
    tried = {tasks[i].domain for i in ids if i in tasks}
    return [
        Published(
            id=task.id,
            dataset=VLN,
            scene_name=task.id,
            question_type=VLN,
            question=task.name,  # what it varies in was drawn by the seed of the trial
            options=None,
            ground_truth=str(int(FULL)),
            rest={"domain": task.domain, "capability": VLN, "sub_capability": VLN, "value": FULL},
        )
        for task in tasks.values()
        if task.domain in tried
    ]


def mark(answers: Sequence[Answer], settings: ExamScoreSettings, ask: Ask | None = None) -> Scores:
    """Marks of all metrics, 0 to 100; those that are not measured are NaN."""
    values: dict[str, FloatArray] = {name: unmeasured(len(answers)) for name in METRICS}
    unread: list[str | None] = [None] * len(answers)
    left_out: dict[str, list[str]] = {}
    worded = []
    for n, answer in enumerate(answers):
        reply = None if is_too_long(answer.reply) else answer.reply
        if answer.question.question_type == VLN:
            values[MATCH][n], wrong = _trial(reply)
            if wrong:
                left_out.setdefault(wrong, []).append(str(answer.question.id))
        elif (truth := answer.question.rest.get("value")) is not None:
            unit = answer.question.rest.get("unit")
            found = numeric(reply, float(truth), unit, settings.tolerance, as_judge=settings.as_judge)
            values[MATCH][n] = values[NUMERIC][n] = found.points
            unread[n] = found.unread
        else:
            values[MATCH][n] = matched(reply, forms_of(answer.question.rest, answer.question.ground_truth))
            worded.append(n)
        if is_too_long(answer.reply):
            unread[n] = TOO_LONG
    notes, words = [], dict[str, str]()
    if ask is None:
        notes.append(
            "eq. 1 needs a judge: --set judge.provider=… --set judge.model=…; `match` is not the paper's score."
        )
    else:
        values[JUDGED] = values[MATCH].copy()
        values[JUDGED][worded], words, failed = JUDGE.judged([answers[n] for n in worded], ask)
        if failed:
            left_out[NOT_JUDGED] = failed
    if settings.as_judge:
        notes.append("Numbers as table 6 has them: 10% of the truth, signs lost, a negative truth never met.")
    else:
        notes.append(f"Numbers by eq. 2 with a tolerance of {settings.tolerance:g} of the truth.")
    notes += [note for name in (JUDGED, MATCH) if (note := _variation(answers, name, values[name]))]
    return Scores(values, unread, left_out, notes, words)


def _trial(reply: str | None) -> tuple[float, str | None]:
    """Points of a trial, as `scan2qa vln check` writes them; 0 for a task without a trial."""
    if reply is None:
        return 0.0, NO_TRIAL
    found = find_number(reply).value
    return (float(found), None) if found is not None and 0 <= found <= FULL else (0.0, BAD_TRIAL)


def _variation(answers: Sequence[Answer], metric: str, marks: FloatArray) -> str | None:
    """Eq. 10 over the sub-capabilities that were asked, GEN included: mean, standard deviation (of all, n) and CV."""
    subs = np.array([a.question.question_type for a in answers])
    means = np.array([marks[subs == sub].mean() for sub in dict.fromkeys(subs) if sub != VLN])
    means = means[~np.isnan(means)]
    if len(means) < 2 or not means.mean():
        return None
    mean, spread = float(means.mean()), float(means.std())
    return (
        f"{METRICS[metric].title} over {len(means)} sub-capabilities: mean {mean:.1f}, "
        f"standard deviation {spread:.1f}, least {means.min():.1f}, most {means.max():.1f}, "
        f"CV {100 * spread / mean:.1f}%, {(means > 0).sum()} above 0."
    )


def figures(answers: Sequence[Answer]) -> list[Figure]:
    """Per sub-benchmark capabilities (eq. 3), VQA (4), VLN (7), S_b (8); E4C-S (9); sub-capabilities; GEN; conditions.

    A mean of parts is told where all of its parts were measured: S_b needs all four capabilities and the VLN trials.
    """
    found: dict[tuple[str, str], list[int]] = {}
    for n, answer in enumerate(answers):
        domain, sub = str(answer.question.rest.get("domain")), answer.question.question_type
        for name in (CAPABILITY.get(sub, sub), sub):
            own = found.setdefault((domain, name), [])
            if n not in own[-1:]:
                own.append(n)
    rows: list[Figure] = []
    totals = []
    for domain in DOMAINS:
        if not any(key[0] == domain for key in found):
            continue
        parts = {name: f"{domain} {name}" for name in (*SUBS, VLN)}
        rows += [Figure(parts[k], "capability", tuple(found[domain, k])) for k in parts if (domain, k) in found]
        there = {row.name for row in rows}
        if all(parts[name] in there for name in SUBS):
            rows.append(Figure(f"{domain} VQA", "capability", parts=tuple(parts[name] for name in SUBS)))
            if parts[VLN] in there:
                name = SCORES_OF[domain]
                rows.append(Figure(name, "capability", parts=(f"{domain} VQA", parts[VLN])))
                totals.append(name)
    for sub, capability in CAPABILITY.items():
        members = tuple(n for domain in DOMAINS for n in found.get((domain, sub), []))
        if members and capability != VLN:
            rows.append(Figure(GEN if sub == GEN else f"{capability} {sub}", "sub-capability", members))
    asked = tuple(n for n, a in enumerate(answers) if a.question.question_type not in (VLN, GEN))
    rows += _by_condition(answers, asked)
    if asked:
        rows.append(Figure("all questions but GEN", members=asked))
    if len(totals) == len(DOMAINS):
        rows.append(Figure(TOTAL, parts=tuple(totals)))
    return rows


def _by_condition(answers: Sequence[Answer], asked: Sequence[int]) -> Iterator[Figure]:
    """For each condition that some logs state one figure of each of its values, and one of the logs that do not."""
    for condition in CONDITIONS:
        stated = {n: str(answers[n].question.rest.get(condition) or "not stated") for n in asked}
        under = grouped(asked, stated.__getitem__)
        if set(under) - {"not stated"}:
            title = condition.replace("_", " ")
            yield from (Figure(f"{title}: {name}", title, tuple(own)) for name, own in sorted(under.items()))


SCORE: Final = Score[ExamScoreSettings](
    read=partial(read_of_benchmark, columns=COLUMNS),
    metrics=METRICS,
    settings=ExamScoreSettings,
    mark=mark,
    figures=figures,
    also=trials,
    logged=LOGGED,
    unusual={
        NOT_JUDGED: "the judge gave no mark: in no mean; score again, what was judged is kept",
        NO_TRIAL: "of its sub-benchmark other VLN tasks were tried: this one earns 0",
        BAD_TRIAL: "no number from 0 to 100: it earns 0; give what scan2qa vln check wrote",
    },
)


def _marking(question: Published, split: str) -> Marking:
    is_number = question.rest.get("value") is not None
    return Marking("number" if is_number else "words", tuple(_accepted(question)["accepted"]))


HARNESS: Final = Harness(_marking)
