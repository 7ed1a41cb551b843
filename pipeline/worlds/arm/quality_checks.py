"""Impossible values in an episode of any format: joints, gripper, things and film held against one another.

A reader that takes another unit, axis, frame, time or column than the log was written in gives numbers that are
plausible one by one. A log that states a thing once tells nothing; of a film it is only known when it changes.
"""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, runs
from pipeline.core.findings import doubt
from pipeline.core.schema import Finding
from pipeline.geometry.angles import rate
from pipeline.reading.footage import evenly_spaced
from pipeline.worlds.arm.facts import TIME_STEP_S, Episode, EpisodeScene
from pipeline.worlds.arm.view import CLOSED_MAX, GRIPPER, OPEN_MIN, OPENING, RATE_WINDOW_S, ArmView

LOG: Final = "log"
SPEED_MAX_MPS: Final = 5.0  # ours: twice what the fastest arms reach at the gripper
REACH_OVER: Final = 1.5  # the tip of a tool goes beyond what the maker states for the flange
REACH_MIN: Final = 0.1  # of the reach, to which a gripper at work comes at least: the arm's own base fills as much
REACH_MAX_M: Final = 2.0  # of an arm of unknown reach, its tool included
TURNED_MAX: Final = 4 * np.pi  # of any revolute joint: those of arms stop after a turn or two
BEYOND_MAX: Final = 0.01  # radians or metres: encoders and rounded limits
RATE_OVER: Final = 1.2  # of the stated rates, which are those of commands
ROWS_MAX: Final = 250  # of which each is held against each
CARRIED_OFF_M: Final = 0.03  # between where joints carry the hand and where it is: places of cameras are as good
CARRIED_OFF_RAD: Final = 0.1
LATE_S: Final = 0.2  # by which joints and places of one row may be apart
OFF_SHARE: Final = 0.1  # of the rows, from which on the whole log is read wrongly
MOVES_MPS: Final = 0.05  # of a thing that is moved: boxes of trackers waver less
MOVED_S: Final = 0.3  # of a movement, from which on it counts; and about its beginning
NEAR_M: Final = 0.12  # from the gripper's point to what it moves, or is to reach, that of a tool being farther
UNSIZED_M: Final = 0.1  # half of a thing of unknown size
ASIDE_MAX_DEG: Final = 75.0  # of where the gripper works, from ahead
STEADY: Final = 0.5  # length of the mean of its directions: else it works all around


def examine(scene: EpisodeScene) -> tuple[Finding, ...]:
    """Doubts about gripper, opening and joints that jump or cannot be, and about the log where its parts disagree."""
    view = ArmView(scene)
    checks = (_jumps, _out_of_reach, _limits, _carried, _moves_alone, _works_aside, _reversed)
    return tuple(finding for check in checks for finding in check(view))


def _jumps(view: ArmView) -> Iterator[Finding]:
    """A doubt about the gripper over the stretches in which it jumps."""
    with np.errstate(invalid="ignore"):
        speed = np.sqrt((np.diff(view.gripper_m, axis=0) ** 2).sum(1)) / np.diff(view.times_s)
        at = np.flatnonzero(speed > SPEED_MAX_MPS)
    if len(at):
        fastest = float(speed[at].max())
        message = f"the gripper jumps {len(at)} times, at up to {fastest:.1f} m/s"
        finding = doubt("gripper_jumps", GRIPPER, message, "record it again", fastest, SPEED_MAX_MPS, "m/s")
        stretches = tuple((float(view.times_s[n]), float(view.times_s[n + 1])) for n in at.tolist())
        yield finding.model_copy(update={"stretches": stretches})


def _out_of_reach(view: ArmView) -> Iterator[Finding]:
    """Doubts about a gripper that goes beyond the arm's reach or hardly leaves its foot, and about things out of it."""
    arm = view.facts.arm
    if arm is None:
        return
    away_m = np.sqrt(((view.gripper_m - view.base_m) ** 2).sum(1))
    half_m = np.nan_to_num(np.sqrt((view.size_m**2).sum(1)) / 2, nan=UNSIZED_M)
    off_m = np.sqrt(((view.item_m - view.base_m) ** 2).sum(2)) - half_m[:, None]
    nearest_m = float(np.min(off_m, where=np.isfinite(off_m), initial=np.inf))
    limit_m = 2 * REACH_MAX_M if arm.reach_m is None else REACH_OVER * arm.reach_m
    remedy = "are places in metres, and in the frame of base_m?"
    if arm.reach_m is not None and np.isfinite(away_m).any():
        farthest_m, least_m = float(np.nanmax(away_m)), REACH_MIN * arm.reach_m
        if farthest_m > limit_m:
            message = f"it is {farthest_m:.2f} m from the foot of an arm that reaches {arm.reach_m:g} m"
            found = doubt("beyond_limit", GRIPPER, message, remedy, farthest_m, limit_m, "m")
            yield found.model_copy(update={"stretches": ((0.0, float(view.times_s[-1])),)})
        if farthest_m < least_m:
            message = f"it stays within {farthest_m:.2g} m of the foot of an arm that reaches {arm.reach_m:g} m"
            yield doubt("gripper_off_joints", LOG, message, remedy, farthest_m, least_m, "m")
    if limit_m < nearest_m < np.inf:
        message = f"no thing comes nearer to the foot of the arm than {nearest_m:.3g} m"
        yield doubt("moves_alone", LOG, message, remedy, nearest_m, limit_m, "m")


