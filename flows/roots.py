"""Data roots as they are said on the command line: `reader=folder`, or `reader=s3://bucket/prefix`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError
from pipeline.core.extras import need
from pipeline.core.mirrors import MIRRORS
from pipeline.worlds.registry import READERS

SCHEMES: Final = ("s3", "gs", "az")
_URL: Final = re.compile(rf"({'|'.join(SCHEMES)}):/{{1,2}}(.+)")  # a path of a configuration has lost one slash


def roots_of(roots: Sequence[str]) -> dict[str, Path]:
    """Folders by reader, from ``reader=folder`` each. Raises ConfigError."""
    given = {}
    for root in roots:
        reader, equals, where = root.partition("=")
        if not equals or not where:
            raise ConfigError(f"--root {root}: write it as reader=folder, with a reader of {', '.join(READERS)}")
        given[reader] = root_at(where)
    return given


def root_at(where: str) -> Path:
    """A folder, or the one that shows what lies at a URL now (`flows.mirror`). Raises ConfigError."""
    if re.match(r"[a-z][a-z0-9+.-]*://", where) and not _URL.fullmatch(where):
        known = ", ".join(f"{scheme}://bucket/prefix" for scheme in SCHEMES)
        raise ConfigError(f"--root {where}: roots are folders, or {known}")
    url = _URL.fullmatch(where)
    if url is None:
        return Path(where)
    need("s3", f"--root {where}")
    from flows.mirror import ObjectMirror

    return ObjectMirror(f"{url[1]}://{url[2].strip('/')}").shown().root


def written(roots: Mapping[str, Path]) -> dict[str, str]:
    """Roots by reader as they are kept: whole paths and URLs."""
    return {name: MIRRORS[root].url if root in MIRRORS else str(root.resolve()) for name, root in roots.items()}


def told(roots: Mapping[str, Path]) -> list[str]:
    """What is known of roots that lie elsewhere, and what is not, a line each."""
    from flows.mirror import ObjectMirror  # only where there are some

    found = [mirror for root in roots.values() if isinstance(mirror := MIRRORS.get(root), ObjectMirror)]
    return [mirror.told() for mirror in found]
