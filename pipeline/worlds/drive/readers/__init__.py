"""Readers of driving logs."""
