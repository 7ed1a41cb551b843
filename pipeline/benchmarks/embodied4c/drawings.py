"""The drawings of the exam's questions that stand at a time.

Of a drive: the log from above, what the question speaks of, and what was measured: a length at its line, an angle as an
arc, a radius as the edge of what lies within it. Of a flight: landmarks and the way until then from above, and heights
beside it. Of an episode: things and the gripper's way from above and from the side, and the joints' dials.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any, Final

import numpy as np
import shapely

from pipeline.benchmarks.benchmark import DeliveredVideo, Drawings
from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.rules import AERIAL, DRIVING, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, ExamTask
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Ground
from pipeline.drawing.sheet import WIDTH, Sheet, SheetPart, StillPicture
from pipeline.geometry.angles import turned_about_z
from pipeline.worlds.flight.places import NamedLandmark

DRIVE_LEAST_M: Final = 25.0  # from our car to the edge of the map
MARGIN_M: Final = 8.0
GAPS: Final = frozenset({"dt_near", "rp_place", "rd_rank"})  # from our car to each
BETWEEN: Final = frozenset({"dt_between", "tp_next"})  # from one thing to the other
RADII: Final = frozenset({"ct_near", "ct_ahead", "cl_most"})
SIZES: Final = frozenset({"at_size", "rs_size"})
TALLER: Final = "taller"
_UP: Final = 90.0  # our heading on the map, counter-clockwise from the right
_NOSE: Final = 34.0  # units of the arrow of a heading
_SAME_M: Final = 0.01  # from a mark to the middle of the thing that it marks, at most


def drive_parts(view: DriveExam, row: Mapping[str, Any]) -> list[SheetPart]:
    """A drive from above, our heading upwards: what a question speaks of, and what was measured, where it was."""
    index = view.index(row["until_s"])
    is_known = np.isfinite([*view.ego_m[index, :2], view.ego_yaw_deg[index]]).all()
    return [_DriveMap(view, row, index).part()] if is_known else []


class _DriveMap:
    """The map of a question about a drive; positions are metres from our point, x to our right and y ahead."""

    def __init__(self, view: DriveExam, row: Mapping[str, Any], index: int) -> None:
        self.view, self.index = view, index
        self.kind, _, *self.about = row["operands"]
        self.radius = float(self.about[-1]) if self.kind in RADII else 0.0
        self.turns = {fact["name"]: float(fact["value"]) for fact in row["evidence"] or () if fact["unit"] == "deg"}
        self.marks = {name: self.flat(place) for name, place in marks_of(row["evidence"] or ()).items()}
        self.outlines = self.flat(view.footprints(index).corners())
        self.own = self.flat(view.own_outline(index).corners())
        far = max((float(np.abs(place).max()) for place in self.marks.values()), default=0.0)
        self.reach = max(DRIVE_LEAST_M, 1.1 * self.radius, 1.1 * far) + MARGIN_M
        self.ground = Ground(np.array([[-1.0, -1.0], [1.0, 1.0]]) * self.reach, WIDTH)
        self.canvas = self.ground.canvas()

    def flat(self, points: FloatArray) -> FloatArray:
        """Points (..., 2) of the log's frame on the map, metres."""
        turn = np.full(points.shape[:-1], _UP - self.view.ego_yaw_deg[self.index])
        return turned_about_z(points - self.view.ego_m[self.index, :2], turn)

    def part(self) -> SheetPart:
        """All of it."""
        canvas, at, here = self.canvas, self.ground.at, self.ground.at(np.zeros(2))
        self._shapes("ground", [self.flat(np.array(line)[:, :2]) for line in self.view.facts.drivable])
        self._shapes("thing", self.outlines)
        way = self.flat(self.view.ego_m[: self.index + 1, :2])
        canvas.line("path", at(way[np.isfinite(way).all(1)]))
        self._shapes("start", [self.own])
        actors = self._draw_named()
        canvas.arrow("nose", here, here - np.array([0.0, _NOSE]))
        canvas.dot("here", here, 5, "our car")
        if self.radius:
            self._radius()
        known = {
            name: self.outlines[actor] for name, actor in actors.items() if np.isfinite(self.outlines[actor]).all()
        }
        if self.kind in GAPS:
            for outline in known.values():
                self._gap(self.own, outline)
        if self.kind in BETWEEN and {"asked", "other"} <= known.keys():
            self._gap(known["asked"], known["other"])
        if self.kind in SIZES:
            for name, outline in known.items():
                long, _, tall = self.view.size_m[actors[name]]
                ends = np.stack([outline[[0, 3]].mean(0), outline[[1, 2]].mean(0)])
                shown = f"{tall:.2f} m tall" if TALLER in self.about else f"{long:.2f} m"
                measured(canvas, self.ground, ends, float(long), "m", shown)
        self._turned(actors)
        self._draw_recent_motion()
        return SheetPart(canvas, self.ground.attributes())

    def _shapes(self, kind: str, outlines: Iterable[FloatArray]) -> None:
        """Outlines as far as they reach into the map; those that are not known (NaN) do not."""
        near = (o for o in outlines if (o.min(0) <= self.reach).all() and (o.max(0) >= -self.reach).all())
        self.canvas.shape(kind, [self.ground.at(outline) for outline in near])

    def _draw_named(self) -> dict[str, int]:
        """Draws what the question speaks of; the actors (rows) that stand there, by the names of the marks."""
        actors, middles = {}, self.flat(self.view.place_m[:, self.index, :2])
        for (name, place), colour in zip(self.marks.items(), cycle(COLOURS), strict=False):
            spot = self.ground.at(place)
            gap = np.hypot(*(middles - place).T)
            if np.nanmin(gap, initial=np.inf) <= _SAME_M:
                actor = actors[name] = int(np.nanargmin(gap))
                self._shapes(colour, [self.outlines[actor]])
                counted = name.removeprefix("counted ")
                label = counted if counted != name else str(self.view.categories[actor])
                self.canvas.label("name", spot, label, 10.0)
            self.canvas.dot(f"{colour} dot", spot, 4.0)
        return actors

    def _radius(self) -> None:
        """Where a radius about the surfaces of our car ends; what counts as ahead lies beyond the dashed line."""
        around = self.ground.at(np.array(_hull(self.own).buffer(self.radius).exterior.coords))
        self.canvas.line("measure", around, {"measure": f"{self.radius:.9g}", "unit": "m"})
        self.canvas.label("value", around[around[:, 0].argmax()], f"{self.radius:g} m")
        if self.kind == "ct_ahead":
            self.canvas.line("aid", self.ground.at(np.array([[-self.reach, 0.0], [self.reach, 0.0]])))

    def _gap(self, one: FloatArray, other: FloatArray) -> None:
        """The line between the nearest points of two outlines."""
        line = np.array(shapely.shortest_line(_hull(one), _hull(other)).coords)
        metres = float(np.hypot(*(line[1] - line[0])))
        measured(self.canvas, self.ground, line, metres, "m", f"{metres:.1f} m")

    def _turned(self, actors: Mapping[str, int]) -> None:
        """The arcs of the angles that are asked for."""
        at, here = self.ground.at, self.ground.at(np.zeros(2))
        if self.kind == "lc_sector":
            self.canvas.line("aid", [here, at(self.marks["asked"])])
            angle(self.canvas, here, _UP, self.turns["bearing"])
        if self.kind == "rp_place":
            second = self.marks["other"]
            self.canvas.line("aid", [at(self.marks["asked"]), here, at(second)])
            angle(self.canvas, here, float(np.degrees(np.arctan2(second[1], second[0]))), self.turns["turn"])
        if self.kind == "or_heading" and "asked" in actors:
            spot, turn = at(self.marks["asked"]), float(self.view.heading_deg[actors["asked"], self.index])
            towards = np.radians(_UP + turn)
            self.canvas.line("aid", [spot, spot - np.array([0.0, ARC + _NOSE])])
            self.canvas.arrow("nose", spot, spot + (ARC + _NOSE) * np.array([np.cos(towards), -np.sin(towards)]))
            angle(self.canvas, spot, _UP, turn)

    def _draw_recent_motion(self) -> None:
        """Our way, or our turn, in the last seconds."""
        if self.kind not in ("sm_driven", "sm_turned"):
            return
        before = self.view.index(float(self.view.times_s[self.index]) - float(self.about[-1]))
        part = slice(before, self.index + 1)
        if self.kind == "sm_driven":
            way = self.flat(self.view.ego_m[part, :2])
            metres = float(self.view.driven_m[self.index] - self.view.driven_m[before])
            measured(self.canvas, self.ground, way[np.isfinite(way).all(1)], metres, "m", f"{metres:.1f} m")
            return
        turned = np.degrees(np.unwrap(np.radians(self.view.ego_yaw_deg[part])))
        turn, here = float(turned[-1] - turned[0]), self.ground.at(np.zeros(2))
        first = np.radians(_UP - turn)
        self.canvas.line("aid", [here, here + (ARC + _NOSE) * np.array([np.cos(first), -np.sin(first)])])
        angle(self.canvas, here, _UP - turn, turn)


