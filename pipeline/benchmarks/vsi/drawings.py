"""The drawings of all tasks of VSI-Bench."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.benchmark import DeliveredVideo, Drawings
from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.benchmarks.vsi.scene_drawing import (
    KINDS,
    DrawnScene,
    NamedBox,
    SceneDrawing,
    fact_attributes,
    facts,
    rule,
    section,
)
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.measures import AbsDistance, ObjectCounting, ObjectSize, RoomSize, SizeComparison
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.benchmarks.vsi.tasks.relations import RelDirection, RelDistance
from pipeline.benchmarks.vsi.tasks.route import RoutePlanning
from pipeline.core.arrays import FloatArray
from pipeline.core.groups import grouped
from pipeline.core.video_spec import VideoSpec
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.sheet import MOST_STILLS, WIDTH, Sheet, SheetPart, StillPicture
from pipeline.geometry.floors import footprints
from pipeline.questions.arrays import ArrayTask

_TIMELINE_EDGE: Final = 30.0
_TIMELINE_HEIGHT: Final = 84.0


def order(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """Where the camera is when each first appears, and when that is."""
    first = sorted(facts(row, "first_seen"), key=lambda one: one[1])
    path = np.array(plan.sketch.path, dtype=np.float64).reshape(-1, 3)
    for number, (kind, (name, _)) in enumerate(zip(KINDS, first, strict=False), start=1):
        plan.mark(drawn, _shown_first(plan, name), kind, f"{number} {name}", first=True)
    for number, (kind, (name, second)) in enumerate(zip(KINDS, first, strict=False), start=1):
        if len(path):
            at = plan.ground.at([np.interp(second, path[:, 0], column) for column in path[:, 1:].T])
            drawn.map.line("aid", [at, plan.ground.at(plan.center(_shown_first(plan, name)))])
            drawn.map.dot(f"{kind} dot", at, 8.0, f"{second:.1f} s")
            drawn.map.text("digit", at + np.array([0, 4.5]), str(number), "middle", 12)
    end = max([*path[-1:, 0].tolist(), *(second for _, second in first)])
    drawn.parts.append(_timeline(first, end))
    drawn.notes.append(
        f"Numbers: where the camera is as each first appears. Smallest gap: {rule(row, 'first_times_too_close')}."
    )


def _shown_first(plan: SceneDrawing, name: str) -> int:
    """Of a category's boxes the one that the video shows first."""
    seen = {
        int(index): sight.first_seen_s
        for index in plan.view.instances(plan.category(name))
        if (sight := plan.view.objects[index].visibility) is not None and sight.first_seen_s is not None
    }
    return min(seen, key=lambda index: seen[index])


def _timeline(first: list[tuple[str, float]], end: float) -> SheetPart:
    """The video from its begin to its end, with the second of each."""
    per_s = (WIDTH - 2 * _TIMELINE_EDGE) / max(end, 1e-9)
    canvas = Canvas(WIDTH, _TIMELINE_HEIGHT)
    y = _TIMELINE_HEIGHT - 26
    canvas.line("curve", [(_TIMELINE_EDGE, y), (WIDTH - _TIMELINE_EDGE, y)])
    canvas.text("small", (_TIMELINE_EDGE, y + 18), "0 s", "middle", 11)
    canvas.text("small", (WIDTH - _TIMELINE_EDGE, y + 18), f"{end:.0f} s", "middle", 11)
    for kind, (name, second) in zip(KINDS, first, strict=False):
        x = _TIMELINE_EDGE + second * per_s
        canvas.line(f"bar {kind}", [(_TIMELINE_EDGE, y), (x, y)], fact_attributes("first_seen", name))
        canvas.dot(f"{kind} dot", (x, y), 5.0)
        canvas.label("name", (x, y), f"{name} {second:.1f} s", 8.0)
    return SheetPart(canvas, {"part": "times", "per-s": f"{per_s:.9g}"})


_TURN_ARC: Final = 20.0


def route(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """The way from object to object, each leg in its length, and the degrees of every turn."""
    start, facing, *passed = row["operands"]
    for kind, name in zip(KINDS, dict.fromkeys((start, facing, *passed)), strict=False):
        plan.mark(drawn, plan.only(name), kind, name)
    legs, turns = dict(facts(row, "leg")), dict(facts(row, "turn"))
    centers = {name: plan.center(plan.only(name))[:2] for name in (start, facing, *passed)}
    heading = _unit(centers[facing] - centers[start])
    here = centers[start] + heading * _leaves(plan, start, heading)
    drawn.map.line("aid", plan.ground.at([centers[start], here]))
    drawn.map.arrow("aid", plan.ground.at(here), plan.ground.at(here) + 28 * heading * [1, -1])
    for name in passed:
        way = _unit(centers[name] - here)
        there = here + way * legs[name]
        at = plan.ground.at(np.stack([here, there]))
        drawn.map.line("way", at, fact_attributes("leg", name))
        drawn.map.head("way", at[1], at[1] - at[0])
        if name in turns:
            degrees = float(np.degrees(np.arctan2(heading[1], heading[0])))
            drawn.map.line("aid", [at[0], at[0] + 34 * heading * [1, -1]])
            drawn.map.arc("measure", at[0], _TURN_ARC, degrees, turns[name])
            side = "left" if turns[name] > 0 else "right"
            drawn.map.label("value", at[0], f"{abs(turns[name]):.0f}° {side}", 12.0)
        drawn.map.dot("here", at[0], 4.0)
        here, heading = there, way
    told_turns = ", ".join(f"{turns[name]:+.1f}°" for name in passed if name in turns)
    drawn.notes.append(
        f"From {start}, facing {facing}, by way of {', '.join(passed)}; turns (left is positive): {told_turns}."
    )


def _leaves(plan: SceneDrawing, start: str, heading: FloatArray) -> float:
    """How far from the middle of the start one stands: beside it, as a body does."""
    grown = footprints(plan.view.boxes, plan.view.rules.body_radius_m)
    index = np.array([plan.only(start)])
    return float(grown.crossings_m(grown.center[index], heading[None], index)[1][0])


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / max(float(np.hypot(*vector)), 1e-12))


