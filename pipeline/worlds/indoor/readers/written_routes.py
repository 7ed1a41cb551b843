"""Reader of routes written by people: JSON lines of scene, start, facing, steps and destination.

A line: ``{"scene": "scannet/scene0000_00", "start": "bed", "facing": "tv", "steps": ["Go forward until the tv",
"Turn Left", "Go forward until the door"], "destination": "door"}``. Turns and ways alternate; a first step without a
turn leads to the faced object.
"""

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.files import read_file
from pipeline.worlds.indoor.facts import Route

TURNS_MAX: Final = 4  # blanks of a question, as the released routes have
KEYS: Final = frozenset({"scene", "start", "facing", "steps", "destination"})
_FORWARD: Final = re.compile(r"go forward until (?:the )?(.+?)\.?", re.IGNORECASE)
_TURN: Final = re.compile(r"turn (left|right|back)\.?", re.IGNORECASE)


def read_written_routes(path: Path) -> tuple[dict[str, dict[str, Any]], list[RawDataError]]:
    """The fact ``routes`` (tuples of `Route`) by scene id, and one error per line that cannot be used.

    Raises ConfigError if there is no such file.
    """
    try:
        lines = read_file(path).decode().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as a file of routes: {error}") from error
    routes: dict[str, list[Route]] = defaultdict(list)
    broken = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            scene, route = parse_route(json.loads(line))
            routes[scene].append(route)
        except (ValueError, RecursionError) as error:
            remedy = "see pipeline/worlds/indoor/readers/written_routes.py for the form of a line"
            broken.append(RawDataError(path, "bad_route", f"line {number}: {error}", remedy, f"(line {number})"))
    return {scene: {"routes": tuple(members)} for scene, members in routes.items()}, broken


def route_steps(route: Route) -> list[str]:
    """The turns and ways of a route, as a line of the file has them."""
    turns = list(route.turns)
    ways = [[f"Go forward until the {name}"] for name in route.passed]
    for way, turn in zip(ways[len(ways) - len(turns) :], turns, strict=True):
        way.insert(0, turn)
    return [step for way in ways for step in way]


def parse_route(raw: Any) -> tuple[str, Route]:
    """Scene and route of a line, as JSON. Raises ValueError saying what is wrong."""
    if not isinstance(raw, dict) or set(raw) != KEYS:
        raise ValueError(f"a route is an object with exactly the keys {', '.join(sorted(KEYS))}")
    steps = raw["steps"]
    if not isinstance(steps, list) or not steps or not all(isinstance(step, str) for step in steps):
        raise ValueError("steps is not a list of texts")
    passed, turns = [], []
    for position, step in enumerate(steps):
        turn, forward = _TURN.fullmatch(step.strip()), _FORWARD.fullmatch(step.strip())
        after_turn = position > 0 and _TURN.fullmatch(steps[position - 1].strip()) is not None
        if turn and not after_turn:
            turns.append(f"Turn {turn[1].capitalize()}")
        elif forward and (position == 0 or after_turn):
            passed.append(forward[1])
        else:
            raise ValueError(f"step {position + 1} ({step!r}) is neither a turn nor a way, or two of a kind in a row")
    if not passed or _TURN.fullmatch(steps[-1].strip()):
        raise ValueError("the last step is not a way to the destination")
    if len(turns) > TURNS_MAX:
        raise ValueError(f"it turns {len(turns)} times, and at most {TURNS_MAX} turns are asked: divide the route")
    if passed[-1] != raw["destination"]:
        raise ValueError(f"the last step leads to {passed[-1]!r}, the destination is {raw['destination']!r}")
    if not turns or (len(turns) < len(passed) and passed[0] != raw["facing"]):
        raise ValueError("a route that begins without a turn leads first to the faced object, and turns later")
    names = {"start": raw["start"], "facing": raw["facing"], "passed": tuple(passed), "turns": tuple(turns)}
    return str(raw["scene"]), Route.model_validate(names)
