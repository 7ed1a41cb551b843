"""A sheet: what is drawn of one question, parts below one another, pictures of its video beside them; SVG and PNG.

For the PNG, resvg draws lines and texts, and what lies under these is pasted. A picture of a video in an SVG costs
resvg more than all else, and the ground of a scene is the same for all of its questions: both are pixels already. The
parts of a sheet are drawn one by one, as many of them come again in the next question, and what is empty between them
costs as much as what is drawn.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import escape
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import FloatArray
from pipeline.core.templates import load_table
from pipeline.drawing.canvas import LINE, TEXT, Canvas, CanvasBox
from pipeline.drawing.fonts import FAMILY, font_file, lines_of, shortened

WIDTH: Final = 560.0  # of the parts
STILL: Final = (400.0, 300.0)  # of a picture of the video, at most; two in a row are smaller
_SMALL: Final = (280.0, 210.0)
_GAP: Final = 12.0
_CAPTION: Final = 20.0
_FEW: Final = 2  # pictures below one another
MOST_STILLS: Final = 6
MAP_VIEW: Final = "map"
_QUALITY: Final = 82
_KEPT: Final = 32  # pictures, of 0.9 MB each as they come
PANEL: Final = "#f6f7f9"
_STYLE: Final[str] = (
    load_table("drawings/style")["svg"].replace("\n", "").replace("FAMILY", FAMILY).replace("PANEL", PANEL)
)


@dataclass(frozen=True)
class StillPicture:
    """A picture of a video with what is marked on it.

    Attributes:
        second: of the video.
        picture: (h, w, 3) RGB.
        caption: below it.
        marks: class, lines (each (n, 2), in shares of the picture from its upper left corner), and a name or "".
        attributes: what a reader measures by.
    """

    second: float
    picture: npt.NDArray[np.uint8]
    caption: str
    marks: Sequence[tuple[str, Sequence[FloatArray], str]] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SheetPart:
    """A map, a section or a chart, and what a reader of the drawing measures by."""

    canvas: Canvas
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class Sheet:
    """The drawing of one question.

    Attributes:
        title: of the drawing, for those who do not see it.
        parts: below one another.
        notes: lines below them.
        stills: pictures of the video.
    """

    title: str
    parts: Sequence[SheetPart]
    notes: Sequence[str] = ()
    stills: Sequence[StillPicture] = ()

    def without_stills(self) -> Sheet:
        """The drawing alone: all that may be passed on where the video may not."""
        return Sheet(self.title, self.parts, self.notes)

    def svg(self) -> str:
        """The sheet as a file of its own."""
        body = self.body
        paper = f'<rect class="paper" width="{body.width:g}" height="{body.height:g}"/>'
        return svg_of(f"{self._map_view()}{paper}{body.elements()}", body.width, body.height, self.title)

    def _map_view(self) -> str:
        """What `FILE.svg#map` shows: the first part alone, which is read where the whole sheet is too small."""
        if not self.parts:
            return ""
        first = self.parts[0].canvas
        return f'<view id="{MAP_VIEW}" viewBox="{_GAP:g} {_GAP:g} {first.width:g} {first.height:g}"/>'

    @cached_property
    def body(self) -> Canvas:
        """All of it in its place."""
        body = Canvas(0, 0)
        y = _GAP
        for part in self.parts:
            body.put(part.canvas, (_GAP, y), part.attributes, panel=True)
            y += part.canvas.height + _GAP
        lines = [line for note in self.notes for line in lines_of(note, TEXT, WIDTH)]
        if lines:
            notes = Canvas(WIDTH, LINE * len(lines))
            for n, line in enumerate(lines, 1):
                notes.text("note", (0, n * LINE - 4), line)
            body.put(notes, (_GAP, y))
            y += notes.height
        right, low = self._pictures(body)
        body.width, body.height = max(WIDTH + 2 * _GAP, right), max(y + _GAP, low)
        return body

    def _pictures(self, body: Canvas) -> tuple[float, float]:
        """Draws the pictures to the right of the parts; gives the right and lower edge."""
        left, top = WIDTH + 2 * _GAP, _GAP
        columns, most = (1, STILL) if len(self.stills) <= _FEW else (2, _SMALL)
        right, low = left, top
        for start in range(0, len(self.stills), columns):
            x, bottom = left, top
            for still in self.stills[start : start + columns]:
                canvas = _drawn(still, most)
                body.put(canvas, (x, top), {"part": "still", "second": f"{still.second:g}", **still.attributes})
                x, bottom = x + canvas.width + _GAP, max(bottom, top + canvas.height + _GAP)
            right, top = max(right, x), bottom
            low = max(low, bottom)
        return (right, low) if self.stills else (0.0, 0.0)


def svg_of(elements: str, width: float, height: float, title: str = "", beyond: int = 0) -> str:
    """Elements as a file of their own, with the colours of all drawings; ``beyond``: units shown around them."""
    width, height = width + 2 * beyond, height + 2 * beyond
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="{-beyond} {-beyond} {width:g} {height:g}" font-size="{TEXT}" role="img">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style>{elements}</svg>\n"
    )


class MapAlone(NamedTuple):
    """The first part of a sheet as a drawing of its own; its width and height in units."""

    svg: bytes
    width: float
    height: float


_VIEW: Final = re.compile(rf'<view id="{MAP_VIEW}" viewBox="([\d.]+ [\d.]+ ([\d.]+) ([\d.]+))"/>'.encode())
_FRAME: Final = re.compile(rb' width="[^"]*" height="[^"]*" viewBox="[^"]*"')


def map_alone(svg: bytes) -> MapAlone | None:
    """The first part of a written sheet (`Sheet.svg`); None of any other drawing."""
    view = _VIEW.search(svg)
    if view is None:
        return None
    box, width, height = view[1], view[2], view[3]
    frame = b' width="%b" height="%b" viewBox="%b"' % (width, height, box)
    return MapAlone(_FRAME.sub(frame, svg, count=1), float(width), float(height))


def _drawn(still: StillPicture, most: tuple[float, float]) -> Canvas:
    rows, columns = still.picture.shape[:2]
    scale = min(most[0] / columns, most[1] / rows)
    width, height = round(columns * scale), round(rows * scale)
    canvas = Canvas(width, height + _CAPTION)
    canvas.image(jpeg_of(still.picture, width, height), CanvasBox(0, 0, width, height))
    shown = Canvas(width, height)
    for kind, lines, name in still.marks:
        placed = [np.asarray(line) * [width, height] for line in lines]
        shown.shape("edge", placed, closed=False)
        shown.shape(f"{kind} onvideo", placed, closed=False)
        if name and placed:
            corner = np.concatenate(placed)
            inside = np.clip(corner, 0, [width, height])
            shown.label("name", (float(inside[:, 0].mean()), float(inside[:, 1].min())), name, 4.0)
    canvas.put(shown, (0, 0), {"part": "marks"})
    canvas.text("small", (0, height + _CAPTION - 6), shortened(still.caption, 11, width), size=11)
    return canvas


def jpeg_of(picture: npt.NDArray[np.uint8], width: int, height: int) -> bytes:
    """A picture as JPEG of so many pixels."""
    rows, columns = picture.shape[:2]
    return _jpeg(picture.tobytes(), columns, rows, width, height)


@lru_cache(maxsize=_KEPT)  # a scene has few pictures that show its objects best, and many questions about these
def _jpeg(pixels: bytes, columns: int, rows: int, width: int, height: int) -> bytes:
    image = Image.frombytes("RGB", (columns, rows), pixels)
    image = image.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2.0)
    raw = io.BytesIO()
    image.save(raw, "JPEG", quality=_QUALITY)
    return raw.getvalue()


_GROUNDS: Final = 8  # that are kept, of 0.9 MB each
_ABOVE: Final = 32  # that are kept, of 0.5 MB each: a still or a chart is the same in many questions of a scene
_BEYOND: Final = 6  # pixels around a part, for wide lines and texts at its edge
_UP: Final = 2  # PNG's filter: the difference to the pixel above; for the first line, to nothing
_RGB: Final = 2  # PNG's kind of pixels
_AS_IT_IS: Final = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)  # neither moved nor scaled


def png_of(sheet: Sheet) -> bytes:
    """A sheet as PNG, light, with the font of `fonts` and no other: the same bytes on every machine."""
    body = sheet.body
    page = Image.new("RGB", (round(body.width), round(body.height)), "white")
    for part in body.placed():
        x, y = round(part.at[0]), round(part.at[1])
        if part.panel:
            page.paste(_ground(part.canvas.beginning(), part.canvas.width, part.canvas.height), (x, y))
        for left, top, photo in part.canvas.photos():
            page.paste(_photo(photo.jpeg), (x + round(left), y + round(top)))
        beyond = 0 if part.cut else _BEYOND
        above = _draw_above(part.canvas.rest(), part.canvas.width, part.canvas.height, beyond)
        page.paste(above, (x - beyond, y - beyond), above)
    return _packed(page)


def _packed(page: Image.Image) -> bytes:
    """RGB pixels as PNG, each line as what differs from the one above it: half the time of trying what is smallest."""
    pixels = np.asarray(page).reshape(page.height, -1)
    lines = np.full((page.height, 1 + pixels.shape[1]), _UP, dtype=np.uint8)
    lines[0, 1:] = pixels[0]
    np.subtract(pixels[1:], pixels[:-1], out=lines[1:, 1:])
    header = struct.pack(">IIBBBBB", page.width, page.height, 8, _RGB, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 1)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
        for kind, body in chunks
    )


@lru_cache(maxsize=_KEPT)
def _photo(jpeg: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(jpeg))
    image.load()
    return image


@lru_cache(maxsize=_ABOVE)
def _draw_above(elements: str, width: float, height: float, beyond: int) -> Image.Image:
    """A part's lines and texts, and what of them is so many pixels beyond its edges."""
    drawn = pixels_of(svg_of(elements, width, height, beyond=beyond))
    drawn.load()
    return drawn


@lru_cache(maxsize=_GROUNDS)
def _ground(elements: str, width: float, height: float) -> Image.Image:
    """A part's panel with what it has in common with others."""
    page = Image.new("RGB", (round(width), round(height)), PANEL)
    if elements:
        drawn = pixels_of(svg_of(elements, width, height))
        page.paste(drawn, (0, 0), drawn)
    return page


def pixels_of(svg: str) -> Image.Image:
    """A drawing on transparent ground, RGBA."""
    import resvg

    options = resvg.usvg.Options.default()  # one for each drawing: it may not go to another thread
    options.load_font_file(font_file())
    options.font_family = FAMILY
    return Image.open(io.BytesIO(resvg.render(resvg.usvg.Tree.from_str(svg, options), _AS_IT_IS)))
