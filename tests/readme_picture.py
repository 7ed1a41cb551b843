"""Makes the picture in the README, the end of a real build of the samples: ``python -m tests.readme_picture``."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

from flows.cli.build import build
from flows.cli.output.console import console, errors
from flows.orchestration.build import BuildRequest
from flows.orchestration.folders import BUILDS, CORES

PICTURE = Path(__file__).resolve().parents[1] / "docs/pictures/build-vsi.svg"
WIDTH = 80


def main() -> None:
    with tempfile.TemporaryDirectory() as name, Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        os.chdir(name)
        console.record, console.width, console.file = True, WIDTH, nowhere
        errors._force_terminal, errors.file = True, nowhere  # bars, as on a terminal
        console.print("$ make build-vsi", style="bold")
        build(BuildRequest(BUILDS / "vsi.yaml", [], [], None, False, CORES, False), dry_run=False)
        svg = console.export_svg(title="scan2qa build vsi", unique_id="scan2qa")
    PICTURE.parent.mkdir(exist_ok=True)
    # Without the fonts and the comment that point elsewhere.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
