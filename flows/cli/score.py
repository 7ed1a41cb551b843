"""The command `scan2qa score`: scores the replies of a model to a benchmark."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from flows.cli.models import model_session
from flows.cli.output.build_tables import NAMED
from flows.cli.output.console import console, count_of, print_json, print_wrapped
from flows.cli.output.tables import FORMS, print_listing, print_listings, table_writer
from flows.cli.release_reader import refuse_other, split_for
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.groups import first_named
from pipeline.core.tables import ReleaseListing
from pipeline.engine.config import settings_of
from pipeline.llm.base import ModelSpec, Reply, Request
from pipeline.llm.failures import ModelError
from pipeline.questions.scoring_protocol import Ask, Metric, Score
from pipeline.release.withheld import with_answers
from pipeline.scoring.figures import ScoreRow
from pipeline.scoring.score import COUNTED, LEFT_OUT, ScoreResults, scored

# Behind the stem of --out: the judge's replies, as they are kept, and as provider `replay` reads them.
CACHE: Final = ".judge.sqlite"
RECORDING: Final = ".judge.jsonl"
UNREAD: Final = {
    "out_of_range": "the reply chooses a letter that the question does not have",
    "several_letters": "the reply chooses several letters",
    "empty": "the reply has no text",
}


def score(
    name: str,
    predictions: Sequence[Path],
    release: Path | None,
    split: str | None,
    questions: Path | None,
    out: Path | None,
    rows: Path | None,
    settings: Sequence[str],
    limit_cost: float | None,
    unseen: Sequence[Path] = (),
    people: Sequence[Path] = (),
    *,
    only_asked: bool = False,
    answers: Path | None = None,
) -> bool:
    """Scores result files; False where something in them could not be used."""
    how = scorable(name)
    if out is not None and out.suffix not in {".json", ".csv"}:
        raise ConfigError(f"{out}: scores are written as .json or .csv; give a name that ends so")
    if unseen and people:
        raise ConfigError("figures are compared with one thing: give --without-scene or --people")
    write_rows = table_writer(rows) if rows else None
    chosen = settings_of(how.settings, settings)
    if split is not None and release is None:
        raise ConfigError("--split names a split of --release")
    source = split_for(name, release, split) if release is not None and questions is None else None
    file = source.questions if source else questions
    if file is None or (source is None and release is not None):
        raise ConfigError("say what was asked: a release with --release, or a file of questions with --questions")
    if source is None:
        refuse_other(name, file, file)
    if answers is not None and release is None:
        raise ConfigError("--answers are those that --release withholds")
    with _judge(how.judge(chosen), out, limit_cost) as ask, with_answers(file, release, answers) as file:
        found = scored(how, file, predictions, chosen, ask, unseen, people, only_asked=only_asked, of=source)
    show_score(found, how, bool((source and source.blind) or unseen or people))
    told = {"benchmark": name, "settings": _without_paths(chosen.model_dump(mode="json"))} | found.summary()
    told |= {"published": how.published} if how.published else {}
    if out:
        as_json = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        is_json = out.suffix == ".json"
        write_atomically(out, as_json.encode() if is_json else FORMS[".csv"](pa.Table.from_pylist(found.figures())))
        console.print(f"Score: {out}")
    if write_rows:
        write_rows(found.table())
        console.print(f"Every question: {rows}")
    print_json(told)
    return not found.left_out


def scorable(name: str) -> Score[Any]:
    """How replies to a benchmark are scored. Raises ConfigError for one that is unknown, or has no score."""
    how = BENCHMARKS[name].score if name in BENCHMARKS else None
    if how is None:
        scored_ones = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.score)
        raise ConfigError(f"unknown benchmark {name!r}; replies to {scored_ones} can be scored")
    return how


@contextmanager
def _judge(model: ModelSpec | None, out: Path | None, limit_cost: float | None) -> Iterator[Ask | None]:
    """Yields the function that asks the judge, whose replies are kept beside the score; None without a judge."""
    if model is None:
        yield None
        return
    if out is None:
        raise ConfigError("a judge's replies are kept beside the score: name it with --out")
    with model_session(model, out.with_suffix(CACHE), out.with_suffix(RECORDING), limit_cost) as session:

        def one(request: Request) -> Reply | ModelError:
            try:
                return session.ask(request)
            except ModelError as failure:
                return failure

        yield lambda requests: session.each("judge", requests, one)


def _without_paths(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the paths of this machine."""
    judge = settings.get("judge")
    return settings | (
        {"judge": {k: v for k, v in judge.items() if k not in {"recording", "weights"}}} if judge else {}
    )


