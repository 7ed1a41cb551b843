"""First hits of rays."""

import numpy as np
import pytest

from pipeline.geometry.raycasting import RayScene

WALLS = np.array([[[x, -99, -99], [x, 99, -99], [x, 0, 198]] for x in (3.0, 5.0)], dtype=np.float32)


def scene(*triangles: np.ndarray) -> RayScene:
    return RayScene(np.concatenate(triangles), np.arange(3 * len(triangles)).reshape(-1, 3))


def rays(*six: tuple[float, ...]) -> np.ndarray:
    return np.array(six, dtype=np.float32)


def test_the_nearest_triangle_is_met_at_its_distance_in_lengths_of_the_direction() -> None:
    face, along = scene(*WALLS).first(rays((0, 0, 0, 1, 0, 0), (4, 0, 0, 2, 0, 0), (4, 0, 0, -0.5, 0, 0)))
    assert face.tolist() == [0, 1, 0]
    assert along.tolist() == [3.0, 0.5, 2.0]


def test_distances_to_a_slanting_plane_by_hand() -> None:
    """Of x + 2 y + 3 z = 12, from both sides."""
    plane = np.array([[12, 0, 0], [0, 6, 0], [0, 0, 4]], dtype=np.float32)
    towards = rays((0.5, 0.25, -0.25, 1, 1, 1), (0, 1, 0.5, 1, 0.5, 0.25), (5, 5, 5, -1, -0.5, -2))
    face, along = scene(plane).first(towards)
    assert face.tolist() == [0, 0, 0]
    assert along.tolist() == pytest.approx([11.75 / 6, 8.5 / 2.75, 18 / 8])


def test_what_meets_nothing_is_infinitely_far_whatever_its_direction() -> None:
    missed = rays((0, 0, 0, -1, 0, 0), (0, 0, 0, -1, -1, -1), (6, 0, 0, 1, 1, 1), (0, 0, 0, 0, 0, 0))
    face, along = scene(*WALLS).first(missed)
    assert face.tolist() == [2] * 4
    assert along.tolist() == [np.inf] * 4
    assert scene(*WALLS).faces(missed).tolist() == [2] * 4


def test_distances_are_the_correctly_rounded_ones() -> None:
    """Embree's own come from an approximate reciprocal, which every model of processor has its own of."""
    lengths = np.arange(1, 2000, dtype=np.float32)
    towards = np.zeros((len(lengths), 6), dtype=np.float32)
    towards[:, 3] = lengths
    assert scene(*WALLS).first(towards)[1].tolist() == (np.float32(3) / lengths).tolist()


def test_rays_of_several_frames_keep_their_shape() -> None:
    face, along = scene(*WALLS).first(np.broadcast_to(rays((0, 0, 0, 1, 0, 0)), (2, 5, 6)).copy())
    assert face.shape == along.shape == (2, 5)


def test_a_triangle_without_area_is_never_met() -> None:
    flat = np.array([[1, -1, 0], [1, 0, 0], [1, 1, 0]], dtype=np.float32)
    assert scene(flat, *WALLS).first(rays((0, 0, 0, 1, 0, 0)))[0].tolist() == [1]
