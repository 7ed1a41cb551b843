"""Broken metadata files: every kind spoils a sound file in one way.

A sound file holds the sample scenes of `NAMES` in that order. Most kinds spoil `VICTIM`, which stands in the middle,
so that there is a sound scene before it and one after it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.samples.indoor.metadata import PLANS, sample_scene

NAMES = ("bedroom", "kitchen", "office")
VICTIM = "kitchen"  # holds one stove, one microwave, three chairs
AFTER = "office"
FILE = "samples_meta_info.json"

Spoil = Callable[[Path], object]


@dataclass(frozen=True)
class Kind:
    """One way of being broken.

    Attributes:
        spoil: changes the file at a path.
        finding: the name under which it must be found.
        says: parts of the message: the offending value or place.
        lost: scenes that cannot be used; all others are built as if these had never been there.
        scene: what the error calls the scene; None where the fault lies between scenes.
    """

    spoil: Spoil
    finding: str
    says: tuple[str, ...]
    lost: tuple[str, ...] = (VICTIM,)
    scene: str | None = f"samples/{VICTIM}"


@dataclass(frozen=True)
class Doubt:
    """A finding that does not cost the scene; `strict` asks nothing about ``subject`` if it is a doubt."""

    spoil: Spoil
    finding: str
    severity: str
    subject: str
    measured: float
    limit: float
    unit: str


def write_sound(folder: Path, without: tuple[str, ...] = ()) -> Path:
    """A sound file of the scenes `NAMES`, less some."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    write_scenes(path, {plan.name: sample_scene(plan) for plan in PLANS if plan.name in set(NAMES) - set(without)})
    return path


def write_scenes(path: Path, scenes: object) -> None:
    """Scenes written so that each has the same bytes in whatever company."""
    path.write_text(json.dumps(scenes, indent=1), encoding="utf-8")


def _scenes(edit: Callable[[dict[str, Any]], object]) -> Spoil:
    """Changes the object of all scenes; what the edit gives, if anything, takes its place."""

    def spoil(path: Path) -> None:
        scenes = json.loads(path.read_bytes())
        replaced = edit(scenes)
        write_scenes(path, scenes if replaced is None else replaced)

    return spoil


def _set(*keys: str | int, to: Any) -> Spoil:
    """Gives one place in the victim another value."""

    def edit(scenes: dict[str, Any]) -> None:
        place: Any = scenes[VICTIM]
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = to

    return _scenes(edit)


def _drop(*keys: str | int) -> Spoil:
    """Removes one key of the victim."""

    def edit(scenes: dict[str, Any]) -> None:
        place: Any = scenes[VICTIM]
        for key in keys[:-1]:
            place = place[key]
        del place[keys[-1]]

    return _scenes(edit)


def _replace(old: str, new: str) -> Spoil:
    """Replaces the first ``old`` in the victim's text: for what `json.dumps` does not write."""

    def spoil(path: Path) -> None:
        whole = path.read_text(encoding="utf-8")
        at = whole.index(old, whole.index(f'"{VICTIM}"'))
        path.write_text(whole[:at] + new + whole[at + len(old) :], encoding="utf-8")

    return spoil


def _literal(*keys: str | int, to: str) -> Spoil:
    """Gives one place in the victim a value as it is to stand in the text."""

    def spoil(path: Path) -> None:
        _set(*keys, to="@")(path)
        _replace('"@"', to)(path)

    return spoil


def _box(key: str, to: Any) -> Spoil:
    return _set("object_bbox", "stove", 0, key, to=to)


def _box_number(key: str, to: str) -> Spoil:
    return _literal("object_bbox", "stove", 0, key, 0, to=to)


def _category(new: str) -> Spoil:
    """Renames the stove in counts and boxes."""

    def edit(scenes: dict[str, Any]) -> None:
        for part in (scenes[VICTIM]["object_counts"], scenes[VICTIM]["object_bbox"]):
            part[new] = part.pop("stove")

    return _scenes(edit)


def _scene_name(new: str) -> Spoil:
    return _scenes(lambda scenes: {new if name == VICTIM else name: s for name, s in scenes.items()})


