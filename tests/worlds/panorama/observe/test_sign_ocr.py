"""Names that OCR reads, or not: with a reader of one's own, which needs no package."""

import numpy as np
import pytest
from PIL import Image

from pipeline.benchmarks.ergeobench.rules import ErgeoRules
from pipeline.benchmarks.ergeobench.view import ErgeoView
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import PinholeView
from pipeline.worlds.panorama.observe.panorama import Picture, letters_read, with_signs_read
from tests.benchmarks.ergeobench.made import scene, seen


@pytest.mark.parametrize(
    ("name", "text", "share"),
    [
        ("Café Zoé", "CAFE ZOE", 1.0),
        ("POST OFFICE HARRIS", "POSTOFFICEHARR'S", 14 / 16),  # the last S stands alone
        ("HOTEL", "60 Main Street", 0.0),
        ("Bar", "rab", 0.0),
        ("Mocher", "MO - HE", 4 / 6),  # two in a row count, one alone does not
        ("Mocher", "M - CH - R", 2 / 6),
        ("Books", "", 0.0),
        ("!", "!", 0.0),
    ],
)
def test_letters_in_their_order(name: str, text: str, share: float) -> None:
    assert letters_read(name, text) == pytest.approx(share)


@pytest.mark.parametrize(("text", "broken"), [("hotel mira", ()), ("hot", ("sign_not_read",))])
def test_what_is_not_read_is_not_asked(text: str, broken: tuple[str, ...]) -> None:
    """A view has the pixels of a question's: 8 degrees and 5 to each side are 2 * 320 * tan(9) = 102, rounded up."""
    hotel = seen("a", 40.0, "hotel", name="Mira Hotel", kind="hotel", width_deg=1.0)
    lamp = seen("b", 90.0, "lamp", name="Lamp")
    found = scene(hotel.model_copy(update={"width_deg": 8.0}), lamp)
    shown: list[tuple[int, ...]] = []

    def read(picture: Picture) -> str:
        shown.append(picture.shape)
        return "Mira " + text if text == "hotel mira" else text

    objects = with_signs_read(found.facts, np.zeros((64, 128, 3), dtype=np.uint8), read)
    assert shown == [(102, 102, 3)]
    assert objects[1].read_share is None
    small = tuple(own.model_copy(update={"width_deg": 3.0}) for own in objects)  # 0.3 degrees a letter: no matter
    view = ErgeoView(
        found.model_copy(update={"facts": found.facts.model_copy(update={"objects": small})}), ErgeoRules()
    )
    assert tuple(m.name for m in view.measures(0) if not m.holds) == broken


def test_a_name_is_looked_for_with_five_degrees_about_it() -> None:
    """A sign of 12 by 6 degrees at 30, 7: a view of 22 by 16 degrees, of its pixels; of one too wide 120 degrees."""
    color = np.random.default_rng(0).integers(0, 256, (180, 360, 3), dtype=np.uint8)
    for width_deg, fov_deg in ((12.0, 22.0), (115.0, 120.0)):
        sign = seen("a", 30.0, "sign", name="Mira", kind="hotel", width_deg=width_deg)
        sign = sign.model_copy(update={"pitch_low_deg": 4.0, "pitch_high_deg": 10.0})
        shown: list[Picture] = []
        with_signs_read(scene(sign).facts, color, lambda picture, shown=shown: shown.append(picture) or "")
        size = [int(np.ceil(640 * np.tan(np.radians(angle) / 2))) for angle in (fov_deg, 16.0)]
        view = PinholeView(yaw_deg=30.0, pitch_deg=7.0, fov_deg=fov_deg, width=size[0], height=size[1])
        (picture,) = shown
        assert picture.shape == (size[1], size[0], 3)
        assert (picture == Sphere(Image.fromarray(color)).render(view)).all()
