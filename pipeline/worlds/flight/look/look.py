"""Stage `describe` for a flight: what its map does not tell of what things look like, from pictures of the video.

A model says what it sees of a thing in two pictures, pixels and map bear it out or do not. Of what nobody was asked
about, or nothing is believed, it is known which colours are never seen where it stands (`survey`). With these looks the
flight is observed again, so that labels, route and views follow from them as from what a map tells.

A kind or proportions that the map rules out say that the model, the map or the pose is wrong: then nothing is believed.
Words on which the two pictures differ are left out. A colour must be that of the pixels where geometry has the walls
and the roof; a roof's shape must fill its outline as far as such a roof does.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.findings import note
from pipeline.core.schema import Evidence, Finding, Rejection
from pipeline.geometry.tracks import FlightGeometry
from pipeline.llm.base import Image, Reply, Request, record, user
from pipeline.llm.failures import ModelError, refuse_stopped
from pipeline.llm.prompts import load_prompt
from pipeline.llm.replies import structured
from pipeline.questions.rules import Measure, rule
from pipeline.reading.maps.appearance import BUILT, COLOURED, TOWER, Appearance, may_be
from pipeline.worlds.flight.facts import DescribedLandmark, Flight, FlightScene, Landmark
from pipeline.worlds.flight.look.painted import PaintedThings, things_of
from pipeline.worlds.flight.look.survey import (
    CROPS,
    NAMES,
    ROOF_LIGHT,
    WALL_LIGHT,
    LandmarkCrop,
    MeasuredColour,
    PictureAt,
    Survey,
    chosen,
    crop,
    fits,
    survey,
)
from pipeline.worlds.flight.observe.flight import observe_flight, video_seconds
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.world import DescribeSteps

Ask = Callable[[Request], Reply]
Answer = dict[str, str]

PROMPT: Final = "look_crop"
UNCLEAR: Final = "unclear"
ELSE: Final = "something else"
TALL, EVEN, WIDE = "taller than wide", "about as tall as wide", "wider than tall"
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "kind": (*sorted(COLOURED), ELSE),
    "proportions": (TALL, EVEN, WIDE),
    "walls": NAMES,
    "roof": NAMES,
    "roof_shape": ("flat", "pitched", "pointed", "domed", "rounded"),
}
UNANSWERED: Final = "look_"  # before the kind of a failure, in the reason of a refusal


class UnansweredError(Exception):
    """There is no answer, and why."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.reason)


def request(jpeg: bytes, backwards: bool) -> Request:
    """The question about a picture; with the choices in the other order where ``backwards``."""
    # The words to choose from, and last that nobody can tell.
    offered = {name: [*(reversed(words) if backwards else words), UNCLEAR] for name, words in CHOICES.items()}
    prompt = load_prompt(PROMPT)
    schema = record(**{name: {"enum": words} for name, words in offered.items()})
    return Request((user(prompt.render(choices=offered), Image(jpeg, "image/jpeg")),), schema, prompt=prompt.version)


def answer(ask: Ask, jpeg: bytes, backwards: bool) -> Answer:
    """A model's reply about a picture. Raises UnansweredError, or StoreError where the build was stopped."""
    try:
        return dict(structured(ask(request(jpeg, backwards))))
    except ModelError as failure:
        refuse_stopped(failure)
        reason = f"{UNANSWERED}{failure.kind}"
        raise UnansweredError(Rejection(reason=reason, measured=1, limit=0, unit="failed calls")) from None


PIXELS_MIN: Final = 60  # of walls or roof in a picture, by which their colour is known
SHARE_MIN: Final = 0.5  # of them that may be called by the word: windows, signs and shadows are the rest
FLAT_MIN: Final = 0.8  # of the outline's upper part that has the thing's colour: a flat roof leaves no corner free
NOT_FLAT_MAX: Final = 0.5  # the same of any other roof
# Height over width beyond which nobody would say so, and within which anybody may.
PROPORTIONS: Final = {TALL: (0.8, np.inf), EVEN: (0.5, 2.0), WIDE: (0.0, 1.25)}
# What has no roof to speak of: its colour is that of its walls.
ROOFLESS: Final = frozenset({TOWER, "lighthouse", "chimney", "obelisk", "monument", "windmill", "storage tank"})
FLAT: Final = "flat"


@dataclass
class CheckedLook:
    """The accepted words of a reply.

    Attributes:
        words: fact of the look -> the word.
        changes: of the `Appearance`.
        evidence: numbers that bear the words out.
        refused: why other words are not believed.
    """

    words: dict[str, str] = field(default_factory=dict)
    changes: dict[str, Any] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    refused: list[Rejection] = field(default_factory=list)

    def holds(self, measures: Sequence[Measure]) -> bool:
        """Whether all of some rules hold; notes the numbers of those that do, and the first that does not."""
        for measure in measures:
            if not measure.holds:
                self.refused.append(measure.rejection())
                return False
        rows = [row for measure in measures if (row := measure.evidence())]
        self.evidence += [Evidence.model_validate(row) for row in rows]
        return True


