"""Who may use the page, and what a browser may do with it."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
COOKIE: Final = "reviewer"
# Everything comes from this server; no script, style or frame of anybody else, none written into a page.
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Guard:
    """Refuses requests that another site's page sends, and adds the headers that keep pages apart.

    Args:
        app: what is guarded.
        only_loopback: whether requests must name this machine; a foreign name that leads here (DNS rebinding) is
            refused.
    """

    def __init__(self, app: ASGIApp, only_loopback: bool) -> None:
        self._app = app
        self._only_loopback = only_loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._only_loopback and _name(headers.get("host", "")) not in LOOPBACK:
            await PlainTextResponse("Open the page as http://127.0.0.1 or localhost.", 400)(scope, receive, send)
        elif scope["method"] not in {"GET", "HEAD"} and not _from_here(headers):
            refused = "Refused: this was not sent from the review page itself. Reload the page and try again."
            await PlainTextResponse(refused, 403)(scope, receive, _with_headers(send))
        else:
            await self._app(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Callable[[Message], Awaitable[None]]:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(_HEADERS)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending


def _from_here(headers: Headers) -> bool:
    """Whether a browser says that this site's own page sends it; where it says nothing it is refused."""
    origin = headers.get("origin")
    if origin is not None:
        return urlsplit(origin).netloc == headers.get("host")
    return headers.get("sec-fetch-site") == "same-origin"


def _name(host: str) -> str:
    """The name in a Host header, without its port."""
    return urlsplit(f"//{host}").hostname or ""


def signed(name: str, key: bytes) -> str:
    """A reviewer's name as a cookie that nobody else can make."""
    raw = base64.urlsafe_b64encode(name.encode()).decode()
    return f"{raw}.{_mac(raw, key)}"


def reviewer_of(cookie: str | None, key: bytes) -> str | None:
    """The name in a cookie; None where it was not made with this key."""
    raw, _, mac = (cookie or "").partition(".")
    if not raw or not hmac.compare_digest(mac.encode(), _mac(raw, key).encode()):
        return None
    return base64.urlsafe_b64decode(raw).decode()


def _mac(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
