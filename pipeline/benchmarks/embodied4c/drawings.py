"""The drawings of the exam's questions that stand at a time.

Of a drive: a picture of the log from above, what the question speaks of, and what was measured. Of a flight: landmarks
and the way until then from above, and heights beside it. Of an episode: things and the gripper's way from above and
from the side, and the joints' dials.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from pipeline.benchmarks.benchmark import DeliveredVideo, Drawings
from pipeline.benchmarks.embodied4c.arm.view import ArmExam
from pipeline.benchmarks.embodied4c.case import Exam
from pipeline.benchmarks.embodied4c.columns import picture_of
from pipeline.benchmarks.embodied4c.flight.view import FlightExam
from pipeline.benchmarks.embodied4c.kinds import AERIAL, MANIPULATION
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS, ExamTask
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.fonts import font
from pipeline.drawing.ground import Ground
from pipeline.drawing.raster import as_png
from pipeline.drawing.sheet import WIDTH, Sheet, SheetPart, Still
from pipeline.worlds.drive.facts import DriveScene
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.flight.places import NamedLandmark

SIDE: Final = 560  # pixels
LEAST_M: Final = 25.0  # from our car to the edge of the picture
MARGIN_M: Final = 8.0
TEXT: Final = 18  # pixels of a line
LINE: Final = 88  # characters of a line
INK: Final[dict[str, tuple[int, int, int]]] = {
    "paper": (255, 255, 255),
    "ground": (236, 236, 232),
    "road": (212, 212, 208),
    "other": (150, 160, 175),
    "asked": (239, 80, 60),
    "ego": (30, 90, 170),
    "way": (120, 165, 220),
    "text": (20, 20, 20),
}
NUMBER: Final = {name: number for number, name in enumerate(INK)}


def question_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, of every question about a drive that stands at a time."""
    by_scene: dict[str, list[Mapping[str, Any]]] = {}
    for row in asked.select(["id", "scene", "text", "answer", "evidence", "until_s"]).to_pylist():
        if row["until_s"] is not None:
            by_scene.setdefault(row["scene"], []).append(row)
    found: dict[str, bytes] = {}
    for scene in scenes():
        rows = by_scene.get(scene.id, ())
        if rows and scene.facts.world == "drive":
            drawn = DrawnQuestion(scene)
            found |= {picture_of(row["id"]): drawn.picture(row) for row in rows}
    return found


