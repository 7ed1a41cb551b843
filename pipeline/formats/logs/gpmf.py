"""GoPro's telemetry (GPMF): in the film itself (MP4), or its payloads alone (.raw).

Of the camera its receiver (GPS5 of Hero5 to 10, GPS9 of Hero11 and 13), of a Karma drone its own estimate (GLPI, ATTD,
LNED), its receiver (GPRI) and its clock (SYST). In a film the times are the film's:

- A camera's samples are spread over the time of their packet. The last packet claims the length of the others however
  few samples it has: of its samples the pace of the packets before counts.
- A Karma's samples bear the time since it was switched on. Each came while its packet was filled: so the two clocks are
  apart by what puts every sample into its packet, which a flight narrows to some milliseconds.

Payloads alone have the camera's own clock (STMP), else the receiver's (GPS9, GPSU), else no time. Altitudes of GPS5 and
GPS9 are above the WGS84 ellipsoid unless GPSA says MSLV (above mean sea level). Without a fix (GPSF 0) cameras go on
writing plausible positions; they are refused.

Not read: what camera and gimbal measure of themselves (ACCL, GYRO, CORI, IORI, GRAV, MAGN). Which way their axes point
is stated in words that change with the model, and no answer rests on them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.core.files import open_file
from pipeline.core.findings import doubt, note
from pipeline.core.schema import Finding
from pipeline.formats.logs.film_tracks import FILM_SUFFIXES, TrackPacket, finds, is_film, read_packets
from pipeline.formats.logs.frames import enu_from_ned, flu_to_enu, quaternion
from pipeline.formats.logs.klv import KlvStream, read_payload
from pipeline.formats.logs.log import (
    GOOD_FIX,
    Clock,
    DamagedBytes,
    Log,
    Series,
    damage_findings,
    file_bytes,
    last_known,
    no_position,
    unreadable,
)

_MAGIC: Final = b"DEVC\0"
_RECEIVERS: Final = {"GPS9": 9, "GPS5": 5}  # columns
# Of a Karma: columns, of which the first is the time since it was switched on.
_AIRCRAFT: Final = {"GLPI": 9, "ATTD": 8, "LNED": 7, "GPRI": 10, "SYST": 2}
_KEYS: Final = frozenset(_RECEIVERS) | frozenset(_AIRCRAFT)
POOR_DOP: Final = 5.0  # gpmf-parser, README: under 300 (of GPSP, in hundredths) is good, over 500 poor
CLOCKS_APART_S: Final = 0.5  # that packets may put a sample beside its own clock
PACE_TOLERANCE: Final = 0.05  # share by which a film may run faster than the receiver's clock
_PACE_NEEDS_S: Final = 10.0
_NO_HEADING: Final = 655.35  # of GLPI: unknown, as in MAVLink's GLOBAL_POSITION_INT
_GPS9_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC).timestamp()
_GPSU: Final = re.compile(r"(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d\.\d{3})")


@dataclass(frozen=True)
class _Samples:
    """The samples of one stream of one device, over all payloads.

    Attributes:
        device: that has the stream.
        values: (N, k).
        payload: (N,) number of the payload of each.
        fix: (N,) GPSF, NaN where the stream has none.
        dop: (N,) GPSP / 100.
        utc_s: (N,) GPSU of its payload, seconds since 1970.
        stamp_s: (N,) STMP of its payload.
        altitudes: what GPSA says of them.
    """

    device: str
    values: FloatArray
    payload: IntArray
    fix: FloatArray
    dop: FloatArray
    utc_s: FloatArray
    stamp_s: FloatArray
    altitudes: str


class Gpmf:
    """Reads films of GoPro cameras, and GPMF payloads alone."""

    name = "gpmf"
    suffixes = (*FILM_SUFFIXES, ".raw", ".gpmf")

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether it begins with a device, or is a film with such a track."""
        return head.startswith(_MAGIC) or (is_film(head) and finds(path, "data", _is_payload) is not None)

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a film. Raises RawDataError: `unreadable`, `unreadable_video`, `empty`, `no_position`."""
        packets: Iterable[TrackPacket]
        if with_film := is_film(_head(path)):
            track = finds(path, "data", _is_payload)
            packets = [] if track is None else read_packets(path, track)
        else:
            packets = [TrackPacket(float("nan"), float("nan"), file_bytes(path))]
        size, bounds = 0, []
        damages: list[DamagedBytes] = []
        streams: list[tuple[int, KlvStream]] = []
        for number, packet in enumerate(packets):
            payload = read_payload(packet.raw, _KEYS)
            damages += [DamagedBytes(size + damage.start, size + damage.stop) for damage in payload.damages]
            size += len(packet.raw)
            bounds.append((packet.t_s, packet.duration_s))
            streams += [(number, stream) for stream in payload.streams]
        findings = list(damage_findings(size, damages))
        samples = _samples(streams, with_film, findings)
        times = _FilmTimes(np.array(bounds, dtype=np.float64).reshape(-1, 2)) if with_film else None
        if "GLPI" in samples:
            return (_of_aircraft(samples, times, findings),)
        key = next((key for key in _RECEIVERS if key in samples), None)
        if key is None:
            raise no_position(path, f"{', '.join(_RECEIVERS)} of a camera with GPS, GLPI of a Karma")
        return (_of_receiver(key, samples[key], times, findings),)


def _head(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(8)
    except OSError as error:
        raise unreadable(path, error) from error


def _is_payload(raw: bytes) -> bool:
    return raw.startswith(_MAGIC)


def _samples(streams: Sequence[tuple[int, KlvStream]], packed: bool, found_in: list[Finding]) -> dict[str, _Samples]:
    """The samples by key: of the device with most of them, of streams as wide as theirs are.

    A stream is written alike in all payloads; where a few are scaled otherwise, their description is damaged.

    Args:
        streams: with the number of the packet of each.
        packed: whether packets tell payloads apart; else each of a device's streams is of the next payload.
        found_in: gets a doubt about streams that were left out.
    """
    widths = _RECEIVERS | _AIRCRAFT
    by_device: dict[tuple[str, str], list[tuple[int, KlvStream]]] = {}
    for number, stream in streams:
        if stream.values.shape[1] == widths[stream.key]:
            rows = by_device.setdefault((stream.key, stream.device), [])
            rows.append((number if packed else len(rows), stream))
    found: dict[str, _Samples] = {}
    for (key, device), every in by_device.items():
        usual = Counter(_written(stream) for _, stream in every).most_common(1)[0][0]
        rows = [(number, stream) for number, stream in every if _written(stream) == usual]
        if odd := len(every) - len(rows):
            message = f"{odd} of {len(every)} payloads describe {key} otherwise than the others and were left out"
            remedy = "take the film from the camera again; a gap in the track shows where it matters"
            found_in.append(doubt("damaged_bytes", "log", message, remedy, odd, 0, "payloads"))
        counts = [len(stream.values) for _, stream in rows]
        if key in found and len(found[key].values) >= sum(counts):
            continue
        told = [
            (
                _or_nan(s.number("GPSF")),
                _or_nan(s.number("GPSP")) / 100.0,
                _utc_s(s.text("GPSU")),
                _or_nan(s.number("STMP")) / 1e6,
            )
            for _, s in rows
        ]
        fix, dop, utc_s, stamp_s = np.repeat(np.array(told, dtype=np.float64), counts, axis=0).T
        values = np.concatenate([stream.values for _, stream in rows])
        payload = np.repeat(np.array([number for number, _ in rows], dtype=np.intp), counts)
        found[key] = _Samples(device, values, payload, fix, dop, utc_s, stamp_s, rows[-1][1].text("GPSA"))
    return found


def _written(stream: KlvStream) -> tuple[bytes, ...]:
    """How the values of a stream are written: their scale, their types, their units."""
    return tuple(stream.about.get(key, b"") for key in ("SCAL", "SCAL type", "TYPE", "UNIT"))


def _or_nan(number: float | None) -> float:
    return float("nan") if number is None else number


def _utc_s(text: str) -> float:
    """Seconds since 1970 of "yymmddhhmmss.sss", NaN for a date that there is not."""
    match = _GPSU.fullmatch(text)
    if match is None:
        return float("nan")
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    try:
        start = datetime(2000 + year, month, day, hour, minute, tzinfo=UTC).timestamp()
    except ValueError:
        return float("nan")
    return start + float(match[6])


class _FilmTimes(NamedTuple):
    """When the packets of a film's track begin and how long they last, (P, 2) seconds."""

    bounds: FloatArray

    def spread(self, payload: IntArray) -> FloatArray:
        """Times (N,) of samples that are spread over their payloads, whose numbers (N,) rise."""
        return _spread(payload, *self.bounds[np.unique(payload)].T)

    def of_clock(self, clock_s: FloatArray, payload: IntArray) -> tuple[FloatArray, float]:
        """Times (N,) of samples with a clock of their own, and how far that misses their packets, seconds.

        A sample was there before its packet was full, and came after the one before was: so each packet bounds the
        difference of the clocks from both sides.
        """
        start, length = self.bounds[payload].T
        least, most = clock_s - start - length, clock_s - start
        if not np.isfinite(least).any():
            return np.full(len(clock_s), np.nan), 0.0
        low, high = float(np.nanmax(least)), float(np.nanmin(most))
        if low > high:  # some sample was late: its packet does not count
            low, high = float(np.nanquantile(least, 0.95)), float(np.nanquantile(most, 0.05))
        return clock_s - (low + high) / 2.0, max(0.0, float(np.nanmax(least)) - float(np.nanmin(most)))


