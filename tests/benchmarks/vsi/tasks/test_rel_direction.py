from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.core.schema import OrientedBox
from pipeline.geometry.floors import standing_places
from pipeline.worlds.indoor.facts import IndoorScene, Room
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import OFFICIAL_EXACT, Placed, Vec3, cube, make_scene, random_objects, refusal_of, row_of, rows_of

STRICT = PROFILES["strict"]
# The rules about the bearing from the centre, on the limit: a step to the side would change the answer.
FROM_CENTRE = STRICT.model_copy(update={"hold_around": False})
BOTH = pytest.mark.parametrize("rules", [FROM_CENTRE, OFFICIAL_EXACT], ids=["strict", "official"])
TRIPLE = ["door", "sofa", "tv"]  # standing by the door, facing the sofa, asked for the tv


def task(level: str) -> str:
    return f"object_rel_direction_{level}"


def seen_at(bearing: float, turn: float = 90.0) -> IndoorScene:
    """Door at the origin, sofa 1.5 m ahead, tv 3 m away at this bearing; ahead is +y unless turned."""
    tv, ahead = np.radians(bearing + turn), np.radians(turn)
    return make_scene(
        [
            cube("door", 0, 0, side=0.1),
            cube("sofa", 1.5 * np.cos(ahead), 1.5 * np.sin(ahead), side=0.1),
            cube("tv", 3 * np.cos(tv), 3 * np.sin(tv), side=0.1),
        ]
    )


def asked(level: str, scene: IndoorScene, rules: Rules) -> dict[str, Any]:
    return row_of(scene, task(level), TRIPLE, rules)


@BOTH
@pytest.mark.parametrize("turn", [0.0, 90.0, 200.0])
@pytest.mark.parametrize(
    ("level", "bearing", "answer"),
    [
        ("easy", 45, "left"),
        ("easy", 90, "left"),
        ("easy", 270, "right"),
        ("easy", 315, "right"),
        ("medium", 45, "left"),
        ("medium", 120, "left"),
        ("medium", 150, "back"),
        ("medium", 180, "back"),
        ("medium", 210, "back"),
        ("medium", 240, "right"),
        ("medium", 315, "right"),
        ("hard", 45, "front-left"),
        ("hard", 135, "back-left"),
        ("hard", 225, "back-right"),
        ("hard", 315, "front-right"),
    ],
)
def test_counter_clockwise_is_left(level: str, bearing: float, answer: str, turn: float, rules: Rules) -> None:
    row = asked(level, seen_at(bearing, turn=turn), rules)
    assert row["answer"] == answer
    assert (row["evidence"][0]["name"], row["evidence"][0]["subject"]) == ("bearing", "tv")
    assert row["evidence"][0]["value"] == pytest.approx(bearing, abs=1e-6)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_a_mirrored_scene_swaps_left_and_right(level: str) -> None:
    swap = {"left": "right", "front-left": "front-right", "back-left": "back-right", "back": "back"}
    swap |= {right: left for left, right in swap.items()}
    for bearing in (45, 60, 150, 170) if level == "medium" else (30, 45, 60):
        row, mirrored = (asked(level, seen_at(sign * bearing), FROM_CENTRE) for sign in (1, -1))
        assert mirrored["answer"] == swap[row["answer"]]


EDGES = {"easy": (0, 135, 225), "medium": (0, 135, 225), "hard": (0, 90, 180, 270)}


@pytest.mark.parametrize(("level", "edge"), [(level, edge) for level, edges in EDGES.items() for edge in edges])
@pytest.mark.parametrize("side", [1, -1])
def test_strict_wants_10_degrees_on_both_sides_of_every_boundary(level: str, edge: int, side: int) -> None:
    near, clear = (asked(level, seen_at(edge + side * off), FROM_CENTRE) for off in (9.9, 10.1))
    behind = level == "easy" and side == (1 if edge == 135 else -1) and edge != 0
    if behind:
        assert near["reason"] == clear["reason"] == "behind_the_observer"
        return
    assert refusal_of(near) == ("near_sector_boundary", pytest.approx(9.9, abs=1e-6), 10.0, "deg")
    assert refusal_of(clear) is None


