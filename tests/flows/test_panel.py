"""`scan2qa panel` against servers on the loopback interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

import flows.cli.panel
from flows.cli.app import app
from flows.cli.panel import ServedModel, choose
from pipeline.core.errors import ConfigError
from pipeline.engine.config import load_config


@contextmanager
def server(body: bytes) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.end_headers()
            self.wfile.write(body)

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
    table: dict[str, object] = {"ports": {}, "models": flows.cli.panel.load_table("blind/panel")["models"]}
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
        (b'{"data": [{"id": "[red]\\u001b[2J"}]}', "no list of models"),
        (listed(), "no model is served"),
    ],
)
def test_what_gives_no_models_is_said(body: bytes, said: str) -> None:
    with server(body) as url, pytest.raises(ConfigError, match=said):
        flows.cli.panel.panel("vsi", None, [url])
    assert not list(Path().glob("*.yaml"))


@pytest.mark.parametrize("url", ["ftp://x", "http://me:pw@127.0.0.1", "http://127.0.0.1:1"])
def test_an_address_that_does_not_answer_is_named(url: str) -> None:
    with pytest.raises(ConfigError, match=r"give an address|no answer") as error:
        flows.cli.panel.panel("vsi", None, [url])
    assert "pw" not in str(error.value)


def test_the_first_of_each_maker_is_taken() -> None:
    served = [ServedModel("a", "http://h/v1", name) for name in ("org/Qwen3-8B", "qwen3-14b", "bge-m3", "phi-4", "123")]
    assert [model.name for model in choose(served)] == ["org/Qwen3-8B", "phi-4"]
