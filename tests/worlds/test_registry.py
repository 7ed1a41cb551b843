"""The registry of worlds: each is imported when it is looked up, and scenes are read by the name of their world."""

import json
import subprocess
import sys

import pytest

from pipeline.core.errors import StoreError
from pipeline.worlds.registry import WORLDS, read_scene, scene_type
from tests.conftest import cube, make_scene


def test_a_world_is_imported_when_one_of_its_readers_is_looked_up() -> None:
    code = (
        "import sys; from pipeline.worlds.registry import READERS, WORLDS; print(*WORLDS, READERS['vsi_meta'].name)\n"
        "print(*sorted(n for n in WORLDS if f'pipeline.worlds.{n}' in sys.modules)); print('gone' in READERS)\n"
        "print(*sorted(n for n in WORLDS if f'pipeline.worlds.{n}' in sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    every = "indoor flight city panorama drive arm"
    assert found == [f"{every} vsi_meta", "indoor", "False", " ".join(sorted(every.split()))]


def test_names_of_worlds_are_those_they_have() -> None:
    assert [world.name for world in WORLDS.values()] == [*WORLDS]


def test_a_scene_is_read_by_the_name_of_its_world_however_its_json_is_written() -> None:
    scene = make_scene([cube("table", 0, 0)])
    raw = scene.model_dump_json().encode()
    fields = json.loads(raw)
    facts = dict(reversed(fields["facts"].items()))  # the name of the world is the last of them
    for other in (raw, json.dumps(fields, indent=1).encode(), json.dumps(fields | {"facts": facts}).encode()):
        assert read_scene(other) == scene == scene_type().validate_json(other)
    for world in ("nowhere", "flight"):
        with pytest.raises(StoreError, match="none of this version"):
            read_scene(json.dumps(fields | {"facts": fields["facts"] | {"world": world}}).encode())
