"""Reader of episodes (OpenFly, AerialVLN; see `logs.openfly`): every episode of a JSON file is a flight without video.

The instruction becomes the route that the pilot was given, a sentence a step.
"""

import hashlib
import re
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Final

from pipeline.core.errors import ConfigError, RawDataError, unexpected
from pipeline.core.findings import Findings, note
from pipeline.formats.logs.openfly import OpenFlyEpisode, agreement, read_episodes
from pipeline.geometry.tracks import FlightGeometry
from pipeline.reading.files import Listing, SceneFiles, SceneRef
from pipeline.reading.maps.feature import usable_name
from pipeline.reading.reader import Reader
from pipeline.worlds.flight.facts import Flight, FlightScene
from pipeline.worlds.flight.readers.flight_files import NO_VIDEO
from pipeline.worlds.flight.tracks.assemble import AssembledTrack, assemble

STEP_MAX_CHARS: Final = 200  # of the schema's names
NAME_MAX_CHARS: Final = 150
EXPECTED: Final = "the folder with OpenFly's or AerialVLN's *.json files of episodes"
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+")
_BEFORE_STOP: Final = re.compile(r"\s+(?=[.,;:!?](?:\s|$))")


class OpenFlyReader(Reader):
    """Episodes of vision-and-language navigation."""

    name = "openfly"
    version = 1
    video_fps = 30
    expected_files = ()

    def scenes(self, root: Path) -> Listing:
        """See `Reader.scenes`. An episode that is broken, or has the name of another, costs itself alone."""
        paths = sorted(root.glob("*.json")) if root.is_dir() else []
        if not paths:
            raise ConfigError(
                f"{root}: {'no *.json file here' if root.is_dir() else 'no such folder'}. Give {EXPECTED}"
            )
        refs: list[SceneRef] = []
        broken: list[RawDataError] = []
        for path in paths:
            try:
                episodes, unusable = _read(path)
            except Exception as error:  # a damaged file, or a fault of ours, costs this file alone
                broken.append(unexpected(error, path))
                continue
            broken += unusable
            refs += [SceneRef(scene, (path.name,), _digest(episode)) for scene, episode in episodes.items()]
        seen = Counter(ref.id for ref in refs)
        for scene in sorted(scene for scene, n in seen.items() if n > 1):
            where = [ref.files[0] for ref in refs if ref.id == scene]
            message = f"the episode is in {', '.join(where)}, and nothing shows which copy is right"
            broken.append(RawDataError(root / where[0], "duplicate_scene", message, "keep one of them", scene))
        unique = (ref for ref in refs if seen[ref.id] == 1)
        return Listing(tuple(sorted(unique, key=lambda ref: ref.id)), tuple(broken))

    def read(self, files: SceneFiles) -> FlightScene:
        """See `Reader.read`."""
        findings = Findings()
        episode = _episode(files)
        files.add(files.ref.files[0], _digest(episode).encode())
        assembled = _track(files, episode, findings)
        # Actions that are not what the drone did; nothing is answered from them.
        found = agreement((episode.log,))
        wrong = {a.label: a.steps - a.agreeing for a in found if a.agreeing < a.steps}
        if wrong:
            listed, count = ", ".join(f"{label!r} {n} times" for label, n in wrong.items()), sum(wrong.values())
            message = f"{count} of {sum(a.steps for a in found)} actions are not what the positions show: {listed}"
            remedy = "none needed: answers come from the positions"
            findings.add(note("actions_disagree", "actions", message, remedy, float(count), 0.0, "actions"))
        findings.add(note("missing_video", "video", NO_VIDEO, "render the episodes; the files hold no pictures"))
        route = steps_of(episode.instruction)
        if not route or not all(map(usable_name, route)):
            message = f"the instruction {episode.instruction[:80]!r} has no words, or control characters"
            raise files.fault(files.path, "unusable_instruction", message, "mend the instruction")
        flight = Flight(log=self.name, origin=assembled.origin, route=route)
        return files.scene_of(FlightScene, self, "none", flight, findings.after(assembled.findings))

    def geometry(self, files: SceneFiles, scene: FlightScene) -> FlightGeometry:
        """See `Reader.geometry`."""
        return FlightGeometry(_track(files, _episode(files), Findings()).track)


def steps_of(instruction: str) -> tuple[str, ...]:
    """The sentences of an instruction; one of over 200 characters is cut at a comma, else at a blank.

    The released texts are split into words: the blanks before stops and commas are taken out.
    """
    text = _BEFORE_STOP.sub("", " ".join(instruction.split()))
    steps = []
    for sentence in _SENTENCE_END.split(text):
        rest = sentence
        while len(rest) > STEP_MAX_CHARS:
            cut = max(rest.rfind(", ", 0, STEP_MAX_CHARS), 0) or max(rest.rfind(" ", 0, STEP_MAX_CHARS), 0)
            cut = cut + 1 if cut else STEP_MAX_CHARS
            steps.append(rest[:cut].strip())
            rest = rest[cut:].strip()
        steps.append(rest)
    return tuple(step for step in steps if any(c.isalnum() for c in step))


def _read(path: Path) -> tuple[dict[str, OpenFlyEpisode], list[RawDataError]]:
    """The episodes of a file by scene id, and what cannot be used."""
    try:
        stat = path.stat()
    except OSError as error:
        message = str(error.strerror)
        raise RawDataError(path, "unreadable_file", message, "make the file readable") from error
    return _parsed(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=1)  # or each of a file's thousands of scenes would parse all of it again
def _parsed(path: Path, size: int, mtime_ns: int) -> tuple[dict[str, OpenFlyEpisode], list[RawDataError]]:
    found = read_episodes(path)
    episodes: dict[str, OpenFlyEpisode] = {}
    broken = list(found.broken)
    for episode in found.good:
        # A name is a path of folders; as part of an id it may have no slash.
        name = re.sub(r"[^A-Za-z0-9._-]+", ".", episode.name).strip(".")[-NAME_MAX_CHARS:].lstrip(".-_")
        scene = f"{episode.log.dialect.lower()}/{name}"
        if not name or scene in episodes:
            message = f"the name {episode.name[:80]!r} {'is that of another episode' if name else 'has no letters'}"
            broken.append(RawDataError(path, "unusable_name", message, "rename the episode", scene))
        else:
            episodes[scene] = episode
    return episodes, broken


def _episode(files: SceneFiles) -> OpenFlyEpisode:
    episode = _read(files.path)[0].get(files.scene)
    if episode is None:
        raise files.fault(files.path, "changed_while_reading", "the episode is gone from the file", "build again")
    return episode


def _track(files: SceneFiles, episode: OpenFlyEpisode, findings: Findings) -> AssembledTrack:
    try:
        return files.once("track", lambda _: assemble(files.path, episode.log), findings)
    except RawDataError as error:
        raise files.fault(error.path, error.finding, error.message, error.remedy) from error


def _digest(episode: OpenFlyEpisode) -> str:
    """Digest of all that an episode says."""
    total = hashlib.sha256(f"{episode.name}\0{episode.instruction}".encode(errors="surrogateescape"))
    log = episode.log
    for array in (log.t_s, log.enu_m, log.heading.value if log.heading else None):
        total.update(b"" if array is None else array.tobytes())
    total.update("\0".join(() if log.label is None else log.label.tolist()).encode())
    return total.hexdigest()
