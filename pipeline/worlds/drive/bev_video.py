"""A drive from above: its map, what a card says of drives, and a film of a log that has no pictures.

The film shows at every time what the log knew then, and nothing later.
"""

from collections.abc import Callable, Iterator, Mapping
from textwrap import wrap
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.spatial import MappedThing, Point, TopDownMap, thinned
from pipeline.drawing.raster import INK, SIZE, Raster, colours_of
from pipeline.geometry.angles import turned_about_z
from pipeline.reading.footage import Footage, log_footage
from pipeline.worlds.drive.facts import CATEGORIES, DriveScene
from pipeline.worlds.drive.view import DOT_M, EGO, DriveView

FPS: Final = 10
PX_PER_M: Final = 3.0
WIDE: Final = 480  # pixels of the map; the rest says what the colours are
GRID_M: Final = 20.0  # between lines on the ground, by which movement is seen
# What is seen most begins: the first colours differ most.
_COMMON: Final = ("car", "pedestrian", "truck", "bus", "cyclist", "motorcyclist", "van", "bollard", "sign")
COLOURS: Final = colours_of([*_COMMON, *sorted(CATEGORIES - set(_COMMON))])
SCALE_M: Final = 10.0
_REACH_M: Final = float(np.hypot(WIDE, SIZE[1])) / 2 / PX_PER_M  # from our car to the corners of the map
_LIGHTS: Final = {"red": "red", "yellow": "amber", "green": "green"}
_FRONT: Final = "line in a box: front"
_LETTERS: Final = 21  # of a line of the legend
_LINE: Final = 15.0  # pixels between lines of the legend, where all have room
_TALL: Final = SIZE[1] - 20.0  # pixels of all lines of the legend: room for all kinds at once
_FOOT: Final = (WIDE - 156.0, SIZE[1] - 22.0)  # of the words on the right at the foot of the map
_LAMP: Final = 2.5  # pixels
_LEAST: Final = DOT_M * PX_PER_M  # pixels; what is smaller is a dot of this size
_Place = Callable[[FloatArray], FloatArray]  # metres (..., 2) -> pixels
_MIDDLE: Final = np.array([WIDE, SIZE[1]]) / 2


def drawn(scene: DriveScene) -> Footage | None:
    """Our car in the middle, its heading upwards; None where it is not known at any time where it was."""
    film = _DriveVideo(scene)
    return log_footage(FPS, film.view.times_s, film.at) if film.view.drawable else None


