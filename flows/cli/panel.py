"""The command `scan2qa panel`: makes a blind panel of the models that servers on this machine offer."""

import os
import re
import urllib.request
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from shlex import quote
from threading import Thread
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError
from urllib.parse import urlsplit

import yaml
from pydantic import BaseModel, JsonValue, ValidationError
from rich.table import Table
from rich.text import Text

from flows.cli.output.console import console, count_of
from flows.cli.output.tables import print_table
from flows.orchestration.folders import configuration
from flows.orchestration.watchdog import opener_for
from pipeline.core.errors import ConfigError
from pipeline.core.files import write_atomically
from pipeline.core.templates import load_table
from pipeline.engine.config import load_config

WAIT_S: Final = 2.0
MAX_ANSWER: Final = 2**20  # bytes
MAX_NAME: Final = 200  # characters
PANEL: Final = 3  # models
_FAMILY: Final = re.compile(r"[^\W\d_]+")


class _Listed(BaseModel):
    data: list[dict[str, JsonValue]] | None  # Ollama without models says null


class ServedModel(NamedTuple):
    """A model that a server offers; ``base_url`` ends with the protocol's version, such as http://127.0.0.1:8000/v1."""

    server: str
    base_url: str
    name: str
    key_env: str | None = None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key is for the server that was named, and for no other."""

    def redirect_request(self, *_: object) -> None:
        return None


def panel(build: str, out: Path | None, urls: Sequence[str], key_env: str | None = None) -> None:
    """Prints what is served, and writes the build's configuration with a panel of at most three of these models.

    Raises ConfigError where no server answers, an address that was named does not, or the file is there.
    """
    source, table = configuration(build), load_table("blind/panel")
    load_config(source)
    path = out or Path(f"{source.stem}_panel.yaml")
    if path.exists():
        raise ConfigError(f"{path} is there already; move it away, or name another file with --out")
    served = [model for url in urls for model in _served(url, _base_url(url), key_env)]
    ports: dict[str, int] = table["ports"]
    for name, port in ports.items():
        try:
            served += _served(name, f"http://127.0.0.1:{port}/v1")
        except ConfigError as error:
            if not isinstance(error.__cause__, ConnectionRefusedError):
                console.print(f"{name}: {error}")
    chosen = choose(served)
    shown = Table("server", "address", "model", "in the panel", box=None)
    for model in served:
        shown.add_row(*map(Text, (model.server, model.base_url, model.name, "yes" if model in chosen else "")))
    if served:
        print_table(shown)
    if len(chosen) < PANEL:
        console.print(_advice(len(chosen), table))
    if not chosen:
        tried = ", ".join(f"{name} {port}" for name, port in ports.items())
        raise ConfigError(f"no model is served on this machine (tried {tried}); start a server, or name one with --url")
    raw: dict[str, Any] = yaml.safe_load(source.read_text(encoding="utf-8"))
    raw["blind"] = (raw.get("blind") or {}) | {"models": [_spec(model) for model in chosen]}
    write_atomically(path, yaml.safe_dump(raw, sort_keys=False, allow_unicode=True).encode())
    for model in chosen:
        if not _is_own(model.base_url):
            console.print(f"{model.name}: its price is not known; add price to {path}")
    console.print(f"Configuration: {path}\nNext: scan2qa build {quote(str(path))} --dry-run")


def choose(served: Sequence[ServedModel]) -> list[ServedModel]:
    """At most three models that chat, of as many makers: the first of each, in the order of the servers."""
    table = load_table("blind/panel")
    maker = {name: names[0] for names in table["makers"] for name in names}
    first: dict[str, ServedModel] = {}
    for model in served:
        found = _FAMILY.search(re.split(r"[/\\]", model.name)[-1])
        if found and not any(part in model.name.casefold() for part in table["no_chat"]):
            family = found[0].casefold()
            first.setdefault(maker.get(family, family), model)
    return list(first.values())[:PANEL]


def _spec(model: ServedModel) -> dict[str, Any]:
    """Its entry in a configuration; a server of one's own costs nothing per token, and models may reason first."""
    spec = {"provider": "openai", "model": model.name, "base_url": model.base_url, "max_tokens": 4096}
    if Path(model.name).is_absolute():  # llama.cpp says where the file lies, which a release need not tell
        spec["name"] = Path(model.name).name
    key = {"key_env": model.key_env} if model.key_env else {}
    return spec | key | ({"price": {"input": 0, "output": 0}} if _is_own(model.base_url) else {})


