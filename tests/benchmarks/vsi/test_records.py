"""What a release holds of its scenes: unified metadata that is read again, and cognitive maps."""

import datetime
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.benchmarks.vsi import cognitive_maps
from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.score import SCORE, VsiScoreSettings
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import Applied, Video
from pipeline.reading.files import SceneFiles
from pipeline.scoring.score import scored, split_of
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.vsi_meta import metadata_of
from pipeline.worlds.indoor.view import IndoorView
from pipeline.worlds.registry import READERS
from tests.builds import build, rows_of
from tests.conftest import METADATA_TASKS, cube, make_doubt, make_scene, random_objects, watched
from tests.scoring.made import file_of, said

OFFICIAL = PROFILES["official"]
FIXED = Applied(
    id="one", subjects=("chair",), change="count of chair 2 -> 3", why="seen", who="me", date=datetime.date(2026, 1, 2)
)


def reread(folder: Path, raw: dict[str, Any]) -> IndoorScene:
    (folder / "made.json").write_text(json.dumps({"room1": raw}), encoding="utf-8")
    (ref,) = READERS["vsi_meta"].scenes(folder).scenes
    return READERS["vsi_meta"].read(SceneFiles(folder, ref))


def test_metadata_are_read_as_they_were_written(tmp_path: Path) -> None:
    doubt = make_doubt("thin_box", "thing a", 0.0001, 0.001, "m").model_copy(update={"message": "m", "remedy": "r"})
    scene = make_scene(random_objects(3, 9, repeated=2), area=17.3, findings=[doubt])
    video = Video(path="made/room1.mp4", fps=24.0, frames=240, width=640, height=480)
    scene = scene.model_copy(update={"fixes": (FIXED,), "video": video})
    again = reread(tmp_path, metadata_of(scene))
    assert (again.fixes, again.findings) == (scene.fixes, scene.findings)
    assert again.video == video.model_copy(update={"path": "room1.mp4"})
    for a, b in zip(again.facts.objects, scene.facts.objects, strict=True):
        assert (a.category, a.instance, a.box) == (b.category, b.instance, b.box)
    assert (again.facts.counts, again.facts.room.area_m2) == (scene.facts.counts, 17.3)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fixes", {"id": "one"}),
        ("fixes", [FIXED.model_dump(mode="json") | {"who": "a\x1b[2J"}]),
        ("findings", [make_doubt("x", "y", 1, 2, "m").model_dump() | {"severity": "fault"}]),
        ("findings", "none"),
        ("video", {"fps": -1}),
        ("video", [30]),
        ("fixes", json.loads("[" * 900 + "]" * 900)),
    ],
)
def test_what_no_release_writes_is_refused(key: str, value: object, tmp_path: Path) -> None:
    video = Video(path="v.mp4", fps=30)
    raw = metadata_of(make_scene([cube("chair", 0, 0)]).model_copy(update={"video": video})) | {key: value}
    with pytest.raises(RawDataError) as raised:
        reread(tmp_path, raw)
    assert raised.value.finding == "wrong_value"
    assert raised.value.message.isprintable()


