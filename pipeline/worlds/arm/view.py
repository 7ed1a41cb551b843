"""An episode as arrays over time: joints, gripper and things, and how they stood to one another.

Of J joints, I things and T times. Places are in the world's frame; "from the base" is along its axes from the foot of
the arm, x ahead and y to the left of the robot. NaN: not known then, or in doubt.
"""

from dataclasses import replace
from functools import cached_property
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, StrArray
from pipeline.core.quantized_series import QuantizedSeries
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.geometry.angles import matrices, rate, rotated
from pipeline.questions.gate import ShownScene
from pipeline.worlds.arm.facts import ArmCamera, Episode, EpisodeScene

GRIPPER: Final = "gripper"  # subject of findings about it
OPENING: Final = "opening"  # of how far it is open
RATE_WINDOW_S: Final = 0.2  # ours: joints are noisy to 1e-4, which is then 0.7 milliradians per second
OPEN_MIN: Final = 0.8  # ours: shares of the opening; between the two it is neither
CLOSED_MAX: Final = 0.2
TARGET: Final = "target"

State = Literal["open", "closed"]

_SHOWN: Final = load_table("shown")["arm"]
FILMED: Final = ShownScene(**_SHOWN["filmed"])
DRAWN: Final = ShownScene(**_SHOWN["drawn"], complete=None)
GRIPPER_M: Final = 0.05  # ours, half a hand: where less of it is around its point, finger tips are all that is seen
MAP_PX: Final = 250.0  # side of each map of that film
LEAST_M: Final = 0.4  # shown to each side of the middle
DIALS_MAX: Final = 7  # joints whose dials have room in that film
MARGIN: Final = 1.3  # around all that is somewhere at the beginning
EDGE_PX: Final = 4.0  # of a map, within which nothing is drawn; and half a dot, for what has no size
MAPS: Final = ((1, 0), (0, 2))  # axes across and up of the maps of that film: from above, and from the robot's right
# Middles (100, 2) of the cells of a mark, from its own middle, in halves of its sides.
_CELLS: Final = np.stack(np.meshgrid(*[np.linspace(-0.9, 0.9, 10)] * 2), axis=-1).reshape(-1, 2)


