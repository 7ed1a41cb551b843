"""The arguments of a build, saved in its folder once it succeeds: a later call of `scan2qa build` repeats them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from shlex import quote
from typing import Any, Final

import yaml

from flows.orchestration.roots import written
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.engine.change_causes import written as as_setting
from pipeline.engine.config import BuildConfig
from pipeline.reading.files import SceneFiles
from pipeline.reading.reader import Reader, folder_of
from pipeline.reading.settings import strict_yaml
from pipeline.stages.builder import SAMPLES
from pipeline.worlds.registry import configured

SAVED_FILE: Final = "build.yaml"
_PATHS: Final = ("fixes.folder", "known", "videos")  # settings that name files or folders
UNFINISHED_FILE: Final = "build.unfinished.yaml"  # of a run that is under way, was cancelled or failed
_HEAD: Final = (
    "# Written by scan2qa: the arguments of this build's last run that succeeded (build.yaml), or of a run since then\n"
    "# that did not (build.unfinished.yaml). `scan2qa build` and `scan2qa stage` repeat the former; --root and --set\n"
    "# change them, --forget ignores them.\n"
)


@dataclass(frozen=True)
class SavedBuild:
    """The arguments of a build from the command line, and the configuration they resolved to.

    Attributes:
        roots: reader -> absolute folder; empty: sample scenes.
        settings: key -> value as written after ``--set``, in the order in which they are laid over.
        configured: the whole configuration, for reading; empty where nothing is kept yet.
        at: when that build or stage was started, UTC.
    """

    roots: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    configured: Mapping[str, Any] = field(default_factory=dict)
    at: str = ""

    def with_settings(self, given: Sequence[str]) -> list[str]:
        """The kept settings with new ones laid over them; one of a whole section replaces those below it."""
        settings = dict(self.settings)
        for setting in given:
            key, value = _lasting(setting)
            settings = {k: v for k, v in settings.items() if k != key and not k.startswith(f"{key}.")} | {key: value}
        return [f"{key}={value}" for key, value in settings.items()]

    def unsaid(self, roots: Sequence[str] = (), settings: Sequence[str] = ()) -> str:
        """The saved arguments that still apply beside those given now, to be written on the command line again."""
        kept = [] if roots else [f"--root {quote(f'{name}={folder}')}" for name, folder in self.roots.items()]
        given = ["=".join(_lasting(setting)) for setting in settings]
        kept += [f"--set {quote(setting)}" for setting in self.with_settings(settings) if setting not in given]
        return " ".join(kept)


def _lasting(setting: str) -> tuple[str, str]:
    """Key and value of ``key=value``; a path as it can be repeated from any folder."""
    key, _, value = setting.partition("=")
    if key in _PATHS or key.startswith("written."):
        found = strict_yaml(value)
        if isinstance(found, str) and found != "none":
            return key, as_setting(str(Path(found).absolute()))
    return key, value


def read_saved_build(folder: Path, file: str = SAVED_FILE) -> SavedBuild:
    """Reads the saved arguments of a build; empty where there are none. Raises ConfigError for a damaged file."""
    path = folder / file
    try:
        found = strict_yaml(path.read_text(encoding="utf-8"))
        settings = {key: value if isinstance(value, str) else as_setting(value) for key, value in found["set"].items()}
        return SavedBuild(dict(found["roots"]), settings, dict(found["configured"]), str(found["at"]))
    except (FileNotFoundError, NotADirectoryError):
        return SavedBuild()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read ({type(error).__name__}); correct it, or delete it") from error


def raw_files(folder: Path, readers: Iterable[str]) -> dict[str, tuple[Reader, SceneFiles]]:
    """The reader and the raw data of each scene of a build that is still there, of some readers.

    Raises ConfigError, RawDataError.
    """
    kept, found = read_saved_build(folder), dict[str, tuple[Reader, SceneFiles]]()
    for name in sorted(set(readers)):
        root = Path(kept.roots.get(name) or folder / SAMPLES / name)
        if root.exists():
            reader = configured(name, (kept.configured.get("readers") or {}).get(name, {}))
            found |= {ref.id: (reader, SceneFiles(folder_of(root), ref)) for ref in reader.scenes(root).scenes}
    return found


@contextmanager
def save_if_successful(
    folder: Path,
    config: BuildConfig,
    settings: Sequence[str],
    roots: Mapping[str, Path],
    has_built: Callable[[], bool] = lambda: True,
) -> Iterator[None]:
    """Saves the arguments of a build, ``roots`` those that were given, once the block ends without an error.

    Until then, and if it is cancelled, fails or has built no scene at all (``has_built``), they stand in
    `UNFINISHED_FILE`; a call that is refused leaves nothing.
    """
    path = folder / UNFINISHED_FILE
    before = path.read_bytes() if path.exists() else None
    told = {
        "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        "versions": {"scan2qa": version("scan2qa"), "python": ".".join(map(str, sys.version_info[:3]))},
        "roots": written(roots),
        "set": dict(setting.split("=", 1) for setting in settings),
        "configured": config.resolved(),
    }
    raw = (_HEAD + yaml.safe_dump(told, sort_keys=False, allow_unicode=True)).encode()
    write_atomically(path, raw)
    try:
        yield
    except ConfigError:
        if before is None:
            path.unlink(missing_ok=True)
        else:
            write_atomically(path, before)
        raise
    if has_built():
        write_atomically(folder / SAVED_FILE, raw)
        path.unlink(missing_ok=True)
