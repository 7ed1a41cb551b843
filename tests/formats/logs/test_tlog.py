"""Telemetry logs: a real cut one, pymavlink as the oracle, hand-made logs, and damage."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pymavlink import mavutil
from pymavlink.dialects.v20 import ardupilotmega as mav

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.tlog import MESSAGES, Tlog, read_messages
from pipeline.worlds.flight.tracks.assemble import assemble
from tests.conftest import REAL_DATA
from tests.formats.logs.made_logs import read_log, read_logs, survives, tlog

N = 40
START_S = 1_700_000_000.0
Sent = tuple[float, int, Any]


FLIGHT = REAL_DATA / "flights" / "tlog" / "flight_first_600kB.tlog"


def place(i: int, system: int = 1, **changes: int) -> Sent:
    """10 Hz, northwards at 1e-5 degrees a sample, 20 m up."""
    fields = {"lat": 470_000_000 + 100 * i, "lon": 85_000_000, "alt": 520_000, "relative_alt": 20_000}
    fields |= {"vx": 1100, "vy": 100, "vz": -50, "hdg": 9000} | changes
    return START_S + i / 10, system, mav.MAVLink_global_position_int_message(time_boot_ms=5000 + 100 * i, **fields)


def fix(i: int, fix_type: int, system: int = 1) -> Sent:
    message = mav.MAVLink_gps_raw_int_message(0, fix_type, 470_000_000, 85_000_000, 520_000, 99, 99, 0, 0, 9)
    return START_S + i / 10, system, message


def state(i: int, landed: int) -> Sent:
    return 1.7e9 + i, 1, mav.MAVLink_extended_sys_state_message(0, landed)


def on_the_spot(i: int) -> Sent:
    return 1.7e9 + i, 1, mav.MAVLink_local_position_ned_message(i * 1000, i, 0, -30 - i, 1, 0, -1)


@pytest.mark.parametrize(
    ("says", "from_takeoff"),
    [
        ([state(i, 1 if i < 3 else 2) for i in range(9)], True),
        ([state(i, 2) for i in range(9)], False),
        ([state(i, 0) for i in range(9)], False),  # undefined
        ([(1.7e9 + i, 1, mav.MAVLink_heartbeat_message(2, 3, 0, 0, 3, 3)) for i in range(3)], True),
        ([(1.7e9 + i, 1, mav.MAVLink_heartbeat_message(2, 3, 128, 0, 4, 3)) for i in range(3)], False),
        ([], False),
    ],
)
def test_whether_it_stands_at_the_first_local_position(says: list[Sent], from_takeoff: bool, tmp_path: Path) -> None:
    log = read(tlog(sorted([*says, *map(on_the_spot, range(9))], key=lambda sent: sent[0])), tmp_path)
    assert assemble(tmp_path / "made.tlog", log).from_takeoff is from_takeoff


def heartbeat(system: int, kind: int) -> Sent:
    return START_S, system, mav.MAVLink_heartbeat_message(kind, 3, 0, 0, 0, 3)


def attitude(i: int, yaw: float) -> Sent:
    return START_S + i / 10, 1, mav.MAVLink_attitude_message(5000 + 100 * i, 0.0, 0.0, yaw, 0, 0, 0)


read_all = partial(read_logs, Tlog(), name="made.tlog")
read = partial(read_log, Tlog(), name="made.tlog")


@pytest.mark.real_data
def test_real_flight_up_to_the_cut() -> None:
    (log,) = Tlog().read(FLIGHT)
    assert (log.name, log.dialect, log.clock, len(log.t_s)) == ("", "GLOBAL_POSITION_INT", "utc", 624)
    names = {finding.name: finding for finding in log.findings}
    assert set(names) == {"truncated", "gimbal_in_body", "clocks_apart"}
    assert names["truncated"].measured == 3
    assert names["clocks_apart"].measured == pytest.approx(2.01, abs=0.01)
    assert names["gimbal_in_body"].measured == pytest.approx(-0.997, abs=0.001)
    level_deg = log.gimbal_pitch.value - np.median(log.gimbal_pitch.value)
    assert np.quantile(np.abs(level_deg), 0.9) < 1.0  # the mount holds the camera, whatever the body does
    assert log.t_s[-1] == pytest.approx(1436056233.819156, abs=1e-6)
    assert log.usable is not None
    assert (log.lat_lon_alt[log.usable, 0] < -35).all()  # 148 positions without a fix are (0, 0)
    assembled = assemble(FLIGHT, log)
    track = assembled.track
    (refused,) = (finding for finding in assembled.findings if finding.name == "refused_fixes")
    assert (refused.severity, refused.stretches) == ("note", None)  # all of them before the first usable one
    assert "247 × from before the home was set" in refused.message
    assert "149 × the log says there is no fix" in refused.message
    assert np.abs(track.enu_m).max() < 1.0  # it stands; before its home was set its altitude was 588 m off
    assert track.part.max() == 0


@pytest.mark.real_data
def test_every_message_is_as_pymavlink_reads_it() -> None:
    expected: dict[str, list[Any]] = {}
    connection = mavutil.mavlink_connection(str(FLIGHT))
    while (message := connection.recv_match(type=list(MESSAGES))) is not None:
        expected.setdefault(message.get_type(), []).append(message)
    connection.close()
    tables, _ = read_messages(FLIGHT.read_bytes(), MESSAGES)
    assert set(tables) == set(expected)
    for name, table in tables.items():
        assert len(table.t_s) == len(expected[name]) > 450
        np.testing.assert_allclose(table.t_s, [one._timestamp for one in expected[name]], atol=1e-6, rtol=0)
        assert table.system.tolist() == [one.get_srcSystem() for one in expected[name]]
        for field in table.fields.dtype.names:
            values = [getattr(one, field, 0) for one in expected[name]]  # 0: newer than what was sent
            np.testing.assert_array_equal(table.fields[field], values)


@pytest.mark.parametrize("version", [1, 2])
def test_units_and_frames(tmp_path: Path, version: int) -> None:
    log = read(tlog([place(i) for i in range(N)], version), tmp_path)
    assert log.lat_lon_alt[1] == pytest.approx([47.00001, 8.5, 520.0])
    assert log.height_m[0] == 20
    assert log.velocity_mps[0].tolist() == [1, 11, 0.5]
    assert log.heading.value[0] == 90
    assert log.t_s[:2] == pytest.approx([START_S, START_S + 0.1])
    assert log.usable is None  # nobody said
    assert log.findings == ()


def test_unknown_heading(tmp_path: Path) -> None:
    log = read(tlog([place(i, hdg=65535) for i in range(N)]), tmp_path)
    assert np.isnan(log.heading.value).all()


def test_attitude_says_the_heading(tmp_path: Path) -> None:
    sent = [message for i in range(N) for message in (place(i, hdg=0), attitude(i, -np.pi / 2))]
    log = read(tlog(sent), tmp_path)
    assert log.heading is None
    track = assemble(tmp_path / "made.tlog", log).track
    assert track.heading_deg[0] == pytest.approx(270)
    np.testing.assert_allclose(
        np.abs(track.quat_wxyz[0]), [0, 0, 0, 1], atol=1e-6
    )  # facing west: half a turn from east


def test_what_was_sent_without_a_fix_is_refused(tmp_path: Path) -> None:
    sent = [message for i in range(N) for message in (fix(i, 1 if i < 10 else 3), place(i))]
    log = read(tlog(sent), tmp_path)
    assert log.usable is not None
    assert np.flatnonzero(log.usable)[0] == 10


def test_altitude_of_before_the_home_was_set_is_refused_by_its_own_name(tmp_path: Path) -> None:
    sent = [place(i, alt=1500, relative_alt=1500) if i < 10 else place(i) for i in range(N)]
    log = read(tlog(sent), tmp_path)
    assert log.usable is None  # that is another reason
    (homeless,) = log.refused.values()
    assert np.flatnonzero(~homeless)[0] == 10
    assembled = assemble(tmp_path / "made.tlog", log)
    (finding,) = (finding for finding in assembled.findings if finding.name == "refused_fixes")
    assert "10 × from before the home was set" in finding.message
    assert "no fix" not in finding.message
    at_sea = [place(i, alt=1500 + i, relative_alt=1500 + i) for i in range(N)]
    assert read(tlog(at_sea), tmp_path).refused == {}


def test_ground_stations_are_no_drones(tmp_path: Path) -> None:
    sent = [heartbeat(1, 2), heartbeat(255, 6)] + [place(i, system) for i in range(N) for system in (1, 255)]
    assert len(read(tlog(sent), tmp_path).t_s) == N


@pytest.mark.parametrize(
    ("kind", "mode", "times", "grounded"),
    [(2, 0, 10, "armed"), (2, 0, 9, None), (2, 128, 10, None), (10, 128, 10, "rover"), (11, 128, 10, "boat")],
)
def test_what_never_flew(tmp_path: Path, kind: int, mode: int, times: int, grounded: str | None) -> None:
    beats = [(START_S + i, 1, mav.MAVLink_heartbeat_message(kind, 3, mode, 0, 0, 3)) for i in range(times)]
    found = read(tlog([*(place(i) for i in range(N)), *beats]), tmp_path).grounded
    assert (found is None) == (grounded is None)
    assert found is None or str(grounded) in found


def test_two_drones_are_two_flights(tmp_path: Path) -> None:
    sent = [place(i, system, lon=85_000_000 + system) for i in range(N) for system in (7, 3)]
    logs = read_all(tlog(sent), tmp_path)
    assert [log.name for log in logs] == ["system 3", "system 7"]
    for log, system in zip(logs, (3, 7), strict=True):
        np.testing.assert_allclose(log.lat_lon_alt[:, 1], 8.5 + system * 1e-7, rtol=1e-14)


def test_local_positions(tmp_path: Path) -> None:
    def local(i: int) -> Sent:
        return START_S + i, 1, mav.MAVLink_local_position_ned_message(1000 * i, i, 2.0, -3.0, 1.0, 0.0, -0.5)

    log = read(tlog([local(i) for i in range(N)]), tmp_path)
    assert log.enu_m[4].tolist() == [2, 4, 3]
    assert log.velocity_mps[4].tolist() == [0, 1, 0.5]


@pytest.mark.parametrize(
    "message",
    [
        mav.MAVLink_mount_status_message(0, 0, -3000, 0, 0),
        mav.MAVLink_mount_orientation_message(0, 0.0, -30.0, 0.0),
        mav.MAVLink_gimbal_device_attitude_status_message(
            0, 0, 0, 12, [np.cos(np.radians(15)), 0, -np.sin(np.radians(15)), 0], 0, 0, 0, 0
        ),
    ],
)
def test_gimbal_looks_down(tmp_path: Path, message: Any) -> None:
    sent = [*(place(i) for i in range(N)), attitude(0, 0.0), (START_S, 1, message)]  # level: all frames are one
    log = read(tlog(sent, version=2), tmp_path)
    assert log.gimbal_pitch.value[0] == pytest.approx(-30, abs=1e-4)


def test_clocks_that_part_are_a_doubt_about_that_stretch(tmp_path: Path) -> None:
    content = tlog([(START_S + i * 0.2, 1, place(i)[2]) for i in range(N)])
    log = read(content, tmp_path)
    (finding,) = log.findings
    assert (finding.name, finding.severity) == ("clocks_apart", "doubt")
    assert finding.measured == pytest.approx(3.9)
    (finding,) = (f for f in assemble(tmp_path / "made.tlog", log).findings if f.name == "clocks_apart")
    assert finding.stretches == ((pytest.approx(4.0), pytest.approx(7.8)),)  # 0.1 s more with each: over 2 s from 21 on


def test_a_restart_of_the_drone_is_no_drift(tmp_path: Path) -> None:
    """The drone's clock begins at 0 again: 279 s lay between the clocks of one real log."""
    first = [(START_S + i / 10, 1, place(i)[2]) for i in range(20)]
    later = [(START_S + 300 + i / 10, 1, place(i)[2]) for i in range(20)]
    log = read(tlog([*first, *later]), tmp_path)
    assert [(finding.name, finding.severity) for finding in log.findings] == [("restarted", "note")]
    assert log.begins is not None
    assert np.flatnonzero(log.begins).tolist() == [20]


