"""What sources say of a panorama, which of them is believed, and what of it is not."""

import datetime
import io
import json
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings
from pipeline.core.schema import Origin
from pipeline.formats.picture_tags import Header
from pipeline.worlds.panorama.facts import PanoramaPicture, PanoramaScene, SphereCrop
from pipeline.worlds.panorama.readers import sources
from pipeline.worlds.panorama.readers.metadata import _tilt
from pipeline.worlds.panorama.readers.picture import _fault_of, _say_crop
from pipeline.worlds.panorama.readers.sources import SourceMetadata, WrongGPano, accuracy_of, compare, from_gpano
from tests.worlds.panorama.panoramas import read, texture, write
from tests.worlds.panorama.tagged import NICE, picture, with_thumbnail

GPANO = {"ProjectionType": "equirectangular", "PoseHeadingDegrees": "37.0", "PosePitchDegrees": "1.5"}
MAPILLARY: dict[str, Any] = {
    "id": "498763468214164",
    "geometry": {"type": "Point", "coordinates": [7.42730, 43.73960]},
    "computed_geometry": {"type": "Point", "coordinates": [7.42735, 43.73962]},
    "compass_angle": 30.0,
    "computed_compass_angle": 33.25,
    "computed_rotation": [math.pi / 2, 0.0, 0.0],  # looks north, level
    "captured_at": 1715940000000,
    "camera_type": "spherical",
    "creator": {"username": "ada", "id": "1"},
}
PANORAMAX: dict[str, Any] = {
    "type": "Feature",
    "id": "1",
    "geometry": {"type": "Point", "coordinates": [7.4273, 43.7396]},
    "properties": {
        "datetime": "2024-05-17T10:00:00+00:00",
        "view:azimuth": 120,
        "pers:pitch": 0.5,
        "pers:roll": -0.25,
        "pers:interior_orientation": {"field_of_view": 360},
        "quality:horizontal_accuracy": 2.5,
        "license": "etalab-2.0",
    },
    "providers": [{"name": "host", "roles": ["host"]}, {"name": "Grace", "roles": ["producer"]}],
    "links": [{"rel": "self", "href": "https://example.org/api/items/1"}],
}


def found(scene: PanoramaScene) -> dict[str, str]:
    return {finding.name: finding.subject for finding in scene.findings if finding.severity == "doubt"}


def test_exif_tells_place_and_heading(tmp_path: Path) -> None:
    scene = read(write(tmp_path, sidecar=None, picture=picture(NICE, tags={0x013B: "Ada", 0x8298: "CC0"})))
    facts = scene.facts
    assert (facts.position.lat_deg, facts.position.lon_deg) == pytest.approx((43.7396, 7.4273))
    assert (facts.position.alt_m, facts.accuracy_m, facts.heading_deg) == (52.5, 4.0, 37.5)
    assert (facts.author, facts.licence) == ("Ada", "CC0")
    assert facts.source_tags["position"] == facts.source_tags["heading_deg"] == "EXIF"
    assert found(scene) == {}


def test_south_and_west_are_negative(tmp_path: Path) -> None:
    root = write(tmp_path, sidecar=None, picture=picture(NICE | {1: "S", 3: "W", 5: b"\1"}))
    at = read(root).facts.position
    assert (at.lat_deg, at.lon_deg, at.alt_m) == pytest.approx((-43.7396, -7.4273, -52.5))


@pytest.mark.parametrize(
    ("changes", "doubts"),
    [
        ({1: ""}, {"gps_reference_missing": "position"}),
        ({3: "X"}, {"gps_reference_missing": "position"}),
        ({2: (0.0, 0.0, 0.0), 4: (0.0, 0.0, 1.0)}, {"position_zero": "position"}),
        ({4: (7.0, 25.0)}, {"half_a_position": "position"}),
        ({16: "M"}, {"magnetic_heading": "heading"}),
        ({17: 723.0}, {"heading_out_of_range": "heading"}),
        ({17: 0.6545}, {"perhaps_radians": "heading"}),
    ],
)
def test_what_exif_cannot_mean_is_in_doubt(tmp_path: Path, changes: dict[int, Any], doubts: dict[str, str]) -> None:
    scene = read(write(tmp_path, sidecar=None, picture=picture(NICE | changes)))
    assert found(scene) == doubts
    (subject,) = doubts.values()
    assert (scene.facts.position is None) == (subject == "position")
    assert (scene.facts.heading_deg is None) == (subject == "heading" and "perhaps_radians" not in doubts)


