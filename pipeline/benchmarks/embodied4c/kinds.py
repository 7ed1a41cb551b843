"""Embodiments, capabilities and sub-capabilities of Embodied4C (section 6.1 of the paper).

The caption of the paper's figure 5 files the relative sub-capabilities under temporal; its text and its counts do not.

Flags of a candidate carry what a question has beside its answer: embodiment, accepted forms, sensors, conditions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pipeline.core.templates import load_table

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

DOMAIN, ACCEPTED, SENSORS, MODALITY, SUB = ("domain", "accepted", "sensors", "modality", "sub-capability")
SETUP, WEATHER, ILLUMINATION = CONDITIONS = ("sensor_setup", "weather", "illumination")
SETUPS: Final[dict[str, dict[str, list[dict[str, Any]]]]] = load_table("embodied4c/sensor_setups")  # by embodiment
RGB, DRAWN = SHOWN = ("RGB", "drawn")  # modalities that have a video
_SEPARATOR: Final = ": "


def flag(key: str, value: str) -> str:
    """One flag."""
    return f"{key}{_SEPARATOR}{value}"


def of_flags(flags: Iterable[str] | None, key: str) -> list[str]:
    """The values of a key, in order."""
    parts = [name.partition(_SEPARATOR) for name in flags or ()]
    return [value for name, _, value in parts if name == key]
