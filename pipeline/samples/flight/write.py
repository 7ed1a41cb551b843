"""Writes the sample flights: ``<root>/<flight>/{video.mp4, log.*, flight.yaml, landmarks.geojson, buildings.geojson}``.

What was planted is in ``<root>/truth/<flight>.json``.

The truth is what a reader, an observer or a question must find, known by construction. Its times are the log's: 0 is
its first sample, and the video begins at ``video_offset_s``. Frame: ENU metres about ``origin``, the first good fix as
the log has it, noise and rounding included; for AirSim, whose log is local, it is the WGS84 place of the log's zero.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml
from pydantic import Field

from pipeline.core.files import write_atomically
from pipeline.core.schema import Model, Origin, Vec3
from pipeline.samples.common.encode import VideoWriter, json_bytes
from pipeline.samples.flight.city import PLACES, Block, CityPlace, Form, blocks, to_enu, to_wgs84
from pipeline.samples.flight.logs import recording, subtitles, with_estimator, with_receiver
from pipeline.samples.flight.pilot import PLANS, FlightPlan, LogKind, PilotPose, ends_s, fly
from pipeline.samples.flight.render import FlightRenderer, lens_of
from pipeline.worlds.flight.facts import Action, FlightCamera

POSE_HZ: Final = 5
SHOWN_HZ: Final = 2
DECIMALS: Final = 4

Corners = tuple[tuple[float, float], ...]
Shown = list[list[tuple[float, int]]]  # of each place, (time, pixels)


class PlantedMove(Model):
    """One planted movement; what was measured between its start and its end on the true flight."""

    start_s: float
    end_s: float
    actions: tuple[Action, ...] = Field(description="the main one first")
    distance_m: float = Field(description="over ground, along the path")
    climb_m: float
    turn_deg: float = Field(description="of the nose, clockwise positive")
    gimbal_deg: float = Field(description="upwards positive")


class PlantedStep(Model):
    """A step of the route that the pilot was given, and when it was flown."""

    text: str
    start_s: float
    end_s: float


class PlantedPoses(Model):
    """The true flight at `POSE_HZ`; lists of one length."""

    t_s: tuple[float, ...]
    enu_m: tuple[Vec3, ...]
    heading_deg: tuple[float, ...] = Field(description="of the nose and the camera, clockwise from north, [0, 360)")
    pitch_deg: tuple[float, ...] = Field(description="of the camera: 0 level, -90 down")


class Solid(Model):
    """An upright box: footprint, counter-clockwise, and heights."""

    corners: Corners
    base_m: float
    top_m: float

    @property
    def center(self) -> tuple[float, float]:
        """Middle of the footprint."""
        x, y = zip(*self.corners, strict=True)
        return sum(x) / len(x), sum(y) / len(y)


class PlantedLandmark(Model):
    """A named place, and when the camera shows it."""

    name: str
    said: str | None = Field(default=None, description="what is seen of it alone; None: something else looks the same")
    kind: str
    is_point: bool = Field(description="whether the list of landmarks has its middle alone")
    solid: Solid
    color: tuple[int, int, int] = Field(description="of its roof, from nearby")
    shown: tuple[tuple[float, int], ...] = Field(
        description="(time of the log, pixels) of every examined frame that shows any of it, by the ids of the renderer"
    )


class FlightTruth(Model):
    """One sample flight."""

    id: str
    log: str = Field(description="name of the log file")
    log_format: str
    origin: Origin
    camera: FlightCamera
    has_heading: bool = Field(description="whether the log records where the nose points")
    has_buildings: bool = Field(description="whether the flight's folder has the buildings")
    goal: str
    route: tuple[PlantedStep, ...]
    duration_s: float = Field(description="of the log")
    video_offset_s: float
    frames: int
    fps: int
    noise_m: float
    dropped: float
    gap_s: tuple[float, float] | None
    no_fix_s: float = Field(description="time from the beginning without a fix of the receiver")
    moves: tuple[PlantedMove, ...]
    poses: PlantedPoses
    landmarks: tuple[PlantedLandmark, ...]
    buildings: tuple[Solid, ...] = Field(description="all of the city, those with a name included, but for the park")
    examined_s: tuple[float, ...] = Field(description="times of the log of the frames in which pixels were counted")


def planted_moves(plan: FlightPlan, pose: PilotPose) -> tuple[PlantedMove, ...]:
    """The moves of a plan as they were flown."""
    ends = ends_s(plan.moves)
    starts = np.concatenate([[0.0], ends[:-1]])
    path = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(pose.xyz_m[:, :2], axis=0).T))])
    known = np.column_stack([path, pose.xyz_m[:, 2], pose.heading_deg, pose.pitch_deg])
    change = np.stack([np.interp(ends, pose.t_s, c) - np.interp(starts, pose.t_s, c) for c in known.T], axis=1)
    return tuple(
        PlantedMove(start_s=start, end_s=end, actions=move.actions, distance_m=a, climb_m=b, turn_deg=c, gimbal_deg=d)
        for move, start, end, (a, b, c, d) in zip(
            plan.moves, starts.tolist(), ends.tolist(), (change.round(DECIMALS) + 0.0).tolist(), strict=True
        )
    )


def planted_route(plan: FlightPlan) -> tuple[PlantedStep, ...]:
    """The steps of the route; each lasts until the next begins."""
    ends = ends_s(plan.moves).tolist()
    begun = [(move.step, end - move.seconds) for move, end in zip(plan.moves, ends, strict=True) if move.step]
    until = [start for _, start in begun[1:]] + ends[-1:]
    return tuple(
        PlantedStep(text=text, start_s=round(start, 3), end_s=round(end, 3))
        for (text, start), end in zip(begun, until, strict=True)
    )


def poses_of(pose: PilotPose, origin: Origin) -> PlantedPoses:
    """The flight at `POSE_HZ`."""
    at = pose.at(np.arange(int(pose.t_s[-1] * POSE_HZ + 1e-6) + 1) / POSE_HZ)
    return PlantedPoses.model_validate(
        {
            "t_s": at.t_s.round(3).tolist(),
            "enu_m": (to_enu(at.xyz_m, origin).round(DECIMALS) + 0.0).tolist(),
            "heading_deg": (at.heading_deg.round(DECIMALS) % 360.0).tolist(),
            "pitch_deg": (at.pitch_deg.round(DECIMALS) + 0.0).tolist(),
        }
    )


def solid_of(block: Block, origin: Origin) -> Solid:
    """A block in the flight's frame."""
    corners = block.corners()
    foot, roof = (to_enu(np.column_stack([corners, np.full(4, z)]), origin) for z in (block.low[2], block.high[2]))
    base_m, top_m = (round(float(points[:, 2].mean()), DECIMALS) for points in (foot, roof))
    return Solid(corners=tuple((x, y) for x, y in foot[:, :2].round(DECIMALS).tolist()), base_m=base_m, top_m=top_m)


def planted_landmarks(blocks: tuple[Block, ...], origin: Origin, shown: Shown) -> tuple[PlantedLandmark, ...]:
    """The city's places with what was counted of each."""
    return tuple(
        PlantedLandmark(
            name=place.name,
            said=place.plain_name,
            kind=place.kind,
            is_point=place.is_point,
            solid=solid_of(block, origin),
            color=place.color,
            shown=tuple(seen),
        )
        for place, block, seen in zip(PLACES, blocks, shown, strict=False)
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
    pose = np.column_stack([frames.xyz_m, frames.heading_deg, frames.pitch_deg])
    stands = np.append(False, (pose[1:] == pose[:-1]).all(1))  # a sixth of all frames: the last picture serves again
    for i, time in enumerate(frames.t_s.round(3).tolist()):
        if not stands[i]:
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
