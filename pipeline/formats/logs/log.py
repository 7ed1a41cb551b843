"""A flight log as it was written, before anything is refused or joined, and what its readers share.

Binary logs are chains of records, each of which says where the next one begins. The readers follow the chain
themselves, for pyulog and pymavlink print to the terminal, wait for ever on some damaged files, and pymavlink takes
6 s to decode an hour at 50 Hz; the tests hold the tables against theirs.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding

Clock = Literal["boot", "utc", "local", "video", "simulated", "step", "none"]


@dataclass(frozen=True)
class Series:
    """Values (M,) or (M, k) with their own times (M,) on the log's clock."""

    t_s: FloatArray
    value: FloatArray


@dataclass(frozen=True)
class Log:
    """One flight as logged. Frames as in `geometry.tracks`; unknown values are NaN.

    Attributes:
        name: "" where the file holds one flight, else what tells it from the others.
        dialect: what the reader recognised, for example "bracketed, rel_alt".
        clock: what the times count: seconds of "utc" since 1970, of "local" time of an unknown zone, since "boot", of
            the "video", of a "simulated" world, "step" by step; "none": the log has no times.
        t_s: (N,) time of each position on the log's clock, in the order of the file; may repeat and jump.
        lat_lon_alt: (N, 3) WGS84 degrees and metres above mean sea level, or None.
        ellipsoidal: whether these metres are above the WGS84 ellipsoid: then only how they change is used.
        enu_m: (N, 3) local position where the log has one, or None; one of the two there must be.
        height_m: (N,) above take-off, or None.
        on_ground: 1 where the log says that the vehicle stands on the ground, 0 in the air, NaN unknown; each holds
            until the next one, the first also before it. None: it says nothing.
        usable: (N,) False where the log itself says that there is no fix; None: it does not say.
        refused: reason -> (N,) True where the reader itself found that a position cannot be used.
        begins: (N,) True where the reader knows that a new part begins (another dialect); None: nowhere.
        velocity_mps: (N, 3) ENU, or None.
        grounded: why the log itself says that its vehicle never flew, or None: it does not say so.
        speed_mps: (N,) of a column of speeds over ground, which is compared with the positions, or None.
        attitude: quaternions wxyz (M, 4), body FLU to ENU, or None.
        heading: degrees of the nose, clockwise from north, or None (where there is an attitude, it follows from it).
        gimbal_pitch: degrees against the horizon, 0 level, -90 down, or None.
        heights: further measurements of height, metres above any level, by what measured them ("GPS", "barometer"):
            they are compared with `height_m`, and never used as the height.
        label: (N,) what was done from this sample to the next, or None.
        findings: what the reader itself noticed.
        marks: name of a finding -> (N,) True for the positions that it is about; without one it is about all.
    """

    name: str
    dialect: str
    clock: Clock
    t_s: FloatArray
    lat_lon_alt: FloatArray | None = None
    ellipsoidal: bool = False
    enu_m: FloatArray | None = None
    height_m: FloatArray | None = None
    on_ground: Series | None = None
    usable: BoolArray | None = None
    refused: Mapping[str, BoolArray] = field(default_factory=dict)
    begins: BoolArray | None = None
    velocity_mps: FloatArray | None = None
    speed_mps: FloatArray | None = None
    attitude: Series | None = None
    heading: Series | None = None
    gimbal_pitch: Series | None = None
    heights: Mapping[str, Series] = field(default_factory=dict)
    label: StrArray | None = None
    grounded: str | None = None
    findings: tuple[Finding, ...] = ()
    marks: Mapping[str, BoolArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.clock not in get_args(Clock):  # else it would count as one of which nothing is known
            raise ValueError(f"the clock of a log is {self.clock!r}, none of {', '.join(get_args(Clock))}")


class LogReader(Protocol):
    """Reads one format of flight logs."""

    name: str

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files: lower case, with the dot."""

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether a file is of this format, by its first 4 KiB; the suffix alone proves nothing."""

    def read(self, path: Path) -> tuple[Log, ...]:
        """All flights of a file. Raises RawDataError, which names file, finding and remedy; never anything else."""


Records = npt.NDArray[Any]  # structured, (N,)

# MAV_TYPE of what moves on or below the surface.
NOT_AERIAL: Final = {10: "rover", 11: "boat", 12: "submarine"}
GOOD_FIX: Final = 3  # 3D, in the numbering of MAVLink's GPS_FIX_TYPE, of PX4 and of ArduPilot
_NUMBERS: Final = "iufb"


def only_grounded(kinds: FloatArray | IntArray) -> str | None:
    """Why a vehicle of some kinds (MAV_TYPE) cannot have flown; None: none is told, or one of them flies."""
    kinds_there = np.unique(kinds)
    if not len(kinds_there) or not np.isin(kinds_there, list(NOT_AERIAL)).all():
        return None
    return f"it is a {' and a '.join(NOT_AERIAL[int(kind)] for kind in kinds_there)}"


class DamagedBytes(NamedTuple):
    """Bytes from ``start`` to before ``stop`` that belong to no record."""

    start: int
    stop: int


def unreadable(path: Path, error: OSError) -> RawDataError:
    """What to raise for a file or folder that the system does not let read."""
    return RawDataError(path, "unreadable", error.strerror or str(error), "check the path and its rights")


def file_bytes(path: Path) -> bytes:
    """The whole file. Raises RawDataError if it cannot be read or is empty."""
    try:
        content = read_file(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if not content:
        raise RawDataError(path, "empty", "the file has 0 bytes", "copy the log from the drone again")
    return content


def table(raw: bytes, starts: Sequence[int], dtype: np.dtype[Any]) -> Records:
    """Records (N,) of one type from where they start."""
    return np.frombuffer(b"".join([raw[start : start + dtype.itemsize] for start in starts]), dtype=dtype)


def column(records: Records, name: str) -> FloatArray | None:
    """A field as float64, (N,) or (N, k), NaN for what is not finite; None if there is no such field of numbers."""
    if name not in (records.dtype.names or ()) or records[name].dtype.kind not in _NUMBERS:
        return None
    return finite(records[name].astype(np.float64))


def columns(records: Records, *names: str) -> FloatArray | None:
    """Scalar fields side by side, (N, k); None if one of them is missing."""
    found = [column(records, name) for name in names]
    if any(one is None or one.ndim != 1 for one in found):
        return None
    return np.stack([one for one in found if one is not None], axis=-1)


def to_numbers(texts: Sequence[str]) -> FloatArray:
    """Texts as numbers (N,), NaN for what is none or not finite."""
    try:
        return finite(np.array(texts, dtype=np.float64))
    except ValueError:  # the slow way, for a column with a hole
        import pandas as pd  # half a second, which hardly any log needs

        return finite(pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").to_numpy(np.float64))


def finite(values: FloatArray) -> FloatArray:
    """The values, NaN for what is not finite."""
    return np.where(np.isfinite(values), values, np.nan)


def last_known(t_s: FloatArray, source_t_s: FloatArray, value: FloatArray) -> FloatArray:
    """The last value at or before each time (N,), the first one before that: for states that hold until they change."""
    order = np.argsort(source_t_s, kind="stable")
    after = np.searchsorted(source_t_s[order], t_s, side="right")
    return value[order[np.maximum(after - 1, 0)]]


def pressure_height_m(hectopascal: FloatArray) -> FloatArray:
    """Height (N,) in the standard atmosphere (ICAO 7488, below 11 km) of air pressures (N,); NaN for what is none."""
    pressure = np.where((hectopascal > 0) & np.isfinite(hectopascal), hectopascal, np.nan)
    return 44330.77 * (1.0 - (pressure / 1013.25) ** 0.190263)


def damage_findings(size: int, damages: Sequence[DamagedBytes]) -> tuple[Finding, ...]:
    """The meaning of the damaged places of a file of ``size`` bytes: cut short, or holes."""
    found: list[Finding] = []
    holes = [damage for damage in damages if damage.stop < size]
    if holes:
        lost = sum(damage.stop - damage.start for damage in holes)
        message = f"{lost} bytes at {len(holes)} places, the first at byte {holes[0].start}, belong to no whole record"
        remedy = "copy the log from the drone again; a gap in the track shows where it matters"
        found.append(doubt("damaged_bytes", "log", message, remedy, lost, 0, "bytes"))
    if len(holes) < len(damages):
        left = size - damages[-1].start
        message = f"the log ends in the middle of a record; its {left} bytes were left out"
        found.append(note("truncated", "log", message, "if the flight goes on, copy the log again", left, 0, "bytes"))
    return tuple(found)


def no_position(path: Path, wanted: str) -> RawDataError:
    """The file holds no position that could be used."""
    return RawDataError(path, "no_position", f"no usable position in the log (looked for {wanted})", "log them")


_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def decoded(raw: bytes) -> str:
    """The text of bytes: by its mark, else UTF-8, else Latin-1; lines end in a line feed alone."""
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode(encoding, errors="replace") if encoding != "utf-8" else raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
