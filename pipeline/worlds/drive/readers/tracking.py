"""Rows of a log, one for each thing and time, made into one table per thing; pictures made into a video."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import BoolArray, FloatArray, IntArray, StrArray
from pipeline.core.findings import Findings, doubt
from pipeline.core.quantized_series import pack
from pipeline.core.schema import Video
from pipeline.formats.images import color_file, size_of
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage, held_footage
from pipeline.worlds.drive.facts import (
    PLACE_STEP_M,
    SPEED_STEP_MPS,
    TIME_STEP_S,
    YAW_STEP_DEG,
    Actor,
    ActorTrack,
    VehicleBox,
)

LASTS_MAX_S: Final = 20_000.0  # five and a half hours
CELLS_MAX: Final = 20_000_000  # half a gigabyte of places; an hour of 250 things at 20 Hz has as many
PLACE_MAX_M: Final = 100_000.0  # from the zero of a log's frame; no city is as large
SPEED_MAX_MPS: Final = 1000.0  # of what is recorded; what is odd below it is doubted later
UNIT_TOLERANCE: Final = 1e-3  # of a quaternion's length; those of the released logs are off by 1e-12
UPRIGHT_MIN: Final = 0.9  # cosine of the tilt of a box or of our car, 26 degrees: no road is as steep
LEAN_MAX: Final = 0.05  # share of those that lean, from which on quaternions are read in another order than written
SIZE_VARIES_M: Final = 0.05  # a thing's size is given anew with every box; the released ones never change


@dataclass(frozen=True)
class TrackStretch:
    """One thing from the first to the last time at which it has a row.

    Attributes:
        first: index of its first time.
        tables: (N, k) by name, NaN at times without a row.
    """

    first: int
    tables: Mapping[str, FloatArray]

    def track(self) -> ActorTrack:
        """From the tables ``place_m`` (N, 3), ``yaw_deg`` (N, 1) and, if there, ``velocity_mps`` (N, 3)."""
        recorded = self.tables.get("velocity_mps")
        velocity = None if recorded is None else within(recorded, SPEED_MAX_MPS)
        return ActorTrack(
            first=self.first,
            place_m=pack(self.tables["place_m"], PLACE_STEP_M),
            yaw_deg=pack(self.tables["yaw_deg"], YAW_STEP_DEG),
            velocity_mps=None if velocity is None or np.isnan(velocity).all() else pack(velocity, SPEED_STEP_MPS),
        )


def within(values: FloatArray, most: float) -> FloatArray:
    """The values, NaN for what is not finite or larger than anything can be."""
    values = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(values) & (np.abs(values) <= most), values, np.nan)


def check_span(files: SceneFiles, path: Path, times_s: FloatArray, things: int) -> None:
    """Raises RawDataError for a log that is longer than anybody drives, or whose tables (things, times) are too large.

    Also where two times are one, to the step in which facts state them.

    ``times_s``: (T,); ``things``: how many have a track. Findings: ``implausible_times``, ``two_ego_poses``,
    ``too_large``.
    """
    seconds = float(times_s[-1] - times_s[0])
    if seconds > LASTS_MAX_S:
        message = f"the log lasts {seconds:.0f} s, over {LASTS_MAX_S:.0f}"
        raise files.fault(path, "implausible_times", message, "are its times those of one drive?")
    if (np.diff(pack(times_s - times_s[0], TIME_STEP_S).array, axis=0) <= 0).any():
        message = f"two times lie less than {TIME_STEP_S:g} s apart"
        raise files.fault(path, "two_ego_poses", message, "keep one of them")
    if len(times_s) * things > CELLS_MAX:
        message = f"{things} tracks at {len(times_s)} times are over {CELLS_MAX:,} places"
        raise files.fault(path, "too_large", message, "cut the log into parts")


def refuse_leaning(files: SceneFiles, path: Path, quat_wxyz: FloatArray) -> None:
    """Raises RawDataError where too many turns (N, 4) of length 1 do not keep z upright: nothing on a road leans so."""
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.abs(np.sqrt((quat_wxyz**2).sum(1)) - 1) <= UNIT_TOLERANCE
    leaning = int((unit & ~upright(quat_wxyz)).sum())
    if leaning > LEAN_MAX * max(int(unit.sum()), 1):
        message = f"{leaning} of {int(unit.sum())} turns lean by over 26 degrees (limit {LEAN_MAX:.0%} of them)"
        raise files.fault(path, "turns_lean", message, "give quaternions as w, x, y, z, in a frame with z up")


def upright(quat_wxyz: FloatArray) -> BoolArray:
    """Which turns (N, 4) have length 1 and keep z upright."""
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.abs(np.sqrt((quat_wxyz**2).sum(1)) - 1) <= UNIT_TOLERANCE
        return np.asarray(unit & (1 - 2 * (quat_wxyz[:, 1] ** 2 + quat_wxyz[:, 2] ** 2) >= UPRIGHT_MIN))


def stretches(thing: IntArray, time: IntArray, tables: Mapping[str, FloatArray]) -> dict[int, TrackStretch]:
    """The rows of each thing, in order of time.

    Args:
        thing: (R,) number of the thing that a row is about.
        time: (R,) index of its time; no thing has two rows at one (`repeated` finds those).
        tables: (R, k) by name.
    """
    order = np.lexsort((time, thing))
    starts = np.flatnonzero(np.diff(thing[order], prepend=-1))
    found = {}
    for rows in np.split(order, starts[1:]) if len(order) else []:
        first, stop = int(time[rows[0]]), int(time[rows[-1]]) + 1
        at = time[rows] - first
        whole = {}
        for name, values in tables.items():
            whole[name] = np.full((stop - first, values.shape[1]), np.nan)
            whole[name][at] = values[rows]
        found[int(thing[rows[0]])] = TrackStretch(first, whole)
    return found


def repeated(thing: IntArray, time: IntArray) -> BoolArray:
    """Which rows (R,) are of a thing that has another one at the same time."""
    if not len(thing):
        return np.zeros(0, dtype=bool)
    key = thing.astype(np.int64) * (int(time.max()) + 1) + time
    _, inverse, count = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(count[inverse] > 1)


def report_repeated(names: npt.NDArray[Any], findings: Findings) -> None:
    """A doubt about each thing that is at several places at once; of all its rows at such times the names (R,)."""
    for name, count in zip(*np.unique(names.astype(str), return_counts=True), strict=True):
        message = f"{name} has {count} places at times that it has another one; all of them were left out"
        findings.add(doubt("two_places_at_once", str(name), message, "keep one of them", int(count), 0, "places"))


def steady_words(
    names: npt.NDArray[Any], words: StrArray, known: Mapping[str, str], findings: Findings
) -> dict[str, str]:
    """The last of the source's words for each thing, of rows (R,) with name and word; a doubt where it changes.

    A word that is not among those ``known`` is a doubt too.
    """
    found = dict(zip(names.astype(str).tolist(), words.tolist(), strict=True))
    pairs = np.unique(np.stack([names.astype(str), words.astype(str)]), axis=1)
    for name, count in zip(*np.unique(pairs[0], return_counts=True), strict=True):
        if count > 1:
            message = f"{name} is called {count} things, {found[str(name)]} last"
            findings.add(doubt("category_changes", str(name), message, "keep one", int(count), 1, "categories"))
    for name in sorted(name for name, word in found.items() if word not in known):
        message = f"{name} is called {found[name]!r}, which is not one of the format's categories"
        findings.add(doubt("unknown_category", name, message, "update the reader"))
    return found


def steady_box(size_m: FloatArray, name: str, findings: Findings) -> VehicleBox | None:
    """A box of the median of sizes (N, 3), NaN where there is none; None, with a doubt, where a side is not above 0."""
    known = size_m[~np.isnan(size_m).any(1)]
    if (known <= 0).any():
        message = f"the box of {name} has a side of {known.min():g} m"
        findings.add(doubt("box_without_size", name, message, "measure it again", float(known.min()), 0, "m"))
        return None
    spread = float(np.ptp(known, axis=0).max())
    if spread > SIZE_VARIES_M:
        message = f"the box of {name} grows and shrinks by {spread:.2f} m; its median counts"
        findings.add(doubt("size_varies", name, message, "give one size", spread, SIZE_VARIES_M, "m"))
    length, width, height = np.median(known, axis=0).tolist()
    return VehicleBox(size_m=(length, width, height))


def actors_of(
    names: npt.NDArray[Any],
    time: IntArray,
    tables: Mapping[str, FloatArray],
    words: Mapping[str, str],
    common: Mapping[str, str],
    recorded: Mapping[str, tuple[float, float]],
    findings: Findings,
) -> tuple[Actor, ...]:
    """All that rows (R,) are about, by id.

    Args:
        names: of the thing that a row is about.
        time: as in `stretches`.
        tables: those of `TrackStretch.track`, ``size_m`` (R, 3), and those ``recorded``.
        words: the source's word for each thing (`steady_words`).
        common: the source's words -> common ones.
        recorded: tables (R, 1) that actors have as series -> the most that they may be, and their step.
        findings: what is found is added to them.
    """
    ids, thing = np.unique(names.astype(str), return_inverse=True)
    actors = []
    for number, stretch in stretches(thing, time, tables).items():
        name = str(ids[number])
        known = {column: within(stretch.tables[column], most) for column, (most, _) in recorded.items()}
        series: dict[str, Any] = {k: pack(v, recorded[k][1]) for k, v in known.items() if not np.isnan(v).all()}
        actors.append(
            Actor(
                id=name,
                category=common.get(words[name], "object"),
                source_category=words[name] or "unknown",
                box=steady_box(stretch.tables["size_m"], name, findings),
                track=stretch.track(),
                **series,
            )
        )
    return tuple(actors)


SUFFIXES: Final = (".jpg", ".jpeg", ".png")
_EPS_S: Final = 1e-6


@dataclass(frozen=True)
class Pictures:
    """The pictures of one camera in order of time.

    Attributes:
        folder: of the files.
        files: (P,).
        times_s: (P,) on the log's clock.
    """

    folder: Path
    files: tuple[Path, ...]
    times_s: FloatArray

    def on_screen(self, lasts_s: float, fps: int) -> IntArray:
        """For each tick of a video, from the log's start to its end, the last picture taken by then, or the first."""
        ticks = np.arange(int(lasts_s * fps + _EPS_S) + 1) / fps
        return np.maximum(np.searchsorted(self.times_s, ticks + _EPS_S, side="right") - 1, 0)


