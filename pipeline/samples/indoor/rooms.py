"""Furnished rooms by construction: a plan becomes boxes that are known exactly and the mesh of what stands in them.

RoomPlan frame: metres, z up, floor at 0, x east, y north. The frame in which a scene is published (its world frame) is
another: ``world_T_plan``.
"""

import math
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Final, Literal, NamedTuple

import numpy as np
import shapely
from pydantic import TypeAdapter
from shapely.geometry.base import BaseGeometry

from pipeline.core.arrays import FloatArray
from pipeline.core.identity import rng_for
from pipeline.core.templates import load_table
from pipeline.geometry.boxes import Boxes, stack
from pipeline.samples.common.camera import CameraView, moved, rigid
from pipeline.samples.common.shapes import (
    MeshPart,
    Profile,
    SampleMesh,
    Shape,
    SurfaceLook,
    box_shape,
    cushion_shape,
    join,
    panel_shape,
    round_shape,
)
from pipeline.samples.indoor.surfaces import (
    GLOWING,
    contact_shading,
    facing,
    in_corners,
    surfaces,
    texels_of,
    toward_foot,
)

CYLINDER: Final[Profile] = ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))


class FurniturePart(NamedTuple):
    """One part.

    Local axes of a piece: x to its right, y to its back, z up.

    Attributes:
        form: what fills the span: "block", "turned" or "cushion".
        span: x0, x1, y0, y1, z0, z1 as shares of the piece's box.
        color: a surface's name, or "main" or "second", which each scene chooses among the kind's colours.
        top: x0, x1, y0, y1 of a block's upper side where it differs from the lower one: it tapers or leans.
        profile: of what a lathe has turned.
        axis: about which it was turned: 0, 1, 2 for x, y, z.
        squareness: of its outline: 0 round, towards 1 a rectangle.
    """

    form: str
    span: tuple[float, ...]
    color: str
    top: tuple[float, ...] | None = None
    profile: Profile = CYLINDER
    axis: int = 2
    squareness: float = 0.0


class FurnitureKind(NamedTuple):
    """A kind of furniture.

    Attributes:
        size_m: usual width, depth and height.
        colors: pairs of surfaces for "main" and "second"; each scene takes one.
        parts: they touch all six sides of the box, so that the box is known by construction.
        with_no: a label: ``more`` are added in scenes without pieces of that label.
        more: such parts.
    """

    size_m: tuple[float, float, float]
    colors: tuple[tuple[str, str], ...]
    parts: tuple[FurniturePart, ...]
    with_no: str | None = None
    more: tuple[FurniturePart, ...] = ()


def _parts(rows: list[dict[str, Any]]) -> tuple[FurniturePart, ...]:
    """The parts of rows of the plan; a row with lists x, y or z is one part for each of their combinations."""
    found = []
    for row in rows:
        form = next(form for form in ("block", "turned", "cushion") if form in row)
        shifts = {axis: row[axis] for axis in row if axis in ("x", "y", "z")}
        profile = PROFILES[row["profile"]] if "profile" in row else CYLINDER
        for shift in product(*shifts.values()):
            by = dict(zip(shifts, shift, strict=True))
            off = [by.get(axis, 0.0) for axis in "xxyyzz"]
            span = tuple(a + b for a, b in zip(row[form], off, strict=True))
            top = tuple(a + b for a, b in zip(row["top"], off[:4], strict=True)) if "top" in row else None
            axis = "xyz".index(row.get("axis", "z"))
            found.append(FurniturePart(form, span, row["color"], top, profile, axis, row.get("squareness", 0.0)))
    return tuple(found)


_PLAN: Final = load_table("samples/indoor_furniture")
PROFILES: Final[dict[str, Profile]] = {k: tuple((r, h) for r, h in v) for k, v in _PLAN["profiles"].items()}
KINDS: Final[dict[str, FurnitureKind]] = {
    label: FurnitureKind(
        tuple(raw["size_m"]),
        tuple((main, second) for main, second in raw.get("colors", [("white", "steel")])),
        _parts(raw["parts"]),
        raw.get("with_no"),
        _parts(raw.get("more", [])),
    )
    for label, raw in _PLAN["kinds"].items()
}


