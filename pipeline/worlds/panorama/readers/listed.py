"""The panoramas of a root, which of them may be one taken twice, and a stamp that tells each changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import Origin
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import SAFE, SAFE_NAME, digest_files
from pipeline.reading.reader import Listing, SceneRef
from pipeline.worlds.panorama.readers.metadata import whereabouts
from pipeline.worlds.panorama.readers.own_files import MAPS, SIDECAR, beside, is_picture, own_files, pictures_in
from pipeline.worlds.panorama.readers.sidecar import DEFAULT_DATASET, Sidecar, read_sidecar

NEAR_M: Final = 10.0  # within which near-duplicates are looked for
TWINS_MAX: Final = 4  # with which a picture is compared, the nearest of those before it
_NEIGHBOURS: Final = 32  # looked at around each, in search of those
_SPOT_DECIMALS: Final = 5  # degrees: a metre
_EARTH_M: Final = 6_371_000.0


@dataclass(frozen=True)
class _Found:
    """A panorama as it is listed."""

    ref: SceneRef
    picture: Path | None
    position: Origin | None


def list_panoramas(root: Path, maps: Sequence[Path]) -> Listing:
    """All panoramas of a root, sorted by id. Raises ConfigError where there is none.

    Args:
        root: the folder of them.
        maps: map files, of which all of them depend.
    """
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder. Give a folder of panoramas")
    stamp = digest_files(root, [(path.name, path.stat()) for path in maps], b"").encode()
    found: dict[str, list[_Found]] = {}
    broken: list[RawDataError] = []
    for path in sorted(root.iterdir()):
        if path.name.startswith(".") or not (_is_panorama(path) if path.is_dir() else is_picture(path)):
            continue
        name = path.name if path.is_dir() else path.stem
        if not SAFE_NAME.fullmatch(name):
            message, remedy = f"the name {name!r} is not {SAFE}", "rename it: it becomes part of file names"
            broken.append(RawDataError(path, "unsafe_scene_name", message, remedy))
            continue
        try:
            one = _found(root, path, name, stamp)
            found.setdefault(one.ref.id, []).append(one)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}"
            broken.append(RawDataError(path, "unreadable_file", message, "make its files readable"))
    if not found and not broken:
        raise ConfigError(f"{root}: no panorama here. Give a folder of panoramas: a folder or a picture for each")
    for scene, several in found.items():
        if len(several) > 1:
            where = ", ".join(one.ref.files[-1] for one in several)
            message = f"the panorama is there {len(several)} times, as {where}, and which one is right is not known"
            remedy = "keep one of them"
            broken.append(RawDataError(root / several[0].ref.files[-1], "duplicate_scene", message, remedy, scene))
    kept = [several[0] for _, several in sorted(found.items()) if len(several) == 1]
    return Listing(tuple(_with_twins(root, kept)), tuple(broken))


def _is_panorama(folder: Path) -> bool:
    if folder.name == MAPS:
        return False
    return (folder / SIDECAR).is_file() or bool(pictures_in(folder))


def _found(root: Path, path: Path, name: str, extra: bytes) -> _Found:
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
    return _Found(replace(ref, id=f"{sidecar.dataset}/{name}"), picture, whereabouts(files, own, sidecar))


def _with_twins(root: Path, found: Sequence[_Found]) -> list[SceneRef]:
    """The scenes, each with the pictures of those before it that were taken near it, or whose files are as long."""
    twins = _twins(found)
    refs = []
    for i, one in enumerate(found):
        paths = [path for j in twins.get(i, ()) if (path := found[j].picture) is not None]
        stamp = digest_files(
            root, [(str(path.relative_to(root)), path.stat()) for path in paths], one.ref.stamp.encode()
        )
        others = tuple(
            (found[j].ref.id, path.relative_to(root).as_posix())
            for j in twins.get(i, ())
            if (path := found[j].picture) is not None
        )
        refs.append(replace(one.ref, stamp=stamp, beside=others) if others else one.ref)
    return refs


def _twins(found: Sequence[_Found]) -> dict[int, list[int]]:
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
