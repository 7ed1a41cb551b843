"""Buildings, bridges and waters of a CityJSON file, versions 1.x and 2.x.

The outline of a building is the union of its surfaces seen from above, holes filled; its foot and top are the lowest
and highest point of its finest level of detail. Heights above sea level are taken from compound reference systems
alone: ellipsoidal ones lie up to 100 m beside it, and a system of two dimensions does not say what they are in.
Colours of walls and roofs are those of materials, storeys and shapes of roofs those of attributes.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.feature import EVERYWHERE, FaultTally, Feature, MapBounds, named, usable_name

if TYPE_CHECKING:
    import pyproj

VERSIONS: Final = ("1.", "2.")
BUILDINGS: Final = ("Building", "BuildingPart")
KINDS: Final = {**dict.fromkeys(BUILDINGS, "building"), "Bridge": "bridge", "WaterBody": "water"}
# Levels of nested lists above the rings of corners.
DEPTHS: Final = {"MultiSurface": 1, "CompositeSurface": 1, "Solid": 2, "MultiSolid": 3, "CompositeSolid": 3}
EDGE_ON_M2: Final = 1e-4  # a surface that covers less of the ground is a wall
SLIVER_M2: Final = 1.0  # a piece of an outline that is smaller is no part of a building
FLAT_M: Final = 0.01  # a geometry without this height is an outline alone
_EPSG: Final = re.compile(r"EPSG[/:](?:[\d.]*[/:])?(\d{4,6})$", re.ASCII | re.IGNORECASE)  # as a URL, a URN or bare


class _System(NamedTuple):
    """A reference system.

    Attributes:
        to_wgs84: of x and y to longitude and latitude.
        area: where on earth it is meant for, and a degree about that.
        ground_unit_m: metres of one unit of x and y; NaN: they are degrees.
        height_unit_m: metres of one unit of height; NaN: not known.
        above_sea: whether heights are above sea level.
    """

    to_wgs84: pyproj.Transformer
    area: MapBounds
    ground_unit_m: float
    height_unit_m: float
    above_sea: bool


def read_cityjson(
    files: SceneFiles, path: Path, value: dict[str, Any], box: MapBounds, findings: Findings
) -> tuple[Feature, ...]:
    """Those of a parsed file that lie in a box. A building of several parts gives one feature per part.

    Raises:
        RawDataError: where the file is no CityJSON, or cannot be placed on the earth.
    """
    version = value.get("version")
    if not isinstance(version, str) or not version.startswith(VERSIONS):
        message = f"the version is {str(version)[:80]!r}; readable are 1.x and 2.x"
        raise files.fault(path, "unknown_version", message, "convert the file, for example with cjio's upgrade")
    objects = value.get("CityObjects")
    if not isinstance(objects, dict):
        raise files.fault(path, "missing_key", "there is no object 'CityObjects'", "is this a whole CityJSON file?")
    system = _system(files, path, value.get("metadata"))
    vertices = _vertices(files, path, value)
    lat_lon = _lat_lon(files, path, system, vertices)
    inside = box.holds(lat_lon)
    tally, features, things = FaultTally(), [], 0
    for key, thing in objects.items():
        if not isinstance(thing, dict) or thing.get("type") not in KINDS or not thing.get("geometry"):
            continue
        things += 1
        finest = _finest(thing["geometry"], vertices)
        if finest is None:
            tally.add("unusable_outline", repr(key)[:80])
        elif inside[np.concatenate(finest[1])].any():
            looks = _painted(finest[0], len(finest[1]), value.get("appearance")) | _tags(thing.get("attributes"))
            looks = {MODEL + tag: word for tag, word in looks.items()}
            features.append(_feature(objects, key, finest[1], vertices, system, tally, looks))
    tally.report(files.relative(path), things, findings)
    return tuple(feature for feature in features if feature is not None)


def _system(files: SceneFiles, path: Path, metadata: Any) -> _System:
    stated = metadata.get("referenceSystem") if isinstance(metadata, dict) else None
    if stated is None:
        message = "metadata.referenceSystem is missing: where on earth the city lies is not known"
        remedy = "add it, as https://www.opengis.net/def/crs/EPSG/0/NUMBER, if you know the system"
        raise files.fault(path, "no_reference_system", message, remedy)
    number = _EPSG.search(stated) if isinstance(stated, str) else None
    remedy = "give it as https://www.opengis.net/def/crs/EPSG/0/NUMBER, of a system on earth"
    if number is None:
        raise files.fault(path, "unknown_reference_system", f"{str(stated)[:80]!r} is no EPSG system", remedy)
    import pyproj.exceptions  # of the extra [flights], which scans need not have

    try:
        crs = pyproj.CRS.from_epsg(int(number[1]))
        ground = crs.sub_crs_list[0] if crs.is_compound else crs.to_2d()
        to_wgs84 = pyproj.Transformer.from_crs(ground, "EPSG:4326", always_xy=True)
    except pyproj.exceptions.ProjError as error:
        message = f"EPSG:{number[1]} cannot be used: {' '.join(str(error).split())[:200]}"
        raise files.fault(path, "unknown_reference_system", message, remedy) from error
    if not (ground.is_projected or ground.is_geographic):
        message = f"EPSG:{number[1]}, {crs.name}, is no system of places on the ground"
        raise files.fault(path, "unknown_reference_system", message, remedy)
    units = [axis.unit_conversion_factor for axis in crs.axis_info]
    upwards = len(units) == 3 and crs.axis_info[2].direction == "up"
    return _System(
        to_wgs84,
        _area(crs),
        ground_unit_m=units[0] if ground.is_projected else np.nan,
        height_unit_m=units[2] if upwards else np.nan,
        above_sea=crs.is_compound,
    )


def _area(crs: pyproj.CRS) -> MapBounds:
    use = crs.area_of_use
    if use is None:
        return EVERYWHERE
    width = (use.east - use.west) % 360.0 or 360.0  # also across the 180th meridian
    return MapBounds(
        (use.south + use.north) / 2, use.west + width / 2, (use.north - use.south) / 2 + 1.0, width / 2 + 1.0
    )


def _vertices(files: SceneFiles, path: Path, value: dict[str, Any]) -> FloatArray:
    """(V, 3) in the units of the reference system."""
    try:
        vertices = np.array(value["vertices"], dtype=np.float64).reshape(-1, 3)
        transform = value.get("transform")
        if transform is not None:
            scale, translate = (np.array(transform[key], dtype=np.float64) for key in ("scale", "translate"))
            if scale.shape != (3,) or translate.shape != (3,):
                raise ValueError("transform needs a scale and a translate of three numbers")  # noqa: TRY301
            with np.errstate(all="ignore"):  # what overflows is refused below
                vertices = vertices * scale + translate
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        message = f"vertices or transform are unusable: {' '.join(str(error).split())[:200]}"
        raise files.fault(path, "bad_vertices", message, "fetch or export the file again") from error
    if not np.isfinite(vertices).all():
        raise files.fault(path, "bad_vertices", "a vertex is not finite", "fetch or export the file again")
    _refuse_beyond_extent(files, path, vertices, value.get("metadata"))
    return vertices


BEYOND_MAX: Final = 0.01  # of the longest side of the stated extent; a part of a file may keep the extent of the whole


def _refuse_beyond_extent(files: SceneFiles, path: Path, vertices: FloatArray, metadata: Any) -> None:
    """Raises RawDataError where vertices lie beyond the extent that the file states of itself: one of both is wrong."""
    stated = metadata.get("geographicalExtent") if isinstance(metadata, dict) else None
    sound = isinstance(stated, list) and len(stated) == 6 and all(map(_is_coordinate, stated))
    if not sound or not len(vertices):
        return
    low, high = np.array(stated, dtype=np.float64).reshape(2, 3)
    side = float((high - low).max())
    by_axis = np.maximum(low - vertices.min(0), vertices.max(0) - high)
    beyond = float(by_axis[high > low].max(initial=0.0))  # heights may not be stated: from 0 to 0
    if beyond > BEYOND_MAX * side:
        message = (
            f"vertices lie {beyond:.6g} beyond the stated geographicalExtent, {beyond / side:.0%} of its longest side "
            f"(limit {BEYOND_MAX:.0%})"
        )
        remedy = "are transform and axes those of this file? If the extent is old, take it out"
        raise files.fault(path, "bad_vertices", message, remedy)


def _is_coordinate(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < 1e12  # NaN and numbers that no float holds fail too


def _lat_lon(files: SceneFiles, path: Path, system: _System, vertices: FloatArray) -> FloatArray:
    lon, lat = system.to_wgs84.transform(vertices[:, 0], vertices[:, 1])
    lat_lon = np.column_stack([lat, lon])
    with np.errstate(invalid="ignore"):
        meant = np.isfinite(lat_lon).all(1) & system.area.holds(lat_lon)
    if not meant.all():
        at = int(np.argmin(meant))
        message = f"vertex {at}, {vertices[at, :2].tolist()}, lies outside the area of the stated reference system"
        raise files.fault(path, "outside_reference_system", message, "state the system that the vertices are in")
    return lat_lon


def _facts(objects: dict[str, Any], thing: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a thing; those of the building that a part belongs to, where the part has no name."""
    facts = thing.get("attributes")
    parents = thing.get("parents")
    if isinstance(facts, dict) and facts.get("name"):
        return facts
    above = objects.get(parents[0]) if isinstance(parents, list) and parents and isinstance(parents[0], str) else None
    facts = above.get("attributes") if isinstance(above, dict) else None
    return facts if isinstance(facts, dict) else {}


