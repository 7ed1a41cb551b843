"""Checks of a reply: it is complete and, where JSON was requested, it is JSON.

Models put JSON into fences, and reasoning before it, whatever the prompt says.
"""

import json
import re
from typing import Any, Final

from pipeline.llm.base import JsonSchema, Reply
from pipeline.llm.failures import CUT, ModelError
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
    import jsonschema  # takes a while to start

    try:
        jsonschema.validate(json_value(text), schema)
    except (ValueError, RecursionError) as error:
        raise ModelError("malformed", f"the reply is not JSON: {error}", passing=True) from None
    except jsonschema.ValidationError as error:
        raise ModelError("malformed", f"the reply does not follow the schema: {error.message}", passing=True) from None


# In lower case. "" and null: the server does not tell; some small ones never do.
WHOLE: Final = frozenset(
    {"", "stop", "eos", "eos_token", "end_turn", "stop_sequence", "completed", "finish_reason_unspecified"}
)
CUT_BY: Final = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
)
# OpenAI's, Azure's, Anthropic's behind an OpenAI front, and Google's.
REFUSED_BY: Final = frozenset(
    {"content_filter", "refusal", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety"}
    | {"language", "image_prohibited_content", "image_recitation"}
)


def check_finish(reply: Reply) -> None:
    """Raises ModelError unless the reply is whole: none but a whole one may be read, kept or paid for once only.

    A reason that is not known is tried again: routers tell ``error`` and vLLM ``abort`` where the text stops anywhere.
    """
    reason = reply.finish.lower()
    if reason in WHOLE:
        return
    if reason in CUT_BY:
        took = f" after {reply.usage.output_tokens} tokens" if reply.usage else ""
        raise ModelError(CUT, f"the reply was cut{took}: give the model more room (max_tokens)")
    if reason in REFUSED_BY:
        raise ModelError("refused", f"no answer: {reply.finish}")
    raise ModelError("unfinished", f"the reply ended for a reason that is not known: {reply.finish}", passing=True)
