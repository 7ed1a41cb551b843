"""What the code of a stage is: the modules that it imports, and the versions of the libraries that these import.

Modules are compared by their syntax trees without docstrings, so that a comment runs nothing again. There is no version
number that somebody could forget to raise; and a change that changes no result stops at the next stage.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.core.identity import digest_of

PACKAGE: Final = "pipeline"
FOLDER: Final = Path(__file__).resolve().parents[2]  # where the package stands
# Lists of all there is: what of them a stage picks is named as its root, the rest is none of its code.
REGISTRIES: Final = frozenset({"pipeline.worlds.registry", "pipeline.benchmarks.registry"})
# Names of distributions that are not the name by which they are imported.
DISTRIBUTIONS: Final = {
    "PIL": ("pillow",),
    "google": ("google-genai", "google-generativeai", "protobuf"),
    "open3d": ("open3d-cpu", "open3d"),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
}
CACHE_FILE: Final = "__pycache__/syntax.json"  # below the package, beside what Python keeps there itself


class Module(NamedTuple):
    """What is to know of one module: a digest of its syntax tree, and the names of all that it may import."""

    digest: str
    imports: tuple[str, ...]


def code_digest(roots: Iterable[str], folder: Path = FOLDER) -> str:
    """Digest of the closure of modules: of their syntax trees and of the versions of the libraries they import."""
    return _code_digest(tuple(sorted(set(roots))), folder)


def closure(roots: Iterable[str], folder: Path = FOLDER) -> dict[str, Module]:
    """The modules of the package that are imported from ``roots``, these included, by name.

    Imports within functions and packages around a module count; those for type checkers alone, and whatever stands
    behind a registry, do not. Raises ValueError for a root that is no module.
    """
    known = _Sources(folder)
    found: dict[str, Module] = {}
    waiting = list(roots)
    for root in waiting:
        if known.path(root) is None:
            raise ValueError(f"{root} is no module below {folder}")
    while waiting:
        name = waiting.pop()
        if name in found or name in REGISTRIES or known.path(name) is None:
            continue
        found[name] = known.module(name)
        waiting += [name.rpartition(".")[0], *found[name].imports]
    known.save()
    return found


def libraries(modules: Iterable[Module]) -> dict[str, str | None]:
    """Distribution -> version of everything outside Python and the package that modules import; None: not here."""
    names = {name.partition(".")[0] for module in modules for name in module.imports}
    names -= {PACKAGE, "", *sys.stdlib_module_names}
    distributions = {d for name in names for d in DISTRIBUTIONS.get(name, (name,))}
    return {name: _version(name) for name in sorted(distributions)}


@cache
def _code_digest(roots: tuple[str, ...], folder: Path) -> str:
    modules = closure(roots, folder)
    digests = {name: module.digest for name, module in modules.items()}
    return digest_of([digests, libraries(modules.values())])


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


class _Sources:
    """The sources of the package; what was parsed once is kept by the digest of its bytes."""

    _parsed: dict[str, Module] = {}  # noqa: RUF012 - of all folders: the same bytes are the same module

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = folder / PACKAGE / CACHE_FILE
        self._new = False
        self._loaded = False

    def path(self, name: str) -> Path | None:
        """The file of a module of the package; None where there is none of this name."""
        if name.partition(".")[0] != PACKAGE:
            return None
        stem = self._folder / name.replace(".", "/")
        return next((p for p in (stem.with_name(f"{stem.name}.py"), stem / "__init__.py") if p.is_file()), None)

    def module(self, name: str) -> Module:
        """One module that is there."""
        path = self.path(name)
        if path is None:
            raise ValueError(f"{name} is no module below {self._folder}")
        raw = path.read_bytes()
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        key = hashlib.sha256(f"{package}\0{sys.version}\0".encode() + raw).hexdigest()
        if key not in self._parsed and not self._loaded:
            self._load()
        if key not in self._parsed:
            self._parsed[key], self._new = parse(raw, package), True
        return self._parsed[key]

    def _load(self) -> None:
        self._loaded = True
        with suppress(OSError, ValueError, TypeError):  # none yet, or damaged: everything is parsed
            entries = json.loads(self._file.read_bytes())
            self._parsed.update({key: Module(digest, tuple(imports)) for key, (digest, imports) in entries.items()})

    def save(self) -> None:
        """Keeps what was parsed for the next process, where Python may keep its own; a folder of others stays so."""
        if not self._new or sys.dont_write_bytecode:
            return
        with suppress(OSError):
            self._file.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._file.parent)
            with os.fdopen(handle, "w") as file:
                json.dump(self._parsed, file)
            os.replace(name, self._file)  # noqa: PTH105 - a Path would say the same
        self._new = False


def parse(raw: bytes, package: str) -> Module:
    """A module from its source; ``package`` is where its relative imports start."""
    tree = ast.parse(raw)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            _drop_docstring(node)
    return Module(digest_of(ast.dump(tree).encode()), tuple(sorted(set(_imports(tree, package)))))


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        del node.body[0]


def _imports(node: ast.AST, package: str) -> Iterator[str]:
    """All names that may be modules: of ``from a import b`` both ``a`` and ``a.b``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        around = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
        base = ".".join([*around, *([node.module] if node.module else [])])
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.If) and _is_for_type_checkers(node.test):
        yield from (name for other in node.orelse for name in _imports(other, package))
    else:
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, package)


def _is_for_type_checkers(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )
