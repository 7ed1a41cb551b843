"""Questions about panoramas answered again: from their published rows and the facts, with a projection of its own.

A direction is a vector that is turned by matrices; of an object a grid of directions is looked at. Texts are read by
patterns made here from the wordings. `answers` gives every option that is right: there must be one.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import yaml

from pipeline.worlds.panorama.facts import Panorama, PanoramaObject

WORDINGS = Path(__file__).resolve().parents[2] / "templates" / "ergeobench"
WIDTH, HEIGHT = 640, 480
NUMBERS = {"left": -1, "right": 1}
Array = npt.NDArray[np.float64]


def read(text: str, *names: str) -> tuple[str, dict[str, str]]:
    """The template that a text is worded by, and its fields."""
    every = yaml.load((WORDINGS / "questions.yaml").read_text(), Loader=yaml.CSafeLoader)
    for name in names:
        for wording in (every[name]["text"], *every[name].get("also_parsed", ())):
            pattern = re.escape(wording).replace(r"\{label\.a\}", "an?")
            pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", pattern, count=0)
            found = re.fullmatch(pattern, text)
            if found:
                return name, found.groupdict()
    raise ValueError(f"no wording of {names}: {text}")


def directions(yaw: Array, pitch: Array) -> Array:
    """Unit vectors (..., 3): east of the middle column, along it, up."""
    yaw, pitch = np.deg2rad(yaw), np.deg2rad(pitch)
    return np.stack([np.sin(yaw) * np.cos(pitch), np.cos(yaw) * np.cos(pitch), np.sin(pitch)], -1)


def pixels(view: dict[str, float], vectors: Array) -> Array:
    """Column and row (..., 2), from the upper left corner; NaN behind."""
    a, b = np.deg2rad(view["yaw_deg"]), np.deg2rad(view["pitch_deg"])
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, np.cos(b), np.sin(b)], [0, -np.sin(b), np.cos(b)]])
    seen = vectors @ (tilt @ turn).T
    ahead = np.where(seen[..., 1] > 1e-9, seen[..., 1], np.nan)
    focal = WIDTH / 2 / np.tan(np.deg2rad(view["fov_deg"] / 2))
    return np.stack([WIDTH / 2 + focal * seen[..., 0] / ahead, HEIGHT / 2 - focal * seen[..., 2] / ahead], -1)


def grid(thing: PanoramaObject) -> Array:
    """Pixels' worth of directions over an object (k, 3)."""
    yaw = thing.yaw_deg + np.linspace(-0.5, 0.5, 41) * thing.width_deg
    pitch = np.linspace(thing.pitch_low_deg, thing.pitch_high_deg, 41)
    return directions(*np.meshgrid(yaw, pitch)).reshape(-1, 3)


def share(thing: PanoramaObject, view: dict[str, float]) -> float:
    """How much of an object's box a view shows."""
    x, y = pixels(view, grid(thing)).T
    with np.errstate(invalid="ignore"):
        return float(((x >= 0) & (x <= WIDTH) & (y >= 0) & (y <= HEIGHT)).mean())


def middle(thing: PanoramaObject, view: dict[str, float]) -> Array:
    """Middle of an object's least box in a view, pixels (2,)."""
    found = pixels(view, grid(thing))
    return np.asarray((found.min(0) + found.max(0)) / 2)


def shown(things: Sequence[PanoramaObject], view: dict[str, float]) -> list[PanoramaObject]:
    """What a view shows any of."""
    return [thing for thing in things if share(thing, view) > 0]


def one(things: Sequence[PanoramaObject], view: dict[str, float]) -> PanoramaObject:
    """The one of some that a view shows, whole."""
    (found,) = shown(things, view)
    if share(found, view) < 1:
        raise ValueError(f"{found.id} is cut off")
    return found


def turned(degrees: float) -> float:
    return (degrees + 180.0) % 360.0 - 180.0


def bare(options: Sequence[str]) -> list[str]:
    return [option.partition(". ")[2] for option in options]


def answers(facts: Panorama, row: dict[str, Any]) -> list[str]:
    """The options that are right. Raises ValueError where what is asked about is not there once and whole."""
    return [option for option in bare(row["options"]) if _RULES[row["task"]](facts, row, option)]


def _of(facts: Panorama, label: str) -> list[PanoramaObject]:
    return [thing for thing in facts.objects if thing.label == label]


def _yaw(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "yaw_estimation")
    (view,) = row["views"]
    off = turned(one(_of(facts, said["label"]), view).yaw_deg - view["yaw_deg"])
    number, side = re.fullmatch(r"about (\d+) degrees to the (left|right)", option).groups()  # type: ignore[union-attr]
    return abs(off - NUMBERS[side] * int(number)) < 10


