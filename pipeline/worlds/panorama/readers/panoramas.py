"""Reader of panoramas: a folder for each, or pictures in the root, with what is known of them.

``id/{pano.jpg, pano.yaml, depth.png, objects.json, mapillary.json or panoramax.json}``; or ``id.jpg`` with ``id.yaml``,
``id.depth.png``, ``id.objects.json`` and so on. Only the picture is needed. Maps of all lie in ``maps/``.

``objects.json``: ``{"objects": [{"id", "label", "yaw_deg": [from, to], "pitch_deg": [low, high]} …], "complete":
[labels]}``: yaw clockwise from the middle column, so that [170, -170] is 20 degrees across the seam. In their place
``box_px``: [left, top, right, bottom] in pixels of the picture, left over right for what lies across the seam. Further
keys: slot, name, kind, attributes, distance_m, visible_share.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field, FiniteFloat, ValidationError

from pipeline.core.errors import ConfigError, RawDataError, first_fault, require_extra
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.identity import digest_of
from pipeline.core.schema import Model, Name, Origin, Share
from pipeline.formats.images import color_file, depth_file
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import RENAME, FolderReader, check_scene_name, digest_files
from pipeline.reading.maps.areas import COUNTRIES, fit_name
from pipeline.reading.maps.feature import mentioned
from pipeline.reading.maps.gazetteer import SUFFIXES as MAP_SUFFIXES
from pipeline.reading.maps.gazetteer import maps_in, read_gazetteer, stamped
from pipeline.reading.maps.read import OSM_SUFFIXES
from pipeline.reading.maps.surroundings import surroundings_of
from pipeline.reading.reader import ExpectedFile, NearbyPanorama, PanoramaGeometry
from pipeline.worlds.panorama.facts import (
    MOST_PIXELS,
    Panorama,
    PanoramaObject,
    PanoramaPicture,
    PanoramaScene,
    Place,
    Slot,
    SphereCrop,
)
from pipeline.worlds.panorama.readers.metadata import of_services, say_what_is_missing, settle, stated, whereabouts
from pipeline.worlds.panorama.readers.own_files import (
    DEFAULT_DATASET,
    MAPS,
    OBJECTS_FILE,
    SERVICES,
    SIDECAR,
    SUFFIXES,
    Sidecar,
    beside,
    is_picture,
    own_files,
    pictures_in,
    read_sidecar,
    refuse_large,
)
from pipeline.worlds.panorama.readers.picture import MOST_DEPTH_PIXELS, find_depth, open_picture
from pipeline.worlds.panorama.readers.sources import accuracy_of, compare, first

TOLD: Final = (
    "position",
    "heading_deg",
    "camera_pitch_deg",
    "camera_roll_deg",
    "captured",
    "utc_s",
    "author",
    "licence",
    "source_url",
)
# By which endings `doctor` knows the files of a panorama, in a folder and in the root.
EXPECTED_FILES: Final = (
    ExpectedFile("picture", tuple(f"*{suffix}" for suffix in SUFFIXES), "the panorama is left out", True, SUFFIXES),
    ExpectedFile(
        "sidecar", ("pano.yaml",), "only what picture or service say of position and heading", recorded=(".yaml",)
    ),
    ExpectedFile(
        "service",
        tuple(f"*{name}.json" for name in SERVICES),
        "nothing, where pano.yaml or the picture say the same",
        recorded=tuple(f"{name}.json" for name in SERVICES),
    ),
    ExpectedFile("depth", ("depth.png",), "no distances but those that people gave", recorded=("depth.png",)),
    ExpectedFile("objects", ("objects.json",), "no question about objects", recorded=("objects.json",)),
    ExpectedFile(
        "maps",
        tuple(f"{up}{MAPS}/*{suffix}" for up in ("", "../") for suffix in MAP_SUFFIXES),
        "no city and street but those that pano.yaml states, and a country only 20 km from any other",
    ),
)


@dataclass(frozen=True)
class Panoramas(FolderReader):
    """Panoramas in folders of the user.

    Args:
        maps: a folder of map files; "" for the folder ``maps`` of the root.
    """

    maps: str = ""
    name = "panoramas"
    version = 1
    video_fps = 1
    expected_files = EXPECTED_FILES
    expected_root = "a folder of panoramas"
    expected_scenes = "no panorama here. Give a folder of panoramas: a folder or a picture for each"
    scene_word = "panorama"

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`. Raises ConfigError where maps need a package that is not installed."""
        if any(path.name.lower().endswith(OSM_SUFFIXES) for path in self._maps(root)):
            require_extra("flights", f"reader {self.name} with a map of OpenStreetMap")
        listing = super().scenes(root)
        return Listing(tuple(_with_twins(root, listing.scenes)), listing.broken)

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: folders with a picture or a sidecar, and pictures."""
        for path in root.iterdir():
            if not path.name.startswith(".") and (_is_panorama(path) if path.is_dir() else is_picture(path)):
                yield path

    def shared(self, root: Path) -> bytes:
        """See `FolderReader.shared`: the maps."""
        return digest_files(root, [(path.name, path.stat()) for path in self._maps(root)], b"").encode()

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`."""
        name = place.name if place.is_dir() else place.stem
        check_scene_name(place, name, RENAME)
        try:
            yield _list_panorama(root, place, name, shared)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}"
            raise RawDataError(place, "unreadable_file", message, "make its files readable") from error

    def read(self, files: SceneFiles) -> PanoramaScene:
        """See `Reader.read`."""
        findings = Findings()
        sidecar = read_sidecar(files, own_files(files).sidecar)
        own = own_files(files, sidecar.picture)
        opened = open_picture(files, own, sidecar.crop, findings)
        sources = [stated(sidecar, findings), *of_services(files, own, findings), *opened.source_metadata]
        compare(sources, findings)
        objects, complete = read_objects(files, own.objects, opened.picture, findings)
        source_tags = {name: SIDECAR for name in ("camera_height_m", "indoor") if getattr(sidecar, name) is not None}
        panorama = Panorama(
            picture=opened.picture,
            **{name: first(sources, name, source_tags) for name in TOLD},
            accuracy_m=accuracy_of(sources, source_tags),
            camera_height_m=sidecar.camera_height_m,
            depth=find_depth(files, own, sidecar, opened.picture, findings),
            objects=objects,
            cues=sidecar.cues,
            complete=complete,
            views=sidecar.views,
            indoor=sidecar.indoor,
            place=_stated_place(sidecar),
            tags=sidecar.tags,
            source_tags=source_tags,
        )
        if "heading" in sidecar.certain:  # what people are certain of is not held against the sun
            panorama = panorama.model_copy(update={"utc_s": None})
        say_what_is_missing(panorama.position, panorama.heading_deg, findings)
        known = {"position": panorama.position is not None, "heading": panorama.heading_deg is not None}
        settle(findings, {subject for subject, is_known in known.items() if is_known}, sidecar.certain)
        return files.scene_of(PanoramaScene, self, "none", panorama, findings)

    def geometry(self, files: SceneFiles, scene: PanoramaScene) -> PanoramaGeometry:
        """See `Reader.geometry`. Nothing is decoded or read before it is asked for."""
        facts, maps = scene.facts, self._maps(files.root)
        twins = tuple(NearbyPanorama(ref.id, partial(self._twin, files.root, ref)) for ref in files.ref.compared_with)
        return PanoramaGeometry(
            color=partial(color_file, files.root / facts.picture.path, MOST_PIXELS),
            depth_m=lambda: (
                None
                if (depth := facts.depth) is None
                else depth_file(files.root / depth.path, 1.0 / depth.metres_per_unit, MOST_DEPTH_PIXELS)
            ),
            gazetteer=lambda: read_gazetteer(tuple(map(stamped, maps))) if maps else None,
            surroundings=lambda at: (
                surroundings_of(tuple(map(stamped, maps)), at.lat_deg, at.lon_deg) if maps else None
            ),
            twins=twins,
        )

    def _twin(self, root: Path, ref: SceneRef) -> tuple[PanoramaScene, PanoramaGeometry] | None:
        try:
            scene = self.read(files := SceneFiles(root, ref))
        except RawDataError:  # said of that one
            return None
        return scene, self.geometry(files, scene)

    def _maps(self, root: Path) -> tuple[Path, ...]:
        folder = Path(self.maps) if self.maps else root / MAPS
        if self.maps and not folder.is_dir():
            raise ConfigError(f"configuration readers.{self.name}.maps: {folder}: no such folder")
        return maps_in(folder)


