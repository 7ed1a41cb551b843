"""Pictures of the city, one ray per pixel: lit blocks with windows, streets, sky."""

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.geometry.raycasting import RayScene
from pipeline.samples.common.camera import Lens
from pipeline.samples.flight.city import COLUMNS, PITCH_M, ROWS, STREET_M, Block, Color, Facet, facets
from pipeline.worlds.flight.facts import FlightCamera

Float32 = npt.NDArray[np.float32]
Int32 = npt.NDArray[np.int32]

# Light on what faces west, east, south, north, down and up, shared between them; the sun stands in the south-east.
_LIGHT: Final = ((0.70, 0.92), (0.80, 0.86), (0.50, 1.0))
_SKY: Final[tuple[Color, Color]] = ((214, 226, 238), (96, 150, 214))  # at the horizon and 45 degrees above it
_GROUND: Final[tuple[Color, ...]] = ((128, 146, 96), (92, 92, 96), (164, 162, 156), (216, 216, 206))  # meadow first
_PLAIN: Final = len(_GROUND) + 1  # rows of the palette that are neither facets nor windows: the ground and the sky
_GROUND_M: Final = 3000.0
_HAZE_M: Final = 900.0  # distance at which two thirds of the colour are the horizon's
_HAZE_STEP_M: Final = 12.0
_HAZE_LEVELS: Final = 128
_LINE_M: Final = 0.3  # half the width of the broken line in the middle of a street
_NORTH_M: Final = ROWS * PITCH_M + STREET_M / 2
_WINDOW_M: Final = (4.0, 3.2)  # one window each, along the wall and upwards
_WINDOW_SHADE: Final = np.float32(0.6)
_WINDOWED_M: Final = 160.0  # farther windows are too small to be drawn
_CAMERA_LEAST_M: Final = 0.2  # the drone stands on legs


class RenderedFrame(NamedTuple):
    """The content of one frame.

    Attributes:
        color: (h, w, 3) RGB.
        block: (h, w) index of the block seen; -1 for ground and sky.
    """

    color: npt.NDArray[np.uint8]
    block: npt.NDArray[np.int32]


def lens_of(camera: FlightCamera) -> Lens:
    """The pinhole lens of a camera; its axis passes through the middle of the picture."""
    f = camera.width / 2 / math.tan(math.radians(camera.horizontal_fov_deg) / 2)
    return Lens(camera.width, camera.height, f, f, (camera.width - 1) / 2, (camera.height - 1) / 2)