def _spread(payload: IntArray, start_s: FloatArray, length_s: FloatArray) -> FloatArray:
    """Times (N,) of samples that are spread over their payloads.

    Args:
        payload: (N,) of each sample, rising.
        start_s: (P,) of the payloads that have samples.
        length_s: (P,) likewise.
    """
    _, first, which, counts = np.unique(payload, return_index=True, return_inverse=True, return_counts=True)
    step_s = length_s / counts
    if len(step_s) > 1:
        step_s[-1] = min(step_s[-1], float(np.median(step_s[:-1])))
    return start_s[which] + (np.arange(len(payload)) - first[which]) * step_s[which]


def _of_receiver(key: str, samples: _Samples, times: _FilmTimes | None, found: list[Finding]) -> Log:
    """The flight of a camera with GPS."""
    values = samples.values
    utc_s = samples.utc_s
    fix, dop = samples.fix, samples.dop
    if key == "GPS9":
        utc_s = _GPS9_DAY + values[:, 5] * 86400.0 + values[:, 6]
        dop, fix = values[:, 7], values[:, 8]
    usable = None if np.isnan(fix).all() else fix >= GOOD_FIX
    if usable is not None:
        utc_s = np.where(usable, utc_s, np.nan)  # without a fix a camera's clock may be any
    clock: Clock = "video"
    if times is not None:
        t_s = times.spread(samples.payload)
        first = np.unique(samples.payload, return_index=True)[1] if key == "GPS5" else np.arange(len(t_s))
        found += _pace(t_s[first], utc_s[first])  # GPSU is of a packet's beginning
        if key == "GPS9":  # each sample has a time of its own; only where the film runs as fast
            own_s, miss_s = times.of_clock(utc_s, samples.payload)
            t_s = own_s if miss_s <= CLOCKS_APART_S and np.isfinite(own_s).any() else t_s
    else:
        t_s, clock = _own_times(samples, utc_s if key == "GPS9" else None)
    poor = dop > POOR_DOP if usable is None else usable & (dop > POOR_DOP)
    if poor.any():
        worst = float(np.max(dop[poor]))
        message = f"{int(poor.sum())} of {len(values)} positions are poor: dilution of precision up to {worst:g}"
        remedy = "none needed: nothing is asked about these stretches; film where the sky is open"
        found.append(doubt("poor_fix", "log", message, remedy, worst, POOR_DOP))
    ellipsoidal = samples.altitudes != "MSLV"
    if ellipsoidal:
        message = "its altitudes are above the WGS84 ellipsoid: only how they change is used"
        remedy = "give local heights of landmarks (base_m), none above sea level"
        found.append(note("ellipsoidal_altitude", "log", message, remedy))
    found += _time_findings(samples.device, times, utc_s, t_s)
    return Log(
        name="",
        dialect=f"{samples.device}: {key}",
        clock=clock,
        t_s=t_s,
        lat_lon_alt=values[:, :3],
        ellipsoidal=ellipsoidal,
        usable=usable,
        speed_mps=values[:, 3],
        findings=tuple(found),
        marks={"poor_fix": np.asarray(poor)} if poor.any() else {},
    )


