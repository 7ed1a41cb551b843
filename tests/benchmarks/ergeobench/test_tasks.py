import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.benchmarks.ergeobench.agent import FILE, agent_files, source_lines
from pipeline.benchmarks.ergeobench.columns import table
from pipeline.benchmarks.ergeobench.hypothesis import find_hypothesis
from pipeline.benchmarks.ergeobench.rules import GEO, SLOTS, ErgeoRules
from pipeline.benchmarks.ergeobench.tasks.common_sense import needs
from pipeline.benchmarks.ergeobench.tasks.geo import coarse
from pipeline.benchmarks.ergeobench.tasks.spatial import SECTORS, sector
from pipeline.benchmarks.ergeobench.view import ErgeoView, aimed, extents, marks_of, outlines, standard_view
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.findings import doubt
from pipeline.core.schema import Origin
from pipeline.core.tables import selected_questions
from pipeline.core.templates import load_table
from pipeline.worlds.panorama.facts import PanoramaLandmark, PanoramaScene
from tests.benchmarks.ergeobench.made import asked, for_oracle, scene, seen, selected, street, tables
from tests.options import option_faults
from tests.oracles.panorama_answers import answers, bare
from tests.oracles.sphere_dots import box_in
from tests.tables import digest_of_rows

FAR = seen("z", 178, "statue")  # so that something else is there


@cache
def of_street(seed: int) -> Any:
    return selected(street(seed))


def reasons(panorama: PanoramaScene, task: str, **rules: Any) -> dict[tuple[str, ...], str]:
    """Operands -> why a candidate of a task is not asked; "" where it is."""
    (found,) = tables(panorama, ErgeoRules(**rules), [task])
    return {tuple(row["operands"]): row["reason"] or "" for row in found.to_pylist()}


def reason(panorama: PanoramaScene, task: str, name: str = "a", **rules: Any) -> str:
    """Of the candidate about an object, or of the only one."""
    found = reasons(panorama, task, **rules)
    return next((why for operands, why in found.items() if operands[0] == name), "none")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 7])
def test_an_oracle_answers_every_question_again(seed: int) -> None:
    panorama, counts = street(seed), Counter[str]()
    for row in for_oracle(selected_questions(of_street(seed))):
        if row["options"]:
            counts[row["task"]] += 1
            truth = bare(row["options"])["ABCDEFGHIJ".index(row["ground_truth"])]
            assert answers(panorama.facts, row) == [truth], row
    assert len(counts) >= 12
    assert sum(counts.values()) >= 80


def test_of_the_same_words_each_answer_is_right_as_often() -> None:
    """So the text alone tells nothing: statements, choices, and the distances of one label."""
    found: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in asked(street(7), cap=1000):
        if row["task"] in SLOTS:
            kind, what = row["operands"][:2]
            found[row["task"], kind, what, tuple(sorted(bare(row["options"])))][row["answer"]] += 1
        elif row["task"] == "Depth Estimation":
            (label,) = {o.label for o in street(7).facts.objects if o.id == row["operands"][0]}
            found[row["task"], label, tuple(sorted(bare(row["options"])))][row["answer"]] += 1
    assert len(found) > 15
    for key, counts in found.items():
        assert set(counts) == set(key[-1]), key
        assert len(set(counts.values())) == 1, key


def test_options_are_possible() -> None:
    assert not option_faults(selected_questions(of_street(0)).to_pylist())


def test_ids_do_not_follow_the_order_and_answers_do_not_follow_the_turn_of_the_picture() -> None:
    """What is to the left stays so when the picture is turned; ids are those of the objects."""
    one = scene(seen("a", 10, "bench"), seen("b", 40, "tree"), FAR)
    turned = scene(seen("a", 150, "bench"), seen("b", 180, "tree"), seen("z", -42, "statue"))
    rows = [[r for r in asked(p) if r["task"] == "Left/Right Relative"] for p in (one, turned)]
    answers_of = [{tuple(r["operands"]): (r["id"], r["answer"]) for r in own} for own in rows]
    assert answers_of[0]
    assert answers_of[0] == answers_of[1]


