from itertools import combinations, permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.spatial.distance import cdist

from pipeline.benchmarks.vsi.rules import PROFILES, WORDS, NameLists, Rules
from pipeline.benchmarks.vsi.tasks import measures
from pipeline.benchmarks.vsi.tasks.measures import AbsDistance, ObjectCounting, _usual_share, _whole
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.geometry.grids import grid_cloud
from pipeline.questions.arrays import ANNOTATED
from pipeline.worlds.indoor.facts import IndoorScene
from tests.conftest import (
    BOTH,
    Placed,
    Vec3,
    cube,
    make_doubt,
    make_scene,
    refusal_of,
    row_of,
    rows_of,
    through_reader,
    watched,
)

TASK = "object_abs_distance"


def pair(gap_m: float) -> IndoorScene:
    """A bed of 2 x 2 m and, this far beside it, a lamp of 40 cm."""
    return make_scene([("bed", (0, 0, 0.5), (2, 2, 1), 0.0), ("lamp", (1.2 + gap_m, 0.3, 0.4), (0.4, 0.4, 0.4), 0.0)])


@BOTH
@pytest.mark.parametrize(
    ("gap_m", "answer"), [(0.3, "0.3"), (1.0, "1.0"), (1.249, "1.2"), (1.251, "1.3"), (7.0, "7.0")]
)
def test_answer_is_the_gap_between_the_surfaces(gap_m: float, answer: str, rules: Rules) -> None:
    row = row_of(pair(gap_m), TASK, ["bed", "lamp"], rules)
    assert row["answer"] == answer
    fact, rule = row["evidence"]
    assert (fact["name"], fact["subject"], fact["unit"]) == ("distance", "bed - lamp", "m")
    assert fact["value"] == pytest.approx(gap_m, abs=1e-6)
    assert (rule["name"], rule["relation"], rule["limit"]) == ("objects_too_close", ">=", 0.2)


@BOTH
def test_corner_to_corner(rules: Rules) -> None:
    """Cubes of 2 m whose corners are 3, 4 and 0 m apart."""
    scene = make_scene([("a", (0, 0, 0), (2, 2, 2), 0.0), ("b", (5, 6, 0), (2, 2, 2), 0.0)])
    assert row_of(scene, TASK, ["a", "b"], rules)["answer"] == "5.0"


@BOTH
@pytest.mark.parametrize(("gap_m", "asked"), [(-0.3, False), (0.199, False), (0.201, True)])
def test_closer_than_20_cm_is_not_asked(gap_m: float, asked: bool, rules: Rules) -> None:
    row = row_of(pair(gap_m), TASK, ["bed", "lamp"], rules)
    assert refusal_of(row) == (
        None if asked else ("objects_too_close", pytest.approx(max(gap_m, 0.0), abs=1e-6), 0.2, "m")
    )


@pytest.mark.slow
def test_official_measures_between_grid_points() -> None:
    """On both sides of the limit, the verdict is that of all pairs of points."""
    verdicts = set()
    for gap_mm in range(120, 260, 7):
        scene = pair(gap_mm / 1000)
        clouds = [
            grid_cloud(*(np.array(part) for part in (o.box.center, o.box.lengths, o.box.axes)))
            for o in scene.facts.objects
        ]
        brute = cdist(*clouds).min()
        row = row_of(scene, TASK, ["bed", "lamp"], "official")
        measured = row["measured"] if row["reason"] else row["evidence"][0]["value"]
        assert measured == pytest.approx(brute, abs=1e-6)
        assert (row["reason"] == "objects_too_close") == (brute < 0.2)
        verdicts.add(row["reason"])
    assert verdicts == {None, "objects_too_close"}


@BOTH
def test_every_unordered_pair_of_unique_objects_once(rules: Rules) -> None:
    unique = ["sofa", "bed", "lamp", "tv", "door"]
    scene = make_scene([cube(n, i, 0) for i, n in enumerate(unique)] + [cube("chair", 7, 0), cube("chair", 8, 0)])
    rows = rows_of(scene, TASK, rules)
    asked_for = [tuple(r["operands"]) for r in rows if r["role"] is None]
    assert sorted(asked_for) == sorted(combinations(sorted(unique), 2))
    refused = {(r["role"], *r["operands"]): refusal_of(r) for r in rows if r["role"]}
    assert refused == {(role, "chair"): ("not_unique", 2.0, 1.0, "objects") for role in ("first", "second")}


