"""Common Sense: a need, and the place that serves it in one view, in one of two, or nearer than another.

The options are parts of pictures and not sorts of places: those would say which one serves the need.
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import combinations, product
from typing import Final

from pydantic import TypeAdapter

from pipeline.benchmarks.ergeobench.hypothesis import PARTS
from pipeline.benchmarks.ergeobench.rules import OPEN
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask, by_digest
from pipeline.benchmarks.ergeobench.view import TURNS, ErgeoView, standard_view
from pipeline.core.identity import rng_for
from pipeline.core.schema import Model, Name
from pipeline.core.templates import load_table
from pipeline.geometry.angles import wrapped_deg
from pipeline.geometry.views import PinholeView
from pipeline.questions.cases import Case
from pipeline.questions.rules import Measure, rule
from pipeline.questions.task import Form, FreeText
from pipeline.worlds.panorama.facts import PanoramaObject


class Need(Model):
    """A need in the words of who has it."""

    need: Name
    serves: frozenset[str]
    may: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Kinds that serve it, surely or perhaps."""
        return self.serves | self.may


@cache
def needs() -> tuple[Need, ...]:
    """All needs, in the order of the table."""
    return TypeAdapter(tuple[Need, ...]).validate_python(load_table("ergeobench/needs"))


SHOPS: Final = frozenset({"shop", "store", "shopfront", "storefront", "stall"})  # words of a label: any shop
ENTRANCES: Final = frozenset({"entrance", "door", "doorway"})  # words of a label
ABOVE_DEG: Final = 37.0  # what begins higher no level view shows
UPWARD_DEG: Final = 45.0  # pitch of a view of roofs
MOST_NAMES: Final = 4  # that are guessed among
NEEDS: Final = 2  # that are asked of one place
THIRDS: Final = {"on the left": -2 / 3, "in the middle": 0.0, "on the right": 2 / 3}
PICTURES: Final = ("the first picture", "the second picture")
HALVES: Final = ("left half", "right half")


class NeedTask(SeenTask):
    """Base: a place is usable where it is wide enough, near enough and its kind is known."""

    reads = "kind"

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """There must be a place whose kind is known."""
        known = sum(seen.kind is not None for seen in view.objects)
        return (rule("no_places_known", known, ">=", 1, "places"),)

    def served(self, view: ErgeoView) -> Iterator[tuple[int, Need]]:
        """Places with needs that they serve, drawn."""
        for i, seen in enumerate(view.objects):
            if seen.kind is None:
                continue
            own = [need for need in needs() if seen.kind in need.serves]
            order = self.rng(view, seen.id, "needs").permutation(len(own)).tolist()
            yield from ((i, own[n]) for n in order[:NEEDS])

    def others(self, view: ErgeoView, i: int, need: Need) -> list[int]:
        """Other objects that may serve a need, and shops of which it is not known what they are."""
        places = [seen for seen in view.objects if seen.kind is not None]
        return [
            j
            for j, seen in enumerate(view.objects)
            if j != i
            and (seen.kind in need.all or (_is_unknown_shop(seen) and not any(_is_on(seen, p) for p in places)))
        ]

    def none_else(self, view: ErgeoView, i: int, need: Need, *shots: PinholeView) -> bool:
        """Whether views show nothing of other places that may serve a need."""
        others = self.others(view, i, need)
        return not any(view.touched(shot)[others].any() for shot in shots)

    def about_place(self, view: ErgeoView, *members: int, need: Need) -> Case:
        """A candidate about places that can be told and reached; their labels need not tell which one is meant."""
        case = self.about(view, *members, more=[need.need], is_named=False)
        for seen in (view.objects[i] for i in members):
            case.require("too_small_to_tell", seen.width_deg, ">=", view.rules.poi_min_deg, "deg", seen.id)
            alone = float(view.shown.knows_all(seen.label))
            case.require("others_not_logged", alone, ">=", 1, "kinds known whole", seen.id)
            if seen.distance_m is not None:
                case.require("too_far_to_walk", seen.distance_m, "<=", view.rules.poi_reach_m, "m", seen.id)
        return self.word(view, case, need=need.need)


