"""A scene seen from above, in a form that any world's facts can be brought into and that any map can be drawn from."""

from __future__ import annotations

from pydantic import FiniteFloat

from pipeline.core.schema import Model

Point = tuple[FiniteFloat, FiniteFloat]


class Thing(Model):
    """Something with a place.

    Attributes:
        label: as questions call it; empty where they do not.
        outline: its corners in order, metres; one point for a thing without an extent.
        seen_s: seconds of the video at which it first appears, surely; None: not known or never.
    """

    label: str
    outline: tuple[Point, ...]
    seen_s: FiniteFloat | None = None


class Sketch(Model):
    """A scene from above: x to the right, y up, metres.

    Attributes:
        ground: closed outlines, filled by the even-odd rule.
        things: in the scene's order.
        path: seconds of the video, x, y: of the camera; empty where it is not known.
    """

    ground: tuple[tuple[Point, ...], ...] = ()
    things: tuple[Thing, ...] = ()
    path: tuple[tuple[FiniteFloat, FiniteFloat, FiniteFloat], ...] = ()