def test_gpano_tells_heading_and_tilt(tmp_path: Path) -> None:
    facts = read(write(tmp_path, sidecar=None, picture=picture(NICE, GPANO))).facts
    assert (facts.heading_deg, facts.camera_pitch_deg, facts.camera_roll_deg) == (37.0, 1.5, None)
    assert facts.source_tags["heading_deg"] == "XMP GPano"


@pytest.mark.parametrize("crop", [False, True])
def test_a_cropped_picture_lies_where_gpano_says(tmp_path: Path, crop: bool) -> None:
    """A picture of 400 x 100 of a sphere of 400 x 200, halved after its metadata were written or not."""
    gpano = GPANO | {
        "FullPanoWidthPixels": "400", "FullPanoHeightPixels": "200", "CroppedAreaLeftPixels": "0",
        "CroppedAreaTopPixels": "50", "CroppedAreaImageWidthPixels": "400", "CroppedAreaImageHeightPixels": "100",
    }  # fmt: skip
    scene = read(write(tmp_path, sidecar=None, picture=picture(NICE, gpano, (200, 50) if crop else (400, 100))))
    half = 2 if crop else 1
    expected = SphereCrop(full_width=400 // half, full_height=200 // half, left=0, top=50 // half)
    assert scene.facts.picture.crop == expected
    assert ("gpano_scaled" in {finding.name for finding in scene.findings}) == crop


@pytest.mark.parametrize(
    ("gpano", "finding"),
    [
        ({"ProjectionType": "cylindrical"}, "not_equirectangular"),
        ({"FullPanoWidthPixels": "400"}, "gpano_incomplete"),
        (
            {"FullPanoWidthPixels": "400", "FullPanoHeightPixels": "300", "CroppedAreaLeftPixels": "0",
             "CroppedAreaTopPixels": "0", "CroppedAreaImageWidthPixels": "256", "CroppedAreaImageHeightPixels": "128"},
            "gpano_contradicts",
        ),
    ],
)  # fmt: skip
def test_gpano_that_cannot_be(tmp_path: Path, gpano: dict[str, str], finding: str) -> None:
    with pytest.raises(RawDataError) as caught:
        read(write(tmp_path, sidecar=None, picture=picture(None, gpano)))
    assert caught.value.finding == finding


def test_a_packet_with_entities_is_not_read(tmp_path: Path) -> None:
    raw = picture(None, {"PoseHeadingDegrees": "&a;"})
    head = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>'.encode()
    bomb = raw.replace(head, b'<!DOCTYPE a [<!ENTITY a "1">]>'.ljust(len(head)))
    assert bomb != raw
    scene = read(write(tmp_path, sidecar=None, picture=bomb))
    assert scene.facts.heading_deg is None


def test_people_come_before_the_picture_and_the_difference_is_told(tmp_path: Path) -> None:
    sidecar = "position: {lat_deg: 43.7406, lon_deg: 7.4273}\nheading_deg: 90\n"
    scene = read(write(tmp_path, sidecar=sidecar, picture=picture(NICE, GPANO)))
    assert scene.facts.heading_deg == 90.0
    differing = {f.name: f for f in scene.findings}
    assert differing["positions_disagree"].measured == pytest.approx(111.3, abs=0.2)  # a thousandth of a degree
    assert differing["headings_disagree"].measured == 53.0


def test_what_people_are_certain_of_is_in_doubt_no_more(tmp_path: Path) -> None:
    sidecar = "position: {lat_deg: 43.7406, lon_deg: 7.4273}\nheading_deg: 90\ncertain: [position]\n"
    scene = read(write(tmp_path, sidecar=sidecar, picture=picture(NICE, GPANO)))
    assert found(scene) == {"headings_disagree": "heading"}
    assert {f.name: f.severity for f in scene.findings}["positions_disagree"] == "note"


def test_what_was_not_used_matters_nothing_where_another_source_knows(tmp_path: Path) -> None:
    """The remedy of a position without letters is to state it: then it is in doubt no more."""
    sidecar = "position: {lat_deg: 43.7396, lon_deg: 7.4273}\n"
    scene = read(write(tmp_path, sidecar=sidecar, picture=picture(NICE | {1: "", 16: "M"}, GPANO)))
    assert found(scene) == {}
    assert {"gps_reference_missing", "magnetic_heading"} <= {f.name for f in scene.findings}


def test_a_heading_in_radians_is_known_by_the_other(tmp_path: Path) -> None:
    sidecar = f"heading_deg: {math.radians(37.2):.6f}\n"
    assert found(read(write(tmp_path, sidecar=sidecar, picture=picture(NICE)))) == {"heading_in_radians": "heading"}


def test_mapillary_computed_comes_before_measured(tmp_path: Path) -> None:
    root = write(tmp_path, sidecar=None, mapillary__json=json.dumps(MAPILLARY).encode())
    scene = read(root)
    facts = scene.facts
    assert (facts.position.lat_deg, facts.position.lon_deg, facts.heading_deg) == (43.73962, 7.42735, 33.25)
    assert facts.camera_pitch_deg == pytest.approx(0.0, abs=1e-9)
    assert facts.camera_roll_deg == pytest.approx(0.0, abs=1e-9)
    assert (facts.captured, facts.author, facts.licence) == (datetime.date(2024, 5, 17), "ada", "CC BY-SA 4.0")
    assert facts.source_tags["heading_deg"] == "Mapillary computed"
    assert found(scene) == {}


@pytest.mark.parametrize(
    ("rotation", "pitch", "roll"),
    [
        ([math.pi / 2 + 0.1, 0.0, 0.0], -math.degrees(0.1), 0.0),
        ([math.pi / 2 - 0.1, 0.0, 0.0], math.degrees(0.1), 0.0),
        ([1.2, -0.9, 0.7], 6.2880754, 12.1571586),  # by scipy's Rotation.from_rotvec
    ],
)
def test_the_tilt_of_a_rotation(tmp_path: Path, rotation: list[float], pitch: float, roll: float) -> None:
    """About east by a right angle the camera's axes are right east, down down, ahead north: beyond, it looks down."""
    raw = json.dumps(MAPILLARY | {"computed_rotation": rotation}).encode()
    facts = read(write(tmp_path, sidecar=None, mapillary__json=raw)).facts
    assert facts.camera_pitch_deg == pytest.approx(pitch)
    assert facts.camera_roll_deg == pytest.approx(roll, abs=1e-6)


def test_panoramax(tmp_path: Path) -> None:
    facts = read(write(tmp_path, sidecar=None, panoramax__json=json.dumps(PANORAMAX).encode())).facts
    assert (facts.heading_deg, facts.accuracy_m, facts.camera_pitch_deg, facts.camera_roll_deg) == (
        120,
        2.5,
        0.5,
        -0.25,
    )
    assert (facts.author, facts.licence, facts.source_url) == ("Grace", "etalab-2.0", "https://example.org/api/items/1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mapillary", MAPILLARY | {"camera_type": "perspective"}),
        ("panoramax", PANORAMAX | {"properties": {"pers:interior_orientation": {"field_of_view": 70}}}),
    ],
)
def test_a_service_that_says_it_is_no_panorama(tmp_path: Path, name: str, value: dict[str, Any]) -> None:
    with pytest.raises(RawDataError, match="not_equirectangular"):
        read(write(tmp_path, sidecar=None, **{f"{name}__json": json.dumps(value).encode()}))


