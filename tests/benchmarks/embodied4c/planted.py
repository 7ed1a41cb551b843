"""Drives and episodes of an arm put together from plain numbers, and what becomes of one question about them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.benchmarks.embodied4c.rules import ExamRules
from pipeline.benchmarks.embodied4c.tasks import EXAM_TASKS
from pipeline.core.arrays import FloatArray
from pipeline.core.quantized_series import QuantizedSeries, pack
from pipeline.core.schema import AnyScene, Finding, Source
from pipeline.worlds.arm import facts as arms
from pipeline.worlds.drive import facts as drives
from tests.oracles.exam_check import open_exam

Row = dict[str, Any]

FEW: Final = 8  # limits of a rule that are its own, such as some radii
STEP_S: Final = 0.1
SOURCE: Final = Source(reader="made", reader_version=1, files=("log",), sha256="0" * 64)
CAR: Final = (4.0, 2.0, 1.5)
LINES: Final = {"centre": 0.0, "left": 1.75, "right": -1.75}  # of a lane, metres to its left
SIZES: Final = {"pedestrian": (0.5, 0.5, 1.8), "traffic cone": (0.4, 0.4, 0.7)}


def of_kind(scene: AnyScene, task: str, kind: str, **rules: Any) -> dict[tuple[str, ...], Row]:
    """Operands after the kind (the second, what it is about) -> the candidate, however frequent its answer is."""
    view = open_exam(scene, ExamRules(**({"far_per_log": 0, "even_answers": False} | rules)))
    found = EXAM_TASKS[task].candidates(view).to_pylist()
    return {tuple(row["operands"][1:]): row for row in found if row["operands"][0] == kind}


def refusal(row: Row) -> tuple[Any, ...]:
    """Why a candidate is refused: reason, measured value, limit, unit."""
    return row["reason"], row["measured"], row["limit"], row["unit"]


def limits_of(rows: Iterable[Row]) -> set[str]:
    """What candidates were held against, a line for each kind and rule; of more than `FEW` limits the least."""
    found: dict[tuple[str, str], set[float]] = defaultdict(set)
    for row in rows:
        for fact in row["evidence"] or ():
            if fact["limit"] is not None:
                found[f"{row['operands'][0]} {fact['name']} {fact['relation']}", fact["unit"]].add(fact["limit"])
    lines = {key: sorted(values) if len(values) <= FEW else [min(values)] for key, values in found.items()}
    return {f"{rule} {' or '.join(f'{n:g}' for n in few)} {unit}".strip() for (rule, unit), few in lines.items()}


def limits_stated(domain: str) -> set[str]:
    """The lines of limits.txt about flights (air), arms (arm) or drives (road)."""
    lines = (Path(__file__).parent / "limits.txt").read_text().splitlines()
    return {line for line in lines if (line[:4] if line[:4] in {"air_", "arm_"} else "road") == domain}


def times(lasts_s: float) -> FloatArray:
    """Ten a second."""
    return np.arange(round(lasts_s / STEP_S) + 1, dtype=np.float64) * STEP_S


def drive(
    *actors: drives.Actor,
    lasts_s: float = 3.0,
    start: tuple[float, float] = (0.0, 0.0),
    speeds: float | FloatArray = 0.0,
    **facts: Any,
) -> drives.DriveScene:
    """Our car, 4 m long and 2 m wide, from ``start`` along x at a speed (m/s), or one from each time to the next."""
    t = times(lasts_s)
    speed = np.broadcast_to(np.asarray(speeds, dtype=np.float64), t.shape)
    x = start[0] + np.concatenate([[0.0], np.cumsum(speed[:-1] * STEP_S)])
    place = np.column_stack([x, np.full(len(t), start[1]), np.zeros(len(t))])
    velocity = np.column_stack([speed, np.zeros((len(t), 2))])
    track = drives.ActorTrack(
        first=0,
        place_m=pack(place, drives.PLACE_STEP_M),
        yaw_deg=pack(np.zeros(len(t)), drives.YAW_STEP_DEG),
        velocity_mps=pack(velocity, drives.SPEED_STEP_MPS),
    )
    ego = drives.Ego(track=track, point="the middle of the car", box=drives.VehicleBox(size_m=CAR))
    log = drives.Drive(seconds=pack(t, drives.TIME_STEP_S), ego=ego, actors=actors, **facts)
    return drives.DriveScene(id="made/drive", dataset="made", name="drive", source=SOURCE, video=None, facts=log)


def actor(
    category: str, x: float, y: float, *, vx: float = 0.0, name: str = "one", lasts_s: float = 3.0, **more: Any
) -> drives.Actor:
    """Somebody whose box is turned along x, and moves along x."""
    t = times(lasts_s)
    place = np.column_stack([x + vx * t, np.full(len(t), y), np.zeros(len(t))])
    track = drives.ActorTrack(
        first=0,
        place_m=pack(place, drives.PLACE_STEP_M),
        yaw_deg=pack(np.full(len(t), 180.0 if vx < 0 else 0.0), drives.YAW_STEP_DEG),
    )
    size = drives.VehicleBox(size_m=SIZES.get(category, CAR))
    given = {"id": name, "category": category, "source_category": category, "box": size, "track": track}
    return drives.Actor.model_validate(given | more)


def lane(name: str, first_x: float, last_x: float, y: float, **more: Any) -> drives.Lane:
    """A lane along x, 3.5 m wide, about a middle line at y."""
    lines = {part: ((first_x, y + off, 0.0), (last_x, y + off, 0.0)) for part, off in LINES.items()}
    return drives.Lane.model_validate({"id": name, "kind": "vehicle", **lines} | more)


def outline(first_x: float, last_x: float, low_y: float, high_y: float) -> drives.Line:
    """A rectangle on the ground."""
    corners = ((first_x, low_y), (last_x, low_y), (last_x, high_y), (first_x, high_y))
    return tuple((x, y, 0.0) for x, y in corners)


def every(lasts_s: float, *parts: float) -> FloatArray:
    """The same numbers at all times."""
    return np.tile(np.array(parts), (len(times(lasts_s)), 1))


def episode(
    *items: arms.SceneItem,
    lasts_s: float = 2.0,
    gripper: tuple[float, float, float] = (0.3, 0.0, 0.5),
    arm: arms.Arm | None = None,
    findings: Sequence[Finding] = (),
) -> arms.EpisodeScene:
    """A gripper that stays where it is, and things about it, which are all that there are."""
    log = arms.Episode(
        seconds=pack(times(lasts_s), arms.TIME_STEP_S),
        clock="recorded",
        arm=arm,
        gripper=arms.Gripper(point="its tip", place_m=pack(every(lasts_s, *gripper), arms.PLACE_STEP_M)),
        items=items,
        items_complete=True,
    )
    return arms.EpisodeScene(
        id="made/episode",
        dataset="made",
        name="episode",
        source=SOURCE,
        video=None,
        facts=log,
        findings=tuple(findings),
    )


def item(
    category: str,
    size_m: tuple[float, float, float],
    place_m: tuple[float, float, float],
    *,
    moves_m: tuple[float, float, float] = (0.0, 0.0, 0.0),
    lasts_s: float = 2.0,
    colour: str = "",
) -> arms.SceneItem:
    """A thing that moves evenly by so much in all."""
    share = (times(lasts_s) / lasts_s)[:, None]
    place = np.array(place_m) + share * np.array(moves_m)
    upright = pack(every(lasts_s, 1.0, 0.0, 0.0, 0.0), arms.TURN_STEP)
    return arms.SceneItem(
        id=f"{colour} {category}".strip(),
        category=category,
        size_m=size_m,
        place_m=pack(place, arms.PLACE_STEP_M),
        turn_wxyz=upright,
        attributes={"colour": colour} if colour else {},
    )


def turning(
    first_deg: float, dps: float, low_deg: float | None, high_deg: float | None, lasts_s: float = 2.0, **more: Any
) -> arms.Arm:
    """An arm of one joint, the shoulder, that turns evenly."""
    joint = {"name": "shoulder", "unit": "rad"} | {
        key: None if deg is None else float(np.radians(deg)) for key, deg in (("low", low_deg), ("high", high_deg))
    }
    angle = np.radians(first_deg + dps * times(lasts_s))[:, None]
    tables: dict[str, QuantizedSeries] = {
        "position": pack(angle, arms.JOINT_STEP),
        "velocity": pack(every(lasts_s, float(np.radians(dps))), arms.RATE_STEP),
    }
    return arms.Arm.model_validate({"joints": (joint,), **tables} | more)


# Table 2 of the paper: per embodiment SEM, SPA, TEM, PHY, VLN and S_b; then E4C-S and GEN.
TABLE_2 = Path(__file__).with_name("table_2.txt")


def published() -> dict[str, list[float]]:
    """Model -> its row of table 2."""
    return {name: list(map(float, row)) for name, *row in map(str.split, TABLE_2.read_text().splitlines())}


def question(number: int, sub: str = "DT", answer: str = "12.5", **more: Any) -> dict[str, Any]:
    """A released row; numeric where ``value`` is not given as None."""
    row = {
        "question_id": number,
        "log": f"drives/{number % 3}",
        "domain": "driving",
        "capability": "SPA",
        "sub_capability": sub,
        "question": "How far away is the nearest car, in metres, between the nearest surfaces?",
        "answer": answer,
        "accepted": [],
        "value": None,
        "unit": None,
    }
    return row | more
