"""SPA of drives: where things are (LC), how far (DT), which way they head (OR), on what (TP), and how many (CT)."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np
import shapely

from pipeline.benchmarks.embodied4c.case import ExamCase, choose, number, sector, words
from pipeline.benchmarks.embodied4c.drive.refs import (
    KINDS,
    LONG,
    MOTOR_VEHICLE,
    ObjectReference,
    all_sure,
    case,
    cases_about,
    kinds_of,
    mark,
    mark_all,
    name_actor,
    needs_gap,
    needs_outline,
    of_kind,
    plural,
    radii_counted,
    refs,
    seen_rules,
)
from pipeline.benchmarks.embodied4c.drive.view import DriveExam, Lanes
from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.geometry.footprints import Rectangles, gap_m
from pipeline.worlds.drive.facts import PEOPLE, ROAD_USERS, VEHICLES
from pipeline.worlds.drive.view import DOT_M

LANE_SHARE_MIN: Final = 0.8  # of a vehicle in its lane: half of a car, and two pixels of a drawn film


def bearing(view: DriveExam) -> Iterator[ExamCase]:
    """LC: in which eighth around us a thing lies."""
    for one, ref, moment in cases_about(view, "lc_sector", sides=False):
        angle = float(view.off_deg[ref.actor, moment])
        eighth, to_border = sector(angle, 8)
        one.fact("bearing", ref.words, angle, "deg")
        one.require("near_side_border", to_border, ">=", view.rules.side_margin_deg / 2, "deg")
        one.require("too_near_for_a_side", ref.gap_m, ">=", view.rules.distance_min_m, "m")
        mark_all(view, one, ref)
        yield choose(one, eighth)


def lane_of(view: DriveExam) -> Iterator[ExamCase]:
    """LC: whether a vehicle is in our lane, or in the one beside it."""
    lanes = Lanes(view)
    if not lanes.by_id or not view.ego_moves:
        return
    for moment, index in enumerate(view.moments.tolist()):
        own, border_m = lanes.of(view.ego_m[index], float(view.ego_yaw_deg[index]))
        rows: list[set[str]] = []
        if len(own) == 1:
            row = lanes.row(own[0])
            rows = [row, lanes.neighbours(row, "left"), lanes.neighbours(row, "right")]
        for ref in refs(view, moment):
            if ref.kind not in VEHICLES | {MOTOR_VEHICLE}:
                continue
            one = case(view, "lc_lane", moment, (ref.key,), ref, thing=ref.in_words)
            one.require("in_no_lane", len(own), ">=", 1, "lanes")
            one.require("several_lanes", len(own), "<=", 1, "lanes")
            theirs, _ = lanes.of(view.place_m[ref.actor, index], float(view.yaw_deg[ref.actor, index]))
            one.require("several_lanes", len(theirs), "<=", 1, "lanes")
            turn = float(view.heading_deg[ref.actor, index])
            one.fact("heading", ref.words, turn, "deg")
            along = sector(turn, 4)[0] == 0  # who crosses where our lane turns off is in none that one sees as ours
            found = [n for n, row in enumerate(rows) if along and len(theirs) == 1 and theirs[0].id in row]
            one.require("other_lane", len(found), ">=", 1, "lanes")
            one.require("several_lanes", len(found), "<=", 1, "lanes")
            one.require("near_lane_border", border_m, ">=", view.rules.lane_margin_m, "m")
            body = view.footprints(index).corners()[ref.actor]
            if found and np.isfinite(body).all():
                box, lane = shapely.Polygon(body), lanes.surface(lanes.row(theirs[0]))
                share = shapely.area(shapely.intersection(box, lane)) / shapely.area(box)
                one.require("between_lanes", float(share), ">=", LANE_SHARE_MIN, "share")
            mark_all(view, one, ref)
            yield choose(one, found[0]) if found else one


def distance(view: DriveExam) -> Iterator[ExamCase]:
    """DT: from us to the nearest surface of a thing."""
    for one, ref, moment in cases_about(view, "dt_near"):
        one.require("too_near", ref.gap_m, ">=", view.rules.distance_min_m, "m")
        needs_gap(view, one, moment, ref.gap_m, ref)
        mark_all(view, one, ref)
        yield number(one, ref.gap_m, "m")


def distance_between(view: DriveExam) -> Iterator[ExamCase]:
    """DT: between the nearest surfaces of two things."""
    apart = [_gaps(view, moment) for moment in range(len(view.moments))]
    for moment, first, second in _pairs(view):
        fields = {"thing": first.in_words, "other": second.in_words}
        one = case(view, "dt_between", moment, (first.key, second.key), first, second, **fields)
        gap = float(apart[moment][first.actor][second.actor])
        one.require("too_near", gap, ">=", view.rules.distance_min_m, "m")
        needs_gap(view, one, moment, gap, first, second)
        mark_all(view, one, first, second)
        yield number(one, gap, "m")


def _pairs(view: DriveExam) -> Iterator[tuple[int, ObjectReference, ObjectReference]]:
    """Two things of different kinds, by kind; a family is not held against what belongs to it."""
    for moment in range(len(view.moments)):
        found = [ref for ref in refs(view, moment, sides=False) if len(KINDS[ref.kind]) == 1]
        for n, first in enumerate(found):
            yield from ((moment, first, second) for second in found[n + 1 :])


def _gaps(view: DriveExam, moment: int) -> dict[int, FloatArray]:
    """Of each thing that can be spoken of at a moment, the distances (A,) of all to it, over ground."""
    every = view.footprints(int(view.moments[moment]))
    actors = np.unique(np.array([ref.actor for ref in refs(view, moment)], dtype=np.intp))
    own = Rectangles(*(of_all[actors, None] for of_all in every))
    return dict(zip(actors.tolist(), gap_m(own, every), strict=True))


def heading(view: DriveExam) -> Iterator[ExamCase]:
    """OR: the angle between a vehicle's heading and ours."""
    for one, ref, moment in cases_about(view, "or_heading", LONG):
        off = abs(float(view.heading_deg[ref.actor, view.moments[moment]]))
        needs_outline(view, one, ref)
        one.require("angle_too_small", off, ">=", view.rules.turn_min_deg * 4, "deg")
        mark_all(view, one, ref)
        yield number(one, off, "°", 180)


