"""A drive as its questions see it."""
