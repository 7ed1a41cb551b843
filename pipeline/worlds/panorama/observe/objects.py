"""Of each object, by depth: how far it is, how much of it is hidden by what stands before it, and where it stands."""

from __future__ import annotations

from typing import Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings, doubt
from pipeline.reading.maps.feature import mentioned
from pipeline.worlds.panorama.facts import Crop, Panorama, Seen

SAMPLES: Final = 48  # a side, over the interval of an object
ALIKE_SHARE: Final = 0.15  # of its distance by which an object's own depth differs: it has a front and a back
ALIKE_M: Final = 1.0  # and at least
ONE_THING: Final = 0.7  # of its interval that must be alike: else it is full of background, as about a lamp post
BEFORE_IT: Final = 0.03  # of its interval that may be nearer: else that may be the object, and the rest what is behind
LEAST: Final = 9  # samples with a depth
DEPTH: Final = "depth"


def measure_objects(facts: Panorama, depth_m: FloatArray | None, findings: Findings) -> tuple[Seen, ...]:
    """The objects with what depth, heading and position tell of them; what depth belies is in doubt.

    Args:
        facts: of the panorama.
        depth_m: (h, w) distances from the camera's centre, metres, NaN where not known.
        findings: gets one doubt for all objects that depth belies.
    """
    crop = facts.picture.crop or Crop(full_width=facts.picture.width, full_height=facts.picture.height, left=0, top=0)
    found, belied = [], []
    for seen in facts.objects:
        measured = seen if depth_m is None else _measured(seen, level_distances(seen, depth_m, facts, crop))
        if measured.doubt is not None and seen.doubt is None:
            belied.append(f"{seen.id} ({measured.doubt})")
        found.append(_placed(measured, facts.heading_deg))
    if belied:
        message = f"the depth belies {len(belied)} of {len(found)} objects: {mentioned(belied)}"
        remedy = "look at their intervals and distances; nothing is asked of them"
        findings.add(doubt("depth_belies_objects", "objects", message, remedy, float(len(belied)), 0.0, "objects"))
    return tuple(found)


def level_distances(seen: Seen, depth_m: FloatArray, facts: Panorama, crop: Crop) -> FloatArray:
    """Distances over ground (`SAMPLES`, `SAMPLES`) from the camera to what is seen within an object's interval.

    The first axis goes down. NaN beyond the picture and where depth is not known.
    """
    share = (np.arange(SAMPLES) + 0.5) / SAMPLES
    yaw = seen.yaw_deg + (share - 0.5) * seen.width_deg
    pitch = seen.pitch_high_deg + share * (seen.pitch_low_deg - seen.pitch_high_deg)
    scale = depth_m.shape[1] / facts.picture.width  # depth may be of another size
    across, down = crop.full_width * scale, crop.full_height * depth_m.shape[0] / facts.picture.height
    column = np.floor((yaw / 360.0 + 0.5) % 1.0 * across - crop.left * scale).astype(np.intp)
    row = np.floor((0.5 - pitch / 180.0) * down - crop.top * scale).astype(np.intp)
    inside = (row >= 0)[:, None] & (row < depth_m.shape[0])[:, None] & (column >= 0) & (column < depth_m.shape[1])
    found = depth_m[np.clip(row, 0, depth_m.shape[0] - 1)[:, None], np.clip(column, 0, depth_m.shape[1] - 1)]
    return np.where(inside, found * np.cos(np.radians(pitch))[:, None], np.nan)


def _measured(seen: Seen, level_m: FloatArray) -> Seen:
    """An object with the distance and the visible share that distances within its interval show."""
    changes: dict[str, object] = {}
    told = dict(seen.told_by)
    known = level_m[np.isfinite(level_m)]
    distance = seen.distance_m
    if distance is None:
        distance = _distance_of(known)
        if distance is None:
            return seen
        changes["distance_m"], told["distance_m"] = distance, DEPTH
    tolerance = _tolerance_m(distance)
    own = int((np.abs(known - distance) <= tolerance).sum())
    before = int((known < distance - tolerance).sum())
    if own + before < LEAST:
        return seen.model_copy(update=changes | {"told_by": told}) if changes else seen
    if not own and seen.doubt is None:
        changes["doubt"] = f"said to be {distance:g} m away, and depth shows nothing there at that distance"
    elif seen.visible_share is None:
        changes["visible_share"], told["visible_share"] = round(own / (own + before), 3), DEPTH
    return seen.model_copy(update=changes | {"told_by": told})


def _distance_of(known_m: FloatArray) -> float | None:
    """How far an object is whose interval shows known distances (n,), metres; None where that is not sure."""
    if len(known_m) < LEAST:
        return None
    distance = round(float(np.median(known_m)), 2)
    tolerance = _tolerance_m(distance)
    alike = float((np.abs(known_m - distance) <= tolerance).mean())
    nearer = float((known_m < distance - tolerance).mean())
    return distance if distance > 0 and alike >= ONE_THING and nearer <= BEFORE_IT else None


def _tolerance_m(distance_m: float) -> float:
    return max(ALIKE_M, ALIKE_SHARE * distance_m)


def _placed(seen: Seen, heading_deg: float | None) -> Seen:
    """An object with its place about the camera, where heading and distance are known."""
    if heading_deg is None or seen.distance_m is None:
        return seen
    compass = np.radians(heading_deg + seen.yaw_deg)
    east, north = seen.distance_m * np.sin(compass), seen.distance_m * np.cos(compass)
    return seen.model_copy(update={"place": (round(float(east), 2) + 0.0, round(float(north), 2) + 0.0)})
