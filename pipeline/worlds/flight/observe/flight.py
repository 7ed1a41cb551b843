"""Stage `observe` for a flight: what it does, how its landmarks are called, and when they are in view.

No video shows what a place is called: goal and route are put into the words of what is seen.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.geometry.bearings import compass_deg
from pipeline.geometry.tracks import FlightGeometry
from pipeline.worlds.flight.facts import Flight, FlightMotion, FlightScene, Landmark, Segment, Sighting
from pipeline.worlds.flight.observe.descriptions import NOT_NEAR, describe
from pipeline.worlds.flight.observe.motion import COURSE_ERROR_DEG, FlightPath, MotionConfig, paths
from pipeline.worlds.flight.observe.movements import segments
from pipeline.worlds.flight.observe.views import PosesAt, ViewInputs, best_shot, may_be_noticed, views

MIN_COVERAGE: Final = 0.9  # of the video that the log should tell of; less is worth a word
_DECIMALS: Final = 3  # millimetres, thousandths of a degree: below what any log knows


def observe_flight(scene: FlightScene, geometry: FlightGeometry, config: MotionConfig) -> FlightScene:
    """The scene with `Flight.motion`, the labels of its landmarks, and goal and route in these words.

    Times count from the start of the video; what the log covers before and after the video is left out. Findings
    named `quantised` give the step of the log's positions over ground, below which no movement is claimed.
    """
    flight = scene.facts
    step = max((f.measured or 0.0 for f in scene.findings if f.name == "quantised"), default=0.0)
    end_s = video_seconds(scene)
    track = geometry.track
    if flight.heading_offset_deg:
        track = replace(track, heading_deg=(track.heading_deg + flight.heading_offset_deg) % 360.0)
    found, fits = paths(track, config, flight.video_offset_s, (step, 0.0), flight.nose_first)
    if end_s is not None:
        found = [p for p in (path.within(0.0, end_s) for path in found) if len(p)]
    step_s = max(1, round(config.rate_hz))
    path = np.concatenate([track.enu_m[:0], *(p.enu_m[::step_s] for p in found)])
    shot = _filmed(found, flight, geometry, config)
    noticed = None
    if shot is not None:
        each_s = shot.poses.known(step_s)
        noticed = np.array([may_be_noticed(each_s, mark, shot.setting) for mark in flight.landmarks], dtype=bool)
    expressions = describe(flight.landmarks, path, config.describe, noticed)
    named = tuple(
        landmark  # a goal that is given by words and a place
        if landmark.label
        else landmark.model_copy(
            update={"label": one.label, "proof": one.proof, "unnameable_reason": one.unnameable_reason}
        )
        for landmark, one in zip(flight.landmarks, expressions, strict=True)
    )
    task = with_labels(flight, named)
    moved = [s for path in found for s in segments(path, fits, config, (step, 0.0))]
    motion = _motion(found, moved, named, _pitch(found, flight), shot, config)
    notes = _coverage(motion, end_s, config.rate_hz) + _course(motion)
    if motion.views is not None:
        notes += _heights(named)
    notes += task.findings
    seen = scene.with_facts(motion=motion, landmarks=named, goal=task.goal, route=task.route)
    return seen.with_findings(*notes)


class FilmedPath(NamedTuple):
    """The camera of a flight at even times, and what it stands among."""

    poses: PosesAt
    setting: ViewInputs


def _pitch(found: list[FlightPath], flight: Flight) -> FloatArray:
    """Pitch of the camera: as logged, or that of one that does not tilt."""
    logged = _joined(found, "gimbal_deg")
    fixed = flight.camera.pitch_deg if flight.camera else None
    return np.clip(np.where(np.isnan(logged), np.nan if fixed is None else fixed, logged), -90.0, 90.0)


def _joined(found: list[FlightPath], name: str, *shape: int) -> FloatArray:
    return np.concatenate([np.empty((0, *shape)), *(getattr(path, name) for path in found)])


def _filmed(
    found: list[FlightPath], flight: Flight, geometry: FlightGeometry, config: MotionConfig
) -> FilmedPath | None:
    """What it takes to know what is in view; None: no camera, heading or landmark."""
    heading, pitch = _joined(found, "heading_deg"), _pitch(found, flight)
    if not flight.camera or not flight.landmarks or np.isnan(heading + pitch).all():
        return None
    part = np.repeat([p.number for p in found], [len(p) for p in found]).astype(np.intp)
    poses = PosesAt(_joined(found, "t_s"), _joined(found, "enu_m", 3), heading, pitch, part)
    error = _course_error(found)
    return FilmedPath(poses, ViewInputs(flight.camera, geometry.ground_m, geometry.buildings, config, error))


def _course_error(found: list[FlightPath]) -> float:
    """By how much a heading may be off: 0 but where it is the course."""
    return COURSE_ERROR_DEG if any(p.turn_error is not None for p in found) else 0.0


def _motion(
    found: list[FlightPath],
    moved: list[Segment],
    landmarks: tuple[Landmark, ...],
    pitch: FloatArray,
    shot: FilmedPath | None,
    config: MotionConfig,
) -> FlightMotion:
    t_s, height, heading, stated = (_joined(found, name) for name in ("t_s", "height_m", "heading_deg", "stated"))
    enu, velocity = _joined(found, "enu_m", 3), _joined(found, "velocity", 3)
    moves = np.hypot(velocity[:, 0], velocity[:, 1]) > config.move.start
    part = np.repeat([p.number for p in found], [len(p) for p in found]).astype(np.intp)
    seen: tuple[Sighting, ...] | None = None
    if shot is not None:
        # What has no label may be asked about by its name.
        far = [mark.unnameable_reason is None or mark.unnameable_reason.reason == NOT_NEAR for mark in landmarks]
        asked = [i for i, mark in enumerate(landmarks) if mark.label or (mark.name and not far[i])]
        found_in = []
        for view in views(shot.poses, [landmarks[i] for i in asked], shot.setting):
            mark = landmarks[asked[view.landmark]]
            best = best_shot(shot.poses, mark, view.intervals, shot.setting) if mark.name else None
            found_in.append(view.model_copy(update={"landmark": asked[view.landmark], "shot": best}))
        seen = tuple(found_in)
    return FlightMotion(
        rate_hz=config.rate_hz,
        t_s=tuple(t_s.round(_DECIMALS).tolist()),
        enu_m=tuple(map(tuple, (enu.round(_DECIMALS) + 0.0).tolist())),
        height_m=_rounded(height),
        heading_deg=_rounded(heading % 360.0, 360.0),
        heading_error_deg=_course_error(found),
        course_deg=_rounded(np.where(moves, compass_deg(velocity), np.nan), 360.0),
        pitch_deg=_rounded(pitch),
        stated_mps=_rounded(stated) if np.isfinite(stated).any() else (),
        part=tuple(part.tolist()),
        segments=tuple(moved),
        views=seen,
    )


def _rounded(values: FloatArray, period: float = np.inf) -> tuple[float | None, ...]:
    """Rounded values, None for those not known; 359.9999 is 0."""
    rounded = values.round(_DECIMALS)
    rounded = np.where(rounded >= period, 0.0, rounded) + 0.0  # no -0.0
    return tuple(None if np.isnan(v) else v for v in rounded.tolist())


def video_seconds(scene: FlightScene) -> float | None:
    """Length of a flight's video; None where there is none."""
    video = scene.video
    return video.frames / video.fps if video and video.frames and video.fps else None