class _DriveVideo:
    """The shared parts of a drive's pictures."""

    def __init__(self, scene: DriveScene) -> None:
        self.view = view = DriveView(scene)
        facts = view.facts
        self.roads = _Outlines([np.array(line)[:, :2] for line in facts.drivable])
        self.crossings = _Outlines([np.array(crossing.outline)[:, :2] for crossing in facts.crossings])
        self.edges = _Outlines([np.array(line)[:, :2] for lane in facts.lanes for line in (lane.left, lane.right)])
        self.lights = np.array([light.place_m[:2] for light in facts.lights]).reshape(-1, 2)
        self.shown = [(np.array([c.index for c in light.colours]), light.colours) for light in facts.lights]
        lamps = [actor.lamps or () for actor in facts.actors]
        self.lamps = [(np.array([one.index for one in row]), row) for row in lamps]
        point = (view.own_point or "").removesuffix(" of the ego vehicle")
        self.point = wrap(f"dot: {point}", _LETTERS) if point else []
        self.base = Raster()
        self.base.box(0, 0, WIDE, SIZE[1], INK["ground"])

    def at(self, index: int, _: float) -> npt.NDArray[np.uint8]:
        """The picture of one time."""
        view, raster = self.view, Raster(self.base.image)
        own, yaw = view.ego_m[index, :2], view.ego_yaw_deg[index]
        categories, lit = list[str](), False
        if np.isfinite([*own, yaw]).all():

            def place(points: FloatArray) -> FloatArray:
                ahead, left = np.moveaxis(turned_about_z(points - own, -yaw), -1, 0)
                return _MIDDLE - np.stack([left, ahead], axis=-1) * PX_PER_M

            if view.facts.frame == "world":
                self._ground(raster, own, place)
            self._draw_ego(raster, index, place)
            categories = self._actors(raster, index, place)
            lit = bool(((place(self.lights) >= 0) & (place(self.lights) <= (WIDE, SIZE[1]))).all(-1).any())
        else:
            raster.text((WIDE / 2 - 60, SIZE[1] / 2), "our place is not known")
        raster.box(WIDE, 0, *SIZE, INK["paper"])
        self._legend(raster, categories, lit)
        raster.mark()
        raster.box(*_FOOT, WIDE - 3, SIZE[1] - 3, INK["paper"])
        raster.text((_FOOT[0] + 6, _FOOT[1] + 2), "heading up")
        raster.scale_bar(WIDE - 74, _FOOT[1] + 9, SCALE_M * PX_PER_M, f"{SCALE_M:g} m")
        return raster.pixels()

    def _legend(self, raster: Raster, categories: list[str], lit: bool) -> None:
        """Says what the colours and lines are: kinds in the picture, our car, and what the map has.

        Of a car of unknown size it tells what the dot is, since distances are measured from that.
        """
        left, right = WIDE + 10.0, WIDE + 20.0
        others = [*((name, True) for name in ("ego vehicle", *self.point)), (_FRONT, bool(categories))]
        others.append(("traffic light", lit))
        others += [("pedestrian crossing", bool(self.crossings.lines)), ("roadway", bool(self.roads.lines))]
        names = [*categories, *(name for name, is_drawn in others if is_drawn)]
        line = min(_LINE, _TALL / len(names))
        for n, name in enumerate(names):
            top = 12.0 + n * line
            bottom = top + line - 5 * line / _LINE
            outline = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
            if name == "ego vehicle":
                raster.dot((left + 5, bottom - 3), 3, INK["own"], INK["text"])
                raster.line(np.array([[left + 5, bottom - 3], [left + 5, top]]), INK["own"], 3)
            elif name == _FRONT:
                raster.shape(outline, INK["thing"], INK["text"])
                raster.line(np.array([[left + 5, (top + bottom) / 2], [left + 5, top]]), INK["paper"])
            elif name == "traffic light":
                raster.dot((left + 5, top + 5), 4, INK["edge"], INK["text"])
            elif name == "pedestrian crossing":
                raster.shape(outline, None, INK["amber"])
            elif name not in self.point:
                raster.shape(outline, COLOURS.get(name, INK["road"]))
            raster.text((WIDE + 28, top - 2), name)

    def _ground(self, raster: Raster, own: FloatArray, place: _Place) -> None:
        for outline in self.roads.near(own):
            raster.shape(place(outline), INK["road"])
        raster.grid(own, _REACH_M, GRID_M, place)
        for line in self.edges.near(own):
            raster.line(place(line), INK["edge"])
        for outline in self.crossings.near(own):
            raster.shape(place(outline), None, INK["amber"])

    def _actors(self, raster: Raster, index: int, place: _Place) -> list[str]:
        """Draws all others, over our car and the traffic lights, and gives the categories in the picture, by name."""
        view = self.view
        for light, (indices, colours) in zip(place(self.lights), self.shown, strict=True):
            now = int(np.searchsorted(indices, index, side="right")) - 1
            name = colours[now].colour if now >= 0 else "unknown"
            raster.dot(light, 4, INK[_LIGHTS.get(name, "edge")], INK["text"])
        at = place(view.place_m[:, index, :2])
        with np.errstate(invalid="ignore"):
            inside = np.logical_and.reduce((at >= 0) & (at <= (WIDE, SIZE[1])), axis=1)
        order, is_dot, _ = view.drawn_marks(index)
        seen = order[inside[order]]
        corners = place(view.footprints(index).corners())
        for row in seen.tolist():
            colour = COLOURS[str(view.categories[row])]
            outline = corners[row]
            if is_dot[row]:
                raster.dot(at[row], _LEAST / 2, colour, INK["text"])
                continue
            raster.shape(outline, colour, INK["text"])
            raster.line(np.stack([at[row], outline[[0, 3]].mean(0)]), INK["text" if _is_light(colour) else "paper"])
            self._lit(raster, row, index, outline)
        return sorted({str(view.categories[row]) for row in seen.tolist()})

    def _lit(self, raster: Raster, row: int, index: int, outline: FloatArray) -> None:
        """Brake lights and blinkers at the corners of a box."""
        indices, lamps = self.lamps[row]
        now = int(np.searchsorted(indices, index, side="right")) - 1
        lit = lamps[now].lit if now >= 0 else ()
        for corner, name in ((1, "left blinker"), (2, "right blinker"), (0, "left blinker"), (3, "right blinker")):
            if name in lit:
                raster.dot(outline[corner], _LAMP, INK["amber"])
        if "brake" in lit:
            raster.line(outline[[1, 2]], INK["red"], 3)

    def _draw_ego(self, raster: Raster, index: int, place: _Place) -> None:
        ego = self.view.facts.ego
        own, yaw = self.view.ego_m[index, :2], self.view.ego_yaw_deg[index]
        if ego is not None and ego.box is not None:
            half = np.array(ego.box.size_m[:2]) / 2 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
            outline = own + turned_about_z(half + np.array(ego.box.middle_m[:2]), np.full(4, yaw))
            raster.shape(place(outline), INK["own"], INK["text"])
        raster.dot(place(own), 3, INK["own"], INK["text"])
        raster.line(np.stack([place(own), place(own) - np.array([0.0, 16.0])]), INK["own"], 3)
        lit = self.view.lit_at(EGO, index) or ()
        if "brake" in lit:
            raster.line(place(own) + np.array([[-4.0, 8.0], [4.0, 8.0]]), INK["red"], 3)


