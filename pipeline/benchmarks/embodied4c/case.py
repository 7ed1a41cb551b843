"""A case of the exam: what it carries, its wording and answer, what its answer needs, and the video that goes with it.

A video's length must not tell how far the log has got, which much else goes with: what only asks about now has one of
one length, and so has what asks about the last seconds. What asks about all that came before has all of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.kinds import ACCEPTED, flag
from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.core.identity import rng_for
from pipeline.core.schema import Finding, Rejection
from pipeline.core.templates import load_table, load_template
from pipeline.questions.cases import Case

FOLDER: Final = "embodied4c/parts/"


class KindWording(NamedTuple):
    """One kind of wording, as `templates/tables/embodied4c/kinds.yaml` has it.

    Attributes:
        task: that uses it.
        video: the rule (`ExamRules`) that says how long its video is; None: it begins with the log.
        facts: what of the log as a whole its answer needs (of `ALL`), beside the place of our car at its time.
        usual: answers that nearly every log has -> how many times less often they are asked.
        open: whether its answers name things of their log, so that none is known from other logs.
    """

    task: str
    video: str | None = None
    facts: tuple[str, ...] = ()
    usual: Mapping[str, int] = MappingProxyType({})
    open: bool = False


WORDINGS: Final = {
    kind: KindWording(task, **fields)
    for task, kinds in load_table("embodied4c/kinds").items()
    for kind, fields in kinds.items()
}


def part(kind: str) -> str:
    """The template of a kind."""
    return FOLDER + kind


def _worded(kind: str, identity: tuple[str, ...], fields: Mapping[str, str]) -> str:
    """A question in one of its wordings, which ``identity`` draws."""
    template = load_template(part(kind))
    wordings = (template.text, *template.also_parsed)
    chosen = wordings[int(rng_for("wording", kind, *identity).integers(len(wordings)))]
    text = chosen.format_map(fields)
    return text[:1].upper() + text[1:]


class ExamCase(Case):
    """One candidate question.

    Attributes:
        traits: words that questions about other logs have too, as the kind of a thing or a side: by each of them alone
            no answer may be more likely than another (`even.make_even`).
        guess: what has to be guessed, where that is not the answer itself: on which side the larger thing is; the
            speed, where the seconds that it lasts are told.
    """

    traits: tuple[str, ...] = ()
    guess: str | None = None

    @property
    def guessed(self) -> str:
        """What has to be guessed."""
        return self.guess if self.guess is not None else self.answer or ""


LOG: Final = "log"  # subject of findings about all of a log
THINGS, CLOCK, WAY = ALL = ("things", "clock", "way")
# A finding about the log -> what is no longer sure: which things there were, when it was, or how we moved without a
# break. One that is not here shakes all three.
SHAKEN: Final[dict[str, frozenset[str]]] = {
    "bad_line": frozenset({THINGS}),
    "damaged_packet": frozenset({THINGS, CLOCK, WAY}),
    "no_ego_pose": frozenset({WAY}),
    "unusable_pose": frozenset({WAY}),
    "times_run_backwards": frozenset({CLOCK, WAY}),
    "times_assumed": frozenset({CLOCK}),
    "rows_missing": frozenset({CLOCK, WAY}),
}


def about_log(findings: Iterable[Finding]) -> list[Finding]:
    """The doubts about all of a log."""
    return [one for one in findings if one.severity == "doubt" and one.subject == LOG and one.stretches is None]


CUT_S: Final = 0.5  # videos begin at multiples of this (`VideoSpec.cut_s`)


def _from_s(kind: str, until_s: float, rules: ExamRules, seconds: str | None) -> float | None:
    """Where the video of a question begins, which may say how many ``seconds`` it is about; None: with the log."""
    rule = WORDINGS[kind].video
    told = seconds or (getattr(rules, rule) if rule else None)
    return None if told is None else max(0.0, round((until_s - float(told)) / CUT_S) * CUT_S)


class Exam(Protocol):
    """What the logs of all embodiments share, as tasks see them.

    Attributes:
        domain: the embodiment.
        scene: with its id.
        rules: of the benchmark.
        flags: what each question carries.
        log_doubts: about the log as a whole.
    """

    domain: str
    scene: Any
    rules: ExamRules
    flags: list[str]
    log_doubts: list[Finding]

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""
        ...


def pose(view: Exam, kind: str, t_s: float, operands: Iterable[str], fields: Mapping[str, str]) -> ExamCase:
    """A case of a kind at a time of the log, refused where a doubt about the log shakes what its answer needs."""
    identity = (kind, f"{t_s:.2f}", *operands)
    text = _worded(kind, (view.scene.id, *identity), fields)
    begins_s = _from_s(kind, t_s, view.rules, fields.get("seconds"))
    one = ExamCase(*identity, until_s=round(t_s, 3), from_s=begins_s, wording=text)
    one.flags = list(view.flags)
    for found in view.log_doubts:
        if SHAKEN.get(found.name, frozenset(ALL)) & set(WORDINGS[kind].facts):
            one.refuse(found.name, found.measured, found.limit, found.unit)
    return one


def number(one: ExamCase, value: float, unit: str, decimals: int) -> ExamCase:
    """The case with a number as its answer, as exactly as it was measured in its evidence."""
    text = f"{value:.{decimals}f}" if np.isfinite(value) else ""
    one.require("not_measured", float(np.isfinite(value)), ">=", 1, "numbers")
    if text:
        one.fact(VALUE, "rounded to " + ("units" if decimals == 0 else f"{decimals} decimal"), value, unit)
        one.require("rounds_to_0", float(text), ">", 0, unit)
    return one.ask(text, (), least=0)


def steady_speed(one: ExamCase, speed: float, short: float, most: float) -> None:
    """That a speed measured over half the time is nearly the same: else it changes too abruptly to have one."""
    one.require("speed_jumps", abs(short / speed - 1) if speed > 0 else np.nan, "<=", most, "share")


def words(one: ExamCase, answer: str, others: Iterable[str], accepted: Iterable[str] = ()) -> ExamCase:
    """The case with a few words as its answer, what else it might have been, and other right ways to say it."""
    one.flags += [flag(ACCEPTED, form) for form in accepted]
    return one.ask(answer, others, least=1)


def is_larger(
    one: ExamCase,
    quantity: str,
    names: Sequence[str],
    sizes_m: tuple[float, float],
    least: float,
    unit: str = "m",
    per_m: float = 1.0,
) -> bool:
    """Whether the first of two things is the larger. Sizes become facts; their ratio is to be at least ``least``."""
    a, b = sizes_m
    one.fact(quantity, names[0], a * per_m, unit)
    one.fact(quantity, names[1], b * per_m, unit)
    one.require("sizes_alike", max(a / b, b / a) if min(a, b) > 0 else np.nan, ">=", least, "ratio")
    return a > b


def ranked(one: ExamCase, names: Sequence[str], order: Sequence[str], spoken: Iterable[str] | None = None) -> ExamCase:
    """The case with an order of the named things as its answer; ``spoken``: their names in the other right form."""
    others = [", ".join(some) for some in permutations(names)]
    accepted = ", ".join([name.removeprefix("the ") for name in order] if spoken is None else spoken)
    return words(one, ", ".join(order), others, (accepted,))
