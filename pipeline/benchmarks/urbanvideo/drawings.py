"""The drawings of all tasks of UrbanVideo-Bench."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np
import shapely

from pipeline.benchmarks.benchmark import DeliveredVideo, Drawings
from pipeline.benchmarks.urbanvideo.map_drawing import DrawnMap, MapDrawing, NamedMark, facts, heights, nose
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.maps import ROW_SEPARATOR
from pipeline.core.arrays import FloatArray
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Chart
from pipeline.drawing.sheet import MOST_STILLS, WIDTH, Sheet, SheetPart, StillPicture
from pipeline.geometry.bearings import picture_xy
from pipeline.worlds.flight.places import NamedLandmark, shot_of

_ARC: Final = 34.0
_CELL: Final = 26.0
_WEDGE: Final = 90.0  # units


def position(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """The nose, the way to the landmark, and the degrees between."""
    ((label, metres),), ((_, bearing),) = facts(row, "distance"), facts(row, "bearing")
    index = plan.view.index(row["until_s"])
    if index is None:
        return
    here, place = plan.view.enu_m[index], _mark_of(drawn, label).place
    heading = float(plan.view.heading_deg[index])
    ends = drawn.ground.at(np.stack([here[:2], place.center]))
    drawn.map.line("measure", ends, {"fact": "distance", "subject": label})
    ahead = ends[0] + 2.4 * _ARC * nose(heading)
    drawn.map.line("measure", [ends[0], ahead], {"fact": "bearing", "subject": "nose"})
    drawn.map.head("measure", ahead, ahead - ends[0])
    drawn.map.arc("measure", ends[0], _ARC, 90 - heading, -bearing)
    middle = ends[0] + (_ARC + 10) * nose(heading + bearing / 2)
    side = "right" if bearing > 0 else "left"
    drawn.map.label("value", middle, f"{abs(bearing):.0f}° {side}", 5.0)
    drawn.map.label("value", ends.mean(0), f"{metres:.0f} m")
    drawn.notes.append(f"{label} is {abs(bearing):.1f}° to the {side} of the nose, {metres:.1f} m away over ground.")


def detection(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """The area that the camera's picture covers, and the goal."""
    index, camera = plan.view.index(row["until_s"]), plan.view.flight.camera
    if index is None or camera is None:
        return
    here = drawn.ground.at(plan.view.enu_m[index])
    heading = float(plan.view.heading_deg[index])
    half = camera.horizontal_fov_deg / 2
    turns = np.linspace(heading - half, heading + half, 9)
    drawn.map.shape("wedge", [[here, *(here + _WEDGE * nose(turn) for turn in turns)]], "in the picture")
    goal = drawn.named[0].place
    drawn.map.line("aid", [here, drawn.ground.at(goal.center)])
    found = facts(row, "place_in_view")
    place = f"{found[0][1]:+.2f} half widths from the middle" if found else "not in the picture"
    drawn.notes.append(f"{goal.label}: {place}; the wedge is what the picture covers over ground.")


