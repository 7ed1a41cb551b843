"""How to speak of the landmarks of a flight: by a name that is unique near by, or by the way to one that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.geometry.bearings import compass_deg, turn_between_deg
from pipeline.worlds.flight.facts import Landmark

WINDS: Final = ("north", "northeast", "east", "southeast", "south", "southwest", "west", "northwest")
_HALF_SECTOR_DEG: Final = 22.5
_MAX_LABEL: Final = 200  # characters; schema.Name


def labels(landmarks: Sequence[Landmark], within_m: float, margin_deg: float) -> tuple[str | None, ...]:
    """A label for each landmark, None for one that cannot be told from its namesakes.

    A name is unique where no other landmark within ``within_m`` has it, letter case aside. Another landmark is told by
    its direction from a unique one, "the Shop north of City Hall": the nearest within ``within_m`` from which it lies
    at least ``margin_deg`` inside the sector of one of eight winds, and from which no namesake lies in that sector or
    within ``margin_deg`` of it.

    Args:
        landmarks: of one flight.
        within_m: between centres, over ground.
        margin_deg: to the edge of a sector.
    """
    from scipy.spatial import cKDTree  # takes half a second

    if not landmarks:
        return ()
    centers = np.array([m.center for m in landmarks], dtype=np.float64)
    names = [_spoken(m).casefold() for m in landmarks]
    near = cKDTree(centers).query_ball_point(centers, within_m, return_sorted=True)
    unique = np.array([all(j == i or names[j] != names[i] for j in near[i]) for i in range(len(names))])
    return tuple(
        _spoken(landmark) if unique[i] else _relation(i, landmarks, names, centers, near[i], unique, margin_deg)
        for i, landmark in enumerate(landmarks)
    )


def _spoken(landmark: Landmark) -> str:
    """Its name on one line."""
    return " ".join(landmark.name.split())


def _relation(
    own: int,
    landmarks: Sequence[Landmark],
    names: list[str],
    centers: FloatArray,
    near: list[int],
    unique: BoolArray,
    margin_deg: float,
) -> str | None:
    """Where a landmark lies from the nearest unique one that tells it apart."""
    anchors = [j for j in near if unique[j]]
    anchors.sort(key=lambda j: (float(np.hypot(*(centers[j] - centers[own]))), j))
    namesakes = np.array([j for j in range(len(names)) if j != own and names[j] == names[own]])
    for anchor in anchors:
        bearing = compass_deg(centers[own] - centers[anchor])
        wind = int(np.round(np.nan_to_num(bearing) / 45.0)) % 8
        if not abs(turn_between_deg(np.array(45.0 * wind), bearing)) <= _HALF_SECTOR_DEG - margin_deg:
            continue  # near the edge of its sector, or right at the anchor
        others = np.abs(turn_between_deg(np.array(45.0 * wind), compass_deg(centers[namesakes] - centers[anchor])))
        if (others <= _HALF_SECTOR_DEG + margin_deg).any():
            continue
        label = f"the {_spoken(landmarks[own])} {WINDS[wind]} of {_spoken(landmarks[anchor])}"
        return label if len(label) <= _MAX_LABEL else None
    return None
