"""Landmarks that can be named, distances between them (ENU metres, over ground), and their names as labels."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Rejection
from pipeline.worlds.flight.facts import Flight, Landmark, Shot

# In labels, between a thing and what it stands beside, or is the nearest of its kind to.
BESIDE, NEAREST_TO = RELATIONS = (" beside ", " nearest to ")
LEAST_M: Final = 1.0  # distances are compared as ratios: nearer than this, one is there
_EXACT: Final = 32  # nearest places whose footprints are looked at in any case
_SURE: Final = 4.0  # and those up to so many times as far as the nearest: above any ratio asked for


@dataclass(frozen=True)
class NamedLandmark:
    """A landmark that can be named.

    Attributes:
        index: among the flight's landmarks.
        label: how to speak of it, no other's here.
        name: as in the source.
        center: (2,).
        radius_m: of the smallest circle about it.
        outline: (k, 2) corners of its footprint, or None: the circle stands for it.
        base_m: height of its foot; NaN if unknown.
        top_m: height of its top; NaN if unknown.
    """

    index: int
    label: str
    name: str | None
    center: FloatArray
    radius_m: float
    outline: FloatArray | None
    base_m: float
    top_m: float

    @property
    def footprint(self) -> FloatArray:
        """Its outline (k, 2), or 24 corners of the circle that stands for it, of half a metre's radius at least."""
        if self.outline is not None:
            return self.outline
        turn = np.linspace(0, 2 * np.pi, 24, endpoint=False)
        return np.asarray(self.center + max(self.radius_m, 0.5) * np.column_stack([np.cos(turn), np.sin(turn)]))

    def nearest_m(self, point: FloatArray) -> FloatArray:
        """The point (2,) of its footprint that is nearest to a point."""
        if self.outline is None:
            offset = point - self.center
            away = max(float(np.hypot(*offset)), 1e-9)
            return np.asarray(self.center + offset * min(self.radius_m / away, 1.0))
        nearest = shapely.shortest_line(shapely.Polygon(self.outline), shapely.Point(point))
        return np.asarray(nearest.coords)[0]

    def distance_m(self, points: FloatArray) -> FloatArray:
        """Distance (n,) over ground of points (n, 2 or 3) to its footprint; 0 within, NaN of an unknown point."""
        if self.outline is not None:
            found, known = np.full(len(points), np.nan), np.isfinite(points[:, :2]).all(1)
            found[known] = shapely.distance(shapely.Polygon(self.outline), shapely.points(points[known, :2]))
            return found
        away = np.hypot(points[:, 0] - self.center[0], points[:, 1] - self.center[1])
        return np.maximum(away - self.radius_m, 0.0)

    def gap_m(self, other: NamedLandmark) -> float:
        """Distance between two footprints that do not cross."""
        away = [
            b.distance_m(a.center[None]) - a.radius_m if a.outline is None else b.distance_m(a.outline)
            for a, b in ((self, other), (other, self))
        ]
        return min(float(np.maximum(one, 0.0).min()) for one in away)

    def bound_m(self, other: NamedLandmark) -> float:
        """Distance between the circles about the two: never more than `gap_m`."""
        return max(0.0, float(np.hypot(*(self.center - other.center))) - self.radius_m - other.radius_m)


def anchor_in(label: str) -> str:
    """The label of the thing by whose place a label tells another: "" where it tells of none."""
    return next((label.partition(words)[2] for words in RELATIONS if words in label), "")


def place_of(index: int, mark: Landmark, label: str) -> NamedLandmark:
    """A landmark under a label."""
    return NamedLandmark(
        index=index,
        label=label,
        name=mark.name,
        center=np.array(mark.center),
        radius_m=mark.radius_m,
        outline=np.array(mark.outline) if mark.outline and len(mark.outline) >= 3 else None,
        base_m=np.nan if mark.base_m is None else mark.base_m,
        top_m=np.nan if mark.top_m is None else mark.top_m,
    )


def nameable(landmarks: Sequence[Landmark], doubted: Collection[str]) -> Places:
    """Landmarks with a label of their own on one line, sorted by it, without those that are in doubt.

    What is told by the place of something else is in doubt with that.
    """
    count = Counter(mark.label.casefold() for mark in landmarks if mark.label)
    unsure = {mark.label for mark in landmarks if {mark.label, mark.name} & set(doubted)}
    return Places(
        place_of(index, mark, mark.label)
        for index, mark in enumerate(landmarks)
        if mark.label
        and count[mark.label.casefold()] == 1
        and mark.label == " ".join(mark.label.split())
        and not {mark.label, anchor_in(mark.label)} & unsure
    )