def _limits(view: ArmView) -> Iterator[Finding]:
    """Doubts about joints beyond their limits, turns and rates."""
    arm = view.facts.arm
    if arm is None:
        return
    rates = np.abs(rate(view.times_s, view.angle, RATE_WINDOW_S))
    for column, joint in enumerate(arm.joints):
        position = view.angle[:, column]
        if np.isnan(position).all():
            continue
        if joint.kind == "revolute" and joint.unit == "rad":
            turned = float(np.nanmax(np.abs(position)))
            if turned > TURNED_MAX:
                message = f"{joint.name} stands at up to {turned:.1f} rad, {turned / (2 * np.pi):.1f} turns"
                yield doubt("beyond_limit", joint.name, message, "is it in degrees?", turned, TURNED_MAX, "rad")
        if joint.low is not None and joint.high is not None:
            over = max(joint.low - float(np.nanmin(position)), float(np.nanmax(position)) - joint.high)
            if over > BEYOND_MAX:
                message = (
                    f"{joint.name} is {over:.3f} {joint.unit} beyond its limits of {joint.low:g} and {joint.high:g}"
                )
                remedy = "are unit and limits those of this robot?"
                yield doubt("beyond_limit", joint.name, message, remedy, over, BEYOND_MAX, joint.unit)
        if joint.rate_max is not None and np.isfinite(rates[:, column]).any():
            fastest, limit = float(np.nanmax(rates[:, column])), RATE_OVER * joint.rate_max
            if fastest > limit:
                message = f"{joint.name} moves by {fastest:.2f} {joint.unit}/s, and can by {joint.rate_max:g}"
                remedy = "are times, unit and rate_max those of this robot?"
                yield doubt("beyond_limit", LOG, message, remedy, fastest, limit, f"{joint.unit}/s")


def _carried(view: ArmView) -> Iterator[Finding]:
    """A doubt where the gripper is elsewhere, or turned otherwise, than joints that hardly moved can have carried it.

    Between any two times it goes no farther than all turns of the joints times the arm's reach, and turns no farther
    than all of them. Of an arm whose foot moves, or of which a joint is not declared, that is not so.
    """
    arm = view.facts.arm
    if arm is None or any(joint.unit is None for joint in arm.joints):
        return
    turns = np.array([joint.unit == "rad" for joint in arm.joints])
    rows = evenly_spaced(len(view.times_s), ROWS_MAX)
    moved = np.abs(view.angle[rows, None] - view.angle[rows])
    turned = moved[..., turns].sum(2)
    reach_m = REACH_MAX_M if arm.reach_m is None else REACH_OVER * arm.reach_m
    axes = view.gripper_turn[rows]
    with np.errstate(invalid="ignore"):
        away_m = np.sqrt(((view.gripper_m[rows, None] - view.gripper_m[rows]) ** 2).sum(2))
        away_rad = 2 * np.arccos(np.minimum(np.abs(axes @ axes.T), 1.0))
    near = np.abs(view.times_s[rows, None] - view.times_s[rows]) <= LATE_S + TIME_STEP_S
    checks = (
        (away_m, reach_m * turned + moved[..., ~turns].sum(2), CARRIED_OFF_M, "m away"),
        (np.degrees(away_rad), np.degrees(turned), np.degrees(CARRIED_OFF_RAD), "degrees turned"),
    )
    for away, most, slack, phrase in checks:
        just_now = np.where(near, np.nan_to_num(away), 0.0).max(1)
        over = np.nan_to_num(away - most - slack - just_now - just_now[:, None], nan=-1.0)
        known = np.isfinite(away).any(1)
        share = float((over.max(1) > 0).sum()) / max(int(known.sum()), 1)
        if share > OFF_SHARE:
            first, other = np.unravel_index(int(over.argmax()), over.shape)
            message = (
                f"at {share:.0%} of the times the gripper is where its joints did not carry it: from "
                f"{view.times_s[rows[first]]:.1f} to {view.times_s[rows[other]]:.1f} s it is {away[first, other]:.3g} "
                f"{phrase}, and they carry it {most[first, other]:.3g} at most"
            )
            remedy = "are joints and places of the same rows, all joints declared, and units those of the columns?"
            yield doubt("gripper_off_joints", LOG, message, remedy, round(share, 3), OFF_SHARE, "share")
            return


