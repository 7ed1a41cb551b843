"""The author of Embodied4C: material properties (M/P) and environmental effects (E/E), which no log's facts prove.

A model that is shown a log's film, with what the log says at the moments at which questions stand, writes questions
for one of these moments each. They are held against the log; who wrote them must not know their answers without the
film, and a second model that is shown what was filmed by then must find them. Without a second model none is asked.

`moments` gives the facts of a log (surroundings and motion) as they are told to the writing model.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.drive.refs import refs
from pipeline.benchmarks.embodied4c.drive.view import KMH, DriveExam
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.rules import ACCEPTED, AERIAL, DRIVING, MANIPULATION, flag
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, ONLY_SEEN
from pipeline.core.templates import load_table
from pipeline.geometry.colours import WORDS
from pipeline.llm.base import Text
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.metrics.number_words import normalised
from pipeline.questions.cases import Case
from pipeline.questions.model_authoring import (
    MODEL_ASSISTED,
    ModelAuthor,
    PromptArguments,
    SceneAuthoring,
    SecondModel,
    Target,
    examine,
    needed,
    proven,
    quoted,
    written_items,
)
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, form, item_of, item_schema
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.arm.view import CLOSED_MAX, OPEN_MIN
from pipeline.worlds.drive.facts import CATEGORIES, FURNITURE, RIDERS, TWO_WHEELED

TOLD: Final = 8  # things at a moment
# Kinds that logs of drives annotate whole, by what people say for them; what is no kind of a log, it does not tell.
_ON_ROADS: Final = CATEGORIES - FURNITURE - {"object", "vehicle", "large vehicle", "wheeled device", "animal"}
_ALSO: Final[Mapping[str, frozenset[str]]] = {
    "van": frozenset({"car"}),
    "trailer": frozenset({"truck"}),
    **{ridden: RIDERS | TWO_WHEELED | {"pedestrian"} for ridden in TWO_WHEELED | RIDERS},
}
_SEEN_FROM_THE_AIR: Final = frozenset(load_table("embodied4c/authoring")["from_the_air"])
_ON_TABLES: Final = frozenset(load_table("embodied4c/authoring")["on_tables"])


@dataclass(frozen=True)
class Moment:
    """The facts of a log at one time.

    Attributes:
        second: of the log.
        lines: for who writes; names from files are `quoted`.
        absent: words for things that are not there then; what a log does not list whole is in none.
        states: what is so ("standing": True), and what is not; what is not known is missing.
    """

    second: float
    lines: tuple[str, ...]
    absent: frozenset[str]
    states: Mapping[str, bool]


def moments(view: Exam) -> list[Moment]:
    """Those of a log, in order of time."""
    of: dict[str, Callable[[Any], list[Moment]]] = {DRIVING: _drive, AERIAL: _flight, MANIPULATION: _arm}
    return of[view.domain](view)


def _absent(every: Collection[str], there: Collection[str]) -> frozenset[str]:
    also = {word for kind in there for word in _ALSO.get(kind, ())}
    return frozenset(every) - frozenset(there) - also


def _drive(view: DriveExam) -> list[Moment]:
    found = []
    for number, index in enumerate(view.moments.tolist()):
        there = view.there[:, number] & (view.near_m[:, number] <= view.rules.spoken_m)
        speed = float(view.ego_short_mps[index])
        lines = [] if np.isnan(speed) else [f"our speed: {speed * KMH:.0f} km/h"]
        named = [ref for ref in refs(view, number) if ref.holds]
        lines += [f"{ref.words}: {ref.gap_m:.0f} m away" for ref in named[:TOLD]]
        absent = _absent(_ON_ROADS, set(view.categories[there].tolist()))
        found.append(Moment(view.second(number), tuple(lines), absent, _moving(view.rules, speed)))
    return found


def _flight(view: FlightExam) -> list[Moment]:
    flight = view.flight
    names = [flight.places[place] for place in flight.pool]
    sorts = {flight.flight.landmarks[one.index].sort for one in names} - {None}
    text = " ".join([*(str(one.label) for one in names), *(str(sort) for sort in sorts)]).casefold()
    absent = frozenset(word for word in _SEEN_FROM_THE_AIR if word not in text) if names else frozenset()
    found = []
    for second, index in view.moments:
        up = float(view.velocity_mps[index, 2])
        lines = [f"height above the take-off: {float(flight.height_m[index]):.0f} m"]
        lines += [f"landmark: {quoted(str(one.label))}" for one in names[:TOLD]]
        states = _moving(view.rules, float(view.speed_mps[index]))
        if abs(up) >= view.rules.climbing_mps or abs(up) <= view.rules.level_mps:
            states |= {"climbing": up >= view.rules.climbing_mps, "sinking": up <= -view.rules.climbing_mps}
            if abs(up) >= view.rules.climbing_mps:
                states |= {"moving": True, "standing": False}
        found.append(Moment(float(second), tuple(lines), absent, states))
    return found


def _arm(view: ArmExam) -> list[Moment]:
    facts = view.facts
    items = [quoted(f"{item.attributes.get('colour', '')} {item.category}".strip()) for item in facts.items]
    items_text = " ".join(items).casefold()
    words = [word for word in (*_ON_TABLES, *WORDS) if facts.items_complete and word not in items_text]
    lines = [f"the robot's instruction: {quoted(text)}" for text in facts.instructions[:1]]
    lines += [f"on the table: {item}" for item in items[:TOLD]]
    found = []
    for index in view.moments:
        opening = float(view.opening[index])
        states = {}
        if opening >= OPEN_MIN or opening <= CLOSED_MAX:
            states = {"open": opening >= OPEN_MIN, "closed": opening <= CLOSED_MAX}
        own = [f"the gripper is {'open' if states['open'] else 'closed'}"] if states else []
        second = float(view.times_s[index])
        found.append(Moment(second, (*lines, *own), frozenset(_ON_TABLES & {*words}), states))
    return found


def _moving(rules: Any, speed: float) -> dict[str, bool]:
    """Whether who goes so fast stands or moves; nothing where it is between or not known."""
    if not (speed <= rules.still_mps or speed >= rules.moving_mps):
        return {}
    return {"standing": speed <= rules.still_mps, "moving": speed >= rules.moving_mps}


ASSISTED = ("M/P", "E/E")
NEAR_S: Final = 0.5  # between the second that a model gives and the moment that is asked at
_WORDS: Final = load_table("embodied4c/authoring")
FILMED: Final[Mapping[str, str]] = _WORDS["filmed"]
ABOUT: Final[Mapping[str, str]] = _WORDS["about"]
# Words of which a question of each, or its answer, has one.
_ABOUT: Final = {sub: re.compile(rf"\b(?:{'|'.join(words)})\b") for sub, words in _WORDS["words"].items()}
_LATER: Final = re.compile(
    r"\b(?:later|afterwards|subsequently|finally|eventually|soon|about to|going to|in the end|"
    r"(?:end|rest|remainder|beginning|start) of|next second|next moment|forecast)\b"
)
_TIMES: Final = re.compile(r"\d|\b(?:seconds?|minutes?)\b")
_WE: Final = r"\b(?:ego vehicle|our (?:own )?(?:car|vehicle)|we|drone|quadcopter|robot|arm|gripper)\b"
_STILL: Final = (
    r"(?:stand|standing|stands|stationary|parked|stopped|wait|waits|waiting|hover|hovers|hovering|motionless)"
)
_GOING: Final = (
    r"(?:driv(?:e|es|ing)|mov(?:e|es|ing)|fl(?:y|ies|ying)|travel(?:s|ling)?|speed(?:s|ing)?|cruis(?:es|ing))"
)
# What is said of ourselves; "(?!not )" since what is denied is not claimed.
_STATES: Final[Mapping[str, re.Pattern[str]]] = {
    "standing": re.compile(
        rf"{_WE}(?: \w+){{0,2}}? {_STILL}\b|\b(?:while|when|as) (?:stopped|parked|standing|waiting)\b"
    ),
    "moving": re.compile(rf"{_WE}(?: (?!not\b)\w+){{0,2}}? {_GOING}\b"),
    "climbing": re.compile(rf"{_WE}(?: \w+){{0,2}}? (?:climb|climbs|climbing|ascend|ascends|ascending|rises|rising)\b"),
    "sinking": re.compile(rf"{_WE}(?: \w+){{0,2}}? (?:descend|descends|descending|sinks|sinking|landing|lands)\b"),
    "open": re.compile(r"\bopen(?:ed)? gripper\b|\bgripper(?: \w+){0,2}? open\b"),
    "closed": re.compile(r"\bclosed gripper\b|\bgripper(?: \w+){0,2}? (?:closed|shut|holds|holding|grasps|grasping)\b"),
}


def measures(item: OpenItem, sub: str, moment: Moment, off_s: float) -> Iterator[Measure]:
    """Every rule, in the order in which they are reported.

    Args:
        item: as it was written.
        sub: one of `ASSISTED`.
        moment: the one that it is asked at.
        off_s: seconds to it from the one that the model gives.
    """
    yield rule("moment_unknown", off_s, "<=", NEAR_S, "s")
    yield from form(item)
    asked = item.question.casefold()
    yield rule("names_a_time", len(_TIMES.findall(asked)), "<=", 0, "words")
    yield rule("speaks_of_later", len(_LATER.findall(asked)), "<=", 0, "words")
    text = " ".join((item.question, *item.right)).casefold()
    yield rule("not_of_the_sub_capability", len(_ABOUT[sub].findall(text)), ">=", 1, "words")
    missing = sum(bool(re.search(rf"\b{re.escape(word)}(?:s|es)?\b", text)) for word in sorted(moment.absent))
    yield rule("speaks_of_what_is_not_there", missing, "<=", 0, "kinds of things")
    wrong = sum(bool(_STATES[name].search(text)) for name, is_so in moment.states.items() if not is_so)
    yield rule("contradicts_the_log", wrong, "<=", 0, "states")


KIND: Final = "authored"  # first operand of what a model wrote
_EPS_S: Final = 0.05  # seconds of pictures are written with one decimal


class ExamAuthor(ModelAuthor[Exam, SceneAuthoring[Exam], Target]):
    """The author of logs, asked about each sub-capability; of a log without pictures it writes nothing."""

    authoring = SceneAuthoring[Exam]
    tasks = EXAM_TASKS
    step = "exam"
    check = ("exam_pick", "exam_all")
    sighted = 2
    guessing = True

    def targets(self, candidates: pa.Table, tasks: Sequence[str]) -> list[Target]:
        """The sub-capabilities of which a log that has pictures is to be asked."""
        reasons = {(row["task"], row["reason"]) for row in candidates.select(["task", "reason"]).to_pylist()}
        return [Target(sub) for sub in ASSISTED if sub in tasks and (sub, ONLY_SEEN) in reasons]

    def prompt_arguments(self, scene: SceneAuthoring[Exam], target: Target) -> PromptArguments:
        """The film, and what the log says at its moments."""
        film = needed(scene.shows[0], "no_pictures_shown", "pictures")
        needed(scene.second_shown, "no_second_model", "models that are shown pictures")
        fields = {
            "filmed": FILMED[scene.view.domain],
            "moments": [(f"{moment.second:.1f}", moment.lines) for moment in moments(scene.view)],
            "sub": target.task,
            "about": ABOUT[target.task],
            "count": scene.count,
        }
        return written_items(item_schema(second={"type": "number"})), film, fields

    def validate(self, scene: SceneAuthoring[Exam], target: Target, found: Sequence[dict[str, Any]]) -> Iterator[Case]:
        """Each question, about the moment that it is nearest to."""
        known = moments(scene.view)
        for raw in found:
            item, at = item_of(raw), float(raw["second"])
            moment = min(known, key=lambda one: abs(one.second - at))
            until_s = round(moment.second, 3)
            case = Case(KIND, f"{moment.second:.2f}", item.question, until_s=until_s, wording=item.question)
            case.proof = item.proof
            case.flags = [*scene.view.flags, MODEL_ASSISTED, *(flag(ACCEPTED, form) for form in item.accepted)]
            case.ask(item.answer, item.wrong, least=0)
            examine(case, self._measures(scene, target.task, item, moment, abs(moment.second - at)))
            for text in (item.answer, item.question):
                scene.kept[normalised(text)] += case.refusal is None
            yield case

    def unwritten(self, target: Target, number: int) -> Case:
        """A candidate without a question."""
        return Case(KIND)

    def _measures(
        self, scene: SceneAuthoring[Exam], sub: str, item: OpenItem, moment: Moment, off_s: float
    ) -> Iterator[Measure]:
        """All rules of an item; models are asked about what breaks none before."""
        yield from measures(item, sub, moment, off_s)
        yield rule("answered_so_before", scene.kept[normalised(item.answer)], "<", SAME_ANSWERS, "questions")
        yield rule("asked_so_before", scene.kept[normalised(item.question)], "<=", 0, "questions")
        shown = needed(scene.second_shown, "no_second_model", "models that are shown pictures")
        by_then = until(shown, moment.second)
        yield rule("no_picture_by_then", len(by_then.parts), ">=", 1, "pictures")
        asked = item
        if not shown.pictures:  # the film itself, which goes on
            asked = replace(item, question=f"{item.question} (at second {moment.second:.1f} of the film)")
        second = SecondModel(scene.models[1], by_then, self.check)
        yield from proven(asked, scene.view.scene.id, SecondModel(scene.models[0], None, self.check), second)


def until(shown: VisualInputs, second: float) -> VisualInputs:
    """The pictures of a film up to a second; a film that is shown as such is not cut."""
    if not shown.pictures:
        return shown
    pairs = zip(shown.parts[::2], shown.parts[1::2], strict=True)
    kept = [
        part
        for label, picture in pairs
        if isinstance(label, Text) and float(label.text.removeprefix("Second ").rstrip(":")) <= second + _EPS_S
        for part in (label, picture)
    ]
    return VisualInputs(tuple(kept), len(kept) // 2)
