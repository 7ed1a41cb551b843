"""How Embodied4C sees a scene, and its tasks with their shares: one per sub-capability and form of answer.

They are questions of one sub-capability that facts prove, the domain-far bank, and what people or models write. The
domain-far questions (GEN) are a bank of our own, never about a log: they show whether a model still knows the rest.

What is stated of a log (`ExamRules.conditions`): materials (M/P) and the environment (E/E). No log tells them, and only
a film shows them: of one that is drawn from a log they are not asked.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import yaml

from pipeline.benchmarks.embodied4c.arm import items as arm
from pipeline.benchmarks.embodied4c.arm import motion
from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import (
    COUNT_CHOICES,
    COUNTED,
    WORDINGS,
    Exam,
    ExamCase,
    begins_s,
    choose,
    make_even,
    part,
    pose,
    stated_of,
)
from pipeline.benchmarks.embodied4c.columns import PAPER, VALUE
from pipeline.benchmarks.embodied4c.drive import semantic, spatial, temporal
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.flight import flying, landmarks
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.rules import (
    ACCEPTED,
    AERIAL,
    DOMAINS,
    DRIVING,
    GEN,
    MANIPULATION,
    SUB,
    ExamRules,
    WrittenExam,
    flag,
)
from pipeline.core.arrays import StrArray
from pipeline.core.errors import TemplateError
from pipeline.core.identity import digest, rng_for
from pipeline.core.schema import AnyScene, Rejection
from pipeline.core.templates import TEMPLATES_DIR
from pipeline.questions.arrays import WRITTEN
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.selection import SAME_FACT
from pipeline.questions.task import Form, FreeText, Number


def exam(scene: AnyScene, rules: ExamRules) -> Exam:
    """The view of a scene, by its world."""
    views: dict[str, Callable[[AnyScene, ExamRules], Exam]] = {"drive": DriveExam, "flight": FlightExam, "arm": ArmExam}
    return views[scene.facts.world](scene, rules)


def surface(view: Exam) -> Iterator[ExamCase]:
    """M/P: what the ground that we drive on, or fly over, is made of."""
    yield from _stated(view, "mp_surface", stated_of(view.scene, view.rules).surface)


def environment(view: Exam) -> Iterator[ExamCase]:
    """E/E: whether the ground is wet, and how strong the wind is."""
    stated = stated_of(view.scene, view.rules)
    yield from _stated(view, "ee_wet", None if stated.wet is None else "wet" if stated.wet else "dry")
    yield from _stated(view, "ee_wind", stated.wind)


def _stated(view: Exam, kind: str, answer: str | None) -> Iterator[ExamCase]:
    """One question at the last moment: it holds all along."""
    if answer is not None and len(view.asked_s):
        yield choose(pose(view, kind, float(view.asked_s[-1]), (), {}), answer)


Ask = Callable[[Any], Iterator[ExamCase]]
LASTING: Final = frozenset({"air_at_height", "air_rs", "air_rp", "air_tp"})  # the same at all times of a log
# Kinds that are asked once of the same things: else most often of what the gripper comes to.
EVEN: Final = frozenset({"arm_cs_reach", "arm_dt", "arm_rp"})
QUESTION: Final = "embodied4c/question"


class ExamTask(CaseTask[Exam]):
    """Questions of one sub-capability.

    Args:
        name: the sub-capability; what follows a blank tells tasks of one apart.
        form: of the answers.
        share: see `Task.share`.
        asks: embodiment -> what yields its cases.
        kinds: of wording, as the asks use them.
    """

    reads = ""  # by the kind of each case
    template = QUESTION

    def __init__(
        self, name: str, form: Form, share: int, asks: Mapping[str, Sequence[Ask]], kinds: Iterable[str]
    ) -> None:
        self._is_measured = isinstance(form, Number) and bool(form.unit or form.decimals)  # not counted
        if isinstance(form, Number):
            form = replace(form, by_kind=True)
        self.name, self.form, self.share, self.asks = name, form, share, asks
        own = [WORDINGS[kind] for kind in kinds]
        self.balanced = not any(wording.open or wording.options_are_present for wording in own)
        self.parts = tuple(part(kind) for kind in kinds)

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The answer; of kinds whose answers are as often wrong as right one class: classes would favour rare ones.

        Of counts that are drawn as many classes as choices, by lot: so other counts of the task are as common.
        """
        guessed = answers.copy()
        for n, of in enumerate(operands.to_pylist()):
            if of[0] in COUNTED:
                guessed[n] = f"lot {digest(*of)[0] % COUNT_CHOICES}"
            elif WORDINGS[of[0]].options_are_present:
                guessed[n] = of[0]
        return guessed

    def obstacle(self, view: Exam) -> Rejection | None:
        """An embodiment that the task says nothing of, or a log without a moment."""
        if view.domain not in self.asks:
            return Rejection(reason="other_embodiment", measured=None, limit=None, unit=None)
        return view.obstacle

    def cases(self, view: Exam) -> Iterator[Case]:
        """All cases of the log's embodiment."""
        for ask in self.asks[view.domain]:
            yield from ask(view)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """The same words at another time are another question, but for what does not change."""
        every = [case for case in cases if isinstance(case, ExamCase)]
        alike: dict[tuple[str, ...], list[Case]] = {}
        even = EVEN if view.rules.even_answers else frozenset()
        for case in every:
            kind, _, *about = case.operands
            if case.refusal is None and kind in LASTING | even:
                alike.setdefault((kind, *(sorted(about) if kind in even else about)), []).append(case)
        for found in alike.values():
            _, *others = sorted(found, key=lambda case: digest(view.scene.id, self.name, "once", *case.draw))
            for other in others:
                other.refuse("asked_at_another_time", len(found), 1, "candidates")
        for case in every:
            if case.refusal is None and case.answer is not None:
                case.facts = case.facts or view.asked_facts.of(case)
                case.flags += [flag(SAME_FACT, fact) for fact in case.facts]
        if view.rules.even_answers:
            make_even(every, f"{view.scene.id} {self.name}", measured=self._is_measured)


