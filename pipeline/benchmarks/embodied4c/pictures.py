"""Pictures of questions: the log from above at the question's time, what it speaks of, and what was measured."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw

from pipeline.benchmarks.embodied4c.columns import picture_of
from pipeline.core.arrays import FloatArray
from pipeline.drawing.fonts import font
from pipeline.worlds.drive.facts import DriveScene
from pipeline.worlds.drive.view import DriveView

SIDE: Final = 560  # pixels
LEAST_M: Final = 25.0  # from our car to the edge of the picture
MARGIN_M: Final = 8.0
TEXT: Final = 18  # pixels of a line
LINE: Final = 88  # characters of a line
INK: Final[dict[str, tuple[int, int, int]]] = {
    "paper": (255, 255, 255),
    "ground": (236, 236, 232),
    "road": (212, 212, 208),
    "other": (150, 160, 175),
    "asked": (239, 80, 60),
    "ego": (30, 90, 170),
    "way": (120, 165, 220),
    "text": (20, 20, 20),
}
Places = Callable[[FloatArray], list[tuple[float, float]]]  # pixels of places (n, 2)
NUMBER: Final = {name: number for number, name in enumerate(INK)}


def question_pictures(asked: pa.Table, scenes: Callable[[], Iterable[Any]]) -> dict[str, bytes]:
    """Name within the release -> PNG, of every question about a drive that stands at a time."""
    by_scene: dict[str, list[Mapping[str, Any]]] = {}
    for row in asked.select(["id", "scene", "text", "answer", "evidence", "until_s"]).to_pylist():
        if row["until_s"] is not None:
            by_scene.setdefault(row["scene"], []).append(row)
    found: dict[str, bytes] = {}
    for scene in scenes():
        rows = by_scene.get(scene.id, ())
        if rows and scene.facts.world == "drive":
            drawn = DrawnQuestion(scene)
            found |= {picture_of(row["id"]): drawn.picture(row) for row in rows}
    return found


class DrawnQuestion:
    """A drive from above; our car in the middle, its heading upwards."""

    def __init__(self, scene: DriveScene) -> None:
        self.view = DriveView(scene)
        self.road = [np.array(line)[:, :2] for line in scene.facts.drivable]

    def picture(self, row: Mapping[str, Any]) -> bytes:
        """One question's, as PNG."""
        view = self.view
        index = view.index(row["until_s"])
        marks = marks_of(row["evidence"] or ())
        about = np.array(list(marks.values())).reshape(-1, 2) - view.ego_m[index, :2]
        reach = max(LEAST_M, float(np.abs(about).max(initial=0.0)) * 1.1 + MARGIN_M)
        scale = SIDE / 2 / reach
        yaw = np.radians(90 - view.ego_yaw_deg[index])
        c, s = np.cos(yaw), np.sin(yaw)

        def at(points: FloatArray) -> list[tuple[float, float]]:
            x, y = (points - view.ego_m[index, :2]).T
            return list(
                zip(
                    (SIDE / 2 + (c * x - s * y) * scale).round(2).tolist(),
                    (SIDE / 2 - (s * x + c * y) * scale).round(2).tolist(),
                    strict=True,
                )
            )

        lines = _lines(f"{row['text']} [{row['answer']}]")
        picture = Image.new("P", (SIDE, SIDE + TEXT * len(lines) + 8), NUMBER["ground"])
        picture.putpalette([channel for colour in INK.values() for channel in colour])
        draw = ImageDraw.Draw(picture)
        draw.fontmode = "1"  # numbers of colours cannot be blended
        for line in self.road:
            draw.polygon(at(line), fill=NUMBER["road"])
        way = view.ego_m[: index + 1, :2]
        way = way[np.isfinite(way).all(1)]
        if len(way) > 1:
            draw.line(at(way), fill=NUMBER["way"], width=3)
        corners = view.footprints(index).corners()
        for outline in corners[np.isfinite(corners).all((1, 2))]:
            draw.polygon(at(outline), outline=NUMBER["other"])
        self._own(draw, at, index)
        for name, place in marks.items():
            (x, y), (own_x, own_y) = at(np.stack([place, view.ego_m[index, :2]]))
            if name in ("asked", "then"):
                draw.line((own_x, own_y, x, y), fill=NUMBER["asked"], width=2)
            draw.circle((x, y), 5, fill=NUMBER["asked"], outline=NUMBER["text"])
        if {"asked", "other"} <= set(marks):
            draw.line(at(np.stack([marks["asked"], marks["other"]])), fill=NUMBER["text"], width=2)
        draw.rectangle((0, SIDE, *picture.size), fill=NUMBER["paper"])
        letters = font(13)
        for n, text in enumerate(lines):
            draw.text((6, SIDE + 4 + n * TEXT), text, fill=NUMBER["text"], font=letters)
        draw.line((12, SIDE - 12, 12 + 10 * scale, SIDE - 12), fill=NUMBER["text"], width=3)
        told = f"10 m; heading up; {view.times_s[index]:.1f} s; drawn from the log, not photographed"
        draw.text((14, SIDE - 32), told, fill=NUMBER["text"], font=letters)
        raw = io.BytesIO()
        picture.save(raw, "PNG", optimize=False)
        return raw.getvalue()

    def _own(
        self, draw: ImageDraw.ImageDraw, at: Callable[[FloatArray], list[tuple[float, float]]], index: int
    ) -> None:
        """Our car: its box where that is known, and the point that the log follows."""
        view = self.view
        ego = view.facts.ego
        if ego is not None and ego.box is not None:
            yaw = np.radians(view.ego_yaw_deg[index])
            turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
            half = np.array(ego.box.size_m[:2]) / 2 * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
            outline = view.ego_m[index, :2] + (half + np.array(ego.box.middle_m[:2])) @ turn.T
            draw.polygon(at(outline), outline=NUMBER["ego"], width=2)
        ((x, y),) = at(view.ego_m[index, :2][None])
        draw.circle((x, y), 4, fill=NUMBER["ego"])
        draw.line((x, y, x, y - 22), fill=NUMBER["ego"], width=3)


def marks_of(evidence: Sequence[Mapping[str, Any]]) -> dict[str, FloatArray]:
    """Places (2,) that a question speaks of, by name, in the log's frame."""
    x, y = ({fact["subject"]: fact["value"] for fact in evidence if fact["name"] == name} for name in ("x", "y"))
    return {name: np.array([x[name], y[name]]) for name in x if name in y}


def _lines(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > LINE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
