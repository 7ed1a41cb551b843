"""The harnesses as released, from the folder `PACKAGES`; of what they import, torch and the like are empty modules.

They import all their tasks and models at once, and so gigabytes of packages that no file of a release touches.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from unittest import mock

PACKAGES = Path(sys.prefix) / "harnesses"
_ABSENT = """
    Levenshtein accelerate aiobotocore aiohttp boto3 botocore cv2 debugpy evaluate ijson imageio jieba json_repair
    jsonpath_ng math_verify nltk peft pylatexenc qwen_vl_utils rouge s3fs sacrebleu sympy termcolor tiktoken
    timeout_decorator torch torchaudio torchvision transformers
"""
ABSENT = frozenset(_ABSENT.split())


class _Meta(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls


class _Empty(metaclass=_Meta):
    """A class with any attributes; as a decorator it leaves what it decorates."""

    def __new__(cls, *given: Any, **named: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) and not named else super().__new__(cls)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return given[0] if len(given) == 1 and callable(given[0]) else self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Empty


class _Module(ModuleType):
    __path__: ClassVar[list[str]] = []
    __version__ = "99"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Empty,), {})


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in ABSENT else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def install() -> None:
    """Makes `lmms_eval`, `vlmeval`, `inspect_ai` and `llamafactory` importable in this process."""
    sys.path.insert(0, str(PACKAGES))
    sys.meta_path.insert(0, _Finder())


def one_file(path: str, *absent: str) -> Any:
    """One module of a harness by its path in `PACKAGES`, in a process that is else free of them.

    ``absent``: what it imports and does not use here, empty while it is loaded.
    """
    spec = spec_from_file_location(f"harness_{Path(path).stem}", PACKAGES / path)
    module = module_from_spec(spec)
    with ExitStack() as loading:
        loading.enter_context(mock.patch.object(sys, "path", [*sys.path, str(PACKAGES)]))
        for name in absent:
            loading.callback(_put, name, sys.modules.get(name))
            sys.modules[name] = _Module(name)
        spec.loader.exec_module(module)
    return module


def _put(name: str, module: ModuleType | None) -> None:
    """Has a module, or none, be what is imported under a name."""
    if module is None:
        del sys.modules[name]
    else:
        sys.modules[name] = module
