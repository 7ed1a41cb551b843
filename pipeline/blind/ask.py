"""Asks language models the questions without their video; every reply is kept, and every failure counted.

Three ways to ask: for the letter, for the number, or (``cloze``) by the likelihood of each option's text; then a number
is read from its four choices, and right is the right choice. Questions that read the same are asked once: without the
video they are the same question.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa

from pipeline.blind.config import NO_OPTIONS, NUMBER_THRESHOLD
from pipeline.blind.items import LETTERS, Item, make_item
from pipeline.errors import ConfigError, Scan2qaError
from pipeline.llm.base import ModelSpec, Reply, Request, Usage, user
from pipeline.llm.cache import ReplyCache, request_digest
from pipeline.llm.client import Account, Client, Opener
from pipeline.llm.failures import ModelError
from pipeline.llm.prices import PriceTable, load_prices, price_of
from pipeline.llm.prompts import load_prompt
from pipeline.llm.providers import open_provider
from pipeline.metrics.letters import find_letter
from pipeline.metrics.mra import mean_relative_accuracies, mean_relative_accuracy
from pipeline.metrics.numbers import find_number

Form = Literal["letter", "number", "cloze"]
PROMPTS: Final[Mapping[Form, str]] = {"letter": "blind_letter", "number": "blind_number", "cloze": "blind_cloze"}
Progress = Callable[[str, int, int], None]

REPLIES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("task", pa.string()),
        pa.field("model", pa.string()),
        pa.field("form", pa.string()),  # letter, number or cloze
        pa.field("request", pa.string()),  # digest; rows that share it were asked once
        pa.field("reply", pa.string()),  # null: failed
        pa.field("scores", pa.list_(pa.float64())),  # cloze: of each option, in order
        pa.field("answer", pa.string()),  # the letter or number read from the reply; null: none
        pa.field("unread", pa.string()),  # why none could be read
        pa.field("score", pa.float64()),  # 0 or 1; of a number its mean relative accuracy
        pa.field("right", pa.bool_()),
        pa.field("chance", pa.float64()),  # of being right by luck
        pa.field("input_tokens", pa.int64()),
        pa.field("output_tokens", pa.int64()),
        pa.field("failure", pa.string()),  # kind of failure; null: there is a reply
        pa.field("message", pa.string()),
    ]
)


@dataclass(frozen=True)
class ModelTotals:
    """What all replies of a model come to, whenever they were asked."""

    model: str
    provider: str
    questions: int
    right: int
    unread: dict[str, int]  # replies without an answer, by reason
    failed: dict[str, int]  # questions without a reply, by kind
    usage: Usage  # each request once
    cost_usd: float | None  # None: the price is not known


@dataclass(frozen=True)
class Asked:
    """The replies (`REPLIES`, by id and in order of the models), their totals, and what this run had to do for them.

    ``replies`` and ``totals`` are the same on a second run; ``run`` is not.
    """

    replies: pa.Table
    totals: tuple[ModelTotals, ...]
    run: dict[str, Account]


@dataclass(frozen=True)
class _Asking:
    item: Item
    form: Form
    chance: float
    request: Request | None  # None: cannot be asked in this form
    digest: str = ""


def ask(
    questions: pa.Table,
    models: Sequence[ModelSpec],
    cache: Path,
    keys: Mapping[str, str] | None = None,
    number_threshold: float = NUMBER_THRESHOLD,
    progress: Progress = lambda model, done, total: None,
    opener: Opener = open_provider,
    prices: PriceTable | None = None,
) -> Asked:
    """Asks every model every question (`pipeline.tables.QUESTIONS`), as far as the cache does not know the reply.

    ``keys`` are the API keys by the name of their environment variable (`ModelSpec.key_name`). Raises ConfigError for
    a model that cannot be opened and StoreError where replies cannot be kept; a failed request is a row of its own.
    """
    names = [model.name for model in models]
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise ConfigError(f"two models are named {', '.join(twice)}: give one of them another name")
    rows = questions.select(["id", "scene", "task", "text", "options", "ground_truth", "choices", "choice"]).to_pylist()
    plain = [_item(row, row["options"], row["ground_truth"]) for row in rows]
    offered = [_item(row, row["options"] or row["choices"], row["choice"] or row["ground_truth"]) for row in rows]
    by_luck = number_chances(plain, number_threshold)
    asked = {
        model.name: [_asking(p, o, luck, model) for p, o, luck in zip(plain, offered, by_luck, strict=True)]
        for model in models
    }
    found: dict[str, dict[str, Reply | ModelError]] = {}
    run: dict[str, Account] = {}
    if models:
        with ReplyCache(cache) as kept:
            found, run = asyncio.run(_ask_all(asked, models, kept, keys or {}, progress, opener))
    table = [
        _row(asked[name][n], name, found[name], number_threshold)
        for n in sorted(range(len(rows)), key=lambda n: (rows[n]["id"], n))
        for name in names
    ]
    replies = pa.Table.from_pylist(table, schema=REPLIES)
    totals = tuple(_totals(model, replies, prices or load_prices()) for model in models)
    return Asked(replies, totals, run)


def _item(row: Mapping[str, Any], options: Sequence[str] | None, truth: str) -> Item:
    return make_item(row["id"], row["task"], row["scene"], row["text"], options, truth)


def _asking(plain: Item, offered: Item, by_luck: float, model: ModelSpec) -> _Asking:
    """How a question is put to a model; ``offered`` is the question with choices where it is a number."""
    item = offered if model.scoring == "cloze" else plain
    letters = list(LETTERS[: len(item.options)])
    fields = {"text": item.text, "letters": letters}
    if model.scoring == "cloze":
        if not item.options:
            return _Asking(item, "cloze", by_luck, None)
        prompt = load_prompt(PROMPTS["cloze"])
        request = Request((user(prompt.render(text=item.text)),), options=item.options, prompt=prompt.version)
        return _Asking(item, "cloze", 1 / len(item.options), request, request_digest(request))
    if item.options:
        prompt = load_prompt(PROMPTS["letter"])
        lines = [f"{letter}. {option}" for letter, option in zip(letters, item.options, strict=True)]
        request = Request((user(prompt.render(**fields, options=lines)),), prompt=prompt.version)
        return _Asking(item, "letter", 1 / len(item.options), request, request_digest(request))
    prompt = load_prompt(PROMPTS["number"])
    request = Request((user(prompt.render(text=item.text)),), prompt=prompt.version)
    return _Asking(item, "number", by_luck, request, request_digest(request))


async def _ask_all(
    asked: Mapping[str, Sequence[_Asking]],
    models: Sequence[ModelSpec],
    cache: ReplyCache,
    keys: Mapping[str, str],
    progress: Progress,
    opener: Opener,
) -> tuple[dict[str, dict[str, Reply | ModelError]], dict[str, Account]]:
    """What came of each request, by model and digest."""
    found: dict[str, dict[str, Reply | ModelError]] = {model.name: {} for model in models}
    run: dict[str, Account] = {}

    async def one(client: Client, digest: str, request: Request, total: int) -> None:
        name = client.spec.name
        try:
            found[name][digest] = await client.ask(request)
        except ModelError as failure:
            found[name][digest] = failure
        progress(name, len(found[name]), total)

    async with AsyncExitStack() as stack:
        try:
            async with asyncio.TaskGroup() as group:
                for model in models:
                    client = await stack.enter_async_context(
                        Client(model, cache, keys.get(model.key_name or ""), opener)
                    )
                    run[model.name] = client.account
                    requests = {a.digest: a.request for a in asked[model.name] if a.request is not None}
                    # In order of their words: the embedded model reads a common beginning once.
                    for digest, request in sorted(requests.items(), key=lambda r: (r[1].messages[-1].text, r[0])):
                        group.create_task(one(client, digest, request, len(requests)))
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
    return found, run


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    """The error to tell of those that ended the work: one the user can act on, if there is one."""
    for error in errors.exceptions:
        if isinstance(error, Scan2qaError):
            return error
    return errors.exceptions[0]


def _row(asking: _Asking, model: str, found: Mapping[str, Reply | ModelError], threshold: float) -> dict[str, Any]:
    item = asking.item
    row: dict[str, Any] = {
        "id": item.id,
        "task": item.task,
        "model": model,
        "form": asking.form,
        "request": asking.digest or None,
        "score": 0.0,
        "right": False,
        "chance": asking.chance,
    }
    if asking.request is None:
        return row | {"failure": NO_OPTIONS, "message": "cloze needs options or choices, and there are none"}
    reply = found[asking.digest]
    if isinstance(reply, ModelError):
        return row | {"failure": reply.kind, "message": reply.message}
    row |= {"reply": reply.text, "input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    if asking.form == "number":
        number = find_number(reply.text)
        score = mean_relative_accuracy(number.value, item.number if item.number is not None else Decimal("NaN"))
        answer = None if number.value is None else str(number.value)
        return row | {"answer": answer, "unread": number.reason, "score": score, "right": score >= threshold}
    if asking.form == "cloze":
        scores = [score for _, score in reply.logprobs or ()]
        choice = int(np.argmax(scores))
        row |= {"scores": scores, "answer": LETTERS[choice], "right": choice == item.right}
    else:
        letter = find_letter(reply.text, len(item.options))
        right = letter.value is not None and LETTERS.index(letter.value) == item.right
        row |= {"answer": letter.value, "unread": letter.reason, "right": right}
    return row | {"score": float(row["right"])}


def number_chances(items: Sequence[Item], threshold: float) -> list[float]:
    """For each number, how often the answer of a random question of its task would count as right; 0 for options."""
    chances = [0.0] * len(items)
    tasks: dict[str, list[int]] = {}
    for n, item in enumerate(items):
        if item.number is not None:
            tasks.setdefault(item.task, []).append(n)
    for members in tasks.values():
        values = np.array([float(items[n].number or 0) for n in members])
        guesses, count = np.unique(values, return_counts=True)
        for n, value in zip(members, values, strict=True):
            chances[n] = float(count @ (mean_relative_accuracies(guesses, value) >= threshold) / count.sum())
    return chances


def _totals(model: ModelSpec, replies: pa.Table, prices: PriceTable) -> ModelTotals:
    rows = [row for row in replies.to_pylist() if row["model"] == model.name]
    once = {row["request"]: row for row in rows if row["failure"] is None}.values()
    usage = Usage(sum(row["input_tokens"] for row in once), sum(row["output_tokens"] for row in once))
    price = price_of(model, prices)
    return ModelTotals(
        model.name,
        model.provider,
        len(rows),
        sum(row["right"] for row in rows),
        dict(sorted(Counter(row["unread"] for row in rows if row["unread"]).items())),
        dict(sorted(Counter(row["failure"] for row in rows if row["failure"]).items())),
        usage,
        None if price is None else price.cost_usd(usage),
    )
