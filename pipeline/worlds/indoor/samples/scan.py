"""One sample scan: a furnished plan and the camera's poses in it, ready to be rendered and written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.sampling.camera import TURN_BY_SKY, Lens, film
from pipeline.sampling.transforms import product
from pipeline.worlds.indoor.samples.render import Renderer, Shot
from pipeline.worlds.indoor.samples.rooms import Furnished, RoomPlan, furnish, world_T_plan
from pipeline.worlds.indoor.samples.surfaces import surfaces


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
    room: Furnished
    world_T_camera: FloatArray
    renderer: Renderer

    def shots(self, lens: Lens, pixels: npt.NDArray[np.int64]) -> Iterator[tuple[int, Shot]]:
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
    return SampleScan(plan, room, product(world_T_plan(plan), poses), Renderer(room.mesh, surfaces()[1]))
