"""Films that are drawn of episodes: two maps to scale, dials of joints, nothing of what comes later."""

from __future__ import annotations

import numpy as np

from pipeline.core.quantized_series import pack
from pipeline.drawing.raster import INK, SIZE
from pipeline.worlds.arm.bev_video import ABOVE, BESIDE, drawn
from pipeline.worlds.arm.facts import PLACE_STEP_M
from pipeline.worlds.arm.view import ArmView


def test_things_lie_to_scale_from_above_and_from_the_side(views: list[ArmView]) -> None:
    """The grey dot of the foot and the gripper's dot: as far apart, in both maps, as the log says."""
    view = views[0]
    footage = drawn(view.scene)
    assert footage is not None
    first = next(iter(footage.frames()))
    assert first.shape == (SIZE[1], SIZE[0], 3)
    bar = (first[296, 266:400] == INK["text"]).all(1)
    per_m = float(bar.argmin()) / 0.1  # up to the first pixel beside it
    apart = view.gripper_m[0] - view.base_m
    for at, across, up in ((ABOVE, -apart[1], apart[0]), (BESIDE, apart[0], apart[2])):
        left, top, side = (int(v) for v in at)
        part = first[top : top + side, left : left + side]
        foot = np.argwhere((part == INK["edge"]).all(2)).mean(0)
        fingers = np.argwhere((part == INK["own"]).all(2))
        tip = np.array([fingers[:, 0].max() - 4, fingers[:, 1].mean()])
        y, x = (tip - foot) / per_m
        assert np.hypot(x - across, -y - up) < 0.02, "2 cm are 3 pixels"


def test_no_picture_knows_what_comes_later(views: list[ArmView]) -> None:
    """The same pictures of an episode of which the second half was changed."""
    view = views[1]
    whole = drawn(view.scene)
    half = len(view.times_s) // 2
    moved = (np.arange(len(view.times_s)) >= half)[:, None] * np.array([0.1, 0.0, 0.0])
    items = tuple(
        item.model_copy(update={"place_m": pack(place + moved, PLACE_STEP_M)})
        for item, place in zip(view.facts.items, view.item_m, strict=True)
    )
    facts = view.facts.model_copy(update={"items": items})
    changed = drawn(view.scene.model_copy(update={"facts": facts}))
    assert whole is not None
    assert changed is not None
    pairs = list(zip(whole.frames(), changed.frames(), strict=True))
    same = [bool((a == b).all()) for a, b in pairs]
    first = int(np.searchsorted(np.arange(len(pairs)) / whole.fps, view.times_s[half] - 1e-6))
    assert all(same[:first])
    assert not any(same[first:])


def test_an_episode_without_places_and_angles_is_not_drawn(views: list[ArmView]) -> None:
    turning = views[0].facts.model_copy(update={"gripper": None, "items": ()})
    assert drawn(views[0].scene.model_copy(update={"facts": turning})) is not None, "there are dials"
    nothing = turning.model_copy(update={"arm": None})
    assert drawn(views[0].scene.model_copy(update={"facts": nothing})) is None