@settings(max_examples=40, deadline=None)
@given(
    yaw=st.floats(-180, 179.99), pitch=st.floats(-15, 15), x=st.floats(-0.9, 0.9), y=st.floats(-0.5, 0.5)
)  # fmt: skip
def test_a_view_is_aimed_so_that_a_direction_lies_where_it_shall(yaw: float, pitch: float, x: float, y: float) -> None:
    view = aimed(yaw, pitch, x, y)
    assert view is not None
    box = box_in(view, yaw, 0.001, pitch - 0.0005, pitch + 0.0005)
    assert 2 * box.left / 640 - 1 == pytest.approx(x, abs=0.002)  # views are told to hundredths of a degree
    assert 1 - 2 * box.top / 480 == pytest.approx(y, abs=0.002)


def test_extents_are_those_of_the_renderer_s_geometry() -> None:
    rng = np.random.default_rng(1)
    for yaw, off, tilt in zip(
        rng.uniform(-180, 180, 20), rng.uniform(-30, 30, 20), rng.uniform(-30, 30, 20), strict=True
    ):
        view = standard_view(yaw, tilt)
        box = box_in(view, yaw + off, 12.0, -5.0, 9.0)
        (found,) = extents(outlines(*(np.array([v]) for v in (yaw + off, 12.0, -5.0, 9.0))), view)
        expected = [2 * box.left / 640 - 1, 2 * box.right / 640 - 1, 1 - 2 * box.bottom / 480, 1 - 2 * box.top / 480]
        assert found == pytest.approx(expected, abs=0.002)
    behind = extents(outlines(*(np.array([v]) for v in (100.0, 30.0, -5.0, 9.0))), standard_view(0.0))
    assert np.isnan(behind).all()


@pytest.mark.parametrize(
    ("turn", "name"), [(0.1, SECTORS[0]), (44.9, SECTORS[0]), (45.1, SECTORS[1]), (-0.1, SECTORS[7]), (179, SECTORS[3])]
)
def test_sectors(turn: float, name: str) -> None:
    assert sector(turn) == name


@pytest.mark.parametrize(
    ("task", "objects", "why"),
    [
        ("Yaw Estimation", [seen("a", 0)], ""),
        ("Yaw Estimation", [seen("a", 179)], ""),
        ("Yaw Estimation", [seen("a", 0, visible_share=0.59)], "occluded"),
        ("Yaw Estimation", [seen("a", 0, visible_share=None)], ""),
        ("Yaw Estimation", [seen("a", 0, kind="hotel", visible_share=0.74)], "occluded"),
        ("Yaw Estimation", [seen("a", 0, kind="bus_stop", width_deg=7.9)], "seen_edge_on"),  # 8 high: 0.79 of 1.25
        ("Yaw Estimation", [seen("a", 0, kind="bus_stop", width_deg=8.1)], ""),
        ("Yaw Estimation", [seen("a", 0, width_deg=2.4)], "too_small_to_tell"),
        ("Yaw Estimation", [seen("a", 0, width_deg=41.0)], "too_wide_for_a_place"),
        ("Yaw Estimation", [seen("a", 0, doubt="moves")], "object_in_doubt"),
        ("Yaw Estimation", [seen("a", 0), seen("b", 12)], "no_view_shows_it_alone"),
        ("Yaw Estimation", [seen("a", 179), seen("b", -169)], "no_view_shows_it_alone"),
        ("Yaw Estimation", [seen("a", 0, pitch_high_deg=45.0)], "no_view_shows_it_alone"),
        ("2D Positioning", [seen("a", 0)], ""),
        ("2D Positioning", [seen("a", 0, pitch_low_deg=14.0, pitch_high_deg=20.0)], "not_in_every_cell"),
        ("Front/Back Relative", [seen("a", 0)], ""),
        ("Front/Back Relative", [seen("a", 179)], "across_the_seam"),
        ("Front/Back Relative", [seen("a", -178)], "across_the_seam"),
        ("Front/Back Relative", [seen("a", 0), seen("b", 120)], "another_of_its_label"),
        ("Left/Right Relative", [seen("a", 0)], "nothing_beside_it"),
        ("Left/Right Relative", [seen("a", 0), seen("b", 20, "tree")], ""),
        ("Left/Right Relative", [seen("a", 179), seen("b", -161, "tree")], ""),
        ("Left/Right Relative", [seen("a", 0), seen("b", 11, "tree")], "side_by_side_too_close"),
        ("Left/Right Relative", [seen("a", 0), seen("b", 89, "tree")], "no_view_shows_it_alone"),
        ("Distance", [seen("a", 0), seen("b", 30, distance_m=20.4)], ""),
        ("Distance", [seen("a", 0), seen("b", 30, distance_m=20.1)], "distances_too_similar"),
        ("Distance", [seen("a", 0), seen("b", 30, distance_m=None)], "distances_too_similar"),
        ("Depth Estimation", [seen("a", 0, distance_m=None), seen("b", 99, distance_m=5.0)], "distance_unknown"),
        ("Depth Estimation", [seen("a", 0), seen("b", 99)], "no_counterpart"),
        ("Depth Estimation", [seen("a", 0), seen("b", 99, distance_m=5.0)], ""),
        ("Depth Estimation", [seen("a", 0, distance_m=11.4), seen("b", 99, distance_m=5.0)], "near_a_depth_border"),
        ("Depth Estimation", [seen("a", 0), seen("b", 15, distance_m=5.0)], "another_of_its_label"),
        ("Cross View", [seen("a", 0)], ""),
        ("Cross View", [seen("a", 0), seen("b", 14), seen("c", 90)], "no_view_shows_it_alone"),
    ],
)  # fmt: skip
def test_limits_and_rejections_on_both_sides(task: str, objects: list[Any], why: str) -> None:
    assert reason(scene(*objects, FAR), task) == why


