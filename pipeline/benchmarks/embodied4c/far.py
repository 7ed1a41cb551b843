"""Domain-far questions (GEN): a bank of our own, never about a log. They show whether a model still knows the rest."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

import yaml

from pipeline.core.errors import TemplateError
from pipeline.core.templates import TEMPLATES_DIR

FILE: Final = TEMPLATES_DIR / "embodied4c" / "domain_far.yaml"


class Far(NamedTuple):
    """One question of the bank."""

    subject: str
    question: str
    answer: str
    accepted: tuple[str, ...]


@cache
def bank() -> tuple[Far, ...]:
    """All of them, in the order of the file. Raises TemplateError for a file that cannot be read."""
    try:
        told = yaml.safe_load(FILE.read_text(encoding="utf-8"))
        found = tuple(
            Far(subject, question, answer, tuple(accepted))
            for subject, rows in told.items()
            for question, answer, *accepted in rows
        )
    except (OSError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise TemplateError(f"{FILE}: cannot be read as a bank of questions: {error}") from error
    wrong = [far.question for far in found if not all(isinstance(text, str) for text in (*far[:3], *far.accepted))]
    wrong += [far.question for far in found if far.answer[:1].isdigit()]  # who guesses is offered words
    if wrong or len({far.question for far in found}) < len(found):
        raise TemplateError(
            f"{FILE}: {wrong or 'a question'} is no text, has digits for an answer, or stands there twice"
        )
    return found
