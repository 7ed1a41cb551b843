"""Pictures of a film that is drawn from a log: plain shapes on a page of pixels, the same bytes on every machine."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import cycle, product
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table
from pipeline.geometry.colours import lab

if TYPE_CHECKING:
    from PIL import Image, ImageFont

SIZE: Final = (640, 360)
MARK: Final = "drawn from the log, not filmed"
INK: Final[dict[str, tuple[int, int, int]]] = {k: tuple(rgb) for k, rgb in load_table("drawings/style")["film"].items()}
_TEXT: Final = 12  # pixels of a letter's height
_MARK: Final = 13
_PAD: Final = 4  # pixels around the mask of a text, for what letters reach beyond it
_RIM: Final = 2  # pixels around a label
_AWAY: Final = 7.0  # pixels between a point and its label
_ROWS: Final = 12  # of text, up and down from a point, in which a label is looked for to which a line leads

Colour = tuple[int, int, int]


class Raster:
    """One picture, 640 x 360. Positions are pixels from the upper left corner, (n, 2) or pairs.

    Args:
        base: what lies under it; None: paper.
    """

    def __init__(self, base: Image.Image | None = None) -> None:
        from PIL import Image, ImageDraw  # worlds name who draws: most builds draw nothing

        self.image = Image.new("RGB", SIZE, INK["paper"]) if base is None else base.copy()
        self._draw = ImageDraw.Draw(self.image)
        self._draw.fontmode = "1"
        self._taken: list[tuple[float, float, float, float]] = []

    def box(self, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A filled rectangle."""
        self._draw.rectangle((left, top, right, bottom), fill=fill)

    def shape(self, outline: FloatArray, fill: Colour | None = None, edge: Colour | None = None) -> None:
        """A closed outline."""
        self._draw.polygon(_pixels(outline), fill=fill, outline=edge)

    def line(self, points: FloatArray, colour: Colour, width: int = 1) -> None:
        """A line through points."""
        self._draw.line(_pixels(points), fill=colour, width=width)

    def grid(self, middle: FloatArray, reach: float, step: float, place: Callable[[FloatArray], FloatArray]) -> None:
        """Lines on the ground at multiples of a step, as far as a reach about a point; ``place`` gives their pixels."""
        first = np.floor((middle - reach) / step) * step
        along = np.arange(0, 2 * reach + 2 * step, step)
        ends = np.tile(first, (len(along), 2, 2, 1))  # of each line, the one across and the one up
        for axis in (0, 1):
            ends[:, axis, :, axis] += along[:, None]
            ends[:, axis, 1, 1 - axis] += 2 * reach + 2 * step
        pixels = _pixels(place(ends.reshape(-1, 2)))
        for begin, end in zip(pixels[::2], pixels[1::2], strict=True):
            self._draw.line((begin, end), fill=INK["grid"])

    def dot(self, at: npt.ArrayLike, radius: float, fill: Colour, edge: Colour | None = None) -> None:
        """A disc."""
        ((x, y),) = _pixels(np.asarray(at, dtype=np.float64)[None])
        self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill, outline=edge)

    def text(self, at: tuple[float, float], words: str, colour: Colour = INK["text"], size: int = _TEXT) -> None:
        """A line of text whose upper left corner is at a point."""
        (right, x), (down, y) = math.modf(at[0]), math.modf(at[1])
        self._paste((int(x), int(y)), _written(words, size, right, down), colour)

    def label(
        self, at: npt.ArrayLike, words: str, within: tuple[float, float, float, float], *, led: bool = False
    ) -> tuple[float, float] | None:
        """A text beside a point, where it covers no other and lies within a rectangle, and where that is nearest.

        None where it finds no room. ``led``: a line will lead to it, so that it may lie farther up or down.
        """
        ((x, y),) = _pixels(np.asarray(at, dtype=np.float64)[None])
        width, height = _length(words, _TEXT), _TEXT + 2
        below, above, beside = y + _AWAY / 2, y - _AWAY / 2 - height, (x + _AWAY, x - _AWAY - width)
        near = (y - height / 2, below, above)
        places = [*product(beside, near), *product(beside, (below + height, above - height))]
        if led:
            over = min(max(x - width / 2, within[0]), within[2] - width)
            rows = (top for k in range(_ROWS) for top in (below + k * height, above - k * height))
            places += product((over, *beside), rows)
        for left, top in places:  # farther off only where there is no room beside it
            own = (left, top, left + width, top + height)
            inside = own[0] >= within[0] and own[1] >= within[1] and own[2] <= within[2] and own[3] <= within[3]
            if inside and not any(_meet(own, other) for other in self._taken):
                self._taken.append(own)
                place = (round(left), round(top))  # whole pixels: it is the same mask in every picture
                self._paste(place, _written(words, _TEXT, rim=_RIM), INK["paper"])  # it may lie on anything, even black
                self._paste(place, _written(words, _TEXT), INK["text"])
                return min(max(x, own[0]), own[2]), min(max(y, own[1]), own[3])
        return None

    def _paste(self, at: tuple[int, int], written: Image.Image, colour: Colour) -> None:
        """A text that is there as a mask."""
        self._draw.bitmap((at[0] - _PAD, at[1] - _PAD), written, fill=colour)

    def scale_bar(self, left: float, top: float, length: float, words: str) -> None:
        """A bar as long as so many pixels, its ends included, and how long that is, beside it."""
        self.box(left, top, left + round(length) - 1, top + 2, INK["text"])
        self.text((left + length + 6, top - 6), words)

    def mark(self, from_x: float = 6) -> None:
        """Says on the picture that no camera took it."""
        width = _length(MARK, _MARK)
        self.box(from_x - 3, SIZE[1] - 22, from_x + width + 3, SIZE[1] - 3, INK["paper"])
        self.text((from_x, SIZE[1] - 20), MARK, INK["red"], _MARK)

    def pixels(self) -> npt.NDArray[np.uint8]:
        """(360, 640, 3) RGB."""
        return np.asarray(self.image, dtype=np.uint8)


