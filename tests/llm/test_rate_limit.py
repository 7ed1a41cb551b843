"""The rate limiter of a model in simulated time: seconds pass only where everybody waits."""

import asyncio
import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from pipeline.llm.failures import RATE_LIMITED, ModelError
from pipeline.llm.rate_limit import BREAK_AFTER, CHANCE_MAX, PATIENCE, TRIALS, RateLimiter

LATENCY_S = 0.3


@dataclass
class Clock:
    """Simulated time: `sleep` returns when all who do not sleep have had their turn."""

    now_s: float = 0.0
    waiting: list[tuple[float, int, asyncio.Future[None]]] = field(default_factory=list)
    count: int = 0

    def now(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self.count += 1
        heapq.heappush(self.waiting, (self.now_s + max(seconds, 0.0), self.count, future))
        await future

    async def run(self, work: asyncio.Future[object]) -> None:
        while not work.done():
            for _ in range(12):  # everybody who can go on does
                await asyncio.sleep(0)
            if not work.done() and self.waiting:
                self.now_s, _, future = heapq.heappop(self.waiting)
                future.set_result(None)


@dataclass
class Server:
    """Answers ``allows(moment)`` after a while; gives up on nobody."""

    clock: Clock
    allows: Callable[[float], ModelError | None]
    sent: list[float] = field(default_factory=list)
    done: int = 0

    async def ask(self, limiter: RateLimiter, slots: asyncio.Semaphore) -> None:
        while True:
            async with slots:
                ticket = await limiter.enter()
                self.sent.append(self.clock.now())
                failure = self.allows(self.clock.now())
                await self.clock.sleep(LATENCY_S)
                if failure is None:
                    limiter.replied(ticket)
                    self.done += 1
                    return
                limiter.failed(ticket, failure)
            if failure.kind == RATE_LIMITED:  # as the client does
                await limiter.rest(failure)


class Window:
    """So many requests in each fixed minute."""

    def __init__(self, allowed: int, told: bool) -> None:
        self.allowed, self.told = allowed, told
        self.seen: dict[int, int] = {}

    def __call__(self, now: float) -> ModelError | None:
        minute = int(now // 60)
        self.seen[minute] = self.seen.get(minute, 0) + 1
        if self.seen[minute] <= self.allowed:
            return None
        wait_s = 60 * (minute + 1) - now if self.told else None
        return ModelError("rate_limited", "slow down", True, wait_s)


class Bucket:
    """A bucket of so many that fills by one a second; refused requests cost nothing."""

    def __init__(self, allowed: int, told: bool) -> None:
        self.allowed, self.told = allowed, told
        self.level, self.at = float(allowed), 0.0

    def __call__(self, now: float) -> ModelError | None:
        self.level = min(self.level + (now - self.at) * self.allowed / 60, self.allowed)
        self.at = now
        if self.level >= 1:
            self.level -= 1
            return None
        return ModelError("rate_limited", "slow down", True, (1 - self.level) if self.told else None)


def run(allows: Callable[[float], ModelError | None], questions: int, concurrency: int = 8) -> tuple[Server, Clock]:
    clock = Clock()
    server = Server(clock, allows)

    async def main() -> None:
        limiter, slots = RateLimiter(clock=clock.now, sleep=clock.sleep), asyncio.Semaphore(concurrency)

        await clock.run(asyncio.gather(*(server.ask(limiter, slots) for _ in range(questions)), return_exceptions=True))

    asyncio.run(main())
    return server, clock


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False])
@pytest.mark.parametrize("quota", [Window, Bucket])
@pytest.mark.parametrize("concurrency", [2, 8, 24])
def test_a_quota_of_60_a_minute_costs_200_questions_260_requests_at_most(
    quota: type[Window] | type[Bucket], told: bool, concurrency: int
) -> None:
    server, clock = run(quota(60, told), 200, concurrency)
    assert server.done == 200
    assert len(server.sent) <= 200 + 60
    assert clock.now_s <= (200 if told else 1200)  # the quota alone takes 140 to 180 seconds


class Shared:
    """A bucket that refuses some of the others at random, too, as one that others draw from."""

    def __init__(self, share: float, told: bool, seed: int) -> None:
        self.share, self.told, self.bucket = share, told, Bucket(60, told)
        self.random = np.random.default_rng(seed)

    def __call__(self, now: float) -> ModelError | None:
        if self.random.random() < self.share:
            return ModelError("rate_limited", "slow down", True, 1.0 if self.told else None)
        return self.bucket(now)


