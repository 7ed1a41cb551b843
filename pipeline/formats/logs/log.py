"""What a reader of flight logs gives: the log as it was written, before anything is refused or joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from pipeline.core.arrays import BoolArray, FloatArray, StrArray
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
        clock: what the times count.
        t_s: (N,) time of each position on the log's clock, in the order of the file; may repeat and jump.
        lat_lon_alt: (N, 3) WGS84 degrees and metres above mean sea level, or None.
        enu_m: (N, 3) local position where the log has one, or None; one of the two there must be.
        height_m: (N,) above take-off, or None.
        usable: (N,) False where the log itself says that there is no fix; None: it does not say.
        refused: reason -> (N,) True where the reader itself found that a position cannot be used.
        begins: (N,) True where the reader knows that a new part begins (another dialect); None: nowhere.
        velocity_mps: (N, 3) ENU, or None.
        grounded: why the log itself says that its vehicle never flew, or None: it does not say so.
        speed_mps: (N,) of a column of speeds, which is compared with the positions and used for nothing, or None.
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
    enu_m: FloatArray | None = None
    height_m: FloatArray | None = None
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


class LogReader(Protocol):
    """Reads one format of flight logs."""

    name: str
    version: int

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files: lower case, with the dot."""
        ...

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether a file is of this format, by its first 4 KiB; the suffix alone proves nothing."""
        ...

    def read(self, path: Path) -> tuple[Log, ...]:
        """All flights of a file. Raises RawDataError, which names file, finding and remedy; never anything else."""
        ...
