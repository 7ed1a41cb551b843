"""Several commands that build into one folder at the same time: one works, the others say so at once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.builds import TWO_TASKS, build, command_process, perturbed, release_of
from tests.engine.test_kill import SCENES
from tests.worlds.indoor.readers.broken_metadata import write_scenes

BUSY: Final = "another build is running in this folder"


@pytest.mark.long
@pytest.mark.parametrize("builds", [2, 10])
def test_one_works_and_the_others_say_so(builds: int, tmp_path: Path) -> None:
    meta, out = tmp_path / "meta", tmp_path / "out"
    meta.mkdir()
    write_scenes(meta / "meta.json", perturbed(SCENES, 400))  # long enough for all of them to come
    processes = [command_process(meta, out, "--no-prefect", "--workers", "1") for _ in range(builds)]
    said = [process.communicate()[1] for process in processes]
    codes = [process.returncode for process in processes]
    assert codes.count(0) == 1, said
    assert codes.count(1) == builds - 1, said
    for code, line in zip(codes, said, strict=True):
        assert line.count("\n") == (code != 0)
        assert code == 0 or BUSY in line
    build(meta, tmp_path / "alone", **TWO_TASKS)
    assert release_of(out) == release_of(tmp_path / "alone")
