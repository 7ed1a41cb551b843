"""The rate limiter of a model: pauses, rate and circuit breaker, shared by all requests that wait.

Without a configured rate the allowed one is found. After the first refusal ("too many requests") requests follow each
other at the pace of the replies so far, and each window of requests tells whether the next one is to be faster or
slower (`_Pace`). So a quota of 60 a minute costs 200 replies at most 60 refused requests.

A request that is refused waits as long as the server asks, up to 30 s. Whether all others wait as well is a question of
chance: the share of refused requests explains rows of refusals up to a length (`RateLimiter._chance`), and those are
answered by the pace alone, since a quota that others share refuses at random and waiting changes nothing. A longer row
pauses all, for the time named, else for a second, and twice as long by each further refusal; then one request is a
trial. A named time of over 30 s pauses all at once. In simulations 1,000 replies at 3 to 20% random refusals take as
long as the quota takes for 1,000 replies alone, where refused requests take nothing from it; at 50% mostly up to 1.25
times as long, rarely 1.65.

The circuit breaker: after ten failures in a row the same pause and trial, longer each time; after six failed trials
the model counts as down and nothing more is sent in this run.
"""

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from aiolimiter import AsyncLimiter

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
REFUSALS: Final = 4  # with few replies: they end a window, until the pace was turned for the first time
ALIKE: Final = 0.75  # of paces as good as each other the slower one is taken, or the faster one where many are refused
MOST: Final = 0.75  # of the requests
FEW: Final = 4  # requests for each reply, or more: replies are few
REMEMBERED: Final = 16  # windows
BORNE: Final = 2  # refusals in a row without a pause: the pace alone answers them
SHARE_OF: Final = 32  # requests
UNLIKELY: Final = 0.02  # of a row of refusals, at the share of refused requests: a longer one is no chance
CHANCE_MAX: Final = 6  # refusals in a row that chance explains at most
_FREE_S: Final = 1e-3  # an interval that holds nobody up


class State(Enum):
    """The state of the circuit breaker: whether requests to a model are sent."""

    OPEN = "open"  # at the rate that was found
    PAUSED = "paused"  # none before the pause is over; the next one is a trial
    TRIAL = "trial"  # one is under way, and all others wait for what becomes of it
    STOPPED = "stopped"  # no more in this run


class Ticket(NamedTuple):
    """One request under way."""

    sent_at: float  # by the limiter's clock
    pauses: int  # before it: one sent before the last pause has nothing to add