def _own_times(samples: _Samples, utc_s: FloatArray | None) -> tuple[FloatArray, Clock]:
    """Times (N,) of payloads alone: each sample's own, the payloads' by camera or receiver, or samples counted."""
    if utc_s is not None and np.isfinite(utc_s).any():  # each sample has its own
        return utc_s, "utc"
    each, first = np.unique(samples.payload, return_index=True)
    for stamps, clock in ((samples.stamp_s[first], "boot"), (samples.utc_s[first], "utc")):
        if len(each) > 1 and np.isfinite(stamps).all() and (np.diff(stamps) > 0).all():
            length = np.append(np.diff(stamps), np.median(np.diff(stamps)))
            return _spread(samples.payload, stamps, length), "boot" if clock == "boot" else "utc"
    return np.arange(len(samples.payload), dtype=np.float64), "none"


def _of_aircraft(samples: Mapping[str, _Samples], times: _FilmTimes | None, found: list[Finding]) -> Log:
    """The flight of a Karma, by its own estimate."""
    clocks: dict[str, FloatArray] = {}
    late: dict[str, float] = {}
    for key in _AIRCRAFT:
        if key in samples:
            clock_s = samples[key].values[:, 0]
            clocks[key], late[key] = (clock_s, 0.0) if times is None else times.of_clock(clock_s, samples[key].payload)
    if late["GLPI"] > CLOCKS_APART_S:
        message = f"the aircraft's clock misses the film's packets by up to {late['GLPI']:.2f} s"
        remedy = "compare an event that film and log show, such as the take-off"
        found.append(doubt("clocks_apart", "log", message, remedy, late["GLPI"], CLOCKS_APART_S, "s"))
    t_s, place = clocks["GLPI"], samples["GLPI"].values
    attitude = heading = None
    if "ATTD" in samples:
        roll, pitch, yaw = samples["ATTD"].values[:, 1:4].T
        attitude = Series(clocks["ATTD"], flu_to_enu(quaternion(roll, pitch, yaw)))
    else:
        heading = Series(t_s, np.where(place[:, 8] >= _NO_HEADING, np.nan, place[:, 8] % 360.0))
    heights: dict[str, Series] = {}
    usable = None
    if "LNED" in samples:
        heights["the local estimate"] = Series(clocks["LNED"], -samples["LNED"].values[:, 3])
    if "GPRI" in samples:
        receiver = samples["GPRI"].values
        heights["GPS"] = Series(clocks["GPRI"], receiver[:, 3])
        usable = last_known(t_s, clocks["GPRI"], receiver[:, 8]) >= GOOD_FIX
    utc_s = np.full(len(t_s), np.nan)
    if "SYST" in samples:
        own_s, utc = samples["SYST"].values.T
        utc_s = place[:, 0] + float(np.nanmedian(utc - own_s)) if np.isfinite(utc - own_s).any() else utc_s
    found += _time_findings(samples["GLPI"].device, times, utc_s, t_s)
    return Log(
        name="",
        dialect=f"{samples['GLPI'].device}: {', '.join(key for key in _AIRCRAFT if key in samples)}",
        clock="video" if times is not None else "boot",
        t_s=t_s,
        lat_lon_alt=place[:, 1:4],
        height_m=place[:, 4],
        usable=usable,
        velocity_mps=enu_from_ned(place[:, 5:8]),
        attitude=attitude,
        heading=heading,
        heights=heights,
        findings=tuple(found),
    )


