"""Wordings of a kind of question: several, of which each question has one that is drawn from what it is."""

from __future__ import annotations

from typing import Final

from pipeline.core.identity import rng_for
from pipeline.core.templates import load_template

FOLDER: Final = "embodied4c/parts/"


def part(kind: str) -> str:
    """The template of a kind."""
    return FOLDER + kind


def worded(kind: str, identity: tuple[str, ...], **fields: str) -> str:
    """A question in one of its wordings, which ``identity`` draws."""
    template = load_template(part(kind))
    wordings = (template.text, *template.also_parsed)
    chosen = wordings[int(rng_for("wording", kind, *identity).integers(len(wordings)))]
    text = chosen.format_map(fields)
    return text[:1].upper() + text[1:]
