"""Prompts: ``templates/prompts/*.jinja``, rendered in a sandbox where a forgotten field is an error."""

import hashlib
from functools import cache
from typing import Any, Final

from pipeline.core.errors import TemplateError
from pipeline.core.templates import TEMPLATES_DIR

PROMPTS_DIR: Final = TEMPLATES_DIR / "prompts"
_VERSION_CHARS: Final = 16


class Prompt:
    """One prompt; ``version`` changes with its words."""

    def __init__(self, name: str, source: str) -> None:
        import jinja2  # takes a moment to import, and without models no prompt is used
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        self.name = name
        self.version = f"{name}@{hashlib.sha256(source.encode()).hexdigest()[:_VERSION_CHARS]}"
        # Not HTML: a model is to read "<" and "&" as they are.
        sandbox = ImmutableSandboxedEnvironment(
            undefined=jinja2.StrictUndefined,
            autoescape=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        try:
            self._template = sandbox.from_string(source)
        except jinja2.TemplateError as error:
            raise TemplateError(f"prompt {name}: {error}") from error

    def render(self, **fields: Any) -> str:
        """The text to send. Raises TemplateError for a missing field and for what the sandbox forbids."""
        import jinja2

        try:
            return self._template.render(**fields)
        except jinja2.TemplateError as error:
            raise TemplateError(f"prompt {self.name}: {error}") from error


@cache
def load_prompt(name: str) -> Prompt:
    """Prompt by file name without suffix, for example ``load_prompt("blind_letter")``."""
    path = PROMPTS_DIR / f"{name}.jinja"
    try:
        return Prompt(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(f"{path}: cannot be read as a prompt: {error}") from error
