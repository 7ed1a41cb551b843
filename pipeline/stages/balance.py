"""Stage `balance`: over all scenes, which classes of a task go first, and how many stay.

It looks at the counts of stage `answer_counts` alone.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

from pipeline.engine.stage import Stage, StageContext
from pipeline.questions.balance import balance_of
from pipeline.stages.select import is_balanced, tallies_of


def run(context: StageContext) -> bytes:
    """The `questions.balance.Balance` of the build, as JSON."""
    found = balance_of(map(tallies_of, context.all_bytes("answer_counts")))
    return json.dumps(asdict(found), sort_keys=True).encode()


BALANCE: Final = Stage(
    name="balance",
    suffix=".json",
    module=__name__,
    run=run,
    unit="build",
    requires=("answer_counts",),
    is_wanted=is_balanced,
)
