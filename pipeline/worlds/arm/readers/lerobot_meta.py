"""What a LeRobot dataset says of an episode beside its numbers: instructions, cameras, names of columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, note
from pipeline.core.packed import pack
from pipeline.core.schema import Video
from pipeline.formats.parquet_rows import ParquetError, columns_of, read_rows
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import SAFE_NAME
from pipeline.reading.movies import movie_facts
from pipeline.worlds.arm.facts import JOINT_STEP, Camera, Signal
from pipeline.worlds.arm.readers.series import LARGEST

TASKS: Final = "meta/tasks.parquet"
VIDEO: Final = "videos/{}/chunk-{:03d}/file-{:03d}.mp4"
TEXT_MAX: Final = 2000  # characters of an instruction
_NAME_MAX: Final = 100


def rows_of(path: Path, columns: tuple[str, ...], equal: tuple[str, int] | None) -> dict[str, list[Any]]:
    """`read_rows`, with errors that name the file."""
    try:
        return read_rows(path, columns, equal)
    except ParquetError as error:
        raise RawDataError(path, error.finding, error.message, "fetch the dataset again") from error
    except FileNotFoundError as error:
        raise RawDataError(path, "missing_file", "there is no such file", "fetch the dataset again") from error


def parts_of(names: Any, width: int) -> list[str]:
    """Names of a feature's parts: a list, or LeRobot's ``{"motors": […]}``; numbers where there are none."""
    if isinstance(names, dict) and len(names) == 1:
        names = next(iter(names.values()))
    usable = isinstance(names, list) and len(names) == width and len(set(map(str, names))) == width
    return [str(name)[:_NAME_MAX] for name in names] if usable else [str(number) for number in range(width)]


def signals(actions: list[str], columns: dict[str, FloatArray]) -> tuple[Signal, ...]:
    """What the robot was told to do; nothing where it is out of all bounds."""
    table = np.stack([columns[name] for name in actions], axis=-1) if actions else np.zeros((0, 0))
    if not table.size or not (np.abs(np.nan_to_num(table, nan=0.0)) <= LARGEST).all():
        return ()
    parts = tuple(name.removeprefix("action.") for name in actions)
    return (Signal(name="action", parts=parts, values=pack(table, JOINT_STEP)),)


def instructions(files: SceneFiles, row: dict[str, Any], numbers: FloatArray, findings: Findings) -> tuple[str, ...]:
    """Those of the episode: by the numbers of its rows in ``meta/tasks.parquet``, or as its own row names them."""
    own = row.get("tasks")
    texts = [text for text in own if isinstance(text, str) and text.strip()] if isinstance(own, list) else []
    path = files.folder / TASKS
    if path.is_file():
        files.raw(path)
        try:
            names = columns_of(path)
        except ParquetError as error:
            raise files.fault(path, error.finding, error.message, "fetch the dataset again") from error
        words = next((name for name in ("task", "__index_level_0__") if name in names), None)
        if words is not None and "task_index" in names and numbers.size:
            rows = rows_of(path, ("task_index", words), None)
            table = {n: text for n, text in zip(rows["task_index"], rows[words], strict=True) if isinstance(text, str)}
            texts = [
                table[n] for n in np.unique(numbers[np.isfinite(numbers)]).astype(int).tolist() if n in table
            ] or texts
    if not texts:
        findings.add(note("no_instructions", "instructions", "no instruction is told", f"fetch {TASKS}"))
    return tuple(dict.fromkeys(" ".join(text.split())[:TEXT_MAX] for text in texts if text.strip()))


def cameras_of(
    files: SceneFiles, features: dict[str, dict[str, Any]], row: dict[str, Any], findings: Findings
) -> tuple[tuple[Camera, ...], Video | None]:
    """The cameras that the dataset names, and the first one's video, of which the episode is a part."""
    cameras: list[Camera] = []
    video = None
    for key, feature in features.items():
        if str(feature.get("dtype")) not in {"video", "image"} or not SAFE_NAME.fullmatch(key):
            continue
        chunk, file = row.get(f"videos/{key}/chunk_index"), row.get(f"videos/{key}/file_index")
        path = files.folder / VIDEO.format(key, chunk, file) if type(chunk) is int and type(file) is int else None
        there = path is not None and path.is_file()
        cameras.append(Camera(name=key.removeprefix("observation.images."), pictures=there))
        if feature["dtype"] == "video" and not there:
            message = f"the video of {key} is not there"
            findings.add(note("missing_video", "video", message, "fetch the dataset's videos"))
        start, end = row.get(f"videos/{key}/from_timestamp"), row.get(f"videos/{key}/to_timestamp")
        if video is None and path is not None and there and isinstance(start, float) and isinstance(end, float):
            facts = movie_facts(files, path)
            frames = round((end - start) * facts.fps) if facts.fps and end > start >= 0 else 0
            if frames:
                files.add(f"{files.relative(path)}#{start:g}-{end:g}", b"%d" % path.stat().st_size)
                video = Video(
                    path=files.relative(path), fps=facts.fps, frames=frames, width=facts.width, height=facts.height
                )
    return tuple(cameras), video
