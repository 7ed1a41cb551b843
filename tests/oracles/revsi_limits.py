"""The limits of ReVSI's generator, and the answers to its types, from boxes alone; nothing is imported from `pipeline`.

Closest points by bounded least squares, outlines from above by polygons, directions by complex numbers. The limits are
typed from the description of ReVSI's public generator, not read from the project's tables.
"""

from __future__ import annotations

import cmath
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import shapely
from scipy.optimize import lsq_linear

from tests.oracles.scan_answers import SECTORS, Box, _corners, _decimal, _outline

NEVER_COUNTED = ["window", "bi-fold door", "light switch", "blinds", "roller blind", "shoes", "slippers", "clothes"]
CHALLENGING = ["nightstand", "chair", "trash can", "door", "table", "pillow", "table lamp", "backpack", "desk"]
NEVER_SIZED = ["bed", "door", "toilet", "laptop", "cup", "washing machine"]  # those of its list that are quoted
MOST = {
    "object_counting_multiple": 3,
    "object_size_estimation": 6,
    "object_abs_distance": 5,
    "object_rel_distance_closest": 9,
    "object_rel_distance_farthest": 7,
}
DIRECTIONS = (
    r"If I am standing by the (.+?) and facing (in the opposite direction of )?the (.+?), is the (.+?) to my (.+?)\?"
)
WORDS = {
    "object_counting_single": r"How many (.+)\(s\) are in the scene\?",
    "object_counting_multiple": r"How many (.+)\(s\) and (.+)\(s\) are in the scene in total\?",
    "object_size_estimation": r"What is the length of the longest dimension .*? of the (.+), measured in centimeters\?",
    "object_abs_distance": r"Measuring .*?, what is the distance between the (.+) and the (.+) \(in meters\)\?",
    "object_rel_distance_closest": r"Measuring .*?, which of these objects \((.+)\) is the closest to the (.+)\?",
    "object_rel_distance_farthest": r"Measuring .*?, which of these objects \((.+)\) is the farthest from the (.+)\?",
}


