"""The command `scan2qa track`: converts flight logs of any format to unified tracks."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.table import Table
from rich.text import Text

from flows.cli.output.console import console, count_of, errors, show_error
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import numbers, print_table, sentences
from pipeline.core.errors import RawDataError, require_extra
from pipeline.core.files import sha256_of_file, write_atomically
from pipeline.core.parquet import table_bytes

if TYPE_CHECKING:
    from pipeline.formats.logs.log import Log
    from pipeline.worlds.flight.tracks.assemble import AssembledTrack

SHOWN: Final = 12  # flights; their files have all


def track(files: Sequence[Path], out: Path, log_format: str | None, plot: bool) -> bool:
    """Turns flight logs into unified tracks: per flight a Parquet file and what was found in the log, as JSON."""
    if plot:
        require_extra("flights", "track --plot")
    from pipeline.formats.logs.registry import detect
    from pipeline.worlds.flight.tracks.read import read_tracks

    measures = numbers("samples", "seconds", "extent m", "height m", "parts")
    summary = Table("flight", "format", *measures, *sentences("findings"), title="Tracks; ! marks a doubt")
    names = _Names(files)
    failed, rows = 0, list[tuple[str, ...]]()
    labelled: list[Log] = []
    with progress_shown() as progress:
        for number, path in enumerate(files):
            progress("logs", number, len(files))
            try:
                flights = read_tracks(path, log_format)
                reader = log_format or detect(path).name
            except RawDataError as error:
                failed += 1
                show_error(error)
                continue
            labelled += [log for log, _ in flights if log.label is not None]
            origin = {"file": path.name, "format": reader, "sha256": _digest(path)}
            for log, assembled in flights:
                name = names.of(path, log.name if len(flights) > 1 else None)
                found = origin | {"flight": log.name} | _facts(log, assembled)
                _write(out / name, assembled, found, plot)
                rows.append((name, *_cells(found)))
        progress("logs", len(files), len(files))
    if rows:
        for row in rows[:SHOWN]:
            summary.add_row(*row)
        print_table(summary)
        if len(rows) > SHOWN:
            doubted, more = sum("!" in row[-1] for row in rows[SHOWN:]), count_of(len(rows) - SHOWN, "flight")
            console.print(f"… and {more}, {doubted:,} of them with a doubt: {out}/*.json")
        if labelled:
            print_table(_agreement(labelled))
        console.print(f"Tracks and findings: {out}")
    if failed:
        errors.print(f"{failed} of {len(files)} files could not be read")
    return not failed


def _digest(path: Path) -> str:
    """SHA-256 of a log; of a folder of photographs that of theirs, by name."""
    if path.is_file():
        return sha256_of_file(path)
    from pipeline.formats.logs.photographs import photographs

    told = [f"{picture.name} {sha256_of_file(picture)}\n" for picture in photographs(path)]
    return hashlib.sha256("".join(told).encode()).hexdigest()


def _write(stem: Path, assembled: AssembledTrack, found: dict[str, Any], plot: bool) -> None:
    """The files of one flight: its track, what was found in its log, and on request its picture."""
    from pipeline.worlds.flight.tracks.read import track_table

    write_atomically(stem.with_name(f"{stem.name}.parquet"), table_bytes(track_table(assembled.track)))
    text = json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    write_atomically(stem.with_name(f"{stem.name}.json"), text.encode())
    if plot:
        from flows.cli.plots import track_png

        write_atomically(stem.with_name(f"{stem.name}.png"), track_png(assembled, stem.name))


def _facts(log: Log, assembled: AssembledTrack) -> dict[str, Any]:
    """The JSON record of a track, apart from its file."""
    t = assembled.track
    known = t.height_m[np.isfinite(t.height_m)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (None, None)
    return {
        "clock": log.clock,
        "dialect": log.dialect,
        "duration_s": round(float(t.t_s[-1] - t.t_s[0]), 6),
        "begins_s": round(float(t.t_s[0]), 6),  # of the log; `video_offset_s` counts from there too
        "extent_m": [round(float(size), 3) for size in np.ptp(t.enu_m, axis=0)],
        "findings": [finding.model_dump(mode="json") for finding in assembled.findings],
        "height_m": None if low is None or high is None else [round(low, 3), round(high, 3)],
        "origin": None if assembled.origin is None else assembled.origin.model_dump(mode="json"),
        "parts": int(t.part[-1]) + 1,
        "samples": len(t),
        "samples_in_log": len(log.t_s),
    }


def _agreement(logs: Sequence[Log]) -> Table:
    """Prints how far the actions named in logs agree with the drone's movements."""
    from pipeline.formats.logs.openfly import agreement

    heads = numbers("steps", "agree", "share", "flown most often", "so often")
    table = Table("action", *heads, title="Actions as labelled, and as flown")
    for row in agreement(logs):
        flown = f"{row.usual.forward_m:.1f} m ahead, {row.usual.up_m:.1f} m up, {row.usual.turn_deg:.0f}°"
        cells = (str(row.steps), str(row.agreeing), f"{row.agreeing / row.steps:.0%}", flown, str(row.usual_steps))
        table.add_row(row.label, *cells)
    return table


