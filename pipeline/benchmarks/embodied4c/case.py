"""A case of the exam: what it carries, its wording and answer, what its answer needs, and the video that goes with it.

A video's length must not tell how far the log has got, which much else goes with: what only asks about now has one of
one length, and so has what asks about the last seconds. What asks about all that came before has all of it.

The answers of one kind of question in one log are made even: a guesser who goes by a question's words earns little.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import permutations
from operator import eq
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import numpy as np

from pipeline.benchmarks.embodied4c.columns import VALUE
from pipeline.benchmarks.embodied4c.rules import (
    ACCEPTED,
    CONDITIONS,
    DOMAIN,
    DRAWN,
    MODALITY,
    RGB,
    SENSORS,
    SETUP,
    SETUPS,
    ExamRules,
    LogConditions,
    flag,
)
from pipeline.core.errors import ConfigError
from pipeline.core.groups import grouped
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import AnyScene, Finding, Rejection
from pipeline.core.templates import load_table, load_template
from pipeline.questions.cases import Case
from pipeline.questions.choices import stepped
from pipeline.questions.gate import MOST, ShownScene
from pipeline.questions.rules import Measure, Relation, rule
from pipeline.questions.selection import SAME_FACT, TOLD_MAX

FOLDER: Final = "embodied4c/parts/"


class KindWording(NamedTuple):
    """One kind of wording, as `templates/tables/embodied4c/kinds.yaml` has it.

    Attributes:
        task: that uses it.
        reads: the quantity that whoever answers reads (`gate.ShownScene.readable`).
        step: of a number, the finest that it is asked for; None: it is in words, or a count of what is read in steps.
        fact: the number or state that its answer follows from, with those of other kinds; "": its own.
        video: the rule (`ExamRules`) that says how long its video is; None: it begins with the log.
        facts: what of the log as a whole its answer needs (of `ALL`), beside the place of our car at its time.
        usual: answers that nearly every log has -> how many times less often they are asked.
        open: whether its answers name things of their log, so that none is known from other logs.
        options_are_present: whether its options are what is there, others in each question, so that each is right as
            often as by lot.
    """

    task: str
    reads: str
    step: float | None = None
    fact: str = ""
    video: str | None = None
    facts: tuple[str, ...] = ()
    usual: Mapping[str, int] = MappingProxyType({})
    open: bool = False
    options_are_present: bool = False


WORDINGS: Final = {
    kind: KindWording(task, **fields)
    for task, kinds in load_table("embodied4c/kinds").items()
    for kind, fields in kinds.items()
}


# Kind -> its answers, and other right ways to say each of them; of kinds whose answers are those of their log none.
ANSWERS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = load_table("embodied4c/answers")


def part(kind: str) -> str:
    """The template of a kind."""
    return FOLDER + kind


class ExamCase(Case):
    """One candidate question.

    Attributes:
        traits: words that questions about other logs have too, as the kind of a thing or a side: by each of them alone
            no answer may be more likely than another (`make_even`).
        guess: what has to be guessed, where that is not the answer itself: how far the landmark is that is reached.
        quantity: what has to be read to answer it.
        step: to which its number is asked; None: it is in words.
        base: the number that its answer follows from, where that is not the answer: the speed, of a way to stop.
        facts: that its answer follows from, where these are not one number or state at its time.
        compared: of two things, or sides of our car, of which one is the answer, that one and the other.
        whose: the thing that a fact "… of" is of, whatever it is called.
        goes_last: whether others of its kind are taken before it: it is about what something lies on, which has the
            same place, and would take the answer away from that oftener than from other things.
    """

    traits: tuple[str, ...] = ()
    guess: str | None = None
    compared: tuple[str, str] | None = None
    quantity: str = ""
    step: float | None = None
    base: float | None = None
    facts: tuple[str, ...] = ()
    whose: str = ""
    goes_last: bool = False

    @property
    def guessed(self) -> str:
        """The value that a guesser has to find."""
        return self.guess if self.guess is not None else self.answer or ""

    def measured(self, measure: Measure) -> None:
        """As of any case; a number that the log does not tell is not held against a limit."""
        unknown = math.isnan(measure.value) and not measure.holds
        super().measured(rule("not_measured", 0.0, ">=", 1, "numbers") if unknown else measure)


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
# Doubts with which nothing of a log holds, not even what is where at one time.
WHOLLY: Final = frozenset(
    {"commanded_columns", "film_at_other_times", "gripper_off_joints", "moves_alone", "works_aside"}
)


def about_log(findings: Iterable[Finding]) -> list[Finding]:
    """The doubts about all of a log."""
    return [one for one in findings if one.severity == "doubt" and one.subject == LOG and one.stretches is None]


def stated_of(scene: AnyScene, rules: ExamRules) -> LogConditions:
    """The conditions that people state of a log."""
    return rules.conditions.get(scene.id) or rules.conditions.get(scene.name) or LogConditions()


def log_flags(
    domain: str, scene: AnyScene, rules: ExamRules, drawable: bool, camera: str | None, setup: str | None = None
) -> list[str]:
    """What each question about a log carries.

    Args:
        domain: the embodiment.
        scene: the log.
        rules: with the conditions of logs.
        drawable: whether a film can be drawn of it (stage `bev_video`) where none was taken.
        camera: of its film; None: it has no name.
        setup: the sensor setup that the log itself tells.

    Raises ConfigError where its sensor setup is stated and is of another embodiment, or not the one that the log tells.
    """
    filmed = scene.video is not None
    stated = stated_of(scene, rules)
    flags = stated.model_dump() | {SETUP: stated.sensor_setup or setup}
    if flags[SETUP] not in (None, setup) and (setup is not None or flags[SETUP] not in SETUPS[domain]):
        known = f"it is of {setup}" if setup else f"the setups of {domain} are {', '.join(SETUPS[domain])}"
        raise ConfigError(f"rules.conditions: {scene.id} cannot be of sensor setup {flags[SETUP]!r}: {known}")
    return [
        flag(DOMAIN, domain),
        *([flag(SENSORS, camera or "camera")] if filmed else []),
        *(flag(name, flags[name]) for name in CONDITIONS if flags[name] is not None),
        flag(MODALITY, RGB if filmed else DRAWN if drawable else "state"),
    ]


CUT_S: Final = 0.5  # videos begin at multiples of this (`VideoSpec.cut_s`)


def begins_s(kind: str, until_s: float, rules: ExamRules, seconds: str | None = None) -> float | None:
    """Where the video of a question begins, which may say how many ``seconds`` it is about; None: with the log."""
    rule = None if seconds else WORDINGS[kind].video
    chosen_s = seconds or (getattr(rules, rule) if rule else None)
    return None if chosen_s is None else max(0.0, round((until_s - float(chosen_s)) / CUT_S) * CUT_S)


class Exam(Protocol):
    """The common part of the logs of all embodiments, as tasks see them.

    Attributes:
        domain: the embodiment.
        scene: with its id.
        rules: of the benchmark.
        flags: what each question carries.
        log_doubts: about the log as a whole.
        asked_facts: facts that questions ask for.
    """

    domain: str
    scene: Any
    rules: ExamRules
    flags: list[str]
    log_doubts: list[Finding]
    asked_facts: ToldFacts

    @property
    def shown(self) -> ShownScene:
        """What whoever answers is shown of it."""

    @property
    def asked_s(self) -> Sequence[float]:
        """The times at which questions stand."""

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""


def pose(view: Exam, kind: str, t_s: float, operands: Iterable[str], fields: Mapping[str, str]) -> ExamCase:
    """A case of a kind at a time of the log, refused where a doubt about the log shakes what its answer needs."""
    identity = (kind, f"{t_s:.2f}", *operands)
    wording = WORDINGS[kind]
    step = None if wording.step is None else view.shown.step(wording.reads, wording.step)
    template = load_template(part(kind))
    wordings = (template.text, *template.also_parsed)
    chosen = wordings[int(rng_for("wording", kind, view.scene.id, *identity).integers(len(wordings)))]
    text = chosen.format_map({"precise": precise(step), **fields})
    text = text[:1].upper() + text[1:]
    from_s = begins_s(kind, t_s, view.rules, fields.get("seconds"))
    one = ExamCase(*identity, until_s=round(t_s, 3), from_s=from_s, wording=text)
    one.quantity, one.step = wording.reads, step
    one.flags = list(view.flags)
    for found in view.log_doubts:
        if found.name in WHOLLY or SHAKEN.get(found.name, frozenset(ALL)) & set(WORDINGS[kind].facts):
            one.refuse(found.name, found.measured, found.limit, found.unit)
    return one


_PRECISE: Final = {0.01: "to two decimals", 0.1: "to one decimal", 1.0: "to the nearest whole number"}


def precise(step: float | None) -> str:
    """How exactly a number is asked for, in words."""
    return "" if step is None else _PRECISE.get(step, f"to the nearest multiple of {step:g}")


def number(one: ExamCase, value: float, unit: str, most: float | None = None) -> ExamCase:
    """The case with a number as its answer, to the step in which it is asked; as it was measured in its evidence.

    ``most``: the largest number that is possible, as anybody knows, so that none beyond it is offered to who guesses.
    """
    step = one.step or 1.0
    text = stepped(value, step) if np.isfinite(value) else ""
    one.require("not_measured", float(np.isfinite(value)), ">=", 1, "numbers")
    if text:
        one.base = value if one.base is None and unit else one.base
        one.reads(one.quantity, one.step, value if unit else None)
        one.fact(VALUE, f"rounded {precise(step).removeprefix('to ')}", value, unit)
        if most is not None:
            one.fact(MOST, "anybody knows", max(most, float(text)), unit)
        one.require("rounds_to_0", float(text), ">", 0, unit)
    return one.ask(text, (), least=0)


PART: Final = "part "
LOG_PARTS: Final = 3  # within each of which answers are even that go with how far the log has got


def part_of_log(index: int, count: int) -> str:
    """In which of them one of the log's times is, as a trait: at first most accelerate, or close a gripper."""
    return f"{PART}{index * LOG_PARTS // count}"