def test_json_of_nobody_is_named_and_costs_nothing(tmp_path: Path) -> None:
    scene = read(write(tmp_path, other__json=b'{"a": 1}'))
    assert "unknown_json" in {finding.name for finding in scene.findings}
    assert scene.facts.heading_deg == 37.5


def test_a_thumbnail_with_a_position_is_told(tmp_path: Path) -> None:
    raw = with_thumbnail(picture(), picture(NICE, size=(32, 16)))
    scene = read(write(tmp_path, picture=raw))
    assert "thumbnail_has_gps" in {finding.name for finding in scene.findings}
    assert "thumbnail_has_gps" not in {f.name for f in read(write(tmp_path / "b", picture=picture(NICE))).findings}


def test_exif_that_breaks_off_is_told(tmp_path: Path) -> None:
    """The directory of the position has a value that points beyond the block."""
    raw = picture(NICE)
    at = raw.index(b"\x00\x02\x00\x05\x00\x00\x00\x03")  # GPSLatitude, three fractions, and where they stand
    scene = read(write(tmp_path, sidecar=None, picture=raw[: at + 8] + b"\x7f\0\0\0" + raw[at + 12 :]))
    assert {"exif_corrupt", "no_position"} <= {finding.name for finding in scene.findings}
    assert scene.facts.position is None


