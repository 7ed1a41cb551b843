"""Synchronous access to models: one event loop in a thread, called from any number of threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from pipeline.llm.base import ModelSpec, Reply, Request
from pipeline.llm.budget import NO_CAP, BudgetGuard, Money
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Account, Client, Opener
from pipeline.llm.failures import CLOSED, ModelError
from pipeline.llm.providers import open_provider

_CLOSED: Final = "the models were closed before there was a reply"


class Session:
    """Models with one cache, used as ``with Session(…) as session``; limits and retries are those of `Client`.

    Args:
        models: their names differ.
        cache: file of the replies.
        keys: API keys by the name of their environment variable (`ModelSpec.key_name`).
        opener: makes the adapters; for tests.
        money: prices, and what may be spent.
    """

    def __init__(
        self,
        models: Sequence[ModelSpec],
        cache: Path,
        keys: Mapping[str, str] | None = None,
        opener: Opener = open_provider,
        money: Money = NO_CAP,
    ) -> None:
        self._models = tuple(models)
        self._cache = cache
        self._keys = keys or {}
        self._opener = opener
        self._money = money
        self._clients: dict[str, Client] = {}
        self._stack = AsyncExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=lambda: None)
        self._lock = threading.Lock()  # nothing is handed to a loop that is about to end

    def __enter__(self) -> Session:
        """Raises StoreError where replies cannot be kept, and the ConfigError of `BudgetGuard`."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._thread.start()
        try:
            self._submit(self._open()).result()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def ask(self, model: str, request: Request) -> Reply:
        """The reply of a model, waited for. Raises ModelError if there is none, also where the session was closed."""
        future = self._submit(self._clients[model].ask(request))
        try:
            return future.result()
        except CancelledError:
            raise ModelError(CLOSED, _CLOSED) from None
        except BaseException:
            future.cancel()  # Ctrl-C: nobody waits for it any more
            raise

    def account(self, model: str) -> Account:
        """The account of a model so far in this session."""
        return self._clients[model].account

    def close(self) -> None:
        """Ends what is under way, closes models and cache; whoever still waits gets a ModelError."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            self._thread.join()
            loop.close()

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        with self._lock:
            if self._loop is None:
                work.close()
                raise ModelError(CLOSED, _CLOSED)
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _open(self) -> None:
        # In the loop's thread: SQLite serves the one that opened it.
        cache = self._stack.enter_context(ReplyCache(self._cache))
        budget = BudgetGuard(cache, self._models, self._money)
        for model in self._models:
            client = Client(model, cache, self._keys.get(model.key_name or ""), self._opener, budget=budget)
            self._clients[model.name] = await self._stack.enter_async_context(client)

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._stack.aclose()