def believed(
    mark: Landmark, look: Appearance, crops: Sequence[LandmarkCrop], answers: Sequence[Answer], margin: float
) -> CheckedLook:
    """The accepted part of the answers about the crops of a thing.

    Args:
        mark: with its outline.
        look: by its map.
        crops: at least two.
        answers: one for each.
        margin: CIELAB; by which a colour must be nearer to its word than to any other.
    """
    found = CheckedLook()
    gates = [_kind(look, one) for one in answers]
    if mark.top_m is not None:
        gates += [_proportions(mark, one) for one in answers]
    elif look.noun not in ROOFLESS:  # which pixels are roof, and which are walls, is not known
        two = sum(one["walls"] != one["roof"] for one in answers)
        gates.append(rule("surfaces_not_told_apart", two, "<=", 0, "pictures"))
    if not found.holds(gates):
        return found
    for part in ("walls", "roof"):
        if getattr(look, part) is None:
            light = ROOF_LIGHT if part == "roof" and mark.top_m is not None else WALL_LIGHT
            _colour(found, part, look, crops, answers, margin, light)
    if look.roof_shape is None and look.noun in BUILT - ROOFLESS:
        _shape(found, look, crops, answers)
    return found


def _kind(look: Appearance, reply: Answer) -> Measure:
    """Somebody who sees the one thing might call it the other, or the reverse."""
    kind = reply["kind"]
    same = kind == UNCLEAR or (kind != ELSE and (kind in may_be(look.noun) or look.noun in may_be(kind)))
    return rule("kind_unlike_map", int(not same), "<=", 0, "pictures", look.noun)


def _proportions(mark: Landmark, reply: Answer) -> Measure:
    """Height over width, across the broadest and the narrowest side, lies where the word is used."""
    low, high = ratio_of(mark)
    least, most = PROPORTIONS.get(reply["proportions"], (0.0, np.inf))
    if high < least:
        return rule("proportions_unlike_map", high, ">=", least, "ratio", reply["proportions"])
    return rule("proportions_unlike_map", low, "<=", min(most, 1e6), "ratio", reply["proportions"])


def ratio_of(mark: Landmark) -> tuple[float, float]:
    """Height over width of a thing with an outline, across its broadest and across its narrowest side."""
    box = shapely.minimum_rotated_rectangle(shapely.MultiPoint(np.array(mark.outline)))
    corners = np.array(box.exterior.coords)
    narrow = float(np.hypot(*(corners[1:3] - corners[:2]).T).min())
    rise = float((mark.top_m or 0.0) - (mark.base_m or 0.0))
    return rise / max(2 * mark.radius_m, 1e-6), rise / max(narrow, 1e-6)


def _agreed(found: CheckedLook, fact: str, answers: Sequence[Answer]) -> str | None:
    """The word that all pictures have for a fact; None where one tells none, or another."""
    words = {one[fact] for one in answers}
    if UNCLEAR in words:
        return None
    return next(iter(words)) if found.holds([rule("pictures_differ", len(words), "<=", 1, "words", fact)]) else None


def _colour(
    found: CheckedLook,
    part: str,
    look: Appearance,
    crops: Sequence[LandmarkCrop],
    answers: Sequence[Answer],
    margin: float,
    light: tuple[float, ...],
) -> None:
    told_of = part  # of what has no roof to speak of, by its walls
    if part == "roof" and look.noun in ROOFLESS:
        told_of, light = "walls", WALL_LIGHT
    word = _agreed(found, told_of, answers)
    if word is None:
        return
    seen = [one.walls if told_of == "walls" else one.roof for one in crops]
    large = [pixels for pixels in seen if len(pixels) >= PIXELS_MIN]
    if not found.holds([rule("surface_too_small", len(large), ">=", 1, "pictures", f"{word} {part}")]):
        return
    measured = [fits(word, pixels, light) for pixels in large]
    share = min(one.share for one in measured)
    fit = min((one.margin for one in measured if one.rgb), default=0.0)
    measures = [rule("colour_not_in_picture", round(share, _DECIMALS), ">=", SHARE_MIN, "share", f"{word} {part}")]
    measures.append(rule("colour_doubtful", round(fit, _DECIMALS), ">=", margin, "Lab", f"{word} {part}"))
    if found.holds(measures):
        best: MeasuredColour = max(measured, key=lambda one: one.share)
        found.words[part], found.changes[part] = word, best.rgb


