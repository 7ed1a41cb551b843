"""Pictures of a curved lens as a straight one would have taken them (OpenCV's model: k1, k2, p1, p2)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray

Distortion = tuple[float, float, float, float]  # k1, k2, p1, p2
STRAIGHT: Final[Distortion] = (0.0, 0.0, 0.0, 0.0)
BORDER: Final = 65  # places along each side of a picture that are looked at


def distorted(places: FloatArray, lens: tuple[float, float, float, float], distortion: Distortion) -> FloatArray:
    """Where a curved lens shows what a straight one shows at places (N, 2), in pixels.

    OpenCV, "Camera Calibration and 3D Reconstruction": radial by r² and r⁴, tangential by p1 and p2.
    """
    (fx, fy, cx, cy), (k1, k2, p1, p2) = lens, distortion
    x, y = (places[:, 0] - cx) / fx, (places[:, 1] - cy) / fy
    square = x**2 + y**2
    radial = 1 + k1 * square + k2 * square**2
    across = x * radial + 2 * p1 * x * y + p2 * (square + 2 * x**2)
    down = y * radial + p1 * (square + 2 * y**2) + 2 * p2 * x * y
    return np.stack([across * fx + cx, down * fy + cy], axis=1)


def border_px(size: tuple[int, int], lens: tuple[float, float, float, float], distortion: Distortion) -> float:
    """The farthest that a curved lens moves anything on the border of a picture, in pixels."""
    if distortion == STRAIGHT:
        return 0.0
    across, down = (np.linspace(0.0, side, BORDER) for side in size)
    sides = [np.column_stack([across, np.full(BORDER, y)]) for y in (0.0, size[1])]
    sides += [np.column_stack([np.full(BORDER, x), down]) for x in (0.0, size[0])]
    border = np.concatenate(sides)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.linalg.norm(distorted(border, lens, distortion) - border, axis=1)
    return float(np.where(np.isfinite(moved), moved, np.inf).max())


def straightened(
    color: npt.NDArray[np.uint8], lens: tuple[float, float, float, float], distortion: Distortion
) -> npt.NDArray[np.uint8]:
    """A picture (h, w, 3) of the same size and lens without distortion; black where the curved one shows nothing."""
    from scipy.ndimage import map_coordinates  # takes a fifth of a second

    high, wide = color.shape[:2]
    v, u = np.mgrid[:high, :wide]
    middles = np.column_stack([u.ravel(), v.ravel()]) + 0.5
    at = distorted(middles, lens, distortion) - 0.5
    places = [at[:, 1].reshape(high, wide), at[:, 0].reshape(high, wide)]
    layers = [map_coordinates(color[..., i], places, order=1, mode="constant") for i in range(color.shape[2])]
    return np.stack(layers, axis=-1)
