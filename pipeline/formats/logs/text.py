"""Text of logs that were written on anything: byte order marks, UTF-16, Latin-1."""

from __future__ import annotations

import codecs
from typing import Final

_MARKS: Final = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


def decoded(raw: bytes) -> str:
    """The text of bytes: by its mark, else UTF-8, else Latin-1; lines end in a line feed alone."""
    encoding = next((name for mark, name in _MARKS.items() if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        text = raw.decode(encoding, errors="replace") if encoding != "utf-8" else raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
