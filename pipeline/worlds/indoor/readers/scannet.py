"""Reader of ScanNet v2: one folder per scan with mesh, segments, aggregation, alignment, and a .sens or its export.

World frame: the scan's own after ``axisAlignment``. Objects have no boxes of their own; they are fitted to the
vertices of each instance. Frames come from ``<scene>.sens`` or else from the exported folders ``color depth pose
intrinsic`` (in the scene's folder or in ``exported/``); these have no times, so the numbers they are named by are taken
as 30 per second.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Video
from pipeline.reading.checks import DEGENERATE_M
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.folders import Layout, list_scenes, split_names
from pipeline.reading.reader import NO_DEPTH, NO_SCENE, NO_SIGHT, NO_VIDEO, ExpectedFile
from pipeline.worlds.indoor.facts import IndoorScene, Scan
from pipeline.worlds.indoor.readers.box_fit import BOX_FITS, BOX_METHODS, BoxFit
from pipeline.worlds.indoor.readers.capture_checks import check_floor
from pipeline.worlds.indoor.readers.categories import Curation, load_curation
from pipeline.worlds.indoor.readers.frames import LabelledScan, Recording, ScanReader, check_frames, check_upright
from pipeline.worlds.indoor.readers.meshes import load_mesh, measure_room, transformed
from pipeline.worlds.indoor.readers.objects import (
    AnnotatedInstance,
    AnnotationGroup,
    assemble,
    check_shared,
    curated,
    members,
    parse_groups,
    segment_indices,
)
from pipeline.worlds.indoor.readers.scannet_frames import FPS, INFO, alignment, exported_film, scan_info, sens_film

MESH: Final = "{}_vh_clean_2.ply"
SEGMENTS: Final = "{}_vh_clean_2.0.010000.segs.json"
AGGREGATION: Final = "{}.aggregation.json"
SENS: Final = "{}.sens"
EXPORTS: Final = ("", "exported/")
SCENE_NAME: Final = re.compile(r"scene\d{4}_\d{2}", re.ASCII)  # a scan even where its files are not here
MIN_VERTICES: Final = 4  # fewer do not span a box


def _is_scene(folder: Path) -> bool:
    name = folder.name
    parts = (AGGREGATION, MESH, SEGMENTS, SENS)
    return bool(SCENE_NAME.fullmatch(name)) or any((folder / part.format(name)).is_file() for part in parts)


EXPECTED_FILES: Final = (
    ExpectedFile("mesh", ("{}_vh_clean_2.ply",), NO_SCENE, needed=True),
    ExpectedFile("segments", ("{}_vh_clean_2.0.010000.segs.json",), NO_SCENE, needed=True),
    ExpectedFile("aggregation", ("{}.aggregation.json",), NO_SCENE, needed=True),
    ExpectedFile("scan facts", ("{}.txt",), "no axisAlignment: see what the reader says of the scene"),
    ExpectedFile("frames", ("{}.sens", "pose/*.txt", "exported/pose/*.txt"), f"{NO_SIGHT}; {NO_VIDEO}"),
    ExpectedFile("depth", ("{}.sens", "depth/*.png", "exported/depth/*.png"), NO_DEPTH),
)


LAYOUT: Final = Layout(
    dataset="scannet",
    tops=(("", "scans"),),
    is_scene=_is_scene,
    main_files=lambda name: tuple(p.format(name) for p in (AGGREGATION, MESH, SEGMENTS, INFO, SENS)),
    expected="ScanNet's folder scans/, with one folder per scan, or the folder above it",
)


@dataclass(frozen=True)
class ScanNet(ScanReader):
    """ScanNet v2.

    Args:
        split: "train" or "val" for the scenes of ``scannetv2_<split>.txt`` below the root; None for all.
        box_fit: how boxes are fitted to the instances.
        pace: "clock": the delivered video lasts as long as the scan, which thins 30 frames a second to 24; "slowed":
            it shows every frame, and lasts a quarter longer.
    """

    split: str | None = None
    box_fit: BoxFit = "gravity"
    pace: Literal["clock", "slowed"] = "clock"
    name = "scannet"
    version = 1
    extra = "scans"
    video_fps = 24  # VSI-Bench, appendix B.1
    expected_files = EXPECTED_FILES

    def __post_init__(self) -> None:
        if self.box_fit not in BOX_FITS:
            raise ValueError(f"box_fit is {self.box_fit!r}; there are {', '.join(BOX_FITS)}")
        if self.pace not in {"clock", "slowed"}:
            raise ValueError(f"pace is {self.pace!r}; there are clock, slowed")

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {"box_fit": self.box_fit, "pace": self.pace, "categories": load_curation(self.name).sha256}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if self.split is None or not root.is_dir():
            return list_scenes(root, LAYOUT)
        file = f"scannetv2_{self.split}.txt"
        places = (file, f"meta_data/{file}", f"Tasks/Benchmark/{file}")
        names = split_names(root, places, self.split)
        return list_scenes(root, LAYOUT, lambda folder: folder.name in names)

    def read(self, files: SceneFiles) -> IndoorScene:
        """See `Reader.read`."""
        findings = Findings()
        scan = self.scan(files, findings)
        objects, counts = assemble(scan.instances, findings)
        video = self._video(files, scan, findings)
        check_floor(scan.mesh, findings)
        facts = Scan(objects=objects, counts=counts, room=measure_room(scan.mesh, findings))
        return files.scene_of(IndoorScene, self, BOX_METHODS[self.box_fit], facts, findings, video)

    def scan(self, files: SceneFiles, findings: Findings) -> LabelledScan:
        """See `ScanReader.scan`."""
        return files.once("scan", lambda found: self._scan(files, load_curation(self.name), found), findings)

    def film(self, files: SceneFiles, findings: Findings) -> Recording | None:
        """See `ScanReader.film`: in the scan's own frame."""
        film = files.once("film", lambda found: _film(files, found), findings)
        if film is None or film.table is None or film.video is None or self.pace == "clock":
            return film
        factor = self.video_fps / FPS
        video = film.video.model_copy(update={"fps": (film.video.fps or FPS) * factor})
        return replace(film, table=replace(film.table, time_s=film.table.time_s / factor), video=video)

    def _scan(self, files: SceneFiles, curation: Curation, findings: Findings) -> LabelledScan:
        folder, name = files.path, files.name
        path = folder / AGGREGATION.format(name)
        remedy = "fetch the file; ScanNet's test scans have none, and nothing can be asked about them"
        aggregation = files.json(path, remedy)
        groups = parse_groups(aggregation, "objectId", findings)
        files.raise_faults(path, findings)
        mesh = load_mesh(
            files, folder / MESH.format(name), "fetch the scan's _vh_clean_2.ply: segments and annotation belong to it"
        )
        path = folder / SEGMENTS.format(name)
        segments = segment_indices(
            files.json(path, "fetch the segments of _vh_clean_2.ply"), len(mesh.vertices), findings
        )
        files.raise_faults(path, findings)
        if segments is None:
            raise AssertionError("a missing segmentation is a fault")
        world_T_scan = alignment(files, _info_of(files), mesh, findings)
        mesh = transformed(mesh, world_T_scan)
        instances = _instances(groups, segments, mesh.vertices, self.box_fit, curation, findings)
        return LabelledScan(mesh, instances, world_T_scan)

    def _video(self, files: SceneFiles, scan: LabelledScan, findings: Findings) -> Video | None:
        film = self.film(files, findings)
        if film is None:
            message = f"neither {SENS.format(files.name)} nor the exported folders color, depth and pose are here"
            remedy = "fetch the .sens: without frames nothing is known of what the video shows"
            findings.add(note("no_frames", "video", message, remedy, 0, 1, "frames"))
            return None
        frames = film.frames(scan.world_T_film)
        check_frames(files, film.poses, frames, scan.mesh.vertices, findings)
        check_upright(files.relative(film.poses), frames, findings)
        return film.video


