"""Stage `figures`: draws the evidence for each answer, beside the store."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.core.files import sync_files
from pipeline.core.parquet import read_table
from pipeline.core.tables import selected_questions
from pipeline.core.video_spec import VideoSpec
from pipeline.engine.stage import Stage, StageContext
from pipeline.formats.videos import VideoPictures
from pipeline.release.media import FOLDER
from pipeline.rendering.media_files import drop_others, is_there, write_media
from pipeline.worlds.registry import read_scene

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipeline.engine.config import BuildConfig
    from pipeline.reading.reader import Reader


class _Video:
    """The delivered video of a scene, as drawings are given it (`DeliveredVideo`)."""

    def __init__(self, video: VideoPictures, film: dict[str, Any], form: VideoSpec, unit: str) -> None:
        self.form = form
        self._video, self._film, self._unit = video, film, unit
        self._kept: dict[int, npt.NDArray[np.uint8]] = {}

    def __call__(self, second: float) -> npt.NDArray[np.uint8]:
        # The first picture that is on screen at that second or after it.
        number = min(math.ceil(second * self._film["fps"] - 1e-6), self._film["frames"] - 1)
        if number not in self._kept:
            self._kept[number] = self._video.at(second, number, self._unit)
        return self._kept[number]


def run(context: StageContext) -> bytes:
    """Writes a drawing of each selected question; the result says, as JSON, what was written.

    Drawings of questions that are no longer asked go. Raises RawDataError where the video is damaged.
    """
    from pipeline.drawing.sheet import png_of  # Pillow takes a moment to start

    benchmark = BENCHMARKS[context.settings["benchmark"]]
    scene = read_scene(context.needed("describe"))
    asked = selected_questions(read_table(context.needed("select"))).to_pylist()
    made: list[dict[str, Any]] = []
    if benchmark.drawings is not None and asked:
        view = benchmark.view_of(scene, context.settings)
        with _video_of(context, VideoSpec(**context.settings["form"])) as footage:
            for number, sheet in benchmark.drawings.draw(view, asked, footage):
                name = f"{FOLDER}/{context.unit}/{number}"
                files = {"svg": _write(context.folder, f"{name}.svg", sheet.svg().encode())}
                files["drawing"] = files["svg"]
                if sheet.stills:
                    alone = sheet.without_stills().svg().encode()
                    files["drawing"] = _write(context.folder, f"{name}.drawing.svg", alone)
                if sheet.stills or context.settings["png"] == "all":  # takes ten times as long as the drawing
                    files["png"] = _write(context.folder, f"{name}.png", png_of(sheet))
                made.append({"id": number, **files})
    kept = {context.folder / file["file"] for one in made for file in _files(one)}
    sync_files(kept)
    drop_others(context.folder / FOLDER / context.unit, kept)
    return json.dumps({"pictures": made}).encode()


@contextmanager
def _video_of(context: StageContext, form: VideoSpec) -> Iterator[_Video | None]:
    raw = context.bytes_of("video")
    film = json.loads(raw) if raw else {"video": None}
    if film["video"] is None:
        yield None
        return
    path = context.folder / film["video"]
    video = VideoPictures(path)
    try:
        yield _Video(video, film, form, context.unit)
    finally:
        video.close()


def _write(folder: Path, name: str, raw: bytes) -> dict[str, Any]:
    return {"file": name} | write_media(folder, name, raw, sync=False)


def _files(one: dict[str, Any]) -> list[dict[str, Any]]:
    """The files that were written of a question."""
    return [media for kind, media in one.items() if kind != "id"]


def is_complete(result: bytes, folder: Path) -> bool:
    """Whether every drawing is there."""
    made = json.loads(result)["pictures"]
    return all(is_there(folder / file["file"], file) for one in made for file in _files(one))


def settings(config: BuildConfig) -> dict[str, Any]:
    """The rules under which a scene is looked at, and what is written."""
    rules = config.generate.resolved_rules().model_dump()
    return {"benchmark": config.benchmark, "rules": rules, "png": config.png, "form": asdict(config.video_spec())}


def are_pictures_wanted(config: BuildConfig) -> bool:
    """Whether the benchmark's answers can be drawn."""
    return config.figures and config.of_benchmark().drawings is not None


def uses(config: BuildConfig, reader: Reader | None) -> tuple[str, ...]:
    """The code that draws, and the view that it looks at."""
    benchmark = config.of_benchmark()
    return benchmark.view_modules(benchmark.drawings)


FIGURES: Final = Stage(
    name="figures",
    suffix=".json",
    module=__name__,
    run=run,
    requires=("select", "describe"),
    optional=("video",),
    settings=settings,
    uses=uses,
    is_wanted=are_pictures_wanted,
    is_complete=is_complete,
    folders=(FOLDER,),
)
