"""A panorama as ERGeoBench's tasks see it: its objects, what views show of them, and views drawn by identity.

A view looks along (yaw, pitch) without roll. In it x runs to the right and y up, both in halves of the picture: the
edges are at -1 and 1. Angles in degrees, yaw clockwise.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.random import Generator

from pipeline.benchmarks.benchmark import PictureMark
from pipeline.benchmarks.ergeobench.images import FOV_DEG, pictures_of
from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table
from pipeline.geometry.angles import wrapped_deg
from pipeline.geometry.views import PinholeView, turned_deg
from pipeline.questions.gate import ShownScene, alike
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.panorama.facts import Panorama, PanoramaLandmark, PanoramaObject, PanoramaScene

_SIZES: Final = load_table("city/looks")["sizes"]
# Kinds of places that one knows by their front and by no name: usual width over height.
FRONTS: Final = {kind: _SIZES[noun][0] / _SIZES[noun][2] for kind, noun in (("bus_stop", "bus stop"),)}
EYE_M: Final = 2.5  # above the ground, where the camera's height is not known
TOP_DEG: Final = 25.0  # of a landmark: it is known by what is below, and may go on beyond a level view
TURNS: Final = 36  # level views of a panorama: questions share them, so that few pictures show much


class ErgeoView:
    """One panorama. Objects are spoken of by their index.

    Args:
        scene: of the world "panorama".
        rules: the limits.
    """

    def __init__(self, scene: PanoramaScene, rules: ErgeoRules) -> None:
        self.scene, self.rules = scene, rules
        self.facts: Panorama = scene.facts
        self.landmarks = {f"map {own.id}": own for own in self.facts.landmarks}
        self.objects: tuple[PanoramaObject, ...] = (*self.facts.objects, *self._mapped())
        self._shows: dict[PinholeView, tuple[BoolArray, BoolArray]] = {}
        self._may_be: dict[str, IntArray] = {}

    def _mapped(self) -> Iterator[PanoramaObject]:
        """Landmarks of the map as objects: wider to both sides by what their yaw may be off; none without a heading."""
        heading = self.facts.heading_deg
        if heading is None:
            return
        for key, own in self.landmarks.items():
            low = math.degrees(math.atan2(-(self.facts.camera_height_m or EYE_M), max(own.distance_m, 1.0)))
            yield PanoramaObject(
                id=key,
                label=f"{own.noun} named {own.name}",
                name=own.name,
                yaw_deg=round(float(wrapped_deg(own.bearing_deg - heading)), 2),
                width_deg=min(own.width_deg + 2 * (own.error_deg + self.rules.heading_error_deg), 360.0),
                pitch_low_deg=low,
                pitch_high_deg=max(min(own.top_deg, TOP_DEG), low),
                visible_share=own.visible_share,
                doubt=own.doubt,
                source_tags={"yaw_deg": "map"},
            )

    def error_deg(self, i: int) -> float:
        """By how much the yaw of an object's middle may be off: 0 of what was marked in the picture."""
        own = self.landmarks.get(self.objects[i].id)
        return 0.0 if own is None else own.error_deg + self.rules.heading_error_deg

    def mapped(self, own: PanoramaLandmark, *, needs_north: bool = True) -> tuple[Measure, ...]:
        """Whether a landmark of the map can be asked about.

        Args:
            own: the landmark.
            needs_north: whether its direction matters.
        """
        rules, doubts = self.rules, {"position", "picture", *(("heading", "level") if needs_north else ())}
        low = math.degrees(math.atan2(-(self.facts.camera_height_m or EYE_M), max(own.distance_m, 1.0)))
        size = min(own.width_deg, own.top_deg - low)
        found = [
            rule("place_in_doubt", float(len(self.doubts & doubts)), "<=", 0, "doubts"),
            rule("object_in_doubt", float(own.doubt is not None), "<=", 0, "doubts"),
            rule("occluded", own.visible_share, ">=", rules.visible_share_min, "share"),
            # That the map has the buildings about, or that none has room before this one.
            rule(
                "map_coverage_low",
                max(self.facts.map_coverage or 0.0, own.open_share),
                ">=",
                rules.map_coverage_min,
                "share",
            ),
            rule("too_small_to_tell", size, ">=", rules.apparent_min_deg, "deg"),
        ]
        if own.is_premises:
            found.append(self._letters(own.width_deg, own.name))
        if needs_north:
            error_deg = own.error_deg + rules.heading_error_deg
            found.append(rule("too_wide_for_a_place", own.width_deg, "<=", rules.apparent_max_deg, "deg"))
            found.append(rule("bearing_unsure", error_deg, "<=", rules.bearing_error_max_deg, "deg"))
        return tuple(found)

    @cached_property
    def shown(self) -> ShownScene:
        """The panorama, or views out of it."""
        seen = ("kind", "look", "side", "nearness", "place", "yaw", "region")
        return ShownScene("panorama", dict.fromkeys(seen, 0.0), frozenset(self.facts.complete))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each object."""
        return tuple(seen.label for seen in self.objects)

    def of_label(self, label: str) -> IntArray:
        """Indices of the objects of a label, whatever is in doubt about them."""
        return np.flatnonzero(np.array([own == label for own in self.labels], dtype=bool))

    def may_be(self, label: str) -> IntArray:
        """Indices of the objects that people may call by a label: its own, and a palm tree where it is "tree"."""
        if label not in self._may_be:
            fits = {own: own == label or alike(own, label) for own in set(self.labels)}
            self._may_be[label] = np.flatnonzero(np.array([fits[own] for own in self.labels], dtype=bool))
        return self._may_be[label]

    @cached_property
    def boxes(self) -> FloatArray:
        """Middle yaw, width, lowest and highest pitch (n, 4), degrees."""
        rows = [(o.yaw_deg, o.width_deg, o.pitch_low_deg, o.pitch_high_deg) for o in self.objects]
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    @cached_property
    def outlines(self) -> FloatArray:
        """Unit vectors (n, k, 3) to points along the sides of the boxes."""
        yaw, width, low, high = self.boxes.T
        return outlines(yaw, width, low, high)

    @cached_property
    def distances_m(self) -> FloatArray:
        """(n,); NaN where it is not known."""
        known = [np.nan if o.distance_m is None else o.distance_m for o in self.objects]
        return np.array(known, dtype=np.float64)

    def measures(self, i: int, *, is_named: bool = True) -> tuple[Measure, ...]:
        """Whether an object can be asked about at all.

        Args:
            i: its index.
            is_named: whether its label must tell which one is meant, so that all of the label must be known.
        """
        seen, rules = self.objects[i], self.rules
        if (own := self.landmarks.get(seen.id)) is not None:
            return self.mapped(own)
        height_deg = seen.pitch_high_deg - seen.pitch_low_deg
        found = [
            rule("object_in_doubt", float(seen.doubt is not None), "<=", 0, "doubts"),
            rule("too_small_to_tell", min(seen.width_deg, height_deg), ">=", rules.apparent_min_deg, "deg"),
            rule("too_wide_for_a_place", seen.width_deg, "<=", rules.apparent_max_deg, "deg"),
        ]
        if seen.agreement is not None:
            found.append(rule("models_disagree", seen.agreement, ">=", rules.agreement_min, "of both boxes", seen.id))
        if seen.kind is not None:
            found += self.legible(i)
        if seen.kind in FRONTS:  # from aside it is a narrow box
            front = seen.width_deg / max(height_deg, 1e-9) / FRONTS[seen.kind]
            found.append(rule("seen_edge_on", front, ">=", rules.front_share_min, "of its usual width over height"))
        if seen.visible_share is not None:
            # What its sign tells is not told by half of it.
            least = rules.visible_share_min if seen.kind is None else rules.poi_visible_share_min
            found.append(rule("occluded", seen.visible_share, ">=", least, "share"))
        if is_named:
            is_complete = float(seen.label in self.facts.complete)
            found.append(rule("label_not_complete", is_complete, ">=", 1, "complete labels"))
        return tuple(found)

    def legible(self, i: int) -> tuple[Measure, ...]:
        """Whether its name can be read, where it has one."""
        seen = self.objects[i]
        if seen.name and seen.read_share is not None:
            return (rule("sign_not_read", seen.read_share, ">=", self.rules.read_share_min, "share of its letters"),)
        return (self._letters(seen.width_deg, seen.name),) if seen.name else ()

    def _letters(self, width_deg: float, name: str) -> Measure:
        return rule("letters_too_small", width_deg / len(name), ">=", self.rules.letter_min_deg, "deg")

    def usable(self, i: int) -> bool:
        """Whether it can be asked about by its label."""
        return all(measure.holds for measure in self.measures(i))

    def shown_whole(self, shot: PinholeView) -> BoolArray:
        """Which objects (n,) a view shows from edge to edge."""
        return self._visible_in(shot)[0]

    def touched(self, shot: PinholeView) -> BoolArray:
        """Which objects (n,) a view may show any part of: all whose yaws it reaches, at whatever height."""
        return self._visible_in(shot)[1]

    def _visible_in(self, shot: PinholeView) -> tuple[BoolArray, BoolArray]:
        if shot not in self._shows:
            yaw, width, _, _ = self.boxes.T
            found = extents(self.outlines, shot)
            with np.errstate(invalid="ignore"):
                whole = np.abs(found).max(axis=1, initial=0.0) <= 1 - self.rules.edge_margin
            gap_deg = np.abs(wrapped_deg(yaw - shot.yaw_deg)) - width / 2 - half_width_deg(shot)
            self._shows[shot] = whole, gap_deg < self.rules.apart_deg
        return self._shows[shot]

    def extent(self, i: int, shot: PinholeView) -> FloatArray:
        """Leftmost and rightmost x, lowest and highest y (4,) of an object in a view."""
        return np.asarray(extents(self.outlines[i : i + 1], shot)[0])

    def is_lone(self, i: int, shot: PinholeView) -> bool:
        """Whether a view shows all of an object and nothing of another that its label may mean."""
        same = self.may_be(self.labels[i])
        return bool(self.shown_whole(shot)[i]) and int(self.touched(shot)[same].sum()) == 1

    def first_lone(self, i: int, shots: Iterable[PinholeView]) -> PinholeView | None:
        """The first of some views that shows an object so."""
        return next((shot for shot in shots if self.is_lone(i, shot)), None)

    @cached_property
    def level(self) -> tuple[PinholeView, ...]:
        """Views all around, 10 degrees apart, from a drawn yaw on."""
        start = round(float(rng_for(self.scene.id, "views around").uniform(0, 360 / TURNS)), 2)
        return tuple(standard_view(start + 360 / TURNS * k) for k in range(TURNS))

    @cached_property
    def around(self) -> tuple[PinholeView, ...]:
        """Declared views, then the level ones in a drawn order."""
        order = rng_for(self.scene.id, "order of views").permutation(TURNS).tolist()
        views = sorted(self.facts.views, key=lambda own: own.name)
        declared = [PinholeView(yaw_deg=own.yaw_deg, pitch_deg=own.pitch_deg, fov_deg=own.fov_deg) for own in views]
        return (*declared, *(self.level[k] for k in order))

    def towards(self, yaw_deg: float, low_deg: float, high_deg: float, rng: Generator) -> list[PinholeView]:
        """The level views, in a drawn order, in which a yaw lies so far to the right of the middle."""
        middle, half = (low_deg + high_deg) / 2, (high_deg - low_deg) / 2
        off = [abs(float(wrapped_deg(yaw_deg - shot.yaw_deg - middle))) for shot in self.level]
        fitting = [shot for shot, own in zip(self.level, off, strict=True) if own <= half]
        return [fitting[k] for k in rng.permutation(len(fitting)).tolist()]

    @cached_property
    def doubts(self) -> frozenset[str]:
        """Subjects of the panorama's doubts."""
        return frozenset(f.subject for f in self.scene.findings if f.severity == "doubt")

    @property
    def is_out_of_distribution(self) -> bool:
        """Whether it is of the set that geo-localization alone is asked of."""
        return self.rules.ood_tag in self.facts.tags


