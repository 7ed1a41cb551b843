"""A scan as arrays: a mesh whose vertices know their object, and the frames of the camera that filmed it.

World frame: metres, z up, the frame of the scene's boxes. Camera axes: OpenCV (x right, y down, z forward).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray


@dataclass(frozen=True)
class CameraFrames:
    """Camera frames in order of time; frames without a usable pose are left out and counted.

    Attributes:
        time_s: (N,) seconds from the start of the video.
        number: (N,) number of each frame in the source video.
        world_T_camera: (N, 4, 4).
        intrinsics: (N, 4) fx, fy, cx, cy in pixels of an image of ``size``.
        size: width and height in pixels of the image the intrinsics belong to.
        skipped: reason -> number of frames left out, for example {"pose_not_finite": 3}.
        depth_m: i -> (h, w) metres along the camera's z, NaN where not measured; None if frame i has no depth.
        color: i -> (h, w, 3) uint8 RGB as stored, not turned upright; None if frame i has no image.
    """

    time_s: FloatArray
    number: npt.NDArray[np.intp]
    world_T_camera: FloatArray
    intrinsics: FloatArray
    size: tuple[int, int]
    skipped: dict[str, int] = field(default_factory=dict)
    depth_m: Callable[[int], FloatArray | None] = lambda _: None
    color: Callable[[int], npt.NDArray[np.uint8] | None] = lambda _: None


@dataclass(frozen=True)
class SceneGeometry:
    """Mesh and frames of one scan.

    Attributes:
        vertices: (V, 3) metres, world frame.
        faces: (F, 3) vertex indices.
        vertex_object: (V,) index into ``Scene.objects``, -1 for none.
        frames: the camera frames.
        delivered_fps: frames per second of the delivered video; None: it has the source's frames.
        colors: (V, 3) RGB of the vertices; None: they have none.
    """

    vertices: FloatArray
    faces: npt.NDArray[np.int32]
    vertex_object: npt.NDArray[np.int32]
    frames: CameraFrames
    delivered_fps: int | None = None
    colors: npt.NDArray[np.uint8] | None = None
