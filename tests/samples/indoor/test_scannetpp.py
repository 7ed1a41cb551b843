"""ScanNet++'s layout, read with what its public toolkit does."""

import json
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.samples.indoor.truth import SceneTruth
from tests.conftest import Samples
from tests.oracles.public_tools import backproject, iphone_depth, read_ply, xyz
from tests.samples.indoor.conftest import off_mesh_m, outside_m, shown_points

every = pytest.mark.parametrize("name", ["5a3f9c0e01", "5a3f9c0e02"])
FULL_FRAME = (384, 512)


def scene_folder(samples: Samples, name: str) -> Path:
    return samples.folder / "scannetpp" / "data" / name


def truth_of(samples: Samples, name: str) -> SceneTruth:
    return samples.truth.scenes[f"scannetpp/{name}"]


def annotation(samples: Samples, name: str) -> list[dict]:
    return json.loads((scene_folder(samples, name) / "scans" / "segments_anno.json").read_text())["segGroups"]


@every
def test_segments_of_a_group_are_its_object(samples: Samples, name: str) -> None:
    scans, truth = scene_folder(samples, name) / "scans", truth_of(samples, name)
    vertices, _ = read_ply(scans / "mesh_aligned_0.05.ply")
    segments = np.array(json.loads((scans / "segments.json").read_text())["segIndices"])
    assert len(segments) == len(vertices)
    groups = annotation(samples, name)
    assert len({group["id"] for group in groups}) == len(groups)
    assert [g["label"] for g in groups] == [*(t.label for t in truth.objects), "floor", "wall", "ceiling"]
    owned = np.zeros(len(vertices), dtype=int)
    for group in groups:
        owned += np.isin(segments, group["segments"])
    assert (owned == 1).all()
    for group, thing in zip(groups, truth.objects, strict=False):
        points = xyz(vertices)[np.isin(segments, group["segments"])]
        assert outside_m(points, thing).max() < 1e-5


@every
def test_every_vertex_is_a_segment(samples: Samples, name: str) -> None:
    scans = scene_folder(samples, name) / "scans"
    segments = json.loads((scans / "segments.json").read_text())["segIndices"]
    assert segments == list(range(len(read_ply(scans / "mesh_aligned_0.05.ply")[0])))


@every
def test_boxes_are_the_planted_ones_with_axes_as_rows(samples: Samples, name: str) -> None:
    for group, thing in zip(annotation(samples, name), truth_of(samples, name).objects, strict=False):
        box = group["obb"]
        assert box["centroid"] == pytest.approx(thing.box.center)
        assert box["axesLengths"] == pytest.approx(thing.box.lengths)
        axes = np.array(box["normalizedAxes"]).reshape(3, 3)
        np.testing.assert_allclose(axes, thing.box.axes, atol=1e-9)
        reach = np.abs(axes.T) @ np.array(box["axesLengths"]) / 2
        np.testing.assert_allclose(box["max"], box["centroid"] + reach, atol=1e-6)
        np.testing.assert_allclose(box["min"], box["centroid"] - reach, atol=1e-6)


@every
def test_depth_lies_on_the_mesh_and_shows_each_object_as_often_as_the_truth_says(samples: Samples, name: str) -> None:
    folder, truth = scene_folder(samples, name), truth_of(samples, name)
    vertices, faces = read_ply(folder / "scans" / "mesh_aligned_0.05.ply")
    records = json.loads((folder / "iphone" / "pose_intrinsic_imu.json").read_text())
    depth = iphone_depth(folder / "iphone" / "depth.bin")
    assert list(records) == list(truth.frame_names) == [f"frame_{i:06d}" for i in range(len(depth))]
    half = np.diag([0.5, 0.5, 1.0])  # depth has half the size of the video
    for i in range(0, len(depth), 10):
        record = records[f"frame_{i:06d}"]
        pose = np.array(record["aligned_pose"])
        points = backproject(depth[i].astype(np.float64), half @ np.array(record["intrinsic"]), pose)
        measured = points[np.isfinite(points[..., 2])]
        assert off_mesh_m(measured, xyz(vertices), faces).max() < 0.002
        for thing in truth.objects:
            if thing.label in ("bed", "pillow"):
                continue  # pillows lie in the bed's box
            expected = dict(thing.pixels).get(i, 0) / 4
            inside = shown_points(measured, thing, truth)
            if np.linalg.norm(np.array(thing.box.center) - pose[:3, 3]) < 4.0:
                assert inside == pytest.approx(expected, rel=0.15, abs=30), (i, thing.label)


@every
def test_the_video_has_one_frame_per_record(samples: Samples, name: str) -> None:
    folder, truth = scene_folder(samples, name), truth_of(samples, name)
    records = json.loads((folder / "iphone" / "pose_intrinsic_imu.json").read_text())
    with av.open(str(folder / "iphone" / "rgb.mp4")) as video:
        stream = video.streams.video[0]
        assert stream.codec_context.name == "h264"
        frames = list(video.decode(stream))
    assert len(frames) == len(records)
    assert {(f.height, f.width) for f in frames} == {FULL_FRAME}
    np.testing.assert_allclose([f.time for f in frames], truth.frame_time_s, atol=1e-3)
    assert all(f.to_ndarray(format="rgb24").mean() > 60 for f in frames[::10])
    stamps = [record["timestamp"] for record in records.values()]
    np.testing.assert_allclose(np.array(stamps) - stamps[0], truth.frame_time_s, atol=1e-5)


@every
def test_arkit_and_aligned_poses_differ_by_one_rigid_motion(samples: Samples, name: str) -> None:
    records = json.loads((scene_folder(samples, name) / "iphone" / "pose_intrinsic_imu.json").read_text()).values()
    arkit, aligned = (np.array([record[key] for record in records]) for key in ("pose", "aligned_pose"))
    motion = arkit @ np.linalg.inv(aligned)
    np.testing.assert_allclose(motion, np.broadcast_to(motion[0], motion.shape), atol=1e-6)
    np.testing.assert_allclose(motion[0, :3, :3] @ [0, 0, 1], [0, 1, 0], atol=1e-6)  # ARKit's y is up
    np.testing.assert_allclose(arkit[0, :3, 3], 0, atol=1e-6)
    assert (aligned[:, 2, 1] < -0.5).all(), "the camera's y points down"


def test_splits_and_classes(samples: Samples) -> None:
    root = samples.folder / "scannetpp"
    assert (root / "splits" / "nvs_sem_val.txt").read_text().split() == ["5a3f9c0e01", "5a3f9c0e02"]
    classes = (root / "metadata" / "semantic_classes.txt").read_text().splitlines()
    assert {"wall", "floor", "ceiling", "office chair"} <= set(classes)
