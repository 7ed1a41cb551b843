"""The neutral scene format: a folder with ``scene.json``, and the mesh, film, pictures and depth that it names.

Anybody may write it (docs/build/phone-captures.md). ``meta_schemas/scene-folder.schema.json`` is made from it. What is
not known is null and never zero. Lengths are in ``unit``; places, directions and poses in the file's own frame, whose
axes ``up`` and ``handedness`` tell (`DocumentAxes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import AfterValidator, Field, FiniteFloat, model_validator

from pipeline.core.arrays import FloatArray
from pipeline.core.files import write_atomically
from pipeline.core.schema import Mat3, Model, Name, Vec3
from pipeline.formats.json_scenes import split_scenes

FILE: Final = "scene.json"
MAX_BYTES: Final = 256 * 2**20  # of scene.json: 200,000 frames take 80 MiB
MAX_OBJECTS: Final = 20_000
MAX_FRAMES: Final = 200_000
UNTRIED: Final = "was tried on made files alone"  # in the remark of a scene that such a converter wrote
NAME_BYTES: Final = 255  # of a file, at most

Unit = Literal["m", "cm", "mm", "in", "ft", "unknown"]
METRES: Final[dict[str, float]] = {"m": 1.0, "cm": 0.01, "mm": 0.001, "in": 0.0254, "ft": 0.3048}
Up = Literal["x", "y", "z", "-x", "-y", "-z"]
# Rows are the world's x, y and z in a right-handed file's frame: proper turns that take its up to z.
_WORLD_R_FILE: Final[dict[str, tuple[tuple[int, int, int], ...]]] = {
    "z": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "-z": ((1, 0, 0), (0, -1, 0), (0, 0, -1)),
    "y": ((1, 0, 0), (0, 0, -1), (0, 1, 0)),
    "-y": ((1, 0, 0), (0, 0, 1), (0, -1, 0)),
    "x": ((0, 1, 0), (0, 0, 1), (1, 0, 0)),
    "-x": ((0, 0, 1), (0, 1, 0), (-1, 0, 0)),
}
# What a camera's x, y and z are: columns turn OpenCV's (right, down, forward) into them.
CameraAxes = Literal["opencv", "opengl", "unity"]
CAMERA_AXES: Final[dict[str, tuple[int, int, int]]] = {"opencv": (1, 1, 1), "opengl": (1, -1, -1), "unity": (1, -1, 1)}


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or "\\" in path or "\0" in path or parts[0] == "/" or ".." in parts or ":" in parts[0]:
        raise ValueError("the path must be relative, with slashes, and stay in the scene's folder")
    if any(len(part.encode("utf-8", "replace")) > NAME_BYTES for part in parts):
        raise ValueError(f"a name in the path has more than {NAME_BYTES} bytes")
    return path


Within = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_inside)]
Positive = Annotated[FiniteFloat, Field(gt=0)]
Row4 = tuple[FiniteFloat, FiniteFloat, FiniteFloat, FiniteFloat]


class LabelledBox(Model):
    """One object: its label, and the box around it."""

    label: Name = Field(description="what people call it, in English and in the singular: 'office chair'")
    center: Vec3
    size: tuple[Positive, Positive, Positive] = Field(description="full sides along its three axes")
    axes: Mat3 | None = Field(
        default=None,
        description="its unit axes, one per row; the third is the cross product of the first two; null: those of the "
        "file's frame, turned by turn_deg",
    )
    turn_deg: FiniteFloat | None = Field(
        default=None, description="of a box that stands upright: about up, counter-clockwise seen from above"
    )

    @model_validator(mode="after")
    def _one_way(self) -> LabelledBox:
        if self.axes is not None and self.turn_deg is not None:
            raise ValueError("axes and turn_deg both say how the box is turned: give one of them")
        return self


class PosedFrame(Model):
    """One frame of the film: its time, its pictures and where the camera was."""

    time_s: FiniteFloat = Field(description="on the capture's clock, which may begin anywhere")
    number: Annotated[int, Field(ge=0)] | None = Field(
        default=None, description="of the frame in the film, from 0; null: the one on screen at its time"
    )
    color: Within | None = Field(default=None, description="picture, PNG or JPEG; null where there is a film")
    depth: Within | None = Field(default=None, description="16-bit PNG of distances along the camera's axis; 0 is none")
    world_T_camera: tuple[Row4, Row4, Row4, Row4] | None = Field(
        default=None, description="camera-to-world, four rows; null: not known"
    )
    intrinsics: tuple[Positive, Positive, FiniteFloat, FiniteFloat] | None = Field(
        default=None, description="fx, fy, cx, cy of this frame; null: those of the camera"
    )


class CaptureCamera(Model):
    """The camera that filmed the scene: a pinhole without distortion."""

    axes: CameraAxes = Field(
        description="opencv: x right, y down, z forward; opengl: y up, z backward; unity: y up, z forward"
    )
    width: Annotated[int, Field(gt=0, le=20_000)] = Field(description="pixels of the pictures that intrinsics are for")
    height: Annotated[int, Field(gt=0, le=20_000)]
    intrinsics: tuple[Positive, Positive, FiniteFloat, FiniteFloat] = Field(description="fx, fy, cx, cy in pixels")
    film: Within | None = Field(default=None, description="video file; null: the frames' pictures are the film")
    depth_divisor: Positive = Field(
        default=1000.0, description="numbers of depth pictures divided by it are in the file's unit"
    )
    depth_none: tuple[Annotated[int, Field(ge=0, le=65535)], ...] = Field(
        default=(), description="numbers of depth pictures besides 0 that stand for no depth"
    )
    frames: tuple[PosedFrame, ...] = Field(max_length=MAX_FRAMES, description="in order of time")


class SceneDocument(Model):
    """One scene, as ``scene.json`` states it."""

    format: Literal["scan2qa-scene"]
    version: Literal[1]
    unit: Unit = Field(description="of all lengths; 'unknown' if not measured: nothing is then asked in metres")
    up: Up = Field(description="the axis of the file's frame that points up")
    handedness: Literal["right", "left"]
    complete: bool | tuple[Name, ...] = Field(
        description="labels for which every object of the scene is listed: true for all that occur, false for none"
    )
    objects: tuple[LabelledBox, ...] = Field(default=(), max_length=MAX_OBJECTS)
    outline: Annotated[tuple[Vec3, ...], Field(min_length=3, max_length=10_000)] | None = Field(
        default=None, description="corners of the floor in order, in the file's frame; their height does not matter"
    )
    area: Positive | None = Field(default=None, description="of the floor, in squares of the unit")
    whole_floor: bool = Field(
        default=False, description="whether mesh or points show all of the floor, so that its area can be measured"
    )
    mesh: Within | None = Field(default=None, description="triangles as .ply, .glb, .obj, .off or .stl, file's frame")
    points: Within | None = Field(default=None, description="where there is no mesh: a cloud as .ply, file's frame")
    camera: CaptureCamera | None = None
    made_by: Annotated[str, Field(max_length=300)] | None = Field(
        default=None, description="what wrote it from what, for people"
    )
    remarks: Annotated[tuple[Annotated[str, Field(max_length=1000)], ...], Field(max_length=100)] = Field(
        default=(), description="remarks of its author"
    )

    @property
    def axes(self) -> DocumentAxes:
        """How its frame becomes the world's."""
        return DocumentAxes(self.unit, self.up, self.handedness)