def test_doubted_objects_are_refused_by_strict_alone(tmp_path: Path) -> None:
    """The printer is stated once and has two boxes, 1 m and 3 m from the bed."""
    objects = [("bed", (0, 0, 0.5), (2, 2, 1), 0.0), cube("printer", 2.1, 0), cube("printer", 4.1, 0)]
    scene = through_reader(make_scene(objects, counts={"bed": 1, "printer": 1}), tmp_path)
    strict = rows_of(scene, TASK, "strict")
    assert {(r["role"], *r["operands"], r["reason"]) for r in strict} == {
        (role, "printer", "count_differs_from_boxes") for role in ("first", "second")
    }
    assert row_of(scene, TASK, ["bed", "printer"], "official")["answer"] in ("1.0", "1.1")


COUNTING = "object_counting"
FIVE = [cube("chair", x, 0) for x in (0, 1, 2)] + [cube("table", x, 2) for x in (0, 1)]


@BOTH
def test_answer_is_the_number_of_instances(rules: Rules) -> None:
    scene = make_scene([*FIVE, cube("bed", 0, 4)])
    assert {r["operands"][0]: r["answer"] for r in rows_of(scene, COUNTING, rules)} == {
        "bed": None,
        "chair": "3",
        "table": "2",
    }
    assert refusal_of(row_of(scene, COUNTING, ["bed"], rules)) == ("too_few_instances", 1.0, 2.0, "objects")


@pytest.mark.parametrize(("least", "refused"), [(1, set()), (2, {"bed"}), (3, {"bed", "table"})])
def test_the_limit_can_be_set(least: int, refused: set[str]) -> None:
    rules = PROFILES["strict"].model_copy(update={"min_count": least})
    rows = rows_of(make_scene([*FIVE, cube("bed", 0, 4)]), COUNTING, rules)
    assert {r["operands"][0] for r in rows if r["reason"]} == refused


@BOTH
def test_evidence_is_the_stated_count_beside_the_boxes(rules: Rules) -> None:
    evidence = row_of(make_scene(FIVE), COUNTING, ["chair"], rules)["evidence"]
    assert [(e["name"], e["subject"], e["value"], e["relation"], e["limit"], e["unit"]) for e in evidence] == [
        ("stated_count", "chair", 3.0, None, None, "objects"),
        ("boxes", "chair", 3.0, None, None, "objects"),
        ("too_few_instances", "rule", 3.0, ">=", 2.0, "objects"),
    ]


def test_a_count_that_differs_from_the_boxes_is_refused_by_strict_alone(tmp_path: Path) -> None:
    scene = through_reader(make_scene(FIVE, counts={"chair": 4, "table": 2}), tmp_path)
    row = row_of(scene, COUNTING, ["chair"], "strict")
    assert refusal_of(row) == ("count_differs_from_boxes", 3.0, 4.0, "objects")
    assert row["role"] == "category"
    assert row_of(scene, COUNTING, ["table"], "strict")["answer"] == "2"
    official = row_of(scene, COUNTING, ["chair"], "official")
    assert official["answer"] == "4"
    assert [e["value"] for e in official["evidence"][:2]] == [4.0, 3.0]


def test_a_doubled_box_is_refused_by_strict_alone(tmp_path: Path) -> None:
    """Three boxes, three stated, and yet two things."""
    scene = through_reader(make_scene([cube("printer", 0, 0), cube("printer", 2, 0), cube("printer", 0, 0)]), tmp_path)
    assert refusal_of(row_of(scene, COUNTING, ["printer"], "strict")) == ("doubled_box", 1.0, 0.5, "share")
    assert row_of(scene, COUNTING, ["printer"], "official")["answer"] == "3"


@pytest.mark.parametrize(
    ("other", "shift_m", "refused"),
    [("printer", 0.25, True), ("printer", 0.4, False), ("copier", 0.0, True), ("copier", 0.25, False)],
)
def test_two_things_do_not_fill_one_place(other: str, shift_m: float, refused: bool, tmp_path: Path) -> None:
    """Cubes of a metre share (1 - shift) / (1 + shift): half of it from a third of a metre on."""
    scene = through_reader(make_scene([cube("printer", 0, 0, 1.0), cube(other, shift_m, 0, 1.0)]), tmp_path)
    assert (row_of(scene, COUNTING, ["printer"], "strict")["reason"] == "doubled_box") == refused
    assert (row_of(scene, COUNTING, [other], "strict")["reason"] == "doubled_box") == refused


@BOTH
def test_a_category_without_boxes_is_too_few_or_counted_as_stated(rules: Rules) -> None:
    scene = make_scene(FIVE, counts={"chair": 3, "table": 2, "shoe": 0, "book": 7})
    assert refusal_of(row_of(scene, COUNTING, ["shoe"], rules)) == ("too_few_instances", 0.0, 2.0, "objects")
    assert row_of(scene, COUNTING, ["book"], rules)["answer"] == "7"


