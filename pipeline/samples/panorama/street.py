"""The view from a place of a sample town: houses, shops with signs, and furniture.

Pieces that are the same wherever they stand are data (templates/tables/samples/panorama_furniture.yaml).
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table
from pipeline.samples.common.city_plan import ROOFS, Color, Planted, planted
from pipeline.samples.panorama.scene import FACADE, GLASS, LEAVES, PLAIN, STRIPES, StreetScene, spread
from pipeline.samples.panorama.towns import ALIKE, COLORS, KINDS, UNIT_M, WALL_M, PlantedSpot, Town, box, fronts, houses

CAMERA_M: Final = 2.5  # above the ground
_GAP_M: Final = 1.0
_NEAR_M: Final = 5.0  # along the street, to the nearer of two shops that serve one need
_FAR_M: Final = 14.0  # to the farther one, across the street; its sign has one word, to be read from there
_LEVEL_M: Final = 3.2
_ROOF_DEG: Final = 39.0  # above the horizon: higher than level views show
_DOORS: Final = ("orange", "yellow", "black", "pink")  # colours of doors that no shop has
_PARKED_M: Final = 4.9
_CAR_COLORS: Final = ("red", "white", "blue", "black", "yellow", "green", "orange", "silver")
_OTHER_TREE: Final = {"broadleaf": "conifer", "conifer": "broadleaf", "palm": "broadleaf"}


def built(spot: PlantedSpot) -> StreetScene:
    """All that there is to be seen from a place."""
    scene, town = StreetScene(spot.street, spot.along), spot.town
    rng = rng_for("sample panorama street", spot.id)
    if not spot.name:
        return _grassland(scene, spot, rng)
    _town(scene, town)
    _shops(scene, spot, rng)
    _furnish(scene, spot, rng)
    covers = ["woods", "grass", "rock"]
    for n, end in enumerate((-1.0, 1.0)):
        cover = covers[int(rng.integers(3))]
        hill(scene, cover, spot.along + end * (330.0 + 40 * n), float(rng.uniform(-18, 18)), float(rng.uniform(30, 46)))
    return scene


def _grassland(scene: StreetScene, spot: PlantedSpot, rng: np.random.Generator) -> StreetScene:
    """Grassland: hills all around, single trees, a pond of gravel or two."""
    for n in range(5):
        turn, far = np.radians(72 * n + float(rng.uniform(-20, 20))), float(rng.uniform(220, 420))
        cover = ("woods", "grass", "rock")[int(rng.integers(3))]
        height = float(rng.uniform(24, 60))
        hill(scene, cover, spot.along + far * float(np.cos(turn)), spot.across + far * float(np.sin(turn)), height)
    for _ in range(9):
        turn, far = float(rng.uniform(0, 2 * np.pi)), float(rng.uniform(8, 60))
        form = spot.town.tree if rng.random() < 0.7 else _OTHER_TREE[spot.town.tree]
        along, across = spot.along + far * float(np.cos(turn)), spot.across + far * float(np.sin(turn))
        tree(scene, form, along, across, float(rng.uniform(4, 9)))
    piece(scene, "gravel patch", spot.along + 6.0, spot.across - 4.0)
    return scene


def _town(scene: StreetScene, town: Town) -> None:
    """Houses, lawns, and what stands on squares and in parks."""
    for thing in planted(town.plan):
        rng = rng_for("sample panorama looks", town.plan.id, thing.id)
        if thing.kind == "building":
            _house(scene, town, thing, rng)
        elif thing.kind == "park":
            (x, y), (u, v) = box(thing)
            i = scene.thing("lawn", None, "Vegetation")
            scene.solids.box((x, y, 0.0), (u, v, 0.05), (100, 140, 68), (i,), LEAVES)
        elif thing.kind == "tree":
            form = town.tree if rng.random() < 0.7 else _OTHER_TREE[town.tree]
            (x, y), street = thing.center, scene.street
            along, across = (y, x - street.line) if street.is_north else (x, street.line - y)
            tree(scene, form, along, across, float(rng.uniform(4.5, 8.0)))
        elif thing.kind in {"fountain", "statue", "kiosk"}:
            _landmark(scene, thing)
        elif thing.kind == "parking":
            (x, y), (u, v) = box(thing)
            scene.solids.box((x, y, 0.0), (u, v, 0.03), (104, 104, 108))


def _house(scene: StreetScene, town: Town, house: Planted, rng: np.random.Generator) -> None:
    wall = str(rng.choice(town.walls))
    levels = int(rng.integers(2, 6))
    top = levels * _LEVEL_M + 0.6
    (x, y), (u, v) = box(house)
    shape, paint = str(rng.choice(["gabled", "pyramidal", "flat"])), str(rng.choice(["red", "grey", "brown"]))
    scene.roofs.append(((x, y), (u, v), top))
    i = scene.thing("building", None, "Architecture", colour=wall, storeys=str(levels), roof=shape)
    scene.solids.box((x, y, 0.0), (u, v, top), COLORS[wall], (i,), FACADE)
    scene.solids.box((x - 0.15, y - 0.15, top - 0.35), (u + 0.15, v + 0.15, top), (206, 202, 194), (i,))
    if shape == "flat":
        scene.solids.box((x + 2.0, y + 2.0, top), (x + 4.4, y + 4.4, top + 1.6), (168, 166, 160), (i,))
    else:
        rise = 0.22 * min(u - x, v - y)
        ridge = 0.55 if shape == "gabled" else 0.0
        scene.solids.roof((x - 0.3, y - 0.3), (u + 0.3, v + 0.3), top, rise, ridge, ROOFS[paint], (i,))


def _landmark(scene: StreetScene, thing: Planted) -> None:
    at = thing.center
    if thing.kind == "fountain":
        i = scene.thing("fountain", at, "Architecture")
        scene.solids.lathe(
            at, ((2.4, 0.0), (2.4, 0.7), (2.1, 0.7), (2.1, 0.4), (0.0, 0.4)), (172, 170, 166), (i,), sides=20
        )
        scene.solids.lathe(at, ((0.3, 0.4), (0.25, 1.8), (0.9, 2.0), (0.0, 2.2)), (186, 200, 210), (i,), sides=14)
    elif thing.kind == "statue":
        i = scene.thing("statue", at, "Architecture")
        scene.solids.box((at[0] - 0.8, at[1] - 0.8, 0.0), (at[0] + 0.8, at[1] + 0.8, 1.8), (158, 154, 146), (i,))
        scene.solids.lathe(at, ((0.35, 1.8), (0.45, 2.9), (0.2, 3.3), (0.24, 3.6), (0.0, 3.9)), (92, 112, 98), (i,))
    else:
        i = scene.thing("kiosk", at, "Architecture", kind="kiosk")
        scene.solids.box((at[0] - 1.4, at[1] - 1.4, 0.0), (at[0] + 1.4, at[1] + 1.4, 2.5), (60, 110, 90), (i,))
        scene.solids.roof((at[0] - 1.8, at[1] - 1.8), (at[0] + 1.8, at[1] + 1.8), 2.5, 1.0, 0.0, (150, 60, 50), (i,))


def _shops(scene: StreetScene, spot: PlantedSpot, rng: np.random.Generator) -> None:
    """Shops on the ground floors of the walls about a place, no two of a kind, and two that serve one need."""
    units = []
    for front in fronts(houses(spot.town), spot.street, spot.along):
        count = int((front.last - front.first + _GAP_M) // (UNIT_M + _GAP_M))
        slack = (front.last - front.first - count * (UNIT_M + _GAP_M) + _GAP_M) / 2
        units += [(front.side, front.first + slack + n * (UNIT_M + _GAP_M)) for n in range(count)]

    def off(unit: tuple[int, float], meant: float) -> float:
        return abs(abs(unit[1] + UNIT_M / 2 - spot.along) - meant)

    kinds = [kind for kind, _, _ in KINDS]
    group = ALIKE[int(rng.integers(len(ALIKE)))]
    pair = [kinds.index(group[k]) for k in rng.permutation(len(group))[:2].tolist()]
    others = [k for k in rng.permutation(len(kinds)).tolist() if kinds[k] not in group]
    beside = [unit for unit in units if unit[0] * spot.across > 0]
    near = min(beside or units, key=lambda unit: off(unit, _NEAR_M))
    far = min((unit for unit in units if unit[0] != near[0]), key=lambda unit: off(unit, _FAR_M), default=None)
    chosen = {near: pair[0]} | ({far: pair[1]} if far else {})
    doors = _doors(scene, spot, [unit for unit in units if unit not in chosen])
    paints = rng_for("sample panorama entrances", spot.id).permutation(len(_DOORS)).tolist()
    for (unit, top), paint in zip(doors.items(), paints, strict=False):
        _entrance(scene, spot.town, others.pop(), unit, top, _DOORS[paint])
    units = [unit for unit in units if unit not in doors]
    for unit in units:
        if unit not in chosen and others and rng.random() < 0.95:
            chosen[unit] = others.pop()
    for side, first in units:
        if (side, first) in chosen:
            _shop(scene, spot.town, chosen[side, first], first, side, rng, is_plain=(side, first) == far)


def _doors(scene: StreetScene, spot: PlantedSpot, units: Sequence[tuple[int, float]]) -> dict[tuple[int, float], float]:
    """Two fronts of one side and the height of their roofs, which no level view shows; none where there are no two."""
    found: dict[tuple[int, float], float] = {}
    for side, first in units:
        middle = first + UNIT_M / 2
        x, y = scene.street.at(middle, side * (WALL_M + 1.0))
        tops = [top for (a, b), (c, d), top in scene.roofs if a <= x <= c and b <= y <= d]
        away = np.hypot(middle - spot.along, side * WALL_M - spot.across)
        if tops and tops[0] - CAMERA_M > away * np.tan(np.radians(_ROOF_DEG)):
            found[side, first] = tops[0]
    sides = {side: sorted((abs(u[1] + UNIT_M / 2 - spot.along), u) for u in found if u[0] == side) for side in (-1, 1)}
    two = [own[:2] for own in sides.values() if len(own) > 1]
    return {unit: found[unit] for _, unit in min(two, default=[])}


def _entrance(scene: StreetScene, town: Town, number: int, unit: tuple[int, float], top: float, paint: str) -> None:
    """A door to a place of which only a sign on the roof tells what it is."""
    side, first = unit
    middle = first + UNIT_M / 2
    at = scene.street.at(middle, side * WALL_M)
    words = town.words[number]
    door = scene.thing("entrance", at, "Architecture", colour=paint)
    scene.block((middle - 0.65, middle + 0.65), (side * (WALL_M - 0.12), side * WALL_M), (0.0, 2.5), paint, door)
    sign = scene.thing("roof sign", at, "Signage", words, KINDS[number][0])
    faces, ends = "left" if side > 0 else "right", (side * (WALL_M - 0.5), side * (WALL_M - 0.4))
    scene.block((middle - 2.2, middle + 2.2), ends, (top + 0.1, top + 1.4), "grey", sign)
    scene.board(middle, side * (WALL_M - 0.52), top + 0.12, (4.36, 1.26), words, "white", "black", faces, sign)


def _shop(
    scene: StreetScene, town: Town, number: int, first: float, side: int, rng: np.random.Generator, is_plain: bool
) -> None:
    kind, _, label = KINDS[number]
    name = town.names[int(rng.integers(len(town.names)))]
    words = town.words[number] if is_plain else f"{town.words[number]} {name}"
    paint = str(rng.choice(["red", "blue", "green", "black", "yellow", "white", "orange"]))
    ink = "black" if paint in {"yellow", "white", "orange"} else "white"
    middle, last = first + UNIT_M / 2, first + UNIT_M
    wall, proud = side * WALL_M, side * (WALL_M - 0.15)
    at = scene.street.at(middle, proud)
    shop = scene.thing(label, at, None, words, kind)
    sign = scene.thing("shop sign", at, "Signage", words, colour=paint, language=town.language)
    scene.block((first, last), (proud, wall), (0.0, 0.5), (112, 108, 104), shop)
    scene.block((first, last), (proud, wall), (0.5, 2.8), (70, 88, 100), shop, look=GLASS)
    scene.block((first, last), (side * (WALL_M - 0.2), wall), (2.8, 3.9), paint, shop, sign)
    faces = "left" if side > 0 else "right"
    scene.board(middle, side * (WALL_M - 0.22), 2.86, (UNIT_M - 0.1, 0.98), words, ink, paint, faces, shop, sign)
    color = str(rng.choice(["red", "green", "blue", "brown", "white"]))
    door = scene.thing("door", scene.street.at(first + 0.8, proud), "Architecture", colour=color)
    scene.block((first + 0.2, first + 1.4), (side * (WALL_M - 0.2), proud), (0.0, 2.4), color, shop, door)
    if rng.random() < 0.35:
        color = str(rng.choice(["red", "green", "blue", "yellow"]))
        awning = scene.thing(
            "awning", scene.street.at(middle + 0.8, side * (WALL_M - 0.7)), "Architecture", colour=color
        )
        scene.block((first + 1.6, last - 0.1), (side * (WALL_M - 1.2), proud), (2.56, 2.68), color, awning)
        edge = (side * (WALL_M - 1.2), side * (WALL_M - 1.14))
        scene.block((first + 1.6, last - 0.1), edge, (2.32, 2.6), "white", awning)


def _furnish(scene: StreetScene, spot: PlantedSpot, rng: np.random.Generator) -> None:
    """Furniture at the kerbs: no two things in one place, and some of all kinds."""
    town = spot.town
    places = [
        (spot.along + ahead + float(rng.uniform(-0.5, 0.5)), side * float(rng.uniform(6.7, 7.3)))
        for side in (-1, 1)
        for ahead in spread(-24.0, 24.0, 13)
    ]
    near = [place for place in places if np.hypot(place[0] - spot.along, place[1] - spot.across) >= 6.0]
    order = [near[k] for k in rng.permutation(len(near)).tolist()]
    name_sign(scene, town, spot.name, *min(order, key=lambda place: abs(abs(place[0] - spot.along) - 9.0)))
    order.remove(min(order, key=lambda place: abs(abs(place[0] - spot.along) - 9.0)))
    for name in FURNITURE:
        put(scene, town, rng, name, *order.pop())
    for form in (town.tree, _OTHER_TREE[town.tree], town.tree):
        along, across = order.pop()
        tree(scene, form, along, across, float(rng.uniform(4.0, 6.0)))
    crossing(scene, spot.along + float(rng.choice([-1.0, 1.0])) * float(rng.uniform(13.0, 19.0)))
    colors = [_CAR_COLORS[k] for k in rng.permutation(len(_CAR_COLORS)).tolist()]
    for side in (-1.0, 1.0):
        for ahead in (-20.0, -9.0, 8.0, 22.0):
            if rng.random() < 0.45 and abs(side * _PARKED_M - spot.across) > 2.5:
                color = colors.pop()
                piece(scene, "car", spot.along + ahead + float(rng.uniform(-1, 1)), side * _PARKED_M, color)
    for n, what in enumerate(("puddle", "gravel patch", "manhole cover", "mud patch")):
        far = float(rng.uniform(5.0, 11.0)) * (-1 if rng.random() < 0.5 else 1)
        across = {"manhole cover": 2.0, "puddle": -2.6}.get(what, 8.1 if n % 2 else -8.1)
        piece(scene, what, spot.along + far, across)


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
        k = scene.thing("traffic light", at, "Infrastructure", signal=shown)
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
