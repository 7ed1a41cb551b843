"""Broken scans: every kind spoils a tiny sound scan in one way, and says what it must cost (`broken_scans.yaml`).

``FAULTS`` cost their scene, ``FINDINGS`` stay with it (profile `strict` heeds doubts), ``FRAMES`` cost frames alone.
"""

import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.worlds.indoor.readers.tiny_scans import (
    NAMES,
    SCANNET,
    encoded,
    movie,
    ply,
    poses,
    put,
    sens,
    world_T_scan,
    write_scannet,
)
from tests.worlds.kinds import kinds_of

Spoil = Callable[[Path], object]  # takes the scene's folder


@dataclass(frozen=True)
class Fault:
    """A finding that costs the scene: its name, the file at fault, and parts of the message."""

    layout: str
    spoil: Spoil
    finding: str
    file: str
    says: tuple[str, ...]


@dataclass(frozen=True)
class Found:
    """A finding that stays with the scene: its name, severity and subject, and the measured value."""

    layout: str
    spoil: Spoil
    finding: str
    severity: str
    subject: str
    measured: float | None = None


@dataclass(frozen=True)
class Lost:
    """Frames left out, by reason and number; counted as the frames are loaded."""

    layout: str
    spoil: Spoil
    reason: str
    count: int


def edit_raw(pattern: str, change: Callable[[bytes], bytes]) -> Spoil:
    """Changes the bytes of the one file of a pattern."""

    def spoil(folder: Path) -> None:
        (path,) = folder.rglob(pattern)
        path.write_bytes(change(path.read_bytes()))

    return spoil


def edit_json(pattern: str, change: Callable[[Any], Any]) -> Spoil:
    """Changes the value of the one JSON file of a pattern; a change that gives None has worked in place."""

    def apply(raw: bytes) -> bytes:
        value = json.loads(raw)
        changed = change(value)
        return json.dumps(value if changed is None else changed).encode()

    return edit_raw(pattern, apply)


def edit_at(pattern: str, keys: list[str | int], change: Callable[[Any, Any], object]) -> Spoil:
    """Changes the part of a JSON file that the last key has in what the others lead to."""

    def apply(value: Any) -> None:
        for key in keys[:-1]:
            value = value[key]
        change(value, keys[-1])

    return edit_json(pattern, apply)


def remove(pattern: str) -> Spoil:
    def spoil(folder: Path) -> None:
        for path in list(folder.rglob(pattern)):
            path.unlink()

    return spoil


def replace(pattern: str, old: str, new: str) -> Spoil:
    return edit_raw(pattern, lambda raw: raw.replace(old.encode("latin-1"), new.encode("latin-1"), 1))


MESHES: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "no_faces": lambda vertices, faces: (vertices, faces[:0]),
    "next_corners": lambda vertices, faces: (vertices, faces + 1),
    "one_nan": lambda vertices, faces: (np.where(np.arange(len(vertices))[:, None] == 5, np.nan, vertices), faces),
    "millimetres": lambda vertices, faces: (vertices * 1000, faces),
    "kilometres": lambda vertices, faces: (vertices / 1000, faces),
    "leaning": lambda vertices, faces: (vertices @ leaning_by(5.0).T, faces),
}


def leaning_by(angle_deg: float) -> np.ndarray:
    c, s = np.cos(np.radians(angle_deg)), np.sin(np.radians(angle_deg))
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def mesh(name: str) -> Spoil:
    """Writes the mesh again with other vertices and faces."""

    def spoil(folder: Path) -> None:
        from pipeline.formats.ply import parse_ply

        path = next(path for path in folder.rglob("*.ply"))
        read = parse_ply(path.read_bytes())
        put(path, ply(*MESHES[name](read.vertices.copy(), read.faces.copy())))

    return spoil


def info(change: Callable[[str], str]) -> Spoil:
    return edit_raw(f"{SCANNET}.txt", lambda raw: change(raw.decode()).encode())


def alignment(numbers: str) -> Spoil:
    return info(lambda text: re.sub(r"axisAlignment = .*", f"axisAlignment = {numbers}", text))


def no_alignment() -> Spoil:
    return info(lambda text: re.sub(r"axisAlignment.*\n", "", text))


def leaning() -> Spoil:
    """No alignment, and a scan that leans by five degrees."""
    return lambda folder: (no_alignment()(folder), mesh("leaning")(folder))


def new_sens(changes: dict[str, Any]) -> Spoil:
    """Another .sens: of lost poses, of poses in other units, elsewhere or upside down, or with options of `sens`."""
    changes = dict(changes)
    lost, scale = changes.pop("lost", []), changes.pop("scale", 1.0)
    shift_m, turned = changes.pop("shift_m", 0.0), changes.pop("upside_down", False)

    def spoil(folder: Path) -> None:
        camera = np.linalg.inv(world_T_scan()) @ poses(6)
        camera[:, :3, 3] *= scale
        camera[:, 0, 3] += shift_m
        camera[:, :3, :2] *= -1.0 if turned else 1.0
        camera[lost] = -np.inf
        put(folder / f"{SCANNET}.sens", sens(len(camera), camera, **changes))

    return spoil


