"""Questions about the things of an episode: what they are (SEM) and how they lie (SPA)."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, pairwise, product
from typing import Final

import numpy as np

from pipeline.benchmarks.embodied4c.arm.view import (
    CM,
    GAP_MIN_CM,
    NEAR_MIN_CM,
    ArmExam,
    beside,
    case,
    in_space,
    name_nearest,
    name_thing,
    named,
    order,
)
from pipeline.benchmarks.embodied4c.case import (
    ANSWERS,
    ExamCase,
    choose,
    is_larger,
    number,
    part_of_log,
    ranked,
    sector,
    words,
)

# Words for a side of the gripper, as the robot looks -> axis and sign of what lies there.
SIDES: Final = {
    "farther ahead than": (0, 1),
    "nearer to the robot than": (0, -1),
    "farther to the left than": (1, 1),
    "farther to the right than": (1, -1),
}


def kind_nearest(view: ArmExam) -> Iterator[ExamCase]:
    """CL: of which kind the thing nearest to the gripper is; the log must know all things."""
    nearest = view.nearest(view.moments)
    every = sorted({str(view.categories[row]) for row in view.offered(nearest)})
    for index, (row, _) in nearest.items():
        one = case(view, "arm_cl", index)
        name_nearest(view, one, row, index)
        others = view.categories != view.categories[row]
        if others.any():
            one.require("another_as_near", view.lead_cm(index, row, others), ">=", GAP_MIN_CM, "cm")
        yield words(one, str(view.categories[row]), every)


def colour(view: ArmExam) -> Iterator[ExamCase]:
    """AT: the colour of the only thing of its kind, or of the nearest thing; other questions name the colours, too."""
    count = Counter(view.categories.tolist())
    colours = [item.attributes.get("colour", "") for item in view.facts.items]
    said = {colours[row] for row, name in view.names.items() if colours[row] in name}  # "" too
    unsaid = {colours[row] for row in view.names} - said  # what names say is seldom the colour of something else, too
    nearest = view.nearest(view.moments)
    every = sorted({colours[row] for row in view.offered(nearest)} - {""})
    for index in view.moments[-1:]:
        for row, item in enumerate(view.facts.items):
            if colours[row]:
                one = case(view, "arm_at", index, (item.id,), thing=f"the {item.category}")
                doubles = count[item.category] - 1
                name_thing(view, one, row, index, doubles=doubles, words=f"the {item.category}")
                if not doubles:
                    one.require("tells_another_answer", float(colours[row] in said), "<=", 0, "names")
                # Options elsewhere tell what is ever nearest, by kind and by colour: here none of that tells one apart.
                alike = {other for other in unsaid if (other in every) == (colours[row] in every)}
                yield words(one, colours[row], sorted({*colours} if doubles else alike))
    for index, (row, gap_cm) in nearest.items():
        if colours[row]:
            one = case(view, "arm_at_near", index)
            name_nearest(view, one, row, index)
            one.require("another_as_near", gap_cm, ">=", GAP_MIN_CM, "cm")
            yield words(one, colours[row], every)


def material(view: ArmExam) -> Iterator[ExamCase]:
    """M/P: what a thing is made of, where people state it; a film alone shows it."""
    known = ANSWERS["arm_mp"]
    for index in view.moments[-1:]:
        for row, name in view.names.items():
            stated = view.facts.items[row].attributes.get("material")
            if stated:
                one = case(view, "arm_mp", index, (name,), row, thing=name)
                yield words(one, stated, known, known.get(stated, ()))


def gripper_state(view: ArmExam) -> Iterator[ExamCase]:
    """ST: whether the gripper is open or closed; and what is, of a drawer or door."""
    for index in view.moments:
        state = view.state_at(index)
        one = case(view, "arm_st", index)
        one.traits = (part_of_log(index, len(view.times_s)),)
        one.require("neither_open_nor_closed", float(state is not None), ">=", 1, "states")
        yield choose(one, state) if state else one
        for row, name in view.names.items():
            share = float(view.slide_share[row, index])
            if not np.isfinite(share):
                continue
            one = case(view, "arm_st_slide", index, (name,), row, thing=name)
            one.fact("opened", name, share, "share")
            one.require("neither_open_nor_closed", abs(share - 0.5), ">=", 0.4, "share")
            yield choose(one, "open" if share > 0.5 else "closed")


def side(view: ArmExam) -> Iterator[ExamCase]:
    """LC: on which side of the gripper a thing is, as the robot looks."""
    for index, row, name, _ in named(view):
        ahead, left = view.flat_m(row, index)
        angle = float(np.degrees(np.arctan2(left, ahead)))
        one = case(view, "arm_lc", index, (name,), row, thing=name)
        one.traits = (str(view.categories[row]), part_of_log(index, len(view.times_s)))
        one.fact("bearing", name, angle, "deg")
        one.require("too_near_for_a_side", float(np.hypot(ahead, left)) * CM, ">=", 2 * NEAR_MIN_CM, "cm")
        quarter, border = sector(angle, 4)
        one.require("near_side_border", border, ">=", view.rules.side_margin_deg, "deg")
        yield choose(one, quarter)


def distance(view: ArmExam) -> Iterator[ExamCase]:
    """DT: from the gripper's point to the middle of a thing, in space."""
    for index, row, name, away in named(view):
        one = case(view, "arm_dt", index, (name,), row, thing=name, point=view.point)
        in_space(view, one, index, row)
        one.require("too_near", away, ">=", NEAR_MIN_CM, "cm")
        yield number(one, away, "cm")


