"""What the environment asks of the tests: trials at length (`make torture`), where real data lie, no network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

# Read when `datasets` is imported: without it, loading a file asks the network first, and waits for minutes where
# there is none.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

LONG: Final = os.environ.get("SCAN2QA_TORTURE", "") not in ("", "0")


def times(short: int, long: int) -> int:
    """How often: ``short`` in the suite, ``long`` under torture."""
    return long if LONG else short


REAL_DATA: Final = Path(os.environ.get("SCAN2QA_REAL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
