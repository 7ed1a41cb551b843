"""Stops builds at random moments in each way there is, and says what became of them.

Each build runs on a terminal of its own, with a Prefect server that is kept: Ctrl-C is typed, SIGTERM is sent, the
terminal is closed, or the run is cancelled through Prefect's API. Stopped builds go on in the same folder; what comes
of them must be the release of one that was left alone.
"""

import json
import os
import pty
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from flows.orchestration.signals import SAID
from tests.bench.measuring import Figure, temporary
from tests.builds import UNASKED_SETTINGS, build, perturbed, prefect_environment, release_of
from tests.engine.test_kill import SCENES, n_files
from tests.worlds.indoor.readers.broken_metadata import write_scenes

N_SCENES: Final = 48
GONE_S: Final = 10.0  # the children, at the latest
WAYS: Final = {"Ctrl-C": 130, "SIGTERM": 143, "closed terminal": 129, "cancelled in Prefect": 143}
COMMAND: Final = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from flows.cli.app import main
main()
"""


@dataclass
class Seen:
    """What was seen of one way."""

    ended_s: list[float] = field(default_factory=list)
    gone_s: list[float] = field(default_factory=list)
    codes: Counter[int] = field(default_factory=Counter)
    states: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    left: int = 0


class Build:
    """A build on a terminal of its own."""

    def __init__(self, meta: Path, out: Path, environment: dict[str, str]) -> None:
        command = [sys.executable, "-c", COMMAND, "build", "vsi", "--root", f"vsi_meta={meta}", "--out", str(out)]
        self.out, self.said, self.code = out, b"", None
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which may be ignored here
            os.execve(sys.executable, [*command, "--workers", "2", *UNASKED_SETTINGS], environment)  # noqa: S606

    def goes_on(self, seconds: float) -> bool:
        """Whether it still runs; reads what it says meanwhile."""
        if self._terminal >= 0 and select.select([self._terminal], [], [], seconds)[0]:
            try:
                self.said += os.read(self._terminal, 65536)
            except OSError:  # the other side is closed
                time.sleep(seconds)
        elif self._terminal < 0:
            time.sleep(seconds)
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        if pid:
            self.code = os.waitstatus_to_exitcode(status)
        return not pid

    def stop(self, way: str, api: str) -> None:
        """Stops it from outside."""
        if way == "Ctrl-C":
            os.write(self._terminal, b"\x03")
        elif way == "SIGTERM":
            os.kill(self.pid, signal.SIGTERM)
        elif way == "closed terminal":
            self.close()
        else:
            run = _newest(api)
            _post(f"{api}/flow_runs/{run['id']}/set_state", {"state": {"type": "CANCELLING", "name": "Cancelling"}})

    def close(self) -> None:
        """Closes the terminal."""
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1


def stops(count: str = "20") -> Iterator[Figure]:
    """So many stops in each way. Ends with 1 where something is not as it should be."""
    seen = {way: Seen() for way in WAYS}
    rng, releases = random.Random(13), Counter[bool]()  # noqa: S311
    with temporary() as folder, _server(folder) as (api, environment):
        meta, out, alone = folder / "meta", folder / "out", folder / "alone"
        write_scenes(meta / "meta.json", perturbed(SCENES, N_SCENES))
        build(meta, alone)
        n_all = n_files(alone)
        while any(len(one.ended_s) < int(count) for one in seen.values()):
            way = min(seen, key=lambda way: len(seen[way].ended_s))
            there = n_files(out) if out.is_dir() else 0
            if there > 0.8 * n_all:
                releases[_finished(meta, out, alone)] += 1
                there = 0
            _stop_one(Build(meta, out, environment), way, rng.randrange(there, n_all), api, seen[way])
        releases[_finished(meta, out, alone)] += 1
    for way, one in seen.items():
        counts = [" ".join(f"{key} x{n}" for key, n in some.items()) for some in (one.codes, one.states)]
        yield Figure(f"{way}: {len(one.ended_s)} stops, exit codes {counts[0]}, {counts[1]}", max(one.ended_s), "s")
        yield Figure(f"{way}: children gone", max(one.gone_s), "s", GONE_S)
        yield Figure(f"{way}: children left", one.left, "", 0)
        yield Figure(f"{way}: said so", one.lines)
    yield Figure(f"of {releases.total()} releases unlike one left alone", releases[False], "", 0)
    expected = all(set(one.codes) == {WAYS[way]} and not one.left for way, one in seen.items())
    sound = all(set(one.states) == {"CANCELLED"} and max(one.gone_s) < GONE_S for one in seen.values())
    if not (expected and sound and not releases[False]):
        sys.exit("not as it should be")


def _stop_one(running: Build, way: str, files: int, api: str, seen: Seen) -> None:
    """Stops a build once it has made so many files; nothing is counted where it ended before."""
    while n_files(running.out) < files or not _runs_as_flow(api):
        if not running.goes_on(0.02):
            return
    children = psutil.Process(running.pid).children(recursive=True)
    before, sent = len(running.said), time.monotonic()
    running.stop(way, api)
    while running.goes_on(0.01) and time.monotonic() - sent < 60:
        pass
    ended_s = time.monotonic() - sent
    if running.code == 0:
        return
    left = psutil.wait_procs(children, timeout=GONE_S)[1]
    seen.ended_s.append(ended_s)
    seen.gone_s.append(time.monotonic() - sent)
    seen.codes[running.code if running.code is not None else 999] += 1
    seen.left += len(left)
    seen.lines += SAID.strip() in running.said[before:].replace(b"\r", b"")
    running.close()
    seen.states[_newest(api)["state"]["type"]] += 1


def _finished(meta: Path, out: Path, alone: Path) -> bool:
    """Lets a build go on to its end; whether its release is that of one left alone."""
    build(meta, out)
    same = release_of(out) == release_of(alone)
    shutil.rmtree(out)
    return same


def _runs_as_flow(api: str) -> bool:
    run = _newest(api)
    return bool(run) and run["state"]["type"] == "RUNNING" and run["name"].startswith("vsi ")


def _newest(api: str) -> dict[str, Any]:
    runs = _post(f"{api}/flow_runs/filter", {"sort": "EXPECTED_START_TIME_DESC", "limit": 1})
    return runs[0] if runs else {}


def _post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310 (our own server)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return json.load(answer)


@contextmanager
def _server(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A Prefect server that is kept; its API, and the environment of builds that use it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    api = f"http://127.0.0.1:{port}/api"
    offline = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_HOME": str(folder / "home")}
    environment = prefect_environment() | offline
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(120):
                try:
                    _post(f"{api}/flow_runs/filter", {})
                    break
                except OSError:
                    time.sleep(1)
            yield api, environment | {"PREFECT_API_URL": api}
        finally:
            server.terminate()
