"""Raw data in an object store, through a real server that speaks S3."""

import json
import pickle
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import from_url

from flows.remote import mirror as mirrors
from flows.remote import object_store
from flows.remote.mirror import ObjectMirror
from pipeline.core.errors import ConfigError, RawDataError, StoreError
from pipeline.core.files import read_file
from pipeline.core.mirrors import _REGISTERED, READABLE, is_here
from pipeline.engine.config import build_config
from pipeline.engine.job import Job, JobResult, run_job
from pipeline.reading.files import SceneFiles
from pipeline.samples.registry import SAMPLES
from pipeline.stages.builder import Builder
from pipeline.worlds.registry import READERS, WORLDS
from tests.builds import UNASKED, UNASKED_SETTINGS, Cli, perturbed, release_of
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes


@pytest.fixture
def bucket(own_bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket of one's own, and a cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(object_store, "RETRIES", 0)
    _REGISTERED.clear()
    mirrors._store_at.cache_clear()
    return own_bucket


def upload(folder: Path, url: str) -> None:
    """All files of a folder."""
    store = from_url(url, client_options={"allow_http": True})
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        obstore.put(store, path.relative_to(folder).as_posix(), path.read_bytes())


def fetched(mirror: ObjectMirror) -> set[str]:
    """Files whose bytes are here."""
    found = (p for p in mirror.root.rglob("*") if p.is_file() and p.stat().st_mode & READABLE and p.stat().st_size)
    return {path.relative_to(mirror.root).as_posix() for path in found}


@pytest.mark.slow
def test_a_build_from_a_bucket_is_that_from_a_folder(bucket: str, scan2qa: Cli, tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    write_scenes(meta / "meta.json", perturbed(SCENES, 4))
    upload(meta, f"{bucket}/released/meta")
    root = f"vsi_meta={bucket}/released/meta"
    looked = scan2qa("doctor", "--root", root)
    assert looked.code == 0, looked.err
    assert f"vsi_meta {bucket}/released/meta: 4 scenes" in looked.out
    size = f"{(meta / 'meta.json').stat().st_size / 1e3:.0f} kB"
    assert f"{bucket}/released/meta: 1 file, {size}, known by names, sizes and ETags; {size} of them" in looked.out
    first = scan2qa("build", "vsi", "--root", root, "--out", out, *UNASKED_SETTINGS)
    assert first.code == 0, first.err
    assert (
        scan2qa("build", "vsi", "--root", f"vsi_meta={meta}", "--out", tmp_path / "local", *UNASKED_SETTINGS).code == 0
    )
    assert release_of(out) == release_of(tmp_path / "local")
    again = scan2qa("build", "vsi", "--out", out, "--json")  # the URL is kept
    assert {why for row in json.loads(again.out)["stages"].values() for why in row} == {"reused"}
    assert f"--root {root}" in again.err
    write_scenes(meta / "meta.json", perturbed(SCENES, 5))
    upload(meta, f"{bucket}/released/meta")
    more = scan2qa("build", "vsi", "--out", out, "--json")
    assert json.loads(more.out)["stages"]["unify"] == {"new": 1, "reused": 4}


def samples(reader: str, folder: Path) -> Path:
    """The sample data that a world writes for a reader, all of the root and its scenes."""
    world = next(world for world in WORLDS.values() if reader in {one.name for one in world.readers})
    SAMPLES[world.name].write(folder)
    return folder / reader


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["argoverse2", "carla", "kitti_tracking", "lerobot"])
def test_readers_find_in_a_bucket_what_they_find_in_a_folder(reader: str, bucket: str, tmp_path: Path) -> None:
    local = samples(reader, tmp_path / "samples")
    upload(local, f"{bucket}/{local.name}")
    mirror = ObjectMirror(f"{bucket}/{local.name}").synced()
    one, other = READERS[reader].scenes(local), READERS[reader].scenes(mirror.root)
    assert [ref.id for ref in other.scenes] == [ref.id for ref in one.scenes]
    assert [ref.files for ref in other.scenes] == [ref.files for ref in one.scenes]
    assert len(one.scenes) > 0
    for mine, theirs in zip(one.scenes[:3], other.scenes[:3], strict=True):
        with mirror.in_use():
            read = READERS[reader].read(SceneFiles(mirror.root, theirs))
        assert read == READERS[reader].read(SceneFiles(local, mine))


def test_nothing_is_fetched_to_find_that_nothing_changed(bucket: str, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "raw" / name).mkdir(parents=True)
        (tmp_path / "raw" / name / "log.ulg").write_bytes(name.encode() * 5000)
        (tmp_path / "raw" / name / "video.mp4").write_bytes(b"m" * 7000)
    upload(tmp_path / "raw", f"{bucket}/raw")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    before = READERS["flights"].scenes(mirror.root)
    assert fetched(mirror) == set()
    assert (mirror.root / "a" / "video.mp4").stat().st_size == 7000
    assert not is_here(mirror.root / "a" / "log.ulg")
    with mirror.in_use():
        assert read_file(mirror.root / "a" / "log.ulg") == b"a" * 5000
    assert "a/video.mp4" not in fetched(mirror)
    upload(tmp_path / "raw", f"{bucket}/raw")  # the same bytes have the same ETags, at another time
    assert READERS["flights"].scenes(mirror.synced().root) == before
    (tmp_path / "raw" / "a" / "log.ulg").write_bytes(b"A" * 5000)
    upload(tmp_path / "raw", f"{bucket}/raw")
    changed = READERS["flights"].scenes(mirror.synced().root)
    assert [one.stamp == other.stamp for one, other in zip(before.scenes, changed.scenes, strict=True)] == [False, True]
    assert "a/log.ulg" not in fetched(mirror)


def test_what_changes_or_goes_after_it_was_listed_costs_its_scene(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / "raw" / name).write_bytes(name.encode() * 100)
    upload(tmp_path / "raw", f"{bucket}/raw")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    store = from_url(f"{bucket}/raw", client_options={"allow_http": True})
    obstore.put(store, "a", b"x" * 100)
    obstore.delete(store, "b")
    for name in ("a", "b"):
        with pytest.raises(RawDataError, match="the object changed during the build"):
            read_file(mirror.root / name)
    assert read_file(mirror.root / "c") == b"c" * 100
    assert mirror.is_as_listed()
    mirror.synced()
    assert not mirror.is_as_listed()


def test_what_cannot_be_reached_is_one_clear_error(
    bucket: str, scan2qa: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = scan2qa("doctor", "--root", "vsi_meta=s3://no-such-bucket-here/x")
    assert gone.code == 2
    assert gone.err.startswith("scan2qa: s3://no-such-bucket-here/x: ")
    assert "check the name, the network, and AWS_ENDPOINT_URL" in gone.err
    empty = scan2qa("doctor", "--root", f"vsi_meta={bucket}/typo")
    assert (empty.code, "no objects there" in empty.err) == (2, True)
    other = scan2qa("doctor", "--root", "vsi_meta=https://example.org/x")
    assert (other.code, "roots are folders, or s3://bucket/prefix, gs://" in other.err) == (2, True)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.txt").write_bytes(b"a")
    upload(tmp_path / "raw", f"{bucket}/raw")
    none = scan2qa("doctor", "--root", f"vsi_meta={bucket}/raw")
    assert none.err.startswith(f"scan2qa: {bucket}/raw: no *.json file here")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    mirrors._store_at.cache_clear()
    with pytest.raises(StoreError, match="finished work is kept: run it again"):
        read_file(mirror.root / "a.txt")
    with pytest.raises(ConfigError, match="check the name, the network"):
        mirror.synced()


def test_names_that_no_folder_can_show_are_refused(bucket: str) -> None:
    store = from_url(f"{bucket}/raw", client_options={"allow_http": True})
    obstore.put(store, "a", b"1")
    obstore.put(store, "a/b", b"2")
    with pytest.raises(ConfigError, match="'a' is both an object and a folder of others"):
        ObjectMirror(f"{bucket}/raw").synced()


def test_the_folder_holds_no_more_than_it_may(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "raw").mkdir()
    for name in "abcdef":
        (tmp_path / "raw" / f"{name}.{name}").write_bytes(name.encode() * 1000)
    upload(tmp_path / "raw", f"{bucket}/raw")
    monkeypatch.setattr(mirrors, "CACHE_BYTES", 3500)
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    for name in "abcdef":
        with mirror.in_use():
            assert read_file(mirror.root / f"{name}.{name}") == name.encode() * 1000
        assert sum((mirror.root / file).stat().st_size for file in fetched(mirror)) <= 3500
    assert "f.f" in fetched(mirror)
    assert "a.a" not in fetched(mirror)
    with mirror.in_use():  # fetched again
        assert read_file(mirror.root / "a.a") == b"a" * 1000


@pytest.mark.slow
def test_a_scene_that_is_left_out_is_named_by_its_url(bucket: str, tmp_path: Path) -> None:
    meta = tmp_path / "meta"
    write_scenes(meta / "meta.json", {"one": SCENES["bedroom"], "two": {"dataset": "scannet"}})
    upload(meta, f"{bucket}/meta")
    mirror = ObjectMirror(f"{bucket}/meta").synced()
    settings = {"build": "vsi", "benchmark": "vsi", "roots": {"vsi_meta": mirror.root}} | UNASKED
    outcome = Builder(build_config(settings), tmp_path / "out").build()
    assert [(fault.unit, fault.file) for fault in outcome.quarantine] == [("scannet/two", f"{bucket}/meta/meta.json")]


@pytest.mark.slow
def test_a_worker_elsewhere_has_a_folder_of_its_own(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, scenes = tmp_path / "raw", perturbed(SCENES, 2)
    raw.mkdir()
    for name, scene in scenes.items():
        write_scenes(raw / f"{name}.json", {name: scene})
    upload(raw, f"{bucket}/raw")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    settings = {"build": "vsi", "benchmark": "vsi", "roots": {"vsi_meta": mirror.root}} | UNASKED
    first, _ = sorted(scenes)
    changed = scenes[first] | {"room_size": 1.5}

    def elsewhere(stages: str, batches: list[list[Job]]) -> Iterator[JobResult]:
        write_scenes(raw / f"{first}.json", {first: changed})
        upload(raw, f"{bucket}/raw")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other machine"))
        _REGISTERED.clear()
        yield from (run_job(pickle.loads(pickle.dumps(job))) for batch in batches for job in batch)  # noqa: S301

    outcome = Builder(build_config(settings), tmp_path / "out", elsewhere).build()
    faults = [(fault.finding, fault.file, fault.message) for fault in outcome.quarantine]
    told = "the scene changed after the build was planned"
    assert faults == [("changed_while_reading", f"{bucket}/raw/{first}.json", told)]
    assert len(outcome.released.files) > 5


def answering(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> socket.socket:
    """A server in the store's place, which answers everything so, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                asked, _ = server.accept()
            except OSError:
                return
            with asked:
                asked.recv(65536)
                asked.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
    mirrors._store_at.cache_clear()
    return server


def test_an_object_that_may_not_be_read_costs_its_scene(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.txt").write_bytes(b"a")
    upload(tmp_path / "raw", f"{bucket}/raw")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with answering(refused, monkeypatch), pytest.raises(RawDataError) as raised:
        read_file(mirror.root / "a.txt")
    assert (raised.value.finding, raised.value.message) == ("unreadable_file", "the store does not let it be read")


def test_a_connection_that_is_cut_ends_the_build_and_leaves_no_half_file(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that promises more than it sends."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "a.txt").write_bytes(b"a" * 100_000)
    upload(tmp_path / "raw", f"{bucket}/raw")
    mirror = ObjectMirror(f"{bucket}/raw").synced()
    etag = obstore.head(from_url(f"{bucket}/raw", client_options={"allow_http": True}), "a.txt")["e_tag"]
    head = f"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\nETag: {etag}\r\n"
    cut = f"{head}Last-Modified: Mon, 23 Nov 2026 03:00:00 GMT\r\n\r\n".encode() + b"a" * 500
    with (
        answering(cut, monkeypatch),
        pytest.raises(StoreError, match=r"a\.txt: .*finished work is kept: run it again"),
    ):
        read_file(mirror.root / "a.txt")
    assert not is_here(mirror.root / "a.txt")
    assert not list((mirror.root.parent.parent / "new").iterdir())
