"""The report of a release of thousands of questions: time and size: ``python -m tests.bench.reports [BUILD…]``.

Without a build one is made of the released metadata, or of the samples where these are absent. Beside each what
reading its tables alone takes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq
from rich.console import Console

from flows.cli.report import report_page
from tests.bench.builds import raw_scenes, timed, written
from tests.builds import REPOSITORY, UNASKED_SETTINGS

COMMAND: Final = "from flows.cli.app import main; main()"
MOST_S: Final = 20.0  # for 5,000 questions
MOST_MB: Final = 8.0
console = Console(width=130)


def told(folder: Path, source: str) -> None:
    """Writes the report of a build, and tells what that took."""
    tables = sorted((folder / "release").glob("*/*.parquet"))
    baseline, read = timed(lambda: [pq.read_table(path).num_rows for path in tables])
    seconds, page = timed(lambda: report_page(folder))
    asked = sum(rows for path, rows in zip(tables, read, strict=True) if path.parent.name == "provenance")
    console.print(
        f"report of {asked:,} questions ({source}): {seconds:.1f} s of the processor (target: <= {MOST_S:g} s), "
        f"{len(page) / 1e6:.1f} MB (target: <= {MOST_MB:g}); ratio to reading its tables alone {seconds / baseline:.0f}"
    )


def main(given: list[str]) -> None:
    """Tells it of the builds that are given, or of one that is made."""
    for name in given:
        told(Path(name), name)
    if not given:
        raw, source = raw_scenes()
        with tempfile.TemporaryDirectory(prefix="scan2qa-bench-") as place:
            meta, out = written(Path(place) / "meta", raw), Path(place) / "out"
            arguments = ["build", "vsi", "--root", f"vsi_meta={meta}", "--out", str(out), *UNASKED_SETTINGS]
            subprocess.run(
                [sys.executable, "-c", COMMAND, *arguments], check=True, cwd=REPOSITORY, stdout=subprocess.DEVNULL
            )
            told(out, source)


if __name__ == "__main__":
    main(sys.argv[1:])
