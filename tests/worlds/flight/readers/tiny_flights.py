"""A small flight in the user's layout, 20 s to the east over Delft as DJI's subtitles log it, written and read."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import yaml

from pipeline.core.errors import RawDataError
from pipeline.core.schema import Finding
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.worlds.flight.facts import Flight, FlightScene
from pipeline.worlds.flight.readers.flights import Flights
from tests.formats.logs.made_films import grey_film

LAT, LON, ALT = 52.0, 4.36, 25.0  # of the first fix
SECONDS: Final = 20
FPS: Final = 5
WIDTH, HEIGHT = 64, 48
FIRST_HEIGHT_M: Final = 10.0  # the log begins in the air: take-off lies 10 m below the origin
# Metres per degree on the WGS84 ellipsoid at 52° north, from its radii of curvature.
_E2: Final = 0.00669437999014
_W2: Final = 1.0 - _E2 * np.sin(np.radians(LAT)) ** 2
NORTH_M: Final = float(np.radians(1.0) * 6378137.0 * (1.0 - _E2) / _W2**1.5)
EAST_M: Final = float(np.radians(1.0) * 6378137.0 / np.sqrt(_W2) * np.cos(np.radians(LAT)))


def place(east_m: float, north_m: float) -> list[float]:
    """GeoJSON position of metres from the first fix."""
    return [LON + east_m / EAST_M, LAT + north_m / NORTH_M]


def srt(seconds: int = SECONDS, speed_mps: float = 2.0) -> str:
    """Two cues a second, flying east and climbing at 0.5 m/s."""
    cues = []
    for k in range(seconds * 2 + 1):
        t = k / 2
        lon, lat = place(speed_mps * t, 0.0)
        position = f"[latitude: {lat:.8f}] [longitude: {lon:.8f}]"
        heights = f"[rel_alt: {FIRST_HEIGHT_M + t / 2:.3f} abs_alt: {ALT + t / 2:.3f}]"
        start, end = (f"00:00:{s:02d},{ms:03d}" for s, ms in ((k // 2, k % 2 * 500), (k // 2, k % 2 * 500 + 400)))
        cues.append(f"{k + 1}\n{start} --> {end}\n{position} {heights}\n")
    return "\n".join(cues)


def box_feature(center: tuple[float, float], half_m: float = 5.0, **facts: Any) -> dict[str, Any]:
    """A square of some metres about a place."""
    x, y = center
    ring = [place(x + a * half_m, y + b * half_m) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1))]
    return {"type": "Feature", "properties": facts, "geometry": {"type": "Polygon", "coordinates": [ring]}}


def point_feature(position: list[float], **facts: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": facts, "geometry": {"type": "Point", "coordinates": position}}


def write_map(path: Path, *features: Any) -> None:
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")


def write_video(path: Path, seconds: float = SECONDS) -> None:
    path.write_bytes(grey_film((40 + k % 100 for k in range(round(seconds * FPS))), FPS, (WIDTH, HEIGHT)))


def write_flight(
    root: Path, settings: Any = None, name: str = "one", log: str | None = None, video_s: float | None = None
) -> Path:
    """A flight folder; settings are a mapping, or the text of the file."""
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.srt").write_text(srt() if log is None else log, encoding="utf-8")
    if settings is not None:
        text = settings if isinstance(settings, str) else yaml.safe_dump(settings, allow_unicode=True)
        (folder / "flight.yaml").write_text(text, encoding="utf-8")
    if video_s is not None:
        write_video(folder / "video.mp4", video_s)
    return folder


READER: Final = Flights()


def only_ref(root: Path) -> SceneRef:
    listing = READER.scenes(root)
    assert listing.broken == ()
    (ref,) = listing.scenes
    return ref


def read(root: Path) -> tuple[FlightScene, Flight, FlightGeometry]:
    ref = only_ref(root)
    scene = READER.read(SceneFiles(root, ref))
    assert scene.facts is not None
    return scene, scene.facts, READER.geometry(SceneFiles(root, ref), scene)


def fault_of(root: Path) -> RawDataError:
    """The error that the one flight costs, at listing or at reading."""
    listing = READER.scenes(root)
    if listing.broken:
        (error,) = listing.broken
    else:
        with pytest.raises(RawDataError) as caught:
            READER.read(SceneFiles(root, listing.scenes[0]))
        error = caught.value
    assert error.scene
    assert error.message
    assert error.remedy
    return error


def finding(scene: FlightScene, name: str) -> Finding:
    (found,) = [f for f in scene.findings if f.name == name]
    return found


def names(scene: FlightScene) -> set[str]:
    return {f.name for f in scene.findings}
