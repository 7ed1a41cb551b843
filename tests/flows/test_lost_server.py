"""A temporary Prefect server that does not start, or dies in mid-build, costs its states and nothing else."""

from __future__ import annotations

import atexit
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from queue import Queue
from typing import Any

import psutil
import pytest

from flows.cli.build import PREFECT_FROM_SCENES
from flows.orchestration.prefect_server import LostPrefectError
from tests.builds import REPOSITORY, TWO_TASKS, build, command_process, perturbed, prefect_environment, release_of
from tests.engine.test_kill import SCENES, n_files
from tests.worlds.indoor.readers.broken_metadata import write_scenes

SCENES_OF_IT = PREFECT_FROM_SCENES + 2


@pytest.fixture(scope="module")
def meta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata of scenes, and beside it a build of them without Prefect."""
    folder = tmp_path_factory.mktemp("lost") / "meta"
    write_scenes(folder / "meta.json", perturbed(SCENES, SCENES_OF_IT))
    build(folder, folder.parent / "out", **TWO_TASKS)
    return folder


def servers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Prefect's temporary servers below a process."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            found += [child] if "uvicorn" in child.cmdline() else []
        except psutil.Error:  # ended meanwhile
            continue
    return found


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Callable[[], None]]]:
    """What ends each server that is started in this process; and ends them."""
    # It takes a second, which not every process that collects tests need spend.
    from prefect.settings import PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS, temporary_settings

    from flows.orchestration import prefect_run

    monkeypatch.setattr(os, "environ", prefect_environment())
    ends: list[Callable[[], None]] = []

    def register(end: Callable[..., None], *arguments: object) -> None:
        if end is prefect_run._end:
            ends.append(partial(end, *arguments))

    monkeypatch.setattr(atexit, "register", register)
    with temporary_settings({PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: 120}):  # the machine may be busy
        yield ends
    for end in ends:
        end()


@pytest.mark.long
def test_a_server_that_cannot_open_its_database_says_why(begun: list[Callable[[], None]], tmp_path: Path) -> None:
    from flows.orchestration.prefect_run import start_server

    os.environ["PREFECT_API_DATABASE_CONNECTION_URL"] = f"sqlite+aiosqlite:///{tmp_path / 'gone' / 'prefect.db'}"
    told = r"^its temporary server does not start \(OperationalError: .*unable to open database file\)$"
    with pytest.raises(LostPrefectError, match=told):
        start_server()
    assert len(begun) == 1


@pytest.mark.long
def test_a_server_that_is_killed_in_mid_build_is_told_once_and_done_without(meta: Path, tmp_path: Path) -> None:
    with command_process(meta, tmp_path / "out", stdout=subprocess.PIPE) as process:
        while process.poll() is None and n_files(tmp_path / "out") < 10:
            time.sleep(0.02)
        running = servers_of(process)
        for server in running:
            server.kill()
        said, complaints = process.communicate(timeout=300)
    assert len(running) == 1
    assert process.returncode == 0
    told = [line for line in said.splitlines() if "Prefect" in line and not line.startswith(" ")]  # progress is
    assert len(told) == 1
    assert told[0].startswith(("Building without Prefect: ", "Prefect was not told how this ended: "))
    assert not complaints
    assert release_of(tmp_path / "out") == release_of(meta.parent / "out")


@pytest.mark.slow
def test_a_port_that_is_taken_just_before_is_left_for_another(
    begun: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from flows.orchestration import prefect_run

    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        ports = [taken.getsockname()[1], (left := free.getsockname()[1])]
        free.close()
        monkeypatch.setattr(prefect_run, "APP", "tests.flows.healthy:healthy")
        monkeypatch.setattr(prefect_run, "_free_port", lambda: ports.pop(0))
        assert prefect_run.start_server() == f"http://127.0.0.1:{left}/api"
    assert len(begun) == 2
    assert not ports


# ---- what outlives a build's process by a moment: Prefect is told how it ended, by whatever way it ended


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
