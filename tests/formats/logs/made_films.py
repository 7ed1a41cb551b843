"""Small films with telemetry in them, made box by box (ISO/IEC 14496-12), and the payloads of GoPro's."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from pipeline.samples.common.encode import VideoWriter

FPS = 10
DATA, SUBTITLE = (b"meta", b"gpmd", b"nmhd"), (b"sbtl", b"tx3g", b"nmhd")


def grey_film(shades: Iterable[int], fps: int, size: tuple[int, int] = (64, 48)) -> bytes:
    """A film of pictures (width, height) of one grey each."""
    writer = VideoWriter("mp4", fps, *size)
    for shade in shades:
        writer.add(np.full((size[1], size[0], 3), shade, dtype=np.uint8))
    return writer.finish()


def klv(key: str, kind: str, size: int, rows: Sequence[bytes] | bytes) -> bytes:
    """One item; rows of bytes, or all of them in one."""
    data = rows if isinstance(rows, bytes) else b"".join(rows)
    count = len(data) // size if size else 0
    return struct.pack(">4scBH", key.encode(), kind.encode(), size, count) + data + bytes(-len(data) % 4)


def nested(key: str, *items: bytes) -> bytes:
    """An item of items."""
    data = b"".join(items)
    return struct.pack(">4scBH", key.encode(), b"\0", 1, len(data)) + data + bytes(-len(data) % 4)


def stream(key: str, kinds: str, scale: Sequence[int], rows: Sequence[Sequence[float]], *about: bytes) -> bytes:
    """A stream of rows in real units, written under a scale; of one type where all of its fields are of one."""
    fields = ">" + kinds.translate(str.maketrans("lLsSjJfBb", "iIhHqQfBb"))
    packed = [
        struct.pack(fields, *(v * s if k == "f" else round(v * s) for v, s, k in zip(row, scale, kinds, strict=True)))
        for row in rows
    ]
    mixed = len(set(kinds)) > 1
    kind = [klv("TYPE", "c", 1, kinds.encode())] if mixed else []
    scaled = klv("SCAL", "l", 4, struct.pack(f">{len(scale)}i", *scale))
    return nested("STRM", *about, *kind, scaled, klv(key, "?" if mixed else kinds[0], struct.calcsize(fields), packed))


def device(name: str, *streams: bytes) -> bytes:
    return nested("DEVC", klv("DVID", "L", 4, struct.pack(">L", 1)), klv("DVNM", "c", 1, name.encode()), *streams)


def gps5(rows: Sequence[Sequence[float]], fix: int = 3, dop: int = 150, utc: str = "240517101112.000") -> bytes:
    """Positions of a camera: latitude, longitude, altitude, 2D and 3D speed."""
    about = (
        klv("GPSF", "L", 4, struct.pack(">L", fix)),
        klv("GPSU", "U", 16, utc.encode()),
        klv("GPSP", "S", 2, struct.pack(">H", dop)),
    )
    return stream("GPS5", "lllll", (10**7, 10**7, 1000, 1000, 100), rows, *about)


def gps9(rows: Sequence[Sequence[float]]) -> bytes:
    """Latitude, longitude, altitude above sea level, speeds, days since 2000, seconds of the day, DOP, fix."""
    scale = (10**7, 10**7, 1000, 1000, 100, 1, 1000, 100, 1)
    return stream("GPS9", "lllllllSS", scale, rows, klv("GPSA", "F", 4, b"MSLV"))


def karma(boot_s: Sequence[float], heading_deg: float = 90.0, speed_mps: float = 8.0) -> bytes:
    """An aircraft 10 m up that flies east, its nose to a heading: samples at times since it was switched on."""
    east = [t * speed_mps / 111319.49 / np.cos(np.radians(33.0)) for t in boot_s]
    yaw = np.radians(heading_deg)
    place = [
        (t, 33.0, -117.0 + e, 30.0, 10.0, 0.0, speed_mps, 0.0, heading_deg) for t, e in zip(boot_s, east, strict=True)
    ]
    return device(
        "GoPro Karma v1.0",
        stream("GLPI", "LllllsssS", (1000, 10**7, 10**7, 1000, 1000, 100, 100, 100, 100), place),
        stream("ATTD", "LffffffB", (1000, 1, 1, 1, 1, 1, 1, 1), [(t, 0.0, 0.0, yaw, 0, 0, 0, 2) for t in boot_s]),
        stream("SYST", "JJ", (10**6, 1000), [(boot_s[0], 1_492_457_278.0)]),
    )


def film(
    packets: Sequence[bytes],
    seconds: float | Sequence[float] = 1.0,
    track: tuple[bytes, bytes, bytes] = DATA,
    title: str = "\tGoPro MET",
    skipped_s: float = 0.0,
    length_s: float = 4.0,
) -> bytes:
    """A film with a track of packets of some seconds each; some of its beginning may be edited away."""
    writer = VideoWriter("mp4", FPS, 64, 48)
    for k in range(round(length_s * FPS)):
        writer.add(np.full((48, 64, 3), 40 + k % 100, dtype=np.uint8))
    mp4 = writer.finish()
    boxes = dict(_boxes(mp4))
    order = list(boxes)
    if order.index(b"moov") < order.index(b"mdat"):
        raise AssertionError("the writer puts the index first: its offsets would move")
    lengths = [seconds] * len(packets) if isinstance(seconds, float) else list(seconds)
    body = b"".join(value for key, value in boxes.items() if key != b"moov")
    start = len(body) + 8
    made = _track(packets, lengths, start, track, title, skipped_s)
    moov = boxes[b"moov"][8:]
    return body + _box(b"mdat", b"".join(packets)) + _box(b"moov", moov, made)


def _boxes(raw: bytes) -> list[tuple[bytes, bytes]]:
    found, at = [], 0
    while at < len(raw):
        size, key = struct.unpack_from(">I4s", raw, at)
        found.append((key, raw[at : at + size]))
        at += size
    return found


def _box(key: bytes, *parts: Any) -> bytes:
    body = b"".join(parts)
    return struct.pack(">I4s", len(body) + 8, key) + body


def _full(key: bytes, *parts: bytes) -> bytes:
    return _box(key, bytes(4), *parts)


def _table(key: bytes, *rows: tuple[int, ...]) -> bytes:
    return _full(key, struct.pack(">I", len(rows)), *(struct.pack(f">{len(row)}I", *row) for row in rows))


def _track(
    packets: Sequence[bytes],
    seconds: Sequence[float],
    start: int,
    track: tuple[bytes, bytes, bytes],
    title: str,
    skipped_s: float,
) -> bytes:
    handler, codec, header = track
    ms = [round(s * 1000) for s in seconds]
    total = sum(ms)
    starts = np.cumsum([start, *(len(packet) for packet in packets)])[:-1].tolist()
    entry = _box(codec, bytes(6), struct.pack(">H", 1), *([bytes(38)] if codec == b"tx3g" else []))
    sizes = _full(b"stsz", struct.pack(">II", 0, len(packets)), *(struct.pack(">I", len(p)) for p in packets))
    samples = _box(
        b"stbl",
        _full(b"stsd", struct.pack(">I", 1), entry),
        _table(b"stts", *((1, length) for length in ms)),
        _table(b"stsc", (1, 1, 1)),
        sizes,
        _table(b"stco", *((at,) for at in starts)),
    )
    url = _box(b"dinf", _full(b"dref", struct.pack(">I", 1), struct.pack(">I4sI", 12, b"url ", 1)))
    media = _box(
        b"mdia",
        _full(b"mdhd", struct.pack(">IIIIHH", 0, 0, 1000, total, 0x55C4, 0)),
        _full(b"hdlr", b"mhlr", handler, bytes(12), title.encode(), b"\0"),
        _box(b"minf", _full(header), url, samples),
    )
    matrix = struct.pack(">9I", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30)
    head = _box(b"tkhd", struct.pack(">IIIIII", 3, 0, 0, 9, 0, total), bytes(16), matrix, bytes(8))
    skipped = round(skipped_s * 1000)
    edit = _box(b"edts", _table(b"elst", (total - skipped, skipped, 1 << 16))) if skipped else b""
    return _box(b"trak", head, edit, media)
