"""Scans of rooms."""
