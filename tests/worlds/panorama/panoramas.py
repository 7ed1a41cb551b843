"""Small panoramas, made by hand."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import PanoramaScene
from pipeline.worlds.panorama.readers.panoramas import Panoramas

SIDECAR = """
position: {lat_deg: 43.7396, lon_deg: 7.4273, alt_m: null}
accuracy_m: 4
heading_deg: 37.5
camera_height_m: 2.5
captured: 2024-05-17
licence: CC BY-SA 4.0
author: Ada
source_url: https://example.org/p1
tags: [harbour]
"""


def texture(width: int = 256, height: int = 128) -> npt.NDArray[np.uint8]:
    """A picture with edges everywhere, (height, width, 3)."""
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def jpeg(color: npt.NDArray[np.uint8] | None = None, **options: Any) -> bytes:
    out = io.BytesIO()
    Image.fromarray(texture() if color is None else color).save(out, "JPEG", **options)
    return out.getvalue()


def write(
    root: Path,
    name: str = "p1",
    picture: bytes | None = None,
    sidecar: str | None = SIDECAR,
    objects: Any = None,
    **files: bytes,
) -> Path:
    """A panorama's folder below a root; further files by name, "__" for a dot."""
    folder = root / name
    folder.mkdir(parents=True)
    (folder / "pano.jpg").write_bytes(jpeg() if picture is None else picture)
    if sidecar is not None:
        (folder / "pano.yaml").write_text(sidecar)
    if objects is not None:
        (folder / "objects.json").write_text(json.dumps(objects))
    for key, raw in files.items():
        (folder / key.replace("__", ".")).write_bytes(raw)
    return root


def read(root: Path, name: str = "p1", reader: Panoramas | None = None) -> PanoramaScene:
    """One panorama of a root, as its reader has it."""
    reader = reader or Panoramas()
    (ref,) = (ref for ref in reader.scenes(root).scenes if ref.id.endswith(f"/{name}"))
    return reader.read(SceneFiles(root, ref))
