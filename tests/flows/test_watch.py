"""What outlives a build's process by a moment: Prefect is told how it ended, by whatever way it ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import Queue
from typing import Any

import pytest

from tests.builds import REPOSITORY

Told = tuple[str, str | None, dict[str, Any]]
PARENT = """
import os, signal, sys, time
from flows.orchestration.processes import children_end_with_us, stoppable
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
with children_end_with_us() as watch:
    watch.tell(sys.argv[1] + "/flow_runs/1/set_state", {"authorization": "Bearer secret"})
    with stoppable(watch):
        if int(sys.argv[2]):
            os.kill(os.getpid(), int(sys.argv[2]))
            time.sleep(60)
"""


@pytest.fixture
def server() -> Iterator[tuple[str, Queue[Told]]]:
    """A server that notes what it is told."""
    told: Queue[Told] = Queue()

    class Notes(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.put((self.path, self.headers["Authorization"], body))
            self.send_response(201)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Notes) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_port}/api", told
        listening.shutdown()
        thread.join()


def ended_by(number: int, url: str) -> int:
    command = [sys.executable, "-c", PARENT, url, str(int(number))]
    # A proxy that nobody answers at: loopback is never asked for through one.
    environment = {"PYTHONPATH": str(REPOSITORY), "http_proxy": "http://127.0.0.1:9"}
    return subprocess.run(command, env=environment, check=False, timeout=60, stderr=subprocess.DEVNULL).returncode


@pytest.mark.parametrize(
    ("number", "code", "state", "message"),
    [
        (signal.SIGTERM, 143, "CANCELLED", "stopped by SIGTERM"),
        (signal.SIGHUP, 129, "CANCELLED", "stopped by SIGHUP"),
        (signal.SIGKILL, -9, "CRASHED", "the process of the build was killed"),
    ],
)
def test_prefect_is_told_how_a_build_ended(
    number: int, code: int, state: str, message: str, server: tuple[str, Queue[Told]]
) -> None:
    url, told = server
    assert ended_by(number, url) == code
    path, allowed, body = told.get(timeout=10)
    assert (path, allowed) == ("/api/flow_runs/1/set_state", "Bearer secret")
    assert (body["state"]["type"], body["state"]["message"], body["force"]) == (state, message, True)


def test_prefect_is_told_nothing_of_one_that_ends_by_itself(server: tuple[str, Queue[Told]]) -> None:
    url, told = server
    assert ended_by(0, url) == 0
    assert told.empty()
