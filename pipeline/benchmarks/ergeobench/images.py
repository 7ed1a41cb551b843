"""The pictures that a question shows, as its evidence tells them, and their names in a release."""

from collections.abc import Mapping
from typing import Any, Final

from pipeline.core.identity import digest
from pipeline.geometry.views import PinholeView, WholeSphere
from pipeline.questions.cases import Case

FOLDER: Final = "views"
NAME_CHARS: Final = 16  # hex; 64 bits
FOV_DEG: Final = 90.0  # from left to right (ERGeoBench, section 4.1)
LONG_SIDE: Final = 1800  # of a whole panorama, at most (appendix F.1)
PANORAMA: Final = "panorama"  # flag of a question that shows the whole picture
EMBODIED: Final = "embodied"  # flag of a question that is asked in an environment
VIEW_FACTS: Final = ("view_yaw", "view_pitch", "view_fov")
WHOLE: Final = WholeSphere(long_side=LONG_SIDE)
SOURCE: Final = WholeSphere()  # as wide as it was read: environments render from it
PictureRef = PinholeView | WholeSphere


def show(case: Case, *shown: PictureRef) -> None:
    """Writes into a candidate what it shows, in order: views into its evidence, all else as flags."""
    case.flags += [EMBODIED if own == SOURCE else PANORAMA for own in shown if not isinstance(own, PinholeView)]
    for number, view in enumerate((own for own in shown if isinstance(own, PinholeView)), start=1):
        for name, value in zip(VIEW_FACTS, (view.yaw_deg, view.pitch_deg, view.fov_deg), strict=True):
            case.fact(name, f"view {number}", value, "deg")


def shown_in(row: Mapping[str, Any]) -> tuple[PictureRef, ...]:
    """The pictures of a question (`tables.QUESTIONS`), in order: the whole panorama before its views."""
    flags = row["flags"] or ()
    whole: list[PictureRef] = [SOURCE] if EMBODIED in flags else [WHOLE] if PANORAMA in flags else []
    found: dict[str, list[float]] = {}
    for fact in row["evidence"] or ():
        if fact["name"] in VIEW_FACTS:
            found.setdefault(fact["subject"], []).append(fact["value"])
    views = [PinholeView(yaw_deg=yaw, pitch_deg=pitch, fov_deg=fov) for yaw, pitch, fov in found.values()]
    return (*whole, *views)


def file_of(scene: str, shown: PictureRef) -> str:
    """The picture's path in a release: it tells nothing, and equal views of a scene have one."""
    record = shown.model_dump_json()
    return f"{FOLDER}/{scene}/{digest(type(shown).__name__, scene, record).hex()[:NAME_CHARS]}.jpg"


def pictures_of(row: Mapping[str, Any]) -> list[tuple[str, PictureRef]]:
    """The pictures of a question with their files."""
    return [(file_of(row["scene"], shown), shown) for shown in shown_in(row)]
