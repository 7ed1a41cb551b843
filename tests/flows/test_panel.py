"""`scan2qa panel` against servers on the loopback interface."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from typer.testing import CliRunner

import flows.cli.panel
from flows.cli.app import app
from flows.cli.panel import ServedModel, choose
from pipeline.core.errors import ConfigError
from pipeline.engine.config import load_config


@contextmanager
def server(body: bytes, status: int = 200, key: str = "", location: str = "", drips: bool = False) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = self.headers["Authorization"] or ""
            known = 404 if self.path != "/v1/models" else 401 if told != (f"Bearer {key}" if key else "") else status
            self.send_response(known)
            if location:
                self.send_header("Location", location)
            self.end_headers()
            for n in range(10 if drips else 1):
                self.wfile.write(body[n : n + 1] if drips else body)
                self.wfile.flush()
                time.sleep(0.05 if drips else 0)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
        thread.join()


def listed(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name, "object": "model"} for name in names]}).encode()


@pytest.fixture(autouse=True)
def no_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, object]:
    """Whatever is served on this machine is left alone."""
    table: dict[str, object] = flows.cli.panel.load_table("blind/panel") | {"ports": {}}
    monkeypatch.setattr(flows.cli.panel, "load_table", lambda name: table)
    monkeypatch.chdir(tmp_path)
    return table


def test_a_panel_of_three_makers_is_written_as_a_configuration(no_others: dict[str, object]) -> None:
    found = listed("text-embedding-nomic", "qwen3:8b", "qwen2.5:7b", "mistralai/Mistral-7B-Instruct-v0.3", "phi4", "x1")
    with server(found) as url:
        no_others["ports"] = {"vLLM": int(url.rpartition(":")[2])}
        result = CliRunner().invoke(app, ["panel", "vsi"])
    assert result.exit_code == 0, result.output
    models = load_config(Path("vsi_panel.yaml")).blind.models
    assert [model.model for model in models] == ["qwen3:8b", "mistralai/Mistral-7B-Instruct-v0.3", "phi4"]
    assert {model.base_url for model in models} == {f"{url}/v1"}
    assert all(model.key_name is None and model.price is not None for model in models)
    assert "ollama pull" not in result.output
    before = Path("vsi_panel.yaml").read_bytes()
    with pytest.raises(ConfigError, match=r"vsi_panel\.yaml is there already; move it away"):
        flows.cli.panel.panel("vsi", None, [])
    assert Path("vsi_panel.yaml").read_bytes() == before


def test_where_too_few_are_served_open_ones_are_named() -> None:
    with server(listed("qwen3:8b", "qwen3:4b")) as url:
        result = CliRunner().invoke(app, ["panel", "vsi", "--url", f"{url}/v1/", "--out", "mine.yaml"])
    assert [model.model for model in load_config(Path("mine.yaml")).blind.models] == ["qwen3:8b"]
    assert "1 of 3 models" in result.output
    assert "microsoft/phi-4 (MIT" in result.output


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>", "no list of models"),
        (b'{"data": [{"id": "[red]\\u001b[2J"}, {"id": 7}, {}]}', "no model is served"),
        (b'{"data": ["qwen3"]}', "no list of models"),
        (b'{"object": "list", "data": null}', "no model is served"),
        (listed(), "no model is served"),
    ],
)
def test_what_gives_no_models_is_said(body: bytes, said: str) -> None:
    with server(body) as url, pytest.raises(ConfigError, match=said):
        flows.cli.panel.panel("vsi", None, [url])
    assert not list(Path().glob("*.yaml"))


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://me:pw@127.0.0.1", "http://127.0.0.1:1", "http://h:99999", "http://[::"]
)
def test_an_address_that_does_not_answer_is_named(url: str) -> None:
    with pytest.raises(ConfigError, match=r"give an address|no answer") as error:
        flows.cli.panel.panel("vsi", None, [url])
    assert "pw" not in str(error.value)


def test_the_first_of_each_maker_is_taken() -> None:
    names = (
        "org/Qwen3-8B",
        "qwq:32b",
        "all-minilm",
        "bge-m3",
        "C:\\m\\phi-4.gguf",
        "123",
        "/m/Meta-Llama-3",
        "llama3.2",
        "x",
    )
    served = [ServedModel("a", "http://h/v1", name) for name in names]
    assert [model.name for model in choose(served)] == ["org/Qwen3-8B", "C:\\m\\phi-4.gguf", "/m/Meta-Llama-3"]


def test_a_key_goes_to_the_servers_that_were_named(
    monkeypatch: pytest.MonkeyPatch, no_others: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with server(listed("/models/phi4"), key="sk-secret") as url, server(listed("qwen3")) as other:
        no_others["ports"] = {"vLLM": int(url.rpartition(":")[2]), "Ollama": int(other.rpartition(":")[2])}
        flows.cli.panel.panel("vsi", Path("a.yaml"), [f"{url}/v1/models"], "MY_KEY")
        assert "HTTP 401: it needs a key; name it with --url" in capsys.readouterr().out
        with pytest.raises(ConfigError, match="OTHER_KEY holds no key"):
            flows.cli.panel.panel("vsi", None, [url], "OTHER_KEY")
    models = {model.name: model.key_env for model in load_config(Path("a.yaml")).blind.models}
    assert models == {"phi4": "MY_KEY", "qwen3": None}
    assert "sk-secret" not in Path("a.yaml").read_text()


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        ({"status": 503}, "HTTP 503: it may still be loading its model"),
        ({"status": 500}, "HTTP 500: no list of models; correct --url"),
        ({"status": 302, "location": "http://127.0.0.1:9/v1/models"}, "HTTP 302: no list of models"),
        ({"drips": True}, "nothing whole within 0.2 s"),
    ],
)
def test_a_server_that_is_not_ready_or_never_ends_is_told(
    odd: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows.cli.panel, "WAIT_S", 0.2)
    with server(listed("phi4"), **odd) as url, pytest.raises(ConfigError, match=said):
        flows.cli.panel.panel("vsi", None, [url])


def test_only_servers_of_ones_own_cost_nothing() -> None:
    priced = {host: "price" in flows.cli.panel._spec(ServedModel("a", f"http://{host}/v1", "m")) for host in HOSTS}
    assert priced == HOSTS


HOSTS = {
    "localhost:8000": True,
    "10.0.0.5": True,
    "[::1]:8": True,
    "gpu1": True,
    "api.example.org": False,
    "8.8.8.8": False,
}