def test_a_third_between_two_of_a_label() -> None:
    three = scene(seen("a", 0), seen("b", 30, distance_m=30.0), seen("c", 15, distance_m=60.0))
    assert reasons(three, "Distance")["a", "b"] == "no_view_shows_it_alone"


def test_labels_of_which_not_all_are_known_are_not_asked_about() -> None:
    assert reason(scene(seen("a", 0), complete=()), "Yaw Estimation") == "label_not_complete"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"camera_pitch_deg": 5.1}, "camera_not_level"),
        ({"camera_roll_deg": -5.1}, "camera_not_level"),
        ({"camera_pitch_deg": 4.9}, ""),
        ({"tags": ("wilderness",)}, "out_of_distribution"),
        ({"objects": ()}, "no_objects_known"),
    ],
)
def test_obstacles_of_a_panorama(changes: dict[str, Any], why: str) -> None:
    (found,) = tables(scene(seen("a", 0), FAR, **changes), None, ["Yaw Estimation"])
    assert (found["reason"][0].as_py() or "") == why


def poi(key: str, yaw_deg: float, kind: str, distance_m: float = 15.0) -> Any:
    return seen(key, yaw_deg, f"{kind} sign", kind=kind, slot="Signage", name=f"Name {key}", distance_m=distance_m)


def test_a_need_is_asked_where_one_place_serves_it() -> None:
    bank, books, cafe = poi("a", 0, "bank"), poi("b", 30, "books"), poi("c", 170, "cafe")
    assert reason(scene(bank, books, cafe), "Single-View") == ""
    assert reason(scene(bank, cafe), "Single-View") == "no_other_place_in_view"
    assert reason(scene(bank, books, poi("d", 12, "atm")), "Single-View") == "two_serve_the_need"
    assert reason(scene(bank, books, poi("d", -13, "post_office")), "Single-View") == "two_serve_the_need", "it may"
    assert reason(scene(poi("a", 0, "bank", 61.0), books), "Single-View") == "too_far_to_walk"
    hidden = bank.model_copy(update={"visible_share": 0.74})
    assert reason(scene(hidden, books, cafe), "Single-View") == "occluded"
    assert reason(scene(hidden.model_copy(update={"visible_share": 0.75}), books, cafe), "Single-View") == ""
    assert reason(scene(bank, books, cafe), "Dual-View") == ""
    assert reason(scene(seen("a", 0), FAR), "Dual-View", "p1") == "no_places_known"


def door(key: str, yaw_deg: float, colour: str, label: str = "entrance") -> Any:
    return seen(key, yaw_deg, label, slot="Architecture", attributes={"colour": colour})


def roof_sign(key: str, yaw_deg: float, kind: str, name: str, low_deg: float = 42.0) -> Any:
    high = {"pitch_low_deg": low_deg, "pitch_high_deg": low_deg + 6, "width_deg": 16.0}
    return seen(key, yaw_deg, "roof sign", kind=kind, slot="Signage", name=name, **high)


