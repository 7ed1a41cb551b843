"""Depth of many frames as one mesh (TSDF fusion), and where its floor is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.formats.ply import ply_bytes

VOXEL_M: Final = 0.03
TRUNCATED_M: Final = 3 * VOXEL_M
FARTHEST_M: Final = 5.0  # of depth that is fused: phones and Kinects are off by centimetres beyond
BLOCKS: Final = 20_000  # of 8 x 8 x 8 voxels to begin with, 200 MB; more are added
WEIGHT_MIN: Final = 3.0  # frames that measured a voxel, where there are many
FRAMES_FEW: Final = 20.0  # of fewer, each counts more
TRIANGLES_MIN: Final = 200  # of a piece; smaller ones float
# The mean normal of faces within these angles of the last guess, one after another, is up.
CONES_DEG: Final = (35.0, 18.0, 8.0, 4.0)
LEVEL_MIN: Final = 0.97  # cosine: faces within 14 degrees of level may be floor
BIN_M: Final = 0.02
FLOOR_M2: Final = 0.3  # of level faces in a layer of 6 cm make a floor
FLOOR_SHARE: Final = 0.1  # or this share of the fullest layer, whichever is more


class FusedMesh(NamedTuple):
    """Vertices (V, 3) metres, colours (V, 3) in [0, 1], triangles (F, 3)."""

    vertices: FloatArray
    colors: FloatArray
    faces: npt.NDArray[np.int32]

    def as_ply(self) -> bytes:
        """The file of it."""
        return ply_bytes(self.vertices, self.faces, np.round(self.colors * 255))


class DepthView(NamedTuple):
    """One frame: depth (h, w) in metres, NaN where unknown; RGB (h, w, 3) or None; fx, fy, cx, cy for it; its pose."""

    depth_m: FloatArray
    color: npt.NDArray[np.uint8] | None
    lens: FloatArray
    world_T_camera: FloatArray

    @classmethod
    def of(
        cls, depth_m: FloatArray, color: npt.NDArray[np.uint8] | None, lens: Any, size: Any, world_T_camera: FloatArray
    ) -> DepthView:
        """A frame whose lens is that of a picture of another size (width, height)."""
        (fx, fy, cx, cy), (width, height) = lens, size
        across, down = depth_m.shape[1] / width, depth_m.shape[0] / height
        # Open3D counts a pixel's middle as its number, our intrinsics from the corner.
        return cls(
            depth_m, color, np.array([fx * across, fy * down, cx * across - 0.5, cy * down - 0.5]), world_T_camera
        )


def fuse(views: Iterable[DepthView]) -> FusedMesh | None:
    """The surface that frames measured together; None where they give none.

    Curless and Levoy, "A Volumetric Method for Building Complex Models from Range Images" (1996), by Open3D.
    """
    import open3d as o3d  # takes a second and 100 MiB

    tensor: Any = o3d.core.Tensor
    channels: Any = (1, 1, 3)
    grid: Any = o3d.t.geometry.VoxelBlockGrid(
        attr_names=("tsdf", "weight", "color"),
        attr_dtypes=(o3d.core.float32,) * 3,
        attr_channels=channels,
        voxel_size=VOXEL_M,
        block_resolution=8,
        block_count=BLOCKS,
        device=o3d.core.Device("CPU:0"),
    )
    count = 0
    for view in views:
        height, width = view.depth_m.shape
        depth = np.nan_to_num(view.depth_m, nan=0.0, posinf=0.0).astype(np.float32)
        if not (depth > 0).any():
            continue
        color = np.zeros((height, width, 3), np.uint8) if view.color is None else _resized(view.color, (height, width))
        depth_image = o3d.t.geometry.Image(tensor(np.ascontiguousarray(depth[..., None])))
        color_image = o3d.t.geometry.Image(tensor(color.astype(np.float32) / 255))
        fx, fy, cx, cy = map(float, view.lens)
        lens = tensor(np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]]))
        camera_T_world = tensor(np.ascontiguousarray(np.linalg.inv(view.world_T_camera)))
        bounds = (1.0, FARTHEST_M, TRUNCATED_M / VOXEL_M)
        blocks = grid.compute_unique_block_coordinates(depth_image, lens, camera_T_world, *bounds)
        grid.integrate(blocks, depth_image, color_image, lens, lens, camera_T_world, *bounds)
        count += 1
    if not count:
        return None
    mesh = grid.extract_triangle_mesh(weight_threshold=min(WEIGHT_MIN, count / FRAMES_FEW)).to_legacy()
    faces = np.asarray(mesh.triangles)
    if not len(faces):
        return None
    piece, sizes, _ = mesh.cluster_connected_triangles()
    large = np.asarray(sizes)[np.asarray(piece)] >= TRIANGLES_MIN
    return _in_order(np.asarray(mesh.vertices), np.asarray(mesh.vertex_colors), faces[large]) if large.any() else None


def _in_order(vertices: FloatArray, colors: FloatArray, faces: npt.NDArray[np.int32]) -> FusedMesh:
    """The mesh without vertices of no triangle, in the order of places: threads leave theirs in any."""
    places = vertices.round(5)
    order = np.lexsort(places.T[::-1])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    corners = rank[faces]
    used, corners = np.unique(corners, return_inverse=True)
    corners = corners.reshape(-1, 3)
    first = corners.argmin(axis=1)[:, None]
    corners = np.take_along_axis(corners, (first + np.arange(3)) % 3, axis=1)
    corners = corners[np.lexsort(corners.T[::-1])]
    kept = order[used]
    return FusedMesh(places[kept], colors[kept].round(3), corners.astype(np.int32))


def _resized(color: npt.NDArray[np.uint8], shape: tuple[int, int]) -> npt.NDArray[np.uint8]:
    rows, columns = (np.arange(new) * old // new for new, old in zip(shape, color.shape[:2], strict=True))
    return color[rows[:, None], columns[None, :]]


def find_up(vertices: FloatArray, faces: npt.NDArray[np.int32], guess: FloatArray) -> FloatArray:
    """Unit vector (3,) along which floors and table tops face, next to a guess within 35 degrees of it."""
    normal, area = _normals(vertices, faces)
    up = guess / np.linalg.norm(guess)
    for cone_deg in CONES_DEG:
        along = normal @ up
        level = np.abs(along) > np.cos(np.radians(cone_deg))
        if not level.any():
            break
        mean = (normal[level] * (np.sign(along[level]) * area[level])[:, None]).sum(axis=0)
        up = mean / np.linalg.norm(mean)
    return up


def find_floor(vertices: FloatArray, faces: npt.NDArray[np.int32], eye_m: float) -> float | None:
    """Height of the lowest large level surface below the camera, whose height is ``eye_m``; z is up."""
    normal, area = _normals(vertices, faces)
    height = vertices[faces].mean(axis=1)[:, 2]
    level = (np.abs(normal[:, 2]) > LEVEL_MIN) & (height < eye_m)
    if not level.any():
        return None
    place = np.floor((height[level] - height[level].min()) / BIN_M).astype(int)
    layer = np.convolve(np.bincount(place, area[level]), np.ones(3), "same")
    full = np.flatnonzero(layer >= max(FLOOR_M2, FLOOR_SHARE * layer.max()))
    if not len(full):
        return None
    lowest = int(full[0])
    while lowest + 1 < len(layer) and layer[lowest + 1] > layer[lowest]:  # its edge first, then its middle
        lowest += 1
    near = np.abs(place - lowest) <= 1
    return float(np.average(height[level][near], weights=area[level][near]))


def _normals(vertices: FloatArray, faces: npt.NDArray[np.int32]) -> tuple[FloatArray, FloatArray]:
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    cross = np.cross(b - a, c - a)
    length = np.linalg.norm(cross, axis=1)
    return cross / np.maximum(length, 1e-12)[:, None], length / 2
