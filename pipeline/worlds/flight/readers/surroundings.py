"""Landmarks and buildings of a flight, from the map files that its ``flight.yaml`` names."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from pipeline.core.findings import Findings, doubt, note
from pipeline.geometry.tracks import NO_BUILDINGS, Buildings, Track
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.feature import Box, Feature, box_around
from pipeline.reading.maps.placed import Placed
from pipeline.reading.maps.read import read_context
from pipeline.worlds.flight.facts import Landmark
from pipeline.worlds.flight.readers.flight_files import FLIGHT_FILE, FlightSettings, find_file
from pipeline.worlds.flight.readers.place import buildings, check_heights, landmarks, others
from pipeline.worlds.flight.tracks.assemble import Assembled

NEAR_M: Final = 1000.0  # of the track: what stands farther off hides nothing worth asking about


class Surroundings(NamedTuple):
    """What a flight passes, and what can hide it."""

    landmarks: tuple[Landmark, ...]
    buildings: Buildings


def read_surroundings(
    files: SceneFiles, settings: FlightSettings, assembled: Assembled, findings: Findings
) -> Surroundings:
    """Landmarks and buildings of the files ``landmarks`` and ``buildings``, those of the former first.

    Raises:
        RawDataError: where a file cannot be read or placed on the earth.
    """
    naming = settings.landmarks or settings.buildings
    if naming is None:
        return Surroundings((), NO_BUILDINGS)
    if assembled.origin is None:
        message = f"{naming} was not used: the log has local positions alone, and where they lie is not known"
        findings.add(doubt("no_origin", "landmarks", message, f"give local_origin in {FLIGHT_FILE}"))
        return Surroundings((), NO_BUILDINGS)
    box = box_around(assembled.origin, assembled.track.enu_m, NEAR_M)
    features = _features(files, naming, box, naming == settings.buildings, findings)
    walls: tuple[Feature, ...] = ()
    if settings.buildings not in (None, naming):
        walls = _features(files, settings.buildings or "", box, True, findings)
        walls = tuple(f for f in walls if any(box.holds(outline).any() for outline in f.outlines))
    ground_m = _ground_m(assembled.track)
    marks = landmarks(Placed(features, assembled.origin, ground_m), naming, findings)
    if walls:
        marks += others(marks, landmarks(Placed(walls, assembled.origin, ground_m), settings.buildings or "", findings))
    faceless = sum(mark.look is None for mark in marks)
    if faceless and settings.landmarks is not None:
        message = f"{naming}: of {faceless} of {len(marks)} landmarks it is not told what they look like"
        remedy = "give kind, colour, roof_shape, height_m or sign, to have them spoken of"
        findings.add(note("looks_unknown", naming, message, remedy, float(faceless), 0.0, "landmarks"))
    placed = Placed((*features, *walls), assembled.origin, ground_m)
    check_heights(placed, ground_m, findings)
    return Surroundings(marks, buildings(placed))


def _features(files: SceneFiles, name: str, box: Box, walls: bool, findings: Findings) -> tuple[Feature, ...]:
    path = find_file(files, name)
    features = read_context(files, path, box, walls, findings)
    if not any(box.holds(outline).any() for f in features for outline in f.outlines):
        message = f"{name}: of its {len(features)} features none lies within {NEAR_M:g} m of the flight"
        remedy = "is this the map of the place that the log is from?"
        findings.add(doubt("nothing_near", name, message, remedy, 0.0, 1.0, "features"))
    return features


def _ground_m(track: Track) -> float | None:
    """Up of the ground at take-off, by the first fix of known height; None if there is none."""
    known = np.flatnonzero(np.isfinite(track.height_m) & np.isfinite(track.enu_m[:, 2]))
    return float(track.enu_m[known[0], 2] - track.height_m[known[0]]) if len(known) else None
