"""Colours and the words for them: how surely a colour is, or is not, what a word says.

A word stands for some colours that everybody calls so. Distances are those of CIELAB (CIE 1976, D65), in which 2 can
just be told apart side by side; between neighbouring words lie 30 and more.
"""

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table

# The eleven basic words of English (Berlin and Kay, "Basic Color Terms", 1969) and beige, of which many houses are;
# the colours are ours.
WORDS: Final[dict[str, list[list[int]]]] = load_table("colours")["words"]
_WHITE: Final = np.array([0.95047, 1.0, 1.08883])  # D65, as XYZ
_TO_XYZ: Final = np.array(  # of linear sRGB (IEC 61966-2-1)
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)
_DECIMALS: Final = 3


def lab(rgb: FloatArray) -> FloatArray:
    """CIELAB (N, 3) of sRGB colours (N, 3), 0 to 255."""
    share = np.asarray(rgb, dtype=np.float64) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    xyz = (linear[:, None, :] * _TO_XYZ).sum(-1) / _WHITE
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def margins(rgb: FloatArray) -> dict[str, FloatArray]:
    """How much nearer each colour (N, 3) is to a word than to any other, (N,) by word.

    Positive: this is its word; negative: another one is. Near 0 it may be called either. NaN for a NaN.
    """
    seen = lab(rgb)
    away = {word: _nearest(seen, lab(np.array(colours, dtype=np.float64))) for word, colours in WORDS.items()}
    return {
        word: (np.min([d for other, d in away.items() if other != word], axis=0) - mine).round(_DECIMALS)
        for word, mine in away.items()
    }


def _nearest(seen: FloatArray, of: FloatArray) -> FloatArray:
    """Distance (N,) of colours to the nearest of some."""
    return np.asarray(np.linalg.norm(seen[:, None] - of[None], axis=-1).min(1))