FILE: Final = TEMPLATES_DIR / "embodied4c" / "domain_far.yaml"


class BankTask(NamedTuple):
    """One question of the bank."""

    subject: str
    question: str
    answer: str
    accepted: tuple[str, ...]


@cache
def bank() -> tuple[BankTask, ...]:
    """All of them, in the order of the file. Raises TemplateError for a file that cannot be read."""
    try:
        document = yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        found = tuple(
            BankTask(subject, question, answer, tuple(accepted))
            for subject, rows in document.items()
            for question, answer, *accepted in rows
        )
    except (OSError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise TemplateError(f"{FILE}: cannot be read as a bank of questions: {error}") from error
    wrong = [far.question for far in found if not all(isinstance(text, str) for text in (*far[:3], *far.accepted))]
    wrong += [far.question for far in found if far.answer[:1].isdigit()]  # who guesses is offered words
    if wrong or len({far.question for far in found}) < len(found):
        raise TemplateError(f"{FILE}: {wrong or 'a question'} is no text, has digits for an answer, or is there twice")
    return found


ONLY_SEEN: Final = "only_pictures_tell"  # why the facts of a log with pictures give no such question
OTHERS: Final = 9  # answers of the same subject that are offered to who guesses


class DomainFarTask(CaseTask[Exam]):
    """GEN: of the bank as many as the paper asks of each embodiment, no question twice, each at a moment of a log."""

    name = GEN
    general = True
    reads = ""  # nothing of the log
    share = 125
    once = True
    template = QUESTION
    form = FreeText()

    def obstacle(self, view: Exam) -> Rejection | None:
        """A build that wants none."""
        if view.rules.far_per_log:
            return None
        return Rejection(reason="none_wanted", measured=0, limit=1, unit="questions")

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The question: it is asked of one log alone."""
        return np.array([of[0] for of in operands.to_pylist()], dtype=object)

    def cases(self, view: Exam) -> Iterator[Case]:
        """As many as a log shall have, before it is known which other logs draw the same."""
        known = _of_domain(view.domain)
        rng = rng_for("domain-far", view.scene.id)
        for i in sorted(rng.permutation(len(known))[: view.rules.far_per_log].tolist()):
            far = known[i]
            until_s = float(rng.choice(view.asked_s)) if len(view.asked_s) else None
            from_s = None if until_s is None else begins_s("", until_s, view.rules, f"{view.rules.past_min_s:g}")
            case = Case(far.question, wording=far.question, until_s=until_s, from_s=from_s)
            case.flags = [*view.flags, *(flag(ACCEPTED, form) for form in far.accepted), f"subject: {far.subject}"]
            yield case.ask(far.answer, _other_answers(far, bank()), least=1)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """No two are alike."""


@cache
def _of_domain(domain: str) -> tuple[BankTask, ...]:
    """The part of the bank that one embodiment has, as large as the paper's."""
    order = sorted(bank(), key=lambda far: digest("domain-far", far.question))
    first = sum(PAPER[before][GEN] for before in DOMAINS[: DOMAINS.index(domain)])
    return tuple(order[first : first + PAPER[domain][GEN]])


def _other_answers(far: BankTask, known: Iterable[BankTask]) -> list[str]:
    return [other.answer for other in known if other.subject == far.subject and other.answer != far.answer][:OTHERS]


class WrittenTask(CaseTask[Exam]):
    """Questions that people wrote about a log (`ExamRules.written`), of any sub-capability; numbers and words apart.

    Args:
        numeric: which of both.
    """

    reads = ""  # whoever wrote it saw to that
    share = 125
    template = QUESTION
    form = FreeText()

    def __init__(self, *, numeric: bool) -> None:
        self.numeric = numeric
        self.name = "written numbers" if numeric else "written words"

    def obstacle(self, view: Exam) -> Rejection | None:
        """A log that nobody wrote about."""
        if any(self._is_of(one, view) for one in view.rules.written):
            return None
        return Rejection(reason="nobody_wrote", measured=0, limit=1, unit="questions")

    def cases(self, view: Exam) -> Iterator[Case]:
        """All that was written about the log."""
        for one in view.rules.written:
            if self._is_of(one, view):
                until = () if one.until_s is None else (f"{one.until_s:g}",)
                case = Case(one.question, *until, until_s=one.until_s, from_s=one.from_s, wording=one.question)
                case.flags = [*view.flags, flag(SUB, one.sub_capability), WRITTEN]
                case.flags += [flag(ACCEPTED, form) for form in one.accepted]
                if one.unit is not None:
                    case.fact(VALUE, "as written", float(one.answer), one.unit)
                alike = [
                    o.answer for o in view.rules.written if (o.sub_capability, o.unit) == (one.sub_capability, one.unit)
                ]
                yield case.ask(one.answer, [answer for answer in alike if answer != one.answer][:OTHERS], least=0)

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """People ask what they want."""

    def _is_of(self, one: WrittenExam, view: Exam) -> bool:
        return one.log in (view.scene.id, view.scene.name) and (one.unit is not None) == self.numeric


class AssistedExamTask(CaseTask[Exam]):
    """A sub-capability of which no facts tell: a model that sees the log writes its questions (stage `author`)."""

    reads = ""  # a model saw what it wrote of
    share = 54
    template = QUESTION
    form = FreeText()

    def __init__(self, name: str) -> None:
        self.name = name

    def obstacle(self, view: Exam) -> Rejection | None:
        """Always: of a log without pictures nothing can be asked, of any other nothing from facts."""
        if view.obstacle is not None:
            return view.obstacle
        if view.scene.video is None:
            return Rejection(reason="log_without_pictures", measured=0, limit=1, unit="films")
        return Rejection(reason=ONLY_SEEN, measured=0, limit=1, unit="facts")

    def ask_once(self, view: Exam, cases: Iterable[Case]) -> None:
        """The same words at another time are another question."""


class ExamRow(NamedTuple):
    """One task: its name, form and share, and what asks in each embodiment."""

    name: str
    form: Form
    share: int
    drives: tuple[Ask, ...]
    flights: tuple[Ask, ...]
    arms: tuple[Ask, ...] = ()


WORDS: Final = FreeText()
# Of vehicles, where a build has too few to measure what is usual: as the real logs at hand have them, those of 4 to 5 m
# less often, since frequent answers are asked less. By fifty draws, the choice nearest to a car's length is right in
# 38%; without, in 62%.
LENGTHS_M: Final = (2.0, 3.5, 4.0, 4.0, 4.2, 4.5, 4.5, 4.8, 5.0, 5.5, 5.5, 6.0, 7.0, 8.0, 9.5, 12.0, 18.0)
# Shares by the paper's counts of capabilities over all embodiments (section 6.1), alike over their sub-capabilities; of
# SPA less, since logs hold most of that, and little of what follows from our speed: of one fact the rarer asks first.
_ALL: Final = (
    ExamRow("CL", WORDS, 66, (semantic.kind_on_side, semantic.kind_most_common, semantic.kind_of_lane),
        (landmarks.kind_nearest,), (arm.kind_nearest,)),
    ExamRow("AT", Number(1, "m", quantiles=LENGTHS_M), 50, (semantic.size,), ()),
    ExamRow("AT whole", Number(0, "m"), 50, (), (landmarks.height_of,)),
    ExamRow("AT words", WORDS, 16, (semantic.marking_of_lane,), (), (arm.colour,)),
    ExamRow("ST", WORDS, 66, (semantic.parked_or_moving, semantic.lamps), (flying.vertical_state, flying.camera_state),
        (arm.gripper_state,)),
    ExamRow("LC", WORDS, 50, (spatial.bearing, spatial.lane_of), (landmarks.bearing,), (arm.side,)),
    ExamRow("DT", Number(1, "m"), 50, (spatial.distance, spatial.distance_between),
        (landmarks.distance, flying.distance_home)),
    ExamRow("OR", Number(0, "°"), 25, (spatial.heading,), (flying.heading,),
        (motion.tilt, motion.hand_turned, motion.between)),
    ExamRow("OR words", WORDS, 25, (spatial.facing,), (flying.compass,)),
    ExamRow("TP", WORDS, 50, (spatial.ground_under, spatial.neighbour), (landmarks.nearest_to,), (arm.lies_on,)),
    ExamRow("CT", Number(0, ""), 50, (spatial.count_near,), (landmarks.shown, landmarks.near),
        (arm.count,)),
    ExamRow("R/S", WORDS, 50, (semantic.larger,), (landmarks.higher,), (arm.larger,)),
    ExamRow("R/P", WORDS, 50, (semantic.place,), (landmarks.relative_place,), (arm.relative,)),
    ExamRow("R/D", WORDS, 50, (semantic.ranking,), (landmarks.ranking,), (arm.ranking,)),
    ExamRow("M/T", Number(1, "km/h"), 45, (temporal.own_speed, temporal.speed), (flying.speed,)),
    ExamRow("S/M", Number(1, "m"), 20, (temporal.driven_lately,), (flying.flown_lately,)),
    ExamRow("S/M degrees", Number(0, "°"), 15, (temporal.turned_lately,), ()),
    ExamRow("S/M words", WORDS, 25, (), (flying.climbed_lately,),
        (motion.nearest_lately,)),
    ExamRow("L/M", Number(1, "m"), 20, (temporal.driven_in_all,), ()),
    ExamRow("L/M whole", Number(0, "m"), 20, (), (flying.flown_in_all,)),
    ExamRow("L/M count", Number(0, ""), 40, (temporal.seen_lately,), ()),
    ExamRow("L/M words", WORDS, 40, (), (flying.sequence,)),
    ExamRow("MD", WORDS, 48, (temporal.state,), (flying.state,)),
    ExamRow("MD acceleration", Number(1, "m/s²"), 36, (temporal.acceleration, temporal.sideways), ()),
    ExamRow("CS", Number(1, "m"), 15, (temporal.stopping,), ()),
    ExamRow("CS seconds", Number(1, "s"), 40, (temporal.time_to,), (landmarks.seconds_to,)),
    ExamRow("DT cm", Number(1, "cm"), 50, (), (), (arm.distance,)),
    ExamRow("M/T cm", Number(1, "cm/s"), 60, (), (), (motion.speed,)),
    ExamRow("S/M cm", Number(1, "cm"), 35, (), (), (motion.way_lately,)),
    ExamRow("L/M cm", Number(0, "cm"), 60, (), (), (motion.way, motion.moved)),
    ExamRow("MD degrees", Number(0, "°"), 36, (), (), (motion.turned,)),
    ExamRow("MD rate", Number(0, "°/s"), 36, (), (), (motion.turning,)),
    ExamRow("CS cm", Number(1, "cm"), 54, (), (), (motion.reach,)),
    ExamRow("M/P stated", WORDS, 54, (surface,), (surface,), (arm.material,)),
    ExamRow("E/E stated", WORDS, 54, (environment,), (environment,)),
)  # fmt: skip
EXAM_TASKS: Final[dict[str, CaseTask[Exam]]] = {
    **{
        row.name: ExamTask(
            row.name,
            row.form,
            row.share,
            {
                domain: asks
                for domain, asks in ((DRIVING, row.drives), (AERIAL, row.flights), (MANIPULATION, row.arms))
                if asks
            },
            [kind for kind, wording in WORDINGS.items() if wording.task == row.name],
        )
        for row in _ALL
    },
    **{sub: AssistedExamTask(sub) for sub in ("M/P", "E/E")},
    GEN: DomainFarTask(),
    **{task.name: task for task in (WrittenTask(numeric=True), WrittenTask(numeric=False))},
}
