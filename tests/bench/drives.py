"""Drives at real size: `python -m tests.bench.drives`.

A real Argoverse log of 12,078 boxes; recordings of CARLA of 5 and 10 minutes at 20 frames a second with 100 actors,
from the file to every candidate.
Seconds are those of one core; memory is the process's peak.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

import numpy as np

from pipeline.benchmarks.embodied4c.benchmark import EMBODIED4C
from pipeline.formats import carla_log
from pipeline.formats.carla_log import TABLES, Added, Records
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader
from pipeline.samples.drive.carla import recording_bytes
from pipeline.worlds.drive.facts import DriveScene
from pipeline.worlds.drive.quality_checks import examine
from pipeline.worlds.drive.readers.argoverse2 import Argoverse2
from pipeline.worlds.drive.readers.carla import Carla
from pipeline.worlds.registry import read_scene
from tests.conftest import REAL_DATA

ACTORS = 100
RATE_HZ = 20
MINUTES = (5, 10)
KINDS = ("vehicle.tesla.model3", "vehicle.carlamotors.carlacola", "vehicle.volkswagen.t2", "vehicle.bh.crossbike")
AV2_MAX_S = 2.0  # from the file to all candidates
LONG_MAX_S = 10.0  # the same of 10 minutes, and in proportion
MEMORY_MAX_MIB = 1024

T = TypeVar("T")


def recording(minutes: float, actors: int = ACTORS) -> bytes:
    """A recording in which everybody drives in circles around one middle, 4 m apart, one of them our car."""
    times_s = np.arange(round(minutes * 60 * RATE_HZ)) / RATE_HZ
    ids = np.arange(1, actors + 1)
    radius, speed = 20.0 + 4 * ids, 5.0 + ids % 10
    angle = times_s[:, None] * speed / radius
    tables: dict[int, Records] = {}
    for kind in (carla_log.POSITION, carla_log.KINEMATICS, carla_log.VEHICLE, carla_log.LAMPS, carla_log.BOX):
        tables[kind] = np.zeros((len(times_s), actors), dtype=TABLES[kind])
        tables[kind]["id"] = ids
    place = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], axis=-1)
    tables[carla_log.POSITION]["place"] = 100 * place
    tables[carla_log.POSITION]["rotation"][..., 2] = np.degrees(angle) + 90
    tables[carla_log.KINEMATICS]["velocity"][..., 0] = -speed * np.sin(angle)
    tables[carla_log.KINEMATICS]["velocity"][..., 1] = speed * np.cos(angle)
    tables[carla_log.VEHICLE]["throttle"] = np.abs(np.sin(angle))
    tables[carla_log.LAMPS]["lit"] = np.where(np.sin(angle) > 0.9, 8, 0)
    tables[carla_log.BOX]["extent"] = (220.0, 90.0, 75.0)
    roles = ["hero", *["autopilot"] * (actors - 1)]
    nowhere = (0.0, 0.0, 0.0)
    added = [
        Added(0, number, 1, nowhere, nowhere, KINDS[number % len(KINDS)], {"role_name": role})
        for number, role in zip(ids.tolist(), roles, strict=True)
    ]
    return recording_bytes("Town", times_s, added, {kind: list(table) for kind, table in tables.items()})


def peak_mib() -> float:
    """The most memory that this process took; what its parent took before it does not count (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def timed(what: str, work: Callable[[], T], most_s: float | None = None) -> T:
    """Runs something and tells the processor seconds and the peak of memory."""
    start = time.process_time()
    found = work()
    seconds = time.process_time() - start
    memory = peak_mib()
    told = "" if most_s is None else f" (target {most_s:g} s{'' if seconds <= most_s else ', MISSED'})"
    print(f"  {what}: {seconds:.2f} s{told}, at most {memory:.0f} MiB so far")
    return found


def measure(reader: Reader, root: Path, most_s: float) -> float:
    """Each step of one log; gives the peak of memory, MiB."""
    (ref,) = reader.scenes(root).scenes
    start = time.process_time()
    scene: DriveScene = timed("read", lambda: reader.read(SceneFiles(root, ref)))
    doubts = timed("what cannot be", lambda: examine(scene))
    doubted = scene.model_copy(update={"findings": (*scene.findings, *doubts)})
    count = timed("every candidate", lambda: candidates(doubted))
    seconds = time.process_time() - start
    missed = "" if seconds <= most_s else ", MISSED"
    print(f"  from the file to {count} candidates: {seconds:.2f} s (target {most_s:g} s{missed})")
    peak = peak_mib()
    raw = timed("written as JSON", lambda: scene.model_dump_json().encode())
    again = timed("read from JSON", lambda: read_scene(raw))
    assert again == scene
    print(f"  {len(raw) / 2**20:.1f} MiB of JSON", flush=True)
    return peak


def candidates(scene: DriveScene) -> int:
    """How many all tasks of Embodied4C have of a drive."""
    view = EMBODIED4C.view(scene, EMBODIED4C.profiles["strict"])
    return sum(len(task.candidates(view)) for task in EMBODIED4C.tasks)


def main() -> int:
    """Prints what it measured, each log in a process of its own; 1 if one of them took over the limit of memory."""
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        logs: list[tuple[str, Reader, Path, float]] = []
        if (REAL_DATA / "driving").is_dir():
            logs.append(("Argoverse 2, 12,078 boxes", Argoverse2(), REAL_DATA / "driving" / "av2", AV2_MAX_S))
        for minutes in MINUTES:
            root = Path(folder, str(minutes))
            root.mkdir()
            size = (root / "long.log").write_bytes(recording(minutes)) / 2**20
            most_s = LONG_MAX_S * minutes / 10
            logs.append((f"CARLA, {minutes} minutes, {ACTORS} actors, {size:.0f} MiB", Carla(), root, most_s))
        for name, reader, root, most_s in logs:
            print(f"{name}:")
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                worst = max(worst, process.submit(measure, reader, root, most_s).result())
    return int(worst > MEMORY_MAX_MIB)


if __name__ == "__main__":
    sys.exit(main())
