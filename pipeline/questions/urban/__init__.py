"""The 16 tasks of UrbanVideo-Bench, by their released names."""

from __future__ import annotations

from typing import Final

from pipeline.questions.urban.assisted import Causal, Counterfactual, SceneRecall
from pipeline.questions.urban.base import UrbanTask
from pipeline.questions.urban.candidates import urban_candidates
from pipeline.questions.urban.captions import TrajectoryCaptioning
from pipeline.questions.urban.duration import Duration
from pipeline.questions.urban.ends import ObjectRecall, StartEndPosition
from pipeline.questions.urban.goal import Association, GoalDetection
from pipeline.questions.urban.maps import CognitiveMap
from pipeline.questions.urban.planning import HighLevelPlanning
from pipeline.questions.urban.position import LandmarkPosition
from pipeline.questions.urban.progress import ProgressEvaluation
from pipeline.questions.urban.proximity import Proximity
from pipeline.questions.urban.rules import UrbanRules
from pipeline.questions.urban.sequence import ActionGeneration, SequenceRecall
from pipeline.questions.urban.view import FlightView

__all__ = ["URBAN_TASKS", "FlightView", "UrbanRules", "UrbanTask", "urban_candidates"]

# In the order of table 1: recall, perception, reasoning, navigation.
_ALL: Final[tuple[UrbanTask, ...]] = (
    TrajectoryCaptioning(),
    SequenceRecall(),
    ObjectRecall(),
    SceneRecall(),
    StartEndPosition(),
    Proximity(),
    Duration(),
    LandmarkPosition(),
    GoalDetection(),
    CognitiveMap(),
    Causal(),
    Counterfactual(),
    Association(),
    ProgressEvaluation(),
    HighLevelPlanning(),
    ActionGeneration(),
)
URBAN_TASKS: Final[dict[str, UrbanTask]] = {task.name: task for task in _ALL}
