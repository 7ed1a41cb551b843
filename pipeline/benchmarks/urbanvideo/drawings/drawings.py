"""The drawings of all tasks of UrbanVideo-Bench."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.benchmark import Drawings, Footage
from pipeline.benchmarks.urbanvideo.drawings.measures import MEASURES
from pipeline.benchmarks.urbanvideo.drawings.plan import Drawn, Named, Plan, outline_of
from pipeline.benchmarks.urbanvideo.drawings.profile import heights
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.arrays import FloatArray
from pipeline.drawing.sheet import MOST_STILLS, Part, Sheet, Still
from pipeline.geometry.bearings import picture_xy
from pipeline.worlds.flight.places import shot_of

_MANY: Final = 60  # corners of an outline that are joined by upright lines; of more every so many


def draw(
    view: UrbanView, questions: Iterable[Mapping[str, Any]], footage: Footage | None
) -> Iterator[tuple[int, Sheet]]:
    """Question -> what is drawn of it."""
    plan = Plan(view)
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
        parts = [Part(drawn.map, drawn.ground.told()), heights(plan, row, drawn.flown), *drawn.parts]
        stills = _stills(plan, drawn, footage) if footage else ()
        yield int(row["id"]), Sheet(f"{row['task']}: {row['text']}", parts, drawn.notes, stills)


def _stills(plan: Plan, drawn: Drawn, footage: Footage) -> list[Still]:
    """The moments that are asked about, then the best picture of each landmark."""
    view = plan.view
    stills, shown = [], set()
    for second, words in sorted(drawn.seconds.items()):
        marks = [mark for one in drawn.named if (mark := _prism(plan, one, second))]
        shown |= {(name, round(second)) for _, _, name in marks}
        stills.append(Still(second, _frame(plan, footage, second), f"{second:.1f} s: {words}", marks))
    for one in drawn.named:
        shot = shot_of(view.flight, one.place.index, view.end_s)
        if shot is not None and not {(one.name, round(shot.second) + more) for more in (-1, 0, 1)} & shown:
            left, top, right, bottom = shot.box
            corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])
            mark = _prism(plan, one, shot.second) or (one.kind, [corners], one.name)
            caption = f"{shot.second:.1f} s: {one.name}"
            stills.append(Still(shot.second, _frame(plan, footage, shot.second), caption, [mark]))
    return stills[:MOST_STILLS]


def _frame(plan: Plan, footage: Footage, second: float) -> Any:
    return footage(min(max(second, 0.0), plan.view.end_s))


def _prism(plan: Plan, one: Named, second: float) -> tuple[str, list[FloatArray], str] | None:
    """The edges of a landmark in the picture at a second; None where it is not in view, or its place not known."""
    view, place = plan.view, one.place
    index, camera = view.index(second), view.flight.camera
    if index is None or camera is None or np.isnan(place.base_m) or view.in_view_s(_number(plan, one), second) < 0:
        return None
    outline = outline_of(place)
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


def _number(plan: Plan, one: Named) -> int:
    return plan.view.places.index(one.place)


DRAWINGS: Final = Drawings(module=__name__, draw=draw)