def _hull(outline: FloatArray) -> shapely.Geometry:
    """The area in an outline (4, 2); of a thing whose size is not known its point."""
    return shapely.convex_hull(shapely.MultiPoint(outline))


def marks_of(evidence: Sequence[Mapping[str, Any]]) -> dict[str, FloatArray]:
    """Places (2,) that a question speaks of, by name, in the log's frame."""
    x, y = ({fact["subject"]: fact["value"] for fact in evidence if fact["name"] == name} for name in ("x", "y"))
    return {name: np.array([x[name], y[name]]) for name in x if name in y}


_TALL: Final = 150.0  # units of the part with heights
_FOOT: Final = 26.0
FLIGHT_LEAST_M: Final = 60.0  # shown at least
BEARINGS: Final = frozenset({"air_lc"})
LEVELS: Final = frozenset({"air_at_height", "air_rs"})


def flight_parts(view: FlightExam, row: Mapping[str, Any]) -> list[SheetPart]:
    """The map, and the heights of the drone until then and of the landmarks that are named."""
    kind, _, *about = row["operands"]
    index = view.flight.index(row["until_s"])
    if index is None:
        return []
    places = [view.flight.places[n] for n in view.flight.pool]
    named = [place for place in places if place.label in about or f": {place.label}" in row["text"]]
    own, way = view.flight.enu_m[index, :2], view.flight.enu_m[: index + 1, :2]
    ground = Ground(
        np.concatenate([way, own[None], *(place.footprint for place in named)]), WIDTH, least_m=FLIGHT_LEAST_M
    )
    canvas = ground.canvas()
    canvas.shape("thing", [ground.at(place.footprint) for place in places if place not in named])
    canvas.line("way", ground.at(way))
    for colour, place in zip(COLOURS, named, strict=False):
        canvas.shape(colour, [ground.at(place.footprint)], place.label)
        canvas.label("name", ground.at(place.center), place.label)
    heading = view.flight.heading_deg[index]
    at = ground.at(own)
    if np.isfinite(heading):
        canvas.arrow("nose", at, at + 34 * np.array([np.sin(np.radians(heading)), -np.cos(np.radians(heading))]))
    canvas.dot("here", at, 5)
    for place in named:
        gap = float(place.distance_m(own[None])[0])
        if kind not in LEVELS and gap > 0:
            measured(canvas, ground, np.stack([own, place.nearest_m(own)]), gap, "m", f"{gap:.1f} m")
    if kind == "air_dt_home":
        start = view.flight.enu_m[view.flight.index(row["from_s"] or 0.0) or 0, :2]
        away = float(np.linalg.norm(own - start))
        measured(canvas, ground, np.stack([own, start]), away, "m", f"{away:.1f} m")
    if kind in BEARINGS and named and np.isfinite(heading):
        bearing = view.bearing_deg(view.flight.pool[places.index(named[0])], index)
        angle(canvas, at, 90 - float(heading), -bearing)
    return [SheetPart(canvas, ground.attributes()), _heights(view, index, named)]


