"""Machine-readable metadata of a release: the YAML header of its card (Hugging Face) and croissant.json."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from pipeline.benchmarks.benchmark import Benchmark, Card
from pipeline.core.parquet import shard_name
from pipeline.core.tables import DEBIASED, ONE_PER_SCENE, PART_SPLITS
from pipeline.core.templates import load_table
from pipeline.release.media import MediaTable
from pipeline.release.terms import TERMS_FILE

_SIZES: Final = ((1e3, "n<1K"), (1e4, "1K<n<10K"), (1e5, "10K<n<100K"), (1e6, "100K<n<1M"), (float("inf"), "n>1M"))
DTYPES: Final = {"int64": "int64", "int32": "int32", "string": "string", "double": "float64", "bool": "bool"}


@dataclass(frozen=True)
class CroissantPart:
    """One table of a release: a split of a configuration, in one file or several."""

    folder: str
    split: str
    schema: pa.Schema
    num_rows: int
    nbytes: int
    shards: int = 1

    @property
    def files(self) -> list[str]:
        """Its files in the release, in order."""
        return [f"{self.folder}/{shard_name(self.split, n, self.shards)}" for n in range(self.shards)]


def header(
    parts: Sequence[CroissantPart],
    settings: dict[str, Any],
    benchmark: Benchmark[Any, Any],
    was_reviewed: bool,
    images: Sequence[MediaTable] = (),
) -> dict[str, Any]:
    """The machine-readable header of a release: its tables, and its description in the words of the hub.

    The pictures that questions show are configurations too, which the hub shows as pictures, and so are the
    videos that lie in the release.
    """
    every = configurations(parts)
    configs, (split,) = _loadable(every), every["full"]
    full = max((part.num_rows for part in parts if part.folder == "data"), default=0)
    return {
        "pretty_name": settings["export"]["pretty_name"],
        **_license(settings["export"]),
        "task_categories": ["visual-question-answering"],
        "language": ["en"],
        "annotations_creators": ["machine-generated", *(["expert-generated"] if was_reviewed else [])],
        "language_creators": ["machine-generated"],
        "size_categories": [next(name for most, name in _SIZES if full < most)],
        "tags": [benchmark.name, "benchmark", "spatial-reasoning", "question-answering", "scan2qa"],
        "configs": [
            {
                "config_name": name,
                "data_files": [
                    {"split": split, "path": f"{part.folder}/{part.split}-*.parquet"} for split, part in splits.items()
                ],
            }
            | ({"default": True} if name == "default" else {})
            for name, splits in configs.items()
        ]
        + [
            {"config_name": one.folder, "data_files": [{"split": split, "path": f"{one.folder}/{split}-*.parquet"}]}
            for one in images
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": [_feature(field) for field in next(iter(splits.values())).schema],
                "splits": [
                    {"name": split, "num_bytes": part.nbytes, "num_examples": part.num_rows}
                    for split, part in splits.items()
                ],
            }
            for name, splits in configs.items()
        ]
        + [
            {
                "config_name": one.folder,
                "features": [{"name": "file", "dtype": "string"}, {"name": one.column, "dtype": one.column}],
                "splits": [{"name": split, "num_bytes": one.nbytes, "num_examples": one.num_rows}],
            }
            for one in images
        ],
    }


def _loadable(configs: Mapping[str, Mapping[str, CroissantPart]]) -> dict[str, Mapping[str, CroissantPart]]:
    """Without empty splits: with one, `datasets` loads nothing of its configuration; `default` is always there."""
    filled = {name: {split: part for split, part in own.items() if part.num_rows} for name, own in configs.items()}
    return {name: own or configs[name] for name, own in filled.items() if own or name == "default"}


def configurations(parts: Sequence[CroissantPart]) -> dict[str, dict[str, CroissantPart]]:
    """Split -> table, of every configuration. `full` and `debiased` are those that the public benchmark has."""
    found: dict[str, dict[str, CroissantPart]] = {}
    for part in parts:
        found.setdefault("default" if part.folder == "data" else part.folder, {})[part.split] = part
    own = found["default"]
    full = next(split for split in own if split not in PART_SPLITS)
    public = {"default": own, "full": {full: own[full]}}
    public |= {name: {full: own[name]} for name in (DEBIASED, ONE_PER_SCENE) if name in own}
    return public | found


def _feature(field: pa.Field) -> dict[str, Any]:
    """A column in the notation of Hugging Face datasets."""
    if pa.types.is_list(field.type):
        inner = field.type.value_type
        if pa.types.is_struct(inner):
            return {"name": field.name, "list": [_feature(inner.field(i)) for i in range(inner.num_fields)]}
        return {"name": field.name, "list": DTYPES[str(inner)]}
    return {"name": field.name, "dtype": DTYPES[str(field.type)]}


def _license(export: Mapping[str, Any]) -> dict[str, str]:
    if export.get("license"):
        return {"license": export["license"]}
    return {"license": "other", "license_name": "terms-of-the-sources", "license_link": TERMS_FILE}


CROISSANT_FILE: Final = "croissant.json"
_TYPES: Final = {
    "int64": "sc:Integer",
    "int32": "sc:Integer",
    "double": "sc:Float",
    "string": "sc:Text",
    "bool": "sc:Boolean",
}
_CONTEXT: Final[dict[str, Any]] = load_table("card/croissant")


def croissant(
    export: Mapping[str, Any],
    card: Card,
    parts: Sequence[CroissantPart],
    column_docs: Callable[[str], Mapping[str, str]],
    sums: Mapping[str, str],
) -> bytes:
    """The description as JSON-LD.

    Args:
        export: the settings of stage `export`.
        card: what the benchmark says of itself.
        parts: its tables.
        column_docs: of a folder, column -> what it holds.
        sums: file of the release -> SHA-256.
    """
    described = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": export["pretty_name"],
        "description": card.about,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": export.get("license") or TERMS_FILE,
        **({"version": export["version"]} if export.get("version") else {}),
        **({"datePublished": str(export["published"])} if export.get("published") else {}),
        "citeAs": card.citation,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": file,
                "name": file,
                "contentUrl": file,
                "encodingFormat": "application/x-parquet",
                "sha256": sums[file],
            }
            for part in parts
            for file in part.files
        ]
        + [
            {
                "@type": "cr:FileSet",
                "@id": _source(part)["@id"],
                "name": _source(part)["@id"],
                "encodingFormat": "application/x-parquet",
                "includes": _source(part)["@id"],
            }
            for part in parts
            if part.shards > 1
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": f"{part.folder}/{part.split}",
                "name": f"{part.folder}/{part.split}",
                "field": [_field(part, field, column_docs(part.folder)) for field in part.schema],
            }
            for part in parts
        ],
    }
    return json.dumps(described, indent=1, ensure_ascii=False).encode() + b"\n"


def _source(part: CroissantPart) -> dict[str, str]:
    """Where the rows of a table are: its one file, or the pattern of several."""
    return {"@id": part.files[0] if part.shards == 1 else f"{part.folder}/{part.split}-*.parquet"}


def _field(part: CroissantPart, field: pa.Field, column_docs: Mapping[str, str]) -> dict[str, Any]:
    name = f"{part.folder}/{part.split}/{field.name}"
    among = "fileObject" if part.shards == 1 else "fileSet"
    source = {among: _source(part), "extract": {"column": field.name}}
    described: dict[str, Any] = {"@type": "cr:Field", "@id": name, "name": name, "description": column_docs[field.name]}
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
