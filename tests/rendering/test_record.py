"""`scan2qa show --rerun`: what Rerun's own reader finds in a recording is the scene and the question."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from flows.cli.recording import write
from flows.orchestration.saved_build import save_if_successful
from pipeline.core.spatial import MappedThing, Spatial, SpatialBoxes, TopDownMap, flat
from pipeline.geometry.scans import CameraFrames, SceneGeometry
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from pipeline.worlds.flight.bev_video import spatial as flight_in_space
from pipeline.worlds.flight.facts import Flight, FlightScene, Landmark
from pipeline.worlds.indoor.top_down_map import spatial as scan_in_space
from tests.builds import Cli, config_of, rows_of
from tests.conftest import make_scene
from tests.worlds.indoor.readers.broken_metadata import write_scenes

FILE: Final = "test-00000-of-00001.parquet"


def recording(path: Path) -> Any:
    """The file as Rerun reads it."""
    from rerun import dataframe  # it takes a second

    return dataframe.load_recording(path)


def held(path: Path) -> dict[str, Any]:
    """Everything in a recording that has no time."""
    view = recording(path).view(index=None, contents="/**")
    row = view.select_static().read_all().to_pylist()[0]
    return {name.removeprefix("/"): value for name, value in row.items()}


def positions(path: Path) -> tuple[list[float], np.ndarray]:
    """Seconds and places of the camera."""
    view = recording(path).view(index="video", contents="/world/camera/now")
    table = view.select().read_all()
    seconds = [value.total_seconds() for value in table["video"].to_pylist()]
    return seconds, np.array([row[0] for row in table["/world/camera/now:Points3D:positions"].to_pylist()])


def test_a_scan_with_mesh_boxes_path_and_question(tmp_path: Path) -> None:
    scene = make_scene(
        [("bed", (1.0, 2.0, 0.5), (2.0, 1.0, 1.0), 30.0), ("lamp", (4.0, 0.0, 1.0), (0.2, 0.2, 2.0), 0.0)]
    )
    pose = np.tile(np.eye(4), (3, 1, 1))
    pose[:, :3, 3] = [[0, 0, 1.5], [1, 0, 1.5], [1, 1, 1.5]]
    frames = CameraFrames(np.array([0.0, 0.5, 2.0]), np.arange(3), pose, np.ones((3, 4)), (640, 480))
    vertices = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    geometry = SceneGeometry(vertices, np.array([[0, 1, 2]], dtype=np.int32), np.zeros(3, dtype=np.int32), frames)
    path = tmp_path / "one.rrd"
    write(path, "made/one", scan_in_space(scene, geometry), frozenset({"bed"}), ["    How far?"])
    found = held(path)
    assert found["world/operands:Boxes3D:labels"] == ["bed"]
    assert found["world/things:Boxes3D:labels"] == ["lamp"]
    assert np.allclose(found["world/operands:Boxes3D:centers"], [[1.0, 2.0, 0.5]])
    assert np.allclose(found["world/operands:Boxes3D:half_sizes"], [[1.0, 0.5, 0.5]])
    (turn,) = found["world/operands:Boxes3D:quaternions"]
    assert np.allclose(turn, [0.0, 0.0, np.sin(np.radians(15)), np.cos(np.radians(15))], atol=1e-6)  # x, y, z, w
    assert np.allclose(found["world/mesh:Mesh3D:vertex_positions"], vertices)
    assert found["world/mesh:Mesh3D:triangle_indices"] == [[0, 1, 2]]
    assert found["question/0:TextDocument:text"] == ["    How far?"]
    seconds, places = positions(path)
    assert seconds == [0.0, 0.5, 2.0]
    assert np.allclose(places, pose[:, :3, 3])
    assert recording(path).recording_id() == "made/one"


def test_a_flight_with_landmarks_at_their_heights(tmp_path: Path) -> None:
    square = ((0.0, 0.0), (10.0, 0.0), (10.0, 20.0), (0.0, 20.0))
    tower = Landmark(
        name="Tower", label="the tower", center=(5.0, 10.0), radius_m=11.2, outline=square, base_m=2, top_m=32
    )
    tree = Landmark(name="Tree", center=(30.0, 0.0), radius_m=0)
    base = make_scene([])
    facts = Flight.model_construct(landmarks=(tower, tree), motion=None)
    scene = FlightScene.model_construct(**{**base.__dict__, "facts": facts})
    space = flight_in_space(scene, None)
    assert np.allclose(space.boxes.centers, [[5.0, 10.0, 17.0], [30.0, 0.0, 0.0]])
    assert np.allclose(space.boxes.lengths, [[10.0, 20.0, 30.0], [0.0, 0.0, 0.0]])
    assert [line[:, 2].tolist() for line in space.lines] == [[2.0] * 5, [32.0] * 5]
    write(tmp_path / "f.rrd", "made/flight", space, frozenset({"the tower"}), [])
    assert held(tmp_path / "f.rrd")["world/operands:Boxes3D:labels"] == ["the tower"]


def test_a_mirrored_box_is_turned_and_not_mirrored(tmp_path: Path) -> None:
    mirrored = np.diag([1.0, 1.0, -1.0])[None]
    boxes = SpatialBoxes(("a",), np.zeros((1, 3)), np.ones((1, 3)), mirrored)
    write(tmp_path / "m.rrd", "m", Spatial(boxes), frozenset(), [])
    (turn,) = held(tmp_path / "m.rrd")["world/things:Boxes3D:quaternions"]
    assert np.allclose(np.abs(turn), [0.0, 0.0, 0.0, 1.0])


def test_a_map_is_laid_flat() -> None:
    sketch = TopDownMap(
        things=(MappedThing(label="a", outline=((0.0, 0.0), (2.0, 0.0), (2.0, 1.0))),), path=((3.0, 1.0, 2.0),)
    )
    space = flat(sketch)
    assert space.boxes.centers.tolist() == [[1.0, 0.5, 0.0]]
    assert space.boxes.lengths.tolist() == [[2.0, 1.0, 0.0]]
    assert space.path.tolist() == [[3.0, 1.0, 2.0, 0.0]]
    assert flat(TopDownMap()).boxes.labels == ()


def test_of_things_of_one_name_that_of_the_id_is_marked(tmp_path: Path) -> None:
    shops = tuple(MappedThing(label="bakery", outline=((float(i), 0.0),), id=f"node/{i}") for i in range(3))
    write(tmp_path / "s.rrd", "s", flat(TopDownMap(things=shops)), frozenset({"node/1"}), [])
    found = held(tmp_path / "s.rrd")
    assert np.allclose(found["world/operands:Boxes3D:centers"], [[1.0, 0.0, 0.0]])
    assert len(found["world/things:Boxes3D:centers"]) == 2


@pytest.mark.slow
def test_the_command_writes_one_of_a_build_and_refuses_a_release_alone(tmp_path: Path, scan2qa: Cli) -> None:
    write_scenes(tmp_path / "meta" / "rooms.json", {"kitchen": sample_scene(PLANS[1])})
    config = config_of(tmp_path / "meta")
    with save_if_successful(tmp_path / "out", config, [], {"vsi_meta": tmp_path / "meta"}):
        pass
    Builder(config, tmp_path / "out").build()
    rows = rows_of(tmp_path / "out" / "release" / "provenance" / FILE)
    row = next(r for r in rows if r["task"] == "object_abs_distance")
    run = scan2qa("show", row["id"], tmp_path / "out", "--rerun", tmp_path / "new" / "one.rrd")
    assert (run.code, run.err) == (0, "")
    found = held(tmp_path / "new" / "one.rrd")
    assert set(found["world/operands:Boxes3D:labels"]) == set(row["operands"])
    assert f"Answer: {row['answer']}" in found["question/0:TextDocument:text"][0]
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["one.rrd"]
    for rest, said in ((["--rerun", "one.txt"], "end in .rrd"),):
        assert said in scan2qa("show", row["id"], tmp_path / "out", *rest).err
    alone = scan2qa("show", row["id"], (tmp_path / "out" / "release").resolve(), "--rerun", tmp_path / "x.rrd")
    assert (alone.code, "needs the build" in alone.err) == (2, True)
