"""The questions of a release: found, and whole as they were released."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipeline.core.errors import ConfigError
from pipeline.core.tables import DEBIASED, PART_SPLITS, WITHOUT_VIDEO
from pipeline.core.whole import check_files, check_version, sums_of


class Split(NamedTuple):
    """One split of a release: its name, its file, and the release's blind table; None: it has none."""

    name: str
    questions: Path
    blind: Path | None

    @property
    def is_debiased(self) -> bool:
        """Whether it is what bias pruning left."""
        return self.name == DEBIASED


def split_of(release: Path, name: str | None = None) -> Split:
    """A split of a release; the full one where none is named.

    Raises ConfigError where the folder is no whole release of this version.
    """
    sums = sums_of(release)
    names = {Path(file).name.split("-0")[0]: file for file in sums if file.startswith("data/")}
    full = [split for split in names if split not in PART_SPLITS]
    chosen = name or (full[0] if full else "")
    if chosen not in names:
        raise ConfigError(f"{release}: has no split {chosen!r}; there are {', '.join(sorted(names)) or 'none'}")
    files = [names[chosen], *([WITHOUT_VIDEO] if WITHOUT_VIDEO in sums else [])]
    check_files(release, sums, files)
    check_version(release / files[0])
    return Split(chosen, release / files[0], release / WITHOUT_VIDEO if len(files) > 1 else None)
