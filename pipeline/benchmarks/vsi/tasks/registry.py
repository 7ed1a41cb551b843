"""The tasks, by the question type they answer."""

from __future__ import annotations

from typing import Final

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.measures import AbsDistance, ObjectCounting, ObjectSize, RoomSize, SizeComparison
from pipeline.benchmarks.vsi.tasks.relations import LEVELS, RelDirection, RelDistance
from pipeline.benchmarks.vsi.tasks.route import RoutePlanning
from pipeline.questions.arrays import ArrayTask

_ALL: Final[tuple[ArrayTask[ScanView], ...]] = (
    ObjectCounting(),
    ObjectSize(),
    RoomSize(),
    AbsDistance(),
    RelDistance(),
    *(RelDirection(level) for level in LEVELS),
    AppearanceOrder(),
    RoutePlanning(),
)
_REVSI: Final[tuple[ArrayTask[ScanView], ...]] = (
    ObjectCounting("object_counting_single"),
    ObjectCounting("object_counting_multiple", ("first", "second")),
    RoomSize("room_size_estimation_single", "main room"),
    RoomSize("room_size_estimation_multiple", "all rooms"),
    RelDistance(name="object_rel_distance_closest", beyond=">"),
    RelDistance(name="object_rel_distance_farthest", farthest=True, beyond=">"),
    *(
        RelDirection(level, f"object_rel_direction_{way}_{name}", away=way == "backward")
        for name, level in (("easy", "medium"), ("hard", "hard"))
        for way in ("forward", "backward")
    ),
)
_OURS: Final[tuple[ArrayTask[ScanView], ...]] = (SizeComparison(),)
TASKS: Final[dict[str, ArrayTask[ScanView]]] = {task.name: task for task in (*_ALL, *_OURS, *_REVSI)}
_VSI_TYPES: Final[dict[str, int | None]] = dict.fromkeys(task.name for task in _ALL)
# ReVSI's types, and of how many of each its generator asks at most in a scene.
_REVSI_TYPES: Final[dict[str, int | None]] = {
    "object_counting_single": None,
    "object_counting_multiple": 3,
    "object_size_estimation": 6,
    "room_size_estimation_single": None,
    "room_size_estimation_multiple": None,
    "object_abs_distance": 5,
    "object_rel_distance_closest": 9,
    "object_rel_distance_farthest": 7,
    "object_rel_direction_forward_easy": None,
    "object_rel_direction_forward_hard": None,
    "object_rel_direction_backward_easy": None,
    "object_rel_direction_backward_hard": None,
    "route_planning": None,
}
# The most of each type that the released 5,130 questions ask of a scene.
_RELEASED_TYPES: Final[dict[str, int | None]] = {
    "object_counting": 11,
    "object_size_estimation": 14,
    "room_size_estimation": 1,
    "object_abs_distance": 7,
    "object_rel_distance": 19,
    "object_rel_direction_easy": 3,
    "object_rel_direction_medium": 6,
    "object_rel_direction_hard": 6,
    "obj_appearance_order": 30,
    "route_planning": 1,
}
ASKED: Final[dict[str, dict[str, int | None]]] = {
    "strict": _VSI_TYPES | dict.fromkeys(task.name for task in _OURS),
    "official": _RELEASED_TYPES,
    "revsi": _REVSI_TYPES,
}
