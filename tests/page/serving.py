"""A review page over a pack made by hand: in this process, in a thread, or as a server of its own.

python -m tests.page.serving FOLDER PORT ITEMS
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import uvicorn
from starlette.applications import Starlette

from flows.orchestration.watchdog import LOOPBACK
from flows.review_app.app import Pages, configured
from flows.review_app.site import ReviewSite
from pipeline.review.database import ReviewDatabase
from pipeline.review.review_bundle import ReviewBundle
from tests.review.made import SALT, pack_of, rooms

DATABASE = Path("review") / "review.sqlite"
VIDEO = "made/room.mp4"
SECONDS = 3


class Page(NamedTuple):
    """A page that is served, and what is behind it."""

    base: str
    pack: ReviewBundle
    database: ReviewDatabase


def write_video(folder: Path) -> bytes:
    """A video of some seconds in a build's folder."""
    from pipeline.core.video_spec import VideoSpec
    from pipeline.rendering.video import encode

    frames = (np.full((120, 160, 3), 8 * n % 256, dtype=np.uint8) for n in range(24 * SECONDS))
    raw = encode(frames, 24, 0, VideoSpec(size=(160, 120))).raw
    path = folder / "videos" / VIDEO
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return raw


def app_of(
    folder: Path,
    pack: ReviewBundle,
    host: str = "127.0.0.1",
    token: str | None = None,
    drawings: Mapping[int, Path] | None = None,
) -> tuple[Starlette, ReviewDatabase]:
    """The application over a database below a folder."""
    database = ReviewDatabase(folder / DATABASE)
    site = ReviewSite("vsi", pack, database, folder, SALT, drawings)
    return Pages(site, SALT, token).app(only_loopback=host in LOOPBACK), database


@contextlib.contextmanager
def served(folder: Path, pack: ReviewBundle | None = None, port: int = 0) -> Iterator[Page]:
    """The page in a thread."""
    pack = pack or pack_of(rooms(8), VIDEO)
    app, database = app_of(folder, pack)
    try:
        with serving(app, port) as base:
            yield Page(base, pack, database)
    finally:
        database.close()


@contextlib.contextmanager
def serving(app: Starlette, port: int = 0) -> Iterator[str]:
    """An application in a thread; its address."""
    server = uvicorn.Server(configured(app, "127.0.0.1", port or free_port()))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.config.port}"
    finally:
        server.should_exit = True
        thread.join()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


if __name__ == "__main__":
    own, _ = app_of(Path(sys.argv[1]), pack_of(rooms(int(sys.argv[3])), VIDEO))
    uvicorn.Server(configured(own, "127.0.0.1", int(sys.argv[2]))).run()
