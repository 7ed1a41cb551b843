"""Recordings of CARLA: the real one against a parser of the tests' own, the samples against what was planted."""

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError, FormatError, RawDataError
from pipeline.core.findings import Findings
from pipeline.formats import carla_log
from pipeline.formats.carla_log import TABLES, AddedActor, read_carla_log
from pipeline.reading.doctor import inspect
from pipeline.samples.drive.carla import START_S, packet, recording_bytes
from pipeline.samples.drive.plan import PLANS
from pipeline.worlds.drive.facts import ActorTrack, DriveScene
from pipeline.worlds.drive.readers.carla import Carla, _frames_in_order
from pipeline.worlds.drive.readers.carla_recording import attributes_of, box_of, camera_of, category_of, lamps_of
from pipeline.worlds.drive.view import DriveView
from pipeline.worlds.registry import configured, read_scene
from tests.conftest import REAL_DATA
from tests.oracles.carla_parser import Parsed, parse
from tests.worlds.drive.drives import found, read

RECORDINGS = REAL_DATA / "driving" / "carla"


@pytest.fixture(scope="module")
def real() -> DriveScene:
    return read(RECORDINGS, Carla())


@pytest.fixture(scope="module")
def parsed() -> Parsed:
    return parse((RECORDINGS / "DistanceBetweenVehicles.log").read_bytes())


@pytest.mark.real_data
def test_every_place_of_a_real_recording_is_that_of_another_parser(real: DriveScene, parsed: Parsed) -> None:
    facts = real.facts
    assert len(parsed.elapsed_s) == len(facts.times_s) == 847
    assert np.abs(facts.times_s - np.array(parsed.elapsed_s)).max() < 1e-5
    tracks = {actor.id: actor.track for actor in facts.actors} | {"174": facts.ego.track}
    names = parsed.added | {174: "ours"}
    assert {int(name) for name in tracks} == {n for n, what in names.items() if n in parsed.places[0]} - {1}
    hidden = compared = 0
    for name, track in tracks.items():
        rows = {frame: places[int(name)] for frame, places in enumerate(parsed.places) if int(name) in places}
        x, y, z, _, _, yaw = np.array(list(rows.values())).T
        place_m, yaw_deg = _at(track, list(rows))
        below = z < -10_000  # ScenarioRunner's hiding place
        assert np.isnan(place_m[below]).all()
        assert np.abs(place_m[~below] - np.stack([x, -y, z], axis=-1)[~below] / 100).max() < 1e-4
        assert np.abs(np.radians((yaw_deg + yaw)[~below] + 180) % (2 * np.pi) - np.pi).max() < 1e-6
        hidden, compared = hidden + int(below.sum()), compared + int((~below).sum())
    assert hidden == 89
    assert compared == sum(len(places) - (1 in places) for places in parsed.places) - hidden  # 1 is the spectator


@pytest.mark.real_data
def test_recorded_speeds_are_those_of_differences_of_places(real: DriveScene) -> None:
    ego, times_s = real.facts.ego, real.facts.times_s
    place_m = ego.track.place_m.array
    velocity = ego.track.velocity_mps.array
    times_s = times_s[: len(place_m)]
    # What the velocities add up to over a quarter of a second (trapezoids), against the way: 0.1 m/s of mean speed.
    gone = np.cumsum(np.diff(times_s)[:, None] * (velocity[1:] + velocity[:-1]) / 2, axis=0)
    start = np.arange(60, len(gone) - 30, 5)  # once the car has fallen onto the road
    stop = np.searchsorted(times_s, times_s[start] + 0.25)
    lasted = (times_s[stop] - times_s[start])[:, None]
    difference = ((gone[stop - 1] - gone[start - 1]) - (place_m[stop] - place_m[start])) / lasted
    assert len(start) > 100
    assert np.linalg.norm(difference[:, :2], axis=1).max() < 0.1


