"""Why a model gave no reply, told without ever showing a key."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from pipeline.core.errors import ConfigError, Scan2qaError

MAX_CHARS: Final = 300  # of a server's own words
MIN_SECRET_CHARS: Final = 6  # shorter "keys" are placeholders such as "none"; words would be cut out of replies
# HTTP statuses after which the same request may succeed.
PASSING: Final = {408: "timeout", 409: "conflict", 425: "too_early", 429: "rate_limited"}
LASTING: Final = {400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 413: "too_long"}
# No other request to this model will fare better.
HOPELESS: Final = frozenset({"unauthorized", "forbidden", "not_found", "quota"})
CLOSED: Final = "closed"  # the asking was stopped
# The model has not had its say: another time the same request may have a reply.
UNANSWERED: Final = HOPELESS | set(PASSING.values()) | {"server_error", "connection", "unexpected", "not_recorded"}


class ModelError(Scan2qaError):
    """A request to a model ended without a reply.

    Args:
        kind: short machine-readable name: ``rate_limited``, ``server_error``, ``timeout``, ``connection``,
            ``malformed``, ``refused``, ``unauthorized``, ``quota``, …
        message: what happened.
        passing: whether it is worth trying again.
        retry_after_s: how long the server asks to wait.
    """

    def __init__(self, kind: str, message: str, passing: bool = False, retry_after_s: float | None = None) -> None:
        self.kind = kind
        self.message = " ".join(message.split())[:MAX_CHARS]
        self.passing = passing
        self.retry_after_s = retry_after_s
        super().__init__(kind, self.message, passing, retry_after_s)  # all of it, so that it survives pickling

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class MissingExtraError(ConfigError):
    """A provider's package is not installed."""


def status_error(status: int, message: str, retry_after_s: float | None = None) -> ModelError:
    """The failure that an HTTP status stands for."""
    message = f"HTTP {status}: {message}"
    if status == 429 and "insufficient_quota" in message:
        return ModelError("quota", message)
    if status in PASSING:
        return ModelError(PASSING[status], message, passing=True, retry_after_s=retry_after_s)
    if status >= 500:
        return ModelError("server_error", message, passing=True, retry_after_s=retry_after_s)
    return ModelError(LASTING.get(status, "bad_request"), message)


def retry_after_s(headers: Mapping[str, str], details: Any = None) -> float | None:
    """Seconds that a server asks to wait: header ``retry-after(-ms)``, or Google's ``retryDelay`` in the body."""
    raw = headers.get("retry-after")
    milliseconds = _seconds(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    if raw is not None:
        return _seconds(raw) if _seconds(raw) is not None else _until(raw)
    delay = re.search(r"""['"]retryDelay['"]: ?['"]([0-9.]+)s['"]""", str(details)) if details else None
    return _seconds(delay[1]) if delay else None


def redact(text: str, secret: str | None) -> str:
    """The text without the secret."""
    return text.replace(secret, "[key]") if secret and len(secret) >= MIN_SECRET_CHARS else text


def _seconds(raw: str | None) -> float | None:
    try:
        value = float(raw or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(date: str) -> float | None:
    """Seconds until an HTTP date; None if it is none."""
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)
