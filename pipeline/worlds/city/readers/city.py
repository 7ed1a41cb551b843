"""Reader of cities: a folder per city with a map, and what people add to it; or map files alone.

The root holds folders, each a city with one map (CityJSON, OpenStreetMap or GeoJSON), ``city.yaml``,
``objects.geojson``, ``tasks.json``, ``photos.json``; or map files, each a city of its name. Only the map is needed.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import shapely
from pydantic import AfterValidator, Field, FiniteFloat

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import open_file
from pipeline.core.findings import Findings
from pipeline.core.schema import Model, Name, Origin
from pipeline.geometry.geodesy import offsets_m, to_enu
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import RENAME, FolderReader, check_scene_name, digest_files
from pipeline.reading.maps.checks import (
    Faults,
    apart,
    facing_out,
    on_the_map,
    plausible,
    report_heights,
    report_layers,
    unique,
    within,
)
from pipeline.reading.maps.city_thing import SHOP, CityThing
from pipeline.reading.maps.feature import EVERYWHERE, Feature, MapBounds, PlacedFeature
from pipeline.reading.maps.map_quality import coverage_of, once, one_in_a_place, report_quality, with_errors
from pipeline.reading.maps.osm import osm_bounds
from pipeline.reading.maps.read import OSM_SUFFIXES, read_context, read_streets
from pipeline.reading.maps.streets import StreetLine
from pipeline.reading.maps.things import (
    ALL_KINDS,
    PART,
    TOLD,
    on_facades,
    places_of,
    read_features,
    things_of,
    with_parts,
)
from pipeline.reading.reader import ExpectedFile
from pipeline.reading.settings import File, SafeName, read_model
from pipeline.worlds.city.facts import City, CityScene, Street
from pipeline.worlds.city.readers.tasks import PHOTOS_FILE, TASKS_FILE, read_photos, read_tasks

CITY_FILE: Final = "city.yaml"
OBJECTS_FILE: Final = "objects.geojson"
MAP_SUFFIXES: Final = (".osm", ".osm.gz", ".osm.bz2", ".pbf", ".geojson", ".json")
DEFAULT_DATASET: Final = "city"
_HEAD: Final = 4096  # bytes, in which a JSON file says what it is
_MAPS: Final = (b"CityJSON", b"CityObjects", b"Overpass API", b"FeatureCollection")

Latitude = Annotated[FiniteFloat, Field(ge=-90, le=90)]
Longitude = Annotated[FiniteFloat, Field(ge=-180, le=180)]


def _in_order(bounds: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    west, south, east, north = bounds
    if south >= north or not 0.0 < (east - west) % 360.0 < 180.0:
        raise ValueError("it is not west, south, east, north")
    return bounds


Bounds = Annotated[tuple[Longitude, Latitude, Longitude, Latitude], AfterValidator(_in_order)]


class CitySettings(Model):
    """The settings of a city's folder in ``city.yaml``; all of them are optional."""

    dataset: SafeName = Field(
        default=DEFAULT_DATASET, description="letters, digits, dots, dashes and underscores: first part of ids"
    )
    map: File | None = Field(default=None, description="name of the map file; else the only one in the folder")
    origin: Origin | None = Field(default=None, description="of poses; needed with tasks.json, photos.json")
    bounds: Bounds | None = Field(default=None, description="west, south, east, north of what the map covers")
    complete: tuple[Name, ...] = Field(default=(), description="kinds that the map lists completely")
    slabs_m: tuple[Annotated[FiniteFloat, Field(gt=0, le=300)], ...] = Field(
        default=(5.0, 9.0), min_length=1, description="heights above the ground at which agents move, metres"
    )


def maps_in(folder: Path) -> list[Path]:
    """The files of a folder that may be maps, by name."""
    others = {OBJECTS_FILE, TASKS_FILE, PHOTOS_FILE}
    return sorted(p for p in folder.iterdir() if is_map(p) and p.name not in others)


def is_map(path: Path) -> bool:
    """Whether a file has the ending of a map, and is not hidden; of other JSON, whether it says that it is one.

    Overpass's own counts: reading it says what to ask Overpass for instead.
    """
    if path.name.startswith(".") or not path.name.lower().endswith(MAP_SUFFIXES) or not path.is_file():
        return False
    if not path.name.lower().endswith(".json"):
        return True
    try:
        with open_file(path) as file:
            head = file.read(_HEAD)
    except (OSError, RawDataError):  # told when it is read
        return True
    return any(word in head for word in _MAPS)


