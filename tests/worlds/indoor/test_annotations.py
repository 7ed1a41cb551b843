"""Annotations of datasets become the boxes that they state, and what was planted in them is found and named."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.core.errors import MissingExtraError, RawDataError, is_installed
from pipeline.worlds.indoor.converters.annotated import split_words
from pipeline.worlds.indoor.converters.hypersim import pinhole
from pipeline.worlds.indoor.converters.registry import CONVERTERS, recognised
from pipeline.worlds.indoor.converters.texts import euler_rotations
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.registry import examined
from tests.worlds.indoor.made_annotations import (
    ALIGN,
    FILMED,
    SHIFTED,
    THINGS,
    aria,
    corners,
    embodiedscan,
    hdf5,
    hypersim,
    matterport,
    procthor,
    procthor_lines,
    replica,
    threerscan,
)
from tests.worlds.indoor.made_capture import walk
from tests.worlds.indoor.readers.tiny_scans import put
from tests.worlds.indoor.test_converters import CAPTURES, converted, inverted, other_camera, transposed, try_mutations

WRITERS = {
    "embodiedscan": embodiedscan,
    "3rscan": threerscan,
    "matterport": matterport,
    "replica": replica,
    "aria_digital_twin": aria,
    "procthor": procthor,
    "hypersim": hypersim,
}
NAMED = {
    "matterport": {"nightstand": "night stand"},
    "procthor": {"lamp": "tv stand", "nightstand": "night stand"},
    "hypersim": {"nightstand": "night stand"},
}
DATASET = "pipeline.worlds.indoor.converters.hypersim._dataset"


OPEN_ENDED = {"labels_of_one_kind", "label_not_complete"}


@pytest.fixture(autouse=True)
def _arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without h5py, an extra, the arrays of Hypersim are read as NumPy's, as which they were then written."""
    if not is_installed("h5py"):
        monkeypatch.setattr(DATASET, loaded)


def loaded(path: Path, raw: bytes) -> np.ndarray:
    try:
        return np.load(io.BytesIO(raw))
    except Exception as error:
        raise RawDataError(path, "wrong_type", str(error), "") from error


def doubts(scene: IndoorScene) -> set[str]:
    return {f.name for f in examined(scene).findings if f.severity == "doubt"}


def scalar_moved(quat: np.ndarray) -> np.ndarray:
    """A quaternion in the other order."""
    return np.roll(quat, 1)


def unaligned(pose: np.ndarray) -> np.ndarray:
    """As whoever took poses for those of the aligned frame already."""
    return ALIGN @ pose


@pytest.mark.parametrize("name", WRITERS)
def test_the_boxes_are_those_of_the_room(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / "in")
    assert recognised(tmp_path / "in") == [name]
    _, scene, _ = converted(name, tmp_path / "in", tmp_path / "out")
    assert not doubts(scene) - OPEN_ENDED
    wanted = {(NAMED.get(name, {}).get(thing.label, thing.label), *thing.corners.round(3).ravel()) for thing in THINGS}
    boxes = [(o.category, o.box) for o in scene.facts.objects]
    found = {
        (label, *corners(np.array(b.center), np.array(b.lengths), np.array(b.axes)).round(3).ravel())
        for label, b in boxes
    }
    assert found == wanted


