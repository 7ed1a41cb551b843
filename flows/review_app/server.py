"""The server of the review page: uvicorn's, which waits for the rest of a request for a while, not for ever."""

from __future__ import annotations

import asyncio
from typing import Final

import h11
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

WHOLE_WITHIN_S: Final = 30.0
_IN_PART: Final = frozenset({h11.IDLE, h11.SEND_BODY})  # states of a client whose request is not whole


def configured(app: Starlette, host: str, port: int) -> uvicorn.Config:
    """The configuration of a server that cuts half-sent requests, and logs warnings alone."""
    quiet = {"log_level": "warning", "server_header": False, "access_log": False}
    return uvicorn.Config(app, host=host, port=port, http=RequestProtocol, **quiet)


class RequestProtocol(H11Protocol):  # type: ignore[misc]  # without types of its own
    """Closes a connection on which a request is not whole `WHOLE_WITHIN_S` seconds after it began."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Waits for a request from here on."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """A part of a request, the last one perhaps."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state not in _IN_PART:
            self._rest()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(WHOLE_WITHIN_S, self.transport.close)

    def _rest(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