def _stated_place(sidecar: Sidecar) -> Place | None:
    if sidecar.place is None:
        return None
    words = {name: value for name, value in sidecar.place if value is not None}
    if "country_code" in words and "country" not in words:
        words["country"] = COUNTRIES.get(words["country_code"], words["country_code"])
    return Place(**words, source_tags={name: SIDECAR for name in words if name != "country_code"})


NEAR_M: Final = 10.0  # within which near-duplicates are looked for
TWINS_MAX: Final = 4  # with which a picture is compared, the nearest of those before it
_NEIGHBOURS: Final = 32  # looked at around each, in search of those
_SPOT_DECIMALS: Final = 5  # degrees: a metre
_EARTH_M: Final = 6_371_000.0


@dataclass(frozen=True)
class _ListedPanorama(SceneRef):
    """A panorama as it is listed, with what its near-duplicates are found by."""

    picture: Path | None = None
    position: Origin | None = None


def _is_panorama(folder: Path) -> bool:
    if folder.name == MAPS:
        return False
    return (folder / SIDECAR).is_file() or bool(pictures_in(folder))


def _list_panorama(root: Path, path: Path, name: str, extra: bytes) -> _ListedPanorama:
    if path.is_dir():
        there = [p for p in sorted(path.iterdir()) if p.is_file() and not p.name.startswith(".")]
        folder = path
    else:
        there, folder = [path, *beside(path)], root
    names = (folder, *there)
    stamp = digest_files(folder, [(p.name, p.stat()) for p in there], extra)
    ref = SceneRef(f"{DEFAULT_DATASET}/{name}", tuple(p.relative_to(root).as_posix() for p in names), stamp)
    files = SceneFiles(root, ref)
    own = own_files(files)
    try:
        sidecar = read_sidecar(files, own.sidecar)
    except RawDataError:  # said when the panorama is read
        sidecar = Sidecar()
    own = own_files(files, sidecar.picture)
    picture = own.pictures[0] if len(own.pictures) == 1 else None
    position = whereabouts(files, own, sidecar)
    return _ListedPanorama(f"{sidecar.dataset}/{name}", ref.files, stamp, picture=picture, position=position)