def test_what_no_frame_shows_is_not_counted_by_strict() -> None:
    scene = watched(make_scene(FIVE), {("chair", 1): None, ("table", 0): None})
    assert row_of(scene, COUNTING, ["chair"], "strict")["answer"] == "2"
    assert refusal_of(row_of(scene, COUNTING, ["table"], "strict")) == ("too_few_instances", 1.0, 2.0, "objects")
    assert row_of(scene, COUNTING, ["chair"], "official")["answer"] == "3"


@pytest.mark.parametrize(("pixels", "refused"), [(0, True), (19, True), (20, False)])
def test_of_five_chairs_one_that_is_barely_shown_leaves_the_count_open(pixels: int, refused: bool) -> None:
    scene = watched(make_scene([cube("chair", x, 0) for x in range(5)]), {("chair", 3): pixels})
    row = row_of(scene, COUNTING, ["chair"], "strict")
    if refused:
        assert refusal_of(row) == ("barely_visible", float(pixels), 20.0, "pixels")
    else:
        assert row["answer"] == "5"
    assert row_of(scene, COUNTING, ["chair"], "official")["answer"] == "5"


@pytest.mark.parametrize(
    ("pixels", "refusal"),
    [
        ((50, None), None),  # only one is in the video
        ((50, 3), ("not_unique", 2.0, 1.0, "objects")),
        ((19, None), ("barely_visible", 19.0, 20.0, "pixels")),
        ((50, 50), ("not_unique", 2.0, 1.0, "objects")),
    ],
)
def test_the_telephone_is_the_only_one_that_anybody_can_see(
    pixels: tuple[int, int | None], refusal: tuple[str, float, float, str] | None
) -> None:
    scene = make_scene([cube("telephone", 0, 0), cube("telephone", 2, 0), cube("bed", 5, 5)])
    scene = watched(scene, {("telephone", i): shown for i, shown in enumerate(pixels)})
    for task in ("object_size_estimation", "object_abs_distance"):
        rows = [r for r in rows_of(scene, task) if "telephone" in r["operands"]]
        assert {refusal_of(r) for r in rows} == {refusal}, task


def test_the_nearest_of_several_may_be_the_one_that_is_barely_shown() -> None:
    others = [cube(name, 1.0 + i, 3.0) for i, name in enumerate(("bed", "door", "sofa"))]
    scene = make_scene([*others, cube("lamp", 0, 0), cube("chair", 0, 1), cube("chair", 0, 9)])
    scene = watched(scene, {("chair", 0): 19})
    rows = rows_of(scene, "object_rel_distance")
    assert [refusal_of(r) for r in rows if r["operands"] == ["chair"] and r["role"] == "choice"] == [
        ("barely_visible", 19.0, 20.0, "pixels")
    ]


def in_sixteen(row: dict[str, Any]) -> tuple[Any, ...]:
    """What becomes of a question in 16 frames: its answer, or why there is none."""
    ((own,),) = (row["budgets"],)
    assert (own["budget"], row["visible_in"]) == (16, [16] if own["answer"] else [])
    return (own["answer"],) if own["answer"] else (own["reason"], own["measured"], own["limit"], own["unit"])


@pytest.mark.parametrize(
    ("sampled", "lost", "found"),
    [
        ({}, 0, ("5",)),
        ({("chair", 1): None}, 0, ("4",)),
        ({("chair", 1): None, ("chair", 2): 20}, 0, ("4",)),
        ({("chair", 1): None, ("chair", 2): 19}, 0, ("barely_visible", 19.0, 20.0, "pixels")),
        ({("chair", 2): 0}, 0, ("barely_visible", 0.0, 20.0, "pixels")),  # slivers, between the rays
        ({("chair", i): None for i in range(4)}, 0, ("too_few_instances", 1.0, 2.0, "objects")),
        ({("chair", 1): None}, 1, ("frames_without_pose", 1.0, 0.0, "frames")),
        ({}, 1, ("5",)),  # all in the room are shown by others
    ],
)
def test_a_count_in_frames_is_what_they_show(sampled: Any, lost: int, found: tuple[Any, ...]) -> None:
    chairs = make_scene([cube("chair", x, 0) for x in range(5)])
    scene = watched(chairs, {}, sampled=sampled, without_pose_s=(3.0,) * lost)
    assert in_sixteen(row_of(scene, COUNTING, ["chair"], "strict")) == found


def test_a_chair_that_the_whole_video_hides_makes_no_other_one_unique_in_frames() -> None:
    """Strict asks of the only lamp that anybody sees; of frames nothing is asked that another in the room might be."""
    scene = make_scene([cube("lamp", 0, 0), cube("lamp", 2, 0), cube("bed", 5, 5)])
    row = row_of(watched(scene, {("lamp", 1): None}, sampled={("lamp", 1): None}), TASK, ["bed", "lamp"], "strict")
    assert row["answer"]
    assert in_sixteen(row) == ("not_unique", 2.0, 1.0, "objects")


