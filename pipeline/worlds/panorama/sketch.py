"""A panorama from above."""

from __future__ import annotations

from pipeline.core.sketch import Sketch, Thing
from pipeline.worlds.panorama.facts import PanoramaScene


def sketch(scene: PanoramaScene) -> Sketch:
    """The objects whose place is known, about the camera: east to the right, north up."""
    return Sketch(
        things=tuple(Thing(label=o.name or o.label, outline=(o.place,)) for o in scene.facts.objects if o.place)
    )
