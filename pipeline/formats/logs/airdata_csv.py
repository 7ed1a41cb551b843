"""Tables of DJI flights: Airdata and Litchi (`altitude(feet)`), PhantomHelp and its kin (`OSD.height [ft]`).

The unit stands in the header, in brackets of either kind. A unit that is not known is an error, and a length without
one is left out: nothing is ever taken for metres.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.core.templates import load_table
from pipeline.formats.logs.dji_srt import FEET_M, NEEDED_SATELLITES, PACE_TOLERANCE
from pipeline.formats.logs.frames import flu_to_enu, quaternion
from pipeline.formats.logs.log import Clock, Log, Series, decoded, file_bytes, to_numbers

# What a column is called, in lower case and without its unit; the first one found counts.
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(titles) for name, titles in load_table("logs/formats")["airdata"].items()
}
_LENGTHS: Final = ("above_sea", "height", "altitude")
_PLACES: Final = ("lat", "lon", *_LENGTHS)
_METRES: Final = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 1.0),
    **dict.fromkeys(("ft", "foot", "feet"), FEET_M),
}
_SECONDS: Final = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3}
_SPEEDS: Final = {
    **dict.fromkeys(("m/s", "mps"), 1.0),
    **dict.fromkeys(("km/h", "kmh", "kph"), 1 / 3.6),
    "mph": 0.44704,
    **dict.fromkeys(("ft/s", "fps"), FEET_M),
    **dict.fromkeys(("kn", "knots"), 1852 / 3600),
}
_DEGREES: Final = {"": 1.0, "deg": 1.0, "degrees": 1.0, "°": 1.0, "360": 1.0}
_HEADER: Final = re.compile(r"\s*([^()\[\]]*?)\s*(?:[(\[]([^)\]]*)[)\]])?\s*")
_HEADER_LINES: Final = 5  # "sep=," and the like may stand before the header
_TIME_OF_DAY: Final = re.compile(r"(\d{1,2}):(\d\d):(\d\d(?:[.,]\d+)?)\s*([AaPp][Mm])?\s*")
_PACE_NEEDS_S: Final = 20.0  # by the times of the day, which may be whole seconds
_PAUSE_S: Final = 3600.0  # longer steps are no flight
_LARGEST: Final = 1e15  # larger numbers are broken
DOUBLED_MAX: Final = 0.05  # of what a column spans: by as much two of one name may differ, as in other units
_TRUE: Final = ("1", "true")


class _Column(NamedTuple):
    number: int
    name: str
    unit: str
    title: str


class _Layout(NamedTuple):
    """Where the header ends, what parts the columns, the columns by role, and further ones of the same name."""

    lines: int
    separator: str
    columns: dict[str, _Column]
    doubled: dict[str, _Column]


class _Table(NamedTuple):
    """Cells as text, by role, those of further columns of the same name, and what the columns are."""

    path: Path
    cells: dict[str, list[str]]
    doubled: dict[str, list[str]]
    layout: _Layout
    rows: int

    def numbers(self, role: str, units: dict[str, float]) -> FloatArray | None:
        """A column in metres, seconds or degrees; NaN for what is no number, None where there is no such column.

        Raises RawDataError for an unknown unit, and where two columns of the name say different things.
        """
        if role not in self.cells:
            return None
        values = self._numbers(self.layout.columns[role], self.cells[role], units)
        if role in self.doubled and role in _PLACES:  # angles may count from 0 to 360 and from -180 to 180
            apart = np.abs(values - self._numbers(self.layout.doubled[role], self.doubled[role], units))
            known = np.isfinite(apart)  # an empty cell contradicts nothing
            if known.any() and not (apart[known] <= DOUBLED_MAX * np.ptp(values[known])).all():
                message = f"two columns are named {self.layout.columns[role].title!r}, and differ"
                raise RawDataError(self.path, "duplicate_key", message, "take the wrong one out")
        return values

    def _numbers(self, column: _Column, cells: list[str], units: dict[str, float]) -> FloatArray:
        if column.unit not in units:
            message = f"the column {column.title!r} has the unit {column.unit!r}"
            remedy = f"export it in one of {', '.join(filter(None, units))}"
            raise RawDataError(self.path, "unknown_unit", message, remedy)
        if self.layout.separator in ";\t":  # where a comma parts no cells it is a decimal one
            cells = [cell.replace(",", ".") for cell in cells]
        values = to_numbers(cells)
        with np.errstate(invalid="ignore"):
            return np.where(np.abs(values) < _LARGEST, values, np.nan) * units[column.unit]


class AirdataCsv:
    """Reads Airdata, Litchi and PhantomHelp tables."""

    name = "airdata_csv"
    suffixes: tuple[str, ...] = (".csv", ".txt")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether a header with latitude and longitude stands at its beginning."""
        return _layout(decoded(head)) is not None

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a table.

        Raises RawDataError: `unreadable`, `empty`, `no_header`, `no_rows`, `no_times`, `unknown_unit`, `duplicate_key`.
        """
        text = decoded(file_bytes(path))
        layout = _layout(text)
        if layout is None:
            message = "no line names the columns latitude and longitude"
            raise RawDataError(path, "no_header", message, "export the flight as CSV from Airdata or PhantomHelp")
        found: list[Finding] = []
        return (_log(_table(path, text, layout, found), found),)


def _layout(text: str) -> _Layout | None:
    for number, line in enumerate(text.split("\n", _HEADER_LINES)[:_HEADER_LINES], start=1):
        separator = max(",;\t", key=line.count)
        columns: dict[str, _Column] = {}
        doubled: dict[str, _Column] = {}
        for column, title in enumerate(line.split(separator)):
            match = _HEADER.fullmatch(title.strip(' "'))
            if match is None:
                continue
            name, unit = match[1].lower(), (match[2] or "").strip().lower()
            for role, names in _NAMES.items():
                # PhantomHelp has flight times twice, as words and as seconds.
                if name in names and (role not in columns or (role == "elapsed" and not columns[role].unit)):
                    columns[role] = _Column(column, name, unit, title.strip())
                elif name in names and columns[role].name == name:
                    doubled[role] = _Column(column, name, unit, title.strip())
        if "lat" in columns and "lon" in columns:
            return _Layout(number, separator, columns, doubled)
    return None


def _table(path: Path, text: str, layout: _Layout, found: list[Finding]) -> _Table:
    """The rows that have as many cells as most."""
    body = text.split("\n", layout.lines)[-1] if text.count("\n") >= layout.lines else ""
    if not body.endswith("\n"):
        body = body[: body.rfind("\n") + 1]
        message = "the last line has no end and was left out"
        found.append(note("cut", "log", message, "if the file is cut, export it again"))
    rows: list[list[str]] = []
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):  # a stray quotation mark can swallow all that follows
        try:
            rows = [row for row in csv.reader(io.StringIO(body), delimiter=layout.separator, quoting=quoting) if row]
        except csv.Error:
            continue
        break
    if not rows:
        raise RawDataError(path, "no_rows", "there is a header and no table", "export the flight again")
    cells = Counter(len(row) for row in rows).most_common(1)[0][0]
    whole = [row for row in rows if len(row) == cells]
    broken = len(rows) - len(whole)
    if broken:
        message = f"{broken} of {len(rows)} lines have not {cells} cells, as the others, and were left out"
        found.append(note("broken_lines", "log", message, "none needed if the rest will do", broken, 0))
    columns, doubled = ({r: c for r, c in of.items() if c.number < cells} for of in (layout.columns, layout.doubled))
    if "lat" not in columns or "lon" not in columns:
        message = f"its lines have {cells} cells, too few for the header"
        raise RawDataError(path, "no_rows", message, "export the flight again")
    texts, others = ({r: [row[c.number] for row in whole] for r, c in of.items()} for of in (columns, doubled))
    return _Table(path, texts, others, layout, len(whole))


def _log(table: _Table, found: list[Finding]) -> Log:
    t_s, clock = _times(table)
    nothing = np.full(table.rows, np.nan)
    place = [values for role in ("lat", "lon") if (values := table.numbers(role, _DEGREES)) is not None]
    lengths: dict[str, FloatArray | None] = {}
    for role in _LENGTHS:
        has_unit = role not in table.cells or bool(table.layout.columns[role].unit)
        lengths[role] = table.numbers(role, _METRES) if has_unit else None
        if not has_unit:
            message = f"the column {table.layout.columns[role].title!r} has no unit and was left out"
            found.append(doubt("no_unit", role, message, "export the flight with units in the header"))
    altitude, height = lengths["above_sea"], lengths["height"]
    if height is None and lengths["altitude"] is not None:
        height = lengths["altitude"]
        message = "the table does not say what its altitude is measured from; it is taken as height above take-off"
        found.append(doubt("altitude_reference", "log", message, "compare it with the height on the controller"))
    heading, pitch, roll = (table.numbers(role, _DEGREES) for role in ("heading", "pitch", "roll"))
    gimbal, satellites = table.numbers("gimbal_pitch", _DEGREES), table.numbers("satellites", {"": 1.0})
    attitude = None
    if heading is not None and pitch is not None and roll is not None:
        attitude = Series(t_s, flu_to_enu(quaternion(*np.radians([roll, pitch, heading]))))
    found += [*_filming(table, t_s), *_pace(table, t_s)]
    has_speed = "speed" in table.cells and table.layout.columns["speed"].unit in _SPEEDS  # it is compared, not needed
    return Log(
        name="",
        dialect=", ".join(table.layout.columns[role].title for role in table.cells),
        clock=clock,
        t_s=t_s,
        lat_lon_alt=np.column_stack([*place, nothing if altitude is None else altitude]),
        height_m=height,
        usable=None if satellites is None else ~(satellites < NEEDED_SATELLITES),
        speed_mps=table.numbers("speed", _SPEEDS) if has_speed else None,
        attitude=attitude,
        heading=None if heading is None else Series(t_s, heading % 360.0),
        gimbal_pitch=None if gimbal is None else Series(t_s, gimbal),
        findings=tuple(found),
    )


def _times(table: _Table) -> tuple[FloatArray, Clock]:
    """Times (N,) in seconds: those since the start of the log, else those of the day."""
    elapsed = table.layout.columns.get("elapsed")
    if elapsed is not None and elapsed.unit:
        values = table.numbers("elapsed", _SECONDS)
        if values is not None and np.isfinite(values).any():
            return values, "boot"
    if "moment" not in table.cells:
        message = "there is no column of times with a unit, as time(millisecond), and none of dates"
        raise RawDataError(table.path, "no_times", message, "export the flight with times")
    clock: Clock = "utc" if table.layout.columns["moment"].unit == "utc" else "local"
    return _seconds(table.cells["moment"], table.cells.get("date")), clock


def _seconds(moments: Sequence[str], dates: Sequence[str] | None) -> FloatArray:
    """Seconds since the first midnight of times such as "2017/07/23 18:11:51.8" or "6:11:51 PM".

    A text beside the time of day that was not there before is a new day; so its format does not matter.
    """
    out = np.full(len(moments), np.nan)
    days: dict[str, int] = {}
    for i, text in enumerate(moments):
        match = _TIME_OF_DAY.search(text)
        if match is None:
            continue
        hour, half = int(match[1]), (match[4] or "").lower()
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        date = text[: match.start()] if dates is None else dates[i]
        day = days.setdefault(date, len(days))
        out[i] = day * 86400.0 + hour * 3600.0 + int(match[2]) * 60.0 + float(match[3].replace(",", "."))
    return out


def _pace(table: _Table, t_s: FloatArray) -> list[Finding]:
    """A doubt where the times since the start pass at another pace than those of the day."""
    if "moment" not in table.cells:
        return []
    day_s = _seconds(table.cells["moment"], table.cells.get("date"))
    steps = np.diff(np.stack([t_s, day_s]), axis=1)
    goes = np.isfinite(steps).all(0) & (np.abs(steps) < _PAUSE_S).all(0)
    passed, by_day = steps[:, goes].sum(1).tolist()
    if by_day < _PACE_NEEDS_S or abs(passed / by_day - 1.0) <= PACE_TOLERANCE:
        return []
    message = f"{by_day:.0f} s by the times of the day are {passed:.2f} s by those since the start"
    remedy = "are these in the unit that the header states? export the flight again"
    return [doubt("pace", "log", message, remedy, passed / by_day, 1.0, "s/s")]


def _filming(table: _Table, t_s: FloatArray) -> list[Finding]:
    """When the drone began to film: the offset between video and log."""
    filming = np.array([cell.strip().lower() in _TRUE for cell in table.cells.get("filming", [])], dtype=bool)
    begun = np.flatnonzero(np.diff(filming.astype(int), prepend=0) == 1)
    if not len(begun):
        return []
    start = float(t_s[begun[0]] - t_s[0])
    message = f"the drone began to film {len(begun)} times, first {start:.2f} s after the log begins"
    return [note("filming", "log", message, f"set video_offset_s: {start:.2f} in flight.yaml", start, None, "s")]
