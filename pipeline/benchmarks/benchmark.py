"""The `Benchmark` record: a set of tasks over one or more worlds, with its rules, wording and public columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel

from pipeline.core.video_spec import VideoSpec

if TYPE_CHECKING:  # this record is code of all stages that ask a benchmark; what it names is code of those that use it
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from pipeline.core.schema import Finding
    from pipeline.drawing.sheet import Sheet
    from pipeline.geometry.views import PinholeView, WholeSphere
    from pipeline.questions.asking import Asking
    from pipeline.questions.audited import Coverage, ExaminationInputs, Examined, Miss
    from pipeline.questions.harness import Harness
    from pipeline.questions.model_authoring import ModelAuthor
    from pipeline.questions.published import Columns, Published
    from pipeline.questions.scoring_protocol import Score
    from pipeline.questions.task import SceneView, Task
    from pipeline.worlds.world import World

# Tasks of a review's screens about what questions are made from (`Benchmark.checks`): what is asked, and from where.
RAW_TASK: Final = "raw_task"
RAW_POSE: Final = "raw_pose"
V = TypeVar("V", bound="SceneView")
R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True)
class Card:
    """The texts and terms of a benchmark in the dataset card of a release.

    Attributes:
        module: where these words stand: they are code of stage `export`.
        about: one sentence.
        media: which of its columns name the videos.
        parts: folder of the release -> a line about what lies in it, beyond what every release has.
        shown: folders of the release with pictures that questions show, and nothing else.
        quirks: profile -> a known limit of questions made under it.
        citation: of its paper, as BibTeX.
        terms: dataset -> the terms of its data, and where they stand; Markdown.
        sources: dataset -> citation of its paper, as BibTeX.
        pixels: folder of the release -> what of the raw data's own pictures lies in it, before "in `folder/`".
        given_away: task -> attacker -> what it earns on the published benchmark without the videos.
        chosen: reasons of its own by which it chooses among candidates that could be asked.
        full_findings: findings of scenes that the card gives in full.
        remarks: lines that its questions (`core.tables.QUESTIONS`) give the card.
        captioned: folder of the release with a PNG of each question and its words, by its id; empty: none.
    """

    module: str
    about: str
    media: str
    parts: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    quirks: Mapping[str, str] = field(default_factory=dict)
    citation: str = ""
    terms: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    pixels: Mapping[str, str] = field(default_factory=dict)
    given_away: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    full_findings: frozenset[str] = frozenset()
    counts: Callable[[pa.Table], Counter[tuple[Any, ...]]] = lambda asked: Counter()
    remarks: Callable[[Counter[tuple[Any, ...]]], list[str]] = lambda counted: []
    captioned: str = ""


def modules_of(*parts: Any) -> tuple[str, ...]:
    """The modules in which functions, classes and records with a ``module`` stand; None is left out."""
    return tuple(getattr(part, "module", None) or part.__module__ for part in parts if part is not None)


def no_blind_pictures(rows: Sequence[Mapping[str, Any]], scene: Any) -> Iterable[tuple[int, Sequence[bytes]]]:
    """The pictures of a benchmark whose reviewers see its own, or a map of layers (`Benchmark.map_before`)."""
    return ()


class SceneRecords(NamedTuple):
    """What a release holds of its scenes beside the questions.

    Attributes:
        maps: questions for maps of the scenes (some columns of `tables.QUESTIONS`), with ``of``: the id of the question
            that a map is for, or null.
        files: file below the release -> bytes.
    """

    maps: pa.Table
    files: Mapping[str, bytes]


@dataclass(frozen=True)
class FromMetadata:
    """How published questions are held against the metadata that they were made from.

    Attributes:
        readers: of these metadata; the first that finds a file of its own reads them.
        published_files: names of the published file, which lies in the folder of the metadata or in the one above.
        cover: per question type how many the candidates contain, and every miss.
        doubts: what the published questions about a scene say otherwise than its data, but for subjects that people
            corrected.
    """

    readers: tuple[str, ...]
    published_files: tuple[str, ...]
    cover: Callable[[Sequence[Published], Sequence[Any], Any], tuple[dict[str, Coverage], list[Miss]]]
    doubts: Callable[[Sequence[Published], Any, Collection[str]], tuple[Finding, ...]]


@dataclass(frozen=True)
class ScenePictures:
    """Pictures that go with the questions of a scene, drawn from its video.

    Attributes:
        module: where it stands.
        folder: of the release.
        wanted: whether some rules need them.
        draw: of a view, its questions (rows of `tables.QUESTIONS`) and what gives the video's picture at a second:
            question -> PNG.
    """

    module: str
    folder: str
    wanted: Callable[[Any], bool]
    draw: Callable[[Any, Sequence[Mapping[str, Any]], Callable[[float], Any]], dict[int, bytes]]


class PictureMark(NamedTuple):
    """A box in a picture around what a question means; shares of its width and height from the upper left corner."""

    name: str
    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True)
class SceneViews:
    """Pictures that go with the questions of a scene, or that a model which writes them is shown.

    Attributes:
        module: where it stands.
        of: of a question (a row of `tables.QUESTIONS`): the pictures that it shows, each with its file in the release,
            a JPEG. Equal files are equal pictures, and no two scenes share one. None: questions show none.
        declared: of a view of a scene: the pictures (`World.pictures`) that a model which writes questions is shown,
            each of which it may ask about; None: it is shown none.
        marks: of a view of a scene and a question: file -> where what it means is, for who checks its answer.
    """

    module: str
    of: Callable[[Mapping[str, Any]], Iterable[tuple[str, PinholeView | WholeSphere]]] | None
    declared: Callable[[Any], Sequence[Any]] | None = None
    marks: Callable[[Any, Mapping[str, Any]], Mapping[str, Sequence[PictureMark]]] | None = None


class DeliveredVideo(Protocol):
    """The delivered video of a scene.

    Attributes:
        form: what its pictures look like.
    """

    form: VideoSpec

    def __call__(self, second: float) -> npt.NDArray[np.uint8]:
        """The picture (h, w, 3) at a second. Raises RawDataError where the video is damaged."""


@dataclass(frozen=True)
class Drawings:
    """Drawings of what proves the answers of questions.

    Attributes:
        module: where it stands.
        draw: of a view, its questions (rows of `tables.QUESTIONS`) and the scene's video, where there is one: question
            -> what is drawn of it.
    """

    module: str
    draw: Callable[[Any, Iterable[Mapping[str, Any]], DeliveredVideo | None], Iterable[tuple[int, Sheet]]]


@dataclass(frozen=True)
class RouteWriting:
    """Routes that people write for a benchmark.

    Attributes:
        names: of a view, what a route may name.
        refusals: of a view and a route (`worlds.indoor.facts.Route`), why it would not be asked (the columns reason,
            measured, limit and unit of `tables.REJECTIONS`); empty: it would.
    """

    names: Callable[[Any], tuple[str, ...]]
    refusals: Callable[[Any, Any], list[dict[str, Any]]]


@dataclass(frozen=True)
class Audit:
    """How a published question file of the benchmark is examined.

    Attributes:
        examine: what was published, what comes out now, and why they differ.
        metadata: what it is held against; None: it is examined alone.
    """

    examine: Callable[[Path, ExaminationInputs], Examined]
    metadata: FromMetadata | None = None


@dataclass(frozen=True)
class Benchmark(Generic[V, R]):
    """One benchmark. Shared code knows none by name.

    Attributes:
        name: also its folder, the folder of its templates and its build file.
        title: as people write it.
        worlds: whose scenes it asks about.
        tasks: in the order of its releases.
        profiles: name -> rules; the first is the default.
        view: a scene under rules, as its tasks see it.
        columns: its public table.
        card: what it says of itself.
        video: what its videos look like.
        sampled: whether its questions are asked of evenly spaced frames of videos too.
        pictures: file below the release -> bytes, for questions that have pictures, from these and all scenes in order.
        scene_pictures: pictures that go with questions, from the videos.
        views: pictures that questions show, out of panoramas.
        drawings: of what proves the answers.
        harness: how public harnesses ask and mark it; None: they do not.
        author: who writes questions that facts cannot answer.
        audit: how its published questions are examined.
        score: what replies to its questions earn.
        asking: how its questions are put to a model (`scan2qa ask`); None: they are not.
        blind_pictures: of questions (rows of `tables.QUESTIONS`) of one observed scene, by id: PNG or JPEG pictures
            that reviewers see before they answer, and that show no more of the answer than agents see.
        checks: of questions (rows of `tables.QUESTIONS`) what reviewers may judge before them, as such rows (tasks
            `RAW_TASK` and `RAW_POSE`, right where "A" is answered) with ``asked``, the ids of the questions that are
            rejected with them.
        flags: of `pipeline.review.verdicts.REASONS`, those that its reviewers have beside the common ones.
        scene_records: of its scenes, one after the other, its rules and their questions (`tables.QUESTIONS`), of which
            some may not stay: what a release holds of the scenes themselves, in the module of its card; None: nothing.
        map_before: task -> what of a scene's map its reviewers may see before they answer: "ground", "things", "path".
            Of a task that is not named nothing, since a map may give the answer away.
        released: the profile that repeats the published benchmark in its wording and in what of a scene is asked too.
        profile_caps: profile -> its tasks, and how many of each it asks at most in a scene, whatever the build asks of
            others (None: as many as the build does).
            A profile that is not named asks all tasks.
        families: task -> the task that it counts as one with where tasks are compared, as levels of one task do.
        tiny: task -> its questions in the split `tiny`; of others `TINY_PER_TASK`.
        further_columns: profile -> its public table, where that is another one.
        routes: of benchmarks for which people may write routes.
    """

    name: str
    title: str
    worlds: tuple[World[Any], ...]
    tasks: tuple[Task[V], ...]
    profiles: Mapping[str, R]
    view: Callable[[Any, R], V]
    columns: Columns
    card: Card
    video: VideoSpec = field(default_factory=VideoSpec)
    sampled: bool = False
    pictures: Callable[[pa.Table, Callable[[], Iterable[Any]]], dict[str, bytes]] = lambda asked, scenes: {}
    scene_pictures: ScenePictures | None = None
    views: SceneViews | None = None
    drawings: Drawings | None = None
    harness: Harness | None = None
    author: ModelAuthor[V, Any, Any] | None = None
    audit: Audit | None = None
    score: Score[Any] | None = None
    asking: Asking | None = None
    blind_pictures: Callable[[Sequence[Mapping[str, Any]], Any], Iterable[tuple[int, Sequence[bytes]]]] = (
        no_blind_pictures
    )
    checks: Callable[[Iterable[Mapping[str, Any]]], list[dict[str, Any]]] = lambda rows: []
    flags: tuple[str, ...] = ()
    scene_records: Callable[[Iterable[Any], R, pa.Table], SceneRecords] | None = None
    map_before: Mapping[str, Collection[str]] = field(default_factory=dict)
    released: str | None = None
    profile_caps: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    tiny: Mapping[str, int] = field(default_factory=dict)
    further_columns: Mapping[str, Columns] = field(default_factory=dict)
    routes: RouteWriting | None = None

    @property
    def rules(self) -> type[R]:
        """The model of its rules."""
        return type(next(iter(self.profiles.values())))

    def __post_init__(self) -> None:
        """Raises TypeError for a task without a share, or that does not say what it reads."""
        for task in self.tasks:
            if not hasattr(task, "share"):
                raise TypeError(f"benchmark {self.name}: task {task.name} has no share; set share = 1 in its class")
            if not hasattr(task, "reads"):
                message = 'does not say what has to be read to answer it; set reads = "kind" in its class'
                raise TypeError(f"benchmark {self.name}: task {task.name} {message}")

    def view_of(self, scene: Any, settings: Mapping[str, Any]) -> V:
        """A scene as its tasks see it, under the rules of a stage's settings."""
        return self.view(scene, self.rules.model_validate(settings["rules"]))

    def view_modules(self, *parts: Any) -> tuple[str, ...]:
        """The modules that make a view, then those of its parts that work on one; a part that is None has none."""
        return (type(self).__module__, self.view.__module__, self.rules.__module__, *modules_of(*parts))

    @property
    def shares(self) -> dict[str, int]:
        """How many questions of each task there shall be for so many of the others."""
        return {task.name: task.share for task in self.tasks}

    def harness_files(
        self, split: str, table: pa.Table, present: Collection[str] = (), heads: dict[str, Any] | None = None
    ) -> dict[str, bytes]:
        """The files below a release with which public harnesses ask a split or frame budget, a public table.

        ``present``: the release's pictures; ``heads``: see `Harness.files`.
        """
        if self.harness is None or self.asking is None:
            return {}
        return self.harness.files(self.name, self.asking, split, table, self.columns, present, heads)

    def asked_under(self, profile: str) -> Mapping[str, int | None]:
        """The tasks of a profile, and the most questions of each in a scene; see ``asked``."""
        return self.profile_caps.get(profile) or dict.fromkeys(self.by_name())

    def under(self, profile: str) -> Benchmark[V, R]:
        """The benchmark with the public table of a profile."""
        return replace(self, columns=self.further_columns.get(profile, self.columns), further_columns={})

    @property
    def all_columns(self) -> tuple[Columns, ...]:
        """The public tables of all profiles."""
        return (self.columns, *self.further_columns.values())

    def by_name(self) -> dict[str, Task[V]]:
        """Its tasks by their names, in order."""
        return {task.name: task for task in self.tasks}
