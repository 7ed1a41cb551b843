"""The client of one model: cache, limits, retries and accounting. Adapters send one request and do nothing else."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import stamina
import stamina.instrumentation
from aiolimiter import AsyncLimiter

from pipeline.core.errors import Scan2qaError
from pipeline.llm.base import ModelSpec, Price, Provider, ProviderTerms, Reply, Request, Usage
from pipeline.llm.budget import NO_CAP, BudgetGuard, likely_input, most_usage
from pipeline.llm.cache import ReplyCache, request_key
from pipeline.llm.failures import CUT, MIN_SECRET_CHARS, RATE_LIMITED, TIMEOUT, UNSUPPORTED, ModelError, redact
from pipeline.llm.providers import open_provider
from pipeline.llm.rate_limit import RateLimiter
from pipeline.llm.replies import check_finish, check_schema

MINUTE_S: Final = 60.0
FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 30.0  # between two attempts of one request; what a server asks for is the rate limiter's
MARGIN: Final = 0.99  # of the allowed rate
DELAY_S: Final = 0.5  # by which one request may be later on its way than another, and fall into the next window
MORE_ROOM: Final = 4  # times as much for a reply that was cut
REFUSALS: Final = 50  # "too many requests" that one request is told before it is given up
_BURST_SHARE: Final = 100
_BEGUN_PER_SLOT: Final = 2

Opener = Callable[[ModelSpec, str | None], Provider]


@dataclass
class Account:
    """The account of a model in this run."""

    asked: int = 0  # requests that ended with a reply of the model
    cached: int = 0  # requests answered from the cache
    sent: int = 0  # attempts, failed ones included
    failed: Counter[str] = field(default_factory=Counter)  # requests without a reply, by kind
    trouble: Counter[str] = field(default_factory=Counter)  # failed attempts, by kind
    usage: Usage = field(default_factory=Usage)  # of all that is to be paid, bad replies included
    assumed: Usage = field(default_factory=Usage)  # of it what no server told

    @property
    def failed_attempts(self) -> str:
        """The failed attempts so far, for people; "" where there were none."""
        kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(dict(self.trouble).items()))
        return f"failed attempts so far, which are repeated: {kinds}" if kinds else ""

    def cost_usd(self, price: Price | None) -> float | None:
        """Dollars spent in this run; None where the price is not known."""
        return None if price is None else price.cost_usd(self.usage)


class Client:
    """A model with its cache; used as ``async with Client(…) as client``, within one event loop.

    Args:
        spec: the model.
        cache: where replies are kept. The model is opened at the first request that is not in it.
        key: its API key; never stored, and cut out of replies and failures.
        opener: makes the adapter; for tests.
        period_s: what ``spec.rpm`` counts per; for tests.
        budget: what may be spent; of its own where none is given.
    """

    def __init__(
        self,
        spec: ModelSpec,
        cache: ReplyCache,
        key: str | None = None,
        opener: Opener = open_provider,
        period_s: float = MINUTE_S,
        budget: BudgetGuard | None = None,
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
        self._limiter = RateLimiter(rate_limiter(spec.rpm, period_s) if spec.rpm else None)
        self._budget = budget or BudgetGuard(cache, [spec], NO_CAP)
        self._terms = ProviderTerms(spec.max_tokens, cache.refused(spec))
        self._under_way: dict[str, asyncio.Lock] = {}
        self._is_kept = spec.provider != "replay"  # a recording is kept already, and may be changed
        # Retries are counted in the account; stamina would log each one, with the arguments of the call.
        stamina.instrumentation.set_on_retry_hooks(())

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the model, if it was opened."""
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

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
                    reply = await self._complete_reply(request)
            except ModelError as failure:
                self.account.failed[failure.kind] += 1
                raise
            finally:
                self._under_way.pop(key, None)
            if self._is_kept:
                self._cache.put(key, self.spec, request, reply)
            self.account.asked += 1
            return reply

    async def _complete_reply(self, request: Request) -> Reply:
        """A reply that was not cut: one that was is asked for once more, with more room."""
        refusal = self._refusal(request)
        if refusal is not None:
            raise refusal
        try:
            return await self._insist(request, self.spec.max_tokens)
        except ModelError as failure:
            if failure.kind != CUT or self.spec.provider == "embedded":
                raise  # a model that small rambles on to any end
        return await self._insist(request, self.spec.max_tokens * MORE_ROOM)

    async def _insist(self, request: Request, room: int) -> Reply:
        """Sends a request until there is a reply, an error that will not pass, or no attempt left."""
        async for attempt in stamina.retry_context(
            on=_is_worth_another,
            attempts=self.spec.attempts,
            timeout=None,
            wait_initial=FIRST_WAIT_S,
            wait_max=LONGEST_WAIT_S,
            wait_jitter=FIRST_WAIT_S,
        ):
            with attempt:
                return await self._attempt(request, room)
        raise AssertionError("stamina ends with a result or an error")

    async def _attempt(self, request: Request, room: int) -> Reply:
        """One attempt. Being told to slow down, or to leave out a parameter, is none."""
        refusals = 0
        while True:
            terms = replace(self._terms, max_tokens=room)
            try:
                async with self._slots:  # let go of while waiting for the next attempt
                    return await self._send(request, terms)
            except ModelError as failure:
                if failure.kind == RATE_LIMITED and refusals < REFUSALS:
                    refusals += 1
                    await self._limiter.rest(failure)
                elif failure.kind != UNSUPPORTED or not self._learn(failure, terms):
                    raise

    def _learn(self, failure: ModelError, terms: ProviderTerms) -> bool:
        """Leaves out from now on what the server refuses; False where it was left out already."""
        parameter = failure.parameter
        if parameter is None or parameter in terms.without:
            return False
        self._terms = replace(self._terms, without=self._terms.without | {parameter})
        self._cache.refuse(self.spec, parameter)
        return True

    async def _send(self, request: Request, terms: ProviderTerms) -> Reply:
        """Sends a request once. Whatever goes wrong leaves as a ModelError without the key and without a cause."""
        provider = self._opened()  # takes seconds the first time: before its turn, or the next comes right behind it
        most = most_usage(request, terms)
        held = await self._budget.hold(self.spec.name, most)
        paid: Usage | None = None
        settled = True
        try:
            async with self._passed() as outcome:
                self.account.sent += 1
                try:
                    reply = await self._answer(provider, request, terms)
                except ModelError as failure:
                    paid, settled = failure.usage, failure.usage is not None
                    if failure.kind in {TIMEOUT, "malformed"} and paid is None:
                        paid = most  # it may have been worked on all the same
                    self.account.trouble[failure.kind] += 1
                    outcome.append(failure)
                    raise
                settled = reply.usage is not None
                paid = reply.usage or Usage(likely_input(request), len(reply.text.encode()))
                self._check(reply, request)
                return reply
        finally:
            if paid is not None:
                self.account.usage += paid
                self.account.assumed += Usage() if settled else paid
            await self._budget.settle(self.spec.name, held, paid, settled)

    @asynccontextmanager
    async def _passed(self) -> AsyncIterator[list[ModelError]]:
        """Passes the rate limiter and tells it what became of the request; a failure is put into the list."""
        ticket = await self._limiter.enter()
        failure: list[ModelError] = []
        try:
            yield failure
        except ModelError as bad:  # also a reply that is no good
            if failure:
                self._limiter.failed(ticket, failure[0])
            else:
                self.account.trouble[bad.kind] += 1
                self._limiter.replied(ticket)
            raise
        except BaseException:
            self._limiter.left(ticket)
            raise
        self._limiter.replied(ticket)

    async def _answer(self, provider: Provider, request: Request, terms: ProviderTerms) -> Reply:
        try:
            async with asyncio.timeout(self.spec.timeout_s):
                if request.options:
                    reply = await provider.score(request.messages[-1].text, request.options)
                else:
                    reply = await provider.complete(request, terms)
        except TimeoutError:
            failure = ModelError(TIMEOUT, f"no reply within {self.spec.timeout_s:g} s", passing=True)
        except ModelError as error:
            failure = error.without(self._key)
        except Scan2qaError:
            raise
        except Exception as error:  # whatever a provider's package raises costs one question, not the build
            failure = ModelError("unexpected", redact(f"{type(error).__name__}: {error}", self._key))
        else:
            return replace(reply, text=redact(reply.text, self._key))  # without the key, where it repeats that
        raise failure

    def _check(self, reply: Reply, request: Request) -> None:
        """Raises ModelError for a reply that was cut or does not follow its schema; neither is ever kept."""
        check_finish(reply)
        if request.schema is not None:
            check_schema(reply.text, request.schema)

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
    """A limiter of at most so many acquisitions in any half-open window of that length, in bursts of a hundredth.

    A leaky bucket alone lets twice as many pass in the first window: the burst that fills it, and what leaks meanwhile.
    """
    burst = max(1, requests // _BURST_SHARE)
    per_second = MARGIN * (requests - burst + 1) / (period_s + DELAY_S)
    return AsyncLimiter(burst, burst / per_second)


def _is_worth_another(error: Exception) -> bool:
    """Returns whether stamina should try again. Waits that a server requests are left to the rate limiter."""
    return isinstance(error, ModelError) and error.passing and error.kind not in {RATE_LIMITED, UNSUPPORTED}
