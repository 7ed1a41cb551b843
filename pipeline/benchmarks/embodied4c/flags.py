"""What a question carries beside its answer, as flags of its candidate: embodiment, accepted forms, sensors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

DOMAIN, ACCEPTED, SENSORS, MODALITY, SUB = KEYS = ("domain", "accepted", "sensors", "modality", "sub-capability")
RGB, DRAWN = SHOWN = ("RGB", "drawn")  # modalities that have a video
_SEPARATOR: Final = ": "


def flag(key: str, value: str) -> str:
    """One flag."""
    return f"{key}{_SEPARATOR}{value}"


def modality(filmed: bool, drawable: bool) -> str:
    """What there is to look at: pictures of cameras, a film drawn of the log (stage `draw`), or neither."""
    return flag(MODALITY, RGB if filmed else DRAWN if drawable else "state")


def of_flags(flags: Iterable[str] | None, key: str) -> list[str]:
    """The values of a key, in order."""
    parts = [name.partition(_SEPARATOR) for name in flags or ()]
    return [value for name, _, value in parts if name == key]
