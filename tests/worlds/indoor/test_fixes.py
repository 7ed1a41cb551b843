"""Corrections of scans, on rooms whose corrected form is known by hand."""

from typing import Any

import pytest

from pipeline.benchmarks.vsi.rules import STRICT
from pipeline.core.findings import Findings, doubt
from pipeline.core.fixes import Fix, UnexpectedError, target_of
from pipeline.core.schema import Video
from pipeline.reading.checks import check_repeats
from pipeline.worlds.indoor.facts import IndoorScene, count_doubts
from pipeline.worlds.indoor.fixes import FIXES, drafts, fix_scan
from pipeline.worlds.indoor.view import IndoorView, Slot
from pipeline.worlds.registry import FIXES as ALL
from tests.conftest import cube, make_scene

SIDE = {"lengths_m": [0.2, 0.2, 0.2]}


def scene(counts: dict[str, int] | None = None) -> IndoorScene:
    """Two tables, one printer twice, a sofa; with the doubts that a reader has about such counts and boxes."""
    boxes = [cube("table", 0, 0), cube("table", 3, 0), cube("printer", 1, 1), cube("printer", 1, 1), cube("sofa", 2, 2)]
    stated = {"table": 2, "printer": 1, "sofa": 1} if counts is None else counts
    made = make_scene(boxes, counts=stated).model_copy(update={"video": Video(path="a.mp4")})
    findings = Findings()
    findings.add(*count_doubts(made.facts.counts, made.facts.objects))
    check_repeats([(o.category, o.box) for o in made.facts.objects], findings)
    return made.model_copy(update={"findings": tuple(findings.items)})


def test_boxes_given_many_times_are_named_once_each() -> None:
    """A thousand equal boxes have half a million pairs."""
    findings = Findings()
    check_repeats([("chair", make_scene([cube("chair", 0, 0)]).facts.objects[0].box)] * 1000, findings)
    (found,) = findings.items
    assert found.message.startswith("boxes fill one place: chair #0 and chair #1, chair #1 and chair #2, ")
    assert " and 979 more share up to 100%" in found.message


def fix(target: str, **keys: Any) -> Any:
    common = {"id": f"made-{target}", "scene": "room1", "why": "seen", "who": "me", "date": "2026-01-31"}
    kind: type[Fix] = next(kind for kind in ALL if target_of(kind) == target)
    return kind.model_validate(common | {"target": target} | keys)


def fixed(before: IndoorScene, *fixes: Any) -> IndoorScene:
    for one in fixes:
        one.check(before)
    return fix_scan(before, fixes)


def boxes_of(found: IndoorScene) -> dict[str, list[float]]:
    """Category -> x of each object's centre."""
    x: dict[str, list[float]] = {}
    for item in found.facts.objects:
        assert item.instance == len(x.setdefault(item.category, []))
        x[item.category].append(item.box.center[0])
    return x


def doubts(found: IndoorScene) -> set[tuple[str, str]]:
    return {(f.name, f.subject) for f in found.findings}


def refused(found: IndoorScene, slot: Slot, category: str) -> str | None:
    """Why `strict` has a category not in a slot."""
    view = IndoorView(found, STRICT)
    problem = view.problem(view.index[category], slot)
    return problem.reason if problem else None


def test_a_doubled_box_goes_and_with_it_both_doubts() -> None:
    before = scene()
    assert doubts(before) == {("count_differs_from_boxes", "printer"), ("doubled_box", "printer")}
    after = fixed(before, fix("drop_object", of="printer", instance=1, expect=SIDE, set=None))
    assert after.facts.counts == {"table": 2, "printer": 1, "sofa": 1}
    assert boxes_of(after) == {"printer": [1.0], "sofa": [2.0], "table": [0.0, 3.0]}
    assert after.findings == ()
    assert refused(before, "unique", "printer") == "count_differs_from_boxes"
    assert refused(after, "unique", "printer") is None


def test_a_count_that_agreed_with_the_boxes_goes_with_them() -> None:
    after = fixed(scene(), fix("drop_object", of="table", instance=0, expect={"center_m": [0, 0, 0.5]}, set=None))
    assert (after.facts.counts["table"], boxes_of(after)["table"]) == (1, [3.0])


