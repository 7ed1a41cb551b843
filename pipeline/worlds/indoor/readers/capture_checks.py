"""Whether the poses, the mesh, the depth and the unit of a capture fit one another.

Conventions of cameras differ in ways that leave every matrix a sound one: world-to-camera for camera-to-world, a
transposed rotation, a quaternion with its scalar at the other end, y up for z up, millimetres for metres. Each of them
shows in what was filmed: people hold cameras upright, floors are level, what two frames both measured lies in one
place, and a hand moves at the pace of a hand.
"""

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt, fault, note
from pipeline.formats.ply import PlyMesh
from pipeline.formats.videos import decoded_frames, quarter_turns
from pipeline.geometry.scans import CameraFrames
from pipeline.worlds.indoor.facts import SCALE, UPRIGHT
from pipeline.worlds.indoor.readers.frames import Turn, upright_turn
from pipeline.worlds.indoor.readers.meshes import tilt_deg

UPRIGHT_MIN: Final = 0.5  # length of the mean of up in the picture's plane; the kitchen of 7-Scenes has 0.90
UPSIDE_DOWN_MIN: Final = 0.5  # share of frames that would be upright after half a turn
TILT_MAX_DEG: Final = 3.0  # of floors and table tops; a box leans by as much
EYE_MIN_M, EYE_MAX_M = 0.5, 3.0  # of the camera above the lowest of what it filmed, in the middle
FLOOR_PERCENT: Final = 1.0  # of the vertices may lie below the floor
SPEED_MAX_M_S: Final = 4.0  # of a camera that a person carries, in the middle
ANCHORS: Final = 16  # frames that are compared with one of their neighbours
# Two frames that are compared are at least so many metres or degrees apart, or less where the camera hardly moved:
# poses of one place agree however wrong they are.
APART: Final = ((0.5, 25.0), (0.1, 6.0))
PIXELS: Final = 64  # rows and columns of a depth picture that are compared
OVERLAP_MIN: Final = 0.05  # share of them that fall into the other picture
PAIRS_MIN: Final = 3
# Of the distance, in the middle of the pixels. The kitchen of 7-Scenes has 0.008; with its poses inverted 0.22,
# transposed 0.30, their quaternions' scalar misplaced 0.44, of OpenGL's camera 0.25, positions half or twice as long
# 0.08 and 0.07, focal lengths a fifth shorter 0.05, depth a fifth 0.38. Positions a tenth longer are not seen (0.011).
DEPTH_OFF_MAX: Final = 0.03


def check_capture(frames: CameraFrames, mesh: PlyMesh | None, metric: bool, findings: Findings) -> None:
    """Adds what does not fit: a fault where depth contradicts the poses, doubts about up and scale.

    Args:
        frames: in the world frame.
        mesh: or cloud, in the world frame; None where there is none.
        metric: whether the unit of lengths is known.
        findings: what is found is added to them.
    """
    if len(frames.number):
        _check_up(frames.world_T_camera, findings)
        _check_depth(frames, findings)
        if metric:
            _check_pace(frames, findings)
    if mesh is not None:
        check_floor(mesh, findings)
    if mesh is not None and metric and len(frames.number):
        floor = float(np.percentile(mesh.vertices[:, 2], FLOOR_PERCENT))
        eye_m = float(np.median(frames.world_T_camera[:, 2, 3])) - floor
        if not EYE_MIN_M <= eye_m <= EYE_MAX_M:
            limit = EYE_MIN_M if eye_m < EYE_MIN_M else EYE_MAX_M
            message = f"the camera was {eye_m:.3g} m above the lowest of what it filmed (usual: {EYE_MIN_M:g} to "
            message += f"{EYE_MAX_M:g} m)"
            remedy = "correct unit and up of scene.json"
            findings.add(doubt("implausible_eye_height", SCALE, message, remedy, round(eye_m, 3), limit, "m"))


def _check_up(world_T_camera: FloatArray, findings: Findings) -> None:
    up = world_T_camera[:, 2, :3]  # the world's z in camera axes
    clear = float(np.hypot(*up[:, :2].mean(axis=0)))
    turn = upright_turn(world_T_camera)
    if clear < UPRIGHT_MIN:
        message = f"up points into all directions of the pictures (their mean has length {clear:.2f}): people hold a "
        message += "camera one way up"
        remedy = "correct up and camera.axes, or whether poses are camera-to-world"
        findings.add(doubt("camera_up_unclear", UPRIGHT, message, remedy, round(clear, 3), UPRIGHT_MIN, "length"))
    elif turn is not None and turn[0] == 180 and turn[1] >= UPSIDE_DOWN_MIN:
        message = f"{turn[1]:.0%} of the pictures stand on their heads"
        remedy = "correct up (its sign) or camera.axes (opencv and opengl differ by half a turn)"
        findings.add(doubt("camera_upside_down", UPRIGHT, message, remedy, round(turn[1], 3), UPSIDE_DOWN_MIN, "share"))


def check_film_turn(path: Path, turn: tuple[Turn, float], findings: Findings) -> None:
    """Adds a fault where a film's container asks for another turn than its poses: they are of turned pictures.

    Args:
        path: of a film that can be read; a container that asks for no turn states nothing.
        turn: of `upright_turn`, for the pictures as stored.
        findings: what is found is added to them.
    """
    asked = 90 * quarter_turns(next(decoded_frames(path)))
    if asked and asked != turn[0] and turn[1] >= UPSIDE_DOWN_MIN:
        message = (
            f"{path.name} asks players to turn it clockwise by {asked} degrees, by the poses it is {turn[0]}: many "
        )
        message += "tools turn a film before they work out its poses"
        remedy = "give poses of the pictures as stored, or write the film anew upright (ffmpeg does)"
        findings.add(fault("film_turned", "video", message, remedy))


