"""Readers of drone flights."""
