"""The summary of a release: what was written and counted, and whether its files are still what it says."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel

from pipeline.blind.config import AWAITS_REPLIES
from pipeline.blind.totals import ModelTotals, TextOnly
from pipeline.core.files import sha256_of_file
from pipeline.core.tables import CHECKSUMS, UNCHECKED

PENDING: Final = "pending"  # configuration of the questions that await replies of the panel
# Configurations of questions that are held back, by the reason in the rejections.
HELD: Final[Mapping[str, str]] = {AWAITS_REPLIES: PENDING, UNCHECKED: UNCHECKED}


class Released(BaseModel):
    """Summary of a release: what was written, and the counts that the final table shows."""

    files: dict[str, str]  # path within the release -> SHA-256
    questions: dict[str, int]  # task -> number
    rejections: dict[str, dict[str, int]]  # task -> reason -> number
    answers: dict[str, dict[str, int]]  # task -> answer -> number, multiple choice only
    letters: dict[str, dict[str, int]]
    flags: dict[str, int]
    findings: list[list[str]]  # scene, name, severity, message, remedy; without the last in older releases
    splits: dict[str, list[int]] = {}  # of a benchmark that has any -> questions, groups, groups of other splits too
    blind: list[TextOnly]
    models: list[ModelTotals]
    reviewed: dict[str, int] = {}  # questions by their status in human review; empty before the first verdict
    silent: dict[str, dict[str, int]] = {}  # scene of which nothing is asked -> reason -> number
    # Frame budget -> task -> reason why questions have no answer in it ("": they have one) -> number.
    budgets: dict[str, dict[str, dict[str, int]]] = {}

    @property
    def held(self) -> dict[str, int]:
        """Number of questions that are held back, by their configuration."""
        return {name: sum(row.get(reason, 0) for row in self.rejections.values()) for reason, name in HELD.items()}


def changed_file(folder: Path, files: dict[str, str]) -> str | None:
    """The first file of a release that is missing or has another SHA-256 than it is to have; None: all is whole."""
    for name, sha256 in files.items():
        try:
            if sha256_of_file(folder / name) != sha256:
                return name
        except OSError:
            return name
    try:
        return None if (folder / CHECKSUMS).read_bytes() == checksums(files) else CHECKSUMS
    except OSError:
        return CHECKSUMS


def checksums(sums: dict[str, str]) -> bytes:
    """The checksums as text that ``sha256sum --check`` reads."""
    return "".join(f"{s}  {name}\n" for name, s in sorted(sums.items())).encode()
