"""Token usage, and its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True)
class Usage:
    """Tokens that a reply took; thinking counts as output."""

    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.input_tokens + other.input_tokens, self.output_tokens + other.output_tokens)


NOTHING: Final = Usage()


class Price(BaseModel):
    """US dollars per million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0, description="US dollars per million tokens that are sent")
    output: float = Field(ge=0, description="US dollars per million tokens of replies")

    def cost_usd(self, usage: Usage) -> float:
        """The cost of a number of tokens, in US dollars."""
        return (self.input * usage.input_tokens + self.output * usage.output_tokens) / 1e6