def camera_axes(heading_deg: float, pitch_deg: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Right, down and forward (3,) each, of a camera that does not roll; heading clockwise from north (y)."""
    sh, ch = math.sin(math.radians(heading_deg)), math.cos(math.radians(heading_deg))
    sp, cp = math.sin(math.radians(pitch_deg)), math.cos(math.radians(pitch_deg))
    return np.array([ch, -sh, 0.0]), np.array([sh * sp, ch * sp, -cp]), np.array([sh * cp, ch * cp, sp])


class FlightRenderer:
    """Renders the city through one lens."""

    def __init__(self, blocks: tuple[Block, ...], lens: Lens) -> None:
        self._lens = lens
        mesh = _mesh(blocks)
        self._scene = RayScene(mesh.vertices, mesh.faces)
        self._mesh, self._rows = mesh, len(mesh.colors)
        self._palette = _palette(mesh.colors)
        self._x = ((np.arange(lens.width) - lens.cx) / lens.fx).astype(np.float32)
        self._y = ((np.arange(lens.height) - lens.cy) / lens.fy).astype(np.float32)

    def shoot(self, xyz_m: FloatArray, heading_deg: float, pitch_deg: float) -> RenderedFrame:
        """One frame from a place (3,) in the city."""
        eye = np.array([xyz_m[0], xyz_m[1], max(xyz_m[2], _CAMERA_LEAST_M)], dtype=np.float32)
        right, down, ahead = (axis.astype(np.float32) for axis in camera_axes(heading_deg, pitch_deg))
        rays = np.empty((self._lens.height * self._lens.width, 6), dtype=np.float32)
        rays[:, :3] = eye
        toward = tuple(
            (right[axis] * self._x + (down[axis] * self._y + ahead[axis])[:, None]).ravel() for axis in range(3)
        )
        rays[:, 3:] = np.stack(toward, axis=1)
        seen, depth = self._scene.first(rays)  # no facet: the sky
        row = np.append(self._mesh.row, self._rows + 1)[seen].astype(np.int32)
        shape = (self._lens.height, self._lens.width)
        entries = self._entries(eye, toward, depth, row, np.append(self._mesh.glazed, np.int8(-1))[seen])
        color = self._palette[entries].view(np.uint8).reshape(*shape, 4)[..., :3]
        block = np.append(self._mesh.block, np.int32(-1))[seen]
        return RenderedFrame(np.ascontiguousarray(color), block.reshape(shape))

    def _entries(
        self, eye: Float32, toward: tuple[Float32, ...], depth: Float32, facet: Int32, glazed: npt.NDArray[np.int8]
    ) -> Int32:
        """Where the palette has the colours (N,) of the pixels, of which the row of the facet is known."""
        row = facet.copy()
        level = (np.minimum(depth, _HAZE_LEVELS * _HAZE_STEP_M - 1) / _HAZE_STEP_M).astype(np.int32)
        panes = np.flatnonzero((depth < _WINDOWED_M) & (glazed >= 0))
        far = depth[panes]
        x, y, z = (start + far * axis[panes] for start, axis in zip(eye, toward, strict=True))
        row[panes] += np.where(_is_window(np.where(glazed[panes] == 0, y, x), z), self._rows + _PLAIN, 0)
        ground = np.flatnonzero(facet == self._rows)
        far = depth[ground]
        row[ground] += _ground_kind(eye[0] + far * toward[0][ground], eye[1] + far * toward[1][ground])
        sky = np.flatnonzero(facet > self._rows)
        rise = toward[2][sky] / np.hypot(toward[0][sky], toward[1][sky])
        row[sky] = self._rows + len(_GROUND)
        level[sky] = np.clip(rise * _HAZE_LEVELS, 0, _HAZE_LEVELS - 1)
        return np.asarray(row * _HAZE_LEVELS + level)


def _palette(side_color: Float32) -> npt.NDArray[np.uint32]:
    """Colours by row and level of haze, flat, four bytes each: sides, kinds of ground, sky, and the sides' windows."""
    level = np.arange(_HAZE_LEVELS, dtype=np.float32)[:, None]
    low, high = np.array(_SKY, dtype=np.float32)
    solid = np.concatenate([side_color, np.array(_GROUND, dtype=np.float32), low[None], side_color * _WINDOW_SHADE])
    seen = np.exp(-level * _HAZE_STEP_M / _HAZE_M)
    color = solid[:, None] * seen + low * (1 - seen)
    color[len(side_color) + len(_GROUND)] = low + (high - low) * level / _HAZE_LEVELS
    packed = np.zeros((*color.shape[:2], 4), dtype=np.uint8)
    packed[..., :3] = color
    return packed.reshape(-1, 4).view(np.uint32)[:, 0].copy()


def _is_window(along: Float32, up: Float32) -> npt.NDArray[np.bool_]:
    """Whether there is a window at these points (N,) of walls."""
    across, above = along % _WINDOW_M[0] / _WINDOW_M[0], up % _WINDOW_M[1] / _WINDOW_M[1]
    return np.asarray((np.abs(across - 0.5) < 0.25) & (np.abs(above - 0.55) < 0.25))


def _ground_kind(x: Float32, y: Float32) -> npt.NDArray[np.int32]:
    """The kind of ground at these points (N,), an index of `_GROUND`: streets run between blocks of pavement."""
    half = np.float32(PITCH_M / 2)
    from_x, from_y = (np.abs((at + half) % np.float32(PITCH_M) - half) for at in (x, y))  # the middle of the streets
    in_x, in_y = from_x < STREET_M / 2, from_y < STREET_M / 2
    dash_x, dash_y = (from_x < _LINE_M) & ~in_y & (y % 8 < 4), (from_y < _LINE_M) & ~in_x & (x % 8 < 4)
    town = (np.minimum(x, y) > -STREET_M / 2) & (x < COLUMNS * PITCH_M + STREET_M / 2) & (y < _NORTH_M)
    kind = np.where(in_x | in_y, np.where(dash_x | dash_y, np.int32(3), np.int32(1)), np.int32(2))
    return np.asarray(kind * town)


class _Mesh(NamedTuple):
    """Triangles of the city, those of the ground last.

    Attributes:
        vertices: (V, 3).
        faces: (F, 3).
        row: (F,) row of the palette; the ground has the row after the last.
        block: (F,) index of its block; -1 for the ground.
        glazed: (F,) along which axis its windows stand, 0 for y and 1 for x; -1 without windows.
        colors: (rows, 3) what the light leaves of each colour.
    """

    vertices: Float32
    faces: npt.NDArray[np.uint32]
    row: Int32
    block: Int32
    glazed: npt.NDArray[np.int8]
    colors: Float32


def _mesh(blocks: tuple[Block, ...]) -> _Mesh:
    found = [(i, f) for i, b in enumerate(blocks) for f in facets(b.form, b.low, b.high, b.color, b.sign)]
    rows: dict[tuple[float, ...], int] = {}
    vertices, faces, per_face = [], [], []
    count = 0
    for index, facet in found:
        lit = _lit(facet)
        tall = blocks[index].high[2] > 2 * _WINDOW_M[1]
        across = np.abs(facet.corners[1] - facet.corners[0])
        glazed = int(across[0] > across[1]) if facet.windows and tall else -1
        k = len(facet.corners)
        faces += [(count, count + i, count + i + 1) for i in range(1, k - 1)]
        per_face += [(rows.setdefault(lit, len(rows)), index, glazed)] * (k - 2)
        vertices.append(facet.corners)
        count += k
    g = _GROUND_M
    vertices.append(np.array([[-g, -g, 0], [g, -g, 0], [g, g, 0], [-g, g, 0]]))
    faces += [(count, count + 1, count + 2), (count, count + 2, count + 3)]
    row, block, glazed_of = np.array([*per_face, *[(len(rows), -1, -1)] * 2], dtype=np.int32).T
    return _Mesh(
        np.concatenate(vertices).astype(np.float32),
        np.array(faces, dtype=np.uint32),
        row,
        block,
        glazed_of.astype(np.int8),
        np.array(list(rows), dtype=np.float32),
    )


def _lit(facet: Facet) -> tuple[float, ...]:
    """A facet's colour as the light leaves it: shares of what faces the six ways, rounded, so that many are one."""
    a, b, c = facet.corners[0], facet.corners[1], facet.corners[-1]
    normal = np.cross(b - a, c - a)
    share = (normal / max(float(np.linalg.norm(normal)), 1e-12)) ** 2
    light = sum(float(s) * _LIGHT[axis][int(normal[axis] > 0)] for axis, s in enumerate(share))
    return tuple(round(part * round(light, 2), 3) for part in facet.color)
