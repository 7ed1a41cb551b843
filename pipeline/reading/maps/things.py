"""Map features as the things of a city: what they are called, what is seen of them, on whose facade they are.

Their kind is what a query names, their noun what a question says (templates/tables/city/kinds.yaml). Keys and values
are those of OpenStreetMap; the property ``kind`` of GeoJSON files may have any of the values, kinds or nouns. What is
in no list is not spoken of.
"""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.templates import load_table
from pipeline.geometry.bearings import compass_deg
from pipeline.geometry.colours import margins
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.appearance import BUILT, CHRISTIAN, LEVELS_MAX, NOUN_OF, Appearance, look_of, rgb_of
from pipeline.reading.maps.city_thing import BUILDING, FACING, SHOP, CityThing
from pipeline.reading.maps.cityjson import MODEL
from pipeline.reading.maps.feature import Feature, MapBounds, PlacedFeature, circle_about, mentioned
from pipeline.reading.maps.osm import KINDS, height_of
from pipeline.reading.maps.read import read_context


class KindNoun(NamedTuple):
    """A kind and a noun."""

    kind: str
    noun: str


_TABLE: Final = load_table("city/kinds")
_TRAITS: Final = load_table("city/traits")
_PREMISES: Final[Mapping[str, Mapping[str, str]]] = _TABLE["premises"]
_THINGS: Final[Mapping[str, Mapping[str, KindNoun]]] = {
    key: {value: KindNoun(*names) for value, names in things.items()} for key, things in _TABLE["things"].items()
}
_WHICH: Final = {source: (which["key"], which["seen"]) for source, which in _TABLE["which"].items()}
_WHICH_KEYS: Final = tuple(key for key, _ in _WHICH.values())
PART: Final = "building:part"  # of a building, with a height of its own
STOP_POSITION: Final = "stop_position"  # where buses halt, on the roadway: nobody sees it
_PERHAPS: Final[Mapping[str, str]] = _TABLE["perhaps"]
_PERHAPS_VALUES: Final[Mapping[str, Mapping[str, KindNoun]]] = {
    key: {value: KindNoun(*names) for value, names in sorts.items()} for key, sorts in _TABLE["perhaps_values"].items()
}
SEVERAL: Final = ";"  # between the values of one key
_UNSEEN: Final = {key: frozenset(values) for key, values in _TABLE["unseen"].items()}
_STOREYS: Final = {key: frozenset(values) for key, values in _TABLE["storeys"].items()}
_ROOFS_OVER_OTHERS: Final = frozenset(_TABLE["roofs_over_others"])
_NO_NAMES: Final = frozenset(_TABLE["no_names"])
_TRAIT_KEYS: Final = tuple(sorted({trait["key"] for traits in _TRAITS.values() for trait in traits.values()}))
# Of OpenStreetMap: what is read at all, and what says more of what has one of these.
KEYS: Final = ("building", *dict.fromkeys((*_PREMISES, *_THINGS, *_PERHAPS, *_PERHAPS_VALUES)), PART)
TOLD: Final = ("public_transport", "min_height", *_STOREYS, *_UNSEEN, *_WHICH_KEYS, *_TRAIT_KEYS)
NUMBER: Final = "addr:housenumber"  # where somebody lives or works: no thing
_SPOKEN_OF: Final = frozenset((*KINDS, *KEYS))


def read_features(
    files: SceneFiles, path: Path, box: MapBounds, findings: Findings
) -> tuple[tuple[Feature, ...], tuple[Feature, ...]]:
    """What a map has in a box of what one could speak of, and its house numbers. Raises RawDataError.

    A number is an entry of its own: that of a building, or of premises, tells of nothing beside itself.
    """
    features = read_context(files, path, box, False, findings, (*KINDS, *KEYS, NUMBER), TOLD)
    features = tuple(f for f in features if any(box.holds(outline).any() for outline in f.outlines))
    numbered = tuple(f for f in features if NUMBER in f.tags and not (f.solid or _premises(f.tags) or _maybe(f.tags)))
    return tuple(f for f in features if f.solid or NUMBER not in f.tags or _SPOKEN_OF & f.tags.keys()), numbered


def places_of(placed: PlacedFeature) -> FloatArray:
    """The middles (n, 2) of all outlines of some features, metres."""
    return np.array([o[:, :2].mean(0) for own in placed.outlines for o in own], dtype=np.float64).reshape(-1, 2)


