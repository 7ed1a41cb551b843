"""Procedural rooms in the raw formats, and the truth planted in them."""
