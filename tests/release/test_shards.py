"""A release in shards: the same rows, counts and words as in one file, and every reader takes all of its files."""

import json
import os
import shutil
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
import yaml

from flows.cli.builds import questions_in
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.files import TEMPORARY
from pipeline.core.identity import shard_of, shards_for
from pipeline.core.parquet import files_of, read_files, released_files
from pipeline.core.tables import SELECTED, rejected_in, selected_bytes, selected_questions, sizes_in
from pipeline.release import comparison, contents, writer
from pipeline.release.card import OVERVIEW_FILE
from pipeline.release.comparison import compared, differing_scenes, read_release, with_reasons
from pipeline.release.contents import EVERY, SceneTotals, load_of
from pipeline.release.history import history
from pipeline.release.metadata import CROISSANT_FILE
from pipeline.release.released import Released
from pipeline.release.training import questions_of
from pipeline.release.withheld import restored, withhold
from pipeline.release.writer import write_release
from pipeline.rendering.near_misses import nearest_refused, some_of_each
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.scoring.score import split_of
from pipeline.stages.builder import Builder
from tests.builds import config_of, perturbed, release_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

MOST = 40  # questions of a shard
VSI = BENCHMARKS["vsi"]
TASKS: dict[str, Any] = {"generate": {"tasks": ["object_abs_distance", "object_rel_distance", "object_counting"]}}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of a release in one file, and of the same in shards."""
    folder = tmp_path_factory.mktemp("shards")
    write_scenes(folder / "meta" / "one.json", perturbed({plan.name: sample_scene(plan) for plan in PLANS}, 7))
    config = config_of(folder / "meta", **TASKS, select={"per_scene_and_task": 12, "per_task": {}})
    with pytest.MonkeyPatch.context() as patch:
        Builder(config, folder / "one").build()
        patch.setattr(writer, "write_release", partial(write_release, most=MOST))
        Builder(config, folder / "many").build()
    return folder / "one", folder / "many"


def summary(out: Path) -> dict[str, Any]:
    (path,) = (out / "store" / "export").rglob("*.json")
    return Released.model_validate_json(path.read_bytes()).model_dump(exclude={"files"})


def rows(out: Path, table: str, split: str = "test") -> list[dict[str, Any]]:
    """Of a table in whatever files, by what they say."""
    found = read_files(released_files(out / "release" / table, split)).to_pylist()
    return sorted(found, key=lambda row: json.dumps(row, sort_keys=True))


def test_shards_hold_the_rows_counts_and_words_of_one_file(built: tuple[Path, Path]) -> None:
    one, many = built
    assert summary(one) == summary(many)
    for path in (one / "release").glob("*/*.parquet"):
        table, split = path.parent.name, path.name.partition("-")[0]
        assert rows(one, table, split) == rows(many, table, split), f"{table}/{split}"
    first, second = ((out / "release" / "README.md").read_text().split("\n---\n", 1)[1] for out in built)
    assert first == second
    files = [release_of(out) for out in built]
    assert files[0][OVERVIEW_FILE] == files[1][OVERVIEW_FILE]
    assert {n for n in files[0] if not n.endswith(".parquet")} == {n for n in files[1] if not n.endswith(".parquet")}
    for name, raw in files[0].items():
        if name.endswith(".jsonl"):
            assert sorted(raw.splitlines()) == sorted(files[1][name].splitlines()), name
        elif name.startswith("meta_info/"):
            assert json.loads(raw) == json.loads(files[1][name]), name
        elif name.startswith("eval/") and name.endswith(".yaml"):
            assert sorted(raw.splitlines()) == sorted(files[1][name].splitlines()), name


@pytest.mark.parametrize("most", [10_000, MOST])
def test_every_file_of_a_release_is_synced_before_its_checksums_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    synced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.add(os.fstat(descriptor).st_ino))
    monkeypatch.setattr(writer, "write_release", partial(write_release, most=most))
    write_scenes(tmp_path / "meta" / "one.json", {plan.name: sample_scene(plan) for plan in PLANS})
    Builder(config_of(tmp_path / "meta", **TASKS), tmp_path / "out").build()
    files = [path for path in (tmp_path / "out" / "release").resolve().rglob("*") if path.is_file()]
    assert [path.name for path in files if path.stat().st_ino not in synced] == []


def test_the_number_of_shards_follows_from_rows_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten questions and forty rejections: 25 rows' worth of bytes are four shards of ten rows."""
    asked = pa.Table.from_pylist([{"id": n, "text": "?" * 100} for n in range(10)], schema=SELECTED)
    refused = pa.Table.from_pylist([{"id": n, "reason": "over_cap"} for n in range(40)], schema=SELECTED)
    sizes = sizes_in(selected_bytes(pa.concat_tables([asked, refused])))
    assert sizes.tolist() == [10, selected_questions(asked).nbytes, 40, rejected_in(refused).nbytes]
    assert [shards_for(load_of([sizes]) / most) for most in (10, 9, 5, 4)] == [1, 2, 2, 4]
    assert shards_for(load_of([sizes * (1, 1, 10, 1)]) / 10) == 4
    monkeypatch.setattr(contents, "ROW_BYTES", selected_questions(asked).nbytes / 25)
    assert shards_for(load_of([sizes]) / 10) == 4


