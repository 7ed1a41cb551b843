"""The command `scan2qa label`: draws the boxes of a scene folder in the browser."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path

from flows.cli.output.console import console, start_spinner, stop_spinner
from flows.cli.review import run_server, token_for
from pipeline.core.errors import ConfigError, require_extra


def label(folder: Path, host: str, port: int, propose: str | None, model: str | None, key_env: str | None) -> None:
    """Serves the page until it is stopped. Raises ConfigError, RawDataError, StoreError."""
    if (model or key_env) and not (propose and model):
        raise ConfigError("a model that proposes boxes needs its server (--propose URL) and its name (--model NAME)")
    require_extra("scans", "label")
    from flows.label_app.app import LabelPages
    from flows.label_app.detector import Detect, detect, model_detector
    from flows.label_app.scene import LabelledScene
    from flows.review_app.app import LOOPBACK

    token = token_for(host)
    start_spinner("Reading the scene")
    scene = LabelledScene(folder)
    stop_spinner()
    if propose is not None:
        plain: Detect = partial(detect, propose)
        with model_detector(propose, model, key_env) if model else nullcontext(plain) as ask:
            start_spinner("Asking the detector")
            made = scene.propose(ask)
            stop_spinner()
        left_out = "".join(f"; left out: {count} ({reason})" for reason, count in sorted(made.left_out.items()))
        console.print(f"{len(made.boxes)} boxes are proposed{left_out}", soft_wrap=True)
    shown = f"[{host}]" if ":" in host else host
    console.print(f"{scene.folder}: http://{shown}:{port} (Ctrl-C ends it)", soft_wrap=True)
    console.print(f"Every change goes to {scene.labels.path} at once.", soft_wrap=True)
    run_server(LabelPages(scene, token).app(only_loopback=host in LOOPBACK), host, port)
