"""``tasks.json`` and ``photos.json``: the questions that people wrote about a city, and pictures taken from poses.

.. code-block:: json

    {"tasks": [{"id": "t1", "question": "What is the colour of the car in front of the bakery?", "answer": "red",
                "category": "Attribute Recognition", "observation_pose": [12, 40, 9, 0, 0, 90], "target": "car-17"}]}

The columns are those of the released file, which is a list alone. In place of ``target``, a thing's id, or beside it,
``target_pose`` says where it is. Poses are metres and degrees in the frame of `worlds/city/facts.py`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import shapely

from pipeline.core.findings import Findings, doubt
from pipeline.core.schema import Vec3
from pipeline.core.templates import load_table
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.checks import Faults
from pipeline.reading.maps.city_thing import BUILDING, CityThing
from pipeline.reading.maps.feature import usable_name
from pipeline.worlds.city.facts import City, CityPhoto, Pose, RawTask
from pipeline.worlds.city.occluders import Occluders

TASKS_FILE: Final = "tasks.json"
PHOTOS_FILE: Final = "photos.json"
NAMES: Final = ("x", "y", "z", "roll", "pitch", "yaw")
_TURN_TOLERANCE: Final = 2e-3  # radians, within which an angle is a quarter turn


def pose_of(raw: object) -> Pose | str:
    """A pose of six numbers, its yaw in [0, 360); or what is wrong with it."""
    if not isinstance(raw, list | tuple):
        return f"is {type(raw).__name__}, not a list of six numbers"
    if len(raw) != len(NAMES):
        return f"has {len(raw)} numbers, not six ({', '.join(NAMES)})"
    for name, value in zip(NAMES, raw, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return f"has no finite number as its {name}"
    x, y, z, roll, pitch, yaw = (float(value) for value in raw)
    if abs(roll) > 180 or abs(pitch) > 90:
        return "has a roll beyond 180 or a pitch beyond 90 degrees"
    if not -360 <= yaw <= 360:
        return "has a yaw beyond 360 degrees"
    return x, y, z, roll, pitch, yaw % 360.0


def in_radians(yaws: Sequence[float]) -> bool:
    """Whether yaws, as they stand in a file, look like radians: none above 2 pi, and one is a quarter turn of them."""
    turned = [abs(yaw) for yaw in yaws if yaw]
    quarters = [abs(yaw - math.pi / 2 * round(yaw / (math.pi / 2))) <= _TURN_TOLERANCE for yaw in turned if yaw >= 1]
    return bool(turned) and max(turned) <= 2 * math.pi + _TURN_TOLERANCE and any(quarters)


TEXT_MAX: Final = 1000  # characters of a question or an answer
DEEP_M: Final = 1.0  # within a footprint: what is deeper is in the house, not on its wall
REMEDIES: Final[dict[str, str]] = load_table("city/task_remedies")
_CENTIMETRES: Final = 100.0


def read_tasks(files: SceneFiles, city: City, stated_origin: bool, findings: Findings) -> tuple[RawTask, ...]:
    """The usable tasks of a city's folder, by id; says which are not, and why. Raises RawDataError."""
    entries = _entries(files, TASKS_FILE, "tasks", stated_origin, findings)
    if entries is None or _radians(entries, TASKS_FILE, findings):
        return ()
    faults = Faults(findings, TASKS_FILE)
    ground = _Ground(city)
    found: dict[str, list[RawTask]] = {}
    for place, entry in enumerate(entries):
        raw = entry.get("id", entry.get("question_id")) if isinstance(entry, Mapping) else None
        who = str(raw)[:80] if isinstance(raw, str | int) and usable_name(str(raw)) else f"entry {place}"
        try:
            task = _task(entry, who, ground)
        except _UnusableError as wrong:
            remedy = _remedy(entry, ground) if wrong.name == "task_off_the_map" else REMEDIES[wrong.name]
            faults.add(wrong.name, f"{wrong.what}, and were left out", remedy, who)
        else:
            found.setdefault(task.id, []).append(task)
    kept = []
    for key, same in sorted(found.items()):
        if all(other == same[0] for other in same[1:]):
            kept.append(same[0])
        else:
            what = "have an id that another task has too, and were left out"
            faults.add("duplicate_id", what, REMEDIES["duplicate_id"], key)
    faults.report(len(entries), "tasks")
    return tuple(kept)


