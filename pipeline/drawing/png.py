"""The PNG of a drawing (resvg)."""

from __future__ import annotations

import re
from typing import Final

from pipeline.drawing.fonts import FAMILY, font_file

_DARK: Final = re.compile(r"@media \(prefers-color-scheme:dark\)\{.*?\}\}")


def png_of(svg: str) -> bytes:
    """A drawing as PNG, light, with the font of `fonts` and no other: the same bytes on every machine."""
    import resvg_py

    light = _DARK.sub("", svg, count=1)  # every rule is held against every element
    return resvg_py.svg_to_bytes(
        svg_string=light, skip_system_fonts=True, font_files=[font_file()], font_family=FAMILY, sans_serif_family=FAMILY
    )
