"""A known flight, written in the formats of which no real file lies at hand."""

from collections.abc import Sequence

import numpy as np

LAT0, LON0, ALT0 = 46.5, 7.25, 540.0
NORTH_DEG = 1 / 111_165.3  # of a metre to the north at 46.5°, on WGS84


def line(n: int = 40, step_s: float = 0.5, speed_mps: float = 4.0) -> np.ndarray:
    """Rows t_s, lat, lon, alt, height of a flight due north that climbs 0.5 m/s: (n, 5)."""
    t = np.arange(n) * step_s
    lat = LAT0 + t * speed_mps * NORTH_DEG
    climb = 0.5 * t
    return np.column_stack([t, lat, np.full(n, LON0), ALT0 + climb, climb])


def airdata(rows: np.ndarray, header: str | None = None, unit: str = "feet", separator: str = ",") -> str:
    """As Airdata exports: lengths in feet unless said otherwise, heading 350 + t, camera at -30."""
    scale = 1 / 0.3048 if unit == "feet" else 1.0
    columns = [
        "time(millisecond)",
        "datetime(utc)",
        "latitude",
        "longitude",
        f"height_above_takeoff({unit})",
        f"altitude_above_seaLevel({unit})",
        "satellites",
        " compass_heading(degrees)",
        "gimbal_pitch(degrees)",
        "isVideo",
        "message",
    ]
    lines = [header or separator.join(columns)]
    for t, lat, lon, alt, height in rows.tolist():
        heading = (350.0 + t) % 360.0
        cells: Sequence[object] = (
            f"{t * 1000:.0f}",
            f"2024-05-01 10:00:{int(t):02d}",
            f"{lat:.8f}",
            f"{lon:.8f}",
            f"{height * scale:.4f}",
            f"{alt * scale:.4f}",
            14,
            f"{heading:.1f}",
            "-30.0",
            int(t >= 3.0),
            '"Take off, please"' if t == 0 else "",
        )
        text = [str(cell) for cell in cells]
        lines.append(separator.join(c.replace(".", ",") if separator == ";" and '"' not in c else c for c in text))
    return "\n".join(lines) + "\n"


def gpx(rows: np.ndarray, segments: int = 1, times: bool = True) -> str:
    """GPX 1.1 with the rows in so many segments."""
    parts = []
    for part in np.array_split(rows, segments):
        points = []
        for t, lat, lon, alt, _ in part.tolist():
            time = f"<time>2024-05-01T10:{int(t) // 60:02d}:{t % 60:06.3f}Z</time>" if times else ""
            points.append(f'<trkpt lat="{lat:.8f}" lon="{lon:.8f}"><ele>{alt:.3f}</ele>{time}</trkpt>')
        parts.append("<trkseg>\n" + "\n".join(points) + "\n</trkseg>")
    body = "\n".join(parts)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<gpx version="1.1" creator="made" '
        'xmlns="http://www.topografix.com/GPX/1/1">\n'
        f'<wpt lat="1" lon="2"/>\n<trk>\n{body}\n</trk>\n</gpx>\n'
    )


def kml(rows: np.ndarray, mode: str = "absolute", angles: bool = True) -> str:
    """KML with one gx:Track."""
    lines = [f"<altitudeMode>{mode}</altitudeMode>"]
    lines += [f"<when>2024-05-01T10:{int(t) // 60:02d}:{t % 60:06.3f}Z</when>" for t in rows[:, 0].tolist()]
    up = rows[:, 3] if mode == "absolute" else rows[:, 4]
    lines += [
        f"<gx:coord>{lon:.8f} {lat:.8f} {z:.3f}</gx:coord>"
        for lat, lon, z in zip(rows[:, 1].tolist(), rows[:, 2].tolist(), up.tolist(), strict=True)
    ]
    if angles:
        lines += [f"<gx:angles>{(350 + t) % 360:.1f} 0 0</gx:angles>" for t in rows[:, 0].tolist()]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2" '
        'xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><Placemark>\n<gx:Track>\n'
        + "\n".join(lines)
        + "\n</gx:Track>\n</Placemark></Document></kml>\n"
    )


def srt(cues: Sequence[str], step_s: float = 1.0, first_s: float = 0.0) -> str:
    """Subtitles of these texts, one after the other."""
    return "".join(
        f"{i + 1}\n{stamp(first_s + i * step_s)} --> {stamp(first_s + (i + 1) * step_s)}\n{text}\n\n"
        for i, text in enumerate(cues)
    )


def stamp(t_s: float) -> str:
    """Time of a cue."""
    seconds, milliseconds = divmod(round(t_s * 1000), 1000)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d},{milliseconds:03d}"
