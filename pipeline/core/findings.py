"""What is wrong with raw data: what, where, by how much, and what to do (see `schema.Finding`)."""

from __future__ import annotations

from typing import Any, Literal

from pipeline.core.schema import Finding

Measured = tuple[float | None, float | None, str | None]


class Findings:
    """Collects the findings of one scene."""

    def __init__(self) -> None:
        self.items: list[Finding] = []

    @property
    def faults(self) -> list[Finding]:
        """The findings that make the scene unusable."""
        return [f for f in self.items if f.severity == "fault"]

    def fault(self, name: str, subject: str, message: str, remedy: str = "follow the released layout") -> None:
        """Something that makes the scene unusable."""
        self._add("fault", name, subject, message, remedy, (None, None, None))

    def doubt(self, name: str, subject: str, message: str, remedy: str, measured: Measured) -> None:
        """Something that makes one category (or "room") doubtful."""
        self._add("doubt", name, subject, message, remedy, measured)

    def note(self, name: str, subject: str, message: str, remedy: str, measured: Measured) -> None:
        """Something that is wrong but that no answer depends on."""
        self._add("note", name, subject, message, remedy, measured)

    def _add(
        self,
        severity: Literal["fault", "doubt", "note"],
        name: str,
        subject: str,
        message: str,
        remedy: str,
        measured: Measured,
    ) -> None:
        value, limit, unit = measured
        self.items.append(
            Finding(
                name=name,
                severity=severity,
                subject=printable(subject),
                message=printable(message),
                measured=value,
                limit=limit,
                unit=unit,
                remedy=remedy,
            )
        )

    def unique_keys(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """Hook for `json.loads`: an object with a key given twice is a fault."""
        result = dict(pairs)
        if len(result) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = sorted({key for key in keys if keys.count(key) > 1})
            self.fault("duplicate_key", ", ".join(twice), f"given more than once: {', '.join(twice)}", "keep one")
        return result


def printable(text: str) -> str:
    """The text on one line, with control characters and halves of characters as escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def note(
    name: str,
    message: str,
    remedy: str,
    measured: float | None = None,
    limit: float | None = None,
    unit: str | None = None,
    subject: str = "log",
) -> Finding:
    """Something that no answer depends on, or that was mended."""
    return Finding(
        name=name,
        severity="note",
        subject=subject,
        message=message,
        measured=measured,
        limit=limit,
        unit=unit,
        remedy=remedy,
    )


def doubt(
    name: str,
    message: str,
    remedy: str,
    measured: float | None = None,
    limit: float | None = None,
    unit: str | None = None,
    subject: str = "log",
) -> Finding:
    """Something that an answer may depend on."""
    return note(name, message, remedy, measured, limit, unit, subject).model_copy(update={"severity": "doubt"})