def again(label: str) -> Spoil:
    """The first chair is annotated a second time, by a label."""
    return edit_json(AGG, lambda v: v["segGroups"].append(dict(v["segGroups"][1], id=9, objectId=9, label=label)))


def all_again() -> Spoil:
    """The whole list of groups comes twice, as in scene0217_00."""

    def change(value: Any) -> None:
        value["segGroups"] += [dict(g, id=g["id"] + 50, objectId=g["objectId"] + 50) for g in value["segGroups"]]

    return edit_json(AGG, change)


def desk_takes_chair(value: Any) -> None:
    """The table's group holds the segments of the first chair too."""
    table, chair = value["segGroups"][:2]
    table["segments"] = [*table["segments"], *chair["segments"]]


def on_a_line() -> Spoil:
    """The first chair's segments become four vertices of the floor, in a row."""

    def spoil(folder: Path) -> None:
        edit_json("*.segs.json", lambda value: value["segIndices"].__setitem__(slice(4), [500] * 4))(folder)
        edit_at(AGG, ["segGroups", 1, "segments"], lambda group, key: group.update({key: [500]}))(folder)

    return spoil


def no_jpeg(pattern: str) -> Spoil:
    """The colour of the first frame of a .sens, overwritten."""

    def change(raw: bytes) -> bytes:
        start = raw.index(b"\xff\xd8\xff")
        return raw[:start] + b"\x00" * 20 + raw[start + 20 :]

    return edit_raw(pattern, change)


def export(folder: Path) -> None:
    """The exported tree instead of the .sens."""
    (folder / f"{SCANNET}.sens").unlink()
    write_scannet(folder.parent.parent, exported=True)


def exported(way: str, *arguments: Any) -> Spoil:
    """Spoils the exported tree in a way."""
    return lambda folder: (export(folder), WAYS[way](*arguments)(folder))


def box(number: int, key: str, value: Any) -> Spoil:
    """Changes one annotated box of either; the value "absent" takes the key away."""

    def change(whole: Any) -> None:
        entry = whole["segGroups"][number] if "segGroups" in whole else whole["data"][number]["segments"]
        target = entry["obb" if "obb" in entry else "obbAligned"]
        for bound in ("min", "max"):
            target.pop(bound, None)
        target[key] = value
        if value == "absent":
            del target[key]

    return edit_json("*anno*.json", change)


def transposed(folder: Path) -> None:
    """The axes of all annotated boxes are written as columns."""

    def change(whole: Any) -> None:
        for entry in whole.get("segGroups") or [entry["segments"] for entry in whole["data"]]:
            target = entry["obb" if "obb" in entry else "obbAligned"]
            target.pop("min", None), target.pop("max", None)
            target["normalizedAxes"] = np.reshape(target["normalizedAxes"], (3, 3)).T.ravel().tolist()

    edit_json("*anno*.json", change)(folder)


def each_frame(change: Callable[[int, dict[str, Any]], None]) -> Callable[[Any], None]:
    def apply(value: Any) -> None:
        for number, entry in enumerate(value.values()):
            change(number, entry)

    return apply


def opengl(number: int, entry: dict[str, Any]) -> None:
    entry["aligned_pose"] = (np.array(entry["aligned_pose"]) @ np.diag([1.0, -1.0, -1.0, 1.0])).tolist()


def stand_in(number: int, entry: dict[str, Any]) -> None:
    """Every other pose is the identity."""
    if number % 2 == 0:
        entry["aligned_pose"] = np.eye(4).tolist()


