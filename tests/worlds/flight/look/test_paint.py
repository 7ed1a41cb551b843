"""Words for colours of pixels, whatever light falls on them."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.geometry.colours import margins
from pipeline.worlds.flight.look.survey import NAMES, ROOF_LIGHT, fits, may_be


def pixels(*colours: tuple[int, int, int], each: int = 10) -> np.ndarray:
    return np.repeat(np.array(colours, dtype=np.uint8), each, axis=0)


@pytest.mark.parametrize("light", [1.0, 0.8, 0.7])
def test_a_wall_in_shade_has_the_colour_that_it_has_in_the_sun(light: float) -> None:
    for word, colour in {"red": (200, 30, 30), "blue": (70, 150, 235), "purple": (150, 72, 190)}.items():
        found = fits(word, (pixels(colour) * light).astype(np.uint8))
        assert found.share == 1.0
        assert found.margin > 20
        assert found.rgb is not None
        assert margins(np.array([found.rgb], dtype=np.float64))[word][0] == pytest.approx(found.margin, abs=0.5)


def test_another_word_fits_by_less_or_not_at_all() -> None:
    assert fits("green", pixels((200, 30, 30))).rgb is None
    assert fits("white", pixels((150, 146, 146))).margin < 10 < fits("grey", pixels((150, 146, 146))).margin
    assert fits("white", pixels((200, 200, 198))).margin > 10, "a white wall in shade, or a light grey one"
    assert fits("white", pixels((170, 170, 168)), ROOF_LIGHT).margin < 10, "a roof has no such shade"


def test_the_share_counts_the_pixels_that_may_be_called_so() -> None:
    found = fits("red", np.concatenate([pixels((200, 30, 30), each=30), pixels((128, 128, 128), each=70)]))
    assert found.share == pytest.approx(0.3)
    assert may_be(pixels((128, 128, 128), each=1))[0, NAMES.index("grey")]
