"""The commands `scan2qa audit` and `scan2qa coverage`: published questions against the code that makes questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from rich.markup import escape
from rich.table import Table

from flows import show
from flows.console import console
from flows.show import SHOWN
from flows.tables import print_table, table_writer
from pipeline.benchmarks.benchmark import Audit, Benchmark
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import AnyScene
from pipeline.questions.audited import STATUSES, Coverage, Miss, audit_table
from pipeline.questions.published import read_published
from pipeline.reading.files import SceneFiles
from pipeline.worlds.registry import READERS, examined

_ROUNDING: Final = 1e-9  # of differences of decimals
AUDITED: Final = [name for name, benchmark in BENCHMARKS.items() if benchmark.audit]


def audit(name: str, meta: Path, questions: Path, out: Path, profile: str) -> None:
    """Answers a published question file again from the metadata, and says where it differs."""
    write = table_writer(out)
    benchmark, how, rules = _chosen(name, profile)
    scenes = _read_scenes(how.reader, meta)
    table = audit_table(how.answer(read_published(questions, [benchmark.columns]), scenes, rules))
    write(table)
    _show_audit(table, f"profile {profile}", how.tolerances)
    console.print(f"All rows: {out}")


def coverage(name: str, meta: Path, questions: Path, profile: str) -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    benchmark, how, rules = _chosen(name, profile)
    scenes = _read_scenes(how.reader, meta)
    _show_coverage(*how.cover(read_published(questions, [benchmark.columns]), scenes, rules), f"profile {profile}")


def _chosen(name: str, profile: str) -> tuple[Benchmark[Any, Any], Audit, Any]:
    if name not in AUDITED:
        raise ConfigError(
            f"unknown benchmark {name!r}; published questions of {', '.join(AUDITED)} can be answered again"
        )
    benchmark = BENCHMARKS[name]
    if profile not in benchmark.profiles:
        raise ConfigError(f"unknown profile {profile!r}; there are {', '.join(benchmark.profiles)}")
    if benchmark.audit is None:
        raise ValueError(f"{name} has no audit")
    return benchmark, benchmark.audit, benchmark.profiles[profile]


def _read_scenes(name: str, meta: Path) -> list[AnyScene]:
    """All sound scenes of a metadata folder; the others are listed on the terminal."""
    reader = READERS[name]
    listing = reader.scenes(meta)
    scenes, broken = [], list(listing.broken)
    for ref in listing.scenes:
        try:
            scenes.append(examined(reader.read(SceneFiles(meta, ref))))
        except RawDataError as error:
            broken.append(error)
    show.show_broken(broken)
    return scenes


def _show_audit(table: pa.Table, title: str, tolerances: Mapping[str, tuple[float, str]]) -> None:
    """Summary per question type, then every reason with the ids it holds for, then how near the numbers are."""
    rows = table.to_pylist()
    print_table(_summary(rows, title))
    causes = _causes(rows)
    if causes.rows:
        print_table(causes)
    for name, (limit, unit) in tolerances.items():
        gaps = [abs(float(r["recomputed"]) - float(r["published"])) for r in rows if _both(r, name)]
        if gaps:
            within = sum(gap <= limit + _ROUNDING for gap in gaps)
            share = f"{within} of {len(gaps)} answered again are within {limit:g} {unit} ({within / len(gaps):.2%})"
            console.print(f"{name}: {share}")


def _summary(rows: Sequence[Mapping[str, Any]], title: str) -> Table:
    """How many questions of each type have each status."""
    summary = Table("question type", "n", *STATUSES, title=f"Audit, {title}", title_justify="left")
    for column in summary.columns[1:]:
        column.justify = "right"
    per_type: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        per_type[row["question_type"]][row["status"]] += 1
    for name, counts in sorted(per_type.items()):
        summary.add_row(escape(name), str(counts.total()), *(str(counts[s] or "") for s in STATUSES))
    total = Counter(row["status"] for row in rows)
    summary.add_section()
    summary.add_row("all", str(len(rows)), *(str(total[s] or "") for s in STATUSES))
    return summary


def _causes(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The cases of each reason; those of questions that cannot be answered again are only counted."""
    reasons: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row["reason"]:
            reasons[row["status"], row["reason"], row["question_type"]].append(_case(row))
    causes = Table("reason", "status", "question type", "n", title="Why", title_justify="left")
    causes.add_column("cases", overflow="fold")
    for (status, reason, kind), cases in sorted(reasons.items()):
        shown = ", ".join(cases[:SHOWN]) + (f", … {len(cases) - SHOWN} more" if len(cases) > SHOWN else "")
        listed = "" if status == "unsupported" else shown
        causes.add_row(reason, status, escape(kind), str(len(cases)), escape(listed))
    return causes


def _both(row: dict[str, str | None], name: str) -> bool:
    return row["question_type"] == name and row["recomputed"] is not None and row["status"] in ("reproduced", "differs")


def _case(row: Mapping[str, Any]) -> str:
    if row["status"] == "differs":
        return f"{row['id']} ({row['published']} / {row['recomputed']})"
    if isinstance(row["measured"], float):
        return f"{row['id']} ({row['measured']:.3g} {row['unit'] or ''})".replace(" )", ")")
    return str(row["id"])


def _show_coverage(counts: Mapping[str, Coverage], misses: Sequence[Miss], title: str) -> None:
    """Every miss, then the share of the published questions that the candidates contain."""
    headers = ("published", "not in metadata", "contained", "share of the rest", "contradicted")
    table = Table(
        "question type", *headers, title=f"Published questions among the candidates, {title}", title_justify="left"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    contradicted = Counter(m.question.question_type for m in misses if m.kind == "contradicted")
    figures: dict[str, Sequence[int]] = {
        name: (c.published, c.not_in_metadata, c.contained, contradicted[name]) for name, c in sorted(counts.items())
    }
    figures["all"] = [sum(row[column] for row in figures.values()) for column in range(4)]
    for name, (n, missing, contained, wrong) in figures.items():
        if name == "all":
            table.add_section()
        share = f"{contained / (n - missing):.1%}" if n > missing else ""
        table.add_row(name, str(n), str(missing or ""), str(contained), share, str(wrong or ""))
    for miss in misses:
        reason = miss.rejection
        limits = "" if reason.measured is None else f" (measured {reason.measured:.4g}, limit {reason.limit:.4g})"
        question = miss.question
        line = f"{miss.kind} {question.id} {question.question_type} {question.scene_name}: {reason.reason}{limits}"
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    print_table(table)
