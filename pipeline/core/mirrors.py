"""Mirrored roots: local folders that list all files of a remote root and hold the bytes of those in use.

Readers see a folder like any other. Code that opens a file of it by name calls `here` first (`core.files` does).
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

READABLE: Final = 0o400  # a file whose bytes are not here has no right to be read: nobody takes its zeros for them


class Mirror(Protocol):
    """One such root. It can be sent to another machine, which has a folder of its own for it."""

    @property
    def url(self) -> str:
        """The URL of the remote root."""

    @property
    def root(self) -> Path:
        """The folder of this machine."""

    def fetch(self, path: Path) -> None:
        """Has the bytes of a file be here. Raises RawDataError where that costs its scene, StoreError for all."""

    def in_use(self) -> AbstractContextManager[None]:
        """Within the block the root is there, and no file of it is given up for want of space."""

    def is_as_listed(self) -> bool:
        """Returns whether its listing is still that of the process that listed its scenes."""

    def summary(self) -> str:
        """The total size and the size fetched so far, in words."""


_REGISTERED: Final[dict[Path, Mirror]] = {}  # of this process, by root; changed by `register` alone


def register(mirror: Mirror) -> None:
    """Has the files below a root be fetched through its mirror from here on, in this process."""
    _REGISTERED[mirror.root] = mirror


def mirror_of(path: Path) -> Mirror | None:
    """The mirror that a path lies in; None: it is a path of this machine alone."""
    return next((mirror for root, mirror in _REGISTERED.items() if path.is_relative_to(root)), None)


def here(path: Path) -> Path:
    """The path of a file, once its bytes are on this machine."""
    mirror = mirror_of(path)
    if mirror is not None:
        mirror.fetch(path)
    return path


def is_here(path: Path) -> bool:
    """Returns whether a file can be read without fetching it."""
    return mirror_of(path) is None or (path.is_file() and bool(path.stat().st_mode & READABLE))


def named(path: Path) -> str:
    """A path as the user knows it: one of a mirror by its URL."""
    mirror = mirror_of(path)
    if mirror is None:
        return str(path)
    return f"{mirror.url}/{path.relative_to(mirror.root).as_posix()}".removesuffix("/.")


def with_urls(text: str) -> str:
    """A message, with URLs in place of the folders of mirrors."""
    for root, mirror in _REGISTERED.items():
        text = text.replace(str(root), mirror.url)
    return text