@pytest.mark.parametrize("pixels", [None, 0, 19, 20])
def test_a_distance_in_frames_needs_both(pixels: int | None) -> None:
    row = row_of(watched(pair(1.0), {}, sampled={("lamp", 0): pixels}), TASK, ["bed", "lamp"], "strict")
    assert in_sixteen(row) == (("1.0",) if pixels == 20 else ("not_shown_in_frames", pixels or 0, 20.0, "pixels"))
    (own,) = row["budgets"]
    if pixels == 20:
        proof = {(e["name"], e["subject"], e["value"]) for e in own["evidence"]}
        assert ("least_shown", "lamp", 20.0) in proof


def test_the_nearest_in_frames_needs_every_instance_of_every_choice() -> None:
    others = [cube(name, 1.0 + i, 3.0) for i, name in enumerate(("bed", "door", "sofa"))]
    scene = make_scene([*others, cube("lamp", 0, 0), cube("chair", 0, 1), cube("chair", 0, 9)])
    operands = ["lamp", "bed", "chair", "door", "sofa"]
    for sampled, found in (({}, ("chair",)), ({("chair", 1): 3}, ("not_shown_in_frames", 3.0, 20.0, "pixels"))):
        row = row_of(watched(scene, {}, sampled=sampled), "object_rel_distance", operands, "strict")
        assert in_sixteen(row) == found


@pytest.mark.parametrize("pixels", [19, 44, 45])
def test_a_size_in_frames_needs_the_side_in_them(pixels: int) -> None:
    row = row_of(watched(make_scene([placed((2.0, 1.6, 0.5))]), {}, sampled={("bench", 0): pixels}), SIZE, ["bench"])
    found = {19: ("not_shown_in_frames", 19.0, 20.0, "pixels"), 44: ("extent_not_shown", 0.88, 0.9, "share")}
    assert in_sixteen(row) == found.get(pixels, ("200",))


SIZE = "object_size_estimation"


def placed(lengths: Vec3, category: str = "bench") -> Placed:
    return category, (1.0, 2.0, 0.5), lengths, 30.0


@BOTH
@pytest.mark.parametrize("lengths", sorted(permutations((2.07, 1.604, 0.55))))
def test_answer_is_the_longest_side_in_centimetres(lengths: Vec3, rules: Rules) -> None:
    row = row_of(make_scene([placed(lengths)]), SIZE, ["bench"], rules)
    assert row["answer"] == "207"
    assert [(e["name"], e["value"], e["unit"]) for e in row["evidence"]] == [
        ("side_1", 2.07, "m"),
        ("side_2", 1.604, "m"),
        ("side_3", 0.55, "m"),
    ]


@BOTH
@pytest.mark.parametrize(
    ("longest_m", "answer"), [(0.6249, "62"), (0.625, "62"), (0.6251, "63"), (0.635, "64"), (0.304, "30"), (2.0, "200")]
)
def test_whole_centimetres_half_to_even(longest_m: float, answer: str, rules: Rules) -> None:
    assert row_of(make_scene([placed((0.1, longest_m, 0.2))]), SIZE, ["bench"], rules)["answer"] == answer


@BOTH
def test_only_an_object_alone_of_its_category(rules: Rules) -> None:
    scene = make_scene(
        [cube("chair", 0, 0), cube("chair", 1, 0), cube("bench", 0, 4)], counts={"chair": 2, "bench": 1, "cup": 1}
    )
    rows = {r["operands"][0]: r for r in rows_of(scene, SIZE, rules)}
    assert refusal_of(rows["chair"]) == ("not_unique", 2.0, 1.0, "objects")
    assert refusal_of(rows["cup"]) == ("category_without_box", 0.0, 1.0, "boxes")
    assert rows["chair"]["role"] == rows["cup"]["role"] == "category"
    assert rows["bench"]["answer"] == "20"


def test_official_takes_the_stated_count_and_strict_doubts_it(tmp_path: Path) -> None:
    scene = through_reader(
        make_scene([placed((0.5, 0.4, 0.3), "printer"), cube("printer", 3, 3)], counts={"printer": 1}), tmp_path
    )
    assert row_of(scene, SIZE, ["printer"], "official")["answer"] == "50"
    assert refusal_of(row_of(scene, SIZE, ["printer"], "strict")) == ("count_differs_from_boxes", 2.0, 1.0, "objects")


@pytest.mark.parametrize(("thin_m", "reason"), [(0.0009, "thin_box"), (0.0011, None)])
def test_a_side_below_a_millimetre_is_doubtful(thin_m: float, reason: str | None, tmp_path: Path) -> None:
    scene = through_reader(make_scene([placed((0.5, 0.4, thin_m))]), tmp_path)
    row = row_of(scene, SIZE, ["bench"], "strict")
    assert row["reason"] == reason
    if reason:
        assert refusal_of(row) == ("thin_box", thin_m, 0.001, "m")
    assert row_of(scene, SIZE, ["bench"], "official")["answer"] == "50"


