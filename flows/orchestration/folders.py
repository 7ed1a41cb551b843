"""Folders of configurations and builds, and their names on the command line."""

import os
from pathlib import Path
from typing import Final

from pipeline.core.arguments import nearest_of
from pipeline.core.errors import ConfigError
from pipeline.core.plugins import folders

BUILDS: Final = Path(__file__).resolve().parents[1] / "builds"
OUTPUTS: Final = Path("outputs")
CORES: Final = os.cpu_count() or 1


def configurations() -> list[str]:
    """The names of the configurations that come with the command."""
    return sorted(path.stem for folder in (BUILDS, *folders("builds")) for path in folder.glob("*.yaml"))


def configuration(name: str) -> Path:
    """The file of a build's configuration. Raises ConfigError where there is none."""
    named = name.endswith((".yaml", ".yml"))
    paths = [Path(name)] if named else [folder / f"{name}.yaml" for folder in (BUILDS, *folders("builds"))]
    path = next((path for path in paths if path.exists()), None)
    if path is None and Path(name).is_dir():
        raise ConfigError(
            f"{name} is a folder: give the name of its build ({', '.join(configurations())}) and --out {name}"
        )
    if path is None and named:
        known = ", ".join(configurations())
        raise ConfigError(f"{name}: no such file; give the path of a build's YAML file, or one of {known}")
    if path is None:
        raise ConfigError(
            f"unknown build {name!r}; {nearest_of(name, configurations())}, or give the path of a YAML file"
        )
    return path


def folder_of(build: str) -> Path:
    """The folder of a build that is named, or is given by its folder. Raises ConfigError for what can be neither."""
    folder = Path(build) if Path(build).is_dir() else OUTPUTS / build
    known = sorted({*configurations(), *(path.name for path in all_builds())})
    if build not in known and not folder.is_dir():
        raise ConfigError(f"{build!r} is no build and no folder; {nearest_of(Path(build).name, known)}")
    return folder


def all_builds() -> list[Path]:
    """The folders of all builds in outputs."""
    return sorted(path.parent for path in OUTPUTS.glob("*/manifest.parquet"))
