"""Gates: what a finished build is held against before it becomes the release that users follow.

Each gate has a figure, a limit and words. A build that passes all of them is released; one that fails is kept beside
the release as a candidate, until somebody accepts it or another build takes its place (`pipeline.release.history`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from pipeline.blind.config import EMBEDDED
from pipeline.blind.totals import unanswered
from pipeline.core.parquet import read_files, released_files
from pipeline.core.schema import Limits, Share
from pipeline.release.released import Released, changed_file

CONTRADICTED: Final = "published_answer_differs"  # finding about a scene
_DECIDED: Final = frozenset({"accepted", "corrected", "mended", "rejected"})  # of `review.verdicts.STATES`
_FIRST: Final = "nothing to compare with: it is the first release of such data"


class GatesConfig(Limits):
    """The losses that a release may have; a build that loses more waits for a decision (`scan2qa release`)."""

    scenes: Share = Field(default=0.02, description="most scenes of the release before without a question, their share")
    questions: Share = Field(
        default=0.05, description="most questions of the release before that are gone, their share"
    )
    known: Share = Field(
        default=0.05, description="most scenes whose data contradict a published answer (`known`), their share"
    )
    review: Share = Field(default=0.05, description="most verdicts of the release before that are lost, their share")


class GateResult(NamedTuple):
    """The finding of a gate.

    Attributes:
        measured: None where there is nothing to measure.
        limit: the most that passes.
        told: the figure in words.
    """

    gate: str
    measured: float | None
    limit: float
    told: str

    @property
    def passed(self) -> bool:
        """Whether the figure is within its limit."""
        return self.measured is None or self.measured <= self.limit

    @property
    def line(self) -> str:
        """The gate with its figure and its limit."""
        figure = "" if self.measured is None else f" ({self.measured:.3g}, limit {self.limit:.3g})"
        return f"{self.gate}: {self.told}{figure}"


@dataclass(frozen=True)
class Candidate:
    """A release that is written and not yet followed.

    Attributes:
        folder: its files.
        before: folder of the release that users follow; None where there is none to compare with.
        released: its summary.
        limits: of the build.
        max_failed: share of its questions for which a model of the panel may have failed.
        audits_known: whether published answers are held against the data.
        known_before: what gate `known` measured of the release before; it need not become better.
    """

    folder: Path
    before: Path | None
    released: Released
    limits: GatesConfig
    max_failed: float
    audits_known: bool
    known_before: float = 0.0


def judge(candidate: Candidate) -> list[GateResult]:
    """The results of all gates, in their order."""
    return [gate(candidate) for gate in GATES.values()]


def _panel(candidate: Candidate) -> GateResult:
    """The largest share of its questions to which a model of the panel did not reply; the embedded one has no vote."""
    models = [m for m in candidate.released.models if m.questions and m.provider != EMBEDDED.provider]
    lost = max((model.lost / model.questions for model in models), default=None)
    none = "no model was asked" + (" but the embedded one, which has no vote" if candidate.released.models else "")
    text = "; ".join(unanswered(models)) or ("all models replied" if models else none)
    return GateResult("panel", lost, candidate.max_failed, text)


def _scenes(candidate: Candidate) -> GateResult:
    """The share of scenes that were asked about and no longer are."""
    return _lost(candidate, "scene", "scenes", candidate.limits.scenes)


def _questions(candidate: Candidate) -> GateResult:
    """The share of questions that are gone, whatever came in their place."""
    return _lost(candidate, "id", "questions", candidate.limits.questions)


def _lost(candidate: Candidate, column: str, what: str, limit: float) -> GateResult:
    before = _values(candidate.before, column)
    if not len(before):
        return GateResult(what, None, limit, _FIRST if candidate.before is None else "the release before has none")
    now = _values(candidate.folder, column).cast(before.type)
    lost = pc.sum(pc.invert(pc.is_in(before, now))).as_py()
    return GateResult(what, lost / len(before), limit, f"{lost:,} of {len(before):,} {what} are gone")


def _known_answers(candidate: Candidate) -> GateResult:
    """The share of scenes whose data contradict an answer that was published about them."""
    limit = max(candidate.limits.known, candidate.known_before)
    scenes = {*_values(candidate.folder, "scene").to_pylist(), *candidate.released.silent}
    if not candidate.audits_known or not scenes:
        return GateResult("known", None, limit, "no published answers are given (known)")
    contradicted = {scene for scene, name, *_ in candidate.released.findings if name == CONTRADICTED} & scenes
    text = f"the data of {len(contradicted):,} of {len(scenes):,} scenes contradict a published answer"
    return GateResult("known", len(contradicted) / len(scenes), limit, text)


def _review(candidate: Candidate) -> GateResult:
    """The share of decided questions, asked before and now, whose verdict does not stand any more.

    A question that was rejected or corrected and has changed since is what its reviewers asked for.
    """
    decided = {i: state for i, state in _states(candidate.before).items() if state in _DECIDED}
    asked = pc.is_in(pa.array(decided, pa.int64()), _values(candidate.folder, "id").cast(pa.int64())).to_pylist()
    decided = {i: state for (i, state), stands in zip(decided.items(), asked, strict=True) if stands}
    limit, now = candidate.limits.review, _states(candidate.folder)
    if not decided:
        return GateResult("review", None, limit, "no question of the release before has a verdict")
    undone = {"waiting", "stale"}
    lost = sum(now.get(i, "waiting") in (undone if was == "accepted" else {"waiting"}) for i, was in decided.items())
    return GateResult(
        "review", lost / len(decided), limit, f"{lost:,} of {len(decided):,} verdicts of reviewers are lost"
    )


def _checksums(candidate: Candidate) -> GateResult:
    """Whether a file on the disk has other bytes than were written."""
    damaged = changed_file(candidate.folder, candidate.released.files)
    text = f"all {len(candidate.released.files):,} files are whole" if damaged is None else f"{damaged} is damaged"
    return GateResult("checksums", float(damaged is not None), 0.0, text)


GATES: Final[Mapping[str, Callable[[Candidate], GateResult]]] = {
    "panel": _panel,
    "scenes": _scenes,
    "questions": _questions,
    "known": _known_answers,
    "review": _review,
    "checksums": _checksums,
}


def _values(release: Path | None, column: str) -> pa.Array:
    """The different values of a column of the provenance; none where there is no release that can be read."""
    table = _table(release, "provenance", [column])
    return pa.array([], pa.null()) if table is None else table[column].unique()


def _states(release: Path | None) -> dict[int, str]:
    """Where the reviewed questions of a release stand, by id."""
    table = _table(release, "review", ["id", "state"])
    return {} if table is None else dict(zip(table["id"].to_pylist(), table["state"].to_pylist(), strict=True))


def _table(release: Path | None, folder: str, columns: list[str]) -> pa.Table | None:
    files = released_files(release / folder) if release else []
    try:
        return read_files(files, columns) if files else None
    except (OSError, pa.ArrowException):  # what is damaged is no measure
        return None
