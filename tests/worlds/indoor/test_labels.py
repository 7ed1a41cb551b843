"""Labels as people draw them: a rectangle becomes a box, a box goes into scene.json, and all else there stays."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.label_app.scene import FixLabels
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.formats.scene_folder import DocumentAxes, SceneDocument, entries_of, with_members
from pipeline.geometry.scans import CameraFrames
from pipeline.reading.fix_files import read_fixes
from pipeline.worlds.indoor.labels.boxes import (
    ChangedError,
    DrawnBoxes,
    Labels,
    PlacedBox,
    UnusableError,
    in_file,
    outline_of,
    placed,
    upright_axes,
)
from pipeline.worlds.indoor.labels.proposals import Detections, lifted
from pipeline.worlds.indoor.labels.surface import SampledSurface, fitted, picture_T_world, surface_of, views_of
from pipeline.worlds.indoor.readers.frames import no_frames
from pipeline.worlds.indoor.readers.meshes import PlyMesh
from pipeline.worlds.registry import FIXES
from tests.conftest import cube, make_scene
from tests.worlds.indoor.made_capture import BOXES, LENS, ROOM, SIZE, room_mesh, walk
from tests.worlds.indoor.readers.test_scene_folders import write


def sheet(x: tuple[float, float], y: tuple[float, float], z: float) -> np.ndarray:
    """A level surface, a point per square centimetre."""
    grid = np.meshgrid(np.arange(*x, 0.01), np.arange(*y, 0.01), [z])
    return np.stack([axis.ravel() for axis in grid], axis=1)


def surface(*parts: np.ndarray, turn_deg: float = 0.0) -> SampledSurface:
    points = np.concatenate(parts) @ upright_axes(turn_deg)
    return SampledSurface(points.astype(np.float32), np.zeros(points.shape, np.uint8), 0.01, 0.0, 0.0)


FLOOR = sheet((0, 4), (0, 3), 0.0)
TABLE = sheet((1.2, 2.4), (1.6, 2.4), 0.75)
CUP = sheet((1.5, 1.6), (1.7, 1.8), 0.85)
PICTURE = np.concatenate([sheet((3.0, 3.5), (2.95, 2.99), z) for z in np.arange(1.4, 1.9, 0.01)])
MAGAZINE = sheet((2.0, 2.3), (1.8, 2.0), 0.76)


def rectangle(x: tuple[float, float], y: tuple[float, float], turn_deg: float = 0.0) -> PlacedBox:
    center = np.array([np.mean(x), np.mean(y), 0.25]) @ upright_axes(turn_deg)
    size = (x[1] - x[0], y[1] - y[0], 0.5)
    return PlacedBox(label="thing", center=tuple(center.tolist()), size=size, turn_deg=turn_deg)


@pytest.mark.parametrize("turn_deg", [0.0, 33.0, -90.0, 171.5])
@pytest.mark.parametrize(
    ("drawn", "heights"),
    [
        (((1.19, 2.41), (1.59, 2.41)), (0.0, 0.75)),  # the table stands on the floor
        (((1.48, 1.62), (1.68, 1.82)), (0.75, 0.85)),  # the cup on the table
        (((1.98, 2.32), (1.78, 2.02)), (0.75, 0.775)),  # a magazine has the least height
        (((2.95, 3.55), (2.9, 3.0)), (1.4, 1.89)),  # the picture hangs: 1.4 m of air below it
        (((0.3, 0.9), (0.3, 0.9)), (0.0, 0.025)),  # nothing but floor
    ],
)
def test_a_rectangle_gets_the_height_of_what_stands_on_it_whatever_the_turn_of_the_room(
    drawn: tuple[tuple[float, float], tuple[float, float]], heights: tuple[float, float], turn_deg: float
) -> None:
    high = 0.8 if heights[1] == 0.75 else 2.2  # the cut leaves out what stands on the table
    scene = surface(FLOOR, TABLE, CUP, PICTURE, MAGAZINE, turn_deg=turn_deg)
    box = rectangle(*drawn, turn_deg)
    found = fitted(box, scene, -0.1, high, tighten=False)
    assert found is not None
    low, top = found.center[2] - found.size[2] / 2, found.center[2] + found.size[2] / 2
    assert (low, top) == pytest.approx(heights, abs=0.011)
    assert (found.center[:2], found.size[:2]) == (
        pytest.approx(box.center[:2], abs=1e-4),
        pytest.approx(box.size[:2], abs=1e-4),
    )


def test_a_rectangle_drawn_too_wide_is_tightened_and_one_over_nothing_has_no_height() -> None:
    scene = surface(FLOOR, TABLE, turn_deg=20)
    found = fitted(rectangle((1.0, 2.7), (1.5, 2.6), 20), scene, -0.1, 2.2, tighten=True)
    assert found is not None
    middle = np.array([1.8, 2.0, 0.0]) @ upright_axes(20)
    assert found.center[:2] == pytest.approx(middle[:2], abs=0.02)
    assert found.size == pytest.approx((1.2, 0.8, 0.75), abs=0.035)
    assert found.turn_deg == 20
    cup = rectangle((1.48, 1.62), (1.68, 1.82))
    book, counter = (
        rectangle((3.4, 3.8), (2.5, 2.9)),
        (sheet((3.3, 3.85), (2.4, 2.95), 0.9), sheet((3.4, 3.8), (2.5, 2.9), 1.0)),
    )
    corner = surface(FLOOR, TABLE, CUP, *(part[(part[:, 0] < 3.82) & (part[:, 1] < 2.92)] for part in counter))
    for box, low, bottom in ((cup, 0.78, 0.75), (book, 0.95, 0.9), (book, 0.5, 0.5), (cup, 0.05, 0.75)):
        on = fitted(
            box, corner, low, 2.2, tighten=False
        )  # a cut above what the thing stands on hides it from view alone
        assert on is not None
        assert on.center[2] - on.size[2] / 2 == pytest.approx(bottom, abs=0.01)
    assert fitted(rectangle((5, 6), (5, 6)), scene, -0.1, 2.2, tighten=False) is None
    assert fitted(rectangle((1.3, 2), (1.7, 2)), scene, 1.0, 2.2, tighten=False) is None  # the cut is above it


def document(**told: Any) -> SceneDocument:
    given = {"format": "scan2qa-scene", "version": 1, "unit": "m", "up": "z", "handedness": "right", "complete": True}
    return SceneDocument.model_validate(given | told)


def corners(center: Any, size: Any, rows: Any) -> np.ndarray:
    signs = np.array(list(product((-1, 1), repeat=3)))
    return np.asarray(center) + signs * np.asarray(size) / 2 @ np.asarray(rows)


@pytest.mark.parametrize("unit", ["m", "in", "unknown"])
@pytest.mark.parametrize("handedness", ["right", "left"])
@pytest.mark.parametrize("up", ["x", "-x", "y", "-y", "z", "-z"])
def test_a_drawn_box_is_the_same_box_in_a_file_of_any_axes(up: str, handedness: str, unit: str) -> None:
    box = PlacedBox(label="bed", center=(1.25, -2.5, 0.4), size=(2.0, 0.9, 0.8), turn_deg=-37.5)
    told = document(up=up, handedness=handedness, unit=unit)
    item = in_file(box, told)
    (back,) = placed(told.model_copy(update={"objects": (item,)}))
    order = np.lexsort(corners(box.center, box.size, box.rows).round(2).T)
    other = corners(back.center, back.size, back.rows)
    assert back.axes is None
    assert other[np.lexsort(other.round(2).T)] == pytest.approx(
        corners(box.center, box.size, box.rows)[order], abs=2e-4
    )
    if item.axes is not None:  # as the format says: rows are axes in the file's frame, a rotation
        assert np.linalg.det(np.array(item.axes)) == pytest.approx(1)
        axes = DocumentAxes(unit, up, handedness)
        world = axes.points(corners(item.center, item.size, item.axes))
        assert world[np.lexsort(world.round(2).T)] == pytest.approx(
            corners(box.center, box.size, box.rows)[order], abs=2e-4
        )
    else:
        assert (item.turn_deg, up, handedness) == (-37.5, "z", "right")


def test_a_tilted_box_stays_tilted() -> None:
    rows = [[0.8, 0.0, 0.6], [0.0, 1.0, 0.0], [-0.6, 0.0, 0.8]]
    told = document(objects=[{"label": "lid", "center": [0, 0, 1], "size": [1, 2, 0.1], "axes": rows}])
    (box,) = placed(told)
    assert box.axes is not None
    assert in_file(box, told) == told.objects[0]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=5),
    values,
    st.sampled_from([None, 1, "\t"]),
    st.booleans(),
    st.data(),
)
def test_one_value_of_a_json_text_changes_and_no_other_byte(
    told: dict[str, Any], value: Any, indent: int | str | None, ascii_: bool, data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from([*told, "new key"]))
    text = json.dumps(told, indent=indent, ensure_ascii=ascii_).replace("\n", "\r\n").encode()
    after = with_members(text, {key: json.dumps(value)})
    assert json.loads(after) == told | {key: value}
    assert list(json.loads(after)) == list(told | {key: value})
    if key in told:
        back = json.dumps(told[key], indent=indent, ensure_ascii=ascii_).replace("\n", "\r\n")
        assert isinstance(told[key], dict | list) or with_members(after, {key: back}) == text


ODD = """\ufeff{ "format":"scan2qa-scene",  "version" : 1,\r
 "unit":"m", "up":"z","handedness":"right",
 "objects": [ {"label":"caf\\u00e9 table" , "size":[1,1.0,1e0], "center":[0.10,0,0.5]},
   {"turn_deg": 30, "label":"chair","center":[2,0,0.45],"size":[0.5,0.5,0.9]} ],
 "complete": ["chair"], "remarks":["\\u003cb\\u003e  kept "] }