def _coverage(motion: FlightMotion, video_s: float | None, rate_hz: float) -> tuple[Finding, ...]:
    """Says so where the log covers little of the video."""
    if video_s is None:
        return ()
    share = min(1.0, len(motion.t_s) / rate_hz / video_s)
    if share >= MIN_COVERAGE:
        return ()
    message = f"the log covers {share:.0%} of the video's {video_s:.1f} s"
    remedy = "check the offset between video and log; nothing is asked about the rest"
    return (doubt("video_beyond_log", "video", message, remedy, round(share, _DECIMALS), MIN_COVERAGE, "share"),)


def _course(motion: FlightMotion) -> tuple[Finding, ...]:
    """Says so where the heading is the course."""
    if not motion.heading_error_deg:
        return ()
    share = sum(h is not None for h in motion.heading_deg) / max(len(motion.heading_deg), 1)
    message = (
        f"the log has no heading; flown nose first, the drone points where it flies, within "
        f"{motion.heading_error_deg:g} degrees: known for {share:.0%} of the flight"
    )
    return (note("heading_of_course", "log", message, "none needed", round(share, _DECIMALS), None, "share"),)


def _heights(landmarks: tuple[Landmark, ...]) -> tuple[Finding, ...]:
    """Says so where a landmark's place in the picture rests on an assumed height of the ground."""
    asked = [landmark for landmark in landmarks if landmark.label]
    unknown = sum(landmark.base_m is None for landmark in asked)
    if not unknown:
        return ()
    message = (
        f"{unknown} of {len(asked)} landmarks have no known foot; they count as in view only where "
        "they are in the picture for every height of the ground about take-off"
    )
    remedy = "give the heights of their feet, if the land is known"
    return (note("landmark_foot_unknown", "landmarks", message, remedy, float(unknown), 0.0, "landmarks"),)


