"""The command `scan2qa trace`: traces one question back to its source, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Any, Final

import pyarrow.compute as pc
import yaml
from rich.table import Table

from flows.cli.output.console import console, output_options, print_wrapped
from flows.cli.output.tables import numbers, print_pairs, print_table, sentences
from flows.orchestration.saved_build import SavedBuild, read_saved_build
from pipeline.core.errors import ConfigError
from pipeline.core.fixes import DRAFTED, SCENE
from pipeline.core.groups import first_named
from pipeline.core.parquet import read_files, read_table, released_files
from pipeline.core.schema import AnyScene, Applied, Finding
from pipeline.core.tables import QUESTIONS
from pipeline.core.templates import in_unit
from pipeline.engine.manifest import MANIFEST_FILE, Entry, read_manifest, released_manifest
from pipeline.engine.plan import WHOLE
from pipeline.engine.stage import STORE
from pipeline.engine.store import Store
from pipeline.reading.fix_files import SHIPPED, read_fixes
from pipeline.reading.reader import folder_of
from pipeline.release.comparison import reason_of
from pipeline.rendering.glossary import SHARED, glossary
from pipeline.stages.author import AUTHOR
from pipeline.stages.builder import SAMPLES
from pipeline.stages.fix import FIX
from pipeline.stages.generate import GENERATE
from pipeline.stages.registry import STAGES
from pipeline.stages.select import SELECT
from pipeline.stages.unify import UNIFY
from pipeline.worlds.registry import FIXES, WORLDS, read_scene

SHOWN: Final = 3  # siblings of each operand, without --verbose
OWN_FIXES: Final = Path("fixes")  # proposed where a build has no folder of fixes yet


def show_trace(number: int, folders: Sequence[Path], *, fixes: bool) -> None:
    """Finds a question in one of some builds, and shows what it came from and what else came from the same.

    With ``--verbose`` also the results of all stages. ``fixes``: only the entries that could correct its source.
    """
    if bare := next((folder for folder in folders if not (folder / MANIFEST_FILE).is_file()), None):
        raise ConfigError(f"{bare} holds no build: build first, or give the folder of a build, which holds its release")
    folder = next((folder for folder in folders if find(number, folder)), None)
    if folder is None:
        looked = ", ".join(str(folder) for folder in folders) or "outputs/"
        raise ConfigError(
            f"No question or rejected candidate with id {number} in {looked}. Pass the build folder as second argument."
        )
    found, kept = trace(number, folder), read_saved_build(folder)
    if fixes:
        own = _own_fixes(kept)
        taken = [entry.fix.id for entry in read_fixes([SHIPPED, *([own] if own.is_dir() else [])], FIXES)]
        console.print(found.drafts(taken, datetime.now(UTC).date().isoformat()))
        return
    _question(found, number, folder)
    print_evidence(found.row["evidence"] or ())
    source = found.scene.source
    samples = folder / SAMPLES / source.reader  # of a build without --root
    root = kept.roots.get(source.reader) or (str(samples) if samples.is_dir() else None)
    where = ", ".join(str(folder_of(Path(root)) / file) if root else file for file in source.files)
    print_wrapped(f"Raw data: {where} (reader {source.reader} {source.reader_version}, digest {source.sha256[:12]})")
    if output_options.verbose:
        table = Table("stage", "result", *sentences("made from"), title="Stages")
        for entry in found.entries:
            made = ", ".join(sorted(entry.parts))
            table.add_row(entry.stage, f"key {entry.key[:12]}", made)
        print_table(table)
    for one in found.findings:
        about = "" if one.subject not in found.row["operands"] else " (about what it names)"
        print_wrapped(f"{one.severity}{about}: {one.message}; {one.remedy}")
    for name, rows in found.siblings.items():
        most = len(rows) if output_options.verbose else SHOWN
        listed = first_named([f"{row['id']} ({row['task']})" for row in rows], most)
        print_wrapped(f"Other questions about {name}: {listed or 'none'}")
    _correct(number, folder, found, kept)


def _question(found: Trace, number: int, folder: Path) -> None:
    row = found.row
    facts = [
        ("question", " ".join(row["text"].split()) if row["text"] else None),
        ("options", "   ".join(row["options"] or row["choices"] or ()) or None),
        ("truth", None if row["answer"] is None else f"{row['answer']} ({row['choice'] or row['ground_truth']})"),
        ("not asked", found.refused),
        ("which means", found.means),
        ("about", ", ".join(row["operands"])),
        ("template", f"{row['template']} version {row['template_version']}" if row["template"] else None),
        ("remarks", ", ".join(row["flags"] or ()) or None),
        ("fixes", "\n".join(f"{f.id}: {f.change}. {f.why} ({f.who}, {f.date})" for f in found.fixes) or "none"),
    ]
    if found.released:
        rules = f"profile {found.released['profile']}, digest {found.released['rules']}"
        facts.append(("rules", rules))
    print_pairs(f"Question {number} of {folder}: {row['task']}, {row['scene']}", facts)


def print_evidence(rows: Sequence[Mapping[str, Any]]) -> None:
    """The numbers behind an answer (rows of `tables.EVIDENCE`), each rule with its limit and by how much it holds."""
    if not rows:
        return
    heads = numbers("value", "limit", "margin")
    table = Table("what was measured", "of", *heads, title="Evidence, and by how much the rules hold")
    for one in rows:
        value, limit, margin = in_unit(f"{one['value']:.4g}", one["unit"]), "", ""
        if one["limit"] is not None:
            limit = f"{one['relation']} " + in_unit(f"{one['limit']:.4g}", one["unit"])
            margin = in_unit(f"{abs(one['value'] - one['limit']):.4g}", one["unit"])
        table.add_row(one["name"], one["subject"] or "", value, limit, margin)
    print_table(table)


def _own_fixes(kept: SavedBuild) -> Path:
    """The folder of a build's own fixes, or that which is proposed to it."""
    fixes: dict[str, Any] = kept.configured.get("fixes") or {}
    return Path(fixes.get("folder") or OWN_FIXES).resolve()