def numbered(folder: Path) -> list[tuple[int, Path]]:
    """The pictures of a folder whose names are whole numbers, with these, in their order."""
    if not folder.is_dir():
        return []
    found = [p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES and p.stem.isdecimal() and p.is_file()]
    return sorted((int(path.stem), path) for path in found)


def pictures_of(folder: Path, entries: Sequence[tuple[int, Path]], times_s: FloatArray) -> Pictures | None:
    """Pictures at times (P,); None where there are none."""
    return Pictures(folder, tuple(path for _, path in entries), times_s) if entries else None


def video_of(files: SceneFiles, pictures: Pictures | None, lasts_s: float, fps: int) -> Video | None:
    """Facts of the video; None where there are no pictures, or the first one cannot be read."""
    size = None if pictures is None else size_of(pictures.files[0])
    if pictures is None or size is None:
        return None
    frames = len(pictures.on_screen(lasts_s, fps))
    path = files.relative(pictures.folder)
    return Video(path=path, fps=fps, frames=frames, width=size[0], height=size[1])


def footage_of(files: SceneFiles, pictures: Pictures | None, lasts_s: float, fps: int) -> Footage | None:
    """The video itself; a picture that cannot be read shows the one before it."""
    if pictures is None:
        return None
    shown = pictures.on_screen(lasts_s, fps)
    load = lru_cache(maxsize=1)(color_file)  # one that stays on screen is decoded once
    return held_footage(files, pictures.folder, fps, len(shown), lambda tick: load(pictures.files[shown[tick]]))
