"""The arguments of a build, saved in its folder: a later call of `scan2qa build` repeats them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import yaml

from flows.orchestration.roots import written
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.engine.change_causes import written as as_setting
from pipeline.engine.config import BuildConfig

SAVED_FILE: Final = "build.yaml"
_HEAD: Final = (
    "# Kept by scan2qa: what this build was last started with. `scan2qa build` and `scan2qa stage` use it again;\n"
    "# --root and --set change it, --forget leaves it out.\n"
)


@dataclass(frozen=True)
class SavedBuild:
    """The arguments of a build from the command line, and the configuration they resolved to.

    Attributes:
        roots: reader -> absolute folder; empty: sample scenes.
        settings: key -> value as written after ``--set``, in the order in which they are laid over.
        configured: the whole configuration, for reading; empty where nothing is kept yet.
        at: when a build or a stage was last started, UTC.
    """

    roots: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    configured: Mapping[str, Any] = field(default_factory=dict)
    at: str = ""

    def with_settings(self, said: Sequence[str]) -> list[str]:
        """The kept settings with new ones laid over them; one of a whole section replaces those below it."""
        settings = dict(self.settings)
        for setting in said:
            key, _, value = setting.partition("=")
            settings = {k: v for k, v in settings.items() if k != key and not k.startswith(f"{key}.")} | {key: value}
        return [f"{key}={value}" for key, value in settings.items()]

    def unsaid(self, roots: Sequence[str], settings: Sequence[str]) -> str:
        """The saved arguments that still apply, as written on the command line."""
        kept = [] if roots else [f"--root {name}={folder}" for name, folder in self.roots.items()]
        kept += [f"--set {setting}" for setting in self.with_settings(settings) if setting not in settings]
        return " ".join(kept)


def read_saved_build(folder: Path) -> SavedBuild:
    """Reads the saved arguments of a build; empty where it is new. Raises ConfigError for a damaged file."""
    path = folder / SAVED_FILE
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        settings = {key: value if isinstance(value, str) else as_setting(value) for key, value in found["set"].items()}
        return SavedBuild(dict(found["roots"]), settings, dict(found["configured"]), str(found["at"]))
    except (FileNotFoundError, NotADirectoryError):
        return SavedBuild()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read ({type(error).__name__}); correct it, or delete it") from error


def save_build(folder: Path, config: BuildConfig, settings: Sequence[str], roots: Mapping[str, Path]) -> None:
    """Writes what a build is started with, ``roots`` those that were given."""
    told = {
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "versions": {"scan2qa": version("scan2qa"), "python": ".".join(map(str, sys.version_info[:3]))},
        "roots": written(roots),
        "set": dict(setting.split("=", 1) for setting in settings),
        "configured": config.resolved(),
    }
    write_atomically(folder / SAVED_FILE, (_HEAD + yaml.safe_dump(told, sort_keys=False, allow_unicode=True)).encode())