@pytest.mark.parametrize("wrong_s", [-1e9, -50.0, 50.0, 1e9])
def test_one_broken_time_does_not_part_the_clocks(wrong_s: float, tmp_path: Path) -> None:
    """The ground station's time has no checksum: a bit of it may turn."""
    sent = [place(i) for i in range(N)]
    sent[20] = (sent[20][0] + wrong_s, *sent[20][1:])
    found = {f.name for f in assemble(tmp_path / "made.tlog", read(tlog(sent), tmp_path)).findings}
    assert "clocks_apart" not in found
    assert "stray_times" in found


def pitching(i: int, body_deg: float) -> Sent:
    return (
        START_S + i / 10,
        1,
        mav.MAVLink_attitude_message(5000 + 100 * i, 0.0, float(np.radians(body_deg)), 0, 0, 0, 0),
    )


def mount(i: int, angle_deg: float) -> Sent:
    return START_S + i / 10, 1, mav.MAVLink_mount_status_message(0, 0, round(angle_deg * 100), 0, 0)


@pytest.mark.parametrize(
    ("against_body", "swing_deg", "found", "pitch_deg"),
    [
        (-1.0, 15.0, ["gimbal_in_body"], -30.0),  # opposes the body: the body's pitch is added
        (0.0, 15.0, ["gimbal_frame"], np.nan),  # held against the horizon, or fixed to the body: not known
        (0.0, 4.0, [], -30.0),  # the body hardly pitches: the frames are one
        (-1.0, 4.0, [], None),
        (-0.5, 15.0, ["gimbal_frame"], np.nan),
    ],
)
def test_frame_of_the_mount(
    tmp_path: Path, against_body: float, swing_deg: float, found: list[str], pitch_deg: float | None
) -> None:
    body = swing_deg * np.sin(np.arange(N) / 3)
    sent = [
        message
        for i in range(N)
        for message in (place(i), pitching(i, body[i]), mount(i, -30.0 + against_body * body[i]))
    ]
    log = read(tlog(sent), tmp_path)
    assert [finding.name for finding in log.findings] == found
    assert log.gimbal_pitch is not None
    if pitch_deg is not None:
        np.testing.assert_allclose(log.gimbal_pitch.value, pitch_deg, atol=0.02)


