"""Impossible values in a drive of any format: tracks that jump, overlapping vehicles, a second ego car.

And what only files read in a wrong convention give: turns in another order, the other way round or to another axis,
sides in another order, lengths in another unit, boxes in another frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks, runs
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.geometry.angles import rate, turned_about_z
from pipeline.geometry.footprints import Rectangles
from pipeline.worlds.drive.facts import CARS, PEOPLE, RIDERS, VEHICLES, Actor, Drive, DriveScene, Ego, Lane
from pipeline.worlds.drive.view import EGO, SPEED_WINDOW_S, DriveView

JUMP_M: Final = 2.0  # ours: beyond what the speed about it explains; boxes of annotators waver by a tenth of it
SPEED_MAX_MPS: Final = 100.0  # no road vehicle of a log is faster
SPEED_STEPS: Final = 7  # of a track, of which the median is the speed about one of them
GAP_MAX_S: Final = 1.0  # after a longer one a track may be anywhere
OVERLAP_S: Final = 0.2  # between the times at which overlaps are looked for
OVERLAPS_MIN: Final = 2  # such times, for one alone may be a box that wavers
DOUBLE_M: Final = 0.1  # between the middles of two things of one kind: no two stand as near
SAME_SHARE: Final = 0.5  # of the times of an actor, from which on it is our own car
SAME_M: Final = 1.0  # of our own car without a box, from its point
MOVES_M: Final = 10.0  # from which on a track tells where its thing is heading
MOVES_EVERY_S: Final = 0.5  # apart, so that boxes which waver do not count as movement
STEP_M: Final = 0.5  # in that time; less is the wavering of boxes
SIDEWAYS_MAX_DEG: Final = 30.0  # between heading and path; of the logs at hand at most 6.4 for vehicles
WRONG_SHARE: Final = 0.5  # of what can be judged, from which on the whole log is read wrongly
JUDGED_MIN: Final = 3  # things, for one alone may be an exception
CAR_M: Final = (3.0, 7.0)  # length of the usual car, American pickups among them
OFF_GROUND_M: Final = 3.0  # between our point and what stands around us, in the middle; at hand at most 2.1
STANDS_M: Final = 0.3  # root mean square of a standing thing's places: boxes of annotators waver less
STANDS_TIMES: Final = 4  # so much farther must it wander in another frame to have a vote; also samples of a track
SHIFT_MIN_M: Final = 1.0  # of all boxes: a point of our own car that is not the stated one is nearer
WAY_OFF: Final = 0.15  # of our way: it was another one; of the real log at hand 0.001
NO_WAY: Final = -0.92  # what keeps its distance to us drives as we do
FAR_M: Final = 300.0  # no lidar or camera of a car sees as far
WALKS_M: Final = 3.0  # from which on somebody walks
WALKS_AT: Final = 0.75  # of the times of a track, by speed: who walks also waits
WALKS_MPS: Final = (0.5, 2.6)  # of the real log at hand 1.3; 0.6 is a shuffle in a crowd (Fruin), 2.6 a jog
DRIVES_MPS: Final = (0.4, 70.0)  # of vehicles that move, in the middle
GRIP_MPS2: Final = 12.0  # tyres hold 10 on dry roads
GRIPS_AT: Final = 0.9
KEEP_RIGHT: Final = frozenset({"atx", "dtw", "mia", "pao", "pit", "wdc"})  # cities of Argoverse 2
NEAR_US_M: Final = 50.0  # where maps of logs reach, and who comes is on our road
COMES_DEG: Final = 20.0  # off the other way
ACROSS_M: Final = 12.0  # to the side: what is farther drives on another road
AGAINST_SHARE: Final = 0.5  # of the real log at hand 0.02 beside the roads, 0.02 against lanes
MOMENTS_MIN: Final = 20
SWUNG_MIN_DEG: Final = 4.0  # of our heading; of the real log at hand 0.03
LATE_MIN_S: Final = 0.15  # and 0.01 s
LATER: Final = (0, 1, -1, 2, -2, 3, -3, 4, -4)  # times of `MOVES_EVERY_S`
AGREE_SHARE: Final = 0.25  # of the tracks that would drift, at least, must stand
LATE_MAX_S: Final = 2.5
SHIFT_MAX_M: Final = 30.0  # no point of a car is farther from another one
SETTLED_M: Final = 0.05  # what wanders less counts as standing
FITS: Final = 30  # rounds of it
MOVING_MPS: Final = 2.0  # slower, the wavering of places hides a velocity
STEERED_DEG: Final = 20.0  # of turning, from which on steering can be judged
CENTRE_OFF: Final = 0.25  # of a side, between the middles of lens and picture; crops of cameras at hand: 0.13
FOCAL_SIDES: Final = 10.0  # between focal length and width of the picture: 6 to 157 degrees
STRETCHED: Final = 1.2  # of pixels
MOUNTED_M: Final = 20.0  # from our point, on the longest lorry
LEVEL: Final = 0.7  # of the axis upwards; one that looks down has no upright picture
UPRIGHT: Final = 0.5  # cosine between down in the picture and down
SHAPED: Final = 1.02
BESIDE_M: Final = 0.5  # beyond its own side
_PAIRS: Final = 1 << 21  # at a time: bounds memory to about 100 MB


def examine(scene: DriveScene) -> tuple[Finding, ...]:
    """The doubts about tracks of a scene; about part of a track where the rest of it can stand."""
    view = DriveView(scene)
    return (
        *_jumps(view),
        *_overlaps(view),
        *_doubles(view),
        *_sideways(view),
        *_sizes(view),
        *_heights(view),
        *_paces(view),
        *_against_the_road(view),
        *_drifts(view),
        *_velocities(view),
        *_steering(view),
        *_off_middle(scene),
        *_calibration(view),
    )


def _calibration(view: DriveView) -> Iterator[Finding]:
    """A doubt about the film's camera, where its numbers are those of no camera on a car that stands upright."""
    camera = view.camera
    if camera is None:
        return
    sides = np.array([camera.width, camera.height], dtype=np.float64)
    fx, fy = camera.focal_px
    off_middle = float(np.abs(np.array(camera.centre_px) / sides - 0.5).max())
    widths, stretched = fx / camera.width, max(fx / fy, fy / fx)
    away_m = float(np.sqrt((np.array(camera.place_m or (0.0, 0.0, 0.0)) ** 2).sum()))
    falls, rises = (-1.0, 0.0) if camera.ego_from_camera is None else camera.ego_from_camera[2][1:]
    video = view.scene.video
    shape = 1.0
    if video is not None and video.width and video.height:
        shape = camera.width * video.height / (camera.height * video.width)
    checks = (
        (off_middle, CENTRE_OFF, "share", "the middle of the lens lies {:.0%} of a side from that of the picture"),
        (max(widths, 1 / widths), FOCAL_SIDES, "ratio", "its focal length and its picture's width are {:.3g} to 1"),
        (stretched, STRETCHED, "ratio", "its focal lengths across and down are {:.2f} times each other"),
        (away_m, MOUNTED_M, "m", "it stands {:.1f} m from our point"),
        (rises, LEVEL, "cosine", "it looks at the sky, by {:.2f} of its axis"),
        (falls if abs(rises) < LEVEL else -1.0, -UPRIGHT, "cosine", "down in its picture is not down: {:.2f} upwards"),
        (max(shape, 1 / shape), SHAPED, "ratio", "its picture has {:.2f} times the shape of the video's"),
    )
    for measured, limit, unit, text in checks:
        if not measured <= limit:
            message = f"{camera.name}: {text.format(measured)}"
            remedy = "give the calibration of these pictures, with OpenCV's axes (x right, y down, z ahead)"
            yield doubt("bad_calibration", camera.name, message, remedy, round(measured, 3), limit, unit)
            return


