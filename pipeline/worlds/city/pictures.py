"""What is shown of a city: photographs, a map from above, a card's words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from PIL import Image

from pipeline.core.spatial import MappedThing, TopDownMap
from pipeline.formats.images import decode_color, jpeg_bytes
from pipeline.reading.files import SceneFiles
from pipeline.worlds.city.facts import CityPhoto, CityScene


def top_down_map(scene: CityScene) -> TopDownMap:
    """The city as a map: east to the right, north up."""
    things = tuple(
        MappedThing(label=t.name or t.noun, outline=t.outline or (t.center,), id=t.id) for t in scene.facts.things
    )
    return TopDownMap(things=things)


def sight(cities: int, known: Mapping[str, int]) -> list[str]:
    """How far it is known what poses show, in lines of Markdown."""
    return [
        f"- What can be seen from where in the {cities} cities comes from their maps, not from pictures:",
        "  what a map lacks hides nothing here. A building of unknown height hides all behind it.",
    ]


LONG_SIDE: Final = 1024  # pixels of what is shown


def photographs(files: SceneFiles, scene: CityScene, wanted: Sequence[CityPhoto]) -> Iterator[bytes]:
    """JPEG of each of some photographs, in order. Raises RawDataError for one that cannot be decoded."""
    for photo in wanted:
        path = files.root / photo.path
        color = decode_color(files.raw(path))
        if color is None:
            raise files.fault(path, "unreadable_picture", "it cannot be decoded", "fetch the picture again")
        image = Image.fromarray(color)
        image.thumbnail((LONG_SIDE, LONG_SIDE))
        yield jpeg_bytes(np.asarray(image))
