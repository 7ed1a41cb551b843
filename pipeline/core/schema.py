"""The shared schema: what every reader produces and every later stage reads.

Frames and units: metres, z up, right-handed world frame of the scan. Angles in degrees. ``None`` means "not
measured" and never zero. JSON Schemas of these models are generated into ``meta_schemas/`` (`scan2qa schemas`).
"""

from __future__ import annotations

import datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, SerializeAsAny, model_validator

SCHEMA_VERSION: Final = 1

Vec3 = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
Mat3 = tuple[Vec3, Vec3, Vec3]
Name = Annotated[str, Field(min_length=1, max_length=200)]
# Of limits that are set in a configuration; what lies outside would refuse everything, or nothing, without a word.
Degrees = Annotated[float, Field(ge=0, le=180)]
Metres = Annotated[float, Field(ge=0, le=100_000)]
SquareMetres = Annotated[float, Field(ge=0, le=1_000_000)]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Share = Annotated[float, Field(ge=0, le=1)]
Ratio = Annotated[float, Field(ge=1, le=100)]


class Model(BaseModel):
    """Base of all schema models: immutable, and unknown keys are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)  # most commands use few of them


class Limits(Model):
    """Base of the limits of a benchmark or a stage: finite, and what is called `…_min…` not above its `…_max…`."""

    model_config = ConfigDict(allow_inf_nan=False)

    @model_validator(mode="after")
    def _least_below_most(self) -> Limits:
        for least in type(self).model_fields:
            most = least.replace("_min", "_max")
            if most == least or getattr(self, most, None) is None or getattr(self, least) is None:
                continue
            if getattr(self, least) > getattr(self, most):
                raise ValueError(f"{least} {getattr(self, least):g} is above {most} {getattr(self, most):g}")
        return self


class OrientedBox(Model):
    """A box in any orientation, in the sense of Open3D's OrientedBoundingBox.

    ``axes`` has one unit axis per row (world coordinates); ``lengths[i]`` is the full side along ``axes[i]``, metres.
    """

    center: Vec3
    lengths: tuple[
        Annotated[FiniteFloat, Field(ge=0)], Annotated[FiniteFloat, Field(ge=0)], Annotated[FiniteFloat, Field(ge=0)]
    ]
    axes: Mat3


class Video(Model):
    """The video of a scene; what is not known is None."""

    path: str = Field(description="relative to the scene's root, or the bare name where the source has no videos")
    fps: Annotated[FiniteFloat, Field(gt=0)] | None = None
    frames: Annotated[int, Field(gt=0)] | None = None
    width: Annotated[int, Field(gt=0)] | None = None
    height: Annotated[int, Field(gt=0)] | None = None
    turn_deg: Literal[0, 90, 180, 270] = Field(default=0, description="clockwise turn that makes it upright")


class Finding(Model):
    """Something in the raw data that is not as it should be, with the numbers that show it.

    A ``fault`` quarantines its scene. A ``doubt`` stays with the scene: profile `strict` refuses what it touches. A
    ``note`` is about something that no answer depends on.
    """

    name: str
    severity: Literal["fault", "doubt", "note"]
    subject: str = Field(description="the category, key or line it is about")
    message: str
    measured: float | None = None
    limit: float | None = None
    unit: str | None = None
    stretches: tuple[tuple[FiniteFloat, FiniteFloat], ...] | None = Field(
        default=None,
        description="start and end, seconds of a flight's log, of all that it is about; None: the whole scene",
    )
    remedy: str


class Source(Model):
    """Where a scene was read from. Paths are relative to the reader's root."""

    reader: str
    reader_version: int
    files: tuple[str, ...]
    sha256: str = Field(
        description="digest over the raw bytes of this scene's annotation, geometry and poses; of JSON in any layout"
    )
    box_method: str = Field(default="annotated", description="how the boxes came about")


class Applied(Model):
    """A correction that people made, as the scene that it was made in remembers it."""

    id: str
    subjects: tuple[str, ...] = Field(description='what it is about, as operands name it; "" for all of the scene')
    change: str = Field(description='what it did: "count of table 2 -> 3"')
    why: str
    who: str
    date: datetime.date


class Origin(Model):
    """Where the ENU frame of a flight has its zero, WGS84."""

    lat_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)]
    lon_deg: Annotated[FiniteFloat, Field(ge=-180, le=180)]
    alt_m: FiniteFloat | None = Field(description="above mean sea level; None: the log has none")


class Facts(Model):
    """The facts that one world knows of a scene; each world has its own kind (``worlds/<world>/facts.py``)."""

    world: str = Field(description="name of the world")

    @property
    def place_on_earth(self) -> Origin | None:
        """Where the scene is on earth; None: not known."""
        return None


F = TypeVar("F", bound=Facts)


class Scene(Model, Generic[F]):
    """One unit of a build, for example a scan or a flight: what all worlds share, and the facts of its own world."""

    model_config = ConfigDict(title="Scene")  # else a title that Python's version words

    id: Name = Field(description='"dataset/name", stable')
    dataset: Name
    name: Name
    source: Source
    video: Video | None = None
    facts: SerializeAsAny[F]
    findings: tuple[Finding, ...] = ()
    fixes: tuple[Applied, ...] = Field(default=(), description="what people corrected in it")

    def with_facts(self, **changes: Any) -> Scene[F]:
        """The scene with some of its facts replaced. The new values are not validated."""
        return self.model_copy(update={"facts": self.facts.model_copy(update=changes)})

    def with_findings(self, *found: Finding) -> Scene[F]:
        """The scene with more findings, after those that it has."""
        return self.model_copy(update={"findings": (*self.findings, *found)})


AnyScene: TypeAlias = Scene[Any]


class Evidence(Model):
    """One number behind an answer; where a rule bounds it, the limit too."""

    name: str
    subject: str
    value: float
    relation: Literal[">=", ">", "<=", "<"] | None = None
    limit: float | None = None
    unit: str


class Rejection(Model):
    """Why a candidate question is not asked: a named reason with the measured value and its limit."""

    reason: str
    measured: float | None
    limit: float | None
    unit: str | None


class Question(Model):
    """A released question with everything that proves its answer."""

    id: int = Field(ge=0, lt=2**53)
    scene: str
    task: str
    template: str
    template_version: int
    operands: tuple[str, ...]
    text: str
    options: tuple[str, ...] | None = Field(description='"A. …" in order; None for numeric questions')
    ground_truth: str = Field(description="a bare letter where there are options, else the number")
    answer: str = Field(description="the answer in words or as a number, whatever its letter")
    choices: tuple[str, ...] | None = Field(description="four options of a numeric question")
    choice: str | None = Field(description="letter of the right one among ``choices``")
    visible_in: tuple[int, ...] | None = Field(
        description="frame budgets that show all that it names; None: not examined"
    )
    evidence: tuple[Evidence, ...]
    proof: str | None = Field(
        default=None, description="what a model that wrote it says makes the answer right; None: the evidence proves it"
    )
    flags: tuple[str, ...] = ()


class Quarantine(Model):
    """A unit that was left out of a build, and why."""

    unit: str
    stage: str
    file: str
    finding: str
    message: str
    remedy: str


MODELS: Final[dict[str, type[Model]]] = {
    "question": Question,
    "rejection": Rejection,
    "quarantine": Quarantine,
}
