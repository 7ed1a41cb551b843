"""A panorama of which nobody marked anything: what two models see of it, each for itself, becomes questions."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.registry import ERGEO_TASKS
from pipeline.benchmarks.ergeobench.view import ErgeoView, extents, outlines
from pipeline.core.errors import StoreError
from pipeline.engine.config import build_config
from pipeline.geometry.views import PinholeView
from pipeline.llm.base import Image, Reply, Request, Text
from pipeline.llm.failures import ModelError
from pipeline.questions.model_authoring import MODEL_ASSISTED
from pipeline.reading.reader import PanoramaGeometry
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.panorama.facts import DeclaredView, PanoramaScene
from pipeline.worlds.panorama.look import (
    _angles,
    _overlaps,
    _read,
    _Seen,
    _Sighting,
    calls,
    is_whole,
    look_at_panorama,
    matched,
    merged,
    views_of,
)
from tests.benchmarks.ergeobench.made import scene
from tests.builds import UNASKED, results_of
from tests.llm.asking import KEY
from tests.llm.fake_server import running
from tests.worlds.panorama.panoramas import texture, write

MOST = 40


@dataclass(frozen=True)
class Thing:
    """What is there, by yaw, width, lowest and highest pitch."""

    label: str
    angles: tuple[float, float, float, float]
    slot: str = "Infrastructure"
    name: str = ""
    kind: str = ""
    colour: str = ""


BENCH, SIGN = Thing("bench", (20, 8, -9, -1), colour="green"), Thing("sign", (100, 12, 4, 10), "Signage", "DEL SOL")
CAFE = Thing("café", (60, 20, -8, 12), "Architecture", "SOL", "cafe")
TREES = (Thing("tree", (-60, 14, -5, 30), "Vegetation"), Thing("tree", (178, 12, -5, 20), "Vegetation"))
WALL, ROOF = (
    Thing("wall", (-120, 100, -12, 8), "Architecture"),
    Thing("roof sign", (20, 14, 42, 50), "Signage", "HOTEL"),
)
ALL = (BENCH, SIGN, CAFE, *TREES, WALL, ROOF)
CUES = {"density": "closed rows of houses", "age": "unclear", "driving side": "right", "script": "Latin"} | {
    "slope": "level",
    "climate": "Mediterranean",
}


def bare(**changes: Any) -> PanoramaScene:
    return scene(heading_deg=None, **changes)


def boxes(things: Sequence[Thing], view: Any) -> list[dict[str, Any]]:
    """What is seen of some things in a view, cut at its edges."""
    found = []
    for thing in things:
        yaw, width, low, high = (np.array([angle], dtype=float) for angle in thing.angles)
        left, right, bottom, top = extents(outlines(yaw, width, low, high), view)[0]
        if not np.isnan(left) and min(right, top) > -1 and max(left, bottom) < 1:
            edges = np.clip([(left + 1) / 2, (1 - top) / 2, (right + 1) / 2, (1 - bottom) / 2], 0, 1) * 1000
            said = {key: getattr(thing, key) for key in ("label", "slot", "name", "kind", "colour")}
            found.append(said | {"box": edges.round(1).tolist(), "whole": True})
    return found


def model(
    own: PanoramaScene, things: Sequence[Thing], seen: list[str] | None = None, **cues: str
) -> Callable[..., Reply]:
    """A model that sees some things; views are asked about in their order."""
    views = iter(views_of(own))

    def ask(request: Request) -> Reply:
        parts = request.messages[0].parts
        if seen is not None:
            seen.append(next(part.text for part in parts if isinstance(part, Text)))
        if sum(isinstance(part, Image) for part in parts) > 1:
            return Reply(json.dumps(CUES | cues))
        return Reply(json.dumps({"things": boxes(things, next(views))}))

    return ask


def geometry(own: PanoramaScene) -> PanoramaGeometry:
    return PanoramaGeometry(
        color=texture, depth_m=lambda: None, gazetteer=lambda: None, surroundings=lambda at: None, twins=()
    )


def looked(first: Sequence[Thing] = ALL, second: Sequence[Thing] = ALL, **cues: str) -> PanoramaScene:
    own = bare()
    return look_at_panorama(own, geometry(own), (model(own, first), model(own, second, **cues)), MOST)


def test_things_that_both_see_are_known_once_and_where_they_are() -> None:
    found = looked()
    sure = {own.label: own for own in found.facts.objects if own.doubt is None and own.label != "tree"}
    assert set(sure) == {"bench", "sign", "café", "roof sign"}
    for thing in (BENCH, SIGN, CAFE):
        own = sure[thing.label]
        assert (own.yaw_deg, own.width_deg) == pytest.approx(thing.angles[:2], abs=1.0)
        assert (own.pitch_low_deg, own.pitch_high_deg) == pytest.approx(thing.angles[2:], abs=2.5)
    roof = sure["roof sign"]  # an upright box in a tilted view is wider than what it holds
    assert (roof.pitch_low_deg, roof.pitch_high_deg) == pytest.approx(ROOF.angles[2:], abs=2.5)
    assert (roof.yaw_deg, roof.width_deg) == pytest.approx((20, 17), abs=3)
    assert [own.yaw_deg for own in found.facts.objects if own.label == "tree"] == pytest.approx([-60, 178], abs=0.5)
    assert {own.doubt for own in found.facts.objects if own.label == "wall"} == {"no view shows all of it"}
    assert found.facts.complete == ("bench", "café", "roof sign", "sign", "tree", "wall")
    assert sure["café"].kind == "cafe"
    assert sure["bench"].attributes == {"colour": "green"}
    assert set(sure["sign"].source_tags) == {"proposed", "confirmed"}
    assert '"DEL SOL"' in sure["sign"].source_tags["confirmed"]


def test_what_one_model_alone_sees_is_doubted_and_its_label_is_not_complete() -> None:
    other = Thing("bench", (-20, 8, -9, -1))
    found = looked(ALL, [replace(CAFE, kind="bar"), replace(SIGN, name="DEL SUR"), other, BENCH, *TREES])
    doubts = {(own.label, round(own.yaw_deg, -1)): own.doubt for own in found.facts.objects}
    assert doubts["bench", 20] is None
    assert doubts["bench", -20] == "the second of two models alone sees it"
    assert doubts["roof sign", 20] == "the first of two models alone sees it"
    assert "differ in its kind" in str(doubts["café", 60])
    assert [own.name for own in found.facts.objects if own.label == "sign"] == [None], "they read different words"
    assert found.facts.complete == ("café", "sign", "tree")


def test_the_second_is_told_labels_and_not_where() -> None:
    own, seen = bare(views=(DeclaredView(name="quay", yaw_deg=5.0),)), list[str]()
    look_at_panorama(own, geometry(own), (model(own, ALL), model(own, ALL, seen)), MOST)
    assert len(seen) == calls(own, MOST) == 16
    assert all("bench, café, roof sign, sign, tree, wall" in text for text in seen[:-1])
    assert not any("DEL SOL" in text for text in seen)


def test_a_bare_panorama_yields_questions_of_most_tasks_and_all_say_so() -> None:
    found = ErgeoView(looked(), ErgeoRules())
    asked = {
        name: [row for row in task.candidates(found).to_pylist() if row["reason"] is None]
        for name, task in ERGEO_TASKS.items()
    }
    assert {name for name, rows in asked.items() if rows} >= {
        *("Architecture", "Infrastructure", "Signage", "Terrain", "Vegetation", "Yaw Estimation", "2D Positioning"),
        *("Left/Right Relative", "Cross View"),
    }
    rows = [row for name, rows in asked.items() if not name.startswith("Geo") for row in rows]
    assert all(row["flags"].count(MODEL_ASSISTED) == 1 for row in rows)
    (slope,) = (row for row in asked["Terrain"])
    assert (slope["answer"], len(slope["wrong"]), "panorama" in slope["flags"]) == ("level", 2, True)


def test_cues_are_those_on_which_both_agree_and_that_fit_the_country() -> None:
    found = looked(slope="steep").facts.cues
    assert found == {cue: value for cue, value in CUES.items() if cue not in {"age", "slope"}}
    wrong = bare(cues={"driving side": "left"})
    rows = ERGEO_TASKS["Infrastructure"].candidates(ErgeoView(wrong, ErgeoRules())).to_pylist()
    assert [(row["reason"], row["measured"]) for row in rows] == [("unlike_its_country", 0.0)]


def test_boxes_that_barely_overlap_are_refused_by_a_stricter_limit() -> None:
    moved = replace(BENCH, angles=(22, 8, -9, -1))
    rules = ErgeoRules(agreement_min=0.9)
    rows = ERGEO_TASKS["Infrastructure"].candidates(ErgeoView(looked(ALL, [moved]), rules)).to_pylist()
    assert "models_disagree" in {row["reason"] for row in rows}


def test_without_a_second_model_or_an_answer_nothing_is_used() -> None:
    own = bare()
    alone = look_at_panorama(own, geometry(own), (model(own, ALL),), MOST)
    assert [finding.name for finding in alone.findings] == ["nothing_confirms_objects"]

    def fails(kind: str) -> Callable[..., Reply]:
        def ask(request: Request) -> Reply:
            raise ModelError(kind, "no more today")

        return ask

    failed = look_at_panorama(own, geometry(own), (model(own, ALL), fails("quota")), MOST)
    assert not is_whole(failed)
    assert is_whole(alone)
    assert failed.facts == own.facts
    with pytest.raises(StoreError, match="run it again"):
        look_at_panorama(own, geometry(own), (fails("closed"), fails("closed")), MOST)
    known = bare(complete=("tree",))
    assert look_at_panorama(known, geometry(known), (), MOST) is known
    assert calls(known, MOST) == 0


def test_a_build_asks_both_models_over_the_protocol_and_a_reply_that_is_no_box_costs_that_thing(tmp_path: Path) -> None:
    bench = {"label": "bench", "box": [400, 500, 500, 600], "slot": "Terrain", "name": "", "kind": "", "colour": ""}
    things = [bench | {"whole": True}, bench | {"whole": True, "box": [500, 500, 400, 600]}]
    replies = {"view of a street": json.dumps({"things": things}), "whole. Judge": json.dumps(CUES)}
    with running(replies=replies) as server:
        model = {"provider": "openai", "base_url": f"{server.address}/v1", "key_env": "PLANTED_KEY", "attempts": 1}
        models = {key: model | {"model": key, "inputs": ["text", "image"]} for key in ("model", "second")}
        limits = {"panorama": {"pixels_per_degree_min": 0.0, "sharpness_min": 0.0}}
        own = {"build": "ergeobench", "benchmark": "ergeobench", "roots": {"panoramas": write(tmp_path / "raw")}}
        made = build_config(own | UNASKED | {"observe": limits, "describe": models | {"things": 2}})
        stages = {name: STAGES[name] for name in ("unify", "fix", "video", "observe", "describe", "generate")}
        outcome = Builder(made, tmp_path / "out", keys={"PLANTED_KEY": KEY}, stages=stages).build()
        assert len(server.records()) == 6
    found = PanoramaScene.model_validate_json(results_of(tmp_path / "out", outcome)["describe", "panoramas/p1"])
    assert [(one.label, one.slot) for one in found.facts.objects] == [("bench", "Terrain")] * 2
    (looked_at,) = (finding for finding in found.findings if finding.name == "objects_proposed")
    assert looked_at.measured == 2


def test_boxes_overlap_by_what_they_share_of_all_that_they_cover() -> None:
    """Squares of 2 x 2 that share 1 of 7; that are apart, in one direction or in both; and of another label."""
    first = [SimpleNamespace(label="door", box=(0, 0, 2, 2))]
    boxes = [(1, 1, 3, 3), (0, 0, 2, 2), (0, 5, 2, 7), (5, 5, 7, 7)]
    second = [SimpleNamespace(label="door", box=box) for box in boxes]
    second.append(SimpleNamespace(label="window", box=(0, 0, 2, 2)))
    assert _overlaps(first, second) == pytest.approx(np.array([[1 / 7, 1, 0, 0, 0]]))


def one(label: str, *box: float, **more: Any) -> _Seen:
    usual = {"slot": "Terrain", "name": "", "kind": "", "colour": "", "whole": True}
    return _Seen(label=label, box=box, **(usual | more))  # type: ignore[arg-type]


VIEW = PinholeView(yaw_deg=170.0, width=640, height=480)


@pytest.mark.parametrize(
    ("first", "second", "pairs"),
    [
        ([one("a", 0, 0, 200, 100)], [one("a", 0, 0, 100, 100)], [(0, 0)]),  # half of all that they cover
        ([one("a", 0, 0, 200, 100)], [one("a", 0, 0, 99, 100)], [(0, None), (None, 0)]),
        ([one("a", 0, 0, 100, 100)], [one("b", 0, 0, 100, 100)], [(0, None), (None, 0)]),
        # The second's first is best with the first's second, so the first's first has the rest.
        (
            [one("a", 0, 0, 100, 100), one("a", 10, 0, 100, 100)],
            [one("a", 12, 0, 100, 100), one("a", 300, 0, 400, 100)],
            [(0, None), (1, 0), (None, 1)],
        ),
        ([], [one("a", 0, 0, 9, 9)], [(None, 0)]),
        ([one("a", 0, 0, 9, 9)], [], [(0, None)]),
    ],
)
def test_pairs_are_of_those_that_overlap_most_with_each_other(first: Any, second: Any, pairs: Any) -> None:
    found = list(matched(VIEW, first, second))
    told = [(x.first and first.index(x.first), x.second and second.index(x.second)) for x in found]
    assert told == pairs
    for sighting in found:
        both = sighting.first is not None and sighting.second is not None
        assert sighting.overlap == (
            pytest.approx(_overlaps([sighting.first], [sighting.second])[0, 0]) if both else 0.0
        )


@pytest.mark.parametrize(
    ("first", "second", "doubt"),
    [
        (one("a", 5.1, 6, 994.9, 990), one("a", 5, 6, 9, 9), None),
        (one("a", 5, 6, 9, 9), None, "the first of two models alone sees it"),
        (None, one("a", 5, 6, 9, 9), "the second of two models alone sees it"),
        (one("a", 5.0, 6, 9, 9), one("a", 6, 6, 9, 9), "no view shows all of it"),
        (one("a", 6, 6, 9, 995), one("a", 6, 6, 9, 9), "no view shows all of it"),
        (one("a", 6, 6, 9, 9, whole=False), one("a", 6, 6, 9, 9), "it is hidden in part"),
        (one("a", 6, 6, 9, 9), one("a", 6, 6, 9, 9, whole=False), "it is hidden in part"),
        (
            one("a", 6, 6, 9, 9, kind="bar"),
            one("a", 6, 6, 9, 9, kind="cafe"),
            "two models differ in its kind: 'bar' and 'cafe'",
        ),
    ],
)
def test_why_nothing_is_asked_of_a_thing(first: Any, second: Any, doubt: str | None) -> None:
    assert _Sighting(VIEW, first, second, 0.8).doubt == doubt


def test_angles_of_boxes_by_hand() -> None:
    """In a level view of 90 degrees, 640 by 480 pixels, that looks at 170: pixels are 320 to the tangent of 1."""
    yaw, width, low, high = _angles(_Sighting(VIEW, one("a", 500, 500, 1000, 1000), None, 0.0))
    right = np.degrees(np.arctan(319.5 / 320))
    assert width == pytest.approx(right - np.degrees(np.arctan(-0.5 / 320)) + 0.0, abs=0.1)
    assert yaw == pytest.approx((170 + right / 2 + 180) % 360 - 180, abs=0.1)
    assert low == pytest.approx(-np.degrees(np.arctan(240 / 320)), abs=0.1)
    assert high == pytest.approx(0.0, abs=0.1)
    behind = _angles(_Sighting(VIEW, one("a", 600, 400, 700, 500), None, 0.0))
    ahead = _angles(_Sighting(replace_view(0.0), one("a", 600, 400, 700, 500), None, 0.0))
    assert 10 < ahead[0] < 45
    assert behind == pytest.approx((ahead[0] + 170 - 360, *ahead[1:]))


def replace_view(yaw_deg: float) -> PinholeView:
    return PinholeView(yaw_deg=yaw_deg, width=640, height=480)


def test_a_thing_of_several_views_is_kept_once_the_surest_first() -> None:
    """In a view and in one turned by 5 degrees; what an edge cuts is the same by a tenth, else by half."""
    near = replace_view(5.0)
    sure = _Sighting(replace_view(0.0), one("a", 400, 400, 500, 600), one("a", 400, 400, 500, 600), 0.9)
    less = _Sighting(near, one("a", 350, 400, 450, 600), one("a", 350, 400, 450, 600), 0.7)
    other = _Sighting(near, one("b", 350, 400, 450, 600), one("b", 350, 400, 450, 600), 0.7)
    cut = _Sighting(replace_view(-30.0), one("a", 700, 3, 790, 500), one("a", 700, 3, 790, 500), 0.95)
    objects, complete = merged([cut, less, other, sure])
    assert sorted((own.label, own.agreement) for own in objects) == [("a", 0.9), ("b", 0.7)]
    assert complete == ("a", "b")
    assert [own.id for own in objects] == ["seen 001", "seen 002"]
    assert [own.yaw_deg for own in objects] == sorted(own.yaw_deg for own in objects)
    alone = _Sighting(near, one("b", 700, 400, 750, 600), None, 0.0)
    objects, complete = merged([sure, other, alone])
    assert ([own.label for own in objects], complete) == (["b", "a", "b"], ("a",))
    apart = _Sighting(replace_view(0.0), one("a", 460, 400, 560, 600), one("a", 460, 400, 560, 600), 0.5)
    assert len(merged([sure, apart])[0]) == 2, "four tenths of it"
    within = _Sighting(replace_view(0.0), one("a", 440, 400, 540, 600), one("a", 440, 400, 540, 600), 0.5)
    assert len(merged([sure, within])[0]) == 1, "six tenths of it"
    assert merged([]) == ((), ())


@pytest.mark.parametrize(
    ("change", "is_read"),
    [
        ({}, True),
        ({"box": [0, 0, 1000, 1000]}, True),
        ({"box": [-1, 0, 9, 9]}, False),
        ({"box": [0, -1, 9, 9]}, False),
        ({"box": [0, 0, 1001, 9]}, False),
        ({"box": [0, 0, 9, 1001]}, False),
        ({"box": [9, 0, 9, 9]}, False),
        ({"box": [0, 9, 9, 9]}, False),
        ({"label": "be\u202enched"}, False),
        ({"name": ""}, True),
    ],
)
def test_replies_that_are_a_thing(change: dict[str, Any], is_read: bool) -> None:
    usual = {"label": " Park  BENCH ", "box": [1, 2, 3, 4], "slot": "Terrain", "name": "The  Sun", "kind": "BAR"}
    found = _read(usual | {"colour": " ", "whole": False} | change)
    assert (found is not None) is is_read
    if found is not None:
        assert (found.label, found.kind, found.colour, found.whole) == ("park bench", "bar", "", False)
        assert found.name == ("" if "name" in change else "The Sun")


def test_the_cues_are_those_of_level_views_all_around() -> None:
    own, numbers = bare(views=(DeclaredView(name="quay", yaw_deg=5.0),)), list[int]()

    def ask(request: Request) -> Reply:
        count = sum(isinstance(part, Image) for part in request.messages[0].parts)
        numbers.append(count)
        return Reply(json.dumps(CUES if count != 1 else {"things": boxes([BENCH], VIEW)}))

    views = views_of(own)
    level = [view for view in views[1:] if view.pitch_deg == 0]
    for most, pictures in ((40, len(level)), (3, 3)):
        numbers.clear()
        look_at_panorama(own, geometry(own), (ask, ask), most)
        many = [count for count in numbers if count != 1]
        assert many == [pictures, pictures]
