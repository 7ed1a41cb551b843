"""Files that a reader looks for in a scene's folder, and what each one missing costs: what `doctor` tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NO_SCENE: Final = "the scene is left out"
NO_SIGHT: Final = "no visibility: no appearance order, unseen objects are asked about and counted"
NO_VIDEO: Final = "no standardised video"
NO_DEPTH: Final = "visibility is not checked against measured depth"


@dataclass(frozen=True)
class Want:
    """One part of a scene: any of some patterns below its folder ("{}" is the scene's name), and what it is for.

    Attributes:
        recorded: endings, in lower case, of which a scene has one where it is some files of a folder that it shares.
    """

    part: str
    patterns: tuple[str, ...]
    without: str
    needed: bool = False
    recorded: tuple[str, ...] = ()
