"""Which episodes a root has, folder by folder: one that cannot be listed costs its own episodes alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from pipeline.core.errors import ConfigError, RawDataError
from pipeline.reading.folders import SAFE, SAFE_NAME
from pipeline.reading.reader import Listing, SceneRef


def list_episodes(
    root: Path,
    folders: Callable[[Path], Iterable[Path]],
    refs_of: Callable[[Path, Path], Iterable[SceneRef]],
    *,
    missing: str,
    wanted: str,
) -> Listing:
    """All episodes, by id.

    Args:
        root: as given.
        folders: root -> folders in which episodes are.
        refs_of: root and folder -> its episodes; raises RawDataError.
        missing: what is not there where nothing is.
        wanted: what is to be given.

    Raises:
        ConfigError: there is no such folder, or nothing of the kind in it.
    """
    if not root.is_dir():
        raise ConfigError(f"{root}: no such folder. {wanted}")
    refs: list[SceneRef] = []
    broken: list[RawDataError] = []
    for folder in sorted(set(folders(root))):
        try:
            refs.extend(refs_of(root, folder))
        except RawDataError as error:
            broken.append(error)
    if not refs and not broken:
        raise ConfigError(f"{root}: {missing}. {wanted}")
    return Listing(tuple(sorted(refs, key=lambda ref: ref.id)), tuple(broken))


def check_name(folder: Path, name: str, what: str, *, example: str = "") -> None:
    """Raises RawDataError where a name, with what will follow on it, is none that a scene may have."""
    if not SAFE_NAME.fullmatch(name + example):
        message = f"the name {name!r} of the {what}, from its folders, is not {SAFE}"
        raise RawDataError(folder, "unsafe_scene_name", message, "rename the folders")
