"""The picture of a dataset card: a question with what was measured, how many there are of each task, and their answers.

Drawn of the release's own numbers and of a scene's outlines; no pixel of any raw data is in it.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import pyarrow as pa
from PIL import Image, ImageDraw, ImageOps

from pipeline.core.findings import printable
from pipeline.core.spatial import TopDownMap
from pipeline.drawing.fonts import font as font_of
from pipeline.drawing.fonts import lines_of, shortened, width_of
from pipeline.drawing.raster import as_png
from pipeline.drawing.sheet import map_alone, pixels_of
from pipeline.rendering.figures import AnswerFigure, answer_figures
from pipeline.review.maps import is_marked, map_after, map_file, operand_ids

SIZE: Final = (1200, 675)
_MARKED: Final = (2, 5)  # things that its map marks
_ROWS: Final = 12  # tasks
_MAP: Final = (40, 128, 590, 488)
_BELOW: Final = 12  # a picture that has its own words
_COLUMNS: Final = ((40, 560), (640, 1160))  # of tasks: the right one, or both where there is no map
_TOP: Final = 132
_TEXT_MOST: Final = 240  # characters of the question
_SHADES: Final = ("#1d5c63", "#3f8f97", "#7db8bd", "#b5d8da", "#d97706", "#eab26b", "#8a6d3b", "#c4ad86")
# Of a drawing's elements (classes, as SVG has them): the ink that tells of each, and what it means.
_LEGEND: Final = (
    (rb'class="thing marked"', "#d97706", "what it names"),
    (rb'class="[a-f]"', "#d1495b", "what it names, each in its colour"),
    (rb'class="measure', "#c2410c", "what was measured"),
    (rb'class="way', "#2b62b8", "the way asked about"),
    (rb'class="path', "#7d8aa5", "way of the camera"),
)
_INK: Final = {"paper": "#ffffff", "ink": "#22282b", "soft": "#565f63", "line": "#d9d7d0"}


def overview(
    title: str,
    subtitle: str,
    asked: pa.Table,
    answers: Mapping[str, Counter[str]],
    sketch: Callable[[str], TopDownMap],
    captioned: Callable[[int], bytes | None] = lambda question: None,
    drawing: Callable[[int], bytes | None] = lambda question: None,
) -> bytes:
    """PNG of 1200 x 675 pixels, the same bytes every time.

    Args:
        title: of the release.
        subtitle: a line below it.
        asked: some of its questions (`tables.QUESTIONS`), of which the first fit is shown.
        answers: task -> how often each answer is given.
        sketch: a scene from above, by its id.
        captioned: PNG of a question's map with its words, by its id, where the benchmark draws one: better than ours.
        drawing: SVG of what was measured for a question (`Sheet.svg`), where there is one: better than a map.
    """
    own = _captioned(asked, captioned)
    measured = _measured(asked, drawing) if own is None else None
    chosen = _chosen(asked, sketch) if own is None and measured is None else None
    figures = answer_figures(answers)
    places = _places(both=chosen is None and own is None and measured is None)
    picture = Image.new("RGB", SIZE, _INK["paper"])
    draw = ImageDraw.Draw(picture)
    _bars(draw, figures, places)
    _text(draw, (40, 30), title, 34, "ink")
    _text(draw, (40, 80), subtitle, 18, "soft")
    shown = measured or (
        chosen and (chosen[0], map_file(map_after(chosen[1], chosen[0]["operands"] or (), None) or ""))
    )
    if shown:
        row, svg = shown
        part = ImageOps.contain(
            pixels_of(svg.decode()), (_MAP[2] - _MAP[0], _MAP[3] - _MAP[1]), Image.Resampling.LANCZOS
        )
        picture.paste(part, (_MAP[0], (_MAP[1] + _MAP[3] - part.height) // 2), part)
        _legend(draw, svg)
        _question(draw, row)
    if own is not None:
        picture.paste(own, _MAP[:2])
    _names(draw, figures, places)
    return as_png(picture)


def _captioned(asked: pa.Table, captioned: Callable[[int], bytes | None]) -> Image.Image | None:
    """The picture of the first question that has one, as large as there is room."""
    raw = next((raw for number in asked["id"].to_pylist() if (raw := captioned(number)) is not None), None)
    if raw is None:
        return None
    picture = Image.open(io.BytesIO(raw)).convert("RGB")
    return ImageOps.contain(picture, (_MAP[2] - _MAP[0], SIZE[1] - _MAP[1] - _BELOW), Image.Resampling.LANCZOS)


def _chosen(asked: pa.Table, sketch: Callable[[str], TopDownMap]) -> tuple[Mapping[str, Any], TopDownMap] | None:
    """A question whose map shows what it speaks of, by nothing but the ids; None where none of the first has one."""
    sketch = cache(sketch)
    for row in asked.to_pylist():
        if len(row["text"]) > _TEXT_MOST:
            continue
        seen = sketch(row["scene"])
        marked = operand_ids(seen, row["operands"] or ())
        shown = [thing for thing in seen.things if is_marked(thing, marked)]
        has_extent = bool(seen.ground or len(seen.path) > 1) or all(len(thing.outline) > 2 for thing in shown)
        if has_extent and _MARKED[0] <= len(shown) <= _MARKED[1]:
            return row, seen
    return None


def _measured(asked: pa.Table, drawing: Callable[[int], bytes | None]) -> tuple[Mapping[str, Any], bytes] | None:
    """A question whose drawing has a measuring line, with its map; one whose map is wide where the first have any."""
    found = None
    for row in asked.to_pylist():
        raw = drawing(row["id"]) if len(row["text"]) <= _TEXT_MOST else None
        part = map_alone(raw) if raw is not None and b'class="measure' in raw else None
        if part is None:
            continue
        found = found or (row, part.svg)
        if part.height <= (_MAP[3] - _MAP[1]) * part.width / (_MAP[2] - _MAP[0]):
            return row, part.svg
    return found


def _legend(draw: ImageDraw.ImageDraw, svg: bytes) -> None:
    """What the colours of a map mean, as far as they are in it, below it."""
    x, y = float(_MAP[0]), _MAP[3] + 6
    for pattern, ink, words in _LEGEND:
        if re.search(pattern, svg):
            draw.rectangle((x, y + 4, x + 14, y + 9), fill=ink)
            _text(draw, (x + 20, y - 2), words, 13, "soft")
            x += 20 + width_of(words, 13) + 18


def _question(draw: ImageDraw.ImageDraw, row: Mapping[str, Any]) -> None:
    """The question of the map, below it."""
    lines = _wrapped(" ".join(str(row["text"]).split()), 19, _MAP[2] - _MAP[0], 4)
    for number, line in enumerate(lines):
        _text(draw, (_MAP[0], _MAP[3] + 30 + 26 * number), line, 19, "ink")
    answer = _wrapped(f"Answer: {' '.join(str(row['answer']).split())}", 19, _MAP[2] - _MAP[0], 1)
    _text(draw, (_MAP[0], _MAP[3] + 36 + 26 * len(lines)), answer[0], 19, "soft")


def _places(both: bool) -> list[tuple[int, int, int]]:
    """Left, right and top of the rows of tasks."""
    columns = _COLUMNS if both else _COLUMNS[1:]
    return [(left, right, _TOP + 42 * number) for left, right in columns for number in range(_ROWS)]


def _bars(draw: ImageDraw.ImageDraw, answers: Sequence[AnswerFigure], places: Sequence[tuple[int, int, int]]) -> None:
    """How the answers of each task are spread: parts of a bar, or a histogram of numbers."""
    for one, at in zip(answers, places, strict=False):
        left, right, top = at[0], at[1], at[2] + 20
        height, width = 12, right - left
        if one.bars:
            most = max(bar.n for bar in one.bars)
            step = width / len(one.bars)
            for place, bar in enumerate(one.bars):
                tall = height * bar.n / most
                x = left + place * step
                if bar.n:
                    draw.rectangle((x, top + height - tall, x + step - 1, top + height), fill=_SHADES[0])
            continue
        x = float(left)
        for place, share in enumerate(one.shares):
            end = x + width * share.n / one.n
            draw.rectangle((x, top, max(end - 1, x), top + height), fill=_SHADES[place % len(_SHADES)])
            x = end
        if one.rest:
            draw.rectangle((x, top, right, top + height), fill=_INK["line"])


def _names(draw: ImageDraw.ImageDraw, answers: Sequence[AnswerFigure], places: Sequence[tuple[int, int, int]]) -> None:
    for one, (left, right, top) in zip(answers, places, strict=False):
        _text(draw, (left, top - 3), _wrapped(one.task, 15, right - left - 90, 1)[0], 15, "ink")
        count = f"{one.n:,}"
        _text(draw, (right - width_of(count, 15), top - 3), count, 15, "ink")
    left, _, top = places[0]
    _text(draw, (left, top - 30), "Questions of each task, and how their answers are spread", 15, "soft")
    if len(answers) > len(places):
        left, _, top = places[-1]
        _text(draw, (left, top + 42), f"and {len(answers) - len(places)} more", 15, "soft")


def _wrapped(text: str, size: int, width: float, most: int) -> list[str]:
    """A text in lines that fit, the last one cut where there would be more."""
    lines = lines_of(printable(text), size, width)
    return lines if len(lines) <= most else [*lines[: most - 1], shortened(f"{lines[most - 1]} …", size, width)]


def _text(draw: ImageDraw.ImageDraw, at: tuple[float, float], text: str, size: int, ink: str) -> None:
    words = shortened(printable(text), size, SIZE[0] - 40 - at[0])
    draw.text(at, words, fill=_INK[ink], font=font_of(size))
