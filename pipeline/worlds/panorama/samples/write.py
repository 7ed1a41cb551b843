"""Writes the sample panoramas: ``<root>/<id>/{pano.jpg, pano.yaml, objects.json, depth.png}``, and ``<root>/maps/``.

What was planted is in ``<root>/truth/<id>.json``.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from PIL import Image, TiffImagePlugin

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.identity import rng_for
from pipeline.sampling.encode import json_bytes
from pipeline.worlds.panorama.samples.labels import shown
from pipeline.worlds.panorama.samples.maps import countries, place, town_map
from pipeline.worlds.panorama.samples.render import HEIGHT, WIDTH, Renderer, Shot
from pipeline.worlds.panorama.samples.scene import Scene, Thing
from pipeline.worlds.panorama.samples.spots import Spot, spots
from pipeline.worlds.panorama.samples.street import CAMERA_M, built
from pipeline.worlds.panorama.samples.towns import KINDS, TOWNS

DATASET: Final = "sample_panoramas"
METRES_PER_UNIT: Final = 0.01  # of depth
QUALITY: Final = 90
WILDERNESS: Final = "wilderness"  # tag
_FARTHEST_M: Final = 600.0  # to which there is a depth
_TOLD_PX: Final = 60  # of what shows less, nobody is told how much is hidden
_THREADS: Final = 2


def write_panoramas(
    root: Path, chosen: Sequence[Spot] | None = None, size: tuple[int, int] = (WIDTH, HEIGHT)
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


def _write(root: Path, spot: Spot, size: tuple[int, int]) -> tuple[Thing, ...]:
    """Writes one panorama; gives the shops that it shows."""
    scene = built(spot)
    renderer = Renderer(scene, spot.town)
    heading = round(float(rng_for("sample panorama heading", spot.id).uniform(0, 359.9)), 1)
    camera = np.array([*spot.at, CAMERA_M])
    shot = renderer.shoot(camera, heading, *size)
    lat, lon = place(spot.town, *spot.position)
    folder = root / spot.id
    objects, complete = _objects(scene, shot, renderer, camera, heading)
    write_atomically(folder / "pano.jpg", _jpeg(shot, lat, lon, heading))
    units = np.where(shot.depth_m < _FARTHEST_M, np.rint(shot.depth_m / METRES_PER_UNIT), 0).astype(np.uint16)
    write_atomically(folder / "depth.png", _png(units))
    write_atomically(folder / "objects.json", json_bytes({"objects": objects, "complete": complete}))
    settings: dict[str, Any] = {
        "dataset": DATASET,
        "position": {"lat_deg": lat, "lon_deg": lon, "alt_m": spot.town.plan.origin.alt_m},
        "accuracy_m": 1.0,
        "heading_deg": heading,
        "camera_height_m": CAMERA_M,
        "depth": {"path": "depth.png", "metres_per_unit": METRES_PER_UNIT},
        "slots": _slots(spot),
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
    scene: Scene, shot: Shot, renderer: Renderer, camera: FloatArray, heading_deg: float
) -> tuple[list[dict[str, Any]], list[str]]:
    """All things that are seen, and their labels: of each, these are all."""
    found = []
    for i, where in shown(shot.owners, renderer.groups).items():
        thing = scene.things[i]
        far, share = scene.far(camera, thing), None
        if where.pixels >= _TOLD_PX and far is not None:
            height, width = shot.owners.shape
            share = where.pixels / renderer.alone(camera, heading_deg, width, height, i)
        said: dict[str, Any] = {
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
        found.append({key: value for key, value in said.items() if value is not None})
    return found, sorted({entry["label"] for entry in found})


def _slots(spot: Spot) -> dict[str, str]:
    """What is to be said of each slot."""
    town = spot.town
    if not spot.name:
        return {"Terrain": "open grassland with hills at the horizon", "Vegetation": f"single {town.tree} trees"}
    return {
        "Architecture": f"rows of houses with walls in {', '.join(town.walls[:-1])} and {town.walls[-1]}, shops below",
        "Signage": f"shop signs and a street sign in {town.language}",
        "Vegetation": f"mostly {town.tree} trees, flower beds and clipped bushes",
        "Terrain": f"flat town ground, a road of {town.surface}, hills beyond the street's ends",
        "Infrastructure": f"a {town.line} middle line, {town.lamp} lamps, a crossing, cars on the {town.drives}",
    }


def _png(units: np.ndarray[Any, np.dtype[np.uint16]]) -> bytes:
    out = io.BytesIO()
    Image.fromarray(units).save(out, "PNG", compress_level=3)
    return out.getvalue()


def _jpeg(shot: Shot, lat: float, lon: float, heading_deg: float) -> bytes:
    """The picture, which tells where it was taken as a real one does: EXIF GPS, and XMP GPano."""
    height, width = shot.color.shape[:2]
    exif = Image.Exif()
    exif[0x010E] = "scan2qa sample"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2] = "N" if lat >= 0 else "S", _sexagesimal(abs(lat))
    gps[3], gps[4] = "E" if lon >= 0 else "W", _sexagesimal(abs(lon))
    sides = {"Width": width, "Height": height}
    said = {
        "ProjectionType": "equirectangular",
        "PoseHeadingDegrees": f"{heading_deg:g}",
        **{f"FullPano{side}Pixels": str(sides[side]) for side in sides},
        **{f"CroppedAreaImage{side}Pixels": str(sides[side]) for side in sides},
        "CroppedAreaLeftPixels": "0",
        "CroppedAreaTopPixels": "0",
    }
    facts = " ".join(f'GPano:{key}="{value}"' for key, value in said.items())
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