class DrawnQuestion:
    """A drive from above; our car in the middle, its heading upwards."""

    def __init__(self, scene: DriveScene) -> None:
        self.view = DriveView(scene)
        self.road = [np.array(line)[:, :2] for line in scene.facts.drivable]

    def picture(self, row: Mapping[str, Any]) -> bytes:
        """One question's, as PNG."""
        view = self.view
        index = view.index(row["until_s"])
        marks = marks_of(row["evidence"] or ())
        about = np.array(list(marks.values())).reshape(-1, 2) - view.ego_m[index, :2]
        reach = max(LEAST_M, float(np.abs(about).max(initial=0.0)) * 1.1 + MARGIN_M)
        scale = SIDE / 2 / reach
        yaw = np.radians(90 - view.ego_yaw_deg[index])
        c, s = np.cos(yaw), np.sin(yaw)

        def at(points: FloatArray) -> list[tuple[float, float]]:
            x, y = (points - view.ego_m[index, :2]).T
            return list(
                zip(
                    (SIDE / 2 + (c * x - s * y) * scale).round(2).tolist(),
                    (SIDE / 2 - (s * x + c * y) * scale).round(2).tolist(),
                    strict=True,
                )
            )

        lines = _lines(f"{row['text']} [{row['answer']}]")
        picture = Image.new("P", (SIDE, SIDE + TEXT * len(lines) + 8), NUMBER["ground"])
        picture.putpalette([channel for colour in INK.values() for channel in colour])
        draw = ImageDraw.Draw(picture)
        draw.fontmode = "1"  # numbers of colours cannot be blended
        for line in self.road:
            draw.polygon(at(line), fill=NUMBER["road"])
        way = view.ego_m[: index + 1, :2]
        way = way[np.isfinite(way).all(1)]
        if len(way) > 1:
            draw.line(at(way), fill=NUMBER["way"], width=3)
        corners = view.footprints(index).corners()
        for outline in corners[np.isfinite(corners).all((1, 2))]:
            draw.polygon(at(outline), outline=NUMBER["other"])
        self._own(draw, at, index)
        for name, place in marks.items():
            (x, y), (own_x, own_y) = at(np.stack([place, view.ego_m[index, :2]]))
            if name in ("asked", "then"):
                draw.line((own_x, own_y, x, y), fill=NUMBER["asked"], width=2)
            draw.circle((x, y), 5, fill=NUMBER["asked"], outline=NUMBER["text"])
        if {"asked", "other"} <= set(marks):
            draw.line(at(np.stack([marks["asked"], marks["other"]])), fill=NUMBER["text"], width=2)
        draw.rectangle((0, SIDE, *picture.size), fill=NUMBER["paper"])
        letters = font(13)
        for n, text in enumerate(lines):
            draw.text((6, SIDE + 4 + n * TEXT), text, fill=NUMBER["text"], font=letters)
        draw.line((12, SIDE - 12, 12 + 10 * scale, SIDE - 12), fill=NUMBER["text"], width=3)
        told = f"10 m; heading up; {view.times_s[index]:.1f} s; drawn from the log, not photographed"
        draw.text((14, SIDE - 32), told, fill=NUMBER["text"], font=letters)
        return as_png(picture)

    def _own(
        self, draw: ImageDraw.ImageDraw, at: Callable[[FloatArray], list[tuple[float, float]]], index: int
    ) -> None:
        """Our car: its box where that is known, and the point that the log follows."""
        view = self.view
        ego = view.facts.ego
        if ego is not None and ego.box is not None:
            yaw = np.radians(view.ego_yaw_deg[index])
            turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
            half = np.array(ego.box.size_m[:2]) / 2 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
            outline = view.ego_m[index, :2] + (half + np.array(ego.box.middle_m[:2])) @ turn.T
            draw.polygon(at(outline), outline=NUMBER["ego"], width=2)
        ((x, y),) = at(view.ego_m[index, :2][None])
        draw.circle((x, y), 4, fill=NUMBER["ego"])
        draw.line((x, y, x, y - 22), fill=NUMBER["ego"], width=3)


def marks_of(evidence: Sequence[Mapping[str, Any]]) -> dict[str, FloatArray]:
    """Places (2,) that a question speaks of, by name, in the log's frame."""
    x, y = ({fact["subject"]: fact["value"] for fact in evidence if fact["name"] == name} for name in ("x", "y"))
    return {name: np.array([x[name], y[name]]) for name in x if name in y}


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


_TALL: Final = 150.0  # units of the part with heights
_FOOT: Final = 26.0
FLIGHT_LEAST_M: Final = 60.0  # shown at least
HOME: Final = frozenset({"air_dt_home", "air_cs_home"})
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
    if kind in HOME:
        start = view.flight.enu_m[0, :2]
        away = float(np.linalg.norm(own - start))
        measured(canvas, ground, np.stack([own, start]), away, "m", f"{away:.1f} m")
    if kind in BEARINGS and named and np.isfinite(heading):
        bearing = view.bearing_deg(view.flight.pool[places.index(named[0])], index)
        angle(canvas, at, 90 - float(heading), -bearing)
    return [SheetPart(canvas, ground.told()), _heights(view, index, named)]


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
    return SheetPart(canvas, {**ground.told(), "part": "side" if side else "above"})


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
            told = {"measure": f"{np.degrees(value):.9g}", "unit": "deg"}
            canvas.line("measure" if joint.name == asked else "curve", [at, at + hand], told)
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
    told = [f"{f['name']} ({f['subject']}) {f['value']:.2f} {f['unit'] or ''}".strip() for f in facts[:_MOST]]
    return [f"{row['text']} [{row['answer']}]", *(["; ".join(told)] if told else [])]


PARTS: Final[Mapping[str, Callable[[Any, Mapping[str, Any]], list[SheetPart]]]] = {
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
        stills = [Still(second, footage(second), f"{second:.1f} s")] if footage else []
        found = PARTS[view.domain](view, row)
        if found:
            yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", found, notes(row), stills)


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