def check_floor(mesh: PlyMesh, findings: Findings) -> None:
    """Adds a doubt about up where what is nearly level in a mesh leans; a cloud, without faces, does not tell."""
    tilt = tilt_deg(mesh)
    if len(mesh.faces) and (tilt is None or tilt > TILT_MAX_DEG):
        found = "nothing in the mesh is level" if tilt is None else f"what is nearly level leans by {tilt:.1f} degrees"
        remedy = "correct up or axisAlignment, or turn mesh, boxes and poses until the floor is level"
        message = f"{found} (limit {TILT_MAX_DEG:g})"
        findings.add(doubt("floor_not_level", UPRIGHT, message, remedy, tilt, TILT_MAX_DEG, "deg"))


def _check_pace(frames: CameraFrames, findings: Findings) -> None:
    seconds = np.diff(frames.time_s)
    steps = np.linalg.norm(np.diff(frames.world_T_camera[:, :3, 3], axis=0), axis=1)[seconds > 0] / seconds[seconds > 0]
    pace = float(np.median(steps)) if len(steps) else 0.0
    if pace > SPEED_MAX_M_S:
        message = f"the camera moves at {pace:.3g} m/s in the middle"
        remedy = "correct unit, or the times of the frames"
        findings.add(doubt("implausible_pace", SCALE, message, remedy, round(pace, 3), SPEED_MAX_M_S, "m/s"))


def _check_depth(frames: CameraFrames, findings: Findings) -> None:
    """Holds what a frame measured against what another measured of the same places."""
    anchors = np.unique(np.linspace(0, len(frames.number) - 1, ANCHORS).round().astype(int)).tolist()
    measured = {i: depth for i in anchors if (depth := frames.depth_m(i)) is not None}
    if not measured:
        return
    offs: list[float] = []
    for apart in APART:
        if len(offs) < PAIRS_MIN:
            found = (_off_from_neighbour(frames, i, depth, apart) for i, depth in measured.items())
            offs = [off for off in found if off is not None]
    if len(offs) < PAIRS_MIN:
        message = f"only {len(offs)} pairs of frames show the same from apart: depth and poses cannot be compared"
        remedy = "none is needed where the video looks right beside the mesh"
        findings.add(note("depth_not_compared", "depth", message, remedy, len(offs), PAIRS_MIN, "pairs"))
        return
    off = float(np.median(offs))
    if off > DEPTH_OFF_MAX:
        message = f"what two frames measured of the same place differs by {off:.1%} of its distance (limit "
        message += f"{DEPTH_OFF_MAX:.0%}), in {len(offs)} pairs of frames"
        remedy = "are poses camera-to-world, quaternions in order, matrices not transposed, camera.axes, depth_divisor "
        remedy += "and intrinsics right?"
        findings.add(fault("depth_contradicts_poses", "depth", message, remedy))


def _off_from_neighbour(frames: CameraFrames, i: int, first: FloatArray, least: tuple[float, float]) -> float | None:
    """Median difference, as a share of the distance, between frame i and the next one that shows it from elsewhere."""
    pose = frames.world_T_camera
    moved = np.linalg.norm(pose[:, :3, 3] - pose[i, :3, 3], axis=1)
    cosine = (np.einsum("jk,njk->n", pose[i, :3, :3], pose[:, :3, :3]) - 1) / 2
    apart = (moved >= least[0]) | (np.degrees(np.arccos(np.clip(cosine, -1, 1))) >= least[1])
    others = np.flatnonzero(apart)
    for j in others[np.argsort(np.abs(others - i), kind="stable")][:3].tolist():
        second = frames.depth_m(j)
        off = None if second is None else _depth_offset(frames, (i, j), first, second)
        if off is not None:
            return off
    return None


def _depth_offset(frames: CameraFrames, pair: tuple[int, int], first: FloatArray, second: FloatArray) -> float | None:
    i, j = pair
    rows, columns = (np.linspace(0, side - 1, min(side, PIXELS)).astype(int) for side in first.shape)
    v, u = (grid.ravel() for grid in np.meshgrid(rows, columns, indexing="ij"))
    z = first[v, u]
    known = np.isfinite(z)
    v, u, z = v[known], u[known], z[known]
    if not len(z):
        return None
    fx, fy, cx, cy = frames.intrinsics[i]
    across, down = frames.size[0] / first.shape[1], frames.size[1] / first.shape[0]
    x, y = ((u + 0.5) * across - cx) / fx * z, ((v + 0.5) * down - cy) / fy * z
    j_T_i = np.linalg.inv(frames.world_T_camera[j]) @ frames.world_T_camera[i]
    there = np.stack([x, y, z, np.ones_like(z)], axis=1) @ j_T_i.T
    ahead = there[:, 2] > 0.05 * np.median(z)
    there = there[ahead]
    fx, fy, cx, cy = frames.intrinsics[j]
    column = ((there[:, 0] / there[:, 2] * fx + cx) / frames.size[0] * second.shape[1]).astype(int)
    row = ((there[:, 1] / there[:, 2] * fy + cy) / frames.size[1] * second.shape[0]).astype(int)
    inside = (column >= 0) & (column < second.shape[1]) & (row >= 0) & (row < second.shape[0])
    theirs = second[row[inside], column[inside]]
    both = np.isfinite(theirs)
    if both.sum() < OVERLAP_MIN * len(z):
        return None
    return float(np.median(np.abs(theirs[both] - there[inside][both, 2]) / theirs[both]))
