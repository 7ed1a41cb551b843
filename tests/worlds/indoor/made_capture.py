"""A room that a camera walked through, with the depth that it would measure: rays against boxes, no renderer."""

import io
from dataclasses import dataclass
from typing import Final

import numpy as np
from PIL import Image

ROOM: Final = (4.0, 3.0, 2.5)  # metres, a corner at the origin, z up
BOXES: Final = (  # label, low corner, high corner
    ("table", (1.2, 1.6, 0.0), (2.4, 2.4, 0.75)),
    ("refrigerator", (0.0, 0.0, 0.0), (0.5, 1.0, 1.8)),
    ("sofa", (2.6, 0.1, 0.0), (3.9, 0.9, 0.8)),
)
SIZE: Final = (80, 60)
LENS: Final = (70.0, 70.0, 40.0, 30.0)
FPS: Final = 5.0


@dataclass(frozen=True)
class Walk:
    """Poses world_T_camera (N, 4, 4), OpenCV axes, and times (N,)."""

    pose: np.ndarray
    time_s: np.ndarray

    def depth_mm(self, i: int) -> np.ndarray:
        return depth_mm(self.pose[i])


def walk(count: int = 12) -> Walk:
    """Around the middle of the room, looking ahead and a little down, through three quarters of a turn."""
    result = np.tile(np.eye(4), (count, 1, 1))
    for i, share in enumerate(np.linspace(0.0, 1.0, count)):
        angle = 4.6 * share
        position = np.array([2.0 - 0.4 * np.cos(angle), 1.3 + 0.4 * np.sin(angle), 1.4 + 0.05 * np.sin(3 * angle)])
        forward = np.array([np.cos(angle), np.sin(angle), -0.35])
        forward /= np.linalg.norm(forward)
        right = np.cross(forward, [0.0, 0.0, 1.0])
        right /= np.linalg.norm(right)
        result[i, :3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
        result[i, :3, 3] = position
    return Walk(result, np.arange(count) / FPS)


def depth_mm(pose: np.ndarray, size: tuple[int, int] = SIZE, lens: tuple[float, ...] = LENS) -> np.ndarray:
    """Distance along the camera's axis (h, w), uint16 millimetres."""
    v, u = np.mgrid[: size[1], : size[0]]
    rays = np.stack([(u + 0.5 - lens[2]) / lens[0], (v + 0.5 - lens[3]) / lens[1], np.ones(u.shape)], -1)
    rays = rays @ pose[:3, :3].T
    rays = np.where(rays == 0, 1e-12, rays)
    start = pose[:3, 3]
    leaves = np.maximum((0 - start) / rays, (np.array(ROOM) - start) / rays).min(-1)
    for _, low, high in BOXES:
        a, b = (np.array(low) - start) / rays, (np.array(high) - start) / rays
        enters, exits = np.minimum(a, b).max(-1), np.maximum(a, b).min(-1)
        leaves = np.where((enters < exits) & (enters > 0), np.minimum(leaves, enters), leaves)
    return np.round(leaves * 1000).astype(np.uint16)


def png(numbers: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(numbers).save(out, "PNG")
    return out.getvalue()


def color(i: int, size: tuple[int, int] = SIZE) -> bytes:
    """A JPEG of squares that tells its number by its mean brightness."""
    out = io.BytesIO()
    squares = np.where((np.indices((size[1], size[0])) // 8).sum(0) % 2, 12, -12)
    Image.fromarray(np.repeat((20 + 10 * i + squares)[..., None], 3, 2).astype(np.uint8)).save(out, "JPEG")
    return out.getvalue()


def room_mesh() -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of the floor, the walls and the boxes, in pieces of at most 0.2 m."""
    vertices, faces, count = [], [], 0
    for low, high in (((0.0, 0.0, 0.0), ROOM), *((low, high) for _, low, high in BOXES)):
        for axis in range(3):
            i, j = [k for k in range(3) if k != axis]
            for side in (low, high):
                ticks = [np.linspace(low[k], high[k], int(np.ceil((high[k] - low[k]) / 0.2)) + 1) for k in (i, j)]
                grid = np.meshgrid(*ticks, indexing="ij")
                points = np.zeros((grid[0].size, 3))
                points[:, i], points[:, j], points[:, axis] = grid[0].ravel(), grid[1].ravel(), side[axis]
                index = count + np.arange(grid[0].size).reshape(grid[0].shape)
                a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
                faces += [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
                vertices.append(points)
                count += len(points)
    return np.concatenate(vertices), np.concatenate(faces)
