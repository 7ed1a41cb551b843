"""Broken scans: every kind spoils a tiny sound scan in one way, and says what it must cost.

``FAULTS`` cost their scene, ``FINDINGS`` stay with it (profile `strict` heeds doubts), ``FRAMES`` cost frames alone.
"""

from __future__ import annotations

import json
import random
import re
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.worlds.indoor.readers.tiny_scans import NAMES, SCANNET, encoded, movie, ply, poses, put, sens, world_T_scan

Spoil = Callable[[Path], object]  # takes the scene's folder


@dataclass(frozen=True)
class Fault:
    """A finding that costs the scene: its name, the file at fault, and parts of the message."""

    layout: str
    spoil: Spoil
    finding: str
    file: str
    says: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A finding that stays with the scene: its name, severity and subject, and the measured value."""

    layout: str
    spoil: Spoil
    finding: str
    severity: str
    subject: str
    measured: float | None = None


@dataclass(frozen=True)
class Lost:
    """Frames left out, by reason and number; counted as the frames are loaded."""

    layout: str
    spoil: Spoil
    reason: str
    count: int


def name_of(folder: Path) -> str:
    return folder.name


# ScanNet


def mesh_file(folder: Path) -> Path:
    return next(path for path in folder.rglob("*.ply"))


def remesh(change: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]) -> Spoil:
    """Writes the mesh again with other vertices and faces."""

    def spoil(folder: Path) -> None:
        from pipeline.formats.ply import parse_ply

        mesh = parse_ply(mesh_file(folder).read_bytes())
        put(mesh_file(folder), ply(*change(mesh.vertices.copy(), mesh.faces.copy())))

    return spoil


def with_nan(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    vertices[5] = np.nan
    return vertices, faces


def edit_raw(pattern: str, change: Callable[[bytes], bytes]) -> Spoil:
    """Changes the bytes of the one file of a pattern."""

    def spoil(folder: Path) -> None:
        (path,) = folder.rglob(pattern)
        path.write_bytes(change(path.read_bytes()))

    return spoil


def edit_json(pattern: str, change: Callable[[Any], Any]) -> Spoil:
    """Changes the value of the one JSON file of a pattern; a change that gives None has worked in place."""

    def apply(raw: bytes) -> bytes:
        value = json.loads(raw)
        changed = change(value)
        return json.dumps(value if changed is None else changed).encode()

    return edit_raw(pattern, apply)


def remove(pattern: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for path in list(folder.rglob(pattern)):
            path.unlink()

    return spoil


def info(change: Callable[[str], str]) -> Spoil:
    return edit_raw(f"{SCANNET}.txt", lambda raw: change(raw.decode()).encode())


def alignment(numbers: str) -> Spoil:
    return info(lambda text: re.sub(r"axisAlignment = .*", f"axisAlignment = {numbers}", text))


def matrix_text(matrix: np.ndarray) -> str:
    return " ".join(f"{v:.6f}" for v in matrix.ravel())


def scan_poses(count: int = 6) -> np.ndarray:
    return np.linalg.inv(world_T_scan()) @ poses(count)


def new_sens(change: Callable[[np.ndarray], None] = lambda _: None, **options: Any) -> Spoil:
    def spoil(folder: Path) -> None:
        camera = scan_poses()
        change(camera)
        put(folder / f"{SCANNET}.sens", sens(len(camera), camera, **options))

    return spoil


def lose(*numbers: int) -> Callable[[np.ndarray], None]:
    def change(camera: np.ndarray) -> None:
        camera[list(numbers)] = -np.inf

    return change


def in_millimetres(camera: np.ndarray) -> None:
    camera[:, :3, 3] *= 1000.0


def upside_down(camera: np.ndarray) -> None:
    camera[:, :3, :2] *= -1.0


def group(number: int, **changes: Any) -> Callable[[Any], None]:
    """Changes one annotated group."""

    def change(value: Any) -> None:
        value["segGroups"][number].update(changes)

    return change


def again(value: Any) -> None:
    """The first chair is annotated a second time."""
    value["segGroups"].append(dict(value["segGroups"][1], id=9, objectId=9))


def all_again(value: Any) -> None:
    """The whole list of groups comes twice, as in scene0217_00."""
    value["segGroups"] += [dict(g, id=g["id"] + 50, objectId=g["objectId"] + 50) for g in value["segGroups"]]


def again_as(label: str) -> Callable[[Any], None]:
    """The first chair is annotated a second time, by another label."""

    def spoil(value: Any) -> None:
        value["segGroups"].append(dict(value["segGroups"][1], id=9, objectId=9, label=label))

    return spoil


def desk_takes_chair(value: Any) -> None:
    """The table's group holds the segments of the first chair too."""
    table, chair = value["segGroups"][:2]
    table["segments"] = [*table["segments"], *chair["segments"]]


