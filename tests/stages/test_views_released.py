"""Pictures of panoramas from a build to its release: what changed is rendered again, none tells where it was taken."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from starlette.testclient import TestClient

from flows.cli.review import import_review, pack_of, salt_of
from flows.orchestration.saved_build import save_if_successful
from flows.review_app.app import Pages
from flows.review_app.site import Site
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.manifest import Outcome
from pipeline.review.database import Database
from pipeline.review.review_bundle import ReviewItem
from pipeline.samples.panorama.towns import spots
from pipeline.samples.panorama.write import write_panoramas
from pipeline.stages.builder import Builder
from pipeline.worlds.panorama.embodied import EmbodiedView
from tests.builds import UNASKED
from tests.oracles.picture_tags import beside_pixels, tags

IDS = ("corvale-1", "corvale-wild")
LIMITS = {"panorama": {"pixels_per_degree_min": 1.0, "sharpness_min": 0.0}}


def config(root: Path, **more: Any) -> BuildConfig:
    sections: dict[str, Any] = {"observe": LIMITS, "select": {"per_scene_and_task": 1}} | more
    return build_config(
        {"build": "ergeobench", "benchmark": "ergeobench", "roots": {"panoramas": root}} | UNASKED | sections
    )


def ran(outcome: Outcome) -> set[tuple[str, str]]:
    return {(entry.stage, entry.unit.partition("/")[2]) for entry in outcome.manifest if entry.why != "reused"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build's folder, its raw data beside it."""
    folder = tmp_path_factory.mktemp("views")
    write_panoramas(folder / "raw", [spot for spot in spots() if spot.id in IDS], (512, 256))
    with save_if_successful(folder / "out", config(folder / "raw"), [], {"panoramas": folder / "raw"}):
        outcome = Builder(config(folder / "raw"), folder / "out").build()
    assert not outcome.quarantine
    return folder


def test_every_picture_that_is_named_is_there_and_tells_nothing(built: Path) -> None:
    release = built / "out" / "release"
    assert all("GPS GPSLatitude" in tags((built / "raw" / name / "pano.jpg").read_bytes()) for name in IDS)
    (table,) = (release / "data").glob("test*.parquet")
    named = {file for row in pq.read_table(table)["images"].to_pylist() for file in row}
    written = {path.relative_to(release).as_posix(): path.read_bytes() for path in release.rglob("*.jpg")}
    assert named == set(written)
    assert len(named) >= 8
    assert {name: found for name, raw in written.items() if (found := beside_pixels(raw))} == {}
    sums = dict(line.split("  ")[::-1] for line in (release / "checksums.sha256").read_text().splitlines())
    assert {name: sums[name] for name in written} == {n: hashlib.sha256(raw).hexdigest() for n, raw in written.items()}


def test_reviewers_see_every_picture_of_a_question_in_its_order_and_no_name_of_a_place(built: Path) -> None:
    out = built / "out"
    (table,) = (out / "release" / "data").glob("test*.parquet")
    images = {row["id"]: row["images"] for row in pq.read_table(table, columns=["id", "images"]).to_pylist()}
    pack = pack_of(out, "ergeobench", b"salt")
    assert pack_of(out, "ergeobench", b"salt") == pack
    for item in pack.items:
        seen = [(out / name).read_bytes() for name in item.pictures]
        assert seen == [(out / "release" / name).read_bytes() for name in images[item.id]]
        assert not any(name in path for path in item.pictures for name in IDS)
    assert {len(item.pictures) for item in pack.items} == {1, 2}


def test_environments_of_the_release_open(built: Path) -> None:
    release = built / "out" / "release"
    for name in IDS:
        view = EmbodiedView.open(release, f"environments/sample_panoramas/{name}.json")
        assert view.reset().picture.shape == (480, 640, 3)
        with Image.open(release / view.environment.picture) as image:
            assert image.size == (512, 256)


def test_a_changed_sidecar_costs_that_panorama_alone(built: Path) -> None:
    sidecar = built / "raw" / IDS[0] / "pano.yaml"
    before = {path: path.stat().st_mtime_ns for path in (built / "out" / "views").rglob("*.jpg")}
    assert ran(Builder(config(built / "raw"), built / "out").build()) == set()
    sidecar.write_text(sidecar.read_text().replace("camera_height_m: 2.5", "camera_height_m: 2.6"))
    again = ran(Builder(config(built / "raw"), built / "out").build())
    assert {unit for stage, unit in again if stage == "observe"} == {IDS[0]}
    assert {unit for stage, unit in again if stage == "views"} <= {IDS[0]}
    changed = {path for path, at in before.items() if path.exists() and path.stat().st_mtime_ns != at}
    assert all(IDS[0] in path.parts for path in changed)


