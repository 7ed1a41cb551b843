"""The releases of a build: a folder for each, named by what is in it, and a link to the newest.

    release -> releases/<name>   the newest; replaced in one step, so that a reader has the one release or the other
    releases/<name>/             one release; it stays as it is, and the same content has the same name
    releases/<name>.manifest.parquet   how it was made
    releases/history.jsonl       which became the newest when, the newest last; behind it the candidate that waits

A release is written beside the others. If it passes all gates (`pipeline.release.gates`) it takes its place: one that
fails changes nothing. Else it waits as a candidate, the only one, until it is accepted or another build takes its
place. Of the older releases so many are kept as the build says. Only files that a release's own checksums name are ever
removed.
"""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pipeline.core.errors import ConfigError, StoreError
from pipeline.core.files import TEMPORARY, new_folder, translate_os_errors, write_atomically
from pipeline.core.identity import digest_of
from pipeline.core.tables import CHECKSUMS, sums_of
from pipeline.release.gates import GateResult
from pipeline.release.released import changed_file, checksums

RELEASE: Final = "release"  # of a build's folder: a link
RELEASES: Final = "releases"
HISTORY_FILE: Final = "history.jsonl"
NAME_CHARS: Final = 12  # hex; as many as one can tell apart at a glance, and far more than releases


class PublishedRelease(NamedTuple):
    """A release and when it became the newest, UTC; or the candidate that waits, and since when.

    Attributes:
        gates: what each gate found.
        accepted: gate -> when somebody accepted what it found, UTC.
        of_samples: whether its raw data are scan2qa's own samples.
        waits: whether it was written as a candidate.
    """

    name: str
    at: str
    gates: tuple[GateResult, ...] = ()
    accepted: Mapping[str, str] = MappingProxyType({})
    of_samples: bool = False
    waits: bool = False

    @property
    def failed(self) -> list[GateResult]:
        """The gates that it did not pass."""
        return [found for found in self.gates if not found.passed]

    @property
    def missed_gates(self) -> str:
        """The gates that it did not pass, with figure and limit."""
        return "; ".join(found.line for found in self.failed)


Judge = Callable[
    [Path, PublishedRelease | None, bytes], Sequence[GateResult]
]  # its folder, the one before, its summary


def no_gates(folder: Path, before: PublishedRelease | None, summary: bytes) -> Sequence[GateResult]:
    """Passes every release (`Judge`)."""
    return ()


def history(build: Path) -> list[PublishedRelease]:
    """The releases of a build that are kept, the newest last; none where nothing was released."""
    newest = newest_release(build)
    listed = [one for one in _listed(build) if not one.waits or one.name == newest]
    if newest and newest not in [one.name for one in listed]:
        listed.append(PublishedRelease(newest, ""))
    return [one for one in listed if (build / RELEASES / one.name).is_dir()]


def candidate(build: Path) -> PublishedRelease | None:
    """The candidate that waits for a decision; None where none does."""
    waiting = [one for one in _listed(build) if one.waits and one.name != newest_release(build)]
    return next((one for one in waiting if (build / RELEASES / one.name).is_dir()), None)


def latest(build: Path) -> str | None:
    """The name of what was built last: the candidate that waits, else the newest release."""
    waiting = candidate(build)
    return waiting.name if waiting else newest_release(build)


def _listed(build: Path) -> list[PublishedRelease]:
    """The lines of the history; none where it is gone or damaged: the folders are there."""
    try:
        lines = (build / RELEASES / HISTORY_FILE).read_text(encoding="utf-8").splitlines()
        found = [_read(json.loads(line)) for line in lines]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []
    return [one for one in found if one.name.isalnum()]


def _read(row: Mapping[str, Any]) -> PublishedRelease:
    gates = tuple(
        GateResult(
            str(g["gate"]), None if g["measured"] is None else float(g["measured"]), float(g["limit"]), g["told"]
        )
        for g in row.get("gates", ())
    )
    accepted = {str(gate): str(at) for gate, at in row.get("accepted", {}).items()}
    flags = (bool(row.get("of_samples")), bool(row.get("waits")))
    return PublishedRelease(str(row["release"]), str(row["at"]), gates, accepted, *flags)


