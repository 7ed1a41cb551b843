"""A panorama as ERGeoBench's tasks see it: its objects, what views show of them, and views drawn by identity."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Final

import numpy as np
from numpy.random import Generator

from pipeline.benchmarks.ergeobench.aiming import extents, half_width_deg, looking, outlines, wrapped
from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.identity import rng_for
from pipeline.geometry.views import View
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.panorama.facts import Panorama, PanoramaScene, Seen

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
        self.objects: tuple[Seen, ...] = self.facts.objects
        self._shows: dict[View, tuple[BoolArray, BoolArray]] = {}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each object is called."""
        return tuple(seen.label for seen in self.objects)

    def of_label(self, label: str) -> IntArray:
        """Indices of the objects of a label, whatever is in doubt about them."""
        return np.flatnonzero(np.array([own == label for own in self.labels], dtype=bool))

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
        height_deg = seen.pitch_high_deg - seen.pitch_low_deg
        found = [
            rule("object_in_doubt", float(seen.doubt is not None), "<=", 0, "doubts"),
            rule("too_small_to_tell", min(seen.width_deg, height_deg), ">=", rules.apparent_min_deg, "deg"),
            rule("too_wide_for_a_place", seen.width_deg, "<=", rules.apparent_max_deg, "deg"),
        ]
        if seen.kind is not None:
            found += self.legible(i)
        if seen.visible_share is not None:
            found.append(rule("occluded", seen.visible_share, ">=", rules.visible_share_min, "share"))
        if is_named:
            is_complete = float(seen.label in self.facts.complete)
            found.append(rule("label_not_complete", is_complete, ">=", 1, "labels of which all are known"))
        return tuple(found)

    def legible(self, i: int) -> tuple[Measure, ...]:
        """Whether its name can be read, where it has one."""
        seen = self.objects[i]
        letters = len(seen.name or "")
        limit = self.rules.letter_min_deg
        return (rule("letters_too_small", seen.width_deg / letters, ">=", limit, "deg"),) if letters else ()

    def usable(self, i: int) -> bool:
        """Whether it can be asked about by its label."""
        return all(measure.holds for measure in self.measures(i))

    def whole(self, shot: View) -> BoolArray:
        """Which objects (n,) a view shows from edge to edge."""
        return self._seen(shot)[0]

    def touched(self, shot: View) -> BoolArray:
        """Which objects (n,) a view may show any part of: all whose yaws it reaches, at whatever height."""
        return self._seen(shot)[1]

    def _seen(self, shot: View) -> tuple[BoolArray, BoolArray]:
        if shot not in self._shows:
            yaw, width, _, _ = self.boxes.T
            found = extents(self.outlines, shot)
            with np.errstate(invalid="ignore"):
                whole = np.abs(found).max(axis=1, initial=0.0) <= 1 - self.rules.edge_margin
            gap_deg = np.abs(wrapped(yaw - shot.yaw_deg)) - width / 2 - half_width_deg(shot)
            self._shows[shot] = whole, gap_deg < self.rules.apart_deg
        return self._shows[shot]

    def extent(self, i: int, shot: View) -> FloatArray:
        """Leftmost and rightmost x, lowest and highest y (4,) of an object in a view."""
        return np.asarray(extents(self.outlines[i : i + 1], shot)[0])

    def is_lone(self, i: int, shot: View) -> bool:
        """Whether a view shows all of an object and nothing of another of its label."""
        same = self.of_label(self.labels[i])
        return bool(self.whole(shot)[i]) and int(self.touched(shot)[same].sum()) == 1

    def first_lone(self, i: int, shots: Iterable[View]) -> View | None:
        """The first of some views that shows an object so."""
        return next((shot for shot in shots if self.is_lone(i, shot)), None)

    @cached_property
    def level(self) -> tuple[View, ...]:
        """Views all around, 10 degrees apart, from a drawn yaw on."""
        start = round(float(rng_for(self.scene.id, "views around").uniform(0, 360 / TURNS)), 2)
        return tuple(looking(start + 360 / TURNS * k) for k in range(TURNS))

    @cached_property
    def around(self) -> tuple[View, ...]:
        """Declared views, then the level ones in a drawn order."""
        order = rng_for(self.scene.id, "order of views").permutation(TURNS).tolist()
        told = sorted(self.facts.views, key=lambda own: own.name)
        declared = [View(yaw_deg=own.yaw_deg, pitch_deg=own.pitch_deg, fov_deg=own.fov_deg) for own in told]
        return (*declared, *(self.level[k] for k in order))

    def towards(self, yaw_deg: float, low_deg: float, high_deg: float, rng: Generator) -> list[View]:
        """The level views, in a drawn order, in which a yaw lies so far to the right of the middle."""
        middle, half = (low_deg + high_deg) / 2, (high_deg - low_deg) / 2
        off = [abs(float(wrapped(yaw_deg - shot.yaw_deg - middle))) for shot in self.level]
        fitting = [shot for shot, own in zip(self.level, off, strict=True) if own <= half]
        return [fitting[k] for k in rng.permutation(len(fitting)).tolist()]

    @cached_property
    def doubts(self) -> frozenset[str]:
        """What of the panorama is in doubt, by the subjects of its findings."""
        return frozenset(f.subject for f in self.scene.findings if f.severity == "doubt")

    @property
    def is_out_of_distribution(self) -> bool:
        """Whether it is of the set that geo-localization alone is asked of."""
        return self.rules.ood_tag in self.facts.tags
