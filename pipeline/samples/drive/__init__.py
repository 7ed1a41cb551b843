"""Procedural drives, with the truth that was planted in them."""