def _with_twins(root: Path, listed: Sequence[SceneRef]) -> Iterator[SceneRef]:
    """The scenes, each with the pictures of those before it that were taken near it, or whose files are as long."""
    found = [ref for ref in listed if isinstance(ref, _ListedPanorama)]
    twins = _twins(found)
    for i, one in enumerate(found):
        near = tuple(SceneRef(found[j].id, found[j].files, found[j].stamp) for j in twins.get(i, ()))
        stamp = digest_of([one.stamp, *(ref.stamp for ref in near)]) if near else one.stamp
        yield SceneRef(one.id, one.files, stamp, compared_with=near)


def _twins(found: Sequence[_ListedPanorama]) -> dict[int, list[int]]:
    """For each panorama the numbers of those before it that may be the same, the nearest first."""
    pairs: dict[int, list[tuple[float, int]]] = {}
    by_size: dict[int, int] = {}
    by_spot: dict[tuple[float, float], int] = {}
    placed, places = [], []
    for i, one in enumerate(found):
        if one.picture is None:
            continue
        first = by_size.setdefault(one.picture.stat().st_size, i)
        if first != i:
            pairs.setdefault(i, []).append((0.0, first))
        if one.position is not None:
            placed.append(i)
            places.append((one.position.lat_deg, one.position.lon_deg))
            spot = (round(one.position.lat_deg, _SPOT_DECIMALS), round(one.position.lon_deg, _SPOT_DECIMALS))
            first = by_spot.setdefault(spot, i)  # of many on one spot the nearest may all come later
            if first != i:
                pairs.setdefault(i, []).append((0.0, first))
    if len(placed) > 1:
        from scipy.spatial import KDTree  # takes a third of a second to import

        lat, lon = np.radians(places).T
        sphere = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)]) * _EARTH_M
        away, near = KDTree(sphere).query(sphere, k=min(_NEIGHBOURS, len(placed)), distance_upper_bound=NEAR_M)
        for i, distances, others in zip(placed, away.tolist(), near.tolist(), strict=True):
            pairs.setdefault(i, []).extend(
                (d, placed[n]) for d, n in zip(distances, others, strict=True) if n < len(placed) and placed[n] < i
            )
    return {i: list(dict.fromkeys(j for _, j in sorted(near)))[:TWINS_MAX] for i, near in pairs.items() if near}


