"""A stand-in for Prefect's server, which takes seconds to start: it is always well."""

from collections.abc import Callable
from typing import Any


def healthy() -> Callable[..., Any]:
    """The application, as uvicorn's ``--factory`` has it made."""

    async def answer(scope: dict[str, Any], receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        assert scope["path"] == "/api/health"
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"true"})

    return answer