@pytest.mark.parametrize(
    ("write", "says"),
    [
        (lambda root: embodiedscan(root, inverted, FILMED, film=True), "depth_contradicts_poses"),
        (lambda root: embodiedscan(root, transposed, FILMED, film=True), "depth_contradicts_poses"),
        (lambda root: embodiedscan(root, unaligned, FILMED, film=True), "box_misses_mesh"),
        (lambda root: threerscan(root, transposed, FILMED, film=True), "depth_contradicts_poses"),
        (lambda root: threerscan(root, other_camera, FILMED, film=True), "depth_contradicts_poses"),
        (lambda root: threerscan(root, turn=np.transpose), "box_misses_mesh"),
        (lambda root: threerscan(root, turn=lambda axes: axes * 0.5), "unusable_boxes"),
        (lambda root: hypersim(root, np.linalg.inv, FILMED, film=True), "depth_contradicts_poses"),
        (lambda root: hypersim(root, lambda turns: turns @ SHIFTED, FILMED, film=True), "box_misses_mesh"),
        (lambda root: hypersim(root, things=FILMED, film=True, planar=True), "depth_contradicts_poses"),
        (lambda root: hypersim(root, scale=0.01), "scale_unknown"),
        (lambda root: matterport(root, lambda radii: 2 * radii), "implausible_size"),
        (lambda root: replica(root, scalar_moved), "boxes_lean"),
        (lambda root: aria(root, scalar_moved), "another_axis_is_up"),
        (lambda root: replica(root, lambda quat: quat * [-1, -1, -1, 1]), "box_misses_mesh"),  # transposed
        (lambda root: replica(root, gravity=(0.0, -1.0, 0.0)), "another_axis_is_up"),
        (lambda root: aria(root, gravity=(0.0, 0.0, -9.81)), "another_axis_is_up"),
        (lambda root: aria(root, gravity=(5.0, 5.0, 5.0)), "another_axis_is_up"),
        (lambda root: replica(root, lambda quat: quat * 1.1), "unusable_boxes"),
        (lambda root: aria(root, lambda quat: quat * np.nan), "not_finite"),
    ],
)
def test_a_wrong_convention_is_caught(tmp_path: Path, write: Callable[[Path], None], says: str) -> None:
    write(tmp_path / "in")
    (name,) = recognised(tmp_path / "in")
    try:
        found = doubts(converted(name, tmp_path / "in", tmp_path / "out")[1])
    except RawDataError as error:
        found = {error.finding}
    assert says in found


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITERS)
def test_mutations_are_named(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / "in")
    try_mutations(tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write"), [("embodiedscan", embodiedscan), ("3rscan", threerscan), ("hypersim", hypersim)]
)
def test_film_and_depth_fit_the_boxes(tmp_path: Path, name: str, write: Callable[..., None]) -> None:
    write(tmp_path / "in", things=FILMED, film=True)
    document, scene, frames = converted(name, tmp_path / "in", tmp_path / "out")
    assert not doubts(scene) - OPEN_ENDED
    assert frames is not None
    np.testing.assert_allclose(frames.world_T_camera, walk().pose, atol=0.02)  # the floor was found at 0
    assert document.mesh is not None
    assert document.camera is not None
    assert all(frame.depth for frame in document.camera.frames)


def test_angles_are_about_z_then_x_then_y_of_the_box() -> None:
    quarter = np.pi / 2
    (turn,) = euler_rotations("ZXY", np.array([[quarter, quarter, 0.0]]))
    np.testing.assert_allclose(turn, [[0, 0, 1], [1, 0, 0], [0, 1, 0]], atol=1e-12)
    (turn,) = euler_rotations("ZXY", np.array([[0.0, quarter, quarter]]))
    np.testing.assert_allclose(turn @ [1, 0, 0], [0, 1, 0], atol=1e-12)  # to -z about y first, then to y about x


def test_a_shifted_lens_is_a_turned_pinhole() -> None:
    """By hand: a lens of 90 degrees, 200 x 100 pixels, half of it above; the axis is turned down by the QR factor."""
    path = Path("cameras.csv")
    turn, matrix = pinhole(path, np.array([[1.0, 0, 0], [0, 0.5, 0], [0, 0, -1]]), (200, 100))
    np.testing.assert_allclose(turn, np.diag([1.0, -1.0, -1.0]), atol=1e-12)
    np.testing.assert_allclose(matrix, [[100, 0, 100], [0, 100, 50], [0, 0, 1]], atol=1e-9)
    _, matrix = pinhole(path, np.array([[1.0, 0, 0.25], [0, 0.5, 0], [0, 0, -1]]), (200, 100))
    assert matrix[0, 2] == pytest.approx(75)  # where u = -0.25 does
    for rays in (np.diag([1.0, 0.5, 1.0]), np.zeros((3, 3)), [[1.0, 0.1, 0], [0, 0.5, 0], [0, 0, -1]]):
        with pytest.raises(RawDataError, match="bad_intrinsics"):
            pinhole(path, np.array(rays), (200, 100))


