"""The ``scene.json`` of a scene's folder, checked, and the files that it names: none of them outside the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from pipeline.core.findings import Findings, fault
from pipeline.formats.scene_folder import FILE, MAX_BYTES, Axes, SceneDocument
from pipeline.reading.files import SceneFiles

# What pydantic calls a fault of a document -> what it is called here.
FAULTS: Final = {"extra_forbidden": "unknown_key", "missing": "missing_key", "finite_number": "not_finite"}
FAULTS_NAMED: Final = 5
REMEDY: Final = "follow meta_schemas/scene-folder.schema.json"


def document_of(files: SceneFiles) -> SceneDocument:
    """The document of a scene. Raises RawDataError, which names what is wrong with it and where."""
    return files.once("document", lambda found: _document(files), Findings())


def axes_of(files: SceneFiles) -> Axes:
    """How the document's frame becomes the world's."""
    document = document_of(files)
    return Axes(document.unit, document.up, document.handedness)


def _document(files: SceneFiles) -> SceneDocument:
    path = files.path / FILE
    if path.is_file() and path.stat().st_size > MAX_BYTES:
        message = f"{path.stat().st_size} bytes, over {MAX_BYTES}"
        raise files.fault(path, "file_too_large", message, "is this the right file?")
    raw = files.json(path)
    if raw.get("format") != "scan2qa-scene" or raw.get("version") != 1:
        message = f"format is {raw.get('format')!r}, version {raw.get('version')!r}; read are scan2qa-scene, version 1"
        raise files.fault(path, "unknown_version", message, REMEDY)
    try:
        return SceneDocument.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        found = Findings()
        told = error.errors(include_url=False)
        for one in told[:FAULTS_NAMED]:
            where = ".".join(map(str, one["loc"])) or "scene.json"
            name = FAULTS.get(one["type"], "wrong_value")
            found.add(fault(name, where, f"{where}: {one['msg'].removeprefix('Value error, ')}", REMEDY))
        if len(told) > FAULTS_NAMED:
            found.add(fault("wrong_value", FILE, f"and {len(told) - FAULTS_NAMED} more", REMEDY))
        files.raise_faults(path, found)
        raise AssertionError("an invalid document has faults") from error


def file_within(files: SceneFiles, path: str) -> Path:
    """A file that the document names. Raises RawDataError where it is not in the scene's folder."""
    named = files.path / path
    if not _is_inside(files, named):
        message = f"{path} is a link to a file elsewhere"
        raise files.fault(files.path / FILE, "path_outside", message, "copy the file into the scene's folder")
    if not named.is_file():
        raise files.fault(named, "missing_file", f"{FILE} names it", f"fetch it, or take it out of {FILE}")
    return named


def paths_within(files: SceneFiles, names: list[str | None]) -> list[Path | None]:
    """The files that frames name; None where there is none. Raises RawDataError for one outside the folder."""
    paths = [None if name is None else files.path / name for name in names]
    folders = {path.parent for path in paths if path is not None}
    outside = {folder for folder in folders if not _is_inside(files, folder)}
    for path in paths:
        if path is not None and (path.parent in outside or (path.is_symlink() and not _is_inside(files, path))):
            message = f"{files.relative(path)} is a link to a file elsewhere"
            raise files.fault(files.path / FILE, "path_outside", message, "copy the file into the scene's folder")
    return [path if path is not None and path.is_file() else None for path in paths]


def _is_inside(files: SceneFiles, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(files.path.resolve())
    except (OSError, RuntimeError):  # links in a circle
        return False
