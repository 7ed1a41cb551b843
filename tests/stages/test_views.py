"""Stage `views`, from a panorama that tells where it was taken to the files of a release that do not."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from starlette.testclient import TestClient

from flows.cli.review import import_review, pack_of, salt_of
from flows.orchestration.saved_build import save_if_successful
from flows.review_app.app import Pages
from flows.review_app.site import ReviewSite
from pipeline.benchmarks.benchmark import SceneViews
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import StoreError
from pipeline.core.files import read_file
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import SELECTED
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.inputs import RawScene
from pipeline.engine.manifest import Outcome
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Store
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import PinholeView, WholeSphere
from pipeline.reading.files import SceneFiles
from pipeline.release.media import media_of, place_media
from pipeline.review.database import ReviewDatabase
from pipeline.review.review_bundle import ReviewItem
from pipeline.samples.panorama.towns import spots
from pipeline.samples.panorama.write import write_panoramas
from pipeline.stages.builder import Builder
from pipeline.stages.views import VIEWS
from pipeline.worlds.panorama.embodied import EmbodiedView
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.builds import UNASKED
from tests.formats.test_pictures import talkative
from tests.oracles.picture_tags import beside_pixels, tags
from tests.worlds.panorama.panoramas import texture, write

SCENE = "panoramas/p1"
AHEAD, BACK = PinholeView(yaw_deg=0, width=64, height=48), PinholeView(yaw_deg=-180, width=64, height=48)
SHOWN: dict[int, dict[str, PinholeView | WholeSphere]] = {
    1: {"images/a.jpg": AHEAD},
    2: {"images/a.jpg": AHEAD, "images/b.jpg": BACK},
    3: {"images/c.jpg": WholeSphere(long_side=100)},
    4: {"images/d.jpg": WholeSphere()},
    5: {},
}


def of(row: Mapping[str, Any]) -> Iterator[tuple[str, PinholeView | WholeSphere]]:
    yield from SHOWN[row["id"]].items()


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageContext:
    benchmark = replace(BENCHMARKS["cityeqa"], views=SceneViews(__name__, of))
    monkeypatch.setitem(BENCHMARKS, "looking", benchmark)
    root = write(tmp_path / "raw", "p1", talkative())
    (ref,) = Panoramas().scenes(root).scenes
    scene = Panoramas().read(SceneFiles(root, ref))
    store = Store(tmp_path / STORE)
    results = {"observe": ((SCENE, store.put("observe", SCENE, "0" * 32, scene.model_dump_json().encode(), ".json")),)}
    found = StageContext(
        SCENE, {"benchmark": "looking"}, tmp_path, results, RawScene(Panoramas(), SceneFiles(root, ref))
    )
    return asking(found, *SHOWN)


def asking(context: StageContext, *ids: int) -> StageContext:
    """The same where these questions were selected."""
    rows = [{"id": i, "scene": SCENE} for i in ids] + [{"id": 9, "scene": SCENE, "reason": "dull"}]
    raw = table_bytes(pa.Table.from_pylist(rows, schema=SELECTED))
    key = hashlib.sha256(raw).hexdigest()[:32]
    selected = Store(context.folder / STORE).put("select", SCENE, key, raw, ".parquet")
    return replace(context, results={**context.results, "select": ((SCENE, selected),)})


def files(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_each_picture_is_written_once_and_tells_nothing(context: StageContext) -> None:
    result = VIEWS.run(context)
    made = {one["file"]: one for one in json.loads(result)["pictures"]}
    assert {file: one["of"] for file, one in made.items()} == {
        "images/a.jpg": [1, 2], "images/b.jpg": [2], "images/c.jpg": [3], "images/d.jpg": [4],
    }  # fmt: skip
    assert VIEWS.is_complete(result, context.folder)
    written = files(context.folder / "views" / SCENE)
    assert len(written) == 4
    release = context.folder / "new"
    sums = place_media(release, media_of([result], context.folder), {1, 3, 4})
    assert "GPS GPSLatitude" in tags(read_file(context.folder / "raw" / "p1" / "pano.jpg"))
    assert {name: beside_pixels(raw) for name, raw in files(release).items()} == {
        "images/a.jpg": [], "images/c.jpg": [], "images/d.jpg": [],
    }  # fmt: skip
    assert sums == {name: hashlib.sha256(raw).hexdigest() for name, raw in files(release).items()}


def test_they_show_what_they_shall(context: StageContext) -> None:
    made = {one["file"]: context.folder / one["picture"] for one in json.loads(VIEWS.run(context))["pictures"]}
    pixels = {file: np.asarray(Image.open(path)).astype(int) for file, path in made.items()}
    source = Image.open(io.BytesIO(talkative())).convert("RGB")
    assert (pixels["images/d.jpg"] == np.asarray(source)).all()
    assert pixels["images/c.jpg"].shape == (50, 100, 3)
    for file, view in (("images/a.jpg", AHEAD), ("images/b.jpg", BACK)):
        assert np.abs(pixels[file] - Sphere(source).render(view)).mean() < 12  # JPEG, of noise
    assert np.abs(pixels["images/a.jpg"] - pixels["images/b.jpg"]).mean() > 30
    assert texture().shape == (128, 256, 3)


def test_what_is_no_longer_asked_goes(context: StageContext) -> None:
    before = VIEWS.run(context)
    after = VIEWS.run(asking(context, 2))
    assert len(files(context.folder / "views" / SCENE)) == 2
    assert not VIEWS.is_complete(before, context.folder)
    assert VIEWS.is_complete(after, context.folder)
    assert json.loads(VIEWS.run(asking(context, 5))) == {"pictures": []}


def test_a_picture_that_was_changed_is_not_released(context: StageContext) -> None:
    result = VIEWS.run(context)
    path = context.folder / json.loads(result)["pictures"][0]["picture"]
    path.write_bytes(path.read_bytes()[::-1])
    with pytest.raises(StoreError, match="remove it and build again"):
        place_media(context.folder / "new", media_of([result], context.folder), {1})


def test_a_part_of_the_sphere_is_shown_in_its_place(context: StageContext, tmp_path: Path) -> None:
    crop = "crop: {full_width: 512, full_height: 256, left: 128, top: 64}"
    root = write(tmp_path / "part", "p1", sidecar=crop)
    (ref,) = Panoramas().scenes(root).scenes
    raw = Panoramas().read(SceneFiles(root, ref)).model_dump_json().encode()
    results = {
        **context.results,
        "observe": ((SCENE, Store(context.folder / STORE).put("o", SCENE, "0" * 32, raw, ".json")),),
    }
    result = VIEWS.run(replace(context, results=results, raw=RawScene(Panoramas(), SceneFiles(root, ref))))
    made = {one["file"]: context.folder / one["picture"] for one in json.loads(result)["pictures"]}
    whole = np.asarray(Image.open(made["images/d.jpg"]))
    assert whole.shape == (256, 512, 3)
    assert whole[:60].max() == 0
    assert whole[70:180, 140:370].std() > 20
    assert np.asarray(Image.open(made["images/b.jpg"])).max() < 12


# ---- pictures of panoramas from a build to its release: what changed is rendered again, none tells where it was taken


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
    database = ReviewDatabase(out / "review" / "review.sqlite")
    app = Pages(ReviewSite("made", pack, database, out, salt), salt, None).app(only_loopback=True)

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


def test_a_lost_picture_and_a_changed_release_are_made_again_and_one_scene_where_it_alone_is_asked_for(
    built: Path,
) -> None:
    Builder(config(built / "raw"), built / "out").build()
    path = sorted((built / "out" / "views" / "sample_panoramas" / IDS[1]).glob("*.jpg"))[0]
    card = built / "out" / "release" / "README.md"
    raw, written = path.read_bytes(), card.read_bytes()
    path.unlink()
    card.write_bytes(b"mine")
    assert ran(Builder(config(built / "raw"), built / "out").build()) == {("views", IDS[1]), ("export", "all")}
    assert (path.read_bytes(), card.read_bytes()) == (raw, written)
    alone = Builder(config(built / "raw"), built / "out").stage("views", [IDS[1]])
    assert [(entry.unit.partition("/")[2], entry.why) for entry in alone.manifest] == [(IDS[1], "asked")]


def test_without_pictures(built: Path, tmp_path: Path) -> None:
    bare = config(built / "raw").model_copy(update={"video": False})
    outcome = Builder(bare, tmp_path).build()
    assert not [entry for entry in outcome.manifest if entry.stage == "views"]
    assert not list((tmp_path / "release").rglob("*.jpg"))
    assert list((tmp_path / "release" / "data").glob("test*.parquet"))
