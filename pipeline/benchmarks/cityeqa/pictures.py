"""Pictures of tasks: the map with start, landmarks, target, where the answer is seen and the oracle's way.

What is counted is marked, with the edge of where it is counted, and so is the other thing of a relation.

And what reviewers see before they answer: the views from where the answer is seen and from the start, and a map of the
buildings around the start, without a name, a mark or a way.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import shapely
from PIL import Image, ImageDraw
from scipy import ndimage

from pipeline.benchmarks.benchmark import RAW_POSE, RAW_TASK
from pipeline.benchmarks.cityeqa.columns import way_of
from pipeline.benchmarks.cityeqa.released import AXES
from pipeline.benchmarks.cityeqa.tasks.counting import area_before
from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.groups import grouped
from pipeline.core.tables import picture_file
from pipeline.core.templates import load_table
from pipeline.drawing.fonts import font, lines_of, width_of
from pipeline.drawing.raster import as_png
from pipeline.formats.images import jpeg_bytes
from pipeline.reading.maps.city_thing import BUILDING, CityThing
from pipeline.worlds.city.facts import CityScene
from pipeline.worlds.city.render import CityRenderer, captioned
from pipeline.worlds.city.visibility import HEIGHT, WIDTH

SIDE: Final = 560  # pixels
MARGIN_M: Final = 25.0  # about all that a task names
AROUND_M: Final = 225.0  # about a start, whose target lies within 200 m (section 2.2)
_TEXT: Final = 18  # pixels of a line
_SIZE: Final = 13  # of letters
_OUTLINE: Final = 3  # pixels around a target
_COUNTED: Final = ("what", "where")  # operands of what is counted, after the target
_INSIDE: Final = frozenset({"in", "front"})  # where the middles of things decide
_GREYS: Final = 16  # between ink and paper, for the edges of letters
_INK: Final[dict[str, tuple[int, int, int]]] = {
    part: tuple(rgb) for part, rgb in load_table("cityeqa/pictures")["ink"].items()
}
_NUMBER: Final = {name: number for number, name in enumerate(_INK)}
_LEGEND: Final = {"start": "start", "landmark": "on the way there", "target": "asked about", "seen": "seen from"}
_PROOF: Final = {"counted": "counted", "compared": "the other thing"}


def task_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, of every question."""
    rows = asked.select(["id", "scene", "operands", "text", "answer", "evidence", "group"]).to_pylist()
    by_scene = grouped(rows, itemgetter("scene"))
    found = {}
    for scene in scenes():
        things = scene.facts.things if scene.id in by_scene else ()
        centers = np.array([t.center for t in things], dtype=np.float64).reshape(-1, 2)
        radii = np.array([t.radius_m for t in things], dtype=np.float64)
        for row in by_scene.get(scene.id, ()):
            found[picture_file("maps", row["id"])] = _picture(row, things, centers, radii)
    return found


