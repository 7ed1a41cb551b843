"""A part of a drawing: elements of SVG with their classes, in units from its upper left corner."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.drawing.fonts import fits, shortened, width_of

TEXT: Final = 13  # units of a letter's height
LINE: Final = 17
_PAD: Final = 2.0
_TRIED: Final = 3  # places of a label are tried so many lines away
_LONG: Final = 0.6  # of the width of a part, from which a text is held to its length
_WIDER: Final = 0.3  # so much wider, of its half, a text may be in another font
_BOLD: Final = frozenset({"name", "value", "bold", "digit"})  # classes of texts
MONO: Final = "mono"


class CanvasBox(NamedTuple):
    """A rectangle: left, top, right, bottom."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: CanvasBox) -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )


class CanvasPhoto(NamedTuple):
    """A picture that fills a rectangle."""

    jpeg: bytes
    box: CanvasBox

    def element(self) -> str:
        """As SVG has it."""
        left, top, right, bottom = self.box
        place = f'x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}"'
        raw = base64.b64encode(self.jpeg).decode()
        return f'<image {place} preserveAspectRatio="none" href="data:image/jpeg;base64,{raw}"/>'


class PlacedPart(NamedTuple):
    """Another part, its upper left corner at a point; ``panel``: with a panel under it."""

    canvas: Canvas
    at: tuple[float, float]
    attributes: str
    cut: bool
    panel: bool

    def element(self, elements: str) -> str:
        """As SVG has it, with these elements in it."""
        (x, y), (width, height) = self.at, (self.canvas.width, self.canvas.height)
        if self.cut:
            return f'<svg x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{self.attributes}>{elements}</svg>'
        return f'<g transform="translate({x:g} {y:g})"{self.attributes}>{elements}</g>'

    def ground(self) -> str:
        """The shapes that lie under it."""
        (x, y), (width, height) = self.at, (self.canvas.width, self.canvas.height)
        outline = points_of([(x, y), (x + width, y), (x + width, y + height), (x, y + height)])
        return f'<path class="panel" d="M{outline}Z"/>' if self.panel else ""