def test_a_sinking_barometer_is_doubted_where_the_receiver_stays(tmp_path: Path) -> None:
    """A relative altitude fell to -16.7 m while the receiver stayed where it was."""

    def fell(k: int) -> int:
        return -1000 * max(0, k - 10)  # a metre per second from the tenth on

    sent = [
        message
        for k in range(N)
        for message in (fix(10 * k, 3), place(10 * k, relative_alt=20_000 + fell(k), alt=520_000 + fell(k)))
    ]
    log = read(tlog(sent), tmp_path)
    (finding,) = (f for f in assemble(tmp_path / "made.tlog", log).findings if f.name == "heights_disagree")
    assert (finding.severity, finding.measured) == ("doubt", pytest.approx(29.0))
    assert finding.stretches == ((20.0, 39.0),)  # over 10 m from the second 21 on
    assert "GPS" in finding.message
    steady = [message for i in range(N) for message in (fix(i, 3), place(i))]
    names = {f.name for f in assemble(tmp_path / "made.tlog", read(tlog(steady), tmp_path)).findings}
    assert "heights_disagree" not in names


def test_cut_in_the_middle_of_a_message(tmp_path: Path) -> None:
    log = read(tlog([place(i) for i in range(N)])[:-5], tmp_path)
    assert len(log.t_s) == N - 1
    assert [finding.name for finding in log.findings] == ["truncated"]


