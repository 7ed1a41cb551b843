"""Speed of stage observe at real size: a mesh of 150,000 vertices, 1,500 frames, 2 a second, 160 x 120 rays."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import trimesh

from pipeline.core.schema import OrientedBox, Source, Video
from pipeline.engine.config import build_config
from pipeline.engine.job import Job, JobResult, run_job
from pipeline.geometry.scans import Frames, SceneGeometry
from pipeline.samples.indoor.write import write_samples
from pipeline.stages.builder import Builder
from pipeline.worlds.indoor.facts import IndoorScene, Scan, SceneObject
from pipeline.worlds.indoor.observe.visibility import ObserveConfig, observe
from tests.builds import UNASKED

Row = tuple[str, float, str, float | None, float | None]
AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def furnished_room(seed: int = 0) -> tuple[IndoorScene, SceneGeometry]:
    """A room of 6 x 5 x 2.6 m with 40 pieces of furniture, filmed by a camera that turns round twice."""
    rng = np.random.default_rng(seed)
    meshes = [trimesh.creation.box(extents=(6, 5, 2.6)).subdivide_to_size(0.05)]
    for _ in range(40):
        extents = rng.uniform(0.3, 0.9, 3)
        piece = trimesh.creation.box(extents=extents).subdivide_to_size(0.05)
        meshes.append(piece.apply_translation([*rng.uniform(-2.3, 2.3, 2), -1.3 + extents[2] / 2]))
    offsets = np.cumsum([0, *(len(m.vertices) for m in meshes)])
    vertices = np.concatenate([m.vertices for m in meshes])
    faces = np.concatenate([m.faces + o for m, o in zip(meshes, offsets, strict=False)]).astype(np.int32)
    owner = np.repeat(np.arange(-1, 40), [len(m.vertices) for m in meshes]).astype(np.int32)
    n = 1500
    a = np.linspace(0, 4 * np.pi, n)
    forward = np.stack([np.cos(a), np.sin(a), np.full(n, -0.2)], axis=1)
    forward /= np.linalg.norm(forward, axis=1)[:, None]
    right = np.stack([np.sin(a), -np.cos(a), np.zeros(n)], axis=1)
    poses = np.tile(np.eye(4), (n, 1, 1))
    poses[:, :3, :3] = np.stack([right, np.cross(forward, right), forward], axis=2)
    poses[:, :3, 3] = np.stack([0.5 * np.cos(a), 0.5 * np.sin(a), np.full(n, 0.2)], axis=1)
    depth = np.full((480, 640), np.nan)
    frames = Frames(
        np.arange(n) / 30,
        np.arange(n),
        poses,
        np.tile([577.0, 577, 319.5, 239.5], (n, 1)),
        (640, 480),
        {},
        lambda _: depth,
    )
    box = OrientedBox(center=(0, 0, 0), lengths=(1, 1, 1), axes=AXES)
    scene = IndoorScene(
        id="bench/room",
        dataset="bench",
        name="room",
        source=Source(reader="bench", reader_version=1, files=(), sha256=""),
        facts=Scan(objects=tuple(SceneObject(category=f"thing {i}", instance=0, box=box) for i in range(40))),
        video=Video(path="", frames=n),
    )
    return scene, SceneGeometry(vertices, faces, owner, frames)


def rows() -> list[Row]:
    """Name, value, unit, target and ratio to a baseline."""
    scene, geometry = furnished_room()
    start = time.perf_counter()
    seen = observe(scene, geometry, ObserveConfig())
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    observe(scene, geometry, ObserveConfig(budgets=()))
    without = time.perf_counter() - start
    assert seen.facts.observation is not None
    return [
        (f"observe, {len(geometry.vertices):,} vertices, 1,500 frames, with budgets", seconds, "s", 6.0, None),
        (f"observe, {seen.facts.observation.frames_examined} frames at 2 a second alone", without, "s", 6.0, None),
    ]


def worker_rows() -> list[Row]:
    """Eight copies of each sample scan built with one and with two processes, and what a process takes at most."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder / "samples")
        for scan in sorted((folder / "samples" / "arkitscenes" / "3dod" / "Validation").iterdir()):
            for copy in range(8):
                _copy(scan, scan.with_name(f"{copy}{scan.name}"))
        config = build_config(
            {
                "benchmark": "vsi",
                "roots": {"arkitscenes": folder / "samples" / "arkitscenes"},
                "video": False,
            }
            | UNASKED
        )
        seconds = {}
        for workers in (1, 2):
            with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
                list(pool.map(abs, range(64)))  # started before the clock is
                start = time.perf_counter()
                Builder(config, folder / str(workers), lambda _, batches, p=pool: _spread(p, batches)).build()
                seconds[workers] = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return [
        ("27 scans, one worker", seconds[1], "s", None, None),
        ("27 scans, two workers", seconds[2], "s", None, seconds[1] / seconds[2]),
        ("largest process", peak, "MiB", 2048.0, None),
    ]


def _spread(pool: ProcessPoolExecutor, batches: list[list[Job]]) -> Iterator[JobResult]:
    return pool.map(run_job, [job for batch in batches for job in batch])


def _copy(scan: Path, there: Path) -> None:
    """A copy of an ARKitScenes scan under another name, with links for files."""
    for path in sorted(scan.rglob("*")):
        if path.is_file():
            target = there / str(path.relative_to(scan)).replace(scan.name, there.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(path)


if __name__ == "__main__":
    for row in (*rows(), *worker_rows()):
        print(*row)
