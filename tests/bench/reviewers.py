"""Twenty reviewers at once, and a server that is killed meanwhile.

Each reviewer is a thread with a connection of its own that takes the next question, reads it, answers, judges and goes
on after a quarter of a second, twenty times as fast as a person. The server is a process of its own; in the middle it
is killed (SIGKILL) and started again. What it acknowledged must be in the database once, and nobody may have answered
twice.
"""

import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx
import numpy as np

from pipeline.review.database import ReviewDatabase
from tests.bench.measuring import Figure, temporary
from tests.page.serving import DATABASE, free_port

REVIEWERS: Final = 20
ITEMS: Final = 2_000
PAUSE_S: Final = 0.25
TARGETS_MS: Final = {50: 100.0, 95: 200.0, 99: 400.0}  # percentile -> at most
_CONTENT: Final = re.compile(r'name="content" value="([0-9a-f]+)"')


@dataclass
class Said:
    """What the reviewers did."""

    acknowledged: set[tuple[str, int, str]] = field(default_factory=set)  # reviewer, item, answer
    times_ms: list[float] = field(default_factory=list)
    broken: int = 0  # requests that a dead server did not answer
    wrong: list[str] = field(default_factory=list)  # answers that should not be


def run(folder: Path, seconds: float, reviewers: int = REVIEWERS, items: int = ITEMS) -> Said:
    """Lets reviewers work; the server is killed and started again after half of the time."""
    port, said, stop = free_port(), Said(), threading.Event()
    server = _start(folder, port, items)
    people = [
        threading.Thread(target=_review, args=(f"http://127.0.0.1:{port}", f"reviewer {n:02}", said, stop))
        for n in range(reviewers)
    ]
    for person in people:
        person.start()
    time.sleep(seconds / 2)
    server.send_signal(signal.SIGKILL)
    server.wait()
    server = _start(folder, port, items)
    time.sleep(seconds / 2)
    stop.set()
    for person in people:
        person.join()
    server.terminate()
    server.wait()
    return said


def check(folder: Path, said: Said) -> list[str]:
    """What was lost, doubled or answered wrongly; nothing, if all is well."""
    database = ReviewDatabase(folder / DATABASE)
    stored = Counter((e.reviewer, e.item) for e in database.events() if e.kind == "answer")
    answers = {(e.reviewer, e.item, e.answer) for e in database.events() if e.kind == "answer"}
    database.close()
    lost = said.acknowledged - answers
    doubled = [key for key, n in stored.items() if n > 1]
    return [*said.wrong, *(f"lost: {key}" for key in sorted(lost)), *(f"doubled: {key}" for key in doubled)]


def _start(folder: Path, port: int, items: int) -> subprocess.Popen[bytes]:
    server = subprocess.Popen([sys.executable, "-m", "tests.page.serving", str(folder), str(port), str(items)])
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/")
        except httpx.TransportError:
            time.sleep(0.05)
        else:
            return server


def _review(base: str, name: str, said: Said, stop: threading.Event) -> None:
    rng = random.Random(name)  # noqa: S311
    with httpx.Client(base_url=base, headers={"origin": base}, timeout=30.0) as client:
        signed_in = False
        while not stop.is_set():
            try:
                if not signed_in:
                    signed_in = client.post("/sign-in", data={"reviewer": name}).status_code == 303
                _one(client, name, rng, said)
                stop.wait(rng.uniform(0, 2 * PAUSE_S))
            except httpx.TransportError:
                said.broken += 1
                time.sleep(0.02)


def _one(client: httpx.Client, name: str, rng: random.Random, said: Said) -> None:
    """One question: taken, read, answered, judged. Some send their answer twice."""
    address = _timed(client, "GET", "/next", said).headers.get("location", "/")
    page = _timed(client, "GET", address, said)
    content = _CONTENT.search(page.text)
    if content is None:
        said.wrong.append(f"{address}: {page.status_code}")
        return
    item = int(address.rsplit("/", 1)[1])
    if 'name="answer"' in page.text:  # else it was answered before the server was killed
        answer = str(rng.randint(1, 9)) if 'id="number"' in page.text else rng.choice("ABCD")
        form = {"content": content[1], "answer": answer}
        if _timed(client, "POST", f"/items/{item}/answer", said, form).status_code == 303:
            said.acknowledged.add((name, item, answer))
        if rng.random() < 0.1:
            _timed(client, "POST", f"/items/{item}/answer", said, form | {"answer": "A" if answer > "9" else "3"})
    action, form = ("accept", {}) if rng.random() < 0.7 else ("flag", {"reason": "direction"})
    done = _timed(client, "POST", f"/items/{item}/{action}", said, {"content": content[1], **form})
    if done.status_code != 303:
        said.wrong.append(f"{item}/{action}: {done.status_code} {done.text}")


def _timed(
    client: httpx.Client, method: str, path: str, said: Said, form: dict[str, str] | None = None
) -> httpx.Response:
    start = time.perf_counter()
    response = client.request(method, path, data=form)
    said.times_ms.append(1000 * (time.perf_counter() - start))
    return response


def reviewers(seconds: str = "20") -> Iterator[Figure | str]:
    """Twenty reviewers at once for so many seconds; the server is killed meanwhile."""
    with temporary() as place:
        said = run(place, float(seconds))
        faults = check(place, said)
    yield Figure("requests lost to the kill; baseline: answered", said.broken, baseline=len(said.times_ms))
    yield Figure(f"of {len(said.acknowledged)} answers lost, doubled or refused", len(faults), "", 0)
    for share in TARGETS_MS:
        yield Figure(f"response, p{share}", float(np.percentile(said.times_ms, share)), "ms", TARGETS_MS[share])
    yield from faults[:20]
