"""The rate limiter of a model: pauses, rate and circuit breaker, shared by all requests that wait.

Without a configured rate the allowed one is found. After the first refusal ("too many requests") requests follow each
other at the pace of the replies so far, and each window of requests tells whether the next one is to be faster or
slower (`_Pace`). A time that the server names is waited for by all, then one request is a trial; where it names none,
the third refusal in a row pauses all for a second, and each further one for twice as long. So a quota of 60 a minute
costs 200 replies at most 60 refused requests, and refusals at random, as of a quota that others share, do not slow a
run down without end.

The circuit breaker: after ten failures in a row the same pause and trial, longer each time; after six failed trials
the model counts as down and nothing more is sent in this run.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Protocol

from pipeline.llm.failures import DOWN, HOPELESS, ILL, RATE_LIMITED, STOPPING, ModelError

LONGEST_WAIT_S: Final = 120.0  # a server that asks for more has had enough for today
BREAK_AFTER: Final = 10  # failures in a row
TRIALS: Final = 6  # in vain, before a model counts as down
FIRST_PAUSE_S: Final = 1.0  # doubled by every trial in vain
LONGEST_PAUSE_S: Final = 30.0
PATIENCE: Final = 16  # refusals in a row, each after the pause that was asked for
PATIENCE_S: Final = 180.0  # and for as long without a reply
STEP: Final = 2**0.5  # between two paces
WINDOW: Final = 16  # requests by which a pace is judged
REFUSALS: Final = 4  # that end a window, until the pace was turned for the first time
ALIKE: Final = 0.85  # of two paces as good as each other the slower one is taken
FEW: Final = 4  # requests for each reply
REMEMBERED: Final = 16  # windows
BORNE: Final = 2  # refusals in a row without a pause: the pace alone answers them
_FREE_S: Final = 1e-3  # an interval that holds nobody up


class Limiter(Protocol):
    """The part of aiolimiter in use: it waits until one more request is allowed."""

    async def acquire(self, amount: float = 1) -> None:
        """Returns when it is."""


class State(Enum):
    """The state of the circuit breaker: whether requests to a model are sent."""

    OPEN = "open"  # at the rate that was found
    PAUSED = "paused"  # none before the pause is over; the next one is a trial
    TRIAL = "trial"  # one is under way, and all others wait for what becomes of it
    STOPPED = "stopped"  # no more in this run


@dataclass
class _Pace:
    """The rate that was found, by climbing; times in seconds of the limiter's clock.

    Until the first refusal nobody is held up. From then on each window of requests is worth replies² / (requests x
    seconds): what is refused for coming too fast makes a faster window worth less, what is refused at random does not.
    The pace goes on in the direction in which that grows, and turns where it falls. No two requests are further apart
    than two replies were in the best of the last windows, so that no run of refusals stretches it for good.
    """

    interval_s: float = 0.0  # between two requests
    next: float = 0.0  # moment of the next request
    began: float | None = None  # moment of the window's first request
    replies: int = 0  # of the run
    sent: int = 0  # of the window, as are the next two
    answered: int = 0
    worth: float = 0.0  # of the window before
    slower: bool = True  # the direction
    found: bool = False  # whether it was turned so far: before, it takes larger steps
    judged: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))  # seconds a reply, by window

    def send(self, now: float) -> None:
        self.next = now + self.interval_s
        self.began = now if self.began is None else self.began

    def ended(self, now: float, *, refused: bool) -> None:
        """One request has a reply, or is refused."""
        self.sent += 1
        self.answered += not refused
        self.replies += not refused
        spent_s = max(now - (now if self.began is None else self.began), _FREE_S)
        if not self.interval_s:
            if refused and self.answered:
                self.interval_s = spent_s / self.answered
                self._next_window(now, 0.0)
        elif self.sent >= WINDOW or (not self.found and self.sent - self.answered >= REFUSALS):
            worth = self.answered**2 / (self.sent * spent_s)
            if self.answered == self.sent:
                self.slower, self.found = False, True
            elif self.answered * FEW < self.sent:
                self.slower = True
            elif worth < self.worth * (ALIKE if self.slower else 1 / ALIKE):
                self.slower, self.found = not self.slower, True
            coarse = not self.found or self.answered * FEW < self.sent
            self.interval_s *= (STEP**2 if coarse else STEP) if self.slower else 1 / STEP
            if self.answered and self.found:
                self.judged.append(spent_s / self.answered)
            self.interval_s = min(self.interval_s, min(self.judged) if self.judged else self.interval_s)
            self.interval_s = 0.0 if self.interval_s < _FREE_S else self.interval_s
            self._next_window(now, worth)

    def _next_window(self, now: float, worth: float) -> None:
        self.began, self.sent, self.answered, self.worth = now, 0, 0, worth


class RateLimiter:
    """The requests to one model, within one event loop, as a machine of four states (`State`).

    A refusal, or enough failures in a row, pauses an open one; after the pause one request is a trial; a reply to it
    opens, another failure pauses again, and too many in vain stop.

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
        self._state = State.OPEN
        self._changed = asyncio.Event()  # set when the state changes, and replaced
        self._why_stopped: ModelError | None = None
        self._pace = _Pace()
        self._resume = 0.0  # end of the pause
        self._pauses = 0  # a ticket is their number: a request sent before the last pause has nothing to add
        self._failures = 0  # in a row
        self._vain = 0  # pauses in a row without a reply
        self._refused = 0  # requests in a row
        self._last_reply: float | None = None

    async def enter(self) -> int:
        """Waits for one's turn; gives a ticket for `replied`, `failed` or `left`. Raises ModelError if stopped."""
        while True:
            if self._why_stopped:
                raise self._why_stopped
            if self._state is State.TRIAL:
                await self._changed.wait()
            elif (wait_s := max(self._resume, self._pace.next) - self._clock()) > 0:
                await self._sleep(wait_s)
            elif self._limiter is None or await self._allowed(self._limiter):
                break
        self._pace.send(self._clock())
        if self._state is State.PAUSED:
            self._go(State.TRIAL)
        return self._pauses

    async def _allowed(self, limiter: Limiter) -> bool:
        """Waits for the configured rate; False where a pause, a trial or the end began meanwhile."""
        await limiter.acquire()
        return self._state in {State.OPEN, State.PAUSED} and self._resume <= self._clock()

    def replied(self, ticket: int) -> None:
        """There is a reply."""
        self._pace.ended(self._clock(), refused=False)
        self._refused = 0
        self._last_reply = self._clock()
        self._answered(ticket)

    def failed(self, ticket: int, failure: ModelError) -> None:
        """There is none."""
        wait_s = failure.retry_after_s or 0.0
        if failure.kind in STOPPING or (failure.kind in HOPELESS and not self._pace.replies) or wait_s > LONGEST_WAIT_S:
            self._stop(failure)
        elif failure.kind == RATE_LIMITED:
            self._slow_down(ticket, failure)
        elif failure.kind in ILL:
            self._failures += 1
            if failure.retry_after_s is not None:
                self._resume = max(self._resume, self._clock() + failure.retry_after_s)
            self._break(ticket, failure)
        else:
            self._answered(ticket)  # an error of the one request: the server is there

    def left(self, ticket: int) -> None:
        """The request was given up: the next one may try."""
        if ticket == self._pauses and self._state is State.TRIAL:
            self._go(State.PAUSED)

    def _answered(self, ticket: int) -> None:
        self._failures = 0
        if ticket == self._pauses:
            self._vain = 0
            self._go(State.OPEN)

    def _slow_down(self, ticket: int, failure: ModelError) -> None:
        now, wait_s = self._clock(), failure.retry_after_s
        self._pace.ended(now, refused=True)
        if self._last_reply is None:
            self._last_reply = now
        if ticket == self._pauses:
            self._refused += 1
            if self._refused > PATIENCE and now - self._last_reply >= PATIENCE_S:
                self._stop(failure)
                return
            if wait_s is None and self._refused > BORNE:
                wait_s = min(FIRST_PAUSE_S * 2.0 ** (self._refused - BORNE - 1), LONGEST_PAUSE_S)
            if wait_s is None:
                self.left(ticket)
            else:
                self._pause()
        self._resume = max(self._resume, now + (wait_s or 0.0))

    def _break(self, ticket: int, failure: ModelError) -> None:
        if ticket != self._pauses or (self._state is State.OPEN and self._failures < BREAK_AFTER):
            return
        self._vain += 1
        if self._vain > TRIALS:
            self._stop(ModelError(DOWN, f"no reply to {self._failures} requests in a row, the last: {failure}"))
            return
        self._pause()
        self._resume = max(self._resume, self._clock() + self._pause_s())

    def _pause(self) -> None:
        self._pauses += 1
        self._go(State.PAUSED)

    def _pause_s(self) -> float:
        return min(FIRST_PAUSE_S * 2.0 ** (self._vain - 1), LONGEST_PAUSE_S)

    def _stop(self, failure: ModelError) -> None:
        self._why_stopped = self._why_stopped or failure
        self._resume = 0.0
        self._go(State.STOPPED)

    def _go(self, state: State) -> None:
        if self._state is not State.STOPPED:
            self._state = state
            self._changed.set()
            self._changed = asyncio.Event()