def test_metadata_that_cannot_be_read_cost_themselves_alone(tmp_path: Path) -> None:
    """A chunk of text that is unpacked to 64 MiB, beyond what a reader of PNG takes."""
    chunk = b"zTXtbomb\0\0" + zlib.compress(bytes(1 << 26))
    body = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    out = io.BytesIO()
    Image.fromarray(texture()).save(out, "PNG")
    folder = tmp_path / "p1"
    folder.mkdir()
    (folder / "pano.png").write_bytes(out.getvalue()[:33] + body + out.getvalue()[33:])
    assert {f.name for f in read(tmp_path).findings} == {"metadata_unreadable", "no_position", "no_heading"}


def test_nothing_is_known_of_a_bare_picture(tmp_path: Path) -> None:
    scene = read(write(tmp_path, sidecar=None))
    assert found(scene) == {"no_position": "position", "no_heading": "heading"}


def test_a_heading_below_zero_is_turned_once(tmp_path: Path) -> None:
    scene = read(write(tmp_path, sidecar=None, picture=picture(NICE, GPANO | {"PoseHeadingDegrees": "-10"})))
    (told,) = (one for one in scene.findings if one.name == "heading_below_zero")
    assert (told.measured, told.severity) == (-10.0, "note")


def test_a_picture_that_is_marked_as_turned_is_in_doubt(tmp_path: Path) -> None:
    scene = read(write(tmp_path, sidecar=None, picture=picture(NICE, tags={0x0112: 6})))
    assert found(scene) == {"orientation": "heading"}


def test_a_tilt_that_cannot_be_is_not_used(tmp_path: Path) -> None:
    value = PANORAMAX | {"properties": PANORAMAX["properties"] | {"pers:pitch": 120}}
    scene = read(write(tmp_path, sidecar=None, panoramax__json=json.dumps(value).encode()))
    assert found(scene) == {"pose_out_of_range": "heading"}


@pytest.mark.parametrize("rotation", [["x", 0.0, 0.0], [0.1, None, 0.0], [0.1, 0.2], "level", None])
def test_a_rotation_that_is_none_tells_no_tilt(rotation: Any) -> None:
    assert _tilt(rotation) == (None, None)


@pytest.mark.parametrize(
    ("lat", "lon", "told"),
    [
        (None, None, None),
        (1.0, None, "half_a_position"),
        (None, 1.0, "half_a_position"),
        (90.0, -180.0, ""),
        (-90.0, 180.0, ""),
        (90.1, 0.0, "latitude_out_of_range"),
        (-90.1, 0.0, "latitude_out_of_range"),
        (0.0, 180.1, "longitude_out_of_range"),
        (0.0, -180.1, "longitude_out_of_range"),
        (0.0009, -0.0009, "position_zero"),
        (0.001, 0.0, ""),
        (0.0, -0.001, ""),
    ],
)
def test_positions_at_their_limits(lat: float | None, lon: float | None, told: str | None) -> None:
    found = Findings()
    position = sources.position_of(lat, lon, 7.0, "me", found)
    assert [one.name for one in found.items] == ([told] if told else [])
    assert position == (Origin(lat_deg=lat or 0.0, lon_deg=lon or 0.0, alt_m=7.0) if told == "" else None)
    if told == "position_zero":
        assert (found.items[0].measured, found.items[0].limit) == (0.0009, 0.001)


@pytest.mark.parametrize(
    ("raw", "heading", "told"),
    [
        (None, None, None),
        (0.0, 0.0, None),
        (360.0, 0.0, None),
        (360.1, None, "heading_out_of_range"),
        (-0.5, 359.5, "heading_below_zero"),
        (-180.0, 180.0, "heading_below_zero"),
        (-180.1, None, "heading_out_of_range"),
        (271.25, 271.25, None),
    ],
)
def test_headings_at_their_limits(raw: float | None, heading: float | None, told: str | None) -> None:
    found = Findings()
    assert sources.heading_of(raw, "me", found) == heading
    assert [one.name for one in found.items] == ([told] if told else [])
    assert not told or found.items[0].measured == raw