_EDGE: Final = r"(?<!\w)(?:the )?{}(?!\w)"
UNSEEN, BY_COMPASS = "route_names_unseen", "route_by_compass"  # doubts about a route: it cannot be told
STEP_MAX: Final = 200  # characters; schema.Name
# Directions that no picture shows: "north", "southwest", "north-east", "eastwards", "western".
COMPASS: Final = re.compile(
    r"\b(?:(?:north|south)(?:[- ]?(?:east|west))?|east|west)(?:wards?|ern|erly)?\b", re.IGNORECASE
)


class SpokenRoute(NamedTuple):
    """Goal and route as questions may say them, and what of the route they may not."""

    goal: str | None
    route: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def with_labels(flight: Flight, landmarks: Sequence[Landmark]) -> SpokenRoute:
    """Goal and route with the names of landmarks replaced by their labels.

    A route is doubted where a step still has the name of a landmark that has no label, or a point of the compass; a
    name that two landmarks have is of neither. A goal that is no landmark stays as it is: it is asked about nowhere.

    Args:
        flight: what the pilot was given.
        landmarks: the flight's, with their labels.
    """
    names: dict[str, str | None] = {}
    for mark in landmarks:
        if mark.name:
            name = " ".join(mark.name.casefold().split())
            names[name] = None if name in names else mark.label
    ordered = sorted(names, key=lambda name: (-len(name), name))
    route = tuple(_replaced(step, ordered, names) for step in flight.route)
    goal = names.get(" ".join(flight.goal.casefold().split())) if flight.goal else None
    hidden = [re.compile(_EDGE.format(re.escape(name)), re.IGNORECASE) for name in ordered if names[name] is None]
    unseen = sum(any(name.search(step) for name in hidden) for step in route)
    unseen += sum(len(step) > STEP_MAX for step in route)
    compass = sum(bool(COMPASS.search(step)) for step in route)
    findings = []
    if unseen:
        message = f"{unseen} of {len(route)} steps of the route name a landmark without a unique look on the map"
        remedy = "say in the route what is seen, or give the landmark a colour, a roof, a height or a sign"
        findings.append(doubt(UNSEEN, "route", message, remedy, float(unseen), 0.0, "steps"))
    if compass:
        message = f"{compass} of {len(route)} steps of the route go by the compass, which no picture shows"
        remedy = "give directions as left and right, or by what is seen"
        findings.append(doubt(BY_COMPASS, "route", message, remedy, float(compass), 0.0, "steps"))
    kept = tuple(new if len(new) <= STEP_MAX else old for new, old in zip(route, flight.route, strict=True))
    return SpokenRoute(goal or flight.goal, kept, tuple(findings))


def _replaced(step: str, ordered: Sequence[str], names: dict[str, str | None]) -> str:
    """A step with every name that stands for one look replaced by it; a label is not looked through for names."""
    chosen = [name for name in ordered if names[name]]
    if not chosen:
        return step
    pattern = "|".join(f"(?P<n{i}>{_EDGE.format(re.escape(name))})" for i, name in enumerate(chosen))
    return re.sub(pattern, lambda found: str(names[chosen[int(str(found.lastgroup)[1:])]]), step, flags=re.IGNORECASE)
