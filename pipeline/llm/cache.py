"""The cache of replies, each paid for once: SQLite beside the build, JSON values, committed one by one.

The key is a digest of all that a reply depends on: provider, model, endpoint, messages, parameters, schema, prompt
version and the weights' sha256. Neither prompts nor API keys are stored, nor are failures: those are tried again.
The cache also keeps the spending, so that a cap on money holds over all runs, and the parameters that a model's server
refuses, so that they are not sent again.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from pipeline.core.errors import StoreError
from pipeline.llm.base import ModelSpec, Part, Reply, Request, Text, Usage

_VERSION: Final = 1  # of the keys and of the table
_WAIT_MS: Final = 60_000  # for another build that is writing
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, provider TEXT NOT NULL, model TEXT NOT NULL, "
    "prompt TEXT NOT NULL, request TEXT NOT NULL, reply TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS spending (name TEXT NOT NULL, told INTEGER NOT NULL, requests INTEGER NOT NULL, "
    "input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, usd REAL NOT NULL, PRIMARY KEY (name, told)) "
    "WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS refused (server TEXT NOT NULL, parameter TEXT NOT NULL, "
    "PRIMARY KEY (server, parameter)) WITHOUT ROWID",
)

_SPENT: Final = "SELECT name, told, requests, input_tokens, output_tokens, usd FROM spending ORDER BY name, told DESC"


class ReplyRow(NamedTuple):
    """A stored reply with what is known of its request."""

    provider: str
    model: str
    request: str
    reply: Reply


class ModelSpending(NamedTuple):
    """The cost of a model over all runs; ``reported``: the tokens are the server's, else an upper bound."""

    name: str
    reported: bool
    requests: int
    usage: Usage
    usd: float


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
        for statement in _SCHEMA:
            self._run(statement)

    def __enter__(self) -> ReplyCache:
        return self

    def __exit__(self, *exception: object) -> None:
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

    def spend(self, name: str, usage: Usage, usd: float, reported: bool) -> None:
        """Adds one paid request to the account of a model, by its name."""
        self._run(
            "INSERT INTO spending VALUES (?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET requests = requests + 1, "
            "input_tokens = input_tokens + excluded.input_tokens, "
            "output_tokens = output_tokens + excluded.output_tokens, usd = usd + excluded.usd",
            *(name, int(reported), usage.input_tokens, usage.output_tokens, usd),
        )

    def spent(self) -> list[ModelSpending]:
        """The accounts, in order of the names."""
        return [_spent(row) for row in self._run(_SPENT)]

    def refuse(self, spec: ModelSpec, parameter: str) -> None:
        """Notes that the server of a model refuses a parameter."""
        self._run("INSERT OR IGNORE INTO refused VALUES (?, ?)", _server(spec), parameter)

    def refused(self, spec: ModelSpec) -> frozenset[str]:
        """The parameters that the server of a model refuses."""
        rows = self._run("SELECT parameter FROM refused WHERE server = ?", _server(spec))
        return frozenset(parameter for (parameter,) in rows)

    def rows(self) -> Iterator[ReplyRow]:
        """Everything stored, in order of the keys."""
        for provider, model, request, raw in self._run(
            "SELECT provider, model, request, reply FROM replies ORDER BY key"
        ):
            reply = reply_from_json(raw)
            if reply is not None:
                yield ReplyRow(provider, model, request, reply)

    def _run(self, statement: str, *values: str | float) -> list[Any]:
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


def known_keys(path: Path, keys: Collection[str]) -> set[str]:
    """Those of the keys whose replies a file holds; nothing is written, and a file that cannot be read holds none."""
    rows = _peek(path, "SELECT key FROM replies")
    return {key for (key,) in rows} & set(keys)


def spent_in(path: Path) -> list[ModelSpending]:
    """`ReplyCache.spent` of a file; nothing is written."""
    return [_spent(row) for row in _peek(path, _SPENT)]


def _spent(row: Sequence[Any]) -> ModelSpending:
    name, reported, requests, input_tokens, output_tokens, usd = row
    return ModelSpending(name, bool(reported), int(requests), Usage(int(input_tokens), int(output_tokens)), float(usd))


def _peek(path: Path, statement: str) -> list[Any]:
    if not path.exists():
        return []
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(statement).fetchall()
    except sqlite3.Error:
        return []


def request_key(spec: ModelSpec, request: Request) -> str:
    """The key under which the reply of a model to a request is kept."""
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
    # The constant stands where a request could once ask for likelihoods of its tokens: what was answered stays known.
    runs = [request.run] if request.run else []  # the first has the digest of a request that has no others
    return _sha256([messages, request.schema, False, request.options, *runs])


def reply_to_json(reply: Reply) -> str:
    """A reply as stored and recorded."""
    usage = [reply.usage.input_tokens, reply.usage.output_tokens] if reply.usage else None
    stored = {"text": reply.text, "usage": usage, "logprobs": reply.logprobs, "finish": reply.finish}
    return json.dumps(stored, ensure_ascii=True)


def reply_from_json(raw: str) -> Reply | None:
    """The reply of `reply_to_json`; None for anything else."""
    try:
        value = json.loads(raw)
        logprobs, usage = value["logprobs"], value["usage"]
        return Reply(
            str(value["text"]),
            None if usage is None else Usage(int(usage[0]), int(usage[1])),
            None if logprobs is None else tuple((str(token), float(logprob)) for token, logprob in logprobs),
            str(value.get("finish", "")),  # replies of before it was kept
        )
    except (ValueError, KeyError, TypeError, IndexError):
        return None


def _server(spec: ModelSpec) -> str:
    return _sha256([spec.provider, spec.model, spec.base_url])


def _part(part: Part) -> list[str]:
    return [part.kind, part.text] if isinstance(part, Text) else [part.kind, part.mime, part.sha256]


def _sha256(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=True).encode()).hexdigest()
