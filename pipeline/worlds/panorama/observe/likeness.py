"""Whether two panoramas are one taken twice: perceptual hashes, whichever way the camera stood.

The hash is pHash's: of a small grey picture the lowest 8 x 8 cosine coefficients, each against their median
(Zauner, "Implementation and Benchmarking of Perceptual Image Hash Functions", 2010).
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import BoolArray, FloatArray

WIDTH: Final = 64
HEIGHT: Final = 32
_KEPT: Final = 8  # coefficients a side


def thumbnail(color: npt.NDArray[np.uint8]) -> FloatArray:
    """The grey means (`HEIGHT`, `WIDTH`) of a picture (h, w, 3)."""
    small = Image.fromarray(color).convert("L").resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float64)


def bits_of(thumb: FloatArray) -> BoolArray:
    """The 64 bits of small pictures (..., `HEIGHT`, `WIDTH`): (..., 64)."""
    low = _cosines(HEIGHT) @ thumb @ _cosines(WIDTH).T
    flat = np.round(low.reshape(*low.shape[:-2], _KEPT * _KEPT), 6)  # equal on every processor
    return np.asarray(flat > np.median(flat, axis=-1, keepdims=True))


def hash_of(thumb: FloatArray) -> str:
    """The hash, 16 hexadecimal digits."""
    return np.packbits(bits_of(thumb)).tobytes().hex()


def differing_bits(one: FloatArray, other: FloatArray) -> int:
    """In how many of 64 bits the hashes of two small pictures differ, the other one turned so that it is least."""
    turned = np.stack([np.roll(other, step, axis=1) for step in range(WIDTH)])
    return int((bits_of(turned) != bits_of(one)).sum(-1).min())


@cache
def _cosines(length: int) -> FloatArray:
    """The first rows of a cosine transform (DCT-II): (`_KEPT`, length)."""
    k, n = np.arange(_KEPT)[:, None], np.arange(length)
    return np.cos(np.pi * k * (2 * n + 1) / (2 * length))
