"""What is installed: extras, and the names of the packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from flows.cli.app import main
from pipeline.core.errors import EXTRAS, MissingExtraError, extra_of, require_extra
from pipeline.engine.code import DISTRIBUTIONS
from pipeline.llm.base import ModelSpec
from pipeline.llm.providers import check_installed
from pipeline.worlds.registry import READERS
from tests.builds import REPOSITORY, Cli
from tests.worlds.indoor.readers.broken_metadata import write_sound

ALL = [module for modules in EXTRAS.values() for module in modules]


def in_a_process(code: str, *arguments: object, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    folders = [str(folder) for folder in (path, REPOSITORY) if folder]
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        cwd=path or REPOSITORY,
        check=False,
    )


def test_extras_are_those_of_the_project_file() -> None:
    asked = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        listed = {re.split(r"[<>=!; \[]", line)[0] for line in asked[extra]}
        for module in modules:
            top = module.partition(".")[0]
            assert listed & {top, *DISTRIBUTIONS.get(top, ())}, f"{module} of [{extra}]"
    assert {reader.extra for reader in READERS.values()} <= {None, *EXTRAS}


@pytest.mark.parametrize(
    ("module", "extra"),
    [("open3d", "scans"), ("open3d.core", "scans"), ("google.genai", "models"), ("google", None), ("numpy", None)],
)
def test_a_module_tells_its_extra(module: str, extra: str | None) -> None:
    assert extra_of(module) == extra


def test_what_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    require_extra("scans", "reader scannet")
    require_extra(None, "reader vsi_meta")
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(
        MissingExtraError, match=r"reader scannet needs open3d, .* extra \[scans\]. Run: .+'scan2qa\[scans\]'"
    ):
        require_extra("scans", "reader scannet")


def test_a_model_without_its_package_or_weights_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check_installed(ModelSpec(provider="embedded"))
    gone = ModelSpec(provider="embedded", weights=tmp_path / "none.gguf", weights_sha256="0" * 64, model="mine")
    with pytest.raises(Exception, match=r"model mine: .*none.gguf is not there"):
        check_installed(gone)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(MissingExtraError, match=r"needs xllamacpp \(extra \[models\]\)"):
        check_installed(ModelSpec(provider="embedded"))


def test_a_missing_extra_is_said_before_the_first_stage(
    scan2qa: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    (tmp_path / "raw").mkdir()
    run = scan2qa("build", "vsi", "--root", f"scannet={tmp_path / 'raw'}", "--out", tmp_path / "out")
    assert (run.code, run.started, run.out) == (2, False, "")
    assert re.fullmatch(r"scan2qa: reader scannet needs open3d, .+\[scans\].+\n", run.err)
    run = scan2qa("build", "vsi", "--out", tmp_path / "other")
    assert (run.code, run.started) == (2, False)
    assert "sample scans needs open3d" in run.err


def test_what_nobody_foresaw_names_the_extra_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without() -> None:
        raise ModuleNotFoundError("No module named 'osmium'", name="osmium")

    monkeypatch.setattr("flows.cli.app.app", without)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "[flights]" in capsys.readouterr().err


@pytest.mark.slow
def test_metadata_is_audited_without_any_extra(tmp_path: Path) -> None:
    meta = write_sound(tmp_path / "meta").parent
    (tmp_path / "q.jsonl").write_text("")
    code = f"import sys; sys.modules.update(dict.fromkeys({ALL})); import scan2qa; scan2qa.main()"
    where = ("--meta", meta, "--questions", tmp_path / "q.jsonl", "--out", tmp_path / "audit.parquet")
    done = in_a_process(code, "audit", "vsi", *where)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert (tmp_path / "audit.parquet").exists()


@pytest.mark.parametrize("name", ["flows", "pipeline"])
def test_another_package_of_our_name_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    done = in_a_process("import scan2qa; scan2qa.main()", "--help", path=tmp_path)
    assert done.returncode == 2
    assert re.fullmatch(
        rf"scan2qa: `import {name}` finds {tmp_path / name}\S+, which is not scan2qa's: .+\n", done.stderr
    )


def test_without_a_clash_the_command_runs() -> None:
    done = in_a_process("import scan2qa; scan2qa.main()", "--help")
    assert (done.returncode, done.stderr) == (0, "")
