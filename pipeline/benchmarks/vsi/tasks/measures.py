"""Tasks that measure: how many there are, how large an object or the room is, how far apart two objects are."""

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.benchmarks.vsi.rules import WORDS, NameLists, ScanView, among, containing
from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import Operands
from pipeline.questions.arrays import Answers, ArrayTask, format_numbers, sets
from pipeline.questions.rules import Check, Fact, check
from pipeline.questions.selection import SAME_FACT
from pipeline.questions.task import Choice, Form, Number, of_names
from pipeline.questions.usual import USUAL
from pipeline.worlds.indoor.facts import Extent
from pipeline.worlds.indoor.sizes import TYPICAL

# A scan that shows the furniture of two kinds of room is open-plan or several rooms: "this room" is then a matter
# of reading, although the question says to take the combined space. Such questions are flagged, not dropped.
ROOM_KINDS: Final[dict[str, frozenset[str]]] = {
    "bathroom": frozenset({"toilet", "bathtub", "shower", "shower curtain", "bidet"}),
    "bedroom": frozenset({"bed", "nightstand", "crib"}),
    "kitchen": frozenset({"stove", "oven", "dishwasher", "refrigerator", "kitchen counter", "kitchen cabinet"}),
    "living room": frozenset({"sofa", "couch", "coffee table", "fireplace"}),
    "office": frozenset({"whiteboard", "printer", "copier", "computer tower"}),
}
# Quantiles of what `strict` asks of 122 scans. Of counts and sizes (cm) over the root of what is usual of the name: of
# 131 counts the one nearest to what people take for usual was right in 36% of the choices, now in 30%. Distances are
# of `official` as well, which asks more of short ones.
AREAS_M2: Final = (3.7, 6.8, 8.8, 10.5, 11.3, 12.6, 14.1, 15.3, 17.4, 19.0, 20.7, 23.0, 25.0, 27.0, 32.3, 40.9, 55.3)
COUNTS: Final = (1.3, 1.7, 1.7, 1.7, 2.0, 2.1, 2.5, 2.5, 2.5, 2.7, 3.0, 3.4, 3.5, 4.4, 6.7, 8.6, 17.6)
SIZES_CM: Final = (3.3, 4.6, 5.0, 5.9, 6.4, 6.7, 7.3, 7.8, 9.4, 9.8, 11.4, 13.3, 14.6, 16.7, 18.2, 22.8, 36.8)
DISTANCES_M: Final = (0.3, 0.5, 0.6, 0.8, 1.0, 1.1, 1.4, 1.6, 1.9, 2.2, 2.4, 2.6, 3.0, 3.4, 4.1, 4.7, 8.0)
UNKNOWN_COUNT, UNKNOWN_CM = 3.0, 100.0  # of names of which nothing is usual
# Who knows how many of these a room has knows much of its area, and other questions of the scan tell of them: of 122
# scans the logarithm of the usual area goes with that of the area by 0.75, and nothing else tells as much.
FURNITURE: Final = (
    ("table", "desk", "coffee table", "dining table", "conference table"),
    ("chair", "office chair", "sofa chair", "stool"),
    ("sofa", "couch", "loveseat"),
    ("bed",),
)
EMPTY_M2, FURNITURE_POWER = 10.0, 0.28  # usual area without any of it, and of one more than there is of each
ONE_ROOM: Final = 1
# Of what the whole video shows of the floor plan: who misses a tenth of a room misses it in its area, and mean
# relative accuracy counts a tenth.
PLAN_SEEN_MIN: Final = 0.9


