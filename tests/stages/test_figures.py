"""Stage `figures` in a build: what is written, what is drawn again, and what of it a release holds."""

import json
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.parquet import read_table, table_bytes
from pipeline.core.tables import SELECTED, selected_questions
from pipeline.core.video_spec import VideoSpec
from pipeline.drawing.sheet import Sheet, StillPicture
from pipeline.engine.manifest import Outcome
from pipeline.engine.stage import STORE, StageContext
from pipeline.engine.store import Store
from pipeline.release.media import drawings_of, pictures_of
from pipeline.stages import figures
from pipeline.stages.figures import _Video
from tests.builds import build, results_of


@pytest.mark.slow
def test_every_question_has_its_drawing_and_the_release_the_same(meta: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = build(meta, out, figures=True, png="all", select={"per_scene_and_task": 1})
    results = results_of(out, outcome)
    drawn = pictures_of((raw for (stage, _), raw in results.items() if stage == "figures"), out)
    selected = [read_table(raw) for (stage, _), raw in results.items() if stage == "select"]
    assert sorted(drawn) == sorted(i for table in selected for i in selected_questions(table)["id"].to_pylist())
    for picture in drawn.values():
        assert picture.png
        assert picture.png.read_bytes().startswith(b"\x89PNG")
        assert picture.drawing == picture.svg
    released = {path.stem: path.read_bytes() for path in (out / "release" / "pictures").rglob("*.svg")}
    assert released == {str(number): picture.svg.read_bytes() for number, picture in drawn.items()}


@pytest.mark.slow
def test_only_what_changed_is_drawn_again_and_what_is_gone_too(meta: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    before = {p: p.read_bytes() for p in _files(out, build(meta, out, figures=True))}
    assert {path.suffix for path in before} == {".svg"}  # nothing here shows a video
    again = build(meta, out, figures=True)
    assert [e.why for e in again.manifest if e.stage == "figures"] == ["reused"] * _scenes(again)
    lost = sorted(before)[0]
    lost.unlink()
    mended = build(meta, out, figures=True)
    ran = {e.unit for e in mended.manifest if e.stage == "figures" and e.why != "reused"}
    assert ran == {lost.parent.relative_to(out / "pictures").as_posix()}
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.parametrize("png", ["video", "all"])
def test_what_is_written_of_drawings_with_and_without_pictures_and_what_goes(
    png: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second drawing has a picture of the video, and is written without it too."""
    still = StillPicture(0.5, np.zeros((6, 8, 3), np.uint8), "")
    sheets = [(1, Sheet("one", ())), (2, Sheet("two", (), stills=[still]))]
    benchmark = SimpleNamespace(
        drawings=SimpleNamespace(draw=lambda view, asked, video: sheets), view_of=lambda scene, settings: None
    )
    monkeypatch.setitem(BENCHMARKS, "drawn", benchmark)  # type: ignore[misc]
    monkeypatch.setattr(figures, "read_scene", lambda raw: None)
    folder, store = tmp_path / "pictures" / "made" / "a", Store(tmp_path / STORE)
    rows = table_bytes(pa.Table.from_pylist([{"id": 1, "scene": "made/a"}], SELECTED))
    results = {
        stage: (("made/a", store.put(stage, "made/a", "0" * 32, raw, ".x")),)
        for stage, raw in (("select", rows), ("describe", b""))
    }
    folder.mkdir(parents=True)
    (folder / "9.svg").touch()  # of a question that is no longer asked
    settings = {"benchmark": "drawn", "png": png, "form": asdict(VideoSpec())}
    found = figures.run(StageContext("made/a", settings, tmp_path, results))
    assert {path.name for path in folder.iterdir()} == {
        "1.svg", "2.svg", "2.drawing.svg", "2.png", *(["1.png"] if png == "all" else []),
    }  # fmt: skip
    assert "<image" not in (folder / "2.drawing.svg").read_text()
    assert figures.is_complete(found, tmp_path)
    (folder / "2.png").unlink()
    assert not figures.is_complete(found, tmp_path)


def test_frames_leave_the_machine_only_where_they_may(tmp_path: Path) -> None:
    written = {
        kind: {"file": f"pictures/d/s/1.{kind}", "sha256": kind, "bytes": 1} for kind in ("svg", "png", "drawing")
    }
    raw = json.dumps({"pictures": [{"id": 1} | written]}).encode()
    ((kept,), (whole,)) = (list(drawings_of(raw, "d/s", tmp_path, allowed)) for allowed in (False, True))
    assert (kept.file, kept.path, kept.of) == ("pictures/d/s/1.svg", tmp_path / "pictures/d/s/1.drawing", {1})
    assert (whole.file, whole.path) == ("pictures/d/s/1.svg", tmp_path / "pictures/d/s/1.svg")


@pytest.mark.parametrize(("second", "number"), [(0.0, 0), (0.3, 3), (0.31, 4), (5.8, 58), (5.9, 59), (7.0, 59)])
def test_a_drawing_has_the_first_picture_from_its_second_on(second: float, number: int) -> None:
    video: Any = SimpleNamespace(at=lambda second, number, unit: number)
    assert _Video(video, {"fps": 10.0, "frames": 60}, VideoSpec(), "made/a")(second) == number


def _files(out: Path, outcome: Outcome) -> list[Path]:
    results = [raw for (stage, _), raw in results_of(out, outcome).items() if stage == "figures"]
    return [path for one in pictures_of(results, out).values() for path in (one.svg, one.png) if path]


def _scenes(outcome: Outcome) -> int:
    return len([e for e in outcome.manifest if e.stage == "select"])
