"""The furniture of a sample street: cars, trees, lamps, boxes, stops, signs and things that lie on its ground.

Pieces that are the same wherever they stand are data (templates/tables/samples/panorama_furniture.yaml).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pipeline.core.templates import load_table
from pipeline.samples.common.city_plan import Color
from pipeline.samples.panorama.scene import GLASS, LEAVES, PLAIN, STRIPES, StreetScene
from pipeline.samples.panorama.towns import COLORS, Town

_TRUNK: Final[Color] = (104, 78, 54)
_METAL: Final[Color] = (150, 152, 156)
_LEAVES: Final[dict[str, Color]] = {"broadleaf": (86, 132, 58), "conifer": (44, 92, 62), "palm": (112, 148, 66)}
_SPEEDS: Final = {"left": ("40", "50", "60"), "right": ("30", "50", "20")}
_LOOKS: Final = {"plain": PLAIN, "glass": GLASS, "leaves": LEAVES}
_PIECES: Final[dict[str, dict[str, Any]]] = load_table("samples/panorama_furniture")


def piece(scene: StreetScene, name: str, along: float, across: float, colour: str | None = None) -> None:
    """A piece of the table, lengthwise at a place of the street."""
    made = _PIECES[name]
    at, outward = scene.street.at(along, across), 1.0 if across > 0 else -1.0
    attributes = {"colour": colour} if colour else {}
    i = scene.thing(made["label"], at, made.get("slot"), kind=made.get("kind"), **attributes)
    for part in made["parts"]:
        paint, look = part.get("paint", colour), _LOOKS[part.get("look", "plain")]
        if "lathe" in part:
            rgb = COLORS[paint] if isinstance(paint, str) else paint
            scene.solids.lathe(at, part["lathe"], rgb, (i,), look, part.get("sides", 10))
        elif "board" in part:
            shift, low, *size = part["board"]
            faces = "left" if across > 0 else "right"  # to be read from the road
            scene.board(along, across + shift * outward, low, size, part["words"], part["ink"], paint, faces, i)
        else:
            (back, ahead, near, far, low, high), side = part["box"], outward if part.get("outward") else 1.0
            for end in part.get("ends", (0.0,)):
                ends = (along + end + back, along + end + ahead)
                scene.block(ends, (across + near * side, across + far * side), (low, high), paint, i, look=look)


def put(scene: StreetScene, town: Town, rng: np.random.Generator, name: str, along: float, across: float) -> None:
    """A piece of the table in one of its colours or the town's, or one of `_OTHERS`."""
    if name in _OTHERS:
        _OTHERS[name](scene, town, rng, along, across)
        return
    colours = _PIECES[name]["colour"]
    colour = getattr(town, colours) if isinstance(colours, str) else str(rng.choice(colours))
    piece(scene, name, along, across, colour)


def tree(scene: StreetScene, form: str, along: float, across: float, height: float) -> None:
    """A tree of one of three forms."""
    at = scene.street.at(along, across)
    i = scene.thing("tree", at, "Vegetation", form=form)
    crown = _LEAVES[form]
    if form == "conifer":
        scene.solids.lathe(at, ((0.14, 0.0), (0.14, 0.9)), _TRUNK, (i,))
        scene.solids.lathe(at, ((0.0, 0.8), (1.3, 0.9), (0.0, height)), crown, (i,), LEAVES)
    elif form == "palm":
        scene.solids.lathe(at, ((0.2, 0.0), (0.14, height - 0.6)), _TRUNK, (i,))
        fronds = ((0.0, height - 0.5), (1.7, height - 1.1), (1.5, height - 0.7), (0.0, height))
        scene.solids.lathe(at, fronds, crown, (i,), LEAVES, 9)
    else:
        scene.solids.lathe(at, ((0.16, 0.0), (0.14, 2.2)), _TRUNK, (i,))
        low = 1.9
        bulge = [(np.sin(np.pi * t), low + (height - low) * (1 - np.cos(np.pi * t)) / 2) for t in np.linspace(0, 1, 8)]
        scene.solids.lathe(at, [(1.5 * float(r), float(z)) for r, z in bulge], crown, (i,), LEAVES, 12)