def steady_speed(one: ExamCase, speed: float, shown: float, most: float) -> None:
    """That a speed of what the video shows up to its end is nearly the same: else it changes too abruptly to read."""
    one.require("speed_jumps", abs(shown / speed - 1) if speed > 0 else np.nan, "<=", most, "share")


def common(rate: float, shown: float) -> float:
    """How fast something changes both around a time and in what the video shows before it; below 0: it does not."""
    return min(abs(rate), shown if rate > 0 else -shown)


def words(one: ExamCase, answer: str, others: Iterable[str], accepted: Iterable[str] = ()) -> ExamCase:
    """The case with a few words as its answer, what else it might have been, and other right ways to say it."""
    one.flags += [flag(ACCEPTED, form) for form in accepted]
    one.reads(one.quantity)
    return one.ask(answer, others, least=1)


def choose(one: ExamCase, answer: str | int) -> ExamCase:
    """The case with one of the answers that its kind has (`ANSWERS`), by its words or its place among them."""
    every = ANSWERS[one.operands[0]]
    name = answer if isinstance(answer, str) else list(every)[answer]
    return words(one, name, every, every[name])


def sector(angle_deg: float, count: int) -> tuple[int, float]:
    """Which of ``count`` equal sectors an angle lies in, the first around 0, and the degrees to the sector's border.

    An angle that is not known lies in the first; its degrees are NaN.
    """
    width = 360 / count
    n = int((angle_deg + width / 2) // width) % count if np.isfinite(angle_deg) else 0
    return n, width / 2 - abs((angle_deg + width / 2) % width - width / 2)


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


ONCE_IN_S: Final = 30.0  # a kind asks about a state or number that others tell, too
NEIGHBOURS_S: Final = 10.0  # times within which one number or state is one fact, and goes on to be it
AT_ONCE_S: Final = 1.0  # times within which kinds of one fact tell of the same
ALIKE: Final = 1 / 3  # share of the larger by which two numbers differ that are one fact


T = TypeVar("T")


class ToldFacts:
    """The facts that questions about a log ask for, each with its first and last time and what told of it first."""

    def __init__(self) -> None:
        self._found: defaultdict[str, list[tuple[float, float, Any]]] = defaultdict(list)

    def of(self, case: ExamCase) -> tuple[str, ...]:
        """The fact that a case asks for, a new one where none before is the same, and that of its kind and time.

        How often, and when, a kind asks about a state or speed tells its answers: these are even within a log.
        """
        kind, t_s, *about = case.operands
        fact = WORDINGS[kind].fact
        whose = "" if fact and not fact.endswith(" of") else " ".join(about[:1] if fact else about)
        of = case.whose if fact.endswith(" of") and case.whose else whose
        lasting = self.lasting(f"{fact or kind} {of}".rstrip(), float(t_s), case, _same)
        part = f"{ONCE_IN_S:g} s, part {float(t_s) // ONCE_IN_S:g}: {kind} {whose}".rstrip()
        return (lasting, part) if fact else (lasting,)

    def lasting(self, name: str, second: float, state: T, same: Callable[[T, T], bool] = eq) -> str:
        """The name of a fact at a time: a state or number that lasts is one fact for as long as it does."""
        known = self._found[name]
        for number, (first_s, last_s, other) in enumerate(known):
            if max(first_s - second, second - last_s) <= NEIGHBOURS_S and same(state, other):
                known[number] = (min(first_s, second), max(last_s, second), other)
                return f"{name} {number}"
        known.append((second, second, state))
        return f"{name} {len(known) - 1}"


def _same(one: ExamCase, other: ExamCase) -> bool:
    """Whether two cases of one family, at times near to one another, ask for the same."""
    if one.operands[0] != other.operands[0] and abs(float(one.operands[1]) - float(other.operands[1])) <= AT_ONCE_S:
        return True  # also of numbers that differ: that both are asked would tell so
    if one.base is not None and other.base is not None:
        return abs(one.base - other.base) <= ALIKE * max(abs(one.base), abs(other.base))
    return one.answer == other.answer


_ALL: Final = ""  # the trait of every case
ENOUGH: Final = 60  # measured numbers of a kind that stay, where there are so many
# Kinds that count things: each question has so many choices, of which one is common to all. Whoever knows the others,
# as that those of "motor vehicles" are more, is right no more often than who always says that one.
COUNTED: Final = frozenset({"ct_near", "ct_ahead", "lm_seen"})
COUNT_CHOICES: Final = 4
COMMON_COUNT: Final = 4
STEP: Final = math.log(1.25)  # numbers within a quarter of one another are guessed alike


def make_even(cases: Iterable[ExamCase], purpose: str, *, measured: bool) -> None:
    """Refuses, for each kind (a case's first operand), what would make an answer more likely than another.

    Words and counts: no answer is given oftener than another by more than one, of all questions of a kind and of those
    of each trait; usual ones (`Wording.usual`) more seldom. Of a closed set of which one answer is left none is asked.
    The count of a question of `COUNTED` kinds is drawn (`_draw_counts`).
    ``measured`` numbers are spread over magnitudes: of those within a quarter of one another as few stay as leave
    `ENOUGH`.
    """
    asked = (case for case in cases if case.refusal is None and case.answer is not None)
    for kind, own in grouped(asked, lambda case: case.operands[0]).items():
        own.sort(key=lambda case: (case.goes_last, digest(purpose, "even", *case.draw)))
        if measured:
            _spread_out(own)
        elif kind in COUNTED:
            _draw_counts(own, purpose)
        else:
            _level(kind, own, purpose)


def _draw_counts(own: Sequence[ExamCase], purpose: str) -> None:
    """Leaves one of the cases that differ in their times alone: its choices are counts of these, one drawn as right.

    So neither the thing nor the radius nor another question tells a count. At one time a thing is counted once: within
    a larger radius are more.
    """
    asked = set[tuple[str, str]]()
    for (thing, *others), cases in grouped(own, lambda case: case.traits).items():
        found = {case.guessed: case for case in reversed(cases) if (thing, case.operands[1]) not in asked}
        nearest = sorted(found, key=lambda count: (abs(int(count) - COMMON_COUNT), int(count)))
        choices = nearest[:COUNT_CHOICES] if str(COMMON_COUNT) in found else []
        if len(choices) < COUNT_CHOICES:
            for case in cases:
                case.refuse("answer_never_varies", len(choices), COUNT_CHOICES, "answers")
            continue
        drawn = found[choices[digest(purpose, "count", cases[0].operands[0], thing, *others)[0] % COUNT_CHOICES]]
        drawn.wrong = [count for count in choices if count != drawn.guessed]
        asked.add((thing, drawn.operands[1]))
        for case in cases:
            if case is not drawn:
                case.refuse("asked_at_another_time", len(cases), 1, "candidates")


def _level(kind: str, own: Sequence[ExamCase], purpose: str) -> None:
    """Takes case after case while no answer leads by more than one, in all or beside a trait, nor a trait a count."""
    taken = _Taken(kind, own, purpose)
    left, before = list(own), -1
    while left and before != len(left):
        before = len(left)
        left = [case for case in left if not taken.take(case)]
    for case in left:
        if not taken.told.isdisjoint(case.facts):
            case.refuse(SAME_FACT, TOLD_MAX + 1, TOLD_MAX, "questions")
        case.require("answer_too_frequent", *taken.against(case), "candidates")
    if WORDINGS[kind].open:
        return
    for case in reversed(own):
        few = min((len(taken.beside[trait]) for trait in case.traits), default=2)
        if case.refusal is None and few < 2:
            case.refuse("answer_never_varies", few, 2, "answers")
            taken.count(case, -1)
    if len(taken.beside[_ALL]) < 2:
        for case in own:
            case.refuse("answer_never_varies", 1, 2, "answers")
    if WORDINGS[kind].options_are_present:
        _pair([case for case in own if case.refusal is None])


def _pair(own: Sequence[ExamCase]) -> None:
    """Leaves each case one wrong option: the answer of another, best about alike, that has its answer as a wrong one.

    So each answer is right as often as it is offered, however rare it is; whoever knows what is there learns nothing.
    """
    partners = {
        n: {m for m, other in enumerate(own) if other.guessed in one.wrong and one.guessed in other.wrong}
        for n, one in enumerate(own)
    }
    while partners:
        n = min(partners, key=lambda n: len(partners[n]))
        one, mates = own[n], sorted(partners.pop(n))
        if not mates:
            one.refuse("answer_never_varies", 1, 2, "answers")
            continue
        m = max(mates, key=lambda m: len({*own[m].traits} & {*one.traits}))
        one.wrong, own[m].wrong = [own[m].guessed], [one.guessed]
        del partners[m]
        for others in partners.values():
            others -= {n, m}


class _Taken:
    """The cases of one kind that were taken so far.

    Attributes:
        beside: trait -> how often each answer.
        places: of traits, at which there are several.
        under: answer and place -> how often each trait that stands there.
        ahead: of things that are compared, how much oftener each was the answer than the other one.
        told: facts of a kind that shares none with others: `select` leaves one question of each, which may be uneven.
    """

    def __init__(self, kind: str, own: Sequence[ExamCase], purpose: str) -> None:
        self.kind, self.purpose = kind, purpose
        standing = [set(traits) for traits in zip(*(case.traits for case in own), strict=False)]
        self.places = [n for n, there in enumerate(standing) if len(there) > 1]
        self.beside: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.under: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
        self.ahead = Counter[str]()
        self.told = set[str]()

    def take(self, case: ExamCase) -> bool:
        """Takes a case, if that makes nothing too likely."""
        number, _, most = self.against(case)
        if number > most or not self.told.isdisjoint(case.facts):
            return False
        self.count(case, 1)
        self.told.update(() if WORDINGS[self.kind].fact else case.facts)
        return True

    def against(self, case: ExamCase) -> tuple[int, Relation, int]:
        """The check of a case: how often its usual answer would be given, where that is too often, else its lead."""
        wording = WORDINGS[self.kind]
        odds = wording.usual.get(case.guessed, 1)
        if odds > 1:
            others = max((n for other, n in self.beside[_ALL].items() if other != case.guessed), default=0)
            share = digest(self.purpose, self.kind, "share")[0] / 256  # so that half a question is in every second log
            number, most = self.beside[_ALL][case.guessed] + 1, math.floor(others / odds + share)
            if number > most:
                return number, "<=", most
        return self.lead(case) + 1, "<=", 1

    def lead(self, case: ExamCase) -> int:
        """By how many its answer is ahead of any other beside one of its traits, or the trait under its answer.

        Of two that are compared: by how many one was oftener right, or the other wrong. Who is named twice would else
        be wrong: of three things the first is not let be right twice, but the last is wrong twice.
        """
        if case.compared:
            right, wrong = case.compared
            return max(self.ahead[right], -self.ahead[wrong])
        found = [_ahead(self.beside[trait], case.guessed) for trait in (_ALL, *case.traits)]
        for n in self.places:  # more are within a larger radius, and more behind the gripper in the end
            if case.guessed.isdecimal() or case.traits[n].startswith(PART):
                found.append(_ahead(self.under[case.guessed, n], case.traits[n]))
        return max(found)

    def count(self, case: ExamCase, more: int) -> None:
        """Counts a case as taken, or no longer."""
        if case.compared:
            self.ahead.update({case.compared[0]: more})
            self.ahead.subtract({case.compared[1]: more})
        for trait in (_ALL, *case.traits):
            _add(self.beside[trait], case.guessed, more)
        for n, trait in enumerate(case.traits):
            _add(self.under[case.guessed, n], trait, more)


def _ahead(counted: Counter[str], name: str) -> int:
    return counted[name] - max((n for other, n in counted.items() if other != name), default=0)


def _add(counted: Counter[str], name: str, more: int) -> None:
    counted[name] += more
    if not counted[name]:
        del counted[name]


def _spread_out(own: Sequence[ExamCase]) -> None:
    traits = grouped(own, lambda case: case.traits if case.operands[0] == "at_size" else ())
    for alike in traits.values():
        _fill(alike, -(-ENOUGH // len(traits)))


def _fill(own: Sequence[ExamCase], enough: int) -> None:
    """Keeps as few of each magnitude as leave enough, and of none more than a quarter, but for two."""
    of = [round(math.log(float(case.guessed)) / STEP) for case in own]
    sizes = Counter(of).values()
    most = next(n for n in range(1, len(own) + 1) if sum(min(s, n) for s in sizes) >= min(enough, len(own)))
    while most > 2 and most > sum(min(s, most) for s in sizes) / 4:
        most -= 1
    seen: Counter[int] = Counter()
    for case, magnitude in zip(own, of, strict=True):
        seen[magnitude] += 1
        if seen[magnitude] > most:
            case.refuse("answer_too_frequent", seen[magnitude], most, "candidates")
