"""The unified track as a table; `store.table_bytes` makes Parquet of it."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from pipeline.core.arrays import FloatArray
from pipeline.geometry.tracks import Track

# What each column holds; written into the file as the field's metadata.
COLUMNS: Final = {
    "t_s": ("s", "from the first position"),
    "east_m": ("m", "ENU about the first good fix"),
    "north_m": ("m", "ENU about the first good fix"),
    "up_m": ("m", "ENU about the first good fix"),
    "lat_deg": ("deg", "WGS84"),
    "lon_deg": ("deg", "WGS84"),
    "height_m": ("m", "above take-off"),
    "speed": ("m/s", "over ground and upwards together"),
    "quat_wxyz": ("1", "body FLU (x forward, y left, z up) to ENU"),
    "heading_deg": ("deg", "of the nose, clockwise from north"),
    "gimbal_pitch_deg": ("deg", "of the camera: 0 level, -90 straight down"),
    "part": ("1", "from 0; parts are not joined by a line"),
    "label": ("", "what the log says was done from this sample to the next"),
}


def track_table(track: Track) -> pa.Table:
    """One row per sample, times from 0; what is not known is null. `label` is there where the track has labels."""
    columns = {
        "t_s": _numbers(np.round(track.t_s - track.t_s[:1], 6)),
        "east_m": _numbers(track.enu_m[:, 0]),
        "north_m": _numbers(track.enu_m[:, 1]),
        "up_m": _numbers(track.enu_m[:, 2]),
        "lat_deg": _numbers(track.lat_lon_deg[:, 0]),
        "lon_deg": _numbers(track.lat_lon_deg[:, 1]),
        "height_m": _numbers(track.height_m),
        "speed": _numbers(track.speed_mps),
        "quat_wxyz": _quaternions(track.quat_wxyz),
        "heading_deg": _numbers(track.heading_deg),
        "gimbal_pitch_deg": _numbers(track.gimbal_pitch_deg),
        "part": pa.array(track.part, pa.int32()),
    }
    if track.label is not None:
        columns["label"] = pa.array(track.label, pa.string())
    schema = pa.schema([_field(name, array.type) for name, array in columns.items()])
    return pa.table(list(columns.values()), schema=schema)


def _field(name: str, kind: pa.DataType) -> pa.Field:
    unit, what = COLUMNS[name]
    return pa.field(name, kind, metadata={"unit": unit, "what": what})


def _numbers(values: FloatArray) -> pa.Array:
    return pa.array(values, pa.float64(), mask=np.isnan(values))


def _quaternions(quat_wxyz: FloatArray) -> pa.Array:
    unknown = pa.array(np.isnan(quat_wxyz).any(1))
    flat = pa.array(np.nan_to_num(quat_wxyz).ravel(), pa.float64())
    return pa.FixedSizeListArray.from_arrays(flat, 4, mask=unknown)