COLUMNS_MAX: Final = 6  # metrics side by side; with more each has a line of its own


def show_score(found: ScoreResults, score: Score[Any], has_blind: bool) -> None:
    """One metric: a table of its figures. Several: all questions in each, then every section in all."""
    metrics = score.metrics
    measured = {name: metric for name, metric in metrics.items() if any(row.metric == name for row in found.rows)}
    n, told = len(found.answers), sum(a.reply is not None for a in found.answers)
    about = f"{count_of(n, 'question')}, {told:,} answered, read as {found.form}"
    if len(measured) == 1:
        metric = next(iter(measured.values()))
        listings = [_figures(found.rows, metric, f"Score ({metric.title}): {about}", found.comparisons)]
    else:
        whole = [row for row in found.rows if not row.figure.section]
        listings = [_metrics(whole, metrics, f"Score: {about}", found.comparisons)]
        shown = {name: metric for name, metric in measured.items() if not metric.is_minor}
        for section in dict.fromkeys(row.figure.section for row in found.rows if row.figure.section):
            own = {name: metric for name, metric in shown.items() if not metric.sections or section in metric.sections}
            of_section = [row for row in found.rows if row.figure.section == section and row.metric in own]
            if len(own) <= COLUMNS_MAX:
                listings.append(_table(of_section, own, section))
                continue
            if not any(row.figure.difference for row in of_section):
                listings.append(_short_table(of_section, own, section))
            listings.append(_long_table(of_section, own, section))
    for name, figures in score.published.items():
        if name == next(iter(metrics)) or metrics[name].is_guessed:  # the others are in the JSON
            listings += _published(found, name, metrics[name], figures)
    print_listings(listings)
    show_unusual(found, score)
    for note in found.marks.notes:
        print_wrapped(note)
    if not has_blind and any(metric.is_guessed for metric in measured.values()):
        console.print("No blind table (without_video.json of a release), so no figure above guessing.")


def _published(
    found: ScoreResults, name: str, metric: Metric, printed: Mapping[str, Mapping[str, float]]
) -> list[ReleaseListing]:
    """One's own figures beside those that the paper prints for its models; other questions were asked there."""
    own = {row.figure.name: row for row in found.rows if row.metric == name and row.value is not None}
    models = list(dict.fromkeys(model for figure, values in printed.items() if figure in own for model in values))
    lines = [
        (figure, metric.written(own[figure].value), *(metric.written(values.get(model)) for model in models))
        for figure, values in printed.items()
        if figure in own
    ]
    title = f"{metric.title}, beside the paper's models"
    return [ReleaseListing(title, ("", "yours", *models), lines, is_detail=True)] if lines else []


def _figures(rows: Sequence[ScoreRow], metric: Metric, title: str, beside: str) -> ReleaseListing:
    """The figures of one metric, each with its interval and what it is held against."""
    heads = ["", "n", "mean", "95% interval", *([beside, "above"] if _has_prior(rows) else [])]
    cells = [
        [f"{'  ' if row.figure.inset else ''}{row.figure.name}", *_cells(row, metric, _has_prior(rows))] for row in rows
    ]
    whole = [cell for row, cell in zip(rows, cells, strict=True) if not row.figure.section]
    parts = [cell for row, cell in zip(rows, cells, strict=True) if row.figure.section]
    return ReleaseListing(title, heads, parts + whole[:-1], whole[-1] if whole else ())


