"""What each error of today's APIs is taken for."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.llm.failures import error_of, retry_after_s
from tests.llm import bodies

LASTING = [
    (429, bodies.INSUFFICIENT_QUOTA, "quota"),
    (400, bodies.BILLING_LIMIT, "quota"),
    (429, bodies.DAY_LIMIT, "quota"),
    (401, bodies.WRONG_KEY, "unauthorized"),
    (402, bodies.NO_BALANCE, "quota"),
    (402, bodies.NO_CREDITS, "quota"),
    (404, bodies.NO_MODEL, "not_found"),
    (400, bodies.TOO_LONG, "too_long"),
    (400, bodies.LLAMA_TOO_LONG, "too_long"),
    (400, bodies.AZURE_FILTER, "refused"),
    (400, bodies.VLLM_BAD, "bad_request"),
    (429, bodies.GEMINI_DAY, "quota"),
    (400, bodies.GEMINI_KEY, "unauthorized"),
    (403, bodies.GEMINI_LEAKED, "forbidden"),
    (400, bodies.GEMINI_LOCATION, "forbidden"),
    (404, bodies.GEMINI_MODEL, "not_found"),
    (400, bodies.GEMINI_BAD, "bad_request"),
    (418, "a teapot", "bad_request"),
    (401, None, "unauthorized"),
    (413, "<html>too large</html>", "too_long"),
]
PASSING = [
    (429, bodies.RATE_LIMIT, "rate_limited", 20.0),
    (429, bodies.GEMINI_MINUTE, "rate_limited", 34.07),
    (503, bodies.OVERLOADED, "server_error", None),
    (503, bodies.GEMINI_OVERLOADED, "server_error", None),
    (529, None, "server_error", None),
    (408, None, "timeout", None),
    (429, "<html>slow down</html>", "rate_limited", None),
]


def words(body: Any) -> str:
    inner = body.get("error", body) if isinstance(body, dict) else body
    return str(inner["message"]) if isinstance(inner, dict) else str(inner)


@pytest.mark.parametrize(("status", "body", "kind"), LASTING)
@pytest.mark.parametrize("inner", [False, True])
def test_what_lasts(status: int, body: Any, kind: str, inner: bool) -> None:
    """The OpenAI SDK hands on the object under ``error``, Google's the whole body."""
    seen = body["error"] if inner and isinstance(body, dict) and "error" in body else body
    failure = error_of(status, words(body), seen)
    assert (failure.kind, failure.passing) == (kind, False)
    assert failure.message.startswith(f"HTTP {status}: {words(body)}"[:300])


@pytest.mark.parametrize(("status", "body", "kind", "wait_s"), PASSING)
def test_what_passes_and_after_how_long(status: int, body: Any, kind: str, wait_s: float | None) -> None:
    failure = error_of(status, words(body), body)
    assert (failure.kind, failure.passing, failure.retry_after_s) == (kind, True, wait_s)


@pytest.mark.parametrize(
    ("body", "parameter"),
    [
        (bodies.NO_TEMPERATURE, "temperature"),
        (bodies.NO_MAX_TOKENS, "max_tokens"),
        (bodies.UNRECOGNIZED, "max_completion_tokens"),
    ],
)
def test_a_refused_parameter_is_named(body: dict[str, Any], parameter: str) -> None:
    failure = error_of(400, words(body), body)
    assert (failure.kind, failure.passing, failure.parameter) == ("unsupported", True, parameter)


@pytest.mark.parametrize(
    ("headers", "message", "seconds"),
    [
        ({"retry-after": "12"}, "try again in 3s", 12.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, "", 0.25),
        ({"retry-after": "nan"}, "", None),
        ({"retry-after": "Fri, 21 Oct 1988 07:28:00 GMT"}, "", 0.0),
        ({}, "Please try again in 7m12.5s.", 432.5),
        ({}, "Please try again in 1h2m3s", 3723.0),
        ({}, "Please retry in 850ms", 0.85),
        ({}, "try again in a while", None),
    ],
)
def test_how_long_a_server_asks_to_wait(headers: dict[str, str], message: str, seconds: float | None) -> None:
    assert retry_after_s(headers, None, message) == seconds


def test_an_http_date_in_the_future_is_a_wait() -> None:
    wait_s = retry_after_s({"retry-after": "Fri, 21 Oct 2185 07:28:00 GMT"})
    assert wait_s > 1e9