class Places(tuple[NamedLandmark, ...]):
    """Nameable landmarks, sorted by label.

    Cities have thousands of them. So distances are those of footprints where it matters, among the nearest, and those
    of the circles about them elsewhere, which are never greater.
    """

    def __new__(cls, places: Iterable[NamedLandmark]) -> Places:
        """Sorted."""
        return super().__new__(cls, sorted(places, key=lambda place: place.label))

    @cached_property
    def center(self) -> FloatArray:
        """(P, 2)."""
        return np.array([place.center for place in self], dtype=np.float64).reshape(-1, 2)

    @cached_property
    def radius_m(self) -> FloatArray:
        """(P,)."""
        return np.array([place.radius_m for place in self], dtype=np.float64)

    def approach_m(self, points: FloatArray) -> FloatArray:
        """Distance (P,) of each place to the nearest of the points (n, 2 or 3)."""
        away = np.hypot(*np.moveaxis(points[None, :, :2] - self.center[:, None], -1, 0)).min(1)
        return _refined(np.maximum(away - self.radius_m, 0.0), lambda i: float(self[i].distance_m(points).min()))

    def gaps_m(self, place: int) -> FloatArray:
        """Distance (P,) of each place to one of them; infinite to itself."""
        away = np.hypot(*(self.center - self.center[place]).T)
        bound = np.maximum(away - self.radius_m - self.radius_m[place], 0.0)
        bound[place] = np.inf
        return _refined(bound, lambda i: np.inf if i == place else self[place].gap_m(self[i]))

    def named(self, words: str) -> int | None:
        """The place that these words name: its label, or a name that no other has."""
        wanted = words.strip().casefold()
        by_label = [i for i, place in enumerate(self) if place.label.casefold() == wanted]
        found = by_label or [i for i, place in enumerate(self) if place.name and place.name.casefold() == wanted]
        return found[0] if len(found) == 1 else None

    def anchor(self, place: int) -> int | None:
        """The thing by whose place the words for a place tell it, or None."""
        return self._anchors.get(place)

    @cached_property
    def _anchors(self) -> dict[int, int]:
        by_label = {place.label: i for i, place in enumerate(self)}
        beside = {i: anchor_in(place.label) for i, place in enumerate(self)}
        return {i: by_label[label] for i, label in beside.items() if label in by_label}

    def tied(self, a: int, b: int) -> bool:
        """Whether the words for one of two places tell it by the place of the other."""
        return self.anchor(a) == b or self.anchor(b) == a

    def nearest(
        self, distance_m: FloatArray, unspoken_m: Sequence[float] | FloatArray = ()
    ) -> tuple[int, float, float]:
        """The nearest place of distances (P,), how far it is, and how many times as far the second is.

        A place nearer than `LEAST_M` counts as that far; with one place alone the ratio is infinite. One of the things
        that no words tell, and that are seen all the same, may be the second (``unspoken_m``: their distances).
        """
        first = int(distance_m.argmin())
        second = min([*np.delete(distance_m, first).tolist(), *unspoken_m], default=np.inf)
        return first, float(distance_m[first]), second / max(float(distance_m[first]), LEAST_M)


def _refined(bound_m: FloatArray, exact_m: Callable[[int], float]) -> FloatArray:
    """Lower bounds (P,) of distances, with the exact ones of the nearest places in their stead."""
    distance, smallest = bound_m.copy(), np.inf
    for done, i in enumerate(np.argsort(bound_m, kind="stable").tolist()):
        if done >= _EXACT and bound_m[i] > _SURE * max(smallest, LEAST_M):
            break
        distance[i] = exact_m(i)
        smallest = min(smallest, distance[i])
    return distance


def shot_of(flight: Flight, landmark: int, end_s: float) -> Shot | None:
    """The best picture of a landmark, given by its index, in a video that ends at some second."""
    views = flight.motion.views if flight.motion and flight.motion.views else ()
    return next((v.shot for v in views if v.landmark == landmark and v.shot and 0 <= v.shot.second < end_s), None)


def by_name(flight: Flight, end_s: float, share_min: float) -> Flight:
    """The flight with names for labels, of landmarks that a picture can introduce; goal and route in these names.

    Args:
        flight: with its motion and its labels observed.
        end_s: of the video.
        share_min: of the picture, which the best shot of a landmark takes at least (`Shot.share`).
    """
    count = Counter(mark.name.casefold() for mark in flight.landmarks if mark.name)
    landmarks, names = [], {}
    for index, mark in enumerate(flight.landmarks):
        refused = _refused(flight, index, end_s, share_min, count)
        name = mark.name if refused is None else None
        landmarks.append(mark.model_copy(update={"label": name, "proof": (), "unnameable_reason": refused}))
        if mark.label and name:
            names[mark.label] = name
    labels = sorted(names, key=lambda label: (-len(label), label))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, labels))})(?!\w)")
    route = tuple(pattern.sub(lambda said: names[said[0]], step) if names else step for step in flight.route)
    goal = names.get(flight.goal, flight.goal) if flight.goal else None
    return flight.model_copy(update={"landmarks": tuple(landmarks), "goal": goal, "route": route})


def _refused(flight: Flight, index: int, end_s: float, share_min: float, count: Counter[str]) -> Rejection | None:
    name = flight.landmarks[index].name
    if not name:
        return Rejection(reason="no_name", measured=None, limit=None, unit=None)
    if count[name.casefold()] > 1:
        return Rejection(reason="name_not_unique", measured=count[name.casefold()], limit=1, unit="landmarks")
    shot = shot_of(flight, index, end_s)
    if shot is None:
        return Rejection(reason="no_good_picture", measured=0, limit=1, unit="pictures")
    if shot.share < share_min:
        return Rejection(reason="too_small_in_picture", measured=round(shot.share, 3), limit=share_min, unit="share")
    return None
