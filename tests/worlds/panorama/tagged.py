"""Pictures with metadata, made by hand."""

import io
import struct
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image

from tests.worlds.panorama.panoramas import texture

Gps = dict[int, Any]
NICE: Final[Gps] = {
    1: "N", 2: (43.0, 44.0, 22.56), 3: "E", 4: (7.0, 25.0, 38.28), 5: b"\0", 6: 52.5, 16: "T", 17: 37.5, 31: 4.0,
}  # fmt: skip
_XMP: Final = """<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:GPano="http://ns.google.com/photos/1.0/panorama/" {attributes}>{elements}
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""


def picture(
    gps: Gps | None = None,
    gpano: dict[str, str] | None = None,
    size: tuple[int, int] = (256, 128),
    tags: dict[int, Any] | None = None,
    color: npt.NDArray[np.uint8] | None = None,
) -> bytes:
    """A JPEG with EXIF and GPano."""
    exif = Image.Exif()
    exif.get_ifd(0x8825).update(gps or {})
    for key, value in (tags or {}).items():
        exif[key] = value
    options: dict[str, Any] = {"exif": exif} if gps or tags else {}
    if gpano is not None:
        options["xmp"] = xmp(gpano).encode()
    out = io.BytesIO()
    Image.fromarray(texture(*size) if color is None else color).save(out, "JPEG", **options)
    return out.getvalue()


def xmp(gpano: dict[str, str], as_elements: bool = False) -> str:
    """A packet with GPano properties, as attributes or as elements: both are in use."""
    attributes = "" if as_elements else " ".join(f'GPano:{name}="{value}"' for name, value in gpano.items())
    elements = "".join(f"<GPano:{name}>{value}</GPano:{name}>" for name, value in gpano.items()) if as_elements else ""
    return _XMP.format(attributes=attributes, elements=elements)


def with_thumbnail(raw: bytes, thumbnail: bytes) -> bytes:
    """A JPEG with an EXIF block that holds nothing but a thumbnail (TIFF 6, EXIF 4.5.8)."""
    first = struct.pack("<HHHII", 1, 0x0112, 3, 1, 1) + struct.pack("<I", 26)  # one entry, then the second directory
    start = 8 + len(first) + 2 + 2 * 12 + 4
    second = struct.pack("<H", 2)
    second += struct.pack("<HHII", 0x0201, 4, 1, start) + struct.pack("<HHII", 0x0202, 4, 1, len(thumbnail))
    block = b"Exif\0\0II*\0" + struct.pack("<I", 8) + first + second + struct.pack("<I", 0) + thumbnail
    return raw[:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + raw[2:]
