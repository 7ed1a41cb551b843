"""Settings that users write beside their data, as YAML read into a model: every wrong key is named with its value."""

import re
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Final, TypeVar

import yaml
from pydantic import AfterValidator, BaseModel, ValidationError

from pipeline.core.schema import Name
from pipeline.reading.files import SceneFiles
from pipeline.reading.folders import SAFE, SAFE_NAME

M = TypeVar("M", bound=BaseModel)

_SHOWN: Final = 80  # characters of a wrong value in a message
_FAULTS_SHOWN: Final = 5
_NUMBERS: Final = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_DIGITS_MAX: Final = 64  # characters of a number
_TEXT_MAX: Final = 2**20  # characters of settings, which are read at some 50,000 a second


def _check_below(name: str) -> str:
    parts = PurePosixPath(name.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or ":" in parts.parts[0] or "\0" in name:
        raise ValueError("a file lies below the folder of the settings or the root, without '..'")
    return name


def _safe(name: str) -> str:
    if not SAFE_NAME.fullmatch(name):
        raise ValueError(f"a name holds {SAFE}: it becomes part of ids")
    return name


File = Annotated[str, AfterValidator(_check_below)]
SafeName = Annotated[Name, AfterValidator(_safe)]


class StrictLoader(yaml.SafeLoader):
    """Refuses aliases, of which a few lines stand for gigabytes, keys that are given twice, and nesting too deep."""

    depth_max: ClassVar[int | None] = None

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuses aliases and nesting. Raises YAMLError."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError(f"line {line}: an alias (*{event.anchor}); write the value out")
        self._depth = getattr(self, "_depth", 0) + 1
        if self.depth_max is not None and self._depth > self.depth_max:
            raise yaml.YAMLError(f"line {line}: nested more than {self.depth_max} deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Refuses a key that is given twice, of which YAML takes the last. Raises YAMLError."""
        scalars = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        count = Counter(key.value for key in scalars)
        for key in scalars:
            if count[key.value] > 1:
                line = key.start_mark.line + 1
                raise yaml.YAMLError(f"line {line}: the key {key.value!r} is given twice; keep one")
        return super().construct_mapping(node, deep)

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        """Refuses numbers of more digits than any setting has, which in base 60 take hours, and halves of characters.

        Raises YAMLError.
        """
        if isinstance(node, yaml.ScalarNode) and _LONE_SURROGATE.search(node.value):
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: half a character (a lone surrogate); write the character itself")
        if node.tag in _NUMBERS and len(node.value) > _DIGITS_MAX:
            line = node.start_mark.line + 1
            raise yaml.YAMLError(f"line {line}: a number of {len(node.value):,} characters, over {_DIGITS_MAX}")
        return super().construct_object(node, deep)


def strict_yaml(text: str) -> Any:
    """The value of a YAML text. Raises YAMLError, RecursionError, and ValueError: for a date that there is not."""
    if len(text) > _TEXT_MAX:
        raise yaml.YAMLError(f"{len(text):,} characters, over {_TEXT_MAX:,}: these are no settings")
    return yaml.load(text, Loader=StrictLoader)  # noqa: S506  a SafeLoader


def read_model(files: SceneFiles, path: Path, model: type[M]) -> M:
    """A YAML file as a model.

    Raises:
        RawDataError: naming every wrong key with its value and what it takes.
    """
    try:
        raw = strict_yaml(files.text(path))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        message = f"cannot be read as YAML: {' '.join(str(error).split())[:300]}"
        raise files.fault(path, "bad_yaml", message, "mend the line it names") from error
    if not isinstance(raw, dict):
        message = f"the file is {type(raw).__name__}, not a mapping of keys"
        raise files.fault(path, "bad_yaml", message, f"the keys are {', '.join(model.model_fields)}")
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first, *others = [_describe(e, model) for e in error.errors()]
        more = "".join(f"; also {message}" for message, _ in others[: _FAULTS_SHOWN - 1])
        raise files.fault(path, "bad_setting", first[0] + more, first[1]) from error


def _describe(error: Any, whole: type[BaseModel]) -> tuple[str, str]:
    """A message that names key and value, and what the key takes."""
    where = ".".join(str(part) for part in error["loc"])
    model: Any = whole
    takes = ""
    for part in error["loc"]:
        field = model.model_fields.get(part) if isinstance(part, str) else None
        if field is None:
            break
        takes = f"{part} takes {field.description}" if field.description else takes
        inner = [
            a for a in (field.annotation, *getattr(field.annotation, "__args__", ())) if hasattr(a, "model_fields")
        ]
        model = inner[0] if inner else BaseModel
    if error["type"] == "extra_forbidden":
        return f"unknown key {where}", f"the keys are {', '.join(model.model_fields)}"
    if error["type"] == "missing":
        return f"{where} is missing", takes
    return f"{where} is {str(error['input'])[:_SHOWN]!r}: {error['msg'].removeprefix('Value error, ')}", takes
