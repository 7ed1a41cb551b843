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
import pytest
from PIL import Image

from pipeline.benchmarks.benchmark import SceneViews
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.errors import StoreError
from pipeline.core.files import read_file
from pipeline.core.parquet import table_bytes
from pipeline.core.tables import SELECTED
from pipeline.engine.inputs import RawScene
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Store
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.views import View, Whole
from pipeline.reading.files import SceneFiles
from pipeline.release.media import media_of, place_media
from pipeline.stages.views import VIEWS
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.formats.test_equirect import talkative
from tests.oracles.picture_tags import beside_pixels, tags
from tests.worlds.panorama.panoramas import texture, write

SCENE = "panoramas/p1"
AHEAD, BACK = View(yaw_deg=0, width=64, height=48), View(yaw_deg=-180, width=64, height=48)
SHOWN: dict[int, dict[str, View | Whole]] = {
    1: {"images/a.jpg": AHEAD},
    2: {"images/a.jpg": AHEAD, "images/b.jpg": BACK},
    3: {"images/c.jpg": Whole(long_side=100)},
    4: {"images/d.jpg": Whole()},
    5: {},
}


def of(row: Mapping[str, Any]) -> Iterator[tuple[str, View | Whole]]:
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
    assert VIEWS.is_whole(result, context.folder)
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
    assert not VIEWS.is_whole(before, context.folder)
    assert VIEWS.is_whole(after, context.folder)
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