def _correct(number: int, folder: Path, found: Trace, kept: SavedBuild) -> None:
    """Says how the source is corrected, and where there is more."""
    own, saved = _own_fixes(kept), (kept.configured.get("fixes") or {}).get("folder")
    file = own / f"{found.read.dataset}.yaml"
    print_wrapped(
        f"To correct the source: scan2qa trace {number} {quote(str(folder))} --fixes prints entries, with the values "
        f"as they are; put one with the right values into {file} (docs/maintain/fixes.md), and build again"
        + ("." if saved else f" with --set {quote(f'fixes.folder={own}')}, which is saved.")
    )
    if not output_options.verbose:
        console.print("--verbose lists the stages and all other questions.")


_GENERAL: Final = {"target": "drop_scene"}


@dataclass(frozen=True)
class Trace:
    """The trace of one question.

    Attributes:
        row: of `tables.SELECTED`: a question or a rejected candidate.
        refused: reason, measured value and limit of its rejection; None: it is asked.
        means: what that reason means.
        released: its row in the release's provenance; None where it is in none.
        scene: as the stages behind `fix` see it.
        read: as its reader gave it.
        entries: the manifest's rows of its scene and of the whole build, in the order of the stages.
        findings: of its scene, those about what it names first.
        fixes: that it rests on.
        siblings: what it names -> the other candidates of its scene that name it too.
    """

    row: Mapping[str, Any]
    refused: str | None
    means: str | None
    released: Mapping[str, Any] | None
    scene: AnyScene
    read: AnyScene
    entries: Sequence[Entry]
    findings: Sequence[Finding]
    fixes: Sequence[Applied]
    siblings: Mapping[str, Sequence[Mapping[str, Any]]]

    def drafts(self, taken: Iterable[str], date: str) -> str:
        """Entries to paste into a file of fixes, each with a free id; they change nothing before ``set`` is another."""
        dataset, name = self.read.dataset, self.read.name
        prefix = f"{dataset.lower()}-own-"  # which no entry has that comes with scan2qa, or will come
        known = {
            int(i.removeprefix(prefix)) for i in taken if i.startswith(prefix) and i.removeprefix(prefix).isdigit()
        }
        first = max(known, default=0) + 1
        found = [*WORLDS[self.read.facts.world].drafts(self.read, tuple(self.row["operands"])), dict(_GENERAL)]
        told = [
            {"id": f"{prefix}{number:04}", "reader": self.read.source.reader, "scene": name}
            | draft
            | DRAFTED
            | {"date": date}
            for number, draft in enumerate(found, first)
        ]
        return "\n".join(fix_entry(draft) for draft in told)