def test_an_object_without_a_box_is_added_and_counted() -> None:
    """Beside two tables a third; of printers one is stated and two have boxes, so that the statement stays."""
    place = {"center_m": [5, 0, 0.5], "lengths_m": [1, 1, 1]}
    more = [fix("add_object", id=f"made-{of}", of=of, expect=2, set=place) for of in ("table", "printer")]
    after = fixed(scene(), *more, fix("rename", expect="table", set="desk"))
    assert (after.facts.counts["desk"], boxes_of(after)["desk"]) == (3, [0.0, 3.0, 5.0])
    assert (after.facts.counts["printer"], len(boxes_of(after)["printer"])) == (1, 3)
    first = fixed(scene(), fix("add_object", of="piano", expect=0, set=place))
    assert (first.facts.counts["piano"], boxes_of(first)["piano"]) == (1, [5.0])
    with pytest.raises(ValueError, match="set needs center_m and lengths_m"):
        fix("add_object", of="piano", expect=0, set={"center_m": [5, 0, 0.5]})


def test_an_object_of_another_category() -> None:
    after = fixed(scene(), fix("category", of="table", instance=1, expect=SIDE, set="desk"))
    assert after.facts.counts == {"desk": 1, "printer": 1, "sofa": 1, "table": 1}
    assert boxes_of(after)["desk"] == [3.0]


def test_a_category_of_another_name() -> None:
    after = fixed(scene(), fix("rename", expect="printer", set="copier"))
    assert after.facts.counts == {"copier": 1, "sofa": 1, "table": 2}
    assert {subject for _, subject in doubts(after)} == {"copier"}


@pytest.mark.parametrize("found", ["called_otherwise", "others_in_view", "two_boxes_of_one"])
def test_what_people_saw_of_a_category_keeps_it_from_being_asked(found: str) -> None:
    after = fixed(scene(), fix("seen", of="table", expect=2, set=found))
    assert {refused(after, slot, "table") for slot in ("counted", "boxed", "seen")} == {found}
    assert refused(after, "unique", "sofa") is None
    (seen,) = (f for f in after.findings if f.name == found)
    assert (seen.subject, seen.measured, seen.limit, seen.unit) == ("table", 1, 0, "objects")
    assert seen.message.startswith("me looked at table in pictures of the video: ")
    assert (after.facts.counts, boxes_of(after)) == (scene().facts.counts, boxes_of(fixed(scene())))


def test_what_people_found_right_is_noted_and_what_changed_under_them_refused() -> None:
    after = fixed(scene(), fix("seen", of="table", expect=2, set="right"))
    assert [(f.severity, f.name) for f in after.findings if f.subject == "table"] == [("note", "looked_at_by_people")]
    assert refused(after, "counted", "table") is None
    with pytest.raises(UnexpectedError, match="boxes of table: expected 3, found 2"):
        fix("seen", of="table", expect=3, set="right").check(scene())


def test_the_order_of_fixes_changes_nothing() -> None:
    fixes = [
        fix("rename", expect="table", set="desk"),
        fix("drop_object", of="table", instance=0, expect=SIDE, set=None),
        fix("box", of="table", instance=1, expect={"center_m": [3, 0, 0.5]}, set={"center_m": [3, 1, 0.5]}),
        fix("category", of="sofa", expect=SIDE, set="table"),
        fix("add_object", id="made-y", of="sofa", expect=1, set={"center_m": [9, 0, 0], "lengths_m": [1, 1, 1]}),
        fix("add_object", id="made-x", of="sofa", expect=1, set={"center_m": [8, 0, 0], "lengths_m": [1, 1, 1]}),
        fix("seen", id="made-b", of="printer", expect=2, set="two_boxes_of_one"),
        fix("seen", id="made-a", of="sofa", expect=1, set="right"),
    ]
    assert fixed(scene(), *fixes) == fixed(scene(), *reversed(fixes))
    assert boxes_of(fixed(scene(), *fixes)) == {
        "desk": [3.0],
        "printer": [1.0, 1.0],
        "sofa": [8.0, 9.0],
        "table": [2.0],
    }


def test_of_a_count_without_boxes_only_the_count_is_asked() -> None:
    """As the towels of scene0664_02: twelve in the video, two boxes."""
    after = fixed(scene(), fix("count", of="table", expect=2, set=12))
    assert after.facts.counts["table"] == 12
    assert ("count_differs_from_boxes", "table") not in doubts(after), "somebody counted"
    assert refused(after, "counted", "table") is None
    assert refused(after, "boxed", "table") == "boxes_missing"
    one = fixed(scene(), fix("count", of="table", expect=2, set=1))
    assert refused(one, "unique", "table") == "boxes_missing", "which of the two is it?"


