"""Drawings of a flight: a map of its track and landmarks, its solids in space, and a film where there is no video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.spatial import MappedThing, Spatial, SpatialBoxes, TopDownMap, on_ground, thinned
from pipeline.drawing.raster import INK, SIZE, Raster
from pipeline.reading.footage import Footage, log_footage
from pipeline.worlds.flight.facts import FlightMotion, FlightScene, Landmark
from pipeline.worlds.flight.places import place_of
from pipeline.worlds.flight.view import GAUGE_PX, gauge_span_m

if TYPE_CHECKING:
    from PIL import Image

FPS: Final = 10
WIDE: Final = 480  # pixels of the map; heights are beside it
PX_PER_M: Final = 1.0
GRID_M: Final = 20.0
SCALE_M: Final = 50.0
# Pixels of the gauge: from its foot, which is the take-off, up; below it as far as there is room.
FOOT: Final = 260.0
GAUGE_X: Final = 500.0
COVERED_PX: Final = 14.0  # size up to which a landmark is covered by a name: two lines of letters
_REACH_M: Final = float(np.hypot(WIDE, SIZE[1])) / 2 / PX_PER_M
_MIDDLE: Final = np.array([WIDE, SIZE[1]]) / 2
_MAP: Final = (2.0, 2.0, WIDE - 2.0, SIZE[1] - 24.0)


def drawn(scene: FlightScene) -> Footage | None:
    """The drone in the middle, north up; None where its motion was not observed."""
    motion = scene.facts.motion
    if motion is None or not scene.facts.drawable:
        return None
    film = _FlightVideo(scene.facts.landmarks, motion)
    return log_footage(FPS, film.t_s, film.at)


class _FlightVideo:
    """The shared parts of a flight's pictures."""

    def __init__(self, landmarks: Sequence[Landmark], motion: FlightMotion) -> None:
        self.t_s = np.array(motion.t_s)
        self.enu_m = np.array(motion.enu_m).reshape(-1, 3)
        self.height_m, self.heading_deg = (
            np.array(column, dtype=np.float64) for column in (motion.height_m, motion.heading_deg)
        )
        self.step_s = 1.5 / motion.rate_hz
        self.marks = [(_outline(mark), mark) for mark in landmarks]
        self.middles = {  # or the nearest point of the outline: the middle of what is bent lies beside it
            row: place_of(row, mark, mark.label).nearest_m(np.array(mark.center))
            for row, mark in enumerate(landmarks)
            if mark.label
        }
        self.low, self.high = (
            np.array([pick(outline, 0) for outline, _ in self.marks]).reshape(-1, 2) for pick in (np.min, np.max)
        )
        top = float(np.nanmax(np.append(np.abs(self.height_m), 0.0)))
        self.span_m = gauge_span_m(top)
        self.base = Raster()
        self.base.box(0, 0, WIDE, SIZE[1], INK["ground"])
        self.panel = self._panel()

    def _panel(self) -> Image.Image:
        """What stands beside the map at all times: the gauge with its strokes, the scale, where north is."""
        raster = Raster()
        raster.text((GAUGE_X, 2), "height above take-off")
        raster.line(np.array([[GAUGE_X, FOOT], [GAUGE_X, FOOT - GAUGE_PX]]), INK["text"])
        for stroke in range(16):
            y = FOOT - stroke * GAUGE_PX / 15
            raster.line(np.array([[GAUGE_X, y], [GAUGE_X + 6, y]]), INK["text"])
            if stroke in (0, 5, 10):  # the map's scale is another one
                raster.text((GAUGE_X + 24, y - 9), f"{stroke * self.span_m / 15:g} m")
        raster.scale_bar(WIDE + 20, 309, SCALE_M * PX_PER_M, f"{SCALE_M:g} m")
        raster.text((WIDE + 20, 322), "north up")
        return raster.image.crop((WIDE, 0, *SIZE))

    def at(self, index: int, tick_s: float) -> npt.NDArray[np.uint8]:
        """The picture of one time."""
        raster = Raster(self.base.image)
        if index < 0 or tick_s - self.t_s[index] > self.step_s:
            raster.text((WIDE / 2 - 70, SIZE[1] / 2), "where it is is not known")
        else:
            self._map(raster, index)
        raster.image.paste(self.panel, (WIDE, 0))
        self._height(raster, index)
        raster.mark()
        return raster.pixels()

    def _map(self, raster: Raster, index: int) -> None:
        own = self.enu_m[index, :2]

        def place(points: FloatArray) -> FloatArray:
            return _MIDDLE + (points - own) * (PX_PER_M, -PX_PER_M)

        raster.grid(own, _REACH_M, GRID_M, place)
        near = np.flatnonzero(((self.low <= own + _REACH_M) & (self.high >= own - _REACH_M)).all(1)).tolist()
        near.sort(key=lambda row: row in self.middles)  # what has a name lies over what has none
        for row in near:
            self._landmark(raster, place(self.marks[row][0]), covers=True, named=row in self.middles)
        middles = {row: self.middles[row] for row in near if row in self.middles}
        ends = []
        for row in sorted(middles, key=lambda row: float(np.hypot(*(middles[row] - own)))):
            middle = place(middles[row])
            ends.append((middle, raster.label(middle, str(self.marks[row][1].label), _MAP, led=True)))
        for middle, end in ends:  # shapes lie side by side and in one another: a line leads from the name to its own
            if end is not None:
                raster.line(np.stack([middle, end]), INK["text"])
                raster.dot(middle, 2, INK["text"])
        for row in near:  # the names of others may cover it
            outline = place(self.marks[row][0])
            covers = bool(np.ptp(outline, axis=0).max() <= COVERED_PX)
            self._landmark(raster, outline, covers=covers, named=row in self.middles)
        heading = np.radians(self.heading_deg[index])
        raster.dot(_MIDDLE, 5, INK["own"], INK["text"])
        if np.isfinite(heading):
            raster.line(
                np.stack([_MIDDLE, _MIDDLE + 18 * np.array([np.sin(heading), -np.cos(heading)])]), INK["own"], 3
            )

    @staticmethod
    def _landmark(raster: Raster, outline: FloatArray, *, covers: bool, named: bool) -> None:
        """A landmark's outline in pixels (n, 2), filled where it covers what is there; a dot where it has none."""
        fill, edge = (INK["thing"], INK["text"]) if named else (INK["road"], INK["edge"])
        if len(outline) > 2:
            raster.shape(outline, fill if covers else None, edge)
        else:
            raster.dot(outline[0], 4, fill, edge)

    def _height(self, raster: Raster, index: int) -> None:
        """Height above the take-off on the gauge, which has a stroke each 10 m (or each 15th of it)."""
        height = self.height_m[index] if index >= 0 else np.nan
        if np.isfinite(height):
            y = FOOT - height * GAUGE_PX / self.span_m
            raster.shape(np.array([[GAUGE_X + 8, y], [GAUGE_X + 18, y - 5], [GAUGE_X + 18, y + 5]]), INK["own"])


