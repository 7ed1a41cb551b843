"""An episode as its exam sees it: moments at which questions stand, and what things can be called."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from pipeline.benchmarks.embodied4c.case import ExamCase, ToldFacts, about_log, log_flags, part, pose
from pipeline.benchmarks.embodied4c.rules import MANIPULATION, SETUPS, ExamRules
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.identity import digest
from pipeline.core.schema import Rejection
from pipeline.core.templates import load_template
from pipeline.drawing.fonts import unwritten
from pipeline.questions.gate import NamedThing
from pipeline.questions.rules import rule
from pipeline.questions.selection import times_held
from pipeline.worlds.arm.facts import EpisodeScene
from pipeline.worlds.arm.view import GRIPPER, GRIPPER_M, ArmView

STEP_S: Final = 0.5  # between moments


class Lying(NamedTuple):
    """What lies on another thing.

    Attributes:
        alike: rows of loose things of which other questions tell as much.
        nearest_untold: whether it is not asked for as the nearest to the gripper, as none of the others can be.
        space_untold: whether no question about it needs both maps of a drawn film, as none about the others can.
    """

    alike: list[int]
    nearest_untold: bool
    space_untold: bool


class ArmExam(ArmView):
    """An episode under the exam's rules.

    Attributes:
        moments: indices of the times at which questions stand.
        names: row of a thing -> what it is called, where nothing else is called so.
        flags: what each of its questions carries.
        log_doubts: about the log as a whole.
        told: facts that questions ask for.
    """

    domain = MANIPULATION

    def __init__(self, scene: EpisodeScene, rules: ExamRules) -> None:
        super().__init__(scene)
        self.rules, self.asked_facts = rules, ToldFacts()
        self.log_doubts = about_log(scene.findings)
        model = self.facts.arm.model if self.facts.arm is not None else None
        setup = model if model in SETUPS[MANIPULATION] else None
        camera = self.camera.name if self.camera is not None else None
        self.flags = log_flags(MANIPULATION, scene, rules, self.drawable, camera, setup)
        last = float(self.times_s[-1]) if len(self.times_s) else 0.0
        wanted = np.arange(rules.arm_past_s, last - STEP_S / 2 + 1e-6, STEP_S)
        most = round(rules.exam_moments_max * times_held(last))
        if len(wanted) > most:
            wanted = wanted[np.arange(1, most + 1) * len(wanted) // most - 1]
        self.moments = sorted({self.index(float(t)) for t in wanted})
        items = self.facts.items
        # A colour is said only where it is needed: elsewhere it would answer what colour the thing has.
        kinds = Counter(item.category for item in items)
        alone = {item.id for item in items if self.facts.items_complete and kinds[item.category] == 1}
        looks = ["" if item.id in alone else item.attributes.get("colour", "") for item in items]
        called = [f"{look} {item.category}".strip() for look, item in zip(looks, items, strict=True)]
        count = Counter(called)
        self.names = {row: f"the {name}" for row, name in enumerate(called) if count[name] == 1}

    @property
    def asked_s(self) -> list[float]:
        """The times at which questions stand."""
        return self.times_s[self.moments].tolist()

    @property
    def obstacle(self) -> Rejection | None:
        """Why nothing can be asked at all."""
        return None if self.moments else Rejection(reason="no_moment", measured=0, limit=1, unit="times")

    @property
    def point(self) -> str:
        """The point of the gripper from which distances are measured."""
        return self.facts.gripper.point if self.facts.gripper is not None else "the gripper"

    def away_cm(self, index: int) -> FloatArray:
        """(I,) from the gripper's point to the middles of all things."""
        return np.asarray(np.linalg.norm(self.item_m[:, index] - self.gripper_m[index], axis=-1) * CM)

    def nearest(self, indices: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Time -> the thing nearest to the gripper, and its `lead_cm` before the second one.

        Of times at which the log knows where all things are. What one would guess among is what was the nearest at any
        of these and may be asked for: other questions name other things more often than what the gripper is at.
        """
        found = {}
        for index in indices if self.facts.items_complete and len(self.ids) > 1 else ():
            away = self.away_cm(index)
            if np.isfinite(away).all():
                row = int(away.argmin())
                found[index] = row, self.lead_cm(index, row, np.arange(len(away)) != row)
        return found

    def lead_cm(self, index: int, row: int, others: BoolArray) -> float:
        """By how much the nearest of other things (I,) is farther from the gripper.

        Where one of them is as clearly nearer over ground, the lead of that one: less than 0. A film hardly tells
        heights, and from above that thing is the nearest.
        """
        flat = np.hypot(*(self.item_m[:, index] - self.gripper_m[index])[:, :2].T) * CM
        in_space, from_above = (float(away[others].min() - away[row]) for away in (self.away_cm(index), flat))
        return from_above if from_above <= -GAP_MIN_CM else in_space

    @cached_property
    def on_named(self) -> BoolArray:
        """(I, I): whether row lies on column at any of the moments; both have names."""
        named = np.zeros(len(self.ids), dtype=bool)
        named[list(self.names)] = True
        on = np.any([self.on_item(index) for index in self.moments], axis=0)
        return np.asarray(on & named & named[:, None])

    @cached_property
    def bearers(self) -> frozenset[int]:
        """Rows of things that have a name and that something with a name lies on, at any of the moments."""
        return frozenset(np.flatnonzero(self.on_named.any(0)).tolist())

    @cached_property
    def lying(self) -> dict[int, Lying]:
        """Row of a named thing that lies on another -> what might lie there for who has read all other questions.

        A thing on another is hidden less often on the map from the side and nearer to a gripper over the table, so more
        is asked about it. What is handled or can be opened lies on nothing, as anybody knows.
        """
        befores = {before for _, before, _ in windows(self)}
        now, then = ({row for row, _ in self.nearest(times).values()} for times in (self.moments, befores))
        is_shown = np.any([~(self.hidden(n).max(0) > self.rules.hidden_max) for n in self.moments], axis=0)
        traits = {row: ((row in now, row in then), bool(is_shown[row])) for row in self.names}
        lying = np.flatnonzero(self.on_named.any(1)).tolist()
        fixed = {row for row in self.names if np.isfinite(self.slide_share[row]).any()}
        loose = traits.keys() - fixed - {*lying, *self.targets} - self.bearers
        found = {}
        for row in lying:
            nearest, shown = traits[row]
            for told in product(dict.fromkeys((nearest, (False, False))), dict.fromkeys((shown, False))):
                if alike := [other for other in self.names if other in loose and traits[other] == told]:
                    found[row] = Lying(alike, told[0] != nearest, told[1] != shown)
                    break
        return found

    @cached_property
    def nearest_untold(self) -> frozenset[int]:
        """Rows of things that are never asked for as the nearest to the gripper."""
        return frozenset(row for row, one in self.lying.items() if one.nearest_untold)

    def offered(self, nearest: Mapping[int, tuple[int, float]]) -> set[int]:
        """Rows of the things that were the nearest at some times (`nearest`) and may be asked for."""
        return {row for row, _ in nearest.values()} - self.nearest_untold

    @cached_property
    def space_untold(self) -> frozenset[int]:
        """Rows of things that no question is about which needs both maps of a drawn film."""
        return frozenset(row for row, one in self.lying.items() if one.space_untold)

    def seen(self, place_m: FloatArray) -> float | None:
        """How many times the picture has a place (3,) then: once or not; None where that is not known."""
        seen = float(self.pictured(place_m[None])[0])
        return seen if np.isfinite(seen) else None

    def gripper_seen(self, first: int, last: int) -> float | None:
        """Whether the picture has the gripper at all of some times, as in `seen`."""
        seen = float(self.pictured(self.gripper_m[first : last + 1], GRIPPER_M).min())
        return seen if np.isfinite(seen) else None

    def away_m(self, row: int, index: int) -> float:
        """From the gripper's point to the middle of a thing."""
        return float(np.linalg.norm(self.item_m[row, index] - self.gripper_m[index]))

    def flat_m(self, row: int, index: int) -> FloatArray:
        """(2,) from the gripper to a thing over the table: ahead and left of the robot."""
        return np.asarray((self.item_m[row, index] - self.gripper_m[index])[:2])


CM: Final = 100.0
NEAR_MIN_CM: Final = 3.0  # of a distance that is asked for
GAP_MIN_CM: Final = 2.0  # between distances that are told apart
WINDOWS_S: Final = ("1", "2", "3", "5")  # what the last seconds may be
LENGTH_S: Final = "2"  # of lengths: of a longer time anybody guesses more
LASTED_OFF: Final = 0.02  # share by which the nearest times may lie nearer together or farther apart


def case(
    view: ArmExam, kind: str, when: int | tuple[int, int], about: Iterable[str] = (), /, *rows: int, **fields: str
) -> ExamCase:
    """A case of a kind at one of the episode's times, about some things, by their rows, and the gripper.

    ``when``: that time, or the first one that it is about and that time.
    """
    first, index = when if isinstance(when, tuple) else (when, when)
    one = pose(view, kind, float(view.times_s[index]), about, fields)
    if GRIPPER in load_template(part(kind)).text or "{point}" in load_template(part(kind)).text:
        seen = view.gripper_seen(first, index)
        one.name(NamedThing("the gripper", GRIPPER, seen, mark="the robot's own"))
    for row in rows:
        name_thing(view, one, row, index, view.names.get(row, ""))
    one.goes_last = not view.bearers.isdisjoint(rows)
    return one


def name_thing(view: ArmExam, one: ExamCase, row: int, index: int, words: str | None = None, doubles: int = 0) -> None:
    """Names a thing that a question is about at a time, by its own name or what it is if it gives no words.

    A drawn film covers at most part of it. ``doubles``: how many others of the log have the same words.
    """
    item = view.facts.items[row]
    name = view.names.get(row, f"the {item.category}") if words is None else words
    mark = next((word for word in (item.attributes.get("colour"), item.role) if word and word in name), "")
    one.name(NamedThing(name, item.category, view.seen(view.item_m[row, index]), doubles=doubles, mark=mark))
    if view.scene.video is None and (letters := unwritten(item.category)):
        one.refuse("name_not_drawn", letters, 0, "letters")
    covered = float(view.covered(index)[row])
    if np.isfinite(covered):
        one.measured(rule("hidden_in_picture", covered, "<=", view.rules.hidden_max, "share", name))


def name_nearest(view: ArmExam, one: ExamCase, row: int, index: int) -> None:
    """Names the thing that was the nearest at a time, which is the answer."""
    name_thing(view, one, row, index)
    one.require("tells_another_answer", float(row in view.nearest_untold), "<=", 0, "things")


def in_space(view: ArmExam, one: ExamCase, index: int, *rows: int) -> None:
    """That a drawn film shows things on both of its maps: neither alone tells where, and how high, they are."""
    worst = view.hidden(index).max(0)
    one.require("tells_another_answer", len(view.space_untold.intersection(rows)), "<=", 0, "things")
    for row in rows:
        if np.isfinite(worst[row]):
            hidden = float(worst[row])
            one.measured(rule("hidden_on_a_map", hidden, "<=", view.rules.hidden_max, "share", view.names[row]))


def beside(view: ArmExam, one: ExamCase, rows: Iterable[int]) -> None:
    """That a question names nothing on which something lies beside other things.

    What lies on it is never told apart from it: whoever reads with what it is named would know what lies there.
    """
    one.require("tells_another_answer", len(view.bearers.intersection(rows)), "<=", 0, "things")


def named(view: ArmExam) -> Iterator[tuple[int, int, str, float]]:
    """Time, row and name of a thing, and its distance (cm) from the gripper, where that is known."""
    for index in view.moments:
        for row, name in view.names.items():
            away = view.away_m(row, index) * CM
            if np.isfinite(away):
                yield index, row, name, away


def order(view: ArmExam, index: int, rows: Iterable[int]) -> list[int]:
    """Rows in an order that tells nothing."""
    return sorted(rows, key=lambda row: digest(view.scene.id, str(index), view.names[row]))


def windows(view: ArmExam, lasting: Sequence[str] = WINDOWS_S) -> Iterator[tuple[int, int, str]]:
    """Times, by index, with that of some seconds before, and these seconds in words."""
    for index in view.moments:
        for seconds in lasting:
            before = view.index(float(view.times_s[index]) - float(seconds))
            lasted = float(view.times_s[index] - view.times_s[before])
            if abs(lasted - float(seconds)) <= LASTED_OFF * float(seconds):
                yield index, before, seconds