def facing(view: DriveExam) -> Iterator[ExamCase]:
    """OR: whether a vehicle heads as we do, against us, or across, and then to which side."""
    for one, ref, moment in cases_about(view, "or_facing", LONG):
        turn = float(view.heading_deg[ref.actor, view.moments[moment]])
        needs_outline(view, one, ref)
        one.base = abs(turn)
        quarter, to_border = sector(turn, 4)
        one.fact("heading", ref.words, turn, "deg")
        one.require("near_heading_border", to_border, ">=", view.rules.heading_margin_deg, "deg")
        yield choose(one, quarter)


def ground_under(view: DriveExam) -> Iterator[ExamCase]:
    """TP: on what a pedestrian or a vehicle is: a crossing, the roadway, or beside it."""
    if not view.facts.drivable or not view.facts.crossings:
        return
    roads = shapely.unary_union([_polygon(line) for line in view.facts.drivable])
    crossings = shapely.unary_union([_polygon(line.outline) for line in view.facts.crossings])
    for one, ref, moment in cases_about(view, "tp_ground", PEOPLE | VEHICLES | {MOTOR_VEHICLE}):
        index = int(view.moments[moment])
        at = shapely.Point(view.place_m[ref.actor, index, :2])
        # A vehicle that is on two of them is on neither; people stand on a point, but a dot hides a border under it.
        is_dot = view.scene.video is None and bool(view.drawn_marks(index).is_dot[ref.actor])
        at_point = is_dot or ref.kind in PEOPLE
        body = at if at_point else shapely.Polygon(view.footprints(index).corners()[ref.actor])
        margin = min(float(shapely.distance(area.boundary, body)) for area in (roads, crossings))
        least = max(view.rules.lane_margin_m, DOT_M / 2 if is_dot else 0)
        one.require("near_ground_border", margin, ">=", least, "m")
        mark_all(view, one, ref)
        yield choose(one, 0 if crossings.contains(at) else 1 if roads.contains(at) else 2)


def _polygon(line: tuple[tuple[float, float, float], ...]) -> shapely.Polygon:
    return shapely.Polygon([(x, y) for x, y, _ in line]).buffer(0)


