"""The worlds, and the readers of all of them, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from operator import or_
from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.fixes import SHARED, Fix
from pipeline.core.plugins import lacking, load_plugins
from pipeline.core.schema import AnyScene, Scene
from pipeline.reading.reader import Reader
from pipeline.worlds.arm.world import ARM
from pipeline.worlds.city.world import CITY
from pipeline.worlds.drive.world import DRIVE
from pipeline.worlds.flight.world import FLIGHT
from pipeline.worlds.indoor.world import INDOOR
from pipeline.worlds.panorama.world import PANORAMA
from pipeline.worlds.world import World

_OWN: Final[tuple[World[Any], ...]] = (
    INDOOR,
    FLIGHT,
    CITY,
    PANORAMA,
    DRIVE,
    ARM,
)


def _fault_of_reader(reader: Any) -> str | None:
    known = [world.name for world in _OWN]
    wrong = lacking(
        reader, ("world", "version", "video_fps", "expected_files", "scenes", "read", "geometry", "footage")
    )
    if wrong is None and reader.world not in known:
        wrong = f"its world is {reader.world!r}; there are {', '.join(known)}"
    return wrong


_PLUGINS: Final = load_plugins(
    "scan2qa.readers", [reader.name for world in _OWN for reader in world.readers], _fault_of_reader
)
_ALL: Final[tuple[World[Any], ...]] = tuple(
    replace(world, readers=(*world.readers, *(r for r in _PLUGINS if r.world == world.name))) for world in _OWN
)
WORLDS: Final[dict[str, World[Any]]] = {world.name: world for world in _ALL}
READERS: Final[dict[str, Reader]] = {reader.name: reader for world in _ALL for reader in world.readers}
FIXES: Final[tuple[type[Fix], ...]] = (*SHARED, *(kind for world in _ALL for kind in world.fixes))
_FACTS: Final[Any] = reduce(or_, (world.facts for world in _ALL))
SCENE: Final[TypeAdapter[AnyScene]] = TypeAdapter(Scene[Annotated[_FACTS, Field(discriminator="world")]])


def world_of(reader: str) -> World[Any]:
    """The world that a reader reads."""
    return next(world for world in _ALL if any(own.name == reader for own in world.readers))


def read_scene(raw: bytes) -> AnyScene:
    """A scene from its JSON; the name of its world tells which facts it has. Raises StoreError."""
    try:
        return SCENE.validate_json(raw)
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

    near = get_close_matches(name.lower(), CONVERTERS, 1)
    way = f"scan2qa convert {near[0]} IN OUT writes scene folders for --root scene=OUT; " if near else ""
    return ConfigError(f"unknown reader {name!r}; {way}there are {', '.join(readers)}")


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
