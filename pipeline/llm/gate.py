"""The one door through which all requests to a model go: pauses, rate and the breaker are shared by all that wait.

Without a configured rate the allowed one is found: a refusal ("too many requests") pauses everybody for as long as the
server asks, then one request tries the door, and those behind it follow at no more than the rate that the run has
sustained so far, which every reply raises a little. So a quota of 60 a minute costs a few refused requests and not one
per request and minute.

The breaker: after ten failures in a row the same pause and trial, longer each time; after six trials in vain the model
counts as down and nothing more is sent in this run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from pipeline.llm.failures import DOWN, HOPELESS, ILL, RATE_LIMITED, STOPPING, ModelError

LONGEST_WAIT_S: Final = 120.0  # a server that asks for more has had enough for today
BREAK_AFTER: Final = 10  # failures in a row
TRIALS: Final = 6  # in vain, before a model counts as down
FIRST_PAUSE_S: Final = 1.0  # doubled by every trial in vain
LONGEST_PAUSE_S: Final = 30.0
PATIENCE: Final = 10  # refusals in a row, each after the pause that was asked for
SLOWER: Final = 2.0
FASTER: Final = 1 - 1 / 32  # refusals at random are borne up to about two in a hundred
_FREE_S: Final = 1e-3  # an interval that holds nobody up


class Limiter(Protocol):
    """What is needed of aiolimiter: it waits until one more is allowed."""

    async def acquire(self, amount: float = 1) -> None:
        """Returns when it is."""


class Gate:
    """The door of one model, within one event loop.

    Args:
        limiter: of the configured rate, if there is one.
        clock: seconds; for tests.
        sleep: for tests.
    """

    def __init__(
        self,
        limiter: Limiter | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limiter = limiter
        self._clock = clock
        self._sleep = sleep
        self._stopped: ModelError | None = None
        self._began: float | None = None
        self._replies = 0
        self._resume = 0.0  # before that nobody passes
        self._round = 0  # counts the pauses: who passed before the last one has nothing to add
        self._interval_s = 0.0  # between two requests
        self._next = 0.0
        self._ill = 0  # failures in a row
        self._vain = 0  # pauses in a row without a reply
        self._trial: asyncio.Event | None = None  # someone tries the door; None: it is open
        self._is_tried = False

    async def enter(self) -> int:
        """Waits for one's turn; gives a ticket for `replied`, `failed` or `left`. Raises ModelError if stopped."""
        while True:
            if self._stopped:
                raise self._stopped
            now = self._clock()
            trial = self._trial
            if trial is not None and self._is_tried:
                await trial.wait()
            elif (wait_s := max(self._resume, self._next) - now) > 0:
                await self._sleep(wait_s)
            elif self._limiter is not None and not await self._allowed(self._limiter):
                continue  # the door was shut meanwhile
            else:
                break
        now = self._clock()
        self._is_tried = self._trial is not None
        self._next = now + self._interval_s
        self._began = now if self._began is None else self._began
        return self._round

    async def _allowed(self, limiter: Limiter) -> bool:
        await limiter.acquire()
        shut = self._stopped or (self._trial is not None and self._is_tried)
        return not shut and self._resume <= self._clock()

    def replied(self, ticket: int) -> None:
        """There is a reply."""
        self._replies += 1
        self._interval_s *= FASTER
        if self._interval_s < _FREE_S:
            self._interval_s = 0.0
        elif self._vain and ticket == self._round:
            self._interval_s = max(self._interval_s, self._sustained_s())
        self._answered(ticket)

    def failed(self, ticket: int, failure: ModelError) -> None:
        """There is none."""
        wait_s = failure.retry_after_s or 0.0
        if failure.kind in STOPPING or (failure.kind in HOPELESS and not self._replies) or wait_s > LONGEST_WAIT_S:
            self._stop(failure)
        elif failure.kind == RATE_LIMITED:
            self._slow_down(ticket, failure)
        elif failure.kind in ILL:
            self._ill += 1
            if failure.retry_after_s is not None:
                self._resume = max(self._resume, self._clock() + failure.retry_after_s)
            self._break(ticket, failure)
        else:
            self._answered(ticket)  # an error of the one request: the server is there

    def left(self, ticket: int) -> None:
        """The request was given up: the next one may try."""
        if ticket == self._round and self._trial is not None:
            self._await_trial()

    def _answered(self, ticket: int) -> None:
        self._ill = 0
        if ticket == self._round:
            self._vain = 0
            self._open()

    def _slow_down(self, ticket: int, failure: ModelError) -> None:
        now = self._clock()
        wait_s = failure.retry_after_s
        if ticket == self._round:
            self._vain += 1
            if self._vain > PATIENCE:
                self._stop(failure)
                return
            self._interval_s = max(self._interval_s * SLOWER, self._sustained_s())
            self._pause()
            if wait_s is None:
                wait_s = _pause_s(self._vain)
        self._resume = max(self._resume, now + (wait_s or 0.0))

    def _break(self, ticket: int, failure: ModelError) -> None:
        if ticket != self._round or (self._trial is None and self._ill < BREAK_AFTER):
            return
        self._vain += 1
        if self._vain > TRIALS:
            self._stop(ModelError(DOWN, f"no reply to {self._ill} requests in a row, the last: {failure}"))
            return
        self._pause()
        self._resume = max(self._resume, self._clock() + _pause_s(self._vain))

    def _sustained_s(self) -> float:
        """Mean seconds per reply of this run."""
        now = self._clock()
        return (now - (now if self._began is None else self._began)) / max(self._replies, 1)

    def _pause(self) -> None:
        self._round += 1
        self._await_trial()

    def _await_trial(self) -> None:
        if self._trial is not None:
            self._trial.set()
        self._trial, self._is_tried = asyncio.Event(), False

    def _open(self) -> None:
        if self._trial is not None:
            self._trial.set()
        self._trial, self._is_tried = None, False

    def _stop(self, failure: ModelError) -> None:
        self._stopped = self._stopped or failure
        self._resume = 0.0
        self._open()


def _pause_s(vain: int) -> float:
    return min(FIRST_PAUSE_S * 2.0 ** (vain - 1), LONGEST_PAUSE_S)
