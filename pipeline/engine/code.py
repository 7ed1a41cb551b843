"""The code of a stage: the modules that it imports, the tables that they load, the versions of their libraries.

Modules are compared by their syntax trees without docstrings, so that a comment reruns nothing. There is no version
number that somebody could forget to raise; and a change that changes no result stops at the next stage.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.core.identity import digest_of
from pipeline.core.plugins import entries, packages
from pipeline.core.templates import table_file

PACKAGE: Final = "pipeline"
FOLDER: Final = Path(__file__).resolve().parents[2]  # where the package stands
# Lists of all there is: what of them a stage picks is named as its root, the rest is none of its code.
REGISTRIES: Final = frozenset({"pipeline.worlds.registry", "pipeline.benchmarks.registry"})
# Names of distributions that are not the name by which they are imported.
DISTRIBUTIONS: Final = {
    "PIL": ("pillow",),
    "fontpkg_noto_sans": ("fontpkg-noto-sans",),
    "google": ("google-api-core", "google-auth", "google-genai", "google-generativeai", "protobuf"),
    "open3d": ("open3d-cpu", "open3d"),
    "rerun": ("rerun-sdk",),
    "sklearn": ("scikit-learn",),
    "yaml": ("pyyaml",),
}
CACHE_FILE: Final = "__pycache__/syntax.json"  # below the package, beside what Python keeps there itself


class Module(NamedTuple):
    """A digest of a module's syntax tree, the names of all that it may import, of the tables that it loads, and groups.

    ``groups``: of entry points (`core.plugins`) whose modules it imports, whatever is installed.
    """

    digest: str
    imports: tuple[str, ...]
    tables: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()


@cache
def code_digest(roots: tuple[str, ...], folder: Path = FOLDER) -> str:
    """Digest of the `closure` of modules: of their syntax trees, their tables and the versions of their libraries."""
    modules = closure(roots, folder)
    digests = {name: module.digest for name, module in modules.items()}
    return digest_of([digests, tables(modules, folder), libraries(modules.values())])


@cache
def code_parts(roots: tuple[str, ...], folder: Path = FOLDER) -> dict[str, str]:
    """The parts behind `code_digest`: digests of modules and tables by files, versions of libraries by names."""
    modules = closure(roots, folder)
    files = {_module_path(sources_of(folder).paths[name], name, folder): m.digest for name, m in modules.items()}
    files |= tables(modules, folder)
    return files | {name: version or "not there" for name, version in libraries(modules.values()).items()}


def _module_path(path: Path, name: str, folder: Path) -> str:
    """A module's file below the folder; of a package from outside its name."""
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else f"plug-in {name}"


def closure(roots: Iterable[str], folder: Path = FOLDER) -> dict[str, Module]:
    """The modules of the package that are imported from ``roots``, these included, by name.

    Imports within functions and the packages around a module count; those for type checkers alone, and whatever
    stands behind a registry, do not. Raises ValueError for a root that is no module.
    """
    sources = sources_of(folder)
    missing = sorted(set(roots) - sources.paths.keys())
    if missing:
        raise ValueError(f"no such module below {folder}: {', '.join(missing)}")
    found: dict[str, Module] = {}
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in sources.paths and name not in found and name not in REGISTRIES:
            found[name] = sources.module(name)
            waiting += [name.rpartition(".")[0], *found[name].imports]
            waiting += [entry.module for group in found[name].groups for entry in entries(group)]
    sources.save()
    return found


def tables(modules: Mapping[str, Module], folder: Path = FOLDER) -> dict[str, str]:
    """File -> digest of all that modules load by name (`load_table`, `load_source`), and of the data beside them."""
    found = {}
    for name in sorted({name for module in modules.values() for name in module.tables}):
        file = f"templates/tables/{name}" + ".yaml" * (not name.endswith(".py"))
        own = folder / file
        found[file] = digest_of((own if own.exists() else table_file(name)).read_bytes())
    paths = sources_of(folder).paths
    for place in {paths[name].parent for name in modules if paths[name].is_relative_to(folder)}:
        found |= {p.relative_to(folder).as_posix(): digest_of(p.read_bytes()) for p in sorted(place.glob("*.yaml"))}
    return dict(sorted(found.items()))


def libraries(modules: Iterable[Module]) -> dict[str, str | None]:
    """Distribution -> version of everything outside Python and the package that modules import; None: not here."""
    names = {name.partition(".")[0] for module in modules for name in module.imports}
    names -= {PACKAGE, *packages(), *sys.stdlib_module_names}
    return {d: _version(d) for name in sorted(names) for d in DISTRIBUTIONS.get(name, (name,))}


def changed_since(error: BaseException, since: float, folder: Path = FOLDER) -> list[Path]:
    """The files of the project that an error came through, and that changed after a time (seconds since 1970)."""
    files = {frame.filename for frame in traceback.extract_tb(error.__traceback__)}
    files |= {str(getattr(error, name, "")) for name in ("filename", "path")}  # of a SyntaxError, of an ImportError
    paths = sorted(path for file in files if (path := Path(file)).is_relative_to(folder))
    return [path for path in paths if path.is_file() and path.stat().st_mtime > since]


