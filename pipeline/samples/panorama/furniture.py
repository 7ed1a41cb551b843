"""The furniture of a sample street: cars, trees, lamps, boxes, stops, signs and what lies on its ground."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from pipeline.samples.common.city_plan import Color
from pipeline.samples.panorama.scene import GLASS, LEAVES, STRIPES, StreetScene
from pipeline.samples.panorama.towns import COLORS, Town

Put = Callable[[StreetScene, Town, np.random.Generator, float, float], None]

_TRUNK: Final[Color] = (104, 78, 54)
_METAL: Final[Color] = (150, 152, 156)
_LEAVES: Final[dict[str, Color]] = {"broadleaf": (86, 132, 58), "conifer": (44, 92, 62), "palm": (112, 148, 66)}
_SPEEDS: Final = {"left": ("40", "50", "60"), "right": ("30", "50", "20")}


def car(scene: StreetScene, color: str, along: float, across: float) -> None:
    """A parked car, lengthwise."""
    i = scene.thing("car", scene.street.at(along, across), colour=color)
    body = (across - 0.9, across + 0.9)
    scene.block((along - 2.1, along + 2.1), body, (0.35, 0.95), color, i)
    scene.block((along - 1.3, along + 1.1), (across - 0.8, across + 0.8), (0.95, 1.4), (44, 52, 62), i, look=GLASS)
    scene.block((along - 1.2, along + 1.0), (across - 0.75, across + 0.75), (1.4, 1.48), color, i)
    for end in (-1.35, 1.35):
        wheels = (across - 0.93, across + 0.93)
        scene.block((along + end - 0.32, along + end + 0.32), wheels, (0.0, 0.64), "black", i)


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


def lamp(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A street lamp; its arm reaches over the road."""
    i = scene.thing("street lamp", scene.street.at(along, across), "Infrastructure", colour=town.lamp)
    scene.solids.lathe(scene.street.at(along, across), ((0.09, 0.0), (0.07, 5.4)), COLORS[town.lamp], (i,), sides=8)
    side = -1.0 if across > 0 else 1.0
    scene.block((along - 0.06, along + 0.06), (across, across + 1.2 * side), (5.3, 5.42), town.lamp, i)
    scene.block((along - 0.22, along + 0.22), (across + 0.9 * side, across + 1.5 * side), (5.12, 5.3), "white", i)


