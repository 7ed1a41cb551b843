"""Readers of flight logs, by name."""
