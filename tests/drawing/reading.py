"""Drawings read back: what was drawn, in units of their own parts, and where an ink is in a picture."""

from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Measured:
    """A part of a drawing and the line in it that measures something."""

    part: ElementTree.Element
    line: np.ndarray  # (n, 2)

    @property
    def length_m(self) -> float:
        """Of the straight line from its first to its last point."""
        return float(np.hypot(*(self.line[-1] - self.line[0]))) / float(self.part.attrib["data-per-m"])


def parts(svg: str, name: str) -> list[ElementTree.Element]:
    """The parts of a drawing that have a name."""
    return [e for e in ElementTree.fromstring(svg).iter() if e.get("data-part") == name]  # noqa: S314 - ours


def measured(svg: str, part: str, fact: str, subject: str | None = None) -> list[Measured]:
    """The lines of a part that measure a fact."""
    return [
        Measured(found, points(line.attrib["d"]))
        for found in parts(svg, part)
        for line in found.iter(f"{SVG}path")
        if line.get("data-fact") == fact and subject in {None, line.get("data-subject")}
    ]


def points(d: str) -> np.ndarray:
    """The points (n, 2) of a path that is one line."""
    return np.array([[float(v) for v in pair.split(",")] for pair in d.removeprefix("M").removesuffix("Z").split()])


def texts(svg: str) -> list[str]:
    """All that is written."""
    return ["".join(e.itertext()) for e in ElementTree.fromstring(svg).iter(f"{SVG}text")]  # noqa: S314


Box = tuple[int, int, int, int]


def bounds(picture: npt.NDArray[np.uint8], ink: tuple[int, int, int], within: Box = (0, 0, 640, 360)) -> Box | None:
    """First column and row, last column and row of the pixels of an ink, of those within; None where there are none."""
    left, top, right, bottom = within
    rows, columns = np.nonzero((picture[top : bottom + 1, left : right + 1] == ink).all(2))
    if not len(rows):
        return None
    return int(columns.min()) + left, int(rows.min()) + top, int(columns.max()) + left, int(rows.max()) + top
