"""Impossible values in a drive of any format: tracks that jump, overlapping vehicles, a second ego car.

And what only files read in a wrong convention give: turns in another order, the other way round or to another axis,
sides in another order, lengths in another unit, boxes in another frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, chunks
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.geometry.footprints import Rectangles
from pipeline.worlds.drive.facts import CARS, RIDERS, VEHICLES, Actor, Drive, DriveScene, Ego
from pipeline.worlds.drive.view import EGO, DriveView

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
SETTLED_M: Final = 0.05  # what wanders less counts no more in the fit of a shift
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
    _, falls, rises = (0.0, -1.0, 0.0) if camera.ego_from_camera is None else camera.ego_from_camera[2]
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
    """Things that would stand still if they stood elsewhere about us: boxes that are mirrored or shifted.

    What stands must stay where it is while our car turns. Each track votes: it stands as it is written, it stands only
    with left and right swapped, or it stands only when all are shifted alike; on straight roads none has a vote.
    """
    if view.facts.frame != "world" or not view.ego_moves:
        return
    times = _every(view.times_s, MOVES_EVERY_S)
    local, yaw = view.relative_m[:, times, :2], np.radians(view.ego_yaw_deg[times])
    axes = np.stack([np.stack([np.cos(yaw), -np.sin(yaw)], -1), np.stack([np.sin(yaw), np.cos(yaw)], -1)], -2)
    known = np.isfinite(local).all(2) & np.isfinite(axes).all((1, 2))
    judged = known.sum(1) >= STANDS_TIMES
    if judged.sum() < JUDGED_MIN:
        return
    local, known, ego_m = local[judged], known[judged], view.ego_m[times, :2]
    as_written = _Strays.of(local, known, axes, ego_m)
    shift = _shift(as_written)
    written, moved = as_written.after(np.zeros(2)), as_written.after(shift)
    flipped = _Strays.of(local * (1, -1), known, axes, ego_m).after(np.zeros(2))
    far = float(np.hypot(*shift))
    for name, other, measured, limit, unit in (
        ("with left and right swapped", flipped, None, 0, "tracks"),
        (f"{shift[0]:.1f} m farther ahead and {shift[1]:.1f} m to the left", moved, far, SHIFT_MIN_M, "m"),
    ):
        only_other = int(((other <= STANDS_M) & (written > STANDS_TIMES * other)).sum())
        only_written = int(((written <= STANDS_M) & (other > STANDS_TIMES * written)).sum())
        if only_other < JUDGED_MIN or only_other < 2 * only_written or (measured or SHIFT_MIN_M) < SHIFT_MIN_M:
            continue
        message = f"{only_other} tracks stand still only {name}, {only_written} only as they are written"
        remedy = "are boxes given about the point and with the axes that the format says, y to the left?"
        value = round(measured, 3) if measured is not None else only_other
        for subject in sorted(view.ids.tolist()):
            yield doubt("static_things_drift", subject, message, remedy, value, limit or 2 * only_written, unit)
        return


class _Strays(NamedTuple):
    """How far tracks stray from their middles over ground, squared: a quadratic of a shift of all boxes about us.

    Attributes:
        constant, linear, square: (N,), (N, 2), (N, 2, 2), of a shift along our axes, metres.
    """

    constant: FloatArray
    linear: FloatArray
    square: FloatArray

    @classmethod
    def of(cls, local_m: FloatArray, known: BoolArray, axes: FloatArray, ego_m: FloatArray) -> _Strays:
        """Of places about us (N, T, 2) at the moments (N, T) that count, with our axes (T, 2, 2) and places (T, 2)."""
        weight = known / known.sum(1, keepdims=True)
        axes, ego_m = np.nan_to_num(axes), np.nan_to_num(ego_m)
        place = np.einsum("tij,ntj->nti", axes, np.where(known[..., None], local_m, 0.0)) + ego_m
        off = place - np.einsum("nt,nti->ni", weight, place)[:, None]
        turn = axes - np.einsum("nt,tij->nij", weight, axes)[:, None]
        linear, square = (np.einsum("nt,ntij,ntik->njk", weight, turn, by) for by in (off[..., None], turn))
        return cls(np.einsum("nt,nti,nti->n", weight, off, off), linear[..., 0], square)

    def after(self, shift: FloatArray) -> FloatArray:
        """Roots of the mean squares (N,), metres, where all boxes are shifted (2,)."""
        squared = self.constant + 2 * self.linear @ shift + self.square @ shift @ shift
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _shift(strays: _Strays) -> FloatArray:
    """By what (2,), along our axes, all boxes must be shifted so that most stand still: least absolute distances."""
    shift = np.zeros(2)
    if np.linalg.eigvalsh(strays.square.sum(0))[0] < 1e-6:
        return shift
    for _ in range(FITS):
        weight = 1.0 / np.maximum(strays.after(shift), SETTLED_M)
        shift = np.linalg.solve((strays.square * weight[:, None, None]).sum(0), -weight @ strays.linear)
    return shift


def _with_ego(facts: Drive) -> dict[str, Actor | Ego]:
    """All actors by name, and our own car where the log has it."""
    named: dict[str, Actor | Ego] = {actor.id: actor for actor in facts.actors}
    return named | ({EGO: facts.ego} if facts.ego else {})


def _velocities(view: DriveView) -> Iterator[Finding]:
    """Tracks whose stated velocity is not that of their places, axis by axis; where most are, all of the log."""
    steps, said = [], []
    for actor in _with_ego(view.facts).values():
        track = actor.track
        if track.velocity_mps is None or len(track) < JUDGED_MIN:
            continue
        place, velocity = track.place_m.array[:, :2], track.velocity_mps.array[:, :2]
        lasted = np.diff(view.times_s[track.first : track.stop])[:, None]
        steps.append(np.diff(place, axis=0) / lasted)
        said.append((velocity[1:] + velocity[:-1]) / 2)
    if not steps:
        return
    gone, told = np.concatenate(steps), np.concatenate(said)
    known = np.isfinite(gone).all(1) & np.isfinite(told).all(1) & (np.hypot(*told.T) > MOVING_MPS)
    known &= np.hypot(*gone.T) < SPEED_MAX_MPS
    if known.sum() < STANDS_TIMES * JUDGED_MIN:
        return
    gone, told = gone[known], told[known]
    for axis, name in enumerate("xy"):
        if np.sqrt((told[:, axis] ** 2).mean()) < MOVING_MPS / 2:
            continue
        ratio = float((gone[:, axis] * told[:, axis]).sum() / (told[:, axis] ** 2).sum())
        if not WRONG_SHARE <= ratio <= 1 / WRONG_SHARE:
            message = f"along {name} the places change by {ratio:.2f} times the stated velocities"
            remedy = "are places and velocities of one frame, unit and sense of axes?"
            for subject in (*sorted(view.ids.tolist()), EGO):
                yield doubt("velocity_against_track", subject, message, remedy, round(ratio, 3), WRONG_SHARE, "ratio")
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
        for subject in (*sorted(view.ids.tolist()), EGO):
            yield doubt("turns_against_steering", subject, message, remedy, share, (1 + WRONG_SHARE) / 2, "share")


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
    times = _every(view.times_s, MOVES_EVERY_S)
    rows = np.flatnonzero(np.isin(view.categories.astype(str), sorted(VEHICLES | RIDERS)))
    tracks = {str(view.ids[row]): (view.place_m[row, times], view.yaw_deg[row, times]) for row in rows.tolist()}
    if view.ego_moves:
        tracks[EGO] = (view.ego_m[times], view.ego_yaw_deg[times])
    off = {name: angle for name, track in tracks.items() if (angle := _off_path_deg(*track)) is not None}
    # Others may back up for a while; what drove backwards for a whole log is not our car.
    most = {EGO: 180.0}
    wrong = {n: a for n, a in off.items() if SIDEWAYS_MAX_DEG < a <= most.get(n, 180 - SIDEWAYS_MAX_DEG)}
    backwards = {name for name, angle in off.items() if angle > SIDEWAYS_MAX_DEG}
    everything = len(off) >= JUDGED_MIN and len(backwards) > WRONG_SHARE * len(off)
    for name in sorted({*view.ids.tolist(), EGO}) if everything else sorted(wrong):
        if everything:
            message = f"{len(backwards)} of {len(off)} that move do not move where they head"
            share, remedy = len(backwards) / len(off), "are turns read in the order and direction of the format?"
            yield doubt("moves_sideways", name, message, remedy, round(share, 3), WRONG_SHARE, "share of tracks")
        else:
            message = f"{name} moves at {wrong[name]:.0f} degrees to where it heads"
            yield doubt(
                "moves_sideways", name, message, "annotate it again", round(wrong[name], 1), SIDEWAYS_MAX_DEG, "deg"
            )


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
    for name in sorted(view.ids.tolist()):
        remedy = "are sides read in the order of the format, in metres?"
        yield doubt("no_size_of_a_car", name, message, remedy, round(length, 3), CAR_M[length > CAR_M[0]], "m")


def _heights(view: DriveView) -> Iterator[Finding]:
    """Things that stand neither on our ground nor near it, in the middle: boxes in another frame than our car."""
    above = view.place_m[..., 2] - view.size_m[:, None, 2] / 2 - view.ego_m[:, 2]
    known = above[np.isfinite(above)]
    middle = float(np.median(known)) if len(known) else 0.0
    if abs(middle) > OFF_GROUND_M:
        message = f"things stand {middle:.1f} m above the point that our track follows, in the middle"
        for name in sorted(view.ids.tolist()):
            remedy = "are boxes and poses of our car of one frame, with z up?"
            yield doubt("off_the_ground", name, message, remedy, round(abs(middle), 3), OFF_GROUND_M, "m")


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
    times = _every(view.times_s, OVERLAP_S)
    if not len(rows):
        return
    inside = {row: np.zeros(len(times), dtype=bool) for row in rows.tolist()}
    others: dict[int, int] = {}
    for part in chunks(len(times), len(rows) ** 2, _PAIRS):
        at, first, second = _within(view, rows, times[part])
        for time, a, b in zip(at.tolist(), rows[first].tolist(), rows[second].tolist(), strict=True):
            inside[a][part.start + time] = inside[b][part.start + time] = True
            others[a], others[b] = b, a
    ours = _ours(view, rows, times)
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
    times = _every(view.times_s, OVERLAP_S)
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


def _within(view: DriveView, rows: IntArray, times: IntArray) -> tuple[IntArray, IntArray, IntArray]:
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


def _ours(view: DriveView, rows: IntArray, times: IntArray) -> BoolArray:
    """At which times the middle of a vehicle is in our own car's box, or at its point; (rows, times)."""
    relative = view.relative_m[rows][:, times][..., :2]
    facts: Drive = view.facts
    if facts.ego is None:
        return np.zeros(relative.shape[:2], dtype=bool)
    if facts.ego.box is None:
        return np.asarray(np.hypot(relative[..., 0], relative[..., 1]) <= SAME_M)
    middle, size = np.array(facts.ego.box.middle_m[:2]), np.array(facts.ego.box.size_m[:2])
    return np.asarray((np.abs(relative - middle) <= size / 2).all(-1))


def _every(times_s: FloatArray, step_s: float) -> IntArray:
    """The first index in each so many seconds."""
    _, first = np.unique((times_s / step_s + 1e-6).astype(np.int64), return_index=True)
    return np.asarray(first)


def _stretches(times_s: FloatArray, inside: BoolArray) -> tuple[tuple[float, float], ...]:
    """Start and end of each run of times, widened to the times before and after it, at which it was not yet so."""
    edges = np.diff(np.concatenate([[False], inside, [False]]).astype(np.int8))
    starts, stops = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0)
    last = len(times_s) - 1
    return tuple(
        (float(times_s[max(start - 1, 0)]), float(times_s[min(stop, last)]))
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)
    )
