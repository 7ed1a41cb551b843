"""Models behind the OpenAI protocol: OpenAI, and with ``base_url`` vLLM, Ollama, llama.cpp's server and others."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pipeline.llm.base import Image, Message, ModelSpec, Part, ProviderTerms, Reply, Request, Text, Usage
from pipeline.llm.failures import ModelError, check_response, error_of

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
            http_client=openai.DefaultAsyncHttpxClient(
                follow_redirects=False, event_hooks={"response": [check_response]}
            ),
        )

    async def complete(self, request: Request, terms: ProviderTerms) -> Reply:
        """One request. Raises ModelError."""
        sdk, body = self._sdk, self._body(request, terms)
        try:
            completion = await self._client.chat.completions.create(**body)
        except sdk.APIStatusError as error:
            headers = {k.lower(): v for k, v in error.response.headers.items()}
            raise error_of(error.status_code, _words(error), error.body, headers) from None
        except sdk.APITimeoutError:
            raise ModelError("timeout", f"no reply within {self._spec.timeout_s:g} s", passing=True) from None
        except sdk.APIConnectionError as error:
            if isinstance(error.__cause__, ModelError):  # of `check_response`
                raise error.__cause__ from None
            raise ModelError("connection", f"{error} {error.__cause__ or ''}", passing=True) from None
        except (sdk.APIError, ValueError, AttributeError, TypeError, IndexError) as error:
            raise ModelError("malformed", f"the server's reply cannot be read: {error}", passing=True) from None
        return read_completion(completion)

    async def score(self, prompt: str, options: Sequence[str]) -> Reply:
        """Not to be had: the protocol tells no likelihood of a given text."""
        raise ModelError("input", "hosted models do not tell the likelihood of a text")

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.close()

    def _body(self, request: Request, terms: ProviderTerms) -> dict[str, Any]:
        spec = self._spec
        body: dict[str, Any] = {
            "model": spec.model,
            "messages": [{"role": m.role, "content": _content(m)} for m in request.messages],
        }
        # OpenAI's own name for it since its reasoning models; other servers know the older one.
        names = ("max_tokens", "max_completion_tokens") if spec.base_url else ("max_completion_tokens", "max_tokens")
        body |= dict.fromkeys([name for name in names if name not in terms.without][:1], terms.max_tokens)
        if spec.temperature is not None:
            body["temperature"] = spec.temperature
        if request.schema is not None:
            named = {"name": "reply", "schema": dict(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        sent = {name: value for name, value in body.items() if name not in terms.without}
        extra = {name: value for name, value in spec.request.items() if name not in terms.without}
        return sent | ({"extra_body": extra} if extra else {})


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


def _words(error: openai.APIStatusError) -> str:
    """The server's words alone: the SDK puts the status and all of the body before them."""
    body = error.body
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        return str(inner.get("message") or inner)
    return str(inner or error.message)


def read_completion(completion: Any) -> Reply:
    """The reply in a chat completion, which the SDK builds from whatever came, unchecked. Raises ModelError.

    Content may be null, a text, or a list of parts (Mistral's thinking models). Some routers answer HTTP 200 with an
    error in the body; it counts as the error that it is.
    """
    if not hasattr(completion, "choices"):
        words = completion if isinstance(completion, str) else type(completion).__name__
        raise ModelError("malformed", f"the server's reply is no chat completion: {words!r}", passing=True)
    usage = _usage(getattr(completion, "usage", None))
    choice = completion.choices[0] if isinstance(completion.choices, list) and completion.choices else None
    error = getattr(completion, "error", None) or getattr(choice, "error", None)
    if error:
        raise _told_as_success(error, usage)
    if choice is None:
        raise ModelError("malformed", "the server's reply has no choices", passing=True, usage=usage)
    try:
        return _read(choice, usage)
    except (ValueError, AttributeError, TypeError, IndexError) as fault:
        words = f"the server's reply cannot be read: {fault}"
        raise ModelError("malformed", words, passing=True, usage=usage) from None


def _read(choice: Any, usage: Usage | None) -> Reply:
    """Reads a choice of a response; raises any of Python's lookup and type errors where it is malformed."""
    refusal = getattr(choice.message, "refusal", None)
    if refusal:
        raise ModelError("refused", str(refusal), usage=usage)
    text, finish = _text(choice.message.content), choice.finish_reason
    if text is None and finish is None:
        raise TypeError("neither content nor a reason to finish")
    written = (text or "").encode("utf-8", "replace").decode()  # of a sign cut in two, JSON has half: no text at all
    return Reply(written, usage, finish=str(finish or ""))


def _told_as_success(error: Any, usage: Usage | None) -> ModelError:
    """An error in the body of a reply with HTTP 200."""
    fields = error if isinstance(error, dict) else {"message": str(error)}
    code = fields.get("code")
    status = code if isinstance(code, int) and 400 <= code < 600 else 500
    failure = error_of(status, str(fields.get("message") or fields), fields)
    words = failure.message if status == code else f"HTTP 200 with an error: {fields.get('message') or fields}"
    return ModelError(failure.kind, words, failure.passing, failure.retry_after_s, failure.parameter, usage)


def _text(content: Any) -> str | None:
    """The words of a content; parts that are no text (thinking) are left out."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise TypeError(f"content is {type(content).__name__}")
    texts = [part if isinstance(part, str) else part.get("text") for part in content]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(usage: Any) -> Usage | None:
    """Tokens as told; None where the server does not tell both."""
    token_counts = [getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")]
    counts = [count for count in token_counts if isinstance(count, int) and count >= 0]
    return Usage(*counts) if len(counts) == len(token_counts) else None