def test_hypersim_says_what_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hypersim(tmp_path / "in")
    document, _, _ = converted("hypersim", tmp_path / "in", tmp_path / "out")
    assert document.complete is False
    assert any("several things were left out: chair (1)" in remark for remark in document.remarks)
    mesh = tmp_path / "in/ai_001_001/_detail/mesh"
    put(mesh / "mesh_objects_sii.hdf5", hdf5(np.full((10, 1), 99)))
    with pytest.raises(RawDataError, match="instances up to 99 of 10 boxes"):
        converted("hypersim", tmp_path / "in", tmp_path / "again")
    monkeypatch.undo()
    monkeypatch.setattr("pipeline.worlds.indoor.converters.hypersim.is_installed", lambda module: False)
    with pytest.raises(MissingExtraError, match="h5py"):
        converted("hypersim", tmp_path / "in", tmp_path / "third")
    (tmp_path / "in/metadata_camera_parameters.csv").unlink()
    with pytest.raises(RawDataError, match="mikeroberts3000"):
        converted("hypersim", tmp_path / "in", tmp_path / "fourth")


@pytest.mark.skipif(not is_installed("h5py"), reason="h5py is in an extra")
def test_what_an_hdf5_file_points_to_is_not_read(tmp_path: Path) -> None:
    import h5py

    hypersim(tmp_path / "in")
    path = tmp_path / "in/ai_001_001/_detail/cam_00/camera_keyframe_positions.hdf5"
    put(tmp_path / "other.hdf5", path.read_bytes())
    layout = h5py.VirtualLayout((12, 3), "f8")
    layout[...] = h5py.VirtualSource(str(tmp_path / "other.hdf5"), "dataset", (12, 3))
    for point in (
        lambda file: file.__setitem__("dataset", h5py.ExternalLink(str(tmp_path / "other.hdf5"), "dataset")),
        lambda file: file.create_virtual_dataset("dataset", layout),
        lambda file: file.create_dataset("dataset", (12, 3), "f8", external=[(str(tmp_path / "x"), 0, 288)]),
        lambda file: file.create_dataset("dataset", (10**6, 10**6), "f8", chunks=(10, 10), compression="gzip"),
    ):
        with h5py.File(path, "w") as file:
            point(file)
        with pytest.raises(RawDataError, match="wrong_type"):
            CONVERTERS["hypersim"].convert(CONVERTERS["hypersim"].places(tmp_path / "in")[0], tmp_path)


def test_a_foreign_pickle_is_not_run(tmp_path: Path) -> None:
    put(tmp_path / "in/embodiedscan_infos_val.pkl", b"cos\nsystem\n(S'touch /nowhere'\ntR.")
    with pytest.raises(RawDataError, match="foreign_pickle"):
        converted("embodiedscan", tmp_path / "in", tmp_path / "out")


@pytest.mark.parametrize("protocol", [2, 5])
def test_pickles_of_all_protocols_are_read(tmp_path: Path, protocol: int) -> None:
    embodiedscan(tmp_path / "in", protocol=protocol)
    (place,) = CONVERTERS["embodiedscan"].places(tmp_path / "in")
    assert place.name == "scannet-scene0000_00"


def test_a_region_is_a_scene(tmp_path: Path) -> None:
    matterport(tmp_path / "in", regions=2)
    converter = CONVERTERS["matterport"]
    places = converter.places(tmp_path / "in")
    assert [place.name for place in places] == ["x-region0", "x-region1"]
    with pytest.raises(RawDataError, match="unusable_boxes"):  # the floor alone
        converter.convert(places[1], tmp_path)


def test_what_is_carried_away_is_not_counted(tmp_path: Path) -> None:
    aria(tmp_path / "in")
    document, scene, _ = converted("aria_digital_twin", tmp_path / "in", tmp_path / "out")
    assert "cup" not in scene.facts.counts
    assert "cup" not in (document.complete or ())
    assert any("carried over 0.05 m" in remark and "cup" in remark for remark in document.remarks)


