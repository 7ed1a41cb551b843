"""What a JPEG holds beside its pixels, told by a reader of EXIF that is none of ours and by its bare segments."""

import io
import re

import exifread

WORDS = re.compile(rb"Exif\0|http://ns\.adobe\.com|GPano:|<x:xmpmeta|Photoshop|ICC_PROFILE")  # no chance has so many


def tags(raw: bytes) -> set[str]:
    """Names of all EXIF tags."""
    return set(exifread.process_file(io.BytesIO(raw), details=True))


def beside_pixels(raw: bytes) -> list[str]:
    """Everything found that says more than the picture shows: tags, segments, words, and what is behind the end."""
    found = sorted(tags(raw))
    found += [match.group().decode() for match in WORDS.finditer(raw)]
    at = 2
    while at + 4 <= len(raw) and raw[at] == 0xFF and raw[at + 1] != 0xDA:
        segment = raw[at + 4 : at + 2 + int.from_bytes(raw[at + 2 : at + 4], "big")]
        is_jfif = raw[at + 1] == 0xE0 and segment.startswith(b"JFIF\0") and len(segment) == 14
        if raw[at + 1] in {*range(0xE0, 0xEE), 0xEF, 0xFE} and not is_jfif:
            found.append(f"segment {raw[at + 1]:X}")
        at += 4 + len(segment)
    if not raw.endswith(b"\xff\xd9"):
        found.append("bytes behind the end")
    return found
