"""Reader of ScanNet++: one folder per scene with ``scans/`` (mesh, segments, annotation) and ``iphone/``.

The annotated boxes are taken as they are and checked against the vertices of their instances. Frames come from
``iphone/pose_intrinsic_imu.json``: ``aligned_pose`` is camera-to-world in the mesh's frame; ``pose`` is not aligned,
and never used. Whether its camera axes are OpenCV's or ARKit's (y up, z backward), the poses themselves tell: the
phone was not held upside down. Pictures come from ``iphone/rgb.mp4`` (or the extracted ``iphone/rgb/``), depth from
``iphone/depth.bin`` (or ``iphone/depth/``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Video
from pipeline.formats.depth_stream import open_depth
from pipeline.formats.images import color_file, depth_file, size_of
from pipeline.formats.ply import Mesh
from pipeline.formats.videos import VideoPictures
from pipeline.geometry.scans import SceneGeometry
from pipeline.reading.checks import BOX_KEYS, check_box
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import Layout, list_scenes, split_names
from pipeline.reading.footage import Footage
from pipeline.reading.movies import movie_facts, movie_footage
from pipeline.reading.reader import Listing
from pipeline.worlds.indoor.facts import IndoorScene, Scan
from pipeline.worlds.indoor.readers.categories import Curation, load_curation
from pipeline.worlds.indoor.readers.frames import FrameTable, check_frames, check_upright, frame_rate, no_frames
from pipeline.worlds.indoor.readers.meshes import load_mesh
from pipeline.worlds.indoor.readers.objects import Instance, assemble, check_against_own, curated, label_vertices
from pipeline.worlds.indoor.readers.poses import OPENCV_FROM_OPENGL
from pipeline.worlds.indoor.readers.rooms import measure_room
from pipeline.worlds.indoor.readers.segments import check_shared, members, parse_groups, segment_indices

MESH: Final = "scans/mesh_aligned_0.05.ply"
SEGMENTS: Final = "scans/segments.json"
ANNOTATION: Final = "scans/segments_anno.json"
POSES: Final = "iphone/pose_intrinsic_imu.json"
VIDEOS: Final = ("iphone/rgb.mp4", "iphone/rgb.mkv")
PICTURES: Final = "iphone/rgb"
DEPTH: Final = "iphone/depth.bin"
DEPTH_IMAGES: Final = "iphone/depth"
SCENE_NAME: Final = re.compile(r"[0-9a-f]{10}", re.ASCII)  # a scene even where its files are not here
FPS: Final = 60.0  # of the dataset's app
OPENGL_UP: Final = 0.3  # mean upward part of the cameras' y axis beyond which it points up, not down
CLOCK_TOLERANCE_S: Final = 0.5  # between the length of the video and that of the poses
_FRAME: Final = re.compile(r"frame_(\d{1,9})", re.ASCII)


def _is_scene(folder: Path) -> bool:
    parts = (ANNOTATION, MESH, SEGMENTS, POSES)
    return bool(SCENE_NAME.fullmatch(folder.name)) or any((folder / part).is_file() for part in parts)


LAYOUT: Final = Layout(
    dataset="scannetpp",
    tops=(("", "data"),),
    is_scene=_is_scene,
    main_files=lambda name: (ANNOTATION, MESH, SEGMENTS, POSES, *VIDEOS, DEPTH),
    expected="ScanNet++'s folder data/, with one folder per scene, or the folder above it",
)


@dataclass(frozen=True)
class _Film:
    """The frames of a scene, the facts of the video that they belong to, and its file (None: single pictures)."""

    table: FrameTable
    video: Video
    movie: Path | None


@dataclass(frozen=True)
class ScanNetPP:
    """ScanNet++.

    Args:
        split: "train", "val" or "test" for the scenes of ``nvs_sem_<split>.txt`` below the root; None for all.
    """

    split: str | None = None
    name = "scannetpp"
    version = 1

    def settings(self) -> dict[str, str]:
        """What a result depends on besides the raw data and the code."""
        return {"categories": load_curation(self.name).sha256}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if self.split is None or not root.is_dir():
            return list_scenes(root, LAYOUT)
        file = f"nvs_sem_{self.split}.txt"
        names = split_names(root, (file, f"splits/{file}"), self.split)
        return list_scenes(root, LAYOUT, lambda folder: folder.name in names)

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings = Findings()
        mesh, instances = _scan_of(files, findings)
        for item in instances:
            check_against_own(item, mesh.vertices, findings)
        objects, counts = assemble(instances, findings)
        film = _film_of(files, findings)
        if film is not None:
            frames = film.table.frames()
            check_frames(files, files.folder / POSES, frames, mesh.vertices, findings)
            check_upright(film.video.path, frames, findings)
        return IndoorScene(
            id=files.scene,
            dataset=files.dataset,
            name=files.name,
            source=files.source(self.name, self.version, "annotated"),
            video=film.video if film else None,
            facts=Scan(objects=objects, counts=counts, room=measure_room(mesh.vertices, findings)),
            findings=tuple(findings.items),
        )

    def geometry(self, files: SceneFiles, scene: IndoorScene) -> SceneGeometry:
        """See `Reader.geometry`."""
        findings = Findings()
        mesh, instances = _scan_of(files, findings)
        film = _film_of(files, findings)
        owner = label_vertices(mesh.vertices, scene.facts.objects, instances)
        return SceneGeometry(mesh.vertices, mesh.faces, owner, film.table.frames() if film else no_frames())

    def footage(self, files: SceneFiles, scene: IndoorScene) -> Footage | None:
        """See `Reader.footage`."""
        film = _film_of(files, Findings())
        if film is None or not film.video.fps:
            return None
        if film.movie is None:
            return film.table.footage(files, files.folder / PICTURES, film.video.fps)
        return movie_footage(files, film.movie, film.video.fps)


def _scan_of(files: SceneFiles, findings: Findings) -> tuple[Mesh, tuple[Instance, ...]]:
    return files.once("scan", lambda found: _scan(files, load_curation(ScanNetPP.name), found), findings)


def _film_of(files: SceneFiles, findings: Findings) -> _Film | None:
    return files.once("film", lambda found: _film(files, found), findings)


def _scan(files: SceneFiles, curation: Curation, findings: Findings) -> tuple[Mesh, tuple[Instance, ...]]:
    path = files.folder / ANNOTATION
    annotation = files.json(path, "fetch the file; scenes of the hidden test split have none")
    groups = parse_groups(annotation, "id", findings)
    files.raise_faults(path, findings)
    mesh = load_mesh(files, files.folder / MESH, "fetch the scene's mesh_aligned_0.05.ply")
    segments_path = files.folder / SEGMENTS
    segments = segment_indices(files.json(segments_path), len(mesh.vertices), findings)
    files.raise_faults(segments_path, findings)
    if segments is None:
        raise AssertionError("a missing segmentation is a fault")
    owned = members(segments, groups)
    instances = []
    categories = curated([g.label for g in groups], curation, findings)
    for place, (group, category) in enumerate(zip(groups, categories, strict=True)):
        if category is None:
            continue
        what = f"{group.label} {group.number}"
        raw = group.raw.get("obb")
        known = {k: v for k, v in raw.items() if k in BOX_KEYS} if isinstance(raw, dict) else raw
        box = check_box(known, what, category, findings)
        lost, mine = owned.lost[place], owned.vertices[place]
        if lost or not len(mine):
            message = (
                f"{lost} of the {len(group.segments)} segments of {what} have no vertex; {len(mine)} vertices remain"
            )
            remedy = "fetch annotation and segments of one release"
            findings.add(doubt("segment_out_of_range", category, message, remedy, lost, 0, "segments"))
        check_shared(what, category, owned, place, findings)
        if box is not None:
            instances.append(Instance(group.number, group.label, category, box, mine))
    files.raise_faults(path, findings)
    return mesh, tuple(instances)


def _film(files: SceneFiles, findings: Findings) -> _Film | None:
    """The frames of the phone; None, with a note, where its poses are not here."""
    path = files.folder / POSES
    if not path.is_file():
        message = f"{POSES} is not here"
        remedy = "fetch the folder iphone/: without frames nothing is known of what the video shows"
        findings.add(note("no_frames", "video", message, remedy, 0, 1, "frames"))
        return None
    entries = files.json(path)
    numbered = sorted((int(m[1]), v) for k, v in entries.items() if (m := _FRAME.fullmatch(k)))
    if not numbered:
        message = f"none of the {len(entries)} entries is named frame_<number>"
        raise files.fault(path, "no_usable_frames", message, "fetch the file again")
    number = np.array([n for n, _ in numbered], dtype=np.intp)
    pose, no_pose = _matrices([v for _, v in numbered], "aligned_pose", 4)
    pinhole, no_pinhole = _matrices([v for _, v in numbered], "intrinsic", 3)
    pose = _opencv(path, pose, findings)
    intrinsics = np.stack([pinhole[:, 0, 0], pinhole[:, 1, 1], pinhole[:, 0, 2], pinhole[:, 1, 2]], axis=1)
    with np.errstate(invalid="ignore"):
        bad = ~no_pinhole & ~((intrinsics > 0).all(axis=1) & np.isfinite(intrinsics).all(axis=1))
    clock = np.array([_seconds(v) for _, v in numbered])
    movie = next((p for name in VIDEOS if (p := files.folder / name).is_file()), None)
    pictures, depths = _numbered(files.folder / PICTURES), _numbered(files.folder / DEPTH_IMAGES)
    usable = ~(no_pose | no_pinhole | bad)
    skipped = {"no_pose": int(no_pose.sum()), "no_intrinsics": int((~no_pose & (no_pinhole | bad)).sum())}
    if movie is not None:
        facts = movie_facts(files, movie)
        fps = facts.fps or frame_rate(clock) or FPS
        size, frames, time_s, shown = (facts.width, facts.height), facts.frames, number / fps, number
        _compare_clock(files, number, clock, fps, findings)
        skipped["beyond_video"] = int((usable & (number >= frames)).sum())
        usable &= number < frames
        decode = VideoPictures(movie)
        has_color, load_color = number < frames, lambda i: decode(int(number[i]))
    else:
        # The video is what was extracted, and that may be every tenth frame.
        time_s = clock - clock[0] if frame_rate(clock) else (number - number[0]) / FPS
        fps = frame_rate(time_s) or FPS
        size, frames, shown = _size(files, path, pictures, intrinsics[usable]), len(number), np.arange(len(number))
        has_color, load_color = np.isin(number, list(pictures)), lambda i: color_file(pictures[int(number[i])])
    packed = files.folder / DEPTH
    if depths or not packed.is_file():
        has_depth, load_depth = np.isin(number, list(depths)), lambda i: depth_file(depths[int(number[i])])
    else:
        stream = open_depth(packed)
        has_depth, load_depth = np.ones(len(number), dtype=bool), lambda i: stream(int(number[i]))
    table = FrameTable(
        time_s=time_s,
        number=shown,
        world_T_camera=pose,
        intrinsics=intrinsics,
        size=size,
        usable=usable,
        has_color=has_color,
        has_depth=has_depth,
        load_color=load_color,
        load_depth=load_depth,
        skipped=skipped,
    )
    where = files.relative(movie or files.folder / PICTURES)
    video = Video(path=where, fps=fps, frames=frames, width=size[0], height=size[1])
    return _Film(table, video, movie)


def _matrices(entries: list[Any], key: str, side: int) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """The square matrices (N, side, side) under a key, and which (N,) are missing or no such matrices."""
    result = np.full((len(entries), side, side), np.nan)
    missing = np.zeros(len(entries), dtype=bool)
    for place, entry in enumerate(entries):
        try:
            result[place] = np.array(entry[key], dtype=np.float64).reshape(side, side)
        except (KeyError, TypeError, ValueError, OverflowError):
            missing[place] = True
    return result, missing


def _seconds(entry: Any) -> float:
    value = entry.get("timestamp") if isinstance(entry, dict) else None
    return float(value) if isinstance(value, float) or type(value) is int else np.nan


def _opencv(path: Path, pose: FloatArray, findings: Findings) -> FloatArray:
    """The poses with OpenCV's camera axes."""
    upward = pose[np.isfinite(pose).all(axis=(1, 2)), 2, 1]
    mean = float(upward.mean()) if len(upward) else 0.0
    if mean <= OPENGL_UP:
        return pose
    message = f"the cameras' y axes point up ({mean:.2f} on the mean): taken as axes with y up and z backward"
    findings.add(note("camera_axes_opengl", path.name, message, "none if the video is upright", mean, OPENGL_UP))
    return np.einsum("nij,jk->nik", pose, OPENCV_FROM_OPENGL)


