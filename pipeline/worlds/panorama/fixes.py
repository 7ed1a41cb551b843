"""Corrections of a panorama: what a person who looked at it decides."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal

from pipeline.core.fixes import Fix, expected
from pipeline.geometry.views import WholeSphere
from pipeline.worlds.panorama.facts import PanoramaScene
from pipeline.worlds.world import SceneCheck


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
        source_tags = scene.facts.source_tags | {"indoor": f"fix {fix.id}"}
        scene = scene.with_facts(indoor=fix.set, source_tags=source_tags)
    return scene


def drafts(scene: PanoramaScene, operands: Sequence[str]) -> list[dict[str, Any]]:
    """Whether it was taken indoors, as it is stated now."""
    return [{"target": "indoor", "expect": scene.facts.indoor, "set": bool(scene.facts.indoor)}]


def _decided(scene: PanoramaScene, letter: str) -> dict[str, Any]:
    return {"target": "drop_scene"} if letter == "C" else drafts(scene, ())[0] | {"set": letter == "B"}


CHECK: Final = SceneCheck(  # the manual filtering of ERGeoBench, table 9
    "Where was this panorama taken?",
    ("A. Outdoors", "B. Indoors: under a roof, or in a vehicle", "C. It cannot be used: black, torn, or of nothing"),
    WholeSphere(long_side=1600),
    _decided,
)