@pytest.mark.real_data
def test_what_else_a_real_recording_says(real: DriveScene) -> None:
    facts = real.facts
    assert facts.map_name == "Town01"
    assert facts.ego.box.size_m == pytest.approx((4.9017, 2.1283, 1.5107), abs=1e-3)  # a Lincoln MKZ of 2017
    assert facts.ego.attributes["colour"] == "16,16,16"
    (patrol,) = (actor for actor in facts.actors if actor.category == "car")
    assert patrol.source_category == "vehicle.nissan.patrol"
    assert len(facts.lights) == 36
    assert {c.colour for light in facts.lights for c in light.colours} == {"red", "yellow", "green"}
    assert facts.collisions == ()
    (camera,) = facts.cameras
    assert (camera.width, camera.height, camera.focal_px) == (1280, 720, (640.0, 640.0))
    assert camera.place_m == (-5.9017, 0.0, 2.5107)
    assert {lamp for lamps in facts.ego.lamps for lamp in lamps.lit} <= {"brake"}
    assert [f.name for f in real.findings] == ["hidden_under_ground"]
    assert read_scene(real.model_dump_json().encode()) == real
    inspected = inspect(Carla(), RECORDINGS)
    assert [scene.id for scene in inspected.scenes] == ["carla/DistanceBetweenVehicles"]
    assert not any(inspected.missing.values())


@pytest.mark.parametrize("name", ["junction", "braking"])
def test_a_sample_recording_holds_what_was_planted(sample_drives: Path, name: str) -> None:
    scene = read(sample_drives / "carla", Carla(), name)
    truth = json.loads((sample_drives / "carla" / "truth" / f"{name}.json").read_text())
    view, plan = DriveView(scene), PLANS[name]
    assert scene.findings == ()
    ids = {str(100 + number): mover for number, mover in enumerate((plan.ego, *plan.others))}
    every_second = slice(None, None, 2)  # 20 frames a second, 10 times of the truth
    assert sorted(view.ids) == sorted(set(ids) - {"100"})
    for row, number in enumerate(view.ids):
        mover = truth["actors"][ids[number].id]
        planted = np.array([mover["x_m"], mover["y_m"]]).T
        assert view.categories[row] == mover["category"]
        assert np.abs(view.place_m[row, every_second, :2] - planted).max() < 2e-4
        assert np.abs(view.place_m[row, :, 2] - mover["size_m"][2] / 2).max() < 1e-4
        assert view.size_m[row].tolist() == pytest.approx(mover["size_m"])
        lit = [view.lit_at(number, index) or () for index in range(0, len(view.times_s), 2)]
        for lamp, indices in mover["lit"].items():
            assert [i for i, lamps in enumerate(lit) if lamp in lamps] == indices
    assert (
        np.abs(view.ego_speed_mps[every_second] - truth["ego"]["speed_mps"]).max() < 1e-4
    )  # recorded, not differences
    lights = {light.id: light for light in scene.facts.lights}
    for number, changes in truth["lights"].items():
        shown = [[view.times_s[c.index], c.colour] for c in lights[number].colours]
        assert shown == changes
    collisions = scene.facts.collisions or ()
    hits = [(view.times_s[c.index], ids[str(c.first)].id, ids[str(c.second)].id) for c in collisions]
    assert hits == [tuple(hit) for hit in truth["hits"]]


# Made by hand: two frames a tenth of a second apart, our car and another one.


def actor(number: int, role: str, kind: int = 1, frame: int = 0) -> AddedActor:
    return AddedActor(
        frame, number, kind, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), "vehicle.tesla.model3", {"role_name": role}
    )


def recording(
    elapsed_s: FloatArray | None = None, *added: AddedActor, **tables: list[list[tuple[object, ...]]]
) -> bytes:
    elapsed_s = np.array([3.5, 3.6]) if elapsed_s is None else elapsed_s
    places = [[(1, (100.0 * i, 0, 0), (0, 0, 0)), (2, (1000.0, 200, 0), (0, 0, 90))] for i in range(len(elapsed_s))]
    frames = {carla_log.POSITION: places} | {getattr(carla_log, name): rows for name, rows in tables.items()}
    records = {kind: [np.array(r, dtype=TABLES[kind]) for r in rows] for kind, rows in frames.items()}
    return recording_bytes("Town", elapsed_s, added or (actor(1, "hero"), actor(2, "other")), records)


