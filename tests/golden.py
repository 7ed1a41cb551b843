"""Golden digests of what `select` gives: a change of structure or of names leaves all questions as they are.

    python -m tests.golden             # builds all, and compares with tests/golden.json
    python -m tests.golden vsi strict  # these only
    python -m tests.golden --write     # what came out is the new golden state; the commit says why

The builds are those of the five benchmarks on samples, and of VSI-Bench's released metadata (`strict`, `official`),
which need ../shared/data. `questions` digests id, wording, options, letters, truths, evidence and order of questions;
`rejections` those of all rejected candidates.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from pipeline.core.parquet import read_table
from pipeline.core.tables import rejected_in, selected_questions
from pipeline.engine.manifest import read_manifest
from pipeline.engine.stage import STORE
from pipeline.engine.store import Store
from tests.builds import UNASKED_SETTINGS
from tests.conftest import REAL_DATA

FILE: Final = Path(__file__).with_suffix(".json")
META: Final = ("--root", f"vsi_meta={REAL_DATA / 'vsi' / 'meta_info'}")
BUILDS: Final[dict[str, tuple[str, ...]]] = {
    "vsi": ("vsi",),
    "urbanvideo": ("urbanvideo",),
    "cityeqa": ("cityeqa",),
    "ergeobench": ("ergeobench",),
    "embodied4c": ("embodied4c",),
    "strict": ("vsi", *META),
    "official": ("vsi", *META, "--set", "generate.profile=official"),
}


def selected(arguments: tuple[str, ...], folder: Path) -> dict[str, Any]:
    """How many questions and rejections a build selects, and their digests, scene by scene in order of their names."""
    command = [sys.executable, "-m", "scan2qa", "build", *arguments, *UNASKED_SETTINGS, "--no-prefect", "--no-video"]
    subprocess.run([*command, "--out", str(folder)], check=True, stdout=sys.stderr)
    store = Store(folder / STORE)
    results = {unit: e.output for (stage, unit), e in read_manifest(folder).items() if stage == "select" and e.output}
    hashes = {"questions": hashlib.sha256(), "rejections": hashlib.sha256()}
    counts = dict.fromkeys(hashes, 0)
    for unit in sorted(results):
        table = read_table(store.get(results[unit]))
        for name, part in (("questions", selected_questions(table)), ("rejections", rejected_in(table))):
            counts[name] += len(part)
            hashes[name].update(json.dumps([_as_digested(row) for row in part.to_pylist()], sort_keys=True).encode())
    digests = {name: {"rows": counts[name], "sha256": hashes[name].hexdigest()} for name in hashes}
    return digests | {"scenes": len(results)}


def _as_digested(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what no question of its world has: frame budgets are known of filmed scans alone.

    Nor are the things that it names (for stage `verify`) part of what is asked.
    """
    return {name: value for name, value in row.items() if name != "named" and (name != "budgets" or value is not None)}


def main() -> int:
    """Builds, compares, and writes with ``--write``; 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", choices=[*BUILDS, []])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if unknown := set(asked.builds) - BUILDS.keys():
        parser.error(f"no such build: {', '.join(sorted(unknown))}")
    golden: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    found = {}
    for name in asked.builds or BUILDS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = selected(BUILDS[name], Path(folder) / name)
        print(f"{name}: {'as before' if found[name] == golden.get(name) else 'DIFFERS'} {found[name]}", flush=True)
    if asked.write:
        FILE.write_text(json.dumps(golden | found, indent=1) + "\n", encoding="utf-8")
    return 0 if asked.write or all(golden.get(name) == told for name, told in found.items()) else 1


if __name__ == "__main__":
    sys.exit(main())