def stem(path: Path) -> str:
    """The name of a map file without its endings."""
    suffix = max((s for s in MAP_SUFFIXES if path.name.lower().endswith(s)), key=len)
    name = path.name[: -len(suffix)]
    return name.removesuffix(".osm").removesuffix(".city")


def read_settings(files: SceneFiles) -> CitySettings:
    """The folder's settings. Raises RawDataError where they are wrong."""
    path = files.path / CITY_FILE
    if not path.is_file():
        return CitySettings()
    return read_model(files, path, CitySettings)


CITY_MAX_M: Final = 10_000.0  # from side to side: a grid of metres of more would take over half a gigabyte
FAR_M: Final = 10_000.0  # from the middle of a map: a point there is a slip of the pen
_ORIGIN_DECIMALS: Final = 3  # degrees, of an origin that nobody stated: 100 m

EXPECTED_FILES: Final = (
    ExpectedFile("map", tuple(f"*{suffix}" for suffix in MAP_SUFFIXES), "the city is left out", True),
    ExpectedFile(
        "settings", (CITY_FILE,), "nothing is known to be complete: no counting, and no question with the answer no"
    ),
    ExpectedFile("objects", (OBJECTS_FILE,), "no cars, benches or signboards but those of the map"),
    ExpectedFile("tasks", (TASKS_FILE,), "no tasks that people wrote"),
    ExpectedFile("photos", (PHOTOS_FILE,), "no photographs"),
)


class Cities(FolderReader):
    """Cities in folders of the user."""

    name = "city"
    version = 1
    extra = "flights"
    video_fps = 1
    expected_files = EXPECTED_FILES
    expected_root = "a folder of cities, or of map files"
    expected_scenes = "no city here. Give a folder of cities, each with a map, or of map files"
    scene_word = "city"

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: folders with a map or settings, and map files."""
        for path in root.iterdir():
            if not path.name.startswith(".") and (_is_city(path) if path.is_dir() else is_map(path)):
                yield path

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`. A ``city.yaml`` that is wrong costs its city when it is read."""
        name = place.name if place.is_dir() else stem(place)
        check_scene_name(place, name, RENAME)
        folder = place if place.is_dir() else root
        there = [p for p in sorted(place.iterdir()) if p.is_file()] if place.is_dir() else [place]
        stamp = digest_files(folder, [(p.name, p.stat()) for p in there], shared)
        dataset = _dataset(root, folder) if place.is_dir() else DEFAULT_DATASET
        yield SceneRef(f"{dataset}/{name}", tuple(p.relative_to(root).as_posix() for p in (folder, *there)), stamp)

    def read(self, files: SceneFiles) -> CityScene:
        """See `Reader.read`."""
        findings = Findings()
        settings = read_settings(files) if _has_folder(files) else CitySettings()
        _known_kinds(files, settings)
        path = _map(files, settings)
        box = _box(settings)
        features, numbered = read_features(files, path, box, findings)
        added: tuple[Feature, ...] = ()
        if _has_folder(files) and (files.path / OBJECTS_FILE).is_file():
            added = read_context(files, files.path / OBJECTS_FILE, EVERYWHERE, False, findings, told=TOLD)
        origin = _origin(files, path, settings, features, findings)
        name = files.relative(path)
        features = _within_reach(features, origin, name, findings)
        placed = PlacedFeature(features, origin, 0.0)
        things = with_parts(things_of(placed, name, findings), placed)
        if things:
            bounds = _bounds(files, path, settings, origin, things)
            things = within(unique(things, name, findings), bounds, name, findings)
        if not things:
            raise _empty(files, path, settings, findings)
        things = apart(plausible(things, name, findings), name, findings)
        report_heights(things, name, findings)
        placed_things = things
        objects = things_of(PlacedFeature(added, origin, 0.0), OBJECTS_FILE, findings)
        objects = on_the_map(plausible(objects, OBJECTS_FILE, findings), bounds, OBJECTS_FILE, findings)
        streets = _streets(read_streets(files, path, box, findings), origin, name, findings)
        things = unique([*things, *objects], OBJECTS_FILE, findings)
        report_layers(things, [street.line for street in streets if street.sure], name, findings)
        things = facing_out(things, OBJECTS_FILE if added else name, findings)
        things = on_facades(things, [street.line for street in streets])
        things = once(with_errors(things, placed_things), SHOP, name, findings)
        things = one_in_a_place(things, {thing.id for thing in objects}, name, findings)
        coverage = coverage_of(things, places_of(PlacedFeature(numbered, origin, 0.0)), SHOP)
        if not settings.complete:  # of what people know whole nobody has to guess
            report_quality(things, coverage, SHOP, name, findings)
        city = City(
            origin=origin,
            bounds=bounds,
            things=tuple(sorted(things, key=lambda thing: thing.id)),
            streets=streets,
            complete=tuple(sorted(settings.complete)),
            coverage=coverage,
            slabs_m=settings.slabs_m,
        )
        if _has_folder(files):
            stated = settings.origin is not None
            tasks, photos = read_tasks(files, city, stated, findings), read_photos(files, stated, findings)
            city = city.model_copy(update={"tasks": tasks, "photos": photos})
        return files.scene_of(CityScene, self, "none", city, findings)


