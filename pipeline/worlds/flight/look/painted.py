"""The thing shown at each pixel of a picture, by map and pose: prisms painted over one another, farthest first.

The order is that of their centres, which is exact for what stands in rows and about right elsewhere: what is read from
such a picture is held to limits that leave room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely
from PIL import Image, ImageDraw

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.geometry.bearings import picture_xy
from pipeline.geometry.tracks import Buildings
from pipeline.reading.maps.appearance import COLOURED
from pipeline.worlds.flight.facts import FlightCamera, Landmark
from pipeline.worlds.flight.observe.views import TALLEST_M, raised

Size = tuple[int, int]  # width and height of a picture, pixels
UNSURE: Final = -2  # in `painted`: something of unknown height may stand there
_EDGE: Final = 20.0  # half pictures from the middle: what reaches beyond is cut there
_SPLIT: Final = 6  # points along an edge of which an end lies behind the camera
_REACH_M: Final = 600.0  # farther things take no room in a picture


@dataclass(frozen=True)
class CameraEye:
    """A camera at a moment: ``enu_m`` (3,), compass heading, pitch (0 level, -90 down), degrees."""

    enu_m: FloatArray
    heading_deg: float
    pitch_deg: float
    camera: FlightCamera

    def pixels(self, points: FloatArray, size: Size) -> FloatArray:
        """Pixels (n, 2), right and down from the upper left corner, of points (n, 3); NaN behind the camera."""
        xy = picture_xy(
            self.enu_m,
            np.array(self.heading_deg),
            np.array(self.pitch_deg),
            points,
            self.camera.horizontal_fov_deg,
            self.camera.width / self.camera.height,
        )
        xy = np.clip(xy, -_EDGE, _EDGE)
        return np.stack([(1 + xy[:, 0]) / 2 * size[0], (1 - xy[:, 1]) / 2 * size[1]], axis=1)


@dataclass(frozen=True)
class Prisms:
    """Upright things: ``outlines`` (k, 2) each, ENU metres, ``base_m`` and ``top_m`` (P,).

    Of what has no known top, ``top_m`` is NaN: it surely covers its footprint, since whoever looks at the ground there
    sees the thing itself, and it may hide all that stands behind it up to ``hides_m`` above its foot.
    """

    outlines: tuple[FloatArray, ...]
    base_m: FloatArray
    top_m: FloatArray
    hides_m: float = 100.0

    @property
    def is_known(self) -> BoolArray:
        """Which have a known top (P,)."""
        return np.isfinite(self.top_m)

    @cached_property
    def center(self) -> FloatArray:
        """Middle of each footprint's extent (P, 2)."""
        middle = [(outline.min(0) + outline.max(0)) / 2 for outline in self.outlines]
        return np.array(middle, dtype=np.float64).reshape(-1, 2)

    @cached_property
    def _corners(self) -> tuple[FloatArray, IntArray]:
        """Corners of all prisms (n, 3), and whose they are (n,)."""
        rise = zip(self.outlines, self.base_m.tolist(), self._top_m.tolist(), strict=True)
        points = [raised(outline, (base, top)) for outline, base, top in rise]
        owner = np.repeat(np.arange(len(points)), [len(p) for p in points])
        return np.concatenate([np.empty((0, 3)), *points]), owner.astype(np.intp)

    @cached_property
    def _top_m(self) -> FloatArray:
        """Height up to which each surely stands (P,)."""
        return np.where(self.is_known, self.top_m, self.base_m)

    @cached_property
    def _at_most(self) -> Prisms:
        """Those without a known top, as high as they may be."""
        rows = np.flatnonzero(~self.is_known)
        base = self.base_m[rows]
        return Prisms(tuple(self.outlines[i] for i in rows), base, base + self.hides_m)

    def hidden_by(self, eye: CameraEye, size: Size) -> dict[int, FloatArray]:
        """The part of a picture that prisms without a known top show or may hide."""
        rows = np.flatnonzero(~self.is_known)
        return {int(rows[i]): ring for i, ring in self._at_most.far_to_near(eye, size)} if len(rows) else {}

    def far_to_near(self, eye: CameraEye, size: Size) -> list[tuple[int, FloatArray]]:
        """The prisms in a picture with what each covers of it (`ring`), by the distance of their centres."""
        away = np.hypot(*(self.center - eye.enu_m[:2]).T)
        points, owner = self._corners
        pixels = eye.pixels(points, size)
        known = np.isfinite(pixels).all(1)
        before, behind = (np.bincount(owner[side], minlength=len(away)) for side in (known, ~known))
        within = (before > 0) & (away <= _REACH_M)
        cut = np.flatnonzero(within & (behind > 0)).tolist()
        rings: dict[int, FloatArray] = {i: self.ring(i, eye, size) for i in cut}
        whole = within[owner] & (behind[owner] == 0)
        rings |= _hulls(pixels[whole], owner[whole])
        shown = {i for i, r in rings.items() if len(r) > 2 and (r.max(0) >= 0).all() and (r.min(0) <= size).all()}
        return [(i, rings[i]) for i in self.order(eye) if i in shown]

    def order(self, eye: CameraEye) -> list[int]:
        """All prisms, the farthest first."""
        away = np.hypot(*(self.center - eye.enu_m[:2]).T)
        found: list[int] = np.argsort(-away, kind="stable").tolist()
        return found

    def ring(self, index: int, eye: CameraEye, size: Size, part: tuple[float, float] = (0.0, 1.0)) -> FloatArray:
        """The outline of a prism in a picture: corners (k, 2) of the hull, pixels.

        Args:
            index: of the prism.
            eye: the camera.
            size: of the picture.
            part: of its height: (0, 0.45) is its lower part, (1, 1) its top.
        """
        base, rise = self.base_m[index], self._top_m[index] - self.base_m[index]
        heights = sorted({float(base + share * rise) for share in part})
        corners = eye.pixels(raised(self.outlines[index], heights), size)
        if np.isnan(corners).any() and not np.isnan(corners).all():
            corners = self._split(index, heights, eye, size)
        return hull(corners)

    def _split(self, index: int, heights: Sequence[float], eye: CameraEye, size: Size) -> FloatArray:
        """Points along the edges: where a corner lies behind the camera, much of the prism may be before it."""
        start = self.outlines[index]
        steps = np.linspace(0.0, 1.0, _SPLIT, endpoint=False)[:, None, None]
        along = (start + steps * (np.roll(start, -1, axis=0) - start)).reshape(-1, 2)
        low, high = heights[0], heights[-1]
        return eye.pixels(raised(along, np.linspace(low, high, _SPLIT).tolist()), size)


