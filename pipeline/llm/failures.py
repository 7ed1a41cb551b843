"""Failures of models: error kinds, redaction of keys, and the interpretation of the error bodies of today's APIs.

Errors are read from structured bodies rather than from their words where that is possible. The bodies as of 2025:
OpenAI's ``{"error": {"message", "type", "param", "code"}}``, which vLLM, Ollama, llama.cpp, OpenRouter and DeepSeek
have adopted with fewer fields; and Google's ``{"error": {"code", "message", "status", "details":
[{"@type": …QuotaFailure | …ErrorInfo | …RetryInfo}]}}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pipeline.core.errors import Scan2qaError, StoreError
from pipeline.core.templates import load_table
from pipeline.llm.base import Usage

MAX_CHARS: Final = 300  # of a server's own words
BODY_BYTES_MAX: Final = 16 * 2**20  # of a reply, unpacked; one with log-probabilities takes some hundred kB
MIN_SECRET_CHARS: Final = 6  # shorter "keys" are placeholders such as "none"; words would be cut out of replies
RATE_LIMITED: Final = "rate_limited"
UNSUPPORTED: Final = "unsupported"  # the server refuses a parameter, and says which
CUT: Final = "cut"  # the reply reached its limit of tokens
BUDGET: Final = "budget"  # no money is left for it
DOWN: Final = "down"  # so many requests in a row had no reply that no more are sent
CLOSED: Final = "closed"  # the asking was stopped
TIMEOUT: Final = "timeout"
# No other request to this model will fare better, whatever was answered before.
STOPPING: Final = frozenset({"unauthorized", "quota", BUDGET, DOWN})
# The same, unless the model has answered before: then it concerned the one request.
HOPELESS: Final = STOPPING | {"forbidden", "not_found"}
# The server is ill, or the way to it.
ILL: Final = frozenset({"server_error", TIMEOUT, "connection"})
# The model has not had its say: another time the same request may have a reply.
UNANSWERED: Final = HOPELESS | ILL | {RATE_LIMITED, "conflict", "too_early", "unexpected", "not_recorded", "unfinished"}


class ModelError(Scan2qaError):
    """A request to a model ended without a reply.

    Args:
        kind: short machine-readable name: ``rate_limited``, ``server_error``, ``timeout``, ``connection``,
            ``malformed``, ``refused``, ``unauthorized``, ``quota``, ``cut``, ``budget``, …
        message: what happened.
        passing: whether it is worth trying again.
        retry_after_s: how long the server asks to wait.
        parameter: what the server refuses, of an ``unsupported`` request.
        usage: what is to be paid all the same; None: nothing, or the server did not say.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        passing: bool = False,
        retry_after_s: float | None = None,
        parameter: str | None = None,
        usage: Usage | None = None,
    ) -> None:
        self.kind = kind
        self.message = " ".join(message.split())[:MAX_CHARS]
        self.passing = passing
        self.retry_after_s = retry_after_s
        self.parameter = parameter
        self.usage = usage
        # All of it, so that it survives pickling.
        super().__init__(kind, self.message, passing, retry_after_s, parameter, usage)

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"

    def without(self, secret: str | None) -> ModelError:
        """The same without a secret, and without a cause: an SDK's exception holds its request, and that the key."""
        words = redact(self.message, secret)
        return ModelError(self.kind, words, self.passing, self.retry_after_s, self.parameter, self.usage)


def refuse_stopped(failure: ModelError) -> None:
    """Raises StoreError where the asking was stopped: the result would hold what a model never had its say of."""
    if failure.kind == CLOSED:
        raise StoreError("the build was stopped while a model was asked; run it again") from None


async def check_response(response: Any) -> None:
    """Reads the body of a response of httpx or httpx2, as an event hook of the client.

    Raises ModelError for a body of over `BODY_BYTES_MAX`, and for a redirection: the prompt would go to another server,
    and its reply would count as the model's.
    """
    if response.is_redirect:
        there = response.headers.get("location", "")
        raise ModelError("not_found", f"the server sends the request on to {there!r}; set base_url, if that is right")
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        parts.append(part)
        size += len(part)
        if size > BODY_BYTES_MAX:
            await response.aclose()
            raise ModelError("malformed", f"the reply has over {BODY_BYTES_MAX} bytes")
    response._content = b"".join(parts)  # what `aread` sets and gives


def redact(text: str, secret: str | None) -> str:
    """The text without the secret."""
    return text.replace(secret, "[key]") if secret and len(secret) >= MIN_SECRET_CHARS else text


