"""Each adapter against its protocol: what is sent, and what is made of the answer."""

import asyncio
import base64
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.core.errors import MissingExtraError, RawDataError
from pipeline.llm.base import Image, Message, ModelSpec, Reply, Request, Text, Usage, user, video_part
from pipeline.llm.budget import FREE, PriceTable, load_prices, price_of
from pipeline.llm.cache import ReplyCache, request_digest, request_key
from pipeline.llm.client import Client
from pipeline.llm.failures import ModelError
from pipeline.llm.openai_compatible import read_completion
from pipeline.llm.providers import INSTALL, open_provider, record
from pipeline.llm.replies import structured
from pipeline.llm.visual_inputs import picture_inputs, visual_inputs
from tests.llm import bodies
from tests.llm.asking import KEY, complete, hosted
from tests.llm.fake_server import Running, running
from tests.worlds.flight.readers.tiny_flights import FPS, write_video

LETTER = {
    "type": "object",
    "properties": {"letter": {"type": "string", "enum": ["A", "B"]}},
    "required": ["letter"],
    "additionalProperties": False,
}
PROVIDERS = ("openai", "gemini")
TALK = (Message("system", (Text("Be brief."),)), user("Q1?"), Message("assistant", (Text("Hm."),)), user("Q2?"))


def sent(server: Running) -> dict[str, Any]:
    body: dict[str, Any] = server.records()[-1]["body"]
    return body


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_has_text_usage_and_an_end(provider: str, tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address, provider), tmp_path, [user("Q1?")])
    assert reply == Reply("B", Usage(20, 2), finish="stop" if provider == "openai" else "STOP")


def test_openai_is_sent_turns_limits_and_schema(tmp_path: Path) -> None:
    with running() as server:
        spec = hosted(server.address, model="json", max_tokens=7, request={"seed": 3})
        reply = complete(spec, tmp_path, TALK, LETTER)
        body = sent(server)
    assert structured(reply) == {"letter": "B"}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q1?"},
        {"role": "assistant", "content": "Hm."},
        {"role": "user", "content": "Q2?"},
    ]
    assert (body["temperature"], body["max_tokens"], body["seed"]) == (0.0, 7, 3)
    assert body["response_format"]["json_schema"] == {"name": "reply", "schema": LETTER, "strict": True}


def test_gemini_is_sent_turns_limits_and_schema(tmp_path: Path) -> None:
    with running() as server:
        spec = hosted(server.address, "gemini", model="json", max_tokens=7, request={"seed": 3})
        reply = complete(spec, tmp_path, TALK, LETTER)
        body = sent(server)
    assert structured(reply) == {"letter": "B"}
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    config = body["generationConfig"]
    assert (config["temperature"], config["maxOutputTokens"], config["seed"]) == (0.0, 7, 3)
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == LETTER


@pytest.mark.parametrize("provider", PROVIDERS)
def test_pictures_are_sent_to_models_that_take_them(provider: str, tmp_path: Path) -> None:
    picture = Image(b"\xff\xd8jpeg", "image/jpeg")
    with running() as server:
        with pytest.raises(ModelError, match="not said to take image"):
            complete(hosted(server.address, provider), tmp_path, [user("Q1?", picture)])
        assert server.records() == []
        spec = hosted(server.address, provider, inputs=["text", "image"])
        complete(spec, tmp_path, [user("Q1?", picture)])
        body = sent(server)
    data = base64.b64encode(picture.data).decode()
    if provider == "openai":
        first, second = body["messages"][0]["content"]
        assert first == {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}
        assert second == {"type": "text", "text": "Q1?"}
    else:
        first, second = body["contents"][0]["parts"]
        assert first["inlineData"]["mime_type"] == "image/jpeg"
        assert base64.urlsafe_b64decode(first["inlineData"]["data"]) == picture.data
        assert second == {"text": "Q1?"}


def test_openai_servers_are_sent_videos_as_data(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"film")
    with running() as server:
        complete(hosted(server.address, inputs=["text", "video"]), tmp_path, [user("Q1?", video_part(path))])
        assert sent(server)["messages"][0]["content"][0]["video_url"]["url"] == "data:video/mp4;base64,ZmlsbQ=="


