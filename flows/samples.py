"""The command `scan2qa samples`, and the samples of a build without data of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from flows.console import console, done_waiting, errors
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.engine.code import code_digest
from pipeline.worlds.registry import WORLDS
from pipeline.worlds.world import World

VERSION_FILE: Final = ".version"


def samples(folder: Path) -> None:
    """Writes small procedural raw data of every world, and the truth that was planted in them."""
    for world in WORLDS.values():
        world.samples.write(folder)
        roots = " ".join(f"--root {name}={folder / name}" for name in world.samples.readers)
        for benchmark in BENCHMARKS.values():
            if world.name in {own.name for own in benchmark.worlds}:
                console.print(f"Try: scan2qa build {benchmark.name} {roots}", soft_wrap=True)


def sample_roots(worlds: Sequence[World[Any]], folder: Path, write: bool) -> dict[str, Path]:
    """Roots of sample data of some worlds, which are written where this version of them is not there yet."""
    names = " and ".join(world.units for world in worlds)
    version = code_digest(tuple(world.samples.write.__module__ for world in worlds))
    mark = folder / VERSION_FILE
    if not mark.exists() or mark.read_text(encoding="utf-8") != version:
        if not write:
            raise ConfigError(
                f"no --root was given and the sample {names} are not written yet: build once, or give a root"
            )
        done_waiting()
        with errors.status(f"writing sample {names} (no --root given)"):
            for world in worlds:
                world.samples.write(folder)
        write_atomically(mark, version.encode())
    return {name: folder / name for world in worlds for name in world.samples.readers}
