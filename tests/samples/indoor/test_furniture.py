"""Furniture: every kind has a shape of its own, by which a person can tell it, and surfaces that let one see motion."""

from __future__ import annotations

import itertools

import numpy as np
import open3d as o3d
import pytest

from pipeline.samples.indoor.furniture import KINDS, shape_of
from pipeline.samples.indoor.rooms import PLANS
from pipeline.samples.indoor.surfaces import TILE, surfaces

# Two labels for one thing, each in a dataset of its own or merged by VSI-Bench.
SAME_SHAPE = {frozenset(pair) for pair in (("heater", "radiator"), ("couch", "sofa"), ("tv", "tv_monitor"))}
RAYS = 40  # of a picture in each direction


def picture(label: str) -> np.ndarray:
    """(RAYS, RAYS) brightness of a kind in a cube, seen from in front and above; what a scene may colour is grey."""
    vertices, faces, shades = [], [], []
    known, whole = surfaces()
    for part in KINDS[label].parts:
        shape = shape_of(part, np.array(KINDS[label].size_m), 0.3)
        faces.append(shape.faces + sum(map(len, vertices)))
        vertices.append(shape.vertices / KINDS[label].size_m - 0.5)
        fixed = known.get(part.color)
        shade = 0.6 if fixed is None else whole[fixed.row, fixed.column].mean() / 255
        shades += [shade] * len(shape.faces)
    scene = o3d.t.geometry.RaycastingScene()
    scene.add_triangles(np.concatenate(vertices).astype(np.float32), np.concatenate(faces).astype(np.uint32))
    forward = np.array([0.45, 0.75, -0.48])
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    along = np.linspace(-0.9, 0.9, RAYS)
    origins = along[:, None] * right + along[:, None, None] * np.cross(right, forward) - 2 * forward
    rays = np.concatenate([origins, np.broadcast_to(forward, origins.shape)], axis=2).astype(np.float32)
    seen = scene.cast_rays(rays)
    hit = np.isfinite(seen["t_hit"].numpy())
    lit = 0.5 + 0.5 * seen["primitive_normals"].numpy() @ np.array([0.3, -0.5, 0.8])
    return np.where(hit, lit * np.array(shades)[np.where(hit, seen["primitive_ids"].numpy(), 0)], 0.0)


def test_every_kind_has_a_look_of_its_own_that_is_not_its_colour() -> None:
    pictures = {label: picture(label) for label in KINDS}
    for one, other in itertools.combinations(KINDS, 2):
        alike = np.abs(pictures[one] - pictures[other]).mean() < 0.01
        assert alike == (frozenset((one, other)) in SAME_SHAPE), (one, other)


@pytest.mark.parametrize("name", sorted({name for plan in PLANS for pair in plan.finishes for name in pair}))
def test_floors_and_walls_are_patterned_on_every_half_metre(name: str) -> None:
    """Else nothing shows on them that one moves."""
    known, whole = surfaces()
    surface = known[name]
    tile = whole[surface.row : surface.row + TILE, :TILE].astype(float).mean(2)
    size = round(0.5 / surface.texel_m)
    for y, x in itertools.product(range(0, TILE - size + 1, size), repeat=2):
        assert np.ptp(tile[y : y + size, x : x + size]) > 8, (name, x, y)
