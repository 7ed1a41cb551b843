"""Asks language models the questions without their video; keeps every reply and counts every failure.

Three ways to ask (`pipeline.blind.ask`): for the letter, for the number, or (``cloze``) by the likelihood of each
option's text; then a number is read from its four choices, and right is the right choice. Letters are asked with the
options in rotated orders, a row each. Questions with the same text are asked once: without the video they are the same
question.

A model that likes the letter A is right about one question in four whatever it knows. So a question with k options is
put k times, its options moved on by one each time (rotation r begins with option r): a letter means another option in
every rotation, and only who knows the answer names the same option in all of them.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.blind.config import NO_OPTIONS, AskConfig
from pipeline.blind.items import LETTERS, BlindItem, item_of, question_rows
from pipeline.blind.totals import ModelTotals, totals_of
from pipeline.core.arrays import FloatArray
from pipeline.core.errors import Scan2qaError
from pipeline.core.identity import digest
from pipeline.core.tables import GUESSED, texts
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
    text = prompt.render(text=item.text, letters=letters, options=lines)
    request = Request((user(text, *legend),), prompt=prompt.version)
    return Wording(item, "letter", 1 / len(item.options), rotation, request, request_digest(request))


BATCH_QUESTIONS: Final = 10_000  # whose requests and replies are in memory at once
TROUBLE_EVERY_S: Final = 10.0
Progress = Callable[[str, int, int], None]
DEFAULTS: Final = AskConfig()

REPLIES: Final = pa.schema(
    [
        pa.field("id", pa.int64()),
        *texts("task", "model"),
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
    tables, run = [REPLIES.empty_table()], dict[str, Account]()
    if models:
        with ReplyCache(cache) as kept:
            asked = _batches(questions, models, config, pictures or {})
            size = len(questions)
            if config.sample is not None and all(model.provider == "embedded" for model in models):
                size = min(size, config.sample)
            replies_of = partial(_replies, threshold=config.number_threshold)
            rest = _ask_all(asked, size, replies_of, models, kept, keys or {}, progress, opener, money)
            found, run = asyncio.run(rest)
            tables += found
    replies = pa.concat_tables(tables).combine_chunks()
    return AskedPanel(replies, totals_of(models, replies, money), run)


def requests_of(
    questions: pa.Table,
    models: Sequence[ModelSpec],
    config: AskConfig = DEFAULTS,
    pictures: Mapping[int, bytes] | None = None,
) -> dict[str, dict[str, Request]]:
    """The requests to each model about questions, as by `ask`, by its name and the request's digest."""
    requests: dict[str, dict[str, Request]] = {model.name: {} for model in models}
    for batch in _batches(questions, models, config, pictures or {}):
        for name, asked in batch.items():
            requests[name] |= _unique_requests(asked)
    return requests


def _unique_requests(asked: Sequence[Sequence[Wording]]) -> dict[str, Request]:
    every = (wording for question in asked for wording in question)
    return {wording.digest: wording.request for wording in every if wording.request is not None}


_Batch = Mapping[str, Sequence[Sequence[Wording]]]  # model -> how it is asked each of some questions


