"""Drawings of an episode: a film where no camera took pictures, a map from above, and text for the dataset card.

The film shows the episode from above and from the side, with the dials of the joints.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.schema import Vec3
from pipeline.core.spatial import MappedThing, Point, TopDownMap, thinned
from pipeline.drawing.raster import INK, Colour, Raster, colours_of
from pipeline.geometry.angles import matrices, rotated
from pipeline.reading.footage import Footage, log_footage
from pipeline.worlds.arm.facts import EpisodeScene, SceneItem
from pipeline.worlds.arm.view import DIALS_MAX, EDGE_PX, MAP_PX, MAPS, ArmView

FPS: Final = 20
SCALE_PX: Final = 200.0  # of the scale's bar at most; of the longest that fits half a pixel is little
# Upper left corner of each map and its side, pixels: from above (x up, y to the left), and from the robot's right side
# (x to the right, z up).
ABOVE: Final = (8.0, 26.0, MAP_PX)
BESIDE: Final = (266.0, 26.0, MAP_PX)
DIALS: Final = (530.0, 20.0)
_RADIUS: Final = 14.0
_STEP: Final = 46.0  # pixels between dials
_SPOKEN: Final = {
    "red": "#de3228", "green": "#32a046", "blue": "#325ad2", "yellow": "#f0cd28", "orange": "#f58c1e",
    "purple": "#8c3caa", "white": "#fafafa", "black": "#1e1e1e", "grey": "#828282", "brown": "#82552d",
    "pink": "#fa96be", "cyan": "#3cc8d2",
    "azure": "#007fff", "violet": "#7f00ff", "rose": "#ff007f",  # where CSS has others, or none
}  # fmt: skip
_CORNERS: Final = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
_FLAT, _TALL = map(list, MAPS)  # places' y is turned round


def drawn(scene: EpisodeScene) -> Footage | None:
    """Where gripper and things are, and how the joints stand; None where the log tells nothing of them."""
    film = _ArmVideo(scene)
    return log_footage(FPS, film.view.times_s, film.at) if film.view.drawable else None


class _ArmVideo:
    """The shared parts of an episode's pictures. The maps are wide enough for all that is there at the beginning."""

    def __init__(self, scene: EpisodeScene) -> None:
        self.view = view = ArmView(scene)
        self.middle, self.scale = view.extent[0], 1 / view.pixel_m
        stated = {item.id: item.attributes.get("colour", "") for item in view.facts.items}
        free = {} if any(stated.values()) else colours_of(stated)  # else one might look like what a question calls red
        self.colours = {name: _spoken(word) if word else free.get(name, INK["thing"]) for name, word in stated.items()}
        self.base = self._base()

    def _base(self) -> Raster:
        raster = Raster()
        for (left, top, side), title in ((ABOVE, "from above, ahead is up"), (BESIDE, "from the side, ahead is right")):
            raster.box(left, top, left + side, top + side, INK["ground"])
            raster.text((left, 8), title)
        if np.isfinite(self.view.base_m).all():
            for axes, at in ((_FLAT, ABOVE), (_TALL, BESIDE)):
                foot = self._place(self.view.base_m, axes, at)
                raster.dot(foot, 5, INK["edge"], INK["text"])
                raster.text((foot[0] - 34, foot[1] - 7), "foot")
        for n, name in enumerate(self.view.joints.tolist()[:DIALS_MAX]):
            raster.text((DIALS[0] + 36, DIALS[1] + n * _STEP - 6), name)
        most = SCALE_PX / self.scale
        power = 10.0 ** np.floor(np.log10(most))
        bar_m = max(n * power for n in (1, 2, 5) if n * power <= most)
        raster.scale_bar(266, 295, bar_m * self.scale, f"{bar_m * 100:g} cm")
        raster.mark()
        return raster

    def _place(self, points: FloatArray, axes: list[int], at: Vec3) -> FloatArray:
        """Pixels (..., 2) of places (..., 3) on a map; robot's ahead is up on that from above."""
        across, up = points[..., axes[0]] - self.middle[axes[0]], points[..., axes[1]] - self.middle[axes[1]]
        across = -across if axes == _FLAT else across
        corner = np.array(at[:2]) + at[2] / 2
        return corner + np.stack([across, -up], axis=-1) * self.scale

    def at(self, index: int, _: float) -> npt.NDArray[np.uint8]:
        """The picture of one time."""
        view, raster = self.view, Raster(self.base.image)
        for axes, at, order in zip((_FLAT, _TALL), (ABOVE, BESIDE), view.drawing_order(index), strict=True):
            for row in order.tolist():
                place = view.item_m[row, index]
                if np.isfinite(place).all():
                    self._thing(raster, place, view.size_m[row], axes, at, self.colours[view.facts.items[row].id])
        for row, item in enumerate(view.facts.items):
            place = view.item_m[row, index]
            if np.isfinite(place).all():
                left, top, side = ABOVE
                raster.label(self._place(place, _FLAT, ABOVE), item.category, (left, top, left + side, top + side))
        gripper = view.gripper_m[index]
        if np.isfinite(gripper).all():
            for axes, at in ((_FLAT, ABOVE), (_TALL, BESIDE)):
                tip = self._place(gripper, axes, at)
                if _inside(tip, at):
                    self._gripper(raster, tip, view.opening[index])
        for n, joint in enumerate(view.facts.arm.joints[:DIALS_MAX] if view.facts.arm else ()):
            if joint.unit == "rad":
                self._dial(raster, n, float(view.angle[index, n]))
        return raster.pixels()

    def _thing(
        self, raster: Raster, place: FloatArray, size: FloatArray, axes: list[int], at: Vec3, colour: Colour
    ) -> None:
        """Upright along the world's axes, or a dot where its size is not known."""
        middle = self._place(place, axes, at)
        if not _inside(middle, at):
            return
        half = size[axes] / 2 * self.scale
        if np.isfinite(half).all():
            raster.shape(middle + _CORNERS * half, colour, INK["text"])
        else:
            raster.dot(middle, EDGE_PX, colour, INK["text"])

    def _gripper(self, raster: Raster, at: FloatArray, opening: float) -> None:
        """Two fingers, as far apart as the gripper is open; one cross where that is not known."""
        apart = 2.0 + 7.0 * float(opening) if np.isfinite(opening) else 0.0
        for side in (-1, 1):
            x = at[0] + side * apart
            raster.line(np.array([[x, at[1] - 9], [x, at[1] + 3]]), INK["own"], 3)
        raster.line(np.array([[at[0] - apart, at[1] - 9], [at[0] + apart, at[1] - 9]]), INK["own"], 3)
        raster.dot(at, 2, INK["text"])

    def _dial(self, raster: Raster, n: int, angle: float) -> None:
        """A joint's angle from its zero, which is up; counter-clockwise is positive."""
        middle = np.array([DIALS[0] + 12, DIALS[1] + n * _STEP])
        raster.dot(middle, _RADIUS, INK["paper"], INK["text"])
        raster.line(middle - np.array([[0, _RADIUS], [0, _RADIUS - 4]]), INK["text"])
        if np.isfinite(angle):
            hand = np.array([-np.sin(angle), -np.cos(angle)]) * (_RADIUS - 3)
            raster.line(np.stack([middle, middle + hand]), INK["red"], 2)


