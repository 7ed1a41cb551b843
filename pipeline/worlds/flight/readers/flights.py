"""Reader of drone flights: one folder per flight with video, flight log and ``flight.yaml`` (see `flight_files`).

A folder from the memory card of a DJI drone, with many videos and subtitles, is read as it is.

A log or a video with ``flight.yaml`` is needed, the rest may be missing: without a video there is none to deliver,
without a log only a model can write questions, without a camera, a heading or landmarks nothing is asked about what the
picture shows. `video_offset` tells how to find the time between video and
log.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from pipeline.core.errors import ConfigError, RawDataError, unexpected
from pipeline.core.files import open_file
from pipeline.core.findings import Findings, doubt, note
from pipeline.core.schema import Origin, Video
from pipeline.formats.logs.log import Log
from pipeline.formats.logs.registry import detect
from pipeline.geometry.geodesy import to_lat_lon_alt
from pipeline.geometry.tracks import NO_BUILDINGS, NO_TRACK, FlightGeometry
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.folders import SAFE, SAFE_NAME, Layout, digest_files, list_scenes
from pipeline.reading.footage import Footage, movie_facts, movie_footage
from pipeline.reading.reader import ExpectedFile, Reader
from pipeline.worlds.flight.facts import Flight, FlightCamera, FlightScene
from pipeline.worlds.flight.readers.flight_files import (
    DEFAULT_DATASET,
    FLIGHT_FILE,
    LOG_SUFFIXES,
    NO_VIDEO,
    VIDEO_SUFFIXES,
    CameraSettings,
    FlightSettings,
    find_file,
    folders,
    of_recording,
    read_settings,
    recordings,
)
from pipeline.worlds.flight.readers.surroundings import Surroundings, read_surroundings
from pipeline.worlds.flight.tracks.assemble import AssembledTrack, assemble, begun_on_ground
from pipeline.worlds.flight.tracks.clock import timed
from pipeline.worlds.flight.tracks.read import never_flew, read_tracks

LOG_FILES: Final = "log.*"
VIDEO_FILES: Final = "video.*"
LENGTH_TOLERANCE_S: Final = 1.0  # between the lengths of video and log
CLOCK_OFF_MAX_S: Final = 1.0  # as much as questions leave about the moments at which what is asked changes
CLOCK_CHECKED_S: Final = 120.0  # of the video
NO_LOG: Final = "none"  # name of its format
ASPECT_TOLERANCE: Final = 0.01  # between the picture that the camera settings describe and the video's


def _is_flight(folder: Path) -> bool:
    if recordings(folder, folder.parent, detect).found:
        settings = _listed(folder.parent, folder)  # wrong ones are for `Flights.scenes` to report
        if isinstance(settings, RawDataError) or settings.log is None:
            return False
    return any(next(folder.glob(pattern), None) is not None for pattern in (FLIGHT_FILE, LOG_FILES, VIDEO_FILES))


EXPECTED_FILES: Final = (
    ExpectedFile(
        "log",
        ("log.*",),
        "unless its video has telemetry in it or flight.yaml names its log: only a model writes questions; with no "
        "flight.yaml, or no video, the flight is left out",
        True,
        (*LOG_SUFFIXES, *VIDEO_SUFFIXES),
    ),
    ExpectedFile("settings", ("flight.yaml",), "no goal, no route, no camera"),
    ExpectedFile("video", ("video.*",), NO_VIDEO, recorded=VIDEO_SUFFIXES),
    ExpectedFile(
        "landmarks",
        ("*.geojson", "*.pbf", "*.osm", "*.osm.gz", "*.json"),
        "no question about landmarks, unless in the root",
    ),
)


LAYOUT: Final = Layout(
    dataset=DEFAULT_DATASET,
    tops=(("",),),
    is_scene=_is_flight,
    main_files=lambda name: (FLIGHT_FILE,),
    expected=f"a folder of flights, each a folder with a log {LOG_FILES}, a video {VIDEO_FILES} and {FLIGHT_FILE}, "
    "or a drone's own folder with its videos and subtitles (DJI_0001.MP4, DJI_0001.SRT) or with videos that have "
    "telemetry in them (GX010001.MP4)",
)


class Flights(Reader):
    """Drone flights in folders of the user."""

    name = "flights"
    version = 1
    extra = "flights"
    video_fps = 30
    expected_files = EXPECTED_FILES

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`. A ``flight.yaml`` that is wrong costs its flight here: it has the flight's dataset.

        A root may be one film with telemetry in it, or with its log beside it: that is the flight.
        """
        if root.is_file():
            return _one_film(root)
        read: dict[Path, FlightSettings | RawDataError] = {}

        def shared(folder: Path) -> bytes:
            read[folder] = _listed(root, folder)
            return _shared(root, folder, read[folder])

        recorded = _recorded(root, folders(root) if root.is_dir() else ())
        try:
            listing = list_scenes(root, LAYOUT, extra=shared)
        except ConfigError:
            if not recorded.scenes and not recorded.broken:
                raise
            listing = Listing((), ())  # no flight but those of a card
        refs, broken = list(recorded.scenes), [*listing.broken, *recorded.broken]
        for ref in listing.scenes:
            settings = read[root / ref.files[0]]
            if isinstance(settings, RawDataError):
                broken.append(settings)
            else:
                own = _film_with_log(root, root / ref.files[0], settings)
                files = (*ref.files, own.relative_to(root).as_posix()) if own else ref.files
                refs.append(replace(ref, id=f"{settings.dataset}/{ref.id.partition('/')[2]}", files=files))
        return Listing(tuple(sorted(refs, key=lambda ref: ref.id)), tuple(broken))

    def read(self, files: SceneFiles) -> FlightScene:
        """See `Reader.read`."""
        findings = Findings()
        settings = _settings(files, findings)
        log = _track(files, settings, findings)
        found = _surroundings(files, settings, log.assembled, findings)
        video = _video(files, settings, log, findings)
        flight = Flight(
            log=log.format,
            origin=log.assembled.origin,
            camera=_camera(settings, video, findings),
            goal=settings.goal,
            route=settings.route,
            video_offset_s=log.video_offset_s,
            nose_first=settings.nose_first,
            landmarks=found.landmarks,
            complete=None if _mapped(settings) else (),
        )
        return files.scene_of(FlightScene, self, "none", flight, findings.after(log.assembled.findings), video)

    def geometry(self, files: SceneFiles, scene: FlightScene) -> FlightGeometry:
        """See `Reader.geometry`: the track, and the buildings within a kilometre of it."""
        findings = Findings()
        settings = _settings(files, findings)
        assembled = _track(files, settings, findings).assembled
        walls = _surroundings(files, settings, assembled, findings).buildings
        return FlightGeometry(assembled.track, walls, assembled.from_takeoff)

    def footage(self, files: SceneFiles, scene: FlightScene) -> Footage | None:
        """See `Reader.footage`."""
        path = _only_file(files, _settings(files, Findings()), "video")
        if path is None or scene.video is None or scene.video.fps is None:
            return None
        return movie_footage(files, path, scene.video.fps, scene.video.frames)


