"""The 58 VLN tasks (tables 12-14) as data, with what the paper varies drawn by seed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Literal

import numpy as np
import yaml
from pydantic import Field, FiniteFloat, ValidationError

from pipeline.benchmarks.embodied4c.rules import DOMAINS
from pipeline.core.errors import TemplateError
from pipeline.core.identity import rng_for
from pipeline.core.schema import Model
from pipeline.core.templates import TEMPLATES_DIR

FILE: Final = TEMPLATES_DIR / "embodied4c" / "vln.yaml"
Rule = Literal[
    "controls", "steering", "reach_speed", "keep_speed", "distance_stop", "reach_place", "drive_far", "follow",
    "speed_limit", "overtake", "single_action", "sequence", "reach_height", "single_joint", "axis_sequence", "success",
]  # fmt: skip
Value = bool | FiniteFloat | tuple[FiniteFloat, ...]
_OTHER: Final = {"left": "right", "right": "left"}
_AXES: Final = {"forward": (1, 0, 0), "right": (0, -1, 0), "up": (0, 0, 1)}  # x forward, y left, z up
_BACK: Final = {"forward": "backward", "right": "left", "up": "down"}


class Specification(Model):
    """One task as drawn: what is said, what must hold, and for how long it may be tried.

    Lengths are metres, angles degrees (counter-clockwise positive), speeds of `target` as their names say.
    """

    id: str
    domain: str
    name: str = Field(description="of the scenario, as in the paper")
    category: str
    rule: Rule
    binary: bool = Field(default=False, description="eq. 5; else eq. 6 or what section 8 says of the scenario")
    instruction: str
    start: str
    timeout_s: Annotated[FiniteFloat, Field(gt=0)]
    target: Mapping[str, Value | str]

    def number(self, name: str) -> float:
        """A number of the target."""
        value = self.target[name]
        if isinstance(value, str | tuple):
            raise TypeError(f"{self.id}: {name} is {value!r}, no number")
        return float(value)

    def numbers(self, name: str) -> tuple[float, ...]:
        """Several; "offset" is where the target lies from the start: x forward, y left, z up, metres."""
        value = self.target[name]
        if not isinstance(value, tuple):
            raise TypeError(f"{self.id}: {name} is {value!r}, not several numbers")
        return value


@cache
def specifications(seed: int = 0) -> Mapping[str, Specification]:
    """All tasks by id, in the order of tables 12-14. Raises TemplateError for a file that cannot be read."""
    found: dict[str, Specification] = {}
    try:
        document = yaml.load(FILE.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for domain in DOMAINS:
            for raw in document[domain]:
                ids = raw.pop("ids", None) or [raw.pop("id")]
                order = rng_for("vln", raw["name"], domain, seed)
                for i, draw in zip(ids, _turns(raw.pop("draw", {}), len(ids), order), strict=True):
                    found[i] = _drawn({**raw, "id": i, "domain": domain}, draw, rng_for("vln", i, seed))
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValidationError) as error:
        raise TemplateError(f"{FILE}: cannot be read as task specifications: {error}") from error
    return found


def _turns(draw: Mapping[str, Sequence[Any]], n: int, rng: np.random.Generator) -> list[Mapping[str, Sequence[Any]]]:
    """The values from which each of n alike tasks draws: of movements each has one that none before it has."""
    if "move" not in draw:
        return [draw] * n
    order = rng.permutation(len(draw["move"]))
    return [{**draw, "move": [draw["move"][int(i)]]} for i in order[:n]]


def _drawn(raw: dict[str, Any], draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> Specification:
    own = _DRAWS[raw["rule"]](draw, rng) if raw["rule"] in _DRAWS else _draw_each(draw, rng)
    fields = {k: f"{v:g}" if isinstance(v, int | float) else v for k, v in own.items() if not isinstance(v, tuple)}
    text = raw["instruction"].format(**fields)
    return Specification(**raw | {"instruction": text[:1].upper() + text[1:], "target": raw["target"] | own})


def _draw_one(values: Sequence[Any], rng: np.random.Generator) -> Any:
    return values[int(rng.integers(len(values)))]


def _draw_each(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    return {name: _draw_one(values, rng) for name, values in draw.items()}


def _steering(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    first = _draw_one(draw["first"], rng)
    return {"first": first, "second": _OTHER[first]}


def _single_action(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """One movement along one axis, or one turn."""
    move = _draw_one(draw["move"], rng)
    if move.startswith("turn"):
        turn = _draw_one(draw["turn_deg"], rng) * (1 if move.endswith("left") else -1)
        return {"action": f"{move} by {abs(turn):g} degrees", "offset": (0.0, 0.0, 0.0), "turn_deg": turn}
    way = {
        "ascend": (0, 0, 1),
        "descend": (0, 0, -1),
        "forward": (1, 0, 0),
        "backward": (-1, 0, 0),
        "left": (0, 1, 0),
        "right": (0, -1, 0),
    }[move]
    length = _draw_one(draw["length_m"], rng)
    phrase = move if move in ("ascend", "descend") else f"fly {move}"
    return {"action": f"{phrase} {length:g} m", "offset": tuple(float(length * w) for w in way), "turn_deg": 0.0}


def _sequence(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """A climb, a turn and a straight flight, as in the example of section 8.2."""
    own = _draw_each(draw, rng)
    climb, turn, length = own["climb_m"], own["turn_deg"], own["length_m"]
    along = np.radians(turn)
    phrases = (
        f"{'ascend' if climb > 0 else 'descend'} {abs(climb):g} m, turn {abs(turn):g}° "
        f"{'left' if turn > 0 else 'right'}, and continue straight for {length:g} m while maintaining altitude"
    )
    offset = (round(length * float(np.cos(along)), 6), round(length * float(np.sin(along)), 6), float(climb))
    return {"action": phrases, "offset": offset, "turn_deg": turn}


def _single_joint(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """The gripper, or one joint by an angle."""
    move = _draw_one(draw["move"], rng)
    if move != "joint":
        return {"action": move, "open": move.startswith("open")}
    joint, turn = _draw_one(draw["joint"], rng), _draw_one(draw["turn_deg"], rng)
    return {"action": f"turn joint {joint} by {turn:+g} degrees, and no other", "joint": joint, "turn_deg": turn}


def _axis_sequence(draw: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """One step along each axis of the robot's base, in a drawn order and drawn directions."""
    step, offset, phrases = _draw_one(draw["step_m"], rng), np.zeros(3), []
    for i in rng.permutation(len(_AXES)):
        axis = list(_AXES)[int(i)]
        back = bool(rng.integers(2))
        offset += step * np.array(_AXES[axis]) * (-1 if back else 1)
        phrases.append(f"{step * 100:g} cm {_BACK[axis] if back else axis}")
    return {"action": f"move the gripper {', then '.join(phrases)}", "offset": tuple(float(v) for v in offset)}


_DRAWS: Final[Mapping[str, Callable[[Mapping[str, Sequence[Any]], np.random.Generator], dict[str, Any]]]] = {
    "steering": _steering,
    "single_action": _single_action,
    "sequence": _sequence,
    "single_joint": _single_joint,
    "axis_sequence": _axis_sequence,
}