def _shape(found: CheckedLook, look: Appearance, crops: Sequence[LandmarkCrop], answers: Sequence[Answer]) -> None:
    word = _agreed(found, "roof_shape", answers)
    if word is None:
        return
    colour = found.words.get("walls")
    seen = [one.upper for one in crops if len(one.upper) >= PIXELS_MIN]
    known = colour is not None and look.sign is None  # a sign stands before the walls
    if not found.holds([rule("roof_shape_unproven", len(seen) if known else 0, ">=", len(crops), "pictures", word)]):
        return
    shares = [fits(str(colour), pixels).share for pixels in seen]
    flat = rule("roof_leaves_corners", round(min(shares), _DECIMALS), ">=", FLAT_MIN, "share", word)
    other = rule("roof_fills_corners", round(max(shares), _DECIMALS), "<=", NOT_FLAT_MAX, "share", word)
    if found.holds([flat if word == FLAT else other]):
        found.words["roof_shape"] = found.changes["roof_shape"] = word


NOT_LOOKED_AT: Final = "pictures_not_looked_at"
_DECIMALS: Final = 3


def look_at_flight(
    before: FlightScene,
    observed: FlightScene,
    geometry: FlightGeometry,
    config: MotionConfig,
    picture_at: PictureAt,
    asks: Sequence[Ask],
    most: int,
) -> FlightScene:
    """The scene observed with the looks that pictures tell.

    Args:
        before: as it was before it was observed.
        observed: with its motion.
        geometry: track and surroundings.
        config: of stage `observe`.
        picture_at: the picture of the video at a second.
        asks: a model that takes pictures; no other is asked.
        most: things that it is asked about, those shown largest.
    """
    why = obstacle(observed)
    if why:
        remedy = "see the other findings of this flight; the appearance in its map is used"
        return observed.with_findings(note(NOT_LOOKED_AT, "video", why, remedy))
    return answered(before, geometry, config, pictured(observed, geometry, picture_at, most), asks[0])


class PicturedThings(NamedTuple):
    """The landmarks in the video: ``things``, their survey, and the crops of those that are asked about."""

    things: PaintedThings
    seen: Survey
    crops: tuple[tuple[int, tuple[LandmarkCrop, ...]], ...]


def pictured(observed: FlightScene, geometry: FlightGeometry, picture_at: PictureAt, most: int) -> PicturedThings:
    """The pictures of the landmarks that a model is to be asked about, as in `look_at_flight`."""
    flight, end_s = observed.facts, video_seconds(observed)
    if flight.motion is None or flight.camera is None or end_s is None:
        raise ValueError(obstacle(observed))
    things = things_of(flight.landmarks, geometry.buildings, geometry.ground_m)
    seen = survey(flight.motion, flight.camera, things.prisms, len(things.landmarks), picture_at, end_s)
    return PicturedThings(things, seen, _crops(flight, things, seen, picture_at, most))


def answered(
    before: FlightScene, geometry: FlightGeometry, config: MotionConfig, shown: PicturedThings, ask: Ask
) -> FlightScene:
    """The scene observed with what is believed of a model's answers, as in `look_at_flight`."""
    marks = list(before.facts.landmarks)
    for thing, index in enumerate(shown.things.landmarks):
        look = marks[index].appearance
        if look is not None and look.walls is None:
            without = look.model_copy(update={"unlike": shown.seen.unlike(thing)})
            marks[index] = marks[index].model_copy(update={"appearance": without})
    for thing, crops in shown.crops:
        index = shown.things.landmarks[thing]
        marks[index] = _looked_at(marks[index], crops, ask, config.describe.colour_margin)
    again = observe_flight(before.with_facts(landmarks=tuple(marks)), geometry, config)
    named = list(again.facts.landmarks)
    for i, mark in enumerate(named):  # what a label rests on that was seen in pictures is among what proves it
        if mark.label and mark.pictured:
            named[i] = mark.model_copy(update={"proof": (*mark.proof, *mark.pictured.evidence)})
    again = again.with_facts(landmarks=tuple(named))
    return again.with_findings(*_look_findings(marks, sum(map(bool, shown.seen.glimpses.values()))))


def calls(scene: FlightScene, most: int) -> int:
    """How often a model is asked at most about a flight with its motion observed."""
    if obstacle(scene):
        return 0
    return CROPS * min(
        most, sum(mark.appearance is not None and bool(_missing(mark.appearance)) for mark in scene.facts.landmarks)
    )


def is_complete(scene: FlightScene) -> bool:
    """Whether every question had an answer."""
    pictures = (mark.pictured for mark in scene.facts.landmarks if mark.pictured)
    return not any(refused.reason.startswith(UNANSWERED) for one in pictures for refused in one.refused)


