"""Hostile inputs for everything that is read: `python -m tests.torture [--sample N]`, some fifteen minutes when whole.

Every file of a small sound root of each reader, and every file that people write, is replaced by damaged, huge, deep
and absurd ones, one at a time; so are the replies of a model server and the requests to the review page. Each is tried
in a process of its own. Counted are, and must be none: lost (another scene is not there any more), wrong (another scene
reads differently), hung (the limit of processor time or of patience is reached), tracebacks (errors without a finding).
"""

import argparse
import hashlib
import io
import json
import math
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

from flows.orchestration.folders import BUILDS
from flows.orchestration.saved_build import SAVED_FILE, read_saved_build
from flows.review_app.app import COOKIE, signed
from pipeline.blind.ask import AskConfig, ask
from pipeline.core.budget import WorkerLimits, lowered, may_end, processor_time
from pipeline.core.errors import RawDataError, Scan2qaError, unexpected
from pipeline.engine.config import load_config
from pipeline.reading.files import SceneFiles
from pipeline.reading.fix_files import SHIPPED, read_fixes
from pipeline.reading.listing import list_within
from pipeline.release.history import HISTORY_FILE, RELEASES, history
from pipeline.review.sheets import read_rows
from pipeline.samples.registry import SAMPLES
from pipeline.scoring.predictions import read_predictions
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from pipeline.worlds.registry import FIXES, READERS
from tests.benchmarks.vsi.test_revsi import furnished
from tests.benchmarks.vsi.test_revsi import write as write_revsi
from tests.fuzz.readers import CORPUS, read_corpus, tried
from tests.fuzz.readers import READERS as FORMATS
from tests.llm.asking import KEY, hosted, lettered_questions
from tests.llm.fake_server import _BEHAVIOURS, running
from tests.page.serving import served
from tests.review.made import SALT
from tests.worlds.arm.episodes import rows, write_demo
from tests.worlds.drive.drives import read as read_drive
from tests.worlds.drive.drives import tables_of, write_tables
from tests.worlds.flight.readers.test_episodes import episode
from tests.worlds.flight.readers.tiny_flights import place, point_feature, write_flight, write_map
from tests.worlds.indoor.readers.test_scene_folders import write as write_scene_folder
from tests.worlds.indoor.readers.tiny_scans import write_arkitscenes, write_scannet, write_scannetpp
from tests.worlds.panorama.panoramas import write as write_panorama

DEFAULTS: Final = WorkerLimits()
TRIED: Final = WorkerLimits(memory_gib=3.0, processor_s=60, listing_s=30)
PATIENCE_S: Final = 240.0  # by the clock, on a busy machine
SEED: Final = 7
CLOSE: Final = b"Connection: close"
ANSWERED_WITHIN_S: Final = 5.0
SIGNED_IN: Final = f"Cookie: {COOKIE}={signed('ada', hashlib.sha256(b'cookie' + SALT).digest())}"

Bytes = Callable[[bytes], bytes | None]  # a damaged file; None: this damage is for files of another kind


class Case(NamedTuple):
    """One hostile input.

    Attributes:
        subject: what reads it, a row of the table.
        name: for messages.
        run: tries it; gives what was found of each unit, and raises Scan2qaError where all is refused.
        bystander: a unit that must be found as ``expected`` says.
    """

    subject: str
    name: str
    run: Callable[[], dict[str, str]]
    bystander: str | None = None
    expected: str | None = None


@dataclass
class Row:
    """What became of the inputs of one subject."""

    tried: int = 0
    survived: int = 0
    lost: int = 0
    wrong: int = 0
    hung: int = 0
    tracebacks: int = 0
    memory_mib: int = 0
    processor_s: float = 0.0
    worst: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        """How many must not be."""
        return self.lost + self.wrong + self.hung + self.tracebacks


# Damage to any file, to text, and to numbers and words in it.


