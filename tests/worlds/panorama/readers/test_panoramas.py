"""The reader of panoramas: what it makes of sound folders, and what of broken ones."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.worlds.panorama.facts import Seen
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.worlds.panorama.panoramas import jpeg, read, texture, write

OBJECTS = {
    "objects": [
        {"id": "a", "label": "pharmacy", "kind": "pharmacy", "yaw_deg": [170, -170], "pitch_deg": [-5, 10]},
        # 256 pixels are 360 degrees: columns 240 to 16 are 32 pixels, 45 degrees, about the seam.
        {"id": "b", "label": "car", "box_px": [240, 64, 16, 96], "distance_m": 12.5, "attributes": {"colour": "red"}},
        {"id": "c", "label": "bench", "yaw_deg": [10, 20]},
        {"id": "d", "label": "bench", "yaw_deg": [10, 20], "pitch_deg": [5, -5]},
        {"id": "e", "label": "bench", "yaw_deg": [10, 20], "pitch_deg": [-5, 5]},
        {"id": "e", "label": "bench", "yaw_deg": [50, 60], "pitch_deg": [-5, 5]},
        {"id": "f", "label": "car", "box_px": [0, 0, 300, 10]},
    ],
    "complete": ["car"],
}


def objects(root: Path) -> dict[str, Seen]:
    return {seen.id: seen for seen in read(root).facts.objects}


def test_a_panorama_by_hand(tmp_path: Path) -> None:
    scene = read(write(tmp_path))
    facts = scene.facts
    assert scene.id == "panoramas/p1"
    assert (facts.picture.path, facts.picture.width, facts.picture.height) == ("p1/pano.jpg", 256, 128)
    assert facts.position is not None
    assert (facts.position.lat_deg, facts.position.lon_deg, facts.accuracy_m) == (43.7396, 7.4273, 4.0)
    assert (facts.heading_deg, facts.camera_height_m, facts.captured) == (37.5, 2.5, datetime.date(2024, 5, 17))
    assert (facts.licence, facts.author, facts.tags) == ("CC BY-SA 4.0", "Ada", ("harbour",))
    assert facts.told_by["heading_deg"] == "pano.yaml"
    assert scene.source.files == ("p1/pano.jpg", "p1/pano.yaml")


def test_objects_across_the_seam_are_one_interval(tmp_path: Path) -> None:
    root = write(tmp_path, picture=jpeg(texture(256, 128)), objects=OBJECTS)
    found = objects(root)
    assert sorted(found) == ["a", "b"]
    assert (found["a"].yaw_deg, found["a"].width_deg) == (-180.0, 20.0)
    assert (found["b"].yaw_deg, found["b"].width_deg) == (-180.0, 45.0)
    assert (found["b"].pitch_low_deg, found["b"].pitch_high_deg) == (-45.0, 0.0)
    assert (found["b"].distance_m, found["b"].attributes) == (12.5, {"colour": "red"})


def test_unusable_objects_are_counted_and_named(tmp_path: Path) -> None:
    scene = read(write(tmp_path, objects=OBJECTS))
    found = {finding.name: finding for finding in scene.findings}
    assert found["unusable_object"].measured == 3.0
    assert "needs yaw_deg and pitch_deg, or box_px" in found["unusable_object"].message
    assert (
        "box_px [0.0, 0.0, 300.0, 10.0] lies beyond the picture's 256 x 128 pixels" in found["unusable_object"].message
    )
    assert found["duplicate_id"].message.endswith("1 of 7 objects were left out: e")
    assert scene.facts.complete == ()  # nothing is, where something was left out


@pytest.mark.parametrize(
    ("sidecar", "told"),
    [
        ("heading_deg: 360", "heading_deg is '360'"),
        ("haeding_deg: 3", "unknown key haeding_deg"),
        ("position: {lat_deg: 91, lon_deg: 0, alt_m: null}", "position.lat_deg is '91'"),
    ],
)
def test_a_wrong_sidecar_costs_its_panorama_alone(tmp_path: Path, sidecar: str, told: str) -> None:
    write(tmp_path, sidecar=sidecar)
    write(tmp_path, name="p2")
    with pytest.raises(RawDataError, match="bad_setting") as caught:
        read(tmp_path)
    assert told in str(caught.value)
    assert read(tmp_path, "p2").facts.heading_deg == 37.5


def test_every_folder_is_listed(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "maps").mkdir()
    listing = Panoramas().scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["panoramas/p1"]
    assert listing.broken == ()