def read_bytes(folder: Path, raw: bytes, reader: Carla | None = None) -> DriveScene:
    (folder / "r.log").write_bytes(raw)
    return read(folder, reader or Carla())


def test_right_is_negative_and_angles_turn_round(tmp_path: Path) -> None:
    facts = read_bytes(tmp_path, recording()).facts
    assert (facts.start_ns, facts.times_s.tolist()) == (START_S * 1_000_000_000, [0, 0.1])
    (other,) = facts.actors
    assert other.track.place_m.array.tolist() == [[10.0, -2.0, 0.0]] * 2
    assert other.track.yaw_deg.array.tolist() == [[-90.0]] * 2
    assert other.box is None  # never guessed
    assert other.lamps is None
    assert other.controls is None
    assert facts.ego.track.place_m.array[:, 0].tolist() == [0.0, 1.0]


def test_a_file_cut_at_any_byte_is_read_up_to_there_or_refused(tmp_path: Path) -> None:
    raw = recording()
    whole = read_carla_log(raw)
    refused = {length: error.finding for length in range(len(raw)) if (error := _refusal(raw[:length])) is not None}
    assert list(refused) == list(range(len(refused)))  # up to the first frame
    assert set(refused.values()) == {"not_carla", "no_frames"}
    for length in range(len(refused), len(raw)):
        log = read_carla_log(raw[:length])
        assert 1 <= len(log.elapsed_s) <= len(whole.elapsed_s)
        assert not log.damaged
    scene = read_bytes(tmp_path, raw[:-9])  # in the second frame's places
    assert found(scene)["truncated"].measured == 5 + 2 + 2 * 28 - 4
    assert len(scene.facts.times_s) == 2
    assert len(scene.facts.actors[0].track) == 1


def test_what_is_odd_in_a_recording_is_told(tmp_path: Path) -> None:
    raw = recording() + packet(99, b"12345") + packet(99, b"") + packet(carla_log.POSITION, b"\x05\x00\x01")
    scene = read_bytes(tmp_path, raw)
    assert found(scene)["unknown_packet"].message.endswith("2 of id 99")
    assert found(scene)["unknown_packet"].severity == "note"
    assert found(scene)["damaged_packet"].message.endswith("1 of id 6")
    scene = read_bytes(tmp_path, recording(np.array([0.0, 0.2, 0.1, 0.2, 0.3])))
    assert found(scene)["times_run_backwards"].measured == 2
    assert scene.facts.times_s.tolist() == [0.0, 0.2, 0.3]
    assert scene.facts.ego.track.place_m.array[:, 0].tolist() == [0.0, 1.0, 4.0]
    twice = [[(1, (0, 0, 0), (0, 0, 0)), (2, (0, 0, 0), (0, 0, 0)), (2, (9, 0, 0), (0, 0, 0))]]
    once = [[(1, (0, 0, 0), (0, 0, 0)), (2, (0, 0, 0), (0, 0, 0)), (7, (np.nan, 0, 0), (0, 0, 0))]]
    scene = read_bytes(tmp_path, recording(None, POSITION=twice + once))
    assert (found(scene)["two_places_at_once"].subject, found(scene)["two_places_at_once"].measured) == ("2", 2)
    lost = found(scene)["place_not_finite"]
    assert (lost.subject, lost.severity, lost.measured) == ("7", "doubt", 1)
    deep = [[(1, (0, 0, 0), (0, 0, 0)), (2, (0, 0, z), (0, 0, 0))] for z in (0, -1e5)]
    lost = found(read_bytes(tmp_path, recording(None, POSITION=deep)))["hidden_under_ground"]
    assert (lost.subject, lost.severity, lost.measured) == ("2", "note", 1)
    lights = [
        AddedActor(0, n, 3, (1234.567, 0.0, z), (0.0, 0.0, yaw), "traffic.traffic_light", {})
        for n, yaw, z in ((8, 90.00126, 0.0), (9, np.nan, 0.0), (7, 0.0, 1.1e7))
    ]
    scene = read_bytes(tmp_path, recording(None, actor(1, "hero"), *lights))
    lost = {f.subject: (f.measured, f.limit) for f in scene.findings if f.name == "place_not_finite"}
    assert lost == {"9": (1, 0), "7": (1, 0)}
    (light,) = scene.facts.lights
    assert (light.id, light.place_m, light.yaw_deg) == ("8", (12.3457, 0.0, 0.0), -90.0013)
    assert "-0.0" not in str(scene.facts.lights), "right is left turned round, also of 0"


