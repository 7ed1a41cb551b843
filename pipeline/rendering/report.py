"""The page `report.html`: a release explained in one HTML file that needs no other and reaches no network."""

import hashlib
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import jinja2
from markupsafe import Markup

from pipeline.core.groups import by_frequency
from pipeline.core.schema import Quarantine
from pipeline.release.card import figure
from pipeline.release.comparison import Report, page_environment
from pipeline.release.released import Released
from pipeline.rendering import figures
from pipeline.rendering.examples import DRAWN, ShownQuestion
from pipeline.rendering.glossary import words
from pipeline.rendering.near_misses import NearMiss
from pipeline.review.reviewed import Reviewed
from pipeline.review.verdicts import STATES

LIMIT_BYTES: Final = 8_000_000
SPARE: Final = 25_000  # bytes, for what follows from the questions: the list of their tasks, and what stands about each
SHOWN_QUARANTINE: Final = 100  # scenes that were left out, by name; the counts are of all
JPEG: Final = b"\xff\xd8"
_LONGEST: Final = 90  # characters of an answer in a table


@dataclass(frozen=True)
class ReportInputs:
    """All that the page tells of a build.

    Attributes:
        about: one sentence about the benchmark.
        remarks: lines of its card about its questions, such as their shares beside the paper's.
        provenance: id, scene, task and answer of every question.
        debiased: how many questions the split of that name has; None where there is none.
        words: what each reason for dropping a candidate means.
        chosen: of these the benchmark's own by which it chooses among candidates that could be asked.
        states: of human review, how many questions stand where; empty where nobody reviewed.
        nearest: per task and reason, the rejection nearest to its limit.
        changes: since the release before; None where there is none, or it cannot be read (``unread`` says why).
        fixes: how many corrections people made to the raw data.
    """

    title: str
    about: str
    remarks: Sequence[str]
    name: str
    profile: str
    released: Released
    provenance: Sequence[Mapping[str, Any]]
    debiased: int | None
    reviewed: Reviewed
    states: Mapping[str, int]
    quarantine: Sequence[Quarantine]
    nearest: Mapping[tuple[str, str], NearMiss]
    words: Mapping[str, str]
    chosen: Collection[str]
    changes: Report | None
    unread: str
    fixes: int


def page(inputs: ReportInputs, examples: Iterable[ShownQuestion]) -> bytes:
    """The page, with as many of the examples as it may hold (`LIMIT_BYTES`), in their order."""
    environment = environment_of_pages()
    style, script = (environment.get_template(f"report.{kind}").render() for kind in ("css", "js"))
    template = environment.get_template("report.html.jinja")
    context = _context(inputs) | {
        "style": Markup(style),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704
        "style_hash": policy_hash(style),
        "script_hash": policy_hash(script),
    }

    def with_cards(cards: Sequence[Markup], tasks: Sequence[str]) -> str:
        return template.render(context, cards=cards, tasks=sorted(set(tasks)), drawn=DRAWN)

    card: Callable[[ShownQuestion], str] = environment.get_template("report_question.html.jinja").module.card  # type: ignore[attr-defined]
    room = LIMIT_BYTES - len(with_cards([], []).encode()) - SPARE
    cards, of = [], []
    for example in examples:
        made = Markup(card(example))  # noqa: S704 - what the template escaped
        room -= len(made.encode())
        if room < 0:
            break
        cards.append(made)
        of.append(example.task)
    return with_cards(cards, of).encode()


def _context(inputs: ReportInputs) -> dict[str, Any]:
    released = inputs.released
    reasons = figures.reasons_of(released.rejections, inputs.words, inputs.chosen)
    sources, by_source = figures.sources(inputs.provenance)
    tasks = sorted({*released.questions, *released.rejections})
    return {
        "told": inputs,
        "questions": sum(released.questions.values()),
        "scenes": len({row["scene"] for row in inputs.provenance}),
        "steps": figures.funnel(released, inputs.debiased, inputs.chosen),
        "reasons": {task: [row for row in reasons if row.task == task] for task in tasks},
        "nearest": inputs.nearest,
        "sources": sources,
        "by_source": by_source,
        "of_source": sum(by_source.values(), Counter()),
        "answers": figures.answers_of(inputs.provenance),
        "letters": {task: dict(sorted(found.items())) for task, found in sorted(released.letters.items())},
        "blind": [(row.task, figures.guesses(row)) for row in released.blind],
        "states": [(state, inputs.states[state], words) for state, words in STATES.items() if inputs.states.get(state)],
        "quarantine": figures.quarantined(inputs.quarantine),
        "shown_quarantine": SHOWN_QUARANTINE,
        "findings": figures.findings_of(released),
        "flags": by_frequency(released.flags),
    }


@cache
def environment_of_pages() -> jinja2.Environment:
    """Where pages are made, with the filters of the report and the gallery."""
    environment = page_environment()
    environment.filters |= {
        "count": "{:,}".format,
        "percent": _percent,
        "words": words,
        "cut": _cut,
        "embedded": embedded,
    }
    environment.filters |= {"figure": figure, "bar": _bar}
    return environment


def policy_hash(text: str) -> str:
    """The digest by which the page's policy names its own style and script: nothing else of either kind runs."""
    return "sha256-" + b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _percent(share: float) -> str:
    if 0 < share < 0.0005:
        return "<0.1%"
    return f"{100 * share:.1f}%" if 0 < share < 0.0995 else f"{100 * share:.0f}%"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def embedded(raw: bytes) -> str:
    """A picture, PNG, JPEG or SVG, as an address that holds it."""
    kind = "jpeg" if raw.startswith(JPEG) else "svg+xml" if raw.startswith(b"<svg") else "png"
    return f"data:image/{kind};base64," + b64encode(raw).decode()


def _bar(share: float, tick: float | None = None, kind: str = "") -> Markup:
    """A bar of a share in [0, 1], and a tick at another; the figures stand beside it, so that nobody need see it."""
    mark = "" if tick is None else f'<path class="tick" d="M{100 * min(max(tick, 0), 1):.2f},0v10"/>'
    width = 100 * min(max(share, 0.0), 1.0)
    return Markup(  # noqa: S704 - numbers, and a class of the template's
        f'<svg class="bar {kind}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="all" width="100" height="10"/><rect class="part" width="{width:.2f}" height="10"/>{mark}</svg>'
    )
