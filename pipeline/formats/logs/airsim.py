"""AirSim recordings, ``airsim_rec.txt``: a tab-separated table. Time is the simulator's, positions are NED metres."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.frames import enu_from_ned, flu_to_enu
from pipeline.formats.logs.log import Log, Series, decoded, file_bytes, no_position, to_numbers

TIME: Final = "TimeStamp"
POSITION: Final = ("POS_X", "POS_Y", "POS_Z")
ATTITUDE: Final = ("Q_W", "Q_X", "Q_Y", "Q_Z")
VEHICLE: Final = "VehicleName"
SPEED: Final = "Speed"  # of some builds; its unit is not documented
_NUMBERS: Final = (TIME, *POSITION, *ATTITUDE)


class AirSim:
    """Reads ``airsim_rec.txt``."""

    name = "airsim"
    suffixes = (".txt", ".tsv")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether the columns have AirSim's names."""
        return set(_NUMBERS) <= set(_cells(decoded(head).partition("\n")[0]))

    @np.errstate(invalid="ignore", over="ignore")  # damaged numbers may be anything
    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight of each vehicle; one without a name where the recording has one vehicle."""
        header, *lines = decoded(file_bytes(path)).split("\n")
        names = _cells(header)
        missing = [name for name in _NUMBERS if name not in names]
        if missing:
            message = f"the first line has no column {', '.join(missing)}"
            raise RawDataError(path, "missing_columns", message, "give an airsim_rec.txt with its line of names")
        cells = [_cells(line) for line in lines[:-1] if line.strip()]
        rows = [row for row in cells if len(row) == len(names)]
        if not rows:
            raise no_position(path, "lines below that of the names")
        findings = _short_lines(len(cells) - len(rows), cut=bool("".join(lines[-1:]).strip()))
        return _logs(dict(zip(names, zip(*rows, strict=True), strict=True)), findings)


def _logs(by_name: Mapping[str, Sequence[str]], findings: tuple[Finding, ...]) -> tuple[Log, ...]:
    """The flights of a table, given as its columns."""
    t_s = to_numbers(by_name[TIME]) / 1e3
    enu_m = enu_from_ned(np.stack([to_numbers(by_name[name]) for name in POSITION], axis=-1))
    quat = flu_to_enu(np.stack([to_numbers(by_name[name]) for name in ATTITUDE], axis=-1))
    speed = to_numbers(by_name[SPEED]) if SPEED in by_name else None
    vehicles = np.array(by_name.get(VEHICLE, ("",) * len(t_s)), dtype=object)
    flown = sorted(set(vehicles.tolist()))
    return tuple(
        Log(
            name=vehicle if len(flown) > 1 else "",
            dialect="with VehicleName" if VEHICLE in by_name else "without VehicleName",
            clock="simulated",
            t_s=t_s[own],
            enu_m=enu_m[own],
            height_m=enu_m[own, 2],  # z counts from where the vehicle was started
            speed_mps=None if speed is None else speed[own],
            attitude=Series(t_s[own], quat[own]),
            findings=findings,
        )
        for vehicle, own in ((vehicle, vehicles == vehicle) for vehicle in flown)
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")]


def _short_lines(broken: int, *, cut: bool) -> tuple[Finding, ...]:
    found: list[Finding] = []
    if broken:
        message = f"{broken} lines have another number of columns than the first, and were left out"
        found.append(doubt("damaged_lines", "log", message, "copy the recording again", broken, 0))
    if cut:  # a number that lost its last digits looks like any other
        message = "the recording ends in the middle of a line, which was left out"
        found.append(note("truncated", "log", message, "if the flight goes on, copy the recording again"))
    return tuple(found)