def _words() -> dict[str, KindNoun]:
    found = {word: KindNoun(*names) for word, names in _TABLE["more"].items()}
    for table in _PREMISES.values():
        for value, noun in table.items():
            found.setdefault(value.replace("_", " "), KindNoun(SHOP, noun))
            found.setdefault(noun, KindNoun(SHOP, noun))
    for things in _THINGS.values():
        for value, sort in things.items():
            found.setdefault(value.replace("_", " "), sort)
            found.setdefault(sort.noun, sort)
    return found


_WORDS: Final[Mapping[str, KindNoun]] = _words()


ALL_KINDS: Final = frozenset(sort.kind for sort in _WORDS.values()) | {BUILDING}


def sort_of(tags: Mapping[str, str], solid: bool, is_point: bool) -> tuple[KindNoun, str] | None:
    """Kind and noun of a map's thing, and what of its tags says it; None: nothing that one would speak of.

    A building that is a shop as a whole, or a church, keeps the kind ``building`` and has the other noun.
    """
    if solid or (not is_point and tags.get("kind", "").casefold() == BUILDING):
        return _building(tags)
    if "kind" in tags:
        word = tags["kind"].strip().casefold().replace("_", " ")
        found = _WORDS.get(word)
        return (found, f"kind={tags['kind']}") if found else None
    for key, things in _THINGS.items():
        if tags.get(key) in things and not (key == "highway" and not is_point):
            return _narrowed_sort(tags, things[tags[key]], f"{key}={tags[key]}")
    return _premises(tags) or _maybe(tags)


def _narrowed_sort(tags: Mapping[str, str], sort: KindNoun, source: str) -> tuple[KindNoun, str] | None:
    """The sort of a thing, narrowed by a second key; None where nobody sees it from afar."""
    if tags.get("public_transport") == STOP_POSITION:
        return None
    if source not in _WHICH:
        return sort, source
    key, seen = _WHICH[source]
    if key not in tags:
        return sort, source
    return (KindNoun(sort.kind, seen[tags[key]]), f"{source}, {key}={tags[key]}") if tags[key] in seen else None


def _maybe(tags: Mapping[str, str]) -> tuple[KindNoun, str] | None:
    """What may be called by a kind: offices, workshops, a café that is a bar too; a water tower for a tower."""
    for key, sorts in _PERHAPS_VALUES.items():
        if tags.get(key) in sorts:
            return sorts[tags[key]], f"{key}={tags[key]}"
    for key, nouns in _PREMISES.items():
        several = [nouns[part.strip()] for part in tags.get(key, "").split(SEVERAL) if part.strip() in nouns]
        if several:
            return KindNoun(SHOP, several[0]), f"{key}={tags[key]}"
    found = next((key for key in _PERHAPS if tags.get(key, "no") != "no"), None)
    return None if found is None else (KindNoun(SHOP, _PERHAPS[found]), f"{found}={tags[found]}")


def doubt_of(tags: Mapping[str, str], source: str, kind: str) -> str | None:
    """Why nothing is said of a thing, though it is there; None: nothing is in doubt.

    Args:
        tags: all of it.
        source: which of them says what it is (`sort_of`).
        kind: what it is, or may be.
    """
    key, _, value = source.partition("=")
    if source in _WHICH:
        return f"what it looks like is not told: {source}"
    if key in _PERHAPS or value in _PERHAPS_VALUES.get(key, {}) or (key in _PREMISES and SEVERAL in value):
        return f"whether one would call it a {kind} is not told: {source}"
    hidden = next((f"{k}={tags[k]}" for k, values in _UNSEEN.items() if tags.get(k) in values), None)
    for storey, ground in _STOREYS.items():
        if hidden is None and storey in tags and tags[storey].strip().casefold() not in ground:
            hidden = f"{storey}={tags[storey]}"
    return None if hidden is None else f"not visible from the street: {hidden}"


def _doubt_of_shape(feature: Feature) -> str | None:
    return "what is in it is not told: its outline has holes, which are filled" if feature.hollow else None


def traits_of(tags: Mapping[str, str], kind: str, noun: str) -> dict[str, str]:
    """What else is seen of a thing, by trait (templates/tables/city/traits.yaml): a word, or "yes" or "no"."""
    found = {}
    for name, trait in _TRAITS["looks"].items():
        if {kind, noun} & set(trait["of"]) and tags.get(trait["key"]) in trait["words"]:
            found[name] = trait["words"][tags[trait["key"]]]
    for name, trait in _TRAITS["has"].items():
        if {kind, noun} & set(trait["of"]):
            answer = next((answer for answer in ("yes", "no") if tags.get(trait["key"]) in trait[answer]), None)
            found |= {name: answer} if answer else {}
    return found


