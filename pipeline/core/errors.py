"""Errors that a user can act on: each names what was found, where, and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SUBJECT_CHARS: Final = 300  # what a message says of raw data at most: names there may have any length
MESSAGE_CHARS: Final = 2000


def shortened(text: str, chars: int) -> str:
    """The text, or its beginning and how long it is."""
    return text if len(text) <= chars else f"{text[:chars]}… ({len(text):,} characters)"


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
    """What a stage would leave is easier to guess without the video than what it was given."""


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
