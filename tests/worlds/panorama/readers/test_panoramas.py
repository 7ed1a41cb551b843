"""The reader of panoramas: what it makes of sound folders, and what of broken ones."""

import datetime
import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import Origin
from pipeline.reading.doctor import inspect
from pipeline.worlds.panorama.facts import PanoramaObject, PanoramaPicture, SphereCrop
from pipeline.worlds.panorama.readers.panoramas import TWINS_MAX, Panoramas, _twins, angles_of
from tests.conftest import REAL_DATA
from tests.worlds.panorama.panoramas import SIDECAR, jpeg, read, texture, write

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


def objects(root: Path) -> dict[str, PanoramaObject]:
    return {seen.id: seen for seen in read(root).facts.objects}


def test_a_panorama_by_hand(tmp_path: Path) -> None:
    scene = read(write(tmp_path))
    facts = scene.facts
    assert scene.id == "panoramas/p1"
    assert (facts.picture.path, facts.picture.width, facts.picture.height) == ("p1/pano.jpg", 256, 128)
    assert (facts.position.lat_deg, facts.position.lon_deg, facts.accuracy_m) == (43.7396, 7.4273, 4.0)
    assert (facts.heading_deg, facts.camera_height_m, facts.captured) == (37.5, 2.5, datetime.date(2024, 5, 17))
    assert (facts.licence, facts.author, facts.tags) == ("CC BY-SA 4.0", "Ada", ("harbour",))
    assert facts.source_tags["heading_deg"] == "pano.yaml"
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


def thing(key: str, **more: Any) -> dict[str, Any]:
    return {"id": key, "label": key, "yaw_deg": [0, 10], "pitch_deg": [0, 10]} | more


def test_names_of_all_scripts_can_be_asked_and_tricks_can_not(tmp_path: Path) -> None:
    names = ["薬局", "صيدلية", "ฬ", "Ἀπόλλων", "नमस्ते", "👩‍🍳 bakery"]
    tricks = ["a\nb", "a\u202eb", "a\x00b", "a\ud800", " ", "x" * 201]
    entries = [thing(f"n{i}", label=name, name=name) for i, name in enumerate(names)]
    entries += [thing(f"t{i}", label=name) for i, name in enumerate(tricks)]
    scene = read(write(tmp_path, objects={"objects": entries}))
    assert [seen.name for seen in scene.facts.objects] == names
    assert [(f.name, f.measured) for f in scene.findings] == [("unusable_object", 6.0)]


@given(st.integers(0, 255), st.integers(1, 255), st.integers(0, 127), st.integers(1, 128))
@settings(max_examples=40)
def test_pixels_and_angles_say_the_same(left: int, width: int, top: int, height: int) -> None:
    """A box of pixels of 360 / 256 degrees, which may lie across the seam, and the interval that it is."""
    picture = PanoramaPicture(path="p", width=256, height=128, sha256="0")
    bottom = min(top + height, 128)
    degrees = 360 / 256
    right = left + width if left + width <= 256 else left + width - 256
    angles = angles_of((left, top, right, bottom), picture)
    (start, wide), (low, high) = angles
    assert start == left * degrees - 180
    assert wide == pytest.approx(width * degrees)
    assert (low, high) == (90 - bottom * degrees, 90 - top * degrees)
    # The same box of a picture that is the lower right quarter of a sphere of twice the size.
    part = picture.model_copy(update={"crop": SphereCrop(full_width=512, full_height=256, left=256, top=128)})
    if left + width <= 256:
        shifted = angles_of((left, top, right, bottom), part)
        assert shifted[0] == pytest.approx((left * degrees / 2, width * degrees / 2))
        assert shifted[1] == pytest.approx((-bottom * degrees / 2, -top * degrees / 2))


@pytest.mark.real_data
def test_a_real_panorama_of_which_nothing_is_known() -> None:
    scene = read(REAL_DATA / "panoramas", "examplepano")
    assert (scene.facts.picture.width, scene.facts.picture.height, scene.facts.picture.crop) == (4096, 2048, None)
    assert [(f.name, f.severity) for f in scene.findings] == [
        ("progressive", "note"),
        ("no_position", "doubt"),
        ("no_heading", "doubt"),
    ]


@pytest.mark.parametrize("name", ["pano.yaml", "objects.json", "mapillary.json"])
def test_files_without_end_are_not_read(tmp_path: Path, name: str) -> None:
    root = write(tmp_path)
    with (root / "p1" / name).open("wb") as file:
        file.truncate(1 << 27)  # a hole: no disk is taken
    with pytest.raises(RawDataError, match="file_too_large"):
        read(root)


def test_two_objects_of_a_label_are_kept_and_told(tmp_path: Path) -> None:
    scene = read(write(tmp_path, objects={"objects": [thing("a", label="car"), thing("b", label="car"), thing("c")]}))
    assert len(scene.facts.objects) == 3
    (finding,) = scene.findings
    assert (finding.name, finding.severity, finding.measured, finding.limit) == ("label_not_unique", "note", 1.0, 0.0)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"objects": 3}', b'{"objects": [], "labels": []}', b"[" * 100_000])
