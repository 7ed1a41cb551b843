"""How often a trial is made: seldom in the suite, often where one asks for it (`make torture`, docs/reliability.md)."""

from __future__ import annotations

import os
from typing import Final

LONG: Final = os.environ.get("SCAN2QA_TORTURE", "") not in ("", "0")


def times(short: int, long: int) -> int:
    """How often: ``short`` in the suite, ``long`` under torture."""
    return long if LONG else short
