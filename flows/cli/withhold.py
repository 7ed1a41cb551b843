"""The command `scan2qa withhold`: a release without its answers, which lie in a file of their own."""

from __future__ import annotations

from pathlib import Path

from flows.cli.output.console import console, count_of, print_json
from flows.cli.score import scorable
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.release.withheld import withhold
from pipeline.scoring.score import split_of


def withhold_answers(name: str, release: Path, split: str | None, to: Path, answers: Path) -> None:
    """Writes what may be published, and the answers. Raises ConfigError where something published tells an answer."""
    scorable(name)
    source = split_of(release, split)
    n = withhold(BENCHMARKS[name], source.questions, release, to, answers)
    console.print(f"{count_of(n, 'question')} without answers: {to}", soft_wrap=True)
    console.print(f"Answers, not to be published: {answers}", soft_wrap=True)
    print_json({"release": str(to), "answers": str(answers), "questions": n, "split": source.name})
