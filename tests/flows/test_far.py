"""Builds that are kept in an object store, through a real server that speaks S3."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pipeline.engine.store
from flows.remote import object_store as buckets
from flows.remote.cluster_worker import work_from
from flows.remote.object_store import Bucket
from flows.remote.remote_store import RemoteBuildStore, remote_build_store
from pipeline.core.errors import StoreError
from pipeline.engine.job import Job, JobResult
from pipeline.engine.lease import EXPIRES_S, LEASE_FILE
from pipeline.engine.store import PACKS
from pipeline.stages.builder import Builder
from tests.builds import Cli, build, config_of, perturbed, release_of, whys
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

ELSEWHERE = json.dumps({"id": "1", "user": "ann", "host": "far", "machine": "m", "process": 7, "since": "noon"})


@pytest.fixture
def url(own_bucket: str) -> str:
    """Where a build is kept."""
    return f"{own_bucket}/builds/vsi"


@pytest.fixture(scope="module")
def meta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_scenes(tmp_path_factory.mktemp("meta") / "meta.json", perturbed(SCENES, 3))


@pytest.mark.slow
def test_another_machine_goes_on_where_the_first_was(meta: Path, url: str, scan2qa: Cli, tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    command = ("build", "vsi", "--root", f"vsi_meta={meta}", "--store", url)
    assert scan2qa(*command, "--out", one).code == 0
    again = scan2qa(*command, "--out", other, "--json")
    assert again.code == 0, again.err
    assert {why for row in json.loads(again.out)["stages"].values() for why in row} == {"reused"}
    assert release_of(other) == release_of(one)
    write_scenes(tmp_path / "more" / "meta.json", perturbed(SCENES, 4))
    assert scan2qa("build", "vsi", "--root", f"vsi_meta={tmp_path / 'more'}", "--out", other).code == 0
    stage = scan2qa("stage", "vsi", "export", "--root", f"vsi_meta={tmp_path / 'more'}", "--out", one)
    assert stage.code == 0, stage.err  # it was told of the store the last time, and fetched what the other did
    assert release_of(one) == release_of(other)
    build(tmp_path / "more", tmp_path / "alone")
    assert release_of(one) == release_of(tmp_path / "alone")


@pytest.mark.long
def test_workers_that_share_no_folder_work_through_the_store(
    meta: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(pipeline.engine.store, "PACK_RESULTS", 1)

    def elsewhere(stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        for batch in batches:
            yield from work_from(batch, url)

    # What the second build selects from lies in packs.
    for sections in ({}, {"select": {"per_scene_and_task": 3}}):
        config = config_of(meta, **sections)
        with remote_build_store(url, out) as far:
            Builder(config, out, far.fetching(elsewhere), here=far.sending_here(lambda label, work: work())).build()
        assert any(f"/{PACKS}/" in path for path in Bucket(url).objects("store/generate"))
        shutil.rmtree(out)
        with remote_build_store(url, out):
            assert {why for found in whys(Builder(config, out).dry_run()).values() for why in found} == {"reused"}
        build(meta, tmp_path / "alone", **sections)
        assert release_of(out) == release_of(tmp_path / "alone")


def test_one_builder_at_a_time(url: str, tmp_path: Path) -> None:
    with Bucket(url).leased() as first:
        told = r"another build works on this store \(.* on .*, process \d+, since .*\); wait for it"
        with pytest.raises(StoreError, match=told), Bucket(url).leased():
            pass
        first.beat()
        first.check()
    with remote_build_store(url, tmp_path / "out"):
        pass


def test_a_dead_builders_lease_expires(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket(url)
    bucket.put(LEASE_FILE, ELSEWHERE.encode())
    with pytest.raises(StoreError, match=r"another build works on this store \(ann on far"), bucket.leased():
        pass
    monkeypatch.setattr(buckets, "EXPIRES_S", -1.0)  # as if it was so long ago
    with bucket.leased() as mine:
        mine.check()
        bucket.put(LEASE_FILE, ELSEWHERE.encode())  # while this machine slept
        with pytest.raises(StoreError, match=r"taken over by another build \(ann on far"):
            mine.check()
    assert EXPIRES_S > 0
    there = bucket.get(LEASE_FILE)
    assert there[0].decode() == ELSEWHERE, "it is theirs"


def test_of_two_that_take_it_at_once_one_has_it(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, real, late = Bucket(url), Bucket.put, Bucket(url)

    def put(self: Bucket, path: str, raw: bytes, mode: Any = "overwrite") -> str:
        if path == LEASE_FILE and self is bucket:  # in between, the other one
            real(late, path, ELSEWHERE.encode())
        return real(self, path, raw, mode)

    monkeypatch.setattr(Bucket, "put", put)
    with pytest.raises(StoreError, match=r"another build works on this store \(ann on far"), bucket.leased():
        pass


def test_only_what_is_ours_is_sent_fetched_and_removed(url: str, tmp_path: Path) -> None:
    bucket, out = Bucket(url), tmp_path / "out"
    bucket.put("thesis.pdf", b"theirs")
    bucket.put("videos/a.mp4", b"old")
    with remote_build_store(url, out):
        (out / "notes.txt").write_text("mine")
        (out / "videos" / "a.mp4").unlink()
        (out / "videos" / "b.mp4").write_bytes(b"new")
    assert {p for p in bucket.objects() if not p.startswith(".")} == {"thesis.pdf", "videos/b.mp4"}
    assert (out / "notes.txt").exists()
    assert not (out / "thesis.pdf").exists()


def test_what_was_said_here_between_builds_is_kept(url: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with remote_build_store(url, out):
        (out / "review").mkdir()
        (out / "review" / "verdicts.parquet").write_bytes(b"first")
    (out / "review" / "verdicts.parquet").write_bytes(b"second")
    with remote_build_store(url, out) as far:
        assert isinstance(far, RemoteBuildStore)
    got = Bucket(url).get("review/verdicts.parquet")
    assert got[0] == b"second"


@pytest.mark.parametrize("emptied", [False, True])
def test_another_or_an_emptied_store_costs_no_file_here(emptied: bool, url: str, tmp_path: Path) -> None:
    out, names = tmp_path / "out", {"manifest.parquet", "videos/a.mp4"}
    with remote_build_store(url, out):
        (out / "videos").mkdir(parents=True)
        for name in names:
            (out / name).write_bytes(name.encode())
    if emptied:
        Bucket(url).remove([path for path in Bucket(url).objects() if not path.startswith(".")])
    other = url if emptied else f"{url}/other"
    with remote_build_store(other, out):
        pass
    assert all((out / name).read_bytes() == name.encode() for name in names)
    assert names <= Bucket(other).objects().keys()


def test_what_another_machine_removed_goes_here_too(url: str, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    with remote_build_store(url, one):
        for name in ("manifest.parquet", "quarantine.parquet"):
            (one / name).write_bytes(b"1")
    with remote_build_store(url, two):
        (two / "quarantine.parquet").unlink()
    with remote_build_store(url, one):
        assert not (one / "quarantine.parquet").exists()


def test_a_store_that_cannot_be_used_is_one_clear_error(
    meta: Path, url: str, scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "out", "--store")
    wrong = scan2qa(*command, "/shared/vsi")
    assert wrong.code == 2
    assert "write it as s3://bucket/prefix; a folder that machines share is given with --out" in wrong.err
    missing = scan2qa(*command, "s3://no-such-bucket/vsi")
    assert (missing.code, missing.started) == (1, False)
    assert missing.err.startswith("scan2qa: s3://no-such-bucket/vsi: ")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(buckets, "RETRIES", 0)
    away = scan2qa(*command, url)
    assert (away.code, away.started) == (1, False)
    assert "check the name, the network, and AWS_ENDPOINT_URL" in away.err.replace("\n", " ")