@pytest.mark.parametrize(
    ("headings", "told"),
    [
        ((10.0, 20.0), None),
        ((10.0, 20.1), ("headings_disagree", 10.1)),
        ((355.0, 5.1), ("headings_disagree", 10.1)),
        ((355.0, 5.0), None),
        ((355.0, 350.0, 100.0), ("headings_disagree", 105.0)),  # the one that is farthest off
        ((2.0, 115.5), ("heading_in_radians", 2.0)),  # 114.59 degrees
        ((115.5, 2.0), ("heading_in_radians", 2.0)),
        ((2.0, 115.6), ("headings_disagree", 113.6)),
        ((6.28, 359.0), None),
        ((6.2, 355.0), ("heading_in_radians", 6.2)),
        ((3.14159,), ("perhaps_radians", 3.14159)),
        ((3.1,), None),  # whole tenths of degrees
        ((0.0,), None),
        ((6.2831,), ("perhaps_radians", 6.2831)),
        ((6.29,), None),
    ],
)
def test_headings_of_several_sources(headings: tuple[float, ...], told: tuple[str, float] | None) -> None:
    found = Findings()
    compare([SourceMetadata(name=f"s{n}", heading_deg=heading) for n, heading in enumerate(headings)], found)
    assert [(one.name, one.measured) for one in found.items] == ([(told[0], pytest.approx(told[1]))] if told else [])
    assert all(one.limit == pytest.approx(10.0 if "disagree" in one.name else math.tau) for one in found.items)


def test_positions_of_several_sources() -> None:
    """At the equator 25 m are 0.0002246 degrees; the farthest of them is told, the first holds."""
    for lons, told in (((8.0, 8.00022, 8.00005), None), ((8.0, 8.0001, 8.00023), 25.6)):
        found = Findings()
        placed = [Origin(lat_deg=0.5, lon_deg=lon, alt_m=None) for lon in lons]
        compare([SourceMetadata(name=f"s{n}", position=at) for n, at in enumerate(placed)], found)
        assert [one.measured for one in found.items] == ([] if told is None else [pytest.approx(told, abs=0.1)])
        assert all((one.name, one.limit) == ("positions_disagree", 25.0) for one in found.items)
        assert all("s0 and s2" in one.message for one in found.items)


def test_an_accuracy_is_that_of_people_or_of_the_source_whose_position_holds() -> None:
    here = Origin(lat_deg=1.0, lon_deg=2.0, alt_m=None)
    bare, vague = SourceMetadata(name="a"), SourceMetadata(name="b", accuracy_m=9.0)
    placed, other = SourceMetadata(name="c", position=here, accuracy_m=3.0), SourceMetadata(name="d", position=here)
    for told, found in (
        ((bare, vague, placed), 3.0),
        ((vague, placed), 9.0),
        ((bare, other, placed), None),
        ((bare, vague), None),
    ):
        assert accuracy_of(told, {}) == found
    tags: dict[str, str] = {}
    accuracy_of((bare, vague, placed), tags)
    assert tags == {"accuracy_m": "c"}


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *((3, 3.0), ("2.5", 2.5), (" 7 ", 7.0), (True, None), ("x", None)),
        *((float("nan"), None), ("inf", None), (None, None), (10**400, None)),
    ],
)
def test_numbers_of_json(value: Any, number: float | None) -> None:
    assert sources.number_of(value) == number
    assert (sources.positive(number), sources.positive(0.0), sources.positive(-1.0)) == (number, None, None)


def crop_of(*numbers: Any, size: tuple[int, int] = (300, 150)) -> tuple[Any, list[tuple[str, float | None]]]:
    """The crop of a picture whose GPano has full width and height, left, top, width and height."""
    found = Findings()
    gpano = {name: str(number) for name, number in zip(sources._CROP.values(), numbers, strict=True) if number != ""}
    try:
        crop = from_gpano(gpano, size, found).crop
    except WrongGPano as wrong:
        return wrong.finding, []
    return crop and tuple(crop.model_dump().values()), [(one.name, one.measured) for one in found.items]


@pytest.mark.parametrize(
    ("numbers", "crop", "told"),
    [
        ((800, 400, 37, 11, 300, 150), (800, 400, 37, 11), []),
        ((800, 400, 500, 250, 300, 150), (800, 400, 500, 250), []),  # to the last column and row
        ((800, 400, 501, 0, 300, 150), "gpano_contradicts", []),
        ((800, 400, 0, 251, 300, 150), "gpano_contradicts", []),
        ((800, 401, 0, 0, 300, 150), "gpano_contradicts", []),
        ((800, 400, 0, 0, 0, 150), "gpano_contradicts", []),
        ((800, 400, 0, 0, 300, 0), "gpano_contradicts", []),
        ((800, 400, "", 0, 300, 150), "gpano_incomplete", []),
        ((800, 400, 0.5, 0, 300, 150), "gpano_incomplete", []),
        ((800, 400, -1, 0, 300, 150), "gpano_incomplete", []),
        ((2_000_002, 1_000_001, 0, 0, 300, 150), "gpano_incomplete", []),
        ((1_000_000, 500_000, 0, 0, 300, 150), (1_000_000, 500_000, 0, 0), []),
        ((300, 150, 0, 0, 300, 150), None, []),  # the whole sphere
        ((1600, 800, 74, 22, 600, 300), (800, 400, 37, 11), [("gpano_scaled", 0.5)]),
        ((1600, 800, 74, 22, 600, 304), (800, 400, 37, 11), [("gpano_scaled", 0.5)]),  # 2 pixels off
        ((1600, 800, 74, 22, 600, 305), "gpano_contradicts", []),
        ((1000, 500, 33, 9, 200, 100), (1500, 750, 50, 14), [("gpano_scaled", 1.5)]),  # 49.5 and 13.5 to the even
    ],
)
def test_crops_of_gpano_by_hand(numbers: tuple[Any, ...], crop: Any, told: list[Any]) -> None:
    assert crop_of(*numbers) == (crop, told)


