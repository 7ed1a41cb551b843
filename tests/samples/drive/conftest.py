"""The sample drives, as the tests of their world have them."""

from __future__ import annotations

from tests.worlds.drive.conftest import samples

__all__ = ["samples"]