def sideways(number: int, entry: dict[str, Any]) -> None:
    quarter = np.array([[0.0, -1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    entry["aligned_pose"] = (np.array(entry["aligned_pose"]) @ quarter).tolist()


FRAME_CHANGES: dict[str, Callable[[int, dict[str, Any]], None]] = {
    "opengl": opengl,
    "sideways": sideways,
    "stand_in": stand_in,
    "slower": lambda number, entry: entry.update(timestamp=100.0 + number),
    "unposed": lambda number, entry: entry.pop("aligned_pose"),
}


def short_line() -> Spoil:
    def change(raw: bytes) -> bytes:
        lines = raw.decode().splitlines()
        return "\n".join([*lines[:2], lines[2][:40], *lines[3:]]).encode()

    return edit_raw("lowres_wide.traj", change)


def pincam(text: str | None) -> Spoil:
    """Another text in the intrinsics of the third frame, or none."""

    def spoil(folder: Path) -> None:
        path = sorted(folder.rglob("*.pincam"))[2]
        path.unlink() if text is None else path.write_text(text)

    return spoil


def no_pictures(pattern: str, first: int, last: int) -> Spoil:
    """Pictures that are none."""

    def spoil(folder: Path) -> None:
        for path in sorted(folder.rglob(pattern))[first:last]:
            path.write_bytes(b"\x89PNG\r\n\x1a\nbroken")

    return spoil


def coloured_depth() -> Spoil:
    picture = encoded(np.zeros((36, 48, 3), np.uint8), "PNG")
    return lambda folder: put(sorted(folder.rglob("lowres_depth/*.png"))[0], picture)


def sky(word: str) -> Spoil:
    def spoil(folder: Path) -> None:
        put(
            folder.parents[2] / "metadata.csv",
            f"video_id,visit_id,sky_direction,fold\n{folder.name},1,{word},Validation\n",
        )

    return spoil


AGG = "*.aggregation.json"
WAYS: dict[str, Callable[..., Spoil]] = {
    "again": again,
    "alignment": alignment,
    "all_again": all_again,
    "append": lambda pattern, keys, value: edit_at(pattern, keys, lambda part, key: part[key].append(value)),
    "box": box,
    "coloured_depth": coloured_depth,
    "cut": lambda pattern, at: edit_raw(pattern, lambda raw: raw[:at]),
    "cut_then": lambda pattern, at, text, times: edit_raw(
        pattern, lambda raw: raw[:at] + text.encode("latin-1") * times
    ),
    "desk_takes_chair": lambda: edit_json("segments_anno.json", desk_takes_chair),
    "drop": lambda pattern, keys: edit_at(pattern, keys, lambda part, key: part.pop(key)),
    "each_frame": lambda name: edit_json("pose_intrinsic_imu.json", each_frame(FRAME_CHANGES[name])),
    "exported": exported,
    "first_again": lambda: edit_json("*_3dod_annotation.json", lambda value: value["data"].append(value["data"][0])),
    "in_a_list": lambda pattern: edit_json(pattern, lambda value: [value]),
    "leaning": leaning,
    "mesh": mesh,
    "new_movie": lambda name, frames, length=None: lambda folder: put(folder / name, movie(frames)[:length]),
    "new_sens": new_sens,
    "no_alignment": no_alignment,
    "no_jpeg": no_jpeg,
    "no_pictures": no_pictures,
    "on_a_line": on_a_line,
    "pincam": pincam,
    "prepend": lambda pattern, text: edit_raw(pattern, lambda raw: text.encode() + raw),
    "put": lambda name, text: lambda folder: put(folder / name, text),
    "remove": remove,
    "replace": replace,
    "set": lambda pattern, keys, value: edit_at(pattern, keys, lambda part, key: part.__setitem__(key, value)),
    "short_line": short_line,
    "sky": sky,
    "transposed": lambda: transposed,
}

FAULTS: dict[str, Fault] = kinds_of(__file__, "faults", Fault, WAYS)
FINDINGS: dict[str, Found] = kinds_of(__file__, "findings", Found, WAYS)
FRAMES: dict[str, Lost] = kinds_of(__file__, "frames", Lost, WAYS)


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """A file cut short, with bytes changed, or with bytes put in."""
    at = rng.randrange(len(raw) + 1)
    how = rng.randrange(3)
    if how == 0:
        return raw[:at]
    if how == 1:
        changed = bytearray(raw)
        for _ in range(rng.choice([1, 3, 20])):
            changed[rng.randrange(min(len(raw), rng.choice([100, 10_000_000])))] = rng.randrange(256)
        return bytes(changed)
    return raw[:at] + rng.randbytes(rng.choice([1, 4, 40])) + raw[at:]


ODD: tuple[Any, ...] = (None, True, "x", 0, -1, float("inf"), float("nan"), 1.5, 10**30, [], {}, [[]], [None], -(2**63))


def distorted(value: Any, rng: random.Random) -> Any:
    """A JSON value with one of its parts taken out, or replaced by something odd."""
    part, above = value, []
    while isinstance(part, dict | list) and part and (not above or rng.random() < 0.8):
        key = rng.choice(sorted(part)) if isinstance(part, dict) else rng.randrange(min(len(part), 6))
        above.append((part, key))
        part = part[key]
    if above:
        holder, key = above[-1]
        if rng.random() < 0.2:
            del holder[key]
        else:
            holder[key] = rng.choice(ODD)
    return value


def folder_of(root: Path, layout: str) -> Path:
    """The scene's folder below a root that `tiny_scans` has written."""
    (folder,) = root.rglob(NAMES[layout])
    return folder


def every() -> Iterator[str]:
    """Names of all kinds."""
    yield from (*FAULTS, *FINDINGS, *FRAMES)