def _finest(geometries: Any, vertices: FloatArray) -> tuple[dict[str, Any], list[list[int]]] | None:
    """The geometry of the finest level of detail, and its outer rings as numbers of vertices; None: none is sound."""
    best: tuple[float, dict[str, Any], list[list[int]]] | None = None
    for geometry in geometries if isinstance(geometries, list) else ():
        depth = DEPTHS.get(str(geometry.get("type"))) if isinstance(geometry, dict) else None
        if depth is None:
            continue
        rings = _rings(geometry.get("boundaries"), depth, len(vertices))
        try:
            level = float(geometry.get("lod", 0))
        except (TypeError, ValueError, OverflowError):
            level = 0.0
        if rings and (best is None or level > best[0]):
            best = level, geometry, rings
    return best[1:] if best else None


# Before tags for what the model shows: its walls may have another colour in the street, which flights are filmed over.
MODEL: Final = "model:"
# Surfaces by their semantics -> the keys of OpenStreetMap for their colour and what they are made of.
_PAINTED: Final = {
    "WallSurface": ("building:colour", "building:material"),
    "RoofSurface": ("roof:colour", "roof:material"),
}
VISUAL: Final = "visual"  # theme of materials that are looks, where there are several (solar yield, noise)
# How roofs are called in attributes -> as OpenStreetMap calls them; what is called as there is taken as it is.
_ROOFS: Final = {"gable": "gabled", "hip": "hipped", "horizontal": "flat", "cupola": "dome"}