def blind_pictures(rows: Sequence[Mapping[str, Any]], scene: CityScene) -> Iterator[tuple[int, tuple[bytes, ...]]]:
    """Of each task what its agent can see from p_obs and from the start, as JPEG, and the map around the start.

    Of a raw task (`raw_review`) the view from p_obs alone, with its target outlined where its poses are judged.
    """
    renderer, index = CityRenderer(scene.facts), {thing.id: i for i, thing in enumerate(scene.facts.things)}
    known: dict[tuple[float, ...], bytes] = {}  # a raw task is seen from one place, whatever its start
    for row in rows:
        facts = {(fact["name"], fact["subject"]): fact["value"] for fact in row["evidence"]}
        seen = tuple(facts["observation_pose", axis] for axis in AXES)
        if row["task"] == RAW_POSE:
            yield row["id"], (_view(renderer, seen, "where the answer can be seen", HEIGHT, index[row["operands"][1]]),)
            continue
        if seen not in known:
            known[seen] = _view(renderer, seen, "where the answer can be seen", HEIGHT)
        if row["task"] == RAW_TASK:
            yield row["id"], (known[seen],)
            continue
        start = tuple(facts["initial_pose", axis] for axis in AXES)
        shown = _view(renderer, start, "view from the start", HEIGHT // 2)
        yield row["id"], (known[seen], shown, start_map(row, scene))


def _view(
    renderer: CityRenderer, pose: tuple[float, ...], words: str, height: int, outlined: int | None = None
) -> bytes:
    """JPEG of a view of some height, with words in its corner and a line around the thing of an index."""
    shot = renderer.shoot(np.array(pose), height * WIDTH // HEIGHT, height)
    pixels = np.array(captioned(shot))
    if outlined is not None:
        own = shot.thing == outlined
        pixels[ndimage.binary_dilation(own, iterations=_OUTLINE) & ~own] = _INK["target"]
    picture = Image.fromarray(pixels)
    draw, letters = ImageDraw.Draw(picture), font(_SIZE)
    draw.rectangle((0, 0, width_of(words, _SIZE) + 12, _TEXT + 4), fill=_INK["paper"])
    draw.text((6, 2), words, fill=_INK["start"], font=letters)
    return jpeg_bytes(np.asarray(picture))


def start_map(row: Mapping[str, Any], scene: CityScene) -> bytes:
    """PNG of the buildings around the start of a task: the same for all questions that start there.

    Other things are counted and looked for: marks without a name would tell how many there are, and that there is none.
    """
    buildings = [thing for thing in scene.facts.things if thing.kind == BUILDING]
    centers = np.array([t.center for t in buildings], dtype=np.float64).reshape(-1, 2)
    radii = np.array([t.radius_m for t in buildings], dtype=np.float64)
    return _picture(row, buildings, centers, radii, blind=True)


def _picture(
    row: Mapping[str, Any], things: Sequence[CityThing], centers: FloatArray, radii: FloatArray, blind: bool = False
) -> bytes:
    """PNG of a task's map; ``blind``: with nothing but its start."""
    facts = {(fact["name"], fact["subject"]): fact["value"] for fact in row["evidence"]}
    start, seen = (np.array([facts[name, axis] for axis in AXES]) for name in ("initial_pose", "observation_pose"))
    way = np.array(way_of(row["evidence"]), dtype=np.float64).reshape(-1, 2)
    landmarks, target = set(row["operands"][-1].split(" > ")[:-1]), row["group"]
    area, marks = (None, {}) if blind else _proof(row, things)
    named = [t.center for t in things if t.id in landmarks or t.id == target or t.id in marks]
    around = np.concatenate([way, np.array(named).reshape(-1, 2), start[None, :2], seen[None, :2]])
    low, high = around.min(0) - MARGIN_M, around.max(0) + MARGIN_M
    if blind:
        low, high, landmarks, target, way = start[:2] - AROUND_M, start[:2] + AROUND_M, set(), None, way[:0]
    scale = SIDE / float((high - low).max())
    low = (low + high) / 2 - SIDE / scale / 2
    legend = _LEGEND | {ink: words for ink, words in _PROOF.items() if ink in marks.values()}
    lines = [] if blind else lines_of(f"{row['text']} [{row['answer']}]", _SIZE, SIDE - 12)

    def at(point: Sequence[float] | FloatArray) -> tuple[float, float]:
        return (float(point[0]) - low[0]) * scale, SIDE - (float(point[1]) - low[1]) * scale

    picture = Image.new(
        "P", (SIDE, SIDE + _TEXT * (len(lines) + 1 + (len(legend) > len(_LEGEND))) + 8), _NUMBER["ground"]
    )
    picture.putpalette([*(channel for colour in _INK.values() for channel in colour), *np.repeat(_greys(), 3).tolist()])
    draw = ImageDraw.Draw(picture)
    draw.fontmode = "1"  # numbers of colours cannot be blended
    near = (centers + radii[:, None] >= low).all(1) & (centers - radii[:, None] <= low + SIDE / scale).all(1)
    for i in sorted(np.flatnonzero(near).tolist(), key=lambda i: (things[i].kind != BUILDING, -radii[i])):
        thing = things[i]
        ink = "target" if thing.id == target else marks.get(thing.id, "landmark" if thing.id in landmarks else None)
        fill = _NUMBER[ink or ("building" if thing.kind == BUILDING else "other")]
        if thing.outline is not None:
            draw.polygon([at(p) for p in thing.outline], fill=fill, outline=_NUMBER["edge"])
        else:
            draw.circle(at(thing.center), 6 if ink else 2.5, fill=fill, outline=_NUMBER["edge"])
    if area is not None:
        draw.line([at(p) for p in area.exterior.coords], fill=_NUMBER["counted"], width=2)
    if len(way) > 1:
        draw.line([at(p) for p in way], fill=_NUMBER["way"], width=2)
        for stop in way:
            draw.circle(at(stop), 2.5, fill=_NUMBER["way"])
    if not blind:
        _arrow(draw, at(seen), float(seen[5]), "seen")
    _arrow(draw, at(start), float(start[5]), "start")
    bar = 50 * scale
    draw.line((12, SIDE - 12, 12 + bar, SIDE - 12), fill=_NUMBER["start"], width=3)
    _caption(picture, lines, {"start": _LEGEND["start"]} if blind else legend)
    return as_png(picture)


def _proof(row: Mapping[str, Any], things: Sequence[CityThing]) -> tuple[shapely.Polygon | None, dict[str, str]]:
    """Where things are counted, and ink by id: of what is counted there, or of what the target is compared with.

    Nothing is marked of a count that the map alone does not give, such as one of things of a colour that it lacks.
    """
    asked, by_id = row["operands"][2:-2], {thing.id: thing for thing in things}
    compared = {name: "compared" for name in asked if name in by_id and name != row["group"]}
    counted = [fact for fact in row["evidence"] if fact["name"] == "count"]
    place = by_id.get(row["group"])
    if compared or not counted or place is None or len(asked) != len(_COUNTED):
        return None, compared
    said, where = asked
    shape = shapely.Point(place.center) if place.outline is None else shapely.Polygon(place.outline)
    if where == "front":
        area = area_before(np.array(place.center), place.facing_deg or 0.0)
    else:
        area = shape if where == "in" else shape.buffer(float(where))
    named = (t for t in things if t.doubt is None and t.id != place.id)
    own = [t for t in named if said in (t.kind, t.noun, f"{t.colour} {t.kind}")]
    shapes = [
        shapely.Point(t.center) if where in _INSIDE or t.outline is None else shapely.Polygon(t.outline) for t in own
    ]
    there = [thing.id for thing, is_there in zip(own, shapely.intersects(area, shapes), strict=True) if is_there]
    return (area, dict.fromkeys(there, "counted")) if len(there) == counted[0]["value"] else (None, {})


def _arrow(draw: ImageDraw.ImageDraw, at: tuple[float, float], yaw_deg: float, ink: str) -> None:
    """A dot with a line to where it looks."""
    yaw = np.radians(yaw_deg)
    ahead = (at[0] + 20 * float(np.sin(yaw)), at[1] - 20 * float(np.cos(yaw)))
    draw.line((at, ahead), fill=_NUMBER[ink], width=3)
    draw.circle(at, 6, fill=_NUMBER[ink])


def _caption(picture: Image.Image, lines: Sequence[str], legend: Mapping[str, str]) -> None:
    """The question with its answer below the map, what the colours mean, and the length of the bar."""
    paper = Image.new("L", (SIDE, picture.height - SIDE), _INK["paper"][0])
    draw, letters = ImageDraw.Draw(paper), font(_SIZE)
    last = 2 + len(lines) * _TEXT
    for n, line in enumerate(lines):
        draw.text((6, 2 + n * _TEXT), line, fill=_INK["start"][0], font=letters)
    paper.paste(_legend(tuple(legend.values()), paper.height - last), (0, last))
    step = _greys()[1] - _greys()[0]
    shades = ((np.asarray(paper, dtype=np.float64) - _greys()[0]) / step).round().astype(np.uint8) + len(_INK)
    picture.paste(Image.fromarray(shades, mode="P"), (0, SIDE))
    marks = ImageDraw.Draw(picture)
    marks.fontmode = "1"
    for ink, left in zip(legend, _dots(tuple(legend.values())), strict=False):
        marks.circle((left, SIDE + last + _SIZE * 0.7), 5, fill=_NUMBER[ink])


@cache
def _legend(words: tuple[str, ...], height: int) -> Image.Image:
    """What the colours mean, and the length of the bar, in a line of its own where there is height for it."""
    paper = Image.new("L", (SIDE, height), _INK["paper"][0])
    draw, letters = ImageDraw.Draw(paper), font(_SIZE)
    for text, left in zip(words, _dots(words), strict=False):
        draw.text((left + 9, 0), text, fill=_INK["start"][0], font=letters)
    bar = (SIDE - 6, height - _TEXT - 6)
    draw.text(bar, "bar: 50 m, north up", fill=_INK["start"][0], font=letters, anchor="ra")
    return paper


def _dots(words: tuple[str, ...]) -> list[float]:
    """Where the dots of a legend stand, and one more after them, pixels from the left."""
    return list(accumulate((9 + width_of(text, _SIZE) + 24 for text in words), initial=14.0))


@cache
def _greys() -> IntArray:
    """(`_GREYS`,) from ink to paper."""
    return np.linspace(_INK["start"][0], _INK["paper"][0], _GREYS).round().astype(np.intp)
