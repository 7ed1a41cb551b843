"""Pictures of untrusted origin: decoded within limits, and None where that cannot be done."""

import io
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image, UnidentifiedImageError

from pipeline.core.arrays import FloatArray
from pipeline.core.files import open_file
from pipeline.formats.zips import ZipMember, bytes_of

MAX_PIXELS: Final = 4096 * 4096
FORMATS: Final = ("PNG", "JPEG")
# What Pillow's decoders raise on broken files, and on those that would fill the memory.
_BROKEN: Final = (UnidentifiedImageError, OSError, SyntaxError, ValueError, IndexError, OverflowError, EOFError)
_TOO_LARGE: Final = (Image.DecompressionBombError, Image.DecompressionBombWarning)


def decoded(
    raw: bytes, most_pixels: int, formats: tuple[str, ...] = FORMATS, mode: str | None = "RGB"
) -> Image.Image | None:
    """Image of encoded bytes, in a mode of Pillow's (None: its own).

    None where it cannot be decoded, or has more pixels than it may have.
    """
    try:
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),  # of metadata, which matter nothing here
            Image.open(io.BytesIO(raw), formats=formats) as image,
        ):
            if image.width * image.height > most_pixels:
                return None
            image.load()
            return image if mode in {None, image.mode} else image.convert(mode)
    except (*_BROKEN, *_TOO_LARGE):
        return None


def decode_color(
    raw: bytes, formats: tuple[str, ...] = FORMATS, most_pixels: int = MAX_PIXELS
) -> npt.NDArray[np.uint8] | None:
    """RGB image (h, w, 3) of encoded bytes, or None, as for one of more pixels than it may have."""
    image = decoded(raw, most_pixels, formats)
    return None if image is None else np.array(image)


def jpeg_bytes(color: npt.NDArray[np.uint8], quality: int = 90) -> bytes:
    """An RGB image (h, w, 3) as JPEG."""
    out = io.BytesIO()
    Image.fromarray(color).save(out, "JPEG", quality=quality, subsampling=2)
    return out.getvalue()


def decode_numbers(raw: bytes, most_pixels: int = MAX_PIXELS) -> npt.NDArray[np.integer[Any]] | None:
    """The whole numbers (h, w) of a grey PNG of 8 or 16 bits, or None."""
    image = decoded(raw, most_pixels, ("PNG",), None)
    numbers = np.array([]) if image is None else np.array(image)
    return numbers if numbers.ndim == 2 and numbers.dtype.kind in "iu" else None


def color_file(path: Path | ZipMember, most_pixels: int = MAX_PIXELS) -> npt.NDArray[np.uint8] | None:
    """RGB image (h, w, 3) of a file, or None."""
    raw = _bytes(path)
    return None if raw is None else decode_color(raw, most_pixels=most_pixels)


def depth_file(path: Path | ZipMember, units_per_m: float = 1000.0, most_pixels: int = MAX_PIXELS) -> FloatArray | None:
    """Depth (h, w) in metres of a 16-bit PNG, NaN where it is 0; None where there is none."""
    raw = _bytes(path)
    units = None if raw is None else decode_numbers(raw, most_pixels)
    return None if units is None else np.where(units > 0, units / units_per_m, np.nan)


def size_of(source: Path | ZipMember | bytes) -> tuple[int, int] | None:
    """Width and height from the header of a file or of its bytes, without decoding; None where it is no picture."""
    try:
        if isinstance(source, ZipMember):
            source = source.read_bytes()
        with (
            io.BytesIO(source) if isinstance(source, bytes) else open_file(source) as file,
            Image.open(file, formats=FORMATS) as image,
        ):
            return image.size
    except (*_BROKEN, *_TOO_LARGE):
        return None


def _bytes(path: Path | ZipMember) -> bytes | None:
    try:
        return bytes_of(path)
    except OSError:
        return None
