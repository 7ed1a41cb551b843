"""Reader of Argoverse 2 sensor logs: boxes about our car, its pose in the city, the vector map.

``LOG/{annotations.feather, city_SE3_egovehicle.feather, map/log_map_archive_*.json}``; in place of the first one
``annotations_with_ego.feather`` of the scenario mining challenge, which has our car as a track of its own. Boxes are
given about the middle of the rear axle, at the times of the lidar's sweeps (10 Hz), and are put into the city's frame.
Wilson et al., "Argoverse 2" (NeurIPS 2021, datasets and benchmarks), section 3.
"""

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.formats.feather import Columns
from pipeline.geometry.angles import matrices, rotated, yaw_deg
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.folders import Layout, list_scenes
from pipeline.reading.footage import Footage
from pipeline.reading.reader import ExpectedFile, Reader
from pipeline.worlds.drive.facts import ARGOVERSE2, CATEGORIES, TIME_STEP_S, Actor, Drive, DriveScene, Ego, VehicleBox
from pipeline.worlds.drive.readers import tracking
from pipeline.worlds.drive.readers.argoverse2_parts import (
    CAMERAS,
    city_of,
    pictures_ahead,
    read_cameras,
    read_map,
    read_rows,
    table_of,
)

ANNOTATIONS: Final = ("annotations_with_ego.feather", "annotations.feather")
POSES: Final = "city_SE3_egovehicle.feather"
MAP: Final = "map/log_map_archive_*.json"
EGO_CATEGORY: Final = "EGO_VEHICLE"
POINTS_MAX: Final = 1e8  # of a sweep
TURN: Final = ("qw", "qx", "qy", "qz")
PLACE: Final = ("tx_m", "ty_m", "tz_m")
POINT: Final = "the middle of the rear axle"
REACH_MAX_M: Final = 1000.0  # no lidar sees as far: a box beyond has other units, or none

_POSE: Final[dict[str, type[np.generic] | None]] = {
    "timestamp_ns": np.int64,
    **dict.fromkeys(("qw", "qx", "qy", "qz", "tx_m", "ty_m", "tz_m"), np.float64),
}
_BOX: Final[dict[str, type[np.generic] | None]] = {
    **_POSE,
    "track_uuid": None,
    "category": None,
    **dict.fromkeys(("length_m", "width_m", "height_m"), np.float64),
    "num_interior_pts": np.int64,
}
EXPECTED_FILES: Final = (
    ExpectedFile("annotations", ANNOTATIONS, "the log is left out", True),
    ExpectedFile("poses", (POSES,), "the log is left out", True),
    ExpectedFile("map", (MAP,), "no question about lanes and crossings"),
    ExpectedFile("cameras", (f"{CAMERAS}/*",), "no pictures: what the log knows is drawn from above"),
)


