"""What asking will take: counted from the requests themselves, without sending one or writing a byte."""

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from pipeline.blind.ask import REPLIES, ask
from pipeline.blind.config import AskConfig, PruneConfig, RuleConfig
from pipeline.blind.forecast import bound, forecasts, mean_forecast
from pipeline.blind.totals import totals_of, unanswered
from pipeline.llm.base import ModelSpec, Price, Usage
from pipeline.llm.budget import NO_CAP, Money, PriceTable
from tests.blind.test_ask import MIXED, Scripted, says, spec
from tests.llm.asking import table

PRICES = PriceTable(as_of="2025-12", models={"m": Price(input=1_000_000, output=2_000_000)})


def test_requests_are_counted_as_they_would_be_sent(tmp_path: Path) -> None:
    twice = [*MIXED, MIXED[0] | {"id": 77}]
    cache = tmp_path / "replies.sqlite"
    for orders, requests in ((1, 3), (2, 4), (None, 5)):
        (found,) = forecasts(table(twice), [spec()], cache, AskConfig(orders=orders), Money(PRICES))
        assert (found.requests, found.kept, found.asked) == (requests, 0, requests)
        assert found.output_tokens is None
        assert found.likely_usd is None
    assert not cache.exists()


def test_what_is_kept_is_not_asked_and_what_was_seen_is_expected(tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    model = Scripted(says("B"))  # 10 tokens read, 1 written
    ask(table(MIXED[:1]), [spec()], cache, opener=lambda spec, key: model, money=Money(PRICES))
    (found,) = forecasts(table(MIXED), [spec()], cache, AskConfig(), Money(PRICES))
    assert (found.requests, found.kept, found.asked, found.output_tokens) == (3, 1, 2, 2)
    assert found.likely_usd == pytest.approx(found.input_tokens + 2 * 2)
    assert found.most_usd > 2 * 2 * spec().max_tokens
    (unknown,) = forecasts(table(MIXED), [spec()], cache, AskConfig(), Money(PriceTable(as_of="2025-12", models={})))
    assert (unknown.likely_usd, unknown.most_usd) == (None, None)


def test_an_author_is_expected_to_write_as_it_did(tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    unknown = mean_forecast("author", spec(), 4, cache, Money(PRICES))
    assert (unknown.asked, unknown.input_tokens, unknown.output_tokens, unknown.likely_usd) == (4, None, None, None)
    ask(table(MIXED), [spec()], cache, opener=lambda spec, key: Scripted(says("B")), money=Money(PRICES))
    found = mean_forecast("author", spec(), 4, cache, Money(PRICES))  # 10 tokens read, 1 written
    assert (found.asked, found.input_tokens, found.output_tokens) == (4, 40, 4)
    assert found.likely_usd == pytest.approx(40 + 2 * 4)
    other = mean_forecast("author", spec("another"), 4, cache, Money(PRICES))
    assert other.input_tokens is None, "what one model took tells nothing of another"
    assert mean_forecast("author", spec(), 0, cache, Money(PRICES)).most_usd == 0
    assert mean_forecast("author", spec(), 4, cache, Money(PriceTable(as_of="2025-12", models={}))).likely_usd is None


def test_the_forecast_is_never_less_than_the_bill(tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    (found,) = forecasts(table(MIXED), [spec()], cache, AskConfig(), Money(PRICES))
    model = Scripted(says("B"))
    asked = ask(table(MIXED), [spec()], cache, opener=lambda spec, key: model, money=Money(PRICES))
    assert found.most_usd >= asked.totals[0].cost_usd


@pytest.mark.parametrize(("orders", "requests"), [(3, 7 + 4 * 3), (None, 7 + 4 * 5)])
def test_questions_that_are_not_made_yet_are_bounded(orders: int | None, requests: int) -> None:
    """Seven numbers and four with options, of 160 tokens each, whose replies take all the room they have."""
    local = ModelSpec.model_validate({"provider": "embedded", "model": "small"})
    for money, usd in (
        (Money(PRICES), requests * (160 + 2 * 50)),
        (Money(PriceTable(as_of="2025-12", models={})), None),
    ):
        (found,) = bound(7, 4, [local, spec(max_tokens=50)], AskConfig(orders=orders), money)
        assert (found.requests, found.asked, found.input_tokens) == (requests, requests, 160 * requests)
        assert (found.output_tokens, found.likely_usd, found.most_usd) == (None, None, usd)


def test_models_that_failed_are_named_with_what_went_wrong(tmp_path: Path) -> None:
    questions = table([{"text": f"Q{n}?", "options": ["A. red", "B. blue"]} for n in range(20)])
    cache = tmp_path / "replies.sqlite"
    asked = ask(questions, [spec("one"), spec("two")], cache, opener=lambda spec, key: Scripted(says("B")))
    assert unanswered(asked.totals) == []
    one, two = asked.totals
    lost = two.model_copy(update={"failed": {"no_options": 5, "quota": 1, "timeout": 1}})
    assert unanswered([one, lost]) == ["two gave no reply to 2 of 20 requests (1 quota, 1 timeout)"]
    assert unanswered([two.model_copy(update={"failed": {"no_options": 5}})]) == []
    assert totals_of([spec("one")], asked.replies, NO_CAP)[0].usage == Usage(200, 20)


def test_totals_count_rows_by_hand_and_equal_requests_once() -> None:
    def row(request: str, read: int | None, **more: object) -> dict[str, object]:
        said = {"model": "one", "request": request, "right": False, "unread": None, "failure": None}
        return said | {"input_tokens": read, "output_tokens": None if read is None else 3} | more

    rows = [
        row("a", 10, right=True),
        row("a", 10, right=True),  # reads as the first: asked once
        row("b", 20, unread="no_letter"),
        row("c", None),  # the server told no tokens
        row("d", None, failure="timeout"),
        row("", None, failure="no_options"),
        row("e", 40, model="another"),
    ]
    found, silent = totals_of([spec("one"), spec("two")], pa.Table.from_pylist(rows, schema=REPLIES), Money(PRICES))
    assert (silent.questions, silent.right, silent.requests, silent.usage) == (0, 0, 0, Usage())
    assert (found.questions, found.right, found.unread) == (6, 2, {"no_letter": 1})
    assert (found.failed, found.lost) == ({"no_options": 1, "timeout": 1}, 1)
    assert (found.requests, found.unreported_usage) == (3, 1)
    assert (found.input_tokens, found.output_tokens) == (30, 6)


def test_settings_of_a_panel_stay_as_they_are() -> None:
    """A result is kept under their digest."""
    for config in (AskConfig(), RuleConfig(), PruneConfig()):
        name = next(iter(type(config).model_fields))
        with pytest.raises(ValidationError, match="frozen"):
            setattr(config, name, None)
