"""The 16 tasks of UrbanVideo-Bench, by their released names."""

from typing import Final

import pyarrow as pa

from pipeline.benchmarks.urbanvideo.cases import UrbanTask
from pipeline.benchmarks.urbanvideo.rules import UrbanView
from pipeline.benchmarks.urbanvideo.tasks.captions import TrajectoryCaptioning
from pipeline.benchmarks.urbanvideo.tasks.goal import Association, GoalDetection, StartEndPosition
from pipeline.benchmarks.urbanvideo.tasks.landmarks import HighLevelPlanning, LandmarkPosition, ObjectRecall
from pipeline.benchmarks.urbanvideo.tasks.maps import CognitiveMap
from pipeline.benchmarks.urbanvideo.tasks.proximity import Duration, Proximity
from pipeline.benchmarks.urbanvideo.tasks.sequence import ActionGeneration, ProgressEvaluation, SequenceRecall
from pipeline.core.tables import NO_CANDIDATES


class Assisted(UrbanTask):
    """A task that no facts answer: it has no candidates of its own."""

    model_assisted = True
    reads = "look"

    def candidates(self, view: UrbanView) -> pa.Table:
        """No candidate: only stage `author` makes some."""
        return NO_CANDIDATES


class SceneRecall(Assisted):
    """Operands: when, in words ("during the descent near the destination")."""

    name = "Scene Recall"
    share = 111
    category = "Recall"
    template = "urbanvideo/questions/scene_recall"
    slots = ("when",)
    definition = "Describe the scene that the agent observes during a given movement."
    example = "What scene is observed in the initial stage?"


class Causal(Assisted):
    """Operands: what the drone does, in words ("tilt the camera down when it nears the red building")."""

    name = "Causal"
    share = 110
    category = "Reasoning"
    question_form = "why"
    template = "urbanvideo/questions/causal"
    slots = ("action",)
    definition = "Tell why the agent performed a given action."
    example = "Why does the UAV adjust the pan tilt angle downwards when nearly approaching the red building?"


class Counterfactual(Assisted):
    """Operands: what the drone does ("ascending at first"), and what it might do ("flies at a lower altitude")."""

    name = "Counterfactual"
    share = 132
    category = "Reasoning"
    question_form = "if"
    template = "urbanvideo/questions/counterfactual"
    slots = ("actual", "alternative")
    definition = "Tell whether an alternative movement would also complete the task, and how its route would be."
    example = (
        "Instead of ascending in the initial stage, if the UAV flies at a lower altitude, can it still find the red "
        "building in a nearby school?"
    )


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
