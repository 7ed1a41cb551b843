"""Bytes of the file formats that the raw datasets use; the same input gives the same bytes."""

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from typing import Any, Final

import av
import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.formats import images

JPEG_QUALITY: Final = 88
VIDEO_CRF: Final = "20"  # of x264: constant quality, well above what 640x480 players need
_ZIP_DATE: Final = (1980, 1, 1, 0, 0, 0)


def json_bytes(value: Any) -> bytes:
    """Compact JSON; NaN and infinity are refused."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


def lines_bytes(lines: Iterable[str]) -> bytes:
    """A text file of these lines."""
    return "".join(f"{line}\n" for line in lines).encode()


def jpeg_bytes(color: npt.NDArray[np.uint8]) -> bytes:
    """An RGB image (h, w, 3) as JPEG."""
    return images.jpeg_bytes(color, JPEG_QUALITY)


def png_bytes(image: npt.NDArray[np.uint8] | npt.NDArray[np.uint16]) -> bytes:
    """An image (h, w, 3) of 8 bits or (h, w) of 8 or 16 bits as PNG."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG", compress_level=6)
    return out.getvalue()


def zip_bytes(members: Mapping[str, bytes]) -> bytes:
    """A zip archive of members that are compressed already."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, raw in members.items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_DATE), raw)
    return out.getvalue()


class VideoWriter:
    """Encodes RGB frames to H.264 in one thread, without the time of day, so that the bytes depend on nothing else."""

    def __init__(self, container: str, fps: int, width: int, height: int) -> None:
        self._out = io.BytesIO()
        self._file = av.open(self._out, "w", format=container, options={"fflags": "+bitexact"})
        steady = {"threads": "1", "x264-params": "mbtree=0"}  # see `pipeline.rendering.video`
        self._stream = self._file.add_stream(
            "libx264", rate=fps, options={"crf": VIDEO_CRF, "preset": "veryfast"} | steady
        )
        self._stream.width, self._stream.height, self._stream.pix_fmt = width, height, "yuv420p"
        self._stream.codec_context.thread_count = 1

    def add(self, color: npt.NDArray[np.uint8]) -> None:
        """Appends one frame (h, w, 3)."""
        self._file.mux(self._stream.encode(av.VideoFrame.from_ndarray(color, format="rgb24")))

    def finish(self) -> bytes:
        """The finished file; nothing can be added afterwards."""
        self._file.mux(self._stream.encode(None))
        self._file.close()
        return self._out.getvalue()