@pytest.mark.parametrize("edge", EDGES["hard"])
def test_official_hard_does_not_look_back_at_the_boundary_just_passed(edge: int) -> None:
    above = {0: "front-left", 90: "back-left", 180: "back-right", 270: "front-right"}[edge]
    for off in (9.9, 5.0, 2.0):  # at 2 degrees the whole box is still past the boundary
        row = asked("hard", seen_at(edge + off), OFFICIAL_EXACT)
        assert (row["answer"], row["reason"]) == (above, None)
    below = asked("hard", seen_at(edge - 9.9), OFFICIAL_EXACT)
    assert refusal_of(below) == ("near_sector_boundary", pytest.approx(9.9, abs=1e-6), 10.0, "deg")
    assert refusal_of(asked("hard", seen_at(edge - 10.1), OFFICIAL_EXACT)) is None


@pytest.mark.parametrize("level", ["easy", "medium"])
@pytest.mark.parametrize("bearing", [9.9, 350.1, 125.1, 234.9])
def test_official_is_two_sided_where_it_is_not_hard(level: str, bearing: float) -> None:
    row = asked(level, seen_at(bearing), OFFICIAL_EXACT)
    assert refusal_of(row) == ("near_sector_boundary", pytest.approx(9.9, abs=1e-6), 10.0, "deg")


@BOTH
@pytest.mark.parametrize(
    ("bearing", "refusal"),
    [
        (134.0, ("near_sector_boundary", 1.0, 10.0, "deg")),
        (226.0, ("near_sector_boundary", 1.0, 10.0, "deg")),
        (136.0, ("behind_the_observer", 136.0, 135.0, "deg")),
        (224.0, ("behind_the_observer", 136.0, 135.0, "deg")),
        (180.0, ("behind_the_observer", 180.0, 135.0, "deg")),
    ],
)
def test_easy_has_no_back(bearing: float, refusal: tuple[str, float, float, str], rules: Rules) -> None:
    reason, measured, limit, unit = refusal
    row = asked("easy", seen_at(bearing), rules)
    assert refusal_of(row) == (reason, pytest.approx(measured, abs=1e-6), limit, unit)


@BOTH
@pytest.mark.parametrize("bearing", [134.0, 136.0])
def test_medium_is_refused_on_both_sides_of_135(bearing: float, rules: Rules) -> None:
    row = asked("medium", seen_at(bearing), rules)
    assert refusal_of(row) == ("near_sector_boundary", pytest.approx(1.0, abs=1e-6), 10.0, "deg")


# Three cubes of 20 cm; each function puts one pair at the gap, and the other two pairs 1 to 3 m apart.
def _standing_facing(gap_m: float) -> list[tuple[float, float, float]]:
    return [(0, 0, 0), (0, gap_m + 0.2, 0), (-1.5, 1.5, 0)]


def _standing_asked(gap_m: float) -> list[tuple[float, float, float]]:
    return [(0, 0, 0), (2, 2, 0), (0, gap_m + 0.2, 0)]


def _facing_asked(gap_m: float) -> list[tuple[float, float, float]]:
    half = (gap_m + 0.2) / 2
    return [(0, -half, 0), (half, 0, 0), (-half, 0, 0)]


@BOTH
@pytest.mark.parametrize("place", [_standing_facing, _standing_asked, _facing_asked])
@pytest.mark.parametrize("off_m", [-0.001, 0.001])
@pytest.mark.parametrize("least", [True, False])
def test_any_two_of_the_three_are_neither_close_nor_far_apart(
    place: Callable[[float], list[Vec3]], least: bool, off_m: float, rules: Rules
) -> None:
    limit = {FROM_CENTRE.pair_min_m: 0.8, OFFICIAL_EXACT.pair_min_m: 0.3}[rules.pair_min_m] if least else 5.0
    reason = ("objects_too_close" if least else "objects_too_far_apart") if (off_m < 0) == least else None
    gap_m = limit + off_m
    centers = place(gap_m)
    if place is _facing_asked and least:  # seen from 0.3 m the three would be too close to one another
        centers[0] = (0, -1.5, 0)
    scene = make_scene([(name, c, (0.2, 0.2, 0.2), 0.0) for name, c in zip(TRIPLE, centers, strict=True)])
    row = row_of(scene, task("medium"), TRIPLE, rules)
    if reason is None:
        assert row["reason"] not in ("objects_too_close", "objects_too_far_apart")
        distances = [e["value"] for e in row["evidence"] or () if e["name"] == "distance"]
        assert not distances or any(d == pytest.approx(gap_m, abs=1e-6) for d in distances)
    else:
        assert refusal_of(row) == (reason, pytest.approx(gap_m, abs=1e-6), limit, "m")


