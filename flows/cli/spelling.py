"""Refuses misspelt roots and settings at once, by the JSON Schemas of the configurations.

The models behind the schemas take seconds to import. They check what passes here, and where their code is newer than
the schemas (`scan2qa schemas` writes these) they alone check.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from pipeline.core.arguments import split_root, split_setting, unknown_key
from pipeline.core.errors import ConfigError
from pipeline.core.plugins import entries

_HOME: Final = Path(__file__).resolve().parents[2]
_SLACK_S: Final = 60.0  # between the files of one checkout, or of one installation


def refuse_misspelt(path: Path, roots: Sequence[str], settings: Sequence[str]) -> None:
    """Raises ConfigError for a root (``reader=folder``) or a setting (``a.b=value``) that no build can have.

    Args:
        path: configuration of the build.
        roots: as on the command line.
        settings: as on the command line.
    """
    schema = _schema(path)
    if schema is None:
        return
    readers = schema["properties"]["roots"]["propertyNames"]["enum"]
    for root in roots:
        reader, where = split_root(root, readers)
        if reader not in readers and reader not in {entry.name for entry in entries("scan2qa.readers")}:
            raise ConfigError(f"unknown reader {reader!r}; there are {', '.join(readers)}")
        if ":/" not in where and not Path(where).is_dir():
            raise ConfigError(f"{where}: no such folder; give one with --root {reader}=folder")
    for setting in settings:
        _refuse_unknown(schema, split_setting(setting)[0])


def _refuse_unknown(schema: Mapping[str, Any], keys: Sequence[str]) -> None:
    part, rules = schema, schema["$defs"]["GenerateConfig"]["properties"]["rules"]
    for n, key in enumerate(keys, start=1):
        where = ".".join(keys[:n])
        if part is rules:
            if key not in (names := part["propertyNames"]["enum"]):
                raise ConfigError(f"configuration {keys[0]}: unknown rule {key}; there are {', '.join(names)}")
            return
        known = next((s["properties"] for s in _sections(schema, part) if "properties" in s), None)
        if known is None:  # a value, or keys that are free
            return
        if key not in known:
            raise ConfigError(unknown_key(where, known))
        part = known[key]


def _sections(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A part of a schema, and what it refers to, null left aside."""
    yield part
    for other in (part, *part.get("anyOf", ())):
        if "$ref" in other:
            yield schema["$defs"][other["$ref"].rpartition("/")[2]]


def _schema(path: Path) -> Any:
    """The schema of a configuration; None where it is older than the code, or the file is for others to refuse."""
    try:
        name = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["benchmark"]
        file = _HOME / "meta_schemas" / f"build-{name}.schema.json"
        if _changed(_HOME / "pipeline") > file.stat().st_mtime + _SLACK_S:
            return None
        return json.loads(file.read_bytes())
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return None


def _changed(folder: str | Path) -> float:
    """When a module below a folder was last changed."""
    with os.scandir(folder) as entries:
        parts = [(e.path, e.is_dir(), e.stat().st_mtime) for e in entries]
    found = [_changed(path) if is_folder else at for path, is_folder, at in parts if is_folder or path.endswith(".py")]
    return max(found, default=0.0)