RED, BLUE = door("d1", -10, "red"), door("d2", 14, "blue")
CINE, HOTEL = roof_sign("s1", -10, "cinema", "LUNA"), roof_sign("s2", 14, "hotel", "REAL")


def asked_of(task: str, *objects: Any) -> dict[str, tuple[str, list[str], tuple[float, ...]]]:
    """Answer, wrong options and pitches of the views of each door's question, by the door."""
    (found,) = tables(scene(*objects), None, [task])
    rows = [row for row in found.to_pylist() if row["reason"] is None and row["operands"][0].startswith("d")]
    views = {row["id"]: [fact["value"] for fact in row["evidence"] if fact["name"] == "view_pitch"] for row in rows}
    return {row["operands"][0]: (row["answer"], row["wrong"], tuple(views[row["id"]])) for row in rows}


def test_a_door_is_told_by_the_sign_above_it_and_both_views_are_needed() -> None:
    both = (0.0, 45.0)
    assert asked_of("Dual-View", RED, BLUE, CINE, HOTEL) == {
        "d1": ("red", ["blue"], both), "d2": ("blue", ["red"], both)
    }  # fmt: skip
    named = asked_of("Dual-View, open", RED, BLUE, CINE, HOTEL)
    assert named == {"d1": ("LUNA; cinema", ["REAL"], both), "d2": ("REAL; hotel", ["LUNA"], both)}
    two_hotels = asked_of("Dual-View, open", RED, BLUE, roof_sign("s1", -10, "hotel", "LUNA"), HOTEL)
    assert two_hotels["d2"][0] == "REAL", "what both are tells none of them"


def test_letters_on_a_roof_are_wide_enough_to_be_read_from_below() -> None:
    """A sign of 16 degrees at a pitch of 45 is 11.3 degrees wide: enough for eleven letters, not for twelve."""
    for name, is_asked in (("SUPERMERCAT", True), ("SUPERMERCATO", False)):
        objects = (RED, BLUE, roof_sign("s1", -10, "cinema", name), HOTEL)
        assert ("d1" in asked_of("Dual-View, open", *objects)) == is_asked


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param((RED, CINE, HOTEL), id="one door"),
        pytest.param((RED, door("d2", 14, "red"), CINE, HOTEL), id="doors of one colour"),
        pytest.param((RED, BLUE, door("x", 30, "red", "door"), CINE, HOTEL), id="another red door in view"),
        pytest.param((RED, BLUE, roof_sign("s1", -10, "cinema", "LUNA", 36.5), HOTEL), id="level views show the sign"),
        pytest.param((RED, BLUE, CINE, HOTEL, roof_sign("s3", -8, "bar", "SOL", 50.0)), id="two signs above it"),
        pytest.param((RED, BLUE, CINE, HOTEL, poi("p", -10, "cinema")), id="a sign at street level too"),
    ],
)
def test_a_door_that_one_view_would_tell_or_none_is_not_asked_about(objects: tuple[Any, ...]) -> None:
    assert "d1" not in asked_of("Dual-View, open", *objects)


@pytest.mark.parametrize(
    ("distance_m", "why"), [(20.5, ""), (20.0, "distances_too_similar"), (61.0, "too_far_to_walk")]
)
def test_two_places_that_serve_a_need(distance_m: float, why: str) -> None:
    assert reason(scene(poi("a", 0, "bank"), poi("b", 120, "atm", distance_m)), "Cross-View") == why


def test_needs_are_sound() -> None:
    assert len({need.need for need in needs()}) == len(needs()) >= 20
    for need in needs():
        assert need.serves, need
        assert not need.serves & need.may, need
        assert not any(kind.replace("_", " ") in need.need.lower() for kind in need.serves), need


def geo(panorama: PanoramaScene, **rules: Any) -> dict[str, Any]:
    """The one question of the embodied setting."""
    found = [r for r in asked(panorama, ErgeoRules(**rules)) if r["task"] == GEO[2]]
    return found[0] if found else {}


