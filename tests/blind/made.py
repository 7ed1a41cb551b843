"""Questions made for these tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pipeline.blind.items import BlindItem, make_item
from pipeline.core.templates import load_template

NAMES = ("bed", "chair", "door", "lamp", "sofa", "table", "tv", "window")


def number_item(
    id: int, truth: float | str, names: Sequence[str] = ("chair",), group: str = "", task: str = "object_counting"
) -> BlindItem:
    """A numeric question about names, in the wording of its task."""
    template = load_template(f"vsi/{task}")
    text = template.render(dict(zip(template.fields, names, strict=True)))
    return make_item(id, task, group or f"scene{id}", text, None, str(truth))


def nearest_item(id: int, primary: str, options: Sequence[str], right: str, group: str = "") -> BlindItem:
    """A question of relative distance."""
    text = load_template("vsi/object_rel_distance").render({"primary": primary, "choices": tuple(options)})
    lettered = [f"{letter}. {option}" for letter, option in zip("ABCD", options, strict=True)]
    return make_item(id, "object_rel_distance", group or f"scene{id}", text, lettered, "ABCD"[options.index(right)])


def nearest_items(n: int, shortcut: bool, per_scene: int = 2, seed: int = 0) -> list[BlindItem]:
    """Questions of relative distance in which the lamp is always right, or any option by chance."""
    rng = np.random.default_rng(seed)
    items = []
    for id in range(n):
        primary, *others = rng.permutation([name for name in NAMES if name != "lamp"])[:4].tolist()
        options = rng.permutation(["lamp", *others]).tolist()
        right = "lamp" if shortcut else options[int(rng.integers(4))]
        items.append(nearest_item(id, primary, options, right, f"scene{id // per_scene}"))
    return items


def size_items(n: int, spread: float, per_scene: int = 2, seed: int = 0) -> list[BlindItem]:
    """Questions of object size in which every category has its own size, give or take a factor."""
    rng = np.random.default_rng(seed)
    items = []
    for id in range(n):
        kind = int(rng.integers(len(NAMES)))
        truth = round(30 * 1.5**kind * float(np.exp(rng.uniform(-spread, spread))))
        items.append(
            number_item(id, truth, NAMES[kind : kind + 1], f"scene{id // per_scene}", "object_size_estimation")
        )
    return items
