"""The command `scan2qa fix check`: checks all corrections against the data, without a build."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from flows.cli.output.console import console
from flows.cli.output.tables import print_table, sentences
from pipeline.core.errors import ConfigError, RawDataError
from pipeline.core.fixes import DROPPED, FixEntry
from pipeline.core.schema import AnyScene
from pipeline.engine.inputs import HumanInput
from pipeline.reading.files import SceneFiles
from pipeline.reading.fix_files import SHIPPED, read_fixes
from pipeline.reading.reader import folder_of
from pipeline.stages.fix import with_human_input
from pipeline.worlds.registry import FIXES, configured

FITS, NO_SCENE, NO_DATA = "fits", "no such scene", "no data given"


def check(roots: Mapping[str, Path], folder: Path | None) -> bool:
    """Holds all entries against the scenes below some roots, and says what each does; whether all that could be fit.

    Those of ``folder`` come before the shipped ones.
    """
    entries = read_fixes([SHIPPED, *([folder] if folder else [])], FIXES)
    if folder and all(entry.file.parent != folder for entry in entries):
        raise ConfigError(f"{folder}: no fix here; give the folder that holds your DATASET.yaml files")
    entries.sort(key=lambda entry: entry.file.parent == SHIPPED)
    scenes, datasets, faults = _scenes(roots, {entry.scene for entry in entries})
    rows = [(entry, _verdict(entry, entries, scenes, datasets, faults)) for entry in entries]
    table = Table("fix", "scene", *sentences("change"), "checked against the data", title="Fixes")
    for entry, verdict in rows:
        style = {FITS: "green", NO_DATA: "dim", NO_SCENE: "yellow"}.get(verdict, "red")
        table.add_row(entry.fix.id, entry.scene, entry.fix.change, Text(verdict, style))
    print_table(table)
    wrong = [  # which somebody must look at: one need not have all the scenes that the shipped ones are about
        (entry, verdict)
        for entry, verdict in rows
        if verdict not in (FITS, NO_DATA, NO_SCENE) or (verdict == NO_SCENE and entry.file.parent == folder)
    ]
    for entry, verdict in wrong:
        line = f"{entry.file}:{entry.line}: fix {entry.fix.id}: {verdict}"
        console.print(line)
    counted = Counter("does not fit" if v not in (FITS, NO_SCENE, NO_DATA) else v for _, v in rows)
    told = ", ".join(f"{n} {name}" for name, n in counted.items())
    console.print(f"{len(rows)} {'fix' if len(rows) == 1 else 'fixes'}: {told or 'none'}")
    return not wrong


def _scenes(
    roots: Mapping[str, Path], wanted: set[str]
) -> tuple[dict[tuple[str, str], AnyScene], set[str], dict[str, str]]:
    """The wanted scenes of all roots by reader and id, the datasets that are there, and what cannot be read."""
    scenes: dict[tuple[str, str], AnyScene] = {}
    datasets, faults = set(), {}
    for name, root in sorted(roots.items()):
        if not root.exists():
            raise ConfigError(f"{root}: no such folder; give one with --root {name}=folder")
        reader = configured(name, {})
        for ref in reader.scenes(root).scenes:
            datasets.add(ref.dataset)
            if ref.id in wanted:
                try:
                    scenes[name, ref.id] = reader.read(SceneFiles(folder_of(root), ref))
                except RawDataError as error:
                    faults[ref.id] = f"cannot be read: {error}"
    return scenes, datasets, faults


def _verdict(
    entry: FixEntry,
    entries: Sequence[FixEntry],
    scenes: Mapping[tuple[str, str], AnyScene],
    datasets: set[str],
    faults: Mapping[str, str],
) -> str:
    if entry.scene in faults:
        return faults[entry.scene]
    held = [(r, scene) for (r, unit), scene in scenes.items() if unit == entry.scene and entry.fix.reader in (None, r)]
    for reader, scene in held:
        others = tuple(e for e in entries if e.scene == entry.scene and e.fix.reader in (None, reader))
        try:  # a doubt may be one of what another fix leaves
            with_human_input(scene, HumanInput(fixes=others if entry.fix.target == "doubt" else (entry,)))
        except RawDataError as error:
            if error.finding != DROPPED:
                return error.message.removeprefix(f"{entry.place}: ")
    if held:
        return FITS
    there = {unit for _, unit in scenes}
    return NO_SCENE if entry.dataset in datasets and entry.scene not in there else NO_DATA
