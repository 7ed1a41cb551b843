"""Writes the sample flights: ``<root>/<flight>/{video.mp4, log.*, flight.yaml, landmarks.geojson, buildings.geojson}``.

What was planted is in ``<root>/truth/<flight>.json``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from pipeline.core.files import write_atomically
from pipeline.core.schema import Origin
from pipeline.samples.common.encode import VideoWriter, json_bytes
from pipeline.samples.flight.city import PLACES, Block, CityPlace, Form, blocks, to_wgs84
from pipeline.samples.flight.logs import recording, subtitles, with_estimator, with_receiver
from pipeline.samples.flight.pilot import PLANS, FlightPlan, LogKind, PilotPose, fly
from pipeline.samples.flight.render import FlightRenderer, lens_of
from pipeline.samples.flight.truth import (
    SHOWN_HZ,
    FlightTruth,
    Shown,
    planted_landmarks,
    planted_moves,
    planted_route,
    poses_of,
    solid_of,
)

DATASET: Final = "sample_city"
FPS: Final = 4  # a fast flight is seen well enough, and all six are written in seconds
# Roofs as maps have them; a tower and a stadium have none to speak of.
ROOFS: Final[dict[Form, str]] = {
    "box": "flat",
    "domed": "dome",
    "pitched": "gabled",
    "rounded": "round",
    "church": "gabled",
}
_THREADS: Final = 2  # flights at a time; rays are cast and videos packed outside of Python's lock
_DEGREE_DECIMALS: Final = 8
_LOGS: Final[dict[LogKind, tuple[str, str, Callable[[FlightPlan, PilotPose], tuple[bytes, Origin]]]]] = {
    "px4": ("log.ulg", "px4_ulog", with_estimator),
    "px4_gps": ("log.ulg", "px4_ulog", with_receiver),
    "dji_gimbal": ("log.SRT", "dji_srt", subtitles),
    "dji_repeated": ("log.SRT", "dji_srt", subtitles),
    "dji_rtk": ("log.SRT", "dji_srt", subtitles),
    "airsim": ("log.txt", "airsim", recording),
}


def write_flights(root: Path, plans: tuple[FlightPlan, ...] = PLANS) -> tuple[str, ...]:
    """Writes the flights, the same bytes every time; returns their ids. Files of an earlier writing are replaced.

    The truth of a flight comes last: where it is, the flight is whole.
    """
    city = blocks()
    with ThreadPoolExecutor(_THREADS) as pool:
        return tuple(pool.map(lambda plan: _write_flight(root, plan, city), plans))


def _write_flight(root: Path, plan: FlightPlan, city: tuple[Block, ...]) -> str:
    folder = root / plan.id
    pose = fly(plan.moves, plan.start_xy, plan.heading_deg, plan.camera.pitch_deg or 0.0)
    log, log_format, logged = _LOGS[plan.log]
    raw, origin = logged(plan, pose)
    write_atomically(folder / log, raw)
    frames_s = plan.video_offset_s + np.arange(int((pose.t_s[-1] - plan.video_offset_s) * FPS + 1e-6)) / FPS
    video, examined, shown = _film(plan, pose.at(frames_s), city)
    write_atomically(folder / "video.mp4", video)
    write_atomically(folder / "landmarks.geojson", json_bytes(_landmarks(city)))
    if plan.has_buildings:
        write_atomically(folder / "buildings.geojson", json_bytes(_buildings(city)))
    truth = FlightTruth(
        id=plan.id,
        log=log,
        log_format=log_format,
        origin=origin,
        camera=plan.camera,
        has_heading=plan.log != "dji_repeated",
        has_buildings=plan.has_buildings,
        goal=plan.goal,
        route=planted_route(plan),
        duration_s=round(float(pose.t_s[-1]), 3),
        video_offset_s=plan.video_offset_s,
        frames=len(frames_s),
        fps=FPS,
        noise_m=plan.noise_m,
        dropped=plan.dropped,
        gap_s=plan.gap_s,
        no_fix_s=plan.no_fix_s,
        moves=planted_moves(plan, pose),
        poses=poses_of(pose, origin),
        landmarks=planted_landmarks(city, origin, shown),
        buildings=tuple(solid_of(block, origin) for block in _standing(city)),
        examined_s=tuple(examined),
    )
    write_atomically(folder / "flight.yaml", _settings(plan, truth).encode())
    write_atomically(root / "truth" / f"{plan.id}.json", truth.model_dump_json().encode())
    return plan.id


def _film(plan: FlightPlan, frames: PilotPose, city: tuple[Block, ...]) -> tuple[bytes, list[float], Shown]:
    """The video, the times of the frames in which pixels were counted, and what each place has there (time, pixels)."""
    camera, places = plan.camera, len(PLACES)
    renderer = FlightRenderer(city, lens_of(camera))
    video = VideoWriter("mp4", FPS, camera.width, camera.height)
    examined: list[float] = []
    shown: Shown = [[] for _ in PLACES]
    for i, time in enumerate(frames.t_s.round(3).tolist()):
        shot = renderer.shoot(frames.xyz_m[i], float(frames.heading_deg[i]), float(frames.pitch_deg[i]))
        video.add(shot.color)
        if i % (FPS // SHOWN_HZ) == 0:
            examined.append(time)
            pixels = np.bincount(shot.block.ravel() + 1, minlength=places + 1)[1 : places + 1]  # places come first
            for place in np.flatnonzero(pixels).tolist():
                shown[place].append((time, int(pixels[place])))
    return video.finish(), examined, shown


def _settings(plan: FlightPlan, truth: FlightTruth) -> str:
    """The flight's ``flight.yaml``."""
    settings: dict[str, Any] = {
        "dataset": DATASET,
        "log": truth.log,
        "log_format": truth.log_format,
        "goal": plan.goal,
        "route": [step.text for step in truth.route],
        "camera": plan.camera.model_dump(exclude_none=True),
        "video": "video.mp4",
    }
    if plan.video_offset_s:
        settings["video_offset_s"] = plan.video_offset_s
    if plan.log == "airsim":
        settings["local_origin"] = truth.origin.model_dump()
    settings["landmarks"] = "landmarks.geojson"
    if plan.has_buildings:
        settings["buildings"] = "buildings.geojson"
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, width=120)


