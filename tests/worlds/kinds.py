"""Kinds of spoilt raw data, from a table beside the module that knows the ways of spoiling."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml


def kinds_of(module: str, part: str, kind: type[Any], ways: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """One part of ``<module>.yaml``, by name; ``spoil`` of a row is a way and its arguments."""
    rows = _table(Path(module).with_suffix(".yaml"))[part]
    found = {}
    for name, row in rows.items():
        way, *arguments = row.pop("spoil")
        told = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
        found[name] = kind(spoil=ways[way](*arguments), **told)
    return found


@cache
def _table(path: Path) -> dict[str, Any]:
    # libyaml would be faster and refuses half characters, which some of the raw data have.
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))
