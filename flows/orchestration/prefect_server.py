"""Checks whether a Prefect server is kept running and whether one can be started, without importing Prefect.

The import takes seconds, and Prefect itself searches for minutes before it gives up.
"""

import os
import resource
import shutil
import socket
import tempfile
import tomllib
import urllib.error
from collections.abc import MutableMapping
from http import HTTPStatus
from pathlib import Path
from typing import Final

from flows.orchestration.watchdog import LOOPBACK, opener_for

ANSWERS_WITHIN_S: Final = 5.0
DATABASE_BYTES: Final = 64 * 2**20  # a temporary server's database, with room


class LostPrefectError(Exception):
    """Prefect failed while it was used, and the build can go on without it; says why in half a sentence."""


def is_kept() -> bool:
    """Returns whether the environment or Prefect's active profile names the address of a server."""
    return kept_url() is not None


def kept_url() -> str | None:
    """The address of the server that the environment or Prefect's active profile names."""
    if os.environ.get("PREFECT_API_URL"):
        return os.environ["PREFECT_API_URL"]
    file = Path(os.environ.get("PREFECT_PROFILES_PATH") or _home() / "profiles.toml")
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # Prefect says what is wrong with it, where Prefect is asked for
        return None
    name = os.environ.get("PREFECT_PROFILE") or found.get("active")
    profiles = found.get("profiles")
    profile = profiles.get(name) if isinstance(profiles, dict) else None
    return (isinstance(profile, dict) and profile.get("PREFECT_API_URL")) or None


def trouble() -> str | None:
    """Why Prefect cannot be used here, in half a sentence; None: nothing speaks against it. Takes seconds at most."""
    url = kept_url()
    return _trouble_of(url) if url else _trouble_here()


def spare_loopback(environment: MutableMapping[str, str]) -> None:
    """Has no request to this machine go through a proxy."""
    for name in ("NO_PROXY", "no_proxy"):
        known = [host.strip() for host in environment.get(name, "").split(",") if host.strip()]
        environment[name] = ",".join([*known, *(host for host in LOOPBACK if host not in known)])


def _trouble_of(url: str) -> str | None:
    try:
        opener_for(url).open(f"{url.rstrip('/')}/health", timeout=ANSWERS_WITHIN_S).close()
    except urllib.error.HTTPError as error:
        if error.code < HTTPStatus.INTERNAL_SERVER_ERROR:  # it answers: Prefect says what is wrong
            return None
        return f"the server at {url} does not answer ({error.code} {error.reason}, perhaps of a proxy)"
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        return f"the server at {url} does not answer ({reason})"
    return None


def _trouble_here() -> str | None:
    """Checks the needs of a temporary server: a home for its database, and this machine's own address."""
    home = _home()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            pass
        free = shutil.disk_usage(home).free
    except OSError as error:
        return f"its folder {home} cannot be written ({error.strerror}; PREFECT_HOME names another)"
    if free < DATABASE_BYTES:
        return f"its folder {home} has {free // 2**20} MB left (PREFECT_HOME names another)"
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if limit != resource.RLIM_INFINITY and limit < DATABASE_BYTES:
        return f"files may have {limit // 1024} KiB at most (ulimit -f)"
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()[:2], 2.0):
            pass
    except OSError as error:
        return f"this machine does not reach itself at 127.0.0.1 ({error.strerror or error})"
    return None


def _home() -> Path:
    return Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