def _moving(view: ArmView) -> BoolArray:
    """(I, T): which things are moved when, on their own or along their joint."""
    times_s = view.times_s
    found = np.zeros(view.item_m.shape[:2], dtype=bool)
    for row, item in enumerate(view.facts.items):
        moved = view.item_m[row]
        if item.slide is not None:
            moved = np.column_stack([moved, view.slide[row]])
        speed = np.sqrt((np.nan_to_num(rate(times_s, moved, RATE_WINDOW_S)) ** 2).sum(1))
        found[row] = speed > MOVES_MPS
    return found


def _gaps_m(view: ArmView) -> FloatArray:
    """(I, T): from the gripper's point to each thing's box (its ball, if it is turned), less the way of its joint."""
    half = np.where(np.isfinite(view.size_m), view.size_m / 2, UNSIZED_M)
    boxes = np.array([item.turn_wxyz is None and item.size_m is not None for item in view.facts.items])
    outside = np.sqrt((np.maximum(np.abs(view.offset_m) - half[:, None], 0.0) ** 2).sum(2))
    gaps = np.where(boxes[:, None], outside, view.distance_m - half.max(1)[:, None])
    return np.asarray(gaps - np.abs(np.nan_to_num(view.slide)))


def _moves_alone(view: ArmView) -> Iterator[Finding]:
    """A doubt where what begins to move, or else what was to be reached, is never near the gripper."""
    if not len(view.ids) or not np.isfinite(view.distance_m).any():
        return
    moving, gaps = _moving(view), _gaps_m(view)
    times_s, known = view.times_s, np.isfinite(gaps)
    any_moves: BoolArray = np.asarray(moving.any(0))
    begun = []
    for start, stop in runs(any_moves).tolist():
        if times_s[stop - 1] - times_s[start] < MOVED_S:
            continue
        about = np.abs(times_s - times_s[start]) <= MOVED_S
        own = gaps[moving[:, start]][:, about]
        if np.isfinite(own).any():
            begun.append(float(np.nanmin(own)))
    if begun:
        alone, away_m = sum(gap > NEAR_M for gap in begun), max(begun)
        message = f"{alone} of {len(begun)} movements of things begin while the gripper is {away_m:.2f} m or less away"
        is_off = 2 * alone > len(begun)
    else:
        targets = [row for row in view.targets if known[row].any()]
        if not targets or any_moves.any() or view.facts.success is False:
            return
        away_m = min(float(np.nanmin(gaps[row])) for row in targets)
        message, is_off = (
            f"nothing moves, and the gripper comes to {away_m:.2f} m from what is its target",
            away_m > NEAR_M,
        )
    if is_off:
        remedy = "are places of things and of the gripper of one episode, frame, unit and time?"
        yield doubt("moves_alone", LOG, message, remedy, round(away_m, 3), NEAR_M, "m")


def _works_aside(view: ArmView) -> Iterator[Finding]:
    """A doubt where the gripper works beside or behind the robot: it does not look along x then."""
    off = (view.gripper_m - view.base_m)[:, :2]
    away = np.sqrt((off**2).sum(1))
    with np.errstate(invalid="ignore"):
        ways = off[away > CARRIED_OFF_M] / away[away > CARRIED_OFF_M, None]
    if not len(ways):
        return
    x, y = ways.mean(0).tolist()
    bearing = float(np.degrees(np.arctan2(y, x)))
    if np.hypot(x, y) > STEADY and abs(bearing) > ASIDE_MAX_DEG:
        message = f"the gripper works {bearing:.0f} degrees to the left of x, along which the robot looks"
        remedy = "give places with x ahead of the robot and y to its left"
        yield doubt("works_aside", LOG, message, remedy, round(abs(bearing), 1), ASIDE_MAX_DEG, "deg")


def _reversed(view: ArmView) -> Iterator[Finding]:
    """A doubt about an opening with which things follow an open gripper, which nothing but its grip makes them do."""
    if not np.isfinite(view.opening).any() or not len(view.ids):
        return
    ways = np.nan_to_num(view.gripper_mps)
    ahead = (view.offset_m * ways).sum(2)
    near = _gaps_m(view) <= NEAR_M
    with np.errstate(invalid="ignore"):
        follows = (_moving(view) & near & (ahead < 0) & (view.gripper_speed_mps > MOVES_MPS)).any(0)
    free = ~_moving(view).any(0)
    step_s = float(np.median(np.diff(view.times_s)))
    if follows.sum() * step_s < MOVED_S or not free.any():
        return
    held, else_ = (float(np.nanmedian(view.opening[rows])) for rows in (follows, free))
    if held >= OPEN_MIN and else_ <= CLOSED_MAX:
        message = f"things follow the gripper while its opening is {held:.0%}, and else it is {else_:.0%}"
        yield doubt("opening_reversed", OPENING, message, "exchange open and closed", held, OPEN_MIN, "share")


