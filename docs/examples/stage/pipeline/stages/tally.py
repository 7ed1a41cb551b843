"""Stage `tally`: per task of a scene, how many candidates are questions, and for which reasons the others fell."""

import json
from collections import Counter
from typing import Final

from pipeline.core.parquet import read_table
from pipeline.engine.stage import Stage, StageContext


def run(given: StageContext) -> bytes:
    """``{task: {reason: n}}`` as JSON; the reason of questions is "asked"."""
    candidates = read_table(given.needed("generate"))
    counts: dict[str, Counter[str]] = {}
    for task, reason in zip(candidates["task"].to_pylist(), candidates["reason"].to_pylist(), strict=True):
        counts.setdefault(task, Counter())[reason or "asked"] += 1
    return json.dumps(counts, indent=1, sort_keys=True).encode()


TALLY: Final = Stage(name="tally", suffix=".json", module=__name__, run=run, requires=("generate",))