def shape_of(part: FurniturePart, size_m: FloatArray, step_m: float) -> Shape:
    """Triangles of a part of a piece of this size (3,); the origin is the lower front left corner of its box."""
    low, high = np.array(part.span[0::2]) * size_m, np.array(part.span[1::2]) * size_m
    if part.form == "turned":
        return round_shape(low, high, step_m, part.profile, part.axis, part.squareness)
    if part.form == "cushion":
        return cushion_shape(low, high, step_m)
    top = None if part.top is None else np.array(part.top) * size_m[[0, 0, 1, 1]]
    return box_shape(low, high, step_m, top)


WALL_GAP_M: Final = 0.03  # between a wall and what stands at it
REST_GAP_M: Final = 0.004  # between a thing and what it stands on, so that no vertex belongs to two boxes
DOORWAY_HEIGHT_M: Final = 2.1
STRUCTURE_STEP_M: Final = 0.08  # largest distance of neighbouring vertices of floor, walls and ceiling
FURNITURE_STEP_M: Final = 0.08
STRUCTURE: Final = ("floor", "wall", "ceiling")  # owners n, n + 1, n + 2 of the mesh, n being the number of pieces
SIZE_SPREAD: Final = 0.05  # pieces of a kind differ in size by up to this share
TURN_SPREAD_DEG: Final = 4.0  # free-standing pieces are never quite straight

Wall = Literal["north", "east", "south", "west"]
# Of a piece with its back to the wall: its turn, counter-clockwise.
_WALL_TURN_DEG: Final[dict[Wall, float]] = {"north": 0.0, "west": 90.0, "south": 180.0, "east": 270.0}


class Rect(NamedTuple):
    """A rectangle on the floor, metres."""

    x0: float
    y0: float
    x1: float
    y1: float


class FurniturePiece(NamedTuple):
    """One piece of furniture.

    Attributes:
        label: what it is, a key of `KINDS`.
        at: its centre (x, y); of a piece at a wall only the coordinate along the wall counts.
        wall: the wall of room ``room`` that its back is at, or None if it stands free.
        room: index of the rectangle whose wall it is.
        turn_deg: counter-clockwise turn of a free piece; unturned it faces south.
        lift_m: height of its lower side above the floor.
        on: index of the piece it stands on, instead of ``lift_m``.
        unseen: whether it is planted so that the camera never sees it.
    """

    label: str
    at: tuple[float, float]
    wall: Wall | None = None
    room: int = 0
    turn_deg: float = 0.0
    lift_m: float = 0.0
    on: int | None = None
    unseen: bool = False


@dataclass(frozen=True)
class RoomPlan:
    """A scene: rooms, doorways that join them, furniture, the way of the camera, and how it is published.

    Attributes:
        dataset: "scannet", "scannetpp" or "arkitscenes".
        name: the scene's name in its dataset.
        rooms: rectangles; two that share a side make an L.
        doorways: rectangles through the wall between two rooms.
        height_m: of the ceiling.
        pieces: the furniture.
        views: where the camera goes; it moves from each view to the next.
        world_turn_deg: turn of the world frame's axes against the plan's, counter-clockwise.
        world_shift_m: where the plan's origin lies in the world frame.
        finishes: (floor, walls) of each room, names of `surfaces`.
        fps: frames per second of the recording.
        sky: which side of the stored frames is up (ARKitScenes).
        stored: for ScanNet, one .sens file or the tree of files that its exporter makes of it.
        room_type: for the scene's description.
    """

    dataset: str
    name: str
    rooms: tuple[Rect, ...]
    doorways: tuple[Rect, ...]
    height_m: float
    pieces: tuple[FurniturePiece, ...]
    views: tuple[CameraView, ...]
    world_turn_deg: float
    world_shift_m: tuple[float, float, float]
    finishes: tuple[tuple[str, str], ...]
    fps: int = 3
    sky: Literal["Up", "Left", "Down", "Right"] = "Up"
    stored: Literal["sens", "tree"] = "sens"
    room_type: str = "Misc."


PLANS: Final = TypeAdapter(tuple[RoomPlan, ...]).validate_python(load_table("samples/indoor_rooms"))


