"""Colours and their words."""

import numpy as np
import pytest

from pipeline.geometry.colours import WORDS, lab, margins


@pytest.mark.parametrize(
    ("rgb", "expected"),
    [
        ((255, 255, 255), (100.0, 0.0, 0.0)),
        ((0, 0, 0), (0.0, 0.0, 0.0)),
        ((255, 0, 0), (53.24, 80.09, 67.20)),
        ((0, 0, 255), (32.30, 79.19, -107.86)),
        ((128, 128, 128), (53.59, 0.0, 0.0)),
        ((12, 12, 12), (3.321, 0.0, 0.0)),  # just above where sRGB is a line
    ],
)
def test_lab_of_known_colours(rgb: tuple[int, ...], expected: tuple[float, ...]) -> None:
    assert lab(np.array([rgb]))[0] == pytest.approx(expected, abs=0.02)


def test_srgb_is_a_line_up_to_4045_hundred_thousandths() -> None:
    """IEC 61966-2-1; a trillionth higher begins the curve, which lies 2e-9 higher there."""
    at = np.array([[0.04045 * 255] * 3, [0.04045 * 255 + 1e-12] * 3])
    assert at[0, 0] / 255 == 0.04045
    linear = np.array([0.04045 / 12.92, ((0.04045 + 0.055) / 1.055) ** 2.4])
    np.testing.assert_allclose(lab(at)[:, 0], (29 / 3) ** 3 * linear, rtol=2e-7)


def test_lightness_is_a_line_up_to_the_cube_of_6_29ths() -> None:
    """CIE 15: 903.3 Y below it, 116 times the cube root less 16 above; greys of 23 and 24 lie on both sides."""
    below, above = (((grey / 255 + 0.055) / 1.055) ** 2.4 for grey in (23, 24))
    assert below < (6 / 29) ** 3 < above
    found = lab(np.array([[23] * 3, [24] * 3]))[:, 0]
    assert found == pytest.approx([(29 / 3) ** 3 * below, 116 * above ** (1 / 3) - 16], abs=1e-4)


def test_every_colour_is_surely_its_own_word_and_no_other() -> None:
    for word, colours in WORDS.items():
        found = margins(np.array(colours, dtype=np.float64))
        assert (found[word] >= 10).all(), word
        assert all((found[other] <= -10).all() for other in WORDS if other != word)


def test_between_two_words_neither_is_sure() -> None:
    found = margins(np.array([[215, 55, 90], [np.nan] * 3]))
    sure = {word for word, value in found.items() if abs(value[0]) < 10}
    assert sure == {"red", "pink"}
    assert all(np.isnan(value[1]) for value in found.values())
    assert sum(value[0] > 0 for value in found.values()) == 1
