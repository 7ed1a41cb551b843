"""The sample flights: logs, videos and truth tell of one flight, and nothing in them depends on the day."""

import itertools
import json
import math
import re
from pathlib import Path
from typing import get_args

import av
import numpy as np
import pymap3d
import pytest
import yaml
from pyulog import ULog

from pipeline.core.schema import Origin
from pipeline.samples.flight.city import PLACES, Form, blocks, facets, strokes
from pipeline.samples.flight.pilot import PLANS, PilotMove, PilotPose, fly, lasting
from pipeline.samples.flight.write import FlightTruth, Solid, planted_moves, write_flights
from tests.oracles.sample_flights import oracle_in_view, oracle_pixel, oracle_pose

IDS = tuple(plan.id for plan in PLANS)
BY_ID = {plan.id: plan for plan in PLANS}
SEMI_MAJOR_M = 6_378_137.0  # WGS84
ECCENTRICITY_2 = 0.00669437999014


def truth_of(flights: Path, flight: str) -> FlightTruth:
    return FlightTruth.model_validate_json((flights / "truth" / f"{flight}.json").read_bytes())


def flown(flight: str) -> PilotPose:
    plan = BY_ID[flight]
    return fly(plan.moves, plan.start_xy, plan.heading_deg, plan.camera.pitch_deg or 0.0)


def gap_m(truth: FlightTruth, t_s: np.ndarray, enu_m: np.ndarray) -> np.ndarray:
    """Distance (M,) between logged positions and planted ones, at those times at which there is a planted one."""
    planted = dict(zip(truth.poses.t_s, truth.poses.enu_m, strict=True))
    rows = [i for i, t in enumerate(t_s.round(3).tolist()) if t in planted]
    assert len(rows) > 100
    expected = np.array([planted[t] for t in t_s[rows].round(3).tolist()])
    return np.linalg.norm(enu_m[rows] - expected, axis=1)


def enu(origin: Origin, lat: np.ndarray, lon: np.ndarray, alt: np.ndarray) -> np.ndarray:
    """A small flight about its origin by the radii of curvature, good to a few millimetres; not by pymap3d."""
    sine = math.sin(math.radians(origin.lat_deg))
    w = math.sqrt(1 - ECCENTRICITY_2 * sine * sine)
    along_meridian, across = SEMI_MAJOR_M * (1 - ECCENTRICITY_2) / w**3, SEMI_MAJOR_M / w
    east = np.radians(lon - origin.lon_deg) * across * math.cos(math.radians(origin.lat_deg))
    north = np.radians(lat - origin.lat_deg) * along_meridian
    return np.stack([east, north, alt - (origin.alt_m or 0.0)], axis=1)


def headings_at(truth: FlightTruth, t_s: np.ndarray) -> np.ndarray:
    whole = flown(truth.id)
    return np.interp(t_s, whole.t_s, whole.heading_deg)


def turned(a: np.ndarray, b: np.ndarray) -> float:
    """The greatest angle between two headings."""
    return float(np.abs((a - b + 180) % 360 - 180).max())


def heading_of_ned(q: np.ndarray) -> np.ndarray:
    """Compass heading of body axes forward-right-down in NED, quaternion wxyz (N, 4): where the forward axis points."""
    w, x, y, z = q.T
    return np.degrees(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))


def topics_of(path: Path) -> dict[str, dict[str, np.ndarray]]:
    log = ULog(str(path))
    assert log.file_corruption is False
    start = log.start_timestamp
    topics = {}
    for entry in log.data_list:
        topics[entry.name] = dict(entry.data, t_s=(entry.data["timestamp"].astype(np.int64) - start) / 1e6)
        assert (np.diff(entry.data["timestamp"].astype(np.int64)) > 0).all()
    return topics


