"""The facts of an indoor scan: objects, room, and what the video shows of them. Metres, z up, the scan's own frame."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, get_args

import numpy as np
from pydantic import Field, FiniteFloat

from pipeline.core.arrays import IntArray
from pipeline.core.findings import doubt
from pipeline.core.schema import Facts, Finding, Model, Name, OrientedBox, Scene, Vec3
from pipeline.geometry.floors import FloorGrid

SIGHT: Final = "sight"  # subject of a doubt about all that the video shows
UPRIGHT: Final = "upright"  # subject of a doubt about all heights, distances and directions
# Findings of whoever looked at all pictures of a category, a model or people.
CALLED_OTHERWISE: Final = "called_otherwise"
OTHERS_IN_VIEW: Final = "others_in_view"
TWO_BOXES_OF_ONE: Final = "two_boxes_of_one"
LOOKED_AT: Final = "looked_at_by_people"  # nothing of these was found
SCALE: Final = "scale"  # subject of a doubt about all lengths; no margin in metres holds either


class BudgetVisibility(Model):
    """Visibility of one object in a number of evenly spaced frames of the delivered video.

    An object that is not ``absent`` and that no frame shows well (``first_seen_s`` is None) is in doubt, as in the
    whole video.
    """

    pixels: int = Field(ge=0, description="most pixels in any of the frames, of the reduced image")
    absent: bool = Field(description="no frame shows a single pixel of it at the size of the delivered video")
    first_seen_s: FiniteFloat | None = Field(
        description="time of the first of the frames in which it passes the threshold"
    )
    first_shown_s: FiniteFloat | None = Field(
        description="time of the first of the frames that shows any of it in the reduced image"
    )
    extent_seen: FiniteFloat = Field(ge=0, le=1, description="as in the whole video, between what these frames show")


class Visibility(Model):
    """Visibility of one object in the delivered video (stage `observe`).

    An object that is not ``absent`` and that no frame shows well (``frames_seen`` 0) is in doubt: some see it, some do
    not.
    """

    frames_seen: int = Field(ge=0, description="examined frames in which it passes the pixel threshold")
    largest_pixels: int = Field(ge=0, description="most pixels in any examined frame, of the reduced image")
    absent: bool = Field(description="no frame at all shows a single pixel of it at the size of the delivered video")
    extent_seen: FiniteFloat = Field(
        ge=0, le=1, description="share of its box's longest side between the two ends of what examined frames show"
    )
    first_seen_s: FiniteFloat | None = Field(
        description="time from the video's start of the first of all frames in which it passes the threshold"
    )
    budgets: dict[int, BudgetVisibility] = Field(description="number of evenly spaced frames -> what they show of it")
    best_s: FiniteFloat | None = Field(
        default=None, description="time of the examined frame that shows it best; None: none shows it"
    )
    in_view: tuple[tuple[int, int], ...] = Field(
        default=(), description="runs, first and last, of the frames of `Observation.sweep` whose picture it may be in"
    )


class SceneObject(Model):
    """One annotated object instance."""

    category: Name
    instance: int = Field(ge=0, description="index among the scene's objects of this category")
    raw_label: str | None = Field(default=None, description="the dataset's own label before remapping")
    box: OrientedBox
    visibility: Visibility | None = Field(default=None, description="None: not examined")


class FrameCamera(Model):
    """The camera in one frame of the video: where a point of the scan lies in its picture."""

    second: FiniteFloat = Field(description="from the video's start")
    world_T_camera: tuple[Vec3, Vec3, Vec3, Vec3] = Field(
        description="its axes (OpenCV: right, down, ahead) and its position, in the scan's frame"
    )
    focal: tuple[FiniteFloat, FiniteFloat] = Field(description="in widths and heights of the picture as stored")
    middle: tuple[FiniteFloat, FiniteFloat] = Field(description="principal point, in the same, from its corner")


class BudgetFrames(Model):
    """A number of evenly spaced frames of the delivered video, and what they show of the room."""

    frames: int = Field(ge=0, description="different frames; fewer than the budget in a video that has no more")
    numbers: tuple[int, ...] = Field(default=(), description="their numbers in the delivered video, one for each k")
    without_pose_s: tuple[FiniteFloat, ...] = Field(description="times of the frames whose content is unknown")
    plan_seen: FiniteFloat | None = Field(
        ge=0,
        le=1,
        description="share of the floor plan, of what all examined frames show, on which something is shown; None: no "
        "floor was measured",
    )


class Observation(Model):
    """How the visibility of a scene's objects was found."""

    frames_examined: int = Field(ge=0, description="at the regular pace and of the frame budgets")
    frames_refined: int = Field(ge=0, description="looked at besides, around first appearances")
    frames_skipped: dict[str, int] = Field(description="reason -> frames of the video that could not be examined")
    frames_per_second: FiniteFloat
    min_pixels: int
    budgets: dict[int, BudgetFrames] = Field(description="number of evenly spaced frames -> the room in them")
    image: tuple[int, int] = Field(description="width and height of the reduced image")
    depth_agreement: FiniteFloat | None = Field(description="share of rays not behind the measured depth")
    unscanned_m2: FiniteFloat | None = Field(default=None, description="below the camera's path, where the mesh lacks")
    unscanned_share: FiniteFloat | None = Field(default=None, description="of the floor's area")
    camera_path: tuple[Vec3, ...] = Field(
        default=(), description="where the camera was at the regular pace: seconds from the video's start, x, y"
    )
    sweep: tuple[int, ...] = Field(
        default=(), description="the examined frames at the regular pace, by their number in the delivered video"
    )
    picture: tuple[int, int] | None = Field(default=None, description="width and height of a picture as stored")
    cameras: tuple[FrameCamera, ...] = Field(
        default=(), description="of the frames that show an object best or first, in order of time"
    )


