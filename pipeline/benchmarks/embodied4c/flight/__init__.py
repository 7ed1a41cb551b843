"""A flight as its questions see it."""