class Argoverse2(Reader):
    """Sensor logs of Argoverse 2."""

    name = "argoverse2"
    version = 1
    video_fps = 10
    expected_files = EXPECTED_FILES

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        layout = Layout(
            dataset=self.name,
            tops=(("",), ("train", "val", "test"), ("sensor/train", "sensor/val", "sensor/test")),
            is_scene=lambda folder: any((folder / name).is_file() for name in (*ANNOTATIONS, POSES)),
            main_files=lambda _: (*ANNOTATIONS, POSES),
            expected=f"a folder of Argoverse 2 logs: a folder for each, with {ANNOTATIONS[-1]} and {POSES}",
        )
        return list_scenes(root, layout)

    def read(self, files: SceneFiles) -> DriveScene:
        """See `Reader.read`."""
        findings = Findings()
        poses = _poses(files, findings)
        boxes = _boxes(files, findings)
        times_ns = np.unique(boxes["timestamp_ns"])
        at = np.searchsorted(poses["timestamp_ns"], times_ns)
        posed = poses["timestamp_ns"][np.minimum(at, len(poses["timestamp_ns"]) - 1)] == times_ns
        if not posed.any():
            message = f"none of {len(times_ns)} sweeps has a pose at its time"
            raise files.fault(files.path / POSES, "no_ego_pose", message, "are both files of one log?")
        if not posed.all():
            left_out = int((~posed).sum())
            message = f"{left_out} of {len(times_ns)} sweeps have no pose of our car, and were left out"
            findings.add(doubt("no_ego_pose", "log", message, "fetch the poses again", left_out, 0, "sweeps"))
        times_ns, at = times_ns[posed], at[posed]
        tracks = len(set(boxes["track_uuid"].tolist()))
        tracking.check_span(files, files.path / POSES, times_ns / 1e9, tracks)
        rotation = matrices(table_of(poses, *TURN)[at])
        origin_m = table_of(poses, *PLACE)[at]
        time = np.searchsorted(times_ns, boxes["timestamp_ns"])
        time = np.minimum(time, len(times_ns) - 1)
        boxes = {name: column[times_ns[time] == boxes["timestamp_ns"]] for name, column in boxes.items()}
        own = np.asarray(boxes["category"] == EGO_CATEGORY, dtype=bool)
        ego_rows = {name: column[own] for name, column in boxes.items()}
        boxes = {name: column[~own] for name, column in boxes.items()}
        maps = sorted(files.path.glob(MAP))
        lanes, crossings, drivable = read_map(files, maps[0]) if maps else ((), (), ())
        every = np.arange(len(times_ns))
        forward = rotation[..., :, 0]
        ego = tracking.stretches(
            np.zeros_like(every), every, {"place_m": origin_m, "yaw_deg": yaw_deg(forward)[:, None]}
        )[0]
        drive = Drive(
            map_name=city_of(maps[0]) if maps else None,
            start_ns=int(times_ns[0]),
            seconds=pack((times_ns - times_ns[0]) / 1e9, TIME_STEP_S),
            ego=Ego(track=ego.track(), point=POINT, box=_ego_box(ego_rows, findings)),
            actors=_actors(boxes, times_ns, rotation, origin_m, findings),
            complete=tuple(sorted(CATEGORIES - {"object"})),  # its annotators labelled all that the lidar met
            lanes=lanes,
            crossings=crossings,
            drivable=drivable,
            cameras=read_cameras(files, findings),
        )
        video = tracking.video_of(files, pictures_ahead(files.path, times_ns[0]), drive.times_s[-1], self.video_fps)
        return files.scene_of(DriveScene, self, "annotated", drive, findings, video)

    def footage(self, files: SceneFiles, scene: DriveScene) -> Footage | None:
        """See `Reader.footage`: what the camera ahead saw, or else another one, from the first sweep to the last."""
        drive = scene.facts
        if scene.video is None or drive.start_ns is None:
            return None
        pictures = pictures_ahead(files.path, drive.start_ns)
        return tracking.footage_of(files, pictures, drive.times_s[-1], self.video_fps)


def _poses(files: SceneFiles, findings: Findings) -> Columns:
    """Poses of our car in order of time, one at each."""
    path = files.path / POSES
    poses = read_rows(files, path, _POSE)
    tracking.refuse_leaning(files, path, table_of(poses, *TURN))
    sound = _sound(poses, ()) & (
        np.abs(np.nan_to_num(table_of(poses, *PLACE), nan=np.inf)) <= tracking.PLACE_MAX_M
    ).all(1)
    if not sound.all():
        bad = int((~sound).sum())
        message = f"{bad} of {len(sound)} poses are not finite, too far away, or not turned by a unit quaternion"
        findings.add(doubt("unusable_pose", "log", message, "fetch the poses again", bad, 0, "poses"))
    poses = {name: column[sound] for name, column in poses.items()}
    _, first = np.unique(poses["timestamp_ns"], return_index=True)
    if not len(first):
        raise files.fault(path, "no_ego_pose", "there is no usable pose", "fetch the poses again")
    if len(first) < len(poses["timestamp_ns"]):
        again = len(poses["timestamp_ns"]) - len(first)
        if any(_spread(poses["timestamp_ns"], poses[name]).any() for name in poses):
            message = f"{again} times have two poses of our car that differ: which one is right is not known"
            raise files.fault(path, "two_ego_poses", message, "keep the poses of one car")
        message = f"{again} poses are given twice"
        findings.add(note("repeated_pose", "log", message, "nothing is to be done", again, 0, "poses"))
    return {name: column[first] for name, column in poses.items()}


