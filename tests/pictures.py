"""Makes the pictures of docs/pictures, which have no other source: python -m tests.pictures [NAME …] [--work DIR]

From sample builds, in Debian's Chromium. `--work` keeps the builds: pictures of another day then take a minute.
"""

import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
from PIL import Image, ImageStat
from playwright.sync_api import Page, sync_playwright
from rich.console import Console
from rich.text import Text

from pipeline.core.identity import rng_for
from pipeline.samples.flight.write import write_flights
from tests.builds import REPOSITORY, UNASKED_SETTINGS
from tests.conftest import REAL_DATA
from tests.page.conftest import ARGUMENTS, CHROMIUM
from tests.page.serving import free_port

FOLDER: Final = REPOSITORY / "docs" / "pictures"
COLUMNS: Final = 112  # of the terminal
TERMINAL: Final = (
    '<body style="margin:0"><pre style="display:inline-block;margin:0;padding:14px 18px;background:#1b1f23;'
    'color:#e6e6e6;font:15px/1.3 monospace">{code}</pre></body>'
)
COLOURS: Final = 128
SLEPT_S: Final = 0.5
WAITED_MS: Final = 2000  # until no video shows that it is loading
SEEDED: Final = {"model-a": 0.8, "model-b": 0.7, "model-c": 0.6}  # share of right replies: made, since none is asked


