"""Writes the sample panoramas: ``<root>/<id>/{pano.jpg, pano.yaml, objects.json, depth.png}``, and ``<root>/maps/``.

What was planted is in ``<root>/truth/<id>.json``: where things are seen is read off the pixels that show them. Maps
have only what tells where one is, streets, borders and shops as OpenStreetMap has them: the houses are in no map.
"""

import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple
from xml.etree import ElementTree as Xml

import numpy as np
import yaml
from PIL import Image, TiffImagePlugin

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.files import write_atomically
from pipeline.core.identity import rng_for
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.samples.common.encode import json_bytes
from pipeline.samples.panorama.render import HEIGHT, WIDTH, PanoramaRenderer, RenderedPanorama
from pipeline.samples.panorama.scene import StreetScene, StreetThing
from pipeline.samples.panorama.street import CAMERA_M, built
from pipeline.samples.panorama.towns import KINDS, TOWNS, PlantedSpot, Town, spots, streets

DATASET: Final = "sample_panoramas"
METRES_PER_UNIT: Final = 0.01  # of depth
QUALITY: Final = 90
WILDERNESS: Final = "wilderness"  # tag
_FARTHEST_M: Final = 600.0  # to which there is a depth
_TOLD_PX: Final = 60  # of what shows less, nobody is told how much is hidden
_THREADS: Final = 2


def write_panoramas(
    root: Path, chosen: Sequence[PlantedSpot] | None = None, size: tuple[int, int] = (WIDTH, HEIGHT)
) -> tuple[str, ...]:
    """Writes panoramas, the same bytes every time; returns their ids. Files of an earlier writing are replaced."""
    chosen = spots() if chosen is None else chosen
    with ThreadPoolExecutor(_THREADS) as threads:  # rays and numpy let go of the interpreter
        shops = dict(
            zip([spot.id for spot in chosen], threads.map(lambda s: _write(root, s, size), chosen), strict=True)
        )
    for town in TOWNS:
        own = tuple(shop for spot in chosen if spot.town == town for shop in shops[spot.id])
        if any(spot.town == town for spot in chosen):
            write_atomically(root / "maps" / f"{town.plan.id}.osm", town_map(town, own))
    write_atomically(root / "maps" / "countries.geojson", countries())
    return tuple(f"{DATASET}/{spot.id}" for spot in chosen)


def _write(root: Path, spot: PlantedSpot, size: tuple[int, int]) -> tuple[StreetThing, ...]:
    """Writes one panorama; gives the shops that it shows."""
    scene = built(spot)
    renderer = PanoramaRenderer(scene, spot.town)
    heading = round(float(rng_for("sample panorama heading", spot.id).uniform(0, 359.9)), 1)
    camera = np.array([*spot.at, CAMERA_M])
    shot = renderer.shoot(camera, heading, *size)
    lat, lon = place(spot.town, *spot.position)
    folder = root / spot.id
    objects, complete = _objects(scene, shot, renderer, camera, heading)
    write_atomically(folder / "pano.jpg", _jpeg(shot, lat, lon, heading))
    units = np.where(shot.depth_m < _FARTHEST_M, np.rint(shot.depth_m / METRES_PER_UNIT), 0).astype(np.uint16)
    png = io.BytesIO()
    Image.fromarray(units).save(png, "PNG", compress_level=3)
    write_atomically(folder / "depth.png", png.getvalue())
    write_atomically(folder / "objects.json", json_bytes({"objects": objects, "complete": complete}))
    settings: dict[str, Any] = {
        "dataset": DATASET,
        "position": {"lat_deg": lat, "lon_deg": lon, "alt_m": spot.town.plan.origin.alt_m},
        "accuracy_m": 1.0,
        "heading_deg": heading,
        "camera_height_m": CAMERA_M,
        "depth": {"path": "depth.png", "metres_per_unit": METRES_PER_UNIT},
        "indoor": False,
        "licence": "CC0-1.0",
        "author": "scan2qa samples",
        "tags": ["sample", *([] if spot.name else [WILDERNESS])],
    }
    text = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)
    write_atomically(folder / "pano.yaml", text.encode())
    things = [thing._asdict() | {"distance_m": scene.far(camera, thing)} for thing in scene.things]
    truth = {
        "id": f"{DATASET}/{spot.id}",
        "camera": camera.tolist(),
        "heading_deg": heading,
        "lat_deg": lat,
        "lon_deg": lon,
        "street": spot.name or None,
        "city": spot.town.name if spot.name else None,
        "country": spot.town.country,
        "things": things,
    }
    write_atomically(root / "truth" / f"{spot.id}.json", json_bytes(truth))
    seen = {entry["id"] for entry in objects}
    kinds = {kind for kind, _, _ in KINDS}
    return tuple(thing for thing in scene.things if thing.kind in kinds and thing.id in seen)


