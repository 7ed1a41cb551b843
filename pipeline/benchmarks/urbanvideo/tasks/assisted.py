"""The tasks that only a model can author: it writes the question, or the phrase that the template asks about."""

from __future__ import annotations

from pipeline.benchmarks.urbanvideo.cases import UrbanTask


class SceneRecall(UrbanTask):
    """Operands: when, in words ("during the descent near the destination")."""

    name = "Scene Recall"
    template = "urban/scene_recall"
    slots = ("when",)
    model_assisted = True
    facts = False
    definition = "Describe the scene that the agent observes during a given movement."
    example = "What scene is observed in the initial stage?"


class Causal(UrbanTask):
    """Operands: what the drone does, in words ("tilt the camera down when it nears the red building")."""

    name = "Causal"
    template = "urban/causal"
    slots = ("action",)
    model_assisted = True
    facts = False
    definition = "Tell why the agent performed a given action."
    example = "Why does the UAV adjust the pan tilt angle downwards when nearly approaching the red building?"


class Counterfactual(UrbanTask):
    """Operands: what the drone does ("ascending at first"), and what it might do ("flies at a lower altitude")."""

    name = "Counterfactual"
    template = "urban/counterfactual"
    slots = ("actual", "alternative")
    model_assisted = True
    facts = False
    definition = "Tell whether an alternative movement would also complete the task, and how its route would be."
    example = (
        "Instead of ascending in the initial stage, if the UAV flies at a lower altitude, can it still find the red "
        "building in a nearby school?"
    )
