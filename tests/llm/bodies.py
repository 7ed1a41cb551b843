"""Error bodies as the APIs send them, copied from their documentation and from reports of 2025, names shortened."""

from typing import Any

_GOOGLE = "type.googleapis.com/google.rpc."


def openai(message: str, type: str | None, param: str | None = None, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


def gemini(code: int, message: str, status: str, *details: dict[str, Any]) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status, "details": list(details)}}


def google_quota(quota_id: str, value: str, delay: str | None) -> dict[str, Any]:
    metric = "generativelanguage.googleapis.com/generate_content_free_tier_requests"
    dimensions = {"location": "global", "model": "gemini-2.5-flash"}
    violation = {"quotaMetric": metric, "quotaId": quota_id, "quotaDimensions": dimensions, "quotaValue": value}
    details = [
        {"@type": f"{_GOOGLE}Help", "links": [{"description": "Learn more about Gemini API quotas", "url": "x"}]},
        {"@type": f"{_GOOGLE}QuotaFailure", "violations": [violation]},
    ]
    if delay:
        details.append({"@type": f"{_GOOGLE}RetryInfo", "retryDelay": delay})
    words = "You exceeded your current quota, please check your plan and billing details."
    return gemini(429, words, "RESOURCE_EXHAUSTED", *details)


INSUFFICIENT_QUOTA = openai(
    "You exceeded your current quota, please check your plan and billing details. For more information on this error, "
    "read the docs.",
    "insufficient_quota",
    code="insufficient_quota",
)
BILLING_LIMIT = openai(
    "Billing hard limit has been reached", "invalid_request_error", code="billing_hard_limit_reached"
)
RATE_LIMIT = openai(
    "Rate limit reached for gpt-5-mini in organization org-x on requests per min (RPM): Limit 3, Used 3, Requested 1. "
    "Please try again in 20s. Visit the site to learn more.",
    "requests",
    code="rate_limit_exceeded",
)
DAY_LIMIT = openai(
    "Rate limit reached for gpt-5-mini in organization org-x on requests per day (RPD): Limit 200, Used 200, "
    "Requested 1. Please try again in 7m12s. Visit the site to learn more.",
    "requests",
    code="rate_limit_exceeded",
)
WRONG_KEY = openai("Incorrect API key provided: sk-none.", "invalid_request_error", code="invalid_api_key")
NO_BALANCE = openai("Insufficient Balance", "unknown_error", code="invalid_request_error")  # DeepSeek, HTTP 402
NO_CREDITS = {"error": {"message": "Insufficient credits. Add more to go on.", "code": 402}}  # OpenRouter, HTTP 402
NO_MODEL = openai("The model `m` does not exist.", "invalid_request_error", code="model_not_found")
NO_TEMPERATURE = openai(
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
    "invalid_request_error",
    "temperature",
    "unsupported_value",
)
NO_MAX_TOKENS = openai(
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    "invalid_request_error",
    "max_tokens",
    "unsupported_parameter",
)
UNRECOGNIZED = openai("Unrecognized request argument supplied: max_completion_tokens", "invalid_request_error")
TOO_LONG = openai(
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "invalid_request_error",
    "messages",
    "context_length_exceeded",
)
LLAMA_TOO_LONG = {
    "error": {
        "code": 400,
        "message": "the request exceeds the available context size, try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 6010,
        "n_ctx": 2048,
    }
}
AZURE_FILTER = openai("The response was filtered.", None, "prompt", "content_filter")
VLLM_BAD = {"object": "error", "message": "top_k must be -1 or at least 1", "type": "BadRequestError", "code": 400}
OVERLOADED = openai("The engine is currently overloaded, please try again later", "server_error")
# OpenRouter, HTTP 200: a provider behind it failed.
ERROR_WITH_200 = {"error": {"message": "Provider returned error", "code": 429, "metadata": {"provider_name": "X"}}}

GEMINI_MINUTE = google_quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "10", "34.07s")
GEMINI_DAY = google_quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", "250", "34.07s")
GEMINI_KEY = gemini(
    400,
    "API key not valid. Please pass a valid API key.",
    "INVALID_ARGUMENT",
    {"@type": f"{_GOOGLE}ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com", "metadata": {}},
    {"@type": f"{_GOOGLE}LocalizedMessage", "locale": "en-US", "message": "API key not valid."},
)
GEMINI_LEAKED = gemini(403, "Your API key was reported as leaked.", "PERMISSION_DENIED")
GEMINI_LOCATION = gemini(400, "User location is not supported for the API use.", "FAILED_PRECONDITION")
GEMINI_MODEL = gemini(404, "models/m is not found for API version v1beta", "NOT_FOUND")
GEMINI_OVERLOADED = gemini(503, "The model is overloaded. Please try again later.", "UNAVAILABLE")
GEMINI_BAD = gemini(400, "Invalid value at 'contents'", "INVALID_ARGUMENT")