def test_a_ulog_of_the_estimator_says_what_was_flown(flights: Path) -> None:
    truth = truth_of(flights, "city_hall")
    topics = topics_of(flights / "city_hall" / "log.ulg")
    assert set(topics) == {
        "vehicle_local_position",
        "vehicle_global_position",
        "vehicle_gps_position",
        "vehicle_attitude",
        "gimbal_device_attitude_status",
        "vehicle_land_detected",
    }
    local = topics["vehicle_local_position"]
    assert local["t_s"][0] == 0.0
    assert local["t_s"][-1] == pytest.approx(truth.duration_s)
    assert gap_m(truth, local["t_s"], np.stack([local["y"], local["x"], -local["z"]], 1)).max() < 0.01
    assert (local["ref_lat"][0], local["ref_lon"][0]) == (truth.origin.lat_deg, truth.origin.lon_deg)
    world = topics["vehicle_global_position"]
    assert gap_m(truth, world["t_s"], enu(truth.origin, world["lat"], world["lon"], world["alt"])).max() < 0.02
    attitude = topics["vehicle_attitude"]
    q = np.stack([attitude[f"q[{i}]"] for i in range(4)], axis=1)
    assert np.abs(np.linalg.norm(q, axis=1) - 1).max() < 1e-6
    assert turned(heading_of_ned(q), headings_at(truth, attitude["t_s"])) < 0.1
    assert turned(np.degrees(local["heading"]), headings_at(truth, local["t_s"])) < 0.1
    gimbal = topics["gimbal_device_attitude_status"]
    pitch = np.degrees(2 * np.arctan2(gimbal["q[2]"], gimbal["q[0]"]))
    assert np.abs(pitch - np.interp(gimbal["t_s"], truth.poses.t_s, truth.poses.pitch_deg)).max() < 0.1
    assert pitch[0] == pytest.approx(0.0)
    assert pitch[-1] == pytest.approx(-20.0, abs=0.01)
    gps = topics["vehicle_gps_position"]
    assert gps["fix_type"][:4].tolist() == [1, 1, 1, 3]
    assert gps["latitude_deg"][:3].tolist() == [0.0, 0.0, 0.0]


def test_it_leans_as_a_multirotor_does(flights: Path) -> None:
    """Nose down as it speeds up ahead, nose up as it slows down, and not at all while it stands still."""
    attitude = topics_of(flights / "city_hall" / "log.ulg")["vehicle_attitude"]
    w, x, y, z = (attitude[f"q[{i}]"] for i in range(4))
    nose_up = np.degrees(np.arcsin(2 * (w * y - z * x)))
    move = next(m for m in truth_of(flights, "city_hall").moves if m.actions == ("fly forward",))
    speeding, slowing = (np.argmin(np.abs(attitude["t_s"] - t)) for t in (move.start_s + 0.4, move.end_s - 0.4))
    assert nose_up[0] == 0.0
    assert -60 < nose_up[speeding] < -20
    assert 20 < nose_up[slowing] < 60


def test_a_noisy_ulog_has_the_noise_it_should(flights: Path) -> None:
    """Half a metre in each direction, a tenth of the samples lost, nothing but zeros before the first fix."""
    truth = truth_of(flights, "water_tower")
    topics = topics_of(flights / "water_tower" / "log.ulg")
    assert "vehicle_global_position" not in topics
    gps = topics["vehicle_gps_position"]
    fixed = gps["fix_type"] >= 3
    assert gps["t_s"][fixed][0] == pytest.approx(2.0)
    assert not gps["lat"][~fixed].any()
    assert 10 <= (~fixed).sum() < fixed.sum()
    lat, lon, alt = gps["lat"][fixed] * 1e-7, gps["lon"][fixed] * 1e-7, gps["alt"][fixed] * 1e-3
    assert (lat[0], lon[0], alt[0]) == pytest.approx((truth.origin.lat_deg, truth.origin.lon_deg, truth.origin.alt_m))
    off = enu(truth.origin, lat, lon, alt) - positions_at(truth, gps["t_s"][fixed])
    assert np.abs(off.std(0) - 0.5).max() < 0.06
    assert np.abs(off.mean(0)).max() < 0.1  # the truth is in the frame of the noisy origin
    for name, rate in {"vehicle_gps_position": 10, "vehicle_attitude": 20, "gimbal_device_attitude_status": 5}.items():
        whole = truth.duration_s * rate + 1
        assert 0.85 * whole < len(topics[name]["t_s"]) < 0.94 * whole, name