def read_photos(files: SceneFiles, stated_origin: bool, findings: Findings) -> tuple[CityPhoto, ...]:
    """The pictures that ``photos.json`` names: ``{"photos": [{"file": "1.jpg", "pose": [...]}]}``."""
    entries = _entries(files, PHOTOS_FILE, "photos", stated_origin, findings)
    faults, found = Faults(findings, PHOTOS_FILE), []
    for place, entry in enumerate(entries or ()):
        name = entry.get("file") if isinstance(entry, Mapping) else None
        pose = pose_of(entry.get("pose")) if isinstance(entry, Mapping) else "is missing"
        who = repr(name)[:80] if name else f"photo {place}"
        if isinstance(pose, str):
            faults.add("bad_pose", f"have a pose that {pose}, and were left out", REMEDIES["bad_pose"], who)
        elif not isinstance(name, str) or "/" in name or not (files.path / name).is_file():
            faults.add("missing_photo", "name no file of the folder, and were left out", REMEDIES["missing_photo"], who)
        else:
            found.append(CityPhoto(path=files.relative(files.path / name), pose=pose))
    faults.report(len(entries or ()), "photos")
    return tuple(sorted(found, key=lambda photo: photo.path))


class _UnusableError(ValueError):
    """The name of what is wrong with a task, and what can be said of it."""

    def __init__(self, name: str, what: str) -> None:
        super().__init__(name, what)
        self.name, self.what = name, what


class _Ground:
    """The city that tasks are checked against."""

    def __init__(self, city: City) -> None:
        self.bounds = shapely.Polygon(city.bounds or ())
        self.things: dict[str, CityThing] = {thing.id: thing for thing in city.things}
        self._solids = Occluders(city)
        self._tree = shapely.STRtree(self._solids.polygons)
        self._of = city.things

    def covers(self, point: Sequence[float]) -> bool:
        return bool(shapely.covers(self.bounds, shapely.Point(point[0], point[1])))

    def within(self, point: Sequence[float], deep_m: float) -> CityThing | None:
        """The thing within which a point lies, so deep; a building first."""
        at = shapely.Point(point[0], point[1])
        hits = [
            i
            for i in self._tree.query(at, predicate="within").tolist()
            if self._solids.base_m[i] <= point[2] <= self._solids.top_m[i]
            and shapely.distance(self._solids.polygons[i].exterior, at) > deep_m
        ]
        around = (self._of[self._solids.thing[i]] for i in hits)
        return min(around, key=lambda thing: (thing.kind != BUILDING, thing.id), default=None)


def _entries(files: SceneFiles, name: str, key: str, stated: bool, findings: Findings) -> list[Any] | None:
    path = files.path / name
    if not path.is_file():
        return None
    value = files.json_value(path)
    entries = value.get(key) if isinstance(value, dict) else value
    if not isinstance(entries, list):
        message = f"the JSON is neither a list nor an object with a list of {key}"
        raise files.fault(path, "not_a_list", message, "see docs/build/cities.md")
    if not stated:
        message = f"{name}: its poses are metres about an origin that the city does not state, and were left out"
        findings.add(doubt("no_origin", name, message, "give origin in city.yaml", float(len(entries)), 0.0, key))
        return None
    return entries