DISTANCE_MAX_M: Final = 10_000.0  # beyond it nothing in a street has a distance: millimetres
_MOST_BYTES: Final = 64 << 20
_WHO_CHARS: Final = 60
_REMEDIES: Final = {
    "unusable_object": "see docs/build/panoramas.md for what an object has",
    "duplicate_id": "give each an id of its own",
}


class _RawObject(Model):
    id: Name
    label: Name
    slot: Slot | None = None
    name: Name | None = None
    kind: Name | None = None
    attributes: dict[Name, Name] = Field(default_factory=dict)
    yaw_deg: tuple[FiniteFloat, FiniteFloat] | None = None
    pitch_deg: tuple[FiniteFloat, FiniteFloat] | None = None
    box_px: tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat] | None = None
    distance_m: Annotated[FiniteFloat, Field(gt=0, le=DISTANCE_MAX_M)] | None = None
    visible_share: Share | None = None


def read_objects(
    files: SceneFiles, path: Path, picture: PanoramaPicture, findings: Findings
) -> tuple[tuple[PanoramaObject, ...], tuple[str, ...]]:
    """The usable objects by id, and the labels of which they are all; what is wrong with single ones is a doubt.

    Raises:
        RawDataError: where the file is no JSON object with a list of objects.
    """
    if not path.is_file():
        return (), ()
    refuse_large(files, path, _MOST_BYTES)
    value = files.json(path)
    entries, complete = value.get("objects"), value.get("complete", [])
    if not isinstance(entries, list) or not isinstance(complete, list) or set(value) - {"objects", "complete"}:
        message = f'its keys are {", ".join(sorted(value))[:200]}, and not "objects" and "complete", both lists'
        raise files.fault(path, "bad_objects", message, _REMEDIES["unusable_object"])
    found: dict[str, PanoramaObject] = {}
    refused: dict[str, list[str]] = {}
    again: set[str] = set()
    for place, entry in enumerate(entries):
        seen = _object_of(entry, picture)
        if isinstance(seen, str):
            own = entry.get("id") if isinstance(entry, dict) else None
            who = str(own)[:_WHO_CHARS] if own else f"object {place}"
            refused.setdefault("unusable_object", []).append(f"{who} ({seen})")
        elif seen.id in found or seen.id in again:
            refused.setdefault("duplicate_id", []).append(seen.id)
            again.add(seen.id)
            found.pop(seen.id, None)
        else:
            found[seen.id] = seen
    name = files.relative(path)
    for reason, ids in refused.items():
        message = f"{name}: {len(ids)} of {len(entries)} objects were left out: {mentioned(ids)}"
        findings.add(doubt(reason, OBJECTS_FILE, message, _REMEDIES[reason], float(len(ids)), 0.0, "objects"))
    count = Counter(seen.label for seen in found.values())
    several = sorted(label for label, n in count.items() if n > 1)
    if several:
        message = f"{name}: {len(several)} of {len(count)} labels are those of several objects: {mentioned(several)}"
        remedy = "nothing is asked that would name one of them; tell them apart by label to have it asked"
        findings.add(note("label_not_unique", OBJECTS_FILE, message, remedy, float(len(several)), 0.0, "labels"))
    labels = [label for label in complete if isinstance(label, str) and label]
    if len(labels) < len(complete) or refused:
        labels = []  # nothing is complete of which something was left out
    return tuple(found[key] for key in sorted(found)), tuple(sorted(set(labels)))


