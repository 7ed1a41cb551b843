"""The example package is installed outside the tree, and builds with its own reader, log format and benchmark."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core import plugins
from pipeline.core.errors import ConfigError
from pipeline.engine.code import code_digest, code_parts, sources_of
from tests.builds import REPOSITORY, UNASKED_SETTINGS, rows_of

PACKAGE = REPOSITORY / "docs" / "example_package"
BOXES = "table, 0,0,0.4, 1.5,0.8,0.8\nchair, 2,0,0.45, 0.5,0.5,0.9\nchair, 2,2,0.45, 0.5,0.5,0.9\n" + "".join(
    f"{name}, {4 + i},0,0.3, 0.4,0.4,0.6\n" for i, name in enumerate(("bench", "plant pot"))
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the package was installed into."""
    target = tmp_path_factory.mktemp("outside")
    options = ("-q", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(PACKAGE)]
    subprocess.run(command, check=True, capture_output=True)
    return target


def scan2qa(target: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A command with the package on the path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(target), str(REPOSITORY)])}
    command = [sys.executable, "-m", "scan2qa", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
def test_a_package_from_outside_builds_with_all_it_brings(installed: Path, tmp_path: Path) -> None:
    root, out = tmp_path / "yards", tmp_path / "out"
    root.mkdir()
    (root / "back.csv").write_text(BOXES)
    options = ("--out", out, "--no-video", "--no-prefect", *UNASKED_SETTINGS)
    built = scan2qa(installed, "build", "yard", "--root", f"yard_boxes={root}", *options)
    assert built.returncode == 0, built.stderr
    (data,) = (out / "release/data").glob("test-*.parquet")
    (question,) = rows_of(data)
    assert question["question"] == "Of which kind of thing are there most in this yard?"
    assert dict(o.split(". ") for o in question["options"])[question["ground_truth"]] == "chair"
    log = tmp_path / "up.csv"
    log.write_text("t,lat,lon,alt\n" + "".join(f"{t},{52 + t * 1e-5:.6f},4.36,{10 + t}\n" for t in range(11)))
    tracked = scan2qa(installed, "track", log, "--out", tmp_path / "tracks")
    assert tracked.returncode == 0, tracked.stderr
    assert json.loads((tmp_path / "tracks/up.json").read_text())["format"] == "yard_csv"


@pytest.mark.slow
def test_the_real_command_names_a_broken_package_in_one_line(tmp_path: Path) -> None:
    write(tmp_path, "scan2qa.readers", "shed = shed:Missing")
    run = scan2qa(tmp_path, "readers")
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert "plug-in shed 3.1 (scan2qa.readers: shed = shed:Missing) cannot be used: AttributeError" in line


def write(folder: Path, group: str, entry: str, code: str = "") -> None:
    """A package as pip leaves it: a module and an entry point."""
    (folder / "shed.py").write_text(code)
    info = folder / "shed-3.1.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shed\nVersion: 3.1\n")
    (info / "entry_points.txt").write_text(f"[{group}]\n{entry}\n")


@pytest.fixture
def shed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path in which a package may be written."""
    monkeypatch.syspath_prepend(str(tmp_path))
    forget()
    yield tmp_path
    sys.modules.pop("shed", None)
    monkeypatch.undo()
    forget()


def forget() -> None:
    plugins.forget()
    sources_of.cache_clear()
    code_digest.cache_clear()
    code_parts.cache_clear()


SOUND = "class Shed:\n    name = 'shed'\n    world = 'indoor'\n"
BROKEN = {
    "it cannot be imported": ("shed = shed:Shed", "import nothing_of_that_name\n", "ModuleNotFoundError"),
    "it is not there": ("shed = shed:Other", SOUND, "AttributeError"),
    "it cannot be made": ("shed = shed:Shed", "class Shed:\n    def __init__(self, a): ...\n", "TypeError"),
    "it has another name": ("hut = shed:Shed", SOUND, "calls itself 'shed', its entry point 'hut'"),
    "it lacks something": ("shed = shed:Shed", "class Shed:\n    name = 'shed'\n", "it has no world"),
    "it has a name of ours": ("scannet = shed:Shed", SOUND, "the name scannet is scan2qa's own"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_package_that_cannot_be_used_is_named(shed: Path, kind: str) -> None:
    entry, code, says = BROKEN[kind]
    write(shed, "scan2qa.readers", entry, code)
    with pytest.raises(ConfigError) as told:
        plugins.load_plugins("scan2qa.readers", ("scannet",), lambda r: plugins.lacking(r, ("world",)))
    assert "plug-in shed 3.1" in str(told.value)
    assert says in str(told.value)
    assert "\n" not in str(told.value)


def test_code_of_packages_counts_as_that_of_the_stages_that_run_it(shed: Path) -> None:
    """Of a reader by its module, of a log format wherever logs are read; a changed line changes both digests."""
    reads_logs = ("pipeline.worlds.flight.readers.flights",)
    alone = code_digest(reads_logs)
    digests = []
    for code in (SOUND, SOUND, SOUND + "SIZE = 1\n"):
        write(shed, "scan2qa.log_formats", "shed = shed:Shed", code)
        forget()
        digests.append((code_digest(("shed",)), code_digest(reads_logs)))
    assert digests[0] == digests[1]
    assert digests[1][0] != digests[2][0]
    assert len({alone, *(logs for _, logs in digests)}) == 3
    assert "plug-in shed" in code_parts(reads_logs)
