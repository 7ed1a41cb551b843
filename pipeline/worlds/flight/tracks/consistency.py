"""What a log states twice must agree: heights, velocities and positions, headings and courses, whatever its format.

A reader that takes another axis, sense or unit than the log was written in gives numbers that are plausible one by one.
These checks hold each of them against another one of the same log; a log that states a thing once tells nothing.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.formats.logs.log import Log
from pipeline.worlds.flight.tracks.fixes import FASTEST_MPS, SLACK_M, PositionFixes

ENOUGH: Final = 10  # samples, or legs
CLIMBED_M: Final = 5.0  # from which on a height shows its scale: the drift of a barometer or a receiver is below it
ALIKE: Final = 0.9  # correlation from which on two series are of one thing
LESS_ALIKE: Final = 0.25  # than with another axis or sense: noise of the positions makes both less alike
RATIO_MAX: Final = 1.5  # of two measures of one thing; feet are 3.28 of a metre
UNLIKE: Final = 2.5  # ratio of two speeds that no unit of one and no pace of a simulator explains: feet are 3.28
MOVES_MPS: Final = 1.0  # slower, the noise of positions hides which way it goes
SHOWS_MPS: Final = 0.3  # of a velocity along one axis, root mean square: from here on its sense shows
LEG_M: Final = 2.0  # of the path, whose course is held against the heading
TURNED_DEG: Final = 270.0  # by the nose over all legs, from which on a mirrored one shows
WINDOW_S: Final = 1.0  # over which positions and leans are averaged
LEANS_MIN: Final = 0.01  # radians, of leans about their mean: less is noise
EXPLAINED: Final = 0.5  # share of the leans that another sense of axes must explain, and more than as they are
AXES: Final = ("east", "north", "up")
NAMED: Final = "the reader takes another axis, sense or unit than the log has, or one of its columns is wrong"
REMEDY: Final = f"{NAMED}: correct the log, or give it as log.csv or another format"


def height_scale(
    log: Log, fixes: PositionFixes, height_m: FloatArray, others: dict[str, FloatArray]
) -> Iterator[Finding]:
    """A doubt where the height changes as another one does, but by another amount or the other way.

    Args:
        log: whose local positions have altitudes, too.
        fixes: (N,) the samples of the track.
        height_m: (N,) above take-off.
        others: further heights (N,), by name.
    """
    others = {f"the altitude of {name}": other for name, other in others.items()}
    if log.enu_m is not None:
        others["the local position"] = log.enu_m[fixes.index, 2]
    for name, other in others.items():
        known = np.isfinite(height_m) & np.isfinite(other)
        if known.sum() < ENOUGH:
            continue
        pair = np.stack([height_m[known], other[known]])
        if min(float(np.quantile(one, 0.95) - np.quantile(one, 0.05)) for one in pair) < CLIMBED_M:
            continue
        correlation, ratio = float(np.asarray(np.corrcoef(pair))[0, 1]), float(pair[0].std() / pair[1].std())
        if abs(correlation) >= ALIKE and (correlation < 0 or not 1 / RATIO_MAX <= ratio <= RATIO_MAX):
            ratio = float(np.copysign(ratio, correlation))
            message = f"the height changes by {ratio:.2f} times what {name} changes by"
            yield doubt("height_scale", "log", message, REMEDY, round(ratio, 3), RATIO_MAX, "ratio")
            return


def velocity_axes(stated: FloatArray, placed: FloatArray) -> Iterator[Finding]:
    """A doubt where stated velocities (N, 3) go another way than those of the positions (N, 3), axis by axis."""
    known = np.isfinite(stated).all(1) & np.isfinite(placed).all(1)
    stated, placed = stated[known], placed[known]
    if len(stated) < ENOUGH:
        return
    power = np.sqrt((stated**2).mean(0)), np.sqrt((placed**2).mean(0))
    moves = power[0] >= SHOWS_MPS, power[1] >= SHOWS_MPS
    with np.errstate(invalid="ignore", divide="ignore"):
        alike = (placed.T @ stated) / len(stated) / np.outer(power[1], power[0])  # path's axis, stated axis
    climbs = float(power[1][2] / power[0][2]) if all(shows[2] for shows in moves) and alike[2, 2] >= ALIKE else 1.0
    if not 1 / UNLIKE <= climbs <= UNLIKE:  # over ground, `speed_differs` tells
        message = f"the positions climb {climbs:.2f} times as fast as the stated velocity"
        yield doubt("velocity_against_path", "log", message, REMEDY, round(climbs, 3), UNLIKE, "ratio")
        return
    for axis, name in enumerate(AXES):
        own = float(alike[axis, axis])
        others = [(float(alike[axis, k]), k) for k in range(3) if k != axis and moves[0][k] and moves[1][axis]]
        like, other = max(((abs(value), k) for value, k in others), default=(0.0, axis))
        if moves[0][axis] and moves[1][axis] and own <= -ALIKE:
            message = f"the positions go the other way along {name} than the stated velocity (correlation {own:.2f})"
            yield doubt("velocity_against_path", "log", message, REMEDY, round(own, 3), -ALIKE, "correlation")
            return
        if like >= ALIKE and not abs(own) > like - LESS_ALIKE:
            message = (
                f"the positions move along {name} as the stated velocity does along {AXES[other]} (correlation "
                f"{like:.2f}), and less as along {name} ({own:.2f})"
            )
            yield doubt("velocity_against_path", "log", message, REMEDY, round(like, 3), ALIKE, "correlation")
            return


def heading_mirrored(fixes: PositionFixes, heading_deg: FloatArray, step_m: float) -> Iterator[Finding]:
    """A doubt where the course turns as the heading does, but the other way round.

    Who flies sideways or backwards for a while, or all the time, keeps an angle between nose and course; mirrored, they
    keep the sum of both instead. Legs slower than walking, or of a nose that hardly turns, tell neither.
    """
    far = max(LEG_M, 3.0 * step_m)
    ahead, turn = [], []
    for part in np.unique(fixes.part):
        rows = np.flatnonzero(fixes.part == part)
        way_m, t_s = fixes.enu_m[rows, :2], fixes.t_s[rows]
        gone_m = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(way_m, axis=0).T))])
        _, first = np.unique((gone_m / far).astype(np.int64), return_index=True)
        step, took_s = np.diff(way_m[first], axis=0), np.diff(t_s[first])
        moves = np.hypot(*step.T) >= np.maximum(MOVES_MPS * took_s, far / 2)
        nose = np.exp(1j * np.radians(heading_deg[rows][first]))
        ahead.append((step[:, 1] + 1j * step[:, 0])[moves])
        turn.append((nose[1:] + nose[:-1])[moves])
    course, nose = np.concatenate(ahead), np.concatenate(turn)
    known = np.isfinite(nose) & (np.abs(nose) > 1.0)
    course, nose = course[known] / np.abs(course[known]), nose[known] / np.abs(nose[known])
    if len(course) < ENOUGH:
        return
    turned_deg = float(np.degrees(np.abs(np.angle(nose[1:] / nose[:-1])).sum()))
    kept, mirrored = float(np.abs((course / nose).mean())), float(np.abs((course * nose).mean()))
    if turned_deg >= TURNED_DEG and mirrored >= ALIKE and kept <= mirrored - LESS_ALIKE:
        message = (
            f"over {len(course)} legs the course turns the other way than the heading: their sum is steady to "
            f"{mirrored:.2f}, their difference to {kept:.2f} (1: always the same)"
        )
        yield doubt("heading_mirrored", "log", message, REMEDY, round(mirrored, 3), ALIKE, "share")


def too_fast(fixes: PositionFixes) -> Iterator[Finding]:
    """A doubt where the path is longer than any drone flies in the time of the log: its times count something else."""
    moved, wait = np.hypot(*np.diff(fixes.enu_m[:, :2], axis=0).T), np.diff(fixes.t_s)
    within = np.diff(fixes.part) == 0
    lasted_s = float(wait[within].sum())
    length_m = float(moved[within].sum())
    if within.sum() >= ENOUGH and length_m > SLACK_M + FASTEST_MPS * lasted_s:
        speed = length_m / max(lasted_s, 1e-3)
        message = f"the positions move {length_m:.0f} m in {lasted_s:.2f} s"
        remedy = f"do its times count what their header says, as milliseconds? {REMEDY}"
        yield doubt("speed_differs", "log", message, remedy, round(speed, 3), FASTEST_MPS, "m/s")


def below_zero(log: Log, fixes: PositionFixes) -> Iterator[Finding]:
    """A doubt where a drone whose positions count from where it was started is always below that, never above."""
    if log.enu_m is None or log.lat_lon_alt is not None or log.label is not None:
        return
    up_m = log.enu_m[fixes.index, 2]
    middle_m, below = float(np.median(up_m)), float((up_m < 0).mean())
    if middle_m <= -CLIMBED_M and below >= ALIKE:
        message = f"{below:.0%} of the positions lie below the zero of their frame, half of them by {-middle_m:.1f} m"
        remedy = "does z count downwards, as the format says? if the drone flew below its start, give log.csv"
        yield doubt("below_its_zero", "log", message, remedy, round(-middle_m, 3), CLIMBED_M, "m")


def leans_elsewhere(fixes: PositionFixes, quat_wxyz: FloatArray) -> Iterator[Finding]:
    """A doubt where the drone leans as its path asks for with other axes, and not as they are.

    What hangs from its rotors leans to where it speeds up, and against the air to where it flies; wind adds a constant
    lean. How much of the lean (its variance) that explains is compared with what it explains where the path is turned
    over or the attitude is that of the earth in the drone.
    """
    way, lean = [], []
    for part in np.unique(fixes.part):
        rows = np.flatnonzero((fixes.part == part) & np.isfinite(quat_wxyz).all(1))
        if len(rows) < ENOUGH or np.ptp(fixes.t_s[rows]) < ENOUGH * WINDOW_S:
            continue
        t, (w, x, y, z) = fixes.t_s[rows], quat_wxyz[rows].T
        upright = np.maximum(1.0 - 2.0 * (x * x + y * y), 0.3)
        ahead, left = w * y - x * z, -(y * z + w * x)  # of the top, along the nose and across it
        nose = np.exp(1j * np.arctan2(x * y + w * z, 0.5 - y * y - z * z))
        swapped, turned = (left + 1j * ahead) * nose, -(ahead + 1j * left) * nose.conj()
        columns = [x * z + w * y, y * z - w * x, -(y * z + w * x), x * z - w * y, y * z + w * x]
        columns += [swapped.real, swapped.imag, turned.real, turned.imag]
        tilt = np.stack(columns, axis=-1) * 2.0 / upright[:, None]
        ticks = np.arange(t[0] + WINDOW_S, t[-1] - WINDOW_S, WINDOW_S)
        smooth = _means(t, np.column_stack([fixes.enu_m[rows, :2], tilt]), ticks)
        place = smooth[:, :2]
        way.append(np.column_stack([place[2:] - place[:-2], place[2:] - 2 * place[1:-1] + place[:-2]]))
        lean.append(smooth[1:-1, 2:])
    if sum(map(len, way)) < ENOUGH:
        return
    moved, leans = np.concatenate(way), np.concatenate(lean)
    speed, change = moved[:, :2] / 2, moved[:, 2:]
    for known in (leans, _steadied(leans)):  # a brake of a moment outweighs a log; without it, gusts may
        own = known[:, :2]
        as_written = _explained(own, speed, change)
        others = {
            "x and y swapped": _explained(own[:, ::-1], speed, change),
            "east turned round": _explained(own * (-1, 1), speed, change),
            "north turned round": _explained(own * (1, -1), speed, change),
            "conjugate quaternions": max(_explained(known[:, k], speed, change) for k in ((2, 3), (3, 4))),
            "roll and pitch exchanged": max(_explained(k * known[:, (5, 6)], speed, change) for k in (1, -1)),
            "yaw counted the other way round": _explained(known[:, (7, 8)], speed, change),
        }
        best = max(others, key=lambda name: others[name])
        if others[best] - as_written >= EXPLAINED:
            message = (
                f"with {best} the path explains {others[best]:.0%} of how the drone leans; as written {as_written:.0%}"
            )
            limit = round(others[best] - EXPLAINED, 3)
            yield doubt("leans_elsewhere", "log", message, REMEDY, round(as_written, 3), limit, "share")
            return


def _explained(lean: FloatArray, speed: FloatArray, change: FloatArray) -> float:
    """Share of the variance of leans (N, 2) that velocities and accelerations (N, 2) explain, neither negatively."""
    target, *causes = ((values - values.mean(0)).ravel() for values in (lean, speed, change))
    spread = float(target @ target)
    if spread / len(lean) < LEANS_MIN**2 or any(float(cause @ cause) < 1e-6 for cause in causes):
        return 0.0
    both = np.linalg.lstsq(np.stack(causes, axis=-1), target, rcond=None)[0]
    if (both >= 0).all():
        return 1.0 - float(((target - both @ np.stack(causes)) ** 2).sum()) / spread
    alone = (max(float(cause @ target), 0.0) ** 2 / float(cause @ cause) for cause in causes)
    return max(alone) / spread


def _steadied(values: FloatArray) -> FloatArray:
    """Leans (N, k), none longer about their middle than three times the middle length of the first two columns."""
    middle = np.median(values, axis=0)
    length = np.hypot(*(values - middle)[:, :2].T)
    most = 3.0 * float(np.median(length))
    return middle + (values - middle) * np.minimum(1.0, most / np.maximum(length, 1e-9))[:, None]


def _means(t_s: FloatArray, values: FloatArray, ticks_s: FloatArray) -> FloatArray:
    """Means (T, k) of series (N, k) over `WINDOW_S` about each tick (T,), straight lines between samples."""
    areas = np.concatenate(
        [np.zeros((1, values.shape[1])), np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(t_s)[:, None], axis=0)]
    )
    edges = (ticks_s - WINDOW_S / 2, ticks_s + WINDOW_S / 2)
    low, high = (np.stack([np.interp(edge, t_s, column) for column in areas.T], axis=-1) for edge in edges)
    return (high - low) / WINDOW_S