class RoomSize(ArrayTask[ScanView]):
    """No operand. Truth: area in square metres, one decimal (VSI-Bench B.1: alpha shape of the scan's points).

    Args:
        name: of the task and of its template.
        extent: the part of the scene that is asked about; None: all that was measured, whatever that is.
    """

    reads = "area"
    share = 1
    roles = ()
    slots = ()
    form: Number = Number(decimals=1, unit="m2", quantiles=AREAS_M2)

    def __init__(self, name: str = "room_size_estimation", extent: Extent | None = None) -> None:
        self.name, self.template, self.extent = name, f"vsi/questions/{name}", extent

    def obstacle(self, view: ScanView) -> Rejection | None:
        """A room that was not measured, or whose measurement is doubtful, is never asked about."""
        room = view.scene.facts.room
        if room.area_m2 is None:
            return Rejection(reason="room_not_measured", measured=None, limit=None, unit="m2")
        if self.extent is not None and room.extent != self.extent:
            return Rejection(reason="other_extent_measured", measured=None, limit=None, unit="m2")
        doubt = view.doubt("room")
        if doubt is None:
            return None
        return Rejection(reason=doubt.name, measured=doubt.measured, limit=doubt.limit, unit=doubt.unit)

    def operands(self, view: ScanView) -> IntArray:
        """One candidate without operands, (1, 0), where the room was measured."""
        return np.empty((int(self.obstacle(view) is None), 0), dtype=np.intp)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The area as the source measured it; of usual areas (`usual_area_m2`) a share is asked."""
        n, words = len(operands), WORDS[view.rules.words]
        area = view.scene.facts.room.area_m2
        measured, usual = np.full(n, np.nan if area is None else area), usual_area_m2(view)
        is_usual = np.maximum(measured / usual, usual / measured) < words.usual_area_factor
        kinds = room_kinds(view)
        flag = "open_plan" if len(kinds) > ONE_ROOM else ""
        subject = np.full(n, ", ".join(kinds) or "none", dtype=object)
        return Answers(
            truth=format_numbers(measured, self.form),
            checks=(),
            facts=(
                Fact("room_area", np.full(n, "room", dtype=object), measured, "m2"),
                Fact("room_kinds", subject, np.full(n, float(len(kinds))), "kinds"),
            ),
            flags=np.full(n, flag, dtype=object),
            share=np.where(is_usual, words.usual_area_share, 1.0),
        )

    def answer_in(self, view: ScanView, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """The same area, where the frames show nearly as much of the floor plan as the whole video."""
        seen = view.in_budget(budget).frames.plan_seen
        share = np.full(len(truth), np.nan if seen is None else seen)
        return Answers(truth, (check("plan_not_shown", share, ">=", PLAN_SEEN_MIN, "share"),), ())


def room_kinds(view: ScanView) -> list[str]:
    """The kinds of room whose furniture the scene holds, sorted."""
    present = set(view.categories)
    return [kind for kind, furniture in sorted(ROOM_KINDS.items()) if furniture & present]


def usual_area_m2(view: ScanView) -> float:
    """How large a room usually is that has as many things of each kind of `FURNITURE`."""
    names = np.char.lower(view.categories.astype(str))
    more = [1.0 + float(view.count[np.isin(names, kind)].sum()) for kind in FURNITURE]
    return EMPTY_M2 * math.prod(more) ** FURNITURE_POWER


def usual_count(name: str) -> float:
    """The root of how many things of a name a room usually has, to people: the fourth root tells all that it does."""
    return math.sqrt(USUAL["count"].get(name, UNKNOWN_COUNT))


class ObjectCounting(ArrayTask[ScanView]):
    """Operands: categories in alphabetical order. Truth: the number of their instances together.

    Of one category a count below 2 is not asked (VSI-Bench B.1) unless its name is a challenging one (`NameLists`).

    Args:
        name: of the task and of its template.
        roles: one per category that is counted.
    """

    reads = "count"
    share = 1
    by_name = True
    form: Number = Number(decimals=0, unit="objects", quantiles=COUNTS, usual=usual_count)

    def __init__(self, name: str = "object_counting", roles: tuple[str, ...] = ("category",)) -> None:
        self.name, self.template, self.roles = name, f"vsi/questions/{name}", roles
        self.slots = ("counted",) * len(roles)

    def operands(self, view: ScanView) -> IntArray:
        """Every set of categories whose counts can be relied on, (n, k)."""
        return sets((view.scene.id, self.name), view.categories, view.usable("counted"), len(self.roles))

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The count; evidence are the stated counts beside the numbers of boxes."""
        words, names = WORDS[view.rules.words], view.categories[operands]
        counts = view.count[operands].astype(float)
        alone = len(self.roles) == 1
        challenging = self._challenging(view, names)
        total = counts.sum(1)
        never = among(names.ravel(), words.never_counted).reshape(names.shape).sum(1)
        share = np.ones(len(operands))
        for count, asked in words.challenging_shares.items() if alone else ():
            share[challenging[:, 0] & (total == count)] = asked
        enough = self._enough_to_count(view, counts, challenging)
        for count, most in words.common_counts.items():
            common, others = total == count, (total != count) & enough.ok
            share[common] = min(1.0, most / (1 - most) * others.sum() / max(common.sum(), 1))
        if not alone:
            share[challenging.all(1) & (total == CHALLENGING_SUM)] = words.challenging_four_share
        return Answers(
            truth=format_numbers(total, self.form),
            checks=(
                enough,
                *([check("name_is_not_asked", never, "<=", 0, "names")] if words.never_counted else []),
            ),
            facts=tuple(
                fact
                for i in range(operands.shape[1])
                for fact in (
                    Fact("stated_count", names[:, i], counts[:, i], "objects"),
                    Fact("boxes", names[:, i], view.boxed[operands[:, i]].astype(float), "objects"),
                )
            ),
            share=share,
        )

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The count of what is counted."""
        return of_names(operands, answers)

    def answer_in(self, view: ScanView, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """The number of those that the frames show, where all are either shown for sure or not at all.

        What a frame without a pose shows is not known: it might be one more, unless others show all in the room.
        """
        sight, names = view.in_budget(budget), view.categories[operands]
        shown, room, boxed = (n[operands].astype(float) for n in (sight.shown, sight.room, view.annotated))
        lost = np.where((shown < room).any(1), len(sight.frames.without_pose_s), 0)
        missing = (boxed - room).argmin(1)[:, None]
        return Answers(
            truth=format_numbers(shown.sum(1), self.form),
            checks=(
                check("boxes_missing", _take_column(boxed, missing), ">=", _take_column(room, missing), "boxes"),
                check("frames_without_pose", lost, "<=", 0, "frames"),
                check("barely_visible", sight.doubtful[operands].min(1), ">=", sight.min_pixels, "pixels"),
                self._enough_to_count(view, shown, self._challenging(view, names)),
            ),
            facts=tuple(
                fact
                for i in range(operands.shape[1])
                for fact in (
                    Fact("shown", names[:, i], shown[:, i], "objects"),
                    Fact("in_the_room", names[:, i], room[:, i], "objects"),
                )
            ),
        )

    def _challenging(self, view: ScanView, names: StrArray) -> BoolArray:
        """Which names (n, k) are challenging: a single one of these is asked about too."""
        return among(names.ravel(), WORDS[view.rules.words].challenging).reshape(names.shape)

    def _enough_to_count(self, view: ScanView, counts: FloatArray, challenging: BoolArray) -> Check:
        """Whether there are enough of each category (n, k) that counting is a task."""
        alone = len(self.roles) == 1
        needed = np.where(challenging & alone, min(1, view.rules.min_count), view.rules.min_count)
        fewest = (counts - needed).argmin(1)[:, None]
        return check("too_few_instances", _take_column(counts, fewest), ">=", _take_column(needed, fewest), "objects")

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """Any order of the categories is one question."""
        return tuple(sorted(str(fields[role]) for role in self.roles))


def _take_column(values: npt.NDArray[Any], column: IntArray) -> npt.NDArray[Any]:
    """The value (n,) in one column (n, 1) of each row."""
    return np.take_along_axis(values, column, 1)[:, 0]


CHALLENGING_SUM: Final = 4.0  # of two challenging names, each more than once
CM_PER_M = 100.0


def usual_size(name: str) -> float:
    """How long things of a name usually are, in centimetres."""
    usual = _usual_cm(name)
    return usual[1] if usual else UNKNOWN_CM


class ObjectSize(ArrayTask[ScanView]):
    """Operand: a category with one instance. Truth: longest box side in whole centimetres (VSI-Bench B.1)."""

    reads = "size"
    name = "object_size_estimation"
    share = 1
    by_name = True
    template = "vsi/questions/object_size_estimation"
    roles = ("category",)
    slots = ("unique",)
    form: Number = Number(decimals=0, unit="cm", quantiles=SIZES_CM, usual=usual_size)

    def operands(self, view: ScanView) -> IntArray:
        """Every unique category, (n, 1)."""
        return view.usable("unique")[:, None]

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The longest side; evidence is all three sides."""
        category = operands[:, 0]
        sides = np.sort(view.boxes.half[view.first[category]] * 2, axis=1)[:, ::-1]
        names, words = view.categories[category], WORDS[view.rules.words]
        size_cm, known = sides[:, 0] * CM_PER_M, among(names, words.never_sized)
        return Answers(
            truth=format_numbers(size_cm, self.form),
            checks=(
                *([check("name_is_not_asked", known, "<=", 0, "names")] if words.never_sized else []),
                *_whole(names, sides[:, 0], words.whole_factor),
                *_enough_shown(view, category),
            ),
            facts=tuple(Fact(f"side_{i + 1}", names, sides[:, i], "m") for i in range(3)),
            flags=np.array([f"{SAME_FACT}: size of {name}" for name in names.tolist()], dtype=object),
            share=_usual_share(names, size_cm, words),
        )

    def answer_in(self, view: ScanView, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """The same length, where the frames show the object and enough of its longest side."""
        checks, facts = view.shown_in(budget, operands, self.slots)
        least, extent = view.rules.extent_seen_min, view.in_budget(budget).extent_seen[operands[:, 0]]
        own = () if least is None else (check("extent_not_shown", extent, ">=", least, "share"),)
        return Answers(truth, (*checks, *own), facts)

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The size of the name."""
        return of_names(operands, answers)


SHORTER, LONGER = "shorter", "longer"
OFF_USUAL_MIN: Final = 1.1  # ours: who estimates a length to a tenth is right


_SIZE: Final = ObjectSize()


class SizeComparison(ArrayTask[ScanView]):
    """Operand: a category with one instance. Truth: whether its longest side is longer than usual.

    Ours: of the size itself the name tells most; of this nothing, since half of the boxes are longer than their median.
    What is usual differs from place to place, so a size is asked that is off both the median of boxes (`TYPICAL`) and
    what people take for usual (`USUAL`); the text has what lies between. One question is asked of each size
    (`selection.SAME_FACT`).
    """

    reads = "size"
    name = "object_size_comparison"
    share = 1
    template = "vsi/questions/object_size_comparison"
    roles = ("category",)
    slots = ("unique",)
    form: Form = Choice(2)

    def operands(self, view: ScanView) -> IntArray:
        """Every unique category, (n, 1)."""
        return _SIZE.operands(view)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """Evidence is all three sides and the usual longest one, of a name that is common (`TYPICAL`)."""
        sized = _SIZE.answer(view, operands)
        names = view.categories[operands[:, 0]]
        boxes = np.array([TYPICAL[name].boxes if name in TYPICAL else 0 for name in names])
        usual_m = np.array([_usual_cm(name) or (np.nan,) * 3 for name in names]).reshape(-1, 3) / CM_PER_M
        side_m = sized.facts[0].value
        ratio = np.maximum(side_m / usual_m.max(1), usual_m.min(1) / side_m)
        return replace(
            sized,
            truth=np.where(side_m > usual_m[:, 1], LONGER, SHORTER).astype(object),
            checks=(
                *sized.checks,
                check("usual_size_unknown", boxes, ">=", COMMON_BOXES, "boxes"),
                check("size_is_usual", ratio, ">=", OFF_USUAL_MIN, "ratio"),
            ),
            facts=(*sized.facts, Fact("usual_size", names, usual_m[:, 1], "m")),
            share=None,
        )

    def answer_in(self, view: ScanView, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """The same, where the frames show as much of the object as to tell its size."""
        return _SIZE.answer_in(view, operands, truth, budget)

    def guess_classes(self, operands: pa.ListArray, answers: StrArray) -> StrArray:
        """The answer, and on which side of the number in the text people's usual size is (`USUAL`)."""
        usual = [_usual_cm(name) or (0.0,) * 3 for name in operands.flatten().to_pylist()]
        sides = [" over people's usual" if t > p else " under it" if t < p else "" for _, t, p in usual]
        return answers + np.array(sides, object)

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Both."""
        return SHORTER, LONGER

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The usual size stands in the text."""
        usual = _usual_cm(operands[0])
        return {"category": operands[0], "usual_cm": f"{usual[1]:.0f}" if usual else ""}


def _usual_cm(name: str) -> tuple[float, float, float] | None:
    """The usual longest side by boxes, in the text (in steps of 5 cm) and to people; None where none is known."""
    boxes = TYPICAL[name].median_m * CM_PER_M if name in TYPICAL and TYPICAL[name].boxes >= COMMON_BOXES else None
    people = USUAL["size_cm"].get(name, boxes)
    if people is None:
        return None
    boxes = people if boxes is None else boxes
    return boxes, 5.0 * round(math.sqrt(boxes * people) / 5), people


COMMON_BOXES: Final = 5  # in the table of usual sizes: of so many the name tells what is usual


def _usual_share(names: StrArray, size_cm: FloatArray, words: NameLists) -> FloatArray:
    """The share (n,) that is asked of names and sizes: less of usual ones, and none of names that have one size."""
    share = np.ones(len(names))
    for name, (low, high, asked) in words.usual_cm.items():
        share[among(names, (name,)) & (size_cm >= low) & (size_cm <= high)] = asked
    if words.usual_share < 1:
        usual = np.array([_usual_cm(name) or (np.nan,) * 3 for name in names]).reshape(-1, 3)
        off = np.maximum(size_cm / usual.max(1), usual.min(1) / size_cm)
        share[off < words.usual_factor] = words.usual_share  # of names that are not known it is NaN, and never less
    if words.whole_factor is not None:
        share[among(names, tuple(_of_one_size(words.whole_factor)))] = 0.0  # what `_whole` leaves of them is usual
    return share


def _of_one_size(factor: float) -> dict[str, float]:
    """Common names of which one box in twenty, at most, is longer than the median by more than a factor: that, in m."""
    common = {name: usual for name, usual in TYPICAL.items() if usual.boxes >= COMMON_BOXES}
    return {name: u.median_m for name, u in common.items() if u.rarely_above_m <= factor * u.median_m}


def _whole(names: StrArray, side_m: FloatArray, factor: float | None) -> tuple[Check, ...]:
    """Whether boxes are as long as things of their names that have one size; no rule without a factor."""
    if factor is None:
        return ()
    least = _of_one_size(factor)
    limit = np.array([least.get(name, np.nan) for name in names]) / factor
    return (check("may_be_a_part", np.where(np.isnan(limit), np.inf, side_m), ">=", np.nan_to_num(limit), "m"),)


def _enough_shown(view: ScanView, category: IntArray) -> tuple[Check, ...]:
    """Whether the video shows enough of the side to measure it; no rule where the video was not examined."""
    least, seen = view.rules.extent_seen_min, view.extent_seen
    if least is None or seen is None:
        return ()
    return (check("extent_not_shown", seen[category], ">=", least, "share"),)


class AbsDistance(ArrayTask[ScanView]):
    """Operands: two unique categories in alphabetical order. Truth: closest-point distance, one decimal (B.1)."""

    reads = "distance"
    name = "object_abs_distance"
    share = 1
    template = "vsi/questions/object_abs_distance"
    roles = ("first", "second")
    slots = ("unique", "unique")
    form: Number = Number(decimals=1, unit="m", quantiles=DISTANCES_M)

    def operands(self, view: ScanView) -> IntArray:
        """Every unordered pair of unique categories, (n, 2)."""
        unique = view.usable("unique")
        first, second = np.triu_indices(len(unique), k=1)
        return np.stack([unique[first], unique[second]], axis=1)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The distance by the profile's metric."""
        first, second = operands.T
        distance, words = view.distance_m[first, second], WORDS[view.rules.words]
        sprawling = containing(view.categories, words.sprawling)[operands].sum(1)
        share = np.ones(len(operands))
        for below_m, asked in reversed(words.distance_shares):
            share[distance < below_m] = asked
        return Answers(
            truth=format_numbers(distance, self.form),
            checks=(
                *([check("name_is_not_asked", sprawling, "<=", 0, "names")] if words.sprawling else []),
                check("objects_too_close", distance, ">=", view.rules.abs_distance_min_m, "m"),
            ),
            facts=(Fact("distance", view.pair_names(first, second), distance, "m"),),
            share=share,
        )

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """Either order of the two is one question."""
        return tuple(sorted((str(fields["first"]), str(fields["second"]))))
