"""Procedural raw data for builds without data of one's own: a folder per world, looked up in `registry`."""
