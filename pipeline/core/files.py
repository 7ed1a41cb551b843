"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipeline.core.errors import NoSpaceError, StoreError

TEMPORARY: Final = ".tmp-scan2qa-"  # nobody else's


def write_atomically(path: Path, raw: bytes, mode: int = 0o666) -> None:
    """Writes a file so that it is there whole or not at all, also after a power cut.

    Args:
        path: the file.
        raw: all that it will hold.
        mode: its rights, less those that whoever runs this takes from new files (umask).
    """
    temporary: Path | None = None
    with explained(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = new_temporary(path.parent, mode)
            with os.fdopen(handle, "wb") as file:
                write_all(file.fileno(), raw)
                os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            raise


def new_temporary(folder: Path, mode: int = 0o666) -> tuple[int, Path]:
    """A new file of ours in a folder, open for writing: its descriptor and its path. Raises OSError."""
    path = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turns what the disk says into one line for the user."""
    try:
        yield
    except OSError as error:
        told = f"{folder}: cannot write ({error.strerror})"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoSpaceError(f"{told}: free some space") from error
        if error.errno in {errno.EISDIR, errno.ENOTDIR, errno.EEXIST}:
            there = error.filename2 or error.filename or folder
            raise StoreError(f"{told}: move {there} away, scan2qa writes something else there") from error
        raise StoreError(f"{told}: give a folder that can be written with --out") from error


def remove_temporary(folder: Path, inner: Iterable[str]) -> None:
    """Removes what killed processes left behind in a folder and below inner ones; nobody may be writing there."""
    for paths in (folder.glob(f"{TEMPORARY}*"), *((folder / name).rglob(f"{TEMPORARY}*") for name in inner)):
        for path in list(paths):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def write_all(descriptor: int, raw: bytes) -> None:
    """All bytes to a file descriptor; the one place where the store meets the disk."""
    view = memoryview(raw)
    while view:
        view = view[os.write(descriptor, view) :]
