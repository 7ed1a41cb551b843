"""ULog: the real simulated hop, pyulog as the oracle, hand-made logs, and damage."""

import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pyulog import ULog

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.px4_ulog import PX4Ulog, read_topics
from pipeline.worlds.flight.tracks.assemble import assemble
from tests.conftest import REAL_DATA
from tests.formats.logs.made_logs import read_log, structured, survives, ulog, ulog_message

N = 40
TIME = np.arange(N, dtype=np.uint64) * 100_000 + 5_000_000
LOCAL = "vehicle_local_position"


HOP = REAL_DATA / "flights" / "ulog" / "sample_px4_events.ulg"


def local(**changes: object) -> np.ndarray:
    """Flies north at 10 m/s, 2 m above the start."""
    fields: dict[str, object] = {
        "timestamp": TIME,
        "x": np.arange(N, dtype=np.float32),
        "y": np.zeros(N, np.float32),
        "z": np.full(N, -2.0, np.float32),
        "xy_valid": np.ones(N, bool),
        "z_valid": np.ones(N, bool),
    }
    return structured(**(fields | changes))


read = partial(read_log, PX4Ulog(), name="made.ulg")


def names(log: Log) -> list[str]:
    return [finding.name for finding in log.findings]


@pytest.mark.real_data
def test_real_hop() -> None:
    (log,) = PX4Ulog().read(HOP)
    assert (log.dialect, log.clock, len(log.t_s), names(log)) == (LOCAL, "boot", 313, [])
    assert log.t_s[-1] - log.t_s[0] == pytest.approx(31.2, abs=0.2)
    track = assemble(HOP, log).track
    first = log.t_s[0]
    assert log.enu_m[:, 2].max() == pytest.approx(2.16, abs=0.01)
    aloft = log.t_s[log.enu_m[:, 2] > 0.3] - first
    assert 19 < aloft[0] < 21
    assert 24 < aloft[-1] < 27
    assert np.isfinite(track.quat_wxyz).all()
    assert track.height_m.max() == pytest.approx(2.2, abs=0.15)


@pytest.mark.real_data
def test_real_place_is_the_estimators_own() -> None:
    """The last local position lies where the topic of global positions says, to a millimetre."""
    (log,) = PX4Ulog().read(HOP)
    last = ULog(str(HOP)).get_dataset("vehicle_global_position").data
    assert log.lat_lon_alt[-1, :2] == pytest.approx([last["lat"][-1], last["lon"][-1]], abs=1e-8)
    assert log.lat_lon_alt[-1, 2] == pytest.approx(last["alt"][-1], abs=1e-3)


@pytest.mark.real_data
def test_every_topic_is_as_pyulog_reads_it() -> None:
    expected = ULog(str(HOP)).data_list
    recording = read_topics(HOP, {data.name for data in expected})
    assert recording.findings == ()
    compared = 0
    for name, records in recording.topics.items():
        instances = [data for data in expected if data.name == name]
        richest = max(instances, key=lambda data: (len(data.data["timestamp"]), -data.multi_id))
        for field in records.dtype.names:
            if records[field].dtype.kind in "iufb":
                width = records[field].shape[1] if records[field].ndim == 2 else None
                labels = [field] if width is None else [f"{field}[{i}]" for i in range(width)]
                values = np.stack([richest.data[label] for label in labels], axis=-1).reshape(records[field].shape)
                np.testing.assert_array_equal(values, records[field].astype(values.dtype))
                compared += 1
    assert len(recording.topics) == len({data.name for data in expected}) == 65
    assert compared > 500


def test_local_positions(tmp_path: Path) -> None:
    log = read(ulog({(LOCAL, 0): local(heading=np.full(N, np.pi / 2, np.float32))}), tmp_path)
    np.testing.assert_allclose(log.enu_m[3], [0, 3, 2])
    assert log.t_s[:2] == pytest.approx([5.0, 5.1])
    assert log.lat_lon_alt is None
    assert log.heading.value[0] == pytest.approx(90)
    assert assemble(tmp_path / "made.ulg", log).track.enu_m[-1] == pytest.approx([0, N - 1, 0])


def test_invalid_positions_are_refused(tmp_path: Path) -> None:
    valid = np.arange(N) >= 10
    log = read(ulog({(LOCAL, 0): local(xy_valid=valid)}), tmp_path)
    assert log.usable.tolist() == valid.tolist()


def test_older_name_of_the_heading(tmp_path: Path) -> None:
    log = read(ulog({(LOCAL, 0): local(yaw=np.full(N, -np.pi / 2, np.float32))}), tmp_path)
    assert log.heading.value[0] == pytest.approx(270)


