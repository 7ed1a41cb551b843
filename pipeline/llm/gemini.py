"""The two Gemini adapters: `Gemini` through google-genai, and `GeminiLegacy` through google-generativeai 0.8.6.

`Gemini` uploads a video once and names it in every request that shows it.

`GeminiLegacy` is for those who still use the old SDK, whose support ended in November 2025. It needs protobuf<6 and so
an environment of its own (``pip install -e '.[gemini-legacy]'`` there). Its asynchronous calls are broken over REST, so
the plain call runs in a thread. The SDK keeps one configuration per process, so two of these models in one build must
share key and endpoint; and google-auth below it sends a request with a refused key three times. Prefer `Gemini`, which
has none of these defects.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from pipeline.llm.base import Image, Message, ModelSpec, Part, ProviderTerms, Reply, Request, Text, Usage, VideoPart
from pipeline.llm.failures import ModelError, check_response, error_of

if TYPE_CHECKING:
    from google.genai import types


_POLL_S: Final = 1.0  # while an uploaded video is being processed


class Gemini:
    """``generateContent`` of the Gemini API."""

    def __init__(self, spec: ModelSpec, key: str | None) -> None:
        import httpx2
        from google.genai import Client, errors, types

        self._spec = spec
        self._types = types
        self._api_error = errors.APIError
        self._transport_error = httpx2.TransportError
        self._timeout_error = httpx2.TimeoutException
        limits = httpx2.Limits(max_connections=spec.concurrency, max_keepalive_connections=spec.concurrency)
        options = types.HttpOptions(
            base_url=spec.base_url,
            timeout=round(spec.timeout_s * 1000),
            # One attempt, said outright: without it the SDK sends again by itself where aiohttp is installed.
            retry_options=types.HttpRetryOptions(attempts=1),
            async_client_args={
                "limits": limits,
                "follow_redirects": False,
                "event_hooks": {"response": [check_response]},
            },
        )
        self._client = Client(vertexai=False, api_key=key, http_options=options)
        self._uploads: dict[str, asyncio.Task[tuple[str, str]]] = {}

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """One request. Raises ModelError."""
        try:
            contents = [await self._content(m) for m in request.messages if m.role != "system"]
            config = self._config(request, terms)
            response = await self._client.aio.models.generate_content(
                model=self._spec.model, contents=contents, config=config
            )
            return _reply(response)
        except self._api_error as error:
            headers = {k.lower(): v for k, v in getattr(error.response, "headers", {}).items()}
            raise error_of(int(error.code or 500), str(error.message), error.details, headers) from None
        except self._timeout_error:
            raise ModelError("timeout", f"no reply within {self._spec.timeout_s:g} s", passing=True) from None
        except self._transport_error as error:
            raise ModelError("connection", f"{type(error).__name__}: {error}", passing=True) from None
        except (ValueError, AttributeError, TypeError, IndexError) as error:  # pydantic's and json's among them
            raise ModelError("malformed", f"the server's reply cannot be read: {error}", passing=True) from None

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """Not to be had: the protocol tells no likelihood of a given text."""
        raise ModelError("input", "hosted models do not tell the likelihood of a text")

    async def close(self) -> None:
        """Removes what was uploaded and closes the connections."""
        for upload in self._uploads.values():
            if upload.done() and not upload.cancelled() and upload.exception() is None:
                try:
                    await self._client.aio.files.delete(name=upload.result()[0])
                except (self._api_error, self._transport_error):
                    continue  # uploads expire by themselves after two days
            else:
                upload.cancel()
        await self._client.aio.aclose()

    def _config(self, request: Request, terms: ProviderTerms) -> types.GenerateContentConfig:
        spec = self._spec
        fields: dict[str, Any] = {"max_output_tokens": terms.max_tokens}
        if "temperature" not in terms.without:
            fields["temperature"] = spec.temperature
        system = "\n".join(m.text for m in request.messages if m.role == "system")
        if system:
            fields["system_instruction"] = system
        if request.schema is not None:
            fields |= {"response_mime_type": "application/json", "response_json_schema": dict(request.schema)}
        return self._types.GenerateContentConfig.model_validate(fields | spec.request)

    async def _content(self, message: Message) -> types.Content:
        role = "model" if message.role == "assistant" else "user"
        return self._types.Content(role=role, parts=[await self._part(part) for part in message.parts])

    async def _part(self, part: Part) -> types.Part:
        if isinstance(part, Text):
            return self._types.Part.from_text(text=part.text)
        if isinstance(part, Image):
            return self._types.Part.from_bytes(data=part.data, mime_type=part.mime)
        _, uri = await self._uploaded(part)
        return self._types.Part.from_uri(file_uri=uri, mime_type=part.mime)

    async def _uploaded(self, video: VideoPart) -> tuple[str, str]:
        """Name and address of a video at the provider; uploaded once, however many requests wait for it."""
        upload = self._uploads.get(video.sha256)
        if upload is None or (upload.done() and (upload.cancelled() or upload.exception() is not None)):
            upload = asyncio.ensure_future(self._upload(video))
            self._uploads[video.sha256] = upload
        return await asyncio.shield(upload)

    async def _upload(self, video: VideoPart) -> tuple[str, str]:
        config = self._types.UploadFileConfig(mime_type=video.mime)
        file = await self._client.aio.files.upload(file=video.path, config=config)
        while file.state == self._types.FileState.PROCESSING:
            await asyncio.sleep(_POLL_S)
            file = await self._client.aio.files.get(name=file.name or "")
        if file.state == self._types.FileState.FAILED or not file.name or not file.uri:
            raise ModelError("refused", f"the video was not accepted ({file.state})")
        return file.name, file.uri


def _reply(response: types.GenerateContentResponse) -> Reply:
    """The reply; what a filter let through of it before it stepped in is judged by `replies.check_finish`."""
    used = response.usage_metadata
    usage = (
        Usage(used.prompt_token_count, (used.candidates_token_count or 0) + (used.thoughts_token_count or 0))
        if used and used.prompt_token_count is not None
        else None
    )
    if not response.candidates:
        feedback = response.prompt_feedback
        if feedback is None or feedback.block_reason is None:
            words = "the server's reply cannot be read: no candidates"
            raise ModelError("malformed", words, passing=True, usage=usage)
        raise ModelError("refused", f"the prompt is blocked: {feedback.block_reason.name}", usage=usage)
    candidate = response.candidates[0]
    reason = candidate.finish_reason.name if candidate.finish_reason else ""
    parts = candidate.content.parts if candidate.content else None
    text = "".join(part.text or "" for part in parts or () if not part.thought)
    if not text and not reason:
        words = "the server's reply cannot be read: neither text nor a reason to finish"
        raise ModelError("malformed", words, passing=True, usage=usage)
    return Reply(text, usage, finish=reason)


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

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """One request, in a thread. Raises ModelError."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._complete, request, terms)

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """Not to be had: the protocol tells no likelihood of a given text."""
        raise ModelError("input", "hosted models do not tell the likelihood of a text")

    async def close(self) -> None:
        """Ends the threads; a request under way ends by its own time limit."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _complete(self, request: Request, terms: ProviderTerms) -> Reply:
        spec, messages = self._spec, request.messages
        fields: dict[str, Any] = {"max_output_tokens": terms.max_tokens}
        if "temperature" not in terms.without:
            fields["temperature"] = spec.temperature
        if request.schema is not None:
            fields |= {"response_mime_type": "application/json", "response_schema": _legacy_schema(request.schema)}
        system = "\n".join(m.text for m in messages if m.role == "system")
        contents = [
            {"role": "model" if m.role == "assistant" else "user", "parts": [_legacy_part(p) for p in m.parts]}
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
            return _legacy_reply(response.to_dict(), reasons[0] if reasons else "")
        except self._api_error as error:
            headers = {k.lower(): v for k, v in getattr(error.response, "headers", {}).items()}
            raise error_of(int(error.code or 500), str(error.message), error.details, headers) from None
        except (self._retry_error, self._transport_error) as error:
            raise ModelError("connection", f"{type(error).__name__}: {error}", passing=True) from None
        except (self._parse_error, ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
            raise ModelError("malformed", f"the server's reply cannot be read: {error}", passing=True) from None


def _legacy_part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"text": part.text}
    if isinstance(part, Image):
        return {"inline_data": {"mime_type": part.mime, "data": part.data}}
    raise ModelError("input", "videos are uploaded by provider gemini, not by gemini-legacy")


def _legacy_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON schema as the SDK's own type; what it does not know is left out and checked by the client all the same."""
    kept: dict[str, Any] = {_SNAKE.get(k, k): v for k, v in schema.items() if k in _SCHEMA_KEYS}
    if "type" in kept:
        kept["type"] = str(kept["type"]).upper()
    if "properties" in kept:
        kept["properties"] = {name: _legacy_schema(value) for name, value in kept["properties"].items()}
    if "items" in kept:
        kept["items"] = _legacy_schema(kept["items"])
    return kept


def _legacy_reply(response: Mapping[str, Any], reason: str) -> Reply:
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
    return Reply(text, usage, finish=reason)
