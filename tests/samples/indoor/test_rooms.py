"""Furnished rooms, their furniture and the camera: nothing overlaps, all is inside, walls face the room."""

import itertools
import math
from functools import lru_cache

import numpy as np
import open3d as o3d
import pytest
import shapely
import trimesh

from pipeline.geometry.boxes import closest_distance_m
from pipeline.samples.common.camera import (
    TURN_BY_SKY,
    TURN_DEG_S,
    WALK_M_S,
    CameraView,
    Lens,
    film,
    inverse,
    moved,
    product,
)
from pipeline.samples.common.shapes import Shape, box_shape, cushion_shape, panel_shape, round_shape
from pipeline.samples.indoor.rooms import (
    CYLINDER,
    FURNITURE_STEP_M,
    KINDS,
    PLANS,
    PROFILES,
    STRUCTURE,
    STRUCTURE_STEP_M,
    RoomPlan,
    shape_of,
    world_T_plan,
)
from pipeline.samples.indoor.rooms import furnish as furnish_anew
from pipeline.samples.indoor.surfaces import TILE, surfaces, texels_of

furnish = lru_cache(furnish_anew)
every_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)


def edges_m(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    corners = vertices[faces]
    return np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)


@every_plan
def test_the_parts_of_every_piece_fill_its_box(plan: RoomPlan) -> None:
    room = furnish(plan)
    for i in range(len(plan.pieces)):
        local = (room.mesh.vertices[room.mesh.owner == i] - room.boxes.center[i]) @ room.boxes.axes[i].T
        np.testing.assert_allclose(local.max(0), room.boxes.half[i], atol=1e-9)
        np.testing.assert_allclose(local.min(0), -room.boxes.half[i], atol=1e-9)


@every_plan
def test_axes_are_right_handed_unit_rows_and_upright(plan: RoomPlan) -> None:
    axes = furnish(plan).boxes.axes
    np.testing.assert_allclose(axes @ axes.transpose(0, 2, 1), np.broadcast_to(np.eye(3), axes.shape), atol=1e-9)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0, atol=1e-9)
    np.testing.assert_allclose(axes[:, 2], np.broadcast_to([0, 0, 1], (len(axes), 3)), atol=1e-12)


@every_plan
def test_nothing_overlaps_but_pillows_in_beds(plan: RoomPlan) -> None:
    room = furnish(plan)
    i, j = np.triu_indices(len(room.labels), 1)
    distance = closest_distance_m(room.boxes.take(i), room.boxes.take(j))
    touching = {
        frozenset((room.labels[a], room.labels[b])) for a, b, d in zip(i, j, distance, strict=True) if d < 0.003
    }
    assert touching <= {frozenset(("bed", "pillow"))}


@every_plan
def test_everything_stands_inside_the_rooms(plan: RoomPlan) -> None:
    room = furnish(plan)
    corners = room.boxes.corners()
    for label, points in zip(room.labels, corners, strict=True):
        assert room.floor.contains(shapely.MultiPoint(points[:, :2])), label
    height = corners[..., 2] - plan.world_shift_m[2]
    assert height.min() > -1e-9
    assert height.max() < plan.height_m


@every_plan
def test_the_floor_is_the_rooms_and_the_doorways(plan: RoomPlan) -> None:
    floor = furnish(plan).floor
    rectangles = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in (*plan.rooms, *plan.doorways))
    assert floor.area == pytest.approx(rectangles, abs=1e-9)
    assert floor.geom_type == "Polygon", "the rooms are joined"


@every_plan
def test_vertices_are_close_enough_to_stand_for_what_they_belong_to(plan: RoomPlan) -> None:
    mesh = furnish(plan).mesh
    furniture = mesh.face_owner() < len(plan.pieces)
    edges = edges_m(mesh.vertices, mesh.faces)
    assert edges[furniture].max() <= math.sqrt(2) * FURNITURE_STEP_M + 1e-9
    assert edges[~furniture].max() <= math.sqrt(2) * STRUCTURE_STEP_M + 1e-9
    assert (mesh.owner[mesh.faces] == mesh.face_owner()[:, None]).all()
    assert (mesh.segment[mesh.faces] == mesh.segment[mesh.faces[:, :1]]).all()
    assert len(np.unique(mesh.faces)) == len(mesh.vertices), "every vertex is used"


