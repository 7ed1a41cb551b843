"""Kinds of things that tasks treat apart."""

from __future__ import annotations

from typing import Final

SHOP: Final = "shop"
SIGNBOARD: Final = "signboard"
