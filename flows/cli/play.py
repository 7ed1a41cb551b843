"""The command `scan2qa play`: a task of a city, stepped through by a person at the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table

from flows.cli.output.console import console
from flows.cli.trace import facts_of_build
from flows.orchestration.roots import roots_of
from pipeline.benchmarks.cityeqa.released import ReleasedTask, read_released
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import write_atomically
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import City
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.render import CityRenderer, RenderedView, captioned
from pipeline.worlds.city.walk import MOVE_M, TURN_DEG, Walkway
from pipeline.worlds.registry import configured

# What one types, and what it does.
KEYS: Final = {
    "f": "forward",
    "b": "back",
    "l": "turn left",
    "r": "turn right",
    "sl": "left",
    "sr": "right",
    "u": "look up",
    "d": "look down",
    "rise": "rise",
    "sink": "sink",
}
HELP: Final = (
    f"f b sl sr: {MOVE_M:g} m ahead, back, to the left, to the right · l r: turn by {TURN_DEG:g}° · u d: look up, down"
    " · rise sink: to the next height · a WORDS: answer · q: stop without an answer"
)
SHOWN_COLUMNS: Final = 100
_COMPASS: Final = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")


def play(
    build: Path, question: str, questions: Path | None, root: str | None, trajectory: Path, picture: Path | None
) -> None:
    """Plays one task, and adds the way and the answer to a file of trajectories.

    Args:
        build: folder of a build, whose release and cities are played where no other are given.
        question: id.
        questions: a file of tasks in the released columns.
        root: READER=DIR of their cities.
        trajectory: JSON lines ``{"id", "steps", "answer"}``; a line of the same task is replaced.
        picture: PNG of what is seen at last, written anew at each step.
    """
    require_extra("scans", "scan2qa play")  # pictures are drawn with Open3D
    if (questions is None) != (root is None):
        raise ConfigError("--questions and --root go together: tasks, and the cities that they are set in")
    if questions is not None and root is not None:
        task = _task(question, [questions])
        city = _city_of_root(task, root)
    else:
        task = _task(question, sorted((build / "release" / "data").glob("*.parquet")))
        city = _city_of_build(task, build)
    walk = Walkway(FreeSpace(city), task.initial)
    renderer = CityRenderer(city)
    console.print(f"\n{task.question}", style="bold", soft_wrap=True)
    console.print(HELP, soft_wrap=True)
    _show(renderer.shoot(np.array(walk.pose)), walk, picture)
    for words in _typed():
        command, _, rest = words.partition(" ")
        if command == "q":
            console.print("Stopped without an answer; nothing was written.")
            return
        if command == "a" and rest.strip():
            _write(trajectory, task, walk, rest.strip())
            _end(task, walk, rest.strip(), trajectory)
            return
        if command not in KEYS or rest:
            console.print(f"{words!r} is no command. {HELP}", soft_wrap=True)
            continue
        hindered = walk.act(KEYS[command])
        if hindered:
            console.print(f"{KEYS[command]}: {hindered}")
        else:
            _show(renderer.shoot(np.array(walk.pose)), walk, picture)
    console.print("The input ended before an answer; nothing was written.")


def _typed() -> Iterator[str]:
    """Yields typed lines until the input ends; blank lines are no commands."""
    while True:
        if sys.stdin.isatty():
            console.print("> ", end="")
        line = sys.stdin.readline()
        if not line:
            return
        if line.strip():
            yield " ".join(line.split())


def _task(question: str, paths: list[Path]) -> ReleasedTask:
    for path in paths:
        tasks, _ = read_released(path)
        found = next((task for task in tasks if str(task.id) == question), None)
        if found is not None:
            return found
    looked = ", ".join(map(str, paths)) or "no release: build first, or give --questions and --root"
    raise ConfigError(f"no task {question} in {looked}")


def _city_of_build(task: ReleasedTask, build: Path) -> City:
    return _mapped(facts_of_build(task.id, build), task)


def _city_of_root(task: ReleasedTask, root: str) -> City:
    ((name, folder),) = roots_of([root]).items()
    reader = configured(name, {})
    require_extra(reader.extra, f"the reader {name}")
    refs = reader.scenes(folder).scenes
    wanted = task.rest.get("city")
    chosen = [ref for ref in refs if wanted is None or wanted in {ref.id, ref.id.partition("/")[2]}]
    if len(chosen) != 1:
        there = ", ".join(ref.id for ref in refs) or "none"
        said = f"is set in {wanted!r}" if wanted else "does not say its city (column city)"
        raise ConfigError(f"task {task.id} {said}; the cities of {folder} are {there}")
    facts: Any = reader.read(SceneFiles(folder, chosen[0])).facts
    return _mapped(facts, task)


def _mapped(facts: Any, task: ReleasedTask) -> City:
    if not isinstance(facts, City) or facts.bounds is None:
        raise ConfigError(f"task {task.id} is set in a place without a map; play needs one")
    return facts


def _show(shot: RenderedView, walk: Walkway, picture: Path | None) -> None:
    if console.color_system is not None:
        console.print(half_blocks(shot.color, min(SHOWN_COLUMNS, console.width)))
    x, y, z, _, pitch, yaw = walk.pose
    tilt = f", looking {abs(pitch):g}° {'up' if pitch > 0 else 'down'}" if pitch else ""
    toward = _COMPASS[round(yaw / 45.0) % 8]
    console.print(
        f"step {len(walk.steps) - 1}: {x:.0f} m east, {y:.0f} m north, {z:g} m up, facing {toward} ({yaw:g}°){tilt}",
    )
    if shot.signs:
        read = ", ".join(f'"{sign.words}" {_side(sign.column, shot.color.shape[1])}' for sign in shot.signs)
        console.print(f"To be read: {read}", soft_wrap=True)
    if picture is not None:
        from io import BytesIO

        from PIL import Image

        raw = BytesIO()
        Image.fromarray(captioned(shot)).save(raw, "PNG")
        write_atomically(picture, raw.getvalue())


def _side(column: int, width: int) -> str:
    return ("left", "ahead", "right")[min(2, 3 * column // width)]


def _write(path: Path, task: ReleasedTask, walk: Walkway, answer: str) -> None:
    """Adds a line to a file of trajectories, in the place of one of the same task."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    others = [line for line in lines if line.strip() and _id_of(path, line) != task.id]
    own = {"id": task.id, "steps": [list(pose) for pose in walk.steps], "answer": answer}
    others.append(json.dumps(own, ensure_ascii=False))
    write_atomically(path, "".join(f"{line}\n" for line in others).encode())


