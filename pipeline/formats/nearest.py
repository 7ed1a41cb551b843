"""What files look like that no reader takes as they are, and what helps."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from pipeline.core.templates import load_table

_KNOWN: Final[list[tuple[str, str, str]]] = [tuple(row) for row in load_table("formats")]


def nearest_format(path: Path) -> str | None:
    """Says what a file looks like, or a folder by what lies in it or one below, and what helps; None: nothing known."""
    for pattern, what, remedy in _KNOWN:
        if path.is_dir():
            fits = any(True for wanted in (pattern, f"*/{pattern}") for _ in path.glob(wanted))
        else:
            fits = fnmatchcase(path.name.lower(), pattern)
        if fits:
            return f"this looks like {what}: {remedy}"
    return None