def _drifts(view: DriveView) -> Iterator[Finding]:
    """Things that would stand still if they stood elsewhere about us, or if we had driven otherwise.

    What stands must stay where it is while our car moves. Each track votes: it stands as it is written, it stands only
    with left and right swapped, or only when all boxes are shifted alike, our way is longer or shorter, our poses are
    those of another time, or our heading is off. On straight roads the first two tell nothing.
    """
    if view.facts.frame != "world":
        return  # where our car's movement is not known, no place about it is
    times = _first_of_each(view.times_s, MOVES_EVERY_S)
    local, yaw = view.relative_m[:, times, :2], np.radians(view.ego_yaw_deg[times])
    axes = np.stack([np.cos(yaw), -np.sin(yaw), np.sin(yaw), np.cos(yaw)], axis=-1).reshape(-1, 2, 2)
    known = np.isfinite(local).all(2) & np.isfinite(axes).all((1, 2))
    judged = np.flatnonzero(known.sum(1) >= STANDS_TIMES)
    if len(judged) < JUDGED_MIN or not _extent_m(view.ego_m[times]) >= WALKS_M:
        return
    local, known, ego_m = local[judged], known[judged], view.ego_m[times, :2]
    placed, flipped = (np.einsum("tij,ntj->nti", axes, boxes) for boxes in (local, local * (1, -1)))
    bent = np.broadcast_to(axes, (*placed.shape, 2))
    way = np.broadcast_to((ego_m - ego_m[0])[..., None], (*placed.shape, 1))
    turned = np.stack([placed, placed[..., ::-1] * (-1, 1)], axis=-1)
    every, free = np.ones(len(judged), dtype=bool), _without_a_way(view, judged, times)
    # Nor does traffic keep pace with our own brakes.
    paced = free | (_unevenness(view.times_s[times], ego_m, known) > STANDS_TIMES * STANDS_M)
    least = {"m": SHIFT_MIN_M, "share": WAY_OFF, "deg": SWUNG_MIN_DEG, "s": LATE_MIN_S}
    still = _Strays.of(placed + ego_m, known, bent[..., :0]).after(np.zeros(0))
    step_s = float(np.median(np.diff(view.times_s[times])))
    for unit, base, basis, votes, late_s in (
        ("tracks", flipped + ego_m, bent[..., :0], every, 0.0),
        ("m", placed + ego_m, bent, every, 0.0),
        ("share", placed + ego_m, way, free, 0.0),
        ("share", placed + ego_m, way, paced, 0.0),
        ("deg", placed + ego_m, turned, free, 0.0),
        *(("s", *_boxes_later(view, times, local, steps), free, steps * step_s) for steps in LATER),
    ):
        counted = known & np.isfinite(base).all(2) & np.isfinite(basis).all((2, 3))
        enough = counted.sum(1) >= STANDS_TIMES
        strays = _Strays.of(base, counted, basis)
        by = _fitted(_Strays(*(table[votes & enough] for table in strays)))
        other = np.where(enough, strays.after(by), np.inf)
        farther = STANDS_TIMES * np.maximum(np.minimum(still, other), SETTLED_M)
        only_other = int(((other <= STANDS_M) & (still > farther) & votes).sum())
        only_written = int(((still <= STANDS_M) & (other > farther)).sum())
        least_votes = max(JUDGED_MIN, 2 * only_written, AGREE_SHARE * int((votes & (still > STANDS_M)).sum()))
        if only_other < least_votes or (unit == "share" and by[0] < NO_WAY):
            continue
        off, how = _fit_in_words(unit, by, late_s)
        if not least.get(unit, 0.0) <= off <= {"m": SHIFT_MAX_M, "s": LATE_MAX_S}.get(unit, np.inf):
            continue
        message = f"{only_other} tracks stand still only {how}, {only_written} only as they are written"
        remedy = "are boxes and poses of the times, lengths and axes that the format says, x ahead and y to the left?"
        measured, limit = (round(off, 3), least[unit]) if unit in least else (only_other, 2.0 * only_written)
        yield from _of_all(view, "static_things_drift", message, remedy, measured, limit, unit, ego=votes is not every)
        return


