"""What is true of a sample flight, told from its planted truth alone: plain and slow, by the rules of UrbanVideo-Bench.

Nothing of the pipeline's observers or questions is used. All times ``t`` are seconds from the start of the video, as in
questions; landmarks are indices into ``truth.landmarks``, since a name may occur twice. Angles are degrees.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pipeline.samples.flight.write import FlightTruth, Solid

SEEN_PIXELS = 20  # of a picture of 384 x 216


class OraclePose(NamedTuple):
    """Where the drone is, ENU metres, where its nose points (compass) and how the camera is tilted."""

    east_m: float
    north_m: float
    up_m: float
    heading_deg: float
    pitch_deg: float


class OracleSegment(NamedTuple):
    """One planted movement."""

    start_s: float
    end_s: float
    actions: tuple[str, ...]
    distance_m: float
    climb_m: float
    turn_deg: float
    gimbal_deg: float


class OracleSide(NamedTuple):
    """Where a landmark is, seen from the nose, and the angle to the nearest border of that quarter."""

    side: Literal["ahead", "right", "behind", "left"]
    margin_deg: float


class OraclePixel(NamedTuple):
    """Where the picture has a point, pixels from its upper left corner, and how far it is along the camera's axis."""

    x: float
    y: float
    depth_m: float


def landmarks_named(truth: FlightTruth, name: str) -> list[int]:
    """Indices of all landmarks of this name."""
    return [i for i, landmark in enumerate(truth.landmarks) if landmark.name == name]


def oracle_pose(truth: FlightTruth, t: float) -> OraclePose:
    """The drone at a time, linearly between the planted poses. Raises ValueError outside of the flight."""
    poses, at = truth.poses, t + truth.video_offset_s
    if not poses.t_s[0] <= at <= poses.t_s[-1] + 1e-9:
        raise ValueError(f"{at} s of the log is outside of the flight")
    i = min(bisect_right(poses.t_s, at), len(poses.t_s) - 1) - 1
    share = (at - poses.t_s[i]) / (poses.t_s[i + 1] - poses.t_s[i])
    east, north, up = (a + share * (b - a) for a, b in zip(poses.enu_m[i], poses.enu_m[i + 1], strict=True))
    turn = _wrapped(poses.heading_deg[i + 1] - poses.heading_deg[i])
    pitch = poses.pitch_deg[i] + share * (poses.pitch_deg[i + 1] - poses.pitch_deg[i])
    return OraclePose(east, north, up, (poses.heading_deg[i] + share * turn) % 360.0, pitch)


def oracle_segments(truth: FlightTruth) -> list[OracleSegment]:
    """All movements in order, as far as the log tells them; what was flown before the video began has negative times.

    Without a heading a drone flies horizontally or stays in place, whichever way its nose points, and neighbours of
    which no more is known than that are one movement.
    """
    shift = truth.video_offset_s
    moves = [
        OracleSegment(
            move.start_s - shift,
            move.end_s - shift,
            move.actions,
            move.distance_m,
            move.climb_m,
            move.turn_deg,
            move.gimbal_deg,
        )
        for move in truth.moves
    ]
    if truth.has_heading:
        return moves
    found: list[OracleSegment] = []
    for move in (m._replace(actions=_without_heading(m.actions)) for m in moves):
        if found and set(found[-1].actions) == set(move.actions):
            last = found.pop()
            sums = {name: getattr(last, name) + getattr(move, name) for name in OracleSegment._fields[3:]}
            found.append(move._replace(start_s=last.start_s, **sums))
        else:
            found.append(move)
    return found


def _without_heading(actions: tuple[str, ...]) -> tuple[str, ...]:
    flies = ("fly horizontally",) if any(action.startswith("fly") for action in actions) else ()
    others = tuple(a for a in actions if not a.startswith(("fly", "turn", "hover")))
    return flies + others or ("stay in place",)


def oracle_next(truth: FlightTruth, t: float) -> OracleSegment | None:
    """The first movement that begins at or after a time; None after the last one began."""
    return next((segment for segment in oracle_segments(truth) if segment.start_s >= t - 1e-9), None)


def oracle_step(truth: FlightTruth, t: float) -> int | None:
    """Index of the route's step in progress; None before the first."""
    at = t + truth.video_offset_s
    return next((i for i, step in enumerate(truth.route) if step.start_s <= at < step.end_s), None)


def oracle_bearing(truth: FlightTruth, t: float, landmark: int) -> float:
    """Bearing of a landmark's middle from the nose, clockwise positive, in [-180, 180)."""
    pose = oracle_pose(truth, t)
    x, y = truth.landmarks[landmark].solid.center
    return _wrapped(math.degrees(math.atan2(x - pose.east_m, y - pose.north_m)) - pose.heading_deg)


