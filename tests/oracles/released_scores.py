"""Scoring as the released VSI-Bench does it (lmms-eval, task ``vsibench``), with its ways of going wrong.

The answer is what stands before the first blank, without trailing dots, compared without case. So "The answer is B" is
wrong and so is " B"; "2.5m" is no number. Models' published scores are made this way.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from pipeline.metrics.mra import mean_relative_accuracy


def first_word(reply: str) -> str:
    """What the released scorer takes for the answer; "" for an empty reply or one that begins with a blank."""
    return reply.split(" ", maxsplit=1)[0].rstrip(".").strip()


def accuracy(reply: str, truth: str) -> float:
    """1 where the first word is the truth, whatever its case, else 0."""
    return float(first_word(reply).lower() == truth.lower())


def relative_accuracy(reply: str, truth: Decimal | float) -> float:
    """Mean relative accuracy of the first word; 0 where it is no number."""
    try:
        return mean_relative_accuracy(Decimal(first_word(reply)), truth)
    except InvalidOperation:
        return 0.0