@every_plan
def test_walls_floor_and_ceiling_face_the_room(plan: RoomPlan) -> None:
    room = furnish(plan)
    structure = room.mesh.face_owner() - len(plan.pieces)
    a, b, c = (room.mesh.vertices[room.mesh.faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    for kind, up in (("floor", 1.0), ("ceiling", -1.0)):
        assert normal[structure == STRUCTURE.index(kind), 2] == pytest.approx(up)
    wall = structure == STRUCTURE.index("wall")
    before = ((a + b + c) / 3 + 0.01 * normal)[wall, :2]
    assert shapely.contains_xy(room.floor, before).all()


@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.dataset == "scannet"], ids=lambda plan: plan.name)
def test_minimal_boxes_of_the_vertices_are_the_planted_ones(plan: RoomPlan) -> None:
    """ScanNet has no boxes: what a reader fits to the vertices must be what was planted."""
    room = furnish(plan)
    for i, label in enumerate(room.labels):
        points = o3d.utility.Vector3dVector(room.mesh.vertices[room.mesh.owner == i])
        fitted = o3d.geometry.PointCloud(points).get_minimal_oriented_bounding_box()
        np.testing.assert_allclose(np.sort(fitted.extent), np.sort(2 * room.boxes.half[i]), atol=1e-4, err_msg=label)
        np.testing.assert_allclose(fitted.center, room.boxes.center[i], atol=1e-4, err_msg=label)


def solid(shape: Shape) -> trimesh.Trimesh:
    return trimesh.Trimesh(shape.vertices, shape.faces, process=False)


LOW, HIGH = np.array([0.1, -0.2, 0.0]), np.array([0.5, 0.2, 0.36])
VOLUME = 0.4 * 0.4 * 0.36


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        (box_shape(LOW, HIGH, 0.06), VOLUME),
        # A roof: the upper side is half as wide and half as deep; the mean of the cross-sections is 7/12.
        (box_shape(LOW, HIGH, 0.06, np.array([0.2, 0.4, -0.1, 0.1])), VOLUME * 7 / 12),
        (round_shape(LOW, HIGH, 0.06, CYLINDER), VOLUME * math.pi / 4),
        (round_shape(LOW, HIGH, 0.06, ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), axis=1), VOLUME * math.pi / 12),
        # A bowl whose inside is a cylinder of half the radius and half the height.
        (
            round_shape(LOW, HIGH, 0.06, (*CYLINDER[:3], (0.5, 1.0), (0.5, 0.5), (0.0, 0.5)), axis=0),
            VOLUME * math.pi / 4 * 7 / 8,
        ),
        (round_shape(LOW, HIGH, 0.06, PROFILES["ball"]), VOLUME * math.pi / 6),
    ],
    ids=["box", "taper", "cylinder", "cone", "bowl", "ball"],
)
def test_shapes_are_closed_face_outward_and_hold_what_they_should(shape: Shape, volume: float) -> None:
    mesh = solid(shape)
    assert mesh.is_watertight
    assert mesh.is_winding_consistent
    assert mesh.volume == pytest.approx(volume, rel=0.06)  # negative if it faced inward
    np.testing.assert_allclose([mesh.bounds[0], mesh.bounds[1]], [LOW, HIGH], atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(shape.normals, axis=2), 1.0, atol=1e-9)
    across = (shape.normals * mesh.face_normals[:, None]).sum(2)
    assert across.min() > 0.7, "the light falls on the side that is seen"


def test_a_cushion_is_thick_in_the_middle_and_thin_at_its_seam() -> None:
    shape = cushion_shape(np.zeros(3), np.array([0.5, 0.3, 0.1]), 0.06)
    mesh = solid(shape)
    assert mesh.is_watertight
    np.testing.assert_allclose(mesh.extents, [0.5, 0.3, 0.1], atol=1e-9)
    edge = shape.vertices[shape.vertices[:, 0] < 1e-9, 2]
    assert np.ptp(edge) == pytest.approx(0.015)


