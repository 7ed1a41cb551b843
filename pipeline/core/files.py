"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipeline.core.errors import NoSpaceError, StoreError

TEMPORARY: Final = ".tmp-scan2qa-"  # nobody else's


def write_atomically(path: Path, raw: bytes) -> None:
    """Writes a file so that it is there whole or not at all, also after a power cut."""
    temporary: str | None = None
    with explained(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)
            with os.fdopen(handle, "wb") as file:
                write_all(file.fileno(), raw)
                os.fchmod(file.fileno(), 0o644)
                os.fsync(file.fileno())
            Path(temporary).replace(path)
        except OSError:
            if temporary is not None:
                Path(temporary).unlink(missing_ok=True)
            raise


@contextmanager
def explained(folder: Path) -> Iterator[None]:
    """Turns what the disk says into one line for the user."""
    try:
        yield
    except OSError as error:
        told = f"{folder}: cannot write ({error.strerror})"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoSpaceError(f"{told}: free some space") from error
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
