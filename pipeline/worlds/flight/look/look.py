"""Stage `describe` for a flight: what its map does not tell of what things look like, from pictures of the video.

A model says what it sees of a thing in two pictures, pixels and map bear it out or do not (`checks`). Of
what nobody was asked about, or nothing is believed, it is known which colours are never seen where it stands
(`survey`). With these looks the flight is observed again, so that labels, route and views follow from them as from
what a map tells.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pipeline.core.findings import note
from pipeline.core.schema import Finding, Rejection
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.maps.appearance import BUILT, Appearance
from pipeline.worlds.flight.facts import Flight, FlightScene, Landmark, Pictured
from pipeline.worlds.flight.look.checks import ROOFLESS, UNANSWERED, Answer, Ask, UnansweredError, answer, believed
from pipeline.worlds.flight.look.painted import PaintedThings, things_of
from pipeline.worlds.flight.look.survey import CROPS, LandmarkCrop, PictureAt, Survey, chosen, crop, survey
from pipeline.worlds.flight.observe.flight import ground_m, observe_flight, video_seconds
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.world import Looking

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
        return _with_findings(observed, (note(NOT_LOOKED_AT, "video", why, remedy),))
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
    things = things_of(flight.landmarks, geometry.buildings, ground_m(geometry.track))
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
    return _with_findings(again, _told(marks, sum(map(bool, shown.seen.glimpses.values()))))


def calls(scene: FlightScene, most: int) -> int:
    """How often a model is asked at most about a flight with its motion observed."""
    if obstacle(scene):
        return 0
    return CROPS * min(
        most, sum(mark.appearance is not None and bool(_missing(mark.appearance)) for mark in scene.facts.landmarks)
    )


def is_whole(scene: FlightScene) -> bool:
    """Whether every question had an answer."""
    told = (mark.pictured for mark in scene.facts.landmarks if mark.pictured)
    return not any(refused.reason.startswith(UNANSWERED) for one in told for refused in one.refused)


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
        return mark.model_copy(update={"pictured": Pictured(seconds=seconds, refused=(failed.rejection,))})
    found = believed(mark, look, crops, answers, margin)
    at = " and ".join(f"{second:.1f}" for second in seconds)
    source_tags = {fact: f"{word}, said by a model of the video at {at} s" for fact, word in found.words.items()}
    changed = look.model_copy(update={**found.changes, "source_tags": look.source_tags | source_tags})
    told = Pictured(seconds=seconds, words=found.words, evidence=tuple(found.evidence), refused=tuple(found.refused))
    return mark.model_copy(update={"appearance": changed, "pictured": told})


def _with_findings(scene: FlightScene, findings: tuple[Finding, ...]) -> FlightScene:
    return scene.model_copy(update={"findings": (*scene.findings, *findings)})


def _told(marks: Sequence[Landmark], shown: int) -> tuple[Finding, ...]:
    """How many things were asked about, and by reason how many words were not believed, with the nearest of them."""
    asked = [mark.pictured for mark in marks if mark.pictured]
    words = Counter(fact for one in asked for fact in one.words)
    told = ", ".join(f"{fact.replace('_', ' ')} of {n}" for fact, n in sorted(words.items())) or "nothing"
    message = f"of {shown} things that the video shows a model was asked about {len(asked)}; believed: {told}"
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


LOOKING: Final = Looking[Flight](look_at_flight, calls, is_whole)
