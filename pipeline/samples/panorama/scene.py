"""A street as it is put together: things, the solids that they consist of, and pictures on them.

Along a street: ``along`` grows in the direction in which it runs, ``across`` to the right of that, metres; for a street
that runs north these are y and x, for one that runs east x and -y. Solids are triangles in the town frame (metres, x
east, y north, the ground at z = 0), each of which knows what things it belongs to and how it looks.
"""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.samples.common.city_plan import Color
from pipeline.samples.panorama.towns import COLORS, PlannedStreet

PLAIN, FACADE, LEAVES, GLASS, STRIPES, ROOF, GROUND = range(7)  # looks; a picture's is PICTURE plus its number
PICTURE: Final = 16
_BOX: Final = np.array(
    [(0, 2, 3), (0, 3, 1), (4, 5, 7), (4, 7, 6), (0, 1, 5), (0, 5, 4), (2, 6, 7), (2, 7, 3), (0, 4, 6), (0, 6, 2),
     (1, 3, 7), (1, 7, 5)]
)  # fmt: skip


class StreetMesh(NamedTuple):
    """Triangles.

    Attributes:
        vertices: (V, 3).
        faces: (F, 3).
        owners: (F,) index of `groups`.
        looks: (F,).
        colors: (F, 3), 0 to 255.
        frames: (F, 9) of pictures: where their lower left corner is, and across and up, each divided by the square of
            its length.
        groups: the things that faces belong to, by index.
    """

    vertices: FloatArray
    faces: IntArray
    owners: IntArray
    looks: IntArray
    colors: FloatArray
    frames: FloatArray
    groups: tuple[tuple[int, ...], ...]


class StreetSolids:
    """Collects solids."""

    def __init__(self) -> None:
        self._vertices: list[FloatArray] = []
        self._faces: list[IntArray] = []
        self._rows: list[tuple[int, int, int, Color, FloatArray]] = []
        self._groups: dict[tuple[int, ...], int] = {(): 0}
        self._count = 0

    def add(
        self, vertices: FloatArray, faces: IntArray, color: Color, of: Sequence[int] = (), look: int = PLAIN,
        frame: FloatArray | None = None,
    ) -> None:  # fmt: skip
        """Adds triangles (n, 3) of vertices (m, 3), which belong to some things."""
        group = self._groups.setdefault(tuple(of), len(self._groups))
        self._vertices.append(vertices)
        self._faces.append(faces + self._count)
        self._count += len(vertices)
        self._rows.append((len(faces), group, look, color, np.zeros(9) if frame is None else frame))

    def box(
        self, low: Sequence[float], high: Sequence[float], color: Color, of: Sequence[int] = (), look: int = PLAIN
    ) -> None:
        """A box with upright sides along the axes."""
        ends = np.array([low, high], dtype=np.float64)
        corners = np.array([[ends[k & 1, 0], ends[k >> 1 & 1, 1], ends[k >> 2, 2]] for k in range(8)])
        self.add(corners, _BOX, color, of, look)

    def picture(self, corner: FloatArray, across: FloatArray, up: FloatArray, number: int, of: Sequence[int]) -> None:
        """A rectangle with a picture: its lower left corner, and its lower and left side, (3,) each."""
        vertices = np.array([corner, corner + across, corner + across + up, corner + up])
        frame = np.concatenate([corner, across / (across @ across), up / (up @ up)])
        self.add(vertices, np.array([(0, 1, 2), (0, 2, 3)]), (255, 255, 255), of, PICTURE + number, frame)

    def lathe(
        self, center: tuple[float, float], profile: Sequence[tuple[float, float]], color: Color, of: Sequence[int] = (),
        look: int = PLAIN, sides: int = 10,
    ) -> None:  # fmt: skip
        """A body of revolution about an upright axis; its profile: (radius, height) from below."""
        angle = 2 * math.pi * np.arange(sides) / sides
        ring = np.column_stack([np.cos(angle), np.sin(angle)])
        rows = [np.column_stack([center + radius * ring, np.full(sides, height)]) for radius, height in profile]
        k = np.arange(sides)
        n = (k + 1) % sides
        faces = [
            np.concatenate([
                np.column_stack([level + k, level + n, level + sides + n]),
                np.column_stack([level + k, level + sides + n, level + sides + k]),
            ])
            for level in range(0, sides * (len(profile) - 1), sides)
        ]  # fmt: skip
        self.add(np.concatenate(rows), np.concatenate(faces), color, of, look)

    def roof(
        self, low: tuple[float, float], high: tuple[float, float], base: float, rise: float, ridge: float, color: Color,
        of: Sequence[int],
    ) -> None:  # fmt: skip
        """A roof over a rectangle: ``ridge`` is that of the longer side that its ridge takes, 0 a pyramid's."""
        (x, y), (u, v) = low, high
        cx, cy = (x + u) / 2, (y + v) / 2
        if u - x >= v - y:
            ends = [(cx - ridge * (u - x) / 2, cy, base + rise), (cx + ridge * (u - x) / 2, cy, base + rise)]
        else:
            ends = [(cx, cy - ridge * (v - y) / 2, base + rise), (cx, cy + ridge * (v - y) / 2, base + rise)]
        vertices = np.array([(x, y, base), (u, y, base), (u, v, base), (x, v, base), *ends])
        if u - x >= v - y:
            faces = [(0, 1, 5), (0, 5, 4), (2, 3, 4), (2, 4, 5), (1, 2, 5), (3, 0, 4)]
        else:
            faces = [(1, 2, 5), (1, 5, 4), (3, 0, 4), (3, 4, 5), (0, 1, 4), (2, 3, 5)]
        self.add(vertices, np.array(faces), color, of, ROOF)

    def mesh(self) -> StreetMesh:
        """All of them."""
        counts = [row[0] for row in self._rows]
        return StreetMesh(
            np.concatenate(self._vertices),
            np.concatenate(self._faces),
            np.repeat([row[1] for row in self._rows], counts),
            np.repeat([row[2] for row in self._rows], counts),
            np.repeat(np.array([row[3] for row in self._rows], dtype=np.float64), counts, axis=0),
            np.repeat(np.array([row[4] for row in self._rows]), counts, axis=0),
            tuple(self._groups),
        )


def unit_normals(mesh: StreetMesh) -> FloatArray:
    """(F, 3), outwards."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    return np.asarray(normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None])


Picture = npt.NDArray[np.uint8]
_TEXT_PX: Final = 44  # height of a sign's picture
_MARGIN: Final = 0.86  # of a sign, that its words fill at most


class StreetThing(NamedTuple):
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


class StreetScene:
    """Collects the things and solids of one place.

    Args:
        street: on which it lies.
        middle: where on the street.
    """

    def __init__(self, street: PlannedStreet, middle: float) -> None:
        self.street, self.middle = street, middle
        self.solids = StreetSolids()
        self.things: list[StreetThing] = []
        self.pictures: list[Picture] = []
        self.roofs: list[tuple[tuple[float, float], tuple[float, float], float]] = []  # of houses: corners and height

    def thing(
        self, label: str, at: tuple[float, float] | None, slot: str | None = None, name: str | None = None,
        kind: str | None = None, **attributes: str,
    ) -> int:  # fmt: skip
        """Notes a thing; gives its index, which its solids are to be given."""
        number = sum(one.label == label for one in self.things) + 1
        made = StreetThing(f"{label} {number}", label, at, slot, name, kind, tuple(sorted(attributes.items())))
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

    def far(self, camera: FloatArray, thing: StreetThing) -> float | None:
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