@pytest.mark.parametrize(
    ("raw", "finding"),
    [
        (struct.pack("<H", 2) + recording()[2:], "unknown_version"),
        (recording()[:40], "no_frames"),
        (recording(None, actor(1, "hero"), actor(2, "ego_vehicle")), "two_egos"),
        (recording()[:20], "not_carla"),
        (recording(np.array([0.0, 30_000.0])), "implausible_times"),
    ],
)
def test_recordings_that_cannot_be_used_are_refused_by_name(tmp_path: Path, raw: bytes, finding: str) -> None:
    with pytest.raises(RawDataError, match=finding) as caught:
        read_bytes(tmp_path, raw)
    assert caught.value.remedy


def test_which_car_is_ours_can_be_said(tmp_path: Path) -> None:
    raw = recording(None, actor(1, "a"), actor(2, "b"))
    unsaid = read_bytes(tmp_path, raw)
    assert unsaid.facts.ego is None
    assert "1 (a), 2 (b)" in found(unsaid)["no_ego"].message
    assert len(unsaid.facts.actors) == 2
    for ego in ("b", "2"):
        reader = configured("carla", {"ego": ego})
        assert isinstance(reader, Carla)
        assert reader.settings() == {"ego": ego}
        assert [one.id for one in read_bytes(tmp_path, raw, reader).facts.actors] == ["1"]
    with pytest.raises(RawDataError, match=r"no_such_ego.*1 \(a\), 2 \(b\)"):
        read_bytes(tmp_path, raw, Carla(ego="c"))


def test_collisions_lamps_and_boxes_by_hand(tmp_path: Path) -> None:
    times_s = np.arange(6) / 10
    hits = [[], [(0, 1, 2, (1, 0))], [(0, 2, 1, (0, 1))], [], [(0, 1, 2, (1, 0))], [(0, 2, 999, (0, 0))]]
    boxes = [[(1, (0, 0, 75), (245, 106, 75)), (2, (10.126, 20, 70), (200, 90.0026, 70))]] + [[]] * 5
    lit = [[(2, bits)] for bits in (0, 0, 8, 8 | 32, 8 | 32, 0)]
    driven = [[], *([(1, 0.25, 0.5, 0.0, hand, 2)] for hand in (0, 1)), [], [], []]
    facts = read_bytes(tmp_path, recording(times_s, COLLISION=hits, BOX=boxes, LAMPS=lit, VEHICLE=driven)).facts
    said = {name: getattr(facts.ego.controls, name).array[:3, 0] for name in ("steering", "throttle", "handbrake")}
    np.testing.assert_array_equal(said["steering"], [np.nan, -0.25, -0.25], "to the left is positive")
    np.testing.assert_array_equal(said["throttle"], [np.nan, 0.5, 0.5])
    np.testing.assert_array_equal(said["handbrake"], [np.nan, 0, 1])
    assert [(c.index, c.first, c.second) for c in facts.collisions or ()] == [
        (1, "ego", "2"),
        (4, "ego", "2"),
        (5, "2", None),
    ]
    (other,) = facts.actors
    assert (facts.ego.box.size_m, facts.ego.box.middle_m) == ((4.9, 2.12, 1.5), (0, 0, 0.75))
    assert (other.box.size_m, other.box.middle_m) == ((4.0, 1.8001, 1.4), (0.1013, -0.2, 0.7))
    assert [(lamps.index, lamps.lit) for lamps in other.lamps or ()] == [
        (0, ()),
        (2, ("brake",)),
        (3, ("brake", "left blinker")),
        (5, ()),
    ]
    assert lamps_of(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.uint32)) == ()
    flat = np.array([((0, 0, 0), (200, 0, 70))], dtype=[("origin", "f4", 3), ("extent", "f4", 3)])
    assert box_of(flat) is None


