"""The things of an OpenStreetMap extract that released tasks lead to, by osmium and shapely alone: nothing of ours.

Tags are read here once more, and generously: whatever anybody may call a shop is one, whether it is a node, an area or
a building as a whole, and words of one group stand for one another. Relations hold within 45 degrees, 120 and 60 m,
times a factor.

    python -m tests.oracles.map_targets EXTRACT TASKS LATITUDE LONGITUDE    # of the city's origin

TASKS has the released columns, as JSON, JSON lines or Parquet. Every task with a second fitting target is printed.
"""

import argparse
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import shapely
from shapely.ops import nearest_points

AXES = {"north": 0.0, "east": 90.0, "south": 180.0, "west": 270.0}
FIRST_M, NEXT_M = 120.0, 60.0
_TABLE = """
amenity=restaurant: shop, restaurant, café, bar, pub, fast-food restaurant, ice-cream parlour
amenity=fast_food: shop, restaurant, café, bar, pub, fast-food restaurant, ice-cream parlour
amenity=cafe: shop, restaurant, café, bar, pub, fast-food restaurant, ice-cream parlour, bakery, pastry shop
amenity=bar: shop, restaurant, café, bar, pub, fast-food restaurant
amenity=pub: shop, restaurant, café, bar, pub, fast-food restaurant
amenity=ice_cream: shop, café, ice-cream parlour, restaurant
amenity=bank: shop, bank, exchange office
amenity=bureau_de_change: shop, bank, exchange office
amenity=pharmacy: shop, pharmacy, drugstore
amenity=post_office: shop, post office
amenity=cinema: shop, cinema
amenity=theatre: shop, theatre
amenity=library: shop, library
amenity=casino: shop, casino
amenity=nightclub: shop, nightclub, bar
amenity=police: shop, police station
amenity=dentist: shop, dentist's, doctor's surgery, clinic
amenity=doctors: shop, dentist's, doctor's surgery, clinic
amenity=clinic: shop, dentist's, doctor's surgery, clinic, hospital
amenity=hospital: shop, hospital, clinic
amenity=fuel: shop, petrol station
amenity=car_rental: shop, car rental office
amenity=toilets: shop, public toilet
amenity=townhall: shop, town hall
amenity=school: shop, school
amenity=kindergarten: shop, kindergarten
amenity=university: shop, university, school
amenity=community_centre: shop, community centre
amenity=fire_station: shop, fire station
amenity=bench: bench
amenity=fountain: fountain
amenity=parking: parking, parking lot
amenity=post_box: post box
amenity=telephone: phone box
amenity=waste_basket: waste bin
amenity=grave_yard: park, cemetery
highway=bus_stop: bus stop
highway=crossing: crossing, pedestrian crossing
natural=tree: tree
natural=water: water, body of water
natural=wood: park, wood, garden
landuse=forest: park, wood, garden
landuse=cemetery: park, cemetery
landuse=village_green: park, garden
amenity=parking_space: parking space
natural=beach: beach
leisure=park: park, garden, wood
leisure=garden: park, garden
leisure=common: park
leisure=pitch: sports field
leisure=playground: playground
leisure=swimming_pool: swimming pool
historic=monument: statue, monument, memorial
historic=memorial: statue, monument, memorial, bust, sculpture
tourism=artwork: statue, sculpture, bust
tourism=hotel: shop, hotel, hostel, guest house
tourism=hostel: shop, hotel, hostel, guest house
tourism=guest_house: shop, hotel, hostel, guest house
tourism=museum: shop, museum, gallery
tourism=gallery: shop, museum, gallery
place=square: square
man_made=tower: tower
man_made=chimney: tower, chimney
man_made=obelisk: tower, obelisk
shop=bakery: bakery, pastry shop, café
shop=pastry: bakery, pastry shop, café, sweet shop
shop=confectionery: sweet shop, pastry shop
shop=supermarket: supermarket, convenience store, kiosk
shop=convenience: supermarket, convenience store, kiosk
shop=kiosk: kiosk, newsagent's, convenience store
shop=newsagent: kiosk, newsagent's, tobacco shop
shop=tobacco: newsagent's, tobacco shop, kiosk
shop=clothes: clothes shop, boutique
shop=boutique: clothes shop, boutique
shop=shoes: shoe shop
shop=hairdresser: hairdresser's, beauty salon
shop=beauty: hairdresser's, beauty salon
shop=chemist: drugstore, pharmacy
shop=electronics: electronics shop, computer shop, hi-fi shop, mobile phone shop
shop=computer: electronics shop, computer shop
shop=mobile_phone: electronics shop, mobile phone shop
shop=hifi: electronics shop, hi-fi shop
shop=sports: sports shop
shop=books: bookshop, stationery shop
shop=stationery: bookshop, stationery shop
shop=jewelry: jeweller's
shop=florist: flower shop
shop=butcher: butcher's
shop=insurance: insurance office
shop=travel_agency: travel agency
shop=estate_agent: estate agent's
shop=optician: optician's
shop=laundry: laundry, dry cleaner's
shop=dry_cleaning: laundry, dry cleaner's
shop=car: car dealer's, car repair shop
shop=car_repair: car dealer's, car repair shop
shop=furniture: furniture shop
shop=gift: gift shop
shop=toys: toy shop
shop=bicycle: bicycle shop
shop=alcohol: off-licence, wine shop
shop=wine: off-licence, wine shop
"""
WORDS = {
    source: {word.strip() for word in words.split(",")}
    for source, _, words in (line.partition(": ") for line in _TABLE.strip().splitlines())
}
_FIRST = re.compile(r"There is (.+?) to the (north|east|south|west) of you\.")
_MOST = re.compile(r"Find the (tallest|largest|nearest) (.+?) to the (north|east|south|west) of you\.")
_HEADS = {
    **{f"To the {axis} of": axis for axis in AXES},
    "In front of": "front", "Behind": "behind", "Across the street from": "across",
    "On the same side of the street as": "same",
}  # fmt: skip
_NEXT = re.compile(
    rf"({'|'.join(_HEADS)}) (the .+?), there is (.+?)\.(?= (?:{'|'.join(_HEADS)}) the | Please tell me )"
)
CORNER_M, STREET_M = 25.0, 40.0
_ROADS = ("primary", "secondary", "tertiary", "residential", "unclassified", "living_street", "pedestrian", "trunk")


