"""A flight ready to be drawn: what its maps show, and how stretches and landmarks are marked on them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import FloatArray
from pipeline.core.spatial import TopDownMap
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import BOTTOM, HIGH, TOP, Chart, Ground, draw_sketch
from pipeline.drawing.sheet import WIDTH, SheetPart
from pipeline.worlds.flight.bev_video import top_down_map
from pipeline.worlds.flight.places import NamedLandmark

KINDS: Final = "abcdef"  # classes of what a question names, in order
_TALLEST: Final = 520.0
_AROUND: Final = 0.12  # of the path's extent
_POINTS: Final = 400  # of a stretch: more would not be seen
_NOSES: Final = 7  # headings along a stretch
_NOSE: Final = 15.0  # units


class EvidenceMove(NamedTuple):
    """A movement that the evidence tells of, seconds of the video."""

    words: str
    start_s: float
    end_s: float


class NamedMark(NamedTuple):
    """A landmark that a question speaks of, as it is marked."""

    place: NamedLandmark
    kind: str
    name: str


@dataclass
class DrawnMap:
    """The drawing of a question, before its pictures of the video.

    Attributes:
        ground: of the map.
        map: from above.
        named: the landmarks that it speaks of.
        flown: the movements that its evidence tells of.
        parts: below the map.
        notes: in words.
        seconds: of which a picture is shown, and what to say of it.
    """

    ground: Ground
    map: Canvas
    named: Sequence[NamedMark]
    flown: Sequence[EvidenceMove]
    parts: list[SheetPart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: dict[float, str] = field(default_factory=dict)


class MapDrawing:
    """A flight under its rules, and the map that most of its questions begin with."""

    def __init__(self, view: UrbanView) -> None:
        self.view = view
        whole = top_down_map(view.scene)
        labels = [mark.label or mark.name or "" for mark in view.flight.landmarks]
        named = (t.model_copy(update={"label": label}) for t, label in zip(whole.things, labels, strict=True))
        self._sketch = whole.model_copy(update={"things": tuple(named)})
        goal = [] if view.goal is None else [view.goal]
        self._shown = np.concatenate(
            [_area_around(view.enu_m[:, :2]), *(view.places[i].footprint for i in [*view.pool, *goal])]
        )
        self._base = self._begun(())

    def drawn(self, row: Mapping[str, Any]) -> DrawnMap:
        """A map with the stretch that is asked about, its movements, and what the question names."""
        named = self.named(row)
        inside = all(self._holds(one.place) for one in named)
        ground, canvas = (self._base[0], self._base[1].copy()) if inside else self._begun(named)
        starts, ends = facts(row, "start"), facts(row, "end")
        found = {(words, start, end): None for (words, start), (_, end) in zip(starts, ends, strict=True)}
        drawn = DrawnMap(ground, canvas, named, [EvidenceMove(*one) for one in found])
        for one in named:
            canvas.shape(one.kind, [ground.at(one.place.footprint)], one.name)
        self._stretch(drawn, row)
        for one in named:
            outline = ground.at(one.place.footprint)
            canvas.label("name", (outline[:, 0].mean(), outline[:, 1].min()), one.name, 6.0)
        return drawn

    def named(self, row: Mapping[str, Any]) -> list[NamedMark]:
        """The landmarks that are operands or the answer, in order; of a map's, their digits."""
        words = [*(row["operands"] or ()), row["answer"] or "", row["text"] or ""]
        places = [place for place in self.view.places if any(_mentions(text, place.label) for text in words)]
        within = {a.label for a in places for b in places if a is not b and _mentions(b.label, a.label)}
        kept = [p for p in places if p.label not in within or p.label in words]
        kept.sort(key=lambda place: min(n for n, text in enumerate(words) if _mentions(text, place.label)))
        return [NamedMark(place, KINDS[n % len(KINDS)], place.label) for n, place in enumerate(kept)]

    def at_s(self, seconds: Iterable[float]) -> FloatArray:
        """Where the drone is (n, 3), between the samples."""
        times = np.asarray(list(seconds), dtype=np.float64)
        return np.stack([np.interp(times, self.view.t_s, column) for column in self.view.enu_m.T], axis=1)

    def way(self, from_s: float, until_s: float) -> FloatArray:
        """The way flown (n, 2) between two seconds, both ends included."""
        within = self.view.t_s[(self.view.t_s > from_s) & (self.view.t_s < until_s)]
        step = max(1, len(within) // _POINTS)
        return self.at_s([from_s, *within[::step], until_s])[:, :2]

    def _stretch(self, drawn: DrawnMap, row: Mapping[str, Any]) -> None:
        """The part of the way that is asked about, the headings along it, and the movements in it."""
        until_s = row["until_s"]
        ends = [0.0 if row["from_s"] is None else row["from_s"], self.view.end_s if until_s is None else until_s]
        attributes = {"from-s": f"{ends[0]:g}", "until-s": f"{ends[1]:g}"}
        way = drawn.ground.at(self.way(*ends))
        kind = "way all" if drawn.flown else "way"
        drawn.map.line(kind, way, {"fact": "stretch", **attributes})
        for number, step in enumerate(drawn.flown):
            start, end = max(step.start_s, 0.0), min(step.end_s, self.view.end_s)
            points = drawn.ground.at(self.way(start, end))
            attributes = {"fact": "movement", "from-s": f"{start:g}", "until-s": f"{end:g}"}
            drawn.map.line(f"bar {KINDS[number % len(KINDS)]}", points, attributes)
        self._noses(drawn, *ends)
        drawn.map.dot("start", way[0], 4.5, f"{ends[0]:g} s")
        drawn.map.dot("here", way[-1], 6.0, f"{ends[1]:g} s")
        for number, step in enumerate(drawn.flown):
            middle = drawn.ground.at(self.at_s([(step.start_s + step.end_s) / 2])[0])
            drawn.map.label("name", middle, str(number + 1), 7.0)

    def _noses(self, drawn: DrawnMap, from_s: float, until_s: float) -> None:
        """Where the nose points, a few times along a stretch."""
        for second in np.linspace(from_s, until_s, _NOSES):
            index = self.view.index(second)
            if index is not None and np.isfinite(self.view.heading_deg[index]):
                at = drawn.ground.at(self.view.enu_m[index])
                drawn.map.arrow("nose", at, at + _NOSE * nose(self.view.heading_deg[index]), 6.0)

    def _holds(self, place: NamedLandmark) -> bool:
        """Whether the map that most questions share shows a landmark."""
        points, ground = self._base[0].at(place.footprint), self._base[0]
        return bool(((points >= 0) & (points <= [ground.width, ground.height])).all())

    def _begun(self, named: Sequence[NamedMark]) -> tuple[Ground, Canvas]:
        """A map of the flight and some landmarks, with all that lies about."""
        ground = Ground(np.concatenate([self._shown, *(one.place.footprint for one in named)]), WIDTH, _TALLEST)
        canvas = ground.canvas()
        corners = [np.array(thing.outline) for thing in self._sketch.things]
        near = tuple(t for t, c in zip(self._sketch.things, corners, strict=True) if _meets(ground, ground.at(c)))
        draw_sketch(canvas, ground, TopDownMap(things=near, path=self._sketch.path))
        canvas.arrow("aid", (18, 40), (18, 14), 7.0)
        canvas.text("small", (26, 24), "N", size=11)
        return ground, canvas


def facts(row: Mapping[str, Any], name: str) -> list[tuple[str, float]]:
    """Subject and value of the numbers of one name behind an answer, in order; rules are none."""
    return [
        (fact["subject"], fact["value"])
        for fact in row["evidence"] or ()
        if fact["name"] == name and fact["limit"] is None
    ]


def nose(compass_deg: float) -> FloatArray:
    """A compass direction (2,) on the drawing, whose y runs down."""
    return np.array([np.sin(np.radians(compass_deg)), -np.cos(np.radians(compass_deg))])


def _area_around(points: FloatArray) -> FloatArray:
    """The corners (2, 2) of an area a little larger than points (n, 2)."""
    if not len(points):
        return np.empty((0, 2))
    low, high = points.min(0), points.max(0)
    around = _AROUND * float((high - low).max())
    return np.stack([low - around, high + around])


def _meets(ground: Ground, points: FloatArray) -> bool:
    low, high = points.min(0), points.max(0)
    return bool((high >= 0).all() and low[0] <= ground.width and low[1] <= ground.height)


def _mentions(text: str, label: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, re.IGNORECASE) is not None


def heights(plan: MapDrawing, row: Mapping[str, Any], flown: Sequence[EvidenceMove]) -> SheetPart:
    """Height above take-off, with the stretch that is asked about and its movements."""
    view = plan.view
    chart = Chart("height above take-off", view.t_s, view.height_m, view.end_s, None)
    begin, end = row["from_s"] or 0.0, view.end_s if row["until_s"] is None else row["until_s"]
    if not flown:
        chart.stretch("stretch", begin, end, "stretch")
    else:
        for number, step in enumerate(flown):
            start, stop = max(step.start_s, 0.0), min(step.end_s, view.end_s)
            chart.stretch(f"{KINDS[number % len(KINDS)]} band", start, stop, "movement")
            chart.canvas.text("name", (chart.at((start + stop) / 2, 0)[0], TOP + 12), str(number + 1), "middle", 11)
    if row["until_s"] is not None:
        x = chart.at(end, 0)[0]
        chart.canvas.line("measure", [(x, TOP), (x, HIGH - BOTTOM)])
        chart.canvas.text("small", (x, HIGH - BOTTOM + 16), f"{end:.0f} s", "middle", 11)
    return chart.part("heights")
