"""Embodiments, capabilities and sub-capabilities of Embodied4C (section 6.1 of the paper).

The caption of the paper's figure 5 files the relative sub-capabilities under temporal; its text and its counts do not.
"""

from __future__ import annotations

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
