"""What Embodied4C asks about (section 6.1 of the paper), limits of its questions, and the form of written questions.

The paper gives no limits: all are ours. The caption of its figure 5 files the relative sub-capabilities under temporal;
its text and its counts do not.

Flags of a candidate carry what a question has beside its answer: embodiment, accepted forms, sensors, conditions.

Questions that people wrote are JSON lines: checked for form, asked at their log, scored like the rest. One object a
line: ``log`` (a scene's id, or its name), ``sub_capability``, ``question``, ``answer``, and where wanted ``accepted``
(other right answers), ``unit`` (then the answer is a number), ``from_s``, ``until_s``.

The conditions of logs, which no log tells, stand in a YAML file: a log (a scene's id, or its name), and its conditions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import BeforeValidator, Field, FiniteFloat, ValidationError, model_validator

from pipeline.core.schema import Degrees, Metres, Model, Ratio, Seconds, Share
from pipeline.core.templates import load_table
from pipeline.questions.choices import is_number
from pipeline.reading.settings import strict_yaml
from pipeline.worlds.flight.view import FlightRules

DRIVING, AERIAL, MANIPULATION = DOMAINS = ("driving", "aerial", "manipulation")
SCORES_OF: Final = {DRIVING: "DS", AERIAL: "AS", MANIPULATION: "MS"}  # what table 2 calls S_b
GEN, VLN = "GEN", "VLN"
SUBS: Final[dict[str, tuple[str, ...]]] = {
    "SEM": ("CL", "AT", "ST"),
    "SPA": ("LC", "DT", "OR", "TP", "CT", "R/S", "R/P", "R/D"),
    "TEM": ("M/T", "S/M", "L/M"),
    "PHY": ("MD", "CS", "M/P", "E/E"),
}
CAPABILITY: Final[dict[str, str]] = {sub: name for name, subs in SUBS.items() for sub in subs} | {GEN: GEN, VLN: VLN}

DOMAIN, ACCEPTED, SENSORS, MODALITY, SUB = ("domain", "accepted", "sensors", "modality", "sub-capability")
SETUP, WEATHER, ILLUMINATION = CONDITIONS = ("sensor_setup", "weather", "illumination")
SETUPS: Final[dict[str, dict[str, list[dict[str, Any]]]]] = load_table("embodied4c/sensor_setups")  # by embodiment
RGB, DRAWN = SHOWN = ("RGB", "drawn")  # modalities that have a video
_SEPARATOR: Final = ": "


def flag(key: str, value: str) -> str:
    """One flag."""
    return f"{key}{_SEPARATOR}{value}"


def of_flags(flags: Iterable[str] | None, key: str) -> list[str]:
    """The values of a key, in order."""
    parts = [name.partition(_SEPARATOR) for name in flags or ()]
    return [value for name, _, value in parts if name == key]


ASKED: Final = frozenset({GEN, *(sub for subs in SUBS.values() for sub in subs)})
Text = Annotated[str, Field(min_length=1, max_length=1000)]


class WrittenExam(Model):
    """One question of somebody's own."""

    log: Text
    sub_capability: str
    question: Text
    answer: Text
    accepted: tuple[Text, ...] = ()
    unit: Annotated[str, Field(max_length=20)] | None = Field(
        default=None, description='of a number, "" where it counts; None: the answer is in words'
    )
    from_s: Annotated[FiniteFloat, Field(ge=0)] | None = None
    until_s: Annotated[FiniteFloat, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _has_form(self) -> WrittenExam:
        if self.sub_capability not in ASKED:
            raise ValueError(f"sub_capability {self.sub_capability!r} is none of {', '.join(sorted(ASKED))}")
        if self.unit is not None and not is_number(self.answer):
            raise ValueError(f"the answer {self.answer!r} has the unit {self.unit!r}, but is no number")
        if self.from_s is not None and self.until_s is not None and self.from_s >= self.until_s:
            raise ValueError(f"from_s {self.from_s:g} is not before until_s {self.until_s:g}")
        return self


def read_written(path: Path) -> list[dict[str, Any]]:
    """The questions of a file. Raises ValueError, naming file and line, also where two are the same."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: cannot be read: {error}") from error
    found: dict[tuple[str, str, float | None], dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            one = WrittenExam.model_validate(json.loads(line))
        except (ValidationError, ValueError, RecursionError) as error:
            problem = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            raise ValueError(f"{path}, line {number}: {problem}") from error
        key = (one.log, one.question, one.until_s)
        if key in found:
            raise ValueError(f"{path}, line {number}: {one.question!r} is asked twice of {one.log}")
        found[key] = one.model_dump(mode="json")
    return list(found.values())


def _from_file(value: Any) -> Any:
    """Questions as they stand in a configuration, or the name of the file that they stand in."""
    return read_written(Path(value)) if isinstance(value, str) else value


_ANSWERS: Final = load_table("embodied4c/answers")


class LogConditions(Model):
    """The conditions under which a log was taken (sections 3 and 7 of the paper)."""

    sensor_setup: Text | None = Field(default=None, description="one of templates/tables/embodied4c/sensor_setups.yaml")
    weather: Text | None = Field(default=None, description='"clear", "rain", "fog"')
    illumination: Text | None = Field(default=None, description='"day", "dusk", "night"')
    surface: Text | None = Field(
        default=None, description='of the ground: "asphalt"; asked about where there is a film'
    )
    wet: bool | None = Field(default=None, description="whether the ground is; the same")
    wind: Text | None = Field(default=None, description='"no wind", "light wind" or "strong wind"; the same')

    @model_validator(mode="after")
    def _is_known(self) -> LogConditions:
        known = [name for setups in SETUPS.values() for name in setups]
        if self.sensor_setup is not None and self.sensor_setup not in known:
            raise ValueError(f"sensor_setup {self.sensor_setup!r} is none of {', '.join(known)}")
        for name, kind in (("surface", "mp_surface"), ("wind", "ee_wind")):
            if (value := getattr(self, name)) is not None and value not in _ANSWERS[kind]:
                raise ValueError(f"{name} {value!r} is none of {', '.join(_ANSWERS[kind])}")
        return self


def _conditions_from_file(value: Any) -> Any:
    """Conditions as they stand in a configuration, or the name of the YAML file that they stand in."""
    if not isinstance(value, str):
        return value
    try:
        return strict_yaml(Path(value).read_text(encoding="utf-8")) or {}
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise ValueError(f"{value}: cannot be read: {error}") from error


class ExamRules(FlightRules):
    """When a question is asked. Any of them can be set in a build's configuration."""

    # Times
    exam_moments_max: int = Field(
        default=12, ge=1, description="times of a minute of a log at which questions stand, evenly spread"
    )
    past_min_s: Seconds = Field(
        default=2.0, description="of the log before a question, and of the video of one about now"
    )
    arm_past_s: Seconds = Field(default=1.0, gt=0, description="the same of an episode of an arm")
    shown_s: Seconds = Field(default=15.0, gt=0, description="of a flight's video with a question about landmarks")
    window_s: Seconds = Field(default=5.0, gt=0, description="what short-term memory is asked about")
    # One length: the way so far is told by how long it took.
    long_s: Seconds = Field(default=20.0, gt=0, description="of a flight's video with a question about its way so far")
    drive_long_s: Seconds = Field(default=8.0, gt=0, description="the same of a drive")
    arm_long_s: Seconds = Field(default=6.0, gt=0, description="the same of an episode of an arm")
    future_min_s: Seconds = Field(default=0.5, description="of the log after it: speeds are measured around it")
    # Who is spoken of
    points_min: int = Field(
        default=15, ge=0, description="lidar points on a thing in a film of a camera, where they are known"
    )
    occluded_max: int = Field(default=1, ge=0, le=2, description="KITTI's level: 1 partly hidden")
    truncated_max: float = Field(default=0.5, ge=0, le=1, description="share outside the picture")
    side_px_min: float = Field(
        default=12.0, ge=0, le=1000, description="side of a square as large as a thing on the road is in a film, pixels"
    )
    hidden_max: Share = Field(
        default=0.5,
        description="of its width that nearer things may stand before; from above, of its mark that others may cover",
    )
    spoken_m: Metres = Field(default=60.0, gt=0, description="to an object on the ground that a question names")
    spoken_of_m: Metres = Field(default=250.0, gt=0, description="to a landmark that a question names, in the air")
    second_gap_m: Metres = Field(default=0.7, gt=0, description="by which the second nearest of a kind is farther")
    second_share: Share = Field(
        default=0.1, gt=0, description="the same, as a share of the distance; half of it in a film from above"
    )
    side_margin_deg: Degrees = Field(default=8.0, gt=0, lt=22, description="between a bearing and the border of a side")
    # Numbers
    distance_min_m: Metres = Field(default=1.5, gt=0, description="of a distance: boxes are good to a tenth of it")
    radius_margin_m: Metres = Field(default=0.75, gt=0, description="between what is counted and the radius")
    count_max: int = Field(default=20, ge=1, description="of things that are counted")
    speed_min_kmh: float = Field(
        default=10.0, le=1000, gt=0, description="of a speed: those of boxes are good to 0.25 km/h"
    )
    speed_off_max: float = Field(
        default=0.06,
        le=1,
        gt=0,
        description="share by which the speed in the last half second of the video may be another",
    )
    speeds_apart_max: float = Field(
        default=0.05, le=1, gt=0, description="share by which positions and stated speeds may differ; half the score's"
    )
    turn_min_deg: Degrees = Field(default=5.0, gt=0, description="of an angle that is asked for")
    # Words
    still_mps: float = Field(default=0.3, le=1000, gt=0, description="at most, of what stands")
    moving_mps: float = Field(default=1.0, le=1000, gt=0, description="at least, of what moves")
    accelerating_mps2: float = Field(default=0.7, le=100, gt=0, description="at least, of who accelerates or brakes")
    steady_mps2: float = Field(default=0.25, le=100, gt=0, description="at most, of who keeps a speed")
    turning_dps: float = Field(default=6.0, le=360, gt=0, description="degrees a second at least, of who turns")
    straight_dps: float = Field(default=2.0, le=360, gt=0, description="at most, of who does not")
    size_ratio_min: Ratio = Field(default=1.2, gt=1, description="of two sizes that are compared")
    distance_ratio_min: Ratio = Field(default=1.25, gt=1, description="of two distances that are compared")
    heading_margin_deg: Degrees = Field(
        default=10.0, lt=45, gt=0, description="between a heading and the border of its class"
    )
    lane_margin_m: Metres = Field(default=0.3, gt=0, description="between what stands on the ground and its border")
    # In the air
    climbing_mps: float = Field(
        default=0.5, le=1000, gt=0, description="up or down at least, of who climbs or descends"
    )
    level_mps: float = Field(default=0.15, le=1000, gt=0, description="at most, of who does not")
    swing_max_deg: Degrees = Field(default=8.0, gt=0, description="of the nose within a second of a question of sides")
    # Questions that are not about the log
    even_answers: bool = Field(default=True, description="of a kind and log none over twice as often as another")
    far_per_log: int = Field(default=12, ge=0, description="domain-far questions that are drawn for a log")
    written: Annotated[tuple[WrittenExam, ...], BeforeValidator(_from_file)] = Field(
        default=(), description="questions that people wrote, or the name of a file of them, as JSON lines"
    )
    conditions: Annotated[dict[Text, LogConditions], BeforeValidator(_conditions_from_file)] = Field(
        default={}, description="log -> sensor setup, weather and illumination, or the name of a YAML file of them"
    )


PROFILES: Final[dict[str, ExamRules]] = {"strict": ExamRules()}
