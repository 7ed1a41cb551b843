"""Forecast of asking a panel: requests, tokens and money, before anything is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from pipeline.blind.ask import orders_of, requests_of
from pipeline.blind.config import AskConfig
from pipeline.llm.base import ModelSpec, ProviderTerms, Usage
from pipeline.llm.budget import Money, likely_input, most_usage
from pipeline.llm.cache import known_keys, request_key, spent_in

# Of questions that are not made yet: measured means are 92 tokens (1,419 of scans) and 149 (121 of flights); most have
# four options, some five.
PROMPT_TOKENS: Final = 160
ORDERS: Final = 5


@dataclass(frozen=True)
class Forecast:
    """The expected cost of the requests that a model is still to be sent.

    Attributes:
        stage: in which it is asked.
        requests: in all; questions that read the same are one, rotated options are several.
        kept: of them those whose reply is there.
        input_tokens: of the rest, about; None: not known.
        output_tokens: of the rest, by the mean of what the model has answered so far; None: it has not been asked.
        likely_usd: of both; None: not known.
        most_usd: if every reply took all the room it has, and every byte were a token; None: the price is not known.
    """

    stage: str
    model: str
    requests: int
    kept: int
    input_tokens: int | None
    output_tokens: int | None
    likely_usd: float | None
    most_usd: float | None

    @property
    def asked(self) -> int:
        """Requests that are still to be sent."""
        return self.requests - self.kept


def forecasts(
    questions: pa.Table,
    models: Sequence[ModelSpec],
    cache: Path,
    config: AskConfig,
    money: Money,
    pictures: Mapping[int, bytes] | None = None,
) -> list[Forecast]:
    """Forecasts of asking every model every question, as by `blind.ask.ask`; writes nothing."""
    asked = requests_of(questions, models, config, pictures)
    spent = {row.name: row for row in spent_in(cache) if row.reported}
    found = []
    for model in models:
        by_key = {request_key(model, request): request for request in asked[model.name].values()}
        kept = known_keys(cache, by_key) if model.provider != "replay" else set()
        rest = [request for key, request in by_key.items() if key not in kept]
        terms = ProviderTerms(model.max_tokens)
        most = sum((most_usage(request, terms) for request in rest), Usage())
        known = spent.get(model.name)
        output = round(len(rest) * known.usage.output_tokens / known.requests) if known else None
        tokens = sum(map(likely_input, rest))
        price = money.price_of(model)
        found.append(
            Forecast(
                "blind",
                model.name,
                len(by_key),
                len(kept),
                tokens,
                output,
                None if price is None or output is None else price.cost_usd(Usage(tokens, output)),
                None if price is None else price.cost_usd(most),
            )
        )
    return found


def bound(numbers: int, choices: int, models: Sequence[ModelSpec], config: AskConfig, money: Money) -> list[Forecast]:
    """Upper bounds of asking every hosted model so many questions of either form, which are not made yet."""
    found = []
    for model in (model for model in models if model.is_hosted):
        requests = numbers + choices * (orders_of(config, model) or ORDERS)
        usage = Usage(requests * PROMPT_TOKENS, requests * model.max_tokens)
        price = money.price_of(model)
        most = price.cost_usd(usage) if price else None
        found.append(Forecast("blind", model.name, requests, 0, usage.input_tokens, None, None, most))
    return found


def mean_forecast(stage: str, model: ModelSpec, calls: int, cache: Path, money: Money) -> Forecast:
    """Forecast of so many more calls of a stage, by the mean of the calls of its model so far.

    Prompts of an author grow out of its own replies, and pictures count as every provider likes: before the first call
    nothing is known of their length.
    """
    spent = [row for row in spent_in(cache) if row.reported and row.name == model.name]
    requests = sum(row.requests for row in spent)
    if not calls:
        return Forecast(stage, model.name, 0, 0, 0, 0, 0.0, 0.0)
    if not requests:
        return Forecast(stage, model.name, calls, 0, None, None, None, None)
    took = sum((row.usage for row in spent), Usage())
    mean = Usage(round(calls * took.input_tokens / requests), round(calls * took.output_tokens / requests))
    price = money.price_of(model)
    cost_usd = price.cost_usd(mean) if price else None
    return Forecast(stage, model.name, calls, 0, mean.input_tokens, mean.output_tokens, cost_usd, None)