@dataclass(frozen=True)
class FurnishedRoom:
    """A furnished plan in the world frame.

    Attributes:
        labels: of the pieces, in the plan's order.
        boxes: of the pieces: x, y, z axes of each piece in this order.
        mesh: rooms and furniture; owners are the pieces' indices, then `STRUCTURE`.
        floor: outline of the floor, doorways included.
    """

    labels: tuple[str, ...]
    boxes: Boxes
    mesh: SampleMesh
    floor: BaseGeometry


def world_T_plan(plan: RoomPlan) -> FloatArray:
    """The transform (4, 4) from the plan's frame to the one the scene is published in."""
    return rigid(_upright(plan.world_turn_deg).T, plan.world_shift_m)


def furnish(plan: RoomPlan) -> FurnishedRoom:
    """Puts everything in its place. The same plan gives the same scene to the last bit."""
    transform = world_T_plan(plan)
    boxes = _place(plan)
    floor = shapely.union_all([shapely.box(*rect) for rect in (*plan.rooms, *plan.doorways)]).simplify(0)
    mesh = join([*_furniture(plan, boxes), *_structure(plan, floor, boxes)], surfaces()[1]).moved(transform)
    turned = [moved(rigid(transform[:3, :3]), axes) for axes in boxes.axes]
    return FurnishedRoom(
        tuple(piece.label for piece in plan.pieces),
        Boxes(moved(transform, boxes.center), boxes.half, np.array(turned)),
        mesh,
        shapely.transform(floor, lambda xy: moved(transform, np.pad(xy, ((0, 0), (0, 1))))[:, :2]),
    )


def _place(plan: RoomPlan) -> Boxes:
    """Boxes of the pieces in the plan's frame."""
    centers: list[tuple[float, float, float]] = []
    lengths: list[tuple[float, float, float]] = []
    axes: list[FloatArray] = []
    for index, piece in enumerate(plan.pieces):
        rng = rng_for("sample piece", plan.dataset, plan.name, index)
        scale = 1.0 + rng.uniform(-SIZE_SPREAD, SIZE_SPREAD, 3)
        width, depth, height = (np.array(KINDS[piece.label].size_m) * scale).round(3).tolist()
        turn_deg = piece.turn_deg + round(float(rng.uniform(-TURN_SPREAD_DEG, TURN_SPREAD_DEG)), 1)
        x, y = piece.at
        if piece.wall is not None:
            turn_deg = _WALL_TURN_DEG[piece.wall]
            x, y = _at_wall(plan.rooms[piece.room], piece.wall, piece.at, depth)
        low = piece.lift_m
        if piece.on is not None:
            low = centers[piece.on][2] + lengths[piece.on][2] / 2 + REST_GAP_M
        centers.append((x, y, low + height / 2))
        lengths.append((width, depth, height))
        axes.append(_upright(turn_deg))
    return stack(centers, lengths, np.array(axes))


def _at_wall(room: Rect, wall: Wall, at: tuple[float, float], depth: float) -> tuple[float, float]:
    """Centre of a piece of this depth with its back to a wall."""
    off = WALL_GAP_M + depth / 2
    return {
        "north": (at[0], room.y1 - off),
        "south": (at[0], room.y0 + off),
        "east": (room.x1 - off, at[1]),
        "west": (room.x0 + off, at[1]),
    }[wall]


def _furniture(plan: RoomPlan, boxes: Boxes) -> list[MeshPart]:
    known = surfaces()[0]
    labels = {piece.label for piece in plan.pieces}
    parts = []
    for owner, piece in enumerate(plan.pieces):
        kind = KINDS[piece.label]
        choice = int(rng_for("sample colors", plan.name, piece.label).integers(len(kind.colors)))
        chosen = dict(zip(("main", "second"), kind.colors[choice], strict=True))
        more = () if kind.with_no in labels else kind.more
        size, axes = 2 * boxes.half[owner], boxes.axes[owner]
        turn = rigid(axes.T)
        transform = rigid(axes.T, boxes.center[owner] - moved(turn, boxes.half[owner][None])[0])
        for part in (*kind.parts, *more):
            shape = shape_of(part, size, FURNITURE_STEP_M)
            color = chosen.get(part.color, part.color)
            corners = shape.vertices[shape.faces]
            if color in GLOWING:
                light = np.ones(corners.shape[:2])
            else:
                light = facing(moved(turn, shape.normals.reshape(-1, 3)).reshape(corners.shape))
                light = light * toward_foot(corners[..., 2] / size[2])
            extent = size * (np.array(part.span[1::2]) - part.span[0::2])
            look = SurfaceLook(texels_of(known[color], corners, shape.normals, extent), light)
            parts.append(MeshPart(moved(transform, shape.vertices), shape.faces, owner, look))
    return parts