@pytest.mark.parametrize(("share", "reason"), [(0.0, True), (0.899, True), (0.9, False), (1.0, False)])
def test_a_side_of_which_the_video_shows_too_little_is_not_asked(share: float, reason: bool) -> None:
    scene = watched(make_scene([placed((2.0, 1.6, 0.5))]), {}, extent={"bench": share})
    row = row_of(scene, SIZE, ["bench"], "strict")
    assert refusal_of(row) == (("extent_not_shown", share, 0.9, "share") if reason else None)
    assert row_of(scene, SIZE, ["bench"], "official")["answer"] == "200"


@pytest.mark.parametrize(
    ("category", "longest_m", "limit"),
    [("door", 1.56, 1.96 / 1.25), ("door", 1.57, None), ("table", 0.3, None), ("orb", 0.3, None)],
)
def test_a_box_much_shorter_than_things_of_one_size_may_be_a_part(
    category: str, longest_m: float, limit: float | None
) -> None:
    """Doors are up to 1.16 times the median, 1.96 m, tables 1.8 times."""
    scene = make_scene([placed((0.2, 0.2, longest_m), category)])
    row = row_of(scene, SIZE, [category], "strict")
    assert refusal_of(row) == (limit and ("may_be_a_part", longest_m, pytest.approx(limit), "m"))
    assert row_of(scene, SIZE, [category], "official")["answer"] == f"{100 * longest_m:.0f}"


def test_how_much_the_video_shows_is_no_rule_where_nobody_looked() -> None:
    row = row_of(make_scene([placed((2.0, 1.6, 0.5))]), SIZE, ["bench"], "strict")
    assert row["answer"] == "200"
    assert "extent_not_shown" not in {e["name"] for e in row["evidence"]}


@pytest.mark.parametrize(
    ("category", "longest_m", "expected"),
    [
        ("tv", 1.16, "longer"),
        ("tv", 0.86, "shorter"),
        ("tv", 1.0, ("size_is_usual", 0.96 / 1.0, 1.1, "ratio")),
        ("tv", 1.15, ("size_is_usual", 1.15 / 1.05, 1.1, "ratio")),
        ("tv", 0.88, ("size_is_usual", 0.96 / 0.88, 1.1, "ratio")),
        ("orb", 0.9, ("usual_size_unknown", 0.0, 5.0, "boxes")),
    ],
)
def test_a_size_is_less_or_more_than_usual(category: str, longest_m: float, expected: object) -> None:
    """Televisions measure 96 cm in the median of boxes and 105 cm by hand: the text has what lies between."""
    scene = make_scene([placed((0.1, longest_m, 0.2), category)])
    row = row_of(scene, COMPARED, [category], "strict")
    if isinstance(expected, str):
        assert row["answer"] == expected
        assert ("usual_size", category, 1.0) in [(e["name"], e["subject"], e["value"]) for e in row["evidence"]]
    else:
        assert refusal_of(row) == pytest.approx(expected)
    assert TASKS[COMPARED].fields(("tv",), None) == {"category": "tv", "usual_cm": "100"}
    under = TASKS[COMPARED].guess_classes(pa.array([["tv"], ["bed"]]), np.array(["shorter", "longer"], dtype=object))
    assert under.tolist() == ["shorter under it", "longer over people's usual"], "a tv of 105 cm by hand, a bed of 200"
    size = row_of(scene, SIZE, [category], "strict")
    assert all(f"same_fact: size of {category}" in found["flags"] for found in (row, size)), "one of them is asked"


COMPARED = "object_size_comparison"
ROOM = "room_size_estimation"
PROFILE = pytest.mark.parametrize("rules", list(PROFILES.values()), ids=list(PROFILES))


@PROFILE
@pytest.mark.parametrize(
    ("area_m2", "answer"), [(26.4, "26.4"), (26.449, "26.4"), (26.451, "26.5"), (0.25, "0.2"), (312.0, "312.0")]
)
def test_answer_is_the_area_with_one_decimal(area_m2: float, answer: str, rules: Rules) -> None:
    (row,) = rows_of(make_scene([], area=area_m2), ROOM, rules)
    assert row["answer"] == answer
    assert row["operands"] == []
    assert (row["evidence"][0]["name"], row["evidence"][0]["value"], row["evidence"][0]["unit"]) == (
        "room_area",
        area_m2,
        "m2",
    )


@PROFILE
def test_a_room_that_was_not_measured_is_never_zero(rules: Rules) -> None:
    (row,) = rows_of(make_scene([cube("bed", 0, 0)], area=None), ROOM, rules)
    assert refusal_of(row) == ("room_not_measured", None, None, "m2")
    assert row["answer"] is None


