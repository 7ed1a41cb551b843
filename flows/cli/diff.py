"""The command `scan2qa diff`: lists the questions that changed between two releases, and the causes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.table import Table

from flows.cli.output.console import console, count_of
from flows.cli.output.tables import numbers, print_table, sentences
from flows.cli.release_reader import name_of_release
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.tables import CHECKSUMS
from pipeline.engine.change_causes import ReleaseLineage, read_release_lineage, with_causes
from pipeline.engine.manifest import MANIFEST_FILE
from pipeline.questions.published import Columns
from pipeline.release.comparison import (
    LoadedRelease,
    Report,
    compared,
    differing_scenes,
    markdown,
    page,
    read_release,
    table,
    with_reasons,
)
from pipeline.release.history import RELEASES, candidate, history, kept_name, newest_release
from pipeline.stages.registry import STAGES

DIFF: Final = "diff"  # folder of a build
SHOWN: Final = 10


def diff(folders: Sequence[Path], since: str | None, out: Path | None, *, waiting: bool = False) -> None:
    """Compares two releases, and writes what differs as page, Markdown and table.

    Of a build the last two, or its newest and the candidate that waits; or any two.
    """
    if len(folders) == 1:
        before, after = _with_candidate(folders[0]) if waiting else _last_two(folders[0], since)
        out = out or folders[0] / DIFF
    else:
        before, after = folders
        own, other = map(name_of_release, folders)
        if own != other:
            raise ConfigError(f"{before} holds questions of {own}, {after} those of {other}; give two of one benchmark")
        out = out or Path(DIFF)
    report = report_of(before, after, f"Changes in {folders[-1].name if len(folders) == 1 else after.name}")
    for name, raw in (("diff.html", page(report)), ("diff.md", markdown(report)), ("diff.parquet", table(report))):
        write_atomically(out / name, raw)
    _print_report(report)
    console.print(f"All of it, to read: {out / 'diff.html'} (also diff.md and diff.parquet)")


def since_last(build: Path, newest_before: str | None, benchmark: str = "") -> tuple[str, Report | None]:
    """On one line, what a build changed, and the comparison; ``newest_before`` is its newest release before."""
    kept = history(build)
    if not kept:
        return "nothing was released", None
    newest = kept[-1].name
    if newest_before == newest:
        return f"the release is the same as before ({newest})", None
    if newest_before is None or newest_before not in {one.name for one in kept}:
        return f"First release in this folder ({newest})", None
    home = build / RELEASES
    report = report_of(home / newest_before, home / newest, "", benchmark, reasons=False)
    return f"since the last release ({newest_before} -> {newest}): {report.line}", report


class _AllColumns:
    """The public columns of all benchmarks, those of one first; others are imported for a row that is none of its."""

    def __init__(self, first: str) -> None:
        self._names = sorted(BENCHMARKS, key=lambda name: name != first)

    def __iter__(self) -> Iterator[Columns]:
        return (columns for name in self._names for columns in BENCHMARKS[name].all_columns)


def report_of(before: Path, after: Path, title: str, benchmark: str = "", *, reasons: bool = True) -> Report:
    """The comparison of two release folders, probably of a ``benchmark``.

    Without ``reasons`` the rejected candidates are not looked at.
    """
    columns = _AllColumns(benchmark)
    scenes = differing_scenes(before, after)
    one, other = read_release(before, columns, scenes), read_release(after, columns, scenes)
    changes = compared(one, other)
    if reasons:
        changes = with_reasons(changes, one, other)
    changes = with_causes(changes, (one, _made(one)), (other, _made(other)), list(STAGES))
    return Report(title, one, other, changes)


def _made(release: LoadedRelease) -> ReleaseLineage:
    """The lineage of a release, from the manifest that its build kept beside it."""
    return read_release_lineage(release.folder.resolve().parent, kept_name(release.name, MANIFEST_FILE))


def _with_candidate(build: Path) -> tuple[Path, Path]:
    waiting, newest = candidate(build), newest_release(build)
    if waiting is None or newest is None:
        raise ConfigError(f"{build}: no candidate waits beside its release")
    return build / RELEASES / newest, build / RELEASES / waiting.name


def _last_two(build: Path, since: str | None) -> tuple[Path, Path]:
    kept = [one.name for one in history(build)]
    home = build / RELEASES
    if not kept:
        found = "one release" if (build / CHECKSUMS).is_file() else "no release here"
        raise ConfigError(f"{build}: {found}; give a build that has released, or two release folders")
    if since is not None:
        if since not in kept[:-1]:
            known = ", ".join(kept[:-1]) or "none"
            raise ConfigError(f"{build}: no older release {since} is kept; there are {known}")
        return home / since, home / kept[-1]
    if len(kept) < 2:
        raise ConfigError(f"{build}: {kept[0]} is the only release that is kept; there is nothing to compare it with")
    return home / kept[-2], home / kept[-1]


def _print_report(report: Report) -> None:
    """Prints the changes by kind and cause, then the first changes."""
    names = f"{report.before.name} -> {report.after.name}"
    console.print(f"{names}: {report.before.size:,} -> {count_of(report.after.size, 'question')}")
    if not report.changes:
        console.print("No question differs.")
        return
    kinds = [kind for kind, n in report.totals.items() if n]
    causes = Table("cause", *numbers(*kinds), *sentences("what was done"), title="Changes and their causes")
    for cause in report.causes:
        own: list[str] = [change.kind for change in report.changes if cause.name in change.causes]
        causes.add_row(cause.name, *(str(own.count(k) or "") for k in kinds), cause.description)
    causes.add_section()
    causes.add_row("all", *(str(report.totals[kind]) for kind in kinds), "")
    print_table(causes)
    show_changes(report)


def show_changes(report: Report) -> None:
    """The first changes, one a line."""
    listed = Table("change", "scene", *sentences("cause", "question"), box=None)
    above: tuple[str, ...] | None = None
    for change in report.changes[:SHOWN]:
        asked, (one, other) = change.asked, (change.before, change.after)
        told = f"{one.answer} -> {other.answer}: " if one and other and one.answer != other.answer else ""
        causes = "as above" if change.causes == above else "; ".join(change.causes)
        listed.add_row(change.kind, asked.scene, causes, told + " ".join(asked.text.split()))
        above = change.causes
    print_table(listed)
    if len(report.changes) > SHOWN:
        console.print(f"… and {len(report.changes) - SHOWN} more")