def fix_entry(draft: dict[str, Any]) -> str:
    """A list item whose boxes stand on one line; the date without quotes."""
    lines = []
    for key, value in draft.items():
        text = yaml.safe_dump(value, default_flow_style=True, width=1000, allow_unicode=True, sort_keys=False)
        lines.append(f"{key}: {text.removesuffix(chr(10)).removesuffix(f'{chr(10)}...')}")
    return "- " + "\n  ".join(lines).replace(f"date: '{draft['date']}'", f"date: {draft['date']}")


def find(number: int, folder: Path) -> str | None:
    """The scene of a question or rejected candidate in a build's release; None where it has neither."""
    row = _released(folder, "provenance", number) or _released(folder, "rejected", number)
    return None if row is None else str(row["scene"])


def facts_of_build(question: int | str, build: Path) -> Any:
    """The facts of a question's scene, fixed. Raises ConfigError where the build does not have them."""
    scene = find(int(question), build) if str(question).isdigit() else None
    entry = read_manifest(build).get((FIX.name, scene)) if scene else None
    if entry is None or entry.output is None:
        raise ConfigError(f"{build}: the scene of question {question} is not in the build; build again")
    return read_scene(Store(build / STORE).get(entry.output)).facts


def trace(number: int, folder: Path) -> Trace:
    """Everything that a question of a build came from. Raises ConfigError where the build does not know it."""
    scene_id = find(number, folder)
    manifest = released_manifest(folder)
    if scene_id is None:
        message = f"{folder}: no question {number}, neither asked nor rejected"
        raise ConfigError(f"{message}; ids are in release/data and release/rejected")
    store = Store(folder / STORE)

    def result(stage: str) -> bytes:
        entry = manifest.get((stage, scene_id))
        if entry is None or entry.output is None:
            raise ConfigError(f"{folder}: stage {stage} has no result of {scene_id}; build again")
        return store.get(entry.output)

    selected = read_table(result(SELECT.name))
    rows = selected.filter(pc.equal(selected["id"], number)).to_pylist()
    if not rows:
        raise ConfigError(f"{folder}: the release is older than the last results of {scene_id}; build again")
    row, named = rows[0], set(rows[0]["operands"])
    if row["evidence"] is None:  # what `select` rejects has it in the results before
        made = AUTHOR.name if (AUTHOR.name, scene_id) in manifest else GENERATE.name
        candidates = read_table(result(made))
        row |= {"evidence": candidates.filter(pc.equal(candidates["id"], number))["evidence"].to_pylist()[0]}
    scene = read_scene(result(FIX.name))
    released = _released(folder, "provenance", number)
    removed = row if row["reason"] is not None else None
    if removed is None and released is None:
        removed = _released(folder, "rejected", number)  # though it was selected
    words = glossary(read_saved_build(folder).configured.get("benchmark", SHARED))  # its file may have been deleted
    return Trace(
        row=row,
        refused=None if removed is None else reason_of(removed),
        means=None if removed is None else words.get(removed["reason"]),
        released=released,
        scene=scene,
        read=read_scene(result(UNIFY.name)),
        entries=[manifest[at] for name in STAGES for at in ((name, scene_id), (name, WHOLE)) if at in manifest],
        findings=sorted(scene.findings, key=lambda finding: finding.subject not in named),
        fixes=[fix for fix in scene.fixes if set(fix.subjects) & {SCENE, *named}],
        siblings={name: _asked_about(selected, name, number) for name in dict.fromkeys(row["operands"])},
    )


def _asked_about(selected: Any, name: str, number: int) -> list[dict[str, Any]]:
    """The questions of a scene that name something, but for one."""
    asked = selected.filter(pc.is_null(selected["reason"])).select(QUESTIONS.names)
    return [row for row in asked.to_pylist() if name in row["operands"] and row["id"] != number]


def _released(folder: Path, table: str, number: int) -> dict[str, Any] | None:
    """The row of a question in a table of a build's release; None where it has none."""
    files = released_files(folder / "release" / table)
    rows = read_files(files, where=pc.field("id") == number).to_pylist() if files else []
    return next(iter(rows), None)
