"""Colours of pixels and the words for them, whatever light falls on them."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.geometry.colours import WORDS, margins

NAMES: Final = tuple(WORDS)
# What lies in shade would be so many times as bright in the sun: walls turned away from it get two thirds of the light.
WALL_LIGHT: Final = (1.0, 1.15, 1.3, 1.5)
ROOF_LIGHT: Final = (1.0, 1.15, 1.3)  # it lies open to the sky
_BITS: Final = 4  # of each channel, to which the table of all colours is made
_TOP: Final = 255.0

Pixels = npt.NDArray[np.uint8]  # (n, 3), sRGB


class Measured(NamedTuple):
    """How well a word fits some pixels.

    Attributes:
        share: of the pixels that may be called so.
        margin: CIELAB, of the median of these in the best light; NaN where there are none.
        rgb: that median in that light.
    """

    share: float
    margin: float
    rgb: tuple[int, int, int] | None


def fits(word: str, pixels: Pixels, light: tuple[float, ...] = WALL_LIGHT) -> Measured:
    """How well a word for a colour fits pixels (n, 3), n > 0, in some light."""
    may = may_be(pixels, light)[:, NAMES.index(word)]
    if not may.any():
        return Measured(0.0, float("nan"), None)
    middle = np.median(pixels[may], axis=0)
    lit = np.minimum(middle * np.array(light)[:, None], _TOP)
    by_light = margins(lit)[word]
    best = int(by_light.argmax())
    red, green, blue = (round(float(part)) for part in lit[best])
    return Measured(float(may.mean()), float(by_light[best]), (red, green, blue))


def may_be(pixels: Pixels, light: tuple[float, ...] = WALL_LIGHT) -> npt.NDArray[np.bool_]:
    """Which words (n, 12) somebody may call pixels (n, 3) by, in some light."""
    at = (pixels >> (8 - _BITS)).astype(np.intp)
    index = (at[:, 0] << 2 * _BITS) | (at[:, 1] << _BITS) | at[:, 2]
    return np.asarray(_table(light)[index])


@cache
def _table(light: tuple[float, ...]) -> npt.NDArray[np.bool_]:
    """`may_be` of all colours, each channel by its upper bits."""
    step = 1 << (8 - _BITS)
    level = np.arange(step / 2, 256.0, step)
    every: FloatArray = np.stack(np.meshgrid(level, level, level, indexing="ij"), axis=-1).reshape(-1, 3)
    may = np.zeros((len(every), len(NAMES)), dtype=bool)
    for times in light:
        found = margins(np.minimum(every * times, _TOP))
        may |= np.stack([found[name] >= 0 for name in NAMES], axis=1)
    return may
