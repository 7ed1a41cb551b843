"""Opens, reads and writes files: regular files only, written atomically."""

import errno
import hashlib
import io
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final

from pipeline.core.errors import NoSpaceError, StoreError
from pipeline.core.mirrors import here

MAX_FILE_BYTES: Final = 4 * 2**30  # a mesh or an annotation of a room takes some MiB
_NO_FILES: Final[dict[Callable[[int], bool], str]] = {
    stat.S_ISDIR: "folder",
    stat.S_ISFIFO: "named pipe",
    stat.S_ISSOCK: "socket",
    lambda _: True: "device",
}
TEMPORARY: Final = ".tmp-scan2qa-"  # nobody else's
_SYNCED_AT_ONCE: Final = 8  # threads; a journal commits what they wait for together
_SYNCED_AT_MOST: Final = 1000
_watches: Final[list[Callable[[Path], None]]] = []


def watch_files(watch: Callable[[Path], None]) -> None:
    """Has each file of raw data be told to ``watch`` before it is opened, in this process from here on."""
    _watches.append(watch)


def open_file(path: Path) -> io.BufferedReader:
    """A file for reading. Raises OSError, also for what is no file: a pipe would keep its reader waiting for ever."""
    size_of_file(path)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # whatever has come in its place meanwhile
    return os.fdopen(handle, "rb")


def read_file(path: Path, most_bytes: int = MAX_FILE_BYTES) -> bytes:
    """A whole file. Raises OSError, also for what is no file, is larger than it may be, or grows meanwhile."""
    size = size_of_file(path)
    if size > most_bytes:
        raise OSError(errno.EFBIG, f"{size} bytes, over {most_bytes}", str(path))
    with open_file(path) as file:
        raw = file.read(size + 1)  # as much memory is asked for as is named here
    if len(raw) > size:
        raise OSError(
            errno.EBUSY, f"it grew beyond {size} bytes while it was read: is it still being written?", str(path)
        )
    return raw


def sha256_of_file(path: Path) -> str:
    """SHA-256 of a file of any size, in hexadecimal. Raises OSError, also for what is no file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def size_of_file(path: Path) -> int:
    """Bytes of a file, which are here then. Raises OSError, also for what is no file and so is not to be opened."""
    for watch in _watches:
        watch(path)
    facts = here(path).stat()
    if not stat.S_ISREG(facts.st_mode):
        what = next(name for is_one, name in _NO_FILES.items() if is_one(facts.st_mode))
        raise OSError(errno.EINVAL, f"this is a {what}, not a file", str(path))
    return facts.st_size


def size_text(size: float) -> str:
    """Bytes as people read them, to a decimal of the largest unit."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e3:.0f} kB"


def write_atomically(path: Path, raw: bytes, mode: int = 0o666, *, sync: bool = True) -> None:
    """Writes a file so that it is there whole or not at all, also after a power cut.

    Args:
        path: the file.
        raw: all that it will hold.
        mode: its rights, less those that whoever runs this takes from new files (umask).
        sync: whether it has to survive a power cut; not where whoever reads it notices that it did not, and makes it
            again, nor for one of many that `sync_files` syncs together.
    """
    temporary: Path | None = None
    with translate_os_errors(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = new_temporary(path.parent, mode)
            with os.fdopen(handle, "wb") as file:
                write_all(file.fileno(), raw)
                if sync:
                    os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            if temporary is not None:
                temporary.unlink(missing_ok=True)
            raise


def sync_files(paths: Iterable[Path]) -> None:
    """Makes files that were written without sync survive a power cut: several at a time take a ninth of the time."""
    left = iter(paths)
    with ThreadPoolExecutor(_SYNCED_AT_ONCE) as threads:
        while batch := list(islice(left, _SYNCED_AT_MOST)):
            list(threads.map(_sync, batch))


def _sync(path: Path) -> None:
    with translate_os_errors(path.parent):
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def new_temporary(folder: Path, mode: int = 0o666) -> tuple[int, Path]:
    """A new file of ours in a folder, open for writing: its descriptor and its path. Raises OSError."""
    path = folder / f"{TEMPORARY}{secrets.token_hex(8)}"
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), path


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Turns what the disk says into one line for the user."""
    try:
        yield
    except OSError as error:
        message = f"{folder}: cannot write ({error.strerror})"
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise NoSpaceError(f"{message}: free some space") from error
        if error.errno == errno.EISDIR:
            there = error.filename2 or error.filename or folder
            raise StoreError(f"{message}: move {there} away, scan2qa writes something else there") from error
        raise StoreError(f"{message}: give a folder that can be written") from error


@contextmanager
def new_folder(path: Path) -> Iterator[None]:
    """Makes an empty folder to write to, in place of what a killed process left; removes it where it is not renamed."""
    with translate_os_errors(path.parent):
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
    try:
        yield
    finally:
        shutil.rmtree(path, ignore_errors=True)


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