def above(offset_m: float, who: str) -> IndoorScene:
    """The sofa or the tv hangs 1.5 m above the door, this far to the side, in a room whose zero is elsewhere."""
    centers = {"door": (0.0, 0.0, 0.0), "sofa": (0.0, 2.0, 0.0), "tv": (-2.0, 0.5, 0.0)}
    centers[who] = (offset_m, 0.0, 1.5) if who == "sofa" else (-offset_m, 0.0, 1.5)
    placed = {name: (x + 4.0, y - 3.0, z) for name, (x, y, z) in centers.items()}
    return make_scene([(name, center, (0.02, 0.02, 0.02), 0.0) for name, center in placed.items()])


@pytest.mark.parametrize("distance_m", [0.9, 1.3, 1.5])
@pytest.mark.parametrize("off_deg", [-0.1, 0.1])
def test_the_margin_grows_as_the_nearer_thing_comes_closer(distance_m: float, off_deg: float) -> None:
    """25 cm take up 15.5 degrees at 0.9 m, 10.9 at 1.3 m and less than the 10 of all others at 1.5 m."""
    needed = max(10.0, np.degrees(np.arctan(0.25 / distance_m)))
    at = np.radians(90 + needed + off_deg)
    boxes = [cube("door", 0, 0, side=0.02), cube("sofa", 0, 3, side=0.02)]
    scene = make_scene([*boxes, cube("tv", distance_m * np.cos(at), distance_m * np.sin(at), side=0.02)])
    refused = ("near_sector_boundary", pytest.approx(needed - 0.1, abs=1e-6), pytest.approx(needed, abs=1e-6), "deg")
    assert refusal_of(asked("medium", scene, FROM_CENTRE)) == (refused if off_deg < 0 else None)


@pytest.mark.parametrize("who", ["sofa", "tv"])
@pytest.mark.parametrize(("offset_m", "asked_by_strict"), [(0.299, False), (0.301, True)])
def test_strict_wants_30_cm_on_the_floor_plane(who: str, offset_m: float, asked_by_strict: bool) -> None:
    scene = above(offset_m, who)
    expected = ("no_direction_on_the_floor", pytest.approx(offset_m, abs=1e-6), 0.30, "m")
    rules = FROM_CENTRE.model_copy(update={"position_error_m": 0.0})
    assert refusal_of(asked("medium", scene, rules)) == (None if asked_by_strict else expected)
    assert refusal_of(asked("medium", scene, OFFICIAL_EXACT)) is None


@pytest.mark.parametrize(("who", "limit", "refused"), [("sofa", 0.37, False), ("sofa", 0.39, True), ("tv", 0.39, True)])
def test_objects_may_be_too_close_from_above(who: str, limit: float, refused: bool) -> None:
    """Cubes of 2 cm, 40 cm apart from above."""
    rules = OFFICIAL_EXACT.model_copy(update={"pair_plan_min_m": limit})
    found = refusal_of(asked("medium", above(0.4, who), rules))
    assert found == (("objects_too_close_on_the_floor", pytest.approx(0.38), limit, "m") if refused else None)


@pytest.mark.parametrize("who", ["sofa", "tv"])
def test_straight_above_there_is_no_direction_at_all(who: str) -> None:
    row = asked("medium", above(0.0, who), OFFICIAL_EXACT)
    assert refusal_of(row) == ("no_direction_on_the_floor", 0.0, pytest.approx(1e-6), "m")


