"""Routes that people write from the videos of a build: what may be named, what a route is told, and their file."""

import json
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from flows.review_app.site import RefusedError
from pipeline.benchmarks.benchmark import RouteWriting
from pipeline.core.errors import StoreError
from pipeline.core.files import write_atomically
from pipeline.worlds.indoor.facts import Route
from pipeline.worlds.indoor.readers.written_routes import TURNS_MAX, parse_route

FILE: Final = "routes.jsonl"  # of a review
LEGS: Final = TURNS_MAX + 1  # of which the first may go straight on


class ScenePage(NamedTuple):
    """All that the page about one scene shows: names that may stand in a route, and the routes written so far."""

    scene: str
    number: int
    names: tuple[str, ...]
    routes: list[tuple[str, Route]]  # with its line in the file


class WrittenRoutes:
    """The routes of one build. Safe for several threads of one process.

    Args:
        file: JSON lines, as `written.indoor` takes them; lines that are none of ours stay as they are.
        videos: scene -> its video.
        view_of: the view of a scene under the build's rules, as its task sees it.
        writing: what the benchmark says of written routes.
        glossary: reason -> what it means.
    """

    def __init__(
        self,
        file: Path,
        videos: Mapping[str, Path],
        view_of: Callable[[str], Any],
        writing: RouteWriting,
        glossary: Mapping[str, str],
    ) -> None:
        self.file, self._videos, self._writing, self._glossary = file, dict(videos), writing, glossary
        self._view_of = lru_cache(maxsize=8)(view_of)
        self._scenes, self._lock = sorted(videos), threading.Lock()

    def scenes(self) -> list[tuple[int, str, int]]:
        """Number, name and routes of each scene that has a video."""
        lines = self._lines()
        return [(n, name, sum(at == name for at, _, _ in lines)) for n, name in enumerate(self._scenes, start=1)]

    def page(self, number: int) -> ScenePage | None:
        """The page about a scene, by its number; None where there is none."""
        if not 1 <= number <= len(self._scenes):
            return None
        scene = self._scenes[number - 1]
        routes = [(line, route) for at, line, route in self._lines() if at == scene]
        return ScenePage(scene, number, self._writing.names(self._view_of(scene)), routes)

    def video(self, number: int) -> Path | None:
        """The video of a scene; None where there is none."""
        path = self._videos[self._scenes[number - 1]] if 1 <= number <= len(self._scenes) else None
        return path if path and path.is_file() else None

    def add(self, page: ScenePage, form: Mapping[str, str]) -> None:
        """Stores a route, given as start, facing, and turn and until of each leg. Raises RefusedError with reasons."""
        steps = []
        for leg in range(LEGS):
            turn, until = (form.get(f"{name}{leg}", "").strip() for name in ("turn", "until"))
            if not until and not turn:
                continue
            if not until:
                raise RefusedError(f"Leg {leg + 1} has a turn and no object: say until where one goes.")
            steps += [*([turn] if turn else []), f"Go forward until the {until}"]
        if not steps:
            raise RefusedError("Say at least one leg.")
        start, facing = form.get("start", "").strip(), form.get("facing", "").strip()
        destination = steps[-1].removeprefix("Go forward until the ")
        told = {"scene": page.scene, "start": start, "facing": facing, "steps": steps, "destination": destination}
        try:
            _, route = parse_route(told)
        except ValueError as error:
            raise RefusedError(_sentence(str(error))) from error
        if unknown := {start, facing, *route.passed} - set(page.names):
            raise RefusedError(f"Only unique objects may be named, and {', '.join(sorted(unknown))} is not one here.")
        if len({start, *route.passed}) < 1 + len(route.passed):
            raise RefusedError("A route passes each object once.")
        if route in [there for _, there in page.routes]:
            raise RefusedError("That route is there already.")
        if refused := self._writing.refusals(self._view_of(page.scene), route):
            raise RefusedError(_sentence("; ".join(map(self._words, refused))))
        with self._lock:
            before = self._text()
            if before and not before.endswith("\n"):
                before += "\n"
            write_atomically(self.file, f"{before}{json.dumps(told)}\n".encode())

    def remove(self, line: str) -> None:
        """Takes a route away, by its line in the file. Raises RefusedError where it is not there."""
        with self._lock:
            lines = self._text().split("\n")
            if line not in lines:
                raise RefusedError("That route is not there any more. Reload the page.")
            lines.remove(line)
            write_atomically(self.file, "\n".join(lines).encode())

    def _words(self, refused: Mapping[str, Any]) -> str:
        words = self._glossary.get(refused["reason"], refused["reason"])
        if refused["unit"] not in {"m", "deg"}:
            return words
        return f"{words} ({refused['measured']:.4g} {refused['unit']}; limit {refused['limit']:.4g})"

    def _lines(self) -> list[tuple[str, str, Route]]:
        """Scene, line and route of each line that is one."""
        found = []
        for line in self._text().split("\n"):
            try:
                scene, route = parse_route(json.loads(line))
            except (ValueError, RecursionError):  # the build tells of it (`bad_route`)
                continue
            found.append((scene, line, route))
        return found

    def _text(self) -> str:
        try:
            return self.file.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise StoreError(f"{self.file}: cannot be read: {error}") from error


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."
