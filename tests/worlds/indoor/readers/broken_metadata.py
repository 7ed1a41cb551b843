"""Broken metadata files: every kind spoils a sound file in one way (`broken_metadata.yaml`).

A sound file holds the sample scenes of `NAMES` in that order. Most kinds spoil `VICTIM`, which stands in the middle,
so that there is a sound scene before it and one after it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.samples.indoor.metadata import PLANS, sample_scene
from tests.worlds.kinds import kinds_of

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
    path = folder / FILE
    write_scenes(path, {plan.name: sample_scene(plan) for plan in PLANS if plan.name in set(NAMES) - set(without)})
    return path


def write_scenes(path: Path, scenes: object) -> Path:
    """Scenes written so that each has the same bytes in whatever company; gives their folder, which is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(scenes, indent=1), encoding="utf-8")
    return path.parent


def _scenes(edit: Callable[[dict[str, Any]], object]) -> Spoil:
    """Changes the object of all scenes; what the edit gives, if anything, takes its place."""

    def spoil(path: Path) -> None:
        scenes = json.loads(path.read_bytes())
        replaced = edit(scenes)
        write_scenes(path, scenes if replaced is None else replaced)

    return spoil


def _at(keys: list[str | int], change: Callable[[Any, Any], object]) -> Spoil:
    """Changes the part of the victim that the last key has in what the others lead to."""

    def edit(scenes: dict[str, Any]) -> None:
        place: Any = scenes[VICTIM]
        for key in keys[:-1]:
            place = place[key]
        change(place, keys[-1])

    return _scenes(edit)


def _set(keys: list[str | int], to: Any) -> Spoil:
    return _at(keys, lambda place, key: place.__setitem__(key, to))


def _replace(old: str, new: str) -> Spoil:
    """Replaces the first ``old`` in the victim's text: for what `json.dumps` does not write."""

    def spoil(path: Path) -> None:
        whole = path.read_text(encoding="utf-8")
        at = whole.index(old, whole.index(f'"{VICTIM}"'))
        path.write_text(whole[:at] + new + whole[at + len(old) :], encoding="utf-8")

    return spoil


def _literal(keys: list[str | int], to: str) -> Spoil:
    """Gives one place in the victim a value as it is to stand in the text."""

    def spoil(path: Path) -> None:
        _set(keys, "@")(path)
        _replace('"@"', to)(path)

    return spoil


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


WAYS: dict[str, Callable[..., Spoil]] = {
    "category": _category,
    "cut": _cut,
    "drop": lambda keys: _at(keys, lambda place, key: place.__delitem__(key)),
    "literal": _literal,
    "replace": _replace,
    "scene_name": _scene_name,
    "set": _set,
}
STOVE: tuple[str | int, ...] = ("object_bbox", "stove", 0)
# Those of the table, and those that it could not say shortly.
BROKEN: dict[str, Kind] = kinds_of(__file__, "broken", Kind, WAYS) | {
    "final brace missing": Kind(_bytes(lambda b: b[:-2]), "truncated_json", ("Expecting ',' or '}'",), (), AFTER),
    "text after the end": Kind(_bytes(lambda b: b + b"\n<html>"), "text_after_the_end", ("line ",), (), None),
    "two files in one": Kind(_bytes(lambda b: b + b), "text_after_the_end", ("line ",), (), None),
    "comma after the last scene": Kind(_bytes(lambda b: b[:-2] + b",\n}"), "bad_json", ("line ",), (), None),
    "empty file": Kind(_bytes(lambda _: b""), "empty_file", ("empty",), NAMES, None),
    "blanks only": Kind(_bytes(lambda _: b" \n"), "empty_file", ("empty",), NAMES, None),
    "a list of scenes": Kind(_scenes(lambda s: list(s.values())), "not_an_object", ("not a JSON object",), NAMES, None),
    "null": Kind(_bytes(lambda _: b"null"), "not_an_object", ("not a JSON object",), NAMES, None),
    "a web page": Kind(_bytes(lambda _: b"<!DOCTYPE html>"), "not_an_object", ("not a JSON object",), NAMES, None),
    "UTF-16": Kind(_bytes(lambda b: b.decode().encode("utf-16")), "not_utf8", ("UTF-8",), NAMES, None),
    "a byte that is not UTF-8": Kind(_bytes(lambda b: b.replace(b'"stove"', b'"st\xf6ve"')), "not_utf8", ("byte ",)),
    "nested too deeply": Kind(_literal(["room_size"], "[" * 100_000), "too_deep", ("deep",), (VICTIM, AFTER), VICTIM),
    "a scene twice": Kind(_twice, "duplicate_scene", ("2 times", FILE)),
    "a scene in two files": Kind(_in_second_file, "duplicate_scene", ("2 times", FILE, "second.json")),
    "scene is a list": Kind(
        _scenes(lambda s: s.update({VICTIM: []})), "wrong_type", ("list",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "scene is null": Kind(
        _scenes(lambda s: s.update({VICTIM: None})), "wrong_type", ("NoneType",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "scene name too long": Kind(_scene_name("x" * 100), "unsafe_scene_name", ("99",), scene=f"'{'x' * 100}'"),
    "dataset too long": Kind(
        _set(["dataset"], "x" * 300), "bad_dataset", ("xxx",), scene=f"samples_meta_info/{VICTIM}"
    ),
    "category too long": Kind(_category("x" * 300), "unusable_category", ("xxx",)),
    "centroid of 400 digits": Kind(_literal([*STOVE, "centroid", 0], "9" * 400), "not_finite", ("stove #0[0]", "inf")),
    "centroid of 5000 digits": Kind(
        _literal([*STOVE, "centroid", 0], "9" * 5000), "not_finite", ("stove #0[0]", "inf")
    ),
    "millimetres": Kind(_stretched(1000.0), "implausible_length", ("millimetres",)),
    "axes enormous": Kind(_set([*STOVE, "normalizedAxes"], [1e200] * 9), "axes_not_orthonormal", ("stove #0",)),
}
DOUBTFUL: dict[str, Doubt] = kinds_of(__file__, "doubtful", Doubt, WAYS) | {
    "box given twice": Doubt(_scenes(_doubled), "doubled_box", "doubt", "microwave", 1.0, 0.5, "share"),
    "thin box": Doubt(_scenes(_thin), "thin_box", "doubt", "microwave", 0.0005, 1e-3, "m"),
    "min and max unlike the box": Doubt(_scenes(_shifted), "extent_differs_from_box", "note", "stove", 0.5, 0.01, "m"),
}

# Unusual and yet sound: no finding, and the same release.
SOUND: dict[str, Spoil] = {
    "byte order mark": _bytes(lambda b: b"\xef\xbb\xbf" + b),
    "blanks around": _bytes(lambda b: b"\r\n\t " + b + b"\n\n"),
}
