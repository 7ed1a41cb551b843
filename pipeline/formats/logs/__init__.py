"""Formats of flight logs, one per file."""
