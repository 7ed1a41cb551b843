"""Texts of questions: a template has several wordings, and which is taken is drawn from the question's identity."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.core.identity import digest
from pipeline.core.templates import load_template


def worded(template: str, identity: Sequence[str], **fields: str) -> str:
    """A question's text in one of the wordings of a template (its ``text`` and those in ``also_parsed``).

    Raises TemplateError where a field would make it read in two ways.
    """
    found = load_template(template)
    wordings = (found.text, *found.also_parsed)
    drawn = int.from_bytes(digest("wording", found.id, *identity)[:8], "big") % len(wordings)
    return found.model_copy(update={"text": wordings[drawn]}).render(dict(fields))
