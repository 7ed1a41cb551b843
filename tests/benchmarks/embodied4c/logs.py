"""Logs of each embodiment, drawn by a number: what attackers learn from some must not help them with others."""

import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.schema import AnyScene
from pipeline.reading.files import SceneFiles
from pipeline.samples.arm.write import write_samples
from pipeline.samples.drive import argoverse2, carla
from pipeline.samples.drive.plan import (
    EGO_SIZE,
    LANE_M,
    SIZES,
    DrivePlan,
    LaneChange,
    Mover,
    PlannedRoad,
    SpeedProfile,
    placed,
)
from pipeline.samples.drive.plan import LanePath as Way
from pipeline.worlds.registry import READERS
from tests.benchmarks.urbanvideo.flights import random_flight

LANES: Final = (-LANE_M / 2, LANE_M / 2, 1.5 * LANE_M)  # two ours, one towards us
MARKS: Final = ("DASHED_WHITE", "SOLID_WHITE", "DOUBLE_SOLID_YELLOW", "DASHED_YELLOW", "NONE")
MOVING: Final = ("car", "car", "van", "truck", "bus", "motorcyclist", "cyclist", "pedestrian", "pedestrian")
STANDING: Final = ("car", "car", "van", "truck", "traffic cone", "traffic cone", "bollard", "pedestrian", "cyclist")

BESIDE_M: Final = 60.0  # before and behind our way: farther than anything is counted
CROWDED_M: Final = 260.0  # of way, along which 15 to 40 things are


def drive(seed: int) -> AnyScene:
    """A drive of 10 to 25 s, with things along its way; one in three as a recording of CARLA, else of Argoverse 2."""
    name, writer = ("carla", carla) if seed % 3 == 0 else ("argoverse2", argoverse2)
    with tempfile.TemporaryDirectory() as folder:
        writer.write_log(Path(folder), random_plan(seed))
        (ref,) = READERS[name].scenes(Path(folder)).scenes
        return READERS[name].read(SceneFiles(Path(folder), ref))


def flight(seed: int) -> AnyScene:
    """A flight of 4 to 9 movements among 8 landmarks, without a video; between 5 and 120 m above the start at first."""
    made = random_flight(seed)
    motion = made.facts.motion
    up = float(np.exp(np.random.default_rng(seed).uniform(np.log(5), np.log(120)))) - motion.enu_m[0][2]
    up = max(up, 4.0 - min(z for _, _, z in motion.enu_m))
    raised = {"enu_m": tuple((x, y, z + up) for x, y, z in motion.enu_m)}
    raised["height_m"] = tuple(z for _, _, z in raised["enu_m"])
    facts = made.facts.model_copy(update={"motion": motion.model_copy(update=raised)})
    return made.model_copy(update={"video": None, "facts": facts})


def episodes(numbers: Iterable[int]) -> list[AnyScene]:
    """Sample episodes of arms."""
    reader: Any = READERS["lerobot"]
    with tempfile.TemporaryDirectory() as folder:
        write_samples(Path(folder), numbers)
        found = reader.scenes(Path(folder)).scenes
        return [reader.read(SceneFiles(Path(folder), ref)) for ref in found]


def random_plan(seed: int) -> DrivePlan:
    """Our car with some changes of speed and lane, or a bend; others in lanes, at kerbs, on pavements and crossing.

    They are as many along each part of our way, at each time: else whoever knows the time would know how many are near.
    """
    rng = np.random.default_rng(seed)
    origin, yaw = (float(rng.uniform(-900, 900)), float(rng.uniform(-900, 900))), float(rng.uniform(0, 360))
    lasts = float(rng.integers(10, 26))
    bends: tuple[tuple[float, float], ...] = ((1e9, 0.0),)
    if rng.random() < 0.5:
        bends = ((float(rng.uniform(10, 60)), 0.0), (float(rng.uniform(12, 60)), float(rng.uniform(-90, 90))), *bends)
    lane, pace = LANES[int(rng.integers(2))], _pace(rng, 16.0)
    ego = Mover("ego", "car", Way(placed(origin, yaw, 0.0, lane), yaw, bends), pace, EGO_SIZE)
    way_m = float(pace.at(np.array([lasts]))[0][0]) + 2 * BESIDE_M
    others = []
    for number in range(round(rng.uniform(15, 40) * way_m / CROWDED_M)):
        moves = rng.random() < 0.5
        kind = str(rng.choice(MOVING if moves else STANDING))
        turn = 0.0
        if not moves:
            v = float(rng.choice([-1, 1])) * float(rng.uniform(5.5, 11)) + LANE_M / 2
            turn = float(rng.choice([0, 180, 90, -90, 0, 180, rng.uniform(0, 360)]))
        elif kind in {"pedestrian", "cyclist"} or rng.random() < 0.3:
            v, turn = float(rng.uniform(-25, 25)), float(rng.choice([90, -90, 0, 180]))
        else:
            v = LANES[int(rng.integers(3))] + float(rng.normal(0, 0.3))
            turn = 180.0 if v > LANE_M else 0.0
        fast = {"pedestrian": 2.2, "cyclist": 7.0}.get(kind, 17.0)
        own = _pace(rng, fast) if moves else SpeedProfile(0.0)
        own = replace(own, along_m=-float(own.at(rng.uniform(0, lasts, 1))[0][0]))
        middle, ahead = ego.path.at(rng.uniform(-BESIDE_M, way_m - BESIDE_M, 1))
        aside = np.array([-np.sin(ahead[0]), np.cos(ahead[0])]) * (v - lane)
        x, y = (middle[0] + aside).tolist()
        path = Way((x, y), float(np.degrees(ahead[0])) + turn)
        shifts = (LaneChange(2.0, 5.0, float(rng.choice([-1, 1])) * LANE_M),) if moves and rng.random() < 0.15 else ()
        stretch = rng.uniform(0.75, 1.35, 3)
        size = tuple(round(float(a * b), 2) for a, b in zip(SIZES[kind], stretch, strict=True))
        others.append(Mover(f"{kind}-{number}", kind, path, own, size, shifts))  # type: ignore[arg-type]
    marks = [str(rng.choice(MARKS)) for _ in range(4)]
    along = ((-120.0, 0.0), (400.0, 0.0))
    lines = [tuple((u, v) for u, _ in along) for v in LANES]
    roads = (
        PlannedRoad(1, lines[0], left_mark=marks[1], right_mark=marks[0], left=2),
        PlannedRoad(2, lines[1], left_mark=marks[2], right_mark=marks[1], right=1),
        PlannedRoad(3, lines[2][::-1], left_mark=marks[2], right_mark=marks[3]),
    )
    crossings = tuple((u, u + 4.0, -10.0, 14.0) for u in (float(rng.uniform(10, 50)), float(rng.uniform(60, 120))))
    return DrivePlan(f"random{seed}", origin, yaw, lasts, ego, tuple(others), roads, crossings=crossings)


def _pace(rng: np.random.Generator, most: float) -> SpeedProfile:
    """A speed with up to four changes of it, or none."""
    legs = []
    for _ in range(int(rng.integers(0, 5))):
        gain = float(rng.choice([0.0, rng.uniform(0.8, 2.5), -rng.uniform(0.8, 4.0)])) * min(1.0, most / 10)
        legs.append((float(rng.uniform(1, 5)), gain))
    return SpeedProfile(0.0, float(rng.choice([0.0, rng.uniform(0.1, 1.0), rng.uniform(0.3, 1.0)])) * most, tuple(legs))
