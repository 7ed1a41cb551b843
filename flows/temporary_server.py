"""Prefect's temporary server, started so that it is known soon where it does not start.

Prefect itself waits two minutes for one that has ended, and starts one that cannot use its database again and again,
for ever.
"""

from __future__ import annotations

import atexit
import os
import re
import tempfile
import time
from subprocess import Popen
from typing import IO, Any, Final

import httpx
from prefect.events.worker import EventsWorker
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS

from flows.server import LostPrefectError

PORTS: Final = 3  # that are tried: another program may take one just before
EVERY_S: Final = 0.1
_TAKEN: Final = re.compile(r"address already in use|only one usage of each socket address", re.IGNORECASE)
_FAULT: Final = re.compile(r"^[\w.]*?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)


def start_server() -> None:
    """Has Prefect's temporary server run until this process ends. Raises LostPrefectError."""
    server = SubprocessASGIServer()  # the one that Prefect asks for
    if server.running:
        return
    with tempfile.TemporaryFile() as said:
        for _ in range(PORTS):
            try:
                server.port = server.find_available_port()
            except RuntimeError as error:
                raise LostPrefectError(str(error)) from error
            server.server_process = _quietly(server, said)
            if _answers(server.server_process, server.api_url):
                server.running = True
                atexit.register(server.stop)
                return
            said.seek(0)
            words = said.read().decode(errors="replace")
            if not _TAKEN.search(words):
                break  # with another port it would end the same way
    server.stop()
    faults = _FAULT.findall(words)
    told = ": ".join(faults[-1]) if faults else "it ends without a word"
    raise LostPrefectError(f"its temporary server does not start ({told})")


def forget_untold() -> None:
    """Drops what is still to be told to a server that is gone: each try takes seconds, and the process's end waits."""
    for worker in EventsWorker._instances.values():  # type: ignore[misc] # generic: of which type does not matter
        with worker._queue.mutex:
            worker._queue.queue.clear()


def _quietly(server: SubprocessASGIServer, said: IO[bytes]) -> Popen[Any]:
    """Starts a process of the server, which inherits where errors go: here to a file."""
    before = os.dup(2)
    try:
        os.dup2(said.fileno(), 2)
        return server._run_uvicorn_command()
    finally:
        os.dup2(before, 2)
        os.close(before)


def _answers(process: Popen[Any], url: str) -> bool:
    """Whether the server answers before it ends. Raises LostPrefectError where it does neither."""
    within_s = PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS.value()
    until = time.monotonic() + within_s
    with httpx.Client(trust_env=False) as client:  # no proxy
        while process.poll() is None:
            try:
                if client.get(f"{url}/health", timeout=EVERY_S * 20).is_success:
                    return True
            except httpx.TransportError:
                time.sleep(EVERY_S)
            if time.monotonic() > until:
                process.kill()
                raise LostPrefectError(f"its temporary server does not answer within {within_s} s")
    return False
