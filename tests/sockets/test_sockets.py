"""Nothing phones home: no build turns to another machine, and no process of the commands that the other tests run."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.orchestration.folders import BUILDS
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.engine.config import load_config
from pipeline.stages.builder import Builder
from tests.builds import prefect_environment
from tests.sockets.sitecustomize import EXIT_CODE, beyond
from tests.torture import ROOTS
from tests.worlds.city.cities import block, write
from tests.worlds.panorama.panoramas import write as write_panorama

SMALL: dict[str, tuple[str, Callable[[Path], object]]] = {
    "vsi": ("vsi_meta", ROOTS["vsi_meta"]),
    "urbanvideo": ("flights", ROOTS["flights"]),
    "cityeqa": ("city", lambda root: write(root, *(block(20 * n, 10, 9, 9, id=f"b{n}", height_m=9) for n in range(3)))),
    "ergeobench": ("panoramas", lambda root: write_panorama(root, "p1")),
    "embodied4c": ("rlbench", ROOTS["rlbench"]),
}
SETTINGS = ("blind={models: []}", "prune=null", "observe.panorama={pixels_per_degree_min: 0, sharpness_min: 0}")
_seen: list[tuple[str, tuple[Any, ...]]] | None = None  # None: not watched


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is not None and event.startswith("socket."):
        _seen.append((event, arguments))


sys.addaudithook(_watch)  # which stays


@pytest.fixture
def seen() -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """What happens at the sockets of this process."""
    global _seen  # noqa: PLW0603
    _seen = []
    yield _seen
    _seen = None


@pytest.mark.slow
@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_build_of_each_kind_turns_to_no_other_machine(
    name: str, seen: list[tuple[str, tuple[Any, ...]]], tmp_path: Path
) -> None:
    reader, write_root = SMALL[name]
    write_root(tmp_path / reader)
    settings = [setting for setting in SETTINGS if not setting.startswith("observe") or reader == "panoramas"]
    config = load_config(BUILDS / f"{name}.yaml", settings).model_copy(update={"roots": {reader: tmp_path / reader}})
    outcome = Builder(config, tmp_path / "out").build()
    assert (outcome.quarantine, outcome.released is not None) == ([], True)
    assert [found for one in seen if (found := beyond(*one))] == []


@pytest.mark.parametrize(
    ("code", "host"),
    [
        ("socket.create_connection(('127.0.0.1', 9))", None),
        ("socket.getaddrinfo('localhost', 80)", None),
        ("socket.socket(socket.AF_UNIX).connect('/nowhere')", None),
        ("socket.create_connection(('192.0.2.1', 80))", "192.0.2.1"),
        ("socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 53))", "192.0.2.1"),
        ("urllib.request.urlopen('http://api.example')", "api.example"),
    ],
)
def test_a_real_command_that_did_would_end(code: str, host: str | None) -> None:
    command = [sys.executable, "-c", f"import socket, urllib.request; {code}"]
    done = subprocess.run(command, env=prefect_environment(), capture_output=True, text=True, check=False)
    assert (done.returncode == EXIT_CODE) == (host is not None)
    assert host is None or done.stderr.endswith(f" turned to {host}\n")
    assert os.fspath(Path(__file__).parent) in prefect_environment()["PYTHONPATH"].split(os.pathsep)
