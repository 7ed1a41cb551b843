"""Capital letters for signs, five dots wide and seven high, as rectangles."""

from __future__ import annotations

from itertools import groupby
from typing import Final

_WIDTH: Final = 5
_HEIGHT: Final = 7
# Rows from the top, a bit per dot, the leftmost highest.
_LETTERS: Final[dict[str, tuple[int, ...]]] = {
    "A": (0b01110, 0b10001, 0b10001, 0b11111, 0b10001, 0b10001, 0b10001),
    "B": (0b11110, 0b10001, 0b10001, 0b11110, 0b10001, 0b10001, 0b11110),
    "E": (0b11111, 0b10000, 0b10000, 0b11110, 0b10000, 0b10000, 0b11111),
    "I": (0b01110, 0b00100, 0b00100, 0b00100, 0b00100, 0b00100, 0b01110),
    "L": (0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b10000, 0b11111),
    "M": (0b10001, 0b11011, 0b10101, 0b10101, 0b10001, 0b10001, 0b10001),
    "R": (0b11110, 0b10001, 0b10001, 0b11110, 0b10100, 0b10010, 0b10001),
    "S": (0b01111, 0b10000, 0b10000, 0b01110, 0b00001, 0b00001, 0b11110),
    "U": (0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b10001, 0b01110),
    "Y": (0b10001, 0b10001, 0b01010, 0b00100, 0b00100, 0b00100, 0b00100),
}


def strokes(words: str) -> list[tuple[float, float, float, float]]:
    """The dots of a word in rows: left and right, bottom and top, as shares of the word's width and height."""
    columns = (_WIDTH + 1) * len(words) - 1
    found = []
    for place, letter in enumerate(words):
        for row, bits in enumerate(_LETTERS[letter]):
            dots = [column for column in range(_WIDTH) if bits >> (_WIDTH - 1 - column) & 1]
            for _, run in groupby(enumerate(dots), key=lambda pair: pair[1] - pair[0]):
                inked = [dot for _, dot in run]
                left, right = ((_WIDTH + 1) * place + edge for edge in (inked[0], inked[-1] + 1))
                top = _HEIGHT - row
                found.append((left / columns, right / columns, (top - 1) / _HEIGHT, top / _HEIGHT))
    return found
