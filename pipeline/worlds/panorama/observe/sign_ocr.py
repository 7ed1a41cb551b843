"""Whether the names of things can be read in a picture, by RapidOCR (Apache-2.0, its weights are in the package).

Each name is looked for in a view as large as questions show it, and no larger.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.errors import require_extra
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import View, turned_deg
from pipeline.worlds.panorama.facts import Panorama, PanoramaObject

PIXELS_PER_TANGENT: Final = 320.0  # of a question's view: 640 pixels are 90 degrees
AROUND_DEG: Final = 5.0  # to each side of a thing
RUN_MIN: Final = 2  # letters in a row that count: single ones agree by chance

Picture = npt.NDArray[np.uint8]
Reader = Callable[[Picture], str]


def with_signs_read(facts: Panorama, color: Picture, read: Reader | None = None) -> tuple[PanoramaObject, ...]:
    """The objects, those with a name and a kind with the share of it that can be read.

    Args:
        facts: of a whole sphere.
        color: (h, w, 3) its picture.
        read: gives the text in a picture; None: RapidOCR.

    Raises:
        MissingExtraError: where RapidOCR is not installed.
    """
    read = read or _rapidocr()
    sphere = Sphere(Image.fromarray(color))
    shares = {own.id: _share(own, sphere, read) for own in facts.objects if own.name and own.kind}
    return tuple(
        own.model_copy(update={"read_share": shares[own.id]}) if own.id in shares else own for own in facts.objects
    )


def _share(own: PanoramaObject, sphere: Sphere, read: Reader) -> float:
    height = own.pitch_high_deg - own.pitch_low_deg
    across, down = (
        2 * math.tan(math.radians(min(size + 2 * AROUND_DEG, 120.0) / 2)) for size in (own.width_deg, height)
    )
    view = View(
        yaw_deg=turned_deg(own.yaw_deg),
        pitch_deg=(own.pitch_high_deg + own.pitch_low_deg) / 2,
        fov_deg=min(own.width_deg + 2 * AROUND_DEG, 120.0),
        width=math.ceil(across * PIXELS_PER_TANGENT),
        height=math.ceil(down * PIXELS_PER_TANGENT),
    )
    return round(letters_read(own.name or "", read(sphere.render(view))), 3)


def letters_read(name: str, text: str) -> float:
    """The share of a name's letters that a text has in their order, in runs of `RUN_MIN` at least."""
    wanted, found = _letters(name), _letters(text)
    if not wanted:
        return 0.0
    runs = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    return sum(run.size for run in runs if run.size >= RUN_MIN) / len(wanted)


def _letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())


@cache
def _rapidocr() -> Reader:
    require_extra("ocr", "observe.panorama.ocr")
    from rapidocr_onnxruntime import RapidOCR

    engine: Any = RapidOCR(intra_op_num_threads=1)

    def read(picture: Picture) -> str:
        lines, _ = engine(np.ascontiguousarray(picture[..., ::-1]))  # it takes BGR
        return " ".join(line[1] for line in lines or ())

    return read
