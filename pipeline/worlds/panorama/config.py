"""What a panorama is held against, in a build's configuration: ``observe.panorama``."""

from __future__ import annotations

from pydantic import Field

from pipeline.core.schema import Model


class PanoramaConfig(Model):
    """The limits of panoramas; a picture beyond one of the first four is left out, with what was measured."""

    pixels_per_degree_min: float = Field(
        default=5.0, ge=0, description="of the whole sphere's width: 5 are 1,800 pixels; a view of 90 degrees has 450"
    )
    sharpness_min: float = Field(
        default=5.0, ge=0, description="variance of the Laplacian of views of 90 degrees and 512 pixels, grey levels²"
    )
    nadir_share_max: float = Field(
        default=0.35, ge=0, le=1, description="of the lower half of the sphere: what the camera's own vehicle hides"
    )
    duplicate_bits: int = Field(
        default=6,
        ge=-1,
        le=64,
        description="of 64 in which the hashes of two pictures from within 10 m differ, if they are one; -1: keep all",
    )
    street_search_m: float = Field(default=200.0, gt=0, le=2000, description="radius within which streets are sought")
    street_max_m: float = Field(default=30.0, gt=0, description="farther from any named road, it is in no street")
    street_gap_min_m: float = Field(
        default=10.0, ge=0, description="by which the next street is farther, and twice what the position may be off"
    )
    border_min_m: float = Field(default=100.0, ge=0, description="to the border of its country, and of its city")
