"""Configuration of the blind stages: the models to ask without the videos, filtering and pruning."""

from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pipeline.llm.base import EMBEDDED_MODEL, ModelSpec
from pipeline.llm.failures import CUT

NUMBER_THRESHOLD: Final = 0.5  # mean relative accuracy from which a number counts as right
MAX_FAILED: Final = 0.05
SAMPLE: Final = 48  # questions: about eight seconds of the embedded model on two cores
BATCH: Final = 50  # blind.md
NO_OPTIONS: Final = "no_options"  # failure of a question that cannot be put to a model in its form
# Failures that asking again would repeat: such a question counts as answered wrong.
FINAL: Final = frozenset({NO_OPTIONS, "refused", "too_long", CUT})
EMBEDDED: Final = ModelSpec(provider="embedded", model=EMBEDDED_MODEL)
AWAITS_REPLIES: Final = "awaits_replies"  # reason of a question that lacks replies of the panel
Removal = Literal["all_correct", "majority", "any", "none"]


class AskConfig(BaseModel):
    """How a question is put, and when its answer counts as right."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    number_threshold: float = Field(
        default=NUMBER_THRESHOLD, gt=0, le=1, description="mean relative accuracy from which a number is right"
    )
    orders: int | None = Field(
        default=1,
        ge=1,
        description="in how many rotated orders the options are shown; null: as many as there are options, "
        "but one for the embedded model",
    )
    sample: int | None = Field(
        default=None, ge=1, description="how many questions the embedded model is asked at most; null: all"
    )


class RuleConfig(AskConfig):
    """When a question is removed."""

    remove: Removal = Field(
        default="all_correct", description="by how many of the models with a vote it must be answered right"
    )

    def needed(self, models: int) -> int:
        """Right answers that remove a question on which so many models have a vote."""
        return {"all_correct": models, "majority": models // 2 + 1, "any": 1, "none": models + 1}[self.remove]


class BlindConfig(RuleConfig):
    """Stage `blind`: who answers without the video, and how many right answers remove a question."""

    orders: int | None = Field(
        default=None,
        ge=1,
        description="in how many rotated orders the options are shown; null: as many as there are options, "
        "but one for the embedded model",
    )
    sample: int | None = Field(
        default=SAMPLE,
        ge=1,
        description="how many questions the embedded model, which has no vote, is asked at most: drawn by their ids, "
        "as many of each task; null: all. Every other model is asked all questions",
    )
    models: tuple[ModelSpec, ...] = Field(default=(EMBEDDED,), description="asked; keys come from the environment")
    finetune: Path | None = Field(
        default=None,
        description="folder of a causal language model that is fine-tuned on other folds (LoRA) as one more attacker",
    )
    max_failed: float = Field(
        default=MAX_FAILED,
        ge=0,
        le=1,
        description="share of its questions for which a model may fail; beyond it nothing is released (gate panel)",
    )

    @field_validator("models")
    @classmethod
    def _told_apart(cls, models: tuple[ModelSpec, ...]) -> tuple[ModelSpec, ...]:
        names = [model.name for model in models]
        taken = sorted({name for name in names if names.count(name) > 1})
        if taken:
            raise ValueError(f"the name {', '.join(taken)} is taken: give the model another one (name: …)")
        return models


class PruneConfig(BaseModel):
    """Stage `prune`: how the split `debiased` is made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tau: float = Field(default=0.1, ge=0, le=1, description="questions less than this above chance stay")
    budget: int | None = Field(
        default=None,
        ge=0,
        description="remove at most so many questions with options, and so many numbers; null: as many as it takes",
    )
    batch: int = Field(
        default=BATCH, ge=1, description="removed of a task at once, before all is fitted again; a tenth of more"
    )