def _is_city(folder: Path) -> bool:
    return (folder / CITY_FILE).is_file() or bool(maps_in(folder))


def _has_folder(files: SceneFiles) -> bool:
    return len(files.ref.files) < 2 or files.ref.files[0] != "."


def _dataset(root: Path, folder: Path) -> str:
    """The dataset that a city says it belongs to; where its settings are wrong, its reading says so."""
    ref = SceneRef(f"{DEFAULT_DATASET}/{folder.name}", (folder.relative_to(root).as_posix(),), "")
    try:
        return read_settings(SceneFiles(root, ref)).dataset
    except RawDataError:
        return DEFAULT_DATASET


def _map(files: SceneFiles, settings: CitySettings) -> Path:
    if not _has_folder(files):
        return files.root / files.ref.files[1]
    if settings.map is not None:
        return files.path / settings.map
    there = maps_in(files.path)
    if len(there) != 1:
        names = ", ".join(path.name for path in there)
        message = f"there are {names}, and which one is the city's map is not known" if there else "there is no map"
        finding = "several_maps" if there else "missing_map"
        raise files.fault(files.path, finding, message, f"name one as map in {CITY_FILE}, or keep one")
    return there[0]


def _box(settings: CitySettings) -> MapBounds:
    """The part of a map that is read: the bounds of the settings, so that a city is cut out of a larger extract."""
    if settings.bounds is None:
        return EVERYWHERE
    west, south, east, north = settings.bounds
    east += 360.0 * (east < west)  # across the 180th meridian
    return MapBounds((south + north) / 2, (west + east) / 2, (north - south) / 2, (east - west) / 2)


def _known_kinds(files: SceneFiles, settings: CitySettings) -> None:
    """Raises RawDataError where the settings promise completeness of what is no kind: the promise would be void."""
    unknown = sorted(set(settings.complete) - ALL_KINDS)
    if unknown:
        message = f"complete names {', '.join(map(repr, unknown))}, which is no kind"
        remedy = f"the kinds are {', '.join(sorted(ALL_KINDS))}"
        raise files.fault(files.path / CITY_FILE, "unknown_kind", message, remedy)


def _empty(files: SceneFiles, path: Path, settings: CitySettings, findings: Findings) -> RawDataError:
    """What to raise for a map of which nothing is left, with what was found on the way."""
    within = "" if settings.bounds is None else f" within the bounds of {CITY_FILE}"
    why = "".join(f"; {finding.message}" for finding in findings.items)
    message = f"the map has nothing{within} that a question could name{why}"
    remedy = "is this the right extract? bounds are west, south, east, north, and GeoJSON has the longitude first"
    return files.fault(path, "empty_map", message, remedy)


def _origin(
    files: SceneFiles, path: Path, settings: CitySettings, features: tuple[Feature, ...], findings: Findings
) -> Origin:
    """Where the frame has its zero: as stated, else about the middle of the map, on the ground of most buildings."""
    if not features:
        raise _empty(files, path, settings, findings)
    whole = [f for f in features if f.solid or PART not in f.tags] or features
    corners = np.array([_middle(outline) for f in whole for outline in f.outlines])
    corners[:, 1] = _unwrapped(corners[:, 1])
    middle = np.median(corners, axis=0)
    off = np.hypot(*offsets_m(corners, middle).T)
    across = 2 * float(np.quantile(off, 0.9, method="lower"))
    if across > CITY_MAX_M:
        message = f"nine tenths of the map lie within {across / 1000:.0f} km, over {CITY_MAX_M / 1000:g}"
        raise files.fault(path, "not_a_city", message, "cut out a city; a grid of metres is laid over all of it")
    feet = np.array([f.foot_m for f in features if f.solid and f.datum == "sea" and np.isfinite(f.foot_m)])
    ground = round(float(np.median(feet)), 1) if len(feet) else None
    if settings.origin is not None:
        return (
            settings.origin
            if settings.origin.alt_m is not None
            else settings.origin.model_copy(update={"alt_m": ground})
        )
    lat, lon = np.round(middle, _ORIGIN_DECIMALS).tolist()
    return Origin(lat_deg=lat, lon_deg=lon if abs(lon) <= 180.0 else lon - np.copysign(360.0, lon), alt_m=ground)