def test_the_truth_of_geo_localization() -> None:
    row = geo(scene(seen("a", 0)))
    expected = {
        "country": "Monaco",
        "city": "Monaco",
        "street": "Boulevard Albert 1er",
        "lat": 43.734712,
        "lon": 7.420612,
    }
    assert json.loads(row["ground_truth"]) == expected
    assert find_hypothesis(row["ground_truth"], ("country", "city", "street", "coordinates")).value is not None
    assert len(set(row["choices"])) == 10
    assert bare(row["choices"])["ABCDEFGHIJ".index(row["choice"])] == "Monaco"


def test_what_is_not_sure_is_not_said() -> None:
    place = scene().facts.place
    near = place.model_copy(update={"gap_m": 7.0, "city_border_m": 10.0})
    row = geo(scene(seen("a", 0), place=near))
    told = json.loads(row["ground_truth"])
    assert (told["country"], told["city"], told["street"]) == ("Monaco", None, None)
    assert {"city_not_told: near_a_border", "street_not_told: streets_too_similar"} <= set(row["flags"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"position": None}, "no_position"),
        ({"accuracy_m": 101.0}, "position_not_accurate"),
        ({"place": None}, "no_country"),
        ({"doubt": "position"}, "place_in_doubt"),
    ],
)
def test_no_place_no_question(changes: dict[str, Any], why: str) -> None:
    about = changes.get("doubt")
    panorama = scene(seen("a", 0), **{key: value for key, value in changes.items() if key != "doubt"})
    if about:
        doubtful = doubt("place_disagrees", about, "two sources differ", "say which is right")
        panorama = panorama.model_copy(update={"findings": (doubtful,)})
    (found,) = tables(panorama, None, [GEO[0]])
    assert found["reason"].to_pylist() == [why]


def test_without_a_distance_none_is_asked() -> None:
    (found,) = tables(scene(seen("a", 0, distance_m=None)), None, ["Distance"])
    assert found["reason"].to_pylist() == ["no_distance_known"]


def test_published_positions_are_as_coarse_as_is_said() -> None:
    row = geo(scene(seen("a", 0), source_url="https://example.org/1"), location_precision_m=1000)
    told = json.loads(row["ground_truth"])
    assert (told["lat"], told["lon"]) == coarse(43.734712, 7.420612, 1000)
    assert abs(told["lat"] - 43.734712) * 111_320 <= 501
    assert told["street"] is None
    published = {(fact["name"], fact["value"]) for fact in row["evidence"]}
    assert ("latitude", 43.734712) not in published
    assert json.loads(geo(scene(seen("a", 0)), location_precision_m=100)["ground_truth"])["street"] is not None
    panorama = scene(seen("a", 0), source_url="https://example.org/1")
    for metres, url in ((None, "https://example.org/1"), (1000.0, None)):
        own = selected_questions(selected(panorama, ErgeoRules(location_precision_m=metres)))
        (line,) = source_lines(own, lambda: [panorama])[FILE].decode().splitlines()
        assert json.loads(line)["source_url"] == url


@settings(max_examples=30, deadline=None)
@given(lat=st.floats(-90, 90), lon=st.floats(-180, 180), metres=st.floats(1, 1e6))
def test_coarse_positions_stay_on_earth_and_are_no_finer_than_themselves(lat: float, lon: float, metres: float) -> None:
    found = coarse(lat, lon, metres)
    assert abs(found[0]) <= 90
    assert abs(found[1]) <= 180
    assert abs(found[0] - lat) * 111_320 <= metres / 2 + 0.2 or abs(found[0]) == 90


def test_out_of_distribution_is_asked_about_its_place_alone() -> None:
    rows = asked(scene(seen("a", 0), seen("b", 30, "tree"), tags=("wilderness",)))
    assert {row["task"] for row in rows} == set(GEO)
    public = table(selected_questions(selected(scene(seen("a", 0), tags=("wilderness",)))), ()).to_pylist()
    assert all(row["out_of_distribution"] for row in public)


