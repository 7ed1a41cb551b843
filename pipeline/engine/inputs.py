"""The scenes of a build: which there are in its roots, and what could not even be listed."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.engine.config import BuildConfig
from pipeline.engine.raw import RawInput
from pipeline.worlds.indoor.readers.written_routes import read_routes
from pipeline.worlds.registry import configured


@dataclass(frozen=True)
class Listed:
    """Raw data by unit, and what is broken, with the unit that it costs."""

    inputs: dict[str, RawInput]
    broken: list[tuple[str, RawDataError]]


def check_roots(config: BuildConfig) -> None:
    """Raises ConfigError where a root is missing, or a reader or its options are not known."""
    if not config.roots:
        raise ConfigError("no data root: give --root reader=folder")
    for name, root in sorted(config.roots.items()):
        if not root.is_dir():
            raise ConfigError(f"{root}: no such folder; give one with --root {name}=folder")
    for name in {*config.roots, *config.readers}:
        configured(name, config.readers.get(name, {}))


def list_inputs(config: BuildConfig) -> Listed:
    """All scenes of all roots. Raises ConfigError for a scene that is in two of them."""
    check_roots(config)
    inputs: dict[str, RawInput] = {}
    routes, faults = read_routes(config.routes) if config.routes else ({}, [])
    broken = [(_unit_of(error), error) for error in faults]
    for name, root in sorted(config.roots.items()):
        reader = configured(name, config.readers.get(name, {}))
        listing = reader.scenes(root)
        broken += [(_unit_of(error), error) for error in listing.broken]
        for ref in listing.scenes:
            if ref.id in inputs:
                raise ConfigError(f"scene {ref.id} is in two of the roots, the second time in {root}; keep one")
            inputs[ref.id] = RawInput(reader, root, ref, routes.pop(ref.id, ()))
    if config.routes:
        remedy = "correct the scene, or give its data root"
        for scene in sorted(routes):
            lost = RawDataError(config.routes, "route_without_scene", "no such scene in this build", remedy, scene)
            broken.append((scene, lost))
    return Listed(inputs, broken)


def _unit_of(error: RawDataError) -> str:
    scene = error.scene or "(file)"
    return scene if "/" in scene else f"{error.path.stem}/{scene}"