def _mapped(settings: FlightSettings) -> bool:
    """Whether all is on the map that can be seen: a list of landmarks alone (GeoJSON) names some of what is there."""
    listed = settings.landmarks is not None and settings.landmarks.lower().endswith(".geojson")
    return settings.buildings is not None or not listed


def _listed(root: Path, folder: Path) -> FlightSettings | RawDataError:
    """The settings of a flight, or what is wrong with them."""
    scene = f"{DEFAULT_DATASET}/{folder.name}"
    try:
        return read_settings(SceneFiles(root, SceneRef(scene, (folder.relative_to(root).as_posix(),), ""))) or (
            FlightSettings()
        )
    except Exception as error:  # costs one flight
        return unexpected(error, folder / FLIGHT_FILE, scene)


def _recorded(root: Path, cards: Sequence[Path], stem: str | None = None) -> Listing:
    """The flights of memory cards, or of these the one whose files have a name, in lower case and without suffix."""
    refs: list[SceneRef] = []
    broken: list[RawDataError] = []
    for folder in cards:
        found, lost = recordings(folder, root, detect, stem)
        settings = _listed(root, folder) if found else FlightSettings()
        if isinstance(settings, RawDataError):
            broken.append(settings)
            continue
        if settings.log is not None:
            continue
        broken += lost
        for recording in found:
            if not SAFE_NAME.fullmatch(recording.name):
                message = f"the name {recording.name!r} is not {SAFE}"
                broken.append(RawDataError(recording.log, "unsafe_scene_name", message, "rename both files"))
                continue
            there = [*recording.files(), *(path for path in (folder / FLIGHT_FILE,) if path.is_file())]
            stamp = digest_files(folder, [(p.name, p.stat()) for p in there], _shared(root, folder, settings))
            names = tuple(path.relative_to(root).as_posix() for path in (folder, *recording.files()))
            refs.append(SceneRef(f"{settings.dataset}/{recording.name}", names, stamp))
    return Listing(tuple(refs), tuple(broken))


