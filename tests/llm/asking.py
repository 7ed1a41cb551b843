"""Questions to ask, and a run of `ask` in a process of its own that can be killed.

``python -m tests.llm.asking '{"cache": …, "questions": 100, "model": {…}}'`` asks and prints what came of it.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.blind.ask import ask
from pipeline.core.tables import QUESTIONS
from pipeline.llm.base import JsonSchema, Message, ModelSpec, Reply, Request
from pipeline.llm.cache import ReplyCache
from pipeline.llm.client import Client

KEY = "sk-PLANTED-0123456789abcdef"


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Questions with what a test does not care about filled in."""
    common = {"scene": "made/room1", "task": "colour", "text": "Which?", "ground_truth": "B"}
    return pa.Table.from_pylist([common | {"id": n} | row for n, row in enumerate(rows)], schema=QUESTIONS)


def lettered_questions(count: int) -> pa.Table:
    """Questions Q0, Q1, … whose answer is B, as the fake server's always is."""
    return table([{"text": f"Q{n}: which is it?", "options": ["A. red", "B. blue", "C. green"]} for n in range(count)])


def hosted(address: str, provider: str = "openai", **fields: Any) -> ModelSpec:
    """A model at the fake server."""
    base = f"{address}/v1" if provider == "openai" else address
    raw = {"provider": provider, "model": "plain", "base_url": base, "key_env": "PLANTED_KEY", "timeout_s": 20.0}
    return ModelSpec.model_validate(raw | fields)


def complete(spec: ModelSpec, tmp_path: Path, messages: Sequence[Message], schema: JsonSchema | None = None) -> Reply:
    """The reply of a model."""

    async def send() -> Reply:
        with ReplyCache(tmp_path / "replies.sqlite") as cache:
            async with Client(spec, cache, KEY) as client:
                return await client.ask(Request(tuple(messages), schema))

    return asyncio.run(send())


def main(cache: str, questions: int, model: dict[str, Any]) -> None:
    start = time.perf_counter()
    asked = ask(lettered_questions(questions), [ModelSpec.model_validate(model)], Path(cache), {"PLANTED_KEY": KEY})
    (account,) = asked.run.values()
    rows = asked.replies.to_pylist()
    done = {
        "seconds": time.perf_counter() - start,
        "rows": len(rows),
        "replies": sum(row["reply"] is not None for row in rows),
        "failures": Counter(row["failure"] for row in rows if row["failure"]),
        "asked": account.asked,
        "cached": account.cached,
        "sent": account.sent,
        "trouble": account.trouble,
    }
    print(json.dumps(done))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
