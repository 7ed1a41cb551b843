"""Why a reply ended: whole, cut, refused, or for a reason that no one here knows."""

from __future__ import annotations

from typing import Final

from pipeline.llm.base import Reply
from pipeline.llm.failures import CUT, ModelError

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
