"""Takes a large JSON object or list of scenes apart, scene by scene, and survives a file that breaks off."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from pipeline.core.errors import FormatError

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_BOM: Final = "\ufeff"
_ESCAPE: Final = "surrogateescape"  # a byte that is not UTF-8 costs its scene, not the file
_DIGITS_MAX: Final = 300  # a double holds up to 308, and Python refuses to read more than 4,300


@dataclass(frozen=True)
class JsonEntry:
    """One scene: its name, its value, the bytes that it takes in the file and their `text_digest`."""

    name: str
    value: Any
    span: tuple[int, int]
    sha256: str


def text_digest(text: bytes) -> str:
    """SHA-256 of a JSON text whatever its layout, so that a file that is only indented otherwise reruns nothing.

    White space within its strings counts, that between them does not; in a text with escapes all of it does.
    """
    if b"\\" not in text:
        text = text.translate(None, b" \t\r\n") + b'"'.join(text.split(b'"')[1::2])
    return hashlib.sha256(text).hexdigest()


def whole_number(digits: str) -> int | float:
    """The number that `json` makes of an integer, and infinity for one that no number can hold."""
    return int(digits) if len(digits) <= _DIGITS_MAX else float(digits)


_DECODER: Final = json.JSONDecoder(parse_int=whole_number)


def split_scenes(raw: bytes, name_of: Callable[[Any], str] | None = None) -> Iterator[JsonEntry]:
    """The scenes of ``{"name": {…}, …}`` in file order. Raises FormatError where the text stops being that.

    With ``name_of``, which takes the name out of a scene, those of a list ``[{…}, …]``.
    """
    opening, closing, what = ("{", "}", "object") if name_of is None else ("[", "]", "list")
    text = raw.decode("utf-8", _ESCAPE)
    at = _skip(text, 1 if text.startswith(_BOM) else 0)
    if not text[at:]:
        raise FormatError("empty_file", "the file is empty", "fetch the file again")
    if "\udc80" <= text[at] <= "\udcff":
        raise FormatError("not_utf8", "the file does not begin as UTF-8 text", "save the file as UTF-8")
    if text[at] != opening:
        raise FormatError(
            "not_an_object" if name_of is None else "not_a_list",
            f"the file is not a JSON {what} of scenes",
            "is this a file of released metadata?",
        )
    at = _skip(text, at + 1)
    done_chars, done_bytes = 0, 0
    name: str | None
    while not text.startswith(closing, at):
        name = None
        try:
            if name_of is None:
                name, at = _key(text, at)
            value, end = _DECODER.raw_decode(text, at)
            if name_of is not None:
                name = name_of(value)
        except (json.JSONDecodeError, RecursionError) as error:
            raise _broken(text, error, name) from error
        done_bytes += len(text[done_chars:at].encode("utf-8", _ESCAPE))
        body = text[at:end].encode("utf-8", _ESCAPE)
        yield JsonEntry(name or "", value, (done_bytes, done_bytes + len(body)), text_digest(body))
        done_chars, done_bytes = end, done_bytes + len(body)
        at = _skip(text, end)
        if text.startswith(",", at):
            at = _skip(text, at + 1)
            if text.startswith(closing, at):
                raise _broken(text, json.JSONDecodeError("Expecting a scene after ','", text, at), None)
        elif not text.startswith(closing, at):
            raise _broken(text, json.JSONDecodeError(f"Expecting ',' or '{closing}'", text, at), name)
    rest = _skip(text, at + 1)
    if text[rest:]:
        raise FormatError(
            "text_after_the_end", f"more text {_place(text, rest)}", "remove it; what stands before it was read"
        )


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


def _broken(text: str, error: Exception, scene: str | None) -> FormatError:
    if isinstance(error, RecursionError):
        return FormatError("too_deep", "the JSON is nested too deeply", "is this a file of released metadata?", scene)
    position = error.pos if isinstance(error, json.JSONDecodeError) else 0
    what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    if position >= len(text.rstrip()) or not text.rstrip().endswith(("}", "]")):
        finding, remedy = "truncated_json", "fetch the file again; the scenes before the break were read"
    else:
        finding, remedy = "bad_json", "mend the file; the scenes after this place could not be read"
    return FormatError(finding, f"{what} {_place(text, position)}", remedy, scene)


def _place(text: str, position: int) -> str:
    line, column = text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
    return f"at line {line}, column {column} (character {position})"
