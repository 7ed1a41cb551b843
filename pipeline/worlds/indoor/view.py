"""A scan as arrays, as its tasks see it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final, Generic, Literal, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from pipeline.core.arrays import FloatArray, IntArray, StrArray
from pipeline.core.schema import Finding, Limits, Rejection
from pipeline.core.templates import load_table
from pipeline.geometry.boxes import closest_distance_m, closest_points, plan_distance_m, stack
from pipeline.geometry.grids import SampledBoxes
from pipeline.questions.gate import NamedThing, ShownScene, alike, are_lookalikes, named_rules
from pipeline.questions.rules import Check, Fact, check, first_broken
from pipeline.worlds.indoor.facts import SCALE, SIGHT, UPRIGHT, BudgetFrames, IndoorScene, SceneObject, frames_without

# Needs a count; at least one box; exactly one instance; at least one instance that the video shows.
Slot = Literal["counted", "boxed", "unique", "seen"]


class IndoorRules(Limits):
    """The limits that every benchmark over indoor scans sets; its own rules extend them."""

    distance: Literal["exact", "grid_5cm"] = Field(description="closest points of the boxes, or of their 5 cm grids")
    refuse_doubts: bool = Field(description="never ask about a category that has a finding of severity doubt")
    refuse_lookalikes: bool = Field(
        description="never ask about a category where the scene has others that people may call so, or may not"
    )
    refuse_unseen: bool = Field(
        description="objects that no frame of the video shows are neither asked about nor counted, nor are categories "
        "with an object that it shows too small to be seen reliably"
    )


FILMED: Final = ShownScene(**load_table("shown")["indoor"]["filmed"], complete=None)
R = TypeVar("R", bound=IndoorRules)


class BudgetSight(NamedTuple):
    """What a number of evenly spaced frames shows of each category (C,) in the room, absent things included.

    Attributes:
        min_pixels: an object with fewer is not seen for sure.
        room: instances in the room: as stated, or boxes where these are more.
        pixels: of the instance that shows worst, most in any frame; the greatest integer where there is no box.
        most: of the instance that shows best; 0 where there is no box.
        shown: instances that are seen for sure.
        doubtful: pixels of the worst instance that some see and some do not; ``min_pixels`` where there is none.
        first_seen_s: first frame in which any instance is seen for sure; inf for none.
        first_shown_s: first frame that shows anything of any instance in the reduced image; inf for none.
        extent_seen: share of the longest side that is shown, of the instance of which it is least.
        frames: which frames these are.
    """

    min_pixels: int
    room: IntArray
    pixels: IntArray
    most: IntArray
    shown: IntArray
    doubtful: IntArray
    first_seen_s: FloatArray
    first_shown_s: FloatArray
    extent_seen: FloatArray
    frames: BudgetFrames


class IndoorView(Generic[R]):
    """A scene as arrays under one profile.

    Attributes:
        categories: (C,) names, sorted.
        count: (C,) instances as the source states them.
        boxed: (C,) number of boxes.
        shown: to whoever is asked about it.
        boxes: all boxes, grouped by category in the same order.
        first: (C,) index of each category's first box (meaningless where it has none).
        annotated: (C,) number of boxes, of absent objects too.
    """

    def __init__(self, scene: IndoorScene, rules: R) -> None:
        self._doubts = {f.subject: f for f in reversed(scene.findings) if f.severity == "doubt"}
        self._blinded = self._doubts.get(SIGHT)  # under every profile: poses that are off make wrong truths
        # Likewise: with another axis up no height or direction holds, with another unit no length and no margin.
        self._askew = self._doubts.get(UPRIGHT) or self._doubts.get(SCALE)
        if self._blinded:
            unknown = tuple(o.model_copy(update={"visibility": None}) for o in scene.facts.objects)
            scene = scene.with_facts(objects=unknown)
        self.scene = scene
        self.rules = rules
        self.shown: ShownScene = FILMED
        self._problems: dict[str, tuple[Rejection | None, ...]] = {}  # by slot: every task asks again
        self._usable: dict[str, IntArray] = {}
        self._sights: dict[int, BudgetSight] = {}
        names = sorted({*scene.facts.counts, *(o.category for o in scene.facts.objects)})
        self.categories: StrArray = np.array(names, dtype=object)
        self.index = {name: i for i, name in enumerate(names)}
        self.count = np.array([scene.facts.counts.get(n, 0) for n in names], dtype=np.intp)
        shown = [o for o in scene.facts.objects if not (rules.refuse_unseen and is_absent(o))]
        objects = sorted(shown, key=lambda o: (o.category, o.instance))
        self.absent = np.zeros(len(names), dtype=np.intp)
        self._stated = scene.facts.counts
        self._annotated = Counter(o.category for o in scene.facts.objects)
        self.annotated = np.array([self._annotated[n] for n in names], dtype=np.intp)
        self._barely: dict[int, int] = {}  # category -> most pixels of the worst seen of its objects in doubt
        for item in scene.facts.objects:
            category = self.index[item.category]
            self.absent[category] += is_absent(item)
            if item.visibility is not None and is_barely_seen(item):
                pixels = item.visibility.largest_pixels
                self._barely[category] = min(pixels, self._barely.get(category, pixels))
        if rules.refuse_unseen:
            self.count = np.maximum(self.count - self.absent, 0)
        self._objects = objects
        self.boxes = stack(
            [o.box.center for o in objects], [o.box.lengths for o in objects], [o.box.axes for o in objects]
        )
        self.category_of = np.array([self.index[o.category] for o in objects], dtype=np.intp)
        self.boxed = np.bincount(self.category_of, minlength=len(names))
        first = np.searchsorted(self.category_of, np.arange(len(names)))
        self.first = np.minimum(first, max(len(objects) - 1, 0))

    @property
    def objects(self) -> Sequence[SceneObject]:
        """The objects of `boxes`, in the same order."""
        return self._objects

    def instances(self, category: int) -> IntArray:
        """Indices of a category's boxes."""
        return np.flatnonzero(self.category_of == category)

    def closest_points(self, first: int, second: int) -> tuple[int, int, FloatArray, FloatArray]:
        """Of two categories the boxes that are closest, as `distance_m` has them, and their closest points (3,)."""
        i, j = (grid.ravel() for grid in np.meshgrid(self.instances(first), self.instances(second), indexing="ij"))
        if self.rules.distance == "exact":
            best = int(closest_distance_m(self.boxes.take(i), self.boxes.take(j)).argmin())
            on_first, on_second = closest_points(self.boxes.take(i[[best]]), self.boxes.take(j[[best]]))
            return int(i[best]), int(j[best]), on_first[0], on_second[0]
        sampled = SampledBoxes(self.boxes)
        best = int(sampled.distance_m(i, j).argmin())
        return int(i[best]), int(j[best]), *sampled.closest_points(int(i[best]), int(j[best]))

    @property
    def is_examined(self) -> bool:
        """Whether it was examined what the video shows."""
        return self.scene.facts.observation is not None and not self._blinded

    @property
    def names(self) -> StrArray:
        """The possible operands: the categories (C,)."""
        return self.categories

    def problem(self, category: int, slot: str) -> Rejection | None:
        """Why a category cannot stand in a slot, or None if it can."""
        return self.problems(slot)[category]

    def problems(self, slot: str) -> Sequence[Rejection | None]:
        """`problem` of every category."""
        if slot not in self._problems:
            self._problems[slot] = tuple(self._problem(category, slot) for category in range(len(self.categories)))
        return self._problems[slot]

    def _problem(self, category: int, slot: str) -> Rejection | None:
        name = str(self.categories[category])
        if self.absent[category] and not self.boxed[category]:
            return Rejection(reason="never_visible", measured=0, limit=1, unit="frames")
        if slot == "unique" and self.count[category] != 1:
            return Rejection(reason="not_unique", measured=int(self.count[category]), limit=1, unit="objects")
        unlogged = first_broken(named_rules(self.shown, NamedThing(name, name)))
        if unlogged is not None:
            return unlogged.rejection()
        doubt = self.doubt(name) or (None if slot in {"counted", "seen"} else self._askew)
        if doubt is not None:
            return Rejection(reason=doubt.name, measured=doubt.measured, limit=doubt.limit, unit=doubt.unit)
        if slot != "counted" and self.boxed[category] == 0:
            return Rejection(reason="category_without_box", measured=0, limit=1, unit="boxes")
        stated, boxes = self._stated.get(name, 0), self._annotated[name]
        others = self._taken_for(category) if self.rules.refuse_lookalikes else 0
        if others:
            problem: Rejection | None = Rejection(reason="taken_for_another", measured=others, limit=0, unit="objects")
        elif slot != "counted" and self.rules.refuse_doubts and stated != boxes:
            # Somebody counted another number of them than there are boxes: where each is, is not known.
            problem = Rejection(reason="boxes_missing", measured=boxes, limit=stated, unit="boxes")
        elif slot == "seen":
            problem = self._unseen(category)
        else:
            problem = self._barely_seen(category) if self.rules.refuse_unseen else None
        return problem

    def _taken_for(self, category: int) -> int:
        """How many objects people may or may not call by the name of a category.

        Those of other categories, and those of its own whose raw label is a lookalike of what others of it are called.
        """
        name = str(self.categories[category])
        others = sum(
            int(self.count[i]) for i, other in enumerate(self.categories) if i != category and alike(other, name)
        )
        labels = [o.raw_label for o in self._objects if o.category == name and o.raw_label is not None]
        kinds = {label for label in labels if any(are_lookalikes(label, other) for other in labels)}
        return others + sum(label in kinds for label in labels)

    def _barely_seen(self, category: int) -> Rejection | None:
        """Whether a viewer may or may not find one of the objects, so that neither count nor answer is sure."""
        observation = self.scene.facts.observation
        if category not in self._barely or observation is None:
            return None
        return Rejection(
            reason="barely_visible", measured=self._barely[category], limit=observation.min_pixels, unit="pixels"
        )

    def _unseen(self, category: int) -> Rejection | None:
        off = self._blinded
        if off is not None:
            return Rejection(reason=off.name, measured=off.measured, limit=off.limit, unit=off.unit)
        if np.isnan(self.first_seen_s[category]):
            nothing = Rejection(reason="never_visible", measured=0, limit=1, unit="frames")
            return self._barely_seen(category) or nothing
        return None

    def doubt(self, subject: str) -> Finding | None:
        """The doubt about a category (or "room"), if the profile heeds doubts; about the room also which way is up."""
        own = self._doubts.get(subject) if self.rules.refuse_doubts else None
        return own or (self._askew if subject == "room" else None)

    def usable(self, slot: Slot) -> IntArray:
        """Indices of the categories that can stand in a slot, ascending."""
        if slot not in self._usable:
            free = [problem is None for problem in self.problems(slot)]
            self._usable[slot] = np.flatnonzero(np.array(free, dtype=bool))
        return self._usable[slot]

    @cached_property
    def distance_m(self) -> FloatArray:
        """(C, C) smallest distance between any box of a unique category (row) and any box of another (column).

        NaN in the rows of categories that are not unique.
        """
        matrix = np.full((len(self.categories),) * 2, np.nan)
        rows = np.isin(self.category_of, self.usable("unique"))
        first, second = np.nonzero(rows[:, None] & (self.category_of[:, None] != self.category_of[None, :]))
        if self.rules.distance == "exact":
            # Each unordered pair once, so that both orders give the same bits.
            low, high = np.minimum(first, second), np.maximum(first, second)
            pairs, inverse = np.unique(low * len(rows) + high, return_inverse=True)
            i, j = np.divmod(pairs, len(rows))
            distance = closest_distance_m(self.boxes.take(i), self.boxes.take(j))[inverse]
        else:
            distance = SampledBoxes(self.boxes).distance_m(first, second)
        cells = (self.category_of[first], self.category_of[second])
        matrix[cells] = np.inf
        np.minimum.at(matrix, cells, distance)
        return matrix

    @cached_property
    def plan_distance_m(self) -> FloatArray:
        """(C, C) distance between unique categories as seen from above; NaN for the others."""
        matrix, unique = np.full((len(self.categories),) * 2, np.nan), self.usable("unique")
        rows, columns = np.triu_indices(len(unique), k=1)
        i, j = unique[rows], unique[columns]
        matrix[i, j] = matrix[j, i] = plan_distance_m(self.boxes.take(self.first[i]), self.boxes.take(self.first[j]))
        return matrix

    @cached_property
    def first_seen_s(self) -> FloatArray:
        """(C,) time at which the video first shows any object of the category; NaN if never, or not examined."""
        first = np.full(len(self.categories), np.nan)
        for item, category in zip(self._objects, self.category_of, strict=True):
            if item.visibility is not None and item.visibility.first_seen_s is not None:
                first[category] = np.fmin(first[category], item.visibility.first_seen_s)
        return first

    @property
    def budgets(self) -> tuple[int, ...]:
        """Numbers of evenly spaced frames of which it is known what they show; none without an examined video."""
        observation = self.scene.facts.observation
        return () if observation is None or self._blinded else tuple(observation.budgets)

    def in_budget(self, budget: int) -> BudgetSight:
        """What so many evenly spaced frames show of each category."""
        if budget not in self._sights:
            self._sights[budget] = self._sight(budget)
        return self._sights[budget]

    def _sight(self, budget: int) -> BudgetSight:
        """Of all objects in the room, whatever the profile leaves out of its counts."""
        observation, objects = self.scene.facts.observation, self.scene.facts.objects
        seen = [o.visibility.budgets.get(budget) if o.visibility else None for o in objects]
        if observation is None or None in seen:
            raise ValueError(f"{self.scene.id}: it is not known what {budget} frames show; observe it again")
        of = np.array([self.index[o.category] for o in objects], dtype=np.intp)
        known = [one for one in seen if one is not None]
        pixels = np.array([one.pixels for one in known], dtype=np.intp)
        first_seen, first_shown = (
            np.array([np.inf if s is None else s for s in times], dtype=np.float64)
            for times in ([one.first_seen_s for one in known], [one.first_shown_s for one in known])
        )
        absent = np.array([one.absent for one in known], dtype=bool)
        extent = np.array([one.extent_seen for one in known], dtype=np.float64)
        n, shown = len(self.categories), pixels >= observation.min_pixels
        doubtful = ~shown & ~absent
        stated = np.array([self._stated.get(str(name), 0) for name in self.categories], dtype=np.intp)
        return BudgetSight(
            min_pixels=observation.min_pixels,
            room=np.maximum(stated, np.bincount(of, minlength=n)),
            pixels=_least_by_category(of, pixels, n, np.iinfo(np.intp).max),
            most=-_least_by_category(of, -pixels, n, 0),
            shown=np.bincount(of[shown], minlength=n),
            doubtful=_least_by_category(of[doubtful], pixels[doubtful], n, observation.min_pixels),
            first_seen_s=_least_by_category(of, first_seen, n, np.inf),
            first_shown_s=_least_by_category(of, first_shown, n, np.inf),
            extent_seen=_least_by_category(of, extent, n, np.inf),
            frames=observation.budgets[budget],
        )

    def frames_without(self, category: int) -> IntArray:
        """Frames of the delivered video whose pictures nothing of a category can be in, nor half a second around."""
        return (
            frames_without(self.scene, str(self.categories[category]))
            if self.is_examined
            else np.empty(0, dtype=np.intp)
        )

    def shown_in(
        self, budget: int, operands: IntArray, slots: tuple[str, ...]
    ) -> tuple[tuple[Check, ...], tuple[Fact, ...]]:
        """Whether so many frames show every instance of what each question (n, k) names, and what shows worst.

        Args:
            budget: the number of frames.
            operands: categories; -1 fills up short rows.
            slots: of the operands, the last one of all that follow: where one is "unique", no other thing of its name
                may be in the room.
        """
        sight, there = self.in_budget(budget), operands >= 0
        pixels = np.where(there, sight.pixels[operands], np.iinfo(np.intp).max)
        worst = pixels.argmin(1)
        rows = np.arange(len(operands))
        slots += slots[-1:] * (operands.shape[1] - len(slots))
        one = np.array([slot == "unique" for slot in slots], dtype=bool)
        room = np.where(there & one, sight.room[operands], 1).max(1, initial=1)
        least = pixels[rows, worst]
        return (
            check("not_unique", room, "<=", 1, "objects"),
            check("not_shown_in_frames", least, ">=", sight.min_pixels, "pixels"),
        ), (Fact("least_shown", self.categories[operands[rows, worst]], least.astype(np.float64), "pixels"),)

    @cached_property
    def extent_seen(self) -> FloatArray | None:
        """(C,) share of the longest side of each category's first box that the video shows; None: not examined."""
        if self.scene.facts.observation is None or self._blinded:
            return None
        seen = np.array([o.visibility.extent_seen if o.visibility else np.nan for o in self._objects])
        return np.append(seen, np.nan)[self.first]

    def center_m(self, category: IntArray) -> FloatArray:
        """Centre (n, 3) of each category's first box."""
        return np.asarray(self.boxes.center[self.first[category]])

    def pair_names(self, first: IntArray, second: IntArray) -> StrArray:
        """Each pair of categories as "a - b"."""
        return np.asarray(self.categories[first] + " - " + self.categories[second])


def _least_by_category(of: IntArray, values: npt.NDArray[Any], n: int, start: float) -> npt.NDArray[Any]:
    """The least value (n,) of each category."""
    found = np.full(n, start, dtype=values.dtype)
    np.minimum.at(found, of, values)
    return found


def is_absent(item: SceneObject) -> bool:
    """Whether the video was examined and no frame shows anything of an object."""
    return item.visibility is not None and item.visibility.absent


def is_barely_seen(item: SceneObject) -> bool:
    """Whether the video was examined and shows an object, but nowhere large enough to be seen for sure."""
    return item.visibility is not None and not item.visibility.absent and item.visibility.frames_seen == 0
