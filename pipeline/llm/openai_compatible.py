"""Models behind the OpenAI protocol: OpenAI, and with ``base_url`` vLLM, Ollama, llama.cpp's server and others."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline.llm.base import Image, JsonSchema, Message, ModelSpec, Part, Reply, Text, Usage
from pipeline.llm.failures import ModelError, retry_after_s, status_error

if TYPE_CHECKING:
    import openai

_NO_KEY: Final = "none"  # the SDK wants one, a server of one's own does not


class OpenAICompatible:
    """Chat completions."""

    def __init__(self, spec: ModelSpec, key: str | None) -> None:
        import openai

        self._sdk = openai
        self._spec = spec
        self._client = openai.AsyncOpenAI(
            api_key=key or _NO_KEY,
            base_url=spec.base_url or "https://api.openai.com/v1",  # never from the environment
            timeout=spec.timeout_s,
            max_retries=0,
        )

    async def complete(
        self, messages: Sequence[Message], schema: JsonSchema | None = None, logprobs: bool = False
    ) -> Reply:
        """One request. Raises ModelError."""
        sdk, body = self._sdk, self._body(messages, schema, logprobs)
        try:
            completion = await self._client.chat.completions.create(**body)
            return _reply(completion, logprobs)
        except sdk.APIStatusError as error:
            headers = {k.lower(): v for k, v in error.response.headers.items()}
            raise status_error(error.status_code, error.message, retry_after_s(headers)) from None
        except sdk.APITimeoutError:
            raise ModelError("timeout", f"no reply within {self._spec.timeout_s:g} s", passing=True) from None
        except sdk.APIConnectionError as error:
            raise ModelError("connection", f"{error} {error.__cause__ or ''}", passing=True) from None
        except (sdk.APIError, ValueError, AttributeError, TypeError, IndexError) as error:
            # The SDK builds its objects from whatever came, unchecked: a cut body shows only here.
            raise ModelError("malformed", f"the server's reply cannot be read: {error}", passing=True) from None

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """Not to be had: the protocol tells no likelihood of a given text."""
        raise ModelError("input", "hosted models do not tell the likelihood of a text")

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def _body(self, messages: Sequence[Message], schema: JsonSchema | None, logprobs: bool) -> dict[str, Any]:
        spec = self._spec
        body: dict[str, Any] = {
            "model": spec.model,
            "messages": [{"role": m.role, "content": _content(m)} for m in messages],
            # OpenAI's own name for it since its reasoning models; other servers know the older one.
            ("max_tokens" if spec.base_url else "max_completion_tokens"): spec.max_tokens,
        }
        if spec.temperature is not None:
            body["temperature"] = spec.temperature
        if logprobs:
            body["logprobs"] = True
        if schema is not None:
            named = {"name": "reply", "schema": dict(schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body | ({"extra_body": spec.request} if spec.request else {})


def _content(message: Message) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in message.parts):
        return message.text
    return [_part(part) for part in message.parts]


def _part(part: Part) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    data = part.data if isinstance(part, Image) else part.path.read_bytes()
    url = f"data:{part.mime};base64,{base64.b64encode(data).decode()}"
    # video_url is vLLM's and others' extension; OpenAI itself refuses it.
    return {"type": f"{part.kind}_url", f"{part.kind}_url": {"url": url}}


def _reply(completion: openai.types.chat.ChatCompletion, logprobs: bool) -> Reply:
    choice = completion.choices[0]
    refusal = getattr(choice.message, "refusal", None)
    if refusal or choice.finish_reason == "content_filter":
        raise ModelError("refused", refusal or "the server's content filter")
    text = choice.message.content
    if not isinstance(text, str | None):
        raise TypeError(f"content is {type(text).__name__}")
    if text is None and choice.finish_reason is None:
        raise TypeError("neither content nor a reason to finish")
    usage = completion.usage
    tokens = choice.logprobs.content if logprobs and choice.logprobs and choice.logprobs.content else None
    return Reply(
        text or "",
        Usage(int(usage.prompt_tokens), int(usage.completion_tokens)) if usage else Usage(),
        tuple((t.token, float(t.logprob)) for t in tokens) if tokens is not None else None,
    )