def ends(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """From both ends of the path to the landmarks nearest to them."""
    for name, second in (("start", plan.view.t_s[0]), ("end", row["until_s"])):
        ((label, metres),) = facts(row, f"{name}_to_nearest")
        index = int(np.abs(plan.view.t_s - second).argmin())
        here = plan.view.enu_m[index, :2]
        _length(
            drawn, np.stack([here, _mark_of(drawn, label).place.nearest_m(here)]), f"{name}_to_nearest", label, metres
        )
        drawn.seconds[float(second)] = name
        drawn.notes.append(f"{name.capitalize()}: {metres:.1f} m from {label}.")


def beside(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """Between two footprints."""
    name = "gap_to_goal" if facts(row, "gap_to_goal") else "gap_to_nearest"
    ((label, metres),) = facts(row, name)
    one, other = _mark_of(drawn, row["operands"][0]).place, _mark_of(drawn, label).place
    _length(drawn, _closest_points(one, other), name, label, metres)
    drawn.notes.append(f"{one.label} and {label}: {metres:.1f} m between their outlines.")


def planning(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """The straight way to the goal."""
    ((goal, metres),) = facts(row, "distance")
    index = plan.view.index(row["until_s"])
    if index is None:
        return
    here = plan.view.enu_m[index, :2]
    _length(drawn, np.stack([here, _mark_of(drawn, goal).place.center]), "distance", goal, metres)
    drawn.notes.append(f"{goal} is {metres:.1f} m away; {row['answer']} comes first on the straight way.")


def proximity(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """The distance to the landmark over the seconds of the video, in the stretch and around it."""
    label, view = row["operands"][0], plan.view
    series = _mark_of(drawn, label).place.distance_m(view.enu_m)
    chart = Chart(f"distance to {label}", view.t_s, series, view.end_s, 0.0)
    begin = drawn.flown[0].start_s if drawn.flown else 0.0
    chart.stretch("stretch", max(begin, 0.0), row["until_s"], "stretch")
    within = np.flatnonzero((view.t_s >= begin) & (view.t_s <= row["until_s"]))
    at = {"start": within[0], "end": within[-1]}
    at |= {"least": within[series[within].argmin()], "most": within[series[within].argmax()]}
    for name, index in at.items():  # the least and the most may be at an end
        ((_, metres),) = facts(row, f"distance_{name}")
        point = chart.at(float(view.t_s[index]), metres)
        foot = chart.at(float(view.t_s[index]), 0.0)
        chart.canvas.line("measure", [foot, point], {"fact": f"distance_{name}", "subject": label})
        if name in {"start", "end"} or index not in {within[0], within[-1]}:
            chart.canvas.label("value", point, f"{metres:.0f} m", 5.0, 11)
    drawn.parts.append(chart.part("distances"))


def cells(plan: MapDrawing, row: Mapping[str, Any], drawn: DrawnMap) -> None:
    """The right map as it is offered."""
    grid = row["answer"].split(ROW_SEPARATOR)
    side = _CELL * len(grid)
    canvas = Canvas(WIDTH, side + 20)
    for number, line in enumerate(grid):
        for column, sign in enumerate(line):
            x, y = 10 + column * _CELL, 10 + number * _CELL
            canvas.shape("cell", [[(x, y), (x + _CELL, y), (x + _CELL, y + _CELL), (x, y + _CELL)]])
            if sign == "*":
                canvas.dot("here", (x + _CELL / 2, y + _CELL / 2), 3.0)
            elif sign != ".":
                canvas.text("name", (x + _CELL / 2, y + _CELL / 2 + 5), sign, "middle")
    for number, name in enumerate(row["operands"][1:], start=1):
        canvas.text("note", (side + 30, 10 + 20 * number), f"{number} = {name}")
    ((_, metres),) = facts(row, "cell")
    canvas.text("note", (side + 30, side), f"a cell is {metres:.1f} m; the first way leads up")
    drawn.parts.append(SheetPart(canvas, {"part": "cells"}))


def _mark_of(drawn: DrawnMap, label: str) -> NamedMark:
    return next(one for one in drawn.named if one.place.label == label)


def _length(drawn: DrawnMap, points: FloatArray, fact: str, subject: str, metres: float) -> None:
    line = drawn.ground.at(points)
    drawn.map.line("measure", line, {"fact": fact, "subject": subject})
    drawn.map.label("value", line.mean(0), f"{metres:.0f} m" if metres >= 10 else f"{metres:.1f} m")


def _closest_points(one: NamedLandmark, other: NamedLandmark) -> FloatArray:
    """The closest points (2, 2) of two footprints."""
    if other.outline is None:
        start = one.nearest_m(other.center)
        return np.stack([start, other.nearest_m(start)])
    if one.outline is None:
        end = other.nearest_m(one.center)
        return np.stack([one.nearest_m(end), end])
    line = shapely.shortest_line(shapely.Polygon(one.outline), shapely.Polygon(other.outline))
    return np.asarray(line.coords)


MEASURES: Final[dict[str, Callable[[MapDrawing, Mapping[str, Any], DrawnMap], None]]] = {
    "Landmark Position": position,
    "Goal Detection": detection,
    "Start/End Position": ends,
    "Object Recall": beside,
    "Association": beside,
    "High-level Planning": planning,
    "Proximity": proximity,
    "Cognitive Map": cells,
}


_MANY: Final = 60  # corners of an outline that are joined by upright lines; of more every so many


def draw(
    view: UrbanView, questions: Iterable[Mapping[str, Any]], footage: DeliveredVideo | None
) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it."""
    plan = MapDrawing(view)
    for row in questions:
        drawn = plan.drawn(row)
        if row["until_s"] is not None:
            drawn.seconds[float(row["until_s"])] = "now"
        for number, step in enumerate(drawn.flown, start=1):
            middle = (max(step.start_s, 0.0) + min(step.end_s, view.end_s)) / 2
            drawn.seconds.setdefault(round(middle, 2), f"{number} {step.words}")
        if row["task"] in MEASURES and row["evidence"]:
            MEASURES[row["task"]](plan, row, drawn)
        steps = [f"{n} {s.words} ({s.start_s:.1f} to {s.end_s:.1f} s)" for n, s in enumerate(drawn.flown, start=1)]
        drawn.notes += [f"Movements: {'; '.join(steps)}."] if steps else []
        parts = [SheetPart(drawn.map, drawn.ground.attributes()), heights(plan, row, drawn.flown), *drawn.parts]
        stills = _stills(plan, drawn, footage) if footage else ()
        yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", parts, drawn.notes, stills)


def _stills(plan: MapDrawing, drawn: DrawnMap, footage: DeliveredVideo) -> list[StillPicture]:
    """The moments that are asked about, then the best picture of each landmark."""
    view = plan.view
    stills, shown = [], set()
    for second, words in sorted(drawn.seconds.items()):
        marks = [mark for one in drawn.named if (mark := _prism(plan, one, second))]
        shown |= {(name, round(second)) for _, _, name in marks}
        stills.append(StillPicture(second, _frame(plan, footage, second), f"{second:.1f} s: {words}", marks))
    for one in drawn.named:
        shot = shot_of(view.flight, one.place.index, view.end_s)
        if shot is not None and not {(one.name, round(shot.second) + more) for more in (-1, 0, 1)} & shown:
            left, top, right, bottom = shot.box
            corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])
            mark = _prism(plan, one, shot.second) or (one.kind, [corners], one.name)
            caption = f"{shot.second:.1f} s: {one.name}"
            stills.append(StillPicture(shot.second, _frame(plan, footage, shot.second), caption, [mark]))
    return stills[:MOST_STILLS]


def _frame(plan: MapDrawing, footage: DeliveredVideo, second: float) -> Any:
    return footage(min(max(second, 0.0), plan.view.end_s))


def _prism(plan: MapDrawing, one: NamedMark, second: float) -> tuple[str, list[FloatArray], str] | None:
    """The edges of a landmark in the picture at a second; None where it is not in view, or its place not known."""
    view, place = plan.view, one.place
    index, camera = view.index(second), view.flight.camera
    if index is None or camera is None or np.isnan(place.base_m) or view.in_view_s(_number(plan, one), second) < 0:
        return None
    outline = place.footprint
    top = place.base_m if np.isnan(place.top_m) else place.top_m
    rings = [np.column_stack([outline, np.full(len(outline), height)]) for height in {place.base_m, top}]
    placed = [
        picture_xy(
            view.enu_m[index], view.heading_deg[index], view.pitch_deg[index], ring, camera.horizontal_fov_deg,
            camera.width / camera.height,
        )
        for ring in rings
    ]  # fmt: skip
    shares = [np.stack([(1 + xy[:, 0]) / 2, (1 - xy[:, 1]) / 2], axis=1) for xy in placed]
    if not all(np.isfinite(ring).all() for ring in shares):
        return None
    lines = [np.concatenate([ring, ring[:1]]) for ring in shares]
    if len(shares) > 1:
        every = max(1, len(outline) // _MANY)
        lines += [np.stack(pair) for pair in list(zip(*shares, strict=True))[::every]]
    return one.kind, lines, one.name


def _number(plan: MapDrawing, one: NamedMark) -> int:
    return plan.view.places.index(one.place)


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
