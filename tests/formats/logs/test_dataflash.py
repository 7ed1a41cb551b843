"""ArduPilot logs: a real second, pymavlink as the oracle, hand-made logs, and damage."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from pymavlink.DFReader import DFReader_binary

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.dataflash import DataFlash, read_binary
from pipeline.worlds.flight.tracks.assemble import assemble
from tests.conftest import REAL_DATA
from tests.formats.logs.made_logs import dataflash, read_log, survives

N = 40
BOOT_US = np.arange(N) * 100_000 + 5_000_000
LAT, LNG = -353_626_298 + np.arange(N) * 10, np.full(N, 1_491_653_055)

POS = ("QLLff", {"TimeUS": BOOT_US, "Lat": LAT, "Lng": LNG, "Alt": np.full(N, 584.5), "RelHomeAlt": np.full(N, 1.5)})
ATT = ("QccC", {"TimeUS": BOOT_US, "Roll": np.zeros(N), "Pitch": np.full(N, 1000), "Yaw": np.full(N, 9000)})


def gps(status: object = 3) -> tuple[str, dict[str, object]]:
    columns = {
        "TimeUS": BOOT_US,
        "Status": np.broadcast_to(status, N),
        "Lat": LAT,
        "Lng": LNG,
        "Alt": np.full(N, 58_450),
    }
    motion = {"Spd": np.full(N, 5.0), "GCrs": np.full(N, 90.0), "VZ": np.full(N, -1.0)}
    return "QBLLefff", columns | motion


read = partial(read_log, DataFlash(), name="made.bin")


SECOND = REAL_DATA / "flights" / "dataflash" / "test.BIN"


@pytest.mark.real_data
def test_real_second() -> None:
    (log,) = DataFlash().read(SECOND)
    assert (log.dialect, log.clock, len(log.t_s)) == ("POS", "boot", 23)
    assert [finding.name for finding in log.findings] == ["truncated"]
    track = assemble(SECOND, log).track
    assert track.t_s[-1] < 1
    assert np.abs(track.enu_m).max() < 0.5  # it stands
    assert track.heading_deg[0] == pytest.approx(337.1, abs=0.05)
    assert track.height_m[0] == pytest.approx(-0.255, abs=0.001)


@pytest.mark.real_data
def test_every_number_is_as_pymavlink_reads_it() -> None:
    expected: dict[str, list[dict[str, object]]] = {}
    reader = DFReader_binary(str(SECOND))
    while (message := reader.recv_msg()) is not None:
        expected.setdefault(message.get_type(), []).append(message.to_dict())
    reader.close()
    tables = read_binary(SECOND.read_bytes(), set(expected) - {"FMT"}).tables
    assert set(tables) == set(expected) - {"FMT"}
    compared = 0
    for name, columns in tables.items():
        for field, values in columns.items():
            np.testing.assert_allclose(
                values, [row[field] for row in expected[name]], rtol=1e-12, err_msg=f"{name}.{field}"
            )
            compared += 1
    assert compared > 200


def test_estimator_before_receiver(tmp_path: Path) -> None:
    log = read(dataflash({"GPS": gps(), "POS": POS, "ATT": ATT}), tmp_path)
    assert log.dialect == "POS"
    assert log.lat_lon_alt[1] == pytest.approx([-35.3626288, 149.1653055, 584.5])
    assert log.t_s[:2] == pytest.approx([5.0, 5.1])
    assembled = assemble(tmp_path / "made.bin", log)
    assert assembled.track.heading_deg[0] == pytest.approx(90)
    assert assembled.track.height_m[0] == 1.5


def test_fix_of_the_receiver_holds_for_the_estimator(tmp_path: Path) -> None:
    log = read(dataflash({"GPS": gps(np.where(np.arange(N) < 10, 2, 3)), "POS": POS}), tmp_path)
    assert log.usable is not None
    assert np.flatnonzero(log.usable)[0] == 10


def test_receiver_alone(tmp_path: Path) -> None:
    log = read(dataflash({"GPS": gps(np.where(np.arange(N) < 10, 1, 4))}), tmp_path)
    assert log.lat_lon_alt[0, 2] == 584.5
    assert log.usable.sum() == N - 10
    np.testing.assert_allclose(log.velocity_mps[0], [5, 0, 1], atol=1e-9)  # course 90, climbing


def test_local_position_without_satellites(tmp_path: Path) -> None:
    columns = {"TimeUS": BOOT_US, "PN": np.arange(N), "PE": np.zeros(N), "PD": np.full(N, -3.0)}
    velocity = {"VN": np.full(N, 10.0), "VE": np.zeros(N), "VD": np.full(N, 1.0)}
    log = read(dataflash({"XKF1": ("Qffffff", columns | velocity)}), tmp_path)
    assert log.enu_m[2].tolist() == [0, 2, 3]
    assert log.velocity_mps[0].tolist() == [0, 10, -1]


def test_first_core_of_an_estimator_and_gimbal(tmp_path: Path) -> None:
    core = np.arange(N) % 2
    columns = {"TimeUS": BOOT_US, "C": core, "PN": np.where(core, 500.0, 1.0), "PE": np.zeros(N), "PD": np.zeros(N)}
    mount = {"TimeUS": BOOT_US, "I": np.zeros(N), "Pitch": np.full(N, -45.0)}
    log = read(dataflash({"XKF1": ("QBfff", columns), "MNT": ("QBf", mount)}), tmp_path)
    assert len(log.t_s) == N // 2
    assert set(log.enu_m[:, 1]) == {1.0}
    assert set(log.gimbal_pitch.value) == {-45.0}


@pytest.mark.parametrize(
    ("says", "grounded"),
    [
        (["ArduRover V4.2.3 (2172cfb3)"], "it is a ground or surface vehicle"),
        (["APM:Rover v2.50 (a1b2)"], "it is a ground or surface vehicle"),
        (["ArduSub V4.1.0 (f2af3c7e)"], "it is a submarine"),
        (["ArduCopter V4.3.6 (0c5e999c)"], None),
        (["ArduPlane V4.3.1", "ArduRover V4.2.3"], None),  # a name that is no word of its own about this vehicle
        (["Rover mode"], None),
        ([], None),
    ],
)
def test_a_rover_says_that_it_is_one(says: list[str], grounded: str | None, tmp_path: Path) -> None:
    texts = np.resize(np.array([text.encode() for text in says] or [b""], dtype="S64"), N)
    told = {"MSG": ("QZ", {"TimeUS": BOOT_US, "Message": texts})}
    assert read(dataflash({"POS": POS, **told}), tmp_path).grounded == grounded


ARMED, DISARMED, LANDED, TOOK_OFF = 10, 11, 18, 28


@pytest.mark.parametrize(
    ("events", "from_takeoff"),
    [
        ([(0, ARMED), (20, TOOK_OFF)], True),
        ([(20, TOOK_OFF)], True),  # before it took off it stood
        ([(20, LANDED), (25, DISARMED)], False),  # before it landed it flew
        ([(20, DISARMED)], False),
        ([(0, TOOK_OFF)], False),
        ([(5, 99)], False),
    ],
)
def test_events_tell_whether_it_stands_at_the_first_position(
    events: list[tuple[int, int]], from_takeoff: bool, tmp_path: Path
) -> None:
    at, numbers = (np.resize(np.array(one), N) for one in zip(*events, strict=True))
    told = {"EV": ("QB", {"TimeUS": BOOT_US[np.sort(at)], "Id": numbers[np.argsort(at, kind="stable")]})}
    log = read(dataflash({"GPS": gps(), **told}), tmp_path)
    assert assemble(tmp_path / "made.bin", log).from_takeoff is from_takeoff


def test_arming_tells_that_it_stands_for_a_moment(tmp_path: Path) -> None:
    arm = {"ARM": ("QB", {"TimeUS": BOOT_US, "ArmState": np.ones(N)})}
    log = read(dataflash({"GPS": gps(), **arm}), tmp_path)
    assert assemble(tmp_path / "made.bin", log).from_takeoff
    log = read(dataflash({"GPS": gps(np.where(np.arange(N) < 15, 1, 3)), **arm}), tmp_path)  # a fix after 1.5 s
    assert not assemble(tmp_path / "made.bin", log).from_takeoff


def test_a_plane_says_whether_it_flies(tmp_path: Path) -> None:
    for flying in (np.arange(N) > 9, np.ones(N)):
        stat = {"STAT": ("QB", {"TimeUS": BOOT_US, "isFlying": flying})}
        log = read(dataflash({"GPS": gps(), **stat}), tmp_path)
        assert assemble(tmp_path / "made.bin", log).from_takeoff is not bool(flying[0])


def test_old_clocks(tmp_path: Path) -> None:
    """Before TimeUS: milliseconds since boot in TimeMS, but in T where TimeMS is the time of the week."""
    boot_ms = BOOT_US // 1000
    old_gps = {"Status": np.full(N, 3), "TimeMS": boot_ms + 86_400_000, "Lat": LAT, "Lng": LNG}
    heights = {"RelAlt": np.full(N, 250), "Alt": np.full(N, 58_450), "T": boot_ms}
    old_att = {"TimeMS": boot_ms, "Roll": np.zeros(N), "Pitch": np.zeros(N), "Yaw": np.full(N, 18_000)}
    log = read(dataflash({"GPS": ("BILLeeI", old_gps | heights), "ATT": ("IccC", old_att)}), tmp_path)
    assert log.t_s[0] == log.attitude.t_s[0] == 5.0
    assert log.height_m[0] == 2.5
    assert assemble(tmp_path / "made.bin", log).track.heading_deg[0] == pytest.approx(180)


def text_log() -> bytes:
    """As `POS`, as a ground station writes it."""
    lines = ["\ufeffFMT, 128, 89, FMT, BBnNZ, Type,Length,Name,Format,Columns"]
    lines += ["FMT, 130, 31, POS, QLLff, TimeUS,Lat,Lng,Alt,RelHomeAlt"]
    lines += [f"POS, {t}, {lat / 1e7:.7f}, 149.1653055, 584.5, 1.5" for t, lat in zip(BOOT_US, LAT, strict=True)]
    lines += ["FMT, 131, 16, MNT, QBf, TimeUS,I,Pitch", "MNT, 5000000, 0, -45"]
    return ("\r\n".join(lines) + "\r\n").encode()


def test_text_form_says_the_same(tmp_path: Path) -> None:
    text = read(text_log() + b"POS, 1, 2\nPOS, 9000000, -35.36", tmp_path)
    binary = read(dataflash({"POS": POS}), tmp_path)
    assert text.lat_lon_alt is not None
    assert binary.lat_lon_alt is not None
    np.testing.assert_allclose(text.lat_lon_alt, binary.lat_lon_alt, rtol=1e-12)
    np.testing.assert_allclose(text.t_s, binary.t_s)
    assert text.gimbal_pitch.value.tolist() == [-45]
    assert [finding.name for finding in text.findings] == ["damaged_lines", "truncated"]


def test_damage_costs_what_it_hits(tmp_path: Path) -> None:
    whole = dataflash({"POS": POS})
    size = 3 + 8 + 4 * 4
    middle = len(whole) - 20 * size
    log = read(whole[:middle] + b"\0" + whole[middle + 1 :], tmp_path)
    assert len(log.t_s) == N - 1
    (finding,) = log.findings
    assert (finding.name, finding.measured) == ("damaged_bytes", size)


def test_a_format_in_another_unit_is_no_position(tmp_path: Path) -> None:
    """Degrees times 1e7 that a damaged format calls hundredths."""
    with pytest.raises(RawDataError) as error:
        read(dataflash({"POS": ("QeLff", POS[1])}), tmp_path)
    assert error.value.finding == "no_position"


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "empty"),
        (b"Time,Latitude\n1,2\n", "not_dataflash"),
        (b"\xa3\x95" * 5000, "no_position"),
        (dataflash({"ATT": ATT}), "no_position"),
        (b"FMT, 1", "no_position"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, finding: str) -> None:
    with pytest.raises(RawDataError) as error:
        read(content, tmp_path)
    assert error.value.finding == finding


def test_is_own(tmp_path: Path) -> None:
    assert DataFlash().is_own(tmp_path, dataflash({"POS": POS})[:100])
    assert DataFlash().is_own(tmp_path, b"\xef\xbb\xbfFMT, 128, 89, FMT")
    assert not DataFlash().is_own(tmp_path, b"ULog\x01")


@pytest.mark.slow
def test_no_damage_is_too_much(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for content in (dataflash({"GPS": gps(), "POS": POS, "ATT": ATT}), text_log()):
        counts = survives(DataFlash(), content, tmp_path)
        assert min(counts.values()) > 0
    assert capfd.readouterr() == ("", "")
