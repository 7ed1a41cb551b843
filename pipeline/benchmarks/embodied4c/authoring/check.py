"""What a question of material properties or environmental effects must meet, as far as words and the log tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from pipeline.benchmarks.embodied4c.authoring.known import Moment
from pipeline.questions.open_items import OpenItem, form
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
