"""Plain CSV logs: a header, then seconds since the start, WGS84 degrees and metres above mean sea level."""

from pathlib import Path
from typing import Final

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.log import Log, decoded, file_bytes, no_position, to_numbers

HEADER: Final = "time_s,lat_deg,lon_deg,alt_m"


class PlainCsv:
    """Reads a file as one flight. What is no number becomes NaN: `assemble` refuses such fixes, and says so."""

    name = "plain_csv"
    suffixes: tuple[str, ...] = (".csv",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether the first line is `HEADER`."""
        return decoded(head).partition("\n")[0] == HEADER

    def read(self, path: Path) -> tuple[Log, ...]:
        """The one flight of a file. Raises RawDataError: `unreadable`, `empty`, `wrong_columns`, `no_position`."""
        rows = []
        for number, line in enumerate(decoded(file_bytes(path)).splitlines()[1:], start=2):
            row = line.split(",")
            if len(row) != HEADER.count(",") + 1:
                message = f"line {number}: {len(row)} columns, not those of {HEADER}"
                raise RawDataError(path, "wrong_columns", message, "remove the line, or write the log again")
            rows.append(row)
        if not rows:
            raise no_position(path, HEADER)
        t_s, *lat_lon_alt = map(to_numbers, zip(*rows, strict=True))
        log = Log(name="", dialect="plain", clock="boot", t_s=t_s, lat_lon_alt=np.stack(lat_lon_alt, axis=-1))
        return (log,)
