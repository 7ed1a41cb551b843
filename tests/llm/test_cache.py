"""The file of replies: what it keeps, and what it says when it cannot."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.core.errors import StoreError, TemplateError
from pipeline.llm.base import ModelSpec, Reply, Request, Usage, user
from pipeline.llm.cache import ReplyCache, reply_from_json, reply_to_json
from pipeline.llm.prompts import Prompt, load_prompt

SPEC = ModelSpec(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
REPLY = Reply("naïve\n“B” 😀", Usage(3, 4), ((" a", -1.5), ("b", -0.25)), "stop")


def test_a_reply_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "replies.sqlite"
    with ReplyCache(path) as cache:
        cache.put("k", SPEC, Request((user("Q"),), prompt="p@1"), REPLY)
        assert cache.get("k") == REPLY
        assert cache.get("other") is None
    with ReplyCache(path) as cache:
        assert cache.get("k") == REPLY
        assert [(row.provider, row.model, row.reply) for row in cache.rows()] == [("openai", "m", REPLY)]


@pytest.mark.parametrize(
    "raw", ["", "{", "[]", "null", '{"text": "B"}', '{"text": "B", "usage": [1], "logprobs": null}']
)
def test_a_damaged_row_is_as_good_as_none(raw: str, tmp_path: Path) -> None:
    assert reply_from_json(raw) is None
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        cache.put("k", SPEC, Request((user("Q"),)), REPLY)
    with sqlite3.connect(tmp_path / "replies.sqlite") as database:
        database.execute("UPDATE replies SET reply = ?", (raw,))
    database.close()
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        assert cache.get("k") is None
        cache.put("k", SPEC, Request((user("Q"),)), REPLY)
        assert cache.get("k") == REPLY


def test_a_file_that_is_no_cache_is_told(tmp_path: Path) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"not a database, and longer than a header" * 100)
    with pytest.raises(StoreError, match="damaged: remove it"):
        ReplyCache(tmp_path / "replies.sqlite")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="can be written"):
        ReplyCache(tmp_path / "file" / "replies.sqlite")


def test_several_writers_wait_for_each_other(tmp_path: Path) -> None:
    def write(worker: int) -> None:
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            for n in range(100):
                cache.put(f"{worker} {n}", SPEC, Request((user("Q"),)), REPLY)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    with ReplyCache(tmp_path / "replies.sqlite") as cache:
        assert len(cache) == 400


def test_replies_are_json_on_one_line() -> None:
    assert "\n" not in reply_to_json(REPLY)
    assert reply_from_json(reply_to_json(REPLY)) == REPLY


def test_prompts_say_what_they_are_to_say() -> None:
    fields = {"text": "Which is <it> & {{why}}?", "options": ["A. red", "B. blue"], "letters": ["A", "B"]}
    assert (
        load_prompt("blind_letter")
        .render(**fields)
        .endswith(
            "\n\nWhich is <it> & {{why}}?\nA. red\nB. blue\n\n"
            "Reply with the letter of one option (A, B) and nothing else."
        )
    )
    assert load_prompt("blind_cloze").render(text="How many?") == "Question: How many?\nAnswer:"
    assert "\n\nHow many?\n\nReply with one number" in load_prompt("blind_number").render(text="How many?")


def test_a_prompt_is_strict_and_sandboxed_and_its_version_is_its_words() -> None:
    with pytest.raises(TemplateError, match="'text' is undefined"):
        load_prompt("blind_cloze").render(txt="How many?")
    with pytest.raises(TemplateError, match="unsafe"):
        Prompt("p", "{{ ''.__class__.__mro__ }}").render()
    with pytest.raises(TemplateError, match="prompt p"):
        Prompt("p", "{% if %}")
    with pytest.raises(TemplateError, match="cannot be read as a prompt"):
        load_prompt("no_such_prompt")
    assert Prompt("p", "a").version != Prompt("p", "b").version
    assert Prompt("p", "a").version == Prompt("p", "a").version
