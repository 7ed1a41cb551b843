"""Prospects of scenes before a build: the questions they will give, and those they miss for lack of data."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipeline.benchmarks.benchmark import Benchmark
from pipeline.core.errors import unexpected
from pipeline.core.schema import AnyScene, Video
from pipeline.questions.selection import caps_of, ends_at, times_held
from pipeline.reading.doctor import has_part
from pipeline.reading.files import SceneFiles, SceneRef
from pipeline.reading.reader import Reader, folder_of
from pipeline.worlds.registry import WORLDS, examined
from pipeline.worlds.world import refuse_faults

MISSING_VIDEO: Final = "missing_video"
_STAND_IN: Final = Video(path="stand-in")  # as long as the data: what a video would make askable


@dataclass(frozen=True)
class Cost:
    """The cost of a reason, over all scenes.

    Attributes:
        reason: the rejection's name, the part that is missing, or the fault for which scenes are left out.
        scenes: ids of those that it touches.
        tasks: those of which it leaves no question in some scene; none where it leaves scenes out.
        questions: how many; None where it is not known.
        measured: whether they were counted; else there are at most so many, the caps of its tasks.
    """

    reason: str
    scenes: tuple[str, ...]
    tasks: tuple[str, ...]
    questions: int | None
    measured: bool


@dataclass(frozen=True)
class Prospects:
    """The most that a benchmark will ask: candidates up to the caps, by task; and the cost of each missing thing."""

    by_task: Mapping[str, int]
    costs: tuple[Cost, ...]

    @property
    def questions(self) -> int:
        """Of all tasks."""
        return sum(self.by_task.values())


@dataclass(frozen=True)
class Terms:
    """Under what configuration it is counted: of the world's observing, the benchmark's rules, and most per task."""

    observe: Any
    rules: Any
    tasks: tuple[str, ...]
    cap: int
    most: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class _Count:
    """Task -> questions of one scene, up to the caps; and task -> why it has none; the caps."""

    by_task: Counter[str]
    closed: Mapping[str, str]
    caps: Mapping[str, int]


def as_read(unit: str, scene: AnyScene) -> AnyScene:
    """A scene of which people said nothing."""
    return examined(scene)


def prospects(
    benchmark: Benchmark[Any, Any],
    reader: Reader,
    root: Path,
    refs: Iterable[SceneRef],
    terms: Terms,
    revised: Callable[[str, AnyScene], AnyScene] = as_read,
) -> Prospects:
    """Reads and observes scenes, and counts what is asked of them; ``revised`` puts in what people said of a scene.

    A scene without a video is counted again with one that lasts as long as its data: that is what the video costs, and
    what else the scene lacks is told from there.
    """
    total = Counter(dict.fromkeys(terms.tasks, 0))
    lost: Counter[str] = Counter()
    scenes: dict[str, dict[str, None]] = {}
    tasks: dict[str, dict[str, None]] = {}
    left_out: dict[str, list[str]] = {}
    for ref in refs:
        try:
            scene = _observed(reader, root, ref, terms, revised)
            count = _count(benchmark, scene, terms)
        except Exception as error:  # costs one scene, as in a build
            finding = unexpected(error, folder_of(root) / ref.files[0], ref.id).finding
            left_out.setdefault(finding, []).append(ref.id)
            continue
        total.update(count.by_task)
        if scene.video is None and MISSING_VIDEO in count.closed.values():
            filmed = _count(benchmark, scene.model_copy(update={"video": _STAND_IN}), terms)
            lost[MISSING_VIDEO] += filmed.by_task.total() - count.by_task.total()
            scenes.setdefault(MISSING_VIDEO, {})[ref.id] = None
            tasks.setdefault(MISSING_VIDEO, {}).update(dict.fromkeys(count.closed))
            count = filmed
        for task, reason in count.closed.items():
            lost[reason] += count.caps[task]
            scenes.setdefault(reason, {})[ref.id] = None
            tasks.setdefault(reason, {})[task] = None
    costs = [Cost(name, tuple(ids), (), None, False) for name, ids in left_out.items()]
    costs += [
        Cost(name, tuple(scenes[name]), tuple(tasks[name]), lost[name], name == MISSING_VIDEO)
        for name in sorted(scenes, key=lambda name: (-lost[name], name))
    ]
    return Prospects(total, tuple(costs))


def bounds(
    benchmark: Benchmark[Any, Any],
    reader: Reader,
    root: Path,
    refs: Sequence[SceneRef],
    terms: Terms,
    looked_at: int,
) -> Prospects:
    """The most that scenes can have that were not read, of videos of a minute: the caps of tasks that lack no part.

    The parts of the first ``looked_at`` scenes are looked for; a scene has all parts of the others.
    """
    caps = caps_of(terms.tasks, terms.cap, benchmark.shares, terms.most)
    reads = {task.name: getattr(task, "reads", "") for task in benchmark.tasks}
    closed: dict[str, set[str]] = {task: set() for task in terms.tasks}
    lacking: dict[str, dict[str, None]] = {}
    parts = [want for want in reader.expected_files if want.read_in]
    parts = [want for want in parts if not want.settled or getattr(terms.rules, "refuse_doubts", False)]
    for ref in refs[:looked_at] if parts else ():
        for want in parts:
            if not has_part(folder_of(root), ref, want):
                lacking.setdefault(want.part, {})[ref.id] = None
                for task in terms.tasks:
                    if reads[task] in want.read_in:
                        closed[task].add(ref.id)
    told = []
    for want in parts:
        scenes, tasks = tuple(lacking.get(want.part, ())), tuple(t for t in terms.tasks if reads[t] in want.read_in)
        if scenes and tasks:
            told.append(Cost(want.part, scenes, tasks, len(scenes) * sum(caps[task] for task in tasks), False))
    return Prospects({task: cap * (len(refs) - len(closed[task])) for task, cap in caps.items()}, tuple(told))


def _observed(
    reader: Reader, root: Path, ref: SceneRef, terms: Terms, revised: Callable[[str, AnyScene], AnyScene]
) -> AnyScene:
    files = SceneFiles(root, ref)
    scene = revised(ref.id, reader.read(files))
    geometry = reader.geometry(files, scene)
    if geometry is None:
        return scene
    return refuse_faults(WORLDS[scene.facts.world].observe(scene, geometry, terms.observe), files.path)


def _count(benchmark: Benchmark[Any, Any], scene: AnyScene, terms: Terms) -> _Count:
    view = benchmark.view(scene, terms.rules)
    found = {task.name: task.candidates(view) for task in benchmark.tasks if task.name in terms.tasks}
    times = times_held(max(map(ends_at, found.values()), default=0.0))
    caps = caps_of(terms.tasks, terms.cap, benchmark.shares, terms.most, times)
    by_task, closed = Counter[str](), dict[str, str]()
    for task, candidates in found.items():
        rows = candidates.select(["role", "reason"]).to_pylist()
        by_task[task] = min(caps[task], sum(row["reason"] is None for row in rows))
        closed.update((task, row["reason"]) for row in rows if row["role"] == "scene")
    return _Count(by_task, closed, caps)
