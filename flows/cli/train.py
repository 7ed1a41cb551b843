"""The command `scan2qa train`: questions of a release as training examples, of scenes that no benchmark has."""

import json
import shutil
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from flows.cli.output.console import console, count_of, print_json
from flows.cli.output.progress import progress_shown
from flows.cli.output.tables import print_listing
from flows.cli.release_reader import split_for
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import ConfigError
from pipeline.core.files import TEMPORARY, new_folder, sha256_of_file, write_atomically
from pipeline.core.parquet import files_of, read_files, released_files
from pipeline.core.tables import CHECKSUMS, ReleaseListing, file_below
from pipeline.core.templates import load_table
from pipeline.questions.asking import AskedOf
from pipeline.release.contamination import SharedScene, scenes_of, shared_scenes
from pipeline.release.media import link_or_copy, videos_folder
from pipeline.release.terms import ALL_SAMPLES, TERMS_FILE
from pipeline.release.training import (
    FORMS,
    LLAMA_FACTORY,
    NOTHING_SHOWN,
    TrainingExample,
    evened,
    example_of,
    line_of,
    questions_of,
    shards,
)

WEBDATASET: Final = "webdataset"
SUMMARY: Final = "train.json"
MEDIA: Final = "media"
SHARED: Final = "scene_in_benchmark"
NAMED: Final = 10  # scenes in the table
_STEP: Final = 1_000  # examples between two movements of the bar


class TrainingExport(NamedTuple):
    """What is exported: of which release and split, against which benchmarks, in which forms, with what."""

    release: Path
    split: str | None
    against: Sequence[Path]
    forms: Sequence[str]
    videos: Path | None
    per_task: int | None
    radius_m: float
    pass_on: Sequence[str]
    shard_mb: int
    rationales: bool
    has_media: bool


def train(name: str, what: TrainingExport, to: Path) -> None:
    """Writes the examples of a release, without the scenes that a benchmark has too, which it names.

    Raises ConfigError for a benchmark that is unknown, a release that is not whole, a folder that is not empty, media
    that are missing, and where nothing is left.
    """
    benchmark = BENCHMARKS.get(name)
    if benchmark is None or benchmark.asking is None:
        raise ConfigError(f"unknown benchmark {name!r}; known are {', '.join(BENCHMARKS)}")
    unknown = sorted(set(what.forms) - {*FORMS, WEBDATASET})
    if unknown:
        raise ConfigError(f"unknown format {unknown[0]!r}; there are {', '.join([*FORMS, WEBDATASET])}")
    if to.exists() and any(not path.name.startswith(TEMPORARY) for path in to.iterdir()):
        raise ConfigError(f"{to}: holds files already; give a new folder with --to")
    source = split_for(name, what.release, what.split)
    own = scenes_of(what.release)
    shared = [one for other in what.against for one in shared_scenes(own, scenes_of(other), what.radius_m)]
    asked_in, provenance = files_of(source.questions), released_files(what.release / "provenance")
    key = pq.read_schema(asked_in[0]).names[0]
    ids = pc.cast(read_files(asked_in, [key])[key], "int64").combine_chunks()
    proofs = read_files(provenance, ["id", "scene", "task", "answer"])
    proofs = proofs.filter(pc.is_in(proofs["id"], ids))
    taken = pc.is_in(proofs["scene"], pa.array(sorted({one.scene for one in shared}), pa.string()))
    dropped = dict.fromkeys(proofs.filter(taken)["id"].to_pylist(), SHARED)
    kept, others = evened(proofs.filter(pc.invert(taken)), what.per_task)
    why = Counter([*dropped.values(), *others.values()])
    if not kept:
        counts = ", ".join(f"{n} {name}" for name, n in sorted(why.items()))
        first = next((f": {one.scene} is {one.check} as {one.of} of {one.release}" for one in shared), "")
        raise ConfigError(f"{what.release}: no question is left to train on ({counts}){first}; build from other scenes")
    # Tells this export in whatever was trained on it; another release has another one.
    canary = load_table("train/words")["canary"].format(guid=uuid.UUID(sha256_of_file(what.release / CHECKSUMS)[:32]))
    folder, made = what.videos or videos_folder(what.release), to / f"{TEMPORARY}train"
    media = _Media(what.release, folder, made, is_linked=what.has_media)
    of = AskedOf(source.name, False, "", what.release, lambda question, make: None)
    asking = benchmark.asking
    told: Counter[str] = Counter()

    def examples() -> Iterator[TrainingExample]:
        for asked, proof in questions_of(asked_in, provenance, benchmark, kept):
            shown = asking.prompt(asked, of)
            if not shown.video and not shown.images:
                why[NOTHING_SHOWN] += 1
                continue
            one = media.placed(example_of(asked, proof, shown, canary, prove=what.rationales))
            told.update(["examples", f"rationale {one.columns['rationale']}"])
            yield one

    with new_folder(made):
        files = _write(made, what, examples(), len(kept), _Terms(what, media))
        if not told["examples"]:
            raise ConfigError(f"{what.release}: no question shows a video or picture; agents answer them by acting")
        shutil.copyfile(what.release / TERMS_FILE, made / TERMS_FILE)
        for path in sorted(made.iterdir()):
            path.rename(to / path.name)
    summary = {
        "benchmark": name,
        "split": source.name,
        "against": [other.name for other in what.against],
        "radius_m": what.radius_m,
        "canary": canary,
        "files": files,
        "examples": told.pop("examples"),
        "rationales": {kind.partition(" ")[2]: n for kind, n in sorted(told.items())},
        "left_out": dict(sorted(why.items())),
        "shared_scenes": [one._asdict() | {"release": one.release.name} for one in shared],
    }
    write_atomically(to / SUMMARY, (json.dumps(summary, indent=1, ensure_ascii=False) + "\n").encode())
    _print_summary(summary, shared, to)