def _fit_in_words(unit: str, by: FloatArray, late_s: float) -> tuple[float, str]:
    """How much a fit of `_drifts` moves, in its unit, and in words."""
    if unit == "tracks":
        return 0.0, "with left and right swapped"
    if unit == "m":
        return float(np.hypot(*by)), f"shifted by {by[0]:.1f} m ahead and {by[1]:.1f} m to the left"
    if unit == "share":
        return abs(float(by[0])), f"if our way is {1 + by[0]:.2f} times as long"
    if unit == "s":
        return abs(late_s + float(by[0])), f"with our poses of {late_s + by[0]:.2f} s later"
    off_deg = float(np.degrees(np.arctan2(by[1], 1 + by[0])))
    return abs(off_deg), f"if we head {off_deg:.1f} degrees more to the left"


def _boxes_later(view: DriveView, times: IntArray, local_m: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
    """Boxes (N, T, 2) over ground as they lie about our car so many times later, and how a second more moves them."""
    at = np.clip(np.arange(len(times)) + steps, 0, len(times) - 1)
    outside = at != np.arange(len(times)) + steps
    now = times[at]
    about_us = turned_about_z(local_m, view.ego_yaw_deg[now])
    place = np.where(outside[:, None], np.nan, about_us + view.ego_m[now, :2])
    swung = np.radians(view.ego_turn_dps[now])[:, None] * about_us[..., ::-1] * (-1, 1)
    return place, (view.ego_velocity_mps[now, :2] + swung)[..., None]


def _extent_m(place_m: FloatArray) -> float:
    """How far a track (T, 3) reaches over ground, from corner to corner."""
    known = place_m[np.isfinite(place_m).all(1), :2]
    return float(np.hypot(*np.ptp(known, axis=0))) if len(known) else 0.0


def _without_a_way(view: DriveView, rows: IntArray, times: IntArray) -> BoolArray:
    """Which of some actors (N,) do not move where their front is: who does may drive, and tells nothing of our way."""
    fronts = np.isin(view.categories[rows].astype(str), sorted(VEHICLES | RIDERS | PEOPLE))
    off = (_off_path_deg(view.place_m[row, times], view.yaw_deg[row, times]) for row in rows[fronts].tolist())
    fronts[fronts] = [angle is not None and angle <= SIDEWAYS_MAX_DEG for angle in off]
    return ~fronts


def _unevenness(times_s: FloatArray, ego_m: FloatArray, known: BoolArray) -> FloatArray:
    """How far (N,) our way (T, 2) is from even movement at moments (N, T): root mean square, metres."""
    weight = known / np.maximum(known.sum(1, keepdims=True), 1)
    ego_m = np.where(np.asarray(known.any(0))[:, None], ego_m, 0.0)
    since, off = times_s - (weight @ times_s)[:, None], ego_m - (weight @ ego_m)[:, None]
    slope = np.einsum("nt,nt,nti->ni", weight, since, off) / np.maximum((weight * since**2).sum(1), 1e-9)[:, None]
    return np.asarray(np.sqrt(np.einsum("nt,nti->n", weight, (off - since[..., None] * slope[:, None]) ** 2)))


def _against_the_road(view: DriveView) -> Iterator[Finding]:
    """Traffic beside the roads of the map, against their lanes, or on the side where nobody comes in such a town.

    A log that is mirrored, turned or moved as a whole agrees with itself, but with no map. Of vehicles near us and of
    our own car the moments at which they move count; on which side others come, each of them tells once.
    """
    if not view.ego_moves:
        return
    times = _first_of_each(view.times_s, MOVES_EVERY_S)
    rows = np.flatnonzero(np.isin(view.categories.astype(str), sorted(VEHICLES)))
    left_m = view.relative_m[rows][:, times, 1]
    with np.errstate(invalid="ignore"):
        ours = view.ego_speed_mps[times] > MOVING_MPS
        moves = (view.speed_mps[rows][:, times] > MOVING_MPS) & (view.distance_m[rows][:, times] < NEAR_US_M)
        comes = (
            moves & ours & (np.abs(view.heading_deg[rows][:, times]) > 180 - COMES_DEG) & (np.abs(left_m) < ACROSS_M)
        )
    town = (view.facts.map_name or "").lower()
    on_left, on_right = "singapore" in town, town in KEEP_RIGHT or town.startswith(("boston", "palo"))
    sides = [float(np.median(left_m[row, came])) for row, came in enumerate(comes) if came.any()]
    other_side = [side > 0 if on_left else side < 0 for side in sides] if on_left or on_right else []
    place = np.concatenate([view.place_m[rows][:, times][moves], view.ego_m[times][ours]])[:, :2]
    yaw = np.concatenate([view.yaw_deg[rows][:, times][moves], view.ego_yaw_deg[times][ours]])
    road = [shapely.Polygon([(x, y) for x, y, _ in outline]) for outline in view.facts.drivable] or view.lane_polygons
    beside = ~shapely.contains_xy(shapely.union_all(road), *place.T) if road else np.zeros(0, dtype=bool)
    held = [(at, lanes[0]) for at, lanes in enumerate(view.lanes_at(place)) if len(lanes) == 1]
    against = [abs((yaw[at] - _lane_direction_deg(view.facts.lanes[lane]) + 180) % 360 - 180) > 90 for at, lane in held]
    for what, wrong, least in (
        ("moments of movement of others, {} are beside the roads of the map", beside[: moves.sum()], MOMENTS_MIN),
        ("moments of our own movement, {} are beside the roads of the map", beside[moves.sum() :], MOMENTS_MIN),
        ("moments of movement in lanes, {} are against them", against, MOMENTS_MIN),
        ("vehicles that come towards us, {} come on the other side than they do there", other_side, JUDGED_MIN),
    ):
        if len(wrong) >= least and (share := float(np.mean(wrong))) > AGAINST_SHARE:
            message = f"of {len(wrong)} {what.format(int(np.sum(wrong)))}"
            remedy = "are places and turns those of the map's frame, with y to the left of x?"
            yield from _of_all(
                view, "against_the_road", message, remedy, round(share, 3), AGAINST_SHARE, "share", ego=True
            )
            return


def _lane_direction_deg(lane: Lane) -> float:
    """Direction of a lane from its start to its end, degrees."""
    (x, y, _), (to_x, to_y, _) = lane.centre[0], lane.centre[-1]
    return float(np.degrees(np.arctan2(to_y - y, to_x - x)))


def _of_all(
    view: DriveView, name: str, message: str, remedy: str, value: float, limit: float, unit: str, *, ego: bool = False
) -> Iterator[Finding]:
    """A doubt about every track, and about ours where it is in question too."""
    for subject in sorted({*view.ids.tolist(), *([EGO] if ego else [])}):
        yield doubt(name, subject, message, remedy, value, limit, unit)


class _Strays(NamedTuple):
    """How far tracks stray from their middles over ground, squared: a quadratic of k numbers that move them.

    Attributes:
        constant, linear, square: (N,), (N, k), (N, k, k).
    """

    constant: FloatArray
    linear: FloatArray
    square: FloatArray

    @classmethod
    def of(cls, place_m: FloatArray, known: BoolArray, basis: FloatArray) -> _Strays:
        """Of places (N, T, 2) at the moments (N, T) that count, which move by a basis (N, T, 2, k)."""
        weight = known / np.maximum(known.sum(1, keepdims=True), 1)
        off, moved = (np.where(known.reshape(*known.shape, *[1] * (a.ndim - 2)), a, 0.0) for a in (place_m, basis))
        off = np.nan_to_num(off - np.einsum("nt,nti->ni", weight, off)[:, None])
        moved = np.nan_to_num(moved)
        moved = moved - np.einsum("nt,ntij->nij", weight, moved)[:, None]
        linear, square = (np.einsum("nt,ntij,ntik->njk", weight, moved, by) for by in (off[..., None], moved))
        return cls(np.einsum("nt,nti,nti->n", weight, off, off), linear[..., 0], square)

    def after(self, by: FloatArray) -> FloatArray:
        """Roots of the mean squares (N,), metres, where all are moved by (k,)."""
        squared = self.constant + 2 * self.linear @ by + self.square @ by @ by
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _fitted(strays: _Strays) -> FloatArray:
    """By what (k,) all must be moved so that most stand still: least absolute distances; zeros where none tells."""
    by = np.zeros(strays.linear.shape[1])
    if not by.size or not len(strays.constant) or np.linalg.eigvalsh(strays.square.sum(0))[0] < 1e-6:
        return by
    for _ in range(FITS):
        weight = 1.0 / np.maximum(strays.after(by), SETTLED_M)
        by = np.linalg.solve((strays.square * weight[:, None, None]).sum(0), -weight @ strays.linear)
    return by


def _with_ego(facts: Drive) -> dict[str, Actor | Ego]:
    """All actors by name, and our own car where the log has it."""
    named: dict[str, Actor | Ego] = {actor.id: actor for actor in facts.actors}
    return named | ({EGO: facts.ego} if facts.ego else {})


def _velocities(view: DriveView) -> Iterator[Finding]:
    """Tracks whose stated velocity is not that of their places, axis by axis; where most are, all of the log."""
    steps, stated_parts = [], []
    for actor in _with_ego(view.facts).values():
        track = actor.track
        if track.velocity_mps is None or len(track) < JUDGED_MIN:
            continue
        place, velocity = track.place_m.array[:, :2], track.velocity_mps.array[:, :2]
        lasted = np.diff(view.times_s[track.first : track.stop])[:, None]
        steps.append(np.diff(place, axis=0) / lasted)
        stated_parts.append((velocity[1:] + velocity[:-1]) / 2)
    if not steps:
        return
    gone, stated = np.concatenate(steps), np.concatenate(stated_parts)
    known = np.isfinite(gone).all(1) & np.isfinite(stated).all(1) & (np.hypot(*stated.T) > MOVING_MPS)
    if (np.hypot(*gone[known].T) < SPEED_MAX_MPS).mean() > WRONG_SHARE:
        known &= np.hypot(*gone.T) < SPEED_MAX_MPS  # jumps, of which `_jumps` tells
    if known.sum() < STANDS_TIMES * JUDGED_MIN:
        return
    gone, stated = gone[known], stated[known]
    for axis, name in enumerate("xy"):
        if np.sqrt((stated[:, axis] ** 2).mean()) < MOVING_MPS / 2:
            continue
        ratio = float((gone[:, axis] * stated[:, axis]).sum() / (stated[:, axis] ** 2).sum())
        if not WRONG_SHARE <= ratio <= 1 / WRONG_SHARE:
            message = f"along {name} the places change by {ratio:.2f} times the stated velocities"
            remedy = "are places and velocities of one frame, unit and sense of axes?"
            yield from _of_all(
                view, "velocity_against_track", message, remedy, round(ratio, 3), WRONG_SHARE, "ratio", ego=True
            )
            return


def _steering(view: DriveView) -> Iterator[Finding]:
    """A car that turns to the other side than its wheel: the log is mirrored."""
    alike = weight = 0.0
    for actor in _with_ego(view.facts).values():
        if actor.controls is None or len(actor.track) < JUDGED_MIN:
            continue
        track, lasted = actor.track, np.diff(view.times_s[actor.track.first : actor.track.stop])
        turn = np.diff(track.yaw_deg.array[:, 0])
        turn = (turn + 180) % 360 - 180
        step = np.hypot(*np.diff(track.place_m.array[:, :2], axis=0).T)
        wheel = (actor.controls.steering.array[1:, 0] + actor.controls.steering.array[:-1, 0]) / 2
        ahead = actor.controls.gear.array[1:, 0] >= 0
        known = np.isfinite(turn) & np.isfinite(step) & np.isfinite(wheel) & ahead & (step > MOVING_MPS * lasted)
        alike += float((np.sign(wheel) * turn)[known].sum())
        weight += float(np.abs(turn * np.sign(wheel))[known].sum())
    if weight >= STEERED_DEG and alike < -WRONG_SHARE * weight:
        message = f"of {weight:.0f} degrees of turning under steering, {(weight - alike) / 2:.0f} are against the wheel"
        remedy = "are y and turns to the left, and steering in the sense of the format?"
        share = round((weight - alike) / 2 / weight, 3)
        limit = (1 + WRONG_SHARE) / 2
        yield from _of_all(view, "turns_against_steering", message, remedy, share, limit, "share", ego=True)


def _off_middle(scene: DriveScene) -> Iterator[Finding]:
    """Boxes that do not hold the point that their track follows, seen from above: they are another thing's."""
    for name, actor in _with_ego(scene.facts).items():
        if (box := actor.box) is None:
            continue
        off = max(abs(box.middle_m[k]) - box.size_m[k] / 2 for k in (0, 1))
        if off > BESIDE_M:
            message = f"the box of {name} lies {off:.2f} m beside the point that its track follows"
            yield doubt("box_beside_its_point", name, message, "record it again", round(off, 3), BESIDE_M, "m")


def _sideways(view: DriveView) -> Iterator[Finding]:
    """Vehicles that do not move where they head; where most of a log do not, everything in it."""
    if view.facts.frame != "world":
        return
    times = _first_of_each(view.times_s, MOVES_EVERY_S)
    rows = np.flatnonzero(np.isin(view.categories.astype(str), sorted(VEHICLES | RIDERS)))
    tracks = {str(view.ids[row]): (view.place_m[row, times], view.yaw_deg[row, times]) for row in rows.tolist()}
    if view.ego_moves:
        tracks[EGO] = (view.ego_m[times], view.ego_yaw_deg[times])
    off = {name: angle for name, track in tracks.items() if (angle := _off_path_deg(*track)) is not None}
    # Others may back up for a while; what drove backwards for a whole log is not our car.
    most = {EGO: 180.0}
    wrong = {n: a for n, a in off.items() if SIDEWAYS_MAX_DEG < a <= most.get(n, 180 - SIDEWAYS_MAX_DEG)}
    mirrored = {n: _off_path_deg(tracks[n][0], 2 * view.ego_yaw_deg[times] - tracks[n][1]) for n in {*wrong} - {EGO}}
    instead = sum(angle is not None and angle <= SIDEWAYS_MAX_DEG for angle in mirrored.values())
    backwards = {name for name, angle in off.items() if angle > SIDEWAYS_MAX_DEG}
    everything = len(off) >= JUDGED_MIN and len(backwards) > WRONG_SHARE * len(off)
    if not everything and instead >= JUDGED_MIN and instead > WRONG_SHARE * len(wrong):
        message = f"{instead} of {len(wrong)} that move sideways would not if turns about us were the other way round"
        remedy = "are turns counted in the sense of the format, to the left?"
        yield from _of_all(view, "moves_sideways", message, remedy, instead, JUDGED_MIN - 1, "tracks")
        return
    if everything:
        message = f"{len(backwards)} of {len(off)} that move do not move where they head"
        share, remedy = round(len(backwards) / len(off), 3), "are turns read in the order and direction of the format?"
        yield from _of_all(view, "moves_sideways", message, remedy, share, WRONG_SHARE, "share of tracks", ego=True)
        return
    for name in sorted(wrong):
        message = f"{name} moves at {wrong[name]:.0f} degrees to where it heads"
        remedy = "annotate it again"
        yield doubt("moves_sideways", name, message, remedy, round(wrong[name], 1), SIDEWAYS_MAX_DEG, "deg")


def _off_path_deg(place_m: FloatArray, yaw: FloatArray) -> float | None:
    """Angle between heading and path of a track (T, 3), (T,), weighed by length; None where it hardly moves.

    No step counts for more than the middle one, so that a jump tells nothing.
    """
    known = np.isfinite(place_m[:, :2]).all(1) & np.isfinite(yaw)
    step, turn = np.diff(place_m[known, :2], axis=0), np.radians(yaw[known])
    far = np.hypot(step[:, 0], step[:, 1])
    moves = far >= STEP_M
    if far[moves].sum() < MOVES_M:
        return None
    ahead = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    middle = (ahead[:-1] + ahead[1:])[moves]
    step = step[moves] * np.minimum(1.0, np.median(far[moves]) / far[moves])[:, None]
    along = (step * middle).sum(1)
    across = np.abs(step[:, 0] * middle[:, 1] - step[:, 1] * middle[:, 0])
    return float(np.degrees(np.arctan2(across.sum(), along.sum())))


def _sizes(view: DriveView) -> Iterator[Finding]:
    """Cars that are no size of a car, in the middle: another unit, or width and length in the other order."""
    cars = np.flatnonzero(np.isin(view.categories.astype(str), sorted(CARS)) & np.isfinite(view.size_m).all(1))
    if len(cars) < JUDGED_MIN:
        return
    length, width = np.median(view.size_m[cars, :2], axis=0).tolist()
    if CAR_M[0] <= length <= CAR_M[1] and width < length:
        return
    message = f"the middle one of {len(cars)} cars is {length:.2f} m long and {width:.2f} m wide"
    remedy = "are sides read in the order of the format, in metres?"
    yield from _of_all(view, "no_size_of_a_car", message, remedy, round(length, 3), CAR_M[length > CAR_M[0]], "m")


def _heights(view: DriveView) -> Iterator[Finding]:
    """Things that stand neither on our ground nor near it, in the middle: boxes in another frame than our car."""
    above = view.place_m[..., 2] - view.size_m[:, None, 2] / 2 - view.ego_m[:, 2]
    known = above[np.isfinite(above)]
    middle = float(np.median(known)) if len(known) else 0.0
    if abs(middle) > OFF_GROUND_M:
        message = f"things stand {middle:.1f} m above the point that our track follows, in the middle"
        remedy = "are boxes and poses of our car of one frame, with z up?"
        yield from _of_all(view, "off_the_ground", message, remedy, round(abs(middle), 3), OFF_GROUND_M, "m")
    with np.errstate(invalid="ignore"):
        nearest = np.where(view.present, view.distance_m, np.inf).min(0, initial=np.inf)
    seen = nearest[np.isfinite(nearest)]
    if len(seen) and (away := float(np.median(seen))) > FAR_M:
        message = f"half of the time the nearest thing is {away:.0f} m or more away"
        remedy = "are boxes and poses of our car of one frame, in metres?"
        yield from _of_all(view, "off_the_ground", message, remedy, round(away, 3), FAR_M, "m")


def _paces(view: DriveView) -> Iterator[Finding]:
    """People, vehicles and our own car that are slower or faster than such are: times or lengths of another unit."""
    if view.facts.frame != "world":
        return
    window_s = max(SPEED_WINDOW_S, 2 * float(np.median(np.diff(view.times_s)))) if len(view.times_s) > 1 else 0.0
    velocity = rate(view.times_s, view.place_m[..., :2], window_s)
    moved = np.hypot(*(_last(view.place_m) - _last(view.place_m[:, ::-1]))[:, :2].T)
    fast = _quantile(np.hypot(velocity[..., 0], velocity[..., 1]), WALKS_AT)
    kinds = view.categories.astype(str)
    ours = np.isfinite(view.ego_m).all(1)
    change = rate(view.times_s, view.ego_velocity_mps[:, :2], SPEED_WINDOW_S)
    if (beyond(view.times_s[ours], view.ego_m[ours]) > JUMP_M).any():
        change = np.full_like(change, np.nan)  # of jumps, `_jumps` tells
    for who, paces, at, low, high, unit in (
        ("people who walk", fast[np.isin(kinds, sorted(PEOPLE)) & (moved >= WALKS_M)], 0.5, *WALKS_MPS, "m/s"),
        ("vehicles", fast[np.isin(kinds, sorted(VEHICLES)) & (moved >= MOVES_M)], 0.5, *DRIVES_MPS, "m/s"),
        ("our car", view.ego_speed_mps, 0.5, 0.0, DRIVES_MPS[1], "m/s"),
        ("our change of velocity", np.hypot(*change.T), GRIPS_AT, 0.0, GRIP_MPS2, "m/s²"),
    ):
        known = paces[np.isfinite(paces)]
        if len(known) >= JUDGED_MIN and not low <= (pace := float(np.quantile(known, at))) <= high:
            message = f"{who}: {pace:.2g} {unit}, {'in the middle' if at == 0.5 else 'at a tenth of the times or more'}"
            remedy = "are times in the unit of the format, and places in metres?"
            limit = low if pace < low else high
            yield from _of_all(view, "other_pace", message, remedy, round(pace, 3), limit, unit, ego=True)
            return


def _last(place_m: FloatArray) -> FloatArray:
    """The last known place (A, 3) of tracks (A, T, 3)."""
    known = np.isfinite(place_m[..., 0])
    at = place_m.shape[1] - 1 - known[:, ::-1].argmax(1)
    return np.asarray(place_m[np.arange(len(place_m)), at])


def _quantile(values: FloatArray, share: float) -> FloatArray:
    """The value of each row (A, T) below which such a share of its known ones lies; NaN where none is known."""
    order = np.sort(values, axis=1)  # NaN come last
    count = np.isfinite(values).sum(1)
    at = np.maximum(np.ceil(share * count).astype(np.intp) - 1, 0)
    return np.asarray(order[np.arange(len(order)), at])


def _jumps(view: DriveView) -> Iterator[Finding]:
    tracks = [(EGO, view.ego_m)] if view.ego_moves else []
    for name, place_m in [*tracks, *zip(view.ids.tolist(), view.place_m, strict=True)]:
        known = np.flatnonzero(~np.isnan(place_m).any(1))
        beyond_m = beyond(view.times_s[known], place_m[known])
        at = np.flatnonzero(beyond_m > JUMP_M)
        if len(at):
            most = float(beyond_m.max())
            message = f"{name} jumps {len(at)} times, by {most:.1f} m more than its speed explains at most"
            times = [(float(view.times_s[known[i]]), float(view.times_s[known[i + 1]])) for i in at.tolist()]
            found = doubt("track_jumps", name, message, "is this one track?", round(most, 3), JUMP_M, "m")
            yield found.model_copy(update={"stretches": tuple(times)})


def beyond(times_s: FloatArray, place_m: FloatArray) -> FloatArray:
    """By how much each step (N - 1,) of a track (N, 3) is longer than the speed of the steps about it explains.

    Of a step that takes longer than a second, by how much it is longer than anything that drives goes meanwhile.
    """
    if len(times_s) < 2:
        return np.zeros(0)
    lasted = np.diff(times_s)
    gone = np.sqrt((np.diff(place_m, axis=0) ** 2).sum(1))
    around = SPEED_STEPS // 2
    padded = np.concatenate([np.full(around, np.nan), gone / lasted, np.full(around, np.nan)])
    usual = np.nanmedian(np.lib.stride_tricks.sliding_window_view(padded, SPEED_STEPS), axis=1)
    usual = np.where(lasted > GAP_MAX_S, SPEED_MAX_MPS, np.minimum(usual, SPEED_MAX_MPS))
    return np.asarray(gone - usual * lasted)


def _overlaps(view: DriveView) -> Iterator[Finding]:
    """Vehicles that stand in one another, and what stands where our own car is."""
    rows = np.flatnonzero(np.isin(view.categories.astype(str), sorted(VEHICLES)))
    times = _first_of_each(view.times_s, OVERLAP_S)
    if not len(rows):
        return
    inside = {row: np.zeros(len(times), dtype=bool) for row in rows.tolist()}
    others: dict[int, int] = {}
    for part in chunks(len(times), len(rows) ** 2, _PAIRS):
        at, first, second = _in_boxes(view, rows, times[part])
        for time, a, b in zip(at.tolist(), rows[first].tolist(), rows[second].tolist(), strict=True):
            inside[a][part.start + time] = inside[b][part.start + time] = True
            others[a], others[b] = b, a
    ours = _in_ego_box(view, rows, times)
    for index, row in enumerate(rows.tolist()):
        name = str(view.ids[row])
        seen, same = int(view.present[row, times].sum()), int(ours[index].sum())
        if same >= OVERLAPS_MIN and same >= SAME_SHARE * seen:
            message = f"{name} is where our own car is, at {same} of {seen} times"
            remedy = "take our own car out of the tracks"
            yield doubt("second_ego", name, message, remedy, round(same / seen, 3), SAME_SHARE, "share of times")
            continue
        both = inside[row] | ours[index]
        if both.sum() >= OVERLAPS_MIN:
            other = str(view.ids[others[row]]) if inside[row].any() else "our own car"
            yield _overlap(view, row, other, both, times)


def _doubles(view: DriveView) -> Iterator[Finding]:
    """Things of one kind, other than vehicles, that stand at one point: one thing with two tracks."""
    times = _first_of_each(view.times_s, OVERLAP_S)
    for category in sorted(set(view.categories.tolist()) - VEHICLES):
        rows = np.flatnonzero(view.categories == category)
        place = view.place_m[rows][:, times]
        for n, row in enumerate(rows.tolist()):
            away = np.sqrt(((place - place[n]) ** 2).sum(2))
            away[n] = np.nan
            both = (away <= DOUBLE_M).any(0)
            if both.sum() >= OVERLAPS_MIN:
                other = str(view.ids[rows[int((away <= DOUBLE_M).sum(1).argmax())]])
                yield _overlap(view, row, other, both, times)


def _overlap(view: DriveView, row: int, other: str, both: BoolArray, times: IntArray) -> Finding:
    name, count, seen = str(view.ids[row]), int(both.sum()), int(view.present[row, times].sum())
    message = f"{name} and {other} are in one another at {count} of {seen} times"
    found = doubt("boxes_overlap", name, message, "annotate them again", count, OVERLAPS_MIN - 1, "times")
    return found.model_copy(update={"stretches": _stretches(view.times_s[times], both)})


def _in_boxes(view: DriveView, rows: IntArray, times: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Where the middle of a vehicle is in the box of another: which time, which one, in which other, (k,) each.

    All are places among ``times`` and ``rows``.
    """
    place, size = view.place_m[rows][:, times].swapaxes(0, 1), view.size_m[rows]
    reach = np.hypot(size[:, 0], size[:, 1]) / 2
    x, y = place[..., 0], place[..., 1]
    near = (x[:, :, None] - x[:, None]) ** 2 + (y[:, :, None] - y[:, None]) ** 2 <= reach**2
    near[:, np.arange(len(rows)), np.arange(len(rows))] = False
    at, inner, outer = np.nonzero(near)
    boxes = Rectangles(place[at, outer, :2], size[outer, :2] / 2, view.yaw_deg[rows][:, times][outer, at])
    inside = (np.abs(boxes.local(place[at, inner, None, :2])[:, 0]) <= boxes.half).all(-1)
    level = np.abs(place[at, inner, 2] - place[at, outer, 2]) <= (size[inner, 2] + size[outer, 2]) / 2
    found = inside & level
    return at[found], inner[found], outer[found]


def _in_ego_box(view: DriveView, rows: IntArray, times: IntArray) -> BoolArray:
    """At which times the middle of a vehicle is in our own car's box, or at its point; (rows, times)."""
    relative = view.relative_m[rows][:, times][..., :2]
    facts: Drive = view.facts
    if facts.ego is None:
        return np.zeros(relative.shape[:2], dtype=bool)
    if facts.ego.box is None:
        return np.asarray(np.hypot(relative[..., 0], relative[..., 1]) <= SAME_M)
    middle, size = np.array(facts.ego.box.middle_m[:2]), np.array(facts.ego.box.size_m[:2])
    return np.asarray((np.abs(relative - middle) <= size / 2).all(-1))


def _first_of_each(times_s: FloatArray, step_s: float) -> IntArray:
    """The first index in each so many seconds."""
    _, first = np.unique((times_s / step_s + 1e-6).astype(np.int64), return_index=True)
    return np.asarray(first)


def _stretches(times_s: FloatArray, inside: BoolArray) -> tuple[tuple[float, float], ...]:
    """Start and end of each run of times, widened to the times before and after it, at which it was not yet so."""
    last = len(times_s) - 1
    spans = runs(inside).tolist()
    return tuple((float(times_s[max(start - 1, 0)]), float(times_s[min(stop, last)])) for start, stop in spans)
