"""English words that the checks know: movements, directions, things of a town. More of them, stricter checks."""

from __future__ import annotations

import re
from typing import Final

NUMBERS: Final = "zero one two three four five six seven eight nine ten eleven twelve".split()
FILLERS: Final = frozenset("a an the its is are was were and then of that this".split())
ACTORS: Final = frozenset("drone uav agent quadcopter aircraft it".split())
DRONE: Final = r"(?:the |our )?(?:drone|uav|agent|quadcopter|aircraft)(?:'s)?"
COLOURS: Final = frozenset("red blue green yellow white black gray grey brown orange purple pink golden silver".split())
# Heads of noun phrases that name what a camera over a town may show, or may not.
THINGS: Final = frozenset(
    """airport antenna apartment arch balcony beach bench bicycle billboard boat bridge building bus cafe canal car
    castle cathedral cemetery chimney church cinema court courtyard crane crosswalk dam dock dome factory farm
    fence ferry field fountain garage garden grass greenhouse gym harbor harbour helipad hill hospital hotel
    house intersection island kiosk lake lamp library lighthouse mall market mast monument mosque motorcycle
    mountain museum office overpass pagoda palace panel park path pavilion pedestrian person pier plaza
    playground pole pond pool railway restaurant river road roof rooftop roundabout ruin school sculpture sea
    shed ship shop sidewalk silo stadium station statue store supermarket temple tent terrace theater theatre
    tower train tram tree truck tunnel turbine university van viaduct villa warehouse waterfall windmill yard
    abbey aqueduct aquarium arena bakery balloon barge barn barrier bird blimp bollard bonfire bookshop bookstore bush
    camel campus canopy carousel carriage castle cat cattle caravan cliff clinic cloister coach column container convoy
    cornfield cow crop cyclist deer ditch dog donkey dragon dumpster elephant elevator embankment escalator
    excavator ferris fire firework flag flagpole flock flowerbed forest fort fortress forklift gallery gate gazebo
    glacier graveyard greenery grove hangar haystack headquarters hedge helicopter horse hotdog hut igloo jetty kite
    lagoon lamppost laundry locomotive lorry mansion marina marketplace meadow mill minaret monastery moat motorway
    obelisk observatory orchard parade parliament pasture pavement pigeon planetarium plane playhouse pylon quarry raft
    railroad ramp refinery reservoir rickshaw river rollercoaster runway sailboat sandpit scaffold scaffolding
    scooter seagull sheep shrine sign silo skatepark ski skyscraper slide smokestack snowman spire stable staircase
    stall station submarine swan swing synagogue taxi tank telescope tollbooth tractor trailer tramway tricycle trolley
    ufo vineyard volcano wall watchtower well cable plant wharf
    wheel woodland yacht zebra zoo""".split()
)
# Every building has them; who knows the building knows them.
PARTS: Final = frozenset(
    """roof rooftop facade window door entrance balcony wall floor storey story terrace corner antenna spire
    column""".split()
)
BUILDINGS: Final = frozenset(
    """airport apartment building castle cathedral church cinema court factory farm garage greenhouse gym hall
    hospital hotel house
    library lighthouse mall mill monastery mosque museum office pagoda palace pavilion restaurant school shop
    silo stadium station store supermarket synagogue temple theater theatre tower university villa warehouse""".split()
)
SAME_NOUN: Final[dict[str, str]] = {
    "street": "road",
    "avenue": "road",
    "highway": "road",
    "skyscraper": "tower",
    "high-rise": "tower",
    "automobile": "car",
    "vehicle": "car",
    "footpath": "path",
    "pavement": "sidewalk",
    "colour": "color",
    "grey": "gray",
    "lawn": "grass",
}

