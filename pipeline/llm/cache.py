"""Replies that were paid for once: SQLite beside the build, JSON values, committed one by one.

The key is a digest of all that a reply depends on: provider, model, endpoint, messages, parameters, schema, prompt
version and the weights' sha256. Neither prompts nor API keys are stored, nor are failures: those are tried again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from pipeline.core.errors import StoreError
from pipeline.llm.base import ModelSpec, Part, Reply, Request, Text, Usage

_VERSION: Final = 1  # of the keys and of the table
_WAIT_MS: Final = 60_000  # for another build that is writing
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, "
    "prompt TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID"
)


class Row(NamedTuple):
    """A stored reply with what is known of its request."""

    provider: str
    model: str
    request: str
    reply: Reply


class ReplyCache:
    """A file of replies; several processes may use it at once. Raises StoreError where it cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=_WAIT_MS / 1000, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise self._failure(error) from error
        self._run("PRAGMA journal_mode=WAL")
        self._run("PRAGMA synchronous=NORMAL")  # a killed process loses nothing; a power cut the last replies
        self._run(_SCHEMA)

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends the use of the file."""
        self._db.close()

    def __len__(self) -> int:
        return int(self._run("SELECT count(*) FROM replies")[0][0])

    def get(self, key: str) -> Reply | None:
        """A stored reply; None for one that is missing or cannot be read."""
        rows = self._run("SELECT reply FROM replies WHERE key = ?", key)
        return reply_from_json(rows[0][0]) if rows else None

    def put(self, key: str, spec: ModelSpec, request: Request, reply: Reply) -> None:
        """Stores a reply at once."""
        row = (key, spec.provider, spec.model, request.prompt, request_digest(request), reply_to_json(reply))
        self._run("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)", *row)

    def rows(self) -> Iterator[Row]:
        """Everything stored, in order of the keys."""
        for provider, model, request, raw in self._run(
            "SELECT provider, model, request, reply FROM replies ORDER BY key"
        ):
            reply = reply_from_json(raw)
            if reply is not None:
                yield Row(provider, model, request, reply)

    def _run(self, statement: str, *values: str) -> list[Any]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> StoreError:
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            hint = "it is no cache of model replies, or damaged: remove it and run again"
        else:
            hint = "free some space, or give a folder that can be written"
        return StoreError(f"{self.path}: the replies of models cannot be kept ({error}); {hint}")


def request_key(spec: ModelSpec, request: Request) -> str:
    """Under which the reply of a model to a request is kept."""
    return _sha256(
        {
            "version": _VERSION,
            "provider": spec.provider,
            "model": spec.model,
            "endpoint": spec.base_url,
            "temperature": spec.temperature,
            "max_tokens": spec.max_tokens,
            "parameters": spec.request,
            "weights": spec.weights_sha256,
            "prompt": request.prompt,
            "request": request_digest(request),
        }
    )


def request_digest(request: Request) -> str:
    """Digest of what is asked, whichever model it goes to."""
    messages = [[m.role, [_part(part) for part in m.parts]] for m in request.messages]
    return _sha256([messages, request.schema, request.logprobs, request.options])


def reply_to_json(reply: Reply) -> str:
    """A reply as stored and recorded."""
    usage = [reply.usage.input_tokens, reply.usage.output_tokens]
    return json.dumps({"text": reply.text, "usage": usage, "logprobs": reply.logprobs}, ensure_ascii=True)


def reply_from_json(raw: str) -> Reply | None:
    """The reply of `reply_to_json`; None for anything else."""
    try:
        value = json.loads(raw)
        logprobs = value["logprobs"]
        return Reply(
            str(value["text"]),
            Usage(int(value["usage"][0]), int(value["usage"][1])),
            None if logprobs is None else tuple((str(token), float(logprob)) for token, logprob in logprobs),
        )
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _part(part: Part) -> list[str]:
    return [part.kind, part.text] if isinstance(part, Text) else [part.kind, part.mime, part.sha256]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
