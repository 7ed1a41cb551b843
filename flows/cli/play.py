"""The command `scan2qa play`: a person steps through a task of a city at the terminal, or roams and records tasks."""

import json
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image
from rich.segment import Segment, Segments
from rich.style import Style
from rich.table import Table

from flows.cli.output.console import console
from flows.cli.release_reader import refuse_other
from flows.cli.trace import facts_of_build
from flows.orchestration.roots import roots_of
from pipeline.benchmarks.cityeqa.benchmark import CITYEQA
from pipeline.benchmarks.cityeqa.released import ReleasedTask, read_released
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table
from pipeline.drawing.raster import as_png
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import City, Pose
from pipeline.worlds.city.paths import FreeSpace
from pipeline.worlds.city.render import CityRenderer, RenderedView, captioned
from pipeline.worlds.city.visibility import CitySight
from pipeline.worlds.city.walk import MOVE_M, TURN_DEG, Walkway
from pipeline.worlds.registry import configured

# What one types, and what it does.
KEYS: Final[dict[str, str]] = load_table("cityeqa/keys")
MOVES: Final = (
    f"f b sl sr: {MOVE_M:g} m ahead, back, to the left, to the right · l r: turn by {TURN_DEG:g}° · u d: look up, down"
    " · rise sink: to the next height"
)
HELP: Final = f"{MOVES} · a WORDS: answer · q: stop"
ROAM_HELP: Final = f"{MOVES} · s: what is in view · t TARGET | CATEGORY | QUESTION | ANSWER: record a task · q: stop"
ASK_HELP: Final = ("?", "h", "help")
SEEN_MOST: Final = 12  # things in view that are listed
SHOWN_COLUMNS: Final = 100
_CITIES: Final = "play takes tasks of cities"
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
        refuse_other("cityeqa", questions, questions, _CITIES)
        task = _task(question, [questions])
        wanted = task.rest.get("city")
        said = f"is set in {wanted!r}" if wanted else "does not say its city (column city)"
        city = _city_in(root, wanted, f"task {task.id} {said}")
    else:
        paths = sorted((build / "release" / "data").glob("*.parquet"))
        if not paths:
            raise ConfigError(f"{build}: no release here; give a build's folder, or --questions and --root")
        refuse_other("cityeqa", paths[0], build, _CITIES)
        task = _task(question, paths)
        city = _mapped(facts_of_build(task.id, build), f"the city of task {task.id}")
    walk = Walkway(FreeSpace(city), task.initial)
    console.print(f"\n{task.question}", style="bold")

    def answer(command: str, rest: str) -> bool | None:
        if command != "a" or not rest:
            return None
        _write(trajectory, task, walk, rest)
        _end(task, walk, rest, trajectory)
        return True

    _steps(city, walk, picture, HELP, answer)


def roam(root: str, scene: str | None, record: Path, picture: Path | None) -> None:
    """Roams through a city without a task, and records questions about what is in view.

    Args:
        root: READER=DIR of the cities.
        scene: which city; None: the only one.
        record: a tasks.json: tasks are added to those that are in it (`worlds.city.readers.tasks`).
        picture: as in `play`.
    """
    require_extra("scans", "scan2qa play")
    city = _city_in(root, scene, f"{scene or 'no --scene'}")
    sight, space = CitySight(city), FreeSpace(city)
    walk = Walkway(space, _middle(city, space))
    places = {thing.id: place for place, thing in enumerate(city.things)}

    def act(command: str, rest: str) -> bool | None:
        if command == "s" and not rest:
            _list(city, sight, walk)
            return False
        if command != "t":
            return None
        told = [part.strip() for part in rest.split("|")]
        if len(told) != 4 or not all(told):
            console.print("A task has four parts: t TARGET | CATEGORY | QUESTION | ANSWER")
        elif told[0] not in places:
            console.print(f"{told[0]!r} is not on the map; s lists what is in view, by its ids.")
        elif not sight.shown(np.array([walk.pose]), np.array([places[told[0]]])).pixels[0]:
            console.print(f"{told[0]} is not in view from here: go to where its question can be answered.")
        elif told[1] not in CITYEQA.by_name():
            console.print(f"{told[1]!r} is no category; one of {', '.join(CITYEQA.by_name())}")
        else:
            _record(record, walk, *told)
        return False

    _steps(city, walk, picture, ROAM_HELP, act)