class _Media:
    """Puts what examples show below the export, each file once; linked where the disk can."""

    def __init__(self, release: Path, videos: Path, to: Path, *, is_linked: bool) -> None:
        self._roots, self._to, self._is_linked = {"videos": videos, "images": release}, to, is_linked
        self._placed: dict[str, Path] = {}

    def placed(self, one: TrainingExample) -> TrainingExample:
        """The example with the paths of the export. Raises ConfigError for a file that is missing or elsewhere."""
        shown = {kind: tuple(self._place(kind, path) for path in getattr(one, kind)) for kind in self._roots}
        return TrainingExample(one.turns, shown["videos"], shown["images"], one.columns)

    def file(self, path: str) -> Path:
        """The file behind a path of the export."""
        return self._placed[path]

    def _place(self, kind: str, path: str) -> str:
        target = f"{MEDIA}/{path}"
        if target not in self._placed:
            file = file_below(self._roots[kind], path)
            if self._is_linked:
                if not file.is_file():
                    raise ConfigError(f"{file} is missing; say where they are with --videos, or give --without-media")
                link_or_copy(file, self._to / target)
            self._placed[target] = file
        return target


class _Terms:
    """What of the media may be passed on inside of shards: samples, and datasets that the user names."""

    def __init__(self, what: TrainingExport, media: _Media) -> None:
        text = (what.release / TERMS_FILE).read_text(encoding="utf-8")
        self._all, self._named, self._media = ALL_SAMPLES in text, set(what.pass_on), media

    def media_of(self, one: dict[str, Any]) -> list[tuple[str, bytes]]:
        """The files that go into a shard with a sample, with their suffixes; none where the terms do not allow it."""
        if not self._all and one["scene"].partition("/")[0] not in self._named:
            return []
        files = [self._media.file(path) for path in (*one["videos"], *one["images"])]
        return [(f"{n}{file.suffix}", file.read_bytes()) for n, file in enumerate(files) if file.is_file()]


def _write(to: Path, what: TrainingExport, examples: Iterator[TrainingExample], n: int, terms: _Terms) -> list[str]:
    """Writes every form while the examples come by; the names of the files."""
    lines = [form for form in dict.fromkeys(what.forms) if form != WEBDATASET]
    names = {form: f"train.{form}.jsonl" for form in lines}
    spooled: dict[tuple[str, ...], list[tuple[int, int]]] = {}
    with ExitStack() as stack, progress_shown() as progress:
        files = {form: stack.enter_context((to / names[form]).open("wb")) for form in lines}
        spool = stack.enter_context(tempfile.TemporaryFile(dir=to)) if WEBDATASET in what.forms else None
        for number, one in enumerate(examples, 1):
            for form, file in files.items():
                file.write(line_of(one, form))
            if spool is not None:
                raw = line_of(one, "sharegpt")
                spooled.setdefault((*one.videos, *one.images), []).append((spool.tell(), len(raw)))
                spool.write(raw)
            if number % _STEP == 0:
                progress("examples", number, n)
        found = list(names.values())
        if spool is not None:
            (to / WEBDATASET).mkdir()
            samples = (_sample(spool, places, terms) for _, places in sorted(spooled.items()))
            found += [f"{WEBDATASET}/{name}" for name in shards(to / WEBDATASET, samples, what.shard_mb << 20)]
    if "sharegpt" in names:
        told = {"scan2qa": {"file_name": names["sharegpt"]} | LLAMA_FACTORY}
        write_atomically(to / "dataset_info.json", (json.dumps(told, indent=1) + "\n").encode())
        found.append("dataset_info.json")
    return sorted(found)


def _sample(spool: Any, places: Sequence[tuple[int, int]], terms: _Terms) -> tuple[str, bytes, list[tuple[str, bytes]]]:
    """One sample of a shard: what is shown, once, and all conversations about it."""
    rows = []
    for start, length in places:
        spool.seek(start)
        rows.append(json.loads(spool.read(length)))
    first, media = rows[0], terms.media_of(rows[0])
    told = {"scene": first["scene"], "videos": first["videos"], "images": first["images"], "canary": first["canary"]}
    raw = json.dumps(told | {"has_media": bool(media), "examples": rows}, ensure_ascii=False).encode()
    return first["id"], raw, media


def _print_summary(summary: dict[str, Any], shared: Sequence[SharedScene], to: Path) -> None:
    if shared:
        heads = ("scene", "found by", "is", "of", "measured")
        rows = [
            (s.scene, s.check, s.of, s.release.name, "" if s.measured is None else f"{s.measured:g} {s.unit}")
            for s in shared[:NAMED]
        ]
        title = f"{count_of(len(shared), 'scene')} left out: a benchmark has them too"
        print_listing(ReleaseListing(title, heads, rows, words=heads[1:]))
        if len(shared) > NAMED:
            console.print(f"… {len(shared) - NAMED} more: {to / SUMMARY}")
    listed = [(why, f"{n:,}") for why, n in summary["left_out"].items()]
    listed += [(f"rationale: {kind}", f"{n:,}") for kind, n in summary["rationales"].items()]
    print_listing(ReleaseListing(f"{count_of(summary['examples'], 'example')}: {to}", ("", "n"), listed))
    console.print(f"Canary: {summary['canary']}")
    print_json(summary)
