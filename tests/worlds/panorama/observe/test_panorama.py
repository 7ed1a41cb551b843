"""What is measured of a panorama, and what is left out for it."""

import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from PIL import Image, ImageFilter
from scipy.fft import dctn

from pipeline.core.arrays import FloatArray
from pipeline.core.findings import Findings
from pipeline.core.fixes import UnexpectedError
from pipeline.core.identity import digest_of
from pipeline.core.schema import Finding
from pipeline.engine.config import build_config
from pipeline.engine.inputs import list_inputs
from pipeline.reading.files import SceneFiles
from pipeline.worlds.panorama.facts import (
    PanoramaConfig,
    PanoramaLandmark,
    PanoramaObject,
    PanoramaPicture,
    PanoramaScene,
    SphereCrop,
)
from pipeline.worlds.panorama.fixes import IndoorFix, drafts, fix_panorama
from pipeline.worlds.panorama.observe import panorama as module
from pipeline.worlds.panorama.observe.panorama import (
    Color,
    bits_of,
    differing_bits,
    nadir_by_colour,
    nadir_by_depth,
    observe_panorama,
    sharpness_of,
    thumbnail,
)
from pipeline.worlds.panorama.readers.panoramas import Panoramas
from tests.benchmarks.ergeobench.made import FOUNTAIN, scene, seen
from tests.conftest import REAL_DATA
from tests.worlds.panorama.panoramas import SIDECAR, jpeg, texture, write
from tests.worlds.panorama.tagged import picture

SMALL = PanoramaConfig(pixels_per_degree_min=0.0)
SMOOTH = SMALL.model_copy(update={"sharpness_min": 0.0})  # `blobs` have no edges
OUTSIDE = SIDECAR + "indoor: false\n"


def observed(root: Path, name: str = "p1", config: PanoramaConfig = SMALL) -> PanoramaScene:
    reader = Panoramas()
    (ref,) = (ref for ref in reader.scenes(root).scenes if ref.id.endswith(f"/{name}"))
    files = SceneFiles(root, ref)
    scene = reader.read(files)
    return observe_panorama(scene, reader.geometry(files, scene), config)


def found(scene: PanoramaScene) -> dict[str, Finding]:
    return {finding.name: finding for finding in scene.findings}


