"""Episodes of vision-and-language navigation, JSON: OpenFly's and AerialVLN's. Time counts steps.

OpenFly: a list of episodes with ``image_path``, ``gpt_instruction``, ``action``, ``index_list`` (pictures), ``pos``
(metres, z up; a fourth number, where there is one, repeats the yaw) and ``yaw`` (radians, counter-clockwise from +x,
which is taken for east). ``action[i]`` leads from ``pos[i]`` to ``pos[i + 1]``.

AerialVLN: ``episodes`` with ``trajectory_id``, ``instruction``, ``actions`` and ``reference_path`` (x, y, z, pitch,
roll, yaw; NED metres and radians).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import RawDataError
from pipeline.core.findings import note
from pipeline.core.templates import load_table
from pipeline.formats.json_scenes import whole_number
from pipeline.formats.logs.frames import enu_from_ned, heading_deg_of
from pipeline.formats.logs.log import Log, Series, file_bytes

MOVE_AGREES_M: Final = 0.5  # a sixth of the smallest move, a quarter of AirVLN's 2 m
TURN_AGREES_DEG: Final = 3.0  # a fifth of the smallest turn
_ROUND: Final = 10.0 ** np.array([1, 1, 1, 0])  # two motions that are equal in these units count as the same


class OpenFlyAction(NamedTuple):
    """The effect of one step on a drone: metres ahead, to its left and up, degrees counter-clockwise."""

    label: str
    forward_m: float = 0.0
    left_m: float = 0.0
    up_m: float = 0.0
    turn_deg: float = 0.0


# By the numbers that episodes have for them.
OPENFLY: Final = {code: OpenFlyAction(**action) for code, action in load_table("logs/formats")["openfly"].items()}
AERIALVLN: Final = {code: OpenFlyAction(**action) for code, action in load_table("logs/formats")["aerialvln"].items()}
_BY_LABEL: Final = {action.label: action for action in (*OPENFLY.values(), *AERIALVLN.values())}


class ActionAgreement(NamedTuple):
    """How the steps of one label moved.

    Attributes:
        label: of the action.
        steps: with this label, and with a sample after them.
        agreeing: of these, steps that moved as the label says; 0 for a label of no known action.
        usual: the motion that was measured most often, to 0.1 m and 1°.
        usual_steps: how often that was.
    """

    label: str
    steps: int
    agreeing: int
    usual: OpenFlyAction
    usual_steps: int


def agreement(logs: Sequence[Log]) -> tuple[ActionAgreement, ...]:
    """Labels against motion, over all logs that have labels, by label."""
    labels, motions = [], []
    for log in logs:
        if log.label is not None and log.enu_m is not None and log.heading is not None:
            labels += log.label[:-1].tolist()
            motions.append(_motion(log.enu_m, log.heading.value))
    if not labels:
        return ()
    motion, label_of = np.concatenate(motions), np.array(labels, dtype=object)
    unknown = OpenFlyAction("", np.nan, np.nan, np.nan, np.nan)
    expected = np.array([_BY_LABEL.get(label, unknown)[1:] for label in labels])
    off = np.abs(motion - expected)
    off[:, 3] = np.minimum(off[:, 3], 360.0 - off[:, 3])
    agrees = (off <= (MOVE_AGREES_M, MOVE_AGREES_M, MOVE_AGREES_M, TURN_AGREES_DEG)).all(1)
    found = []
    rounded = np.round(motion * _ROUND) / _ROUND + 0.0  # no -0
    for label in sorted(set(labels)):
        own = label_of == label
        kinds, counts = np.unique(rounded[own], axis=0, return_counts=True)
        most = int(counts.argmax())
        usual = OpenFlyAction(label, *kinds[most].tolist())
        found.append(ActionAgreement(label, int(own.sum()), int(agrees[own].sum()), usual, int(counts[most])))
    return tuple(found)


def _motion(enu_m: FloatArray, heading_deg: FloatArray) -> FloatArray:
    """From each sample to the next (N - 1, 4): metres ahead, left and up as it stood, degrees counter-clockwise."""
    east, north, up = np.diff(enu_m, axis=0).T
    heading = np.radians(heading_deg[:-1])
    ahead = east * np.sin(heading) + north * np.cos(heading)
    left = north * np.sin(heading) - east * np.cos(heading)
    turn = 180.0 - (np.diff(heading_deg) + 180.0) % 360.0  # in (-180, 180]
    return np.stack([ahead, left, up, turn], axis=-1)


YAW_AGREES_RAD: Final = 0.01  # between a yaw and the same one beside the position
LARGEST: Final = 1e6  # metres and radians; larger numbers are broken
_REMEDY: Final = "follow the layout of the released episodes, or remove this one"


class OpenFlyEpisode(NamedTuple):
    """One flight, with the words that describe it as they were written."""

    name: str
    instruction: str
    log: Log


class OpenFlyEpisodes(NamedTuple):
    """The flights of a file that can be used, and why the others cannot."""

    good: tuple[OpenFlyEpisode, ...]
    broken: tuple[RawDataError, ...]


class OpenFly:
    """Reads ``.json`` files of episodes."""

    name = "openfly"
    suffixes = (".json",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether a key of episodes stands near the beginning."""
        return any(key in head for key in (b'"gpt_instruction"', b'"trajectory_id"', b'"reference_path"'))

    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight of each good episode; the findings of the first one name the broken episodes."""
        good, broken = read_episodes(path)
        found = tuple(note(one.finding, str(one.scene), one.message, one.remedy) for one in broken)
        first, *others = [episode.log for episode in good]
        return (replace(first, findings=found), *others)


def read_episodes(path: Path) -> OpenFlyEpisodes:
    """All episodes of a file. Raises RawDataError if there is none that can be used."""
    raw = file_bytes(path)
    try:
        content = json.loads(raw.decode("utf-8-sig"), parse_int=whole_number)
    except (ValueError, RecursionError) as error:
        raise RawDataError(path, "not_json", str(error), "give the JSON file of episodes whole") from error
    items, layout = (content, _openfly) if isinstance(content, list) else (None, _aerialvln)
    if isinstance(content, dict):
        items = content.get("episodes")
    if not isinstance(items, list):
        raise RawDataError(path, "no_episodes", "the file holds no list of episodes", "give the JSON file of episodes")
    good: dict[str, OpenFlyEpisode] = {}
    broken: list[RawDataError] = []
    for number, item in enumerate(items):
        try:
            episode = _episode(item, layout, good)
        except ValueError as error:
            broken.append(RawDataError(path, "broken_episode", str(error), _REMEDY, f"episode {number}"))
        else:
            good[episode.name] = episode
    if not good:
        first = f"; {broken[0].scene}: {broken[0].message}" if broken else ""
        message = f"none of {len(items)} episodes can be used{first}"
        raise RawDataError(path, "no_episodes", message, "give the JSON file of episodes")
    return OpenFlyEpisodes(tuple(good.values()), tuple(broken))


def _episode(
    item: object, layout: Callable[[Mapping[str, Any]], OpenFlyEpisode], earlier: Mapping[str, OpenFlyEpisode]
) -> OpenFlyEpisode:
    if not isinstance(item, dict):
        raise ValueError("it is no object")  # noqa: TRY004 - not the caller's type, but the file's
    try:
        episode = layout(item)
    except KeyError as error:
        raise ValueError(f"{error.args[0]} is missing") from error
    if episode.name in earlier:
        raise ValueError("an earlier episode has the same name")
    return episode


def _openfly(item: Mapping[str, Any]) -> OpenFlyEpisode:
    place, yaw = _rows(item, "pos", (3, 4)), np.array([_number(one, "yaw") for one in _list(item, "yaw")])
    if len(place) == len(yaw) and (np.abs(place[:, 3] - yaw) > YAW_AGREES_RAD).any():
        raise ValueError("the fourth number of a position is not its yaw")
    if "index_list" in item and len(_list(item, "index_list")) != len(place):
        raise ValueError("index_list names another number of pictures than there are positions")
    return _flown(
        item,
        names=("image_path", "gpt_instruction", "action"),
        dialect="OpenFly",
        enu_m=place[:, :3],
        heading_deg=heading_deg_of(np.pi / 2 - yaw),
        known=OPENFLY,
    )


def _aerialvln(item: Mapping[str, Any]) -> OpenFlyEpisode:
    pose = _rows(item, "reference_path", (6,))
    words = item["instruction"]
    if isinstance(words, dict):
        words = words.get("instruction_text")
    return _flown(
        {**item, "instruction": words},
        names=("trajectory_id", "instruction", "actions"),
        dialect="AerialVLN",
        enu_m=enu_from_ned(pose[:, :3]),
        heading_deg=heading_deg_of(pose[:, 5]),
        known=AERIALVLN,
    )


def _flown(
    item: Mapping[str, Any],
    names: tuple[str, str, str],
    dialect: str,
    enu_m: FloatArray,
    heading_deg: FloatArray,
    known: Mapping[int, OpenFlyAction],
) -> OpenFlyEpisode:
    """One episode; ``names`` are the keys of its name, its instruction and its actions."""
    name, instruction = _text(item, names[0]), _text(item, names[1])
    codes = _list(item, names[2])
    if any(type(code) is not int or abs(code) > LARGEST for code in codes):
        raise ValueError(f"{names[2]}: not all are whole numbers below {LARGEST:g}")
    if not len(enu_m) == len(heading_deg) == len(codes):
        raise ValueError(f"{len(enu_m)} positions, {len(heading_deg)} headings and {len(codes)} actions: not as many")
    steps = np.arange(len(codes), dtype=np.float64)
    labels = [known[code].label if code in known else f"action {code}" for code in codes]
    heading, label = Series(steps, heading_deg), np.array(labels, dtype=object)
    return OpenFlyEpisode(
        name, instruction, Log(name, dialect, "step", steps, enu_m=enu_m, heading=heading, label=label)
    )


def _list(item: Mapping[str, Any], key: str) -> list[Any]:
    found = item[key]
    if not isinstance(found, list) or not found:
        raise ValueError(f"{key} is no list, or empty")
    return found


def _text(item: Mapping[str, Any], key: str) -> str:
    found = item[key]
    if not isinstance(found, str) or not found.strip():
        raise ValueError(f"{key} is no text, or empty")
    if any("\ud800" <= sign <= "\udfff" for sign in found):
        raise ValueError(f"{key} holds half a character (a lone surrogate)")
    return found


def _rows(item: Mapping[str, Any], key: str, sizes: tuple[int, ...]) -> FloatArray:
    """A list of lists of finite numbers (N, largest of ``sizes``); shorter ones end in NaN."""
    rows = _list(item, key)
    found = np.full((len(rows), max(sizes)), np.nan)
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) not in sizes:
            raise ValueError(f"{key}[{number}] is no list of {' or '.join(map(str, sizes))} numbers")
        found[number, : len(row)] = [_number(one, key) for one in row]
    return found


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LARGEST:
        raise ValueError(f"{key}: not all are numbers below {LARGEST:g}")
    return float(value)
