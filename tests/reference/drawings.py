"""Drawings for the documentation: an example picture of each reason and finding."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from pipeline.core.spatial import TopDownMap
from pipeline.drawing.canvas import LINE, TEXT, Canvas
from pipeline.drawing.fonts import lines_of, width_of
from pipeline.drawing.ground import Chart, Ground
from pipeline.drawing.sheet import WIDTH, SheetPart
from pipeline.rendering.near_misses import KINDS, gauge, plan, sheet_of
from tests.reference.examples import FileExcerpt, ReasonExample, SeenObject

MOST_BYTES: Final = 16_000


def picture(example: ReasonExample, meaning: str) -> bytes:
    """The example of a reason or finding as SVG."""
    parts = [head(example.name, meaning), *_parts(example)]
    return sheet_of(f"{example.name}: {meaning}", parts)


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
        parts.append(_map(example, example.top_down_map))
    if example.heights:
        parts.append(heights(example))
    if example.message is not None:
        parts.append(message(example))
    if example.measured is not None and example.limit is not None:
        beyond = "refused" if example.severity is None else example.severity
        parts.append(gauge(example.measured, example.limit, example.unit or "", beyond))
    return parts


_PAD: Final = 10.0
_SMALL: Final = 11
_BOLD: Final = 1.1  # bold letters are about so many times as wide
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


def _map(example: ReasonExample, sketch: TopDownMap) -> SheetPart:
    """The scene from above with what the example is about."""
    length_m = example.measured if example.unit == "m" else None
    beneath = partial(_asked_stretch, example=example, sketch=sketch)
    return plan(sketch, example.about, length_m, example.name, beneath)


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