def test_a_doubt_about_a_label_ends_where_somebody_counted() -> None:
    doubted = scene().model_copy(update={"findings": (doubt("doubtful_label", "table", "tables", "count", 1, 0),)})
    assert fixed(doubted, fix("count", of="table", expect=2, set=2)).findings == ()


def test_the_room_and_the_turn_of_the_video() -> None:
    doubted = scene().model_copy(update={"findings": (doubt("incomplete_floor", "room", "holes", "look"),)})
    after = fixed(doubted, fix("room_area", expect=20.004, set=24), fix("rotation", expect=0, set=90))
    assert (after.facts.room.area_m2, after.video.turn_deg, after.findings) == (24.0, 90, ())


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (fix("count", of="table", expect=3, set=4), "count of table: expected 3, found 2"),
        (fix("count", of="piano", expect=1, set=2), "count of piano: expected 1, found 0"),
        (fix("drop_object", of="table", expect=SIDE, set=None), "there are 2 objects table: say which with instance"),
        (fix("drop_object", of="table", instance=2, expect=SIDE, set=None), "no table #2; the scene has 2"),
        (
            fix("category", of="sofa", expect={"center_m": [2, 2.02, 0.5]}, set="bed"),
            r"found center_m \[2.0, 2.0, 0.5\]",
        ),
        (
            fix("add_object", of="table", expect=3, set={"center_m": [0, 0, 0], "lengths_m": [1, 1, 1]}),
            "boxes of table: expected 3, found 2",
        ),
        (fix("rename", expect="piano", set="organ"), "expected a category piano, found printer, sofa, table"),
        (fix("room_area", expect=None, set=24), "expected not measured, found 20 m2"),
        (fix("room_area", expect=20.1, set=24), "expected 20.1 m2, found 20 m2"),
        (fix("rotation", expect=180, set=90), "turn of the video: expected 180, found 0"),
    ],
)
def test_a_wrong_expectation_is_told_with_what_was_found(wrong: Any, says: str) -> None:
    with pytest.raises(UnexpectedError, match=says):
        wrong.check(scene())


def test_numbers_are_expected_to_the_centimetre() -> None:
    fix("drop_object", of="sofa", expect={"center_m": [2.009, 2, 0.5]}, set=None).check(scene())
    with pytest.raises(UnexpectedError):
        fix("drop_object", of="sofa", expect={"center_m": [2.011, 2, 0.5]}, set=None).check(scene())


def test_every_kind_says_what_it_does_and_is_about() -> None:
    assert {target_of(kind) for kind in FIXES} == {
        "count", "box", "category", "drop_object", "add_object", "rename", "room_area", "rotation", "seen"
    }  # fmt: skip
    made = fix("category", of="table", instance=1, expect=SIDE, set="desk")
    assert (made.change, made.subjects) == ("table #1 is a desk", ("table", "desk"))


def test_drafts_state_what_is_there_and_change_nothing() -> None:
    """Of several of a name each has its number; where none of the names is there or counted, the room is meant."""
    before = scene()
    found = drafts(before, ["table", "sofa", "lamp"])
    assert [(one["target"], one["of"], one.get("instance"), one["set"]) for one in found] == [
        ("count", "table", None, 2),
        ("drop_object", "table", 0, None),
        ("drop_object", "table", 1, None),
        ("count", "sofa", None, 1),
        ("drop_object", "sofa", None, None),
    ]
    counted = before.with_facts(counts={"table": 2, "lamp": 3})
    assert drafts(counted, ["lamp"]) == [{"target": "count", "of": "lamp", "expect": 3, "set": 3}]
    uncounted = drafts(before.with_facts(counts={}), ["sofa"])
    assert [(one["target"], one["set"]) for one in uncounted] == [("count", 0), ("drop_object", None)]
    assert [one["set"] for one in drafts(make_scene([], area=20.126), [])] == [20.13]
    room = drafts(before, ["lamp"])
    assert room == [{"target": "room_area", "expect": 20.0, "set": 20.0}]
    for one in (*found, *room):
        fix(**one).check(before)
    kept = [fix(**one) for one in (*found, *room) if one["set"] is not None]
    after = fixed(before, *kept).facts
    assert (after.counts, len(after.objects), after.room.area_m2) == ({"table": 2, "printer": 1, "sofa": 1}, 5, 20.0)