def _painted(geometry: dict[str, Any], count: int, appearance: Any) -> dict[str, str]:
    """Tags for the one material that all walls have, or all roofs; of surfaces without semantics, that all have.

    Args:
        geometry: of a building.
        count: of its surfaces.
        appearance: of the file.
    """
    themes = geometry.get("material")
    materials = appearance.get("materials") if isinstance(appearance, dict) else None
    if not isinstance(themes, dict) or not isinstance(materials, list):
        return {}
    theme = next(iter(themes.values())) if len(themes) == 1 else themes.get(VISUAL)
    if not isinstance(theme, dict):
        return {}
    worn = [theme["value"]] * count if "value" in theme else _flat(theme.get("values"))
    stated = geometry.get("semantics")
    meant = stated if isinstance(stated, dict) else {}
    surfaces = meant.get("surfaces")
    kinds: list[Any] = [None] * count
    if isinstance(surfaces, list):
        names = [one.get("type") if isinstance(one, dict) else None for one in surfaces]
        kinds = [names[i] if type(i) is int and 0 <= i < len(names) else None for i in _flat(meant.get("values"))]
    if len(worn) != count or len(kinds) != count:
        return {}
    numbers = [i if type(i) is int else None for i in worn]  # anything may stand there in a file
    found: dict[str, str] = {}
    for kind, (colour, material) in _PAINTED.items():
        own = {i for i, of in zip(numbers, kinds, strict=True) if of == kind or surfaces is None}
        number = own.pop() if len(own) == 1 else None
        one = materials[number] if number is not None and 0 <= number < len(materials) else None
        if isinstance(one, dict):
            rgb = one.get("diffuseColor")
            if isinstance(rgb, list) and len(rgb) == 3 and all(type(v) in (int, float) and 0 <= v <= 1 for v in rgb):
                found[colour] = "#" + "".join(f"{round(255 * v):02x}" for v in rgb)
            found[material] = str(one.get("name", ""))[:80].casefold()
    return found


