"""The rejected candidates that were refused most narrowly: measured nearest to their limit."""

import math
import re
from collections.abc import Callable, Collection, Container, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from pipeline.core.arrays import FloatArray
from pipeline.core.parquet import read_files, released_files
from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.core.templates import in_unit
from pipeline.drawing.canvas import Canvas, CanvasBox
from pipeline.drawing.ground import Ground, draw_sketch, points_to_show
from pipeline.drawing.sheet import WIDTH, Sheet, SheetPart
from pipeline.rendering.figures import BLIND, CHOSEN
from pipeline.review.maps import is_marked, operand_ids, surroundings

Key = tuple[str, str]
_COLUMNS: Final = ["id", "scene", "task", "operands", "reason", "measured", "limit", "unit"]
_DIGITS: Final = (3, 4, 6, 9, 12)
_STYLE: Final = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_RULE: Final = re.compile(r"([^{}]+)(\{[^{}]*\})")
_DARK: Final = "@media (prefers-color-scheme:dark){"
_CLASS: Final = re.compile(r"\.([a-z]+)")
_USED: Final = re.compile(r'class="([^"]*)"')
_MORE: Final = ".bold{font-weight:700}.mono{font-family:ui-monospace,'DejaVu Sans Mono','Noto Sans',monospace}"
KINDS: Final = "abcdef"  # classes of what is marked, in order
_SMALL: Final = 11
_TALLEST: Final = 320.0  # of a map
_LOW: Final = 200.0  # of a map on which nothing is marked
_MOST_NAMED: Final = 8  # things of a map that have their names beside them
_SAME: Final = 0.01  # share by which a drawn length may differ from what was measured, to be called that
_THREE: Final = 3  # things between which there is an angle
_ZOOM: Final = 0.2  # of the larger one: a value and its limit that are nearer than this are shown without zero


class NearMiss(NamedTuple):
    """A rejected candidate; ``about``: what it would have asked about."""

    about: tuple[str, ...]
    reason: str
    measured: str
    limit: str
    unit: str

    @property
    def measured_text(self) -> str:
        """What was measured, and its limit."""
        return f"{in_unit(self.measured, self.unit)}, limit {in_unit(self.limit, self.unit)}"


class Nearest(NamedTuple):
    """By scene and task, and by task and reason, the rejection that came nearest to its limit."""

    of_scenes: dict[Key, NearMiss]
    of_reasons: dict[Key, NearMiss]


def nearest_refused(release: Path, chosen: Collection[str] = ()) -> Nearest:
    """The rejections of rules that were nearest to their limits, in shares of the limit; of 0 in what was measured.

    Whole numbers, which are mostly counts, come after what was measured on a scale: two things where one may be is no
    narrow miss. Rejections without a limit, and candidates that held every rule but were not chosen (for reasons that
    all share, or for those of ``chosen``), take no part.
    """
    known = pc.field("measured").is_valid() & pc.field("limit").is_valid()
    known &= ~pc.field("reason").isin(pa.array(sorted({*CHOSEN, *BLIND, *chosen})))
    table = read_files(released_files(release / "rejected"), _COLUMNS, known)
    size = pc.abs(table["limit"])
    away = pc.divide(pc.abs(pc.subtract(table["measured"], table["limit"])), pc.if_else(pc.equal(size, 0.0), 1.0, size))
    order = table.select(["scene", "task", "reason", "id"]).append_column("away", away)
    counted = pc.and_(*(pc.equal(table[name], pc.floor(table[name])) for name in ("measured", "limit")))
    order = order.append_column("counted", pc.cast(counted, pa.int8()))
    order = order.append_column("row", pa.array(range(table.num_rows), pa.int64()))
    order = order.sort_by([(name, "ascending") for name in ("counted", "away", "id", "scene", "reason")])
    return Nearest(_first(table, order, ("scene", "task")), _first(table, order, ("task", "reason")))


