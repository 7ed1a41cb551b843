"""The tables of nuScenes' layout, taken apart by scene: one file of rows each, joined by tokens.

Full tables hold millions of rows for hundreds of scenes. They are read once in a process and kept as arrays.
Caesar et al., "nuScenes: A multimodal dataset for autonomous driving" (CVPR 2020), and the devkit's
docs/schema_nuscenes.md: quaternions w x y z; poses of our car and boxes in the global frame; ``size`` is width, length,
height; times in microseconds. Lyft's tables (level 5, 2019) have the same layout, with times as fractions.
"""

import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import FormatError, RawDataError
from pipeline.core.files import read_file
from pipeline.formats.json_scenes import split_scenes

SCENES: Final = "scene.json"
ANNOTATIONS: Final = "sample_annotation.json"
NEEDED: Final = (
    *(SCENES, "sample.json", "sample_data.json", "ego_pose.json", "calibrated_sensor.json", "sensor.json"),
    *(ANNOTATIONS, "instance.json", "category.json"),
)
OPTIONAL: Final = ("attribute.json", "log.json")
LIDAR: Final = "LIDAR_TOP"
AHEAD: Final = "CAM_FRONT"
AGAIN: Final = "fetch the tables again"
_RIDER: Final = {"cycle.with_rider": " with rider", "cycle.without_rider": " without rider"}
WORD_MAX: Final = 190  # characters of a token, a name or a path; those of the released tables have up to 102
_HALVES: Final = re.compile("[\ud800-\udfff]")
_BOX: Final = 11  # numbers of a box: place, size, rotation, lidar points


class SensorMount(NamedTuple):
    """A sensor's channel, kind, place and turn on our car, and its matrix of intrinsics (empty: no camera)."""

    channel: str
    modality: str
    place_m: tuple[float, ...]
    quat_wxyz: tuple[float, ...]
    intrinsics: tuple[tuple[float, ...], ...]


class MountedCamera(NamedTuple):
    """A camera as a scene has it."""

    mount: SensorMount
    width: float
    height: float


@dataclass
class TabledScene:
    """The rows of one scene.

    Attributes:
        location: of the log; None where it is not told.
        declared: samples that the scene should have.
        sample_us: (S,) microseconds, in the order of the table.
        ego_pose: (S, 7) place and quaternion w x y z of our car at the lidar's key frame, NaN where there is none.
        box_sample: (B,) number of the sample.
        box_thing: (B,) token of the instance.
        box_word: (B,) the source's category, of what is ridden with or without a rider where that is told.
        box: (B, 11) place, size (width, length, height), quaternion w x y z, lidar points.
        pictures: of the camera ahead: microseconds and file, in the order of the table.
        cameras: by channel.
    """

    location: str | None
    declared: float
    sample_us: FloatArray = field(default_factory=lambda: np.zeros(0))
    ego_pose: FloatArray = field(default_factory=lambda: np.zeros((0, 7)))
    box_sample: FloatArray = field(default_factory=lambda: np.zeros(0))
    box_thing: list[str] = field(default_factory=list)
    box_word: list[str] = field(default_factory=list)
    box: FloatArray = field(default_factory=lambda: np.zeros((0, _BOX)))
    pictures: list[tuple[float, str]] = field(default_factory=list)
    cameras: dict[str, MountedCamera] = field(default_factory=dict)


class SceneTables(NamedTuple):
    """All scenes of a folder of tables by name, and how many boxes are of none of them."""

    scenes: Mapping[str, TabledScene]
    astray: int


def scene_names(folder: Path) -> list[str]:
    """The scenes that a folder of tables lists. Raises RawDataError."""
    return [name for (name,) in _rows(folder, "scene", "name")]


@lru_cache(maxsize=1)
def read_tables(folder: Path, _stamp: str) -> SceneTables:
    """All scenes of a folder of tables; ``stamp`` changes whenever these do.

    What a row does not hold, or not as a number, is NaN or an empty word. Raises RawDataError where a table is none.
    """
    places = _by_token(folder, "log", "location") if (folder / "log.json").is_file() else {}
    scenes: dict[str, TabledScene] = {}
    by_token: dict[str, TabledScene] = {}
    for token, (name, log, count) in _by_token(folder, "scene", "name", "log_token", nbr_samples=0).items():
        by_token[token] = scenes[name] = TabledScene(places[log][0] or None if log in places else None, count)
    sample_of: dict[str, tuple[TabledScene, int]] = {}
    times: defaultdict[int, list[float]] = defaultdict(list)
    for token, (scene_token, time_us) in _by_token(folder, "sample", "scene_token", timestamp=0).items():
        scene = by_token.get(scene_token)
        if scene is not None:
            sample_of[token] = (scene, len(times[id(scene)]))
            times[id(scene)].append(time_us)
    for scene in scenes.values():
        scene.sample_us = np.array(times[id(scene)], dtype=np.float64)
        scene.ego_pose = np.full((len(scene.sample_us), 7), np.nan)
    _add_sensors(folder, sample_of)
    return SceneTables(scenes, _add_boxes(folder, sample_of, list(scenes.values())))