def words_of(tags: Mapping[str, str], is_point: bool) -> frozenset[str]:
    """All kinds and nouns that any of a thing's tags allows, not only the one that `sort_of` takes."""
    found: set[str] = set()
    for key, things in _THINGS.items():
        if tags.get(key) in things and not (key == "highway" and not is_point):
            found |= set(things[tags[key]])
    for key, nouns in _PREMISES.items():
        for part in tags.get(key, "").split(SEVERAL):
            if part.strip() in nouns:
                found |= {SHOP, nouns[part.strip()]}
    premises = _premises(tags) or _maybe(tags)
    return frozenset(found | (set(premises[0]) if premises else set()))


def _premises(tags: Mapping[str, str]) -> tuple[KindNoun, str] | None:
    for key, nouns in _PREMISES.items():
        if tags.get(key) in nouns:
            return KindNoun(SHOP, nouns[tags[key]]), f"{key}={tags[key]}"
    if tags.get("shop", "no") not in ("no", "vacant"):
        return KindNoun(SHOP, "shop"), f"shop={tags['shop']}"  # of some sort that has no word here
    return None


def _building(tags: Mapping[str, str]) -> tuple[KindNoun, str]:
    premises = _premises(tags)
    if premises:
        return KindNoun(BUILDING, premises[0].noun), premises[1]
    if tags.get("amenity") == "place_of_worship" and tags.get("religion") == "christian":
        return KindNoun(BUILDING, CHRISTIAN), "amenity=place_of_worship, religion=christian"
    for key in ("noun", "building", "man_made", "amenity", "historic", "leisure", "kind"):
        noun = NOUN_OF.get(tags.get(key, "").casefold().replace("_", " "), "")
        if noun in BUILT:
            return KindNoun(BUILDING, noun), f"{key}={tags[key]}"
    tag = next(
        (f"{key}={tags[key]}" for key in ("building", "kind", "type") if key in tags), "an outline of a building"
    )
    return KindNoun(BUILDING, BUILDING), tag


COLOUR_MARGIN: Final = 10.0  # CIELAB: nearer to the word's colours than to any other's
FACADE_M: Final = 5.0  # from a shop's point to the wall that it is taken to front
RIVAL_TIMES: Final = 1.5  # as far as the nearest wall is another that faces elsewhere, where the nearest is the front
SIDE_DEG: Final = 45.0  # between the facings of two walls that are two sides of a house
NAME_MAX: Final = 80  # characters: what is longer is no name that anybody would say
_DECIMALS: Final = 2  # centimetres
_UNSPEAKABLE: Final = re.compile(r"[<>{}\[\]|\\\"`*_#\ufffd]|https?:|&(?:#x?[0-9a-f]+|[a-z]{2,8});", re.IGNORECASE)
_FIRST_BYTES: Final = re.compile("[ÃÂÄÅÎÏÐÑØÙÚàáâãäåæçèé]")  # of letters in UTF-8, as Latin-1 has them


def things_of(placed: PlacedFeature, file: str, findings: Findings) -> list[CityThing]:
    """The things among some features, with all buildings; features with several outlines give several things."""
    found: list[CityThing] = []
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
            f"{file}: {len(unnamed)} names that are broken or none, have markup, or are over {NAME_MAX} characters:"
            f" {mentioned(unnamed)}"
        )
        remedy = "give plain names; these things were taken as nameless"
        findings.add(doubt("unspeakable_name", file, message, remedy, float(len(unnamed)), 0.0, "names"))
    folded = [repr(f.name)[:NAME_MAX] for f in placed.features if len((f.name or "").splitlines()) > 1]
    if folded:
        message = f"{file}: {len(folded)} names of several lines, each taken as one: {mentioned(folded)}"
        remedy = "write a name in one line, and other texts elsewhere"
        findings.add(note("name_of_several_lines", file, message, remedy, float(len(folded)), 0.0, "names"))
    return found


