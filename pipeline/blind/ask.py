"""Asks language models the questions without their video; keeps every reply and counts every failure.

Three ways to ask (`pipeline.blind.ask`): for the letter, for the number, or (``cloze``) by the likelihood of each
option's text; then a number is read from its four choices, and right is the right choice. Letters are asked with the
options in rotated orders, a row each. Questions with the same text are asked once: without the video they are the same
question.

A model that likes the letter A is right about one question in four whatever it knows. So a question with k options is
put k times, its options moved on by one each time (rotation r begins with option r): a letter means another option in
every rotation, and only who knows the answer names the same option in all of them.
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

from pipeline.blind.config import NO_OPTIONS, AskConfig
from pipeline.blind.items import COLUMNS, LETTERS, BlindItem, item_of
from pipeline.blind.totals import ModelTotals, totals_of
from pipeline.core.errors import ConfigError, Scan2qaError
from pipeline.core.identity import digest
from pipeline.llm.base import Image, ModelSpec, Reply, Request, user
from pipeline.llm.budget import NO_CAP, BudgetGuard, Money
from pipeline.llm.cache import ReplyCache, request_digest
from pipeline.llm.client import Account, Client, Opener
from pipeline.llm.failures import ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.providers import open_provider
from pipeline.metrics.letters import find_letter
from pipeline.metrics.mra import mean_relative_accuracies, mean_relative_accuracy
from pipeline.metrics.numbers import find_number

Form = Literal["letter", "number", "cloze"]
PROMPTS: Final[Mapping[Form, str]] = {"letter": "blind_letter", "number": "blind_number", "cloze": "blind_cloze"}


@dataclass(frozen=True)
class Wording:
    """A question as a model is asked it.

    Attributes:
        chance: of being right by luck.
        rotation: the option that is shown first; 0: in the order as released.
        request: None where the question cannot be asked in this form.
        digest: of the request; questions that share it are asked once.
    """

    item: BlindItem
    form: Form
    chance: float
    rotation: int = 0
    request: Request | None = None
    digest: str = ""

    @property
    def shown(self) -> tuple[str, ...]:
        """The options in the order in which they are shown."""
        return self.item.options[self.rotation :] + self.item.options[: self.rotation]

    def released(self, shown: int) -> int:
        """Index among the options as released of the one that was shown at an index."""
        return (shown + self.rotation) % len(self.item.options)


def orders_of(config: AskConfig, model: ModelSpec) -> int | None:
    """In how many orders a model is shown the options; None: in as many as there are options."""
    return 1 if config.orders is None and model.provider == "embedded" else config.orders


def wordings(
    plain: BlindItem,
    offered: BlindItem,
    by_luck: float,
    model: ModelSpec,
    orders: int | None,
    picture: bytes | None = None,
) -> list[Wording]:
    """A question as a model is asked it, one per rotation.

    Args:
        plain: the question as released.
        offered: the same with choices, where it is a number that has them.
        by_luck: chance of a random number.
        model: its scoring decides the form.
        orders: see `orders_of`; likelihoods and numbers know no order and are asked once.
        picture: PNG of what the question names, for a model that takes pictures: it is part of the question.
    """
    if model.scoring == "cloze":
        return [_cloze(offered, by_luck)]
    legend = (Image(picture, "image/png"),) if picture is not None and "image" in model.inputs else ()
    if not plain.options:
        prompt = load_prompt(PROMPTS["number"])
        request = Request((user(prompt.render(text=plain.text), *legend),), prompt=prompt.version)
        return [Wording(plain, "number", by_luck, request=request, digest=request_digest(request))]
    options = len(plain.options)
    return [_letter(plain, rotation, legend) for rotation in range(min(orders or options, options))]


def _cloze(item: BlindItem, by_luck: float) -> Wording:
    if not item.options:
        return Wording(item, "cloze", by_luck)
    prompt = load_prompt(PROMPTS["cloze"])
    request = Request((user(prompt.render(text=item.text)),), options=item.options, prompt=prompt.version)
    return Wording(item, "cloze", 1 / len(item.options), request=request, digest=request_digest(request))


def _letter(item: BlindItem, rotation: int, legend: tuple[Image, ...]) -> Wording:
    prompt, letters = load_prompt(PROMPTS["letter"]), list(LETTERS[: len(item.options)])
    shown = item.options[rotation:] + item.options[:rotation]
    lines = [f"{letter}. {option}" for letter, option in zip(letters, shown, strict=True)]
    said = prompt.render(text=item.text, letters=letters, options=lines)
    request = Request((user(said, *legend),), prompt=prompt.version)
    return Wording(item, "letter", 1 / len(item.options), rotation, request, request_digest(request))


Progress = Callable[[str, int, int], None]
DEFAULTS: Final = AskConfig()

REPLIES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("task", pa.string()),
        pa.field("model", pa.string()),
        pa.field("form", pa.string()),  # letter, number or cloze
        pa.field("rotation", pa.int32()),  # the option that was shown first; 0: in the order as released
        pa.field("request", pa.string()),  # digest; rows that share it were asked once
        pa.field("reply", pa.string()),  # null: failed
        pa.field("finish", pa.string()),  # why it ended, in the server's word; empty where it does not tell
        pa.field("scores", pa.list_(pa.float64())),  # cloze: of each option, in order
        pa.field("answer", pa.string()),  # the number, or the letter in the order as released; null: none
        pa.field("unread", pa.string()),  # why none could be read
        pa.field("score", pa.float64()),  # 0 or 1; of a number its mean relative accuracy
        pa.field("right", pa.bool_()),
        pa.field("chance", pa.float64()),  # of being right by luck
        pa.field("input_tokens", pa.int64()),  # null: the server does not tell
        pa.field("output_tokens", pa.int64()),
        pa.field("failure", pa.string()),  # kind of failure; null: there is a reply
        pa.field("message", pa.string()),
    ]
)


@dataclass(frozen=True)
class AskedPanel:
    """The replies (`REPLIES`, by id and in order of the models), their totals, and what this run had to do for them.

    ``replies`` and ``totals`` are the same on a second run; ``run`` is not.
    """

    replies: pa.Table
    totals: tuple[ModelTotals, ...]
    run: dict[str, Account]


def ask(
    questions: pa.Table,
    models: Sequence[ModelSpec],
    cache: Path,
    keys: Mapping[str, str] | None = None,
    config: AskConfig = DEFAULTS,
    progress: Progress = lambda model, done, total: None,
    opener: Opener = open_provider,
    money: Money = NO_CAP,
    pictures: Mapping[int, bytes] | None = None,
) -> AskedPanel:
    """Asks models the questions (`pipeline.core.tables.QUESTIONS`), as far as the cache does not know the reply.

    ``keys`` are the API keys by the name of their environment variable (`ModelSpec.key_name`), ``pictures`` PNG of what
    questions name, by their ids, shown to models that take pictures. There is a row per question, model and rotation of
    the options (`AskConfig.orders`); the embedded model is asked a sample (`AskConfig.sample`). Raises ConfigError for
    a model that cannot be opened and StoreError where replies cannot be kept; a failed request is a row of its own.
    """
    names = [model.name for model in models]
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise ConfigError(f"two models are named {', '.join(twice)}: give one of them another name")
    rows, asked = _wordings(questions, models, config, pictures or {})
    found: dict[str, dict[str, Reply | ModelError]] = {}
    run: dict[str, Account] = {}
    if models:
        with ReplyCache(cache) as kept:
            found, run = asyncio.run(_ask_all(asked, models, kept, keys or {}, progress, opener, money))
    table = [
        _row(wording, name, found[name], config.number_threshold)
        for n in sorted(range(len(rows)), key=lambda n: (rows[n]["id"], n))
        for name in names
        for wording in asked[name][n]
    ]
    replies = pa.Table.from_pylist(table, schema=REPLIES)
    return AskedPanel(replies, totals_of(models, replies, money), run)


def requests_of(
    questions: pa.Table,
    models: Sequence[ModelSpec],
    config: AskConfig = DEFAULTS,
    pictures: Mapping[int, bytes] | None = None,
) -> dict[str, dict[str, Request]]:
    """The requests to each model about questions, as by `ask`, by its name and the request's digest."""
    _, asked = _wordings(questions, models, config, pictures or {})
    return {name: _once(wordings_of) for name, wordings_of in asked.items()}


