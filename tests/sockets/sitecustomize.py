"""Ends a Python process that turns to another machine: imported at the start of each whose PYTHONPATH has this folder.

All real commands of the tests run so (`tests.builds.prefect_environment`), with their workers and Prefect's server.
"""

import os
import socket
import sys
from typing import Any

HERE = frozenset({None, "", "localhost", "::", "::1", "0.0.0.0", socket.gethostname()})  # noqa: S104  nobody listens
ASKING = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})  # events with the socket before the address
RESOLVING = frozenset({"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"})
EXIT_CODE = 99


def beyond(event: str, arguments: tuple[Any, ...]) -> str | None:
    """The host that an event of `sys.addaudithook` turns to; None where it is this machine, or no host."""
    if event in RESOLVING:
        host = arguments[0]
    elif event in ASKING and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return None
    host = host.decode() if isinstance(host, bytes) else host
    is_number = isinstance(host, int)  # of a kernel's socket
    return None if is_number or host in HERE or host.startswith(("127.", "::ffff:127.")) else str(host)


def _end(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket.") and (host := beyond(event, arguments)) is not None:
        os.write(2, f"{event} turned to {host}\n".encode())
        os._exit(EXIT_CODE)


if __name__ == "sitecustomize":
    sys.addaudithook(_end)
