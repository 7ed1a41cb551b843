"""Details of a question, a rejected candidate or a scene: all that a release holds of it, ready to be shown."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

from pipeline.core.groups import by_frequency, grouped
from pipeline.core.schema import AnyScene, Finding
from pipeline.core.spatial import TopDownMap
from pipeline.core.templates import in_unit
from pipeline.rendering.examples import ShownQuestion
from pipeline.rendering.near_misses import distinct_digits
from pipeline.review.maps import map_after
from pipeline.review.verdicts import STATES

DOUBT: Final = "doubt"
_NOT_REVIEWED: Final = "not reviewed"


class BlindReplies(NamedTuple):
    """The answers of a model without the video: in how many of so many ways of asking it was right."""

    model: str
    form: str
    asked: int
    right: int
    answers: tuple[str, ...]
    failed: int


class QuestionDetail(NamedTuple):
    """A question.

    Attributes:
        shown: the question with what proves it.
        remarks: its flags.
        doubts: findings of its scene that no fix took away, those about what it names first.
        touched: how many of these are about what it names.
        made: what it was made from: name and value.
        guessed: by whom, without the video.
        bias: what pruning says of it; empty where it did not run.
        review: where it stands.
    """

    shown: ShownQuestion
    remarks: tuple[str, ...]
    doubts: tuple[Finding, ...]
    touched: int
    made: tuple[tuple[str, str], ...]
    guessed: tuple[BlindReplies, ...]
    bias: str
    review: str

    @property
    def doubtful(self) -> tuple[str, ...]:
        """Names of the doubts about what it names, and its remarks: what one may filter by."""
        own = (f.name for f in self.doubts[: self.touched] if f.severity == DOUBT)
        return tuple(dict.fromkeys((*own, *self.remarks)))


class RejectionDetail(NamedTuple):
    """A rejected candidate; ``map`` is SVG that marks the things it would have asked about, or None."""

    id: int
    scene: str
    task: str
    role: str
    about: tuple[str, ...]
    reason: str
    means: str
    measured: str
    limit: str
    unit: str
    map: str | None
    guessed: tuple[BlindReplies, ...]

    @property
    def measured_text(self) -> str:
        """The measured value and the limit; empty where nothing is measured for the reason."""
        if not self.measured:
            return ""
        limit = f", limit {in_unit(self.limit, self.unit)}" if self.limit else ""
        return in_unit(self.measured, self.unit) + limit


class SceneDetail(NamedTuple):
    """A scene: its questions and rejected candidates by task and reason, its findings, its files; ``map`` is SVG."""

    id: str
    questions: Mapping[str, int]
    dropped: Mapping[str, Mapping[str, int]]
    findings: tuple[Finding, ...]
    made: tuple[tuple[str, str], ...]
    map: str | None


def detail(
    shown: ShownQuestion,
    row: Mapping[str, Any],
    scene: AnyScene | None,
    replies: Sequence[Mapping[str, Any]],
    stand: Mapping[str, Any] | None,
    budgets: Sequence[Mapping[str, Any]] = (),
) -> QuestionDetail:
    """Everything about a question.

    Args:
        shown: the question itself.
        row: its row of the provenance.
        scene: its scene; None where that is not at hand.
        replies: its rows of the release's table `blind`.
        stand: its row of the table `review`; None: nobody reviewed any.
        budgets: its rows of the table `budgets`.
    """
    named = set(row["operands"] or ())
    found = sorted(scene.findings if scene else (), key=lambda f: (f.subject not in named, f.severity != DOUBT))
    return QuestionDetail(
        shown,
        tuple(row["flags"] or ()),
        tuple(found),
        sum(f.subject in named for f in found),
        made_from(row, budgets),
        guessed(replies),
        _bias(row),
        _review(stand),
    )


def dropped(
    row: Mapping[str, Any],
    words: Mapping[str, str],
    sketch: TopDownMap | None,
    replies: Sequence[Mapping[str, Any]] = (),
) -> RejectionDetail:
    """A row of a release's rejections; ``words``: `glossary.glossary`; a map is drawn from a sketch."""
    measured, limit = row["measured"], row["limit"]
    both = distinct_digits(measured, limit) if measured is not None and limit is not None else None
    one, other = both or ("" if measured is None else f"{measured:.6g}", "" if limit is None else f"{limit:.6g}")
    about = tuple(row["operands"] or ())
    return RejectionDetail(
        id=row["id"],
        scene=row["scene"],
        task=row["task"],
        role=row["role"] or "",
        about=about,
        reason=row["reason"],
        means=words.get(row["reason"], ""),
        measured=one,
        limit=other,
        unit=row["unit"] or "",
        map=map_after(sketch, about, None) if sketch else None,
        guessed=guessed(replies),
    )