def _is_light(colour: tuple[int, int, int]) -> bool:
    """Whether dark lines on a colour are clearer than light ones."""
    return float(np.dot(colour, (0.299, 0.587, 0.114))) >= 128


class _Outlines:
    """Lines of a map, and which of them lie near."""

    def __init__(self, lines: list[FloatArray]) -> None:
        self.lines = lines
        self.low = np.array([line.min(0) for line in lines]).reshape(-1, 2)
        self.high = np.array([line.max(0) for line in lines]).reshape(-1, 2)

    def near(self, point: FloatArray) -> Iterator[FloatArray]:
        """Those that may reach into the map about a point."""
        near = ((self.low <= point + _REACH_M) & (self.high >= point - _REACH_M)).all(1)
        return (self.lines[row] for row in np.flatnonzero(near).tolist())


_DIGITS: Final = 2  # centimetres


def top_down_map(scene: DriveScene) -> TopDownMap:
    """The drive as a map, about its own origin; actors stand where they were first seen."""
    facts = scene.facts
    times_s = facts.times_s
    things = []
    for actor in facts.actors:
        place = actor.track.place_m.array
        known = np.flatnonzero(~np.isnan(place).any(1))
        if len(known):
            x, y, _ = place[known[0]].round(_DIGITS).tolist()
            seen_s = float(times_s[actor.track.first + known[0]])
            things.append(MappedThing(label=actor.category, outline=((x, y),), seen_s=seen_s))
    ground = tuple(_flat(outline) for outline in facts.drivable) or tuple(
        _flat((*lane.left, *lane.right[::-1])) for lane in facts.lanes
    )
    if facts.ego is None:
        return TopDownMap(ground=ground, things=tuple(things))
    track = facts.ego.track
    path = np.column_stack([times_s[track.first : track.stop], track.place_m.array[:, :2]])
    points = thinned(path).round(_DIGITS).tolist()
    return TopDownMap(ground=ground, things=tuple(things), path=tuple((t, x, y) for t, x, y in points))


def _flat(line: tuple[tuple[float, float, float], ...]) -> tuple[Point, ...]:
    return tuple((round(x, _DIGITS), round(y, _DIGITS)) for x, y, _ in line)


def known_in(scene: DriveScene) -> dict[str, bool]:
    """What `sight` counts, and whether a drive has it."""
    return {"lanes": bool(scene.facts.lanes), "ego": scene.facts.ego is not None}


def sight(drives: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    return [
        f"- Of {drives} drives, {known['lanes']} have a map of lanes, and {known['ego']} record how our car moved. "
        "Other road",
        "  users come from annotated or recorded tracks, not from pictures; sizes that a log lacks are unknown.",
    ]