@PROFILE
def test_a_released_zero_is_a_failed_measurement(rules: Rules, tmp_path: Path) -> None:
    scene = make_scene([cube("bed", 0, 0)], area=None)
    zero = scene.with_facts(room=scene.facts.room.model_construct(area_m2=0.0))
    (row,) = rows_of(through_reader(zero, tmp_path), ROOM, rules)
    assert row["reason"] == "room_not_measured"


def test_strict_heeds_a_doubt_about_the_room() -> None:
    scene = make_scene([], area=26.4, findings=[make_doubt("holes_in_mesh", "room", 0.31, 0.2, "share")])
    (strict,), (official,) = (rows_of(scene, ROOM, profile) for profile in ("strict", "official"))
    assert refusal_of(strict) == ("holes_in_mesh", 0.31, 0.2, "share")
    assert official["answer"] == "26.4"


@PROFILE
@pytest.mark.parametrize(
    ("furniture", "kinds", "n"),
    [
        ((), "none", 0),
        (("table", "chair"), "none", 0),
        (("bed", "nightstand"), "bedroom", 1),
        (("bed", "sofa"), "bedroom, living room", 2),
        (("stove", "refrigerator", "toilet"), "bathroom, kitchen", 2),
    ],
)
def test_furniture_of_two_kinds_of_room_is_flagged(
    furniture: tuple[str, ...], kinds: str, n: int, rules: Rules
) -> None:
    (row,) = rows_of(make_scene([cube(name, i, 0) for i, name in enumerate(furniture)]), ROOM, rules)
    assert row["flags"] == [*(["open_plan"] if n > 1 else ()), ANNOTATED]
    (fact,) = (fact for fact in row["evidence"] if fact["name"] == "room_kinds")
    assert (fact["subject"], fact["value"]) == (kinds, n)
    assert row["answer"] == "20.0"


@pytest.mark.parametrize(
    ("profile", "furniture", "area_m2", "share"),
    [
        ("strict", [], 10.0, 0.2), ("strict", [], 11.49, 0.2), ("strict", [], 11.51, 1), ("strict", [], 8.69, 1),
        ("strict", ["Desk", "chair", "chair", "lamp"], 10 * 6**0.28, 0.2), ("strict", ["desk", "chair"], 10.0, 1),
        ("official", [], 10.0, 1), ("revsi", [], 10.0, 1),
    ],
)  # fmt: skip
def test_areas_that_the_furniture_tells_are_seldom_asked(
    profile: str, furniture: list[str], area_m2: float, share: float
) -> None:
    scene = make_scene([cube(name, i, 0) for i, name in enumerate(furniture)], area=area_m2)
    assert [row["share"] for row in rows_of(scene, ROOM, PROFILES[profile])] == [share]


def test_an_area_that_would_be_written_as_zero_is_refused() -> None:
    """0.04 m2 with one decimal is 0.0, which scores divide by."""
    (row,) = rows_of(make_scene([], area=0.04), ROOM, PROFILES["official"])
    assert refusal_of(row) == ("answer_is_zero", 0.0, 0.0, None)
    (row,) = rows_of(make_scene([], area=0.06), ROOM, PROFILES["official"])
    assert row["answer"] == "0.1"


@pytest.mark.parametrize(("share", "shown"), [(0.9, True), (0.8999, False), (None, False)])
def test_the_area_in_frames_needs_the_floor_plan_in_them(share: float | None, shown: bool) -> None:
    room = make_scene([cube("bed", 0, 0)], area=20.0)
    (row,) = rows_of(watched(room, {}, sampled={}, plan_seen=share), ROOM)
    assert in_sixteen(row) == (("20.0",) if shown else ("plan_not_shown", share, 0.9, "share"))


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        ({"chair": 1}, 0.4),
        ({"door": 2}, 0.05),
        ({"Chair": 3}, 1),
        ({"stool": 2}, 1),
        ({"chair": 2, "door": 2}, 0.3),
        ({"chair": 2, "door": 3}, 1),
        ({"chair": 2, "stool": 2}, 1),
    ],
)
def test_counts_of_revsi_that_few_are_asked_of(counts: dict[str, int], share: float) -> None:
    """A chair, a door and other names that are hard to count are seldom asked where there are few of them."""
    numbers = np.array(list(counts.values()))
    view = SimpleNamespace(
        rules=PROFILES["revsi"], categories=np.array(list(counts), dtype=object), count=numbers, boxed=numbers
    )
    task = ObjectCounting(roles=("first", "second")[: len(counts)])
    found = task.answer(view, np.arange(len(counts))[None])
    assert (found.truth.tolist(), found.share.tolist()) == ([str(sum(counts.values()))], [share])


