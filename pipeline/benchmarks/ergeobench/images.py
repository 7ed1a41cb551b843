"""The pictures that a question shows, as its evidence tells them, and their names in a release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from pipeline.core.identity import DIGEST_CHARS, digest
from pipeline.questions.cases import Case

FOLDER: Final = "images"
SIZE: Final = (640, 480)  # of a view, pixels
FOV_DEG: Final = 90.0  # from left to right (ERGeoBench, section 4.1)
LONG_SIDE: Final = 1800  # of a whole panorama, at most (appendix F.1)
JPEG_QUALITY: Final = 92  # likewise
PANORAMA: Final = "panorama"  # flag of a question that shows the whole picture
EMBODIED: Final = "embodied"  # flag of a question that is asked in an environment
YAW, PITCH, FOV = VIEW_FACTS = ("view_yaw", "view_pitch", "view_fov")


@dataclass(frozen=True)
class Shot:
    """One picture: a view, degrees as in the facts (`Seen`), or the whole panorama, for which these are 0.

    A "panorama" is at most `LONG_SIDE` wide; the "source" is as wide as it was read: environments render from it.
    """

    kind: Literal["view", "panorama", "source"]
    yaw_deg: float = 0.0
    pitch_deg: float = 0.0
    fov_deg: float = 0.0


WHOLE: Final = Shot("panorama")
SOURCE: Final = Shot("source")


def show(case: Case, *shots: Shot) -> None:
    """Writes into a candidate's evidence which views it shows, in order, and that it shows the whole panorama."""
    if WHOLE in shots:
        case.flags.append(PANORAMA)
    if SOURCE in shots:
        case.flags.append(EMBODIED)
    for number, shot in enumerate((shot for shot in shots if shot.kind == "view"), start=1):
        for name, value in zip(VIEW_FACTS, (shot.yaw_deg, shot.pitch_deg, shot.fov_deg), strict=True):
            case.fact(name, f"view {number}", value, "deg")


def shots_of(row: Mapping[str, Any]) -> tuple[Shot, ...]:
    """The pictures of a question (`tables.QUESTIONS`), in order: the whole panorama before its views."""
    flags = row["flags"] or ()
    whole = [shot for flag, shot in ((EMBODIED, SOURCE), (PANORAMA, WHOLE)) if flag in flags]
    found: dict[str, dict[str, float]] = {}
    for fact in row["evidence"] or ():
        if fact["name"] in VIEW_FACTS:
            found.setdefault(fact["subject"], {})[fact["name"]] = fact["value"]
    views = [Shot("view", view[YAW], view[PITCH], view[FOV]) for _, view in sorted(found.items())]
    return (*whole, *views)


def file_of(scene: str, shot: Shot) -> str:
    """The picture's path in a release: it tells nothing, and equal views of a scene have one."""
    told = (shot.kind, *(f"{x:.6f}" for x in (shot.yaw_deg, shot.pitch_deg, shot.fov_deg)))
    return f"{FOLDER}/{digest(scene, *told).hex()[:DIGEST_CHARS]}.jpg"
