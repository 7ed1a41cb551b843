"""The commands `scan2qa convert` and `scan2qa converters`: other formats as neutral scene folders."""

import re
from pathlib import Path
from shlex import quote
from typing import Final

from rich.table import Table

from flows.cli.output.build_tables import show_broken, show_findings
from flows.cli.output.console import console, count_of, start_spinner, stop_spinner
from flows.cli.output.tables import print_table, sentences
from pipeline.core.arguments import nearest_of
from pipeline.core.errors import ConfigError, RawDataError, require_extra, unexpected
from pipeline.core.files import TEMPORARY, new_folder, translate_os_errors
from pipeline.formats.nearest import nearest_format
from pipeline.formats.scene_folder import UNTRIED, write_scene
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import SAFE_NAME
from pipeline.worlds.indoor.converters.capture import Converter
from pipeline.worlds.indoor.converters.registry import CONVERTERS, recognised
from pipeline.worlds.indoor.readers.scene_folders import SceneFolders
from pipeline.worlds.registry import examined

NAME_CHARS: Final = 99


def converters() -> None:
    """Prints the formats that are converted, and the real files that each was tried on."""
    table = Table("format", *sentences("reads", "tried on"), box=None)
    for converter in CONVERTERS.values():
        real = converter.real or "made files only: read what doctor finds"
        table.add_row(converter.name, converter.about, real)
    print_table(table)


def convert(name: str, source: Path, out: Path) -> bool:
    """Converts every scene of a format below a folder; returns whether all could be. Raises ConfigError."""
    if name not in CONVERTERS:
        raise ConfigError(f"unknown format {name!r}; {nearest_of(name, CONVERTERS)}")
    require_extra("scans", f"convert {name}")
    if not source.exists():
        raise ConfigError(f"{source}: no such file or folder")
    converter = CONVERTERS[name]
    places = converter.places(source)
    if not places:
        other = [n for n in recognised(source) if n != name]
        likely = f"this looks like {' or '.join(other)}" if other else nearest_format(source)
        looks = f"; {likely}" if likely else ""
        raise ConfigError(f"{source}: no {name} here, which is {converter.about}{looks}")
    broken: list[RawDataError] = []
    rows: list[tuple[str, str, str, str, str]] = []
    bare: list[Path] = []  # scenes without a label
    for number, place in enumerate(places, 1):
        start_spinner(f"Converting {name}: {number} of {len(places)}")
        try:
            rows += _converted(converter, place, out, bare)
        except Exception as error:  # costs one scene
            broken.append(unexpected(error, place))
    stop_spinner()
    show_broken(broken)
    show_findings(rows, "Findings in what was written")
    for scene in bare:
        console.print(f"Nothing is labelled in it yet. Next: scan2qa label {quote(str(scene))}")
    if len(bare) + len(broken) < len(places):
        console.print(f"Next: scan2qa doctor --root {quote(f'scene={out}')}")
    return not broken


def _converted(converter: Converter, place: Path, out: Path, bare: list[Path]) -> list[tuple[str, str, str, str, str]]:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", place.resolve().stem).strip("-._")[:NAME_CHARS]
    if not SAFE_NAME.fullmatch(name):
        raise RawDataError(place, "unsafe_scene_name", f"{place.name!r} has no letters or digits", "rename it")
    target, building = out / name, out / f"{TEMPORARY}{name}"
    if target.exists():
        raise RawDataError(target, "duplicate_scene", "it is there already", "remove it, or give another folder")
    with new_folder(building):
        document, made_by = converter.convert(place, building), f"scan2qa convert {converter.name}"
        remarks = list(document.remarks)
        if converter.real is None:
            remarks.append(
                f"converter {converter.name} {UNTRIED}, which follow the published conventions: look at the findings"
            )
        document = document.model_copy(update={"made_by": made_by, "remarks": tuple(remarks)})
        write_scene(building, document)
        with translate_os_errors(out):
            building.rename(target)
    frames = len(document.camera.frames) if document.camera else 0
    parts = [count_of(len(document.objects), "object"), count_of(frames, "frame"), *(["mesh"] if document.mesh else [])]
    console.print(f"{target}: {', '.join(parts)}")
    if not document.objects:
        bare.append(target)
    reader = SceneFolders()
    ref = next(ref for ref in reader.scenes(out).scenes if ref.files[0] == name)
    scene = examined(reader.read(SceneFiles(out, ref)))
    return [(scene.id, f.name, f.severity, f.message, f.remedy) for f in scene.findings]