def test_gemini_gets_a_video_uploaded_once_and_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_bytes(b"film")

    async def send(address: str) -> None:
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            spec = hosted(address, "gemini", inputs=["text", "video"], timeout_s=10.0)
            async with Client(spec, cache, KEY) as client:
                film = video_part(path)
                await asyncio.gather(*(client.ask(Request((user(f"Q{n}?", film),))) for n in range(3)))

    with running() as server:
        asyncio.run(send(server.address))
        records = server.records()
    files = [record["question"] for record in records if record["outcome"] == "file"]
    assert files == ["POST /upload/v1/files", "POST /upload/files/v1", "GET /v1/files/v1", "DELETE /v1/files/v1"]
    asked = [record["body"]["contents"][0]["parts"][0] for record in records if record["outcome"] == "success"]
    assert [part["fileData"]["file_uri"] for part in asked] == [f"{server.address}/v1/files/v1"] * 3


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_that_breaks_its_schema_is_asked_again_and_never_kept(provider: str, tmp_path: Path) -> None:
    with running() as server:
        late = hosted(server.address, provider, model="json-late")
        assert structured(complete(late, tmp_path, [user("Q1?")], LETTER)) == {"letter": "B"}
        assert len(server.records()) == 2
        other = hosted(server.address, provider, model="json-other", attempts=2)
        with pytest.raises(ModelError, match="malformed: the reply does not follow the schema"):
            complete(other, tmp_path, [user("Q2?")], LETTER)
        assert len(server.records()) == 4
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        assert len(cache) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("filtered", "refused"),
        ("bad", "bad_request"),
        ("gone", "not_found"),
        ("moved", "not_found"),
        ("huge", "malformed"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(provider: str, model: str, kind: str, tmp_path: Path) -> None:
    with running() as server:
        with pytest.raises(ModelError) as caught:
            complete(hosted(server.address, provider, model=model), tmp_path, [user("Q1?")])
        assert caught.value.kind == kind
        assert {"moved": "127.0.0.1:1/elsewhere", "huge": "16777216 bytes"}.get(model, "") in str(caught.value)
        assert len(server.records()) == 1


@pytest.mark.parametrize(
    ("provider", "model", "text"),
    [*((provider, "empty", "") for provider in PROVIDERS), ("gemini", "thoughtful", "A"), ("openai", "parts", "B")],
)
def test_a_reply_is_its_text_without_the_thinking_and_may_be_empty(
    provider: str, model: str, text: str, tmp_path: Path
) -> None:
    with running() as server:
        assert complete(hosted(server.address, provider, model=model), tmp_path, [user("Q1?")]).text == text


@pytest.mark.parametrize("provider", PROVIDERS)
def test_json_in_a_fence_behind_thoughts_is_json(provider: str, tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address, provider, model="json-fenced"), tmp_path, [user("Q1?")], LETTER)
        assert structured(reply) == {"letter": "B"}
        assert len(server.records()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_that_was_cut_is_asked_again_once_with_more_room(provider: str, tmp_path: Path) -> None:
    with running() as server:
        spec = hosted(server.address, provider, model="wordy", max_tokens=256)
        reply = complete(spec, tmp_path, [user("Q1?")])
        assert (reply.text, reply.usage) == ("The answer is B.", Usage(20, 500))
        assert len(server.records()) == 2
        assert complete(spec, tmp_path, [user("Q1?")]) == reply
        assert len(server.records()) == 2, "the whole reply is kept"
        endless = hosted(server.address, provider, model="endless", max_tokens=100)
        for sent in (2, 4):
            with pytest.raises(ModelError, match="cut after 400 tokens: give the model more room") as caught:
                complete(endless, tmp_path, [user("Q2?")])
            assert caught.value.kind == "cut"
            assert len(server.records()) == 2 + sent, "what was cut is never kept"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_reply_that_ended_for_an_unknown_reason_is_asked_for_again(provider: str, tmp_path: Path) -> None:
    with running() as server:
        assert complete(hosted(server.address, provider, model="aborted"), tmp_path, [user("Q1?")]).text == "B"
        assert len(server.records()) == 2
        with pytest.raises(ModelError, match="unfinished: the reply ended for a reason that is not known"):
            complete(hosted(server.address, provider, model="aborted", attempts=1), tmp_path, [user("Q2?")])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_a_filter_let_through_is_no_reply(provider: str, tmp_path: Path) -> None:
    with running() as server, pytest.raises(ModelError, match="refused"):
        complete(hosted(server.address, provider, model="half-filtered"), tmp_path, [user("Q1?")])


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_the_server_does_not_tell_is_not_made_up(provider: str, tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address, provider, model="no-usage"), tmp_path, [user("Q1?")])
        assert (reply.text, reply.usage) == ("B", None)
        assert complete(hosted(server.address, provider, model="never-told"), tmp_path, [user("Q1?")]).finish == ""


