"""Reads files of fixes, ``<dataset>.yaml``: lists of entries as `core.fixes` describes them.

A file is refused as a whole, with every line that is wrong in it: what cannot be read cannot be applied, and a build
without a correction that somebody made would be wrong without a word.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml
from pydantic import ValidationError

from pipeline.core.errors import ConfigError
from pipeline.core.files import open_file
from pipeline.core.findings import printable
from pipeline.core.fixes import Fix, FixEntry, collisions, target_of
from pipeline.reading.folders import SAFE_NAME
from pipeline.reading.settings import StrictLoader

SHIPPED: Final = Path(__file__).resolve().parents[2] / "meta_schemas" / "fixes"
BYTES_MAX: Final = 2_000_000
_PARSED: Final = 8  # files that are kept: a build reads its own more than once
_FAULTS_SHOWN: Final = 5
_VALUE_SHOWN: Final = 60


class _Loader(StrictLoader):
    depth_max = 10


# Dates stay text: one that no calendar has is told with its line, as any other wrong value.
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_fixes(folders: Sequence[Path], kinds: Iterable[type[Fix]]) -> list[FixEntry]:
    """All entries of all files of some folders, in order of dataset and line.

    Raises ConfigError, naming file, line and entry, for a folder that is missing, a file that is no list of sound
    entries, an id that two entries have, and two entries that change the same value.
    """
    known = _Kinds(kinds)
    entries: list[FixEntry] = []
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"{folder}: no such folder of fixes; give one that holds DATASET.yaml files")
        for path in sorted({*folder.glob("*.yaml"), *folder.glob("*.yml")}):
            entries += _read(path, known)
    by_id: dict[str, FixEntry] = {}
    for entry in entries:
        first = by_id.setdefault(entry.fix.id, entry)
        if first is not entry:
            where = f"{first.file}:{first.line} and {entry.file}:{entry.line}"
            raise ConfigError(f"{where}: two fixes have the id {entry.fix.id}; give the newer one another")
    for one, other in collisions(entries):
        message = f"fixes {one.fix.id} and {other.fix.id} are about the same value of {one.scene}"
        changes = f"{one.fix.change}; {other.fix.change}"
        raise ConfigError(f"{one.file}:{one.line} and {other.file}:{other.line}: {message} ({changes}); keep one")
    return sorted(entries, key=lambda e: (e.dataset, str(e.file), e.line))


class _Kinds:
    """Kinds of fixes by target; no more of them are looked at than it takes to find one."""

    def __init__(self, kinds: Iterable[type[Fix]]) -> None:
        self._rest, self.found = iter(kinds), dict[str, type[Fix]]()

    def get(self, target: object) -> type[Fix] | None:
        """The kind of a target; None where there is none, and all are ``found``."""
        name = target if isinstance(target, str) else ""
        while name not in self.found and (kind := next(self._rest, None)) is not None:
            self.found[target_of(kind)] = kind
        return self.found.get(name)


def _read(path: Path, known: _Kinds) -> list[FixEntry]:
    if not SAFE_NAME.fullmatch(path.stem):
        raise ConfigError(f"{path}: name the file after the dataset that it is about, such as scannet.yaml")
    entries, faults = [], []
    for line, raw in _items(path):
        found = _entry(raw, known)
        if isinstance(found, Fix):
            entries.append(FixEntry(found, path.stem, path, line))
        else:
            faults += [f"line {line}: {fault}" for fault in found]
    if faults:
        more = f"; and {len(faults) - _FAULTS_SHOWN} more" if len(faults) > _FAULTS_SHOWN else ""
        raise ConfigError(f"{path}: {'; '.join(faults[:_FAULTS_SHOWN])}{more}")
    return entries


def _items(path: Path) -> list[tuple[int, Any]]:
    """The entries of a file as plain values, with their lines."""
    try:
        with open_file(path) as file:
            raw = file.read(BYTES_MAX + 1)
        if len(raw) > BYTES_MAX:
            raise ConfigError(f"{path}: larger than {BYTES_MAX / 1e6:g} MB; no list of fixes is. Split it")
        return _parsed(raw)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; save the file as UTF-8") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); make the file readable") from error
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, OverflowError) as error:
        text = printable(" ".join(str(error).split()))
        raise ConfigError(f"{path}: cannot be read as YAML: {text or type(error).__name__}") from error


@lru_cache(maxsize=_PARSED)
def _parsed(raw: bytes) -> list[tuple[int, Any]]:
    loader = _Loader(raw.decode("utf-8-sig"))
    try:
        node = loader.get_single_node()
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: a file of fixes is a list; begin entries with '- '")
        return [(item.start_mark.line + 1, loader.construct_document(item)) for item in node.value]
    finally:
        loader.dispose()


def _entry(raw: Any, known: _Kinds) -> Fix | list[str]:
    """The fix, or what is wrong with it."""
    if not isinstance(raw, dict):
        return [f"a fix is a mapping, not {type(raw).__name__}"]
    name = f"fix {_short(raw['id'])}" if "id" in raw else "fix without id"
    kind = known.get(raw.get("target"))
    if kind is None:
        wrong = f"unknown target {_short(raw['target'])}" if "target" in raw else "no target"
        return [f"{name}: {wrong}; there are {', '.join(sorted(known.found))}"]
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        return [f"{name}: {_describe(fault, kind)}" for fault in error.errors()]


def _describe(fault: Any, kind: type[Fix]) -> str:
    where = ".".join(printable(str(part)) for part in fault["loc"])
    if fault["type"] == "extra_forbidden":
        if len(fault["loc"]) == 1:
            return f"unknown key {where}; this target has {', '.join(kind.model_fields)}"
        return f"unknown key {where}; values carry their unit in their name, such as center_m and lengths_m"
    if fault["type"] == "missing":
        return f"no {where}"
    text = printable(fault["msg"].removeprefix("Value error, "))
    return f"{where}: {text}" + ("" if fault["type"] == "value_error" else f" (given: {_short(fault['input'])})")


def _short(value: object) -> str:
    text = printable(str(value))
    return text if len(text) <= _VALUE_SHOWN else text[: _VALUE_SHOWN - 1] + "…"
