"""A score as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from flows.console import console
from flows.show import NAMED
from flows.tables import print_listing
from pipeline.core.listing import Listing
from pipeline.questions.scoring_protocol import Metric, Score
from pipeline.scoring.answered import COUNTED, LEFT_OUT
from pipeline.scoring.figures import Row
from pipeline.scoring.score import Scored

COLUMNS_MAX: Final = 6  # metrics side by side; with more each has a line of its own


def show_score(found: Scored, score: Score[Any], has_blind: bool) -> None:
    """One metric: a table of its figures. Several: all questions in each, then every section in all."""
    metrics = score.metrics
    measured = {name: metric for name, metric in metrics.items() if any(row.metric == name for row in found.rows)}
    n, told = len(found.answers), sum(a.reply is not None for a in found.answers)
    about = f"{n} questions, {told} answered, read as {found.form}"
    if len(measured) == 1:
        metric = next(iter(measured.values()))
        print_listing(_figures(found.rows, metric, f"Score ({metric.title}): {about}"))
    else:
        whole = [row for row in found.rows if not row.figure.section]
        print_listing(_metrics(whole, metrics, f"Score: {about}"))
        shown = {name: metric for name, metric in measured.items() if not metric.is_minor}
        sections = dict.fromkeys(row.figure.section for row in found.rows if row.figure.section)
        for section in sections:
            own = {name: metric for name, metric in shown.items() if not metric.sections or section in metric.sections}
            of_section = [row for row in found.rows if row.figure.section == section and row.metric in own]
            print_listing((_table if len(own) <= COLUMNS_MAX else _long_table)(of_section, own, section))
    _show_unusual(found, {**COUNTED, **LEFT_OUT, **score.unusual})
    for note in found.marks.notes:
        console.print(note)
    if not has_blind and any(metric.is_guessed for metric in measured.values()):
        console.print("No blind table (without_video.json of a release), so no figure above guessing.")


def _figures(rows: Sequence[Row], metric: Metric, title: str) -> Listing:
    """The figures of one metric, each with its interval and what guessing earns."""
    heads = ["", "n", "mean", "95% interval", *(["prior", "above"] if _has_prior(rows) else [])]
    cells = [
        [f"{'  ' if row.figure.inset else ''}{row.figure.name}", *_cells(row, metric, _has_prior(rows))] for row in rows
    ]
    whole = [cell for row, cell in zip(rows, cells, strict=True) if not row.figure.section]
    parts = [cell for row, cell in zip(rows, cells, strict=True) if row.figure.section]
    return Listing(title, heads, parts + whole[:-1], whole[-1] if whole else ())


def _metrics(rows: Sequence[Row], metrics: Mapping[str, Metric], title: str) -> Listing:
    """All questions in each metric."""
    prior = _has_prior(rows)
    heads = ["all questions", "n", "mean", "95% interval", *(["prior", "above"] if prior else []), "deviation"]
    cells = []
    for row in rows:
        metric = metrics[row.metric]
        cells.append([metric.title, *_cells(row, metric, prior), _number(row.deviation, metric)])
    return Listing(title, heads, cells)


def _table(rows: Sequence[Row], metrics: Mapping[str, Metric], section: str) -> Listing:
    """One section in all metrics, mean and standard deviation as in table 2 of CityEQA's paper."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        metric = metrics[row.metric]
        spread = f" ± {_number(row.deviation, metric)}" if row.deviation is not None else ""
        cells.setdefault(row.figure.name, {})[row.metric] = f"{_number(row.value, metric)}{spread}"
        cells[row.figure.name].setdefault("n", str(row.n))
    heads = (section, "n", *(metric.title for metric in metrics.values()))
    return Listing(
        f"By {section}: mean ± standard deviation",
        heads,
        [(name, own["n"], *(own.get(metric, "") for metric in metrics)) for name, own in cells.items()],
    )


def _long_table(rows: Sequence[Row], metrics: Mapping[str, Metric], section: str) -> Listing:
    """One section in many metrics, a line each, as in table 2 of ERGeoBench's paper."""
    names = list(dict.fromkeys(row.figure.name for row in rows))
    cells = {(row.metric, row.figure.name): _number(row.value, metrics[row.metric]) for row in rows}
    lines = [(m.title, *(cells.get((key, name), "") for name in names)) for key, m in metrics.items()]
    return Listing(f"By {section}", ("", *names), [line for line in lines if any(line[1:])])


def _cells(row: Row, metric: Metric, prior: bool) -> list[str]:
    low, high = _number(row.low, metric), _number(row.high, metric)
    guessed = [_number(row.prior, metric), "" if row.above is None else f"{row.above:+.{metric.digits}f}"]
    return [str(row.n), _number(row.value, metric), f"{low} - {high}" if low else "", *(guessed if prior else [])]


def _has_prior(rows: Sequence[Row]) -> bool:
    return any(row.prior is not None for row in rows)


def _number(value: float | None, metric: Metric) -> str:
    return "" if value is None else f"{value:.{metric.digits}f}"


def _show_unusual(found: Scored, meaning: Mapping[str, str]) -> None:
    """What could not be used, and replies in which nothing was found."""
    rows = [(name, str(len(ids)), _named(ids), meaning[name]) for name, ids in found.found.items()]
    unread = Counter(why for why in found.unread() if why)
    for why, n in sorted(unread.items()):
        ids = [str(a.question.id) for a, own in zip(found.answers, found.unread(), strict=True) if own == why]
        rows.append((why, str(n), _named(ids), "no answer is found in the reply"))
    if rows:
        heads = ("unusual", "n", "questions", "which means")
        print_listing(Listing("What is unusual", heads, rows, sentences=("questions", "which means")))


def _named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:NAMED]) + (f", … {len(ids) - NAMED} more" if len(ids) > NAMED else "")
