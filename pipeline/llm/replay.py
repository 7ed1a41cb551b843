"""Recorded answers: for tests, for offline runs, and to score again what another machine asked.

A recording is JSON lines, ``{"request": digest, "text": …, "usage": [in, out], "logprobs": …, "finish": …}``, made by
`record` from a cache; the digest is `pipeline.llm.cache.request_digest`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.llm.base import ModelSpec, Reply, Request, Terms, user
from pipeline.llm.cache import ReplyCache, reply_from_json, reply_to_json, request_digest
from pipeline.llm.failures import ModelError


class Replay:
    """Answers what was recorded, and fails plainly on anything else."""

    def __init__(self, spec: ModelSpec, key: str | None = None) -> None:
        self._replies = _read(spec.recording) if spec.recording else {}

    async def complete(self, request: Request, terms: Terms) -> Reply:
        """The recorded reply. Raises ModelError if there is none."""
        return self._find(request)

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """The recorded scores. Raises ModelError if there are none."""
        return self._find(Request((user(prompt),), options=tuple(options)))

    async def close(self) -> None:
        """Does nothing: a recording holds nothing open."""

    def _find(self, request: Request) -> Reply:
        reply = self._replies.get(request_digest(request))
        if reply is None:
            raise ModelError("not_recorded", "the recording holds no answer to this request")
        return reply


def record(cache: ReplyCache, provider: str, model: str, path: Path) -> int:
    """Writes all that a cache holds of one model as a recording; gives the number of answers."""
    found = {row.request: row.reply for row in cache.rows() if (row.provider, row.model) == (provider, model)}
    lines = [json.dumps({"request": request} | json.loads(reply_to_json(found[request]))) for request in sorted(found)]
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode())
    return len(lines)


def _read(path: Path) -> Mapping[str, Reply]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read as recorded answers: {error}") from error
    replies = {}
    for number, line in enumerate(lines, start=1):
        reply = reply_from_json(line)
        request = json.loads(line).get("request") if reply else None
        if reply is None or not isinstance(request, str):
            raise ConfigError(f"{path}: line {number} is no recorded answer (request, text, usage, logprobs)")
        replies[request] = reply
    return replies
