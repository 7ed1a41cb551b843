"""Unified metadata: what is broken is named, costs its own scene and nothing else."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from pipeline.benchmarks.vsi.rules import PROFILES
from pipeline.benchmarks.vsi.tasks.registry import TASKS
from pipeline.core.errors import ConfigError, FormatError, RawDataError
from pipeline.core.video_spec import VideoSpec
from pipeline.formats.json_scenes import split_scenes
from pipeline.reading.files import Listing, SceneFiles
from pipeline.rendering.video import encode
from pipeline.samples.indoor.metadata import PLANS, sample_scene
from pipeline.worlds.indoor.facts import IndoorScene
from pipeline.worlds.indoor.readers.vsi_meta import VsiMeta
from pipeline.worlds.indoor.readers.written_routes import read_written_routes
from pipeline.worlds.indoor.view import IndoorView
from tests.builds import build, command_line, release_of, rows_of
from tests.environment import times
from tests.tables import candidates
from tests.worlds.indoor.readers.broken_metadata import (
    BROKEN,
    DOUBTFUL,
    FILE,
    NAMES,
    SOUND,
    VICTIM,
    write_scenes,
    write_sound,
)

READER = VsiMeta()


def read_all(folder: Path) -> tuple[dict[str, IndoorScene], list[RawDataError]]:
    """Sound scenes by name, and one error per broken one."""
    listing = READER.scenes(folder)
    scenes, errors = {}, list(listing.broken)
    for ref in listing.scenes:
        try:
            scene = READER.read(SceneFiles(folder, ref))
            scenes[scene.name] = scene
        except RawDataError as error:
            errors.append(error)
    return scenes, errors


@pytest.fixture(scope="module")
def sound_release(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], dict[str, bytes]]:
    """The releases of sound files that lack some scenes, by what they lack."""
    releases: dict[tuple[str, ...], dict[str, bytes]] = {NAMES: {}}
    for lost in sorted({kind.lost for kind in BROKEN.values()} | {()}):
        if lost != NAMES:
            folder = tmp_path_factory.mktemp("sound")
            write_sound(folder / "meta", without=lost)
            assert not build(folder / "meta", folder / "out").quarantine
            releases[lost] = release_of(folder / "out")
    return releases


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_explained(name: str, tmp_path: Path) -> None:
    kind = BROKEN[name]
    kind.spoil(write_sound(tmp_path))
    scenes, errors = read_all(tmp_path)
    assert set(scenes) == set(NAMES) - set(kind.lost)
    assert len(errors) == 1
    error, text = errors[0], str(errors[0])
    assert (error.finding, error.scene) == (kind.finding, kind.scene)
    assert error.path == tmp_path / FILE
    assert text.startswith(f"{tmp_path / FILE}, scene {kind.scene}: " if kind.scene else f"{tmp_path / FILE}: ")
    assert all(part in text for part in kind.says), text
    assert error.remedy
    assert text.endswith(f"Remedy: {error.remedy}")
    assert text.isprintable(), "one line, whatever is in the file"
    assert kind.finding != "unexpected_error"


@pytest.mark.slow
@pytest.mark.parametrize("name", list(BROKEN)[:: times(10, 4)])  # the reader refuses each of them, above
def test_a_broken_file_costs_only_its_broken_scenes(
    name: str,
    tmp_path: Path,
    sound_release: dict[tuple[str, ...], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    kind, out = BROKEN[name], tmp_path / "out"
    kind.spoil(write_sound(tmp_path / "meta"))
    run = command_line(monkeypatch, capsys)("build", "vsi", "--root", f"vsi_meta={tmp_path / 'meta'}", "--out", out)
    assert run.code == 3, run.err
    assert run.err == ""
    assert "Left out" in run.out
    rows = rows_of(out / "quarantine.parquet")
    assert [row["finding"] for row in rows] == [kind.finding]
    assert (kind.scene or "(file)") in rows[0]["unit"]
    assert rows[0]["file"] == str(tmp_path / "meta" / FILE)
    assert rows[0]["message"]
    assert rows[0]["remedy"]
    assert release_of(out) == sound_release[kind.lost]


@pytest.mark.parametrize("name", SOUND)
def test_an_unusual_file_is_sound(
    name: str, tmp_path: Path, sound_release: dict[tuple[str, ...], dict[str, bytes]]
) -> None:
    SOUND[name](write_sound(tmp_path / "meta"))
    assert not build(tmp_path / "meta", tmp_path / "out").quarantine
    assert release_of(tmp_path / "out") == sound_release[()]


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubt_stays_with_the_scene(name: str, tmp_path: Path) -> None:
    doubt = DOUBTFUL[name]
    doubt.spoil(write_sound(tmp_path))
    scenes, errors = read_all(tmp_path)
    assert not errors
    (found,) = scenes[VICTIM].findings
    assert (found.name, found.severity, found.subject) == (doubt.finding, doubt.severity, doubt.subject)
    assert found.measured == pytest.approx(doubt.measured, abs=2e-6)  # extents are written with six decimals
    assert (found.limit, found.unit) == (doubt.limit, doubt.unit)
    assert found.remedy
    assert all(scene.findings == () for key, scene in scenes.items() if key != VICTIM)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("name", DOUBTFUL)
def test_strict_refuses_what_a_doubt_touches(name: str, profile: str, tmp_path: Path) -> None:
    doubt = DOUBTFUL[name]
    doubt.spoil(write_sound(tmp_path))
    scenes, _ = read_all(tmp_path)
    rows = candidates(IndoorView(scenes[VICTIM], PROFILES[profile]), TASKS.values()).to_pylist()
    about = [r for r in rows if _is_about(r, doubt.subject)]
    touched = [r for r in about if r["reason"] is None]
    reasons = Counter(r["reason"] for r in about)
    if doubt.severity == "doubt" and PROFILES[profile].refuse_doubts:
        assert not touched
        assert reasons[doubt.finding] + reasons["room_not_measured"] + reasons["other_extent_measured"] > 0
    elif doubt.subject == "room":
        assert not touched, "an area of 0 is no area under any profile"
    elif name == "count without a box":
        assert {r["task"] for r in touched} <= {"object_counting"}
    else:
        assert doubt.finding not in reasons
        assert name == "box without a count" or touched


@pytest.mark.slow
def test_a_doubt_is_told_in_the_release(tmp_path: Path) -> None:
    doubt = DOUBTFUL["thin box"]
    doubt.spoil(write_sound(tmp_path / "meta"))
    outcome = build(tmp_path / "meta", tmp_path / "out")
    assert not outcome.quarantine
    assert [f[:3] for f in outcome.released.findings] == [[f"samples/{VICTIM}", doubt.finding, doubt.severity]]


def _is_about(row: dict[str, object], subject: str) -> bool:
    if subject == "room":
        return str(row["task"]).startswith("room_size_estimation")
    return subject in row["operands"]  # type: ignore[operator]


def test_several_faults_of_a_scene_are_told_at_once(tmp_path: Path) -> None:
    scene = sample_scene(PLANS[1])
    scene["room_size"] = -1
    scene["object_counts"]["stove"] = "1"
    scene["object_bbox"]["stove"][0]["axesLengths"][0] = -0.6
    write_scenes(tmp_path / FILE, {VICTIM: scene})
    _, (error,) = read_all(tmp_path)
    assert error.finding == "wrong_type"
    assert "the count of stove is '1'" in error.message
    assert "also negative_length: a side of stove #0 is -0.6 m" in error.message
    assert "also negative_area: room_size is -1.0 m2" in error.message


def test_sound_scenes_are_read_as_written(tmp_path: Path) -> None:
    write_sound(tmp_path)
    scenes, errors = read_all(tmp_path)
    assert not errors
    scene, raw = scenes[VICTIM], sample_scene(PLANS[1])
    assert (scene.id, scene.dataset, scene.name) == (f"samples/{VICTIM}", "samples", VICTIM)
    assert scene.facts.counts == raw["object_counts"]
    assert scene.facts.room.area_m2 == raw["room_size"]
    assert scene.facts.room.center == tuple(raw["room_center"])
    assert scene.video.path == "kitchen.mp4"
    assert scene.source.files == (FILE,)
    for item in scene.facts.objects:
        box = raw["object_bbox"][item.category][item.instance]
        assert item.box.center == tuple(box["centroid"])
        assert item.box.lengths == tuple(box["axesLengths"])
        assert np.ravel(item.box.axes).tolist() == box["normalizedAxes"]


def test_a_scene_is_the_same_in_any_company_and_order(tmp_path: Path) -> None:
    plans = {plan.name: sample_scene(plan) for plan in PLANS}
    for folder, names in (("all", list(plans)), ("turned", list(plans)[::-1]), ("alone", [VICTIM])):
        write_scenes(tmp_path / folder / FILE, {name: plans[name] for name in names})
    everything, turned, alone = (read_all(tmp_path / f)[0] for f in ("all", "turned", "alone"))
    assert everything == turned
    assert everything[VICTIM] == alone[VICTIM]


def test_what_was_not_measured_is_none(tmp_path: Path) -> None:
    scene = sample_scene(PLANS[1]) | {"room_size": None, "room_center": None, "video_path": None}
    write_scenes(tmp_path / FILE, {VICTIM: scene})
    scenes, errors = read_all(tmp_path)
    assert not errors
    read = scenes[VICTIM]
    assert (read.facts.room.area_m2, read.facts.room.center, read.video, read.findings) == (None, None, None, ())


def test_only_the_name_of_a_video_is_kept(tmp_path: Path) -> None:
    write_scenes(tmp_path / FILE, {VICTIM: sample_scene(PLANS[1]) | {"video_path": "/home/someone/data/42.mp4"}})
    scenes, _ = read_all(tmp_path)
    assert scenes[VICTIM].video.path == "42.mp4"


def test_an_empty_scene_is_sound(tmp_path: Path) -> None:
    empty = sample_scene(PLANS[1]) | {"object_counts": {}, "object_bbox": {}}
    write_scenes(tmp_path / "meta.json", {"a": empty, "b": sample_scene(PLANS[2])})
    outcome = build(tmp_path, tmp_path / "out")
    assert not outcome.quarantine
    asked = rows_of(tmp_path / "out" / "release" / "data" / "test-00000-of-00001.parquet")
    assert [r["question_type"] for r in asked if r["scene_name"] == "a"] == ["room_size_estimation"]


def test_a_file_without_scenes_gives_none(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}")
    assert READER.scenes(tmp_path) == Listing((), ())


@pytest.mark.parametrize("where", ["missing", "empty", "file.json"])
def test_a_folder_without_metadata_is_refused(where: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"Give the folder with VSI-Bench's meta_info"):
        READER.scenes(tmp_path / where)


def test_the_folder_above_meta_info_will_do(tmp_path: Path) -> None:
    write_sound(tmp_path / "meta_info")
    above, within = READER.scenes(tmp_path), READER.scenes(tmp_path / "meta_info")
    assert [r.id for r in above.scenes] == [r.id for r in within.scenes] == [f"samples/{n}" for n in NAMES]


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    write_sound(tmp_path)
    (tmp_path / "folder.json").mkdir()
    scenes, (error,) = read_all(tmp_path)
    assert set(scenes) == set(NAMES)
    assert (error.finding, error.path.name) == ("unreadable_file", "folder.json")


def test_a_file_that_changes_during_the_build_is_noticed(tmp_path: Path) -> None:
    path = write_sound(tmp_path)
    listing = READER.scenes(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"room_size": ', b'"room_size": 1'))
    with pytest.raises(RawDataError, match="changed_while_reading"):
        READER.read(SceneFiles(tmp_path, listing.scenes[1]))


def test_wherever_a_file_breaks_off_the_scenes_before_it_are_listed(tmp_path: Path) -> None:
    whole = write_sound(tmp_path).read_bytes()
    ends = [entry.span[1] for entry in split_scenes(whole)]
    for length in range(1, len(whole) - 1, 97):
        given = 0
        with pytest.raises(FormatError) as fault:  # noqa: PT012
            for _ in split_scenes(whole[:length]):
                given += 1
        assert given == sum(end <= length for end in ends), length
        assert fault.value.finding in ("truncated_json", "bad_json")


@pytest.mark.slow
def test_no_damage_to_a_file_gets_past_the_reader(tmp_path: Path) -> None:
    """Bytes changed, lost and doubled at random: every scene is read or refused in words, and nothing else happens."""
    path = write_sound(tmp_path)
    whole, rng = path.read_bytes(), np.random.default_rng(20)
    refused = 0
    for _ in range(times(40, 400)):
        at, length = int(rng.integers(len(whole))), int(rng.integers(1, 12))
        junk = (b"", rng.bytes(length), whole[at : at + length] * 2, rng.choice(list(b'"{}[],:-0e.\\'), 2).tobytes())
        path.write_bytes(whole[:at] + junk[rng.integers(len(junk))] + whole[at + length :])
        scenes, errors = read_all(tmp_path)
        refused += bool(errors)
        assert all(str(error).isprintable() and error.remedy for error in errors)
        assert len(scenes) <= len(NAMES)
    assert refused > times(30, 300)


@pytest.mark.real_data
def test_the_released_metadata_are_sound_but_for_known_doubts(real_vsi: Path) -> None:
    scenes, errors = read_all(real_vsi)
    assert not errors
    assert len(scenes) == 122
    found = Counter((f.name, f.severity) for scene in scenes.values() for f in scene.findings)
    assert found == {("count_differs_from_boxes", "doubt"): 8, ("doubled_box", "doubt"): 5}


def test_a_line_that_is_no_route_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "routes.jsonl"
    steps = '["Go forward until the sofa", "Turn left", "Go forward until the lamp"]'
    whole = f'{{"scene": "r/1", "start": "bed", "facing": "sofa", "steps": {steps}, "destination": "lamp"}}'
    further = "".join(f', "Turn right", "Go forward until the {name}"' for name in ("chair", "table", "stove", "door"))
    longer = whole.replace('lamp"]', f'lamp"{further}]').replace('"destination": "lamp"', '"destination": "door"')
    path.write_text(f'{whole}\n{{"scene": "r/2", "start": "bed"}}\n{"[" * 100_000}\n{longer}\n')
    routes, broken = read_written_routes(path)
    assert list(routes) == ["r/1"]
    assert [(one.finding, one.scene) for one in broken] == [("bad_route", f"(line {n})") for n in (2, 3, 4)]
    assert "turns 5 times, and at most 4 turns are asked" in broken[-1].message


@pytest.mark.parametrize(
    ("spoil", "fps", "finding"),
    [
        (lambda raw: raw, 30, None),
        (lambda raw: raw, 24, "video_rate_differs"),
        (lambda raw: raw[: len(raw) * 2 // 3], 30, "unreadable_video"),
        (lambda raw: b"no video", 30, "unreadable_video"),
    ],
)
def test_a_video_beside_the_metadata_is_the_benchmarks_own_and_whole(
    tmp_path: Path, spoil: Callable[[bytes], bytes], fps: int, finding: str | None
) -> None:
    scene = sample_scene(PLANS[0]) | {"dataset": "scannetpp"}
    write_scenes(tmp_path / "meta" / FILE, {"a1": scene, "b2": scene})
    path = tmp_path / "videos" / "scannetpp" / "a1.mp4"
    path.parent.mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"no video of any of the 2 scenes is here, such as .*scannetpp/a1\.mp4"):
        VsiMeta(str(tmp_path / "videos")).scenes(tmp_path / "meta")
    shown = [np.full((48, 64, 3), 40 * n, dtype=np.uint8) for n in range(6)]
    path.write_bytes(spoil(encode(iter(shown), fps, 0, VideoSpec(size=(64, 48))).raw))
    reader = VsiMeta(str(tmp_path / "videos"))
    one, other = (SceneFiles(tmp_path / "meta", ref) for ref in reader.scenes(tmp_path / "meta").scenes)
    plain = READER.scenes(tmp_path / "meta").scenes
    assert [one.ref.stamp == plain[0].stamp, other.ref == plain[1]] == [False, True]
    assert reader.footage(other, reader.read(other)) is None

    def frames() -> list[npt.NDArray[np.uint8]]:
        read = reader.read(one)
        assert read.source.sha256 == plain[0].stamp
        assert [f.name for f in read.findings if f.subject == "video"] == [finding] * (fps == 24)
        footage = reader.footage(one, read)
        assert footage is not None
        assert (footage.fps, read.video and read.video.frames) == (fps, 6)
        return list(footage.frames())

    if finding == "unreadable_video":
        with pytest.raises(RawDataError) as error:
            frames()
        assert (error.value.finding, error.value.path, error.value.scene) == (finding, path, "scannetpp/a1")
    else:
        assert [int(picture.mean()) for picture in frames()] == pytest.approx([40 * n for n in range(6)], abs=4)
