"""The picture of a dataset card: a question with its map, how many there are of each task, and what their answers are.

Drawn of the release's own numbers and of a scene's outlines; no pixel of any raw data is in it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from heapq import nsmallest
from typing import Any, Final

import pyarrow as pa
from PIL import Image, ImageChops, ImageDraw, ImageFont, ImageOps

from pipeline.core.findings import printable
from pipeline.core.identity import digest
from pipeline.core.spatial import Point, TopDownMap
from pipeline.drawing.fonts import font as font_of
from pipeline.rendering.figures import AnswerFigure, answers_of
from pipeline.review.maps import spoken_of

SIZE: Final = (1200, 675)
TRIED: Final = 100  # questions, until one has a map with things marked
_MARKED: Final = (2, 5)  # things that its map marks
_ROWS: Final = 12  # tasks
_FINE: Final = 2  # shapes are drawn so many times as large, and reduced
_MAP: Final = (40, 128, 590, 488)
_BELOW: Final = 12  # a picture that has its own words
_COLUMNS: Final = ((40, 560), (640, 1160))  # of tasks: the right one, or both where there is no map
_TOP: Final = 132
_TEXT_MOST: Final = 240  # characters of the question
_LABEL_MOST: Final = 26
_SHADES: Final = ("#1d5c63", "#3f8f97", "#7db8bd", "#b5d8da", "#d97706", "#eab26b", "#8a6d3b", "#c4ad86")
_INK: Final = {"paper": "#ffffff", "ink": "#22282b", "soft": "#565f63", "line": "#d9d7d0", "ground": "#efece4"}
_INK_OF_MAP: Final = {"thing": "#d3cfc3", "edge": "#8a908b", "marked": "#e19a45", "path": "#3f7f88"}
Box = tuple[int, int, int, int]
_LEAST_M: Final = 2.0
_AROUND: Final = 0.25  # of the path's extent, where there is no ground


def overview(
    title: str,
    told: str,
    asked: pa.Table,
    sketch: Callable[[str], TopDownMap],
    captioned: Callable[[int], bytes | None] = lambda question: None,
) -> bytes:
    """PNG of 1200 x 675 pixels, the same bytes every time.

    Args:
        title: of the release.
        told: a line below it.
        asked: its questions (`tables.QUESTIONS`).
        sketch: a scene from above, by its id.
        captioned: PNG of a question's map with its words, by its id, where the benchmark draws one: better than ours.
    """
    own = _captioned(asked, captioned)
    shapes = Image.new("RGB", (SIZE[0] * _FINE, SIZE[1] * _FINE), _INK["paper"])
    chosen = _chosen(asked, sketch) if own is None else None
    words: list[tuple[float, float, str]] = []
    if chosen is not None:
        words = _map(shapes, chosen[1], spoken_of(chosen[1], chosen[0]["operands"] or ()))
    answers = answers_of(asked.select(["task", "answer"]).to_pylist())
    places = _places(both=chosen is None and own is None)
    _bars(ImageDraw.Draw(shapes), answers, places)
    picture = shapes.resize(SIZE, Image.Resampling.BOX)
    draw = ImageDraw.Draw(picture)
    _text(draw, (40, 30), title, 34, "ink")
    _text(draw, (40, 80), told, 18, "soft")
    for x, y, name in words:
        _label(draw, x, y, name)
    if chosen is not None:
        _question(draw, chosen[0])
    if own is not None:
        picture.paste(own, _MAP[:2])
    _names(draw, answers, places)
    out = io.BytesIO()
    picture.save(out, "PNG")  # `optimize` takes four times as long, and saves a fiftieth
    return out.getvalue()


def _first(asked: pa.Table) -> list[int]:
    """Rows of some questions, by nothing but their ids."""
    first = nsmallest(TRIED, enumerate(asked["id"].to_pylist()), key=lambda one: digest("overview", str(one[1])))
    return [place for place, _ in first]


def _captioned(asked: pa.Table, captioned: Callable[[int], bytes | None]) -> Image.Image | None:
    """The picture of the first question that has one, as large as there is room."""
    ids = asked["id"].to_pylist()
    raw = next((raw for row in _first(asked) if (raw := captioned(ids[row])) is not None), None)
    if raw is None:
        return None
    picture = Image.open(io.BytesIO(raw)).convert("RGB")
    return ImageOps.contain(picture, (_MAP[2] - _MAP[0], SIZE[1] - _MAP[1] - _BELOW), Image.Resampling.LANCZOS)


def _chosen(asked: pa.Table, sketch: Callable[[str], TopDownMap]) -> tuple[Mapping[str, Any], TopDownMap] | None:
    """A question whose map shows what it speaks of, by nothing but the ids; None where none of the first has one."""
    sketch = cache(sketch)
    for row in asked.take(pa.array(_first(asked), pa.int64())).to_pylist():
        if len(row["text"]) > _TEXT_MOST:
            continue
        seen = sketch(row["scene"])
        marked = spoken_of(seen, row["operands"] or ())
        shown = [thing for thing in seen.things if thing.label in marked]
        has_extent = bool(seen.ground or seen.path) or all(len(thing.outline) > 2 for thing in shown)
        if has_extent and _MARKED[0] <= len(shown) <= _MARKED[1]:
            return row, seen
    return None


def _map(picture: Image.Image, sketch: TopDownMap, marked: frozenset[str]) -> list[tuple[float, float, str]]:
    """Draws a scene from above; gives the names of what is marked, with their places in the final picture."""
    path = [(x, y) for _, x, y in sketch.path]
    points = [point for outline in sketch.ground for point in outline] + path
    alone = not points  # of released metadata, which have neither floor nor camera
    points += [point for thing in sketch.things if alone or thing.label in marked for point in thing.outline]
    (left, right), (low, high) = ((min(v), max(v)) for v in zip(*points, strict=True))
    room = 0.0 if sketch.ground or alone else _AROUND * max(right - left, high - low)
    left, right, low, high = left - room, right + room, low - room, high + room
    x0, y0, x1, y1 = (side * _FINE for side in _MAP)
    scale = min((x1 - x0) / max(right - left, _LEAST_M), (y1 - y0) / max(high - low, _LEAST_M))
    dx, dy = ((x1 - x0) - scale * (right - left)) / 2, ((y1 - y0) - scale * (high - low)) / 2

    def at(point: Point) -> tuple[float, float]:
        return dx + (point[0] - left) * scale, dy + (high - point[1]) * scale

    part = Image.new("RGB", (x1 - x0, y1 - y0), _INK["paper"])
    mask = Image.new("1", part.size)
    for outline in sketch.ground:  # by the even-odd rule
        one = Image.new("1", part.size)
        ImageDraw.Draw(one).polygon([at(point) for point in outline], fill=1)
        mask = ImageChops.logical_xor(mask, one)
    part.paste(_INK["ground"], mask=mask)
    draw, words = ImageDraw.Draw(part), []
    for thing in sorted(sketch.things, key=lambda thing: thing.label in marked):
        is_marked = thing.label in marked
        corners = [at(point) for point in thing.outline]
        fill = _INK_OF_MAP["marked" if is_marked else "thing"]
        if len(corners) > 2:
            draw.polygon(corners, fill=fill, outline=_INK["ink"] if is_marked else _INK_OF_MAP["edge"], width=_FINE)
        else:
            draw.circle(corners[0], 5 * _FINE, fill=fill, outline=_INK["ink"])
        if is_marked:
            middle = sum(x for x, _ in corners) / len(corners)
            name = thing.label if len(thing.label) <= _LABEL_MOST else f"{thing.label[: _LABEL_MOST - 1]}…"
            words.append(((middle + x0) / _FINE, (min(y for _, y in corners) + y0) / _FINE - 4, name))
    if len(path) > 1:
        draw.line([at(point) for point in path], fill=_INK_OF_MAP["path"], width=2 * _FINE, joint="curve")
    if path:
        draw.circle(at(path[0]), 6 * _FINE, fill=_INK["paper"], outline=_INK_OF_MAP["path"], width=2 * _FINE)
    picture.paste(part, (x0, y0))
    return words


def _question(draw: ImageDraw.ImageDraw, row: Mapping[str, Any]) -> None:
    """The question of the map, below it."""
    lines = _wrapped(" ".join(str(row["text"]).split()), 19, _MAP[2] - _MAP[0], 4)
    for number, line in enumerate(lines):
        _text(draw, (_MAP[0], _MAP[3] + 22 + 26 * number), line, 19, "ink")
    answer = _wrapped(f"Answer: {' '.join(str(row['answer']).split())}", 19, _MAP[2] - _MAP[0], 1)
    _text(draw, (_MAP[0], _MAP[3] + 30 + 26 * len(lines)), answer[0], 19, "soft")


def _places(both: bool) -> list[tuple[int, int, int]]:
    """Left, right and top of the rows of tasks."""
    columns = _COLUMNS if both else _COLUMNS[1:]
    return [(left, right, _TOP + 42 * number) for left, right in columns for number in range(_ROWS)]


def _bars(draw: ImageDraw.ImageDraw, answers: Sequence[AnswerFigure], places: Sequence[tuple[int, int, int]]) -> None:
    """How the answers of each task are spread: parts of a bar, or a histogram of numbers."""
    for one, at in zip(answers, places, strict=False):
        left, right, top = at[0] * _FINE, at[1] * _FINE, (at[2] + 20) * _FINE
        height, width = 12 * _FINE, right - left
        if one.bars:
            most = max(bar.n for bar in one.bars)
            step = width / len(one.bars)
            for place, bar in enumerate(one.bars):
                tall = height * bar.n / most
                x = left + place * step
                if bar.n:
                    draw.rectangle((x, top + height - tall, x + step - _FINE, top + height), fill=_SHADES[0])
            continue
        x = float(left)
        for place, share in enumerate(one.shares):
            end = x + width * share.n / one.n
            draw.rectangle((x, top, max(end - _FINE, x), top + height), fill=_SHADES[place % len(_SHADES)])
            x = end
        if one.rest:
            draw.rectangle((x, top, right, top + height), fill=_INK["line"])


def _names(draw: ImageDraw.ImageDraw, answers: Sequence[AnswerFigure], places: Sequence[tuple[int, int, int]]) -> None:
    for one, (left, right, top) in zip(answers, places, strict=False):
        _text(draw, (left, top - 3), _wrapped(one.task, 15, right - left - 90, 1)[0], 15, "ink")
        count = f"{one.n:,}"
        _text(draw, (right - font_of(15).getlength(count), top - 3), count, 15, "ink")
    left, _, top = places[0]
    _text(draw, (left, top - 30), "Questions of each task, and how their answers are spread", 15, "soft")
    if len(answers) > len(places):
        left, _, top = places[-1]
        _text(draw, (left, top + 42), f"and {len(answers) - len(places)} more", 15, "soft")


def _label(draw: ImageDraw.ImageDraw, x: float, y: float, name: str) -> None:
    """A name above what it is of, within the map."""
    half = font_of(15).getlength(name) / 2
    x = min(max(x, _MAP[0] + half), _MAP[2] - half)
    y = max(y, _MAP[1] + 14)
    ink, paper = _INK["ink"], _INK["paper"]
    draw.text((x, y), printable(name), font=font_of(15), anchor="ms", fill=ink, stroke_width=3, stroke_fill=paper)


def _wrapped(text: str, size: int, width: float, most: int) -> list[str]:
    """A text in lines that fit, the last one cut where there would be more."""
    lines, font = [""], font_of(size)
    for word in printable(text).split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if font.getlength(longer) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    if len(lines) > most:
        lines = [*lines[: most - 1], f"{lines[most - 1]} …"]
    return [_cut(line, font, width) for line in lines]


def _cut(line: str, font: ImageFont.FreeTypeFont, width: float) -> str:
    while font.getlength(line) > width:
        line = f"{line[:-2]}…"
    return line


def _text(draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, ink: str) -> None:
    draw.text(at, _cut(printable(text), font_of(size), SIZE[0] - 40 - at[0]), fill=_INK[ink], font=font_of(size))