class MapThing(NamedTuple):
    """Something with tags: its id, its tags, its footprint in metres, and whether it is a building."""

    id: str
    tags: Mapping[str, str]
    shape: Any
    building: bool

    def words(self) -> set[str]:
        """Whatever it may be called."""
        found = {word for source in self.tags.items() for word in WORDS.get("=".join(source), ())}
        if self.building:
            found |= {"building", self.tags["building"].replace("_", " ")}
            if self.tags.get("amenity") == "place_of_worship" or self.tags["building"] in ("chapel", "cathedral"):
                found |= {"church", "mosque"}
        if {"shop", "office", "craft"} & set(self.tags):
            found.add("shop")
        return found


class OsmExtract:
    """An extract about an origin: everything with tags, and its named roads."""

    def __init__(self, path: str, lat_deg: float, lon_deg: float) -> None:
        osmium: Any = __import__("osmium")  # its types say less than it does

        flat = 1 - 0.00669438 * math.sin(math.radians(lat_deg)) ** 2  # of WGS84
        north = math.radians(6_378_137.0) * (1 - 0.00669438) / flat**1.5
        east = math.radians(6_378_137.0) / math.sqrt(flat) * math.cos(math.radians(lat_deg))

        def to_m(lon: Any, lat: Any) -> tuple[Any, Any]:
            return (lon - lon_deg) * east, (lat - lat_deg) * north

        self.things: list[MapThing] = []
        self.roads: list[tuple[str, Any]] = []
        make = osmium.geom.WKBFactory()
        for thing in osmium.FileProcessor(path).with_areas().with_locations():
            tags = dict(thing.tags)
            if not tags:
                continue
            try:
                if thing.is_node():
                    shape = shapely.Point(*to_m(thing.location.lon, thing.location.lat))
                    self.things.append(MapThing(f"node/{thing.id}", tags, shape, False))
                elif thing.is_area():
                    shape = shapely.transform(
                        shapely.from_wkb(make.create_multipolygon(thing)), to_m, interleaved=False
                    )
                    kind = "way" if thing.from_way() else "relation"
                    self.things.append(MapThing(f"{kind}/{thing.orig_id()}", tags, shape, "building" in tags))
                elif thing.is_way() and tags.get("highway") in _ROADS:
                    shape = shapely.transform(shapely.from_wkb(make.create_linestring(thing)), to_m, interleaved=False)
                    self.roads.append((tags.get("name") or f"way/{thing.id}", shape))
            except (RuntimeError, osmium.InvalidLocationError):
                continue
        self.tree = shapely.STRtree([t.shape for t in self.things])
        self.lines = shapely.STRtree([line for _, line in self.roads])

    def about(self, shape: Any, reach_m: float) -> list[MapThing]:
        """What lies within a reach of a shape."""
        return [self.things[i] for i in sorted(self.tree.query(shape, predicate="dwithin", distance=reach_m))]

    def road(self, shape: Any) -> tuple[str, Any] | None:
        """The nearest road, within `STREET_M`."""
        near = self.lines.query(shape, predicate="dwithin", distance=STREET_M)
        return min((self.roads[i] for i in near), key=lambda r: (r[1].distance(shape), r[0]), default=None)

    def at_corner(self, shape: Any) -> bool:
        """Whether two roads of different names meet near it."""
        near = [self.roads[i] for i in self.lines.query(shape, predicate="dwithin", distance=CORNER_M)]
        return any(
            one.distance(other) < 0.1 and one.intersection(other).distance(shape) <= CORNER_M
            for k, (name, one) in enumerate(near)
            for called, other in near[:k]
            if called != name
        )

    def fits(self, thing: MapThing, phrase: str) -> bool:
        """Whether a thing may be called so; a colour that the map does not have may be any."""
        words = re.sub(r"^(?:an?|the) ", "", phrase).replace("business", "shop")
        if words.endswith(" at the corner of two streets"):
            return self.at_corner(thing.shape) and words.removesuffix(" at the corner of two streets") in thing.words()
        if " named " in words:
            noun, _, name = words.partition(" named ")
            return noun in thing.words() and thing.tags.get("name", "").casefold().strip() == name.casefold()
        colour, _, noun = words.partition(" ")
        if noun and words not in thing.words():
            told = thing.tags.get("building:colour", thing.tags.get("colour", ""))
            return noun in thing.words() and (colour in told or told.startswith("#"))
        return words in thing.words()

    def targets(self, text: str, at: Sequence[float], times: float = 1.0) -> list[MapThing]:
        """All things that a text leads to from a place, at so many times the reach of its words."""
        here = shapely.Point(*at[:2])
        first, most = _FIRST.match(text), _MOST.match(text)
        if first is None and most is None:
            raise ValueError(text)
        phrase, axis = (first[1], first[2]) if first else (f"a {most[2]}", most[3])  # type: ignore[index]
        now = [t for t in self.about(here, FIRST_M * times) if self.fits(t, phrase) and lies(here, t.shape, axis)]
        if most and now:
            now = [max(now, key=lambda t: _greatness(t, most[1], here))]
        for words, _, phrase in _NEXT.findall(text):
            found: dict[str, MapThing] = {}
            for anchor in now:
                for t in self.about(anchor.shape, NEXT_M * times):
                    if t.id != anchor.id and self.fits(t, phrase) and self._is(anchor, t, _HEADS[words]):
                        found[t.id] = t
            now = list(found.values())
        return now

    def _is(self, one: MapThing, other: MapThing, relation: str) -> bool:
        if relation in AXES:
            return lies(one.shape, other.shape, relation)
        mine, its = self.road(one.shape), self.road(other.shape)
        if mine is None:
            return False
        a, b = nearest_points(one.shape, other.shape)
        between = shapely.LineString([a, b])
        crossed = any(self.roads[i][1].crosses(between) for i in self.lines.query(between))
        if relation in ("front", "behind"):
            off = abs((_bearing(a, b) - _bearing(*nearest_points(one.shape, mine[1])) + 180) % 360 - 180)
            return (off <= 45 and not crossed and between.length <= 20) if relation == "front" else (
                off >= 135 and between.length <= 35)  # fmt: skip
        if its is None or mine[0] != its[0]:
            return False
        return crossed == (relation == "across")


