"""Example pictures of reasons and findings, for the documentation: a scene from above with what was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from pipeline.core.schema import Finding
from pipeline.core.sketch import Sketch, Thing
from pipeline.export.gallery.maps import STYLE
from pipeline.export.report.refused import told_apart
from pipeline.review.maps import WIDTH, map_after, spoken_of

MOST_BYTES: Final = 16_000
MOST_MARKED: Final = 6  # things; where more are, their common name does not tell which is meant
SHOWN_WIDTH: Final = 400  # on a page
NEAR: Final = 1.5  # of the extent of what is marked, shown around it where a whole scene would be too much
_HEAD: Final = 58.0
_LETTERS: Final = 74  # of a line of the head
_VIEW: Final = re.compile(r'viewBox="0 0 [\d.]+ ([\d.]+)"')
_WORDS: Final = (
    "<style>.paper{fill:#fff}.told{font:17px system-ui,'DejaVu Sans',sans-serif;fill:#22282b}.bold{font-weight:600}"
)
_DARK: Final = "@media(prefers-color-scheme:dark){.paper{fill:#1e2426}.told{fill:#e6e8e6}}</style>"


def of_rejection(row: Mapping[str, Any], sketch: Sketch) -> bytes | None:
    """A rejected candidate, a row of `tables.REJECTIONS`; None where the map shows nothing that it speaks of."""
    measured, limit, unit = row["measured"], row["limit"], row["unit"] or ""
    about = tuple(row["operands"] or ())
    if measured is not None and limit is not None:
        one, other = told_apart(measured, limit)
        told = f"{one} {unit}, limit {other}"
    else:
        told = "nothing is measured" if measured is None else f"{measured:.6g} {unit}"
    return _drawn(sketch, about, row["reason"], f"{told}: {', '.join(about)}")


def of_finding(finding: Finding, sketch: Sketch) -> bytes | None:
    """A finding about a thing of a scene; None where the map does not show it."""
    return _drawn(sketch, (finding.subject,), finding.name, finding.message)


def _drawn(sketch: Sketch, about: Sequence[str], name: str, told: str) -> bytes | None:
    marked = spoken_of(sketch, about)
    if not 0 < sum(thing.label in marked for thing in sketch.things) <= MOST_MARKED:
        return None
    if not sketch.ground and not sketch.path:  # such as of what is seen from one place: distances say nothing there
        return None
    whole = _picture(map_after(sketch, about, None), name, told)
    if whole is None or len(whole) <= MOST_BYTES:
        return whole
    near = _picture(map_after(_around(sketch, marked), about, None), name, told)
    return near if near is not None and len(near) <= MOST_BYTES else None


def _around(sketch: Sketch, marked: frozenset[str]) -> Sketch:
    """What lies about the marked things; the path only where it is there."""
    points = [point for thing in sketch.things if thing.label in marked for point in thing.outline]
    (left, right), (low, high) = ((min(values), max(values)) for values in zip(*points, strict=True))
    room = NEAR * max(right - left, high - low, 10.0)

    def is_near(point: Sequence[float]) -> bool:
        return left - room <= point[0] <= right + room and low - room <= point[1] <= high + room

    def stays(thing: Thing) -> bool:
        return thing.label in marked or all(map(is_near, thing.outline))

    path = tuple(step for step in sketch.path if is_near(step[1:]))
    return Sketch(things=tuple(filter(stays, sketch.things)), path=path[:: max(1, len(path) // 100)])


def _picture(drawn: str | None, name: str, told: str) -> bytes | None:
    """SVG of a map below its words."""
    view = _VIEW.search(drawn) if drawn else None
    if drawn is None or view is None:
        return None
    height = float(view[1]) + _HEAD
    inner = drawn.split(">", 1)[1].removesuffix("</svg>")
    cut = told if len(told) <= _LETTERS else f"{told[:_LETTERS]}…"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:g} {height:g}" width="{SHOWN_WIDTH}">'
        f'{STYLE}{_WORDS}{_DARK}<rect class="paper" width="100%" height="100%"/>'
        f'<text class="told bold" x="10" y="24">{escape(name)}</text>'
        f'<text class="told" x="10" y="48">{escape(cut)}</text>'
        f'<svg y="{_HEAD:g}" width="{WIDTH:g}" height="{view[1]}">{inner}</svg></svg>\n'
    ).encode()
