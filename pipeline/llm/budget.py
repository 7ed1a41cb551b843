"""Caps on spending for models: a request is sent only if its most expensive outcome is still within the caps.

So a cap is never exceeded, and the unspent rest at the end is less than one request could have cost. A request that
does not fit while others are under way waits for their actual cost. A server may bill more than `max_tokens` allows:
under a cap the first request to a model goes alone, and where one cost more than was set aside, as much is set aside
for each further one. Only the requests under way when a server first does so can exceed the cap.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipeline.core.errors import ConfigError, first_fault
from pipeline.llm.base import Image, ModelSpec, Price, ProviderTerms, Request, Usage, VideoPart
from pipeline.llm.cache import ReplyCache
from pipeline.llm.failures import BUDGET, ModelError
from pipeline.llm.prompts import PROMPTS_DIR

PRICES: Final = PROMPTS_DIR / "prices.yaml"
FREE: Final = Price(input=0, output=0)


class PriceTable(BaseModel):
    """List prices by model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: str = Field(pattern=r"^\d{4}-\d{2}$", description="month in which the prices held")
    models: dict[str, Price]


@cache
def load_prices() -> PriceTable:
    """The price table. Raises ConfigError where it cannot be read."""
    try:
        return PriceTable.model_validate(yaml.load(PRICES.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{PRICES}: cannot be read as a price table: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise ConfigError(f"{PRICES}: {first_fault(error)}") from error


def price_of(spec: ModelSpec, table: PriceTable) -> Price | None:
    """The configured price, else the table's; None if unknown, which is not free."""
    if spec.price is not None:
        return spec.price
    if not spec.is_hosted:
        return FREE
    return table.models.get(spec.model)


ALL: Final = ""  # name of the cap that all models share
BYTES_PER_TOKEN: Final = 4  # of English, about; no tokenizer makes more tokens than bytes
FRAME_TOKENS: Final = 64  # what a chat template and the roles add at most
# What pictures and videos count for at most is the provider's secret: Gemini takes 258 tokens per second of video.
PICTURE_TOKENS: Final = 2_000
VIDEO_BYTES_PER_TOKEN: Final = 100


@dataclass(frozen=True)
class Money:
    """Prices, instead of the table's where a model has none of its own, and what all models may cost together."""

    prices: PriceTable | None = None
    limit_cost: float | None = None

    def price_of(self, model: ModelSpec) -> Price | None:
        """US dollars per million tokens; None: not known."""
        return price_of(model, self.prices or load_prices())


NO_CAP: Final = Money()


class BudgetGuard:
    """The caps and what has been spent, kept in the cache; one event loop, all its models.

    Args:
        cache: of the replies.
        models: with their own caps. Raises ConfigError where a cap binds a model whose price is not known, and where
            two have one name.
        money: prices, and the cap of all models together, over all runs.
    """

    def __init__(self, cache: ReplyCache, models: Sequence[ModelSpec], money: Money) -> None:
        names = Counter(model.name for model in models)
        if len(names) < len(models):
            twice = ", ".join(sorted(name for name, n in names.items() if n > 1))
            raise ConfigError(f"two models are named {twice}: give one of them another name")
        self._cache = cache
        self._prices = {model.name: money.price_of(model) for model in models}
        self._caps = {model.name: model.limit_cost for model in models if model.limit_cost is not None}
        if money.limit_cost is not None:
            self._caps[ALL] = money.limit_cost
        for name, price in self._prices.items():
            if price is None and self._caps.keys() & {ALL, name}:
                raise ConfigError(
                    f"model {name}: money is capped (limit_cost), but its price is not known; give it as "
                    "price: {input: …, output: …} beside the model, or to ask with --set 'price={input: …, output: …}' "
                    "(US dollars per million tokens, 0 for a server of your own)"
                )
        spent = cache.spent()
        self._spent = {name: sum(row.usd for row in spent if name in {ALL, row.name}) for name in self._caps}
        self._held = dict.fromkeys(self._caps, 0.0)
        self._trials: dict[str, bool] = {}  # by model: whether its first bill is still awaited
        self._dearest: dict[str, float] = {}  # by model: the most that a request cost beyond what was set aside for it
        self._changed = asyncio.Condition()

    async def hold(self, name: str, most: Usage) -> float:
        """Sets aside what a request can cost at most. Raises ModelError (``budget``) where more is not left."""
        price = self._prices[name]
        usd = price.cost_usd(most) if price else 0.0
        caps = [cap for cap in (name, ALL) if cap in self._caps]
        async with self._changed:
            while caps and usd and self._trials.get(name, False):
                await self._changed.wait()
            self._trials.setdefault(name, True)
            try:
                usd = await self._fitting(name, caps, usd)
            except BaseException:
                self._next_trial(name)
                raise
            for cap in caps:
                self._held[cap] += usd
        return usd

    async def _fitting(self, name: str, caps: Sequence[str], usd: float) -> float:
        """The amount to be set aside, as soon as it fits. Raises ModelError (``budget``) where more is not left."""
        while True:
            usd = max(usd, self._dearest.get(name, 0.0))
            short = [cap for cap in caps if self._spent[cap] + self._held[cap] + usd > self._caps[cap]]
            if not short:
                return usd
            if any(self._spent[cap] + usd > self._caps[cap] for cap in short):
                raise ModelError(BUDGET, self._cap_message(short[0], usd))
            await self._changed.wait()

    async def settle(self, name: str, held: float, usage: Usage | None, reported: bool = True) -> None:
        """Books what a request did cost, None for nothing, and gives free what was set aside for it."""
        price = self._prices[name]
        usd = price.cost_usd(usage) if price and usage else 0.0
        if usage is not None:
            self._cache.spend(name, usage, usd, reported)
        async with self._changed:
            if usage is not None:
                self._trials[name] = False
            self._next_trial(name)
            if usd > held:
                self._dearest[name] = max(usd, self._dearest.get(name, 0.0))
            for cap in {name, ALL} & self._caps.keys():
                self._held[cap] -= held
                self._spent[cap] += usd
            self._changed.notify_all()

    def _next_trial(self, name: str) -> None:
        """The request that went alone had no bill: the next one goes alone."""
        if self._trials.get(name):
            del self._trials[name]
            self._changed.notify_all()

    def _cap_message(self, cap: str, usd: float) -> str:
        whose = f"of model {cap}" if cap != ALL else "of all models"
        return (
            f"the next request may cost {usd:.4f} USD, and of the {self._caps[cap]:g} USD {whose} "
            f"{self._spent[cap]:.4f} are spent; raise limit_cost to go on"
        )


def most_usage(request: Request, terms: ProviderTerms) -> Usage:
    """The most tokens that a request can take: a token per byte of its words, and all the room for the reply."""
    tokens = FRAME_TOKENS
    for message in request.messages:
        tokens += FRAME_TOKENS + len(message.text.encode())
        for part in message.parts:
            if isinstance(part, Image):
                tokens += PICTURE_TOKENS
            elif isinstance(part, VideoPart):
                tokens += part.path.stat().st_size // VIDEO_BYTES_PER_TOKEN
    tokens += len(str(request.schema)) if request.schema else 0
    return Usage(tokens, terms.max_tokens)


def likely_input(request: Request) -> int:
    """About how many tokens the words of a request are."""
    return math.ceil(sum(len(message.text.encode()) for message in request.messages) / BYTES_PER_TOKEN)