def _objects(
    scene: StreetScene, shot: RenderedPanorama, renderer: PanoramaRenderer, camera: FloatArray, heading_deg: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """All things that are seen, and their labels: of each, these are all."""
    found = []
    for i, where in shown(shot.owners, renderer.groups).items():
        thing = scene.things[i]
        far, share = scene.far(camera, thing), None
        if where.pixels >= _TOLD_PX and far is not None:
            height, width = shot.owners.shape
            share = where.pixels / renderer.alone(camera, heading_deg, width, height, i)
        record: dict[str, Any] = {
            "id": thing.id,
            "label": thing.label,
            "slot": thing.slot,
            "name": thing.name,
            "kind": thing.kind,
            "attributes": dict(thing.attributes) or None,
            "yaw_deg": [round(where.left_deg, 4), round(where.right_deg, 4)],
            "pitch_deg": [round(where.low_deg, 4), round(where.high_deg, 4)],
            "distance_m": None if far is None else round(far, 2),
            "visible_share": None if share is None else round(min(share, 1.0), 3),
        }
        found.append({key: value for key, value in record.items() if value is not None})
    return found, sorted({entry["label"] for entry in found})


def _jpeg(shot: RenderedPanorama, lat: float, lon: float, heading_deg: float) -> bytes:
    """The picture, which tells where it was taken as a real one does: EXIF GPS, and XMP GPano."""
    height, width = shot.color.shape[:2]
    exif = Image.Exif()
    exif[0x010E] = "scan2qa sample"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2] = "N" if lat >= 0 else "S", _sexagesimal(abs(lat))
    gps[3], gps[4] = "E" if lon >= 0 else "W", _sexagesimal(abs(lon))
    sides = {"Width": width, "Height": height}
    fields = {
        "ProjectionType": "equirectangular",
        "PoseHeadingDegrees": f"{heading_deg:g}",
        **{f"FullPano{side}Pixels": str(sides[side]) for side in sides},
        **{f"CroppedAreaImage{side}Pixels": str(sides[side]) for side in sides},
        "CroppedAreaLeftPixels": "0",
        "CroppedAreaTopPixels": "0",
    }
    facts = " ".join(f'GPano:{key}="{value}"' for key, value in fields.items())
    xmp = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description xmlns:GPano="http://ns.google.com/photos/1.0/panorama/" {facts}/></rdf:RDF></x:xmpmeta>'
    )
    out = io.BytesIO()
    Image.fromarray(shot.color).save(out, "JPEG", quality=QUALITY, exif=exif.tobytes(), xmp=xmp.encode())
    return out.getvalue()