def positions_at(truth: FlightTruth, t_s: np.ndarray) -> np.ndarray:
    return np.stack([np.interp(t_s, truth.poses.t_s, axis) for axis in np.array(truth.poses.enu_m).T], axis=1)


def cues_of(path: Path) -> list[tuple[float, float, str]]:
    """Start, end and text of every cue."""
    clock = r"(\d\d):(\d\d):(\d\d),(\d\d\d)"
    cues = []
    for number, block in enumerate(path.read_text(encoding="utf-8").strip().split("\n\n"), start=1):
        head, times, text = block.split("\n", 2)
        assert int(head) == number
        found = re.fullmatch(f"{clock} --> {clock}", times)
        h, m, s, ms, *end = map(int, found.groups())
        eh, em, es, ems = end
        cues.append((h * 3600 + m * 60 + s + ms / 1000, eh * 3600 + em * 60 + es + ems / 1000, text))
    return cues


def bracketed(cues: list[tuple[float, float, str]], *keys: str) -> np.ndarray:
    return np.array([[float(re.findall(rf"\b{key}: (-?[\d.]+)", text)[0]) for key in keys] for _, _, text in cues])


# Half of the last decimal of a degree is 5.6 cm of latitude and 3.4 cm of longitude; the origin is rounded so as well.
ROUNDED_M = 2 * math.hypot(0.056, 0.034) + 0.005


def test_subtitles_with_a_gimbal_say_what_was_flown(flights: Path) -> None:
    truth = truth_of(flights, "central_park")
    cues = cues_of(flights / "central_park" / "log.SRT")
    t = np.array([start for start, _, _ in cues])
    lat, lon, height, alt, yaw, pitch = bracketed(
        cues, "latitude", "longitude", "rel_alt", "abs_alt", "gb_yaw", "gb_pitch"
    ).T
    assert (lat[0], lon[0]) == (truth.origin.lat_deg, truth.origin.lon_deg)
    assert gap_m(truth, t, enu(truth.origin, lat, lon, alt)).max() < ROUNDED_M
    assert np.abs(height - np.interp(t, truth.poses.t_s, np.array(truth.poses.enu_m)[:, 2])).max() < 0.1
    assert height[0] == 0.0
    assert height.max() == pytest.approx(36.0, abs=0.01)
    assert turned(yaw, headings_at(truth, t)) <= 0.0501
    assert pitch.min() == -60.0
    assert all("GPS" not in text for _, _, text in cues)


def test_repeated_fixes_stand_still_between_fixes(flights: Path) -> None:
    """50 cues a second over 7 fixes a second; each fix is that of its own time, and there is no heading."""
    truth = truth_of(flights, "market_hall")
    cues = cues_of(flights / "market_hall" / "log.SRT")
    t = np.array([start for start, _, _ in cues])
    assert np.diff(t).round(3).tolist() == [0.02] * (len(t) - 1)
    lat, lon, alt = bracketed(cues, "latitude", "longitude", "abs_alt").T
    flying = (t > 12) & (t < 22)  # forward, at 6 metres per second
    changes = np.flatnonzero(np.diff(lat[flying]))
    assert set(np.diff(changes)) == {7, 8}
    assert not truth.has_heading
    assert not any("gb_yaw" in text for _, _, text in cues)
    fixed_s = np.floor(t * 7 + 1e-9) / 7
    off = np.linalg.norm(enu(truth.origin, lat, lon, alt) - positions_at(truth, fixed_s), axis=1)
    assert off.max() < ROUNDED_M + 0.1  # the planted poses are joined by straight lines where it speeds up


