"""Reader of nuScenes: tables (``v1.0-*/``) beside ``samples/`` and ``sweeps/``; Lyft's tables (level 5) too.

A scene has a sample every half a second, with all boxes in the global frame and the pose of our car at the lidar's
sweep; what was between two samples is not known. The film is that of the camera ahead (12 Hz, keyframes and sweeps).
The axes of the format: `nuscenes_tables`.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import IntArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.geometry.angles import matrices, yaw_deg
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.folders import FolderReader, check_scene_name, digest_files
from pipeline.reading.footage import Footage
from pipeline.reading.reader import ExpectedFile
from pipeline.worlds.drive.facts import NUSCENES, TIME_STEP_S, Actor, Drive, DriveCamera, DriveScene, Ego
from pipeline.worlds.drive.readers import tracking
from pipeline.worlds.drive.readers.nuscenes_tables import (
    AGAIN,
    AHEAD,
    ANNOTATIONS,
    NEEDED,
    OPTIONAL,
    SCENES,
    MountedCamera,
    SceneTables,
    TabledScene,
    read_tables,
    scene_names,
)

POINT: Final = "the middle of the rear axle"
POINTS_MAX: Final = 1e8
SIDE_MAX_PX: Final = 100_000
_BENDY: Final = "vehicle.bus.bendy"  # every section has a box of its own, so that buses cannot be counted
_PICTURES: Final = tuple(f"{folder}/{AHEAD}" for folder in ("samples", "sweeps"))
EXPECTED_FILES: Final = (
    ExpectedFile("tables", NEEDED, "no scene can be read", True),
    ExpectedFile("attributes", ("attribute.json",), "who rides a bicycle is not known: these are in doubt"),
    ExpectedFile(
        "pictures", tuple(f"../{folder}/*" for folder in _PICTURES), "what the tables know is drawn from above"
    ),
)


class NuScenes(FolderReader):
    """Scenes of nuScenes."""

    name = "nuscenes"
    version = 1
    video_fps = 12
    expected_files = EXPECTED_FILES
    expected_root = "the folder that holds v1.0-mini or v1.0-trainval, samples and sweeps"
    expected_scenes = f"no tables of nuScenes here. Give {expected_root}"
    scene_word = "scene"

    def places(self, root: Path) -> Iterator[Path]:
        """See `FolderReader.places`: folders of tables."""
        return (path.parent for top in ("", "*/") for path in root.glob(top + ANNOTATIONS))

    def refs(self, root: Path, place: Path, shared: bytes) -> Iterator[SceneRef]:
        """See `FolderReader.refs`."""
        tables = [path for name in (*NEEDED, *OPTIONAL) if (path := place / name).is_file()]
        folders = [folder for name in _PICTURES if (folder := place.parent / name).is_dir()]
        pictures = (path for folder in folders for path in sorted(folder.iterdir()))
        there = (path for path in (*tables, *pictures) if path.is_file())
        own = [(path.relative_to(place.parent).as_posix(), path.stat()) for path in there]
        stamp = digest_files(place, own, shared)
        names = tuple(path.relative_to(root).as_posix() for path in (place, *tables))
        for name in scene_names(place):
            check_scene_name(place / SCENES, name, "rename the scene in its table")
            yield SceneRef(f"{self.name}/{name}", names, stamp)

    def read(self, files: SceneFiles) -> DriveScene:
        """See `Reader.read`."""
        findings = Findings()
        tables = _tables(files)
        scene = tables.scenes[files.name]
        for number, table in enumerate(sorted(files.ref.files[1:])):
            files.add(table, _digest(scene) if number == 0 else b"")  # the rows of this scene alone
        if tables.astray:
            message = f"{tables.astray} boxes of the tables belong to no sample; they may be of this scene"
            findings.add(note("unlinked_rows", "log", message, AGAIN, tables.astray, 0, "boxes"))
        order = _posed(files, scene, findings)
        times_s = (scene.sample_us[order] - scene.sample_us[order[0]]) / 1e6
        tracking.check_span(files, files.path / "sample.json", times_s, len(set(scene.box_thing)))
        time_of = np.full(len(scene.sample_us), -1)
        time_of[order] = np.arange(len(order))
        pose = scene.ego_pose[order]
        every = np.arange(len(order))
        ahead = yaw_deg(matrices(pose[:, 3:])[..., 0])
        ego = tracking.stretches(np.zeros_like(every), every, {"place_m": pose[:, :3], "yaw_deg": ahead[:, None]})[0]
        start_us = float(scene.sample_us[order[0]])
        drive = Drive(
            map_name=scene.location,
            start_ns=round(start_us * 1000),
            seconds=pack(times_s, TIME_STEP_S),
            ego=Ego(track=ego.track(), point=POINT),
            actors=_actors(files, scene, time_of, findings),
            complete=tuple(
                sorted(set(NUSCENES.values()) - {"object"} - ({"bus"} if _BENDY in scene.box_word else set()))
            ),
            cameras=tuple(found for name in sorted(scene.cameras) if (found := _camera(scene.cameras[name], findings))),
        )
        video = tracking.video_of(files, _pictures(files, scene, start_us), drive.times_s[-1], self.video_fps)
        return files.scene_of(DriveScene, self, "annotated", drive, findings, video)

    def footage(self, files: SceneFiles, scene: DriveScene) -> Footage | None:
        """See `Reader.footage`: what the camera ahead saw from the first sample to the last."""
        if scene.video is None or scene.facts.start_ns is None:
            return None
        pictures = _pictures(files, _tables(files).scenes[files.name], scene.facts.start_ns / 1000)
        return tracking.footage_of(files, pictures, scene.facts.times_s[-1], self.video_fps)


def _tables(files: SceneFiles) -> SceneTables:
    return read_tables(files.path, files.ref.stamp)


def _digest(scene: TabledScene) -> bytes:
    """Bytes that change with any row of a scene."""
    total = hashlib.sha256(repr((scene.location, scene.declared, scene.pictures, scene.cameras)).encode())
    total.update(repr((scene.box_thing, scene.box_word)).encode("utf-8", "surrogatepass"))
    for table in (scene.sample_us, scene.ego_pose, scene.box_sample, scene.box):
        total.update(np.ascontiguousarray(table).tobytes())
    return total.digest()


def _posed(files: SceneFiles, scene: TabledScene, findings: Findings) -> IntArray:
    """The numbers of the samples that have a time and a pose of our car, in order of time."""
    count = len(scene.sample_us)
    if not count:
        raise files.fault(files.path / "sample.json", "no_boxes", "the scene has no sample", AGAIN)
    if count != scene.declared:
        message = f"{count} samples are in the tables, of {scene.declared:g} that the scene has"
        findings.add(note("truncated", "log", message, "fetch the whole tables", count, scene.declared, "samples"))
    missing = np.isnan(scene.ego_pose).all(axis=1)
    place, turn = scene.ego_pose[:, :3], scene.ego_pose[:, 3:]
    near = (np.abs(np.nan_to_num(place, nan=np.inf)) <= tracking.PLACE_MAX_M).all(axis=1)
    timed = np.isfinite(scene.sample_us) & (np.abs(scene.sample_us) < 2**53)
    tracking.refuse_leaning(files, files.path / "ego_pose.json", turn)
    sound = near & tracking.upright(turn) & timed
    if missing.any():
        message = f"{int(missing.sum())} of {count} samples have no pose of our car, and were left out"
        findings.add(doubt("no_ego_pose", "log", message, AGAIN, int(missing.sum()), 0, "samples"))
    bad = int((~sound & ~missing).sum())
    if bad:
        message = f"{bad} of {count} samples have no time, or a pose that is not finite, far away, or no upright turn"
        findings.add(doubt("unusable_pose", "log", message, AGAIN, bad, 0, "poses"))
    order = np.flatnonzero(sound)
    order = order[np.argsort(scene.sample_us[order], kind="stable")]
    if not len(order):
        message = f"none of {count} samples has a time and an upright pose of our car"
        raise files.fault(files.path / "ego_pose.json", "no_ego_pose", message, AGAIN)
    return order


def _actors(files: SceneFiles, scene: TabledScene, time_of: IntArray, findings: Findings) -> tuple[Actor, ...]:
    """All with a track, by id."""
    names, words = np.array(scene.box_thing, dtype=object), np.array(scene.box_word, dtype=object)
    place, size, turn, points = np.split(scene.box, [3, 6, 10], axis=1)
    sound = np.isfinite(scene.box[:, :10]).all(axis=1) & tracking.upright(turn)
    sound &= (np.abs(np.nan_to_num(place, nan=np.inf)) <= tracking.PLACE_MAX_M).all(axis=1) & (names != "")
    tracking.refuse_leaning(files, files.path / ANNOTATIONS, turn)
    for name in sorted(set(names[~sound].tolist())):
        count = int((names[~sound] == name).sum())
        message = (
            f"{count} boxes of {name or 'no instance'} are not finite, far away, or turned by no upright quaternion"
        )
        findings.add(doubt("unusable_box", name or "log", message, "annotate them again", count, 0, "boxes"))
    kept = sound & (time_of[scene.box_sample] >= 0)
    if not kept.any():
        message, remedy = f"none of {len(names)} boxes is usable", "take a scene with annotations (v1.0-test has none)"
        raise files.fault(files.path / ANNOTATIONS, "no_boxes", message, remedy)
    ids, thing = np.unique(names[kept].astype(str), return_inverse=True)
    time = time_of[scene.box_sample][kept]
    twice = tracking.repeated(thing, time)
    tracking.report_repeated(ids[thing[twice]], findings)
    rows = np.flatnonzero(kept)[~twice]
    tables = {
        "place_m": place[rows],
        "yaw_deg": yaw_deg(matrices(turn[rows])[..., 0])[:, None],
        "points": np.where(points[rows] >= 0, points[rows], np.nan),  # Lyft's -1: not known
        "size_m": size[rows][:, [1, 0, 2]],  # the table has the width first
    }
    steady = tracking.steady_words(names[rows], words[rows], NUSCENES, findings)
    recorded = {"points": (POINTS_MAX, 1.0)}
    return tracking.actors_of(names[rows], time[~twice], tables, steady, NUSCENES, recorded, findings)


def _camera(camera: MountedCamera, findings: Findings) -> DriveCamera | None:
    """A camera, where its calibration is whole."""
    mount, lens = camera.mount, np.array(camera.mount.intrinsics, dtype=np.float64)
    numbers = np.array([*mount.place_m, *mount.quat_wxyz, camera.width, camera.height])
    with np.errstate(over="ignore", invalid="ignore"):
        unit = abs(float(np.sqrt((np.array(mount.quat_wxyz) ** 2).sum())) - 1) <= tracking.UNIT_TOLERANCE
    sized = 1 <= camera.width <= SIDE_MAX_PX and 1 <= camera.height <= SIDE_MAX_PX
    if not (lens.shape == (3, 3) and np.isfinite(lens).all() and np.isfinite(numbers).all() and unit and sized):
        message = f"the calibration of {mount.channel} is not whole"
        findings.add(note("bad_calibration", mount.channel, message, AGAIN))
        return None
    (fx, _, cx), (_, fy, cy) = lens[:2].tolist()
    if not min(fx, fy) > 0:
        return None
    a, b, c = (tuple(row) for row in matrices(np.array(mount.quat_wxyz)).round(9).tolist())
    x, y, z = np.array(mount.place_m).round(6).tolist()
    return DriveCamera(
        name=mount.channel,
        width=int(camera.width),
        height=int(camera.height),
        focal_px=(fx, fy),
        centre_px=(cx, cy),
        ego_from_camera=(a, b, c),
        place_m=(x, y, z),
    )


def _pictures(files: SceneFiles, scene: TabledScene, start_us: float) -> tracking.Pictures | None:
    """Those of the camera ahead that are there, in order of time."""
    folder = files.path.parent
    inside = folder.resolve()
    found = []
    for time_us, name in sorted((t, n) for t, n in scene.pictures if np.isfinite(t)):
        path = folder / name
        try:
            if path.resolve().is_relative_to(inside) and path.is_file():
                found.append(((time_us - start_us) / 1e6, path))
        except (OSError, ValueError, RuntimeError):
            continue  # no path: as if it were not there
    if not found:
        return None
    return tracking.Pictures(
        folder / _PICTURES[0], tuple(path for _, path in found), np.array([time for time, _ in found])
    )
