"""``flight.yaml``: what the user says of a flight beside its log and its video. Every key may be left out.

.. code-block:: yaml

    dataset: sample_city            # first part of the flight's id; "flights" if not given
    video: video.mp4                # else the only video of the folder
    log: log.ulg                    # else the only log.* of the folder
    log_format: px4_ulog            # else told from the log's content
    video_offset_s: 2.5             # time of the log (0 is its first sample) at the start of the video
    goal: City Hall                 # where the pilot was sent; or words and place:
                                    # {words: the main entrance with the stone, at: [52.0, 4.36, 2.0]}
    route: [take off and climb to 30 metres, fly forward to the Water Tower]
    camera: {horizontal_fov_deg: 84, width: 640, height: 480, pitch_deg: -20}  # a pitch if it does not tilt
    nose_first: true                # flown with the nose ahead: where the log has no heading, it is the course
    begins_on_ground: true          # the log begins before take-off: its heights count from there if it states none
    local_origin: {lat_deg: 52.0, lon_deg: 4.36, alt_m: 0}  # of the zero of a log with local positions (AirSim)
    landmarks: landmarks.geojson    # GeoJSON; also an OpenStreetMap extract or a CityJSON file
    buildings: delft.json           # the same formats; what has a name there is a landmark if there is no other file

Files lie in the flight's folder, or, shared by several flights, in the root.

A drone's memory card has many recordings in one folder, each a video and its subtitles: ``DJI_0001.MP4`` with
``DJI_0001.SRT`` is one flight, named after both. In a folder below the root the folder's name stands before it, since a
drone begins to count again in every folder. A ``flight.yaml`` in the folder is for all. A video with telemetry of its
own (`film_tracks`) is a flight by itself: `GX010001.MP4`, or `video.mp4` in a folder without a log.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, model_validator

from pipeline.core.errors import RawDataError
from pipeline.core.schema import Name, Origin
from pipeline.reading.files import SceneFiles
from pipeline.reading.maps.feature import usable_name
from pipeline.reading.settings import File, SafeName, read_model

FLIGHT_FILE: Final = "flight.yaml"
DEFAULT_DATASET: Final = "flights"
NO_VIDEO: Final = "the flight has no video: nothing is asked about it, for every question is about what a video shows"


def _words(value: object) -> object:
    """Text on one line: a YAML block has line breaks where its author broke lines."""
    return " ".join(value.split()) if isinstance(value, str) else value


def _speakable(text: str) -> str:
    if not usable_name(text):
        raise ValueError("the text has control characters")
    return text


Words = Annotated[Name, BeforeValidator(_words), AfterValidator(_speakable)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CameraSettings(_Section):
    """The camera; the size of its pictures is the video's where it is not given."""

    horizontal_fov_deg: Annotated[FiniteFloat, Field(gt=0, lt=180)] = Field(
        description="degrees of what the picture's width shows, above 0 and below 180"
    )
    width: Annotated[int, Field(gt=0)] | None = Field(default=None, description="pixels, above 0")
    height: Annotated[int, Field(gt=0)] | None = Field(default=None, description="pixels, above 0")
    pitch_deg: Annotated[FiniteFloat, Field(ge=-90, le=90)] | None = Field(
        default=None,
        description="degrees from -90 (straight down) over 0 (level) to 90, of a camera that does not tilt",
    )


class PlacedGoal(_Section):
    """A goal in words of its own, at a place."""

    words: Words = Field(description="what it is called, in words that fit nothing else that the video shows")
    at: tuple[
        Annotated[FiniteFloat, Field(ge=-90, le=90)], Annotated[FiniteFloat, Field(ge=-180, le=180)], FiniteFloat
    ] = Field(description="latitude, longitude, and metres above the ground at take-off, of its middle")


class FlightSettings(_Section):
    """A whole ``flight.yaml``."""

    dataset: SafeName = Field(default=DEFAULT_DATASET, description="first part of the id")
    video: File | None = Field(default=None, description="path of the video")
    log: File | None = Field(default=None, description="path of the flight log")
    log_format: str | None = Field(default=None, description="name of a format of flight logs")
    video_offset_s: FiniteFloat = Field(default=0.0, description="seconds of the log at the start of the video")
    goal: Words | None = Field(
        default=None, description="up to 200 characters, without control characters; or words and at, which place it"
    )
    placed_goal: PlacedGoal | None = Field(default=None, description="the goal, where it has words and at")
    route: tuple[Words, ...] = Field(default=(), description="a list of steps of up to 200 characters each")
    camera: CameraSettings | None = Field(default=None, description="horizontal_fov_deg, width, height, pitch_deg")
    nose_first: bool = Field(default=False, description="true or false; true: flown with the nose ahead")
    begins_on_ground: bool = Field(default=False, description="true or false; true: the log begins before take-off")
    local_origin: Origin | None = Field(
        default=None, description="lat_deg from -90 to 90, lon_deg from -180 to 180, alt_m above sea level or null"
    )
    landmarks: File | None = Field(default=None, description="path of a GeoJSON, OpenStreetMap or CityJSON file")
    buildings: File | None = Field(default=None, description="path of a GeoJSON, OpenStreetMap or CityJSON file")

    @model_validator(mode="before")
    @classmethod
    def _with_place(cls, given: Any) -> Any:
        goal = given.get("goal") if isinstance(given, dict) else None
        return given | {"goal": goal.get("words"), "placed_goal": goal} if isinstance(goal, dict) else given