def _tags(attributes: Any) -> dict[str, str]:
    """Tags for storeys and the shape of the roof, of CityJSON's attributes for buildings."""
    facts = attributes if isinstance(attributes, dict) else {}
    roof = str(facts.get("roofType", ""))[:80].casefold().removesuffix(" roof")
    levels = facts.get("storeysAboveGround")
    return ({"roof:shape": _ROOFS.get(roof, roof)} if roof else {}) | (
        {"building:levels": str(levels)} if type(levels) is int else {}
    )


def _flat(nested: Any) -> list[Any]:
    """The values in nested lists, in order; those of other things than lists are none."""
    found = nested if isinstance(nested, list) else []
    for _ in DEPTHS:
        found = [v for inner in found for v in (inner if isinstance(inner, list) else [inner])]
    return found


def _rings(boundaries: Any, depth: int, count: int) -> list[list[int]] | None:
    """The first ring of every surface, however deep they lie; None where one is broken."""
    surfaces = boundaries
    for _ in range(depth - 1):
        if not isinstance(surfaces, list) or not all(isinstance(inner, list) for inner in surfaces):
            return None
        surfaces = [surface for inner in surfaces for surface in inner]
    if not isinstance(surfaces, list) or not all(isinstance(s, list) and s for s in surfaces):
        return None
    rings = [surface[0] for surface in surfaces]
    sound = all(
        isinstance(ring, list) and len(ring) >= 3 and all(type(i) is int and 0 <= i < count for i in ring)
        for ring in rings
    )
    return rings if sound else None


def _feature(
    objects: dict[str, Any],
    key: str,
    rings: list[list[int]],
    vertices: FloatArray,
    system: _System,
    tally: FaultTally,
    looks: dict[str, str],
) -> Feature | None:
    kind, facts, who = objects[key]["type"], _facts(objects, objects[key]), repr(key)[:80]
    # The union is made about a corner, in metres: far from the origin floating point is coarse.
    about = vertices[rings[0][0], :2]
    unit = system.ground_unit_m
    scale = np.array([unit, unit]) if np.isfinite(unit) else 111_320.0 * np.array([np.cos(np.radians(about[1])), 1.0])
    flats = [shapely.Polygon((vertices[ring, :2] - about) * scale) for ring in rings]
    union = shapely.union_all([flat for flat in flats if flat.is_valid and flat.area > EDGE_ON_M2])
    pieces = [piece for piece in getattr(union, "geoms", [union]) if piece.area > SLIVER_M2]
    if not pieces:
        tally.add("unusable_outline", who)
        return None
    outlines, hollow = [], any(len(piece.interiors) for piece in pieces)
    for piece in pieces:
        corners = np.array(piece.exterior.coords)[:-1] / scale + about
        lon, lat = system.to_wgs84.transform(corners[:, 0], corners[:, 1])
        outlines.append(np.column_stack([lat, lon]))
    heights = vertices[np.concatenate(rings), 2] * system.height_unit_m
    high = float(heights.max() - heights.min())
    known = high > FLAT_M  # not where it is NaN
    return Feature(
        tuple(outlines),
        named(facts.get("name"), who, tally),
        KINDS[kind],
        solid=kind in BUILDINGS,
        height_m=high if known else np.nan,
        foot_m=float(heights.min()) if known and system.above_sea else np.nan,
        datum="sea" if system.above_sea else "takeoff",
        tags={"type": kind} | looks | ({"height of geometry": f"{high:.2f}"} if known else {}),
        id=key if usable_name(key) else "",
        hollow=hollow,
    )
