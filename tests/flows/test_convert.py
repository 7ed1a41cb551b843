"""`scan2qa convert`: what it writes, what it refuses, and that one broken capture costs itself alone."""

import json
import re
from codecs import BOM_UTF8
from pathlib import Path

from pipeline.core.templates import load_table
from pipeline.worlds.indoor.converters.registry import CONVERTERS
from pipeline.worlds.registry import READERS
from tests.builds import Cli
from tests.worlds.indoor.test_converters import WRITERS, nerfstudio, room_plan


def test_each_capture_of_a_folder_becomes_a_scene(scan2qa: Cli, tmp_path: Path) -> None:
    for name in ("den", "attic"):
        nerfstudio(tmp_path / "in" / name)
    (tmp_path / "in/attic/transforms.json").write_text("{")
    run = scan2qa("convert", "nerfstudio", tmp_path / "in", tmp_path / "out")
    assert run.code == 3
    assert "bad_json" in run.out
    assert "scale_unknown" in run.out
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["den"]
    every = scan2qa("convert", "nerfstudio", tmp_path / "in/den", tmp_path / "other", "--verbose")
    assert every.code == 0
    assert "--verbose" not in every.out
    again = scan2qa("convert", "nerfstudio", tmp_path / "in/den", tmp_path / "out")
    assert again.code == 3
    assert "duplicate_scene" in again.out


def test_what_is_refused_says_what_there_is(scan2qa: Cli, tmp_path: Path) -> None:
    room_plan(tmp_path / "in")
    told = [
        ("nerfstudios", tmp_path / "in", "did you mean nerfstudio? There are 7scenes, "),
        ("colmap", tmp_path / "in", "no colmap here"),
        ("colmap", tmp_path / "in", "this looks like roomplan"),
        ("colmap", tmp_path / "no", "no such file or folder"),
    ]
    for name, source, says in told:
        run = scan2qa("convert", name, source, tmp_path / "out")
        assert run.code == 2
        assert says in " ".join(run.err.split())
    assert not (tmp_path / "out").exists()


def test_formats_are_listed_with_what_they_were_tried_on(scan2qa: Cli) -> None:
    run = scan2qa("converters")
    assert run.code == 0
    assert all(name in run.out for name in WRITERS)
    assert "made files" in run.out
    assert "kitchen" in run.out


def test_what_was_tried_on_made_files_alone_says_so() -> None:
    told = load_table("formats")
    named = {m[1]: remedy for _, _, remedy in told if (m := re.search(r"scan2qa convert (\w+) IN OUT", remedy))}
    assert named.keys() == CONVERTERS.keys()
    for name, remedy in named.items():
        assert ("made files alone" in remedy) == (CONVERTERS[name].real is None), name


def test_readers_docs_and_doctor_say_the_same_of_what_they_were_tried_on(scan2qa: Cli, tmp_path: Path) -> None:
    told, docs = load_table("tried_on"), (Path(__file__).resolve().parents[2] / "docs/build/converters.md").read_text()
    assert told.keys() == READERS.keys()
    assert [name for name, words in told.items() if f"| `{name}` | {words} |" not in docs] == []
    rows = {cells[1].strip(" `"): cells[-2] for line in docs.splitlines() if len(cells := line.split("|")) == 6}
    assert [name for name, c in CONVERTERS.items() if ("made files" in rows[name]) < (c.real is None)] == []
    room_plan(tmp_path / "in")
    scan2qa("convert", "roomplan", tmp_path / "in", tmp_path / "out")
    run = scan2qa("doctor", "--root", f"scene={tmp_path / 'out'}")
    assert f"Reader scene was tried on: {told['scene']}." in run.out


def test_a_room_plan_is_asked_about(scan2qa: Cli, tmp_path: Path) -> None:
    room_plan(tmp_path / "in")
    assert scan2qa("convert", "roomplan", tmp_path / "in/room.json", tmp_path / "out").code == 0
    document = json.loads((tmp_path / "out/room/scene.json").read_text())
    assert document["complete"] == ["door", "refrigerator", "sofa"]
    run = scan2qa("doctor", "--root", f"scene={tmp_path / 'out'}")
    assert run.code == 0
    assert "no visibility" in run.out
    assert "made files alone" in " ".join(run.out.split())
    file = tmp_path / "out/room/scene.json"
    file.write_bytes(BOM_UTF8 + file.read_bytes().replace(b"\n", b"\r\n"))  # as Windows writes it
    assert scan2qa("doctor", "--root", f"scene={tmp_path / 'out'}").out == run.out
    file.write_text(json.dumps(document | {"unit": "yard"}))
    run = scan2qa("doctor", "--root", f"scene={tmp_path / 'out'}")
    assert (run.code, "wrong_value" in run.out) == (3, True)
    assert "unit: Input should be 'm'" in " ".join(run.out.split())
