"""The command `scan2qa leaderboard`: models side by side, as a page, Markdown, LaTeX or a table."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from flows.cli.output.console import console, count_of, print_json
from flows.cli.output.tables import FORMS, print_listing, table_writer
from flows.cli.release_reader import split_for
from flows.cli.score import scorable, show_unusual
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.schema import Model
from pipeline.core.tables import ReleaseListing
from pipeline.engine.config import settings_of
from pipeline.questions.scoring_protocol import Metric, Score
from pipeline.release.comparison import page_environment
from pipeline.release.withheld import with_answers
from pipeline.scoring.figures import ScoreRow
from pipeline.scoring.leaderboard import Leaderboard, LeaderboardLine, leaderboard
from pipeline.scoring.score import ScoreResults, scored, scored_people, split_of

_GIVEN: Final = re.compile(r"(?P<name>[^=@]+)(?:@(?P<split>[^=@]+))?=(?P<file>.+)")
_LATEX: Final = str.maketrans({c: f"\\{c}" for c in "&%$#_{}"} | {"~": r"\textasciitilde{}", "^": r"\^{}", "\\": "/"})
WIDTH, LEFT, LINE = 760, 200, 26  # of the plot, pixels
INSET: Final = "\N{EM SPACE}"  # before the name of a part


@dataclass(frozen=True)
class _BoardRow:
    cells: Sequence[str]
    aside: bool = False
    best: frozenset[int] = frozenset()


@dataclass(frozen=True)
class _BoardTable:
    title: str
    heads: Sequence[str]
    rows: Sequence[_BoardRow]
    note: str


def show_leaderboard(
    name: str,
    release: Path,
    split: str | None,
    given: Sequence[str],
    people: Sequence[Path],
    out: Sequence[Path],
    difficulty: Path | None,
    settings: Sequence[str],
    answers: Path | None = None,
) -> bool:
    """Shows a leaderboard, and writes it; False where something of the replies could not be used.

    Args:
        name: of the benchmark.
        release: that was asked.
        split: of it; None: the full one.
        given: ``MODEL=FILE`` or ``MODEL@SPLIT=FILE``.
        people: a result file of each person.
        out: files, whose endings name their forms.
        difficulty: a row per question, with each model's mark.
        settings: of the score.
        answers: those that the release withholds.
    """
    score = scorable(name)
    unknown = [str(path) for path in out if path.suffix not in _WRITE]
    if unknown:
        raise ConfigError(f"{unknown[0]}: a leaderboard is written as {', '.join(_WRITE)}; give a name that ends so")
    write_difficulty = table_writer(difficulty) if difficulty else None
    source = split_for(name, release, split)
    chosen = settings_of(score.settings, settings)
    with with_answers(source.questions, release, answers) as questions:
        elsewhere = replies_of(score, release, source.name, given, chosen, questions)
        models = elsewhere.pop(source.name, {})
        if not models:
            raise ConfigError(f"no model has replies to the split {source.name}: say MODEL=FILE")
        if alone := sorted({model for own in elsewhere.values() for model in own} - models.keys()):
            told = f"{alone[0]} has replies to another split alone, and is ranked on {source.name}"
            raise ConfigError(f"{told}: give {alone[0]}=FILE too")
        persons = scored_people(score, questions, people, chosen) if people else None
    board = leaderboard(score, models, elsewhere, persons)
    tables = _tables(board)
    for table in tables:
        cells = [row.cells for row in table.rows]
        print_listing(ReleaseListing(table.title, table.heads, cells, note=table.note))
    for model, own in models.items():
        if own.left_out:
            show_unusual(own, score, f" in the replies of {model}")
    title = f"{name} {source.name}"
    for path in out:
        write_atomically(path, _WRITE[path.suffix](board, tables, title, release))
        console.print(f"Leaderboard: {path}")
    if write_difficulty:
        write_difficulty(board.difficulty)
        console.print(f"Every question: {difficulty}")
    print_json({"metric": board.metric.title, "questions": board.questions, "standings": _as_json(board)})
    return not any(own.left_out for own in models.values())


def replies_of(
    score: Score[Any],
    release: Path,
    split: str,
    given: Sequence[str],
    settings: Model,
    questions: Path | None = None,
) -> dict[str, dict[str, ScoreResults]]:
    """Split -> model -> its scored replies, of ``MODEL=FILE`` (to ``split``) and ``MODEL@SPLIT=FILE``.

    ``questions``: the file of ``split``, where its answers lie apart from the release.

    Raises ConfigError for what is given twice or cannot be read.
    """
    found: defaultdict[str, dict[str, ScoreResults]] = defaultdict(dict)
    for text in given:
        told = _GIVEN.fullmatch(text)
        if told is None:
            raise ConfigError(f"{text!r}: say MODEL=FILE, or MODEL@SPLIT=FILE for another split")
        source, into = split_of(release, told["split"] or split), found[told["split"] or split]
        if told["name"] in into:
            raise ConfigError(f"{text!r}: {told['name']} has other replies already; give each model its own name")
        asked = questions if questions is not None and source.name == split else source.questions
        into[told["name"]] = scored(score, asked, [Path(told["file"])], settings, of=source)
    return dict(found)


def _interval(row: ScoreRow | None, metric: Metric) -> str:
    if row is None or row.low is None:
        return ""
    return f"{metric.written(row.low)} to {metric.written(row.high)}"


def _tables(board: Leaderboard) -> list[_BoardTable]:
    metric, total = board.metric, board.total.name
    heads = ["model", "answered", total, "95% interval", "behind the first", "95% interval", *board.splits]
    rows = []
    for one in board.standings:
        whole, behind = one.figures[total], one.behind
        more = [metric.written(one.others[split].value) if split in one.others else "" for split in board.splits]
        first = [one.name, str(one.answered), metric.written(whole.value), _interval(whole, metric)]
        apart = ["" if behind is None else metric.written(behind.value), _interval(behind, metric)]
        rows.append(_BoardRow([*first, *apart, *more], one.rank is None, frozenset({2} if one.rank == 1 else ())))
    guessing = board.guessing
    if total in guessing:
        best = metric.written(guessing[total])
        rows.append(
            _BoardRow(["best guess without the scene", "", best, "", "", "", *[""] * len(board.splits)], aside=True)
        )
    told = "Behind the first: question by question, over the same scenes; where the interval holds 0, either may lead."
    if any(one.rank is None for one in board.standings):
        told += " People: on the questions that they answered."
    hard = board.difficulty["failed_by_all"].to_pylist().count(True)
    told += f" {count_of(hard, 'question')} of {board.questions} {'are' if hard != 1 else 'is'} failed by every model."
    names, related = board.correlations
    lines = [
        _BoardRow([name, *("" if np.isnan(value) else f"{value:.2f}" for value in own)])
        for name, own in zip(names, related, strict=True)
    ]
    note = f"Pearson, over {sum(one.rank is not None for one in board.standings)} models: of few it is unsure."
    matrix = [_BoardTable("Correlation over models", ["", *names], lines, note)] if lines else []
    return [_BoardTable(f"{total} ({metric.title})", heads, rows, told), _by_figure(board), *matrix]


def _by_figure(board: Leaderboard) -> _BoardTable:
    rows = []
    for figure in board.figures:
        values = [one.figures[figure.name].value if figure.name in one.figures else None for one in board.standings]
        ranked = [v for v, one in zip(values, board.standings, strict=True) if v is not None and one.rank is not None]
        best = {n + 2 for n, v in enumerate(values) if ranked and v == max(ranked) and board.standings[n].rank}
        guess = board.guessing.get(figure.name)
        cells = [board.metric.written(value) for value in values]
        count = str(board.standings[0].figures[figure.name].n)
        name = f"{INSET if figure.inset else ''}{figure.name}"
        rows.append(_BoardRow([name, count, *cells, board.metric.written(guess)], best=frozenset(best)))
    heads = ["", "n", *(one.name for one in board.standings), "best guess"]
    return _BoardTable("By task", heads, rows, "The best of each line is in bold.")


def _as_json(board: Leaderboard) -> list[dict[str, Any]]:
    return [
        {
            "rank": one.rank,
            "model": one.name,
            "answered": one.answered,
            **{name: row.value for name, row in one.figures.items()},
            "low": one.figures[board.total.name].low,
            "high": one.figures[board.total.name].high,
            "behind": one.behind.value if one.behind else None,
            "behind_low": one.behind.low if one.behind else None,
            "behind_high": one.behind.high if one.behind else None,
            **{split: row.value for split, row in one.others.items()},
        }
        for one in board.standings
    ]


def _html(board: Leaderboard, tables: Sequence[_BoardTable], title: str, release: Path) -> bytes:
    template = page_environment().get_template("leaderboard.html.jinja")
    benchmark, _, split = title.partition(" ")
    told = {"title": BENCHMARKS[benchmark].title, "split": split, "release": release}
    return template.render(board=board, tables=tables, plot=_plot(board), **told).encode()


def _plot(board: Leaderboard) -> dict[str, Any]:
    """Positions of the dots, intervals and ticks, pixels."""
    there = [one for one in board.standings if one.figures[board.total.name].value is not None]
    whole = [one.figures[board.total.name] for one in there]
    span = board.metric.highest

    def x(value: float) -> float:
        return round(LEFT + (WIDTH - LEFT - 20) * value / span, 1)

    rows = [_dot(one, row, 20 + LINE * n, x) for n, (one, row) in enumerate(zip(there, whole, strict=True))]
    bottom = 14 + LINE * len(rows)
    guess = board.guessing.get(board.total.name)
    return {
        "width": WIDTH,
        "height": bottom + 24,
        "left": LEFT,
        "bottom": bottom,
        "ticks": [(x(span * k / 5), f"{span * k / 5:g}") for k in range(6)],
        "guessing": None if guess is None else x(guess),
        "rows": rows,
    }


def _dot(one: LeaderboardLine, row: ScoreRow, y: int, x: Callable[[float], float]) -> dict[str, Any]:
    low, value, high = (None if value is None else x(value) for value in (row.low, row.value, row.high))
    return {"name": one.name, "aside": one.rank is None, "x": value, "low": low, "high": high, "y": y}


def _markdown(board: Leaderboard, tables: Sequence[_BoardTable], title: str, release: Path) -> bytes:
    lines = []
    for table in tables:
        lines += [f"**{table.title}**", "", _md(table.heads), "|---" + "|---:" * (len(table.heads) - 1) + "|"]
        lines += [_md([f"**{c}**" if n in row.best else c for n, c in enumerate(row.cells)]) for row in table.rows]
        lines += ["", table.note, ""]
    return "\n".join(lines).encode()


def _md(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escape(" ".join(cell.split()), quote=False).replace("|", "\\|") for cell in cells) + " |"


def _latex(board: Leaderboard, tables: Sequence[_BoardTable], title: str, release: Path) -> bytes:
    """Two tables of booktabs."""
    lines = []
    for table in tables:
        lines += [rf"% {title}: {table.title}", rf"\begin{{tabular}}{{l{'r' * (len(table.heads) - 1)}}}", r"\toprule"]
        lines += [_tex(table.heads, frozenset()), r"\midrule", *(_tex(row.cells, row.best) for row in table.rows)]
        lines += [r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join(lines).encode()


def _tex(cells: Sequence[str], best: frozenset[int]) -> str:
    plain = [cell.translate(_LATEX) for cell in cells]
    return " & ".join(rf"\textbf{{{c}}}" if n in best else c for n, c in enumerate(plain)) + r" \\"


def _csv(board: Leaderboard, tables: Sequence[_BoardTable], title: str, release: Path) -> bytes:
    return FORMS[".csv"](pa.Table.from_pylist(_as_json(board)))


_WRITE: Final[Mapping[str, Callable[[Leaderboard, Sequence[_BoardTable], str, Path], bytes]]] = {
    ".html": _html,
    ".md": _markdown,
    ".tex": _latex,
    ".csv": _csv,
}
