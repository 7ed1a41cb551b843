"""Surroundings: which landmark of the map is nearest, and on which side of the street one stands.

Ours: the paper's panoramas bring objects, and here a map does. Nothing is asked that position and map do not decide.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.benchmarks.ergeobench.images import WHOLE, show
from pipeline.benchmarks.ergeobench.tasks.base import SeenTask
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.core.identity import digest
from pipeline.geometry.angles import wrapped_deg
from pipeline.questions.cases import Case
from pipeline.questions.gate import NamedThing
from pipeline.questions.rules import Measure, rule
from pipeline.worlds.panorama.facts import PanoramaLandmark

OPTIONS: Final = 4
FARTHER: Final = {"nearest": 1, "farthest away": -1}
ALONG_DEG: Final = 20.0  # from a view's middle to the line of the street along which it looks
STREET_SIDES: Final = ("on the left", "on the right")


class NearestLandmark(SeenTask):
    """Which of four landmarks is nearest, or farthest away, which is drawn; it needs no heading."""

    reads = "nearness"
    name = "Nearest Landmark"
    template = "ergeobench/questions/nearest_landmark"

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """A map must have landmarks around."""
        return (rule("no_landmarks_known", len(view.landmarks), ">=", OPTIONS, "landmarks"),)

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per landmark, with three others that are surely farther away, or nearer."""
        asked = {own.id: self._case(view, own) for own in view.landmarks.values()}
        usable = [own for own in view.landmarks.values() if asked[own.id].refusal is None]
        for own in view.landmarks.values():
            case = asked[own.id]
            word = list(FARTHER)[int(self.rng(view, own.id).integers(len(FARTHER)))]
            self.word(view, case, word=word)
            least = view.rules.distance_ratio_min
            others = [other for other in usable if other is not own and _ratio(own, other, word) >= least]
            case.require("distances_too_similar", len(others), ">=", OPTIONS - 1, "others clearly apart")
            if case.refusal is None:
                others.sort(key=lambda other: digest(view.scene.id, self.name, own.id, other.id))
                for other in others[: OPTIONS - 1]:
                    case.fact("distance", other.id, other.distance_m, "m")
                    case.fact("position_error", other.id, other.error_m, "m")
                show(case, WHOLE)
                case.ask(_called(own), [_called(other) for other in others[: OPTIONS - 1]], least=OPTIONS - 1)
            yield case

    def _case(self, view: ErgeoView, own: PanoramaLandmark) -> Case:
        case = Case(own.id, wording="")
        least = view.rules.visible_share_min
        case.name(NamedThing(_called(own), own.noun, own.visible_share, least, "share", own.others, own.name))
        case.require("double_in_picture", own.others, "<=", 0, "things", own.id)
        for measure in view.mapped(own, needs_north=False):
            case.measured(measure)
        case.fact("distance", own.id, own.distance_m, "m")
        case.fact("position_error", own.id, own.error_m, "m")
        return case


class StreetSide(SeenTask):
    """On which side of the street a landmark stands, seen along the street one way or the other."""

    reads = "side"
    name = "Side of the Street"
    template = "ergeobench/questions/street_side"

    def required(self, view: ErgeoView) -> tuple[Measure, ...]:
        """The street that the camera stands in must be sure, and the heading and landmarks known."""
        return (
            rule("heading_unknown", float(view.facts.heading_deg is not None), ">=", 1, "headings"),
            rule("no_landmarks_known", len(view.landmarks), ">=", 1, "landmarks"),
            rule("street_in_doubt", float(view.facts.street_deg is None), "<=", 0, "streets"),
        )

    def cases(self, view: ErgeoView) -> Iterator[Case]:
        """One per landmark."""
        along, heading = view.facts.street_deg or 0.0, view.facts.heading_deg or 0.0
        for i, seen in enumerate(view.objects):
            own = view.landmarks.get(seen.id)
            if own is None:
                continue
            case = self.about(view, i)
            case.require("side_of_street_unsure", abs(own.side), ">=", 1, "sides", seen.id)
            self.word(view, case, label=seen.label)
            off = [float(wrapped_deg(along - heading - shot.yaw_deg)) for shot in view.level]
            shots = [k for k, turn in enumerate(off) if min(abs(turn), 180.0 - abs(turn)) <= ALONG_DEG]
            drawn = self.rng(view, seen.id).permutation(shots).tolist()
            shot = view.first_lone(i, (view.level[k] for k in drawn)) if case.refusal is None else None
            if shot is None:
                yield self.unshown(case, len(shots))
                continue
            self.lay(view, case, shot, members=[i])
            turn = off[view.level.index(shot)]
            answer = int((own.side > 0) == (abs(turn) > ALONG_DEG))  # whoever looks back has its left to the right
            case.fact("turn_to_the_street", seen.id, turn, "deg")
            case.fact("distance", seen.id, own.distance_m, "m")
            case.fact("position_error", seen.id, own.error_m, "m")
            yield case.ask(STREET_SIDES[answer], STREET_SIDES, least=1)


def _called(own: PanoramaLandmark) -> str:
    return f"the {own.noun} named {own.name}"


def _ratio(own: PanoramaLandmark, other: PanoramaLandmark, word: str) -> float:
    """By how many times one landmark is surely nearer than another, or farther away; at most 0: not surely."""
    near, far = (own, other) if FARTHER[word] > 0 else (other, own)
    return (far.distance_m - far.error_m) / max(near.distance_m + near.error_m, np.finfo(float).tiny)
