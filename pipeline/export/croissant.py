"""croissant.json: the release described for machines (MLCommons Croissant 1.0)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Card
from pipeline.export.header import Part

CROISSANT_FILE: Final = "croissant.json"
_TYPES: Final = {
    "int64": "sc:Integer",
    "int32": "sc:Integer",
    "double": "sc:Float",
    "string": "sc:Text",
    "bool": "sc:Boolean",
}
# As the specification gives it: http://mlcommons.org/croissant/1.0
_CR: Final = (
    "citeAs column conformsTo=dct:conformsTo dataBiases dataCollection extract field fileProperty fileObject fileSet "
    "format includes isLiveDataset jsonPath key md5 parentField path personalSensitiveInformation recordSet references "
    "regex repeated replace separator source subField transform"
)
_CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    **{name: meaning or f"cr:{name}" for name, _, meaning in (word.partition("=") for word in _CR.split())},
}


def croissant(
    title: str, card: Card, parts: Sequence[Part], said: Callable[[str], Mapping[str, str]], sums: Mapping[str, str]
) -> bytes:
    """The description as JSON-LD.

    Args:
        title: of the release.
        card: what the benchmark says of itself.
        parts: its tables.
        said: of a folder, column -> what it holds.
        sums: file of the release -> SHA-256.
    """
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": title,
        "description": card.about,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": "LICENSES.md",
        "citeAs": card.citation,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": part.file,
                "name": part.file,
                "contentUrl": part.file,
                "encodingFormat": "application/x-parquet",
                "sha256": sums[part.file],
            }
            for part in parts
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": f"{part.folder}/{part.split}",
                "name": f"{part.folder}/{part.split}",
                "field": [_field(part, field, said(part.folder)) for field in part.schema],
            }
            for part in parts
        ],
    }
    return json.dumps(described, indent=1, ensure_ascii=False).encode() + b"\n"


def _field(part: Part, field: pa.Field, said: Mapping[str, str]) -> dict[str, Any]:
    name = f"{part.folder}/{part.split}/{field.name}"
    source = {"fileObject": {"@id": part.file}, "extract": {"column": field.name}}
    described: dict[str, Any] = {"@type": "cr:Field", "@id": name, "name": name, "description": said[field.name]}
    kind = field.type
    if not pa.types.is_list(kind):
        return described | {"dataType": _TYPES[str(kind)], "source": source}
    described |= {"repeated": True}
    if not pa.types.is_struct(kind.value_type):
        return described | {"dataType": _TYPES[str(kind.value_type)], "source": source}
    inner = [kind.value_type.field(i) for i in range(kind.value_type.num_fields)]
    return described | {
        "subField": [
            {
                "@type": "cr:Field",
                "@id": f"{name}/{of.name}",
                "name": f"{name}/{of.name}",
                "dataType": _TYPES[str(of.type)],
                "source": source | {"transform": {"jsonPath": of.name}},
            }
            for of in inner
        ]
    }
