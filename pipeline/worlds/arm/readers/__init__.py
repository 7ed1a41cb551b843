"""Readers of manipulation logs."""