@pytest.mark.parametrize(
    ("offset", "names"),
    [(8, ["damaged_bytes"]), (9, ["damaged_bytes"]), (20, [])],  # the magic, the length, the latitude: a checksum
)
def test_a_damaged_message_costs_only_itself(tmp_path: Path, offset: int, names: list[str]) -> None:
    content = bytearray(tlog([place(i) for i in range(N)]))
    size = len(content) // N
    content[20 * size + offset] ^= 0x41
    log = read(bytes(content), tmp_path)
    assert len(log.t_s) == N - 1
    assert [finding.name for finding in log.findings] == names


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "empty"),
        (b"just text, nothing else", "not_tlog"),
        (bytes(8) + b"\xfe\x03" + bytes(30), "not_tlog"),
        (tlog([heartbeat(1, 2)]), "no_position"),
        (tlog([place(0)])[:20], "no_position"),
        (tlog([heartbeat(255, 6), place(0, 255)]), "no_position"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, finding: str) -> None:
    with pytest.raises(RawDataError) as error:
        read_all(content, tmp_path)
    assert error.value.finding == finding


def test_is_own(tmp_path: Path) -> None:
    content = tlog([place(i) for i in range(N)])
    assert Tlog().is_own(tmp_path, content)
    assert Tlog().is_own(tmp_path, content[:50])
    assert not Tlog().is_own(tmp_path, content[1:])
    assert not Tlog().is_own(tmp_path, b"ULog")


@pytest.mark.slow
def test_no_damage_is_too_much(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    sent = [message for i in range(N) for message in (fix(i, 3), place(i), attitude(i, 0.1 * i))]
    counts = survives(Tlog(), tlog(sent, version=2), tmp_path)
    assert min(counts.values()) > 0
    assert capfd.readouterr() == ("", "")
