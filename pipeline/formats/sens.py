"""ScanNet's .sens files, version 4: frames of colour, depth and pose, found by offset and read one at a time."""

import io
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.errors import FormatError
from pipeline.core.files import open_file, size_of_file
from pipeline.formats.images import decode_color, size_of

VERSION: Final = 4
MAX_NAME_BYTES: Final = 4096
MAX_SIDE_PIXELS: Final = 16384
_MATRICES: Final = struct.Struct("<64f")  # intrinsics and extrinsics of colour, then of depth
_SIZES: Final = struct.Struct("<iiIIIIfQ")  # compressions, sizes of colour and depth, depth shift, number of frames
_FRAME: Final = struct.Struct("<16fQQQQ")  # pose, times of colour and depth, bytes of colour and depth
COLOR_RAW: Final = 0  # rows of RGB bytes
COLOR_CODECS: Final = {1: "PNG", 2: "JPEG"}
DEPTH_RAW, DEPTH_ZLIB = 0, 1


@dataclass(frozen=True)
class Sens:
    """Header and frame table of a .sens file; pictures stay in the file until asked for.

    Attributes:
        path: the file.
        sensor: the sensor's name.
        color_intrinsics: fx, fy, cx, cy in pixels of the colour image.
        depth_intrinsics: the same of the depth image.
        color_size: width and height.
        depth_size: width and height.
        depth_shift: depth units per metre.
        codecs: colour and depth compression, as numbered in the file.
        world_T_camera: (N, 4, 4) as stored, the camera in the scan's own frame; may hold infinities.
        time_us: (N, 2) times of colour and depth.
        table: (N, 3) offset of the colour bytes, number of colour bytes, number of depth bytes.
        declared: number of frames that the header declares; more than N where the file breaks off.
    """

    path: Path
    sensor: str
    color_intrinsics: FloatArray
    depth_intrinsics: FloatArray
    color_size: tuple[int, int]
    depth_size: tuple[int, int]
    depth_shift: float
    codecs: tuple[int, int]
    world_T_camera: FloatArray
    time_us: npt.NDArray[np.uint64]
    table: IntArray
    declared: int

    def __len__(self) -> int:
        return len(self.table)

    def color(self, frame: int) -> npt.NDArray[np.uint8] | None:
        """Colour image (h, w, 3) RGB of a frame; None where there is none or it cannot be decoded."""
        offset, size, _ = map(int, self.table[frame])
        raw = self._bytes(offset, size)
        if self.codecs[0] != COLOR_RAW:
            return decode_color(raw, (COLOR_CODECS[self.codecs[0]],)) if raw else None
        width, height = self.color_size
        whole = len(raw) == 3 * width * height and bool(raw)
        return np.frombuffer(raw, np.uint8).reshape(height, width, 3).copy() if whole else None

    def picture_size(self) -> tuple[int, int] | None:
        """Width and height that the first colour image has of its own; None where none can be read."""
        if self.codecs[0] == COLOR_RAW:
            return self.color_size
        there = (row for row in self.table if row[1])
        return next((s for o, n, _ in there if (s := size_of(self._bytes(int(o), int(n)))) is not None), None)

    def depth_m(self, frame: int) -> FloatArray | None:
        """Depth image (h, w), metres, NaN where not measured; None where there is none or it cannot be decoded."""
        offset, before, size = map(int, self.table[frame])
        width, height = self.depth_size
        raw = self._bytes(offset + before, size)
        if self.codecs[1] == DEPTH_ZLIB:
            unpacker = zlib.decompressobj()
            try:
                raw = unpacker.decompress(raw, 2 * width * height + 1)
            except zlib.error:
                return None
        if len(raw) != 2 * width * height or not raw:
            return None
        units = np.frombuffer(raw, "<u2").reshape(height, width)
        return np.where(units > 0, units / self.depth_shift, np.nan)

    def _bytes(self, offset: int, size: int) -> bytes:
        with open_file(self.path) as file:
            file.seek(offset)
            return file.read(size)


def open_sens(path: Path) -> Sens:
    """Reads the header and steps over the frames. Raises FormatError; a file cut in mid-frame gives those before it."""
    size = size_of_file(path)
    with open_file(path) as file:
        version = struct.unpack("<I", _read_exactly(file, 4))[0]
        if version != VERSION:
            raise FormatError(
                "sens_version", f"version {version}, not {VERSION}", "fetch ScanNet's v2 release of the file"
            )
        name_bytes = struct.unpack("<Q", _read_exactly(file, 8))[0]
        if name_bytes > MAX_NAME_BYTES:
            raise FormatError("bad_sens", f"the sensor's name has {name_bytes} bytes", "fetch the file again")
        sensor = _read_exactly(file, name_bytes).decode("utf-8", "replace")
        matrices = np.array(_MATRICES.unpack(_read_exactly(file, _MATRICES.size))).reshape(4, 4, 4)
        header = _SIZES.unpack(_read_exactly(file, _SIZES.size))
        _check_header(header)
        rows, headers = _frame_table(file, size, header[7])
    poses = np.array([h[:16] for h in headers], dtype=np.float64).reshape(-1, 4, 4)
    return Sens(
        path=path,
        sensor=sensor,
        color_intrinsics=_pinhole(matrices[0]),
        depth_intrinsics=_pinhole(matrices[2]),
        color_size=(header[2], header[3]),
        depth_size=(header[4], header[5]),
        depth_shift=float(header[6]),
        codecs=(header[0], header[1]),
        world_T_camera=poses,
        time_us=np.array([h[16:18] for h in headers], dtype=np.uint64).reshape(-1, 2),
        table=np.array(rows, dtype=np.intp).reshape(-1, 3),
        declared=header[7],
    )


def _frame_table(
    file: io.BufferedReader, size: int, declared: int
) -> tuple[list[tuple[int, int, int]], list[tuple[float, ...]]]:
    rows: list[tuple[int, int, int]] = []
    headers: list[tuple[float, ...]] = []
    at = file.tell()
    while len(rows) < declared and at + _FRAME.size <= size:
        header = _FRAME.unpack(file.read(_FRAME.size))
        start = at + _FRAME.size
        if start + header[18] + header[19] > size or not header[18] + header[19]:  # cut, or never filled
            break
        rows.append((start, header[18], header[19]))
        headers.append(header)
        at = start + header[18] + header[19]
        file.seek(at)
    return rows, headers


def _check_header(header: tuple[int | float, ...]) -> None:
    color_codec, depth_codec, *sides, shift, _ = header
    remedy = "fetch the file again, or export it with ScanNet's SensReader"
    if max(sides) > MAX_SIDE_PIXELS:
        raise FormatError("bad_sens", f"images of {sides[0]}x{sides[1]} and {sides[2]}x{sides[3]} pixels", remedy)
    if not 0 < shift < 1e9:
        raise FormatError("bad_sens", f"the depth shift is {shift}", remedy)
    if color_codec not in {COLOR_RAW, *COLOR_CODECS} or depth_codec not in {DEPTH_RAW, DEPTH_ZLIB}:
        message = f"colour compression {color_codec} and depth compression {depth_codec}; read are 0 to 2, and 0 or 1"
        raise FormatError("sens_compression", message, remedy)


def _pinhole(matrix: FloatArray) -> FloatArray:
    return np.array([matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2]])


def _read_exactly(file: io.BufferedReader, size: int) -> bytes:
    raw = file.read(size)
    if len(raw) < size:
        raise FormatError("truncated_sens", "the file breaks off within its header", "fetch the file again")
    return raw
