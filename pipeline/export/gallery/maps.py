"""A map as a file of its own, with its colours in it, light and dark."""

from __future__ import annotations

from typing import Final

STYLE: Final = (
    "<style>"
    ".ground{fill:#efece4;fill-rule:evenodd;stroke:#858b86}.thing{fill:#c9c4b6;fill-opacity:.55;stroke:#858b86}"
    ".marked{fill:#d97706;fill-opacity:.6;stroke:#22282b;stroke-width:1.5}"
    ".path{fill:none;stroke:#3f7f88;stroke-width:2;stroke-linejoin:round;stroke-linecap:round}"
    ".later{stroke-dasharray:3 6;opacity:.7}.start{fill:#fff;stroke:#3f7f88;stroke-width:2.5}.here{display:none}"
    ".scale{fill:none;stroke:#22282b;stroke-width:3}"
    '.label{font:600 17px system-ui,"DejaVu Sans",sans-serif;fill:#22282b;paint-order:stroke;stroke:#fff;'
    "stroke-width:4;stroke-linejoin:round}"
    "@media(prefers-color-scheme:dark){.ground{fill:#2a3133;stroke:#758083}.thing{fill:#4d5759;stroke:#758083}"
    ".marked{fill:#f0a94a;stroke:#e6e8e6}.path{stroke:#6fb3bb}.start{fill:#1e2426;stroke:#6fb3bb}"
    ".scale{stroke:#e6e8e6}.label{fill:#e6e8e6;stroke:#1e2426}}"
    "</style>"
)


def map_file(drawn: str) -> bytes:
    """SVG of `review.maps` as a file."""
    head, rest = drawn.split(">", 1)
    return head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1).encode() + f">{STYLE}{rest}".encode()
