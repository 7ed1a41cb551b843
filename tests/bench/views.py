"""Views of panoramas: where their pixels look, how long one takes, and what a release of many panoramas takes.

python -m tests.bench.views                  # angles, milliseconds a view, beside py360convert
python -m tests.bench.views --build 100 300  # releases of so many synthetic panoramas of 2048 x 1024

Processor seconds are told beside those of the clock: other work on the machine slows the clock alone.
"""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import py360convert
import yaml
from PIL import Image

from pipeline.formats.equirect import decoded
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import View
from pipeline.samples.panorama.towns import spots
from pipeline.samples.panorama.write import place, write_panoramas
from tests.geometry.test_equirect import POSES
from tests.oracles.sphere_dots import found_in, painted

SIZE = (8192, 4096)
WORST_DEG, MOST_MS = 0.003, 15.0
AROUND = tuple(View(yaw_deg=yaw) for yaw in range(-180, 180, 30))
KINDS = 6  # sample panoramas of which synthetic ones are made by turning
OBJECTS = 12  # of each
APART_M = 45.0


def milliseconds(work: Callable[[View], Any], views: tuple[View, ...]) -> tuple[float, float]:
    """By the clock and of the processor, the best of three rounds over some views, for one."""
    best = []
    for _ in range(3):
        clock, processor = time.perf_counter(), time.process_time()
        for view in views:
            work(view)
        best.append((time.perf_counter() - clock, time.process_time() - processor))
    return tuple(1e3 * min(part) / len(views) for part in zip(*best, strict=True))  # type: ignore[return-value]


def other(color: np.ndarray, view: View) -> Any:
    """The view of py360convert."""
    fov = (view.fov_deg, view.fov_up_deg)
    return py360convert.e2p(color, fov, view.yaw_deg, view.pitch_deg, (view.height, view.width))


def rendering() -> None:
    """Angles, and time for one view."""
    color = painted(*SIZE)
    sphere = Sphere(Image.fromarray(color))
    worst = max(found_in(view, sphere.render(view)).worst_deg for view in POSES)
    print(
        f"dots of a grid in {len(POSES)} views of {SIZE[0]} x {SIZE[1]}: {worst:.4f} degrees off (meant: {WORST_DEG})"
    )
    worst = max(found_in(view, other(color, view)).worst_deg for view in POSES)
    print(f"  py360convert, told both fields of view: {worst:.4f}")
    (clock, processor), tilted = milliseconds(sphere.render, AROUND), milliseconds(sphere.render, POSES)
    theirs = milliseconds(lambda view: other(color, view), AROUND[:3])
    print(
        f"640 x 480 at the horizon: {clock:.1f} ms by the clock, {processor:.1f} of one processor (meant: {MOST_MS:g})"
    )
    print(f"  of {len(POSES)} tilts, known by then: {tilted[0]:.1f} ms by the clock, {tilted[1]:.1f}")
    print(
        f"  py360convert: {theirs[0]:.1f} ms by the clock, {theirs[1]:.1f}: {theirs[1] / processor:.0f} times as much"
    )
    raw = io.BytesIO()
    Image.fromarray(color).save(raw, "JPEG", quality=90)
    start = time.perf_counter(), time.process_time()
    image = decoded(raw.getvalue(), SIZE[0] * SIZE[1])
    assert image is not None
    read = time.process_time() - start[1]
    sphere = Sphere(image)
    for view in AROUND:
        sphere.render(view)
    clock, processor = time.perf_counter() - start[0], time.process_time() - start[1]
    print(
        f"{len(AROUND)} views from the file: {clock:.2f} s by the clock, {processor:.2f}, of which decoding {read:.2f}"
    )


def synthetic(root: Path, count: int) -> None:
    """So many panoramas: samples turned by some columns, far enough apart, each with a few of its objects."""
    chosen = [spot for spot in spots() if spot.name][:: len(spots()) // KINDS][:KINDS]
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder)
        write_panoramas(made, chosen)
        for number in range(count):
            spot = chosen[number % len(chosen)]
            own, new = made / spot.id, root / f"p{number:05d}"
            new.mkdir(parents=True)
            turn = 8 * (number // len(chosen))  # columns
            image = Image.fromarray(np.roll(np.asarray(Image.open(own / "pano.jpg")), turn, axis=1))
            image.save(new / "pano.jpg", quality=90)
            degrees = 360 * turn / image.width
            found = json.loads((own / "objects.json").read_bytes())
            found["objects"] = sorted(found["objects"], key=lambda o: -(o["pitch_deg"][1] - o["pitch_deg"][0]))[
                :OBJECTS
            ]
            for one in found["objects"]:
                one["yaw_deg"] = [(edge + degrees + 180) % 360 - 180 for edge in one["yaw_deg"]]
            (new / "objects.json").write_text(json.dumps(found))
            said = yaml.safe_load((own / "pano.yaml").read_text())
            east, north = divmod(number // len(chosen), 32)
            lat, lon = place(spot.town, APART_M * east, APART_M * north)
            said |= {"position": {"lat_deg": lat, "lon_deg": lon, "alt_m": None}, "heading_deg": (400 - degrees) % 360}
            del said["depth"]
            (new / "pano.yaml").write_text(yaml.safe_dump(said))
        os.rename(made / "maps", root / "maps")  # noqa: PTH104


def release(count: int) -> None:
    """A release of synthetic panoramas, and one again after a sidecar was changed."""
    with tempfile.TemporaryDirectory() as folder:
        root, out = Path(folder) / "raw", Path(folder) / "out"
        synthetic(root, count)
        command = [
            sys.executable,
            "-c",
            "from flows.cli.app import main; main()",
            "build",
            "ergeobench",
            "--no-prefect",
        ]
        command += ["--root", f"panoramas={root}", "--out", str(out), "--set", "prune=null"]
        command += ["--set", "observe.panorama.duplicate_bits=-1"]  # turned copies are what they are
        for what in ("all", "one sidecar changed"):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            after, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            pictures = sum(1 for _ in (out / "release" / "views").rglob("*.jpg"))
            print(
                f"{count} panoramas, {what}: {clock:.0f} s by the clock, {processor:.0f} of processors, "
                f"{after.ru_maxrss / 1024:.0f} MiB in the largest process, {pictures} pictures"
            )
            path = root / "p00000" / "pano.yaml"
            path.write_text(path.read_text().replace("author: scan2qa samples", "author: somebody"))


def main() -> None:
    """Runs it."""
    if sys.argv[1:2] == ["--build"]:
        for count in map(int, sys.argv[2:]):
            release(count)
    else:
        rendering()


if __name__ == "__main__":
    main()
