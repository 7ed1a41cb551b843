"""Embodiments, capabilities and sub-capabilities of Embodied4C (section 6.1 of the paper).

The caption of the paper's figure 5 files the relative sub-capabilities under temporal; its text and its counts do not.

Flags of a candidate carry what a question has beside its answer: embodiment, accepted forms, sensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DRIVING, AERIAL, MANIPULATION = DOMAINS = ("driving", "aerial", "manipulation")
SCORES_OF: Final = {DRIVING: "DS", AERIAL: "AS", MANIPULATION: "MS"}  # what table 2 calls S_b
GEN, VLN = "GEN", "VLN"
SUBS: Final[dict[str, tuple[str, ...]]] = {
    "SEM": ("CL", "AT", "ST"),
    "SPA": ("LC", "DT", "OR", "TP", "CT", "R/S", "R/P", "R/D"),
    "TEM": ("M/T", "S/M", "L/M"),
    "PHY": ("MD", "CS", "M/P", "E/E"),
}
CAPABILITY: Final[dict[str, str]] = {sub: name for name, subs in SUBS.items() for sub in subs} | {GEN: GEN, VLN: VLN}
SAID: Final[dict[str, str]] = {
    "CL": "classes",
    "AT": "attributes",
    "ST": "states",
    "LC": "location",
    "DT": "distance",
    "OR": "orientation",
    "TP": "topology",
    "CT": "counting",
    "R/S": "relative size",
    "R/P": "relative position",
    "R/D": "relative distance",
    "M/T": "movement and time",
    "S/M": "short-term memory",
    "L/M": "long-term memory",
    "MD": "model dynamics",
    "CS": "constraints",
    "M/P": "material properties",
    "E/E": "environmental effects",
    GEN: "domain-far",
    VLN: "instructions carried out",
}
# Questions of each capability in the paper, by embodiment (section 6.1).
PUBLISHED: Final[dict[str, dict[str, int]]] = {
    DRIVING: {"SEM": 59, "SPA": 123, "TEM": 58, "PHY": 89, GEN: 54},
    AERIAL: {"SEM": 71, "SPA": 143, "TEM": 54, "PHY": 49, GEN: 41},
    MANIPULATION: {"SEM": 67, "SPA": 165, "TEM": 68, "PHY": 78, GEN: 30},
}


# Eighths of the circle, counter-clockwise from straight ahead.
EIGHTHS: Final[dict[str, tuple[str, ...]]] = {
    "ahead": ("in front", "front", "straight ahead", "directly ahead"),
    "ahead on the left": ("front left", "front-left", "ahead left", "in front to the left"),
    "on the left": ("left", "to the left"),
    "behind on the left": ("rear left", "back left", "behind left", "behind to the left"),
    "behind": ("rear", "back", "directly behind"),
    "behind on the right": ("rear right", "back right", "behind right", "behind to the right"),
    "on the right": ("right", "to the right"),
    "ahead on the right": ("front right", "front-right", "ahead right", "in front to the right"),
}
# Eighths of the compass, clockwise from north.
COMPASS: Final[dict[str, tuple[str, ...]]] = {
    "north": ("N", "to the north"),
    "north-east": ("NE", "northeast", "north east", "to the north-east"),
    "east": ("E", "to the east"),
    "south-east": ("SE", "southeast", "south east", "to the south-east"),
    "south": ("S", "to the south"),
    "south-west": ("SW", "southwest", "south west", "to the south-west"),
    "west": ("W", "to the west"),
    "north-west": ("NW", "northwest", "north west", "to the north-west"),
}


DOMAIN, ACCEPTED, SENSORS, MODALITY, SUB = KEYS = ("domain", "accepted", "sensors", "modality", "sub-capability")
RGB, DRAWN = SHOWN = ("RGB", "drawn")  # modalities that have a video
_SEPARATOR: Final = ": "


def flag(key: str, value: str) -> str:
    """One flag."""
    return f"{key}{_SEPARATOR}{value}"


def modality(filmed: bool, drawable: bool) -> str:
    """What there is to look at: pictures of cameras, a film drawn of the log (stage `bev_video`), or neither."""
    return flag(MODALITY, RGB if filmed else DRAWN if drawable else "state")


def of_flags(flags: Iterable[str] | None, key: str) -> list[str]:
    """The values of a key, in order."""
    parts = [name.partition(_SEPARATOR) for name in flags or ()]
    return [value for name, _, value in parts if name == key]
