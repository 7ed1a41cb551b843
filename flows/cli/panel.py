"""The command `scan2qa panel`: makes a blind panel of the models that servers on this machine offer."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, StringConstraints, ValidationError
from rich.table import Table
from rich.text import Text

from flows.cli.output.console import console
from flows.cli.output.tables import print_table
from flows.orchestration.folders import configuration
from flows.orchestration.watchdog import LOOPBACK
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table

WAIT_S: Final = 2.0
MAX_ANSWER: Final = 2**20  # bytes
PANEL: Final = 3  # models
_FAMILY: Final = re.compile(r"[^\W\d_]+")
_NO_CHAT: Final = re.compile(r"embed|rerank|whisper|bge-|tts", re.IGNORECASE)


class _Model(BaseModel):
    id: Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[\w./:@+ -]+$")]


class _Listed(BaseModel):
    data: list[_Model]


class ServedModel(NamedTuple):
    """A model that a server offers; ``base_url`` ends with the protocol's version, such as http://127.0.0.1:8000/v1."""

    server: str
    base_url: str
    name: str


def panel(build: str, out: Path | None, urls: Sequence[str]) -> None:
    """Prints what is served, and writes the build's configuration with a panel of at most three of these models.

    Raises ConfigError where no server answers, or an address that was named does not.
    """
    source = configuration(build)
    served = [model for url in urls for model in _served(url, _base_url(url))]
    ports: dict[str, int] = load_table("blind/panel")["ports"]
    for name, port in ports.items():
        try:
            served += _served(name, f"http://127.0.0.1:{port}/v1")
        except ConfigError:  # nothing listens there, or something else does
            continue
    chosen = choose(served)
    table = Table("server", "address", "model", "in the panel", box=None)
    for model in served:
        table.add_row(*map(Text, (model.server, model.base_url, model.name, "yes" if model in chosen else "")))
    if served:
        print_table(table)
    if len(chosen) < PANEL:
        console.print(_advice(len(chosen)), soft_wrap=True, markup=False)
    if not chosen:
        tried = ", ".join(f"{name} {port}" for name, port in ports.items())
        raise ConfigError(f"no model is served on this machine (tried {tried}); start a server, or name one with --url")
    path = out or Path(f"{source.stem}_panel.yaml")
    raw: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    raw["blind"] = (raw.get("blind") or {}) | {"models": [_spec(model) for model in chosen]}
    write_atomically(path, yaml.safe_dump(raw, sort_keys=False, allow_unicode=True).encode())
    console.print(f"Configuration: {path}\nNext: scan2qa build {path} --dry-run", soft_wrap=True, markup=False)


def choose(served: Sequence[ServedModel]) -> list[ServedModel]:
    """At most three models that chat, of as many makers: the first of each, in the order of the servers."""
    first: dict[str, ServedModel] = {}
    for model in served:
        found = _FAMILY.search(model.name.rpartition("/")[2])
        if found and not _NO_CHAT.search(model.name):
            first.setdefault(found[0].casefold(), model)
    return list(first.values())[:PANEL]


def _spec(model: ServedModel) -> dict[str, Any]:
    """Its entry in a configuration; a server of one's own costs nothing per token, and models may reason first."""
    return {
        "provider": "openai",
        "model": model.name,
        "base_url": model.base_url,
        "max_tokens": 4096,
        "price": {"input": 0, "output": 0},
    }


def _advice(known: int) -> str:
    advised: list[dict[str, Any]] = load_table("blind/panel")["models"]
    rows = [
        f"  {m['model']} ({m['licence']}, about {m['gigabytes']} GB at 4 bits): ollama pull {m['ollama']}"
        for m in advised
    ]
    found = f"{known} of {PANEL} models for a panel found." if known else "No models for a panel found."
    return "\n".join([f"{found} Three open models of different makers free for any use:", *rows])


def _base_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query:
        raise ConfigError("--url: give an address such as http://127.0.0.1:8000/v1, without user, password or query")
    return url.rstrip("/") if parts.path.strip("/") else f"{url.rstrip('/')}/v1"


def _served(server: str, base_url: str) -> list[ServedModel]:
    """The models that a server lists. Raises ConfigError where it gives no such list."""
    handlers = [urllib.request.ProxyHandler({})] if urlsplit(base_url).hostname in LOOPBACK else []
    try:
        with urllib.request.build_opener(*handlers).open(f"{base_url}/models", timeout=WAIT_S) as answer:
            raw = answer.read(MAX_ANSWER + 1)
    except (OSError, HTTPException, ValueError) as error:
        raise ConfigError(f"{base_url}/models: no answer ({error}); start the server, or correct --url") from error
    try:
        listed = _Listed.model_validate_json(raw[:MAX_ANSWER])
    except ValidationError as error:
        raise ConfigError(f"{base_url}/models: no list of models as OpenAI's servers give it; correct --url") from error
    return [ServedModel(server, base_url, model.id) for model in listed.data]