def neighbour(view: DriveExam) -> Iterator[ExamCase]:
    """TP: of which kind the road user next to a thing is; not where what lies outside a picture is not known."""
    if view.scope:
        return
    users = np.isin(view.categories.astype(str), sorted(ROAD_USERS))
    apart = [_gaps(view, moment) for moment in range(len(view.moments))]
    for one, ref, moment in cases_about(view, "tp_next"):
        index = int(view.moments[moment])
        gap = np.where(view.there[:, moment] & users, apart[moment][ref.actor], np.inf)
        gap[ref.actor] = np.inf
        if not np.isfinite(gap).any():
            continue
        actor = int(gap.argmin())
        category = str(view.categories[actor])
        second = float(np.where(view.categories != category, gap, np.inf).min())
        name_actor(view, one, f"the road user next to {ref.words}", actor, moment, ROAD_USERS)
        for measure in (all_sure(view, users, moment), *seen_rules(view, actor, moment)):
            one.measured(measure)
        one.require("nothing_beside", float(gap[actor]), "<=", 10.0, "m")
        one.require("own_size_matters", view.near_m[ref.actor, moment] - gap[actor], ">=", 0.5, "m")
        if np.isfinite(second):
            one.require("another_as_near", second - float(gap[actor]), ">=", view.rules.second_gap_m, "m")
        for name, place in (("asked", ref.actor), ("other", actor)):
            mark(view, one, name, view.place_m[place, index])
        near = view.near_m[:, moment] <= view.rules.spoken_m  # other questions name what is there
        yield words(one, category, sorted({category, *view.categories[view.there[:, moment] & users & near].tolist()}))


def count_near(view: DriveExam) -> Iterator[ExamCase]:
    """CT: how many of a kind are within a radius, all around and ahead of us."""
    gap = np.where(view.there, view.near_m, np.inf)
    ahead = np.abs(view.off_deg) < 90
    turn, (long_m, wide_m) = np.radians(view.heading_deg[:, view.moments]), view.size_m[:, :2].T[..., None]
    reach_m = (long_m * np.abs(np.cos(turn)) + wide_m * np.abs(np.sin(turn))) / 2  # along our heading
    border = np.abs(view.relative_m[:, view.moments, 0]) < reach_m  # a long vehicle beside us is on neither side
    border |= np.abs(np.abs(view.off_deg) - 90) < view.rules.side_margin_deg
    for kind in kinds_of(view):
        members = of_kind(view, kind)
        for half in (False,) if view.scope else (False, True):
            counted = members[:, None] & (ahead | (not half))
            radii = radii_counted(view, np.where(counted, gap, np.inf))
            for moment, radius in product(range(len(view.moments)), radii):
                yield from _counted(view, moment, kind, radius, half, members, counted, gap, border)


def _counted(
    view: DriveExam,
    moment: int,
    kind: str,
    radius: int,
    half: bool,
    members: BoolArray,
    counted: BoolArray,
    gap: FloatArray,
    border: BoolArray,
) -> Iterator[ExamCase]:
    """The case of a moment; ``members`` (A,) of the kind, ``counted`` (A, M) of them on that side."""
    near = gap[:, moment] <= radius
    within = counted[:, moment] & near
    count = int(within.sum())
    if count < 1:
        return
    one = case(
        view,
        "ct_ahead" if half else "ct_near",
        moment,
        (kind, str(radius)),
        radius=str(radius),
        things=plural(kind) + view.scope,
    )
    rules = view.rules
    one.measured(all_sure(view, members, moment))
    doubtful = members & (np.abs(gap[:, moment] - radius) < rules.radius_margin_m)
    one.require("near_radius", int(doubtful.sum()), "<=", 0, "things")
    if half:
        one.require("near_side_border", int((members & border[:, moment] & near).sum()), "<=", 0, "things")
    one.require("too_many", count, "<=", rules.count_max, "things")
    points = view.points[within, moment]
    if np.isfinite(points).any():
        one.require("hardly_measured", float(np.nanmin(points)), ">=", 1, "points")
    hidden = view.hidden[within, moment]
    if np.isfinite(hidden).any():
        one.require("hidden_in_picture", float(np.nanmax(hidden)), "<=", rules.hidden_max, "share")
    for n, actor in enumerate(np.flatnonzero(within).tolist()):
        mark(view, one, f"counted {n + 1}", view.place_m[actor, view.moments[moment]])
    yield number(one, float(count), "")