def _batches(
    questions: pa.Table, models: Sequence[ModelSpec], config: AskConfig, pictures: Mapping[int, bytes]
) -> Iterator[_Batch]:
    """How each question is put to each model, for some questions at a time, by id."""
    rows = questions.select(GUESSED).sort_by("id")
    numbers = [None if row["options"] else item_of(row).number for row in question_rows(rows)]
    values = np.array([math.nan if number is None else float(number) for number in numbers])
    by_luck = number_chances(rows["task"], values, config.number_threshold)
    hosted = [model for model in models if model.provider != "embedded"]
    sampled = set() if len(hosted) == len(models) else sample_of(rows.select(["id", "task"]).to_pylist(), config.sample)
    if not hosted:
        mine = pc.is_in(rows["id"], pa.array(sampled, pa.int64()))
        rows, by_luck = rows.filter(mine), by_luck[mine.to_numpy()]
    for first in range(0, len(rows), BATCH_QUESTIONS):
        batch = [
            (row["id"], plain := item_of(row), plain if plain.options else item_of(row, among_choices=True), luck)
            for row, luck in zip(question_rows(rows.slice(first, BATCH_QUESTIONS)), by_luck[first:], strict=False)
        ]
        yield {
            model.name: [
                wordings(plain, offered, luck, model, orders_of(config, model), pictures.get(id))
                if model in hosted or id in sampled
                else []
                for id, plain, offered, luck in batch
            ]
            for model in models
        }


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
    batches: Iterable[_Batch],
    questions: int,
    replies_of: Callable[[_Batch, Mapping[str, Mapping[str, Reply | ModelError]]], pa.Table],
    models: Sequence[ModelSpec],
    cache: ReplyCache,
    keys: Mapping[str, str],
    progress: Progress,
    opener: Opener,
    money: Money,
) -> tuple[list[pa.Table], dict[str, Account]]:
    """The replies to each batch. What failed in one is not asked again in another."""
    failed: dict[str, dict[str, Reply | ModelError]] = {model.name: {} for model in models}
    tables, done, before, total, found = [], 0, Counter[str](), Counter[str](), failed

    def report(name: str, state: str = "") -> None:
        progress(f"{name}{state}", before[name] + len(found[name]), total[name])

    async def report_trouble() -> None:
        """Says what fails: where a server refuses all requests, no reply would say anything for minutes."""
        while True:
            await asyncio.sleep(TROUBLE_EVERY_S)
            for client in clients:
                failed_attempts = client.account.failed_attempts
                report(client.spec.name, f" (waits; {failed_attempts})" if failed_attempts else "")

    async def one(client: Client, digest: str, request: Request) -> None:
        name = client.spec.name
        try:
            found[name][digest] = await client.ask(request)
        except ModelError as failure:
            found[name][digest] = failed[name][digest] = failure
        report(name)

    budget = BudgetGuard(cache, models, money)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(Client(m, cache, keys.get(m.key_name or ""), opener, budget=budget))
            for m in models
        ]
        watch = asyncio.create_task(report_trouble())
        stack.callback(watch.cancel)
        for batch in batches:
            found = {name: dict(known) for name, known in failed.items()}
            done += max(map(len, batch.values()))
            try:
                async with asyncio.TaskGroup() as group:
                    for client in clients:
                        name = client.spec.name
                        requests = _unique_requests(batch[name])
                        some = before[name] + len(requests)
                        total[name] = max(some, round(some * questions / done))
                        # In order of their words: the embedded model reads a common beginning once.
                        for digest, request in sorted(requests.items(), key=lambda r: (r[1].messages[-1].text, r[0])):
                            if digest not in failed[name]:
                                group.create_task(one(client, digest, request))
            except BaseExceptionGroup as errors:
                raise _first(errors) from None
            before.update({name: len(_unique_requests(asked)) for name, asked in batch.items()})
            tables.append(replies_of(batch, found))
    return tables, {client.spec.name: client.account for client in clients}


def _replies(batch: _Batch, found: Mapping[str, Mapping[str, Reply | ModelError]], threshold: float) -> pa.Table:
    """The rows (`REPLIES`) of some questions, in order of the models."""
    rows = [
        _row(wording, name, found[name], threshold)
        for asked in zip(*batch.values(), strict=True)
        for name, wordings_of in zip(batch, asked, strict=True)
        for wording in wordings_of
    ]
    return pa.Table.from_pylist(rows, schema=REPLIES)


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


def number_chances(tasks: pa.ChunkedArray, numbers: FloatArray, threshold: float) -> FloatArray:
    """For each number (n,), how often the answer of a random question of its task would be right; 0 for NaN."""
    chances = np.zeros(len(numbers))
    for task in pc.unique(tasks).to_pylist():
        mine = pc.equal(tasks, task).to_numpy() & ~np.isnan(numbers)
        values, place, count = np.unique(numbers[mine], return_inverse=True, return_counts=True)
        earned = [count @ (mean_relative_accuracies(values, value) >= threshold) / count.sum() for value in values]
        chances[mine] = np.array(earned, dtype=np.float64)[place]
    return chances
