"""Reader of panoramas: a folder for each, or pictures in the root, with what is known of them.

``id/{pano.jpg, pano.yaml, depth.png, objects.json, mapillary.json or panoramax.json}``; or ``id.jpg`` with ``id.yaml``,
``id.depth.png``, ``id.objects.json`` and so on. Only the picture is needed. Maps of all lie in ``maps/``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from pipeline.core.arrays import FloatArray
from pipeline.core.errors import ConfigError
from pipeline.core.extras import need
from pipeline.core.findings import Findings
from pipeline.core.schema import Finding
from pipeline.formats.images import color_file, depth_file
from pipeline.reading.files import SceneFiles
from pipeline.reading.footage import Footage
from pipeline.reading.maps.countries import COUNTRIES
from pipeline.reading.maps.gazetteer import SUFFIXES as MAP_SUFFIXES
from pipeline.reading.maps.gazetteer import Gazetteer, maps_in, read_gazetteer, stamped
from pipeline.reading.maps.read import OSM_SUFFIXES
from pipeline.reading.panorama_geometry import PanoramaGeometry, Twin
from pipeline.reading.reader import Listing
from pipeline.reading.wants import Want
from pipeline.worlds.panorama.facts import Depth, Panorama, PanoramaScene, Place
from pipeline.worlds.panorama.readers.depth import MOST_PIXELS as MOST_DEPTH_PIXELS
from pipeline.worlds.panorama.readers.depth import find_depth
from pipeline.worlds.panorama.readers.listed import list_panoramas
from pipeline.worlds.panorama.readers.metadata import of_services, say_what_is_missing, settle, stated
from pipeline.worlds.panorama.readers.objects import read_objects
from pipeline.worlds.panorama.readers.own_files import MAPS, SERVICES, SIDECAR, SUFFIXES, own_files
from pipeline.worlds.panorama.readers.picture import MOST_PIXELS, open_picture
from pipeline.worlds.panorama.readers.sidecar import Sidecar, read_sidecar
from pipeline.worlds.panorama.readers.told import accuracy_of, compare, first

TOLD: Final = (
    "position",
    "heading_deg",
    "camera_pitch_deg",
    "camera_roll_deg",
    "captured",
    "author",
    "licence",
    "source_url",
)
# By which endings `doctor` knows the files of a panorama, in a folder and in the root.
WANTS: Final = (
    Want("picture", tuple(f"*{suffix}" for suffix in SUFFIXES), "the panorama is left out", True, SUFFIXES),
    Want("sidecar", ("pano.yaml",), "only what picture or service say of position and heading", recorded=(".yaml",)),
    Want(
        "service",
        tuple(f"*{name}.json" for name in SERVICES),
        "nothing, where pano.yaml or the picture say the same",
        recorded=tuple(f"{name}.json" for name in SERVICES),
    ),
    Want("depth", ("depth.png",), "no distances but those that people gave", recorded=("depth.png",)),
    Want("objects", ("objects.json",), "no question about objects", recorded=("objects.json",)),
    Want(
        "maps",
        tuple(f"{up}{MAPS}/*{suffix}" for up in ("", "../") for suffix in MAP_SUFFIXES),
        "no country, city and street but those that pano.yaml states",
    ),
)


@dataclass(frozen=True)
class Panoramas:
    """Panoramas in folders of the user.

    Args:
        maps: a folder of map files; "" for the folder ``maps`` of the root.
    """

    maps: str = ""
    name = "panoramas"
    version = 1
    extra = None
    video_fps = 1
    wants = WANTS

    def settings(self) -> dict[str, str]:
        """See `Reader.settings`. The maps are among what changes a scene's stamp."""
        return {}

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`. Raises ConfigError where maps need a package that is not installed."""
        maps = self._maps(root)
        if any(path.name.lower().endswith(OSM_SUFFIXES) for path in maps):
            need("flights", f"reader {self.name} with a map of OpenStreetMap")
        return list_panoramas(root, maps)

    def read(self, files: SceneFiles) -> PanoramaScene:
        """See `Reader.read`."""
        findings = Findings()
        sidecar = read_sidecar(files, own_files(files).sidecar)
        own = own_files(files, sidecar.picture)
        opened = open_picture(files, own, sidecar.crop, findings)
        told = [stated(sidecar, findings), *of_services(files, own, findings), *opened.told]
        compare(told, findings)
        objects, complete = read_objects(files, own.objects, opened.picture, findings)
        told_by = {name: SIDECAR for name in ("camera_height_m", "indoor") if getattr(sidecar, name) is not None}
        panorama = Panorama(
            picture=opened.picture,
            **{name: first(told, name, told_by) for name in TOLD},
            accuracy_m=accuracy_of(told, told_by),
            camera_height_m=sidecar.camera_height_m,
            depth=find_depth(files, own, sidecar, opened.picture, findings),
            objects=objects,
            slots=sidecar.slots,
            complete=complete,
            views=sidecar.views,
            indoor=sidecar.indoor,
            place=_stated_place(sidecar),
            tags=sidecar.tags,
            told_by=told_by,
        )
        say_what_is_missing(panorama.position, panorama.heading_deg, findings)
        known = {"position": panorama.position is not None, "heading": panorama.heading_deg is not None}
        settle(findings, {subject for subject, is_known in known.items() if is_known}, sidecar.certain)
        return PanoramaScene(
            id=files.scene,
            dataset=files.dataset,
            name=files.name,
            source=files.source(self.name, self.version, "none"),
            facts=panorama,
            findings=tuple(findings.items),
        )

    def geometry(self, files: SceneFiles, scene: PanoramaScene) -> PanoramaGeometry:
        """See `Reader.geometry`. Nothing is decoded or read before it is asked for."""
        facts = scene.facts
        twins = tuple(Twin(other, partial(_color, files.root / path)) for other, path in files.ref.beside)
        return PanoramaGeometry(
            color=partial(_color, files.root / facts.picture.path),
            depth_m=lambda: None if facts.depth is None else _depth_m(files.root / facts.depth.path, facts.depth),
            gazetteer=partial(_gazetteer, self._maps(files.root)),
            twins=twins,
        )

    def footage(self, files: SceneFiles, scene: PanoramaScene) -> Footage | None:
        """See `Reader.footage`: a panorama is no film."""

    def _maps(self, root: Path) -> tuple[Path, ...]:
        folder = Path(self.maps) if self.maps else root / MAPS
        if self.maps and not folder.is_dir():
            raise ConfigError(f"configuration readers.{self.name}.maps: {folder}: no such folder")
        return maps_in(folder)


def _stated_place(sidecar: Sidecar) -> Place | None:
    if sidecar.place is None:
        return None
    words = {name: value for name, value in sidecar.place if value is not None}
    if "country_code" in words and "country" not in words:
        words["country"] = COUNTRIES.get(words["country_code"], words["country_code"])
    return Place(**words, told_by={name: SIDECAR for name in words if name != "country_code"})


def _color(path: Path) -> npt.NDArray[np.uint8] | None:
    return color_file(path, MOST_PIXELS)


def _depth_m(path: Path, depth: Depth) -> FloatArray | None:
    return depth_file(path, 1.0 / depth.metres_per_unit, MOST_DEPTH_PIXELS)


def _gazetteer(maps: tuple[Path, ...]) -> tuple[Gazetteer, tuple[Finding, ...]] | None:
    return read_gazetteer(tuple(stamped(path) for path in maps)) if maps else None