def colours_of(names: Iterable[str]) -> dict[str, Colour]:
    """A colour for each name: in their order, each as far as can be from those before it and from the page's own."""
    order, choices = list(names), np.array(list(product(range(0, 256, 51), repeat=3)))
    every = lab(choices)
    apart = np.linalg.norm(every[:, None] - lab(np.array(list(INK.values()))), axis=2).min(1)
    found: list[Colour] = []
    for _ in order[: len(choices)]:
        row = int(apart.round(6).argmax())
        red, green, blue = choices[row].tolist()
        found.append((red, green, blue))
        apart = np.minimum(apart, np.linalg.norm(every - every[row], axis=1))
    return dict(zip(order, cycle(found), strict=False))


def as_png(picture: Image.Image) -> bytes:
    """A picture as a PNG file, the same bytes for the same pixels."""
    raw = io.BytesIO()
    picture.save(raw, "PNG")  # `optimize` takes four times as long, and saves a fiftieth
    return raw.getvalue()


@cache
def _font(size: int) -> ImageFont.FreeTypeFont:
    from pipeline.drawing.fonts import font  # with Pillow, which readers of films do without

    return font(size)


@lru_cache(maxsize=256)
def _length(words: str, size: int) -> float:
    """Pixels of a line of text."""
    return float(_font(size).getlength(words, mode="1"))


@lru_cache(maxsize=512)
def _written(words: str, size: int, right: float = 0.0, down: float = 0.0, rim: int = 0) -> Image.Image:
    """A line of text as a mask, shifted by parts of a pixel, with a rim: most stand in every picture of a film."""
    from PIL import Image, ImageDraw

    _, _, width, height = _font(size).getbbox(words, mode="1")
    mask = Image.new("1", (math.ceil(width) + 2 * _PAD, math.ceil(height) + 2 * _PAD))
    ImageDraw.Draw(mask).text((_PAD + right, _PAD + down), words, fill=1, font=_font(size), stroke_width=rim)
    return mask


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _pixels(points: FloatArray) -> list[tuple[float, float]]:
    """To hundredths: no last bit of a sine moves a pixel."""
    return [(x, y) for x, y in np.round(np.asarray(points, dtype=np.float64), 2).tolist()]