def _one_film(film: Path) -> Listing:
    """A film, or the log beside it, as the only flight. Raises ConfigError."""
    there = _recorded(film.parent, (film.parent,), film.stem.lower())
    if not there.scenes and not there.broken:
        raise ConfigError(f"{film} is a file, and no film or log of a flight: give {LAYOUT.expected}")
    return there


def _shared(root: Path, folder: Path, settings: FlightSettings | RawDataError) -> bytes:
    """The inputs of a flight outside its folder: files in the root that its settings name."""
    if isinstance(settings, RawDataError):
        return b""
    names = (settings.video, settings.log, settings.landmarks, settings.buildings)
    there = [(n, (root / n).stat()) for n in names if n and not (folder / n).exists() and (root / n).is_file()]
    return digest_files(folder, there, b"").encode()


def _settings(files: SceneFiles, findings: Findings) -> FlightSettings:
    def read(found: Findings) -> FlightSettings:
        settings = read_settings(files)
        if settings is None:
            message = f"there is no {FLIGHT_FILE}: no goal, route, camera or landmarks are known"
            found.add(note("no_flight_file", FLIGHT_FILE, message, f"write a {FLIGHT_FILE}"))
        return settings or FlightSettings()

    return files.once("settings", read, findings)


class _FlightLog(NamedTuple):
    """A flight's log: its format, its track, when on the track the video starts, and whether its times tell that."""

    format: str
    assembled: AssembledTrack
    video_offset_s: float
    has_video_times: bool = False


def _film_with_log(root: Path, folder: Path, settings: FlightSettings) -> Path | None:
    """The video of a flight folder that has no other log than the one in it; None: there is another, or none."""
    if settings.log is not None or next(folder.glob(LOG_FILES), None) is not None:
        return None
    named = [folder / settings.video, root / settings.video] if settings.video else sorted(folder.glob(VIDEO_FILES))
    there = [path for path in named if path.is_file()]
    if not there or (len(there) > 1 and not settings.video):
        return None
    try:
        detect(there[0])
    except RawDataError:
        return None  # what it lacks, `missing_log` says when the flight is read
    return there[0]


def _track(files: SceneFiles, settings: FlightSettings, findings: Findings) -> _FlightLog:
    """Format and track of the flight's log."""
    return files.once("track", lambda found: _read_track(files, settings, found), findings)


