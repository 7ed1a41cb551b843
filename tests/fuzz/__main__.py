"""Coverage-guided fuzzing of a reader of binary files: `python -m tests.fuzz ply --seconds 600` (needs atheris).

Begins with the seeds and the saved corpus; what reaches new code within the time joins the corpus, smallest first. An
input that raises what the reader does not declare, takes over 30 s or asks for 1 GiB at once ends it, and is left
in ``--found``.
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

try:
    import atheris
except ModuleNotFoundError:
    sys.exit("atheris is not installed; it is not in the lock, as the tests do without: .venv/bin/pip install atheris")

with atheris.instrument_imports(include=["pipeline.formats"]):
    from tests.fuzz.readers import READERS, read_corpus, tried, write_corpus

LONGEST = 20_000  # bytes of an input
KEPT_BYTES = 30_000  # of a reader's saved corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reader", choices=[*READERS, "all"])
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--found", type=Path, default=Path("outputs/fuzz"))
    parser.add_argument(
        "--run", nargs="+", help=argparse.SUPPRESS
    )  # libFuzzer's arguments, for the process that fuzzes
    given = parser.parse_args()
    if given.run:
        fuzz(given.reader, given.run)
        return
    given.found.mkdir(parents=True, exist_ok=True)
    names = READERS if given.reader == "all" else (given.reader,)
    sys.exit(max([trial(name, given.seconds, given.found) for name in names]))


def trial(reader: str, seconds: int, found: Path) -> int:
    """Exit code of libFuzzer, 0 where nothing was found; what reached new code is then saved."""
    with tempfile.TemporaryDirectory() as folder:
        grown, saved = Path(folder, "grown"), Path(folder, "saved")
        seeds = {f"seed{number}": raw for number, raw in enumerate(READERS[reader].seeds())}
        for place, files in ((grown, seeds), (saved, read_corpus(reader))):
            place.mkdir()
            for name, raw in files.items():
                (place / name).write_bytes(raw)
        limits = [
            f"-max_len={LONGEST}",
            "-timeout=30",
            "-malloc_limit_mb=1024",
            "-rss_limit_mb=3072",
            f"-artifact_prefix={found}/",
        ]
        ended = run(reader, str(grown), str(saved), f"-max_total_time={seconds}", "-print_final_stats=1", *limits)
        if ended == 0:
            save(reader, (*grown.iterdir(), *saved.iterdir()))
    return ended


def run(reader: str, *arguments: str) -> int:
    """Exit code of libFuzzer, in a process of its own: it ends its process."""
    command = [sys.executable, "-m", "tests.fuzz", reader, "--run", " ".join(arguments)]
    return subprocess.run(command, check=False).returncode


def fuzz(reader: str, arguments: list[str]) -> None:
    """Ends the process."""
    target = READERS[reader]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"

        def one(raw: bytes) -> None:
            path.write_bytes(raw)
            tried(target, path)

        atheris.Setup([sys.argv[0], *" ".join(arguments).split()], one)
        atheris.Fuzz()


def save(reader: str, paths: Iterable[Path]) -> None:
    """Replaces the saved corpus by the smallest of those inputs that reached new code."""
    total, kept = 0, {}
    for raw in sorted({path.read_bytes() for path in paths}, key=lambda raw: (len(raw), raw)):
        total += len(raw)
        if total > KEPT_BYTES:
            break
        kept[hashlib.sha256(raw).hexdigest()[:16]] = raw
    write_corpus(reader, kept)


if __name__ == "__main__":
    main()