def lies_on(view: ArmExam) -> Iterator[ExamCase]:
    """TP: which thing lies on another; offered are those of which other questions tell as much (`ArmExam.lying`)."""
    for index in view.moments:
        for below, above in zip(*view.on_item(index).T.nonzero(), strict=True):
            if int(below) not in view.names or int(above) not in view.names:
                continue
            name, answer = view.names[int(below)], view.names[int(above)]
            one = case(view, "arm_tp", index, (name,), int(below), int(above), thing=name)
            one.require("several_on_it", int(view.on_item(index)[:, below].sum()), "<=", 1, "things")
            one.require("held", float(view.away_m(int(above), index)) * CM, ">=", 2 * NEAR_MIN_CM, "cm")
            alike = view.lying[int(above)].alike if int(above) in view.lying else ()
            yield words(one, answer, [view.names[row] for row in alike], (answer.removeprefix("the "),))


def count(view: ArmExam) -> Iterator[ExamCase]:
    """CT: how many things of a kind, or of a colour, are on a side of the gripper; only where the log has all.

    How many there are in all, other questions tell, which name them.
    """
    if not view.facts.items_complete:
        return
    colours = np.array([item.attributes.get("colour", "") for item in view.facts.items], dtype=object)
    alike = [
        (kind, {field: label}, own == label)
        for kind, field, own in (("arm_ct", "thing", view.categories), ("arm_ct_colour", "colour", colours))
        for label, n in sorted(Counter(own.tolist()).items())
        if label and n > 1
    ]
    for index in view.moments:
        flat = (view.item_m[:, index, :2] - view.gripper_m[index, :2]) * CM
        for (kind, label, members), (side, (axis, sign)) in product(alike, SIDES.items()):
            one = case(view, kind, index, (*label.values(), side), **label, side=side)
            off = sign * flat[members, axis]
            one.require("near_side_border", float(np.abs(off).min()), ">=", GAP_MIN_CM, "cm")
            one.traits = (*label.values(), side)
            for row in np.flatnonzero(members).tolist():
                name_thing(view, one, row, index)
            yield number(one, float((off > 0).sum()), "", int(members.sum()))


SIZES_APART_PX: Final = 2.0  # in a drawn film, whose edges are drawn to half a pixel


def larger(view: ArmExam) -> Iterator[ExamCase]:
    """R/S: which of two things of one kind is taller, or has the longer longest side: of others anybody knows."""
    sizes = {"taller": view.size_m[:, 2], "larger by its longest side": view.size_m.max(1)} if len(view.ids) else {}
    for (more, size), pair in product(sizes.items(), combinations(view.names, 2)):
        if view.categories[pair[0]] != view.categories[pair[1]]:
            continue
        for index in view.moments[-1:]:
            first, then = order(view, index, pair)
            a, b = (float(size[row]) for row in (first, then))
            if not np.isfinite([a, b]).all():
                continue
            names = view.names[first], view.names[then]
            one = case(view, "arm_rs", index, (*names, more), first, then, thing=names[0], other=names[1], more=more)
            in_space(view, one, index, first, then)
            is_first = is_larger(one, "size", names, (a, b), view.rules.size_ratio_min, "cm", CM)
            if view.scene.video is None:
                one.require("sizes_alike", abs(a - b) / view.pixel_m, ">=", SIZES_APART_PX, "pixels")
            one.compared = names if is_first else names[::-1]
            yield words(one, one.compared[0], names, (one.compared[0].removeprefix("the "),))


def relative(view: ArmExam) -> Iterator[ExamCase]:
    """R/P: whether a thing is to the left or right of another, and nearer to the robot or farther from it."""
    for index in view.moments:
        for pair in combinations(view.names, 2):
            first, then = order(view, index, pair)
            away = (view.item_m[first, index] - view.item_m[then, index])[:2] * CM
            if not np.isfinite(away).all():
                continue
            names = view.names[first], view.names[then]
            one = case(view, "arm_rp", index, names, first, then, thing=names[0], other=names[1])
            beside(view, one, pair)
            one.require("in_one_line", float(np.abs(away).min()), ">=", GAP_MIN_CM, "cm")
            yield choose(one, f"{'left' if away[1] > 0 else 'right'} and {'farther' if away[0] > 0 else 'nearer'}")


def ranking(view: ArmExam) -> Iterator[ExamCase]:
    """R/D: three things by their horizontal distance from the gripper, closest first."""
    for index in view.moments:
        flat = {row: float(np.hypot(*view.flat_m(row, index))) * CM for row in view.names}
        for three in combinations([row for row, cm in flat.items() if np.isfinite(cm)], 3):
            names = [view.names[row] for row in order(view, index, three)]
            closest = sorted(three, key=flat.__getitem__)
            fields = dict(zip(("first", "second", "third"), names, strict=True))
            one = case(view, "arm_rd", index, names, *three, **fields)
            beside(view, one, three)
            for row in three:
                one.fact("distance", view.names[row], flat[row], "cm")
            step = min(flat[b] - flat[a] for a, b in pairwise(closest))
            one.require("distances_alike", step, ">=", GAP_MIN_CM, "cm")
            yield ranked(one, names, [view.names[row] for row in closest])
