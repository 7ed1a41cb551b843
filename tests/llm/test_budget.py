"""Money: caps that hold, whatever is under way at once, and over all runs."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pipeline.blind.ask import ask
from pipeline.core.errors import ConfigError
from pipeline.llm.base import ModelSpec, Price, ProviderTerms, Request, Usage, record, user
from pipeline.llm.budget import BudgetGuard, Money, PriceTable, most_usage
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Client
from pipeline.llm.failures import ModelError
from tests.llm.asking import KEY, hosted, lettered_questions
from tests.llm.fake_server import FAULTS, running

PRICE = {"input": 1_000.0, "output": 10_000.0}  # dollars per million: a reply of 20 + 2 tokens is 4 cents
REPLY_USD = 0.04


def spent(path: Path) -> float:
    with ReplyCache(path) as cache:
        return sum(row.usd for row in cache.spent())


def billed(records: list[dict[str, Any]]) -> float:
    price = Price.model_validate(PRICE)
    return sum(price.cost_usd(Usage(*record["billed"])) for record in records)


def most_usd(model: ModelSpec) -> float:
    text = "Q100: which is it?" + "x" * 400  # more than the prompt has
    return Price.model_validate(PRICE).cost_usd(most_usage(Request((user(text),)), ProviderTerms(model.max_tokens)))


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_a_cap_is_never_passed_and_used_up_to_one_request(own: bool, tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with running(latency_s=0.01) as server:
        model = hosted(server.address, price=PRICE, max_tokens=4, concurrency=16, limit_cost=2.0 if own else None)
        money = Money(limit_cost=None if own else 2.0)
        asked = ask(lettered_questions(100), [model], path, {"PLANTED_KEY": KEY}, money=money)
        paid = billed(server.records())
        assert paid <= 2.0
        assert 2.0 - paid <= most_usd(model)
        assert asked.totals[0].failed == {"budget": 100 - round(paid / REPLY_USD)}
        assert "raise limit_cost to go on" in next(r["message"] for r in asked.replies.to_pylist() if r["failure"])
        assert spent(path) == pytest.approx(paid)
        before = len(server.records())
        ask(lettered_questions(100), [model], path, {"PLANTED_KEY": KEY}, money=money)
        assert len(server.records()) == before, "what was spent before counts"
        model = model.model_copy(update={"limit_cost": 3.0 if own else None})
        ask(lettered_questions(100), [model], path, {"PLANTED_KEY": KEY}, money=Money(limit_cost=None if own else 3.0))
        assert 2.0 < billed(server.records()) <= 3.0


@pytest.mark.slow
def test_all_models_share_the_cap_of_a_build(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with running(latency_s=0.01) as server:
        models = [hosted(server.address, name=name, price=PRICE, max_tokens=4, model="plain") for name in "abc"]
        models = [model.model_copy(update={"request": {"seed": n}}) for n, model in enumerate(models)]
        ask(lettered_questions(50), models, path, {"PLANTED_KEY": KEY}, money=Money(limit_cost=2.0))
        assert 2.0 - most_usd(models[0]) <= billed(server.records()) <= 2.0


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_server_that_bills_more_than_was_asked_for_ends_at_the_cap(concurrency: int, tmp_path: Path) -> None:
    """A reply is billed as 400 tokens for a room of 4: 4.02 dollars, of which 0.59 at most are expected."""
    with running(latency_s=0.01) as server:
        model = hosted(
            server.address, model="overbills", price=PRICE, max_tokens=4, concurrency=concurrency, limit_cost=20.0
        )
        asked = ask(lettered_questions(30), [model], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        assert billed(server.records()) == pytest.approx(4 * 4.02)
    assert asked.totals[0].failed == {"budget": 26}


def test_what_came_malformed_is_paid_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"

    async def fails(address: str) -> Client:
        with ReplyCache(path) as cache:
            async with Client(hosted(address, model="json-other", price=PRICE, attempts=3), cache, KEY) as client:
                with pytest.raises(ModelError, match="malformed"):
                    await client.ask(Request((user("Q1"),), record(letter={"enum": ["A"]})))
                return client

    with running() as server:
        client = asyncio.run(fails(server.address))
        assert client.account.usage == Usage(60, 6)
        assert client.account.assumed == Usage()
        assert spent(path) == pytest.approx(billed(server.records())) == pytest.approx(3 * REPLY_USD)


@pytest.mark.slow
def test_what_no_server_tells_is_assumed_and_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "replies.sqlite"
    with running() as server:
        asked = ask(
            lettered_questions(3), [hosted(server.address, model="no-usage", price=PRICE)], path, {"PLANTED_KEY": KEY}
        )
    account = asked.run["no-usage"]
    assert account.assumed == account.usage != Usage()
    assert (asked.totals[0].unreported_usage, asked.totals[0].cost_usd) == (3, 0.0)
    with ReplyCache(path) as cache:
        assert [(row.name, row.reported, row.requests) for row in cache.spent()] == [("no-usage", False, 3)]


def test_a_cap_needs_a_price(tmp_path: Path) -> None:
    model = ModelSpec(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
    with ReplyCache(tmp_path / "c") as cache:
        for spec, money in (
            (model.model_copy(update={"limit_cost": 1.0}), Money()),
            (model, Money(limit_cost=1.0)),
            (model, Money(PriceTable(as_of="2025-12", models={}), 1.0)),
        ):
            with pytest.raises(ConfigError, match="model m: money is capped"):
                BudgetGuard(cache, [spec], money)
        BudgetGuard(cache, [model.model_copy(update={"price": Price(input=0, output=0)})], Money(limit_cost=1.0))
        BudgetGuard(cache, [ModelSpec(provider="embedded")], Money(limit_cost=0.0))


def test_a_request_waits_for_what_others_really_cost(tmp_path: Path) -> None:
    """Each may cost 1 and costs 0.1: with a cap of 1.5 they go one after the other, and eleven of them fit."""

    async def main() -> tuple[int, list[str]]:
        model = ModelSpec(
            provider="openai",
            model="m",
            base_url="http://127.0.0.1:9/v1",
            limit_cost=1.5,
            price=Price(input=1e6, output=0),
        )
        failures: list[str] = []
        most_held = 0
        with ReplyCache(tmp_path / "c") as cache:
            budget = BudgetGuard(cache, [model], Money(PriceTable(as_of="2025-12", models={})))
            tenth = Price(input=1e5, output=0)
            held = 0

            async def one() -> None:
                nonlocal held, most_held
                try:
                    usd = await budget.hold("m", Usage(1, 0))
                except ModelError as failure:
                    failures.append(failure.kind)
                    return
                held += 1
                most_held = max(most_held, held)
                await asyncio.sleep(0)
                held -= 1
                budget._prices = {"m": tenth}
                await budget.settle("m", usd, Usage(1, 0))
                budget._prices = {"m": model.price}

            await asyncio.gather(*(one() for _ in range(20)))
        return most_held, failures

    most_held, failures = asyncio.run(main())
    assert most_held == 1
    assert failures == ["budget"] * 14  # 0.1 each: after six 0.6 are spent, and 1 more is too much


@pytest.mark.slow
def test_a_panel_of_faulty_models_keeps_to_its_cap_and_loses_nothing(tmp_path: Path) -> None:
    path, count = tmp_path / "replies.sqlite", 120
    with running(latency_s=0.01, faults=FAULTS | {"schema": 0.05}) as server:
        models = [
            hosted(
                server.address, model="plain", name=name, price=PRICE, max_tokens=4, timeout_s=4.0, request={"seed": n}
            )
            for n, name in enumerate("abc")
        ]
        first = ask(lettered_questions(count), models, path, {"PLANTED_KEY": KEY}, money=Money(limit_cost=8.0))
        assert billed(server.records()) <= 8.0
        assert {kind for total in first.totals for kind in total.failed} == {"budget"}
        second = ask(lettered_questions(count), models, path, {"PLANTED_KEY": KEY}, money=Money(limit_cost=500.0))
        assert [total.failed for total in second.totals] == [{}] * 3
        answered = [
            (r["question"], r["body"]["seed"]) for r in server.records() if r["outcome"] in {"success", "schema"}
        ]
    assert len(answered) == len(set(answered)) == 3 * count