def test_subtitles_of_the_rtk_drone_have_the_longitude_first(flights: Path) -> None:
    truth = truth_of(flights, "central_station")
    cues = cues_of(flights / "central_station" / "log.SRT")
    number = r"(-?[\d.]+)"
    pattern = (
        rf".* GPS \({number}, {number}, 17\), .* H {number}m, H\.S {number}m/s, V\.S {number}m/s, "
        rf"F\.PRY \({number}°, {number}°, {number}°\), G\.PRY \({number}°, 0\.0°, {number}°\)"
    )
    found = [re.fullmatch(pattern, text.strip()) for _, _, text in cues]
    rows = np.array([[float(value) for value in match.groups()] for match in found if match is not None])
    assert len(rows) == len(cues) == math.floor(truth.duration_s * 5)
    lon, lat, height, _, climb, _, _, nose, pitch, _ = rows.T
    t = np.array([start for start, _, _ in cues])
    assert truth.origin.alt_m is None
    assert gap_m(truth, t, enu(truth.origin, lat, lon, height)).max() < ROUNDED_M
    assert turned(nose, headings_at(truth, t)) <= 0.0501
    assert pitch[-1] == -15.0
    assert climb.max() == 4.0


def test_the_recording_of_the_simulator_says_what_was_flown(flights: Path) -> None:
    truth = truth_of(flights, "old_quarter")
    header, *lines = (flights / "old_quarter" / "log.txt").read_text().splitlines()
    assert header.split("\t")[:5] == ["TimeStamp", "POS_X", "POS_Y", "POS_Z", "Q_W"]
    rows = np.array([[float(value) for value in line.split("\t")[:8]] for line in lines])
    t = (rows[:, 0] - rows[0, 0]) / 1000
    assert gap_m(truth, t, np.stack([rows[:, 2], rows[:, 1], -rows[:, 3]], axis=1)).max() < 0.01
    assert turned(heading_of_ned(rows[:, 4:]), headings_at(truth, t)) < 0.1
    waits = np.diff(t)
    assert t[np.argmax(waits)] == pytest.approx(truth.gap_s[0] - 0.1)
    assert t[np.argmax(waits) + 1] == pytest.approx(truth.gap_s[1] + 0.1)
    assert np.sort(waits)[-2] == pytest.approx(0.1)
    settings = yaml.safe_load((flights / "old_quarter" / "flight.yaml").read_text())
    assert settings["local_origin"] == truth.origin.model_dump()


@pytest.mark.parametrize("flight", IDS)
def test_no_flight_touches_a_building(flight: str) -> None:
    """At least 2 m from every block once it flies; it may begin on the lawn of the park."""
    path = flown(flight).xyz_m
    assert path[:, 2].min() > -1e-9
    for block in blocks():
        if block.place is not None and PLACES[block.place].kind == "park":
            continue
        outside = np.maximum(np.maximum(np.array(block.low) - path, path - np.array(block.high)), 0.0)
        assert np.linalg.norm(outside, axis=1).min() > 2.0, block


@pytest.mark.parametrize("flight", IDS)
def test_moves_are_flown_within_their_time_and_gently(flight: str) -> None:
    """No acceleration beyond what a multirotor does, nothing but what is named, and every move has time to ramp."""
    whole, moves = flown(flight), planted_moves(BY_ID[flight], flown(flight))
    acceleration = np.diff(whole.velocity_mps, axis=0) / np.diff(whole.t_s)[:, None]
    assert np.linalg.norm(acceleration, axis=1).max() < 13.0
    assert 40 <= whole.t_s[-1] <= 120
    for move in moves:
        flies = {"fly forward", "fly backward", "fly left", "fly right"} & set(move.actions)
        assert (move.distance_m > 5) == bool(flies) or move.distance_m == 0.0
        assert np.sign(move.climb_m) == ("ascend" in move.actions) - ("descend" in move.actions)
        assert np.sign(move.turn_deg) == ("turn right" in move.actions) - ("turn left" in move.actions)
        assert np.sign(move.gimbal_deg) == ("gimbal up" in move.actions) - ("gimbal down" in move.actions)
        assert move.end_s - move.start_s >= 1.6


def test_every_movement_is_planted_somewhere() -> None:
    planted = {actions for plan in PLANS for actions in (move.actions for move in plan.moves)}
    single = ["ascend", "descend", "fly forward", "fly backward", "fly left", "fly right", "turn left", "turn right"]
    assert {(name,) for name in (*single, "hover", "gimbal up", "gimbal down")} <= planted
    assert {("fly forward", "descend"), ("fly forward", "ascend"), ("fly forward", "turn left")} <= planted


