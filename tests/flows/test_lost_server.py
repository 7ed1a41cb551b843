"""A temporary Prefect server that does not start, or dies in mid-build, costs its states and nothing else."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from prefect.server.api.server import SubprocessASGIServer
from prefect.settings import PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS, temporary_settings

from flows.orchestration.prefect_run import start_server
from flows.orchestration.prefect_server import LostPrefectError
from tests.builds import REPOSITORY, UNASKED_SETTINGS, build, perturbed, prefect_environment, release_of
from tests.engine.test_kill import COMMAND, SCENES, n_files
from tests.worlds.indoor.readers.broken_metadata import write_scenes

SCENES_OF_IT = 40  # so that Prefect is used, and that it takes some seconds


@pytest.fixture(scope="module")
def meta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Metadata of scenes, and beside it a build of them without Prefect."""
    folder = tmp_path_factory.mktemp("lost") / "meta"
    folder.mkdir()
    write_scenes(folder / "meta.json", perturbed(SCENES, SCENES_OF_IT))
    build(folder, folder.parent / "out")
    return folder


def command(meta: Path, tmp_path: Path, environment: dict[str, str]) -> subprocess.Popen[str]:
    """The real command."""
    arguments = ["build", "vsi", "--root", f"vsi_meta={meta}", "--out", str(tmp_path / "out"), "--workers", "2"]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments, *UNASKED_SETTINGS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY,
        env=prefect_environment() | environment,
    )


def servers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Prefect's temporary servers below a process."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            found += [child] if "uvicorn" in child.cmdline() else []
        except psutil.Error:  # ended meanwhile
            continue
    return found


@pytest.mark.slow
def test_a_server_that_cannot_open_its_database_is_told_once_and_done_without(meta: Path, tmp_path: Path) -> None:
    database = f"sqlite+aiosqlite:///{tmp_path / 'gone' / 'prefect.db'}"
    with command(meta, tmp_path, {"PREFECT_API_DATABASE_CONNECTION_URL": database}) as process:
        said, complaints = process.communicate(timeout=300)
    assert process.returncode == 0
    told = [line for line in said.splitlines() if "Prefect" in line]
    assert len(told) == 1
    assert told[0].startswith("Building without Prefect: its temporary server does not start (OperationalError: ")
    assert told[0].endswith("unable to open database file). Its states are not kept; results are.")
    assert not complaints
    assert release_of(tmp_path / "out") == release_of(meta.parent / "out")


@pytest.mark.slow
def test_a_server_that_is_killed_in_mid_build_is_told_once_and_done_without(meta: Path, tmp_path: Path) -> None:
    with command(meta, tmp_path, {}) as process:
        while process.poll() is None and n_files(tmp_path / "out") < 10:
            time.sleep(0.02)
        running = servers_of(process)
        for server in running:
            server.kill()
        said, complaints = process.communicate(timeout=300)
    assert len(running) == 1
    assert process.returncode == 0
    told = [line for line in said.splitlines() if "Prefect" in line]
    assert len(told) == 1
    assert told[0].startswith(("Building without Prefect: ", "Prefect was not told how this ended: "))
    assert not complaints
    assert release_of(tmp_path / "out") == release_of(meta.parent / "out")


def test_no_port_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubprocessASGIServer, "_instances", {})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        monkeypatch.setattr(SubprocessASGIServer, "_port_range", range(port, port + 1))
        with pytest.raises(LostPrefectError, match="Unable to find an available port"):
            start_server()


@pytest.mark.slow
def test_a_port_that_is_taken_just_before_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubprocessASGIServer, "_instances", {})
    monkeypatch.setattr(os, "environ", prefect_environment())
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(("127.0.0.1", 0)) as free:
        ports = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr(SubprocessASGIServer, "find_available_port", lambda self: ports.pop(0))
        with temporary_settings({PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS: 120}):  # the machine may be busy
            start_server()
        server = SubprocessASGIServer()
        try:
            assert not ports
            assert server.running
        finally:
            server.stop()
