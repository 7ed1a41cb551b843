"""The maps of tasks: what reviewers see before they answer shows the start and marks nothing."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from scipy import ndimage

from pipeline.benchmarks.cityeqa.pictures import _INK, SIDE, blind_pictures, start_map, task_pictures
from pipeline.core.tables import QUESTIONS
from pipeline.reading.maps.city_thing import CityThing
from tests.benchmarks.cityeqa.cities import small

AXES = ("x", "y", "z", "roll", "pitch", "yaw")
MARKS = ("landmark", "target", "way", "seen")


def fact(name: str, subject: str, value: float) -> dict[str, Any]:
    return {"name": name, "subject": subject, "value": value, "relation": None, "limit": None, "unit": "m"}


def task(number: int, target: str, chain: str, yaw: float = 90.0, seen: float = 30.0) -> dict[str, Any]:
    poses = {"initial_pose": (10.0, 10.0, 5.0, 0.0, 0.0, yaw), "observation_pose": (seen, 40.0, 5.0, 0.0, 0.0, 0.0)}
    evidence = [fact(name, axis, v) for name, pose in poses.items() for axis, v in zip(AXES, pose, strict=True)]
    operands = ["colour", target, "10.0 10.0 5", chain]
    told = {"text": f"What colour is {target}?", "answer": "red", "scene": "made/small", "group": target}
    return {"id": number, "task": "Counting", "operands": operands, "evidence": evidence, **told}


def inks(raw: bytes) -> set[str]:
    """The colours of a map, without what is written below it."""
    picture = np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))
    return {name for name, ink in _INK.items() if (picture == ink).all(-1).any()}


def test_the_map_before_the_answer_shows_the_start_alone_and_is_the_same_for_all_that_starts_there() -> None:
    scene = small(3)
    one, two, *_ = (thing.id for thing in scene.facts.things)
    rows = [task(1, one, f"{two} > {one}"), task(2, two, two, seen=90.0), task(3, one, one, yaw=180.0)]
    first, other, turned = (start_map(row, scene) for row in rows)
    assert first == other
    assert first != turned  # which way it looks
    assert {"start", "building"} <= inks(first)
    assert not inks(first) & {*MARKS, "other"}  # what may be counted is not shown
    told = pa.Table.from_pylist(rows, pa.schema([QUESTIONS.field(name) for name in rows[0]]))
    after = task_pictures(told, lambda: [scene.model_copy(update={"id": "made/small"})])
    assert {"target", "seen"} <= inks(after["maps/01/1.png"])


def test_reviewers_see_what_an_agent_sees_and_nothing_of_the_answer() -> None:
    scene = small(3)
    near = min(scene.facts.things, key=lambda t: abs(t.center[0] - 30) + abs(t.center[1] - 60)).id
    rows = [task(1, "a", "a"), task(2, "b", "b") | {"answer": "blue"}, task(3, "a", "a", yaw=180.0)]
    rows += [task(n, near, near) | {"task": name} for n, name in ((4, "raw_task"), (5, "raw_pose"))]
    own = {number: [Image.open(io.BytesIO(raw)) for raw in drawn] for number, drawn in blind_pictures(rows, scene)}
    assert [(picture.format, picture.size) for picture in own[1][:2]] == [("JPEG", (640, 480)), ("JPEG", (320, 240))]
    assert own[1] == own[2], "the same for another question from the same places"
    assert [one == other for one, other in zip(own[1], own[3], strict=True)] == [True, False, False]
    assert own[4] == own[1][:1], "of a raw task what its answer is seen from, and no start"
    red, plain = ((np.abs(np.asarray(own[n][0], int) - _INK["target"]).max(-1) < 60).sum() for n in (5, 4))
    assert red > plain + 100, "where its poses are judged, the target has a line around it"


def test_what_is_counted_is_marked_and_the_other_thing_of_a_relation() -> None:
    """A square of 20 m with cars in it, at its edge and beyond; a count that the map does not give marks nothing."""
    made = small(3)
    ring = ((20.0, 20.0), (40.0, 20.0), (40.0, 40.0), (20.0, 40.0))
    square = CityThing(id="square", kind="square", noun="square", center=(30.0, 30.0), radius_m=14.2, outline=ring)
    cars = [
        CityThing(id=f"car {n}", kind="car", noun="car", colour=colour, center=at, radius_m=0.0)
        for n, (colour, at) in enumerate([("red", (25.0, 25.0)), ("blue", (35.0, 35.0)), ("red", (45.0, 30.0))])
    ]
    facts = made.facts.model_copy(update={"things": (square, *cars)})
    scene = made.model_copy(update={"id": "made/small", "facts": facts})

    def drawn(*operands: str, count: int | None) -> Any:
        row = task(1, "square", "square") | {"operands": ["asked", "square", *operands, "10.0 10.0 5", "square"]}
        row["evidence"] = [*row["evidence"], *([fact("count", "car", float(count))] if count is not None else [])]
        told = pa.Table.from_pylist([row], pa.schema([QUESTIONS.field(name) for name in row]))
        raw = task_pictures(told, lambda: [scene])["maps/01/1.png"]
        return np.asarray(Image.open(io.BytesIO(raw)).convert("RGB"))[:SIDE]

    def n_of(picture: Any, ink: str) -> int:
        """Dots of a colour that are filled."""
        is_ink = (picture == _INK[ink]).all(-1)
        filled = ndimage.binary_opening(is_ink, np.ones((5, 5)))
        return int(ndimage.label(filled)[1])

    for operands, count in ((("car", "in"), 2), (("car", "10"), 3), (("red car", "in"), 1)):
        assert n_of(drawn(*operands, count=count), "counted") == count, operands
    assert n_of(drawn("car", "in", count=3), "counted") == 0
    related = drawn("car 2", count=None)
    assert (n_of(related, "compared"), n_of(related, "counted")) == (1, 0)