def video_offset(video: Path, log: Path) -> bool:
    """Finds where a video begins on its flight log, from the turns that both show: `video_offset_s` of flight.yaml."""
    from pipeline.worlds.flight.readers.video_offset import find_offset
    from pipeline.worlds.flight.tracks.read import read_tracks

    flights = read_tracks(log)
    if len(flights) > 1:
        remedy = "give the log of one flight"
        raise RawDataError(log, "several_flights", f"the file holds {len(flights)} flights", remedy)
    found = find_offset(video, flights[0][1].track)
    console.print(f"video_offset_s: {found.offset_s:.2f}")
    rival = "" if found.runner_up_s is None else f"; next best {found.runner_up_s:.2f} s with {found.runner_up:.2f}"
    console.print(f"Correlation {found.correlation:.2f}{rival}.")
    if not found.clear:
        console.print(Text("Not clear:", "yellow"), "compare an event that both show, such as the take-off.")
    return found.clear


def _cells(found: dict[str, Any]) -> Iterator[str]:
    """Cells of a row of the summary after the name."""
    yield found["format"]
    yield str(found["samples"])
    yield f"{found['duration_s']:.2f}"
    east, north, up = found["extent_m"]
    yield f"{east:.1f} × {north:.1f} × {up:.1f}"
    yield "unknown" if found["height_m"] is None else "{:.1f} … {:.1f}".format(*found["height_m"])
    yield str(found["parts"])
    yield ", ".join(f["name"] + ("!" if f["severity"] == "doubt" else "") for f in found["findings"])


def _safe_name(name: str) -> str:
    """A name that every file system takes."""
    return re.sub(r"[^\w.-]+", "_", name).strip("._") or "flight"


class _Names:
    """Names of the files of one call: the log's own, with its folder's where two logs have the same."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._folders: dict[str, set[Path]] = {}
        for path in files:
            self._folders.setdefault(path.stem.lower(), set()).add(path.absolute().parent)
        self._taken: set[str] = set()

    def of(self, path: Path, flight: str | None) -> str:
        """Of a log, or of one flight in it; with a number behind it where a flight has that name already.

        Upper and lower case count as one, since some file systems know no difference.
        """
        several = len(self._folders[path.stem.lower()]) > 1
        name = f"{path.absolute().parent.name}.{path.stem}" if several else path.stem
        if flight is not None:
            name = f"{name}.{_safe_name(flight)}"
        number, free = 1, name
        while free.lower() in self._taken:
            number += 1
            free = f"{name}-{number}"
        self._taken.add(free.lower())
        return free
