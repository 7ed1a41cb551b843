"""Data roots as written on the command line: `reader=folder`, or `reader=s3://bucket/prefix`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, Final

from flows.cli.output.console import console, start_spinner, stop_spinner
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.arguments import split_root
from pipeline.core.errors import ConfigError, require_extra
from pipeline.core.files import write_atomically
from pipeline.core.mirrors import mirror_of
from pipeline.engine.code import code_digest
from pipeline.samples.registry import SAMPLES
from pipeline.worlds.registry import READERS, WORLDS
from pipeline.worlds.world import World

SCHEMES: Final = ("s3", "gs", "az")
_URL: Final = re.compile(rf"({'|'.join(SCHEMES)}):/{{1,2}}(.+)")  # a path of a configuration has lost one slash


def roots_of(roots: Sequence[str]) -> dict[str, Path]:
    """Folders by reader, from ``reader=folder`` each. Raises ConfigError."""
    given = {}
    for root in roots:
        reader, where = split_root(root, READERS)
        given[reader] = root_at(where)
    return given


def root_at(where: str) -> Path:
    """A folder, or the one that shows what lies at a URL now (`flows.remote.mirror`). Raises ConfigError."""
    if re.match(r"[a-z][a-z0-9+.-]*://", where) and not _URL.fullmatch(where):
        known = ", ".join(f"{scheme}://bucket/prefix" for scheme in SCHEMES)
        raise ConfigError(f"--root {where}: roots are folders, or {known}")
    url = _URL.fullmatch(where)
    if url is None:
        return Path(where)
    require_extra("s3", f"--root {where}")
    from flows.remote.mirror import ObjectMirror

    return ObjectMirror(f"{url[1]}://{url[2].strip('/')}").synced().root


def written(roots: Mapping[str, Path]) -> dict[str, str]:
    """Roots by reader as they are kept: whole paths and URLs."""
    return {name: m.url if (m := mirror_of(root)) else str(root.resolve()) for name, root in roots.items()}


VERSION_FILE: Final = ".version"


def samples(folder: Path) -> None:
    """Writes small procedural raw data of every world, and the truth that was planted in them."""
    folder.mkdir(parents=True, exist_ok=True)  # a file there is refused at once, not when the first scan is drawn
    for world, own in SAMPLES.items():
        start_spinner(f"Writing sample {WORLDS[world].units}")
        own.write(folder)
        roots = " ".join(f"--root {quote(f'{name}={folder / name}')}" for name in own.readers)
        for benchmark in BENCHMARKS.values():
            if world in {of.name for of in benchmark.worlds}:
                console.print(f"Try: scan2qa build {benchmark.name} {roots} --set samples=true")


def sample_roots(worlds: Sequence[World[Any]], folder: Path, write: bool) -> dict[str, Path]:
    """Roots of sample data of some worlds, which are written where this version of them is not there yet."""
    names = " and ".join(world.units for world in worlds)
    if lacking := [world.units for world in worlds if world.name not in SAMPLES]:
        raise ConfigError(f"there are no sample {' and '.join(lacking)}: give --root READER=DIR")
    made = [SAMPLES[world.name] for world in worlds]
    version = code_digest(tuple(own.module for own in made))
    mark = folder / VERSION_FILE
    if not mark.exists() or mark.read_text(encoding="utf-8") != version:
        if not write:
            raise ConfigError(
                f"no --root was given and the sample {names} are not written yet: build once, or give a root"
            )
        folder.mkdir(parents=True, exist_ok=True)
        stop_spinner()
        console.print(f"Writing sample {names} first (no --root given): about half a minute")
        start_spinner(f"Writing sample {names}")
        for own in made:
            own.write(folder)
        stop_spinner()
        write_atomically(mark, version.encode())
    return {name: folder / name for own in made for name in own.readers}