_GO: Final = (
    r"(?:fl(?:y|ies|ew|own|ying)|mov(?:e|es|ed|ing)|head(?:s|ed|ing)?|go(?:es|ing)?|went|travel(?:s|led|ling)?|"
    r"proceed(?:s|ed|ing)?|continu(?:e|es|ed|ing)|advanc(?:e|es|ed|ing)|drift(?:s|ed|ing)?|shift(?:s|ed|ing)?)"
)
_TURN: Final = (
    r"(?:turn(?:s|ed|ing)?|rotat(?:e|es|ed|ing)|yaw(?:s|ed|ing)?|veer(?:s|ed|ing)?|pivot(?:s|ed|ing)?|bank(?:s|ed|ing)?|"
    r"sw(?:ing|ings|inging|ung)|spin(?:s|ning)?)"
)
_TILT: Final = (
    r"(?:tilt(?:s|ed|ing)?|pitch(?:es|ed|ing)?|point(?:s|ed|ing)?|angl(?:e|es|ed|ing)|aim(?:s|ed|ing)?|"
    r"rais(?:e|es|ed|ing)|lower(?:s|ed|ing)?|adjust(?:s|ed|ing)?|look(?:s|ed|ing)?)"
)
_CAMERA: Final = r"(?:the |its )?(?:camera|gimbal|pan[- ]tilt|lens|view)(?: angle)?"
_HEIGHT: Final = r"(?:in )?(?:the |its )?(?:altitude|height|elevation)"
_TO: Final = r"(?: \w+ly)?(?: to| towards?)?(?: the| its)?"
# Movement -> how texts put it; at one place the first that fits counts.
PHRASES: Final[dict[str, str]] = {
    "gimbal down": rf"{_TILT} {_CAMERA} down(?:wards?)?|lower(?:s|ed|ing)? {_CAMERA}|gimbal down|"
    rf"{_CAMERA} {_TILT} down(?:wards?)?|look(?:s|ed|ing)? down(?:wards?)?",
    "gimbal up": rf"{_TILT} {_CAMERA} up(?:wards?)?|rais(?:e|es|ed|ing) {_CAMERA}|gimbal up|"
    rf"{_CAMERA} {_TILT} up(?:wards?)?|look(?:s|ed|ing)? up(?:wards?)?",
    "turn around": rf"{_TURN} (?:back|around|about)|u-turns?|revers(?:e|es|ed|ing) (?:its )?direction",
    "turn left": rf"{_TURN}{_TO} left|left(?:-hand)? turns?",
    "turn right": rf"{_TURN}{_TO} right|right(?:-hand)? turns?",
    "ascend": rf"ascend(?:s|ed|ing)?|ascents?|climb(?:s|ed|ing)?(?: up)?|ris(?:e|es|en|ing)|rose|"
    rf"(?:get|go|fly)(?:s|es|ting|ing)? higher|{_GO} up(?:wards?)?|"
    rf"(?:gain|increas|rais)(?:e|s|es|ed|ing)? {_HEIGHT}|tak(?:e|es|en|ing) off|took off|lift(?:s|ed|ing)? off",
    "descend": rf"descend(?:s|ed|ing)?|descents?|{_GO} down(?:wards?)?|touch(?:es|ed|ing)? down|"
    rf"(?<!a )(?:los|decreas|reduc|lower|drop)(?:e|s|es|ed|ing|ped|ping)? {_HEIGHT}|(?:comes?|coming|came) down|"
    r"s[iau]nk(?:s|ing)?|(?:go|com)(?:es|e|ing)? lower|(?:went|came|flies|flew) lower",
    "fly backward": rf"{_GO} back(?:wards?)?|back(?:s|ed|ing) (?:up|away)",
    "fly left": rf"{_GO}(?: sideways)?{_TO} left",
    "fly right": rf"{_GO}(?: sideways)?{_TO} right(?! (?:over|past|through|up|along|by|above|into|behind|next))",
    "fly forward": rf"{_GO}(?: straight)? (?:forwards?|ahead|straight|on)",
    "hover": r"hover(?:s|ed|ing)?|(?:stays?|remains?) (?:put|where it is)|"
    r"(?:stay(?:s|ed)?|remain(?:s|ed)?|holds?|held|keeps?|kept) "
    r"(?:in place|still|stationary|(?:its )?(?:position|place))",
}
MOVEMENT: Final = re.compile("|".join(rf"\b(?P<{n.replace(' ', '_')}>{p})\b" for n, p in PHRASES.items()))
# What a text's movement may be among observed ones: "flies left" is also said of a turn.
MEANT: Final[dict[str, tuple[str, ...]]] = {name: (name,) for name in PHRASES} | {
    "turn around": ("turn left", "turn right"),
    "fly left": ("fly left", "turn left"),
    "fly right": ("fly right", "turn right"),
    "hover": ("hover", "stay in place"),
}
# Movements of any side.
ANY_SIDE: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (re.compile(r"\b(?:turn|rotat|yaw)(?:s|e|es|ed|ing)?\b"), ("turn left", "turn right")),
    (re.compile(r"\b(?:tilt(?:s|ed|ing)?)\b"), ("gimbal up", "gimbal down")),
)
# Said of what did not happen, has not yet, or need not have: "would turn left", "never ascends", "ready to descend".
UNREAL: Final = re.compile(
    r"\b(?:would|could|can|cannot|may|might|should|must|will|if|instead|unless|rather than|not|never|without|"
    r"avoid(?:s|ed|ing)?|no|ready|until|next|prepar(?:e|es|ed|ing))\b|n't\b"
)
# In a question that asks for what might be.
SUPPOSING: Final = re.compile(r"\b(?:if|instead|rather than|suppos(?:e|ed|ing)|imagine|would|could|should|might)\b")
CLAUSE: Final = re.compile(r"[,.;:]|\b(?:and|but|then|because|so that|while)\b")

