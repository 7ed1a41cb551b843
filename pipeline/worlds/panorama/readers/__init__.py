"""Readers of panoramas."""
