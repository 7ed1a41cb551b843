"""Scans of which a question would name what their film does not show so: each is refused, and for that reason."""

from typing import Any

import pytest

from pipeline.worlds.indoor.facts import CALLED_OTHERWISE, OTHERS_IN_VIEW, SIGHT, IndoorScene
from tests.benchmarks.vsi.tasks.test_appearance import filmed
from tests.conftest import cube, make_doubt, make_scene, rows_of, watched

COUNT, SIZE, FAR, NEAR = "object_counting", "object_size_estimation", "object_abs_distance", "object_rel_distance"
SIDE, FIRST, ROOM = "object_rel_direction_easy", "obj_appearance_order", "room_size_estimation"
SPOTS = ("cot", "lamp", "sofa", "stool", "clock")


def film(*names: str, hidden: Any = None, few: Any = None, findings: Any = (), **more: Any) -> IndoorScene:
    """Cubes two metres apart along a bend; ``hidden`` and ``few``: pixels in the film, and in 16 frames of it."""
    things = [cube(name, 2.0 * i, 0.35 * i * i) for i, name in enumerate(names)]
    counts = more.pop("counts", None)
    lost = {} if few is None else {"sampled": few}
    return watched(make_scene(things, counts=counts, findings=findings), hidden or {}, **lost, **more)


def seen_first(**first_s: float | None) -> IndoorScene:
    return filmed(list(first_s.items()))


def doubted(name: str, subject: str) -> Any:
    return [make_doubt(name, subject, 1.0, 0.0, "pictures")]


def named(raw: str, *names: str) -> IndoorScene:
    """The first thing has another name in the raw annotation, where the others are called as they are here."""
    scene = film(*names)
    called = [o.model_copy(update={"raw_label": o.category if i else raw}) for i, o in enumerate(scene.facts.objects)]
    return scene.with_facts(objects=tuple(called))


