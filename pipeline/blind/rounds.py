"""Rounds of a pruning that are done, kept beside the store so that one that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pydantic import BaseModel, ValidationError

from pipeline.core.files import read_file

ROUNDS_FILE: Final = "pruning.jsonl"


class Round(NamedTuple):
    """What one round did.

    Attributes:
        removed: ids of the questions that went.
        running: names of the tasks that are not done yet.
    """

    removed: tuple[int | str, ...]
    running: tuple[str, ...]


class _Line(BaseModel):
    key: str
    removed: tuple[int | str, ...]
    running: tuple[str, ...]


class Rounds:
    """The rounds of one pruning, a line each.

    Args:
        path: their file.
        key: digest of all that the rounds follow from; lines with another key are of another pruning.
    """

    def __init__(self, path: Path, key: str) -> None:
        self._path, self._key = path, key

    def done(self) -> list[Round]:
        """The rounds that are whole, in order. Raises OSError."""
        return list(self._lines())

    def add(self, removed: Sequence[int | str], running: Sequence[str]) -> None:
        """Keeps one more. Raises OSError."""
        line = json.dumps({"key": self._key, "removed": list(removed), "running": list(running)})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
            file.flush()
            os.fsync(file.fileno())

    def begin(self) -> list[Round]:
        """As `done`; what is of another pruning, or was cut in mid-line, is removed first. Raises OSError."""
        found = self.done()
        self._path.unlink(missing_ok=True)
        for one in found:
            self.add(one.removed, one.running)
        return found

    def end(self) -> None:
        """Forgets them: the result is kept. Raises OSError."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[Round]:
        if not self._path.exists():
            return
        for raw in read_file(self._path).splitlines():
            try:
                line = _Line.model_validate_json(raw)
            except ValidationError:  # the write that the kill came into
                return
            if line.key != self._key:
                return
            yield Round(line.removed, line.running)
