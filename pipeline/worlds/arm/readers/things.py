"""What people or a simulator say of an episode's things: a JSON file beside it.

``{"complete": true, "success": null, "things": [{"id": "cube 1", "category": "cube", "attributes": {"colour": "red"},
"role": "target", "size_m": [x, y, z], "place_m": [[x, y, z], …], "turn_wxyz": [[w, x, y, z], …],
"slide": {"unit": "m", "low": 0, "high": 0.2, "position": [0.0, …]}}]}``: one row for each time, or one for all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

import numpy as np
from pydantic import Field, FiniteFloat, ValidationError

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt
from pipeline.core.packed import Packed, pack
from pipeline.core.schema import Model, Name, Vec3
from pipeline.reading.files import SceneFiles
from pipeline.worlds.arm.facts import JOINT_STEP, PLACE_STEP_M, TURN_STEP, Item, Metres, Slide
from pipeline.worlds.arm.readers.series import LARGEST, UNIT_TOLERANCE

Quaternion = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]
_SHOWN: Final = 80


class SlideRow(Model):
    """A drawer's, door's or button's own joint."""

    unit: Literal["m", "rad"]
    low: FiniteFloat
    high: FiniteFloat
    position: Annotated[tuple[FiniteFloat, ...], Field(min_length=1)]


class ThingRow(Model):
    """One thing as it stands in the file."""

    id: Name
    category: Name
    attributes: dict[Name, Name] = Field(default_factory=dict)
    role: Name | None = None
    size_m: tuple[Metres, Metres, Metres] | None = None
    place_m: Annotated[tuple[Vec3, ...], Field(min_length=1)] | None = None
    turn_wxyz: Annotated[tuple[Quaternion, ...], Field(min_length=1)] | None = None
    slide: SlideRow | None = None


class Things(Model):
    """The file."""

    complete: bool = False
    success: bool | None = None
    things: tuple[ThingRow, ...] = ()


def read_things(
    files: SceneFiles, path: Path, count: int, findings: Findings
) -> tuple[tuple[Item, ...], bool, bool | None]:
    """Items by id, whether they are all, and whether the episode succeeded; of ``count`` times."""
    try:
        said = Things.model_validate(files.json(path))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{where} is {str(first['input'])[:_SHOWN]!r}: {first['msg']}"
        raise files.fault(path, "bad_things", message, "follow docs/arms.md") from error
    ids = [row.id for row in said.things]
    twice = sorted({name for name in ids if ids.count(name) > 1})
    if twice:
        raise files.fault(path, "duplicate_thing", f"{', '.join(twice)} given more than once", "keep one")
    rows = sorted(said.things, key=lambda row: row.id)
    return tuple(_item(files, path, row, count, findings) for row in rows), said.complete, said.success


def _item(files: SceneFiles, path: Path, row: ThingRow, count: int, findings: Findings) -> Item:
    def table(values: object, what: str, step: float) -> Packed:
        numbers = np.array(values, dtype=np.float64)
        if len(numbers) not in {1, count}:
            message = f"{what} of {row.id} has {len(numbers)} rows, not 1 or {count}, one for each time"
            raise files.fault(path, "wrong_length", message, "give one row for each time, or one for all")
        if np.abs(numbers).max() > LARGEST:
            message = f"{what} of {row.id} is up to {np.abs(numbers).max():g}, over {LARGEST:g}"
            raise files.fault(path, "implausible_value", message, "are these millimetres or degrees?")
        return pack(np.broadcast_to(numbers.reshape(len(numbers), -1), (count, numbers[0].size)), step)

    turns = None if row.turn_wxyz is None else np.array(row.turn_wxyz, dtype=np.float64)
    if turns is not None and _off_unit(turns) > UNIT_TOLERANCE:
        message = f"turn_wxyz of {row.id} is off length 1 by {_off_unit(turns):.3g}"
        findings.add(doubt("unusable_turn", row.id, message, "give quaternions", _off_unit(turns), UNIT_TOLERANCE))
        turns = None
    slide = None
    if row.slide is not None:
        if row.slide.high <= row.slide.low:
            message = f"slide of {row.id} ends at {row.slide.high:g}, not above {row.slide.low:g}, where it begins"
            raise files.fault(path, "bad_things", message, "give low and high")
        position = table(row.slide.position, "slide.position", JOINT_STEP)
        slide = Slide(position=position, unit=row.slide.unit, low=row.slide.low, high=row.slide.high)
    return Item(
        id=row.id,
        category=row.category,
        attributes=row.attributes,
        role=row.role,
        size_m=row.size_m,
        place_m=None if row.place_m is None else table(row.place_m, "place_m", PLACE_STEP_M),
        turn_wxyz=None if turns is None else table(turns, "turn_wxyz", TURN_STEP),
        slide=slide,
    )


def _off_unit(turns: FloatArray) -> float:
    return float(np.abs(np.sqrt((turns**2).sum(1)) - 1).max())
