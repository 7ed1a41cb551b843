"""ScanNet++'s ``iphone/depth.bin``: depth images of 256 x 192 pixels behind one another, packed in one of two ways.

Either the whole file is one deflate stream of float32 metres, or every image is a little-endian uint32 of its packed
size, followed by LZ4 (uint16 millimetres) or deflate (float32 metres). Which one, the file itself tells.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import FloatArray
from pipeline.core.files import open_file, size_of_file

WIDTH, HEIGHT = 256, 192
PIXELS: Final = WIDTH * HEIGHT
DEPTH_MAX_M: Final = 100.0  # lidar of a phone reaches 5 m
_CHUNK: Final = 1 << 20
_RAW, _ZLIB = -zlib.MAX_WBITS, zlib.MAX_WBITS


@dataclass
class DepthStream:
    """Depth images by number. In a single stream going forward is cheap and going back starts from the beginning.

    Attributes:
        path: the file.
        offsets: place and packed size of each image; empty for a single stream.
    """

    path: Path
    offsets: tuple[tuple[int, int], ...]
    _unpacker: Any = field(default=None, init=False)
    _read: int = field(default=0, init=False)
    _held: bytes = field(default=b"", init=False)
    _at: int = field(default=0, init=False)

    def __call__(self, number: int) -> FloatArray | None:
        """Depth (192, 256) in metres, NaN where not measured; None where it is not there or cannot be unpacked."""
        try:
            return self._packed(number) if self.offsets else self._streamed(number)
        except (zlib.error, OSError, pa.ArrowException):
            self._unpacker = None
            return None

    def _packed(self, number: int) -> FloatArray | None:
        if not 0 <= number < len(self.offsets):
            return None
        offset, size = self.offsets[number]
        with open_file(self.path) as file:
            file.seek(offset)
            raw = file.read(size)
        try:
            return _image(bytes(pa.decompress(raw, decompressed_size=2 * PIXELS, codec="lz4_raw")))
        except (pa.ArrowException, OSError):
            return _image(_inflater(raw[:2]).decompress(raw, 4 * PIXELS + 1))

    def _streamed(self, number: int) -> FloatArray | None:
        start, end = 4 * PIXELS * number, 4 * PIXELS * (number + 1)
        with open_file(self.path) as file:
            if self._unpacker is None or start < self._at:
                self._unpacker, self._read, self._held, self._at = _inflater(file.read(2)), 0, b"", 0
            file.seek(self._read)
            while self._at + len(self._held) < end:
                waiting = self._unpacker.unconsumed_tail
                fresh = b"" if waiting else file.read(_CHUNK)
                if not waiting and not fresh:
                    return None
                self._read += len(fresh)
                self._held += self._unpacker.decompress(waiting or fresh, _CHUNK)
                gone = min(max(start - self._at, 0), len(self._held))
                self._held, self._at = self._held[gone:], self._at + gone
        gone = start - self._at
        self._held, self._at = self._held[gone:], start
        return _image(self._held[: 4 * PIXELS])


def open_depth(path: Path) -> DepthStream:
    """Steps over the images, if the file has them one by one. Raises OSError."""
    size = size_of_file(path)
    offsets = []
    at = 0
    with open_file(path) as file:
        while at + 4 <= size:
            file.seek(at)
            packed = struct.unpack("<I", file.read(4))[0]
            if not 0 < packed <= 8 * PIXELS or at + 4 + packed > size:
                break
            offsets.append((at + 4, packed))
            at += 4 + packed
    # The first four bytes of a deflate stream hardly ever lead from size to size: a file cut in its last image does.
    return DepthStream(path, tuple(offsets) if at == size or len(offsets) > 1 else ())


def _inflater(start: bytes) -> Any:
    """Datasets have bare deflate; a zlib header is understood too."""
    headed = len(start) == 2 and start[0] & 0x0F == 8 and int.from_bytes(start, "big") % 31 == 0
    return zlib.decompressobj(_ZLIB if headed else _RAW)


def _image(raw: bytes) -> FloatArray | None:
    if len(raw) == 2 * PIXELS:
        depth = np.frombuffer(raw, "<u2").astype(np.float64) / 1000.0
    elif len(raw) == 4 * PIXELS:
        depth = np.frombuffer(raw, "<f4").astype(np.float64)
    else:
        return None
    with np.errstate(invalid="ignore"):
        good = (depth > 0) & (depth <= DEPTH_MAX_M)
    return np.where(good, depth, np.nan).reshape(HEIGHT, WIDTH)
