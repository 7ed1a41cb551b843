"""What the things of maps are called: their kind, which a query names, and their noun, which a question says.

Keys and values are those of OpenStreetMap; the property ``kind`` of GeoJSON files may have any of the values, kinds or
nouns. What is in no list is not spoken of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from pipeline.reading.maps.nouns import BUILDING, BUILT, CHRISTIAN, NOUN_OF

SHOP: Final = "shop"  # all premises that a passer-by would enter for what they sell or serve


class Sort(NamedTuple):
    """A kind and a noun."""

    kind: str
    noun: str


# Nouns of premises where they differ from the value's own words.
_PREMISES: Final[Mapping[str, Mapping[str, str]]] = {
    "shop": {
        **{
            word: f"{word} shop"
            for word in (
                "electronics", "sports", "gift", "clothes", "furniture", "bicycle", "tea", "coffee",
                "wine", "seafood", "cheese", "computer", "tobacco", "music", "art", "garden", "pet", "hardware",
                "cosmetics", "perfumery", "fabric", "photo", "lottery", "chocolate",
            )
        },
        **{
            word: word.replace("_", " ")
            for word in (
                "bakery", "supermarket", "laundry", "kiosk", "boutique", "garden_centre", "department_store", "mall",
                "pharmacy", "deli",
            )
        },
        "toys": "toy shop", "shoes": "shoe shop", "hifi": "hi-fi shop", "beverages": "drinks shop",
        "alcohol": "off-licence",
        "convenience": "convenience store", "books": "bookshop", "jewelry": "jeweller's", "beauty": "beauty salon",
        "hairdresser": "hairdresser's", "mobile_phone": "mobile phone shop", "newsagent": "newsagent's",
        "travel_agency": "travel agency", "car": "car dealer's", "car_repair": "car repair shop",
        "doityourself": "hardware store", "confectionery": "sweet shop", "estate_agent": "estate agent's",
        "insurance": "insurance office", "stationery": "stationery shop", "chemist": "drugstore",
        "optician": "optician's", "butcher": "butcher's", "florist": "flower shop", "greengrocer": "greengrocer's",
        "dry_cleaning": "dry cleaner's", "ticket": "ticket office", "pastry": "pastry shop",
    },
    "amenity": {
        **{
            word: word.replace("_", " ")
            for word in (
                "restaurant", "bank", "bar", "pub", "cafe", "pharmacy", "cinema", "theatre", "library", "nightclub",
                "casino", "post_office", "police", "dentist", "clinic",
            )
        },
        "fast_food": "fast-food restaurant", "cafe": "café", "police": "police station",
        "ice_cream": "ice-cream parlour",
        "fuel": "petrol station", "doctors": "doctor's surgery", "dentist": "dentist's", "bureau_de_change":
        "exchange office", "car_rental": "car rental office", "toilets": "public toilet", "community_centre":
        "community centre", "townhall": "town hall", "school": "school", "hospital": "hospital",
        "kindergarten": "kindergarten", "university": "university", "fire_station": "fire station",
    },
    "tourism": {
        "hotel": "hotel", "hostel": "hostel", "museum": "museum", "gallery": "gallery", "guest_house": "guest house",
    },
}  # fmt: skip

# Small things, and places on the ground.
_THINGS: Final[Mapping[str, Mapping[str, Sort]]] = {
    "amenity": {
        "bench": Sort("bench", "bench"),
        "fountain": Sort("fountain", "fountain"),
        "parking": Sort("parking", "parking lot"),
        "post_box": Sort("post box", "post box"),
        "telephone": Sort("phone box", "phone box"),
        "waste_basket": Sort("waste bin", "waste bin"),
        "grave_yard": Sort("park", "cemetery"),
    },
    "highway": {
        "crossing": Sort("crossing", "pedestrian crossing"),
        "bus_stop": Sort("bus stop", "bus stop"),
        "traffic_signals": Sort("traffic light", "traffic light"),
        "street_lamp": Sort("street lamp", "street lamp"),
    },
    "natural": {
        "tree": Sort("tree", "tree"),
        "water": Sort("water", "body of water"),
        "wood": Sort("park", "wood"),
        "beach": Sort("beach", "beach"),
    },
    "leisure": {
        "park": Sort("park", "park"),
        "garden": Sort("park", "garden"),
        "common": Sort("park", "park"),
        "pitch": Sort("sports field", "sports field"),
        "playground": Sort("playground", "playground"),
        "swimming_pool": Sort("swimming pool", "swimming pool"),
    },
    "historic": {"monument": Sort("statue", "monument"), "memorial": Sort("statue", "memorial")},
    "tourism": {"artwork": Sort("statue", "sculpture")},
    "place": {"square": Sort("square", "square")},
    "man_made": {
        "tower": Sort("tower", "tower"),
        "chimney": Sort("tower", "chimney"),
        "obelisk": Sort("tower", "obelisk"),
    },
}  # fmt: skip
# Of what stands for many sorts of things, the key that says which, and what of its values one sees from afar and calls
# what: a memorial may be a plate in the pavement, a work of art a painting on a wall.
_WHICH: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "historic=memorial": (
        "memorial",
        {
            "statue": "statue", "bust": "bust", "sculpture": "sculpture", "obelisk": "obelisk", "stele": "memorial",
            "war_memorial": "memorial", "cross": "memorial", "column": "column",
        },
    ),
    "tourism=artwork": (
        "artwork_type",
        {"statue": "statue", "sculpture": "sculpture", "bust": "bust", "stone": "sculpture"},
    ),
}  # fmt: skip
_WHICH_KEYS: Final = tuple(key for key, _ in _WHICH.values())
PART: Final = "building:part"  # of a building, with a height of its own
STOP_POSITION: Final = "stop_position"  # where buses halt, on the roadway: nobody sees it
KEYS: Final = ("building", *dict.fromkeys((*_PREMISES, *_THINGS)), PART)  # of OpenStreetMap, that are read at all
TOLD: Final = ("public_transport", "min_height", *_WHICH_KEYS)  # that say more of what has one of these

_MORE: Final = {  # further words that people use for kinds in GeoJSON files
    "car": Sort("car", "car"),
    "bus": Sort("bus", "bus"),
    "truck": Sort("truck", "truck"),
    "signboard": Sort("signboard", "signboard"),
    "sign": Sort("signboard", "signboard"),
    "statue": Sort("statue", "statue"),
    "kiosk": Sort("kiosk", "kiosk"),
    "shop": Sort(SHOP, "shop"),
    "parking lot": Sort("parking", "parking lot"),
    "car park": Sort("parking", "parking lot"),
    "pedestrian crossing": Sort("crossing", "pedestrian crossing"),
    "waste bin": Sort("waste bin", "waste bin"),
    "phone box": Sort("phone box", "phone box"),
}


def _words() -> dict[str, Sort]:
    found = dict(_MORE)
    for table in _PREMISES.values():
        for value, noun in table.items():
            found.setdefault(value.replace("_", " "), Sort(SHOP, noun))
            found.setdefault(noun, Sort(SHOP, noun))
    for things in _THINGS.values():
        for value, sort in things.items():
            found.setdefault(value.replace("_", " "), sort)
            found.setdefault(sort.noun, sort)
    return found


_WORDS: Final[Mapping[str, Sort]] = _words()


ALL_KINDS: Final = frozenset(sort.kind for sort in _WORDS.values()) | {BUILDING}


def sort_of(tags: Mapping[str, str], solid: bool, is_point: bool) -> tuple[Sort, str] | None:
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
            return _narrower(tags, things[tags[key]], f"{key}={tags[key]}")
    return _premises(tags)


def _narrower(tags: Mapping[str, str], sort: Sort, source: str) -> tuple[Sort, str] | None:
    """What a thing is by a second key too; None where nobody sees it from afar."""
    if tags.get("public_transport") == STOP_POSITION:
        return None
    if source not in _WHICH:
        return sort, source
    key, seen = _WHICH[source]
    if key not in tags:
        return sort, source
    return (Sort(sort.kind, seen[tags[key]]), f"{source}, {key}={tags[key]}") if tags[key] in seen else None


def is_unclear(source: str) -> bool:
    """Whether what says of a thing what it is (`sort_of`) leaves open what one sees there."""
    return source in _WHICH


def _premises(tags: Mapping[str, str]) -> tuple[Sort, str] | None:
    for key, nouns in _PREMISES.items():
        if tags.get(key) in nouns:
            return Sort(SHOP, nouns[tags[key]]), f"{key}={tags[key]}"
    if tags.get("shop", "no") not in ("no", "vacant"):
        return Sort(SHOP, "shop"), f"shop={tags['shop']}"  # of some sort that has no word here
    return None


def _building(tags: Mapping[str, str]) -> tuple[Sort, str]:
    premises = _premises(tags)
    if premises:
        return Sort(BUILDING, premises[0].noun), premises[1]
    if tags.get("amenity") == "place_of_worship" and tags.get("religion") == "christian":
        return Sort(BUILDING, CHRISTIAN), "amenity=place_of_worship, religion=christian"
    for key in ("noun", "building", "man_made", "amenity", "historic", "leisure", "kind"):
        noun = NOUN_OF.get(tags.get(key, "").casefold().replace("_", " "), "")
        if noun in BUILT:
            return Sort(BUILDING, noun), f"{key}={tags[key]}"
    told = next(
        (f"{key}={tags[key]}" for key in ("building", "kind", "type") if key in tags), "an outline of a building"
    )
    return Sort(BUILDING, BUILDING), told
