"""The outcome of a build as JSON-like values: what `--json` prints."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from flows.forecast import Outlook
from pipeline.core.fixes import DROPPED
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import Outcome
from pipeline.release.history import RELEASE


def told(config: BuildConfig, folder: Path, outcome: Outcome) -> dict[str, Any]:
    """What a build, a stage or a dry run did: why units ran by stage, questions, what was dropped, what is left out."""
    released = outcome.released
    return {
        "build": config.build,
        "benchmark": config.benchmark,
        "folder": str(folder),
        "configuration": config.digest(),
        "complete": all(row.finding == DROPPED for row in outcome.quarantine),
        "stages": outcome.counts(),
        "release": None if released is None else str(folder / RELEASE),
        "questions": {} if released is None else released.questions,
        "dropped": {} if released is None else released.rejections,
        "left_out": [row.model_dump() for row in outcome.quarantine],
    }


def foretold(found: Outlook) -> dict[str, Any]:
    """What a dry run foresees."""
    return {
        "questions_at_most": dict(found.bounds.by_task),
        "for_lack_of": [asdict(cost) for cost in found.bounds.costs],
        "models": None if found.models is None else [asdict(row) for row in found.models],
        "time_and_disk": [asdict(one) for one in found.efforts],
    }