def _metrics(rows: Sequence[ScoreRow], metrics: Mapping[str, Metric], title: str, beside: str) -> ReleaseListing:
    """All questions in each metric."""
    prior = _has_prior(rows)
    heads = ["all questions", "n", "mean", "95% interval", *([beside, "above"] if prior else []), "deviation"]
    cells = []
    for row in rows:
        metric = metrics[row.metric]
        cells.append([metric.title, *_cells(row, metric, prior), metric.written(row.deviation)])
    return ReleaseListing(title, heads, cells)


def _table(rows: Sequence[ScoreRow], metrics: Mapping[str, Metric], section: str) -> ReleaseListing:
    """One section in all metrics, mean and standard deviation as in table 2 of CityEQA's paper."""
    cells: dict[str, dict[str, str]] = {}
    for row in rows:
        metric = metrics[row.metric]
        spread = f" ± {metric.written(row.deviation)}" if row.deviation is not None else ""
        cells.setdefault(row.figure.name, {})[row.metric] = f"{metric.written(row.value)}{spread}"
        cells[row.figure.name].setdefault("n", str(row.n))
    heads = (section, "n", *(metric.title for metric in metrics.values()))
    return ReleaseListing(
        f"By {section}: mean ± standard deviation",
        heads,
        [(name, own["n"], *(own.get(metric, "") for metric in metrics)) for name, own in cells.items()],
    )


def _short_table(rows: Sequence[ScoreRow], metrics: Mapping[str, Metric], section: str) -> ReleaseListing:
    """One section of many metrics in the main ones, a column each."""
    main = {name: metric for name, metric in metrics.items() if metric.is_main}
    names = dict.fromkeys(row.figure.name for row in rows)
    cells = {(row.metric, row.figure.name): _with_interval(row, metrics[row.metric]) for row in rows}
    lines = [(name, *(cells.get((key, name), "") for key in main)) for name in names]
    heads = (section, *(metric.title for metric in main.values()))
    return ReleaseListing(f"By {section}", heads, lines)


def _long_table(rows: Sequence[ScoreRow], metrics: Mapping[str, Metric], section: str) -> ReleaseListing:
    """One section in many metrics, a line each, as in table 2 of ERGeoBench's paper."""
    names = list(dict.fromkeys(row.figure.name for row in rows))
    cells = {(row.metric, row.figure.name): _with_interval(row, metrics[row.metric]) for row in rows}
    lines = [(m.title, *(cells.get((key, name), "") for name in names)) for key, m in metrics.items()]
    title = f"By {section}, all metrics"
    return ReleaseListing(title, ("", *names), [line for line in lines if any(line[1:])], is_detail=True)


def _with_interval(row: ScoreRow, metric: Metric) -> str:
    """The value; of a difference its interval too, which says whether it is one."""
    interval = f" ({metric.written(row.low)} to {metric.written(row.high)})" if row.low is not None else ""
    return f"{metric.written(row.value)}{interval if row.figure.difference else ''}"


def _cells(row: ScoreRow, metric: Metric, prior: bool) -> list[str]:
    low, high = metric.written(row.low), metric.written(row.high)
    guessed = [metric.written(row.prior), "" if row.above is None else f"{row.above:+.{metric.digits}f}"]
    return [str(row.n), metric.written(row.value), f"{low} - {high}" if low else "", *(guessed if prior else [])]


def _has_prior(rows: Sequence[ScoreRow]) -> bool:
    return any(row.prior is not None for row in rows)


def show_unusual(found: ScoreResults, score: Score[Any], of: str = "") -> None:
    """Prints rows that could not be used, and replies without an answer; ``of``: whose they are."""
    meaning = {**COUNTED, **LEFT_OUT, **score.unusual}
    rows = [(name, str(len(ids)), first_named(ids, NAMED), meaning[name]) for name, ids in found.found.items()]
    unread = Counter(why for why in found.unread() if why)
    for why, n in sorted(unread.items()):
        ids = [str(a.question.id) for a, own in zip(found.answers, found.unread(), strict=True) if own == why]
        rows.append((why, str(n), first_named(ids, NAMED), UNREAD.get(why, "no answer is found in the reply")))
    if rows:
        heads = ("unusual", "n", "questions", "which means")
        print_listing(ReleaseListing(f"Unusual{of}", heads, rows, sentences=("questions", "which means")))