def oracle_side(truth: FlightTruth, t: float, landmark: int) -> OracleSide:
    """The quarter of that bearing."""
    bearing = oracle_bearing(truth, t, landmark)
    margin = min(abs(_wrapped(bearing - edge)) for edge in (-135.0, -45.0, 45.0, 135.0))
    if abs(bearing) < 45.0:
        return OracleSide("ahead", margin)
    if abs(bearing) > 135.0:
        return OracleSide("behind", margin)
    return OracleSide("right" if bearing > 0 else "left", margin)


def oracle_distance(
    truth: FlightTruth, t: float, landmark: int, to: Literal["footprint", "center"] = "footprint"
) -> float:
    """Distance over ground to the nearest point of a landmark's footprint (0 above it), or to its middle."""
    pose, thing = oracle_pose(truth, t), truth.landmarks[landmark]
    here = (pose.east_m, pose.north_m)
    if to == "center" or thing.is_point:
        return math.dist(here, thing.solid.center)
    if oracle_covers(thing.solid, here):
        return 0.0
    return min(_from_side(here, a, b) for a, b in _sides(thing.solid))


def oracle_covers(solid: Solid, point: Sequence[float]) -> bool:
    """Whether a point lies in a footprint, which bulges everywhere and whose corners run counter-clockwise."""
    return all(_left_of(point, a, b) >= 0 for a, b in _sides(solid))


def oracle_pixels(truth: FlightTruth, t: float, landmark: int) -> int:
    """How much of a landmark the frame examined nearest to ``t`` shows, at most 0.25 s away.

    What stands before it counts: the pixels are the renderer's. Raises ValueError where no frame was examined.
    """
    at = t + truth.video_offset_s
    frame = min(truth.examined_s, key=lambda examined: abs(examined - at))
    if abs(frame - at) > 0.25 + 1e-6:
        raise ValueError(f"no frame was examined near {t} s")
    return dict(truth.landmarks[landmark].shown).get(frame, 0)


def oracle_in_view(truth: FlightTruth, t: float, landmark: int, least_pixels: int = SEEN_PIXELS) -> bool:
    """Whether the frame examined nearest to ``t`` shows so much of a landmark; see `oracle_pixels`."""
    return oracle_pixels(truth, t, landmark) >= least_pixels


def oracle_intervals(truth: FlightTruth, landmark: int, least_pixels: int = SEEN_PIXELS) -> list[tuple[float, float]]:
    """First and last examined frame of each stretch of frames that show so much of a landmark."""
    pixels = dict(truth.landmarks[landmark].shown)
    runs: list[tuple[float, float]] = []
    before = False
    for frame in truth.examined_s:
        seen = pixels.get(frame, 0) >= least_pixels
        t = frame - truth.video_offset_s
        if seen:
            runs = [*runs[:-1], (runs[-1][0], t)] if before else [*runs, (t, t)]
        before = seen
    return runs


def oracle_pixel(truth: FlightTruth, t: float, point: Sequence[float]) -> OraclePixel | None:
    """Where the picture has a point (ENU, metres), hidden or not; None behind the camera or outside of the picture."""
    pose, camera = oracle_pose(truth, t), truth.camera
    east, north, up = (a - b for a, b in zip(point, pose[:3], strict=True))
    heading, pitch = math.radians(pose.heading_deg), math.radians(pose.pitch_deg)
    right = east * math.cos(heading) - north * math.sin(heading)
    ahead = east * math.sin(heading) + north * math.cos(heading)
    depth = ahead * math.cos(pitch) + up * math.sin(pitch)
    down = ahead * math.sin(pitch) - up * math.cos(pitch)
    if depth <= 0:
        return None
    focal = camera.width / 2 / math.tan(math.radians(camera.horizontal_fov_deg / 2))
    x, y = camera.width / 2 + focal * right / depth, camera.height / 2 + focal * down / depth
    return OraclePixel(x, y, depth) if 0 <= x < camera.width and 0 <= y < camera.height else None


def _wrapped(angle_deg: float) -> float:
    """An angle in [-180, 180)."""
    return (angle_deg + 180.0) % 360.0 - 180.0


def _sides(solid: Solid) -> list[tuple[tuple[float, ...], tuple[float, ...]]]:
    return list(zip(solid.corners, solid.corners[1:] + solid.corners[:1], strict=True))


def _left_of(point: Sequence[float], a: Sequence[float], b: Sequence[float]) -> float:
    return (b[0] - a[0]) * (point[1] - a[1]) - (b[1] - a[1]) * (point[0] - a[0])


def _from_side(point: Sequence[float], a: Sequence[float], b: Sequence[float]) -> float:
    """Distance of a point to the line from ``a`` to ``b``."""
    along = (b[0] - a[0], b[1] - a[1])
    share = ((point[0] - a[0]) * along[0] + (point[1] - a[1]) * along[1]) / (along[0] ** 2 + along[1] ** 2)
    share = min(1.0, max(0.0, share))
    return math.dist(point, (a[0] + share * along[0], a[1] + share * along[1]))
