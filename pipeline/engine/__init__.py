"""Builds: what must run and why, and running it."""