def with_tv(box: OrientedBox) -> IndoorScene:
    """The door at the origin, the sofa straight ahead and 3.5 m up, out of the way; the tv is this box."""
    scene = make_scene([cube("door", 0, 0, z=0.0), cube("sofa", 0, 1.5, z=3.5), cube("tv", 0, 3)])
    *others, tv = scene.facts.objects
    return scene.with_facts(objects=(*others, tv.model_copy(update={"box": box})))


@BOTH
@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
@pytest.mark.parametrize(("x", "stray"), [(-1.05, 0), (-0.79, 1), (-0.52, 2), (-0.40, 2), (-0.38, 3)])
def test_at_most_two_corners_lie_in_another_sector(level: str, x: float, stray: int, rules: Rules) -> None:
    """A cube of 1.2 m, tilted so that its corners reach 0.917, 0.655, 0.393 and 0.131 m to the right of its centre."""
    axes = Rotation.align_vectors([[4.0, 2.0, 1.0]], [[1.0, 0.0, 0.0]])[0].as_matrix()
    box = OrientedBox.model_validate(
        {"center": (x, 2.0, 0.0), "lengths": (1.2, 1.2, 1.2), "axes": tuple(map(tuple, axes.tolist()))}
    )
    row = asked(level, with_tv(box), rules)
    if stray > 2:
        assert refusal_of(row) == ("box_reaches_into_another_sector", float(stray), 2.0, "corners")
    else:
        assert refusal_of(row) is None
        assert row["evidence"][-1]["value"] == stray


@BOTH
def test_every_ordered_triple_of_unique_objects_once(rules: Rules) -> None:
    unique = ["sofa", "bed", "lamp", "tv"]
    scene = make_scene([cube(n, i, i * i) for i, n in enumerate(unique)] + [cube("chair", 7, 0), cube("chair", 8, 0)])
    for level in ("easy", "medium", "hard"):
        rows = rows_of(scene, task(level), rules)
        triples = [tuple(r["operands"]) for r in rows if r["role"] is None]
        assert sorted(triples) == sorted(permutations(sorted(unique), 3))
        assert {(r["role"], *r["operands"], r["reason"]) for r in rows if r["role"]} == {
            (role, "chair", "not_unique") for role in ("standing", "facing", "asked")
        }


def beside_a_bed(tv: tuple[float, float], *more: Placed) -> IndoorScene:
    """A bed of 2 x 2 m at the origin in place of the door, the sofa 4 m ahead of its centre."""
    bed = ("door", (0.0, 0.0, 0.5), (2.0, 2.0, 1.0), 0.0)
    return make_scene([bed, cube("sofa", 0, 4), cube("tv", *tv), *more])


def on_floor(scene: IndoorScene, x_max: float) -> IndoorScene:
    floor = (((-3.0, -3.0), (x_max, -3.0), (x_max, 6.0), (-3.0, 6.0)),)
    return scene.with_facts(room=Room(area_m2=20.0, floor=floor))


def test_strict_asks_what_holds_from_every_side_of_the_bed() -> None:
    """16.7 degrees to the right of the sofa, seen from the centre; from the right end of the bed it is to the left.

    The line from the sofa over the tv at (0.6, 2) passes the ring's side y = 1.3 at x = 0.81 of 1.3.
    """
    scene = beside_a_bed((0.6, 2.0))
    for rules in (OFFICIAL_EXACT, FROM_CENTRE):
        assert asked("hard", scene, rules)["answer"] == "front-right"
    row = asked("hard", scene, STRICT)
    assert refusal_of(row) == ("depends_on_where_one_stands", row["measured"], 0.0, "share")
    assert 0.15 < row["measured"] < 0.25  # 72 degrees of 360
    far = asked("hard", beside_a_bed((1.8, 1.8)), STRICT)
    assert (far["answer"], far["reason"]) == ("front-right", None)
    assert far["evidence"][-1] == {
        "name": "depends_on_where_one_stands",
        "subject": "rule",
        "value": 0.0,
        "relation": "<=",
        "limit": 0.0,
        "unit": "share",
    }


