"""XML of flight logs, element by element, up to where the file breaks off. No entity is ever expanded."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from xml.etree.ElementTree import Element, ParseError, XMLPullParser

from pipeline.core.errors import RawDataError
from pipeline.core.findings import note
from pipeline.core.schema import Finding
from pipeline.formats.logs.records import file_bytes
from pipeline.formats.logs.text import decoded

_DECLARES: Final = re.compile(r"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_CHUNK: Final = 1 << 16
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def elements(path: Path, found: list[Finding]) -> Iterator[tuple[str, str, Element]]:
    """Pairs of "start" or "end" and the local name, with the element, as they come in the file.

    An element is whole at its end. What follows the first fault of the XML is left out, with a finding.

    Raises RawDataError: `unreadable`, `empty`, `document_type`.
    """
    text = decoded(file_bytes(path))
    if _DECLARES.search(text):
        message = "it declares a document type or entities, which no flight log needs"
        raise RawDataError(path, "document_type", message, "take the <!DOCTYPE …> out, if you trust the file")
    parser: XMLPullParser[Element] = XMLPullParser(("start", "end"))
    try:
        for at in range(0, len(text), _CHUNK):
            parser.feed(text[at : at + _CHUNK])
            yield from _events(parser)
        parser.close()
    except ParseError as error:
        message = f"the XML is broken ({error}); what follows was left out"
        found.append(note("cut", "log", message, "if the file is cut, export it again"))


def _events(parser: XMLPullParser[Element]) -> Iterator[tuple[str, str, Element]]:
    for event, *rest in parser.read_events():
        for element in rest:
            if isinstance(element, Element):  # "start" and "end" bring nothing else
                yield str(event), local_name(element), element


def local_name(element: Element) -> str:
    """The name without its namespace."""
    return element.tag.rpartition("}")[2]


def child_text(element: Element, name: str) -> str:
    """Text of the first child of a name, "" if there is none."""
    return next((child.text or "" for child in element if local_name(child) == name), "").strip()


def to_number(text: str | None) -> float:
    """A finite number, NaN for what is none."""
    try:
        value = float(text or "nan")
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


def to_seconds(text: str) -> float:
    """Seconds since 1970 of an ISO 8601 time; one without a zone is UTC, as GPX and KML say. NaN for what is none."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return math.nan
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH).total_seconds()
