"""Small binary logs made by hand, and what damage does to a log."""

import struct
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
from pymavlink.dialects.v20 import ardupilotmega

from pipeline.core.errors import RawDataError
from pipeline.core.identity import rng_for
from pipeline.formats.logs.log import Log, LogReader
from pipeline.worlds.flight.tracks.assemble import assemble

ULOG_SYNC = b"\x08\x00S\x2f\x73\x13\x20\x25\x0c\xbb\x12"
_ULOG_TYPES = {"u1": "uint8_t", "b1": "bool", "i4": "int32_t", "u8": "uint64_t", "f4": "float", "f8": "double"}
_LETTERS = {
    "Z": "S64",
    "Q": "<u8",
    "I": "<u4",
    "B": "u1",
    "L": "<i4",
    "f": "<f4",
    "c": "<i2",
    "C": "<u2",
    "e": "<i4",
    "H": "<u2",
}
MUTATIONS = 500
SLOWEST_S = 2.0


def structured(**fields: object) -> np.ndarray:
    """Rows (N,) of these columns, each in the type of its array."""
    arrays = {name: np.asarray(values) for name, values in fields.items()}
    rows = np.empty(len(next(iter(arrays.values()))), [(name, a.dtype, a.shape[1:]) for name, a in arrays.items()])
    for name, values in arrays.items():
        rows[name] = values
    return rows


def ulog(topics: Mapping[tuple[str, int], np.ndarray], sync: bool = False) -> bytes:
    """Topics by name and instance, of one length, a row of each in turn."""
    out = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 0) + ulog_message(b"B", bytes(40))
    for name in dict.fromkeys(name for name, _ in topics):
        rows = next(rows for (other, _), rows in topics.items() if other == name)
        out += ulog_message(b"F", f"{name}:{_ulog_format(rows.dtype)}".encode())
    parts = []
    for number, ((name, instance), rows) in enumerate(topics.items()):
        out += ulog_message(b"A", struct.pack("<BH", instance, number) + name.encode())
        head = struct.pack("<HcH", rows.dtype.itemsize + 2, b"D", number)
        parts += [np.tile(np.frombuffer(head, np.uint8), (len(rows), 1)), _as_bytes(rows)]
    if sync:
        parts.append(np.tile(np.frombuffer(ULOG_SYNC, np.uint8), (len(parts[0]), 1)))
    return out + np.hstack(parts).tobytes()


def ulog_message(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<Hc", len(body), kind) + body


def _ulog_format(dtype: np.dtype) -> str:
    fields = []
    for name in dtype.names or ():
        base, shape = dtype[name].base, dtype[name].shape
        fields.append(f"{_ULOG_TYPES[base.str[1:]]}{f'[{shape[0]}]' if shape else ''} {name};")
    return "".join(fields)


def _as_bytes(rows: np.ndarray) -> np.ndarray:
    return np.frombuffer(rows.tobytes(), np.uint8).reshape(len(rows), -1)


def dataflash(messages: Mapping[str, tuple[str, Mapping[str, object]]]) -> bytes:
    """Messages by name: the letters of their format and their columns as written, of one length, in turn."""
    out, parts = b"", []
    for number, (name, (letters, columns)) in enumerate(messages.items(), start=130):
        dtype = np.dtype([(field, _LETTERS[letter]) for field, letter in zip(columns, letters, strict=True)])
        rows = np.empty(len(np.asarray(next(iter(columns.values())))), dtype)
        for field, values in columns.items():
            rows[field] = values
        fields = struct.pack("<4s16s64s", name.encode(), letters.encode(), ",".join(columns).encode())
        out += b"\xa3\x95\x80" + bytes([number, dtype.itemsize + 3]) + fields
        head = np.frombuffer(b"\xa3\x95" + bytes([number]), np.uint8)
        parts += [np.tile(head, (len(rows), 1)), _as_bytes(rows)]
    return out + np.hstack(parts).tobytes()


def tlog(messages: Iterable[tuple[float, int, ardupilotmega.MAVLink_message]], version: int = 1) -> bytes:
    """Messages with the time when and the system from which they came, packed by pymavlink."""
    out = b""
    for t_s, system, message in messages:
        sender = ardupilotmega.MAVLink(None, srcSystem=system, srcComponent=1)
        packet = message.pack(sender, force_mavlink1=version == 1)
        out += struct.pack(">Q", round(t_s * 1e6)) + bytes(packet)
    return out


def damaged(content: bytes, name: str, n: int = MUTATIONS) -> Iterator[tuple[str, bytes]]:
    """Half of them cut at a random byte, half with 1 to 8 random bytes replaced."""
    rng = rng_for("damage", name)
    for number in range(n):
        if number % 2 == 0:
            yield "cut", content[: int(rng.integers(0, len(content)))]
        else:
            changed = bytearray(content)
            for at in rng.integers(0, len(content), int(rng.integers(1, 9))):
                changed[at] = int(rng.integers(0, 256))
            yield "changed", bytes(changed)


def survives(reader: LogReader, content: bytes, folder: Path) -> dict[str, int]:
    """Reads and assembles every damaged form of a log; how many gave a track, and how many an error of ours.

    A log that was cut gives the beginning of the whole one, number by number; a changed one not many more samples.
    """
    whole = read_logs(reader, content, folder)
    counts = {"track": 0, "refused": 0}
    for kind, form in damaged(content, reader.name):
        start = time.process_time()
        try:
            logs = read_logs(reader, form, folder)
            tracks = [assemble(folder / "log", log).track for log in logs]
        except RawDataError as refusal:
            counts["refused"] += bool(refusal.finding and refusal.remedy)
        else:
            counts["track"] += 1
            assert all(np.isfinite(track.enu_m).all() and np.isfinite(track.t_s).all() for track in tracks)
            assert sum(len(log.t_s) for log in logs) <= sum(len(log.t_s) for log in whole)
            (_same_beginning if kind == "cut" else _same_units)(logs, whole)
        assert time.process_time() - start < SLOWEST_S
    assert sum(counts.values()) == MUTATIONS
    return counts


def read_logs(reader: LogReader, content: bytes, folder: Path, name: str = "log") -> tuple[Log, ...]:
    """The logs of a file with this content."""
    path = folder / name
    path.write_bytes(content)
    return reader.read(path)


def read_log(reader: LogReader, content: bytes, folder: Path, name: str) -> Log:
    """The one log of such a file."""
    (log,) = read_logs(reader, content, folder, name)
    return log


def _same_beginning(logs: tuple[Log, ...], whole: tuple[Log, ...]) -> None:
    for given, expected in _positions(logs, whole):
        np.testing.assert_array_equal(given, expected[: len(given)])


def _same_units(logs: tuple[Log, ...], whole: tuple[Log, ...]) -> None:
    """Damage to a few samples does not move the middle one; another unit would."""
    for given, expected in _positions(logs, whole):
        if len(given) > len(expected) // 2:
            np.testing.assert_allclose(np.nanmedian(given, 0), np.nanmedian(expected, 0), rtol=0.1, atol=1.0)


def _positions(logs: tuple[Log, ...], whole: tuple[Log, ...]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Positions of each log, and what the undamaged file has for them."""
    originals = {(log.name, log.dialect): log for log in whole}
    for log in logs:
        original = originals.get((log.name, log.dialect))
        for field in ("lat_lon_alt", "enu_m") if original else ():
            given, expected = getattr(log, field), getattr(original, field)
            if given is not None and expected is not None:
                yield given, expected