def _cut(mark: str, keep: int) -> Spoil:
    """Ends the file ``keep`` characters after the start of the first ``mark`` that follows the victim's name."""

    def spoil(path: Path) -> None:
        whole = path.read_text(encoding="utf-8")
        path.write_text(whole[: whole.index(mark, whole.index(f'"{VICTIM}"')) + keep], encoding="utf-8")

    return spoil


def _bytes(edit: Callable[[bytes], bytes]) -> Spoil:
    return lambda path: path.write_bytes(edit(path.read_bytes()))


def _twice(path: Path) -> None:
    """The victim once more at the end, under the same name."""
    again = json.dumps({VICTIM: json.loads(path.read_bytes())[VICTIM]}, indent=1)
    path.write_text(path.read_text(encoding="utf-8").removesuffix("\n}") + "," + again[1:], encoding="utf-8")


def _in_second_file(path: Path) -> None:
    write_scenes(path.with_name("second.json"), {VICTIM: json.loads(path.read_bytes())[VICTIM]})


def _stretched(factor: float) -> Spoil:
    def edit(scenes: dict[str, Any]) -> None:
        for boxes in scenes[VICTIM]["object_bbox"].values():
            for box in boxes:
                for key in ("centroid", "axesLengths", "min", "max"):
                    box[key] = [v * factor for v in box[key]]

    return _scenes(edit)


def _doubled(scenes: dict[str, Any]) -> None:
    boxes = scenes[VICTIM]["object_bbox"]["microwave"]
    boxes.append(boxes[0])
    scenes[VICTIM]["object_counts"]["microwave"] = 2


def _thin(scenes: dict[str, Any]) -> None:
    box = scenes[VICTIM]["object_bbox"]["microwave"][0]
    box["axesLengths"][2] = 0.0005
    for key, sign in (("min", -1), ("max", 1)):
        box[key][2] = box["centroid"][2] + sign * 0.00025


def _shifted(scenes: dict[str, Any]) -> None:
    scenes[VICTIM]["object_bbox"]["stove"][0]["min"][1] -= 0.5


_ALL = NAMES
_UNIT_X = [1.0, 0.0, 0.0]

