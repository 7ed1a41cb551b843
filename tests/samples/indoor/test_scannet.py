"""ScanNet's layout, read with what its public tools do."""

import io
import json
import math
import zipfile
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from pipeline.samples.indoor.scannet import COLOR, DEPTH, LOST_FRAMES
from pipeline.samples.indoor.truth import SceneTruth
from tests.conftest import Samples
from tests.oracles.public_tools import SensorData, backproject, load_scannet_data, read_ply, xyz
from tests.samples.indoor.conftest import off_mesh_m, outside_m

SENS, TREE = "scene9001_00", "scene9002_00"
both = pytest.mark.parametrize("name", [SENS, TREE])
USED_LABELS = ("nyu40class", "nyuClass", "eigen13class", "mpcat40")


def scan_folder(samples: Samples, name: str) -> Path:
    return samples.folder / "scannet" / "scans" / name


def truth_of(samples: Samples, name: str) -> SceneTruth:
    return samples.truth.scenes[f"scannet/{name}"]


def loaded(samples: Samples, name: str) -> dict:
    table = samples.folder / "scannet" / "scannetv2-labels.combined.tsv"
    return load_scannet_data(scan_folder(samples, name), name, table)


def frames_of(samples: Samples, name: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Pose, depth and colour of every frame, from the .sens or from the exported tree."""
    folder = scan_folder(samples, name)
    if name == SENS:
        sens = SensorData(folder / f"{name}.sens")
        return [(f.camera_to_world, sens.depth(i), f.color()) for i, f in enumerate(sens.frames)]
    numbers = sorted(int(path.stem) for path in (folder / "pose").iterdir())
    return [
        (
            np.loadtxt(folder / "pose" / f"{n}.txt"),
            np.asarray(Image.open(folder / "depth" / f"{n}.png")),
            np.asarray(Image.open(folder / "color" / f"{n}.jpg")),
        )
        for n in numbers
    ]


def instance_images(samples: Samples, name: str) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(scan_folder(samples, name) / f"{name}_2d-instance-filt.zip") as archive:
        return {
            member.removeprefix("instance-filt/").removesuffix(".png"): np.asarray(
                Image.open(io.BytesIO(archive.read(member)))
            )
            for member in archive.namelist()
        }


@both
def test_the_instances_that_mmdetection3d_finds_are_the_planted_pieces(samples: Samples, name: str) -> None:
    data, truth = loaded(samples, name), truth_of(samples, name)
    labels = [group["label"] for group in data["groups"]]
    assert labels == [*(thing.label for thing in truth.objects), "floor", "wall"]
    for thing in truth.objects:
        points = data["points"][data["instances"] == thing.index + 1]
        assert len(points) >= 8
        assert outside_m(points, thing).max() < 1e-5
        local = (points - thing.box.center) @ np.array(thing.box.axes).T
        np.testing.assert_allclose(np.ptp(local, axis=0), thing.box.lengths, atol=1e-5)
    ceiling = data["points"][data["instances"] == 0]
    assert len(ceiling)
    assert ceiling[:, 2].min() > 2.0, "only the ceiling belongs to nothing"
    assert data["points"][:, 2].min() == pytest.approx(0.0, abs=1e-5)


@both
def test_the_scan_frame_is_not_the_world(samples: Samples, name: str) -> None:
    matrix = loaded(samples, name)["axis_align_matrix"]
    np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, np.eye(3), atol=2e-6)
    assert abs(math.degrees(math.atan2(matrix[1, 0], matrix[0, 0]))) > 10
    assert np.linalg.norm(matrix[:3, 3]) > 1


@both
def test_other_libraries_read_the_mesh(samples: Samples, name: str) -> None:
    path = scan_folder(samples, name) / f"{name}_vh_clean_2.ply"
    mesh = trimesh.load(path, process=False)
    vertices, faces = read_ply(path)
    assert vertices.dtype.names == ("x", "y", "z", "red", "green", "blue", "alpha")
    np.testing.assert_allclose(mesh.vertices, xyz(vertices))
    assert (mesh.faces == faces).all()
    assert (mesh.visual.vertex_colors[:, :3] == np.stack([vertices[c] for c in ("red", "green", "blue")], 1)).all()


@both
def test_segments_are_vertices_that_lie_together(samples: Samples, name: str) -> None:
    folder = scan_folder(samples, name)
    segments = np.array(json.loads((folder / f"{name}_vh_clean_2.0.010000.segs.json").read_text())["segIndices"])
    aggregation = json.loads((folder / f"{name}.aggregation.json").read_text())
    used = [s for group in aggregation["segGroups"] for s in group["segments"]]
    assert len(used) == len(set(used))
    assert set(used) < set(segments.tolist())
    assert aggregation["sceneId"] == f"scannet.{name}"
    assert [group["objectId"] for group in aggregation["segGroups"]] == list(range(len(aggregation["segGroups"])))


def test_the_sens_file_has_everything_that_the_public_reader_wants(samples: Samples) -> None:
    sens = SensorData(scan_folder(samples, SENS) / f"{SENS}.sens")
    truth = truth_of(samples, SENS)
    assert sens.sensor_name == "StructureSensor"
    assert (sens.color_compression, sens.depth_compression) == ("jpeg", "zlib_ushort")
    assert sens.depth_shift == 1000
    assert len(sens.frames) == len(truth.frame_names)
    assert sens.frames[0].color().shape == (sens.color_height, sens.color_width, 3)
    assert sens.intrinsic_color[0, 0] == pytest.approx(COLOR.fx)
    assert sens.intrinsic_depth[1, 2] == pytest.approx(DEPTH.cy)
    time_s = [(f.timestamp_color - sens.frames[0].timestamp_color) / 1e6 for f in sens.frames]
    np.testing.assert_allclose(time_s, truth.frame_time_s, atol=2e-6)
    assert all(f.timestamp_depth > f.timestamp_color for f in sens.frames)


def test_the_tree_is_what_the_public_reader_exports_with_frames_skipped(samples: Samples) -> None:
    folder, truth = scan_folder(samples, TREE), truth_of(samples, TREE)
    for kind, suffix in (("color", "jpg"), ("depth", "png"), ("pose", "txt")):
        assert {p.name for p in (folder / kind).iterdir()} == {f"{n}.{suffix}" for n in truth.frame_names}
    assert truth.frame_names[:3] == ("0", "10", "20")
    assert np.loadtxt(folder / "intrinsic" / "intrinsic_depth.txt")[0, 0] == pytest.approx(DEPTH.fx, abs=1e-6)
    assert (np.loadtxt(folder / "intrinsic" / "extrinsic_color.txt") == np.eye(4)).all()
    assert not (folder / f"{TREE}.sens").exists()


@both
def test_lost_poses_are_minus_infinity_and_the_others_rigid(samples: Samples, name: str) -> None:
    lost = []
    for i, (pose, _, _) in enumerate(frames_of(samples, name)):
        if np.isneginf(pose).all():
            lost.append(i)
        else:
            assert np.isfinite(pose).all()
            np.testing.assert_allclose(pose[:3, :3] @ pose[:3, :3].T, np.eye(3), atol=1e-5)
    assert tuple(lost) == LOST_FRAMES == truth_of(samples, name).lost_frames


@both
def test_the_facts_describe_the_files(samples: Samples, name: str) -> None:
    lines = (scan_folder(samples, name) / f"{name}.txt").read_text().splitlines()
    facts = dict(line.split(" = ") for line in lines)
    _, depth, color = frames_of(samples, name)[0]
    assert (int(facts["colorHeight"]), int(facts["colorWidth"]), 3) == color.shape
    assert (int(facts["depthHeight"]), int(facts["depthWidth"])) == depth.shape
    assert int(facts["numColorFrames"]) == int(facts["numDepthFrames"]) == len(frames_of(samples, name))
    assert float(facts["fx_color"]) == pytest.approx(COLOR.fx)
    assert float(facts["my_depth"]) == pytest.approx(DEPTH.cy)


@both
def test_depth_lies_on_the_mesh_and_labelled_pixels_in_their_boxes(samples: Samples, name: str) -> None:
    """Depth, poses, instance images and boxes agree, though colour and depth have lenses of their own."""
    data, truth = loaded(samples, name), truth_of(samples, name)
    vertices, faces = read_ply(scan_folder(samples, name) / f"{name}_vh_clean_2.ply")
    labels = instance_images(samples, name)
    matrix = data["axis_align_matrix"]
    checked = inside = 0
    for i, (pose, depth, _) in enumerate(frames_of(samples, name)):
        if i in LOST_FRAMES or i % 9:
            continue
        points = backproject(depth / 1000, DEPTH.matrix(), pose.astype(np.float64))
        measured = points[np.isfinite(points[..., 2])]
        assert off_mesh_m(measured, xyz(vertices), faces).max() < 0.004
        camera = np.stack([*np.indices(depth.shape)[::-1], np.ones(depth.shape)], -1) @ np.linalg.inv(DEPTH.matrix()).T
        u, v, _ = np.moveaxis(camera @ COLOR.matrix().T, -1, 0).round().astype(int)
        seen = (u >= 0) & (u < COLOR.width) & (v >= 0) & (v < COLOR.height) & (depth > 0)
        ids = labels[truth.frame_names[i]][v[seen], u[seen]]
        world = points[seen] @ matrix[:3, :3].T + matrix[:3, 3]
        for thing in truth.objects:
            mine = world[ids == thing.index + 1]
            checked += len(mine)
            inside += int((outside_m(mine, thing) < 0.02).sum())
    assert checked > 20_000
    assert inside / checked > 0.97


@both
def test_instance_images_hold_what_the_truth_counts(samples: Samples, name: str) -> None:
    truth = truth_of(samples, name)
    images = instance_images(samples, name)
    assert list(images) == list(truth.frame_names)
    counts = np.array([np.bincount(images[n].ravel(), minlength=64) for n in truth.frame_names])
    for thing in truth.objects:
        expected = np.zeros(len(images), dtype=int)
        for frame, pixels in thing.pixels:
            expected[frame] = pixels
        assert (counts[:, thing.index + 1] == expected).all()


@pytest.mark.real_data
def test_the_label_table_is_the_public_one(samples: Samples, real_data: Path) -> None:
    """Every row of the small table agrees with the row of the real one that has the same raw category."""

    def rows(path: Path) -> tuple[list[str], dict[str, dict[str, str]]]:
        header, *lines = (line.split("\t") for line in path.read_text().splitlines())
        return header, {line[1]: dict(zip(header, line, strict=False)) for line in lines}  # some real lines are short

    header, ours = rows(samples.folder / "scannet" / "scannetv2-labels.combined.tsv")
    real_header, real = rows(real_data / "scannet" / "scannetv2-labels.combined.tsv")
    assert header == real_header
    assert all(list(row) == header for row in ours.values())
    for raw, row in ours.items():
        for column in ("id", "category", "nyu40id", "eigen13id", "mpcat40index", *USED_LABELS):
            assert row[column] == real[raw][column], (raw, column)
    named = {thing.label for name in (SENS, TREE) for thing in truth_of(samples, name).objects}
    assert named <= set(ours)


@pytest.mark.real_data
def test_the_split_names_both_scans_and_no_real_one(samples: Samples, real_data: Path) -> None:
    names = (samples.folder / "scannet" / "scannetv2_val.txt").read_text().split()
    assert names == [SENS, TREE]
    assert not set(names) & set((real_data / "scannet" / "scannetv2_val.txt").read_text().split())
