"""Access to an object store: objects below one prefix, and a lease that one builder at a time holds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final, NamedTuple

import obstore
from obstore import exceptions
from obstore.store import from_url

from pipeline.core.errors import StoreError
from pipeline.engine.lease import EXPIRES_S, LEASE_FILE, describe_holder, heartbeat, is_dead, new_mark

CLOCK: Final = ".clock"  # written to learn what time it is there
FREE: Final = "free"
CONNECT_S: Final = 5
RETRIES: Final = 3
REMEDY: Final = "check the name, the network, and AWS_ENDPOINT_URL, AWS_REGION and the keys in the environment"


def connect(url: str) -> Any:
    """The store that a URL names. Raises what obstore does."""
    options: Any = {"connect_timeout": f"{CONNECT_S}s", "allow_http": True}
    return from_url(url, client_options=options, retry_config={"max_retries": RETRIES})


def first_line(error: Exception) -> str:
    """The first line of a store's error message, without the XML behind it."""
    return str(error).partition("\n")[0].partition(": <?xml")[0].rstrip() or type(error).__name__


class StoredObject(NamedTuple):
    """An object that is there."""

    tag: str
    size: int


class Bucket:
    """Objects below a URL such as s3://bucket/prefix; credentials and endpoint come from the environment (AWS_…)."""

    def __init__(self, url: str) -> None:
        self.url = url
        with self._translate_errors():
            self._store = connect(url)

    def objects(self, prefix: str = "") -> dict[str, StoredObject]:
        """All objects whose path begins with a folder."""
        with self._translate_errors():
            found = [one for many in self._store.list(prefix or None) for one in many]
        return {one["path"]: StoredObject(one["e_tag"] or "", one["size"]) for one in found}

    def get(self, path: str) -> tuple[bytes, str] | None:
        """The bytes and the tag of an object; None where there is none."""
        with self._translate_errors():
            try:
                got = self._store.get(path)
                return bytes(got.bytes()), got.meta["e_tag"] or ""
            except FileNotFoundError:
                return None

    def put(self, path: str, raw: bytes, mode: Any = "overwrite") -> str:
        """Writes an object and gives its tag. ``mode``: "create", or {"e_tag": …} of what it must replace.

        Raises FileExistsError where that does not hold.
        """
        with self._translate_errors():
            try:
                return str(self._store.put(path, raw, mode=mode)["e_tag"] or "")
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as error:
                raise FileExistsError(path) from error

    def modified(self, path: str) -> datetime | None:
        """The time an object was written, by the clock of the store."""
        with self._translate_errors():
            try:
                written: datetime = self._store.head(path)["last_modified"]
            except FileNotFoundError:
                return None
            return written

    def remove(self, paths: list[str]) -> None:
        """Removes objects; those that are not there are no fault."""
        with self._translate_errors(), suppress(FileNotFoundError):
            if paths:
                obstore.delete(self._store, paths)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turns what the store says into one line for the user."""
        try:
            yield
        except (exceptions.BaseError, FileNotFoundError, PermissionError, ValueError) as error:
            raise StoreError(f"{self.url}: {first_line(error)}: {REMEDY}") from error

    @contextmanager
    def leased(self) -> Iterator[BucketLease]:
        """Holds the lease within the block. Raises StoreError where another build holds it."""
        lease = BucketLease(self)
        lease.take()
        try:
            with heartbeat(lease.beat):
                yield lease
        finally:
            lease.give_back()


class BucketLease:
    """The lease of a bucket: an object that is replaced only where it is what was read before (conditional put)."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket, self._mark = bucket, new_mark()
        self._tag: str | None = None  # None: not ours
        self._beats = 0
        self._beaten_s = _now_s()
        self._lock = threading.Lock()  # two beats at once would each find what the other wrote

    def take(self) -> None:
        """Raises StoreError where another build holds it, or was faster."""
        there = self._bucket.get(LEASE_FILE)
        mode: Any = "create"
        if there is not None:
            mark = there[0].decode(errors="replace")
            if mark != FREE and not is_dead(mark.partition("\n")[0]) and not self._is_expired():
                raise self._held_error(mark)
            mode = {"e_tag": there[1]}
        try:
            self._tag = self._bucket.put(LEASE_FILE, self._content(), mode)
            self._beaten_s = _now_s()
        except FileExistsError:
            there = self._bucket.get(LEASE_FILE)
            raise self._held_error(there[0].decode(errors="replace") if there else "") from None

    def beat(self) -> None:
        """Says that its holder lives."""
        with self._lock:
            if self._tag is not None:
                self._beats += 1
                with suppress(StoreError):  # the next one may come through
                    self._replace(self._content())

    def check(self) -> None:
        """Raises StoreError where another build has taken it over."""
        self.beat()
        if self._tag is None:
            there = self._bucket.get(LEASE_FILE)
            told = describe_holder(there[0].decode(errors="replace") if there else "")
            message = f"{self._bucket.url}: taken over by another build{told}, as this one was not heard of"
            raise StoreError(f"{message} for {EXPIRES_S:.0f} s; finished work is kept: run it again")

    def check_late(self) -> None:
        """The same, where so long has passed since the last beat that another build may have come."""
        if _now_s() - self._beaten_s > EXPIRES_S / 2:
            self.check()

    def give_back(self) -> None:
        """Lets the next one in at once."""
        with self._lock, suppress(StoreError):  # else it expires
            if self._tag is not None:
                self._replace(FREE.encode())

    def _replace(self, raw: bytes) -> None:
        try:
            self._tag = self._bucket.put(LEASE_FILE, raw, {"e_tag": self._tag})
            self._beaten_s = _now_s()
        except FileExistsError:
            self._tag = None

    def _content(self) -> bytes:
        """The lease's content: its holder, and a number that changes with each beat."""
        return f"{self._mark}\n{self._beats}".encode()

    def _is_expired(self) -> bool:
        self._bucket.put(CLOCK, b"")
        now, beaten = self._bucket.modified(CLOCK), self._bucket.modified(LEASE_FILE)
        return now is not None and beaten is not None and (now - beaten).total_seconds() > EXPIRES_S

    def _held_error(self, mark: str) -> StoreError:
        told = describe_holder(mark.partition("\n")[0])
        return StoreError(f"{self._bucket.url}: another build works on this store{told}; wait for it")


def _now_s() -> float:
    """Seconds of a clock that goes on while the machine sleeps."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