class DocumentAxes:
    """How places of a document's frame become metres with z up, right-handed.

    Attributes:
        scale: metres per unit; of an unknown unit 1.
        turn: (3, 3), a row per axis of the world; its determinant is -1 where the file's frame is left-handed.
    """

    def __init__(self, unit: str, up: str, handedness: str) -> None:
        self.scale = METRES.get(unit, 1.0)
        mirror = np.diag([1.0, -1.0, 1.0]) if handedness == "left" else np.eye(3)
        self.turn: FloatArray = mirror @ np.array(_WORLD_R_FILE[up], dtype=float)

    def points(self, places: FloatArray) -> FloatArray:
        """Places (N, 3) of the file as metres in the world."""
        x, y, z = np.asarray(places, dtype=float).T * self.scale
        return np.stack([x * row[0] + y * row[1] + z * row[2] for row in self.turn], axis=1)

    def poses(self, world_T_camera: FloatArray, axes: CameraAxes) -> FloatArray:
        """Poses (N, 4, 4) of the file as world_T_camera in metres with OpenCV's axes."""
        result = np.array(world_T_camera, dtype=float)
        columns = np.einsum("ij,njk->nik", self.turn, result[:, :3, :3]) * np.array(CAMERA_AXES[axes], dtype=float)
        result[:, :3, :3] = columns
        result[:, :3, 3] = np.einsum("ij,nj->ni", self.turn, result[:, :3, 3]) * self.scale
        return result


def write_scene(folder: Path, document: SceneDocument) -> Path:
    """Writes ``scene.json`` into the folder, which may hold the files that it names already; the path of it."""
    path = folder / FILE
    write_atomically(path, scene_text(document).encode())
    return path


def scene_text(document: SceneDocument) -> str:
    """A document as JSON, an object and a frame on a line each; what has its default is left out."""
    return _laid_out(document.model_dump(mode="json", exclude_defaults=True)) + "\n"


def _laid_out(value: Any, indent: str = "") -> str:
    inner = indent + "  "
    if isinstance(value, dict) and not indent.startswith("    "):
        lines = [f"{json.dumps(key)}: {_laid_out(entry, inner)}" for key, entry in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        lines = [json.dumps(entry, ensure_ascii=False, allow_nan=False) for entry in value]
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{closing}"


def with_members(raw: bytes, members: Mapping[str, str]) -> bytes:
    """A JSON object's bytes with the values of some keys replaced, or added at its end; all else stays as it is.

    Args:
        raw: valid JSON, an object with at least one member and no key twice.
        members: key -> the new value as JSON.
    """
    spans = {entry.name: entry.span for entry in split_scenes(raw)}
    last = max(end for _, end in spans.values())
    added = "".join(f",\n  {json.dumps(key)}: {value}" for key, value in members.items() if key not in spans)
    changes = [(*spans[key], value) for key, value in members.items() if key in spans] + [(last, last, added)]
    for start, end, value in sorted(changes, reverse=True):
        raw = raw[:start] + value.encode() + raw[end:]
    return raw


def entries_of(raw: bytes, key: str) -> list[str]:
    """The texts of the entries of a list in a JSON object, as they stand there; none where there is no such key."""
    span = next((entry.span for entry in split_scenes(raw) if entry.name == key), (0, 0))
    inner = raw[slice(*span)]
    return [inner[slice(*entry.span)].decode() for entry in split_scenes(inner, lambda _: "")] if inner else []
