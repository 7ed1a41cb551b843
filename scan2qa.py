"""The command `scan2qa`, under a name that is nobody else's: other packages, too, are called `pipeline` or `flows`."""

from __future__ import annotations

import gc
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PACKAGES: Final = ("pipeline", "flows")
FOLDERS: Final = ("templates", "meta_schemas")
OURS: Final = "scan2qa:"  # with which the docstrings of the packages begin
EXIT_USAGE: Final = 2


def clash() -> str | None:
    """What is said where another installed package has the name of one of ours; None: all are ours."""
    for name in PACKAGES:
        spec = find_spec(name)
        if not _is_ours(name, spec):
            other = spec.origin or next(iter(spec.submodule_search_locations or ()), "?") if spec else "nothing"
            return (
                f"`import {name}` finds {other}, which is not scan2qa's: another package of that name is in the way; "
                f"take it off PYTHONPATH, or install scan2qa into an environment of its own"
            )
    lost = [name for name in FOLDERS if not (HERE / name).is_dir()]
    if lost:
        return (
            f"{HERE / lost[0]} is missing, most likely removed with another package of that name: install scan2qa again"
        )
    return None


def _is_ours(name: str, spec: ModuleSpec | None) -> bool:
    file = HERE / name / "__init__.py"
    if spec is None or spec.origin is None or Path(spec.origin).resolve() != file:
        return False
    return file.read_text(encoding="utf-8").startswith(f'"""{OURS}')


def main() -> None:
    """Entry point."""
    said = clash()
    if said is not None:
        sys.stderr.write(f"scan2qa: {said}\n")
        sys.exit(EXIT_USAGE)
    from flows.orchestration.signals import end_at_signals

    end_at_signals()  # before the imports, which take a second
    gc.set_threshold(100_000)  # what is imported stays; to look through it again and again takes a tenth of a second
    from flows.cli.app import main as command

    command()


if __name__ == "__main__":
    main()
