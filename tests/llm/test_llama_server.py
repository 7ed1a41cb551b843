"""The OpenAI path against a server that no one here wrote: llama.cpp's own, with the embedded weights."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.blind.ask import ask
from pipeline.blind.config import AskConfig
from pipeline.llm.base import ModelSpec, Reply, Request, user
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Client
from pipeline.llm.failures import ModelError
from pipeline.llm.replies import structured
from tests.llm.asking import KEY, lettered_questions
from tests.llm.llama_server import CONTEXT_TOKENS, serving
from tests.llm.test_adapters import LETTER


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(KEY) as address:
        yield address


def spec(address: str, **fields: Any) -> ModelSpec:
    raw = {"provider": "openai", "model": "smollm2", "base_url": f"{address}/v1", "key_env": "PLANTED_KEY"}
    return ModelSpec.model_validate(raw | {"timeout_s": 60, "attempts": 2, "concurrency": 1} | fields)


def reply(model: ModelSpec, request: Request, folder: Path, key: str = KEY) -> Reply:
    async def send() -> Reply:
        with ReplyCache(folder / "replies.sqlite") as cache:
            async with Client(model, cache, key) as client:
                return await client.ask(request)

    return asyncio.run(send())


def test_a_text_has_its_tokens_and_its_end(address: str, tmp_path: Path) -> None:
    said = reply(spec(address, max_tokens=40), Request((user("Say hello."),)), tmp_path)
    assert said.text.startswith("Hello")
    assert said.finish == "stop"
    assert said.usage.input_tokens > 10
    assert 1 < said.usage.output_tokens < 40
    again = reply(spec(address, max_tokens=40), Request((user("Say hello."),)), tmp_path / "other")
    assert again.text == said.text


def test_a_schema_is_followed(address: str, tmp_path: Path) -> None:
    said = reply(spec(address, max_tokens=60), Request((user("Which letter? Answer in JSON."),), LETTER), tmp_path)
    assert structured(said)["letter"] in {"A", "B"}


def test_what_is_cut_gets_more_room_once(address: str, tmp_path: Path) -> None:
    request = Request((user("Say hello."),))
    with pytest.raises(ModelError, match="cut after 4 tokens"):
        reply(spec(address, max_tokens=1), request, tmp_path)
    whole = reply(spec(address, max_tokens=10), request, tmp_path)
    assert whole.finish == "stop"
    assert whole.usage.output_tokens > 10


@pytest.mark.parametrize(
    ("fields", "words", "key", "kind"),
    [
        ({}, "Say hello.", "sk-wrong-0123456789", "unauthorized"),
        ({}, "very " * 2 * CONTEXT_TOKENS, KEY, "too_long"),
        ({"request": {"top_k": "many"}}, "Say hello.", KEY, "bad_request"),
    ],
)
def test_its_errors_are_what_they_are(
    fields: dict[str, Any], words: str, key: str, kind: str, address: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError) as caught:
        reply(spec(address, **fields), Request((user(words),)), tmp_path, key)
    assert caught.value.kind == kind
    assert len(caught.value.message) > len("HTTP 400: ")


@pytest.mark.slow
def test_a_panel_of_real_servers_answers_every_question_in_every_order(address: str, tmp_path: Path) -> None:
    with serving(KEY) as second:
        models = [
            spec(address, name="one", max_tokens=12),
            spec(second, name="two", max_tokens=12),
            ModelSpec(provider="embedded", name="three"),
        ]
        asked = ask(
            lettered_questions(1), models, tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY}, AskConfig(orders=None)
        )
    rows = asked.replies.to_pylist()
    assert [(row["id"], row["model"], row["rotation"]) for row in rows] == [
        (id, model, rotation)
        for id in range(1)
        for model, rotations in (("one", 3), ("two", 3), ("three", 1))
        for rotation in range(rotations)
    ]
    answered = [row for row in rows if row["failure"] is None]
    assert all(row["finish"] == "stop" and row["input_tokens"] > 0 for row in answered if row["form"] == "letter")
    assert {row["failure"] for row in rows} <= {None, "cut"}
    said = {name: [row["reply"] for row in rows if row["model"] == name] for name in ("one", "two")}
    assert said["one"] == said["two"], "the same weights at temperature 0"


@pytest.mark.slow
def test_a_server_that_dies_costs_its_questions_and_no_more(tmp_path: Path) -> None:
    with serving(KEY) as address:
        model = spec(address, max_tokens=12, attempts=1)
        first = ask(lettered_questions(2), [model], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
    second = ask(lettered_questions(4), [model], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
    known = [row["reply"] for row in first.replies.to_pylist()]
    rows = second.replies.to_pylist()
    assert [row["reply"] for row in rows] == [*known, None, None]
    assert [row["failure"] for row in rows[2:]] == ["connection"] * 2