def test_public_columns_and_what_a_harness_is_given() -> None:
    own = selected_questions(of_street(7))
    public = table(own, ())
    rows = {row["id"]: row for row in public.to_pylist()}
    assert {row["form"] for row in rows.values()} == {"open", "choice", "true_false"}
    benchmark = BENCHMARKS["ergeobench"]
    for row in own.to_pylist():
        files = [file for file, _ in benchmark.views.of(row)]
        assert files == rows[row["id"]]["images"]
        assert len(set(files)) == len(files) >= 1
        views = rows[row["id"]]["views"]  # with the texts of others they would tell where things are
        assert len(views) == len(files) if row["task"] in GEO else views is None
    files = agent_files("test", public)
    schema = json.loads(files["agent/reply.schema.json"])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["required"]) == {
        "structured_observation", "evidence_evaluation", "hypothesis_update", "next_action",
    }  # fmt: skip
    lines = [json.loads(line) for line in files["agent/test.jsonl"].decode().splitlines()]
    assert [line["setting"] for line in lines if line["environment"]] == ["embodied"]
    assert {line["setting"] for line in lines} == {"single", "panorama", "embodied"}
    environment = json.loads(files["environments/made/street7.json"])
    assert environment["picture"] == next(r["images"][0] for r in rows.values() if r["setting"] == "embodied")
    assert environment["limits"]["yaw_step_min_deg"] == 45
    assert environment["start"]["zoom"] == 1.0


def test_a_reply_of_the_agent_s_schema_is_read() -> None:
    reply = {
        "structured_observation": dict.fromkeys(SLOTS, "x"),
        "evidence_evaluation": {"supporting": [], "contradicting": [], "uncertainty": "x"},
        "hypothesis_update": {
            "country": "Monaco", "city": "Monaco", "street": "Quai", "latitude": 43.7, "longitude": 7.4,
            "confidence": 0.5,
        },
        "next_action": {"stop": True, "delta_yaw_deg": 0, "delta_pitch_deg": 0, "zoom": 1, "goal": "x"},
    }  # fmt: skip
    jsonschema.validate(reply, load_table("ergeobench/reply_schema"))
    found = find_hypothesis(json.dumps(reply), ("country", "city", "street", "coordinates")).value
    assert (found.lat_deg, found.lon_deg) == (43.7, 7.4)


def test_what_a_question_means_is_marked_in_each_view_that_shows_it() -> None:
    """8 degrees about the horizon, 20 to the right of the middle of 640 x 480: by hand; behind the camera, nothing."""
    panorama = scene(seen("a", 30.0), FAR)
    facts = [("view_yaw", 10.0), ("view_pitch", 0.0), ("view_fov", 90.0)]
    evidence = [{"name": name, "subject": "view 1", "value": value} for name, value in facts]
    row = {
        "scene": panorama.id,
        "operands": ["a", "z", "what is no object"],
        "flags": [],
        "evidence": evidence,
        "answer": "B",
    }
    ((file, marks),) = marks_of(ErgeoView(panorama, ErgeoRules()), row).items()
    assert file.startswith(f"views/{panorama.id}/")
    (mark,) = marks  # of "z", behind it, none
    left, right = (0.5 + 0.5 * np.tan(np.radians(off)) for off in (16.0, 24.0))
    rise = np.tan(np.radians(4.0)) / np.cos(np.radians(24.0)) * 640 / 480 / 2
    assert mark.name == "fountain"
    assert (mark.left, mark.left + mark.width) == pytest.approx((left, right), abs=2e-4)
    assert (mark.top, mark.height) == pytest.approx((0.5 - rise, 2 * rise), abs=2e-4)
    labelled = row | {"operands": ["which", "fountain, statue"], "answer": "fountain"}
    assert list(marks_of(ErgeoView(panorama, ErgeoRules()), labelled).values()) == [marks]
    assert marks_of(ErgeoView(panorama, ErgeoRules()), row | {"operands": ["what is no object"]}) == {}