def marks_of(view: ErgeoView, row: Mapping[str, Any]) -> dict[str, tuple[PictureMark, ...]]:
    """What a question means, in each of its views (file -> marks) that shows any of it, by boxes.

    Its objects; of one that names none, all that have the label or name that it asks about or that is its answer.
    """
    operands = dict.fromkeys(row["operands"] or ())
    places, named = {seen.id: i for i, seen in enumerate(view.objects)}, {*operands, row["answer"]}
    members = [places[name] for name in operands if name in places]
    members = members or [i for i, seen in enumerate(view.objects) if named & {seen.label, seen.name}]
    found: dict[str, tuple[PictureMark, ...]] = {}
    for file, shot in pictures_of(row):
        if isinstance(shot, PinholeView) and members:
            sides = np.clip((extents(view.outlines[members], shot) + 1) / 2, 0.0, 1.0)  # NaN stays: behind the camera
            found[file] = tuple(
                PictureMark(view.labels[i], left, 1 - high, right - left, high - low)
                for i, (left, right, low, high) in zip(members, sides.round(4).tolist(), strict=True)
                if right > left and high > low
            )
    return found


AHEAD_MIN: Final = 1e-6  # of a unit vector: what is less ahead is behind or beside the camera
_STEPS: Final = 9  # points along each side of an object's box, whose edges are curved in a view


