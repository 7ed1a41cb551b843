"""A recording of CARLA by actor: what each is, which one is ours, where everybody was, what they signalled and hit.

CARLA's frames are Unreal's: centimetres, y to the right, angles clockwise. Ours have y to the left.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray, IntArray
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Finding
from pipeline.formats import carla_log
from pipeline.formats.carla_log import AddedActor, CarlaLog, FrameTable, Records
from pipeline.geometry.angles import wrapped_deg
from pipeline.reading.files import SceneFiles
from pipeline.worlds.drive.facts import (
    CARLA_PROPS,
    CARLA_TYPES,
    CARLA_VEHICLES,
    SHARE_STEP,
    Actor,
    Collision,
    Colour,
    Controls,
    DriveCamera,
    Ego,
    Lamp,
    Lamps,
    LightColour,
    TrafficLight,
    VehicleBox,
)
from pipeline.worlds.drive.readers.tracking import (
    PLACE_MAX_M,
    TrackStretch,
    repeated,
    report_repeated,
    stretches,
    within,
)

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


def category_of(actor: AddedActor) -> str:
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


def attributes_of(actor: AddedActor) -> dict[str, str]:
    """The attributes that a recording declares of an actor."""
    attributes = {name: actor.attributes[key] for key, name in _KEPT.items() if actor.attributes.get(key)}
    if "mesh" in attributes:
        attributes["mesh"] = attributes["mesh"].rpartition(".")[2]
    if actor.blueprint.startswith("traffic.speed_limit."):
        attributes["speed_limit_kmh"] = actor.blueprint.rpartition(".")[2]
    return attributes


def box_of(records: Records) -> VehicleBox | None:
    """The median of the boxes (R,) of an actor; None where it has none, or one without an extent."""
    if not len(records):
        return None
    extent = np.median(doubles(records["extent"]), axis=0)
    origin = metres(np.median(doubles(records["origin"]), axis=0))
    if not (np.isfinite(extent).all() and np.isfinite(origin).all() and (extent > 0).all()):
        return None
    length, width, height = np.maximum((2 * extent / _CM).round(4), _THINNEST_M).tolist()
    x, y, z = (origin.round(4) + 0.0).tolist()
    return VehicleBox(size_m=(length, width, height), middle_m=(x, y, z))


def lamps_of(time: IntArray, lit: Whole) -> tuple[Lamps, ...]:
    """The lamps at times (R,) by their bits (R,), each time that they change."""
    return tuple(
        Lamps(index=index, lit=tuple(lamp for place, lamp in enumerate(LAMPS) if bits >> place & 1))
        for index, bits in _changes(time, lit)
    )


def colours_of(time: IntArray, state: Whole) -> tuple[Colour, ...]:
    """The colours of a light at times (R,), each time that it changes."""
    return tuple(
        Colour(index=index, colour=COLOURS[number] if number < len(COLOURS) else "unknown")
        for index, number in _changes(time, state)
    )


def camera_of(actor: AddedActor) -> DriveCamera | None:
    """A camera; None where its picture's size or angle of view was not recorded."""
    given = actor.attributes
    try:
        width, height, fov_deg = int(given["image_size_x"]), int(given["image_size_y"]), float(given["fov"])
    except (KeyError, ValueError):
        return None
    if not (width > 0 and height > 0 and 0 < fov_deg < 180):
        return None
    focal = round(width / 2 / float(np.tan(np.radians(fov_deg) / 2)), 6)
    place = metres(np.array(actor.place))
    mounted = bool(np.abs(place).max() <= MOUNT_MAX_M)
    x, y, z = (place.round(4) + 0.0).tolist()
    rows = [tuple(row) for row in _camera_axes(actor.rotation).round(9).tolist()]
    return DriveCamera(
        name=f"{given.get('role_name') or 'camera'}-{actor.id}",
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


HEROES: Final = ("hero", "ego_vehicle")  # roles of our car: of CARLA's agents and ScenarioRunner, of its ROS bridge
HIDDEN_M: Final = -100.0  # ScenarioRunner keeps actors 500 m under the ground until they are wanted
CONTROL_MAX: Final = 100.0  # pedals run from 0 to 1, gears to 8
POINT: Final = "the car's origin in CARLA, on the ground below its middle"


class CarlaRecording:
    """A recording by actor.

    Args:
        log: as read.
        time: (F,) for each frame the index of its time, -1 for those that were left out.
    """

    def __init__(self, log: CarlaLog, time: IntArray, findings: Findings) -> None:
        self.log, self.findings = log, findings
        self.times_s = log.elapsed_s[time >= 0]
        self.added: dict[int, AddedActor] = {}
        for actor in log.added:
            first = self.added.setdefault(actor.id, actor)
            if first.blueprint != actor.blueprint:
                message = f"{actor.id} is {first.blueprint} first, then {actor.blueprint}"
                remedy = "is this one recording?"
                findings.add(doubt("category_changes", str(actor.id), message, remedy))
        self.tables = {kind: _in_time(table, time) for kind, table in log.tables.items()}
        self.tracks = self._tracks()
        self.boxes = _by_id(self.tables[carla_log.BOX])
        self.lamps = _by_id(self.tables[carla_log.LAMPS])
        self.states = _by_id(self.tables[carla_log.LIGHT])

    def _tracks(self) -> dict[int, TrackStretch]:
        """Places, yaws, velocities and controls by id."""
        placed = self.tables[carla_log.POSITION]
        ids, rows = placed.records["id"].astype(np.intp), placed.records
        twice = repeated(ids, placed.frame)
        report_repeated(ids[twice], self.findings)
        ids, time, rows = ids[~twice], placed.frame[~twice], rows[~twice]
        place_m = metres(rows["place"])
        usable = np.isfinite(place_m).all(1) & (np.abs(np.nan_to_num(place_m)) < PLACE_MAX_M).all(1)
        self._left_out(doubt, ids[~usable], "place_not_finite", "of its places are no numbers, or 100 km and more away")
        hidden = usable & (place_m[:, 2] < HIDDEN_M)
        self._left_out(note, ids[hidden], "hidden_under_ground", "of its places lie deep under the ground")
        kept = usable & ~hidden
        ids, time, rows, place_m = ids[kept], time[kept], rows[kept], place_m[kept]
        tables: dict[str, FloatArray] = {"place_m": place_m, "yaw_deg": yaws_deg(rows["rotation"])[:, None]}
        moving = self.tables[carla_log.KINEMATICS]
        tables["velocity_mps"] = _joined(ids, time, moving, right_handed(moving.records["velocity"]))
        driven = self.tables[carla_log.VEHICLE]
        names = ("throttle", "brake", "steering", "gear", "hand")
        values = np.stack([doubles(driven.records[name]) for name in names], axis=-1)
        tables["controls"] = _joined(ids, time, driven, within(values, CONTROL_MAX))
        return stretches(ids, time, tables)

    def _left_out(self, make: Callable[..., Finding], ids: IntArray, name: str, why: str) -> None:
        for number, count in zip(*np.unique(ids, return_counts=True), strict=True):
            message = f"{count} {why}; they were left out"
            self.findings.add(make(name, str(number), message, "record it again", int(count), 0, "places"))

    def hero(self, wanted: str, files: SceneFiles, path: Path) -> int | None:
        """The id of our car. Raises RawDataError (`two_egos`, `no_such_ego`)."""
        vehicles = {n: a for n, a in self.added.items() if a.kind == VEHICLE and n in self.tracks}
        roles = (wanted,) if wanted else HEROES
        found = [n for n, a in vehicles.items() if a.attributes.get("role_name") in roles or str(n) == wanted]
        there = ", ".join(f"{n} ({a.attributes.get('role_name') or 'no role'})" for n, a in vehicles.items())
        if len(found) > 1:
            message = f"{len(found)} vehicles may be our car: {', '.join(map(str, found))}"
            raise files.fault(path, "two_egos", message, "say which one with --set readers.carla.ego=ID")
        if wanted and not found:
            message = f"no vehicle has the role or id {wanted!r}; there are {there or 'none'}"
            raise files.fault(path, "no_such_ego", message, "name one of them")
        if not found:
            message = f"no vehicle has the role {' or '.join(HEROES)}; there are {there or 'none'}"
            remedy = "say which one is ours with --set readers.carla.ego=ID"
            self.findings.add(doubt("no_ego", "ego", message, remedy))
        return found[0] if found else None

    def ego(self, number: int) -> Ego:
        """Our car."""
        stretch = self.tracks[number]
        return Ego(
            track=stretch.track(),
            point=POINT,
            box=box_of(self.boxes[number].records) if number in self.boxes else None,
            lamps=self._lamps(number),
            controls=_controls(stretch),
            attributes=attributes_of(self.added[number]),
        )

    def actors(self, ego: int | None) -> tuple[Actor, ...]:
        """All others that have a place, lights, sensors and the spectator apart, by id."""
        found = []
        for number, stretch in sorted(self.tracks.items()):
            actor = self.added.get(number)
            if actor is None:
                message = f"{number} has places, and no packet says what it is"
                self.findings.add(note("unknown_actor", str(number), message, "record from the start"))
                continue
            if number == ego or actor.kind in {LIGHT, SENSOR} or actor.blueprint.startswith(NOT_SEEN):
                continue
            found.append(
                Actor(
                    id=str(number),
                    category=category_of(actor),
                    source_category=actor.blueprint,
                    box=box_of(self.boxes[number].records) if number in self.boxes else None,
                    track=stretch.track(),
                    attributes=attributes_of(actor),
                    lamps=self._lamps(number),
                    controls=_controls(stretch),
                )
            )
        return tuple(sorted(found, key=lambda actor: actor.id))

    def lights(self) -> tuple[TrafficLight, ...]:
        """Traffic lights by id, with what they showed."""
        found = []
        for number, actor in sorted(self.added.items()):
            if actor.kind == LIGHT:
                place = metres(np.array(actor.place)).round(4) + 0.0
                yaw = float(yaws_deg(np.array(actor.rotation)).round(4))
                if not (np.isfinite([*place, yaw]).all() and (np.abs(place) < PLACE_MAX_M).all()):
                    what, remedy = "the place of this traffic light is no number, or 100 km", "record it again"
                    message = f"{what} and more away; it was left out"
                    self.findings.add(doubt("place_not_finite", str(number), message, remedy, 1, 0, "places"))
                    continue
                x, y, z = place.tolist()
                states = self.states.get(number)
                shown = () if states is None else colours_of(states.frame, states.records["state"])
                found.append(TrafficLight(id=str(number), place_m=(x, y, z), yaw_deg=yaw, colours=shown))
        return tuple(sorted(found, key=lambda light: light.id))

    def collisions(self, ego: int | None) -> tuple[Collision, ...]:
        """The first frame of each time that two hit one another."""
        table = self.tables[carla_log.COLLISION]
        last: dict[tuple[int, int], int] = {}
        found = []
        for time, first, second in zip(
            table.frame.tolist(), table.records["first"].tolist(), table.records["second"].tolist(), strict=True
        ):
            pair = (min(first, second), max(first, second))
            if time - last.get(pair, -2) > 1:
                found.append(Collision(index=time, first=self._name(first, ego), second=self._name(second, ego)))
            last[pair] = time
        return tuple(found)

    def _name(self, number: int, ego: int | None) -> str | None:
        return "ego" if number == ego else str(number) if number in self.tracks else None

    def cameras(self, ego: int | None) -> tuple[DriveCamera, ...]:
        """Those that were fixed to our car."""
        parents = self.tables[carla_log.PARENT].records
        ours = set(parents["id"][parents["parent"] == ego].tolist()) if ego is not None else set()
        found = [camera_of(a) for n, a in sorted(self.added.items()) if n in ours and a.blueprint == CAMERA]
        return tuple(camera for camera in found if camera is not None)

    def _lamps(self, number: int) -> tuple[Lamps, ...] | None:
        table = self.lamps.get(number)
        return None if table is None else lamps_of(table.frame, table.records["lit"])


def _in_time(table: FrameTable, time: IntArray) -> FrameTable:
    """The records of frames that are kept, with the indices of their times."""
    index = time[table.frame]
    if (index >= 0).all():
        return FrameTable(index, table.records)
    return FrameTable(index[index >= 0], table.records[index >= 0])


def _by_id(table: FrameTable) -> Mapping[int, FrameTable]:
    """The records of each actor, in order of time."""
    ids = table.records["id"]
    order = np.argsort(ids, kind="stable")
    starts = np.flatnonzero(np.diff(ids[order].astype(np.int64), prepend=-1))
    parts = np.split(order, starts[1:]) if len(order) else []
    return {int(ids[rows[0]]): FrameTable(table.frame[rows], table.records[rows]) for rows in parts}


def _joined(ids: IntArray, time: IntArray, table: FrameTable, values: FloatArray) -> FloatArray:
    """For each actor and time (R,) the values (R, k) that a table has of it; NaN where it has none."""
    out = np.full((len(ids), values.shape[1]), np.nan)
    if len(values) and len(ids):
        span = int(max(time.max(), table.frame.max())) + 1
        key = table.records["id"].astype(np.int64) * span + table.frame
        order = np.argsort(key, kind="stable")
        wanted = ids.astype(np.int64) * span + time
        at = np.minimum(np.searchsorted(key[order], wanted), len(key) - 1)
        hit = key[order][at] == wanted
        out[hit] = values[order[at[hit]]]
    return out


def _controls(stretch: TrackStretch) -> Controls | None:
    controls = stretch.tables["controls"]
    if np.isnan(controls).all():
        return None
    throttle, brake, steering, gear, hand = controls.T
    return Controls(
        throttle=pack(throttle, SHARE_STEP),
        brake=pack(brake, SHARE_STEP),
        steering=pack(-steering, SHARE_STEP),
        gear=pack(gear, 1.0),
        handbrake=pack(np.where(np.isnan(hand), np.nan, hand != 0), 1.0),
    )
