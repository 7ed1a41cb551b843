"""Pictures of a city from a pose, one ray per pixel: what maps tell of it, lit from the south-east.

Colours are those that the map declares; else those usual for a kind, a house without one pale. What may stand above a
building of unknown height is drawn up to `GUESSED_M` as a chequer: it hides what is behind, and is no picture of it.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import shapely

from pipeline.core.arrays import BoolArray, FloatArray, IntArray
from pipeline.drawing.fonts import font
from pipeline.geometry.raycasting import RayScene
from pipeline.reading.maps.city_thing import BUILDING, PLAIN, SHOP, SURFACES, USUAL_RGB, CityThing
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.occluders import SPACE, Occluders, prism_mesh
from pipeline.worlds.city.visibility import GROUND_M, HEIGHT, WIDTH, pixel_rays

Picture = npt.NDArray[np.uint8]
Rgb = tuple[int, int, int]

GUESSED_M: Final = 12.0  # top of what may stand above a building of unknown height, in pictures
READABLE_PX: Final = 9  # a sign is so high in the picture before it can be read
_SIGN_SHARE: Final = 0.33  # of a shop front's height is what is written on it
_LETTERS_PX, _LINE_PX = 12, 18  # of the words of signs: size, and from one line to the next
_OTHER: Final[Rgb] = (160, 160, 160)
_GROUND: Final = np.array((150, 149, 143), dtype=np.float32)
_OUTSIDE: Final = np.array((122, 130, 104), dtype=np.float32)  # beyond what the map covers
_TRUNK: Final = np.array((104, 78, 54), dtype=np.float32)
_STONE_M, _JOINT_M, _GRAIN_M = 0.8, 0.1, 0.2  # of what is laid in stones, or of grains
_SCATTER: Final = np.array((7.0, 13.0))
_SHADE: Final = 0.84
_MARK_M: Final = 0.12  # width of the white line about a parking space
_HIDDEN: Final = np.array((206, 200, 212), dtype=np.float32)
_LINE: Final = 0.93  # of the ground's colour, in lines ten metres apart, which tell how far one has come
_SKY: Final = np.array(((216, 226, 236), (104, 156, 214)), dtype=np.float32)  # at the horizon, and 45 degrees above it
_SUN: Final = np.array((0.45, -0.55, 0.7), dtype=np.float32)
_MARK: Final = np.array((236, 236, 232), dtype=np.float32)
_NONE: Final = (np.nan, np.nan, np.nan)
_HAZE_M: Final = 700.0
_WINDOW_M: Final = 4.0  # along the wall, one each
_STOREY_M: Final = 3.2  # of a building whose storeys the map does not state
_DETAIL_M: Final = 140.0  # farther off, windows and lines are too fine


class RenderedSign(NamedTuple):
    """Words that can be read in a picture, and the column and row of their middle."""

    words: str
    column: int
    row: int


class RenderedView(NamedTuple):
    """A picture from a pose.

    Attributes:
        color: (height, width, 3).
        depth_m: (height, width), metres along the camera's axis; infinite: the sky.
        thing: (height, width), the index of what each pixel shows, or -1.
        signs: what can be read.
    """

    color: Picture
    depth_m: npt.NDArray[np.float32]
    thing: IntArray
    signs: tuple[RenderedSign, ...]


class CityRenderer:
    """Draws a city."""

    def __init__(self, city: City) -> None:
        solids = Occluders(city, GUESSED_M, has_roofs=True)
        mesh = prism_mesh(solids, GROUND_M)
        self._city, self._solids, self._mesh = city, solids, mesh
        self._scene = RayScene(mesh.vertices, mesh.faces)
        a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
        normal = np.cross(b - a, c - a)
        self._normal = (normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-9)[:, None]).astype(np.float32)
        self._paint = np.array([_rgb(t) for t in city.things] or [_OTHER], dtype=np.float32)
        self._roof = np.array([t.roof_rgb or _rgb(t) for t in city.things] or [_OTHER], dtype=np.float32)
        self._kind = np.array([t.kind for t in city.things] or [""])
        self._storey_m = np.array(
            [t.height_m / t.levels if t.height_m and t.levels else _STOREY_M for t in city.things] or [_STOREY_M]
        )
        self._pattern = np.array([SURFACES.get(t.traits.get("surface", ""), ((), ""))[1] for t in city.things] or [""])
        self._own = np.array([p.rgb or _NONE for p in solids.prisms] or [_NONE], dtype=np.float32)
        self._bounds = shapely.Polygon(city.bounds or ())

    def shoot(self, pose: FloatArray, width: int = WIDTH, height: int = HEIGHT) -> RenderedView:
        """The view from a pose (6,), 90 degrees wide whatever the size."""
        rays = pixel_rays(pose, width, height)
        face, depth = self._scene.first(rays)
        seen = np.isfinite(depth)
        color = np.empty((len(rays), 3), dtype=np.float32)
        color[~seen] = _sky(rays[~seen, 3:])
        ray, of = rays[seen], face[seen]
        point = ray[:, :3] + ray[:, 3:] * depth[seen, None]
        away = depth[seen] * np.linalg.norm(ray[:, 3:], axis=1)
        color[seen] = self._solid(point, of, away)
        prism = np.full(len(rays), len(self._solids.prisms))
        prism[seen] = self._mesh.prism[of]
        thing = np.append(self._solids.thing, -1)[prism].reshape(height, width)
        picture = color.clip(0, 255).astype(np.uint8).reshape(height, width, 3)
        return RenderedView(picture, depth.reshape(height, width), thing, self._signs(thing))

    def _solid(self, point: FloatArray, face: IntArray, away_m: FloatArray) -> FloatArray:
        """Colours (n, 3) of points (n, 3) on faces (n,)."""
        prism, normal = self._mesh.prism[face], self._normal[face]
        ground = prism == len(self._solids.prisms)
        thing = np.append(self._solids.thing, 0)[prism]
        kind, upward = self._kind[thing], normal[:, 2] > 0.5
        color = np.where(upward[:, None], self._roof[thing], self._paint[thing])
        own = np.vstack([self._own, _NONE])[prism]
        color = np.where(np.isnan(own), color, own)
        color[ground] = self._ground(point[ground], away_m[ground])
        sure = np.append(self._solids.sure, True)[prism]
        near = away_m < _DETAIL_M
        color[~sure] = np.where(_chequer(point[~sure])[:, None], _HIDDEN, 0.9 * _HIDDEN)
        wall = sure & ~upward & ~ground
        house = wall & near & (kind == BUILDING) & np.isnan(own[:, 0])
        foot = np.append(self._solids.base_m, 0.0)[prism]
        is_window = _is_window(point[house], normal[house], foot[house], self._storey_m[thing[house]])
        color[house] *= np.where(is_window, 0.62, 1.0)[:, None]
        laid, loose = (upward & near & (self._pattern[thing] == word) & ~ground for word in ("laid", "speckled"))
        color[laid & ((point[:, :2] % _STONE_M < _JOINT_M).any(1))] *= _SHADE
        color[loose & (np.floor(point[:, :2] / _GRAIN_M) @ _SCATTER % 3 == 0)] *= _SHADE
        marks = np.flatnonzero(upward & (kind == SPACE) & ~ground)
        edge = shapely.boundary(self._solids.polygons[prism[marks]])
        color[marks[shapely.distance(edge, shapely.points(point[marks, :2])) < _MARK_M]] = _MARK
        color[wall & (kind == "tree") & (foot < 1.0)] = _TRUNK
        stripes = upward & (kind == "crossing") & ~ground
        color[stripes & (np.floor(point[:, 0] / 0.6) % 2 == 0)] = (80, 80, 84)
        light = 0.62 + 0.38 * np.clip(normal @ (_SUN / np.linalg.norm(_SUN)), 0, 1)
        share = np.exp(-away_m / _HAZE_M)[:, None]
        return np.asarray(color * light[:, None] * share + _SKY[0] * (1 - share))

    def _ground(self, point: FloatArray, away_m: FloatArray) -> FloatArray:
        inside = shapely.contains_xy(self._bounds, point[:, 0], point[:, 1])
        line = (np.abs((point[:, :2] + 5.0) % 10.0 - 5.0) < 0.12).any(1) & (away_m < _DETAIL_M)
        return np.where(inside[:, None], _GROUND, _OUTSIDE) * np.where(line, _LINE, 1.0)[:, None]

    def _signs(self, thing: IntArray) -> tuple[RenderedSign, ...]:
        """The signs that are large enough, and what plain boxes stand for, from left to right."""
        found: list[RenderedSign] = []
        there = np.unique(thing[thing >= 0]).tolist()
        for i in sorted(there, key=lambda i: self._kind[i] == SHOP):  # words on a board stand on that
            own = self._city.things[i]
            row, column = np.nonzero(thing == i)
            share = _SIGN_SHARE if own.kind == SHOP else 1.0
            if share * (np.ptp(row) + 1) < READABLE_PX:
                continue
            known = {sign.words for sign in found}
            kind = own.noun if own.kind in PLAIN else own.type_shown
            lines = [words for words in (own.text if own.text not in known else None, kind) if words]
            x, y = int(column.mean()), int(row.mean())
            found += [RenderedSign(words, x, y + n * _LINE_PX) for n, words in enumerate(lines)]
        return tuple(sorted(found, key=lambda sign: (sign.column, sign.row, sign.words)))


def captioned(shot: RenderedView) -> Picture:
    """The picture with the words of its signs written where they are."""
    from PIL import Image, ImageDraw

    image = Image.fromarray(shot.color)
    draw = ImageDraw.Draw(image)
    letters = font(_LETTERS_PX)
    for sign in shot.signs:
        box = draw.textbbox((sign.column, sign.row), sign.words, font=letters, anchor="mm")
        draw.rectangle((box[0] - 2, box[1] - 1, box[2] + 2, box[3] + 1), fill=(250, 250, 246))
        draw.text((sign.column, sign.row), sign.words, fill=(20, 20, 24), font=letters, anchor="mm")
    return np.asarray(image)


def _rgb(thing: CityThing) -> Rgb:
    ground = SURFACES.get(thing.traits.get("surface", ""))
    return thing.rgb or (tuple(ground[0]) if ground else USUAL_RGB.get(thing.kind, _OTHER))


def _sky(toward: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    rise = toward[:, 2] / np.maximum(np.hypot(toward[:, 0], toward[:, 1]), 1e-6)
    return np.asarray(_SKY[0] + (_SKY[1] - _SKY[0]) * np.clip(rise, 0, 1)[:, None])


def _is_window(point: FloatArray, normal: FloatArray, foot_m: FloatArray, storey_m: FloatArray) -> BoolArray:
    """One in each storey, every four metres along the wall: whoever counts their rows counts the storeys."""
    along = (point[:, 1] * normal[:, 0] - point[:, 0] * normal[:, 1]) % _WINDOW_M / _WINDOW_M
    above = (point[:, 2] - foot_m) / storey_m % 1.0
    return np.asarray((np.abs(along - 0.5) < 0.25) & (np.abs(above - 0.55) < 0.25))


def _chequer(point: FloatArray) -> BoolArray:
    return np.asarray(np.floor(point / 2.0).sum(1) % 2 == 0)
