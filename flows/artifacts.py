"""What a build's end shows in Prefect: what ran, what became of the candidates, what was left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact

from flows.diff import report_of
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig
from pipeline.engine.manifest import Outcome
from pipeline.release.comparison_report import markdown
from pipeline.release.history import RELEASE, RELEASES
from pipeline.release.writer import Released


def show_in_prefect(config: BuildConfig, folder: Path, outcome: Outcome, newest_before: str | None) -> None:
    """Makes the artifacts of the flow run that is under way; ``newest_before``: the newest release before it."""
    name = config.build.replace("_", "-")  # keys have no other sign
    whys = sorted({why for row in outcome.counts().values() for why in row}, key=lambda why: (why == "reused", why))
    rows: list[dict[str, Any]] = [
        {"stage": stage, **{why: row.get(why, "") for why in whys}} for stage, row in outcome.counts().items()
    ]
    create_table_artifact(rows, key=f"{name}-stages", description="What ran, and why")
    if outcome.released:
        create_table_artifact(_questions(outcome.released), key=f"{name}-questions", description="Questions")
        create_markdown_artifact(_funnel(outcome.released), key=f"{name}-funnel", description="From candidates on")
    if outcome.quarantine:
        left_out = [fault.model_dump() for fault in outcome.quarantine]
        create_table_artifact(left_out, key=f"{name}-quarantine", description="Left out")
    release = folder / RELEASE
    if release.is_dir():
        link = release.resolve()
        create_link_artifact(
            link.as_uri(), link_text=str(link), key=f"{name}-release", description="The newest release"
        )
    older = folder / RELEASES / newest_before if newest_before else None
    if older and older.is_dir() and release.is_dir() and older.resolve() != release.resolve():
        try:
            text = markdown(report_of(older, release.resolve(), f"What changed in {config.build}")).decode()
        except ConfigError as error:  # a release that cannot be compared costs no build
            text = f"What changed cannot be told: {error}"
        create_markdown_artifact(text, key=f"{name}-diff", description="What changed since the last release")


def _questions(released: Released) -> list[dict[str, Any]]:
    """A row for each task: what is asked, what was dropped, and the most frequent answer."""
    rows = []
    for task in sorted({*released.questions, *released.rejections}):
        answers, n = released.answers.get(task, {}), released.questions.get(task, 0)
        top = max(answers, key=lambda a: (answers[a], a)) if answers else ""
        dropped = sum(released.rejections.get(task, {}).values())
        rows.append({"task": task, "questions": n, "dropped": dropped, "most frequent answer": top})
    return rows


def _funnel(released: Released) -> str:
    """All candidates, what each reason cost, and what is left, as a table in Markdown."""
    reasons: Counter[str] = Counter()
    for row in released.rejections.values():
        reasons.update(row)
    asked = sum(released.questions.values())
    lines = ["| | candidates |", "|---|---:|", f"| **all** | {asked + reasons.total():,} |"]
    lines += [f"| {reason.replace('_', ' ')} | −{n:,} |" for reason, n in reasons.most_common()]
    return "\n".join([*lines, f"| **questions** | {asked:,} |", ""])