@pytest.mark.parametrize(
    ("pose", "heading", "tilt", "told"),
    [
        (("10", "0", "0"), 10.0, (0.0, 0.0), []),
        (("0", "0", "0"), None, (None, None), ["pose_all_zero"]),
        (("0", "0", None), None, (None, None), ["pose_all_zero"]),
        (("0.0", "-0.1", "0.0"), 0.0, (-0.1, 0.0), []),
        (("0", None, None), 0.0, (None, None), []),  # one alone was set
        (("10", "90", "-180"), 10.0, (90.0, -180.0), []),
        (("10", "-90.5", "180.5"), 10.0, (None, None), ["pose_out_of_range"] * 2),
    ],
)
def test_poses_of_gpano(
    pose: tuple[str | None, ...], heading: float | None, tilt: tuple[float | None, ...], told: list[str]
) -> None:
    found = Findings()
    gpano = {name: value for name, value in zip(sources._POSE, pose, strict=True) if value is not None}
    own = from_gpano(gpano, (300, 150), found)
    assert (own.heading_deg, own.camera_pitch_deg, own.camera_roll_deg) == (heading, *tilt)
    assert [one.name for one in found.items] == told


@pytest.mark.parametrize(
    ("header", "metres_per_unit", "told"),
    [
        ({}, 0.001, None),
        ({"kind": "JPEG"}, 0.001, ("unusable_depth", None, None)),
        ({"channels": 3}, 0.001, ("unusable_depth", None, None)),
        ({"bits": 8}, 0.001, ("unusable_depth", None, None)),
        ({"is_complete": False}, 0.001, ("unusable_depth", None, None)),
        ({"width": 8192, "height": 4096}, 0.001, None),
        ({"width": 8192, "height": 4097}, 0.001, ("depth_too_large", 8192 * 4097.0, 33_554_432.0)),
        ({"width": 66, "height": 32}, 0.001, None),  # 1/32 and 2/32 of a side
        ({"width": 72, "height": 32}, 0.001, None),
        ({"width": 73, "height": 32}, 0.001, ("depth_of_another_shape", 73 / 32 / 2, 1.0)),
        ({}, 10_000 / 65_535, None),
        ({}, 0.1526, ("depth_scale_implausible", 0.1526 * 65_535, 10_000.0)),
    ],
)
def test_depths_at_their_limits(header: dict[str, Any], metres_per_unit: float, told: Any) -> None:
    """With a picture of 128 by 64 pixels."""
    usual = {"kind": "PNG", "width": 128, "height": 64, "bits": 16, "channels": 1, "progressive": False, "scans": 1}
    own = Header(**(usual | {"is_complete": True} | header))
    found = _fault_of(own, metres_per_unit, PanoramaPicture(path="p", width=128, height=64, sha256="0"))
    assert (found and found.name) == (told and told[0])
    assert (found and found.limit) == (told and told[2])
    assert (found and found.measured) == (told and told[1] and pytest.approx(told[1]))


def test_parts_of_a_sphere_say_how_much_they_are() -> None:
    found = Findings()
    _say_crop(SphereCrop(full_width=800, full_height=400, left=0, top=0), (200, 300), "p", found)
    around, cropped = found.items
    assert (around.name, around.measured, around.limit) == ("not_all_around", 90.0, 360.0)
    assert (cropped.name, cropped.measured, cropped.limit) == ("cropped", 60_000 / 320_000, 1.0)
    found = Findings()
    _say_crop(SphereCrop(full_width=800, full_height=400, left=0, top=0), (800, 300), "p", found)
    assert [one.name for one in found.items] == ["cropped"]
