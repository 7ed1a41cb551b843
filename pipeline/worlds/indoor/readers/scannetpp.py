"""Reader of ScanNet++: one folder per scene with ``scans/`` (mesh, segments, annotation) and ``iphone/``.

The annotated boxes are taken as they are and checked against the vertices of their instances. Frames come from
``iphone/pose_intrinsic_imu.json``: ``aligned_pose`` is camera-to-world in the mesh's frame; ``pose`` is not aligned,
and never used. Whether its camera axes are OpenCV's or ARKit's (y up, z backward), the poses themselves tell: the
phone was not held upside down. Where that file is missing they come from ``iphone/colmap/``, and where the phone's are
missing altogether from the undistorted pictures of the DSLR camera. Pictures come from ``iphone/rgb.mp4`` (or the
extracted ``iphone/rgb/``), depth from ``iphone/depth.bin`` (or ``iphone/depth/``).
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.core.findings import Findings, doubt
from pipeline.reading.checks import BOX_KEYS, check_box
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.folders import Layout, list_scenes, split_names
from pipeline.reading.reader import NO_DEPTH, NO_SCENE, NO_SIGHT, NO_VIDEO, ExpectedFile
from pipeline.worlds.indoor.facts import IndoorScene, Scan
from pipeline.worlds.indoor.readers.capture_checks import check_floor
from pipeline.worlds.indoor.readers.categories import Curation, benchmark_map, load_curation, map_bytes
from pipeline.worlds.indoor.readers.frames import LabelledScan, Recording, ScanReader, check_frames, check_upright
from pipeline.worlds.indoor.readers.meshes import load_mesh, measure_room
from pipeline.worlds.indoor.readers.objects import (
    AnnotatedInstance,
    AnnotationGroup,
    GroupVertices,
    assemble,
    check_against_own,
    check_shared,
    check_turns,
    curated,
    members,
    parse_groups,
    segment_indices,
)
from pipeline.worlds.indoor.readers.scannetpp_film import DEPTH, POSES, VIDEOS, open_film

MESH: Final = "scans/mesh_aligned_0.05.ply"
SEGMENTS: Final = "scans/segments.json"
ANNOTATION: Final = "scans/segments_anno.json"
SCENE_NAME: Final = re.compile(r"[0-9a-f]{10}", re.ASCII)  # a scene even where its files are not here


def _is_scene(folder: Path) -> bool:
    parts = (ANNOTATION, MESH, SEGMENTS, POSES)
    return bool(SCENE_NAME.fullmatch(folder.name)) or any((folder / part).is_file() for part in parts)


EXPECTED_FILES: Final = (
    ExpectedFile("mesh", ("scans/mesh_aligned_0.05.ply",), NO_SCENE, needed=True),
    ExpectedFile("segments", ("scans/segments.json",), NO_SCENE, needed=True),
    ExpectedFile("annotation", ("scans/segments_anno.json",), NO_SCENE, needed=True),
    ExpectedFile(
        "poses", ("iphone/pose_intrinsic_imu.json", "iphone/colmap/images.txt", "dslr/colmap/images.txt"), NO_SIGHT
    ),
    ExpectedFile(
        "video", ("iphone/rgb.mp4", "iphone/rgb.mkv", "iphone/rgb/*", "dslr/resized_undistorted_images/*"), NO_VIDEO
    ),
    ExpectedFile("depth", ("iphone/depth.bin", "iphone/depth/*"), NO_DEPTH),
)


LAYOUT: Final = Layout(
    dataset="scannetpp",
    tops=(("", "data"),),
    is_scene=_is_scene,
    main_files=lambda name: (ANNOTATION, MESH, SEGMENTS, POSES, *VIDEOS, DEPTH),
    expected="ScanNet++'s folder data/, with one folder per scene, or the folder above it",
)


@dataclass(frozen=True)
class ScanNetPP(ScanReader):
    """ScanNet++.

    Args:
        split: "train", "val" or "test" for the scenes of ``nvs_sem_<split>.txt`` below the root; None for all.
    """

    split: str | None = None
    name = "scannetpp"
    version = 1
    extra = "scans"
    video_fps = 30  # VSI-Bench, appendix B.1
    expected_files = EXPECTED_FILES

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {"categories": load_curation(self.name).sha256}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if self.split is None or not root.is_dir():
            return list_scenes(root, LAYOUT, extra=lambda _: map_bytes(root))
        file = f"nvs_sem_{self.split}.txt"
        names = split_names(root, (file, f"splits/{file}"), self.split)
        return list_scenes(root, LAYOUT, lambda folder: folder.name in names, lambda _: map_bytes(root))

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings = Findings()
        mesh, instances, _ = self.scan(files, findings)
        for item in instances:
            check_against_own(item, mesh.vertices, findings)
        check_turns(instances, mesh.vertices, findings)
        objects, counts = assemble(instances, findings)
        film = self.film(files, findings)
        if film is not None:
            frames = film.frames()
            check_frames(files, film.poses, frames, mesh.vertices, findings)
            check_upright(files.relative(film.path), frames, findings)
        check_floor(mesh, findings)
        facts = Scan(objects=objects, counts=counts, room=measure_room(mesh, findings))
        return files.scene_of(IndoorScene, self, "annotated", facts, findings, film.video if film else None)

    def scan(self, files: SceneFiles, findings: Findings) -> LabelledScan:
        """See `ScanReader.scan`."""
        return files.once("scan", lambda found: _scan(files, load_curation(self.name), found), findings)

    def film(self, files: SceneFiles, findings: Findings) -> Recording | None:
        """See `ScanReader.film`."""
        return files.once("film", lambda found: open_film(files, found), findings)


def _scan(files: SceneFiles, curation: Curation, findings: Findings) -> LabelledScan:
    path = files.path / ANNOTATION
    annotation = files.json(path, "fetch the file; scenes of the hidden test split have none")
    groups = parse_groups(annotation, "id", findings)
    files.raise_faults(path, findings)
    mesh = load_mesh(files, files.path / MESH, "fetch the scene's mesh_aligned_0.05.ply")
    segments_path = files.path / SEGMENTS
    segments = segment_indices(
        files.json(segments_path, "fetch the scene's segments.json"), len(mesh.vertices), findings
    )
    files.raise_faults(segments_path, findings)
    if segments is None:
        raise AssertionError("a missing segmentation is a fault")
    owned = members(segments, groups)
    table = map_bytes(files.root)
    if table:
        files.add("map_benchmark.csv", table)
    categories = curated([g.label for g in groups], curation, findings, benchmark_map(table))
    instances = [
        instance
        for place, (group, category) in enumerate(zip(groups, categories, strict=True))
        if category is not None and (instance := _instance(group, category, owned, place, findings)) is not None
    ]
    files.raise_faults(path, findings)
    return LabelledScan(mesh, instances)


def _instance(
    group: AnnotationGroup, category: str, owned: GroupVertices, place: int, findings: Findings
) -> AnnotatedInstance | None:
    """The object of one annotated group, the ``place``-th, if its box can be used; what is doubtful is found."""
    what = f"{group.label} {group.number}"
    raw = group.raw.get("obb")
    known = {k: v for k, v in raw.items() if k in BOX_KEYS} if isinstance(raw, dict) else raw
    box = check_box(known, what, category, findings)
    lost, mine = owned.lost[place], owned.vertices[place]
    if lost or not len(mine):
        message = f"{lost} of the {len(group.segments)} segments of {what} have no vertex; {len(mine)} vertices remain"
        remedy = "fetch annotation and segments of one release"
        findings.add(doubt("segment_out_of_range", category, message, remedy, lost, 0, "segments"))
    check_shared(what, category, owned, place, findings)
    return None if box is None else AnnotatedInstance(group.number, group.label, category, box, mine)