def test_attitude_and_gimbal(tmp_path: Path) -> None:
    """Nose to the east, camera 30 degrees down."""
    east = np.tile(np.float32([np.sqrt(0.5), 0, 0, np.sqrt(0.5)]), (N, 1))
    down = np.tile(np.float32([np.cos(np.radians(15)), 0, -np.sin(np.radians(15)), 0]), (N, 1))
    topics = {
        (LOCAL, 0): local(heading=np.zeros(N, np.float32)),
        ("vehicle_attitude", 0): structured(timestamp=TIME, q=east),
        ("gimbal_device_attitude_status", 0): structured(timestamp=TIME, q=down),
    }
    track = assemble(tmp_path / "made.ulg", read(ulog(topics), tmp_path)).track
    np.testing.assert_allclose(track.quat_wxyz[0], [1, 0, 0, 0], atol=1e-6)
    assert track.heading_deg[0] == pytest.approx(90)
    assert track.gimbal_pitch_deg[0] == pytest.approx(-30, abs=1e-4)


def test_a_reset_begins_a_part_and_a_small_correction_does_not(tmp_path: Path) -> None:
    counter, delta = np.zeros(N, np.uint8), np.zeros((N, 2), np.float32)
    counter[10:], counter[20:] = 255, 0  # it wraps
    delta[10:], delta[20:] = (0.1, 0.0), (3.0, 4.0)
    x = np.arange(N, dtype=np.float32) + np.where(np.arange(N) >= 20, 3, 0).astype(np.float32)
    log = read(ulog({(LOCAL, 0): local(x=x, xy_reset_counter=counter, delta_xy=delta)}), tmp_path)
    assert log.begins is not None
    assert np.flatnonzero(log.begins).tolist() == [20]
    (finding,) = log.findings
    assert (finding.name, finding.measured, finding.unit) == ("position_reset", 5.0, "m")
    assert assemble(tmp_path / "made.ulg", log).track.part.tolist() == [0] * 20 + [1] * 20


@pytest.mark.parametrize("newer", [False, True])
def test_receiver_in_both_layouts(tmp_path: Path, newer: bool) -> None:
    lat, fix = 47.0 + np.arange(N) * 1e-5, np.where(np.arange(N) < 5, 2, 3).astype(np.uint8)
    if newer:
        rows = structured(
            timestamp=TIME,
            latitude_deg=lat,
            longitude_deg=np.full(N, 8.5),
            altitude_msl_m=np.full(N, 488.5),
            fix_type=fix,
        )
    else:
        rows = structured(
            timestamp=TIME,
            lat=np.round(lat * 1e7).astype(np.int32),
            lon=np.full(N, 85_000_000, np.int32),
            alt=np.full(N, 488_500, np.int32),
            fix_type=fix,
        )
    log = read(ulog({("vehicle_gps_position", 0): rows}), tmp_path)
    assert log.lat_lon_alt[7] == pytest.approx([47.00007, 8.5, 488.5])
    assert log.usable.sum() == N - 5


def test_estimator_without_a_valid_local_position(tmp_path: Path) -> None:
    place = structured(
        timestamp=TIME, lat=47 + np.arange(N) * 1e-5, lon=np.full(N, 8.5), alt=np.full(N, 500, np.float32)
    )
    topics = {(LOCAL, 0): local(xy_valid=np.zeros(N, bool)), ("vehicle_global_position", 0): place}
    log = read(ulog(topics), tmp_path)
    assert log.dialect == "vehicle_global_position"
    assert log.lat_lon_alt[1] == pytest.approx([47.00001, 8.5, 500])


def test_a_valid_local_height_is_used_though_the_place_over_ground_is_not_valid(tmp_path: Path) -> None:
    place = structured(
        timestamp=TIME, lat=47 + np.arange(N) * 1e-5, lon=np.full(N, 8.5), alt=np.full(N, 500, np.float32)
    )
    height = structured(timestamp=TIME, z=-np.arange(N, dtype=np.float32), z_valid=np.arange(N) >= 10)
    topics = {
        (LOCAL, 0): local(xy_valid=np.zeros(N, bool), z=height["z"], z_valid=height["z_valid"]),
        ("vehicle_global_position", 0): place,
    }
    assert read(ulog(topics), tmp_path).height_m is None  # above where it was switched on, which may be in the air
    topics["vehicle_land_detected", 0] = structured(timestamp=TIME, landed=np.arange(N) < 12)
    log = read(ulog(topics), tmp_path)
    assert log.height_m[10:] == pytest.approx(np.arange(N - 10))  # from where the height was first valid
    wait_s = (TIME[10] - TIME) / 1e6
    assert np.isnan(log.height_m[:10]).tolist() == (wait_s[:10] > 1.0).tolist()