def test_a_hand_made_flight_is_where_it_should_be() -> None:
    """Up 10 m, 12 m west, a quarter turn to the right, and 3 m sideways to the left: west of north is west again.

    Ramps of 0.8 s: 6 m/s for 2.8 s make 6 * (2.8 - 0.8) = 12 m. On from 6 m/s to 8 m/s without a stop, the first of two
    moves loses half a ramp only.
    """
    legs = (
        PilotMove(lasting(10, 2.5), up=2.5),
        PilotMove(2.8, forward=6.0),
        PilotMove(lasting(90, 30, "turn"), turn=30.0),
        PilotMove(1.8, left=3.0),
    )
    end = fly(legs, (100.0, 50.0), 270.0, -10.0)
    assert end.t_s[-1] == pytest.approx(4.8 + 2.8 + 3.6 + 1.8)
    assert end.xyz_m[-1] == pytest.approx([100 - 12 - 3, 50, 10], abs=1e-6)
    assert end.heading_deg[-1] == pytest.approx(360.0)
    assert end.pitch_deg[-1] == -10.0
    on = fly((PilotMove(4.0, forward=6.0), PilotMove(4.0, forward=8.0)), (0.0, 0.0), 0.0, 0.0)
    there = on.at(np.array([4.0]))
    assert there.xyz_m[0] == pytest.approx([0, 6 * 3.6, 0], abs=1e-6)
    assert there.velocity_mps[0] == pytest.approx([0, 6, 0])
    # The second move: up from 6 to 8 over 0.8 s loses 0.8, down from 8 to 0 over 0.8 s loses 3.2.
    assert on.xyz_m[-1, 1] == pytest.approx(6 * 3.6 + 8 * 4 - 0.8 - 3.2)


