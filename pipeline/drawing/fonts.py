"""The font of all drawings, which comes as a package: no drawing depends on what a machine has installed."""

from functools import cache
from typing import Final

import fontpkg_noto_sans
from PIL import ImageFont

FAMILY: Final = fontpkg_noto_sans.FAMILY
_FILE: Final = "files/NotoSans[wdth,wght].ttf"
_BOLD: Final = 1.08  # a bold letter is about so many times as wide
_SHAPED: Final = 1.1


def font_file() -> str:
    """Where the font is."""
    return str(fontpkg_noto_sans.ROOT / _FILE)


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """It, in units of the drawing: Pillow's own has no letter with an accent."""
    return ImageFont.truetype(font_file(), size)


@cache
def width_of(text: str, size: int, bold: bool = False) -> float:
    """How wide a text is, in units of the drawing."""
    return float(font(size).getlength(text)) * (_BOLD if bold else 1.0)


@cache
def has_letter(letter: str) -> bool:
    """Whether the font draws a letter, and no empty box for it."""
    own, missing = (font(16).getmask(text) for text in (letter, "\uffff"))
    return letter.isspace() or bytes(own) != bytes(missing) or own.size != missing.size


def unwritten(text: str) -> int:
    """How many letters of a text a drawing cannot write: it shows empty boxes."""
    return sum(not has_letter(letter) for letter in text)


def fits(text: str, size: int, most: float, bold: bool = False) -> bool:
    """Whether a text is no wider than ``most``; measured as a whole only where its letters do not tell.

    Shaping a text takes a third of a millisecond, and moves its letters by less than a tenth of their widths.
    """
    letters = sum(map(_letter_widths(size).__getitem__, text)) * (_BOLD if bold else 1.0)
    return letters * _SHAPED <= most or width_of(text, size, bold) <= most


class _LetterWidths(dict[str, float]):
    """Widths of single letters in units of the drawing, each measured when it is first needed."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __missing__(self, letter: str) -> float:
        self[letter] = width_of(letter, self._size)
        return self[letter]


_letter_widths: Final = cache(_LetterWidths)


def lines_of(text: str, size: int, most: float) -> list[str]:
    """A text in lines that are no wider than ``most``; a word that is wider has one of its own, cut off."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and not fits(longer, size, most):
            lines.append(shortened(word, size, most))
        else:
            lines[-1] = longer if lines[-1] else shortened(word, size, most)
    return lines


def shortened(text: str, size: int, most: float, bold: bool = False) -> str:
    """A text, cut off where it is wider than ``most``."""
    if fits(text, size, most, bold):
        return text
    kept = next((n for n in range(len(text) - 1, 0, -1) if fits(f"{text[:n]}…", size, most, bold)), 1)
    return f"{text[:kept]}…"