def some_of_each(release: Path, each: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Of each task and reason the rejections nearest to their limits, those without one after them, by id; all counts.

    Rows come by reason, task and nearness; the counts are of all rejections, by reason.
    """
    files = released_files(release / "rejected")
    frame = read_files(files, ["id", "task", "reason", "measured", "limit"]).to_pandas()
    size = frame["limit"].abs()
    frame["away"] = (frame["measured"] - frame["limit"]).abs() / size.where(size > 0, 1.0)
    frame = frame.sort_values(["reason", "task", "away", "id"], na_position="last", kind="stable")
    place = frame.groupby(["reason", "task"], observed=True, sort=False).cumcount()
    chosen = read_files(files).take(pa.array(frame.index[place < each]))
    rows: list[dict[str, Any]] = chosen.to_pylist()
    return rows, {str(reason): int(n) for reason, n in frame["reason"].value_counts(sort=False).items()}


def _first(table: pa.Table, order: pa.Table, keys: tuple[str, str]) -> dict[Key, NearMiss]:
    rows = order.group_by(list(keys), use_threads=False).aggregate([("row", "first")])["row_first"]
    return {(row[keys[0]], row[keys[1]]): _near_miss(row) for row in table.take(rows).to_pylist()}


def _near_miss(row: dict[str, Any]) -> NearMiss:
    measured, limit = distinct_digits(row["measured"], row["limit"])
    return NearMiss(tuple(row["operands"] or ()), row["reason"], measured, limit, row["unit"] or "")


def distinct_digits(one: float, other: float) -> tuple[str, str]:
    """Two numbers with as few digits as tell them apart."""
    for digits in _DIGITS:
        if significant_digits(one, digits) != significant_digits(other, digits):
            break
    return significant_digits(one, digits), significant_digits(other, digits)


def significant_digits(value: float, digits: int = 4) -> str:
    """A number with so many digits that count, never with an exponent."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    return f"{value:.0f}" if abs(value) >= 1 else f"{Decimal(text):f}"


def near_miss_figure(near: NearMiss, sketch: TopDownMap | None) -> bytes | None:
    """SVG in the manner of a question's own drawing; None where there is nothing to be drawn of it.

    The map is left out where it would show nothing of what the candidate was about.
    """
    measured, limit = float(near.measured), float(near.limit)
    if not (math.isfinite(measured) and math.isfinite(limit)):
        return None
    length_m = measured if near.unit == "m" else None
    parts = [plan(sketch, near.about, length_m, near.reason)] if sketch and operand_ids(sketch, near.about) else []
    return sheet_of(f"Rejected: {near.measured_text}", [*parts, gauge(measured, limit, near.unit, "refused")])


def gauge(measured: float, limit: float, unit: str, beyond: str) -> SheetPart:
    """A value on a line with its limit, and what is said of values beyond it."""
    canvas = Canvas(WIDTH, 66)
    one, other = distinct_digits(measured, limit)
    away = abs(measured - limit)
    low, high = min(measured, limit), max(measured, limit)
    if 0 < away < _ZOOM * max(abs(low), abs(high)):
        low, high = low - 1.2 * away, high + 1.2 * away
    else:
        room = 0.3 * max(high - min(low, 0.0), 1e-9)
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


def plan(
    sketch: TopDownMap,
    about: Sequence[str],
    length_m: float | None = None,
    fact: str = "",
    beneath: Callable[[Canvas, Ground], None] = lambda canvas, ground: None,
) -> SheetPart:
    """The scene from above with what is spoken of, and the length that was measured (``fact``), if any."""
    names = operand_ids(sketch, about)
    sketch = surroundings(sketch, names)
    order = {name: n for n, name in enumerate(dict.fromkeys([*(o for o in about if o in names), *sorted(names)]))}
    marked = [thing for thing in sketch.things if is_marked(thing, names)]
    ground = Ground(points_to_show(sketch), WIDTH, _TALLEST if marked else _LOW)
    canvas = ground.canvas()
    draw_sketch(canvas, ground, sketch)
    beneath(canvas, ground)
    for thing in marked:
        kind = KINDS[order[_name_in(thing, order)] % len(KINDS)]
        outline = ground.at(thing.outline)
        if len(outline) > 2:
            canvas.shape(kind, [outline], thing.label)
        else:
            canvas.dot(f"{kind} dot", outline[0], 5.0, thing.label)
    _measure(canvas, ground, about, length_m, fact, marked)
    for thing in marked if len(marked) <= _MOST_NAMED else list({thing.label: thing for thing in marked}.values()):
        outline = ground.at(thing.outline)
        canvas.label("name", (outline[:, 0].mean(), outline[:, 1].min()), thing.label, 6.0)
    return SheetPart(canvas, ground.attributes())


def _measure(
    canvas: Canvas,
    ground: Ground,
    about: Sequence[str],
    length_m: float | None,
    fact: str,
    marked: Sequence[MappedThing],
) -> None:
    """The length that was measured, where it is one between two of the marked things; the ways between three."""
    first = {_name_in(thing, about): thing for thing in reversed(marked)}
    things = [first[name] for name in about if name in first]
    if len(about) == len(things) == _THREE:
        stand, *others = (ground.at(_middle(thing)) for thing in things)
        for other in others:
            canvas.arrow("aid", stand, other)
    if length_m is None:
        return
    for n, one in enumerate(things):
        for two in things[n + 1 :]:
            for line in (_closest(one, two), np.array([_middle(one), _middle(two)])):
                if abs(float(np.hypot(*(line[1] - line[0]))) - length_m) <= _SAME * length_m:
                    canvas.line("measure", ground.at(line), {"fact": fact, "subject": two.label})
                    canvas.label("value", ground.at(line).mean(0), f"{length_m:.4g} m", 8.0, 12)
                    return


def _name_in(thing: MappedThing, names: Container[str]) -> str:
    """What a thing is called among names: by its id, if they have that."""
    return thing.id if thing.id in names else thing.label


def _middle(thing: MappedThing) -> FloatArray:
    return np.asarray(thing.outline, dtype=np.float64).mean(0)


def _closest(one: MappedThing, two: MappedThing) -> FloatArray:
    shapes = [shapely.MultiPoint(t.outline).convex_hull for t in (one, two)]
    return np.array(shapely.shortest_line(*shapes).coords)


def sheet_of(title: str, parts: Sequence[SheetPart]) -> bytes:
    """Parts below one another as SVG, with those colours alone that they need."""
    return _slim(Sheet(title, parts).svg()).encode()


def _slim(svg: str) -> str:
    """The drawing with those rules of its style alone that it needs: there are many drawings."""
    body = _STYLE.sub("", svg)
    used = {name for names in _USED.findall(body) for name in names.split()}
    sheet = next(iter(_STYLE.findall(svg)))
    light, _, dark = sheet.partition(_DARK)
    kept = [_used_rules(rules, used) for rules in (light + _MORE, dark.rstrip().removesuffix("}"))]
    return _STYLE.sub(lambda _: f"<style>{kept[0]}{_DARK}{kept[1]}}}</style>", svg, count=1)


def _used_rules(rules: str, used: set[str]) -> str:
    found = []
    for selectors, body in _RULE.findall(rules):
        kept = [one for one in selectors.split(",") if set(_CLASS.findall(one)) <= used]
        if kept:
            found.append(",".join(kept) + body)
    return "".join(found)
