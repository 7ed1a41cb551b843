"""Why a model gave no reply, told without ever showing a key."""

from __future__ import annotations

from typing import Final

from pipeline.core.errors import Scan2qaError
from pipeline.llm.usage import Usage

MAX_CHARS: Final = 300  # of a server's own words
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


def redact(text: str, secret: str | None) -> str:
    """The text without the secret."""
    return text.replace(secret, "[key]") if secret and len(secret) >= MIN_SECRET_CHARS else text