def _boxes(files: SceneFiles, findings: Findings) -> Columns:
    """The usable rows of the annotations."""
    path = next((p for name in ANNOTATIONS if (p := files.path / name).is_file()), files.path / ANNOTATIONS[-1])
    boxes = read_rows(files, path, _BOX)
    tracking.refuse_leaning(files, path, table_of(boxes, *TURN))
    sound = _sound(boxes, ("length_m", "width_m", "height_m"))
    near = (np.abs(np.nan_to_num(table_of(boxes, *PLACE), nan=np.inf)) < REACH_MAX_M).all(1)
    bad = ~sound | ~near
    if bad.any():
        for track in sorted(set(boxes["track_uuid"][bad].tolist())):
            count = int((boxes["track_uuid"][bad] == track).sum())
            message = f"{count} boxes of {track} are not finite, not turned by a unit quaternion or over 1 km away"
            findings.add(doubt("unusable_box", track, message, "annotate them again", count, 0, "boxes"))
    boxes = {name: column[~bad] for name, column in boxes.items()}
    if not len(boxes["timestamp_ns"]):
        raise files.fault(path, "no_boxes", "there is no usable box", "fetch the annotations again")
    return boxes


def _actors(
    boxes: Columns, times_ns: FloatArray, rotation: FloatArray, origin_m: FloatArray, findings: Findings
) -> tuple[Actor, ...]:
    """All with a track, by id, in the city's frame."""
    time = np.searchsorted(times_ns, boxes["timestamp_ns"])
    ids, thing = np.unique(boxes["track_uuid"].astype(str), return_inverse=True)
    twice = tracking.repeated(thing, time)
    tracking.report_repeated(ids[thing[twice]], findings)
    boxes, time = {name: column[~twice] for name, column in boxes.items()}, time[~twice]
    place_m = rotated(rotation[time], table_of(boxes, *PLACE)) + origin_m[time]
    forward = rotated(rotation[time], matrices(table_of(boxes, *TURN))[..., :, 0])
    tables = {
        "place_m": place_m,
        "yaw_deg": yaw_deg(forward)[:, None],
        "points": boxes["num_interior_pts"][:, None].astype(np.float64),
        "size_m": table_of(boxes, "length_m", "width_m", "height_m"),
    }
    words = tracking.steady_words(boxes["track_uuid"], boxes["category"], ARGOVERSE2, findings)
    recorded = {"points": (POINTS_MAX, 1.0)}
    return tracking.actors_of(boxes["track_uuid"], time, tables, words, ARGOVERSE2, recorded, findings)


def _ego_box(rows: Columns, findings: Findings) -> VehicleBox | None:
    """Of our own car, where it is a track among the others; two of them say nothing."""
    tracks = sorted(set(rows["track_uuid"].tolist()))
    if not tracks:
        return None
    if len(tracks) > 1:
        message = f"{len(tracks)} tracks are called our own car: {', '.join(tracks)}; its size is taken from none"
        findings.add(doubt("two_egos", "ego", message, "keep one", len(tracks), 1, "tracks"))
        return None
    box = tracking.steady_box(table_of(rows, "length_m", "width_m", "height_m"), "ego", findings)
    x, y, z = np.median(table_of(rows, *PLACE), axis=0).tolist()
    return None if box is None else VehicleBox(size_m=box.size_m, middle_m=(x, y, z))


def _sound(rows: Columns, sizes: tuple[str, ...]) -> BoolArray:
    """Which rows are finite and turned by a quaternion of length 1."""
    quat = table_of(rows, *TURN)
    numbers = np.concatenate([quat, table_of(rows, *PLACE, *sizes)], axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.sqrt((quat**2).sum(1))
    return np.asarray(np.isfinite(numbers).all(1) & (np.abs(length - 1) <= tracking.UNIT_TOLERANCE))


def _spread(key: FloatArray, values: FloatArray) -> FloatArray:
    """How far the values (N,) of each key are apart."""
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=key.min() - 1))
    return np.asarray(np.maximum.reduceat(values[order], starts) - np.minimum.reduceat(values[order], starts))
