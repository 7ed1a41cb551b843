"""Build configurations: what is not known is refused, in words that say what is."""

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel

from flows.cli.app import json_schemas
from flows.orchestration.folders import BUILDS
from pipeline.benchmarks.benchmark import Benchmark
from pipeline.benchmarks.embodied4c.rules import WrittenExam
from pipeline.benchmarks.registry import BENCHMARKS
from pipeline.benchmarks.vsi.rules import PROFILES, Rules
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.errors import ConfigError
from pipeline.core.identity import digest_of
from pipeline.core.schema import MODELS, Scene
from pipeline.engine.config import BuildConfig, build_config, config_model, load_config
from pipeline.engine.inputs import check_roots, list_inputs
from pipeline.formats.scene_folder import SceneDocument
from tests.worlds.indoor.readers.broken_metadata import write_sound

VSI = BUILDS / "vsi.yaml"


def refusal(*settings: str, path: Path = VSI) -> str:
    """The error of a configuration with these settings."""
    with pytest.raises(ConfigError) as error:
        load_config(path, settings)
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("path", sorted(BUILDS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_build_that_is_shipped_loads_under_its_name(path: Path) -> None:
    assert load_config(path).build == path.stem


def test_a_setting_replaces_one_key() -> None:
    plain, changed = load_config(VSI), load_config(VSI, ["select.per_scene_and_task=10"])
    assert changed.select.per_scene_and_task == 10
    assert changed.model_copy(update={"select": plain.select}) == plain


@pytest.mark.parametrize(
    ("filmed", "size", "shown"),
    [((1920, 1080), None, (1280, 720)), ((3840, 2160), (640, 360), (640, 360)), ((520, 520), None, (520, 520))],
)
def test_flights_stay_as_filmed_up_to_the_size_that_is_set(
    filmed: tuple[int, int], size: tuple[int, int] | None, shown: tuple[int, int]
) -> None:
    form = load_config(BUILDS / "urbanvideo.yaml", [f"video_size={list(size)}"] if size else []).video_spec()
    assert form.fitted(*filmed) == (0, 0, *shown)
    with pytest.raises(ConfigError, match="video_size"):
        load_config(BUILDS / "urbanvideo.yaml", ["video_size=[641, 360]"])


def test_settings_are_yaml_and_the_last_one_holds() -> None:
    given = ["generate.rules.margin_min_deg=15", "generate.tasks=[object_counting]", "generate.profile=official"]
    config = load_config(VSI, [*given, "generate.profile=strict", "roots.vsi_meta=/data"])
    assert config.generate.rules == {"margin_min_deg": 15}
    assert config.generate.tasks == ("object_counting",)
    assert config.generate.profile == "strict"
    assert config.roots == {"vsi_meta": Path("/data")}
    known = [load_config(VSI, [f"known={name}"]).known_file for name in ("none", "asked.jsonl")]
    assert known == [None, Path("asked.jsonl")]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("cap=3", ["unknown configuration key cap; known here: author, benchmark, blind, build, describe, export"]),
        ("look.model=null", ["configuration key look is now called describe"]),
        ("pictures=false", ["configuration key pictures is now called figures"]),
        ("select.cap=3", ["unknown configuration key select.cap", "known here: per_scene_and_task"]),
        (
            "generate.rule=3",
            ["unknown configuration key generate.rule", "did you mean rules? Known here: profile, rules, tasks"],
        ),
        ("generate.rules.margin=3", ["unknown rule margin", "margin_min_deg"]),
        ("generate.rules.margin_min_deg=wide", ["generate", "rule margin_min_deg", "number"]),
        ("generate.rules.margin_min_deg=.nan", ["generate", "rule margin_min_deg", "finite"]),
        ("generate.rules.distance=manhattan", ["generate", "rule distance", "'exact' or 'grid_5cm'"]),
        ("generate.profile=lax", ["unknown profile 'lax'", "strict, official"]),
        (
            "generate.tasks=[counting]",
            ["generate.tasks", "unknown task counting; did you mean object_counting? There are object_counting, "],
        ),
        ("generate.tasks=[object_counting, object_counting]", ["generate.tasks", "named twice"]),
        ("generate.tasks=[]", ["generate.tasks", "no task is named"]),
        ("generate.tasks=object_counting", ["generate.tasks"]),
        ("select.per_scene_and_task=0", ["select.per_scene_and_task", "greater than or equal to 1"]),
        ("select.per_scene_and_task=many", ["select.per_scene_and_task", "integer"]),
        ("select=6", ["select has keys below it: give select.KEY=VALUE, not select=6"]),
        ("export.split=../../x", ["export.split", "pattern"]),
        ("export.published=yesterday", ["export.published: 'yesterday' is no date; write it as 2026-12-01"]),
        ('export.split="test\\n"', ["export.split", "pattern"]),
        ("build=../../x", ["build", "pattern"]),
        ("select.per_scene_and_task", ["--set select.per_scene_and_task", "write it as key=value"]),
        ("=3", ["--set =3", "write it as key=value"]),
        ("select..x=3", ["--set select..x=3", "write it as key=value"]),
        ("select.per_scene_and_task=[", ["--set select.per_scene_and_task", "not YAML"]),
        (
            "select.per_scene_and_task=" + "[" * 3000,
            ["--set select.per_scene_and_task: the value is not YAML: maximum"],
        ),
        ("export.contact=\udced", ["--set export.contact: the value is not YAML: unacceptable character"]),
        ("select.per_scene_and_task=0x" + "f" * 5000, ["the value is not YAML: line 1: a number of 5,002 characters"]),
        ("figures.a=6", ["configuration figures has no keys below it: give figures=VALUE"]),
        ("benchmark.name.x=3", ["--set benchmark.name.x=3", "benchmark is a value and has no keys below it"]),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(setting: str, said: list[str]) -> None:
    text = refusal(setting)
    assert all(part in text for part in said), text


@pytest.mark.parametrize(
    ("build", "setting", "said"),
    [
        ("vsi", "margin_min_deg=1e9", "rule margin_min_deg: '1e9' should be less than or equal to 180"),
        ("vsi", "margin_min_deg=45", "rule margin_min_deg: 45 should be less than 45"),
        ("vsi", "pair_min_m=5.01", "rules: pair_min_m 5.01 is above pair_max_m 5"),
        ("vsi", "gap_min_m=-0.01", "rule gap_min_m: -0.01 should be greater than or equal to 0"),
        ("vsi", "extent_seen_min=1.01", "rule extent_seen_min: 1.01 should be less than or equal to 1"),
        ("urbanvideo", "there_m=0.9", "rule there_m: 0.9 should be greater than or equal to 1"),
        ("urbanvideo", "detour_max=0.9", "rule detour_max: 0.9 should be greater than or equal to 1"),
        ("cityeqa", "near_m=[0]", "rule near_m.0: 0 should be greater than or equal to 1"),
        ("ergeobench", "tilt_max_deg=61", "rule tilt_max_deg: 61 should be less than or equal to 60"),
        ("embodied4c", "window_s=.inf", "rule window_s: inf should be a finite number"),
    ],
)
def test_a_limit_without_sense_is_refused(build: str, setting: str, said: str) -> None:
    assert refusal(f"generate.rules.{setting}", path=BUILDS / f"{build}.yaml") == f"configuration generate: {said}"


MONEY = {"input", "output", "limit_cost"}  # what somebody may spend has no end


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=lambda benchmark: benchmark.name)
def test_every_number_of_a_configuration_has_a_range(benchmark: Benchmark[Any, Any]) -> None:
    """Numbers have two ends, whole numbers at least one; one that is given twice would hold once, whichever it is."""
    lacking = []
    for model in sections(config_model(benchmark.name)) | sections(benchmark.rules):
        for name, field in model.model_fields.items():
            for kind, ends in numbers(field.annotation, field.metadata):
                wanted = 1 if kind is int or name in MONEY else 2
                if len(ends) < wanted or max(Counter(ends).values()) > 1:
                    lacking.append(f"{model.__name__}.{name}")
    assert lacking == []


def sections(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inner = [sections(field.annotation) for field in annotation.model_fields.values()]
        return {annotation}.union(*inner) if annotation is not WrittenExam else set()
    return set().union(*map(sections, get_args(annotation)))


def numbers(annotation: Any, metadata: Sequence[object]) -> Iterator[tuple[type, list[str]]]:
    if annotation in (int, float):
        yield annotation, [type(m).__name__ for m in metadata if isinstance(m, Ge | Gt | Le | Lt)]
    elif get_origin(annotation) is Annotated:
        yield from numbers(annotation.__origin__, [*annotation.__metadata__[0].metadata, *metadata])
    elif get_origin(annotation) is not Literal:
        for one in get_args(annotation):
            yield from numbers(one, metadata)


@pytest.mark.parametrize(
    ("key", "value"), [("terms", "{SCANNET: CC BY}"), ("frames", "[SCANNET]"), ("videos", "[SCANNET]")]
)
def test_an_unknown_dataset_is_named_with_the_known_ones(key: str, value: str, tmp_path: Path) -> None:
    meta = write_sound(tmp_path / "meta").parent
    given = [f"export.{key}={value.replace('SCANNET', name)}" for name in ("SCANNET", "scannet", "samples")]
    wrong, *right = (load_config(VSI, [f"roots.vsi_meta={meta}", setting]) for setting in given)
    with pytest.raises(ConfigError, match=rf"export.{key}: unknown dataset SCANNET; there are .*samples, scannet"):
        list_inputs(wrong)
    assert all(list_inputs(config).inputs for config in right)


def test_every_fault_is_told_at_once() -> None:
    text = refusal("cap=3", "select.cap=3", "export.split=A")
    assert all(part in text for part in ("key cap", "key select.cap", "export.split"))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "a build configuration is a mapping, not NoneType"),
        (b"- vsi", "a build configuration is a mapping, not list"),
        (b"build: [", "cannot be read as YAML: while parsing"),
        (b"build: \xff", "cannot be read as YAML: 'utf-8' codec"),
        (b"build: !!python/object/apply:os.getcwd []", "cannot be read as YAML: could not determine a constructor"),
        (b"roots: {}", "configuration benchmark: no benchmark is named; there are vsi"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(raw: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_bytes(raw)
    assert said in refusal(path=path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refusal(path=tmp_path / "none.yaml")


def test_the_order_of_tasks_changes_nothing() -> None:
    names = list(TASKS)[:3]
    configs = [
        build_config({"build": "vsi", "benchmark": "vsi", "generate": {"tasks": order}})
        for order in itertools.permutations(names)
    ]
    assert all(config == configs[0] for config in configs)
    assert configs[0].generate.tasks == tuple(names)


@pytest.mark.parametrize("profile", PROFILES)
def test_configured_rules_lie_over_the_profile(profile: str) -> None:
    config = load_config(VSI, [f"generate.profile={profile}", "generate.rules.margin_min_deg=15"])
    rules, plain = config.generate.resolved_rules(), PROFILES[profile]
    assert rules.margin_min_deg == 15
    assert rules.model_copy(update={"margin_min_deg": plain.margin_min_deg}) == plain


def test_profiles_say_every_rule() -> None:
    assert all(set(rules.model_dump()) == set(Rules.model_fields) for rules in PROFILES.values())


def test_the_digest_of_a_configuration_follows_its_values() -> None:
    first, second = load_config(VSI), load_config(VSI, ["select.per_scene_and_task=7"])
    assert digest_of(first.model_dump(mode="json")) == digest_of(load_config(VSI).model_dump(mode="json"))
    assert digest_of(first.model_dump(mode="json")) != digest_of(second.model_dump(mode="json"))


def test_tasks_and_readers_of_another_benchmark_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown task Duration; there are object_counting"):
        build_config({"benchmark": "vsi", "generate": {"tasks": ["Duration"]}})
    config = build_config({"benchmark": "urbanvideo", "roots": {"vsi_meta": tmp_path}})
    with pytest.raises(ConfigError, match="reader vsi_meta reads no flights, which urbanvideo is about"):
        check_roots(config)


# ---- the JSON Schemas in ``meta_schemas/`` are those of the models


FOLDER = Path(__file__).resolve().parents[2] / "meta_schemas"


def test_the_files_are_what_the_models_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.schema.json")}
    assert written == json_schemas(), "run `make schemas` and commit what it changes"


def test_every_model_that_crosses_a_border_has_one() -> None:
    builds = [f"build-{name}" for name in BENCHMARKS]
    assert {f"{name}.schema.json" for name in (*MODELS, "scene", "scene-folder", *builds)} == set(json_schemas())


def test_they_refuse_unknown_keys_everywhere() -> None:
    for name, text in json_schemas().items():
        schema = json.loads(text)
        for part in (schema, *schema.get("$defs", {}).values()):
            if part.get("type") == "object":
                assert part["additionalProperties"] is False, (name, part["title"])


def test_every_key_of_the_models_is_in_them() -> None:
    builds = {f"build-{name}": BuildConfig for name in BENCHMARKS}
    schemas = json_schemas()
    for name, model in {**MODELS, "scene": Scene, "scene-folder": SceneDocument, **builds}.items():
        assert set(json.loads(schemas[f"{name}.schema.json"])["properties"]) == set(model.model_fields)


def test_a_fault_of_a_file_is_told_with_the_file_and_that_of_a_setting_without(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("benchmark: vsi\ngenerate: {tasks: [object_countin]}\n")
    for settings in ([], ["select.per_scene_and_task=3"]):
        with pytest.raises(
            ConfigError, match=r"mine\.yaml: configuration generate\.tasks: .*did you mean object_counting"
        ):
            load_config(path, settings)
    path.write_text("benchmark: vsi\n")
    with pytest.raises(ConfigError, match=r"^configuration select\.per_scene_and_task"):
        load_config(path, ["select.per_scene_and_task=0"])
    path.write_text("generate: [a\n")
    with pytest.raises(ConfigError, match=r"line 2, column 1") as error:
        load_config(path)
    assert "unicode" not in str(error.value)
