"""The `World` record: a kind of evidence, its readers, its facts, and its observation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pipeline.core.errors import RawDataError
from pipeline.core.fixes import Fix
from pipeline.core.schema import Facts, Finding, Model, Scene
from pipeline.core.spatial import Spatial, TopDownMap
from pipeline.reading.reader import Reader

if TYPE_CHECKING:  # this record is code of all stages that name a world
    from pipeline.llm.base import Reply, Request
    from pipeline.reading.files import SceneFiles
    from pipeline.reading.footage import Footage

F = TypeVar("F", bound=Facts)


def refuse_faults(scene: Scene[Any], folder: Path) -> Scene[Any]:
    """The scene, if nothing that was observed makes it unusable. Raises RawDataError for the first that does."""
    for fault in scene.findings:
        if fault.severity == "fault":
            raise RawDataError(folder, fault.name, fault.message, fault.remedy, scene.id)
    return scene


class CategoryShown(NamedTuple):
    """All that is shown to people of one category of a scene.

    Attributes:
        category: its name.
        boxes: how many there are.
        digest: of these boxes.
        crops: pictures (JPEG) of one thing each.
        marked: whole ones with all boxes.
        unmarked: whole ones in which nothing of the category can be.
    """

    category: str
    boxes: int
    digest: str
    crops: tuple[bytes, ...]
    marked: tuple[bytes, ...]
    unmarked: tuple[bytes, ...]


class SceneCheck(NamedTuple):
    """What people decide about a whole scene by one of its pictures.

    Attributes:
        question: what they are asked.
        options: from "A. …" on; the first where nothing is wrong.
        picture: as `World.pictures` takes it.
        fix: the correction that an option makes, of the scene as it was read and of the option's letter: target,
            expect, set.
    """

    question: str
    options: tuple[str, ...]
    picture: Any
    fix: Callable[[Any, str], dict[str, Any]]


@dataclass(frozen=True)
class DescribeSteps(Generic[F]):
    """What a world does to ask a model what things look like in pictures.

    Attributes:
        look: the observed scene with what pictures tell: of the scene before it was observed, the observed one, its
            geometry, the world's configuration, what gives the video's picture at a second (None: it is not filmed),
            the model and, if there is one, a second that confirms, and how many things they are asked about at most.
        calls: how often the model is asked at most about an observed scene, with so many things at most.
        is_complete: whether every question about a scene had an answer.
    """

    look: Callable[[Scene[F], Scene[F], Any, Any, Any, Sequence[Callable[[Request], Reply]], int], Scene[F]]
    calls: Callable[[Scene[F], int], int]
    is_complete: Callable[[Scene[F]], bool]


@dataclass(frozen=True)
class SceneDescriber(Generic[F]):
    """Whether and how a world asks a model what things look like in pictures of a scene's video.

    Attributes:
        module: where it stands.
        prompts: names of its prompts.
        looking: imports the module, with pictures and prompts, which few builds need.
        filmed: whether scenes without a video are not looked at.
    """

    module: str
    prompts: tuple[str, ...]
    looking: Callable[[], DescribeSteps[F]]
    filmed: bool = True


@dataclass(frozen=True)
class World(Generic[F]):
    """One kind of evidence. It knows nothing of the benchmarks that ask about it.

    Attributes:
        name: also its folder, and what its facts call themselves.
        units: what its scenes are called, in the plural ("scans").
        facts: its member of `Scene.facts`.
        readers: of its raw formats.
        config: its part of a build's configuration, that of stage `observe`.
        observe: the scene with what was observed, from what `Reader.geometry` gave. A finding of severity "fault"
            leaves the scene out.
        visibility: for a dataset card, how far it is known what the videos of so many scenes show, in lines of
            Markdown, from how many of them have each part of ``known``.
        known: what a scene can lack, and whether it has it.
        read_written: reads a file of facts that people wrote: changes of facts by scene id, and what is wrong with it.
        examine: what is not as usual in a scene of any of its readers, and so in doubt before anything is asked.
        fixes: the kinds of corrections that people can make in a scene.
        fix: the scene with some of them; each was checked (`check`) against the scene as it was read.
        drafts: corrections as they might be made, of a scene as it was read and of what a question about it names:
            each says what stands there now, and changes nothing yet.
        quick: readers whose scenes are read and observed within seconds, so that questions are counted before a build.
        bulky: facts that are long and that only questions are made from, none of them needed; "a.b" is b within a.
        top_down_map: a scene from above, for the map that reviewers see.
        spatial: a scene in space, with the geometry of its raw data where that is at hand; None: its map, laid flat.
        pictures: JPEG of some of its pictures, in order, from its raw data: views of a scene's sphere, or of all of it
            (`geometry.views`); photographs that its facts name.
        looker: asks a model what things look like in the video.
        examined_frames: of an observed scene, by number of evenly spaced frames, which frames of its delivered video
            answers are about.
        categories: of an observed scene, some of its categories in pictures of its video, of which the pace and the
            picture of a frame are given; those that it shows.
        scene_check: what people decide about each scene before anything is asked of it; None: nothing.
        bev_video: a film of what an observed scene without a video knows, at each time nothing of what comes later;
            says on every picture that it was drawn. None: there is nothing to draw.
    """

    name: str
    units: str
    facts: type[F]
    readers: tuple[Reader, ...]
    config: type[Model]
    visibility: Callable[[int, Mapping[str, int]], list[str]]
    known: Callable[[Scene[F]], Mapping[str, bool]] = lambda scene: {}
    observe: Callable[[Scene[F], Any, Any], Scene[F]] = lambda scene, geometry, config: scene
    read_written: Callable[[Path], tuple[dict[str, dict[str, Any]], list[RawDataError]]] | None = None
    examine: Callable[[Scene[F]], tuple[Finding, ...]] = lambda scene: ()
    fixes: tuple[type[Fix], ...] = ()
    fix: Callable[[Scene[F], Sequence[Any]], Scene[F]] = lambda scene, fixes: scene
    drafts: Callable[[Scene[F], Sequence[str]], list[dict[str, Any]]] = lambda scene, operands: []
    quick: tuple[str, ...] = ()
    bulky: tuple[str, ...] = ()
    top_down_map: Callable[[Scene[F]], TopDownMap] = lambda scene: TopDownMap()
    spatial: Callable[[Scene[F], Any], Spatial] | None = None
    pictures: Callable[[SceneFiles, Scene[F], Sequence[Any]], Iterable[bytes]] | None = None
    looker: SceneDescriber[F] | None = None
    examined_frames: Callable[[Scene[F]], Mapping[int, tuple[int, ...]]] | None = None
    categories: Callable[[Scene[F], Sequence[str], float, Callable[[int], Any]], Iterable[CategoryShown]] | None = None
    scene_check: SceneCheck | None = None
    bev_video: Callable[[Scene[F]], Footage | None] | None = None