def _compare_clock(
    files: SceneFiles,
    number: npt.NDArray[np.intp],
    clock: FloatArray,
    fps: float,
    findings: Findings,
) -> None:
    if not np.isfinite(clock).all() or len(clock) < 2:
        return
    stated, shown = float(clock[-1] - clock[0]), float(number[-1] - number[0]) / fps
    if abs(stated - shown) > CLOCK_TOLERANCE_S:
        message = f"{POSES} lasts {stated:.2f} s, its frames {shown:.2f} s in the video of {fps:g} frames per second"
        remedy = "was the video encoded at another rate? Times are those of the video"
        findings.add(note("clock_differs", "video", message, remedy, abs(stated - shown), CLOCK_TOLERANCE_S, "s"))


def _numbered(folder: Path) -> dict[int, Path]:
    """Files named ``frame_<number>``, by that number."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    return {int(m[1]): p for p in paths if (m := _FRAME.fullmatch(p.stem))}


def _size(files: SceneFiles, path: Path, pictures: dict[int, Path], intrinsics: FloatArray) -> tuple[int, int]:
    """Size of the pictures: from the first readable one, or else twice the principal point."""
    found = next((size for p in pictures.values() if (size := size_of(p)) is not None), None)
    if found is not None:
        return found
    if not len(intrinsics):
        raise files.fault(path, "no_usable_frames", "no frame has intrinsics", "fetch the file again")
    return round(2 * float(np.median(intrinsics[:, 2]))), round(2 * float(np.median(intrinsics[:, 3])))
