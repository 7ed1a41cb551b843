"""What readers of binary logs share: the bytes of a file, tables of its records, findings about damage.

The three formats are chains of records, each of which says where the next one begins. The readers follow the chain
themselves, for pyulog and pymavlink print to the terminal, wait for ever on some damaged files, and pymavlink takes
6 s to decode an hour at 50 Hz; the tests hold the tables against theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding

Records = npt.NDArray[Any]  # structured, (N,)

GOOD_FIX: Final = 3  # 3D, in the numbering of MAVLink's GPS_FIX_TYPE, of PX4 and of ArduPilot
_NUMBERS: Final = "iufb"


class Damage(NamedTuple):
    """Bytes from ``start`` to before ``stop`` that belong to no record."""

    start: int
    stop: int


def file_bytes(path: Path) -> bytes:
    """The whole file. Raises RawDataError if it cannot be read or is empty."""
    try:
        content = read_file(path)
    except OSError as error:
        raise RawDataError(path, "unreadable", error.strerror or str(error), "check the path and its rights") from error
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


def damage_findings(size: int, damages: Sequence[Damage]) -> tuple[Finding, ...]:
    """What the damaged places of a file of ``size`` bytes mean to its reader: cut short, or holes."""
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