def blobs(seed: int, width: int = 128) -> np.ndarray:
    """A picture with large shapes, as photographs have, (width / 2, width, 3)."""
    coarse = np.random.default_rng(seed).integers(0, 256, (8, 16, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((width, width // 2), Image.Resampling.BICUBIC))


def faults_of_shape(color: np.ndarray) -> list[Finding]:
    findings = Findings()
    module._closes("pano.jpg", np.ascontiguousarray(color), findings)
    return findings.items


@pytest.mark.parametrize(("step", "refused"), [(58, False), (62, True)])
def test_the_first_column_is_beside_the_last(step: int, refused: bool) -> None:
    """The greatest step elsewhere is one of 40 grey levels; that in the middle, of 100, does not count."""
    level = 100.0 + step * np.clip(1 - np.arange(360) / 90, 0, 1)
    level[120:140] += 40
    level[180:] += 100 * np.clip(1 - np.arange(180) / 120, 0, 1)
    found = faults_of_shape(np.repeat(np.broadcast_to(level[:, None], (180, 360, 1)), 3, axis=2).astype(np.uint8))
    assert [(f.name, f.severity, f.measured) for f in found] == (
        [("not_a_sphere", "fault", round(step / 40, 2))] if refused else []
    )


@pytest.mark.parametrize(("share", "refused"), [(0.94, False), (0.96, True)])
def test_two_lenses_leave_one_colour_beyond_their_circles(share: float, refused: bool) -> None:
    row, column = np.mgrid[:180, :360] + 0.5
    beyond = np.hypot(column % 180 / 90 - 1, row / 90 - 1) > 1.03
    color = texture(360, 180).copy()
    dark = np.flatnonzero(beyond)
    color.reshape(-1, 3)[dark] = 250
    color.reshape(-1, 3)[dark[: round(share * len(dark))]] = 5
    assert [f.name for f in faults_of_shape(color)] == (["not_a_sphere"] if refused else [])


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("path", ["panoramas/examplepano.jpg", "captures/pano_gopro/GSAG2002.JPG"])
def test_real_panoramas_close_and_parts_of_them_do_not(path: str) -> None:
    with Image.open(REAL_DATA / path) as picture:
        color = np.asarray(picture.convert("RGB").resize((1440, 720)))
    eye = color[:, 360:1080]
    shapes = {
        "whole": color,
        "turned": np.roll(color, 555, axis=1),
        "nine tenths": color[36:-36, 72:-72],
        "half": color[180:540, 360:1080],
        "two eyes": np.concatenate([eye, eye], axis=1),
    }
    assert [name for name, shape in shapes.items() if faults_of_shape(shape)] == ["nine tenths", "half", "two eyes"]


# Near Enschede, 2020-05-09 12:16:30 UTC, as a real picture's GPS has it: the sun at 199.5 degrees, 53.9 high.
SUNNY: dict[int, Any] = {
    1: "N", 2: (52.0, 26.0, 36.276), 3: "E", 4: (6.0, 53.0, 23.748), 7: (12.0, 16.0, 30.0), 29: "2020:05:09",
}  # fmt: skip
AZIMUTH, ELEVATION = 199.5, 53.9


def sky(*glares: tuple[float, float, float]) -> np.ndarray:
    """A blue sky over ground, with white discs at some yaw, pitch and radius, degrees; (360, 720, 3)."""
    pitch, yaw = np.meshgrid(89.75 - np.arange(360) / 2, np.arange(720) / 2 - 179.75, indexing="ij")
    color = np.where((pitch > 0)[..., None], np.uint8([90, 140, 220]), texture(720, 360) // 2).astype(np.uint8)
    for at, high, radius in glares:
        p, q, turn = np.radians(pitch), np.radians(high), np.radians(yaw - at)
        away = np.sin(p) * np.sin(q) + np.cos(p) * np.cos(q) * np.cos(turn)
        color[away > np.cos(np.radians(radius))] = 255
    return color


@pytest.mark.parametrize(
    ("heading", "glares", "changes", "off"),
    [
        (30.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {}, None),
        (45.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {}, None),  # a glare does not tell 15 degrees
        (120.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {}, (90.0, False)),
        (210.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {}, (180.0, False)),
        (60.0, [(60.0 - AZIMUTH, ELEVATION, 5.0)], {}, (81.0, True)),  # mirrored
        (20.0, [(180.0, ELEVATION, 5.0)], {}, None),  # across the seam
        (110.0, [(180.0, ELEVATION, 5.0)], {}, (90.5, False)),
        (120.0, [(AZIMUTH - 30.0, 30.0, 5.0)], {}, None),  # no sun: it stood higher
        (120.0, [(AZIMUTH - 30.0, ELEVATION, 14.0)], {}, None),  # a bright sky
        (120.0, [(AZIMUTH - 30.0, ELEVATION, 5.0), (-20.0, 40.0, 3.5)], {}, None),  # which of two is not told
        (120.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {29: "2020:05:0x"}, None),  # no time
        (120.0, [(AZIMUTH - 30.0, ELEVATION, 5.0)], {7: (0.0, 16.0, 30.0)}, None),  # at night
        (120.0, [], {}, None),
    ],
)
def test_the_sun_tells_which_way_a_picture_looks(
    heading: float, glares: list[Any], changes: dict[int, Any], off: tuple[float, bool] | None, tmp_path: Path
) -> None:
    raw = picture(SUNNY | changes, color=sky(*glares))
    told = found(
        observed(write(tmp_path, picture=raw, sidecar=f"heading_deg: {heading}\nindoor: false\n"), config=SMOOTH)
    )
    assert ("sun_elsewhere" in told) is (off is not None)
    if off is not None:
        doubted = told["sun_elsewhere"]
        assert (doubted.subject, doubted.severity, doubted.measured) == (
            "heading",
            "doubt",
            pytest.approx(off[0], abs=1),
        )
        assert ("mirrored" in doubted.message) is off[1]
        certain = write(tmp_path / "b", picture=raw, sidecar=f"heading_deg: {heading}\ncertain: [heading]\n")
        assert "sun_elsewhere" not in found(observed(certain, config=SMOOTH))


BEARINGS = (10.0, 75.0, 150.0, 260.0)


def landmark(name: str, bearing_deg: float) -> PanoramaLandmark:
    """It may be 15.5 degrees off: 2.5 by its place, half of 8 as it and its sign are wide, and 5."""
    return PanoramaLandmark(
        id=f"way/{name}/{bearing_deg}", noun="shop", name=name, is_premises=True, distance_m=40.0, error_m=2.0,
        bearing_deg=bearing_deg, width_deg=8.0, error_deg=2.5, top_deg=6.0, visible_share=1.0, others=0, side=0,
    )  # fmt: skip


def doubts_by_signs(
    yaws: Sequence[float], heading: float | None, more: Sequence[PanoramaLandmark] = (), near: str = "ABCD"
) -> list[Finding]:
    """What signs A, B, … at these yaws tell of a heading, with landmarks of these names at `BEARINGS`."""
    signs = [seen(name, yaw, name=name.lower()) for name, yaw in zip("ABCD", yaws, strict=False)]
    own = (landmark(name, bearing) for name, bearing in zip("ABCD", BEARINGS, strict=True) if name in near)
    findings = Findings()
    facts = scene(*signs, heading_deg=heading, landmarks=(*own, *more)).facts
    module._by_the_signs(facts, ["A", "b", "C", "D", "D", None], findings)
    return findings.items


@pytest.mark.parametrize(("off", "is_told"), [(0, False), (15.4, False), (-15.4, False), (15.6, True), (-15.6, True)])
def test_named_things_tell_a_heading(off: float, is_told: bool) -> None:
    told = doubts_by_signs([bearing - 37.0 for bearing in BEARINGS], 37.0 + off)
    assert [(f.name, f.subject, f.measured, f.limit) for f in told] == [
        ("signs_elsewhere", "heading", 1.0, 0.5)
    ] * is_told
    if told:
        assert float(told[0].message.rpartition("fit by the heading ")[2]) == pytest.approx(37.0, abs=15.5)


def test_a_mirrored_picture_and_another_place_are_told_from_a_heading() -> None:
    (mirrored,) = doubts_by_signs([37.0 - bearing for bearing in BEARINGS], 37.0)
    assert mirrored.message.endswith("they fit if the picture is mirrored")
    elsewhere = doubts_by_signs([-30.0, 20.0, -160.0, 100.0], 37.0)
    assert [f.subject for f in elsewhere] == ["heading", "position"]
    assert elsewhere[0].message.endswith("no heading fits: position or map are wrong")


def test_what_signs_do_not_tell() -> None:
    """Two names are too few; half of four may be off; of two things of one name either may be in the picture."""
    right = [bearing - 37.0 for bearing in BEARINGS]
    assert doubts_by_signs(right[:2], 217.0) == []
    assert len(doubts_by_signs(right[:3], 217.0)) == 1
    moved = [yaw + 90 * (n < 2) for n, yaw in enumerate(right)]
    assert doubts_by_signs(moved, 37.0) == []
    assert doubts_by_signs([yaw + 90 * (n < 3) for n, yaw in enumerate(right)], 37.0)
    again = [landmark("ABC"[n], BEARINGS[n] + 90.0) for n in range(3)]
    assert doubts_by_signs([yaw + 90 * (n < 3) for n, yaw in enumerate(right)], 37.0, again) == []


def test_names_that_the_map_has_once_and_elsewhere_tell_a_position() -> None:
    """Of two things of the name D, which are both beyond reach, neither need be the one in the picture."""
    right = [bearing - 37.0 for bearing in BEARINGS]
    for heading in (37.0, None):
        told = doubts_by_signs(right, heading, near="")
        assert [f.subject for f in told] == ["heading", "position"]
        assert all("100% of 3 named things" in f.message for f in told)
        assert doubts_by_signs(right[:2], heading, near="") == []
        assert doubts_by_signs(right, heading, near="BCD") == []


YAWS: Final = np.random.default_rng(5).uniform(-180, 180, 20).round(1).tolist()
PLACES: Final = [(yaw, 4.0 + n % 4) for n, yaw in enumerate(YAWS)]  # yaw and width


def boxes(side: float = 1.0, turn: float = 0.0) -> list[PanoramaObject]:
    """Objects at `PLACES`, mirrored with ``side`` -1, turned to the right."""
    high = {"pitch_low_deg": -10.0, "pitch_high_deg": 10.0}
    return [seen(f"o{n}", side * yaw + turn, width_deg=width, **high) for n, (yaw, width) in enumerate(PLACES)]


def drawn() -> Color:
    """A sphere of grey with a darker thing at each of `PLACES`."""
    color = np.full((360, 720, 3), 150, dtype=np.uint8)
    for n, (yaw, width) in enumerate(PLACES):
        columns = np.arange(round((yaw - width / 2 + 180) * 2), round((yaw + width / 2 + 180) * 2)) % 720
        color[160:200, columns] = 30 + 5 * n
    return color


@pytest.mark.parametrize(
    ("turn", "side", "subjects"),
    [(0, 1, []), (1, 1, []), (40, 1, ["objects"]), (180, 1, ["objects"]), (0, -1, ["objects", "picture"])],
)
def test_boxes_of_objects_lie_on_edges_of_their_picture(turn: int, side: int, subjects: list[str]) -> None:
    findings, facts = Findings(), scene(*boxes(side, turn), complete=("tree",)).facts
    after = module._by_the_edges(facts, drawn(), PanoramaConfig(), findings)
    assert [(f.name, f.subject) for f in findings.items] == [("objects_off_edges", what) for what in subjects]
    assert {own.doubt is None for own in after.objects} == {not subjects}
    assert after.complete == (() if subjects else ("tree",))
    where = {40: "turned by -40 degrees", 180: "turned by -180 degrees", 0: "if mirrored and turned by 0 degrees"}
    assert all(where[turn] in f.message for f in findings.items)
    few = scene(*boxes(side, turn)[:14]).facts
    assert module._by_the_edges(few, drawn(), PanoramaConfig(), Findings()) is few


@pytest.mark.parametrize(
    ("color", "limit", "doubts"), [(texture(720, 360), 1.5, 2), (drawn() * 0, 1.5, 2), (texture(720, 360), -10.0, 0)]
)
def test_boxes_of_another_picture_lie_on_no_edges(color: Color, limit: float, doubts: int) -> None:
    findings = Findings()
    module._by_the_edges(scene(*boxes()).facts, color, PanoramaConfig(edge_fit_min=limit), findings)
    assert [f.limit for f in findings.items] == [limit] * doubts
    assert all(f.measured is not None and f.measured < limit for f in findings.items)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("heading", "doubted"), [(304, False), (34, True), (124, True), (214, True)])
def test_the_sun_of_a_real_panorama(heading: int, doubted: bool, tmp_path: Path) -> None:
    raw = (REAL_DATA / "captures" / "pano_gopro" / "GSAG2002.JPG").read_bytes()
    scene = observed(write(tmp_path, picture=raw, sidecar=f"heading_deg: {heading}\n"))
    assert ("sun_elsewhere" in found(scene)) is doubted


def depth_png(metres: FloatArray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(np.round(np.nan_to_num(metres) * 100).astype(np.uint16)).save(out, "PNG")
    return out.getvalue()


def test_what_is_measured_of_a_good_picture(tmp_path: Path) -> None:
    sidecar = OUTSIDE + "place: {country_code: MC}\n"
    scene = observed(write(tmp_path, sidecar=sidecar, picture=jpeg(texture(720, 360))), config=PanoramaConfig(
        pixels_per_degree_min=2.0))  # fmt: skip
    measured = scene.facts.measured
    assert scene.findings == ()
    assert measured.pixels_per_degree == 2.0
    assert measured.sharpness > 100
    assert measured.nadir_share == pytest.approx(0.0, abs=0.02)


def test_a_blurred_picture_is_left_out(tmp_path: Path) -> None:
    blurred = np.asarray(Image.fromarray(texture()).filter(ImageFilter.GaussianBlur(8)))
    finding = found(observed(write(tmp_path, sidecar=OUTSIDE, picture=jpeg(blurred))))["blurred"]
    assert finding.severity == "fault"
    assert finding.measured is not None
    assert finding.measured < 5.0 == finding.limit


def test_the_more_blur_the_less_sharp() -> None:
    flat = np.full((128, 256, 3), 90, dtype=np.uint8)
    assert sharpness_of(flat) == 0.0
    noise = Image.fromarray(texture())
    sharp, soft, blurred = (sharpness_of(np.asarray(noise.filter(ImageFilter.GaussianBlur(r)))) for r in (0, 1, 3))
    assert sharp > 5 * soft > 25 * blurred > 0
    for same in (np.roll(texture(), texture().shape[1] // 4, axis=1), texture()[:, ::-1]):
        assert sharpness_of(same) == pytest.approx(sharpness_of(texture()), rel=1e-4), "a quarter turn, a mirror"


@pytest.mark.slow
@pytest.mark.real_data
def test_a_real_panorama_is_sharp_and_hides_nothing() -> None:
    color = np.asarray(Image.open(REAL_DATA / "panoramas" / "examplepano.jpg").reduce(2))
    assert sharpness_of(color) > 300
    blurred = np.asarray(Image.fromarray(color).filter(ImageFilter.GaussianBlur(2.5)))
    assert sharpness_of(blurred) < 5
    share = nadir_by_colour(color)
    assert share < 0.05
    assert differing_bits(thumbnail(color), thumbnail(np.roll(color, 700, axis=1))) <= 2
    assert differing_bits(thumbnail(color), thumbnail(color[:, ::-1])) > 6


@pytest.mark.parametrize("pitch", [30, 50, 70])
def test_a_roof_all_of_one_colour(pitch: int) -> None:
    """A cap of the sphere below -p is 1 - sin p of its lower half."""
    color = texture(720, 360).copy()
    color[int((0.5 + pitch / 180) * 360) :] = 40
    assert nadir_by_colour(color) == pytest.approx(1 - np.sin(np.radians(pitch)), abs=0.01)


def test_ground_of_one_colour_is_no_roof() -> None:
    color = texture(720, 360).copy()
    color[185:] = 40
    assert nadir_by_colour(color) is None


@pytest.mark.parametrize(("columns", "is_roof"), [(66, True), (72, True), (74, False)])
def test_what_reaches_up_in_a_tenth_of_all_directions_is_ground(columns: int, is_roof: bool) -> None:
    color = texture(720, 360).copy()
    color[280:] = 40
    color[200:, :columns] = 40  # to 10 degrees below the horizon
    assert (nadir_by_colour(color) is not None) is is_roof


def test_a_roof_by_depth() -> None:
    """The camera is 2.5 m above the ground, and 1 m above a roof that ends 45 degrees down."""
    pitch = np.pi * (0.5 - (np.arange(180) + 0.5) / 180)
    ground = np.where(pitch < -0.01, 2.5 / -np.sin(np.minimum(pitch, -0.01)), np.nan)
    assert nadir_by_depth(np.repeat(ground[:, None], 360, axis=1), 2.5) == 0.0
    roof = np.where(pitch < -np.pi / 4, 1.0 / -np.sin(np.minimum(pitch, -0.01)), ground)
    assert nadir_by_depth(np.repeat(roof[:, None], 360, axis=1), 2.5) == pytest.approx(1 - np.sin(np.pi / 4), abs=0.01)


def test_one_place_taken_twice_stays_once(tmp_path: Path) -> None:
    """p2 is p1 turned and saved again, 3 m away; p3 is another place; p4 is p1 again, 100 m away."""
    color = blobs(1)
    write(tmp_path, "p1", jpeg(color), OUTSIDE)
    write(tmp_path, "p2", jpeg(np.roll(color, 48, axis=1), quality=60), OUTSIDE.replace("7.4273", "7.42733"))
    write(tmp_path, "p3", jpeg(blobs(2)), OUTSIDE)
    write(tmp_path, "p4", jpeg(color, quality=99), OUTSIDE.replace("43.7396", "43.7405"))
    listing = Panoramas().scenes(tmp_path)
    assert [[other.id for other in ref.compared_with] for ref in listing.scenes] == [
        [], ["panoramas/p1"], ["panoramas/p1", "panoramas/p2"], []
    ]  # fmt: skip
    twice = {name: found(observed(tmp_path, name, SMOOTH)).get("near_duplicate") for name in ("p1", "p2", "p3", "p4")}
    assert [name for name, finding in twice.items() if finding] == ["p2"]
    finding = twice["p2"]
    assert (finding.severity, finding.limit, finding.unit) == ("fault", 6.0, "bits")
    assert "panoramas/p1" in finding.message
    for bits, is_told in ((finding.measured, True), (finding.measured - 1, False), (-1, False)):
        told = found(observed(tmp_path, "p2", SMOOTH.model_copy(update={"duplicate_bits": int(bits)})))
        assert ("near_duplicate" in told) == is_told


@pytest.mark.parametrize(
    "spoiled",
    [
        {"sidecar": OUTSIDE.replace("indoor: false", "indoor: true")},
        {"sidecar": "no: key\n"},
        {"picture": jpeg(blobs(1)[:, :100])},
        {"picture": jpeg(blobs(1), quality=1)[:-200]},
    ],
)
def test_what_is_left_out_itself_takes_no_other_along(tmp_path: Path, spoiled: dict[str, Any]) -> None:
    write(tmp_path, "p1", **({"picture": jpeg(blobs(1)), "sidecar": OUTSIDE} | spoiled))
    write(tmp_path, "p2", jpeg(blobs(1)), OUTSIDE)
    write(tmp_path, "p3", jpeg(blobs(1), quality=60), OUTSIDE)
    assert "near_duplicate" not in found(observed(tmp_path, "p2", SMOOTH))
    assert "panoramas/p2" in found(observed(tmp_path, "p3", SMOOTH))["near_duplicate"].message


def test_one_that_a_fix_leaves_out_takes_no_other_along(tmp_path: Path) -> None:
    for name in ("p1", "p2", "p3"):
        write(tmp_path / "raw", name, jpeg(blobs(1)), OUTSIDE)
    config = {"build": "geo", "benchmark": "ergeobench", "roots": {"panoramas": tmp_path / "raw"}}

    def beside(**more: Any) -> dict[str, tuple[str, list[str]]]:
        inputs = list_inputs(build_config(config | more)).inputs
        return {
            unit: (digest_of(raw.parts), [other.id for other in raw.open().files.ref.compared_with])
            for unit, raw in inputs.items()
        }

    before = beside()
    (tmp_path / "fixes").mkdir()
    drop = "{id: left-out, scene: p1, target: drop_scene, why: blurred, who: me, date: 2026-01-31}"
    (tmp_path / "fixes" / "panoramas.yaml").write_text(f"- {drop}\n")
    after = beside(fixes={"folder": tmp_path / "fixes"})
    assert [names for _, names in before.values()] == [[], ["panoramas/p1"], ["panoramas/p1", "panoramas/p2"]]
    assert [names for _, names in after.values()] == [[], [], ["panoramas/p2"]]
    assert [after[unit] == before[unit] for unit in before] == [True, False, False]


def test_of_many_on_one_spot_each_is_held_against_the_first(tmp_path: Path) -> None:
    raw = jpeg(texture(64, 32))
    for i in range(70):
        write(tmp_path, f"p{i:02}", raw + bytes(i), OUTSIDE)
    first, *others = Panoramas().scenes(tmp_path).scenes
    assert first.compared_with == ()
    assert all("panoramas/p00" in [scene.id for scene in ref.compared_with] for ref in others)


def test_the_same_file_without_a_position_stays_once(tmp_path: Path) -> None:
    write(tmp_path, "p1", jpeg(blobs(1)), "indoor: false\n")
    write(tmp_path, "p2", jpeg(blobs(1)), "indoor: false\n")
    assert "near_duplicate" in found(observed(tmp_path, "p2", SMOOTH))


def test_a_changed_sidecar_changes_one_stamp(tmp_path: Path) -> None:
    for i in range(4):
        write(tmp_path, f"p{i}", jpeg(blobs(i), quality=80 + i), OUTSIDE.replace("43.7396", f"43.74{i}"))
    before = {ref.id: ref.stamp for ref in Panoramas().scenes(tmp_path).scenes}
    (tmp_path / "p2" / "pano.yaml").write_text(OUTSIDE.replace("43.7396", "43.742") + "camera_roll_deg: 1\n")
    after = {ref.id: ref.stamp for ref in Panoramas().scenes(tmp_path).scenes}
    assert [scene for scene in before if before[scene] != after[scene]] == ["panoramas/p2"]


def test_the_hash_is_that_of_the_published_method() -> None:
    """By another implementation of the cosine transform; scipy's is twice the sum, which moves no median."""
    thumb = thumbnail(blobs(1))
    low = dctn(thumb, type=2)[:8, :8].ravel()
    np.testing.assert_array_equal(bits_of(thumb), low > np.median(low))
    both = np.stack([thumbnail(blobs(2)), thumb])
    np.testing.assert_array_equal(bits_of(both)[1], bits_of(thumb), "each by its own median")


def room(rows: int = 180) -> FloatArray:
    """Distances about a camera 2 m above the ground of a square, 20 m wide, under the open sky."""
    pitch = np.pi * (0.5 - (np.arange(rows) + 0.5) / rows)[:, None]
    yaw = 2 * np.pi * ((np.arange(2 * rows) + 0.5) / (2 * rows) - 0.5)[None]
    wall = 10.0 / np.maximum(np.abs(np.sin(yaw)), np.abs(np.cos(yaw)))
    with np.errstate(divide="ignore", invalid="ignore"):
        ground = np.where(pitch < 0, 2.0 / -np.sin(pitch), np.inf)
    distance = np.minimum(wall / np.cos(pitch), ground)
    return np.where(pitch > np.radians(45), np.nan, distance)


OBJECTS = {
    "objects": [
        {"id": "door", "label": "door", "yaw_deg": [-3, 3], "pitch_deg": [-8, 8]},
        {"id": "car", "label": "car", "yaw_deg": [84, 96], "pitch_deg": [-8, 4], "distance_m": 10},
        {"id": "lamp", "label": "lamp", "yaw_deg": [174, -174], "pitch_deg": [-5, 5], "distance_m": 10},
        {"id": "ghost", "label": "ghost", "yaw_deg": [40, 44], "pitch_deg": [-5, 5], "distance_m": 60},
    ]
}


def test_depth_tells_distance_share_and_place(tmp_path: Path) -> None:
    """The car is half hidden by a pillar 4 m away; the lamp lies across the seam; the ghost is not there."""
    metres = room()
    metres[80:110, 270:273] = 4.0  # yaw 90 to 93
    metres[80:110, 264:267] = 4.0
    sidecar = SIDECAR.replace("2.5", "2.0") + "depth: {metres_per_unit: 0.01}\n"
    scene = observed(write(tmp_path, sidecar=sidecar, objects=OBJECTS, depth__png=depth_png(metres)))
    seen: dict[str, Any] = {one.id: one for one in scene.facts.objects}
    assert seen["door"].distance_m == pytest.approx(10.0, abs=0.05)
    assert (seen["door"].visible_share, seen["door"].source_tags["distance_m"]) == (1.0, "depth")
    compass = np.radians(37.5)
    assert seen["door"].place == pytest.approx((10 * np.sin(compass), 10 * np.cos(compass)), abs=0.05)
    assert seen["car"].visible_share == pytest.approx(0.5, abs=0.03)
    assert seen["lamp"].visible_share == 1.0
    assert seen["lamp"].place == pytest.approx((-10 * np.sin(compass), -10 * np.cos(compass)), abs=0.05)
    assert "60 m away" in seen["ghost"].doubt
    assert found(scene)["depth_belies_objects"].measured == 1.0
    assert scene.facts.indoor is False
    assert scene.facts.measured.nadir_share == 0.0


def test_landmarks_are_those_of_the_map_beside(tmp_path: Path) -> None:
    """A church, two ten-thousandths of a degree of latitude to the north: 22.2 m."""
    west, east, south, north = 7.4272, 7.4274, 43.7398, 43.7399
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    church = {
        "type": "Feature",
        "properties": {"building": "church", "name": "St Mary"},
        "geometry": {"type": "Polygon", "coordinates": [ring]},
    }
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "map.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [church]}))
    (landmark,) = observed(write(tmp_path)).facts.landmarks
    assert (landmark.name, landmark.distance_m) == ("St Mary", pytest.approx(22.2, abs=0.1))


def test_a_part_of_a_sphere_is_not_held_against_what_is_about_the_whole(tmp_path: Path) -> None:
    crop = OUTSIDE + "place: {country_code: MC}\ncrop: {full_width: 256, full_height: 128, left: 0, top: 32}\n"
    scene = observed(write(tmp_path, sidecar=crop, picture=jpeg(texture(256, 64)), objects=OBJECTS))
    measured = scene.facts.measured
    assert (measured.pixels_per_degree, measured.sharpness, measured.nadir_share) == (0.711, None, None)
    assert [f.name for f in scene.findings] == ["cropped"]


def test_a_ceiling_is_a_doubt_and_indoors_is_left_out(tmp_path: Path) -> None:
    metres = np.where(np.isnan(room()), 3.0, room())
    sidecar = SIDECAR + "depth: {metres_per_unit: 0.01}\n"
    scene = observed(write(tmp_path, sidecar=sidecar, depth__png=depth_png(metres)))
    finding = found(scene)["perhaps_indoor"]
    assert (finding.severity, finding.measured, scene.facts.indoor) == ("doubt", 1.0, None)
    scene = observed(write(tmp_path / "d", sidecar=f"{sidecar}indoor: false\n", depth__png=depth_png(metres)))
    finding = found(scene)["perhaps_indoor"]
    assert (finding.severity, scene.facts.indoor) == ("note", False)
    assert finding.message.endswith("; outdoors holds, by pano.yaml")
    told = found(observed(write(tmp_path / "b", sidecar=SIDECAR + "indoor: true\n")))
    assert told["indoor"].severity == "fault"
    assert found(observed(write(tmp_path / "c")))["indoor_unknown"].severity == "doubt"


def test_a_person_decides_whether_it_was_taken_indoors() -> None:
    own = scene(FOUNTAIN)
    (draft,) = drafts(own, ())
    told = {"id": "made-1", "scene": "p1", "why": "a roof", "who": "Ada", "date": "2026-01-31"}
    fix = IndoorFix.model_validate(told | draft | {"set": True})
    fix.check(own)
    found = fix_panorama(own, (fix,))
    assert (fix.change, found.facts.indoor) == ("indoor None -> True", True)
    assert found.facts.source_tags["indoor"] == "fix made-1"
    with pytest.raises(UnexpectedError, match="indoor"):
        fix.check(found)


@pytest.mark.parametrize(
    ("facts", "measured"),
    [
        ({"camera_height_m": 2.5}, (0.178, 0.0, 0.5)),  # by depth: below 45 degrees on one side of the sphere
        ({"camera_height_m": None}, (0.178, 0.0, 1.0)),  # by colour: all of one grey, but for the horizon
        ({"crop": True, "camera_height_m": 2.5}, (0.711, None, None)),
    ],
)
def test_measures_by_depth_by_colour_and_of_a_part(facts: dict[str, Any], measured: tuple[float | None, ...]) -> None:
    """64 columns are 0.178 pixels per degree; as a part of 256 they are 0.711."""
    crop = SphereCrop(full_width=256, full_height=128, left=3, top=7) if facts.pop("crop", False) else None
    picture = PanoramaPicture(path="p.jpg", width=64, height=32, sha256="0", crop=crop)
    color = np.full((32, 64, 3), 90, dtype=np.uint8)
    color[:23] = 250  # to 40 degrees below the horizon
    depth = np.full((32, 64), np.nan)
    depth[16:, :32] = 1.0
    found = module._measure(scene(picture=picture, **facts).facts, color, depth)
    fine, sharp, hidden = found.pixels_per_degree, found.sharpness, found.nadir_share
    assert (fine, sharp is None) == (measured[0], measured[1] is None)
    if measured[2] == 1.0:
        assert hidden == pytest.approx(1 - np.sin(np.radians(90 * 7 / 16)), abs=0.02)
    else:
        assert hidden == measured[2]


@pytest.mark.parametrize(
    ("height_m", "away_m", "hidden"),
    [(2.0, 3.49, True), (2.0, 3.52, False), (1.0, 1.0, True)],
)
def test_near_and_above_the_ground_at_their_limits(height_m: float, away_m: float, hidden: bool) -> None:
    """A ring just below the horizon, over a vehicle that fills all below it."""
    depth = np.full((180, 4), 0.5)
    depth[90:95] = away_m
    share = nadir_by_depth(depth, height_m)
    assert share == pytest.approx(1.0 if hidden else 1 - np.sin(np.radians(5)), abs=1e-3)


@pytest.mark.parametrize(("over_m", "hides"), [(0.31, True), (0.29, False)])
def test_what_lies_above_the_ground_by_30_cm_is_the_vehicle(over_m: float, hides: bool) -> None:
    """Straight below a camera at 2 m; a gap on the way out ends what the vehicle hides, in its own column."""
    pitch = module._pitch_rad(180)[:, None]
    depth = np.where(pitch < 0, (2.0 - over_m) / np.sin(-np.minimum(pitch, -1e-3)), np.nan) * np.ones((1, 4))
    below = np.radians(-np.degrees(np.arctan2(2.0 - over_m, 3.5)))  # within 3.5 m
    assert nadir_by_depth(depth, 2.0) == pytest.approx(1 + np.sin(below) if hides else 0.0, abs=0.01)
    depth[160, 1:3] = np.nan
    half = (1 + np.sin(below) + 1 - np.sin(np.radians(70.5))) / 2
    assert nadir_by_depth(depth, 2.0) == pytest.approx(half if hides else 0.0, abs=0.01)


def test_pitches_of_rows() -> None:
    assert np.degrees(module._pitch_rad(4)) == pytest.approx([67.5, 22.5, -22.5, -67.5])


@pytest.mark.parametrize(("grey", "is_alike"), [(64, True), (65, False)])
def test_colours_that_differ_by_24_levels_are_alike(grey: int, is_alike: bool) -> None:
    """A roof of grey 40 whose rim is lighter in one channel; its middle 5 degrees tell its own colour."""
    color = texture(360, 180).copy()
    color[140:] = 40
    color[140:160, :, 1] = grey
    share = nadir_by_colour(color)
    assert share == pytest.approx(1 - np.sin(np.radians(50 if is_alike else 70)), abs=0.01)
    color[175:] = 90  # another roof, 5 degrees about the middle
    assert nadir_by_colour(color) == pytest.approx(1 - np.sin(np.radians(85)), abs=1e-3)


@pytest.mark.parametrize(("facts", "tilt"), [
    ({"camera_pitch_deg": 3.0, "camera_roll_deg": -3.0}, None), ({"camera_pitch_deg": -3.25}, 3.25),
    ({"camera_pitch_deg": 1.0, "camera_roll_deg": 5.0}, 5.0), ({"camera_pitch_deg": 9.0, "camera_roll_deg": 5.0}, 9.0),
    ({}, None),
])  # fmt: skip
def test_a_camera_leans_by_pitch_or_by_roll(facts: dict[str, float], tilt: float | None, tmp_path: Path) -> None:
    more = "".join(f"{name}: {value}\n" for name, value in facts.items())
    told = found(observed(write(tmp_path, sidecar=OUTSIDE + more))).get("not_level")
    assert (told and (told.measured, told.limit)) == (tilt and (tilt, 3.0))


@pytest.mark.parametrize(
    ("picture", "limits", "names"),
    [
        ((5.0, 5.0, 0.35), {}, []),  # at each limit
        ((4.999, 4.9, 0.351), {}, ["low_resolution", "blurred", "vehicle_hides"]),
        ((4.999, None, None), {}, ["low_resolution"]),
        ((1.0, 1.0, 1.0), {"pixels_per_degree_min": 0.0, "sharpness_min": 0.0, "nadir_share_max": 1.0}, []),
    ],
)
def test_filters_at_their_limits(picture: tuple[Any, ...], limits: dict[str, float], names: list[str]) -> None:
    fine, sharp, hidden = picture
    measured = module.MeasuredPicture(pixels_per_degree=fine, sharpness=sharp, nadir_share=hidden)
    told, config = Findings(), PanoramaConfig(**limits)
    module._filter(scene(measured=measured).facts, config, told)
    assert [one.name for one in told.items] == names
    values = {"low_resolution": (fine, 5.0), "blurred": (sharp, 5.0), "vehicle_hides": (hidden, 0.35)}
    assert [(one.measured, one.limit) for one in told.items] == [values[name] for name in names]
    assert {one.severity for one in told.items} <= {"fault"}


@pytest.mark.parametrize(
    ("rows", "high_m", "free", "is_roofed", "share"),
    [
        (60, 11.9, 0.0, True, 1.0),
        (60, 12.1, 0.0, False, 0.0),
        (60, 11.9, 0.09, True, 0.91),
        (60, 11.9, 0.1, False, 0.9),  # not over 0.9
        (3, 11.9, 0.0, True, 1.0),  # at least one row
    ],
)
def test_a_roof_covers_most_of_what_is_above_60_degrees(
    rows: int, high_m: float, free: float, is_roofed: bool, share: float
) -> None:
    """A part of the columns is open; what is below 60 degrees does not count, nor what is stated already."""
    depth = np.full((rows, 100), 1.0)
    depth[: max(1, rows // 6), : round(100 * (1 - free))] = high_m
    depth[: max(1, rows // 6), round(100 * (1 - free)) :] = 50.0
    told = Findings()
    facts = module._indoor(scene(indoor=None).facts, depth, told)
    assert (facts.indoor, [one.measured for one in told.items]) == ((None, [share]) if is_roofed else (False, []))
    assert ("indoor" in facts.source_tags) is not is_roofed
    told = Findings()
    crop = scene().facts.picture.model_copy(
        update={"crop": SphereCrop(full_width=8192, full_height=4096, left=0, top=0)}
    )
    assert module._indoor(scene(picture=crop, indoor=None).facts, depth, told).indoor is None
    assert [one.name for one in told.items] == ["indoor_unknown"]
    told = Findings()
    stated = module._indoor(scene(indoor=False).facts, depth, told)
    assert (stated.indoor, "indoor" in stated.source_tags, len(told.items)) == (False, False, is_roofed)


def test_rows_above_60_degrees_weigh_as_much_of_the_sphere_as_they_are() -> None:
    """Of 18 rows three lie above 60 degrees: at 85, 75 and 65; a hole in one of them is as large as its ring."""
    weight = np.cos(np.radians([85.0, 75.0, 65.0]))
    for row in range(3):
        depth = np.full((18, 40), 5.0)
        depth[row, :2] = np.nan
        told = Findings()
        module._indoor(scene(indoor=None).facts, depth, told)
        assert told.items[0].measured == pytest.approx(1 - weight[row] / weight.sum() / 20, abs=1e-4)


@pytest.mark.parametrize("yaw", [0, 3])
def test_sharpness_is_the_median_of_four_views(yaw: int) -> None:
    """Noise about one of four yaws is seen in one view alone, that about two opposite ones in two."""
    quarter = 64
    noise = texture(4 * quarter, 2 * quarter)
    color = np.full_like(noise, 90)
    at = (np.arange(quarter // 2) + (yaw + 2) * quarter - quarter // 4) % (4 * quarter)  # 45 degrees about it
    color[:, at] = noise[:, at]
    assert sharpness_of(color) == 0.0
    color[:, (at + 2 * quarter) % (4 * quarter)] = noise[:, at]
    assert 0 < sharpness_of(color) < sharpness_of(noise)


def test_places_of_a_level_view_in_a_sphere() -> None:
    """90 degrees across 512 pixels: its outermost columns lie 45 degrees less half a pixel off."""
    row, column = module._places(1800, 3600)
    half = np.degrees(np.arctan(255.5 / 256))
    assert row.shape == column.shape == (512, 512)
    for x, degrees in ((0, -half), (255, -np.degrees(np.arctan(0.5 / 256))), (511, half)):
        assert column[100, x] == pytest.approx(10 * (180 + degrees) - 0.5, abs=2e-3)
    up = np.degrees(np.arctan2(255.5, np.hypot(256, 255.5)))
    assert row[0, 0] == row[0, 511] == pytest.approx(10 * (90 - up) - 0.5, abs=2e-3)
    assert row[511, 0] == pytest.approx(10 * (90 + up) - 0.5, abs=2e-3)
    assert column[0, 0] == column[511, 0]


def test_large_pictures_are_reduced_before_their_sharpness_is_measured() -> None:
    """Of 4,100 columns two become one; of 4,095 none does, for half as many would be fewer than 2,048."""
    checks = np.where((np.arange(4100) + np.arange(64)[:, None]) % 2, 255, 0).astype(np.uint8)
    large = np.repeat(checks[..., None], 3, axis=2)
    assert sharpness_of(large) == pytest.approx(0.0, abs=1.0)
    assert sharpness_of(large[:, :4095]) > 1000


def test_depth_that_cannot_be_read_is_told_and_not_used(tmp_path: Path) -> None:
    sidecar = OUTSIDE + "depth: {metres_per_unit: 0.01}\n"
    root = write(tmp_path, sidecar=sidecar, depth__png=depth_png(room()), objects=OBJECTS)
    reader = Panoramas()
    (ref,) = reader.scenes(root).scenes
    files = SceneFiles(root, ref)
    own = reader.read(files)
    geometry = reader.geometry(files, own)
    told = []
    for depth in (geometry.depth_m(), None):
        seen = observe_panorama(own, replace(geometry, depth_m=lambda depth=depth: depth), SMALL)
        (door,) = [one for one in seen.facts.objects if one.id == "door"]
        told.append(("broken_depth" in found(seen), door.distance_m))
    assert told == [(False, pytest.approx(10.0, abs=0.05)), (True, None)]
    bare = own.model_copy(update={"facts": own.facts.model_copy(update={"depth": None})})
    assert "broken_depth" not in found(observe_panorama(bare, replace(geometry, depth_m=lambda: None), SMALL))


def test_thumbnails_are_means_of_grey() -> None:
    color = np.zeros((64, 128, 3), dtype=np.uint8)
    color[:2, :2] = [[[0, 0, 0], [100, 100, 100]], [[100, 100, 100], [200, 200, 200]]]
    color[62:, 126:, 0] = 200  # red: 0.299 of it
    thumb = thumbnail(color)
    assert thumb.shape == (32, 64)
    assert (thumb[0, 0], thumb[31, 63], thumb.sum()) == (100, 60, 160)


def test_hashes_are_compared_at_each_of_64_turns() -> None:
    one = thumbnail(blobs(3))
    assert [differing_bits(one, np.roll(one, turn, axis=1)) for turn in (0, 1, 31, 63)] == [0] * 4
    other = thumbnail(blobs(4))
    plain = min(int((bits_of(np.roll(other, k, axis=1)) != bits_of(one)).sum()) for k in range(64))
    assert differing_bits(one, other) == plain
    assert plain == 64 - max(int((bits_of(np.roll(other, k, axis=1)) == bits_of(one)).sum()) for k in range(64))
