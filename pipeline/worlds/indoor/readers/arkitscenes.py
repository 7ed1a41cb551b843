"""Reader of ARKitScenes (3dod): one folder per video with annotation, mesh and ``<id>_frames/``.

The annotated boxes are taken as they are and checked against the mesh, which has no labels. Frames are those of
``lowres_wide`` (or ``vga_wide`` where there is no other); a line of ``lowres_wide.traj`` is world-to-camera, and the
camera's pose its inverse. A frame takes the pose of its own time stamp; one between two stamps takes a pose between
theirs. Frames may also lie in the scene's folder itself, as in the dataset's raw layout. ``sky_direction`` of
``metadata.csv`` tells how to turn the video; the poses know it too, and where they disagree they are believed.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from pipeline.core.csv_tables import read_csv
from pipeline.core.findings import Findings, doubt, fault, note
from pipeline.core.schema import Video
from pipeline.formats.ply import PlyMesh
from pipeline.geometry.scans import CameraFrames
from pipeline.reading.checks import BOX_KEYS, check_box
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.folders import Layout, list_scenes
from pipeline.reading.reader import NO_DEPTH, NO_SCENE, NO_SIGHT, NO_VIDEO, ExpectedFile
from pipeline.worlds.indoor.facts import IndoorScene, Scan
from pipeline.worlds.indoor.readers.arkit_film import FOLDS, dataset_folders, movie_path, open_film
from pipeline.worlds.indoor.readers.capture_checks import check_floor
from pipeline.worlds.indoor.readers.categories import Curation, load_curation
from pipeline.worlds.indoor.readers.frames import LabelledScan, Recording, ScanReader, Turn, check_frames, upright_turn
from pipeline.worlds.indoor.readers.meshes import load_mesh, measure_room
from pipeline.worlds.indoor.readers.objects import AnnotatedInstance, assemble, check_boxes, curated

ANNOTATION: Final = "{}_3dod_annotation.json"
MESH: Final = "{}_3dod_mesh.ply"
SCENE_NAME: Final = re.compile(r"\d{8}", re.ASCII)  # a video even where its files are not here


def _is_scene(folder: Path) -> bool:
    name, parts = folder.name, (ANNOTATION, MESH, "{}_frames")
    return bool(SCENE_NAME.fullmatch(name)) or any((folder / part.format(name)).exists() for part in parts)


EXPECTED_FILES: Final = (
    ExpectedFile("mesh", ("{}_3dod_mesh.ply",), NO_SCENE, needed=True),
    ExpectedFile("annotation", ("{}_3dod_annotation.json",), NO_SCENE, needed=True),
    ExpectedFile(
        "trajectory", ("{}_frames/lowres_wide.traj", "lowres_wide.traj", "{}_frames/color.traj", "color.traj"), NO_SIGHT
    ),
    ExpectedFile(
        "intrinsics",
        ("{}_frames/*_intrinsics/*.pincam", "*_intrinsics/*.pincam", "{}_frames/*_intrinsics.zip"),
        NO_SIGHT,
    ),
    ExpectedFile(
        "pictures",
        (
            "{}_frames/lowres_wide/*.png",
            "{}_frames/vga_wide/*.png",
            "lowres_wide/*.png",
            "vga_wide/*.png",
            "{}_frames/*wide.zip",
            "*.mov",
        ),
        NO_VIDEO,
    ),
    ExpectedFile(
        "depth", ("{}_frames/lowres_depth/*.png", "lowres_depth/*.png", "{}_frames/lowres_depth.zip"), NO_DEPTH
    ),
)


LAYOUT: Final = Layout(
    dataset="arkitscenes",
    tops=(
        ("", "Training", "Validation", "3dod/Training", "3dod/Validation"),
        ("raw/Training", "raw/Validation"),  # may hold the same videos once more
    ),
    is_scene=_is_scene,
    main_files=lambda name: tuple(p.format(name) for p in (ANNOTATION, MESH, "{}_frames", "{}.mov")),
    expected="ARKitScenes' folder 3dod/ or Validation/, with one folder per video, or a folder above",
)


@dataclass(frozen=True)
class ARKitScenes(ScanReader):
    """ARKitScenes, the part for 3D object detection.

    Args:
        split: "train" or "val" for the videos of that fold, by their folder or else by ``metadata.csv``; None for all.
    """

    split: str | None = None
    name = "arkitscenes"
    version = 1
    extra = "scans"
    video_fps = 30  # VSI-Bench, appendix B.1
    expected_files = EXPECTED_FILES

    def __post_init__(self) -> None:
        if self.split is not None and self.split not in FOLDS:
            raise ValueError(f"split is {self.split!r}; there are {', '.join(FOLDS)}")

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {"categories": load_curation(self.name).sha256}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        return list_scenes(
            root, LAYOUT, lambda folder: self._chosen(root, folder), lambda folder: _shared_files(root, folder)
        )

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings = Findings()
        mesh, instances, _ = self.scan(files, findings)
        check_boxes(instances, mesh.vertices, findings)
        objects, counts = assemble(instances, findings)
        video = _checked_video(files, self.film(files, findings), mesh, findings)
        check_floor(mesh, findings)
        facts = Scan(objects=objects, counts=counts, room=measure_room(mesh, findings))
        return files.scene_of(IndoorScene, self, "annotated", facts, findings, video)

    def scan(self, files: SceneFiles, findings: Findings) -> LabelledScan:
        """See `ScanReader.scan`."""
        return files.once("scan", lambda found: _scan(files, load_curation(self.name), found), findings)

    def film(self, files: SceneFiles, findings: Findings) -> Recording | None:
        """See `ScanReader.film`."""
        return files.once("film", lambda found: open_film(files, found), findings)

    def _chosen(self, root: Path, folder: Path) -> bool:
        if self.split is None:
            return True
        fold = FOLDS[self.split]
        if folder.parent.name in FOLDS.values():
            return folder.parent.name == fold
        return metadata_row(root, folder.name).get("fold") == fold


def _scan(files: SceneFiles, curation: Curation, findings: Findings) -> LabelledScan:
    path = files.path / ANNOTATION.format(files.name)
    annotation = files.json(
        path, "fetch the scan's _3dod_annotation.json: of ARKitScenes' data sets 3dod alone has boxes"
    )
    entries = annotation.get("data")
    if not isinstance(entries, list):
        raise files.fault(path, "missing_key", "there is no list 'data'", "is this a 3dod annotation?")
    if not entries:
        raise files.fault(path, "empty_annotation", "'data' is empty", "annotate the scan, or leave it out")
    if annotation.get("skipped") is True:
        message = "'skipped' is true: the annotators left this scan out, and what is listed is not complete"
        raise files.fault(path, "skipped_annotation", message, "leave the scan out")
    labels: list[str] = []
    for place, entry in enumerate(entries):
        label = entry.get("label") if isinstance(entry, dict) else None
        if not isinstance(label, str) or not label.strip():
            findings.add(fault("wrong_type", f"data[{place}]", f"the label of data[{place}] is {label!r}"))
        labels.append(str(label))
    files.raise_faults(path, findings)
    mesh = load_mesh(files, files.path / MESH.format(files.name), "fetch the scan's _3dod_mesh.ply")
    instances = []
    for place, category in enumerate(curated(labels, curation, findings)):
        if category is not None:
            what, raw = f"{labels[place]} {place}", _box_of(entries[place])
            if raw is None:
                message = f"{what} has no obbAligned: it gets no box and is not counted"
                findings.add(doubt("object_without_box", category, message, "annotate its box", 0, 1, "boxes"))
                continue
            box = check_box(raw, what, category, findings)
            if box is not None:
                instances.append(AnnotatedInstance(place, labels[place], category, box, None))
    files.raise_faults(path, findings)
    return LabelledScan(mesh, instances)


def _box_of(entry: dict[str, Any]) -> Any:
    segments = entry.get("segments")
    box = segments.get("obbAligned") if isinstance(segments, dict) else None
    return {k: v for k, v in box.items() if k in BOX_KEYS} if isinstance(box, dict) else box


def _checked_video(files: SceneFiles, film: Recording | None, mesh: PlyMesh, findings: Findings) -> Video | None:
    """The source video with its turn; reports what is wrong with its frames."""
    if film is None or film.video is None:
        return None
    frames = film.frames() if film.table else None
    if frames is not None:
        check_frames(files, film.poses, frames, mesh.vertices, findings)
    return film.video.model_copy(update={"turn_deg": video_turn(files, frames, findings)})


def _shared_files(root: Path, folder: Path) -> bytes:
    """The inputs of a scene outside its folder: its row of ``metadata.csv``, and a recording in ``raw/``."""
    movie = movie_path(root, folder)
    stat = movie.stat() if movie is not None else None
    return row_bytes(root, folder.name) + (f"{stat.st_size} {stat.st_mtime_ns}".encode() if stat else b"")


METADATA: Final = ("metadata.csv", "3dod/metadata.csv", "raw/metadata.csv")
# Clockwise turn that brings the sky to the top, by where it is in the stored pictures.
TURN_OF_SKY: Final[dict[str, Turn]] = {"Up": 0, "Left": 90, "Down": 180, "Right": 270}
TURN_SHARE_MIN: Final = 0.8  # share of the frames that must agree before the poses overrule the metadata


def video_turn(files: SceneFiles, frames: CameraFrames | None, findings: Findings) -> Turn:
    """How to turn the video upright: as ``metadata.csv`` says, unless the poses clearly say otherwise."""
    row = metadata_row(files.root, files.name)
    if row:
        files.add("metadata.csv", row_bytes(files.root, files.name))
    sky = row.get("sky_direction")
    stated = TURN_OF_SKY.get(sky or "")
    measured = upright_turn(frames.world_T_camera) if frames is not None else None
    if stated is None:
        used: Turn = measured[0] if measured else 0
        known = f"sky_direction is {sky!r}" if sky else "metadata.csv does not name this video"
        message = f"{known}; a turn of {used} degrees is taken{' from the poses' if measured else ''}"
        remedy = "give as root the folder that holds metadata.csv, with Up, Left, Down or Right for this video"
        findings.add(note("no_sky_direction", "video", message, remedy))
        return used
    if measured and measured[0] != stated:
        sure = measured[1] >= TURN_SHARE_MIN
        used = measured[0] if sure else stated
        message = (
            f"sky_direction {sky} means a turn of {stated} degrees, but {measured[1]:.0%} of the frames are upright "
        )
        message += f"after {measured[0]} degrees; {used} are taken"
        remedy = "look at the video and correct metadata.csv"
        findings.add(note("sky_direction_differs", "video", message, remedy, measured[0], stated, "deg"))
        return used
    return stated


def metadata_row(root: Path, name: str) -> dict[str, str]:
    """The video's row of ``metadata.csv`` below the root; empty where there is none."""
    for path in (top / place for top in dataset_folders(root.absolute()) for place in METADATA):
        try:
            stat = path.stat()
        except OSError:
            continue
        row = _rows(path, stat.st_mtime_ns, stat.st_size).get(name)
        if row is not None:
            return row
    return {}


def row_bytes(root: Path, name: str) -> bytes:
    """The video's row as bytes, for digests."""
    return repr(sorted(metadata_row(root, name).items())).encode()


@lru_cache(maxsize=4)
def _rows(path: Path, mtime_ns: int, size: int) -> dict[str, dict[str, str]]:
    """All rows by video; the file's time and size stand for its content."""
    rows = read_csv(path, (), "fetch ARKitScenes' own file")
    return {row["video_id"]: {k: v for k, v in row.items() if k and v} for row in rows if row.get("video_id")}