def test_people_decide_on_a_page_which_panoramas_are_indoors_and_the_build_heeds_them(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One person decides alone; where a second one differs nothing is decided, until one of them changes it."""
    out, base = built / "out", "http://127.0.0.1:8765"
    salt = salt_of(out, make=True)
    pack = pack_of(out, "ergeobench", salt, checked=True)
    first, second = (item for item in pack.items if item.task == "scene_check")
    assert (pack.items[:2], first.scene.rpartition("/")[2]) == ((first, second), IDS[0]), "before all questions"
    with Image.open(out / first.pictures[0]) as picture:
        assert picture.size == (512, 256), "all of the sphere, at most 1600 wide"
    database = Database(out / "review" / "review.sqlite")
    app = Pages(Site("made", pack, database, out, salt), salt, None).app(only_loopback=True)

    def decides(name: str, *said: tuple[ReviewItem, str]) -> tuple[list[dict[str, Any]], str]:
        """The fixes after somebody decided, and what the import says."""
        page = TestClient(app, base_url=base, headers={"origin": base}, follow_redirects=False)
        page.post("/sign-in", data={"reviewer": name})
        for item, letter in said:
            page.post(f"/items/{item.id}/answer", data={"content": item.content, "answer": letter})
            shown = page.get(f"/items/{item.id}").text
            assert (f"Your decision: {letter}" in shown, "<svg" in shown) == (True, False), "the map answers questions"
        assert page.get("/next").headers["location"] not in {f"/items/{item.id}" for item, _ in said}
        assert import_review(out, None)
        return yaml.safe_load((out / "review" / "fixes" / "sample_panoramas.yaml").read_text()), capsys.readouterr().out

    fixes, _ = decides("ann", (first, "C"), (second, "A"), (first, "B"))
    assert [(f["scene"], f["target"], f["expect"], f["set"], f["who"]) for f in fixes] == [
        (IDS[0], "indoor", False, True, "a reviewer"),
        (IDS[1], "indoor", False, False, "a reviewer"),
    ]
    fixes, told = decides("bo", (first, "B"), (second, "C"))
    assert [(f["scene"], f["who"]) for f in fixes] == [(IDS[0], "2 reviewers")]
    assert f"Reviewers differ, and no fix is written: {second.scene}." in told
    sheet = out / "decided.csv"
    sheet.write_text(f"id,reviewer,answer\n{first.id},cy,B\n")
    assert import_review(out, sheet), "a sheet decides as the page does"
    fixes, _ = decides("ann", (second, "C"))
    assert [(f["scene"], f["target"]) for f in fixes] == [(IDS[0], "indoor"), (IDS[1], "drop_scene")]
    assert fixes[0]["who"] == "3 reviewers"
    database.close()
    folder = {"fixes": {"folder": out / "review" / "fixes"}}
    outcome = Builder(config(built / "raw", **folder), out).build()
    left = {entry.unit: (entry.finding, entry.message) for entry in outcome.quarantine}
    assert left[first.scene][0] == "indoor"
    assert f"taken indoors, by fix review-{first.id}" in left[first.scene][1]
    assert left[second.scene][0] == "dropped_by_fix"


def test_a_lost_picture_is_made_again(built: Path) -> None:
    path = sorted((built / "out" / "views" / "sample_panoramas" / IDS[1]).glob("*.jpg"))[0]
    raw = path.read_bytes()
    path.unlink()
    again = ran(Builder(config(built / "raw"), built / "out").build())
    assert ("views", IDS[1]) in again
    assert path.read_bytes() == raw


def test_without_pictures(built: Path, tmp_path: Path) -> None:
    bare = config(built / "raw").model_copy(update={"video": False})
    outcome = Builder(bare, tmp_path).build()
    assert not [entry for entry in outcome.manifest if entry.stage == "views"]
    assert not list((tmp_path / "release").rglob("*.jpg"))
    assert list((tmp_path / "release" / "data").glob("test*.parquet"))
