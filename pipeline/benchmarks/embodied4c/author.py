"""The author of Embodied4C: material properties (M/P) and environmental effects (E/E), which no log's facts prove.

A model that is shown a log's film, with what the log says at the moments at which questions stand, writes questions
for one of these moments each. They are held against the log; who wrote them must not know their answers without the
film, and a second model that is shown what was filmed by then must find them. Without a second model none is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.kinds import ACCEPTED, AERIAL, DRIVING, MANIPULATION, flag
from pipeline.benchmarks.embodied4c.known_facts import Moment, moments
from pipeline.benchmarks.embodied4c.tasks.base import ONLY_SEEN
from pipeline.benchmarks.embodied4c.tasks.registry import EXAM_TASKS
from pipeline.llm.base import Text
from pipeline.llm.visual_inputs import VisualInputs
from pipeline.metrics.number_words import normalised
from pipeline.questions.cases import Case
from pipeline.questions.model_authoring import (
    MODEL_ASSISTED,
    ModelAuthor,
    PromptArguments,
    SceneAuthoring,
    Second,
    Target,
    examine,
    needed,
    proven,
)
from pipeline.questions.open_items import SAME_ANSWERS, OpenItem, form, item_of, items_schema
from pipeline.questions.rules import Measure, rule

MATERIALS, EFFECTS = ASSISTED = ("M/P", "E/E")
NEAR_S: Final = 0.5  # between the second that a model gives and the moment that is asked at
# Words of which a question of each, or its answer, has one.
_ABOUT: Final[Mapping[str, re.Pattern[str]]] = {
    MATERIALS: re.compile(
        r"\b(?:made|material|materials|surface|surfaces|texture|coating|paving|pavement|paved|rigid|stiff|soft|hard|"
        r"flexible|elastic|slippery|rough|smooth|grip|grips|gripped|friction|transparent|opaque|reflect\w*|shiny|matt|"
        r"heavy|heaviest|lightest|weigh\w*|fragile|brittle|break|breaks|broken|dent\w*|bend\w*|deform\w*|squeez\w*|"
        r"scratch\w*|conduct\w*|magnet\w*|absorb\w*|waterproof|float\w*|flammable|burn\w*|melt\w*|rust\w*|bounc\w*|"
        r"cover(?:s|ed with)|consists? of|metal|copper|wood|wooden|plastic|glass|rubber|concrete|asphalt|"
        r"fabric|steel|stone)\b"
    ),
    EFFECTS: re.compile(
        r"\b(?:weather|wind|windy|gusts?|rain|rainy|raining|snow\w*|fog\w*|mist|haze|hazy|sun|sunny|sunlight|sunshine|"
        r"shadows?|shades?|glare|dazzl\w*|"
        r"lights?(?! (?:wood\w*|metal|stone|plastic|brick|grey|gray|blue|brown|green|red|yellow|colou?r\w*)\b)|"
        r"lit|lighting|illuminat\w*|dark\w*|bright\w*|wet|dry|ice|icy|"
        r"puddles?|dust\w*|sky|skies|clouds?|cloudy|overcast|seasons?|nights?|day|daylight|dusk|dawn|visib\w*|humid\w*|"
        r"turbulen\w*|vibrat\w*|gravity|environment\w*|reflections?|contrast|temperature)\b"
    ),
}
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
    said = " ".join((item.question, *item.right)).casefold()
    yield rule("not_of_the_sub_capability", len(_ABOUT[sub].findall(said)), ">=", 1, "words")
    missing = sum(bool(re.search(rf"\b{re.escape(word)}(?:s|es)?\b", said)) for word in sorted(moment.absent))
    yield rule("speaks_of_what_is_not_there", missing, "<=", 0, "kinds of things")
    wrong = sum(bool(_STATES[name].search(said)) for name, is_so in moment.states.items() if not is_so)
    yield rule("contradicts_the_log", wrong, "<=", 0, "states")


KIND: Final = "authored"  # first operand of what a model wrote
FILMED: Final = {
    DRIVING: "a drive, filmed by a camera on our car, the ego vehicle",
    AERIAL: "a drone flight, filmed by the drone's own camera",
    MANIPULATION: "a robot arm at work, filmed by a camera beside it",
}
ABOUT: Final = {
    MATERIALS: "Material properties: what things and grounds are made of, their surface, stiffness, weight, friction, "
    "how they reflect light, and what follows from these for driving, flying or grasping.",
    EFFECTS: "Environmental effects: weather, light, shadow, wetness, dust, wind, season, time of day, and what they "
    "do to what is seen and to how one drives, flies or grasps.",
}
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
        told = {(row["task"], row["reason"]) for row in candidates.select(["task", "reason"]).to_pylist()}
        return [Target(sub) for sub in ASSISTED if sub in tasks and (sub, ONLY_SEEN) in told]

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
        return items_schema(scene.count, second={"type": "number"}), film, fields

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
            for said in (item.answer, item.question):
                scene.kept[normalised(said)] += case.refusal is None
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
        second = Second(scene.asks[1], by_then, self.check)
        yield from proven(asked, scene.view.scene.id, Second(scene.asks[0], None, self.check), second)


def until(shown: VisualInputs, second: float) -> VisualInputs:
    """What of a film's pictures was taken by a second; a film that is shown as such is not cut."""
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