def test_a_camera_that_looks_down_to_the_right() -> None:
    said = {"image_size_x": "800", "image_size_y": "600", "fov": "90"}
    camera = camera_of(AddedActor(0, 5, 5, (100.126, 50.0, 200.0), (0.0, -30.0, 90.0), "sensor.camera.rgb", said))
    assert camera.place_m == (1.0013, -0.5, 2.0)
    assert (camera.width, camera.height, camera.centre_px) == (800, 600, (400, 300))
    assert camera.focal_px == pytest.approx((400, 400))
    axes = np.array(camera.ego_from_camera)
    assert np.allclose(axes[:, 2], [0, -np.cos(np.pi / 6), -0.5])  # forward
    assert np.allclose(axes[:, 0], [-1, 0, 0])  # right of who looks to the right is behind
    assert np.linalg.det(axes) == pytest.approx(1)
    rolled = camera_of(AddedActor(0, 5, 5, (0.0, 0.0, 0.0), (20.0, -30.0, 50.0), "sensor.camera.rgb", said))
    axes = np.array(rolled.ego_from_camera)
    assert np.allclose(axes.T @ axes, np.eye(3))
    assert np.linalg.det(axes) == pytest.approx(1)
    assert axes[2, 0] == pytest.approx(-np.sin(np.radians(20)) * np.cos(np.radians(30))), "its right side is lower"
    for wrong in ({"fov": "180"}, {"fov": "0"}, {"image_size_x": "0"}, {"image_size_y": "0"}, {"fov": "wide"}):
        assert camera_of(AddedActor(0, 5, 5, (0, 0, 0), (0, 0, 0), "sensor.camera.rgb", said | wrong)) is None


def test_only_recordings_are_listed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no recording of CARLA here"):
        Carla().scenes(tmp_path)
    (tmp_path / "other.log").write_text("a log of something else")
    (tmp_path / "sub").mkdir()
    (tmp_path / "r.log").write_bytes(recording())
    (tmp_path / "sub" / "r.log").write_bytes(recording())
    (tmp_path / "sub" / "s.log").write_bytes(recording())
    listing = Carla().scenes(tmp_path)
    assert [ref.id for ref in listing.scenes] == ["carla/s"]
    assert [error.finding for error in listing.broken] == ["duplicate_scene"]


def _refusal(raw: bytes) -> FormatError | None:
    try:
        read_carla_log(raw)
    except FormatError as error:
        return error
    return None


def _at(track: ActorTrack, frames: list[int]) -> tuple[FloatArray, FloatArray]:
    """Places (N, 3) and yaws (N,) at some frames; NaN where the track has none."""
    place, yaw = np.full((847, 3), np.nan), np.full(847, np.nan)
    place[track.first : track.stop], yaw[track.first : track.stop] = track.place_m.array, track.yaw_deg.array[:, 0]
    return place[frames], yaw[frames]


def test_frames_that_are_no_later_than_one_before_are_left_out() -> None:
    """By a step of time at least; a time that is none holds back no other."""
    findings = Findings()
    log = SimpleNamespace(elapsed_s=np.array([np.nan, 0.0, 1e-5, 1.5e-5, np.inf, 0.2, 0.1, np.nan, 0.3]))
    assert _frames_in_order(log, findings).tolist() == [-1, 0, 1, -1, -1, 2, -1, -1, 3]
    assert [(finding.measured, finding.limit) for finding in findings.items] == [(5, 0)]