# The film

PICTURES_HZ: Final = 10.0  # at which the film is looked at
LOOKED_AT_S: Final = 60.0  # of its beginning
GREY_PX: Final = (64, 48)  # pictures are reduced to
CHANGED_AT: Final = 0.99  # of the pixels: an arm far off covers few
LAG_MAX_S: Final = 4.0
SYNCED_S: Final = 0.35  # of the films at hand at most 0.13
OVERLAP_S: Final = 5.0
ALIKE: Final = 0.4  # correlation of two curves of one movement; of the films at hand 0.53 to 0.66
ALIKE_LEAD: Final = 0.25
UNLIKE: Final = 0.1
STILL: Final = 1e-6


def held_against_film(
    facts: Episode, fps: float, frames: int, picture: Callable[[int], npt.NDArray[np.uint8] | None]
) -> Iterator[Finding]:
    """A doubt where the film changes at other times than joints and gripper move.

    Args:
        facts: of the episode.
        fps: of its film.
        frames: of its film.
        picture: of a number, (h, w, 3); None where it cannot be read, so that nothing is known.
    """
    from PIL import Image

    tables = [facts.arm.position.array] if facts.arm else []
    tables += [one.array for one in ((facts.gripper.place_m, facts.gripper.opening) if facts.gripper else ()) if one]
    lasts_s = min(float(facts.times_s[-1]), (frames - 1) / fps, LOOKED_AT_S)
    if not tables or lasts_s < OVERLAP_S:
        return
    ticks = np.arange(0.0, lasts_s, 1 / PICTURES_HZ)
    grey = []
    for number in np.round(ticks * fps).astype(int).tolist():
        shown = picture(number)
        if shown is None:
            return
        grey.append(np.asarray(Image.fromarray(shown).convert("L").resize(GREY_PX, Image.Resampling.BOX), np.float64))
    changed = np.sqrt(np.quantile(np.abs(np.diff(grey, axis=0)).reshape(len(ticks) - 1, -1), CHANGED_AT, axis=1))
    moved = np.sqrt(sum(_steps(facts.times_s, table, ticks) for table in tables))
    if moved.std() < STILL:  # a film of an arm that stands tells nothing
        return
    lags = np.arange(-round(LAG_MAX_S * PICTURES_HZ), round(LAG_MAX_S * PICTURES_HZ) + 1)
    alike = np.array([_lagged_correlation(changed, moved, lag) for lag in lags.tolist()])
    lag_s = lags / PICTURES_HZ
    near = np.abs(lag_s) <= SYNCED_S
    here, best = float(alike[near].max()), int(np.where(near, -1.0, alike).argmax())
    remedy = "are rows and pictures of one episode, from its first on, and at the stated rates?"
    if alike[best] >= ALIKE and alike[best] - here >= ALIKE_LEAD:
        message = (
            f"the film changes as the arm moves {lag_s[best]:.1f} s earlier (correlation {alike[best]:.2f}, at "
            f"their own times {here:.2f})"
        )
        yield doubt("film_at_other_times", LOG, message, remedy, abs(float(lag_s[best])), SYNCED_S, "s")
    elif here < UNLIKE:
        message = f"the film does not change when the arm moves (correlation {here:.2f})"
        yield doubt("film_at_other_times", LOG, message, remedy, round(here, 3), UNLIKE, "correlation")


def _steps(times_s: FloatArray, table: FloatArray, ticks: FloatArray) -> FloatArray:
    """How far all columns of a table (N, k) go from tick to tick, in spreads of the one that goes farthest."""
    rows = np.stack([np.interp(ticks, times_s, column) for column in table.T[np.isfinite(table).all(0)]], axis=-1)
    return np.asarray(np.abs(np.diff(rows, axis=0)).sum(1) / max(float(rows.std(0).max(initial=0.0)), 1e-3))


def _lagged_correlation(changed: FloatArray, moved: FloatArray, lag: int) -> float:
    """Correlation of what changes with what moved so many ticks before; -1 where they hardly overlap, or stand."""
    a, b = changed[max(0, lag) : len(changed) + min(0, lag)], moved[max(0, -lag) : len(moved) + min(0, -lag)]
    if len(a) < OVERLAP_S * PICTURES_HZ or min(a.std(), b.std()) < STILL:
        return -1.0
    return float(np.corrcoef(a, b)[0, 1])