def _spoken(word: str) -> Colour:
    """A colour by its name: a basic one, or else as CSS has it ("maroon", "light blue"); the neutral one of neither."""
    from PIL import ImageColor  # with Pillow, which readers of films do without

    plain = "".join(word.lower().split())
    try:
        red, green, blue = ImageColor.getrgb(_SPOKEN.get(plain, plain))[:3]
    except ValueError:
        return INK["thing"]
    return red, green, blue


def _inside(point: FloatArray, at: Vec3) -> bool:
    return bool((np.abs(point - np.array(at[:2]) - at[2] / 2) <= at[2] / 2 - EDGE_PX).all())


_DIGITS: Final = 4


def top_down_map(scene: EpisodeScene) -> TopDownMap:
    """The episode as a map, in the world's frame; things stand where they were first."""
    facts = scene.facts
    things = [thing for item in facts.items if (thing := _thing(item)) is not None]
    if facts.arm is not None and facts.arm.base_m is not None:
        things.append(MappedThing(label="", outline=(_point(np.array(facts.arm.base_m)),)))
    if facts.gripper is None or facts.gripper.place_m is None:
        return TopDownMap(things=tuple(things))
    path = np.column_stack([facts.times_s, facts.gripper.place_m.array[:, :2]])
    points = thinned(path).round(_DIGITS).tolist()
    return TopDownMap(things=tuple(things), path=tuple((t, x, y) for t, x, y in points))


def _thing(item: SceneItem) -> MappedThing | None:
    """Its footprint where size and turn are known, else a point; None where its place is not."""
    if item.place_m is None:
        return None
    place = item.place_m.array
    known = np.flatnonzero(~np.isnan(place).any(1))
    if not len(known):
        return None
    at = known[0]
    turn = None if item.turn_wxyz is None else item.turn_wxyz.array[at]
    if item.size_m is None or turn is None or np.isnan(turn).any():
        return MappedThing(label=item.category, outline=(_point(place[at]),))
    half = np.array(item.size_m) / 2
    corners = np.array([(1, 1, 0), (-1, 1, 0), (-1, -1, 0), (1, -1, 0)]) * half
    outline = place[at] + rotated(np.broadcast_to(matrices(turn), (4, 3, 3)), corners)
    return MappedThing(label=item.category, outline=tuple(_point(corner) for corner in outline))


def _point(place: FloatArray) -> Point:
    x, y = place[:2].round(_DIGITS).tolist()
    return x, y


def known_in(scene: EpisodeScene) -> dict[str, bool]:
    """What `sight` counts, and whether an episode has it."""
    return {"places": any(item.place_m for item in scene.facts.items), "task": bool(scene.facts.instructions)}


def sight(episodes: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what the pictures show, in lines of Markdown."""
    return [
        f"- Of {episodes} episodes {known['places']} know where things beside the robot were, {known['task']} have an "
        "instruction.",
        "  What the arm did comes from its recorded joints and gripper, not from pictures.",
    ]
