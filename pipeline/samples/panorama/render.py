"""Panoramas of a sample street by ray casting: colours, distances, and which things each pixel shows."""

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, IntArray
from pipeline.geometry.raycasting import RayScene
from pipeline.samples.common.city_plan import PITCH_M, STREET_M
from pipeline.samples.panorama.scene import (
    FACADE,
    GLASS,
    GROUND,
    LEAVES,
    PICTURE,
    ROOF,
    STRIPES,
    Picture,
    StreetMesh,
    StreetScene,
    unit_normals,
)
from pipeline.samples.panorama.towns import Town

Floats = npt.NDArray[np.floating[Any]]  # single precision where there are many: millimetres

WIDTH: Final = 2048
HEIGHT: Final = 1024
_ROWS: Final = 64  # cast at once, which fit into the processor's cache
_PAD_DEG: Final = 4.0  # an edge overhead rises higher between its ends
_GROUND_M: Final = 1500.0
_KERB_M: Final = 6.0
_LINE_M: Final = 0.09
_WINDOW_M: Final = (2.6, 3.2)
_SUB: Final = tuple((i / 3, j / 3) for i in (-1, 0, 1) for j in (-1, 0, 1))  # of a pixel's sides
_HAZE_M: Final = 900.0
_SKY: Final = np.array(((222, 230, 238), (96, 148, 212)), dtype=np.float32)
_SHADE: Final = np.float32(0.58)  # of the light that reaches what the sun does not
_ROAD: Final = {"asphalt": (96, 97, 101), "cobblestone": (132, 126, 118), "brick": (150, 104, 88)}
_LINES: Final = {"white": (232, 232, 226), "yellow": (226, 186, 52)}


class RenderedPanorama(NamedTuple):
    """A panorama (H, W): colours (…, 3), metres to what is seen, NaN for the sky, and the index of its owners."""

    color: Picture
    depth_m: Floats
    owners: IntArray


