"""Map features as the things of a city: what they are called, what is seen of them, on whose facade they are."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.geometry.bearings import compass_deg
from pipeline.geometry.colours import margins
from pipeline.reading.maps.feature import Feature, mentioned
from pipeline.reading.maps.looks import LEVELS_MAX, Look, look_of, rgb_of
from pipeline.reading.maps.osm import height_of
from pipeline.reading.maps.placed import Placed, circle_about
from pipeline.worlds.city.facts import BUILDING, Thing
from pipeline.worlds.city.readers.kinds import PART, is_unclear, sort_of
from pipeline.worlds.city.solids import FACING

COLOUR_MARGIN: Final = 10.0  # CIELAB: nearer to the word's colours than to any other's
FACADE_M: Final = 5.0  # from a shop's point to the wall that it is taken to front
NAME_MAX: Final = 80  # characters: what is longer is no name that anybody would say
_DECIMALS: Final = 2  # centimetres
_UNSPEAKABLE: Final = re.compile(r"[<>{}\[\]|\\\"`*_#]|https?:", re.IGNORECASE)
_STOREY_M: Final = (1.5, 8.0)  # per storey, of a height that can be that of a building with so many


def things_of(placed: Placed, file: str, findings: Findings) -> list[Thing]:
    """What of some features one may speak of, and all buildings; features with several outlines give several things."""
    found: list[Thing] = []
    unnamed: list[str] = []
    broken: list[str] = []
    for i, outlines in enumerate(placed.outlines):
        for nth, outline in enumerate(outlines):
            if len(outline) >= 3 and _ring(outline) is None:
                broken.append(placed.features[i].id or repr(placed.features[i].name))
                continue
            thing = _thing(placed, i, outline, nth, unnamed)
            if thing is not None:
                found.append(thing)
    if broken:
        message = (
            f"{file}: {len(broken)} outlines, to the centimetre, have no area or cross themselves: {mentioned(broken)}"
        )
        remedy = "draw them again; they were left out"
        findings.add(doubt("unusable_outline", file, message, remedy, float(len(broken)), 0.0, "outlines"))
    if unnamed:
        message = (
            f"{file}: {len(unnamed)} names with markup, quotes or over {NAME_MAX} characters: {mentioned(unnamed)}"
        )
        remedy = "give plain names; these things were taken as nameless"
        findings.add(doubt("unspeakable_name", file, message, remedy, float(len(unnamed)), 0.0, "names"))
    folded = [repr(f.name)[:NAME_MAX] for f in placed.features if len((f.name or "").splitlines()) > 1]
    if folded:
        message = f"{file}: {len(folded)} names of several lines, of which each was taken as one: {mentioned(folded)}"
        remedy = "write a name in one line, and what else is told elsewhere"
        findings.add(note("name_of_several_lines", file, message, remedy, float(len(folded)), 0.0, "names"))
    return found


def _thing(placed: Placed, i: int, outline: FloatArray, nth: int, unnamed: list[str]) -> Thing | None:
    feature, is_point = placed.features[i], len(outline) < 3
    found = sort_of(feature.tags, feature.solid, is_point)
    if found is None:
        return None
    (kind, noun), source = found
    told = {"noun": source}
    look = look_of(feature) or Look(noun=noun)
    told |= {fact: what for fact, what in look.told_by.items() if fact in {"walls", "roof", "roof_shape", "sign"}}
    if told.get("roof", "").startswith("colour="):
        del told["roof"]  # the colour of a house is that of its walls; its roof may have another
    rgb = look.walls or rgb_of(feature.tags.get("colour", ""))
    if rgb and "walls" not in told:
        told["walls"] = f"colour={feature.tags['colour']}"
    ring = None if is_point else _ring(outline)
    center, radius = circle_about(outline)
    foot, high = placed.foot_m[i], feature.height_m
    raised = math.nan if feature.solid else height_of(feature.tags.get("min_height"))
    if raised < high:  # it stands on something, and both are told from the ground
        foot, high = raised, high - raised
    height, base, top = _known(high), _known(foot), _known(placed.top_m[i])
    facing = _number(feature.tags.get("facing_deg"))
    return Thing(
        id=_id(feature, outline, kind, nth),
        kind=kind,
        noun=_plain(feature.tags.get("noun")) or noun,
        name=_named(feature.name, unnamed),
        sign=_named(look.sign or feature.tags.get("sign"), unnamed),
        colour=_word(rgb),
        roof_colour=_word(look.roof) if "roof" in told else None,
        rgb=rgb,
        roof_rgb=look.roof,
        roof_shape=look.roof_shape,
        height_m=height,
        base_m=base,
        top_m=top,
        levels=_levels(feature),
        center=(round(center[0], _DECIMALS) + 0.0, round(center[1], _DECIMALS) + 0.0),
        radius_m=round(radius, _DECIMALS),
        outline=ring,
        facing_deg=None if facing is None else facing % 360.0,
        on=_plain(feature.tags.get("on")),
        doubt=f"what it looks like is not told: {source}" if is_unclear(source) else None,
        told_by={"colour" if key == "walls" else "roof_colour" if key == "roof" else key: v for key, v in told.items()},
    )


def with_parts(things: Sequence[Thing], placed: Placed) -> list[Thing]:
    """The things; a building is as high as the highest of its parts, and its footprint is not so all over.

    Which parts are a building's own is told by where they lie. Where it has no height of its own and a part has
    none, its height stays unknown.
    """
    tops = [
        (shapely.Polygon(ring), float(placed.features[i].height_m))
        for i, outlines in enumerate(placed.outlines)
        for outline in outlines
        if PART in placed.features[i].tags and not placed.features[i].solid and (ring := _ring(outline)) is not None
    ]
    if not tops:
        return list(things)
    tree = shapely.STRtree([shapely.point_on_surface(polygon) for polygon, _ in tops])
    found = []
    for thing in things:
        if thing.kind == BUILDING and thing.outline is not None:
            own = tree.query(shapely.Polygon(thing.outline), predicate="covers")
            highs = [thing.height_m or math.nan, *(tops[k][1] for k in own.tolist())]
            known = [high for high in highs if math.isfinite(high)]
            if len(own) and known and (thing.height_m is not None or len(known) == len(own)):
                high = round(max(known), _DECIMALS)
                top = round((thing.base_m or 0.0) + high, _DECIMALS)  # the ground is at 0
                told = thing.told_by | {"height": f"the highest of {len(own)} parts"}
                changes = {"height_m": high, "top_m": top, "parts": len(own), "told_by": told}
                thing = thing.model_copy(update=changes)  # noqa: PLW2901
        found.append(thing)
    return found


def _id(feature: Feature, outline: FloatArray, kind: str, nth: int) -> str:
    """As its file calls it; else a digest of what and where it is, which no other feature changes."""
    if feature.id:
        return " ".join(feature.id.split()) + (f"#{nth + 1}" if len(feature.outlines) > 1 else "")
    text = f"{kind}\0{feature.name}\0{np.round(feature.outlines[nth], 7).tolist()}"
    return f"{kind.replace(' ', '_')}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _ring(outline: FloatArray) -> tuple[tuple[float, float], ...] | None:
    """Counter-clockwise, in centimetres, without corners given twice in a row; None where that is no outline."""
    rounded = np.round(outline, _DECIMALS) + 0.0
    kept = rounded[(rounded != np.roll(rounded, 1, axis=0)).any(1)]
    if len(kept) < 3 or not shapely.Polygon(kept).is_valid:
        return None
    x, y = kept.T
    area = float((x * np.roll(y, -1) - np.roll(x, -1) * y).sum())
    return tuple((float(a), float(b)) for a, b in (kept if area > 0 else kept[::-1]))


def _named(name: str | None, unnamed: list[str]) -> str | None:
    text = " ".join((name or "").split())
    if not text:
        return None
    if len(text) <= NAME_MAX and text.isprintable() and not _UNSPEAKABLE.search(text):
        return text
    unnamed.append(repr(text)[:80])
    return None


def _plain(text: str | None) -> str | None:
    return _named(text, [])


@lru_cache(maxsize=4096)
def _word(rgb: tuple[int, int, int] | None) -> str | None:
    """The basic word that a colour surely is; None where it is near to another."""
    if rgb is None:
        return None
    fits = margins(np.array([rgb], dtype=np.float64))
    return next((word for word, margin in fits.items() if margin[0] >= COLOUR_MARGIN), None)


def _levels(feature: Feature) -> float | None:
    value = _number(next((feature.tags[k] for k in ("building:levels", "levels") if k in feature.tags), None))
    return value if value is not None and 0 < value <= LEVELS_MAX else None


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _known(value: float) -> float | None:
    return round(float(value), _DECIMALS) if np.isfinite(value) else None


def on_facades(things: Sequence[Thing]) -> list[Thing]:
    """The things, and of shops and signboards that are points: which building they are in or on, and where they face.

    A point fronts the nearest wall within `FACADE_M` that stands free; a declared facing and building stay.
    """
    walls = [thing for thing in things if thing.kind == BUILDING and thing.outline]
    rings = np.array([shapely.Polygon(wall.outline) for wall in walls], dtype=object)
    tree = shapely.STRtree(rings)
    return [_fronting(t, walls, rings, tree) if t.kind in FACING and t.outline is None else t for t in things]


def _fronting(thing: Thing, walls: Sequence[Thing], rings: np.ndarray, tree: shapely.STRtree) -> Thing:
    point = shapely.Point(thing.center)
    near = tree.query(point, predicate="dwithin", distance=FACADE_M)
    if thing.facing_deg is not None or not len(near):
        return thing
    about = sorted(near.tolist(), key=lambda i: (float(shapely.distance(rings[i], point)), walls[i].id))
    own = about[0]
    foot = _wall(np.array(thing.center), np.array(walls[own].outline), [rings[i] for i in about])
    if foot is None:
        return thing.model_copy(update={"on": walls[own].id})
    at, facing, away = foot
    told = thing.told_by | {"facing_deg": f"the nearest free wall of {walls[own].id}, {away:.1f} m away"}
    center = (round(float(at[0]), _DECIMALS), round(float(at[1]), _DECIMALS))
    changes = {"on": walls[own].id, "facing_deg": round(facing, 1) % 360.0, "center": center, "told_by": told}
    return thing.model_copy(update=changes)


def _wall(
    point: FloatArray, ring: FloatArray, around: Sequence[shapely.Polygon]
) -> tuple[FloatArray, float, float] | None:
    """The place on the nearest wall that no other building stands before, where it faces, and how far it is."""
    after = np.roll(ring, -1, axis=0)
    along = after - ring
    length = np.hypot(*along.T)
    share = np.clip(((point - ring) * along).sum(1) / np.maximum(length**2, 1e-9), 0.0, 1.0)
    feet = ring + share[:, None] * along
    away = np.hypot(*(feet - point).T)
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.maximum(length, 1e-9)[:, None]
    for edge in np.argsort(away, kind="stable").tolist():
        if away[edge] > FACADE_M:
            break
        before = shapely.Point(feet[edge] + outward[edge])
        if length[edge] >= 1.0 and not any(polygon.intersects(before) for polygon in around):
            # a palm's width before the wall, so that it can be seen
            return feet[edge] + 0.15 * outward[edge], float(compass_deg(outward[edge][None])[0]), float(away[edge])
    return None
