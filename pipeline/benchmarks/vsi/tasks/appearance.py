"""obj_appearance_order: in which order four categories first appear in the video."""

from itertools import permutations
from math import comb

import numpy as np

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.core.arrays import FloatArray, IntArray, StrArray
from pipeline.core.schema import Rejection
from pipeline.core.templates import LIST_SEPARATOR, Operands
from pipeline.questions.arrays import MOST, Answers, ArrayTask, sets, untried
from pipeline.questions.rules import Fact, check
from pipeline.questions.task import Form, OrderChoice


class AppearanceOrder(ArrayTask[ScanView]):
    """Operands: n categories in alphabetical order. Truth: the categories in order of first appearance.

    A category appears when the pixels of any of its objects first pass a threshold, in any frame of the video; times
    too close together are ambiguous (VSI-Bench B.1). The text names the categories in the order of the first option,
    as every released question names them in the order of one of its options.
    """

    reads = "order"
    name = "obj_appearance_order"
    share = 1
    template = "vsi/questions/obj_appearance_order"
    leak_group = "order"
    form: Form = OrderChoice()

    def __init__(self, choices: int = 4) -> None:
        self.choices = choices
        self.roles = ("choice",) * choices
        self.slots = ("seen",) * choices

    def obstacle(self, view: ScanView) -> Rejection | None:
        """Without an examined video nothing is known about appearance."""
        if view.scene.facts.observation is not None:
            return None
        return Rejection(reason="video_not_examined", measured=None, limit=None, unit=None)

    def operands(self, view: ScanView) -> IntArray:
        """Every set of categories that the video shows, (n, choices); see `tuples` where they are many."""
        return sets((view.scene.id, self.name), view.categories, self._seen_categories(view), self.choices)

    def untried(self, view: ScanView) -> Rejection | None:
        """See `ArrayTask.untried`."""
        total = comb(len(self._seen_categories(view)), self.choices)
        return untried(total, total if total <= MOST else len(self.operands(view)))

    def _seen_categories(self, view: ScanView) -> IntArray:
        return view.usable("seen") if self.obstacle(view) is None else np.empty(0, dtype=np.intp)

    def answer(self, view: ScanView, operands: IntArray) -> Answers:
        """The order; evidence is every first time and the smallest gap between two of them."""
        first = view.first_seen_s[operands]
        gap = np.diff(np.sort(first, axis=1), axis=1).min(1)
        return Answers(
            truth=_in_order(view, operands, first),
            checks=(check("first_times_too_close", gap, ">=", view.rules.first_gap_min_s, "s"),),
            facts=tuple(
                Fact("first_seen", view.categories[operands[:, i]], first[:, i], "s") for i in range(operands.shape[1])
            ),
        )

    def answer_in(self, view: ScanView, operands: IntArray, truth: StrArray, budget: int) -> Answers:
        """The order in these frames, which may be another one than in all: a frame shows nothing of what lies between.

        Whoever takes a glimpse for an appearance must find the same order as who does not: each category is seen for
        sure before any of the next one shows. A frame without a pose might show any that was not seen by then.
        """
        sight = view.in_budget(budget)
        seen, shown = sight.first_seen_s[operands], sight.first_shown_s[operands]
        order = seen.argsort(axis=1, kind="stable")
        last = np.take_along_axis(seen, order, axis=1)
        with np.errstate(invalid="ignore"):  # inf - inf, of what is never seen
            unknown = min(sight.frames.without_pose_s, default=np.inf)  # later ones change nothing
            gap = (np.take_along_axis(shown, order, axis=1)[:, 1:] - last[:, :-1]).min(1)
            known_s = unknown - last[:, -2]
        return Answers(
            truth=_in_order(view, operands, seen),
            checks=(
                check("not_shown_in_frames", sight.most[operands].min(1), ">=", sight.min_pixels, "pixels"),
                check("first_frames_not_apart", gap, ">", 0, "s"),
                check("frames_without_pose", known_s, ">", 0, "s"),
            ),
            facts=tuple(
                Fact("first_seen", view.categories[operands[:, i]], seen[:, i], "s") for i in range(operands.shape[1])
            ),
        )

    def labels(self, operands: tuple[str, ...], truth: str) -> tuple[str, ...]:
        """Every order of the categories."""
        return tuple(LIST_SEPARATOR.join(order) for order in permutations(operands))

    def fields(self, operands: tuple[str, ...], options: tuple[str, ...] | None) -> Operands:
        """The categories in the order of the first option."""
        return {"choices": tuple(options[0].split(LIST_SEPARATOR)) if options else operands}

    def canonical(self, fields: Operands) -> tuple[str, ...]:
        """The categories in alphabetical order."""
        return tuple(sorted(fields["choices"]))


def _in_order(view: ScanView, operands: IntArray, first_s: FloatArray) -> StrArray:
    """The categories (n, k) in order of their first times (n, k), in words (n,)."""
    names = np.take_along_axis(view.categories[operands], first_s.argsort(axis=1, kind="stable"), axis=1)
    words = names[:, 0]
    for column in names.T[1:]:
        words = words + LIST_SEPARATOR + column
    return np.asarray(words)
