"""An environment in which an agent looks about in a panorama: it turns, tilts and zooms, and sees one view at a time.

ERGeoBench, sections 3.2 and 4.1: yaw changes by 45 degrees or more, the pitch stays within 60 degrees of the horizon,
and the zoom within 1 to 5. Where the paper leaves it open: a step may keep its yaw (else one could not tilt or zoom
alone); a whole turn keeps it too; and an action that is not allowed is refused by name and changes nothing.

    view = EmbodiedView.open(release, "environments/sample_panoramas/valdoro-1.json")
    seen = view.reset()
    while seen is not None:
        reply = agent(seen.picture)
        seen = view.step(reply["next_action"], reply)
    records = view.trajectory
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from pydantic import ConfigDict, Field, FiniteFloat, ValidationError

from pipeline.core.errors import RawDataError
from pipeline.core.files import read_file, write_atomically
from pipeline.core.schema import Limits, Model
from pipeline.formats.images import decoded, jpeg_bytes
from pipeline.geometry.equirect import Picture, Sphere
from pipeline.geometry.views import PinholeView, turned_deg
from pipeline.worlds.panorama.facts import MOST_PIXELS
from pipeline.worlds.panorama.pictures import QUALITY

_SLACK_DEG: Final = 1e-6  # sums of angles are not exact
_TOLD: Final = ("structured_observation", "evidence_evaluation", "hypothesis_update", "next_action")  # section B.4


class ViewPose(Model):
    """Where one looks."""

    yaw_deg: FiniteFloat = 0.0
    pitch_deg: FiniteFloat = 0.0
    zoom: FiniteFloat = Field(default=1.0, gt=0)


class ViewLimits(Limits):
    """The limits of an agent's actions (section 4.1)."""

    pitch_deg: tuple[FiniteFloat, FiniteFloat] = (-60.0, 60.0)
    zoom: tuple[FiniteFloat, FiniteFloat] = (1.0, 5.0)
    yaw_step_min_deg: FiniteFloat = Field(default=45.0, ge=0, le=180, description="or no turn at all")


class Fov(Model):
    """How wide one sees."""

    mode: Literal["optical", "equation_2"] = Field(
        default="optical",
        description="optical: zoom 2 shows things twice as large, zoom 1 the base; equation_2: base * 2 ** (1 - zoom): "
        "the paper's but for the 1, without which zoom 1 would not be the base, as its text has it",
    )
    base_deg: FiniteFloat = Field(default=90.0, gt=0, le=150)

    def of(self, zoom: float) -> float:
        """Degrees from left to right."""
        if self.mode == "equation_2":
            return float(self.base_deg * 2.0 ** -(zoom - 1))
        return math.degrees(2 * math.atan(math.tan(math.radians(self.base_deg) / 2) / zoom))


class Environment(Model):
    """An environment's file in a release; paths are relative to the release."""

    panorama: str
    picture: str
    start: ViewPose = Field(default_factory=ViewPose)
    limits: ViewLimits = Field(default_factory=ViewLimits)
    fov: Fov = Field(default_factory=Fov)
    size: tuple[int, int] = (640, 480)


