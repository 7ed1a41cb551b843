"""Start/End Position and Object Recall: what is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import TIME, FlightCase, UrbanTask, clock, cuts, unsaid
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.core.identity import digest
from pipeline.worlds.flight.places import LEAST_M


class StartEndPosition(UrbanTask):
    """Operand: the second at which the question ends. Truth: the landmarks nearest to both ends of the path so far."""

    name = "Start/End Position"
    share = 142
    category = "Recall"
    template = "urbanvideo/start_end_position"
    slots = (TIME,)
    needs = frozenset(("places",))
    definition = "Tell where the agent's movement starts and where it ends."
    example = "Where are the starting point and final destination of the agent's movement?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """At the end of every movement."""
        for cut in cuts(view):
            yield self._case(view, cut)

    def _case(self, view: UrbanView, cut: int) -> FlightCase:
        case, rules = FlightCase(clock(cut), until_s=cut), view.rules
        last = int(np.abs(view.t_s - cut).argmin())
        case.require("start_not_tracked", view.t_s[0], "<=", 2 * rules.cut_off_max_s, "s")
        case.require("end_not_tracked", abs(cut - view.t_s[last]), "<=", 2 * rules.cut_off_max_s, "s")
        nearest, offered = [], []
        for end, point in (("start", view.enu_m[:1]), ("end", view.enu_m[[last]])):
            away = view.places.approach_m(point)
            place, distance, ratio = view.places.nearest(away)
            label = view.places[place].label
            times = _times(ratio, distance, rules.there_m)
            case.fact(f"{end}_to_nearest", label, distance, "m")
            case.require(f"{end}_not_near", distance, "<=", rules.near_max_m, "m", label)
            case.require("second_nearest", times, ">=", rules.nearest_ratio_min, "ratio", label)
            case.shown(view, place, cut)
            nearest.append(label)
            far = rules.second_ratio_min * max(distance, rules.there_m)
            offered.append({view.places[i].label for i in view.pool if away[i] >= far and view.seen_by(i, cut)})
        # Options with one landmark for both would tell that the ends differ.
        case.require("start_is_end", len(set(nearest)), ">=", 2, "landmarks")
        others = next(iter(_drawn(view, offered, nearest, cut)), None)
        if others is None:
            case.refuse("too_few_landmarks", min(map(len, offered)), 2, "landmarks")
            return case
        # Both starts with both ends: what most of the options say tells nothing.
        pairs = product(*zip(nearest, others, strict=True))
        return case.ask(_ends(*nearest), (_ends(*pair) for pair in pairs))


class ObjectRecall(UrbanTask):
    """Operands: a landmark that lies in no other. Truth: the one nearest to it, of those that do not lie in it."""

    name = "Object Recall"
    share = 120
    category = "Recall"
    template = "urbanvideo/object_recall"
    slots = ("landmark",)
    needs = frozenset(("places",))
    model_assisted = True
    definition = "Identify the object that is located closest to a given landmark."
    example = "What is located closest to the Central ALL-STAR cafe?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark that may be asked about."""
        rules, places = view.rules, view.places
        yield from unsaid(view)
        for landmark in sorted(view.pool):
            case = FlightCase(places[landmark].label)
            gap = places.gaps_m(landmark)
            between = np.hypot(*(places.center - places[landmark].center).T)
            touching = np.flatnonzero(gap <= 0)
            # Of two that lie on one spot the smaller lies in the larger.
            held = [i for i in touching if places[landmark].distance_m(places.center[[i]])[0] <= 0]
            within = [i for i in held if places.radius_m[i] < places.radius_m[landmark]]
            around = [places[i].distance_m(places.center[[landmark]])[0] for i in touching if i not in within]
            case.require("one_inside_the_other", min(around, default=np.inf), ">", 0.0, "m")
            edge = max((between[i] / places.radius_m[landmark] for i in within), default=0.0)
            case.require("on_its_edge", edge, "<=", rules.inside_max, "ratio")
            gap[within] = np.inf
            between[[landmark, *within]] = np.inf
            place, distance, ratio = places.nearest(gap)
            label = places[place].label
            case.fact("gap_to_nearest", label, distance, "m")
            case.require("nothing_beside", distance, "<=", rules.beside_max_m, "m", label)
            times = _times(ratio, distance, rules.there_m)
            case.require("second_nearest", times, ">=", rules.nearest_ratio_min, "ratio", label)
            case.require("centers_disagree", float(between.argmin() == place), ">=", 1, "agreement", label)
            case.shown(view, place, view.end_s)
            case.require("label_tells_answer", places.tied(landmark, place), "<=", 0, "labels", label)
            far = rules.second_ratio_min * max(distance, rules.there_m)
            wrong = [i for i in view.pool if gap[i] >= far and not places.tied(landmark, i)]
            yield case.ask(label, (places[i].label for i in wrong if i not in {landmark, place, *within}))


def _drawn(view: UrbanView, offered: list[set[str]], nearest: list[str], cut: int) -> Iterator[tuple[str, str]]:
    """Another landmark for the start and one for the end, neither of them at an end, in an order that is drawn."""
    starts, ends = (sorted(labels - {*nearest}) for labels in offered)
    found = [(a, b) for a, b in product(starts, ends) if a != b]
    yield from sorted(found, key=lambda pair: digest(view.scene.id, "ends", clock(cut), *pair))


def _times(ratio: float, distance_m: float, there_m: float) -> float:
    """How many times as far the second is as the nearest, which counts as ``there_m`` away at least."""
    return ratio * max(distance_m, LEAST_M) / max(distance_m, there_m)


def _ends(start: str, end: str) -> str:
    return f"It starts near {start} and ends near {end}"
