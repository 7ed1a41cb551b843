"""Takes a large JSON object of scenes apart, scene by scene, and survives a file that breaks off."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()
_BOM: Final = "\ufeff"


class JsonFaultError(Exception):
    """The file is not an object of scenes from here on; scenes already given remain good."""

    def __init__(self, finding: str, message: str, remedy: str, scene: str | None = None) -> None:
        super().__init__(message)
        self.finding = finding
        self.message = message
        self.remedy = remedy
        self.scene = scene


@dataclass(frozen=True)
class Entry:
    """One scene: its name, its value, the bytes it takes in the file and their SHA-256."""

    name: str
    value: Any
    span: tuple[int, int]
    sha256: str


def split_scenes(raw: bytes) -> Iterator[Entry]:
    """The scenes of ``{"name": {…}, …}`` in file order. Raises JsonFaultError where the text stops being that."""
    text = _decode(raw)
    at = _skip(text, 1 if text.startswith(_BOM) else 0)
    if not text[at:]:
        raise JsonFaultError("empty_file", "the file is empty", "fetch the file again")
    if text[at] != "{":
        raise JsonFaultError("not_an_object", "the file is not a JSON object of scenes", "is this a meta_info file?")
    at = _skip(text, at + 1)
    done_chars, done_bytes = 0, 0
    name: str | None = None
    while not text.startswith("}", at):
        name = None
        try:
            name, at = _key(text, at)
            value, end = _DECODER.raw_decode(text, at)
        except (json.JSONDecodeError, RecursionError) as error:
            raise _broken(text, error, name) from error
        done_bytes += len(text[done_chars:at].encode())
        body = text[at:end].encode()
        yield Entry(name, value, (done_bytes, done_bytes + len(body)), hashlib.sha256(body).hexdigest())
        done_chars, done_bytes = end, done_bytes + len(body)
        at = _skip(text, end)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
        elif not text.startswith("}", at):
            raise _broken(text, json.JSONDecodeError("Expecting ',' or '}'", text, at), name)
    if text[_skip(text, at + 1) :]:
        raise _broken(text, json.JSONDecodeError("Extra data", text, at + 1), None)


def _decode(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"byte {error.start} is not UTF-8"
        raise JsonFaultError("not_utf8", message, "save the file as UTF-8") from error


def _key(text: str, at: int) -> tuple[str, int]:
    """A string key and its colon; gives the key and the position of its value."""
    key, at = _DECODER.raw_decode(text, at)
    if not isinstance(key, str):
        raise json.JSONDecodeError("Expecting a scene name in double quotes", text, at)
    at = _skip(text, at)
    if not text.startswith(":", at):
        raise json.JSONDecodeError("Expecting ':'", text, at)
    return key, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _broken(text: str, error: Exception, scene: str | None) -> JsonFaultError:
    if isinstance(error, RecursionError):
        return JsonFaultError("too_deep", "the JSON is nested too deeply", "is this a meta_info file?", scene)
    position = error.pos if isinstance(error, json.JSONDecodeError) else 0
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    if position >= len(text.rstrip()) or not _closed(text):
        finding, remedy = "truncated_json", "fetch the file again; the scenes before the break were read"
    else:
        finding, remedy = "bad_json", "mend the file; the scenes after this place could not be read"
    return JsonFaultError(finding, f"{what} at line {line}, column {column} (character {position})", remedy, scene)


def _closed(text: str) -> bool:
    return text.rstrip().endswith("}")