BROKEN: dict[str, Kind] = {
    # ---- the file
    "cut in a scene's name": Kind(_cut(f'"{AFTER}"', 4), "truncated_json", ("line ",), (AFTER,), None),
    "cut in a scene": Kind(_cut('"centroid"', 20), "truncated_json", ("line ",), (VICTIM, AFTER), VICTIM),
    "cut before a scene's value": Kind(_cut("{", 0), "truncated_json", ("line ",), (VICTIM, AFTER), VICTIM),
    "cut between two scenes": Kind(_cut(f'"{AFTER}"', 0), "truncated_json", ("line ",), (AFTER,), None),
    "final brace missing": Kind(_bytes(lambda b: b[:-2]), "truncated_json", ("Expecting ',' or '}'",), (), AFTER),
    "text after the end": Kind(_bytes(lambda b: b + b"\n<html>"), "text_after_the_end", ("line ",), (), None),
    "two files in one": Kind(_bytes(lambda b: b + b), "text_after_the_end", ("line ",), (), None),
    "comma after the last scene": Kind(_bytes(lambda b: b[:-2] + b",\n}"), "bad_json", ("line ",), (), None),
    "comma missing": Kind(
        _replace(f',\n "{AFTER}"', f'\n "{AFTER}"'), "bad_json", ("Expecting ','",), (AFTER,), VICTIM
    ),
    "colon missing": Kind(_replace('"dataset":', '"dataset"'), "bad_json", ("':'",), (VICTIM, AFTER), VICTIM),
    "colon of a scene missing": Kind(
        _replace(f'"{VICTIM}":', f'"{VICTIM}"'), "bad_json", ("':'",), (VICTIM, AFTER), None
    ),
    "name without quotes": Kind(_replace(f'"{VICTIM}"', VICTIM), "bad_json", ("line ",), (VICTIM, AFTER), None),
    "single quotes": Kind(_replace('"dataset"', "'dataset'"), "bad_json", ("double quotes",), (VICTIM, AFTER), VICTIM),
    "empty file": Kind(_bytes(lambda _: b""), "empty_file", ("empty",), _ALL, None),
    "blanks only": Kind(_bytes(lambda _: b" \n"), "empty_file", ("empty",), _ALL, None),
    "a list of scenes": Kind(_scenes(lambda s: list(s.values())), "not_an_object", ("not a JSON object",), _ALL, None),
    "null": Kind(_bytes(lambda _: b"null"), "not_an_object", ("not a JSON object",), _ALL, None),
    "a web page": Kind(_bytes(lambda _: b"<!DOCTYPE html>"), "not_an_object", ("not a JSON object",), _ALL, None),
    "UTF-16": Kind(_bytes(lambda b: b.decode().encode("utf-16")), "not_utf8", ("UTF-8",), _ALL, None),
    "a byte that is not UTF-8": Kind(_bytes(lambda b: b.replace(b'"stove"', b'"st\xf6ve"')), "not_utf8", ("byte ",)),
    "nested too deeply": Kind(_literal("room_size", to="[" * 100_000), "too_deep", ("deep",), (VICTIM, AFTER), VICTIM),
    # ---- scenes within it
    "a scene twice": Kind(_twice, "duplicate_scene", ("2 times", FILE)),
    "a scene in two files": Kind(_in_second_file, "duplicate_scene", ("2 times", FILE, "second.json")),
    "scene is a list": Kind(
        _scenes(lambda s: s.update({VICTIM: []})), "wrong_type", ("list",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "scene is null": Kind(
        _scenes(lambda s: s.update({VICTIM: None})), "wrong_type", ("NoneType",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "scene name climbs out": Kind(_scene_name("../x"), "unsafe_scene_name", ("letters",), scene="'../x'"),
    "scene name with a slash": Kind(_scene_name("a/b"), "unsafe_scene_name", ("letters",), scene="'a/b'"),
    "scene name with a blank": Kind(_scene_name("a b"), "unsafe_scene_name", ("letters",), scene="'a b'"),
    "scene name empty": Kind(_scene_name(""), "unsafe_scene_name", ("letters",), scene="''"),
    "scene name too long": Kind(_scene_name("x" * 100), "unsafe_scene_name", ("99",), scene=f"'{'x' * 100}'"),
    # ---- keys
    "a key twice": Kind(_replace('"dataset"', '"room_size": 9.0, "dataset"'), "duplicate_key", ("room_size",)),
    "a category twice in the counts": Kind(_replace('"stove"', '"stove": 2, "stove"'), "duplicate_key", ("stove",)),
    "a category twice in the boxes": Kind(
        _literal("object_bbox", "stove", to='[], "stove": []'), "duplicate_key", ("stove",)
    ),
    "unknown key": Kind(_set("room_height", to=2.5), "unknown_key", ("room_height",)),
    "unknown key in a box": Kind(_box("rotation", 0.0), "unknown_key", ("stove #0", "rotation")),
    "no room_size": Kind(_drop("room_size"), "missing_key", ("room_size",)),
    "no object_counts": Kind(_drop("object_counts"), "missing_key", ("object_counts",)),
    "no object_bbox": Kind(_drop("object_bbox"), "missing_key", ("object_bbox",)),
    "no centroid": Kind(_drop("object_bbox", "stove", 0, "centroid"), "missing_key", ("stove #0", "centroid")),
    "min without max": Kind(_drop("object_bbox", "stove", 0, "max"), "missing_key", ("stove #0", "max")),
    # ---- dataset, video
    "no dataset": Kind(_drop("dataset"), "missing_key", ("dataset",), scene=f"samples_meta_info/{VICTIM}"),
    "dataset is a number": Kind(_set("dataset", to=7), "bad_dataset", ("7",), scene=f"samples_meta_info/{VICTIM}"),
    "dataset climbs out": Kind(
        _set("dataset", to="../x"), "bad_dataset", ("../x",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "dataset too long": Kind(
        _set("dataset", to="x" * 300), "bad_dataset", ("xxx",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "video_path is a number": Kind(_set("video_path", to=7), "bad_video_path", ("7",)),
    "video_path empty": Kind(_set("video_path", to=""), "bad_video_path", ("''",)),
    "video_path is a folder": Kind(_set("video_path", to="/data/.."), "bad_video_path", ("/data/..",)),
    "video_path with half a character": Kind(_set("video_path", to="a\ud800.mp4"), "bad_video_path", ("ud800",)),
    # ---- counts
    "counts are a list": Kind(_set("object_counts", to=["stove"]), "wrong_type", ("object_counts is list",)),
    "count is text": Kind(_set("object_counts", "stove", to="1"), "wrong_type", ("count of stove is '1'",)),
    "count is a fraction": Kind(_set("object_counts", "stove", to=1.0), "wrong_type", ("count of stove is 1.0",)),
    "count is true": Kind(_set("object_counts", "stove", to=True), "wrong_type", ("count of stove is True",)),
    "count is null": Kind(_set("object_counts", "stove", to=None), "wrong_type", ("count of stove is None",)),
    "count is negative": Kind(_set("object_counts", "stove", to=-1), "negative_count", ("-1",)),
    "count beyond all numbers": Kind(_literal("object_counts", "stove", to="9" * 30), "implausible_count", ("999",)),
    # ---- categories
    "category with a comma": Kind(_category("stove, old"), "unusable_category", ("'stove, old'",)),
    "category with a bracket": Kind(_category("stove [/b]"), "unusable_category", ("'stove [/b]'",)),
    "category with a line break": Kind(_category("sto\nve"), "unusable_category", (r"'sto\nve'",)),
    "category with a control character": Kind(_category("sto\x7fve"), "unusable_category", (r"'sto\x7fve'",)),
    "category with half a character": Kind(_category("sto\ud800ve"), "unusable_category", (r"'sto\ud800ve'",)),
    "category empty": Kind(_category(""), "unusable_category", ("''",)),
    "category blank": Kind(_category(" "), "unusable_category", ("' '",)),
    "category too long": Kind(_category("x" * 300), "unusable_category", ("xxx",)),
    # ---- boxes
    "boxes are a list": Kind(_set("object_bbox", to=[]), "wrong_type", ("object_bbox is list",)),
    "boxes of a category are one box": Kind(
        _set("object_bbox", "stove", to={"centroid": [0, 0, 0]}), "wrong_type", ("boxes of stove are dict",)
    ),
    "box is a list": Kind(_set("object_bbox", "stove", to=[[]]), "wrong_type", ("box stove #0 is list",)),
    "box is null": Kind(_set("object_bbox", "stove", to=[None]), "wrong_type", ("box stove #0 is NoneType",)),
    "centroid of two numbers": Kind(_box("centroid", [0.0, 0.0]), "wrong_shape", ("centroid of stove #0", "2")),
    "centroid is text": Kind(_box("centroid", "0 0 0"), "wrong_shape", ("centroid of stove #0", "str")),
    "centroid of text": Kind(_box("centroid", ["0", 0, 0]), "wrong_type", ("centroid of stove #0[0]", "'0'")),
    "centroid of true": Kind(_box("centroid", [True, 0, 0]), "wrong_type", ("centroid of stove #0[0]", "True")),
    "centroid with null": Kind(_box("centroid", [None, 0, 0]), "wrong_type", ("centroid of stove #0[0]", "None")),
    "centroid NaN": Kind(_box_number("centroid", "NaN"), "not_finite", ("centroid of stove #0[0]", "nan")),
    "centroid infinite": Kind(_box_number("centroid", "-Infinity"), "not_finite", ("centroid of stove #0[0]", "-inf")),
    "centroid 1e400": Kind(_box_number("centroid", "1e400"), "not_finite", ("centroid of stove #0[0]", "inf")),
    "centroid of 400 digits": Kind(_box_number("centroid", "9" * 400), "not_finite", ("stove #0[0]", "inf")),
    "centroid of 5000 digits": Kind(_box_number("centroid", "9" * 5000), "not_finite", ("stove #0[0]", "inf")),
    "centroid far away": Kind(_box("centroid", [4.1e6, 0, 0]), "implausible_position", ("stove #0", "4100000")),
    "a side negative": Kind(_box("axesLengths", [0.6, -0.6, 0.9]), "negative_length", ("stove #0", "-0.6")),
    "a side zero": Kind(_box("axesLengths", [0.6, 0.0, 0.9]), "degenerate_box", ("stove #0", "0.0")),
    "millimetres": Kind(_stretched(1000.0), "implausible_length", ("millimetres",)),
    "four sides": Kind(_box("axesLengths", [1, 1, 1, 1]), "wrong_shape", ("axesLengths of stove #0", "4")),
    "axes tilted": Kind(
        _box("normalizedAxes", [1, 0.01, 0, 0, 1, 0, 0, 0, 1]), "axes_not_orthonormal", ("stove #0", "0.01")
    ),
    "axes not of unit length": Kind(
        _box("normalizedAxes", [2, 0, 0, 0, 2, 0, 0, 0, 2]), "axes_not_orthonormal", ("stove #0", "3")
    ),
    "axes all the same": Kind(_box("normalizedAxes", _UNIT_X * 3), "axes_not_orthonormal", ("stove #0", "1")),
    "axes enormous": Kind(_box("normalizedAxes", [1e200] * 9), "axes_not_orthonormal", ("stove #0",)),
    "axes of eight numbers": Kind(
        _box("normalizedAxes", [1.0] * 8), "wrong_shape", ("normalizedAxes of stove #0", "8")
    ),
    "axes as three rows": Kind(
        _box("normalizedAxes", [_UNIT_X] * 3), "wrong_shape", ("normalizedAxes of stove #0", "3")
    ),
    "axes NaN": Kind(_box_number("normalizedAxes", "NaN"), "not_finite", ("normalizedAxes of stove #0[0]", "nan")),
    "min infinite": Kind(_box_number("min", "Infinity"), "not_finite", ("min of stove #0[0]", "inf")),
    # ---- the room
    "room_size negative": Kind(_set("room_size", to=-1.0), "negative_area", ("-1.0",)),
    "room_size NaN": Kind(_literal("room_size", to="NaN"), "not_finite", ("room_size", "nan")),
    "room_size is text": Kind(_set("room_size", to="14 m2"), "wrong_type", ("room_size", "14 m2")),
    "room_size is a list": Kind(_set("room_size", to=[14.0]), "wrong_type", ("room_size", "[14.0]")),
    "room_size in square millimetres": Kind(_set("room_size", to=14.28e6), "implausible_area", ("14280000",)),
    "room_center of two numbers": Kind(_set("room_center", to=[0, 0]), "wrong_shape", ("room_center", "2")),
    "room_center NaN": Kind(_literal("room_center", to="[NaN, 0, 0]"), "not_finite", ("room_center[0]", "nan")),
    "room_center is an object": Kind(_set("room_center", to={"x": 0}), "wrong_shape", ("room_center", "dict")),
}

DOUBTFUL: dict[str, Doubt] = {
    "count unlike boxes": Doubt(
        _set("object_counts", "stove", to=2), "count_differs_from_boxes", "doubt", "stove", 1, 2, "objects"
    ),
    "count without a box": Doubt(
        _set("object_bbox", "stove", to=[]), "count_differs_from_boxes", "doubt", "stove", 0, 1, "objects"
    ),
    "box without a count": Doubt(
        _drop("object_counts", "stove"), "count_differs_from_boxes", "doubt", "stove", 1, 0, "objects"
    ),
    "box given twice": Doubt(_scenes(_doubled), "doubled_box", "doubt", "microwave", 0.0, 1e-3, "m"),
    "thin box": Doubt(_scenes(_thin), "thin_box", "doubt", "microwave", 0.0005, 1e-3, "m"),
    "room_size zero": Doubt(_set("room_size", to=0), "room_area_zero", "doubt", "room", 0, 0, "m2"),
    "min and max unlike the box": Doubt(_scenes(_shifted), "extent_differs_from_box", "note", "stove", 0.5, 0.01, "m"),
}

# Unusual and yet sound: no finding, and the same release.
SOUND: dict[str, Spoil] = {
    "byte order mark": _bytes(lambda b: b"\xef\xbb\xbf" + b),
    "blanks around": _bytes(lambda b: b"\r\n\t " + b + b"\n\n"),
}
