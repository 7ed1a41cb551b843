"""The files of one scene: what was made of them is made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.core.errors import RawDataError
from pipeline.core.findings import Findings, note
from pipeline.reading.files import SceneFiles, SceneRef

REF = SceneRef("set/one", ("one",), "stamp")


def test_what_was_made_once_is_given_again_with_its_findings(tmp_path: Path) -> None:
    files, made = SceneFiles(tmp_path, REF), []

    def make(found: Findings) -> list[int]:
        found.add(note("odd", "mesh", "it is odd", "none"))
        made.append(len(made))
        return made

    before = note("first", "mesh", "said before", "none")
    for _ in range(2):
        findings = Findings()
        findings.add(before)
        assert files.once("mesh", make, findings) is made
        assert [f.name for f in findings.items] == ["first", "odd"]
    assert made == [0]
    assert files.once("other", lambda found: 3, Findings()) == 3
    assert SceneFiles(tmp_path, REF).once("mesh", make, Findings()) == [0, 1], "other files share nothing"


def test_what_failed_is_tried_again(tmp_path: Path) -> None:
    files = SceneFiles(tmp_path, REF)
    for _ in range(2):
        with pytest.raises(RawDataError, match="there is no such file"):
            files.once("mesh", lambda found: files.raw(tmp_path / "absent"), Findings())
    assert files.once("mesh", lambda found: b"there", Findings()) == b"there"