def test_a_scene_is_in_the_shard_of_its_hash_and_small_tables_stay_in_one_file(built: tuple[Path, Path]) -> None:
    release = built[1] / "release"
    files = released_files(release / "data", "test")
    of = len(files)
    assert of in {2, 4, 8, 16}
    assert [path.name for path in files] == [f"test-{n:05d}-of-{of:05d}.parquet" for n in range(of)]
    assert sum(len(read_files([path])) for path in files) > MOST
    for table in ("provenance", "rejected"):
        for number, path in enumerate(released_files(release / table)):
            scenes = read_files([path], ["scene"])["scene"].unique().to_pylist()
            assert {shard_of(scene, of) for scene in scenes} <= {number}
    for path in files:
        ids = read_files([path], ["id"])["id"].to_pylist()
        assert ids == sorted(ids)
    assert [path.name for path in released_files(release / "data", "one_per_scene")] == [
        "one_per_scene-00000-of-00001.parquet"
    ]
    assert [path.name for path in released_files(built[0] / "release" / "data")] == [
        f"{split}-00000-of-00001.parquet" for split in ("one_per_scene", "test", "tiny")
    ]


def test_every_reader_takes_all_shards(built: tuple[Path, Path], tmp_path: Path) -> None:
    one, many = (out / "release" for out in built)
    before, after = (read_release(folder, VSI.all_columns) for folder in (one, many))
    assert len(after.questions) > MOST
    assert before.questions == after.questions
    assert with_reasons(compared(before, after), before, after) == []
    assert nearest_refused(one) == nearest_refused(many)
    assert [row["id"] for row in some_of_each(one, 2)[0]] == [row["id"] for row in some_of_each(many, 2)[0]]
    assert questions_in(built[0]) == questions_in(built[1])
    splits = [split_of(folder.resolve()) for folder in (one, many)]
    assert VSI.score is not None
    assert {q.id for q in VSI.score.read(splits[0].questions)} == {q.id for q in VSI.score.read(splits[1].questions)}
    tiny = split_of(many.resolve(), "tiny")
    assert tiny.others() == {str(number) for number in after.questions}
    for split in (splits[1], tiny):
        files, wanted = files_of(split.questions), set(read_files(files_of(split.questions), ["id"])["id"].to_pylist())
        proved = questions_of(files, released_files(many / "provenance"), VSI, wanted)
        assert {asked.id: proof["id"] for asked, proof in proved} == {number: number for number in wanted}
    n = withhold(VSI, splits[1].questions, many.resolve(), tmp_path / "open", tmp_path / "answers.parquet")
    published = [path.name for path in released_files(tmp_path / "open" / "data")]
    assert (published, n) == ([path.name for path in files_of(splits[1].questions)], len(after.questions))
    open_split = split_of(tmp_path / "open").questions
    told = restored(open_split, tmp_path / "open", tmp_path / "answers.parquet")
    assert told.equals(read_files(files_of(splits[1].questions)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of mlcroissant's own packages
def test_loaders_of_hugging_face_and_croissant_read_all_shards(built: tuple[Path, Path], tmp_path: Path) -> None:
    import datasets
    import mlcroissant

    release = (built[1] / "release").resolve()
    n = len(rows(built[1], "data"))
    loaded = datasets.load_dataset(str(release), "default", split="test", cache_dir=str(tmp_path))
    assert len(loaded) == n
    header = yaml.safe_load((release / "README.md").read_text().split("\n---\n")[0])
    own = next(one for one in header["dataset_info"] if one["config_name"] == "provenance")
    assert own["splits"][0]["num_examples"] == n
    dataset = mlcroissant.Dataset(jsonld=str(release / CROISSANT_FILE))
    assert not dataset.metadata.ctx.issues.errors
    ids = [record["data/test/id"] for record in dataset.records("data/test")]
    assert sorted(ids) == sorted(row["id"] for row in rows(built[1], "data"))


def _read_and_noted(noted: set[str], files: list[Path], *more: Any) -> pa.Table:
    noted |= {f"{path.parent.name}/{path.name}" for path in files}
    return read_files(files, *more)


def test_a_build_killed_between_two_shards_goes_on_and_only_changed_shards_are_written(
    built: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = built[1]
    before, link = release_of(out), (out / "release").resolve()

    added: list[int] = []
    plain = writer._write_shard

    def add(folder: Path, inputs: Any, number: int, of: int, pieces: Any) -> Any:
        added.append(number)
        if kill and number == 1:
            raise KeyboardInterrupt
        return plain(folder, inputs, number, of, pieces)

    monkeypatch.setattr(writer, "write_release", partial(write_release, most=MOST))
    monkeypatch.setattr(writer, "_write_shard", add)
    kill, config = True, config_of(out.parent / "meta", **TASKS, select={"per_scene_and_task": 11, "per_task": {}})
    with pytest.raises(KeyboardInterrupt):
        Builder(config, out).build()
    assert added == [0, 1], "the first shard, half of the second"
    assert (release_of(out), (out / "release").resolve()) == (before, link)
    kill, added[:] = False, []
    of = len(released_files(out / "release" / "rejected"))
    Builder(config, out).build()
    assert added == [*range(1, of)], "the first shard is there"
    assert (out / "release").resolve() != link
    added.clear()
    shutil.copytree(out.parent / "meta", out.parent / "moved")
    file = out.parent / "moved" / "one.json"
    scenes = json.loads(file.read_bytes())
    name = min(scenes)
    next(iter(scenes[name]["object_bbox"].values()))[0]["centroid"][0] += 0.25
    write_scenes(file, scenes)
    Builder(config_of(out.parent / "moved", **TASKS, select=config.select.model_dump()), out).build()
    moved = f"{scenes[name]['dataset']}/{name}"
    mine = shard_of(moved, of)
    assert added == [mine], "the scene that changed is in it"
    older, newer = ((out / "releases" / one.name) for one in history(out)[-2:])
    with monkeypatch.context() as patch:
        patch.setattr(comparison, "read_files", partial(_read_and_noted, noted := set[str]()))
        found = differing_scenes(older, newer)
    assert found <= {moved}
    assert {path for path in noted if path.startswith("data/")} <= {f"data/test-{mine:05d}-of-{of:05d}.parquet"}
    one, other = (read_release(folder, VSI.all_columns) for folder in (older, newer))
    part, other_part = (read_release(folder, VSI.all_columns, found) for folder in (older, newer))
    assert compared(part, other_part) == compared(one, other) != []
    assert (part.size, part.num_scenes) == (len(one.questions), len({q.scene for q in one.questions.values()}))
    assert len([*(out / "shards").glob("*-of-*")]) == of, "no others are kept"
    damaged = released_files(out / "release" / "rejected")[mine]
    damaged.write_bytes(damaged.read_bytes()[:-1])  # the same file on the disk as in the shard
    added.clear()
    Builder(config_of(out.parent / "moved", **TASKS, select=config.select.model_dump()), out).build()
    assert added == [mine], "what is damaged is made again"
    Builder(config_of(out.parent / "moved", **TASKS, select=config.select.model_dump()), out.parent / "other").build()
    assert release_of(out) == release_of(out.parent / "other")


@pytest.mark.slow
def test_of_a_shard_that_changed_only_pieces_whose_scenes_changed_or_that_are_damaged_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four shards of some five scenes, built anew, after a kill between pieces, after a change, and after damage."""
    scenes = perturbed({plan.name: sample_scene(plan) for plan in PLANS}, 20)
    monkeypatch.setattr(writer, "write_release", partial(write_release, most=280))
    plain, made = contents.piece_of, list[list[str]]()

    def piece_of(inputs: Any) -> Any:
        found = plain(inputs)
        made.append(found.counted["scene"].unique().to_pylist())
        if len(made) == limit:
            raise KeyboardInterrupt
        return found

    def built_from(out: str) -> dict[str, bytes]:
        made.clear()
        write_scenes(tmp_path / "meta" / "one.json", scenes)
        Builder(config_of(tmp_path / "meta", **TASKS), tmp_path / out).build()
        return release_of(tmp_path / out)

    limit = 4
    (tmp_path / "meta").mkdir()
    monkeypatch.setattr(writer, "piece_of", piece_of)
    with pytest.raises(KeyboardInterrupt):
        built_from("out")
    folder, limit = tmp_path / "out" / "shards" / "pieces", -1
    assert len([*folder.iterdir()]) == 3, "what was made before the kill is there"
    (folder / f"{TEMPORARY}killed").write_bytes(b"half of a piece")
    first = built_from("out")
    assert len([name for name in first if name.startswith("rejected/")]) == 4
    pieces = {path.name for path in folder.iterdir()}
    assert 10 < len(pieces) == len(made) + 3, "and is taken; nothing is left of what was killed"
    name = min(scenes)
    next(iter(scenes[name]["object_bbox"].values()))[0]["centroid"][0] += 0.25
    changed = built_from("out")
    assert [f"{scenes[name]['dataset']}/{name}" in own for own in made] == [True]
    assert len(pieces & {path.name for path in folder.iterdir()}) == len(pieces) - 1
    one, other, third = sorted(folder.iterdir())[:3]
    one.write_bytes(one.read_bytes()[:-1])
    other.write_bytes(third.read_bytes())
    for path in (tmp_path / "out" / "releases", *folder.parent.glob("*-of-*")):
        shutil.rmtree(path)
    assert built_from("out") == changed != first
    assert len(made) == 2, "what is damaged"
    assert built_from("anew") == changed


def test_what_scenes_come_to_is_the_same_whatever_shard_they_are_in() -> None:
    def scene(name: str, dataset: str, version: int, *doubts: str) -> Any:
        fix = SimpleNamespace(id=f"{name}-1", change="room_m2 = 9", why="measured", who="A. B.", date="2026-01-02")
        findings = [SimpleNamespace(name=d, severity="doubt", message=d.upper(), remedy=None) for d in doubts]
        source = SimpleNamespace(reader="vsi_meta", reader_version=version)
        return SimpleNamespace(
            id=f"{dataset}/{name}",
            dataset=dataset,
            source=source,
            facts=SimpleNamespace(world="indoor"),
            findings=findings,
            fixes=[fix] if doubts else [],
        )

    scenes = [scene("a", "x", 1, "odd", "long"), scene("b", "x", 2), scene("c", "y", 1, "odd")]
    known = [{"examined": True}, {"examined": False}, {"examined": True}]
    found = []
    for shards in ([[0, 1, 2]], [[1], [2, 0]], [[2], [], [1], [0]]):
        whole = SceneTotals()
        for members in shards:
            own = SceneTotals()
            for number in sorted(members):
                own.count(scenes[number], known[number])
            whole.add(json.loads(json.dumps(own.as_json())))
        found.append(whole)
    assert found[0] == found[1] == found[2]
    assert found[0].datasets == {"x": 2, "y": 1}
    assert found[0].readers == {("vsi_meta", 1), ("vsi_meta", 2)}
    assert found[0].worlds == {"indoor": {EVERY: 3, "examined": 2}}
    assert [row[:2] for row in found[0].findings] == [["x/a", "odd"], ["x/a", "long"], ["y/c", "odd"]]
    assert found[0].fixes[0] == ["a-1", "x/a", "room_m2 = 9", "measured", "A. B., 2026-01-02"]
    assert [row[1] for row in found[0].fixes] == ["x/a", "y/c"]