def lies(one: Any, other: Any, direction: str) -> bool:
    """Whether one shape has another in a direction, between their nearest points."""
    a, b = nearest_points(one, other)
    return a.distance(b) > 0 and abs((_bearing(a, b) - AXES[direction] + 180) % 360 - 180) <= 45


def _bearing(a: Any, b: Any) -> float:
    return math.degrees(math.atan2(b.x - a.x, b.y - a.y))


def _greatness(thing: MapThing, word: str, here: Any) -> float:
    if word == "nearest":
        return -float(thing.shape.distance(here))
    if word == "largest":
        return float(thing.shape.area)
    tall = re.match(r"\d+(?:\.\d+)?", thing.tags.get("height", ""))
    return float(tall[0]) if tall else 3.0 * float(re.sub(r"\D.*", "", thing.tags.get("building:levels", "1")) or 1)


def seconds(extract: OsmExtract, rows: Sequence[Mapping[str, Any]], times: float = 1.0) -> list[str]:
    """What other targets tasks have; a line for each such task."""
    wrong = []
    for row in rows:
        own = row["group"].partition("/")[2].partition("#")[0]
        other = [t for t in extract.targets(row["question"], row["initial_pose"], times) if t.id != own]
        if other:
            who = ", ".join(f"{t.id} {dict(t.tags)}" for t in other[:3])
            wrong.append(f"{row['question_id']} ({own}): {row['question']} ALSO {who}")
    return wrong


def main() -> int:
    """Reads a map and tasks, and says which tasks have a second fitting target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("extract")
    parser.add_argument("tasks", type=Path)
    parser.add_argument("origin", type=float, nargs=2)
    asked = parser.parse_args()
    if asked.tasks.suffix == ".parquet":
        import pyarrow.parquet as pq

        rows = pq.read_table(asked.tasks).to_pylist()
    else:
        text = asked.tasks.read_text(encoding="utf-8")
        rows = [json.loads(line) for line in text.splitlines()] if asked.tasks.suffix == ".jsonl" else json.loads(text)
        rows = rows["rows"] if isinstance(rows, dict) else rows
    extract = OsmExtract(asked.extract, *asked.origin)
    found = 0
    for times in (1.0, 1.25, 1.5):
        wrong = seconds(extract, rows, times)
        found += len(wrong)
        print(f"at {times:g} times the reach: {len(wrong)} of {len(rows)} tasks have a second fitting target")
        print("\n".join(wrong[:12]))
    lost = [r for r in rows if not any(t.id == r["group"].partition("/")[2].partition("#")[0]
                                       for t in extract.targets(r["question"], r["initial_pose"]))]  # fmt: skip
    print(f"{len(lost)} tasks do not lead to their own target", Counter(r["category"] for r in lost))
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