_BAR: Final = 24.0  # units from one bar to the next
_BESIDE: Final = 180.0  # units for names and values


def distance(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """The line between the closest points of two boxes, from above, and from the side in its true length."""
    first, second = row["operands"]
    i, j, *ends = plan.view.closest_points(plan.category(first), plan.category(second))
    ((subject, metres),) = facts(row, "distance")
    words = f"{metres:.2f} m"
    plan.mark(drawn, i, "a", first)
    plan.mark(drawn, j, "b", second)
    line = plan.ground.at(np.stack(ends))
    drawn.map.line("measure", line)
    drawn.map.label("value", line.mean(0), words)
    drawn.parts.append(section(plan, [(i, "a", first), (j, "b", second)], np.stack(ends), "distance", subject, words))
    drawn.notes.append(f"Closest points of {first} and {second}: {metres:.3f} m apart.")


def nearest(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """Lines from an object to the nearest of each choice, and all of them as bars of one scale."""
    primary, *choices = row["operands"]
    measured = dict(facts(row, "distance"))
    plan.mark(drawn, plan.only(primary), "f", primary)
    lines = []
    for kind, name in zip(KINDS, choices, strict=False):
        _, j, *ends = plan.view.closest_points(plan.category(primary), plan.category(name))
        plan.mark(drawn, j, kind, name)
        lines.append((plan.ground.at(np.stack(ends)), kind, name, f"{primary} - {name}"))
    for line, kind, _, _ in lines:
        drawn.map.line(f"bar {kind}", line)
    for line, _, _, subject in lines:
        drawn.map.label("value", line.mean(0), f"{measured[subject]:.2f} m")
    drawn.parts.append(_bars(plan, [(kind, name, subject, measured[subject]) for _, kind, name, subject in lines]))
    drawn.notes.append(
        f"From {primary} to the nearest of each, smallest gap between two of them: {rule(row, 'distances_too_similar')}"
    )


def _bars(plan: SceneDrawing, rows: list[tuple[str, str, str, float]]) -> SheetPart:
    """Distances as bars, those of the map's scale as far as they fit."""
    longest = max(value for *_, value in rows)
    per_m = min(plan.ground.per_m, (WIDTH - 2 * _BESIDE) / max(longest, 1e-9))
    canvas = Canvas(WIDTH, 14 + _BAR * len(rows))
    for number, (kind, name, subject, value) in enumerate(sorted(rows, key=lambda one: one[-1])):
        y = 20 + number * _BAR
        canvas.text("name", (_BESIDE - 8, y + 4), name, "end")
        canvas.line(f"bar {kind}", [(_BESIDE, y), (_BESIDE + value * per_m, y)], fact_attributes("distance", subject))
        canvas.text("small", (_BESIDE + value * per_m + 8, y + 4), f"{value:.3f} m")
    return SheetPart(canvas, {"part": "bars", "per-m": f"{per_m:.9g}"})


def size(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """The longest side of a box, from above and from the side in its true length."""
    (name,) = row["operands"]
    index, boxes = plan.only(name), plan.view.boxes
    longest = int(boxes.half[index].argmax())
    half = boxes.axes[index, longest] * boxes.half[index, longest]
    ends = np.stack([boxes.center[index] - half, boxes.center[index] + half])
    sides = [value for key in ("side_1", "side_2", "side_3") for _, value in facts(row, key)]
    plan.mark(drawn, index, "a", name)
    drawn.map.line("measure", plan.ground.at(ends))
    words = f"{sides[0] * 100:.0f} cm"
    drawn.parts.append(section(plan, [(index, "a", name)], ends, "side_1", name, words))
    drawn.notes.append(f"Sides of the box of {name}: {', '.join(f'{side * 100:.1f}' for side in sides)} cm.")
    shown = rule(row, "extent_not_shown")
    drawn.notes += [f"The video shows {shown} of its longest side."] if shown else []


def counts(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """Every box of the category, numbered."""
    stated = dict(facts(row, "stated_count"))
    for kind, name in zip(KINDS, row["operands"], strict=False):
        found = plan.view.instances(plan.category(name)).tolist() if name in plan.view.index else []
        for number, index in enumerate(found, start=1):
            plan.mark(drawn, index, kind, str(number))
        drawn.notes.append(f"{name}: {stated[name]:.0f} as the source counts them, {len(found)} boxes, numbered.")


def area(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """The outline of the floor."""
    ((_, square_m),) = facts(row, "room_area")
    room = plan.view.scene.facts.room
    if room.floor:
        drawn.map.shape("measure outline", [plan.ground.at(outline) for outline in room.floor])
        drawn.map.label("value", plan.ground.at(room.floor[0]).mean(0), f"{square_m:.1f} m²", 0.0)
        drawn.notes.append(f"The outline holds {square_m:.2f} m².")
    else:
        drawn.notes.append(f"The source states {square_m:.2f} m² and no outline of the floor.")


_REACH: Final = 0.9  # of the shorter way, to which the arc reaches at most
_BEARING_ARC: Final = 46.0
_EDGE_LINE: Final = 78.0  # units of the lines between two sectors


def direction(plan: SceneDrawing, row: Mapping[str, Any], drawn: DrawnScene) -> None:
    """Where one stands and faces, the way to what is asked for, the angle, and the edges of the sectors."""
    standing, facing, asked = row["operands"]
    task = TASKS[row["task"]]
    if not isinstance(task, RelDirection):
        raise TypeError(f"{task.name} asks no direction")
    ((subject, bearing),) = facts(row, "bearing")
    here, there, target = (plan.ground.at(plan.center(plan.only(name))) for name in row["operands"])
    if task.away:
        drawn.map.line("aid", [here, there])
        there = 2 * here - there
    ahead, way = there - here, target - here
    start = float(np.degrees(np.arctan2(-ahead[1], ahead[0])))  # counter-clockwise from the right, as on a map
    for edge in task.level.edges:
        turned = np.radians(start + edge)
        tip = here + _EDGE_LINE * np.array([np.cos(turned), -np.sin(turned)])
        drawn.map.line("aid", [here, tip])
    for name, kind in ((standing, "a"), (facing, "b"), (asked, "c")):
        plan.mark(drawn, plan.only(name), kind, name)
    radius = min(_BEARING_ARC, _REACH * float(min(np.hypot(*ahead), np.hypot(*way))))
    turn = bearing if bearing <= 180 else bearing - 360
    drawn.map.line("measure faces", [here, there], fact_attributes("bearing", "facing"))
    drawn.map.head("measure", there, ahead)
    drawn.map.line("measure", [here, target], fact_attributes("bearing", subject))
    drawn.map.head("measure", target, way)
    drawn.map.arc("measure", here, radius, start, turn)
    middle = np.radians(start + turn / 2)
    side = "left" if turn > 0 else "right"
    drawn.map.dot("a dot", here, 4.0)
    drawn.map.label(
        "value", here + (radius + 8) * np.array([np.cos(middle), -np.sin(middle)]), f"{abs(turn):.1f}° {side}", 4.0
    )
    drawn.notes.append(
        f"Standing by {standing}, facing {'away from ' if task.away else ''}{facing}: "
        f"{asked} lies {abs(turn):.1f}° to the {side}, which is "
        f"{row['answer']}; from the nearest edge of a sector (dashed) {rule(row, 'near_sector_boundary')}."
    )


_OF_KIND: Final[dict[type[ArrayTask[ScanView]], Callable[[SceneDrawing, Mapping[str, Any], DrawnScene], None]]] = {
    ObjectCounting: counts,
    ObjectSize: size,
    SizeComparison: size,
    RoomSize: area,
    AbsDistance: distance,
    RelDistance: nearest,
    RelDirection: direction,
    AppearanceOrder: order,
    RoutePlanning: route,
}


def draw(
    view: ScanView, questions: Iterable[Mapping[str, Any]], footage: DeliveredVideo | None
) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it."""
    plan = SceneDrawing(view, footage.form if footage else VideoSpec())
    for row in questions:
        drawn = plan.drawn()
        _OF_KIND[type(TASKS[row["task"]])](plan, row, drawn)
        parts = [SheetPart(drawn.map, plan.ground.attributes()), *drawn.parts]
        stills = _stills(plan, drawn.named, footage) if footage else ()
        yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", parts, drawn.notes, stills)


def _stills(plan: SceneDrawing, named: Sequence[NamedBox], footage: DeliveredVideo) -> list[StillPicture]:
    """The picture that shows each object best, those of one second as one; the first few."""
    by_second = grouped(dict.fromkeys(named), lambda one: one.second)
    stills = []
    for second, shown in [(second, shown) for second, shown in by_second.items() if second is not None][:MOST_STILLS]:
        lines = plan.cameras.lines(second, plan.view.boxes.take(np.array([one.index for one in shown])))
        marks = [(one.kind, edges, one.name) for one, edges in zip(shown, lines, strict=True)]
        caption = f"{second:.1f} s: {', '.join(one.name for one in shown)}"
        stills.append(StillPicture(second, plan.cameras.content(footage(second)), caption, marks))
    return stills


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
