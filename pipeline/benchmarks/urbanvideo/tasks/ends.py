"""Start/End Position and Object Recall: what is nearest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from pipeline.benchmarks.urbanvideo.cases import FlightCase, UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.worlds.flight.places import LEAST_M


class StartEndPosition(UrbanTask):
    """No operands. Truth: the landmarks nearest to the two ends of the path."""

    name = "Start/End Position"
    template = "urbanvideo/start_end_position"
    needs = frozenset(("places",))
    definition = "Tell where the agent's movement starts and where it ends."
    example = "Where are the starting point and final destination of the agent's movement?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """The one question about a flight."""
        case, rules = FlightCase(), view.rules
        case.require("start_not_tracked", view.t_s[0], "<=", 2 * rules.cut_off_max_s, "s")
        case.require("end_not_tracked", view.end_s - view.t_s[-1], "<=", 2 * rules.cut_off_max_s, "s")
        nearest = []
        for end, point in (("start", view.enu_m[:1]), ("end", view.enu_m[-1:])):
            place, distance, ratio = view.places.nearest(view.places.approach_m(point))
            label = view.places[place].label
            case.fact(f"{end}_to_nearest", label, distance, "m")
            case.require(f"{end}_not_near", distance, "<=", rules.near_max_m, "m", label)
            case.require(
                "second_nearest", _times(ratio, distance, rules.there_m), ">=", rules.second_ratio_min, "ratio", label
            )
            case.shown(view, place, view.end_s)
            nearest.append(label)
        named = dict.fromkeys((*nearest, *(view.places[i].label for i in view.pool)))
        yield case.ask(_ends(*nearest), (_ends(*pair) for pair in product(named, repeat=2)))


class ObjectRecall(UrbanTask):
    """Operands: a landmark that lies in no other. Truth: the one nearest to it, of those that do not lie in it."""

    name = "Object Recall"
    template = "urbanvideo/object_recall"
    slots = ("landmark",)
    needs = frozenset(("places",))
    model_assisted = True
    definition = "Identify the object that is located next to a given landmark."
    example = "What is located next to the Central ALL-STAR cafe?"

    def cases(self, view: UrbanView) -> Iterator[FlightCase]:
        """Every landmark that may be asked about."""
        rules, places = view.rules, view.places
        for landmark in sorted(view.pool):
            case = FlightCase(places[landmark].label)
            gap = places.gaps_m(landmark)
            between = np.hypot(*(places.center - places[landmark].center).T)
            touching = np.flatnonzero(gap <= 0)
            within = [i for i in touching if places[landmark].distance_m(places.center[[i]])[0] <= 0]
            around = [places[i].distance_m(places.center[[landmark]])[0] for i in touching if i not in within]
            case.require("one_inside_the_other", min(around, default=np.inf), ">", 0.0, "m")
            gap[within] = np.inf
            between[[landmark, *within]] = np.inf
            place, distance, ratio = places.nearest(gap)
            label = places[place].label
            case.fact("gap_to_nearest", label, distance, "m")
            case.require("nothing_beside", distance, "<=", rules.beside_max_m, "m", label)
            case.require(
                "second_nearest", _times(ratio, distance, rules.there_m), ">=", rules.second_ratio_min, "ratio", label
            )
            case.require("centers_disagree", float(between.argmin() == place), ">=", 1, "agreement", label)
            case.shown(view, place, view.end_s)
            wrong = [i for i in view.pool if gap[i] >= rules.second_ratio_min * max(distance, rules.there_m)]
            yield case.ask(label, (places[i].label for i in wrong if i not in {landmark, place, *within}))


def _times(ratio: float, distance_m: float, there_m: float) -> float:
    """How many times as far the second is as the nearest, which counts as ``there_m`` away at least."""
    return ratio * max(distance_m, LEAST_M) / max(distance_m, there_m)


def _ends(start: str, end: str) -> str:
    if start == end:
        return f"It starts and ends near {start}"
    return f"It starts near {start} and ends near {end}"
