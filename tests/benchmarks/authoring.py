"""Models that write open questions, and second models that answer them, for the authors of several benchmarks."""

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.llm.base import Image, Reply, Request
from pipeline.llm.session import Session
from pipeline.questions.open_items import OpenItem
from tests.llm.asking import KEY, hosted
from tests.llm.fake_server import running

Model = Callable[[Request], str]
Ask = Callable[[Request], Reply]


def items_of(path: Path) -> list[tuple[list[str], OpenItem, str]]:
    """The items of a file: what they are about, the item, and what is wrong with it."""
    found = []
    for row in path.read_text().splitlines():
        if not row.startswith("#"):
            *about, question, answer, accepted, wrong, bad = (part.strip() for part in row.split("|"))
            forms = tuple(form.strip() for form in accepted.split(";") if form.strip())
            found.append(
                (about, OpenItem(question, answer, forms, tuple(o.strip() for o in wrong.split(";")), ""), bad)
            )
    return found


def assert_told_apart(judged: Sequence[tuple[str | None, OpenItem, str]]) -> None:
    """Of at least 40 bad items, and as many good ones, no more than a tenth are taken for the other."""
    passed = [f"{bad}: {item.question} {item.answer}" for why, item, bad in judged if bad and why is None]
    failed = [f"{why}: {item.question} {item.answer}" for why, item, bad in judged if not bad and why]
    assert min(sum(bool(bad) for *_, bad in judged), sum(not bad for *_, bad in judged)) >= 40
    assert len(passed) <= 0.1 * sum(bool(bad) for *_, bad in judged), passed
    assert len(failed) <= 0.1 * sum(not bad for *_, bad in judged), failed


def models_of(replies: Iterable[Any], second: Model | None, blind: str) -> tuple[list[Ask], list[Request]]:
    """A model that writes, and guesses ``blind``, and a second one; and the list of all that the first is asked."""
    left, sent = list(replies), list[Request]()

    def writer(request: Request) -> Reply:
        sent.append(request)
        if request.schema is None:
            return Reply(blind)
        reply = left.pop(0)
        return Reply(reply if isinstance(reply, str) else json.dumps(reply))

    return [writer, *([lambda request: Reply(second(request))] if second else [])], sent


def agreeing(
    right: str, more: Sequence[str] = (), holds: bool = True, saw: list[bytes] | None = None, told: str = ""
) -> Model:
    """A second model that finds an option right where it is shown pictures, or ``told`` something; ``saw`` grows."""

    def answer(request: Request) -> str:
        text = request.messages[0].text
        pictures = [part.data for part in request.messages[0].parts if isinstance(part, Image)]
        if saw is not None:
            saw.extend(pictures)
        if request.schema is not None:
            letters = [line[0] for line in text.splitlines() if line[1:2] == "." and line[3:] in (right, *more)]
            return json.dumps({"right": letters, "holds": holds})
        return right if pictures or (told and told in text) else "I cannot know"

    return answer


def written_twice(
    write: Callable[[Sequence[Ask]], pa.Table], provider: str, replies: dict[str, str], cache: Path, **more: Any
) -> pa.Table:
    """What is written over a provider's protocol, the same twice, and asked once."""
    with running(replies=replies) as server:
        specs = [
            hosted(server.address, provider, attempts=1, **more),
            hosted(server.address, provider, name="other", **more),
        ]
        tables = []
        for _ in range(2):
            with Session(specs, cache, {"PLANTED_KEY": KEY}) as session:
                tables.append(write([lambda r, name=spec.name: session.ask(name, r) for spec in specs]))
        sent = len(server.records())
    assert tables[0].equals(tables[1])
    assert sent == 4, "to write, to guess (both alike), with what it is about, and for all that may be called right"
    return tables[0]