def _thing(placed: PlacedFeature, i: int, outline: FloatArray, nth: int, unnamed: list[str]) -> CityThing | None:
    feature, is_point = placed.features[i], len(outline) < 3
    if any(tag.startswith(MODEL) for tag in feature.tags):  # a city is looked at as its map shows it
        feature = replace(feature, tags={tag.removeprefix(MODEL): word for tag, word in feature.tags.items()})
    found = sort_of(feature.tags, feature.solid, is_point)
    if found is None:
        return None
    (kind, noun), source = found
    used = {"noun": source}
    look = look_of(feature) or Appearance(noun=noun)
    used |= {fact: what for fact, what in look.source_tags.items() if fact in {"walls", "roof", "roof_shape", "sign"}}
    if used.get("roof", "").startswith("colour="):
        del used["roof"]  # the colour of a house is that of its walls; its roof may have another
    rgb = look.walls or rgb_of(feature.tags.get("colour", ""))
    if rgb and "walls" not in used:
        used["walls"] = f"colour={feature.tags['colour']}"
    ring = None if is_point else _ring(outline)
    center, radius = circle_about(outline)
    foot, high = placed.foot_m[i], feature.height_m
    raised = math.nan if feature.solid else height_of(feature.tags.get("min_height"))
    if raised < high:  # it stands on something, and both are told from the ground
        foot, high = raised, high - raised
    height, base, top = _finite(high), _finite(foot), _finite(placed.top_m[i])
    facing = _number(feature.tags.get("facing_deg"))
    levels = _number(next((feature.tags[k] for k in ("building:levels", "levels") if k in feature.tags), None))
    return CityThing(
        id=_id(feature, outline, kind, nth),
        kind=kind,
        noun=_usable_text(feature.tags.get("noun")) or noun,
        also=tuple(sorted(words_of(feature.tags, is_point) - {kind, noun})),
        name=_usable_name(feature.name, unnamed),
        sign=_usable_name(look.sign or feature.tags.get("sign"), unnamed),
        colour=_word(rgb),
        roof_colour=_word(look.roof) if "roof" in used else None,
        rgb=rgb,
        roof_rgb=look.roof,
        roof_shape=look.roof_shape,
        height_m=height,
        base_m=base,
        top_m=top,
        levels=levels if levels is not None and 0 < levels <= LEVELS_MAX else None,
        traits=traits_of(feature.tags, kind, noun),
        center=(round(center[0], _DECIMALS) + 0.0, round(center[1], _DECIMALS) + 0.0),
        radius_m=round(radius, _DECIMALS),
        outline=ring,
        facing_deg=None if facing is None else facing % 360.0,
        on=_usable_text(feature.tags.get("on")),
        doubt=feature.doubt
        or (_doubt_of_shape(feature) or doubt_of(feature.tags, source, kind) if kind != BUILDING else None),
        source_tags={
            "colour" if key == "walls" else "roof_colour" if key == "roof" else key: v for key, v in used.items()
        },
    )


def with_parts(things: Sequence[CityThing], placed: PlacedFeature) -> list[CityThing]:
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
                source_tags = thing.source_tags | {"height": f"the highest of {len(own)} parts"}
                changes = {"height_m": high, "top_m": top, "parts": len(own), "source_tags": source_tags}
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


def _usable_name(name: str | None, unnamed: list[str]) -> str | None:
    text = " ".join((name or "").split())
    if not text:
        return None
    is_sound = len(text) <= NAME_MAX and text.isprintable() and not _UNSPEAKABLE.search(text)
    if is_sound and text.casefold() not in _NO_NAMES and not _is_garbled(text):
        return text
    unnamed.append(repr(text)[:80])
    return None


def _is_garbled(text: str) -> bool:
    """Whether a text in UTF-8 was read as Latin-1 or Windows-1252, as in "CafÃ©"."""
    if not _FIRST_BYTES.search(text):
        return False
    for codec in ("cp1252", "latin-1"):
        try:
            return text.encode(codec).decode("utf-8") != text
        except UnicodeError:
            continue
    return False


def _usable_text(text: str | None) -> str | None:
    return _usable_name(text, [])


@lru_cache(maxsize=4096)
def _word(rgb: tuple[int, int, int] | None) -> str | None:
    """The basic word that a colour surely is; None where it is near to another."""
    if rgb is None:
        return None
    fits = margins(np.array([rgb], dtype=np.float64))
    return next((word for word, margin in fits.items() if margin[0] >= COLOUR_MARGIN), None)


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _finite(value: float) -> float | None:
    return round(float(value), _DECIMALS) if np.isfinite(value) else None


def on_facades(things: Sequence[CityThing], ways: Sequence[Sequence[tuple[float, float]]] = ()) -> list[CityThing]:
    """The things, and of shops and signboards that are points: which building they are in or on, and where they face.

    A point fronts the nearest wall within `FACADE_M` that stands free; a declared facing and building stay. Nothing is
    asked of one that may front another wall, or a passage through its building, or that is in a mall.

    Args:
        things: of a city.
        ways: middle lines (k, 2) of its streets, drives and passages.
    """
    walls = [thing for thing in things if thing.kind == BUILDING and thing.outline]
    rings = np.array([shapely.Polygon(wall.outline) for wall in walls], dtype=object)
    tree = shapely.STRtree(rings)
    lines = shapely.STRtree([shapely.LineString(way) for way in ways])
    return [
        _fronting(thing, walls, rings, tree, lines)
        if thing.kind in FACING and thing.outline is None and thing.facing_deg is None
        else thing
        for thing in things
    ]


