"""Candidates and whole builds: of the released metadata, or of the samples where these are absent."""

import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from PIL import Image

from flows.cli.diff import report_of
from flows.cli.report import report_page
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.vsi.rules import ScanView
from pipeline.benchmarks.vsi.tasks.registry import ASKED, TASKS
from pipeline.core.identity import rng_for, shard_of
from pipeline.core.parquet import read_files, read_table, released_files, table_bytes
from pipeline.core.schema import Scene
from pipeline.core.tables import selected_questions, sizes_in
from pipeline.engine.manifest import MANIFEST_FILE, read_manifest
from pipeline.engine.stage import STORE
from pipeline.questions.arrays import ArrayTask
from pipeline.reading.files import SceneFiles
from pipeline.release.contents import ZSTD_LEVEL, ReleaseInputs, load_of
from pipeline.release.history import HISTORY_FILE, history
from pipeline.release.writer import write_release
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.samples.panorama.towns import spots
from pipeline.samples.panorama.write import place, write_panoramas
from pipeline.stages.export import settings
from pipeline.worlds.registry import READERS, read_scene
from tests.bench.measuring import Cost, Figure, command, costing, peak_mib, started, temporary, timed
from tests.builds import build, config_of, perturbed, results_of, rows_of
from tests.environment import REAL_DATA
from tests.worlds.indoor.readers.broken_metadata import write_scenes

CAP: Final = 6


def raw_scenes() -> tuple[dict[str, Any], str]:
    """The scenes as JSON, and where they are from."""
    folder = REAL_DATA / "vsi" / "meta_info"
    files = sorted(folder.glob("*.json"))
    if not files:
        return {plan.name: sample_scene(plan) for plan in PLANS}, "the samples"
    return {name: scene for file in files for name, scene in json.loads(file.read_bytes()).items()}, str(folder)


def written(folder: Path, scenes: dict[str, Any]) -> Path:
    return write_scenes(folder / "meta.json", scenes)


def read_scenes() -> list[Scene]:
    with temporary() as folder:
        written(folder, raw_scenes()[0])
        reader = READERS["vsi_meta"]
        return [reader.read(SceneFiles(folder, ref)) for ref in reader.scenes(folder).scenes]


# Candidates


def profile_tasks(profile: str) -> dict[str, ArrayTask[ScanView]]:
    """Name -> each task that a profile of VSI-Bench asks."""
    return {name: TASKS[name] for name in ASKED[profile]}


# Builds of metadata

SIZES: Final = (50, 100, 200)
FIXED: Final = 3


def _of_metadata(folder: Path, *more: object) -> tuple[object, ...]:
    (folder / "fixes").mkdir(exist_ok=True)
    roots = ("--root", f"vsi_meta={folder / 'meta'}", "--set", f"fixes.folder={folder / 'fixes'}")
    return ("build", "vsi", *roots, "--out", folder / "out", *more)


def growing(*counts: str) -> Iterator[Figure]:
    """First builds of so many scenes, one process, no orchestrator; then rebuilds of the largest, and three fixes."""
    sizes = [int(count) for count in counts] or SIZES
    raw, _ = raw_scenes()
    with temporary() as folder:
        costs = []
        for n in sizes:
            meta = written(folder / str(n) / "meta", perturbed(raw, n))
            costs.append(command(*_of_metadata(meta.parent, "--workers", 1, "--no-prefect")))
            yield Figure(f"{n} scenes, start-up included", costs[-1].cpu_s, "s", baseline=costs[0].cpu_s)
            yield Figure(f"{n} scenes: largest process so far", costs[-1].child_mib, "MiB", 1024)
            files = [path.stat().st_size for path in (meta.parent / "out").rglob("*") if path.is_file()]
            raw_mib = (meta / "meta.json").stat().st_size / 2**20
            yield Figure(f"{n} scenes: files; baseline: scenes", len(files), "files", baseline=n)
            yield Figure(f"{n} scenes: on disk; baseline: metadata", sum(files) / 2**20, "MiB", baseline=raw_mib)
        slope, constant = np.polyfit(sizes, [cost.cpu_s for cost in costs], 1)
        residual = np.abs(np.polyval((slope, constant), sizes) - [cost.cpu_s for cost in costs]).max() / costs[-1].cpu_s
        what = f"linear fit: {constant:.1f} s + {slope * 1000:.1f} ms a scene, off by"
        yield Figure(what, residual, "of the last", 0.2)
        first, place, largest = costs[-1].cpu_s, folder / str(n), _of_metadata(folder / str(n), "--no-prefect")
        for what, change in {
            "nothing": dict,
            f"{FIXED} fixes": lambda: _write_fixes(json.loads((place / "meta" / "meta.json").read_bytes()), place),
        }.items():
            wanted = change()
            cost = command(*largest, "--workers", 2)
            ran = {(stage, unit) for (stage, unit), e in read_manifest(place / "out").items() if e.why != "reused"}
            scenes = {unit for _, unit in ran if unit != "build/all"}
            others = scenes - wanted.keys()  # whose answers the balance changes
            assert wanted.keys() <= scenes, (what, scenes)
            assert len(others) <= n // 25, (what, others)
            yield Figure(
                f"{what} changed: {len(ran)} results computed", cost.cpu_s, "s", constant + 10.0, baseline=first
            )
        yield from _compared(place / "out", wanted)


