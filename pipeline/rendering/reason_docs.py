"""Drawings for the documentation: an example picture of each reason and finding, and the figure of a near miss."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

import numpy as np
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.drawing.canvas import LINE, TEXT, Canvas, CanvasBox
from pipeline.drawing.fonts import lines_of, width_of
from pipeline.drawing.ground import Chart, Ground, draw_sketch, points_to_show
from pipeline.drawing.sheet import WIDTH, Sheet, SheetPart
from pipeline.rendering.near_misses import NearMiss, told_apart
from pipeline.rendering.reason_examples import FileExcerpt, ReasonExample, SeenObject
from pipeline.review.maps import spoken_of

MOST_BYTES: Final = 16_000
_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)(\{[^{}]*\})")
_DARK: Final = "@media (prefers-color-scheme:dark){"
_CLASS: Final = re.compile(r"\.([a-z]+)")
_USED: Final = re.compile(r'class="([^"]*)"')
_MORE: Final = ".bold{font-weight:700}.mono{font-family:ui-monospace,'DejaVu Sans Mono','Noto Sans',monospace}"


def picture(example: ReasonExample, meaning: str) -> bytes:
    """The example of a reason or finding as SVG."""
    parts = [head(example.name, meaning), *_parts(example)]
    return sheet_of(f"{example.name}: {meaning}", parts)


def sheet_of(title: str, parts: Sequence[SheetPart]) -> bytes:
    """Parts below one another as SVG, with those colours alone that they need."""
    return _slim(Sheet(title, parts).svg()).encode()


def _parts(example: ReasonExample) -> list[SheetPart]:
    parts = []
    rows = [("question", example.asked)] if example.asked else []
    rows = [*rows, *example.words]
    if not example.asked and not example.message and example.about:
        rows = [("about", ", ".join(example.about)), *rows]
    if rows:
        parts.append(written([(name, text or "") for name, text in rows]))
    if example.file is not None:
        parts.append(excerpt(example.file))
    if example.around:
        parts.append(around(example, example.around))
    elif example.top_down_map is not None:
        parts.append(plan(example, example.top_down_map))
    if example.heights:
        parts.append(heights(example))
    if example.message is not None:
        parts.append(message(example))
    if example.measured is not None and example.limit is not None:
        beyond = "refused" if example.severity is None else example.severity
        parts.append(gauge(example.measured, example.limit, example.unit or "", beyond))
    return parts


def _slim(svg: str) -> str:
    """The drawing with those rules of its style alone that it needs: there are many drawings."""
    body = _STYLE.sub("", svg)
    used = {name for names in _USED.findall(body) for name in names.split()}
    sheet = next(iter(_STYLE.findall(svg)))
    light, _, dark = sheet.partition(_DARK)
    kept = [_needed(rules, used) for rules in (light + _MORE, dark.rstrip().removesuffix("}"))]
    return _STYLE.sub(lambda _: f"<style>{kept[0]}{_DARK}{kept[1]}}}</style>", svg, count=1)


def _needed(rules: str, used: set[str]) -> str:
    found = []
    for selectors, body in _RULE.findall(rules):
        kept = [one for one in selectors.split(",") if set(_CLASS.findall(one)) <= used]
        if kept:
            found.append(",".join(kept) + body)
    return "".join(found)


KINDS: Final = "abcdef"  # classes of what is marked, in order
_PAD: Final = 10.0
_SMALL: Final = 11
_BOLD: Final = 1.1  # bold letters are about so many times as wide
_TALLEST: Final = 320.0  # of a map
_LOW: Final = 200.0  # of a map on which nothing is marked
_MOST_NAMED: Final = 8  # things of a map that have their names beside them
_SAME: Final = 0.01  # share by which a drawn length may differ from what was measured, to be called that
_THREE: Final = 3  # things between which there is an angle
_ZOOM: Final = 0.2  # of the larger one: a value and its limit that are nearer than this are shown without zero
_STRIP: Final = 150.0
_DOWN: Final = -50.0  # degrees of a panorama that are shown
_UP: Final = 50.0
_LETTERS: Final = 78  # of a line of a file
_SEVERITY: Final = {"fault": "a", "doubt": "e", "note": "b"}
_BEYOND: Final = {
    "fault": "its scene is left out",
    "doubt": "strict asks nothing that it touches",
    "note": "for information",
}


def head(name: str, meaning: str) -> SheetPart:
    """The name, and what it means."""
    lines = lines_of(meaning, TEXT, WIDTH - 2 * _PAD)
    canvas = Canvas(WIDTH, 26 + LINE * len(lines) + 4)
    canvas.text("name", (_PAD, 20), name, size=16)
    for n, line in enumerate(lines):
        canvas.text("note", (_PAD, 40 + n * LINE), line)
    return SheetPart(canvas, {"part": "head"})


def written(rows: Sequence[tuple[str, str]]) -> SheetPart:
    """The written texts, each with its name before it."""
    left = max(width_of(name, 12) for name, _ in rows) + 2 * _PAD
    lines = [(name if n == 0 else "", line) for name, text in rows for n, line in enumerate(_some(text, left))]
    canvas = Canvas(WIDTH, LINE * len(lines) + 12)
    for n, (name, line) in enumerate(lines):
        y = 18 + n * LINE
        canvas.text("note", (_PAD, y), name, size=12)
        canvas.text("told", (left, y), line)
    return SheetPart(canvas, {"part": "written"})


def _some(text: str, left: float, most: int = 5) -> list[str]:
    lines = lines_of(text, TEXT, WIDTH - left - _PAD)
    return lines if len(lines) <= most else [*lines[: most - 1], "…"]


def message(example: ReasonExample) -> SheetPart:
    """A finding as doctor, report and quarantine tell it."""
    severity = example.severity or "note"
    told = lines_of(example.message or "", TEXT, (WIDTH - 2 * _PAD) / _BOLD)[:6]
    helps = lines_of(f"Remedy: {example.remedy}", TEXT, WIDTH - 2 * _PAD)[:4]
    canvas = Canvas(WIDTH, 34 + LINE * (len(told) + len(helps)) + 8)
    wide = width_of(severity, 12, bold=True) + 14
    canvas.shape(_SEVERITY[severity], [[(_PAD, 7), (_PAD + wide, 7), (_PAD + wide, 25), (_PAD, 25)]])
    canvas.text("bold", (_PAD + 7, 20), severity, size=12)
    canvas.text("note", (_PAD + wide + 8, 20), _BEYOND[severity], size=12)
    for n, line in enumerate(told):
        canvas.text("bold", (_PAD, 44 + n * LINE), line)
    for n, line in enumerate(helps, len(told)):
        canvas.text("note", (_PAD, 44 + n * LINE), line)
    return SheetPart(canvas, {"part": "message"})


def excerpt(file: FileExcerpt) -> SheetPart:
    """A file, and the line in it that is at fault."""
    canvas = Canvas(WIDTH, 26 + 15 * len(file.lines) + (8 if file.lines else 2))
    size = "is not there" if file.size is None else f"{file.size:,} bytes"
    canvas.text("bold", (_PAD, 18), file.name, size=12)
    canvas.text("note", (WIDTH - _PAD, 18), size, "end", 12)
    for n, line in enumerate(file.lines):
        y = 36 + n * 15
        if file.first + n == file.marked:
            canvas.shape("a", [[(4, y - 11), (WIDTH - 4, y - 11), (WIDTH - 4, y + 4), (4, y + 4)]])
        cut = line if len(line) <= _LETTERS else f"{line[: _LETTERS - 1]}…"
        canvas.text("mono", (_PAD, y), cut.replace(" ", "\u00a0"), size=_SMALL)  # else indents are lost
    return SheetPart(canvas, {"part": "file"})


def gauge(measured: float, limit: float, unit: str, beyond: str) -> SheetPart:
    """A value on a line with its limit, and what is said of values beyond it."""
    canvas = Canvas(WIDTH, 66)
    one, other = told_apart(measured, limit)
    away = abs(measured - limit)
    low, high = min(measured, limit), max(measured, limit)
    if 0 < away < _ZOOM * max(abs(low), abs(high)):
        low, high = low - 1.2 * away, high + 1.2 * away
    else:
        room = 0.3 * max(high - min(low, 0.0), 1e-9) or 1.0
        low, high = min(low, 0.0) - (room if low < 0 or measured < limit <= 0 else 0.0), max(high, 0.0) + room
    left, right, y = 40.0, WIDTH - 40.0, 34.0

    def at(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    end = right if measured > limit else left
    if measured != limit:
        canvas.shape("wedge", [[(at(limit), y - 9), (end, y - 9), (end, y + 9), (at(limit), y + 9)]])
        canvas.text("small", ((at(limit) + end) / 2, y + 26), beyond, "middle", _SMALL)
    canvas.line("tick", [(left, y), (right, y)])
    canvas.line("scale", [(at(limit), y - 13), (at(limit), y + 13)])
    canvas.dot("a dot", (at(measured), y), 6.5)
    canvas.keep_free(CanvasBox(at(limit) - 2, y - 14, at(limit) + 2, y + 14))
    canvas.label("name", (at(measured), y), f"{one} {unit}", 11, 12)
    canvas.label("value", (at(limit), y + 10), f"limit {other}", 14, 12)
    return SheetPart(canvas, {"part": "gauge", "measured": f"{measured:g}", "limit": f"{limit:g}"})


def plan(example: ReasonExample, sketch: TopDownMap) -> SheetPart:
    """The scene from above with what the example is about."""
    labels = spoken_of(sketch, example.about)
    order = {
        name: n for n, name in enumerate(dict.fromkeys([*(o for o in example.about if o in labels), *sorted(labels)]))
    }
    marked = [thing for thing in sketch.things if thing.label in labels]
    ground = Ground(points_to_show(sketch), WIDTH, _TALLEST if marked else _LOW)
    canvas = ground.canvas()
    draw_sketch(canvas, ground, sketch)
    _asked_stretch(canvas, ground, example, sketch)
    for thing in marked:
        kind = KINDS[order[thing.label] % len(KINDS)]
        outline = ground.at(thing.outline)
        if len(outline) > 2:
            canvas.shape(kind, [outline], thing.label)
        else:
            canvas.dot(f"{kind} dot", outline[0], 5.0, thing.label)
    _measure(canvas, ground, example, marked)
    for thing in marked if len(marked) <= _MOST_NAMED else list({thing.label: thing for thing in marked}.values()):
        outline = ground.at(thing.outline)
        canvas.label("name", (outline[:, 0].mean(), outline[:, 1].min()), thing.label, 6.0)
    return SheetPart(canvas, ground.told())


def _asked_stretch(canvas: Canvas, ground: Ground, example: ReasonExample, sketch: TopDownMap) -> None:
    """The part of the way that the question or the finding is about, and where the camera is at its end."""
    path = np.array(sketch.path, dtype=np.float64).reshape(-1, 3)
    if len(path) < 2:
        return
    parts = example.stretches
    if example.until_s is not None:
        parts = ((example.from_s or 0.0, example.until_s),)
    for start, end in parts:
        part = path[(path[:, 0] >= start) & (path[:, 0] <= end)]
        if len(part) > 1:
            canvas.line("way", ground.at(part[:, 1:]))
    if example.until_s is not None:
        before = path[path[:, 0] <= example.until_s]
        last = before[-1] if len(before) else path[0]
        moved = path[:, 1:][np.hypot(*(path[:, 1:] - last[1:]).T) > 0]
        tip = ground.at(last[1:])
        canvas.dot("here", tip, 5.0, f"{example.until_s:g} s")
        if len(before) > 1 and len(moved):
            along = ground.at(before[-1, 1:]) - ground.at(before[-2, 1:])
            if np.hypot(*along) > 0:
                canvas.arrow("nose", tip, tip + 26 * along / np.hypot(*along), 7.0)


def _measure(canvas: Canvas, ground: Ground, example: ReasonExample, marked: Sequence[MappedThing]) -> None:
    """The length that was measured, where it is one between two of the marked things; the ways between three."""
    first = {thing.label: thing for thing in reversed(marked)}
    things = [first[name] for name in example.about if name in first]
    if len(example.about) == len(things) == _THREE:
        stand, *others = (ground.at(_middle(thing)) for thing in things)
        for other in others:
            canvas.arrow("aid", stand, other)
    if example.unit != "m" or example.measured is None:
        return
    for n, one in enumerate(things):
        for two in things[n + 1 :]:
            for line in (_closest(one, two), np.array([_middle(one), _middle(two)])):
                if abs(float(np.hypot(*(line[1] - line[0]))) - example.measured) <= _SAME * example.measured:
                    canvas.line("measure", ground.at(line), {"fact": example.name, "subject": two.label})
                    canvas.label("value", ground.at(line).mean(0), f"{example.measured:.4g} m", 8.0, 12)
                    return


def _middle(thing: MappedThing) -> FloatArray:
    return np.asarray(thing.outline, dtype=np.float64).mean(0)


def _closest(one: MappedThing, two: MappedThing) -> FloatArray:
    shapes = [shapely.MultiPoint(t.outline).convex_hull for t in (one, two)]
    return np.array(shapely.shortest_line(*shapes).coords)


def heights(example: ReasonExample) -> SheetPart:
    """How high a flight was, with the stretches that are meant."""
    t_s, metres = np.array(example.heights, dtype=np.float64).T
    chart = Chart("height above take-off", t_s - min(float(t_s.min()), 0.0), metres, float(np.ptp(t_s)) or 1.0, None)
    parts = example.stretches
    if example.until_s is not None:
        parts = ((example.from_s or 0.0, example.until_s),)
    for start, end in parts:
        chart.stretch("wedge", max(start, 0.0), min(end, float(t_s.max())), "stretch")
    return chart.part("heights")


def around(example: ReasonExample, seen: Sequence[SeenObject]) -> SheetPart:
    """A panorama from left to right, all of its sphere, with what is known to be seen in it."""
    canvas = Canvas(WIDTH, _STRIP)

    def at(yaw: float, pitch: float) -> tuple[float, float]:
        y = 14 + (_UP - min(max(pitch, _DOWN), _UP)) / (_UP - _DOWN) * (_STRIP - 34)
        return (yaw + 180.0) / 360.0 * WIDTH, y

    for yaw in (-180, -90, 0, 90, 180):
        canvas.line("aid", [at(yaw, _UP), at(yaw, _DOWN)])
        anchor = {-180: "start", 180: "end"}.get(yaw, "middle")
        canvas.text("small", (at(yaw, 0)[0], _STRIP - 5), f"{yaw}°", anchor, _SMALL)
    canvas.line("aid", [at(-180, 0), at(180, 0)])
    names = {name: n for n, name in enumerate(dict.fromkeys(example.about))}
    for one in sorted(seen, key=lambda one: one.label in names):
        kind = KINDS[names[one.label] % len(KINDS)] if one.label in names else "thing"
        for shift in (-360.0, 0.0, 360.0):
            left, right = one.yaw_deg + shift - one.width_deg / 2, one.yaw_deg + shift + one.width_deg / 2
            if right > -180 and left < 180:
                left, right = max(left, -180.0), min(right, 180.0)
                low, high = one.pitch_deg
                canvas.shape(kind, [[at(left, high), at(right, high), at(right, low), at(left, low)]], one.label)
        if one.label in names:
            canvas.label("name", at(one.yaw_deg, one.pitch_deg[1]), one.label, 5.0, 12)
    return SheetPart(canvas, {"part": "around"})


def near_miss_figure(near: NearMiss, sketch: TopDownMap | None) -> bytes | None:
    """SVG in the manner of a question's own drawing; None where there is nothing to be drawn of it.

    The map is left out where it would show nothing of what the candidate was about.
    """
    measured, limit = float(near.measured), float(near.limit)
    if not (math.isfinite(measured) and math.isfinite(limit)):
        return None
    example = ReasonExample(
        name=near.reason, met="", about=near.about, measured=measured, limit=limit, unit=near.unit, top_down_map=sketch
    )
    parts = [plan(example, sketch)] if sketch and spoken_of(sketch, near.about) else []
    title = f"Rejected: {near.measured} {near.unit}, limit {near.limit}"
    return sheet_of(title, [*parts, gauge(measured, limit, near.unit, "refused")])
