"""Things that a question about a drive speaks of, and its cases.

A thing is the nearest of a kind, all around or on one side of us. Cases know where they stand and what they are about.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.case import COMMON_COUNT, COUNT_CHOICES, ExamCase, pose
from pipeline.benchmarks.embodied4c.drive.view import DriveExam
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.questions.gate import READ_SHARE, TOO_COARSE, NamedThing
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.drive.facts import CATEGORIES, VEHICLES
from pipeline.worlds.drive.view import DOT_M

# Words for several of a kind; what is not here has an s.
_PLURALS: Final = {"bus": "buses", "traffic cone": "traffic cones", "wheelchair user": "wheelchair users"}
# What questions speak of: each category by its own word, and one family, to which nobody counts bicycles, as one may
# to vehicles. "object" tells nothing.
MOTOR_VEHICLE: Final = "motor vehicle"
KINDS: Final[dict[str, frozenset[str]]] = {
    **{name: frozenset({name}) for name in sorted(CATEGORIES - {"object", "vehicle"})},
    MOTOR_VEHICLE: VEHICLES - {"trailer"},
}
# Bearings, counter-clockwise from straight ahead, in the middle of each side; each is 90 degrees wide.
SIDES: Final[dict[str, float]] = {
    "ahead of the ego vehicle": 0.0,
    "to the left of the ego vehicle": 90.0,
    "behind the ego vehicle": 180.0,
    "to the right of the ego vehicle": -90.0,
}
HALF_SIDE_DEG: Final = 45.0
# What has a length and a front that can be seen.
LONG: Final = VEHICLES | {MOTOR_VEHICLE, "bicycle", "cyclist"}
RADII_M: Final = (10, 15, 20, 25, 30, 35, 40, 45, 50)  # within which things are counted


@dataclass(frozen=True)
class ObjectReference:
    """One thing at one moment.

    Attributes:
        actor: its number.
        moment: number among the view's moments.
        kind: what it is called: a key of `KINDS`.
        side: a key of `SIDES`; "" for all around.
        gap_m: from us, as `DriveExam.near_m`.
        scope: where alone it is the nearest, as the log's labels know no more: `DriveExam.scope`.
        rules: that the words lead to it alone, and that it is seen well.
    """

    actor: int
    moment: int
    kind: str
    side: str
    gap_m: float
    scope: str
    rules: tuple[Measure, ...]

    @property
    def words(self) -> str:
        """How it is spoken of: "the nearest bus ahead of the ego vehicle"."""
        return f"the nearest {self.kind} {self.side}".rstrip() + self.scope

    @property
    def in_words(self) -> str:
        """The same where it is asked about: with what counts as on that side."""
        return f"the nearest {self.kind} {sector_words(self.side)}".rstrip() + self.scope

    @property
    def key(self) -> str:
        """As an operand."""
        return f"{self.kind}@{self.side}".rstrip("@")

    @property
    def holds(self) -> bool:
        """Whether all rules are kept."""
        return all(one.holds for one in self.rules)


def sector_words(side: str) -> str:
    """A side with how wide it is: "behind the ego vehicle (within 45° of straight behind)"."""
    way = side.removeprefix("to the ").partition(" ")[0]
    return f"{side} (within {HALF_SIDE_DEG:.0f}° of straight {way})" if side else ""


def plural(kind: str) -> str:
    """Several of a kind."""
    return _PLURALS.get(kind, f"{kind}s")


def of_kind(view: DriveExam, kind: str) -> BoolArray:
    """Which actors (A,) are of a kind."""
    return np.isin(view.categories.astype(str), sorted(KINDS[kind]))


def kinds_of(view: DriveExam) -> list[str]:
    """Kinds of which there is anything, a family only where it holds several categories."""
    there = set(view.categories.tolist())
    return [kind for kind, names in KINDS.items() if len(there & names) > (1 if len(names) > 1 else 0)]


def radii_counted(view: DriveExam, gap_m: FloatArray) -> list[int]:
    """Radii whose counts give enough choices, by distances (A, M) of what is counted; all, if none need be even."""
    if not view.rules.even_answers:
        return [*RADII_M]
    counts = {radius: {*(gap_m <= radius).sum(0).tolist()} - {0} for radius in RADII_M}
    return [radius for radius, own in counts.items() if COMMON_COUNT in own and len(own) >= COUNT_CHOICES]


def refs(view: DriveExam, moment: int, *, sides: bool = True) -> list[ObjectReference]:
    """The nearest of each kind at a moment, all around, and with ``sides`` on each side where something lies.

    Where things were labelled in a picture alone, the nearest in that, and none on a side.
    """
    if moment not in view.refs:
        view.refs[moment] = list(_refs(view, moment))
    return [ref for ref in view.refs[moment] if sides or not ref.side]


def _refs(view: DriveExam, moment: int) -> Iterator[ObjectReference]:
    for kind in kinds_of(view):
        members = of_kind(view, kind) & view.there[:, moment]
        if members.any():
            yield _nearest(view, moment, kind, "", members, members)
        for side, middle in SIDES.items() if not view.scope else ():
            off = np.abs((view.off_deg[:, moment] - middle + 180) % 360 - 180)
            margin = view.rules.side_margin_deg
            surely = members & (off <= HALF_SIDE_DEG - margin)
            maybe = members & (off <= HALF_SIDE_DEG + margin)
            if surely.any():
                yield _nearest(view, moment, kind, side, surely, maybe)


def _nearest(
    view: DriveExam, moment: int, kind: str, side: str, surely: BoolArray, maybe: BoolArray
) -> ObjectReference:
    rules = view.rules
    gap = view.near_m[:, moment]
    actor = int(np.where(surely, gap, np.inf).argmin())
    others = maybe.copy()
    others[actor] = False
    second = float(np.where(others, gap, np.inf).min())
    share = rules.second_share / (1 if view.scene.video else 2)  # from above, far is no smaller than near
    needed = max(rules.second_gap_m, share * float(gap[actor]))
    names = [
        rule("too_far", float(gap[actor]), "<=", rules.spoken_m, "m", kind),
        *seen_rules(view, actor, moment),
    ]
    names.append(all_sure(view, of_kind(view, kind), moment))
    if np.isfinite(second):
        names.append(rule("another_as_near", second - float(gap[actor]), ">=", needed, "m", kind))
    return ObjectReference(actor, moment, kind, side, float(gap[actor]), view.scope, tuple(names))


def all_sure(view: DriveExam, kinds: BoolArray, moment: int) -> Measure:
    """That nothing of some kinds (A,) is in doubt then: it could be nearer, or one more."""
    return rule("another_in_doubt", float((kinds & view.unsure_near[:, moment]).sum()), "<=", 0.0, "things")


def seen_rules(view: DriveExam, actor: int, moment: int) -> list[Measure]:
    """That an actor is seen well, as far as the log tells."""
    rules, who = view.rules, str(view.ids[actor])
    size_px, hidden = view.in_film(int(view.moments[moment]))
    limits: tuple[tuple[FloatArray, Callable[[float], Measure]], ...] = (
        (view.points[:, moment], lambda number: rule("hardly_measured", number, ">=", rules.points_min, "points", who)),
        (view.occluded[:, moment], lambda level: rule("occluded", level, "<=", rules.occluded_max, "level", who)),
        (view.truncated[:, moment], lambda share: rule("truncated", share, "<=", rules.truncated_max, "share", who)),
        (size_px, lambda side: rule("too_small_in_picture", side, ">=", rules.side_px_min, "pixels", who)),
        (hidden, lambda share: rule("hidden_in_picture", share, "<=", rules.hidden_max, "share", who)),
    )
    return [of(value) for table, of in limits if np.isfinite(value := float(table[actor]))]


def case(
    view: DriveExam, kind: str, moment: int, operands: Iterable[str] = (), /, *about: ObjectReference, **fields: str
) -> ExamCase:
    """A case of a kind at a moment, with the rules of the things that it is about."""
    found = pose(view, kind, view.second(moment), operands, {"us": view.us, **fields})
    found.traits = tuple(f"{n} {part}" for n, operand in enumerate(found.operands[2:]) for part in operand.split("@"))
    found.whose = str(view.ids[about[0].actor]) if about else ""
    for ref in about:
        for measure in ref.rules:
            found.measured(measure)
        name_actor(view, found, ref.words, ref.actor, moment, KINDS[ref.kind])
    return found


def name_actor(view: DriveExam, one: ExamCase, words: str, actor: int, moment: int, kinds: Iterable[str]) -> None:
    """Names an actor by words that may mean anything of some categories, of which then all must be known."""
    seen = view.pictured(actor, int(view.moments[moment]))
    for kind in sorted(kinds):
        one.name(NamedThing(words, kind, seen))


def needs_outline(view: DriveExam, one: ExamCase, *about: ObjectReference) -> None:
    """What is read of the outlines of things: of those that a film from above may draw as a dot, nothing."""
    for ref in about:
        if not view.size_m[ref.actor, :2].max() > DOT_M * math.sqrt(2):  # as long a line, turned by 45 degrees
            one.reads("outline of what is small")


def needs_gap(view: DriveExam, one: ExamCase, moment: int, gap_m: float, *about: ObjectReference) -> None:
    """That a distance to surfaces is read nearly as well where things are dots, which are wider than they are."""
    if view.scene.video is not None:
        return
    is_dot = view.drawn_marks(int(view.moments[moment])).is_dot
    off_m = sum((DOT_M - float(view.size_m[ref.actor, :2].min())) / 2 for ref in about if is_dot[ref.actor])
    if off_m > 0:
        one.require(TOO_COARSE, off_m / gap_m if gap_m > 0 else np.inf, "<=", READ_SHARE, "share of the distance")


def mark(view: DriveExam, one: ExamCase, name: str, place: FloatArray) -> None:
    """A place (2,) that a picture of the question shows, in the drive's frame."""
    one.fact("x", name, float(place[0]), "m")
    one.fact("y", name, float(place[1]), "m")


def mark_all(view: DriveExam, one: ExamCase, asked: ObjectReference, *others: ObjectReference) -> None:
    """The places of the thing that is asked about, and of the other that it is held against."""
    for name, ref in zip(("asked", "other"), (asked, *others), strict=False):
        mark(view, one, name, view.place_m[ref.actor, view.moments[ref.moment]])


def named(view: DriveExam, *, sides: bool = True) -> Iterator[tuple[int, ObjectReference]]:
    """Every thing that can be spoken of, with its moment."""
    for moment in range(len(view.moments)):
        for ref in refs(view, moment, sides=sides):
            yield moment, ref


def cases_about(
    view: DriveExam, kind: str, of: Collection[str] = KINDS, *, sides: bool = True
) -> Iterator[tuple[ExamCase, ObjectReference, int]]:
    """A case of a kind about each thing that can be spoken of and is one ``of`` some kinds; the thing; its moment."""
    for moment, ref in named(view, sides=sides):
        if ref.kind in of:
            yield case(view, kind, moment, (ref.key,), ref, thing=ref.in_words), ref, moment
