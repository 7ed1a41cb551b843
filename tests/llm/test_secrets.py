"""A planted key turns up nowhere: not in logs, cache, replies, failures or tracebacks, whatever the server repeats."""

import logging
import pickle
import traceback
from pathlib import Path

import pytest

from pipeline.blind.ask import ask
from pipeline.core.errors import ConfigError
from pipeline.llm.base import user
from pipeline.llm.failures import ModelError
from tests.llm.asking import KEY, complete, hosted, lettered_questions
from tests.llm.fake_server import running


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["openai", "gemini"])
@pytest.mark.parametrize("model", ["leaky", "leaky-401", "leaky-500", "plain"])
def test_a_key_is_nowhere_to_be_found(
    provider: str, model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with running() as server:
        spec = hosted(server.address, provider, model=model, attempts=2)
        asked = ask(lettered_questions(2), [spec], tmp_path / "replies.sqlite", {"PLANTED_KEY": KEY})
        sent = [value for record in server.records() for value in record["headers"].values()]
    assert any(KEY in value for value in sent), "the server must have been shown the key"
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    logged = "".join(f"{record.getMessage()} {record.args!r} {record.__dict__!r}" for record in caplog.records)
    told = f"{asked!r} {asked.replies.to_pylist()} {spec!r} {capfd.readouterr()}"
    for where in (kept.decode(errors="replace"), logged, told):
        assert KEY not in where
    if model == "leaky":
        assert "[key]" in told


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_failure_does_not_carry_the_key_in_text_causes_or_pickle(provider: str, tmp_path: Path) -> None:
    with running() as server, pytest.raises(ModelError) as caught:
        complete(hosted(server.address, provider, model="leaky-401"), tmp_path, [user("Q1")])
    failure = caught.value
    assert failure.kind == "unauthorized"
    cause: BaseException | None = failure
    while cause is not None:
        assert KEY not in f"{cause} {cause!r} {''.join(traceback.format_exception(cause))}"
        cause = cause.__cause__ or cause.__context__
    assert KEY.encode() not in pickle.dumps(failure)
    assert str(pickle.loads(pickle.dumps(failure))) == str(failure)  # noqa: S301


@pytest.mark.parametrize("provider", ["openai", "gemini"])
def test_a_reply_that_repeats_the_key_is_kept_without_it(provider: str, tmp_path: Path) -> None:
    with running() as server:
        reply = complete(hosted(server.address, provider, model="leaky"), tmp_path, [user("Q1")])
    assert repr(reply).startswith("Reply(text='B, says [key]'")
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


def test_a_prompt_that_holds_the_key_is_not_sent(tmp_path: Path) -> None:
    with running() as server:
        with pytest.raises(ModelError, match="key_in_prompt") as caught:
            complete(hosted(server.address), tmp_path, [user(f"Q1 {KEY}")])
        assert KEY not in str(caught.value)
        assert server.records() == []


def test_a_missing_key_is_told_by_the_name_of_its_variable(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="export PLANTED_KEY="):
        ask(lettered_questions(1), [hosted("http://127.0.0.1:9")], tmp_path / "replies.sqlite", {"OTHER": KEY})


@pytest.mark.parametrize(
    "url", ["http://user:secret@host/v1", "http://host/v1?key=secret", "host/v1", "file:///etc/passwd", "http://"]
)
def test_an_address_with_a_secret_in_it_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="base_url"):
        hosted("", base_url=url)