def run(work: Path, *command: object, typed: str = "", **environment: str) -> str:
    """The output of a scan2qa command in the work folder."""
    shown = {"COLUMNS": str(COLUMNS), "PYTHONPATH": str(REPOSITORY), **environment}
    arguments = [sys.executable, "-m", "scan2qa", *map(str, command)]
    done = subprocess.run(
        arguments, cwd=work, env=os.environ | shown, input=typed, stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode not in (0, 3):  # 3: scenes were left out
        raise SystemExit(f"scan2qa {' '.join(arguments[3:])} ended with exit code {done.returncode}")
    return done.stdout


@contextlib.contextmanager
def serving(work: Path, address: str, *command: object, **environment: str) -> Iterator[None]:
    """A server that runs until its page was looked at."""
    shown = os.environ | {"PYTHONPATH": str(REPOSITORY), **environment}
    arguments = [sys.executable, "-m", *map(str, command)]
    with subprocess.Popen(
        arguments, cwd=work, env=shown, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            for _ in range(240):
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    urllib.request.urlopen(address, timeout=5)  # noqa: S310
                    break
                time.sleep(SLEPT_S)
            yield
        finally:
            server.terminate()


def built(work: Path) -> Path:
    """The build of VSI-Bench on samples; what it printed is beside it."""
    if not (work / "build.txt").exists():
        (work / "build.txt").write_text(run(work, "build", "vsi", "--no-prefect"))
    return work / "outputs" / "vsi"


def questions(work: Path) -> list[dict[str, Any]]:
    """The released questions."""
    (data,) = (built(work) / "release" / "data").glob("test-*.parquet")
    return list(pq.ParquetFile(data).read().to_pylist())


def replies(work: Path) -> list[str]:
    """MODEL=FILE of made replies to the questions of the build."""
    told = []
    for name, share in SEEDED.items():
        file, rng = work / f"{name}.jsonl", rng_for("docs/pictures", name)
        rows = []
        for row in questions(work):
            others = "ABCD"[: len(row["options"] or ())] or [str(2 * float(row["ground_truth"]))]
            reply = row["ground_truth"] if rng.random() < share else others[int(rng.integers(len(others)))]
            rows.append(json.dumps({"id": row["id"], "answer": reply}))
        file.write_text("\n".join(rows) + "\n")
        told.append(f"{name}={file}")
    return told


def save(name: str, png: bytes) -> None:
    """With few colours: a third of the bytes."""
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)
    print(f"{name}.png {(FOLDER / f'{name}.png').stat().st_size:,} bytes, {picture.size}")


def terminal(work: Path, page: Page) -> bytes:
    """The end of a build, and a question, as a terminal shows them."""
    built(work)
    end = (work / "build.txt").read_text()
    end = re.sub(
        r"(?<=: new), \d+ \w+", "", end[end.index("Ran ") :]
    )  # the time is that of a busy machine or an idle one
    number = asked_about(work)
    shown = run(work, "show", number, "vsi", FORCE_COLOR="1")
    console = Console(record=True, file=io.StringIO(), width=COLUMNS, force_terminal=True)
    console.print(Text("$ scan2qa build vsi", style="bold"))
    console.print(Text("…\n" + end))
    console.print(Text(f"$ scan2qa show {number} vsi", style="bold"))
    console.print(Text.from_ansi("\n".join(shown.splitlines()[:24]) + "\n…"))
    page.set_content(console.export_html(inline_styles=True, code_format=TERMINAL))
    return page.locator("pre").screenshot()


def asked_about(work: Path) -> int:
    """The id of the question that is shown: a distance."""
    return min(row["id"] for row in questions(work) if row["question_type"] == "object_abs_distance")


def gallery(work: Path, page: Page) -> bytes:
    """A question with its proof."""
    address = (built(work) / "gallery" / "index.html").resolve().as_uri()
    page.set_viewport_size({"width": 1160, "height": 880})
    page.goto(f"{address}#id={asked_about(work)}")
    page.locator("#detail img").first.wait_for()
    page.wait_for_load_state("networkidle")
    page.evaluate("document.activeElement.blur()")  # no ring around a button
    page.wait_for_timeout(WAITED_MS)
    return page.screenshot()


def report(work: Path, page: Page) -> bytes:
    """The beginning of the report."""
    run(work, "report", "vsi", "--out", work / "report.html")
    page.set_viewport_size({"width": 1170, "height": 940})
    page.goto((work / "report.html").as_uri())
    page.wait_for_load_state("networkidle")
    return page.screenshot()


def review(work: Path, page: Page) -> bytes:
    """A question after a wrong answer."""
    built(work)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    page.set_viewport_size({"width": 1180, "height": 1000})
    with serving(work, address, "scan2qa", "review", "vsi", "--port", port, "--no-checks"):
        page.goto(address)
        page.get_by_label("Name").fill("Ada")
        page.keyboard.press("Enter")
        page.locator("#next").click()
        for _ in range(40):  # to a question with options that is answered wrongly
            if page.locator("button.option").count():
                page.locator("button.option").first.click()
                page.locator("#verdict").wait_for()
                if page.locator("#verdict.bad").count():
                    break
            page.locator("#next").click()
        page.wait_for_load_state("networkidle")
        page.wait_for_function("document.getElementById('video').readyState >= 3")
        page.wait_for_timeout(WAITED_MS)
        return page.screenshot()


def leaderboard(work: Path, page: Page) -> bytes:
    """Three sets of made replies."""
    release = built(work).relative_to(work) / "release"
    run(work, "leaderboard", "vsi", release, *replies(work), "--out", work / "board.html")
    page.set_viewport_size({"width": 940, "height": 620})
    page.goto((work / "board.html").as_uri())
    return page.screenshot()


def prefect(work: Path, page: Page) -> bytes:
    """The run of a build of the same samples."""
    port = free_port()
    api = f"http://127.0.0.1:{port}/api"
    home = {"PREFECT_HOME": str(work / "prefect"), "PREFECT_API_URL": api, "DO_NOT_TRACK": "1"}
    home["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
    page.set_viewport_size({"width": 1280, "height": 570})
    with serving(work, f"{api}/health", "prefect", "server", "start", "--port", port, **home):
        run(
            work,
            "build",
            "vsi",
            "--out",
            work / "watched" / str(port),
            "--prefect",
            *UNASKED_SETTINGS,
            "--no-video",
            **home,
        )
        request = urllib.request.Request(f"{api}/flow_runs/filter", b"{}", {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310
            (flow_run, *_) = json.load(reply)
        page.goto(f"http://127.0.0.1:{port}/runs/flow-run/{flow_run['id']}")
        page.get_by_text("Task runs").first.wait_for()
        time.sleep(8)  # the graph is drawn
        return page.screenshot()


def track(work: Path, page: Page) -> bytes:
    """What `scan2qa track --plot` draws of a sample flight."""
    if not (work / "flights").exists():
        write_flights(work / "flights")
    log = next(iter(sorted((work / "flights").rglob("log.*"))))
    run(work, "track", log, "--out", work / "tracks", "--plot")
    return next(iter(sorted((work / "tracks").glob("*.png")))).read_bytes()


def city_play(work: Path, page: Page) -> bytes:
    """An agent's view at the start of a task."""
    release = work / "outputs" / "cityeqa" / "release"
    if not release.exists():
        run(work, "build", "cityeqa", "--no-prefect", "--no-video", *UNASKED_SETTINGS)
    (data,) = (release / "data").glob("tasks-*.parquet")
    tasks = sorted(pq.ParquetFile(data).read(["question_id"]).column(0).to_pylist())
    seen = []
    for task in tasks[:: len(tasks) // 24]:
        run(work, "play", "cityeqa", task, "--picture", work / "seen.png", typed="q\n")
        seen.append((work / "seen.png").read_bytes())

    def before_the_sky(raw: bytes) -> float:
        """How much there is to see in the upper half."""
        return float(ImageStat.Stat(Image.open(io.BytesIO(raw)).crop((0, 0, 640, 240))).stddev[0])

    return max(seen, key=before_the_sky)


def places(work: Path, page: Page) -> bytes:
    """Places in Monaco; needs its extract in ../shared."""
    run(
        work,
        "places",
        REAL_DATA / "city" / "monaco.osm.gz",
        "--out",
        work / "places",
        "--top",
        30000,
        "--exclude",
        "KP",
    )
    return (work / "places" / "places.png").read_bytes()


PICTURES: Final[dict[str, Callable[[Path, Page], bytes]]] = {
    "terminal": terminal,
    "gallery": gallery,
    "report": report,
    "review": review,
    "leaderboard": leaderboard,
    "prefect": prefect,
    "track": track,
    "city-play": city_play,
    "places": places,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    parser.add_argument("--work", type=Path, help="folder of the builds; a new one is removed afterwards")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        work = options.work or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        work.mkdir(parents=True, exist_ok=True)
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name in options.names or PICTURES:
            page = browser.new_page()
            save(name, PICTURES[name](work.resolve(), page))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
