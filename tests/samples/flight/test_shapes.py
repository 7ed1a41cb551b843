"""The shapes of the sample city: each within its box, closed to the light, and its signs in letters."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from pipeline.samples.flight.city import Form, facets, strokes

LOW, HIGH = (10.0, 20.0, 0.0), (22.0, 44.0, 30.0)
FORMS: tuple[Form, ...] = get_args(Form)


@pytest.mark.parametrize("form", FORMS)
def test_a_shape_fills_its_box(form: Form) -> None:
    """Trees alone stand higher than their lawn."""
    corners = np.concatenate([facet.corners for facet in facets(form, LOW, HIGH, (200, 30, 30))])
    assert corners.min(0) == pytest.approx(LOW)
    assert corners.max(0)[:2] == pytest.approx(HIGH[:2])
    assert corners.max(0)[2] == pytest.approx(HIGH[2] + 5.0 if form == "park" else HIGH[2])


@pytest.mark.parametrize("form", FORMS)
def test_facets_are_flat_and_bulge(form: Form) -> None:
    for facet in facets(form, LOW, HIGH, (200, 30, 30)):
        edges = np.roll(facet.corners, -1, axis=0) - facet.corners
        turns = np.cross(edges, np.roll(edges, -1, axis=0))
        normal = turns.sum(0) / np.linalg.norm(turns.sum(0))
        assert np.abs((facet.corners - facet.corners[0]) @ normal).max() < 0.05
        assert (turns @ normal > -1e-9).all()


@pytest.mark.parametrize("form", ["box", "domed", "pitched", "rounded", "obelisk"])
def test_light_falls_on_the_outside(form: Form) -> None:
    """From the middle of a shape that bulges, every facet faces away."""
    middle = (np.array(LOW) + HIGH) / 2 * [1, 1, 0.2]
    for facet in facets(form, LOW, HIGH, (200, 30, 30)):
        a, b, c = facet.corners[0], facet.corners[1], facet.corners[-1]
        assert np.cross(b - a, c - a) @ (facet.corners.mean(0) - middle) > 0


def test_letters_are_drawn_in_rows() -> None:
    """An I of five by seven dots: bars of three above and below, and a stem of one."""
    assert strokes("I")[0] == pytest.approx((0.2, 0.8, 6 / 7, 1.0))
    assert strokes("I")[3] == pytest.approx((0.4, 0.6, 3 / 7, 4 / 7))
    assert len(strokes("I")) == 7
    assert max(right for _, right, _, _ in strokes("LIBRARY")) == pytest.approx(1.0)


def test_a_sign_stands_on_all_four_walls_before_them() -> None:
    plain, signed = (facets("box", LOW, HIGH, (200, 30, 30), sign) for sign in (None, "MUSEUM"))
    boards = signed[len(plain) :]
    assert len(boards) == 4 * (1 + len(strokes("MUSEUM")))
    outside = [
        np.maximum(np.array(LOW) - board.corners, board.corners - np.array(HIGH)).max(1).min() for board in boards
    ]
    assert sorted({round(float(out), 3) for out in outside}) == [0.25, 0.5]