def test_a_house_of_many_lines_is_a_scene_each(tmp_path: Path) -> None:
    procthor_lines(tmp_path / "in")
    converter = CONVERTERS["procthor"]
    places = converter.places(tmp_path / "in")
    assert [place.name for place in places] == ["val-000000", "val-000001"]
    document = converter.convert(places[1], tmp_path)
    assert len(document.objects) == len(THINGS)
    assert (document.up, document.handedness, document.complete) == ("y", "left", True)
    assert (document.outline, document.area) == (None, pytest.approx(14.0)), "a wall stands between its two rooms"


def test_a_house_of_one_room_has_an_outline(tmp_path: Path) -> None:
    procthor(tmp_path / "in")
    path = tmp_path / "in" / "house_1.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps(told | {"rooms": told["rooms"][:1]}))
    document, _, _ = converted("procthor", tmp_path / "in", tmp_path / "out")
    assert {(x, z) for x, _, z in document.outline or ()} == {(0, 0), (0, 3.5), (1.9, 3.5), (1.9, 0)}


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda told, assets: assets.pop("Bed"), "unknown_asset"),
        (lambda told, assets: told["objects"][0].update(position=None), "wrong_shape"),
        (lambda told, assets: told["rooms"][0].update(floorPolygon=[]), "unusable_outline"),
        (lambda told, assets: told["rooms"][0]["floorPolygon"].reverse() or told["rooms"].clear(), "missing_key"),
    ],
)
def test_broken_houses_are_named(tmp_path: Path, change: Callable[[Any, Any], object], finding: str) -> None:
    procthor(tmp_path / "in")
    paths = [tmp_path / "in" / name for name in ("house_1.json", "asset-database.json")]
    told, assets = (json.loads(path.read_text()) for path in paths)
    change(told, assets)
    for path, value in zip(paths, (told, assets), strict=True):
        path.write_text(json.dumps(value))
    with pytest.raises(RawDataError) as caught:
        converted("procthor", tmp_path / "in", tmp_path / "out")
    assert caught.value.finding == finding


def test_houses_without_their_assets_say_where_these_are(tmp_path: Path) -> None:
    procthor(tmp_path / "in")
    (tmp_path / "in/asset-database.json").unlink()
    with pytest.raises(RawDataError, match="allenai/procthor"):
        converted("procthor", tmp_path / "in", tmp_path / "out")


def test_class_names_become_words() -> None:
    assert [split_words(name) for name in ("TVStand", "CD", "ArmChair", "bed")] == [
        "TV stand",
        "CD",
        "arm chair",
        "bed",
    ]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "count", "label", "height_m", "top_m"),
    [
        ("replica", 45, "nightstand", 0.72, None),
        ("aria_digital_twin", 286, "dining table", None, 0.75),  # README of the captures: from -0.01 to 0.75 m
        ("procthor", 19, "dresser", 0.894, 0.894),  # twice the height of its middle, 0.447 m
    ],
)
def test_real_annotations(
    tmp_path: Path, name: str, count: int, label: str, height_m: float | None, top_m: float | None
) -> None:
    source = CAPTURES / name / ("house_100.json" if name == "procthor" else "")
    _, scene, _ = converted(name, source, tmp_path / "out")
    assert len(scene.facts.objects) == count
    assert not doubts(scene) - {"labels_of_one_kind", "implausible_size"}
    box = next(o.box for o in scene.facts.objects if o.category == label)
    reach = np.abs(np.array(box.axes)[:, 2]) @ np.array(box.lengths)
    if height_m is not None:
        assert reach == pytest.approx(height_m, abs=0.01)
    if top_m is not None:
        assert box.center[2] + reach / 2 == pytest.approx(top_m, abs=0.02)
    if name == "procthor":
        assert scene.facts.room.area_m2 == pytest.approx(5.696**2 - 1.899**2, abs=0.01)
        assert not scene.facts.room.floor, "between the bed and the toilet stands a wall"
