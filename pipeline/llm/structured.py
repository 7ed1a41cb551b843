"""Replies that are to be JSON: models put them into fences, and thoughts before them, whatever they are told."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import jsonschema

from pipeline.llm.base import JsonSchema, Reply
from pipeline.llm.failures import ModelError
from pipeline.metrics.replies import without_reasoning

_FENCED: Final = re.compile(r"```[a-zA-Z0-9]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)


def structured(reply: Reply) -> Any:
    """The value of a reply to a request with a schema, which the client has checked."""
    return json_value(reply.text)


def json_value(text: str) -> Any:
    """The JSON value that is all of `json_text`. Raises ValueError where that is none."""
    return json.loads(json_text(text))


def json_text(text: str) -> str:
    """A reply without the thoughts before it and the fence around it; with words around a fence only what is in it.

    A fence need not be closed: some models end with their last brace. A reply with several fences, or with none, is
    given as it is.
    """
    bare = without_reasoning(text).strip()
    fenced = _FENCED.findall(bare) if not bare.startswith(("{", "[", '"')) else []
    return str(fenced[0]).strip() if len(fenced) == 1 else bare


def check_schema(text: str, schema: JsonSchema) -> None:
    """Raises ModelError for a reply that does not follow its schema: asked again, and never kept."""
    try:
        jsonschema.validate(json_value(text), schema)
    except (ValueError, RecursionError) as error:
        raise ModelError("malformed", f"the reply is not JSON: {error}", passing=True) from None
    except jsonschema.ValidationError as error:
        raise ModelError("malformed", f"the reply does not follow the schema: {error.message}", passing=True) from None