@pytest.mark.long
@pytest.mark.parametrize(
    ("share", "concurrency", "seed", "told"),
    [(0.03, 8, 1, True), (0.05, 24, 2, False), (0.2, 8, 3, True), (0.5, 2, 1, False), (0.5, 8, 2, True)],
)
def test_refusals_at_random_do_not_slow_a_run_down(share: float, concurrency: int, seed: int, told: bool) -> None:
    """The quota allows 60 replies at once, then one a second; a refused request takes nothing from it."""
    server, clock = run(Shared(share, told, seed), 1000, concurrency)
    assert server.done == 1000
    assert clock.now_s <= 1.5 * (1000 - 60)
    assert len(server.sent) <= 2 * 1000 / (1 - share), "twice what the refusals at random alone cost"


def test_all_wait_as_long_as_the_server_asks_of_one() -> None:
    times: list[float] = []

    def allows(now: float) -> ModelError | None:
        times.append(now)
        return ModelError("rate_limited", "slow down", True, 20.0) if len(times) == 1 else None

    server, _ = run(allows, 50, concurrency=5)
    assert server.done == 50
    assert times[:5] == [0.0] * 5
    later = times[5:]
    assert min(later) >= 20.0 + LATENCY_S - 1e-9, "who had a reply must wait too"
    assert sum(moment < 20.0 + 1.9 * LATENCY_S for moment in later) == 1, "one is a trial"


def test_an_overloaded_server_that_names_a_time_is_left_alone_for_it() -> None:
    times: list[float] = []

    def allows(now: float) -> ModelError | None:
        times.append(now)
        return ModelError("server_error", "overloaded", True, 7.0) if len(times) == 1 else None

    run(allows, 3, concurrency=1)
    assert times[1] == pytest.approx(7.0 + LATENCY_S)


def test_a_dead_server_is_asked_a_few_times_and_no_more() -> None:
    server, clock = run(lambda now: ModelError("connection", "refused", True), 1000, concurrency=8)
    assert server.done == 0
    assert len(server.sent) <= BREAK_AFTER + 8 + TRIALS
    assert clock.now_s <= 120


def test_a_dead_server_is_told_as_down_with_its_last_words() -> None:
    async def stopped() -> ModelError:
        limiter = RateLimiter(clock=clock.now, sleep=clock.sleep)
        with pytest.raises(ModelError) as caught:
            await Server(clock, lambda now: ModelError("connection", "refused", True)).ask(limiter, asyncio.Semaphore())
        return caught.value

    clock = Clock()

    async def main() -> ModelError:
        work = asyncio.ensure_future(stopped())
        await clock.run(work)
        return work.result()

    failure = asyncio.run(main())
    assert failure.kind == "down"
    assert "in a row, the last: connection: refused" in failure.message


def test_a_server_that_comes_back_is_asked_on() -> None:
    server, clock = run(lambda now: ModelError("server_error", "oops", True) if now < 10 else None, 100)
    assert server.done == 100
    assert len(server.sent) <= 100 + BREAK_AFTER + 8 + TRIALS
    assert clock.now_s < 60


@pytest.mark.parametrize("kind", ["unauthorized", "quota", "budget"])
def test_what_concerns_the_account_stops_a_model_that_has_answered(kind: str) -> None:
    server, _ = run(lambda now: ModelError(kind, "no") if now > 5 else None, 1000, concurrency=4)
    assert 0 < server.done < 100
    assert len(server.sent) <= server.done + 4


@pytest.mark.parametrize("kind", ["forbidden", "not_found"])
def test_what_may_concern_one_request_stops_only_a_model_that_never_answered(kind: str) -> None:
    async def ask(first: ModelError | None) -> int:
        limiter, passed = RateLimiter(), 0
        answers = [first, ModelError(kind, "no"), None, ModelError(kind, "no"), None]
        for answer in answers:
            try:
                ticket = await limiter.enter()
            except ModelError:
                break
            passed += 1
            if answer is None:
                limiter.replied(ticket)
            else:
                limiter.failed(ticket, answer)
        return passed

    assert asyncio.run(ask(None)) == 5
    assert asyncio.run(ask(ModelError(kind, "no"))) == 1


def test_a_server_that_wants_an_hour_is_not_waited_for() -> None:
    server, clock = run(lambda now: ModelError("rate_limited", "tomorrow", True, 3600.0), 100, concurrency=4)
    assert (server.done, len(server.sent)) == (0, 4)
    assert clock.now_s < 1


def test_an_endless_slow_down_ends() -> None:
    server, clock = run(lambda now: ModelError("rate_limited", "slow down", True), 100, concurrency=4)
    assert server.done == 0
    assert len(server.sent) <= PATIENCE + CHANCE_MAX + 4
    assert clock.now_s < 600


def test_a_trial_that_is_given_up_leaves_its_place_to_the_next() -> None:
    async def main() -> int:
        limiter = RateLimiter()
        ticket = await limiter.enter()
        limiter.failed(ticket, ModelError("rate_limited", "slow down", True, 0.0))
        trial = await limiter.enter()
        waiting = asyncio.ensure_future(limiter.enter())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        limiter.left(trial)
        return (await asyncio.wait_for(waiting, 1)).pauses

    assert asyncio.run(main()) == 1