def _heights(view: FlightExam, index: int, named: list[NamedLandmark]) -> SheetPart:
    """Heights over the time, and landmarks from foot to top beside it, to one scale."""
    t, height = view.flight.t_s[: index + 1], view.flight.enu_m[: index + 1, 2]
    known = [place for place in named if np.isfinite([place.base_m, place.top_m]).all()]
    low = min([float(height.min()), *(place.base_m for place in known)])
    high = max([float(height.max()), *(place.top_m for place in known), low + 2.0])
    per_m = (_TALL - 2 * _FOOT) / (high - low)
    canvas = Canvas(WIDTH, _TALL)

    def up(value: float) -> float:
        return _TALL - _FOOT - (value - low) * per_m

    across = (WIDTH - 220) / max(float(t[-1] - t[0]), 1.0)
    canvas.line("curve", np.column_stack([20 + (t - t[0]) * across, _TALL - _FOOT - (height - low) * per_m]))
    canvas.text("small", (20, _TALL - 8), f"height of the drone until {t[-1]:.1f} s", size=11)
    for n, (colour, place) in enumerate(zip(COLOURS, known, strict=False)):
        x = WIDTH - 180 + 30 * n
        ends = [(x, up(place.base_m)), (x, up(place.top_m))]
        canvas.line(f"bar {colour}", ends, {"measure": f"{place.top_m - place.base_m:.9g}", "unit": "m"})
        canvas.label("value", ends[1], f"{place.top_m - place.base_m:.0f} m")
    return SheetPart(canvas, {"part": "heights", "per-m": f"{per_m:.9g}"})