def _structure(plan: RoomPlan, floor: BaseGeometry, boxes: Boxes) -> list[MeshPart]:
    """Floor, walls with their doorways, ceiling. What lies between two rooms is wall and has no floor."""
    panels: list[tuple[int, str, FloatArray, FloatArray, FloatArray]] = []
    x, y, z = np.eye(3)
    spans = [(room, plan.height_m) for room in plan.rooms] + [(way, DOORWAY_HEIGHT_M) for way in plan.doorways]
    for rect, height in spans:
        x0, y0, x1, y1 = rect
        corner = np.array([x0, y0, 0.0])
        panels.append((0, _finish(plan, shapely.box(*rect))[0], corner, (x1 - x0) * x, (y1 - y0) * y))
        panels.append((2, "ceiling", corner + height * z, (y1 - y0) * y, (x1 - x0) * x))
    # A wall faces the floor to its left, so it is spanned from its end back to its start.
    for start, end in _sides(floor):
        middle = shapely.Point((start + end) / 2)
        in_doorway = any(shapely.box(*way).distance(middle) < 1e-9 for way in plan.doorways)
        height = DOORWAY_HEIGHT_M if in_doorway else plan.height_m
        wall = _finish(plan, middle)[1]
        panels.append((1, wall, np.append(end, 0.0), np.append(start - end, 0.0), height * z))
    for start, end in _lintels(plan, floor):
        up = (plan.height_m - DOORWAY_HEIGHT_M) * z
        wall = _finish(plan, shapely.Point((start + end) / 2))[1]
        panels.append((1, wall, np.append(end, DOORWAY_HEIGHT_M), np.append(start - end, 0.0), up))
    known = surfaces()[0]
    parts = []
    for kind, surface, corner, u, v in panels:
        shape = panel_shape(corner, u, v, STRUCTURE_STEP_M)
        left = contact_shading(shape.vertices, boxes) * in_corners(shape.vertices, floor, plan.height_m)
        light = facing(shape.normals) * left[shape.faces]
        look = SurfaceLook(texels_of(known[surface], shape.vertices[shape.faces], shape.normals, np.zeros(3)), light)
        parts.append(MeshPart(shape.vertices, shape.faces, len(plan.pieces) + kind, look))
    return parts


def _finish(plan: RoomPlan, what: BaseGeometry) -> tuple[str, str]:
    """Floor and walls of the room that the middle of something lies in, or lies nearest to."""
    off = [shapely.distance(shapely.box(*room), what.centroid) for room in plan.rooms]
    return plan.finishes[int(np.argmin(off))]


def _sides(floor: BaseGeometry) -> list[tuple[FloatArray, FloatArray]]:
    """Sides of the floor's outline, the floor to their left."""
    outline = shapely.get_coordinates(shapely.orient_polygons(floor).exterior)
    return list(pairwise(outline))


def _lintels(plan: RoomPlan, floor: BaseGeometry) -> list[tuple[FloatArray, FloatArray]]:
    """Sides of doorways that open into a room, the room to their left."""
    found = []
    for way in plan.doorways:
        for start, end in _sides(shapely.box(*way)):
            if floor.exterior.distance(shapely.Point((start + end) / 2)) > 1e-9:
                found.append((end, start))
    return found


def _turn(angle_deg: float) -> FloatArray:
    """Counter-clockwise rotation (2, 2), rounded so that no processor's cosine shows."""
    angle = math.radians(angle_deg)
    c, s = round(math.cos(angle), 12), round(math.sin(angle), 12)
    return np.array([[c, -s], [s, c]])


def _upright(turn_deg: float) -> FloatArray:
    """Axes (3, 3) as rows of a box turned about z."""
    axes = np.eye(3)
    axes[:2, :2] = _turn(turn_deg).T
    return axes
