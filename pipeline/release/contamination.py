"""Whether scenes are in a benchmark: by id, by raw data, by building, by place on earth, and by pictures."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from pipeline.core.errors import ConfigError
from pipeline.core.tables import VIDEOS_TABLE, check_files, check_version, sums_of
from pipeline.core.templates import load_table
from pipeline.places import km_between

NEAR_BITS: Final = 6  # of 64, in which two pictures of the same may differ, encoded anew or scaled
SHARE_MIN: Final = 0.5  # of a video's pictures that another one has


class Scenes(NamedTuple):
    """The scenes of a release, as far as they tell who they are.

    Attributes:
        release: its folder.
        raw: scene -> digest of its raw data.
        place: scene -> latitude and longitude, degrees, of those that have a position.
        pictures: scene -> hashes of evenly spaced pictures of its video, of those that are known.
        files: digest of a picture file -> the file.
    """

    release: Path
    raw: Mapping[str, str]
    place: Mapping[str, tuple[float, float]]
    pictures: Mapping[str, tuple[int, ...]]
    files: Mapping[str, str]


class SharedScene(NamedTuple):
    """A scene that is in a benchmark: found by which check, as which of its scenes, and what was measured."""

    scene: str
    check: str
    of: str
    measured: float | None = None
    limit: float | None = None
    unit: str = ""
    release: Path = Path()


def scenes_of(release: Path) -> Scenes:
    """The scenes of a release. Raises ConfigError where it is not whole, or does not say what its scenes are."""
    sums = sums_of(release)
    wanted = [file for file in sums if file.split("/")[0] in {"provenance", VIDEOS_TABLE}]
    if not any(file.startswith("provenance/") for file in wanted):
        remedy = "copy the release again; of one without its answers give the whole one, or ask who published it"
        raise ConfigError(f"{release}: has no provenance/, which says what its scenes are; {remedy}")
    check_files(release, sums, wanted)
    raw: dict[str, str] = {}
    place: dict[str, tuple[float, float]] = {}
    pictures: dict[str, tuple[int, ...]] = {}
    for file in wanted:
        check_version(release / file)
        names = set(pq.read_schema(release / file).names)
        if file.startswith("provenance/"):
            columns = [name for name in ("scene", "source_sha256", "latitude", "longitude") if name in names]
            for row in pq.read_table(release / file, columns=columns).group_by(columns).aggregate([]).to_pylist():
                raw[row["scene"]] = row["source_sha256"]
                if row.get("latitude") is not None:
                    place[row["scene"]] = (row["latitude"], row["longitude"])
        else:
            for row in pq.read_table(release / file, columns=["scene", "pictures"]).to_pylist():
                if row["pictures"]:
                    pictures[row["scene"]] = tuple(int(one, 16) for one in row["pictures"])
    views = {digest: file for file, digest in sums.items() if file.endswith((".jpg", ".jpeg"))}
    return Scenes(release, raw, place, pictures, views)


def shared_scenes(own: Scenes, benchmark: Scenes, radius_m: float) -> list[SharedScene]:
    """The scenes that a benchmark has too, each with the first check that finds it, in order.

    Args:
        own: what is to be trained on.
        benchmark: what is not to be in it.
        radius_m: within which two positions are one place.
    """
    raw = {digest: scene for scene, digest in sorted(benchmark.raw.items(), reverse=True)}
    buildings = {building_of(scene): scene for scene in sorted(benchmark.raw, reverse=True)}
    found = (_shared(scene, own, benchmark, radius_m, raw, buildings) for scene in sorted(own.raw))
    return [one._replace(release=benchmark.release) for one in found if one is not None]


def _shared(
    scene: str,
    own: Scenes,
    benchmark: Scenes,
    radius_m: float,
    raw: Mapping[str, str],
    buildings: Mapping[str | None, str],
) -> SharedScene | None:
    building = building_of(scene)
    if scene in benchmark.raw:
        return SharedScene(scene, "same_scene", scene)
    if own.raw[scene] in raw:
        return SharedScene(scene, "same_raw_data", raw[own.raw[scene]])
    if building is not None and building in buildings:
        return SharedScene(scene, "same_building", buildings[building])
    if scene in own.place and benchmark.place:
        names = sorted(benchmark.place)
        metres = 1000 * km_between(np.array([benchmark.place[name] for name in names]), *own.place[scene])
        if metres.min() <= radius_m:
            measured = round(float(metres.min()), 1)
            return SharedScene(scene, "same_place", names[metres.argmin()], measured, radius_m, "m")
    return _same_pictures(scene, own, benchmark)


def _same_pictures(scene: str, own: Scenes, benchmark: Scenes) -> SharedScene | None:
    for digest in sorted(own.files.keys() & benchmark.files.keys()):
        if f"/{scene}/" in f"/{own.files[digest]}":
            return SharedScene(scene, "same_pictures", benchmark.files[digest])
    alike = {other: _alike(own.pictures.get(scene, ()), seen) for other, seen in sorted(benchmark.pictures.items())}
    best = max(alike, key=lambda other: alike[other], default=None)
    if best is None or alike[best] < SHARE_MIN:
        return None
    return SharedScene(scene, "same_pictures", best, round(alike[best], 3), SHARE_MIN, "share")


@cache
def building_of(scene: str) -> str | None:
    """The building of a scene of a dataset that has several recordings of one; None: its name tells none."""
    dataset, _, name = scene.partition("/")
    match = re.fullmatch(load_table("train/words")["buildings"].get(dataset, "(?!)"), name)
    return match and f"{dataset}/{match[1]}"


def _alike(own: Sequence[int], others: Sequence[int]) -> float:
    """Share of pictures of which the other video has one that is nearly the same, by their hashes."""
    if not own or not others:
        return 0.0
    differ = np.array(own, np.uint64)[:, None] ^ np.array(others, np.uint64)
    return float((np.bitwise_count(differ).min(1) <= NEAR_BITS).mean())