class SingleView(NeedTask):
    """In which third of a view the place is that serves a need; at least one other place is in view."""

    name = "Single-View"
    template = "ergeobench/questions/need_single"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Places and needs that they serve."""
        for i, need in self.served(view):
            seen = view.objects[i]
            case = self.about_place(view, i, need=need)
            rng = self.rng(view, seen.id, need.need)
            answer = list(THIRDS)[int(rng.integers(len(THIRDS)))]
            margin = view.rules.cell_margin
            tried = view.towards(seen.yaw_deg, -45.0, 45.0, rng)
            shots = [
                shot
                for shot in tried
                if view.shown_whole(shot)[i] and _to_third_border(_middle(view, i, shot), THIRDS[answer]) >= margin
            ]
            if not shots:
                yield self.unshown(case, len(tried))
                continue
            places = [j for j, other in enumerate(view.objects) if other.kind is not None and j != i]
            fits = [s for s in shots if view.touched(s)[places].any()]
            case.require("no_other_place_in_view", len(fits), ">=", 1, "views")
            alone = next((s for s in fits if self.none_else(view, i, need, s)), None)
            if alone is None or case.refusal is not None:
                case.refuse("two_serve_the_need", len(self.others(view, i, need)), 0, "other places")
                yield case
                continue
            self.lay(view, case, alone, members=[i])
            gap = _to_third_border(_middle(view, i, alone), THIRDS[answer])
            case.require("near_a_third_border", gap, ">=", margin, "half pictures")
            yield case.ask(answer, THIRDS)


class DualView(NeedTask):
    """In which half of which of two views the place is that serves a need; or which door is under its sign."""

    name = "Dual-View"
    template = "ergeobench/questions/need_dual"
    parts = ("ergeobench/questions/need_door",)

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Places and needs that they serve."""
        options = [f"{half} of {picture}" for picture in PICTURES for half in HALVES]
        for i, need in self.served(view):
            seen = view.objects[i]
            case = self.about_place(view, i, need=need)
            rng = self.rng(view, seen.id, need.need)
            picture, half = (int(n) for n in rng.integers(2, size=2))
            found, showing = None, 0
            margin = view.rules.sector_margin_deg
            shots = view.towards(seen.yaw_deg, *((margin, 45.0) if half else (-45.0, -margin)), rng)
            turn = int(rng.integers(1, 4)) * TURNS // 4  # the other picture shows nothing of this one
            for own in shots if case.refusal is None else ():
                other = view.level[(view.level.index(own) + turn) % TURNS]
                left, right, _, _ = view.extent(i, own).tolist()
                is_in_half = left > 0 if half else right < 0
                is_there = view.shown_whole(own)[i] and not view.touched(other)[i] and is_in_half
                showing += bool(is_there)
                if is_there and self.none_else(view, i, need, own, other):
                    found = (other, own) if picture else (own, other)
                    break
            if found is None and not showing:
                yield self.unshown(case, len(shots))
                continue
            if found is None:
                case.refuse("two_serve_the_need", len(self.others(view, i, need)), 0, "other places")
                yield case
                continue
            self.lay(view, case, *found, members=[i])
            yield case.ask(f"{HALVES[half]} of {PICTURES[picture]}", options)
        yield from self._doors(view)

    def _doors(self, view: ErgeoView) -> Iterator[Case]:
        """By which door of a level view one comes to what a sign in the view upward from it says: its colour."""
        doors = Doors(view)
        under = {j: i for i, j in doors.signs.items()}
        for j, need in self.served(view):
            if j not in under:
                continue
            case = self.word(
                view, doors.about(self, under[j], need.need), "ergeobench/questions/need_door", need=need.need
            )
            pairs = doors.pairs(under[j])
            shown, found = next(((s, f) for s, f in pairs if self.none_else(view, j, need, *s)), (None, []))
            case.require("no_two_views_show_them", float(shown is not None), ">=", 1, "pairs of views")
            if shown is None:
                yield case
                continue
            self.lay(view, case, *shown, members=[under[j]])
            colours = [view.objects[i].attributes["colour"] for i in found]
            yield case.ask(colours[0], colours[1:], least=1)


class Doors:
    """The doors of a panorama to places that only a sign above all level views tells (section 4.3).

    Attributes:
        signs: entrance -> the one sign over it.
    """

    def __init__(self, view: ErgeoView) -> None:
        self.view = view
        entrances = [i for i, seen in enumerate(view.objects) if not ENTRANCES.isdisjoint(seen.label.split())]
        high = [j for j, seen in enumerate(view.objects) if seen.name and seen.pitch_low_deg >= ABOVE_DEG]
        low = [j for j, seen in enumerate(view.objects) if seen.kind and seen.pitch_low_deg < ABOVE_DEG]
        self.entrances = entrances
        over = {i: [j for j in high if _is_on(view.objects[i], view.objects[j])] for i in entrances}
        self.signs = {
            i: own[0]
            for i, own in over.items()
            if len(own) == 1 and not any(_is_on(view.objects[i], view.objects[k]) for k in low)
        }

    def pairs(self, i: int) -> Iterator[tuple[tuple[PinholeView, PinholeView], list[int]]]:
        """Level views with the views upward from them, that show a door and another one with their signs, drawn.

        With each the doors, the one meant first: their colours tell them apart, and it from all other doors in view.
        """
        view, colour = self.view, self._colour(i)
        rng = rng_for(view.scene.id, "doors", view.objects[i].id)
        for level in view.towards(view.objects[i].yaw_deg, -40.0, 40.0, rng):
            upward = standard_view(level.yaw_deg, UPWARD_DEG)
            doors = [
                k
                for k, j in self.signs.items()
                if view.shown_whole(level)[k] and view.shown_whole(upward)[j] and self._colour(k) is not None
            ]
            others = [self._colour(k) for k in self.entrances if k != i and view.touched(level)[k]]
            if i in doors and len(doors) > 1 and colour not in others and None not in others:
                yield (level, upward), [i, *(k for k in doors if k != i)]

    def about(self, task: SeenTask, i: int, *more: str) -> Case:
        """A candidate about a door and its sign."""
        view, j = self.view, self.signs[i]
        case = task.about(view, i, j, more=more, is_named=False)
        labels = {view.labels[k] for k in self.entrances}
        case.require("label_not_complete", min(view.shown.knows_all(x) for x in labels), ">=", 1, "labels known whole")
        for measure in view.legible(j):
            case.measured(measure)
        sign = view.objects[j]
        across = sign.width_deg * math.cos(math.radians((sign.pitch_low_deg + sign.pitch_high_deg) / 2))
        letter = across / len(sign.name or "?")
        case.require("letters_too_small", letter, ">=", view.rules.roof_letter_min_deg, "deg", sign.id)
        return case

    def _colour(self, i: int) -> str | None:
        return self.view.objects[i].attributes.get("colour")