def _id_of(path: Path, line: str) -> Any:
    try:
        return json.loads(line)["id"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} is no file of trajectories: {line[:60]!r}; name another with --trajectory"
        ) from error


def _end(task: ReleasedTask, walk: Walkway, answer: str, path: Path) -> None:
    away = float(np.linalg.norm(np.array(walk.pose[:3]) - np.array(task.target.place)))
    table = Table(show_header=False, box=None)
    facts = [("your answer", answer), ("truth", task.answer), ("category", task.category)]
    facts += [
        ("steps", f"{len(walk.steps) - 1}"),
        ("way", f"{walk.length_m:.0f} m"),
        ("to the target", f"{away:.0f} m"),
    ]
    for key, name in (("oracle_steps", "steps of the oracle"), ("path_m", "shortest way")):
        if task.rest.get(key) is not None:
            facts.append((name, f"{task.rest[key]:.0f}{' m' if key == 'path_m' else ''}"))
    for name, value in facts:
        table.add_row(name, str(value))
    console.print(table)
    console.print(f"Written to {path}; scan2qa score reads it.", soft_wrap=True)


def half_blocks(picture: npt.NDArray[np.uint8], columns: int) -> Segments:
    """A picture (height, width, 3) so many characters wide, each as high as two of its pixels are wide."""
    height, width = picture.shape[:2]
    rows = max(1, round(columns * height / width / 2))
    small = np.asarray(Image.fromarray(picture).resize((columns, 2 * rows), Image.Resampling.BOX)) & 0xF8
    segments = []
    for upper, lower in zip(small[::2].tolist(), small[1::2].tolist(), strict=True):
        for a, b in zip(upper, lower, strict=True):
            style = Style.parse(f"rgb({a[0]},{a[1]},{a[2]}) on rgb({b[0]},{b[1]},{b[2]})")
            segments.append(Segment("▀", style))
        segments.append(Segment.line())
    return Segments(segments)
