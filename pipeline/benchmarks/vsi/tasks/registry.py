"""The tasks, by the question type they answer."""

from typing import Final

from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.benchmarks.vsi.tasks.appearance import AppearanceOrder
from pipeline.benchmarks.vsi.tasks.measures import AbsDistance, ObjectCounting, ObjectSize, RoomSize, SizeComparison
from pipeline.benchmarks.vsi.tasks.relations import LEVELS, RelDirection, RelDistance
from pipeline.benchmarks.vsi.tasks.route import RoutePlanning
from pipeline.core.templates import load_table
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
_REVSI_TYPES: Final[dict[str, int | None]] = load_table("vsi/types")["revsi"]
# The most of each type that the released 5,130 questions ask of a scene.
_RELEASED_TYPES: Final[dict[str, int | None]] = load_table("vsi/types")["released"]
ASKED: Final[dict[str, dict[str, int | None]]] = {
    "strict": _VSI_TYPES | dict.fromkeys(task.name for task in _OURS),
    "official": _RELEASED_TYPES,
    "revsi": _REVSI_TYPES,
}
