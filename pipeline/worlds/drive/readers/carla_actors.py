"""What a recording of CARLA says of single actors: what they are, how large, what they signal, where cameras look.

CARLA's frames are Unreal's: centimetres, y to the right, angles clockwise. Ours have y to the left.
"""

from __future__ import annotations

from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.formats.carla_log import Added, Records
from pipeline.geometry.turns import wrapped_deg
from pipeline.worlds.drive.categories import CARLA_PROPS, CARLA_TYPES, CARLA_VEHICLES
from pipeline.worlds.drive.facts import Box, Camera, Colour, Lamp, Lamps, LightColour
from pipeline.worlds.drive.readers.tracking import within

Whole = npt.NDArray[np.integer[Any]]

VEHICLE, WALKER, LIGHT, SIGN, SENSOR = 1, 2, 3, 4, 5
LAMPS: Final[tuple[Lamp, ...]] = get_args(Lamp)  # carla::rpc::VehicleLightState, in the order of its bits
COLOURS: Final[tuple[LightColour, ...]] = get_args(LightColour)  # carla::rpc::TrafficLightState, in its order
CAMERA: Final = "sensor.camera.rgb"
NOT_SEEN: Final = ("spectator", "controller.")
MOUNT_MAX_M: Final = 20.0  # a camera further from its car is recorded in another frame
_CM: Final = 100
_TURN_MAX_DEG: Final = 1e6
_THINNEST_M: Final = 1e-4  # of a side that is above 0
_KEPT: Final = {"color": "colour", "mesh_path": "mesh", "generation": "generation"}


def doubles(numbers: npt.NDArray[Any]) -> FloatArray:
    """Numbers of a recording as float64; damaged ones may be NaNs of which the processor complains."""
    with np.errstate(invalid="ignore"):
        return np.asarray(numbers, dtype=np.float64)


def right_handed(vector: FloatArray) -> FloatArray:
    """Vectors (..., 3) with y to the left."""
    return doubles(vector) * (1.0, -1.0, 1.0)


def metres(centimetres: FloatArray) -> FloatArray:
    """Places (..., 3) of a recording in metres, y to the left."""
    return right_handed(doubles(centimetres) / _CM)


def yaws_deg(rotation: FloatArray) -> FloatArray:
    """Yaws (...,), counter-clockwise, of rotations (..., 3): roll, pitch, yaw."""
    return wrapped_deg(-within(doubles(rotation[..., 2]), _TURN_MAX_DEG))


def category_of(actor: Added) -> str:
    """The common word for an actor."""
    if actor.kind == WALKER:
        return "pedestrian"
    if actor.kind == VEHICLE:
        declared = CARLA_TYPES.get(actor.attributes.get("base_type", "").lower())
        wheels = "motorcyclist" if actor.attributes.get("number_of_wheels") == "2" else "car"
        return declared or CARLA_VEHICLES.get(actor.blueprint, wheels)
    if actor.kind == SIGN:
        return "stop sign" if actor.blueprint == "traffic.stop" else "sign"
    return CARLA_PROPS.get(actor.blueprint, "object")


def attributes_of(actor: Added) -> dict[str, str]:
    """What a recording declares of an actor."""
    said = {name: actor.attributes[key] for key, name in _KEPT.items() if actor.attributes.get(key)}
    if "mesh" in said:
        said["mesh"] = said["mesh"].rpartition(".")[2]
    if actor.blueprint.startswith("traffic.speed_limit."):
        said["speed_limit_kmh"] = actor.blueprint.rpartition(".")[2]
    return said


def box_of(records: Records) -> Box | None:
    """The median of the boxes (R,) of an actor; None where it has none, or one without an extent."""
    if not len(records):
        return None
    extent = np.median(doubles(records["extent"]), axis=0)
    origin = metres(np.median(doubles(records["origin"]), axis=0))
    if not (np.isfinite(extent).all() and np.isfinite(origin).all() and (extent > 0).all()):
        return None
    length, width, height = np.maximum((2 * extent / _CM).round(4), _THINNEST_M).tolist()
    x, y, z = (origin.round(4) + 0.0).tolist()
    return Box(size_m=(length, width, height), middle_m=(x, y, z))


def lamps_of(time: IntArray, lit: Whole) -> tuple[Lamps, ...]:
    """The lamps at times (R,) by their bits (R,), each time that they change."""
    return tuple(
        Lamps(index=index, lit=tuple(lamp for place, lamp in enumerate(LAMPS) if bits >> place & 1))
        for index, bits in _changes(time, lit)
    )


def colours_of(time: IntArray, state: Whole) -> tuple[Colour, ...]:
    """What a light shows at times (R,), each time that it changes."""
    return tuple(
        Colour(index=index, colour=COLOURS[number] if number < len(COLOURS) else "unknown")
        for index, number in _changes(time, state)
    )


def camera_of(actor: Added) -> Camera | None:
    """A camera; None where its picture's size or angle of view was not recorded."""
    said = actor.attributes
    try:
        width, height, fov_deg = int(said["image_size_x"]), int(said["image_size_y"]), float(said["fov"])
    except (KeyError, ValueError):
        return None
    if not (width > 0 and height > 0 and 0 < fov_deg < 180):
        return None
    focal = round(width / 2 / float(np.tan(np.radians(fov_deg) / 2)), 6)
    place = metres(np.array(actor.place))
    mounted = bool(np.abs(place).max() <= MOUNT_MAX_M)
    x, y, z = (place.round(4) + 0.0).tolist()
    rows = [tuple(row) for row in _camera_axes(actor.rotation).round(9).tolist()]
    return Camera(
        name=f"{said.get('role_name') or 'camera'}-{actor.id}",
        width=width,
        height=height,
        focal_px=(focal, focal),
        centre_px=(width / 2, height / 2),
        ego_from_camera=(rows[0], rows[1], rows[2]) if mounted else None,
        place_m=(x, y, z) if mounted else None,
    )


def _camera_axes(rotation: tuple[float, float, float]) -> FloatArray:
    """OpenCV's axes as columns, (3, 3), in body axes: those of Unreal's FRotationMatrix, y turned round."""
    roll, pitch, yaw = np.radians(rotation)
    (sr, sp, sy), (cr, cp, cy) = np.sin([roll, pitch, yaw]), np.cos([roll, pitch, yaw])
    forward = np.array([cp * cy, cp * sy, sp])
    right = np.array([sr * sp * cy - cr * sy, sr * sp * sy + cr * cy, -sr * cp])
    up = np.array([-(cr * sp * cy + sr * sy), cy * sr - cr * sp * sy, cr * cp])
    return right_handed(np.stack([right, -up, forward])).T + 0.0


def _changes(time: IntArray, value: Whole) -> list[tuple[int, int]]:
    """The first of (R,) rows, and each that differs from the one before it."""
    new = np.flatnonzero(np.diff(value.astype(np.int64), prepend=-1))
    return [(int(time[row]), int(value[row])) for row in new]
