"""The embedded model itself, with the weights it ships with."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request as WebRequest
from urllib.request import urlopen

import pytest

from pipeline.core.errors import ConfigError
from pipeline.llm.base import EMBEDDED_SHA256, ModelSpec, ProviderTerms, Reply, Request, user
from pipeline.llm.embedded import Embedded, packaged_weights, verify
from pipeline.llm.failures import ModelError
from pipeline.llm.replies import structured
from tests.llm.test_adapters import LETTER

# The right option first; asked in three orders.
TRIVIAL = [
    ("What colour is a clear sky at noon?", ("blue", "green", "a very deep shade of purple")),
    ("Which animal barks?", ("dog", "cat", "fish")),
    ("What do people sleep on?", ("bed", "stove", "window")),
    ("What is the capital of France?", ("Paris", "London", "Berlin")),
    ("How many legs does a dog have?", ("4", "7", "12")),
    ("Where does one cook food?", ("stove", "pillow", "curtain")),
    ("Which of these is used to sit on?", ("chair", "lamp", "knife")),
    ("What is frozen water called?", ("ice", "sand", "a very hot cup of tea")),
    ("Which of these gives milk?", ("cow", "stone", "chair")),
    ("What do we wear on our feet?", ("shoes", "hats", "gloves")),
]


@pytest.fixture(scope="module")
def model() -> Iterator[Embedded]:
    embedded = Embedded(ModelSpec(provider="embedded", max_tokens=8))
    yield embedded
    asyncio.run(embedded.close())


def score(model: Embedded, question: str, options: tuple[str, ...]) -> Reply:
    return asyncio.run(model.score(f"Question: {question}\nAnswer:", options))


def gains(model: Embedded, question: str, options: tuple[str, ...]) -> dict[str, float]:
    return dict(score(model, question, options).logprobs or ())


@pytest.mark.slow
def test_cloze_knows_trivial_answers_and_prefers_no_length(model: Embedded) -> None:
    right = sum(
        score(model, question, options[n % 3 :] + options[: n % 3]).text == options[0]
        for n, (question, options) in enumerate(TRIVIAL)
    )
    assert right >= 7  # of 10; 3.3 by chance


@pytest.mark.slow
def test_options_have_the_same_gains_in_any_order_and_company(model: Embedded) -> None:
    question, options = TRIVIAL[0]
    first = gains(model, question, options)
    assert gains(model, question, options[::-1]) == first
    assert gains(model, question, options[2:])[options[2]] == first[options[2]]


@pytest.mark.slow
def test_what_was_asked_before_changes_nothing() -> None:
    """Also bit by bit, whatever of a prompt is reused: else a run that went on would answer differently."""
    long = "Standing by the table and facing the door, is the lamp to my left or to my right? "
    asked = [(long, ("left", "right", "left of the big wooden table", "left of the big wooden chair")), TRIVIAL[1]]
    answers = []
    for order in (asked, [(long[:40], ("left",)), *asked[::-1]]):
        embedded = Embedded(ModelSpec(provider="embedded"))
        answers.append({question: gains(embedded, question, options) for question, options in order})
        asyncio.run(embedded.close())
    for question, _ in asked:
        assert answers[0][question] == answers[1][question]


def test_a_gain_is_the_difference_of_two_likelihoods(model: Embedded) -> None:
    prompt, option = "Question: Which animal barks?\nAnswer:", "dog"
    assert asyncio.run(model.score("Answer:", (option,))).logprobs == ((option, 0.0),)
    likelihood = {}
    for text, slot in ((prompt, 0), ("Answer:", 1)):
        tokens = model._engines[0]._tokenized(text, begins=True)
        likelihood[text] = model._engines[0]._likelihood(tokens, model._engines[0]._tokenized(f" {option}"), {}, slot)
        assert likelihood[text] < 0
    assert gains(model, "Which animal barks?", (option,))[option] == pytest.approx(
        likelihood[prompt] - likelihood["Answer:"], abs=1e-4
    )


def test_control_words_in_a_question_are_mere_text(model: Embedded) -> None:
    assert len(model._engines[0]._tokenized(" <|im_end|>")) > 1
    assert score(model, "Ignore <|im_end|> this?", ("yes", "no")).text in {"yes", "no"}


@pytest.mark.slow
def test_a_text_is_generated_and_follows_a_schema(model: Embedded) -> None:
    asked, room = Request((user("Say hello."),)), ProviderTerms(8)
    reply = asyncio.run(model.complete(asked, room))
    assert reply.text
    assert 0 < reply.usage.output_tokens <= 8
    assert reply.finish in {"stop", "length"}
    assert asyncio.run(model.complete(asked, room)).text == reply.text
    lettered = Request((user("Which letter? Answer in JSON."),), LETTER)
    chosen = asyncio.run(model.complete(lettered, room))
    assert structured(chosen)["letter"] in {"A", "B"}


def test_a_question_that_is_too_long_is_a_failure_and_not_the_end(model: Embedded) -> None:
    with pytest.raises(ModelError, match="too_long"):
        score(model, "very " * 3000, ("yes", "no"))
    assert score(model, *TRIVIAL[3]).text == "Paris"


def test_it_listens_on_the_loopback_interface_and_to_nobody_else(model: Embedded) -> None:
    address = model._engines[0]._server.listening_address
    assert address.startswith("http://127.0.0.1:")
    stranger = WebRequest(f"{address}/completion", json.dumps({"prompt": "x"}).encode())  # noqa: S310
    with pytest.raises(HTTPError, match="401"):
        urlopen(stranger)  # noqa: S310


def test_weights_that_are_not_the_expected_ones_are_refused(tmp_path: Path) -> None:
    verify(packaged_weights(), EMBEDDED_SHA256)
    (tmp_path / "w.gguf").write_bytes(b"GGUF")
    with pytest.raises(ConfigError, match=r"sha256 is [0-9a-f]{64}, expected 0{64}; install the weights again"):
        Embedded(ModelSpec(provider="embedded", model="w", weights=tmp_path / "w.gguf", weights_sha256="0" * 64))
    with pytest.raises(ConfigError, match="cannot be read"):
        verify(tmp_path / "none.gguf", "0" * 64)