def half_tangents(view: PinholeView) -> tuple[float, float]:
    """Tangents of the half angles of view across and down."""
    return view.width / 2 / view.focal_px, view.height / 2 / view.focal_px


def outlines(yaw_deg: FloatArray, width_deg: FloatArray, low_deg: FloatArray, high_deg: FloatArray) -> FloatArray:
    """Unit vectors (n, k, 3) to points along the sides of boxes of yaws and pitches (n,): right, ahead, up at yaw 0."""
    along = np.linspace(-0.5, 0.5, _STEPS)
    ends = np.full(_STEPS, 0.5)
    across, rise = np.concatenate([along, along, -ends, ends]), np.concatenate([-ends, ends, along, along])
    yaw = np.radians(yaw_deg[:, None] + width_deg[:, None] * across)
    pitch = np.radians((low_deg + high_deg)[:, None] / 2 + (high_deg - low_deg)[:, None] * rise)
    level = np.cos(pitch)
    return np.stack([level * np.sin(yaw), level * np.cos(yaw), np.sin(pitch)], axis=-1)


def extents(outline: FloatArray, view: PinholeView) -> FloatArray:
    """Leftmost and rightmost x, lowest and highest y (n, 4) of `outlines` (n, k, 3); NaN: partly behind the camera."""
    yaw, tilt = math.radians(view.yaw_deg), math.radians(view.pitch_deg)
    right, ahead, up = np.moveaxis(outline, -1, 0)
    level = ahead * math.cos(yaw) + right * math.sin(yaw)
    forward = level * math.cos(tilt) + up * math.sin(tilt)
    across, down = half_tangents(view)
    there = np.where(forward > AHEAD_MIN, forward, np.nan)
    x = (right * math.cos(yaw) - ahead * math.sin(yaw)) / (there * across)
    y = (up * math.cos(tilt) - level * math.sin(tilt)) / (there * down)
    return np.stack([x.min(1), x.max(1), y.min(1), y.max(1)], axis=-1)


