"""Procedural cities with planted truth."""