# HTTP statuses after which the same request may succeed.
PASSING: Final = {408: "timeout", 409: "conflict", 425: "too_early", 429: RATE_LIMITED}
LASTING: Final[dict[int, str]] = load_table("llm/failures")["statuses"]
# ``error.code`` or ``error.type`` -> kind of failure, whatever the status.
_CODES: Final[dict[str, str]] = load_table("llm/failures")["codes"]
# Google's ``reason`` of an ErrorInfo; a refused key comes with HTTP 400.
_REASONS: Final[dict[str, str]] = load_table("llm/failures")["reasons"]
_REFUSED_PARAMETERS: Final = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
_REFUSED_IN_WORDS: Final = re.compile(
    r"(?:unsupported (?:parameter|value)s?|unrecognized request arguments?(?: supplied)?|unknown parameter)"
    r"[\s:'\"`]*(\w+)",
    re.IGNORECASE,
)
_REASON: Final = re.compile(r"""['"]?\breason['"]?: ?['"]([A-Z_]+)['"]""")
_QUOTA: Final = re.compile(r"""['"]?\bquota_?[iI]d['"]?: ?['"]([^'"]+)['"]""")
# OpenAI names a day's limit in words alone: "… on requests per day (RPD): Limit 200, Used 200, …".
_PER_DAY: Final = re.compile(r"\bper day\b|\b[RT]PD\b")
_DELAY: Final = re.compile(r"""['"]?\bretry_?[dD]elay['"]?: ?['"]([0-9.]+)s['"]""")
_WAIT_IN_WORDS: Final = re.compile(
    r"(?:try again|retry) in (?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+)ms)?"
)
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def error_of(status: int, message: str, body: Any = None, headers: Mapping[str, str] | None = None) -> ModelError:
    """The failure that an error reply stands for.

    Args:
        status: HTTP status.
        message: the server's words.
        body: the reply, or the object under its key ``error``; anything else is looked through as text.
        headers: names in lower case.
    """
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else {}
    message = f"HTTP {status}: {message}"
    kind = _kind(status, message, fields, str(body))
    parameter = _refused_parameter(fields, message) if kind == "bad_request" else None
    if parameter:
        return ModelError(UNSUPPORTED, message, passing=True, parameter=parameter)
    if kind is not None:
        return ModelError(kind, message)
    wait_s = retry_after_s(headers or {}, body, message)
    return ModelError(PASSING.get(status, "server_error"), message, passing=True, retry_after_s=wait_s)


def _kind(status: int, message: str, fields: Mapping[str, Any], text: str) -> str | None:
    """The kind of a failure that lasts; None for one that may pass."""
    named = [_CODES[str(fields.get(key))] for key in ("code", "type") if str(fields.get(key)) in _CODES]
    reasons = [_REASONS[reason] for reason in _REASON.findall(text) if reason in _REASONS]
    if named or reasons:
        return [*named, *reasons][0]
    if status == 429 and (any("PerDay" in quota for quota in _QUOTA.findall(text)) or _PER_DAY.search(message)):
        return "quota"
    if fields.get("status") == "FAILED_PRECONDITION":
        return "forbidden"  # Google: the location is not supported, or billing must be switched on
    return None if status in PASSING or status >= 500 else LASTING.get(status, "bad_request")


def _refused_parameter(fields: Mapping[str, Any], message: str) -> str | None:
    if fields.get("code") in _REFUSED_PARAMETERS and fields.get("param"):
        return str(fields["param"]).partition(".")[0]
    found = _REFUSED_IN_WORDS.search(message)
    return found[1] if found else None


def retry_after_s(headers: Mapping[str, str], body: Any = None, message: str = "") -> float | None:
    """Seconds that a server asks to wait: header ``retry-after(-ms)``, Google's ``retryDelay``, or its words."""
    raw = headers.get("retry-after")
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    if raw is not None:
        return _seconds(raw) if _seconds(raw) is not None else _seconds_until(raw)
    delay = _DELAY.search(str(body)) if body else None
    if delay:
        return _seconds(delay[1])
    words = _WAIT_IN_WORDS.search(message)
    parts = [float(n) * _SECONDS[unit] for unit, n in words.groupdict().items() if n] if words else []
    return sum(parts) if parts else None


def _seconds(raw: str | None) -> float | None:
    try:
        value = float(raw or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _seconds_until(date: str) -> float | None:
    """Seconds until an HTTP date; None if it is none."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