def _once(asked: Sequence[Sequence[Wording]]) -> dict[str, Request]:
    every = (wording for question in asked for wording in question)
    return {wording.digest: wording.request for wording in every if wording.request is not None}


def _wordings(
    questions: pa.Table, models: Sequence[ModelSpec], config: AskConfig, pictures: Mapping[int, bytes]
) -> tuple[list[dict[str, Any]], dict[str, list[list[Wording]]]]:
    """The questions as rows, and how each is put to each model."""
    rows = questions.select(COLUMNS).to_pylist()
    plain = [item_of(row) for row in rows]
    offered = [item_of(row, among_choices=True) for row in rows]
    by_luck = number_chances(plain, config.number_threshold)
    drawn = sample_of(rows, config.sample)
    asked = {
        model.name: [
            wordings(p, o, luck, model, orders_of(config, model), pictures.get(row["id"]))
            if model.provider != "embedded" or row["id"] in drawn
            else []
            for row, p, o, luck in zip(rows, plain, offered, by_luck, strict=True)
        ]
        for model in models
    }
    return rows, asked


def sample_of(rows: Sequence[Mapping[str, Any]], size: int | None) -> set[Any]:
    """The ids of so many questions, drawn by hash, as many of each task as there are; None: of all."""
    ranked = sorted(rows, key=lambda row: digest("blind sample", str(row["id"])))
    seen: Counter[str] = Counter()
    rank = {}
    for row in ranked:
        rank[row["id"]] = seen[row["task"]]
        seen[row["task"]] += 1
    return {row["id"] for row in sorted(ranked, key=lambda row: rank[row["id"]])[:size]}


