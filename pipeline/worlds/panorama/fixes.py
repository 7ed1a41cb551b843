"""Corrections of a panorama: what a person who looked at it decides."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from pipeline.core.fixes import Fix, expected
from pipeline.worlds.panorama.facts import PanoramaScene


class IndoorFix(Fix):
    """Whether it was taken under a roof (ERGeoBench, table 9): indoors it is left out."""

    world = "panorama"
    path_parts: ClassVar[tuple[str, ...]] = ("indoor",)
    change_text = "indoor {0.expect} -> {0.set}"
    target: Literal["indoor"]
    expect: bool | None
    set: bool

    def check(self, scene: PanoramaScene) -> None:
        """Raises `UnexpectedError`."""
        expected("indoor", self.expect, scene.facts.indoor)


FIXES: Final[tuple[type[Fix], ...]] = (IndoorFix,)


def fix_panorama(scene: PanoramaScene, fixes: Sequence[IndoorFix]) -> PanoramaScene:
    """The panorama with all corrections."""
    for fix in fixes:
        told = scene.facts.source_tags | {"indoor": f"fix {fix.id}"}
        scene = scene.with_facts(indoor=fix.set, source_tags=told)
    return scene


def drafts(scene: PanoramaScene, operands: Sequence[str]) -> list[dict[str, Any]]:
    """Whether it was taken indoors, as it is stated now."""
    return [{"target": "indoor", "expect": scene.facts.indoor, "set": bool(scene.facts.indoor)}]
