"""The PNG of a drawing (resvg)."""

from __future__ import annotations

from pipeline.drawing.fonts import FAMILY, font_file


def png_of(svg: str) -> bytes:
    """A drawing as PNG, light, with the font of `fonts` and no other: the same bytes on every machine."""
    import resvg_py

    return resvg_py.svg_to_bytes(
        svg_string=svg, skip_system_fonts=True, font_files=[font_file()], font_family=FAMILY, sans_serif_family=FAMILY
    )
