"""Whether a release is whole, as it was released, and of this version: what its own checksums say of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.core.errors import ConfigError
from pipeline.core.files import sha256_of_file
from pipeline.core.schema import SCHEMA_VERSION
from pipeline.core.tables import CHECKSUMS

_VERSION: Final = b"scan2qa_schema_version"
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_AGAIN: Final = "copy the release again"


def sums_of(release: Path) -> dict[str, str]:
    """File below a release -> its SHA-256. Raises ConfigError where the folder is no whole release."""
    try:
        lines = (release / CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        inner = release / "release"
        hint = f"is it {inner}?" if (inner / CHECKSUMS).is_file() else f"give its folder, or {_AGAIN}"
        raise ConfigError(f"{release}: has no {CHECKSUMS}, so it is no whole release; {hint}") from None
    found = {file: digest for digest, _, file in (line.partition("  ") for line in lines)}
    for number, (file, digest) in enumerate(found.items(), start=1):
        is_below = not PurePosixPath(file).is_absolute() and ".." not in PurePosixPath(file).parts
        if not _DIGEST.fullmatch(digest) or not file or not is_below:
            raise ConfigError(f"{release / CHECKSUMS}, line {number}: is no digest of a file of a release; {_AGAIN}")
    return found


def check_files(release: Path, sums: Mapping[str, str], files: Iterable[str]) -> None:
    """Raises ConfigError for the first of some files that is missing, or is not as it was released."""
    for file in files:
        path = release / file
        try:
            found = sha256_of_file(path)
        except OSError as error:
            raise ConfigError(f"{path}: cannot be read ({error.strerror}); {_AGAIN}") from error
        if found != sums[file]:
            raise ConfigError(f"{path}: is not as it was released ({CHECKSUMS} has another digest); {_AGAIN}")


def check_version(path: Path) -> None:
    """Raises ConfigError for a table of a release that another version made."""
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
