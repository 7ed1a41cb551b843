"""Geo-localization: where a panorama was taken, in three settings; one reply names country, city, street and position.

The answer is a JSON object. Who only guesses, guesses the country: that is what the blind panel and the priors choose.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.columns import OUT_OF_DISTRIBUTION
from pipeline.benchmarks.ergeobench.hypothesis import PARTS, country
from pipeline.benchmarks.ergeobench.images import SOURCE, WHOLE, PictureRef, show
from pipeline.benchmarks.ergeobench.tasks.base import worded
from pipeline.benchmarks.ergeobench.view import ErgeoView, standard_view
from pipeline.core.identity import rng_for
from pipeline.core.schema import Rejection
from pipeline.geometry.geodesy import METRES_PER_DEGREE
from pipeline.geometry.views import PinholeView
from pipeline.questions.cases import Case, CaseTask
from pipeline.questions.rules import Measure, rule
from pipeline.questions.task import Form, FreeText
from pipeline.worlds.panorama.facts import Place

EXACT_DECIMALS: Final = 6  # of degrees: a decimetre
COARSE: Final = "coarse_position"  # flag
OTHERS: Final = 9  # countries that are guessed among beside the right one
# Ours: countries with many large cities or many street pictures. A draw from all would offer countries that are never
# right beside one that often is.
COMMON: Final = (
    "Argentina", "Australia", "Brazil", "Canada", "France", "Germany", "India", "Indonesia", "Italy", "Japan", "Mexico",
    "Netherlands", "Poland", "Russia", "South Africa", "Spain", "Thailand", "Turkey", "United Kingdom", "United States",
)  # fmt: skip


def country_of(answer: str) -> str:
    """The country of an answer, by its usual name."""
    return str(json.loads(answer)["country"]).split(PARTS)[0]


class GeoLocalization(CaseTask[ErgeoView]):
    """One question per panorama.

    Args:
        name: of the setting's task.
        shows: what is seen: "view", the whole panorama, or its source, from which an environment renders.
    """

    reads = "region"
    share = 1
    form: Form = FreeText(OTHERS + 1, country_of)

    def __init__(self, name: str, shows: str) -> None:
        self.name, self.shows = name, shows
        self.template = f"ergeobench/questions/geo_{shows}"

    def obstacle(self, view: ErgeoView) -> Rejection | None:
        """Where no place is known, or not surely, nothing is asked."""
        return next((m.rejection() for m in _place_rules(view) if not m.holds), None)

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """The one candidate."""
        place, origin = view.facts.place, view.facts.position
        if place is None or origin is None:  # which `obstacle` has told
            return
        case = Case(self.shows, wording=worded(self.template, (view.scene.id, self.shows)))
        for measure in _place_rules(view):
            case.measured(measure)
        names = {"country": _names(place, "country"), "city": None, "street": None}
        for level, measures in (("city", _city_rules(view, place)), ("street", _street_rules(view, place))):
            broken = next((m for m in measures if not m.holds), None)
            if broken is None:
                names[level] = _names(place, level)
                for measure in measures:
                    case.measured(measure)
            else:
                case.flags.append(f"{level}_not_told: {broken.name}")
        shown = self._shown_views(view)
        show(case, *shown)
        lat, lon = coarse(origin.lat_deg, origin.lon_deg, view.rules.location_precision_m)
        if view.is_out_of_distribution:
            case.flags.append(OUT_OF_DISTRIBUTION)
        if view.rules.location_precision_m is not None:
            case.flags.append(COARSE)
            case.fact("location_precision", "position", view.rules.location_precision_m, "m")
        case.fact("latitude", "position", lat, "deg")
        case.fact("longitude", "position", lon, "deg")
        answer = json.dumps({**names, "lat": lat, "lon": lon}, ensure_ascii=False)
        yield case.ask(answer, [json.dumps({"country": name}) for name in _other_countries(view, place)])

    def ask_once(self, view: ErgeoView, cases: Iterable[Case]) -> None:
        """There is one candidate."""

    def _shown_views(self, view: ErgeoView) -> tuple[PictureRef, ...]:
        if self.shows == "panorama":
            return (WHOLE,)
        if self.shows == "embodied":
            start = float(rng_for(view.scene.id, "start of the environment").uniform(-180, 180))
            return (SOURCE, standard_view(start))
        return (best_view(view),)


def best_view(view: ErgeoView) -> PinholeView:
    """A view about the horizon, drawn among those that show most objects from edge to edge."""
    level = [shot for shot in view.around if shot in view.level]
    counts = [int(view.shown_whole(shot)[: len(view.facts.objects)].sum()) for shot in level]
    return level[counts.index(max(counts))]


def coarse(lat_deg: float, lon_deg: float, precision_m: float | None) -> tuple[float, float]:
    """A position on a grid of so many metres, to as many decimals as that needs; None: as it is, to a decimetre."""
    if precision_m is None:
        return round(lat_deg, EXACT_DECIMALS), round(lon_deg, EXACT_DECIMALS)
    step = precision_m / METRES_PER_DEGREE
    lat = float(np.clip(round(lat_deg / step) * step, -90, 90))
    wide = min(step / max(float(np.cos(np.radians(lat))), 1e-3), 360.0)
    lon = float((round(lon_deg / wide) * wide + 180) % 360 - 180)
    return round(lat, EXACT_DECIMALS), round(lon, EXACT_DECIMALS)


def _place_rules(view: ErgeoView) -> tuple[Measure, ...]:
    """Whether position and country are sure."""
    facts, rules = view.facts, view.rules
    place = facts.place or Place()
    doubts = len(view.doubts & {"position", "country", "picture"})
    accuracy_m = facts.accuracy_m or 0.0
    border_m = place.country_border_m
    return (
        rule("no_position", float(facts.position is not None), ">=", 1, "positions"),
        rule("place_in_doubt", doubts, "<=", 0, "doubts"),
        rule("position_not_accurate", accuracy_m, "<=", rules.accuracy_max_m, "m"),
        rule("no_country", float(place.country is not None), ">=", 1, "countries"),
        rule("near_a_border", np.inf if border_m is None else border_m, ">=", rules.border_min_m, "m", "country"),
    )


def _city_rules(view: ErgeoView, place: Place) -> tuple[Measure, ...]:
    border_m = place.city_border_m
    return (
        rule("no_city", float(place.city is not None), ">=", 1, "cities"),
        rule("city_in_doubt", float("city" in view.doubts), "<=", 0, "doubts"),
        rule("near_a_border", np.inf if border_m is None else border_m, ">=", view.rules.border_min_m, "m", "city"),
    )


def _street_rules(view: ErgeoView, place: Place) -> tuple[Measure, ...]:
    rules = view.rules
    withheld = rules.location_precision_m is not None and rules.location_precision_m > rules.street_withheld_m
    nan = float("nan")
    # By how much the next street of another name is farther, at least: as far as one looked where there is none.
    gap_m = (place.searched_m or 0.0) - (place.street_m or 0.0) if place.gap_m is None else place.gap_m
    return (
        rule("no_street", float(place.street is not None), ">=", 1, "streets"),
        rule("street_withheld", float(withheld), "<=", 0, "streets"),
        rule("street_in_doubt", float("street" in view.doubts), "<=", 0, "doubts"),
        rule("street_too_far", nan if place.street_m is None else place.street_m, "<=", rules.street_max_m, "m"),
        rule("streets_too_similar", gap_m, ">=", rules.street_gap_min_m, "m"),
    )


def _names(place: Place, level: str) -> str:
    """The name and the others that are right too, parted by `PARTS`."""
    names = [getattr(place, level), *place.other_names.get(level, ())]
    return f"{PARTS} ".join(dict.fromkeys(name.replace(PARTS, ",") for name in names))


def _other_countries(view: ErgeoView, place: Place) -> list[str]:
    """Countries that it is not, drawn."""
    own = {country(name) for name in _names(place, "country").split(PARTS)}
    others = [name for name in COMMON if country(name) not in own]
    drawn = rng_for(view.scene.id, "other countries").choice(len(others), OTHERS, replace=False)
    return [others[n] for n in sorted(drawn.tolist())]
