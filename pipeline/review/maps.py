"""A map from above as SVG: before the answer what gives nothing away, after it all that is known.

Colours and strokes are the page's (classes); the drawing has a fixed size of its own and no scale before the answer.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from html import escape
from itertools import compress
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.spatial import MappedThing, Point, TopDownMap
from pipeline.core.templates import load_table

WIDTH: Final = 640.0  # of the view box
_MARGIN: Final = 28.0
_LEAST_M: Final = 2.0  # shown at least, so that a lone point is a map too
_DOT: Final = 5.0
_LETTER: Final = 8.5  # width of a letter of a label, about; its line's height
_LINE: Final = 16.0
_AROUND: Final = 0.25  # of the path's extent
_NEIGHBOURS: Final = 20  # of what is marked where there is no path, which tell where it is
Part = tuple[float, float | None]  # of a video: from second to second; None: to its end
_SCALES_M: Final = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class _Frame(NamedTuple):
    """From metres to the drawing: x to the right, y down."""

    left_m: float
    top_m: float
    per_m: float
    height: float

    def at(self, point: Point) -> tuple[float, float]:
        return _MARGIN + (point[0] - self.left_m) * self.per_m, _MARGIN + (self.top_m - point[1]) * self.per_m

    def shows(self, bounds_m: FloatArray) -> BoolArray:
        """Which of some things (T,) lie in the drawing at least in part, by their `TopDownMap.bounds_m` (T, 4)."""
        left, right = (_MARGIN + (bounds_m[:, k] - self.left_m) * self.per_m for k in (0, 2))
        bottom, top = (_MARGIN + (self.top_m - bounds_m[:, k]) * self.per_m for k in (1, 3))
        return np.asarray((right >= -_DOT) & (left <= WIDTH + _DOT) & (bottom >= -_DOT) & (top <= self.height + _DOT))


def map_before(sketch: TopDownMap, layers: Collection[str]) -> str | None:
    """The layers that may be seen before the answer; None where these show nothing. The question takes no part."""
    shown = TopDownMap(
        ground=sketch.ground if "ground" in layers else (),
        things=sketch.things if "things" in layers else (),
        path=sketch.path if "path" in layers else (),
    )
    return _drawn(shown, frozenset(), (0.0, None), scale=False)


def map_after(sketch: TopDownMap, operands: Collection[str], until_s: float | None, from_s: float = 0.0) -> str | None:
    """What the question speaks of marked, in its surroundings; the path beyond its part of the video dashed."""
    return _drawn(sketch, operand_ids(sketch, operands), (from_s, until_s), scale=True)


def operand_ids(sketch: TopDownMap, operands: Collection[str]) -> frozenset[str]:
    """The ids of things that are operands; without any the labels that are, or else those that an operand names."""
    ids = frozenset(operands) & {thing.id for thing in sketch.things if thing.id}
    labels = {thing.label for thing in sketch.things if thing.label}
    named = labels & set(operands) or {label for label in labels if any(label in words for words in operands)}
    return ids or frozenset(named)


def surroundings(sketch: TopDownMap, marked: frozenset[str]) -> TopDownMap:
    """Of a city what is marked with its nearest neighbours; a scene with ground or path, or without marks, as it is."""
    if sketch.ground or sketch.path or not marked:
        return sketch
    frame = _frame(_centre_of_interest(sketch, marked))
    return TopDownMap(things=tuple(compress(sketch.things, frame.shows(sketch.bounds_m))))


def _drawn(sketch: TopDownMap, marked: frozenset[str], part: Part, scale: bool) -> str | None:
    points = _centre_of_interest(sketch, marked) or [point for thing in sketch.things for point in thing.outline]
    if not points:
        return None
    frame = _frame(points)
    shown = compress(sketch.things, frame.shows(sketch.bounds_m))
    things = sorted(shown, key=lambda thing: is_marked(thing, marked))  # what is marked lies on top
    parts = [
        *([f'<path class="ground" d="{_d(sketch.ground, frame)}"/>'] if sketch.ground else []),
        *(_thing(thing, is_marked(thing, marked), frame) for thing in things),
        *_path(sketch.path, part, frame),
        *_labels(things, marked, frame),
        *([_scale(frame)] if scale else []),
    ]
    labels = sorted({thing.label for thing in things if is_marked(thing, marked)})
    name = "Map from above" + (f", with {', '.join(labels)} marked" if labels else "")
    size = f"0 0 {WIDTH:g} {frame.height:.0f}"
    return f'<svg class="map" viewBox="{size}" role="img" aria-label="{escape(name)}">{"".join(parts)}</svg>'


def is_marked(thing: MappedThing, marked: frozenset[str]) -> bool:
    """Whether it is among the ids or labels of `operand_ids`."""
    return thing.id in marked or thing.label in marked


def _centre_of_interest(sketch: TopDownMap, marked: frozenset[str]) -> list[Point]:
    """The points that a map must show: of a city not all, but the flight, what is marked, and something around them."""
    spoken = [is_marked(thing, marked) for thing in sketch.things]
    shown = [point for thing in compress(sketch.things, spoken) for point in thing.outline]
    path = [(x, y) for _, x, y in sketch.path]
    if sketch.ground:
        shown += [point for outline in sketch.ground for point in outline]
    elif path:
        around = _AROUND * max(max(v) - min(v) for v in zip(*path, strict=True))
        shown += [(x + dx, y + dy) for x, y in path for dx in (-around, around) for dy in (-around, around)]
    elif shown:
        corners = sketch.bounds_m.reshape(-1, 2, 2)
        middle = corners.mean(1)[np.array(spoken)].mean(0)
        away_m = np.sort(np.hypot(*(corners.mean(1) - middle).T))[: _NEIGHBOURS + 1][-1]
        around = np.array([middle - away_m, middle + away_m]).clip(corners[:, 0].min(0), corners[:, 1].max(0))
        shown += [(x, y) for x, y in around.tolist()]
    return shown + path


def _frame(points: Sequence[Point]) -> _Frame:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    width = max(max(xs) - min(xs), _LEAST_M)
    height = max(max(ys) - min(ys), _LEAST_M)
    room = WIDTH - 2 * _MARGIN
    per_m = min(room / width, room / height)
    # The shorter side is not centred but cut off, except in width, which all maps share.
    left = min(xs) - (room / per_m - (max(xs) - min(xs))) / 2
    return _Frame(left, max(ys), per_m, max(max(ys) - min(ys), _LEAST_M) * per_m + 2 * _MARGIN)


def _d(outlines: Iterable[Sequence[Point]], frame: _Frame) -> str:
    return "".join(f"M{_points(outline, frame)}Z" for outline in outlines)


def _points(points: Iterable[Point], frame: _Frame) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in map(frame.at, points))


def _thing(thing: MappedThing, marked: bool, frame: _Frame) -> str:
    kind = "thing marked" if marked else "thing"
    if len(thing.outline) > 2:
        shape = f'<path class="{kind}" d="{_d([thing.outline], frame)}">'
    else:
        x, y = frame.at(thing.outline[0])
        shape = f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT:g}">'
    closing = "</path>" if shape.startswith("<path") else "</circle>"
    return f"{shape}<title>{escape(thing.label)}</title>{closing}"


def _labels(things: Sequence[MappedThing], marked: frozenset[str], frame: _Frame) -> Iterable[str]:
    """Names above or below what is marked; where nothing is, of everything as far as there is room."""
    taken: list[tuple[float, float, float]] = []  # left, right, baseline
    for thing in things:
        if not thing.label or (marked and not is_marked(thing, marked)):
            continue
        corners = [frame.at(point) for point in thing.outline]
        half = len(thing.label) * _LETTER / 2
        middle = sum(x for x, _ in corners) / len(corners)
        x = min(max(middle, half + 4), max(WIDTH - half - 4, half + 4))
        above, below = min(y for _, y in corners) - 6, max(y for _, y in corners) + _LINE - 2
        places = [(x - half, x + half, max(y, _LINE)) for y in (above, below)]
        free = [place for place in places if not any(_overlap(place, other) for other in taken)]
        if free or marked:
            left, right, y = (free or places)[0]
            taken.append((left, right, y))
            place = f'x="{(left + right) / 2:.1f}" y="{y:.1f}" text-anchor="middle"'
            yield f'<text class="label" {place}>{escape(thing.label)}</text>'


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < _LINE


def _path(path: Sequence[tuple[float, float, float]], part: Part, frame: _Frame) -> Iterable[str]:
    """The path with its start; its times in its part of the video go with it, so that the page can show it."""
    if not path:
        return
    if len(path) == 1:  # of a picture, not of a video
        x, y = frame.at(path[0][1:])
        yield f'<circle class="start" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT:g}"><title>camera</title></circle>'
        yield f'<text class="label" x="{x:.1f}" y="{y + _LINE:.1f}" text-anchor="middle">camera</text>'
        return
    from_s, until_s = part
    first = max((i for i, point in enumerate(path) if point[0] <= from_s), default=0)
    shown = [point for point in path[first:] if until_s is None or point[0] <= until_s] or list(path[first : first + 1])
    times = " ".join(f"{max(t - from_s, 0.0):g}" for t, _, _ in shown)
    for rest in (path[: first + 1], path[first + len(shown) - 1 :]):
        if len(rest) > 1:
            yield f'<polyline class="path later" points="{_points(((x, y) for _, x, y in rest), frame)}"/>'
    points = _points(((x, y) for _, x, y in shown), frame)
    yield f'<polyline class="path" data-times="{times}" points="{points}"/>'
    x, y = frame.at(shown[0][1:])
    yield f'<circle class="start" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT:g}"><title>start of the video</title></circle>'
    yield f'<circle class="here" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT + 2:g}"><title>the video now</title></circle>'


def _scale(frame: _Frame) -> str:
    """A bar of about a fifth of the width."""
    length_m = min(_SCALES_M, key=lambda m: abs(math.log(m * frame.per_m / (WIDTH / 5))))
    width, y = length_m * frame.per_m, frame.height - 8
    right = WIDTH - _MARGIN
    return (
        f'<path class="scale" d="M{right - width:.1f},{y:.1f}h{width:.1f}"/>'
        f'<text class="label" x="{right - width - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{length_m:g} m</text>'
    )


STYLE: Final[str] = load_table("drawings/style")["map"].replace("\n", "")


def map_file(drawn: str) -> bytes:
    """A map as an SVG file of its own."""
    head, rest = drawn.split(">", 1)
    return head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).encode() + f">{STYLE}{rest}".encode()