async def _ask_all(
    asked: Mapping[str, Sequence[Sequence[Wording]]],
    models: Sequence[ModelSpec],
    cache: ReplyCache,
    keys: Mapping[str, str],
    progress: Progress,
    opener: Opener,
    money: Money,
) -> tuple[dict[str, dict[str, Reply | ModelError]], dict[str, Account]]:
    """Replies and failures, by model and the request's digest."""
    found: dict[str, dict[str, Reply | ModelError]] = {model.name: {} for model in models}
    run: dict[str, Account] = {}

    async def one(client: Client, digest: str, request: Request, total: int) -> None:
        name = client.spec.name
        try:
            found[name][digest] = await client.ask(request)
        except ModelError as failure:
            found[name][digest] = failure
        progress(name, len(found[name]), total)

    budget = BudgetGuard(cache, models, money)
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.TaskGroup() as group:
                for model in models:
                    client = await stack.enter_async_context(
                        Client(model, cache, keys.get(model.key_name or ""), opener, budget=budget)
                    )
                    run[model.name] = client.account
                    requests = _once(asked[model.name])
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


def _row(wording: Wording, model: str, found: Mapping[str, Reply | ModelError], threshold: float) -> dict[str, Any]:
    item = wording.item
    row: dict[str, Any] = {
        "id": item.id,
        "task": item.task,
        "model": model,
        "form": wording.form,
        "rotation": wording.rotation,
        "request": wording.digest or None,
        "score": 0.0,
        "right": False,
        "chance": wording.chance,
    }
    if wording.request is None:
        return row | {"failure": NO_OPTIONS, "message": "cloze needs options or choices, and there are none"}
    reply = found[wording.digest]
    if isinstance(reply, ModelError):
        return row | {"failure": reply.kind, "message": reply.message}
    row |= {"reply": reply.text, "finish": reply.finish}
    if reply.usage is not None:
        row |= {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
    if wording.form == "number":
        number = find_number(reply.text)
        score = mean_relative_accuracy(number.value, item.number if item.number is not None else Decimal("NaN"))
        answer = None if number.value is None else str(number.value)
        return row | {"answer": answer, "unread": number.reason, "score": score, "right": score >= threshold}
    shown: int | None
    if wording.form == "cloze":
        row["scores"] = [score for _, score in reply.logprobs or ()]
        shown, unread = int(np.argmax(row["scores"])), None
    else:
        letter, unread = find_letter(reply.text, len(item.options), wording.shown)
        shown = None if letter is None else LETTERS.index(letter)
    choice = None if shown is None else wording.released(shown)
    answer = None if choice is None else LETTERS[choice]
    right = choice is not None and choice == item.right
    return row | {"answer": answer, "unread": unread, "right": right, "score": float(right)}


def number_chances(items: Sequence[BlindItem], threshold: float) -> list[float]:
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