def test_objects_that_are_none(tmp_path: Path, raw: bytes) -> None:
    root = write(tmp_path, objects__json=raw)
    with pytest.raises(RawDataError) as caught:
        read(root)
    assert caught.value.path.name == "objects.json"
    assert caught.value.remedy


@pytest.mark.parametrize(
    "entry",
    [
        3,
        None,
        [],
        {"id": "a"},
        {"id": 3, "label": "b"},
        thing("a", yaw_deg=[1, 1]),
        thing("a", yaw_deg=[0, 1e300]),
        thing("a", distance_m=0),
        thing("a", box_px=[0, 0, 1, 1]),
    ],
)
def test_an_entry_that_is_no_object_costs_itself_alone(tmp_path: Path, entry: Any) -> None:
    scene = read(write(tmp_path, objects={"objects": [entry, thing("b")], "complete": ["b"]}))
    assert [seen.id for seen in scene.facts.objects] == ["b"]
    assert [f.name for f in scene.findings] == ["unusable_object"]


def test_pictures_in_the_root_have_their_files_beside_them(tmp_path: Path) -> None:
    (tmp_path / "quay.jpg").write_bytes(jpeg())
    (tmp_path / "quay.yaml").write_text(SIDECAR + "dataset: harbours\ndepth: {metres_per_unit: 0.01}\n")
    (tmp_path / "quay.objects.json").write_text('{"objects": []}')
    out = io.BytesIO()
    Image.fromarray(np.full((64, 128), 500, dtype=np.uint16)).save(out, "PNG")
    (tmp_path / "quay.depth.png").write_bytes(out.getvalue())
    (tmp_path / "pier.png").write_bytes(out.getvalue())
    write(tmp_path, "p1")
    write(tmp_path, "pier")
    listing = Panoramas().scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["harbours/quay", "panoramas/p1"]
    assert [(error.finding, error.scene) for error in listing.broken] == [("duplicate_scene", "panoramas/pier")]
    scene = read(tmp_path, "quay")
    assert (scene.facts.heading_deg, scene.facts.picture.path) == (37.5, "quay.jpg")
    assert scene.facts.depth is not None
    assert scene.source.files == ("quay.depth.png", "quay.jpg", "quay.objects.json", "quay.yaml")
    missing = inspect(Panoramas(), tmp_path).missing
    assert {want.part: ids for want, ids in missing.items()} == {
        "picture": (), "sidecar": (), "service": ("harbours/quay", "panoramas/p1"),
        "depth": ("panoramas/p1",), "objects": ("panoramas/p1",), "maps": ("harbours/quay", "panoramas/p1"),
    }  # fmt: skip


def test_roots_that_hold_none(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no panorama here"):
        Panoramas().scenes(tmp_path)
    with pytest.raises(ConfigError, match="no such folder"):
        Panoramas().scenes(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="maps"):
        Panoramas(maps=str(tmp_path / "nowhere")).scenes(write(tmp_path))
    (tmp_path / "a b").mkdir()
    (tmp_path / "a b" / "pano.jpg").write_bytes(jpeg())
    assert [error.finding for error in Panoramas().scenes(tmp_path).broken] == ["unsafe_scene_name"]


@pytest.mark.parametrize(
    ("sidecar", "told"),
    [
        ("heading_deg: 360", "heading_deg is '360'"),
        ("haeding_deg: 3", "unknown key haeding_deg"),
        ('place: {city: "a\\u202eb"}', "place.city is"),
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


def test_what_may_be_a_picture_once_more_the_nearest_first() -> None:
    """Along the equator, metres from the first; of one size are the first and the last, of no picture the third."""
    metres = 111_319.5

    def listed(east_m: float | None, size: int | None) -> Any:
        at = None if east_m is None else Origin(lat_deg=1e-4, lon_deg=8 + east_m / metres, alt_m=None)
        picture = None if size is None else SimpleNamespace(stat=lambda: SimpleNamespace(st_size=size))
        return SimpleNamespace(picture=picture, position=at)

    rows = [(0.0, 10), (9.0, 11), (4.0, None), (5.0, 12), (10.5, 13), (30.0, 10), (None, 11), (None, 99)]
    found = _twins([listed(*row) for row in rows])
    assert found == {1: [0], 3: [1, 0], 4: [1, 3], 5: [0], 6: [1]}
    crowd = [listed(0.01 * n, n) for n in range(40)]
    assert {n: own[0] for n, own in _twins(crowd).items()} == dict.fromkeys(range(1, 40), 0), "on one spot the first"
    assert all(len(own) <= TWINS_MAX and max(own) < n for n, own in _twins(crowd).items())
    assert _twins([listed(0.0, 1)]) == {}
