"""The command `scan2qa label`: draws the boxes of a scene folder in the browser."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flows.cli.output.console import console
from flows.cli.output.progress import progress_shown
from flows.cli.review import run_server, token_for
from flows.orchestration.saved_build import raw_files, read_saved_build
from flows.orchestration.watchdog import LOOPBACK
from pipeline.core.errors import ConfigError, require_extra
from pipeline.geometry.scans import SceneGeometry

if TYPE_CHECKING:
    from flows.label_app.scene import LabelledScene


def label(
    folder: Path,
    host: str,
    port: int,
    propose: str | None,
    model: str | None,
    key_env: str | None,
    scene_id: str | None = None,
    fixes: Path | None = None,
) -> None:
    """Serves the page until it is stopped.

    Args:
        folder: of a scene; or of a build, where one of its scenes is named.
        host: where to listen.
        port: where to listen.
        propose: address of a detector or of a model's server.
        model: its name.
        key_env: the environment variable with its key.
        scene_id: the build's scene, whose boxes are corrected by fixes.
        fixes: folder of these; None: the build's, or ``fixes``.

    Raises ConfigError, RawDataError, StoreError.
    """
    if (model or key_env) and not (propose and model):
        raise ConfigError("a model that proposes boxes needs its server (--propose URL) and its name (--model NAME)")
    require_extra("scans", "label")
    from flows.label_app.app import Detect, LabelPages, detect, model_detector
    from flows.label_app.scene import LabelledScene

    token = token_for(host)
    with progress_shown("reading the scene") as progress:
        scene = LabelledScene(folder, progress) if scene_id is None else _of_build(folder, scene_id, fixes)
    if propose is not None:
        plain: Detect = partial(detect, propose)
        with (
            model_detector(propose, model, key_env) if model else nullcontext(plain) as ask,
            progress_shown("asking the detector") as progress,
        ):
            made = scene.propose(ask, progress)
        left_out = "".join(f"; left out: {count} ({reason})" for reason, count in sorted(made.left_out.items()))
        console.print(f"{len(made.boxes)} boxes are proposed{left_out}")
    shown = f"[{host}]" if ":" in host else host
    console.print(f"{scene.name}: http://{shown}:{port} (Ctrl-C ends it)")
    console.print(f"Every change goes to {scene.labels.path} at once.")
    run_server(LabelPages(scene, token).app(only_loopback=host in LOOPBACK), host, port)


def _of_build(folder: Path, scene_id: str, fixes: Path | None) -> LabelledScene:
    """A scene of a build as it was read. Raises ConfigError, RawDataError, StoreError."""
    from flows.label_app.scene import FixedScene
    from pipeline.worlds.indoor.facts import IndoorScene

    kept = read_saved_build(folder)
    refs = raw_files(folder, kept.roots)
    if scene_id not in refs:
        near = ", ".join(sorted(refs)[:8]) or "none: build it with --root first"
        raise ConfigError(f"{folder} has no scene {scene_id}; it has {near}")
    reader, files = refs[scene_id]
    scene: Any = reader.read(files)
    geometry = reader.geometry(files, scene) if isinstance(scene, IndoorScene) else None
    if not isinstance(geometry, SceneGeometry):
        raise ConfigError(f"{scene_id} has no mesh to draw on: boxes are drawn for scans with one")
    own = (kept.configured.get("fixes") or {}).get("folder")
    return FixedScene(scene, geometry, fixes or Path(own or "fixes"))
