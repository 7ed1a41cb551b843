"""A street as it is put together: things, the solids that they consist of, and pictures on them.

Along a street: ``along`` grows in the direction in which it runs, ``across`` to the right of that, metres; for a street
that runs north these are y and x, for one that runs east x and -y.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from pipeline.core.arrays import FloatArray
from pipeline.sampling.city_plan import Color
from pipeline.worlds.panorama.samples.solids import PLAIN, Solids
from pipeline.worlds.panorama.samples.towns import COLORS

Picture = npt.NDArray[np.uint8]
_TEXT_PX: Final = 44  # height of a sign's picture
_MARGIN: Final = 0.86  # of a sign, that its words fill at most


class Thing(NamedTuple):
    """Something that can be seen and asked about.

    Attributes:
        at: of its middle, town frame; None: it is too large to have one.
    """

    id: str
    label: str
    at: tuple[float, float] | None
    slot: str | None = None
    name: str | None = None
    kind: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()


class Street(NamedTuple):
    """A straight street: whether it runs north, and the other coordinate of its middle line."""

    is_north: bool
    line: float

    def at(self, along: float, across: float) -> tuple[float, float]:
        """A place of it in the town frame."""
        return (self.line + across, along) if self.is_north else (along, self.line - across)


class Scene:
    """Collects the things and solids of one place.

    Args:
        street: on which it lies.
        middle: where on the street.
    """

    def __init__(self, street: Street, middle: float) -> None:
        self.street, self.middle = street, middle
        self.solids = Solids()
        self.things: list[Thing] = []
        self.pictures: list[Picture] = []

    def thing(
        self, label: str, at: tuple[float, float] | None, slot: str | None = None, name: str | None = None,
        kind: str | None = None, **attributes: str,
    ) -> int:  # fmt: skip
        """Notes a thing; gives its index, which its solids are to be given."""
        number = sum(one.label == label for one in self.things) + 1
        made = Thing(f"{label} {number}", label, at, slot, name, kind, tuple(sorted(attributes.items())))
        self.things.append(made)
        return len(self.things) - 1

    def block(
        self, along: tuple[float, float], across: tuple[float, float], up: tuple[float, float], color: str | Color,
        *of: int, look: int = PLAIN,
    ) -> None:  # fmt: skip
        """A box in the street's own directions."""
        a, b = self.street.at(along[0], across[0]), self.street.at(along[1], across[1])
        low, high = np.minimum(a, b).tolist(), np.maximum(a, b).tolist()
        paint = COLORS[color] if isinstance(color, str) else color
        self.solids.box((*low, up[0]), (*high, up[1]), paint, of, look)

    def board(
        self, along: float, across: float, low_m: float, size: tuple[float, float], words: str, ink: str, paint: str,
        faces: str, *of: int,
    ) -> None:  # fmt: skip
        """A rectangle with words that faces along the street ("back", "ahead") or across it ("left", "right").

        ``along``, ``across`` and ``low_m`` are of the middle of its lower edge, ``size`` its width and height.
        """
        toward = {"back": (1.0, 0.0), "ahead": (-1.0, 0.0), "left": (0.0, 1.0), "right": (0.0, -1.0)}[faces]
        start = np.array(self.street.at(0.0, 0.0))
        ahead = np.array(self.street.at(toward[0], toward[1])) - start  # where one looks who reads it
        rightward = np.array([ahead[1], -ahead[0], 0.0])
        middle = np.array([*self.street.at(along, across), low_m])
        corner = middle - rightward * size[0] / 2
        self.solids.picture(corner, rightward * size[0], np.array([0.0, 0.0, size[1]]), len(self.pictures), of)
        self.pictures.append(written(words, size[0] / size[1], ink, paint))

    def inwards(self, along: float) -> tuple[str, float]:
        """Where a board at a place of the street faces that is to be read from the middle, and the sign of that way."""
        return ("back", -1.0) if along > self.middle else ("ahead", 1.0)

    def far(self, camera: FloatArray, thing: Thing) -> float | None:
        """Metres over ground from the camera to the middle of a thing."""
        if thing.at is None:
            return None
        return float(np.hypot(thing.at[0] - camera[0], thing.at[1] - camera[1]))


def written(words: str, aspect: float, ink: str, paint: str) -> Picture:
    """A picture with words as large as fit."""
    width, height = max(8, round(_TEXT_PX * aspect)), _TEXT_PX
    size = 40
    font = ImageFont.load_default(size=size)
    left, top, right, bottom = font.getbbox(words)
    size = int(size * min(_MARGIN * width / (right - left), _MARGIN * height / (bottom - top)))
    image = Image.new("RGB", (width, height), COLORS[paint])
    ImageDraw.Draw(image).text(
        (width / 2, height / 2), words, fill=COLORS[ink], font=ImageFont.load_default(size=size), anchor="mm"
    )
    return np.asarray(image)


def spread(first: float, last: float, count: int) -> Sequence[float]:
    """So many places between two."""
    return np.linspace(first, last, count).round(2).tolist()
