"""What is installed: the wheel, extras, and the names of the packages."""

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
from tests.builds import REPOSITORY, UNASKED_SETTINGS, Cli, prefect_environment
from tests.reference.licences import PROJECT, bundled, licence, missing, third_parties
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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True)
    (found,) = folder.glob("*.whl")
    return found


def installed(home: Path) -> dict[Path, int]:
    """The files below a folder and the times of their last change, but for what Python and we keep of their code."""
    files = [path for path in home.rglob("*") if "__pycache__" not in path.parts and path.is_file()]
    return {path: path.stat().st_mtime_ns for path in files}


def build_vsi(python: Path, work: Path, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """`scan2qa build vsi` from a folder that has nothing to do with the repository."""
    work.mkdir()
    inherited = {name: value for name, value in prefect_environment().items() if name != "PYTHONPATH"}
    command = [python, "-m", "scan2qa", "build", "vsi", "--no-prefect", *UNASKED_SETTINGS, *arguments]
    return subprocess.run(
        list(map(str, command)), cwd=work, env=inherited | environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_the_wheel_builds_in_an_empty_folder_and_writes_nothing_beside_itself(wheel: Path, tmp_path: Path) -> None:
    home = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "-q", "install", "--no-deps", "--no-index", "--target", str(home), str(wheel)]
    subprocess.run(pip, check=True, capture_output=True)
    before = installed(home)
    meta = write_sound(tmp_path / "meta").parent
    roots = ("--root", f"vsi_meta={meta}", "--workers", 1)
    done = build_vsi(Path(sys.executable), tmp_path / "work", *roots, PYTHONPATH=str(home), PYTHONDONTWRITEBYTECODE="1")
    assert (done.returncode, done.stderr) == (0, "")
    out = tmp_path / "work" / "outputs" / "vsi"
    assert (out / "release" / "README.md").exists()
    assert installed(home) == before
    code = "import pipeline, scan2qa; print(pipeline.__file__, scan2qa.__file__)"
    assert in_a_process(code, path=home).stdout.count(str(home)) == 2


@pytest.mark.long
@pytest.mark.parametrize("extra", [None, *EXTRAS])
def test_the_wheel_installs_with_each_extra_alone(extra: str | None, wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "-q", "install", f"{wheel}[{extra}]" if extra else str(wheel)], check=True)
    subprocess.run([python, "-m", "pip", "check"], check=True)
    imports = "; ".join(f"import {module}" for module in EXTRAS.get(extra or "", ()))
    subprocess.run([python, "-c", imports], check=True)
    meta = () if extra == "scans" else ("--root", f"vsi_meta={write_sound(tmp_path / 'meta').parent}")
    done = build_vsi(python, tmp_path / "work", *meta)
    assert done.returncode == 0, done.stderr


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


def test_the_licences_of_what_each_extra_brings() -> None:
    """One that asks more of whoever passes it on than to be named stands in the README or serves the tests alone."""
    base = third_parties(None)
    assert {"numpy", "prefect", "greenlet"} <= base.keys(), "what packages need, too"
    assert not {"open3d-cpu", "pytest", "openai", PROJECT} & base.keys()
    strict: set[tuple[str, str | None]] = set()
    for extra in (None, *EXTRAS, "dev"):
        found = third_parties(extra)
        told = {name: licence(package) for name, package in found.items()}
        assert {name for name, words in told.items() if words == "not said"} <= {"mlcroissant"}
        own = told.keys() - base.keys() if extra else base.keys()
        strict |= {(name, extra) for name in own if re.search(r"GPL|General Public", told[name])}
    brought = {("text-unidecode", None), ("pymavlink", "flights"), ("krippendorff", "dev"), ("quadprog", "dev")}
    assert strict == brought
    assert licence(base["text-unidecode"]).startswith("Artistic License; "), "either may be chosen"
    assert "libx264" in bundled(base["av"])
    assert missing("scans") == []


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
    monkeypatch.setitem(sys.modules, "openai", None)  # is said before samples are written
    model = "describe.model={provider: openai, model: any, inputs: [text, image]}"
    run = scan2qa("build", "vsi", "--out", tmp_path / "other", "--set", model)
    assert (run.code, run.started, run.out) == (2, False, "")
    assert "model any needs openai (extra [models])" in run.err


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