class LimitScene:
    """One scene: boxes by name, how many of each name there are, and the area of the floor."""

    def __init__(
        self,
        boxes: Iterable[tuple[str, Box]],
        counts: Mapping[str, int] | None = None,
        area: float | None = None,
        kind: str = "all_room",
    ) -> None:
        self.boxes: dict[str, list[Box]] = {}
        for name, box in boxes:
            self.boxes.setdefault(name, []).append(box)
        self.counts = dict(counts) if counts is not None else {name: len(own) for name, own in self.boxes.items()}
        self.area, self.kind = area, kind
        self._apart = lru_cache(None)(self._apart_m)

    @classmethod
    def annotated(cls, raw: Mapping[str, Any]) -> LimitScene:
        """Of a scene of ``3d_annotation.json``."""
        boxes = [
            (
                o["name"],
                Box(*(np.array(o["obb"][k], float) for k in ("center", "extent")), np.array(o["obb"]["rotation"]).T),
            )
            for o in raw["objects"]
        ]
        drawn = raw.get("scene_area_2d_polygon")
        area = shapely.Polygon(drawn).area if drawn else None
        return cls(boxes, None, area, str(raw.get("scene_area_type")))

    @classmethod
    def released(cls, raw: Mapping[str, Any]) -> LimitScene:
        """Of a scene of VSI-Bench's unified metadata."""
        boxes = [
            (
                name,
                Box(
                    *(np.array(b[k], float) for k in ("centroid", "axesLengths")),
                    np.reshape(b["normalizedAxes"], (3, 3)),
                ),
            )
            for name, own in raw["object_bbox"].items()
            for b in own
        ]
        return cls(boxes, raw["object_counts"], raw["room_size"])

    def broken(self, row: Mapping[str, Any]) -> list[str]:
        """What a released question breaks: limits, its answer, its options."""
        kind, text, truth = row["question_type"], row["question"], row["ground_truth"]
        options = {o[0]: o[3:] for o in row["options"] or ()}
        said = options[truth] if options else truth
        if kind.startswith("room_size"):
            right = _decimal(self.area, 1) if self.area else None
            wanted = kind.endswith("multiple")
            return [*(["answer"] if said != right else []), *(["kind"] if wanted != (self.kind == "all_room") else [])]
        if kind.startswith("object_rel_direction"):
            return self._direction(kind, re.match(DIRECTIONS, text), options, said)
        found = re.fullmatch(WORDS[kind], " ".join(text.split()))
        if found is None:
            return ["wording"]
        return getattr(self, f"_{kind.removeprefix('object_').split('_')[0]}_{kind.rsplit('_', 1)[-1]}")(
            found.groups(), options, said
        )

    def _counting_single(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        n = self.counts[names[0]]
        least = 1 if names[0].lower() in CHALLENGING else 2
        never = names[0].lower() in NEVER_COUNTED
        return [what for what, bad in (("few", n < least), ("never", never), ("answer", said != str(n))) if bad]

    def _counting_multiple(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        own = [self.counts[name] for name in names]
        bad = {"few": min(own) < 2, "same": names[0] == names[1], "answer": said != str(sum(own))}
        return [what for what, is_bad in bad.items() if is_bad]

    def _size_estimation(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        right = _decimal(100 * self._only(names[0]).lengths.max(), 0)
        bad = {
            "unique": not self._unique(names),
            "never": names[0].lower() in NEVER_SIZED,
            "answer": said != right,
        }
        return [what for what, is_bad in bad.items() if is_bad]

    def _abs_distance(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        metres = self._apart(*names)
        bad = {
            "unique": not self._unique(names),
            "near": metres < 1.0,
            "sprawling": any(_sprawls(name) for name in names),
            "answer": said != _decimal(metres, 1),
        }
        return [what for what, is_bad in bad.items() if is_bad]

    def _rel_closest(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        return self._compared(names, options, said, farthest=False)

    def _rel_farthest(self, names: tuple[str, ...], options: dict[str, str], said: str) -> list[str]:
        return self._compared(names, options, said, farthest=True)

    def _compared(self, names: tuple[str, ...], options: dict[str, str], said: str, *, farthest: bool) -> list[str]:
        listed, primary = names[0].split(", "), names[1]
        away = {name: self._apart(primary, name) for name in listed}
        ranked = sorted(away, key=lambda name: away[name])
        bad = {
            "unique": not self._unique([primary, *(listed if farthest else [])]),
            "four": len(set(listed)) != 4 or primary in listed or sorted(listed) != sorted(options.values()),
            "near": min(away.values()) <= 1.0,
            "gap": min(abs(a - b) for a, b in combinations(away.values(), 2)) <= 0.3,
            "unfit": any(_sprawls(name) or "ceiling light" in name.lower() for name in (primary, *listed)),
            "answer": said != ranked[-1 if farthest else 0],
        }
        return [what for what, is_bad in bad.items() if is_bad]

    def _direction(self, kind: str, found: Any, options: dict[str, str], said: str) -> list[str]:
        if found is None:
            return ["wording"]
        standing, away, facing, asked, _ = found.groups()
        names = (standing, facing, asked)
        if not self._unique(names):
            return ["unique"]
        own = [self._only(name) for name in names]
        sectors = SECTORS["hard" if kind.endswith("hard") else "medium"]
        here, ahead, target = (box.floor for box in own)
        ahead = 2 * here - ahead if away else ahead
        turns = [math.degrees(cmath.phase((at - here) / (ahead - here))) for at in (target, *(_floor(own[2])))]
        edges = sorted({edge % 360 for _, low, high in sectors for edge in (low, high)})
        margin = min(abs((turns[0] - edge + 180) % 360 - 180) for edge in edges)
        right = _sector(turns[0], sectors)
        pairs = list(combinations(own, 2))
        flat = [shapely.distance(_outline(a), _outline(b)) for a, b in pairs]
        deep = [self._apart(a, b) for a, b in combinations(names, 2)]
        middles = [np.linalg.norm((a.center - b.center)[:n]) for a, b in pairs for n in (2, 3)]
        bad = {
            "direction": bool(away) != ("backward" in kind),
            "large": max(_side(box) for box in own) > 1.4,
            "overlap": min(*flat, *deep) <= 0,
            "near": min(*flat, *deep) < 1.5 or min(middles) < 1.5,
            "margin": margin < 35 - 1e-9,
            "corners": sum(_sector(turn, sectors) != right for turn in turns[1:]) > 2,
            "options": sorted(options.values()) != sorted(name for name, _, _ in sectors),
            "answer": said != right,
        }
        return [what for what, is_bad in bad.items() if is_bad]

    def _unique(self, names: Iterable[str]) -> bool:
        return all(self.counts[name] == 1 == len(self.boxes[name]) for name in names)

    def _only(self, name: str) -> Box:
        return self.boxes[name][0]

    def _apart_m(self, one: str, other: str) -> float:
        return min(_closest(a, b) for a in self.boxes[one] for b in self.boxes[other])


def over_caps(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Scenes and types of which more is asked than ReVSI asks."""
    asked = Counter((row["scene_id"], row["question_type"]) for row in rows)
    return [f"{scene} {kind} {n}" for (scene, kind), n in asked.items() if n > MOST.get(kind, n)]


def _sprawls(name: str) -> bool:
    return "l-shaped" in name.lower() or name.lower().split()[-1] == "bed"


def _side(box: Box) -> float:
    """The longest side but for that along the most upright axis."""
    upright = int(np.abs(box.axes[:, 2]).argmax())
    return float(np.delete(box.lengths, upright).max())


def _floor(box: Box) -> list[complex]:
    return [complex(*corner[:2]) for corner in _corners(box)]


def _sector(turn: float, sectors: Iterable[tuple[str, float, float]]) -> str:
    return next(name for name, low, high in sectors if any(low <= turn + lap < high for lap in (0, 360, -360)))


def _closest(a: Box, b: Box) -> float:
    matrix = np.hstack([a.axes.T, -b.axes.T])
    half = np.concatenate([a.lengths, b.lengths]) / 2
    fit = lsq_linear(matrix, b.center - a.center, (-half - 1e-12, half + 1e-12), method="bvls", tol=1e-14)
    return float(np.sqrt(2 * fit.cost))
