"""The sample drives, as the tests of their world have them."""

from tests.worlds.drive.conftest import samples

__all__ = ["samples"]
