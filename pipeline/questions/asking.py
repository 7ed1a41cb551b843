"""One call to a model on the way to a question, and why the way ended there."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Iterable
from typing import Any, Final

import jsonschema

from pipeline.core.errors import StoreError
from pipeline.core.schema import Rejection
from pipeline.llm.base import JsonSchema, Reply, Request, user
from pipeline.llm.failures import CLOSED, UNANSWERED, ModelError
from pipeline.llm.prompts import load_prompt
from pipeline.llm.shown import Shown
from pipeline.llm.structured import json_text

Ask = Callable[[Request], Reply]
MALFORMED: Final = "malformed"
MODEL_ASSISTED: Final = "model_assisted"  # flag of everything that a model wrote
_SPACE: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


class RefusedError(Exception):
    """There is no question, and why."""

    def __init__(self, rejection: Rejection) -> None:
        self.rejection = rejection
        super().__init__(rejection.reason)


def take(step: str, ask: Ask, schema: JsonSchema, shown: Shown | None, **fields: Any) -> Any:
    """What a model answers to the prompt ``author_<step>`` and what it is shown, following a schema.

    Raises RefusedError with the reason ``<step>_<kind of failure>`` where there is no such answer.
    """
    prompt = load_prompt(f"author_{step}")
    text = prompt.render(shown=shown, **fields)
    request = Request((user(text, *(shown.parts if shown else ())),), schema, prompt=prompt.version)
    reply = reply_to(step, ask, request)
    try:
        return value_of(reply, schema)
    except ModelError as failure:
        raise _refused(step, failure) from None


def reply_to(step: str, ask: Ask, request: Request) -> str:
    """The words of a reply. Raises RefusedError, or StoreError where the build was stopped."""
    try:
        return ask(request).text
    except ModelError as failure:
        if failure.kind == CLOSED:
            raise StoreError("the build was stopped while a model was asked; run it again") from None
        raise _refused(step, failure) from None


def _refused(step: str, failure: ModelError) -> RefusedError:
    return RefusedError(Rejection(reason=f"{step}_{failure.kind}", measured=1, limit=0, unit="failed calls"))


def was_answered(reasons: Collection[str], steps: Iterable[str]) -> bool:
    """Whether no call of these steps was left without an answer, by the reasons of refusals."""
    return not any(f"{step}_{kind}" in reasons for step in steps for kind in UNANSWERED)


def quoted(text: str) -> str:
    """A text as data within a prompt: a JSON string, which ends neither its line nor its quotation."""
    return json.dumps(text, ensure_ascii=False)


def line(text: str) -> str:
    """A text on one line, without control characters."""
    return _SPACE.sub(" ", text).strip()


def value_of(text: str, schema: JsonSchema) -> Any:
    """The JSON value of a reply (`json_text`) that follows a schema. Raises ModelError for anything else.

    Anything else: words around it, a number that is none, a text that is no Unicode.
    """
    try:
        value = json.loads(json_text(text), parse_constant=_number, parse_float=_number, parse_int=_number)
        json.dumps(value, ensure_ascii=False).encode()
        jsonschema.validate(value, schema)
    except (ValueError, RecursionError) as error:
        raise ModelError(MALFORMED, f"the reply is not JSON: {error}") from None
    except jsonschema.ValidationError as error:
        raise ModelError(MALFORMED, f"the reply does not follow the schema: {error.message}") from None
    return value


def record(**properties: Any) -> dict[str, Any]:
    """JSON schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def listed(items: dict[str, Any], least: int, most: int) -> dict[str, Any]:
    """JSON schema of a list."""
    return {"type": "array", "items": items, "minItems": least, "maxItems": most}


def _number(raw: str) -> float:
    value = float(raw)
    if not math.isfinite(value):
        raise ValueError(f"{raw} is no number to work with")
    return value
