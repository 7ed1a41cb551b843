"""Misspelt roots and settings are refused in the words of the full check, before anything is imported for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import spelling
from flows.cli.spelling import refuse_misspelt
from flows.orchestration.folders import BUILDS
from flows.orchestration.roots import roots_of
from pipeline.core.errors import ConfigError
from pipeline.engine.config import BuildConfig, load_config
from pipeline.engine.inputs import check_roots
from tests.builds import REPOSITORY

VSI = BUILDS / "vsi.yaml"
WRONG = {  # of right keys, values that they do not take
    "select.per_scene_and_task": ("abc", "0", "2.5", "null", "[]"),
    "blind.max_failed": ("x", "1.01", "-0.01"),
    "blind.number_threshold": ("0",),
    "blind.orders": ("0", "two"),
    "blind.remove": ("some",),
    "video": ("maybe", "2"),
    "generate.rules.margin_min_deg": ("wide", "-1", "1e9"),
    "generate.rules.distance": ("near",),
}


def checked(roots: list[str], settings: list[str]) -> BuildConfig:
    config = load_config(VSI, settings).model_copy(update={"roots": roots_of(roots)})
    check_roots(config)
    return config


@pytest.mark.parametrize(
    ("roots", "settings"),
    [
        (["x"], []),
        (["scannet="], []),
        (["nope=/"], []),
        (["scannet=/no/such/folder"], []),
        (["vsi_meta=/"], ["bad"]),
        (["vsi_meta=/"], ["a..b=1"]),
        (["vsi_meta=/"], ["selec.per_scene_and_task=3"]),
        (["vsi_meta=/"], ["select.per_scene=3"]),
        (["vsi_meta=/"], ["observe.indoor.min_pixel=3"]),
        (["vsi_meta=/"], ["prune.tua=0.1"]),
        (["vsi_meta=/"], ["generate.rules.margin_min_dg=15"]),
        (["vsi_meta=/"], ["declare=1"]),
        (["vsi_meta=/"], ["video.formm=1"]),
        *((["vsi_meta=/"], [f"{key}={value}"]) for key, values in WRONG.items() for value in values),
    ],
    ids=str,
)
def test_it_is_refused_as_by_the_models(roots: list[str], settings: list[str]) -> None:
    with pytest.raises(ConfigError) as slow:
        checked(roots, settings)
    with pytest.raises(ConfigError) as quick:
        refuse_misspelt(VSI, roots, settings)
    assert str(quick.value) == str(slow.value)


@pytest.mark.parametrize(
    "settings",
    [
        *("prune=null", "prune.tau=0.2", "generate.rules.margin_min_deg=15", "export.terms.scannet=x", "video=off"),
        *("select.per_scene_and_task='3'", "select.per_scene_and_task=3.0", "blind.orders=null", "blind.max_failed=1"),
        *("blind.number_threshold=1e-3", "export.pretty_name=3D"),
    ],
)
def test_what_is_right_passes(settings: str) -> None:
    refuse_misspelt(VSI, ["vsi_meta=/", "scannet=s3://bucket/prefix"], [settings])
    assert load_config(VSI, [settings]).benchmark == "vsi"


@pytest.mark.parametrize(
    ("roots", "settings"), [(["newest_reader=/"], []), ([], ["newest=1"]), ([], ["generate.rules.newest_min_m=1"])]
)
def test_names_that_the_code_has_and_the_schemas_lack_are_left_to_the_models(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, roots: list[str], settings: list[str]
) -> None:
    """Whichever was written last."""
    with pytest.raises(ConfigError):
        refuse_misspelt(VSI, roots, settings)
    shutil.copytree(REPOSITORY / "meta_schemas", tmp_path / "meta_schemas")
    module = tmp_path / "pipeline" / "added" / "newest.py"
    module.parent.mkdir(parents=True)
    monkeypatch.setattr(spelling, "_HOME", tmp_path)
    module.write_text('class Reader:\n    name = "old_reader"\n    newer: int\n    other_newest_min_m: float\n')
    with pytest.raises(ConfigError):
        refuse_misspelt(VSI, roots, settings)
    module.write_text('class Reader:\n    name = "newest_reader"\n    newest: int\n    newest_min_m: float\n')
    refuse_misspelt(VSI, roots, settings)


def test_it_imports_no_models() -> None:
    code = (
        "import sys; from flows.cli import app, spelling; from flows.cli.app import configuration; "
        "spelling.refuse_misspelt(configuration('vsi'), ['scannet=/'], ['prune=null', 'prune.tau=0.2']); "
        "print([m for m in ('pydantic', 'numpy', 'pyarrow') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert run.stdout.strip() == "[]"