def _surroundings(
    files: SceneFiles, settings: FlightSettings, assembled: AssembledTrack, findings: Findings
) -> Surroundings:
    if not len(assembled.track):
        return Surroundings((), NO_BUILDINGS)
    return files.once("maps", lambda found: read_surroundings(files, settings, assembled, found), findings)


def _only_file(files: SceneFiles, settings: FlightSettings, key: str) -> Path | None:
    """The flight's log or video: the one that the settings name, else the only one in the folder, else None."""
    recorded = of_recording(files.ref.files, key)
    if recorded is not None:
        return files.root / recorded if recorded else None
    name = settings.log if key == "log" else settings.video
    if name is not None:
        return find_file(files, name)
    there = sorted(path for path in files.path.glob(f"{key}.*") if path.is_file())
    if len(there) > 1:
        message = f"there are {', '.join(path.name for path in there)}, and which one is meant is not known"
        raise files.fault(files.path, f"several_{key}s", message, f"name one as {key} in {FLIGHT_FILE}")
    return there[0] if there else None


def _read_track(files: SceneFiles, settings: FlightSettings, findings: Findings) -> _FlightLog:
    """The flight's log. Where it is in the video, its times are those of the video."""
    path, film = _only_file(files, settings, "log"), _only_file(files, settings, "video")
    if path is None:
        message = f"the folder has no {LOG_FILES}, and {FLIGHT_FILE} names none"
        remedy = "put the flight's log there"
        if film is not None:
            try:
                detect(film)
            except RawDataError as error:
                message, remedy = f"{message}; {film.name}: {error.message}", error.remedy
            if settings.log is None and (files.path / FLIGHT_FILE).is_file():
                message += ": only questions that a model writes from the video can be asked"
                return _FlightLog(
                    NO_LOG, AssembledTrack(NO_TRACK, None, (doubt("missing_log", "log", message, remedy),)), 0.0
                )
        raise files.fault(files.path, "missing_log", message, remedy)
    if path != film:
        files.raw(path)  # digested, as the video is in `_video`
    try:
        log_format = settings.log_format or detect(path).name
        flights = read_tracks(path, settings.log_format)
        if len(flights) > 1:
            names = ", ".join(repr(log.name) for log, _ in flights[:10])
            message = f"the log holds {len(flights)} flights: {names}"
            remedy = "write each flight to a log of its own, in a folder of its own"
            raise files.fault(path, "several_flights", message, remedy)
        assembled = _with_origin(path, settings.local_origin, *flights[0], findings)
        offset_s, stated = settings.video_offset_s, "video_offset_s" in settings.model_fields_set
        own_times = path == film or flights[0][0].clock == "video"
        if path == film or (own_times and not stated):
            offset_s = -float(flights[0][0].t_s[timed(flights[0][0].t_s)[0][0]])
            if settings.video_offset_s:
                message = "the log is in the video, whose times it has; video_offset_s was not used"
                findings.add(note("video_offset_unused", FLIGHT_FILE, message, "leave it out"))
        grounded = never_flew(flights[0][0], assembled.track)
        if grounded is not None:
            message = f"the vehicle never left the ground: {grounded}"
            raise files.fault(path, "never_flew", message, "take the folder away, or give the log of a flight")
        if len(assembled.track) < 2:
            message = "the log has a single usable position"
            raise files.fault(path, "single_position", message, "give the log of a whole flight")
    except RawDataError as error:  # of a log, which knows nothing of scenes
        raise files.fault(path, error.finding, error.message, error.remedy) from error
    except ConfigError as error:
        remedy = f"take the name of a known format, or leave log_format out of {FLIGHT_FILE}"
        raise files.fault(files.path / FLIGHT_FILE, "bad_setting", f"log_format: {error}", remedy) from error
    return _FlightLog(log_format, _begun(files, settings, assembled), offset_s, own_times)


