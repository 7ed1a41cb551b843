"""Readers of indoor scans, one per raw format."""
