"""The planted truth of a sample scene: what a reader, an observer or a question must find, known by construction."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely
from pydantic import Field
from shapely.geometry.base import BaseGeometry

from pipeline.core.schema import Model, OrientedBox
from pipeline.geometry.boxes import Boxes, closest_distance_m
from pipeline.sampling.camera import TURN_BY_SKY
from pipeline.worlds.indoor.samples.routes import SampleRoute, find_routes
from pipeline.worlds.indoor.samples.scan import SampleScan

# Share of an image's pixels from which an object counts as seen in it: 20 of a picture of 160x120. The scenes are
# filmed so that a share a third larger or smaller moves no first appearance by more than a frame.
SEEN_SHARE: Final = 20 / (160 * 120)
DECIMALS: Final = 9
WALL_M: Final = 0.2  # walls between rooms are thinner than this

Outline = tuple[tuple[float, float], ...]


class ObjectTruth(Model):
    """One piece of furniture."""

    label: str = Field(description="as the dataset spells it, before any remapping")
    index: int = Field(description="position among the annotated objects of the scene; ScanNet's objectId")
    box: OrientedBox = Field(description="in the scene's world frame; axes are the piece's right, back and up")
    pixels: tuple[tuple[int, int], ...] = Field(description="(frame, pixels) for every frame that shows any of it")
    first_frame: int | None = Field(description="first frame with a pose in which it passes SEEN_SHARE")
    first_s: float | None = Field(description="time of that frame from the start of the recording")


class SceneTruth(Model):
    """One sample scene. Frames are numbered from 0 in the order of the recording, those without a pose included."""

    id: str
    dataset: str
    name: str
    objects: tuple[ObjectTruth, ...]
    counts: dict[str, int] = Field(description="label -> pieces, those never seen included")
    never_seen: tuple[int, ...] = Field(description="indices of objects without a single pixel in any frame")
    distances_m: tuple[tuple[float, ...], ...] = Field(description="closest-point distance of boxes i and j")
    floor: tuple[Outline, ...] = Field(description="outline of the floor, doorways included, world frame")
    floor_area_m2: float = Field(description="of the floor: what lies under walls is not part of it")
    outline_area_m2: float = Field(
        description="of the floor with the walls between its rooms: what an alpha shape sees"
    )
    frame_time_s: tuple[float, ...] = Field(description="from the first frame, as the files tell it")
    frame_names: tuple[str, ...] = Field(description="what the files call each frame")
    lost_frames: tuple[int, ...] = Field(description="frames whose pose was lost (-inf)")
    image_pixels: int = Field(description="pixels of the image in which ``pixels`` were counted")
    turn_deg: int = Field(description="clockwise turn that makes the stored frames upright")
    routes: tuple[SampleRoute, ...]

    def first_frame(self, index: int, share: float = SEEN_SHARE) -> int | None:
        """First frame with a pose in which object ``index`` has at least this share of the pixels."""
        least = share * self.image_pixels
        frames = (f for f, pixels in self.objects[index].pixels if pixels >= least and f not in self.lost_frames)
        return min(frames, default=None)


class Truth(Model):
    """Everything planted in a folder of samples."""

    seen_share: float = SEEN_SHARE
    scenes: dict[str, SceneTruth] = Field(description='by id, "dataset/name"')


def truth_of(
    scan: SampleScan,
    pixels: npt.NDArray[np.int64],
    image_pixels: int,
    times_s: list[float],
    names: list[str],
    lost: tuple[int, ...] = (),
) -> SceneTruth:
    """The truth of a scan whose frames showed ``pixels`` (frames, pieces)."""
    plan, room = scan.plan, scan.room
    labels, boxes = room.labels, room.boxes
    passes = pixels >= SEEN_SHARE * image_pixels
    passes[list(lost)] = False
    objects = []
    for i, label in enumerate(labels):
        frames = np.flatnonzero(pixels[:, i])
        first = int(np.argmax(passes[:, i])) if passes[:, i].any() else None
        objects.append(
            ObjectTruth(
                label=label,
                index=i,
                box=box_truth(boxes, i),
                pixels=tuple((int(f), int(pixels[f, i])) for f in frames),
                first_frame=first,
                first_s=None if first is None else times_s[first],
            )
        )
    filled = room.floor.buffer(WALL_M / 2, join_style="mitre").buffer(-WALL_M / 2, join_style="mitre")
    return SceneTruth(
        id=f"{plan.dataset}/{plan.name}",
        dataset=plan.dataset,
        name=plan.name,
        objects=tuple(objects),
        counts=dict(sorted(Counter(labels).items())),
        never_seen=tuple(np.flatnonzero(pixels.sum(0) == 0).tolist()),
        distances_m=_distances(boxes),
        floor=(_outline(room.floor),),
        floor_area_m2=round(room.floor.area, 6),
        outline_area_m2=round(filled.area, 6),
        frame_time_s=tuple(times_s),
        frame_names=tuple(names),
        lost_frames=lost,
        image_pixels=image_pixels,
        turn_deg=TURN_BY_SKY[plan.sky],
        routes=find_routes(labels, boxes, room.floor, np.asarray(passes.any(0))),
    )


def box_truth(boxes: Boxes, index: int) -> OrientedBox:
    """One of the boxes in the schema."""
    return OrientedBox(
        center=boxes.center[index].round(DECIMALS).tolist(),
        lengths=(2 * boxes.half[index]).round(DECIMALS).tolist(),
        axes=boxes.axes[index].round(DECIMALS).tolist(),
    )


def _distances(boxes: Boxes) -> tuple[tuple[float, ...], ...]:
    n = len(boxes.center)
    i, j = np.triu_indices(n, 1)
    out = np.zeros((n, n))
    out[i, j] = out[j, i] = closest_distance_m(boxes.take(i), boxes.take(j)).round(DECIMALS)
    return tuple(tuple(row) for row in out.tolist())


def _outline(floor: BaseGeometry) -> Outline:
    """The closed outline, counter-clockwise, beginning at its smallest corner."""
    ring = shapely.get_coordinates(shapely.orient_polygons(shapely.normalize(floor)).exterior)
    return tuple((x, y) for x, y in ring.round(DECIMALS).tolist())