def _middle(outline: FloatArray) -> FloatArray:
    return np.column_stack([outline[:, 0], _unwrapped(outline[:, 1])]).mean(0)


def _unwrapped(lon_deg: FloatArray) -> FloatArray:
    """Longitudes (N,) of neighbours without the step of the 180th meridian: beyond it they count on."""
    return lon_deg % 360.0 if np.ptp(lon_deg) > 180.0 else lon_deg


def _bounds(
    files: SceneFiles, path: Path, settings: CitySettings, origin: Origin, things: list[CityThing]
) -> tuple[tuple[float, float], ...]:
    """The area that the map covers: as settings or extract state it, else the hull of its things."""
    box = settings.bounds
    if box is None and path.name.lower().endswith(OSM_SUFFIXES):
        box = osm_bounds(path)
    if box is not None:
        west, south, east, north = box
        lat_lon = np.array([[south, west], [south, east], [north, east], [north, west]])
        corners = to_enu(np.column_stack([lat_lon, np.full(4, origin.alt_m or 0.0)]), origin)[:, :2]
    else:
        points = np.concatenate([np.array(t.outline or (t.center,)) for t in things])
        hull = shapely.MultiPoint(points).convex_hull.buffer(1.0, join_style="mitre")
        corners = np.array(shapely.orient_polygons(hull).exterior.coords)[:-1]
    side = float(np.ptp(corners, axis=0).max())
    if side > CITY_MAX_M:
        message = f"what the map covers is {side / 1000:.1f} km from side to side, over {CITY_MAX_M / 1000:g}"
        raise files.fault(path, "city_too_large", message, f"cut out a part, or give its bounds in {CITY_FILE}")
    return tuple((float(x), float(y)) for x, y in np.round(corners, 2) + 0.0)


def _streets(lines: tuple[StreetLine, ...], origin: Origin, file: str, findings: Findings) -> tuple[Street, ...]:
    """Streets in the city's frame, by id; one whose id another has, or that lies far off, is left out."""
    about, found, faults = np.array([origin.lat_deg, origin.lon_deg]), {}, Faults(findings, file)
    for street in lines:
        if np.hypot(*offsets_m(street.lat_lon, about).T).max() > FAR_M:
            what = f"lie over {FAR_M / 1000:g} km from the middle of the map, and were left out"
            faults.add("far_street", what, "mend their coordinates", street.id)
            continue
        height = np.full(len(street.lat_lon), origin.alt_m or 0.0)
        line = np.round(to_enu(np.column_stack([street.lat_lon, height]), origin)[:, :2], 2) + 0.0
        kept = line[np.append(True, (np.diff(line, axis=0) != 0).any(1))]
        if street.id in found:
            faults.add("doubled_street", "have the id of another, and were left out", "give it once", street.id)
        elif len(kept) >= 2:
            found[street.id] = Street(
                id=street.id, name=street.name, line=tuple((float(x), float(y)) for x, y in kept), sure=street.sure
            )
    faults.report(len(lines), "streets")
    return tuple(found[key] for key in sorted(found))


def _within_reach(features: tuple[Feature, ...], origin: Origin, file: str, findings: Findings) -> tuple[Feature, ...]:
    """The features within reach of the origin: one at 0, 0 would stretch the city over half the earth."""
    about = np.array([origin.lat_deg, origin.lon_deg])
    off = np.array([np.hypot(*offsets_m(np.concatenate(f.outlines), about).T).max() for f in features])
    faults = Faults(findings, file)
    for feature, away in zip(features, off.tolist(), strict=True):
        if away > FAR_M:
            what = f"lie over {FAR_M / 1000:g} km from the middle of the map, and were left out"
            who = feature.name or feature.id or "one without a name"
            faults.add("far_from_the_map", what, "mend their coordinates", who)
    faults.report(len(features), "features")
    return tuple(feature for feature, away in zip(features, off.tolist(), strict=True) if away <= FAR_M)
