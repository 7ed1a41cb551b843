"""Asks one model: cache, limits, retries, accounting. Adapters send one request; all the rest happens here."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final

import jsonschema
import stamina
import stamina.instrumentation
from aiolimiter import AsyncLimiter

from pipeline.core.errors import Scan2qaError
from pipeline.llm.base import JsonSchema, Message, ModelSpec, Price, Provider, Reply, Request, Usage
from pipeline.llm.cache import ReplyCache, request_key
from pipeline.llm.failures import HOPELESS, MIN_SECRET_CHARS, ModelError, redact
from pipeline.llm.providers import open_provider

MINUTE_S: Final = 60.0
FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 120.0  # a server that asks for more has had enough for today
MARGIN: Final = 0.99  # of the allowed rate
DELAY_S: Final = 0.5  # by which one request may be later on its way than another, and fall into the next window
_BURST_SHARE: Final = 100
_BEGUN_PER_SLOT: Final = 2

Opener = Callable[[ModelSpec, str | None], Provider]


@dataclass
class Account:
    """What asking a model came to in this run."""

    asked: int = 0  # requests that ended with a reply of the model
    cached: int = 0  # requests answered from the cache
    sent: int = 0  # attempts, failed ones included
    failed: Counter[str] = field(default_factory=Counter)  # requests without a reply, by kind
    trouble: Counter[str] = field(default_factory=Counter)  # failed attempts, by kind
    usage: Usage = field(default_factory=Usage)

    def cost_usd(self, price: Price | None) -> float | None:
        """Dollars spent on replies in this run; None where the price is not known."""
        return None if price is None else price.cost_usd(self.usage)


class Client:
    """A model with its cache; used as ``async with Client(…) as client``, within one event loop.

    Args:
        spec: the model.
        cache: where replies are kept. The model is opened at the first request that is not in it.
        key: its API key; never stored, and cut out of replies and failures.
        opener: makes the adapter; for tests.
        period_s: what ``spec.rpm`` counts per; for tests.
    """

    def __init__(
        self,
        spec: ModelSpec,
        cache: ReplyCache,
        key: str | None = None,
        opener: Opener = open_provider,
        period_s: float = MINUTE_S,
    ) -> None:
        self.spec = spec
        self.account = Account()
        self._cache = cache
        self._key = key
        self._opener = opener
        self._provider: Provider | None = None
        self._slots = asyncio.Semaphore(spec.concurrency)
        # Requests begun: without this bound one that failed would queue up behind all that were not yet sent.
        self._begun = asyncio.Semaphore(_BEGUN_PER_SLOT * spec.concurrency)
        self._limiter = rate_limiter(spec.rpm, period_s) if spec.rpm else None
        self._under_way: dict[str, asyncio.Lock] = {}
        self._hopeless: ModelError | None = None
        self._is_kept = spec.provider != "replay"  # a recording is kept already, and may be changed
        # Retries are counted in the account; stamina would log each one, with the arguments of the call.
        stamina.instrumentation.set_on_retry_hooks(())

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the model, if it was opened."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    async def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, logprobs: bool = False
    ) -> Reply:
        """As `Provider.complete`, through the cache."""
        return await self.ask(Request(tuple(messages), schema, logprobs))

    async def ask(self, request: Request) -> Reply:
        """The reply to a request, of the cache or the model. Raises ModelError if there is none after all attempts.

        The same request made twice at once is sent once.
        """
        key = request_key(self.spec, request)
        async with self._under_way.setdefault(key, asyncio.Lock()):
            try:
                reply = self._cache.get(key) if self._is_kept else None
                if reply is not None:
                    self.account.cached += 1
                    return reply
                async with self._begun:
                    reply = await self._insist(request)
            except ModelError as failure:
                self.account.failed[failure.kind] += 1
                raise
            finally:
                self._under_way.pop(key, None)
            if self._is_kept:
                self._cache.put(key, self.spec, request, reply)
            self.account.asked += 1
            return reply

    async def _insist(self, request: Request) -> Reply:
        """Sends a request until there is a reply, an error that will not pass, or no attempt left."""
        refusal = self._refusal(request)
        if refusal is not None:
            raise refusal
        async for attempt in stamina.retry_context(
            on=_wait_s,
            attempts=self.spec.attempts,
            timeout=None,
            wait_initial=FIRST_WAIT_S,
            wait_max=LONGEST_WAIT_S / 4,
            wait_jitter=FIRST_WAIT_S,
        ):
            with attempt:
                async with self._slots:  # let go of while waiting for the next attempt
                    if self._limiter:
                        await self._limiter.acquire()
                    if self._hopeless:
                        raise self._hopeless
                    return await self._send(request)
        raise AssertionError("stamina ends with a result or an error")

    async def _send(self, request: Request) -> Reply:
        """One attempt. Whatever goes wrong in an adapter leaves as a ModelError without the key and without a cause.

        No cause: an SDK's exception holds its request, and that holds the key.
        """
        provider = self._opened()
        self.account.sent += 1
        try:
            async with asyncio.timeout(self.spec.timeout_s):
                reply = await _answer(provider, request)
            reply = self._without_key(reply)
            _check(reply, request.schema)
        except TimeoutError:
            failure = ModelError("timeout", f"no reply within {self.spec.timeout_s:g} s", passing=True)
        except ModelError as error:
            failure = ModelError(error.kind, redact(error.message, self._key), error.passing, error.retry_after_s)
        except Scan2qaError:
            raise
        except Exception as error:
            failure = ModelError("unexpected", redact(f"{type(error).__name__}: {error}", self._key))
        else:
            total, used = self.account.usage, reply.usage
            self.account.usage = Usage(total.input_tokens + used.input_tokens, total.output_tokens + used.output_tokens)
            return reply
        self.account.trouble[failure.kind] += 1
        if failure.kind in HOPELESS and not self.account.asked:
            self._hopeless = failure
        raise failure

    def _without_key(self, reply: Reply) -> Reply:
        """A reply that repeats the key is kept without it, and without its tokens: they hold it in pieces."""
        text = redact(reply.text, self._key)
        return reply if text == reply.text else Reply(text, reply.usage)

    def _opened(self) -> Provider:
        if self._provider is None:
            self._provider = self._opener(self.spec, self._key)
        return self._provider

    def _refusal(self, request: Request) -> ModelError | None:
        """Why a request is not sent at all."""
        kinds = {part.kind for message in request.messages for part in message.parts}
        unseen = sorted(kinds - set(self.spec.inputs))
        if unseen:
            return ModelError("input", f"{self.spec.name} is not said to take {', '.join(unseen)}: see its key inputs")
        key = self._key
        if key and len(key) >= MIN_SECRET_CHARS and any(key in message.text for message in request.messages):
            return ModelError("key_in_prompt", "the text to be sent holds the API key")
        return None


def rate_limiter(requests: int, period_s: float) -> AsyncLimiter:
    """At most so many acquisitions in any half-open window of that length, in bursts of a hundredth.

    A leaky bucket alone lets twice as many pass in the first window: the burst that fills it, and what leaks meanwhile.
    """
    burst = max(1, requests // _BURST_SHARE)
    per_second = MARGIN * (requests - burst + 1) / (period_s + DELAY_S)
    return AsyncLimiter(burst, burst / per_second)


def structured(reply: Reply) -> Any:
    """The value of a reply to a request with a schema, which the client has checked."""
    return json.loads(reply.text)


async def _answer(provider: Provider, request: Request) -> Reply:
    if request.options:
        return await provider.score(request.messages[-1].text, request.options)
    return await provider.complete(request.messages, request.schema, request.logprobs)


def _check(reply: Reply, schema: JsonSchema | None) -> None:
    """Raises ModelError for a reply that does not follow its schema: asked again, and never kept."""
    if schema is None:
        return
    try:
        jsonschema.validate(json.loads(reply.text), schema)
    except ValueError as error:
        raise ModelError("malformed", f"the reply is not JSON: {error}", passing=True) from None
    except jsonschema.ValidationError as error:
        raise ModelError("malformed", f"the reply does not follow the schema: {error.message}", passing=True) from None


def _wait_s(error: Exception) -> bool | float:
    """Whether stamina should try again, and after how long where the server says it."""
    if not isinstance(error, ModelError) or not error.passing:
        return False
    if error.retry_after_s is None:
        return True
    return error.retry_after_s if error.retry_after_s <= LONGEST_WAIT_S else False
