"""Gemini through google-generativeai 0.8.6, for those who still use it. Its support ended in November 2025.

It needs protobuf<6 and so an environment of its own (``pip install -e '.[gemini-legacy]'`` there). Its asynchronous
calls are broken over REST: the plain call runs in a thread here. The SDK keeps one configuration per process, so two of
these models in one build must share key and endpoint; and below it google-auth sends a request with a refused key three
times. `gemini` has none of this and is to be preferred.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from pipeline.llm.base import Image, ModelSpec, Part, Reply, Request, Terms, Text
from pipeline.llm.error_bodies import error_of
from pipeline.llm.failures import ModelError
from pipeline.llm.usage import Usage

# Of JSON schema, what the SDK's own schema type knows.
_SCHEMA_KEYS: Final = frozenset(
    {"type", "properties", "required", "items", "enum", "description", "minItems", "maxItems"}
)
_SNAKE: Final = {"minItems": "min_items", "maxItems": "max_items"}


class GeminiLegacy:
    """``generateContent`` over REST, in threads; pictures yes, videos only by `gemini`."""

    def __init__(self, spec: ModelSpec, key: str | None) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # that its support has ended: said above
            import google.generativeai as sdk
        import google.api_core.exceptions
        import requests
        from google.protobuf import json_format

        self._sdk: Any = sdk
        self._spec = spec
        self._api_error: Any = google.api_core.exceptions.GoogleAPICallError
        self._retry_error: Any = google.api_core.exceptions.RetryError
        self._transport_error = requests.RequestException
        self._parse_error: Any = json_format.Error
        options = {"api_endpoint": spec.base_url} if spec.base_url else None
        sdk.configure(api_key=key, transport="rest", client_options=options)
        self._threads = ThreadPoolExecutor(max_workers=spec.concurrency, thread_name_prefix="gemini-legacy")

    async def complete(self, request: Request, terms: Terms) -> Reply:
        """One request, in a thread. Raises ModelError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._complete, request, terms)

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """Not to be had: the protocol tells no likelihood of a given text."""
        raise ModelError("input", "hosted models do not tell the likelihood of a text")

    async def close(self) -> None:
        """Ends the threads; a request under way ends by its own time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _complete(self, request: Request, terms: Terms) -> Reply:
        spec, messages = self._spec, request.messages
        fields: dict[str, Any] = {"max_output_tokens": terms.max_tokens}
        if "temperature" not in terms.without:
            fields["temperature"] = spec.temperature
        if request.schema is not None:
            fields |= {"response_mime_type": "application/json", "response_schema": _schema(request.schema)}
        if request.logprobs:
            fields["response_logprobs"] = True
        system = "\n".join(m.text for m in messages if m.role == "system")
        contents = [
            {"role": "model" if m.role == "assistant" else "user", "parts": [_part(p) for p in m.parts]}
            for m in messages
            if m.role != "system"
        ]
        try:
            model = self._sdk.GenerativeModel(spec.model, system_instruction=system or None)
            response = model.generate_content(
                contents,
                generation_config=fields | spec.request,
                request_options={"timeout": spec.timeout_s, "retry": None},
            )
            reasons = [candidate.finish_reason.name for candidate in response.candidates]
            return _reply(response.to_dict(), reasons[0] if reasons else "")
        except self._api_error as error:
            headers = {k.lower(): v for k, v in getattr(error.response, "headers", {}).items()}
            raise error_of(int(error.code or 500), str(error.message), error.details, headers) from None
        except (self._retry_error, self._transport_error) as error:
            raise ModelError("connection", f"{type(error).__name__}: {error}", passing=True) from None
        except (self._parse_error, ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
            raise ModelError("malformed", f"the server's reply cannot be read: {error}", passing=True) from None


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Image):
        return {"inline_data": {"mime_type": part.mime, "data": part.data}}
    raise ModelError("input", "videos are uploaded by provider gemini, not by gemini-legacy")


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as the SDK's own type; what it does not know is left out and checked by the client all the same."""
    kept: dict[str, Any] = {_SNAKE.get(k, k): v for k, v in schema.items() if k in _SCHEMA_KEYS}
    if "type" in kept:
        kept["type"] = str(kept["type"]).upper()
    if "properties" in kept:
        kept["properties"] = {name: _schema(value) for name, value in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _schema(kept["items"])
    return kept


def _reply(response: Mapping[str, Any], reason: str) -> Reply:
    used = response.get("usage_metadata") or {}
    counts = (used.get("prompt_token_count"), used.get("candidates_token_count", 0))
    usage = Usage(int(counts[0]), int(counts[1])) if counts[0] is not None else None
    candidates = response.get("candidates") or []
    if not candidates:
        blocked = (response.get("prompt_feedback") or {}).get("block_reason")
        if not blocked:
            raise TypeError("no candidates")
        raise ModelError("refused", f"the prompt is blocked: {blocked}", usage=usage)
    candidate = candidates[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts)
    if not text and reason in {"", "FINISH_REASON_UNSPECIFIED"}:
        raise TypeError("neither text nor a reason to finish")
    chosen = (candidate.get("logprobs_result") or {}).get("chosen_candidates")
    pairs = tuple((c.get("token", ""), float(c.get("log_probability", 0.0))) for c in chosen) if chosen else None
    return Reply(text, usage, pairs, reason)