CM: Final = 100.0
DISTANCES: Final = frozenset({"arm_dt", "arm_rd", "arm_sm_net"})
FLAT: Final = frozenset({"arm_rd"})  # measured over the table
JOINTS: Final = ("arm_md", "arm_cs")
_CORNERS: Final = np.array([[1.0, 1.0], [-1, 1], [-1, -1], [1, -1]])
ARM_LEAST_M: Final = 0.3  # shown at least
_DIAL: Final = 78.0  # units from dial to dial
_RADIUS: Final = 26.0


def arm_parts(view: ArmExam, row: Mapping[str, Any]) -> list[SheetPart]:
    """From above (the robot looks up), from the side, and the dials where joints are asked about."""
    kind, _, *about = row["operands"]
    index = view.index(row["until_s"])
    before = view.index(row["until_s"] - float(about[-1])) if kind == "arm_sm_net" and about else None
    found = [_map(view, row, index, before, side) for side in (False, True)]
    if kind.startswith(JOINTS) and len(view.joints):
        found.append(_dials(view, index, about[0] if about else ""))
    return [part for part in found if part is not None]


def _flat(places: FloatArray, side: bool) -> FloatArray:
    """Places (..., 3) on a map: from above the robot's left is to the left, from the side its ahead to the right."""
    return places[..., [0, 2]] if side else np.stack([-places[..., 1], places[..., 0]], axis=-1)


def _map(view: ArmExam, row: Mapping[str, Any], index: int, before: int | None, side: bool) -> SheetPart | None:
    kind, _, *about = row["operands"]
    things = [n for n in range(len(view.ids)) if np.isfinite(view.item_m[n, index]).all()]
    way = view.gripper_m[: index + 1]
    way = _flat(way[np.isfinite(way).all(1)], side)
    middles = {n: _flat(view.item_m[n, index], side) for n in things}
    outlines = {n: _outline(view, n, middles[n], side) for n in things}
    shown = [way.reshape(-1, 2), *outlines.values()]
    if np.isfinite(view.base_m).all():
        shown.append(_flat(view.base_m, side)[None])
    points = np.concatenate(shown)
    if not len(points):
        return None
    ground = Ground(points, WIDTH, 260.0, ARM_LEAST_M)
    canvas = ground.canvas()
    named = [n for n in things if view.names.get(n) in about]
    for n in things:
        colour = COLOURS[named.index(n) % len(COLOURS)] if n in named else "thing"
        placed = ground.at(outlines[n])
        if len(placed) > 1:
            canvas.shape(colour, [placed], str(view.ids[n]))
        else:
            canvas.dot(f"{colour} dot", placed[0], 5, str(view.ids[n]))
        canvas.label(
            "name" if n in named else "small", ground.at(middles[n]), view.names.get(n, str(view.categories[n]))
        )
    if np.isfinite(view.base_m).all():
        canvas.dot("start", ground.at(_flat(view.base_m, side)), 5, "foot of the arm")
    if len(way):
        canvas.line("way", ground.at(way))
    gripper = view.gripper_m[index]
    if np.isfinite(gripper).all():
        canvas.dot("here", ground.at(_flat(gripper, side)), 5, "gripper")
        ends = [view.item_m[n, index] for n in named] if kind in DISTANCES else []
        ends += [view.gripper_m[before]] if before is not None else []
        for end in ends if not (side and kind in FLAT) else ():
            apart = (end - gripper)[:2] if kind in FLAT else end - gripper
            cm = float(np.linalg.norm(apart)) * CM
            measured(canvas, ground, _flat(np.stack([gripper, end]), side), cm, "cm", f"{cm:.1f} cm")
        if kind == "arm_lc" and named and not side:
            ahead, left = view.flat_m(named[0], index)
            angle(canvas, ground.at(_flat(gripper, side)), 90.0, float(np.degrees(np.arctan2(left, ahead))))
    canvas.text("small", (10, 16), "from the side" if side else "from above", size=11)
    return SheetPart(canvas, {**ground.attributes(), "part": "side" if side else "above"})