def _steps(city: City, walk: Walkway, picture: Path | None, note: str, own: Callable[[str, str], bool | None]) -> None:
    """Does what is typed until it ends; ``own`` commands give whether they end it, None for no command of theirs."""
    renderer = CityRenderer(city)
    console.print(note)
    _print_view(renderer.shoot(np.array(walk.pose)), walk, picture)
    for words in _typed():
        command, _, rest = words.partition(" ")
        if command == "q" and not rest:
            console.print("Stopped: nothing more is written.")
            return
        if words in ASK_HELP:
            console.print(note)
            continue
        ended = own(command, rest.strip())
        if ended:
            return
        if ended is None and (command not in KEYS or rest):
            console.print(f"{words!r} is no command. {note}")
        elif ended is None:
            hindered = walk.act(KEYS[command])
            if hindered:
                console.print(f"{KEYS[command]}: {hindered}")
            else:
                _print_view(renderer.shoot(np.array(walk.pose)), walk, picture)
    console.print("The input ended: nothing more is written.")


def _middle(city: City, space: FreeSpace) -> Pose:
    """The free place nearest to the middle of a city, at the lowest height of its agents, facing north."""
    slab = space.slab(min(city.slabs_m))
    free = slab.middles(np.argwhere(slab.free))
    if not len(free):
        raise ConfigError("nothing of the city is free at the lowest height of its agents; state slabs_m in city.yaml")
    middle = np.array(city.bounds).mean(0)
    x, y, z = free[int(np.hypot(*(free[:, :2] - middle).T).argmin())].tolist()
    return x, y, z, 0.0, 0.0, 0.0


def _list(city: City, sight: CitySight, walk: Walkway) -> None:
    """What is in view, the largest first, with the ids by which a task names it."""
    pixels = sight.seen(np.array([walk.pose]), step=4).pixels[0]
    table = Table("id", "what", "name", "pixels")
    for i in np.argsort(-pixels, kind="stable")[:SEEN_MOST].tolist():
        if pixels[i]:
            thing = city.things[i]
            table.add_row(thing.id, thing.noun, thing.name or "", f"{pixels[i]:,}")
    console.print(table if table.row_count else "Nothing that has an id is in view.", soft_wrap=False)


def _record(path: Path, walk: Walkway, target: str, category: str, question: str, answer: str) -> None:
    """Adds a task to a file of them."""
    try:
        held = json.loads(path.read_bytes()) if path.exists() else {"tasks": []}
        tasks = held["tasks"] if isinstance(held, dict) else held
        known = {str(task.get("id", task.get("question_id"))) for task in tasks}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is no file of tasks; name another with --record") from error
    number = next(n for n in count(1) if f"roamed-{n}" not in known)
    own = {"id": f"roamed-{number}", "question": question, "answer": answer, "category": category}
    tasks.append(own | {"observation_pose": list(walk.pose), "target": target})
    write_atomically(path, json.dumps(held, ensure_ascii=False, indent=1).encode())
    console.print(f"Task {own['id']} is in {path}, seen from {[round(v, 1) for v in walk.pose]}.")


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
    raise ConfigError(f"no task {question} in {', '.join(map(str, paths))}; scan2qa gallery shows tasks with their ids")


def _city_in(root: str, wanted: str | None, asked: str) -> City:
    ((name, folder),) = roots_of([root]).items()
    reader = configured(name, {})
    require_extra(reader.extra, f"the reader {name}")
    refs = reader.scenes(folder).scenes
    chosen = [ref for ref in refs if wanted is None or wanted in {ref.id, ref.id.partition("/")[2]}]
    if len(chosen) != 1:
        there = ", ".join(ref.id for ref in refs) or "none"
        raise ConfigError(f"{asked}; the cities of {folder} are {there}")
    return _mapped(reader.read(SceneFiles(folder, chosen[0])).facts, chosen[0].id)


def _mapped(facts: Any, place: str) -> City:
    if not isinstance(facts, City) or facts.bounds is None:
        raise ConfigError(f"{place} has no map; play needs one")
    return facts


def _print_view(shot: RenderedView, walk: Walkway, picture: Path | None) -> None:
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
        console.print(f"To be read: {read}")
    if picture is not None:
        write_atomically(picture, as_png(Image.fromarray(captioned(shot))))


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
    console.print(table, soft_wrap=False)
    console.print(f"Written to {path}; scan2qa score reads it.")


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
