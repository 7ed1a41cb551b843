"""Roots and settings as written on the command line, and the refusal of keys that no configuration has."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from pipeline.core.errors import ConfigError

# Old names of stages and of their sections of a configuration, with the new ones.
RENAMED: Final = {
    "film": "video",
    "draw": "bev_video",
    "look": "describe",
    "declare": "author_views",
    "legend": "landmark_pictures",
    "picture": "figures",
    "pictures": "figures",
}


def split_root(root: str, readers: Iterable[str]) -> tuple[str, str]:
    """Reader and folder of ``reader=folder``. Raises ConfigError."""
    reader, _, where = root.partition("=")
    if not where:
        raise ConfigError(f"--root {root}: write it as reader=folder, with a reader of {', '.join(readers)}")
    return reader, where


def split_setting(setting: str) -> tuple[list[str], str]:
    """Keys and value of ``a.b=value``. Raises ConfigError."""
    name, equals, value = setting.partition("=")
    keys = name.split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {setting}: write it as key=value, for example select.per_scene_and_task=10")
    return keys, value


def unknown_key(where: str, known: Iterable[str]) -> str:
    """The message about a key that there is not, or that has another name now."""
    if where in RENAMED:
        return f"configuration key {where} is now called {RENAMED[where]}"
    return f"unknown configuration key {where}; {nearest_of(where.rpartition('.')[2], sorted(known), 'known here:')}"


def nearest_of(name: str, known: Iterable[str], lead: str = "there are") -> str:
    """The end of a message about an unknown name: the one that was probably meant, and all that there are."""
    names = list(known)
    near = get_close_matches(name.lower(), names, 1)
    meant = f"did you mean {near[0]}? {lead[0].upper()}{lead[1:]}" if near else lead
    return f"{meant} {', '.join(names)}"