def half_width_deg(view: PinholeView) -> float:
    """Yaw from a view's middle to the farthest that it shows, at any height: in tilted views a corner."""
    across, down = half_tangents(view)
    tilt = abs(math.radians(view.pitch_deg))
    ahead = math.cos(tilt) - down * math.sin(tilt)
    return 180.0 if ahead <= 0 else math.degrees(math.atan2(across, ahead))


def aimed(yaw_deg: float, pitch_deg: float, x: float, y: float) -> PinholeView | None:
    """The view of `FOV_DEG` in which a direction lies at (x, y); None where no tilt brings it there."""
    across, down = half_tangents(standard_view(0.0))
    right, up = x * across, y * down
    length = math.sqrt(1 + right**2 + up**2)
    radius = math.hypot(up, 1.0) / length  # of the part that tilting moves
    height = math.sin(math.radians(pitch_deg))
    if abs(height) > radius:
        return None
    tilt = math.asin(height / radius) - math.atan2(up, 1.0)
    ahead = (math.cos(tilt) - up * math.sin(tilt)) / length
    turn = math.degrees(math.atan2(right / length, ahead))
    return standard_view(yaw_deg - turn, math.degrees(tilt))


def standard_view(yaw_deg: float, pitch_deg: float = 0.0) -> PinholeView:
    """A view of `FOV_DEG`, to hundredths of a degree: what is told of it is then all of it."""
    return PinholeView(
        yaw_deg=turned_deg(round(turned_deg(yaw_deg), 2)), pitch_deg=round(pitch_deg, 2) + 0.0, fov_deg=FOV_DEG
    )