def _outline(view: ArmExam, row: int, middle: FloatArray, side: bool) -> FloatArray:
    """Corners (4, 2), upright along the world's axes, or its middle where its size is not known."""
    half = view.size_m[row][[0, 2] if side else [1, 0]] / 2
    return middle + _CORNERS * half if np.isfinite(half).all() else middle[None]


def _dials(view: ArmExam, index: int, asked: str) -> SheetPart:
    """Each joint that turns: its zero is up, counter-clockwise is positive."""
    canvas = Canvas(WIDTH, 2 * _RADIUS + 44)
    turning = [
        (n, joint) for n, joint in enumerate(view.facts.arm.joints if view.facts.arm else ()) if joint.unit == "rad"
    ]
    for place, (n, joint) in enumerate(turning):
        at = np.array([44 + place * _DIAL, _RADIUS + 8])
        value = float(view.angle[index, n])
        canvas.dot("cell", at, _RADIUS)
        canvas.line("tick", [at - (0, _RADIUS), at - (0, _RADIUS - 6)])
        if np.isfinite(value):
            hand = np.array([-np.sin(value), -np.cos(value)]) * _RADIUS
            attributes = {"measure": f"{np.degrees(value):.9g}", "unit": "deg"}
            canvas.line("measure" if joint.name == asked else "curve", [at, at + hand], attributes)
            canvas.text("small", (at[0], at[1] + _RADIUS + 28), f"{np.degrees(value):.0f}°", "middle", 11)
        canvas.text("name" if joint.name == asked else "small", (at[0], at[1] + _RADIUS + 14), joint.name, "middle", 11)
    return SheetPart(canvas, {"part": "dials"})


COLOURS: Final = ("a", "b", "c", "d", "e", "f")
_MOST: Final = 12  # facts of a question that are told
ARC: Final = 46.0  # units of an arc's radius


def measured(canvas: Canvas, ground: Ground, ends: FloatArray, value: float, unit: str, shown: str) -> None:
    """A line between two places (2, 2), metres, and the number that it stands for."""
    placed = ground.at(ends)
    canvas.line("measure", placed, {"measure": f"{value:.9g}", "unit": unit})
    canvas.label("value", placed.mean(0), shown)


def angle(canvas: Canvas, at: FloatArray, from_deg: float, turn_deg: float) -> None:
    """An arc about a point in units, counter-clockwise from the right of the map, and its angle."""
    canvas.arc("measure", at, ARC, from_deg, turn_deg)
    middle = np.radians(from_deg + turn_deg / 2)
    canvas.label("value", at + 1.3 * ARC * np.array([np.cos(middle), -np.sin(middle)]), f"{abs(turn_deg):.0f}°")


def notes(row: Mapping[str, Any]) -> list[str]:
    """The question, its answer, and what was measured for it."""
    facts = [fact for fact in row["evidence"] or () if fact["relation"] is None and fact["name"] not in ("x", "y")]
    lines = [f"{f['name']} ({f['subject']}) {f['value']:.2f} {f['unit'] or ''}".strip() for f in facts[:_MOST]]
    return [f"{row['text']} [{row['answer']}]", *(["; ".join(lines)] if lines else [])]


PARTS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], list[SheetPart]]]] = {
    DRIVING: drive_parts,
    AERIAL: flight_parts,
    MANIPULATION: arm_parts,
}


def draw(
    view: Exam, questions: Iterable[Mapping[str, Any]], footage: DeliveredVideo | None
) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it; what people or models wrote has no operands to draw."""
    for row in questions:
        if view.domain not in PARTS or row["until_s"] is None or not isinstance(EXAM_TASKS.get(row["task"]), ExamTask):
            continue
        second = float(row["until_s"])
        stills = [StillPicture(second, footage(second), f"{second:.1f} s")] if footage else []
        found = PARTS[view.domain](view, row)
        if found:
            yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", found, notes(row), stills)


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
