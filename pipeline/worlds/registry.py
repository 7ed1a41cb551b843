"""The worlds, and the readers of all of them, by name.

A world is imported when it is looked up: a build needs one or two, and all take half a second.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, reduce
from itertools import chain
from operator import or_
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from pipeline.core.arguments import nearest_of
from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.fixes import SHARED, Fix
from pipeline.core.plugins import LazyImports, lacking, load_plugins
from pipeline.core.schema import AnyScene, Scene
from pipeline.reading.reader import Reader
from pipeline.worlds.world import World

_OWN: Final = {
    "indoor": "pipeline.worlds.indoor.world:INDOOR",
    "flight": "pipeline.worlds.flight.world:FLIGHT",
    "city": "pipeline.worlds.city.world:CITY",
    "panorama": "pipeline.worlds.panorama.world:PANORAMA",
    "drive": "pipeline.worlds.drive.world:DRIVE",
    "arm": "pipeline.worlds.arm.world:ARM",
}


def _fault_of_reader(reader: Any) -> str | None:
    wrong = lacking(
        reader, ("world", "version", "video_fps", "expected_files", "scenes", "read", "geometry", "footage")
    )
    if wrong is None and reader.world not in _OWN:
        wrong = f"its world is {reader.world!r}; there are {', '.join(_OWN)}"
    return wrong


class _Readers(Mapping[str, Reader]):
    """The readers of worlds by name; worlds are imported until one has the reader that is looked up."""

    def __init__(self, worlds: Mapping[str, World[Any]]) -> None:
        self._worlds = worlds

    def __getitem__(self, name: str) -> Reader:
        for world in self._worlds.values():
            for reader in world.readers:
                if reader.name == name:
                    return reader
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (reader.name for world in self._worlds.values() for reader in world.readers)

    def __len__(self) -> int:
        return sum(len(world.readers) for world in self._worlds.values())


_PLUGINS: Final = load_plugins("scan2qa.readers", _Readers(LazyImports(_OWN)), _fault_of_reader)


def _with_plugins(world: World[Any]) -> World[Any]:
    return replace(world, readers=(*world.readers, *(r for r in _PLUGINS if r.world == world.name)))


class _Fixes(Iterable[type[Fix]]):
    """All kinds of fixes; a world is imported when those before it have been looked at."""

    def __iter__(self) -> Iterator[type[Fix]]:
        return chain(SHARED, chain.from_iterable(world.fixes for world in WORLDS.values()))


WORLDS: Final[Mapping[str, World[Any]]] = LazyImports(_OWN, made=_with_plugins)
READERS: Final[Mapping[str, Reader]] = _Readers(WORLDS)
FIXES: Final[Iterable[type[Fix]]] = _Fixes()
_WORLD: Final = re.compile(rb'"facts":\s*{\s*"world":\s*"(\w+)"')  # of a scene in JSON


def world_of(reader: str) -> World[Any]:
    """The world that a reader reads."""
    return next(world for world in WORLDS.values() if any(own.name == reader for own in world.readers))


@cache
def scene_type(world: str | None = None) -> TypeAdapter[AnyScene]:
    """What reads and describes scenes: of a world, or of all."""
    scene: Any = Scene
    if world is not None:
        return TypeAdapter(scene[WORLDS[world].facts])
    facts: Any = reduce(or_, (one.facts for one in WORLDS.values()))
    return TypeAdapter(scene[Annotated[facts, Field(discriminator="world")]])


def read_scene(raw: bytes) -> AnyScene:
    """A scene from its JSON; the name of its world tells which facts it has. Raises StoreError."""
    named = _WORLD.search(raw)
    name = named[1].decode() if named else None
    try:
        return scene_type(name if name in WORLDS else None).validate_json(raw)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        message = f"a stored scene is none of this version ({where}): it was made by another one. Build again"
        raise StoreError(message) from error


def examined(scene: AnyScene) -> AnyScene:
    """A scene as its reader gave it, with what its world finds unusual in it among its findings."""
    unusual = WORLDS[scene.facts.world].examine(scene)
    return scene.model_copy(update={"findings": (*scene.findings, *unusual)})


def takes_videos(name: str) -> bool:
    """Whether a reader's scenes may have their videos in a folder of their own (its option ``videos``)."""
    reader: Any = READERS.get(name)
    return is_dataclass(reader) and any(field.name == "videos" for field in fields(reader))


def unknown_reader(name: str, readers: Iterable[str]) -> ConfigError:
    """The error about a name that is no reader's; with the command where it is a converter's, or nearly so."""
    from difflib import get_close_matches

    from pipeline.worlds.indoor.converters.registry import CONVERTERS

    known = list(readers)
    near = [] if get_close_matches(name.lower(), known, 1) else get_close_matches(name.lower(), CONVERTERS, 1)
    way = f"scan2qa convert {near[0]} IN OUT writes scene folders for --root scene=OUT; " if near else ""
    return ConfigError(f"unknown reader {name!r}; {way}{nearest_of(name, known)}")


def configured(name: str, options: Mapping[str, str]) -> Reader:
    """A reader with options, for example ``configured("scannet", {"split": "val"})``. Raises ConfigError."""
    if name not in READERS:
        raise unknown_reader(name, READERS)
    reader: Any = READERS[name]
    known = [field.name for field in fields(reader)] if is_dataclass(reader) else []
    unknown = sorted(set(options) - set(known))
    if unknown:
        has = f"has {', '.join(known)}" if known else "has no options"
        raise ConfigError(f"configuration readers.{name}: unknown option {', '.join(unknown)}; the reader {has}")
    try:
        return replace(reader, **options) if options else reader
    except ValueError as error:
        raise ConfigError(f"configuration readers.{name}: {error}") from error