def seen(
    scene_id: str,
    asked: Iterable[Mapping[str, Any]],
    refused: Iterable[Mapping[str, Any]],
    scene: AnyScene | None,
    sketch: TopDownMap | None,
) -> SceneDetail:
    """A scene, from its rows of the provenance and of the rejections."""
    rows = list(asked)
    reasons: dict[str, Counter[str]] = {}
    for row in refused:
        reasons.setdefault(row["task"], Counter())[row["reason"]] += 1
    return SceneDetail(
        scene_id,
        dict(sorted(Counter(row["task"] for row in rows).items())),
        {task: dict(by_frequency(own)) for task, own in sorted(reasons.items())},
        tuple(sorted(scene.findings if scene else (), key=lambda f: (f.severity, f.name, f.subject))),
        _source(rows[0]) if rows else (),
        map_after(sketch, (), None) if sketch else None,
    )


def made_from(row: Mapping[str, Any], budgets: Sequence[Mapping[str, Any]] = ()) -> tuple[tuple[str, str], ...]:
    """The facts in a row of the provenance on how its question was made, and its answer in each frame budget."""
    shown_in = None if budgets else row["visible_in"]
    made = (
        ("template", f"{row['template']} version {row['template_version']}, task version {row['task_version']}"),
        ("rules", f"profile {row['profile']}, digest {row['rules']}"),
        ("configuration", f"digest {row['config']}"),
        ("fixes", ", ".join(row["fixes"] or ()) or "none"),
        (
            "shows in",
            "" if shown_in is None else ", ".join(map(str, shown_in)) + " frames" if shown_in else "no budget",
        ),
        *((f"in {own['budget']} frames", _in_frames(own)) for own in budgets),
        ("part of the video", _part(row["from_s"], row["until_s"])),
        *_source(row),
    )
    return tuple((name, value) for name, value in made if value)


def _in_frames(own: Mapping[str, Any]) -> str:
    """What becomes of a question in a frame budget: its answer, or why it has none, with what was measured."""
    if own["answer"] is not None:
        letter = f"{own['ground_truth']}. " if own["ground_truth"] != own["answer"] else ""
        return f"{letter}{own['answer']}"
    measured, limit = own["measured"], own["limit"]
    if measured is None:
        return f"no answer: {own['reason']}"
    value, bound = distinct_digits(measured, limit)
    return f"no answer: {own['reason']}, {value} {own['unit']}, limit {bound}"


def guessed(replies: Sequence[Mapping[str, Any]]) -> tuple[BlindReplies, ...]:
    """The answers of models without the video, by model and form."""
    by = grouped(replies, itemgetter("model", "form"))
    return tuple(
        BlindReplies(
            model,
            form,
            len(rows),
            sum(bool(row["right"]) for row in rows),
            tuple(dict.fromkeys(row["answer"] for row in rows if row["answer"] is not None)),
            sum(row["failure"] is not None for row in rows),
        )
        for (model, form), rows in sorted(by.items())
    )


def doubts_of(details: Collection[QuestionDetail]) -> list[str]:
    """All that one may filter by, the most frequent first."""
    count = Counter(name for one in details for name in one.doubtful)
    return [name for name, _ in by_frequency(count)]


def _source(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return (
        ("reader", f"{row['reader']} {row['reader_version']}"),
        ("raw data", ", ".join(row["source_files"] or ())),
        ("their digest", row["source_sha256"]),
    )


def _part(from_s: float | None, until_s: float | None) -> str:
    if from_s is None and until_s is None:
        return ""
    begins = "the start" if from_s is None else f"{from_s:g} s"
    return f"from {begins} to {'the end' if until_s is None else f'{until_s:g} s'}"


def _bias(row: Mapping[str, Any]) -> str:
    """The verdict of stage `prune` on a question."""
    score, chance, gone = row["bias_score"], row["chance"], row["removed_in_round"]
    if score is None:
        return ""
    by_chance = "" if chance is None else f" (chance {chance:.2f})"
    stays = "stays in debiased" if gone is None else f"taken out of debiased in round {gone}"
    return f"a random forest on the texts scores {score:.2f}{by_chance}; {stays}"


def _review(stand: Mapping[str, Any] | None) -> str:
    if stand is None:
        return _NOT_REVIEWED
    state = stand["state"]
    parts = [f"{state}: {STATES.get(state, '')}", f"{stand['reviewers']} reviewers"]
    parts += [f"right is {stand['answer']}"] if stand["answer"] else []
    parts += [f"they said: {', '.join(stand['reasons'])}"] if stand["reasons"] else []
    return "; ".join(parts)
