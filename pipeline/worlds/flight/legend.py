"""Landmarks by their names: those of which the video has a picture good enough to introduce them."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.core.schema import Rejection
from pipeline.worlds.flight.facts import Flight, Shot


def shot_of(flight: Flight, landmark: int, end_s: float) -> Shot | None:
    """The best picture of a landmark, given by its index, in a video that ends at some second."""
    views = flight.motion.views if flight.motion and flight.motion.views else ()
    return next((v.shot for v in views if v.landmark == landmark and v.shot and 0 <= v.shot.second < end_s), None)


def by_name(flight: Flight, end_s: float, share_min: float) -> Flight:
    """The flight with names for labels, of landmarks that a picture can introduce; goal and route in these names.

    Args:
        flight: with its motion and its labels observed.
        end_s: of the video.
        share_min: of the picture, which the best shot of a landmark takes at least (`Shot.share`).
    """
    count = Counter(mark.name.casefold() for mark in flight.landmarks if mark.name)
    landmarks, names = [], {}
    for index, mark in enumerate(flight.landmarks):
        refused = _refused(flight, index, end_s, share_min, count)
        name = mark.name if refused is None else None
        landmarks.append(mark.model_copy(update={"label": name, "proof": (), "unsaid": refused}))
        if mark.label and name:
            names[mark.label] = name
    route = tuple(_renamed(step, names) for step in flight.route)
    goal = names.get(flight.goal, flight.goal) if flight.goal else None
    return flight.model_copy(update={"landmarks": tuple(landmarks), "goal": goal, "route": route})


def _refused(flight: Flight, index: int, end_s: float, share_min: float, count: Counter[str]) -> Rejection | None:
    name = flight.landmarks[index].name
    if not name:
        return Rejection(reason="no_name", measured=None, limit=None, unit=None)
    if count[name.casefold()] > 1:
        return Rejection(reason="name_not_unique", measured=count[name.casefold()], limit=1, unit="landmarks")
    shot = shot_of(flight, index, end_s)
    if shot is None:
        return Rejection(reason="no_good_picture", measured=0, limit=1, unit="pictures")
    if shot.share < share_min:
        return Rejection(reason="too_small_in_picture", measured=round(shot.share, 3), limit=share_min, unit="share")
    return None


def _renamed(step: str, names: dict[str, str]) -> str:
    """A step of a route with names in the place of labels."""
    labels = sorted(names, key=lambda label: (-len(label), label))
    if not labels:
        return step
    pattern = rf"(?<!\w)(?:{'|'.join(map(re.escape, labels))})(?!\w)"
    return re.sub(pattern, lambda found: names[found[0]], step)