def _position(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "positioning")
    x, y = middle(one(_of(facts, said["label"]), row["views"][0]), row["views"][0])
    column = ["left", "middle", "right"][int(x // (WIDTH / 3))]
    return option == f"{'upper' if y < HEIGHT / 2 else 'lower'} {column}"


def _depth(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "depth")
    (view,) = row["views"]
    near = [t for t in _of(facts, said["label"]) if share(t, view) and abs(middle(t, view)[0] - WIDTH / 2) < 60]
    (thing,) = near
    low, high = {"less": (0, None), "more": (None, np.inf), "between": (None, None)}[option.split(maxsplit=1)[0]]
    numbers = [float(n) for n in re.findall(r"[\d.]+", option)]
    low = numbers[0] if low is None else low
    high = numbers[-1] if high is None else high
    return low < (thing.distance_m or np.nan) < high


def _distance(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "distance")
    (view,) = row["views"]
    two = sorted(shown(_of(facts, said["label"]), view), key=lambda thing: middle(thing, view)[0])
    left, right = two
    chosen, other = (left, right) if option.endswith("left") else (right, left)
    nearer = (chosen.distance_m or np.nan) < (other.distance_m or np.nan)
    return nearer == (said["word"] == "nearer")


def _left_right(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "left_right")
    (view,) = row["views"]
    first, second = (middle(one(_of(facts, said[name]), view), view)[0] for name in ("first", "second"))
    return (first < second) == option.endswith("left")


def _front_back(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "front_back")
    whole, view = row["views"]
    (thing,) = _of(facts, said["label"])
    ahead = directions(np.array(view["yaw_deg"]), np.array(0.0)) @ directions(np.array(thing.yaw_deg), np.array(0.0))
    return whole is None and (float(ahead) > 0) == option.startswith("in front")


def _turn(text: str) -> float:
    number = float(text.split(maxsplit=1)[0])
    return -number if text.endswith("left") else number


def _cross_view(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "cross_view")
    first, second = row["views"]
    if abs(turned(second["yaw_deg"] - first["yaw_deg"] - _turn(said["first"]))) > 0.011:
        raise ValueError("the second view is not that after the turn")
    things = [thing for view in row["views"] for thing in shown(_of(facts, said["label"]), view)]
    (thing,) = things
    off = turned(thing.yaw_deg - second["yaw_deg"] - _turn(said["second"]))
    most, little = option.replace("to the ", "").split(", a little ")
    about = {"ahead": 0.0, "right": 90.0, "behind": 180.0, "left": -90.0}
    middle_of = about[most] + turned(about[little] - about[most]) / 4
    return abs(turned(off - middle_of)) < 22.5


def _needed(facts: Panorama, need: str, view: dict[str, float]) -> list[PanoramaObject]:
    table = yaml.load((WORDINGS.parent / "tables" / "ergeobench" / "needs.yaml").read_text(), Loader=yaml.CSafeLoader)
    (entry,) = [entry for entry in table if entry["need"] == need]
    found = shown([thing for thing in facts.objects if thing.kind in {*entry["serves"], *entry["may"]}], view)
    if any(thing.kind not in entry["serves"] for thing in found):
        raise ValueError("something may serve the need")
    return found


def _single(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "need_single")
    (view,) = row["views"]
    (thing,) = _needed(facts, said["need"], view)
    return option.endswith(["left", "middle", "right"][int(middle(thing, view)[0] // (WIDTH / 3))])


def _dual(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    name, said = read(row["question"], "need_dual", "need_door")
    if name == "need_door":
        level, upward = row["views"]
        (sign,) = _needed(facts, said["need"], upward)
        doors = [thing for thing in shown(facts.objects, level) if thing.label in {"door", "entrance"}]
        (door,) = (d for d in doors if abs(turned(d.yaw_deg - sign.yaw_deg)) < sign.width_deg / 2)
        same = [d for d in doors if d.attributes["colour"] == option]
        return share(sign, level) == 0 and same == [door]
    places = [(n, thing) for n, view in enumerate(row["views"]) for thing in _needed(facts, said["need"], view)]
    ((n, thing),) = places
    half = "left" if middle(thing, row["views"][n])[0] < WIDTH / 2 else "right"
    return option == f"{half} half of the {['first', 'second'][n]} picture"


def _need_cross(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    _, said = read(row["question"], "need_cross")
    found = [_needed(facts, said["need"], view) for view in row["views"]]
    (first,), (second,) = found
    first_is_nearer = (first.distance_m or np.nan) < (second.distance_m or np.nan)
    return first_is_nearer == ("first" in option)


def _perception(facts: Panorama, row: dict[str, Any], option: str) -> bool:
    (view,) = row["views"]
    names = ("shows_label", "is_attribute", "attribute", "shows_which", "reads")
    name, said = read(row["question"], *names)
    if name == "shows_label":
        found = shown(_of(facts, said["label"]), view)
        if found and max(share(thing, view) for thing in found) < 1:
            raise ValueError("partly in view")
        return bool(found) == (option == "True")
    if name == "is_attribute":
        value = one(_of(facts, said["label"]), view).attributes[said["key"]]
        return (value == said["value"]) == (option == "True")
    if name == "attribute":
        return one(_of(facts, said["label"]), view).attributes[said["key"]] == option
    if name == "reads":
        return bool(shown([thing for thing in facts.objects if thing.name == option], view))
    return bool(shown(_of(facts, option), view))


_RULES = {
    "Yaw Estimation": _yaw,
    "2D Positioning": _position,
    "Depth Estimation": _depth,
    "Distance": _distance,
    "Left/Right Relative": _left_right,
    "Front/Back Relative": _front_back,
    "Cross View": _cross_view,
    "Single-View": _single,
    "Dual-View": _dual,
    "Cross-View": _need_cross,
    **dict.fromkeys(("Architecture", "Infrastructure", "Signage", "Terrain", "Vegetation"), _perception),
}