def _write_fixes(scenes: dict[str, Any], folder: Path) -> dict[str, str]:
    """A fix for each of some scenes, spread over all, whose counts agree with their boxes: scene id -> fix id."""

    def countable(scene: dict[str, Any]) -> list[tuple[str, int]]:
        boxes = scene["object_bbox"]
        return [(c, n) for c, n in sorted(scene["object_counts"].items()) if n >= 2 and n == len(boxes.get(c, ()))]

    sound = [name for name in sorted(scenes) if countable(scenes[name])]
    wanted: dict[str, str] = {}
    for number, name in enumerate(sound[:: len(sound) // FIXED][:FIXED], start=1):
        (category, count), *_ = countable(scenes[name])
        dataset = scenes[name]["dataset"]
        entry = {"id": f"bench-{number:04}", "scene": name, "target": "count", "of": category, "expect": count}
        entry |= {"set": count + 1, "why": "counted again", "who": "the benchmark", "date": "2026-01-31"}
        with (folder / "fixes" / f"{dataset}.yaml").open("a", encoding="utf-8") as file:
            file.write(f"- {json.dumps(entry)}\n")
        wanted[f"{dataset}/{name}"] = str(entry["id"])
    return wanted


def _compared(out: Path, wanted: Mapping[str, str]) -> Iterator[Figure]:
    """The comparison of the last two releases names every question that differs, and the fix or balance behind it."""
    one, other = (out / "releases" / kept.name for kept in history(out)[-2:])
    cost, report = timed(lambda: report_of(one, other, ""))
    before, after = _questions(one), _questions(other)
    expected = {i for i in before.keys() | after.keys() if before.get(i) != after.get(i)}
    assert {change.id for change in report.changes} == expected
    for change in report.changes:
        fix = wanted.get(change.asked.scene)
        assert change.causes == (f"fix {fix}" if fix else "other scenes, by stage balance",), change
    yield Figure(f"comparison: {len(expected)} of {len(after)} questions differ", cost.cpu_s, "s", 2.0)


def _questions(release: Path) -> dict[int, tuple[Any, ...]]:
    """Id -> all that a reader of the release sees of a question, from the tables themselves."""
    file = "test-00000-of-00001.parquet"
    shown = {r["id"]: (r["question"], r["options"], r["ground_truth"]) for r in rows_of(release / "data" / file)}
    return {r["id"]: (*shown[r["id"]], r["answer"]) for r in rows_of(release / "provenance" / file)}


def orchestrated() -> Iterator[Figure]:
    """The command with Prefect and a worker per core; baseline: without, in one process."""
    with temporary() as folder:
        written(folder / "meta", perturbed(raw_scenes()[0], SIZES[-1]))
        alone = [command(*_of_metadata(folder, "--workers", 1, "--no-prefect")) for _ in range(2)]
        shutil.rmtree(folder / "out")
        workers = os.cpu_count() or 1
        for what, plain in zip((f"first build, {workers} workers", "nothing changed"), alone, strict=True):
            cost = command(*_of_metadata(folder, "--workers", workers))
            yield Figure(f"{what}: by the clock", cost.clock_s, "s", baseline=plain.clock_s)
            yield Figure(f"{what}: of the processors", cost.cpu_s, "s", baseline=plain.cpu_s)
        yield Figure("largest process", cost.child_mib, "MiB", 1024)


def cluster(runner: str = "dask", copies: str = "10") -> Iterator[Figure]:
    """Two workers of a cluster (dask or ray) against two local processes; one worker is killed in a build of its own.

    Ends with 1 where the releases or any result differ.
    """
    raw, _ = raw_scenes()
    found = set()
    with temporary() as folder:
        written(folder / "meta", perturbed(raw, len(raw) * int(copies)))
        costs: dict[str, list[Cost]] = {}
        for way in ["local", runner, "local", runner, "killed"]:
            shutil.rmtree(folder / "out", ignore_errors=True)
            more = ["--workers", 2, "--no-prefect", "--quiet", *(() if way == "local" else ("--runner", runner))]
            arguments = _of_metadata(folder, *more)
            if way == "killed":
                with costing() as cost:
                    _build_and_kill(arguments, folder / "out" / STORE)
                costs[way] = cost
            else:
                costs.setdefault(way, []).append(command(*arguments))
            found.add(_digest(folder / "out"))
    local = Cost(*map(min, zip(*costs["local"], strict=True)))
    for way, took in costs.items():
        fastest = Cost(*map(min, zip(*took, strict=True)))
        yield Figure(f"{way}: by the clock", fastest.clock_s, "s", baseline=local.clock_s)
        yield Figure(f"{way}: of the processors", fastest.cpu_s, "s", baseline=local.cpu_s)
    if len(found) > 1:
        sys.exit("results or releases differ")


def _build_and_kill(arguments: tuple[object, ...], store: Path, files: int = 1000) -> None:
    """A build of which one worker is killed in the midst of its scenes."""
    died = False
    with started(*arguments) as process:
        while process.poll() is None:
            if not died and store.is_dir() and sum(len(names) for _, _, names in os.walk(store)) > files:
                for child in psutil.Process(process.pid).children(recursive=True):
                    line = " ".join(child.cmdline())
                    if "multiprocessing.spawn" in line or line.startswith("ray::work"):
                        child.kill()
                        died = True
                        break
            time.sleep(0.1)
    if process.returncode or not died:
        raise SystemExit(f"with {int(died)} workers killed, the build ended with {process.returncode}")


def _digest(out: Path) -> str:
    """Of all results and the release, by names and bytes, without what tells when, and how long it took."""
    files = [p for place in (out / STORE, out / "releases") for p in sorted(place.rglob("*")) if p.is_file()]
    files = [p for p in files if p.name != HISTORY_FILE and not p.name.endswith(MANIFEST_FILE)]
    names = {p.relative_to(out).as_posix(): sha256(p.read_bytes()).hexdigest() for p in files}
    return sha256(json.dumps(names, sort_keys=True).encode()).hexdigest()


# Releases


def exported(count: str = "25000") -> Iterator[Figure]:
    """A release of so many questions, copies under other ids; baseline: Parquet alone, of the public columns."""
    raw, _ = raw_scenes()
    with temporary() as folder:
        meta = written(folder / "meta", raw)
        results = results_of(folder / "out", build(meta, folder / "out"))
        tables = {unit: read_table(raw) for (stage, unit), raw in results.items() if stage == "select"}
        scenes = {unit: read_scene(raw) for (stage, unit), raw in results.items() if stage in ("unify", "observe")}
        turns = -(-int(count) // sum(selected_questions(table).num_rows for table in tables.values()))
        load = turns * load_of(sizes_in(raw) for (stage, _), raw in results.items() if stage == "select")
        names = {f"{unit}-{turn}": unit for unit in tables for turn in range(turns)}
        listed = [scenes[of].model_copy(update={"id": name}) for name, of in names.items()]
        before = peak_mib()
        copying, _ = timed(lambda: [None for _ in _copies(tables, names)])

        def part(number: int, of: int) -> ReleaseInputs:
            own = {name: unit for name, unit in names.items() if shard_of(name, of) == number}
            tables_of, of_shard = partial(_copies, tables, own), [scene for scene in listed if scene.id in own]
            return ReleaseInputs(tables_of, lambda: of_shard, settings(config_of(meta)), BENCHMARKS["vsi"], load=load)

        cost, _ = timed(lambda: write_release(folder / "release", part(0, 1), part, folder / "shards"))
        plain = read_files(released_files(folder / "release" / "data", "test"))
        baseline, _ = timed(lambda: table_bytes(plain, ZSTD_LEVEL))
        size = sum(path.stat().st_size for path in (folder / "release").rglob("*") if path.is_file()) / 2**20
        seconds = cost.cpu_s - copying.cpu_s
        what = f"release of {plain.num_rows:,} questions, {size:.1f} MiB"
        yield Figure(what, seconds, "s", 15.0, baseline=baseline.cpu_s)
        yield Figure("peak; baseline: before it began", peak_mib(), "MiB", 1024, baseline=before)


def _copies(tables: Mapping[str, pa.Table], names: Mapping[str, str]) -> Iterator[pa.Table]:
    """The tables of copied scenes, one at a time; ids as digests would be."""
    for name, unit in names.items():
        ids = pa.array(rng_for(name).integers(0, 2**53, tables[unit].num_rows))
        scene = pa.array([name] * tables[unit].num_rows)
        yield tables[unit].set_column(0, "id", ids).set_column(1, "scene", scene)


def reported(*builds: str) -> Iterator[Figure]:
    """The report of a release, of builds that are there or of one that is made; baseline: reading its tables alone."""
    with temporary() as folder:
        if not builds:
            written(folder / "meta", raw_scenes()[0])
            command(*_of_metadata(folder))
        for place in map(Path, builds or [folder / "out"]):
            tables = sorted((place / "release").glob("*/*.parquet"))
            baseline, rows = timed(lambda tables=tables: {path: pq.read_table(path).num_rows for path in tables})
            cost, page = timed(lambda place=place: report_page(place))
            asked = sum(n for path, n in rows.items() if path.parent.name == "provenance")
            yield Figure(f"report of {asked:,} questions", cost.cpu_s, "s", 20.0, baseline=baseline.cpu_s)
            yield Figure("its page", len(page) / 1e6, "MB", 8.0)


# Builds of other samples, many times over


def copied_panoramas(*counts: str) -> Iterator[Figure]:
    """Releases of so many turned panoramas of 2048 x 1024, and again after one sidecar was changed."""
    for count in map(int, counts or ("100",)):
        with temporary() as folder:
            root = folder / "raw"
            _turned_panoramas(root, count)
            arguments = ("build", "ergeobench", "--no-prefect", "--root", f"panoramas={root}", "--out", folder / "out")
            arguments += ("--set", "observe.panorama.duplicate_bits=-1")  # turned copies are what they are
            first = command(*arguments)
            path = root / "p00000" / "pano.yaml"
            path.write_text(path.read_text().replace("author: scan2qa samples", "author: somebody"))
            again = command(*arguments)
            pictures = sum(1 for _ in (folder / "out" / "release" / "views").rglob("*.jpg"))
            yield Figure(f"{count} panoramas, {pictures} pictures", first.clock_s, "s")
            yield Figure(f"{count} panoramas, one sidecar changed", again.clock_s, "s", baseline=first.clock_s)
            yield Figure("largest process", again.child_mib, "MiB")


def _turned_panoramas(root: Path, count: int) -> None:
    """So many panoramas: samples turned by some columns, far enough apart, each with its twelve tallest objects."""
    named = [spot for spot in spots() if spot.name]
    chosen = named[:: len(named) // 6][:6]
    with temporary() as made:
        write_panoramas(made, chosen)
        for number in range(count):
            spot, turn = chosen[number % len(chosen)], 8 * (number // len(chosen))  # columns
            own, new = made / spot.id, root / f"p{number:05d}"
            new.mkdir(parents=True)
            image = Image.fromarray(np.roll(np.asarray(Image.open(own / "pano.jpg")), turn, axis=1))
            image.save(new / "pano.jpg", quality=90)
            degrees = 360 * turn / image.width
            found = json.loads((own / "objects.json").read_bytes())
            found["objects"].sort(key=lambda o: -(o["pitch_deg"][1] - o["pitch_deg"][0]))
            found["objects"] = found["objects"][:12]
            for one in found["objects"]:
                one["yaw_deg"] = [(edge + degrees + 180) % 360 - 180 for edge in one["yaw_deg"]]
            (new / "objects.json").write_text(json.dumps(found))
            told = yaml.safe_load((own / "pano.yaml").read_text())
            east, north = divmod(number // len(chosen), 32)
            lat, lon = place(spot.town, 45.0 * east, 45.0 * north)
            told |= {"position": {"lat_deg": lat, "lon_deg": lon, "alt_m": None}, "heading_deg": (400 - degrees) % 360}
            del told["depth"]
            (new / "pano.yaml").write_text(yaml.safe_dump(told))
        shutil.move(made / "maps", root / "maps")