def _begun(files: SceneFiles, settings: FlightSettings, assembled: AssembledTrack) -> AssembledTrack:
    """The track as the settings have it begin. Raises RawDataError where the log says otherwise."""
    if not settings.begins_on_ground:
        return assembled
    if assembled.in_air:
        message = "begins_on_ground is true, and the log has the drone in the air at its first position"
        raise files.fault(files.path / FLIGHT_FILE, "bad_setting", message, "leave begins_on_ground out")
    return begun_on_ground(assembled)


def _with_origin(
    path: Path, zero: Origin | None, log: Log, assembled: AssembledTrack, findings: Findings
) -> AssembledTrack:
    """A track of local positions, placed by where the log's zero lies."""
    if zero is None:
        return assembled
    if assembled.origin is not None or log.enu_m is None:
        message = "the log has positions in WGS84; local_origin was not used"
        findings.add(note("local_origin_unused", "local_origin", message, "leave it out"))
        return assembled
    place = to_lat_lon_alt(log.enu_m, zero)
    if zero.alt_m is None:
        place[:, 2] = np.nan
    return assemble(path, replace(log, lat_lon_alt=place))


def _video(files: SceneFiles, settings: FlightSettings, log: _FlightLog, findings: Findings) -> Video | None:
    """Facts of the video; says how its length differs from the log's."""
    offset_s = log.video_offset_s
    path = _only_file(files, settings, "video")
    seconds = 0.0
    video = None
    if path is None:
        findings.add(note("missing_video", "video", NO_VIDEO, f"put it there as {VIDEO_FILES}"))
    else:
        facts = movie_facts(files, path).as_shown(path)
        with open_file(path) as file:
            files.add(files.relative(path), hashlib.file_digest(file, "sha256").digest())
        video = Video(
            path=files.relative(path), fps=facts.fps, frames=facts.frames, width=facts.width, height=facts.height
        )
        seconds = facts.frames / facts.fps if facts.fps else 0.0
    if log.format == NO_LOG:
        return video
    log_s = float(log.assembled.track.t_s[-1])
    if offset_s >= log_s or (seconds and offset_s + seconds <= 0.0):
        length = f" and the video {seconds:.1f} s" if seconds else ""
        message = f"video_offset_s is {offset_s:g}, but the log lasts {log_s:.1f} s{length}: they do not overlap"
        remedy = "give the time of the log, 0 being its first sample, at the start of the video"
        raise files.fault(files.path / FLIGHT_FILE, "offset_beyond_log", message, remedy)
    if not seconds or path is None:
        return video
    beside = path != _only_file(files, settings, "log")
    fits = _check_clock(path, log, settings.camera, beside, findings)
    most, unseen, unlogged = LENGTH_TOLERANCE_S, log_s - offset_s - seconds, max(offset_s + seconds - log_s, -offset_s)
    message = f"the log lasts {log_s:.1f} s, the video {seconds:.1f} s from {offset_s:g} s of the log on: "
    stated = "video_offset_s" in settings.model_fields_set
    if max(unseen, unlogged) > most and not (fits or stated or log.has_video_times):
        text = f"{message}nobody says that they begin together"
        remedy = f"set video_offset_s in {FLIGHT_FILE}, 0 if they do; `scan2qa video-offset` finds it by turns"
        findings.add(doubt("offset_unknown", "video", text, remedy, max(unseen, unlogged), most, "s"))
    if unseen > most and -offset_s > most and not stated:
        text = f"{message}if it was cut at its start, its times are no longer those of the log"
        remedy = f"set video_offset_s in {FLIGHT_FILE}: {offset_s:g} if it was not cut, 0 if it begins with the log"
        findings.add(doubt("starts_late", "video", text, remedy, -offset_s, most, "s"))
    elif unseen > most and log.has_video_times and beside and not (fits or stated):
        text = f"{message}its log has times of a video that was cut, and nothing says whether at its start"
        remedy = f"set video_offset_s in {FLIGHT_FILE}: 0 if only its end was cut, else how much of its start"
        findings.add(doubt("offset_unknown", "video", text, remedy, unseen, most, "s"))
    elif unseen > most:
        remedy = "none needed: what the video does not show is not asked about"
        text = f"{message}its end is not seen"
        findings.add(note("video_shorter_than_log", "video", text, remedy, unseen, most, "s"))
    if unlogged > most:
        remedy = "check video_offset_s; what the log does not cover is not asked about"
        text = f"{message}not all of it is logged"
        findings.add(note("log_shorter_than_video", "log", text, remedy, unlogged, most, "s"))
    return video


