"""Room size against the package `alphashape`: `python -m tests.bench.areas`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TypeVar

import numpy as np
from alphashape import alphashape
from rich.console import Console
from rich.table import Table

from pipeline.geometry.areas import ROOM_ALPHA_PER_M, alpha_shape, room_area

REAL_DATA = Path(os.environ.get("SCAN2QA_REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
POINTS = 60_000  # issue 3: at least 20 times faster here
MESH_VERTICES = 150_000  # issue 3: the size of a real mesh
MIN_SPEED_UP = 20.0
MAX_DIFFERENCE = 1e-6
SPARSE_ALPHA = 25.0  # circles as wide as the points lie apart: every point may matter, and the Delaunay step is all

T = TypeVar("T")
Row = tuple[str, float, str, str | None, float | None]


def rows() -> list[Row]:
    """Name, value, unit, target and how many times better than the target (1 or more: met; None: no target)."""
    found: list[Row] = []
    cloud = _l_shaped_room(POINTS)
    for label, points, alpha, target in (
        (f"{POINTS:,} points", cloud, ROOM_ALPHA_PER_M, MIN_SPEED_UP),
        (f"{POINTS:,} points, alpha {SPARSE_ALPHA:g}", cloud, SPARSE_ALPHA, None),
        ("scene0000_00", _real_scan(), ROOM_ALPHA_PER_M, None),
    ):
        if points is not None:
            found += _against_the_package(f"room size, {label}", points, alpha, target)
    mesh = np.column_stack([_l_shaped_room(MESH_VERTICES), np.zeros(MESH_VERTICES)])
    found.append((f"room size, {MESH_VERTICES:,} vertices", _timed(lambda: room_area(mesh), 3)[1], "s", None, None))
    return found


def _against_the_package(name: str, points: np.ndarray, alpha: float, min_speed_up: float | None) -> list[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # numpy's matrix class, logging.warn
        theirs, theirs_s = _timed(lambda: alphashape(points, alpha), 1)
    ours, ours_s = _timed(lambda: alpha_shape(points, alpha), 5)
    ours_m2 = ours.area_m2 or 0.0
    difference = abs(ours_m2 / theirs.area - 1)
    times = theirs_s / ours_s
    return [
        (f"{name}: area", ours_m2, "m²", None, None),
        (
            f"{name}: difference from alphashape",
            difference,
            "",
            f"<= {MAX_DIFFERENCE:g}",
            MAX_DIFFERENCE / max(difference, np.finfo(float).eps),
        ),
        (f"{name}: alphashape", theirs_s, "s", None, None),
        (f"{name}: ours", ours_s, "s", None, None),
        (
            f"{name}: times faster",
            times,
            "x",
            None if min_speed_up is None else f">= {min_speed_up:g}",
            None if min_speed_up is None else times / min_speed_up,
        ),
    ]


def _l_shaped_room(count: int) -> np.ndarray:
    """Points (count, 2) all over a floor of 48 m² with a gap of 1 m² in it."""
    rng = np.random.default_rng(count)
    points = rng.uniform(0, 8, (2 * count, 2))
    x, y = points.T
    floor = ~((x > 4) & (y > 4)) & ~((np.abs(x - 2) < 0.5) & (np.abs(y - 2) < 0.5))
    return points[floor][:count]


def _real_scan() -> np.ndarray | None:
    file = REAL_DATA / "scannet" / "scene0000_00.bin"
    return np.fromfile(file, "<f4").reshape(-1, 6)[:, :2].astype(float) if file.is_file() else None


def _timed(run: Callable[[], T], times: int) -> tuple[T, float]:
    """The result and the seconds of the shortest of several runs."""
    best = float("inf")
    for _ in range(times):
        start = perf_counter()
        result = run()
        best = min(best, perf_counter() - start)
    return result, best


def _main() -> None:
    table = Table("what", "value", "unit", "target", "times better than the target", title="Room size")
    for name, value, unit, target, ratio in rows():
        table.add_row(name, f"{value:.4g}", unit, target or "", "" if ratio is None else f"{ratio:.3g}")
    Console(width=140).print(table)


if __name__ == "__main__":
    _main()