class Action(Model):
    """The next action of an agent; its own remarks, such as its goal, are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    stop: bool = False
    delta_yaw_deg: FiniteFloat = Field(default=0.0, description="clockwise")
    delta_pitch_deg: FiniteFloat = Field(default=0.0, description="upwards")
    zoom: FiniteFloat | None = Field(default=None, description="None: as it is")


class ViewObservation(NamedTuple):
    """The view at a step: (height, width, 3) pixels, and where one looks."""

    step: int
    yaw_deg: float
    pitch_deg: float
    zoom: float
    fov_deg: float
    picture: Picture


class StepRecord(Model):
    """A step of a trajectory, as appendix F.2 lists it: the four fields are the complete reply of section B.4."""

    step: int
    yaw: float
    pitch: float
    zoom: float
    structured_observation: Any = None
    evidence_evaluation: Any = None
    hypothesis_update: Any = None
    next_action: Any = None
    image: str | None = None


class ActionRefusedError(ValueError):
    """An action that is not allowed: its reason, what was measured, and the limit."""

    def __init__(self, reason: str, measured: float, limit: float, unit: str, remedy: str) -> None:
        super().__init__(f"{reason}: {measured:g} {unit}, limit {limit:g}: {remedy}")
        self.reason, self.measured, self.limit, self.unit = reason, measured, limit, unit


class EmbodiedView:
    """One panorama to look about in.

    Args:
        sphere: its picture.
        environment: where one starts, and what one may do.
    """

    def __init__(self, sphere: Sphere, environment: Environment) -> None:
        self.environment = environment
        self._sphere = sphere
        self._records: list[StepRecord] = []
        self._pictures: list[Picture] = []
        self._pose = self._checked(environment.start)
        self._is_over = False

    @classmethod
    def open(cls, release: Path, file: str) -> EmbodiedView:
        """An environment of a release. Raises OSError and RawDataError where its files cannot be read."""
        path = release / file
        try:
            environment = Environment.model_validate_json(read_file(path))
        except ValidationError as error:
            raise RawDataError(path, "bad_environment", str(error), "take the release's own file") from error
        if not (release / environment.picture).resolve().is_relative_to(release.resolve()):
            message = f"its picture {environment.picture} lies outside of the release"
            raise RawDataError(path, "bad_environment", message, "take the release's own file")
        image = decoded(read_file(release / environment.picture), MOST_PIXELS)
        if image is None:
            message, remedy = "it is no picture, or too large a one", "fetch the release again"
            raise RawDataError(release / environment.picture, "unreadable_picture", message, remedy)
        return cls(Sphere(image), environment)

    def reset(self) -> ViewObservation:
        """Begins anew; gives what is seen at the start."""
        self._records, self._pictures, self._is_over = [], [], False
        self._pose = self._checked(self.environment.start)
        return self.observe()

    def observe(self) -> ViewObservation:
        """The current view."""
        pose, fov = self._pose, self.environment.fov.of(self._pose.zoom)
        width, height = self.environment.size
        view = PinholeView(yaw_deg=pose.yaw_deg, pitch_deg=pose.pitch_deg, fov_deg=fov, width=width, height=height)
        return ViewObservation(
            len(self._records), pose.yaw_deg, pose.pitch_deg, pose.zoom, fov, self._sphere.render(view)
        )

    def step(
        self, action: Action | Mapping[str, Any], reply: Mapping[str, Any] | None = None
    ) -> ViewObservation | None:
        """Does what an agent says, and notes the step; gives what is seen then, None where it stops.

        Args:
            action: turns and zoom. A mapping has the keys of `Action`; those that are missing change nothing.
            reply: all that the agent said (section B.4), for the trajectory.

        Raises:
            ActionRefusedError: where it is not allowed; nothing has happened then.
            ValidationError: where it is no action: pydantic's, a ValueError too.
        """
        if self._is_over:
            raise ActionRefusedError("after_the_end", len(self._records), len(self._records), "steps", "reset first")
        asked = action if isinstance(action, Action) else Action.model_validate(dict(action))
        then = self._pose if asked.stop else self._moved(asked)
        self._note(asked, reply or {})
        self._pose, self._is_over = then, asked.stop
        return None if asked.stop else self.observe()

    @property
    def trajectory(self) -> tuple[StepRecord, ...]:
        """The steps so far."""
        return tuple(self._records)

    def save(self, folder: Path, question: int) -> None:
        """Writes ``trajectory.json`` and the pictures that it names.

        With the question's id, and as the answer the reply of the last step: `scan2qa score` takes a folder of them.
        """
        for record, picture in zip(self._records, self._pictures, strict=True):
            write_atomically(folder / str(record.image), jpeg_bytes(picture, QUALITY))
        rows = [record.model_dump(mode="json") for record in self._records]
        last = json.dumps({key: rows[-1][key] for key in _TOLD}, ensure_ascii=False) if rows else None
        row = {"id": question, "answer": last, "environment": self.environment.panorama, "trajectory": rows}
        raw = json.dumps(row, ensure_ascii=False, indent=1)
        write_atomically(folder / "trajectory.json", raw.encode() + b"\n")

    def _note(self, action: Action, reply: Mapping[str, Any]) -> None:
        pose, step = self._pose, len(self._records)
        note = {key: reply.get(key) for key in _TOLD}
        note["next_action"] = note["next_action"] or action.model_dump(exclude_none=True)
        image = f"step_{step:03d}.jpg"
        self._pictures.append(self.observe().picture)
        self._records.append(
            StepRecord(step=step, yaw=pose.yaw_deg, pitch=pose.pitch_deg, zoom=pose.zoom, image=image, **note)
        )

    def _moved(self, action: Action) -> ViewPose:
        turn = abs(turned_deg(action.delta_yaw_deg))
        least = self.environment.limits.yaw_step_min_deg
        if _SLACK_DEG < turn < least - _SLACK_DEG:
            remedy = f"turn by {least:g} degrees or more, or not at all"
            raise ActionRefusedError("turn_too_small", turn, least, "deg", remedy)
        pose = self._pose
        zoom = pose.zoom if action.zoom is None else action.zoom
        yaw, pitch = pose.yaw_deg + action.delta_yaw_deg, pose.pitch_deg + action.delta_pitch_deg
        return self._checked(ViewPose.model_construct(yaw_deg=yaw, pitch_deg=pitch, zoom=zoom))

    def _checked(self, pose: ViewPose) -> ViewPose:
        """The pose with its yaw in [-180, 180). Raises ActionRefusedError where it is beyond the limits."""
        limits = self.environment.limits
        for reason, value, (low, high), unit in (
            ("pitch_out_of_bounds", pose.pitch_deg, limits.pitch_deg, "deg"),
            ("zoom_out_of_bounds", pose.zoom, limits.zoom, "times"),
        ):
            if not low - _SLACK_DEG <= value <= high + _SLACK_DEG:
                remedy = f"stay within {low:g} to {high:g} {unit}"
                raise ActionRefusedError(reason, value, low if value < low else high, unit, remedy)
        pitch = min(max(pose.pitch_deg, limits.pitch_deg[0]), limits.pitch_deg[1])
        zoom = min(max(pose.zoom, limits.zoom[0]), limits.zoom[1])
        return ViewPose(yaw_deg=turned_deg(pose.yaw_deg), pitch_deg=pitch, zoom=zoom)
