"""The maps of tasks: what reviewers see before they answer shows the start and marks nothing."""

import hashlib
import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from scipy import ndimage

from pipeline.benchmarks.cityeqa.pictures import _INK, SIDE, blind_pictures, start_map, task_pictures
from pipeline.core.tables import QUESTIONS
from pipeline.reading.maps.city_thing import CityThing
from tests.benchmarks.cityeqa.cities import small
from tests.worlds.city.cities import city, house, point

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


def test_a_map_of_a_task_in_full() -> None:
    """A bank, seen from the south-east of it, over a hut, and the way there; to read a change, look at the picture."""
    things = (
        house("hut", 20.0, 60.0, 12.0, 8.0),
        house("bank", 55.0, 62.0, 10.0, 16.0),
        point("bench", "bench", 44.0, 33.0),
        point("tree", "tree", 30.0, 20.0),
    )
    facts = city(*things, size_m=100.0)
    scene = small(3).model_copy(update={"id": "made/small", "facts": facts})
    row = task(1, "bank", "hut > bank", yaw=30.0, seen=75.0)
    way = [("oracle_x", 10.0), ("oracle_y", 10.0), ("oracle_x", 14.0), ("oracle_y", 55.0), ("oracle_x", 50.0),
           ("oracle_y", 52.0)]  # fmt: skip
    row["evidence"] = [*row["evidence"], *(fact(name, str(n // 2), value) for n, (name, value) in enumerate(way))]
    told = pa.Table.from_pylist([row], pa.schema([QUESTIONS.field(name) for name in row]))
    drawn = Image.open(io.BytesIO(task_pictures(told, lambda: [scene])["maps/01/1.png"]))
    pixels, blind = np.asarray(drawn), np.asarray(Image.open(io.BytesIO(start_map(row, scene))))
    assert (pixels.shape, blind.shape) == ((SIDE + 44, SIDE), (SIDE + 26, SIDE))
    scale = SIDE / (75 - 10 + 2 * 25)  # pixels a metre: 65 m from the west to the east, and 25 m about it
    for ink, place in (("target", (60.0, 70.0)), ("landmark", (26.0, 64.0))):
        rows, columns = np.nonzero(pixels[:SIDE] == list(_INK).index(ink))
        east, north = scale * (place[0] + 15), SIDE - scale * (place[1] - 40 + 57.5)
        assert (columns.mean(), rows.mean()) == pytest.approx((east, north), abs=1.0)
    digests = [hashlib.sha256(picture[:SIDE].tobytes()).hexdigest()[:12] for picture in (pixels, blind)]
    assert digests == ["01c288fbf18d", "7ad143d09f12"]
