"""Whether a Prefect server is kept, as Prefect itself finds it; and what is said at once where none can be used."""

import resource
import socket
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from flows.cli import app as cli
from flows.orchestration import prefect_server as server
from flows.orchestration.prefect_server import is_kept, spare_loopback, trouble
from tests.builds import UNASKED_SETTINGS
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

KEPT = '[profiles.mine]\nPREFECT_API_URL = "http://127.0.0.1:4200/api"\n\n[profiles.none]\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("profiles", "environment", "kept"),
    [
        (None, {}, False),
        ('active = "mine"\n' + KEPT, {}, True),
        ('active = "none"\n' + KEPT, {}, False),
        ('active = "gone"\n' + KEPT, {}, False),
        (KEPT, {}, False),
        ('active = "none"\n' + KEPT, {"PREFECT_PROFILE": "mine"}, True),
        ('active = "mine"\n' + KEPT, {"PREFECT_PROFILE": "none"}, False),
        (None, {"PREFECT_API_URL": "http://127.0.0.1:4200/api"}, True),
        (None, {"PREFECT_API_URL": ""}, False),
        ("no toml =", {}, False),
        ('active = "mine"\nprofiles = 3\n', {}, False),
    ],
)
def test_the_environment_or_the_active_profile_says_so(
    profiles: str | None, environment: dict[str, str], kept: bool, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if profiles is not None:
        (home / "profiles.toml").write_text(profiles)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_kept() is kept


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/api/health" else 502)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[str]:
    """The address of a server that answers as Prefect's does."""
    with HTTPServer(("127.0.0.1", 0), Healthy) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@pytest.mark.usefixtures("home")
def test_a_server_that_answers_is_used_whatever_the_proxies_are(
    answering: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("PREFECT_API_URL", f"{answering}/api")
    assert trouble() is None
    monkeypatch.setenv("PREFECT_API_URL", f"{answering}/other")
    assert "does not answer (502" in (trouble() or "")


@pytest.mark.usefixtures("home")
def test_a_server_that_does_not_answer_is_told_in_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "ANSWERS_WITHIN_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        for port, told in ((9, "Connection refused"), (silent.getsockname()[1], "timed out")):
            monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{port}/api")
            assert trouble() == f"the server at http://127.0.0.1:{port}/api does not answer ({_named(told)})"


def _named(told: str) -> str:
    return "[Errno 111] Connection refused" if told == "Connection refused" else told


def test_what_a_temporary_server_lacks_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trouble() is None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, hard))
    try:
        assert trouble() == "files may have 1024 KiB at most (ulimit -f)"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    monkeypatch.setattr(server, "DATABASE_BYTES", 2**60)  # nobody's disk
    assert "MB left (PREFECT_HOME names another)" in (trouble() or "")
    (home / "file").touch()
    monkeypatch.setenv("PREFECT_HOME", str(home / "file" / "home"))
    assert (
        trouble()
        == f"its folder {home / 'file' / 'home'} cannot be written (Not a directory; PREFECT_HOME names another)"
    )


def test_requests_to_this_machine_take_no_proxy() -> None:
    environment = {"no_proxy": "intern, localhost"}
    spare_loopback(environment)
    assert environment == {"no_proxy": "intern,localhost,127.0.0.1,::1", "NO_PROXY": "127.0.0.1,localhost,::1"}


@pytest.mark.slow
@pytest.mark.usefixtures("home")
def test_a_build_goes_on_without_unless_prefect_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # main() sets it
    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "meta.json", {"bedroom": SCENES["bedroom"]})
    command = ["scan2qa", "build", "vsi", "--root", f"vsi_meta={meta}", "--out", str(out), *UNASKED_SETTINGS]
    monkeypatch.setattr(sys, "argv", [*command, "--prefect"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith("scan2qa: Prefect cannot be used: the server at http://127.0.0.1:9/api does not answer")
    assert said.count("\n") == 1
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert "Building without Prefect: the server at http://127.0.0.1:9/api does not answer" in capsys.readouterr().out
    assert (out / "release" / "data").is_dir()
