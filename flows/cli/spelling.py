"""Refuses misspelt roots and settings, and values that a key does not take, by the JSON Schemas of the configurations.

The models behind the schemas take seconds to import. They check what passes here, and a name that the schemas lack and
the code has: it is newer than they are (`scan2qa schemas` writes them).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from pipeline.core.arguments import nearest_of, split_root, split_setting, unknown_key
from pipeline.core.errors import ConfigError
from pipeline.core.plugins import entries

KINDS: Final = {"integer": "int", "number": "float", "boolean": "bool"}  # of JSON Schema and of pydantic's core
LIMITS: Final = {"minimum": "ge", "maximum": "le", "exclusiveMinimum": "gt", "exclusiveMaximum": "lt"}
VALUE_CHARS: Final = 100  # more are no number, and YAML may take hours to read them
_HOME: Final = Path(__file__).resolve().parents[2]


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
        outside = {entry.name for entry in entries("scan2qa.readers")}
        if reader not in readers and reader not in outside and not _stands_in_code(f'"{re.escape(reader)}"'):
            from pipeline.worlds.registry import unknown_reader  # takes a second

            raise unknown_reader(reader, readers)
        if ":/" not in where and not Path(where).exists():
            raise ConfigError(f"{where}: no such folder; give one with --root {reader}=folder")
    for setting in settings:
        keys, value = split_setting(setting)
        part = _named(schema, keys)
        if part is not None and (fault := _fault_of(part, value)) is not None:
            is_rule = part in schema["$defs"]["GenerateConfig"]["properties"]["rules"]["properties"].values()
            where = f"{keys[0]}: rule {keys[-1]}" if is_rule else ".".join(keys)
            raise ConfigError(f"configuration {where}: {fault}")


def _named(schema: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any] | None:
    """The part of a schema that keys name; None below a value, or below keys that are free. Raises ConfigError."""
    part, rules = schema, schema["$defs"]["GenerateConfig"]["properties"]["rules"]
    for n, key in enumerate(keys, start=1):
        known = next((s["properties"] for s in _sections(schema, part) if "properties" in s), None)
        if known is None:
            if _kind(part) is not None:
                above = ".".join(keys[: n - 1])
                raise ConfigError(f"configuration {above} has no keys below it: give {above}=VALUE")
            return None
        if key not in known:
            if _stands_in_code(f"^    {re.escape(key)}: "):
                return None
            if part is rules:
                raise ConfigError(f"configuration {keys[0]}: unknown rule {key}; {nearest_of(key, sorted(known))}")
            raise ConfigError(unknown_key(".".join(keys[:n]), known))
        part = known[key]
    return part


def _fault_of(part: Mapping[str, Any], text: str) -> str | None:
    """What the models would say of a single value; None where it is right, or for them to judge."""
    kind = _kind(part)
    if kind is None or len(text) > VALUE_CHARS:
        return None
    from pydantic_core import SchemaValidator, ValidationError

    try:
        SchemaValidator(kind).validate_python(yaml.safe_load(text))
    except ValidationError as error:
        return error.errors()[0]["msg"]
    except (ValueError, RecursionError, yaml.YAMLError):  # no YAML
        return None
    return None


def _kind(part: Mapping[str, Any]) -> Any:
    """A number, a switch or one of some words as pydantic's core has it; None for other parts of a schema."""
    if (others := part.get("anyOf")) is not None:
        of_it = [other for other in others if other.get("type") != "null"]
        inner = _kind(of_it[0]) if len(of_it) == 1 else None
        return inner and {"type": "nullable", "schema": inner}
    if "enum" in part:
        return {"type": "literal", "expected": part["enum"]}
    if (name := KINDS.get(part.get("type", ""))) is None:
        return None
    return {"type": name} | {limit: part[key] for key, limit in LIMITS.items() if key in part}


def _sections(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A part of a schema, and what it refers to, null left aside."""
    yield part
    for other in (part, *part.get("anyOf", ())):
        if "$ref" in other:
            yield schema["$defs"][other["$ref"].rpartition("/")[2]]


def _schema(path: Path) -> Any:
    """The schema of a configuration; None where there is none, or the file is for others to refuse."""
    try:
        name = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["benchmark"]
        return json.loads((_HOME / "meta_schemas" / f"build-{name}.schema.json").read_bytes())
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return None


def _stands_in_code(pattern: str) -> bool:
    """Whether a reader's name, or a field of a model, is in a module: to search them all takes a part of a second."""
    found = re.compile(pattern, re.MULTILINE)
    return any(found.search(path.read_text(encoding="utf-8")) for path in (_HOME / "pipeline").rglob("*.py"))