def _check_clock(path: Path, log: _FlightLog, camera: CameraSettings | None, beside: bool, findings: Findings) -> bool:
    """Whether a video turns at the times of its log, in its first minutes; doubts where it moves otherwise.

    A flight of few turns does not tell its times, nor need a log that is in the video.
    """
    from pipeline.worlds.flight.readers import video_offset  # decodes, and takes a second to start

    track, clear = log.assembled.track, False
    try:
        motion = video_offset.picture_motion(path, CLOCK_CHECKED_S)
    except RawDataError:  # no turn to compare, or too little video
        return False
    pace = None
    try:
        found = video_offset.find_offset(path, track, motion)
        clear, off_s = beside and found.clear, abs(found.offset_s - log.video_offset_s)
        if beside and (off_s > CLOCK_OFF_MAX_S or not clear):
            pace = video_offset.other_pace(path, track, motion, found)
    except RawDataError:
        off_s = 0.0
    if pace is not None and abs(pace[1].offset_s - log.video_offset_s) <= CLOCK_OFF_MAX_S:
        message = (
            f"the video turns as the log does if it lasts {pace[0]:.3g} times as long (correlation "
            f"{pace[1].correlation:.2f}, as it is {found.correlation:.2f})"
        )
        remedy = "give the video at the pace of the flight: which frame rate was it taken at?"
        findings.add(doubt("video_turns_at_other_times", "video", message, remedy, pace[0], 1.0, "ratio"))
        return True
    if clear and off_s > CLOCK_OFF_MAX_S:
        message = (
            f"the video turns as the log does {found.offset_s:.1f} s after its start (correlation "
            f"{found.correlation:.2f}), and video_offset_s is {log.video_offset_s:g}"
        )
        remedy = f"set video_offset_s in {FLIGHT_FILE} to what `scan2qa video-offset` says"
        findings.add(doubt("video_turns_at_other_times", "video", message, remedy, off_s, CLOCK_OFF_MAX_S, "s"))
        return True
    pitch_deg, fov_deg = (camera.pitch_deg, camera.horizontal_fov_deg) if camera else (None, None)
    for finding in video_offset.contradictions(motion, track, log.video_offset_s, pitch_deg, fov_deg):
        findings.add(finding)
    return clear


def _camera(settings: FlightSettings, video: Video | None, findings: Findings) -> FlightCamera | None:
    """The camera, with the size of the video's pictures where the settings have none."""
    stated = settings.camera
    if stated is None:
        return None
    size = (stated.width or (video and video.width), stated.height or (video and video.height))
    if not size[0] or not size[1]:
        message = "the size of the camera's pictures is not known: the camera was not used"
        findings.add(note("no_picture_size", "camera", message, "give camera.width and camera.height"))
        return None
    if video is not None and video.width and video.height:
        off = abs(size[0] * video.height / (size[1] * video.width) - 1.0)
        if off > ASPECT_TOLERANCE:
            message = f"pictures of {size[0]}x{size[1]} are not shaped like the video's {video.width}x{video.height}"
            remedy = "give the size of the video's pictures and the field of view that they show"
            findings.add(doubt("picture_shape_differs", "camera", message, remedy, off, ASPECT_TOLERANCE, "share"))
    return FlightCamera(
        horizontal_fov_deg=stated.horizontal_fov_deg, width=size[0], height=size[1], pitch_deg=stated.pitch_deg
    )