CORNER = (
    seen("a", 20, "bench", distance_m=9.0, width_deg=6.0),
    seen("b", 47, "bench", distance_m=14.0, attributes={"colour": "green"}),
    seen("t", -160, "tree", distance_m=22.0, pitch_high_deg=12.0, slot="Vegetation"),
    poi("k", 75, "bank", 12.0),
    poi("c", -40, "cafe", 33.0),
    seen("s", 130, "statue", distance_m=None, slot="Architecture", width_deg=12.0),
    door("d1", -95, "red"),
    door("d2", -70, "blue"),
    roof_sign("r1", -95, "cinema", "LUNA"),
    roof_sign("r2", -70, "hotel", "REAL"),
)
# Task, operands, answer, wrong options and values of the evidence, of one question of each task.
OF_CORNER = """
Architecture | there entrance -60.25 0.00 90.00 | True | False | 0 8 8 1 1 -60.2 0 90 -0.803 -0.595 -0.12 0.12
  23 16
Infrastructure | cue driving side | right | left | 1
Signage | there bank sign 39.75 0.00 90.00 | True | False | 0 8 8 1.33 1 1 39.8 0 90 0.607 0.817 -0.12 0.12 26 8
Vegetation | there tree -150.25 0.00 90.00 | True | False | 0 8 8 1 1 -150 0 90 -0.245 -0.101 -0.096 0.292 25 8
Yaw Estimation | c | about 10 degrees to the right | about 30 degrees to the left, about 10 degrees to the left,
  about 30 degrees to the right | 0 8 8 1.33 1 1 -40 8 33 -50.2 0 90 0.11 0.254 -0.0962 0.0962 10.2 9.75
2D Positioning | c | upper left | upper middle, upper right, lower left, lower middle, lower right | 0 8 8 1.33
  1 1 -40 8 33 20.6 -17.5 -17.9 90 -0.538 -0.344 0.319 0.55 -0.441 0.434 0.107
Distance | a b | the one on the right | the one on the left | 0 6 6 1 1 20 6 9 0 8 8 1 1 47 8 14 1.56 20 29.8 0
  90 -0.226 -0.118 -0.0956 0.0956 0.235 0.389 -0.1 0.1
Left/Right Relative | a c | to the right | to the left | 0 6 6 1 1 20 6 9 0 8 8 1.33 1 1 -40 8 33 53 -20.2 0 90
  0.76 0.941 -0.128 0.128 -0.44 -0.282 -0.102 0.102 60
Front/Back Relative | c | behind me | in front of me | 0 8 8 1.33 1 1 -40 8 33 1 136 66 160 0 90 160 66.2
Cross View | c | behind, a little to the right | ahead, a little to the left, ahead, a little to the right,
  behind, a little to the left | 0 8 8 1.33 1 1 -40 8 33 170 0 90 -10.2 0 90 -0.668 -0.482 -0.112 0.112 150 15.2
Dual-View | c I am thirsty. | left half of the first picture | right half of the first picture, left half of the
  second picture, right half of the second picture | 0 8 8 1.33 1 -40 8 33 8 1 33 -10.2 0 90 170 0 90 -0.668
  -0.482 -0.112 0.112
Dual-View, open | d1 r1 | LUNA; cinema | REAL | 0 8 8 1 -95 8 15 0 6 16 4 1 -95 16 15 1 4 2.83 1 -100 0 90 -100
  45 90 0.0218 0.163 -0.0945 0.0945
"""


def mapped(key: str, noun: str, name: str, distance_m: float, bearing_deg: float, **more: Any) -> PanoramaLandmark:
    usual: dict[str, Any] = {
        "is_premises": False, "error_m": 2.0, "width_deg": 8.0, "error_deg": 2.5, "top_deg": 6.0, "visible_share": 1.0,
        "open_share": 0.0, "others": 0, "side": 1,
    }  # fmt: skip
    return PanoramaLandmark(
        id=key, noun=noun, name=name, distance_m=distance_m, bearing_deg=bearing_deg, **(usual | more)
    )


MAPPED = (
    mapped("m1", "church", "St Mary", 60.0, 215.0, side=-1),
    mapped("m2", "tower", "Old Tower", 25.0, 150.0, top_deg=20.0),
    mapped("m3", "hotel", "Birch Hotel", 90.0, 20.0, is_premises=True, side=0, visible_share=0.5),
    mapped("m4", "bakery", "Kern", 12.0, 110.0, is_premises=True, error_deg=9.0, width_deg=14.0, side=-1),
    mapped("m5", "museum", "Museum", 130.0, 300.0, others=1),
    mapped("m6", "school", "Elm School", 40.0, 260.0, doubt="moved"),
    mapped("m7", "fountain", "Lion Fountain", 148.0, 75.0),
)
OF_MAPPED = """
Yaw Estimation | map m2 | about 10 degrees to the left | about 30 degrees to the left, about 10 degrees to the
  right, about 30 degrees to the right | 0 0 1 0.97 8 8 5.5 -50 19 5.5 -40.2 0 90 -0.349 -0.00436 -0.141 0.514
  -9.75 9.75
Left/Right Relative | a map m2 | to the right | to the left | 0 8 8 1.33 1 1 0 8 15 0 0 1 0.97 8 8 5.5 -50 19
  36.5 -20.2 0 90 0.291 0.45 -0.102 0.102 -0.817 -0.369 -0.172 0.627 50
Cross View | map m1 | to the left, a little behind | ahead, a little to the left, ahead, a little to the right,
  to the left, a little ahead | 0 0 1 0.97 8 8 5.5 15 19 130 0 90 39.8 0 90 -0.681 -0.273 -0.0672 0.17 -115 20.2
Nearest Landmark | m4 | the bakery named Kern | the fountain named Lion Fountain, the church named St Mary, the
  tower named Old Tower | 0 0 0 1 0.97 14 3.5 12 2 3 148 2 60 2 25 2
Side of the Street | map m1 | on the right | on the left | 0 0 1 0.97 8 8 5.5 15 19 1 -10.2 0 90 0.282 0.694
  -0.0676 0.171 0.25 60 2
"""


