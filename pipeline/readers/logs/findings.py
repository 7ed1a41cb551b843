"""What readers of flight logs say about a log, in the words of `Finding`."""

from __future__ import annotations

from pipeline.schema import Finding


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
