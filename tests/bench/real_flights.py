"""What real logs of flights give."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.compute as pc
import yaml
from rich.table import Table

from pipeline.benchmarks.embodied4c.rules import GEN
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import RawDataError
from pipeline.core.schema import Origin
from pipeline.core.tables import selected_questions
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.questions.selection import select
from pipeline.reading.files import SceneFiles
from pipeline.samples.common.encode import VideoWriter
from pipeline.worlds.flight.facts import FlightScene
from pipeline.worlds.flight.observe.flight import observe_flight
from pipeline.worlds.flight.observe.motion import MotionConfig
from pipeline.worlds.flight.readers.episodes import steps_of
from pipeline.worlds.flight.readers.flights import Flights
from pipeline.worlds.flight.tracks.read import read_tracks
from tests.bench.measuring import temporary
from tests.environment import REAL_DATA
from tests.tables import candidates

MOVEMENT: Final = ("Trajectory Captioning", "Sequence Recall", "Duration", "Action Generation")
_PLACE: Final = re.compile(r'lat="([-\d.]+)" lon="([-\d.]+)"')
FPS: Final = 2


MAPS: Final = ("monaco", "berlin-siegessaeule")
CAPS: Final = {"urbanvideo": 6, "embodied4c": 24}  # of their build files


def real_questions(root: str = "") -> Iterator[Table]:
    """Questions by task, as selected, of all logs in data/flights: films of the logs and films drawn of them.

    Each log has a plain film, without a map and with each of two beside it, moved to where it was flown; "drawn" has
    no film, but one drawn from above, with the second map. Each of OpenFly's episodes is a flight with its instruction
    as its route. Of a cell: questions, and candidates that could be asked; then why the others are refused.
    """
    scenes: dict[str, list[FlightScene]] = {}
    with temporary() as made:
        for city in ("", *MAPS):
            for log in real_logs(Path(made) / (city or "none")):
                place = Path(root or made) / (city or "none")
                try:
                    scenes.setdefault(city or "none", []).append(observed(place, write(place, log, city)))
                except RawDataError:
                    continue
        scenes["drawn"] = [scene.model_copy(update={"video": None}) for scene in scenes[MAPS[1]]]
    for name, cap in CAPS.items():
        benchmark = BENCHMARKS[name]
        rules, tasks = benchmark.profiles["strict"], benchmark.by_name()
        found: dict[str, tuple[Counter[str], Counter[str]]] = {}
        refused: dict[tuple[str, str], Counter[str]] = {}
        for setting, some in scenes.items():
            asked, able = found[setting] = Counter(), Counter()
            for scene in some:
                rows = candidates(benchmark.view(scene, rules), list(tasks.values()))
                able.update(rows.filter(pc.is_null(rows["reason"]))["task"].to_pylist())
                for task, reason in zip(rows["task"].to_pylist(), rows["reason"].to_pylist(), strict=True):
                    refused.setdefault((setting, task), Counter()).update([reason] if reason else [])
                asked.update(selected_questions(select(rows, tasks, cap, benchmark.shares))["task"].to_pylist())
        shown = Table(name, *found)
        for task in [task for task in tasks if task != GEN and any(able[task] for _, able in found.values())]:
            shown.add_row(task, *(f"{asked[task]} / {able[task]}" for asked, able in found.values()))
        shown.add_row("all", *(str(asked.total() - asked[GEN]) for asked, _ in found.values()))
        yield shown
        why = Table(name, "setting", "refused, most often")
        for (setting, task), reasons in refused.items():
            if reasons and setting != "none":
                why.add_row(task, setting, ", ".join(f"{n} {reason}" for reason, n in reasons.most_common(8)))
        yield why


def real_logs(made: Path) -> Iterator[Path]:
    """Every log in data/flights; each of OpenFly's episodes as a file of its own, in a folder for such."""
    made.mkdir(parents=True, exist_ok=True)
    for log in sorted((REAL_DATA / "flights").glob("*/*")):
        if log.suffix != ".json":
            yield log
            continue
        for number, episode in enumerate(json.loads(log.read_text())):
            path = made / f"openfly_{number:02d}.json"
            path.write_text(json.dumps([episode]))
            yield path


def moved_map(lat_deg: float, lon_deg: float, city: str) -> bytes:
    """A map with its middle at a place, packed."""
    text = gzip.decompress((REAL_DATA / "city" / f"{city}.osm.gz").read_bytes()).decode()
    places = np.array([match.groups() for match in _PLACE.finditer(text)], dtype=np.float64)
    middle = np.median(places, axis=0)
    stretch = np.cos(np.radians(middle[0])) / np.cos(np.radians(lat_deg))
    moved = (places - middle) * (1.0, stretch) + (lat_deg, lon_deg)
    there = iter(moved.tolist())

    def shifted(_: re.Match[str]) -> str:
        lat, lon = next(there)
        return f'lat="{lat:.7f}" lon="{lon:.7f}"'

    return gzip.compress(_PLACE.sub(shifted, text).encode(), mtime=0)


def write(root: Path, log: Path, city: str) -> str:
    """One log as a flight folder, with settings and a map where one is named; its name."""
    name = log.stem.lower()
    folder = root / name
    folder.mkdir(parents=True)
    (folder / f"log{log.suffix}").write_bytes(log.read_bytes())
    ((logged, assembled), *_) = read_tracks(log)
    track = assembled.track
    writer = VideoWriter("mp4", FPS, 64, 48)
    for k in range(max(2, int((track.t_s[-1] - track.t_s[0]) * FPS) + 1)):
        writer.add(np.full((48, 64, 3), k % 200, dtype=np.uint8))
    (folder / "video.mp4").write_bytes(writer.finish())
    settings: dict[str, object] = {}
    if log.suffix == ".json":
        (episode,) = json.loads(log.read_text())
        settings["route"] = list(steps_of(episode["gpt_instruction"]))
    if track.t_s[0] > 0:  # filmed from the first position on
        settings["video_offset_s"] = float(track.t_s[0])
    if not city:
        if settings:
            (folder / "flight.yaml").write_text(yaml.safe_dump(settings))
        return name
    settings |= {"camera": {"horizontal_fov_deg": 80, "width": 64, "height": 48, "pitch_deg": -20}}
    known = np.flatnonzero(np.isfinite(track.lat_lon_deg[:, 0]))
    origin = Origin(lat_deg=47.0, lon_deg=8.0, alt_m=0.0)
    local = track.enu_m if logged.enu_m is None else logged.enu_m  # about the zero of the log
    middle = to_lat_lon_alt(np.nanmean(local, axis=0)[None], origin)[0, :2]
    lat, lon = (track.lat_lon_deg[known[0]] if len(known) else middle).tolist()
    if not len(known):
        settings["local_origin"] = origin.model_dump()
    (folder / "city.osm.gz").write_bytes(moved_map(lat, lon, city))
    (folder / "flight.yaml").write_text(yaml.safe_dump(settings | {"landmarks": "city.osm.gz"}))
    return name


def observed(root: Path, name: str) -> FlightScene:
    """The flight of a folder, with its motion."""
    reader = Flights()
    (ref,) = (ref for ref in reader.scenes(root).scenes if ref.id == f"flights/{name}")
    files = SceneFiles(root, ref)
    scene = reader.read(files)
    return observe_flight(scene, reader.geometry(files, scene), MotionConfig())
