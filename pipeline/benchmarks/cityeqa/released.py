"""CityEQA's released JSON: rows read one by one, so that a broken one costs no other."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.benchmarks.cityeqa.wording import DIRECTIONS, parse
from pipeline.core.errors import ConfigError
from pipeline.questions.audited import LeftOut
from pipeline.questions.published import read_rows

# Tasks of the paper by category and answer type: yes/no, number, closed text, open text.
TABLE_4: Final = {
    "Object Recognition": (0, 0, 191, 144),
    "Attribute Recognition": (0, 0, 199, 5),
    "Counting": (0, 205, 0, 0),
    "Existence Judgement": (275, 0, 0, 0),
    "Spatial Reasoning": (52, 0, 83, 68),
    "World Knowledge": (184, 0, 6, 0),
}
CATEGORIES: Final = tuple(TABLE_4)
POSES: Final = ("observation_pose", "target_pose", "initial_pose")
COLUMNS: Final = ("question_id", "question", "answer", "category", *POSES)
AXES_DEG: Final = {name: 90.0 * n for n, name in enumerate(DIRECTIONS)}  # clockwise from north
_QUARTER_DEG: Final = 45.0  # to either side of an axis


class ReleasedPose(NamedTuple):
    """Metres east, north and up of the city's origin; degrees, yaw clockwise from north, pitch positive upward."""

    x: float
    y: float
    z: float
    roll: float
    pitch: float
    yaw: float

    @property
    def place(self) -> tuple[float, float, float]:
        """Where it is."""
        return self[:3]


AXES: Final = ReleasedPose._fields
UNITS: Final = ("m", "m", "m", "deg", "deg", "deg")


@dataclass(frozen=True)
class ReleasedTask:
    """One released row.

    Attributes:
        row: its number in the file, from 1.
        rest: all of the row, with columns that the release does not have.
    """

    row: int
    id: int | str
    question: str
    answer: str
    category: str
    observation: ReleasedPose
    target: ReleasedPose
    initial: ReleasedPose
    rest: Mapping[str, Any]


class _BadRowError(Exception):
    """An unusable row: finding, message, remedy."""


def read_released(path: Path) -> tuple[list[ReleasedTask], list[LeftOut]]:
    """The tasks of a .json, .jsonl or .parquet file, and the rows that cannot be used.

    Raises ConfigError where the file cannot be read or has no row at all.
    """
    rows = read_rows(path)
    if not any(isinstance(row, dict) and row.keys() >= {*POSES} for row in rows):
        raise ConfigError(f"{path}: holds no tasks of CityEQA, whose columns are {', '.join(COLUMNS)}")
    tasks: list[ReleasedTask] = []
    left_out: list[LeftOut] = []
    first: dict[int | str, ReleasedTask] = {}
    for number, raw in enumerate(rows, start=1):
        try:
            task = _task(number, raw)
            if task.id in first:
                _refuse_repeated(task, first[task.id])
        except _BadRowError as bad:
            id_ = raw.get("question_id", "") if isinstance(raw, dict) else ""
            left_out.append(LeftOut(number, str(id_), *bad.args))
        else:
            first[task.id] = task
            tasks.append(task)
    return tasks, left_out


def pose_of(value: Any, name: str) -> ReleasedPose:
    """A pose as released. Raises ValueError, in words, for anything else."""
    try:
        return _pose(value, name)
    except _BadRowError as bad:
        finding, message, remedy = bad.args
        raise ValueError(f"{finding}: {message}. Remedy: {remedy}") from None


def _task(number: int, raw: Any) -> ReleasedTask:
    if not isinstance(raw, dict):
        raise _BadRowError("not_a_row", f"it is {_short(raw)}", f"give an object with {', '.join(COLUMNS)}")
    missing = [name for name in COLUMNS if raw.get(name) is None]
    if missing:
        raise _BadRowError("column_missing", f"it has no {', '.join(missing)}", "add them, or delete the row")
    id_ = raw["question_id"]
    if isinstance(id_, bool) or not isinstance(id_, int | str) or id_ == "":
        raise _BadRowError("id_unusable", f"question_id is {_short(id_)}", "give a whole number or a text")
    texts = {name: _text(raw[name], name) for name in ("question", "answer", "category")}
    if texts["category"] not in CATEGORIES:
        raise _BadRowError(
            "unknown_category", f"category is {_short(texts['category'])}", f"give one of {', '.join(CATEGORIES)}"
        )
    observation, target, initial = (_pose(raw[name], name) for name in POSES)
    _refuse_radians(texts["question"], initial)
    return ReleasedTask(
        number, id_, texts["question"], texts["answer"], texts["category"], observation, target, initial, rest=raw
    )


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _BadRowError(f"{name}_not_text", f"{name} is {_short(value)}", "give one text")
    if not value.strip():
        raise _BadRowError(f"{name}_empty", f"{name} is {_short(value)}", "give a text, or delete the row")
    return value


def _pose(value: Any, name: str) -> ReleasedPose:
    if not isinstance(value, list | tuple) or len(value) != len(ReleasedPose._fields):
        found = f"{len(value)} numbers" if isinstance(value, list | tuple) else _short(value)
        raise _BadRowError(
            "pose_not_six_numbers",
            f"{name} has {found}",
            f"give [{', '.join(ReleasedPose._fields)}], metres and degrees",
        )
    for part, number in zip(ReleasedPose._fields, value, strict=True):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _BadRowError("pose_not_numbers", f"{part} of {name} is {_short(number)}", "give a number")
        if not math.isfinite(number):
            raise _BadRowError(
                "pose_not_finite", f"{part} of {name} is {number}", "measure it again, or delete the row"
            )
    pose = ReleasedPose(*map(float, value))
    limits = {"roll": (-180, 180), "pitch": (-90, 90), "yaw": (-180, 360)}
    for part, (low, high) in limits.items():
        if not low <= getattr(pose, part) <= high:
            raise _BadRowError(
                "angle_out_of_range",
                f"{part} of {name} is {getattr(pose, part):g}",
                f"give degrees from {low} to {high}",
            )
    return pose


def _refuse_radians(question: str, initial: ReleasedPose) -> None:
    """A start yaw that agrees with the first hop only if it is meant in radians is one in radians."""
    told, turned = parse(question), math.degrees(initial.yaw)
    if told is None or initial.yaw.is_integer() or abs(initial.yaw) > math.tau + 1e-3:
        return
    axis = AXES_DEG[told.hops[0].direction]
    if off_deg(turned, axis) < _QUARTER_DEG <= off_deg(initial.yaw, axis):
        raise _BadRowError(
            "yaw_in_radians",
            f"yaw of initial_pose is {initial.yaw:g}, which is {told.hops[0].direction} in radians and not in degrees",
            "give degrees",
        )


def off_deg(one: float, other: float) -> float:
    """Angle between two directions, degrees in [0, 180]."""
    return abs((one - other + 180) % 360 - 180)


def _refuse_repeated(task: ReleasedTask, first: ReleasedTask) -> None:
    same = all(task.rest.get(name) == first.rest.get(name) for name in COLUMNS)
    raise _BadRowError(
        "repeated_row" if same else "id_taken",
        f"question_id {task.id} is that of row {first.row}, {'with the same' if same else 'with other'} content",
        "delete one of them" if same else "give one of them another id",
    )


def _short(value: Any) -> str:
    """A value as one reads it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
