"""The commands `scan2qa audit` and `scan2qa coverage`: compare published questions with the generators."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.table import Table

from flows.cli.output import build_tables as show
from flows.cli.output.console import console
from flows.cli.output.tables import numbers, print_listings, print_table, table_writer
from flows.cli.release_reader import refuse_other
from pipeline.benchmarks.benchmark import Audit, FromMetadata
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.arguments import nearest_of
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.schema import AnyScene
from pipeline.questions.audited import Coverage, ExaminationInputs, LeftOut, Miss
from pipeline.questions.published import read_published
from pipeline.reading.files import Listing, SceneFiles
from pipeline.reading.reader import Reader
from pipeline.worlds.registry import READERS, examined

PROFILE: Final = "official"  # what is published is held against
LEFT_OUT_SHOWN: Final = 20  # rows of a file


def audit(
    name: str, questions: Path, meta: Path | None, out: Path | None, profile: str | None, split: str | None
) -> bool:
    """Examines a published question file, and says where it differs; False where some of its rows were left out."""
    write = table_writer(out) if out else None
    how = _chosen(name)
    refuse_other(name, questions, questions)
    if how.metadata:
        scenes, rules = _metadata(name, how.metadata, meta, profile)
        found = how.examine(questions, ExaminationInputs(scenes, profile or PROFILE, rules, split))
    else:
        for option, value in (("--meta", meta), ("--profile", profile)):
            if value is not None:
                raise ConfigError(f"questions of {name} are examined alone: leave {option} out")
        found = how.examine(questions, ExaminationInputs(split=split))
    if write:
        write(found.table)
    print_listings(found.listings)
    _show_left_out(found.left_out, questions)
    if out:
        console.print(f"All rows: {out}")
    return not found.left_out


def coverage(name: str, meta: Path, questions: Path, profile: str | None) -> None:
    """Checks that the candidates, before caps, contain the published questions and contradict none."""
    how = _chosen(name).metadata
    refuse_other(name, questions, questions)
    if how is None:
        raise ConfigError(f"questions of {name} are examined alone: there is nothing that could contain them")
    scenes, rules = _metadata(name, how, meta, profile)
    title = f"profile {profile or PROFILE}"
    _show_coverage(*how.cover(read_published(questions, BENCHMARKS[name].all_columns), scenes, rules), title)


def _chosen(name: str) -> Audit:
    found = BENCHMARKS[name].audit if name in BENCHMARKS else None
    if found is None:
        known = ", ".join(name for name, benchmark in BENCHMARKS.items() if benchmark.audit)
        raise ConfigError(f"unknown benchmark {name!r}; published questions of {known} can be examined")
    return found


def _metadata(name: str, how: FromMetadata, meta: Path | None, profile: str | None) -> tuple[list[AnyScene], Any]:
    """The scenes that published questions are held against, and the rules of the profile."""
    profiles = BENCHMARKS[name].profiles
    if (profile or PROFILE) not in profiles:
        raise ConfigError(f"unknown profile {profile!r}; {nearest_of(profile or PROFILE, profiles)}")
    if meta is None:
        raise ConfigError(f"questions of {name} are answered again from metadata: give their folder with --meta")
    return _read_scenes(how.readers, meta), profiles[profile or PROFILE]


def _read_scenes(names: Sequence[str], meta: Path) -> list[AnyScene]:
    """All sound scenes of a metadata folder, by the first reader that it is for; others are listed on the terminal."""
    reader, listing = _listed([READERS[name] for name in names], meta)
    scenes, broken = [], list(listing.broken)
    for ref in listing.scenes:
        try:
            scenes.append(examined(reader.read(SceneFiles(meta, ref))))
        except RawDataError as error:
            broken.append(error)
    show.show_broken(broken)
    return scenes


def _listed(readers: Sequence[Reader], meta: Path) -> tuple[Reader, Listing]:
    """The first reader that the folder is for, and what it lists. Raises ConfigError where it is for none."""
    *others, last = readers
    for reader in others:
        try:
            return reader, reader.scenes(meta)
        except ConfigError:
            continue  # the last one tells what is missing
    return last, last.scenes(meta)


def _show_left_out(rows: Sequence[LeftOut], path: Path) -> None:
    """The first rows that were left out, and what to do about each."""
    if not rows:
        return
    console.print(f"\nLeft out of {path}: {len(rows)}", style="yellow")
    for row in rows[:LEFT_OUT_SHOWN]:
        name = f" (question {row.id})" if row.id else ""
        line = f"- row {row.row}{name}: {row.finding}: {row.message}. Remedy: {row.remedy}"
        console.print(" ".join(line.split()))
    if len(rows) > LEFT_OUT_SHOWN:
        console.print(f"… {len(rows) - LEFT_OUT_SHOWN} more: --out FILE.csv has each of them, with status left_out")


def _show_coverage(counts: Mapping[str, Coverage], misses: Sequence[Miss], title: str) -> None:
    """Every miss, then the share of the published questions that the candidates contain."""
    heads = numbers("published", "not in metadata", "contained", "share of the rest", "contradicted")
    table = Table("question type", *heads, title=f"Published questions among the candidates, {title}")
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
        console.print(line)
    print_table(table)