def test_an_error_that_comes_as_a_success_is_told_in_its_words(tmp_path: Path) -> None:
    with running() as server, pytest.raises(ModelError, match="The upstream model is asleep") as caught:
        complete(hosted(server.address, model="error-200", attempts=1), tmp_path, [user("Q1?")])
    assert (caught.value.kind, caught.value.passing) == ("server_error", True)


@pytest.mark.parametrize(
    ("completion", "kind"),
    [
        ("<html>Bad gateway</html>", "malformed"),
        (SimpleNamespace(choices=None, usage=None, error=bodies.ERROR_WITH_200["error"]), "rate_limited"),
        (SimpleNamespace(choices=[], usage=None), "malformed"),
        (SimpleNamespace(choices=None, usage=None, error="out of order"), "server_error"),
        (SimpleNamespace(choices=[SimpleNamespace(message=None, finish_reason="stop")], usage=None), "malformed"),
    ],
)
def test_a_reply_that_is_none_is_a_failure_of_its_kind(completion: Any, kind: str) -> None:
    with pytest.raises(ModelError) as caught:
        read_completion(completion)
    assert caught.value.kind == kind


def test_a_malformed_reply_tells_what_it_cost() -> None:
    used = SimpleNamespace(prompt_tokens=7, completion_tokens=3)
    with pytest.raises(ModelError) as caught:
        read_completion(SimpleNamespace(choices=[], usage=used))
    half = SimpleNamespace(message=SimpleNamespace(content="A \ud83d"), finish_reason="length")
    assert read_completion(SimpleNamespace(choices=[half], usage=used)).text == "A ?"
    assert caught.value.usage == Usage(7, 3)


def test_parameters_that_a_server_refuses_are_learned_once_and_remembered(tmp_path: Path) -> None:
    with running() as server:
        spec = hosted(server.address, model="reasoning", concurrency=1)
        assert complete(spec, tmp_path, [user("Q1?")]).text == "B"
        refused = [record["body"] for record in server.records()]
        assert [("max_tokens" in body, "temperature" in body) for body in refused] == [
            (True, True),
            (False, True),
            (False, False),
        ]
        assert refused[2]["max_completion_tokens"] == spec.max_tokens
        assert complete(spec, tmp_path, [user("Q2?")]).text == "B"
        assert len(server.records()) == 4, "another run knows"


def test_a_server_that_is_not_there_is_a_failed_connection(tmp_path: Path) -> None:
    for provider in PROVIDERS:
        with pytest.raises(ModelError) as caught:
            complete(hosted("http://127.0.0.1:9", provider, attempts=1), tmp_path, [user("Q1?")])
        assert caught.value.kind == "connection"


def test_recorded_answers_are_replayed_and_nothing_else(tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address), tmp_path, [user("Q1?")])
    recording = tmp_path / "answers.jsonl"
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        assert record(cache, "openai", "plain", recording) == 1
    spec = ModelSpec(provider="replay", model="plain", recording=recording)
    assert complete(spec, tmp_path, [user("Q1?")]) == reply
    with pytest.raises(ModelError, match="not_recorded"):
        complete(spec, tmp_path, [user("Q2?")])