def _outline(mark: Landmark) -> FloatArray:
    """Its footprint (n, 2), a circle as 24 corners, or its one point."""
    if mark.outline and len(mark.outline) >= 3:
        return np.array(mark.outline)
    if mark.radius_m > 0:
        angle = np.radians(np.arange(0, 360, 15))
        return np.array(mark.center) + mark.radius_m * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.array([mark.center])


_DIGITS: Final = 2  # centimetres


def top_down_map(scene: FlightScene) -> TopDownMap:
    """The flight as a map: east to the right, north up."""
    facts = scene.facts
    motion = facts.motion
    seen = {
        view.landmark: min(start for start, _ in view.intervals)
        for view in (motion.views or () if motion else ())
        if view.intervals
    }
    things = tuple(
        MappedThing(
            label=mark.label or mark.name or "",
            outline=tuple((round(x, _DIGITS), round(y, _DIGITS)) for x, y in mark.outline or (mark.center,)),
            seen_s=seen.get(number),
        )
        for number, mark in enumerate(facts.landmarks)
    )
    if motion is None:
        return TopDownMap(things=things)
    times_s = np.array(motion.t_s, dtype=np.float64)
    points = np.column_stack([times_s, np.array(motion.enu_m, dtype=np.float64).reshape(-1, 3)[:, :2]])[times_s >= 0]
    path = tuple((round(t, _DIGITS), round(x, _DIGITS), round(y, _DIGITS)) for t, x, y in thinned(points).tolist())
    return TopDownMap(things=things, path=path)


def spatial(scene: FlightScene, geometry: Any) -> Spatial:
    """The flight; boxes are those about landmarks, whose own outlines stand at foot and top. Unknown heights are 0."""
    marks = scene.facts.landmarks
    corners = [_corners(mark) for mark in marks]
    low = np.array([points.min(0) for points in corners]).reshape(-1, 3)
    high = np.array([points.max(0) for points in corners]).reshape(-1, 3)
    labels = tuple(mark.label or mark.name or "" for mark in marks)
    boxes = SpatialBoxes(labels, (low + high) / 2, high - low, np.tile(np.eye(3), (len(marks), 1, 1)))
    rings = (half for mark, points in zip(marks, corners, strict=True) if mark.outline for half in np.split(points, 2))
    lines = tuple(np.concatenate([ring, ring[:1]]) for ring in rings)
    motion = scene.facts.motion
    path = np.column_stack([motion.t_s, motion.enu_m]) if motion and motion.t_s else np.empty((0, 4))
    return Spatial(boxes, lines, path[path[:, 0] >= 0])


def _corners(mark: Landmark) -> Any:
    """Its outline at the foot, then at the top; (2k, 3)."""
    ring = on_ground(np.array(mark.outline or (mark.center,), dtype=np.float64))
    base = mark.base_m or 0.0
    top = base if mark.top_m is None else mark.top_m
    return np.concatenate([ring + np.array([0.0, 0.0, height]) for height in (base, top)])


def sight(flights: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the videos show, in lines of Markdown."""
    return [
        f"- Facts about the {flights} flights come from logs and maps, not from pictures. Questions name landmarks",
        "  only where these show them to be in view. Questions that a model wrote carry `model_assisted`, and",
        "  `look_from_pictures` where it looked at landmarks in pictures of the video.",
    ]