class DualViewOpen(NeedTask):
    """Which place a door leads to, of a level view, by the sign above it, of an upward one: in words of one's own."""

    name = OPEN
    template = "ergeobench/questions/door_name"
    form: Form = FreeText(MOST_NAMES, lambda answer: answer.split(PARTS)[0])

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """There must be doors under signs."""
        return (rule("no_two_doors_under_signs", len(Doors(view).signs), ">=", 2, "doors"),)

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Each door with one sign."""
        doors = Doors(view)
        for i, j in doors.signs.items():
            colour = view.objects[i].attributes.get("colour", "")
            case = self.word(view, doors.about(self, i), colour=colour)
            shown, found = next(doors.pairs(i), (None, []))
            case.require("no_two_views_show_them", float(shown is not None), ">=", 1, "pairs of views")
            if shown is None:
                yield case
                continue
            self.lay(view, case, *shown, members=[i])
            others = [view.objects[k] for k in doors.signs.values() if k != j]
            own, kind = str(view.objects[j].name), view.objects[j].kind
            function = [] if kind is None or kind in {seen.kind for seen in others} else [kind.replace("_", " ")]
            wrong = [str(view.objects[doors.signs[k]].name) for k in found if k != i]
            yield case.ask(f"{PARTS} ".join([own, *function]), wrong, least=1)


class NeedCrossView(NeedTask):
    """Which of two places in two views that both serve a need is nearer."""

    name = "Cross-View"
    template = "ergeobench/questions/need_cross"

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """Pairs of places that serve a need, for the need of the lowest digest."""
        for need in needs():
            members = [i for i, seen in enumerate(view.objects) if seen.kind in need.serves]
            for i, j in combinations(by_digest(view, self.name, members), 2):
                yield self._candidate(view, min(i, j), max(i, j), need)

    def _candidate(self, view: ErgeoView, i: int, j: int, need: Need) -> Case:
        case = self.about_place(view, i, j, need=need)
        own_m, others_m = view.distances_m[[i, j]].tolist()
        ratio = max(own_m, others_m) / min(own_m, others_m)
        case.require("distances_too_similar", ratio, ">=", view.rules.distance_ratio_min, "ratio")
        rng = self.rng(view, view.objects[i].id, view.objects[j].id, need.need)
        swapped = bool(rng.integers(2))
        shots = (view.towards(view.objects[k].yaw_deg, -40, 40, rng) for k in (i, j))
        for one, other in product(*shots) if case.refusal is None else ():
            is_there = view.shown_whole(one)[i] and view.shown_whole(other)[j]
            is_apart = not view.touched(one)[j] and not view.touched(other)[i]
            others = [k for k in self.others(view, i, need) if k != j]
            is_clear = not any(view.touched(shot)[others].any() for shot in (one, other))
            if is_there and is_apart and is_clear:
                self.lay(view, case, *((other, one) if swapped else (one, other)), members=[i, j])
                first_is_nearer = (own_m < others_m) != swapped
                answers = [f"the one in {picture}" for picture in PICTURES]
                return case.ask(answers[0 if first_is_nearer else 1], answers, least=1)
        case.refuse("no_two_views_show_them", 0, 1, "pairs of views")
        return case


def _is_unknown_shop(seen: PanoramaObject) -> bool:
    return seen.kind is None and not SHOPS.isdisjoint(seen.label.casefold().split())


def _is_on(sign: PanoramaObject, place: PanoramaObject) -> bool:
    """Whether the middle of one object is in the width of another, as a shop's sign is."""
    return abs(float(wrapped_deg(sign.yaw_deg - place.yaw_deg))) <= place.width_deg / 2


def _to_third_border(x: float, middle: float) -> float:
    """From a place in the picture to the next third, in halves of it; below 0 in another third."""
    return 1 / 3 - abs(x) if middle == 0 else (abs(x) - 1 / 3 if x * middle > 0 else -abs(x))


def _middle(view: ErgeoView, i: int, shot: PinholeView) -> float:
    """X of an object's middle in a view."""
    left, right, _, _ = view.extent(i, shot).tolist()
    return float((left + right) / 2)