def obstacle(scene: FlightScene) -> str:
    """Why geometry cannot tell where things are in the pictures; "" where it can."""
    motion = scene.facts.motion
    if motion is None or not motion.t_s:
        return "the flight's movements are not known"
    if scene.facts.camera is None:
        return "the camera's field of view is not known"
    if motion.heading_error_deg or all(h is None for h in motion.heading_deg):
        return "it is not known exactly where the nose points"
    if all(p is None for p in motion.pitch_deg):
        return "it is not known how far down the camera looks"
    return "" if video_seconds(scene) is not None else "there is no video"


def _missing(look: Appearance) -> list[str]:
    """The traits of an appearance that a map leaves open and pictures might show."""
    facts = ["walls", "roof", *(["roof_shape"] if look.noun in BUILT - ROOFLESS else [])]
    return [fact for fact in facts if getattr(look, fact) is None]


def _crops(
    flight: Flight, things: PaintedThings, seen: Survey, picture_at: PictureAt, most: int
) -> tuple[tuple[int, tuple[LandmarkCrop, ...]], ...]:
    """The things to ask about with their pictures, those shown largest first."""
    found = {}
    for thing, index in enumerate(things.landmarks):
        look = flight.landmarks[index].appearance
        if look is None or not _missing(look):
            continue
        best = chosen(seen.glimpses.get(thing, ()), seen.t_s.tolist())
        if len(best) == CROPS:
            found[thing] = best
    largest = sorted(found, key=lambda thing: (-round(found[thing][0].size, 6), thing))[:most]
    taken: dict[int, list[LandmarkCrop]] = defaultdict(list)
    for moment in sorted({glimpse.moment for thing in largest for glimpse in found[thing]}):
        second = float(seen.t_s[moment])
        frame = picture_at(second)
        for thing in largest:
            for glimpse in found[thing]:
                if glimpse.moment == moment:
                    taken[thing].append(crop(frame, seen.eyes[moment], things.prisms, thing, glimpse, second))
    return tuple((thing, tuple(taken[thing])) for thing in largest)


def _looked_at(mark: Landmark, crops: Sequence[LandmarkCrop], ask: Ask, margin: float) -> Landmark:
    """A landmark with what is believed of what a model says of it."""
    look, seconds = mark.appearance, tuple(one.second for one in crops)
    if look is None:
        return mark
    answers: list[Answer] = []
    try:
        for number, one in enumerate(crops):
            answers.append(answer(ask, one.jpeg, backwards=bool(number % 2)))
    except UnansweredError as failed:
        return mark.model_copy(update={"pictured": DescribedLandmark(seconds=seconds, refused=(failed.rejection,))})
    found = believed(mark, look, crops, answers, margin)
    at = " and ".join(f"{second:.1f}" for second in seconds)
    source_tags = {fact: f"{word}, said by a model of the video at {at} s" for fact, word in found.words.items()}
    changed = look.model_copy(update={**found.changes, "source_tags": look.source_tags | source_tags})
    described = DescribedLandmark(
        seconds=seconds, words=found.words, evidence=tuple(found.evidence), refused=tuple(found.refused)
    )
    return mark.model_copy(update={"appearance": changed, "pictured": described})


def _look_findings(marks: Sequence[Landmark], shown: int) -> tuple[Finding, ...]:
    """How many things were asked about, and by reason how many words were not believed, with the nearest of them."""
    asked = [mark.pictured for mark in marks if mark.pictured]
    words = Counter(fact for one in asked for fact in one.words)
    counts = ", ".join(f"{fact.replace('_', ' ')} of {n}" for fact, n in sorted(words.items())) or "nothing"
    message = f"of {shown} things that the video shows a model was asked about {len(asked)}; believed: {counts}"
    remedy = "none needed; what is not believed is not said"
    found = [note("looked_at", "landmarks", message, remedy, float(len(asked)), None, "landmarks")]
    refused: Mapping[str, list[Rejection]] = defaultdict(list)
    for one in asked:
        for rejection in one.refused:
            refused[rejection.reason].append(rejection)
    for reason, each in sorted(refused.items()):
        nearest = min(each, key=lambda r: abs((r.measured or 0.0) - (r.limit or 0.0)))
        message = f"{len(each)} words of the model about {len(asked)} things were not believed"
        measured = None if nearest.measured is None else round(nearest.measured, _DECIMALS)
        found.append(note(reason, "landmarks", message, remedy, measured, nearest.limit, nearest.unit))
    return tuple(found)


LOOKING: Final = DescribeSteps[Flight](look_at_flight, calls, is_complete)
