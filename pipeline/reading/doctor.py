"""What lies in a data folder, and what each missing file costs, without reading any of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.core.errors import RawDataError
from pipeline.reading.reader import Reader


@dataclass(frozen=True)
class Want:
    """One part of a scene: any of some patterns below its folder ("{}" is the scene's name), and what it is for."""

    part: str
    patterns: tuple[str, ...]
    without: str
    needed: bool = False


NO_SCENE: Final = "the scene is left out"
NO_SIGHT: Final = "no visibility: no appearance order, unseen objects are asked about and counted"
NO_VIDEO: Final = "no standardised video"
NO_DEPTH: Final = "visibility is not checked against measured depth"
WANTS: Final[dict[str, tuple[Want, ...]]] = {
    "scannet": (
        Want("mesh", ("{}_vh_clean_2.ply",), NO_SCENE, needed=True),
        Want("segments", ("{}_vh_clean_2.0.010000.segs.json",), NO_SCENE, needed=True),
        Want("aggregation", ("{}.aggregation.json",), NO_SCENE, needed=True),
        Want("scan facts", ("{}.txt",), "no axisAlignment: see what the reader says of the scene"),
        Want("frames", ("{}.sens", "pose/*.txt", "exported/pose/*.txt"), f"{NO_SIGHT}; {NO_VIDEO}"),
        Want("depth", ("{}.sens", "depth/*.png", "exported/depth/*.png"), NO_DEPTH),
    ),
    "scannetpp": (
        Want("mesh", ("scans/mesh_aligned_0.05.ply",), NO_SCENE, needed=True),
        Want("segments", ("scans/segments.json",), NO_SCENE, needed=True),
        Want("annotation", ("scans/segments_anno.json",), NO_SCENE, needed=True),
        Want("poses", ("iphone/pose_intrinsic_imu.json",), NO_SIGHT),
        Want("video", ("iphone/rgb.mp4", "iphone/rgb.mkv", "iphone/rgb/*"), NO_VIDEO),
        Want("depth", ("iphone/depth.bin", "iphone/depth/*"), NO_DEPTH),
    ),
    "arkitscenes": (
        Want("mesh", ("{}_3dod_mesh.ply",), NO_SCENE, needed=True),
        Want("annotation", ("{}_3dod_annotation.json",), NO_SCENE, needed=True),
        Want("trajectory", ("{}_frames/lowres_wide.traj", "lowres_wide.traj"), NO_SIGHT),
        Want("intrinsics", ("{}_frames/*_intrinsics/*.pincam", "*_intrinsics/*.pincam"), NO_SIGHT),
        Want(
            "pictures",
            ("{}_frames/lowres_wide/*.png", "{}_frames/vga_wide/*.png", "lowres_wide/*.png", "vga_wide/*.png", "*.mov"),
            NO_VIDEO,
        ),
        Want("depth", ("{}_frames/lowres_depth/*.png", "lowres_depth/*.png"), NO_DEPTH),
    ),
    "flights": (
        Want("log", ("log.*",), "the flight is left out, unless flight.yaml names its log", needed=True),
        Want("settings", ("flight.yaml",), "no goal, no route, no camera"),
        Want("video", ("video.*",), NO_VIDEO),
        Want("landmarks", ("*.geojson", "*.pbf", "*.osm", "*.json"), "no question about landmarks, unless in the root"),
    ),
}


@dataclass(frozen=True)
class Inspection:
    """What was found below one root.

    Attributes:
        scenes: ids of all scenes that would be read.
        broken: what could not even be listed.
        missing: part -> ids of the scenes that lack it, in the order of `WANTS`.
    """

    scenes: tuple[str, ...]
    broken: tuple[RawDataError, ...]
    missing: dict[Want, tuple[str, ...]]


def inspect(reader: Reader, root: Path) -> Inspection:
    """Looks for every wanted file of every scene. Raises ConfigError as `Reader.scenes` does."""
    listing = reader.scenes(root)
    folders = {ref.id: root / ref.files[0] for ref in listing.scenes}
    missing = {
        want: tuple(scene for scene, folder in folders.items() if not _there(folder, want.patterns))
        for want in WANTS.get(reader.name, ())
    }
    return Inspection(tuple(folders), listing.broken, missing)


def _there(folder: Path, patterns: Sequence[str]) -> bool:
    return any(next(folder.glob(pattern.format(folder.name)), None) is not None for pattern in patterns)