Extent = Literal["all rooms", "main room"]


class SeenFloor(Model):
    """Where a body can walk by what was scanned, in cells of 5 cm (`FloorGrid`)."""

    origin: tuple[FiniteFloat, FiniteFloat] = Field(description="centre of the first cell")
    columns: int = Field(ge=1)
    rows: int = Field(ge=1)
    bits: str = Field(description="the cells by rows along y, 1 where one can walk, packed into bytes, in base64")

    @classmethod
    def of(cls, grid: FloorGrid) -> SeenFloor:
        """The fact of a grid."""
        rows, columns = grid.walkable.shape
        bits = b64encode(np.packbits(grid.walkable).tobytes()).decode("ascii")
        x, y = grid.origin.round(6)
        return cls(origin=(float(x), float(y)), columns=columns, rows=rows, bits=bits)

    def grid(self) -> FloorGrid:
        """The grid of the fact."""
        cells = np.unpackbits(np.frombuffer(b64decode(self.bits), dtype=np.uint8), count=self.rows * self.columns)
        return FloorGrid(cells.reshape(self.rows, self.columns).astype(bool), np.array(self.origin))


class Room(Model):
    """The scanned space as a whole; what a source does not measure is None."""

    area_m2: Annotated[FiniteFloat, Field(gt=0)] | None = None
    extent: Extent | None = Field(default="all rooms", description="what area and floor are of; None: not known")
    area_method: str | None = Field(default=None, description='how, for example "alpha_shape alpha=5 voxel=0.05"')
    area_failure: str | None = Field(default=None, description="why there is no area")
    center: Vec3 | None = None
    floor: tuple[tuple[tuple[FiniteFloat, FiniteFloat], ...], ...] | None = Field(
        default=None, description="closed outlines of the floor, outer ones counter-clockwise, holes clockwise"
    )
    seen_floor: SeenFloor | None = Field(default=None, description="None: only the outline shows where")


RouteTurn = Literal["Turn Left", "Turn Right", "Turn Back"]
TURNS: Final[tuple[RouteTurn, ...]] = get_args(RouteTurn)


class Route(Model):
    """A route written by a person: objects passed in order, the destination last, and the turns before them."""

    start: Name
    facing: Name
    passed: tuple[Name, ...] = Field(min_length=1)
    turns: tuple[RouteTurn, ...] = Field(min_length=1)


class Scan(Facts):
    """The facts of an indoor scan."""

    world: Literal["indoor"] = "indoor"
    objects: tuple[SceneObject, ...] = ()
    counts: dict[Name, Annotated[int, Field(ge=0)]] = Field(
        default_factory=dict,
        description="instances per category as the source states them; may differ from the boxes (see findings)",
    )
    room: Room = Room()
    routes: tuple[Route, ...] = Field(default=(), description="routes written by people")
    observation: Observation | None = Field(default=None, description="None: visibility was not examined")


IndoorScene = Scene[Scan]


def known_in(scene: IndoorScene) -> dict[str, bool]:
    """What `sight` counts, and whether a scan has it."""
    return {"examined": scene.facts.observation is not None}


def sight(scans: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the videos show, in lines of Markdown."""
    examined = known["examined"]
    if examined == scans:
        return [f"- The videos of all {examined} scans were examined for what they show."]
    return [
        f"- The video of {examined} of {scans} scans was examined for what it shows; in the others answers",
        "  come from annotated boxes alone, whether the video shows them or not: their wording names the scanned",
        "  space, and the column `video_examined` is false.",
    ]


def examined_frames(scene: IndoorScene) -> Mapping[int, tuple[int, ...]]:
    """By number of evenly spaced frames, which frames of the delivered video were examined for them."""
    observation = scene.facts.observation
    return {} if observation is None else {n: own.numbers for n, own in observation.budgets.items()}


def frames_without(scene: IndoorScene, category: str) -> IntArray:
    """Frames of the delivered video whose pictures nothing of a category can be in, nor half a second around."""
    observation = scene.facts.observation
    if observation is None:
        return np.empty(0, dtype=np.intp)
    free = np.ones(len(observation.sweep), dtype=bool)
    for item in scene.facts.objects:
        if item.category == category and item.visibility is not None:
            for first, last in item.visibility.in_view:
                free[max(first - 1, 0) : last + 2] = False
    return np.array(observation.sweep, dtype=np.intp)[free]


def count_doubts(
    counts: Mapping[str, int], objects: Sequence[SceneObject], categories: Iterable[str] | None = None
) -> list[Finding]:
    """A doubt for each category, of some or of all, of which another number is stated than there are boxes."""
    boxed = Counter(o.category for o in objects)
    found = []
    for category in sorted({*counts, *boxed} if categories is None else set(categories)):
        stated, boxes = counts.get(category, 0), boxed[category]
        if stated != boxes:
            message = f"{category}: {stated} stated, {boxes} boxes"
            remedy = "count in the video and correct the number or the boxes"
            found.append(doubt("count_differs_from_boxes", category, message, remedy, boxes, stated, "objects"))
    return found