def test_a_release_is_built_from_the_metadata_that_it_holds(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    scene = make_scene(random_objects(5, 10, repeated=2), area=30.0)
    (tmp_path / "raw" / "made.json").write_text(json.dumps({"room1": metadata_of(scene)}), encoding="utf-8")
    own = {"generate": {"profile": "official", "tasks": list(METADATA_TASKS)}}
    build(tmp_path / "raw", tmp_path / "first", **own)
    release = tmp_path / "first" / "release"
    build(release, tmp_path / "second", **own)
    first, second = (
        rows_of(tmp_path / name / "release" / "data" / "test-00000-of-00001.parquet") for name in ("first", "second")
    )
    assert len(first) > 20
    assert first == second
    maps = rows_of(release / "cognitive_maps" / "test-00000-of-00001.parquet")
    asked = {row["id"] for row in first if row["question_type"] == "object_rel_distance"}
    assert {row["of"] for row in maps} == asked | {None}

    split = split_of(release, "cognitive_maps")
    gold = said(tmp_path / "gold.jsonl", {row["id"]: row["ground_truth"] for row in maps})
    found = scored(SCORE, split.questions, [gold], VsiScoreSettings())
    assert {row.figure.name: row.value for row in found.rows} == dict.fromkeys(sorted(cognitive_maps.KINDS), 1.0)


def cells(scene: IndoorScene, n: int = 10) -> dict[str, list[list[int]]]:
    view = IndoorView(scene, OFFICIAL)
    return {name: found.tolist() for name, found in cognitive_maps.cells_of(view, n).items()}


def test_the_longer_side_fills_the_grid_and_the_shorter_lies_in_its_middle() -> None:
    scene = make_scene([cube("bed", 0, 0), cube("tv", 4, 0), cube("chair", 1, 2), cube("chair", 3.9, 1)])
    # 4 m on 10 cells: 0.4 m each; 2 m are 5 cells, from 2.5 to 7.5; the far end of the grid lies in the last cell.
    assert cells(scene) == {"bed": [[0, 2]], "tv": [[9, 2]], "chair": [[2, 7], [9, 5]]}
    assert cells(scene, 4) == {"bed": [[0, 1]], "tv": [[3, 1]], "chair": [[1, 3], [3, 2]]}
    floor = (((-2.0, -1.0), (6.0, -1.0), (6.0, 3.0), (-2.0, 3.0)),)
    room = scene.facts.room.model_copy(update={"floor": floor})
    # 8 m, from -2: 0.8 m each; in y 4 m, whose middle is 1: from -3.
    assert cells(scene.with_facts(room=room)) == {"bed": [[2, 3]], "tv": [[7, 3]], "chair": [[3, 6], [7, 5]]}


def test_a_map_holds_what_the_video_shows() -> None:
    scene = watched(make_scene([cube("bed", 0, 0), cube("tv", 4, 0), cube("chair", 1, 2)]), {("tv", 0): None})
    (row,) = cognitive_maps.map_questions(scene, PROFILES["strict"], [])
    assert (row["ground_truth"], row["flags"]) == ('{"bed": [[2, 0]], "chair": [[7, 9]]}', [])
    assert "We provide the categories to care about in this scene: bed, chair. Focus ONLY" in row["text"]
    alone = make_scene([cube("bed", 0, 0), cube("bed", 1, 0)])
    assert cognitive_maps.map_questions(alone, OFFICIAL, []) == []


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"bed": [(1, 2)], "chair": [(3, 4), (5, 6.5)]}', {"bed": [[1, 2]], "chair": [[3, 4], [5, 6.5]]}),
        ("```json\n{'Bed': [[1, 2]],\n 'chair ': [[3,4]]}\n```", {"bed": [[1, 2]], "chair": [[3, 4]]}),
        ('First {"bed": [(9, 9)]}, better: {"bed": [(1, 2)]}.', {"bed": [[1, 2]]}),
        ('<think>{"bed": [(9, 9)]}</think>{"chair": [(3, 4)]}', {"chair": [[3, 4]]}),
        ('{"bed": [(1, 2)], "chair": [(3', {"bed": [[1, 2]]}),
        ('{"sofa": [(1, 2)]}', {}),
        ('"bed": (1, 2)', {}),
        ('{"bed": "(1, 2)"}', {}),
        ("[" * 100_000, {}),
        ("{" * 100_000 + '"bed": [' * 10_000, {}),
    ],
)
def test_maps_are_found_in_replies(reply: str, found: dict[str, list[list[float]]]) -> None:
    read = cognitive_maps.read_map(reply, ["bed", "chair"])
    assert {name: places.tolist() for name, places in read.items()} == found


def test_a_pair_is_right_within_one_cell_of_the_shortest_distance(tmp_path: Path) -> None:
    truth = {"bed": [[0, 0]], "chair": [[3, 4], [9, 9]], "tv": [[0, 8]]}
    # True: bed-chair 5, bed-tv 8, chair-tv 5. Said: 6 (right), 8.1 (right), and with (3, 9.5) hypot(3, 1.4) (wrong).
    reply = '{"bed": [(0, 0)], "chair": [(6, 0), (3, 9.5)], "tv": [(0, 8.1)]}'
    true, right, why = cognitive_maps.compared(reply, json.dumps(truth))
    assert (true.tolist(), right.tolist(), why) == ([5, 8, 5], [1, 1, 0], None)
    assert cognitive_maps.locality(true, right)[0].endswith("(4.4, 5.5] 0.50 of 2; (7.8, 8.9] 1.00 of 1.")
    _, right, _ = cognitive_maps.compared('{"bed": [(0, 0)], "chair": [(6.01, 0)]}', json.dumps(truth))
    assert right.tolist() == [0, 0, 0]  # what is left out is wrong
    rows = [
        {
            "id": n,
            "dataset": "made",
            "scene_name": "room1",
            "question_type": cognitive_maps.WHOLE,
            "question": "?",
            "options": None,
            "ground_truth": json.dumps(truth),
            "pruned": False,
            "video_examined": True,
        }
        for n in (1, 2)
    ]
    found = scored(
        SCORE,
        file_of(tmp_path / "q.jsonl", rows),
        [said(tmp_path / "p.jsonl", {1: reply, 2: "no"})],
        VsiScoreSettings(),
    )
    assert [(row.metric, row.figure.name, row.value) for row in found.rows] == [
        ("map", cognitive_maps.WHOLE, pytest.approx(1 / 3))
    ]
    assert found.unread() == [None, "no_map"]
    with pytest.raises(ConfigError, match="question 1 has no true map"):
        SCORE.read(file_of(tmp_path / "bad.jsonl", [rows[0] | {"ground_truth": '{"bed": [[0, 0]]}'}]))


def test_a_map_that_is_turned_mirrored_or_moved_is_the_same() -> None:
    rng = np.random.default_rng(1)
    truth = {name: rng.integers(0, 10, (n, 2)).tolist() for name, n in [("a", 1), ("b", 3), ("c", 2), ("d", 1)]}
    turned = {name: [(-y - 3, 7 - x) for x, y in places] for name, places in truth.items()}
    _, right, _ = cognitive_maps.compared(str(turned), json.dumps(truth))
    assert right.all()
