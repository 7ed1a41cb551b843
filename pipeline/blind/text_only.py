"""Accuracy without the video, per task: the rows of a release's blind table."""

from __future__ import annotations

from typing import Final

from pydantic import Field, FiniteFloat

from pipeline.core.schema import Model

FINE_TUNED: Final = "LoRA fine-tuned"  # the name of such an attacker, before that of its model


class Guessed(Model):
    """Scores of guessing on one task of one split: accuracy for options, mean relative accuracy for numbers."""

    n: int = Field(ge=1, description="questions")
    chance: FiniteFloat = Field(description="of a random answer")
    earned: dict[str, FiniteFloat] = Field(
        description="attacker (a prior or the forest) -> mean score, on other scenes"
    )
    frequency: FiniteFloat | None = Field(
        default=None, description="of the commonest answer, or the best constant, of these very questions"
    )
    errors: dict[str, FiniteFloat] = Field(description="attacker -> standard error of its score; none of one scene")


class Voter(Model):
    """A model's right answers on one task. A question counts where it was right in all orders it was asked in."""

    asked: int = Field(ge=1, description="questions that it was asked: all, or of the embedded model a sample")
    right: FiniteFloat = Field(description="share of the questions asked")
    right_released: FiniteFloat | None = Field(description="share of those that stay; None: none stays")
    luck: FiniteFloat = Field(description="share that its answers would have right if truths were shuffled")
    standing: str = Field(description="votes, constant, no better than luck, or reported only")
    unanswered: int = Field(ge=0, description="requests without a reply")
    unread: int = Field(ge=0, description="replies in which no answer was found")


class TextOnly(Model):
    """One task without its videos, before and after what was removed for it."""

    task: str
    asked: Guessed = Field(description="all questions that were selected")
    released: Guessed | None = Field(description="what blind filtering left; None: nothing")
    debiased: Guessed | None = Field(description="what pruning left; None: it did not run")
    voters: dict[str, Voter]
    agreement: FiniteFloat | None = Field(description="share of pairs of models with the same answer")
    answered: int = Field(ge=0, description="removed, since the panel answered them")
    balanced: int = Field(ge=0, description="removed besides, so that no answer became more frequent")
    by_luck: FiniteFloat = Field(description="how many the panel's answers would remove if truths were shuffled")