def bin_(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A waste bin."""
    color = str(rng.choice(["green", "grey", "orange", "blue"]))
    at = scene.street.at(along, across)
    i = scene.thing("waste bin", at, "Infrastructure", colour=color)
    scene.solids.lathe(at, ((0.3, 0.1), (0.36, 1.05), (0.2, 1.15)), COLORS[color], (i,))


def post_box(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A post box in the country's colour."""
    i = scene.thing("post box", scene.street.at(along, across), "Infrastructure", colour=town.post_box)
    scene.block((along - 0.32, along + 0.32), (across - 0.25, across + 0.25), (0.5, 1.5), town.post_box, i)
    scene.block((along - 0.08, along + 0.08), (across - 0.08, across + 0.08), (0.0, 0.5), _METAL, i)
    scene.block((along - 0.22, along + 0.22), (across - 0.27, across + 0.27), (1.22, 1.3), "black", i)


def phone_box(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A phone box."""
    color = str(rng.choice(["red", "blue", "grey"]))
    i = scene.thing("phone box", scene.street.at(along, across), "Infrastructure", colour=color)
    scene.block((along - 0.45, along + 0.45), (across - 0.45, across + 0.45), (0.0, 0.5), color, i)
    scene.block(
        (along - 0.42, along + 0.42), (across - 0.42, across + 0.42), (0.5, 2.0), (120, 148, 160), i, look=GLASS
    )
    scene.block((along - 0.48, along + 0.48), (across - 0.48, across + 0.48), (2.0, 2.4), color, i)


def bench(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A bench."""
    color = str(rng.choice(["brown", "green", "grey"]))
    i = scene.thing("bench", scene.street.at(along, across), "Infrastructure", colour=color)
    side = 1.0 if across > 0 else -1.0
    scene.block((along - 0.9, along + 0.9), (across - 0.25, across + 0.25), (0.4, 0.48), color, i)
    scene.block((along - 0.9, along + 0.9), (across + 0.2 * side, across + 0.28 * side), (0.48, 0.95), color, i)
    for end in (-0.75, 0.75):
        scene.block((along + end - 0.05, along + end + 0.05), (across - 0.2, across + 0.2), (0.0, 0.4), _METAL, i)


def bus_stop(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A shelter."""
    color = str(rng.choice(["blue", "green", "red"]))
    i = scene.thing("bus stop", scene.street.at(along, across), "Infrastructure", kind="bus_stop", colour=color)
    side = 1.0 if across > 0 else -1.0
    scene.block((along - 1.7, along + 1.7), (across - 0.65, across + 0.65), (2.3, 2.45), color, i)
    scene.block((along - 1.6, along + 1.6), (across + 0.55 * side, across + 0.6 * side), (0.2, 2.3), (148, 174, 184), i,
                look=GLASS)  # fmt: skip
    for end in (-1.55, 1.55):
        scene.block((along + end - 0.05, along + end + 0.05), (across - 0.6, across + 0.6), (0.0, 2.3), color, i)
    faces = "left" if across > 0 else "right"  # to be read from the road
    scene.board(along, across - 0.66 * side, 2.46, (1.6, 0.5), "BUS", "white", color, faces, i)


def hydrant(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A fire hydrant."""
    color = str(rng.choice(["red", "yellow"]))
    at = scene.street.at(along, across)
    i = scene.thing("fire hydrant", at, "Infrastructure", colour=color)
    scene.solids.lathe(at, ((0.24, 0.0), (0.2, 0.6), (0.26, 0.62), (0.22, 0.8), (0.0, 0.95)), COLORS[color], (i,))
    scene.block((along - 0.34, along + 0.34), (across - 0.09, across + 0.09), (0.42, 0.58), color, i)


def flower_bed(scene: StreetScene, town: Town, rng: np.random.Generator, along: float, across: float) -> None:
    """A box of flowers."""
    color = str(rng.choice(["red", "yellow", "white", "pink"]))
    i = scene.thing("flower bed", scene.street.at(along, across), "Vegetation", colour=color)
    scene.block((along - 0.9, along + 0.9), (across - 0.4, across + 0.4), (0.0, 0.4), "brown", i)
    scene.block((along - 0.82, along + 0.82), (across - 0.34, across + 0.34), (0.4, 0.62), color, i, look=LEAVES)


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


def ground_patch(scene: StreetScene, what: str, along: float, across: float) -> None:
    """Something flat on the ground."""
    forms: dict[str, tuple[Color, float, float]] = {
        "puddle": ((96, 112, 128), 0.9, 0.5), "gravel patch": ((178, 164, 140), 1.3, 0.8),
        "manhole cover": ((70, 68, 66), 0.45, 0.45), "grass verge": ((96, 136, 66), 2.4, 0.7),
    }  # fmt: skip
    color, half_along, half_across = forms[what]
    at = scene.street.at(along, across)
    i = scene.thing(what, at, "Infrastructure" if what == "manhole cover" else "Terrain")
    if what == "grass verge":
        scene.block((along - half_along, along + half_along), (across - half_across, across + half_across), (0.0, 0.05),
                    color, i, look=LEAVES)  # fmt: skip
    elif what == "manhole cover":
        scene.solids.lathe(at, ((half_along, 0.0), (half_along, 0.02), (0.0, 0.025)), color, (i,), sides=16)
    else:
        scene.solids.lathe(at, ((half_along, 0.0), (half_along, 0.02), (0.0, 0.03)), color, (i,), sides=14)


def hill(scene: StreetScene, cover: str, along: float, across: float, height: float) -> None:
    """A hill behind the town."""
    colors: dict[str, Color] = {"woods": (66, 96, 62), "grass": (128, 148, 92), "rock": (150, 138, 124)}
    at = scene.street.at(along, across)
    i = scene.thing("hill", at, "Terrain", cover=cover)
    profile = [(2.2 * height, 0.0), (1.5 * height, 0.45 * height), (0.7 * height, 0.85 * height), (0.0, height)]
    scene.solids.lathe(at, profile, colors[cover], (i,), LEAVES, 24)


FURNITURE: Final[tuple[Put, ...]] = (
    lamp, bin_, post_box, phone_box, bench, bus_stop, hydrant, flower_bed, hedge, speed_sign, lamp, bin_, flower_bed,
)  # fmt: skip
