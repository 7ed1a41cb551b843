"""Reader of panoramas: a folder for each, with its picture and what is known of it.

``id/{pano.jpg, pano.yaml, depth.png, objects.json}``. Only the picture is needed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.core.findings import Findings
from pipeline.formats.images import size_of
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import Layout, list_scenes
from pipeline.reading.footage import Footage
from pipeline.reading.reader import Listing
from pipeline.reading.wants import Want
from pipeline.worlds.panorama.facts import Depth, Panorama, PanoramaScene, Picture
from pipeline.worlds.panorama.readers.objects import read_objects
from pipeline.worlds.panorama.readers.sidecar import (
    DEFAULT_DATASET,
    DEPTH_FILE,
    OBJECTS_FILE,
    PICTURES,
    SIDECAR,
    Sidecar,
    read_sidecar,
)

WANTS: Final = (
    Want("picture", PICTURES, "the panorama is left out", True),
    Want("sidecar", (SIDECAR,), "only what the picture itself says of position and heading"),
    Want("depth", (DEPTH_FILE,), "no distances but those that people gave"),
    Want("objects", (OBJECTS_FILE,), "no question about objects"),
)


class Panoramas:
    """Panoramas in folders of the user."""

    name = "panoramas"
    version = 1
    extra = None
    video_fps = 1
    wants = WANTS

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`."""
        return {}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`."""
        if not root.is_dir():
            raise ConfigError(f"{root}: no such folder. Give a folder of panoramas, a folder for each")
        layout = Layout(
            dataset=DEFAULT_DATASET,
            tops=(("",),),
            is_scene=_is_panorama,
            main_files=lambda _: (*PICTURES, SIDECAR),
            expected="a folder of panoramas: a folder for each, with pano.jpg and pano.yaml",
        )
        return list_scenes(root, layout)

    def read(self, files: SceneFiles) -> PanoramaScene:
        """See `Reader.read`."""
        findings = Findings()
        sidecar = read_sidecar(files)
        picture = _picture(files, sidecar)
        objects, complete = read_objects(files, picture, findings)
        told = ("position", "accuracy_m", "heading_deg", "camera_height_m", "indoor")
        panorama = Panorama(
            picture=picture,
            position=sidecar.position,
            accuracy_m=sidecar.accuracy_m,
            heading_deg=sidecar.heading_deg,
            camera_pitch_deg=sidecar.camera_pitch_deg,
            camera_roll_deg=sidecar.camera_roll_deg,
            camera_height_m=sidecar.camera_height_m,
            depth=_depth(files, sidecar),
            objects=objects,
            slots=sidecar.slots,
            complete=complete,
            views=sidecar.views,
            indoor=sidecar.indoor,
            captured=sidecar.captured,
            licence=sidecar.licence,
            author=sidecar.author,
            source_url=sidecar.source_url,
            tags=sidecar.tags,
            told_by={key: SIDECAR for key in told if getattr(sidecar, key) is not None},
        )
        return PanoramaScene(
            id=files.scene,
            dataset=files.dataset,
            name=files.name,
            source=files.source(self.name, self.version, "none"),
            facts=panorama,
            findings=tuple(findings.items),
        )

    def geometry(self, files: SceneFiles, scene: PanoramaScene) -> None:
        """See `Reader.geometry`."""

    def footage(self, files: SceneFiles, scene: PanoramaScene) -> Footage | None:
        """See `Reader.footage`: a panorama is no film."""


def _is_panorama(folder: Path) -> bool:
    return (folder / SIDECAR).is_file() or any((folder / name).is_file() for name in PICTURES)


def _picture(files: SceneFiles, sidecar: Sidecar) -> Picture:
    names = (sidecar.picture,) if sidecar.picture else PICTURES
    path = next((p for name in names if (p := files.folder / name).is_file()), files.folder / names[0])
    raw = files.raw(path)
    size = size_of(raw)
    if size is None:
        raise files.fault(path, "unreadable_picture", "this is no JPEG and no PNG", "fetch the picture again")
    width, height = size
    return Picture(
        path=files.relative(path), width=width, height=height, crop=sidecar.crop, sha256=hashlib.sha256(raw).hexdigest()
    )


def _depth(files: SceneFiles, sidecar: Sidecar) -> Depth | None:
    if sidecar.depth is None:
        return None
    path = files.folder / sidecar.depth.path
    size = size_of(files.raw(path))
    if size is None:
        raise files.fault(path, "unreadable_depth", "this is no PNG", "write a grey PNG of 16 bits")
    return Depth(
        path=files.relative(path), metres_per_unit=sidecar.depth.metres_per_unit, width=size[0], height=size[1]
    )
