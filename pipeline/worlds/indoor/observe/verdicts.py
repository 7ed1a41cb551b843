"""What an observation says against its scan, so that no question rests on poses or on a mesh that are off."""

from __future__ import annotations

from pydantic import Field

from pipeline.core.findings import doubt, fault
from pipeline.core.schema import Finding, Model
from pipeline.worlds.indoor.facts import SIGHT, Observation


class Limits(Model):
    """Limits of what is believed. Shares of rays, and of the floor's area.

    In the seven sound sample scans 99.0% to 99.9% of the rays agree with the measured depth. With poses late by a third
    of a second 77.5% to 85.3% do, by two thirds 65.2% to 77.5%, by a second 59.9% to 73.8%. The first limit lies midway
    between sound scans and the smallest of these shifts, the second within reach of a shift by a second.
    """

    depth_agreement_min: float = Field(
        default=0.9, ge=0, le=1, description="below it nothing is asked that rests on what the video shows"
    )
    depth_agreement_unusable: float = Field(default=0.75, ge=0, le=1, description="below it the scene is left out")
    unscanned_max: float = Field(
        default=0.1, ge=0, description="scenes with more of the floor missing below the camera's path are left out"
    )


def verdicts(observation: Observation, limits: Limits) -> tuple[Finding, ...]:
    """The findings about an observation, a fault where it makes the scene unusable."""
    return (*_depth(observation.depth_agreement, limits), *_mesh(observation.unscanned_share, limits))


def _depth(agreement: float | None, limits: Limits) -> tuple[Finding, ...]:
    if agreement is None or agreement >= limits.depth_agreement_min:
        return ()
    message = f"{agreement:.1%} of the rays into the mesh agree with the measured depth"
    if agreement >= limits.depth_agreement_unusable:
        message += f" (limit {limits.depth_agreement_min:.1%}): what the video shows is not known for sure"
        remedy = "compare times of poses and pictures, and intrinsics with the pictures' size"
        limit = limits.depth_agreement_min
        return (doubt("depth_disagrees", SIGHT, message, remedy, agreement, limit, "share"),)
    message += f" (limit {limits.depth_agreement_unusable:.1%}): poses, depth and mesh do not belong together"
    remedy = "fetch poses, pictures and mesh of one scan, or lower observe.indoor.depth_agreement_unusable"
    found = fault("depth_disagrees", SIGHT, message, remedy)
    return (found.model_copy(update=_measures(agreement, limits.depth_agreement_unusable)),)


def _mesh(share: float | None, limits: Limits) -> tuple[Finding, ...]:
    """The video shows what nobody annotated where the mesh lacks what the camera walked over."""
    if share is None or share <= limits.unscanned_max:
        return ()
    message = (
        f"{share:.1%} of the floor's area lies below the camera's path and is missing from the mesh "
        f"(limit {limits.unscanned_max:.1%})"
    )
    remedy = "the video shows what nobody annotated: leave the scene out, or raise observe.indoor.unscanned_max"
    return (
        fault("incomplete_mesh", "mesh", message, remedy).model_copy(update=_measures(share, limits.unscanned_max)),
    )


def _measures(measured: float, limit: float) -> dict[str, float | str]:
    return {"measured": measured, "limit": limit, "unit": "share"}
