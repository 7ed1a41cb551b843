"""Pictures of tasks: the map with start, landmarks, target, where the answer is seen and the oracle's way."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw, ImageFont

from pipeline.benchmarks.cityeqa.columns import way_of
from pipeline.benchmarks.cityeqa.tasks.poses import AXES
from pipeline.core.arrays import FloatArray
from pipeline.worlds.city.facts import BUILDING, Thing

SIDE: Final = 560  # pixels
MARGIN_M: Final = 25.0  # about all that a task names
_TEXT: Final = 18  # pixels of a line
_LINE: Final = 88  # characters of a line
_INK: Final[dict[str, tuple[int, int, int]]] = {
    "paper": (255, 255, 255),
    "ground": (247, 246, 242),
    "building": (205, 205, 205),
    "edge": (150, 150, 150),
    "other": (190, 214, 160),
    "landmark": (114, 159, 207),
    "target": (239, 80, 60),
    "start": (20, 20, 20),
    "way": (30, 90, 170),
    "seen": (200, 130, 0),
}
_NUMBER: Final = {name: number for number, name in enumerate(_INK)}


def task_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, of every question."""
    by_scene: dict[str, list[Mapping[str, Any]]] = {}
    for row in asked.select(["id", "scene", "operands", "text", "answer", "evidence", "group"]).to_pylist():
        by_scene.setdefault(row["scene"], []).append(row)
    found = {}
    for scene in scenes():
        things = scene.facts.things if scene.id in by_scene else ()
        centers = np.array([t.center for t in things], dtype=np.float64).reshape(-1, 2)
        radii = np.array([t.radius_m for t in things], dtype=np.float64)
        for row in by_scene.get(scene.id, ()):
            found[f"maps/{row['id']}.png"] = _picture(row, things, centers, radii)
    return found


def _picture(row: Mapping[str, Any], things: Sequence[Thing], centers: FloatArray, radii: FloatArray) -> bytes:
    facts = {(fact["name"], fact["subject"]): fact["value"] for fact in row["evidence"]}
    start, seen = (np.array([facts[name, axis] for axis in AXES]) for name in ("initial_pose", "observation_pose"))
    way = np.array(way_of(row["evidence"]), dtype=np.float64).reshape(-1, 2)
    landmarks = set(row["operands"][-1].split(" > ")[:-1])
    named = [t.center for t in things if t.id in landmarks or t.id == row["group"]]
    around = np.concatenate([way, np.array(named).reshape(-1, 2), start[None, :2], seen[None, :2]])
    low, high = around.min(0) - MARGIN_M, around.max(0) + MARGIN_M
    scale = SIDE / float((high - low).max())
    low = (low + high) / 2 - SIDE / scale / 2
    lines = _lines(f"{row['text']} [{row['answer']}]")

    def at(point: Sequence[float] | FloatArray) -> tuple[float, float]:
        return (float(point[0]) - low[0]) * scale, SIDE - (float(point[1]) - low[1]) * scale

    picture = Image.new("P", (SIDE, SIDE + _TEXT * len(lines) + 8), _NUMBER["ground"])
    picture.putpalette([channel for colour in _INK.values() for channel in colour])
    draw = ImageDraw.Draw(picture)
    draw.fontmode = "1"  # numbers of colours cannot be blended
    near = (centers + radii[:, None] >= low).all(1) & (centers - radii[:, None] <= low + SIDE / scale).all(1)
    for i in sorted(np.flatnonzero(near).tolist(), key=lambda i: (things[i].kind != BUILDING, -radii[i])):
        thing = things[i]
        ink = "target" if thing.id == row["group"] else "landmark" if thing.id in landmarks else None
        fill = _NUMBER[ink or ("building" if thing.kind == BUILDING else "other")]
        if thing.outline is not None:
            draw.polygon([at(p) for p in thing.outline], fill=fill, outline=_NUMBER["edge"])
        else:
            draw.circle(at(thing.center), 6 if ink else 2.5, fill=fill, outline=_NUMBER["edge"])
    if len(way) > 1:
        draw.line([at(p) for p in way], fill=_NUMBER["way"], width=2)
        for stop in way:
            draw.circle(at(stop), 2.5, fill=_NUMBER["way"])
    _arrow(draw, at(seen), float(seen[5]), "seen")
    _arrow(draw, at(start), float(start[5]), "start")
    draw.rectangle((0, SIDE, *picture.size), fill=_NUMBER["paper"])
    font = ImageFont.load_default(size=13)
    for n, line in enumerate(lines):
        draw.text((6, SIDE + 4 + n * _TEXT), line, fill=_NUMBER["start"], font=font)
    bar = 50 * scale
    draw.line((12, SIDE - 12, 12 + bar, SIDE - 12), fill=_NUMBER["start"], width=3)
    draw.text((14, SIDE - 32), "50 m, north up", fill=_NUMBER["start"], font=font)
    raw = io.BytesIO()
    picture.save(raw, "PNG", optimize=False)
    return raw.getvalue()


def _arrow(draw: ImageDraw.ImageDraw, at: tuple[float, float], yaw_deg: float, ink: str) -> None:
    """A dot with a line to where it looks."""
    yaw = np.radians(yaw_deg)
    ahead = (at[0] + 20 * float(np.sin(yaw)), at[1] - 20 * float(np.cos(yaw)))
    draw.line((at, ahead), fill=_NUMBER[ink], width=3)
    draw.circle(at, 6, fill=_NUMBER[ink])


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > _LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
