"""The photographs of a city, for a model that is shown them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from PIL import Image

from pipeline.formats.images import decode_color, jpeg_bytes
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityScene, Photo

LONG_SIDE: Final = 1024  # pixels of what is shown


def photographs(files: SceneFiles, scene: CityScene, wanted: Sequence[Photo]) -> Iterator[bytes]:
    """JPEG of each of some photographs, in order. Raises RawDataError for one that cannot be decoded."""
    for photo in wanted:
        path = files.root / photo.path
        color = decode_color(files.raw(path))
        if color is None:
            raise files.fault(path, "unreadable_picture", "it cannot be decoded", "fetch the picture again")
        image = Image.fromarray(color)
        image.thumbnail((LONG_SIDE, LONG_SIDE))
        yield jpeg_bytes(np.asarray(image))