@dataclass
class _Pace:
    """The rate that was found, by climbing; times in seconds of the limiter's clock.

    Until the first refusal nobody is held up. From then on each window of requests is worth replies² / (requests x
    seconds): what is refused for coming too fast makes a faster window worth less, what is refused at random does not.
    The pace goes on in the direction in which that grows, and turns where it falls. Of paces alike the slower one is
    taken, or the faster one where over a quarter is refused: by chance, or both are too fast, which shows soon. No two
    requests are further apart than two replies were in the best of the last windows, so that no run of refusals
    stretches it for good; where most are refused at that pace, it counts as less good by one step each time.
    """

    interval_s: float = 0.0  # between two requests
    next: float = 0.0  # moment of the next request
    began: float = math.inf  # moment at which the first of the window's requests was sent
    replies: int = 0  # of the run
    sent: int = 0  # of the window, as are the next two
    answered: int = 0
    worth: float = 0.0  # of the window before
    slower: bool = True  # the direction
    found: bool = False  # whether it was turned so far: before, it takes larger steps
    judged: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED))  # seconds a reply, by window

    def send(self, now: float) -> None:
        self.next = now + self.interval_s

    def ended(self, now: float, sent_at: float, *, refused: bool) -> None:
        """One request has a reply, or is refused."""
        self.began = min(self.began, sent_at)
        self.sent += 1
        self.answered += not refused
        self.replies += not refused
        spent_s = max(now - self.began, _FREE_S)
        if not self.interval_s:
            if refused and self.answered:
                self.interval_s = min(spent_s / self.answered, FIRST_PAUSE_S)
                self._next_window(0.0)
        elif self.sent >= WINDOW or (not self.found and self.sent - self.answered >= REFUSALS and self._few_answered()):
            worth = self.answered**2 / (self.sent * spent_s)
            if self.answered == self.sent:
                self.slower, self.found = False, True
            elif self._few_answered():
                self.slower = True
            elif worth < self.worth * (ALIKE if self.slower is self._most_answered() else 1 / ALIKE):
                self.slower, self.found = not self.slower, True
            coarse = not self.found or self._few_answered()
            self.interval_s *= (STEP**2 if coarse else STEP) if self.slower else 1 / STEP
            best_s = min(self.judged, default=0.0)
            if self._few_answered() and 0.0 < best_s < self.interval_s:  # it is not borne any more
                self.judged.remove(best_s)
                self.judged.append(best_s * STEP)
            if self.answered and (self.found or self.sent >= WINDOW):
                self.judged.append(max(spent_s / self.answered, best_s * STEP if self._few_answered() else 0.0))
            self.interval_s = min(self.interval_s, min(self.judged, default=self.interval_s))
            self.interval_s = 0.0 if self.interval_s < _FREE_S else self.interval_s
            self._next_window(worth)

    def _few_answered(self) -> bool:
        return self.answered * FEW <= self.sent

    def _most_answered(self) -> bool:
        """Whether so many are answered that of paces alike the slower is taken; else chance refuses, at any pace."""
        return self.answered >= MOST * self.sent

    def _next_window(self, worth: float) -> None:
        self.began, self.sent, self.answered, self.worth = math.inf, 0, 0, worth


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
        limiter: AsyncLimiter | None = None,
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
        self._pauses = 0
        self._failures = 0  # in a row
        self._vain = 0  # pauses in a row without a reply
        self._refused = 0  # requests in a row
        self._ended = 0  # requests with a reply or a refusal, up to `SHARE_OF`
        self._share = 0.0  # of the last `SHARE_OF` requests or so, that was refused
        self._last_reply: float | None = None

    async def enter(self) -> Ticket:
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
        now = self._clock()
        self._pace.send(now)
        if self._state is State.PAUSED:
            self._enter_state(State.TRIAL)
        return Ticket(now, self._pauses)

    async def _allowed(self, limiter: AsyncLimiter) -> bool:
        """Waits for the configured rate; False where a pause, a trial or the end began meanwhile."""
        await limiter.acquire()
        return self._state in {State.OPEN, State.PAUSED} and self._resume <= self._clock()

    def replied(self, ticket: Ticket) -> None:
        """There is a reply."""
        self._pace.ended(self._clock(), ticket.sent_at, refused=False)
        self._refused = 0
        self._weigh(refused=False)
        self._last_reply = self._clock()
        self._answered(ticket)

    def failed(self, ticket: Ticket, failure: ModelError) -> None:
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

    async def rest(self, failure: ModelError) -> None:
        """Waits as long as the server asked of one refused request, within limits, whoever else waits."""
        if failure.retry_after_s and self._state is not State.STOPPED:
            await self._sleep(min(failure.retry_after_s, LONGEST_PAUSE_S))

    def left(self, ticket: Ticket) -> None:
        """The request was given up: the next one may try."""
        if ticket.pauses == self._pauses and self._state is State.TRIAL:
            self._enter_state(State.PAUSED)

    def _answered(self, ticket: Ticket) -> None:
        self._failures = 0
        if ticket.pauses == self._pauses:
            self._vain = 0
            self._enter_state(State.OPEN)

    def _slow_down(self, ticket: Ticket, failure: ModelError) -> None:
        now, wait_s = self._clock(), failure.retry_after_s
        self._pace.ended(now, ticket.sent_at, refused=True)
        chance = self._chance()
        self._weigh(refused=True)
        if self._last_reply is None:
            self._last_reply = now
        if ticket.pauses != self._pauses:
            return
        self._refused += 1
        if self._refused - chance > PATIENCE and now - self._last_reply >= PATIENCE_S:
            self._stop(failure)
            return
        borne = max(chance, BORNE)
        if wait_s is None and self._refused > borne:
            wait_s = min(FIRST_PAUSE_S * 2.0 ** (self._refused - borne - 1), LONGEST_PAUSE_S)
        if wait_s is None or (self._refused <= chance and wait_s <= LONGEST_PAUSE_S):
            self.left(ticket)
        else:
            self._pause()
            self._resume = max(self._resume, now + wait_s)

    def _weigh(self, *, refused: bool) -> None:
        self._ended = min(self._ended + 1, SHARE_OF)
        self._share += (refused - self._share) / self._ended

    def _chance(self) -> int:
        """The refusals in a row that the share of refused requests explains: one in 50 such rows is longer."""
        if self._share >= UNLIKELY ** (1 / CHANCE_MAX):
            return CHANCE_MAX
        return math.floor(math.log(UNLIKELY) / math.log(self._share)) if self._share else 0

    def _break(self, ticket: Ticket, failure: ModelError) -> None:
        if ticket.pauses != self._pauses or (self._state is State.OPEN and self._failures < BREAK_AFTER):
            return
        self._vain += 1
        if self._vain > TRIALS:
            self._stop(ModelError(DOWN, f"no reply to {self._failures} requests in a row, the last: {failure}"))
            return
        self._pause()
        pause_s = min(FIRST_PAUSE_S * 2.0 ** (self._vain - 1), LONGEST_PAUSE_S)
        self._resume = max(self._resume, self._clock() + pause_s)

    def _pause(self) -> None:
        self._pauses += 1
        self._enter_state(State.PAUSED)

    def _stop(self, failure: ModelError) -> None:
        self._why_stopped = self._why_stopped or failure
        self._resume = 0.0
        self._enter_state(State.STOPPED)

    def _enter_state(self, state: State) -> None:
        if self._state is not State.STOPPED:
            self._state = state
            self._changed.set()
            self._changed = asyncio.Event()
