"""The environment of the tests: trials at length (`make torture`), the machine's pace, real data, no network."""

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

# Read when `datasets` is imported: without it, loading a file asks the network first, and waits for minutes where
# there is none.
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

LONG: Final = os.environ.get("SCAN2QA_TORTURE", "") not in ("", "0")


def times(short: int, long: int) -> int:
    """How often: ``short`` in the suite, ``long`` under torture."""
    return long if LONG else short


LOOPS: Final = 1_000_000
LOOP_S: Final = 0.04  # that many additions on the machine for which limits are written


@cache
def pace() -> float:
    """How many times as long as the machine for which limits are written this one takes; never below 1."""
    start, total = time.process_time(), 0
    for number in range(LOOPS):
        total += number
    return max(1.0, (time.process_time() - start) / LOOP_S)


def fastest_s(call: Callable[[], object]) -> float:
    """Processor seconds of the fastest of three calls: other threads and a heap to collect only ever add to them."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


REAL_DATA: Final = Path(os.environ.get("SCAN2QA_REAL_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