@pytest.mark.parametrize(
    ("topic", "fields", "from_takeoff"),
    [
        ("vehicle_land_detected", {"landed": np.arange(N) < 20}, True),
        ("vehicle_land_detected", {"landed": np.zeros(N, bool)}, False),
        ("vehicle_status", {"arming_state": np.where(np.arange(N) < 5, 1, 2).astype("u1")}, True),
        ("vehicle_status", {"arming_state": np.full(N, 2, "u1")}, False),  # of before takeoff_time was logged
        ("vehicle_status", {"arming_state": np.full(N, 2, "u1"), "takeoff_time": np.zeros(N, "u8")}, True),
        ("vehicle_status", {"arming_state": np.full(N, 2, "u1"), "takeoff_time": np.full(N, 9, "u8")}, False),
        ("vehicle_air_data", {"baro_alt_meter": np.full(N, 30, np.float32)}, False),
    ],
)
def test_heights_count_from_takeoff_if_it_stands_at_the_first_position(
    topic: str, fields: dict[str, np.ndarray], from_takeoff: bool, tmp_path: Path
) -> None:
    log = read(ulog({(LOCAL, 0): local(), (topic, 0): structured(timestamp=TIME, **fields)}), tmp_path)
    assert assemble(tmp_path / "made.ulg", log).from_takeoff is from_takeoff
    late = replace(log, usable=np.arange(N) >= 25)  # its first position comes after it took off
    assert assemble(tmp_path / "made.ulg", late).from_takeoff is (
        from_takeoff and topic == "vehicle_status" and "takeoff_time" in fields
    )


def test_a_home_that_was_set_in_the_air_is_not_where_it_took_off(tmp_path: Path) -> None:
    home = structured(timestamp=TIME, z=np.full(N, -2, np.float32))
    flies = structured(timestamp=TIME, landed=np.zeros(N, bool))
    topics = {(LOCAL, 0): local(), ("home_position", 0): home}
    assert assemble(tmp_path / "made.ulg", read(ulog(topics), tmp_path)).from_takeoff
    topics["vehicle_land_detected", 0] = flies
    assert not assemble(tmp_path / "made.ulg", read(ulog(topics), tmp_path)).from_takeoff


def test_a_second_log_behind_the_first_is_refused(tmp_path: Path) -> None:
    one = ulog({(LOCAL, 0): local()})
    with pytest.raises(RawDataError, match=f"a second log begins at byte {len(one)}") as caught:
        read(one + one, tmp_path)
    assert caught.value.finding == "several_flights"


def test_height_is_held_against_the_receivers(tmp_path: Path) -> None:
    """The local height sinks by 30 m while the receiver's stays."""
    z = np.where(np.arange(N) < 30, 0.0, 30.0).astype(np.float32)
    receiver = structured(
        timestamp=TIME,
        latitude_deg=np.full(N, 47.0),
        longitude_deg=np.full(N, 8.5),
        altitude_msl_m=np.full(N, 488.5),
        fix_type=np.full(N, 3, np.uint8),
    )
    topics = {(LOCAL, 0): local(z=z), ("sensor_gps", 0): receiver}
    found = {f.name: f for f in assemble(tmp_path / "made.ulg", read(ulog(topics), tmp_path)).findings}
    assert found["heights_disagree"].measured == pytest.approx(30.0)
    (stretch,) = found["heights_disagree"].stretches or ()
    assert stretch == (pytest.approx(2.9), pytest.approx(3.9))


def test_the_instance_with_most_messages_is_read(tmp_path: Path) -> None:
    few = b"".join(ulog_message(b"D", b"\x07\x00" + row.tobytes()) for row in local(x=np.full(N, 99, np.float32))[:5])
    content = ulog({(LOCAL, 1): local()}) + ulog_message(b"A", b"\x00\x07\x00" + LOCAL.encode()) + few
    log = read(content, tmp_path)
    assert len(log.t_s) == N
    assert log.enu_m[:, 1].max() == N - 1


def test_time_counts_from_boot_also_beyond_signed_numbers(tmp_path: Path) -> None:
    late = TIME.copy()
    late[20] = 2**64 - 1
    log = read(ulog({(LOCAL, 0): local(timestamp=late)}), tmp_path)
    assert log.t_s[20] == -1e-6  # before boot: a stray, not 584,942 years
    track = assemble(tmp_path / "made.ulg", log).track
    assert len(track) == N - 1
    assert track.t_s[-1] == pytest.approx(3.9)