class ArmView:
    """An episode under no rules but its own doubts.

    Attributes:
        times_s: (T,).
        joints: (J,) names.
        angle: (T, J) positions in each joint's unit (radians or metres, `Joint.unit`).
        low, high, rate_max: (J,) limits; NaN where they are not known.
        gripper_m: (T, 3) the point that the gripper's track follows.
        gripper_turn: (T, 4) unit quaternions, w first.
        opening: (T,) share, 0 closed and 1 open.
        width_m: (T,) between the fingers.
        ids: (I,) of the things, as in the facts.
        categories: (I,) common words.
        item_m: (I, T, 3) of their middles.
        size_m: (I, 3).
        slide: (I, T) how far each was moved along its own joint, in its unit; NaN without one.
        slide_share: (I, T) the same between its limits: 0 closed, 1 open.
        base_m: (3,) the foot of the arm.
        doubts: by subject (a joint's name, a thing's id, `GRIPPER`, `OPENING`, "log"): the first finding that casts
            doubt on all of it. Where a doubt is about stretches of time, its rows are NaN.
    """

    def __init__(self, scene: EpisodeScene) -> None:
        self.scene = scene
        self.facts: Episode = scene.facts
        self._hidden: dict[int, FloatArray] = {}
        self.times_s = times_s = self.facts.times_s
        serious = [f for f in scene.findings if f.severity == "doubt"]
        self.doubts: dict[str, Finding] = {f.subject: f for f in reversed(serious) if f.stretches is None}
        count, arm, gripper = len(times_s), self.facts.arm, self.facts.gripper
        joints = arm.joints if arm else ()
        self.joints: StrArray = np.array([joint.name for joint in joints], dtype=object)
        self.angle = _table(arm.position if arm else None, count, len(joints))
        self.low, self.high, self.rate_max = (
            np.array([getattr(joint, name) for joint in joints], dtype=np.float64)
            for name in ("low", "high", "rate_max")
        )
        self.gripper_m = _table(gripper.place_m if gripper else None, count, 3)
        self.gripper_turn = _table(gripper.turn_wxyz if gripper else None, count, 4)
        for finding in serious:
            for start_s, end_s in finding.stretches or ():
                if finding.subject == GRIPPER:
                    self.gripper_m[(times_s >= start_s) & (times_s <= end_s)] = np.nan
        opening = None if gripper is None or OPENING in self.doubts else gripper.opening
        self.opening = _table(opening, count, 1)[:, 0]
        self.width_m = _table(gripper.width_m if gripper else None, count, 1)[:, 0]
        self.base_m: FloatArray = np.array(arm.base_m if arm and arm.base_m else [np.nan] * 3, dtype=np.float64)
        items = self.facts.items
        self.ids: StrArray = np.array([item.id for item in items], dtype=object)
        self.categories: StrArray = np.array([item.category for item in items], dtype=object)
        self.size_m = np.array([item.size_m or [np.nan] * 3 for item in items], dtype=np.float64).reshape(-1, 3)
        self.item_m = np.full((len(items), count, 3), np.nan)
        self.slide = np.full((len(items), count), np.nan)
        self.slide_share = np.full((len(items), count), np.nan)
        for row, item in enumerate(items):
            if item.id in self.doubts:
                continue
            self.item_m[row] = _table(item.place_m, count, 3)
            if item.slide is not None:
                self.slide[row] = item.slide.position.array[:, 0]
                self.slide_share[row] = (self.slide[row] - item.slide.low) / (item.slide.high - item.slide.low)

    # Who and when

    def row(self, name: str) -> int:
        """The row of a thing. Raises KeyError."""
        return {name: row for row, name in enumerate(self.ids.tolist())}[name]

    def index(self, time_s: float) -> int:
        """The time nearest to one."""
        return int(np.abs(self.times_s - time_s).argmin())

    @property
    def drawable(self) -> bool:
        """Whether a film can be drawn of it: whether a place or an angle is known at any time."""
        return any(bool(np.isfinite(table).any()) for table in (self.gripper_m, self.item_m, self.angle))

    @cached_property
    def extent(self) -> tuple[FloatArray, float]:
        """Middle (3,) of what is somewhere at the beginning, and how far it reaches: what drawn maps are as wide as."""
        first = [self.base_m, *_first(self.gripper_m[None]), *_first(self.item_m)]
        known = np.array([place for place in first if np.isfinite(place).all()]).reshape(-1, 3)
        low, high = (known.min(0), known.max(0)) if len(known) else (np.zeros(3), np.zeros(3))
        return (low + high) / 2, max(LEAST_M, float((high - low).max()) / 2)

    @property
    def pixel_m(self) -> float:
        """What a pixel of a drawn map is."""
        return 2 * self.extent[1] * MARGIN / MAP_PX

    @cached_property
    def shown(self) -> ShownScene:
        """Its film, or else the film that is drawn of it, to whoever is asked about it."""
        if self.scene.video is not None:
            kinds = frozenset(self.categories.tolist()) if self.facts.items_complete else frozenset[str]()
            return replace(FILMED, complete=kinds)
        pixel_cm = round(100 * self.pixel_m, 6)
        return replace(DRAWN, readable={**DRAWN.readable, "distance": pixel_cm, "way": pixel_cm, "speed": 2 * pixel_cm})

    @property
    def camera(self) -> ArmCamera | None:
        """The camera of the film."""
        return next((one for one in self.facts.cameras if one.pictures), None)

    def pictured(self, place_m: FloatArray, around_m: float = 0.0) -> FloatArray:
        """Whether the film has places (n, 3) in its picture: (n,), 1 or 0; NaN where it is not known.

        ``around_m``: with so much around them; of a film that is drawn, they are on both maps.
        """
        if self.scene.video is None:
            return np.asarray(self.in_maps(place_m).all(0), dtype=np.float64)
        camera = self.camera
        if (
            camera is None
            or camera.moves is not False
            or None in (camera.place_m, camera.world_from_camera, camera.focal_px, camera.centre_px, camera.width)
        ):
            return np.full(len(place_m), np.nan)
        local = (place_m - np.array(camera.place_m)) @ np.array(camera.world_from_camera)
        with np.errstate(divide="ignore", invalid="ignore"):
            xy = local[:, :2] / local[:, 2:] * np.array(camera.focal_px) + np.array(camera.centre_px)
            edge = around_m / local[:, 2:] * np.array(camera.focal_px)
        inside = ((xy >= edge) & (xy <= (camera.width, camera.height) - edge)).all(1) & (local[:, 2] > 0)
        return np.asarray(inside, dtype=np.float64)

    def in_maps(self, place_m: FloatArray) -> BoolArray:
        """Whether each map of the drawn film has places (n, 3): (2, n). None has what is not known."""
        off = np.abs(place_m - self.extent[0])[:, MAPS]
        return np.asarray((off <= (MAP_PX / 2 - EDGE_PX) * self.pixel_m).all(2).T)

    def drawing_order(self, index: int) -> list[npt.NDArray[np.intp]]:
        """Rows (I,) in the order in which each map of the drawn film draws them over one another.

        From above the highest are last, from the side what is nearest to the robot's right.
        """
        place, up = self.item_m[:, index], np.nan_to_num(self.size_m[:, 2]) / 2
        return [np.argsort(near.round(4), kind="stable") for near in (place[:, 2] + up, -place[:, 1])]

    def covered(self, index: int) -> FloatArray:
        """(I,): how much of a thing's mark others cover on the map of the drawn film where that is less.

        NaN: what is on no map, and all where a camera took the film.
        """
        return np.asarray(np.fmin(*self.hidden(index)))

    def hidden(self, index: int) -> FloatArray:
        """(2, I): how much of a thing's mark others cover on each map of the drawn film; NaN as in `covered`."""
        if index not in self._hidden:
            self._hidden[index] = self._find_hidden(index)
        return self._hidden[index]

    def _find_hidden(self, index: int) -> FloatArray:
        place = self.item_m[:, index]
        share = np.full((len(MAPS), len(place)), np.nan)
        if self.scene.video is not None:
            return share
        drawn = zip(MAPS, self.in_maps(place), self.drawing_order(index), strict=True)
        for n, (axes, inside, order) in enumerate(drawn):
            rows = order[inside[order]]
            half = self.size_m[np.ix_(rows, axes)] / 2
            half[~np.isfinite(half).all(1)] = EDGE_PX * self.pixel_m
            middle = place[np.ix_(rows, axes)]
            cells = middle[:, None] + _CELLS * half[:, None]
            over = (np.abs(cells[:, :, None] - middle) <= half).all(3)  # (rows, cells, rows)
            later = np.triu(np.ones((len(rows), len(rows)), dtype=bool), 1)
            share[n, rows] = (over & later[:, None]).any(2).mean(1)
        return share

    @property
    def targets(self) -> list[int]:
        """Rows of what the task is about."""
        return [row for row, item in enumerate(self.facts.items) if item.role == TARGET]

    # Joints

    @cached_property
    def angle_rate(self) -> FloatArray:
        """(T, J): units per second, as recorded, or else from positions."""
        arm = self.facts.arm
        if arm is not None and arm.velocity is not None:
            return arm.velocity.array
        return rate(self.times_s, self.angle, RATE_WINDOW_S)

    @cached_property
    def effort(self) -> FloatArray:
        """(T, J): N m or N, as recorded."""
        arm = self.facts.arm
        return _table(arm.effort if arm else None, len(self.times_s), len(self.joints))

    # The gripper

    @cached_property
    def gripper_mps(self) -> FloatArray:
        """(T, 3): its velocity, from its places."""
        return rate(self.times_s, self.gripper_m, RATE_WINDOW_S)

    @cached_property
    def gripper_speed_mps(self) -> FloatArray:
        """(T,)."""
        return np.asarray(np.sqrt((self.gripper_mps**2).sum(1)))

    @cached_property
    def approach(self) -> FloatArray:
        """(T, 3): the unit vector that the gripper points along, its own z axis."""
        return rotated(matrices(self.gripper_turn), np.broadcast_to([0.0, 0.0, 1.0], self.gripper_m.shape))

    def state_at(self, index: int) -> State | None:
        """Whether the gripper is open or closed; None: neither for sure."""
        share = self.opening[index]
        return "open" if share >= OPEN_MIN else "closed" if share <= CLOSED_MAX else None

    # Things

    @cached_property
    def offset_m(self) -> FloatArray:
        """(I, T, 3): of the things' middles from the gripper, along the world's axes."""
        return np.asarray(self.item_m - self.gripper_m)

    @cached_property
    def distance_m(self) -> FloatArray:
        """(I, T): between the things' middles and the gripper's point."""
        return np.asarray(np.sqrt((self.offset_m**2).sum(2)))

    # From the base

    @cached_property
    def item_from_base_m(self) -> FloatArray:
        """(I, T, 3)."""
        return np.asarray(self.item_m - self.base_m)

    def on_item(self, index: int) -> BoolArray:
        """(I, I): whether row lies on column at a time.

        Its middle is above the other's footprint, and its bottom at the other's top, to `ON_MAX_M`. Both must have a
        size and stand upright along the world's axes. Nothing lies on itself, however flat it is.
        """
        place, half = self.item_m[:, index], self.size_m / 2
        off = np.abs(place[:, None, :2] - place[None, :, :2])
        above = (place[:, 2] - half[:, 2])[:, None] - (place[:, 2] + half[:, 2])[None, :]
        with np.errstate(invalid="ignore"):
            found = np.asarray((off <= half[None, :, :2]).all(2) & (np.abs(above) <= ON_MAX_M))
        np.fill_diagonal(found, val=False)
        return found


ON_MAX_M: Final = 0.005  # ours: gap or overlap of two things of which one lies on the other


def _first(places: FloatArray) -> FloatArray:
    """The first known of each of places (I, T, 3)."""
    known = np.logical_and.reduce(np.isfinite(places), axis=2)
    rows = np.flatnonzero(known.any(axis=1))
    return np.asarray(places[rows, known[rows].argmax(axis=1)])


def _table(packed: QuantizedSeries | None, rows: int, columns: int) -> FloatArray:
    """The numbers, or NaN where there are none."""
    return np.full((rows, columns), np.nan) if packed is None else packed.array