def hull(pixels: FloatArray) -> FloatArray:
    """Corners (k, 2) of the convex hull of pixels (n, 2), without those that are NaN; empty where it has no area."""
    known = pixels[np.isfinite(pixels).all(1)]
    return _hulls(known, np.zeros(len(known), dtype=np.intp)).get(0, np.empty((0, 2)))


def _hulls(pixels: FloatArray, owner: IntArray) -> dict[int, FloatArray]:
    """`hull` of the pixels (n, 2) of each owner (n,), which stand together; none where it has no area."""
    if not len(pixels):
        return {}
    names, index = np.unique(owner, return_inverse=True)
    shapes = shapely.convex_hull(shapely.multipoints(pixels, indices=index.ravel()))
    flat = shapely.get_type_id(shapes) != shapely.GeometryType.POLYGON
    corners, of = shapely.get_coordinates(shapes, return_index=True)
    cuts = np.flatnonzero(np.diff(of)) + 1
    return {
        int(name): ring[:-1]
        for name, ring, is_flat in zip(names.tolist(), np.split(corners, cuts), flat.tolist(), strict=True)
        if not is_flat
    }


def shrunk(ring: FloatArray, to: float) -> FloatArray:
    """An outline (k, 2) about its middle, so many times as large."""
    return ring if not len(ring) else ring.mean(0) + to * (ring - ring.mean(0))


def filled(ring: FloatArray, size: Size) -> BoolArray:
    """The pixels (h, w) within an outline (k, 2)."""
    picture = Image.new("1", size)
    if len(ring) > 2:
        ImageDraw.Draw(picture).polygon([(x, y) for x, y in ring.tolist()], fill=1)
    return np.asarray(picture, dtype=bool)


def painted(prisms: Prisms, eye: CameraEye, size: Size) -> npt.NDArray[np.int32]:
    """The number of the prism that each pixel (h, w) shows, from 0; -1 for none, `UNSURE` where one may hide others."""
    picture = Image.new("I", size, -1)
    draw, rings = ImageDraw.Draw(picture), dict(prisms.far_to_near(eye, size))
    hidden = prisms.hidden_by(eye, size)
    for index in prisms.order(eye):
        if index in hidden:
            draw.polygon([(x, y) for x, y in hidden[index].tolist()], fill=UNSURE)
        if index in rings:
            draw.polygon([(x, y) for x, y in rings[index].tolist()], fill=index)
    return np.asarray(picture, dtype=np.int32)


def area(ring: FloatArray) -> float:
    """Of an outline (k, 2), pixels, those beyond the picture's edges too."""
    return float(shapely.Polygon(ring).area) if len(ring) > 2 else 0.0


class PaintedThings(NamedTuple):
    """Landmarks by their indices, and the prisms of all that stands, theirs first."""

    landmarks: tuple[int, ...]
    prisms: Prisms


def things_of(landmarks: Sequence[Landmark], buildings: Buildings, ground_m: float) -> PaintedThings:
    """Prisms of things that may be asked about or hide others; ground at take-off is their foot if none is known."""
    asked = tuple(i for i, mark in enumerate(landmarks) if _is_askable(mark, ground_m))
    marks = [landmarks[i] for i in asked]
    rest = _other_buildings(marks, buildings)
    base = np.where(np.isnan(buildings.base_m[rest]), ground_m, buildings.base_m[rest])
    outlines = (*(np.array(mark.outline) for mark in marks), *(buildings.outlines[i] for i in rest))
    own_base = [ground_m if mark.base_m is None else mark.base_m for mark in marks]
    own_top = [np.nan if mark.top_m is None else mark.top_m for mark in marks]
    heights = np.concatenate([own_base, base]), np.concatenate([own_top, buildings.top_m[rest]])
    return PaintedThings(asked, Prisms(outlines, *heights, TALLEST_M))


def _is_askable(mark: Landmark, ground_m: float) -> bool:
    known = mark.outline is not None and len(mark.outline) > 2
    stands = mark.base_m is not None or np.isfinite(ground_m)
    return bool(known and mark.appearance and mark.appearance.noun in COLOURED and stands)


def _other_buildings(marks: Sequence[Landmark], buildings: Buildings) -> list[int]:
    """The buildings that are none of the landmarks."""
    if not buildings.outlines:
        return []
    rings = (outline if len(outline) > 2 else None for outline in buildings.outlines)
    shapes = np.array([shapely.make_valid(shapely.Polygon(ring)) for ring in rings], dtype=object)
    centers = shapely.points(np.array([mark.center for mark in marks], dtype=np.float64).reshape(-1, 2))
    own = set(shapely.STRtree(shapes).query(centers, predicate="intersects")[1].tolist()) if len(marks) else set()
    return [i for i in range(len(shapes)) if i not in own]