@pytest.mark.parametrize(
    ("place_cm", "told"),
    [
        ((123.0, -45.0, -9_990.0), None),
        ((123.0, -45.0, -10_010.0), "hidden_under_ground"),
        ((9.99e6, -9.99e6, 10.0), None),
        ((-1.001e7, 0.0, 0.0), "place_not_finite"),
        ((0.0, 1.001e7, 0.0), "place_not_finite"),
    ],
)
def test_places_at_their_limits(tmp_path: Path, place_cm: tuple[float, float, float], told: str | None) -> None:
    """A hundred metres under the ground somebody is hidden; 100 km away nobody is."""
    rows = [[(1, (0, 0, 0), (0, 0, 0)), (2, (1.0, 2.0, z), (0, 0, 30)), (3, place_cm, (0, 0, 9e5))] for z in (3.0, 4.0)]
    scene = read_bytes(
        tmp_path, recording(None, *(actor(n, "hero" if n == 1 else "") for n in (1, 2, 3)), POSITION=rows)
    )
    assert [(one.name, one.subject, one.measured, one.limit) for one in scene.findings] == (
        [(told, "3", 2, 0)] if told else []
    )
    tracks = {one.id: one.track for one in scene.facts.actors}
    assert list(tracks) == (["2"] if told else ["2", "3"])
    assert tracks["2"].place_m.array[:, 2].tolist() == [0.03, 0.04]
    if not told:
        x, y, z = place_cm
        np.testing.assert_allclose(tracks["3"].place_m.array, [[x / 100, -y / 100, z / 100]] * 2)
        assert tracks["3"].yaw_deg.array.tolist() == [[0.0]] * 2


def test_controls_turns_and_cameras_at_their_limits(tmp_path: Path) -> None:
    """Pedals of over 100 and turns of over a million degrees are none; a camera 20 m away is of another frame."""
    rows = [[(1, (0, 0, 0), (0, 0, yaw))] for yaw in (9.9e5, 1.01e6)]
    driven = [[(1, 0.5, 99.0, 0.25, 0, -1)], [(1, 0.5, 101.0, -101.0, 1, 3)]]
    facts = read_bytes(tmp_path, recording(None, actor(1, "hero"), POSITION=rows, VEHICLE=driven)).facts
    np.testing.assert_array_equal(facts.ego.track.yaw_deg.array[:, 0], [0.0, np.nan])
    controls = {
        name: getattr(facts.ego.controls, name).array[:, 0] for name in ("throttle", "brake", "steering", "gear")
    }
    np.testing.assert_array_equal(controls["throttle"], [99, np.nan])
    np.testing.assert_array_equal(controls["brake"], [0.25, np.nan])
    np.testing.assert_array_equal([controls["steering"], controls["gear"]], [[-0.5, -0.5], [-1, 3]])
    said = {"image_size_x": "800", "image_size_y": "600", "fov": "60", "role_name": "front"}
    for away_cm, there in ((1990.0, True), (2010.0, False), (-2010.0, False)):
        camera = camera_of(AddedActor(0, 5, 5, (0, away_cm, 0), (0.0, 0.0, 0.0), "sensor.camera.rgb", said))
        assert (camera.name, camera.focal_px[0]) == ("front-5", pytest.approx(400 * 3**0.5))
        assert (camera.place_m is not None, camera.ego_from_camera is not None) == (there, there)
    bad = [{name: said[name] for name in said if name != key} for key in ("image_size_x", "image_size_y", "fov")]
    assert [camera_of(AddedActor(0, 5, 5, (0, 0, 0), (0, 0, 0), "x", one)) for one in bad] == [None] * 3


@pytest.mark.parametrize(
    ("kind", "blueprint", "attributes", "category"),
    [
        (2, "walker.pedestrian.0001", {}, "pedestrian"),
        (1, "vehicle.unheard.of", {"number_of_wheels": "2"}, "motorcyclist"),
        (1, "vehicle.unheard.of", {"number_of_wheels": "4"}, "car"),
        (1, "vehicle.unheard.of", {"base_type": "Bus", "number_of_wheels": "2"}, "bus"),
        (4, "traffic.stop", {}, "stop sign"),
        (4, "traffic.speed_limit.30", {}, "sign"),
        (0, "static.prop.unheard", {}, "object"),
    ],
)
def test_words_for_actors(kind: int, blueprint: str, attributes: dict[str, str], category: str) -> None:
    assert category_of(AddedActor(0, 5, kind, (0, 0, 0), (0, 0, 0), blueprint, attributes)) == category
    said = attributes_of(
        AddedActor(0, 5, kind, (0, 0, 0), (0, 0, 0), blueprint, attributes | {"color": "1,2,3", "mesh_path": "/a/b.c"})
    )
    limit = {"speed_limit_kmh": "30"} if "limit" in blueprint else {}
    assert said == {"colour": "1,2,3", "mesh": "c"} | limit
