"""Makes the picture in the README, the tables of a real build of the samples: ``python -m tests.readme_picture``."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from flows.cli.output import build_tables as show
from flows.cli.output.console import console
from pipeline.engine.config import load_config
from pipeline.samples.indoor.write import write_samples
from pipeline.stages.builder import Builder

PICTURE = Path(__file__).resolve().parents[1] / ".readme" / "build-vsi.svg"
WIDTH = 120


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder)
        roots = {reader: folder / reader for reader in ("scannet", "scannetpp", "arkitscenes")}
        config = load_config(Path(__file__).resolve().parents[1] / "flows" / "builds" / "vsi.yaml")
        outcome = Builder(config.model_copy(update={"roots": roots}), folder / "out").build()
    with Path("/dev/null").open("w", encoding="utf-8") as nowhere:
        console.record, console.width, console.file = True, WIDTH, nowhere
        console.print("$ make build-vsi", style="bold")
        show.show_outcome(outcome, config.benchmark)
        svg = console.export_svg(title="scan2qa build vsi", unique_id="scan2qa")
    PICTURE.parent.mkdir(exist_ok=True)
    # Without the fonts and the comment that point elsewhere.
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->", "", svg, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")
    PICTURE.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