"""


def drawn_over(labels: Labels, *boxes: PlacedBox, complete: Any = ("chair",)) -> DrawnBoxes:
    return DrawnBoxes(digest=labels.read()[0], objects=boxes, complete=complete)


def test_what_nobody_touched_keeps_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_bytes(ODD.encode())
    path.chmod(0o640)
    labels = Labels(path)
    _, _, (table, chair) = labels.read()
    assert labels.write(drawn_over(labels, table, chair)) == labels.read()[0]
    assert path.read_bytes() == ODD.encode()
    bed = PlacedBox(label="bed", center=(1, 2, 0.25), size=(2, 1, 0.5), turn_deg=12.5)
    renamed = chair.model_copy(update={"label": "stool"})
    labels.write(drawn_over(labels, bed, table, renamed, complete=("chair", "bed")))
    before, rest = ODD.split("[ {", 1)
    after = rest.split("} ]", 1)[1].replace('["chair"]', '["chair", "bed"]')
    text = path.read_bytes().decode()
    assert text.startswith(before)
    assert text.endswith(after)
    new, old, other = entries_of(text.encode(), "objects")
    assert json.loads(new) == {"label": "bed", "center": [1, 2, 0.25], "size": [2, 1, 0.5], "turn_deg": 12.5}
    assert old == '{"label":"caf\\u00e9 table" , "size":[1,1.0,1e0], "center":[0.10,0,0.5]}'
    assert json.loads(other) == {"label": "stool", "center": [2, 0, 0.45], "size": [0.5, 0.5, 0.9], "turn_deg": 30}
    assert path.stat().st_mode & 0o777 == 0o640
    labels.write(drawn_over(labels, complete=False))
    assert labels.read()[1].objects == ()


def test_a_file_that_changed_is_not_overwritten_and_bad_boxes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "scene.json"
    path.write_bytes(ODD.encode())
    labels = Labels(path)
    _, _, boxes = labels.read()
    drawn = drawn_over(labels, *boxes[:1])
    for label in ("<img src=x onerror=alert(1)>", "a, b", "cup on the table", " ", "x" * 101):
        bad = boxes[0].model_copy(update={"label": label})
        with pytest.raises(UnusableError, match="cannot stand in a question"):
            labels.write(drawn_over(labels, bad))
    with pytest.raises(UnusableError, match="over 1000 m"):
        labels.write(drawn_over(labels, boxes[0].model_copy(update={"center": (0.0, 5e6, 0.0)})))
    assert path.read_bytes() == ODD.encode()
    path.write_bytes(ODD.replace("kept", "theirs").encode())
    with pytest.raises(ChangedError):
        labels.write(drawn)
    assert "theirs" in path.read_text()
    path.write_text(ODD[:200])
    with pytest.raises(RawDataError, match="changed by another program"):
        labels.write(drawn)


def frames_of(count: int = 12) -> CameraFrames:
    track = walk(count)
    return CameraFrames(track.time_s, np.arange(count), track.pose, np.tile(LENS, (count, 1)), SIZE)


def test_frames_show_a_box_where_nothing_hides_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.worlds.indoor.readers.meshes.POINTS", 40_000)
    scene, frames = surface_of(PlyMesh(*room_mesh()), frames_of()), frames_of()
    assert scene.floor == pytest.approx(0, abs=0.01)
    assert scene.points.min(axis=0) == pytest.approx((0, 0, 0), abs=0.02)
    assert scene.points.max(axis=0) == pytest.approx(ROOM, abs=0.02)
    sofa = PlacedBox(label="sofa", center=(3.25, 0.5, 0.4), size=(1.3, 0.8, 0.8))
    views = views_of(sofa, scene, frames)
    assert views
    assert views[0].share > 0.2  # half of its sides are turned away, others seen at a flat angle
    for view in views:
        x, y, depth = np.array(view.picture_T_world) @ (*sofa.center, 1)
        assert 0 < x / depth < 1
        assert 0 < y / depth < 1
    assert views_of(sofa.model_copy(update={"center": (6.5, 0.5, 0.4)}), scene, frames) == []  # behind the wall
    assert views_of(sofa, scene, no_frames()) == []


@pytest.mark.parametrize("quarter", range(4))
def test_pictures_and_places_in_them_are_upright_however_the_camera_was_held(quarter: int) -> None:
    frames = frames_of(1)
    level = frames.world_T_camera[0]
    roll = np.eye(4)
    roll[:3, :3] = upright_axes(90.0 * quarter)
    held = CameraFrames(
        frames.time_s, frames.number, (level @ roll)[None], np.array([[70.0, 70.0, 30.0, 30.0]]), (60, 60)
    )
    for right, down in ((0.2, -0.1), (-0.3, 0.05)):
        x, y, depth = picture_T_world(held, 0) @ level @ (right, down, 1.0, 1.0)
        assert (x / depth, y / depth) == pytest.approx(((70 * right + 30) / 60, (70 * down + 30) / 60))


def test_labels_written_for_a_folder_are_what_its_reader_reads(tmp_path: Path) -> None:
    root = write(tmp_path, lambda told, folder: told.update(objects=[], complete=False))
    labels = Labels(root / "room" / "scene.json")
    rng = random.Random(3)  # noqa: S311
    boxes = [
        PlacedBox(label=f"box {k}", center=(rng.random(), 1.0, 0.5), size=(1, rng.random() + 0.1, 1), turn_deg=k * 40.0)
        for k in range(4)
    ]
    labels.write(drawn_over(labels, *boxes, complete=True))
    _, after, found = labels.read()
    assert after.complete is True
    assert [box.label for box in found] == [box.label for box in boxes]
    assert [box.center for box in found] == [pytest.approx(box.center, abs=1e-5) for box in boxes]


def seen_by(frames: CameraFrames, i: int, low: Any, high: Any) -> tuple[float, ...] | None:
    """The rectangle of an upright box in a picture of 80 x 60 pixels; None where it is not wholly in it."""
    rows = corners((np.array(low) + high) / 2, np.array(high) - low, np.eye(3)) @ picture_T_world(frames, i)[:, :3].T
    rows = rows + picture_T_world(frames, i)[:, 3]
    if (rows[:, 2] < 0.2).any():
        return None
    place = rows[:, :2] / rows[:, 2:] * SIZE
    inside = (place > 0).all() and (place < SIZE).all()
    return (*place.min(axis=0).tolist(), *place.max(axis=0).tolist()) if inside else None


def looking(eye: tuple[float, float, float], at: tuple[float, float, float]) -> np.ndarray:
    """Pose world_T_camera of a camera held upright."""
    forward = np.array(at) - eye
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = np.stack([right, np.cross(forward, right), forward], axis=1), eye
    return pose


def test_rectangles_of_a_detector_become_boxes_about_the_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.worlds.indoor.readers.meshes.POINTS", 60_000)
    eyes = ((3.8, 2.8, 2.0), (0.8, 2.8, 2.0), (0.8, 1.2, 2.2), (2.2, 1.3, 2.3))
    pose = np.array([looking(eye, at) for eye in eyes for at in ((1.8, 2.0, 0.4), (3.2, 0.5, 0.4))])
    frames = CameraFrames(np.arange(8.0), np.arange(8), pose, np.tile((40.0, 40.0, 40.0, 30.0), (8, 1)), SIZE)
    scene = surface_of(PlyMesh(*room_mesh()), frames)
    found = []
    for i in range(8):
        told = [(label, seen_by(frames, i, low, high)) for label, low, high in BOXES]
        detections = [{"label": label, "box": box} for label, box in told if box is not None]
        odd = [
            {"label": "sofa", "box": [0, 0, 80, 60], "score": 0.1},
            {"label": "<b>", "box": [0, 0, 80, 60]},
            {"label": "cup", "box": [1e300, 0, 1.1e300, 9], "score": 0.3},
        ]
        found.append((i, Detections.model_validate({"detections": detections + odd}), SIZE))
    made = lifted(found, scene, frames)
    assert made.left_out == {
        "score below 0.3": 8,
        "a label that cannot stand in a question": 8,
        "too few points of the surface": 8,
    }
    assert {box.label for box in made.boxes} >= {"table", "sofa"}
    truth = {label: ((np.array(low) + high) / 2, np.array(high) - low) for label, low, high in BOXES}
    for label in ("table", "sofa"):
        best = next(box for box in made.boxes if box.label == label)  # that of most frames
        assert best.center == pytest.approx(truth[label][0], abs=0.25), label
        assert best.size == pytest.approx(truth[label][1], abs=0.45), label  # the wall behind is near
    for box in ([0, 0, 0, 5], [5, 0, 0, 9], [0, 0, float("nan"), 1]):
        with pytest.raises(ValueError, match="detections"):
            Detections.model_validate({"detections": [{"label": "cup", "box": box}]})


def test_what_is_drawn_over_a_scene_of_a_build_becomes_its_fixes(tmp_path: Path) -> None:
    made = make_scene([cube("table", 0, 0), cube("table", 3, 0), cube("sofa", 2, 2), cube("lamp", 5, 5)])
    dataset, _, name = made.id.partition("/")
    path = tmp_path / f"{dataset}.yaml"
    mine = f"id: made-0001, scene: {name}, target: room_area, expect: 20, set: 21, why: seen, who: me, date: 2026-01-31"
    path.write_text(f"# mine\n- {{{mine}}}\n")
    before, labels = path.read_bytes(), FixLabels(made, tmp_path)
    digest, _, boxes = labels.read()
    assert labels.write(DrawnBoxes(digest=digest, objects=tuple(boxes), complete=True)) == digest
    assert path.read_bytes() == before
    by_name = {(box.label, box.center[0]): box for box in boxes}
    drawn = (
        by_name["table", 0.0],
        by_name["table", 3.0].model_copy(update={"center": (3.2, 0.0, 0.5)}),
        by_name["sofa", 2.0].model_copy(update={"label": "bed"}),
        PlacedBox(label="chair", center=(1.0, 1.0, 0.5), size=(0.5, 0.6, 1.0), turn_deg=90.0),
    )  # the lamp is gone
    digest = labels.write(DrawnBoxes(digest=digest, objects=drawn, complete=True))
    with pytest.raises(ChangedError):
        labels.write(DrawnBoxes(digest="older", objects=drawn, complete=True))
    told = {(e.fix.target, e.fix.of, getattr(e.fix, "instance", None)) for e in read_fixes([tmp_path], FIXES)[1:]}
    moved = next(e.fix for e in read_fixes([tmp_path], FIXES) if e.fix.target == "box")
    assert moved.set.model_dump(exclude_none=True) == {"center_m": (3.2, 0.0, 0.5)}, "its sides and axes stay"
    assert told == {("box", "table", 1), ("category", "sofa", None), ("add_object", "chair", None),
        ("drop_object", "lamp", None)}  # fmt: skip
    assert before.decode() in path.read_text()
    _, _, again = FixLabels(made, tmp_path).read()
    assert {(box.label, *np.round(box.center, 3)) for box in again} == {
        (b.label, *np.round(b.center, 3)) for b in drawn
    }
    chair = next(box for box in again if box.label == "chair")
    assert (chair.size, chair.turn_deg) == (pytest.approx((0.5, 0.6, 1.0)), pytest.approx(90))
    labels.write(DrawnBoxes(digest=digest, objects=tuple(boxes), complete=True))  # all as it was read
    assert path.read_bytes() == before
    path.write_text(path.read_text().replace("room_area, expect: 20, set: 21", "rename, expect: sofa, set: bed"))
    with pytest.raises(ConfigError, match=r"made-0001.*take these out"):
        FixLabels(made, tmp_path)


def test_vertices_colour_what_no_frame_shows() -> None:
    vertices, faces = room_mesh()
    red = np.full((len(vertices), 3), (200, 10, 20), np.uint8)
    for mesh in (PlyMesh(vertices, faces, red), PlyMesh(vertices, faces[:0], red)):
        assert (surface_of(mesh, no_frames()).colors == red[0]).all()
    assert (surface_of(PlyMesh(vertices, faces), no_frames()).colors != red[0]).any()


@pytest.mark.parametrize("up", ["z", "y"])
def test_the_outline_of_the_floor_is_written_in_the_frame_of_the_file(tmp_path: Path, up: str) -> None:
    """A floor of 2 x 1 m in centimetres; with y up, what is north in the world is -z in the file."""
    told = {"format": "scan2qa-scene", "version": 1, "unit": "cm", "up": up, "handedness": "right", "complete": False}
    path = tmp_path / "scene.json"
    path.write_text(json.dumps(told))
    labels, corners = Labels(path), ((0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0))
    digest, _, _ = labels.read()
    assert labels.write(DrawnBoxes(digest=digest, objects=(), complete=False, outline=())) == digest
    digest = labels.write(DrawnBoxes(digest=digest, objects=(), complete=False, outline=corners))
    third = json.loads(path.read_text())["outline"][2]
    assert third == ([200, 100, 0] if up == "z" else [200, 0, -100])
    assert outline_of(labels.read()[1]) == list(corners)
    for same in (None, corners):
        assert labels.write(DrawnBoxes(digest=digest, objects=(), complete=False, outline=same)) == digest
    for bad in (corners[:2], (corners[0], corners[2], corners[1], corners[3]), ((0, 0), (1e9, 0), (0, 1))):
        with pytest.raises(UnusableError):
            labels.write(DrawnBoxes(digest=digest, objects=(), complete=False, outline=bad))
    labels.write(DrawnBoxes(digest=digest, objects=(), complete=False, outline=()))
    assert json.loads(path.read_text())["outline"] is None
