"""What the code of a stage is: what it imports, and no more; comments and docstrings are none of it."""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import packages_distributions
from pathlib import Path
from types import FrameType

import grimp
import pytest

from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.engine import lease
from pipeline.engine.code import (
    DISTRIBUTIONS,
    FOLDER,
    REGISTRIES,
    changed_since,
    closure,
    code_digest,
    code_parts,
    libraries,
    parse,
    sources_of,
)
from pipeline.engine.config import BuildConfig, build_config
from pipeline.engine.stage import Stage, StageContext
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.stages.builder import Builder
from pipeline.stages.registry import STAGES
from pipeline.worlds.registry import READERS
from tests.builds import config_of
from tests.worlds.indoor.readers.broken_metadata import write_scenes

Write = Callable[..., Path]
RAW = tuple(name for name, stage in STAGES.items() if stage.reads_raw)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a package ``pipeline`` of modules given by name; each call into a folder of its own."""

    def made(**modules: str) -> Path:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for name, text in {"pipeline": "", **modules}.items():
            parts = name.split("__")
            is_package = name == "pipeline" or any(other.startswith(f"{name}__") for other in modules)
            path = folder.joinpath("pipeline", *([] if name == "pipeline" else parts))
            path = path / "__init__.py" if is_package else path.with_suffix(".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return folder

    return made


# ---- which modules


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import pipeline.b", {"b"}),
        ("from pipeline import b", {"b"}),
        ("from pipeline.b import value", {"b"}),
        ("from . import b", {"b"}),
        ("from .b import value", {"b"}),
        ("def run():\n    from pipeline.b import value", {"b"}),
        ("class A:\n    def run(self):\n        if 1:\n            import pipeline.b", {"b"}),
        ("try:\n    import pipeline.b\nexcept ImportError:\n    import pipeline.c", {"b", "c"}),
        ("match 1:\n    case 1:\n        import pipeline.b", {"b"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pipeline.b", set()),
        ("import typing\nif typing.TYPE_CHECKING:\n    import pipeline.b\nelse:\n    import pipeline.c", {"c"}),
        ("import pipelines.b, b", set()),
        ("x = 'import pipeline.b'", set()),
    ],
)
def test_every_way_to_import_counts(text: str, found: set[str], write: Write) -> None:
    folder = write(a=text, b="value = 1", c="")
    assert set(closure(["pipeline.a"], folder)) == {"pipeline", "pipeline.a"} | {f"pipeline.{name}" for name in found}


def test_what_imports_import_and_the_packages_around_count(write: Write) -> None:
    folder = write(a="import pipeline.x.y", x="", x__y="from ..b import c", b="import pipeline.a", z="")
    assert set(closure(["pipeline.a"], folder)) == {"pipeline", *(f"pipeline.{n}" for n in ("a", "x", "x.y", "b"))}


def test_what_stands_behind_a_registry_does_not_count(write: Write) -> None:
    folder = write(
        a="from pipeline.worlds.registry import READERS", worlds="", worlds__registry="import pipeline.b", b=""
    )
    assert set(closure(["pipeline.a"], folder)) == {"pipeline", "pipeline.a"}


@pytest.mark.parametrize("root", ["pipeline.nowhere", "pipeline.a.b", "numpy", "", "pipeline/a.py"])
def test_a_root_that_is_no_module_is_refused(root: str, write: Write) -> None:
    with pytest.raises(ValueError, match="no such module below"):
        closure(["pipeline.a", root], write(a=""))


def test_the_closure_is_that_of_an_independent_graph() -> None:
    """`grimp` is what import-linter goes by. It knows no lazy difference between a module and its package."""
    graph = grimp.build_graph("pipeline", exclude_type_checking_imports=True, cache_dir=None)
    for registry in REGISTRIES:
        graph.remove_module(registry)
    for name, stage in STAGES.items():
        expected, waiting = set(), [stage.module]
        while waiting:
            module = waiting.pop()
            if module and module not in expected:
                expected.add(module)
                waiting += [module.rpartition(".")[0], *graph.find_modules_directly_imported_by(module)]
        assert set(closure([stage.module])) == expected, name


# ---- what is a change of a module


@pytest.mark.parametrize(
    "text",
    [
        '"""Other words."""\nX = 1\n\n\ndef f(a):\n    """Says it."""\n    return a\n',
        "# a comment\nX = 1  # another\n\n\ndef f(a):\n    return (\n        a\n    )\n",
        "from typing import TYPE_CHECKING\nX = 1\n\ndef f(a):\n    return a\n",
    ],
)
def test_words_and_layout_are_no_change(text: str) -> None:
    plain = "X = 1\ndef f(a):\n    return a\n"
    same = parse(text.encode(), "pipeline").digest == parse(plain.encode(), "pipeline").digest
    assert same == ("import" not in text), "but a statement is one"


@pytest.mark.parametrize(("one", "other"), [("X = 1", "X = 2"), ("X = 'a'", "X = 'b'"), ("f(a)", "f(b)"), ("1", "'1'")])
def test_any_other_difference_is_one(one: str, other: str) -> None:
    assert parse(one.encode(), "").digest != parse(other.encode(), "").digest


def test_a_table_that_a_module_loads_by_name_is_code_of_who_imports_it(write: Write) -> None:
    folder = write(a="import pipeline.b", b="WORDS = load_table('city/words', 1, x)", c="x = 'city/words'")
    table = folder / "templates" / "tables" / "city" / "words.yaml"
    table.parent.mkdir(parents=True)
    table.write_text("a: b")
    digests = [code_parts((f"pipeline.{name}",), folder).get("templates/tables/city/words.yaml") for name in "abc"]
    before = [code_digest.__wrapped__((f"pipeline.{name}",), folder) for name in "ac"]
    assert digests[0] == digests[1] is not None
    assert digests[2] is None
    table.write_text("a: c")
    after = [code_digest.__wrapped__((f"pipeline.{name}",), folder) for name in "ac"]
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_data_beside_a_module_are_code_of_who_imports_it(write: Write) -> None:
    folder = write(a="import pipeline.b.made", b__made="", c="")
    data = folder / "pipeline" / "b" / "streets.yaml"
    data.write_text("a: b")
    before = [code_digest.__wrapped__((f"pipeline.{name}",), folder) for name in "ac"]
    assert "pipeline/b/streets.yaml" in code_parts(("pipeline.a",), folder)
    data.write_text("a: c")
    after = [code_digest.__wrapped__((f"pipeline.{name}",), folder) for name in "ac"]
    assert [one == other for one, other in zip(before, after, strict=True)] == [False, True]


def test_what_type_checkers_alone_see_is_no_change() -> None:
    text = "if TYPE_CHECKING:\n    import {}\n"
    assert parse(text.format("a").encode(), "") == parse(text.format("b").encode(), "")


# ---- which stages run again


def test_all_code_that_runs_in_a_stage_is_in_its_closure(tmp_path: Path, config: BuildConfig) -> None:
    ran: dict[str, set[str]] = {}

    def traced(stage: Stage) -> Stage:
        def note(frame: FrameType, event: str, argument: object) -> None:
            ran.setdefault(stage.name, set()).add(frame.f_code.co_filename)

        def run(context: StageContext) -> bytes:
            sys.setprofile(note)
            try:
                return stage.run(context)
            finally:
                sys.setprofile(None)

        return replace(stage, run=run)

    write_scenes(tmp_path / "meta" / "rooms.json", {"bedroom": sample_scene(PLANS[0])})
    config = config_of(tmp_path / "meta")
    Builder(config, tmp_path / "out", stages={name: traced(stage) for name, stage in STAGES.items()}).build()
    reader = READERS["vsi_meta"]
    for name, stage in STAGES.items():
        own = (stage.module, *([type(reader).__module__] if stage.reads_raw else []))
        known = closure((*own, *stage.uses(config, reader if stage.needs_roots else None))).keys() | REGISTRIES
        files = {str(sources_of(FOLDER).paths[module]) for module in known}
        seen = {path for path in ran.get(name, ()) if path.startswith(str(FOLDER / "pipeline"))}
        seen.discard(lease.__file__)  # `StageContext.fence`: ends a build, or says nothing
        assert seen <= files, name
    assert ran.keys() == {stage.name for stage in STAGES.values() if stage.is_wanted(config)}


def uses(config: BuildConfig, folder: Path = FOLDER) -> dict[tuple[str, str | None], str]:
    """Digest of the code of each stage, for each reader where it looks at what is given of a scene."""
    digests = {}
    for name, stage in STAGES.items():
        for reader in READERS.values() if stage.needs_roots else [None]:
            own = (stage.module, *([type(reader).__module__] if reader and stage.reads_raw else []))
            digests[name, reader.name if reader else None] = code_digest((*own, *stage.uses(config, reader)), folder)
    return digests


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_no_stage_after_the_scenes_are_read_runs_again_for_a_reader(benchmark: str) -> None:
    config = build_config({"benchmark": benchmark})
    written = {"vsi": {"export": {"pipeline.worlds.indoor.readers.vsi_meta"}}}  # a release has its form of metadata
    found = {}
    for name, stage in STAGES.items():
        for reader in READERS.values() if stage.needs_roots else [None]:
            own = [] if reader and stage.reads_raw else [stage.module, *stage.uses(config, reader)]
            if readers := {module for module in closure(own) if ".readers." in module}:
                found[name] = readers
    assert found == written.get(benchmark, {})


@pytest.fixture(scope="module")
def config() -> BuildConfig:
    return config_of(Path())


@pytest.fixture
def changed(tmp_path: Path, config: BuildConfig) -> Callable[[str, str], set[tuple[str, str | None]]]:
    """Appends text to a module of a copy of the package; gives the stages and readers whose code is another then."""
    code_digest(("pipeline.engine.code",))  # what was parsed is kept, and is copied along

    def run(module: str, text: str) -> set[tuple[str, str | None]]:
        for part in ("pipeline", "templates"):  # the tables that modules load are code as well
            shutil.copytree(FOLDER / part, tmp_path / part, copy_function=os.link)
        path = sources_of(tmp_path).paths[module]
        source = path.read_text() + text
        path.unlink()  # a link to the real one
        path.write_text(source)
        now = uses(config, tmp_path)
        return {key for key, digest in uses(config).items() if now[key] != digest}

    return run


def of(stages: tuple[str, ...], *readers: str) -> set[tuple[str, str | None]]:
    return {(stage, reader) for stage in stages for reader in readers}


ALL = of((*RAW, "fix"), *READERS) | {(name, None) for name in STAGES if name not in (*RAW, "fix")}
SCANS = ("vsi_meta", "revsi_meta", "scannet", "scannetpp", "arkitscenes", "scene")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("pipeline.worlds.indoor.readers.scannetpp", of(RAW, "scannetpp")),
        ("pipeline.worlds.indoor.readers.arkit_film", of(RAW, "arkitscenes")),
        ("pipeline.worlds.indoor.readers.scannet_frames", of(RAW, "scannet")),
        ("pipeline.formats.logs.xml_tracks", of(RAW, "flights")),
        ("pipeline.formats.sens", of(RAW, "scannet")),
        ("pipeline.worlds.indoor.observe.visibility", of(("observe", "describe"), *SCANS)),
        ("pipeline.worlds.flight.observe.motion", of(("observe", "describe"), "flights", "openfly")),
        ("pipeline.rendering.video", of(("video",), *READERS) | {("bev_video", None), ("clip", None)}),
        ("pipeline.rendering.clip", {("clip", None)}),
        ("pipeline.core.files", ALL),
        ("pipeline.blind.prune", {("prune", None)}),
        ("pipeline.blind.ask", {("blind", None)}),
        ("pipeline.release.card", {("export", None)}),
        ("pipeline.worlds.indoor.fixes", of(("fix",), *SCANS)),
        ("pipeline.worlds.indoor.quality_checks", of(("fix",), *SCANS)),
        ("pipeline.stages.unify", of(("unify",), *READERS)),
        ("pipeline.stages.registry", set()),
        ("pipeline.worlds.registry", set()),
        ("pipeline.engine.run", set()),
        ("pipeline.engine.plan", set()),
        ("pipeline.reading.doctor", set()),
        ("pipeline.samples.indoor.rooms", set()),
    ],
)
def test_a_changed_module_runs_its_stages_again_and_no_others(
    module: str, expected: set[tuple[str, str | None]], changed: Callable[[str, str], set[tuple[str, str | None]]]
) -> None:
    assert changed(module, "\nCHANGED = 1\n") == expected


def test_a_comment_in_any_module_runs_nothing(changed: Callable[[str, str], set[tuple[str, str | None]]]) -> None:
    assert changed("pipeline.formats.logs.xml_tracks", "\n# a comment\n") == set()


# ---- libraries


def test_a_stage_depends_on_the_libraries_that_it_imports() -> None:
    def of_reader(name: str) -> set[str]:
        return set(libraries(closure([STAGES["unify"].module, type(READERS[name]).__module__]).values()))

    assert "pymavlink" in of_reader("flights")
    assert not {"pymavlink", "osmium", "pyproj"} & of_reader("scannet")
    assert {"numpy", "pydantic"} <= of_reader("scannet")


@pytest.mark.long
def test_every_library_is_known_by_the_name_of_its_distribution() -> None:
    """Else its version would not be seen, and a newer one would change no key."""
    everything = sources_of(FOLDER)
    names = {i.partition(".")[0] for name in everything.paths for i in everything.module(name).imports} - {"pipeline"}
    for name, distributions in packages_distributions().items():
        if name in names:
            known = {d.lower() for d in DISTRIBUTIONS.get(name, (name,))}
            assert {d.lower() for d in distributions} <= known, name


# ---- what is kept between processes


def test_what_was_parsed_is_kept_and_damage_to_it_is_harmless(write: Write) -> None:
    folder = write(a="import pipeline.b", b="X = 1")
    before = closure(["pipeline.a"], folder)
    kept = folder / "pipeline" / "__pycache__" / "syntax.json"
    assert kept.exists()
    for damage in (None, b"", b"{", b"[]", b'{"pipeline.a": 1}'):
        if damage is not None:
            kept.write_bytes(damage)
        sources_of.cache_clear()
        assert closure(["pipeline.a"], folder) == before
    (folder / "pipeline" / "b.py").write_text("X = 2")
    sources_of.cache_clear()
    after = closure(["pipeline.a"], folder)
    assert {name for name in after if after[name] != before[name]} == {"pipeline.b"}


def test_a_source_that_changed_after_it_was_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "pipeline").mkdir()
    read, other = (tmp_path / "pipeline" / name for name in ("read.py", "other.py"))
    for path in (read, other):
        path.write_text("A = 1\n")
    sources = sources_of(tmp_path)
    sources.module("pipeline.read")
    other.write_text("A = 2\n")
    assert sources.changed() == []
    read.write_text("A = 2\n")
    assert sources.changed() == [read]
    read.unlink()
    assert sources.changed() == [read]


def test_an_error_names_the_changed_sources_that_it_came_through(tmp_path: Path) -> None:
    path = tmp_path / "late.py"
    path.write_text("A = 1\nB = A.b\n")
    written_s = path.stat().st_mtime
    with pytest.raises(AttributeError) as raised:
        exec(compile(path.read_text(), str(path), "exec"), {})  # noqa: S102 - the line above
    assert changed_since(raised.value, written_s - 1, tmp_path) == [path]
    assert changed_since(raised.value, written_s, tmp_path) == []
    assert changed_since(raised.value, written_s - 1, tmp_path / "elsewhere") == []
    assert changed_since(ImportError("no C", path=str(path)), written_s - 1, tmp_path) == [path]
    assert changed_since(SyntaxError("bad", (str(path), 1, 1, "A")), written_s - 1, tmp_path) == [path]
