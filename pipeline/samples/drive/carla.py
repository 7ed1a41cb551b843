"""A sample drive as a recording of CARLA; and the bytes of recordings of any arrays, for tests and benches."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table
from pipeline.formats import carla_log
from pipeline.formats.carla_log import MAGIC, TABLES, VERSION, AddedActor, Records
from pipeline.samples.drive.plan import DrivePlan, Light, Mover
from pipeline.worlds.drive.readers.carla_recording import COLOURS, LAMPS

RATE_HZ: Final = 20
START_S: Final = 1_700_000_000
EGO_ID: Final = 100
_STRING: Final = 3  # type of an attribute
_BLUEPRINTS: Final[dict[str, tuple[int, str]]] = load_table("samples/drive")["blueprints"]
_CAMERA: Final = {"image_size_x": "1280", "image_size_y": "720", "fov": "90.0", "role_name": "front"}


def write_log(folder: Path, plan: DrivePlan) -> None:
    """Writes the recording of a drive as ``folder/NAME.log``."""
    times_s = np.arange(round(plan.lasts_s * RATE_HZ) + 1) / RATE_HZ
    movers = {EGO_ID + number: mover for number, mover in enumerate((plan.ego, *plan.others))}
    ids = {mover.id: number for number, mover in movers.items()}
    lights = {light.id: light for light in plan.lights}
    added = [*(_light(plan, light) for light in lights.values()), *(_mover(n, m) for n, m in movers.items())]
    camera = EGO_ID + len(movers)
    added.append(AddedActor(0, camera, 5, (50.0, 0.0, 150.0), (0.0, -5.0, 0.0), "sensor.camera.rgb", _CAMERA))
    tables = {
        carla_log.POSITION: _records(carla_log.POSITION, movers, times_s),
        carla_log.KINEMATICS: _records(carla_log.KINEMATICS, _of_kinds(movers, {1, 2}), times_s),
        carla_log.VEHICLE: _records(carla_log.VEHICLE, _of_kinds(movers, {1}), times_s),
        carla_log.LAMPS: _records(carla_log.LAMPS, _of_kinds(movers, {1}), times_s),
        carla_log.BOX: _records(carla_log.BOX, movers, times_s),
        carla_log.LIGHT: _light_records(lights, times_s),
    }
    frames: dict[int, list[Records]] = {kind: list(table) for kind, table in tables.items()}
    parent = np.array([(camera, EGO_ID)], dtype=TABLES[carla_log.PARENT])
    frames[carla_log.PARENT] = [parent, *[parent[:0]] * (len(times_s) - 1)]
    hits = {round(second * RATE_HZ): (ids[a], ids[b]) for second, a, b in plan.hits}
    frames[carla_log.COLLISION] = [
        np.array([(0, *hits[i], (0, 0))] if i in hits else [], dtype=TABLES[carla_log.COLLISION])
        for i in range(len(times_s))
    ]
    raw = recording_bytes(f"Carla/Maps/{plan.name}", times_s, added, frames)
    write_atomically(folder / f"{plan.name}.log", raw)


def recording_bytes(
    map_name: str, elapsed_s: FloatArray, added: Sequence[AddedActor], frames: Mapping[int, Sequence[Records]]
) -> bytes:
    """A recording: who comes into it when, and for each kind of packet the records of each frame."""
    steps = np.diff(elapsed_s, append=elapsed_s[-1:]).tolist()
    parts = [struct.pack("<H", VERSION), _text(MAGIC), struct.pack("<q", START_S), _text(map_name)]
    for number, (now, step) in enumerate(zip(elapsed_s.tolist(), steps, strict=True)):
        parts.append(packet(carla_log.FRAME, struct.pack("<Qdd", number + 1, step, now)))
        come = [_added(actor) for actor in added if actor.frame == number] if number < len(elapsed_s) else []
        if come:
            parts.append(packet(carla_log.ADD, struct.pack("<H", len(come)) + b"".join(come)))
        for kind, records in frames.items():
            rows = records[number]
            parts.append(packet(kind, struct.pack("<H", len(rows)) + rows.tobytes()))
        parts.append(packet(1, b""))
    return b"".join(parts)


def packet(kind: int, data: bytes) -> bytes:
    """One packet."""
    return struct.pack("<BI", kind, len(data)) + data


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<H", len(raw)) + raw


def _added(actor: AddedActor) -> bytes:
    data = b"".join(struct.pack("<B", _STRING) + _text(name) + _text(value) for name, value in actor.attributes.items())
    head = struct.pack("<IB6fI", actor.id, actor.kind, *actor.place, *actor.rotation, 0)
    return head + _text(actor.blueprint) + struct.pack("<H", len(actor.attributes)) + data


def _mover(number: int, mover: Mover) -> AddedActor:
    kind, blueprint = _BLUEPRINTS[mover.category]
    attributes = {"role_name": "hero" if number == EGO_ID else "autopilot"}
    if kind == 1:
        attributes["number_of_wheels"] = "2" if mover.category in {"cyclist", "motorcyclist"} else "4"
    if mover.colour:
        attributes["color"] = mover.colour
    return AddedActor(0, number, kind, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), blueprint, attributes)


def _light(plan: DrivePlan, light: Light) -> AddedActor:
    x, y = plan.placed(light.u, light.v)
    return AddedActor(
        0, light.id, 3, (100 * x, -100 * y, 0.0), (0.0, 0.0, -plan.yaw_deg - 180.0), "traffic.traffic_light", {}
    )


def _of_kinds(movers: dict[int, Mover], kinds: set[int]) -> dict[int, Mover]:
    return {number: mover for number, mover in movers.items() if _BLUEPRINTS[mover.category][0] in kinds}


def _records(kind: int, movers: dict[int, Mover], times_s: FloatArray) -> Records:
    """(T, movers) records of one kind of packet. A vehicle's origin is on the ground, others' in their middle."""
    table = np.zeros((len(times_s), len(movers)), dtype=TABLES[kind])
    for column, (number, mover) in enumerate(movers.items()):
        row, motion, height = table[:, column], mover.at(times_s), mover.size_m[2]
        on_ground = _BLUEPRINTS[mover.category][0] == 1
        row["id"] = number
        if kind == carla_log.POSITION:
            up = np.full(len(times_s), 0.0 if on_ground else height / 2)
            row["place"] = 100 * np.column_stack([motion.place_m[:, 0], -motion.place_m[:, 1], up])
            row["rotation"][:, 2] = -motion.yaw_deg
        elif kind == carla_log.KINEMATICS:
            row["velocity"][:, :2] = motion.velocity_mps * (1.0, -1.0)
        elif kind == carla_log.VEHICLE:
            row["throttle"] = np.clip(motion.acceleration_mps2 / 4, 0, 1)
            row["brake"] = np.clip(-motion.acceleration_mps2 / 8, 0, 1)
            row["gear"] = 1
        elif kind == carla_log.LAMPS:
            for lamp, on in mover.lit(times_s).items():
                row["lit"] |= np.where(on, 1 << LAMPS.index(lamp), 0).astype(np.uint32)
        else:
            row["origin"] = (0.0, 0.0, 50 * height if on_ground else 0.0)
            row["extent"] = 50 * np.array(mover.size_m)
    return table


def _light_records(lights: dict[int, Light], times_s: FloatArray) -> Records:
    table = np.zeros((len(times_s), len(lights)), dtype=TABLES[carla_log.LIGHT])
    for column, light in enumerate(lights.values()):
        table[:, column]["id"] = light.id
        since = np.array([second for second, _ in light.colours])
        shown = np.array([COLOURS.index(colour) for _, colour in light.colours])
        table[:, column]["state"] = shown[np.searchsorted(since, times_s, side="right") - 1]
    return table