def leaning(folder: Path) -> None:
    """No alignment, and a scan that leans by five degrees."""
    info(lambda text: re.sub(r"axisAlignment.*\n", "", text))(folder)
    c, s = np.cos(np.radians(5.0)), np.sin(np.radians(5.0))
    turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    remesh(lambda vertices, faces: (vertices @ turn.T, faces))(folder)


def on_a_line(folder: Path) -> None:
    """The first chair's segments become four vertices of the floor, in a row."""

    def change(value: Any) -> None:
        value["segIndices"][:4] = [500] * 4

    edit_json("*.segs.json", change)(folder)
    edit_json("*.aggregation.json", group(1, segments=[500]))(folder)


def spoil_color(raw: bytes) -> bytes:
    """The colour of the first frame of a .sens, overwritten."""
    start = raw.index(b"\xff\xd8\xff")
    return raw[:start] + b"\x00" * 20 + raw[start + 20 :]


def export(folder: Path) -> None:
    """The exported tree instead of the .sens."""
    from tests.worlds.indoor.readers.tiny_scans import write_scannet

    (folder / f"{SCANNET}.sens").unlink()
    write_scannet(folder.parent.parent, exported=True)


def exported(then: Spoil) -> Spoil:
    def spoil(folder: Path) -> None:
        export(folder)
        then(folder)

    return spoil


def box(number: int, **changes: Any) -> Callable[[Any], None]:
    """Changes one annotated box of either; a value of ... takes the key away."""

    def change(value: Any) -> None:
        entry = value["segGroups"][number] if "segGroups" in value else value["data"][number]["segments"]
        target = entry["obb" if "obb" in entry else "obbAligned"]
        for key in ("min", "max"):
            target.pop(key, None)
        target.update(changes)
        for key in [k for k, v in target.items() if v is ...]:
            del target[key]

    return change


def drop(key: str) -> Callable[[Any], None]:
    return lambda value: value.pop(key) and None


def frame(number: int, **changes: Any) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value[f"frame_{number:06d}"].update(changes)

    return change


def each_frame(change: Callable[[int, dict[str, Any]], None]) -> Callable[[Any], None]:
    def apply(value: Any) -> None:
        for number, entry in enumerate(value.values()):
            change(number, entry)

    return apply


def opengl(number: int, entry: dict[str, Any]) -> None:
    entry["aligned_pose"] = (np.array(entry["aligned_pose"]) @ np.diag([1.0, -1.0, -1.0, 1.0])).tolist()


