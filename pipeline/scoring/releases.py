"""The questions of a release: found, and whole as they were released."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import CHECKSUMS, DEBIASED, PART_SPLITS, WITHOUT_VIDEO

_VERSION: Final = b"scan2qa_schema_version"
_AGAIN: Final = "copy the release again"


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
    try:
        lines = (release / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise ConfigError(
            f"{release}: has no {CHECKSUMS}, so it is no whole release; give its folder, or {_AGAIN}"
        ) from None
    sums = {file: digest for digest, _, file in (line.partition("  ") for line in lines)}
    names = {Path(file).name.split("-0")[0]: file for file in sums if file.startswith("data/")}
    full = [split for split in names if split not in PART_SPLITS]
    chosen = name or (full[0] if full else "")
    if chosen not in names:
        raise ConfigError(f"{release}: has no split {chosen!r}; there are {', '.join(sorted(names)) or 'none'}")
    files = [names[chosen], *([WITHOUT_VIDEO] if WITHOUT_VIDEO in sums else [])]
    for file in files:
        _check(release / file, sums[file])
    _check_version(release / files[0])
    return Split(chosen, release / files[0], release / WITHOUT_VIDEO if len(files) > 1 else None)


def _check(path: Path, digest: str) -> None:
    try:
        found = sha256_of_file(path)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read ({error.strerror}); {_AGAIN}") from error
    if found != digest:
        raise ConfigError(f"{path}: is not as it was released ({CHECKSUMS} has another digest); {_AGAIN}")


def _check_version(path: Path) -> None:
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (OSError, pa.ArrowException) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet; {_AGAIN}") from error
    version = metadata.get(_VERSION, b"none").decode()
    if version != str(SCHEMA_VERSION):
        raise ConfigError(
            f"{path}: is of schema version {version}, and this scan2qa knows {SCHEMA_VERSION}; use the scan2qa that "
            "made it, or give the file with --questions"
        )