COMPASS: Final[dict[str, float]] = {
    "north": 0.0,
    "northeast": 45.0,
    "east": 90.0,
    "southeast": 135.0,
    "south": 180.0,
    "southwest": 225.0,
    "west": 270.0,
    "northwest": 315.0,
}
_POINT: Final = r"(?P<point>(?:north|south)[- ]?(?:east|west)|north|south|east|west)"
ABSOLUTE: Final = re.compile(rf"\b{_POINT}(?:ern|erly|wards?|bound)?\b", re.IGNORECASE)
# Absolute directions that can be said from the drone: where something lies, and where the drone flies.
PLACED: Final = re.compile(
    rf"(?:\b(?:to|on|in|towards?) (?:the )?)?\b{_POINT}(?: side)?"
    rf"(?: of {DRONE}|(?=\s*(?:[,.;?!]|$)| (?:and|or|at|when|while|than|after)\b))",
    re.IGNORECASE,
)
FLOWN: Final = re.compile(rf"(?P<go>\b{_GO}) (?:(?:to|towards?) )?(?:the )?{_POINT}(?:wards?)?\b(?! of)", re.IGNORECASE)
# Before a compass point: it is turned to, and not a place or a way flown.
FACING: Final = re.compile(rf"\b(?:{_TURN}|{_TILT}|fac(?:e|es|ed|ing)|orient(?:s|ed|ing)?) *$", re.IGNORECASE)
SIDES: Final[dict[str, float]] = {
    "ahead": 0.0,
    "right": 90.0,
    "behind": 180.0,
    "left": 270.0,
}  # clockwise from the nose
PLACED_AS: Final[dict[str, str]] = {
    "ahead": "ahead of the drone",
    "right": "to the right of the drone",
    "behind": "behind the drone",
    "left": "to the left of the drone",
}
FLOWN_AS: Final[dict[str, str]] = {"ahead": "forward", "right": "right", "behind": "backward", "left": "left"}
_HAND: Final = (
    r"\b(?:to|on) (?:the|its|{drone}) {side}(?:[- ]hand)?(?: side)?(?! of| side)|\b{side}(?: side)? of {drone}"
)
SIDE: Final = re.compile(
    "|".join(
        [
            rf"(?P<ahead>\bahead(?! of)|\bin front(?! of)|\b(?:ahead|in front) of {DRONE})",
            rf"(?P<behind>\bbehind (?:it|{DRONE})\b|\bbehind(?=\s*(?:[,.;]|$)))",
            f"(?P<left>{_HAND.format(side='left', drone=DRONE)})",
            f"(?P<right>{_HAND.format(side='right', drone=DRONE)})",
        ]
    )
)
SEEN: Final = re.compile(
    r"\b(?:see[sn]?|saw|visible|in(?:to)? (?:the )?(?:field of )?(?:view|sight)|appears?|observes?|observed)\b"
)