@pytest.mark.parametrize(("kinds", "grounded"), [([10], "it is a rover"), ([0, 10], None), ([2], None), ([], None)])
def test_a_rover_says_that_it_is_one(kinds: list[int], grounded: str | None, tmp_path: Path) -> None:
    told = structured(timestamp=TIME, system_type=np.resize(np.array(kinds, np.uint8), N))
    status = {("vehicle_status", 0): told} if kinds else {}
    assert read(ulog({(LOCAL, 0): local()} | status), tmp_path).grounded == grounded


def test_dropouts_are_counted(tmp_path: Path) -> None:
    log = read(ulog({(LOCAL, 0): local()}) + ulog_message(b"O", struct.pack("<H", 250)) * 2, tmp_path)
    (finding,) = log.findings
    assert (finding.name, finding.measured, finding.unit) == ("dropouts", 0.5, "s")


def test_cut_log_gives_all_up_to_the_cut(tmp_path: Path) -> None:
    log = read(ulog({(LOCAL, 0): local()})[:-30], tmp_path)
    assert len(log.t_s) == N - 2
    assert names(log) == ["truncated"]


def test_damage_costs_what_it_hits(tmp_path: Path) -> None:
    """Sizes broken in the middle: reading goes on at the next synchronisation."""
    whole = ulog({(LOCAL, 0): local()}, sync=True)
    at = len(whole) - 20 * (len(ulog_message(b"D", bytes(2 + local().dtype.itemsize))) + 11)
    log = read(whole[:at] + b"\xff\xff" + whole[at + 2 :], tmp_path)
    assert len(log.t_s) == N - 1
    assert names(log) == ["damaged_bytes"]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "empty"),
        (b"ULog", "not_ulog"),
        (b"PK\x03\x04 something else", "not_ulog"),
        (ulog({("vehicle_status", 0): structured(timestamp=TIME)}), "no_position"),
        (ulog({(LOCAL, 0): local()})[:60], "no_position"),
        (ulog({(LOCAL, 0): local(timestamp=TIME.astype(np.float64))}), "no_position"),
        (b"ULog\x01\x12\x35\x01" + bytes(8) + ulog_message(b"B", bytes(8) + b"\x02" + bytes(31)), "unknown_ulog"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, finding: str) -> None:
    with pytest.raises(RawDataError) as error:
        read(content, tmp_path)
    assert error.value.finding == finding


@pytest.mark.parametrize(
    "fields",
    [
        f"uint64_t timestamp;{LOCAL} itself;",
        "uint64_t timestamp;a[65535] x;",
        "".join(f"wide x{i};" for i in range(3000)),
        "".join(f"wide[0] x{i};" for i in range(3000)),
        "uint8_t[2] _padding0;",
        "float[99999999999999999999] x;",
        "float[-3] x;",
        "float x;float x;",
        "nothing",
        "",
    ],
)
def test_formats_that_are_traps(tmp_path: Path, fields: str) -> None:
    content = b"ULog\x01\x12\x35\x01" + bytes(8)
    content += ulog_message(b"F", b"a:b[65535] x;") + ulog_message(b"F", b"b:double[65535] x;")
    content += ulog_message(b"F", ("wide:" + "".join(f"bool x{i};" for i in range(3000))).encode())
    content += ulog_message(b"F", f"{LOCAL}:{fields}".encode()) + ulog_message(b"A", b"\0\0\0" + LOCAL.encode())
    with pytest.raises(RawDataError) as error:
        read(content + ulog_message(b"D", bytes(100)), tmp_path)
    assert error.value.finding == "no_position"


def test_unreadable(tmp_path: Path) -> None:
    with pytest.raises(RawDataError) as error:
        PX4Ulog().read(tmp_path / "absent.ulg")
    assert error.value.finding == "unreadable"


def test_is_own(tmp_path: Path) -> None:
    assert PX4Ulog().is_own(tmp_path, ulog({(LOCAL, 0): local()})[:4096])
    assert not PX4Ulog().is_own(tmp_path, b"\xa3\x95\x80")


@pytest.mark.slow
def test_no_damage_is_too_much(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    q = np.tile(np.float32([1, 0, 0, 0]), (N, 1))
    content = ulog({(LOCAL, 0): local(), ("vehicle_attitude", 0): structured(timestamp=TIME, q=q)}, sync=True)
    counts = survives(PX4Ulog(), content, tmp_path)
    assert min(counts.values()) > 0
    assert capfd.readouterr() == ("", "")