def _is_own(base_url: str) -> bool:
    """Whether a server stands in a network of one's own."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host


def _advice(known: int, table: dict[str, Any]) -> str:
    rows = [
        f"  {m['model']} ({m['licence']}, about {m['gigabytes']} GB at 4 bits): ollama pull {m['ollama']}"
        for m in table["models"]
    ]
    found = f"{known} of {PANEL} models for a panel found." if known else "No models for a panel found."
    what = f"Three open models of different makers, free for any use (as of {table['as_of']}):"
    price = "No price per token on your own machine; hosted, what the provider asks (price: in YAML)."
    return "\n".join([f"{found} {what}", *rows, price])


def _base_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is no number
        is_plain = False
    if not is_plain or parts.username or parts.query:
        raise ConfigError("--url: give an address such as http://127.0.0.1:8000/v1, without user, password or query")
    base = url.rstrip("/").removesuffix("/models").removesuffix("/chat/completions")
    return base if urlsplit(base).path.strip("/") else f"{base}/v1"


def _served(server: str, base_url: str, key_env: str | None = None) -> list[ServedModel]:
    """The models that a server lists. Raises ConfigError where it gives no such list."""
    where, raw = f"{base_url}/models", _answer(f"{base_url}/models", _key(key_env) if key_env else None)
    if isinstance(raw, HTTPError):
        needed = "it needs a key; name it with --url, and with --key-env the variable that holds the key"
        refused = f"it refuses the key; correct {key_env}" if key_env else needed
        remedy = {401: refused, 403: refused, 503: "it may still be loading its model; try again"}
        raise ConfigError(f"{where}: HTTP {raw.code}: {remedy.get(raw.code, 'no list of models; correct --url')}")
    if isinstance(raw, BaseException):
        reason = getattr(raw, "reason", raw)
        cause = reason if isinstance(reason, BaseException) else raw
        raise ConfigError(f"{where}: no answer ({reason}); start the server, or correct --url") from cause
    try:
        listed = _Listed.model_validate_json(raw[:MAX_ANSWER])
    except ValidationError as error:
        raise ConfigError(f"{where}: no list of models as OpenAI's servers give it; correct --url") from error
    names = [model.get("id") for model in listed.data or ()]
    good = [name for name in names if isinstance(name, str) and name.isprintable() and 0 < len(name) <= MAX_NAME]
    if len(good) < len(names):
        told = count_of(len(names) - len(good), "model")
        console.print(f"{server}: {told} left out, without a name that can be printed")
    return [ServedModel(server, base_url, name, key_env) for name in good]


def _key(key_env: str) -> str:
    key = os.environ.get(key_env, "").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(f"--key-env: the environment variable {key_env} holds no key; set it")
    return key


def _answer(url: str, key: str | None) -> bytes | Exception:
    """What a server answers within `WAIT_S`, however slowly it sends; or why it does not."""
    found: list[bytes | Exception] = []
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})  # noqa: S310

    def fetch() -> None:
        try:
            with opener_for(url, _NoRedirects).open(request, timeout=WAIT_S) as answer:
                found.append(answer.read(MAX_ANSWER + 1))
        except HTTPError as error:
            error.close()
            found.append(error)
        except Exception as error:  # a server's answer may be anything
            found.append(error)

    thread = Thread(target=fetch, daemon=True)
    thread.start()
    thread.join(WAIT_S)
    return found[0] if found else TimeoutError(f"nothing whole within {WAIT_S:g} s")