@cache
def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


@cache
def sources_of(folder: Path) -> Sources:
    """The sources below a folder as they are now."""
    return Sources(folder)


class Sources:
    """The modules of the package below a folder.

    What was parsed is kept by the digest of its bytes for the next process, beside what Python keeps of it: to parse
    the package takes longer than all the rest of a build in which nothing changed.
    """

    def __init__(self, folder: Path) -> None:
        files = (path.relative_to(folder) for path in (folder / PACKAGE).rglob("*.py"))
        self.paths = {".".join(f.with_suffix("").parts).removesuffix(".__init__"): folder / f for f in files}
        for place in packages().values():  # from outside: wherever they are installed
            own = [place] if place.is_file() else sorted(place.rglob("*.py"))
            names = [".".join(path.relative_to(place.parent).with_suffix("").parts) for path in own]
            self.paths |= {name.removesuffix(".__init__"): path for name, path in zip(names, own, strict=True)}
        self._kept = folder / PACKAGE / CACHE_FILE
        self._parsed = self._load()
        self._read: dict[str, Module] = {}
        self._is_new = False

    def module(self, name: str) -> Module:
        """A module that is in ``paths``."""
        if name not in self._read:
            path = self.paths[name]
            raw = path.read_bytes()
            digest = _digest(raw)
            if self._parsed.get(name, ("",))[0] != digest:
                package = name if path.name == "__init__.py" else name.rpartition(".")[0]
                self._parsed[name] = (digest, parse(raw, package))
                self._is_new = True
            self._read[name] = self._parsed[name][1]
        return self._read[name]

    def changed(self) -> list[Path]:
        """The files of modules that were read, and are not now as they were then."""
        now = {name: path.read_bytes() if (path := self.paths[name]).exists() else b"" for name in self._read}
        return [self.paths[name] for name, raw in sorted(now.items()) if _digest(raw) != self._parsed[name][0]]

    def save(self) -> None:
        """Writes what was parsed; where the folder cannot be written, the next process parses again."""
        if self._is_new:
            with suppress(OSError):
                self._kept.parent.mkdir(exist_ok=True)
                handle, name = tempfile.mkstemp(dir=self._kept.parent)
                with os.fdopen(handle, "w") as file:
                    json.dump(self._parsed, file)
                os.replace(name, self._kept)  # noqa: PTH105 - tests end a build at any `Path.replace` of its own
            self._is_new = False

    def _load(self) -> dict[str, tuple[str, Module]]:
        try:
            kept = json.loads(self._kept.read_bytes())
            return {
                name: (d, Module(digest, tuple(imports), tuple(tables), tuple(groups)))
                for name, (d, (digest, imports, tables, groups)) in kept.items()
            }
        except (OSError, ValueError, TypeError, AttributeError):  # none yet, or damaged
            return {}


def _digest(raw: bytes) -> str:
    """Of the bytes of a source: each version of Python has its own syntax trees."""
    return hashlib.sha256(f"{sys.version_info[:2]}".encode() + raw).hexdigest()


def parse(raw: bytes, package: str) -> Module:
    """A module from its source; ``package`` is where its relative imports start."""
    tree = ast.parse(raw)
    imports = {name for node in _statements(tree) for name in _imported(node, package)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    loaded, groups = (
        tuple(sorted({name for call in calls for name in _string_arguments(call, functions)}))
        for functions in (("load_table", "load_source"), ("load_plugins",))
    )
    return Module(digest_of(ast.dump(tree).encode()), tuple(sorted(imports)), loaded, groups)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements; takes docstrings, and what stands there for type checkers alone, out on its way."""
    yield node
    if _is_for_type_checkers(node):
        node.body.clear()  # type: ignore[attr-defined] # what is so is an `if`
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            del node.body[0]
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(node, name, [])
        for child in children if isinstance(children, list) else []:
            yield from _statements(child)


def _is_for_type_checkers(node: ast.AST) -> bool:
    test = node.test if isinstance(node, ast.If) else None
    name = test.id if isinstance(test, ast.Name) else test.attr if isinstance(test, ast.Attribute) else None
    return name == "TYPE_CHECKING"


def _imported(node: ast.AST, package: str) -> Iterator[str]:
    """All names that may be modules: of ``from a import b`` both ``a`` and ``a.b``."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        around = package.split(".")
        around = around[: len(around) + 1 - node.level] if node.level else []
        base = ".".join([*around, *([node.module] if node.module else [])])
        yield from (base, *(f"{base}.{alias.name}" for alias in node.names))


def _string_arguments(call: ast.Call, functions: Collection[str]) -> Iterator[str]:
    """The names in a call of a function such as ``load_table("…")``."""
    if isinstance(call.func, ast.Name) and call.func.id in functions:
        yield from (arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str))
