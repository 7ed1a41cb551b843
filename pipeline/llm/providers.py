"""The adapters by name (`PROVIDERS`), and the replay of recorded answers (`Replay`, `record`).

An adapter's packages are imported when a model is opened, not before.

Recorded answers serve tests, offline runs, and scoring again what another machine asked. A recording is JSON lines,
``{"request": digest, "text": …, "usage": [in, out], "logprobs": …, "finish": …}``, made by `record` from a cache; the
digest is `pipeline.llm.cache.request_digest`.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError, MissingExtraError, extra_of, is_installed
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table
from pipeline.llm.base import ModelSpec, Provider, ProviderTerms, Reply, Request, user
from pipeline.llm.cache import ReplyCache, reply_from_json, reply_to_json, request_digest
from pipeline.llm.embedded import PACKAGE, Embedded, packaged_weights
from pipeline.llm.failures import ModelError
from pipeline.llm.gemini import Gemini, GeminiLegacy
from pipeline.llm.openai_compatible import OpenAICompatible


class Replay:
    """Answers what was recorded, and fails plainly on anything else."""

    def __init__(self, spec: ModelSpec, key: str | None = None) -> None:
        self._replies = _read(spec.recording) if spec.recording else {}

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
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


PROVIDERS: Final[Mapping[str, Callable[[ModelSpec, str | None], Provider]]] = {
    "openai": OpenAICompatible,
    "gemini": Gemini,
    "gemini-legacy": GeminiLegacy,
    "embedded": Embedded,
    "replay": Replay,
}
# What to run, by provider and what is missing.
INSTALL: Final[Mapping[str, Mapping[str, str]]] = load_table("llm/install")


def open_provider(spec: ModelSpec, key: str | None) -> Provider:
    """The adapter of a model. Raises ConfigError if its key is missing, MissingExtraError if its package is."""
    if spec.key_name and not key:
        raise ConfigError(f"model {spec.name} needs an API key: export {spec.key_name}=…")
    try:
        return PROVIDERS[spec.provider](spec, key)
    except ModuleNotFoundError as error:
        for name in INSTALL[spec.provider]:
            if error.name and f"{name}.".startswith(f"{error.name}."):
                raise _missing(spec, name) from error
        raise


def check_installed(spec: ModelSpec) -> None:
    """Raises the errors of `open_provider` about packages and weights, without opening anything."""
    for name in INSTALL[spec.provider]:
        if name == PACKAGE:
            try:
                weights = spec.weights or packaged_weights()
            except ModuleNotFoundError as error:
                raise _missing(spec, name) from error
            if not weights.is_file():
                raise ConfigError(f"model {spec.name}: {weights} is not there; correct weights, or leave the model out")
        elif not is_installed(name):
            raise _missing(spec, name)


def _missing(spec: ModelSpec, name: str) -> MissingExtraError:
    extra = f" (extra [{extra_of(name)}])" if extra_of(name) else ""
    run = INSTALL[spec.provider][name].format(python=sys.executable)
    return MissingExtraError(
        f"model {spec.name} needs {name}{extra}, which is not installed. Run: {run}, or leave the model out"
    )