SPEC = ModelSpec(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
ASKED = Request((user("Q1?"),), prompt="p@1")


@pytest.mark.parametrize(
    "change",
    [
        lambda: (SPEC.model_copy(update={"provider": "gemini"}), ASKED),
        lambda: (SPEC.model_copy(update={"model": "n"}), ASKED),
        lambda: (SPEC.model_copy(update={"base_url": "http://127.0.0.1:8/v1"}), ASKED),
        lambda: (SPEC.model_copy(update={"temperature": 0.5}), ASKED),
        lambda: (SPEC.model_copy(update={"max_tokens": 5}), ASKED),
        lambda: (SPEC.model_copy(update={"request": {"seed": 1}}), ASKED),
        lambda: (SPEC.model_copy(update={"weights_sha256": "0" * 64}), ASKED),
        lambda: (SPEC, Request((user("Q2?"),), prompt="p@1")),
        lambda: (SPEC, Request((Message("system", (Text("Q1?"),)),), prompt="p@1")),
        lambda: (SPEC, Request((user("Q1?", Image(b"x", "image/png")),), prompt="p@1")),
        lambda: (SPEC, Request((user("Q1?"),), schema=LETTER, prompt="p@1")),
        lambda: (SPEC, Request((user("Q1?"),), options=("a",), prompt="p@1")),
        lambda: (SPEC, Request((user("Q1?"),), prompt="p@2")),
    ],
)
def test_all_that_a_reply_depends_on_is_in_its_key(change: Callable[[], tuple[ModelSpec, Request]]) -> None:
    assert request_key(*change()) != request_key(SPEC, ASKED)


def test_what_a_reply_does_not_depend_on_is_not_in_its_key() -> None:
    other = SPEC.model_copy(update={"name": "x", "rpm": 5, "concurrency": 2, "attempts": 1, "key_env": "X"})
    assert request_key(other, ASKED) == request_key(SPEC, ASKED)
    assert request_digest(ASKED) == request_digest(Request((user("Q1?"),), prompt="p@2"))


def test_a_key_is_the_same_for_ever() -> None:
    # A changed digest would make everyone pay for every reply again: raise the cache's version only on purpose.
    assert request_key(SPEC, ASKED) == "e6fb07ba1010990be5c7351b5f4beefd6fbe50de635cb3d285a87dc6d2b64ab4"


@pytest.mark.parametrize(
    ("provider", "module", "command"),
    [
        ("openai", "openai", "pip install 'openai>="),
        ("gemini", "google.genai", "pip install 'google-genai>="),
        ("gemini-legacy", "google.generativeai", "python3 -m venv .venv-gemini-legacy"),
        ("embedded", "xllamacpp", "pip install xllamacpp=="),
    ],
)
def test_a_missing_package_is_told_with_the_command_that_installs_it(
    provider: str, module: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"Run: .") as caught:
        open_provider(ModelSpec(provider=provider, model="m"), KEY)  # type: ignore[arg-type]
    assert command in str(caught.value)
    assert module in INSTALL[provider]


@pytest.mark.slow
def test_no_model_package_is_imported_before_a_model_is_opened() -> None:
    code = (
        "import sys, pipeline.blind.ask, pipeline.llm.providers; "
        "print([m for m in ('openai', 'google.genai', 'google.generativeai', 'xllamacpp') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_prices_are_the_configured_ones_then_the_tables_then_unknown() -> None:
    table = PriceTable.model_validate({"as_of": "2025-12", "models": {"m": {"input": 2, "output": 10}}})
    price = price_of(SPEC, table)
    assert price.cost_usd(Usage(1_000_000, 100_000)) == 3.0
    own = ModelSpec.model_validate(SPEC.model_dump() | {"price": {"input": 0, "output": 1}})
    assert price_of(own, table) == own.price
    assert price_of(SPEC.model_copy(update={"model": "n"}), table) is None
    assert price_of(ModelSpec(provider="embedded"), table) == FREE
    assert load_prices().models


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"provider": "openai"}, "needs the key model"),
        ({"provider": "openai", "model": "m", "scoring": "cloze"}, "cloze needs provider embedded"),
        ({"provider": "openai", "model": "m", "weights": "w.gguf", "weights_sha256": "0" * 64}, "belong to provider"),
        ({"provider": "replay", "model": "m"}, "recording"),
        ({"provider": "embedded", "inputs": ["text", "image"]}, "takes text alone"),
        ({"provider": "embedded", "weights": "w.gguf", "model": "m"}, "need weights_sha256"),
        ({"provider": "openai", "model": "m", "key_env": "sk-0123456789"}, "should match pattern"),
        ({"provider": "openai", "model": "m", "api_key": "sk-0123456789"}, "Extra inputs"),
        ({"provider": "nobody", "model": "m"}, "should be 'openai'"),
    ],
)
def test_a_model_that_makes_no_sense_is_refused(fields: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        ModelSpec.model_validate(fields)


# ---- what a model is shown, from files


def test_a_picture_that_is_gone_is_told_by_its_file(tmp_path: Path) -> None:
    with pytest.raises(RawDataError, match=r"view-1\.jpg: picture_unreadable"):
        picture_inputs([tmp_path / "view-1.jpg"])


@pytest.mark.parametrize(("fps", "seconds"), [(None, [4.0, 8.0]), (0.5, [2.0, 4.0, 6.0, 8.0]), (0.01, [8.0])])
def test_pictures_are_so_many_in_all_or_in_each_second(fps: float | None, seconds: list[float], tmp_path: Path) -> None:
    write_video(tmp_path / "video.mp4", 8.0)
    shown = visual_inputs(tmp_path / "video.mp4", ("text", "image"), 2, fps, last=True)
    assert shown is not None
    told = [float(part.text.split()[1].rstrip(":")) for part in shown.parts if isinstance(part, Text)]
    assert told == pytest.approx([second - 1 / FPS for second in seconds], abs=0.051)
