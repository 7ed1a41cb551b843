"""Scoring as public tools do it, to the last digit, with their ways of going wrong: published scores are made this way.

The released VSI-Bench takes what stands before the first blank, without trailing dots, compared without case: "The
answer is B" is wrong and so is " B"; "2.5m" is no number. lmms-eval, its successor (0.7), does so for letters, and of
numbers takes the first in the reply, in digits or in English words.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from pipeline.metrics.number_words import VALUES

# As the released code makes them, in doubles: 1 - 0.8 is a little less than a fifth, so 4 for 5 earns 0.6 and not 0.7.
_CONFIDENCES: Final = np.linspace(0.5, 0.95, 10)
_DIGITS: Final = re.compile(r"-?\d+(?:\.\d+)?")
_WORD: Final = re.compile(r"[a-z]+")
_LARGEST: Final = 10**300  # "hundred hundred hundred …": beyond it doubles end
_SCALES: Final = {"hundred": 100, "thousand": 1000}


def first_word(reply: str) -> str:
    """The word that the released scorer takes for the answer; "" for an empty reply or one that begins with a blank."""
    return reply.split(" ", maxsplit=1)[0].rstrip(".").strip()


def accuracy(reply: str, truth: str) -> float:
    """1 where the first word is the truth, whatever its case, else 0."""
    return float(first_word(reply).lower() == truth.lower())


def relative_accuracy(guess: float | None, truth: float) -> float:
    """Mean relative accuracy in the arithmetic of the released code; 0 where there is no number."""
    if guess is None or np.isnan(guess):
        return 0.0
    if truth == 0:  # where the released code fails
        return float(guess == 0)
    return float((abs(guess - truth) / truth <= 1 - _CONFIDENCES).mean())


def number_of_first_word(reply: str) -> float | None:
    """The first word as a number; None where it is none."""
    try:
        return float(first_word(reply))
    except ValueError:
        return None


def first_number(reply: str) -> float | None:
    """The number that stands first in a reply, in digits or in words, as lmms-eval reads it; None where it has none."""
    text = reply.strip().lower()
    digits = _DIGITS.search(text)
    words = list(_WORD.finditer(text))
    first = next((n for n, word in enumerate(words) if word[0] in VALUES or word[0] in _SCALES), None)
    if digits and (first is None or digits.start() < words[first].start()):
        return float(digits[0])
    if first is None:
        return None
    total = current = 0
    for word in (word[0] for word in words[first:]):
        if word in VALUES:
            current += VALUES[word]
        elif word == "hundred":
            current = max(current, 1) * _SCALES[word]
        elif word == "thousand":
            total, current = total + max(current, 1) * _SCALES[word], 0
        elif word != "and":
            break
    return float(min(total + current, _LARGEST))