class PanoramaRenderer:
    """Renders one scene."""

    def __init__(self, scene: StreetScene, town: Town) -> None:
        g = _GROUND_M
        corners = np.array([(-g, -g, 0.0), (g, -g, 0.0), (g, g, 0.0), (-g, g, 0.0)])
        scene.solids.add(corners, np.array([(0, 1, 2), (0, 2, 3)]), (0, 0, 0), (), GROUND)
        self._mesh: StreetMesh = scene.solids.mesh()
        self.groups = self._mesh.groups
        self._worded = np.zeros(len(self.groups), dtype=bool)
        self._worded[self._mesh.owners[self._mesh.looks >= PICTURE]] = True
        self._normals = unit_normals(self._mesh).astype(np.float32)
        self._colors, self._frames = (part.astype(np.float32) for part in (self._mesh.colors, self._mesh.frames))
        self._pictures = scene.pictures
        self._town = town
        self._size = town.plan.size_m
        bearing = math.radians(205.0 if town.plan.origin.lat_deg > 0 else 25.0)  # afternoon, from the equator's side
        sun = np.array([math.sin(bearing), math.cos(bearing), 1.25])
        self._sun = (sun / np.linalg.norm(sun)).astype(np.float32)
        self._rays = RayScene(self._mesh.vertices, self._mesh.faces)

    def shoot(self, camera: Floats, heading_deg: float, width: int = WIDTH, height: int = HEIGHT) -> RenderedPanorama:
        """All around a place (3,); the middle column looks along a compass heading."""
        color = np.empty((height, width, 3), dtype=np.uint8)
        depth = np.empty((height, width), dtype=np.float32)
        owners = np.empty((height, width), dtype=np.int64)
        for first in range(0, height, _ROWS):
            rows = slice(first, min(first + _ROWS, height))
            toward = _directions(heading_deg, np.arange(width), np.arange(height)[rows], width, height)
            shot = self._cast(camera, toward)
            self._sharpen(shot, camera, toward, (math.radians(360 / width), math.radians(180 / height)))
            shape = (rows.stop - rows.start, width)
            color[rows] = shot.color.reshape(*shape, 3)
            depth[rows], owners[rows] = shot.depth_m.reshape(shape), shot.owners.reshape(shape)
        return RenderedPanorama(color, depth, owners)

    def alone(self, camera: Floats, heading_deg: float, width: int, height: int, thing: int) -> int:
        """How many pixels of a panorama would show a thing if nothing stood before it."""
        own = [k for k, group in enumerate(self.groups) if thing in group]
        faces = self._mesh.faces[np.isin(self._mesh.owners, own)]
        away = self._mesh.vertices[np.unique(faces)] - camera
        middle = math.degrees(math.atan2(*away[:, :2].mean(0).tolist()))
        yaw = (np.degrees(np.arctan2(away[:, 0], away[:, 1])) - middle + 180.0) % 360.0 - 180.0
        pitch = np.degrees(np.arctan2(away[:, 2], np.hypot(away[:, 0], away[:, 1])))
        low, high = max(-90.0, float(pitch.min()) - _PAD_DEG), min(90.0, float(pitch.max()) + _PAD_DEG)
        # The same rays as those of the panorama, as far as any may meet the thing.
        left = math.floor(((middle + float(yaw.min()) - _PAD_DEG - heading_deg) / 360.0 + 0.5) * width)
        columns = np.arange(left, left + math.ceil((np.ptp(yaw) + 2 * _PAD_DEG) / 360.0 * width) + 1)[:width]
        rows = np.arange(math.floor((0.5 - high / 180.0) * height), math.ceil((0.5 - low / 180.0) * height))
        toward = _directions(heading_deg, columns, rows, width, height)
        scene = RayScene(self._mesh.vertices, faces)
        return int(scene.meets(_rays(camera, toward)).sum())

    def _cast(self, camera: Floats, toward: Floats) -> RenderedPanorama:
        face, far = self._rays.first(_rays(camera, toward))
        is_seen = np.isfinite(far)
        seen, sky = np.flatnonzero(is_seen), np.flatnonzero(~is_seen)
        color = np.empty((len(face), 3), dtype=np.float32)
        share = np.clip(toward[sky, 2] * 1.4, 0, 1) ** 0.7
        color[sky] = _SKY[0] + (_SKY[1] - _SKY[0]) * share[:, None]
        on, to, away = face.take(seen), toward.take(seen, axis=0), far.take(seen)
        color[seen] = self._lit(camera.astype(np.float32) + to * away[:, None], to, on, away)
        owners = np.zeros(len(face), dtype=np.int64)
        owners[seen] = self._mesh.owners.take(on)
        return RenderedPanorama(color.clip(0, 255).astype(np.uint8), np.where(is_seen, far, np.nan), owners)

    def _sharpen(self, shot: RenderedPanorama, camera: Floats, toward: Floats, pixel: tuple[float, float]) -> None:
        """Where pixels (n,) show words, and about what hangs before them, the mean of several rays of each."""
        shown = np.flatnonzero(self._worded[shot.owners])
        level = np.hypot(toward[shown, 0], toward[shown, 1])
        right = np.column_stack([toward[shown, 1], -toward[shown, 0], np.zeros(len(shown))]) / level[:, None]
        up = np.cross(right, toward[shown])
        total = np.zeros((len(shown), 3))
        for i, j in _SUB:
            rays = toward[shown] + (i * pixel[0] * level)[:, None] * right + j * pixel[1] * up
            total += self._cast(camera, rays / np.linalg.norm(rays, axis=1)[:, None]).color
        shot.color[shown] = np.rint(total / len(_SUB))

    def _lit(self, point: Floats, toward: Floats, face: IntArray, far: Floats) -> Floats:
        """Colours (n, 3) of points (n, 3) on faces (n,)."""
        normal, look = self._normals.take(face, axis=0), self._mesh.looks.take(face)
        color = self._colors.take(face, axis=0)
        normal[np.flatnonzero((normal * toward).sum(1) > 0)] *= -1
        near = far < 140.0
        wall = (look == FACADE) & (np.abs(normal[:, 2]) < 0.5) & near
        color[wall] = _facade(color[wall], point[wall], normal[wall])
        glass = look == GLASS
        color[glass] = _glass(color[glass], point[glass], normal[glass], toward[glass])
        for which, size, depth in ((LEAVES, 0.22, 0.3), (ROOF, 0.45, 0.14)):
            own = (look == which) & near
            color[own] *= (1.0 - depth * _grain(point[own], size))[:, None]
        stripes = look == STRIPES
        color[stripes & (np.floor((point[:, 0] + point[:, 1]) / 0.5) % 2 == 0)] = (92, 92, 96)
        ground = look == GROUND
        color[ground] = self._ground(point[ground], near[ground])
        shown = look >= PICTURE
        color[shown] = self._written(point[shown], face[shown], look[shown] - PICTURE)
        shine = normal @ self._sun
        lit = shine > 0
        probe = point + normal * 0.02
        lit[lit] = ~self._rays.meets(_rays(probe[lit], np.broadcast_to(self._sun, (int(lit.sum()), 3))))
        light = np.where(lit, _SHADE + (1 - _SHADE) * np.clip(shine, 0, 1) ** 0.7, _SHADE)
        light *= 0.92 + 0.08 * normal[:, 2]
        haze = np.exp(-far / _HAZE_M)[:, None]
        return np.asarray(color * (1.08 * light)[:, None] * haze + _SKY[0] * (1 - haze))

    def _written(self, point: Floats, face: IntArray, number: IntArray) -> Floats:
        """Colours of points on pictures, between their pixels."""
        frame = self._frames[face]
        from_corner = point - frame[:, :3]
        across, up = ((from_corner * frame[:, k : k + 3]).sum(1) for k in (3, 6))
        color = np.empty((len(point), 3), dtype=np.float32)
        for one in np.unique(number).tolist():
            own = number == one
            picture = self._pictures[one]
            height, width = picture.shape[:2]
            x = np.clip(across[own] * width - 0.5, 0, width - 1.001)
            y = np.clip((1 - up[own]) * height - 0.5, 0, height - 1.001)
            i, j = x.astype(np.intp), y.astype(np.intp)
            u, v = (x - i)[:, None], (y - j)[:, None]
            top = picture[j, i] * (1 - u) + picture[j, i + 1] * u
            low = picture[j + 1, i] * (1 - u) + picture[j + 1, i + 1] * u
            color[own] = top * (1 - v) + low * v
        return color

    def _ground(self, point: Floats, near: BoolArray) -> Floats:
        x, y = point[:, 0], point[:, 1]
        off_x, off_y = (np.abs((v + PITCH_M / 2) % PITCH_M - PITCH_M / 2) for v in (x, y))
        width, height = self._size
        town = (np.minimum(x, y) > -STREET_M / 2) & (x < width + STREET_M / 2) & (y < height + STREET_M / 2)
        road_x, road_y = off_x < _KERB_M, off_y < _KERB_M
        road = town & (road_x | road_y)
        paved = town & ~road
        color = np.where(road[:, None], _ROAD[self._town.surface], (128, 146, 92)).astype(np.float32)
        color[paved] = (182, 178, 170)
        tile = ((x % 0.8 < 0.04) | (y % 0.8 < 0.04)) & paved & near
        color[tile] *= 0.86
        if self._town.surface != "asphalt":
            joint = ((x % 0.3 < 0.04) | ((y + 0.15 * np.floor(x / 0.3)) % 0.3 < 0.04)) & road & near
            color[joint] *= 0.8
        color *= (1.0 - np.where(road, 0.05, 0.12) * _grain(point, 0.12) * near)[:, None]
        kerb = paved & (np.minimum(off_x, off_y) < _KERB_M + 0.22)
        color[kerb] = (208, 206, 200)
        dash = (road_x & ~road_y & (off_x < _LINE_M) & (y % 6 < 3)) | (
            road_y & ~road_x & (off_y < _LINE_M) & (x % 6 < 3)
        )
        color[dash & town] = _LINES[self._town.line]
        return color


