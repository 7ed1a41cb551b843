"""How to look into boxes and meshes."""

from pathlib import Path

import numpy as np
import open3d as o3d
import pytest

from pipeline.samples.indoor.truth import ObjectTruth, SceneTruth
from tests.conftest import REAL_DATA


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real files; see tests/conftest.py."""
    return REAL_DATA


def outside_m(points: np.ndarray, thing: ObjectTruth) -> np.ndarray:
    """Distance of points (N, 3) to a box; 0 inside."""
    local = (points - np.array(thing.box.center)) @ np.array(thing.box.axes).T
    return np.linalg.norm(np.maximum(np.abs(local) - np.array(thing.box.lengths) / 2, 0.0), axis=1)


def shown_points(points: np.ndarray, thing: ObjectTruth, truth: SceneTruth) -> int:
    """How many points (N, 3) lie on a thing: in its box, and not on the floor below it."""
    ground = min(other.box.center[2] - other.box.lengths[2] / 2 for other in truth.objects)
    return int(((outside_m(points, thing) < 0.001) & (points[:, 2] > ground + 0.003)).sum())


def off_mesh_m(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Distance of points (N, 3) to the surface of a mesh."""
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(vertices.astype(np.float32), faces.astype(np.uint32))
    return scene.compute_distance(points.astype(np.float32)).numpy()