def _instances(
    groups: list[AnnotationGroup],
    segments: npt.NDArray[np.intp],
    vertices: FloatArray,
    box_fit: BoxFit,
    curation: Curation,
    findings: Findings,
) -> tuple[AnnotatedInstance, ...]:
    owned = members(segments, groups)
    categories = curated([g.label for g in groups], curation, findings)
    instances = []
    for place, (group, category) in enumerate(zip(groups, categories, strict=True)):
        if category is None:
            continue
        mine, what = owned.vertices[place], f"{group.label} {group.number}"
        if owned.lost[place]:
            message = f"{owned.lost[place]} of the {len(group.segments)} segments of {what} have no vertex"
            remedy = "fetch aggregation and segments of one release"
            findings.add(doubt("segment_out_of_range", category, message, remedy, owned.lost[place], 0, "segments"))
        if len(mine) < MIN_VERTICES:
            message = f"{what} has {len(mine)} vertices: it gets no box and is not counted"
            remedy = "take the instance out, or mend its segments"
            findings.add(
                doubt("instance_without_vertices", category, message, remedy, len(mine), MIN_VERTICES, "vertices")
            )
            continue
        check_shared(what, category, owned, place, findings)
        box = BOX_FITS[box_fit](vertices[mine])
        flat = sum(side < DEGENERATE_M for side in box.lengths)
        if flat > 1:
            message = f"the {len(mine)} vertices of {what} lie on a line or in a point"
            findings.add(doubt("degenerate_box", category, message, "mend its segments", flat, 1, "sides of length 0"))
        instances.append(AnnotatedInstance(group.number, group.label, category, box, mine))
    return tuple(instances)


def _info_of(files: SceneFiles) -> dict[str, str]:
    return files.once("info", lambda _: scan_info(files), Findings())


def _film(files: SceneFiles, findings: Findings) -> Recording | None:
    """The frames of a scan, from its .sens or else from exported folders; None where it has neither."""
    folders = [files.path / f"{prefix}pose" for prefix in EXPORTS]
    exported = next((folder.parent for folder in folders if folder.is_dir()), None)
    sens = files.path / SENS.format(files.name)
    if sens.is_file():
        try:
            return sens_film(files, sens, findings)
        except RawDataError as error:
            if exported is None:
                raise
            message = f"{files.relative(sens)}: {error.message}; the exported folders are read instead"
            findings.add(note(error.finding, "video", message, error.remedy))
    return None if exported is None else exported_film(files, exported, _info_of(files), findings)
