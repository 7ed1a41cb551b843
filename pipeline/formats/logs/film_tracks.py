"""Tracks of a film beside picture and sound: telemetry that the camera wrote into the film itself.

Times are those of the film: a packet's own time (PTS, edit lists applied), less that of the first picture. No external
tool is needed; PyAV hands out the packets of tracks that no decoder knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from pipeline.core.errors import RawDataError
from pipeline.core.files import open_file, size_of_file
from pipeline.formats.videos import VideoError, main_stream, open_video

if TYPE_CHECKING:
    from av.container import InputContainer

FILM_SUFFIXES: Final = (".mp4", ".mov", ".360", ".lrv", ".m4v", ".insv")
_BOXES: Final = frozenset({b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"})  # ISO/IEC 14496-12: one comes first
PACKETS_MAX: Final = 4_000_000  # of one track: ten hours at 100 Hz
PACKET_BYTES_MAX: Final = 1 << 24  # GoPro writes 8 to 80 kB a second, one packet each
TRACKS_MAX: Final = 64
_LOOKED_AT: Final = 40  # packets of a track by which it is told what it holds: subtitles may begin with empty ones
_WORDS_MAX: Final = 60
# FFmpeg drops the packet that an edit cuts into and moves the next one to its place: up to a second of telemetry. So
# edits shift the packets and cut none.
_EXACT: Final = {"advanced_editlist": "0"}
_REMEDY: Final = "put the drone's own log beside it, named log.* or as the film is"
# Telemetry that is not read, by words in the title of its track, and what to give instead.
_UNREAD: Final = {
    "dji": "DJI's protobuf tracks (djmd, dbgi) are not read: film with video captions on and keep the .SRT beside "
    "it, or give the flight record of the app as CSV",
    "camm": "CAMM tracks are not read: write the track to GPX (exiftool -ee -p gpx.fmt FILM), put it beside the film",
    "timed metadata": "Sony's real-time metadata are not read: write the track to GPX (exiftool -ee -p gpx.fmt FILM), "
    "put it beside the film",
}
_INSTA360: Final = b"8db42d694ccc418790edff439fe026bf"  # the end of its films, behind records (ExifTool)


class FilmTrack(NamedTuple):
    """One track that is neither picture nor sound.

    Attributes:
        number: in the film, from 0.
        kind: "data" or "subtitle".
        title: what its maker calls it (the handler's name), for messages.
    """

    number: int
    kind: str
    title: str


class TrackPacket(NamedTuple):
    """One packet of a track; times are seconds from the film's first picture."""

    t_s: float
    duration_s: float
    raw: bytes


def is_film(head: bytes) -> bool:
    """Whether a file begins as MP4 and QuickTime files do."""
    return head[4:8] in _BOXES


def film_tracks(path: Path) -> tuple[FilmTrack, ...]:
    """The tracks beside picture and sound. Raises RawDataError `unreadable_video`."""
    with _faults(path), open_video(path) as container:
        return tuple(_tracks(container))


def finds(path: Path, kind: str, holds: Callable[[bytes], bool]) -> FilmTrack | None:
    """The first track of a kind of which one of the first packets holds something; None: there is none.

    Raises RawDataError `unreadable_video`.
    """
    with _faults(path), open_video(path, **_EXACT) as container:
        for track in [track for track in _tracks(container) if track.kind == kind]:
            container.seek(0)
            first = islice(_packets(container, track.number), _LOOKED_AT)
            if any(holds(packet.raw) for packet in first):
                return track
    return None


def read_packets(path: Path, track: FilmTrack) -> Iterator[TrackPacket]:
    """The packets of a track that are not empty, in their order.

    Raises:
        RawDataError: `unreadable_video`, or `track_too_large` where a track is larger than any camera's.
    """
    with _faults(path), open_video(path) as pictures:
        zero_s = _first_picture_s(pictures)
    with _faults(path), open_video(path, **_EXACT) as container:
        for count, packet in enumerate(_packets(container, track.number, zero_s)):
            if len(packet.raw) > PACKET_BYTES_MAX or count >= PACKETS_MAX:
                message = f"packet {count} of the film's track {track.title!r} has {len(packet.raw)} bytes"
                remedy = "take the film from the camera again"
                raise RawDataError(path, "track_too_large", message, remedy)
            yield packet


def no_telemetry(path: Path) -> RawDataError:
    """Why a film is no flight log: what its tracks hold that nobody reads. Raises RawDataError `unreadable_video`."""
    tracks = film_tracks(path)
    told = ", ".join(repr(track.title) for track in tracks)
    message = f"no telemetry that is read: {'its tracks are ' + told if tracks else 'it has pictures and sound alone'}"
    titles = " ".join(track.title.lower() for track in tracks)
    unread = next((text for name, text in _UNREAD.items() if name in titles), None)
    with open_file(path) as file:
        file.seek(max(0, size_of_file(path) - len(_INSTA360)))
        if file.read() == _INSTA360:
            unread = "Insta360's records are not read: export the track to GPX from its app, put it beside the film"
    return RawDataError(path, "no_telemetry", message, unread or _REMEDY)


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """What PyAV raises, as an error that names the file."""
    from av.error import FFmpegError

    try:
        yield
    except (FFmpegError, OSError, ValueError, AttributeError, VideoError) as error:
        message = f"the film cannot be read: {' '.join(str(error).split())[:200]}"
        raise RawDataError(path, "unreadable_video", message, "take the film from the camera again") from error


def _tracks(container: InputContainer) -> Iterator[FilmTrack]:
    for stream in list(container.streams)[:TRACKS_MAX]:
        if stream.type in ("data", "subtitle"):
            name = stream.metadata.get("handler_name") or stream.type
            title = " ".join("".join(c if c.isprintable() else " " for c in name).split())[:_WORDS_MAX]
            yield FilmTrack(stream.index, stream.type, title)


def _first_picture_s(container: InputContainer) -> float:
    """When the first picture is shown, seconds of the container's clock; 0 where it does not say."""
    film = main_stream(container) if container.streams.video else None
    if film is None or film.start_time is None or film.time_base is None:
        return 0.0
    return float(film.start_time * film.time_base)


def _packets(container: InputContainer, number: int, zero_s: float = 0.0) -> Iterator[TrackPacket]:
    from av.stream import Discard

    for other in container.streams:  # of the others no byte is read
        other.discard = Discard.default if other.index == number else Discard.all
    for packet in container.demux(container.streams[number]):
        if packet.pts is None or not packet.size or packet.time_base is None:
            continue
        start_s = float(packet.pts * packet.time_base) - zero_s
        yield TrackPacket(start_s, float((packet.duration or 0) * packet.time_base), bytes(packet))