def _fronting(
    thing: CityThing, walls: Sequence[CityThing], rings: np.ndarray, tree: shapely.STRtree, lines: shapely.STRtree
) -> CityThing:
    point = shapely.Point(thing.center)
    near = tree.query(point, predicate="dwithin", distance=RIVAL_TIMES * FACADE_M)
    about = sorted(near.tolist(), key=lambda i: (float(shapely.distance(rings[i], point)), walls[i].id))
    if not about or shapely.distance(rings[about[0]], point) > FACADE_M:
        return thing
    own = about[0]
    feet = _free_walls(np.array(thing.center), np.array(walls[own].outline), [rings[i] for i in about])
    if not feet or feet[0].away_m > FACADE_M:
        return thing.model_copy(update={"on": walls[own].id})
    at, facing, away = feet[0]
    source_tags = thing.source_tags | {"facing_deg": f"the nearest free wall of {walls[own].id}, {away:.1f} m away"}
    center = (round(float(at[0]), _DECIMALS), round(float(at[1]), _DECIMALS))
    error = round(away, _DECIMALS)  # its door may be so far to either side of the wall's nearest place
    front = {"facing_deg": round(facing, 1) % 360.0, "center": center, "error_m": error}
    doubt = thing.doubt or _doubt_of_front(point, feet, walls[own], rings[own], lines)
    changes = {"on": walls[own].id, "source_tags": source_tags, "doubt": doubt, **front}
    return thing.model_copy(update=changes)


class _Wall(NamedTuple):
    """The place (2,) on a wall that is nearest to a point, where it faces (compass degrees), and how far it is."""

    at: FloatArray
    facing_deg: float
    away_m: float


def _doubt_of_front(
    point: shapely.Point, feet: Sequence[_Wall], house: CityThing, ring: shapely.Polygon, lines: shapely.STRtree
) -> str | None:
    """Why a point may have its front elsewhere than at the nearest wall; None: nothing speaks against that."""
    is_inside, first = ring.contains(point), feet[0]
    for wall in feet[1:]:
        turned = abs((wall.facing_deg - first.facing_deg + 180.0) % 360.0 - 180.0) > SIDE_DEG
        yaw = math.radians(wall.facing_deg)
        before = (point.x - wall.at[0]) * math.sin(yaw) + (point.y - wall.at[1]) * math.cos(yaw) > 0.0
        if turned and (is_inside or before) and wall.away_m < RIVAL_TIMES * first.away_m:
            return (
                f"which of two walls it fronts is not told: they are {first.away_m:.1f} and {wall.away_m:.1f} m away"
                f" (limit: {RIVAL_TIMES:g} times as far)"
            )
    if is_inside and house.noun in _ROOFS_OVER_OTHERS:
        return f"whether it has a front of its own is not told: it is in a {house.noun}"
    ways = lines.geometries[lines.query(ring, predicate="intersects")]
    inner_m = float(shapely.distance(shapely.intersection(ways, ring), point).min(initial=math.inf))
    if is_inside and inner_m < first.away_m:
        return f"it may front a way through its building, {inner_m:.1f} m away; the wall is {first.away_m:.1f} m away"
    return None


def _free_walls(point: FloatArray, ring: FloatArray, around: Sequence[shapely.Polygon]) -> list[_Wall]:
    """The walls of a house that no other building stands before, the nearest first."""
    after = np.roll(ring, -1, axis=0)
    along = after - ring
    length = np.hypot(*along.T)
    share = np.clip(((point - ring) * along).sum(1) / np.maximum(length**2, 1e-9), 0.0, 1.0)
    feet = ring + share[:, None] * along
    away = np.hypot(*(feet - point).T)
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1) / np.maximum(length, 1e-9)[:, None]
    found = []
    for edge in np.argsort(away, kind="stable").tolist():
        if away[edge] > RIVAL_TIMES * FACADE_M:
            break
        before = shapely.Point(feet[edge] + outward[edge])
        if length[edge] >= 1.0 and not any(polygon.intersects(before) for polygon in around):
            # a palm's width before the wall, so that it can be seen
            at, facing = feet[edge] + 0.15 * outward[edge], float(compass_deg(outward[edge][None])[0])
            found.append(_Wall(at, facing, float(away[edge])))
    return found
