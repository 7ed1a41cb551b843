"""The command `scan2qa publish`: what must hold before a release is published."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.release.terms import NOT_STATED
from tests.builds import Cli
from tests.flows.test_score import release_of
from tests.scoring.made import vsi


def whole(folder: Path, **changes: str) -> Path:
    """A release that may be published, but for some files."""
    release = release_of(folder / "release", [vsi(1)], {"object_counting": 0.1})
    texts = {
        "README.md": "---\nlicense: cc-by-4.0\n---\nContact: me@example.org.\n",
        "LICENSES.md": "| flights | 3 | mine |\n",
        "croissant.json": json.dumps({"version": "1.0.0", "datePublished": "2026-12-01"}),
    } | changes
    for name, text in texts.items():
        (release / name).write_text(text)
    files = [path for path in sorted(release.rglob("*")) if path.is_file() and path.name != "checksums.sha256"]
    lines = [f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(release)}\n" for f in files]
    (release / "checksums.sha256").write_text("".join(lines))
    return release


def told(run: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run.out)
    return found


def test_a_release_that_may_be_published_has_its_commands(scan2qa: Cli, tmp_path: Path) -> None:
    release = whole(tmp_path)
    (release / "eval" / "__pycache__").mkdir(parents=True)
    (release / "eval" / "__pycache__" / "rows.cpython-311.pyc").write_bytes(b"of a harness that ran here")
    run = scan2qa("publish", release, "--repo", "me/rooms", "--json")
    assert run.code == 0, run.err
    assert all(check["holds"] for check in told(run)["checks"])
    card = (release / "README.md").read_text()
    (release / "README.md").write_text(f"{card}My words.")
    edited = scan2qa("publish", release, "--json")
    assert edited.code == 0, edited.err
    assert "README.md was edited" in told(edited)["checks"][0]["found"]
    assert told(run)["commands"] == [
        f"hf upload me/rooms {tmp_path / 'release'} . --repo-type dataset --exclude '*.pyc'",
        "hf repos tag create me/rooms v1.0.0 --repo-type dataset",
    ]


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"README.md": "license: other\nContact: not stated yet (`export.contact`)."}, "a contact"),
        ({"LICENSES.md": f"| a | 1 | {NOT_STATED} |"}, "the terms of every source are stated"),
        ({"croissant.json": '{"version": "1.0.0"}'}, "a date"),
        ({"croissant.json": '{"datePublished": "2026-12-01"}'}, "a version"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    changes: dict[str, str], check: str, scan2qa: Cli, tmp_path: Path
) -> None:
    run = scan2qa("publish", whole(tmp_path, **changes), "--json")
    assert run.code == 3
    (failed,) = [one for one in told(run)["checks"] if not one["holds"]]
    assert failed["name"] == check
    assert "export." in failed["remedy"]
    assert told(run)["commands"] == []


@pytest.mark.parametrize("fault", ["changed", "gone", "strange"])
def test_files_are_those_that_were_released(fault: str, scan2qa: Cli, tmp_path: Path) -> None:
    release = whole(tmp_path)
    if fault == "changed":
        (release / "LICENSES.md").write_text("free")
    elif fault == "gone":
        (release / "without_video.json").unlink()
    else:
        (release / "notes.txt").write_text("mine")
    run = scan2qa("publish", release, "--json")
    assert run.code == 3
    (failed,) = [one for one in told(run)["checks"] if not one["holds"]]
    assert failed["found"] in {"LICENSES.md", "without_video.json", "notes.txt"}