def names_of(*names: str) -> np.ndarray:
    return np.array(names, dtype=object)


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Crates are 1 m long in the median of five boxes and 1.5 m to people; of few boxes of a kind nothing is known."""
    crates = SimpleNamespace(boxes=5, median_m=1.0, rarely_above_m=1.25)
    kinds = {"crate": crates, "seldom": SimpleNamespace(boxes=4, median_m=1.0, rarely_above_m=1.0)}
    kinds["flag"] = SimpleNamespace(boxes=9, median_m=2.0, rarely_above_m=2.6)
    monkeypatch.setattr(measures, "TYPICAL", kinds)
    monkeypatch.setattr(measures, "USUAL", {"size_cm": {"crate": 150.0, "globe": 30.0}})


@pytest.mark.usefixtures("usual")
def test_usual_sizes_by_hand() -> None:
    """In the text the geometric mean of both, 122 cm, in steps of 5; each alone where the other is not known."""
    found = [measures._usual_cm(name) for name in ("crate", "flag", "globe", "seldom", "comet")]
    assert found == [(100, 120, 150), (200, 200, 200), (30, 30, 30), None, None]
    assert measures._of_one_size(1.25) == {"crate": 1.0}
    assert measures._of_one_size(1.24) == {}
    assert measures._of_one_size(1.3) == {"crate": 1.0, "flag": 2.0}


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize(
    ("name", "size_cm", "share"),
    [
        ("crate", 164.9, 0.2),  # less than a tenth above what people say
        ("crate", 165.1, 1), ("crate", 91.0, 0.2), ("crate", 90.9, 1), ("crate", 120.0, 0.2),
        ("flag", 219.0, 0.2), ("flag", 221.0, 1), ("comet", 5.0, 1), ("seldom", 100.0, 1),
        ("bed", 179.9, 1), ("bed", 180.0, 0.3), ("Bed", 210.0, 0.3), ("bed", 210.1, 1), ("sofa", 200.0, 1),
    ],
)  # fmt: skip
def test_sizes_that_everybody_knows_are_seldom_asked(name: str, size_cm: float, share: float) -> None:
    words = NameLists(usual_cm={"bed": (180, 210, 0.3)}, usual_share=0.2, usual_factor=1.1)
    assert _usual_share(names_of(name, "comet"), np.array([size_cm, 7.0]), words).tolist() == [share, 1]
    of_one_size = words.model_copy(update={"whole_factor": 1.25})
    found = _usual_share(names_of(name), np.array([size_cm]), of_one_size).tolist()
    assert found == [0.0 if name == "crate" else share]
    assert _usual_share(names_of(name), np.array([size_cm]), NameLists()).tolist() == [1]


@pytest.mark.usefixtures("usual")
def test_a_box_below_what_all_of_its_name_measure_may_be_a_part() -> None:
    assert _whole(names_of("crate"), np.array([0.1]), None) == ()
    (rule,) = _whole(names_of("crate", "crate", "flag"), np.array([0.8, 0.79, 0.1]), 1.25)
    assert (rule.reason, rule.relation, rule.unit) == ("may_be_a_part", ">=", "m")
    assert (rule.ok.tolist(), rule.limit.tolist()) == ([True, False, True], [0.8, 0.8, 0.0])
    assert rule.measured.tolist() == [0.8, 0.79, np.inf]


@pytest.mark.parametrize(
    ("counts", "shares"),
    [
        # A quarter of what is asked may be twos: a third of the number of others, which are two here.
        ({"bed": 2, "chair": 3, "cup": 1, "lamp": 1}, [2 / 3, 1, 0.4, 1]),
        ({"bed": 2, "chair": 3, "cup": 1, "table": 2}, [1 / 3, 1, 0.4, 1 / 3]),
        ({"bed": 2, "chair": 3, "sofa": 4, "table": 5, "tv": 6}, [1, 1, 1, 1, 1]),
        ({"bed": 2, "lamp": 1}, [0, 1]),
        ({"chair": 3, "Cup": 1}, [1, 0.4]),
    ],
)
def test_counts_that_are_common_are_asked_less_often(
    counts: dict[str, int], shares: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = NameLists(challenging=frozenset({"cup"}), challenging_shares={1: 0.4}, common_counts={2: 0.25})
    monkeypatch.setitem(WORDS, "strict", words)
    numbers = np.array(list(counts.values()))
    view = SimpleNamespace(rules=PROFILES["strict"], categories=names_of(*counts), count=numbers, boxed=numbers + 1)
    found = ObjectCounting().answer(view, np.arange(len(counts))[:, None])
    assert found.share is not None
    assert found.share.tolist() == pytest.approx(shares)
    (enough,) = found.checks
    least = {"cup": 1}
    assert enough.limit.tolist() == [least.get(name.lower(), 2) for name in counts]
    assert enough.ok.tolist() == [n >= least.get(name.lower(), 2) for name, n in counts.items()]
    assert [fact.value.tolist() for fact in found.facts] == [numbers.tolist(), (numbers + 1).tolist()]


@pytest.mark.parametrize(("least", "limits"), [(0, [0, 0]), (1, [1, 1]), (3, [1, 3])])
def test_of_challenging_names_one_is_enough_and_fewer_where_fewer_are(least: int, limits: list[int]) -> None:
    rules = PROFILES["revsi"].model_copy(update={"min_count": least})
    numbers = np.array([1, 1])
    view = SimpleNamespace(rules=rules, categories=names_of("chair", "orb"), count=numbers, boxed=numbers)
    assert ObjectCounting().answer(view, np.array([[0], [1]])).checks[0].limit.tolist() == limits
    pairs = ObjectCounting(roles=("first", "second")).answer(view, np.array([[0, 1]]))
    assert pairs.checks[0].limit.tolist() == [least], "of two each has to be there more than once"


def test_short_distances_are_asked_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below 1 m a third, below 2 m two thirds; at the limit itself as beyond it."""
    words = NameLists(distance_shares=((1.0, 0.3), (2.0, 0.6)), sprawling=("rug",))
    monkeypatch.setitem(WORDS, "strict", words)
    apart = np.array([[0, 0.99, 1.0, 1.99], [0, 0, 2.0, 5.0], [0, 0, 0, 0.2], [0, 0, 0, 0]])
    names = names_of("bed", "lamp", "rug", "tv")
    view = SimpleNamespace(
        rules=PROFILES["strict"], categories=names, distance_m=apart, pair_names=lambda a, b: names[a] + "-" + names[b]
    )
    found = AbsDistance().answer(view, np.array([[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]))
    assert found.share is not None
    assert found.share.tolist() == [0.3, 0.6, 0.6, 1, 1, 0.3]
    unfit, near = found.checks
    assert (unfit.reason, unfit.ok.tolist()) == ("name_is_not_asked", [True, False, True, False, True, False])
    assert (near.reason, near.ok.tolist()) == ("objects_too_close", [True] * 6)
    assert found.facts[0].subject.tolist()[3] == "lamp-rug"


@pytest.mark.parametrize(
    ("task", "operands", "options", "labels", "fields", "canonical"),
    [
        ("object_abs_distance", ("bed", "tv"), None, (), {"first": "bed", "second": "tv"}, ("bed", "tv")),
        ("object_counting_multiple", ("cup", "tv"), None, (), {"first": "cup", "second": "tv"}, ("cup", "tv")),
        ("object_size_estimation", ("bed",), None, (), {"category": "bed"}, ("bed",)),
        (
            "object_rel_distance", ("tv", "bed", "cup"), ("cup", "bed"), ("bed", "cup"),
            {"primary": "tv", "choices": ("cup", "bed")}, ("tv", "bed", "cup"),
        ),
        (
            "object_rel_distance", ("tv", "bed", "cup"), None, ("bed", "cup"),
            {"primary": "tv", "choices": ("bed", "cup")}, ("tv", "bed", "cup"),
        ),
        (
            "obj_appearance_order", ("bed", "tv"), ("tv, bed", "bed, tv"), ("bed, tv", "tv, bed"),
            {"choices": ("tv", "bed")}, ("bed", "tv"),
        ),
        (
            "obj_appearance_order", ("bed", "tv"), None, ("bed, tv", "tv, bed"),
            {"choices": ("bed", "tv")}, ("bed", "tv"),
        ),
        (
            "object_rel_direction_easy", ("bed", "tv", "cup"), None, ("left", "right"),
            {"standing": "bed", "facing": "tv", "asked": "cup"}, ("bed", "tv", "cup"),
        ),
        (
            "route_planning", ("bed", "tv", "tv", "cup"), None, (),
            {
                "start": "bed", "facing": "tv", "destination": "cup",
                "steps": "1. Go forward until the tv 2. [please fill in] 3. Go forward until the cup",
            },
            ("bed", "tv", "tv", "cup"),
        ),
    ],
)  # fmt: skip
def test_what_is_offered_and_what_stands_in_the_text(
    task: str,
    operands: tuple[str, ...],
    options: tuple[str, ...] | None,
    labels: tuple[str, ...],
    fields: dict[str, Any],
    canonical: tuple[str, ...],
) -> None:
    assert TASKS[task].labels(operands, "") == labels
    assert TASKS[task].fields(operands, options) == fields
    assert TASKS[task].canonical(fields) == canonical
    if set(fields) == {"first", "second"}:
        assert TASKS[task].canonical({"first": fields["second"], "second": fields["first"]}) == canonical