def _directions(heading_deg: float, columns: IntArray, rows: IntArray, width: int, height: int) -> Floats:
    """Unit vectors (rows * columns, 3) through the middles of pixels of a panorama."""
    turn = np.radians(heading_deg + ((columns + 0.5) / width - 0.5) * 360.0)
    rise = np.radians((0.5 - (rows + 0.5) / height) * 180.0)[:, None]
    parts = np.broadcast_arrays(np.sin(turn) * np.cos(rise), np.cos(turn) * np.cos(rise), np.sin(rise))
    return np.stack(parts, axis=-1).reshape(-1, 3).astype(np.float32)


def _rays(start: Floats, toward: Floats) -> npt.NDArray[np.float32]:
    rays = np.empty((len(toward), 6), dtype=np.float32)
    rays[:, :3], rays[:, 3:] = start, toward
    return rays


def _along_m(point: Floats, normal: Floats) -> Floats:
    """Metres along an upright wall."""
    return np.asarray(point[:, 1] * normal[:, 0] - point[:, 0] * normal[:, 1])


def _facade(color: Floats, point: Floats, normal: Floats) -> Floats:
    """Walls with rows of windows, their frames, and a band below each row."""
    across = np.abs(_along_m(point, normal) % _WINDOW_M[0] / _WINDOW_M[0] - 0.5) * _WINDOW_M[0]
    up = point[:, 2] % _WINDOW_M[1]
    upper = point[:, 2] > _WINDOW_M[1] + 0.8
    frame = (across < 0.62) & (up > 0.72) & (up < 2.58) & upper
    pane = (across < 0.54) & (across > 0.03) & (up > 0.8) & (up < 2.5) & (np.abs(up - 1.8) > 0.03) & upper
    band = (up < 0.1) & upper
    color[band] *= 0.85
    color *= (1.0 - 0.07 * _grain(point, 0.35))[:, None]
    color[frame] = (226, 224, 218)
    room = _grain(
        np.floor(np.column_stack([_along_m(point, normal) / _WINDOW_M[0], up * 0, point[:, 2] / _WINDOW_M[1]])), 1.0
    )
    color[pane] = np.array((62, 76, 92)) + 46.0 * room[pane, None]
    return color


def _glass(color: Floats, point: Floats, normal: Floats, toward: Floats) -> Floats:
    """Panes that mirror some of the sky, with bars."""
    bars = np.abs(_along_m(point, normal) % 1.6 - 0.8) > 0.76
    mirrored = toward[:, 2] - 2 * (toward * normal).sum(1) * normal[:, 2]
    color += (26.0 * np.clip(mirrored + 0.3, 0, 1))[:, None]
    color[bars] = (56, 58, 62)
    return color


def _grain(point: Floats, size: float) -> Floats:
    """Something between 0 and 1 (n,) that is even within cells of a size and looks like chance."""
    cell = np.floor(point / np.float32(size) + np.float32(1e-4)).astype(np.int32).view(np.uint32)
    x, y, z = (cell[:, k] * np.uint32(prime) for k, prime in enumerate((73_856_093, 19_349_663, 83_492_791)))
    mixed = x ^ y ^ z
    mixed = (mixed ^ mixed >> np.uint32(13)) * np.uint32(1_274_126_177)
    return np.asarray((mixed >> np.uint32(7) & np.uint32(255)).astype(np.float32) / np.float32(255))