def _sexagesimal(degrees: float) -> tuple[TiffImagePlugin.IFDRational, ...]:
    """Degrees, minutes and seconds, these to a ten-thousandth: three millimetres."""
    ticks = round(degrees * 36_000_000)
    whole = (ticks // 36_000_000, 1), (ticks // 600_000 % 60, 1), (ticks % 600_000, 10_000)
    return tuple(TiffImagePlugin.IFDRational(*part) for part in whole)


class VisibleObject(NamedTuple):
    """Where a thing is seen, degrees, at the outer edges of its pixels: its left and right yaw and its pitches.

    Yaw is clockwise from the middle column, in [-180, 180); the left one is the greater where the thing lies across the
    seam.
    """

    left_deg: float
    right_deg: float
    low_deg: float
    high_deg: float
    pixels: int


def shown(owners: IntArray, groups: tuple[tuple[int, ...], ...]) -> dict[int, VisibleObject]:
    """By thing, where it is seen; only those that are.

    Args:
        owners: (H, W) of each pixel the index of a group.
        groups: the things of each group.
    """
    height, width = owners.shape
    columns = _counts(owners, np.arange(width)[None, :], width, len(groups))
    rows = _counts(owners, np.arange(height)[:, None], height, len(groups))
    things = sorted({thing for group in groups for thing in group})
    found = {}
    for thing in things:
        own = [k for k, group in enumerate(groups) if thing in group]
        across = columns[own].sum(0)
        if across.any():
            first, count = _arc(across > 0)
            down = np.flatnonzero(rows[own].sum(0))
            found[thing] = VisibleObject(
                _yaw(first, width),
                _yaw(first + count, width),
                90.0 - (int(down[-1]) + 1) * 180.0 / height,
                90.0 - int(down[0]) * 180.0 / height,
                int(across.sum()),
            )
    return found


def _counts(owners: IntArray, place: IntArray, places: int, groups: int) -> IntArray:
    """(groups, places) number of pixels."""
    return np.bincount((owners * places + place).ravel(), minlength=groups * places).reshape(groups, places)


def _arc(filled: BoolArray) -> tuple[int, int]:
    """First column and number of columns of the least arc that holds all filled ones."""
    at = np.flatnonzero(filled)
    gaps = np.diff(np.append(at, at[0] + len(filled)))
    widest = int(gaps.argmax())
    first = int(at[(widest + 1) % len(at)])
    return first, len(filled) - int(gaps[widest]) + 1


def _yaw(edge: int, width: int) -> float:
    return (edge * 360.0 / width) % 360.0 - 180.0


BORDER_M: Final = 3000.0  # from a town's outer streets to its border
_COUNTRY_DEG: Final = 1.5  # from a town to the border of what is drawn of its country
_DECIMALS: Final = 8  # degrees: a millimetre


def town_map(town: Town, shops: tuple[StreetThing, ...]) -> bytes:
    """A town as OSM XML; the shops are those that its panoramas show."""
    root = Xml.Element("osm", version="0.6", generator="scan2qa samples")
    numbers, ways = count(1), []
    width, height = town.plan.size_m

    def node(x: float, y: float, tags: Mapping[str, str] = {}) -> str:
        lat, lon = place(town, x, y)
        number = str(next(numbers))
        made = Xml.SubElement(
            root, "node", id=number, version="1", lat=f"{lat:.{_DECIMALS}f}", lon=f"{lon:.{_DECIMALS}f}"
        )
        _tag(made, tags)
        return number

    for (street, name), highway in zip(streets(town), town.highway, strict=True):
        last = height if street.is_north else width
        ends = np.linspace(0.0, last, (town.plan.rows if street.is_north else town.plan.columns) + 1)
        ways.append(([node(*street.at(float(end), 0.0)) for end in ends], {"highway": highway, "name": name}))
    low, far = -BORDER_M, BORDER_M
    corners = [(low, low), (width + far, low), (width + far, height + far), (low, height + far)]
    ring = [node(*corner) for corner in corners]
    ways.append(([*ring, ring[0]], {"boundary": "administrative", "admin_level": "8", "name": town.name}))
    node(width / 2, height / 2, {"place": "town", "name": town.name})
    for shop in shops:
        key = next(key for kind, key, _ in KINDS if kind == shop.kind)
        if shop.at is not None and shop.name is not None and shop.kind is not None:
            node(*shop.at, {key: shop.kind, "name": shop.name})
    for number, (nodes, tags) in enumerate(ways, start=1):
        way = Xml.SubElement(root, "way", id=str(number), version="1")
        for ref in nodes:
            Xml.SubElement(way, "nd", ref=ref)
        _tag(way, tags)
    Xml.indent(root)
    return Xml.tostring(root, encoding="utf-8", xml_declaration=True)


def countries() -> bytes:
    """Rectangles about the towns, named as the countries in which they lie, as GeoJSON."""
    features = []
    for town in TOWNS:
        lat, lon, d = town.plan.origin.lat_deg, town.plan.origin.lon_deg, _COUNTRY_DEG
        ring = [[lon - d, lat - d], [lon + d, lat - d], [lon + d, lat + d], [lon - d, lat + d], [lon - d, lat - d]]
        properties = {"id": town.code, "name": town.country, "admin_level": "2"}
        geometry = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return json_bytes({"type": "FeatureCollection", "features": features})


def place(town: Town, x: float, y: float) -> tuple[float, float]:
    """Latitude and longitude of a place in a town's frame."""
    lat, lon = to_lat_lon_alt(np.array([[x, y, 0.0]]), town.plan.origin)[0, :2].round(_DECIMALS).tolist()
    return lat, lon


def _tag(element: Xml.Element, tags: Mapping[str, str]) -> None:
    for key, value in sorted(tags.items()):
        Xml.SubElement(element, "tag", k=key, v=value)