TWO = ("cot", "cot", "lamp")
UNSEEN, ALIKE, DOUBLE = ("never_visible", 0, 1), ("taken_for_another", 1, 0), ("not_unique", 2, 1)
FAINT, FRAMES = ("barely_visible", 19, 20), ("not_shown_in_frames", 19, 20)
# What is planted: a scan, a task that would ask of it, what it would name, the reason, its measured value and limit.
PLANTED: dict[str, tuple[IndoorScene, str, str, tuple[Any, ...]]] = {
    "what no frame shows is measured": (film(*SPOTS, hidden={("cot", 0): None}), SIZE, "cot", UNSEEN),
    "a distance to it": (film(*SPOTS, hidden={("cot", 0): None}), FAR, "cot", UNSEEN),
    "it may be the nearest": (film(*SPOTS, hidden={("cot", 0): None}), NEAR, "cot", UNSEEN),
    "one stands at it": (film(*SPOTS, hidden={("cot", 0): None}), SIDE, "cot", UNSEEN),
    "all of a kind unseen are counted": (film(*TWO, hidden={("cot", 0): None, ("cot", 1): None}), COUNT, "cot", UNSEEN),
    "one of two is seen, two are counted": (
        film(*TWO, hidden={("cot", 0): None}), COUNT, "cot", ("too_few_instances", 1, 2),
    ),
    "one of two is hardly seen": (film(*TWO, hidden={("cot", 0): 19}), COUNT, "cot", FAINT),
    "what is hardly seen is measured": (film(*SPOTS, hidden={("cot", 0): 19}), SIZE, "cot", FAINT),
    "the one of two": (film(*TWO), SIZE, "cot", DOUBLE),
    "a distance to one of two": (film(*TWO), FAR, "cot", DOUBLE),
    "a second one has no box": (film(*SPOTS, counts=dict.fromkeys(SPOTS, 1) | {"cot": 2}), SIZE, "cot", DOUBLE),
    "one is counted, and none has a box": (
        film(*SPOTS, counts=dict.fromkeys((*SPOTS, "door"), 1)), SIZE, "door", ("category_without_box", 0, 1),
    ),
    "a desk beside a table": (film("desk", "table", *SPOTS), FAR, "table", ALIKE),
    "a sofa beside a couch": (film("couch", *SPOTS), SIZE, "sofa", ALIKE),
    "a table lamp beside a lamp": (film("table lamp", *SPOTS), SIDE, "lamp", ALIKE),
    "an armchair beside chairs": (film("armchair", "chair", "chair"), COUNT, "chair", ALIKE),
    "many chairs beside the chair": (film("chairs", "chair", *SPOTS), SIZE, "chair", ALIKE),
    "a Chair beside the chair": (film("Chair", "chair", *SPOTS), SIZE, "chair", ALIKE),
    "a night stand beside the nightstand": (film("night stand", "nightstand", *SPOTS), SIZE, "nightstand", ALIKE),
    "a chest of drawers beside the dresser": (film("dresser", "chest of drawers", *SPOTS), SIZE, "dresser", ALIKE),
    "its own people call it a couch": (
        named("couch", "sofa", "sofa", "cot"), COUNT, "sofa", ("taken_for_another", 2, 0),
    ),
    "pictures show it is called otherwise": (
        film(*SPOTS, findings=doubted(CALLED_OTHERWISE, "cot")), SIZE, "cot", (CALLED_OTHERWISE, 1, 0),
    ),
    "pictures show one without a box": (
        film(*TWO, findings=doubted(OTHERS_IN_VIEW, "cot")), COUNT, "cot", (OTHERS_IN_VIEW, 1, 0),
    ),
    "poses are off": (film(*SPOTS, findings=doubted("poses_off", SIGHT)), FIRST, "cot", ("poses_off", 1, 0)),
    "half of its longest side is shown": (
        film(*SPOTS, extent={"cot": 0.5}), SIZE, "cot", ("extent_not_shown", 0.5, 0.9),
    ),
    "two that come into the picture at once": (
        seen_first(cot=6.0, lamp=6.5, sofa=1.0, stool=3.0), FIRST, "cot", ("first_times_too_close", 0.5, 1),
    ),
    "one that never comes into it": (seen_first(cot=None, lamp=6.5, sofa=1.0, stool=3.0), FIRST, "cot", UNSEEN),
    "frames that show one of a kind": (film(*TWO, few={("cot", 0): 19}), COUNT, "cot", FAINT),
    "frames that show too little to measure": (film(*SPOTS, few={("cot", 0): 19}), SIZE, "cot", FRAMES),
    "frames in which the other end is not": (film(*SPOTS, few={("cot", 0): 19}), FAR, "cot", FRAMES),
    "frames in which the nearest is not": (film(*SPOTS, few={("cot", 0): 19}), NEAR, "cot", FRAMES),
    "frames that show half of its side": (
        film(*SPOTS, few={("cot", 0): 25}), SIZE, "cot", ("extent_not_shown", 0.5, 0.9),
    ),
    "frames that show half of the floor": (film(*SPOTS, few={}, plan_seen=0.5), ROOM, "", ("plan_not_shown", 0.5, 0.9)),
    "a distance shorter than one sees": (
        make_scene([cube("cot", 0, 0), cube("lamp", 0.39, 0)]), FAR, "cot", ("objects_too_close", 0.19, 0.2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_question_that_the_film_does_not_bear_is_refused_for_that(name: str) -> None:
    scene, task, what, reason = PLANTED[name]
    rows = [row for row in rows_of(scene, task) if not what or what in row["operands"]]
    if "frames" in name:
        rows = [own for row in rows for own in row["budgets"] or ()]
    assert not [row for row in rows if row["reason"] is None]
    found = [(row["reason"], pytest.approx(row["measured"], abs=1e-6), row["limit"]) for row in rows]
    assert reason in found