def _add_sensors(folder: Path, sample_of: Mapping[str, tuple[TabledScene, int]]) -> None:
    """Poses of our car, cameras and pictures."""
    channels = _by_token(folder, "sensor", "channel", "modality")
    mounts = {
        token: SensorMount(channels[sensor][0], channels[sensor][1], place, turn, lens)
        for token, (sensor, place, turn, lens) in _by_token(
            folder, "calibrated_sensor", "sensor_token", translation=3, rotation=4, camera_intrinsic=(3, 3)
        ).items()
        if sensor in channels
    }
    wanted: defaultdict[str, list[tuple[TabledScene, int]]] = defaultdict(list)
    rows = _rows(
        *(folder, "sample_data", "sample_token", "ego_pose_token", "calibrated_sensor_token", "filename"),
        is_key_frame=None, timestamp=0, width=0, height=0,
    )  # fmt: skip
    for sample_token, pose_token, mount_token, file, key, time_us, width, height in rows:
        found, mount = sample_of.get(sample_token), mounts.get(mount_token)
        if found is None or mount is None:
            continue
        scene, sample = found
        if mount.channel == LIDAR and key is True:
            wanted[pose_token].append((scene, sample))
        if mount.modality == "camera" and mount.channel:
            scene.cameras.setdefault(mount.channel, MountedCamera(mount, width, height))
        if mount.channel == AHEAD:
            scene.pictures.append((time_us, file))
    for token, place, turn in _rows(folder, "ego_pose", "token", translation=3, rotation=4):
        for scene, sample in wanted.pop(token, ()):
            scene.ego_pose[sample] = (*place, *turn)


def _add_boxes(folder: Path, sample_of: Mapping[str, tuple[TabledScene, int]], scenes: list[TabledScene]) -> int:
    """Boxes with their category and thing; how many have no sample."""
    words = _by_token(folder, "category", "name")
    kinds = {
        token: words[category][0] if category in words else ""
        for token, (category,) in _by_token(folder, "instance", "category_token").items()
    }
    attributes = _by_token(folder, "attribute", "name") if (folder / "attribute.json").is_file() else {}
    riders = {token: _RIDER[name] for token, (name,) in attributes.items() if name in _RIDER}
    numbers = {id(scene): array("d") for scene in scenes}
    samples = {id(scene): array("q") for scene in scenes}
    astray = 0
    rows = _rows(
        *(folder, "sample_annotation", "sample_token", "instance_token"),
        attribute_tokens=None, translation=3, size=3, rotation=4, num_lidar_pts=0,
    )  # fmt: skip
    for sample_token, thing, states, place, size, turn, points in rows:
        found = sample_of.get(sample_token)
        if found is None:
            astray += 1
            continue
        scene, sample = found
        tokens = states if isinstance(states, list) else ()
        rider = next((riders[one] for one in tokens if isinstance(one, str) and one in riders), "")
        scene.box_thing.append(thing)
        scene.box_word.append(kinds.get(thing, "") + rider)
        samples[id(scene)].append(sample)
        numbers[id(scene)].extend((*place, *size, *turn, points))
    for scene in scenes:
        scene.box_sample = np.array(samples[id(scene)], dtype=np.intp)
        scene.box = np.array(numbers[id(scene)], dtype=np.float64).reshape(-1, _BOX)
    return astray


def _by_token(folder: Path, table: str, *words: str, **numbers: int | tuple[int, int] | None) -> dict[str, list[Any]]:
    """`_rows` by their tokens. Raises RawDataError where two have one."""
    found: dict[str, list[Any]] = {}
    for token, *row in _rows(folder, table, "token", *words, **numbers):
        if token in found:
            message = f"two rows have the token {token!r}: which one is meant is not known"
            raise RawDataError(folder / f"{table}.json", "duplicate_key", message, AGAIN)
        found[token] = row
    return found


def _rows(folder: Path, table: str, *words: str, **numbers: int | tuple[int, int] | None) -> Iterator[list[Any]]:
    """Words and numbers of each row of a table: 0 is one number, n a list of these, None whatever stands there."""
    path = folder / f"{table}.json"
    try:
        for entry in split_scenes(read_file(path), _no_name):
            row = entry.value if isinstance(entry.value, dict) else {}
            yield [
                *(_word(row.get(word)) for word in words),
                *(row.get(key) if shape is None else _shaped(row.get(key), shape) for key, shape in numbers.items()),
            ]
    except FormatError as error:
        raise RawDataError(path, error.finding, error.message, AGAIN) from error
    except FileNotFoundError as error:
        raise RawDataError(path, "missing_file", "there is no such file", AGAIN) from error
    except OSError as error:
        raise RawDataError(path, "unreadable_file", str(error.strerror), "make the file readable") from error


def _no_name(_: Any) -> str:
    return ""


def _shaped(value: Any, shape: int | tuple[int, int]) -> Any:
    """A number, or numbers in a tuple, or such tuples in one; NaN in place of each where the value is not so."""
    if shape == 0:
        return _number(value)
    if isinstance(shape, tuple):
        fits = isinstance(value, list) and len(value) == shape[0]
        return tuple(_shaped(row, shape[1]) for row in value) if fits else ()
    if not isinstance(value, list) or len(value) != shape:
        return (math.nan,) * shape
    return tuple(_number(one) for one in value)


def _word(value: Any) -> str:
    """A name or a path; empty where it is none, or none that can be written."""
    fits = isinstance(value, str) and len(value) <= WORD_MAX and not _HALVES.search(value)
    return value if fits else ""


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
