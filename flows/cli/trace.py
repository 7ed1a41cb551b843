"""The command `scan2qa trace`: what one question came from, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.table import Table

from flows.cli.output.console import console
from flows.cli.output.tables import print_table
from flows.orchestration.saved_build import SavedBuild, read_saved_build
from pipeline.core.errors import ConfigError
from pipeline.reading.fix_files import SHIPPED, read_fixes
from pipeline.stages.trace import Trace, find, trace
from pipeline.worlds.registry import FIXES

SHOWN = 10  # siblings of each operand


def show_trace(number: int, folders: Sequence[Path]) -> None:
    """Finds a question in one of some builds, and shows what it came from and what else came from the same."""
    folder = next((folder for folder in folders if find(number, folder)), None)
    if folder is None:
        looked = ", ".join(str(folder) for folder in folders) or "no build"
        raise ConfigError(f"no question {number} in {looked}; give its build with --build")
    found, kept = trace(number, folder), read_saved_build(folder)
    _question(found, number, folder)
    print_evidence(found.row["evidence"] or ())
    _source(found, kept)
    _findings(found)
    _siblings(found)
    _paste(found, kept)


def _question(found: Trace, number: int, folder: Path) -> None:
    row = found.row
    title = f"Question {number} of {folder}: {row['task']}, {row['scene']}"
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    facts = [
        ("question", " ".join(row["text"].split()) if row["text"] else None),
        ("options", "   ".join(row["options"] or row["choices"] or ()) or None),
        ("truth", None if row["answer"] is None else f"{row['answer']} ({row['choice'] or row['ground_truth']})"),
        ("not asked", found.refused),
        ("about", ", ".join(row["operands"])),
        ("template", f"{row['template']} version {row['template_version']}" if row["template"] else None),
        ("remarks", ", ".join(row["flags"] or ()) or None),
        ("fixes", "\n".join(f"{f.id}: {f.change}. {f.why} ({f.who}, {f.date})" for f in found.fixes) or "none"),
    ]
    if found.released:
        rules = f"profile {found.released['profile']}, digest {found.released['rules']}"
        facts.append(("rules", rules))
    for name, value in facts:
        if value is not None:
            table.add_row(name, value)
    print_table(table)


def print_evidence(rows: Sequence[Mapping[str, Any]]) -> None:
    """The numbers behind an answer (rows of `tables.EVIDENCE`), each rule with its limit and by how much it holds."""
    if not rows:
        return
    table = Table("what was measured", "of", title="Evidence, and by how much the rules hold", title_justify="left")
    for name in ("value", "limit", "margin"):
        table.add_column(name, justify="right")
    for one in rows:
        unit = f" {one['unit']}" if one["unit"] else ""
        limit = "" if one["limit"] is None else f"{one['relation']} {one['limit']:.4g}{unit}"
        margin = "" if one["limit"] is None else f"{abs(one['value'] - one['limit']):.4g}{unit}"
        table.add_row(one["name"], one["subject"] or "", f"{one['value']:.4g}{unit}", limit, margin)
    print_table(table)


def _source(found: Trace, kept: SavedBuild) -> None:
    source = found.scene.source
    root = kept.roots.get(source.reader)
    where = ", ".join(str(Path(root) / file) if root else file for file in source.files)
    console.print(
        f"Raw data: {where} (reader {source.reader} {source.reader_version}, digest {source.sha256[:12]})",
        soft_wrap=True,
    )
    table = Table("stage", "result", title="Stages", title_justify="left")
    table.add_column("made from", overflow="fold")
    for entry in found.entries:
        made = ", ".join(sorted(entry.parts))
        table.add_row(entry.stage, f"key {entry.key[:12]}", made)
    print_table(table)


def _findings(found: Trace) -> None:
    for one in found.findings:
        about = "" if one.subject not in found.row["operands"] else " (about what it names)"
        console.print(f"{one.severity}{about}: {one.message}; {one.remedy}")


def _siblings(found: Trace) -> None:
    for name, rows in found.siblings.items():
        more = f", … {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
        listed = ", ".join(f"{row['id']} ({row['task']})" for row in rows[:SHOWN])
        console.print(f"Other questions about {name}: {listed or 'none'}{more}", soft_wrap=True)


def _paste(found: Trace, kept: SavedBuild) -> None:
    fixes: dict[str, Any] = kept.configured.get("fixes") or {}
    own = [Path(fixes["folder"])] if fixes.get("folder") else []
    taken = [entry.fix.id for entry in read_fixes([SHIPPED, *own], FIXES)]
    file = (own[0] if own else SHIPPED) / f"{found.read.dataset}.yaml"
    hint = "target box, with the right box under set, corrects a box, category a category; docs/fixes.md has them all"
    console.print(f"\nTo correct the source, put one of these into {file} ({hint}):\n", soft_wrap=True)
    today = datetime.now(UTC).date().isoformat()
    console.print(found.drafts(taken, today), soft_wrap=True)