def _pace(t_s: FloatArray, utc_s: FloatArray) -> Iterable[Finding]:
    """A doubt where a film runs faster or slower than the receiver's clock: slow motion, time lapse."""
    known = np.flatnonzero(np.isfinite(t_s) & np.isfinite(utc_s))
    if len(known) < 2 or (shown := float(t_s[known[-1]] - t_s[known[0]])) < _PACE_NEEDS_S:
        return
    passed = float(utc_s[known[-1]] - utc_s[known[0]])
    if abs(passed / shown - 1.0) > PACE_TOLERANCE:
        message = f"{shown:.1f} s of film show {passed:.1f} s by the receiver; speeds and durations are the film's"
        yield doubt("pace", "log", message, "leave slow motion and time lapse out", passed / shown, 1.0, "s/s")


def _time_findings(device: str, times: _FilmTimes | None, utc_s: FloatArray, t_s: FloatArray) -> Iterable[Finding]:
    """That the telemetry is the film's own, and when that began by the receiver's clock."""
    if times is None:
        return
    known: BoolArray = np.isfinite(utc_s) & np.isfinite(t_s)
    began = ""
    if known.any():
        at = float(np.median(utc_s[known] - t_s[known]))
        if 0 <= at < 4e9:
            began = f"; it begins about {datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    message = f"the log is the film's own telemetry ({device or 'no name'}), its times are those of the film{began}"
    yield note("telemetry_in_film", "log", message, "none needed")