def test_a_panel_faces_along_u_cross_v() -> None:
    shape = panel_shape(np.zeros(3), np.array([1.0, 0, 0]), np.array([0, 0.5, 0]), 0.2)
    assert solid(shape).area == pytest.approx(0.5)
    assert shape.normals == pytest.approx(np.broadcast_to([0, 0, 1.0], shape.normals.shape))
    assert len(shape.vertices) == 6 * 4


def test_pictures_lie_on_faces_without_a_seam_inside_one() -> None:
    """A board of 4 m: neighbouring corners of a face stay neighbours in the picture, and inside its band."""
    known, picture = surfaces()
    shape = box_shape(np.array([-2.0, 0, 0]), np.array([2.0, 0.3, 0.02]), 0.06)
    surface = known["oak floor"]
    texels = texels_of(surface, shape.vertices[shape.faces], shape.normals, np.zeros(3))
    assert np.ptp(texels, axis=1).max() <= 0.06 / surface.texel_m + 1e-9
    assert texels[..., 0].min() >= 0
    assert texels[..., 0].max() < picture.shape[1]
    assert texels[..., 1].min() >= surface.row
    assert texels[..., 1].max() < surface.row + picture.shape[1]


def test_transforms_are_those_of_linear_algebra() -> None:
    transform = world_T_plan(PLANS[-1]).round(6)
    other = world_T_plan(PLANS[-2])
    points = np.random.default_rng(1).normal(size=(5, 3))
    np.testing.assert_allclose(inverse(transform), np.linalg.inv(transform), atol=1e-12)
    np.testing.assert_allclose(product(transform, other), transform @ other, atol=1e-12)
    np.testing.assert_allclose(moved(transform, points), points @ transform[:3, :3].T + transform[:3, 3], atol=1e-12)


STILL = (CameraView(1.0, 2.0, 90.0, 0.0), CameraView(1.0, 2.0, 120.0, 0.0))
SWAY = np.sin(np.radians(2.5))  # a hand-held camera is never quite where it should be


def test_looking_north_the_camera_has_its_right_in_the_east_and_its_down_below() -> None:
    pose = film(STILL, 3, 0, "test")[0]
    np.testing.assert_allclose(pose[:3, :3], [[1, 0, 0], [0, 0, 1], [0, -1, 0]], atol=SWAY)
    assert pose[:2, 3] == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("sky", "up"), [("Up", (0, -1)), ("Left", (-1, 0)), ("Down", (0, 1)), ("Right", (1, 0))], ids=str
)
def test_the_sky_is_where_it_is_said_to_be(sky: str, up: tuple[int, int]) -> None:
    """In image coordinates, x to the right and y down."""
    pose = film(STILL, 3, TURN_BY_SKY[sky], "test")[0]
    np.testing.assert_allclose(pose[2, :2], up, atol=SWAY)


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_poses_are_rigid_and_move_no_faster_than_a_person(plan: RoomPlan) -> None:
    poses = film(plan.views, plan.fps, TURN_BY_SKY[plan.sky], plan.name)
    rotation = poses[:, :3, :3]
    np.testing.assert_allclose(
        rotation @ rotation.transpose(0, 2, 1), np.tile(np.eye(3), (len(poses), 1, 1)), atol=1e-12
    )
    assert np.linalg.det(rotation) == pytest.approx(1.0)
    step = np.linalg.norm(np.diff(poses[:, :2, 3], axis=0), axis=1)
    assert step.max() * plan.fps <= 1.5 * WALK_M_S + 1e-6  # eased: fastest in the middle
    turn = np.degrees(np.arccos(np.clip((rotation[1:, :, 2] * rotation[:-1, :, 2]).sum(1), -1, 1)))
    assert turn.max() * plan.fps <= 1.5 * TURN_DEG_S + 15
    assert 60 <= len(poses) <= 150


def test_a_halved_lens_sees_every_second_pixel() -> None:
    lens = Lens(64, 48, 50.0, 52.0, 31.5, 23.5)
    half = lens.halved()
    point = np.array([0.2, -0.1, 1.0])
    full_pixel, half_pixel = lens.matrix() @ point, half.matrix() @ point
    np.testing.assert_allclose(full_pixel[:2] / 2, half_pixel[:2])
    assert (half.width, half.height) == (32, 24)


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