def _flipped(raw: bytes, seed: int) -> bytes:
    rng, out = random.Random(seed), bytearray(raw)  # noqa: S311
    for _ in range(max(1, len(raw) // 200)):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _text(change: Callable[[str], str]) -> Bytes:
    def damage(raw: bytes) -> bytes | None:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            return None
        return None if "\0" in text else change(text).encode("utf-8", "surrogatepass")

    return damage


def _numbers(value: str) -> Bytes:
    return _text(lambda text: re.sub(r"(?<![\w.\"#])-?\d+(\.\d+)?(?![\w\"])", value, text))


def _last_number(value: str) -> Bytes:
    return _text(lambda text: re.sub(r"-?\d+(\.\d+)?(?=\D*$)", value, text, count=1))


def _values(value: str) -> Bytes:
    return _text(lambda text: re.sub(r"(:\s+)[^\s{\[\"',][^\n,}\]]*", lambda m: m[1] + value, text))


def _json(text: str) -> Bytes:
    return _text(lambda found: text if found.lstrip()[:1] in "{[" else found + text)


DAMAGE: Final[dict[str, Bytes]] = {
    "empty": lambda raw: b"",
    "one byte": lambda raw: raw[:1],
    "a tenth": lambda raw: raw[: len(raw) // 10],
    "half": lambda raw: raw[: len(raw) // 2],
    "all but one byte": lambda raw: raw[:-1],
    "twice": lambda raw: raw + raw,
    "zeros": lambda raw: bytes(len(raw)),
    "ones": lambda raw: b"\xff" * len(raw),
    "noise": lambda raw: random.Random(SEED).randbytes(4096),  # noqa: S311
    "head and noise": lambda raw: raw[:64] + random.Random(SEED).randbytes(4096),  # noqa: S311
    **{f"flipped {seed}": partial(_flipped, seed=seed) for seed in range(4)},
    "deep lists": _json("[" * 100_000),
    "deep objects": _json('{"a":' * 100_000),
    "deep flow": _text(lambda text: text + "\nx: " + "{a: " * 20_000),
    "another kind": _json("[1, 2, 3]"),
    "null": _json("null"),
    "numbers of 4,000 digits": _numbers("9" * 4000),
    "hexadecimal of 4,000 digits": _values("0x" + "f" * 4000),
    "base 60": _text(lambda text: text + "\nbase: " + "1:" + "59:" * 300_000 + "59\n"),
    "numbers are 1e308": _numbers("1e308"),
    "numbers are -1": _numbers("-1"),
    "numbers are 0": _numbers("0"),
    "numbers are NaN": _numbers("NaN"),
    "numbers are 1e999": _numbers("1e999"),
    "last number is a list": _last_number("[]"),
    "last number is 1e15": _last_number("1e15"),
    "values are lists": _values("[1, 2]"),
    "values are dates": _values("2024-13-45"),
    "lone surrogates": _text(lambda text: re.sub(r'"[a-z ]{3,}"', r'"\\ud800"', text)),
    "UTF-16": lambda raw: raw.decode("latin-1").encode("utf-16"),
    "controls": _text(lambda text: text.replace(" ", "\x1b[2J")),
    "30,000 keys": _text(lambda text: text + "".join(f"\nkey{n}: {n}" for n in range(30_000)) + "\n"),
    "a key 30,000 times": _text(lambda text: text + "\nagain: 1" * 30_000 + "\n"),
    "aliases": _text(
        lambda text: (
            text + "\na0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
        )
    ),
    "a line of 20 MB": _text(lambda text: text + "x" * 20_000_000),
    "200,000 lines": _text(lambda text: text + "\n1 2 3" * 200_000),
    "each line 2,000 times": lambda raw: raw * 2000 if len(raw) < 20_000 else None,
}


_OF_TEXT: Final = frozenset(name for name, damage in DAMAGE.items() if damage(b"\0") is None)


def _fitting(raw: bytes) -> list[str]:
    """The damage that can be done to a file: none of text to what is none."""
    is_text = DAMAGE["null"](raw) is not None
    names = [name for name in DAMAGE if is_text or name not in _OF_TEXT]
    return [name for name in names if name != "each line 2,000 times" or DAMAGE[name](raw) is not None]


# One value of a file of JSON or YAML.

STRANGE: Final[dict[str, Any]] = {
    "null": None, "true": True, "no text": "", "a word": "x", "-1": -1, "0": 0, "1e308": 1e308, "infinite": math.inf,
    "of 310 digits": 10**309, "an empty list": [], "an empty object": {}, "lists in a list": [[[]]],
    "half a character": "\ud800", "a text of 100,000": "a" * 100_000, "a path that leads out": "../../../etc/passwd",
}  # fmt: skip
OF_A_FILE: Final = 40  # of all that can be done to one value, drawn
Place = tuple[str | int, ...]


def places(value: Any) -> Iterator[Place]:
    """Where the values of a file stand: of each list those in the first and in the last entry."""
    yield ()
    ends = {0: value[0], len(value) - 1: value[-1]} if isinstance(value, list) and value else {}
    for key, inner in (value if isinstance(value, dict) else ends).items():
        yield from ((key, *rest) for rest in places(inner))


def _with(value: Any, place: Place, new: Any) -> Any:
    if not place:
        return new
    copy = value.copy()
    copy[place[0]] = _with(value[place[0]], place[1:], new)
    return copy


def one_value(name: str, raw: bytes) -> dict[str, Bytes]:
    """What is done to single values of a file, by words for it; nothing to files of other kinds."""
    load, dump = (json.loads, json.dumps) if name.endswith("json") else (yaml.safe_load, yaml.safe_dump)
    if not name.endswith(("json", ".yaml")):
        return {}
    value = load(raw)
    alike = {re.sub(r"\d+", "#", repr(place)): place for place in places(value)}
    every = [(place, how) for place in alike.values() for how in STRANGE]

    def written(raw: bytes, place: Place, how: str) -> bytes:
        return dump(_with(value, place, STRANGE[how])).encode("utf-8", "surrogatepass")

    return {
        f"{'.'.join(map(str, place))} is {how}": partial(written, place=place, how=how)
        for place, how in random.Random(SEED).sample(every, min(OF_A_FILE, len(every)))  # noqa: S311
    }


LINKS: Final = ("a folder", "a pipe", "a loop of links", "nothing")  # in the place of the file


def replaced(path: Path, by: str) -> None:
    """Has something else than a file stand at a path."""
    path.unlink()
    if by == "a folder":
        path.mkdir()
    elif by == "a pipe":
        os.mkfifo(path)
    elif by == "a loop of links":
        path.symlink_to(path.name)


# Sound roots of each reader, of two scenes where that can be.


def _flights(root: Path) -> None:
    for name in ("one", "two"):
        folder = write_flight(root, {"landmarks": "marks.json"}, name=name, video_s=1.0)
        write_map(folder / "marks.json", point_feature(place(0.0, 40.0), name="the mast"))


def _indoor(write: Callable[..., Path], *names: str) -> Callable[[Path], None]:
    def both(root: Path) -> None:
        for name in names:
            write(root, name, frames=3)

    return both


def _panoramas(root: Path) -> None:
    for name in ("p1", "p2"):
        write_panorama(root, name)


def _demos(root: Path) -> None:
    for number in range(2):
        write_demo(root, rows(), episode=number)


def _episodes(root: Path) -> None:
    root.mkdir(parents=True)
    for name in ("one", "two"):
        (root / f"{name}.json").write_text(json.dumps([episode(f"env_1/high/{name}")]), "utf-8")


def _scenes(root: Path) -> None:
    for name in ("one", "two"):
        write_scene_folder(root, name=name)


def _metadata(root: Path) -> None:
    from pipeline.samples.indoor.metadata import write_sample_metadata

    write_sample_metadata(root)


def _tables(root: Path) -> None:
    plan = root.parent / "argoverse2"  # written before, as a sample
    drive = read_drive(plan, READERS["argoverse2"], "junction").facts
    write_tables(root, tables_of({"one": drive, "two": drive}, every=40, pictures=True))


ROOTS: Final[dict[str, Callable[[Path], object]]] = {
    "scannet": _indoor(write_scannet, "scene0000_00", "scene0001_00"),
    "scannetpp": _indoor(write_scannetpp, "0a1b2c3d4e", "1a1b2c3d4e"),
    "arkitscenes": _indoor(write_arkitscenes, "40000001", "40000002"),
    "scene": _scenes,
    "vsi_meta": _metadata,
    "revsi_meta": lambda root: write_revsi(root, *(furnished(f"room{n}", n) for n in range(2))),
    "flights": _flights,
    "openfly": _episodes,
    "panoramas": _panoramas,
    "rlbench": _demos,
    "nuscenes": _tables,
}
OF_WORLDS: Final = ("drive", "arm", "city")  # whose samples are small


def write_roots(folder: Path) -> None:
    """A sound root for every reader."""
    for world in OF_WORLDS:
        SAMPLES[world].write(folder)
    for name, write in ROOTS.items():
        write(folder / name)
    left_out = READERS.keys() - {path.name for path in folder.iterdir()}
    assert not left_out, f"no root for {', '.join(sorted(left_out))}"


def examined(reader: str, root: Path) -> dict[str, str]:
    """What is read of each unit: a digest of the scene, or a finding. Raises what is not a scene's."""
    own, found = READERS[reader], {}
    listing = list_within(own, root, TRIED)
    found = {f"{error.path.name}, {error.scene}": told(error) for error in listing.broken}
    for ref in listing.scenes:
        try:
            files = SceneFiles(root, ref)
            scene = own.read(files)
            own.geometry(files, scene)
            footage = own.footage(files, scene)
            if footage is not None:
                list(islice(footage.frames(), 2))
            found[ref.id] = hashlib.sha256(scene.model_dump_json().encode()).hexdigest()
        except Exception as error:
            found[ref.id] = told(unexpected(error, files.path, ref.id))
    return found


def told(error: RawDataError) -> str:
    """A finding, in full where it is a fault of ours."""
    return f"{error.finding}: {error.message}" if error.finding == "unexpected_error" else error.finding


def scene_cases(folder: Path, work: Path) -> Iterator[Case]:
    """All damage to all kinds of files of all roots."""
    for reader in READERS:
        root = folder / reader
        sound: dict[str, str] = pickle.loads(apart(partial(examined, reader, root)).raw)  # noqa: S301
        scenes = sorted(sound)
        bystander = scenes[-1] if len(scenes) > 1 else None
        marks = [re.split(r"[/.]", scene)[-1] for scene in scenes]
        kinds: dict[str, Path] = {}
        for path in sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file()):
            if bystander is None or marks[-1] not in str(path):
                kinds.setdefault(re.sub(r"\d+", "#", path.name), path)
        for path in kinds.values():
            raw = (root / path).read_bytes()
            done = {how: DAMAGE[how] for how in _fitting(raw)} | one_value(path.name, raw) | dict.fromkeys(LINKS)
            for name, damage in done.items():
                of_one = any(mark in str(path) for mark in marks[:-1])  # else other scenes may need it too
                own = (bystander, sound[bystander]) if bystander and of_one else (None, None)
                yield Case(reader, f"{path}: {name}", partial(_damaged, reader, root, path, damage or name, work), *own)


def _damaged(reader: str, root: Path, path: Path, damage: Bytes | str, work: Path) -> dict[str, str]:
    own = work / "root"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(root, own)
    if isinstance(damage, str):
        replaced(own / path, damage)
    else:
        (own / path).write_bytes(damage((root / path).read_bytes()) or b"")
    return examined(reader, own)


def format_cases(work: Path) -> Iterator[Case]:
    """Seeds of the fuzzer damaged, and what it found."""

    def run(name: str, raw: bytes, damage: Bytes) -> dict[str, str]:
        path = work / "file"
        path.write_bytes(damage(raw) or b"")
        tried(FORMATS[name], path)
        return {}

    for name, fuzzed in FORMATS.items():
        if (CORPUS / f"{name}.zip").exists():
            for key, raw in read_corpus(name).items():
                yield Case(f"format {name}", key, partial(run, name, raw, lambda raw: raw))
        for number, seed in enumerate(fuzzed.seeds()):
            for how in _fitting(seed):
                yield Case(f"format {name}", f"seed {number}: {how}", partial(run, name, seed, DAMAGE[how]))


# Files that people write.


def _at(work: Path, name: str, read: Callable[[Path], object], how: str, raw: bytes) -> dict[str, str]:
    path = work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(DAMAGE[how](raw) or b"")
    read(path)
    return {}


def _table(suffix: str) -> bytes:
    import pandas as pd

    table = pd.DataFrame({"id": [1, 2, 3], "answer": ["A", "B", "2.5"]})
    out = io.BytesIO()
    {
        ".csv": lambda: table.to_csv(out, index=False),
        ".json": lambda: table.to_json(out, orient="records"),
        ".jsonl": lambda: table.to_json(out, orient="records", lines=True),
        ".parquet": lambda: table.to_parquet(out),
        ".xlsx": lambda: table.to_excel(out, index=False),
    }[suffix]()
    return out.getvalue()


WRITTEN: Final[dict[str, tuple[str, Callable[[Path], object], Callable[[], bytes]]]] = {
    "configuration": ("vsi.yaml", load_config, (BUILDS / "vsi.yaml").read_bytes),
    "setting": (
        "set.yaml",
        lambda path: load_config(BUILDS / "vsi.yaml", [f"export={path.read_bytes().decode(errors='surrogateescape')}"]),
        lambda: b"{pretty_name: A, contact: 7, split: test}",
    ),
    "fixes": (
        "fixes/scannet.yaml",
        lambda path: read_fixes([path.parent], FIXES),
        (SHIPPED / "scannet.yaml").read_bytes,
    ),
    "saved build": (SAVED_FILE, lambda path: read_saved_build(path.parent), lambda: b"at: 2025-01-01\nroots: {a: b}\n"),
    "history": (
        f"{RELEASES}/{HISTORY_FILE}",
        lambda path: history(path.parents[1]),
        lambda: b'{"name": "a1", "at": "2025-01-01T00:00:00"}\n',
    ),
    "review sheet": ("sheet.csv", read_rows, lambda: b"id,reviewer,answer,decision\n1,ada,A,correct\n2,ada,B,flag\n"),
    "routes": (
        "routes.jsonl",
        read_written_routes,
        lambda: (
            b'{"scene": "scannet/a", "start": "bed", "facing": "door", "steps": ["turn left"], "destination": "desk"}\n'
        ),
    ),
    **{
        f"replies {suffix}": (f"replies{suffix}", lambda path: read_predictions([path]), partial(_table, suffix))
        for suffix in (".csv", ".json", ".jsonl", ".parquet", ".xlsx")
    },
}


def written_cases(work: Path) -> Iterator[Case]:
    """Damage to files that people write."""
    for subject, (name, read, sound) in WRITTEN.items():
        raw = sound()
        for how in _fitting(raw):
            yield Case(subject, how, partial(_at, work / "written", name, read, how, raw))


# A model server, and the review page.


def model_cases(address: str, work: Path) -> Iterator[Case]:
    """The modes of a server, in both protocols."""

    def run(provider: str, model: str) -> dict[str, str]:
        spec = hosted(address, provider, model=model, timeout_s=3.0)
        cache = work / f"{provider}-{model}.sqlite"
        ask(lettered_questions(3), [spec], cache, {"PLANTED_KEY": KEY}, AskConfig())
        return {}

    for provider in ("openai", "gemini"):
        for model in _BEHAVIOURS:
            yield Case("model server", f"{provider} {model}", partial(run, provider, model))


def page_requests() -> list[bytes]:
    """Hostile requests to the review page."""
    paths = [
        "/", "/next", "/items/1", "/items/" + "9" * 5000, "/items/-1", "/items/1e9", "/items/%00", "/items/..%2f..",
        "/next?after=" + "9" * 5000, "/next?after=x", "/next?after=-1", "/next?reviewer=%ff%fe", "/../../etc/passwd",
        "/static/../../etc/passwd", "/videos/..%2f..%2fetc%2fpasswd", "/videos/made/room.mp4", "//", "/%",
        "/" + "a" * 60_000,
        "/items/1?reviewer=" + "a" * 20_000,
    ]  # fmt: skip
    hosts = ["127.0.0.1", "[", "[::1", "evil.example", "127.0.0.1:99999999", "\xff"]
    made = [f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{SIGNED_IN}\r\nConnection: close\r\n\r\n" for path in paths]
    made += [f"GET /next HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n" for host in hosts]
    bodies = ["", "reviewer=", "reviewer=a&answer=" + "x" * 100_000, "%ff%fe=%00", "a=b&" * 5000, "{" * 10_000]
    for path in ("/items/1/answer", "/items/1/accept", "/items/1/flag", "/sign-in", f"/items/{10**20}/answer"):
        for body in bodies:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            head += f"Sec-Fetch-Site: same-origin\r\n{SIGNED_IN}\r\n"
            head += "Content-Type: application/x-www-form-urlencoded\r\n"
            made.append(f"{head}Content-Length: {len(body)}\r\n\r\n{body}")
            made.append(
                f"{head}Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(body)}\r\n\r\n{body}"
            )
    for head in (
        "Range: bytes=9-1",
        "Range: bytes=" + "0-1," * 2000,
        "Cookie: " + "a=b;" * 2000,
        "Cookie: reviewer=%00",
    ):
        made.append(f"GET /videos/made/room.mp4 HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{head}\r\n\r\n")
    made += [
        "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "BREW / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "\0" * 100,
        "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /name HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]  # fmt: skip
    return [one.encode("latin-1") for one in made]


def tried_on_page(folder: Path, requests: Sequence[bytes]) -> Row:
    """What the page answers: nothing above 4xx, and it still serves afterwards."""
    row = Row()
    with served(folder) as page:
        port = int(page.base.rpartition(":")[2])
        for raw in (*requests, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"):
            row.tried += 1
            with socket.create_connection(("127.0.0.1", port), ANSWERED_WITHIN_S) as line:
                answer = b""
                try:
                    line.sendall(raw)
                    answer = line.recv(64)
                except TimeoutError:
                    if CLOSE in raw:  # whole: else the page waits for the rest, for a while
                        row.hung += 1
                        row.worst.append(f"no answer to {raw[:60]!r}")
                        continue
                except OSError:  # refused without a word
                    pass
            status = answer[9:10]
            row.tracebacks += status == b"5"
            row.survived += status != b"5"
            if status == b"5":
                row.worst.append(f"{answer[:20]!r} to {raw[:80]!r}")
        row.lost += status not in {b"2", b"3", b"4"}
    return row


# Trying.


class Ended(NamedTuple):
    """How a process of our own ended, and what it sent."""

    raw: bytes
    code: int
    usage: resource.struct_rusage


def apart(run: Callable[[], dict[str, str]]) -> Ended:
    """Runs something in a process of its own."""
    receiving, sending = os.pipe()
    child = os.fork()
    if child == 0:
        _try(run, sending)
    os.close(sending)
    raw, until = b"", time.monotonic() + PATIENCE_S
    while select.select([receiving], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(receiving, 2**16)
        if not part:
            break
        raw += part
    else:
        os.kill(child, signal.SIGKILL)
    os.close(receiving)
    _, status, usage = os.wait4(child, 0)
    return Ended(raw, os.waitstatus_to_exitcode(status), usage)


def tried_alone(case: Case, row: Row) -> None:
    """Tries one input and counts what became of it."""
    raw, code, usage = apart(case.run)
    row.tried += 1
    row.memory_mib = max(row.memory_mib, usage.ru_maxrss // 1024)
    row.processor_s = max(row.processor_s, usage.ru_utime + usage.ru_stime)
    if not raw:
        hung = code in {-signal.SIGXCPU, -signal.SIGKILL}
        row.hung += hung
        row.tracebacks += not hung
        row.worst.append(f"{case.name}: ended with {code}")
        return
    found: dict[str, str] | str = pickle.loads(raw)  # noqa: S301  of our own child
    faults = [found] if isinstance(found, str) else [text for text in found.values() if "unexpected_error" in text]
    if isinstance(found, dict) and "processor_limit" in found.values():
        row.hung += 1
        row.worst.append(f"{case.name}: processor_limit")
    elif faults:
        row.tracebacks += 1
        row.worst.append(f"{case.name}: {faults[0][:300]}")
    elif isinstance(found, dict) and case.bystander and found.get(case.bystander) != case.expected:
        row.lost += case.bystander not in found
        row.wrong += case.bystander in found
        row.worst.append(f"{case.name}: {case.bystander} is {found.get(case.bystander)}")
    else:
        row.survived += 1


def _try(run: Callable[[], dict[str, str]], sending: int) -> None:
    """Sends what was found, or the words of an error that nobody raises on purpose; ends this process."""
    os.setsid()
    found: dict[str, str] | str | None
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 2)
    try:
        may_end(lambda _: None)
        with lowered(TRIED), processor_time(TRIED.processor_s):
            found = run()
    except Scan2qaError:
        found = {"all": "refused"}
    except BaseException as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        where = f"{Path(frame.tb_frame.f_code.co_filename).name}:{frame.tb_lineno}" if frame else ""
        found = f"{type(error).__name__}: {str(error)[:200]} ({where})"
    with os.fdopen(sending, "wb") as out:
        out.write(pickle.dumps(found))
        out.flush()
        os._exit(0)


@contextmanager
def cases() -> Iterator[tuple[list[Case], Path]]:
    """All inputs but those to the page, while their files and servers are there."""
    with tempfile.TemporaryDirectory(prefix="torture-") as name, running() as server:
        folder, work = Path(name, "sound"), Path(name, "work")
        folder.mkdir()
        work.mkdir()
        write_roots(folder)
        every = [*scene_cases(folder, work), *format_cases(work), *written_cases(work)]
        yield [*every, *model_cases(server.address, work)], work


def torture(sample: int | None = None, only: Sequence[str] = (), apart_from: Sequence[str] = ()) -> dict[str, Row]:
    """Tries all inputs, or some of each subject; a row for each."""
    table: dict[str, Row] = {}
    with cases() as (every, work):
        chosen = [case for case in every if _is_wanted(case.subject, only) and case.subject not in apart_from]
        if sample is not None:
            mixed = random.Random(SEED).sample(chosen, len(chosen))  # noqa: S311
            counts: Counter[str] = Counter()
            chosen = [case for case in mixed if (counts.update([case.subject]), counts[case.subject] <= sample)[1]]
        for case in chosen:
            tried_alone(case, table.setdefault(case.subject, Row()))
        if _is_wanted("review page", only):
            requests = page_requests()
            table["review page"] = tried_on_page(
                work, requests if sample is None else requests[:: len(requests) // sample]
            )
    return dict(sorted(table.items()))


def _is_wanted(subject: str, only: Sequence[str]) -> bool:
    return not only or any(part in subject for part in only)


def printed(table: dict[str, Row]) -> str:
    """The table in Markdown, the worst of each reader beside the limits of a build."""
    lines = [
        "| read | tried | survived | lost | wrong | hung | tracebacks "
        f"| memory, of {DEFAULTS.memory_gib * 1024:,.0f} MiB | processor, of {DEFAULTS.processor_s:,} s |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    total = Row()
    for name, row in table.items():
        for key in ("tried", "survived", "lost", "wrong", "hung", "tracebacks"):
            setattr(total, key, getattr(total, key) + getattr(row, key))
        total.memory_mib, total.processor_s = (
            max(total.memory_mib, row.memory_mib),
            max(total.processor_s, row.processor_s),
        )
        lines.append(_line(name, row))
    return "\n".join([*lines, _line("**all**", total)])


def _line(name: str, row: Row) -> str:
    counts = (row.tried, row.survived, row.lost, row.wrong, row.hung, row.tracebacks)
    cost = (f"{row.memory_mib:,}", f"{row.processor_s:.1f}") if row.memory_mib else ("", "")
    return f"| {name} | {' | '.join(f'{n:,}' for n in counts)} | {' | '.join(cost)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, help="inputs of each subject; all without it")
    parser.add_argument("--only", nargs="+", default=[], help="subjects whose names hold one of these")
    given = parser.parse_args()
    table = torture(given.sample, given.only)
    print(printed(table))
    for name, row in table.items():
        for line in row.worst:
            print(f"{name}: {line}", file=sys.stderr)
    sys.exit(any(row.faults for row in table.values()))


if __name__ == "__main__":
    main()
