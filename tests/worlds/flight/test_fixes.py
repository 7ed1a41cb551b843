"""Corrections of flights."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.fixes import Fix, UnexpectedError, target_of
from pipeline.engine.config import build_config
from pipeline.stages.builder import Builder
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.fixes import drafts, fix_flight
from pipeline.worlds.registry import FIXES
from tests.benchmarks.urbanvideo.flights import flight
from tests.builds import UNASKED, results_of, rows_of

HALL = Landmark(name="City Hall", center=(10, 20), radius_m=5, outline=((5, 15), (15, 15), (10, 25)))
TWINS = [Landmark(name="Kiosk", center=(x, 0), radius_m=1) for x in (0.0, 50.0)]


def fix(target: str, **keys: Any) -> Any:
    kind: type[Fix] = next(kind for kind in FIXES if target_of(kind) == target)
    common = {"id": f"made-{target}", "scene": "one", "target": target, "why": "seen", "who": "me"}
    return kind.model_validate(common | {"date": "2026-01-31"} | keys)


def fixed(*fixes: Any) -> Any:
    before = flight(None, [HALL, *TWINS], goal="City Hall")
    for one in fixes:
        one.check(before)
    return fix_flight(before, fixes).facts


def test_landmarks_go_move_and_change_their_names() -> None:
    facts = fixed(
        fix("landmark_position", of="City Hall", expect={"center_m": [10.1, 20]}, set={"center_m": [12, 17]}),
        fix("drop_landmark", of="Kiosk", instance=0, expect={"center_m": [0, 0]}, set=None),
        fix("landmark_name", of="Kiosk", instance=1, expect="Kiosk", set="Bakery"),
    )
    hall, bakery = facts.landmarks
    assert (hall.center, hall.outline) == ((12, 17), ((7, 12), (17, 12), (12, 22)))
    assert (bakery.name, bakery.center) == ("Bakery", (50, 0))


def test_the_goal_and_the_time_of_the_video() -> None:
    facts = fixed(fix("goal", expect="City Hall", set="Kiosk"), fix("video_offset_s", expect=0, set=1.5))
    assert (facts.goal, facts.video_offset_s) == ("Kiosk", 1.5)


@pytest.mark.parametrize(
    ("target", "keys", "says"),
    [
        ("drop_landmark", {"of": "Kiosk", "expect": {"center_m": [0, 0]}, "set": None}, "2 landmarks Kiosk: say which"),
        ("drop_landmark", {"of": "Mill", "expect": {"center_m": [0, 0]}, "set": None}, "no landmark Mill; 0 have"),
        (
            "landmark_position",
            {"of": "City Hall", "expect": {"center_m": [10, 20.11]}, "set": {"center_m": [0, 0]}},
            r"expected center_m \[10.0, 20.11\], found \[10.0, 20.0\]",
        ),
        ("landmark_name", {"of": "City Hall", "expect": "Hall", "set": None}, "expected Hall, found City Hall"),
        ("goal", {"expect": None, "set": "Kiosk"}, "goal: expected None, found City Hall"),
        ("video_offset_s", {"expect": 2.5, "set": 3}, "video_offset_s: expected 2.5, found 0"),
    ],
)
def test_a_wrong_expectation_is_told(target: str, keys: dict[str, Any], says: str) -> None:
    with pytest.raises(UnexpectedError, match=says):
        fixed(fix(target, **keys))


@pytest.mark.parametrize(("expected", "fits"), [(4.0, True), (3.991, True), (4.011, False), (-4.0, False)])
def test_a_corrected_number_is_expected_to_a_hundredth(expected: float, fits: bool) -> None:
    before = flight(None, [HALL])
    before = before.model_copy(update={"facts": before.facts.model_copy(update={"video_offset_s": 4.0})})
    one = fix("video_offset_s", expect=expected, set=0)
    if fits:
        one.check(before)
    else:
        with pytest.raises(UnexpectedError, match="found 4"):
            one.check(before)


def test_headings_are_turned() -> None:
    assert fixed(fix("heading_offset_deg", expect=0, set=-90)).heading_offset_deg == -90
    with pytest.raises(UnexpectedError, match="expected 5, found 0"):
        fixed(fix("heading_offset_deg", expect=5, set=-90))


ENTRY = (
    "- {id: sample_city-0001, scene: city_hall, target: heading_offset_deg, expect: 0, set: 90,"
    " why: a compass near metal, who: me, date: 2026-01-31}\n"
)


@pytest.mark.slow
def test_a_build_asks_by_corrected_headings_and_names_the_fix(flights: Path, tmp_path: Path) -> None:
    """With a nose that points 90 degrees farther to the right, what was flown forward is flown to the left."""
    shutil.copytree(flights / "city_hall", tmp_path / "root" / "city_hall")
    (tmp_path / "fixes").mkdir()
    given = {
        "benchmark": "urbanvideo",
        "roots": {"flights": tmp_path / "root"},
        "video": False,
        "author": {"model": None},
    }
    config = build_config(given | UNASKED | {"fixes": {"folder": str(tmp_path / "fixes")}})
    tasks: list[dict[str, str]] = []
    for entries in ("", ENTRY):
        (tmp_path / "fixes" / "sample_city.yaml").write_text(entries, encoding="utf-8")
        outcome = Builder(config, tmp_path / "out").build()
        assert not outcome.quarantine
        (scene,) = (
            json.loads(raw) for (stage, _), raw in results_of(tmp_path / "out", outcome).items() if stage == "observe"
        )
        flown = scene["facts"]["motion"]["segments"]
        tasks.append({f"{s['start_s']:.0f}": "+".join(s["actions"]) for s in flown})
    before, after = tasks
    turned = [(before[t], after[t]) for t in before if t in after and before[t] == "fly forward"]
    assert len(turned) >= 3
    assert {now for _, now in turned} == {"fly left"}
    named = [
        row["fixes"] for row in rows_of(tmp_path / "out" / "release" / "provenance" / "test-00000-of-00001.parquet")
    ]
    assert named
    assert all(fixes == ["sample_city-0001"] for fixes in named)


def test_drafts_state_what_is_there_and_change_nothing() -> None:
    """Of several of a name each has its number."""
    before = flight(None, [HALL, *TWINS], goal="City Hall")
    found = drafts(before, ["City Hall", "Kiosk", "Kiosk", "Mill"])
    assert [(one["target"], one.get("of"), one.get("instance")) for one in found] == [
        *((target, None, None) for target in ("video_offset_s", "heading_offset_deg", "goal")),
        *((target, "City Hall", None) for target in ("drop_landmark", "landmark_position")),
        *((target, "Kiosk", number) for number in (0, 1) for target in ("drop_landmark", "landmark_position")),
    ]
    for one in found:
        fix(**one).check(before)
    mast = Landmark(name="Mast", center=(0.04, 12.36), radius_m=1)
    assert drafts(flight(None, [mast]), ["Mast"])[-1]["set"] == {"center_m": [0.0, 12.4]}
    kept = [fix(**one) for one in found if one["set"] is not None]
    assert fixed(*kept) == before.facts
