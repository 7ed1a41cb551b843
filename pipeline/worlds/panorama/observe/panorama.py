"""Observes a panorama: whether its picture is fit for questions, where it lies, how far things are.

Filters: ERGeoBench, table 9, "Manual panorama filtering". Each is measured, and what fails one is left out with the
measured value and the limit.

Likeness: pHash, of a small grey picture the lowest 8 x 8 cosine coefficients, each against their median (Zauner,
"Implementation and Benchmarking of Perceptual Image Hash Functions", 2010), whichever way the camera stood.
Sharpness: the variance of the Laplacian (Pech-Pacheco and others, "Diatom autofocusing in brightfield microscopy",
2000) of views: the equirectangular picture itself is stretched about the poles and would seem blurred there.
Nadir: the share of the lower half of the sphere that the vehicle hides. With depth and the camera's height: what
reaches from straight below outward, stands above the ground and is near. Without: what reaches from straight below
outward in one colour with an edge all around, as a roof, a patch or a blur has; ground of one colour goes on to the
horizon.

Names: each is looked for, by RapidOCR (Apache-2.0, its weights are in the package), in a view as large as questions
show it, and no larger.
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from pipeline.core.arrays import BoolArray, FloatArray
from pipeline.core.errors import require_extra
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import AnyScene, Finding
from pipeline.geometry.equirect import Sphere
from pipeline.geometry.geodesy import sun_at
from pipeline.geometry.views import PinholeView, rays_of, turned_deg
from pipeline.reading.reader import NearbyPanorama, PanoramaGeometry
from pipeline.worlds.panorama.facts import MeasuredPicture, Panorama, PanoramaConfig, PanoramaObject, PanoramaScene
from pipeline.worlds.panorama.observe.landmarks import landmarks_of
from pipeline.worlds.panorama.observe.place import DEPTH, find_place, measure_objects

_ROOF_M: Final = 12.0  # above the camera: nearer all over, it may be a ceiling
_ROOFED: Final = 0.9  # of the sky above 60 degrees
_UP_SHARE: Final = 1 / 6  # of the rows that lie above 60 degrees
TILT_DEG: Final = 3.0  # by which a camera may lean: a view's horizon shows more

Color = npt.NDArray[np.uint8]


def observe_panorama(scene: PanoramaScene, geometry: PanoramaGeometry, config: PanoramaConfig) -> PanoramaScene:
    """The scene with what was measured; a finding of severity "fault" leaves it out."""
    findings = Findings()
    facts = scene.facts
    color = geometry.color()
    if color is None:
        message = f"{facts.picture.path} cannot be decoded"
        findings.add(_fault(note("broken_picture", "picture", message, "fetch the picture again")))
        return scene.with_findings(*findings.items)
    depth_m = geometry.depth_m()
    if facts.depth is not None and depth_m is None:
        message = f"{facts.depth.path} cannot be decoded; it was not used"
        findings.add(doubt("broken_depth", DEPTH, message, "write it again"))
    facts = _judge(facts, color, depth_m, config, findings)
    _compare(facts.picture.path, color, geometry.twins, config, findings)
    _by_the_sun(facts, color, findings)
    facts = _by_the_edges(facts, color, config, findings)
    tilt = max(abs(facts.camera_pitch_deg or 0.0), abs(facts.camera_roll_deg or 0.0))
    if tilt > TILT_DEG:
        message = f"the camera leaned by {tilt:.1f} degrees, over {TILT_DEG:g}, and the picture may not be level"
        remedy = "level the picture, and take camera_pitch_deg and camera_roll_deg out"
        findings.add(doubt("not_level", "level", message, remedy, tilt, TILT_DEG, "degrees"))
    gazetteer, wrong = geometry.gazetteer() or (None, ())
    findings.add(*wrong)
    facts = facts.model_copy(update={"place": find_place(facts, gazetteer, config, findings)})
    around = None if facts.position is None else geometry.surroundings(facts.position)
    if around is not None:
        findings.add(*around[1])
        facts = facts.model_copy(update=landmarks_of(facts, around[0], config))
        _by_the_signs(facts, [own.name for own in around[0].things], findings)
    facts = facts.model_copy(update={"objects": measure_objects(facts, depth_m, findings)})
    if config.ocr and facts.picture.crop is None:
        facts = facts.model_copy(update={"objects": with_signs_read(facts, color)})
    return scene.model_copy(update={"facts": facts}).with_findings(*findings.items)


def _judge(
    facts: Panorama, color: Color, depth_m: FloatArray | None, config: PanoramaConfig, findings: Findings
) -> Panorama:
    """The facts with what its own pixels tell; a finding of severity "fault" leaves it out."""
    facts = facts.model_copy(update={"measured": _measure(facts, color, depth_m)})
    _filter(facts, config, findings)
    if facts.picture.crop is None:
        _closes(facts.picture.path, color, findings)
    return _indoor(facts, depth_m, findings)


def _fault(found: Finding) -> Finding:
    return found.model_copy(update={"severity": "fault"})


def _measure(facts: Panorama, color: Color, depth_m: FloatArray | None) -> MeasuredPicture:
    picture = facts.picture
    whole = picture.crop is None
    across = picture.width if picture.crop is None else picture.crop.full_width
    share = None
    if whole and depth_m is not None and facts.camera_height_m is not None:
        share = nadir_by_depth(depth_m, facts.camera_height_m)
    elif whole:
        share = nadir_by_colour(color)
    return MeasuredPicture(
        pixels_per_degree=round(across / 360.0, 3),
        sharpness=round(sharpness_of(color), 1) if whole else None,
        nadir_share=None if share is None else round(share, 4),
    )


SEAM_TIMES: Final = 1.5  # of the greatest step between columns; whole spheres at hand at most 0.9, others 2.4 to 10
LENSES_ALIKE: Final = 0.95  # of what lies beyond two circles; of whole spheres at hand at most 0.5
_LENS: Final = 1.03  # of the radius of a circle that fills half of the picture


def _closes(name: str, color: Color, found: Findings) -> None:
    """Leaves out what is twice as wide as high and yet no sphere: a flat picture, two eyes, two circles side by side.

    The first column of a sphere is beside its last one. The step in the middle is none of the others: between the
    pictures of two eyes it is as great as at the border. Cameras of two lenses leave one colour beyond both circles.
    """
    if color.shape[1] < SPHERE_WIDTH:
        return  # coarser than the blocks of a JPEG allow
    half, smaller = SPHERE_HEIGHT, (SPHERE_WIDTH, SPHERE_HEIGHT)
    small = np.asarray(Image.fromarray(color).resize(smaller, Image.Resampling.BOX), dtype=np.float64)
    step = np.abs(small - np.roll(small, -1, axis=1)).mean((0, 2))
    times = float(step[-1] / max(np.delete(step, [half - 2, half - 1, half, -1]).max(), 1.0))
    row, column = np.mgrid[:half, : 2 * half] + 0.5
    beyond = small[np.hypot(column % half / (half / 2) - 1, row / (half / 2) - 1) > _LENS]
    alike = float((np.abs(beyond - np.median(beyond, axis=0)).max(1) <= _ALIKE).mean())
    remedy = "give an equirectangular picture of a whole sphere, or crop for the part of one; stitch two lenses first"
    if times > SEAM_TIMES:
        message = f"{name}: from its last column to its first one colours change {times:.1f} times as much as anywhere"
        found.add(_fault(note("not_a_sphere", "picture", message, remedy, round(times, 2), SEAM_TIMES, "times")))
    elif alike > LENSES_ALIKE:
        message = f"{name}: beyond two circles side by side {alike:.0%} is of one colour: two lenses, not yet stitched"
        found.add(_fault(note("not_a_sphere", "picture", message, remedy, round(alike, 3), LENSES_ALIKE, "share")))


SUN_WIDTH: Final = 1440  # columns to which a picture is reduced: four a degree
GLARE: Final = 245  # of 255, least of the three channels of the sun and the sky about it
GLARE_DEG: Final = (0.4, 10.0)  # radius of what may be the sun with its glare; 6.0 in a real picture at noon
GLARE_TIMES: Final = 3.0  # as large as anything else that is as bright: clouds come in several pieces
ROUND: Final = 1.4  # times as far from its middle as the light of a disc
SUN_HIGH_DEG: Final = (10.0, 75.0)  # below, haze is bright; above, its bearing is not told
SUN_OFF_DEG: Final = 3.0  # between its elevation and that of its glare, beside half of its radius
SUN_TURN_DEG: Final = 15.0  # a heading that is off by less is not told by a glare, which is wider on one side


def _by_the_sun(facts: Panorama, color: Color, found: Findings) -> None:
    """Doubts a heading by which the sun stands elsewhere than it did; where nothing is surely the sun, says nothing."""
    if facts.position is None or facts.heading_deg is None or facts.utc_s is None or facts.picture.crop is not None:
        return
    azimuth, elevation = sun_at(facts.position.lat_deg, facts.position.lon_deg, facts.utc_s)
    glare = glare_of(color) if SUN_HIGH_DEG[0] <= elevation <= SUN_HIGH_DEG[1] else None
    if glare is None or abs(glare[1] - elevation) > SUN_OFF_DEG + glare[2] / 2:
        return
    limit = SUN_TURN_DEG + math.degrees(math.atan2(glare[2], 90.0 - elevation)) / 2
    off = abs(turned_deg(facts.heading_deg + glare[0] - azimuth))
    if off <= limit:
        return
    is_mirrored = abs(turned_deg(facts.heading_deg - glare[0] - azimuth)) <= limit
    message = f"{facts.picture.path}: the sun stood at {azimuth:.0f} degrees, {elevation:.0f} high, and by the heading "
    message += f"{facts.heading_deg:g} the picture has it {off:.0f} degrees beside that"
    message += "; it fits if the picture is mirrored" if is_mirrored else ""
    right = (azimuth - glare[0]) % 360.0
    remedy = "mirror the picture back" if is_mirrored else f"is the heading {right:.0f}, or the time another?"
    remedy += "; state heading_deg in pano.yaml, with certain: [heading], if it is right"
    found.add(doubt("sun_elsewhere", "heading", message, remedy, round(off, 1), round(limit, 1), "degrees"))


SIGNS_MIN: Final = 3  # named things that picture and map have
SIGNS_OFF_MAX: Final = 0.5  # of them; none of 24 sample panoramas, each at least 20 degrees within what is allowed
SIGNS_FIT: Final = 0.2  # of them may still be off where another heading is right
SIGN_OFF_DEG: Final = 5.0  # of heading and box, beside both widths and the errors of position and map


def _by_the_signs(facts: Panorama, mapped: Sequence[str | None], found: Findings) -> None:
    """Doubts heading, and position where no heading is right, if named things lie elsewhere than on the map.

    Of things of one name each may be the one in the picture. One that the map has once, beyond the reach of signs, is
    elsewhere by every heading; ``mapped`` are the names of the map's things within some 600 m or more.
    """
    names = np.array([own.name.casefold() for own in facts.landmarks], dtype=object)
    once = {name for name, n in Counter(name.casefold() for name in mapped if name).items() if n == 1}
    signs = [(own, names == own.name.casefold()) for own in facts.objects if own.name]
    signs = [(own, same) for own, same in signs if same.any() or str(own.name).casefold() in once]
    if len(signs) < SIGNS_MIN:
        return
    bearing = np.array([own.bearing_deg for own in facts.landmarks])
    allowed = np.array([own.error_deg + own.width_deg / 2 + SIGN_OFF_DEG for own in facts.landmarks])
    allowed = allowed + np.array([own.width_deg / 2 for own, _ in signs])[:, None]
    yaw, same = np.array([own.yaw_deg for own, _ in signs]), np.array([same for _, same in signs])

    def off(heading: FloatArray, side: float) -> FloatArray:
        """The share of the things that are elsewhere, by each heading; with ``side`` -1 in a mirrored picture."""
        turn = np.abs((heading[:, None, None] + side * yaw[:, None] - bearing + 180.0) % 360.0 - 180.0)
        return np.asarray((~(same & (turn <= allowed)).any(2)).mean(1))

    others = np.unique(np.append(((bearing - yaw[:, None])[same] % 360.0).round(1), facts.heading_deg or 0.0))
    shares = off(others, 1.0)
    right = float(others[shares.argmin()])
    stated = np.array([right if facts.heading_deg is None else facts.heading_deg])
    share = float(off(stated, 1.0)[0])
    if share <= SIGNS_OFF_MAX:
        return
    message = f"{facts.picture.path}: by the heading {stated[0]:g}, {share:.0%} of {len(signs)} named things "
    message += "lie elsewhere than on the map"
    subjects, remedy = ["heading"], "look at the picture: correct heading_deg, or names and yaws of objects.json"
    if off(stated, -1.0)[0] <= SIGNS_FIT:
        message += "; they fit if the picture is mirrored"
    elif shares.min() <= SIGNS_FIT:
        message += f"; they fit by the heading {right:.0f}"
    else:
        message += ", and no heading fits: position or map are wrong"
        subjects, remedy = ["heading", "position"], "are position and map in WGS84, and both of this place?"
    for what in subjects:
        found.add(doubt("signs_elsewhere", what, message, remedy, round(share, 3), SIGNS_OFF_MAX, "share"))


# Boxes of 26 sample panoramas lie on edges by 6.5 to 9.8 standard deviations, those drawn by hand into two real ones
# by 4.1 and 4.5. Of other pictures they have at most 2.2, and mirrored or turned by a quarter or a half at most 2.7.
OBJECTS_MIN: Final = 15  # of 12 of those drawn by hand some have 1.4
EDGES_TURNED: Final = 3.0  # more at another turn: of sound ones, and of half of their boxes two degrees off, 1.8
EDGES_TURNED_MIN: Final = 5.0  # there; of another picture at most 4.8 at the best turn
_BROAD_DEG: Final = 120.0  # a wider box has borders that say little
_EDGES_WIDTH: Final = 720  # columns to which a picture is reduced: two a degree
_EDGES_NEAR: Final = 5  # columns or rows in which an edge may lie: people draw boxes within a degree


def _by_the_edges(facts: Panorama, color: Color, config: PanoramaConfig, found: Findings) -> Panorama:
    """Nothing is known of objects whose boxes lie on edges of the picture no more than they would if it were turned."""
    chosen = [own for own in facts.objects if own.width_deg <= _BROAD_DEG]
    if facts.picture.crop is not None or len(chosen) < OBJECTS_MIN:
        return facts
    fits = edge_fits(color, chosen)
    own, limit = float(fits[0, 0]), config.edge_fit_min
    side, turn = np.unravel_index(fits.argmax(), fits.shape)
    fitting = fits[side, turn] >= max(EDGES_TURNED_MIN, own + EDGES_TURNED)
    if own >= limit and not fitting:
        return facts
    message = f"{facts.picture.path}: the boxes of {len(chosen)} objects lie on edges of the picture by {own:.1f} "
    message += f"standard deviations of what they do at any turn (limit {limit:g})"
    if fitting:
        turned = turned_deg(float(turn) * 360.0 / _EDGES_WIDTH)
        message += f"; they do by {fits[side, turn]:.1f}{' if mirrored and' * int(side)} turned by {turned:.0f} degrees"
    remedy = "are they of this picture? Yaws go clockwise from its middle column, and know no north"
    # Of what is turned alone the picture may still be right; else nobody knows which of the two is wrong.
    for subject in ("objects",) if fitting and not side else ("objects", "picture"):
        found.add(doubt("objects_off_edges", subject, message, remedy, round(own, 2), limit, "standard deviations"))
    doubted = tuple(
        o.model_copy(update={"doubt": o.doubt or "boxes lie beside the picture's edges"}) for o in facts.objects
    )
    return facts.model_copy(update={"objects": doubted, "complete": ()})


def edge_fits(color: Color, objects: Sequence[PanoramaObject]) -> FloatArray:
    """How much borders of boxes lie on edges of a picture at each turn (2, `_EDGES_WIDTH`), standard deviations.

    Left, right and upper borders, each held against the same rows and widths elsewhere. The second row is of mirrored
    boxes; turns go to the right, from none on.

    Args:
        color: (h, w, 3) of a whole sphere.
        objects: one or more.
    """
    from scipy.ndimage import maximum_filter1d  # takes a third of a second to import

    width, height, count = _EDGES_WIDTH, _EDGES_WIDTH // 2, len(objects)
    small = np.asarray(Image.fromarray(color).resize((width, height), Image.Resampling.BOX), dtype=np.float64)
    across = np.abs(np.roll(small, -1, axis=1) - np.roll(small, 1, axis=1)).max(2)
    down = np.abs(np.diff(small, axis=0, prepend=small[:1])).max(2)
    across = maximum_filter1d(across, _EDGES_NEAR, axis=1, mode="wrap")
    down = maximum_filter1d(down, _EDGES_NEAR, axis=0)
    boxes = [(own.yaw_deg, own.width_deg, own.pitch_low_deg, own.pitch_high_deg) for own in objects]
    yaw, wide_deg, low, high = np.array(boxes, dtype=np.float64).T
    top = np.clip(((90.0 - high) / 180.0 * height).astype(np.intp), 0, height - 1)
    bottom = np.clip(np.ceil((90.0 - low) / 180.0 * height).astype(np.intp), top + 1, height)
    above = np.vstack([np.zeros(width), across.cumsum(0)])
    sides = (above[bottom] - above[top]) / (bottom - top)[:, None]
    wide, column = np.clip(np.round(wide_deg / 360.0 * width).astype(np.intp), 1, width)[:, None], np.arange(width)
    before = np.hstack([np.zeros((count, 1)), np.tile(down[top], 2).cumsum(1)])
    tops = (np.take_along_axis(before, column + wide, axis=1) - before[:, :width]) / wide
    edges = np.concatenate([sides, sides, tops])
    spread = edges.std(1, keepdims=True)
    edges = (edges - edges.mean(1, keepdims=True)) / np.where(spread > 0, spread, 1.0)
    total = np.zeros((2, width))
    for mirrored, sign in enumerate((1.0, -1.0)):
        left, right = sign * yaw - wide_deg / 2, sign * yaw + wide_deg / 2
        start = np.round((np.concatenate([left, right, left]) / 360.0 + 0.5) * width - 0.5).astype(np.intp)
        total[mirrored] = np.take_along_axis(edges, (start[:, None] + column) % width, axis=1).sum(0)
    spread = total.std()
    return np.asarray(total / spread if spread > 0 else total)


def glare_of(color: Color) -> tuple[float, float, float] | None:
    """Yaw, pitch and radius, degrees, of the one round glare above a whole sphere's horizon; None: there is none."""
    from scipy.ndimage import label  # takes a third of a second to import

    size = (SUN_WIDTH, SUN_WIDTH // 2)
    upper = np.asarray(Image.fromarray(color).resize(size, Image.Resampling.BOX))[: SUN_WIDTH // 4]
    bright = upper.min(2) >= GLARE
    seam = int(bright.sum(0).argmin())  # cut where the least is bright, so that nothing lies across the border
    parts, count = label(np.roll(bright, -seam, axis=1))
    parts = np.roll(parts, seam, axis=1)
    step = 360.0 / SUN_WIDTH
    pitch = np.radians(90.0 - (np.arange(len(upper)) + 0.5) * step)[:, None]
    yaw = np.radians((np.arange(SUN_WIDTH) + 0.5) * step - 180.0)[None]
    weight = np.broadcast_to(np.cos(pitch) * step**2, parts.shape)  # square degrees
    areas = np.sort(np.bincount(parts.ravel(), weight.ravel(), count + 1)[1:])[::-1]
    if not count or (count > 1 and areas[0] < GLARE_TIMES * areas[1]):
        return None
    own = np.bincount(parts.ravel(), weight.ravel(), count + 1)
    own[0] = 0.0
    inside = parts == own.argmax()
    radius = math.sqrt(areas[0] / math.pi)
    rays = np.stack(np.broadcast_arrays(np.cos(pitch) * np.sin(yaw), np.cos(pitch) * np.cos(yaw), np.sin(pitch)), -1)
    middle = (rays[inside] * weight[inside][:, None]).sum(0)
    middle /= np.linalg.norm(middle)
    away = np.degrees(np.arccos(np.clip(rays[inside] @ middle, -1.0, 1.0)))
    spread = math.sqrt(float((away**2 * weight[inside]).sum() / areas[0])) / (radius / math.sqrt(2.0))
    if not GLARE_DEG[0] <= radius <= GLARE_DEG[1] or spread > ROUND:
        return None
    return math.degrees(math.atan2(middle[0], middle[1])), math.degrees(math.asin(middle[2])), radius


def _filter(facts: Panorama, config: PanoramaConfig, found: Findings) -> None:
    measured = facts.measured
    if measured is None:
        return
    name = facts.picture.path
    fine, sharp, hidden = measured.pixels_per_degree, measured.sharpness, measured.nadir_share
    if fine < config.pixels_per_degree_min:
        message = f"{name}: it has {fine:g} pixels per degree, under {config.pixels_per_degree_min:g}"
        remedy = "fetch it in full size, or set observe.panorama.pixels_per_degree_min"
        unit = "pixels per degree"
        found.add(_fault(note("low_resolution", "picture", message, remedy, fine, config.pixels_per_degree_min, unit)))
    if sharp is not None and sharp < config.sharpness_min:
        message = f"{name}: the variance of its Laplacian is {sharp:.1f}, under {config.sharpness_min:g}: it is blurred"
        remedy = "take another, or set observe.panorama.sharpness_min"
        found.add(_fault(note("blurred", "picture", message, remedy, sharp, config.sharpness_min, "grey levels²")))
    if hidden is not None and hidden > config.nadir_share_max:
        message = f"{name}: its vehicle hides {hidden:.0%} of what is below, over {config.nadir_share_max:.0%}"
        remedy = "take another, or set observe.panorama.nadir_share_max"
        limit = config.nadir_share_max
        found.add(_fault(note("vehicle_hides", "picture", message, remedy, hidden, limit, "of the lower half")))


def _compare(
    name: str, color: Color, twins: tuple[NearbyPanorama, ...], config: PanoramaConfig, found: Findings
) -> None:
    """Finds that the picture is another one, taken twice, which is not itself left out for what it shows."""
    if config.duplicate_bits < 0 or not twins:
        return
    own = thumbnail(color)
    for twin in twins:
        read = twin.read()
        if read is None:  # said of that one
            continue
        scene, geometry = read
        other = geometry.color()
        if other is None:
            continue
        bits = differing_bits(own, thumbnail(other))
        if bits <= config.duplicate_bits and not _is_left_out(scene, other, geometry.depth_m(), config):
            message = f"{name}: it is {twin.id} once more: their hashes differ in {bits} of 64 bits, at most"
            message += f" {config.duplicate_bits}, and they were taken at one place"
            remedy = "keep one of them, or set observe.panorama.duplicate_bits"
            limit = float(config.duplicate_bits)
            found.add(_fault(note("near_duplicate", "picture", message, remedy, float(bits), limit, "bits")))
            return


def _is_left_out(scene: AnyScene, color: Color, depth_m: FloatArray | None, config: PanoramaConfig) -> bool:
    """Whether a panorama has no question for what is wrong with it, apart from being another one once more."""
    findings = Findings()
    findings.add(*scene.findings)
    if isinstance(scene.facts, Panorama):
        _judge(scene.facts, color, depth_m, config, findings)
    return any(found.severity == "fault" for found in findings.items)


def _indoor(facts: Panorama, depth_m: FloatArray | None, found: Findings) -> Panorama:
    """Whether it was taken under a roof: what people say, else what depth shows, else a doubt."""
    remedy = "state indoor (true or false) in pano.yaml, or decide it on the page: scan2qa review BUILD --checks"
    if facts.indoor:
        message = f"{facts.picture.path}: it was taken indoors, by {facts.source_tags.get('indoor', 'its source')}"
        found.add(_fault(note("indoor", "indoor", message, "take it out")))
        return facts
    if depth_m is None or facts.picture.crop is not None:
        if facts.indoor is None:
            found.add(doubt("indoor_unknown", "indoor", "it is not stated whether it was taken indoors", remedy))
        return facts
    rows = depth_m[: max(1, int(len(depth_m) * _UP_SHARE))]
    weight = np.broadcast_to(np.sin(np.pi * (np.arange(len(rows)) + 0.5) / len(depth_m))[:, None], rows.shape)
    with np.errstate(invalid="ignore"):
        roofed = round(float(weight[rows < _ROOF_M].sum() / weight.sum()), 4)
    if roofed > _ROOFED:
        message = f"{roofed:.0%} of what is above 60 degrees is nearer than {_ROOF_M:g} m: a ceiling, or trees"
        perhaps = doubt("perhaps_indoor", "indoor", message, remedy, roofed, _ROOFED, "of what is above")
        if facts.indoor is not None:
            message += f"; outdoors holds, by {facts.source_tags.get('indoor', 'its source')}"
            settled = {"severity": "note", "message": message, "remedy": "none needed: the depth does not decide"}
            perhaps = perhaps.model_copy(update=settled)
        found.add(perhaps)
        return facts
    if facts.indoor is not None:
        return facts
    return facts.model_copy(update={"indoor": False, "source_tags": facts.source_tags | {"indoor": DEPTH}})


WIDTH: Final = 64
HEIGHT: Final = 32
_KEPT: Final = 8  # coefficients a side


def thumbnail(color: npt.NDArray[np.uint8]) -> FloatArray:
    """The grey means (`HEIGHT`, `WIDTH`) of a picture (h, w, 3)."""
    small = Image.fromarray(color).convert("L").resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    return np.asarray(small, dtype=np.float64)


def bits_of(thumb: FloatArray) -> BoolArray:
    """The 64 bits of small pictures (..., `HEIGHT`, `WIDTH`): (..., 64)."""
    low = _cosines(HEIGHT) @ thumb @ _cosines(WIDTH).T
    flat = np.round(low.reshape(*low.shape[:-2], _KEPT * _KEPT), 6)  # equal on every processor
    return np.asarray(flat > np.median(flat, axis=-1, keepdims=True))


def differing_bits(one: FloatArray, other: FloatArray) -> int:
    """In how many of 64 bits the hashes of two small pictures differ, the other one turned so that it is least."""
    turned = np.stack([np.roll(other, step, axis=1) for step in range(WIDTH)])
    return int((bits_of(turned) != bits_of(one)).sum(-1).min())


@cache
def _cosines(length: int) -> FloatArray:
    """The first rows of a cosine transform (DCT-II): (`_KEPT`, length)."""
    k, n = np.arange(_KEPT)[:, None], np.arange(length)
    return np.cos(np.pi * k * (2 * n + 1) / (2 * length))


SIDE: Final = 512  # pixels of a view of 90 degrees
YAWS_DEG: Final = (0.0, 90.0, 180.0, 270.0)
_WIDTH: Final = 2048  # of the sphere, to whose detail a view of so many pixels comes


def sharpness_of(color: npt.NDArray[np.uint8]) -> float:
    """The median over four level views of the variance of their Laplacian, grey levels².

    Args:
        color: (h, w, 3) of a whole sphere. It is reduced to about 2,048 columns, so that one limit holds for all sizes.
    """
    from scipy.ndimage import laplace, map_coordinates  # takes a third of a second to import

    grey = Image.fromarray(color).convert("L")
    small = np.asarray(grey.reduce(max(1, grey.width // _WIDTH)), dtype=np.float32)
    row, column = _places(*small.shape)
    wrapped = np.concatenate([small, small[:, :1]], axis=1)
    found = []
    for yaw in YAWS_DEG:
        at = (column + yaw / 360.0 * small.shape[1]) % small.shape[1]
        view = map_coordinates(wrapped, [row, at], order=1, mode="nearest")
        found.append(float(laplace(view)[1:-1, 1:-1].var(dtype=np.float64)))
    return float(np.median(found))


@lru_cache(maxsize=4)
def _places(height: int, width: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Row and column (`SIDE`, `SIDE`) of a level view at yaw 0 in a picture of the whole sphere."""
    right, up, ahead = rays_of(PinholeView(yaw_deg=0.0, width=SIDE, height=SIDE))
    column = (np.arctan2(right, ahead) / (2 * np.pi) + 0.5) * width - 0.5
    row = (0.5 - np.arctan2(up, np.hypot(right, ahead)) / np.pi) * height - 0.5
    return row.astype(np.float32), column.astype(np.float32)


SPHERE_WIDTH: Final = 360  # columns of the small picture: a degree each, as its rows
SPHERE_HEIGHT: Final = 180
_ABOVE_GROUND_M: Final = 0.3
_NEAR_M: Final = 3.5  # over ground: no car reaches farther from its middle
_ALIKE: Final = 24.0  # grey levels of the channel that differs most
_MIDDLE_DEG: Final = 5.0  # about straight below, whose colour is that of the vehicle
_EDGE_DEG: Final = -20.0  # a roof ends below this pitch
_LEAK: Final = 0.1  # of all directions: where so many reach above it, this is ground


def nadir_by_depth(depth_m: FloatArray, camera_height_m: float) -> float:
    """The share, from distances (h, w) of a whole sphere in metres, NaN where not known."""
    rows = depth_m.shape[0]
    pitch = _pitch_rad(rows)[rows // 2 :, None]
    lower = depth_m[rows // 2 :]
    with np.errstate(invalid="ignore"):
        near = (lower * np.cos(pitch) < _NEAR_M) & (camera_height_m + lower * np.sin(pitch) > _ABOVE_GROUND_M)
    return _share(near)


def nadir_by_colour(color: npt.NDArray[np.uint8]) -> float | None:
    """The share, from a picture (h, w, 3) of a whole sphere; None where what is below has no edge."""
    small = Image.fromarray(color).resize((SPHERE_WIDTH, SPHERE_HEIGHT), Image.Resampling.BOX)
    lower = np.asarray(small, dtype=np.float64)[SPHERE_HEIGHT // 2 :]
    middle = np.median(lower[-int(_MIDDLE_DEG) :].reshape(-1, 3), axis=0)
    alike = np.abs(lower - middle).max(-1) <= _ALIKE
    reaching = _from_below(alike)
    edge = int(-_EDGE_DEG)  # rows from the horizon
    if reaching[edge].mean() > _LEAK:
        return None
    return _share(alike)


def _share(hidden: BoolArray) -> float:
    """Of the lower half of the sphere (h, w), of what is hidden from straight below outward."""
    rows = len(hidden)
    weight = np.cos(_pitch_rad(2 * rows)[rows:])
    return float((_from_below(hidden) * weight[:, None]).sum() / (weight.sum() * hidden.shape[1]))


def _from_below(mask: BoolArray) -> BoolArray:
    """Of each column what goes on from its lowest row without a gap."""
    return np.asarray(np.logical_and.accumulate(mask[::-1], axis=0)[::-1])


def _pitch_rad(rows: int) -> FloatArray:
    """Of the middle of each row of a whole sphere."""
    return np.pi * (0.5 - (np.arange(rows) + 0.5) / rows)


PIXELS_PER_TANGENT: Final = 320.0  # of a question's view: 640 pixels are 90 degrees
AROUND_DEG: Final = 5.0  # to each side of a thing
RUN_MIN: Final = 2  # letters in a row that count: single ones agree by chance

Picture = npt.NDArray[np.uint8]
Reader = Callable[[Picture], str]


def with_signs_read(facts: Panorama, color: Picture, read: Reader | None = None) -> tuple[PanoramaObject, ...]:
    """The objects, those with a name and a kind with the share of it that can be read.

    Args:
        facts: of a whole sphere.
        color: (h, w, 3) its picture.
        read: gives the text in a picture; None: RapidOCR.

    Raises:
        MissingExtraError: where RapidOCR is not installed.
    """
    read = read or _rapidocr()
    sphere = Sphere(Image.fromarray(color))
    shares = {own.id: _read_share(own, sphere, read) for own in facts.objects if own.name and own.kind}
    return tuple(
        own.model_copy(update={"read_share": shares[own.id]}) if own.id in shares else own for own in facts.objects
    )


def _read_share(own: PanoramaObject, sphere: Sphere, read: Reader) -> float:
    height = own.pitch_high_deg - own.pitch_low_deg
    across, down = (
        2 * math.tan(math.radians(min(size + 2 * AROUND_DEG, 120.0) / 2)) for size in (own.width_deg, height)
    )
    view = PinholeView(
        yaw_deg=turned_deg(own.yaw_deg),
        pitch_deg=(own.pitch_high_deg + own.pitch_low_deg) / 2,
        fov_deg=min(own.width_deg + 2 * AROUND_DEG, 120.0),
        width=math.ceil(across * PIXELS_PER_TANGENT),
        height=math.ceil(down * PIXELS_PER_TANGENT),
    )
    return round(letters_read(own.name or "", read(sphere.render(view))), 3)


def letters_read(name: str, text: str) -> float:
    """The share of a name's letters that a text has in their order, in runs of `RUN_MIN` at least."""
    wanted, found = _letters(name), _letters(text)
    if not wanted:
        return 0.0
    runs = SequenceMatcher(None, wanted, found, autojunk=False).get_matching_blocks()
    return sum(run.size for run in runs if run.size >= RUN_MIN) / len(wanted)


def _letters(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if c.isalnum())


@cache
def _rapidocr() -> Reader:
    require_extra("ocr", "observe.panorama.ocr")
    from rapidocr_onnxruntime import RapidOCR

    engine: Any = RapidOCR(intra_op_num_threads=1)

    def read(picture: Picture) -> str:
        lines, _ = engine(np.ascontiguousarray(picture[..., ::-1]))  # it takes BGR
        return " ".join(line[1] for line in lines or ())

    return read
