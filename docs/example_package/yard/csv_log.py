"""Flight logs of yards: ``t,lat,lon,alt``, seconds since the start, WGS84 degrees, metres above mean sea level."""

from pathlib import Path

import numpy as np

from pipeline.core.errors import RawDataError
from pipeline.formats.logs.log import Log, decoded, file_bytes, no_position, to_numbers

HEADER = "t,lat,lon,alt"


class YardCsv:
    """A file is one flight; what is no number becomes NaN, and such fixes are refused later."""

    name = "yard_csv"
    suffixes = (".csv",)

    def is_own(self, path: Path, head: bytes) -> bool:
        """Whether the first line is `HEADER`."""
        return decoded(head).partition("\n")[0].strip() == HEADER

    def read(self, path: Path) -> tuple[Log, ...]:
        """The flight. Raises RawDataError."""
        rows = [line.split(",") for line in decoded(file_bytes(path)).splitlines()[1:]]
        if not rows:
            raise no_position(path, HEADER)
        if any(len(row) != HEADER.count(",") + 1 for row in rows):
            raise RawDataError(path, "wrong_columns", f"a line has not the columns {HEADER}", "write the log again")
        t_s, *lat_lon_alt = map(to_numbers, zip(*rows, strict=True))
        return (Log(name="", dialect="yard", clock="boot", t_s=t_s, lat_lon_alt=np.stack(lat_lon_alt, axis=-1)),)
