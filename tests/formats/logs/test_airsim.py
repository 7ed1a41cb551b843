"""AirSim recordings: a real one, tables made by hand, and damage."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.airsim import AirSim
from pipeline.worlds.flight.tracks.assemble import assemble
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.conftest import REAL_DATA
from tests.formats.logs.made_logs import read_logs, survives

NAMES = ["VehicleName", "TimeStamp", "POS_X", "POS_Y", "POS_Z", "Q_W", "Q_X", "Q_Y", "Q_Z", "ImageFile"]
N = 40


def row(i: int, vehicle: str = "Drone1", **changes: object) -> list[str]:
    """North at 1 m a second, 10 m up, nose to the east."""
    values = [vehicle, 1_000 * i + 500, 100 + i, 2.0, -10.0, 0.70710678, 0, 0, 0.70710678, f"img_{i}.png"]
    return [str(value) for value in (dict(zip(NAMES, values, strict=True)) | changes).values()]


def written(rows: list[list[str]], names: list[str] = NAMES, end: str = "\n") -> bytes:
    return "".join("\t".join(cells) + end for cells in [names, *rows]).encode()


read_all = partial(read_logs, AirSim(), name="airsim_rec.txt")


@pytest.mark.real_data
def test_real_recording() -> None:
    path = REAL_DATA / "flights" / "airsim" / "airsim_rec.txt"
    (log,) = AirSim().read(path)
    assert (log.name, log.clock, len(log.t_s), log.findings) == ("", "simulated", 158, ())
    assert log.enu_m[0] == pytest.approx([-0.0884584, -0.0859381, 2.83123])
    track = assemble(path, log).track
    assert track.t_s[-1] == pytest.approx(235.364)
    assert track.height_m[0] == pytest.approx(2.83123), "the recording begins in the air, its zero is the start"
    assert track.heading_deg[[0, -1]] == pytest.approx([0.18, 184.1], abs=0.1)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_units_and_frames(tmp_path: Path, end: str, start: bytes) -> None:
    (log,) = read_all(start + written([row(i) for i in range(N)], end=end), tmp_path)
    assert log.t_s[:2].tolist() == [0.5, 1.5]
    assert log.enu_m[3].tolist() == [2, 103, 10]
    np.testing.assert_allclose(log.attitude.value[0], [1, 0, 0, 0], atol=1e-6)


def test_vehicles_are_flights_of_their_own(tmp_path: Path) -> None:
    rows = [row(i, name, POS_Y=y) for i in range(N) for name, y in (("Drone2", 7.0), ("Drone1", 5.0))]
    logs = read_all(written(rows), tmp_path)
    assert [(log.name, len(log.t_s), log.enu_m[0, 0]) for log in logs if log.enu_m is not None] == [
        ("Drone1", N, 5.0),
        ("Drone2", N, 7.0),
    ]


def test_without_names_of_vehicles_and_pictures(tmp_path: Path) -> None:
    (log,) = read_all(written([row(i)[1:-1] for i in range(N)], names=NAMES[1:-1]), tmp_path)
    assert (log.name, len(log.t_s)) == ("", N)


def test_what_is_no_number_is_refused(tmp_path: Path) -> None:
    rows = [
        row(0, POS_X="nan"),
        row(1, POS_Y="north"),
        row(2, TimeStamp=""),
        row(3, Q_W="9"),
        *(row(i) for i in range(4, N)),
    ]
    (log,) = read_all(written(rows), tmp_path)
    track = assemble(tmp_path / "airsim_rec.txt", log).track
    assert len(track) == N - 3
    assert np.isfinite(track.quat_wxyz).all()  # the bad attitude lies between no two good ones, 1 s before one


def test_broken_lines_are_counted(tmp_path: Path) -> None:
    (log,) = read_all(written([row(0), ["a", "b"], *(row(i) for i in range(1, N))]) + b"Drone1\t77", tmp_path)
    assert len(log.t_s) == N
    assert [finding.name for finding in log.findings] == ["damaged_lines", "truncated"]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02", "missing_columns"),
        (written([row(0)[:4]], names=NAMES[:4]), "missing_columns"),
        (written([]), "no_position"),
    ],
)
def test_refused(tmp_path: Path, content: bytes, finding: str) -> None:
    with pytest.raises(RawDataError) as error:
        read_all(content, tmp_path)
    assert error.value.finding == finding


def test_is_own(tmp_path: Path) -> None:
    assert AirSim().is_own(tmp_path, written([row(0)]))
    assert not AirSim().is_own(tmp_path, b"TimeStamp\tPOS_X\n")


@pytest.mark.slow
def test_no_damage_is_too_much(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    counts = survives(AirSim(), written([row(i) for i in range(N)]), tmp_path)
    assert min(counts.values()) > 0
    assert capfd.readouterr() == ("", "")


def test_a_vehicle_without_positions_is_left_out_and_told(tmp_path: Path) -> None:
    lost = dict.fromkeys(("POS_X", "POS_Y", "POS_Z"), "nan")
    path = tmp_path / "airsim_rec.txt"
    path.write_bytes(written([row(i) for i in range(N)] + [row(i, "Drone2", **lost) for i in range(N)]))
    ((log, assembled),) = read_tracks(path)
    assert log.name == "Drone1"
    (told,) = [f for f in assembled.findings if f.name == "flight_left_out"]
    assert told.message.startswith("Drone2: no_fix: ")
    path.write_bytes(written([row(i, "Drone2", **lost) for i in range(N)]))
    with pytest.raises(RawDataError) as caught:
        read_tracks(path)
    assert caught.value.finding == "no_fix", "of all there are none: the log cannot be used"
