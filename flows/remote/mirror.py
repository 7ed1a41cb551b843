"""Raw data in an object store: `--root scannet=s3://bucket/scans`.

A local folder lists every object by its name and size. A file that is opened is fetched, unless it is here already,
and checked against the listing; the least recently used files are evicted once the folder holds too much. A file's
time of change is derived from its ETag and size, so that a reader's stamps change when the object did.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any, Final
from uuid import uuid4

from obstore import exceptions

from flows.remote.object_store import REMEDY, connect, first_line
from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import TEMPORARY, size_text, translate_os_errors, write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.mirrors import READABLE, register

CACHE_BYTES: Final = 16 * 2**30  # of fetched files, besides those of the scenes in hand
SHARE_OF_DISK: Final = 4  # or a fourth of what is free, where that is less
AHEAD: Final = 64  # files that are fetched with one, where there are others of its kind
AHEAD_BYTES: Final = 4 * 2**20  # of each at most
AT_ONCE: Final = 16  # requests
CHUNK_BYTES: Final = 8 * 2**20
LOOKS: Final = 16  # whether there is too much is looked at when a sixteenth of the most was fetched
_HIDDEN: Final = 0o000
_SHOWN: Final = 0o644
_fetched: Final[Counter[Path]] = Counter()  # bytes, by root, since it was last looked


@dataclass(frozen=True)
class ObjectMirror:
    """The objects below a URL as a folder.

    Attributes:
        url: such as s3://bucket/scans.
        listed: digest of the listing that a build was planned with; empty: none yet.
    """

    url: str
    listed: str = ""

    @property
    def _home(self) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "scan2qa" / "raw" / digest_of(self.url)[:16]

    @property
    def root(self) -> Path:
        """See `Mirror.root`; its last name is that of the URL, which some readers name a dataset after."""
        return self._home / "files" / (PurePosixPath(self.url.partition("://")[2]).name or "root")

    def synced(self) -> ObjectMirror:
        """Makes the folder show what is there now. Raises ConfigError where it cannot be listed."""
        wanted = self._list()
        with translate_os_errors(self._home), _locked(self._home / "listing"):
            self.root.mkdir(parents=True, exist_ok=True)
            self._new_folder.mkdir(exist_ok=True)
            there = {
                path.relative_to(self.root).as_posix(): (facts.st_size, facts.st_mtime_ns)
                for path, facts in _files(self.root)
            }
            for name in there.keys() - wanted.keys():
                (self.root / name).unlink(missing_ok=True)
            for name, facts in wanted.items():
                if there.get(name) != facts:
                    self._place_empty(self.root / name, *facts)
            for place, _, _ in os.walk(self.root, topdown=False):
                if Path(place) != self.root:
                    with suppress(OSError):  # something is in it
                        Path(place).rmdir()
            listed = digest_of(sorted(wanted.items()))
            write_atomically(self._home / "listed", listed.encode())
        mine = replace(self, listed=listed)
        register(mine)
        return mine

    def is_as_listed(self) -> bool:
        """See `Mirror.is_as_listed`."""
        try:
            return (self._home / "listed").read_text() == self.listed
        except FileNotFoundError:
            return False

    def summary(self) -> str:
        """See `Mirror.summary`."""
        found = [facts for _, facts in _files(self.root)]
        size, mine = sum(f.st_size for f in found), sum(f.st_size for f in found if f.st_mode & READABLE)
        return (
            f"{self.url}: {len(found):,} file{'s' * (len(found) != 1)}, {size_text(size)}, known by names, sizes and "
            f"ETags; {size_text(mine)} of them are here"
        )

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """See `Mirror.in_use`."""
        if not (self._home / "listed").exists():  # on a worker's own machine
            self.synced()
        register(self)
        with _locked(self._home / "gate"):  # whoever makes room holds it, and waits for those within
            used = _lock(self._home / "used", fcntl.LOCK_SH)
        try:
            yield
        finally:
            os.close(used)
        self._make_room()

    def fetch(self, path: Path) -> None:
        """See `Mirror.fetch`. Files of the same kind that follow it are fetched with it."""
        try:
            facts = path.lstat()
        except OSError:  # whoever opens it says so
            return
        if not stat.S_ISREG(facts.st_mode):
            return
        if facts.st_mode & READABLE:
            with suppress(OSError):
                os.utime(path, ns=(time.time_ns(), facts.st_mtime_ns))
            return
        ahead = [other for other in self._ahead(path) if other != path]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            rest = threads.map(self._try, ahead) if ahead else ()
            self._get(path, facts)
            list(rest)

    def _ahead(self, path: Path) -> list[Path]:
        """Small files of the same kind: those behind it in its folder, else of its name in the folders behind its."""
        beside = sorted(p for p in path.parent.iterdir() if p.suffix == path.suffix and p.name > path.name)
        if not beside and path.parent != self.root:
            folders = sorted(p for p in path.parent.parent.iterdir() if p.name > path.parent.name)
            beside = [other for folder in folders[:AHEAD] if (other := folder / path.name).is_file()]
        return beside[:AHEAD]

    def _try(self, path: Path) -> None:
        with suppress(OSError, RawDataError, StoreError):  # said where it is opened
            facts = path.lstat()
            if stat.S_ISREG(facts.st_mode) and not facts.st_mode & READABLE and facts.st_size <= AHEAD_BYTES:
                self._get(path, facts)

    def _get(self, path: Path, facts: os.stat_result) -> None:
        """Fetches one file. Raises RawDataError where it is not what was listed, StoreError without a connection."""
        name = path.relative_to(self.root).as_posix()
        temporary = self._temporary()
        try:
            got = self._store.get(name)
            if _facts(got.meta) != (facts.st_size, facts.st_mtime_ns):
                raise self._changed(path)
            with translate_os_errors(self._new_folder):
                file = temporary.open("wb")
            with file:
                for chunk in got.stream(min_chunk_size=CHUNK_BYTES):
                    with translate_os_errors(self._new_folder):
                        file.write(chunk)
            with translate_os_errors(self._new_folder):
                temporary.chmod(_SHOWN)
                os.utime(temporary, ns=(time.time_ns(), facts.st_mtime_ns))
                temporary.replace(path)
            _fetched[self.root] += facts.st_size
        except (FileNotFoundError, exceptions.NotFoundError) as error:
            raise self._changed(path) from error
        except (PermissionError, exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            remedy = "give the keys in the environment the right to read it"
            raise RawDataError(path, "unreadable_file", "the store does not let it be read", remedy) from error
        except (exceptions.BaseError, ConnectionError, TimeoutError) as error:
            said = first_line(error)
            raise StoreError(f"{self.url}/{name}: {said}; finished work is kept: run it again") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _changed(self, path: Path) -> RawDataError:
        return RawDataError(path, "changed_while_reading", "the object changed during the build", "build again")

    def _list(self) -> dict[str, tuple[int, int]]:
        """Name -> size and time of change, as the folder is to show them."""
        found: dict[str, tuple[int, int]] = {}
        try:
            for many in self._store.list():
                for one in many:
                    if not one["path"].endswith("/"):
                        found[one["path"]] = _facts(one)
        except (exceptions.BaseError, FileNotFoundError, PermissionError, ValueError, OSError) as error:
            raise ConfigError(f"{self.url}: {first_line(error)}: {REMEDY}") from error
        if not found:
            raise ConfigError(f"{self.url}: no objects there: check the bucket's name and the prefix")
        for name in found:
            parts = PurePosixPath(name).parts
            if ".." in parts or "/" in parts or str(PurePosixPath(name)) != name:
                raise ConfigError(f"{self.url}: an object is called {name!r}, which no folder can show: rename it")
            both = next((str(p) for p in PurePosixPath(name).parents if str(p) in found), None)
            if both is not None:
                raise ConfigError(f"{self.url}: {both!r} is both an object and a folder of others: rename one")
        return found

    def _place_empty(self, path: Path, size: int, time_ns: int) -> None:
        """Puts a file of a size in a place, without bytes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._temporary()
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o200)
        try:
            os.ftruncate(handle, size)
            os.fchmod(handle, _HIDDEN if size else _SHOWN)
            os.utime(handle, ns=(time_ns, time_ns))
        finally:
            os.close(handle)
        temporary.replace(path)

    def _make_room(self) -> None:
        """Gives up what was not used for longest, where the folder holds more than it may."""
        most = min(CACHE_BYTES, shutil.disk_usage(self._home).free // SHARE_OF_DISK)
        if _fetched[self.root] < most // LOOKS:
            return
        _fetched[self.root] = 0
        mine = [(facts.st_atime_ns, path, facts) for path, facts in _files(self.root) if facts.st_mode & READABLE]
        held = sum(facts.st_size for _, _, facts in mine)
        if held <= most:
            return
        with _locked(self._home / "gate"):
            used = _lock(self._home / "used", fcntl.LOCK_EX)
            try:
                for _, path, facts in sorted(mine, key=lambda one: one[:2]):
                    if held <= most // 2:
                        break
                    if facts.st_size:
                        self._place_empty(path, facts.st_size, facts.st_mtime_ns)
                        held -= facts.st_size
            finally:
                os.close(used)

    def _temporary(self) -> Path:
        return self._new_folder / f"{TEMPORARY}{uuid4().hex}"

    @property
    def _new_folder(self) -> Path:
        return self._home / "new"

    @property
    def _store(self) -> Any:
        return _store_at(self.url)


@cache
def _store_at(url: str) -> Any:
    """Raises ConfigError for a URL that no store has."""
    try:
        return connect(url)
    except (exceptions.BaseError, ValueError) as error:
        raise ConfigError(f"{url}: {first_line(error)}: {REMEDY}") from error


def _facts(meta: Any) -> tuple[int, int]:
    """Size of an object, and the time of change that stands for its bytes: made of its ETag."""
    tag = meta["e_tag"] or meta["last_modified"].isoformat()
    return meta["size"], int.from_bytes(sha256(f"{tag}\0{meta['size']}".encode()).digest()[:7])


def _files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every file below a folder."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda e: e.name):
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))
            else:
                yield Path(entry.path), entry.stat(follow_symlinks=False)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Within the block no other process or thread is in one for this file."""
    handle = _lock(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(handle)


def _lock(path: Path, how: int) -> int:
    """Waits for a lock; it is given back where the descriptor is closed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    fcntl.flock(handle, how)
    return handle
