"""The gate: what is named is in the picture and alone there, and what is asked can be read, in every benchmark."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.benchmarks.cityeqa.view import CityView
from pipeline.benchmarks.embodied4c.case import WORDINGS, ExamCase, number, words
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.questions.arrays import ArrayTask
from pipeline.questions.cases import Case, _each_once, _pass_gate
from pipeline.questions.gate import READ_SHARE, STEPS, NamedThing, ShownScene, alike, gate, read_rules
from pipeline.questions.rules import first_broken
from pipeline.questions.task import Number, TaskBase
from pipeline.worlds.arm import view as arm
from pipeline.worlds.drive import view as drive
from pipeline.worlds.flight import view as flight
from pipeline.worlds.indoor import view as indoor
from tests.conftest import cube, make_scene

SOME = frozenset({"building"})
CITY = CityView.shown.func(SimpleNamespace(city=SimpleNamespace(complete=("building",))))  # type: ignore[attr-defined]
PANORAMA = ErgeoView.shown.func(SimpleNamespace(facts=SimpleNamespace(complete=("building",))))  # type: ignore[attr-defined]
SHOWN = {
    "vsi": ShownScene("film of a scan", indoor.FILMED.readable, SOME),
    "urbanvideo": ShownScene("film", flight.FILMED.readable, SOME),
    "cityeqa": CITY,
    "ergeobench": PANORAMA,
    "embodied4c": ShownScene("film", drive.FILMED.readable, SOME),
}
BLIND = ShownScene("film of nothing", {}, None)
THINGS = {
    "others_not_logged": NamedThing("the ball", "ball", 1.0),
    "not_in_picture": NamedThing("the red building", "building", 0.0, mark="red"),
    "double_in_picture": NamedThing("the building", "building", 1.0, doubles=2),
}


def view_of(shown: ShownScene) -> Any:
    """What a task may ask of a view before it looks at anything else."""
    return SimpleNamespace(
        scene=SimpleNamespace(id="made/one", name="one"),
        shown=shown,
        seen_known=True,
        pictured=False,
        heading_error_deg=0.0,
        rules=SimpleNamespace(even_answers=False),
        facts=SimpleNamespace(looked_at=False),
    )


def refusals(name: str, reason: str, thing: NamedThing) -> list[tuple[str, str | None, float | None, float | None]]:
    """What becomes of a question of each task of a benchmark that names a thing."""
    found = []
    for task in BENCHMARKS[name].tasks:
        if isinstance(task, ArrayTask):
            continue
        slots = getattr(task, "slots", ()) or ("one", "two", "three")
        case = Case(*slots, wording="Which one?").ask("a", ("b", "c"))
        case.name(thing)
        (row,) = task.rows(view_of(SHOWN[name]), [case])  # type: ignore[attr-defined]
        found.append((task.name, row.get("reason"), row.get("measured"), row.get("limit")))
    return found


@pytest.mark.parametrize("reason", THINGS)
@pytest.mark.parametrize("name", [name for name in SHOWN if name != "vsi"])
def test_what_a_question_of_any_task_names_is_in_the_picture_and_alone(name: str, reason: str) -> None:
    found = refusals(name, reason, THINGS[reason])
    limits = {"others_not_logged": (0.0, 1.0), "not_in_picture": (0.0, 1.0), "double_in_picture": (2.0, 0.0)}
    assert len(found) >= 6
    assert {(why, *numbers) for _, why, *numbers in found} == {(reason, *limits[reason])}, found
    fine = NamedThing("the red ball", "ball", 1.0, mark="red")
    assert not any(row[1] for row in refusals(name, reason, fine))


@pytest.mark.parametrize("task", BENCHMARKS["vsi"].tasks, ids=lambda task: task.name)
def test_no_category_of_which_a_scan_knows_some_is_asked_about(task: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = make_scene([cube(name, 3.0 * n, n % 2) for n, name in enumerate(("bed", "door", "lamp", "sofa"))])
    monkeypatch.setattr(indoor, "FILMED", ShownScene("film of a scan", indoor.FILMED.readable, frozenset({"bed"})))
    view = BENCHMARKS["vsi"].view(scene, BENCHMARKS["vsi"].profiles["strict"])
    rows = task.candidates(view).to_pylist()
    assert not [row for row in rows if row["reason"] is None and {"door", "lamp", "sofa"} & set(row["operands"])]
    if "unique" in task.slots and task.name != "route_planning":  # that one walks what is left, or nothing
        assert {row["operands"][0] for row in rows if row["reason"] == "others_not_logged"} == {"door", "lamp", "sofa"}


@pytest.mark.parametrize("name", SHOWN)
def test_what_any_task_asks_can_be_read_in_what_is_shown(name: str) -> None:
    tasks = [task for task in BENCHMARKS[name].tasks if task.reads]  # type: ignore[attr-defined]
    for task in tasks:
        assert task.unreadable(view_of(SHOWN[name])) is None, task.name  # type: ignore[attr-defined]
        refused = task.unreadable(view_of(BLIND))  # type: ignore[attr-defined]
        assert (refused.reason, refused.measured, refused.limit) == ("not_shown", 0, 1)
        assert refused.unit == f"{task.reads} in a film of nothing"  # type: ignore[attr-defined]
    assert len(tasks) >= 6 or name == "embodied4c"


@pytest.mark.parametrize(
    ("shown", "kind", "reason"),
    [
        # No film shows compass, speed or start, none of an arm its joints, and what is drawn no more than its lines.
        *((flight.FILMED, kind, "not_shown") for kind in ("air_or", "air_or_compass", "air_mt", "air_dt_home")),
        *((flight.FILMED, kind, "not_shown") for kind in ("air_sm", "air_lm", "air_dt_height")),
        (flight.FILMED, "air_rp", "not_shown"),
        *((arm.FILMED, kind, "not_shown") for kind in ("arm_or", "arm_md_rate", "arm_md")),
        *((arm.DRAWN, kind, "not_shown") for kind in ("arm_or", "arm_or_turned", "arm_st_slide")),
        *((drive.FILMED, kind, "not_shown") for kind in ("ct_near", "lm_seen", "md_acceleration", "cl_most")),
        *((drive.DRAWN, kind, "not_shown") for kind in ("at_marking", "cl_lane")),
        *((flight.DRAWN, kind, "not_shown") for kind in ("air_at_height", "air_rs", "air_st_camera")),
        (drive.DRAWN, "mt_speed", None),
        (flight.DRAWN, "air_or", None),
        (arm.FILMED, "arm_dt", None),
        (flight.FILMED, "air_lc", None),
    ],
)
def test_what_an_exam_asks_is_shown_in_its_medium(shown: ShownScene, kind: str, reason: str | None) -> None:
    one, wording = ExamCase(kind, "1.00"), WORDINGS[kind]
    one.quantity = wording.reads
    one.step = None if wording.step is None else shown.step(wording.reads, wording.step)
    words(one, "yes", ("no",)) if one.step is None else number(one, 1000.0, "m")
    broken = first_broken(gate(shown, (), one.read))
    assert (broken.name if broken else None) == reason


@given(st.sampled_from(STEPS), st.one_of(st.sampled_from(STEPS), st.floats(0.001, 200.0)), st.floats(0.01, 1e4))
def test_no_number_is_asked_finer_than_it_is_read_nor_one_that_is_lost_in_the_step(
    wanted: float, finest: float, value: float
) -> None:
    assert f"{wanted:.1e}"[:3] in {"1.0", "2.0", "5.0"}
    shown = ShownScene("film", {"distance": finest})
    step = shown.step("distance", wanted)
    assert step == min([one for one in STEPS if one >= max(wanted, finest)], default=finest)
    broken = first_broken(read_rules(shown, "distance", step, value))
    assert (broken is None) == (finest / 2 / value <= READ_SHARE)
    fine = first_broken(read_rules(shown, "distance", finest * 0.9, None))
    assert fine is not None
    assert (fine.name, fine.value, fine.limit) == ("finer_than_shown", finest * 0.9, finest)


@pytest.mark.parametrize(("value", "holds"), [(20.0, True), (-20.0, True), (19.0, False), (0.0, False)])
def test_half_of_what_can_be_read_is_a_tenth_of_the_number(value: float, holds: bool) -> None:
    *_, coarse = read_rules(ShownScene("film", {"distance": 4.0}), "distance", None, value)
    assert coarse.holds == holds


def test_of_what_cannot_be_read_no_step_is_told() -> None:
    assert [one.name for one in read_rules(ShownScene("film", {}), "distance", 1.0, 5.0)] == ["not_shown"]
    named = [one.name for one in read_rules(ShownScene("film", {"distance": 0.5}), "distance", 1.0, 5.0)]
    assert named == ["not_shown", "finer_than_shown", "read_too_coarsely"]


@pytest.mark.parametrize(
    ("other", "name", "found"),
    [
        ("Coffee Tables", "table", True), ("coffee-table", "coffeetable", True), ("desk", "table", True),
        ("office desk", "table", True), ("glass", "glas", False), ("tablet", "table", False), ("table", "lamp", False),
        ("table", "coffee table", False), ("bus", "bu", False), ("coffee table", "table", True),
        ("suitable", "table", False),
    ],
)  # fmt: skip
def test_names_that_people_take_for_one_another(other: str, name: str, found: bool) -> None:
    assert alike(other, name) == found


def test_the_step_that_a_number_is_asked_in_is_evidence_and_what_it_names_is_told() -> None:
    shown = ShownScene("film", {"distance": 0.5}, frozenset({"ball"}))
    case = Case("a")
    case.read.append(("distance", 1.0, None))
    _pass_gate(view_of(shown), case)
    assert [(row["name"], row["value"], row["limit"]) for row in case.evidence] == [("finer_than_shown", 1, 0.5)]
    assert case.refusal is None
    one, again, other = _each_once([Case("a"), Case("b"), Case("a"), Case("c")])
    refused = one.refusal
    assert refused is not None
    assert (refused.reason, refused.measured, refused.limit) == ("reads_in_two_ways", 2, 1)
    assert again.refusal is other.refusal is None


@pytest.mark.parametrize(("finest", "refused"), [(0.01, False), (0.1, False), (0.11, True), (5.0, True)])
def test_a_number_of_one_decimal_is_asked_to_a_tenth(finest: float, refused: bool) -> None:
    task: Any = TaskBase()
    task.reads, task.form = "distance", Number(decimals=1, unit="m")
    found = task.unreadable(view_of(ShownScene("film", {"distance": finest})))
    assert (found and (found.reason, found.measured, found.limit)) == (
        ("finer_than_shown", 0.1, finest) if refused else None
    )