def _landmarks(city: tuple[Block, ...]) -> dict[str, Any]:
    """All places of the city; a park has no height."""
    features = []
    for place, block in zip(PLACES, city, strict=False):
        height = {} if place.kind == "park" else {"height_m": block.high[2], "base_m": 0.0}
        ring = _ring(block)
        middle = to_wgs84(np.array([[*block.corners().mean(0), 0.0]]))[0, 1::-1].round(_DEGREE_DECIMALS).tolist()
        geometry = (
            {"type": "Point", "coordinates": middle} if place.is_point else {"type": "Polygon", "coordinates": [ring]}
        )
        sign = {"sign": place.sign} if place.sign else {}
        properties = {"name": place.name, "kind": place.kind, **_look(place), **sign, **height}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    return {"type": "FeatureCollection", "features": features}


def _buildings(city: tuple[Block, ...]) -> dict[str, Any]:
    """Everything that stands, those with a name included, as maps have it."""
    features = [
        {
            "type": "Feature",
            "properties": {"height_m": block.high[2], **_look(block)},
            "geometry": {"type": "Polygon", "coordinates": [_ring(block)]},
        }
        for block in _standing(city)
    ]
    return {"type": "FeatureCollection", "features": features}


def _look(thing: CityPlace | Block) -> dict[str, str]:
    """Colour and, of what has a roof to speak of, its shape."""
    roof = {"roof_shape": ROOFS[thing.form]} if thing.form in ROOFS else {}
    return {"colour": "#" + bytes(thing.color).hex(), **roof}


def _standing(city: tuple[Block, ...]) -> list[Block]:
    return [block for block in city if block.place is None or PLACES[block.place].kind != "park"]


def _ring(block: Block) -> list[list[float]]:
    """The closed footprint, longitude first."""
    corners = block.corners()
    closed = np.column_stack([corners[[0, 1, 2, 3, 0]], np.zeros(5)])
    return to_wgs84(closed)[:, 1::-1].round(_DEGREE_DECIMALS).tolist()
