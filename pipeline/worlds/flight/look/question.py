"""What a model is asked about a picture of one thing, in words of which it chooses, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pipeline.core.errors import StoreError
from pipeline.core.schema import Rejection
from pipeline.llm.base import Image, Reply, Request, user
from pipeline.llm.failures import CLOSED, ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.structured import structured
from pipeline.reading.maps.nouns import COLOURED
from pipeline.worlds.flight.look.paint import NAMES

Ask = Callable[[Request], Reply]
Answer = dict[str, str]

PROMPT: Final = "look_crop"
UNCLEAR: Final = "unclear"
ELSE: Final = "something else"
TALL, EVEN, WIDE = "taller than wide", "about as tall as wide", "wider than tall"
CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "kind": (*sorted(COLOURED), ELSE),
    "proportions": (TALL, EVEN, WIDE),
    "walls": NAMES,
    "roof": NAMES,
    "roof_shape": ("flat", "pitched", "pointed", "domed", "rounded"),
}
UNANSWERED: Final = "look_"  # before the kind of a failure, in the reason of a refusal


class UnansweredError(Exception):
    """There is no answer, and why."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.reason)


def request(jpeg: bytes, backwards: bool) -> Request:
    """The question about a picture; with the choices in the other order where ``backwards``."""
    offered = {name: _ordered(words, backwards) for name, words in CHOICES.items()}
    prompt = load_prompt(PROMPT)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: {"enum": words} for name, words in offered.items()},
        "required": list(offered),
        "additionalProperties": False,
    }
    return Request((user(prompt.render(choices=offered), Image(jpeg, "image/jpeg")),), schema, prompt=prompt.version)


def answer(ask: Ask, jpeg: bytes, backwards: bool) -> Answer:
    """What a model says of a picture. Raises UnansweredError, or StoreError where the build was stopped."""
    try:
        return dict(structured(ask(request(jpeg, backwards))))
    except ModelError as failure:
        if failure.kind == CLOSED:
            raise StoreError("the build was stopped while a model was asked; run it again") from None
        reason = f"{UNANSWERED}{failure.kind}"
        raise UnansweredError(Rejection(reason=reason, measured=1, limit=0, unit="failed calls")) from None


def _ordered(words: Sequence[str], backwards: bool) -> list[str]:
    """The words to choose from, and last that nobody can tell."""
    return [*(reversed(words) if backwards else words), UNCLEAR]
