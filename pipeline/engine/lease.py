"""Keeps builders of one folder apart: one works, the others report at once who does.

On one machine a lock of the kernel does so, and a killed process gives it back at once. Machines that share the folder
may not see one another's locks; they see a file that is created by one of them alone, and touched as long as it works.
"""

import fcntl
import getpass
import json
import os
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final
from uuid import uuid4

from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY

LOCK_FILE: Final = ".lock"
LEASE_FILE: Final = ".lease"
BEAT_S: Final = 10.0
EXPIRES_S: Final = 60.0  # after the last beat of a machine that is not heard of any more


class Lease:
    """A lease that is held.

    Args:
        path: its file.
        mark: what stands in it.
    """

    def __init__(self, path: Path, mark: str) -> None:
        self._path, self._mark = path, mark

    def is_ours(self) -> bool:
        """Whether the lease is still ours: another builder takes it over from a machine that slept."""
        return _read(self._path) == self._mark

    def check(self) -> None:
        """Raises StoreError where it is not ours any more."""
        if not self.is_ours():
            holder = describe_holder(_read(self._path))
            message = f"{self._path.parent}: taken over by another build{holder}, as this one was not heard of"
            raise StoreError(f"{message} for {EXPIRES_S:.0f} s; finished work is kept: run it again")

    def beat(self) -> None:
        """Says that its holder lives; by the clock of the folder's own machine."""
        with suppress(OSError):  # the next one may come through
            if self.is_ours():
                os.utime(self._path)


@contextmanager
def leased(folder: Path) -> Iterator[Lease]:
    """Holds a folder's lease within the block. Raises StoreError where another build holds it, or OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / LEASE_FILE
    with (folder / LOCK_FILE).open("w") as file:
        locks = _lock(file, path)
        mark = new_mark()
        _take(path, mark, locks)
        lease = Lease(path, mark)
        try:
            with heartbeat(lease.beat):
                yield lease
        finally:
            if lease.is_ours():
                path.unlink(missing_ok=True)


def is_running(folder: Path) -> bool:
    """Whether a build of this machine holds the lock of a folder."""
    try:
        with (folder / LOCK_FILE).open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # else no build was ever there, or its files have no locks
        return isinstance(error, BlockingIOError)
    return False


def _lock(file: IO[str], path: Path) -> bool:
    """Takes the kernel's lock; whether the file system has such locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise _held_error(path) from error
    except OSError:  # none here (ENOLCK, ENOSYS, ENOTSUP): the lease alone must do
        return False
    return True


def _take(path: Path, mark: str, locks: bool) -> None:
    """Creates the file of a lease, in place of one whose holder is gone."""
    while not _created(path, mark):
        other = _read(path)
        if other is None:  # given back meanwhile
            continue
        if not _is_gone(path, other, locks):
            raise _held_error(path)
        aside = path.with_name(f"{TEMPORARY}{uuid4().hex}")
        with suppress(FileNotFoundError):  # somebody else was faster
            path.rename(aside)
            taken = _read(aside)
            if taken != other:  # somebody else was faster still, and this is theirs: given back
                _linked(aside, path, taken or "")
                aside.unlink()
                raise _held_error(path)
            aside.unlink()


def _created(path: Path, mark: str) -> bool:
    """Creates a file unless it is there, also on a folder of the network."""
    whole = path.with_name(f"{TEMPORARY}{uuid4().hex}")
    try:
        _write_new(whole, mark)
        return _linked(whole, path, mark)
    finally:
        whole.unlink(missing_ok=True)


def _linked(whole: Path, path: Path, mark: str) -> bool:
    """Gives a file one more name unless that is taken: nobody ever sees a lease without its mark."""
    try:
        path.hardlink_to(whole)
    except FileExistsError:
        return False
    except OSError:  # no such links here
        try:
            _write_new(path, mark)
        except FileExistsError:
            return False
    return True


def _write_new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _is_gone(path: Path, mark: str, locks: bool) -> bool:
    """Returns whether the holder of a lease no longer works."""
    if locks and _parsed(mark).get("machine") == _machine():  # it would hold the kernel's lock
        return True
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=TEMPORARY) as probe, suppress(FileNotFoundError):
        return os.fstat(probe.fileno()).st_mtime - path.stat().st_mtime > EXPIRES_S  # both by one clock
    return False


@contextmanager
def heartbeat(beat: Callable[[], None]) -> Iterator[None]:
    """Calls ``beat`` every `BEAT_S` seconds from a thread of its own within the block."""

    def run() -> None:
        while not ended.wait(BEAT_S):
            beat()

    ended = threading.Event()
    heart = threading.Thread(target=run, daemon=True)
    heart.start()
    try:
        yield
    finally:
        ended.set()
        heart.join()


def _held_error(path: Path) -> StoreError:
    holder = describe_holder(_read(path))
    return StoreError(f"{path.parent}: another build is running in this folder{holder}; wait for it or give --out")


def describe_holder(mark: str | None) -> str:
    """The holder of a lease, in words for a message."""
    known = _parsed(mark or "")
    if not known:
        return ""
    return f" ({known.get('user')} on {known.get('host')}, process {known.get('process')}, since {known.get('since')})"


def new_mark() -> str:
    """A new mark of this process, as JSON, different from any before."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a number without a name, as in containers
        user = str(os.getuid())
    ourselves = {
        "id": uuid4().hex,
        "user": user,
        "host": socket.gethostname(),
        "machine": _machine(),
        "space": _space(),
        "process": os.getpid(),
        "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }
    return json.dumps(ourselves, sort_keys=True)


def is_dead(mark: str) -> bool:
    """Returns whether the process named by a mark would be visible from here and is gone."""
    known = _parsed(mark)
    if (known.get("machine"), known.get("space")) != (_machine(), _space()):
        return False
    try:
        os.kill(int(known["process"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's, and alive
        return False
    return False


def _space() -> str:
    """An identifier of the container's process namespace."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _machine() -> str:
    """An identifier of the running kernel."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return socket.gethostname()


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def _parsed(mark: str) -> dict[str, Any]:
    try:
        known = json.loads(mark)
    except ValueError:  # half written
        return {}
    return known if isinstance(known, dict) else {}
