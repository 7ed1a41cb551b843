"""The command `scan2qa recheck`: people mark replies beside a judge model, or label what wrong replies got wrong."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from shlex import quote
from typing import Any, Final, Literal

import numpy as np
import pyarrow.parquet as pq

from flows.cli.output.console import console, count_of
from flows.cli.output.tables import print_listing
from flows.cli.score import scorable
from pipeline.core.arrays import FloatArray
from pipeline.core.csv_tables import read_csv
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.identity import digest
from pipeline.core.tables import ReleaseListing
from pipeline.core.templates import load_table
from pipeline.questions.scoring_protocol import Score
from pipeline.review.sheets import written

What = Literal["judge", "errors"]
PEOPLE: Final = 2  # CityEQA, appendix A.3
# Label -> kind of error, by benchmark whose paper names kinds: VSI-Bench, section 5.1; UrbanVideo-Bench, section 4.5.
ERRORS: Final[dict[str, dict[str, str]]] = load_table("recheck")
_HEADER: Final = ("number", "question", "truth", "reply", "mark")


def recheck(name: str, what: What, rows: Sequence[Path], questions: Path, count: int, out: Path) -> None:
    """Draws replies for two people, without the model and the judge's mark, and writes a sheet for each and the key.

    Args:
        name: of the benchmark.
        what: "judge" draws of all judged replies, "errors" of the wrong ones (under half of the highest mark).
        rows: of `scan2qa score --rows FILE.parquet`, a file per model.
        questions: the file of them.
        count: how many are drawn, by a hash of file and question.
        out: folder.
    """
    how, labels = scorable(name), errors_of(name) if what == "errors" else {}
    texts = {str(question.id): question.question for question in how.read(questions)}
    able = [(file, row, value) for file in rows for row, value in _marked(file, how, what) if str(row["id"]) in texts]
    if not able:
        kind = "judged" if what == "judge" else "wrong"
        raise ConfigError(f"{', '.join(map(str, rows))}: no {kind} reply to the questions of {questions}")
    drawn = sorted(able, key=lambda one: digest("recheck", one[0].stem, str(one[1]["id"])))[:count]
    told = [(texts[str(row["id"])], row["ground_truth"], row["reply"]) for _, row, _ in drawn]
    sheet = written(_HEADER, [(n, *words, "") for n, words in enumerate(told, start=1)])
    for person in range(1, PEOPLE + 1):
        write_atomically(out / f"person_{person}.csv", sheet)
    key = [(n, what, file.stem, row["id"], f"{value:g}") for n, (file, row, value) in enumerate(drawn, start=1)]
    write_atomically(out / "key.csv", written(("number", "what", "file", "id", "mark"), key))
    fill = "marks of the judge's scale (see its prompt)" if what == "judge" else f"one of {', '.join(labels)}"
    console.print(f"{count_of(len(drawn), 'reply')}: {out}/person_1.csv and _2.csv. Fill in mark: {fill}.")
    console.print(f"Then: scan2qa recheck {name} --out {quote(str(out))} --filled. Keep {out / 'key.csv'} from them.")


def errors_of(name: str) -> dict[str, str]:
    """Label -> kind of error of a benchmark's replies. Raises ConfigError where its paper names none."""
    if name not in ERRORS:
        raise ConfigError(f"{name}: its paper names no kinds of errors; --errors is for {' and '.join(ERRORS)}")
    return ERRORS[name]


def compare(name: str, out: Path) -> None:
    """Shows how the sheets of two people agree with each other and with the judge, or which errors they found."""
    key = _read(out / "key.csv")
    sheets = [_read(out / f"person_{person}.csv") for person in range(1, PEOPLE + 1)]
    if next(iter(key.values()))["what"] == "judge":
        marks = {"judge": key} | {f"person {n}": sheet for n, sheet in enumerate(sheets, start=1)}
        values = {who: np.array([_number(out, who, own.get(n, {})) for n in key]) for who, own in marks.items()}
        found = [(f"{a} and {b}", *_rank_correlation(values[a], values[b])) for a, b in combinations(values, 2)]
        print_listing(ReleaseListing("Marks: Spearman's rank correlation", ("", "n", "rho", "p"), found))
        return
    said = [{n: row["mark"].strip() for n, row in sheet.items() if row["mark"].strip()} for sheet in sheets]
    for n, own in enumerate(said, start=1):
        if not own:
            raise ConfigError(f"{out / f'person_{n}.csv'}: no mark is filled in; fill in the column mark")
    errors = errors_of(name)
    unknown = sorted({label for own in said for label in own.values()} - errors.keys())
    if unknown:
        raise ConfigError(f"{out}: {unknown[0]!r} is no error; one of {', '.join(errors)}")
    counts = [Counter(own.values()) for own in said]
    shares = [[f"{c[label] / c.total():.0%} of {c.total()}" for c in counts] for label in errors]
    lines = [(errors[label], *own) for label, own in zip(errors, shares, strict=True)]
    both = said[0].keys() & said[1].keys()
    same = sum(said[0][n] == said[1][n] for n in both)
    lines.append(("same label by both", f"{same} of {len(both)}", ""))
    print_listing(ReleaseListing("Errors", ("", "person 1", "person 2"), lines))


def _marked(file: Path, how: Score[Any], what: What) -> list[tuple[Mapping[str, Any], float]]:
    """Rows with a reply, and the mark by the first metric that measured it, where it is what is asked for."""
    try:
        rows = pq.read_table(file).to_pylist()
    except (OSError, ValueError) as error:
        told = error if file.exists() else "no such file"
        raise ConfigError(
            f"{file}: cannot be read ({told}); write it with scan2qa score --rows FILE.parquet"
        ) from error
    found = []
    for row in rows:
        measured = (name for name in how.metrics if row.get(name) is not None)
        name = next(measured, None)
        if name is None or not row.get("reply") or (what == "judge" and not row.get("judged")):
            continue
        if what == "judge" or row[name] < how.metrics[name].highest / 2:
            found.append((row, float(row[name])))
    return found


def _rank_correlation(one: FloatArray, other: FloatArray) -> tuple[str, str, str]:
    """Count, rho and p of what both marked; n/a where one of them gave a single mark."""
    from scipy.stats import spearmanr  # takes a moment

    both = ~(np.isnan(one) | np.isnan(other))
    a, b = one[both], other[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return str(len(a)), "n/a", "n/a"
    found = spearmanr(a, b)
    return str(len(a)), f"{found.statistic:.3f}", f"{found.pvalue:.2g}"


def _number(out: Path, who: str, row: Mapping[str, str]) -> float:
    text = (row.get("mark") or "").strip()
    try:
        return float(text) if text else np.nan
    except ValueError:
        raise ConfigError(f"{out}: {who}, number {row['number']}: {text!r} is no mark; fill in a number") from None


def _read(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a sheet by their numbers."""
    remedy = "draw replies first (scan2qa recheck … --rows), and keep the sheet's first line"
    return {row["number"]: row for row in read_csv(path, ("number", "mark"), remedy)}