def sideways(number: int, entry: dict[str, Any]) -> None:
    quarter = np.array([[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    entry["aligned_pose"] = (np.array(entry["aligned_pose"]) @ quarter).tolist()


def slower(number: int, entry: dict[str, Any]) -> None:
    entry["timestamp"] = 100.0 + number


def traj(change: Callable[[list[str]], list[str]]) -> Spoil:
    return edit_raw("lowres_wide.traj", lambda raw: "\n".join(change(raw.decode().splitlines())).encode())


def pincams(number: int, text: str | None) -> Spoil:
    """Another text in the file of one frame, or none."""

    def spoil(folder: Path) -> None:
        path = sorted(folder.rglob("*.pincam"))[number]
        path.unlink() if text is None else path.write_text(text)

    return spoil


def pictures(pattern: str, which: slice) -> Spoil:
    """Pictures that are none."""

    def spoil(folder: Path) -> None:
        for path in sorted(folder.rglob(pattern))[which]:
            path.write_bytes(b"\x89PNG\r\n\x1a\nbroken")

    return spoil


def sky(word: str) -> Spoil:
    def spoil(folder: Path) -> None:
        put(
            folder.parents[2] / "metadata.csv",
            f"video_id,visit_id,sky_direction,fold\n{folder.name},1,{word},Validation\n",
        )

    return spoil


def broken_movie(folder: Path) -> None:
    put(folder / f"{folder.name}.mov", movie(6)[:200])


def longer_movie(folder: Path) -> None:
    put(folder / f"{folder.name}.mov", movie(40))


def not_finite_box(folder: Path) -> None:
    edit_json("segments_anno.json", box(0, centroid=[float("nan"), 1.0, 0.4]))(folder)


AGG, SEGS, PLY = "*.aggregation.json", "*.segs.json", "*.ply"
ANNO, IMU = "segments_anno.json", "pose_intrinsic_imu.json"
DATA = "*_3dod_annotation.json"

FAULTS: dict[str, Fault] = {
    # the mesh, which all have
    "ply cut": Fault("scannet", edit_raw(PLY, lambda b: b[:-500]), "truncated_ply", PLY, ("face", "declared")),
    "ply cut in its vertices": Fault(
        "arkitscenes", edit_raw(PLY, lambda b: b[:3000]), "truncated_ply", PLY, ("vertex", "declared")
    ),
    "ply cut in its header": Fault("scannetpp", edit_raw(PLY, lambda b: b[:60]), "truncated_ply", PLY, ("end_header",)),
    "no ply": Fault("scannet", edit_raw(PLY, lambda b: b"solid cube\n" + b), "not_a_ply", PLY, ("solid",)),
    "empty ply": Fault("scannetpp", edit_raw(PLY, lambda b: b""), "empty_file", PLY, ("empty",)),
    "missing ply": Fault("arkitscenes", remove(PLY), "missing_file", PLY, ("no such file",)),
    "point cloud": Fault("scannet", remesh(lambda v, f: (v, f[:0])), "ply_without_faces", PLY, ("point cloud",)),
    "vertex not there": Fault(
        "scannetpp", remesh(lambda v, f: (v, f + 1)), "face_index_out_of_range", PLY, ("3287 of 3287",)
    ),
    "vertices not finite": Fault("scannet", remesh(with_nan), "vertices_not_finite", PLY, ("1 of", "number 5")),
    "millimetres": Fault(
        "scannet", remesh(lambda v, f: (v * 1000, f)), "millimetre_units", PLY, ("over 100 m", "in millimetres")
    ),
    "kilometres": Fault("scannetpp", remesh(lambda v, f: (v / 1000, f)), "implausible_extent", PLY, ("under 0.3",)),
    # ScanNet
    "missing aggregation": Fault("scannet", remove(AGG), "missing_file", AGG, ("no such file",)),
    "aggregation cut": Fault("scannet", edit_raw(AGG, lambda b: b[:-40]), "truncated_json", AGG, ("line 1",)),
    "aggregation misspelt": Fault(
        "scannet", edit_raw(AGG, lambda b: b.replace(b":", b"=", 1)), "bad_json", AGG, ("line 1, column",)
    ),
    "aggregation no object": Fault("scannet", edit_json(AGG, lambda v: [v]), "not_an_object", AGG, ("list",)),
    "aggregation not UTF-8": Fault(
        "scannet", edit_raw(AGG, lambda b: b.replace(b"desk", b"d\xe9sk")), "not_utf8", AGG, ("byte",)
    ),
    "key twice": Fault(
        "scannet",
        edit_raw(AGG, lambda b: b.replace(b'{"sceneId"', b'{"segGroups": [], "sceneId"')),
        "duplicate_key",
        AGG,
        ("segGroups",),
    ),
    "empty annotation": Fault(
        "scannet", edit_json(AGG, lambda v: {"segGroups": []}), "empty_annotation", AGG, ("empty",)
    ),
    "no groups": Fault("scannet", edit_json(AGG, drop("segGroups")), "missing_key", AGG, ("segGroups",)),
    "group no object": Fault(
        "scannet", edit_json(AGG, lambda v: v["segGroups"].append(3)), "wrong_type", AGG, ("segGroups[5]", "int")
    ),
    "no label": Fault("scannet", edit_json(AGG, group(1, label=None)), "wrong_type", AGG, ("segGroups[1]", "None")),
    "segments as text": Fault("scannet", edit_json(AGG, group(1, segments="110")), "wrong_type", AGG, ("chair",)),
    "object id twice": Fault(
        "scannet", edit_json(AGG, group(1, objectId=2)), "duplicate_object_id", AGG, ("2 is given",)
    ),
    "missing segments": Fault("scannet", remove(SEGS), "missing_file", SEGS, ("no such file",)),
    "one segment too many": Fault(
        "scannet",
        edit_json(SEGS, lambda v: v["segIndices"].append(7)),
        "segments_differ_from_mesh",
        SEGS,
        ("3288 entries", "3287 vertices"),
    ),
    "segments not whole": Fault(
        "scannet", edit_json(SEGS, lambda v: v["segIndices"].__setitem__(3, 7.5)), "wrong_type", SEGS, ("whole",)
    ),
    "alignment of 15 numbers": Fault(
        "scannet", alignment(" ".join("1" * 15)), "bad_alignment", f"{SCANNET}.txt", ("15 numbers",)
    ),
    "alignment not finite": Fault(
        "scannet", alignment(" ".join(["nan"] * 16)), "bad_alignment", f"{SCANNET}.txt", ("not finite",)
    ),
    "alignment of words": Fault("scannet", alignment("see below"), "bad_alignment", f"{SCANNET}.txt", ("see",)),
    "alignment that scales": Fault(
        "scannet",
        alignment(matrix_text(np.diag([1000.0, 1000.0, 1000.0, 1.0]))),
        "bad_alignment",
        f"{SCANNET}.txt",
        ("no rigid transform",),
    ),
    "alignment that mirrors": Fault(
        "scannet",
        alignment(matrix_text(np.diag([-1.0, 1.0, 1.0, 1.0]))),
        "bad_alignment",
        f"{SCANNET}.txt",
        ("mirrors",),
    ),
    "leaning scan without alignment": Fault(
        "scannet", leaning, "missing_alignment", f"{SCANNET}.txt", ("leans by 5.0", "limit 1")
    ),
    "sens of version 3": Fault("scannet", new_sens(version=3), "sens_version", "*.sens", ("version 3, not 4",)),
    "sens cut in its header": Fault(
        "scannet", edit_raw("*.sens", lambda b: b[:100]), "truncated_sens", "*.sens", ("header",)
    ),
    "sens of another kind": Fault(
        "scannet", edit_raw("*.sens", lambda b: b[:4] + b"\xff" * 200), "bad_sens", "*.sens", ("name",)
    ),
    "sens of unknown compression": Fault(
        "scannet",
        edit_raw("*.sens", lambda b: b.replace(struct.pack("<ii", 2, 1), struct.pack("<ii", 2, 2), 1)),
        "sens_compression",
        "*.sens",
        ("compression 2",),
    ),
    "sens without a pose": Fault(
        "scannet", new_sens(lose(*range(6))), "no_usable_frames", "*.sens", ("none of 6", "6 pose_not_finite")
    ),
    "poses in millimetres": Fault(
        "scannet", new_sens(in_millimetres), "no_usable_frames", "*.sens", ("6 pose_far_away",)
    ),
    "poses of another scan": Fault(
        "scannet",
        new_sens(lambda camera: camera.__setitem__((slice(None), 0, 3), camera[:, 0, 3] + 30)),
        "camera_off_mesh",
        "*.sens",
        ("100%", "outside the mesh"),
    ),
    "intrinsics of words": Fault(
        "scannet",
        exported(lambda f: put(f / "intrinsic" / "intrinsic_color.txt", "none")),
        "bad_intrinsics",
        "intrinsic_color.txt",
        ("16 numbers",),
    ),
    "intrinsics of another camera": Fault(
        "scannet",
        exported(lambda f: put(f / "intrinsic" / "intrinsic_color.txt", "900 0 480 0 0 900 99 0 0 0 1 0 0 0 0 1")),
        "bad_intrinsics",
        "intrinsic_color.txt",
        ("cx 480", "48x36"),
    ),
    # ScanNet++
    "box without axes": Fault(
        "scannetpp",
        edit_json(ANNO, box(1, normalizedAxes=...)),
        "missing_key",
        ANNO,
        ("normalizedAxes", "office chair 12"),
    ),
    "box of no size": Fault(
        "scannetpp", edit_json(ANNO, box(1, axesLengths=[0.5, 0.0, 0.9])), "degenerate_box", ANNO, ("0.0 m",)
    ),
    "box in millimetres": Fault(
        "scannetpp",
        edit_json(ANNO, box(0, axesLengths=[1400, 700, 750])),
        "implausible_length",
        ANNO,
        ("1400", "over 50"),
    ),
    "box turned inside out": Fault(
        "scannetpp", edit_json(ANNO, box(0, axesLengths=[-1.4, 0.7, 0.75])), "negative_length", ANNO, ("-1.4",)
    ),
    "box axes not at right angles": Fault(
        "scannetpp",
        edit_json(ANNO, box(0, normalizedAxes=[1, 0, 0, 1, 0, 0, 0, 0, 1])),
        "axes_not_orthonormal",
        ANNO,
        (),
    ),
    "box centre not finite": Fault("scannetpp", not_finite_box, "not_finite", ANNO, ("nan",)),
    "no box": Fault("scannetpp", edit_json(ANNO, group(0, obb=None)), "wrong_type", ANNO, ("table 11", "NoneType")),
    "segments of another mesh": Fault(
        "scannetpp",
        edit_json("segments.json", lambda v: {"segIndices": [1, 2]}),
        "segments_differ_from_mesh",
        "segments.json",
        ("2 entries",),
    ),
    "video no video": Fault(
        "scannetpp", edit_raw("rgb.mp4", lambda b: b"<html>"), "unreadable_video", "rgb.mp4", ("video",)
    ),
    "video cut": Fault("scannetpp", edit_raw("rgb.mp4", lambda b: b[:300]), "unreadable_video", "rgb.mp4", ("video",)),
    "frames named otherwise": Fault(
        "scannetpp", edit_json(IMU, lambda v: {"0": v["frame_000000"]}), "no_usable_frames", IMU, ("1 entries",)
    ),
    "no aligned pose at all": Fault(
        "scannetpp",
        edit_json(IMU, each_frame(lambda n, e: e.pop("aligned_pose"))),
        "no_usable_frames",
        IMU,
        ("6 no_pose",),
    ),
    # ARKitScenes
    "missing annotation": Fault("arkitscenes", remove(DATA), "missing_file", DATA, ("no such file",)),
    "annotation without data": Fault("arkitscenes", edit_json(DATA, drop("data")), "missing_key", DATA, ("data",)),
    "annotation of nothing": Fault(
        "arkitscenes", edit_json(DATA, lambda v: {"data": []}), "empty_annotation", DATA, ()
    ),
    "data without a label": Fault(
        "arkitscenes",
        edit_json(DATA, lambda v: v["data"][2].pop("label") and None),
        "wrong_type",
        DATA,
        ("data[2]", "None"),
    ),
    "scan that the annotators skipped": Fault(
        "arkitscenes", edit_json(DATA, lambda v: v.update(skipped=True)), "skipped_annotation", DATA, ("'skipped'",)
    ),
    "zip that is none": Fault(
        "arkitscenes",
        lambda f: put(f / f"{f.name}_frames" / "vga_wide.zip", b"PK"),
        "unreadable_zip",
        "vga_wide.zip",
        ("zip",),
    ),
    "trajectory of words": Fault(
        "arkitscenes", traj(lambda lines: ["a b c d e f g"] * 3), "bad_trajectory_line", "lowres_wide.traj", ("3 of 3",)
    ),
    "empty trajectory": Fault("arkitscenes", traj(lambda lines: []), "empty_file", "lowres_wide.traj", ()),
    "unreadable recording": Fault("arkitscenes", broken_movie, "unreadable_video", "*.mov", ("video",)),
    "no readable picture": Fault(
        "arkitscenes", pictures("lowres_wide/*.png", slice(None)), "no_image_size", "lowres_wide", ("none of the 6",)
    ),
    "no picture": Fault("arkitscenes", remove("lowres_wide/*.png"), "no_usable_frames", "lowres_wide", ()),
}

FINDINGS: dict[str, Found] = {
    "segment that no vertex has": Found(
        "scannet", edit_json(AGG, group(1, segments=[110, 111, 4000])), "segment_out_of_range", "doubt", "chair", 1
    ),
    "instance of no vertex": Found(
        "scannet", edit_json(AGG, group(1, segments=[4000])), "instance_without_vertices", "doubt", "chair", 0
    ),
    "one thing annotated twice": Found("scannet", edit_json(AGG, again), "doubled_annotation", "note", "segGroups", 1),
    "all annotated twice": Found("scannet", edit_json(AGG, all_again), "doubled_annotation", "note", "segGroups", 5),
    "one thing under two labels": Found(
        "scannet", edit_json(AGG, again_as("couch")), "shared_vertices", "doubt", "sofa", 1.0
    ),
    "object without a box": Found(
        "arkitscenes",
        edit_json(DATA, lambda v: v["data"][2].pop("segments") and None),
        "object_without_box",
        "doubt",
        "chair",
        0,
    ),
    "a thing within a larger one": Found(
        "scannetpp", edit_json("segments_anno.json", desk_takes_chair), "shared_vertices", "note", "chair", 1.0
    ),
    "instance on a line": Found("scannet", on_a_line, "degenerate_box", "doubt", "chair", 2),
    "stack of chairs": Found(
        "scannet", edit_json(AGG, group(4, label="stack of chairs")), "doubtful_label", "doubt", "chair", 1
    ),
    "label of no list": Found("scannet", edit_json(AGG, group(4, label="flour")), "unknown_label", "note", "labels", 1),
    "no alignment": Found(
        "scannet", info(lambda t: re.sub(r"axisAlignment.*\n", "", t)), "missing_alignment", "note", "axisAlignment"
    ),
    "no facts": Found("scannet", remove(f"{SCANNET}.txt"), "missing_alignment", "note", "axisAlignment"),
    "sens cut in mid-frame": Found(
        "scannet", edit_raw("*.sens", lambda b: b[:-60]), "truncated_sens", "note", "video", 5
    ),
    "sens without times": Found("scannet", new_sens(times=False), "no_frame_times", "note", "video"),
    "frames without a pose": Found("scannet", new_sens(lose(0, 3)), "pose_not_finite", "note", "frames", 2),
    "no frames": Found("scannet", remove("*.sens"), "no_frames", "note", "video", 0),
    "upside down": Found("scannet", new_sens(upside_down), "video_not_upright", "note", "video", 180),
    "box beside its instance": Found(
        "scannetpp", edit_json(ANNO, box(1, centroid=[2.2, 2.0, 0.45])), "box_misses_mesh", "doubt", "chair", 0.0
    ),
    "extent of another box": Found(
        "scannetpp",
        edit_json(ANNO, lambda v: v["segGroups"][0]["obb"].update(min=[0.0, 0.0, 0.0])),
        "extent_differs_from_box",
        "note",
        "table",
    ),
    "segments gone": Found(
        "scannetpp", edit_json(ANNO, group(0, segments=[4000])), "segment_out_of_range", "doubt", "table", 1
    ),
    "poses beyond the video": Found(
        "scannetpp", lambda f: put(f / "iphone" / "rgb.mp4", movie(4)), "beyond_video", "note", "frames", 2
    ),
    "video of another rate": Found(
        "scannetpp", edit_json(IMU, each_frame(slower)), "clock_differs", "note", "video", 4.5
    ),
    "frame without aligned pose": Found(
        "scannetpp",
        edit_json(IMU, lambda v: v["frame_000002"].pop("aligned_pose") and None),
        "no_pose",
        "note",
        "frames",
        1,
    ),
    "frame without intrinsics": Found(
        "scannetpp", edit_json(IMU, frame(2, intrinsic=[1, 2])), "no_intrinsics", "note", "frames", 1
    ),
    "pose that scales": Found(
        "scannetpp",
        edit_json(IMU, frame(2, aligned_pose=np.diag([2.0, 2, 2, 1]).tolist())),
        "pose_not_rigid",
        "note",
        "frames",
        1,
    ),
    "axes of ARKit": Found("scannetpp", edit_json(IMU, each_frame(opengl)), "camera_axes_opengl", "note", IMU),
    "phone held sideways": Found(
        "scannetpp", edit_json(IMU, each_frame(sideways)), "video_not_upright", "note", "video", 90
    ),
    "no poses": Found("scannetpp", remove(IMU), "no_frames", "note", "video", 0),
    "box in the air": Found(
        "arkitscenes", edit_json(DATA, box(1, centroid=[2.2, 1.6, 2.0])), "box_misses_mesh", "doubt", "chair", 0.0
    ),
    "box given twice": Found(
        "arkitscenes", edit_json(DATA, lambda v: v["data"].append(v["data"][0])), "doubled_box", "doubt", "table", 0.0
    ),
    "thin box": Found(
        "arkitscenes", edit_json(DATA, box(0, axesLengths=[1.4, 0.0005, 0.75])), "thin_box", "doubt", "table", 0.0005
    ),
    "short line": Found(
        "arkitscenes",
        traj(lambda lines: [*lines[:2], lines[2][:40], *lines[3:]]),
        "bad_trajectory_line",
        "note",
        "video",
        1,
    ),
    "no intrinsics for a frame": Found("arkitscenes", pincams(2, None), "no_intrinsics", "note", "frames", 1),
    "intrinsics of another size": Found(
        "arkitscenes", pincams(2, "640 480 500 500 320 240"), "bad_intrinsics", "note", "frames", 1
    ),
    "intrinsics of five numbers": Found(
        "arkitscenes", pincams(2, "48 36 48 48 24"), "no_intrinsics", "note", "frames", 1
    ),
    "no trajectory": Found("arkitscenes", remove("lowres_wide.traj"), "no_frames", "note", "video", 0),
    "sky not known": Found("arkitscenes", sky("NA"), "no_sky_direction", "note", "video"),
    "wrong sky": Found("arkitscenes", sky("Left"), "sky_direction_differs", "note", "video", 0),
    "recording of another scan": Found("arkitscenes", longer_movie, "clock_differs", "note", "video", 3.5),
}

FRAMES: dict[str, Lost] = {
    "colour in a sens": Lost("scannet", edit_raw("*.sens", spoil_color), "color_unreadable", 1),
    "depth.bin": Lost("scannetpp", edit_raw("depth.bin", lambda b: b[:40] + b"\xff" * 40), "depth_unreadable", 6),
    "depth pictures": Lost("arkitscenes", pictures("lowres_depth/*.png", slice(2)), "depth_unreadable", 2),
    "colour pictures": Lost("arkitscenes", pictures("lowres_wide/*.png", slice(1, 3)), "color_unreadable", 2),
    "depth as a colour picture": Lost(
        "arkitscenes",
        lambda f: put(sorted(f.rglob("lowres_depth/*.png"))[0], encoded(np.zeros((36, 48, 3), np.uint8), "PNG")),
        "depth_unreadable",
        1,
    ),
    "pose file missing": Lost("scannet", exported(remove("pose/3.txt")), "no_pose", 1),
    "pose file of three rows": Lost(
        "scannet", exported(lambda f: put(f / "pose" / "6.txt", "1 0 0 0\n0 1 0 0\n0 0 1 0\n")), "pose_unreadable", 1
    ),
}


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """A file cut short, with bytes changed, or with bytes put in."""
    at = rng.randrange(len(raw) + 1)
    how = rng.randrange(3)
    if how == 0:
        return raw[:at]
    if how == 1:
        changed = bytearray(raw)
        for _ in range(rng.choice([1, 3, 20])):
            changed[rng.randrange(min(len(raw), rng.choice([100, 10_000_000])))] = rng.randrange(256)
        return bytes(changed)
    return raw[:at] + rng.randbytes(rng.choice([1, 4, 40])) + raw[at:]


ODD: tuple[Any, ...] = (None, True, "x", 0, -1, float("inf"), float("nan"), 1.5, 10**30, [], {}, [[]], [None], -(2**63))


def distorted(value: Any, rng: random.Random) -> Any:
    """A JSON value with one of its parts taken out, or replaced by something odd."""
    part, above = value, []
    while isinstance(part, dict | list) and part and (not above or rng.random() < 0.8):
        key = rng.choice(sorted(part)) if isinstance(part, dict) else rng.randrange(min(len(part), 6))
        above.append((part, key))
        part = part[key]
    if above:
        holder, key = above[-1]
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice(ODD)
    return value


def folder_of(root: Path, layout: str) -> Path:
    """The scene's folder below a root that `tiny_scans` has written."""
    (folder,) = root.rglob(NAMES[layout])
    return folder


def every() -> Iterator[str]:
    """Names of all kinds."""
    yield from (*FAULTS, *FINDINGS, *FRAMES)
