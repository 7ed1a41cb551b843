"""Sample scans: a furnished plan and the camera's poses in it, and its images of colour, depth and instances.

One ray per pixel goes into the mesh.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.geometry.raycasting import RayScene
from pipeline.samples.common.camera import TURN_BY_SKY, Lens, film, product
from pipeline.samples.common.shapes import ColorArray, SampleMesh, SurfaceLook
from pipeline.samples.indoor.rooms import FurnishedRoom, RoomPlan, furnish, world_T_plan
from pipeline.samples.indoor.surfaces import surfaces

_ROWS: Final = 64  # of a frame at a time: what is worked out of them fits into the processor's cache


class RoomFrame(NamedTuple):
    """The content of one frame.

    Attributes:
        color: (h, w, 3) RGB.
        depth_m: (h, w) along the camera's z; inf where nothing is.
        owner: (h, w) owner of the mesh that is seen, -1 where nothing is.
    """

    color: npt.NDArray[np.uint8]
    depth_m: npt.NDArray[np.float32]
    owner: npt.NDArray[np.int32]


class RoomRenderer:
    """Renders one mesh (world frame) with any lens from any pose; ``picture`` (H, W, 3) holds its surfaces."""

    def __init__(self, mesh: SampleMesh, picture: ColorArray) -> None:
        self._scene = RayScene(mesh.vertices, mesh.faces)
        self._weights = _corner_weights(mesh.vertices[mesh.faces])
        self._owner = np.append(mesh.face_owner(), np.int32(-1))  # one more, for rays that meet nothing
        self._width, self._texels = picture.shape[1], np.ascontiguousarray(picture.reshape(-1, 3))
        self._looks = _looks(mesh.look)

    def shoot(self, world_T_camera: FloatArray, lens: Lens) -> RoomFrame:
        """One frame from the pose (4, 4)."""
        shape = (lens.height, lens.width)
        color = np.empty((*shape, 3), dtype=np.uint8)
        depth, owner = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int32)
        for first in range(0, lens.height, _ROWS):
            rows = slice(first, first + _ROWS)
            face, far, toward = self._cast(world_T_camera, lens, rows)
            owners = self._owner.take(face)
            depth[rows], owner[rows] = far.reshape(-1, lens.width), owners.reshape(-1, lens.width)
            far[owners < 0] = 0
            x, y, z = (np.float32(world_T_camera[k, 3]) + far * toward[:, k] for k in range(3))
            looks, weights = self._looks.take(face, axis=0), self._weights.take(face, axis=0)
            b, c = ((x * w[0] + y * w[1] + z * w[2] + w[3]).clip(0, 1) for w in (weights.T[:4], weights.T[4:]))
            column, row, light = (looks[:, k] + b * looks[:, k + 1] + c * looks[:, k + 2] for k in (0, 3, 6))
            texels = self._texels.take(row.astype(np.int32) * self._width + column.astype(np.int32), axis=0)
            lit = color[rows].reshape(-1, 3)
            np.multiply(texels, light[:, None], out=lit, dtype=np.float32, casting="unsafe")
        return RoomFrame(color, depth, owner)

    def depth_m(self, world_T_camera: FloatArray, lens: Lens) -> npt.NDArray[np.float32]:
        """Depth (h, w) alone, inf where nothing is."""
        return self._cast(world_T_camera, lens, slice(None))[1].reshape(lens.height, lens.width)

    def _cast(
        self, pose: FloatArray, lens: Lens, rows: slice
    ) -> tuple[IntArray, npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Face and depth of each pixel of some rows, row by row, and the direction of its ray."""
        x = ((np.arange(lens.width) - lens.cx) / lens.fx).astype(np.float32)  # rays have length 1 along z
        y = ((np.arange(lens.height) - lens.cy) / lens.fy).astype(np.float32)
        turn = pose[:3, :3].astype(np.float32)
        rays = np.empty((len(y[rows]), lens.width, 6), dtype=np.float32)
        rays[..., :3] = pose[:3, 3]
        for axis in range(3):
            rays[..., 3 + axis] = turn[axis, 0] * x + (turn[axis, 1] * y[rows] + turn[axis, 2])[:, None]
        flat = rays.reshape(-1, 6)
        return (*self._scene.first(flat), flat[:, 3:])


def _looks(look: SurfaceLook) -> npt.NDArray[np.float32]:
    """Column, row and light of the faces (F + 1, 9): at the first corner, and what the second and third add to it."""
    values = np.concatenate([look.texels, look.light[..., None]], axis=2)
    first, second, third = (values[:, k] for k in range(3))
    looks = np.stack([first, second - first, third - first], axis=2).reshape(-1, 9)
    return np.append(looks, np.zeros((1, 9)), axis=0).astype(np.float32)


def _corner_weights(corners: FloatArray) -> npt.NDArray[np.float32]:
    """Planes (F + 1, 8) of faces (F, 3, 3): at a point (x, y, z, 1), the weight of the second corner and of the third.

    What meets no face has the weights 0.
    """
    first, second, third = (corners[:, k] for k in range(3))
    normal = np.cross(second - first, third - first)
    size = (normal**2).sum(1, keepdims=True)
    weights = np.zeros((len(corners) + 1, 2, 4))
    for k, across in enumerate((np.cross(third - first, normal), np.cross(normal, second - first))):
        weights[:-1, k, :3] = np.divide(across, size, out=np.zeros_like(across), where=size > 0)
        weights[:-1, k, 3] = -(weights[:-1, k, :3] * first).sum(1)
    return weights.reshape(-1, 8).astype(np.float32)


@dataclass(frozen=True)
class SampleScan:
    """A scan in the world frame.

    Attributes:
        plan: what it was made from.
        room: the furnished rooms.
        world_T_camera: (N, 4, 4) poses of the frames as stored.
        renderer: of the rooms' mesh.
    """

    plan: RoomPlan
    room: FurnishedRoom
    world_T_camera: FloatArray
    renderer: RoomRenderer

    def shots(self, lens: Lens, pixels: npt.NDArray[np.int64]) -> Iterator[tuple[int, RoomFrame]]:
        """All frames in order; the pixels of each piece in frame i are counted into ``pixels[i]``."""
        pieces = len(self.plan.pieces)
        for i, pose in enumerate(self.world_T_camera):
            shot = self.renderer.shoot(pose, lens)
            pixels[i] = np.bincount(shot.owner.ravel() + 1, minlength=pieces + 1)[1 : pieces + 1]
            yield i, shot

    def no_pixels(self) -> npt.NDArray[np.int64]:
        """Zeros (frames, pieces) for `shots` to count into."""
        return np.zeros((len(self.world_T_camera), len(self.plan.pieces)), dtype=np.int64)


def scan(plan: RoomPlan) -> SampleScan:
    """Furnishes the rooms and walks the camera through them."""
    room = furnish(plan)
    poses = film(plan.views, plan.fps, TURN_BY_SKY[plan.sky], plan.name)
    return SampleScan(plan, room, product(world_T_plan(plan), poses), RoomRenderer(room.mesh, surfaces()[1]))
