"""The categories of CityEQA, in the paper's order."""

from typing import Final

from pipeline.benchmarks.cityeqa.tasks.base import EqaTask
from pipeline.benchmarks.cityeqa.tasks.counting import Counting, Existence
from pipeline.benchmarks.cityeqa.tasks.recognition import AttributeRecognition, ObjectRecognition, WorldKnowledge
from pipeline.benchmarks.cityeqa.tasks.spatial import SpatialReasoning

_ALL: Final[tuple[EqaTask, ...]] = (
    ObjectRecognition(),
    AttributeRecognition(),
    Counting(),
    Existence(),
    SpatialReasoning(),
    WorldKnowledge(),
)
CITY_TASKS: Final[dict[str, EqaTask]] = {task.name: task for task in _ALL}