def told(row: Mapping[str, Any]) -> str:
    values = [fact["value"] for fact in row["evidence"]]
    shown = " ".join(f"{value:.3g}" if isinstance(value, float) else str(value) for value in values)
    words = [row["task"], " ".join(row["operands"]), row["answer"], ", ".join(row["wrong"]), shown]
    return " ".join(" | ".join(words).split())


def looked_at() -> PanoramaScene:
    """A corner whose objects two models saw, with cues; some of which they agree on little."""
    own = [
        one.model_copy(update={"agreement": share})
        for one, share in zip(CORNER, (0.9, 0.8, 0.55, 0.95, 0.7, 0.49, 0.9, 0.9, 0.9, 0.9), strict=True)
    ]
    return scene(*own, heading_deg=None, cues={"driving side": "right", "script": "Latin", "slope": "steep"})


MORE = tuple(mapped(f"n{n}", noun, f"The {noun}", away, bearing) for n, (noun, away, bearing) in enumerate(
    (("theatre", 5.0, 30.0), ("library", 200.0, 190.0), ("castle", 9.0, 280.0), ("station", 38.0, 65.0))
))  # fmt: skip
WHOLE = {
    "square": "8712ab55ccd9",
    "mapped": "700a2a9dab0d",
    "looked at": "703b8d45847f",
    "street": "ec9a259d441f",
    "crowded": "35d0bd0b3ecc",
    "polar": "c27f68d295b0",
    "bare": "9a05264a69f8",
}


@pytest.mark.parametrize("name", WHOLE)
def test_all_columns_of_all_that_is_asked(name: str) -> None:
    """Wording, flags, roles and all evidence too; to read what changed, print the rows before and after.

    The lines above were read against the yaws, which are bearings less the heading of 200 degrees: where an option or a
    side lies follows from them.
    """
    places = poi("a", 0, "bank", 15.0), poi("b", 120, "atm", 33.0), poi("c", 170, "cafe", 40.0)
    cues = {"driving side": "right", "climate": "Mediterranean"}
    made = {
        "square": lambda: scene(*CORNER, heading_deg=200.0, cues=cues),
        "mapped": lambda: scene(*places, heading_deg=200.0, landmarks=MAPPED, map_coverage=0.97, street_deg=190.0),
        "crowded": lambda: scene(*places, heading_deg=0.0, landmarks=(*MAPPED, *MORE), map_coverage=0.97),
        "polar": lambda: scene(
            seen("a", 3.0),
            heading_deg=0.0,
            landmarks=(*MAPPED, *MORE),
            map_coverage=0.97,
            street_deg=0.0,
            position=Origin(lat_deg=89.99, lon_deg=-179.99, alt_m=None),
            camera_pitch_deg=-4.0,
            camera_roll_deg=4.0,
        ),
        "looked at": looked_at,
        "street": lambda: street(2),
        "bare": lambda: scene(position=None, heading_deg=None, place=None),
    }
    found = [row for one in tables(made[name]()) for row in one.to_pylist()]
    assert digest_of_rows(found) == WHOLE[name]
    read = {"square": OF_CORNER, "mapped": OF_MAPPED}.get(name, "").strip().replace("\n  ", " ").split("\n")
    assert {*filter(None, read)} <= {told(row) for row in found if row["reason"] is None}
