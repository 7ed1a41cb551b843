"""The retired SDK. It lives in an environment of its own; there, and only there, all of this runs:

python3 -m venv .venv-gemini-legacy && .venv-gemini-legacy/bin/pip install -e '.[gemini-legacy]' pytest hypothesis &&
.venv-gemini-legacy/bin/pytest tests/llm/test_gemini_legacy.py
"""

from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.blind.ask import ask
from pipeline.llm.base import Image, Reply, Usage, user, video_part
from pipeline.llm.failures import ModelError
from pipeline.llm.gemini import _legacy_part, _legacy_reply, _legacy_schema
from pipeline.llm.replies import structured
from tests.llm.asking import KEY, complete, hosted, lettered_questions
from tests.llm.fake_server import FAULTS, running
from tests.llm.test_adapters import LETTER, TALK, sent

with_sdk = pytest.mark.skipif(
    find_spec("google.generativeai") is None, reason="google-generativeai needs an environment of its own (protobuf<6)"
)


def test_a_schema_is_cut_down_to_what_the_sdk_knows() -> None:
    schema = {"type": "array", "items": LETTER, "minItems": 1, "uniqueItems": True}
    letter = {"type": "STRING", "enum": ["A", "B"]}
    thing = {"type": "OBJECT", "properties": {"letter": letter}, "required": ["letter"]}
    assert _legacy_schema(schema) == {"type": "ARRAY", "items": thing, "min_items": 1}


def test_a_video_is_for_the_other_adapter(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"film")
    with pytest.raises(ModelError, match="by provider gemini"):
        _legacy_part(video_part(tmp_path / "film.mp4"))


COUNTS = {"prompt_token_count": 20, "candidates_token_count": 1}


def test_a_reply_has_text_or_a_reason_to_end() -> None:
    spoken = {"candidates": [{"content": {"parts": [{"text": "B"}, {"text": "."}]}}], "usage_metadata": COUNTS}
    assert _legacy_reply(spoken, "") == Reply("B.", Usage(20, 1), finish="")
    assert _legacy_reply({"candidates": [{}]}, "MAX_TOKENS") == Reply("", None, finish="MAX_TOKENS")
    for reason in ("", "FINISH_REASON_UNSPECIFIED"):
        with pytest.raises(TypeError, match="neither text nor a reason"):
            _legacy_reply({"candidates": [{}]}, reason)
    with pytest.raises(TypeError, match="no candidates"):
        _legacy_reply({"usage_metadata": COUNTS}, "STOP")
    with pytest.raises(ModelError, match="the prompt is blocked: SAFETY"):
        _legacy_reply({"prompt_feedback": {"block_reason": "SAFETY"}}, "")


@with_sdk
def test_turns_pictures_limits_and_schema_are_sent(tmp_path: Path) -> None:
    with running() as server:
        spec = hosted(server.address, "gemini-legacy", model="json", max_tokens=7, inputs=["text", "image"])
        talk = (*TALK[:-1], user("Q2?", Image(b"\xff\xd8jpeg", "image/jpeg")))
        assert structured(complete(spec, tmp_path, talk, LETTER)) == {"letter": "B"}
        body = sent(server)
    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]
    assert body["contents"][-1]["parts"][0]["inlineData"]["mimeType"] == "image/jpeg"
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["generationConfig"]["maxOutputTokens"] == 7


@with_sdk
@pytest.mark.parametrize(
    ("model", "kind"),
    [("filtered", "refused"), ("bad", "bad_request"), ("gone", "not_found"), ("leaky-401", "unauthorized")],
)
def test_what_will_not_pass_is_not_tried_again_and_shows_no_key(model: str, kind: str, tmp_path: Path) -> None:
    with running() as server:
        with pytest.raises(ModelError) as caught:
            complete(hosted(server.address, "gemini-legacy", model=model), tmp_path, [user("Q1?")])
        assert caught.value.kind == kind
        assert KEY not in str(caught.value)
        assert len(server.records()) == (3 if kind == "unauthorized" else 1)  # google-auth tries a refused key again


@with_sdk
def test_every_question_ends_with_a_reply(tmp_path: Path) -> None:
    with running(latency_s=0.02, faults=FAULTS) as server:
        spec = hosted(server.address, "gemini-legacy", concurrency=32, attempts=8, timeout_s=4.0)
        asked = ask(lettered_questions(300), [spec], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        outcomes = [record["outcome"] for record in server.records()]
    assert asked.replies["right"].to_pylist() == [True] * 300
    assert outcomes.count("success") == 300
    assert set(asked.run["plain"].trouble) == {"rate_limited", "server_error", "timeout", "malformed", "connection"}


@with_sdk
def test_a_reply_has_text_usage_and_an_end(tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address, "gemini-legacy"), tmp_path, [user("Q1?")])
    assert reply == Reply("B", Usage(20, 1), finish="STOP")
