"""Text of others in Markdown."""

from __future__ import annotations

import re


def plain(text: str) -> str:
    """Text on one line, or in a cell of a table, where nothing of it is markup."""
    return re.sub(r"([\\`*_\[\]<>|&#])", r"\\\1", " ".join(text.split()))
