"""The releases of a build: a folder for each, named by what is in it, and a link to the newest.

    release -> releases/<name>   the newest; replaced in one step, so that a reader has the one release or the other
    releases/<name>/             one release; it stays as it is, and the same content has the same name
    releases/<name>.manifest.parquet   how it was made
    releases/history.jsonl       which became the newest when, the newest last

A release is written beside the others and takes its place when it is whole: one that fails changes nothing. Of the
older ones so many are kept as the build says. Only files that a release's own checksums name are ever removed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from pipeline.core.errors import StoreError
from pipeline.core.files import TEMPORARY, translate_os_errors, write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.tables import CHECKSUMS
from pipeline.release.writer import checksums

RELEASE: Final = "release"  # of a build's folder: a link
RELEASES: Final = "releases"
HISTORY_FILE: Final = "history.jsonl"
NAME_CHARS: Final = 12  # hex; as many as one can tell apart at a glance, and far more than releases


class PublishedRelease(NamedTuple):
    """A release and when it became the newest, UTC."""

    name: str
    at: str


def history(build: Path) -> list[PublishedRelease]:
    """The releases of a build that are kept, the newest last; none where nothing was released."""
    try:
        lines = (build / RELEASES / HISTORY_FILE).read_text(encoding="utf-8").splitlines()
        listed = [PublishedRelease(str(row["release"]), str(row["at"])) for row in map(json.loads, lines)]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):  # gone or damaged: the folders are there
        listed = []
    newest = _newest(build)
    if newest and newest not in [one.name for one in listed]:
        listed.append(PublishedRelease(newest, ""))
    return [one for one in listed if one.name.isalnum() and (build / RELEASES / one.name).is_dir()]


def publish(
    build: Path,
    write: Callable[[Path], tuple[bytes, dict[str, str]]],
    keep: int,
    fence: Callable[[], None] = lambda: None,
) -> bytes:
    """Writes a release and makes it the newest; gives its summary.

    Args:
        build: folder of the build.
        write: writes all files into a new folder; gives the summary, and each file's SHA-256.
        keep: how many releases stay, the newest included.
        fence: called before anything changes that others see; raises where another build has taken over.

    Raises StoreError where the disk refuses, or where something that is not ours stands in the link's place.
    """
    home, made = build / RELEASES, build / RELEASES / f"{TEMPORARY}release"
    _make_way(build)
    try:
        with translate_os_errors(home):
            shutil.rmtree(made, ignore_errors=True)  # of a build that was killed
            made.mkdir(parents=True)
        summary, files = write(made)
        name = _name_of(checksums(files))
        fence()
        with translate_os_errors(home):
            _place(made, home / name)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    before = [one for one in history(build) if one.name != name]
    fence()
    with translate_os_errors(build):
        _point(build, name)
    kept = max(0, len(before) + 1 - keep)
    for old in before[:kept]:
        _remove(home / old.name)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
    rows = [{"release": one.name, "at": one.at} for one in (*before[kept:], PublishedRelease(name, now))]
    write_atomically(home / HISTORY_FILE, "".join(json.dumps(row) + "\n" for row in rows).encode())
    return summary


def beside(name: str, file: str) -> str:
    """The name, below `RELEASES`, of a file of the build that is kept beside a release."""
    return f"{name}.{file}"


def keep_beside(build: Path, file: str) -> None:
    """Keeps a copy of a file of the build with the newest release; copies whose release went go too."""
    home, newest = build / RELEASES, _newest(build)
    kept = {beside(one.name, file) for one in history(build)}
    for path in sorted(home.glob(f"*.{file}")):
        if path.name not in kept:
            path.unlink(missing_ok=True)
    if newest:
        write_atomically(home / beside(newest, file), (build / file).read_bytes())


def _name_of(sums: bytes) -> str:
    return digest_of(sums)[:NAME_CHARS]


def _newest(build: Path) -> str | None:
    """The name that the link gives; None where there is no such link."""
    link = build / RELEASE
    if not link.is_symlink() or link.resolve().parent != (build / RELEASES).resolve():
        return None
    return link.resolve().name


def _make_way(build: Path) -> None:
    """Sees to what stands in the link's place: a release that is a folder of its own becomes one of the others."""
    link, home = build / RELEASE, build / RELEASES
    if _newest(build) or not os.path.lexists(link):
        return
    try:
        name = _name_of((link / CHECKSUMS).read_bytes())
        if not link.is_symlink() and not (home / name).exists():
            home.mkdir(exist_ok=True)
            link.rename(home / name)
            return
    except OSError:
        pass  # not a release, or not to be moved
    raise StoreError(f"{link}: scan2qa keeps a link to the newest release here, and this is none of its own: move it")


def _place(made: Path, home: Path) -> None:
    """Moves a new release to its place; where the same one is there already, what is damaged in it is replaced."""
    if not home.exists():
        made.rename(home)
        return
    for path in sorted(p for p in made.rglob("*") if p.is_file()):
        there = home / path.relative_to(made)
        there.parent.mkdir(parents=True, exist_ok=True)
        path.replace(there)


def _point(build: Path, name: str) -> None:
    new = build / f"{TEMPORARY}{RELEASE}"
    new.unlink(missing_ok=True)
    new.symlink_to(Path(RELEASES) / name)
    new.replace(build / RELEASE)


def _remove(release: Path) -> None:
    """Removes the files that a release lists, and its folders where nothing else is in them."""
    with translate_os_errors(release):
        sums = release / CHECKSUMS
        listed = [line.split("  ", 1)[1] for line in sums.read_text(encoding="utf-8").splitlines() if "  " in line]
        inside = [release / name for name in listed if (release / name).resolve().is_relative_to(release.resolve())]
        for path in (*inside, sums):
            path.unlink(missing_ok=True)
        folders = {folder for path in inside for folder in path.parents if folder.is_relative_to(release)}
        for folder in sorted({*folders, release}, key=lambda f: len(f.parts), reverse=True):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
