"""Speed of the way from flight logs to questions: `python -m tests.bench.flights`.

A log is one hour at 50 Hz: position and attitude in each of 180,000 samples. Seconds are those of one core, from the
file to its track; beside them stand those that the usual library takes to decode the same file, in the same run.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np
import pandas as pd
from pymavlink import mavutil
from pymavlink.DFReader import DFReader_binary
from pymavlink.dialects.v20 import ardupilotmega as mav
from pyulog import ULog
from rich.console import Console
from rich.table import Table

from pipeline.worlds.flight.tracks.read import read_tracks
from tests.formats.logs.made_logs import dataflash, structured, tlog, ulog

HOURS_S: Final = 3600
RATE_HZ: Final = 50
N: Final = HOURS_S * RATE_HZ
MAX_TRACK_S: Final = 5.0  # issue 5
RUNS: Final = 3
START_S: Final = 1_700_000_000.0

T_S: Final = np.arange(N) / RATE_HZ
EAST: Final = 200 * np.cos(T_S / 60)  # circles of 200 m, a climb of 20 m and back every 5 minutes
NORTH: Final = 200 * np.sin(T_S / 60)
UP: Final = 30 + 20 * np.sin(T_S / 48)
LAT: Final = 47.4 + NORTH / 111_000
LON: Final = 8.5 + EAST / 75_000

Row = tuple[str, float, str, str | None, float | None]


def write_ulog(path: Path) -> None:
    local = structured(
        timestamp=(T_S * 1e6 + 5e6).astype(np.uint64),
        x=NORTH.astype(np.float32),
        y=EAST.astype(np.float32),
        z=-UP.astype(np.float32),
        vx=np.zeros(N, np.float32),
        vy=np.zeros(N, np.float32),
        vz=np.zeros(N, np.float32),
        ref_lat=np.full(N, 47.4),
        ref_lon=np.full(N, 8.5),
        ref_alt=np.full(N, 400, np.float32),
        xy_valid=np.ones(N, bool),
        z_valid=np.ones(N, bool),
        xy_global=np.ones(N, bool),
        z_global=np.ones(N, bool),
    )
    q = np.stack([np.cos(T_S / 120), 0 * T_S, 0 * T_S, np.sin(T_S / 120)], axis=-1).astype(np.float32)
    attitude = structured(timestamp=local["timestamp"], q=q)
    # A logger's usual load: some twenty topics that no track needs.
    load = {
        ("sensor_combined", i): structured(timestamp=local["timestamp"], data=np.zeros((N, 6), np.float32))
        for i in range(4)
    }
    path.write_bytes(ulog({("vehicle_local_position", 0): local, ("vehicle_attitude", 0): attitude, **load}))


def write_dataflash(path: Path) -> None:
    time_us = (T_S * 1e6 + 5e6).astype(np.int64)
    place = {"Lat": np.round(LAT * 1e7), "Lng": np.round(LON * 1e7)}
    pos = {"TimeUS": time_us, **place, "Alt": UP + 400, "RelHomeAlt": UP}
    gps = {"TimeUS": time_us, "Status": np.full(N, 3), **place, "Alt": np.round((UP + 400) * 100)}
    zero = np.zeros(N)
    att = {"TimeUS": time_us, "Roll": zero, "Pitch": zero, "Yaw": np.round(np.degrees(T_S / 60) % 360 * 100)}
    path.write_bytes(dataflash({"POS": ("QLLff", pos), "GPS": ("QBLLe", gps), "ATT": ("QccC", att)}))


def write_tlog(path: Path) -> None:
    """A minute, and the same again sixty times: pymavlink needs minutes to pack an hour."""
    sent = []
    for i in range(N // 60):
        lat, lon, up_mm = int(LAT[i] * 1e7), int(LON[i] * 1e7), int(UP[i] * 1e3)
        place = mav.MAVLink_global_position_int_message(20 * i, lat, lon, up_mm + 400_000, up_mm, 0, 0, 0, 0)
        turn = mav.MAVLink_attitude_message(20 * i, 0.0, 0.0, float(np.sin(T_S[i])), 0, 0, 0)
        sent += [(START_S + T_S[i], 1, place), (START_S + T_S[i], 1, turn)]
    minute = np.frombuffer(tlog(sent), np.uint8)
    records = [np.frombuffer(tlog([one]), np.uint8).size for one in sent[:2]]
    starts = np.cumsum([0] + records * (N // 60))[:-1]
    copies = []
    for number in range(60):
        copy = minute.copy()
        times = np.array([(START_S + 60 * number + T_S[i // 2]) * 1e6 for i in range(len(starts))]).astype(">u8")
        copy[starts[:, None] + np.arange(8)] = times.view(np.uint8).reshape(-1, 8)
        copies.append(copy.tobytes())
    path.write_bytes(b"".join(copies))


def write_srt(path: Path) -> None:
    cues = []
    for i, t in enumerate(T_S):
        begin, end = _clock(t), _clock(t + 1 / RATE_HZ)
        cues.append(
            f'{i + 1}\n{begin} --> {end}\n<font size="28">FrameCnt: {i + 1}, DiffTime: 20ms\n'
            f"[latitude: {LAT[i]:.6f}] [longitude: {LON[i]:.6f}] "
            f"[rel_alt: {UP[i]:.3f} abs_alt: {UP[i] + 400:.3f}]</font>\n\n"
        )
    path.write_text("".join(cues), encoding="utf-8")


def write_csv(path: Path) -> None:
    frame = {
        "time(millisecond)": np.round(T_S * 1000).astype(int),
        "latitude": np.round(LAT, 8),
        "longitude": np.round(LON, 8),
        "height_above_takeoff(feet)": np.round(UP / 0.3048, 2),
        "compass_heading(degrees)": np.round(np.degrees(T_S / 60) % 360, 1),
        "pitch(degrees)": np.zeros(N),
        "roll(degrees)": np.zeros(N),
        "gimbal_pitch(degrees)": np.full(N, -30.0),
    }
    pd.DataFrame(frame).to_csv(path, index=False)


def _clock(t_s: float) -> str:
    ms = round(t_s * 1000)
    return f"{ms // 3_600_000:02d}:{ms // 60_000 % 60:02d}:{ms // 1000 % 60:02d},{ms % 1000:03d}"


def _with_dfreader(path: Path) -> None:
    reader = DFReader_binary(str(path))
    while reader.recv_match(type=["POS", "GPS", "ATT"]) is not None:
        pass
    reader.close()


def _with_mavutil(path: Path) -> None:
    connection = mavutil.mavlink_connection(str(path))
    while connection.recv_match(type=["GLOBAL_POSITION_INT", "ATTITUDE"]) is not None:
        pass
    connection.close()


# Name of the file, how to write it, and what the library of the format does with it.
FORMATS: Final[dict[str, tuple[Callable[[Path], None], str, Callable[[Path], object]]]] = {
    "hour.ulg": (write_ulog, "pyulog", lambda path: ULog(str(path), ["vehicle_local_position", "vehicle_attitude"])),
    "hour.bin": (write_dataflash, "pymavlink", _with_dfreader),
    "hour.tlog": (write_tlog, "pymavlink", _with_mavutil),
    "hour.srt": (write_srt, "splitting lines", lambda path: path.read_text(encoding="utf-8").split("\n")),
    "hour.csv": (write_csv, "pandas", pd.read_csv),
}


def rows() -> list[Row]:
    """Name, value, unit, target and how many times better than the target (1 or more: met; None: no target)."""
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (write, library, decode) in FORMATS.items():
            path = Path(folder) / name
            write(path)
            ((_, assembled),) = read_tracks(path)
            seconds = min(_seconds(lambda path=path: read_tracks(path)) for _ in range(RUNS))
            size = f"{path.stat().st_size / 2**20:.0f} MiB, {len(assembled.track):,} samples kept"
            found.append((f"{name} to track, {size}", seconds, "s", f"<= {MAX_TRACK_S:g}", MAX_TRACK_S / seconds))
            with contextlib.redirect_stdout(io.StringIO()):
                baseline = _seconds(lambda path=path, decode=decode: decode(path))
            found.append((f"{name}: {library} alone takes", baseline, "s", None, None))
            found.append((f"{name}: that many times as long", baseline / seconds, "×", None, None))
            path.unlink()
    return found


def _seconds(run: Callable[[], object]) -> float:
    start = process_time()
    run()
    return process_time() - start


def _main() -> None:
    table = Table("what", "value", "unit", "target", "times better than the target", title="Flights")
    for name, value, unit, target, ratio in rows():
        table.add_row(name, f"{value:.3g}", unit, target or "", "" if ratio is None else f"{ratio:.3g}")
    Console(width=140).print(table)


if __name__ == "__main__":
    _main()
