"""Which files of a root are a panorama's own.

A panorama is a folder, ``id/{pano.jpg, pano.yaml, depth.png, objects.json, mapillary.json …}``; or a picture in the
root itself, ``id.jpg``, with ``id.yaml``, ``id.depth.png``, ``id.objects.json`` and ``id.mapillary.json`` or
``id.panoramax.json`` beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipeline.reading.files import SceneFiles

SIDECAR: Final = "pano.yaml"
OBJECTS_FILE: Final = "objects.json"
DEPTH_FILE: Final = "depth.png"
PICTURES: Final = ("pano.jpg", "pano.jpeg", "pano.png")
SUFFIXES: Final = (".jpg", ".jpeg", ".png")
MAPS: Final = "maps"  # a folder of the root, of all panoramas
SERVICES: Final = ("mapillary", "panoramax")
_DEPTH: Final = ".depth.png"


@dataclass(frozen=True)
class OwnFiles:
    """The files of one panorama; those that are looked for by a name of their own need not be there.

    Attributes:
        pictures: what may be its picture, the likeliest first.
        sidecar: what people say of it.
        objects: what can be seen in it.
        depth: its depth, where the sidecar names no other.
        services: JSON of services of street pictures.
    """

    pictures: tuple[Path, ...]
    sidecar: Path
    objects: Path
    depth: Path
    services: tuple[Path, ...]


def refuse_large(files: SceneFiles, path: Path, most_bytes: int) -> None:
    """Raises RawDataError for a file that is longer than anybody would write: to parse it would take for ever."""
    size = path.stat().st_size
    if size > most_bytes:
        message = f"it has {size:,} bytes, over {most_bytes:,}"
        raise files.fault(path, "file_too_large", message, "is this the right file?")


def own_files(files: SceneFiles, named: str | None = None) -> OwnFiles:
    """Those of a panorama, with the picture that is ``named``, if one is."""
    if is_alone(files):
        picture = files.root / files.ref.files[1]
        stem = picture.stem
        own = (picture.with_name(f"{stem}.{name}.json") for name in SERVICES)
        return OwnFiles(
            (picture,),
            picture.with_name(f"{stem}.yaml"),
            picture.with_name(f"{stem}.{OBJECTS_FILE}"),
            picture.with_name(f"{stem}{_DEPTH}"),
            tuple(path for path in own if path.is_file()),
        )
    folder = files.folder
    usual = [path for name in PICTURES if (path := folder / name).is_file()]
    pictures = (folder / named,) if named is not None else tuple(usual[:1]) or pictures_in(folder)
    services = sorted(p for p in folder.glob("*.json") if p.is_file() and p.name != OBJECTS_FILE)
    return OwnFiles(
        pictures,
        folder / SIDECAR,
        folder / OBJECTS_FILE,
        folder / DEPTH_FILE,
        tuple(path for path in services if not path.name.startswith(".")),
    )


def is_alone(files: SceneFiles) -> bool:
    """Whether a panorama is a picture in the root, without a folder."""
    return files.ref.files[0] == "."


def pictures_in(folder: Path) -> tuple[Path, ...]:
    """The files of a folder that have the ending of a picture, and are neither hidden nor depth; by name."""
    return tuple(path for path in sorted(folder.iterdir()) if is_picture(path))


def is_picture(path: Path) -> bool:
    """Whether a file has the ending of a picture, and is neither hidden nor depth."""
    name = path.name.lower()
    return (
        name.endswith(SUFFIXES)
        and not name.startswith(".")
        and not name.endswith(_DEPTH)
        and name != DEPTH_FILE
        and path.is_file()
    )


def beside(picture: Path) -> tuple[Path, ...]:
    """The files beside a picture in the root that are its own, by name."""
    stem = picture.stem
    names = (f"{stem}.yaml", f"{stem}.{OBJECTS_FILE}", f"{stem}{_DEPTH}", *(f"{stem}.{name}.json" for name in SERVICES))
    return tuple(path for name in sorted(names) if (path := picture.with_name(name)).is_file())
