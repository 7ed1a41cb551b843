"""The events of a review in SQLite: appended in short transactions, never changed, one answer per reviewer and item."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pipeline.core.errors import StoreError
from pipeline.review.verdicts import KINDS, ROLES, ReviewEvent

BUSY_S: Final = 5.0
_VERSION: Final = 3
_SCHEMA: Final = f"""
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    item INTEGER NOT NULL,
    content TEXT NOT NULL,
    reviewer TEXT NOT NULL CHECK (reviewer <> ''),
    kind TEXT NOT NULL CHECK (kind IN ({", ".join(f"'{kind}'" for kind in KINDS)})),
    role TEXT NOT NULL CHECK (role IN ({", ".join(f"'{role}'" for role in ROLES)})),
    answer TEXT,
    reason TEXT,
    note TEXT,
    at TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX one_answer ON events (item, content, reviewer) WHERE kind = 'answer';
CREATE TRIGGER never_changed BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'events are only appended'); END;
CREATE TRIGGER never_removed BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'events are only appended'); END;
"""
# Version 1 knew no kind "undo", version 2 no "mend"; a constraint cannot be changed, so the table is made again with
# all that stood in it.
_BEFORE: Final = """
DROP TRIGGER never_changed;
DROP TRIGGER never_removed;
DROP INDEX one_answer;
ALTER TABLE events RENAME TO before;
"""
_COLUMNS: Final = ", ".join(ReviewEvent._fields)
_INSERT: Final = f"INSERT INTO events ({_COLUMNS}) VALUES ({', '.join('?' * len(ReviewEvent._fields))})"  # noqa: S608


class AnsweredBeforeError(Exception):
    """The reviewer has answered this item already; the first answer stays."""


class ReviewDatabase:
    """The events of one build's review.

    What was appended is on the disk when `append` returns. Threads may share one; other processes may read meanwhile.
    Raises StoreError, naming file and remedy, where the file is locked, read-only, damaged or of a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        with self._explained():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except (sqlite3.Error, StoreError):
                self._connection.close()
                raise

    def append(self, events: Sequence[ReviewEvent]) -> None:
        """All of the events, or none. Raises AnsweredBeforeError where one is a second answer."""
        with self._lock, self._explained(), self._transaction():
            try:
                self._connection.executemany(_INSERT, events)
            except sqlite3.IntegrityError as error:
                if "UNIQUE" in str(error):
                    raise AnsweredBeforeError from error
                raise

    def events(self) -> list[ReviewEvent]:
        """All events, the earliest first."""
        with self._lock, self._explained():
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM events ORDER BY seq")  # noqa: S608
            return [ReviewEvent(*row) for row in rows]

    def back_up(self, path: Path) -> None:
        """A copy of the database as it is now, whole or not at all."""
        temporary = path.with_name(f".tmp-{path.name}")
        with self._lock, self._explained():
            temporary.unlink(missing_ok=True)
            with sqlite3.connect(temporary) as copy:
                self._connection.backup(copy)
            copy.close()
            temporary.replace(path)

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        run = self._connection.execute
        (found,) = run("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise sqlite3.DatabaseError(str(found))
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")  # an answer that was acknowledged survives a power cut too
        with self._transaction():  # of two that begin, one makes the table
            (version,) = run("PRAGMA user_version").fetchone()
            if version > _VERSION:
                raise StoreError(f"{self.path}: written by a newer scan2qa (its version is {version}); use that one")
            if version < _VERSION:
                taken = "INSERT INTO events SELECT * FROM before;\nDROP TABLE before;\n"
                for statement in _statements(_SCHEMA if version == 0 else f"{_BEFORE}{_SCHEMA}{taken}"):
                    run(statement)
            run(f"PRAGMA user_version = {_VERSION}")  # a write: one that cannot be is told now, not at the first answer

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # whatever went wrong first is told
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self.path}: {_remedy(error, self.path)} ({error})") from error


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: SQLite's own `executescript` would end the transaction."""
    waiting = ""
    for line in script.splitlines(keepends=True):
        waiting += line
        if sqlite3.complete_statement(waiting):
            yield waiting
            waiting = ""


def _remedy(error: sqlite3.Error | OSError, path: Path) -> str:
    message = str(error)
    if "locked" in message or "busy" in message:
        return "another program keeps the review database locked; close it and try again, nothing was lost"
    if "readonly" in message or "unable to open" in message or isinstance(error, OSError):
        return "the review database cannot be written; give its folder and its files write permission"
    if "full" in message:
        return "the disk is full; free some space and try again"
    backup = path.with_name("review.backup.sqlite")
    return (
        f"the review database is damaged. Move it away (with its -wal and -shm files); put {backup.name} in its place, "
        "or import verdicts.parquet again with scan2qa import-review"
    )