def _radians(entries: Sequence[Any], file: str, findings: Findings) -> bool:
    poses = [entry.get(k) for entry in entries if isinstance(entry, Mapping) for k in ("observation_pose", "p_obs")]
    stated = [pose[5] for pose in poses if isinstance(pose, list) and len(pose) == 6]
    yaws = [yaw for yaw in stated if isinstance(yaw, int | float) and math.isfinite(yaw)]
    if not in_radians(yaws):
        return False
    message = f"{file}: no yaw of its {len(yaws)} poses is above 2 pi, and some are quarter turns in radians"
    remedy = "give degrees; all of its tasks were left out"
    findings.add(doubt("angles_in_radians", file, message, remedy, float(max(map(abs, yaws))), 6.284, "as stated"))
    return True


def _text(raw: object) -> str | None:
    """Words on one line; None where they are none."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    text = " ".join(str(raw).split())
    return text if 0 < len(text) <= TEXT_MAX and text.isprintable() else None


def _task(entry: Any, who: str, ground: _Ground) -> RawTask:
    """A task. Raises _UnusableError."""
    if not isinstance(entry, Mapping):
        raise _UnusableError("not_an_object", "are no objects")
    question, answer = _text(entry.get("question")), _text(entry.get("answer"))
    if question is None:
        raise _UnusableError("bad_question", f"have no question of 1 to {TEXT_MAX} characters")
    if answer is None:
        raise _UnusableError("bad_answer", "have an answer that is empty, a list, or no words at all")
    p_obs = pose_of(entry.get("observation_pose", entry.get("p_obs")))
    if isinstance(p_obs, str):
        raise _UnusableError("bad_pose", f"have an observation_pose that {p_obs}")
    thing, p_tar, point = _target(entry, ground)
    if not (ground.covers(p_obs) and ground.covers(point)):
        raise _UnusableError("task_off_the_map", "are observed from or have their target outside the map")
    if ground.within(p_obs, 0.0) is not None:
        raise _UnusableError("pose_in_a_wall", "are observed from within something solid")
    around = ground.within(point, DEEP_M) if thing is None else None
    if around is not None:
        words = question.casefold()
        if not any(word and word.casefold() in words for word in (around.kind, around.noun, around.name)):
            raise _UnusableError("target_in_a_wall", "have their target within a building that they do not ask about")
        thing = around
    category = entry.get("category")
    return RawTask(
        id=who,
        question=question,
        answer=answer,
        category=category if isinstance(category, str) and usable_name(category) else None,
        p_obs=p_obs,
        target=thing.id if thing else None,
        point=point,
        p_tar=p_tar,
    )


def _target(entry: Mapping[str, Any], ground: _Ground) -> tuple[CityThing | None, Pose | None, Vec3]:
    """The thing asked about and the pose of the target, of which one may not be told, and where it is."""
    p_tar = None if entry.get("target_pose") is None else pose_of(entry["target_pose"])
    if isinstance(p_tar, str):
        raise _UnusableError("bad_pose", f"have a target_pose that {p_tar}")
    target = entry.get("target")
    thing = ground.things.get(target) if isinstance(target, str) else None
    if target is not None and thing is None:
        raise _UnusableError("unknown_target", "name a target that is not on the map")
    if p_tar is not None:
        return thing, p_tar, p_tar[:3]
    if thing is None:
        raise _UnusableError("no_target", "have neither a target nor a target_pose")
    return thing, None, (*thing.center, thing.base_m or 0.0)


def _remedy(entry: Mapping[str, Any], ground: _Ground) -> str:
    """The likely remedy: coordinates in centimetres, as in Unreal Engine, come onto the map by a hundredth."""
    poses = [entry.get(key) for key in ("observation_pose", "target_pose")]
    scaled = [[v / _CENTIMETRES for v in pose[:2]] for pose in poses if isinstance(pose, list)]
    if scaled and all(ground.covers(point) for point in scaled):
        return "are these centimetres? Give metres about the city's origin"
    return "give metres about the city's origin, east and north; is this the map of these tasks?"