def read_settings(files: SceneFiles) -> FlightSettings | None:
    """The settings of a flight, or None where there is no ``flight.yaml``.

    Raises:
        RawDataError: naming every wrong key with its value and what it takes.
    """
    path = files.path / FLIGHT_FILE
    if not path.exists():
        return None
    return read_model(files, path, FlightSettings)


def find_file(files: SceneFiles, name: str) -> Path:
    """A file that the settings name: in the flight's folder, else in the root. Raises RawDataError."""
    places = (files.path / name, files.root / name)
    found = next((path for path in places if path.is_file()), None)
    if found is None:
        message = f"{name} of {FLIGHT_FILE} is neither in the flight's folder nor in the root"
        raise files.fault(files.path / FLIGHT_FILE, "missing_file", message, "put it there, or mend its name")
    return found


LOG_SUFFIXES: Final = (".srt",)  # of logs that lie beside a video of the same name
VIDEO_SUFFIXES: Final = (".mp4", ".mov")
OWN_NAMES: Final = ("log", "video")  # stems of a folder that is a flight of its own


class CardRecording(NamedTuple):
    """One recording of a card; without a video where only the subtitles were copied.

    The video is its own log where its telemetry is in it.
    """

    name: str
    log: Path
    video: Path | None

    def files(self) -> tuple[Path, ...]:
        """Those that are there."""
        return (self.log,) if self.video in (None, self.log) else (self.log, self.video)


class Recordings(NamedTuple):
    """The recordings in a folder, sorted by name, and the videos without any log that is read."""

    found: tuple[CardRecording, ...]
    lost: tuple[RawDataError, ...]


def recordings(folder: Path, root: Path, detect: Callable[[Path], object], stem: str | None = None) -> Recordings:
    """The recordings in a folder; none in a folder that is a flight of its own.

    Args:
        folder: the card's.
        root: of all flights.
        detect: raises RawDataError for a video that has no log in it (`registry.detect`).
        stem: in lower case, of the files that count, also in a folder that is a flight; None: of all.
    """
    there = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    there = [path for path in there if stem in {None, path.stem.lower()}]
    if stem is None and any(path.stem.lower() in OWN_NAMES for path in there):
        return Recordings((), ())
    videos = {path.stem.lower(): path for path in reversed(there) if path.suffix.lower() in VIDEO_SUFFIXES}
    prefix = "" if folder == root else f"{folder.name}."
    found, lost = [], []
    for path in there:
        if path.suffix.lower() in LOG_SUFFIXES:
            found.append(CardRecording(prefix + path.stem, path, videos.pop(path.stem.lower(), None)))
    for path in videos.values():
        try:
            detect(path)
        except RawDataError as error:
            error.scene = f"{DEFAULT_DATASET}/{prefix}{path.stem}"
            lost.append(error)
        else:
            found.append(CardRecording(prefix + path.stem, path, path))
    return Recordings(tuple(sorted(found)), tuple(lost))


def folders(root: Path) -> tuple[Path, ...]:
    """The root and the folders in it, where cards are looked for."""
    return (root, *sorted(Path(entry.path) for entry in os.scandir(root) if entry.is_dir()))


def of_recording(files: Sequence[str], key: str) -> str | None:
    """The log or the video among the files of a scene, relative to the root; None: the scene is no recording."""
    names = {suffix: name for name in files[1:] for suffix in (*LOG_SUFFIXES, *VIDEO_SUFFIXES) if _ends(name, suffix)}
    film = next((names[suffix] for suffix in VIDEO_SUFFIXES if suffix in names), "")
    log = next((names[suffix] for suffix in LOG_SUFFIXES if suffix in names), film)
    return None if not log else log if key == "log" else film


def _ends(name: str, suffix: str) -> bool:
    return name.lower().endswith(suffix)
