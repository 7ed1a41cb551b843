"""Whether a Prefect server is kept running, without importing Prefect, which takes seconds."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path


def is_kept() -> bool:
    """Whether the environment or Prefect's active profile names the address of a server."""
    if os.environ.get("PREFECT_API_URL"):
        return True
    file = Path(os.environ.get("PREFECT_PROFILES_PATH") or _home() / "profiles.toml")
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # Prefect says what is wrong with it, where Prefect is asked for
        return False
    name = os.environ.get("PREFECT_PROFILE") or found.get("active")
    profiles = found.get("profiles")
    profile = profiles.get(name) if isinstance(profiles, dict) else None
    return isinstance(profile, dict) and bool(profile.get("PREFECT_API_URL"))


def _home() -> Path:
    return Path(os.environ.get("PREFECT_HOME") or Path.home() / ".prefect")
