"""Packages from outside that bring readers, log formats or benchmarks: their entry points, code, wording and builds.

An entry point's name is that of what it brings. What it brings does whatever one of ours does; its package may hold
``templates/`` and ``builds/`` laid out as ours. A package that cannot be used, or that takes a name of ours, is an
error that names it: to go on without it would build something else than was asked for.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar

from pipeline.core.errors import ConfigError

GROUPS: Final = ("scan2qa.readers", "scan2qa.log_formats", "scan2qa.benchmarks")


def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of one of `GROUPS`, by name; nothing of their packages is imported."""
    return _entries()[group]


@cache
def _entries() -> dict[str, tuple[EntryPoint, ...]]:
    """By group: to read those of all packages takes as long for one group as for all."""
    found = entry_points()
    return {
        group: tuple(sorted(found.select(group=group), key=lambda entry: (entry.name, entry.value))) for group in GROUPS
    }


def load_plugins(group: str, taken: Collection[str], examine: Callable[[Any], str | None]) -> tuple[Any, ...]:
    """What packages bring to a group, in order of name: objects, or classes that are made without arguments.

    Args:
        group: one of `GROUPS`; in the call as a literal, so that their code counts as that of every stage that imports
            the caller.
        taken: names of ours.
        examine: says what is wrong with one; None where it can be used.

    Raises:
        ConfigError: one cannot be imported or used, or takes a name that is taken; it names the package.
    """
    found: dict[str, Any] = {}
    for entry in entries(group):
        if entry.name in taken:
            raise _refused(entry, f"the name {entry.name} is scan2qa's own")
        if entry.name in found:
            raise _refused(entry, f"another package brings {entry.name} too")
        try:
            loaded = entry.load()
            plugin = loaded() if isinstance(loaded, type) else loaded
            wrong = examine(plugin)
        except Exception as error:  # their code
            raise _refused(entry, f"{type(error).__name__}: {error}") from error
        if getattr(plugin, "name", None) != entry.name:
            raise _refused(entry, f"it calls itself {getattr(plugin, 'name', None)!r}, its entry point {entry.name!r}")
        if wrong is not None:
            raise _refused(entry, wrong)
        found[entry.name] = plugin
    return tuple(found.values())


T = TypeVar("T")


class LazyImports(MutableMapping[str, T]):
    """Objects by name, each imported when it is looked up; to ask for names imports nothing.

    Args:
        places: name -> ``module:attribute``.
        others: objects with a name, which are there already.
        made: what is given in place of an object that was imported.
    """

    def __init__(
        self, places: Mapping[str, str], others: Collection[Any] = (), made: Callable[[T], T] = lambda found: found
    ) -> None:
        self._places, self._made = places, made
        self._found: dict[str, T | None] = dict.fromkeys(places)
        self._found |= {other.name: other for other in others}

    def __getitem__(self, name: str) -> T:
        found = self._found[name]
        if found is None:
            found = self._found[name] = self._made(EntryPoint(name, self._places[name], "").load())
        return found

    def __setitem__(self, name: str, value: T) -> None:
        self._found[name] = value

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __contains__(self, name: object) -> bool:
        return name in self._found

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def lacking(plugin: Any, names: Collection[str]) -> str | None:
    """Says what of some attributes something does not have; None: it has all."""
    missing = [name for name in names if not hasattr(plugin, name)]
    return f"it has no {', '.join(missing)}" if missing else None


def _refused(entry: EntryPoint, why: str) -> ConfigError:
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist is not None else entry.module
    message = f"plug-in {package} ({entry.group}: {entry.name} = {entry.value}) cannot be used: {' '.join(why.split())}"
    return ConfigError(f"{message}; mend it, or uninstall the package")


@cache
def packages() -> dict[str, Path]:
    """Top-level package or module -> its folder or file, of all entry points; nothing is imported."""
    found: dict[str, Path] = {}
    for entry in (entry for group in GROUPS for entry in entries(group)):
        top = entry.module.partition(".")[0]
        spec = find_spec(top)
        if spec is not None and spec.submodule_search_locations:
            found[top] = Path(next(iter(spec.submodule_search_locations)))
        elif spec is not None and spec.origin:
            found[top] = Path(spec.origin)
    return dict(sorted(found.items()))


def folders(name: str) -> list[Path]:
    """The folders of a name (``templates``, ``builds``) in packages from outside."""
    return [folder for package in packages().values() if (folder := package / name).is_dir()]


def forget() -> None:
    """Looks at what is installed again, when next asked."""
    _entries.cache_clear()
    packages.cache_clear()
