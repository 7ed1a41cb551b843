"""The database of events: what was acknowledged stays, and what is wrong with the file is said."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.errors import StoreError
from pipeline.review import database as module
from pipeline.review.database import AnsweredBeforeError, ReviewDatabase
from tests.review.made import event, item_of, question

ITEM = item_of(question(1))
ANSWER = event(ITEM, "ann", "answer", answer="A")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "build" / "review" / "review.sqlite"


def test_events_come_back_in_order_and_a_second_answer_is_refused_with_all_that_comes_with_it(path: Path) -> None:
    database = ReviewDatabase(path)
    database.append([ANSWER, event(ITEM, "ann", "accept")])
    database.append([event(ITEM, "bo", "answer", answer="B")])
    with pytest.raises(AnsweredBeforeError):
        database.append([event(ITEM, "bo", "flag", reason="direction"), ANSWER._replace(answer="C")])
    database.close()
    assert [(e.reviewer, e.kind, e.answer) for e in ReviewDatabase(path).events()] == [
        ("ann", "answer", "A"),
        ("ann", "accept", None),
        ("bo", "answer", "B"),
    ]


def test_events_are_neither_changed_nor_removed(path: Path) -> None:
    ReviewDatabase(path).append([ANSWER])
    with sqlite3.connect(path) as connection:
        for statement in ("UPDATE events SET answer = 'B'", "DELETE FROM events"):
            with pytest.raises(sqlite3.IntegrityError, match="only appended"):
                connection.execute(statement)
    connection.close()
    assert ReviewDatabase(path).events() == [ANSWER]


def test_what_was_appended_survives_a_kill(path: Path) -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom pipeline.review.database import ReviewDatabase\n"
        "from tests.review.test_database import ANSWER\n"
        "ReviewDatabase(Path(sys.argv[1])).append([ANSWER])\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], check=False, cwd=Path(__file__).parents[2])
    assert done.returncode == -9
    assert ReviewDatabase(path).events() == [ANSWER]


def test_a_locked_database_says_so_and_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_S", 0.05)
    database, other = ReviewDatabase(path), sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"review\.sqlite: another program keeps .* locked; close it"):
        database.append([ANSWER])
    other.execute("ROLLBACK")
    other.close()
    database.append([ANSWER])
    assert database.events() == [ANSWER]


def test_a_damaged_database_names_its_backup(path: Path) -> None:
    database = ReviewDatabase(path)
    database.append([ANSWER])
    database.back_up(path.with_name("review.backup.sqlite"))
    database.close()
    raw = bytearray(path.read_bytes())
    raw[100:] = os.urandom(len(raw) - 100)
    path.write_bytes(raw)
    with pytest.raises(StoreError, match=r"damaged\. Move it away .* review\.backup\.sqlite"):
        ReviewDatabase(path)
    assert ReviewDatabase(path.with_name("review.backup.sqlite")).events() == [ANSWER]


def test_a_file_of_something_else_and_one_of_a_newer_version(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(b"id,answer\n" * 200)
    with pytest.raises(StoreError, match="damaged"):
        ReviewDatabase(path)
    path.unlink()
    ReviewDatabase(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(StoreError, match="newer scan2qa"):
        ReviewDatabase(path)


def test_a_database_of_version_1_is_taken_over_with_all_that_stands_in_it(path: Path) -> None:
    ReviewDatabase(path).append([ANSWER])
    with sqlite3.connect(path) as connection:  # as it was: without the kind "undo"
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (", 'undo'", ""))
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    database, undone = ReviewDatabase(path), event(ITEM, "ann", "undo")
    database.append([undone])
    assert database.events() == [ANSWER, undone]
    with pytest.raises(AnsweredBeforeError):
        database.append([ANSWER._replace(answer="C")])
    database.close()
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError, match="only appended"):
        connection.execute("DELETE FROM events")
    connection.close()


def test_a_database_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As root no permission holds, so SQLite itself is asked for a connection that only reads.
    ReviewDatabase(path).close()
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda p, **k: connect(f"file:{p}?mode=ro", **k, uri=True))
    with pytest.raises(StoreError, match="cannot be written; give its folder and its files write permission"):
        ReviewDatabase(path)
