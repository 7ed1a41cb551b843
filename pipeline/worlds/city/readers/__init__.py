"""Readers of cities."""
