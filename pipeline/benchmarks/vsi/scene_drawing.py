"""A scan ready to be drawn: what all of its maps show, and how a question's things are marked on them.

A section shows boxes from the side, in an upright plane in which a length is drawn as long as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import shapely

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import FloatArray
from pipeline.core.video_spec import VideoSpec
from pipeline.drawing.canvas import Canvas
from pipeline.drawing.ground import Ground, draw_sketch, points_to_show
from pipeline.drawing.sheet import WIDTH, SheetPart
from pipeline.worlds.indoor.category_pictures import Cameras
from pipeline.worlds.indoor.top_down_map import top_down_map

KINDS: Final = "abcdef"  # classes of what a question names, in order
_TALLEST: Final = 560.0
_PLAIN_SHARE: Final = 0.02  # of a picture: what spans less is not recognised as the thing that it is


@dataclass(frozen=True)
class NamedBox:
    """An object that a question speaks of, as it is marked.

    Attributes:
        index: of its box in the view.
        kind: class.
        name: what stands beside it.
        second: of the video's picture that is shown of it; None: there is none.
    """

    index: int
    kind: str
    name: str
    second: float | None


@dataclass
class DrawnScene:
    """The drawing of a question, before its pictures of the video.

    Attributes:
        map: from above.
        named: the objects that it speaks of.
        parts: below the map.
        notes: in words.
    """

    map: Canvas
    named: list[NamedBox] = field(default_factory=list)
    parts: list[SheetPart] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class SceneDrawing:
    """A scan under its rules, and the map that all of its questions begin with."""

    def __init__(self, view: ScanView, form: VideoSpec) -> None:
        self.view = view
        self.sketch = top_down_map(view.scene)
        self.ground = Ground(points_to_show(self.sketch), WIDTH, _TALLEST)
        self.cameras = Cameras(view.scene, form)
        self._map = self.ground.canvas()
        draw_sketch(self._map, self.ground, self.sketch)

    def drawn(self) -> DrawnScene:
        """A map on which nothing is marked yet."""
        return DrawnScene(self._map.copy())

    @cached_property
    def corners(self) -> FloatArray:
        """Corners (n, 8, 3) of the boxes."""
        return self.view.boxes.corners()

    @cached_property
    def outlines(self) -> list[FloatArray]:
        """The boxes from above, each (k, 2)."""
        items = self.view.scene.facts.objects
        of = {(item.category, item.instance): thing for item, thing in zip(items, self.sketch.things, strict=True)}
        return [np.array(of[item.category, item.instance].outline) for item in self.view.objects]

    def category(self, name: str) -> int:
        """The category of an operand."""
        return self.view.index[name]

    def only(self, name: str) -> int:
        """The box of an operand that is the only one of its kind."""
        return int(self.view.first[self.view.index[name]])

    def center(self, index: int) -> FloatArray:
        """The middle (3,) of a box."""
        return np.asarray(self.view.boxes.center[index])

    def mark(self, drawn: DrawnScene, index: int, kind: str, name: str, *, first: bool = False) -> None:
        """Marks a box on the map, and notes that it is to be shown; ``first``: as it appears first.

        Where the first picture has but a part of it, or too little to be recognised, it is shown where it is seen best.
        """
        sight = self.view.objects[index].visibility
        second, shown_as = None if sight is None else sight.best_s, name
        if first and sight is not None and sight.first_seen_s is not None:
            share = self.cameras.share_of_picture(sight.first_seen_s, self.view.boxes.take(np.array([index])))
            if share >= _PLAIN_SHARE or second is None:
                second = sight.first_seen_s
            else:
                shown_as = f"{name} (first at {sight.first_seen_s:.1f} s)"
        outline = self.ground.at(self.outlines[index])
        if len(outline) > 2:
            drawn.map.shape(kind, [outline], name)
        else:
            drawn.map.dot(f"{kind} dot", outline[0], 4.5, name)
        drawn.map.label("name", np.array([outline[:, 0].mean(), outline[:, 1].min()]), name, 6.0)
        drawn.named.append(NamedBox(index, kind, shown_as, second))


def facts(row: Mapping[str, Any], name: str) -> list[tuple[str, float]]:
    """Subject and value of the numbers of one name behind an answer, in order."""
    return [(fact["subject"], fact["value"]) for fact in row["evidence"] or () if fact["name"] == name]


def rule(row: Mapping[str, Any], name: str) -> str:
    """A rule that the question passed, as a person reads it: "13.2 deg (at least 10)"; empty where there is none."""
    words = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}
    for fact in row["evidence"] or ():
        if fact["name"] == name and fact["limit"] is not None:
            return f"{fact['value']:.4g} {fact['unit']} ({words[fact['relation']]} {fact['limit']:.4g})"
    return ""


def fact_attributes(name: str, subject: str) -> dict[str, str]:
    """Attributes of a drawn line: the fact that it measures."""
    return {"fact": name, "subject": subject}


_TALLEST_SECTION: Final = 230.0
_LEVEL_M: Final = 1e-6  # what is shorter over ground has no direction there


def section(
    plan: SceneDrawing, boxes: Sequence[tuple[int, str, str]], ends: npt.ArrayLike, fact: str, subject: str, words: str
) -> SheetPart:
    """Boxes (index, class, name) from the side, and the line between two ends (2, 3) whose length is a fact."""
    start, end = np.asarray(ends, dtype=np.float64)
    across = end[:2] - start[:2]
    length = float(np.hypot(*across))
    across = across / length if length > _LEVEL_M else _longest_side(plan, boxes[0][0])

    def flat(points: FloatArray) -> FloatArray:
        return np.stack([points[..., 0] * across[0] + points[..., 1] * across[1], points[..., 2]], axis=-1)

    shapes = [flat(plan.corners[index]) for index, _, _ in boxes]
    ground = Ground(np.concatenate([*shapes, flat(np.stack([start, end]))]), WIDTH, _TALLEST_SECTION)
    canvas = ground.canvas()
    canvas.text("note", (10, 18), "from the side")
    for (_, kind, name), points in zip(boxes, shapes, strict=True):
        corners = shapely.get_coordinates(shapely.convex_hull(shapely.MultiPoint(points)))
        outline = ground.at(corners[:-1] if len(corners) > 2 else corners)  # of an area the last is the first again
        canvas.shape(kind, [outline], name)
        canvas.label("name", (outline[:, 0].mean(), outline[:, 1].min()), name, 5.0)
    line = ground.at(flat(np.stack([start, end])))
    canvas.line("measure", line, fact_attributes(fact, subject))
    for at in line:
        canvas.dot("a dot", at, 3.0)
    canvas.label("value", line.mean(0), words)
    return SheetPart(canvas, ground.attributes() | {"part": "section"})


def _longest_side(plan: SceneDrawing, index: int) -> FloatArray:
    """The direction (2,) over ground of the longest of a box's sides that has one."""
    sides = plan.view.boxes.axes[index] * plan.view.boxes.half[index][:, None]
    over_ground = np.hypot(sides[:, 0], sides[:, 1])
    best = int(over_ground.argmax())
    return np.asarray(sides[best, :2] / over_ground[best]) if over_ground[best] > _LEVEL_M else np.array([1.0, 0.0])
