"""Drawings of scans are measured: what they show is what the evidence says."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.vsi.drawings import DRAWINGS
from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.benchmarks.vsi.scene_drawing import rule
from pipeline.core.video_spec import VideoSpec
from pipeline.geometry.boxes import closest_distance_m, closest_points, point_distance_m, stack
from pipeline.worlds.indoor.facts import FrameCamera, IndoorScene, Room
from pipeline.worlds.indoor.view import IndoorView
from tests.conftest import METADATA_TASKS, OFFICIAL_EXACT, make_scene, random_objects, rows_of, watched
from tests.drawing.reading import SVG, measured, parts, points, texts

SCENE = make_scene(random_objects(seed=4, categories=9, repeated=3))
FLOOR = (((0.0, 0.0), (6.0, 0.0), (6.0, 6.0), (0.0, 6.0)),)


class Blank:
    """A video that is grey."""

    form = VideoSpec()

    def __call__(self, second: float) -> np.ndarray:
        return np.full((480, 640, 3), 128, dtype=np.uint8)


def asked(scene: IndoorScene, task: str, rules: Rules) -> list[dict[str, Any]]:
    rows = [row for row in rows_of(scene, task, rules) if row["reason"] is None]
    return [row | {"text": "?", "options": None} for row in rows[:12]]


def drawn(scene: IndoorScene, task: str, rules: Rules | str = OFFICIAL_EXACT, footage: Any = None) -> list[Any]:
    chosen = PROFILES[rules] if isinstance(rules, str) else rules
    rows = asked(scene, task, chosen)
    assert rows, task
    sheets = dict(DRAWINGS.draw(IndoorView(scene, chosen), rows, footage))
    return [(row, sheets[row["id"]].svg()) for row in rows]


def fact(row: dict[str, Any], name: str, subject: str | None = None) -> float:
    found = [e["value"] for e in row["evidence"] if e["name"] == name and subject in {None, e["subject"]}]
    assert len(found) == 1
    return float(found[0])


@pytest.mark.parametrize(
    "rules", [OFFICIAL_EXACT, PROFILES["official"], PROFILES["strict"]], ids=["exact", "grid", "strict"]
)
def test_the_drawn_distance_is_the_evidences(rules: Rules) -> None:
    for row, svg in drawn(SCENE, "object_abs_distance", rules):
        (line,) = measured(svg, "section", "distance")
        assert line.length_m == pytest.approx(fact(row, "distance"), abs=2e-3)


def test_every_distance_to_a_choice_is_the_evidences() -> None:
    for row, svg in drawn(SCENE, "object_rel_distance"):
        for name in row["operands"][1:]:
            subject = f"{row['operands'][0]} - {name}"
            (bar,) = measured(svg, "bars", "distance", subject)
            assert bar.length_m == pytest.approx(fact(row, "distance", subject), abs=2e-3)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_the_drawn_angle_is_the_evidences(level: str) -> None:
    for row, svg in drawn(SCENE, f"object_rel_direction_{level}"):
        ((ahead,), (way,)) = (measured(svg, "map", "bearing", s) for s in ("facing", row["operands"][2]))
        angle = [np.degrees(np.arctan2(-(m.line[1] - m.line[0])[1], (m.line[1] - m.line[0])[0])) for m in (ahead, way)]
        off = (angle[1] - angle[0] - fact(row, "bearing") + 180) % 360 - 180
        assert off == pytest.approx(0, abs=0.1)


def test_the_drawn_side_is_the_longest() -> None:
    for row, svg in drawn(SCENE, "object_size_estimation"):
        (line,) = measured(svg, "section", "side_1")
        assert line.length_m == pytest.approx(fact(row, "side_1"), abs=2e-3)


def test_every_counted_box_has_its_number() -> None:
    for row, svg in drawn(SCENE, "object_counting"):
        numbers = [text for text in texts(svg) if text.isdigit()]
        assert numbers == [str(n) for n in range(1, int(row["answer"]) + 1)]


def test_the_outline_holds_the_room() -> None:
    scene = SCENE.with_facts(room=Room(area_m2=36.0, floor=FLOOR))
    ((_, svg),) = drawn(scene, "room_size_estimation")
    (part,) = parts(svg, "map")
    (outline,) = (e for e in part.iter(f"{SVG}path") if e.get("class") == "measure outline")
    x, y = (points(outline.attrib["d"]) / float(part.attrib["data-per-m"])).T
    assert abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1))) / 2 == pytest.approx(36.0, rel=1e-3)


def test_the_seconds_of_first_appearance_are_where_they_are() -> None:
    scene = seen(SCENE)
    for row, svg in drawn(scene, "obj_appearance_order"):
        (part,) = parts(svg, "times")
        for name in row["operands"]:
            (line,) = measured(svg, "times", "first_seen", name)
            seconds = np.hypot(*(line.line[1] - line.line[0])) / float(part.attrib["data-per-s"])
            assert seconds == pytest.approx(fact(row, "first_seen", name), abs=0.02)


@pytest.mark.parametrize("task", METADATA_TASKS)
def test_without_a_video_there_is_the_map_alone(task: str) -> None:
    _, svg = drawn(SCENE, task)[0]
    assert "data:image" not in svg


def test_pictures_of_the_video_are_those_that_show_each_best() -> None:
    row, svg = drawn(seen(SCENE), "object_abs_distance", footage=Blank())[0]
    seconds = {float(part.attrib["data-second"]) for part in parts(svg, "still")}
    best = {o.category: o.visibility.best_s for o in seen(SCENE).facts.objects if o.visibility and o.instance == 0}
    assert seconds == {best[name] for name in row["operands"]}


def test_who_appears_too_small_at_first_is_shown_where_it_is_seen_best() -> None:
    """The first frames are looked at from 60 m, where everything is small, the best ones from 6 m."""
    scene = seen(SCENE, first_m=60.0)
    row, svg = drawn(scene, "obj_appearance_order", footage=Blank())[0]
    best = {o.visibility.best_s: o.visibility.first_seen_s for o in scene.facts.objects if o.visibility}
    shown = [float(part.attrib["data-second"]) for part in parts(svg, "still")]
    assert shown
    assert set(shown) <= set(best)
    assert all(any(f"(first at {best[second]:.1f} s)" in text for text in texts(svg)) for second in shown)
    near = seen(SCENE, first_m=3.0)
    sheets = (svg for _, svg in drawn(near, row["task"], footage=Blank()))
    shown = [float(part.attrib["data-second"]) for svg in sheets for part in parts(svg, "still")]
    assert set(shown) & {o.visibility.first_seen_s for o in near.facts.objects if o.visibility}


def test_what_no_frame_shows_has_no_picture() -> None:
    scene = watched(SCENE, {})
    assert all(o.visibility and o.visibility.best_s is None for o in scene.facts.objects)
    _, svg = drawn(scene, "object_abs_distance", footage=Blank())[0]
    assert "data:image" not in svg


@pytest.mark.parametrize("seed", range(6))
def test_closest_points_are_on_the_boxes_and_as_far_apart_as_these(seed: int) -> None:
    items = make_scene(random_objects(seed, 24)).facts.objects
    boxes = stack([o.box.center for o in items], [o.box.lengths for o in items], [o.box.axes for o in items])
    i, j = np.triu_indices(len(items), k=1)
    a, b = boxes.take(i), boxes.take(j)
    distance = closest_distance_m(a, b)
    apart = distance > 0
    on_a, on_b = closest_points(a.take(apart), b.take(apart))
    assert np.linalg.norm(on_a - on_b, axis=1) == pytest.approx(distance[apart], abs=1e-9)
    assert point_distance_m(on_a[:, None], a.take(apart)).max() < 1e-9
    assert point_distance_m(on_b[:, None], b.take(apart)).max() < 1e-9


def seen(scene: IndoorScene, first_m: float = 6.0) -> IndoorScene:
    """The scene with a video in which each object is first seen (from afar), and seen best, at seconds of its own."""
    shown = watched(scene, {})
    objects, seconds = [], []
    for n, item in enumerate(shown.facts.objects):
        first, best = 1.0 + 2.5 * n, 2.0 + 2.5 * n
        seconds += [first, best]
        visibility = item.visibility.model_copy(update={"first_seen_s": first, "best_s": best})
        objects.append(item.model_copy(update={"visibility": visibility}))
    cameras = tuple(camera(second, -6.0 if n % 2 else -first_m) for n, second in enumerate(seconds))
    path = tuple((second, 3.0, second / 20) for second in seconds)
    more = {"picture": (640, 480), "cameras": cameras, "camera_path": path}
    return shown.with_facts(objects=tuple(objects), observation=shown.facts.observation.model_copy(update=more))


def camera(second: float, x_m: float) -> FrameCamera:
    """One that stands to the side of the room and looks along x."""
    axes: Sequence[tuple[float, float, float]] = ((0, -1, 0), (0, 0, -1), (1, 0, 0), (x_m, 3, 1))
    return FrameCamera.model_validate(
        {"second": second, "world_T_camera": axes, "focal": (1, 4 / 3), "middle": (0.5, 0.5)}
    )


def test_a_rule_is_the_first_fact_of_its_name_that_has_a_limit() -> None:
    def fact(name: str, value: float, limit: float | None) -> dict[str, Any]:
        return {"name": name, "value": value, "unit": "deg", "relation": ">=", "limit": limit}

    row = {"evidence": [fact("other", 1, 2), fact("margin", 13.2, None), fact("margin", 13.24, 10.0)]}
    assert rule(row, "margin") == "13.24 deg (at least 10)"
    assert rule({"evidence": None}, "margin") == ""