class Canvas:
    """Collects elements. Positions are (n, 2) arrays or pairs; texts are escaped.

    Args:
        width: of the part.
        height: of the part.
    """

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self._parts: list[str | CanvasPhoto | PlacedPart] = []
        self._begun = 0  # so many parts were there when it was copied
        self._labels: list[str] = []  # above all else
        self._taken: list[CanvasBox] = []
        self._reaches_out = False

    def copy(self) -> Canvas:
        """The same, to be drawn on."""
        other = Canvas(self.width, self.height)
        other._parts, other._labels, other._taken = [*self._parts], [*self._labels], [*self._taken]
        other._reaches_out, other._begun = self._reaches_out, len(self._parts)
        return other

    def elements(self) -> str:
        """All that was drawn."""
        return "".join((*map(_svg_of, self._parts), *self._labels))

    def beginning(self) -> str:
        """The part that it had in common with others when it was copied, but for texts; "" where it is no copy."""
        return "".join(map(_svg_of, self._parts[: self._begun]))

    def rest(self) -> str:
        """All but pictures, panels and the beginnings: what lies above these."""
        return "".join((*map(_svg_above_ground, self._parts[self._begun :]), *self._labels))

    def placed(self) -> Iterator[PlacedPart]:
        """The parts that were put on it."""
        return (part for part in self._parts if isinstance(part, PlacedPart))

    def photos(self) -> Iterator[tuple[float, float, CanvasPhoto]]:
        """The pictures on it and on its parts, with their upper left corners."""
        for part in self._parts:
            if isinstance(part, CanvasPhoto):
                yield part.box.left, part.box.top, part
            elif isinstance(part, PlacedPart):
                yield from ((part.at[0] + x, part.at[1] + y, photo) for x, y, photo in part.canvas.photos())

    def shape(self, kind: str, outlines: Iterable[npt.ArrayLike], title: str = "", *, closed: bool = True) -> None:
        """Outlines, each (n, 2), as one path."""
        d = "".join(f"M{self._points(outline)}{'Z' if closed else ''}" for outline in outlines)
        if d:
            self._parts.append(f'<path class="{kind}" d="{d}"{_inner("path", title)}')

    def line(self, kind: str, points: npt.ArrayLike, attributes: Mapping[str, str] | None = None) -> None:
        """A line through points (n, 2); ``attributes`` says what it measures (`data-` attributes)."""
        self._parts.append(f'<path class="{kind}" d="M{self._points(points)}"{_data(attributes)}/>')

    def dot(self, kind: str, at: npt.ArrayLike, radius: float, title: str = "") -> None:
        """A circle."""
        x, y = _pair(at)
        self._parts.append(f'<circle class="{kind}" cx="{x}" cy="{y}" r="{radius:g}"{_inner("circle", title)}')

    def arc(self, kind: str, center: npt.ArrayLike, radius: float, start_deg: float, turn_deg: float) -> None:
        """An arc from a direction (counter-clockwise from the right, as on a map) on by ``turn_deg``."""
        steps = np.radians(np.linspace(start_deg, start_deg + turn_deg, max(2, int(abs(turn_deg) / 5) + 2)))
        middle = np.asarray(center, dtype=np.float64)
        self.line(kind, middle + radius * np.column_stack([np.cos(steps), -np.sin(steps)]))

    def arrow(self, kind: str, start: npt.ArrayLike, end: npt.ArrayLike, size: float = 9.0) -> None:
        """A line with a head at its end."""
        a, b = np.asarray(start, dtype=np.float64), np.asarray(end, dtype=np.float64)
        self.line(kind, [a, b])
        self.head(kind, b, b - a, size)

    def head(self, kind: str, tip: npt.ArrayLike, along: npt.ArrayLike, size: float = 9.0) -> None:
        """The head of an arrow that points along a direction."""
        b, way = np.asarray(tip, dtype=np.float64), np.asarray(along, dtype=np.float64)
        length = float(np.hypot(*way))
        if length > 0:
            way = way / length
            side = np.array([-way[1], way[0]])
            self.shape(f"{kind} head", [[b, b - size * way + size * 0.4 * side, b - size * way - size * 0.4 * side]])

    def text(
        self, kind: str, at: npt.ArrayLike, words: str, anchor: str = "start", size: int = TEXT, held: bool = False
    ) -> None:
        """A line of text whose baseline begins, ends or has its middle at a point; ``held``: to its length."""
        x, y = _pair(at)
        more = f' text-anchor="{anchor}"' if anchor != "start" else ""
        more += f' font-size="{size}"' if size != TEXT else ""
        bold = kind in _BOLD
        # Pages are read with other fonts, in which it would not fit.
        if kind != MONO and (held or not fits(words, size, _LONG * self.width, bold)):
            wide = width_of(words, size, bold)
            more += f' textLength="{wide:.1f}" lengthAdjust="spacingAndGlyphs"'
        self._labels.append(f'<text class="{kind}" x="{x}" y="{y}"{more}>{escape(words)}</text>')

    def label(self, kind: str, at: npt.ArrayLike, words: str, away: float = 8.0, size: int = TEXT) -> None:
        """A text beside a point where it covers no other, within the part."""
        x, y = (float(value) for value in np.asarray(at, dtype=np.float64))
        words = shortened(words, size, self.width - 4 * _PAD, bold=True)
        half, tall = width_of(words, size, bold=True) / 2 + _PAD, size * 0.75
        boxes = (self._label_box(*place, half, tall) for place in _label_places(x, y, away, half, tall))
        first = next(boxes)
        free = (box for box in chain([first], boxes) if not any(box.meets(other) for other in self._taken))
        box = next(free, first)
        self._taken.append(box)
        at_edge = min(box.left, self.width - box.right) < _WIDER * half
        self.text(kind, ((box.left + box.right) / 2, box.bottom - _PAD), words, "middle", size, at_edge)

    def keep_free(self, box: CanvasBox) -> None:
        """No label is put there."""
        self._taken.append(box)

    def image(self, jpeg: bytes, box: CanvasBox) -> None:
        """A picture."""
        self._parts.append(CanvasPhoto(jpeg, box))

    def put(
        self, other: Canvas, at: tuple[float, float], attributes: Mapping[str, str] | None = None, panel: bool = False
    ) -> None:
        """Another part, its upper left corner at a point; what is outside of it is cut off."""
        # Cutting off takes long, and most parts have nothing to be cut off.
        self._parts.append(PlacedPart(other, at, _data(attributes), other._reaches_out, panel))

    def _points(self, points: npt.ArrayLike) -> str:
        where = np.asarray(points, dtype=np.float64)
        self._reaches_out |= bool((where < 0).any() or (where > [self.width, self.height]).any())
        return points_of(where)

    def _label_box(self, middle: float, baseline: float, half: float, tall: float) -> CanvasBox:
        x = min(max(middle, half + _PAD), max(self.width - half - _PAD, half + _PAD))
        y = min(max(baseline, tall + 2 * _PAD), self.height - 2 * _PAD)
        return CanvasBox(x - half, y - tall - _PAD, x + half, y + _PAD)


def _label_places(x: float, y: float, away: float, half: float, tall: float) -> Iterator[tuple[float, float]]:
    """Where the baseline of a label may have its middle, the best place first."""
    for step in range(_TRIED):
        up, aside = away + step * LINE, away + half + step * LINE
        yield from ((x, y - up), (x, y + up + tall), (x + aside, y + tall / 2), (x - aside, y + tall / 2))
        yield from ((x + aside, y - up), (x - aside, y - up), (x + aside, y + up + tall), (x - aside, y + up + tall))


def _svg_of(part: str | CanvasPhoto | PlacedPart) -> str:
    if isinstance(part, PlacedPart):
        return part.ground() + part.element(part.canvas.elements())
    return part.element() if isinstance(part, CanvasPhoto) else part


def _svg_above_ground(part: str | CanvasPhoto | PlacedPart) -> str:
    if isinstance(part, PlacedPart):
        return part.element(part.canvas.rest())
    return "" if isinstance(part, CanvasPhoto) else part


def points_of(points: npt.ArrayLike) -> str:
    """Points (n, 2) as a path has them, to hundredths."""
    rows: Sequence[Sequence[float]] = (np.round(np.asarray(points, dtype=np.float64), 2) + 0.0).tolist()
    return " ".join(f"{x:.8g},{y:.8g}" for x, y in rows)


def _pair(at: npt.ArrayLike) -> tuple[str, str]:
    x, y = (np.round(np.asarray(at, dtype=np.float64), 2) + 0.0).tolist()
    return f"{x:.8g}", f"{y:.8g}"


def _data(attributes: Mapping[str, str] | None) -> str:
    return "".join(f' data-{name}="{escape(value)}"' for name, value in (attributes or {}).items())


def _inner(tag: str, title: str) -> str:
    return f"><title>{escape(title)}</title></{tag}>" if title else "/>"
