"""The layout of ARKitScenes, read with what its public tools do."""

import csv
import json
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.samples.indoor.truth import SceneTruth
from tests.conftest import Samples
from tests.oracles.public_tools import TenFpsDataLoader, backproject, compute_box_3d, read_ply, turned_upright, xyz
from tests.samples.indoor.conftest import off_mesh_m, outside_m, shown_points

SKY = {"49900001": "Left", "49900002": "Right", "49900003": "Down"}
every = pytest.mark.parametrize("name", list(SKY))
CLASSES = {
    *("cabinet", "refrigerator", "shelf", "stove", "bed", "sink", "washer", "toilet", "bathtub", "oven"),
    *("dishwasher", "fireplace", "stool", "chair", "table", "tv_monitor", "sofa"),
}


def scene_folder(samples: Samples, name: str) -> Path:
    return samples.folder / "arkitscenes" / "3dod" / "Validation" / name


def truth_of(samples: Samples, name: str) -> SceneTruth:
    return samples.truth.scenes[f"arkitscenes/{name}"]


def annotation(samples: Samples, name: str) -> dict:
    return json.loads((scene_folder(samples, name) / f"{name}_3dod_annotation.json").read_text())


@every
def test_box_utils_finds_the_planted_corners(samples: Samples, name: str) -> None:
    data, truth = annotation(samples, name), truth_of(samples, name)
    assert data["skipped"] is False
    assert len({item["uid"] for item in data["data"]}) == len(data["data"]) == len(truth.objects)
    for item, thing in zip(data["data"], truth.objects, strict=True):
        assert item["label"] == thing.label
        assert item["label"] in CLASSES
        box = item["segments"]["obbAligned"]
        rotation = np.array(box["normalizedAxes"]).reshape(3, 3)
        corners = compute_box_3d(box["axesLengths"], np.array(box["centroid"]), rotation)
        assert outside_m(corners, thing).max() < 1e-6
        assert len(np.unique(corners.round(6), axis=0)) == 8
        np.testing.assert_allclose(rotation[2], [0, 0, 1], atol=1e-9)


@every
def test_the_room_is_turned_against_the_axes(samples: Samples, name: str) -> None:
    """A reader that takes the transpose of normalizedAxes must fail on these."""
    rotations = [np.array(thing.box.axes) for thing in truth_of(samples, name).objects]
    assert all(np.abs(rotation - rotation.T).max() > 0.1 for rotation in rotations)


@every
def test_depth_lies_on_the_mesh_and_shows_each_object_as_often_as_the_truth_says(samples: Samples, name: str) -> None:
    vertices, faces = read_ply(scene_folder(samples, name) / f"{name}_3dod_mesh.ply")
    loader, truth = TenFpsDataLoader(scene_folder(samples, name), name), truth_of(samples, name)
    assert tuple(loader.frame_ids) == truth.frame_names
    for i in range(0, len(loader), 10):
        frame = loader[i]
        points = backproject(frame["depth"], frame["intrinsics"], frame["pose"])
        measured = points[np.isfinite(points[..., 2])]
        assert off_mesh_m(measured, xyz(vertices), faces).max() < 0.002
        for thing in truth.objects:
            expected = dict(thing.pixels).get(i, 0) / 4
            inside = shown_points(measured, thing, truth)
            if np.linalg.norm(np.array(thing.box.center) - frame["pose"][:3, 3]) < 4.0:
                assert inside == pytest.approx(expected, rel=0.15, abs=30), (i, thing.label)


@every
def test_turning_by_the_sky_direction_makes_frames_upright(samples: Samples, name: str) -> None:
    """By the pose, and by what the frame shows: what is low in the picture is low in the room."""
    with (samples.folder / "arkitscenes" / "metadata.csv").open() as file:
        sky = {row["video_id"]: row["sky_direction"] for row in csv.DictReader(file)}[name]
    assert sky == SKY[name]
    loader = TenFpsDataLoader(scene_folder(samples, name), name)
    for i in range(0, len(loader), 10):
        frame = loader[i]
        height = backproject(frame["depth"], frame["intrinsics"], frame["pose"])[..., 2]
        upright = turned_upright(height, sky)
        quarter = len(upright) // 4
        assert np.nanmean(upright[:quarter]) > np.nanmean(upright[-quarter:]) + 0.2
        right, down = frame["pose"][2, :2]  # of the stored picture, how much they point up
        up_in_picture = {"Up": -down, "Left": -right, "Down": down, "Right": right}[sky]
        assert up_in_picture > 0.85


@every
def test_names_of_files_are_timestamps_that_the_trajectory_knows(samples: Samples, name: str) -> None:
    folder = scene_folder(samples, name) / f"{name}_frames"
    stamps = {f"{name}_{stamp}" for stamp in truth_of(samples, name).frame_names}
    for kind, suffix in (
        ("lowres_wide", ".png"),
        ("lowres_depth", ".png"),
        ("confidence", ".png"),
        ("lowres_wide_intrinsics", ".pincam"),
    ):
        assert {path.name.removesuffix(suffix) for path in (folder / kind).iterdir()} == stamps
    assert all(len(stamp.rsplit(".", 1)[1]) == 3 for stamp in stamps)
    lines = (folder / "lowres_wide.traj").read_text().splitlines()
    assert {f"{name}_{float(line.split()[0]):.3f}" for line in lines} == stamps


@every
def test_the_video_shows_what_the_frames_show(samples: Samples, name: str) -> None:
    loader, truth = TenFpsDataLoader(scene_folder(samples, name), name), truth_of(samples, name)
    path = samples.folder / "arkitscenes" / "raw" / "Validation" / name / f"{name}.mov"
    with av.open(str(path)) as video:
        frames = list(video.decode(video=0))
    assert len(frames) == len(loader)
    np.testing.assert_allclose([f.time for f in frames], truth.frame_time_s, atol=2e-3)
    for i in range(0, len(frames), 20):
        color = frames[i].to_ndarray(format="rgb24")[::2, ::2].astype(float)
        assert np.abs(color - loader[i]["image"]).mean() < 8


@every
def test_confidence_falls_with_distance(samples: Samples, name: str) -> None:
    frame = TenFpsDataLoader(scene_folder(samples, name), name)[0]
    assert set(np.unique(frame["confidence"])) <= {0, 1, 2}
    assert frame["depth"].max() <= 5.0
    assert frame["confidence"][frame["depth"] == frame["depth"].max()].max() < 2


@pytest.mark.real_data
def test_tables_have_the_columns_of_the_real_ones(samples: Samples, real_data: Path) -> None:
    for ours, real in (
        ("metadata.csv", "metadata.csv"),
        ("3dod/metadata.csv", "metadata.csv"),
        ("3dod/3dod_train_val_splits.csv", "3dod_train_val_splits.csv"),
    ):
        header, *rows = (samples.folder / "arkitscenes" / ours).read_text().splitlines()
        real_header, *real_rows = (real_data / "arkitscenes" / real).read_text().splitlines()
        assert header == real_header
        assert len(rows) == len(SKY)
        assert not {row.split(",")[0] for row in rows} & {row.split(",")[0] for row in real_rows}