def hedge(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A clipped hedge."""
    form = str(rng.choice(["round", "square"]))
    at = scene.street.at(along, across)
    i = scene.thing("bush", at, "Vegetation", form=form)
    if form == "round":
        profile = [
            (0.8 * float(np.sin(np.pi * t)), 0.75 - 0.75 * float(np.cos(np.pi * t))) for t in np.linspace(0, 1, 7)
        ]
        scene.solids.lathe(at, profile, (58, 104, 52), (i,), LEAVES)
    else:
        scene.block((along - 0.8, along + 0.8), (across - 0.4, across + 0.4), (0.0, 1.1), (58, 104, 52), i, look=LEAVES)


def speed_sign(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A sign with the highest speed, to be read on the way to the middle of the scene."""
    words = str(rng.choice(_SPEEDS[town.drives]))
    i = scene.thing("speed limit sign", scene.street.at(along, across), "Signage", words, number=words)
    scene.solids.lathe(scene.street.at(along, across), ((0.05, 0.0), (0.05, 2.2)), _METAL, (i,), sides=6)
    faces, inwards = scene.inwards(along)
    scene.block((along - 0.02, along + 0.02), (across - 0.52, across + 0.52), (2.1, 3.14), "red", i)
    scene.board(along + 0.07 * inwards, across, 2.2, (0.84, 0.84), words, "black", "white", faces, i)


def name_sign(scene: StreetScene, town: Town, name: str, along: float, across: float) -> None:
    """The sign with the street's name, to be read from the middle of the scene."""
    paint = {"Dutch": "blue", "Spanish": "white", "German": "white", "French": "blue"}.get(town.language, "green")
    ink = "black" if paint == "white" else "white"
    i = scene.thing("street sign", scene.street.at(along, across), "Signage", name, colour=paint)
    scene.solids.lathe(scene.street.at(along, across), ((0.05, 0.0), (0.05, 3.2)), _METAL, (i,), sides=6)
    faces, inwards = scene.inwards(along)
    scene.board(along + 0.06 * inwards, across, 2.5, (2.6, 0.5), name, ink, paint, faces, i)


def crossing(scene: StreetScene, along: float) -> None:
    """A pedestrian crossing with a traffic light on either side."""
    i = scene.thing("pedestrian crossing", scene.street.at(along, 0.0), "Infrastructure")
    scene.block((along - 1.6, along + 1.6), (-5.8, 5.8), (0.0, 0.015), "white", i, look=STRIPES)
    for across in (-6.5, 6.5):
        at = scene.street.at(along + 2.2, across)
        shown = "red" if across < 0 else "green"
        k = scene.thing("traffic light", at, "Infrastructure", shows=shown)
        scene.solids.lathe(at, ((0.07, 0.0), (0.07, 2.4)), _METAL, (k,), sides=8)
        end = along + 2.2
        scene.block((end - 0.25, end + 0.25), (across - 0.25, across + 0.25), (2.3, 3.5), "black", k)
        _, inwards = scene.inwards(along)
        for low, color in ((3.1, "red"), (2.72, "yellow"), (2.36, "green")):
            paint = COLORS[color] if color == shown else (58, 58, 60)
            ends = (end + 0.24 * inwards, end + 0.3 * inwards)
            scene.block((min(ends), max(ends)), (across - 0.15, across + 0.15), (low, low + 0.3), paint, k)


def hill(scene: StreetScene, cover: str, along: float, across: float, height: float) -> None:
    """A hill behind the town."""
    colors: dict[str, Color] = {"woods": (66, 96, 62), "grass": (128, 148, 92), "rock": (150, 138, 124)}
    at = scene.street.at(along, across)
    i = scene.thing("hill", at, "Terrain", cover=cover)
    profile = [(2.2 * height, 0.0), (1.5 * height, 0.45 * height), (0.7 * height, 0.85 * height), (0.0, height)]
    scene.solids.lathe(at, profile, colors[cover], (i,), LEAVES, 24)


_OTHERS: Final[dict[str, Callable[[StreetScene, Town, np.random.Generator, float, float], None]]] = {
    "hedge": hedge,
    "speed sign": speed_sign,
}
FURNITURE: Final = (
    "lamp", "bin", "post box", "phone box", "bench", "bus stop", "hydrant", "flower bed", "hedge", "speed sign", "lamp",
    "bin", "flower bed",
)  # fmt: skip