def _object_of(entry: Any, picture: PanoramaPicture) -> PanoramaObject | str:
    """An object, or why it is none."""
    try:
        raw = _RawObject.model_validate(entry)
    except ValidationError as error:
        return first_fault(error, "entry")
    words = (raw.id, raw.label, raw.name or "-", raw.kind or "-", *raw.attributes, *raw.attributes.values())
    unfit = next((word for word in words if not fit_name(word)), None)
    angles = f"{unfit!r} cannot stand in a question" if unfit is not None else _angles(raw, picture)
    if isinstance(angles, str):
        return angles
    (start, width), (low, high) = angles
    return PanoramaObject(
        **raw.model_dump(exclude={"yaw_deg", "pitch_deg", "box_px"}),
        yaw_deg=(start + width / 2 + 180.0) % 360.0 - 180.0,
        width_deg=width,
        pitch_low_deg=low,
        pitch_high_deg=high,
        source_tags={key: OBJECTS_FILE for key in ("distance_m", "visible_share") if getattr(raw, key) is not None},
    )


def _angles(raw: _RawObject, picture: PanoramaPicture) -> tuple[tuple[float, float], tuple[float, float]] | str:
    """First yaw and width, lowest and highest pitch, degrees; or why it has none."""
    if raw.box_px is not None and raw.yaw_deg is None and raw.pitch_deg is None:
        angles = angles_of(raw.box_px, picture)
        if angles is None:
            return f"box_px {list(raw.box_px)} lies beyond the picture's {picture.width} x {picture.height} pixels"
    elif raw.box_px is None and raw.yaw_deg is not None and raw.pitch_deg is not None:
        if max(map(abs, raw.yaw_deg)) > 360.0:
            return f"yaw_deg {list(raw.yaw_deg)} is not within -360 to 360"
        angles = (raw.yaw_deg[0], (raw.yaw_deg[1] - raw.yaw_deg[0]) % 360.0), raw.pitch_deg
    else:
        return "needs yaw_deg and pitch_deg, or box_px"
    (_, width), (low, high) = angles
    if not -90.0 <= low < high <= 90.0:
        return f"pitch from {low:g} to {high:g}, which is not low to high within -90 to 90"
    return angles if width else "it has no width"


def angles_of(
    box_px: tuple[float, float, float, float], picture: PanoramaPicture
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """First yaw and width, lowest and highest pitch of a box between pixels' edges, degrees; None: off the picture."""
    left, top, right, bottom = box_px
    if not (min(left, right) >= 0 and max(left, right) <= picture.width and 0 <= top < bottom <= picture.height):
        return None
    crop = picture.crop or SphereCrop(full_width=picture.width, full_height=picture.height, left=0, top=0)
    across, down = 360.0 / crop.full_width, 180.0 / crop.full_height
    start = (left + crop.left) * across - 180.0
    width = ((right - left) * across) % 360.0 or (360.0 if right > left else 0.0)
    return (start, width), (90.0 - (bottom + crop.top) * down, 90.0 - (top + crop.top) * down)