def frames_of(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as video:
        return [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]


@pytest.mark.parametrize("flight", IDS)
def test_the_picture_shows_roofs_where_the_pose_says(flights: Path, flight: str) -> None:
    """The middle of a flat roof is at the pixel to which the true pose projects it, where the way there is free.

    The colour is the roof's, mixed with the horizon's by distance.
    """
    truth = truth_of(flights, flight)
    frames = frames_of(flights / flight / "video.mp4")
    assert len(frames) == truth.frames
    haze, tried = np.array([214.0, 226.0, 238.0]), 0
    flat = [
        (solid, block.color)
        for solid, block in zip(truth.buildings, [b for b in blocks() if b.form != "park"], strict=True)
        if block.form == "box"
    ]
    for number in range(0, truth.frames, 4 * truth.fps):
        t = number / truth.fps
        eye = oracle_pose(truth, t)[:3]
        for solid, color in flat:
            top = (*solid.center, solid.top_m)
            pixel = oracle_pixel(truth, t, top)
            if pixel is None or roof_span_px(truth, t, solid) < 12:
                continue
            around = [(top[0] + dx, top[1] + dy, top[2]) for dx, dy in ((0, 0), (2, 0), (-2, 0), (0, 2), (0, -2))]
            if not all(free(truth, eye, point) for point in around):
                continue
            x, y = int(pixel.x), int(pixel.y)
            patch = frames[number][y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3).mean(0)
            share = math.exp(-pixel.depth_m / 900.0)
            expected = share * np.array(color) + (1 - share) * haze
            assert np.abs(patch - expected).max() < 25, (solid.center, t, patch, expected)
            tried += 1
    assert tried >= 2


def roof_span_px(truth: FlightTruth, t: float, solid: Solid) -> float:
    """The lesser side of a roof's bounds in the picture; 0 from below, or if a corner lies outside."""
    pixels = [oracle_pixel(truth, t, (*corner, solid.top_m)) for corner in solid.corners]
    if any(pixel is None for pixel in pixels) or oracle_pose(truth, t).up_m < solid.top_m:
        return 0.0
    x, y = np.array([(pixel.x, pixel.y) for pixel in pixels if pixel is not None]).T
    return float(min(np.ptp(x), np.ptp(y)))


def free(truth: FlightTruth, eye: tuple[float, ...], point: tuple[float, ...]) -> bool:
    """Whether no building stands in the way to a point on top of one: sampled every 20 cm, short of its end."""
    steps = max(2, int(math.dist(eye, point) * 5))
    share = np.linspace(0.0, 1.0, steps)[:-5, None, None]
    along = np.array(eye) + share * (np.array(point) - np.array(eye))  # (steps, 1, 3)
    corners = np.array([solid.corners for solid in truth.buildings])
    low, high, top = corners.min(1), corners.max(1), np.array([solid.top_m for solid in truth.buildings])
    within = ((along[..., :2] > low) & (along[..., :2] < high)).all(-1) & (along[..., 2] < top)
    return not within.any()


def test_pixels_agree_with_lines_of_sight(flights: Path) -> None:
    """What the renderer counts is what straight lines to the landmarks' walls and roofs find: two ways to one truth."""
    agree = total = 0
    for flight in IDS:
        truth = truth_of(flights, flight)
        for examined, (i, landmark) in itertools.product(truth.examined_s[::32], enumerate(truth.landmarks)):
            if 0 < dict(landmark.shown).get(examined, 0) < 60:  # a corner of it
                continue
            t = examined - truth.video_offset_s
            eye = oracle_pose(truth, t)[:3]
            seen = any(oracle_pixel(truth, t, p) and free(truth, eye, p) for p in hull(landmark.solid))
            total += 1
            agree += seen == oracle_in_view(truth, t, i)
    assert total > 150
    assert agree / total > 0.97


def hull(solid: Solid) -> list[tuple[float, float, float]]:
    """Points just outside of the walls, on their way down from the edge of the roof."""
    (x0, y0), (x1, y1) = np.min(solid.corners, axis=0) - 0.05, np.max(solid.corners, axis=0) + 0.05
    across = [(x, y) for x in np.linspace(x0, x1, 4) for y in np.linspace(y0, y1, 4) if x in (x0, x1) or y in (y0, y1)]
    return [(*xy, z) for z in np.linspace(solid.top_m + 0.1, solid.base_m + 0.2, 4) for xy in across]


def test_the_chapel_is_hidden_and_the_tower_is_not(flights: Path) -> None:
    """Behind houses four times as high, the chapel is hardly ever seen; the tower is in half of the flights."""
    names: dict[str, list[int]] = {name: [] for name in ("Old Chapel", "Water Tower", "City Hall")}
    for flight in IDS:
        for landmark in truth_of(flights, flight).landmarks:
            if landmark.name in names:
                names[landmark.name].append(len(landmark.shown))
    assert max(names["Old Chapel"]) <= 2
    assert sum(frames > 4 for frames in names["Water Tower"]) >= 3
    assert sum(frames > 4 for frames in names["City Hall"]) >= 3


@pytest.mark.parametrize("flight", IDS)
def test_the_folder_is_that_of_a_users_flight(flights: Path, flight: str) -> None:
    truth, folder = truth_of(flights, flight), flights / flight
    names = {path.name for path in folder.iterdir()}
    assert names == {truth.log, "video.mp4", "flight.yaml", "landmarks.geojson"} | (
        {"buildings.geojson"} if truth.has_buildings else set()
    )
    settings = yaml.safe_load((folder / "flight.yaml").read_text(encoding="utf-8"))
    assert settings["dataset"] == "sample_city"
    assert settings["goal"] == truth.goal
    assert settings["route"] == [step.text for step in truth.route]
    assert settings.get("video_offset_s", 0.0) == truth.video_offset_s
    assert settings["camera"].get("pitch_deg") == truth.camera.pitch_deg
    landmarks = json.loads((folder / "landmarks.geojson").read_text(encoding="utf-8"))["features"]
    assert [feature["properties"]["name"] for feature in landmarks] == [entry.name for entry in truth.landmarks]
    for feature, landmark in zip(landmarks, truth.landmarks, strict=True):
        kind, lonlat = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        ring = np.array([lonlat] if kind == "Point" else lonlat[0])
        assert (kind == "Point") == landmark.is_point
        o = truth.origin
        east, north, _ = pymap3d.geodetic2enu(ring[:, 1], ring[:, 0], 4.0, o.lat_deg, o.lon_deg, 4.0)
        expected = (
            [landmark.solid.center] if landmark.is_point else [*landmark.solid.corners, landmark.solid.corners[0]]
        )
        assert np.abs(np.stack([east, north], 1) - np.array(expected)).max() < 0.005
        if landmark.kind != "park":
            height = landmark.solid.top_m - landmark.solid.base_m
            assert feature["properties"]["height_m"] == pytest.approx(height, abs=0.001)


def test_two_shops_share_a_name_within_200_metres() -> None:
    shops = [block for block, place in zip(blocks(), PLACES, strict=False) if place.name == "Corner Bakery"]
    assert len(shops) == 2
    assert 50 < math.dist(*(shop.corners().mean(0) for shop in shops)) < 200
    assert len({place.name for place in PLACES}) == len(PLACES) - 1
    assert 40 <= len(blocks()) <= 80


def test_blocks_do_not_overlap() -> None:
    for a, b in itertools.combinations(blocks(), 2):
        apart = any(a.high[k] <= b.low[k] or b.high[k] <= a.low[k] for k in (0, 1))
        on_lawn = PLACES[a.place].kind == "park" if a.place is not None else False
        assert apart or on_lawn, (a, b)


def test_the_second_writing_gives_the_same_bytes(flights: Path, tmp_path: Path) -> None:
    """In another order and company."""
    again = (BY_ID["central_station"],)
    assert write_flights(tmp_path, again) == ("central_station",)
    written = {path.relative_to(tmp_path): path.read_bytes() for path in sorted(tmp_path.rglob("*")) if path.is_file()}
    assert len(written) == 6
    assert [str(path) for path, raw in written.items() if raw != (flights / path).read_bytes()] == []


LOW, HIGH = (10.0, 20.0, 0.0), (22.0, 44.0, 30.0)
FORMS: tuple[Form, ...] = get_args(Form)


@pytest.mark.parametrize("form", FORMS)
def test_a_shape_fills_its_box_with_flat_facets_that_face_outward(form: Form) -> None:
    """Trees alone stand higher than their lawn; of shapes that bulge, every facet faces away from the middle."""
    made = facets(form, LOW, HIGH, (200, 30, 30))
    corners = np.concatenate([facet.corners for facet in made])
    assert corners.min(0) == pytest.approx(LOW)
    assert corners.max(0)[:2] == pytest.approx(HIGH[:2])
    assert corners.max(0)[2] == pytest.approx(HIGH[2] + 5.0 if form == "park" else HIGH[2])
    middle = (np.array(LOW) + HIGH) / 2 * [1, 1, 0.2]
    for facet in made:
        edges = np.roll(facet.corners, -1, axis=0) - facet.corners
        turns = np.cross(edges, np.roll(edges, -1, axis=0))
        normal = turns.sum(0) / np.linalg.norm(turns.sum(0))
        assert np.abs((facet.corners - facet.corners[0]) @ normal).max() < 0.05
        assert (turns @ normal > -1e-9).all()
        if form in {"box", "domed", "pitched", "rounded", "obelisk"}:
            assert normal @ (facet.corners.mean(0) - middle) > 0


def test_letters_are_drawn_in_rows() -> None:
    """An I of five by seven dots: bars of three above and below, and a stem of one."""
    assert strokes("I")[0] == pytest.approx((0.2, 0.8, 6 / 7, 1.0))
    assert strokes("I")[3] == pytest.approx((0.4, 0.6, 3 / 7, 4 / 7))
    assert len(strokes("I")) == 7
    assert max(right for _, right, _, _ in strokes("LIBRARY")) == pytest.approx(1.0)


def test_a_sign_stands_on_all_four_walls_before_them() -> None:
    plain, signed = (facets("box", LOW, HIGH, (200, 30, 30), sign) for sign in (None, "MUSEUM"))
    boards = signed[len(plain) :]
    assert len(boards) == 4 * (1 + len(strokes("MUSEUM")))
    outside = [
        np.maximum(np.array(LOW) - board.corners, board.corners - np.array(HIGH)).max(1).min() for board in boards
    ]
    assert sorted({round(float(out), 3) for out in outside}) == [0.25, 0.5]