@pytest.mark.parametrize(("wall_x", "reason"), [(0.9, None), (2.0, "depends_on_where_one_stands")])
def test_where_nobody_can_stand_does_not_count(wall_x: float, reason: str | None) -> None:
    """With the wall at 0.9 m nobody stands further right than 0.7."""
    assert asked("hard", on_floor(beside_a_bed((0.6, 2.0)), wall_x), STRICT)["reason"] == reason


def test_where_nobody_can_stand_at_all_nothing_is_asked() -> None:
    table = ("table", (0.0, 0.0, 0.2), (2.8, 2.8, 0.4), 0.0)
    scene = make_scene([cube("door", 0, 0), table, cube("sofa", 0, 4), cube("tv", -2, 2)])
    assert asked("hard", scene, STRICT)["answer"] == "front-left"
    assert refusal_of(asked("hard", on_floor(scene, 3.0), STRICT)) == ("nowhere_to_stand", 0.0, 1.0, "places")


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_strict_answers_are_those_of_every_place(level: str) -> None:
    """A scan of the same places in a loop of its own, with another angle."""
    scene = random_scene(7)
    center = {o.category: np.array(o.box.center[:2]) for o in scene.facts.objects}
    kept = [r for r in rows_of(scene, task(level), STRICT) if r["answer"]]
    looser = [r for r in rows_of(scene, task(level), FROM_CENTRE) if r["answer"]]
    assert 0 < len(kept) < len(looser)
    boxes = IndoorView(scene, STRICT)
    for row in looser:
        standing, facing, target = row["operands"]
        beside = standing_places(boxes.boxes, np.array([boxes.index[standing]]), 0.2, None)
        right = [side_of(level, place, center[facing], center[target]) == row["answer"] for place in beside.place[0]]
        assert all(right) == (row["id"] in {r["id"] for r in kept}), row["operands"]


def random_scene(seed: int) -> IndoorScene:
    on_the_floor = [(n, (c[0], c[1], 0.5), size, yaw) for n, c, size, yaw in random_objects(seed, 7)]
    return make_scene(on_the_floor)


def side_of(level: str, place: np.ndarray, facing: np.ndarray, target: np.ndarray) -> str:
    """By complex numbers: positive angles are to the left."""
    ahead, there = complex(*(facing - place)), complex(*(target - place))
    turn = np.degrees(np.angle(there / ahead))
    if level == "hard":
        return f"{'front' if abs(turn) < 90 else 'back'}-{'left' if turn > 0 else 'right'}"
    return "back" if abs(turn) > 135 else "left" if turn > 0 else "right"


@pytest.mark.parametrize("role", [0, 1, 2])
@pytest.mark.parametrize(
    ("name", "z", "refusal"),
    [
        ("ceiling light", 2.4, ("hangs_from_the_ceiling", 1.0, 0.0, "objects")),
        ("ceiling fan", 1.0, ("hangs_from_the_ceiling", 1.0, 0.0, "objects")),
        ("lamp", 2.11, ("hangs_overhead", 2.01, 2.0, "m")),  # its lower side, above that of the chair
        ("lamp", 2.09, None),
    ],
)
def test_strict_speaks_of_nothing_that_hangs_overhead(
    role: int, name: str, z: float, refusal: tuple[str, float, float, str] | None
) -> None:
    scene = make_scene([cube("a sofa", 0, 0), cube("a tv", -2, 2), cube(name, 0, 4, z=z), cube("chair", 9, 9, 1.0)])
    operands = ["a sofa", "a tv"]
    operands.insert(role, name)
    row = row_of(scene, task("medium"), operands, STRICT)
    if refusal is None:
        assert row["reason"] not in ("hangs_overhead", "hangs_from_the_ceiling")
    else:
        reason, measured, limit, unit = refusal
        assert refusal_of(row) == (reason, pytest.approx(measured), limit, unit)
    assert row_of(scene, task("medium"), operands, OFFICIAL_EXACT)["reason"] not in (
        "hangs_overhead",
        "hangs_from_the_ceiling",
    )