def publish(
    build: Path,
    write: Callable[[Path], tuple[bytes, dict[str, str]]],
    keep: int,
    fence: Callable[[], None] = lambda: None,
    judge: Judge = no_gates,
    *,
    of_samples: bool = False,
) -> bytes:
    """Writes a release and makes it the newest if it passes its gates, else a candidate; gives its summary.

    Args:
        build: folder of the build.
        write: writes all files into a new folder; gives the summary, and each file's SHA-256.
        keep: how many releases stay, the newest included.
        fence: called before anything changes that others see; raises where another build has taken over.
        judge: the gates. It is given the release before only where both are of samples, or neither is.
        of_samples: whether its raw data are scan2qa's own samples.

    Raises StoreError where the disk refuses, or where something that is not ours stands in the link's place.
    """
    home, made = build / RELEASES, build / RELEASES / f"{TEMPORARY}release"
    _make_way(build)
    with new_folder(made):
        summary, files = write(made)
        name = name_of(files)
        fence()
        with translate_os_errors(home):
            _place(made, home / name)
    released = history(build)
    before = released[-1] if released else None
    if before and before.name == name:
        ours = before  # as it was released, whatever its gates find now
    else:
        compared = before if before and before.of_samples == of_samples else None
        gates = tuple(judge(home / name, compared, summary))
        ours = PublishedRelease(name, _utc_now(), gates, of_samples=of_samples)
    fence()
    if ours is not before and ours.failed:
        _write(build, [*released, ours._replace(waits=True)])
    else:
        _release(build, ours, keep)
    return summary


def accept(build: Path, gates: Collection[str], keep: int, fence: Callable[[], None] = lambda: None) -> str:
    """Makes the candidate the newest release although it failed some gates, all of which are named; gives its name.

    Raises ConfigError where none waits, and for a gate that it did not fail or one that is not named; StoreError where
    one of its files is not as it was written.
    """
    waiting = candidate(build)
    if waiting is None:
        raise ConfigError(f"{build}: no candidate waits for a decision")
    failed = [found.gate for found in waiting.failed]
    if unknown := sorted(set(gates) - set(failed)):
        raise ConfigError(f"{waiting.name} did not fail {', '.join(unknown)}; it failed {', '.join(failed)}")
    if missing := [gate for gate in failed if gate not in gates]:
        raise ConfigError(f"{waiting.name} failed {', '.join(missing)} too: --accept {' --accept '.join(missing)}")
    folder = build / RELEASES / waiting.name
    sums = sums_of(folder)
    damaged = changed_file(folder, sums) if name_of(sums) == waiting.name else CHECKSUMS
    if damaged is not None:
        raise StoreError(f"{folder / damaged}: is not as it was written; build again")
    fence()
    waiting = waiting._replace(accepted=dict.fromkeys(failed, _utc_now()))
    _write(build, [*history(build), waiting])  # before the link: whoever finds it turned finds why
    _release(build, waiting._replace(at=_utc_now(), waits=False), keep)
    return waiting.name


def _release(build: Path, ours: PublishedRelease, keep: int) -> None:
    """Turns the link, and writes the history: older releases beyond those to be kept go, as does a candidate."""
    before = [one for one in history(build) if one.name != ours.name]
    with translate_os_errors(build):
        _point(build, ours.name)
    _write(build, [*before[max(0, len(before) + 1 - keep) :], ours])


def _write(build: Path, rows: Sequence[PublishedRelease]) -> None:
    """Writes the history, and removes what it no longer names."""
    names = {one.name for one in rows}
    for folder in [build / RELEASES / one.name for one in _listed(build) if one.name not in names]:
        if folder.is_dir():
            _remove(folder)
    lines = [json.dumps(_as_row(one)) + "\n" for one in rows]
    write_atomically(build / RELEASES / HISTORY_FILE, "".join(lines).encode())


def _as_row(one: PublishedRelease) -> dict[str, Any]:
    row: dict[str, Any] = {"release": one.name, "at": one.at}
    row |= {"gates": [found._asdict() for found in one.gates]} if one.gates else {}
    row |= {"accepted": dict(one.accepted)} if one.accepted else {}
    row |= {"of_samples": True} if one.of_samples else {}
    return row | ({"waits": True} if one.waits else {})


def _utc_now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")


def kept_name(name: str, file: str) -> str:
    """The name, below `RELEASES`, of a file of the build that is kept beside a release."""
    return f"{name}.{file}"


def keep_copy(build: Path, file: str) -> None:
    """Keeps a copy of a file of the build with what was built last; copies whose release went go too."""
    home, newest = build / RELEASES, latest(build)
    kept = {kept_name(one.name, file) for one in history(build)} | {kept_name(newest or "", file)}
    for path in sorted(home.glob(f"*.{file}")):
        if path.name not in kept:
            path.unlink(missing_ok=True)
    if newest:
        write_atomically(home / kept_name(newest, file), (build / file).read_bytes())


def name_of(files: dict[str, str]) -> str:
    """The name of a release, from the SHA-256 of each of its files."""
    return digest_of(checksums(files))[:NAME_CHARS]


def newest_release(build: Path) -> str | None:
    """The name that the link gives; None where there is no such link."""
    link = build / RELEASE
    if not link.is_symlink() or link.resolve().parent != (build / RELEASES).resolve():
        return None
    return link.resolve().name


def _make_way(build: Path) -> None:
    """Sees to what stands in the link's place: a release that is a folder of its own becomes one of the others."""
    link, home = build / RELEASE, build / RELEASES
    if newest_release(build) or not os.path.lexists(link):
        return
    try:
        name = digest_of((link / CHECKSUMS).read_bytes())[:NAME_CHARS]
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
