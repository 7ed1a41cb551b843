"""Findings in raw data: the problem, its place, its size and the remedy (see `schema.Finding`).

`fault`, `doubt` and `note` make one finding each; a reader of several files of a scene collects them in `Findings`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pipeline.core.errors import MESSAGE_CHARS, SUBJECT_CHARS, shortened
from pipeline.core.schema import Finding


class Findings:
    """Collects the findings of one scene."""

    def __init__(self) -> None:
        self.items: list[Finding] = []

    @property
    def faults(self) -> list[Finding]:
        """The findings that make the scene unusable."""
        return [f for f in self.items if f.severity == "fault"]

    def add(self, *found: Finding) -> None:
        """Keeps what was found, in this order."""
        self.items.extend(found)

    def after(self, found: Iterable[Finding]) -> Findings:
        """These, after what was found before."""
        both = Findings()
        both.add(*found, *self.items)
        return both

    def unique_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Hook for `json.loads`: an object with a key given twice is a fault."""
        result = dict(pairs)
        if len(result) < len(pairs):
            count = Counter(key for key, _ in pairs)
            repeated = ", ".join(sorted(key for key in count if count[key] > 1))
            self.add(fault("duplicate_key", repeated, f"given more than once: {repeated}", "keep one"))
        return result


def fault(name: str, subject: str, message: str, remedy: str = "follow the released layout") -> Finding:
    """Something that makes the scene unusable.

    Args:
        name: short and machine-readable, for example ``"box_not_finite"``.
        subject: the category, key, line or file that it is about.
        message: what was found, with the offending value.
        remedy: what the user can do about it.
    """
    return note(name, subject, message, remedy).model_copy(update={"severity": "fault"})


def doubt(
    name: str,
    subject: str,
    message: str,
    remedy: str,
    measured: float | None = None,
    limit: float | None = None,
    unit: str | None = None,
) -> Finding:
    """Something that an answer about its subject (a category, "room", "log") may depend on.

    Arguments as for `fault`; ``measured`` is the value that shows it, ``limit`` what it was held against, ``unit`` that
    of both, for example ``"m"``, or what was counted.
    """
    return note(name, subject, message, remedy, measured, limit, unit).model_copy(update={"severity": "doubt"})


def note(
    name: str,
    subject: str,
    message: str,
    remedy: str,
    measured: float | None = None,
    limit: float | None = None,
    unit: str | None = None,
) -> Finding:
    """Something that is wrong or was mended, and that no answer depends on. Arguments as for `doubt`."""
    return Finding(
        name=name,
        severity="note",
        subject=printable(shortened(subject, SUBJECT_CHARS)),
        message=printable(shortened(message, MESSAGE_CHARS)),
        measured=measured,
        limit=limit,
        unit=unit,
        remedy=remedy,
    )


def printable(text: str) -> str:
    """The text on one line, with control characters and halves of characters as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
