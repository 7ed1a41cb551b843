"""First hits of rays in a triangle mesh, the same on every processor."""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, IntArray

Rays = npt.NDArray[np.float32]
_AT_ONCE: Final = 8192  # rays: what is worked out of them fits into the processor's cache


class RayScene:
    """A triangle mesh, ready for rays (Open3D's RaycastingScene, which is Embree).

    Embree finds the triangle. It takes reciprocals by the processor's own approximation, so that its distances differ
    in the last bits from one model of processor to another; hence they are worked out here, from the triangle's plane.

    Args:
        vertices: (V, 3), of single precision.
        faces: (F, 3), their corners.
    """

    def __init__(self, vertices: npt.NDArray[Any], faces: npt.NDArray[Any]) -> None:
        import open3d as o3d  # takes a second and 100 MiB, which builds from metadata need not spend

        corners = np.ascontiguousarray(vertices, dtype=np.float32)
        self._tensor: Any = o3d.core.Tensor.from_numpy
        self._scene: Any = o3d.t.geometry.RaycastingScene(nthreads=1)  # builds run several processes
        self._scene.add_triangles(
            self._tensor(corners), self._tensor(np.ascontiguousarray(faces, dtype=np.uint32).reshape(-1, 3))
        )
        a, b, c = (corners[faces[:, k]].astype(np.float64) for k in range(3))
        normal = np.cross(b - a, c - a)
        self._plane = np.zeros((len(faces) + 1, 4))  # one row more, for rays that meet nothing
        self._plane[:-1, :3], self._plane[:-1, 3] = normal, (normal * a).sum(1)

    def faces(self, rays: Rays) -> IntArray:
        """The triangles (...,) that rays (..., 6) of origin and direction meet first; F for none."""
        hit = self._scene.cast_rays(self._tensor(rays), nthreads=1)["primitive_ids"].numpy()
        return np.minimum(hit.astype(np.intp), len(self._plane) - 1)

    def meets(self, rays: Rays) -> BoolArray:
        """Whether rays (..., 6) of origin and direction meet any triangle (...,): sooner known than the first one."""
        return np.asarray(self._scene.test_occlusions(self._tensor(rays), nthreads=1).numpy())

    def first(self, rays: Rays) -> tuple[IntArray, npt.NDArray[np.float32]]:
        """`faces`, and how many lengths of its direction (...,) each ray goes until there; inf for none.

        A triangle that is seen exactly edge on is not met.
        """
        face, flat = self.faces(rays), rays.reshape(-1, 6)
        along = np.full(face.shape, np.inf, dtype=np.float32)
        met, far = face.reshape(-1), along.reshape(-1)
        for start in range(0, len(flat), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            x, y, z, offset = self._plane.take(met[part], axis=0).T
            ox, oy, oz, dx, dy, dz = flat[part].T
            toward = x * dx + y * dy + z * dz
            way = offset - (x * ox + y * oy + z * oz)
            np.divide(way, toward, out=far[part], where=toward != 0, casting="same_kind")
            met[part][toward == 0] = len(self._plane) - 1
        return face, along
