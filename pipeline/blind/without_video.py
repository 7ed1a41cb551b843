"""What answering without the video earns, per task."""

from __future__ import annotations

from typing import Final

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Model

PRIOR: Final = "prior: "  # begins the name of a voter that is no model


def is_prior(voter: str) -> bool:
    """Whether a voter is a prior: a guess from frequencies, no model."""
    return voter.startswith(PRIOR)


class WithoutVideo(Model):
    """What answering a task without the video earns: accuracy for options, mean relative accuracy for numbers."""

    task: str
    n: int = Field(ge=0, description="questions, those that were removed for it included")
    chance: FiniteFloat
    most_frequent: FiniteFloat
    median: FiniteFloat | None = Field(description="None: the task has options")
    by_name: FiniteFloat = Field(description="the guess by the names in the question and its options")
    forest: FiniteFloat | None = Field(description="of the stress test on what blind filtering left; None: not run")
    voters: dict[str, FiniteFloat] = Field(description="model or prior -> share of right answers under the rule")
    unanswered: dict[str, int] = Field(description="model -> questions without a reply")
    unread: dict[str, int] = Field(description="model -> replies in which no answer was found")
    agreement: FiniteFloat | None = Field(description="share of pairs of models with the same answer")
    removed: int = Field(ge=0, description="by blind filtering")
    by_luck: FiniteFloat = Field(description="expected number removed if all voters guessed")
    debiased: int | None = Field(description="questions of the split debiased; None: bias pruning did not run")
    forest_left: FiniteFloat | None = Field(description="of the stress test on the split debiased")
